/* formats/godot_voxel/picture.c: what the pictures of blocks show, and what sculpting does to
 * them. */
#include <errno.h>
#include <glob.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../lib/looked_into.h"
#include "../lib/files_case.h"
#include "../lib/picture_numbers.h"
#include "../lib/region_maker.h"
#include "../lib/voxel_maker.h"
#include "formats/cells/cells.h"
#include "formats/godot_voxel/channel.h"
#include "formats/views/pictures/columns.h"
#include "image/png.h"
#include "scratch.h"

#define SAMPLES   "../shared/samples/godot_voxel/"
#define HEIGHTMAP "heightmap.png"
#define VOXELS    "voxels.csv"

/* Bare blocks of 4 x 4 x 4 voxels, all empty; the page's vector 2 for version 2. */
static const char empty_4[] =
    "04 0400 0400 0400 110000 11ff7f 0100 111032 110f00 0100 0100 0100 0df00d90";
static const char empty_2[] =
    "02 0400 0400 0400 110000 11ffff 0100 111032 110000 0100 0100 0100 0df00d90";

static const struct tfs_key origin = {0, 0, 0, 0};
static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
    scratch_teardown();
}

static void must(int result)
{
    ck_assert_msg(result == 0, "%s", c.err.text);
}

static void open_hex(const char *hex)
{
    struct tfs_buf bytes = files_hex(hex);

    files_write_file(scratch_path("save"), tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
    must(files_open(&c, scratch_path("save")));
}

static void reopen(void)
{
    must(files_commit(&c));
    tree_files_close(&c);
    must(files_open(&c, scratch_path("save")));
}

/* ---- heights --------------------------------------------------------------------------------- */

static void read_heights(void)
{
    struct tfs_buf png = files_get(&c, FILES_ROOT, HEIGHTMAP);

    ck_assert_ptr_nonnull(png.data);
    height_picture_read(c.save, c.doc, tfs_buf_span(&png));
    tfs_buf_release(&png);
}

static int put_heights(void)
{
    struct tfs_buf png = {0};

    height_picture_write(TFS_PNG_GREY16, &png);
    int result = files_put(&c, FILES_ROOT, HEIGHTMAP, tfs_buf_span(&png));
    tfs_buf_release(&png);
    return result;
}

static int put_pixel(uint32_t x, uint32_t z, uint16_t height)
{
    read_heights();
    heights[z * width + x] = height;
    return put_heights();
}

static uint16_t height_at(uint32_t x, uint32_t z)
{
    read_heights();
    ck_assert(x < width && z < depth);
    return heights[z * width + x];
}

static void check_refused(int result, const char *sentence)
{
    ck_assert_int_eq(result, -EBADMSG);
    ck_assert_msg(strstr(c.err.text, sentence) != NULL, "%s", c.err.text);
}

/* ---- what is not empty ----------------------------------------------------------------------- */

/* A value at 1,2,3 in a channel; everything else is empty. */
static const struct {
    const char *block, *channel;
    const char *file; /* the channel's file; %s: the value */
    const char *value;
    bool filled;
} fillings[] = {
    {empty_4, "type", "depth 16\nfill 0\n", "1", true},
    {empty_4, "type", "depth 8\nfill 0\n", "255", true},
    {empty_4, "type", "depth 64\nfill 0\n", "18446744073709551615", true},
    {empty_4, "color", "depth 8\nfill 0\n", "7", true},
    {empty_4, "color", "depth 32\nfill 0\n", "4278190080", true},
    {empty_4, "data5", "depth 8\nfill 0\n", "9", false},
    {empty_4, "indices", "depth 16\nfill 12816\n", "9", false},
    {empty_4, "sdf", "depth 16\nfill 32767\n", "-1", true},
    {empty_4, "sdf", "depth 16\nfill 32767\n", "-32768", true},
    {empty_4, "sdf", "depth 16\nfill 32767\n", "0", false},
    {empty_4, "sdf", "depth 8\nfill 127\n", "-1", true},
    {empty_4, "sdf", "depth 8\nfill 127\n", "-128", true},
    {empty_4, "sdf", "depth 8\nfill 127\n", "0", false},
    {empty_4, "sdf", "depth 32\nfill 100\n", "-0.25", true},
    {empty_4, "sdf", "depth 32\nfill 100\n", "-inf", true},
    {empty_4, "sdf", "depth 32\nfill 100\n", "-1e-45", true},
    {empty_4, "sdf", "depth 32\nfill 100\n", "-0", false},
    {empty_4, "sdf", "depth 32\nfill 100\n", "nan", false},
    {empty_4, "sdf", "depth 32\nfill 100\n", "nan:ffc00001", false},
    {empty_4, "sdf", "depth 64\nfill 100\n", "-0.25", true},
    {empty_4, "sdf", "depth 64\nfill 100\n", "-inf", true},
    {empty_4, "sdf", "depth 64\nfill 100\n", "-0", false},
    {empty_4, "sdf", "depth 64\nfill 100\n", "nan:fff8000000000001", false},
    {empty_2, "sdf", "depth 16\nfill 65535\n", "32766", true},
    {empty_2, "sdf", "depth 16\nfill 65535\n", "0", true},
    {empty_2, "sdf", "depth 16\nfill 65535\n", "32767", false},
    {empty_2, "sdf", "depth 8\nfill 255\n", "126", true},
    {empty_2, "sdf", "depth 8\nfill 255\n", "127", false},
    {empty_2, "sdf", "depth 32\nfill 100\n", "-1", true},
};

static void put_one(int i)
{
    char name[40], text[100];

    open_hex(fillings[i].block);
    snprintf(name, sizeof(name), "channels/%s.txt", fillings[i].channel);
    must(files_put_text(&c, origin, name, fillings[i].file));
    snprintf(text, sizeof(text), "x,y,z,%s\n1,2,3,%s\n", fillings[i].channel, fillings[i].value);
    must(files_put_text(&c, origin, VOXELS, text));
}

START_TEST(a_voxel_counts_by_type_color_or_a_distance_below_zero)
{
    put_one(_i);
    ck_assert_uint_eq(height_at(1, 3), fillings[_i].filled ? 3 : 0);
    ck_assert_uint_eq(height_at(2, 3), 0);
}
END_TEST

START_TEST(lowering_gives_the_empty_value_that_reads_as_empty)
{
    char table[100], value[60];

    put_one(_i);
    must(put_pixel(1, 3, 0));
    ck_assert_uint_eq(height_at(1, 3), 0);
    /* What does not count as filled stays. */
    snprintf(value, sizeof(value), "1,2,3,%s\n", fillings[_i].value);
    snprintf(table, sizeof(table), "x,y,z,%s\n%s", fillings[_i].channel,
             fillings[_i].filled ? "" : value);
    ck_assert(files_shows(&c, origin, VOXELS, table));
}
END_TEST

START_TEST(a_uniform_channel_fills_the_whole_chunk)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, "channels/sdf.txt", "fill -5\n"));
    ck_assert_uint_eq(height_at(0, 0), 4);
    must(files_put_text(&c, origin, "channels/sdf.txt", "fill 5\n"));
    ck_assert_uint_eq(height_at(0, 0), 0);
    must(files_put_text(&c, origin, "channels/type.txt", "fill 5\n"));
    ck_assert_uint_eq(height_at(3, 3), 4);
}
END_TEST

START_TEST(the_highest_of_all_channels_counts)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, VOXELS,
                        "x,y,z,type,sdf,color\n0,0,0,1,-9,0\n0,1,0,0,-9,0\n0,2,0,0,9,3\n"));
    ck_assert_uint_eq(height_at(0, 0), 3);
    must(put_pixel(0, 0, 2));
    ck_assert(files_shows(&c, origin, VOXELS,
                          "x,y,z,type,sdf,color\n0,0,0,1,-9,0\n0,1,0,0,-9,0\n"
                          "0,2,0,0,9,0\n"));
}
END_TEST

/* ---- sculpting one chunk --------------------------------------------------------------------- */

START_TEST(raising_copies_all_values_of_the_top_voxel)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, VOXELS,
                        "x,y,z,type,sdf,indices,weights,data5\n2,0,1,7,-3,291,4660,9\n"));
    must(put_pixel(2, 1, 3));
    must(files_put_text(&c, origin, "channels/sdf.txt", "fill 1\n"));
    ck_assert(files_shows(&c, origin, VOXELS,
                          "x,y,z,type,indices,weights,data5\n"
                          "2,0,1,7,291,4660,9\n2,1,1,7,291,4660,9\n"
                          "2,2,1,7,291,4660,9\n"));
}
END_TEST

START_TEST(a_channel_that_keeps_its_one_value_stays_uniform)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, "channels/data6.txt", "fill 8\n"));
    must(files_put_text(&c, origin, VOXELS, "x,y,z,type\n2,0,1,7\n"));
    must(put_pixel(2, 1, 4));
    must(put_pixel(2, 1, 2));
    ck_assert(files_shows(&c, origin, "channels/sdf.txt", "depth 16\nfill 32767\n"));
    ck_assert(files_holds(&c, origin, "channels/data6.txt", "fill"));
    ck_assert(
        files_holds(&c, origin, "channels/type.txt", "y=01 z=01 |     0     0     7     0\n"));
}
END_TEST

START_TEST(lowering_keeps_what_does_not_make_a_voxel_a_filled_one)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, VOXELS, "x,y,z,type,data5\n2,0,1,7,1\n2,1,1,7,2\n"));
    must(put_pixel(2, 1, 1));
    ck_assert(files_shows(&c, origin, VOXELS, "x,y,z,type,data5\n2,0,1,7,1\n2,1,1,0,2\n"));
}
END_TEST

START_TEST(a_column_lowered_into_a_hollow_ends_at_the_next_voxel)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, VOXELS, "x,y,z,sdf\n2,0,1,-1\n2,3,1,-2\n"));
    must(put_pixel(2, 1, 3));
    ck_assert_uint_eq(height_at(2, 1), 1);
}
END_TEST

START_TEST(one_block_cannot_grow_nor_begin_from_nothing)
{
    open_hex(empty_4);
    check_refused(put_pixel(2, 1, 2), "pixel 2,1: nothing can be raised here");
    must(files_put_text(&c, origin, VOXELS, "x,y,z,type\n0,0,0,3\n"));
    check_refused(put_pixel(0, 0, 5), "pixel 0,0: too high: the save can hold no further chunk");
    must(put_pixel(3, 2, 4));
    ck_assert(files_holds(&c, origin, VOXELS, "3,3,2,3\n"));
}
END_TEST

START_TEST(a_block_of_another_size_has_another_picture)
{
    open_hex(empty_4);
    struct tfs_buf block =
        files_hex("04 0200 0500 0300 110700 11ff7f 0100 111032 110f00 0100 0100 0100 0df00d90");

    read_heights();
    ck_assert_uint_eq(width, 4);
    must(files_put(&c, origin, "raw.bin", tfs_buf_span(&block)));
    read_heights();
    ck_assert_uint_eq(width, 2);
    ck_assert_uint_eq(depth, 3);
    ck_assert_uint_eq(heights[5], 5);
    must(put_pixel(1, 2, 3));
    reopen();
    ck_assert_uint_eq(height_at(1, 2), 3);
    tfs_buf_release(&block);
}
END_TEST

START_TEST(a_block_wider_than_8192_has_no_picture)
{
    open_hex("04 0120 0100 0100 110700 11ff7f 0100 111032 110f00 0100 0100 0100 0df00d90");
    struct tfs_buf png = files_get(&c, FILES_ROOT, HEIGHTMAP);

    ck_assert_ptr_null(png.data);
    ck_assert(
        files_holds(&c, FILES_ROOT, "info.txt", "pictures: none, because they are of saves up to"));
}
END_TEST

START_TEST(with_upgrade_a_sculpted_block_becomes_one_of_version_4)
{
    open_hex(empty_2);
    must(files_put_text(&c, origin, VOXELS, "x,y,z,sdf\n2,0,1,5\n"));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "block version: 2"));
    c.save->options.upgrade = true;
    must(put_pixel(2, 1, 3));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "block version: 4"));
    ck_assert_uint_eq(height_at(2, 1), 3);
    ck_assert_uint_eq(height_at(1, 1), 0);
}
END_TEST

/* ---- many chunks ----------------------------------------------------------------------------- */

static void open_stream(unsigned keys, unsigned count)
{
    voxel_stream(scratch_path("save"), keys, count);
    must(files_open(&c, scratch_path("save")));
}

/* A stream with nothing but chunks whose keys and first column are given. */
static void open_chunks(const char *const tables[], const struct tfs_key keys[], int count)
{
    open_stream(2, 1);
    must(files_delete(&c, tfs_doc_at(c.doc, 0)->key));
    for (int i = 0; i < count; i++) {
        must(files_create(&c, keys[i]));
        if (tables[i] != NULL)
            must(files_put_text(&c, keys[i], VOXELS, tables[i]));
    }
}

START_TEST(pictures_begin_at_the_lowest_chunk_of_level_0)
{
    static const struct tfs_key keys[] = {{0, -3, -2, -1}, {0, -2, 1, -1}, {1, -9, -9, -9}};
    static const char *const tables[] = {"x,y,z,type\n-48,-32,-16,1\n", "x,y,z,type\n-17,31,-1,1\n",
                                         NULL};

    open_chunks(tables, keys, 3);
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt",
                          "pictures: 32 x 16 pixels\npicture origin: x -48 z -16 is pixel 0,0\n"
                          "picture bottom: y -32: "));
    ck_assert_uint_eq(height_at(0, 0), 1);
    ck_assert_uint_eq(height_at(31, 15), 64);
    ck_assert_uint_eq(height_at(30, 15), 0);
}
END_TEST

static const struct {
    struct tfs_key far; /* beside 0_0_0, of 16 voxels a side */
    bool there;
} limits[] = {
    {{0, 511, 0, 0}, true},   {{0, 512, 0, 0}, false}, {{0, -511, 0, 0}, true},
    {{0, 0, 0, -512}, false}, {{0, 0, 4094, 0}, true}, {{0, 0, 4095, 0}, false},
    {{3, 9999, 0, 0}, true},
};

START_TEST(pictures_end_at_8192_pixels_and_65535_high)
{
    const struct tfs_key keys[] = {origin, limits[_i].far};
    static const char *const tables[] = {NULL, NULL};

    open_chunks(tables, keys, 2);
    struct tfs_buf png = files_get(&c, FILES_ROOT, HEIGHTMAP);
    struct tfs_buf map = files_get(&c, FILES_ROOT, "map.png");
    ck_assert((png.data != NULL) == limits[_i].there);
    ck_assert((map.data != NULL) == (limits[_i].there || limits[_i].far.y == 0)); /* scaled down */
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt",
                          limits[_i].there ? " pixels\n"
                          : limits[_i].far.y > 0
                              ? "pictures: none, because they are of saves up to 65535 voxels high"
                              : "pictures: map.png and tiles, because the save is"));
    tfs_buf_release(&png);
    tfs_buf_release(&map);
}
END_TEST

START_TEST(a_column_grows_through_chunks_that_are_made)
{
    static const struct tfs_key above = {0, 0, 1, 0}, top = {0, 0, 2, 0};
    static const char *const tables[] = {"x,y,z,type,data5\n3,14,1,6,5\n"};

    open_chunks(tables, &origin, 1);
    must(put_pixel(3, 1, 33));
    ck_assert_uint_eq(c.doc->count, 3);
    ck_assert(files_holds(&c, origin, VOXELS, "3,14,1,6,5\n3,15,1,6,5\n"));
    ck_assert(files_holds(&c, above, VOXELS, "3,31,1,6,5\n"));
    ck_assert(files_shows(&c, top, VOXELS, "x,y,z,type,data5\n3,32,1,6,5\n"));
    reopen();
    ck_assert_uint_eq(height_at(3, 1), 33);
    ck_assert_uint_eq(height_at(4, 1), 0);
}
END_TEST

/* The engine reads a value by version and depth of its block. */
START_TEST(a_chunk_that_is_made_has_version_and_depths_of_the_voxel)
{
    static const struct tfs_key above = {0, 0, 1, 0};
    static const char *const tables[] = {NULL};
    struct tfs_buf old = {0};

    open_chunks(tables, &origin, 1);
    voxel_block(&old, 2, 4, (struct tfs_key){0, 0, -1, 0}, 0, TFS_GODOT_LZ4_BE);
    must(files_put(&c, origin, "raw.bin", tfs_buf_span(&old)));
    must(files_put_text(&c, origin, "channels/sdf.txt", "depth 8\nfill 1\n"));
    must(put_pixel(3, 1, 18));
    ck_assert(files_holds(&c, above, "channels/sdf.txt", "depth 8\n"));
    ck_assert(files_holds(&c, above, VOXELS, "3,17,1,"));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "block version: 2 in 2 chunks\n"));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt",
                          "block container: 1 (LZ4, big-endian size) in 2 chunks\n"));
    ck_assert_uint_eq(height_at(3, 1), 18);
    tfs_buf_release(&old);
}
END_TEST

START_TEST(versions_that_do_not_agree_are_refused_with_the_pixel)
{
    static const struct tfs_key keys[] = {{0, 0, 0, 0}, {0, 0, 1, 0}};
    static const char *const tables[] = {NULL, NULL};
    struct tfs_buf old = {0};

    open_chunks(tables, keys, 2);
    voxel_block(&old, 2, 4, (struct tfs_key){0, 0, -1, 0}, 0, TFS_GODOT_LZ4_BE);
    must(files_put(&c, origin, "raw.bin", tfs_buf_span(&old)));
    uint64_t before = c.doc->version;
    check_refused(put_pixel(3, 1, 18), "pixel 3,1: the voxel to repeat is one of version 2, "
                                       "chunk 0_1_0 has version 4");
    ck_assert_uint_eq(c.doc->version, before);
    tfs_buf_release(&old);
}
END_TEST

START_TEST(depths_that_do_not_agree_are_refused_with_the_pixel)
{
    static const struct tfs_key keys[] = {{0, 0, 0, 0}, {0, 0, 1, 0}};
    static const char *const tables[] = {"x,y,z,type\n3,14,1,6\n", NULL};

    open_chunks(tables, keys, 2);
    must(files_put_text(&c, keys[1], "channels/color.txt", "depth 32\nfill 0\n"));
    check_refused(put_pixel(3, 1, 18), "pixel 3,1: color of the voxel to repeat has 8 bits, in "
                                       "chunk 0_1_0 32");
    must(put_pixel(3, 1, 16));
}
END_TEST

START_TEST(a_row_without_voxels_gets_a_block_when_something_is_raised_into_it)
{
    static const struct tfs_key keys[] = {{0, 0, 0, 0}, {0, 0, 1, 0}};
    static const char *const tables[] = {"x,y,z,type\n3,14,1,6\n", NULL};
    sqlite3 *db;

    open_chunks(tables, keys, 2);
    must(files_commit(&c));
    tree_files_close(&c);
    ck_assert_int_eq(sqlite3_open(scratch_path("save"), &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db, "UPDATE blocks SET vb = NULL WHERE loc = '0,1,0,0'", NULL, NULL, NULL),
        SQLITE_OK);
    ck_assert_int_eq(sqlite3_changes(db), 1);
    sqlite3_close(db);
    must(files_open(&c, scratch_path("save")));
    ck_assert_uint_eq(height_at(3, 1), 15);
    must(put_pixel(3, 1, 14));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "without voxels: 1 chunk\n"));
    must(put_pixel(3, 1, 0));
    must(files_put_text(&c, origin, VOXELS, tables[0]));
    must(put_pixel(3, 1, 20));
    reopen();
    ck_assert_uint_eq(height_at(3, 1), 20);
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "block version: 4 in 2 chunks\n"));
}
END_TEST

START_TEST(a_damaged_chunk_is_empty_and_nothing_is_raised_into_it)
{
    static const struct tfs_key keys[] = {{0, 0, 0, 0}, {0, 0, 1, 0}};
    static const char *const tables[] = {"x,y,z,type\n3,14,1,6\n", "x,y,z,type\n3,17,1,6\n"};
    sqlite3 *db;

    open_chunks(tables, keys, 2);
    must(files_commit(&c));
    tree_files_close(&c);
    ck_assert_int_eq(sqlite3_open(scratch_path("save"), &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db, "UPDATE blocks SET vb = x'0203' WHERE loc = '0,1,0,0'", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    must(files_open(&c, scratch_path("save")));
    ck_assert_uint_eq(height_at(3, 1), 15);
    must(put_pixel(3, 1, 16));
    check_refused(put_pixel(3, 1, 17), "pixel 3,1: chunk 0_1_0 is damaged: ");
}
END_TEST

START_TEST(a_region_does_not_grow_beyond_its_bounds)
{
    voxel_region(scratch_path("save"), 2, 4);
    must(files_open(&c, scratch_path("save")));
    must(files_delete(&c, (struct tfs_key){0, 0, 1, 0}));
    ck_assert_uint_gt(height_at(5, 5), 0);
    must(put_pixel(5, 5, 32));
    check_refused(put_pixel(5, 6, 33), "pixel 5,6: this region holds no chunk with y = 2, only 0 "
                                       "to 1");
    ck_assert_uint_eq(height_at(5, 5), 32);
    reopen();
    ck_assert_uint_eq(height_at(5, 5), 32);
}
END_TEST

START_TEST(a_folder_makes_the_region_that_a_column_grows_into)
{
    voxel_folder(scratch_path("save"), 1);
    must(files_open(&c, scratch_path("save")));
    must(put_pixel(5, 5, 70));
    reopen();
    ck_assert_uint_eq(height_at(5, 5), 70);
    ck_assert_int_eq(access(scratch_path("save/regions/lod0/r.0.1.0.vxr"), R_OK), 0);
}
END_TEST

/* ---- laws ------------------------------------------------------------------------------------ */

/* Saves that differ in container, size and what is in them; then the samples. */
enum { REGION, FOLDER, STREAM, BLOCK = STREAM + 5, MADE = BLOCK + 3 };

static glob_t samples; /* found before the tests fork */

/* Makes some chunks have anything in them, hollows too. */
static void scatter(struct maker_random *random)
{
    uint32_t side = 1U << 4;

    for (unsigned i = 0; i < 3; i++) {
        const struct tfs_chunk *chunk =
            tfs_doc_at(c.doc, maker_draw(random, (uint32_t)c.doc->count));
        struct tfs_key key = chunk->key;
        struct tfs_buf text = {0};
        tfs_buf_add_text(&text, "x,y,z,type,sdf,color\n");
        for (unsigned n = maker_draw(random, 300); n > 0; n--)
            tfs_buf_printf(
                &text, "%d,%d,%d,%u,%u,%u\n", key.x * (int)side + (int)maker_draw(random, side),
                key.y * (int)side + (int)maker_draw(random, side),
                key.z * (int)side + (int)maker_draw(random, side), maker_draw(random, 3),
                maker_draw(random, 20000), maker_draw(random, 2) * maker_draw(random, 250));
        must(files_put(&c, key, VOXELS, tfs_buf_span(&text)));
        tfs_buf_release(&text);
    }
}

static void make_block_file(unsigned version)
{
    struct tfs_buf block = {0};

    voxel_block(&block, version, 4, origin, 40, version == 2 ? TFS_GODOT_LZ4_BE : TFS_GODOT_ZSTD);
    files_write_file(scratch_path("save"), tfs_buf_span(&block));
    tfs_buf_release(&block);
}

/* False: there is nothing to see. */
static bool open_any(int number, struct maker_random *random)
{
    const char *path = scratch_path("save");

    if (number == REGION)
        voxel_region(path, 3, 4);
    else if (number == FOLDER)
        voxel_folder(path, 2);
    else if (number < BLOCK)
        voxel_stream(path, (unsigned)(number - STREAM), 150);
    else if (number < MADE)
        make_block_file((unsigned)(number - BLOCK + 2));
    else
        files_copy(samples.gl_pathv[number - MADE], path);
    must(files_open(&c, path));
    if (number < MADE)
        scatter(random);
    struct tfs_buf png = files_get(&c, FILES_ROOT, HEIGHTMAP);
    bool there = png.data != NULL;
    tfs_buf_release(&png);
    return there;
}

START_TEST(writing_back_what_was_read_changes_nothing)
{
    struct maker_random random = {(uint64_t)_i + 1};

    if (!open_any(_i, &random)) {
        ck_assert_int_ge(_i, MADE); /* a sample without a picture */
        return;
    }
    struct tfs_buf png = files_get(&c, FILES_ROOT, HEIGHTMAP);
    uint64_t before = c.doc->version;
    must(files_put(&c, FILES_ROOT, HEIGHTMAP, tfs_buf_span(&png)));
    ck_assert_uint_eq(c.doc->version, before);
    tfs_buf_release(&png);
}
END_TEST

static bool is_flat(void)
{
    for (size_t i = 0; i < (size_t)width * depth; i++)
        if (previous[i] > 0)
            return false;
    return true;
}

/* Samples have chunks of several depths, which may be refused; then nothing changed. */
START_TEST(what_was_written_is_read_again)
{
    struct maker_random random = {(uint64_t)_i + 1};

    if (!open_any(_i, &random)) {
        ck_assert_int_ge(_i, MADE); /* a sample without a picture */
        return;
    }
    read_heights();
    heights_draw(c.save, c.doc, &random);
    uint64_t before = c.doc->version;
    if (put_heights() < 0) {
        ck_assert(is_flat() || _i >= MADE);
        ck_assert_int_eq(strncmp(c.err.text, "pixel ", 6), 0);
        ck_assert_uint_eq(c.doc->version, before);
        return;
    }
    read_heights();
    heights_check();
    for (size_t i = 0; i < c.doc->count; i++)
        ck_assert_int_eq(tfs_cells_check(c.save, c.doc, tfs_doc_at(c.doc, i)->key, NULL, &c.err),
                         0);
    reopen();
    read_heights();
    heights_check();
}
END_TEST

/* ---- what is computed again ------------------------------------------------------------------ */

START_TEST(only_chunks_that_changed_are_looked_into_again)
{
    struct maker_random random = {1};
    struct tfs_key key;

    open_any(_i, &random);
    ck_assert_uint_eq(looked_into(c.save, c.doc), 0); /* the picture was looked at */
    key = tfs_doc_at(c.doc, c.doc->count - 1)->key;
    must(files_put_text(&c, key, "channels/type.txt", "fill 1\n"));
    ck_assert_uint_eq(looked_into(c.save, c.doc), 1);
    must(files_commit(&c));
    ck_assert_uint_eq(looked_into(c.save, c.doc), 0);
    must(files_put_text(&c, key, "channels/type.txt", "fill 2\n"));
    ck_assert_uint_eq(looked_into(c.save, c.doc), 1);
}
END_TEST

/* ---- the map --------------------------------------------------------------------------------- */

/* A pixel of map.png. */
static uint32_t colour_at(uint32_t x, uint32_t z)
{
    struct tfs_buf png = files_get(&c, FILES_ROOT, "map.png");
    uint32_t colour = map_picture_colour(tfs_buf_span(&png), x, z);

    tfs_buf_release(&png);
    return colour;
}

static bool is_reddish(uint32_t colour)
{
    return (colour >> 16) > 2 * (colour >> 8 & 0xff) && (colour >> 16) > 2 * (colour & 0xff);
}

/* Red, as channel color has it. */
static const struct {
    const char *fill;
    bool red;
} colours[] = {
    {"depth 8\nfill 195\n", true},         /* rrggbbaa, opaque */
    {"depth 16\nfill 61455\n", true},      /* rrrrggggbbbbaaaa */
    {"depth 32\nfill 4278190335\n", true}, /* a byte each */
    {"depth 32\nfill 16711935\n", false},  /* green */
    {"depth 16\nfill 61440\n", false},     /* nobody would see it: a number */
};

START_TEST(stored_colours_are_those_of_the_map)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, "channels/color.txt", colours[_i].fill));
    ck_assert_int_eq(is_reddish(colour_at(1, 1)), colours[_i].red);
}
END_TEST

/* Puts a palette into the header of the region, whose colour 9 is red. */
static void add_palette(const char *path)
{
    struct tfs_buf old = files_read_file(path), new = {0};

    tfs_buf_add(&new, old.data, 19);
    tfs_buf_u8(&new, 0xff);
    for (unsigned i = 0; i < 256; i++)
        tfs_buf_u32be(&new, i == 9 ? 0xff0000ff : 0x00ff00ff);
    tfs_buf_add(&new, old.data + 20, old.size - 20);
    files_write_file(path, tfs_buf_span(&new));
    tfs_buf_release(&old);
    tfs_buf_release(&new);
}

START_TEST(palette_of_the_region_colours_its_chunks)
{
    if (_i == REGION)
        voxel_region(scratch_path("save"), 2, 4);
    else
        voxel_folder(scratch_path("save"), 2);
    add_palette(scratch_path(_i == REGION ? "save" : "save/regions/lod0/r.0.0.0.vxr"));
    must(files_open(&c, scratch_path("save")));
    for (int x = 0; x < 2; x++)
        must(files_put_text(&c, (struct tfs_key){0, x, 1, 0}, "channels/color.txt",
                            x == 0 ? "fill 9\n" : "fill 8\n"));
    ck_assert(is_reddish(colour_at(4, 4)));
    ck_assert(!is_reddish(colour_at(20, 4)));
    if (_i == FOLDER) {
        /* Another region, which has none: 9 is just a number. */
        must(files_put_text(&c, (struct tfs_key){0, 4, 1, 0}, "channels/color.txt", "fill 9\n"));
        ck_assert(!is_reddish(colour_at(64 + 4, 4)));
    }
}
END_TEST

START_TEST(textures_and_types_have_colours_of_their_own)
{
    open_hex(empty_4);
    must(files_put_text(&c, origin, "channels/sdf.txt", "fill -1\n"));
    uint32_t plain = colour_at(1, 1);
    /* The second of four textures has all the weight. */
    must(files_put_text(&c, origin, "channels/weights.txt", "fill 240\n"));
    uint32_t second = colour_at(1, 1);
    ck_assert_uint_ne(second, plain);
    must(files_put_text(&c, origin, "channels/indices.txt", "fill 1\n"));
    ck_assert_uint_eq(colour_at(1, 1), plain);
    must(files_put_text(&c, origin, "channels/type.txt", "fill 1\n"));
    ck_assert_uint_eq(colour_at(1, 1), second);
    must(files_put_text(&c, origin, "channels/type.txt", "fill 30000\n"));
    uint32_t far = colour_at(1, 1);
    must(files_put_text(&c, origin, "channels/type.txt", "depth 32\nfill 30000\n"));
    ck_assert_uint_eq(colour_at(1, 1), far);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static int sample_count(void)
{
    static const char *const patterns[] = {SAMPLES "caveeditor/*.sqlite", SAMPLES "engine_v?/*",
                                           SAMPLES "handmade/*"};

    for (int i = 0; i < COUNT(patterns); i++)
        glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &samples);
    if (samples.gl_pathc == 0)
        printf("ok - pictures of real saves # skip needs " SAMPLES "\n");
    return (int)samples.gl_pathc;
}

static void add_chunks(TCase *chunks)
{
    tcase_add_test(chunks, pictures_begin_at_the_lowest_chunk_of_level_0);
    LOOP(chunks, limits, pictures_end_at_8192_pixels_and_65535_high);
    tcase_add_test(chunks, a_column_grows_through_chunks_that_are_made);
    tcase_add_test(chunks, a_chunk_that_is_made_has_version_and_depths_of_the_voxel);
    tcase_add_test(chunks, versions_that_do_not_agree_are_refused_with_the_pixel);
    tcase_add_test(chunks, depths_that_do_not_agree_are_refused_with_the_pixel);
    tcase_add_test(chunks, a_row_without_voxels_gets_a_block_when_something_is_raised_into_it);
    tcase_add_test(chunks, a_damaged_chunk_is_empty_and_nothing_is_raised_into_it);
    tcase_add_test(chunks, a_region_does_not_grow_beyond_its_bounds);
    tcase_add_test(chunks, a_folder_makes_the_region_that_a_column_grows_into);
}

static void add_one(TCase *one)
{
    LOOP(one, fillings, a_voxel_counts_by_type_color_or_a_distance_below_zero);
    LOOP(one, fillings, lowering_gives_the_empty_value_that_reads_as_empty);
    tcase_add_test(one, a_uniform_channel_fills_the_whole_chunk);
    tcase_add_test(one, the_highest_of_all_channels_counts);
    tcase_add_test(one, raising_copies_all_values_of_the_top_voxel);
    tcase_add_test(one, a_channel_that_keeps_its_one_value_stays_uniform);
    tcase_add_test(one, lowering_keeps_what_does_not_make_a_voxel_a_filled_one);
    tcase_add_test(one, a_column_lowered_into_a_hollow_ends_at_the_next_voxel);
    tcase_add_test(one, one_block_cannot_grow_nor_begin_from_nothing);
    tcase_add_test(one, a_block_of_another_size_has_another_picture);
    tcase_add_test(one, a_block_wider_than_8192_has_no_picture);
    tcase_add_test(one, with_upgrade_a_sculpted_block_becomes_one_of_version_4);
}

static Suite *picture_suite(void)
{
    Suite *suite = suite_create("godot_picture");
    TCase *one = unit_case(suite, "one"), *chunks = unit_case(suite, "chunks");
    TCase *laws = unit_case(suite, "laws"), *again = unit_case(suite, "again");
    TCase *map = unit_case(suite, "map");
    int saves = MADE + sample_count();

    tcase_add_checked_fixture(one, scratch_setup, teardown);
    tcase_add_checked_fixture(chunks, scratch_setup, teardown);
    tcase_add_checked_fixture(laws, scratch_setup, teardown);
    tcase_add_checked_fixture(again, scratch_setup, teardown);
    tcase_add_checked_fixture(map, scratch_setup, teardown);
    tcase_set_timeout(laws, 120);
    tcase_set_timeout(again, 120);
    add_one(one);
    add_chunks(chunks);
    tcase_add_loop_test(laws, writing_back_what_was_read_changes_nothing, 0, saves);
    tcase_add_loop_test(laws, what_was_written_is_read_again, 0, saves);
    tcase_add_loop_test(again, only_chunks_that_changed_are_looked_into_again, 0, BLOCK);
    LOOP(map, colours, stored_colours_are_those_of_the_map);
    tcase_add_loop_test(map, palette_of_the_region_colours_its_chunks, REGION, FOLDER + 1);
    tcase_add_test(map, textures_and_types_have_colours_of_their_own);
    return suite;
}

UNIT_MAIN(picture_suite)
