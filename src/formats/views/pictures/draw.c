/*
 * Columns -> heightmap.png, heightmap-view.png, map.png and their tiles, row by row.
 *
 * The view is 8-bit grey, because its numbers are not to be edited: 0 where a column is empty, else
 * 1 for the lowest to 255 for the highest.
 *
 * In the map colours are the voxels' own, and slopes are lit from the north-west. All arithmetic is
 * in integers: the picture is the same everywhere. Must not know games.
 */
#include "formats/views/pictures/draw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/info.h"

/* ---- heights --------------------------------------------------------------------------------- */

static void paint_heights(const struct tfs_picture *p, const struct tfs_pixel *pixels,
                          const struct tfs_pixel *above, uint8_t *samples)
{
    (void)above;
    for (uint64_t x = 0; x < p->box.sx; x++) {
        samples[2 * x] = (uint8_t)(pixels[x].height >> 8);
        samples[2 * x + 1] = (uint8_t)pixels[x].height;
    }
}

#define SHADES 254 /* between `low` and `high` */

static uint8_t shade_of(const struct tfs_picture *p, uint32_t height)
{
    if (height == 0)
        return 0;
    if (height == p->low && height == p->high)
        return 1 + SHADES / 2;
    if (height <= p->low)
        return 1;
    if (height >= p->high)
        return 1 + SHADES;
    return (uint8_t)(1 + (height - p->low) * SHADES / (p->high - p->low));
}

static void paint_shades(const struct tfs_picture *p, const struct tfs_pixel *pixels,
                         const struct tfs_pixel *above, uint8_t *samples)
{
    (void)above;
    for (uint64_t x = 0; x < p->box.sx; x++)
        samples[x] = shade_of(p, pixels[x].height);
}

/* ---- the map --------------------------------------------------------------------------------- */

/* Of 256; together always above 0. */
#define LIGHT_PLAIN 236 /* level ground */
#define STEP_MAX    7
#define HEIGHT_TONE 34 /* how much darker the lowest ground is than the highest */

/* How much a pixel is lightened by being so much higher than its neighbour, in 256ths: by the first
 * step most. Not at all where there is nothing beside it, or the water's surface begins. */
static int32_t slope_light(const struct tfs_pixel *pixel, const struct tfs_pixel *neighbour)
{
    static const int8_t light[2 * STEP_MAX + 1] = {-51, -49, -46, -42, -37, -30, -19, 0,
                                                   19,  30,  37,  42,  46,  49,  51};
    int32_t step = (int32_t)pixel->height - (int32_t)neighbour->height;

    step = step < -STEP_MAX ? -STEP_MAX : step > STEP_MAX ? STEP_MAX : step;
    return neighbour->height == 0 ? 0 : light[step + STEP_MAX];
}

/* Another program may have made a column higher since all were measured. */
static int32_t tone_of(const struct tfs_picture *p, uint32_t height)
{
    const uint32_t count = p->high - p->low + 1;
    const uint32_t down = height >= p->high ? 0 : height <= p->low ? count - 1 : p->high - height;

    return HEIGHT_TONE / 2 - (int32_t)(HEIGHT_TONE * down / count);
}

/* Ground rising to the south-east faces the light; water has none of it. */
static int32_t light_of(const struct tfs_picture *p, const struct tfs_pixel *pixel,
                        const struct tfs_pixel *above, const struct tfs_pixel *left)
{
    if (pixel->water)
        return 256;
    return LIGHT_PLAIN + tone_of(p, pixel->height) + slope_light(pixel, above) +
           (left != NULL ? slope_light(pixel, left) : 0);
}

static void paint_map(const struct tfs_picture *p, const struct tfs_pixel *pixels,
                      const struct tfs_pixel *above, uint8_t *samples)
{
    static const uint8_t empty[] = {TFS_MAP_EMPTY >> 16, TFS_MAP_EMPTY >> 8 & 0xff,
                                    TFS_MAP_EMPTY & 0xff};

    for (uint64_t x = 0; x < p->box.sx; x++, samples += 3) {
        const struct tfs_pixel *pixel = &pixels[x];
        if (pixel->height == 0) {
            memcpy(samples, empty, sizeof(empty));
            continue;
        }
        const int32_t light = light_of(p, pixel, &above[x], x > 0 ? pixel - 1 : NULL);
        for (unsigned i = 0; i < 3; i++) {
            const uint32_t channel = pixel->colour[i] * (uint32_t)light / 256;
            samples[i] = (uint8_t)(channel > 255 ? 255 : channel);
        }
    }
}

/* ---- which picture --------------------------------------------------------------------------- */

int64_t tfs_picture_origin_z(const struct tfs_picture_box *box)
{
    return box->z + (int64_t)tfs_picture_row(box, 0);
}

static uint32_t scaled(uint64_t size, unsigned scale)
{
    return (uint32_t)((size + (UINT64_C(1) << scale) - 1) >> scale);
}

static void set_shape(struct tfs_picture *p)
{
    const struct tfs_picture_box *box = &p->box;
    const bool heights = p->kind->type == TFS_PNG_GREY16;
    char *first = p->values[0], *second = p->values[1];

    p->shape = (struct tfs_png_shape){.width = scaled(box->sx, p->scale),
                                      .height = scaled(box->sz, p->scale),
                                      .type = p->kind->type,
                                      .texts = p->texts,
                                      .text_count = heights || p->reduced ? TFS_PICTURE_TEXTS : 0};
    p->texts[0] = (struct tfs_png_text){heights ? "origin" : "scale", first};
    p->texts[1] = (struct tfs_png_text){heights ? "bottom" : "origin", second};
    snprintf(heights ? first : second, TFS_PICTURE_TEXT, "%" PRId64 " %" PRId64, box->x,
             tfs_picture_origin_z(box));
    if (heights)
        snprintf(second, TFS_PICTURE_TEXT, "%" PRId64, box->y);
    else
        snprintf(first, TFS_PICTURE_TEXT, "%" PRIu64, UINT64_C(1) << p->scale);
}

/* A save that is too wide for a pixel a column has a map nevertheless. */
static void reduce(struct tfs_picture *p)
{
    const uint64_t longest = p->box.sx > p->box.sz ? p->box.sx : p->box.sz;

    p->reduced = true;
    while (longest > (uint64_t)TFS_PNG_SIDE_MAX << p->scale)
        p->scale++;
}

static bool picture_of(const struct tfs_cells_kind *cells, const struct tfs_doc *doc,
                       struct tfs_at at, struct tfs_picture *p)
{
    *p = (struct tfs_picture){.kind = at.param, .low = 1};
    if (p->kind->tile ? !tfs_picture_tile_box(cells, doc, at.member, &p->box)
                      : !tfs_picture_box(cells, doc, &p->box))
        return false;
    if (!tfs_picture_box_fits(&p->box) && p->kind->type != TFS_PNG_RGB8)
        return false;
    if (!tfs_picture_box_fits(&p->box))
        reduce(p);
    p->high = (uint32_t)p->box.sy;
    set_shape(p);
    return true;
}

int tfs_picture_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_picture *p, struct tfs_error *err)
{
    if (picture_of(save->tree->cells, doc, at, p))
        return 0;
    return tfs_fail(err, -ENOENT, "there is no picture of this save, info.txt says why");
}

/* ---- black and white ------------------------------------------------------------------------- */

static void widen(void *arg, uint32_t number, const struct tfs_pixel *pixels)
{
    struct tfs_picture *p = arg;
    const size_t size = (size_t)p->box.sx * p->box.chunk.z;

    (void)number;
    for (size_t i = 0; i < size; i++) {
        const uint32_t height = pixels[i].height;
        p->low = height > 0 && height < p->low ? height : p->low;
        p->high = height > p->high ? height : p->high;
    }
}

/* Those of the view, and of the whole map. Tiles lie beside each other, and none should need all
 * others. */
static int measure(struct tfs_picture *p, struct tfs_columns *columns, struct tfs_error *err)
{
    if (p->kind->type == TFS_PNG_GREY16 || p->kind->tile)
        return 0;
    p->low = TFS_PICTURE_HEIGHT_MAX;
    p->high = 0;
    return tfs_strips_each(columns, &p->box, widen, p, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

int tfs_hand_init(struct tfs_hand *h, const struct tfs_picture *picture,
                  struct tfs_columns *columns, struct tfs_error *err)
{
    *h = (struct tfs_hand){.picture = picture, .drawn = UINT32_MAX};
    return tfs_strip_init(&h->strip, columns, &picture->box, err);
}

/* Makes the strip, and sets the row above it where that is seen; above the first one there is
 * nothing. */
static int go_to(struct tfs_hand *h, uint32_t number)
{
    struct tfs_strip *strip = &h->strip;
    const size_t width = (size_t)strip->box.sx, last = width * (strip->box.chunk.z - 1);
    const bool lit = h->picture->kind->type == TFS_PNG_RGB8;

    if (h->err.code < 0 || h->drawn == number)
        return h->err.code;
    if (lit && number > 0 && h->drawn != number - 1)
        tfs_strip_make(strip, number - 1, &h->err);
    if (lit && number > 0)
        memcpy(strip->above, strip->pixels + last, width * sizeof(*strip->above));
    else
        memset(strip->above, 0, width * sizeof(*strip->above));
    h->drawn = number;
    return h->err.code < 0 ? h->err.code : tfs_strip_make(strip, number, &h->err);
}

void tfs_hand_row(void *hand, uint32_t row, uint8_t *samples)
{
    struct tfs_hand *h = hand;
    const struct tfs_picture_box *box = &h->strip.box;

    if (go_to(h, row / box->chunk.z) < 0) {
        memset(samples, 0, tfs_png_row_size(&h->picture->shape));
        return;
    }
    const struct tfs_pixel *pixels = h->strip.pixels + row % box->chunk.z * box->sx;
    h->picture->kind->paint(h->picture, pixels, pixels - box->sx, samples);
}

static int write_rows(const struct tfs_picture *p, struct tfs_columns *columns, struct tfs_buf *out,
                      struct tfs_error *err)
{
    const unsigned threads = tfs_strip_threads(&p->box);
    struct tfs_hand hands[TFS_PNG_THREADS_MAX] = {{.picture = p}};
    void *args[TFS_PNG_THREADS_MAX];

    for (unsigned i = 0; i < threads && err->code == 0; i++) {
        args[i] = &hands[i];
        tfs_hand_init(&hands[i], p, columns, err);
    }
    if (err->code == 0)
        tfs_png_write_shared(&p->shape, tfs_hand_row, args, threads, out, err);
    for (unsigned i = 0; i < threads; i++) {
        if (err->code == 0 && hands[i].err.code < 0)
            *err = hands[i].err;
        tfs_strip_release(&hands[i].strip);
    }
    return err->code;
}

/* ---- the lenses ------------------------------------------------------------------------------ */

static int picture_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_columns *columns;
    struct tfs_picture p;

    if (tfs_picture_open(save, doc, at, &p, err) < 0)
        return err->code;
    if (tfs_columns_lock(save, doc, &columns, err) == 0) {
        if (p.reduced)
            tfs_overview_write(&p, doc, columns, out, err);
        else if (measure(&p, columns, err) == 0)
            write_rows(&p, columns, out, err);
        tfs_columns_unlock(columns);
    }
    return err->code;
}

static int64_t picture_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_picture p;

    return tfs_picture_open(save, doc, at, &p, &ignored) < 0 ? ignored.code
                                                             : (int64_t)tfs_png_size(&p.shape);
}

static const struct tfs_picture_kind heights_kind = {TFS_PNG_GREY16, false, paint_heights},
                                     heights_tile_kind = {TFS_PNG_GREY16, true, paint_heights},
                                     view_kind = {TFS_PNG_GREY8, false, paint_shades},
                                     map_kind = {TFS_PNG_RGB8, false, paint_map},
                                     map_tile_kind = {TFS_PNG_RGB8, true, paint_map};

const struct tfs_lens tfs_heightmap_lens = {
    .param = &heights_kind, .get = picture_get, .put = tfs_heightmap_put, .size = picture_size};
const struct tfs_lens tfs_heightmap_view_lens = {
    .param = &view_kind, .get = picture_get, .size = picture_size};
const struct tfs_lens tfs_map_lens = {.param = &map_kind, .get = picture_get, .size = picture_size};
const struct tfs_lens tfs_heightmap_tile_lens = {.param = &heights_tile_kind,
                                                 .get = picture_get,
                                                 .put = tfs_heightmap_put,
                                                 .size = picture_size,
                                                 .exists = tfs_picture_tile_exists};
const struct tfs_lens tfs_map_tile_lens = {.param = &map_tile_kind,
                                           .get = picture_get,
                                           .size = picture_size,
                                           .exists = tfs_picture_tile_exists};

/* ---- what there is --------------------------------------------------------------------------- */

uint32_t tfs_picture_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    struct tfs_picture_box box;

    return tfs_picture_box(tree->cells, doc, &box) && tfs_picture_box_fits(&box);
}

uint32_t tfs_picture_map_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    struct tfs_picture_box box;

    return tfs_picture_box(tree->cells, doc, &box);
}

/* What a pixel of map.png shows where it is no column. */
static void add_scale(struct tfs_buf *out, const struct tfs_picture *map)
{
    tfs_info_line(out, "map scale", "%" PRIu64, UINT64_C(1) << map->scale);
    tfs_info_line(out, "map size",
                  "%" PRIu32 " x %" PRIu32 " pixels, the corner of the first is x %" PRId64
                  " z %" PRId64,
                  map->shape.width, map->shape.height, map->box.x, tfs_picture_origin_z(&map->box));
}

void tfs_picture_info(struct tfs_buf *out, const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    const bool tiled = tfs_picture_tiles(tree, doc) > 0;
    const struct tfs_at at = tfs_lens_at(&tfs_map_lens, (struct tfs_key){0}, 0);
    struct tfs_picture map;

    if (!picture_of(tree->cells, doc, at, &map)) {
        tfs_info_line(
            out, "pictures", "none, because %s",
            tfs_doc_group_count(doc, 0) == 0
                ? "there are no chunks"
                : "they are of saves up to 65535 voxels high, with chunks up to 8192 wide");
        return;
    }
    const struct tfs_picture_box *box = &map.box;
    if (map.reduced) {
        tfs_info_line(out, "pictures",
                      "%s, because the save is %" PRIu64 " x %" PRIu64
                      " voxels; they end at %d x %d",
                      tiled ? "map.png and tiles" : "map.png alone", box->sx, box->sz,
                      TFS_PNG_SIDE_MAX, TFS_PNG_SIDE_MAX);
        add_scale(out, &map);
    } else {
        tfs_info_line(out, "pictures", "%" PRIu64 " x %" PRIu64 " pixels", box->sx, box->sz);
    }
    if (tiled)
        tfs_info_line(out, "picture tiles",
                      "%zu in heightmaps and maps; X_Z.png begins at x %d * X "
                      "and z %d * Z",
                      tfs_picture_tiles_there(tree->cells, doc), TFS_PICTURE_TILE,
                      TFS_PICTURE_TILE);
    if (!map.reduced)
        tfs_info_line(out, "picture origin", "x %" PRId64 " z %" PRId64 " is pixel 0,0%s", box->x,
                      tfs_picture_origin_z(box),
                      box->north_up ? ", z grows upward: north is up" : "");
    tfs_info_line(out, "picture bottom", "y %" PRId64 ": a height of 1 has its voxel there",
                  box->y);
}
