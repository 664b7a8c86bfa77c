/*
 * Where a chunk belongs: its region, its slot in a table, the column it shares
 * (FORMAT.md, section 2).
 */
#ifndef TFS_FORMATS_COSMIC_REACH_PLACE_H
#define TFS_FORMATS_COSMIC_REACH_PLACE_H

#include "formats/format.h"

/* The region that holds a chunk. */
struct tfs_key tfs_cosmic_region_of(struct tfs_key chunk);

/* The region that a file name gives; false when it is not region_X_Y_Z.cosmicreach in plain
 * decimals, or no chunk coordinate could reach it. */
bool tfs_cosmic_region_of_name(const char *name, struct tfs_key *region);

/* The region of a document: as its file is named, else that of its first chunk; false when neither
 * says. */
bool tfs_cosmic_region_of_doc(const struct tfs_doc *doc, struct tfs_key *region);

/* Table slot of a chunk in FileVersion 0-3, and of its column in 4-7. */
uint32_t tfs_cosmic_table_slot(struct tfs_key chunk);
uint32_t tfs_cosmic_column_slot(struct tfs_key chunk);

/* The chunk of a table slot, and the lowest one of a column slot. */
struct tfs_key tfs_cosmic_table_key(struct tfs_key region, uint32_t slot);
struct tfs_key tfs_cosmic_column_key(struct tfs_key region, uint32_t slot);

bool tfs_cosmic_same_region(struct tfs_key a, struct tfs_key b); /* of two region coordinates */

#endif
