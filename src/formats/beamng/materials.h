/*
 * What layers are called: the tables of names that a merge gives to its sides and its result.
 */
#ifndef TFS_FORMATS_BEAMNG_MATERIALS_H
#define TFS_FORMATS_BEAMNG_MATERIALS_H

#include "formats/beamng/terrain.h"

struct tfs_beamng_materials {
    struct tfs_span at[TFS_BEAMNG_HOLE]; /* by layer, in the table */
    uint8_t same[TFS_BEAMNG_HOLE];       /* how many before it have this name */
    uint32_t count;
};

/* Those of a table of names. What stands behind the last number of a layer is no sample's. */
void tfs_beamng_materials_find(struct tfs_span table, bool nul,
                               struct tfs_beamng_materials *materials);

/* The table of so many names, as they are stored one after another. */
int tfs_beamng_table_make(uint32_t count, const struct tfs_buf *entries, struct tfs_blob **table,
                          struct tfs_error *err);

/* tfs_cells_kind.merge_names. */
int tfs_beamng_merge_names(const struct tfs_doc *const docs[3], int prefer,
                           struct tfs_blob *parts[4], const char **conflict, struct tfs_error *err);

#endif
