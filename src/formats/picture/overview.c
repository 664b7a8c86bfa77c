/*
 * A save that is too wide for a pixel a column -> map.png, in which a pixel is the mean colour of a
 * square of columns. Its side is a power of two; columns without a voxel do not count.
 *
 * Rows of pixels are computed some at a time, area by area of those with chunks (formats/areas.h),
 * so that neither the picture nor the columns are ever in memory as a whole.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/areas.h"
#include "formats/picture/draw.h"
#include "formats/picture/map.h"

#define NUMBER 3  /* of tfs_columns_sums */
#define STEP   32 /* rows of pixels that are computed at a time */

/* What the columns of a pixel sum up to. */
struct sum {
    uint64_t colours[3], count;
};

struct drawing {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    const struct tfs_overview *overview;
    struct tfs_map map;   /* of a part of the box */
    uint64_t top, bottom; /* of the columns being summed up, in rows of the picture */
    struct sum *sums;     /* of the rows being computed, from `first` on */
    uint32_t first;
    struct tfs_kept_rows *kept;
};

/* ---- what there is --------------------------------------------------------------------------- */

static uint32_t scaled(uint64_t size, unsigned scale)
{
    return (uint32_t)((size + (UINT64_C(1) << scale) - 1) >> scale);
}

bool tfs_overview_of(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                     struct tfs_overview *o)
{
    *o = (struct tfs_overview){.scale = 0};
    if (!tfs_picture_box(kind, doc, &o->box) || tfs_picture_box_fits(&o->box) ||
        o->box.chunk.x > TFS_PNG_SIDE_MAX || o->box.chunk.z > TFS_PNG_SIDE_MAX)
        return false;
    const uint64_t longest = o->box.sx > o->box.sz ? o->box.sx : o->box.sz;
    while (longest > (uint64_t)TFS_PNG_SIDE_MAX << o->scale)
        o->scale++;
    o->width = scaled(o->box.sx, o->scale);
    o->height = scaled(o->box.sz, o->scale);
    return true;
}

/* The shape, with what pixels show as texts. */
struct form {
    struct tfs_png_shape shape;
    struct tfs_png_text texts[2];
    char scale[24], origin[48];
};

static void form_init(struct form *form, const struct tfs_overview *o)
{
    const struct tfs_picture_box *box = &o->box;

    snprintf(form->scale, sizeof(form->scale), "%" PRIu64, UINT64_C(1) << o->scale);
    snprintf(form->origin, sizeof(form->origin), "%" PRId64 " %" PRId64, box->x,
             box->north_up ? box->z + (int64_t)box->sz - 1 : box->z);
    form->texts[0] = (struct tfs_png_text){"scale", form->scale};
    form->texts[1] = (struct tfs_png_text){"origin", form->origin};
    form->shape = (struct tfs_png_shape){.width = o->width,
                                         .height = o->height,
                                         .type = TFS_PNG_RGB8,
                                         .texts = form->texts,
                                         .text_count = 2};
}

int64_t tfs_overview_size(const struct tfs_overview *overview)
{
    struct form form;

    form_init(&form, overview);
    return (int64_t)tfs_png_size(&form.shape);
}

/* ---- summing up ------------------------------------------------------------------------------ */

static void add_pixel(struct sum *sum, uint32_t colour)
{
    for (unsigned c = 0; c < 3; c++)
        sum->colours[c] += colour >> (16 - 8 * c) & 0xff;
    sum->count++;
}

/* The first row of the picture that a part of the box has, in columns. */
static uint64_t top_of(const struct tfs_picture_box *box, const struct tfs_picture_box *part)
{
    const uint64_t z = (uint64_t)(part->z - box->z);

    return box->north_up ? box->sz - z - part->sz : z;
}

/* Adds a row of chunks of the part, which is in the strip. */
static void add_strip(const struct drawing *d, uint32_t strip)
{
    const struct tfs_overview *o = d->overview;
    const struct tfs_picture_box *part = &d->map.box;
    const uint64_t left = (uint64_t)(part->x - o->box.x);
    uint64_t row = top_of(&o->box, part) + (uint64_t)strip * part->chunk.z;

    for (uint32_t z = 0; z < part->chunk.z; z++, row++) {
        const struct tfs_pixel *pixels = d->map.strip + (z + 1) * part->sx;
        if (row < d->top || row >= d->bottom)
            continue;
        struct sum *sums = d->sums + ((row >> o->scale) - d->first) * o->width;
        for (uint64_t x = 0; x < part->sx; x++)
            if (pixels[x].height > 0)
                add_pixel(&sums[(left + x) >> o->scale],
                          tfs_map_colour(&d->map, &pixels[x], x == 0));
    }
}

static int add_part(struct drawing *d, struct tfs_error *err)
{
    struct tfs_map *map = &d->map;
    const uint32_t rows = tfs_picture_rows(&map->box);

    if (tfs_columns_move(map->columns, &map->box, err) < 0)
        return err->code;
    const uint32_t step = tfs_columns_step(map->columns);
    map->drawn = UINT32_MAX;
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t end = rows - row < step ? rows : row + step;
        if (row % step == 0 && tfs_columns_rows(map->columns, row, end, err) < 0)
            return err->code;
        tfs_map_strip(map, row);
        add_strip(d, row);
    }
    return 0;
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
    const struct tfs_picture_box *box = &d->overview->box;
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
    const struct tfs_picture_box *box = &d->overview->box;
    struct tfs_picture_box *part = &d->map.box;
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
    part->low.x = (int32_t)(box->low.x + columns.from);
    part->low.z = (int32_t)(box->low.z + rows.from);
    part->x = (int64_t)part->low.x * box->chunk.x;
    part->z = (int64_t)part->low.z * box->chunk.z;
    part->sx = (uint64_t)(columns.to - columns.from) * box->chunk.x;
    part->sz = (uint64_t)(rows.to - rows.from) * box->chunk.z;
    return true;
}

static int add_areas(struct drawing *d, struct tfs_error *err)
{
    const struct tfs_picture_box *box = &d->overview->box;
    const int32_t side[2] = {tfs_picture_tile_chunks(box->chunk.x),
                             tfs_picture_tile_chunks(box->chunk.z)};
    const struct tfs_doc_areas *areas = tfs_doc_areas(d->doc, side[0], side[1]);

    if (areas == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < areas->count; i++)
        if (choose_part(d, areas->items[i].key, side) && add_part(d, err) < 0)
            return err->code;
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void set_samples(const struct sum *sums, size_t count, uint8_t *samples)
{
    for (size_t i = 0; i < count; i++)
        for (unsigned c = 0; c < 3; c++)
            *samples++ = sums[i].count > 0 ? (uint8_t)(sums[i].colours[c] / sums[i].count)
                                           : (uint8_t)(TFS_MAP_EMPTY >> (16 - 8 * c));
}

/* Makes d->kept these rows. */
static int compute(struct drawing *d, uint32_t first, uint32_t end, struct tfs_error *err)
{
    const struct tfs_overview *o = d->overview;
    const size_t count = (size_t)(end - first) * o->width;
    struct tfs_kept_rows *kept = d->kept;

    free(kept->samples);
    *kept = (struct tfs_kept_rows){.samples = malloc(count * 3)};
    d->sums = calloc(count, sizeof(*d->sums));
    d->first = first;
    d->top = (uint64_t)first << o->scale;
    d->bottom = (uint64_t)end << o->scale < o->box.sz ? (uint64_t)end << o->scale : o->box.sz;
    if (kept->samples == NULL || d->sums == NULL)
        tfs_fail_memory(err);
    else if (add_areas(d, err) == 0) {
        set_samples(d->sums, count, kept->samples);
        kept->version = d->doc->version;
        kept->first = first;
        kept->end = end;
    }
    free(d->sums);
    return err->code;
}

static int prepare(void *arg, uint32_t first, uint32_t end, struct tfs_error *err)
{
    struct drawing *d = arg;
    const struct tfs_kept_rows *kept = d->kept;
    uint32_t last = first + STEP < d->overview->height ? first + STEP : d->overview->height;

    if (kept->version == d->doc->version && first >= kept->first && end <= kept->end)
        return 0;
    return compute(d, first, last > end ? last : end, err);
}

static void give_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct drawing *d = arg;
    const size_t size = (size_t)d->overview->width * 3;

    memcpy(samples, d->kept->samples + (row - d->kept->first) * size, size);
}

/* ---- the picture ----------------------------------------------------------------------------- */

static int draw(struct drawing *d, uint64_t offset, uint64_t size, struct tfs_buf *out,
                struct tfs_error *err)
{
    const struct tfs_picture_box *box = &d->overview->box;
    void *args[1] = {d};
    struct form form;

    form_init(&form, d->overview);
    const struct tfs_picture picture = {.number = NUMBER,
                                        .shape = form.shape,
                                        .box = box,
                                        .rows = {give_row, args, 1},
                                        .prepare = prepare,
                                        .step = STEP};
    d->kept = tfs_columns_kept(d->map.columns);
    return tfs_picture_draw(&picture, d->map.columns, offset, size, out, err);
}

int tfs_overview_part(struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_overview *o, uint64_t offset, uint64_t size,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct drawing d = {.save = save, .doc = doc, .overview = o};
    const struct tfs_voxel_size chunk = o->box.chunk;
    const size_t widest = (size_t)tfs_picture_tile_chunks(chunk.x) * chunk.x;
    struct tfs_picture_box corner = o->box;

    corner.sx = chunk.x;
    corner.sz = chunk.z;
    d.map.low = 1;
    d.map.high = (uint32_t)(o->box.sy >> o->box.drop);
    d.map.strip = calloc(widest * (chunk.z + 1), sizeof(*d.map.strip));
    if (d.map.strip == NULL)
        return tfs_fail_memory(err);
    if (tfs_map_tones(&d.map, err) == 0 &&
        tfs_columns_lock(save, doc, &corner, &d.map.columns, err) == 0) {
        draw(&d, offset, size, out, err);
        tfs_columns_unlock(d.map.columns);
    }
    free(d.map.tones);
    free(d.map.strip);
    return err->code;
}
