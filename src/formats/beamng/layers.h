/*
 * Storing samples, with the corner block of version 8 following the layers (FORMAT.md,
 * section 1.2).
 */
#ifndef TFS_FORMATS_BEAMNG_LAYERS_H
#define TFS_FORMATS_BEAMNG_LAYERS_H

#include "formats/beamng/terrain.h"

/* May a sample that has the layer `old` get the layer `new`, with so many materials? */
bool tfs_beamng_layer_allowed(uint8_t old, uint8_t new, uint32_t materials);

/* Stores a plane's samples of one tile, or all of them (north up). */
int tfs_beamng_samples_put(struct tfs_edit *edit, struct tfs_key key,
                           const struct tfs_beamng_plane *plane, const uint8_t *samples,
                           struct tfs_error *err);

/* Squares whose four stored corners are not what the rule says; 0 without a corner block. */
uint64_t tfs_beamng_corners_odd(const struct tfs_doc *doc);

#endif
