/*
 * Cosmic Reach: what other parts of the program may use of it.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_COSMIC_REACH_H
#define TFS_FORMATS_COSMIC_REACH_COSMIC_REACH_H

#include "formats/format.h"

/* One region file, FileVersion 0-7. */
extern const struct tfs_container tfs_cosmic_reach_region;

/* All region files of a zone, or of a folder that is none. */
extern const struct tfs_container tfs_cosmic_reach_zone;
extern const struct tfs_container tfs_cosmic_reach_flat_zone;

/* The names of a region's tree; the order of the files is that of tree.c. */
extern const struct tfs_tree tfs_cosmic_reach_tree;
extern const struct tfs_tree tfs_cosmic_zone_tree; /* the same, and what a zone has beside it */

#endif
