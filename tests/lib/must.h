/*
 * What must hold for a test to go on. Unlike assert it is never compiled out, and unlike those of
 * check it is there for fuzz targets and tools, too.
 */
#ifndef TFS_TESTS_MUST_H
#define TFS_TESTS_MUST_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the process unless it holds. */
#define must(holds, what) must_at(holds, __FILE__, __LINE__, what)

static inline void must_at(bool holds, const char *file, int line, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: %s%s%s\n", file, line, what, errno == 0 ? "" : ": ",
            errno == 0 ? "" : strerror(errno));
    abort();
}

#endif
