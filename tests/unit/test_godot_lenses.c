/* formats/godot_voxel: the files of a block, on a save of one block. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/files_case.h"
#include "formats/godot_voxel/block.h"
#include "formats/views/views.h"
#include "scratch.h"

/* Blocks that the engine wrote, and an independent codec decoded. */
static const char default_4[] =
    "021f000000300410000200f00911000011ff7f0100111032110f000100010001000df00d90";
static const char small[] =
    "04 0200 0300 0200 00 0102030405060708090a0b0c 11ff7f 0100 111032 110f00 0100 0100 0100"
    "19000000 00 010002000000 01 0700000000000000 010002000100 28 aabb 0df00d90";
/* 2 x 1 x 1: type 8 bits dense, sdf dense of the depth and version to be filled in. */
static const char sdf_8[] = "%s 0200 0100 0100 00 0107 %s 0100 0100 0100 0100 0100 0100 0df00d90";

static const struct tfs_key key = {0, 0, 0, 0};
static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
    scratch_teardown();
}

static int open_hex(const char *hex)
{
    struct tfs_buf bytes = files_hex(hex);

    files_write_file(scratch_path("block"), tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
    return files_open(&c, scratch_path("block"));
}

static void must_open(const char *hex)
{
    ck_assert_msg(open_hex(hex) == 0, "%s", c.err.text);
}

/* The block as version and values, whatever its container is. */
static void stored_block(struct tfs_godot_block *block)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_godot_block_open(tfs_doc_find(c.doc, key)->blob, block, &err), 0);
}

/* ---- channels -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} small_texts[] = {
    {"channels/type.txt", "depth 8\n\n"
                          "y=00 z=00 |   1   4\ny=00 z=01 |   7  10\n\n"
                          "y=01 z=00 |   2   5\ny=01 z=01 |   8  11\n\n"
                          "y=02 z=00 |   3   6\ny=02 z=01 |   9  12\n"},
    {"channels/sdf.txt", "depth 16\nfill 32767\n"},
    {"channels/color.txt", "depth 8\nfill 0\n"},
    {"channels/indices.txt", "depth 16\nfill 12816\n"},
    {"channels/weights.txt", "depth 16\nfill 15\n"},
    {"metadata.txt", "voxel 1 2 0 u64 7\nvoxel 1 2 1 custom 40 aabb\n"},
    {"voxels.csv", "x,y,z,type\n0,0,0,1\n1,0,0,4\n0,0,1,7\n1,0,1,10\n0,1,0,2\n1,1,0,5\n"
                   "0,1,1,8\n1,1,1,11\n0,2,0,3\n1,2,0,6\n0,2,1,9\n1,2,1,12\n"},
};

START_TEST(file_shows_the_block)
{
    must_open(small);
    ck_assert(files_shows(&c, key, small_texts[_i].name, small_texts[_i].text));
}
END_TEST

START_TEST(file_written_back_changes_nothing)
{
    must_open(small);
    uint64_t version = c.doc->version;

    ck_assert_int_eq(files_put_text(&c, key, small_texts[_i].name, small_texts[_i].text), 0);
    ck_assert_uint_eq(c.doc->version, version);
}
END_TEST

static const struct {
    const char *version, *sdf, *rows;
} distances[] = {
    {"04", "00 81 7f", "depth 8\n\ny=00 z=00 | -127  127\n"},
    {"03", "10 0180 ff7f", "depth 16\n\ny=00 z=00 | -32767  32767\n"},
    {"02", "10 ffff 0000", "depth 16\n\ny=00 z=00 | 65535     0\n"},
    {"02", "00 ff 00", "depth 8\n\ny=00 z=00 | 255   0\n"},
    {"04", "20 0000c842 cdcccc3d", "depth 32\n\ny=00 z=00 |             100             0.1\n"},
    {"04", "20 00000080 0100c07f", "depth 32\n\ny=00 z=00 |              -0    nan:7fc00001\n"},
    {"02", "30 0000000000005940 9a9999999999b93f",
     "depth 64\n\ny=00 z=00 |                      100                      0.1\n"},
};

START_TEST(distances_are_shown_as_their_version_means_them)
{
    char hex[300];

    snprintf(hex, sizeof(hex), sdf_8, distances[_i].version, distances[_i].sdf);
    must_open(hex);
    ck_assert(files_shows(&c, key, "channels/sdf.txt", distances[_i].rows));
    uint64_t version = c.doc->version;
    ck_assert_int_eq(files_put_text(&c, key, "channels/sdf.txt", distances[_i].rows), 0);
    ck_assert_uint_eq(c.doc->version, version);
}
END_TEST

START_TEST(rows_of_equal_values_are_stored_dense)
{
    struct tfs_godot_block block;

    must_open(small);
    ck_assert_int_eq(
        files_put_text(&c, key, "channels/data5.txt", "0 0\n0 0\n0 0\n0 0\n0 0\n0 0\n"), 0);
    stored_block(&block);
    ck_assert_int_eq((int)block.channels[TFS_GODOT_DATA5].mode, (int)TFS_GODOT_NONE);
    tfs_godot_block_release(&block);
    ck_assert_int_eq(files_put_text(&c, key, "channels/data5.txt", "fill 0"), 0);
    stored_block(&block);
    ck_assert_int_eq((int)block.channels[TFS_GODOT_DATA5].mode, (int)TFS_GODOT_UNIFORM);
    tfs_godot_block_release(&block);
}
END_TEST

START_TEST(depth_changes_where_no_region_forbids_it)
{
    must_open(small);
    ck_assert_int_eq(files_put_text(&c, key, "channels/type.txt", "depth 64\nfill 99999999999"), 0);
    ck_assert(files_shows(&c, key, "channels/type.txt", "depth 64\nfill 99999999999\n"));
    ck_assert_int_eq(files_put_text(&c, key, "channels/sdf.txt", "depth 32\nfill -1.5"), 0);
    ck_assert(files_shows(&c, key, "channels/sdf.txt", "depth 32\nfill -1.5\n"));
    ck_assert_int_eq(files_put_text(&c, key, "channels/sdf.txt", "fill inf"), 0);
    ck_assert(files_shows(&c, key, "channels/sdf.txt", "depth 32\nfill inf\n"));
}
END_TEST

#define COLUMNS "the columns are x,y,z and any of type,sdf,color,indices,weights,data5,data6,data7"

static const struct {
    const char *name, *text, *sentence;
    uint32_t line, column;
} bads[] = {
    {"channels/type.txt", "fill 256", "value 256 is out of range, 0 to 255", 1, 6},
    {"channels/type.txt", "depth 12\nfill 1", "the depth is 8, 16, 32 or 64", 1, 7},
    {"channels/type.txt", "depth\nfill 1", "the depth is missing", 1, 6},
    {"channels/type.txt", "depth 8 8\nfill 1", "depth takes one number", 1, 9},
    {"channels/type.txt", "depth 8\n", "the grid is missing, expected 6 rows or a fill line", 2, 1},
    {"channels/type.txt", "", "the grid is missing, expected 6 rows or a fill line", 1, 1},
    {"channels/sdf.txt", "fill 32768", "value 32768 is out of range, -32768 to 32767", 1, 6},
    {"channels/sdf.txt", "depth 32\nfill x", "the value x is not a number that fits", 2, 6},
    {"voxels.csv", "", "the header line is missing, " COLUMNS, 1, 1},
    {"voxels.csv", "x,y,type\n", "the column z is missing, " COLUMNS, 1, 1},
    {"voxels.csv", "x,y,z,wood\n", "the column wood is not known, " COLUMNS, 1, 7},
    {"voxels.csv", "x,y,z,type,type\n", "the column type is there twice, " COLUMNS, 1, 12},
    {"voxels.csv", "x,y,z,x\n", "the column x is there twice, " COLUMNS, 1, 7},
    {"voxels.csv", "x,y,z,type\n2,0,0,1\n", "x 2 is outside chunk 0_0_0, which has x 0 to 1", 2, 1},
    {"voxels.csv", "x,y,z,type\n0,0,-1,1\n", "z -1 is outside chunk 0_0_0, which has z 0 to 1", 2,
     5},
    {"voxels.csv", "x,y,z,type\n0,0,0,999\n", "value 999 is out of range, 0 to 255", 2, 7},
    {"voxels.csv", "x,y,z,type\n0,0,0\n", "the line has 3 fields, the header has 4", 2, 1},
    {"voxels.csv", "x,y,z,type\n0,0,0,\n", "the value is missing", 2, 7},
    {"metadata.txt", "block u65 1",
     "u65 is not a type, which are empty, u64, variant, custom and opaque", 1, 7},
    {"raw.bin", "nonsense", "block version 110 is not supported, only 2 to 4", 0, 0},
};

START_TEST(bad_text_is_refused_with_its_place)
{
    must_open(small);
    uint64_t version = c.doc->version;

    ck_assert_int_eq(files_put_text(&c, key, bads[_i].name, bads[_i].text), -EBADMSG);
    ck_assert_str_eq(c.err.text, bads[_i].sentence);
    ck_assert_uint_eq(c.err.line, bads[_i].line);
    ck_assert_uint_eq(c.err.column, bads[_i].column);
    ck_assert_uint_eq(c.doc->version, version);
}
END_TEST

/* ---- voxels.csv ------------------------------------------------------------------------------ */

START_TEST(table_empties_named_channels_and_no_others)
{
    must_open(small);
    ck_assert_int_eq(
        files_put_text(&c, key, "voxels.csv", "data5,z,y,x\n200,1,2,1\n7,0,0,0\n8,0,0,0\n"), 0);
    ck_assert(files_shows(&c, key, "channels/data5.txt",
                          "depth 8\n\ny=00 z=00 |   8   0\ny=00 z=01 |   0   0\n\n"
                          "y=01 z=00 |   0   0\ny=01 z=01 |   0   0\n\n"
                          "y=02 z=00 |   0   0\ny=02 z=01 |   0 200\n"));
    ck_assert(files_shows(&c, key, "channels/type.txt", small_texts[0].text));
    ck_assert(files_holds(&c, key, "voxels.csv", "x,y,z,type,data5\n0,0,0,1,8\n1,0,0,4,0\n"));
}
END_TEST

START_TEST(table_makes_a_uniform_channel_dense)
{
    struct tfs_godot_block block;

    must_open(default_4);
    ck_assert(files_shows(&c, key, "voxels.csv", "x,y,z\n"));
    ck_assert_int_eq(files_put_text(&c, key, "voxels.csv", "x,y,z,type,sdf\n3,4,5,300,-20\n"), 0);
    ck_assert(files_shows(&c, key, "voxels.csv", "x,y,z,type,sdf\n3,4,5,300,-20\n"));
    stored_block(&block);
    ck_assert_int_eq((int)block.channels[TFS_GODOT_TYPE].mode, (int)TFS_GODOT_NONE);
    ck_assert_int_eq((int)block.channels[TFS_GODOT_COLOR].mode, (int)TFS_GODOT_UNIFORM);
    tfs_godot_block_release(&block);
    /* All empty again: dense as in the game, which never goes back. */
    ck_assert_int_eq(files_put_text(&c, key, "voxels.csv", "x,y,z,type\n"), 0);
    ck_assert(files_holds(&c, key, "voxels.csv", "x,y,z,type,sdf\n3,4,5,0,-20\n"));
}
END_TEST

START_TEST(table_whose_values_are_there_keeps_a_uniform_channel)
{
    must_open(default_4);
    uint64_t version = c.doc->version;

    ck_assert_int_eq(files_put_text(&c, key, "voxels.csv", "x,y,z,type,weights\n1,1,1,0,15\n"), 0);
    ck_assert_uint_eq(c.doc->version, version);
}
END_TEST

/* In every depth, with and without a sign, and as a float. */
static const char *const wide_texts[] = {
    "depth 8\nfill 0\n|sdf|-128,-100,-99,-10,-9,-1,1,9,10,99,100,127",
    "depth 16\nfill 0\n|sdf|-32768,-10000,-9999,-1000,-999,-1,999,1000,9999,10000,32767",
    "depth 32\nfill 0\n|sdf|-1.5,0.1,1e-38,-3.4028235e+38,inf,-inf,nan,100000,16777216",
    "depth 64\nfill 0\n|sdf|-1.5,0.1,1e-308,-1.7976931348623157e+308,inf,nan,4503599627370497",
    "depth 8\nfill 0\n|type|1,9,10,99,100,255",
    "depth 16\nfill 0\n|type|9,10,99,100,999,1000,9999,10000,65535",
    "depth 32\nfill 0\n|type|99999,100000,999999,1000000,4294967295",
    "depth 64\nfill 0\n|type|99999,100000,4294967296,18446744073709551615",
};

/* files_get compares it with the text. */
START_TEST(size_of_the_table_is_known_for_values_of_every_width)
{
    char depth[32], name[32], values[128], path[64];
    struct tfs_buf table = {0};
    unsigned at = 0;

    ck_assert_int_eq(sscanf(wide_texts[_i], "%31[^|]|%31[^|]|%127[^|]", depth, name, values), 3);
    must_open(default_4);
    snprintf(path, sizeof(path), "channels/%s.txt", name);
    ck_assert_msg(files_put_text(&c, key, path, depth) == 0, "%s", c.err.text);
    tfs_buf_printf(&table, "x,y,z,%s\n", name);
    for (char *value = strtok(values, ","); value != NULL; value = strtok(NULL, ","), at++)
        tfs_buf_printf(&table, "%u,%u,%u,%s\n", at, at % 3, at % 2, value);
    ck_assert_msg(files_put(&c, key, "voxels.csv", tfs_buf_span(&table)) == 0, "%s", c.err.text);
    struct tfs_buf shown = files_get(&c, key, "voxels.csv");
    ck_assert_uint_gt(shown.size, 20);
    ck_assert_int_eq(tfs_cells_table_size(c.save, c.doc, (struct tfs_at){.key = key}),
                     (int64_t)shown.size);
    tfs_buf_release(&shown);
    tfs_buf_release(&table);
}
END_TEST

/* ---- raw.bin, versions ----------------------------------------------------------------------- */

START_TEST(raw_block_is_stored_verbatim)
{
    struct tfs_buf raw = files_hex(default_4);

    must_open(small);
    ck_assert_int_eq(files_put(&c, key, "raw.bin", tfs_buf_span(&raw)), 0);
    ck_assert(tfs_span_equal(tfs_blob_span(tfs_doc_find(c.doc, key)->blob), tfs_buf_span(&raw)));
    ck_assert_int_eq(files_commit(&c), 0);
    struct tfs_buf file = files_read_file(scratch_path("block"));
    ck_assert(tfs_span_equal(tfs_buf_span(&file), tfs_buf_span(&raw)));
    tfs_buf_release(&file);
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(edit_keeps_version_and_container)
{
    struct tfs_godot_block block;

    must_open("010000001f300210000200f00911000011ffff01001110321100000100010001000df00d90");
    ck_assert_int_eq(files_put_text(&c, key, "channels/type.txt", "fill 3"), 0);
    stored_block(&block);
    ck_assert_uint_eq(block.version, 2);
    ck_assert_int_eq((int)block.kind, (int)TFS_GODOT_LZ4_BE);
    tfs_godot_block_release(&block);
}
END_TEST

START_TEST(edit_with_upgrade_stores_version_4)
{
    struct tfs_godot_block block;

    must_open("010000001f300210000200f00911000011ffff01001110321100000100010001000df00d90");
    c.save->options.upgrade = true;
    ck_assert_int_eq(files_put_text(&c, key, "channels/type.txt", "fill 3"), 0);
    stored_block(&block);
    ck_assert_uint_eq(block.version, 4);
    ck_assert_int_eq((int)block.kind, (int)TFS_GODOT_LZ4);
    tfs_godot_block_release(&block);
    ck_assert(files_shows(&c, key, "channels/sdf.txt", "depth 16\nfill 32767\n"));
}
END_TEST

START_TEST(block_1_with_the_wrong_size_is_written_as_2)
{
    struct tfs_godot_block block;

    must_open("011f000000300410000200f00911000011ff7f0100111032110f000100010001000df00d90");
    ck_assert_int_eq(files_put_text(&c, key, "channels/type.txt", "fill 3"), 0);
    stored_block(&block);
    ck_assert_int_eq((int)block.kind, (int)TFS_GODOT_LZ4);
    tfs_godot_block_release(&block);
}
END_TEST

START_TEST(emptied_metadata_leaves_no_section)
{
    struct tfs_godot_block block;

    must_open(small);
    ck_assert_int_eq(files_put_text(&c, key, "metadata.txt", ""), 0);
    stored_block(&block);
    ck_assert(!block.has_metadata);
    tfs_godot_block_release(&block);
    ck_assert(files_shows(&c, key, "metadata.txt", ""));
}
END_TEST

START_TEST(only_chunk_of_a_file_stays_where_it_is)
{
    const struct tfs_key elsewhere = {0, 1, 0, 0};

    must_open(default_4);
    ck_assert_int_eq(files_create(&c, elsewhere), -EPERM);
    ck_assert_int_eq(files_move(&c, key, elsewhere), -EPERM);
    ck_assert_int_eq(files_delete(&c, key), -EPERM);
    ck_assert_str_eq(c.err.text,
                     "this save has these chunks for good: none can be made, moved or removed");
}
END_TEST

/* ---- saves that are refused ------------------------------------------------------------------ */

START_TEST(file_that_is_no_block_is_refused)
{
    ck_assert_int_eq(open_hex("0123456789"), -EBADMSG);
}
END_TEST

START_TEST(block_file_of_godot_3_is_not_known)
{
    ck_assert_int_eq(open_hex("5658425f 02 00000000"), -ENOTSUP);
}
END_TEST

START_TEST(block_cut_at_its_end_is_told_from_other_files)
{
    struct tfs_buf bytes = files_hex(default_4);

    bytes.size -= 5;
    files_write_file(scratch_path("block"), tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
    ck_assert_int_eq(files_open(&c, scratch_path("block")), -EBADMSG);
    ck_assert_str_eq(c.err.text, "its LZ4 data is damaged");
}
END_TEST

START_TEST(info_says_what_the_block_is)
{
    must_open(default_4);
    ck_assert(files_shows(&c, FILES_ROOT, "info.txt",
                          "format: godot_voxel\n"
                          "container: block file\n"
                          "chunks: 1\n"
                          "bounds: 0 0 0 .. 0 0 0\n"
                          "pictures: 16 x 16 pixels\n"
                          "picture origin: x 0 z 0 is pixel 0,0\n"
                          "picture bottom: y 0: a height of 1 has its voxel there\n"
                          "block size: 16 x 16 x 16\n"
                          "block version: 4 in 1 chunk\n"
                          "block container: 2 (LZ4) in 1 chunk\n"
                          "type: 16 bits in 1 chunk, rows in 0\n"
                          "sdf: 16 bits in 1 chunk, rows in 0\n"
                          "color: 8 bits in 1 chunk, rows in 0\n"
                          "indices: 16 bits in 1 chunk, rows in 0\n"
                          "weights: 16 bits in 1 chunk, rows in 0\n"
                          "data5: 8 bits in 1 chunk, rows in 0\n"
                          "data6: 8 bits in 1 chunk, rows in 0\n"
                          "data7: 8 bits in 1 chunk, rows in 0\n"
                          "sdf scale: 16 bits: value / 32767 * 500 voxels, below 0 is inside "
                          "matter\n"
                          "read-only: no\n"));
    /* Counts follow edits. */
    ck_assert_int_eq(files_put_text(&c, key, "voxels.csv", "x,y,z,type\n1,1,1,1\n"), 0);
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "type: 16 bits in 1 chunk, rows in 1\n"));
}
END_TEST

static Suite *lenses_suite(void)
{
    Suite *suite = suite_create("godot_lenses");
    TCase *tcase = unit_case(suite, "lenses");

    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    tcase_add_loop_test(tcase, file_shows_the_block, 0, COUNT(small_texts));
    tcase_add_loop_test(tcase, file_written_back_changes_nothing, 0, COUNT(small_texts));
    tcase_add_loop_test(tcase, distances_are_shown_as_their_version_means_them, 0,
                        COUNT(distances));
    tcase_add_test(tcase, rows_of_equal_values_are_stored_dense);
    tcase_add_test(tcase, depth_changes_where_no_region_forbids_it);
    tcase_add_loop_test(tcase, bad_text_is_refused_with_its_place, 0, COUNT(bads));
    tcase_add_test(tcase, table_empties_named_channels_and_no_others);
    tcase_add_test(tcase, table_makes_a_uniform_channel_dense);
    tcase_add_test(tcase, table_whose_values_are_there_keeps_a_uniform_channel);
    tcase_add_loop_test(tcase, size_of_the_table_is_known_for_values_of_every_width, 0,
                        COUNT(wide_texts));
    tcase_add_test(tcase, raw_block_is_stored_verbatim);
    tcase_add_test(tcase, edit_keeps_version_and_container);
    tcase_add_test(tcase, edit_with_upgrade_stores_version_4);
    tcase_add_test(tcase, block_1_with_the_wrong_size_is_written_as_2);
    tcase_add_test(tcase, emptied_metadata_leaves_no_section);
    tcase_add_test(tcase, only_chunk_of_a_file_stays_where_it_is);
    tcase_add_test(tcase, file_that_is_no_block_is_refused);
    tcase_add_test(tcase, block_file_of_godot_3_is_not_known);
    tcase_add_test(tcase, block_cut_at_its_end_is_told_from_other_files);
    tcase_add_test(tcase, info_says_what_the_block_is);
    return suite;
}

UNIT_MAIN(lenses_suite)
