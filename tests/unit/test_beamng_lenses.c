/*
 * The files of a terrain: pictures, tile texts, palette, info. GetPut and PutGet for every file of
 * every layout and every sample; what each write means; what is refused. An independent codec made
 * the vectors A to C and G.
 */
#include "unit.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include <zlib.h>

#include "../lib/changed_files.h"
#include "../lib/place_maker.h"
#include "../lib/ter_maker.h"
#include "../lib/tree_files.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/layers.h"
#include "image/png.h"

#define A "09 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 04 526f636b"
#define B                                                                                          \
    "08 02000000 0040 0140 0280 ffff 0001ff01 0001ff01 01ff0101 ff010101 01010101 02000000"        \
    "05 4772617373 04 526f636b"
#define C                                                                                          \
    "09 02000000 0040 0140 0280 ffff 0001ff01 11121314 c0c1c2c3 c4c5c6c7 c8c9cacb cccdcecf"        \
    "02000000 05 4772617373 00 04 526f636b 00"

static struct tfs_span span_of(const struct maker_bytes *b)
{
    return (struct tfs_span){b->data, b->size};
}

static void open_bytes(struct tree_files *t, const struct maker_bytes *b)
{
    ck_assert_msg(tree_files_open(t, &tfs_beamng_ter, "/nowhere/theTerrain.ter", span_of(b)) == 0,
                  "%s", t->err.text);
}

static void open_hex(struct tree_files *t, const char *hex)
{
    struct maker_bytes b = {0};

    place_hex(&b, hex);
    open_bytes(t, &b);
    maker_release(&b);
}

static void open_world(struct tree_files *t, struct ter_world world)
{
    struct maker_bytes b = {0};

    ter_make(&b, &world);
    open_bytes(t, &b);
    maker_release(&b);
}

/* The document is this file now. */
static void check_hex(struct tree_files *t, const char *hex)
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

static void check_refused(struct tree_files *t, const char *path, struct tfs_span text,
                          const char *sentence)
{
    uint64_t version = t->doc->version;

    ck_assert_msg(tree_files_put(t, path, text) == -EBADMSG, "%s: accepted", path);
    ck_assert_msg(strstr(t->err.text, sentence) != NULL, "%s: %s", path, t->err.text);
    ck_assert_uint_eq(t->doc->version, version);
}

static void check_text(struct tree_files *t, const char *path, const char *wanted)
{
    struct tfs_buf got = {0};

    ck_assert_msg(tree_files_get(t, path, &got) == 0, "%s: %s", path, t->err.text);
    ck_assert_msg(tfs_span_equal(tfs_buf_span(&got), tfs_span_of(wanted)), "%s: '%.*s'", path,
                  (int)got.size, (const char *)got.data);
    tfs_buf_release(&got);
}

static void put_text(struct tree_files *t, const char *path, const char *text)
{
    ck_assert_msg(tree_files_put(t, path, tfs_span_of(text)) == 0, "%s: %s", path, t->err.text);
}

/* ---- pictures as samples --------------------------------------------------------------------- */

static uint32_t side_of(const struct tree_files *t)
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

static struct tfs_png_shape shape_of(const struct tree_files *t, const char *path)
{
    return (struct tfs_png_shape){side_of(t), side_of(t), type_of(path), NULL, 0};
}

static void get_samples(struct tree_files *t, const char *path, struct tfs_buf *samples)
{
    struct tfs_png_shape shape = shape_of(t, path);
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

static void make_png(struct tfs_png_shape shape, const uint8_t *samples, struct tfs_buf *png)
{
    struct rows rows = {samples, tfs_png_row_size(&shape)};
    struct tfs_error err = {0};

    tfs_buf_clear(png);
    ck_assert_int_eq(tfs_png_write(&shape, copy_row, &rows, png, &err), 0);
}

static int put_samples(struct tree_files *t, const char *path, const uint8_t *samples)
{
    struct tfs_buf png = {0};

    make_png(shape_of(t, path), samples, &png);
    int result = tree_files_put(t, path, tfs_buf_span(&png));
    tfs_buf_release(&png);
    return result;
}

/* `hex`: the picture's samples, north row first. */
static void check_samples(struct tree_files *t, const char *path, const char *hex)
{
    struct maker_bytes wanted = {0};
    struct tfs_buf samples = {0};

    place_hex(&wanted, hex);
    get_samples(t, path, &samples);
    ck_assert_msg(tfs_span_equal(tfs_buf_span(&samples), span_of(&wanted)), "%s", path);
    tfs_buf_release(&samples);
    maker_release(&wanted);
}

static void put_hex(struct tree_files *t, const char *path, const char *hex)
{
    struct maker_bytes samples = {0};

    place_hex(&samples, hex);
    ck_assert_msg(put_samples(t, path, samples.data) == 0, "%s: %s", path, t->err.text);
    maker_release(&samples);
}

static void refuse_hex(struct tree_files *t, const char *path, const char *hex,
                       const char *sentence)
{
    struct maker_bytes samples = {0};
    struct tfs_buf png = {0};

    place_hex(&samples, hex);
    make_png(shape_of(t, path), samples.data, &png);
    check_refused(t, path, tfs_buf_span(&png), sentence);
    tfs_buf_release(&png);
    maker_release(&samples);
}

/* ---- the vectors ----------------------------------------------------------------------------- */

START_TEST(terrain_pictures_are_north_up_and_texts_south_first)
{
    struct tree_files t;

    open_hex(&t, A);
    check_samples(&t, "heightmap.png", "8002 ffff 4000 4001");
    check_samples(&t, "layers.png", "ff01 0001");
    check_samples(&t, "holes.png", "ff00 0000");
    check_samples(&t, "layers/00_Grass.png", "0000 ff00");
    check_samples(&t, "layers/01_Rock.png", "00ff 00ff");
    check_text(&t, "palette.txt", "0 Grass\n1 Rock\n");
    check_text(&t, "chunks/0_0_0/heights.txt",
               "y=00 z=00 | 16384 16385\ny=00 z=01 | 32770 65535\n");
    check_text(&t, "chunks/0_0_0/layers.txt", "y=00 z=00 |   0   1\ny=00 z=01 | 255   1\n");
    ck_assert(!tree_files_has(&t, "extra/texture.png"));
    tree_files_close(&t);
}
END_TEST

START_TEST(terrain_extra_planes_are_pictures)
{
    struct tree_files t;

    open_hex(&t, C);
    check_samples(&t, "extra/texture.png", "13141112");
    check_samples(&t, "extra/coverage_0.png", "c2c3c0c1");
    check_samples(&t, "extra/coverage_3.png", "cecfcccd");
    put_hex(&t, "extra/coverage_1.png", "01020304");
    check_hex(&t, "09 02000000 0040 0140 0280 ffff 0001ff01 11121314 c0c1c2c3 03040102 c8c9cacb"
                  "cccdcecf 02000000 05 4772617373 00 04 526f636b 00");
    tree_files_close(&t);
    open_hex(&t, B);
    check_samples(&t, "extra/corners.png", "ff010101 01010101 0001ff01 01ff0101");
    put_hex(&t, "extra/corners.png", "00000000 01020304 05060708 ffffffff");
    check_samples(&t, "extra/corners.png", "00000000 01020304 05060708 ffffffff");
    check_samples(&t, "layers.png", "ff01 0001");
    tree_files_close(&t);
}
END_TEST

START_TEST(terrain_files_are_read_only_where_they_cannot_be_told)
{
    struct tree_files t;

    open_hex(&t, A);
    ck_assert(!tree_files_writable(&t, "info.txt"));
    ck_assert(!tree_files_writable(&t, "map.png"));
    ck_assert(tree_files_writable(&t, "heightmap.png"));
    ck_assert(tree_files_writable(&t, "layers/01_Rock.png"));
    tree_files_close(&t);
}
END_TEST

/* ---- the laws -------------------------------------------------------------------------------- */

struct walk {
    struct tree_files *t;
    const struct tfs_buf *save; /* as it was */
    struct maker_random *random;
    unsigned files, edits;
};

/* Writing back what was read is no edit. */
static void check_get_put(void *arg, const char *path)
{
    struct walk *w = arg;
    struct tfs_buf text = {0};
    uint64_t version = w->t->doc->version;

    w->files++;
    ck_assert_msg(tree_files_get(w->t, path, &text) == 0, "%s: %s", path, w->t->err.text);
    if (tree_files_writable(w->t, path)) {
        ck_assert_msg(tree_files_put(w->t, path, tfs_buf_span(&text)) == 0, "%s: %s", path,
                      w->t->err.text);
        ck_assert_msg(w->t->doc->version == version, "%s: an edit", path);
    }
    tfs_buf_release(&text);
}

/* A random change of a picture that its lens accepts. */
static void change_samples(struct walk *w, const char *path, struct tfs_buf *samples)
{
    uint32_t materials = tfs_beamng_name_count(w->t->doc);
    bool layers = strcmp(path, "layers.png") == 0;
    bool mask = strncmp(path, "layers/", 7) == 0 || strcmp(path, "holes.png") == 0;

    for (unsigned i = 0; i < 1 + maker_draw(w->random, 40); i++) {
        size_t at = maker_draw(w->random, (uint32_t)samples->size);
        uint8_t value = (uint8_t)maker_draw(w->random, 256);
        if (layers)
            value = (uint8_t)(value % 8 == 0 ? 255 : value % (materials > 0 ? materials : 1));
        if (mask)
            value = strncmp(path, "layers/00", 9) == 0 || value % 2 == 0 ? UINT8_MAX : 0;
        samples->data[at] = value;
    }
}

static void change_picture(struct walk *w, const char *path)
{
    struct tfs_buf samples = {0}, read = {0};

    get_samples(w->t, path, &samples);
    change_samples(w, path, &samples);
    ck_assert_msg(put_samples(w->t, path, samples.data) == 0, "%s: %s", path, w->t->err.text);
    get_samples(w->t, path, &read);
    ck_assert_msg(tfs_span_equal(tfs_buf_span(&samples), tfs_buf_span(&read)),
                  "%s: reads otherwise", path);
    tfs_buf_release(&samples);
    tfs_buf_release(&read);
}

static void change_text(struct walk *w, const char *path)
{
    struct tfs_buf text = {0}, read = {0};

    ck_assert_int_eq(tree_files_get(w->t, path, &text), 0);
    uint8_t *bar = memchr(text.data, '|', text.size);
    if (strcmp(path, "palette.txt") == 0) {
        for (size_t i = 0; i < text.size; i++)
            text.data[i] = text.data[i] == 'a' ? 'e' : text.data[i];
    } else if (bar != NULL) {
        bool heights = strstr(path, "heights") != NULL;
        memcpy(bar + 2, heights ? "    0" : "  0", heights ? 5 : 3);
    }
    ck_assert_msg(tree_files_put(w->t, path, tfs_buf_span(&text)) == 0, "%s: %s", path,
                  w->t->err.text);
    ck_assert_int_eq(tree_files_get(w->t, path, &read), 0);
    ck_assert_msg(tfs_span_equal(tfs_buf_span(&text), tfs_buf_span(&read)), "%s: reads otherwise",
                  path);
    tfs_buf_release(&text);
    tfs_buf_release(&read);
}

static int differs(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    (void)before;
    (void)after;
    return 1;
}

/* After an accepted write, reading gives what was written; and the save decodes to the same. */
static void check_put_get(void *arg, const char *path)
{
    struct walk *w = arg;
    struct tfs_buf save = {0};
    struct tree_files again;

    if (!tree_files_writable(w->t, path))
        return;
    if (strstr(path, ".png") != NULL)
        change_picture(w, path);
    else
        change_text(w, path);
    if (w->edits++ % 16 > 0)
        return;
    tree_files_encode(w->t, &save);
    ck_assert_int_eq(
        tree_files_open(&again, &tfs_beamng_ter, "/nowhere/theTerrain.ter", tfs_buf_span(&save)),
        0);
    ck_assert_int_eq(tfs_doc_diff(w->t->doc, again.doc, differs, NULL), 0);
    tree_files_close(&again);
    tfs_buf_release(&save);
}

/* Names change while the palette does: the paths are collected first. */
struct paths {
    char *list[4096];
    unsigned count;
};

static void add_path(void *arg, const char *path)
{
    struct paths *p = arg;

    ck_assert_uint_lt(p->count, 4096);
    p->list[p->count++] = strdup(path);
}

static void check_laws(struct tree_files *t, uint64_t seed)
{
    struct maker_random random = {.state = seed};
    struct tfs_buf before = {0}, after = {0};
    struct walk w = {t, &before, &random, 0, 0};
    struct paths paths = {.count = 0};

    tree_files_encode(t, &before);
    tree_files_walk(t, check_get_put, &w);
    tree_files_encode(t, &after);
    ck_assert(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));

    tree_files_walk(t, add_path, &paths);
    ck_assert_uint_eq(paths.count, w.files);
    for (unsigned i = 0; i < paths.count; i++) {
        if (tree_files_has(t, paths.list[i])) /* a mask has another name by now */
            check_put_get(&w, paths.list[i]);
        free(paths.list[i]);
    }
    ck_assert_uint_gt(w.edits, 3);
    tfs_buf_release(&before);
    tfs_buf_release(&after);
}

START_TEST(terrain_of_every_layout_keeps_both_laws)
{
    static const uint32_t sides[] = {2, 5, 64, 70, 129};
    struct tree_files t;

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        struct ter_world w = {.version = (uint8_t)(7 + _i % 3),
                              .kind = (enum ter_kind)(_i % 4),
                              .nul = _i / 4 % 2 != 0,
                              .side = sides[i],
                              .seed = (uint64_t)_i * 10 + i,
                              .materials = 5};
        open_world(&t, w);
        check_laws(&t, w.seed + 1);
        tree_files_close(&t);
    }
}
END_TEST

static bool read_sample(const char *path, struct tfs_buf *out)
{
    gzFile file = gzopen(path, "rb"); /* reads what is not compressed as it is */
    int n;

    if (file == NULL)
        return false;
    do {
        uint8_t *room = tfs_buf_reserve(out, 1 << 16);
        ck_assert_ptr_nonnull(room);
        n = gzread(file, room, 1 << 16);
        ck_assert_int_ge(n, 0);
        out->size += (size_t)n;
    } while (n > 0);
    gzclose(file);
    return true;
}

static glob_t found;

static size_t find_samples(void)
{
    glob("../shared/samples/beamng/*.ter", 0, NULL, &found);
    glob("../shared/samples/beamng/*.ter.gz", GLOB_APPEND, NULL, &found);
    return found.gl_pathc;
}

START_TEST(terrain_sample_keeps_both_laws)
{
    struct tfs_buf bytes = {0}, back = {0};
    struct tree_files t;

    ck_assert(read_sample(found.gl_pathv[_i], &bytes));
    ck_assert_msg(
        tree_files_open(&t, &tfs_beamng_ter, found.gl_pathv[_i], tfs_buf_span(&bytes)) == 0, "%s",
        t.err.text);
    tree_files_encode(&t, &back);
    ck_assert(tfs_span_equal(tfs_buf_span(&back), tfs_buf_span(&bytes)));
    check_laws(&t, (uint64_t)_i + 1);
    tree_files_close(&t);
    tfs_buf_release(&bytes);
    tfs_buf_release(&back);
}
END_TEST

/* ---- heights --------------------------------------------------------------------------------- */

START_TEST(heightmap_of_8_bits_is_taken_only_where_nothing_is_lost)
{
    static const uint8_t grey[] = {1, 2, 3, 4};
    struct tfs_png_shape shape = {2, 2, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf png = {0};
    struct tree_files t;

    make_png(shape, grey, &png);
    open_hex(&t, A);
    check_refused(&t, "heightmap.png", tfs_buf_span(&png), "the heights of the save need 16");
    ck_assert_ptr_nonnull(strstr(t.err.text, "pixel 0,0"));
    ck_assert_ptr_nonnull(strstr(t.err.text, "png:bit-depth=16"));
    tree_files_close(&t);
    open_hex(&t, "09 02000000 0101 0202 0000 ffff 00000000 00000000");
    ck_assert_int_eq(tree_files_put(&t, "heightmap.png", tfs_buf_span(&png)), 0);
    check_hex(&t, "09 02000000 0303 0404 0101 0202 00000000 00000000");
    tree_files_close(&t);
    tfs_buf_release(&png);
}
END_TEST

START_TEST(heightmap_of_another_size_is_refused_with_both_sizes)
{
    static const uint8_t grey[2 * 9];
    struct tfs_png_shape shape = {3, 3, TFS_PNG_GREY16, NULL, 0};
    struct tfs_buf png = {0};
    struct tree_files t;

    make_png(shape, grey, &png);
    open_hex(&t, A);
    check_refused(&t, "heightmap.png", tfs_buf_span(&png),
                  "the picture has 3 x 3 pixels, 2 x 2 are needed");
    check_refused(&t, "heightmap.png", tfs_span_of("16384 16385"), "not a PNG");
    tree_files_close(&t);
    tfs_buf_release(&png);
}
END_TEST

START_TEST(heights_text_of_an_edge_tile_is_as_wide_and_high_as_what_is_left)
{
    struct tree_files t;
    struct tfs_buf text = {0};

    open_world(&t, (struct ter_world){9, TER_PLAIN, false, 70, 3, 4});
    ck_assert_int_eq(tree_files_get(&t, "chunks/1_0_0/heights.txt", &text), 0);
    ck_assert_uint_eq(text.size, 64 * (12 + 6 * 6));
    tfs_buf_clear(&text);
    ck_assert_int_eq(tree_files_get(&t, "chunks/0_0_1/layers.txt", &text), 0);
    ck_assert_uint_eq(text.size, 6 * (12 + 4 * 64));
    ck_assert(!tree_files_has(&t, "chunks/2_0_0/heights.txt"));
    put_text(&t, "chunks/1_0_1/heights.txt", "fill 7\n");
    check_text(&t, "chunks/1_0_1/heights.txt",
               "y=00 z=00 |     7     7     7     7     7     7\n"
               "y=00 z=01 |     7     7     7     7     7     7\n"
               "y=00 z=02 |     7     7     7     7     7     7\n"
               "y=00 z=03 |     7     7     7     7     7     7\n"
               "y=00 z=04 |     7     7     7     7     7     7\n"
               "y=00 z=05 |     7     7     7     7     7     7\n");
    check_refused(&t, "chunks/1_0_1/heights.txt", tfs_span_of("fill 65536\n"),
                  "heights are 0 to 65535");
    tree_files_close(&t);
    tfs_buf_release(&text);
}
END_TEST

/* ---- layers, masks, holes -------------------------------------------------------------------- */

START_TEST(layers_take_materials_holes_and_what_stands_there_already)
{
    struct tree_files t;

    /* two materials, and a stray 9 in the south-west */
    open_hex(&t, "09 02000000 0040 0140 0280 ffff 0901ff01 02000000 05 4772617373 04 526f636b");
    put_hex(&t, "layers.png", "00ff 0901");
    check_samples(&t, "layers.png", "00ff 0901");
    refuse_hex(&t, "layers.png", "0009 0901", "pixel 1,0 has layer 9, but there are 2 materials");
    refuse_hex(&t, "layers.png", "0000 0902", "pixel 1,1 has layer 2");
    put_text(&t, "chunks/0_0_0/layers.txt", "9 0\n0 0\n");
    check_refused(&t, "chunks/0_0_0/layers.txt", tfs_span_of("9 0\n0 9\n"),
                  "layer 9 is not there, there are 2 materials");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 3);
    check_refused(&t, "chunks/0_0_0/layers.txt", tfs_span_of("# all\nfill 2\n"), "layer 2 is not");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 6);
    check_refused(&t, "chunks/0_0_0/layers.txt",
                  tfs_span_of("y=00 z=00 |   9   0\ny=00 z=01 |   0   7\n"), "layer 7 is not");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 19);
    tree_files_close(&t);
}
END_TEST

START_TEST(layer_0_and_holes_can_be_painted_without_any_material)
{
    struct tree_files t;

    open_hex(&t, "09 02000000 0040 0140 0280 ffff 05050505 00000000");
    put_hex(&t, "layers.png", "00ff 0505");
    refuse_hex(&t, "layers.png", "0101 0505", "there are 0 materials");
    put_hex(&t, "holes.png", "ffff 0000");
    check_hex(&t, "09 02000000 0040 0140 0280 ffff 0505ffff 00000000");
    ck_assert(!tree_files_has(&t, "layers/00_.png"));
    tree_files_close(&t);
}
END_TEST

START_TEST(mask_paints_its_material_and_what_it_clears_becomes_layer_0)
{
    struct tree_files t;

    open_hex(&t, A);
    /* greys count by the threshold */
    put_hex(&t, "layers/01_Rock.png", "80c8 007f");
    check_samples(&t, "layers.png", "0101 0000");
    check_samples(&t, "layers/01_Rock.png", "ffff 0000");
    put_hex(&t, "layers/00_Grass.png", "ff00 ffff");
    check_samples(&t, "layers.png", "0001 0000");
    refuse_hex(&t, "layers/00_Grass.png", "ff00 ff00",
               "pixel 1,1 takes layer 0 away, but nothing says what it becomes");
    put_hex(&t, "holes.png", "ff00 00ff");
    check_samples(&t, "layers.png", "ff01 00ff");
    put_hex(&t, "holes.png", "0000 0000");
    check_samples(&t, "layers.png", "0001 0000");
    tree_files_close(&t);
}
END_TEST

/* Puts a picture that was made from `original`; both are samples. */
static void put_made_from(struct tree_files *t, const char *path, const char *original,
                          const char *hex)
{
    struct maker_bytes samples = {0};
    struct tfs_buf png = {0};

    place_hex(&samples, original);
    make_png(shape_of(t, path), samples.data, &png);
    t->original = tfs_buf_span(&png);
    put_hex(t, path, hex);
    t->original = (struct tfs_span){0};
    tfs_buf_release(&png);
    maker_release(&samples);
}

/* `import`: pixels that are as in what the picture was made from do not undo another's. */
START_TEST(terrain_pictures_say_only_what_differs_from_what_they_were_made_from)
{
    struct tree_files t;

    open_hex(&t, A);
    check_samples(&t, "layers.png", "ff01 0001");
    put_made_from(&t, "layers/01_Rock.png", "00ff 00ff", "00ff ffff");  /* 0,1 becomes rock */
    put_made_from(&t, "layers/00_Grass.png", "0000 ff00", "00ff ff00"); /* 1,0 becomes grass */
    check_samples(&t, "layers.png", "ff00 0101");
    put_made_from(&t, "holes.png", "ff00 0000", "0000 0000");
    check_samples(&t, "layers.png", "0000 0101");
    put_made_from(&t, "layers.png", "ff01 0001", "ff01 0000"); /* 1,1 becomes grass */
    check_samples(&t, "layers.png", "0000 0100");
    check_samples(&t, "heightmap.png", "8002ffff 40004001");
    put_text(&t, "chunks/0_0_0/heights.txt", "1 2\n3 4\n");
    put_made_from(&t, "heightmap.png", "8002ffff 40004001", "80020000 40004001");
    check_samples(&t, "heightmap.png", "00030000 00010002");
    tree_files_close(&t);
}
END_TEST

START_TEST(mask_name_is_the_index_and_the_escaped_and_cut_name)
{
    struct maker_bytes b = {0};
    struct tree_files t;
    char wanted[300], name[250];

    memset(name, 'x', sizeof(name));
    memcpy(name + 245, "\xc3\xa4\xc3\xa4", 4); /* the second one would pass the limit */
    place_hex(&b, "07 01000000 2000 00 05000000 05 612f625c63 00 02 20 0a 03 ff41c2 fa");
    maker_add(&b, name, sizeof(name));
    open_bytes(&t, &b);
    ck_assert(tree_files_has(&t, "layers/00_a\\x2fb\\\\c.png"));
    ck_assert(tree_files_has(&t, "layers/01_.png"));
    ck_assert(tree_files_has(&t, "layers/02_\\x20\\n.png"));
    ck_assert(tree_files_has(&t, "layers/03_\\xffA\\xc2.png"));
    snprintf(wanted, sizeof(wanted), "layers/04_%.247s.png", name);
    ck_assert_uint_eq(strlen(wanted) - strlen("layers/"), 254);
    ck_assert(tree_files_has(&t, wanted));
    tree_files_close(&t);
    maker_release(&b);
}
END_TEST

START_TEST(mask_names_follow_the_palette)
{
    struct tree_files t;

    open_hex(&t, A);
    put_text(&t, "palette.txt", "0 Grass\n1 Snow\n2 Ice\n");
    ck_assert(tree_files_has(&t, "layers/01_Snow.png"));
    ck_assert(tree_files_has(&t, "layers/02_Ice.png"));
    ck_assert(!tree_files_has(&t, "layers/01_Rock.png"));
    put_hex(&t, "layers/02_Ice.png", "0000 ff00");
    check_samples(&t, "layers.png", "ff01 0201");
    tree_files_close(&t);
}
END_TEST

/* ---- palette --------------------------------------------------------------------------------- */

START_TEST(palette_renames_appends_and_removes_unused_entries_from_the_end)
{
    struct tree_files t;

    open_hex(&t, A);
    put_text(&t, "palette.txt", "# materials\n\n  0   Grass  \r\n1 \\x53now \\\\ \\n\n2\n");
    check_text(&t, "palette.txt", "0 Grass\n1 Snow \\\\ \\n\n2\n");
    check_hex(&t, "09 02000000 0040 0140 0280 ffff 0001ff01 03000000 05 4772617373"
                  "08 536e6f77205c200a 00");
    put_text(&t, "palette.txt", "0 Grass\n1 Grass\n");
    check_hex(&t, "09 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 05 4772617373");
    tree_files_close(&t);
}
END_TEST

START_TEST(palette_edit_that_changes_no_name_keeps_the_stored_table)
{
    static const char hex[] = "07 01000000 2000 00 02000000 ff 0100 41 03 420043";
    struct tree_files t;

    open_hex(&t, hex);
    check_text(&t, "palette.txt", "0 A\n1 B\\x00C\n");
    put_text(&t, "palette.txt", "0 \\x41\n\n1 B\\x00C\n");
    check_hex(&t, hex);
    put_text(&t, "palette.txt", "0 A\n1 B\\x00C\n2 D\n"); /* the old entry may keep its byte 0 */
    check_hex(&t, "07 01000000 2000 00 03000000 01 41 03 420043 01 44");
    check_refused(&t, "palette.txt", tfs_span_of("0 A\n1 A\\x00C\n2 D\n"), "byte 0");
    tree_files_close(&t);
}
END_TEST

START_TEST(palette_with_a_gap_or_a_used_entry_removed_is_refused)
{
    struct tree_files t;

    open_hex(&t, A);
    check_refused(&t, "palette.txt", tfs_span_of("1 Rock\n"), "index 1 stands where 0 is expected");
    ck_assert_uint_eq(t.err.line, 1);
    check_refused(&t, "palette.txt", tfs_span_of("0 Grass\n2 Rock\n"), "where 1 is expected");
    check_refused(&t, "palette.txt", tfs_span_of("0 Grass\n"),
                  "material 1 is used by 2 samples, first at 1,0");
    check_refused(&t, "palette.txt", tfs_span_of(""),
                  "material 0 is used by 1 samples, first at 0,0");
    check_refused(&t, "palette.txt", tfs_span_of("0 Grass\n1 \\q\n"), "escape");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 3);
    check_refused(&t, "palette.txt", tfs_span_of("x Grass\n"), "not a number");
    tree_files_close(&t);
}
END_TEST

START_TEST(palette_entry_that_no_sample_uses_can_go_beside_layers_without_material)
{
    struct tree_files t;

    /* Layers 0, 254 and 9; materials A, B, C. */
    open_hex(&t, "07 02000000 0040 0140 0280 ffff 00fe0900 03000000 01 41 01 42 01 43");
    put_text(&t, "palette.txt", "0 A\n1 B\n");
    check_hex(&t, "07 02000000 0040 0140 0280 ffff 00fe0900 02000000 01 41 01 42");
    check_refused(&t, "palette.txt", tfs_span_of(""), "material 0 is used by 2 samples");
    tree_files_close(&t);
}
END_TEST

/* A table of `count` empty names behind one sample of layer 0. */
static void open_many(struct tree_files *t, unsigned count)
{
    struct maker_bytes b = {0};
    uint8_t number[4] = {(uint8_t)count, (uint8_t)(count >> 8)};

    place_hex(&b, "07 01000000 2000 00");
    maker_add(&b, number, 4);
    for (unsigned i = 0; i < count; i++)
        maker_u8(&b, 0);
    open_bytes(t, &b);
    maker_release(&b);
}

static void list_many(struct tfs_buf *text, unsigned count)
{
    tfs_buf_clear(text);
    for (unsigned i = 0; i < count; i++)
        tfs_buf_printf(text, "%u\n", i);
}

START_TEST(palette_holds_255_entries_and_keeps_more_that_a_file_has)
{
    struct tfs_buf text = {0};
    struct tree_files t;

    open_many(&t, 254);
    list_many(&text, 255);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    ck_assert(tree_files_has(&t, "layers/254_.png"));
    list_many(&text, 256);
    check_refused(&t, "palette.txt", tfs_buf_span(&text), "255 materials");
    tree_files_close(&t);
    open_many(&t, 300);
    ck_assert(!tree_files_has(&t, "layers/255_.png"));
    list_many(&text, 300);
    tfs_buf_printf(&text, "300\n");
    check_refused(&t, "palette.txt", tfs_buf_span(&text), "255 materials");
    list_many(&text, 299);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    list_many(&text, 1);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    check_hex(&t, "07 01000000 2000 00 01000000 00");
    tree_files_close(&t);
    tfs_buf_release(&text);
}
END_TEST

START_TEST(palette_takes_names_of_65535_bytes_and_no_longer_ones)
{
    struct tfs_buf text = {0};
    struct tree_files t;

    open_many(&t, 1);
    tfs_buf_add_text(&text, "0 ");
    tfs_buf_resize(&text, 2 + 65535);
    memset(text.data + 2, 'n', 65535);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    ck_assert_uint_eq(t.doc->common->size, 4 + 3 + 65535);
    tfs_buf_u8(&text, 'n');
    check_refused(&t, "palette.txt", tfs_buf_span(&text), "at most 65535");
    tree_files_close(&t);
    tfs_buf_release(&text);
}
END_TEST

/* ---- corners --------------------------------------------------------------------------------- */

START_TEST(corners_follow_the_layers_that_they_read)
{
    struct tree_files t;

    open_hex(&t, B);
    put_hex(&t, "holes.png", "0000 0000");
    check_hex(&t, "08 02000000 0040 0140 0280 ffff 00010001 00010001 01000101 00010101 01010101"
                  "02000000 05 4772617373 04 526f636b");
    tree_files_close(&t);
}
END_TEST

START_TEST(corners_of_one_sample_are_recomputed_and_no_others)
{
    static const struct {
        const char *layers, *corners;
    } cases[] = {
        {"0 0 0\n0 1 0\n0 0 0\n", "00000001 00000100 00000000 00010000 01000000 00000000 00000000"
                                  "00000000 00000000"},
        {"0 0 0\n0 0 0\n0 0 1\n", "00000000 00000000 00000000 00000000 00000001 00000101 00000101"
                                  "00010101 01010101"},
    };
    struct tree_files t;
    struct tfs_buf out = {0};
    struct maker_bytes wanted = {0};

    open_hex(&t, "08 03000000 000000000000000000000000000000000000 000000000000000000"
                 "000000000000000000000000000000000000000000000000000000000000000000000000"
                 "02000000 00 00");
    put_text(&t, "chunks/0_0_0/layers.txt", cases[_i].layers);
    tree_files_encode(&t, &out);
    place_hex(&wanted, cases[_i].corners);
    ck_assert_uint_eq(wanted.size, 36);
    ck_assert_int_eq(memcmp(out.data + 5 + 27, wanted.data, 36), 0);
    tree_files_close(&t);
    tfs_buf_release(&out);
    maker_release(&wanted);
}
END_TEST

/* All layers and all corners, in the order of the file. */
static void flat(struct tree_files *t, struct tfs_buf *layers, struct tfs_buf *corners)
{
    struct tfs_buf file = {0};
    size_t samples = (size_t)side_of(t) * side_of(t);

    tree_files_encode(t, &file);
    tfs_buf_clear(layers);
    tfs_buf_clear(corners);
    tfs_buf_add(layers, file.data + 5 + 2 * samples, samples);
    tfs_buf_add(corners, file.data + 5 + 3 * samples, 4 * samples);
    tfs_buf_release(&file);
}

/* Against the rule written down plainly, on a block that follows it nowhere. */
static void check_corners(struct tree_files *t, struct maker_random *r)
{
    struct tfs_buf layers = {0}, corners = {0}, new_layers = {0}, new_corners = {0};
    struct tfs_buf picture = {0};
    uint32_t side = side_of(t);
    uint8_t old[4], new[4];

    flat(t, &layers, &corners);
    get_samples(t, "layers.png", &picture);
    for (unsigned i = 0; i < 3; i++) {
        static const uint32_t spots[] = {0, 1, 63, 64, 65};
        uint32_t x = maker_draw(r, 2) ? maker_draw(r, side) : spots[maker_draw(r, 5)] % side;
        uint32_t y = maker_draw(r, 2) ? maker_draw(r, side) : side - 1 - x % side;
        picture.data[(size_t)y * side + x] = (uint8_t)maker_draw(r, 5);
    }
    ck_assert_int_eq(put_samples(t, "layers.png", picture.data), 0);
    flat(t, &new_layers, &new_corners);
    for (uint64_t i = 0; i < (uint64_t)side * side; i++) {
        ter_corner_rule(layers.data, side, i, old);
        ter_corner_rule(new_layers.data, side, i, new);
        const uint8_t *wanted = memcmp(old, new, 4) != 0 ? new : corners.data + 4 * i;
        ck_assert_msg(memcmp(new_corners.data + 4 * i, wanted, 4) == 0, "side %u, square %u", side,
                      (unsigned)i);
    }
    tfs_buf_release(&layers);
    tfs_buf_release(&corners);
    tfs_buf_release(&new_layers);
    tfs_buf_release(&new_corners);
    tfs_buf_release(&picture);
}

START_TEST(corners_that_no_rule_made_survive_where_no_layer_changed)
{
    static const uint32_t sides[] = {1, 2, 3, 64, 65, 66, 128, 130};
    struct maker_random r = {.state = 7};
    struct tree_files t;

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        uint32_t side = sides[i];
        struct tfs_buf foreign = {0};
        open_world(&t, (struct ter_world){8, TER_CORNERS, false, side, i, 5});
        tfs_buf_resize(&foreign, (size_t)side * side * 4);
        for (size_t k = 0; k < foreign.size; k++)
            foreign.data[k] = (uint8_t)(100 + maker_draw(&r, 100));
        ck_assert_int_eq(put_samples(&t, "extra/corners.png", foreign.data), 0);
        for (unsigned round = 0; round < 20; round++)
            check_corners(&t, &r);
        tree_files_close(&t);
        tfs_buf_release(&foreign);
    }
}
END_TEST

/* ---- info and map ---------------------------------------------------------------------------- */

static void check_info(struct tree_files *t, const char *line)
{
    struct tfs_buf info = {0};

    ck_assert_int_eq(tree_files_get(t, "info.txt", &info), 0);
    tfs_buf_u8(&info, '\0');
    ck_assert_msg(strstr((const char *)info.data, line) != NULL, "no '%s' in:\n%s", line,
                  (const char *)info.data);
    tfs_buf_release(&info);
}

START_TEST(info_says_what_the_terrain_is)
{
    struct tree_files t;

    open_hex(&t, "08 02000000 0040 0140 0280 ffff 0907ff09 00000000 01ff0101 ff010101 01010101"
                 "02000000 05 4772617373 04 526f636b");
    check_info(&t, "format: beamng\n");
    check_info(&t, "chunks: 1\n");
    check_info(&t, "version: 8\n");
    check_info(&t, "layout: 7 bytes a sample (heights, layers, corners)\n");
    check_info(&t, "name-terminator: none\n");
    check_info(&t, "size: 2 x 2 samples\n");
    check_info(&t, "heights: 16384 to 65535\n");
    check_info(&t, "height-unit: maxHeight / 65535 metres\n");
    check_info(&t, "materials: 2\n");
    check_info(&t, "holes: 1\n");
    check_info(&t, "layers-without-material: 7 (1 samples), 9 (2)\n");
    check_info(&t, "corners: 4 of 4 squares do not follow the rule\n");
    check_info(&t, "sidecar: absent\n");
    check_info(&t, "read-only: no\n");
    tree_files_close(&t);
    open_hex(&t, B);
    check_info(&t, "corners: follow the rule\n");
    check_info(&t, "layers-without-material: none\n");
    tree_files_close(&t);
    open_hex(&t, "07 01000000 2000 00 00000000");
    check_info(&t, "height-unit: 1/32 metre\n");
    check_info(&t, "materials: 0\n");
    tree_files_close(&t);
}
END_TEST

START_TEST(pictures_are_left_out_above_8192_samples_a_side)
{
    struct tree_files t;

    open_hex(&t, B);
    /* A terrain of that size would be 470 MB: only its names are looked at. */
    struct tfs_beamng_facts *facts = t.doc->facts->own;
    for (uint32_t side = 8192; side <= 8193; side++) {
        facts->layout.side = side;
        ck_assert_int_eq(tree_files_has(&t, "heightmap.png"), side == 8192);
        ck_assert_int_eq(tree_files_has(&t, "holes.png"), side == 8192);
        ck_assert_int_eq(tree_files_has(&t, "map.png"), side == 8192);
        ck_assert_int_eq(tree_files_has(&t, "layers/01_Rock.png"), side == 8192);
        ck_assert_int_eq(tree_files_has(&t, "extra/corners.png"), side == 8192);
        ck_assert(tree_files_has(&t, "palette.txt"));
        ck_assert(tree_files_has(&t, "chunks/0_0_0/heights.txt"));
    }
    tree_files_close(&t);
}
END_TEST

START_TEST(map_is_coloured_by_layer_and_darker_where_it_is_low)
{
    struct tfs_buf png = {0};
    struct tree_files t;

    /* rows north first: hole, layer 1 high; then layer 0 low, layer 1 low */
    open_hex(&t, "09 02000000 0000 0000 0000 ffff 0001ff01 02000000 05 4772617373 04 526f636b");
    ck_assert_int_eq(tree_files_get(&t, "map.png", &png), 0);
    const uint8_t *north = png.data + 8 + 25 + 8 + 2 + 5 + 1, *south = north + 7;
    ck_assert_int_eq(memcmp(north, "\0\0\0", 3), 0);
    ck_assert_int_ne(memcmp(south, south + 3, 3), 0);
    for (int c = 0; c < 3; c++)
        ck_assert_uint_ge(north[3 + c], south[3 + c]);
    ck_assert_int_gt(north[3] + north[4] + north[5], 2 * (south[3] + south[4] + south[5]));
    tree_files_close(&t);
    tfs_buf_release(&png);
}
END_TEST

/* ---- what a change concerns ------------------------------------------------------------------ */

struct changed {
    const struct tfs_tree *tree;
    unsigned chunks;
    uint32_t files;
};

static int note_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct changed *c = arg;

    c->chunks++;
    c->files |= c->tree->chunk_changes(before, after);
    return 0;
}

/* The root files that may read differently now. */
static const char *root_changes(const struct tree_files *t, const struct tfs_doc *before,
                                struct changed *c)
{
    *c = (struct changed){.tree = t->save.tree};
    (void)tfs_doc_diff(before, t->doc, note_chunk, c);
    return changed_root_files(c->tree, c->tree->root_changes(before, t->doc));
}

START_TEST(change_of_heights_concerns_one_tile_and_no_layer)
{
    struct changed c;
    struct tree_files t;

    open_world(&t, (struct ter_world){8, TER_CORNERS, false, 130, 3, 4});
    struct tfs_doc *before = tfs_doc_ref(t.doc);
    put_text(&t, "chunks/1_0_1/heights.txt", "fill 7");
    ck_assert_str_eq(root_changes(&t, before, &c),
                     "info.txt heightmap.png map.png arrays/heights.npy");
    ck_assert_uint_eq(c.chunks, 1);
    ck_assert_uint_eq(c.files, 1u << 0);
    tfs_doc_unref(before);
    before = tfs_doc_ref(t.doc);
    put_text(&t, "chunks/1_0_1/layers.txt", "fill 3");
    ck_assert_str_eq(root_changes(&t, before, &c),
                     "info.txt layers.png holes.png layers/ extra/ map.png arrays/layers.npy");
    ck_assert_uint_eq(c.files, 1u << 1);
    ck_assert_uint_eq(c.chunks, 4); /* the corners of its neighbours in the west and south, too */
    tfs_doc_unref(before);
    before = tfs_doc_ref(t.doc);
    put_text(&t, "palette.txt", "0 a\n1 b\n2 c\n3 d\n4 e\n");
    ck_assert_str_eq(root_changes(&t, before, &c), "info.txt palette.txt layers/");
    ck_assert_uint_eq(c.chunks, 0);
    tfs_doc_unref(before);
    tree_files_close(&t);
}
END_TEST

START_TEST(edit_that_another_layout_would_read_is_refused)
{
    struct tree_files t;

    /* One sample. With the corners 4 0 0 0 a plain layout would fit, with its table at offset 8 and
     * four names: 00, nothing, nothing, ABC. */
    open_hex(&t, "09 01000000 2000 00 05060708 01000000 03 414243");
    ck_assert_uint_eq(tfs_beamng_layout_of(t.doc)->extra, 4);
    refuse_hex(&t, "extra/corners.png", "04000000", "another layout");
    tree_files_close(&t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beamng_lenses");

    TCase *t = unit_case(s, "vectors");
    tcase_add_test(t, terrain_pictures_are_north_up_and_texts_south_first);
    tcase_add_test(t, terrain_extra_planes_are_pictures);
    tcase_add_test(t, terrain_files_are_read_only_where_they_cannot_be_told);

    t = unit_case(s, "laws");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, terrain_of_every_layout_keeps_both_laws, 0, 8);
    unit_add_samples(t, terrain_sample_keeps_both_laws, find_samples(), "../shared/samples/beamng");

    t = unit_case(s, "heights");
    tcase_add_test(t, heightmap_of_8_bits_is_taken_only_where_nothing_is_lost);
    tcase_add_test(t, heightmap_of_another_size_is_refused_with_both_sizes);
    tcase_add_test(t, heights_text_of_an_edge_tile_is_as_wide_and_high_as_what_is_left);

    t = unit_case(s, "layers");
    tcase_add_test(t, layers_take_materials_holes_and_what_stands_there_already);
    tcase_add_test(t, layer_0_and_holes_can_be_painted_without_any_material);
    tcase_add_test(t, mask_paints_its_material_and_what_it_clears_becomes_layer_0);
    tcase_add_test(t, terrain_pictures_say_only_what_differs_from_what_they_were_made_from);
    tcase_add_test(t, mask_name_is_the_index_and_the_escaped_and_cut_name);
    tcase_add_test(t, mask_names_follow_the_palette);

    t = unit_case(s, "palette");
    tcase_add_test(t, palette_renames_appends_and_removes_unused_entries_from_the_end);
    tcase_add_test(t, palette_edit_that_changes_no_name_keeps_the_stored_table);
    tcase_add_test(t, palette_with_a_gap_or_a_used_entry_removed_is_refused);
    tcase_add_test(t, palette_entry_that_no_sample_uses_can_go_beside_layers_without_material);
    tcase_add_test(t, palette_holds_255_entries_and_keeps_more_that_a_file_has);
    tcase_add_test(t, palette_takes_names_of_65535_bytes_and_no_longer_ones);

    t = unit_case(s, "corners");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, corners_follow_the_layers_that_they_read);
    tcase_add_loop_test(t, corners_of_one_sample_are_recomputed_and_no_others, 0, 2);
    tcase_add_test(t, corners_that_no_rule_made_survive_where_no_layer_changed);

    t = unit_case(s, "about");
    tcase_add_test(t, info_says_what_the_terrain_is);
    tcase_add_test(t, pictures_are_left_out_above_8192_samples_a_side);
    tcase_add_test(t, map_is_coloured_by_layer_and_darker_where_it_is_low);
    tcase_add_test(t, change_of_heights_concerns_one_tile_and_no_layer);
    tcase_add_test(t, edit_that_another_layout_would_read_is_refused);
    return s;
}

UNIT_MAIN(suite)
