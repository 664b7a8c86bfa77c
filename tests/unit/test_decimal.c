/* Decimal numbers in texts and names. */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "text/decimal.h"

static const struct {
    int64_t value;
    const char *text;
} numbers[] = {
    {0, "0"},
    {9, "9"},
    {10, "10"},
    {-1, "-1"},
    {-10, "-10"},
    {UINT32_MAX, "4294967295"},
    {INT64_MAX, "9223372036854775807"},
    {INT64_MIN, "-9223372036854775808"},
};

START_TEST(decimal_width_counts_digits)
{
    static const struct {
        uint64_t value;
        uint32_t width;
    } widths[] = {{0, 1}, {9, 1}, {10, 2}, {99, 2}, {100, 3}, {UINT32_MAX, 10}, {UINT64_MAX, 20}};

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
        ck_assert_uint_eq(tfs_decimal_width(widths[i].value), widths[i].width);
}
END_TEST

START_TEST(decimal_prints_signed_numbers)
{
    uint8_t text[TFS_DECIMAL_MAX];
    size_t size = tfs_decimal_put_signed(text, numbers[_i].value);
    ck_assert_uint_eq(size, strlen(numbers[_i].text));
    ck_assert_mem_eq(text, numbers[_i].text, size);
}
END_TEST

START_TEST(decimal_prints_the_greatest_number)
{
    uint8_t text[TFS_DECIMAL_MAX];
    ck_assert_uint_eq(tfs_decimal_put(text, UINT64_MAX), TFS_DECIMAL_MAX);
    ck_assert_mem_eq(text, "18446744073709551615", TFS_DECIMAL_MAX);
}
END_TEST

static const struct {
    const char *text;
    bool taken;
    int64_t value;
} names[] = {
    {"0_", true, 0},
    {"7_", true, 7},
    {"-7_", true, -7},
    {"2147483647_", true, INT32_MAX},
    {"-2147483648_", true, INT32_MIN},
    {"2147483648_", false, 0},
    {"-2147483649_", false, 0},
    {"99999999999999999999999_", false, 0},
    {"_", false, 0},
    {"-_", false, 0},
    {"-0_", false, 0},
    {"00_", false, 0},
    {"07_", false, 0},
    {"+7_", false, 0},
    {" 7_", false, 0},
    {"7 _", false, 0},
    {"7", false, 0},
    {"7-", false, 0},
    {"", false, 0},
};

START_TEST(decimal_takes_canonical_numbers_only)
{
    const char *text = names[_i].text;
    int64_t value = -5;
    ck_assert_int_eq(tfs_decimal_take(&text, '_', INT32_MIN, INT32_MAX, &value), names[_i].taken);
    ck_assert_int_eq(value, names[_i].taken ? names[_i].value : -5);
    ck_assert_ptr_eq(text, names[_i].text + (names[_i].taken ? strlen(names[_i].text) : 0));
}
END_TEST

START_TEST(decimal_stops_at_the_end_of_a_name)
{
    const char *text = "12";
    int64_t value;
    ck_assert(tfs_decimal_take(&text, '\0', 0, 12, &value));
    ck_assert_int_eq(value, 12);
    ck_assert_int_eq(*text, '\0');
    text = "13";
    ck_assert(!tfs_decimal_take(&text, '\0', 0, 12, &value));
}
END_TEST

static Suite *decimal_suite(void)
{
    Suite *s = suite_create("decimal");
    TCase *tc = unit_case(s, "decimal");
    tcase_add_test(tc, decimal_width_counts_digits);
    tcase_add_loop_test(tc, decimal_prints_signed_numbers, 0,
                        (int)(sizeof(numbers) / sizeof(numbers[0])));
    tcase_add_test(tc, decimal_prints_the_greatest_number);
    tcase_add_loop_test(tc, decimal_takes_canonical_numbers_only, 0,
                        (int)(sizeof(names) / sizeof(names[0])));
    tcase_add_test(tc, decimal_stops_at_the_end_of_a_name);
    return s;
}

UNIT_MAIN(decimal_suite)
