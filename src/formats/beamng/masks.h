/*
 * Masks, and the hole map, that are applied together (FORMAT.md, section 3).
 */
#ifndef TFS_FORMATS_BEAMNG_MASKS_H
#define TFS_FORMATS_BEAMNG_MASKS_H

#include "formats/format.h"

#define TFS_BEAMNG_BRUSH 128 /* a grey from here on is white */

/* One mask: `count` pixels each, north up. */
struct tfs_beamng_mask {
    uint8_t layer;
    size_t count;
    const uint8_t *now, *before; /* as it is, and as it was made from; NULL: it says all
                                  * there is of its layer, not what was edited */
    const uint8_t *layers;       /* of the terrain */
};

/* Adds what a mask says to what was gathered; empty: nothing yet. */
int tfs_beamng_masks_gather(const struct tfs_beamng_mask *mask, struct tfs_buf *gathered,
                            struct tfs_error *err);

/* tfs_tree.put_gathered */
int tfs_beamng_masks_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_span gathered,
                         struct tfs_error *warning, struct tfs_error *err);

#endif
