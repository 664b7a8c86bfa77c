/*
 * What tests of PNG pictures share: pixels to be written, and reading with what every refusal has
 * to keep to.
 */
#ifndef TFS_TESTS_PNG_CASE_H
#define TFS_TESTS_PNG_CASE_H

#include <errno.h>
#include <string.h>

#include "image/png.h"
#include "unit.h"

/* A row whose bytes depend on all of their place. */
static inline void png_noise_row(void *arg, uint32_t row, uint8_t *samples)
{
    size_t size = *(const size_t *)arg;

    for (size_t i = 0; i < size; i++)
        samples[i] = (uint8_t)(row * 31 + i * 7 + (i >> 8) + (row * i >> 3));
}

/* Reads into a fresh buffer; checks that a refusal is EBADMSG and adds nothing. */
static inline int png_read_as(struct tfs_span png, struct tfs_png_shape shape,
                              struct tfs_buf *samples, unsigned *depth, struct tfs_error *err)
{
    *samples = (struct tfs_buf){0};
    *err = (struct tfs_error){0};
    int result = tfs_png_read(png, &shape, samples, depth, err);

    if (result < 0) {
        ck_assert_int_eq(result, -EBADMSG);
        ck_assert_int_eq(err->code, result);
        ck_assert_uint_gt(strlen(err->text), 0);
        ck_assert_uint_eq(samples->size, 0);
    } else {
        ck_assert_uint_eq(samples->size, shape.height * tfs_png_row_size(&shape));
    }
    return result;
}

#endif
