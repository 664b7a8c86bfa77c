/*
 * Three documents, of which two were made from the third -> an edit that says what both changed.
 *
 * A chunk that one side left alone is taken from the other as it is stored. One that both changed
 * is merged voxel by voxel, all values of a voxel together: where the sides are equal they win,
 * else the one that changed it; both changed it otherwise: a conflict. A chunk that
 * the base lacks was empty there where the format says so (TFS_CELLS_ABSENT_EMPTY); else what
 * differs in it is a conflict, as both added it. What voxels do not say (TFS_FILE_APART) is merged
 * file by file. A chunk that one side removed and the other changed is a conflict.
 *
 * Memory: the three chunks, what differs between them, and what the edit holds.
 */
#ifndef TFS_FORMATS_COMPARE_MERGE_H
#define TFS_FORMATS_COMPARE_MERGE_H

#include "formats/compare/diff.h"

enum tfs_merge_side { TFS_MERGE_BASE, TFS_MERGE_OURS, TFS_MERGE_THEIRS, TFS_MERGE_SIDES };

/* What both sides changed, of one chunk. */
struct tfs_merge_conflict {
    struct tfs_key key;
    const char *what; /* the file that both changed; or why voxels cannot be told apart; NULL: the
                       * voxels in `box` */
    bool whole;       /* `what` is of the whole save, not of a chunk */
    uint64_t voxels;
    struct tfs_diff_box box;
};

struct tfs_merge {
    struct tfs_side sides[TFS_MERGE_SIDES]; /* doc NULL: there is no base */
    enum tfs_merge_side prefer;             /* which side stands where two conflict */
    bool ancestor; /* the result is the base of another merge: a chunk that the base lacks, and in
                    * which there are conflicts, is not there */
    enum tfs_merge_side carrier; /* whose document the edit is of: that of ours or theirs */
    bool one_rest;               /* beside what their trees show all sides hold the same */

    /* Called for each conflict, and before it for each voxel in it, with what it is on each side;
     * a name without bytes: it is not there. A result that is not 0 ends the merge. */
    int (*conflict)(void *arg, const struct tfs_merge_conflict *conflict);
    int (*voxel)(void *arg, struct tfs_key key, const int64_t at[3],
                 const struct tfs_span names[TFS_MERGE_SIDES]);
    void *arg;

    /* Set by tfs_merge_run. */
    bool same[TFS_MERGE_SIDES]; /* the result says what that side says (ours and theirs) */
    size_t taken, merged;       /* chunks that theirs changed; of them, voxel by voxel */
    size_t conflicts;
};

/* EINVAL: sides that cannot be merged, also as a group of one may be another on the other; EBADMSG:
 * a chunk that would have to be looked into does not decode. */
int tfs_merge_run(struct tfs_merge *merge, struct tfs_edit *edit, struct tfs_error *err);

#endif
