/*
 * Other block names for the voxels of a chunk -> its new block data.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_CHANGE_H
#define TFS_FORMATS_COSMIC_REACH_CHANGE_H

#include "formats/cosmic_reach/lenses.h"

/* Voxels by numbers: below the count of the old palette its entries, from there on `added`. */
struct tfs_cosmic_change {
    const struct tfs_cosmic_view *view;
    const struct tfs_cosmic_values *old;
    const struct tfs_span *added;
    uint32_t added_count;
    uint32_t *ids; /* TFS_COSMIC_VALUES of them, in grid order; overwritten */
};

/* Stores them with the palette that a change through voxels.csv or heightmap.png leaves
 * (FORMAT.md, section 5). Where every voxel keeps its name, the section keeps its bytes. */
int tfs_cosmic_change_store(struct tfs_edit *edit, const struct tfs_cosmic_change *change,
                            struct tfs_error *err);

/* The palette's first air; false: there is none. */
bool tfs_cosmic_find_air(const struct tfs_cosmic_values *values, uint32_t *air);

#endif
