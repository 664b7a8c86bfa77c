/*
 * The cells of a block: its eight channels. A block that is not there has none.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_CELLS_H
#define TFS_FORMATS_GODOT_VOXEL_CELLS_H

#include "formats/cells/cells.h"
#include "formats/godot_voxel/rules.h"

extern const struct tfs_cells_kind tfs_godot_cells;

/* The decoded block; NULL: it is damaged, or there is none. */
static inline const struct tfs_godot_block *tfs_godot_block_of(const struct tfs_cells *cells)
{
    return cells->damage == NULL ? cells->own : NULL;
}

/* Cells of the save's cache, with all channels: programs ask for the dozen files of a chunk one
 * after another. */
int tfs_godot_cells_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_cells **cells, struct tfs_error *err);

/* How a channel of that depth is stored. */
struct tfs_plane_form tfs_godot_form(unsigned version, unsigned channel, unsigned width);

/* The logarithm of a width. */
static inline uint8_t tfs_godot_depth(unsigned width)
{
    return (uint8_t)(width == 8 ? 3 : width >> 1);
}

/* tfs_cells_kind.columns (picture.c). */
int tfs_godot_columns(const struct tfs_doc *doc, const struct tfs_cells *cells,
                      struct tfs_column *columns, struct tfs_error *err);

#endif
