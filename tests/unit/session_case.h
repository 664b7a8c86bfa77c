/*
 * What the suites of the session share: each test has a session of its own on the fake format.
 */
#ifndef TFS_TESTS_SESSION_CASE_H
#define TFS_TESTS_SESSION_CASE_H

#include <string.h>

#include "../lib/session_driver.h"
#include "../lib/session_format.h"
#include "unit.h"

/* No directory comes to rest while a test is at work, however long that takes. */
static inline void session_setup(void)
{
    open_with((struct tfs_session_options){.linger_ms = 3600000});
}

/* Another one, of which every directory comes to rest at once. */
static inline void session_without_lingering(void)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.linger_ms = 1});
}

static inline void session_teardown(void)
{
    fake_disk.fail = 0;
    tfs_session_close(session);
}

/* Another program gives the chunk at x other bytes. */
static inline void outside_change(int x, const char *blob)
{
    fake_disk.theirs = fake_doc_with(save->doc, x, blob);
    fake_disk.changed = 1;
}

static inline bool zero_is_theirs(const char *path)
{
    return strcmp(cat(path), "theirs") == 0;
}

static inline TCase *session_case(Suite *suite, const TTest *const *const *tests, size_t count)
{
    TCase *c = unit_case(suite, "session");

    tcase_add_checked_fixture(c, session_setup, session_teardown);
    tcase_set_timeout(c, 60);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(c, *tests[i]);
    return c;
}

#endif
