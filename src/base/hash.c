/*
 * Bytes and files -> their XXH3, by the code in the header of libxxhash: a library of its own would
 * have to be found and loaded by every command.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define STEP ((size_t)256 << 10)

struct tfs_hash tfs_hash_of(struct tfs_span bytes)
{
    XXH128_hash_t hash = XXH3_128bits(bytes.data, bytes.size);

    return (struct tfs_hash){bytes.size, hash.low64, hash.high64};
}

bool tfs_hash_equal(struct tfs_hash a, struct tfs_hash b)
{
    return a.size == b.size && a.low == b.low && a.high == b.high;
}

void tfs_hash_put(struct tfs_buf *out, struct tfs_hash hash)
{
    tfs_buf_u64le(out, hash.size);
    tfs_buf_u64le(out, hash.low);
    tfs_buf_u64le(out, hash.high);
}

struct tfs_hash tfs_hash_take(struct tfs_cursor *c)
{
    const uint64_t size = tfs_take_u64le(c), low = tfs_take_u64le(c);

    return (struct tfs_hash){size, low, tfs_take_u64le(c)};
}

int tfs_hasher_init(struct tfs_hasher *hasher, struct tfs_error *err)
{
    *hasher = (struct tfs_hasher){.state = XXH3_createState()};
    if (hasher->state == NULL)
        return tfs_fail_memory(err);
    XXH3_128bits_reset(hasher->state);
    return 0;
}

void tfs_hasher_add(struct tfs_hasher *hasher, struct tfs_span bytes)
{
    XXH3_128bits_update(hasher->state, bytes.data, bytes.size);
    hasher->size += bytes.size;
}

struct tfs_hash tfs_hasher_end(const struct tfs_hasher *hasher)
{
    XXH128_hash_t found = XXH3_128bits_digest(hasher->state);

    return (struct tfs_hash){hasher->size, found.low64, found.high64};
}

void tfs_hasher_release(struct tfs_hasher *hasher)
{
    XXH3_freeState(hasher->state);
    *hasher = (struct tfs_hasher){0};
}

static int hash_steps(int fd, uint64_t limit, struct tfs_hasher *hasher, uint8_t *buffer,
                      struct tfs_error *err)
{
    while (hasher->size < limit) {
        const uint64_t left = limit - hasher->size;
        ssize_t got = pread(fd, buffer, left < STEP ? (size_t)left : STEP, (off_t)hasher->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tfs_fail_errno(err, "cannot be read");
        if (got == 0)
            return 0;
        tfs_hasher_add(hasher, (struct tfs_span){buffer, (size_t)got});
    }
    return 0;
}

int tfs_hash_first(int fd, uint64_t limit, struct tfs_hash *hash, struct tfs_error *err)
{
    struct tfs_hasher hasher = {0};
    uint8_t *buffer = malloc(STEP);

    if (buffer == NULL)
        return tfs_fail_memory(err);
    if (tfs_hasher_init(&hasher, err) == 0 && hash_steps(fd, limit, &hasher, buffer, err) == 0)
        *hash = tfs_hasher_end(&hasher);
    tfs_hasher_release(&hasher);
    free(buffer);
    return err->code;
}

int tfs_hash_file(int fd, struct tfs_hash *hash, struct tfs_error *err)
{
    return tfs_hash_first(fd, UINT64_MAX, hash, err);
}

uint64_t tfs_checksum(struct tfs_span bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data, bytes.size, seed);
}

int tfs_summer_init(struct tfs_summer *summer, uint64_t seed, struct tfs_error *err)
{
    summer->state = XXH3_createState();
    if (summer->state == NULL)
        return tfs_fail_memory(err);
    XXH3_64bits_reset_withSeed(summer->state, seed);
    return 0;
}

void tfs_summer_add(struct tfs_summer *summer, struct tfs_span bytes)
{
    XXH3_64bits_update(summer->state, bytes.data, bytes.size);
}

uint64_t tfs_summer_end(const struct tfs_summer *summer)
{
    return XXH3_64bits_digest(summer->state);
}

void tfs_summer_release(struct tfs_summer *summer)
{
    XXH3_freeState(summer->state);
    summer->state = NULL;
}
