/*
 * The bits of a float or a double <-> decimal text, by the C library's printf and strtod.
 *
 * Must not know where the numbers stand. The program never sets a locale, so the point is a point.
 */
#include "text/float.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/lines.h"

#define TOKEN_MAX   512 /* characters of a number that are looked at */
#define WHOLE_BELOW 7   /* whole numbers below 10^7 have no exponent */

#define SIGN_32 (UINT32_C(1) << 31)
#define INF_32  UINT32_C(0x7f800000)
#define NAN_32  UINT32_C(0x7fc00000)
#define SIGN_64 (UINT64_C(1) << 63)
#define INF_64  UINT64_C(0x7ff0000000000000)
#define NAN_64  UINT64_C(0x7ff8000000000000)

/* What differs between the two sizes. */
struct width {
    bool wide;
    int round;  /* this many digits are enough for numbers that people wrote */
    int digits; /* this many tell all values apart */
    int hex;    /* digits of the bits */
    uint64_t sign, infinity, nan;
};

static const struct width single = {false, 6, 9, 8, SIGN_32, INF_32, NAN_32};
static const struct width wide = {true, 15, 17, 16, SIGN_64, INF_64, NAN_64};

/* A float is exact in a double. */
static double value_of(const struct width *width, uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    double d;

    memcpy(&f, &low, sizeof(f));
    memcpy(&d, &bits, sizeof(d));
    return width->wide ? d : (double)f;
}

static uint64_t bits_of_text(const struct width *width, const char *text)
{
    uint64_t bits;
    uint32_t low;

    if (width->wide) {
        double d = strtod(text, NULL);
        memcpy(&bits, &d, sizeof(bits));
        return bits;
    }
    float f = strtof(text, NULL);
    memcpy(&low, &f, sizeof(low));
    return low;
}

/* ---- printing -------------------------------------------------------------------------------- */

#define SCIENTIFIC_MAX 32 /* -d.dddddddddddddddde+ddd and a NUL */

/* d.ddd * 10^exponent. */
struct digits {
    char text[SCIENTIFIC_MAX];
    int count;
    int exponent;
};

/* Does the decimal of so many digits read back to the same bits? Leaves it in `text`. */
static bool reads_back(const struct width *width, uint64_t bits, int count, char *text)
{
    snprintf(text, SCIENTIFIC_MAX, "%.*e", count - 1, value_of(width, bits));
    return bits_of_text(width, text) == bits;
}

/* The fewest digits that read back. Fewer than width->round are tried upwards, more downwards:
 * numbers are either ones that somebody wrote or need nearly all. */
static int shortest(const struct width *width, uint64_t bits, char text[SCIENTIFIC_MAX])
{
    char fewer[SCIENTIFIC_MAX];
    int count = 1;

    if (reads_back(width, bits, width->round, text)) {
        while (!reads_back(width, bits, count, text))
            count++;
        return count;
    }
    for (count = width->digits; count - 1 > width->round; count--) {
        if (!reads_back(width, bits, count - 1, fewer))
            break;
        memcpy(text, fewer, sizeof(fewer));
    }
    if (count == width->digits)
        (void)reads_back(width, bits, count, text);
    return count;
}

/* Takes the decimal of a positive number apart: "d.ddde-XX". */
static void take_apart(const struct width *width, uint64_t bits, struct digits *digits)
{
    char text[SCIENTIFIC_MAX];

    digits->count = shortest(width, bits, text);
    digits->exponent = atoi(strchr(text, 'e') + 1);
    digits->text[0] = text[0];
    memcpy(digits->text + 1, text + 2, (size_t)(digits->count > 1 ? digits->count - 1 : 0));
}

static uint8_t *put(uint8_t *out, const char *text, int count)
{
    memcpy(out, text, (size_t)count);
    return out + count;
}

static uint8_t *put_zeros(uint8_t *out, int count)
{
    for (int i = 0; i < count; i++)
        *out++ = '0';
    return out;
}

static uint8_t *put_exponent(uint8_t *out, int exponent)
{
    unsigned e = (unsigned)(exponent < 0 ? -exponent : exponent);

    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    if (e >= 100)
        *out++ = (uint8_t)('0' + e / 100);
    *out++ = (uint8_t)('0' + e / 10 % 10);
    *out++ = (uint8_t)('0' + e % 10);
    return out;
}

static uint8_t *put_digits(uint8_t *out, const struct digits *digits)
{
    int whole = digits->exponent + 1; /* digits in front of the point */

    if (digits->exponent < -4 || (whole > WHOLE_BELOW && whole > digits->count)) {
        *out++ = (uint8_t)digits->text[0];
        if (digits->count > 1)
            *out++ = '.';
        out = put(out, digits->text + 1, digits->count - 1);
        return put_exponent(out, digits->exponent);
    }
    if (whole <= 0) {
        out = put(out, "0.", 2);
        out = put_zeros(out, -whole);
        return put(out, digits->text, digits->count);
    }
    if (digits->count <= whole) {
        out = put(out, digits->text, digits->count);
        return put_zeros(out, whole - digits->count);
    }
    out = put(out, digits->text, whole);
    *out++ = '.';
    return put(out, digits->text + whole, digits->count - whole);
}

static uint8_t *put_hex(uint8_t *out, uint64_t v, int count)
{
    for (int i = count; i > 0; i--, v >>= 4)
        out[i - 1] = (uint8_t) "0123456789abcdef"[v & 15];
    return out + count;
}

static size_t print(const struct width *width, uint64_t bits, uint8_t *out)
{
    uint64_t magnitude = bits & ~width->sign;
    uint8_t *at = out;
    struct digits digits;

    if (magnitude > width->infinity) {
        at = put(at, "nan", 3);
        if (bits != width->nan) {
            *at++ = ':';
            at = put_hex(at, bits, width->hex);
        }
        return (size_t)(at - out);
    }
    if ((bits & width->sign) != 0)
        *at++ = '-';
    if (magnitude == width->infinity)
        return (size_t)(put(at, "inf", 3) - out);
    if (magnitude == 0)
        return (size_t)(put(at, "0", 1) - out);
    take_apart(width, magnitude, &digits);
    return (size_t)(put_digits(at, &digits) - out);
}

size_t tfs_float32_print(uint8_t *out, uint32_t bits)
{
    return print(&single, bits, out);
}

size_t tfs_float64_print(uint8_t *out, uint64_t bits)
{
    return print(&wide, bits, out);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* What is behind the unsigned decimal at `at`; NULL when there is none. */
static const uint8_t *skip_decimal(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *whole = skip_digits(at, end), *behind = whole;
    size_t digits = (size_t)(whole - at);

    if (whole < end && *whole == '.') {
        behind = skip_digits(whole + 1, end);
        digits += (size_t)(behind - whole - 1);
    }
    if (digits == 0 || behind == end || (*behind | 0x20) != 'e')
        return digits == 0 ? NULL : behind;
    const uint8_t *exponent = behind + 1;
    if (exponent < end && (*exponent == '-' || *exponent == '+'))
        exponent++;
    behind = skip_digits(exponent, end);
    return behind == exponent ? NULL : behind;
}

/* A decimal: what is behind it and its bits; NULL when it is none, or rounds to an infinity. */
static const uint8_t *take_decimal(const struct width *width, const uint8_t *at, const uint8_t *end,
                                   uint64_t *bits)
{
    char token[TOKEN_MAX + 1]; /* the C library wants a NUL behind it */
    const uint8_t *behind = skip_decimal(at, end - at > TOKEN_MAX ? at + TOKEN_MAX : end);

    if (behind == NULL)
        return NULL;
    memcpy(token, at, (size_t)(behind - at));
    token[behind - at] = '\0';
    *bits = bits_of_text(width, token);
    return *bits == width->infinity ? NULL : behind;
}

static const uint8_t *take_word(const uint8_t *at, const uint8_t *end, const char *word)
{
    size_t size = strlen(word);

    return (size_t)(end - at) >= size && memcmp(at, word, size) == 0 ? at + size : NULL;
}

/* Exactly `count` hex digits, of either case. */
static const uint8_t *take_hex(const uint8_t *at, const uint8_t *end, int count, uint64_t *bits)
{
    uint64_t v = 0;

    if (end - at < count)
        return NULL;
    for (int i = 0; i < count; i++, at++) {
        uint8_t lower = *at | 0x20;
        if (is_digit(*at))
            v = v << 4 | (uint64_t)(*at - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v << 4 | (uint64_t)(lower - 'a' + 10);
        else
            return NULL;
    }
    *bits = v;
    return at;
}

/* What is no decimal: nan, nan:HEX, inf. Returns what is behind it. */
static const uint8_t *take_special(const struct width *width, const uint8_t *at, const uint8_t *end,
                                   bool negative, uint64_t *bits)
{
    const uint8_t *behind = take_word(at, end, "inf");

    *bits = width->infinity;
    if (behind != NULL || negative)
        return behind;
    behind = take_word(at, end, "nan");
    *bits = width->nan;
    if (behind == NULL || behind == end || *behind != ':')
        return behind;
    behind = take_hex(behind + 1, end, width->hex, bits);
    return behind != NULL && (*bits & ~width->sign) <= width->infinity ? NULL : behind;
}

static const uint8_t *parse(const struct width *width, const uint8_t *at, const uint8_t *end,
                            uint64_t *bits)
{
    bool negative = at < end && *at == '-';
    uint64_t found;

    at += negative;
    at = at < end && (is_digit(*at) || *at == '.') ? take_decimal(width, at, end, &found)
                                                   : take_special(width, at, end, negative, &found);
    if (at == NULL || (at < end && !tfs_is_blank(*at)))
        return NULL;
    *bits = negative ? found | width->sign : found;
    return at;
}

const uint8_t *tfs_float32_parse(const uint8_t *at, const uint8_t *end, uint32_t *bits)
{
    uint64_t found;
    const uint8_t *behind = parse(&single, at, end, &found);

    if (behind != NULL)
        *bits = (uint32_t)found;
    return behind;
}

const uint8_t *tfs_float64_parse(const uint8_t *at, const uint8_t *end, uint64_t *bits)
{
    return parse(&wide, at, end, bits);
}
