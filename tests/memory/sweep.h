/*
 * One act after another with its n-th allocation failing, n = 1, 2, 3, ... until none fails.
 */
#ifndef TFS_TESTS_MEMORY_SWEEP_H
#define TFS_TESTS_MEMORY_SWEEP_H

#include "../unit/in_full.h"
#include "base/error.h"

/* Functions that the sweep calls in this order, again and again. Those with memory may use `check`
 * assertions; what they are about is told with a failure. */
struct sweep {
    void (*begin)(void);               /* with memory: makes what is acted on */
    int (*act)(struct tfs_error *err); /* without: 0 or the error */
    /* With memory again. `result` is 0 or -ENOMEM with a sentence: it checks what is there, does
     * the act again if it failed, and leaves nothing allocated. */
    void (*end)(int result);
};

/* Every allocation fails alone, and with all behind it; if not in full (torture/memory) at most
 * SWEEP_SHORT of them in each way. `what` is for sentences. */
#define SWEEP_SHORT 8
void sweep(const char *what, const struct sweep *acts);

/* The attempt under way. */
const char *sweep_now(void);

/* Prints the figures of all sweeps of this process. */
void sweep_tell(const char *kind);

#endif
