/*
 * Cells without names <-> what pictures and comparing ask of a game (formats/picture/picture.h). A
 * voxel is the values of all planes, with how they are stored.
 *
 * Must not know what a game stores, pictures, nor how differences are found.
 */
#include <errno.h>

#include "formats/cells/edit.h"
#include "formats/diff/sum.h"
#include "formats/views/views.h"

/* The version; then of each plane the bytes of a value, and 8 with the value itself. */
#define NUMBER_SIZE 9

static unsigned version_in(struct tfs_span voxel)
{
    return voxel.data[0];
}

static unsigned width_in(struct tfs_span voxel, unsigned plane)
{
    return voxel.data[1 + NUMBER_SIZE * plane];
}

static uint64_t number_in(struct tfs_span voxel, unsigned plane)
{
    return tfs_array_value(voxel.data + 2 + NUMBER_SIZE * plane, sizeof(uint64_t), 0);
}

static struct tfs_plane_form form_in(const struct tfs_cells_kind *kind, struct tfs_span voxel,
                                     unsigned plane)
{
    return kind->form(version_in(voxel), plane, width_in(voxel, plane));
}

static int take_numbers(const struct tfs_cells *cells, const struct tfs_cells_plane *planes,
                        size_t i, struct tfs_buf *voxel, struct tfs_error *err)
{
    tfs_buf_u8(voxel, (uint8_t)cells->version);
    for (unsigned p = 0; p < cells->kind->count; p++) {
        tfs_buf_u8(voxel, (uint8_t)planes[p].form.width);
        tfs_buf_u64le(voxel, tfs_plane_get(&planes[p], i));
    }
    return tfs_buf_check(voxel, err);
}

static bool is_solid_in(const struct tfs_cells_kind *kind, struct tfs_span voxel, unsigned plane)
{
    const struct tfs_plane_form form = form_in(kind, voxel, plane);

    return (kind->planes[plane].flags & TFS_PLANE_SOLID) != 0 &&
           tfs_plane_is_solid(&form, number_in(voxel, plane));
}

/* Values of another version or width mean something else. */
static int check_numbers(const struct tfs_cells_edit *e, struct tfs_span voxel,
                         struct tfs_error *err)
{
    const struct tfs_cells *cells = e->before;
    const struct tfs_key key = cells->chunk.key;

    if (version_in(voxel) != cells->version)
        return tfs_fail(err, -EBADMSG,
                        "the voxel to repeat is one of version %u, chunk %d_%d_%d has version %u",
                        version_in(voxel), key.x, key.y, key.z, cells->version);
    for (unsigned p = 0; p < cells->kind->count; p++)
        if (width_in(voxel, p) != e->planes[p].form.width)
            return tfs_fail(err, -EBADMSG,
                            "%s of the voxel to repeat has %u bits, in chunk %d_%d_%d %u",
                            cells->kind->planes[p].name, 8 * width_in(voxel, p), key.x, key.y,
                            key.z, 8 * e->planes[p].form.width);
    return 0;
}

/* A value that is there already is no change: a filled plane stays one. */
static int set_number(struct tfs_cells_edit *e, unsigned plane, size_t i, uint64_t value,
                      struct tfs_error *err)
{
    if (tfs_plane_get(&e->planes[plane], i) != value && tfs_cells_edit_plane(e, plane, err) == 0)
        tfs_plane_set(&e->planes[plane], i, value);
    return err->code;
}

static struct tfs_cells_like like_of(const struct tfs_cells_kind *kind, struct tfs_span voxel)
{
    struct tfs_cells_like like = {.version = version_in(voxel)};

    for (unsigned p = 0; p < kind->count; p++)
        like.widths[p] = width_in(voxel, p);
    return like;
}

/* ---- changes --------------------------------------------------------------------------------- */

static size_t index_of(const struct tfs_cells_edit *e, struct tfs_stretch at, uint32_t y)
{
    const struct tfs_voxel_size size = e->before->size;

    return ((size_t)y * size.z + at.z) * size.x + at.x;
}

int tfs_numbers_voxels_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                            struct tfs_error *err)
{
    const struct tfs_cells_edit *e = chunk;

    return take_numbers(e->before, e->planes, index_of(e, at, at.from), voxel, err);
}

int tfs_numbers_voxels_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                            struct tfs_error *err)
{
    struct tfs_cells_edit *e = chunk;
    const struct tfs_cells_kind *kind = e->before->kind;
    const struct tfs_cells_like like = like_of(kind, voxel);

    if ((e->before->count == 0 && tfs_cells_edit_blank(e, &like, err) < 0) ||
        check_numbers(e, voxel, err) < 0)
        return err->code;
    for (unsigned p = 0; p < kind->count; p++)
        for (uint32_t y = at.from; y < at.to; y++)
            if (set_number(e, p, index_of(e, at, y), number_in(voxel, p), err) < 0)
                return err->code;
    return 0;
}

/* Only what makes a voxel more than an empty one changes: its other values stay. */
int tfs_numbers_voxels_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    struct tfs_cells_edit *e = chunk;

    for (unsigned p = 0; p < e->before->kind->count && e->before->count > 0; p++) {
        const struct tfs_cells_plane *plane = &e->planes[p];
        const bool solid = (e->before->kind->planes[p].flags & TFS_PLANE_SOLID) != 0;
        for (uint32_t y = at.from; y < at.to && solid; y++) {
            const size_t i = index_of(e, at, y);
            if (tfs_plane_is_solid(&plane->form, tfs_plane_get(plane, i)) &&
                set_number(e, p, i, plane->form.empty, err) < 0)
                return err->code;
        }
    }
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print_number(const struct tfs_cells_kind *kind, struct tfs_span voxel, unsigned plane,
                         struct tfs_buf *out)
{
    const struct tfs_plane_form form = form_in(kind, voxel, plane);
    const struct tfs_grid_shape shape = tfs_plane_shape(&form, (struct tfs_voxel_size){0}, 0);
    const uint64_t value = tfs_plane_wide(&form, number_in(voxel, plane));
    uint8_t text[TFS_GRID_VALUE_MAX];
    const size_t size = form.width == sizeof(uint64_t)
                            ? tfs_grid_put_value64(text, &shape, value)
                            : tfs_grid_put_value(text, &shape, (uint32_t)value);

    tfs_buf_printf(out, "%s=", kind->planes[plane].name);
    tfs_buf_add(out, text, size);
}

/* Does the plane say more than one that nobody wrote? */
static bool says_something(const struct tfs_cells_kind *kind, struct tfs_span voxel, unsigned plane)
{
    return width_in(voxel, plane) != kind->planes[plane].form.width ||
           number_in(voxel, plane) != form_in(kind, voxel, plane).empty;
}

/* `type=3`; of distances only that they are solid; nothing of air. */
static void print_solid(const struct tfs_cells_kind *kind, struct tfs_span voxel,
                        struct tfs_buf *out)
{
    bool solid = false;

    for (unsigned p = 0; p < kind->count; p++) {
        if (!is_solid_in(kind, voxel, p))
            continue;
        solid = true;
        if ((kind->planes[p].flags & TFS_PLANE_DISTANCE) != 0)
            continue;
        print_number(kind, voxel, p, out);
        return;
    }
    if (solid)
        tfs_buf_add_text(out, "solid");
}

/* The values that are not those of a voxel that nobody wrote, and how many bits they have where
 * that is not usual: `type=3 sdf=-12/8`. */
static void print_numbers(const struct tfs_cells_kind *kind, struct tfs_span voxel,
                          struct tfs_buf *out)
{
    const size_t begin = out->size;

    for (unsigned p = 0; p < kind->count; p++) {
        if (!says_something(kind, voxel, p))
            continue;
        if (out->size > begin)
            tfs_buf_u8(out, ' ');
        print_number(kind, voxel, p, out);
        if (width_in(voxel, p) != kind->planes[p].form.width)
            tfs_buf_printf(out, "/%u", 8 * width_in(voxel, p));
    }
    if (out->size == begin)
        tfs_buf_add_text(out, "empty");
}

void tfs_numbers_voxels_print(const struct tfs_voxels *voxels, struct tfs_span voxel, bool brief,
                              struct tfs_buf *out)
{
    (brief ? print_solid : print_numbers)(voxels->cells, voxel, out);
}

/* Distances of air say something. */
bool tfs_numbers_voxels_empty(const struct tfs_voxels *voxels, struct tfs_span voxel)
{
    for (unsigned p = 0; p < voxels->cells->count; p++)
        if (says_something(voxels->cells, voxel, p))
            return false;
    return true;
}

/* ---- in short -------------------------------------------------------------------------------- */

/* Voxels that are counted as one thing: by the value that makes them more than empty. */
struct bin {
    uint64_t value, voxels;
    unsigned plane;
    size_t voxel; /* one of them */
};

#define BINS_LOG 9
#define BINS     (1u << BINS_LOG)

struct bins {
    const struct tfs_cells *cells;
    struct tfs_voxel_sum *sum;
    struct tfs_buf voxel;
    struct bin bins[BINS];
};

static int bin_empty(struct bins *b, struct bin *bin, struct tfs_error *err)
{
    tfs_buf_clear(&b->voxel);
    if (bin->voxels > 0 &&
        take_numbers(b->cells, b->cells->planes, bin->voxel, &b->voxel, err) == 0)
        tfs_voxel_sum_count(b->sum, tfs_buf_span(&b->voxel), bin->voxels, err);
    bin->voxels = 0;
    return err->code;
}

static int bin_add(struct bins *b, unsigned plane, uint64_t value, size_t voxel,
                   struct tfs_error *err)
{
    const uint64_t spread = (value * TFS_PLANES_MAX + plane) * UINT64_C(0x9e3779b97f4a7c15);
    struct bin *bin = &b->bins[spread >> (64 - BINS_LOG)];

    if (bin->voxels > 0 && (bin->value != value || bin->plane != plane) &&
        bin_empty(b, bin, err) < 0)
        return err->code;
    if (bin->voxels == 0)
        *bin = (struct bin){.value = value, .plane = plane, .voxel = voxel};
    bin->voxels++;
    return 0;
}

/* The planes that voxels are solid by, distances last: as print_solid looks at them. */
static unsigned find_solid(const struct tfs_cells *cells, unsigned planes[TFS_PLANES_MAX])
{
    unsigned count = 0;

    for (unsigned last = 0; last < 2; last++)
        for (unsigned p = 0; p < cells->kind->count; p++) {
            const unsigned flags = cells->kind->planes[p].flags;
            if ((flags & TFS_PLANE_SOLID) != 0 && ((flags & TFS_PLANE_DISTANCE) != 0) == last &&
                tfs_plane_has_solid(&cells->planes[p], cells->count))
                planes[count++] = p;
        }
    return count;
}

/* How many voxels are not empty: solid ones, and air with distances or further values. */
static uint64_t count_saying(const struct tfs_cells *cells)
{
    const struct tfs_cells_plane *dense[TFS_PLANES_MAX];
    unsigned count = 0;
    uint64_t said = 0;

    for (unsigned p = 0; p < cells->kind->count; p++) {
        const struct tfs_cells_plane *plane = &cells->planes[p];
        if (plane->form.width != cells->kind->planes[p].form.width ||
            (plane->filled && tfs_plane_get(plane, 0) != plane->form.empty))
            return cells->count;
        if (!plane->filled)
            dense[count++] = plane;
    }
    for (size_t i = 0; i < cells->count; i++) {
        unsigned k = 0;
        while (k < count && tfs_plane_get(dense[k], i) == dense[k]->form.empty)
            k++;
        said += k < count;
    }
    return said;
}

/* Solid voxels have a short name. */
static int count_numbers(struct bins *b, struct tfs_error *err)
{
    const struct tfs_cells *cells = b->cells;
    unsigned planes[TFS_PLANES_MAX];
    const unsigned count = find_solid(cells, planes);

    for (size_t i = 0; i < cells->count && count > 0; i++)
        for (unsigned k = 0; k < count; k++) {
            const struct tfs_cells_plane *plane = &cells->planes[planes[k]];
            const uint64_t value = tfs_plane_get(plane, i);
            const bool distance = (cells->kind->planes[planes[k]].flags & TFS_PLANE_DISTANCE) != 0;
            if (!tfs_plane_is_solid(&plane->form, value))
                continue;
            if (bin_add(b, planes[k], distance ? 0 : value, i, err) < 0)
                return err->code;
            break;
        }
    for (unsigned i = 0; i < BINS; i++)
        if (bin_empty(b, &b->bins[i], err) < 0)
            return err->code;
    return 0;
}

/* A plane that nobody wrote says nothing; one of equal values says one, however it is stored. */
static void add_numbers(const struct tfs_cells *cells, unsigned p, struct tfs_buf *same)
{
    const struct tfs_cells_plane *plane = &cells->planes[p];
    const bool one = tfs_plane_uniform(plane, cells->count);

    if (one && plane->form.width == cells->kind->planes[p].form.width &&
        tfs_plane_get(plane, 0) == plane->form.empty)
        return;
    tfs_buf_u8(same, (uint8_t)p);
    tfs_buf_u8(same, (uint8_t)plane->form.width);
    tfs_buf_u8(same, (uint8_t)plane->form.kind);
    tfs_buf_u8(same, one);
    tfs_buf_add(same, plane->values, (one ? 1 : cells->count) * plane->form.width);
}

static int sum_numbers(const struct tfs_cells *cells, struct tfs_voxel_sum *sum,
                       struct tfs_error *err)
{
    struct bins bins = {.cells = cells, .sum = sum};

    tfs_buf_u32le(&sum->same, cells->size.x);
    tfs_buf_u32le(&sum->same, cells->size.y);
    tfs_buf_u32le(&sum->same, cells->size.z);
    for (unsigned p = 0; p < cells->kind->count; p++)
        add_numbers(cells, p, &sum->same);
    count_numbers(&bins, err);
    sum->filled = count_saying(cells);
    tfs_buf_release(&bins.voxel);
    return err->code;
}

int tfs_numbers_voxels_sum(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_chunk *chunk, struct tfs_voxel_sum *sum,
                           struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_keep(save, doc, chunk, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    if (cells->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", cells->damage);
    else if (cells->count > 0)
        sum_numbers(cells, sum, err);
    tfs_cells_unref(cells);
    return err->code;
}
