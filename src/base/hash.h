/*
 * The hash that tells one state of a file from another: XXH3 of 128 bits, and the size.
 *
 * It finds accidents, not attacks: a user that can make a file with the hash of another can write
 * both.
 */
#ifndef TFS_BASE_HASH_H
#define TFS_BASE_HASH_H

#include "base/buf.h"

struct tfs_hash {
    uint64_t size; /* bytes hashed */
    uint64_t low, high;
};

struct tfs_hash tfs_hash_of(struct tfs_span bytes);
bool tfs_hash_equal(struct tfs_hash a, struct tfs_hash b);
/* 24 bytes, as journals have it; and back. */
void tfs_hash_put(struct tfs_buf *out, struct tfs_hash hash);
struct tfs_hash tfs_hash_take(struct tfs_cursor *c);

/* The same of bytes that come in pieces. Zero-initialised is released. */
struct tfs_hasher {
    void *state;
    uint64_t size;
};

int tfs_hasher_init(struct tfs_hasher *hasher, struct tfs_error *err);
void tfs_hasher_add(struct tfs_hasher *hasher, struct tfs_span bytes);
struct tfs_hash tfs_hasher_end(const struct tfs_hasher *hasher);
void tfs_hasher_release(struct tfs_hasher *hasher);

/* Of what `fd` holds from its first to its last byte; its offset stays where it is. */
int tfs_hash_file(int fd, struct tfs_hash *hash, struct tfs_error *err);
/* Of its first bytes, at most `limit`. */
int tfs_hash_first(int fd, uint64_t limit, struct tfs_hash *hash, struct tfs_error *err);

/* XXH3 of 64 bits, of bytes that come in pieces. */
struct tfs_summer {
    void *state;
};

int tfs_summer_init(struct tfs_summer *summer, uint64_t seed, struct tfs_error *err);
void tfs_summer_add(struct tfs_summer *summer, struct tfs_span bytes);
uint64_t tfs_summer_end(const struct tfs_summer *summer);
void tfs_summer_release(struct tfs_summer *summer);

/* XXH3 of 64 bits: a checksum of a few bytes. The same bytes under another seed have another
 * one. */
uint64_t tfs_checksum(struct tfs_span bytes, uint64_t seed);

#endif
