/*
 * What draws map.png, shared by the map that shows each column as a pixel (map.c) and the one that
 * shows many (overview.c).
 */
#ifndef TFS_FORMATS_PICTURE_MAP_H
#define TFS_FORMATS_PICTURE_MAP_H

#include "formats/picture/columns.h"

#define TFS_MAP_EMPTY 0x16181dU /* where there is no voxel */

/* What one thread draws with; all but the strip is the same for all. */
struct tfs_map {
    struct tfs_picture_box box;
    struct tfs_columns *columns;
    uint32_t low, high;      /* of all heights that are not 0 */
    int8_t *tones;           /* of heights from low on: what they lighten, in 256ths */
    struct tfs_pixel *strip; /* one row more than a strip: the last one of the strip before */
    uint32_t drawn;          /* the row of chunks that is in it */
};

/* Computes map->tones once for all, to be freed. */
int tfs_map_tones(struct tfs_map *map, struct tfs_error *err);
/* Draws a strip, behind the last row of the one before; above the first there is nothing. */
void tfs_map_strip(struct tfs_map *map, uint32_t strip);
/* The colour of a pixel of the strip; `first`: of its row. */
uint32_t tfs_map_colour(const struct tfs_map *map, const struct tfs_pixel *pixel, bool first);

/* ---- overview.c ------------------------------------------------------------------------------ */

/* The picture of a save that is too wide or too high for one of a pixel a column. */
struct tfs_overview {
    struct tfs_picture_box box;
    unsigned scale; /* a pixel shows 1 << scale columns each way */
    uint32_t width, height;
};

/* False: there is none, because a map shows all, or a chunk alone is too wide. */
bool tfs_overview_of(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                     struct tfs_overview *overview);
int64_t tfs_overview_size(const struct tfs_overview *overview);
/* Appends the `size` bytes at `offset`, or as many as there are. */
int tfs_overview_part(struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_overview *overview, uint64_t offset, uint64_t size,
                      struct tfs_buf *out, struct tfs_error *err);

#endif
