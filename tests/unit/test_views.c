/*
 * What is remembered of files, by id and stamp, without a session: fs/tree/views.h.
 */
#include "fs/tree/views.h"

#include <string.h>

#include "unit.h"

static struct tfs_views views;

static const uint64_t first = 0x3000000000000001, second = 0x3000000000010001;

static void setup(void)
{
    memset(&views, 0, sizeof(views));
    tfs_views_init(&views, 1 << 20, 1); /* the changes of one file are known */
    ck_assert_int_eq(tfs_views_set_base(&views, 0, (struct timespec){.tv_sec = 1}), 0);
}

static void teardown(void)
{
    tfs_views_release(&views);
}

/* What the kernel, an open file or a cache holds of before has another stamp. */
START_TEST(change_that_is_forgotten_is_not_taken_back)
{
    const uint64_t unchanged = tfs_views_stamp(&views, first);

    tfs_views_bump(&views, first);
    const uint64_t changed = tfs_views_stamp(&views, first);
    tfs_views_bump(&views, second); /* there is no room for both */
    ck_assert_uint_ne(tfs_views_stamp(&views, first), unchanged);
    ck_assert_uint_ne(tfs_views_stamp(&views, first), changed);
}
END_TEST

START_TEST(change_that_is_forgotten_keeps_no_older_time)
{
    struct tfs_times before, after;

    tfs_views_bump(&views, first);
    tfs_views_times(&views, first, &before);
    tfs_views_bump(&views, second);
    tfs_views_times(&views, first, &after);
    ck_assert(
        after.mtime.tv_sec > before.mtime.tv_sec ||
        (after.mtime.tv_sec == before.mtime.tv_sec && after.mtime.tv_nsec > before.mtime.tv_nsec));
}
END_TEST

START_TEST(changes_of_more_than_is_known_move_all_times_once)
{
    struct tfs_times before[2], after[2];

    tfs_views_times(&views, first, &before[0]);
    tfs_views_times(&views, second, &before[1]);
    ck_assert(!tfs_views_bump_all(&views, 1));
    ck_assert_uint_eq(tfs_views_stamp(&views, first), 0);
    ck_assert(tfs_views_bump_all(&views, 2));
    tfs_views_times(&views, first, &after[0]);
    tfs_views_times(&views, second, &after[1]);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_gt(after[i].mtime.tv_sec, before[i].mtime.tv_sec);
        ck_assert_int_eq(after[i].mtime.tv_nsec, after[0].mtime.tv_nsec);
    }
    ck_assert_uint_gt(tfs_views_stamp(&views, first), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("views");
    TCase *c = unit_case(s, "views");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, change_that_is_forgotten_is_not_taken_back);
    tcase_add_test(c, changes_of_more_than_is_known_move_all_times_once);
    tcase_add_test(c, change_that_is_forgotten_keeps_no_older_time);
    return s;
}

UNIT_MAIN(suite)
