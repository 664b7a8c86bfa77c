/*
 * The values that texts gave to the voxels of a chunk just made, where the game's rules make
 * something else of them: occupancy of what is still air. They come in when the next text is put,
 * so the files of a chunk may come in any order.
 */
#ifndef TFS_FORMATS_CELLS_WRITTEN_H
#define TFS_FORMATS_CELLS_WRITTEN_H

#include "formats/cells/edit.h"

/* Of a chunk of which nothing was written; NULL without memory. */
struct tfs_written_values *tfs_written_values_create(void);
struct tfs_written_values *tfs_written_values_copy(const struct tfs_written_values *values);
void tfs_written_values_free(struct tfs_written_values *values); /* NULL is legal */
/* The stored bytes were written, and say everything. */
void tfs_written_values_clear(struct tfs_written_values *values);
/* What no plane says was written, too: the edits of planes that follow leave it alone. */
#define TFS_WRITTEN_APART (1u << TFS_PLANES_MAX) /* a bit of tfs_cells_edit.written */
void tfs_written_values_apart(struct tfs_written_values *values);

/* Before the game's rules: takes what the edit writes, gives it what was written before, but for
 * voxels that were edited elsewhere since, and leaves out what is not legal now. */
int tfs_written_values_begin(struct tfs_written_values *values, struct tfs_cells_edit *e,
                             struct tfs_error *err);
/* After them: what the chunk has as it was written need not be kept. */
int tfs_written_values_end(struct tfs_written_values *values, const struct tfs_cells_edit *e,
                           struct tfs_error *err);

#endif
