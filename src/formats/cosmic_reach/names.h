/*
 * A hash table from block names to numbers. Names are compared as bytes and stay where they lie.
 *
 * Zero-initialised = empty.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_NAMES_H
#define TFS_FORMATS_COSMIC_REACH_NAMES_H

#include "base/bytes.h"
#include "base/error.h"

struct tfs_cosmic_name {
    struct tfs_span name;
    uint32_t hash;
    uint32_t value;
    bool used;
};

struct tfs_cosmic_names {
    struct tfs_cosmic_name *cells;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

bool tfs_cosmic_names_find(const struct tfs_cosmic_names *names, struct tfs_span name,
                           uint32_t *value);

/* Adds `name` with `value`, unless it is there: *found is the value it has now. */
int tfs_cosmic_names_add(struct tfs_cosmic_names *names, struct tfs_span name, uint32_t value,
                         uint32_t *found, struct tfs_error *err);

void tfs_cosmic_names_release(struct tfs_cosmic_names *names);

#endif
