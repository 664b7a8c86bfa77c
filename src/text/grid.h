/*
 * Grid text: numbers on a grid of sx * sy * sz voxels (docs/semantics.md, T4).
 *
 * Voxel order of every array here: x fastest, then z, then y: index = (y * sz + z) * sx + x.
 *
 *   header lines, by the lens            palette 0 base:air
 *   an empty line, if there was a header
 *   y=00 z=00 | 0 0 1 1 0 ...            one row along x; labels have 2 digits or more
 *   ...                                  an empty line between layers
 * or, for a grid of equal values, the one line `fill VALUE`.
 *
 * Values are right-aligned to `width`, joined by one blank. No locale, no printf, no allocation a
 * value.
 */
#ifndef TFS_TEXT_GRID_H
#define TFS_TEXT_GRID_H

#include "base/buf.h"
#include "text/lines.h"

/* How a value is written. Grids of 32-bit values know all of these, grids of 64-bit values (the
 * functions called ...64) DECIMAL and FLOAT. */
enum tfs_grid_base {
    TFS_GRID_DECIMAL,
    TFS_GRID_HEX,    /* exactly `width` lower-case digits, zero-padded */
    TFS_GRID_SIGNED, /* an int32_t in its bits */
    TFS_GRID_FLOAT,  /* the bits of a float, or of a double (text/float.h) */
};

struct tfs_grid_shape {
    uint32_t sx, sy, sz; /* at least 1 */
    enum tfs_grid_base base;
    uint32_t width; /* characters a value; values that need more are a bug */
};

/* Exact size of the rows (without header and the empty line behind it), and of `fill VALUE\n`. */
uint64_t tfs_grid_rows_size(const struct tfs_grid_shape *shape);
uint64_t tfs_grid_fill_size(const struct tfs_grid_shape *shape, uint32_t value);
uint64_t tfs_grid_fill_size64(const struct tfs_grid_shape *shape, uint64_t value);

/* Appends rows; or `fill VALUE\n` (without padding, but hex with). */
void tfs_grid_print_rows(struct tfs_buf *out, const struct tfs_grid_shape *shape,
                         const uint32_t *values);
void tfs_grid_print_rows64(struct tfs_buf *out, const struct tfs_grid_shape *shape,
                           const uint64_t *values);
void tfs_grid_print_fill(struct tfs_buf *out, const struct tfs_grid_shape *shape, uint32_t value);
void tfs_grid_print_fill64(struct tfs_buf *out, const struct tfs_grid_shape *shape, uint64_t value);

/* One value alone, as a fill line and other texts have it: writes at most TFS_GRID_VALUE_MAX
 * characters, returns how many. */
#define TFS_GRID_VALUE_MAX 24
size_t tfs_grid_put_value(uint8_t *out, const struct tfs_grid_shape *shape, uint32_t value);
size_t tfs_grid_put_value64(uint8_t *out, const struct tfs_grid_shape *shape, uint64_t value);

/* Equal values one behind another. */
struct tfs_grid_run {
    uint32_t value;
    uint32_t count; /* at least 1; of the last run, those beyond the grid are left out */
};

/* Appends rows of values that come in runs: `next` is asked for one until the grid is full. Only
 * for DECIMAL values of at most 7 characters. */
typedef void (*tfs_grid_next_fn)(void *arg, struct tfs_grid_run *run);
void tfs_grid_print_runs(struct tfs_buf *out, const struct tfs_grid_shape *shape,
                         tfs_grid_next_fn next, void *arg);

struct tfs_grid_rules {
    struct tfs_grid_shape shape;
    uint64_t high;            /* greatest value that is allowed; of SIGNED ones -high - 1 is the
                               * smallest; means nothing for FLOAT */
    const char *out_of_range; /* what a greater one is told, after "value 300 is out of range, ":
                               * "the palette has 12 entries" */
};

/* Reads rows or a fill line from `lines` to the end of the text: strict about meaning, lenient
 * about spacing; a row may come without label and bar, a wrong label is an error, as are too few or
 * too many rows or values. `first` is the line already taken by the caller while it looked for
 * header lines, or NULL. values has room for sx*sy*sz. *filled (may be NULL) tells which form the
 * text had. */
int tfs_grid_parse(struct tfs_lines *lines, const struct tfs_line *first,
                   const struct tfs_grid_rules *rules, uint32_t *values, bool *filled,
                   struct tfs_error *err);
int tfs_grid_parse64(struct tfs_lines *lines, const struct tfs_line *first,
                     const struct tfs_grid_rules *rules, uint64_t *values, bool *filled,
                     struct tfs_error *err);

/* The whole of `word` as one value. */
int tfs_grid_take_value(const struct tfs_line *word, const struct tfs_grid_rules *rules,
                        uint32_t *value, struct tfs_error *err);
int tfs_grid_take_value64(const struct tfs_line *word, const struct tfs_grid_rules *rules,
                          uint64_t *value, struct tfs_error *err);

#endif
