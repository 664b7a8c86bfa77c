/*
 * The cells of a section.
 */
#ifndef TFS_FORMATS_MINECRAFT_CELLS_H
#define TFS_FORMATS_MINECRAFT_CELLS_H

#include "formats/cells/edit.h"
#include "formats/minecraft/section.h"

enum { TFS_MC_PLANE_BLOCK, TFS_MC_PLANE_SKY, TFS_MC_PLANE_LIGHT, TFS_MC_PLANES };

static inline enum tfs_mc_layout tfs_mc_layout_of(const struct tfs_chunk *chunk)
{
    return (enum tfs_mc_layout)chunk->tag;
}

extern const struct tfs_cells_kind tfs_mc_cells;

#endif
