/* text/lines: lines, words and numbers, each with its place. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "text/lines.h"
#include "unit.h"

static struct tfs_line line_of(const char *text)
{
    return (struct tfs_line){tfs_span_of(text), 7, 3};
}

START_TEST(lines_skip_comments_and_empty_lines)
{
    static const char text[] = "\n  one \t\r\n#two\n \t# three\r\n\r\n\tfour # five\r\nsix";
    static const struct {
        const char *text;
        uint32_t number, column;
    } expect[] = {{"one", 2, 3}, {"four # five", 6, 2}, {"six", 7, 1}};
    struct tfs_lines lines;
    struct tfs_line line;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_lines_init(&lines, tfs_span_of(text), &err), 0);
    for (int i = 0; i < COUNT(expect); i++) {
        ck_assert(tfs_lines_next(&lines, &line));
        ck_assert(tfs_span_equal(line.text, tfs_span_of(expect[i].text)));
        ck_assert_uint_eq(line.number, expect[i].number);
        ck_assert_uint_eq(line.column, expect[i].column);
    }
    ck_assert(!tfs_lines_next(&lines, &line));
    ck_assert(!tfs_lines_next(&lines, &line));
}
END_TEST

START_TEST(lines_of_nothing_are_none)
{
    struct tfs_lines lines;
    struct tfs_line line;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_lines_init(&lines, (struct tfs_span){NULL, 0}, &err), 0);
    ck_assert(!tfs_lines_next(&lines, &line));
}
END_TEST

START_TEST(lines_skip_a_byte_order_mark)
{
    struct tfs_lines lines;
    struct tfs_line line;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_lines_init(&lines, tfs_span_of("\xef\xbb\xbf# x\nfill 0\n"), &err), 0);
    ck_assert(tfs_lines_next(&lines, &line));
    ck_assert_uint_eq(line.number, 2);
}
END_TEST

#define SPAN(literal)                                                                              \
    {                                                                                              \
        (const uint8_t *)(literal), sizeof(literal) - 1                                            \
    }

static const struct {
    struct tfs_span text;
    uint32_t line, column;
    const char *sentence;
} not_texts[] = {
    {SPAN("ab\0"), 1, 3, "a zero byte, but this is a text file"},
    {SPAN("\0"), 1, 1, "a zero byte, but this is a text file"},
    {SPAN("one\n\ntw\0o"), 3, 3, "a zero byte, but this is a text file"},
    {SPAN("one\n# \xff\n"), 2, 3, "byte ff is not UTF-8 text"},
    {SPAN("one\ntwo\xc3"), 2, 4, "byte c3 is not UTF-8 text"},
    {SPAN("0123456789\xed\xa0\x80"), 1, 11, "byte ed is not UTF-8 text"},
    {SPAN("\0\xff"), 1, 1, "a zero byte, but this is a text file"},
    {SPAN("\xff\0"), 1, 1, "byte ff is not UTF-8 text"},
};

START_TEST(lines_refuse_what_is_not_text)
{
    struct tfs_lines lines;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_lines_init(&lines, not_texts[_i].text, &err), -EBADMSG);
    ck_assert_str_eq(err.text, not_texts[_i].sentence);
    ck_assert_uint_eq(err.line, not_texts[_i].line);
    ck_assert_uint_eq(err.column, not_texts[_i].column);
}
END_TEST

START_TEST(line_words_keep_their_columns)
{
    struct tfs_line line = line_of(" palette \t0  base:air ");
    struct tfs_line word;

    ck_assert(tfs_line_word(&line, &word));
    ck_assert(tfs_span_equal(word.text, tfs_span_of("palette")));
    ck_assert_uint_eq(word.column, 4);
    ck_assert_uint_eq(word.number, 7);
    ck_assert_uint_eq(line.column, 13);
    ck_assert(tfs_line_word(&line, &word));
    ck_assert(tfs_span_equal(word.text, tfs_span_of("0")));
    ck_assert_uint_eq(word.column, 13);
    ck_assert(tfs_span_equal(line.text, tfs_span_of("base:air ")));
    ck_assert(tfs_line_word(&line, &word));
    ck_assert_uint_eq(word.column, 16);
    ck_assert(!tfs_line_word(&line, &word));
    ck_assert_uint_eq(line.text.size, 0);
}
END_TEST

static const struct {
    const char *text;
    int64_t low, high, value;
} numbers[] = {
    {"0", 0, 255, 0},
    {"255", 0, 255, 255},
    {"000255", 0, 255, 255},
    {"-1", -1, 1, -1},
    {"-0", -1, 1, 0},
    {"-007", -10, 0, -7},
    {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
    {"-9223372036854775807", INT64_MIN, 0, -INT64_MAX},
    {"-9223372036854775808", INT64_MIN, 0, INT64_MIN},
    {"-0000000000000000000000000009223372036854775808", INT64_MIN, 0, INT64_MIN},
};

START_TEST(line_number_reads_decimal)
{
    struct tfs_line word = line_of(numbers[_i].text);
    struct tfs_error err = {0};
    int64_t value = 99;

    ck_assert_int_eq(
        tfs_line_number(&word, "index", numbers[_i].low, numbers[_i].high, &value, &err), 0);
    ck_assert_int_eq(value, numbers[_i].value);
}
END_TEST

static const struct {
    const char *text;
    int64_t low, high;
    const char *sentence;
} bad_numbers[] = {
    {"", 0, 255, "the index is missing"},
    {"9x", 0, 255, "the index 9x is not a number"},
    {"x", 0, 255, "the index x is not a number"},
    {"+1", 0, 255, "the index +1 is not a number"},
    {"-", -5, 5, "the index - is not a number"},
    {"--1", -5, 5, "the index --1 is not a number"},
    {"1.5", 0, 255, "the index 1.5 is not a number"},
    {"0x10", 0, 255, "the index 0x10 is not a number"},
    {"1 ", 0, 255, "the index 1\\x20 is not a number"},
    {"\x1b[2J", 0, 255, "the index \\x1b[2J is not a number"},
    {"300", 0, 255, "index 300 is out of range, 0 to 255"},
    {"9", 10, 20, "index 9 is out of range, 10 to 20"},
    {"-1", 0, 255, "index -1 is out of range, 0 to 255"},
    {"-0", 0, 255, "index -0 is out of range, 0 to 255"},
    {"-6", -5, 5, "index -6 is out of range, -5 to 5"},
    {"9223372036854775808", 0, INT64_MAX,
     "index 9223372036854775808 is out of range, 0 to 9223372036854775807"},
    {"-9223372036854775809", INT64_MIN, 0,
     "index -9223372036854775809 is out of range, -9223372036854775808 to 0"},
    {"18446744073709551616", 0, INT64_MAX,
     "index 18446744073709551616 is out of range, 0 to 9223372036854775807"},
    {"100000000000000000000000000000000000000000000000000", 0, 5,
     "index 10000000000000000000000000000000000000000000... is out of range, 0 to 5"},
};

START_TEST(line_number_refuses_what_is_not_in_range)
{
    struct tfs_line word = line_of(bad_numbers[_i].text);
    struct tfs_error err = {0};
    int64_t value = 99;

    ck_assert_int_eq(
        tfs_line_number(&word, "index", bad_numbers[_i].low, bad_numbers[_i].high, &value, &err),
        -EBADMSG);
    ck_assert_str_eq(err.text, bad_numbers[_i].sentence);
    ck_assert_uint_eq(err.line, 7);
    ck_assert_uint_eq(err.column, 3);
    ck_assert_int_eq(value, 99);
}
END_TEST

static Suite *lines_suite(void)
{
    Suite *suite = suite_create("lines");
    TCase *tcase = unit_case(suite, "lines");

    tcase_add_test(tcase, lines_skip_comments_and_empty_lines);
    tcase_add_test(tcase, lines_of_nothing_are_none);
    tcase_add_test(tcase, lines_skip_a_byte_order_mark);
    tcase_add_loop_test(tcase, lines_refuse_what_is_not_text, 0, COUNT(not_texts));
    tcase_add_test(tcase, line_words_keep_their_columns);
    tcase_add_loop_test(tcase, line_number_reads_decimal, 0, COUNT(numbers));
    tcase_add_loop_test(tcase, line_number_refuses_what_is_not_in_range, 0, COUNT(bad_numbers));
    return suite;
}

UNIT_MAIN(lines_suite)
