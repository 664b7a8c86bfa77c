/*
 * lights/sky.txt and lights/block.txt: grids of levels and of colours.
 *
 * Must not know block data.
 */
#include <errno.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"

/* What tells the two files apart. */
struct light_file {
    enum tfs_cosmic_section section;
    uint32_t mask;
    struct tfs_grid_rules rules;
    const char *absent;
    int (*take)(struct tfs_cursor *c, struct tfs_cosmic_light *light, struct tfs_error *err);
    void (*encode)(struct tfs_buf *out, const struct tfs_cosmic_light *old, const uint32_t *values);
};

#define SIDE TFS_COSMIC_SIDE

static const struct light_file sky_file = {
    .section = TFS_COSMIC_SECTION_SKY,
    .mask = TFS_COSMIC_SKY_MASK,
    .rules = {.shape = {SIDE, SIDE, SIDE, TFS_GRID_DECIMAL, 2},
              .high = TFS_COSMIC_SKY_MASK,
              .out_of_range = "sky light has the levels 0 to 15"},
    .absent = "the chunk stores no sky light",
    .take = tfs_cosmic_sky_take,
    .encode = tfs_cosmic_sky_encode,
};

static const struct light_file block_file = {
    .section = TFS_COSMIC_SECTION_LIGHT,
    .mask = TFS_COSMIC_LIGHT_MASK,
    .rules = {.shape = {SIDE, SIDE, SIDE, TFS_GRID_HEX, 3},
              .high = TFS_COSMIC_LIGHT_MASK,
              .out_of_range = "block light has the values 000 to fff"},
    .absent = "the chunk stores no block light",
    .take = tfs_cosmic_light_take,
    .encode = tfs_cosmic_light_encode,
};

static int light_view(const struct light_file *file, const struct tfs_cosmic_body *body,
                      struct tfs_cosmic_light *light, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(body->sections[file->section]);

    return file->take(&c, light, err);
}

/* The section of a chunk: 1; 0 when it stores none, as far as anybody can read; negative when that
 * cannot be found out. To be closed behind a 1. */
static int light_find(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_cosmic_chunk *chunk, struct tfs_cosmic_light *light,
                      struct tfs_error *err)
{
    struct tfs_error why = {0};
    int status = tfs_cosmic_chunk_open(save, doc, at.key, chunk, &why);

    if (status == 0) {
        if (light_view(at.param, &chunk->body, light, &why) == 0 && light->present)
            return 1;
        tfs_cosmic_chunk_close(chunk);
        return 0;
    }
    if (status == -ENOENT || status == -EBADMSG)
        return 0;
    return tfs_fail(err, status, "%s", why.text);
}

static void light_values(const struct light_file *file, const struct tfs_cosmic_light *light,
                         uint32_t values[TFS_COSMIC_VALUES])
{
    tfs_cosmic_layers_decode(&light->layers, values);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        values[i] &= file->mask;
}

static int light_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const struct light_file *file = at.param;
    struct tfs_cosmic_chunk chunk;
    struct tfs_cosmic_light light;
    uint32_t values[TFS_COSMIC_VALUES];

    int found = light_find(save, doc, at, &chunk, &light, err);
    if (found <= 0)
        return found < 0 ? found : tfs_fail(err, -ENOENT, "%s", file->absent);
    light_values(file, &light, values);
    tfs_cosmic_chunk_close(&chunk);
    tfs_grid_print(out, &file->rules.shape, values);
    return tfs_buf_check(out, err);
}

static int64_t light_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct light_file *file = at.param;
    struct tfs_cosmic_chunk chunk;
    struct tfs_cosmic_light light;
    struct tfs_error ignored = {0};
    uint32_t value;

    int found = light_find(save, doc, at, &chunk, &light, &ignored);
    if (found <= 0)
        return found < 0 ? found : -ENOENT;
    bool uniform = tfs_cosmic_layers_uniform(&light.layers, file->mask, &value);
    tfs_cosmic_chunk_close(&chunk);
    if (uniform)
        return (int64_t)tfs_grid_fill_size(&file->rules.shape, value);
    return (int64_t)tfs_grid_rows_size(&file->rules.shape);
}

/* Stores the values unless they are those that are shown now. */
static int light_store(const struct light_file *file, struct tfs_edit *edit,
                       const struct tfs_cosmic_chunk *chunk, const uint32_t *values,
                       struct tfs_error *err)
{
    struct tfs_cosmic_light old;
    uint32_t before[TFS_COSMIC_VALUES];
    struct tfs_buf section = {0};

    if (light_view(file, &chunk->body, &old, err) < 0)
        return err->code;
    if (old.present) {
        light_values(file, &old, before);
        if (memcmp(before, values, sizeof(before)) == 0)
            return 0;
    }
    file->encode(&section, &old, values);
    tfs_cosmic_section_put(edit, chunk, file->section, &section, err);
    tfs_buf_release(&section);
    return err->code;
}

static int store_at(const struct light_file *file, struct tfs_save *save, struct tfs_edit *edit,
                    struct tfs_key key, const uint32_t *values, struct tfs_error *err)
{
    struct tfs_cosmic_chunk chunk;

    if (tfs_cosmic_chunk_open(save, tfs_edit_doc(edit), key, &chunk, err) < 0)
        return err->code;
    light_store(file, edit, &chunk, values, err);
    tfs_cosmic_chunk_close(&chunk);
    return err->code;
}

int tfs_cosmic_light_values(struct tfs_span bytes, uint32_t version, const struct tfs_lens *lens,
                            uint32_t values[TFS_COSMIC_VALUES], struct tfs_error *err)
{
    struct tfs_cosmic_body body;
    struct tfs_cosmic_light light;

    if (tfs_cosmic_body_split(bytes, version, &body, err) < 0 ||
        light_view(lens->param, &body, &light, err) < 0)
        return err->code;
    if (light.present)
        light_values(lens->param, &light, values);
    return light.present;
}

uint32_t tfs_cosmic_light_highest(const struct tfs_lens *lens)
{
    const struct light_file *file = lens->param;

    return file->mask;
}

int tfs_cosmic_light_write(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                           const struct tfs_lens *lens, const uint32_t values[TFS_COSMIC_VALUES],
                           struct tfs_error *err)
{
    return store_at(lens->param, save, edit, key, values, err);
}

static int light_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct light_file *file = at.param;
    struct tfs_lines lines;
    uint32_t values[TFS_COSMIC_VALUES];

    (void)put;
    if (tfs_lines_init(&lines, text, err) < 0 ||
        tfs_grid_parse(&lines, NULL, &file->rules, values, NULL, err) < 0)
        return err->code;
    return store_at(file, save, edit, at.key, values, err);
}

/* NONE is the type 1 in both sections. */
static int light_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_error *err)
{
    const struct light_file *file = at.param;
    struct tfs_cosmic_chunk chunk;
    struct tfs_buf section = {0};

    if (tfs_cosmic_chunk_open(save, tfs_edit_doc(edit), at.key, &chunk, err) < 0)
        return err->code;
    tfs_buf_u8(&section, file->section == TFS_COSMIC_SECTION_SKY ? (uint8_t)TFS_COSMIC_SKY_NONE
                                                                 : (uint8_t)TFS_COSMIC_LIGHT_NONE);
    tfs_cosmic_section_put(edit, &chunk, file->section, &section, err);
    tfs_cosmic_chunk_close(&chunk);
    tfs_buf_release(&section);
    return err->code;
}

static int light_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_cosmic_light light;
    struct tfs_error ignored = {0};
    int found = light_find(save, doc, at, &chunk, &light, &ignored);

    if (found > 0)
        tfs_cosmic_chunk_close(&chunk);
    return found;
}

/* ---- the two lenses -------------------------------------------------------------------------- */

#define LIGHT_LENS(file)                                                                           \
    {                                                                                              \
        .param = (file), .get = light_get, .put = light_put, .exists = light_exists,               \
        .remove = light_remove, .size = light_size                                                 \
    }

const struct tfs_lens tfs_cosmic_sky_lens = LIGHT_LENS(&sky_file);
const struct tfs_lens tfs_cosmic_light_lens = LIGHT_LENS(&block_file);
