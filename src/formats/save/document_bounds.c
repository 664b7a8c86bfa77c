/*
 * The keys of a document -> the smallest and the greatest coordinates of its groups, which are
 * remembered with the document and by those with the same keys.
 */
#include "formats/save/document_pages.h"

#include <stdlib.h>

#include "base/refs.h"

#define GROUPS_MAX 64 /* whose bounds are remembered */

/* Of one group after the other; shared by documents with the same keys. */
struct tfs_doc_bounds {
    atomic_uint refs;
    struct tfs_key low, high;
    struct tfs_doc_bounds *next; /* those of groups that were asked for before */
};

struct tfs_doc_bounds *tfs_doc_bounds_ref(struct tfs_doc_bounds *bounds)
{
    if (bounds != NULL)
        tfs_refs_add(&bounds->refs);
    return bounds;
}

void tfs_doc_bounds_unref(struct tfs_doc_bounds *bounds)
{
    while (bounds != NULL && tfs_refs_drop(&bounds->refs)) {
        struct tfs_doc_bounds *next = bounds->next;
        free(bounds);
        bounds = next;
    }
}

static void widen(int32_t value, int32_t *low, int32_t *high)
{
    if (value < *low)
        *low = value;
    if (value > *high)
        *high = value;
}

struct bounds {
    struct tfs_key *low, *high;
    bool found;
};

static int add_to_bounds(void *arg, const struct tfs_chunk *chunk)
{
    struct bounds *b = arg;

    if (!b->found)
        *b->low = *b->high = chunk->key;
    b->found = true;
    widen(chunk->key.x, &b->low->x, &b->high->x);
    widen(chunk->key.y, &b->low->y, &b->high->y);
    widen(chunk->key.z, &b->low->z, &b->high->z);
    return 0;
}

static bool find_bounds(const struct tfs_doc *doc, uint32_t group, struct tfs_key *low,
                        struct tfs_key *high)
{
    struct bounds b = {low, high, false};

    tfs_doc_walk(doc, group, add_to_bounds, &b);
    return b.found;
}

/* A document never changes, so what the first asker finds is true for all; without memory each
 * finds it again. */
static void keep_bounds(struct tfs_doc *doc, struct tfs_key low, struct tfs_key high)
{
    struct tfs_doc_bounds *there = atomic_load(&doc->bounds), *found = malloc(sizeof(*found));

    if (found == NULL)
        return;
    *found = (struct tfs_doc_bounds){1, low, high, there};
    if (!atomic_compare_exchange_strong(&doc->bounds, &there, found))
        free(found);
}

bool tfs_doc_bounds(const struct tfs_doc *doc, uint32_t group, struct tfs_key *low,
                    struct tfs_key *high)
{
    unsigned steps = 0;

    for (const struct tfs_doc_bounds *known = atomic_load(&doc->bounds); known != NULL;
         known = known->next, steps++)
        if (known->low.group == group) {
            *low = known->low;
            *high = known->high;
            return true;
        }
    if (!find_bounds(doc, group, low, high))
        return false;
    if (steps < GROUPS_MAX)
        keep_bounds((struct tfs_doc *)doc, *low, *high);
    return true;
}
