/*
 * What writing the heights, layers, masks, palette and corners of a terrain means, and what is
 * refused.
 */
#include <stdio.h>
#include <string.h>

#include "../lib/beamng_case.h"
#include "formats/beamng/beamng.h"
#include "formats/beamng/layers.h"
#include "unit.h"

static struct tree_files t;

static void teardown(void)
{
    tree_files_close(&t);
}

/* ---- heights --------------------------------------------------------------------------------- */

START_TEST(heightmap_of_8_bits_is_taken_only_where_nothing_is_lost)
{
    static const uint8_t grey[] = {1, 2, 3, 4};
    struct tfs_png_shape shape = {2, 2, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf png = {0};

    ter_make_png(shape, grey, &png);
    ter_open_hex(&t, TER_A);
    ter_check_refused(&t, "heightmap.png", tfs_buf_span(&png), "the heights of the save need 16");
    ck_assert_ptr_nonnull(strstr(t.err.text, "pixel 0,0"));
    ck_assert_ptr_nonnull(strstr(t.err.text, "png:bit-depth=16"));
    tree_files_close(&t);
    ter_open_hex(&t, "09 02000000 0101 0202 0000 ffff 00000000 00000000");
    ck_assert_int_eq(tree_files_put(&t, "heightmap.png", tfs_buf_span(&png)), 0);
    ter_check_hex(&t, "09 02000000 0303 0404 0101 0202 00000000 00000000");
    tfs_buf_release(&png);
}
END_TEST

START_TEST(heightmap_of_another_size_is_refused_with_both_sizes)
{
    static const uint8_t grey[2 * 9];
    struct tfs_png_shape shape = {3, 3, TFS_PNG_GREY16, NULL, 0};
    struct tfs_buf png = {0};

    ter_make_png(shape, grey, &png);
    ter_open_hex(&t, TER_A);
    ter_check_refused(&t, "heightmap.png", tfs_buf_span(&png),
                      "the picture has 3 x 3 pixels, 2 x 2 are needed");
    ter_check_refused(&t, "heightmap.png", tfs_span_of("16384 16385"), "not a PNG");
    tfs_buf_release(&png);
}
END_TEST

START_TEST(heights_text_of_an_edge_tile_is_as_wide_and_high_as_what_is_left)
{
    struct tfs_buf text = {0};

    ter_open_world(&t, (struct ter_world){9, TER_PLAIN, false, 70, 3, 4});
    ck_assert_int_eq(tree_files_get(&t, "chunks/1_0_0/heights.txt", &text), 0);
    ck_assert_uint_eq(text.size, 64 * (12 + 6 * 6));
    tfs_buf_clear(&text);
    ck_assert_int_eq(tree_files_get(&t, "chunks/0_0_1/layers.txt", &text), 0);
    ck_assert_uint_eq(text.size, 6 * (12 + 4 * 64));
    ck_assert(!tree_files_has(&t, "chunks/2_0_0/heights.txt"));
    ter_put_text(&t, "chunks/1_0_1/heights.txt", "fill 7\n");
    ter_check_text(&t, "chunks/1_0_1/heights.txt",
                   "y=00 z=00 |     7     7     7     7     7     7\n"
                   "y=00 z=01 |     7     7     7     7     7     7\n"
                   "y=00 z=02 |     7     7     7     7     7     7\n"
                   "y=00 z=03 |     7     7     7     7     7     7\n"
                   "y=00 z=04 |     7     7     7     7     7     7\n"
                   "y=00 z=05 |     7     7     7     7     7     7\n");
    ter_check_refused(&t, "chunks/1_0_1/heights.txt", tfs_span_of("fill 65536\n"),
                      "heights are 0 to 65535");
    tfs_buf_release(&text);
}
END_TEST

/* ---- layers, masks, holes -------------------------------------------------------------------- */

START_TEST(layers_take_materials_holes_and_what_stands_there_already)
{
    /* two materials, and a stray 9 in the south-west */
    ter_open_hex(&t, "09 02000000 0040 0140 0280 ffff 0901ff01 02000000 05 4772617373 04 526f636b");
    ter_put_hex(&t, "layers.png", "00ff 0901");
    ter_check_samples(&t, "layers.png", "00ff 0901");
    ter_refuse_hex(&t, "layers.png", "0009 0901",
                   "pixel 1,0 has layer 9, but there are 2 materials");
    ter_refuse_hex(&t, "layers.png", "0000 0902", "pixel 1,1 has layer 2");
    ter_put_text(&t, "chunks/0_0_0/layers.txt", "9 0\n0 0\n");
    ter_check_refused(&t, "chunks/0_0_0/layers.txt", tfs_span_of("9 0\n0 9\n"),
                      "layer 9 for no material");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 3);
    ter_check_refused(&t, "chunks/0_0_0/layers.txt", tfs_span_of("# all\nfill 2\n"),
                      "layer 2 for no");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 6);
    ter_check_refused(&t, "chunks/0_0_0/layers.txt",
                      tfs_span_of("y=00 z=00 |   9   0\ny=00 z=01 |   0   7\n"), "layer 7 for no");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 19);
}
END_TEST

START_TEST(layer_0_and_holes_can_be_painted_without_any_material)
{
    ter_open_hex(&t, "09 02000000 0040 0140 0280 ffff 05050505 00000000");
    ter_put_hex(&t, "layers.png", "00ff 0505");
    ter_refuse_hex(&t, "layers.png", "0101 0505", "there are 0 materials");
    ter_put_hex(&t, "holes.png", "ffff 0000");
    ter_check_hex(&t, "09 02000000 0040 0140 0280 ffff 0505ffff 00000000");
    ck_assert(!tree_files_has(&t, "layers/00_.png"));
}
END_TEST

START_TEST(mask_paints_its_material_and_what_it_clears_becomes_layer_0)
{
    ter_open_hex(&t, TER_A);
    /* greys count by the threshold */
    ter_put_hex(&t, "layers/01_Rock.png", "80c8 007f");
    ter_check_samples(&t, "layers.png", "0101 0000");
    ter_check_samples(&t, "layers/01_Rock.png", "ffff 0000");
    ter_put_hex(&t, "layers/00_Grass.png", "ff00 ffff");
    ter_check_samples(&t, "layers.png", "0001 0000");
    ter_refuse_hex(&t, "layers/00_Grass.png", "ff00 ff00",
                   "pixel 1,1 takes layer 0 away, but nothing says what it becomes");
    ter_put_hex(&t, "holes.png", "ff00 00ff");
    ter_check_samples(&t, "layers.png", "ff01 00ff");
    ter_put_hex(&t, "holes.png", "0000 0000");
    ter_check_samples(&t, "layers.png", "0001 0000");
}
END_TEST

/* Puts a picture that was made from `original`; both are samples. */
static void put_made_from(struct tree_files *of, const char *path, const char *original,
                          const char *hex)
{
    struct maker_bytes samples = {0};
    struct tfs_buf png = {0};

    place_hex(&samples, original);
    ter_make_png(ter_shape_of(of, path), samples.data, &png);
    of->how.original = tfs_buf_span(&png);
    ter_put_hex(of, path, hex);
    of->how.original = (struct tfs_span){0};
    tfs_buf_release(&png);
    maker_release(&samples);
}

/* `import`: pixels that are as in what the picture was made from do not undo another's. */
START_TEST(terrain_pictures_say_only_what_differs_from_what_they_were_made_from)
{
    ter_open_hex(&t, TER_A);
    ter_check_samples(&t, "layers.png", "ff01 0001");
    put_made_from(&t, "layers/01_Rock.png", "00ff 00ff", "00ff ffff");  /* 0,1 becomes rock */
    put_made_from(&t, "layers/00_Grass.png", "0000 ff00", "00ff ff00"); /* 1,0 becomes grass */
    ter_check_samples(&t, "layers.png", "ff00 0101");
    put_made_from(&t, "holes.png", "ff00 0000", "0000 0000");
    ter_check_samples(&t, "layers.png", "0000 0101");
    put_made_from(&t, "layers.png", "ff01 0001", "ff01 0000"); /* 1,1 becomes grass */
    ter_check_samples(&t, "layers.png", "0000 0100");
    ter_check_samples(&t, "heightmap.png", "8002ffff 40004001");
    ter_put_text(&t, "chunks/0_0_0/heights.txt", "1 2\n3 4\n");
    put_made_from(&t, "heightmap.png", "8002ffff 40004001", "80020000 40004001");
    ter_check_samples(&t, "heightmap.png", "00030000 00010002");
}
END_TEST

START_TEST(mask_name_is_the_index_and_the_escaped_and_cut_name)
{
    struct maker_bytes b = {0};
    char wanted[300], name[250];

    memset(name, 'x', sizeof(name));
    memcpy(name + 245, "\xc3\xa4\xc3\xa4", 4); /* the second one would pass the limit */
    place_hex(&b, "07 01000000 2000 00 05000000 05 612f625c63 00 02 20 0a 03 ff41c2 fa");
    maker_add(&b, name, sizeof(name));
    ter_open_bytes(&t, &b);
    ck_assert(tree_files_has(&t, "layers/00_a\\x2fb\\\\c.png"));
    ck_assert(tree_files_has(&t, "layers/01_.png"));
    ck_assert(tree_files_has(&t, "layers/02_\\x20\\n.png"));
    ck_assert(tree_files_has(&t, "layers/03_\\xffA\\xc2.png"));
    snprintf(wanted, sizeof(wanted), "layers/04_%.247s.png", name);
    ck_assert_uint_eq(strlen(wanted) - strlen("layers/"), 254);
    ck_assert(tree_files_has(&t, wanted));
    maker_release(&b);
}
END_TEST

START_TEST(mask_names_follow_the_palette)
{
    ter_open_hex(&t, TER_A);
    ter_put_text(&t, "palette.txt", "0 Grass\n1 Snow\n2 Ice\n");
    ck_assert(tree_files_has(&t, "layers/01_Snow.png"));
    ck_assert(tree_files_has(&t, "layers/02_Ice.png"));
    ck_assert(!tree_files_has(&t, "layers/01_Rock.png"));
    ter_put_hex(&t, "layers/02_Ice.png", "0000 ff00");
    ter_check_samples(&t, "layers.png", "ff01 0201");
}
END_TEST

/* ---- palette --------------------------------------------------------------------------------- */

START_TEST(palette_renames_appends_and_removes_unused_entries_from_the_end)
{
    ter_open_hex(&t, TER_A);
    ter_put_text(&t, "palette.txt", "# materials\n\n  0   Grass  \r\n1 \\x53now \\\\ \\n\n2\n");
    ter_check_text(&t, "palette.txt", "0 Grass\n1 Snow \\\\ \\n\n2\n");
    ter_check_hex(&t, "09 02000000 0040 0140 0280 ffff 0001ff01 03000000 05 4772617373"
                      "08 536e6f77205c200a 00");
    ter_put_text(&t, "palette.txt", "0 Grass\n1 Grass\n");
    ter_check_hex(&t,
                  "09 02000000 0040 0140 0280 ffff 0001ff01 02000000 05 4772617373 05 4772617373");
    ter_put_text(&t, "palette.txt", "1 Rock\n0 Grass\n"); /* in any order */
    ter_check_text(&t, "palette.txt", "0 Grass\n1 Rock\n");
}
END_TEST

START_TEST(palette_edit_that_changes_no_name_keeps_the_stored_table)
{
    static const char hex[] = "07 01000000 2000 00 02000000 ff 0100 41 03 420043";

    ter_open_hex(&t, hex);
    ter_check_text(&t, "palette.txt", "0 A\n1 B\\x00C\n");
    ter_put_text(&t, "palette.txt", "0 \\x41\n\n1 B\\x00C\n");
    ter_check_hex(&t, hex);
    ter_put_text(&t, "palette.txt",
                 "0 A\n1 B\\x00C\n2 D\n"); /* the old entry may keep its byte 0 */
    ter_check_hex(&t, "07 01000000 2000 00 03000000 01 41 03 420043 01 44");
    ter_check_refused(&t, "palette.txt", tfs_span_of("0 A\n1 A\\x00C\n2 D\n"), "byte 0");
}
END_TEST

START_TEST(palette_with_a_gap_or_a_used_entry_removed_is_refused)
{
    ter_open_hex(&t, TER_A);
    ter_check_refused(&t, "palette.txt", tfs_span_of("1 Rock\n"),
                      "the palette has no entry 0, though it has 1 others up to 1");
    ck_assert_uint_eq(t.err.line, 1);
    ter_check_refused(&t, "palette.txt", tfs_span_of("0 Grass\n2 Rock\n"), "has no entry 1");
    ter_check_refused(&t, "palette.txt", tfs_span_of("0 Grass\n"),
                      "material 1 is used, first at 1,0");
    ter_check_refused(&t, "palette.txt", tfs_span_of(""), "material 0 is used, first at 0,0");
    ter_check_refused(&t, "palette.txt", tfs_span_of("0 Grass\n1 \\q\n"), "escape");
    ck_assert_uint_eq(t.err.line, 2);
    ck_assert_uint_eq(t.err.column, 3);
    ter_check_refused(&t, "palette.txt", tfs_span_of("x Grass\n"), "not a number");
}
END_TEST

START_TEST(palette_in_which_a_name_moved_is_refused)
{
    ter_open_hex(&t, TER_A);
    ter_check_refused(&t, "palette.txt", tfs_span_of("0 Rock\n1 Grass\n"),
                      "material 0 is Rock, which is material 1 of the terrain");
    ter_check_refused(&t, "palette.txt", tfs_span_of("0 Mud\n1 Rock2\n2 Rock\n"), "were moved");
    ter_put_text(&t, "palette.txt", "0 Rock\n1 Rock\n");
}
END_TEST

START_TEST(palette_entry_that_no_sample_uses_can_go_beside_layers_without_material)
{
    /* Layers 0, 254 and 9; materials TER_A, TER_B, C. */
    ter_open_hex(&t, "07 02000000 0040 0140 0280 ffff 00fe0900 03000000 01 41 01 42 01 43");
    ter_put_text(&t, "palette.txt", "0 A\n1 B\n");
    ter_check_hex(&t, "07 02000000 0040 0140 0280 ffff 00fe0900 02000000 01 41 01 42");
    ter_check_refused(&t, "palette.txt", tfs_span_of(""), "material 0 is used, first at 0,0");
}
END_TEST

/* TER_A table of `count` empty names behind one sample of layer 0. */
static void open_many(struct tree_files *of, unsigned count)
{
    struct maker_bytes b = {0};
    uint8_t number[4] = {(uint8_t)count, (uint8_t)(count >> 8)};

    place_hex(&b, "07 01000000 2000 00");
    maker_add(&b, number, 4);
    for (unsigned i = 0; i < count; i++)
        maker_u8(&b, 0);
    ter_open_bytes(of, &b);
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

    open_many(&t, 254);
    list_many(&text, 255);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    ck_assert(tree_files_has(&t, "layers/254_.png"));
    list_many(&text, 256);
    ter_check_refused(&t, "palette.txt", tfs_buf_span(&text),
                      "index 255 is out of range, 0 to 254");
    tree_files_close(&t);
    open_many(&t, 300);
    ck_assert(!tree_files_has(&t, "layers/255_.png"));
    list_many(&text, 300);
    tfs_buf_printf(&text, "300\n");
    ter_check_refused(&t, "palette.txt", tfs_buf_span(&text),
                      "index 300 is out of range, 0 to 299");
    list_many(&text, 299);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    list_many(&text, 1);
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    ter_check_hex(&t, "07 01000000 2000 00 01000000 00");
    tfs_buf_release(&text);
}
END_TEST

START_TEST(palette_takes_names_of_65535_bytes_and_no_longer_ones)
{
    struct tfs_buf text = {0};

    open_many(&t, 1);
    tfs_buf_add_text(&text, "0 ");
    tfs_buf_resize(&text, 2 + 65535);
    memset(text.data + 2, 'n', 65535);
    tfs_buf_u8(&text, '\n');
    ck_assert_int_eq(tree_files_put(&t, "palette.txt", tfs_buf_span(&text)), 0);
    ck_assert_uint_eq(t.doc->common->size, 4 + 3 + 65535);
    text.data[text.size - 1] = 'n';
    tfs_buf_u8(&text, '\n');
    ter_check_refused(&t, "palette.txt", tfs_buf_span(&text), "at most 65535");
    tfs_buf_release(&text);
}
END_TEST

/* ---- corners --------------------------------------------------------------------------------- */

START_TEST(corners_follow_the_layers_that_they_read)
{
    ter_open_hex(&t, TER_B);
    ter_put_hex(&t, "holes.png", "0000 0000");
    ter_check_hex(&t, "08 02000000 0040 0140 0280 ffff 00010001 00010001 01000101 00010101 01010101"
                      "02000000 05 4772617373 04 526f636b");
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
    struct tfs_buf out = {0};
    struct maker_bytes wanted = {0};

    ter_open_hex(&t, "08 03000000 000000000000000000000000000000000000 000000000000000000"
                     "000000000000000000000000000000000000000000000000000000000000000000000000"
                     "02000000 00 00");
    ter_put_text(&t, "chunks/0_0_0/layers.txt", cases[_i].layers);
    tree_files_encode(&t, &out);
    place_hex(&wanted, cases[_i].corners);
    ck_assert_uint_eq(wanted.size, 36);
    ck_assert_int_eq(memcmp(out.data + 5 + 27, wanted.data, 36), 0);
    tfs_buf_release(&out);
    maker_release(&wanted);
}
END_TEST

/* All layers and all corners, in the order of the file. */
static void flat(struct tree_files *of, struct tfs_buf *layers, struct tfs_buf *corners)
{
    struct tfs_buf file = {0};
    size_t samples = (size_t)ter_side_of(of) * ter_side_of(of);

    tree_files_encode(of, &file);
    tfs_buf_clear(layers);
    tfs_buf_clear(corners);
    tfs_buf_add(layers, file.data + 5 + 2 * samples, samples);
    tfs_buf_add(corners, file.data + 5 + 3 * samples, 4 * samples);
    tfs_buf_release(&file);
}

/* Against the rule written down plainly, on a block that follows it nowhere. */
static void check_corners(struct tree_files *of, struct maker_random *r)
{
    struct tfs_buf layers = {0}, corners = {0}, new_layers = {0}, new_corners = {0};
    struct tfs_buf picture = {0};
    uint32_t side = ter_side_of(of);
    uint8_t old[4], new[4];

    flat(of, &layers, &corners);
    ter_get_samples(of, "layers.png", &picture);
    for (unsigned i = 0; i < 3; i++) {
        static const uint32_t spots[] = {0, 1, 63, 64, 65};
        uint32_t x = maker_draw(r, 2) ? maker_draw(r, side) : spots[maker_draw(r, 5)] % side;
        uint32_t z = maker_draw(r, 2) ? maker_draw(r, side) : spots[maker_draw(r, 5)] % side;
        picture.data[(size_t)(side - 1 - z) * side + x] = (uint8_t)maker_draw(r, 5);
    }
    ck_assert_int_eq(ter_put_samples(of, "layers.png", picture.data), 0);
    flat(of, &new_layers, &new_corners);
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

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        uint32_t side = sides[i];
        struct tfs_buf foreign = {0};
        ter_open_world(&t, (struct ter_world){8, TER_CORNERS, false, side, i, 5});
        tfs_buf_resize(&foreign, (size_t)side * side * 4);
        for (size_t k = 0; k < foreign.size; k++)
            foreign.data[k] = (uint8_t)(100 + maker_draw(&r, 100));
        ck_assert_int_eq(ter_put_samples(&t, "extra/corners.png", foreign.data), 0);
        for (unsigned round = 0; round < 20; round++)
            check_corners(&t, &r);
        tree_files_close(&t);
        tfs_buf_release(&foreign);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beamng_layers");

    TCase *tcase = unit_case_with(s, "heights", NULL, teardown);
    tcase_add_test(tcase, heightmap_of_8_bits_is_taken_only_where_nothing_is_lost);
    tcase_add_test(tcase, heightmap_of_another_size_is_refused_with_both_sizes);
    tcase_add_test(tcase, heights_text_of_an_edge_tile_is_as_wide_and_high_as_what_is_left);

    tcase = unit_case_with(s, "layers", NULL, teardown);
    tcase_add_test(tcase, layers_take_materials_holes_and_what_stands_there_already);
    tcase_add_test(tcase, layer_0_and_holes_can_be_painted_without_any_material);
    tcase_add_test(tcase, mask_paints_its_material_and_what_it_clears_becomes_layer_0);
    tcase_add_test(tcase, terrain_pictures_say_only_what_differs_from_what_they_were_made_from);
    tcase_add_test(tcase, mask_name_is_the_index_and_the_escaped_and_cut_name);
    tcase_add_test(tcase, mask_names_follow_the_palette);

    tcase = unit_case_with(s, "palette", NULL, teardown);
    tcase_add_test(tcase, palette_renames_appends_and_removes_unused_entries_from_the_end);
    tcase_add_test(tcase, palette_edit_that_changes_no_name_keeps_the_stored_table);
    tcase_add_test(tcase, palette_with_a_gap_or_a_used_entry_removed_is_refused);
    tcase_add_test(tcase, palette_in_which_a_name_moved_is_refused);
    tcase_add_test(tcase, palette_entry_that_no_sample_uses_can_go_beside_layers_without_material);
    tcase_add_test(tcase, palette_holds_255_entries_and_keeps_more_that_a_file_has);
    tcase_add_test(tcase, palette_takes_names_of_65535_bytes_and_no_longer_ones);

    tcase = unit_case_with(s, "corners", NULL, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, corners_follow_the_layers_that_they_read);
    tcase_add_loop_test(tcase, corners_of_one_sample_are_recomputed_and_no_others, 0, 2);
    tcase_add_test(tcase, corners_that_no_rule_made_survive_where_no_layer_changed);
    return s;
}

UNIT_MAIN(suite)
