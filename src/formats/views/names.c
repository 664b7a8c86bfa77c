/*
 * The names of a save: palette.txt of the root, whose edited lines rename voxels everywhere; and
 * who else asks for them.
 *
 * Must not know what a game stores. Chunks that do not decode have no names here.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/cells/edit.h"
#include "formats/cells/names.h"
#include "formats/views/views.h"

/* Names that several chunks have are given once. */
int tfs_cells_all_names(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each,
                        void *arg, struct tfs_error *err)
{
    struct tfs_names_memory *memory;
    struct tfs_chunk_names *names;

    if (tfs_names_memory_of(save, &memory, err) < 0)
        return err->code;
    pthread_mutex_lock(&memory->lock);
    memory->question++;
    for (size_t i = 0; i < doc->count && err->code == 0; i++) {
        tfs_chunk_names_prepare(memory, save, doc, i);
        if (tfs_chunk_names_of(memory, save, tfs_doc_at(doc, i), &names, err) < 0 ||
            names->met == memory->question)
            continue;
        names->met = memory->question;
        for (uint32_t k = 0; k < names->count && err->code == 0; k++)
            each(arg, names->names[k], err);
    }
    pthread_mutex_unlock(&memory->lock);
    return err->code;
}

/* ---- renaming -------------------------------------------------------------------------------- */

/* Has the chunk a name that gets another one? A damaged one may. */
static bool is_renamed(struct tfs_save *save, const struct tfs_chunk *chunk,
                       const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_names_memory *memory;
    struct tfs_chunk_names *names;
    bool renamed = false;

    if (tfs_names_memory_of(save, &memory, err) < 0)
        return false;
    pthread_mutex_lock(&memory->lock);
    if (tfs_chunk_names_of(memory, save, chunk, &names, err) == 0) {
        renamed = names->count == 0;
        for (uint32_t i = 0; i < names->count && !renamed; i++)
            renamed = !tfs_span_equal(tfs_renaming_of(r, names->names[i]), names->names[i]);
    }
    pthread_mutex_unlock(&memory->lock);
    return renamed;
}

static int rename_cells(struct tfs_edit *edit, struct tfs_cells *cells,
                        const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_span *names = calloc(cells->name_count + (size_t)1, sizeof(*names));
    struct tfs_cells_edit e = {0};

    if (names == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < cells->name_count; i++)
        names[i] = tfs_renaming_of(r, cells->names[i]);
    if (tfs_cells_edit_begin(&e, cells, err) == 0 &&
        tfs_cells_edit_table(&e, names, cells->name_count, err) == 0)
        tfs_cells_edit_finish(&e, edit, err);
    tfs_cells_edit_close(&e);
    free(names);
    return err->code;
}

static int rename_chunk(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_chunk *chunk,
                        const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_make(save, tfs_edit_doc(edit), chunk, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    if (cells->damage == NULL)
        rename_cells(edit, cells, r, err);
    else
        tfs_renaming_fail_damaged(save, chunk, cells->damage, err);
    tfs_cells_unref(cells);
    return err->code;
}

static const struct tfs_renaming_kind kind = {tfs_cells_all_names, is_renamed, rename_chunk};

const struct tfs_lens tfs_cells_names_lens = {
    .param = &kind, .get = tfs_renaming_get, .put = tfs_renaming_put};

/* ---- names of the game ----------------------------------------------------------------------- */

int tfs_cells_values_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                         struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_plane *plane = &save->tree->cells->planes[0];

    (void)doc;
    (void)at;
    for (uint32_t i = 0; i <= plane->form.high; i++)
        if (plane->name_of(i).size > 0)
            tfs_palette_print(out, "", i, plane->name_of(i));
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_cells_values_lens = {.get = tfs_cells_values_get};
