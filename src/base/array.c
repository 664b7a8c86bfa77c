/*
 * An array and the wish for one more item -> an array that has room for it.
 *
 * Must not know what items are.
 */
#include "base/array.h"

#include <stdlib.h>

#define CAPACITY_MIN 16

void *tfs_array_grow(void *items, size_t count, size_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return items;

    size_t wanted = *capacity == 0 ? CAPACITY_MIN : *capacity * 2;
    void *grown = reallocarray(items, wanted, item_size);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}
