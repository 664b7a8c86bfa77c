/*
 * Cells <-> what pictures and comparing ask of a game (formats/picture/picture.h). A voxel is the
 * values of its planes in the table, and behind them its name, where the chunk has a table of
 * names.
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

/* Equal voxels at height `y` of some columns, which were seen up to there. */
static void add_solid(struct tfs_column *columns, size_t count, uint32_t y, uint32_t colour)
{
    const struct tfs_column solid = {
        .top = (uint16_t)(y + 1), .colour = colour, .bed = TFS_COLOUR_NONE};

    for (size_t i = 0; i < count; i++)
        columns[i] = solid;
}

static void add_water(struct tfs_column *columns, size_t count, uint32_t y, uint32_t colour)
{
    for (size_t i = 0; i < count; i++) {
        const struct tfs_column below = columns[i];
        const bool on_something = y > 0 && below.top == y;
        add_solid(&columns[i], 1, y, colour);
        columns[i].water = (uint16_t)(on_something ? below.water + 1 : 1);
        if (on_something)
            columns[i].bed = below.water > 0 ? below.bed : below.colour;
    }
}

/* Along the runs that the game stores, layer by layer from below. */
static void scan_runs(const struct tfs_cells *cells, struct tfs_column *columns)
{
    const size_t layer = (size_t)cells->size.x * cells->size.z;
    struct tfs_name_look look = {.kind = TFS_LOOK_UNKNOWN};
    struct tfs_cells_runs runs;
    uint64_t seen = 0;
    size_t at = 0;
    uint32_t y = 0;

    tfs_cells_runs_begin(&runs, cells, 1);
    while (tfs_cells_runs_next(&runs)) {
        if (look.kind == TFS_LOOK_UNKNOWN || runs.values[0] != seen)
            look = cells->kind->look(runs.values[0]);
        seen = runs.values[0];
        while (runs.count > 0) {
            const size_t count = runs.count < layer - at ? runs.count : layer - at;
            if (look.kind == TFS_LOOK_SOLID)
                add_solid(columns + at, count, y, look.colour);
            else if (look.kind == TFS_LOOK_WATER)
                add_water(columns + at, count, y, look.colour);
            runs.count -= count;
            at += count;
            y += at == layer;
            at = at == layer ? 0 : at;
        }
    }
}

int tfs_cells_columns(struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_chunk *chunk, struct tfs_column *columns,
                      struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_make(save, doc, chunk, tfs_cells_runs_need(save->tree->cells, 1), &cells, err) <
        0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else if (cells->kind->next_run != NULL)
        scan_runs(cells, columns);
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

/* A chunk without voxels gets them with the first that is put there. */
int tfs_cells_voxels_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                          void *chunk, struct tfs_error *err)
{
    return tfs_cells_edit_load(chunk, save, doc, key, err);
}

struct tfs_voxel_size tfs_cells_voxels_sides(const void *chunk)
{
    const struct tfs_cells_edit *e = chunk;

    return e->before->size;
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

static bool has_names(const struct tfs_cells_kind *kind)
{
    return kind->planes[0].form.kind == TFS_PLANE_NAMES;
}

/* Is it one of the planes in front of the name? */
static bool is_in_front(const struct tfs_cells_kind *kind, unsigned plane)
{
    return (kind->planes[plane].flags & TFS_PLANE_IN_TABLE) != 0 && (plane > 0 || !has_names(kind));
}

#define VOXEL_MAX (sizeof(uint64_t) * TFS_PLANES_MAX) /* bytes in front of a name */

/* Writes the values that a voxel has in front of its name; how many bytes. Those behind are 0. */
static size_t put_front(const struct tfs_cells_kind *kind, const uint64_t *values,
                        uint8_t bytes[VOXEL_MAX])
{
    size_t size = 0;

    for (unsigned p = 0; p < kind->count; p++)
        if (is_in_front(kind, p)) {
            memcpy(bytes + size, &values[p], sizeof(values[p]));
            size += kind->planes[p].form.width;
        }
    return size;
}

int tfs_cells_voxels_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                          struct tfs_error *err)
{
    const struct tfs_cells_edit *e = chunk;
    const struct tfs_cells_kind *kind = e->before->kind;
    const size_t i = index_of(e, at, at.from);
    uint64_t values[TFS_PLANES_MAX];
    uint8_t bytes[VOXEL_MAX];

    for (unsigned p = 0; p < kind->count; p++)
        values[p] = is_in_front(kind, p) ? tfs_plane_get(&e->planes[p], i) : 0;
    tfs_buf_add(voxel, bytes, put_front(kind, values, bytes));
    if (has_names(kind))
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

    for (unsigned p = 0; p < kind->count; p++)
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

    if (tfs_cells_edit_plane(e, 0, err) < 0 ||
        (has_names(kind) && tfs_cells_edit_add(e, v.name, &entry, err) < 0))
        return err->code;
    e->written |= 1;
    for (uint32_t y = at.from; y < at.to && has_names(kind); y++)
        tfs_cells_edit_set(e, index_of(e, at, y), entry);
    for (unsigned p = 0; p < kind->count; p++) {
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

static void print_name(const struct tfs_cells_kind *kind, const struct voxel *v,
                       struct tfs_buf *out)
{
    struct tfs_span name = v->name;

    if (!has_names(kind) && kind->planes[0].name_of != NULL)
        name = kind->planes[0].name_of(v->values[0]);
    if (has_names(kind) || name.size > 0)
        tfs_name_print(out, name);
    else
        tfs_table_print_number(out, (int64_t)v->values[0]);
}

/* `default:dirt`, and in full `default:dirt@3` where another plane is not 0; `Grass@76~40`, of
 * partial ones where it is not that of a full voxel. */
void tfs_cells_voxels_print(const struct tfs_voxels *voxels, struct tfs_span bytes, bool brief,
                            struct tfs_buf *out)
{
    const struct tfs_cells_kind *kind = voxels->cells;
    const struct voxel v = voxel_of(kind, bytes);
    const bool empty = tfs_cells_voxels_empty(voxels, bytes);

    print_name(kind, &v, out);
    for (unsigned p = 1; p < kind->count && !brief; p++) {
        const struct tfs_plane *plane = &kind->planes[p];
        if (is_in_front(kind, p) && v.values[p] != (empty ? plane->form.empty : plane->full)) {
            tfs_buf_u8(out, p == 1 ? '@' : '~');
            tfs_table_print_number(out, (int64_t)v.values[p]);
        }
    }
}

bool tfs_cells_voxels_empty(const struct tfs_voxels *voxels, struct tfs_span bytes)
{
    const struct tfs_cells_kind *kind = voxels->cells;
    const struct voxel v = voxel_of(kind, bytes);

    return has_names(kind) ? kind->is_air(v.name) : v.values[0] == kind->planes[0].form.empty;
}

void tfs_cells_voxels_make_full(const struct tfs_voxels *voxels, uint8_t *voxel)
{
    const struct tfs_cells_kind *kind = voxels->cells;

    for (unsigned p = 0; p < kind->count; p++) {
        if (!is_in_front(kind, p))
            continue;
        if ((kind->planes[p].flags & TFS_PLANE_PARTIAL) != 0)
            tfs_array_set(voxel, kind->planes[p].form.width, 0, kind->planes[p].full);
        voxel += kind->planes[p].form.width;
    }
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

static unsigned summed_planes(const struct tfs_cells_kind *kind)
{
    unsigned bits = 0;

    for (unsigned p = 0; p < kind->count; p++)
        bits |= (kind->planes[p].flags & TFS_PLANE_OPTIONAL) == 0 ? 1u << p : 0;
    return bits;
}

static void add_run(const struct tfs_cells_kind *kind, const uint64_t *values, size_t count,
                    struct tfs_buf *same)
{
    const uint32_t run = (uint32_t)count;
    uint8_t *bytes = tfs_buf_reserve(same, VOXEL_MAX + sizeof(run));

    if (bytes == NULL)
        return;
    const size_t size = (put_front(kind, values, bytes) + sizeof(run) - 1) / sizeof(run);
    memcpy(bytes + size * sizeof(run), &run, sizeof(run));
    same->size += (size + 1) * sizeof(run);
}

static bool same_values(const struct tfs_cells_kind *kind, const uint64_t *a, const uint64_t *b)
{
    uint64_t differs = 0;

    for (unsigned p = 0; p < kind->count; p++)
        differs |= a[p] ^ b[p];
    return differs == 0;
}

static int count_values(const struct tfs_cells_kind *kind, const uint64_t *counts,
                        struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    uint64_t values[TFS_PLANES_MAX] = {0};
    uint8_t bytes[VOXEL_MAX];

    for (; values[0] <= kind->planes[0].form.high && err->code == 0; values[0]++)
        if (counts[values[0]] > 0)
            tfs_voxel_sum_count(sum, (struct tfs_span){bytes, put_front(kind, values, bytes)},
                                counts[values[0]], err);
    return err->code;
}

/* Runs of equal voxels are the same however the game stores them. The first is of empty voxels, if
 * only of none: checksums of this have been kept. */
static int sum_runs(const struct tfs_cells *cells, struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = cells->kind;
    uint64_t counts[UINT8_MAX + 1] = {0}, values[TFS_PLANES_MAX] = {0};
    struct tfs_cells_runs runs;
    size_t count = 0;

    tfs_cells_runs_begin(&runs, cells, summed_planes(kind));
    while (tfs_cells_runs_next(&runs)) {
        counts[runs.values[0]] += runs.count;
        if (!same_values(kind, runs.values, values)) {
            add_run(kind, values, count, &sum->same);
            memcpy(values, runs.values, sizeof(values));
            count = 0;
        }
        count += runs.count;
    }
    add_run(kind, values, count, &sum->same);
    return count_values(kind, counts, sum, err);
}

/* Optional planes are files of their own. */
static void sum_planes(const struct tfs_cells *cells, struct tfs_voxel_sum *sum)
{
    const struct tfs_cells_kind *kind = cells->kind;

    for (unsigned p = 1; p < kind->count; p++)
        if ((kind->planes[p].flags & TFS_PLANE_OPTIONAL) == 0)
            add_values(&cells->planes[p], cells->count, &sum->same);
}

int tfs_cells_voxels_sum(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_chunk *chunk, struct tfs_voxel_sum *sum,
                         struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_cells *cells;

    if (tfs_cells_keep(save, doc, chunk, tfs_cells_runs_need(kind, summed_planes(kind)), &cells,
                       err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else if (!has_names(cells->kind))
        sum_runs(cells, sum, err);
    else if (sum_names(cells, sum, err) == 0)
        sum_planes(cells, sum);
    tfs_cells_unref(cells);
    return err->code;
}
