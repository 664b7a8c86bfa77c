/*
 * A bounded cursor with a sticky error over bytes that nobody trusts, and the span it reads from.
 *
 * Codecs read fields of a save through it. After a read past the end `failed` stays set, every
 * further read gives 0 or an empty span, and the position does not move; so a parser may read a
 * group of fields and check once. tfs_take() compares a size with what is left. Code that computes
 * with offsets from a file itself (tables of sectors, columns and planes) compares them with the
 * size of the file before it uses them.
 */
#ifndef TFS_BASE_BYTES_H
#define TFS_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that belong to somebody else. data may be NULL when size is 0. */
struct tfs_span {
    const uint8_t *data;
    size_t size;
};

struct tfs_cursor {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

struct tfs_span tfs_span_of(const char *text); /* strlen bytes */
bool tfs_span_equal(struct tfs_span a, struct tfs_span b);
int tfs_span_compare(struct tfs_span a, struct tfs_span b); /* memcmp, then the shorter first */

struct tfs_cursor tfs_cursor_init(struct tfs_span span);
size_t tfs_cursor_left(const struct tfs_cursor *c);          /* 0 after a failure */
void tfs_cursor_seek(struct tfs_cursor *c, uint64_t offset); /* from start; past the end fails */

/* These three are inline: info.txt and palette.txt of a region take 300,000 fields of a byte. */

/* Bytes taken so far. */
static inline size_t tfs_cursor_offset(const struct tfs_cursor *c)
{
    return (size_t)(c->at - c->start);
}

/* n bytes, which stay where they are; empty on failure. */
static inline struct tfs_span tfs_take(struct tfs_cursor *c, uint64_t n)
{
    struct tfs_span span = {c->at, 0};

    if (c->failed || n > (size_t)(c->end - c->at)) {
        c->failed = true;
        return span;
    }
    span.size = (size_t)n;
    c->at += span.size;
    return span;
}

static inline uint8_t tfs_take_u8(struct tfs_cursor *c)
{
    const struct tfs_span byte = tfs_take(c, 1);

    return byte.size == 0 ? 0 : byte.data[0];
}

uint16_t tfs_take_u16be(struct tfs_cursor *c);
uint32_t tfs_take_u32be(struct tfs_cursor *c);
uint64_t tfs_take_u64be(struct tfs_cursor *c);
int32_t tfs_take_s32be(struct tfs_cursor *c);
uint16_t tfs_take_u16le(struct tfs_cursor *c);
uint32_t tfs_take_u32le(struct tfs_cursor *c);
uint64_t tfs_take_u64le(struct tfs_cursor *c);

#endif
