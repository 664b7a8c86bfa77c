/*
 * Columns -> map.png: a picture from above, for looking. Colours are the voxels' own, slopes are
 * lit from the north-west, water lets its bed shine through and darkens with its depth.
 *
 * Must not know games. All arithmetic is in integers: the picture is the same everywhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/picture/columns.h"
#include "image/png.h"

#define EMPTY         0x16181dU /* where there is no voxel */
#define WATER_SHALLOW 0x4f93c4U
#define WATER_DEEP    0x1d4478U
#define WATER_DEPTH   28 /* from here on it does not get darker */

#define LIGHT_PLAIN 236 /* of 256: level ground */
#define STEP_MAX    7
#define HEIGHT_TONE 34 /* of 256: how much darker the lowest ground is than the highest */

struct map {
    struct tfs_picture_box box;
    struct tfs_columns *columns;
    struct tfs_pixel *strip; /* one row more than a strip: the last one of the strip before */
    uint32_t low, high;      /* of all heights that are not 0 */
};

void tfs_map_name(const struct tfs_doc *doc, uint32_t member, struct tfs_buf *out)
{
    (void)doc;
    (void)member;
    tfs_buf_add_text(out, "map.png");
}

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

/* How much one step up from its neighbour lightens a pixel, in 256ths: the first step most. */
static int32_t slope_light(int32_t step)
{
    static const int32_t light[STEP_MAX + 1] = {0, 26, 40, 50, 57, 62, 66, 69};
    int32_t size = step < 0 ? -step : step;

    size = light[size < STEP_MAX ? size : STEP_MAX];
    return step < 0 ? -size : size;
}

/* The step from a neighbour; none where there is nothing, or the water's surface begins. */
static int32_t step_from(const struct tfs_pixel *pixel, const struct tfs_pixel *neighbour)
{
    return neighbour->height == 0 ? 0 : (int32_t)pixel->height - (int32_t)neighbour->height;
}

static uint32_t lit(uint32_t colour, int32_t light)
{
    uint32_t result = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        int32_t channel = (int32_t)(colour >> shift & 0xff) * light / 256;
        result |= (uint32_t)(channel > 255 ? 255 : channel) << shift;
    }
    return result;
}

/* Ground rising to the south-east faces the light. */
static uint32_t ground_colour(const struct map *map, const struct tfs_pixel *pixel, bool first)
{
    int32_t light = LIGHT_PLAIN;

    light += slope_light(step_from(pixel, pixel - map->box.sx)) * 3 / 4;
    if (!first)
        light += slope_light(step_from(pixel, pixel - 1)) * 3 / 4;
    light -= (int32_t)(HEIGHT_TONE * (map->high - pixel->height) / (map->high - map->low + 1));
    light += HEIGHT_TONE / 2;
    return lit(pixel->colour, light);
}

static uint32_t colour_of(const struct map *map, const struct tfs_pixel *pixel, bool first)
{
    if (pixel->height == 0)
        return EMPTY;
    return pixel->water > 0 ? water_colour(pixel) : ground_colour(map, pixel, first);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The next strip, behind the last row of the one before; above the first there is nothing. */
static void next_strip(struct map *map, uint32_t strip)
{
    size_t width = (size_t)map->box.sx;

    if (strip > 0)
        memcpy(map->strip, map->strip + map->box.chunk.z * width, width * sizeof(*map->strip));
    else
        memset(map->strip, 0, width * sizeof(*map->strip));
    tfs_columns_strip(map->columns, strip, map->strip + width);
}

static void map_row(void *arg, uint32_t row, uint8_t *samples)
{
    struct map *map = arg;
    uint32_t within = row % map->box.chunk.z;

    if (within == 0)
        next_strip(map, row / map->box.chunk.z);
    const struct tfs_pixel *pixel = map->strip + (size_t)(within + 1) * map->box.sx;
    for (uint64_t x = 0; x < map->box.sx; x++, samples += 3) {
        uint32_t colour = colour_of(map, &pixel[x], x == 0);
        samples[0] = (uint8_t)(colour >> 16);
        samples[1] = (uint8_t)(colour >> 8);
        samples[2] = (uint8_t)colour;
    }
}

/* ---- the lens -------------------------------------------------------------------------------- */

static int map_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    struct map map = {.columns = NULL};

    (void)at;
    if (!tfs_picture_box(save->tree->voxels, doc, &map.box) || !tfs_picture_box_fits(&map.box))
        return tfs_fail(err, -ENOENT, "there is no picture of this save, info.txt says why");
    map.strip = calloc((size_t)map.box.sx * (map.box.chunk.z + 1), sizeof(*map.strip));
    if (map.strip == NULL)
        return tfs_fail_memory(err);
    if (tfs_columns_lock(save, doc, &map.columns, err) == 0) {
        struct tfs_png_shape shape = map_shape(&map.box);
        tfs_columns_range(map.columns, &map.low, &map.high);
        tfs_png_write(&shape, map_row, &map, out, err);
        tfs_columns_unlock(map.columns);
    }
    free(map.strip);
    return err->code;
}

static int64_t map_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_picture_box box;

    (void)at;
    if (!tfs_picture_box(save->tree->voxels, doc, &box) || !tfs_picture_box_fits(&box))
        return -ENOENT;
    struct tfs_png_shape shape = map_shape(&box);
    return (int64_t)tfs_png_size(&shape);
}

const struct tfs_lens tfs_map_lens = {.get = map_get, .size = map_size};
