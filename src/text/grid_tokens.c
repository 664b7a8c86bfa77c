/*
 * Words of a row -> values: what a number looks like, and what is wrong with one that is none.
 *
 * Must not know rows, labels or fill lines.
 */
#include <string.h>

#include "text/float.h"
#include "text/grid_tokens.h"
#include "text/name.h"

/* Each scan reads one value from `at` on, where a word begins. It returns what is behind the word,
 * NULL when that is not a value that is allowed. */

static inline const uint8_t *scan_up_to(uint32_t high, const uint8_t *at, const uint8_t *end,
                                        uint32_t *value)
{
    const uint8_t *begin = at;
    uint64_t v = 0;

    for (; at < end; at++) {
        uint8_t digit = (uint8_t)(*at - '0');
        if (digit > 9)
            break;
        v = v * 10 + digit;
        if (v > high)
            return NULL;
    }
    *value = (uint32_t)v;
    return at == begin || (at < end && !tfs_is_blank(*at)) ? NULL : at;
}

static inline const uint8_t *scan_decimal(const struct tfs_grid_rules *rules, const uint8_t *at,
                                          const uint8_t *end, void *value)
{
    return scan_up_to((uint32_t)rules->high, at, end, value);
}

static inline const uint8_t *scan_signed(const struct tfs_grid_rules *rules, const uint8_t *at,
                                         const uint8_t *end, void *value)
{
    bool negative = at < end && *at == '-';
    uint32_t *v = value;

    at = scan_up_to((uint32_t)rules->high + negative, at + negative, end, v);
    if (negative)
        *v = 0 - *v;
    return at;
}

static inline const uint8_t *scan_decimal64(const struct tfs_grid_rules *rules, const uint8_t *at,
                                            const uint8_t *end, void *value)
{
    const uint8_t *begin = at;
    uint64_t v = 0;

    for (; at < end; at++) {
        uint8_t digit = (uint8_t)(*at - '0');
        if (digit > 9)
            break;
        if (v > (UINT64_MAX - digit) / 10)
            return NULL;
        v = v * 10 + digit;
    }
    *(uint64_t *)value = v;
    return v > rules->high || at == begin || (at < end && !tfs_is_blank(*at)) ? NULL : at;
}

/* Value of a hex digit, 16 and more for what is none. */
static inline unsigned hex_digit(uint8_t c)
{
    static const uint8_t above[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    };

    return above[c] - 1U;
}

static inline const uint8_t *scan_hex(const struct tfs_grid_rules *rules, const uint8_t *at,
                                      const uint8_t *end, void *value)
{
    const uint32_t width = rules->shape.width;
    uint32_t v = 0, all = 0;

    if ((size_t)(end - at) < width)
        return NULL;
    for (uint32_t i = 0; i < width; i++) {
        const unsigned digit = hex_digit(*at++);
        all |= digit;
        v = v << 4 | digit;
    }
    *(uint32_t *)value = v;
    return all > 15 || v > rules->high || (at < end && !tfs_is_blank(*at)) ? NULL : at;
}

static inline const uint8_t *scan_float(const struct tfs_grid_rules *rules, const uint8_t *at,
                                        const uint8_t *end, void *value)
{
    (void)rules;
    return tfs_float32_parse(at, end, value);
}

static inline const uint8_t *scan_float64(const struct tfs_grid_rules *rules, const uint8_t *at,
                                          const uint8_t *end, void *value)
{
    (void)rules;
    return tfs_float64_parse(at, end, value);
}

static inline const uint8_t *skip_blanks(const uint8_t *at, const uint8_t *end)
{
    while (at < end && tfs_is_blank(*at))
        at++;
    return at;
}

typedef const uint8_t *(*scan_fn)(const struct tfs_grid_rules *rules, const uint8_t *at,
                                  const uint8_t *end, void *value);

/* Inlined with the scan into each of its callers: with one loop for all of them, which is told the
 * scan, the rows `parse 4096 values` of `make bench` take up to a fifth longer. */
static inline __attribute__((always_inline)) uint32_t read_values(
    const struct tfs_grid_tokens *tokens, struct tfs_span text, size_t first, uint32_t count,
    size_t *at, scan_fn scan, size_t size)
{
    const struct tfs_grid_rules *rules = tokens->rules;
    const uint8_t *end = text.data + text.size;
    const uint8_t *p = text.data;
    uint8_t *value = (uint8_t *)tokens->values + first * size;
    uint32_t i = 0;

    for (; i < count; i++, value += size) {
        const uint8_t *word = scan(rules, skip_blanks(p, end), end, value);
        if (word == NULL)
            break;
        p = word;
    }
    *at = (size_t)(p - text.data);
    return i;
}

static uint32_t read_decimal(const struct tfs_grid_tokens *tokens, struct tfs_span text,
                             size_t first, uint32_t count, size_t *at)
{
    return read_values(tokens, text, first, count, at, scan_decimal, sizeof(uint32_t));
}

/* Digits with a blank after each, as blocks.txt has them where there are up to ten blocks (the
 * bench row "parse 4096 values, decimal 1"). The last one and whatever is something else are read
 * as everywhere. */
static uint32_t read_digits(const struct tfs_grid_tokens *tokens, struct tfs_span text,
                            size_t first, uint32_t count, size_t *at)
{
    const uint8_t *p = text.data;
    uint32_t *values = (uint32_t *)tokens->values + first;
    uint32_t i = 0;

    for (; i + 1 < count && text.size - i * 2 > 1 && p[1] == ' '; i++, p += 2) {
        values[i] = (uint8_t)(p[0] - '0');
        if (values[i] > 9 || values[i] > tokens->rules->high)
            break;
    }
    const size_t done = i * 2;
    i += read_decimal(tokens, (struct tfs_span){p, text.size - done}, first + i, count - i, at);
    *at += done;
    return i;
}

static uint32_t read_signed(const struct tfs_grid_tokens *tokens, struct tfs_span text,
                            size_t first, uint32_t count, size_t *at)
{
    return read_values(tokens, text, first, count, at, scan_signed, sizeof(uint32_t));
}

static uint32_t read_decimal64(const struct tfs_grid_tokens *tokens, struct tfs_span text,
                               size_t first, uint32_t count, size_t *at)
{
    return read_values(tokens, text, first, count, at, scan_decimal64, sizeof(uint64_t));
}

static uint32_t read_float(const struct tfs_grid_tokens *tokens, struct tfs_span text, size_t first,
                           uint32_t count, size_t *at)
{
    return read_values(tokens, text, first, count, at, scan_float, sizeof(uint32_t));
}

static uint32_t read_float64(const struct tfs_grid_tokens *tokens, struct tfs_span text,
                             size_t first, uint32_t count, size_t *at)
{
    return read_values(tokens, text, first, count, at, scan_float64, sizeof(uint64_t));
}

static uint32_t read_hex(const struct tfs_grid_tokens *tokens, struct tfs_span text, size_t first,
                         uint32_t count, size_t *at)
{
    return read_values(tokens, text, first, count, at, scan_hex, sizeof(uint32_t));
}

/* Of tables, where each word stands alone: the bench row "read voxels.csv". */
bool tfs_grid_take_word(const struct tfs_grid_rules *rules, struct tfs_span word, bool wide,
                        void *value)
{
    const uint8_t *end = word.data + word.size, *at = skip_blanks(word.data, end);

    switch (rules->shape.base) {
    case TFS_GRID_DECIMAL:
        return (wide ? scan_decimal64 : scan_decimal)(rules, at, end, value) == end;
    case TFS_GRID_HEX:
        return scan_hex(rules, at, end, value) == end;
    case TFS_GRID_SIGNED:
        return scan_signed(rules, at, end, value) == end;
    case TFS_GRID_FLOAT:
        break;
    }
    return (wide ? scan_float64 : scan_float)(rules, at, end, value) == end;
}

/* ---- what is wrong ---- */

static int refuse_out_of_range(const struct tfs_grid_tokens *tokens, const struct tfs_line *word,
                               struct tfs_error *err)
{
    char found[TFS_QUOTED];

    return tfs_fail_line(err, word, "value %s is out of range, %s",
                         tfs_name_quote(word->text, found), tokens->rules->out_of_range);
}

static int refuse_decimal(const struct tfs_grid_tokens *tokens, const struct tfs_line *word,
                          struct tfs_error *err)
{
    char found[TFS_QUOTED];
    size_t sign = word->text.data[0] == '-' && word->text.size > 1;

    for (size_t i = sign; i < word->text.size; i++) {
        if ((uint8_t)(word->text.data[i] - '0') > 9)
            return tfs_fail_line(err, word, "the value %s is not a number",
                                 tfs_name_quote(word->text, found));
    }
    return refuse_out_of_range(tokens, word, err);
}

static int refuse_float(const struct tfs_grid_tokens *tokens, const struct tfs_line *word,
                        struct tfs_error *err)
{
    char found[TFS_QUOTED];

    (void)tokens;
    return tfs_fail_line(err, word, "the value %s is not a number that fits",
                         tfs_name_quote(word->text, found));
}

static int refuse_hex(const struct tfs_grid_tokens *tokens, const struct tfs_line *word,
                      struct tfs_error *err)
{
    char found[TFS_QUOTED];
    uint32_t width = tokens->rules->shape.width;

    for (size_t i = 0; i < word->text.size; i++) {
        if (word->text.size != width || hex_digit(word->text.data[i]) > 15)
            return tfs_fail_line(err, word, "the value %s is not %u hex digit%s",
                                 tfs_name_quote(word->text, found), width, width == 1 ? "" : "s");
    }
    return refuse_out_of_range(tokens, word, err);
}

struct tfs_grid_tokens tfs_grid_tokens(const struct tfs_grid_rules *rules, void *values, bool wide)
{
    struct tfs_grid_tokens tokens = {.rules = rules, .values = values, .wide = wide};

    switch (rules->shape.base) {
    case TFS_GRID_DECIMAL:
        tokens.read = wide ? read_decimal64 : rules->shape.width == 1 ? read_digits : read_decimal;
        tokens.refuse = refuse_decimal;
        break;
    case TFS_GRID_HEX:
        tokens.read = read_hex;
        tokens.refuse = refuse_hex;
        break;
    case TFS_GRID_SIGNED:
        tokens.read = read_signed;
        tokens.refuse = refuse_decimal;
        break;
    case TFS_GRID_FLOAT:
        tokens.read = wide ? read_float64 : read_float;
        tokens.refuse = refuse_float;
        break;
    }
    return tokens;
}
