/* base/buf: what is written is what is there, and running out of memory is remembered. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "unit.h"

static struct tfs_buf buf;

static void release(void)
{
    tfs_buf_release(&buf);
}

START_TEST(buf_writes_both_byte_orders)
{
    static const uint8_t expect[] = {1, 1, 2, 3, 4, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1};

    tfs_buf_u8(&buf, 1);
    tfs_buf_u32be(&buf, 0x01020304);
    tfs_buf_u16le(&buf, 0x0102);
    tfs_buf_u32le(&buf, 0x01020304);
    tfs_buf_u64le(&buf, 0x0102030405060708);
    ck_assert_uint_eq(buf.size, sizeof(expect));
    ck_assert_mem_eq(buf.data, expect, sizeof(expect));
}
END_TEST

START_TEST(buf_joins_many_pieces)
{
    for (int i = 0; i < 1000; i++) {
        tfs_buf_add_text(&buf, "ab");
        tfs_buf_printf(&buf, "%03d", i);
    }
    ck_assert_uint_eq(buf.size, 5000);
    ck_assert_mem_eq(buf.data, "ab000ab001", 10);
    ck_assert_mem_eq(buf.data + 4995, "ab999", 5);
}
END_TEST

START_TEST(buf_adds_nothing_from_null)
{
    tfs_buf_add(&buf, NULL, 0);
    tfs_buf_add_span(&buf, (struct tfs_span){NULL, 0});
    ck_assert_uint_eq(buf.size, 0);
    ck_assert_ptr_nonnull(tfs_buf_reserve(&buf, 0));
    ck_assert(!buf.failed);
}
END_TEST

START_TEST(buf_resize_cuts_and_fills_with_zeros)
{
    tfs_buf_add_text(&buf, "abcdef");
    tfs_buf_resize(&buf, 3);
    tfs_buf_resize(&buf, 5);
    ck_assert_uint_eq(buf.size, 5);
    ck_assert_mem_eq(buf.data, "abc\0\0", 5);
}
END_TEST

START_TEST(buf_remembers_that_memory_ran_out)
{
    struct tfs_error err = {0};

    tfs_buf_add_text(&buf, "abc");
    ck_assert_ptr_null(tfs_buf_reserve(&buf, SIZE_MAX - 1));
    tfs_buf_add_text(&buf, "def");
    tfs_buf_printf(&buf, "%d", 1);
    tfs_buf_u32be(&buf, 1);
    tfs_buf_resize(&buf, 1);
    ck_assert_uint_eq(buf.size, 3);
    ck_assert_int_eq(tfs_buf_check(&buf, &err), -ENOMEM);
}
END_TEST

START_TEST(buf_is_usable_after_clear)
{
    struct tfs_error err = {0};

    tfs_buf_add_text(&buf, "longer");
    tfs_buf_clear(&buf);
    tfs_buf_add_text(&buf, "abc");
    ck_assert_int_eq(tfs_buf_check(&buf, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&buf), tfs_span_of("abc")));
}
END_TEST

/* A buffer is cleared between pieces that all go to one place: one that is missing there must not
 * be forgotten with the next. */
START_TEST(buf_remembers_that_memory_ran_out_until_it_is_released)
{
    struct tfs_error err = {0};

    tfs_buf_reserve(&buf, SIZE_MAX);
    tfs_buf_clear(&buf);
    tfs_buf_add_text(&buf, "abc");
    ck_assert_int_eq(tfs_buf_check(&buf, &err), -ENOMEM);
    tfs_buf_release(&buf);
    tfs_buf_add_text(&buf, "abc");
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_buf_check(&buf, &err), 0);
}
END_TEST

static Suite *buf_suite(void)
{
    Suite *suite = suite_create("buf");
    TCase *tcase = unit_case(suite, "buf");

    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_add_test(tcase, buf_writes_both_byte_orders);
    tcase_add_test(tcase, buf_joins_many_pieces);
    tcase_add_test(tcase, buf_adds_nothing_from_null);
    tcase_add_test(tcase, buf_resize_cuts_and_fills_with_zeros);
    tcase_add_test(tcase, buf_remembers_that_memory_ran_out);
    tcase_add_test(tcase, buf_is_usable_after_clear);
    tcase_add_test(tcase, buf_remembers_that_memory_ran_out_until_it_is_released);
    return suite;
}

UNIT_MAIN(buf_suite)
