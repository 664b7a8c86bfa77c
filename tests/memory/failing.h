/*
 * An allocator that fails on demand, for a whole test program: linked into it, it takes the place
 * of malloc and its relatives for the code under test, the C library and every other library.
 * Memory itself comes from the C library, or from a sanitizer where there is one.
 */
#ifndef TFS_TESTS_MEMORY_FAILING_H
#define TFS_TESTS_MEMORY_FAILING_H

#include <stdbool.h>
#include <stdint.h>

enum failing_mode {
    FAILING_ONCE, /* the n-th allocation fails */
    FAILING_FROM, /* the n-th and all behind it */
};

/* From here on allocations of all threads are counted, from 1, and the n-th fails; 0: none. */
void failing_begin(uint64_t n, enum failing_mode mode);
/* How many there were; from here on none fails. */
uint64_t failing_end(void);
/* How many failed since the last begin. */
uint64_t failing_hits(void);

/* Pieces of memory that are allocated now, of all threads; -1 where a sanitizer counts. */
int64_t failing_live(void);

#endif
