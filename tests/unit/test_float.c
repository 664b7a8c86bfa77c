/* text/float: the shortest decimal that reads back to the same bits. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/float.h"
#include "unit.h"

static const struct {
    uint32_t bits;
    const char *text;
} floats[] = {
    {0x00000000, "0"},
    {0x80000000, "-0"},
    {0x42c80000, "100"},
    {0x3dcccccd, "0.1"},
    {0xbf800000, "-1"},
    {0x00000064, "1.4e-43"},
    {0x00000001, "1e-45"},
    {0x00800000, "1.1754944e-38"},
    {0x7f7fffff, "3.4028235e+38"},
    {0xff7fffff, "-3.4028235e+38"},
    {0x7f800000, "inf"},
    {0xff800000, "-inf"},
    {0x7fc00000, "nan"},
    {0x7fc00001, "nan:7fc00001"},
    {0xffc00000, "nan:ffc00000"},
    {0x7f800001, "nan:7f800001"},
    {0x3f9e0652, "1.2345679"},
    {0x4b18967f, "9999999"},
    {0x4b189680, "1e+07"},
    {0x4b3c614e, "12345678"},
    {0x38d1b717, "0.0001"},
    {0x3727c5ac, "1e-05"},
    {0x49742400, "1000000"},
    {0x501502f9, "1e+10"},
};

static const struct {
    uint64_t bits;
    const char *text;
} doubles[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "-0"},
    {0x4059000000000000, "100"},
    {0x3fb999999999999a, "0.1"},
    {0x3fd3333333333334, "0.30000000000000004"},
    {0x0000000000000001, "5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x7ff8000000000000, "nan"},
    {0x7ff8000000000001, "nan:7ff8000000000001"},
    {0x7ff0000000000000, "inf"},
    {0x4132d68700000000, "1234567"},
    {0x4b0e6b3a5bc2a1f0, NULL},
};

START_TEST(float_prints_the_shortest_decimal)
{
    uint8_t out[TFS_FLOAT32_WIDTH];
    size_t size = tfs_float32_print(out, floats[_i].bits);
    uint32_t bits;

    ck_assert_int_eq((int)size, (int)strlen(floats[_i].text));
    ck_assert_mem_eq(out, floats[_i].text, size);
    ck_assert_ptr_eq(tfs_float32_parse(out, out + size, &bits), out + size);
    ck_assert_uint_eq(bits, floats[_i].bits);
}
END_TEST

START_TEST(double_prints_the_shortest_decimal)
{
    uint8_t out[TFS_FLOAT64_WIDTH];
    size_t size = tfs_float64_print(out, doubles[_i].bits);
    uint64_t bits;

    if (doubles[_i].text != NULL) {
        ck_assert_int_eq((int)size, (int)strlen(doubles[_i].text));
        ck_assert_mem_eq(out, doubles[_i].text, size);
    }
    ck_assert_ptr_eq(tfs_float64_parse(out, out + size, &bits), out + size);
    ck_assert_uint_eq(bits, doubles[_i].bits);
}
END_TEST

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* What the header promises, by the C library alone. */
static int reference32(char *out, size_t size, float v)
{
    int n = 1;

    if (v == floorf(v) && fabsf(v) < 1e7f)
        return snprintf(out, size, "%.0f", (double)v);
    do
        snprintf(out, size, "%.*g", n, (double)v);
    while (strtof(out, NULL) != v && n++ < 9);
    return (int)strlen(out);
}

static int reference64(char *out, size_t size, double v)
{
    int n = 1;

    if (v == floor(v) && fabs(v) < 1e7)
        return snprintf(out, size, "%.0f", v);
    do
        snprintf(out, size, "%.*g", n, v);
    while (strtod(out, NULL) != v && n++ < 17);
    return (int)strlen(out);
}

/* Bits of every size; then numbers as saves have them; then powers of two, whose neighbours lie
 * unevenly. */
static uint32_t some_float(int i)
{
    uint64_t r = next_random();
    float v = (float)((double)(r % 2000001) / 1000.0 - 1000.0);
    uint32_t bits;

    if (i % 3 == 0)
        return (uint32_t)r;
    if (i % 3 == 1)
        return (uint32_t)(r % 254 + 1) << 23;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

START_TEST(float_is_what_printf_and_strtof_say)
{
    for (int i = 0; i < 60000; i++) {
        uint32_t bits = some_float(i), back;
        uint8_t out[TFS_FLOAT32_WIDTH];
        char expected[64];
        float v;
        memcpy(&v, &bits, sizeof(v));
        size_t size = tfs_float32_print(out, bits);
        ck_assert_ptr_eq(tfs_float32_parse(out, out + size, &back), out + size);
        ck_assert_uint_eq(back, bits);
        if (isnan(v))
            continue;
        ck_assert_int_eq(reference32(expected, sizeof(expected), v), (int)size);
        ck_assert_mem_eq(out, expected, size);
    }
}
END_TEST

START_TEST(double_is_what_printf_and_strtod_say)
{
    for (int i = 0; i < 30000; i++) {
        uint64_t bits = i % 3 == 0   ? next_random()
                        : i % 3 == 1 ? (next_random() % 2046 + 1) << 52
                                     : 0;
        uint64_t back;
        uint8_t out[TFS_FLOAT64_WIDTH];
        char expected[64];
        double v = (double)(next_random() % 2000001) / 1000.0 - 1000.0;
        if (i % 3 == 2)
            memcpy(&bits, &v, sizeof(v));
        memcpy(&v, &bits, sizeof(v));
        size_t size = tfs_float64_print(out, bits);
        ck_assert_ptr_eq(tfs_float64_parse(out, out + size, &back), out + size);
        ck_assert_uint_eq(back, bits);
        if (isnan(v))
            continue;
        ck_assert_int_eq(reference64(expected, sizeof(expected), v), (int)size);
        ck_assert_mem_eq(out, expected, size);
    }
}
END_TEST

/* Any decimal is read as the C library reads it. */
START_TEST(float_reads_every_decimal)
{
    for (int i = 0; i < 30000; i++) {
        char text[80];
        uint32_t bits;
        uint64_t wide;
        float single;
        double twice;
        int size = snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64 "e%d",
                            next_random() >> (next_random() % 64),
                            next_random() >> (next_random() % 64), (int)(next_random() % 61) - 30);
        const uint8_t *at = (const uint8_t *)text, *end = at + size;
        single = strtof(text, NULL);
        twice = strtod(text, NULL);
        ck_assert_ptr_eq(tfs_float64_parse(at, end, &wide), end);
        ck_assert_mem_eq(&wide, &twice, sizeof(wide));
        if (isinf(single)) {
            ck_assert_ptr_null(tfs_float32_parse(at, end, &bits));
            continue;
        }
        ck_assert_ptr_eq(tfs_float32_parse(at, end, &bits), end);
        ck_assert_mem_eq(&bits, &single, sizeof(bits));
    }
}
END_TEST

static const char *const refused[] = {
    "",     "-",    "+1",       ".",
    "-.",   "e5",   "1e",       "1e+",
    "1.5x", "0x10", "1e99",     "infinity",
    "-nan", "nan:", "nan:7fc0", "nan:42c80000",
    "1,5",  "--1",  "1e-",      "nan:zzzzzzzz",
    "NaN",  "inf1", "1.2.3",
};

START_TEST(float_refuses_what_is_no_number)
{
    const uint8_t *at = (const uint8_t *)refused[_i];
    uint32_t bits;

    ck_assert_ptr_null(tfs_float32_parse(at, at + strlen(refused[_i]), &bits));
}
END_TEST

static const struct {
    const char *text;
    uint32_t bits;
} odd[] = {
    {"1.", 0x3f800000},
    {".5", 0x3f000000},
    {"1E2", 0x42c80000},
    {"0001", 0x3f800000},
    {"1e-99", 0},
    {"-1e-99", 0x80000000},
    {"1e+2 7", 0x42c80000},
    {"nan:7FC00001", 0x7fc00001},
    {"16777217", 0x4b800000},
    {"1.00000000000000000000000000000000000000000000000000000000001", 0x3f800000},
};

START_TEST(float_reads_odd_spellings)
{
    const uint8_t *at = (const uint8_t *)odd[_i].text;
    uint32_t bits;

    ck_assert_ptr_nonnull(tfs_float32_parse(at, at + strlen(odd[_i].text), &bits));
    ck_assert_uint_eq(bits, odd[_i].bits);
}
END_TEST

static Suite *float_suite(void)
{
    Suite *suite = suite_create("float");
    TCase *tcase = unit_case(suite, "text");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, float_prints_the_shortest_decimal, 0, COUNT(floats));
    tcase_add_loop_test(tcase, double_prints_the_shortest_decimal, 0, COUNT(doubles));
    tcase_add_test(tcase, float_is_what_printf_and_strtof_say);
    tcase_add_test(tcase, double_is_what_printf_and_strtod_say);
    tcase_add_test(tcase, float_reads_every_decimal);
    tcase_add_loop_test(tcase, float_refuses_what_is_no_number, 0, COUNT(refused));
    tcase_add_loop_test(tcase, float_reads_odd_spellings, 0, COUNT(odd));
    return suite;
}

UNIT_MAIN(float_suite)
