/*
 * A tile <-> grid text: heights.txt and layers.txt. One layer of rows, from south to north as in
 * the file, values from west to east. Always rows, never `fill`: their size is a formula.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/beamng/layers.h"
#include "formats/beamng/lenses.h"
#include "text/grid.h"

#define HEIGHT_WIDTH 5 /* digits of 65535 */
#define LAYER_WIDTH  3 /* digits of 255 */

static struct tfs_beamng_tile tile_at(const struct tfs_doc *doc, struct tfs_at at)
{
    return tfs_beamng_tile_of(tfs_beamng_layout_of(doc), at.key);
}

static struct tfs_grid_shape shape_of(const struct tfs_beamng_tile *tile,
                                      const struct tfs_beamng_plane *plane)
{
    return (struct tfs_grid_shape){.sx = tile->width,
                                   .sy = 1,
                                   .sz = tile->height,
                                   .base = TFS_GRID_DECIMAL,
                                   .width = plane->bytes == 2 ? HEIGHT_WIDTH : LAYER_WIDTH};
}

static void get_values(struct tfs_span samples, unsigned bytes, uint32_t *values)
{
    for (size_t i = 0; i < samples.size / bytes; i++)
        values[i] = bytes == 1 ? samples.data[i]
                               : samples.data[2 * i] | (uint32_t)samples.data[2 * i + 1] << 8;
}

static int plane_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_beamng_plane *plane = at.param;
    struct tfs_beamng_tile tile = tile_at(doc, at);
    struct tfs_grid_shape shape = shape_of(&tile, plane);
    uint32_t values[TFS_BEAMNG_TILE_SAMPLES];
    const struct tfs_beamng_planes planes = tfs_beamng_planes_of(tfs_doc_find(doc, at.key));

    (void)save;
    get_values(tfs_beamng_tile_plane(planes, &tile, plane), plane->bytes, values);
    tfs_grid_print_rows(out, &shape, values);
    return tfs_buf_check(out, err);
}

static int64_t plane_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_beamng_tile tile = tile_at(doc, at);
    struct tfs_grid_shape shape = shape_of(&tile, at.param);

    (void)save;
    return (int64_t)tfs_grid_rows_size(&shape);
}

/* The values of a text, none above `high`. */
static int parse_plane(const struct tfs_beamng_tile *tile, const struct tfs_beamng_plane *plane,
                       uint32_t high, const char *out_of_range, struct tfs_span text,
                       uint32_t *values, bool *filled, struct tfs_error *err)
{
    struct tfs_grid_rules rules = {shape_of(tile, plane), high, out_of_range};
    struct tfs_lines lines;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    return tfs_grid_parse(&lines, NULL, &rules, values, filled, err);
}

/* ---- heights --------------------------------------------------------------------------------- */

static int heights_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_beamng_tile tile = tile_at(tfs_edit_doc(edit), at);
    uint32_t values[TFS_BEAMNG_TILE_SAMPLES] = {0};
    uint8_t samples[TFS_BEAMNG_TILE_SAMPLES * 2];

    (void)save;
    (void)put;
    if (parse_plane(&tile, &tfs_beamng_heights, UINT16_MAX, "heights are 0 to 65535", text, values,
                    NULL, err) < 0)
        return err->code;
    for (size_t i = 0; i < tfs_beamng_tile_samples(&tile); i++) {
        samples[2 * i] = (uint8_t)values[i];
        samples[2 * i + 1] = (uint8_t)(values[i] >> 8);
    }
    if (tfs_beamng_tile_put(edit, at.key, &tfs_beamng_heights, samples, err) < 0)
        return err->code;
    return tfs_beamng_terrain_check_layout(edit, err);
}

const struct tfs_lens tfs_beamng_heights_text_lens = {
    .param = &tfs_beamng_heights, .get = plane_get, .put = heights_put, .size = plane_size};

/* ---- layers ---------------------------------------------------------------------------------- */

/* The word of a sound text that is value `i`, or the word of its `fill` line. */
static struct tfs_line find_value(struct tfs_span text, size_t width, size_t i, bool filled)
{
    struct tfs_error ignored = {0};
    struct tfs_lines lines;
    struct tfs_line line, word = {.number = 1, .column = 1};
    size_t words = filled ? 2 : i % width + 1; /* "fill V" */

    (void)tfs_lines_init(&lines, text, &ignored);
    for (size_t row = 0; tfs_lines_next(&lines, &line) && !filled && row < i / width; row++)
        ;
    const uint8_t *bar = memchr(line.text.data, '|', line.text.size);
    if (bar != NULL)
        tfs_line_skip(&line, (size_t)(bar - line.text.data) + 1);
    tfs_line_skip_blanks(&line);
    while (words-- > 0 && tfs_line_word(&line, &word))
        ;
    return word;
}

static int layers_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    struct tfs_beamng_tile tile = tile_at(doc, at);
    const struct tfs_beamng_planes planes = tfs_beamng_planes_of(tfs_doc_find(doc, at.key));
    const uint8_t *old = tfs_beamng_tile_plane(planes, &tile, &tfs_beamng_layers).data;
    uint32_t materials = tfs_beamng_name_count(doc);
    uint32_t values[TFS_BEAMNG_TILE_SAMPLES] = {0};
    uint8_t samples[TFS_BEAMNG_TILE_SAMPLES];
    bool filled = false;

    (void)save;
    (void)put;
    if (parse_plane(&tile, &tfs_beamng_layers, TFS_BEAMNG_HOLE, "layers are 0 to 255", text, values,
                    &filled, err) < 0)
        return err->code;
    for (size_t i = 0; i < tfs_beamng_tile_samples(&tile); i++) {
        samples[i] = (uint8_t)values[i];
        if (tfs_beamng_layer_allowed(old[i], samples[i], materials))
            continue;
        struct tfs_line word = find_value(text, tile.width, i, filled);
        return tfs_fail_line(err, &word,
                             "layer %" PRIu32 " is not there, there are %" PRIu32
                             " materials (255 is a hole)",
                             values[i], materials);
    }
    if (tfs_beamng_samples_put(edit, at.key, &tfs_beamng_layers, samples, err) < 0)
        return err->code;
    return tfs_beamng_terrain_check_layout(edit, err);
}

const struct tfs_lens tfs_beamng_layers_text_lens = {
    .param = &tfs_beamng_layers, .get = plane_get, .put = layers_put, .size = plane_size};
