/*
 * What every unit test program shares: the check library and main().
 *
 * A program builds one suite and ends with UNIT_MAIN(function that makes it). check forks each
 * test, so a crash is one failed test.
 */
#ifndef TFS_TESTS_UNIT_H
#define TFS_TESTS_UNIT_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "sanitized.h"

/* For a test that says nothing else. Those of check, 4, are too few on a machine with much to
 * do. */
#define UNIT_SECONDS "60"

/* Nothing is ever kept in the home of a user who runs the tests: what a session stores there has no
 * place, but for tests that make one. */
#define UNIT_NO_STATE "/dev/null/state"

/* How many items an array has, as the bounds of a loop test are given; a test for each of them. */
#define COUNT(array)            ((int)(sizeof(array) / sizeof((array)[0])))
#define LOOP(tcase, rows, test) tcase_add_loop_test(tcase, test, 0, COUNT(rows))

#define UNIT_MAIN(make_suite)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        setenv("CK_DEFAULT_TIMEOUT", UNIT_SECONDS, 0);                                             \
        setenv("XDG_STATE_HOME", UNIT_NO_STATE, 1);                                                \
        SRunner *runner = srunner_create(make_suite());                                            \
        srunner_run_all(runner, CK_ENV);                                                           \
        int failed = srunner_ntests_failed(runner);                                                \
        srunner_free(runner);                                                                      \
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                          \
    }

/* One test case of that name in `suite`. */
static inline TCase *unit_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    suite_add_tcase(suite, tcase);
    return tcase;
}

/* The same, with what begins and ends each test; NULL: nothing. */
static inline TCase *unit_case_with(Suite *suite, const char *name, void (*setup)(void),
                                    void (*teardown)(void))
{
    TCase *tcase = unit_case(suite, name);

    tcase_add_checked_fixture(tcase, setup, teardown);
    return tcase;
}

/* A suite of one test case, with a list of tests. */
static inline Suite *unit_suite(const char *name, void (*setup)(void), void (*teardown)(void),
                                const TTest *const *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = unit_case_with(suite, name, setup, teardown);

    for (size_t i = 0; i < count; i++)
        tcase_add_test(tcase, *tests[i]);
    return suite;
}

/* Adds the test, `times` times as a loop, where the machine allows it; else says that it is
 * skipped, for scripts/run-tests to count. A test that cannot be run must not pass. */
static inline void unit_add_where(bool here, TCase *tcase, const TTest *test, int times,
                                  const char *needs)
{
    if (here)
        _tcase_add_test(tcase, test, 0, 0, 0, times);
    else
        printf("ok - %s # skip needs %s\n", test->name, needs);
    fflush(stdout); /* before check forks */
}

/* Adds the test for each of so many real saves below `folder`; under a sanitizer, which looks at
 * code and not at saves, for every third. */
static inline void unit_add_samples(TCase *tcase, const TTest *test, size_t count,
                                    const char *folder)
{
    if (count == 0)
        unit_add_where(false, tcase, test, 0, folder);
    for (int i = 0; i < (int)count; i += SANITIZED ? 3 : 1)
        tcase_add_loop_test(tcase, test, i, i + 1);
}

#endif
