/*
 * The set of pictures that the game's World Editor exports, as `import` takes it (FORMAT.md,
 * section 8).
 */
#ifndef TFS_FORMATS_BEAMNG_EDITOR_SET_H
#define TFS_FORMATS_BEAMNG_EDITOR_SET_H

#include "formats/format.h"

extern const struct tfs_foreign tfs_beamng_editor_set;

#endif
