/*
 * Layers and heights -> map.png, for looking: every layer in a colour of its own, darker where the
 * ground is low; holes black. North up. A terrain that is too wide for a picture is scaled down by
 * a power of two: a pixel is the mean of a square of samples.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/lenses.h"
#include "image/png.h"

#define HUES     (6 * 256)
#define HUE_STEP 949 /* about HUES times the golden ratio: neighbours in the list lie far apart */
#define DARKEST  90  /* of 256 */

struct map {
    struct tfs_beamng_terrain terrain;
    uint8_t colours[256][3];
    uint16_t low, high; /* heights */
    uint8_t *row;       /* heights, then layers */
    uint32_t *sums;     /* of a row of pixels, three colours each */
    uint32_t side, scale;
};

/* A strong colour; the hue walks red, yellow, green, cyan, blue, magenta. `pale` is its least
 * part. */
static void set_colour(uint8_t rgb[3], unsigned hue, uint8_t pale)
{
    static const uint8_t high[6][3] = {
        {2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {0, 1, 2}, {1, 0, 2}, {2, 0, 1},
    };
    unsigned part = hue / 256, within = hue % 256;
    unsigned span = 255u - pale;
    unsigned ramp = part % 2 == 0 ? within : 255 - within;

    for (unsigned c = 0; c < 3; c++) {
        unsigned full = high[part][c];
        rgb[c] = (uint8_t)(full == 2 ? 255 : pale + (full == 1 ? span * ramp / 255 : 0));
    }
}

static void set_colours(struct map *map)
{
    static const uint8_t pales[] = {40, 120, 0};

    for (unsigned i = 0; i < TFS_BEAMNG_HOLE; i++)
        set_colour(map->colours[i], (100 + i * HUE_STEP) % HUES, pales[i / 16 % 3]);
}

static uint16_t height_at(const uint8_t *row, uint32_t x)
{
    return (uint16_t)(row[2 * x] | row[2 * x + 1] << 8);
}

static void set_range(struct map *map)
{
    uint32_t side = map->terrain.layout.side;

    map->low = UINT16_MAX;
    for (uint32_t z = 0; z < side; z++) {
        tfs_beamng_terrain_row(&map->terrain, &tfs_beamng_heights, z, map->row);
        for (uint32_t x = 0; x < side; x++) {
            uint16_t height = height_at(map->row, x);
            map->low = height < map->low ? height : map->low;
            map->high = height > map->high ? height : map->high;
        }
    }
}

/* Adds a row of samples to the pixels in whose squares they are. */
static void add_row(const struct map *map, uint32_t row)
{
    uint8_t *layers = map->row + (size_t)map->side * 2;
    /* Height above the lowest to brightness, with 16 bits behind the point. */
    const uint32_t scale = ((256 - DARKEST) << 16) / (uint32_t)(map->high - map->low + 1);

    tfs_beamng_terrain_row(&map->terrain, &tfs_beamng_heights, map->side - 1 - row, map->row);
    tfs_beamng_terrain_row(&map->terrain, &tfs_beamng_layers, map->side - 1 - row, layers);
    for (uint32_t x = 0; x < map->side; x++) {
        const uint8_t *colour = map->colours[layers[x]];
        uint32_t *sum = map->sums + (size_t)(x / map->scale) * 3;
        uint32_t light = DARKEST + ((uint32_t)(height_at(map->row, x) - map->low) * scale >> 16);
        for (unsigned c = 0; c < 3; c++)
            sum[c] += colour[c] * light >> 8;
    }
}

/* Samples of a square that begins at `at`, along a side. */
static uint32_t within(const struct map *map, uint32_t at)
{
    return map->side - at < map->scale ? map->side - at : map->scale;
}

static void map_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct map *map = arg;
    const uint32_t first = row * map->scale, rows = within(map, first);

    memset(map->sums, 0, (size_t)map->side * 3 * sizeof(*map->sums));
    for (uint32_t i = 0; i < rows; i++)
        add_row(map, first + i);
    for (uint32_t x = 0; x < map->side; x += map->scale)
        for (unsigned c = 0; c < 3; c++)
            *samples++ =
                (uint8_t)(map->sums[(size_t)(x / map->scale) * 3 + c] / (rows * within(map, x)));
}

uint32_t tfs_beamng_map_scale(uint32_t side)
{
    uint32_t scale = 1;

    while ((side + scale - 1) / scale > TFS_PNG_SIDE_MAX)
        scale *= 2;
    return scale;
}

/* The shape, with a text where a pixel is more than a sample. */
struct form {
    struct tfs_png_shape shape;
    struct tfs_png_text text;
    char scale[12];
};

static void form_init(struct form *form, const struct tfs_doc *doc)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side, scale = tfs_beamng_map_scale(side);
    const uint32_t pixels = (side + scale - 1) / scale;

    snprintf(form->scale, sizeof(form->scale), "%" PRIu32, scale);
    form->text = (struct tfs_png_text){"scale", form->scale};
    form->shape = (struct tfs_png_shape){.width = pixels,
                                         .height = pixels,
                                         .type = TFS_PNG_RGB8,
                                         .texts = &form->text,
                                         .text_count = scale > 1};
}

static int map_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    struct map map = {.side = side, .scale = tfs_beamng_map_scale(side)};
    struct form form;

    (void)save;
    (void)at;
    form_init(&form, doc);
    map.row = malloc((size_t)side * 3);
    map.sums = malloc((size_t)side * 3 * sizeof(*map.sums));
    int result = map.row == NULL || map.sums == NULL
                     ? tfs_fail_memory(err)
                     : tfs_beamng_terrain_init(doc, &map.terrain, err);
    if (result == 0) {
        set_colours(&map);
        set_range(&map);
        result = tfs_png_write(&form.shape, map_row, &map, out, err);
    }
    tfs_beamng_terrain_release(&map.terrain);
    free(map.row);
    free(map.sums);
    return result;
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
