/*
 * What was written to a new file, read back in order by pieces, so that a check of a large file
 * needs no memory for it; and its hash, when all of it was read.
 *
 * A failure to read is what the system says; bytes that are not the expected ones, too few or too
 * many are EIO.
 */
#ifndef TFS_BASE_READBACK_H
#define TFS_BASE_READBACK_H

#include "base/hash.h"

struct tfs_readback {
    int fd;
    uint64_t at, size;     /* read so far, and the file's */
    struct tfs_span piece; /* read and not taken yet */
    uint8_t *buffer;
    struct tfs_hasher hasher;
};

/* From the first byte of the file in `fd`, which must have `size` of them. Nothing needs releasing
 * after a failure. */
int tfs_readback_init(struct tfs_readback *r, int fd, uint64_t size, struct tfs_error *err);
void tfs_readback_release(struct tfs_readback *r);

/* The next bytes, at least one and at most `max`, valid until the next call; none at the end. */
int tfs_readback_take(struct tfs_readback *r, size_t max, struct tfs_span *bytes,
                      struct tfs_error *err);
/* Exactly `size` bytes. */
int tfs_readback_copy(struct tfs_readback *r, uint8_t *out, size_t size, struct tfs_error *err);
/* The next bytes must be these. */
int tfs_readback_expect(struct tfs_readback *r, struct tfs_span bytes, struct tfs_error *err);
/* Nothing is left; *hash is that of the whole file. */
int tfs_readback_end(struct tfs_readback *r, struct tfs_hash *hash, struct tfs_error *err);

/* Bytes are not as they were written. Returns err->code. */
int tfs_readback_fail(const struct tfs_readback *r, struct tfs_error *err);

#endif
