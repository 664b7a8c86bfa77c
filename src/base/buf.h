/*
 * A growing buffer of bytes: where encoders and renderers write.
 *
 * Zero-initialised = empty. Running out of memory is sticky: `failed` is set, further writes do
 * nothing, and the writer looks once at the end (tfs_buf_check). The owner calls tfs_buf_release.
 */
#ifndef TFS_BASE_BUF_H
#define TFS_BASE_BUF_H

#include "base/bytes.h"
#include "base/error.h"

struct tfs_buf {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void tfs_buf_release(struct tfs_buf *b); /* frees and zeroes */
void tfs_buf_clear(struct tfs_buf *b);   /* size 0, memory and failure kept */
int tfs_buf_check(const struct tfs_buf *b, struct tfs_error *err);
struct tfs_span tfs_buf_span(const struct tfs_buf *b);

/* Room for n more bytes behind size, not yet counted in size; NULL (and failed) without memory. The
 * writer fills them and adds what it wrote to size. */
uint8_t *tfs_buf_reserve(struct tfs_buf *b, size_t n);

/* Makes the buffer exactly `size` long: cuts, or fills with zeros. */
void tfs_buf_resize(struct tfs_buf *b, size_t size);
/* The same, and lets go of memory that is no longer needed. 0, or -ENOMEM and it is as it was. */
int tfs_buf_fit(struct tfs_buf *b, size_t size);

void tfs_buf_add(struct tfs_buf *b, const void *data, size_t n);
void tfs_buf_add_span(struct tfs_buf *b, struct tfs_span span);
void tfs_buf_add_text(struct tfs_buf *b, const char *text);
void tfs_buf_printf(struct tfs_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tfs_buf_u8(struct tfs_buf *b, uint8_t v);
void tfs_buf_u32be(struct tfs_buf *b, uint32_t v);
void tfs_buf_u16le(struct tfs_buf *b, uint16_t v);
void tfs_buf_u32le(struct tfs_buf *b, uint32_t v);
void tfs_buf_u64le(struct tfs_buf *b, uint64_t v);

#endif
