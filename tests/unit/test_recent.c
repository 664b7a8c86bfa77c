/* base/recent: the objects that were asked for last. */
#include "base/recent.h"
#include "unit.h"

struct object {
    int name;
    size_t weight;
    int refs;
};

static bool is(const void *object, const void *wanted)
{
    return ((const struct object *)object)->name == *(const int *)wanted;
}

static size_t weight(const void *object)
{
    return ((const struct object *)object)->weight;
}

static void ref(void *object)
{
    ((struct object *)object)->refs++;
}

static void unref(void *object)
{
    ((struct object *)object)->refs--;
}

static const struct tfs_recent_kind kind = {is, weight, ref, unref};

#define MANY (TFS_RECENT_MAX + 10)

static struct tfs_recent recent;
static struct object objects[MANY];

static void setup(void)
{
    tfs_recent_init(&recent, &kind, 100);
    for (int i = 0; i < MANY; i++)
        objects[i] = (struct object){.name = i, .weight = 1};
}

static void teardown(void)
{
    tfs_recent_release(&recent);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(objects[i].refs, 0);
}

/* Asks for it, and gives it back. */
static bool has(int name)
{
    struct object *found = tfs_recent_find(&recent, &name);

    if (found != NULL)
        unref(found);
    return found != NULL && found->name == name;
}

static void add(int name, size_t bytes)
{
    objects[name].weight = bytes;
    tfs_recent_add(&recent, &objects[name]);
}

START_TEST(object_is_found_with_a_reference)
{
    add(3, 1);
    ck_assert_int_eq(objects[3].refs, 1);
    ck_assert_ptr_eq(tfs_recent_find(&recent, &objects[3].name), &objects[3]);
    ck_assert_int_eq(objects[3].refs, 2);
    unref(&objects[3]);
    ck_assert(!has(4));
}
END_TEST

START_TEST(longest_not_asked_for_goes_first)
{
    for (int i = 0; i < TFS_RECENT_MAX; i++)
        add(i, 1);
    ck_assert(has(0));
    add(TFS_RECENT_MAX, 1);
    ck_assert(has(0));
    ck_assert(!has(1));
    ck_assert(has(2));
    ck_assert_uint_eq(recent.count, TFS_RECENT_MAX);
}
END_TEST

START_TEST(bytes_are_bounded)
{
    add(0, 40);
    add(1, 40);
    add(2, 20);
    ck_assert(has(0) && has(1) && has(2));
    add(3, 1);
    ck_assert(!has(0));
    ck_assert(has(1) && has(2) && has(3));
    add(4, 100);
    ck_assert(!has(1) && !has(2) && !has(3));
}
END_TEST

START_TEST(newest_stays_whatever_it_weighs)
{
    add(0, 1);
    add(1, SIZE_MAX);
    ck_assert(has(1));
    ck_assert(!has(0));
    add(2, 1);
    ck_assert(has(2));
    ck_assert(!has(1));
}
END_TEST

START_TEST(cleared_keeps_none)
{
    add(0, 1);
    add(1, 1);
    tfs_recent_clear(&recent);
    ck_assert(!has(0) && !has(1));
    add(0, 1);
    ck_assert(has(0));
}
END_TEST

START_TEST(dropped_is_not_kept)
{
    add(0, 1);
    add(1, 2);
    add(2, 4);
    tfs_recent_drop(&recent, &objects[1].name);
    ck_assert(has(0) && !has(1) && has(2));
    ck_assert_uint_eq(recent.weight, 5);
}
END_TEST

static Suite *recent_suite(void)
{
    Suite *suite = suite_create("recent");
    TCase *tcase = unit_case(suite, "recent");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, object_is_found_with_a_reference);
    tcase_add_test(tcase, longest_not_asked_for_goes_first);
    tcase_add_test(tcase, bytes_are_bounded);
    tcase_add_test(tcase, newest_stays_whatever_it_weighs);
    tcase_add_test(tcase, cleared_keeps_none);
    tcase_add_test(tcase, dropped_is_not_kept);
    return suite;
}

UNIT_MAIN(recent_suite)
