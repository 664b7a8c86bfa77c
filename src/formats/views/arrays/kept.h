/*
 * Values that were decoded for arrays of a save. A program reads the file from plane to plane, and
 * the planes of a layer of chunks are all in the same chunks. Where a layer is small it is kept as
 * the file has it; where it is not, its chunks are. Who reads on from one layer into the next finds
 * the one after it decoded.
 *
 * A layer that cannot be decoded is not kept: its file is read in ranges, of which those fail that
 * touch the chunk that is bad.
 *
 * Thread-safe.
 */
#ifndef TFS_FORMATS_VIEWS_ARRAYS_KEPT_H
#define TFS_FORMATS_VIEWS_ARRAYS_KEPT_H

#include "formats/views/arrays/array.h"

struct tfs_kept;

/* That of a save; NULL: no memory. */
struct tfs_kept *tfs_kept_create(void);
void tfs_kept_free(struct tfs_kept *kept); /* NULL is legal */
/* As tfs_array_layers. */
int tfs_kept_layers(const struct tfs_array *a, const struct tfs_chunk *chunk, uint32_t from,
                    uint32_t to, uint8_t *values, struct tfs_error *err);
/* The bytes that tfs_array_range appends, as a reference: where they are part of one layer, to what
 * is kept of it. */
int tfs_kept_range(const struct tfs_array *a, uint64_t offset, uint64_t size,
                   struct tfs_blob **part, struct tfs_error *err);
/* These bytes were read. Decodes the layer behind them if that is where a reader goes, and no layer
 * that another one reads has to go for it. */
void tfs_kept_ahead(const struct tfs_array *a, uint64_t offset, uint64_t size);

#endif
