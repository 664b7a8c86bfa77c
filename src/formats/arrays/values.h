/*
 * Values that were decoded for an array of the save. A file is read plane by plane, so that a chunk
 * would be decoded once for each of its planes. Layers of chunks are kept where they are small
 * (slabs.h); where they are not, chunks that can only be decoded whole.
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
/* As tfs_volume_range, of the array of the save. */
int tfs_values_range(const struct tfs_array_view *view, uint64_t offset, uint64_t size,
                     struct tfs_buf *out, struct tfs_error *err);
/* The same, of bytes that are kept: a slice of them. NULL: they are not, or not in one piece. */
int tfs_values_share(const struct tfs_array_view *view, uint64_t offset, uint64_t size,
                     struct tfs_blob **blob, struct tfs_error *err);
/* These bytes were read: the time to decode what comes next. */
void tfs_values_ahead(const struct tfs_array_view *view, uint64_t offset, uint64_t size);
void tfs_values_free(struct tfs_values *values); /* NULL is legal */

#endif
