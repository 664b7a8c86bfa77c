/*
 * Names -> numbers, by open addressing.
 *
 * Must not know what the numbers are.
 */
#include "formats/cosmic_reach/names.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64
#define MULTIPLIER   UINT64_C(0x9E3779B97F4A7C15)

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * MULTIPLIER;
    return hash ^ hash >> 29;
}

static uint32_t hash_of(struct tfs_span name)
{
    uint64_t hash = name.size;
    size_t at = 0;

    for (; name.size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, name.data + at, sizeof(word));
        hash = mix(hash, word);
    }
    if (at < name.size) {
        uint64_t word = 0;
        memcpy(&word, name.data + at, name.size - at);
        hash = mix(hash, word);
    }
    return (uint32_t)(mix(hash, 0) >> 32);
}

/* The cell of the name, or the free one where it would go. There is always a free one. */
static struct tfs_cosmic_name *cell_of(const struct tfs_cosmic_names *names, struct tfs_span name,
                                       uint32_t hash)
{
    size_t mask = names->capacity - 1;

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct tfs_cosmic_name *cell = &names->cells[i];
        if (!cell->used || (cell->hash == hash && tfs_span_equal(cell->name, name)))
            return cell;
    }
}

static int grow(struct tfs_cosmic_names *names, struct tfs_error *err)
{
    struct tfs_cosmic_names bigger = {
        .capacity = names->capacity > 0 ? names->capacity * 2 : CAPACITY_MIN,
        .count = names->count,
    };

    bigger.cells = calloc(bigger.capacity, sizeof(*bigger.cells));
    if (bigger.cells == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < names->capacity; i++) {
        const struct tfs_cosmic_name *cell = &names->cells[i];
        if (cell->used)
            *cell_of(&bigger, cell->name, cell->hash) = *cell;
    }
    free(names->cells);
    *names = bigger;
    return 0;
}

bool tfs_cosmic_names_find(const struct tfs_cosmic_names *names, struct tfs_span name,
                           uint32_t *value)
{
    if (names->count == 0)
        return false;

    const struct tfs_cosmic_name *cell = cell_of(names, name, hash_of(name));
    if (cell->used)
        *value = cell->value;
    return cell->used;
}

int tfs_cosmic_names_add(struct tfs_cosmic_names *names, struct tfs_span name, uint32_t value,
                         uint32_t *found, struct tfs_error *err)
{
    if (names->count >= names->capacity / 2 && grow(names, err) < 0)
        return err->code;

    uint32_t hash = hash_of(name);
    struct tfs_cosmic_name *cell = cell_of(names, name, hash);
    if (!cell->used) {
        *cell = (struct tfs_cosmic_name){name, hash, value, true};
        names->count++;
    }
    *found = cell->value;
    return 0;
}

void tfs_cosmic_names_release(struct tfs_cosmic_names *names)
{
    free(names->cells);
    *names = (struct tfs_cosmic_names){0};
}
