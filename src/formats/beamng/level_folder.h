/*
 * The folder of a level as what is opened: its terrains.
 */
#ifndef TFS_FORMATS_BEAMNG_LEVEL_FOLDER_H
#define TFS_FORMATS_BEAMNG_LEVEL_FOLDER_H

#include "formats/containers/several_saves.h"

/* tfs_container.saves. */
int tfs_beamng_level_saves(const char *path, struct tfs_parts *parts, struct tfs_error *err);

#endif
