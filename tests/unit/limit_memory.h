/*
 * A bound on the memory of a test, which check runs in a process of its own.
 */
#ifndef TFS_TESTS_LIMIT_MEMORY_H
#define TFS_TESTS_LIMIT_MEMORY_H

#include <sys/resource.h>

#include "sanitized.h"
#include "unit.h"

/* From here on the process gets no more than `bytes` of memory; sanitizers need it all. */
static inline void limit_memory(size_t bytes)
{
    struct rlimit limit = {bytes, bytes};

    if (!SANITIZED)
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

#endif
