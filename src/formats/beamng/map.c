/*
 * Layers and heights -> map.png, for looking: materials in the colours of their names, slopes lit
 * from the north-west, darker where the ground is low; holes black. North up. A terrain that is too
 * wide for a picture is scaled down by a power of two: a pixel is the mean of a square of samples,
 * and lit by what its neighbours are.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/lenses.h"
#include "formats/picture/draw.h"
#include "formats/picture/picture.h"
#include "image/png.h"

/* Of 256. */
#define LIGHT_LOWEST  190 /* level ground at the bottom, and at the top */
#define LIGHT_HIGHEST 250
#define LIGHT_SLOPE   68 /* a cliff that faces the light, or lies in the shade: each way */

#define STEP_MAX   4095 /* of heights between two pixels: beyond it no slope is steeper */
#define STEP_USUAL 8    /* a terrain is not flatter than this, for its light */

/* What light depends on, of all heights. */
struct range {
    uint32_t low, high;
    uint32_t step; /* the mean one between two neighbours */
};

struct map {
    const struct tfs_doc *doc;
    struct tfs_beamng_terrain terrain; /* of the rows that are drawn next */
    uint32_t colours[256];
    int8_t slopes[STEP_MAX + 1]; /* how much a step of heights lightens */
    struct range range;
    uint8_t *row;              /* of samples */
    uint32_t *heights, *above; /* of a row of pixels, and the one above it */
    uint32_t *sums;            /* of a row of pixels, three colours each */
    uint32_t side, scale, width;
};

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

/* The mean step is half as light as a cliff. */
static void set_slopes(struct map *map)
{
    const uint32_t usual = map->range.step > STEP_USUAL ? map->range.step : STEP_USUAL;

    for (uint32_t step = 0; step <= STEP_MAX; step++)
        map->slopes[step] = (int8_t)(LIGHT_SLOPE * step / (step + usual));
}

/* Samples of a square that begins at `at`, along a side. */
static uint32_t within(const struct map *map, uint32_t at)
{
    return map->side - at < map->scale ? map->side - at : map->scale;
}

/* The mean heights of a row of pixels. */
static void read_heights(const struct map *map, const struct tfs_beamng_terrain *terrain,
                         uint32_t row, uint32_t *heights)
{
    const uint32_t first = row * map->scale, rows = within(map, first);
    const uint8_t *samples = map->row;

    memset(heights, 0, map->width * sizeof(*heights));
    for (uint32_t i = first; i < first + rows; i++) {
        tfs_beamng_terrain_row(terrain, &tfs_beamng_heights, map->side - 1 - i, map->row);
        for (uint32_t x = 0; x < map->side; x++)
            heights[x / map->scale] += (uint32_t)(samples[2 * x] | samples[2 * x + 1] << 8);
    }
    for (uint32_t x = 0; x < map->width && map->scale > 1; x++)
        heights[x] /= rows * within(map, x * map->scale);
}

/* The mean colours of a row of pixels. */
static void read_colours(const struct map *map, uint32_t row)
{
    const uint32_t first = row * map->scale, rows = within(map, first);

    memset(map->sums, 0, (size_t)map->width * 3 * sizeof(*map->sums));
    for (uint32_t i = first; i < first + rows; i++) {
        tfs_beamng_terrain_row(&map->terrain, &tfs_beamng_layers, map->side - 1 - i, map->row);
        for (uint32_t x = 0; x < map->side; x++) {
            const uint32_t colour = map->colours[map->row[x]];
            uint32_t *sum = map->sums + (size_t)(x / map->scale) * 3;
            for (unsigned c = 0; c < 3; c++)
                sum[c] += colour >> (16 - 8 * c) & 0xff;
        }
    }
    for (uint32_t x = 0; x < map->width && map->scale > 1; x++)
        for (unsigned c = 0; c < 3; c++)
            map->sums[(size_t)x * 3 + c] /= rows * within(map, x * map->scale);
}

static uint32_t step_between(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

static void find_range(struct map *map, const struct tfs_beamng_terrain *terrain)
{
    uint64_t steps = 0;

    map->range = (struct range){.low = UINT32_MAX};
    for (uint32_t row = 0; row < map->width; row++) {
        read_heights(map, terrain, row, map->heights);
        for (uint32_t x = 0; x < map->width; x++) {
            const uint32_t height = map->heights[x];
            map->range.low = height < map->range.low ? height : map->range.low;
            map->range.high = height > map->range.high ? height : map->range.high;
            steps += row > 0 ? step_between(height, map->above[x]) : 0;
            steps += x > 0 ? step_between(height, map->heights[x - 1]) : 0;
        }
        uint32_t *above = map->above;
        map->above = map->heights;
        map->heights = above;
    }
    map->range.step = (uint32_t)(steps / (2 * (uint64_t)map->width * map->width));
}

static int set_range(struct map *map, struct tfs_error *err)
{
    struct tfs_beamng_terrain terrain;

    if (tfs_beamng_terrain_init(map->doc, &terrain, err) < 0)
        return err->code;
    find_range(map, &terrain);
    tfs_beamng_terrain_release(&terrain);
    return 0;
}

/* Ground rising to the south-east faces the light. */
static int32_t slope_light(const struct map *map, uint32_t height, uint32_t neighbour)
{
    const uint32_t step = step_between(height, neighbour);
    const int32_t light = map->slopes[step < STEP_MAX ? step : STEP_MAX];

    return height < neighbour ? -light : light;
}

static void map_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct map *map = arg;
    const uint32_t low = map->range.low;
    /* Height above the lowest to light, with 16 bits behind the point. */
    const uint32_t scale = ((LIGHT_HIGHEST - LIGHT_LOWEST) << 16) / (map->range.high - low + 1);

    read_colours(map, row);
    read_heights(map, &map->terrain, row > 0 ? row - 1 : 0, map->above);
    read_heights(map, &map->terrain, row, map->heights);
    for (uint32_t x = 0; x < map->width; x++) {
        const uint32_t height = map->heights[x];
        int32_t light = LIGHT_LOWEST + (int32_t)((height - low) * scale >> 16);
        light += slope_light(map, height, map->above[x]);
        light += slope_light(map, height, map->heights[x > 0 ? x - 1 : 0]);
        for (unsigned c = 0; c < 3; c++) {
            const uint32_t lit = map->sums[(size_t)x * 3 + c] * (uint32_t)light >> 8;
            *samples++ = lit < UINT8_MAX ? (uint8_t)lit : UINT8_MAX;
        }
    }
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

/* ---- in parts -------------------------------------------------------------------------------- */

/* What all parts of the picture need, of the document that was shown last. */
struct memory {
    struct tfs_shared_cache cache;
    pthread_mutex_t lock;
    uint64_t version; /* of the document */
    struct range range;
    struct tfs_block_sum *sums;
};

static void memory_release(struct tfs_shared_cache *cache)
{
    struct memory *m = (struct memory *)cache;

    free(m->sums);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* That of the save, made when there is none. */
static struct memory *memory_of(struct tfs_facts *facts)
{
    struct tfs_shared_cache *there = tfs_facts_cache(facts);

    if (there != NULL)
        return (struct memory *)there;
    struct memory *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    atomic_init(&made->cache.refs, 1);
    made->cache.release = memory_release;
    pthread_mutex_init(&made->lock, NULL);
    return (struct memory *)tfs_facts_set_cache(facts, &made->cache);
}

/* What it holds is of this document. */
static int renew(struct memory *m, uint64_t version, const struct tfs_png_shape *shape,
                 struct map *map, struct tfs_error *err)
{
    if (m->version != version) {
        free(m->sums);
        m->version = 0;
        m->sums = calloc(tfs_png_blocks(shape), sizeof(*m->sums));
        if (m->sums == NULL)
            return tfs_fail_memory(err);
        if (set_range(map, err) < 0)
            return err->code;
        m->range = map->range;
        m->version = version;
    }
    map->range = m->range;
    set_slopes(map);
    return 0;
}

/* Rows of pixels `first` to `end` - 1 are drawn next: they are lit as the one above them says. */
static int prepare(void *arg, uint32_t first, uint32_t end, struct tfs_error *err)
{
    struct map *map = arg;
    const uint64_t south = (uint64_t)end * map->scale;

    tfs_beamng_terrain_release(&map->terrain);
    return tfs_beamng_terrain_init_rows(
        map->doc, south < map->side ? map->side - (uint32_t)south : 0,
        map->side - 1 - (first - (first > 0)) * map->scale, &map->terrain, err);
}

static int draw(struct map *map, uint64_t offset, uint64_t size, struct tfs_buf *out,
                struct tfs_error *err)
{
    struct memory *m = memory_of(map->doc->facts);
    struct form form;
    void *args[] = {map};

    if (m == NULL)
        return tfs_fail_memory(err);
    form_init(&form, map->doc);
    set_colours(map);
    const struct tfs_picture picture = {.shape = form.shape,
                                        .rows = {map_row, args, 1},
                                        .prepare = prepare,
                                        .step = 8 * tfs_png_block_rows(&form.shape)};
    pthread_mutex_lock(&m->lock);
    if (renew(m, map->doc->version, &form.shape, map, err) == 0)
        tfs_picture_draw_prepared(&picture, m->sums, offset, size, out, err);
    pthread_mutex_unlock(&m->lock);
    return err->code;
}

static int map_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side, scale = tfs_beamng_map_scale(side);
    struct map map = {
        .doc = doc, .side = side, .scale = scale, .width = (side + scale - 1) / scale};
    uint32_t *numbers = calloc((size_t)map.width, 5 * sizeof(*numbers));

    (void)save;
    (void)at;
    map.row = malloc((size_t)side * 2);
    if (map.row == NULL || numbers == NULL) {
        tfs_fail_memory(err);
    } else {
        map.heights = numbers;
        map.above = numbers + map.width;
        map.sums = numbers + 2 * (size_t)map.width;
        draw(&map, offset, size, out, err);
    }
    tfs_beamng_terrain_release(&map.terrain);
    free(map.row);
    free(numbers);
    return err->code;
}

static int map_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    return map_range(save, doc, at, 0, UINT64_MAX, out, err);
}

static int64_t map_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct form form;

    (void)save;
    (void)at;
    form_init(&form, doc);
    return (int64_t)tfs_png_size(&form.shape);
}

const struct tfs_lens tfs_beamng_map_lens = {
    .get = map_get, .get_range = map_range, .size = map_size};
