/*
 * The colour of a voxel in map.png, from the channels that say what it is.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_COLOUR_H
#define TFS_FORMATS_GODOT_VOXEL_COLOUR_H

#include "formats/godot_voxel/cells.h"

/* What a chunk's voxels are painted with. */
struct tfs_godot_paints {
    const struct tfs_godot_block *block;
    bool has_palette;
    uint8_t palette[4 * TFS_GODOT_COLOURS];
};

/* `cells` must have a block and outlive the paints. Thread-safe. */
int tfs_godot_paints_init(const struct tfs_doc *doc, const struct tfs_cells *cells,
                          struct tfs_godot_paints *paints, struct tfs_error *err);

/* 0xRRGGBB of the voxel at this stored index: by its color, else its type, else its texture. */
uint32_t tfs_godot_paint(const struct tfs_godot_paints *paints, size_t voxel);

#endif
