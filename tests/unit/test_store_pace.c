/* When the save follows, on a clock that the test sets. */
#include "unit.h"

#include "fs/store/state.h"

static const struct tfs_pace automatic = {.automatic = true};

START_TEST(pace_knows_a_burst_by_the_time_since_the_last_edit)
{
    struct tfs_pace pace = automatic;

    ck_assert(!tfs_pace_is_burst(&pace, 1));
    tfs_pace_edit(&pace, 1000, false);
    ck_assert(tfs_pace_is_burst(&pace, 1000));
    ck_assert(tfs_pace_is_burst(&pace, 1249));
    ck_assert(!tfs_pace_is_burst(&pace, 1250));
}
END_TEST

START_TEST(pace_sets_no_time_when_nothing_waits)
{
    struct tfs_pace pace = automatic;

    ck_assert_int_eq(tfs_pace_deadline(&pace), 0);
    tfs_pace_edit(&pace, 1000, false);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 0);
    tfs_pace_edit(&pace, 1000, true);
    tfs_pace_saved(&pace);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 0);
}
END_TEST

START_TEST(pace_follows_when_edits_pause)
{
    struct tfs_pace pace = automatic;

    tfs_pace_edit(&pace, 1000, true);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 1250);
    tfs_pace_edit(&pace, 1200, true);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 1450);
}
END_TEST

START_TEST(pace_follows_a_stream_every_five_seconds)
{
    struct tfs_pace pace = automatic;

    for (int64_t now = 1000; now < 5900; now += 100)
        tfs_pace_edit(&pace, now, true);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 6000);
}
END_TEST

/* So a save of a gigabyte is not written without end. */
START_TEST(pace_of_a_slow_rewrite_is_ten_times_as_long)
{
    struct tfs_pace pace = automatic;

    pace.rewrite_ms = 3000;
    for (int64_t now = 1000; now < 40000; now += 100)
        tfs_pace_edit(&pace, now, true);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 31000);
}
END_TEST

START_TEST(pace_without_a_mode_sets_no_time)
{
    struct tfs_pace pace = {0};

    tfs_pace_edit(&pace, 1000, true);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 0);
    tfs_pace_failed(&pace, 1000);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 0);
}
END_TEST

START_TEST(pace_tries_again_later_what_failed)
{
    struct tfs_pace pace = automatic;

    tfs_pace_edit(&pace, 1000, true);
    tfs_pace_failed(&pace, 1250);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 6250);
    tfs_pace_edit(&pace, 3000, true);
    tfs_pace_hurry(&pace);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 6250);
}
END_TEST

START_TEST(pace_hurries_when_there_is_no_room)
{
    struct tfs_pace pace = automatic;

    tfs_pace_edit(&pace, 1000, true);
    tfs_pace_hurry(&pace);
    ck_assert_int_le(tfs_pace_deadline(&pace), 1000);
    tfs_pace_saved(&pace);
    tfs_pace_edit(&pace, 2000, true);
    ck_assert_int_eq(tfs_pace_deadline(&pace), 2250);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_pace");
    TCase *c = unit_case(s, "pace");

    tcase_add_test(c, pace_knows_a_burst_by_the_time_since_the_last_edit);
    tcase_add_test(c, pace_sets_no_time_when_nothing_waits);
    tcase_add_test(c, pace_follows_when_edits_pause);
    tcase_add_test(c, pace_follows_a_stream_every_five_seconds);
    tcase_add_test(c, pace_of_a_slow_rewrite_is_ten_times_as_long);
    tcase_add_test(c, pace_without_a_mode_sets_no_time);
    tcase_add_test(c, pace_tries_again_later_what_failed);
    tcase_add_test(c, pace_hurries_when_there_is_no_room);
    return s;
}

UNIT_MAIN(suite)
