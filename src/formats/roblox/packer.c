/*
 * A payload -> the sequences of an LZ4 block, as LZ4_compress_default of liblz4 makes them.
 *
 * Must not know what a payload is, nor any other block.
 */
#include "formats/roblox/packer.h"

#include <string.h>

#define AHEAD     (1u << 20) /* what the packer can look at */
#define LAST      5          /* literals at the end of a block */
#define MATCH_END 12         /* no match begins behind this, from the end */
#define SKIP_LOG  6

static uint32_t hash_at(const struct tfs_rbx_packer *p, uint64_t at)
{
    uint64_t bytes;

    memcpy(&bytes, p->text.data + at, sizeof(bytes));
    return (uint32_t)(((bytes << 24) * UINT64_C(889523592379)) >> (64 - TFS_RBX_TABLE_LOG));
}

static bool same_four(const struct tfs_rbx_packer *p, uint64_t a, uint64_t b)
{
    return memcmp(p->text.data + a, p->text.data + b, TFS_RBX_MATCH_MIN) == 0;
}

static uint64_t text_end(const struct tfs_rbx_packer *p)
{
    return p->payload->size - p->first;
}

/* Has AHEAD behind `at`, or all there is. */
static int look_ahead(struct tfs_rbx_packer *p, struct tfs_error *err)
{
    const uint64_t end = text_end(p);

    if (p->text.size - p->at >= AHEAD || p->text.size == end)
        return 0;
    const uint64_t to = p->at + 2 * AHEAD < end ? p->at + 2 * AHEAD : end;
    tfs_rbx_pieces_copy(p->payload, p->first + p->text.size, p->first + to, &p->text);
    return tfs_buf_check(&p->text, err);
}

int tfs_rbx_packer_start(struct tfs_rbx_packer *p, uint64_t first, struct tfs_error *err)
{
    tfs_buf_clear(&p->text);
    memset(p->table, 0, sizeof(p->table));
    p->first = first;
    p->at = p->anchor = 0;
    p->matched = p->ended = false;
    if (look_ahead(p, err) < 0)
        return err->code;
    p->table[hash_at(p, 0)] = 0;
    p->at = 1;
    p->hash = hash_at(p, 1);
    return 0;
}

/* Finds the next match: 1; 0: there is none up to the end; -1: nor as far as one can look. */
static int search(struct tfs_rbx_packer *p)
{
    const uint64_t limit = p->text.size - MATCH_END + 1;
    uint64_t forward = p->at;
    unsigned step = 1, tries = 1u << SKIP_LOG;

    for (;;) {
        const uint32_t hash = p->hash;
        p->at = forward;
        forward += step;
        step = tries++ >> SKIP_LOG;
        if (forward > limit)
            return p->text.size == text_end(p) ? 0 : -1;
        p->match = p->table[hash];
        p->hash = hash_at(p, forward);
        p->table[hash] = (uint32_t)p->at;
        if (p->match + TFS_RBX_REACH >= p->at && same_four(p, p->match, p->at))
            break;
    }
    while (p->at > p->anchor && p->match > 0 &&
           p->text.data[p->at - 1] == p->text.data[p->match - 1]) {
        p->at--;
        p->match--;
    }
    return 1;
}

static uint64_t match_length(const struct tfs_rbx_packer *p, uint64_t limit)
{
    uint64_t length = TFS_RBX_MATCH_MIN;

    while (p->at + length + 8 <= limit &&
           memcmp(p->text.data + p->at + length, p->text.data + p->match + length, 8) == 0)
        length += 8;
    while (p->at + length < limit &&
           p->text.data[p->at + length] == p->text.data[p->match + length])
        length++;
    return length;
}

/* Behind a match. */
static void go_on(struct tfs_rbx_packer *p)
{
    p->anchor = p->at;
    p->matched = false;
    if (p->at >= p->text.size - MATCH_END + 1) {
        p->ended = true;
        return;
    }
    p->table[hash_at(p, p->at - 2)] = (uint32_t)(p->at - 2);
    const uint32_t hash = hash_at(p, p->at);
    p->match = p->table[hash];
    p->table[hash] = (uint32_t)p->at;
    if (p->match + TFS_RBX_REACH >= p->at && same_four(p, p->match, p->at))
        p->matched = true;
    else
        p->hash = hash_at(p, ++p->at);
}

int tfs_rbx_packer_next(struct tfs_rbx_packer *p, struct tfs_rbx_sequence *s, struct tfs_error *err)
{
    if (look_ahead(p, err) < 0)
        return err->code;

    const uint64_t end = text_end(p);
    int found = p->ended ? 0 : p->matched ? 1 : search(p);
    if (found < 0)
        return 0;
    *s = (struct tfs_rbx_sequence){.literals = end - p->anchor};
    if (found == 0) {
        p->ended = true;
        p->anchor = end;
        return 1;
    }
    s->literals = p->at - p->anchor;
    s->offset = (uint32_t)(p->at - p->match);
    s->length = match_length(p, p->text.size - LAST);
    p->at += s->length;
    if (p->text.size < end && p->at >= p->text.size - 2 * MATCH_END)
        return 0;
    go_on(p);
    return 1;
}

static void put_length(struct tfs_buf *out, uint64_t length)
{
    if (length < 15)
        return;
    for (length -= 15; length >= 255; length -= 255)
        tfs_buf_u8(out, 255);
    tfs_buf_u8(out, (uint8_t)length);
}

void tfs_rbx_packer_put(const struct tfs_rbx_packer *p, uint64_t from,
                        const struct tfs_rbx_sequence *s, struct tfs_buf *out)
{
    const uint64_t length = s->length == 0 ? 0 : s->length - TFS_RBX_MATCH_MIN;
    const uint64_t high = s->literals < 15 ? s->literals : 15, low = length < 15 ? length : 15;

    tfs_buf_u8(out, (uint8_t)(high << 4 | low));
    put_length(out, s->literals);
    tfs_buf_add(out, p->text.data + from, (size_t)s->literals);
    if (s->length == 0)
        return;
    tfs_buf_u16le(out, (uint16_t)s->offset);
    put_length(out, length);
}
