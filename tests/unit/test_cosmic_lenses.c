/* formats/cosmic_reach, the files of the tree: exact texts, what an edit stores, what is
 * refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/cosmic_case.h"
#include "../lib/lens_check.h"
#include "formats/cosmic_reach/body.h"
#include "unit.h"

static struct tree_files c;
static const struct tfs_key origin = {0};

#define UNIFORM15 "0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 "
#define AIR_NAME  "00000008 626173653a616972 "
/* base:air and a:b, one a:b at (3,0,1); sky 15, no block light, no entities. */
#define ONE_BLOCK                                                                                  \
    "02 00000002 " AIR_NAME "00000003 613a62 07 00 00 08 00*29 " UNIFORM15 "030f 01 00"
#define ALL_AIR "01 " AIR_NAME "030f 01 00"

static void open_body(int32_t version, const char *hex)
{
    struct maker_bytes body = cosmic_hex(hex);

    cosmic_open_body(&c, version, version, cosmic_span(&body));
    maker_release(&body);
}

static void check_body(const char *hex)
{
    struct maker_bytes expected = cosmic_hex(hex);

    ck_assert(tfs_span_equal(cosmic_body(&c, origin), cosmic_span(&expected)));
    maker_release(&expected);
}

static void add_text(struct maker_bytes *bytes, const char *text)
{
    maker_add(bytes, text, strlen(text));
}

/* Does it begin so? */
static bool begins(const struct maker_bytes *bytes, const char *text)
{
    return strncmp((const char *)bytes->data, text, strlen(text)) == 0;
}

static void teardown(void)
{
    tree_files_close(&c);
}

/* ---- exact texts ----------------------------------------------------------------------------- */

START_TEST(the_files_of_a_chunk_have_these_texts)
{
    open_body(7, ONE_BLOCK);
    ck_assert(files_shows(&c, origin, "palette.txt", "0 base:air\n1 a:b\n"));
    ck_assert(files_shows(&c, origin, "voxels.csv", "x,y,z,block\n3,0,1,a:b\n"));
    ck_assert(files_shows(&c, origin, "lights/sky.txt", "fill 15\n"));
    ck_assert_ptr_null(cosmic_get(&c, origin, "lights/block.txt").data);
    ck_assert_ptr_null(cosmic_get(&c, origin, "entities.bin").data);
    struct maker_bytes text = cosmic_get(&c, origin, "blocks.txt");
    ck_assert_ptr_nonnull(strstr((char *)text.data,
                                 "palette 0 base:air\npalette 1 a:b\n\n"
                                 "y=00 z=00 | 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                 "y=00 z=01 | 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0\n"));
    maker_release(&text);
}
END_TEST

START_TEST(a_uniform_chunk_is_a_fill_line)
{
    open_body(7, ALL_AIR);
    ck_assert(files_shows(&c, origin, "blocks.txt", "palette 0 base:air\nfill 0\n"));
    ck_assert(files_shows(&c, origin, "voxels.csv", "x,y,z,block\n"));
}
END_TEST

START_TEST(odd_names_are_escaped_and_quoted)
{
    /* A blank in front, a comma, a quote, a byte that is not UTF-8. */
    open_body(7, "01 00000007 20 61 2c 62 22 ff 5c 01 01 00");
    ck_assert(files_shows(&c, origin, "palette.txt", "0 \\x20a,b\"\\xff\\\\\n"));
    struct maker_bytes text = cosmic_get(&c, origin, "voxels.csv");
    ck_assert(begins(&text, "x,y,z,block\n0,0,0,\"\\x20a,b\"\"\\xff\\\\\"\n1,0,0,"));
    ck_assert_int_eq(files_put(&c, origin, "voxels.csv", cosmic_span(&text)), 0);
    check_body("01 00000007 20 61 2c 62 22 ff 5c 01 01 00");
    maker_release(&text);
}
END_TEST

START_TEST(coordinates_of_voxels_are_global_and_may_be_negative)
{
    struct maker_region r = maker_region_init(7);
    const struct tfs_key key = {0, -134217728 * 16, -1, 134217727 * 16 + 15};

    struct maker_chunk *chunk = maker_region_add(&r, key.x, key.y, key.z);
    maker_single(&chunk->body, "a:b");
    maker_add(&chunk->body, "\1\1\0", 3);
    cosmic_open_maker(&c, &r);
    struct maker_bytes text = cosmic_get(&c, key, "voxels.csv");
    ck_assert(begins(&text, "x,y,z,block\n-34359738368,-16,34359738352,a:b\n"));
    ck_assert_int_eq(
        files_put_text(&c, key, "voxels.csv", "x,y,z,block\n-34359738353,-1,34359738367,a:b\n"), 0);
    ck_assert(files_shows(&c, key, "voxels.csv", "x,y,z,block\n-34359738353,-1,34359738367,a:b\n"));
    maker_release(&text);
    maker_region_release(&r);
}
END_TEST

START_TEST(the_width_of_rows_follows_the_size_of_the_palette)
{
    char text[4096] = "", row[64] = "\ny=00 z=00 |  0  0  0  0  0  0  0  0  0  0";
    size_t at = 0;

    for (unsigned i = 0; i < 11; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "palette %u n%u\n", i, i);
    open_body(7, ALL_AIR);
    struct maker_bytes blocks = {0};
    maker_add(&blocks, text, at);
    for (unsigned i = 0; i < 256; i++)
        maker_add(&blocks,
                  i ? "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" : "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1\n",
                  32);
    ck_assert_int_eq(files_put(&c, origin, "blocks.txt", cosmic_span(&blocks)), 0);
    struct maker_bytes shown = cosmic_get(&c, origin, "blocks.txt");
    ck_assert_int_eq(strncmp((char *)shown.data + at, row, strlen(row)), 0);
    maker_release(&shown);
    maker_release(&blocks);
}
END_TEST

/* ---- voxels.csv ------------------------------------------------------------------------------ */

START_TEST(one_line_more_sets_one_block)
{
    open_body(7, ALL_AIR);
    ck_assert_int_eq(files_put_text(&c, origin, "voxels.csv", "x,y,z,block\n3,0,1,a:b\n"), 0);
    check_body(ONE_BLOCK);
    ck_assert_int_eq(files_put_text(&c, origin, "voxels.csv", "x,y,z,block\n"), 0);
    check_body(ALL_AIR);
}
END_TEST

START_TEST(the_last_line_of_a_voxel_wins)
{
    open_body(7, ALL_AIR);
    ck_assert_int_eq(
        files_put_text(&c, origin, "voxels.csv", "x,y,z,block\n3,0,1,lost:name\n3,0,1,a:b\n"), 0);
    check_body(ONE_BLOCK);
}
END_TEST

START_TEST(lines_may_be_spaced_quoted_and_commented)
{
    open_body(7, ALL_AIR);
    ck_assert_int_eq(files_put_text(&c, origin, "voxels.csv",
                                    "# mine\r\n x , y,z,\"block\"\r\n\r\n3, 0 ,\"1\",\"a:b\"\r\n"
                                    "3,0,1, \\x61:b \r\n3,0,1,a:b"),
                     0);
    check_body(ONE_BLOCK);
}
END_TEST

START_TEST(emptied_voxels_take_the_air_of_the_palette_or_that_of_the_version)
{
    static const char *const air[] = {"base:air[default]", "base:air[default]", "base:air[default]",
                                      "base:air",          "base:air",          "base:air",
                                      "base:air",          "base:air"};
    char expected[64];
    struct maker_bytes body = cosmic_hex("01 00000001 61 01 01 00");

    if (_i == 0)
        body.size--;
    cosmic_open_body(&c, _i, _i, cosmic_span(&body));
    struct maker_bytes text = cosmic_get(&c, origin, "voxels.csv");
    text.size -= strlen("15,15,15,a\n");
    ck_assert_int_eq(files_put(&c, origin, "voxels.csv", cosmic_span(&text)), 0);
    snprintf(expected, sizeof(expected), "0 a\n1 %s\n", air[_i]);
    ck_assert(files_shows(&c, origin, "palette.txt", expected));
    maker_release(&text);
    maker_release(&body);
}
END_TEST

START_TEST(air_that_stays_keeps_its_own_name)
{
    /* Palette base:air[x], base:air, a:b: voxel 0 is base:air, voxel 1 a:b, the rest
     * base:air[x]. */
    open_body(7, "02 00000003 0000000b 626173653a6169725b785d " AIR_NAME
                 "00000003 613a62 03 09 00*63 " UNIFORM15 "01 01 00");
    ck_assert(files_shows(&c, origin, "voxels.csv", "x,y,z,block\n1,0,0,a:b\n"));
    ck_assert_int_eq(files_put_text(&c, origin, "voxels.csv", "x,y,z,block\n2,0,0,a:b\n"), 0);
    /* Voxel 1 got the first air entry, voxel 0 kept the second. */
    check_body("02 00000003 0000000b 626173653a6169725b785d " AIR_NAME
               "00000003 613a62 03 21 00*63 " UNIFORM15 "01 01 00");
}
END_TEST

START_TEST(a_line_may_name_an_air_block)
{
    open_body(7, ONE_BLOCK);
    ck_assert_int_eq(
        files_put_text(&c, origin, "voxels.csv", "x,y,z,block\n3,0,1,a:b\n4,0,1,base:air[thin]\n"),
        0);
    ck_assert(files_shows(&c, origin, "palette.txt", "0 base:air\n1 a:b\n2 base:air[thin]\n"));
    ck_assert(files_shows(&c, origin, "voxels.csv", "x,y,z,block\n3,0,1,a:b\n"));
}
END_TEST

START_TEST(the_palette_loses_what_is_gone_and_grows_in_order_of_first_use)
{
    /* a, unused, b; voxel 0 is b, the rest a. */
    open_body(7,
              "02 00000003 00000001 61 00000001 75 00000001 62 03 02 00*63 " UNIFORM15 "01 01 00");
    struct maker_bytes text = cosmic_get(&c, origin, "voxels.csv");
    add_text(&text, "5,1,0,late\n0,0,0,early\n1,0,0,second\n");
    ck_assert_int_eq(files_put(&c, origin, "voxels.csv", cosmic_span(&text)), 0);
    ck_assert(files_shows(&c, origin, "palette.txt", "0 a\n1 u\n2 early\n3 second\n4 late\n"));
    maker_release(&text);
}
END_TEST

START_TEST(a_voxel_keeps_its_entry_among_duplicates)
{
    /* a, a, b; voxel 0 is entry 1, voxel 1 is b, the rest entry 0. */
    open_body(7,
              "02 00000003 00000001 61 00000001 61 00000001 62 03 09 00*63 " UNIFORM15 "01 01 00");
    struct maker_bytes text = cosmic_get(&c, origin, "voxels.csv");
    add_text(&text, "1,0,0,a\n2,0,0,b\n");
    ck_assert_int_eq(files_put(&c, origin, "voxels.csv", cosmic_span(&text)), 0);
    check_body("02 00000003 00000001 61 00000001 61 00000001 62 03 21 00*63 " UNIFORM15 "01 01 00");
    maker_release(&text);
}
END_TEST

START_TEST(rows_of_another_chunk_are_moved_into_one_just_made_only)
{
    const char *text = "x,y,z,block\n-13,32,49,a:b\n";

    open_body(7, ALL_AIR);
    ck_assert_int_eq(files_put_text(&c, origin, "voxels.csv", text), -EBADMSG);
    ck_assert_str_eq(c.err.text, "x -13 is outside chunk 0_0_0, which has x 0 to 15");
    ck_assert_int_eq(cosmic_put_fresh(&c, origin, "voxels.csv", tfs_span_of(text)), 0);
    check_body(ONE_BLOCK);
    ck_assert_int_eq(cosmic_put_fresh(&c, origin, "voxels.csv",
                                      tfs_span_of("x,y,z,block\n-13,32,49,a:b\n0,32,49,a:b\n")),
                     -EBADMSG);
    ck_assert_str_eq(c.err.text, "x 0 is outside chunk -1_2_3, which has x -16 to -1");
    ck_assert_uint_eq(c.err.line, 3);
}
END_TEST

static const struct {
    const char *text, *sentence;
    unsigned line, column;
} bad_voxels[] = {
    {"", "the header line is missing, the columns are x,y,z,block", 1, 1},
    {"# x,y,z,block\n", "the header line is missing, the columns are x,y,z,block", 1, 1},
    {"3,0,1,a:b\n", "the column 3 is not known, the columns are x,y,z,block", 1, 1},
    {"\nx,y,z\n", "the column block is missing, the columns are x,y,z,block", 2, 1},
    {"x,y,z,block\n3,0,1\n", "the line has 3 fields, the header has 4", 2, 1},
    {"x,y,z,block\n3,0,1,a:b\n16,0,1,a:b\n", "x 16 is outside chunk 0_0_0, which has x 0 to 15", 3,
     1},
    {"x,y,z,block\n3,-1,1,a:b\n", "y -1 is outside chunk 0_0_0, which has y 0 to 15", 2, 3},
    {"x,y,z,block\n3,0,16,a:b\n", "z 16 is outside chunk 0_0_0, which has z 0 to 15", 2, 5},
    /* 2^36: the same place modulo 2^32 chunks. */
    {"x,y,z,block\n68719476736,0,1,a:b\n", NULL, 2, 1},
    {"x,y,z,block\n3,0,1,\n", "a block needs a name", 2, 7},
    {"x,y,z,block\n3,0,1,a\\q\n", "unknown escape \\q, the escapes are \\\\, \\n and \\xNN", 2, 8},
    {"x,y,z,block\n3,0,1.5,a\n", NULL, 2, 5},
    {"x,y,z,block\n+3,0,1,a\n", NULL, 2, 1},
    {"x,y,z,block\n3,0,1,\"a\n", NULL, 2, 7},
};

START_TEST(a_bad_line_is_refused_with_its_place)
{
    open_body(7, ONE_BLOCK);
    ck_assert_int_eq(files_put_text(&c, origin, "voxels.csv", bad_voxels[_i].text), -EBADMSG);
    if (bad_voxels[_i].sentence != NULL)
        ck_assert_str_eq(c.err.text, bad_voxels[_i].sentence);
    ck_assert_uint_eq(c.err.line, bad_voxels[_i].line);
    ck_assert_uint_eq(c.err.column, bad_voxels[_i].column);
    check_body(ONE_BLOCK);
}
END_TEST

START_TEST(a_palette_of_more_than_4096_names_is_refused)
{
    char names[32];
    struct maker_bytes text = {0};

    open_body(7, ALL_AIR);
    maker_add(&text, "x,y,z,block\n", 12);
    for (unsigned i = 0; i < 4096; i++) {
        int size =
            snprintf(names, sizeof(names), "%u,%u,%u,n%u\n", i % 16, i / 256, i / 16 % 16, i);
        maker_add(&text, names, (size_t)size);
    }
    ck_assert_int_eq(files_put(&c, origin, "voxels.csv", cosmic_span(&text)), 0);
    struct maker_bytes palette = cosmic_get(&c, origin, "palette.txt");
    ck_assert_ptr_nonnull(strstr((char *)palette.data, "\n4095 n4095\n"));
    maker_add(&palette, "4096 more\n", 10);
    ck_assert_int_eq(files_put(&c, origin, "palette.txt", cosmic_span(&palette)), -EBADMSG);
    ck_assert_uint_eq(c.err.line, 4097);
    maker_release(&palette);
    maker_release(&text);
}
END_TEST

START_TEST(names_have_at_most_65535_bytes)
{
    struct maker_bytes text = {0};

    open_body(7, ALL_AIR);
    maker_add(&text, "0 ", 2);
    for (unsigned i = 0; i < 65535; i++)
        maker_u8(&text, 'n');
    ck_assert_int_eq(files_put(&c, origin, "palette.txt", cosmic_span(&text)), 0);
    maker_u8(&text, 'n');
    ck_assert_int_eq(files_put(&c, origin, "palette.txt", cosmic_span(&text)), -EBADMSG);
    ck_assert_str_eq(c.err.text, "a name of 65536 bytes, at most 65535 are possible");
    maker_release(&text);
}
END_TEST

/* ---- blocks.txt and palette.txt -------------------------------------------------------------- */

START_TEST(blocks_txt_decides_the_palette)
{
    open_body(7, ALL_AIR);
    struct maker_bytes text = {0};
    static const char header[] = "palette 1 base:air\npalette 2 unused\npalette 0 a:b\n";
    maker_add(&text, header, sizeof(header) - 1);
    for (unsigned i = 0; i < 256; i++)
        maker_add(
            &text,
            i == 1 ? "1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1\n" : "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", 32);
    ck_assert_int_eq(files_put(&c, origin, "blocks.txt", cosmic_span(&text)), 0);
    ck_assert(files_shows(&c, origin, "palette.txt", "0 a:b\n1 base:air\n2 unused\n"));
    ck_assert(files_shows(&c, origin, "voxels.csv", "x,y,z,block\n3,0,1,a:b\n"));
    maker_release(&text);
}
END_TEST

START_TEST(a_chunk_of_one_name_is_stored_single_whatever_the_palette_said)
{
    open_body(7, ONE_BLOCK);
    ck_assert_int_eq(
        files_put_text(&c, origin, "blocks.txt", "palette 0 b\npalette 1 base:air\nfill 1\n"), 0);
    check_body(ALL_AIR);
}
END_TEST

static const struct {
    const char *file, *text, *sentence;
    unsigned line, column;
} bad_blocks[] = {
    {"blocks.txt", "", "the text has no palette, not even of one block", 1, 1},
    {"blocks.txt", "fill 0\n", "the text has no palette, not even of one block", 1, 1},
    {"blocks.txt", "palette 0 a\n", "the text ends behind the palette, without rows or `fill`", 0,
     0},
    {"blocks.txt", "palette 0 a\nfill 1\n", "value 1 is out of range, the palette has 1 entry", 2,
     6},
    {"blocks.txt", "palette 0 a\npalette 1 b\nfill 2\n",
     "value 2 is out of range, the palette has 2 entries", 3, 6},
    {"blocks.txt", "palette 0 a\npalette 0 b\nfill 0\n", "the index 0 was given in line 1 already",
     2, 9},
    {"blocks.txt", "palette 0 a\npalette 2 b\nfill 0\n",
     "the palette has no entry 1, though it has 2 others up to 2", 3, 1},
    {"blocks.txt", "palette\nfill 0\n", "an index and a name are missing", 1, 8},
    {"blocks.txt", "palette 0\nfill 0\n", "a block needs a name", 1, 1},
    {"blocks.txt", "palette 4096 a\nfill 0\n", NULL, 1, 9},
    {"blocks.txt", "palette -1 a\nfill 0\n", NULL, 1, 9},
    {"blocks.txt", "palette x a\nfill 0\n", NULL, 1, 9},
    {"palette.txt", "", "the text has no palette, not even of one block", 1, 1},
    {"palette.txt", "0 base:air\n", "entry 1 is missing, but there are blocks of it in the chunk",
     0, 0},
    {"palette.txt", "0 base:air\n1 a\\xg0\n", NULL, 2, 4},
    {"palette.txt", "base:air\n", NULL, 1, 1},
};

START_TEST(a_bad_palette_or_grid_is_refused)
{
    open_body(7, ONE_BLOCK);
    ck_assert_int_eq(files_put_text(&c, origin, bad_blocks[_i].file, bad_blocks[_i].text),
                     -EBADMSG);
    if (bad_blocks[_i].sentence != NULL)
        ck_assert_str_eq(c.err.text, bad_blocks[_i].sentence);
    ck_assert_uint_eq(c.err.line, bad_blocks[_i].line);
    ck_assert_uint_eq(c.err.column, bad_blocks[_i].column);
    check_body(ONE_BLOCK);
}
END_TEST

START_TEST(renaming_in_a_palette_keeps_layers_as_they_are_stored)
{
    /* Layer 0 is wider than needed. */
    open_body(7,
              "02 00000002 " AIR_NAME "00000003 613a62 05 00*19 01 00*236 " UNIFORM15 "030f 01 00");
    ck_assert_int_eq(files_put_text(&c, origin, "palette.txt", "1 c\n0 base:air\n"), 0);
    check_body("02 00000002 " AIR_NAME "00000001 63 05 00*19 01 00*236 " UNIFORM15 "030f 01 00");
    ck_assert_int_eq(files_put_text(&c, origin, "palette.txt", "0 c\n1 c\n2 new\n"), 0);
    ck_assert(files_shows(&c, origin, "palette.txt", "0 c\n1 c\n2 new\n"));
    ck_assert_int_eq(files_put_text(&c, origin, "palette.txt", "0 c\n1 c\n"), 0);
    ck_assert(files_shows(&c, origin, "palette.txt", "0 c\n1 c\n"));
}
END_TEST

START_TEST(odd_names_that_were_there_before_may_stay)
{
    /* The empty name and a:b. */
    open_body(7, "02 00000002 00000000 00000003 613a62 07 00 00 08 00*29 " UNIFORM15 "030f 01 00");
    ck_assert_int_eq(files_put_text(&c, origin, "palette.txt", "0\n1 c\n"), 0);
    ck_assert(files_shows(&c, origin, "palette.txt", "0\n1 c\n"));
    struct maker_bytes text = cosmic_get(&c, origin, "voxels.csv");
    ck_assert_int_eq(files_put(&c, origin, "voxels.csv", cosmic_span(&text)), 0);
    maker_release(&text);
}
END_TEST

/* ---- lights ---------------------------------------------------------------------------------- */

START_TEST(removing_light_stores_none_and_creating_it_stores_it)
{
    open_body(7, ALL_AIR);
    ck_assert_int_eq(files_remove(&c, origin, "lights/sky.txt"), 0);
    check_body("01 " AIR_NAME "01 01 00");
    ck_assert_ptr_null(cosmic_get(&c, origin, "lights/sky.txt").data);
    ck_assert_int_eq(files_put_text(&c, origin, "lights/sky.txt", "fill 0\n"), 0);
    check_body("01 " AIR_NAME "0300 01 00");
    ck_assert_int_eq(files_put_text(&c, origin, "lights/block.txt", "fill 000\n"), 0);
    ck_assert(files_shows(&c, origin, "lights/block.txt", "fill 000\n"));
    ck_assert_int_eq(files_remove(&c, origin, "lights/block.txt"), 0);
    check_body("01 " AIR_NAME "0300 01 00");
}
END_TEST

START_TEST(sky_above_15_shows_its_low_bits_and_keeps_the_others)
{
    open_body(7, "01 " AIR_NAME "031f 01 00");
    ck_assert(files_shows(&c, origin, "lights/sky.txt", "fill 15\n"));
    ck_assert_int_eq(files_put_text(&c, origin, "lights/sky.txt", "fill 15\n"), 0);
    check_body("01 " AIR_NAME "031f 01 00");
}
END_TEST

static const struct {
    const char *file, *text, *sentence;
    unsigned line, column;
} bad_lights[] = {
    {"lights/sky.txt", "fill 16\n", "value 16 is out of range, sky light has the levels 0 to 15", 1,
     6},
    {"lights/sky.txt", "", NULL, 0, 0},
    {"lights/block.txt", "fill 1000\n", "the value 1000 is not 3 hex digits", 1, 6},
    {"lights/block.txt", "fill xyz\n", NULL, 1, 6},
};

START_TEST(light_out_of_range_is_refused)
{
    open_body(7, ALL_AIR);
    ck_assert_int_eq(files_put_text(&c, origin, bad_lights[_i].file, bad_lights[_i].text),
                     -EBADMSG);
    if (bad_lights[_i].sentence != NULL) {
        ck_assert_str_eq(c.err.text, bad_lights[_i].sentence);
        ck_assert_uint_eq(c.err.line, bad_lights[_i].line);
        ck_assert_uint_eq(c.err.column, bad_lights[_i].column);
    }
    check_body(ALL_AIR);
}
END_TEST

/* ---- entities and raw bytes ------------------------------------------------------------------ */

START_TEST(entities_come_and_go)
{
    open_body(7, ALL_AIR);
    ck_assert_int_eq(files_put_text(&c, origin, "entities.bin", "CRB"), 0);
    check_body("01 " AIR_NAME "030f 01 01 00000003 435242");
    ck_assert(files_shows(&c, origin, "entities.bin", "CRB"));
    ck_assert_int_eq(files_put_text(&c, origin, "entities.bin", ""), 0);
    check_body("01 " AIR_NAME "030f 01 01 00000000");
    ck_assert(files_shows(&c, origin, "entities.bin", ""));
    ck_assert_int_eq(files_remove(&c, origin, "entities.bin"), 0);
    check_body(ALL_AIR);
}
END_TEST

START_TEST(a_chunk_of_version_0_has_no_entities)
{
    open_body(0, "01 " AIR_NAME "030f 01");
    ck_assert_ptr_null(cosmic_get(&c, origin, "entities.bin").data);
    ck_assert_int_eq(files_put_text(&c, origin, "entities.bin", "CRB"), -EBADMSG);
    ck_assert_str_eq(c.err.text, "a chunk of version 0 cannot hold block entities");
    ck_assert_int_eq(files_remove(&c, origin, "entities.bin"), 0);
    check_body("01 " AIR_NAME "030f 01");
}
END_TEST

/* What raw.bin of a chunk of that version becomes; NULL: refused. */
static const struct {
    int32_t version;
    const char *text, *stored, *sentence;
} raw_texts[] = {
    {7, ONE_BLOCK, ONE_BLOCK, NULL},
    {7, "01 " AIR_NAME "01 01", "01 " AIR_NAME "01 01 00", NULL},
    {0, "01 " AIR_NAME "01 01 00", "01 " AIR_NAME "01 01", NULL},
    {0, "01 " AIR_NAME "01 01", "01 " AIR_NAME "01 01", NULL},
    {7, "01 " AIR_NAME "01 01 01 00000001 7f", "01 " AIR_NAME "01 01 01 00000001 7f", NULL},
    {0, "01 " AIR_NAME "01 01 01 00000001 7f", NULL,
     "offset 15: the bytes have block entities, a chunk of version 0 cannot hold them"},
    {0, "01 " AIR_NAME "01 01 00 00", NULL, "offset 15: 2 bytes behind the end of the chunk"},
    {7, "01 " AIR_NAME "01 01 00 00", NULL, "offset 16: 1 byte behind the end of the chunk"},
    {7, "01 " AIR_NAME "01 01 02", NULL, "offset 15: unknown block entity type 2"},
    {7, "", NULL, "offset 0: the block data is missing"},
    {7, "02 00000001 00000001 61 0101 " UNIFORM15 "01 01 00", NULL,
     "offset 11: layer 0 has palette index 1, the palette has 1 entry"},
};

START_TEST(raw_bytes_are_stored_if_they_parse_completely)
{
    struct maker_bytes text = cosmic_hex(raw_texts[_i].text);
    const char *empty = raw_texts[_i].version > 0 ? ALL_AIR : "01 " AIR_NAME "030f 01";

    open_body(raw_texts[_i].version, empty);
    int result = files_put(&c, origin, "raw.bin", cosmic_span(&text));
    if (raw_texts[_i].stored == NULL) {
        ck_assert_int_eq(result, -EBADMSG);
        ck_assert_str_eq(c.err.text, raw_texts[_i].sentence);
    }
    check_body(raw_texts[_i].stored == NULL ? empty : raw_texts[_i].stored);
    maker_release(&text);
}
END_TEST

/* ---- coupling -------------------------------------------------------------------------------- */

/* Everything is there, and odd enough that a re-encoding would show: a layer wider than needed, a
 * uniform sky layer as nibbles, a mono light layer, entities. */
#define RICH                                                                                       \
    "02 00000002 " AIR_NAME "00000003 613a62 05 00*19 01 00*236 " UNIFORM15                        \
    "02 02 77*128 010f 010f 010f 010f 010f 010f 010f 010f 010f 010f 010f 010f 010f 010f 010f "     \
    "02 04 0f0001 21 00*127 01000000 01000000 01000000 01000000 01000000 01000000 01000000 "       \
    "01000000 01000000 01000000 01000000 01000000 01000000 01000000 01000000 01 00000002 abcd"

static const struct {
    const char *file, *text; /* NULL: removed */
    enum tfs_cosmic_section changes;
} couplings[] = {
    {"blocks.txt", "palette 0 a\nfill 0\n", TFS_COSMIC_SECTION_BLOCKS},
    {"voxels.csv", "x,y,z,block\n0,0,0,c\n", TFS_COSMIC_SECTION_BLOCKS},
    {"palette.txt", "0 c\n1 d\n", TFS_COSMIC_SECTION_BLOCKS},
    {"lights/sky.txt", "fill 1\n", TFS_COSMIC_SECTION_SKY},
    {"lights/sky.txt", NULL, TFS_COSMIC_SECTION_SKY},
    {"lights/block.txt", "fill 123\n", TFS_COSMIC_SECTION_LIGHT},
    {"lights/block.txt", NULL, TFS_COSMIC_SECTION_LIGHT},
    {"entities.bin", "other", TFS_COSMIC_SECTION_ENTITIES},
    {"entities.bin", NULL, TFS_COSMIC_SECTION_ENTITIES},
};

START_TEST(an_edit_changes_its_section_and_no_other)
{
    struct maker_bytes rich = cosmic_hex(RICH);
    struct tfs_cosmic_body before, after;

    open_body(7, RICH);
    ck_assert_int_eq(tfs_cosmic_body_split(cosmic_span(&rich), 7, &before, &c.err), 0);
    if (couplings[_i].text == NULL)
        ck_assert_int_eq(files_remove(&c, origin, couplings[_i].file), 0);
    else
        ck_assert_int_eq(files_put_text(&c, origin, couplings[_i].file, couplings[_i].text), 0);
    ck_assert_int_eq(tfs_cosmic_body_split(cosmic_body(&c, origin), 7, &after, &c.err), 0);
    for (unsigned i = 0; i < TFS_COSMIC_SECTIONS; i++)
        ck_assert_int_eq(tfs_span_equal(before.sections[i], after.sections[i]),
                         i != couplings[_i].changes);
    maker_release(&rich);
}
END_TEST

START_TEST(writing_back_what_was_read_changes_nothing)
{
    open_body(7, RICH);
    lens_check_reads(c.save, c.doc, NULL);
}
END_TEST

/* ---- the root -------------------------------------------------------------------------------- */

static void add_single(struct maker_region *r, int32_t x, const char *name)
{
    struct maker_chunk *chunk = maker_region_add(r, x, 0, 0);

    maker_single(&chunk->body, name);
    maker_add(&chunk->body, "\1\1\0", 3);
}

static void open_root(void)
{
    struct maker_region r = maker_region_init(7);

    add_single(&r, 0, "b");
    add_single(&r, 1, "a");
    add_single(&r, 2, "b");
    add_single(&r, 3, "#c");
    add_single(&r, 4, "");
    cosmic_open_maker(&c, &r);
    maker_region_release(&r);
}

static void check_root(const char *expected)
{
    struct maker_bytes shown = cosmic_get_root(&c, "palette.txt");

    ck_assert_str_eq((char *)shown.data, expected);
    maker_release(&shown);
}

START_TEST(the_root_palette_lists_every_name_once_sorted)
{
    open_root();
    check_root("\\x23c\na\nb\n");
    struct maker_bytes shown = cosmic_get_root(&c, "palette.txt");
    const struct tfs_doc *before = c.doc;
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", (char *)shown.data), 0);
    ck_assert_ptr_eq(c.doc, before);
    maker_release(&shown);
}
END_TEST

/* A list that an edit left in another order looks like this when it is written once more. */
START_TEST(names_are_swapped_in_one_edit_after_the_other)
{
    static const char *const steps[] = {"\\x23c\nx\nb\n", "\\x23c\na\nx\n", "\\x23c\na\nb\n"};

    open_root();
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "\\x23c\nb\na\n"), -EBADMSG);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", steps[i]), 0);
    ck_assert(files_shows(&c, (struct tfs_key){0, 0, 0, 0}, "palette.txt", "0 a\n"));
    ck_assert(files_shows(&c, (struct tfs_key){0, 1, 0, 0}, "palette.txt", "0 b\n"));
    ck_assert(files_shows(&c, (struct tfs_key){0, 2, 0, 0}, "palette.txt", "0 a\n"));
}
END_TEST

/* `import`: what came along may have brought names, and taken some. */
START_TEST(a_root_palette_renames_by_the_names_it_was_made_from)
{
    const struct tfs_key first = {0, 0, 0, 0}, second = {0, 1, 0, 0};

    open_root();
    ck_assert_int_eq(files_put_text(&c, first, "palette.txt", "0 new\n"), 0);
    c.how.original = tfs_span_of("\\x23c\na\nb\n");
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "\\x23c\nz\nb\n"), 0);
    ck_assert(files_shows(&c, first, "palette.txt", "0 new\n"));
    ck_assert(files_shows(&c, second, "palette.txt", "0 z\n"));
    const struct tfs_doc *after = c.doc;
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "\\x23c\nz\nb\n"), 0);
    ck_assert_ptr_eq(c.doc, after);
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "\\x23c\nz\n"), -EBADMSG);
    c.how.original = tfs_span_of("\\xzz\n");
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "z\n"), -EBADMSG);
    c.how.original = (struct tfs_span){0};
}
END_TEST

START_TEST(two_names_can_become_one)
{
    open_root();
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "x\nx\nb\n"), 0);
    check_root("b\nx\n");
}
END_TEST

/* The list as it was, edited, after another edit brought one name and took another: those between
 * the two are in other lines now. */
START_TEST(a_root_palette_of_another_moment_renames_nothing)
{
    const struct tfs_key second = {0, 1, 0, 0};

    open_root();
    ck_assert_int_eq(files_put_text(&c, second, "palette.txt", "0 zz\n"), 0);
    check_root("\\x23c\nb\nzz\n");
    const struct tfs_doc *before = c.doc;
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "\\x23c\na\nb\n"), -EBADMSG);
    ck_assert_str_eq(c.err.text,
                     "name 3 is b, which is name 2 of the list: names were moved, so this is a "
                     "sorted list or one of another moment; edit the one that the save has now");
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "b\nzz\n\\x23c\n"), -EBADMSG);
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", "zz\nb\n\\x23c\n"), -EBADMSG);
    ck_assert_ptr_eq(c.doc, before);
}
END_TEST

static const struct {
    const char *text, *sentence;
    unsigned line;
} bad_roots[] = {
    {"", "0 names, but the save has 3: a line renames a block, none can be removed here", 0},
    {"a\nb\n", "2 names, but the save has 3: a line renames a block, none can be removed here", 0},
    {"a\nb\nc\nd\n",
     "more than the 3 names of the save: a line renames a block, none can be added here", 4},
    {"a\nb\\\nc\n", NULL, 2},
};

START_TEST(the_root_palette_keeps_its_number_of_lines)
{
    open_root();
    ck_assert_int_eq(files_put_text(&c, FILES_ROOT, "palette.txt", bad_roots[_i].text), -EBADMSG);
    if (bad_roots[_i].sentence != NULL)
        ck_assert_str_eq(c.err.text, bad_roots[_i].sentence);
    ck_assert_uint_eq(c.err.line, bad_roots[_i].line);
    check_root("\\x23c\na\nb\n");
}
END_TEST

START_TEST(info_says_what_the_region_is)
{
    open_body(2, "01 " AIR_NAME "030f 01 00");
    struct maker_bytes info = cosmic_get_root(&c, "info.txt");
    const char *text = (char *)info.data;
    ck_assert_ptr_nonnull(strstr(text, "format: cosmic_reach\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nchunks: 1\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nversion: 2\nlayout: chunk table\nregion: 0 0 0\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nread-only: no\n"));
    maker_release(&info);
}
END_TEST

static void add_voxel_tests(TCase *voxels)
{
    tcase_add_test(voxels, coordinates_of_voxels_are_global_and_may_be_negative);
    tcase_add_test(voxels, one_line_more_sets_one_block);
    tcase_add_test(voxels, the_last_line_of_a_voxel_wins);
    tcase_add_test(voxels, lines_may_be_spaced_quoted_and_commented);
    tcase_add_loop_test(voxels, emptied_voxels_take_the_air_of_the_palette_or_that_of_the_version,
                        0, 8);
    tcase_add_test(voxels, air_that_stays_keeps_its_own_name);
    tcase_add_test(voxels, a_line_may_name_an_air_block);
    tcase_add_test(voxels, the_palette_loses_what_is_gone_and_grows_in_order_of_first_use);
    tcase_add_test(voxels, a_voxel_keeps_its_entry_among_duplicates);
    tcase_add_test(voxels, rows_of_another_chunk_are_moved_into_one_just_made_only);
    LOOP(voxels, bad_voxels, a_bad_line_is_refused_with_its_place);
    tcase_add_test(voxels, a_palette_of_more_than_4096_names_is_refused);
}

static void add_block_tests(TCase *blocks)
{
    tcase_add_test(blocks, the_width_of_rows_follows_the_size_of_the_palette);
    tcase_add_test(blocks, blocks_txt_decides_the_palette);
    tcase_add_test(blocks, a_chunk_of_one_name_is_stored_single_whatever_the_palette_said);
    LOOP(blocks, bad_blocks, a_bad_palette_or_grid_is_refused);
    tcase_add_test(blocks, renaming_in_a_palette_keeps_layers_as_they_are_stored);
    tcase_add_test(blocks, odd_names_that_were_there_before_may_stay);
    tcase_add_test(blocks, names_have_at_most_65535_bytes);
}

static void add_root_tests(TCase *root)
{
    tcase_add_test(root, the_root_palette_lists_every_name_once_sorted);
    tcase_add_test(root, names_are_swapped_in_one_edit_after_the_other);
    tcase_add_test(root, two_names_can_become_one);
    tcase_add_test(root, a_root_palette_of_another_moment_renames_nothing);
    tcase_add_test(root, a_root_palette_renames_by_the_names_it_was_made_from);
    LOOP(root, bad_roots, the_root_palette_keeps_its_number_of_lines);
    tcase_add_test(root, info_says_what_the_region_is);
}

static Suite *lenses_suite(void)
{
    Suite *suite = suite_create("cosmic_lenses");
    TCase *texts = unit_case_with(suite, "texts", NULL, teardown),
          *lights = unit_case_with(suite, "lights", NULL, teardown);
    TCase *raw = unit_case_with(suite, "raw", NULL, teardown),
          *coupling = unit_case_with(suite, "coupling", NULL, teardown);

    tcase_add_test(texts, the_files_of_a_chunk_have_these_texts);
    tcase_add_test(texts, a_uniform_chunk_is_a_fill_line);
    tcase_add_test(texts, odd_names_are_escaped_and_quoted);
    add_voxel_tests(unit_case_with(suite, "voxels", NULL, teardown));
    add_block_tests(unit_case_with(suite, "blocks", NULL, teardown));
    tcase_add_test(lights, removing_light_stores_none_and_creating_it_stores_it);
    tcase_add_test(lights, sky_above_15_shows_its_low_bits_and_keeps_the_others);
    LOOP(lights, bad_lights, light_out_of_range_is_refused);
    tcase_add_test(raw, entities_come_and_go);
    tcase_add_test(raw, a_chunk_of_version_0_has_no_entities);
    LOOP(raw, raw_texts, raw_bytes_are_stored_if_they_parse_completely);
    LOOP(coupling, couplings, an_edit_changes_its_section_and_no_other);
    tcase_add_test(coupling, writing_back_what_was_read_changes_nothing);
    add_root_tests(unit_case_with(suite, "root", NULL, teardown));
    return suite;
}

UNIT_MAIN(lenses_suite)
