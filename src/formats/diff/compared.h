/*
 * The voxels of one chunk on two sides: which differ, how many of which name, and row by row.
 *
 * A side may lack the chunk, or a chunk its voxels: then the voxels that are not empty on the other
 * side differ.
 */
#ifndef TFS_FORMATS_DIFF_COMPARED_H
#define TFS_FORMATS_DIFF_COMPARED_H

#include "formats/diff/diff.h"
#include "formats/diff/sum.h"

/* What is to be known of a voxel, by its number in `stored`. */
struct tfs_compared_look {
    uint32_t full, kind; /* its name, and the short one */
    uint32_t height;
    bool empty, has_height;
};

struct tfs_compared {
    const struct tfs_voxels *voxels;
    struct tfs_key key;
    void *open[TFS_SIDES];           /* of struct tfs_voxels; NULL: not there */
    struct tfs_voxel_size size;      /* of the chunk */
    bool has[TFS_SIDES];             /* voxels */
    struct tfs_words stored;         /* voxels as bytes; 0 is the one that is not there */
    struct tfs_words full, kinds;    /* names */
    struct tfs_compared_look *looks; /* of `stored` */
    uint32_t *rows[TFS_SIDES];       /* numbers of one row */
    struct tfs_diff_run *runs[TFS_SIDES];
    uint32_t row_capacity;
    struct tfs_diff_count *counts; /* by kind */
    uint32_t count_capacity;
    size_t counted; /* of them, by name, once all is counted */
    struct tfs_voxel_sum sum;
    struct tfs_buf voxel, name;
};

void tfs_compared_release(struct tfs_compared *cells);

/* Opens the chunk on the sides where it is, in place of the one before. EBADMSG: a side does not
 * decode, or the two have other sizes. */
int tfs_compared_open(struct tfs_compared *cells, const struct tfs_side sides[TFS_SIDES],
                      struct tfs_diff_chunk *chunk, struct tfs_error *err);
void tfs_compared_close(struct tfs_compared *cells);

/* Sets voxels, box and heights of the chunk, and counts by name. */
int tfs_compared_count(struct tfs_compared *cells, struct tfs_diff_chunk *chunk,
                       struct tfs_error *err);
/* The same of a chunk that the other side lacks: it looks for the box, not at each voxel. */
int tfs_compared_count_alone(struct tfs_compared *cells, const struct tfs_side *side,
                             struct tfs_diff_chunk *chunk, struct tfs_error *err);

int tfs_compared_rows(struct tfs_compared *cells, tfs_diff_row_fn row, void *arg,
                      struct tfs_error *err);

#endif
