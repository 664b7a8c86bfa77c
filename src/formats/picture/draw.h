/*
 * A picture of columns as the bytes of a PNG: all of them, or some.
 *
 * Rows of chunks are computed as the bytes need them (columns.h), so no more of the picture is in
 * memory than what is asked for, and no more of the save than is allowed.
 */
#ifndef TFS_FORMATS_PICTURE_DRAW_H
#define TFS_FORMATS_PICTURE_DRAW_H

#include "formats/picture/columns.h"

struct tfs_picture {
    unsigned number; /* of tfs_columns_sums */
    struct tfs_png_shape shape;
    const struct tfs_picture_box *box;
    struct tfs_png_rows rows; /* draw from strips of the columns */
    bool above;               /* a row of pixels needs the row of chunks above its own, too */
    /* Makes rows of pixels, at most `step` or those of one block, such that `rows`, with its first
     * argument, can give them. NULL: they are drawn from rows of chunks. */
    int (*prepare)(void *arg, uint32_t first, uint32_t end, struct tfs_error *err);
    uint32_t step;
};

/* Appends the `size` bytes at `offset`, or as many as there are. The caller has locked the
 * columns. */
int tfs_picture_draw(const struct tfs_picture *picture, struct tfs_columns *columns,
                     uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err);

#endif
