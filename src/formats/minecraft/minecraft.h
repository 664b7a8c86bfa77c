/*
 * Minecraft Java Edition: region files and folders of them (FORMAT.md).
 */
#ifndef TFS_FORMATS_MINECRAFT_MINECRAFT_H
#define TFS_FORMATS_MINECRAFT_MINECRAFT_H

#include "formats/format.h"

extern const struct tfs_container tfs_mc_region_container; /* r.X.Z.mca */
extern const struct tfs_container tfs_mc_folder_container; /* region/ */
extern const struct tfs_tree tfs_mc_tree;

#endif
