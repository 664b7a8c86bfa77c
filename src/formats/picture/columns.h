/*
 * The columns of a document: for the lenses of pictures. They are computed row of chunks by row of
 * chunks, when they are asked for, and kept from document to document as far as memory is allowed
 * (tfs_open_options.memory).
 */
#ifndef TFS_FORMATS_PICTURE_COLUMNS_H
#define TFS_FORMATS_PICTURE_COLUMNS_H

#include "formats/cells/cells.h"
#include "image/png.h"

#define TFS_PICTURE_HEIGHT_MAX 65535

/* The box that the pictures show, in voxels. */
struct tfs_picture_box {
    struct tfs_voxel_size chunk;
    struct tfs_key low;  /* the chunk at its lowest corner */
    int64_t x, y, z;     /* the voxel there */
    uint64_t sx, sy, sz; /* sizes */
    unsigned drop;       /* low bits that heights lose: 0 where pictures of heights can tell them */
    bool north_up;       /* TFS_CELLS_NORTH_UP */
};

/* The row of pixels that shows the voxels at `z`, counted from box.z; and back. */
static inline uint64_t tfs_picture_row(const struct tfs_picture_box *box, uint64_t z)
{
    return box->north_up ? box->sz - 1 - z : z;
}

/* False without chunks. */
bool tfs_picture_box(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                     struct tfs_picture_box *box);
/* Is it a box that there are pictures of? */
bool tfs_picture_box_fits(const struct tfs_picture_box *box);
/* Chunks along a side of a tile, of chunks that are so wide: a power of two, so that tiles end
 * where coordinates do. */
int32_t tfs_picture_tile_chunks(uint32_t edge);
/* tfs_lens.exists of tiles. */
int tfs_picture_tile_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
/* How many tiles there are. */
size_t tfs_picture_tiles_there(const struct tfs_cells_kind *kind, const struct tfs_doc *doc);
/* What a picture of the file shows: all, or the tile that it is. ENOENT. */
int tfs_picture_shown(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_picture_box *box, struct tfs_error *err);
/* Rows of chunks in the box: those of pictures, from above. */
uint32_t tfs_picture_rows(const struct tfs_picture_box *box);

/* One column of the box. */
struct tfs_pixel {
    uint16_t height;
    uint16_t water; /* voxels of water at the top */
    uint32_t colour, bed;
};

struct tfs_columns;

/* How many threads are worth the while to draw the box, each with a strip (below) of its own: 1 to
 * TFS_PNG_THREADS_MAX. */
unsigned tfs_picture_threads(const struct tfs_picture_box *box);

/* The columns of `doc` in a box that fits, of which the rows below are. Heights count from the
 * bottom of the document's own box, which is at most as high as pictures can tell. Until
 * tfs_columns_unlock all others wait. */
int tfs_columns_lock(struct tfs_save *save, const struct tfs_doc *doc,
                     const struct tfs_picture_box *box, struct tfs_columns **columns,
                     struct tfs_error *err);
void tfs_columns_unlock(struct tfs_columns *columns);

/* Another box of the same document, without giving others a turn; what is not in it may be
 * forgotten. */
int tfs_columns_move(struct tfs_columns *columns, const struct tfs_picture_box *box,
                     struct tfs_error *err);

/* Rows of pixels that a picture of the document keeps from call to call; all 0 at first. `samples`
 * is freed with the columns. */
struct tfs_kept_rows {
    uint64_t version; /* of the document */
    uint32_t first, end;
    uint8_t *samples;
};
struct tfs_kept_rows *tfs_columns_kept(struct tfs_columns *columns);

/* How many rows of chunks it is worth asking for at a time, without taking more memory than is
 * allowed: at least 1. */
uint32_t tfs_columns_step(const struct tfs_columns *columns);

/* Makes these rows of chunks, from `first` to `end` - 1, such that their strips can be drawn; that
 * of others may be forgotten. Of chunks that were looked into before only those are looked into
 * again that changed since or were forgotten. A chunk that does not decode counts as empty. */
int tfs_columns_rows(struct tfs_columns *columns, uint32_t first, uint32_t end,
                     struct tfs_error *err);

/* Such a row of chunks, for several threads at once: pixels[z * box.sx + x] for 0 <= z <
 * box.chunk.z. */
void tfs_columns_strip(const struct tfs_columns *columns, uint32_t row, struct tfs_pixel *pixels);

/* The lowest and the highest of all heights that are not 0; low is above high where all are 0. The
 * box is that of the document. */
int tfs_columns_range(struct tfs_columns *columns, uint32_t *low, uint32_t *high,
                      struct tfs_error *err);

/* The heights that at most one column in a hundred is below, and above, of those that are not
 * empty; low is above high where all are. The box is that of the document. */
int tfs_columns_stretch(struct tfs_columns *columns, uint32_t *low, uint32_t *high,
                        struct tfs_error *err);

/* Checksums of the blocks of the document's pictures, as far as they are known: numbers 0 to 3 for
 * pictures of the box, of `count` blocks each. NULL: no memory. */
struct tfs_block_sum {
    struct tfs_png_sum sum;
    bool known;
};
struct tfs_block_sum *tfs_columns_sums(struct tfs_columns *columns, unsigned picture,
                                       uint32_t count);

#endif
