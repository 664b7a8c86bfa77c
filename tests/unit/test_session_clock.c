/*
 * The session and a clock that stands still or is set back: git, make and rsync tell versions of a
 * file apart by its times, so no two of them are the same, and none is older than the one before.
 */
#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../lib/session_driver.h"
#include "../lib/session_format.h"

static struct timespec stands; /* what the clock of the day says; 0: what it is */

/* Takes the place of the C library's, for the whole program. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    if (id == CLOCK_REALTIME && stands.tv_sec != 0) {
        *now = stands;
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, id, now);
}

static void setup(void)
{
    open_with((struct tfs_session_options){0});
}

static void teardown(void)
{
    tfs_session_close(session);
}

static int compare(struct timespec a, struct timespec b)
{
    if (a.tv_sec != b.tv_sec)
        return a.tv_sec < b.tv_sec ? -1 : 1;
    return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

static struct stat stat_of(const char *path)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look(path, &attr), 0);
    return attr.st;
}

/* Edits a file again and again; each time it, and what else shows the edit, is newer than
 * before. */
static void every_edit_is_newer(void)
{
    static const char *const shown[] = {"chunks/0_0_0/text.txt", "chunks/0_0_0/raw.bin", "all.txt"};
    for (int i = 0; i < 8; i++) {
        struct stat before[3];
        for (int n = 0; n < 3; n++)
            before[n] = stat_of(shown[n]);
        ck_assert_int_eq(put("chunks/0_0_0/text.txt", i % 2 ? "this" : "that"), 0);
        for (int n = 0; n < 3; n++) {
            struct stat after = stat_of(shown[n]);
            ck_assert_int_gt(compare(after.st_mtim, before[n].st_mtim), 0);
            ck_assert_int_gt(compare(after.st_ctim, before[n].st_ctim), 0);
            ck_assert_int_lt(after.st_mtim.tv_nsec, 1000000000);
        }
    }
}

START_TEST(session_edits_at_one_moment_have_times_of_their_own)
{
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &stands), 0);
    every_edit_is_newer();
}
END_TEST

START_TEST(session_edits_at_the_end_of_a_second_go_on_in_the_next)
{
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &stands), 0);
    stands.tv_nsec = 999999998;
    every_edit_is_newer();
    ck_assert_int_gt(stat_of("chunks/0_0_0/text.txt").st_mtim.tv_sec, stands.tv_sec);
}
END_TEST

START_TEST(session_clock_that_is_set_back_makes_nothing_older)
{
    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &stands), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "first"), 0);
    stands.tv_sec -= 3600;
    every_edit_is_newer();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("session_clock");
    TCase *c = unit_case(s, "clock");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, session_edits_at_one_moment_have_times_of_their_own);
    tcase_add_test(c, session_edits_at_the_end_of_a_second_go_on_in_the_next);
    tcase_add_test(c, session_clock_that_is_set_back_makes_nothing_older);
    return s;
}

UNIT_MAIN(suite)
