/*
 * What layers are called: the tables of names that a merge gives to its sides and its result.
 */
#ifndef TFS_FORMATS_BEAMNG_MATERIALS_H
#define TFS_FORMATS_BEAMNG_MATERIALS_H

#include "formats/beamng/terrain.h"

/* tfs_cells_kind.merge_names. */
int tfs_beamng_merge_names(const struct tfs_doc *const docs[3], int prefer,
                           struct tfs_blob *parts[4], const char **conflict, struct tfs_error *err);

#endif
