/* formats/picture on Cosmic Reach regions: heights, colours, and what is computed again. */
#include "../lib/looked_into.h"
#include "formats/views/pictures/columns.h"
#include "image/png.h"
#include "picture_case.h"

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
    ck_assert(tree_files_has(&t, "map.png") == (limits[_i].there || limits[_i].x > 0));
    ck_assert(file_has("info.txt", limits[_i].there ? " pixels\n"
                                   : limits[_i].x > 0
                                       ? "pictures: map.png alone, because the"
                                       : "pictures: none, because they are of saves"));
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

/* ---- what is computed again ------------------------------------------------------------------ */

START_TEST(only_stacks_that_changed_are_looked_into_again)
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
    const size_t again = looked_into(t.save, t.doc);
    ck_assert_uint_ge(again, 1);
    ck_assert_uint_le(again, 3); /* one above the other */
    ck_assert_uint_eq(looked_into(t.save, t.doc), 0);
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
    {"RockyDirt2", "base:dirt", true},
    {"ASPHALT_wet", "asphalt", true},
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

START_TEST(names_without_a_known_word_are_muted)
{
    bool water;

    const uint32_t colour = tfs_colour_of_name(tfs_span_of("warning_material"), &water);
    for (unsigned shift = 0; shift < 24; shift += 8)
        ck_assert(abs((int)(colour >> shift & 0xff) - 0x80) < 0x20);
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

static void check_view(const uint8_t *shades, size_t count)
{
    struct tfs_png_shape shape = {.type = TFS_PNG_GREY8};
    struct tfs_buf png = {0}, samples = {0};
    struct tfs_error err = {0};
    unsigned bits;

    ck_assert_int_eq(tree_files_get(&t, "heightmap-view.png", &png), 0);
    ck_assert(tfs_png_sides(tfs_buf_span(&png), &shape.width, &shape.height));
    ck_assert_int_eq(tfs_png_read(tfs_buf_span(&png), &shape, &samples, &bits, &err), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(samples.data[i], shades[i]);
    tfs_buf_release(&samples);
    tfs_buf_release(&png);
}

START_TEST(the_view_of_heights_goes_from_black_to_white)
{
    static const uint8_t shades[] = {1, 0, 128, 255, 0};

    open_chunk(BLOCKS("0,2,0 a:b", "2,7,0 a:b", "3,12,0 a:b"));
    check_view(shades, 5);
    ck_assert(!tree_files_writable(&t, "heightmap-view.png"));
}
END_TEST

START_TEST(the_view_of_one_height_is_grey)
{
    static const uint8_t shades[] = {0, 128, 0};

    open_chunk(BLOCKS("1,5,0 a:b"));
    check_view(shades, 3);
}
END_TEST

START_TEST(the_view_of_empty_columns_is_black)
{
    static const uint8_t shades[] = {0, 0};

    open_chunk(BLOCKS("0,0,0 base:air"));
    check_view(shades, 2);
}
END_TEST

static Suite *picture_suite(void)
{
    Suite *suite = suite_create("picture");
    TCase *reading = unit_case(suite, "reading"), *again = unit_case(suite, "again"),
          *map = unit_case(suite, "map"), *colours = unit_case(suite, "colours");

    tcase_add_checked_fixture(reading, NULL, teardown);
    tcase_add_checked_fixture(again, NULL, teardown);
    tcase_add_checked_fixture(map, NULL, teardown);
    tcase_add_test(reading, a_height_counts_voxels_up_to_the_highest_that_is_not_air);
    tcase_add_test(reading, pictures_begin_at_the_lowest_chunk_whatever_its_sign);
    tcase_add_test(reading, the_picture_itself_says_where_it_lies);
    tcase_add_test(reading, absent_chunks_are_empty_columns);
    tcase_add_test(reading, columns_of_a_wide_save_lie_in_their_places);
    LOOP(reading, limits, pictures_end_at_8192_pixels_and_65535_high);
    tcase_add_test(reading, a_save_without_chunks_has_no_pictures);
    tcase_add_test(again, only_stacks_that_changed_are_looked_into_again);
    tcase_set_timeout(again, 60);
    tcase_add_test(map, the_map_is_lit_from_the_north_west);
    tcase_add_test(map, deep_water_is_darker_than_shallow_across_chunks);
    tcase_add_test(map, the_map_cannot_be_written);
    tcase_add_test(map, the_view_of_heights_goes_from_black_to_white);
    tcase_add_test(map, the_view_of_one_height_is_grey);
    tcase_add_test(map, the_view_of_empty_columns_is_black);
    LOOP(colours, alike, names_with_the_same_word_have_one_colour);
    LOOP(colours, words, words_of_the_table_are_found_with_and_without_a_tail);
    tcase_add_test(colours, names_without_a_known_word_are_muted);
    return suite;
}

UNIT_MAIN(picture_suite)
