/*
 * Floating-point numbers <-> the shortest decimal that reads back to the same bits.
 *
 * Printed: the fewest significant digits, as `%.Ng` prints them, but whole numbers below 10^7
 * without exponent; `-0`, `inf`, `-inf`; `nan` for 7fc00000 and 7ff8000000000000, any other NaN
 * `nan:` and its bits in 8 or 16 hex digits. Read: the same and every other decimal, in any number
 * of digits; what rounds to an infinity is rejected. No locale.
 */
#ifndef TFS_TEXT_FLOAT_H
#define TFS_TEXT_FLOAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFS_FLOAT32_WIDTH 15 /* characters of the longest one: -1.17549435e-38 */
#define TFS_FLOAT64_WIDTH 24

/* Write up to TFS_FLOAT32_WIDTH or TFS_FLOAT64_WIDTH characters; return how many. */
size_t tfs_float32_print(uint8_t *out, uint32_t bits);
size_t tfs_float64_print(uint8_t *out, uint64_t bits);

/* Read a number that begins at `at` and ends at a blank, a tab or `end`. Return what is behind it,
 * NULL when it is none. */
const uint8_t *tfs_float32_parse(const uint8_t *at, const uint8_t *end, uint32_t *bits);
const uint8_t *tfs_float64_parse(const uint8_t *at, const uint8_t *end, uint64_t *bits);

#endif
