/*
 * A file that was just written -> its bytes, in pieces, and their hash.
 *
 * Must not know what the bytes mean. Nothing is mapped, as in file.c.
 */
#include "base/readback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP ((size_t)256 << 10)

int tfs_readback_fail(const struct tfs_readback *r, struct tfs_error *err)
{
    return tfs_fail(err, -EIO, "it is another file from about byte %" PRIu64 " on",
                    r->at - r->piece.size);
}

int tfs_readback_init(struct tfs_readback *r, int fd, uint64_t size, struct tfs_error *err)
{
    struct stat st;

    *r = (struct tfs_readback){.fd = fd, .size = size, .buffer = malloc(STEP)};
    if (r->buffer == NULL)
        tfs_fail_memory(err);
    else if (fstat(fd, &st) < 0)
        tfs_fail_errno(err, "cannot be examined");
    else if ((uint64_t)st.st_size != size)
        tfs_readback_fail(r, err);
    else
        tfs_hasher_init(&r->hasher, err);
    if (err->code < 0)
        tfs_readback_release(r);
    return err->code;
}

void tfs_readback_release(struct tfs_readback *r)
{
    tfs_hasher_release(&r->hasher);
    free(r->buffer);
    *r = (struct tfs_readback){.fd = -1};
}

static int fill(struct tfs_readback *r, struct tfs_error *err)
{
    ssize_t got;

    do
        got = pread(r->fd, r->buffer, STEP, (off_t)r->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return tfs_fail_errno(err, "cannot be read");
    r->piece = (struct tfs_span){r->buffer, (size_t)got};
    r->at += (size_t)got;
    tfs_hasher_add(&r->hasher, r->piece);
    return 0;
}

int tfs_readback_take(struct tfs_readback *r, size_t max, struct tfs_span *bytes,
                      struct tfs_error *err)
{
    if (r->piece.size == 0 && fill(r, err) < 0)
        return err->code;
    *bytes = (struct tfs_span){r->piece.data, max < r->piece.size ? max : r->piece.size};
    r->piece.data += bytes->size;
    r->piece.size -= bytes->size;
    return 0;
}

int tfs_readback_copy(struct tfs_readback *r, uint8_t *out, size_t size, struct tfs_error *err)
{
    struct tfs_span piece;

    for (; size > 0; out += piece.size, size -= piece.size) {
        if (tfs_readback_take(r, size, &piece, err) < 0)
            return err->code;
        if (piece.size == 0)
            return tfs_readback_fail(r, err);
        memcpy(out, piece.data, piece.size);
    }
    return 0;
}

int tfs_readback_expect(struct tfs_readback *r, struct tfs_span bytes, struct tfs_error *err)
{
    struct tfs_span piece;

    while (bytes.size > 0) {
        if (tfs_readback_take(r, bytes.size, &piece, err) < 0)
            return err->code;
        if (piece.size == 0 || memcmp(piece.data, bytes.data, piece.size) != 0)
            return tfs_readback_fail(r, err);
        bytes.data += piece.size;
        bytes.size -= piece.size;
    }
    return 0;
}

int tfs_readback_end(struct tfs_readback *r, struct tfs_hash *hash, struct tfs_error *err)
{
    struct tfs_span rest;

    if (tfs_readback_take(r, 1, &rest, err) < 0)
        return err->code;
    if (rest.size > 0 || r->at != r->size)
        return tfs_readback_fail(r, err);
    *hash = tfs_hasher_end(&r->hasher);
    return 0;
}
