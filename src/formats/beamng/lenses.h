/*
 * The files of the tree, for tree.c; what each shows and takes is in FORMAT.md.
 */
#ifndef TFS_FORMATS_BEAMNG_LENSES_H
#define TFS_FORMATS_BEAMNG_LENSES_H

#include "formats/beamng/terrain.h"

/* info.c */
extern const struct tfs_lens tfs_lens_info;

/* palette.c */
extern const struct tfs_lens tfs_lens_palette;
/* "03_DirtRoad.png": the mask of material `member`. */
void tfs_mask_name(const struct tfs_doc *doc, uint32_t member, struct tfs_buf *out);

/* pictures.c */
extern const struct tfs_lens tfs_lens_heightmap, tfs_lens_layers_picture, tfs_lens_holes;
extern const struct tfs_lens tfs_lens_mask;  /* of material `member` */
extern const struct tfs_lens tfs_lens_extra; /* of extra plane `member` */

/* map.c */
extern const struct tfs_lens tfs_lens_map;

/* grids.c */
extern const struct tfs_lens tfs_lens_heights_text, tfs_lens_layers_text;

#endif
