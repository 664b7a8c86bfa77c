/*
 * Is a test program made with a sanitizer? It is slower then, and needs more memory.
 */
#ifndef TFS_TESTS_SANITIZED_H
#define TFS_TESTS_SANITIZED_H

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
