/*
 * The files that show what no plane of cells does, one lens each.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_LENSES_H
#define TFS_FORMATS_COSMIC_REACH_LENSES_H

#include "formats/cosmic_reach/body.h"

extern const struct tfs_lens tfs_cosmic_raw_lens;
extern const struct tfs_lens tfs_cosmic_entities_lens;
extern const struct tfs_lens tfs_cosmic_info_lens;
extern const struct tfs_lens tfs_cosmic_zone_lens; /* zoneInfo.json */
uint32_t tfs_cosmic_zone_count(const struct tfs_tree *tree, const struct tfs_doc *doc);

#endif
