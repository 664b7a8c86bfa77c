/*
 * The text of a voxels.csv -> the cells of its chunk.
 */
#ifndef TFS_FORMATS_ROBLOX_VOXELS_TEXT_H
#define TFS_FORMATS_ROBLOX_VOXELS_TEXT_H

#include "formats/roblox/lenses.h"

#define TFS_RBX_VOXELS_HEADER "x,y,z,material,occupancy,water"

/* Sets cells[old->count] to what the text says, empty where it has no line for a voxel. A line that
 * says of its voxel what is so is never judged.
 *
 * Rows must lie in the chunk. With put->fresh they may all lie in another one, and a cell that
 * cannot be made so waits (put->waits); without it, rows that all lie in another chunk are accepted
 * if they say what is in this one. */
int tfs_rbx_voxels_parse(struct tfs_span text, const struct tfs_rbx_cells *old, struct tfs_put *put,
                         uint32_t *cells, struct tfs_error *err);

#endif
