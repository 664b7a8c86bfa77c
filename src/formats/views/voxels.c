/*
 * Cells <-> what pictures and comparing ask of a game (formats/picture/picture.h). A voxel is the
 * values of its planes in the table, and its name behind them.
 *
 * Must not know what a game stores, pictures, nor how differences are found.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/edit.h"
#include "formats/diff/sum.h"
#include "formats/views/views.h"
#include "text/name.h"
#include "text/table.h"

/* ---- from above ------------------------------------------------------------------------------ */

struct scan {
    const struct tfs_cells *cells;
    struct tfs_name_look *looks; /* of the entries that were met */
};

static void look(struct scan *s, uint32_t entry)
{
    const struct tfs_cells_kind *kind = s->cells->kind;
    const struct tfs_span name = s->cells->names[entry];

    s->looks[entry] =
        tfs_name_look(name, kind->is_unseen != NULL ? kind->is_unseen(name) : kind->is_air(name));
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

    at = layer == 0 ? 0 : at;
    for (uint32_t y = s->cells->size.y; y-- > 0;)
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

int tfs_cells_columns(struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_chunk *chunk, struct tfs_column *columns,
                      struct tfs_error *err)
{
    struct tfs_cells *cells;

    (void)doc;
    if (tfs_cells_make(save, chunk, 1, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else
        scan_columns(cells, columns, err);
    tfs_cells_unref(cells);
    return err->code;
}

/* ---- changes --------------------------------------------------------------------------------- */

void tfs_cells_voxels_close(void *chunk)
{
    tfs_cells_edit_close(chunk);
}

int tfs_cells_voxels_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                          void *chunk, struct tfs_error *err)
{
    return tfs_cells_edit_open(chunk, save, doc, key, err);
}

int tfs_cells_voxels_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                           struct tfs_error *err)
{
    (void)save;
    return tfs_cells_edit_finish(chunk, edit, err);
}

static size_t index_of(const struct tfs_cells_edit *e, struct tfs_stretch at, uint32_t y)
{
    const struct tfs_voxel_size size = e->before->size;

    return ((size_t)y * size.z + at.z) * size.x + at.x;
}

/* Is it one of the planes in front of the name? */
static bool is_in_front(const struct tfs_cells_kind *kind, unsigned plane)
{
    return plane > 0 && (kind->planes[plane].flags & TFS_PLANE_IN_TABLE) != 0;
}

int tfs_cells_voxels_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                          struct tfs_error *err)
{
    const struct tfs_cells_edit *e = chunk;
    const struct tfs_cells_kind *kind = e->before->kind;
    const size_t i = index_of(e, at, at.from);

    for (unsigned p = 1; p < kind->count; p++)
        if (is_in_front(kind, p)) {
            const uint64_t value = tfs_plane_get(&e->planes[p], i);
            for (unsigned b = 0; b < kind->planes[p].form.width; b++)
                tfs_buf_u8(voxel, (uint8_t)(value >> 8 * b));
        }
    tfs_buf_add_span(voxel, tfs_cells_edit_name(e, (uint32_t)tfs_plane_get(&e->planes[0], i)));
    return tfs_buf_check(voxel, err);
}

/* A voxel as it was taken. */
struct voxel {
    uint64_t values[TFS_PLANES_MAX];
    struct tfs_span name;
};

static struct voxel voxel_of(const struct tfs_cells_kind *kind, struct tfs_span bytes)
{
    struct voxel v = {.name = bytes};

    for (unsigned p = 1; p < kind->count; p++)
        if (is_in_front(kind, p)) {
            v.values[p] = tfs_array_value(v.name.data, kind->planes[p].form.width, 0);
            v.name.data += kind->planes[p].form.width;
            v.name.size -= kind->planes[p].form.width;
        }
    return v;
}

int tfs_cells_voxels_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                          struct tfs_error *err)
{
    struct tfs_cells_edit *e = chunk;
    const struct tfs_cells_kind *kind = e->before->kind;
    const struct voxel v = voxel_of(kind, voxel);
    uint32_t entry;

    if (tfs_cells_edit_add(e, v.name, &entry, err) < 0 || tfs_cells_edit_plane(e, 0, err) < 0)
        return err->code;
    e->written |= 1;
    for (uint32_t y = at.from; y < at.to; y++)
        tfs_cells_edit_set(e, index_of(e, at, y), entry);
    for (unsigned p = 1; p < kind->count; p++) {
        if (!is_in_front(kind, p))
            continue;
        if (tfs_cells_edit_plane(e, p, err) < 0)
            return err->code;
        e->written |= 1u << p;
        for (uint32_t y = at.from; y < at.to; y++)
            tfs_plane_set(&e->planes[p], index_of(e, at, y), v.values[p]);
    }
    return 0;
}

int tfs_cells_voxels_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    struct tfs_cells_edit *e = chunk;

    if (tfs_cells_edit_plane(e, 0, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to; y++)
        if (tfs_cells_edit_clear(e, index_of(e, at, y), err) < 0)
            return err->code;
    return 0;
}

/* What nothing is seen of stays. */
int tfs_cells_voxels_lower(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    struct tfs_cells_edit *e = chunk;
    const struct tfs_cells_kind *kind = e->before->kind;

    if (tfs_cells_edit_plane(e, 0, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to; y++) {
        const size_t i = index_of(e, at, y);
        const uint32_t entry = (uint32_t)tfs_plane_get(&e->planes[0], i);
        if ((kind->is_unseen == NULL || !kind->is_unseen(tfs_cells_edit_name(e, entry))) &&
            tfs_cells_edit_clear(e, i, err) < 0)
            return err->code;
    }
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* `default:dirt`, and in full `default:dirt@3` where another plane is not 0. */
void tfs_cells_voxels_print(const struct tfs_voxels *voxels, struct tfs_span bytes, bool brief,
                            struct tfs_buf *out)
{
    const struct voxel v = voxel_of(voxels->cells, bytes);

    tfs_name_print(out, v.name);
    for (unsigned p = 1; p < voxels->cells->count && !brief; p++)
        if (v.values[p] != 0) {
            tfs_buf_u8(out, '@');
            tfs_table_print_number(out, (int64_t)v.values[p]);
        }
}

bool tfs_cells_voxels_empty(const struct tfs_voxels *voxels, struct tfs_span bytes)
{
    return voxels->cells->is_air(voxel_of(voxels->cells, bytes).name);
}

/* ---- in short -------------------------------------------------------------------------------- */

static int sum_names(const struct tfs_cells *cells, struct tfs_voxel_sum *sum,
                     struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = cells->kind;
    const uint8_t zeros[sizeof(uint64_t) * TFS_PLANES_MAX] = {0};
    const struct tfs_cells_plane *plane = &cells->planes[0];
    uint32_t *entries = NULL;
    size_t front = 0;

    for (unsigned p = 1; p < kind->count; p++)
        front += is_in_front(kind, p) ? kind->planes[p].form.width : 0;
    if (plane->filled) {
        entries = malloc(cells->count * sizeof(*entries));
        if (entries == NULL)
            return tfs_fail_memory(err);
        tfs_plane_widen(plane, 0, cells->count, entries);
    }
    tfs_voxel_sum_names(sum, entries != NULL ? entries : plane->values, (uint32_t)cells->count,
                        cells->names, cells->name_count, (struct tfs_span){zeros, front}, err);
    free(entries);
    return err->code;
}

static void add_values(const struct tfs_cells_plane *plane, size_t count, struct tfs_buf *out)
{
    const size_t size = tfs_plane_size(&plane->form);

    for (size_t i = 0; plane->filled && i < count; i++)
        tfs_buf_add(out, plane->values, size);
    if (!plane->filled)
        tfs_buf_add(out, plane->values, count * size);
}

/* Optional planes are files of their own. */
static void sum_planes(const struct tfs_cells *cells, struct tfs_voxel_sum *sum)
{
    const struct tfs_cells_kind *kind = cells->kind;

    for (unsigned p = 1; p < kind->count; p++)
        if ((kind->planes[p].flags & TFS_PLANE_OPTIONAL) == 0)
            add_values(&cells->planes[p], cells->count, &sum->same);
}

static unsigned summed_planes(const struct tfs_cells_kind *kind)
{
    unsigned bits = 0;

    for (unsigned p = 0; p < kind->count; p++)
        bits |= (kind->planes[p].flags & TFS_PLANE_OPTIONAL) == 0 ? 1u << p : 0;
    return bits;
}

int tfs_cells_voxels_sum(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_chunk *chunk, struct tfs_voxel_sum *sum,
                         struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_keep(save, doc, chunk, summed_planes(save->tree->cells), &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else if (sum_names(cells, sum, err) == 0)
        sum_planes(cells, sum);
    tfs_cells_unref(cells);
    return err->code;
}
