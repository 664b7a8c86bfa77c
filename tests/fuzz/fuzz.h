/*
 * What every fuzz target shares: the function that libFuzzer and replay.c call, and the way a
 * target says that a property does not hold.
 */
#ifndef TFS_TESTS_FUZZ_H
#define TFS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert, never compiled out. */
#define REQUIRE(property)                                                                          \
    do {                                                                                           \
        if (!(property)) {                                                                         \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
