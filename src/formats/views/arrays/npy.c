/*
 * `.npy` heads: see npy.h.
 */
#include "formats/views/arrays/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC      "\x93NUMPY"
#define MAGIC_SIZE 6

/* ---- printing -------------------------------------------------------------------------------- */

static void print_shape(const struct tfs_npy *npy, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 3 - npy->dimensions; i < 3; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, used == 0 ? "" : ", ",
                                 npy->shape[i]);
    if (npy->dimensions == 1)
        snprintf(text + used, size - used, ",");
}

/* "<u2", "|u1", ">f4". */
static void print_type(const struct tfs_npy *npy, char text[8])
{
    snprintf(text, 8, "%c%c%u",
             npy->width == 1 ? '|'
             : npy->big      ? '>'
                             : '<',
             npy->kind, npy->width & 15U);
}

void tfs_npy_print(const struct tfs_npy *npy, struct tfs_buf *out)
{
    char shape[70], type[8], head[TFS_NPY_HEAD + 1];
    const size_t front = MAGIC_SIZE + 4;

    print_shape(npy, shape, sizeof(shape));
    print_type(npy, type);
    memset(head, ' ', TFS_NPY_HEAD);
    memcpy(head, MAGIC "\x01\x00", MAGIC_SIZE + 2);
    head[MAGIC_SIZE + 2] = TFS_NPY_HEAD - (char)front;
    head[MAGIC_SIZE + 3] = 0;
    int n = snprintf(head + front, sizeof(head) - front,
                     "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", type,
                     npy->fortran ? "True" : "False", shape);
    head[front + (size_t)n] = ' ';
    head[TFS_NPY_HEAD - 1] = '\n';
    tfs_buf_add(out, head, TFS_NPY_HEAD);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A place in the text of the head. */
struct place {
    const char *at, *end;
};

static void skip_blanks(struct place *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t'))
        p->at++;
}

static bool take(struct place *p, char c)
{
    skip_blanks(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* A word in quotes. */
static bool take_word(struct place *p, struct tfs_span *word)
{
    skip_blanks(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
        return false;
    const char quote = *p->at++;
    const char *begin = p->at;
    while (p->at < p->end && *p->at != quote)
        p->at++;
    if (p->at == p->end)
        return false;
    *word = (struct tfs_span){(const uint8_t *)begin, (size_t)(p->at++ - begin)};
    return true;
}

static bool take_number(struct place *p, uint64_t *number)
{
    uint64_t n = 0;

    skip_blanks(p);
    const char *begin = p->at;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p->at - '0'), &n))
            return false;
    *number = n;
    return p->at > begin;
}

static bool take_truth(struct place *p, bool *truth)
{
    skip_blanks(p);
    const size_t left = (size_t)(p->end - p->at);
    *truth = left >= 4 && memcmp(p->at, "True", 4) == 0;
    if (!*truth && (left < 5 || memcmp(p->at, "False", 5) != 0))
        return false;
    p->at += *truth ? 4 : 5;
    return true;
}

static bool take_shape(struct place *p, struct tfs_npy *npy)
{
    uint64_t sides[3];

    npy->dimensions = 0;
    if (!take(p, '('))
        return false;
    while (!take(p, ')')) {
        if (npy->dimensions == 3 || !take_number(p, &sides[npy->dimensions]))
            return false;
        npy->dimensions++;
        (void)take(p, ',');
    }
    for (unsigned i = 0; i < 3; i++)
        npy->shape[i] = i < 3 - npy->dimensions ? 1 : sides[i - (3 - npy->dimensions)];
    return true;
}

static bool take_type(struct tfs_span word, struct tfs_npy *npy)
{
    if (word.size != 3 || strchr("<>|=", word.data[0]) == NULL ||
        strchr("uifb", word.data[1]) == NULL || strchr("1248", word.data[2]) == NULL)
        return false;
    npy->big = word.data[0] == '>';
    npy->kind = (char)word.data[1];
    npy->width = (unsigned)(word.data[2] - '0');
    return true;
}

enum { HAS_TYPE = 1, HAS_ORDER = 2, HAS_SHAPE = 4, HAS_ALL = 7 };

/* One `'key': value`. */
static bool take_item(struct place *p, struct tfs_npy *npy, unsigned *has)
{
    struct tfs_span key, word;

    if (!take_word(p, &key) || !take(p, ':'))
        return false;
    if (tfs_span_equal(key, tfs_span_of("descr"))) {
        *has |= HAS_TYPE;
        return take_word(p, &word) && take_type(word, npy);
    }
    if (tfs_span_equal(key, tfs_span_of("fortran_order"))) {
        *has |= HAS_ORDER;
        return take_truth(p, &npy->fortran);
    }
    *has |= HAS_SHAPE;
    return tfs_span_equal(key, tfs_span_of("shape")) && take_shape(p, npy);
}

static bool take_dictionary(struct place *p, struct tfs_npy *npy)
{
    unsigned has = 0;

    if (!take(p, '{'))
        return false;
    while (!take(p, '}')) {
        if (!take_item(p, npy, &has))
            return false;
        (void)take(p, ',');
    }
    return has == HAS_ALL;
}

/* Where the text of the head lies. */
static bool find_head(struct tfs_span file, struct place *p)
{
    if (file.size < MAGIC_SIZE + 6 || memcmp(file.data, MAGIC, MAGIC_SIZE) != 0)
        return false;
    const uint8_t *size = file.data + MAGIC_SIZE + 2;
    const bool wide = file.data[MAGIC_SIZE] > 1;
    uint64_t length = size[0] | (uint64_t)size[1] << 8;
    const size_t front = MAGIC_SIZE + (wide ? 6 : 4);
    if (wide)
        length |= (uint64_t)size[2] << 16 | (uint64_t)size[3] << 24;
    if (file.data[MAGIC_SIZE] < 1 || file.data[MAGIC_SIZE] > 3 || length > file.size - front)
        return false;
    *p = (struct place){(const char *)file.data + front, (const char *)file.data + front + length};
    return true;
}

/* "it has to be <u2 of shape (2, 3, 4)". */
static void print_expected(const struct tfs_npy *expected, char text[120])
{
    char shape[70], type[8];

    print_shape(expected, shape, sizeof(shape));
    print_type(expected, type);
    snprintf(text, 120, "it has to be %s of shape (%s)", type, shape);
}

static int fail_head(const struct tfs_npy *expected, struct tfs_error *err, const char *why)
{
    char wanted[120] = "";

    if (expected != NULL)
        print_expected(expected, wanted);
    return tfs_fail(err, -EBADMSG, "%s%s%s", why, expected != NULL ? "; " : "", wanted);
}

/* *left is what is behind the head, *size what the shape says of it. */
static int take_head(struct tfs_span file, const struct tfs_npy *expected, struct tfs_npy *npy,
                     struct tfs_span *left, uint64_t *size, struct tfs_error *err)
{
    struct place p;

    if (!find_head(file, &p))
        return fail_head(expected, err, "this is no .npy file");
    const uint8_t *end = (const uint8_t *)p.end;
    if (!take_dictionary(&p, npy))
        return fail_head(expected, err,
                         "the head of the .npy file is not one of at most three dimensions of "
                         "plain numbers");
    *left = (struct tfs_span){end, file.size - (size_t)(end - file.data)};
    if (__builtin_mul_overflow(npy->shape[0], npy->shape[1], size) ||
        __builtin_mul_overflow(*size, npy->shape[2], size) ||
        __builtin_mul_overflow(*size, (uint64_t)npy->width, size))
        *size = UINT64_MAX;
    return 0;
}

static int expect(const struct tfs_npy *npy, const struct tfs_npy *expected, struct tfs_error *err)
{
    char got[70], wanted[120], type[8];

    const bool same_kind = expected->kind == 'f' ? npy->kind == 'f' && npy->width == expected->width
                                                 : npy->kind == 'u' || npy->kind == 'i';
    if (memcmp(npy->shape, expected->shape, sizeof(npy->shape)) == 0 &&
        npy->dimensions == expected->dimensions && same_kind)
        return 0;
    print_shape(npy, got, sizeof(got));
    print_type(npy, type);
    print_expected(expected, wanted);
    return tfs_fail(err, -EBADMSG, "the array is %s of shape (%s), %s", type, got, wanted);
}

int tfs_npy_take(struct tfs_span file, const struct tfs_npy *expected, struct tfs_npy *npy,
                 struct tfs_span *values, struct tfs_error *err)
{
    struct tfs_npy n = {0};
    struct tfs_span left;
    uint64_t size;

    if (take_head(file, expected, &n, &left, &size, err) < 0 ||
        (expected != NULL && expect(&n, expected, err) < 0))
        return err->code;
    if (size != left.size)
        return tfs_fail(err, -EBADMSG,
                        "the .npy file has %zu bytes of values, its shape has others", left.size);
    *npy = n;
    *values = left;
    return 0;
}

size_t tfs_npy_measure(struct tfs_span file)
{
    struct tfs_error ignored = {0};
    struct tfs_npy npy = {0};
    struct tfs_span left;
    uint64_t values;

    if (take_head(file, NULL, &npy, &left, &values, &ignored) < 0 || values > left.size)
        return file.size;
    return file.size - left.size + (size_t)values;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Where the value lies. */
static const uint8_t *find_value(const struct tfs_npy *npy, struct tfs_span values, uint64_t y,
                                 uint64_t z, uint64_t x)
{
    const uint64_t *shape = npy->shape;
    const uint64_t index =
        npy->fortran ? (x * shape[1] + z) * shape[0] + y : (y * shape[1] + z) * shape[2] + x;

    return values.data + index * npy->width;
}

uint64_t tfs_npy_value(const struct tfs_npy *npy, struct tfs_span values, uint64_t y, uint64_t z,
                       uint64_t x)
{
    const uint8_t *at = find_value(npy, values, y, z, x);
    const unsigned above = 64 - 8 * npy->width;
    uint64_t value = 0;

    for (unsigned i = 0; i < npy->width; i++)
        value = value << 8 | at[npy->big ? i : npy->width - 1 - i];
    if (npy->kind == 'i')
        return (uint64_t)((int64_t)(value << above) >> above);
    return value;
}

/* Can a value of `npy` be one of `as`? */
static bool fits(const struct tfs_npy *npy, const struct tfs_npy *as, uint64_t value)
{
    const unsigned bits = 8 * as->width;

    if (as->kind == 'f')
        return true;
    if (npy->kind == 'i' && (int64_t)value < 0)
        return as->kind == 'i' && (int64_t)value >> (bits - 1) == -1;
    return value >> (bits - 1) >> (as->kind == 'i' ? 0 : 1) == 0;
}

bool tfs_npy_alike(const struct tfs_npy *a, const struct tfs_npy *b)
{
    return a->kind == b->kind && a->width == b->width && a->fortran == b->fortran &&
           (a->big == b->big || a->width == 1);
}

bool tfs_npy_row(const struct tfs_npy *npy, struct tfs_span values, const struct tfs_npy *as,
                 const uint64_t at[3], uint32_t count, uint8_t *out, uint64_t *bad)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = tfs_npy_value(npy, values, at[0], at[1], at[2] + i);
        if (!fits(npy, as, value)) {
            *bad = at[2] + i;
            return false;
        }
        for (unsigned b = 0; b < as->width; b++, value >>= 8)
            *out++ = (uint8_t)value;
    }
    return true;
}
