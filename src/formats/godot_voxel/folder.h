/*
 * A folder of regions, and its region files: for folder.c and region_file.c only (FORMAT.md,
 * section 6).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_FOLDER_H
#define TFS_FORMATS_GODOT_VOXEL_FOLDER_H

#include "formats/containers/folder.h"
#include "formats/godot_voxel/region.h"
#include "formats/godot_voxel/region_name.h"

/* The document of a region without blocks in a folder with that meta.vxrm. */
int tfs_godot_region_blank(const struct tfs_godot_meta *meta, struct tfs_key key,
                           struct tfs_doc **doc, struct tfs_error *err);
/* Makes the edit of a region that of the newest version. */
int tfs_godot_region_renew(struct tfs_edit *edit, struct tfs_error *err);

#endif
