/*
 * Arrays that grow by one item at a time, and are sets when they are sorted. They need no capacity:
 * their memory doubles whenever their count is a power of two.
 *
 *     struct x *items = tfs_array_grow(list->items, list->count, sizeof(*items));
 *     if (items == NULL)
 *         return tfs_fail_memory(err);
 *     list->items = items;
 *     list->items[list->count++] = item;
 */
#ifndef TFS_BASE_ARRAY_H
#define TFS_BASE_ARRAY_H

#include <stddef.h>

/* `items`, of which there are `count`, with room for one more: the same memory or other one. For
 * arrays that only this function ever made larger; a smaller count is no harm. NULL: no memory, and
 * `items` is as it was. An empty array is NULL. To be freed with free(). */
void *tfs_array_grow(void *items, size_t count, size_t item_size);

/* Sorts the items, as qsort, and keeps one of those that are equal: returns how many are left. */
size_t tfs_array_unique(void *items, size_t count, size_t item_size,
                        int (*compare)(const void *a, const void *b));

#endif
