/*
 * The folder of a world: which zones it has.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_WORLD_H
#define TFS_FORMATS_COSMIC_REACH_WORLD_H

#include "formats/containers/several_saves.h"

/* Is this the folder of a zone, or of its regions: 1, 0 or -ENOMEM? */
int tfs_cosmic_is_zone(const char *folder);

/* tfs_container.saves. */
int tfs_cosmic_world_saves(const char *folder, struct tfs_parts *parts, struct tfs_error *err);

#endif
