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

/* Stores records in the place of the chunk. EROFS when the group is locked (source.h). */
int tfs_rbx_store_records(struct tfs_edit *edit, const struct tfs_chunk *chunk,
                          struct tfs_span records, struct tfs_error *err);

#endif
