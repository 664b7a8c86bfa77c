/*
 * A bound on the memory of a test, which check runs in a process of its own.
 */
#ifndef TFS_TESTS_LIMIT_MEMORY_H
#define TFS_TESTS_LIMIT_MEMORY_H

#include <sys/resource.h>

#include "unit.h"

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif

/* From here on the process gets no more than `bytes` of memory; sanitizers need it all. */
static inline void limit_memory(size_t bytes)
{
#ifndef SANITIZED
    struct rlimit limit = {bytes, bytes};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
#else
    (void)bytes;
#endif
}

#endif
