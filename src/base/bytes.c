/*
 * Untrusted bytes -> numbers and spans, never reading past the end.
 *
 * Must not know what the bytes mean.
 */
#include "base/bytes.h"

#include <endian.h>
#include <string.h>

/* What an empty span of NULL points at: arithmetic on a null pointer is undefined, even adding
 * 0. */
static const uint8_t no_bytes[1];

struct tfs_span tfs_span_of(const char *text)
{
    return (struct tfs_span){(const uint8_t *)text, strlen(text)};
}

bool tfs_span_equal(struct tfs_span a, struct tfs_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int tfs_span_compare(struct tfs_span a, struct tfs_span b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    if (order != 0)
        return order;
    return (a.size > b.size) - (a.size < b.size);
}

struct tfs_cursor tfs_cursor_init(struct tfs_span span)
{
    const uint8_t *start = span.data == NULL ? no_bytes : span.data;

    return (struct tfs_cursor){.start = start, .at = start, .end = start + span.size};
}

size_t tfs_cursor_left(const struct tfs_cursor *c)
{
    return c->failed ? 0 : (size_t)(c->end - c->at);
}

void tfs_cursor_seek(struct tfs_cursor *c, uint64_t offset)
{
    if (offset > (size_t)(c->end - c->start))
        c->failed = true;
    else if (!c->failed)
        c->at = c->start + offset;
}

/* The next n <= 8 bytes, most significant first. */
static inline uint64_t take_be(struct tfs_cursor *c, unsigned n)
{
    struct tfs_span bytes = tfs_take(c, n);
    uint64_t v = 0;

    if (bytes.size > 0)
        memcpy((uint8_t *)&v + sizeof(v) - n, bytes.data, n);
    return be64toh(v);
}

static inline uint64_t take_le(struct tfs_cursor *c, unsigned n)
{
    struct tfs_span bytes = tfs_take(c, n);
    uint64_t v = 0;

    if (bytes.size > 0)
        memcpy(&v, bytes.data, n);
    return le64toh(v);
}

uint16_t tfs_take_u16be(struct tfs_cursor *c)
{
    return (uint16_t)take_be(c, 2);
}

uint32_t tfs_take_u32be(struct tfs_cursor *c)
{
    return (uint32_t)take_be(c, 4);
}

uint64_t tfs_take_u64be(struct tfs_cursor *c)
{
    return take_be(c, 8);
}

int32_t tfs_take_s32be(struct tfs_cursor *c)
{
    return (int32_t)(uint32_t)take_be(c, 4);
}

uint16_t tfs_take_u16le(struct tfs_cursor *c)
{
    return (uint16_t)take_le(c, 2);
}

uint32_t tfs_take_u32le(struct tfs_cursor *c)
{
    return (uint32_t)take_le(c, 4);
}

uint64_t tfs_take_u64le(struct tfs_cursor *c)
{
    return take_le(c, 8);
}
