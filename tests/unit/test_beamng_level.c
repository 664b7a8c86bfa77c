/*
 * Lines of `items.level.json` -> what TerrainBlock objects say; which of their words are numbers.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "formats/beamng/block.h"

static struct tfs_beamng_blocks read_text(const char *text)
{
    struct tfs_beamng_blocks blocks = {0};

    ck_assert_int_eq(tfs_beamng_blocks_read(tfs_span_of(text), &blocks), 0);
    return blocks;
}

START_TEST(beamng_block_has_what_its_line_says)
{
    struct tfs_beamng_blocks blocks = read_text(
        "{\"class\":\"SimGroup\",\"name\":\"a\"}\n\n"
        " {\"maxHeight\" : 500.5, \"class\":\"TerrainBlock\",\"name\":\"the\\u0054errain\","
        "\"position\":[-1, 2.5,\t-1e1],\"squareSize\":0.5,\"terrainFile\":\"/levels/a/b.ter\"} \r\n"
        "{\"class\":\"TerrainBlock\"}");

    ck_assert_uint_eq(blocks.count, 2);
    ck_assert_uint_eq(blocks.bad, 0);
    const struct tfs_beamng_block *block = &blocks.items[0];
    ck_assert_str_eq(block->name, "theTerrain");
    ck_assert_str_eq(block->file, "/levels/a/b.ter");
    ck_assert(block->placed);
    ck_assert_double_eq(block->position[0], -1);
    ck_assert_double_eq(block->position[1], 2.5);
    ck_assert_double_eq(block->position[2], -10);
    ck_assert_double_eq(block->square, 0.5);
    ck_assert_double_eq(block->height, 500.5);
    block = &blocks.items[1];
    ck_assert_ptr_null(block->name);
    ck_assert_ptr_null(block->file);
    ck_assert(!block->placed);
    ck_assert_double_eq(block->square, 1);
    ck_assert_double_eq(block->height, 0);
    tfs_beamng_blocks_release(&blocks);
}
END_TEST

/* What cannot be read is counted where it speaks of a TerrainBlock, and nothing elsewhere. */
START_TEST(beamng_lines_that_are_no_object_are_counted)
{
    struct tfs_beamng_blocks blocks = read_text("{\"class\":\"TerrainBlock\"\n"
                                                "\"TerrainBlock\"\n"
                                                "{\"class\":\"TerrainBlock\"} x\n"
                                                "{\"class\":\"TerrainBlock\",\"a\":NaN}\n"
                                                "{\"name\":\"TerrainBlock\"}\n"
                                                "{\"class\":17,\"b\":\"TerrainBlock\"}\n"
                                                "nonsense\n");

    ck_assert_uint_eq(blocks.count, 0);
    ck_assert_uint_eq(blocks.bad, 4);
    tfs_beamng_blocks_release(&blocks);
}
END_TEST

/* As every reader of JSON has it. */
START_TEST(beamng_last_of_two_members_counts)
{
    struct tfs_beamng_blocks blocks =
        read_text("{\"class\":\"X\",\"class\":\"TerrainBlock\",\"maxHeight\":1,\"maxHeight\":2}");

    ck_assert_uint_eq(blocks.count, 1);
    ck_assert_double_eq(blocks.items[0].height, 2);
    tfs_beamng_blocks_release(&blocks);
}
END_TEST

static const struct {
    const char *value;
    bool taken; /* as three numbers */
} numbers[] = {
    {"[1,2,3]", true},      {"[ 1 , 2 ,3 ]", true},  {"\"1 2 3\"", true},    {"\"1 2\"", false},
    {"[1,2]", false},       {"[1,2,3,4]", false},    {"[1,2,null]", false},  {"[1,2,[3]]", false},
    {"[1e400,0,0]", false}, {"[]", false},           {"\"\"", false},        {"\"1 2 3 x\"", false},
    {"true", false},        {"{}", false},           {"[1,2,\"3\"]", false}, {"[+1,2,3]", false},
    {"[0x1,2,3]", false},   {"[-0,1E2,3.25]", true},
};

START_TEST(beamng_numbers_are_those_of_json)
{
    char text[100];

    snprintf(text, sizeof(text), "{\"class\":\"TerrainBlock\",\"position\":%s}", numbers[_i].value);
    struct tfs_beamng_blocks blocks = read_text(text);
    ck_assert_uint_eq(blocks.count + blocks.bad, 1);
    ck_assert_msg((blocks.count > 0 && blocks.items[0].placed) == numbers[_i].taken, "%s",
                  numbers[_i].value);
    tfs_beamng_blocks_release(&blocks);
}
END_TEST

START_TEST(beamng_text_with_a_zero_byte_is_none)
{
    struct tfs_beamng_blocks blocks =
        read_text("{\"class\":\"TerrainBlock\",\"name\":\"a\\u0000b\",\"terrainFile\":\"\"}");

    ck_assert_uint_eq(blocks.count, 1);
    ck_assert_ptr_null(blocks.items[0].name);
    ck_assert_str_eq(blocks.items[0].file, "");
    tfs_beamng_blocks_release(&blocks);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("beamng_level");
    TCase *t = unit_case(s, "objects");

    tcase_add_test(t, beamng_block_has_what_its_line_says);
    tcase_add_test(t, beamng_lines_that_are_no_object_are_counted);
    tcase_add_test(t, beamng_last_of_two_members_counts);
    tcase_add_loop_test(t, beamng_numbers_are_those_of_json, 0,
                        sizeof(numbers) / sizeof(numbers[0]));
    tcase_add_test(t, beamng_text_with_a_zero_byte_is_none);
    return s;
}

UNIT_MAIN(suite)
