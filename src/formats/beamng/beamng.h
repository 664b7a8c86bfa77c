/*
 * BeamNG and Torque3D terrain: what other parts of the program may use of it.
 */
#ifndef TFS_FORMATS_BEAMNG_BEAMNG_H
#define TFS_FORMATS_BEAMNG_BEAMNG_H

#include "formats/format.h"

/* One `.ter` file, versions 7 to 9, and the `.terrain.json` beside it; a level is the folder of one
 * or of several. */
extern const struct tfs_container tfs_beamng_ter;

extern const struct tfs_tree tfs_beamng_tree;

#endif
