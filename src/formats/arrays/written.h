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

#endif
