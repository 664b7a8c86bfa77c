/*
 * Names of region files, "r.X.Y.Z.vxr", and the blocks that they hold (FORMAT.md, sections 5 and
 * 6).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_REGION_NAME_H
#define TFS_FORMATS_GODOT_VOXEL_REGION_NAME_H

#include "formats/save/document.h"
#include "formats/godot_voxel/region.h"

/* Sets x, y, z of the region; false when that is no such name. */
bool tfs_godot_region_name_parse(const char *name, struct tfs_key *region);

#define TFS_GODOT_REGION_NAME 48
void tfs_godot_region_name(struct tfs_key region, char name[TFS_GODOT_REGION_NAME]);

/* The lowest block of a region; false when its coordinates have more than 32 bits. */
bool tfs_godot_region_origin(const struct tfs_godot_region *region, struct tfs_key key,
                             struct tfs_key *origin);

#endif
