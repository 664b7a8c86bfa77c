/*
 * The head of a `.npy` file (NumPy's format, version 1.0) <-> what the values behind it are.
 *
 *   \x93NUMPY  u8 1  u8 0  u16 length  {'descr': '<u2', 'fortran_order': False, 'shape': (16, 16,
 * 16), }  blanks \n
 *
 * We write heads of TFS_NPY_HEAD bytes. Heads of versions 1 to 3 are read, of any length, keys in
 * any order; what is read is untrusted.
 */
#ifndef TFS_FORMATS_VIEWS_ARRAYS_NPY_H
#define TFS_FORMATS_VIEWS_ARRAYS_NPY_H

#include "base/buf.h"

#define TFS_NPY_HEAD 128

struct tfs_npy {
    char kind;         /* 'u', 'i', 'f', 'b' */
    unsigned width;    /* bytes a value: 1, 2, 4, 8 */
    bool big;          /* big-endian */
    bool fortran;      /* the first index runs fastest */
    uint64_t shape[3]; /* y, z, x; of fewer dimensions the last ones, and 1 */
    unsigned dimensions;
};

/* Appends TFS_NPY_HEAD bytes. */
void tfs_npy_print(const struct tfs_npy *npy, struct tfs_buf *out);

/* Takes the head off a whole file: *values are the bytes behind it, as many as the shape says. At
 * most three dimensions, of the expected shape (NULL: any), and such numbers: whole ones of any
 * width, or floating point of the same. EBADMSG says what is expected. */
int tfs_npy_take(struct tfs_span file, const struct tfs_npy *expected, struct tfs_npy *npy,
                 struct tfs_span *values, struct tfs_error *err);
/* The bytes of a file up to the end of its values, where something is behind them; of what has not
 * even these, all. */
size_t tfs_npy_measure(struct tfs_span file);

/* Lie values of both alike? */
bool tfs_npy_alike(const struct tfs_npy *a, const struct tfs_npy *b);

/* The value at [y, z, x], by its bits: a negative number has its sign in all bits above it. The
 * indices are inside the shape. */
uint64_t tfs_npy_value(const struct tfs_npy *npy, struct tfs_span values, uint64_t y, uint64_t z,
                       uint64_t x);

/* The `count` values from [y, z, x] on, along x, as `as` has them, little-endian. False: one does
 * not fit, which is the x of `*bad`. */
bool tfs_npy_row(const struct tfs_npy *npy, struct tfs_span values, const struct tfs_npy *as,
                 const uint64_t at[3], uint32_t count, uint8_t *out, uint64_t *bad);

#endif
