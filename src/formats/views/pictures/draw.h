/*
 * What all pictures of columns share: which box they show, and how their rows are drawn.
 */
#ifndef TFS_FORMATS_VIEWS_PICTURES_DRAW_H
#define TFS_FORMATS_VIEWS_PICTURES_DRAW_H

#include "formats/views/pictures/columns.h"

#define TFS_MAP_EMPTY 0x16181dU /* where there is no voxel */

#define TFS_PICTURE_TEXTS 2
#define TFS_PICTURE_TEXT  48

struct tfs_picture;

/* What pictures show: lens->param. */
struct tfs_picture_kind {
    enum tfs_png_type type; /* GREY16: heights, GREY8: their view, RGB8: the map */
    bool tile;
    /* Draws a row of pixels, of which `above` is the one above. */
    void (*paint)(const struct tfs_picture *picture, const struct tfs_pixel *pixels,
                  const struct tfs_pixel *above, uint8_t *samples);
};

struct tfs_picture {
    const struct tfs_picture_kind *kind;
    struct tfs_picture_box box;
    bool reduced;       /* a map in which a pixel shows a square of columns (overview.c) */
    unsigned scale;     /* the square's side is 1 << scale */
    uint32_t low, high; /* of the heights; low above high: all columns are empty */
    struct tfs_png_shape shape;
    struct tfs_png_text texts[TFS_PICTURE_TEXTS];
    char values[TFS_PICTURE_TEXTS][TFS_PICTURE_TEXT];
};

/* The picture that a lens shows; it stays where it is. ENOENT with a sentence: there is none. */
int tfs_picture_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_picture *picture, struct tfs_error *err);
/* z of the uppermost row of pixels. */
int64_t tfs_picture_origin_z(const struct tfs_picture_box *box);
/* Writes the map that shows squares of columns. */
int tfs_overview_write(const struct tfs_picture *picture, const struct tfs_doc *doc,
                       struct tfs_columns *columns, struct tfs_buf *out, struct tfs_error *err);

/* What one thread draws with. */
struct tfs_hand {
    const struct tfs_picture *picture;
    struct tfs_strip strip; /* to be released, after a failure, too */
    uint32_t drawn;         /* which strip it is */
    struct tfs_error err;   /* what follows a failure is black */
};

int tfs_hand_init(struct tfs_hand *hand, const struct tfs_picture *picture,
                  struct tfs_columns *columns, struct tfs_error *err);
/* Draws a row of columns: a pixel each. */
void tfs_hand_row(void *hand, uint32_t row, uint8_t *samples);

/* ---- tile.c ---------------------------------------------------------------------------------- */

/* Chunks along a side of a tile, of chunks that are so wide: a power of two, so that tiles end
 * where coordinates do. */
int32_t tfs_picture_tile_chunks(uint32_t edge);
/* tfs_lens.exists of tiles. */
int tfs_picture_tile_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at);
/* How many tiles there are. */
size_t tfs_picture_tiles_there(const struct tfs_cells_kind *kind, const struct tfs_doc *doc);
/* The box of tile number `member` of tfs_picture_tiles. False: there is no such tile. */
bool tfs_picture_tile_box(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                          uint32_t member, struct tfs_picture_box *box);

/* ---- heightmap.c, sculpt.c ------------------------------------------------------------------- */

/* tfs_lens.put of pictures of heights. */
int tfs_heightmap_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err);

/* Makes the columns of the box as high as `after` says; `before` is how high they are. Both have
 * box->sx * box->sz heights, measured from the bottom of the box, which need not be that of the
 * document. EBADMSG names the first pixel that cannot be. */
int tfs_sculpt(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_picture_box *box,
               const uint16_t *before, const uint16_t *after, struct tfs_error *err);

#endif
