/*
 * The files of a save of blocks: for tree.c only.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_LENSES_H
#define TFS_FORMATS_GODOT_VOXEL_LENSES_H

#include "formats/godot_voxel/cells.h"

extern const struct tfs_lens tfs_godot_info_lens;
extern const struct tfs_lens tfs_godot_raw_lens;
extern const struct tfs_lens tfs_godot_metadata_lens;
extern const struct tfs_lens tfs_godot_instances_lens;

/* Of every file that only a chunk with voxels has: tfs_lens.exists. */
int tfs_godot_lens_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);

#endif
