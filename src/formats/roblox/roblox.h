/*
 * Roblox terrain: the containers that hold it, for the registry, and the tree that they share.
 */
#ifndef TFS_FORMATS_ROBLOX_ROBLOX_H
#define TFS_FORMATS_ROBLOX_ROBLOX_H

#include "formats/format.h"

#define TFS_RBX_FORMAT "roblox"

extern const struct tfs_container tfs_rbx_blob_container;   /* one SmoothGrid value */
extern const struct tfs_container tfs_rbx_binary_container; /* .rbxl, .rbxm */
extern const struct tfs_container tfs_rbx_xml_container;    /* .rbxlx, .rbxmx */

extern const struct tfs_tree tfs_rbx_tree;

#endif
