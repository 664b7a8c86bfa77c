/*
 * A difference seen from above: which columns of voxels differ, and where chunks came, went or
 * changed.
 *
 * Memory: a bit a column and a byte a stack of chunks, or where squares of columns are marked a bit
 * and a byte each, of an area that the caller bounds.
 */
#ifndef TFS_FORMATS_COMPARE_CHANGED_COLUMNS_H
#define TFS_FORMATS_COMPARE_CHANGED_COLUMNS_H

#include "formats/compare/diff.h"

/* Columns from (x, z) on, which is a corner of a chunk. */
struct tfs_area {
    int64_t x, z;
    uint64_t width, height;
};

enum tfs_mark {
    TFS_MARK_ADDED = 1 << TFS_DIFF_ADDED,
    TFS_MARK_REMOVED = 1 << TFS_DIFF_REMOVED,
    TFS_MARK_CHANGED = 1 << TFS_DIFF_CHANGED,
};

struct tfs_marks {
    struct tfs_area area;
    uint64_t unit;             /* columns along a side of the squares that are marked */
    uint64_t stack_x, stack_z; /* columns of what has a kind: a stack of chunks, or a square */
    size_t width, stacks;      /* squares and stacks in a row */
    uint8_t *bits, *kinds;
};

/* Looks at the chunks of group 0 in that area; `unit` is a power of two. To be released after
 * success only. */
int tfs_marks_make(struct tfs_diff *diff, const struct tfs_area *area, struct tfs_voxel_size chunk,
                   uint64_t unit, struct tfs_marks *marks, struct tfs_error *err);
void tfs_marks_release(struct tfs_marks *marks);

/* Does the column differ, or one in its square, of a chunk that changed? Counted from the area's
 * corner. */
bool tfs_marks_column(const struct tfs_marks *marks, uint64_t x, uint64_t z);
/* What became of chunks of its stack, or of its square where that is larger: enum tfs_mark. */
unsigned tfs_marks_stack(const struct tfs_marks *marks, uint64_t x, uint64_t z);

#endif
