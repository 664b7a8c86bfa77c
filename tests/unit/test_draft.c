/*
 * The states of a draft: every event in every state, and the walks that commit points make.
 */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "fs/session/draft.h"

#define STATES 7
#define EVENTS 8

static struct tfs_draft *draft;

static void setup(void)
{
    draft = tfs_draft_create(tfs_span_of("shown"));
    ck_assert_ptr_nonnull(draft);
}

static void teardown(void)
{
    tfs_draft_free(draft);
}

#define WRITTEN  TFS_DRAFT_WRITTEN
#define OUTDATED TFS_DRAFT_OUTDATED
#define POISONED TFS_DRAFT_POISONED

/* One row a state; what each event makes of it, -1: it means nothing there. */
static const int table[STATES][EVENTS] = {
    /*                     WRITE    CHECK               ACCEPT              REJECT
                           DEFER    OUTDATE   POISON    EMPTY */
    [TFS_DRAFT_CLEAN] = {WRITTEN, -1, -1, -1, -1, -1, -1, WRITTEN},
    [TFS_DRAFT_WRITTEN] = {WRITTEN, TFS_DRAFT_CHECKING, -1, -1, -1, OUTDATED, POISONED, WRITTEN},
    [TFS_DRAFT_CHECKING] = {WRITTEN, -1, TFS_DRAFT_ACCEPTED, TFS_DRAFT_REJECTED, WRITTEN, OUTDATED,
                            POISONED, WRITTEN},
    [TFS_DRAFT_ACCEPTED] = {WRITTEN, -1, -1, -1, -1, -1, -1, WRITTEN},
    [TFS_DRAFT_REJECTED] = {WRITTEN, TFS_DRAFT_CHECKING, -1, -1, -1, OUTDATED, POISONED, WRITTEN},
    [TFS_DRAFT_OUTDATED] = {OUTDATED, -1, -1, -1, -1, -1, -1, WRITTEN},
    [TFS_DRAFT_POISONED] = {-1, -1, -1, -1, -1, -1, -1, WRITTEN},
};

/* Events that lead from CLEAN to a state. */
static const int ways[STATES][4] = {
    [TFS_DRAFT_CLEAN] = {-1},
    [TFS_DRAFT_WRITTEN] = {TFS_DRAFT_WRITE, -1},
    [TFS_DRAFT_CHECKING] = {TFS_DRAFT_WRITE, TFS_DRAFT_CHECK, -1},
    [TFS_DRAFT_ACCEPTED] = {TFS_DRAFT_WRITE, TFS_DRAFT_CHECK, TFS_DRAFT_ACCEPT, -1},
    [TFS_DRAFT_REJECTED] = {TFS_DRAFT_WRITE, TFS_DRAFT_CHECK, TFS_DRAFT_REJECT, -1},
    [TFS_DRAFT_OUTDATED] = {TFS_DRAFT_WRITE, TFS_DRAFT_OUTDATE, -1},
    [TFS_DRAFT_POISONED] = {TFS_DRAFT_WRITE, TFS_DRAFT_POISON, -1},
};

static void bring_to(enum tfs_draft_state state)
{
    teardown();
    setup();
    for (int i = 0; i < 4 && ways[state][i] >= 0; i++)
        ck_assert(tfs_draft_take(draft, (enum tfs_draft_event)ways[state][i]));
    ck_assert_int_eq(draft->state, state);
}

START_TEST(draft_takes_every_event_in_every_state_as_the_table_says)
{
    for (int state = 0; state < STATES; state++)
        for (int event = 0; event < EVENTS; event++) {
            int next = table[state][event];
            bring_to((enum tfs_draft_state)state);
            bool taken = tfs_draft_take(draft, (enum tfs_draft_event)event);
            ck_assert_msg(taken == (next >= 0), "state %d, event %d", state, event);
            ck_assert_msg((int)draft->state == (next >= 0 ? next : state), "state %d, event %d: %d",
                          state, event, draft->state);
            ck_assert_uint_eq(draft->bytes.size, 5);
        }
}
END_TEST

START_TEST(draft_has_something_to_check_until_it_is_accepted)
{
    static const bool unchecked[STATES] = {[TFS_DRAFT_WRITTEN] = true,
                                           [TFS_DRAFT_REJECTED] = true,
                                           [TFS_DRAFT_OUTDATED] = true,
                                           [TFS_DRAFT_POISONED] = true};
    for (int state = 0; state < STATES; state++) {
        bring_to((enum tfs_draft_state)state);
        ck_assert_int_eq(tfs_draft_is_unchecked(draft), unchecked[state]);
    }
}
END_TEST

START_TEST(draft_may_be_accepted_unless_it_is_so_already_or_never_will_be)
{
    for (int state = 0; state < STATES; state++) {
        bring_to((enum tfs_draft_state)state);
        ck_assert_int_eq(tfs_draft_may_be_accepted(draft),
                         state == TFS_DRAFT_WRITTEN || state == TFS_DRAFT_REJECTED);
    }
}
END_TEST

/* The answer is about the bytes before. */
START_TEST(draft_written_to_during_a_check_is_checked_again)
{
    static const enum tfs_draft_event answers[] = {TFS_DRAFT_ACCEPT, TFS_DRAFT_REJECT,
                                                   TFS_DRAFT_DEFER};
    for (int i = 0; i < 3; i++) {
        bring_to(TFS_DRAFT_CHECKING);
        ck_assert(tfs_draft_take(draft, TFS_DRAFT_WRITE));
        ck_assert(!tfs_draft_take(draft, answers[i]));
        ck_assert_int_eq(draft->state, TFS_DRAFT_WRITTEN);
        ck_assert(tfs_draft_take(draft, TFS_DRAFT_CHECK));
    }
}
END_TEST

START_TEST(draft_that_was_refused_is_told_of_again_only_when_it_was_written_to)
{
    bring_to(TFS_DRAFT_REJECTED);
    draft->told = true;
    ck_assert(tfs_draft_take(draft, TFS_DRAFT_CHECK));
    ck_assert(tfs_draft_take(draft, TFS_DRAFT_REJECT));
    ck_assert(draft->told);
    ck_assert(tfs_draft_take(draft, TFS_DRAFT_WRITE));
    ck_assert(!draft->told);
}
END_TEST

START_TEST(draft_is_about_to_close_until_something_happens_to_it)
{
    bring_to(TFS_DRAFT_ACCEPTED);
    draft->closing = true;
    ck_assert(!tfs_draft_take(draft, TFS_DRAFT_CHECK));
    ck_assert(draft->closing);
    ck_assert(tfs_draft_take(draft, TFS_DRAFT_WRITE));
    ck_assert(!draft->closing);
}
END_TEST

START_TEST(draft_bytes_grow_and_shrink)
{
    ck_assert_int_eq(tfs_bytes_resize(&draft->bytes, 1 << 20), 0);
    memcpy(draft->bytes.data + (1 << 20) - 3, "end", 3);
    ck_assert_int_eq(memcmp(draft->bytes.data, "shown\0", 6), 0);
    ck_assert_int_eq(memcmp(draft->bytes.data + (1 << 20) - 3, "end", 3), 0);
    ck_assert_int_eq(tfs_bytes_resize(&draft->bytes, 3), 0);
    ck_assert_uint_eq(draft->bytes.size, 3);
    ck_assert_uint_lt(draft->bytes.capacity, 1 << 19);
    ck_assert_int_eq(memcmp(draft->bytes.data, "sho", 3), 0);
}
END_TEST

START_TEST(draft_goes_into_a_file_and_comes_back)
{
    tfs_draft_spill(draft);
    ck_assert_ptr_nonnull(draft->sparse);
    ck_assert_ptr_null(draft->bytes.data);
    ck_assert_uint_eq(tfs_draft_size(draft), 5);
    ck_assert_int_eq(tfs_draft_unspill(draft), 0);
    ck_assert_ptr_null(draft->sparse);
    ck_assert(tfs_span_equal(tfs_buf_span(&draft->bytes), tfs_span_of("shown")));
}
END_TEST

/* Each try writes all of a large text, and a program writes it in a thousand pieces. */
START_TEST(draft_that_found_no_room_for_a_file_does_not_look_for_it_again)
{
    struct rlimit limit = {0, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tfs_draft_spill(draft);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tfs_draft_spill(draft);
    ck_assert_ptr_null(draft->sparse);
    ck_assert(tfs_span_equal(tfs_buf_span(&draft->bytes), tfs_span_of("shown")));
}
END_TEST

static const TTest *const *const tests[] = {
    &draft_takes_every_event_in_every_state_as_the_table_says,
    &draft_has_something_to_check_until_it_is_accepted,
    &draft_may_be_accepted_unless_it_is_so_already_or_never_will_be,
    &draft_written_to_during_a_check_is_checked_again,
    &draft_that_was_refused_is_told_of_again_only_when_it_was_written_to,
    &draft_is_about_to_close_until_something_happens_to_it,
    &draft_bytes_grow_and_shrink,
    &draft_goes_into_a_file_and_comes_back,
    &draft_that_found_no_room_for_a_file_does_not_look_for_it_again,
};

static Suite *suite(void)
{
    return unit_suite("draft", setup, teardown, tests, sizeof(tests) / sizeof(tests[0]));
}

UNIT_MAIN(suite)
