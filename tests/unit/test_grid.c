/* text/grid: rows of values, labels, and the fill line. */
#include <errno.h>
#include <string.h>

#include "text/grid.h"
#include "unit.h"

#define VALUES 4096

static struct tfs_buf buf;

static void release(void)
{
    tfs_buf_release(&buf);
}

/* ---- printing ---- */

static const struct {
    struct tfs_grid_shape shape;
    uint32_t values[8];
    const char *text;
} prints[] = {
    {{2, 2, 2, TFS_GRID_DECIMAL, 1},
     {0, 1, 2, 3, 4, 5, 6, 9},
     "y=00 z=00 | 0 1\ny=00 z=01 | 2 3\n\ny=01 z=00 | 4 5\ny=01 z=01 | 6 9\n"},
    {{3, 1, 2, TFS_GRID_DECIMAL, 3},
     {0, 10, 999, 5, 100, 7},
     "y=00 z=00 |   0  10 999\ny=00 z=01 |   5 100   7\n"},
    {{2, 1, 1, TFS_GRID_DECIMAL, 5}, {65535, 300}, "y=00 z=00 | 65535   300\n"},
    {{2, 1, 1, TFS_GRID_DECIMAL, 7}, {9999999, 0}, "y=00 z=00 | 9999999       0\n"},
    {{2, 1, 1, TFS_GRID_DECIMAL, 8}, {99999999, 0}, "y=00 z=00 | 99999999        0\n"},
    {{1, 2, 1, TFS_GRID_DECIMAL, 10},
     {UINT32_MAX, 42},
     "y=00 z=00 | 4294967295\n\ny=01 z=00 |         42\n"},
    {{3, 1, 1, TFS_GRID_HEX, 3}, {0, 0xf0a, 0xfff}, "y=00 z=00 | 000 f0a fff\n"},
    {{2, 1, 1, TFS_GRID_HEX, 1}, {9, 10}, "y=00 z=00 | 9 a\n"},
    {{2, 1, 1, TFS_GRID_HEX, 7}, {0xabcdef1, 0x12}, "y=00 z=00 | abcdef1 0000012\n"},
    {{2, 1, 1, TFS_GRID_HEX, 8}, {0xdeadbeef, 1}, "y=00 z=00 | deadbeef 00000001\n"},
    {{4, 1, 1, TFS_GRID_SIGNED, 4},
     {0, (uint32_t)-1, (uint32_t)-128, 127},
     "y=00 z=00 |    0   -1 -128  127\n"},
    {{3, 1, 1, TFS_GRID_SIGNED, 6},
     {(uint32_t)-32768, 32767, (uint32_t)-10},
     "y=00 z=00 | -32768  32767    -10\n"},
    {{2, 1, 1, TFS_GRID_SIGNED, 11},
     {(uint32_t)1 << 31, INT32_MAX},
     "y=00 z=00 | -2147483648  2147483647\n"},
    {{2, 1, 1, TFS_GRID_FLOAT, 15},
     {0x42c80000, 0x80800000},
     "y=00 z=00 |             100  -1.1754944e-38\n"},
};

START_TEST(grid_prints_rows_right_aligned)
{
    struct tfs_grid_shape shape = prints[_i].shape;

    tfs_buf_add_text(&buf, "x");
    tfs_grid_print_rows(&buf, &shape, prints[_i].values);
    ck_assert_uint_eq(buf.size, 1 + strlen(prints[_i].text));
    ck_assert_mem_eq(buf.data + 1, prints[_i].text, buf.size - 1);
    ck_assert_uint_eq(tfs_grid_rows_size(&shape), buf.size - 1);
}
END_TEST

struct run_source {
    const uint32_t *values;
    size_t at, count;
};

/* Equal values, up to 70 of them at once: runs that end in a row, with it, and rows later. */
static void next_run(void *arg, struct tfs_grid_run *run)
{
    struct run_source *s = arg;

    *run = (struct tfs_grid_run){s->values[s->at], 0};
    while (run->count < 70 && s->at < s->count && s->values[s->at] == run->value) {
        run->count++;
        s->at++;
    }
    if (s->at == s->count)
        run->count += 5; /* goes past the end */
}

START_TEST(grid_prints_runs_as_the_values_in_them)
{
    static uint32_t values[VALUES];
    static const uint32_t edges[] = {1, 2, 3, 16};
    struct tfs_buf rows = {0};
    uint32_t edge = edges[_i];
    struct tfs_grid_shape shape = {edge, edge, edge, TFS_GRID_DECIMAL, 4};
    struct run_source source = {values, 0, (size_t)edge * edge * edge};
    uint32_t value = 0;

    for (uint32_t i = 0, left = 0, random = 1; i < source.count; i++, left--) {
        if (left == 0) {
            random = random * 1664525 + 1013904223;
            left = 1 + (random >> 8) % ((random >> 28) < 8 ? 3 : 60);
            value = (random >> 16) % 10000;
        }
        values[i] = value;
    }
    tfs_grid_print_rows(&rows, &shape, values);
    tfs_grid_print_runs(&buf, &shape, next_run, &source);
    ck_assert_uint_eq(source.at, source.count);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_buf_span(&rows)));
    tfs_buf_release(&rows);
}
END_TEST

START_TEST(grid_labels_have_as_many_digits_as_the_size_needs)
{
    static const uint32_t values[102];
    struct tfs_grid_shape shape = {1, 1, 101, TFS_GRID_DECIMAL, 1};
    struct tfs_span text;

    tfs_grid_print_rows(&buf, &shape, values);
    text = tfs_buf_span(&buf);
    ck_assert_uint_eq(text.size, tfs_grid_rows_size(&shape));
    ck_assert_mem_eq(text.data, "y=00 z=000 | 0\n", 15);
    ck_assert_mem_eq(text.data + text.size - 15, "y=00 z=100 | 0\n", 15);
    tfs_buf_clear(&buf);
    shape.sz = 100;
    tfs_grid_print_rows(&buf, &shape, values);
    ck_assert_mem_eq(buf.data, "y=00 z=00 | 0\n", 14);
    ck_assert_uint_eq(buf.size, tfs_grid_rows_size(&shape));
}
END_TEST

START_TEST(grid_prints_rows_of_64_bits)
{
    static const uint64_t values[] = {UINT64_MAX, 0, 0x3fb999999999999a, 0x8000000000000000};
    const struct tfs_grid_shape whole = {2, 1, 1, TFS_GRID_DECIMAL, 20};
    const struct tfs_grid_shape real = {2, 1, 1, TFS_GRID_FLOAT, 24};
    static const char text[] = "y=00 z=00 | 18446744073709551615                    0\n"
                               "y=00 z=00 |                      0.1                       -0\n";

    tfs_grid_print_rows64(&buf, &whole, values);
    ck_assert_uint_eq(tfs_grid_rows_size(&whole), buf.size);
    tfs_grid_print_rows64(&buf, &real, values + 2);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of(text)));
}
END_TEST

static const struct {
    struct tfs_grid_shape shape;
    uint32_t value;
    const char *text;
} fills[] = {
    {{2, 2, 2, TFS_GRID_DECIMAL, 3}, 0, "fill 0\n"},
    {{2, 2, 2, TFS_GRID_DECIMAL, 3}, 255, "fill 255\n"},
    {{2, 2, 2, TFS_GRID_DECIMAL, 10}, UINT32_MAX, "fill 4294967295\n"},
    {{2, 2, 2, TFS_GRID_HEX, 3}, 0xf, "fill 00f\n"},
    {{2, 2, 2, TFS_GRID_HEX, 8}, UINT32_MAX, "fill ffffffff\n"},
    {{2, 2, 2, TFS_GRID_SIGNED, 6}, (uint32_t)-32767, "fill -32767\n"},
    {{2, 2, 2, TFS_GRID_SIGNED, 6}, 127, "fill 127\n"},
    {{2, 2, 2, TFS_GRID_FLOAT, 15}, 0x3dcccccd, "fill 0.1\n"},
};

START_TEST(grid_prints_fill_without_padding)
{
    tfs_grid_print_fill(&buf, &fills[_i].shape, fills[_i].value);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of(fills[_i].text)));
    ck_assert_uint_eq(tfs_grid_fill_size(&fills[_i].shape, fills[_i].value), buf.size);
}
END_TEST

static const struct {
    struct tfs_grid_shape shape;
    uint64_t value;
    const char *text;
} wide_fills[] = {
    {{2, 2, 2, TFS_GRID_DECIMAL, 20}, UINT64_MAX, "fill 18446744073709551615\n"},
    {{2, 2, 2, TFS_GRID_FLOAT, 24}, 0x7ff8000000000001, "fill nan:7ff8000000000001\n"},
};

START_TEST(grid_prints_fill_of_64_bits)
{
    tfs_grid_print_fill64(&buf, &wide_fills[_i].shape, wide_fills[_i].value);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of(wide_fills[_i].text)));
    ck_assert_uint_eq(tfs_grid_fill_size64(&wide_fills[_i].shape, wide_fills[_i].value), buf.size);
}
END_TEST

/* ---- every width there and back ---- */

static const struct {
    enum tfs_grid_base base;
    uint32_t width;
    uint32_t high;
} widths[] = {
    {TFS_GRID_DECIMAL, 1, 9},
    {TFS_GRID_DECIMAL, 2, 99},
    {TFS_GRID_DECIMAL, 3, 255},
    {TFS_GRID_DECIMAL, 3, 999},
    {TFS_GRID_DECIMAL, 4, 9999},
    {TFS_GRID_DECIMAL, 5, 65535},
    {TFS_GRID_DECIMAL, 6, 999999},
    {TFS_GRID_DECIMAL, 7, 9999999},
    {TFS_GRID_DECIMAL, 8, 99999999},
    {TFS_GRID_DECIMAL, 9, 999999999},
    {TFS_GRID_DECIMAL, 10, UINT32_MAX},
    {TFS_GRID_HEX, 1, 0xf},
    {TFS_GRID_HEX, 2, 0xff},
    {TFS_GRID_HEX, 3, 0xfff},
    {TFS_GRID_HEX, 7, 0xfffffff},
    {TFS_GRID_HEX, 8, UINT32_MAX},
};

static int parse(const char *text, struct tfs_grid_rules rules, uint32_t *values, bool *filled,
                 struct tfs_error *err)
{
    struct tfs_lines lines;

    rules.out_of_range = "the palette has 12 entries";
    if (tfs_lines_init(&lines, tfs_span_of(text), err) < 0)
        return err->code;
    return tfs_grid_parse(&lines, NULL, &rules, values, filled, err);
}

START_TEST(grid_reads_back_every_width)
{
    static uint32_t values[VALUES], back[VALUES];
    struct tfs_grid_rules rules = {
        {16, 16, 16, widths[_i].base, widths[_i].width}, widths[_i].high, NULL};
    struct tfs_error err = {0};
    uint32_t random = 1;
    bool filled = true;

    for (size_t i = 0; i < VALUES; i++) {
        random = random * 1664525U + 1013904223U;
        /* few and many digits alike */
        values[i] = (uint32_t)((uint64_t)(random >> (i % 29)) * widths[_i].high >> 32);
    }
    values[0] = widths[_i].high;
    tfs_grid_print_rows(&buf, &rules.shape, values);
    ck_assert_uint_eq(buf.size, tfs_grid_rows_size(&rules.shape));
    tfs_buf_u8(&buf, 0);
    ck_assert_int_eq(parse((const char *)buf.data, rules, back, &filled, &err), 0);
    ck_assert(!filled);
    ck_assert_mem_eq(back, values, sizeof(values));
}
END_TEST

/* Any bits: of signed numbers, and of floating-point ones, which widths[] does not know. */
START_TEST(grid_reads_back_signed_and_real_numbers)
{
    static uint32_t values[VALUES], back[VALUES];
    static const struct tfs_grid_rules rules[] = {
        {{16, 16, 16, TFS_GRID_SIGNED, 6}, 32767, NULL},
        {{16, 16, 16, TFS_GRID_SIGNED, 11}, INT32_MAX, NULL},
        {{16, 16, 16, TFS_GRID_FLOAT, 15}, 0, NULL},
    };
    struct tfs_error err = {0};
    uint32_t random = 1;
    bool filled;

    for (size_t i = 0; i < VALUES; i++) {
        random = random * 1664525U + 1013904223U;
        values[i] = _i == 0 ? (random >> 16) - 32768 : random;
    }
    tfs_grid_print_rows(&buf, &rules[_i].shape, values);
    ck_assert_uint_eq(buf.size, tfs_grid_rows_size(&rules[_i].shape));
    tfs_buf_u8(&buf, 0);
    ck_assert_int_eq(parse((const char *)buf.data, rules[_i], back, &filled, &err), 0);
    ck_assert_mem_eq(back, values, sizeof(values));
}
END_TEST

START_TEST(grid_reads_back_64_bits)
{
    static uint64_t values[VALUES], back[VALUES];
    const struct tfs_grid_rules rules = {
        {16, 16, 16, _i == 0 ? TFS_GRID_DECIMAL : TFS_GRID_FLOAT, _i == 0 ? 20 : 24},
        UINT64_MAX,
        "it has 64 bits"};
    struct tfs_lines lines;
    struct tfs_error err = {0};
    uint64_t random = 1;
    bool filled;

    for (size_t i = 0; i < VALUES; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        values[i] = random >> i % 50;
    }
    tfs_grid_print_rows64(&buf, &rules.shape, values);
    ck_assert_int_eq(tfs_lines_init(&lines, tfs_buf_span(&buf), &err), 0);
    ck_assert_int_eq(tfs_grid_parse64(&lines, NULL, &rules, back, &filled, &err), 0);
    ck_assert(!filled);
    ck_assert_mem_eq(back, values, sizeof(values));
    tfs_lines_init(&lines, tfs_span_of("fill 7"), &err);
    ck_assert_int_eq(tfs_grid_parse64(&lines, NULL, &rules, back, &filled, &err), 0);
    ck_assert(filled);
    ck_assert_uint_eq(back[VALUES - 1], back[0]);
}
END_TEST

/* ---- parsing ---- */

static const struct tfs_grid_rules small = {{3, 2, 2, TFS_GRID_DECIMAL, 2}, 11, NULL};
static const struct tfs_grid_rules hex = {{2, 1, 1, TFS_GRID_HEX, 3}, 0xfff, NULL};

static const struct {
    const char *text;
    uint32_t values[12];
    bool filled;
} goods[] = {
    {"y=00 z=00 |  0  1  2\ny=00 z=01 |  3  4  5\n\ny=01 z=00 |  6  7  8\ny=01 z=01 |  9 10 11\n",
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
     false},
    {"0 1 2\n3 4 5\n6 7 8\n9 10 11", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, false},
    {"0 1 2\r\n3 4 5\r\n\r\n6 7 8\r\n9 10 11\r\n", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, false},
    {"# c\n y=0 z=0|0 1 2\n\ty = 000 z = 1 |\t3\t4 \t 5 \n6 7 8\n# c\ny=1z=1|009 000010 11",
     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
     false},
    {"1 1 1\n1 1 1\n1 1 1\n1 1 1", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, false},
    {"fill 11\n", {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11}, true},
    {"\n# c\n  fill \t 0007  \r\n\n# d\n", {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}, true},
};

START_TEST(grid_reads_rows_and_fill)
{
    uint32_t values[12];
    struct tfs_error err = {0};
    bool filled = !goods[_i].filled;

    ck_assert_int_eq(parse(goods[_i].text, small, values, &filled, &err), 0);
    ck_assert_mem_eq(values, goods[_i].values, sizeof(values));
    ck_assert_int_eq(filled, goods[_i].filled);
}
END_TEST

START_TEST(grid_begins_with_the_line_that_the_caller_took)
{
    static const char text[] = "palette 0 x\n0 1 2\n3 4 5\n6 7 8\n9 10 11\n";
    uint32_t values[12];
    struct tfs_lines lines;
    struct tfs_line first;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_lines_init(&lines, tfs_span_of(text), &err), 0);
    tfs_lines_next(&lines, &first);
    tfs_lines_next(&lines, &first);
    ck_assert_int_eq(tfs_grid_parse(&lines, &first, &small, values, NULL, &err), 0);
    ck_assert_uint_eq(values[0], 0);
    ck_assert_uint_eq(values[11], 11);
}
END_TEST

START_TEST(grid_reads_hex_in_either_case)
{
    uint32_t values[2];
    struct tfs_error err = {0};

    ck_assert_int_eq(parse("0aF FFf", hex, values, NULL, &err), 0);
    ck_assert_uint_eq(values[0], 0x0af);
    ck_assert_uint_eq(values[1], 0xfff);
    ck_assert_int_eq(parse("fill 09A", hex, values, NULL, &err), 0);
    ck_assert_uint_eq(values[1], 0x09a);
}
END_TEST

struct bad {
    const char *text;
    uint32_t line, column;
    const char *sentence;
};

static const struct bad bads[] = {
    {"0 1 300\n3 4 5\n6 7 8\n9 10 11", 1, 5,
     "value 300 is out of range, the palette has 12 entries"},
    {"0 1 2\ny=00 z=01 |  3  4 12\n6 7 8\n9 10 11", 2, 19,
     "value 12 is out of range, the palette has 12 entries"},
    {"0 1 4294967297", 1, 5, "value 4294967297 is out of range, the palette has 12 entries"},
    {"0 1 18446744073709551617", 1, 5,
     "value 18446744073709551617 is out of range, the palette has 12 entries"},
    {"0 100000000000000000000000000000000000000000000000000 1", 1, 3,
     "value 10000000000000000000000000000000000000000000... is out of range, "
     "the palette has 12 entries"},
    {"0 -1 2", 1, 3, "value -1 is out of range, the palette has 12 entries"},
    {"0 - 2", 1, 3, "the value - is not a number"},
    {"0 +1 2", 1, 3, "the value +1 is not a number"},
    {"0 1x 2", 1, 3, "the value 1x is not a number"},
    {"0 300x 2", 1, 3, "the value 300x is not a number"},
    {"0 1,2", 1, 3, "the value 1,2 is not a number"},
    {"0 1 \x1b", 1, 5, "the value \\x1b is not a number"},
    {"palete 0 base:air", 1, 1, "the value palete is not a number"},
    {"| 0 1 2", 1, 1, "the value | is not a number"},
    {"0 1", 1, 4, "the row has 2 values, expected 3"},
    {"0", 1, 2, "the row has 1 value, expected 3"},
    {"y=00 z=00 |", 1, 12, "the row has 0 values, expected 3"},
    {"0 1 2 3 4", 1, 7, "the row has 5 values, expected 3"},
    {"0 1 2 x", 1, 7, "the row has 4 values, expected 3"},
    {"0 1 2\ny=00 z=02 | 3 4 5", 2, 1, "this row is labelled y=00 z=02, expected y=00 z=01"},
    {"y=01 z=00 | 0 1 2", 1, 1, "this row is labelled y=01 z=00, expected y=00 z=00"},
    {"0 1 2\n3 4 5\n  y=00 z=02 | 6 7 8", 3, 3,
     "this row is labelled y=00 z=02, expected y=01 z=00"},
    {"y=4294967295 z=0 | 0 1 2", 1, 1,
     "this row is labelled y=4294967295 z=00, expected y=00 z=00"},
    {"y=4294967296 z=0 | 0 1 2", 1, 1, "the label of this row is not of the form y=00 z=00 |"},
    {"y=00 z=00 0 1 2", 1, 1, "the label of this row is not of the form y=00 z=00 |"},
    {"y=00 z= | 0 1 2", 1, 1, "the label of this row is not of the form y=00 z=00 |"},
    {"y", 1, 1, "the label of this row is not of the form y=00 z=00 |"},
    {"", 1, 1, "the grid is missing, expected 4 rows or a fill line"},
    {"# x\n\n", 3, 1, "the grid is missing, expected 4 rows or a fill line"},
    {"0 1 2\n3 4 5\n6 7 8\n\n# c\n", 3, 6, "the grid has 3 rows, expected 4"},
    {"0 1 2", 1, 6, "the grid has 1 row, expected 4"},
    {"0 1 2\n3 4 5\n6 7 8\n9 10 11\n\n 0 1 2", 6, 2, "the grid has more than 4 rows"},
    {"0 1 2\n3 4 5\n6 7 8\n9 10 11\nfill 0", 5, 1, "the grid has more than 4 rows"},
    {"0 1 2\n  fill 0", 2, 3, "fill must be the only line of the grid"},
    {"fill", 1, 5, "fill needs a value"},
    {"fill 1 2", 1, 8, "fill takes one value"},
    {"fill 12", 1, 6, "value 12 is out of range, the palette has 12 entries"},
    {"fill x", 1, 6, "the value x is not a number"},
    {"fill 1x", 1, 6, "the value 1x is not a number"},
    {"fill 1\n# c\n0 1 2", 3, 1, "nothing can follow the fill line"},
    {"fill 1\nfill 1", 2, 1, "nothing can follow the fill line"},
    {"fill1", 1, 1, "the value fill1 is not a number"},
};

static void check_bad(const struct bad *bad, const struct tfs_grid_rules *rules)
{
    uint32_t values[12];
    struct tfs_error err = {0};
    bool filled = true;

    ck_assert_int_eq(parse(bad->text, *rules, values, &filled, &err), -EBADMSG);
    ck_assert_str_eq(err.text, bad->sentence);
    ck_assert_uint_eq(err.line, bad->line);
    ck_assert_uint_eq(err.column, bad->column);
    ck_assert(filled); /* as it was */
}

START_TEST(grid_refuses_with_sentence_and_place)
{
    check_bad(&bads[_i], &small);
}
END_TEST

/* Grids of digits are read by a loop of their own. */
START_TEST(grid_of_digits_refuses_with_the_same_sentence_and_place)
{
    struct tfs_grid_rules rules = small;

    rules.shape.width = 1;
    check_bad(&bads[_i], &rules);
}
END_TEST

START_TEST(grid_of_digits_reads_and_refuses_each_value_of_a_row)
{
    const struct tfs_grid_rules rules = {{3, 1, 1, TFS_GRID_DECIMAL, 1}, 5, "six is too much"};
    static const char *const texts[] = {"4 5 0", "y=00 z=00 | 4 5 0", "4  5\t0", " 04 5 0 "};
    struct tfs_error err = {0};
    uint32_t values[3];

    for (int i = 0; i < COUNT(texts); i++) {
        ck_assert_int_eq(parse(texts[i], rules, values, NULL, &err), 0);
        ck_assert(values[0] == 4 && values[1] == 5 && values[2] == 0);
    }
    for (unsigned bad = 0; bad < 3; bad++) {
        char text[] = "0 1 2";
        text[bad * 2] = '6';
        tfs_error_reset(&err);
        ck_assert_int_eq(parse(text, rules, values, NULL, &err), -EBADMSG);
        ck_assert_uint_eq(err.column, bad * 2 + 1);
    }
}
END_TEST

static const struct bad signed_bads[] = {
    {"-13 0 0", 1, 1, "value -13 is out of range, the palette has 12 entries"},
    {"-12 12 0", 1, 5, "value 12 is out of range, the palette has 12 entries"},
    {"-12 --1 0", 1, 5, "the value --1 is not a number"},
    {"0 - 0", 1, 3, "the value - is not a number"},
    {"0 99999999999 0", 1, 3, "value 99999999999 is out of range, the palette has 12 entries"},
};

START_TEST(grid_refuses_signed_values_out_of_range)
{
    struct tfs_grid_rules rules = small;

    rules.shape.base = TFS_GRID_SIGNED;
    check_bad(&signed_bads[_i], &rules);
}
END_TEST

static const struct bad real_bads[] = {
    {"0 1.5 1e99", 1, 7, "the value 1e99 is not a number that fits"},
    {"1,5 0 0", 1, 1, "the value 1,5 is not a number that fits"},
    {"fill x", 1, 6, "the value x is not a number that fits"},
};

START_TEST(grid_refuses_what_is_no_real_number)
{
    struct tfs_grid_rules rules = small;

    rules.shape.base = TFS_GRID_FLOAT;
    check_bad(&real_bads[_i], &rules);
}
END_TEST

START_TEST(grid_takes_one_value_that_fills_the_word)
{
    const struct tfs_grid_rules rules = {{1, 1, 1, TFS_GRID_SIGNED, 4}, 127, "it has 8 bits"};
    struct tfs_line word = {.text = tfs_span_of("-128"), .number = 3, .column = 5};
    struct tfs_error err = {0};
    uint32_t value;

    ck_assert_int_eq(tfs_grid_take_value(&word, &rules, &value, &err), 0);
    ck_assert_int_eq((int32_t)value, -128);
    word.text = tfs_span_of("1 2");
    ck_assert_int_eq(tfs_grid_take_value(&word, &rules, &value, &err), -EBADMSG);
    word.text = tfs_span_of("");
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_grid_take_value(&word, &rules, &value, &err), -EBADMSG);
    ck_assert_str_eq(err.text, "the value is missing");
    ck_assert_uint_eq(err.column, 5);
}
END_TEST

static const struct bad hex_bads[] = {
    {"000 ff", 1, 5, "the value ff is not 3 hex digits"},
    {"000 0fff", 1, 5, "the value 0fff is not 3 hex digits"},
    {"000 fgf", 1, 5, "the value fgf is not 3 hex digits"},
    {"000 -ff", 1, 5, "the value -ff is not 3 hex digits"},
    {"000", 1, 4, "the row has 1 value, expected 2"},
    {"fill f", 1, 6, "the value f is not 3 hex digits"},
};

START_TEST(grid_refuses_hex_of_another_width)
{
    check_bad(&hex_bads[_i], &hex);
}
END_TEST

START_TEST(grid_refuses_hex_above_the_greatest_value)
{
    static const struct bad bad = {"000 800", 1, 5,
                                   "value 800 is out of range, the palette has 12 entries"};
    struct tfs_grid_rules rules = hex;

    rules.high = 0x7ff;
    check_bad(&bad, &rules);
}
END_TEST

START_TEST(grid_takes_the_greatest_value_of_32_bits)
{
    struct tfs_grid_rules rules = {{1, 1, 1, TFS_GRID_DECIMAL, 10}, UINT32_MAX, NULL};
    static const struct bad bad = {"4294967296", 1, 1,
                                   "value 4294967296 is out of range, the palette has 12 entries"};
    struct tfs_error err = {0};
    uint32_t value = 0;

    ck_assert_int_eq(parse("4294967295", rules, &value, NULL, &err), 0);
    ck_assert_uint_eq(value, UINT32_MAX);
    check_bad(&bad, &rules);
}
END_TEST

static Suite *grid_suite(void)
{
    Suite *suite = suite_create("grid");
    TCase *tcase = unit_case(suite, "grid");

    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_loop_test(tcase, grid_prints_rows_right_aligned, 0, COUNT(prints));
    tcase_add_loop_test(tcase, grid_prints_runs_as_the_values_in_them, 0, 4);
    tcase_add_test(tcase, grid_labels_have_as_many_digits_as_the_size_needs);
    tcase_add_test(tcase, grid_prints_rows_of_64_bits);
    tcase_add_loop_test(tcase, grid_prints_fill_without_padding, 0, COUNT(fills));
    tcase_add_loop_test(tcase, grid_prints_fill_of_64_bits, 0, COUNT(wide_fills));
    tcase_add_loop_test(tcase, grid_reads_back_every_width, 0, COUNT(widths));
    tcase_add_loop_test(tcase, grid_reads_back_signed_and_real_numbers, 0, 3);
    tcase_add_loop_test(tcase, grid_reads_back_64_bits, 0, 2);
    tcase_add_loop_test(tcase, grid_reads_rows_and_fill, 0, COUNT(goods));
    tcase_add_test(tcase, grid_begins_with_the_line_that_the_caller_took);
    tcase_add_test(tcase, grid_reads_hex_in_either_case);
    tcase_add_loop_test(tcase, grid_refuses_with_sentence_and_place, 0, COUNT(bads));
    tcase_add_loop_test(tcase, grid_of_digits_refuses_with_the_same_sentence_and_place, 0,
                        COUNT(bads));
    tcase_add_test(tcase, grid_of_digits_reads_and_refuses_each_value_of_a_row);
    tcase_add_loop_test(tcase, grid_refuses_signed_values_out_of_range, 0, COUNT(signed_bads));
    tcase_add_loop_test(tcase, grid_refuses_what_is_no_real_number, 0, COUNT(real_bads));
    tcase_add_test(tcase, grid_takes_one_value_that_fills_the_word);
    tcase_add_loop_test(tcase, grid_refuses_hex_of_another_width, 0, COUNT(hex_bads));
    tcase_add_test(tcase, grid_refuses_hex_above_the_greatest_value);
    tcase_add_test(tcase, grid_takes_the_greatest_value_of_32_bits);
    return suite;
}

UNIT_MAIN(grid_suite)
