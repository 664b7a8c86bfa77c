/*
 * Godot Voxel Tools: what other parts of the program may use of it, and its containers of each
 * other's.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_GODOT_VOXEL_H
#define TFS_FORMATS_GODOT_VOXEL_GODOT_VOXEL_H

#include "formats/format.h"

/* A file of one block. */
extern const struct tfs_container tfs_godot_block_container;

/* A folder with meta.vxrm, or that file. */
extern const struct tfs_container tfs_godot_folder_container;

/* An SQLite database. */
extern const struct tfs_container tfs_godot_stream_container;

/* A region file, .vxr. */
extern const struct tfs_container tfs_godot_region_container;

/* The names: of one block; of a region or a folder of them; of a stream, which has instances. */
extern const struct tfs_tree tfs_godot_block_tree;
extern const struct tfs_tree tfs_godot_region_tree;
extern const struct tfs_tree tfs_godot_stream_tree;

#endif
