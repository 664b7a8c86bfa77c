/* heightmap.png written on Cosmic Reach regions and Roblox terrain: what edits come of it, and the
 * bounds that a picture was made for. */
#include "formats/cells/cells.h"
#include "formats/views/pictures/columns.h"
#include "image/png.h"
#include "picture_case.h"

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
    check_refused(put_pixel(3, 1, 65535),
                  "pixel 3,1: too high: the save would be higher than a picture can tell");
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
    ck_assert_int_eq(tfs_chunk_create(t.save, &edit, (struct tfs_key){0, x, y, z}, &t.err), 0);
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

/* Raised and untouched columns are as written; lowered ones too, or lower where there was a
 * hollow. */
START_TEST(what_was_written_is_read_again)
{
    struct maker_random random = {(uint64_t)_i};

    open_random(_i);
    read_heights();
    heights_draw(t.save, t.doc, &random);
    ck_assert_msg(put_heights(TFS_PNG_GREY16) == 0, "%s", t.err.text);
    read_heights();
    heights_check();
    for (size_t i = 0; i < t.doc->count; i++)
        ck_assert_msg(tfs_cells_check(t.save, t.doc, tfs_doc_at(t.doc, i)->key, NULL, &t.err) == 0,
                      "%s", t.err.text);
}
END_TEST

static Suite *sculpting_suite(void)
{
    Suite *suite = suite_create("sculpting");
    TCase *sculpting = unit_case(suite, "sculpting"), *bounds = unit_case(suite, "bounds");

    tcase_add_checked_fixture(sculpting, NULL, teardown);
    tcase_add_checked_fixture(bounds, NULL, teardown);
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
    tcase_add_test(bounds, a_picture_made_for_another_bottom_is_refused_with_both);
    tcase_add_test(bounds, a_picture_made_for_another_origin_or_size_is_refused_with_both);
    tcase_add_test(bounds, a_picture_without_texts_is_made_for_the_bounds_of_now);
    tcase_add_test(bounds, texts_of_other_programs_say_nothing_of_bounds);
    LOOP(bounds, comes, a_picture_counts_from_the_bounds_of_what_it_was_made_from);
    LOOP(bounds, strange, what_a_picture_was_made_from_is_one_that_this_save_can_have);
    tcase_add_test(bounds, a_picture_leaves_what_changed_where_it_says_nothing_new);
    tcase_add_test(bounds, a_picture_reaches_into_the_place_of_a_chunk_that_went);
    return suite;
}

UNIT_MAIN(sculpting_suite)
