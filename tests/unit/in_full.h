/*
 * Does `make torture` run the test? It takes every step of a long sweep; `make check` and the
 * sanitizers take larger ones.
 */
#ifndef TFS_TESTS_IN_FULL_H
#define TFS_TESTS_IN_FULL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool in_full(void)
{
    const char *torture = getenv("TORTURE");

    return torture != NULL && strcmp(torture, "full") == 0;
}

#endif
