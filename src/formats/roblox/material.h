/*
 * The fixed list of terrain materials (FORMAT.md, section 2): numbers 0..63, of which the
 * first 23 have a name. The others are kept and shown as numbers.
 */
#ifndef TFS_FORMATS_ROBLOX_MATERIAL_H
#define TFS_FORMATS_ROBLOX_MATERIAL_H

#include "base/bytes.h"

enum tfs_rbx_material {
    TFS_RBX_AIR = 0,
    TFS_RBX_WATER = 1,
    TFS_RBX_FIRST_SOLID = 2,
};

#define TFS_RBX_MATERIALS       64 /* what the six bits of a record can say */
#define TFS_RBX_NAMED_MATERIALS 23

/* The name; empty for a number that has none. */
struct tfs_span tfs_rbx_material_name(uint64_t material);

#endif
