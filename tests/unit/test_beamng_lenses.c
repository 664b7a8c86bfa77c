/*
 * The files of a terrain: GetPut and PutGet for every file of every layout and every sample; info,
 * map, and what a change concerns.
 */
#include <glob.h>
#include <string.h>
#include <zlib.h>

#include "../lib/beamng_case.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/layers.h"
#include "formats/views/arrays/npy.h"
#include "unit.h"

static struct tree_files t;

static void teardown(void)
{
    tree_files_close(&t);
}

/* ---- the vectors ----------------------------------------------------------------------------- */

START_TEST(terrain_pictures_are_north_up_and_texts_south_first)
{
    ter_open_hex(&t, TER_A);
    ter_check_samples(&t, "heightmap.png", "8002 ffff 4000 4001");
    ter_check_samples(&t, "layers.png", "ff01 0001");
    ter_check_samples(&t, "holes.png", "ff00 0000");
    ter_check_samples(&t, "layers/00_Grass.png", "0000 ff00");
    ter_check_samples(&t, "layers/01_Rock.png", "00ff 00ff");
    ter_check_text(&t, "palette.txt", "0 Grass\n1 Rock\n");
    ter_check_text(&t, "chunks/0_0_0/heights.txt",
                   "y=00 z=00 | 16384 16385\ny=00 z=01 | 32770 65535\n");
    ter_check_text(&t, "chunks/0_0_0/layers.txt", "y=00 z=00 |   0   1\ny=00 z=01 | 255   1\n");
    ck_assert(!tree_files_has(&t, "extra/texture.png"));
}
END_TEST

START_TEST(terrain_extra_planes_are_pictures)
{
    ter_open_hex(&t, TER_C);
    ter_check_samples(&t, "extra/texture.png", "13141112");
    ter_check_samples(&t, "extra/coverage_0.png", "c2c3c0c1");
    ter_check_samples(&t, "extra/coverage_3.png", "cecfcccd");
    ter_put_hex(&t, "extra/coverage_1.png", "01020304");
    ter_check_hex(&t, "09 02000000 0040 0140 0280 ffff 0001ff01 11121314 c0c1c2c3 03040102 c8c9cacb"
                      "cccdcecf 02000000 05 4772617373 00 04 526f636b 00");
    tree_files_close(&t);
    ter_open_hex(&t, TER_B);
    ter_check_samples(&t, "extra/corners.png", "ff010101 01010101 0001ff01 01ff0101");
    ter_put_hex(&t, "extra/corners.png", "00000000 01020304 05060708 ffffffff");
    ter_check_samples(&t, "extra/corners.png", "00000000 01020304 05060708 ffffffff");
    ter_check_samples(&t, "layers.png", "ff01 0001");
}
END_TEST

START_TEST(terrain_files_are_read_only_where_they_cannot_be_told)
{
    ter_open_hex(&t, TER_A);
    ck_assert(!tree_files_writable(&t, "info.txt"));
    ck_assert(!tree_files_writable(&t, "map.png"));
    ck_assert(tree_files_writable(&t, "heightmap.png"));
    ck_assert(tree_files_writable(&t, "layers/01_Rock.png"));
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

/* TER_A random change of a picture that its lens accepts. */
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

    ter_get_samples(w->t, path, &samples);
    change_samples(w, path, &samples);
    ck_assert_msg(ter_put_samples(w->t, path, samples.data) == 0, "%s: %s", path, w->t->err.text);
    ter_get_samples(w->t, path, &read);
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

static void check_laws(struct tree_files *of, uint64_t seed)
{
    struct maker_random random = {.state = seed};
    struct tfs_buf before = {0}, after = {0};
    struct walk w = {of, &before, &random, 0, 0};
    struct paths paths = {.count = 0};

    tree_files_encode(of, &before);
    tree_files_walk(of, check_get_put, &w);
    tree_files_encode(of, &after);
    ck_assert(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));

    tree_files_walk(of, add_path, &paths);
    ck_assert_uint_eq(paths.count, w.files);
    for (unsigned i = 0; i < paths.count; i++) {
        if (tree_files_has(of, paths.list[i])) /* a mask has another name by now */
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

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        struct ter_world w = {.version = (uint8_t)(7 + _i % 3),
                              .kind = (enum ter_kind)(_i % 4),
                              .nul = _i / 4 % 2 != 0,
                              .side = sides[i],
                              .seed = (uint64_t)_i * 10 + i,
                              .materials = 5};
        ter_open_world(&t, w);
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

    ck_assert(read_sample(found.gl_pathv[_i], &bytes));
    ck_assert_msg(
        tree_files_open(&t, &tfs_beamng_ter, found.gl_pathv[_i], tfs_buf_span(&bytes)) == 0, "%s",
        t.err.text);
    tree_files_encode(&t, &back);
    ck_assert(tfs_span_equal(tfs_buf_span(&back), tfs_buf_span(&bytes)));
    check_laws(&t, (uint64_t)_i + 1);
    tfs_buf_release(&bytes);
    tfs_buf_release(&back);
}
END_TEST

/* ---- info and map ---------------------------------------------------------------------------- */

static void check_info(struct tree_files *of, const char *line)
{
    struct tfs_buf info = {0};

    ck_assert_int_eq(tree_files_get(of, "info.txt", &info), 0);
    tfs_buf_u8(&info, '\0');
    ck_assert_msg(strstr((const char *)info.data, line) != NULL, "no '%s' in:\n%s", line,
                  (const char *)info.data);
    tfs_buf_release(&info);
}

START_TEST(info_says_what_the_terrain_is)
{
    ter_open_hex(&t, "08 02000000 0040 0140 0280 ffff 0907ff09 00000000 01ff0101 ff010101 01010101"
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
    ter_open_hex(&t, TER_B);
    check_info(&t, "corners: follow the rule\n");
    check_info(&t, "layers-without-material: none\n");
    tree_files_close(&t);
    ter_open_hex(&t, "07 01000000 2000 00 00000000");
    check_info(&t, "height-unit: 1/32 metre\n");
    check_info(&t, "materials: 0\n");
}
END_TEST

START_TEST(pictures_but_the_map_are_left_out_above_8192_samples_a_side)
{
    ter_open_hex(&t, TER_B);
    /* TER_A terrain of that size would be 470 MB: only its names are looked at. */
    struct tfs_beamng_facts *facts = t.doc->facts->own;
    for (uint32_t side = 8192; side <= 8193; side++) {
        facts->layout.side = side;
        ck_assert_int_eq(tree_files_has(&t, "heightmap.png"), side == 8192);
        ck_assert_int_eq(tree_files_has(&t, "holes.png"), side == 8192);
        ck_assert(tree_files_has(&t, "map.png"));
        ck_assert_int_eq(tree_files_has(&t, "layers/01_Rock.png"), side == 8192);
        ck_assert_int_eq(tree_files_has(&t, "extra/corners.png"), side == 8192);
        ck_assert(tree_files_has(&t, "palette.txt"));
    }
}
END_TEST

START_TEST(map_has_the_colours_of_material_names_and_shades_slopes)
{
    struct tfs_buf png = {0};

    /* rows north first: hole, Rock high; then Grass low, Rock low */
    ter_open_hex(&t, "09 02000000 0000 0000 0000 ffff 0001ff01 02000000 05 4772617373 04 526f636b");
    ck_assert_int_eq(tree_files_get(&t, "map.png", &png), 0);
    const uint8_t *north = png.data + 8 + 25 + 8 + 2 + 5 + 1, *south = north + 7;
    ck_assert_int_eq(memcmp(north, "\0\0\0", 3), 0);
    ck_assert_int_gt(north[3], south[3]);
    ck_assert_int_gt(2 * south[1], 3 * south[2]);
    ck_assert_int_le(abs(south[3] - south[5]), 2);
    tfs_buf_release(&png);
}
END_TEST

static const struct tfs_lens *lens_of(const struct tree_files *of, const char *path)
{
    const struct tfs_tree *tree = of->save->tree;
    unsigned i = 0;

    while (strcmp(tree->root.files[i].path, path) != 0)
        i++;
    return tree->root.files[i].lens;
}

/* The file in parts, the last one first: that needs the sums of all. */
static void check_parts(struct tree_files *of, const char *path, struct tfs_span whole)
{
    const struct tfs_lens *lens = lens_of(of, path);
    const struct tfs_at at = tfs_lens_at(lens, (struct tfs_key){0}, 0);
    const uint64_t step = 7777;

    for (uint64_t from = (whole.size - 1) / step * step, next = from;; from = next) {
        struct tfs_blob *part;
        const size_t size = whole.size - from < step ? (size_t)(whole.size - from) : step;
        ck_assert_int_eq(lens->get_range(of->save, of->doc, at, from, step, &part, &of->err), 0);
        ck_assert_uint_eq(part->size, size);
        ck_assert_mem_eq(part->data, whole.data + from, size);
        tfs_blob_unref(part);
        if (from == 0)
            break;
        next = from - step;
    }
}

START_TEST(arrays_in_parts_are_the_whole_after_an_edit_too)
{
    static const char *const paths[] = {"arrays/heights.npy", "arrays/layers.npy"};
    struct tfs_buf terrain = {0}, heights = {0};
    struct tree_files fresh;

    ter_open_world(&t, (struct ter_world){9, TER_PLAIN, false, 200, 3, 4});
    for (unsigned round = 0; round < 2; round++) {
        tfs_buf_clear(&terrain);
        tree_files_encode(&t, &terrain);
        ck_assert_int_eq(tree_files_open(&fresh, &tfs_beamng_ter, "/nowhere/theTerrain.ter",
                                         tfs_buf_span(&terrain)),
                         0);
        for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
            struct tfs_buf whole = {0};
            const struct tfs_lens *lens = lens_of(&fresh, paths[i]);
            const struct tfs_at at = tfs_lens_at(lens, (struct tfs_key){0}, 0);
            ck_assert_int_eq(lens->get(fresh.save, fresh.doc, at, &whole, &fresh.err), 0);
            check_parts(&t, paths[i], tfs_buf_span(&whole));
            tfs_buf_release(&whole);
        }
        tree_files_close(&fresh);
        tfs_buf_clear(&heights);
        ter_get_samples(&t, "heightmap.png", &heights);
        heights.data[401] ^= 0xff;
        heights.data[heights.size - 2] = 0xff;
        ck_assert_int_eq(ter_put_samples(&t, "heightmap.png", heights.data), 0);
    }
    tree_files_close(&t);
    tfs_buf_release(&terrain);
    tfs_buf_release(&heights);
}
END_TEST

/* The two files have the same bytes, but in memory the rows of the first have 64 values. */
START_TEST(array_of_a_terrain_smaller_than_a_tile_is_that_of_its_tile)
{
    static const char tile[] = "chunks/0_0_0/arrays/heights.npy";
    struct tfs_buf whole = {0}, read = {0};

    ter_open_world(&t, (struct ter_world){9, TER_PLAIN, false, 5, 3, 4});
    t.save->options.views = TFS_VIEWS_ARRAYS;
    ck_assert_int_eq(tree_files_get(&t, "arrays/heights.npy", &whole), 0);
    ck_assert_int_eq(tree_files_get(&t, tile, &read), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&whole), tfs_buf_span(&read)));
    memset(whole.data + TFS_NPY_HEAD, 0, whole.size - TFS_NPY_HEAD);
    ck_assert_int_eq(tree_files_put(&t, tile, tfs_buf_span(&whole)), 0);
    tfs_buf_clear(&read);
    ck_assert_int_eq(tree_files_get(&t, tile, &read), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&whole), tfs_buf_span(&read)));
    tree_files_close(&t);
    tfs_buf_release(&whole);
    tfs_buf_release(&read);
}
END_TEST

/* ---- what a change concerns ------------------------------------------------------------------ */

/* How many tiles of `before` lie in the same memory. */
static unsigned shared_tiles(const struct tree_files *of, const struct tfs_doc *before,
                             bool heights)
{
    unsigned shared = 0;

    for (size_t i = 0; i < before->count; i++) {
        const struct tfs_chunk *a = tfs_doc_at(before, i), *b = tfs_doc_at(of->doc, i);
        shared += heights ? a->blob == b->blob : a->extra == b->extra;
    }
    return shared;
}

START_TEST(planes_that_an_edit_leaves_are_shared_with_the_terrain_before)
{
    struct tfs_buf samples = {0};

    ter_open_world(&t, (struct ter_world){8, TER_CORNERS, false, 130, 3, 4});
    struct tfs_doc *before = tfs_doc_ref(t.doc);
    ter_get_samples(&t, "heightmap.png", &samples);
    for (size_t i = 0; i < samples.size; i++)
        samples.data[i] ^= 1;
    ck_assert_int_eq(ter_put_samples(&t, "heightmap.png", samples.data), 0);
    ck_assert_uint_eq(shared_tiles(&t, before, true), 0);
    ck_assert_uint_eq(shared_tiles(&t, before, false), before->count);
    tfs_doc_unref(before);
    before = tfs_doc_ref(t.doc);
    ter_put_text(&t, "chunks/1_0_1/layers.txt", "fill 3");
    ck_assert_uint_eq(shared_tiles(&t, before, true), before->count);
    ck_assert_uint_eq(shared_tiles(&t, before, false), before->count - 4);
    tfs_doc_unref(before);
    tfs_buf_release(&samples);
}
END_TEST

/* As a journal may have it. */
START_TEST(tile_of_another_size_than_the_layout_says_is_damaged)
{
    struct tfs_edit edit;

    ter_open_hex(&t, TER_B);
    struct tfs_chunk chunk = *tfs_doc_at(t.doc, 0);
    ck_assert(tree_files_has(&t, "chunks/0_0_0/heights.txt"));
    chunk.extra = NULL;
    ck_assert_int_eq(tfs_edit_open(t.doc, &edit, &t.err), 0);
    ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &t.err), 0);
    tfs_doc_unref(t.doc);
    t.doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert(!tree_files_has(&t, "chunks/0_0_0/heights.txt"));
    ck_assert(!tree_files_has(&t, "chunks/0_0_0/layers.txt"));
}
END_TEST

START_TEST(edit_that_another_layout_would_read_is_refused)
{
    /* One sample. With the corners 4 0 0 0 a plain layout would fit, with its table at offset 8 and
     * four names: 00, nothing, nothing, ABC. */
    ter_open_hex(&t, "09 01000000 2000 00 05060708 01000000 03 414243");
    ck_assert_uint_eq(tfs_beamng_layout_of(t.doc)->extra, 4);
    ter_refuse_hex(&t, "extra/corners.png", "04000000", "another layout");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beamng_lenses");

    TCase *tcase = unit_case_with(s, "vectors", NULL, teardown);
    tcase_add_test(tcase, terrain_pictures_are_north_up_and_texts_south_first);
    tcase_add_test(tcase, terrain_extra_planes_are_pictures);
    tcase_add_test(tcase, terrain_files_are_read_only_where_they_cannot_be_told);

    tcase = unit_case_with(s, "laws", NULL, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, terrain_of_every_layout_keeps_both_laws, 0, 8);
    unit_add_samples(tcase, terrain_sample_keeps_both_laws, find_samples(),
                     "../shared/samples/beamng");

    tcase = unit_case_with(s, "about", NULL, teardown);
    tcase_add_test(tcase, info_says_what_the_terrain_is);
    tcase_add_test(tcase, pictures_but_the_map_are_left_out_above_8192_samples_a_side);
    tcase_add_test(tcase, map_has_the_colours_of_material_names_and_shades_slopes);
    tcase_add_test(tcase, arrays_in_parts_are_the_whole_after_an_edit_too);
    tcase_add_test(tcase, array_of_a_terrain_smaller_than_a_tile_is_that_of_its_tile);
    tcase_add_test(tcase, planes_that_an_edit_leaves_are_shared_with_the_terrain_before);
    tcase_add_test(tcase, tile_of_another_size_than_the_layout_says_is_damaged);
    tcase_add_test(tcase, edit_that_another_layout_would_read_is_refused);
    return s;
}

UNIT_MAIN(suite)
