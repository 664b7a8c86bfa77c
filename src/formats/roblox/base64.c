/*
 * Base64 text <-> bytes.
 *
 * Must not know XML. Padding is wanted; bits that it leaves over are ignored.
 */
#include "formats/roblox/base64.h"

#include <errno.h>

enum { INVALID = 64, BLANK = 65, PADDING = 66 };

static const char digits[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* What a character stands for: 0..63, or one of the above. */
static uint8_t value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint8_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint8_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (uint8_t)(c - '0' + 52);
    if (c == '+' || c == '/')
        return c == '+' ? 62 : 63;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        return BLANK;
    return c == '=' ? PADDING : INVALID;
}

/* Appends the bytes of a complete group. */
static void put_group(struct tfs_rbx_base64 *b, struct tfs_buf *out)
{
    const unsigned bytes = 3 - b->padding;
    uint8_t *room = tfs_buf_reserve(out, 3);

    if (room != NULL) {
        room[0] = (uint8_t)(b->bits >> 16);
        room[1] = (uint8_t)(b->bits >> 8);
        room[2] = (uint8_t)b->bits;
        out->size += bytes;
    }
    b->bits = 0;
    b->count = 0;
}

/* One character that is not blank; false: it does not belong there. */
static bool take_character(struct tfs_rbx_base64 *b, uint8_t value, struct tfs_buf *out)
{
    if (b->padding > 0 && (b->count == 0 || value != PADDING))
        return false; /* behind the end */
    if (value == INVALID || (value == PADDING && b->count < 2))
        return false;
    if (value == PADDING) {
        b->padding++;
        value = 0;
    }
    b->bits |= (uint32_t)value << (18 - 6 * b->count);
    if (++b->count == 4)
        put_group(b, out);
    return true;
}

/* Appends the groups of 4 digits that the text begins with; returns how many characters. */
static size_t take_groups(const uint8_t values[256], struct tfs_span text, struct tfs_buf *out)
{
    uint8_t *begin = tfs_buf_reserve(out, text.size / 4 * 3);
    uint8_t *to = begin;
    size_t i = 0;

    if (begin == NULL)
        return 0;
    for (; text.size - i >= 4; i += 4, to += 3) {
        const uint32_t a = values[text.data[i]];
        const uint32_t b = values[text.data[i + 1]];
        const uint32_t c = values[text.data[i + 2]];
        const uint32_t d = values[text.data[i + 3]];
        if ((a | b | c | d) > 63)
            break;
        const uint32_t bits = a << 18 | b << 12 | c << 6 | d;
        to[0] = (uint8_t)(bits >> 16);
        to[1] = (uint8_t)(bits >> 8);
        to[2] = (uint8_t)bits;
    }
    out->size += (size_t)(to - begin);
    return i;
}

int tfs_rbx_base64_add(struct tfs_rbx_base64 *b, struct tfs_span text, struct tfs_buf *out,
                       size_t *offset, struct tfs_error *err)
{
    uint8_t values[256];

    for (unsigned c = 0; c < 256; c++)
        values[c] = value_of((uint8_t)c);
    for (size_t i = 0; i < text.size; i++) {
        const struct tfs_span rest = {text.data + i, text.size - i};
        if (b->count == 0 && b->padding == 0)
            i += take_groups(values, rest, out);
        if (i == text.size)
            break;
        uint8_t value = values[text.data[i]];
        if (value == BLANK || take_character(b, value, out))
            continue;
        *offset = i;
        return tfs_fail(err, -EBADMSG, "not base64");
    }
    return tfs_buf_check(out, err);
}

int tfs_rbx_base64_end(const struct tfs_rbx_base64 *b, struct tfs_error *err)
{
    if (b->count == 0)
        return 0;
    return tfs_fail(err, -EBADMSG, "the base64 text is cut off");
}

size_t tfs_rbx_base64_size(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

/* Prints up to 3 bytes as 4 characters. */
static void print_group(uint8_t *out, const uint8_t *bytes, size_t count)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;

    if (count > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (count > 2)
        bits |= bytes[2];
    out[0] = (uint8_t)digits[bits >> 18];
    out[1] = (uint8_t)digits[bits >> 12 & 63];
    out[2] = count > 1 ? (uint8_t)digits[bits >> 6 & 63] : '=';
    out[3] = count > 2 ? (uint8_t)digits[bits & 63] : '=';
}

void tfs_rbx_base64_print(struct tfs_buf *out, struct tfs_span bytes)
{
    const size_t characters = tfs_rbx_base64_size(bytes.size);
    const size_t lines = characters / TFS_RBX_BASE64_LINE;
    uint8_t *begin = tfs_buf_reserve(out, characters + lines + 1);
    uint8_t *at = begin;

    if (begin == NULL)
        return;
    for (size_t i = 0; i < bytes.size; i += 3) {
        if (i > 0 && i / 3 * 4 % TFS_RBX_BASE64_LINE == 0)
            *at++ = '\n';
        print_group(at, bytes.data + i, bytes.size - i < 3 ? bytes.size - i : 3);
        at += 4;
    }
    out->size += (size_t)(at - begin);
}
