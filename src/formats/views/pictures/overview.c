/*
 * A save that is too wide for a pixel a column -> map.png, in which a pixel is the mean colour of a
 * square of columns, as tiles show them. Its side is a power of two; columns without a voxel do not
 * count.
 *
 * Rows of pixels are computed some at a time, area by area of those with chunks
 * (formats/save/tile_areas.h), so that the columns are never in memory as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/save/tile_areas.h"
#include "formats/views/pictures/draw.h"

#define STEP 32 /* rows of pixels that are computed at a time */

/* What the columns of a pixel sum up to. */
struct sum {
    uint64_t colours[3], count;
};

struct drawing {
    const struct tfs_picture *picture;
    struct tfs_columns *columns;
    const struct tfs_doc_areas *areas;
    struct tfs_picture part; /* the map of a part of the box */
    uint64_t top, bottom;    /* of the columns being summed up, in rows of the picture */
    struct sum *sums;        /* of the rows from `first` to `end` - 1 */
    uint32_t first, end;
    uint8_t *samples; /* of a row of columns */
    struct tfs_error err;
};

/* ---- summing up ------------------------------------------------------------------------------ */

/* The first row of the picture that a part of the box has, in columns. */
static uint64_t top_of(const struct tfs_picture_box *box, const struct tfs_picture_box *part)
{
    const uint64_t z = (uint64_t)(part->z - box->z);

    return box->north_up ? box->sz - z - part->sz : z;
}

/* Adds a row of columns that the hand drew. */
static void add_row(const struct drawing *d, const struct tfs_hand *hand, uint64_t row,
                    struct sum *sums)
{
    const struct tfs_picture_box *part = &d->part.box;
    const struct tfs_pixel *pixels = hand->strip.pixels + row % part->chunk.z * part->sx;
    const uint64_t left = (uint64_t)(part->x - d->picture->box.x);

    for (uint64_t x = 0; x < part->sx; x++) {
        struct sum *sum = &sums[(left + x) >> d->picture->scale];
        for (unsigned i = 0; i < 3 && pixels[x].height > 0; i++)
            sum->colours[i] += d->samples[3 * x + i];
        sum->count += pixels[x].height > 0;
    }
}

static int add_part(struct drawing *d, struct tfs_error *err)
{
    const struct tfs_picture *p = d->picture;
    const struct tfs_picture_box *part = &d->part.box;
    const uint64_t top = top_of(&p->box, part);
    struct tfs_hand hand;

    if (tfs_hand_init(&hand, &d->part, d->columns, err) == 0)
        for (uint64_t row = 0; row < part->sz && hand.err.code == 0; row++)
            if (top + row >= d->top && top + row < d->bottom) {
                tfs_hand_row(&hand, (uint32_t)row, d->samples);
                add_row(d, &hand, row,
                        d->sums + (((top + row) >> p->scale) - d->first) * p->shape.width);
            }
    if (err->code == 0)
        *err = hand.err;
    tfs_strip_release(&hand.strip);
    return err->code;
}

/* In chunks from the corner of the box on, along one side. */
struct interval {
    int64_t from, to;
};

static struct interval overlap(struct interval a, struct interval b)
{
    return (struct interval){a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
}

/* Rows of chunks that are to be summed up, and the one above, which shades the first of them. */
static struct interval wanted_rows(const struct drawing *d)
{
    const struct tfs_picture_box *box = &d->picture->box;
    const uint64_t from = box->north_up ? box->sz - d->bottom : d->top;
    const uint64_t to = box->north_up ? box->sz - d->top : d->bottom;
    struct interval rows = {(int64_t)(from / box->chunk.z),
                            (int64_t)((to + box->chunk.z - 1) / box->chunk.z)};

    rows.from -= !box->north_up;
    rows.to += box->north_up;
    return rows;
}

/* Sets the part of the map to what is wanted of an area. False: nothing is. */
static bool choose_part(struct drawing *d, struct tfs_key area, const int32_t side[2])
{
    const struct tfs_picture_box *box = &d->picture->box;
    struct tfs_picture_box *part = &d->part.box;
    const int64_t x = (int64_t)area.x * side[0] - box->low.x;
    const int64_t z = (int64_t)area.z * side[1] - box->low.z;
    const struct interval all_x = {0, (int64_t)(box->sx / box->chunk.x)};
    const struct interval all_z = {0, (int64_t)(box->sz / box->chunk.z)};
    const struct interval columns = overlap((struct interval){x, x + side[0]}, all_x);
    const struct interval rows =
        overlap(overlap((struct interval){z, z + side[1]}, all_z), wanted_rows(d));

    if (columns.from >= columns.to || rows.from >= rows.to)
        return false;
    *part = *box;
    tfs_picture_box_move(part, (int32_t)(box->low.x + columns.from),
                         (int32_t)(box->low.z + rows.from), (uint64_t)(columns.to - columns.from),
                         (uint64_t)(rows.to - rows.from));
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Sums up rows of pixels from `first` on. */
static int compute(struct drawing *d, uint32_t first, struct tfs_error *err)
{
    const struct tfs_picture *p = d->picture;
    const uint64_t end = first + STEP < p->shape.height ? first + STEP : p->shape.height;
    const int32_t side[2] = {tfs_picture_tile_chunks(p->box.chunk.x),
                             tfs_picture_tile_chunks(p->box.chunk.z)};

    memset(d->sums, 0, (size_t)STEP * p->shape.width * sizeof(*d->sums));
    d->first = first;
    d->end = (uint32_t)end;
    d->top = (uint64_t)first << p->scale;
    d->bottom = end << p->scale < p->box.sz ? end << p->scale : p->box.sz;
    for (size_t i = 0; i < d->areas->count; i++)
        if (choose_part(d, d->areas->items[i].key, side) && add_part(d, err) < 0)
            return err->code;
    return 0;
}

static void give_row(void *arg, uint32_t row, uint8_t *samples)
{
    struct drawing *d = arg;

    if (row >= d->end && d->err.code == 0)
        compute(d, row, &d->err);
    const struct sum *sums = d->sums + (size_t)(row - d->first) * d->picture->shape.width;
    for (uint32_t x = 0; x < d->picture->shape.width; x++)
        for (unsigned i = 0; i < 3; i++)
            *samples++ = sums[x].count > 0 ? (uint8_t)(sums[x].colours[i] / sums[x].count)
                                           : (uint8_t)(TFS_MAP_EMPTY >> (16 - 8 * i));
}

int tfs_overview_write(const struct tfs_picture *picture, const struct tfs_doc *doc,
                       struct tfs_columns *columns, struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_voxel_size chunk = picture->box.chunk;
    const int32_t side = tfs_picture_tile_chunks(chunk.x);
    struct drawing d = {.picture = picture, .columns = columns, .part = *picture};

    d.areas = tfs_doc_areas(doc, side, tfs_picture_tile_chunks(chunk.z));
    d.sums = malloc((size_t)STEP * picture->shape.width * sizeof(*d.sums));
    d.samples = malloc((size_t)side * chunk.x * 3);
    if (d.areas == NULL || d.sums == NULL || d.samples == NULL)
        tfs_fail_memory(err);
    else if (tfs_png_write(&picture->shape, give_row, &d, out, err) == 0)
        *err = d.err;
    free(d.sums);
    free(d.samples);
    return err->code;
}
