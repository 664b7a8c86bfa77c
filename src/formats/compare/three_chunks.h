/*
 * The voxels of one chunk on three sides: which of them the result of a merge has.
 *
 * A side may lack the chunk, or a chunk its voxels.
 */
#ifndef TFS_FORMATS_COMPARE_THREE_CHUNKS_H
#define TFS_FORMATS_COMPARE_THREE_CHUNKS_H

#include "formats/compare/merge.h"

/* A voxel that a side has to get to be the result. */
struct tfs_voxel_change {
    uint16_t x, y, z;
    uint32_t voxel; /* in the pool */
};

struct tfs_three_chunks {
    struct tfs_chunk_sides sides;
    bool there[TFS_MERGE_SIDES];
    bool based; /* the base says what was there before both: it has the chunk, or none is empty */
    uint32_t voxels[TFS_MERGE_SIDES];        /* at the place that is compared */
    struct tfs_buf changes[TFS_MERGE_SIDES]; /* struct tfs_voxel_change of ours and of theirs */
    uint64_t conflicts;
    struct tfs_diff_box box; /* of these */
};

void tfs_three_chunks_release(struct tfs_three_chunks *trio);

/* Opens the chunk on the sides where it is, in place of the one before. EBADMSG: a side does not
 * decode, or they have other sizes. */
int tfs_three_chunks_open(struct tfs_three_chunks *trio, const struct tfs_merge *merge,
                          struct tfs_key key, const bool there[TFS_MERGE_SIDES],
                          struct tfs_error *err);

/* Compares all voxels: sets changes, conflicts and box. Tells merge->voxel of conflicts. Returns
 * what that returned, or a failure. */
int tfs_three_chunks_compare(struct tfs_three_chunks *trio, const struct tfs_merge *merge,
                             struct tfs_error *err);

/* How many voxels of a side are not those of the result. */
size_t tfs_voxel_changes(const struct tfs_three_chunks *trio, enum tfs_merge_side side);

/* Puts the changes of a side into the edit, which has the chunk of that side. EBADMSG: it cannot
 * hold them. */
int tfs_three_chunks_apply(struct tfs_three_chunks *trio, const struct tfs_merge *merge,
                           struct tfs_edit *edit, enum tfs_merge_side side, struct tfs_error *err);

#endif
