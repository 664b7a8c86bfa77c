/*
 * What every unit test program shares: the check library and main().
 *
 * A program builds one suite and ends with UNIT_MAIN(function that makes it). check forks each
 * test, so a crash is one failed test.
 */
#ifndef TFS_TESTS_UNIT_H
#define TFS_TESTS_UNIT_H

#include <check.h>
#include <stdlib.h>

#define UNIT_MAIN(make_suite)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
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

#endif
