/*
 * Two states of a chunk -> the files that read differently: views by their planes and names, all
 * others by what they say.
 */
#include "formats/compare/changed_files.h"

#include <string.h>

#include "formats/compare/fetch.h"
#include "formats/views/arrays/array.h"
#include "formats/views/views.h"

#define NAMES (1u << TFS_PLANES_MAX) /* a bit beside those of planes */
#define ALL   UINT32_MAX

/* ---- cells ----------------------------------------------------------------------------------- */

static bool same_names(const struct tfs_cells *a, const struct tfs_cells *b)
{
    uint32_t i = 0;

    while (a->name_count == b->name_count && i < a->name_count &&
           tfs_span_equal(a->names[i], b->names[i]))
        i++;
    return a->name_count == b->name_count && i == a->name_count;
}

static bool same_plane(const struct tfs_cells *cells, const struct tfs_cells_plane *a,
                       const struct tfs_cells_plane *b)
{
    if (a->values == NULL || b->values == NULL)
        return a->values == b->values;
    return a->form.width == b->form.width && a->filled == b->filled &&
           memcmp(a->values, b->values,
                  (a->filled ? 1 : cells->count) * tfs_plane_size(&a->form)) == 0;
}

/* Planes and names that differ. */
static unsigned difference(const struct tfs_cells *a, const struct tfs_cells *b)
{
    const unsigned names = same_names(a, b) ? 0 : NAMES;
    unsigned differs = names;

    if (a->damage != NULL || b->damage != NULL || a->version != b->version ||
        memcmp(&a->size, &b->size, sizeof(a->size)) != 0)
        return ALL;
    for (unsigned i = 0; i < a->kind->count; i++)
        if (!same_plane(a, &a->planes[i], &b->planes[i]) ||
            (names != 0 && a->planes[i].form.kind == TFS_PLANE_NAMES))
            differs |= 1u << i;
    return differs;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The planes and names that a view shows; 0: it is no view. */
static unsigned shown_by(const struct tfs_cells_kind *kind, const struct tfs_lens *lens)
{
    unsigned planes = 0;

    if (lens->get == tfs_cells_grid_get)
        return 1u << *(const unsigned *)lens->param;
    if (lens->get == tfs_array_get)
        return 1u << ((const struct tfs_array_lens *)lens->param)->plane;
    if (lens == &tfs_cells_palette_lens)
        return NAMES;
    for (unsigned i = 0; lens->get == tfs_cells_table_get && i < kind->count; i++)
        planes |= (kind->planes[i].flags & TFS_PLANE_IN_TABLE) != 0 ? 1u << i : 0;
    return planes;
}

static bool reads_differently(struct tfs_save *save, const struct tfs_doc *const docs[2],
                              const struct tfs_file *file, struct tfs_key key)
{
    const struct tfs_side before = {save, docs[0]}, after = {save, docs[1]};
    struct tfs_two_texts texts = {.there = {false}};
    struct tfs_error ignored = {0};
    const bool alike = tfs_sides_alike(&before, &after, file, key, &texts, &ignored) == 1;

    tfs_two_texts_release(&texts);
    return !alike;
}

/* The cells, if nothing has to be fetched for them. */
static struct tfs_cells *cells_at_hand(struct tfs_save *save, const struct tfs_doc *doc,
                                       const struct tfs_chunk *chunk)
{
    struct tfs_error ignored = {0};
    struct tfs_cells *cells = NULL;

    if ((chunk->flags & TFS_CHUNK_UNREAD_ALL) != 0)
        return tfs_cells_cached(save, chunk);
    (void)tfs_cells_keep(save, doc, chunk, TFS_CELLS_ALL, &cells, &ignored);
    return cells;
}

uint32_t tfs_changed_files(struct tfs_save *save, const struct tfs_doc *const docs[2],
                           const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const uint32_t group = before == NULL ? after->key.group : before->key.group;
    const struct tfs_schema *schema = tfs_chunk_schema(save->tree, group);
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_cells *cells[2] = {NULL};
    unsigned differs = 0;
    uint32_t files = 0;

    if (before == NULL || after == NULL || before->slot != after->slot ||
        before->tag != after->tag || ((before->flags | after->flags) & TFS_CHUNK_DAMAGED) != 0)
        return ALL;
    if (kind != NULL) {
        cells[0] = cells_at_hand(save, docs[0], before);
        cells[1] = cells_at_hand(save, docs[1], after);
        differs = cells[0] == NULL || cells[1] == NULL ? ALL : difference(cells[0], cells[1]);
    }
    for (unsigned i = 0; i < schema->count && differs != ALL; i++) {
        const unsigned shown = kind == NULL ? 0 : shown_by(kind, schema->files[i].lens);
        if (shown != 0 ? (shown & differs) != 0
                       : reads_differently(save, docs, &schema->files[i], after->key))
            files |= 1u << i;
    }
    tfs_cells_unref(cells[0]);
    tfs_cells_unref(cells[1]);
    return differs == ALL ? ALL : files;
}
