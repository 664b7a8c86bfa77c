/*
 * The files of the tree that are no view of cells (formats/views/views.h), one lens each.
 */
#ifndef TFS_FORMATS_ROBLOX_LENSES_H
#define TFS_FORMATS_ROBLOX_LENSES_H

#include "formats/format.h"

extern const struct tfs_lens tfs_rbx_info_lens;

#endif
