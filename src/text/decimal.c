/*
 * Numbers <-> canonical decimal. See decimal.h.
 */
#include "text/decimal.h"

uint32_t tfs_decimal_width(uint64_t v)
{
    uint32_t width = 1;

    while (v >= 10) {
        v /= 10;
        width++;
    }
    return width;
}

size_t tfs_decimal_put(uint8_t *out, uint64_t v)
{
    const size_t width = tfs_decimal_width(v);

    for (size_t i = width; i > 0; v /= 10)
        out[--i] = (uint8_t)('0' + v % 10);
    return width;
}

size_t tfs_decimal_put_signed(uint8_t *out, int64_t v)
{
    if (v >= 0)
        return tfs_decimal_put(out, (uint64_t)v);
    out[0] = '-';
    return 1 + tfs_decimal_put(out + 1, 0 - (uint64_t)v);
}

bool tfs_decimal_take(const char **text, char end, int64_t low, int64_t high, int64_t *value)
{
    const char *at = *text;
    const bool negative = *at == '-';
    int64_t v = 0;

    at += negative;
    if (*at < '0' || *at > '9' || (*at == '0' && (negative || at[1] != end)))
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        v = v * 10 + (*at - '0');
        if (v > UINT32_MAX)
            return false;
    }
    v = negative ? -v : v;
    if (*at != end || v < low || v > high)
        return false;
    *value = v;
    *text = at + (end != '\0');
    return true;
}
