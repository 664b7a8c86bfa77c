/*
 * Terrains in memory: see the header.
 */
#include "beamng_case.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "formats/beamng/beamng.h"
#include "formats/beamng/layers.h"

struct tfs_span ter_span(const struct maker_bytes *b)
{
    return (struct tfs_span){b->data, b->size};
}

void ter_open_bytes(struct tree_files *t, const struct maker_bytes *b)
{
    ck_assert_msg(tree_files_open(t, &tfs_beamng_ter, "/nowhere/theTerrain.ter", ter_span(b)) == 0,
                  "%s", t->err.text);
}

void ter_open_hex(struct tree_files *t, const char *hex)
{
    struct maker_bytes b = {0};

    place_hex(&b, hex);
    ter_open_bytes(t, &b);
    maker_release(&b);
}

void ter_open_world(struct tree_files *t, struct ter_world world)
{
    struct maker_bytes b = {0};

    ter_make(&b, &world);
    ter_open_bytes(t, &b);
    maker_release(&b);
}

void ter_check_hex(struct tree_files *t, const char *hex)
{
    struct maker_bytes wanted = {0};
    struct tfs_buf got = {0};

    place_hex(&wanted, hex);
    tree_files_encode(t, &got);
    ck_assert_uint_eq(got.size, wanted.size);
    for (size_t i = 0; i < got.size; i++)
        ck_assert_msg(got.data[i] == wanted.data[i], "byte %zu is %02x", i, got.data[i]);
    tfs_buf_release(&got);
    maker_release(&wanted);
}

void ter_check_refused(struct tree_files *t, const char *path, struct tfs_span text,
                       const char *sentence)
{
    uint64_t version = t->doc->version;

    ck_assert_msg(tree_files_put(t, path, text) == -EBADMSG, "%s: accepted", path);
    ck_assert_msg(strstr(t->err.text, sentence) != NULL, "%s: %s", path, t->err.text);
    ck_assert_uint_eq(t->doc->version, version);
}

void ter_check_text(struct tree_files *t, const char *path, const char *wanted)
{
    struct tfs_buf got = {0};

    ck_assert_msg(tree_files_get(t, path, &got) == 0, "%s: %s", path, t->err.text);
    ck_assert_msg(tfs_span_equal(tfs_buf_span(&got), tfs_span_of(wanted)), "%s: '%.*s'", path,
                  (int)got.size, (const char *)got.data);
    tfs_buf_release(&got);
}

void ter_put_text(struct tree_files *t, const char *path, const char *text)
{
    ck_assert_msg(tree_files_put(t, path, tfs_span_of(text)) == 0, "%s: %s", path, t->err.text);
}

/* ---- pictures as samples --------------------------------------------------------------------- */

uint32_t ter_side_of(const struct tree_files *t)
{
    return tfs_beamng_layout_of(t->doc)->side;
}

static enum tfs_png_type type_of(const char *path)
{
    if (strcmp(path, "heightmap.png") == 0)
        return TFS_PNG_GREY16;
    if (strcmp(path, "layers.png") == 0)
        return TFS_PNG_INDEX8;
    return strcmp(path, "extra/corners.png") == 0 ? TFS_PNG_RGBA8 : TFS_PNG_GREY8;
}

struct tfs_png_shape ter_shape_of(const struct tree_files *t, const char *path)
{
    return (struct tfs_png_shape){ter_side_of(t), ter_side_of(t), type_of(path), NULL, 0};
}

void ter_get_samples(struct tree_files *t, const char *path, struct tfs_buf *samples)
{
    struct tfs_png_shape shape = ter_shape_of(t, path);
    struct tfs_buf png = {0};
    unsigned depth;

    tfs_buf_clear(samples);
    ck_assert_msg(tree_files_get(t, path, &png) == 0, "%s: %s", path, t->err.text);
    ck_assert_msg(tfs_png_read(tfs_buf_span(&png), &shape, samples, &depth, &t->err) == 0, "%s: %s",
                  path, t->err.text);
    tfs_buf_release(&png);
}

struct rows {
    const uint8_t *samples;
    size_t size;
};

static void copy_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct rows *rows = arg;

    memcpy(samples, rows->samples + row * rows->size, rows->size);
}

void ter_make_png(struct tfs_png_shape shape, const uint8_t *samples, struct tfs_buf *png)
{
    struct rows rows = {samples, tfs_png_row_size(&shape)};
    struct tfs_error err = {0};

    tfs_buf_clear(png);
    ck_assert_int_eq(tfs_png_write(&shape, copy_row, &rows, png, &err), 0);
}

int ter_put_samples(struct tree_files *t, const char *path, const uint8_t *samples)
{
    struct tfs_buf png = {0};

    ter_make_png(ter_shape_of(t, path), samples, &png);
    int result = tree_files_put(t, path, tfs_buf_span(&png));
    tfs_buf_release(&png);
    return result;
}

void ter_check_samples(struct tree_files *t, const char *path, const char *hex)
{
    struct maker_bytes wanted = {0};
    struct tfs_buf samples = {0};

    place_hex(&wanted, hex);
    ter_get_samples(t, path, &samples);
    ck_assert_msg(tfs_span_equal(tfs_buf_span(&samples), ter_span(&wanted)), "%s", path);
    tfs_buf_release(&samples);
    maker_release(&wanted);
}

void ter_put_hex(struct tree_files *t, const char *path, const char *hex)
{
    struct maker_bytes samples = {0};

    place_hex(&samples, hex);
    ck_assert_msg(ter_put_samples(t, path, samples.data) == 0, "%s: %s", path, t->err.text);
    maker_release(&samples);
}

void ter_refuse_hex(struct tree_files *t, const char *path, const char *hex, const char *sentence)
{
    struct maker_bytes samples = {0};
    struct tfs_buf png = {0};

    place_hex(&samples, hex);
    ter_make_png(ter_shape_of(t, path), samples.data, &png);
    ter_check_refused(t, path, tfs_buf_span(&png), sentence);
    tfs_buf_release(&png);
    maker_release(&samples);
}
