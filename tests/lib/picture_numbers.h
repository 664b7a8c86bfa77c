/*
 * heightmap.png and map.png as numbers, for tests: one picture of heights at a time, in static
 * storage. A picture that is none fails the test.
 */
#ifndef TFS_TESTS_PICTURE_NUMBERS_H
#define TFS_TESTS_PICTURE_NUMBERS_H

#include "formats/format.h"
#include "image/png.h"
#include "region_maker.h"

#define HEIGHTS_MAX (1 << 20)

extern uint32_t width, depth;         /* columns along x and z */
extern uint16_t heights[HEIGHTS_MAX]; /* heights[z * width + x] */

extern uint16_t previous[HEIGHTS_MAX]; /* before heights_draw */

/* Changes about one of four heights, none above the bounds of the save. */
void heights_draw(const struct tfs_save *save, const struct tfs_doc *doc,
                  struct maker_random *random);

/* Are `heights`, read after they were put, what was drawn? Lowered ones may be lower still, where
 * there was a hollow. */
void heights_check(void);

/* Reads the picture of `doc` from its bytes. */
void height_picture_read(const struct tfs_save *save, const struct tfs_doc *doc,
                         struct tfs_span png);
/* The same of one with so many columns. */
void height_tile_read(struct tfs_span png, uint32_t columns_x, uint32_t columns_z);
/* Appends the picture as PNG, grey of 8 or 16 bits. */
void height_picture_write(enum tfs_png_type type, struct tfs_buf *png);
/* Its rows, for tfs_png_write with the shape (tfs_png_shape) as `arg`. */
void height_row(void *arg, uint32_t row, uint8_t *samples);

/* A pixel of map.png, as 0xRRGGBB. */
uint32_t map_picture_colour(struct tfs_span png, uint32_t x, uint32_t z);

#endif
