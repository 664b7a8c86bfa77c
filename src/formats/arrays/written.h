/*
 * arrays/NAME.npy of a whole save that was written a part of (struct tfs_written) -> an edit of the
 * chunks in which values are others than they were.
 */
#ifndef TFS_FORMATS_ARRAYS_WRITTEN_H
#define TFS_FORMATS_ARRAYS_WRITTEN_H

#include "formats/arrays/array.h"

/* `put->written` for tfs_array_whole_put. A file with the head that it has here is taken chunk by
 * chunk, in bounded memory; another one as a text. */
int tfs_array_put_written(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                          const struct tfs_put *put, struct tfs_error *err);

/* ---- for arrays of another kind -------------------------------------------------------------- */

/* Has the file this head, and this size? */
int tfs_written_is_like(const struct tfs_written *file, const struct tfs_npy *npy, uint64_t size,
                        bool *like, struct tfs_error *err);
/* Appends all that the file says; `range` is the lens's. EFBIG: it is too large for memory. */
int tfs_written_text(const struct tfs_written *file, struct tfs_save *save, struct tfs_at at,
                     tfs_range_fn range, struct tfs_buf *text, struct tfs_error *err);
/* A row of `size` bytes that lies at `place`: values that were written, and differ from `before`,
 * go to `wanted`. `before` is what `base` shows, or zeros; `text` has room for a row. */
int tfs_written_row(const struct tfs_written *file, uint64_t place, size_t size, unsigned width,
                    uint8_t *before, uint8_t *text, uint8_t *wanted, struct tfs_error *err);

#endif
