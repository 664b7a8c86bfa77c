/*
 * Layers and heights -> map.png, for looking: every layer in a colour of its own, darker where the
 * ground is low; holes black. North up. A terrain that is too wide for a picture is scaled down by
 * a power of two: a pixel is the mean of a square of samples.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/lenses.h"
#include "formats/picture/draw.h"
#include "image/png.h"

#define HUES     (6 * 256)
#define HUE_STEP 949 /* about HUES times the golden ratio: neighbours in the list lie far apart */
#define DARKEST  90  /* of 256 */

struct map {
    const struct tfs_doc *doc;
    struct tfs_beamng_terrain terrain; /* of the rows that are drawn next */
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

static int set_range(struct map *map, struct tfs_error *err)
{
    struct tfs_beamng_terrain terrain;

    if (tfs_beamng_terrain_init(map->doc, &terrain, err) < 0)
        return err->code;
    map->low = UINT16_MAX;
    map->high = 0;
    for (uint32_t z = 0; z < map->side; z++) {
        tfs_beamng_terrain_row(&terrain, &tfs_beamng_heights, z, map->row);
        for (uint32_t x = 0; x < map->side; x++) {
            uint16_t height = height_at(map->row, x);
            map->low = height < map->low ? height : map->low;
            map->high = height > map->high ? height : map->high;
        }
    }
    tfs_beamng_terrain_release(&terrain);
    return 0;
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

/* ---- in parts -------------------------------------------------------------------------------- */

/* What all parts of the picture need, of the document that was shown last. */
struct memory {
    struct tfs_shared_cache cache;
    pthread_mutex_t lock;
    uint64_t version; /* of the document */
    uint16_t low, high;
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
        m->low = map->low;
        m->high = map->high;
        m->version = version;
    }
    map->low = m->low;
    map->high = m->high;
    return 0;
}

/* Rows of pixels `first` to `end` - 1 are drawn next. */
static int prepare(void *arg, uint32_t first, uint32_t end, struct tfs_error *err)
{
    struct map *map = arg;
    const uint64_t south = (uint64_t)end * map->scale;

    tfs_beamng_terrain_release(&map->terrain);
    return tfs_beamng_terrain_init_rows(map->doc,
                                        south < map->side ? map->side - (uint32_t)south : 0,
                                        map->side - 1 - first * map->scale, &map->terrain, err);
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
    const uint32_t side = tfs_beamng_layout_of(doc)->side;
    struct map map = {.doc = doc, .side = side, .scale = tfs_beamng_map_scale(side)};

    (void)save;
    (void)at;
    map.row = malloc((size_t)side * 3);
    map.sums = malloc((size_t)side * 3 * sizeof(*map.sums));
    if (map.row == NULL || map.sums == NULL)
        tfs_fail_memory(err);
    else
        draw(&map, offset, size, out, err);
    tfs_beamng_terrain_release(&map.terrain);
    free(map.row);
    free(map.sums);
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
