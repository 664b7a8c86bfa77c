/*
 * JSON text -> where a list of strings lies in it, and its strings; the members of an object.
 *
 * Must not know what the text is about. A library would build a tree, and say nothing of where the
 * list lies or how it is spelt; here every other byte must stay. Nothing is allocated while
 * scanning.
 */
#include "formats/beamng/json.h"

#include <errno.h>
#include <string.h>

#include "text/float.h"
#include "text/name.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* ---- scanning -------------------------------------------------------------------------------- */

/* Takes the next byte if it is `c`. */
static bool take(struct tfs_cursor *in, uint8_t c)
{
    if (tfs_cursor_left(in) == 0 || *in->at != c)
        return false;
    (void)tfs_take(in, 1);
    return true;
}

static bool take_one_of(struct tfs_cursor *in, const char *set)
{
    return tfs_cursor_left(in) > 0 && *in->at != 0 && strchr(set, *in->at) != NULL &&
           take(in, *in->at);
}

static struct tfs_span take_space(struct tfs_cursor *in)
{
    const uint8_t *begin = in->at;

    while (take_one_of(in, " \t\r\n"))
        ;
    return (struct tfs_span){begin, (size_t)(in->at - begin)};
}

static size_t take_digits(struct tfs_cursor *in)
{
    size_t count = 0;

    while (take_one_of(in, "0123456789"))
        count++;
    return count;
}

static bool skip_word(struct tfs_cursor *in, const char *word)
{
    return tfs_span_equal(tfs_take(in, strlen(word)), tfs_span_of(word));
}

static bool skip_number(struct tfs_cursor *in)
{
    (void)take(in, '-');
    if (!take(in, '0') && take_digits(in) == 0)
        return false;
    if (take(in, '.') && take_digits(in) == 0)
        return false;
    if (take_one_of(in, "eE")) {
        (void)take_one_of(in, "+-");
        return take_digits(in) > 0;
    }
    return true;
}

/* A string, with *text between its quotes. */
static bool take_string(struct tfs_cursor *in, struct tfs_span *text)
{
    if (!take(in, '"'))
        return false;
    const uint8_t *begin = in->at;
    for (;;) {
        const uint8_t *end = in->at;
        uint8_t c = tfs_take_u8(in);
        if (in->failed || c < 0x20)
            return false;
        if (c == '"') {
            *text = (struct tfs_span){begin, (size_t)(end - begin)};
            return true;
        }
        if (c != '\\')
            continue;
        if (take_one_of(in, "\"\\/bfnrt"))
            continue;
        if (!take(in, 'u'))
            return false;
        for (int i = 0; i < 4; i++)
            if (!take_one_of(in, "0123456789abcdefABCDEF"))
                return false;
    }
}

static bool skip_value(struct tfs_cursor *in, unsigned depth);

/* The members of an object or the elements of an array, up to the closing bracket. */
static bool skip_members(struct tfs_cursor *in, bool object, unsigned depth)
{
    uint8_t end = object ? '}' : ']';
    struct tfs_span key;

    take_space(in);
    if (take(in, end))
        return true;
    do {
        take_space(in);
        if (object) {
            if (!take_string(in, &key))
                return false;
            take_space(in);
            if (!take(in, ':'))
                return false;
            take_space(in);
        }
        if (!skip_value(in, depth))
            return false;
        take_space(in);
    } while (take(in, ','));
    return take(in, end);
}

static bool skip_value(struct tfs_cursor *in, unsigned depth)
{
    struct tfs_span text;

    if (tfs_cursor_left(in) == 0)
        return false;
    switch (*in->at) {
    case '{':
    case '[':
        return depth < TFS_BEAMNG_JSON_NESTING &&
               skip_members(in, tfs_take_u8(in) == '{', depth + 1);
    case '"':
        return take_string(in, &text);
    case 't':
        return skip_word(in, "true");
    case 'f':
        return skip_word(in, "false");
    case 'n':
        return skip_word(in, "null");
    default:
        return skip_number(in);
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

/* What was found of a member. */
struct member {
    struct tfs_span value;
    unsigned count;
    bool no_memory;
};

static bool is_key(struct tfs_span text, const char *key, bool *no_memory)
{
    struct tfs_buf decoded = {0};

    tfs_beamng_json_decode(&decoded, text);
    bool same = tfs_span_equal(tfs_buf_span(&decoded), tfs_span_of(key));
    *no_memory = *no_memory || decoded.failed;
    tfs_buf_release(&decoded);
    return same;
}

/* The members of the outermost object. */
static bool find_member(struct tfs_cursor *in, const char *key, struct member *found)
{
    struct tfs_span name;

    take_space(in);
    if (take(in, '}'))
        return true;
    do {
        take_space(in);
        if (!take_string(in, &name))
            return false;
        take_space(in);
        if (!take(in, ':'))
            return false;
        take_space(in);
        const uint8_t *begin = in->at;
        if (!skip_value(in, 1))
            return false;
        if (is_key(name, key, &found->no_memory)) {
            found->value = (struct tfs_span){begin, (size_t)(in->at - begin)};
            found->count++;
        }
        take_space(in);
    } while (take(in, ','));
    return take(in, '}');
}

/* The member of an object that is all of the text: 1, 0 (it is no such object, then *object is
 * false, or has no such member) or -ENOMEM. */
static int find_in(struct tfs_span text, const char *key, struct member *found, bool *object)
{
    struct tfs_cursor in = tfs_cursor_init(text);

    *found = (struct member){0};
    take_space(&in);
    *object = take(&in, '{') && find_member(&in, key, found);
    take_space(&in);
    *object = *object && tfs_cursor_left(&in) == 0;
    if (found->no_memory)
        return -ENOMEM;
    return *object && found->count > 0;
}

int tfs_beamng_json_find(struct tfs_span text, const char *key, struct tfs_span *value)
{
    struct member found;
    bool object;
    int there = find_in(text, key, &found, &object);

    if (there > 0)
        *value = found.value;
    return there < 0 || object ? there : -EBADMSG;
}

int tfs_beamng_json_find_strings(struct tfs_span text, const char *key, struct tfs_span *array)
{
    struct member found;
    bool object;
    int there = find_in(text, key, &found, &object);

    if (there <= 0)
        return there;
    if (found.count != 1 || found.value.data[0] != '[')
        return 0;

    struct tfs_beamng_json_strings strings = tfs_beamng_json_strings_init(found.value);
    while (tfs_beamng_json_strings_next(&strings))
        ;
    if (strings.in.failed)
        return 0;
    *array = found.value;
    return 1;
}

struct tfs_beamng_json_strings tfs_beamng_json_strings_init(struct tfs_span array)
{
    struct tfs_beamng_json_strings strings = {.in = tfs_cursor_init(array)};

    (void)take(&strings.in, '[');
    return strings;
}

/* An array that is not of strings ends with in.failed. */
bool tfs_beamng_json_strings_next(struct tfs_beamng_json_strings *strings)
{
    struct tfs_cursor *in = &strings->in;

    if (strings->text.data != NULL) {
        strings->before = take_space(in);
        if (take(in, ']'))
            return false;
        if (!take(in, ','))
            in->failed = true;
    }
    strings->before = take_space(in);
    if (strings->text.data == NULL && take(in, ']'))
        return false;
    if (!in->failed && take_string(in, &strings->text))
        return true;
    in->failed = true;
    return false;
}

/* ---- numbers and texts ----------------------------------------------------------------------- */

static bool is_string(struct tfs_span value)
{
    return value.size >= 2 && value.data[0] == '"';
}

static struct tfs_span within(struct tfs_span value)
{
    return (struct tfs_span){value.data + 1, value.size - 2};
}

/* The bytes between, and blanks or commas behind a number. */
static bool take_between(struct tfs_cursor *in)
{
    return take_one_of(in, ", \t\r\n");
}

bool tfs_beamng_json_numbers(struct tfs_span value, double *numbers, size_t count)
{
    const bool list = value.size >= 2 && value.data[0] == '[';
    struct tfs_cursor in = tfs_cursor_init(is_string(value) || list ? within(value) : value);
    uint64_t bits;

    for (size_t i = 0; i < count; i++) {
        while (take_between(&in))
            ;
        const uint8_t *begin = in.at;
        if (!skip_number(&in) || tfs_float64_parse(begin, in.at, &bits) != in.at)
            return false;
        memcpy(&numbers[i], &bits, sizeof(bits));
    }
    while (take_between(&in))
        ;
    return tfs_cursor_left(&in) == 0;
}

int tfs_beamng_json_text(struct tfs_span value, char **text)
{
    struct tfs_buf out = {0};

    *text = NULL;
    if (!is_string(value))
        return 0;
    tfs_beamng_json_decode(&out, within(value));
    tfs_buf_u8(&out, 0);
    const bool whole = !out.failed && strlen((const char *)out.data) + 1 == out.size;
    bool failed = out.failed;
    if (whole) {
        *text = strdup((const char *)out.data);
        failed = *text == NULL;
    }
    tfs_buf_release(&out);
    return failed ? -ENOMEM : whole;
}

/* ---- strings --------------------------------------------------------------------------------- */

static void add_utf8(struct tfs_buf *out, uint32_t c)
{
    if (c < 0x80) {
        tfs_buf_u8(out, (uint8_t)c);
        return;
    }
    if (c < 0x800) {
        tfs_buf_u8(out, (uint8_t)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            tfs_buf_u8(out, (uint8_t)(0xe0 | c >> 12));
        } else {
            tfs_buf_u8(out, (uint8_t)(0xf0 | c >> 18));
            tfs_buf_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        }
        tfs_buf_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    }
    tfs_buf_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
}

/* The four hex digits of a sound escape. */
static uint32_t take_hex(struct tfs_cursor *in)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        uint8_t c = tfs_take_u8(in);
        value = value << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static void decode_unicode(struct tfs_buf *out, struct tfs_cursor *in)
{
    uint32_t c = take_hex(in);
    struct tfs_cursor behind = *in;

    if (c >= 0xd800 && c < 0xdc00 && take(&behind, '\\') && take(&behind, 'u')) {
        uint32_t low = take_hex(&behind);
        if (low >= 0xdc00 && low < 0xe000) {
            *in = behind;
            add_utf8(out, 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00)));
            return;
        }
    }
    if (c >= 0xd800 && c < 0xe000)
        tfs_buf_add_text(out, REPLACEMENT);
    else
        add_utf8(out, c);
}

/* Letters of short escapes, and the bytes they stand for, in the same order. */
static const char letters[] = "\"\\/bfnrt";
static const char meanings[] = "\"\\/\b\f\n\r\t";

void tfs_beamng_json_decode(struct tfs_buf *out, struct tfs_span text)
{
    struct tfs_cursor in = tfs_cursor_init(text);

    while (tfs_cursor_left(&in) > 0) {
        uint8_t c = tfs_take_u8(&in);
        if (c != '\\') {
            tfs_buf_u8(out, c);
            continue;
        }
        c = tfs_take_u8(&in);
        const char *letter = c == 0 ? NULL : strchr(letters, c);
        if (letter == NULL)
            decode_unicode(out, &in);
        else
            tfs_buf_u8(out, (uint8_t)meanings[letter - letters]);
    }
}

static void print_byte(struct tfs_buf *out, uint8_t c)
{
    const char *meaning = c == 0 || c == '/' ? NULL : strchr(meanings, c);

    if (meaning != NULL) {
        tfs_buf_u8(out, '\\');
        tfs_buf_u8(out, (uint8_t)letters[meaning - meanings]);
    } else if (c < 0x20) {
        tfs_buf_printf(out, "\\u%04x", c);
    } else {
        tfs_buf_u8(out, c);
    }
}

void tfs_beamng_json_print(struct tfs_buf *out, struct tfs_span bytes)
{
    struct tfs_cursor in = tfs_cursor_init(bytes);

    tfs_buf_u8(out, '"');
    while (tfs_cursor_left(&in) > 0) {
        struct tfs_span rest = {in.at, tfs_cursor_left(&in)};
        struct tfs_span sound = tfs_take(&in, tfs_utf8_prefix(rest));
        for (size_t i = 0; i < sound.size; i++)
            print_byte(out, sound.data[i]);
        if (sound.size < rest.size) {
            tfs_buf_add_text(out, REPLACEMENT);
            (void)tfs_take(&in, 1);
        }
    }
    tfs_buf_u8(out, '"');
}
