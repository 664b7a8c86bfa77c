/*
 * An array and the wish for one more item -> an array that has room for it; an array -> a set.
 *
 * Must not know what items are. Invariant: there is room for as many as the next power of two above
 * the count, and for COUNT_MIN.
 */
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MIN 16

void *tfs_array_grow(void *items, size_t count, size_t item_size)
{
    if (count > 0 && (count < COUNT_MIN || (count & (count - 1)) != 0))
        return items;
    if (count == 0)
        return reallocarray(items, COUNT_MIN, item_size);
    return reallocarray(items, count, 2 * item_size); /* refuses what overflows */
}

size_t tfs_array_unique(void *items, size_t count, size_t item_size,
                        int (*compare)(const void *a, const void *b))
{
    char *all = items;
    size_t kept = 0;

    if (count > 0)
        qsort(all, count, item_size, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare(all + (kept - 1) * item_size, all + i * item_size) != 0)
            memmove(all + kept++ * item_size, all + i * item_size, item_size);
    return kept;
}
