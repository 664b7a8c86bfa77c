/*
 * An array and the wish for one more item -> an array that has room for it.
 *
 * Must not know what items are. Invariant: there is room for as many as the next power of two above
 * the count, and for COUNT_MIN.
 */
#include "base/array.h"

#include <stdlib.h>

#define COUNT_MIN 16

void *tfs_array_grow(void *items, size_t count, size_t item_size)
{
    if (count > 0 && (count < COUNT_MIN || (count & (count - 1)) != 0))
        return items;
    if (count == 0)
        return reallocarray(items, COUNT_MIN, item_size);
    return reallocarray(items, count, 2 * item_size); /* which looks whether that is too much */
}
