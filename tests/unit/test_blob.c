/* base/blob: who owns the bytes, and how long they live. */
#include <errno.h>

#include "base/blob.h"
#include "unit.h"

static struct tfs_blob *blob_of(const char *text)
{
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_blob_copy(tfs_span_of(text), &blob, &err), 0);
    return blob;
}

START_TEST(blob_copy_is_independent_of_its_source)
{
    uint8_t bytes[3] = {1, 2, 3};
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_blob_copy((struct tfs_span){bytes, 3}, &blob, &err), 0);
    bytes[0] = 9;
    ck_assert_uint_eq(blob->size, 3);
    ck_assert_uint_eq(blob->data[0], 1);
    tfs_blob_unref(blob);
}
END_TEST

START_TEST(blob_take_empties_the_buffer)
{
    struct tfs_buf buf = {0};
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};

    tfs_buf_add_text(&buf, "abc");
    ck_assert_int_eq(tfs_blob_take(&buf, &blob, &err), 0);
    ck_assert_ptr_null(buf.data);
    ck_assert_uint_eq(buf.size, 0);
    ck_assert(tfs_span_equal(tfs_blob_span(blob), tfs_span_of("abc")));
    tfs_blob_unref(blob);
}
END_TEST

START_TEST(blob_take_of_nothing_is_an_empty_blob)
{
    struct tfs_buf buf = {0};
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};

    tfs_buf_reserve(&buf, 10);
    ck_assert_int_eq(tfs_blob_take(&buf, &blob, &err), 0);
    ck_assert_ptr_null(buf.data);
    ck_assert_ptr_nonnull(blob);
    ck_assert_uint_eq(blob->size, 0);
    tfs_blob_unref(blob);
}
END_TEST

START_TEST(blob_take_refuses_a_failed_buffer)
{
    struct tfs_buf buf = {0};
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};

    tfs_buf_add_text(&buf, "abc");
    tfs_buf_reserve(&buf, SIZE_MAX);
    ck_assert_int_eq(tfs_blob_take(&buf, &blob, &err), -ENOMEM);
    ck_assert_ptr_null(blob);
    tfs_buf_release(&buf);
}
END_TEST

START_TEST(blob_slice_of_a_slice_keeps_the_bytes_alive)
{
    struct tfs_blob *whole = blob_of("abcdefgh");
    struct tfs_blob *part = NULL;
    struct tfs_blob *piece = NULL;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_blob_slice(whole, (struct tfs_span){whole->data + 2, 5}, &part, &err), 0);
    ck_assert_int_eq(tfs_blob_slice(part, (struct tfs_span){part->data + 1, 2}, &piece, &err), 0);
    tfs_blob_unref(whole);
    tfs_blob_unref(part);
    ck_assert(tfs_span_equal(tfs_blob_span(piece), tfs_span_of("de")));
    ck_assert_uint_eq(atomic_load(&whole->refs), 1);
    tfs_blob_unref(piece);
}
END_TEST

START_TEST(blob_that_nobody_else_has_gives_its_memory_back)
{
    struct tfs_buf buf = {0};
    struct tfs_blob *blob, *slice;
    struct tfs_error err = {0};

    tfs_buf_add_text(&buf, "abcdefgh");
    ck_assert_int_eq(tfs_blob_take(&buf, &blob, &err), 0);
    const uint8_t *memory = blob->data;
    ck_assert_int_eq(tfs_blob_slice(blob, tfs_blob_span(blob), &slice, &err), 0);
    tfs_blob_reclaim(blob, &buf); /* the slice has it */
    ck_assert_ptr_null(buf.data);
    ck_assert(tfs_span_equal(tfs_blob_span(slice), tfs_span_of("abcdefgh")));
    blob = tfs_blob_ref(slice->parent);
    tfs_blob_unref(slice);
    tfs_blob_reclaim(blob, &buf);
    ck_assert_ptr_eq(buf.data, memory);
    ck_assert_uint_eq(buf.size, 0);
    ck_assert_uint_eq(buf.capacity, 8);
    tfs_buf_release(&buf);
    tfs_blob_reclaim(blob_of("copied"), &buf); /* lies behind the blob */
    ck_assert_ptr_null(buf.data);
}
END_TEST

START_TEST(blob_ref_counts)
{
    struct tfs_blob *blob = blob_of("abc");

    ck_assert_ptr_eq(tfs_blob_ref(blob), blob);
    ck_assert_uint_eq(atomic_load(&blob->refs), 2);
    tfs_blob_unref(blob);
    ck_assert_uint_eq(blob->data[0], 'a');
    tfs_blob_unref(blob);
    tfs_blob_unref(NULL);
    ck_assert_ptr_null(tfs_blob_ref(NULL));
    ck_assert_uint_eq(tfs_blob_span(NULL).size, 0);
}
END_TEST

START_TEST(blob_equal_compares_bytes)
{
    struct tfs_blob *a = blob_of("abc");
    struct tfs_blob *b = blob_of("abc");
    struct tfs_blob *c = blob_of("abd");

    ck_assert(tfs_blob_equal(a, b));
    ck_assert(!tfs_blob_equal(a, c));
    ck_assert(!tfs_blob_equal(a, NULL));
    ck_assert(!tfs_blob_equal(NULL, a));
    ck_assert(tfs_blob_equal(NULL, NULL));
    tfs_blob_unref(a);
    tfs_blob_unref(b);
    tfs_blob_unref(c);
}
END_TEST

static Suite *blob_suite(void)
{
    Suite *suite = suite_create("blob");
    TCase *tcase = unit_case(suite, "blob");

    tcase_add_test(tcase, blob_copy_is_independent_of_its_source);
    tcase_add_test(tcase, blob_take_empties_the_buffer);
    tcase_add_test(tcase, blob_take_of_nothing_is_an_empty_blob);
    tcase_add_test(tcase, blob_take_refuses_a_failed_buffer);
    tcase_add_test(tcase, blob_slice_of_a_slice_keeps_the_bytes_alive);
    tcase_add_test(tcase, blob_that_nobody_else_has_gives_its_memory_back);
    tcase_add_test(tcase, blob_ref_counts);
    tcase_add_test(tcase, blob_equal_compares_bytes);
    return suite;
}

UNIT_MAIN(blob_suite)
