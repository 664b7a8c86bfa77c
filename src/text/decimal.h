/*
 * Decimal numbers in texts and names: canonical ones, without `+`, `-0` and leading zeros.
 */
#ifndef TFS_TEXT_DECIMAL_H
#define TFS_TEXT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFS_DECIMAL_MAX 20 /* characters of any number of 64 bits, its sign included */

/* How many digits v has. */
uint32_t tfs_decimal_width(uint64_t v);

/* Write v, and return the number of its characters; no NUL. */
size_t tfs_decimal_put(uint8_t *out, uint64_t v);
size_t tfs_decimal_put_signed(uint8_t *out, int64_t v);

/* Takes a number of [low, high], which lie within 32 bits and a sign, and the character `end`
 * behind it (a NUL stays); *text is moved behind what was taken. False: there is no such number,
 * and nothing is taken. */
bool tfs_decimal_take(const char **text, char end, int64_t low, int64_t high, int64_t *value);

#endif
