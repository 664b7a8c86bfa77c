/*
 * A chunk -> what is seen of it from above.
 *
 * Must not know pictures.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/cells/cells.h"
#include "formats/views/pictures/picture.h"

struct tfs_name_look tfs_name_look(struct tfs_span name, bool nothing)
{
    bool water = false;
    struct tfs_name_look look = {.colour = tfs_colour_of_name(name, &water)};

    look.kind = nothing ? TFS_LOOK_NOTHING : water ? TFS_LOOK_WATER : TFS_LOOK_SOLID;
    return look;
}

struct scan {
    const struct tfs_cells *cells;
    struct tfs_name_look *looks; /* of the entries that were met */
};

static void look(struct scan *s, uint32_t entry)
{
    const struct tfs_cells_kind *kind = s->cells->kind;
    const struct tfs_span name = s->cells->names[entry];

    s->looks[entry] = tfs_name_look(name, tfs_name_emptiness(kind, name) != TFS_SEEN);
}

static inline const struct tfs_name_look *look_at(struct scan *s, uint32_t entry)
{
    if (s->looks[entry].kind == TFS_LOOK_UNKNOWN)
        look(s, entry);
    return &s->looks[entry];
}

/* One column, from above down to what is neither air nor water. */
static void scan_column(struct scan *s, size_t at, struct tfs_column *column)
{
    const uint32_t *entries = s->cells->planes[0].values;
    const size_t layer =
        s->cells->planes[0].filled ? 0 : (size_t)s->cells->size.x * s->cells->size.z;

    uint32_t y = s->cells->size.y;

    at = layer == 0 ? 0 : at;
    while (y > 0 && s->looks[entries[(y - 1) * layer + at]].kind == TFS_LOOK_NOTHING)
        y--;
    while (y-- > 0)
        if (tfs_column_add(column, y, look_at(s, entries[y * layer + at])))
            return;
}

static int scan_columns(const struct tfs_cells *cells, struct tfs_column *columns,
                        struct tfs_error *err)
{
    const size_t layer = (size_t)cells->size.x * cells->size.z;
    struct scan s = {cells, calloc(cells->name_count, sizeof(*s.looks))};

    if (s.looks == NULL)
        return tfs_fail_memory(err);
    const bool unseen =
        cells->planes[0].filled &&
        look_at(&s, (uint32_t)tfs_plane_get(&cells->planes[0], 0))->kind == TFS_LOOK_NOTHING;
    for (size_t i = 0; i < layer && !unseen; i++)
        scan_column(&s, i, &columns[i]);
    free(s.looks);
    return 0;
}

int tfs_columns_of(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_cells *cells;

    if (tfs_cells_make(save, doc, chunk, kind->columns != NULL ? 0 : 1, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else if (kind->columns != NULL)
        kind->columns(doc, cells, columns, err);
    else
        scan_columns(cells, columns, err);
    tfs_cells_unref(cells);
    return err->code;
}
