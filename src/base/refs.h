/*
 * A count of references to something that threads share, in an atomic_uint that begins with 1.
 */
#ifndef TFS_BASE_REFS_H
#define TFS_BASE_REFS_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

static inline void tfs_refs_add(atomic_uint *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* Was it the last one? Then nobody else sees what it counts. */
static inline bool tfs_refs_drop(atomic_uint *refs)
{
    const unsigned before = atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);

    assert(before > 0);
    return before == 1;
}

#endif
