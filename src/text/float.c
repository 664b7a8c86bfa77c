/*
 * The bits of a float or a double <-> decimal text.
 *
 * Must not know where the numbers stand. The usual number takes no call of printf or strtod: it is
 * scaled by an exact power of ten in long double, and the result counts only where the error of
 * that one rounding cannot matter. Everything else, and every machine whose long double is no wider
 * than double, goes through the C library, to the same text.
 */
#include "text/float.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/lines.h"

#define DIGITS_MAX   17  /* significant digits that tell all doubles apart */
#define POWER_MAX    27  /* 10^27 is exact in a long double of 64 bits */
#define TOKEN_MAX    512 /* characters of a number that are looked at */
#define TAKEN_MAX    19  /* digits that fit 64 bits */
#define EXPONENT_MAX 100000
#define WHOLE_BELOW  7 /* whole numbers below 10^7 have no exponent */
#define DOUBT        (8 * LDBL_EPSILON)

static const long double powers[POWER_MAX + 1] = {
    1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
    1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
    1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
};

static float float_of(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static uint32_t bits_of_float(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static uint64_t bits_of_double(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* ---- digits ---------------------------------------------------------------------------------- */

/* A finite positive number to be printed. */
struct number {
    double value; /* a float is exact in it */
    bool single;
    long double below, above; /* half the way to its neighbours */
};

/* d.ddd * 10^exponent. */
struct digits {
    char text[DIGITS_MAX + 1];
    int count;
    int exponent;
};

static struct number number_of_float(float v)
{
    float low = nextafterf(v, 0), high = nextafterf(v, INFINITY);
    long double step = (long double)v - low;

    return (struct number){v, true, step / 2, isinf(high) ? step / 2 : ((long double)high - v) / 2};
}

static struct number number_of_double(double v)
{
    double low = nextafter(v, 0), high = nextafter(v, INFINITY);
    long double step = (long double)v - low;

    return (struct number){v, false, step / 2,
                           isinf(high) ? step / 2 : ((long double)high - v) / 2};
}

enum verdict { NO, YES, DOUBTFUL };

static void set_digits(struct digits *digits, uint64_t m, int count, int exponent)
{
    for (int i = count; i > 0; i--, m /= 10)
        digits->text[i - 1] = (char)('0' + m % 10);
    digits->count = count;
    digits->exponent = exponent;
}

/* Does the number, rounded to `count` digits, read back as itself? 10^exponent <= value. */
static enum verdict try_digits(const struct number *number, int exponent, int count,
                               struct digits *digits)
{
    int power = count - 1 - exponent;

    if (power > POWER_MAX || power < -POWER_MAX)
        return DOUBTFUL;
    long double factor = powers[power < 0 ? -power : power];
    long double scaled = power < 0 ? number->value / factor : number->value * factor;
    long double rounded = floorl(scaled + 0.5L);
    long double error = rounded - scaled;
    long double doubt = scaled * DOUBT;
    if (fabsl(fabsl(error) - 0.5L) <= doubt)
        return DOUBTFUL;
    long double room = error < 0 ? number->below : number->above;
    room = power < 0 ? room / factor : room * factor;
    if (fabsl(fabsl(error) - room) <= doubt)
        return DOUBTFUL;
    if (fabsl(error) > room)
        return NO;
    if (rounded >= powers[count])
        set_digits(digits, (uint64_t)(rounded / 10), count, exponent + 1);
    else
        set_digits(digits, (uint64_t)rounded, count, exponent);
    return YES;
}

/* The same by the C library. */
static enum verdict ask_library(const struct number *number, int count, struct digits *digits)
{
    char text[DIGITS_MAX + 16];
    size_t n = 0;

    snprintf(text, sizeof(text), "%.*e", count - 1, number->value);
    if (number->single ? strtof(text, NULL) != (float)number->value
                       : strtod(text, NULL) != number->value)
        return NO;
    for (const char *c = text; *c != 'e'; c++)
        if (*c != '.')
            digits->text[n++] = *c;
    digits->count = count;
    digits->exponent = atoi(strchr(text, 'e') + 1);
    return YES;
}

/* Greatest exponent with 10^exponent <= value, and *sure; far away it is not known. */
static int decimal_exponent(long double value, bool *sure)
{
    int binary;

    frexpl(value, &binary);
    int exponent = (int)floorl((long double)(binary - 1) * 0.30102999566398119521L);
    *sure = exponent < POWER_MAX && exponent > -POWER_MAX;
    if (!*sure)
        return 0;
    long double next = exponent + 1 >= 0 ? powers[exponent + 1] : 1 / powers[-exponent - 1];
    /* A power of ten below one is not exact: near it, the library decides. */
    if (exponent + 1 < 0 && fabsl(value - next) <= value * DOUBT)
        *sure = false;
    return value >= next ? exponent + 1 : exponent;
}

static void shortest(const struct number *number, struct digits *digits)
{
    bool sure;
    int exponent = decimal_exponent(number->value, &sure);
    enum verdict verdict = NO;

    for (int count = 1; count <= DIGITS_MAX && verdict != YES; count++) {
        verdict = sure ? try_digits(number, exponent, count, digits) : DOUBTFUL;
        if (verdict == DOUBTFUL)
            verdict = ask_library(number, count, digits);
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

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

#define SIGN_32 (UINT32_C(1) << 31)
#define INF_32  UINT32_C(0x7f800000)
#define NAN_32  UINT32_C(0x7fc00000)
#define SIGN_64 (UINT64_C(1) << 63)
#define INF_64  UINT64_C(0x7ff0000000000000)
#define NAN_64  UINT64_C(0x7ff8000000000000)

size_t tfs_float32_print(uint8_t *out, uint32_t bits)
{
    uint32_t magnitude = bits & ~SIGN_32;
    uint8_t *at = out;
    struct digits digits;

    if (magnitude > INF_32) {
        at = put(at, "nan", 3);
        if (bits != NAN_32) {
            *at++ = ':';
            at = put_hex(at, bits, 8);
        }
        return (size_t)(at - out);
    }
    if ((bits & SIGN_32) != 0)
        *at++ = '-';
    if (magnitude == INF_32)
        return (size_t)(put(at, "inf", 3) - out);
    if (magnitude == 0)
        return (size_t)(put(at, "0", 1) - out);
    struct number number = number_of_float(float_of(magnitude));
    shortest(&number, &digits);
    return (size_t)(put_digits(at, &digits) - out);
}

size_t tfs_float64_print(uint8_t *out, uint64_t bits)
{
    uint64_t magnitude = bits & ~SIGN_64;
    uint8_t *at = out;
    struct digits digits;

    if (magnitude > INF_64) {
        at = put(at, "nan", 3);
        if (bits != NAN_64) {
            *at++ = ':';
            at = put_hex(at, bits, 16);
        }
        return (size_t)(at - out);
    }
    if ((bits & SIGN_64) != 0)
        *at++ = '-';
    if (magnitude == INF_64)
        return (size_t)(put(at, "inf", 3) - out);
    if (magnitude == 0)
        return (size_t)(put(at, "0", 1) - out);
    struct number number = number_of_double(double_of(magnitude));
    shortest(&number, &digits);
    return (size_t)(put_digits(at, &digits) - out);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* A decimal as it is written: m * 10^exponent, if `exact`. */
struct decimal {
    bool negative, exact;
    uint64_t m;
    int exponent;
    const uint8_t *begin; /* behind the sign */
    const uint8_t *end;
};

static bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

/* Takes digits in front of or behind the point; returns how many. */
static size_t take_digits(const uint8_t **at, const uint8_t *end, bool behind,
                          struct decimal *decimal)
{
    const uint8_t *begin = *at, *p = begin;

    for (; p < end && is_digit(*p); p++) {
        if (decimal->m < UINT64_MAX / 10 - 1) {
            decimal->m = decimal->m * 10 + (uint64_t)(*p - '0');
            decimal->exponent -= behind;
        } else {
            decimal->exact = decimal->exact && *p == '0';
            decimal->exponent += !behind;
        }
    }
    *at = p;
    return (size_t)(p - begin);
}

/* Takes what follows an `e`. */
static bool take_exponent(const uint8_t **at, const uint8_t *end, struct decimal *decimal)
{
    const uint8_t *p = *at;
    bool negative = p < end && *p == '-';
    int e = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return false;
    for (; p < end && is_digit(*p); p++)
        if (e < EXPONENT_MAX)
            e = e * 10 + (*p - '0');
    decimal->exponent += negative ? -e : e;
    *at = p;
    return true;
}

static bool take_decimal(const uint8_t *at, const uint8_t *end, struct decimal *decimal)
{
    *decimal = (struct decimal){.exact = true, .begin = at};
    if (end - at > TOKEN_MAX)
        end = at + TOKEN_MAX;
    size_t digits = take_digits(&at, end, false, decimal);
    if (at < end && *at == '.') {
        at++;
        digits += take_digits(&at, end, true, decimal);
    }
    if (digits == 0)
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (!take_exponent(&at, end, decimal))
            return false;
    }
    decimal->end = at;
    return true;
}

/* m * 10^exponent with one rounding; false when that is not how it can be had. */
static bool scale(const struct decimal *decimal, long double *value)
{
    if (!decimal->exact || decimal->exponent > POWER_MAX || decimal->exponent < -POWER_MAX)
        return false;
    long double m = decimal->m;
    *value = decimal->exponent < 0 ? m / powers[-decimal->exponent] : m * powers[decimal->exponent];
    return true;
}

/* The text for the C library, which wants a NUL behind it. */
static void copy_token(const struct decimal *decimal, char token[TOKEN_MAX + 1])
{
    size_t size = (size_t)(decimal->end - decimal->begin);

    memcpy(token, decimal->begin, size);
    token[size] = '\0';
}

static float to_float(const struct decimal *decimal)
{
    char token[TOKEN_MAX + 1];
    long double value;

    if (scale(decimal, &value) && value > (long double)FLT_MIN && value < (long double)FLT_MAX) {
        float near = (float)value;
        long double error = value - near;
        float next = nextafterf(near, error < 0 ? 0 : INFINITY);
        long double half = fabsl((long double)next - near) / 2;
        if (!isinf(next) && fabsl(fabsl(error) - half) > value * DOUBT)
            return near;
    }
    copy_token(decimal, token);
    return strtof(token, NULL);
}

static double to_double(const struct decimal *decimal)
{
    char token[TOKEN_MAX + 1];
    long double value;

    if (scale(decimal, &value) && value > (long double)DBL_MIN && value < (long double)DBL_MAX) {
        double near = (double)value;
        long double error = value - near;
        double next = nextafter(near, error < 0 ? 0 : INFINITY);
        long double half = fabsl((long double)next - near) / 2;
        if (!isinf(next) && fabsl(fabsl(error) - half) > value * DOUBT)
            return near;
    }
    copy_token(decimal, token);
    return strtod(token, NULL);
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
static const uint8_t *take_special(const uint8_t *at, const uint8_t *end, bool negative, bool wide,
                                   uint64_t *bits)
{
    const uint64_t infinity = wide ? INF_64 : INF_32;
    const uint8_t *behind = take_word(at, end, "inf");

    *bits = infinity;
    if (behind != NULL || negative)
        return behind;
    behind = take_word(at, end, "nan");
    *bits = wide ? NAN_64 : NAN_32;
    if (behind == NULL || behind == end || *behind != ':')
        return behind;
    behind = take_hex(behind + 1, end, wide ? 16 : 8, bits);
    if (behind != NULL && (*bits & (wide ? ~SIGN_64 : (uint64_t)~SIGN_32)) <= infinity)
        return NULL;
    return behind;
}

static const uint8_t *parse(const uint8_t *at, const uint8_t *end, bool wide, uint64_t *bits)
{
    bool negative = at < end && *at == '-';
    struct decimal decimal;
    uint64_t found;

    at += negative;
    if (take_decimal(at, end, &decimal)) {
        found = wide ? bits_of_double(to_double(&decimal)) : bits_of_float(to_float(&decimal));
        if (found == (wide ? INF_64 : INF_32))
            return NULL;
        at = decimal.end;
    } else {
        at = take_special(at, end, negative, wide, &found);
    }
    if (at == NULL || (at < end && !tfs_is_blank(*at)))
        return NULL;
    *bits = negative ? found | (wide ? SIGN_64 : SIGN_32) : found;
    return at;
}

const uint8_t *tfs_float32_parse(const uint8_t *at, const uint8_t *end, uint32_t *bits)
{
    uint64_t found;
    const uint8_t *behind = parse(at, end, false, &found);

    if (behind != NULL)
        *bits = (uint32_t)found;
    return behind;
}

const uint8_t *tfs_float64_parse(const uint8_t *at, const uint8_t *end, uint64_t *bits)
{
    return parse(at, end, true, bits);
}
