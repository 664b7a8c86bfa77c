/*
 * PhysicsGrid: which regions of 8x8x8 voxels are near something solid or wet (FORMAT.md,
 * section 3). It is derived from the voxels; it is computed and never read.
 */
#ifndef TFS_FORMATS_ROBLOX_PHYSICS_H
#define TFS_FORMATS_ROBLOX_PHYSICS_H

#include "formats/roblox/smoothgrid.h"

/* Is this a value of the version that tfs_rbx_physics_encode writes, or none yet? */
bool tfs_rbx_physics_known(struct tfs_span value);

/* What encoding found out about the chunks of one terrain, so that a commit costs what was edited:
 * only chunks that differ are looked at the next time. Zero-initialised but for `terrain`, which
 * must stay; to be released. */
struct tfs_rbx_physics_memory {
    const struct tfs_rbx_index *terrain;
    struct tfs_rbx_near *near;  /* by entry; NULL until it is first needed */
    struct tfs_rbx_mark *marks; /* what the list of `terrain` has; NULL: not found out yet */
    size_t mark_count;
};

void tfs_rbx_physics_memory_release(struct tfs_rbx_physics_memory *memory);

/* Does the terrain touch the same regions as memory->terrain: 1 or 0? 0 also where finding out is
 * not cheap. */
int tfs_rbx_physics_same(const struct tfs_rbx_index *terrain, struct tfs_rbx_physics_memory *memory,
                         struct tfs_error *err);

/* Appends the PhysicsGrid of a terrain: all regions that a voxel other than Air, grown by one on
 * every side, touches, in the first of the three lists. Entries with the very records (the same
 * memory) that memory->terrain has there are looked at once; memory may be NULL. */
int tfs_rbx_physics_encode(const struct tfs_rbx_index *terrain,
                           struct tfs_rbx_physics_memory *memory, struct tfs_buf *out,
                           struct tfs_error *err);

#endif
