/*
 * One chunk on several sides. A side may lack it, or the chunk its voxels.
 */
#ifndef TFS_FORMATS_COMPARE_CHUNK_H
#define TFS_FORMATS_COMPARE_CHUNK_H

#include "formats/cells/voxels.h"
#include "formats/compare/fetch.h"

#define TFS_CHUNK_SIDES_MAX 3

struct tfs_diff_box {
    int64_t low[3], high[3]; /* x, y, z */
};

/* Zero-initialised = closed. */
struct tfs_chunk_sides {
    struct tfs_key key;
    struct tfs_voxel_size size; /* all 0: no side has voxels */
    struct tfs_voxel_pool pool;
    struct tfs_voxel_chunk chunks[TFS_CHUNK_SIDES_MAX];
};

/* Opens the chunk on the sides where it is, in place of the one before. EBADMSG: a side does not
 * decode, or they have other sizes. */
int tfs_chunk_sides_open(struct tfs_chunk_sides *c, const struct tfs_side *sides, unsigned count,
                         struct tfs_key key, const bool *there, struct tfs_error *err);
void tfs_chunk_sides_close(struct tfs_chunk_sides *c); /* keeps memory for the next one */
void tfs_chunk_sides_release(struct tfs_chunk_sides *c);

/* Adds a voxel of the chunk to a box, which has `count` so far. */
void tfs_diff_box_add(struct tfs_diff_box *box, uint64_t count, const struct tfs_chunk_sides *c,
                      const uint32_t at[3]);

#endif
