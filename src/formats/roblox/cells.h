/*
 * What a chunk of terrain holds: formats/cells/cells.h.
 */
#ifndef TFS_FORMATS_ROBLOX_CELLS_H
#define TFS_FORMATS_ROBLOX_CELLS_H

#include "formats/cells/cells.h"
#include "formats/roblox/smoothgrid.h"

enum { TFS_RBX_PLANE_MATERIAL, TFS_RBX_PLANE_OCCUPANCY, TFS_RBX_PLANE_WATER };

extern const struct tfs_cells_kind tfs_rbx_cells;

/* log2 of the edge of a chunk, in cells. */
static inline uint32_t tfs_rbx_chunk_log2(const struct tfs_chunk *chunk)
{
    return chunk->tag;
}

#endif
