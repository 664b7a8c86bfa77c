/*
 * Immutable bytes with a reference count: a chunk as it is stored, a rendered file, a whole save.
 *
 * A blob never changes after it was made, so any thread that holds a reference reads it without a
 * lock. A slice shares its parent's bytes and keeps the parent alive. tfs_blob_unref(NULL) is
 * legal.
 */
#ifndef TFS_BASE_BLOB_H
#define TFS_BASE_BLOB_H

#include <stdatomic.h>

#include "base/buf.h"

struct tfs_blob {
    atomic_uint refs;
    uint64_t number; /* of no other blob, also when this one is gone */
    const uint8_t *data;
    size_t size;
    struct tfs_blob *parent; /* the blob whose bytes these are; NULL: our own memory */
};

int tfs_blob_copy(struct tfs_span bytes, struct tfs_blob **blob, struct tfs_error *err);
/* Takes the buffer's memory (shrunk to fit) and leaves the buffer empty; a failed buffer is
 * ENOMEM. */
int tfs_blob_take(struct tfs_buf *buf, struct tfs_blob **blob, struct tfs_error *err);
/* The other way: gives up the reference, and where nobody else has one the empty buffer gets the
 * memory, to be filled again. */
void tfs_blob_reclaim(struct tfs_blob *blob, struct tfs_buf *buf);
/* `bytes` must lie inside parent; takes a reference to it. */
int tfs_blob_slice(struct tfs_blob *parent, struct tfs_span bytes, struct tfs_blob **blob,
                   struct tfs_error *err);

struct tfs_blob *tfs_blob_ref(struct tfs_blob *blob); /* returns its argument */
void tfs_blob_unref(struct tfs_blob *blob);
struct tfs_span tfs_blob_span(const struct tfs_blob *blob); /* of NULL: empty */
bool tfs_blob_equal(const struct tfs_blob *a,
                    const struct tfs_blob *b); /* bytes; NULL equals NULL */

#endif
