/*
 * Which regions of PhysicsGrid something touches, block by block: for physics.c. A block has 4x4x4
 * regions, which are 64 bits.
 */
#ifndef TFS_FORMATS_ROBLOX_PHYSICS_MARKS_H
#define TFS_FORMATS_ROBLOX_PHYSICS_MARKS_H

#include "formats/roblox/physics.h"

#define TFS_RBX_REGIONS_ALONG 4 /* an edge of a block */

struct tfs_rbx_block {
    int64_t x, y, z; /* in blocks */
};

/* Regions of a block: bit (x * TFS_RBX_REGIONS_ALONG + y) * TFS_RBX_REGIONS_ALONG + z, the order in
 * which they are listed. */
struct tfs_rbx_mark {
    struct tfs_rbx_block block;
    uint64_t regions;
};

struct tfs_rbx_marks {
    struct tfs_rbx_mark *items;
    size_t count;
};

int tfs_rbx_mark_add(struct tfs_rbx_marks *marks, struct tfs_rbx_mark mark, struct tfs_error *err);
/* For qsort and bsearch: by block, x, y, z. */
int tfs_rbx_mark_compare(const void *a, const void *b);
/* Sorts, and joins the marks of one block. */
void tfs_rbx_marks_join(struct tfs_rbx_marks *marks);
/* Appends the value of PhysicsGrid that lists the regions of sorted marks. */
void tfs_rbx_marks_put(struct tfs_buf *out, const struct tfs_rbx_marks *marks);

#endif
