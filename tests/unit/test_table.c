/* text/table: comma-separated records, with the quoting of RFC 4180. */
#include <errno.h>
#include <string.h>

#include "text/table.h"
#include "unit.h"

static struct tfs_buf buf;

static void release(void)
{
    tfs_buf_release(&buf);
}

static const struct {
    const char *field, *text;
} fields[] = {
    {"", ""},
    {"base:air", "base:air"},
    {"a b", "a b"},
    {"a,b", "\"a,b\""},
    {"say \"hi\"", "\"say \"\"hi\"\"\""},
    {"\"", "\"\"\"\""},
    {"a\rb", "\"a\rb\""},
    {" a", "\" a\""},
    {"a\t", "\"a\t\""},
    {"#a", "\"#a\""},
    {"a#", "a#"},
    {"\xef\xbb\xbf.", "\"\xef\xbb\xbf.\""}, /* a byte order mark */
    {"a\\nb", "a\\nb"},
};

START_TEST(table_quotes_only_what_needs_it)
{
    tfs_table_print_field(&buf, tfs_span_of(fields[_i].field));
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of(fields[_i].text)));
}
END_TEST

START_TEST(table_reads_back_a_field_it_printed)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_buf scratch = {0};
    struct tfs_error err = {0};

    tfs_table_print_field(&buf, tfs_span_of(fields[_i].field));
    tfs_buf_add_text(&buf, ",");
    tfs_table_print_field(&buf, tfs_span_of(fields[_i].field));
    tfs_buf_add_text(&buf, ",end\n");
    ck_assert_int_eq(tfs_table_init(&table, tfs_buf_span(&buf), &err), 0);
    ck_assert_int_eq(tfs_table_next(&table, &record, &scratch, &err), 1);
    ck_assert_uint_eq(record.count, 3);
    ck_assert(tfs_span_equal(record.fields[0].text, tfs_span_of(fields[_i].field)));
    ck_assert(tfs_span_equal(record.fields[1].text, tfs_span_of(fields[_i].field)));
    ck_assert(tfs_span_equal(record.fields[2].text, tfs_span_of("end")));
    ck_assert_int_eq(tfs_table_next(&table, &record, &scratch, &err), 0);
    tfs_buf_release(&scratch);
}
END_TEST

START_TEST(table_prints_a_field_with_a_newline_in_quotes)
{
    tfs_table_print_field(&buf, tfs_span_of("a\nb"));
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of("\"a\nb\"")));
}
END_TEST

static const struct {
    int64_t value;
    const char *text;
} numbers[] = {
    {0, "0"},
    {7, "7"},
    {-7, "-7"},
    {10, "10"},
    {4294967296, "4294967296"},
    {INT64_MAX, "9223372036854775807"},
    {INT64_MIN, "-9223372036854775808"},
};

START_TEST(table_prints_numbers)
{
    tfs_buf_add_text(&buf, "x");
    tfs_table_print_number(&buf, numbers[_i].value);
    ck_assert_uint_eq(buf.size, 1 + strlen(numbers[_i].text));
    ck_assert_mem_eq(buf.data + 1, numbers[_i].text, buf.size - 1);
}
END_TEST

struct expected_field {
    const char *text;
    uint32_t column;
};

static const struct {
    const char *text;
    struct expected_field fields[5]; /* up to the first without text */
} lines[] = {
    {"x,y,z", {{"x", 1}, {"y", 3}, {"z", 5}}},
    {"x,y,z\r\n", {{"x", 1}, {"y", 3}, {"z", 5}}},
    {"\n # c\n\r\nx\n", {{"x", 1}}},
    {"  x ,\t y,z  ", {{"x", 3}, {"y", 8}, {"z", 10}}},
    {"x,,", {{"x", 1}, {"", 3}, {"", 4}}},
    {",", {{"", 1}, {"", 2}}},
    {"\"a,b\" , \" c \"", {{"a,b", 2}, {" c ", 10}}},
    {"\"\",\"\"\"\"", {{"", 2}, {"\"", 5}}},
    {"\"a\"\"b\",\"\"\"c\"\"\",d", {{"a\"b", 2}, {"\"c\"", 9}, {"d", 16}}},
    {"\"#a\"", {{"#a", 2}}},
    {"1,#a", {{"1", 1}, {"#a", 3}}},
};

START_TEST(table_reads_fields_with_their_columns)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_error err = {0};
    unsigned count = 0;

    ck_assert_int_eq(tfs_table_init(&table, tfs_span_of(lines[_i].text), &err), 0);
    ck_assert_int_eq(tfs_table_next(&table, &record, &buf, &err), 1);
    for (; count < 5 && lines[_i].fields[count].text != NULL; count++) {
        ck_assert_uint_lt(count, record.count);
        ck_assert(
            tfs_span_equal(record.fields[count].text, tfs_span_of(lines[_i].fields[count].text)));
        ck_assert_uint_eq(record.fields[count].column, lines[_i].fields[count].column);
    }
    ck_assert_uint_eq(record.count, count);
    ck_assert_uint_eq(table.columns, count);
    ck_assert_int_eq(tfs_table_next(&table, &record, &buf, &err), 0);
}
END_TEST

static const struct {
    const char *text;
    uint32_t line, column;
    const char *sentence;
} bad_lines[] = {
    {"x\n\"a", 2, 1, "the quote that begins here is not closed on this line"},
    {"x,y\n1,\"a\nb\"", 2, 3, "the quote that begins here is not closed on this line"},
    {"x\n\"", 2, 1, "the quote that begins here is not closed on this line"},
    {"x\n\"a\"\"", 2, 1, "the quote that begins here is not closed on this line"},
    {"x\n\"a\"b", 2, 4, "expected a comma behind the closing quote"},
    {"x\n\"a\" b", 2, 5, "expected a comma behind the closing quote"},
    {"x\n ab\"c", 2, 4,
     "a quote inside a field, the whole field must be in quotes and this one doubled"},
    {"x,y\n\n1", 3, 1, "the line has 1 field, the header has 2"},
    {"x,y\n1,2,", 2, 1, "the line has 3 fields, the header has 2"},
    {"x\n1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7", 2, 33, "more than 16 fields in a line"},
    {"x\n1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,", 2, 33, "more than 16 fields in a line"},
};

START_TEST(table_refuses_a_broken_line)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_table_init(&table, tfs_span_of(bad_lines[_i].text), &err), 0);
    ck_assert_int_eq(tfs_table_next(&table, &record, &buf, &err), 1);
    ck_assert_int_eq(tfs_table_next(&table, &record, &buf, &err), -EBADMSG);
    ck_assert_str_eq(err.text, bad_lines[_i].sentence);
    ck_assert_uint_eq(err.line, bad_lines[_i].line);
    ck_assert_uint_eq(err.column, bad_lines[_i].column);
}
END_TEST

START_TEST(table_takes_sixteen_fields)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_table_init(&table, tfs_span_of("1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6"), &err),
                     0);
    ck_assert_int_eq(tfs_table_next(&table, &record, &buf, &err), 1);
    ck_assert_uint_eq(record.count, TFS_TABLE_COLUMNS);
}
END_TEST

START_TEST(table_refuses_what_is_not_text)
{
    struct tfs_table table;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_table_init(&table, tfs_span_of("x,y\n1,\xff\n"), &err), -EBADMSG);
    ck_assert_uint_eq(err.line, 2);
    ck_assert_uint_eq(err.column, 3);
}
END_TEST

START_TEST(table_without_lines_has_no_header)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_table_init(&table, tfs_span_of("# nothing\n\n"), &err), 0);
    ck_assert_int_eq(tfs_table_next(&table, &record, &buf, &err), 0);
}
END_TEST

static Suite *table_suite(void)
{
    Suite *suite = suite_create("table");
    TCase *tcase = unit_case(suite, "table");

    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_loop_test(tcase, table_quotes_only_what_needs_it, 0, COUNT(fields));
    tcase_add_loop_test(tcase, table_reads_back_a_field_it_printed, 0, COUNT(fields));
    tcase_add_test(tcase, table_prints_a_field_with_a_newline_in_quotes);
    tcase_add_loop_test(tcase, table_prints_numbers, 0, COUNT(numbers));
    tcase_add_loop_test(tcase, table_reads_fields_with_their_columns, 0, COUNT(lines));
    tcase_add_loop_test(tcase, table_refuses_a_broken_line, 0, COUNT(bad_lines));
    tcase_add_test(tcase, table_takes_sixteen_fields);
    tcase_add_test(tcase, table_refuses_what_is_not_text);
    tcase_add_test(tcase, table_without_lines_has_no_header);
    return suite;
}

UNIT_MAIN(table_suite)
