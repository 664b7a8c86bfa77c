/* base/array: growing by one, what is counted down and up again, and each item once. */
#include <stdint.h>

#include "base/array.h"
#include "unit.h"

static uint32_t *items;
static size_t count;

static void setup(void)
{
    items = NULL;
    count = 0;
}

static void teardown(void)
{
    free(items);
}

static void add(uint32_t item)
{
    uint32_t *more = tfs_array_grow(items, count, sizeof(*items));

    ck_assert_ptr_nonnull(more);
    items = more;
    items[count++] = item;
}

static void check_all(void)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(items[i], i);
}

START_TEST(array_keeps_what_it_has_while_it_grows)
{
    for (uint32_t i = 0; i < 5000; i++)
        add(i);
    check_all();
}
END_TEST

/* An address sanitizer sees an array that is smaller than its count says. */
START_TEST(array_that_lost_items_grows_again)
{
    for (uint32_t i = 0; i < 100; i++)
        add(i);
    for (size_t left = 100; left-- > 0;) {
        count = left;
        while (count < 130)
            add((uint32_t)count);
        check_all();
    }
}
END_TEST

static int compare_items(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

START_TEST(array_that_is_made_unique_has_each_item_once_and_in_order)
{
    ck_assert_uint_eq(tfs_array_unique(items, count, sizeof(*items), compare_items), 0);
    for (uint32_t i = 0; i < 900; i++)
        add(i * 7 % 300);
    count = tfs_array_unique(items, count, sizeof(*items), compare_items);
    ck_assert_uint_eq(count, 300);
    check_all();
    ck_assert_uint_eq(tfs_array_unique(items, 1, sizeof(*items), compare_items), 1);
}
END_TEST

static Suite *array_suite(void)
{
    Suite *suite = suite_create("array");
    TCase *t = unit_case_with(suite, "array", setup, teardown);

    tcase_add_test(t, array_keeps_what_it_has_while_it_grows);
    tcase_add_test(t, array_that_lost_items_grows_again);
    tcase_add_test(t, array_that_is_made_unique_has_each_item_once_and_in_order);
    return suite;
}

UNIT_MAIN(array_suite)
