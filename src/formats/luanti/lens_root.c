/*
 * info.txt and palette.txt of the root: what the map is, and the names of all its nodes.
 *
 * Must not know where blocks lie in a world. Blocks that do not decode have no names here.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/arrays/numbers.h"
#include "formats/info.h"
#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"
#include "formats/luanti/lists.h"
#include "formats/luanti/map.h"
#include "formats/luanti/names.h"
#include "formats/picture/picture.h"
#include "formats/renaming.h"

/* ---- info.txt -------------------------------------------------------------------------------- */

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    (void)at;
    tfs_info_begin(out, save, doc);
    tfs_luanti_map_describe(doc, out);
    tfs_info_line(out, "chunk size", "16 16 16");
    tfs_picture_info(out, save->tree, doc);
    tfs_info_line(out, "light",
                  "new air takes the light beside it, all else is kept as stored; `/fixlight` in "
                  "the game computes it again");
    tfs_info_line(out, "running server",
                  "keeps blocks in memory and writes them over edits: stop it before editing what "
                  "players are near");
    tfs_info_end(out, save, doc);
    return tfs_buf_check(out, err);
}

const struct tfs_lens tfs_luanti_info_lens = {.get = info_get};

/* ---- palette.txt ----------------------------------------------------------------------------- */

/* Names that several chunks have are given once. */
static int all_names(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each, void *arg,
                     struct tfs_error *err)
{
    struct tfs_luanti_memory *memory = tfs_luanti_view_memory(save);
    struct tfs_luanti_names *names;

    pthread_mutex_lock(&memory->lock);
    memory->question++;
    for (size_t i = 0; i < doc->count && err->code == 0; i++) {
        tfs_luanti_names_prepare(memory, save, doc, i);
        if (tfs_luanti_names_of(memory, save, tfs_doc_at(doc, i), &names, err) < 0 ||
            names->met == memory->question)
            continue;
        names->met = memory->question;
        for (uint32_t k = 0; k < names->count && err->code == 0; k++)
            each(arg, names->names[k], err);
    }
    pthread_mutex_unlock(&memory->lock);
    return err->code;
}

int tfs_luanti_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                           void *arg, struct tfs_error *err)
{
    struct tfs_luanti_memory *memory = tfs_luanti_view_memory(save);
    struct tfs_luanti_names *names;

    pthread_mutex_lock(&memory->lock);
    if (tfs_luanti_names_of(memory, save, chunk, &names, err) == 0)
        for (uint32_t i = 0; i < names->count && err->code == 0; i++)
            if (!tfs_luanti_is_air(names->names[i]))
                each(arg, names->names[i], err);
    pthread_mutex_unlock(&memory->lock);
    return err->code;
}

/* Has the chunk a name that gets another one? A damaged one may. */
static bool is_renamed(struct tfs_save *save, const struct tfs_chunk *chunk,
                       const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_luanti_memory *memory = tfs_luanti_view_memory(save);
    struct tfs_luanti_names *names;
    bool renamed = false;

    pthread_mutex_lock(&memory->lock);
    if (tfs_luanti_names_of(memory, save, chunk, &names, err) == 0) {
        renamed = names->count == 0;
        for (uint32_t i = 0; i < names->count && !renamed; i++)
            renamed = !tfs_span_equal(tfs_renaming_of(r, names->names[i]), names->names[i]);
    }
    pthread_mutex_unlock(&memory->lock);
    return renamed;
}

/* Two names become one, or some are not used: the nodes get other numbers. */
static int number_again(struct tfs_edit *edit, struct tfs_luanti_change *change,
                        const struct tfs_renaming *r, struct tfs_error *err)
{
    const struct tfs_luanti_block *b = &change->view->block;
    uint32_t *numbers = calloc(b->count + 1, sizeof(*numbers));

    if (numbers == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < b->count && err->code == 0; i++)
        tfs_words_add(&change->names, tfs_renaming_of(r, b->names[i].name), &numbers[i], err);
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        change->ids[i] = numbers[b->nodes[i]];
    change->keeps_light = true;
    free(numbers);
    return err->code < 0 ? err->code : tfs_luanti_change_store(edit, change, err);
}

/* The table of names as it will be, with the numbers and the order that it has. *same: so nodes
 * keep their numbers. */
static int rename_table(const struct tfs_luanti_block *b, const struct tfs_renaming *r,
                        struct tfs_buf *out, bool *same, struct tfs_error *err)
{
    struct tfs_words words = {0};
    uint32_t number;

    tfs_buf_u8(out, 0);
    tfs_luanti_u16(out, b->stored);
    for (uint32_t i = 0; i < b->stored && err->code == 0; i++) {
        const struct tfs_span name = tfs_renaming_of(r, b->order[i].name);
        tfs_luanti_u16(out, b->order[i].id);
        tfs_luanti_u16(out, (uint32_t)name.size);
        tfs_buf_add_span(out, name);
        tfs_words_add(&words, name, &number, err);
    }
    *same = b->count == b->stored && words.count == b->stored;
    tfs_words_release(&words);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static bool is_all_air(const struct tfs_luanti_block *b, const struct tfs_renaming *r)
{
    return b->count == 1 && tfs_luanti_is_air(tfs_renaming_of(r, b->names[0].name));
}

static int rename_view(struct tfs_save *save, struct tfs_edit *edit, struct tfs_luanti_view *view,
                       const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_luanti_block next = view->block;
    struct tfs_luanti_change change;
    struct tfs_buf table = {0};
    bool same = false;

    if (rename_table(&view->block, r, &table, &same, err) == 0 && same) {
        next.sections[TFS_LUANTI_NAMES] = tfs_buf_span(&table);
        next.flags &= (uint8_t)~TFS_LUANTI_NOT_AIR;
        next.flags |= is_all_air(&view->block, r) ? 0 : TFS_LUANTI_NOT_AIR;
        tfs_luanti_view_store(edit, view, &next, err);
    } else if (err->code == 0) {
        if (tfs_luanti_change_begin(&change, save, view, err) == 0)
            number_again(edit, &change, r, err);
        tfs_luanti_change_close(&change);
    }
    tfs_buf_release(&table);
    return err->code;
}

static int rename_chunk(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_chunk *chunk,
                        const struct tfs_renaming *r, struct tfs_error *err)
{
    struct tfs_luanti_view *view;

    if (tfs_luanti_view_make(save, chunk, &view, err) < 0)
        return err->code;
    if (view->damage == NULL)
        rename_view(save, edit, view, r, err);
    else
        tfs_renaming_fail_damaged(save, chunk, view->damage, err);
    tfs_luanti_view_unref(view);
    return err->code;
}

static const struct tfs_renaming_kind names = {TFS_LUANTI_NAME_RULES, all_names, is_renamed,
                                               rename_chunk};

const struct tfs_numbering tfs_luanti_numbering = {.empty = "air",
                                                   .rules = TFS_LUANTI_NAME_RULES,
                                                   .is_empty = tfs_luanti_is_air,
                                                   .names = all_names};

const struct tfs_lens tfs_luanti_names_lens = {
    .param = &names, .get = tfs_renaming_get, .put = tfs_renaming_put};
