/*
 * Base64 text <-> bytes.
 *
 * Must not know XML. Padding is wanted; bits that it leaves over are ignored.
 */
#include "formats/roblox/base64.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LINE_GROUPS (TFS_RBX_BASE64_LINE / 4)
#define LINE_BYTES  (LINE_GROUPS * 3)

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

#define NO_DIGIT (1u << 12)

/* The value of a character, and the 12 bits of two digits, looked up by the two bytes in memory. A
 * character that is no digit has a bit above them. Made once. */
static struct values {
    uint8_t value[256];
    uint16_t pairs[65536];
} values;

static void values_init(void)
{
    for (unsigned c = 0; c < 256; c++)
        values.value[c] = value_of((uint8_t)c);
    for (unsigned i = 0; i < 65536; i++) {
        const uint8_t first = values.value[i & 255], second = values.value[i >> 8];
        values.pairs[i] = first > 63 || second > 63 ? NO_DIGIT : (uint16_t)(first << 6 | second);
    }
}

static const struct values *values_made(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, values_init);
    return &values;
}

static uint32_t pair_of(const struct values *v, const uint8_t *text)
{
    return v->pairs[text[0] | (unsigned)text[1] << 8];
}

/* `groups` groups of 4 digits; false: they are not that, and nothing of `out` counts. Writes a byte
 * behind each group. */
static bool take_line(const struct values *v, const uint8_t *text, unsigned groups, uint8_t *out)
{
    uint32_t odd = 0;

    for (; groups > 0; groups--, text += 4, out += 3) {
        const uint32_t high = pair_of(v, text), low = pair_of(v, text + 2);
        const uint32_t bits = htobe32(high << 20 | low << 8);
        odd |= high | low;
        memcpy(out, &bits, 4);
    }
    return (odd & NO_DIGIT) == 0;
}

/* Appends the groups of 4 digits that the text begins with, and passes over line ends between them;
 * returns how many characters. */
static size_t take_groups(const struct values *v, struct tfs_span text, struct tfs_buf *out)
{
    uint8_t *begin = tfs_buf_reserve(out, text.size / 4 * 3 + 1);
    uint8_t *to = begin;
    size_t i = 0;

    if (begin == NULL)
        return 0;
    while (text.size - i >= 4) {
        const uint8_t *at = text.data + i;
        if (at[0] == '\n') {
            i++;
        } else if (text.size - i >= TFS_RBX_BASE64_LINE && take_line(v, at, LINE_GROUPS, to)) {
            to += LINE_BYTES;
            i += TFS_RBX_BASE64_LINE;
        } else if (take_line(v, at, 1, to)) {
            to += 3;
            i += 4;
        } else {
            break;
        }
    }
    out->size += (size_t)(to - begin);
    return i;
}

int tfs_rbx_base64_add(struct tfs_rbx_base64 *b, struct tfs_span text, struct tfs_buf *out,
                       size_t *offset, struct tfs_error *err)
{
    const struct values *v = values_made();

    for (size_t i = 0; i < text.size; i++) {
        const struct tfs_span rest = {text.data + i, text.size - i};
        if (b->count == 0 && b->padding == 0)
            i += take_groups(v, rest, out);
        if (i == text.size)
            break;
        uint8_t value = v->value[text.data[i]];
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

/* ---- writing --------------------------------------------------------------------------------- */

#define TEXT_SIZE 65536 /* bytes of text that go to the sink at once */

/* Bytes on their way to lines. */
struct writer {
    struct tfs_sink *sink;
    uint8_t line[LINE_BYTES]; /* the beginning of the next one */
    size_t held;
    bool any; /* a line was written */
    size_t size;
    char pairs[4096][2]; /* two digits by 12 bits */
    uint8_t text[TEXT_SIZE];
};

static inline void put_group_of(const struct writer *w, const uint8_t *bytes, uint8_t *text)
{
    const unsigned high = (unsigned)bytes[0] << 4 | bytes[1] >> 4;
    const unsigned low = (bytes[1] & 15u) << 8 | bytes[2];

    memcpy(text, w->pairs[high], 2);
    memcpy(text + 2, w->pairs[low], 2);
}

/* Two groups at once. Reads two bytes behind them. */
static inline void put_groups_of(const struct writer *w, const uint8_t *bytes, uint8_t *text)
{
    uint64_t bits;

    memcpy(&bits, bytes, sizeof(bits));
    bits = be64toh(bits);
    memcpy(text, w->pairs[bits >> 52], 2);
    memcpy(text + 2, w->pairs[bits >> 40 & 4095], 2);
    memcpy(text + 4, w->pairs[bits >> 28 & 4095], 2);
    memcpy(text + 6, w->pairs[bits >> 16 & 4095], 2);
}

/* The last group, of fewer bytes. */
static void put_rest(const struct writer *w, const uint8_t *bytes, size_t count, uint8_t *text)
{
    uint8_t group[3] = {0};

    memcpy(group, bytes, count);
    put_group_of(w, group, text);
    text[3] = '=';
    if (count == 1)
        text[2] = '=';
}

/* One line, of LINE_BYTES but for the last. */
static int put_line(struct writer *w, const uint8_t *bytes, size_t count, struct tfs_error *err)
{
    if (sizeof(w->text) - w->size <= TFS_RBX_BASE64_LINE) {
        if (w->sink->write(w->sink, w->text, w->size, err) < 0)
            return err->code;
        w->size = 0;
    }
    uint8_t *at = w->text + w->size;
    if (w->any)
        *at++ = '\n';
    for (; count >= 8; count -= 6, bytes += 6, at += 8)
        put_groups_of(w, bytes, at);
    for (; count >= 3; count -= 3, bytes += 3, at += 4)
        put_group_of(w, bytes, at);
    if (count > 0) {
        put_rest(w, bytes, count, at);
        at += 4;
    }
    w->any = true;
    w->size = (size_t)(at - w->text);
    return 0;
}

static int put_piece(struct writer *w, struct tfs_span piece, struct tfs_error *err)
{
    while (piece.size > 0 && (w->held > 0 || piece.size < LINE_BYTES)) {
        const size_t room = LINE_BYTES - w->held;
        const size_t size = piece.size < room ? piece.size : room;
        memcpy(w->line + w->held, piece.data, size);
        w->held += size;
        piece.data += size;
        piece.size -= size;
        if (w->held < LINE_BYTES)
            return 0;
        w->held = 0;
        if (put_line(w, w->line, LINE_BYTES, err) < 0)
            return err->code;
    }
    for (; piece.size >= LINE_BYTES; piece.data += LINE_BYTES, piece.size -= LINE_BYTES)
        if (put_line(w, piece.data, LINE_BYTES, err) < 0)
            return err->code;
    if (piece.size > 0)
        memcpy(w->line, piece.data, piece.size);
    w->held = piece.size;
    return 0;
}

int tfs_rbx_base64_write(const struct tfs_rbx_pieces *bytes, struct tfs_sink *sink,
                         struct tfs_error *err)
{
    struct writer *w = malloc(sizeof(*w));

    if (w == NULL)
        return tfs_fail_memory(err);
    w->sink = sink;
    w->held = w->size = 0;
    w->any = false;
    for (unsigned i = 0; i < 4096; i++) {
        w->pairs[i][0] = digits[i >> 6];
        w->pairs[i][1] = digits[i & 63];
    }
    for (size_t i = 0; i < bytes->count && err->code == 0; i++)
        put_piece(w, bytes->items[i], err);
    if (err->code == 0 && w->held > 0)
        put_line(w, w->line, w->held, err);
    if (err->code == 0)
        sink->write(sink, w->text, w->size, err);
    free(w);
    return err->code;
}

/* ---- reading back ---------------------------------------------------------------------------- */

static int fail_check(const struct tfs_error *why, const struct tfs_readback *written,
                      struct tfs_error *err)
{
    return why->code == -ENOMEM ? tfs_fail_memory(err) : tfs_readback_fail(written, err);
}

int tfs_rbx_base64_check(const struct tfs_rbx_pieces *bytes, struct tfs_readback *written,
                         struct tfs_error *err)
{
    const size_t characters = tfs_rbx_base64_size(bytes->size);
    struct tfs_rbx_comparison comparison = {bytes, 0, 0};
    struct tfs_rbx_base64 base64 = {0};
    struct tfs_error why = {0};
    struct tfs_buf out = {0};
    struct tfs_span text;
    size_t left = characters + (characters == 0 ? 0 : (characters - 1) / TFS_RBX_BASE64_LINE);
    size_t offset = 0;

    for (; left > 0 && err->code == 0; left -= text.size) {
        if (tfs_readback_take(written, left, &text, err) < 0)
            break;
        tfs_buf_clear(&out);
        if (text.size == 0 || tfs_rbx_base64_add(&base64, text, &out, &offset, &why) < 0 ||
            !tfs_rbx_compare_next(&comparison, tfs_buf_span(&out)))
            fail_check(&why, written, err);
    }
    if (err->code == 0 &&
        (tfs_rbx_base64_end(&base64, &why) < 0 || !tfs_rbx_compare_end(&comparison)))
        tfs_readback_fail(written, err);
    tfs_buf_release(&out);
    return err->code;
}
