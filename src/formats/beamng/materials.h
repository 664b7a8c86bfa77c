/*
 * What layers are called: tables of names as lists, and the tables that a merge gives to its sides
 * and its result.
 */
#ifndef TFS_FORMATS_BEAMNG_MATERIALS_H
#define TFS_FORMATS_BEAMNG_MATERIALS_H

#include "formats/beamng/terrain.h"

/* By layer. What stands behind the last number of a layer is no sample's. */
struct tfs_beamng_materials {
    struct tfs_span *at;
    uint32_t count;
};

/* Those of a document, in memory of its table; room for TFS_BEAMNG_HOLE more; `at` is to be
 * freed. */
int tfs_beamng_materials_open(const struct tfs_doc *doc, struct tfs_beamng_materials *materials,
                              struct tfs_error *err);
bool tfs_beamng_materials_same(const struct tfs_beamng_materials *a,
                               const struct tfs_beamng_materials *b);
/* Their table, each name in its shortest form. */
int tfs_beamng_materials_table(const struct tfs_beamng_materials *materials, bool nul,
                               struct tfs_blob **table, struct tfs_error *err);

/* tfs_cells_kind.merge_names. */
int tfs_beamng_merge_names(const struct tfs_doc *const docs[3], int prefer,
                           struct tfs_blob *parts[4], const char **conflict, struct tfs_error *err);

#endif
