/*
 * Blocks of version 2 and 3 -> version 4 (FORMAT.md, section 9).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_UPGRADE_H
#define TFS_FORMATS_GODOT_VOXEL_UPGRADE_H

#include "formats/godot_voxel/block.h"

/* Appends BlockData of version 4 with the same voxels and metadata. EBADMSG: it cannot be. */
int tfs_godot_block_upgrade(const struct tfs_godot_block *block, struct tfs_buf *out,
                            struct tfs_error *err);

#endif
