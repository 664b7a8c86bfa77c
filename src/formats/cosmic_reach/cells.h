/*
 * The cells of a chunk: its blocks, sky light and block light.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_CELLS_H
#define TFS_FORMATS_COSMIC_REACH_CELLS_H

#include "formats/cells/cells.h"
#include "formats/cosmic_reach/body.h"

enum tfs_cosmic_plane {
    TFS_COSMIC_PLANE_BLOCK,
    TFS_COSMIC_PLANE_SKY,
    TFS_COSMIC_PLANE_LIGHT,
    TFS_COSMIC_PLANES
};

extern const struct tfs_cells_kind tfs_cosmic_cells;

#endif
