/* base/bytes: numbers in both byte orders, and nothing past the end. */
#include "base/bytes.h"
#include "unit.h"

static const uint8_t data[] = {0xff, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};

static struct tfs_cursor cursor_at(uint64_t offset)
{
    struct tfs_cursor c = tfs_cursor_init((struct tfs_span){data, sizeof(data)});

    tfs_cursor_seek(&c, offset);
    return c;
}

START_TEST(cursor_reads_both_byte_orders)
{
    struct tfs_cursor c = cursor_at(1);

    ck_assert_uint_eq(tfs_take_u64be(&c), 0x0102030405060708);
    c = cursor_at(1);
    ck_assert_uint_eq(tfs_take_u64le(&c), 0x0807060504030201);
    c = cursor_at(0);
    ck_assert_int_eq(tfs_take_s32be(&c), -0xfefdfd);
    ck_assert_uint_eq(tfs_take_u32le(&c), 0x07060504);
    c = cursor_at(0);
    ck_assert_uint_eq(tfs_take_u32be(&c), 0xff010203);
    ck_assert_uint_eq(tfs_take_u16be(&c), 0x0405);
    ck_assert_uint_eq(tfs_take_u16le(&c), 0x0706);
    ck_assert_uint_eq(tfs_take_u8(&c), 0x08);
    ck_assert(!c.failed);
    ck_assert_uint_eq(tfs_cursor_left(&c), 0);
}
END_TEST

START_TEST(cursor_stays_failed_and_does_not_move)
{
    struct tfs_cursor c = cursor_at(6);

    ck_assert_uint_eq(tfs_take_u32be(&c), 0);
    ck_assert(c.failed);
    ck_assert_uint_eq(tfs_cursor_offset(&c), 6);
    ck_assert_uint_eq(tfs_take_u8(&c), 0);
    ck_assert_uint_eq(tfs_take(&c, 0).size, 0);
    tfs_cursor_seek(&c, 0);
    ck_assert_uint_eq(tfs_cursor_offset(&c), 6);
    ck_assert_uint_eq(tfs_cursor_left(&c), 0);
}
END_TEST

START_TEST(cursor_refuses_sizes_that_would_overflow)
{
    struct tfs_cursor c = cursor_at(4);

    ck_assert_uint_eq(tfs_take(&c, UINT64_MAX).size, 0);
    ck_assert(c.failed);
    c = cursor_at(4);
    tfs_cursor_seek(&c, UINT64_MAX - 1);
    ck_assert(c.failed);
    ck_assert_uint_eq(tfs_cursor_offset(&c), 4);
}
END_TEST

START_TEST(cursor_takes_exactly_all)
{
    struct tfs_cursor c = cursor_at(2);
    struct tfs_span rest = tfs_take(&c, 7);

    ck_assert_ptr_eq(rest.data, data + 2);
    ck_assert_uint_eq(rest.size, 7);
    ck_assert(!c.failed);
    tfs_cursor_seek(&c, sizeof(data));
    ck_assert(!c.failed);
}
END_TEST

START_TEST(cursor_over_nothing_is_empty)
{
    struct tfs_cursor c = tfs_cursor_init((struct tfs_span){NULL, 0});

    ck_assert_uint_eq(tfs_cursor_left(&c), 0);
    ck_assert_uint_eq(tfs_cursor_offset(&c), 0);
    ck_assert_uint_eq(tfs_take(&c, 0).size, 0);
    ck_assert(!c.failed);
    tfs_take_u8(&c);
    ck_assert(c.failed);
}
END_TEST

static const struct {
    const char *a, *b;
    int order;
} pairs[] = {
    {"", "", 0}, {"", "a", -1}, {"a", "ab", -1}, {"b", "ab", 1}, {"ab", "ab", 0}, {"\xff", "a", 1},
};

START_TEST(span_compare_is_by_bytes_then_length)
{
    struct tfs_span a = tfs_span_of(pairs[_i].a);
    struct tfs_span b = tfs_span_of(pairs[_i].b);
    int order = tfs_span_compare(a, b);

    ck_assert_int_eq((order > 0) - (order < 0), pairs[_i].order);
    ck_assert_int_eq(tfs_span_equal(a, b), pairs[_i].order == 0);
}
END_TEST

START_TEST(span_null_equals_empty)
{
    struct tfs_span null = {NULL, 0};

    ck_assert(tfs_span_equal(null, tfs_span_of("")));
    ck_assert_int_eq(tfs_span_compare(null, tfs_span_of("")), 0);
    ck_assert_int_lt(tfs_span_compare(null, tfs_span_of("a")), 0);
}
END_TEST

static Suite *bytes_suite(void)
{
    Suite *suite = suite_create("bytes");
    TCase *tcase = unit_case(suite, "bytes");

    tcase_add_test(tcase, cursor_reads_both_byte_orders);
    tcase_add_test(tcase, cursor_stays_failed_and_does_not_move);
    tcase_add_test(tcase, cursor_refuses_sizes_that_would_overflow);
    tcase_add_test(tcase, cursor_takes_exactly_all);
    tcase_add_test(tcase, cursor_over_nothing_is_empty);
    tcase_add_loop_test(tcase, span_compare_is_by_bytes_then_length, 0,
                        sizeof(pairs) / sizeof(pairs[0]));
    tcase_add_test(tcase, span_null_equals_empty);
    return suite;
}

UNIT_MAIN(bytes_suite)
