/*
 * Layers and heights -> map.png, for looking: materials in the colours of their names, slopes lit
 * from the north-west, darker where the ground is low; holes black. North up. Of a terrain that is
 * too wide for a picture it shows every second sample.
 */
#include <stdlib.h>

#include "formats/beamng/lenses.h"
#include "formats/views/pictures/picture.h"
#include "image/png.h"

/* Of 256. */
#define LIGHT_LOWEST  190 /* level ground at the bottom, and at the top */
#define LIGHT_HIGHEST 250
#define LIGHT_SLOPE   68 /* a cliff that faces the light, or lies in the shade: each way */

#define STEP_MAX   4095 /* of heights between two pixels: beyond it no slope is steeper */
#define STEP_USUAL 8    /* a terrain is not flatter than this, for its light */

struct map {
    const struct tfs_doc *doc;
    uint32_t side;               /* of the terrain */
    uint32_t shift, width;       /* a pixel is one of 1 << shift samples each way */
    uint32_t low, high;          /* of all heights */
    int8_t slopes[STEP_MAX + 1]; /* how much a step of heights lightens */
    uint32_t colours[256];       /* of layers */
    uint16_t *heights, *above;   /* rows of samples: of a row of pixels, and of the one above it */
    uint8_t *layers;
};

/* ---- light ----------------------------------------------------------------------------------- */

static void set_colours(struct map *map)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(map->doc);
    bool water;

    for (unsigned i = 0; i < TFS_BEAMNG_HOLE; i++) {
        struct tfs_span name = {0};
        (void)tfs_beamng_names_next(&names, &name);
        map->colours[i] = tfs_colour_of_name(name, &water);
    }
}

static void read_row(const struct map *map, const struct tfs_beamng_plane *plane, uint32_t row,
                     void *samples)
{
    tfs_beamng_row(map->doc, plane, map->side - 1 - (row << map->shift), samples);
}

/* The heights of the next row, and of the one above, which is the first one itself there. */
static void next_heights(struct map *map, uint32_t row, const uint16_t **heights,
                         const uint16_t **above)
{
    uint16_t *next = map->above;

    map->above = map->heights;
    map->heights = next;
    read_row(map, &tfs_beamng_heights, row, next);
    *heights = next;
    *above = row > 0 ? map->above : next;
}

static uint32_t step_between(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/* What light depends on, of all heights: the mean step is half as light as a cliff. */
static void set_light(struct map *map)
{
    const uint16_t *heights, *above;
    uint32_t low = UINT32_MAX, high = 0;
    uint64_t steps = 0;

    for (uint32_t row = 0; row < map->width; row++) {
        next_heights(map, row, &heights, &above);
        uint32_t left = heights[0];
        for (size_t x = 0; x < map->width; x++) {
            const uint32_t height = heights[x << map->shift];
            low = height < low ? height : low;
            high = height > high ? height : high;
            steps += step_between(height, above[x << map->shift]);
            steps += step_between(height, left);
            left = height;
        }
    }
    map->low = low;
    map->high = high;
    const uint32_t mean = (uint32_t)(steps / (2 * (uint64_t)map->width * map->width));
    for (uint32_t step = 0; step <= STEP_MAX; step++)
        map->slopes[step] =
            (int8_t)(LIGHT_SLOPE * step / (step + (mean > STEP_USUAL ? mean : STEP_USUAL)));
}

/* Ground rising to the south-east faces the light. */
static inline int32_t slope_light(const int8_t *slopes, uint32_t height, uint32_t neighbour)
{
    const uint32_t step = step_between(height, neighbour);
    const int32_t light = slopes[step < STEP_MAX ? step : STEP_MAX];

    return height < neighbour ? -light : light;
}

static void map_row(void *arg, uint32_t row, uint8_t *restrict samples)
{
    struct map *map = arg;
    /* Height above the lowest to light, with 16 bits behind the point. */
    const uint32_t scale = ((LIGHT_HIGHEST - LIGHT_LOWEST) << 16) / (map->high - map->low + 1);
    const uint32_t low = map->low, shift = map->shift;
    const uint16_t *heights, *above;

    next_heights(map, row, &heights, &above);
    read_row(map, &tfs_beamng_layers, row, map->layers);
    uint32_t left = heights[0];
    for (size_t x = 0; x < map->width; x++) {
        const uint32_t height = heights[x << shift];
        const uint32_t colour = map->colours[map->layers[x << shift]];
        int32_t light = LIGHT_LOWEST + (int32_t)((height - low) * scale >> 16);
        light += slope_light(map->slopes, height, above[x << shift]);
        light += slope_light(map->slopes, height, left);
        left = height;
        for (unsigned c = 0; c < 3; c++) {
            const uint32_t lit = (colour >> (16 - 8 * c) & 0xff) * (uint32_t)light >> 8;
            *samples++ = lit < UINT8_MAX ? (uint8_t)lit : UINT8_MAX;
        }
    }
}

/* ---- the picture ----------------------------------------------------------------------------- */

_Static_assert(TFS_BEAMNG_SIDE_MAX <= 2 * TFS_PNG_SIDE_MAX, "every second sample fits");

uint32_t tfs_beamng_map_shift(uint32_t side)
{
    return side > TFS_PNG_SIDE_MAX;
}

/* With a text where a pixel is more than a sample. */
static struct tfs_png_shape shape_of(const struct tfs_doc *doc)
{
    static const struct tfs_png_text scale = {"scale", "2"};
    const uint32_t side = tfs_beamng_layout_of(doc)->side, shift = tfs_beamng_map_shift(side);
    const uint32_t pixels = ((side - 1) >> shift) + 1;

    return (struct tfs_png_shape){pixels, pixels, TFS_PNG_RGB8, &scale, shift};
}

static int map_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_png_shape shape = shape_of(doc);
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    struct map map = {
        .doc = doc, .side = side, .shift = tfs_beamng_map_shift(side), .width = shape.width};
    uint16_t *rows = malloc(5 * (size_t)side);

    (void)save;
    (void)at;
    if (rows == NULL)
        return tfs_fail_memory(err);
    map.heights = rows;
    map.above = rows + side;
    map.layers = (uint8_t *)(rows + 2 * (size_t)side);
    set_colours(&map);
    set_light(&map);
    tfs_png_write(&shape, map_row, &map, out, err);
    free(rows);
    return err->code;
}

static int64_t map_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_png_shape shape = shape_of(doc);

    (void)save;
    (void)at;
    return (int64_t)tfs_png_size(&shape);
}

const struct tfs_lens tfs_beamng_map_lens = {.get = map_get, .size = map_size};
