/*
 * The files of the tree, for tree.c; what each shows and takes is in FORMAT.md.
 */
#ifndef TFS_FORMATS_BEAMNG_LENSES_H
#define TFS_FORMATS_BEAMNG_LENSES_H

#include "formats/beamng/terrain.h"

/* info.c */
extern const struct tfs_lens tfs_beamng_info_lens;

/* palette.c */
extern const struct tfs_lens tfs_beamng_palette_lens, tfs_beamng_array_palette_lens;

/* pictures.c */
extern const struct tfs_lens tfs_beamng_heightmap_lens, tfs_beamng_layers_picture_lens,
    tfs_beamng_holes_lens;
extern const struct tfs_lens tfs_beamng_mask_lens;  /* of material `member` */
extern const struct tfs_lens tfs_beamng_extra_lens; /* of extra plane `member` */

/* map.c */
extern const struct tfs_lens tfs_beamng_map_lens;
/* A pixel is 1 << shift samples along a side of a terrain. */
uint32_t tfs_beamng_map_shift(uint32_t side);

#endif
