/*
 * Sky light (levels 0-15) and block light (0xRGB): sections of layers that may be absent.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_LIGHT_H
#define TFS_FORMATS_COSMIC_REACH_LIGHT_H

#include "formats/cosmic_reach/layers.h"

/* A section where it lies. */
struct tfs_cosmic_light {
    bool present; /* false: NONE, and layers are not set */
    struct tfs_cosmic_layers layers;
};

int tfs_cosmic_sky_take(struct tfs_cursor *c, struct tfs_cosmic_light *sky, struct tfs_error *err);
int tfs_cosmic_light_take(struct tfs_cursor *c, struct tfs_cosmic_light *light,
                          struct tfs_error *err);

/* The highest stored level that a layer gives as one byte; 0 without. Above 15 the game refuses. */
uint32_t tfs_cosmic_sky_highest(const struct tfs_cosmic_light *sky);

/* Appends the section that shows these values, canonical as far as it is new: what does not change
 * under the mask keeps its stored bits, layers of block light their bytes. `old` is the section
 * that was there. */
void tfs_cosmic_sky_encode(struct tfs_buf *out, const struct tfs_cosmic_light *old,
                           const uint32_t *levels);
void tfs_cosmic_light_encode(struct tfs_buf *out, const struct tfs_cosmic_light *old,
                             const uint32_t *rgb);

#endif
