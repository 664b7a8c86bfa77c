/*
 * PNG pictures: samples <-> a file, without loss (docs/semantics.md, T7).
 *
 * Written uncompressed (deflate level 0, filter none): the size is a formula, and writing runs at
 * the speed of two checksums. Read is every PNG whose pixels convert without loss to the type that
 * is asked for.
 *
 * Samples here are as in a PNG: rows from the top, pixels from the left, 16-bit samples with the
 * high byte first.
 */
#ifndef TFS_IMAGE_PNG_H
#define TFS_IMAGE_PNG_H

#include "base/buf.h"

/* The greatest width and height: there are no pictures above (docs/semantics.md, T7). */
#define TFS_PNG_SIDE_MAX 8192

/* INDEX8: numbers up to 255, each shown in a colour of its own. */
enum tfs_png_type { TFS_PNG_GREY8, TFS_PNG_GREY16, TFS_PNG_RGB8, TFS_PNG_RGBA8, TFS_PNG_INDEX8 };

#define TFS_PNG_COLOURS 256

/* 0xRRGGBB of a number: no two have the same, and none is grey. */
uint32_t tfs_png_colour(uint8_t number);

/* A tEXt chunk: a keyword of 1 to 79 characters and a value, both ASCII. */
struct tfs_png_text {
    const char *key, *value;
};

struct tfs_png_shape {
    uint32_t width, height; /* 1 to TFS_PNG_SIDE_MAX */
    enum tfs_png_type type;
    const struct tfs_png_text *texts; /* for writing; may be NULL */
    size_t text_count;
};

/* Bytes of one row of samples. */
size_t tfs_png_row_size(const struct tfs_png_shape *shape);

/* The exact number of bytes that tfs_png_write appends. */
uint64_t tfs_png_size(const struct tfs_png_shape *shape);

/* Fills in row `row` (0 is the top one), tfs_png_row_size bytes. */
typedef void (*tfs_png_row_fn)(void *arg, uint32_t row, uint8_t *samples);

int tfs_png_write(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *arg,
                  struct tfs_buf *out, struct tfs_error *err);

#define TFS_PNG_THREADS_MAX 8

/* The same bytes by up to that many threads, which have ended when it returns: each has rows of its
 * own, one after another from the top, and one of `args`. */
int tfs_png_write_shared(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *const *args,
                         unsigned threads, struct tfs_buf *out, struct tfs_error *err);

/* ---- in parts -------------------------------------------------------------------------------- */

/* A picture is a head, blocks of whole rows, and a tail with the checksums of all blocks: for
 * pictures of which only a part is wanted, or which do not fit into memory. */

/* Rows in a block; the last one may have fewer. */
uint32_t tfs_png_block_rows(const struct tfs_png_shape *shape);
uint32_t tfs_png_blocks(const struct tfs_png_shape *shape);
/* Where a block begins in the file; of the number of blocks: the tail. */
uint64_t tfs_png_offset(const struct tfs_png_shape *shape, uint32_t block);

/* What the tail needs to know of a block. */
struct tfs_png_sum {
    uint32_t crc, adler;
};

/* Who gives the rows: up to so many threads at once, each with an argument of its own. */
struct tfs_png_rows {
    tfs_png_row_fn row;
    void *const *args;
    unsigned threads; /* 1 to TFS_PNG_THREADS_MAX */
};

/* Appends the bytes before the first block. */
void tfs_png_write_head(const struct tfs_png_shape *shape, struct tfs_buf *out);
/* Appends blocks `first` to `end` - 1; sums[0] becomes that of the first, and so on. */
int tfs_png_write_blocks(const struct tfs_png_shape *shape, uint32_t first, uint32_t end,
                         const struct tfs_png_rows *rows, struct tfs_png_sum *sums,
                         struct tfs_buf *out, struct tfs_error *err);
/* Appends the bytes behind the last block; `sums` are those of all blocks. */
void tfs_png_write_tail(const struct tfs_png_shape *shape, const struct tfs_png_sum *sums,
                        struct tfs_buf *out);

/* ---- reading --------------------------------------------------------------------------------- */

/* Appends the picture's samples to `samples`, converted to shape->type (not RGB8), row by row.
 * *depth is the number of bits a sample that the picture has (8 for palettes): an 8-bit picture
 * gives 16-bit samples that are multiples of 257, which not every caller takes.
 *
 * INDEX8: a pixel in the colour of a number is that number, a grey one its value, whatever kind of
 * PNG it is; in a palette without any of these colours and not of greys alone the index is the
 * number.
 *
 * EBADMSG: not a PNG, damaged, of another size than shape->width and height, or a pixel that does
 * not convert: not grey, not opaque, 16 bits where only 8 fit. RGBA8 takes alpha as a value like
 * the others, and refuses a picture without it. Colour profiles, gamma and texts mean nothing
 * here. */
int tfs_png_read(struct tfs_span png, const struct tfs_png_shape *shape, struct tfs_buf *samples,
                 unsigned *depth, struct tfs_error *err);

/* A PNG that may be too large for memory. */
struct tfs_png_source {
    uint64_t size;
    /* Copies bytes that are there. */
    int (*read)(const void *arg, uint64_t offset, size_t size, uint8_t *out, struct tfs_error *err);
    const void *arg;
};

/* One in memory: valid as long as `png`. */
struct tfs_png_source tfs_png_source_of(const struct tfs_span *png);

/* Takes row `row`; `depth` as for tfs_png_read. What it fails with ends the reading. */
typedef int (*tfs_png_take_fn)(void *arg, unsigned depth, uint32_t row, const uint8_t *samples,
                               struct tfs_error *err);

/* As tfs_png_read, but gives the rows one after another, from the top, also those before a pixel
 * that does not convert. Only of an interlaced picture all are in memory. */
int tfs_png_read_rows(const struct tfs_png_source *source, const struct tfs_png_shape *shape,
                      tfs_png_take_fn take, void *arg, struct tfs_error *err);

/* Appends a PNG of nothing but the texts of this one, for tfs_png_text_find; very long ones are
 * left out. */
int tfs_png_read_texts(const struct tfs_png_source *source, struct tfs_buf *out,
                       struct tfs_error *err);

/* What the file says about itself, also where it is damaged. False: nothing. */
bool tfs_png_sides(struct tfs_span png, uint32_t *width, uint32_t *height);
/* The value of a tEXt chunk; it lies in `png`. False: there is none of that key. */
bool tfs_png_text_find(struct tfs_span png, const char *key, struct tfs_span *value);

#endif
