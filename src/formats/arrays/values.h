/*
 * Values of chunks that were decoded for an array of the save. A file is read plane by plane: a
 * chunk that can only be decoded whole would be decoded once for each of its planes.
 *
 * Thread-safe.
 */
#ifndef TFS_FORMATS_ARRAYS_VALUES_H
#define TFS_FORMATS_ARRAYS_VALUES_H

#include "formats/arrays/array.h"

struct tfs_values;

/* Copies `size` bytes from `offset` on of the chunk's values: true; false: they are not known. */
bool tfs_values_find(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                     size_t offset, size_t size, uint8_t *out);
/* Remembers all values of the chunk, if there is memory. */
void tfs_values_add(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                    const uint8_t *values, size_t size);
void tfs_values_free(struct tfs_values *values); /* NULL is legal */

#endif
