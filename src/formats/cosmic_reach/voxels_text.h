/*
 * The text of a voxels.csv -> which name each voxel of the chunk has.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_VOXELS_TEXT_H
#define TFS_FORMATS_COSMIC_REACH_VOXELS_TEXT_H

#include "formats/cosmic_reach/blocks.h"
#include "formats/cosmic_reach/names.h"
#include "formats/doc.h"

#define TFS_COSMIC_VOXELS_HEADER "x,y,z,block"
#define TFS_COSMIC_VOXEL_EMPTY   UINT32_MAX /* a voxel without a line */

/* Names are numbers: below the count of the old palette its first entry of that name, from there on
 * `added`. Zero-initialised; to be released after a failure too. */
struct tfs_cosmic_voxels_text {
    uint32_t voxels[TFS_COSMIC_VALUES];
    uint32_t *first; /* of each old entry: the first one of the same name */
    struct tfs_span *added;
    uint32_t added_count, added_capacity;
    uint32_t old_count;
    struct tfs_cosmic_names names; /* name -> number */
    uint8_t *bytes;                /* of the added names */
    size_t bytes_used;
};

/* Rows must lie in the chunk `key`; with `fresh`, in one chunk, which need not be that one. */
int tfs_cosmic_voxels_parse(struct tfs_cosmic_voxels_text *t, struct tfs_span text,
                            struct tfs_key key, bool fresh, const struct tfs_cosmic_values *old,
                            struct tfs_error *err);

/* The number of a name that is not in the text; its bytes must outlive `t`. */
int tfs_cosmic_voxels_name(struct tfs_cosmic_voxels_text *t, struct tfs_span name, uint32_t *number,
                           struct tfs_error *err);

void tfs_cosmic_voxels_release(struct tfs_cosmic_voxels_text *t);

#endif
