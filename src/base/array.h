/*
 * Arrays that grow by one item at a time.
 */
#ifndef TFS_BASE_ARRAY_H
#define TFS_BASE_ARRAY_H

#include <stddef.h>

/* `items` with room for one more than `count`: the same memory, or larger one in its place;
 * doubles, so that adding many stays cheap. NULL: no memory, and `items` is as it was. NULL with a
 * capacity of 0 is an empty array. To be freed with free().
 *
 *     struct x *items = tfs_array_grow(list->items, list->count, &list->capacity, sizeof(*items));
 *     if (items == NULL)
 *         return tfs_fail_memory(err);
 *     list->items = items;
 *     list->items[list->count++] = item;
 */
void *tfs_array_grow(void *items, size_t count, size_t *capacity, size_t item_size);

#endif
