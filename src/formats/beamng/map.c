/*
 * Layers and heights -> map.png, for looking: materials in the colours of their names, slopes lit
 * from the north-west, darker where the ground is low; holes black. North up. A terrain that is too
 * wide for a picture is scaled down by a power of two: a pixel is the mean of a square of samples,
 * and lit by what its neighbours are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    struct tfs_beamng_terrain terrain;
    uint32_t shift, width;       /* a pixel is 1 << shift samples each way */
    uint32_t low, high;          /* of all heights */
    int8_t slopes[STEP_MAX + 1]; /* how much a step of heights lightens */
    uint64_t colours[256];       /* three colours, CHANNEL bits apart */
    uint8_t *samples;            /* a row */
    uint32_t *heights, *above;   /* of a row of pixels, and the one above it */
    uint64_t *sums;              /* of a row of pixels, of colours; 0 before one is read */
};

#define CHANNEL 21 /* bits: the sum of all samples of a pixel fits in */
#define CHANNEL_OF(colours, c)                                                                     \
    ((uint32_t)((colours) >> (2 - (c)) * CHANNEL) & ((1u << CHANNEL) - 1))

/* ---- rows ------------------------------------------------------------------------------------ */

/* Samples of a square along a side. */
static uint32_t within(const struct map *map, uint32_t pixel)
{
    const uint32_t left = map->terrain.layout.side - (pixel << map->shift);

    return left < 1u << map->shift ? left : 1u << map->shift;
}

static void read_samples(const struct map *map, const struct tfs_beamng_plane *plane, uint32_t row)
{
    tfs_beamng_terrain_row(&map->terrain, plane, map->terrain.layout.side - 1 - row, map->samples);
}

/* The heights of the next row. */
static void read_heights(struct map *map, uint32_t row)
{
    const uint32_t side = map->terrain.layout.side, shift = map->shift, rows = within(map, row);
    const uint8_t *samples = map->samples;
    uint32_t *heights = map->above;

    map->above = map->heights;
    map->heights = heights;
    memset(heights, 0, map->width * sizeof(*heights));
    for (uint32_t i = 0; i < rows; i++) {
        read_samples(map, &tfs_beamng_heights, (row << shift) + i);
        for (size_t x = 0; x < side; x++)
            heights[x >> shift] += (uint32_t)(samples[2 * x] | samples[2 * x + 1] << 8);
    }
    for (uint32_t x = 0; x < map->width && shift > 0; x++)
        heights[x] /= rows * within(map, x);
}

static void read_colours(const struct map *map, uint32_t row)
{
    const uint32_t side = map->terrain.layout.side, shift = map->shift, rows = within(map, row);
    const uint8_t *samples = map->samples;
    uint64_t *sums = map->sums;

    for (uint32_t i = 0; i < rows; i++) {
        read_samples(map, &tfs_beamng_layers, (row << shift) + i);
        for (size_t x = 0; x < side; x++)
            sums[x >> shift] += map->colours[samples[x]];
    }
    for (uint32_t x = 0; x < map->width && shift > 0; x++) {
        uint64_t mean = 0;
        for (unsigned c = 0; c < 3; c++)
            mean = mean << CHANNEL | CHANNEL_OF(sums[x], c) / (rows * within(map, x));
        sums[x] = mean;
    }
}

/* ---- light ----------------------------------------------------------------------------------- */

static void set_colours(struct map *map, const struct tfs_doc *doc)
{
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);
    bool water;

    for (unsigned i = 0; i < TFS_BEAMNG_HOLE; i++) {
        struct tfs_span name = {0};
        (void)tfs_beamng_names_next(&names, &name);
        const uint64_t colour = tfs_colour_of_name(name, &water);
        map->colours[i] =
            colour >> 16 << 2 * CHANNEL | (colour >> 8 & 0xff) << CHANNEL | (colour & 0xff);
    }
}

static uint32_t step_between(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/* What light depends on, of all heights: the mean step is half as light as a cliff. */
static void set_light(struct map *map)
{
    uint32_t low = UINT32_MAX, high = 0;
    uint64_t steps = 0;

    for (uint32_t row = 0; row < map->width; row++) {
        read_heights(map, row);
        const uint32_t *heights = map->heights, *above = row > 0 ? map->above : heights;
        uint32_t left = heights[0];
        for (uint32_t x = 0; x < map->width; x++) {
            const uint32_t height = heights[x];
            low = height < low ? height : low;
            high = height > high ? height : high;
            steps += step_between(height, above[x]);
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
    const uint32_t low = map->low, width = map->width;
    uint64_t *sums = map->sums;

    read_colours(map, row);
    read_heights(map, row);
    const uint32_t *heights = map->heights, *above = row > 0 ? map->above : heights;
    uint32_t left = heights[0];
    for (uint32_t x = 0; x < width; x++) {
        const uint32_t height = heights[x];
        int32_t light = LIGHT_LOWEST + (int32_t)((height - low) * scale >> 16);
        light += slope_light(map->slopes, height, above[x]);
        light += slope_light(map->slopes, height, left);
        left = height;
        const uint64_t colours = sums[x];
        sums[x] = 0;
        for (unsigned c = 0; c < 3; c++) {
            const uint32_t lit = CHANNEL_OF(colours, c) * (uint32_t)light >> 8;
            *samples++ = lit < UINT8_MAX ? (uint8_t)lit : UINT8_MAX;
        }
    }
}

/* ---- the picture ----------------------------------------------------------------------------- */

uint32_t tfs_beamng_map_shift(uint32_t side)
{
    uint32_t shift = 0;

    while ((side - 1) >> shift >= TFS_PNG_SIDE_MAX)
        shift++;
    return shift;
}

/* The shape, with a text where a pixel is more than a sample. */
struct form {
    struct tfs_png_shape shape;
    struct tfs_png_text text;
    char scale[12];
};

static void form_init(struct form *form, const struct tfs_doc *doc)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side, shift = tfs_beamng_map_shift(side);
    const uint32_t pixels = ((side - 1) >> shift) + 1;

    snprintf(form->scale, sizeof(form->scale), "%u", 1u << shift);
    form->text = (struct tfs_png_text){"scale", form->scale};
    form->shape = (struct tfs_png_shape){.width = pixels,
                                         .height = pixels,
                                         .type = TFS_PNG_RGB8,
                                         .texts = &form->text,
                                         .text_count = shift > 0};
}

static int map_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    struct map map = {.shift = tfs_beamng_map_shift(side)};
    struct form form;

    (void)save;
    (void)at;
    form_init(&form, doc);
    map.width = form.shape.width;
    map.samples = malloc((size_t)side * 2);
    map.sums = calloc(map.width, 2 * sizeof(*map.sums));
    if (map.samples == NULL || map.sums == NULL) {
        tfs_fail_memory(err);
    } else if (tfs_beamng_terrain_init(doc, &map.terrain, err) == 0) {
        map.heights = (uint32_t *)(map.sums + map.width);
        map.above = map.heights + map.width;
        set_colours(&map, doc);
        set_light(&map);
        tfs_png_write(&form.shape, map_row, &map, out, err);
    }
    tfs_beamng_terrain_release(&map.terrain);
    free(map.samples);
    free(map.sums);
    return err->code;
}

static int64_t map_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct form form;

    (void)save;
    (void)at;
    form_init(&form, doc);
    return (int64_t)tfs_png_size(&form.shape);
}

const struct tfs_lens tfs_beamng_map_lens = {.get = map_get, .size = map_size};
