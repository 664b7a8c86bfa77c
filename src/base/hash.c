/*
 * Bytes and files -> their XXH3, by libxxhash.
 */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
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

static int hash_steps(int fd, XXH3_state_t *state, uint8_t *buffer, uint64_t *size,
                      struct tfs_error *err)
{
    for (;;) {
        ssize_t got = pread(fd, buffer, STEP, (off_t)*size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tfs_fail_errno(err, "cannot be read");
        if (got == 0)
            return 0;
        XXH3_128bits_update(state, buffer, (size_t)got);
        *size += (uint64_t)got;
    }
}

int tfs_hash_file(int fd, struct tfs_hash *hash, struct tfs_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    uint8_t *buffer = malloc(STEP);
    uint64_t size = 0;

    if (state == NULL || buffer == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    XXH3_128bits_reset(state);
    if (hash_steps(fd, state, buffer, &size, err) == 0) {
        XXH128_hash_t found = XXH3_128bits_digest(state);
        *hash = (struct tfs_hash){size, found.low64, found.high64};
    }
out:
    XXH3_freeState(state);
    free(buffer);
    return err->code;
}

uint64_t tfs_checksum(struct tfs_span bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.data, bytes.size, seed);
}
