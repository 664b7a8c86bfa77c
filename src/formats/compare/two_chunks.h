/*
 * The voxels of one chunk on two sides: which differ, how many of which name, and row by row.
 *
 * A side may lack the chunk, or a chunk its voxels: then the voxels that are not empty on the other
 * side differ.
 */
#ifndef TFS_FORMATS_COMPARE_TWO_CHUNKS_H
#define TFS_FORMATS_COMPARE_TWO_CHUNKS_H

#include "formats/compare/chunk.h"
#include "formats/compare/diff.h"

struct tfs_two_chunks {
    struct tfs_chunk_sides sides;
    uint32_t *rows[TFS_SIDES]; /* numbers of the voxels of one row */
    struct tfs_diff_run *runs[TFS_SIDES];
    uint32_t row_capacity;
    struct tfs_diff_count *counts; /* by what voxels are counted as */
    uint32_t count_capacity;
    size_t counted; /* of them, by name, once all is counted */
};

void tfs_two_chunks_release(struct tfs_two_chunks *cells);

/* Opens the chunk on the sides where it is, in place of the one before. EBADMSG: a side does not
 * decode, or the two have other sizes. */
int tfs_two_chunks_open(struct tfs_two_chunks *cells, const struct tfs_side sides[TFS_SIDES],
                        struct tfs_diff_chunk *chunk, struct tfs_error *err);

/* Sets voxels and box of the chunk, and counts by name. */
int tfs_two_chunks_count(struct tfs_two_chunks *cells, struct tfs_diff_chunk *chunk,
                         struct tfs_error *err);

int tfs_two_chunks_rows(struct tfs_two_chunks *cells, tfs_diff_row_fn row, void *arg,
                        struct tfs_error *err);

#endif
