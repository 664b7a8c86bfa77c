/*
 * Columns -> map.png: a picture from above, for looking. Colours are the voxels' own, slopes are
 * lit from the north-west, water lets its bed shine through and darkens with its depth.
 *
 * Must not know games. All arithmetic is in integers: the picture is the same everywhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/picture/draw.h"
#include "formats/picture/map.h"

#define WATER_SHALLOW 0x4f93c4U
#define WATER_DEEP    0x1d4478U
#define WATER_DEPTH   28 /* from here on it does not get darker */

/* Of 256; together always above 0. */
#define LIGHT_PLAIN 236 /* level ground */
#define STEP_MAX    7
#define HEIGHT_TONE 34 /* how much darker the lowest ground is than the highest */

static struct tfs_png_shape map_shape(const struct tfs_picture_box *box)
{
    return (struct tfs_png_shape){
        .width = (uint32_t)box->sx, .height = (uint32_t)box->sz, .type = TFS_PNG_RGB8};
}

/* ---- colours --------------------------------------------------------------------------------- */

/* `part` of 256 of b, the rest a. */
static uint32_t mix(uint32_t a, uint32_t b, uint32_t part)
{
    uint32_t mixed = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        uint32_t from = a >> shift & 0xff, to = b >> shift & 0xff;
        mixed |= ((from * (256 - part) + to * part) >> 8) << shift;
    }
    return mixed;
}

static uint32_t water_colour(const struct tfs_pixel *pixel)
{
    uint32_t depth = pixel->water < WATER_DEPTH ? pixel->water : WATER_DEPTH;
    uint32_t water = mix(WATER_SHALLOW, WATER_DEEP, depth * 256 / WATER_DEPTH);
    uint32_t cover = 144 + depth * 8 < 250 ? 144 + depth * 8 : 250;

    return pixel->bed == TFS_COLOUR_NONE ? water : mix(pixel->bed, water, cover);
}

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

static uint32_t lit(uint32_t colour, uint32_t light)
{
    uint32_t result = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        uint32_t channel = (colour >> shift & 0xff) * light / 256;
        result |= (channel > 255 ? 255 : channel) << shift;
    }
    return result;
}

/* Most pixels have a height of few. */
int tfs_map_tones(struct tfs_map *map, struct tfs_error *err)
{
    const uint32_t count = map->low > map->high ? 0 : map->high - map->low + 1;

    map->tones = malloc(count + 1);
    if (map->tones == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < count; i++)
        map->tones[i] =
            (int8_t)(HEIGHT_TONE / 2 - (int32_t)(HEIGHT_TONE * (count - 1 - i) / count));
    return 0;
}

/* Ground rising to the south-east faces the light. */
static uint32_t ground_colour(const struct tfs_map *map, const struct tfs_pixel *pixel, bool first)
{
    int32_t light = LIGHT_PLAIN + map->tones[pixel->height - map->low];

    light += slope_light(pixel, pixel - map->box.sx);
    if (!first)
        light += slope_light(pixel, pixel - 1);
    return lit(pixel->colour, (uint32_t)light);
}

uint32_t tfs_map_colour(const struct tfs_map *map, const struct tfs_pixel *pixel, bool first)
{
    if (pixel->height == 0)
        return TFS_MAP_EMPTY;
    return pixel->water > 0 ? water_colour(pixel) : ground_colour(map, pixel, first);
}

/* ---- rows ------------------------------------------------------------------------------------ */

void tfs_map_strip(struct tfs_map *map, uint32_t strip)
{
    const size_t width = (size_t)map->box.sx;
    struct tfs_pixel *first = map->strip + width, *last = map->strip + map->box.chunk.z * width;

    if (strip > 0 && map->drawn != strip - 1)
        tfs_columns_strip(map->columns, strip - 1, first);
    if (strip > 0)
        memcpy(map->strip, last, width * sizeof(*last));
    else
        memset(map->strip, 0, width * sizeof(*last));
    tfs_columns_strip(map->columns, strip, first);
    map->drawn = strip;
}

static void map_row(void *arg, uint32_t row, uint8_t *samples)
{
    struct tfs_map *map = arg;
    uint32_t within = row % map->box.chunk.z, strip = row / map->box.chunk.z;

    if (strip != map->drawn)
        tfs_map_strip(map, strip);
    const struct tfs_pixel *pixel = map->strip + (size_t)(within + 1) * map->box.sx;
    for (uint64_t x = 0; x < map->box.sx; x++, samples += 3) {
        uint32_t colour = tfs_map_colour(map, &pixel[x], x == 0);
        samples[0] = (uint8_t)(colour >> 16);
        samples[1] = (uint8_t)(colour >> 8);
        samples[2] = (uint8_t)colour;
    }
}

/* ---- the lens -------------------------------------------------------------------------------- */

static int draw(const struct tfs_map *map, uint64_t offset, uint64_t size, struct tfs_buf *out,
                struct tfs_error *err)
{
    const unsigned threads = tfs_picture_threads(&map->box);
    const size_t pixels = (size_t)map->box.sx * (map->box.chunk.z + 1);
    struct tfs_map maps[TFS_PNG_THREADS_MAX];
    void *args[TFS_PNG_THREADS_MAX];
    struct tfs_pixel *strips = calloc(threads * pixels, sizeof(*strips));

    if (strips == NULL)
        return tfs_fail_memory(err);
    for (unsigned i = 0; i < threads; i++) {
        maps[i] = *map;
        maps[i].strip = strips + i * pixels;
        maps[i].drawn = UINT32_MAX;
        args[i] = &maps[i];
    }
    const struct tfs_picture picture = {.number = 1,
                                        .shape = map_shape(&map->box),
                                        .box = &map->box,
                                        .rows = {map_row, args, threads},
                                        .above = true};
    tfs_picture_draw(&picture, map->columns, offset, size, out, err);
    free(strips);
    return err->code;
}

static int map_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_map map = {.columns = NULL};
    struct tfs_overview overview;

    if (at.param == NULL && tfs_overview_of(save->tree->cells, doc, &overview))
        return tfs_overview_part(save, doc, &overview, offset, size, out, err);
    if (tfs_picture_shown(save, doc, at, &map.box, err) < 0)
        return err->code;
    map.low = 1;
    map.high = (uint32_t)map.box.sy;
    if (tfs_columns_lock(save, doc, &map.box, &map.columns, err) == 0) {
        /* Tiles lie beside each other, and none should need all others. */
        if (at.param == NULL)
            tfs_columns_range(map.columns, &map.low, &map.high, err);
        if (err->code == 0 && tfs_map_tones(&map, err) == 0)
            draw(&map, offset, size, out, err);
        tfs_columns_unlock(map.columns);
    }
    free(map.tones);
    return err->code;
}

static int map_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    return map_range(save, doc, at, 0, UINT64_MAX, out, err);
}

static int64_t map_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_picture_box box;
    struct tfs_error ignored = {0};
    struct tfs_overview overview;

    if (at.param == NULL && tfs_overview_of(save->tree->cells, doc, &overview))
        return tfs_overview_size(&overview);
    if (tfs_picture_shown(save, doc, at, &box, &ignored) < 0)
        return ignored.code;
    struct tfs_png_shape shape = map_shape(&box);
    return (int64_t)tfs_png_size(&shape);
}

#define MAP_LENS(tile, there)                                                                      \
    {                                                                                              \
        .param = (tile), .get = map_get, .get_range = map_range, .size = map_size,                 \
        .exists = (there)                                                                          \
    }

const struct tfs_lens tfs_map_lens = MAP_LENS(NULL, NULL);
const struct tfs_lens tfs_map_tile_lens = MAP_LENS("tile", tfs_picture_tile_exists);
