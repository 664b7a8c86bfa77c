/*
 * A tile as cells (formats/cells/cells.h): one layer of samples, from south to north as in the
 * file.
 */
#ifndef TFS_FORMATS_BEAMNG_CELLS_H
#define TFS_FORMATS_BEAMNG_CELLS_H

#include "formats/beamng/terrain.h"
#include "formats/cells/edit.h"

/* What a tile does not store it lacks. */
enum {
    TFS_BEAMNG_PLANE_LAYER,
    TFS_BEAMNG_PLANE_HEIGHT,
    TFS_BEAMNG_PLANE_CORNERS,
    TFS_BEAMNG_PLANE_TEXTURE, /* and four of coverage */
    TFS_BEAMNG_PLANES = TFS_BEAMNG_PLANE_TEXTURE + 5
};

extern const struct tfs_cells_kind tfs_beamng_cells;

#endif
