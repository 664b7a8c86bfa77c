/*
 * Pieces of output -> one growing run of bytes; out of memory is remembered instead of returned.
 *
 * Must not know what is written.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAPACITY_MIN 64
#define HUGE_MIN     (4u << 20)

void tfs_buf_release(struct tfs_buf *b)
{
    free(b->data);
    *b = (struct tfs_buf){0};
}

void tfs_buf_clear(struct tfs_buf *b)
{
    b->size = 0;
}

int tfs_buf_check(const struct tfs_buf *b, struct tfs_error *err)
{
    return b->failed ? tfs_fail_memory(err) : 0;
}

struct tfs_span tfs_buf_span(const struct tfs_buf *b)
{
    return (struct tfs_span){b->data, b->size};
}

/* Asks for large pages, a hint: page faults of fresh memory are a fifth of what a picture of 30 MB
 * costs. */
static void want_huge_pages(uint8_t *data, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)data + size) / page * page;

    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

/* Makes the capacity at least size + n, doubling so that many small writes stay cheap. */
static bool grow(struct tfs_buf *b, size_t n)
{
    if (n > SIZE_MAX / 2 - b->size)
        return false;

    size_t capacity = b->capacity * 2;
    if (capacity < b->size + n)
        capacity = b->size + n;
    if (capacity < CAPACITY_MIN)
        capacity = CAPACITY_MIN;

    uint8_t *data = realloc(b->data, capacity);
    if (data == NULL)
        return false;
    b->data = data;
    b->capacity = capacity;
    if (capacity >= HUGE_MIN)
        want_huge_pages(data, capacity);
    return true;
}

uint8_t *tfs_buf_reserve(struct tfs_buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if ((b->data == NULL || n > b->capacity - b->size) && !grow(b, n)) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->size;
}

void tfs_buf_resize(struct tfs_buf *b, size_t size)
{
    if (b->failed)
        return;
    if (size > b->size) {
        uint8_t *more = tfs_buf_reserve(b, size - b->size);
        if (more == NULL)
            return;
        memset(more, 0, size - b->size);
    }
    b->size = size;
}

/* Without memory for the smaller copy the larger stays. */
static void shrink(struct tfs_buf *b, size_t size)
{
    struct tfs_buf smaller = {0};

    tfs_buf_add(&smaller, b->data, size < b->size ? size : b->size);
    if (smaller.failed)
        return;
    tfs_buf_release(b);
    *b = smaller;
}

int tfs_buf_fit(struct tfs_buf *b, size_t size)
{
    if (size < b->capacity / 4)
        shrink(b, size);
    tfs_buf_resize(b, size);
    if (!b->failed)
        return 0;
    b->failed = false;
    return -ENOMEM;
}

void tfs_buf_add(struct tfs_buf *b, const void *data, size_t n)
{
    uint8_t *out = tfs_buf_reserve(b, n);

    if (out == NULL || n == 0)
        return;
    memcpy(out, data, n);
    b->size += n;
}

void tfs_buf_add_span(struct tfs_buf *b, struct tfs_span span)
{
    tfs_buf_add(b, span.data, span.size);
}

void tfs_buf_add_text(struct tfs_buf *b, const char *text)
{
    tfs_buf_add(b, text, strlen(text));
}

void tfs_buf_printf(struct tfs_buf *b, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        b->failed = true;
        return;
    }

    /* vsnprintf ends with a NUL, which is not counted in size. */
    uint8_t *out = tfs_buf_reserve(b, (size_t)length + 1);
    if (out == NULL)
        return;
    va_start(args, format);
    vsnprintf((char *)out, (size_t)length + 1, format, args);
    va_end(args);
    b->size += (size_t)length;
}

static void add_be(struct tfs_buf *b, uint64_t v, unsigned n)
{
    uint8_t *out = tfs_buf_reserve(b, n);

    if (out == NULL)
        return;
    for (unsigned i = n; i > 0; i--, v >>= 8)
        out[i - 1] = (uint8_t)v;
    b->size += n;
}

static void add_le(struct tfs_buf *b, uint64_t v, unsigned n)
{
    uint8_t *out = tfs_buf_reserve(b, n);

    if (out == NULL)
        return;
    for (unsigned i = 0; i < n; i++, v >>= 8)
        out[i] = (uint8_t)v;
    b->size += n;
}

void tfs_buf_u8(struct tfs_buf *b, uint8_t v)
{
    add_be(b, v, 1);
}

void tfs_buf_u32be(struct tfs_buf *b, uint32_t v)
{
    add_be(b, v, 4);
}

void tfs_buf_u16le(struct tfs_buf *b, uint16_t v)
{
    add_le(b, v, 2);
}

void tfs_buf_u32le(struct tfs_buf *b, uint32_t v)
{
    add_le(b, v, 4);
}

void tfs_buf_u64le(struct tfs_buf *b, uint64_t v)
{
    add_le(b, v, 8);
}
