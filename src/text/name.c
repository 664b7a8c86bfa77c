/*
 * Names as bytes <-> names as printable text; and what UTF-8 is.
 *
 * Must not know which games have names, nor lines and places in a file.
 */
#include "text/name.h"

#include <errno.h>
#include <string.h>

/* Length of the well-formed UTF-8 character at `p`, 1 to 4, or 0. The ranges of the second byte
 * keep out overlong forms, surrogates and what is above U+10FFFF (Unicode 15, table 3-7). */
static size_t utf8_length(const uint8_t *p, size_t left)
{
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

    if (length <= 1)
        return length;
    if (p[0] > 0xf4 || left < length)
        return 0;
    uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

size_t tfs_utf8_prefix(struct tfs_span text)
{
    size_t at = 0;

    while (at < text.size) {
        /* Nearly all texts are ASCII: eight bytes a step. */
        uint64_t eight;
        if (text.size - at >= sizeof(eight)) {
            memcpy(&eight, text.data + at, sizeof(eight));
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof(eight);
                continue;
            }
        }
        size_t length = utf8_length(text.data + at, text.size - at);
        if (length == 0)
            break;
        at += length;
    }
    return at;
}

size_t tfs_utf8_mark(struct tfs_span text)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};

    return text.size >= sizeof(mark) && memcmp(text.data, mark, sizeof(mark)) == 0 ? sizeof(mark)
                                                                                   : 0;
}

/* One character of a name and how it is printed. */
struct character {
    size_t taken;
    size_t length;
    uint8_t bytes[4];
};

static struct character escape(uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";

    if (byte == '\\')
        return (struct character){1, 2, {'\\', '\\'}};
    if (byte == '\n')
        return (struct character){1, 2, {'\\', 'n'}};
    return (struct character){
        1, 4, {'\\', 'x', (uint8_t)digits[byte >> 4], (uint8_t)digits[byte & 15]}};
}

static bool stands_for_itself(struct tfs_span name, size_t at)
{
    uint8_t c = name.data[at];

    if (c == ' ')
        return at != 0 && at != name.size - 1;
    if (c == '#')
        return at != 0;
    return c > ' ' && c < 0x7f && c != '\\';
}

static struct character character_at(struct tfs_span name, size_t at)
{
    const uint8_t *p = name.data + at;

    if (stands_for_itself(name, at))
        return (struct character){1, 1, {*p}};
    size_t length = utf8_length(p, name.size - at);
    bool control = length == 2 && p[0] == 0xc2 && p[1] < 0xa0; /* U+0080 to U+009F */
    if (length < 2 || control || (at == 0 && tfs_utf8_mark(name) > 0))
        return escape(*p);
    struct character c = {length, length, {0}};
    memcpy(c.bytes, p, length);
    return c;
}

void tfs_name_print(struct tfs_buf *out, struct tfs_span name)
{
    for (size_t at = 0; at < name.size;) {
        struct character c = character_at(name, at);
        tfs_buf_add(out, c.bytes, c.length);
        at += c.taken;
    }
}

void tfs_name_print_file(struct tfs_buf *out, struct tfs_span name, size_t room)
{
    for (size_t at = 0; at < name.size;) {
        const struct character c = name.data[at] == '/' ? escape('/') : character_at(name, at);
        if (c.length > room)
            return;
        tfs_buf_add(out, c.bytes, c.length);
        room -= c.length;
        at += c.taken;
    }
}

size_t tfs_name_size(struct tfs_span name)
{
    size_t size = 0;

    for (size_t at = 0; at < name.size;) {
        struct character c = character_at(name, at);
        size += c.length;
        at += c.taken;
    }
    return size;
}

const char *tfs_name_quote(struct tfs_span name, char out[TFS_QUOTED])
{
    static const char more[] = "...";
    size_t size = 0;

    for (size_t at = 0; at < name.size;) {
        struct character c = character_at(name, at);
        if (size + c.length > TFS_QUOTED - sizeof(more)) {
            memcpy(out + size, more, sizeof(more));
            return out;
        }
        memcpy(out + size, c.bytes, c.length);
        size += c.length;
        at += c.taken;
    }
    out[size] = '\0';
    return out;
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* Does the character of two bytes or more at `p` drive a terminal, break the line, or turn the
 * direction of what follows (Unicode 15, Bidi_Control)? */
static bool is_steering(const uint8_t *p, size_t length)
{
    if (length == 2)
        return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c); /* C1; U+061C */
    if (length != 3 || p[0] != 0xe2)
        return false;
    return (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f)) || /* U+200E, U+200F */
           (p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||   /* U+2028 to U+202E */
           (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);     /* U+2066 to U+2069 */
}

static struct character sentence_character(struct tfs_span text, size_t at)
{
    const uint8_t *p = text.data + at;
    size_t length = utf8_length(p, text.size - at);
    bool shown = length == 1 ? *p >= ' ' && *p != 0x7f : length > 1 && !is_steering(p, length);
    struct character c = {length, length, {0}};

    if (!shown)
        return escape(*p);
    memcpy(c.bytes, p, length);
    return c;
}

char *tfs_sentence_print(const char *text, char *out, size_t size)
{
    const struct tfs_span span = tfs_span_of(text);
    size_t used = 0;

    for (size_t at = 0; at < span.size;) {
        struct character c = sentence_character(span, at);
        if (used + c.length >= size)
            break;
        memcpy(out + used, c.bytes, c.length);
        used += c.length;
        at += c.taken;
    }
    out[used] = '\0';
    return out;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the escape at text[at], a backslash. Returns its length, 0 when it is none. */
static size_t unescape(struct tfs_span text, size_t at, uint8_t *byte)
{
    const uint8_t *p = text.data + at;
    size_t left = text.size - at;

    if (left >= 2 && p[1] == '\\') {
        *byte = '\\';
        return 2;
    }
    if (left >= 2 && p[1] == 'n') {
        *byte = '\n';
        return 2;
    }
    if (left < 4 || p[1] != 'x' || hex_digit(p[2]) < 0 || hex_digit(p[3]) < 0)
        return 0;
    *byte = (uint8_t)(hex_digit(p[2]) << 4 | hex_digit(p[3]));
    return 4;
}

/* Up to the next escape, which most names have none of, all is taken at once. */
int tfs_name_parse(struct tfs_buf *out, struct tfs_span text, struct tfs_error *err)
{
    size_t before = out->size;

    for (size_t at = 0; at < text.size;) {
        const uint8_t *begin = text.data + at, *escape = memchr(begin, '\\', text.size - at);
        const size_t plain = escape == NULL ? text.size - at : (size_t)(escape - begin);
        uint8_t byte;
        tfs_buf_add(out, begin, plain);
        at += plain;
        if (escape == NULL)
            break;
        size_t length = unescape(text, at, &byte);
        if (length == 0) {
            char found[TFS_QUOTED];
            size_t left = text.size - at;
            struct tfs_span rest = {text.data + at + 1, left > 4 ? 3 : left - 1};
            tfs_buf_resize(out, before);
            return tfs_fail_at(err, -EBADMSG, 0, (uint32_t)(at + 1),
                               "unknown escape \\%s, the escapes are \\\\, \\n and \\xNN",
                               tfs_name_quote(rest, found));
        }
        tfs_buf_u8(out, byte);
        at += length;
    }
    return 0;
}
