/*
 * A level as what is opened: the container, and what to say about folders of levels.
 */
#ifndef TFS_FORMATS_BEAMNG_LEVEL_FOLDER_H
#define TFS_FORMATS_BEAMNG_LEVEL_FOLDER_H

#include "formats/parts.h"

/* tfs_container.probe, locate, parts and hint. */
int tfs_beamng_level_probe(const struct tfs_probe *probe);
int tfs_beamng_level_locate(const char *path, char **located, struct tfs_error *err);
int tfs_beamng_level_parts(const char *folder, struct tfs_parts *parts, struct tfs_error *err);
int tfs_beamng_level_hint(const struct tfs_probe *probe, struct tfs_error *err);

#endif
