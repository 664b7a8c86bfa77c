/* formats/picture on Cosmic Reach regions and Roblox terrain: heights, colours, sculpting, and what
 * is computed again. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/looked_into.h"
#include "../lib/picture_numbers.h"
#include "../lib/place_maker.h"
#include "../lib/region_maker.h"
#include "../lib/tree_files.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/picture/columns.h"
#include "formats/roblox/roblox.h"
#include "image/png.h"
#include "unit.h"

#define HEIGHTMAP "heightmap.png"

static struct tree_files t;

static void open_region(const struct maker_region *r)
{
    struct maker_bytes bytes = {0};

    maker_region_write(r, &bytes);
    int result = tree_files_open(&t, &tfs_cosmic_reach_region, "some.cosmicreach",
                                 (struct tfs_span){bytes.data, bytes.size});
    ck_assert_msg(result == 0, "%s", t.err.text);
    maker_release(&bytes);
}

static void teardown(void)
{
    tree_files_close(&t);
}

static void read_heights(void)
{
    struct tfs_buf png = {0};

    ck_assert_msg(tree_files_get(&t, HEIGHTMAP, &png) == 0, "%s", t.err.text);
    height_picture_read(t.save, t.doc, tfs_buf_span(&png));
    tfs_buf_release(&png);
}

/* Writes `heights`. */
static int put_heights(enum tfs_png_type type)
{
    struct tfs_buf png = {0};

    height_picture_write(type, &png);
    int result = tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png));
    tfs_buf_release(&png);
    return result;
}

/* Sets one pixel and writes the picture. */
static int put_pixel(uint32_t x, uint32_t z, uint16_t height)
{
    read_heights();
    heights[z * width + x] = height;
    return put_heights(TFS_PNG_GREY16);
}

static uint16_t height_at(uint32_t x, uint32_t z)
{
    read_heights();
    return heights[z * width + x];
}

static bool file_has(const char *path, const char *text)
{
    struct tfs_buf out = {0};

    ck_assert_msg(tree_files_get(&t, path, &out) == 0, "%s", t.err.text);
    tfs_buf_u8(&out, '\0');
    bool has = strstr((const char *)out.data, text) != NULL;
    if (!has)
        fprintf(stderr, "%s: %.400s\n", path, (const char *)out.data);
    tfs_buf_release(&out);
    return has;
}

static void check_refused(int result, const char *sentence)
{
    ck_assert_int_eq(result, -EBADMSG);
    ck_assert_msg(strstr(t.err.text, sentence) != NULL, "%s", t.err.text);
}

/* A chunk of air but for these blocks: "x,y,z name" in local coordinates, ended by NULL. */
static void add_chunk(struct maker_region *r, int32_t x, int32_t y, int32_t z,
                      const char *const blocks[])
{
    const char *names[16] = {"base:air"};
    uint16_t ids[MAKER_VOXELS] = {0};
    int32_t count = 1;
    struct maker_chunk *chunk = maker_region_add(r, x, y, z);

    for (; *blocks != NULL; blocks++, count++) {
        unsigned at[3];
        int used;
        ck_assert_int_eq(sscanf(*blocks, "%u,%u,%u %n", &at[0], &at[1], &at[2], &used), 3);
        names[count] = *blocks + used;
        ids[(at[1] * 16 + at[2]) * 16 + at[0]] = (uint16_t)count;
    }
    maker_game_blocks(&chunk->body, names, count, ids, 7);
    maker_add(&chunk->body, "\1\1\0", 3);
}

static void open_chunk(const char *const blocks[])
{
    struct maker_region r = maker_region_init(7);

    add_chunk(&r, 0, 0, 0, blocks);
    open_region(&r);
    maker_region_release(&r);
}

#define BLOCKS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(a_height_counts_voxels_up_to_the_highest_that_is_not_air)
{
    open_chunk(BLOCKS("3,0,1 a:b", "4,15,1 a:b", "5,2,1 a:b", "5,7,1 a:c"));
    ck_assert_uint_eq(height_at(3, 1), 1);
    ck_assert_uint_eq(height_at(4, 1), 16);
    ck_assert_uint_eq(height_at(5, 1), 8);
    ck_assert_uint_eq(height_at(6, 1), 0);
}
END_TEST

START_TEST(pictures_begin_at_the_lowest_chunk_whatever_its_sign)
{
    struct maker_region r = maker_region_init(7);

    add_chunk(&r, -2, -16, -1, BLOCKS("0,0,0 a:b"));
    add_chunk(&r, -1, -14, -3, BLOCKS("15,1,15 a:b"));
    open_region(&r);
    maker_region_release(&r);
    read_heights();
    ck_assert_uint_eq(width, 32);
    ck_assert_uint_eq(depth, 48);
    ck_assert_uint_eq(heights[32 * 32], 1);
    ck_assert_uint_eq(heights[15 * 32 + 31], 34);
    ck_assert(file_has("info.txt", "pictures: 32 x 48 pixels\n"));
    ck_assert(file_has("info.txt", "picture origin: x -32 z -48 is pixel 0,0\n"));
    ck_assert(file_has("info.txt", "picture bottom: y -256: "));
}
END_TEST

START_TEST(the_picture_itself_says_where_it_lies)
{
    struct maker_region r = maker_region_init(7);
    struct tfs_buf png = {0};

    add_chunk(&r, -2, -16, 5, BLOCKS("0,0,0 a:b"));
    open_region(&r);
    maker_region_release(&r);
    ck_assert_int_eq(tree_files_get(&t, HEIGHTMAP, &png), 0);
    ck_assert_ptr_nonnull(memmem(png.data, png.size, "tEXtorigin\0-32 80", 17));
    ck_assert_ptr_nonnull(memmem(png.data, png.size, "tEXtbottom\0-256", 15));
    tfs_buf_release(&png);
}
END_TEST

START_TEST(absent_chunks_are_empty_columns)
{
    struct maker_region r = maker_region_init(7);

    add_chunk(&r, 0, 0, 0, BLOCKS("0,0,0 a:b"));
    add_chunk(&r, 2, 3, 1, BLOCKS("0,0,0 a:b"));
    open_region(&r);
    maker_region_release(&r);
    read_heights();
    ck_assert_uint_eq(width, 48);
    ck_assert_uint_eq(heights[0], 1);
    ck_assert_uint_eq(heights[16], 0);
    ck_assert_uint_eq(heights[16 * 48 + 32], 49);
}
END_TEST

static const struct {
    int32_t version;
    int32_t x, y; /* of a second chunk beside 0_0_0 */
    bool there;
} limits[] = {{0, 511, 0, true}, {0, 512, 0, false}, {0, 0, 4094, true}, {0, 0, 4095, false}};

/* Chunks this far apart are of no region, but a document can hold them. */
START_TEST(pictures_end_at_8192_pixels_and_65535_high)
{
    struct tfs_edit edit;
    struct tfs_error err = {0};

    open_chunk(BLOCKS("0,0,0 a:b"));
    struct tfs_chunk far = *tfs_doc_at(t.doc, 0);
    far.key = (struct tfs_key){0, limits[_i].x, limits[_i].y, 0};
    far.slot = TFS_SLOT_NONE;
    ck_assert_int_eq(tfs_edit_open(t.doc, &edit, &err), 0);
    ck_assert_int_eq(tfs_edit_put(&edit, &far, &err), 0);
    tfs_doc_unref(t.doc);
    t.doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert(tree_files_has(&t, HEIGHTMAP) == limits[_i].there);
    ck_assert(tree_files_has(&t, "map.png")); /* scaled down */
    ck_assert(file_has("info.txt",
                       limits[_i].there ? " pixels\n" : "pictures: map.png alone, because the"));
}
END_TEST

START_TEST(a_save_without_chunks_has_no_pictures)
{
    struct maker_region r = maker_region_init(3);

    open_region(&r);
    maker_region_release(&r);
    ck_assert(!tree_files_has(&t, HEIGHTMAP));
    ck_assert(!tree_files_has(&t, "map.png"));
    ck_assert(file_has("info.txt", "pictures: none, because there are no chunks\n"));
}
END_TEST

/* ---- sculpting ------------------------------------------------------------------------------- */

START_TEST(lowering_clears_what_is_above)
{
    open_chunk(BLOCKS("3,0,1 a:b", "3,1,1 a:b", "3,2,1 a:c", "4,2,1 a:c"));
    ck_assert_int_eq(put_pixel(3, 1, 1), 0);
    ck_assert_uint_eq(height_at(3, 1), 1);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,0,1,a:b\n4,2,1,a:c\n"));
    ck_assert_int_eq(put_pixel(3, 1, 0), 0);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "x,y,z,block\n4,2,1,a:c\n"));
}
END_TEST

START_TEST(a_column_lowered_into_a_hollow_ends_at_the_next_voxel)
{
    open_chunk(BLOCKS("3,1,1 a:b", "3,9,1 a:c"));
    ck_assert_int_eq(put_pixel(3, 1, 6), 0);
    ck_assert_uint_eq(height_at(3, 1), 2);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,1,1,a:b\n"));
}
END_TEST

START_TEST(raising_repeats_the_top_voxel_into_chunks_that_are_made)
{
    open_chunk(BLOCKS("3,14,1 a:b"));
    ck_assert_int_eq(put_pixel(3, 1, 34), 0);
    ck_assert_uint_eq(height_at(3, 1), 34);
    ck_assert_uint_eq(t.doc->count, 3);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "x,y,z,block\n3,14,1,a:b\n3,15,1,a:b\n"));
    ck_assert(file_has("chunks/0_1_0/voxels.csv", "\n3,16,1,a:b\n3,17,1,a:b\n"));
    ck_assert(file_has("chunks/0_2_0/voxels.csv", "x,y,z,block\n3,32,1,a:b\n3,33,1,a:b\n"));
}
END_TEST

START_TEST(an_empty_column_takes_what_is_most_common_around_it)
{
    /* Around 5,5: two a:c, one a:b; a:b is the more common one of the save. */
    open_chunk(BLOCKS("4,0,4 a:c", "6,0,6 a:c", "4,0,5 a:b", "9,0,9 a:b", "0,0,0 a:b"));
    ck_assert_int_eq(put_pixel(5, 5, 2), 0);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "5,0,5,a:c\n"));
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "5,1,5,a:c\n"));
    ck_assert_int_eq(put_pixel(13, 13, 1), 0);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "13,0,13,a:b\n"));
}
END_TEST

START_TEST(empty_columns_look_at_their_neighbours_as_they_were)
{
    open_chunk(BLOCKS("0,0,0 a:c", "9,0,9 a:b", "11,0,9 a:b"));
    read_heights();
    heights[1] = heights[2] = 1;
    ck_assert_int_eq(put_heights(TFS_PNG_GREY16), 0);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", "1,0,0,a:c\n2,0,0,a:b\n"));
}
END_TEST

START_TEST(nothing_can_be_raised_where_there_is_no_voxel)
{
    struct maker_region r = maker_region_init(7);
    struct maker_chunk *chunk = maker_region_add(&r, 0, 0, 0);

    maker_single(&chunk->body, "base:air");
    maker_add(&chunk->body, "\1\1\0", 3);
    open_region(&r);
    maker_region_release(&r);
    check_refused(put_pixel(7, 3, 1), "pixel 7,3: nothing can be raised here");
}
END_TEST

START_TEST(a_column_that_leaves_the_region_is_refused_with_its_first_pixel)
{
    open_chunk(BLOCKS("3,14,1 a:b", "4,14,1 a:b"));
    read_heights();
    heights[16 + 4] = 257;
    heights[16 + 3] = 256;
    struct tfs_doc *before = t.doc;
    check_refused(put_heights(TFS_PNG_GREY16),
                  "pixel 4,1: chunk 0_16_0 is outside this region, which "
                  "holds 0_0_0 to 15_15_15; the largest value here is 256");
    ck_assert_ptr_eq(t.doc, before);
    check_refused(put_pixel(3, 1, 65535), "pixel 3,1: chunk 0_16_0 is outside this region, which "
                                          "holds 0_0_0 to 15_15_15; the largest value here is 256");
}
END_TEST

START_TEST(eight_bits_are_refused_where_heights_need_sixteen)
{
    open_chunk(BLOCKS("3,14,1 a:b"));
    read_heights();
    check_refused(put_heights(TFS_PNG_GREY8), "the heights of the save need 16 (pixel 3,1 does)");
}
END_TEST

START_TEST(a_picture_of_another_size_is_refused_with_both_sizes)
{
    open_chunk(BLOCKS("3,14,1 a:b"));
    read_heights();
    width++;
    ck_assert_int_eq(put_heights(TFS_PNG_GREY16), -EBADMSG);
    ck_assert(strstr(t.err.text, "17") != NULL && strstr(t.err.text, "16") != NULL);
}
END_TEST

/* ---- bounds ---------------------------------------------------------------------------------- */

#define GROUND BLOCKS("3,4,1 a:b", "5,6,1 a:c")

/* One chunk at 0_1_0, so that one can come below it. */
static void open_high(void)
{
    struct maker_region r = maker_region_init(7);

    add_chunk(&r, 0, 1, 0, GROUND);
    open_region(&r);
    maker_region_release(&r);
}

static void create_chunk(int32_t x, int32_t y, int32_t z)
{
    struct tfs_edit edit;

    t.err = (struct tfs_error){0};
    ck_assert_int_eq(tfs_edit_open(t.doc, &edit, &t.err), 0);
    ck_assert_int_eq(
        t.save->tree->chunk_create(t.save, &edit, (struct tfs_key){0, x, y, z}, &t.err), 0);
    tfs_doc_unref(t.doc);
    t.doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
}

static void remove_chunk(int32_t x, int32_t y, int32_t z)
{
    struct tfs_edit edit;

    t.err = (struct tfs_error){0};
    ck_assert_int_eq(tfs_edit_open(t.doc, &edit, &t.err), 0);
    ck_assert_int_eq(tfs_edit_remove(&edit, (struct tfs_key){0, x, y, z}, &t.err), 0);
    tfs_doc_unref(t.doc);
    t.doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
}

START_TEST(a_picture_made_for_another_bottom_is_refused_with_both)
{
    struct tfs_buf png = {0};

    open_high();
    ck_assert_int_eq(tree_files_get(&t, HEIGHTMAP, &png), 0);
    create_chunk(0, 0, 0);
    struct tfs_doc *before = t.doc;
    check_refused(tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png)),
                  "16 x 16 pixels, origin 0 0, bottom 16");
    ck_assert(strstr(t.err.text, "16 x 16 pixels, origin 0 0, bottom 0)") != NULL);
    ck_assert_ptr_eq(t.doc, before);
    tfs_buf_release(&png);
}
END_TEST

START_TEST(a_picture_made_for_another_origin_or_size_is_refused_with_both)
{
    struct tfs_buf png = {0};

    open_high();
    create_chunk(1, 1, 0);
    ck_assert_int_eq(tree_files_get(&t, HEIGHTMAP, &png), 0);
    create_chunk(0, 1, 2);
    check_refused(tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png)), "(32 x 16 pixels, ");
    ck_assert(strstr(t.err.text, "(32 x 48 pixels, ") != NULL);
    remove_chunk(0, 1, 2);
    remove_chunk(0, 1, 0);
    create_chunk(2, 1, 0);
    check_refused(tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png)), "origin 0 0, bottom 16");
    ck_assert(strstr(t.err.text, "origin 16 0, bottom 16") != NULL);
    tfs_buf_release(&png);
}
END_TEST

START_TEST(a_picture_without_texts_is_made_for_the_bounds_of_now)
{
    open_high();
    create_chunk(0, 0, 0);
    ck_assert_int_eq(put_pixel(3, 1, 22), 0);
    ck_assert(file_has("chunks/0_1_0/voxels.csv", "x,y,z,block\n3,20,1,a:b\n3,21,1,a:b\n5,22,1"));
}
END_TEST

/* The keys of tEXt chunks are anybody's: numbers alone are ours. */
START_TEST(texts_of_other_programs_say_nothing_of_bounds)
{
    static const struct tfs_png_text texts[] = {{"origin", "a survey"}, {"bottom", "0 m"}};
    const struct tfs_png_shape shape = {
        .width = 16, .height = 16, .type = TFS_PNG_GREY16, .texts = texts, .text_count = 2};
    struct tfs_buf png = {0};

    open_high();
    read_heights();
    ck_assert_int_eq(tfs_png_write(&shape, height_row, (void *)&shape, &png, &t.err), 0);
    ck_assert_msg(tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png)) == 0, "%s", t.err.text);
    tfs_buf_release(&png);
}
END_TEST

static struct tfs_buf original;

/* What `import` does: a picture is exported, chunks come and go, and then it is put. */
static void export_heights(void)
{
    tfs_buf_release(&original);
    ck_assert_int_eq(tree_files_get(&t, HEIGHTMAP, &original), 0);
    read_heights();
}

static int import_heights(void)
{
    t.how.original = tfs_buf_span(&original);
    int result = put_heights(TFS_PNG_GREY16);
    t.how.original = (struct tfs_span){0};
    return result;
}

static const struct {
    int32_t x, y, z;
} comes[] = {{0, 0, 0}, {0, 2, 0}, {1, 1, 0}, {0, 0, 1}, {1, 15, 1}};

START_TEST(a_picture_counts_from_the_bounds_of_what_it_was_made_from)
{
    open_high();
    export_heights();
    heights[width + 3] = 6; /* of 5, one higher */
    heights[width + 5] = 0;
    create_chunk(comes[_i].x, comes[_i].y, comes[_i].z);
    ck_assert_msg(import_heights() == 0, "%s", t.err.text);
    ck_assert(file_has("chunks/0_1_0/voxels.csv", "x,y,z,block\n3,20,1,a:b\n3,21,1,a:b\n"));
    ck_assert_uint_eq(t.doc->count, 2);
    tfs_buf_release(&original);
}
END_TEST

START_TEST(a_picture_leaves_what_changed_where_it_says_nothing_new)
{
    open_high();
    export_heights();
    heights[width + 3] = 6;
    ck_assert_int_eq(tree_files_put(&t, "chunks/0_1_0/voxels.csv",
                                    tfs_span_of("x,y,z,block\n3,20,1,a:b\n9,30,9,a:c\n")),
                     0);
    ck_assert_msg(import_heights() == 0, "%s", t.err.text);
    ck_assert(file_has("chunks/0_1_0/voxels.csv", "block\n3,20,1,a:b\n3,21,1,a:b\n9,30,9,a:c\n"));
    tfs_buf_release(&original);
}
END_TEST

START_TEST(a_picture_reaches_into_the_place_of_a_chunk_that_went)
{
    open_high();
    create_chunk(1, 0, 1);
    export_heights();
    heights[width + 3] = 22;
    remove_chunk(1, 0, 1);
    ck_assert_msg(import_heights() == 0, "%s", t.err.text);
    ck_assert(file_has("chunks/0_1_0/voxels.csv", "block\n3,20,1,a:b\n3,21,1,a:b\n5,22,1,a:c\n"));
    ck_assert_uint_eq(t.doc->count, 1);
    tfs_buf_release(&original);
}
END_TEST

static const struct tfs_png_text strange[][2] = {
    {{"origin", "8 0"}, {"bottom", "0"}},
    {{"origin", "0 0"}, {"bottom", "-9223372036854775808"}},
    {{"origin", "0 9223372036854775807"}, {"bottom", "0"}},
    {{"origin", "34359738352 0"}, {"bottom", "0"}},
    {{"other", "0 0"}, {"more", "0"}},
};

START_TEST(what_a_picture_was_made_from_is_one_that_this_save_can_have)
{
    const struct tfs_png_shape shape = {
        .width = 16, .height = 16, .type = TFS_PNG_GREY16, .texts = strange[_i], .text_count = 2};

    open_high();
    read_heights();
    heights[width + 3] = 6;
    ck_assert_int_eq(tfs_png_write(&shape, height_row, (void *)&shape, &original, &t.err), 0);
    check_refused(import_heights(), "is not of this save");
    tfs_buf_release(&original);
}
END_TEST

/* ---- voxels that can be partial -------------------------------------------------------------- */

static void open_value(struct maker_bytes *bytes)
{
    int result = tree_files_open(&t, &tfs_rbx_blob_container, "some.bin",
                                 (struct tfs_span){bytes->data, bytes->size});

    ck_assert_msg(result == 0, "%s", t.err.text);
    maker_release(bytes);
}

static void open_place(unsigned chunks, unsigned log2, uint64_t seed)
{
    struct place_world world = {.seed = seed, .chunks = chunks, .log2 = log2};
    struct maker_bytes bytes = {0};

    place_grid(&bytes, &world);
    open_value(&bytes);
}

/* One chunk of 4 x 4 x 4 cells of Air at 0,0,0. */
static void open_air(void)
{
    static const struct place_cell cells[64];
    struct maker_bytes bytes = {0};

    place_hex(&bytes, "0102 000000000000000000000000");
    place_records(&bytes, cells, 64);
    open_value(&bytes);
}

#define CELLS "x,y,z,material,occupancy,water\n"

static const struct {
    const char *before;
    uint16_t height;
    const char *after;
} partial[] = {
    {"0,0,0,Grass,100,50\n", 3, "0,0,0,Grass,255,0\n0,1,0,Grass,255,0\n0,2,0,Grass,100,50\n"},
    {"0,0,0,Rock,200,0\n0,1,0,Grass,9,0\n", 1, "0,0,0,Rock,200,0\n"},
    {"0,0,0,Water,40,0\n", 2, "0,0,0,Water,255,0\n0,1,0,Water,40,0\n"},
    /* Its neighbour's partial top goes to the top. */
    {"1,0,1,Sand,30,0\n", 2, "0,0,0,Sand,255,0\n1,0,1,Sand,30,0\n0,1,0,Sand,30,0\n"},
};

START_TEST(a_partial_top_moves_up_and_what_is_below_is_full)
{
    static const char path[] = "chunks/0_0_0/voxels.csv";
    char text[256];

    open_air();
    snprintf(text, sizeof(text), CELLS "%s", partial[_i].before);
    ck_assert_msg(tree_files_put(&t, path, tfs_span_of(text)) == 0, "%s", t.err.text);
    ck_assert_msg(put_pixel(0, 0, partial[_i].height) == 0, "%s", t.err.text);
    ck_assert_uint_eq(height_at(0, 0), partial[_i].height);
    snprintf(text, sizeof(text), CELLS "%s", partial[_i].after);
    ck_assert(file_has(path, text));
}
END_TEST

START_TEST(a_partial_top_is_made_full_in_the_chunk_below)
{
    open_air();
    ck_assert_int_eq(
        tree_files_put(&t, "chunks/0_0_0/voxels.csv", tfs_span_of(CELLS "3,3,2,Mud,7,0\n")), 0);
    ck_assert_int_eq(put_pixel(3, 2, 5), 0);
    ck_assert(file_has("chunks/0_0_0/voxels.csv", CELLS "3,3,2,Mud,255,0\n"));
    ck_assert(file_has("chunks/0_1_0/voxels.csv", CELLS "3,4,2,Mud,7,0\n"));
}
END_TEST

/* ---- laws ------------------------------------------------------------------------------------ */

#define REGIONS 16
#define PLACES  6

/* A landscape of 48 x 48, then regions with anything in them, then terrain of Roblox. */
static void open_random(int seed)
{
    struct maker_region r = maker_region_init(seed % 8);

    if (seed >= REGIONS) {
        open_place(12, (unsigned)seed % 3 + 2, (uint64_t)seed);
        return;
    }
    if (seed == 0)
        maker_demo(&r, 27, 1);
    else
        maker_random_region(&r, (unsigned)(seed * 2), (uint64_t)seed);
    open_region(&r);
    maker_region_release(&r);
}

START_TEST(writing_back_what_was_read_changes_nothing)
{
    struct tfs_buf png = {0};

    open_random(_i);
    struct tfs_doc *before = t.doc;
    ck_assert_int_eq(tree_files_get(&t, HEIGHTMAP, &png), 0);
    ck_assert_msg(tree_files_put(&t, HEIGHTMAP, tfs_buf_span(&png)) == 0, "%s", t.err.text);
    ck_assert_ptr_eq(t.doc, before);
    tfs_buf_release(&png);
}
END_TEST

static uint16_t wanted[HEIGHTS_MAX], previous[HEIGHTS_MAX];

/* Changes about one pixel in four, none above the save's bounds. */
static void draw_heights(struct maker_random *random)
{
    struct tfs_picture_box box;

    ck_assert(tfs_picture_box(t.save->tree->voxels, t.doc, &box));
    read_heights();
    memcpy(previous, heights, sizeof(heights));
    for (size_t i = 0; i < (size_t)width * depth; i++)
        if (maker_draw(random, 4) == 0)
            heights[i] = (uint16_t)maker_draw(random, (uint32_t)box.sy + 1);
    memcpy(wanted, heights, sizeof(heights));
}

/* Raised and untouched columns are as written; lowered ones too, or lower where there was a
 * hollow. */
START_TEST(what_was_written_is_read_again)
{
    struct maker_random random = {(uint64_t)_i};

    open_random(_i);
    draw_heights(&random);
    ck_assert_msg(put_heights(TFS_PNG_GREY16) == 0, "%s", t.err.text);
    read_heights();
    for (size_t i = 0; i < (size_t)width * depth; i++) {
        if (wanted[i] < previous[i])
            ck_assert_uint_le(heights[i], wanted[i]);
        else
            ck_assert_uint_eq(heights[i], wanted[i]);
    }
    for (size_t i = 0; i < t.doc->count; i++)
        ck_assert_msg(
            t.save->tree->chunk_check(t.save, t.doc, tfs_doc_at(t.doc, i)->key, NULL, &t.err) == 0,
            "%s", t.err.text);
}
END_TEST

/* ---- what is computed again ------------------------------------------------------------------ */

START_TEST(only_chunks_that_changed_are_looked_into_again)
{
    struct maker_region r = maker_region_init(7);

    maker_demo(&r, 300, 1); /* enough for several threads */
    open_region(&r);
    maker_region_release(&r);
    /* Three layers of 100, of which the lowest is covered in places. */
    size_t first = looked_into(t.save, t.doc);
    ck_assert_uint_ge(first, 200);
    ck_assert_uint_lt(first, 300);
    ck_assert_uint_eq(looked_into(t.save, t.doc), 0);
    ck_assert_int_eq(
        tree_files_put(&t, "chunks/0_2_0/voxels.csv", tfs_span_of("x,y,z,block\n1,32,1,a:b\n")), 0);
    ck_assert_uint_eq(looked_into(t.save, t.doc), 1);
    ck_assert_uint_eq(looked_into(t.save, t.doc), 0);
}
END_TEST

/* The bytes of a picture in parts of `step` bytes. */
static void read_in_ranges(const struct tfs_lens *lens, uint64_t step, struct tfs_buf *out)
{
    const struct tfs_at root = {0};
    struct tfs_error err = {0};

    for (size_t before = SIZE_MAX; before != out->size;) {
        before = out->size;
        ck_assert_int_eq(lens->get_range(t.save, t.doc, root, before, step, out, &err), 0);
        ck_assert_uint_le(out->size, before + step);
    }
}

static const uint64_t part_sizes[] = {20011, 65541, 100000, 1 << 20};

static void check_parts(const struct tfs_lens *lens, uint64_t step)
{
    const struct tfs_at root = {0};
    struct tfs_buf whole = {0}, parts = {0}, tail = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(lens->get(t.save, t.doc, root, &whole, &err), 0);
    ck_assert_int_eq(lens->size(t.save, t.doc, root), (int64_t)whole.size);
    read_in_ranges(lens, step, &parts);
    ck_assert(tfs_span_equal(tfs_buf_span(&parts), tfs_buf_span(&whole)));
    ck_assert_int_eq(lens->get_range(t.save, t.doc, root, whole.size - 20, UINT64_MAX, &tail, &err),
                     0);
    ck_assert_uint_eq(tail.size, 20);
    ck_assert_mem_eq(tail.data, whole.data + whole.size - 20, 20);
    tfs_buf_release(&whole);
    tfs_buf_release(&parts);
    tfs_buf_release(&tail);
}

/* With memory for all columns and for none; the last part first, and after an edit. */
START_TEST(a_picture_in_parts_is_that_of_one)
{
    struct maker_region r = maker_region_init(7);
    const uint64_t step = part_sizes[_i / 2];

    maker_demo(&r, 300, 1);
    open_region(&r);
    maker_region_release(&r);
    t.save->options.memory = (uint64_t)(_i % 2);
    check_parts(&tfs_map_lens, step);
    check_parts(&tfs_heightmap_lens, step);
    ck_assert_int_eq(
        tree_files_put(&t, "chunks/0_2_0/voxels.csv", tfs_span_of("x,y,z,block\n1,32,1,a:b\n")), 0);
    check_parts(&tfs_heightmap_lens, step);
    check_parts(&tfs_map_lens, step);
}
END_TEST

START_TEST(columns_are_kept_as_far_as_there_is_memory)
{
    struct maker_region r = maker_region_init(7);

    maker_demo(&r, 300, 1);
    open_region(&r);
    maker_region_release(&r);
    t.save->options.memory = 1;
    const size_t first = looked_into(t.save, t.doc);
    ck_assert_uint_eq(looked_into(t.save, t.doc), first);
    t.save->options.memory = 1 << 20;
    ck_assert_uint_eq(looked_into(t.save, t.doc), first);
    ck_assert_uint_eq(looked_into(t.save, t.doc), 0);
}
END_TEST

START_TEST(pictures_change_with_blocks_and_not_with_light)
{
    const struct tfs_tree *tree = &tfs_cosmic_reach_tree;

    open_chunk(BLOCKS("3,14,1 a:b"));
    struct tfs_doc *before = tfs_doc_ref(t.doc);
    ck_assert_int_eq(tree_files_put(&t, "chunks/0_0_0/lights/sky.txt", tfs_span_of("fill 3\n")),
                     -ENOENT);
    ck_assert_int_eq(put_pixel(3, 1, 16), 0);
    uint32_t changes = tree->root_changes(before, t.doc), pictures = 0;
    for (unsigned i = 0; i < tree->root_count; i++)
        if (strstr(tree->root_files[i].path, ".png") ||
            strstr(tree->root_files[i].path, "blocks.npy"))
            pictures |= UINT32_C(1) << i;
    ck_assert_uint_eq(changes & ((UINT32_C(1) << tree->root_count) - 1), pictures);
    tfs_doc_unref(before);
}
END_TEST

/* ---- colours and the map --------------------------------------------------------------------- */

static const struct {
    const char *a, *b;
    bool same;
} alike[] = {
    {"base:grass[type=full]", "other:grass_blades", true},
    {"base:water[type=source]", "base:water[type=flow,level=3]", true},
    {"base:stone_gravel", "base:gravel", true},
    {"base:stone_gravel", "base:stone_basalt", false},
    {"mod:bluestone", "base:stone", true},
    {"mod:sandstone", "mod:sand", false},
    {"base:zyx", "base:zyy", false},
    {"base:zyx", "base:zyx[a=b]", true},
    {"", "[", true},
};

START_TEST(names_with_the_same_word_have_one_colour)
{
    bool water;

    uint32_t a = tfs_colour_of_name(tfs_span_of(alike[_i].a), &water);
    uint32_t b = tfs_colour_of_name(tfs_span_of(alike[_i].b), &water);
    ck_assert(a <= 0xffffff && b <= 0xffffff);
    ck_assert((a == b) == alike[_i].same);
}
END_TEST

static const char *const words[] = {"aluminium", "bedrock", "dirt",  "grass",  "ice",   "leaves",
                                    "lava",      "log",     "stone", "planks", "yellow"};

START_TEST(words_of_the_table_are_found_with_and_without_a_tail)
{
    bool water;
    char with[64];

    snprintf(with, sizeof(with), "game:%s_9", words[_i]);
    uint32_t plain = tfs_colour_of_name(tfs_span_of(words[_i]), &water);
    ck_assert_uint_eq(tfs_colour_of_name(tfs_span_of(with), &water), plain);
    ck_assert_uint_ne(tfs_colour_of_hash(tfs_span_of(words[_i])), plain);
    ck_assert(!water);
}
END_TEST

/* red + green + blue of a pixel of map.png. */
static unsigned brightness(uint32_t x, uint32_t z)
{
    struct tfs_buf png = {0};

    ck_assert_int_eq(tree_files_get(&t, "map.png", &png), 0);
    const uint32_t colour = map_picture_colour(tfs_buf_span(&png), x, z);
    tfs_buf_release(&png);
    return (colour >> 16) + (colour >> 8 & 0xff) + (colour & 0xff);
}

/* A region of one chunk without air. */
static void open_full(void)
{
    static const char *const names[] = {"a:stone"};
    const uint16_t ids[MAKER_VOXELS] = {0};
    struct maker_region r = maker_region_init(7);
    struct maker_chunk *chunk = maker_region_add(&r, 0, 0, 0);

    maker_game_blocks(&chunk->body, names, 1, ids, 7);
    maker_add(&chunk->body, "\1\1\0", 3);
    open_region(&r);
    maker_region_release(&r);
}

/* More than what is computed in one go; of each stack of two, one covers the other. */
START_TEST(columns_of_a_wide_save_lie_in_their_places)
{
    enum { WIDE = 100, DEEP = 4, HIGH = 5 };
    uint16_t tops[DEEP][WIDE] = {{16}};
    uint32_t bright[HIGH + 1] = {0};
    struct tfs_edit edit;
    struct tfs_error err = {0};

    open_full();
    struct tfs_chunk chunk = *tfs_doc_at(t.doc, 0);
    chunk.slot = TFS_SLOT_NONE;
    ck_assert_int_eq(tfs_edit_open(t.doc, &edit, &err), 0);
    for (int32_t i = 0; i < 2 * WIDE; i++) {
        chunk.key = (struct tfs_key){0, i % WIDE, (i * 7 + i / WIDE) % HIGH, i % DEEP};
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
        uint16_t *height = &tops[chunk.key.z][chunk.key.x], top = 16 * (uint16_t)(chunk.key.y + 1);
        *height = *height > top ? *height : top;
    }
    tfs_doc_unref(t.doc);
    t.doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert_uint_eq(looked_into(t.save, t.doc), WIDE);
    read_heights();
    ck_assert_uint_eq(width, 16 * WIDE);
    ck_assert_uint_eq(depth, 16 * DEEP);
    for (uint32_t z = 0; z < DEEP; z++)
        for (uint32_t x = 0; x < WIDE; x++) {
            ck_assert_uint_eq(heights[16 * z * width + 16 * x], tops[z][x]);
            bright[tops[z][x] / 16] = brightness(16 * x + 8, 16 * z + 8);
        }
    for (unsigned i = 2; i <= HIGH; i++)
        ck_assert_uint_gt(bright[i], bright[i - 1]);
}
END_TEST

START_TEST(the_map_is_lit_from_the_north_west)
{
    /* A step up to the east, a step down, and level ground. */
    open_chunk(BLOCKS("2,3,1 x:stone", "3,4,1 x:stone", "4,4,1 x:stone", "5,3,1 x:stone"));
    ck_assert_uint_gt(brightness(3, 1), brightness(4, 1));
    ck_assert_uint_lt(brightness(5, 1), brightness(2, 1));
    ck_assert_uint_lt(brightness(9, 9), brightness(5, 1));
}
END_TEST

static void add_water(struct maker_region *r, int32_t x, int32_t y)
{
    struct maker_chunk *chunk = maker_region_add(r, x, y, 0);

    maker_single(&chunk->body, "x:water");
    maker_add(&chunk->body, "\1\1\0", 3);
}

START_TEST(deep_water_is_darker_than_shallow_across_chunks)
{
    struct maker_region r = maker_region_init(7);

    add_chunk(&r, 0, 0, 0, BLOCKS("0,0,0 x:sand", "1,15,1 x:sand"));
    add_water(&r, 0, 1);
    add_water(&r, 1, 0);
    add_water(&r, 1, 1);
    open_region(&r);
    maker_region_release(&r);
    ck_assert_uint_gt(brightness(0, 5), brightness(20, 5));
    /* Sand right below sixteen blocks of water. */
    ck_assert_uint_gt(brightness(1, 1), brightness(0, 5));
}
END_TEST

START_TEST(the_map_cannot_be_written)
{
    open_chunk(BLOCKS("3,14,1 a:b"));
    ck_assert(!tree_files_writable(&t, "map.png"));
    ck_assert(tree_files_writable(&t, HEIGHTMAP));
}
END_TEST

/* ---- heightmap-view.png ---------------------------------------------------------------------- */

static void check_view(const char *low, const char *high, const uint8_t *shades, size_t count)
{
    struct tfs_png_shape shape = {.type = TFS_PNG_GREY8};
    struct tfs_buf png = {0}, samples = {0};
    struct tfs_error err = {0};
    struct tfs_span said;
    unsigned bits;

    ck_assert_int_eq(tree_files_get(&t, "heightmap-view.png", &png), 0);
    ck_assert(tfs_png_sides(tfs_buf_span(&png), &shape.width, &shape.height));
    ck_assert_int_eq(tfs_png_read(tfs_buf_span(&png), &shape, &samples, &bits, &err), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(samples.data[i], shades[i]);
    ck_assert(tfs_png_text_find(tfs_buf_span(&png), "low", &said));
    ck_assert(tfs_span_equal(said, tfs_span_of(low)));
    ck_assert(tfs_png_text_find(tfs_buf_span(&png), "high", &said));
    ck_assert(tfs_span_equal(said, tfs_span_of(high)));
    tfs_buf_release(&samples);
    tfs_buf_release(&png);
}

START_TEST(the_view_of_heights_goes_from_black_to_white)
{
    static const uint8_t shades[] = {1, 0, 128, 255, 0};

    open_chunk(BLOCKS("0,2,0 a:b", "2,7,0 a:b", "3,12,0 a:b"));
    check_view("00003", "00013", shades, 5);
    ck_assert(!tree_files_writable(&t, "heightmap-view.png"));
}
END_TEST

START_TEST(the_view_of_one_height_is_white)
{
    static const uint8_t shades[] = {0, 255, 0};

    open_chunk(BLOCKS("1,5,0 a:b"));
    check_view("00006", "00006", shades, 3);
}
END_TEST

START_TEST(the_view_of_empty_columns_is_black)
{
    static const uint8_t shades[] = {0, 0};

    open_chunk(BLOCKS("0,0,0 base:air"));
    check_view("00000", "00000", shades, 2);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static void add_sculpting(TCase *sculpting)
{
    tcase_set_timeout(sculpting, 60);
    tcase_add_test(sculpting, lowering_clears_what_is_above);
    tcase_add_test(sculpting, a_column_lowered_into_a_hollow_ends_at_the_next_voxel);
    tcase_add_test(sculpting, raising_repeats_the_top_voxel_into_chunks_that_are_made);
    tcase_add_test(sculpting, an_empty_column_takes_what_is_most_common_around_it);
    tcase_add_test(sculpting, empty_columns_look_at_their_neighbours_as_they_were);
    tcase_add_test(sculpting, nothing_can_be_raised_where_there_is_no_voxel);
    tcase_add_test(sculpting, a_column_that_leaves_the_region_is_refused_with_its_first_pixel);
    tcase_add_test(sculpting, eight_bits_are_refused_where_heights_need_sixteen);
    tcase_add_test(sculpting, a_picture_of_another_size_is_refused_with_both_sizes);
    tcase_add_loop_test(sculpting, writing_back_what_was_read_changes_nothing, 0, REGIONS + PLACES);
    tcase_add_loop_test(sculpting, what_was_written_is_read_again, 0, REGIONS + PLACES);
    LOOP(sculpting, partial, a_partial_top_moves_up_and_what_is_below_is_full);
    tcase_add_test(sculpting, a_partial_top_is_made_full_in_the_chunk_below);
}

static void add_bounds(TCase *bounds)
{
    tcase_add_checked_fixture(bounds, NULL, teardown);
    tcase_add_test(bounds, a_picture_made_for_another_bottom_is_refused_with_both);
    tcase_add_test(bounds, a_picture_made_for_another_origin_or_size_is_refused_with_both);
    tcase_add_test(bounds, a_picture_without_texts_is_made_for_the_bounds_of_now);
    tcase_add_test(bounds, texts_of_other_programs_say_nothing_of_bounds);
    LOOP(bounds, comes, a_picture_counts_from_the_bounds_of_what_it_was_made_from);
    LOOP(bounds, strange, what_a_picture_was_made_from_is_one_that_this_save_can_have);
    tcase_add_test(bounds, a_picture_leaves_what_changed_where_it_says_nothing_new);
    tcase_add_test(bounds, a_picture_reaches_into_the_place_of_a_chunk_that_went);
}

static Suite *picture_suite(void)
{
    Suite *suite = suite_create("picture");
    TCase *reading = unit_case(suite, "reading"), *sculpting = unit_case(suite, "sculpting");
    TCase *again = unit_case(suite, "again"), *map = unit_case(suite, "map");
    TCase *colours = unit_case(suite, "colours");

    tcase_add_checked_fixture(reading, NULL, teardown);
    tcase_add_checked_fixture(sculpting, NULL, teardown);
    tcase_add_checked_fixture(again, NULL, teardown);
    tcase_add_checked_fixture(map, NULL, teardown);
    tcase_add_test(reading, a_height_counts_voxels_up_to_the_highest_that_is_not_air);
    tcase_add_test(reading, pictures_begin_at_the_lowest_chunk_whatever_its_sign);
    tcase_add_test(reading, the_picture_itself_says_where_it_lies);
    tcase_add_test(reading, absent_chunks_are_empty_columns);
    tcase_add_test(reading, columns_of_a_wide_save_lie_in_their_places);
    LOOP(reading, limits, pictures_end_at_8192_pixels_and_65535_high);
    tcase_add_test(reading, a_save_without_chunks_has_no_pictures);
    add_sculpting(sculpting);
    add_bounds(unit_case(suite, "bounds"));
    tcase_add_test(again, only_chunks_that_changed_are_looked_into_again);
    tcase_set_timeout(again, 60);
    tcase_add_test(again, columns_are_kept_as_far_as_there_is_memory);
    tcase_add_loop_test(again, a_picture_in_parts_is_that_of_one, 0, 2 * COUNT(part_sizes));
    tcase_add_test(again, pictures_change_with_blocks_and_not_with_light);
    LOOP(colours, alike, names_with_the_same_word_have_one_colour);
    LOOP(colours, words, words_of_the_table_are_found_with_and_without_a_tail);
    tcase_add_test(map, the_map_is_lit_from_the_north_west);
    tcase_add_test(map, deep_water_is_darker_than_shallow_across_chunks);
    tcase_add_test(map, the_map_cannot_be_written);
    tcase_add_test(map, the_view_of_heights_goes_from_black_to_white);
    tcase_add_test(map, the_view_of_one_height_is_white);
    tcase_add_test(map, the_view_of_empty_columns_is_black);
    return suite;
}

UNIT_MAIN(picture_suite)
