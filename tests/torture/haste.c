/*
 * Preloaded into the program under test, so that short work is long enough for what is shown of
 * long work: its monotonic clock runs $HASTE times as fast, or $TICK milliseconds pass between two
 * looks at it, however long they take.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define SECOND 1000000000

typedef int (*clock_fn)(clockid_t, struct timespec *);

int clock_gettime(clockid_t id, struct timespec *now)
{
    static clock_fn original;
    static time_t start;
    static atomic_long looks;

    if (original == NULL)
        *(void **)&original = dlsym(RTLD_NEXT, "clock_gettime");
    const int result = original(id, now);
    const char *haste = getenv("HASTE"), *tick = getenv("TICK");
    if (id != CLOCK_MONOTONIC || result != 0 || (haste == NULL && tick == NULL))
        return result;
    start = start == 0 ? now->tv_sec : start;
    const int64_t ns = tick != NULL ? atomic_fetch_add(&looks, 1) * atol(tick) * (SECOND / 1000)
                                    : ((now->tv_sec - start) * SECOND + now->tv_nsec) * atol(haste);
    now->tv_sec = start + (time_t)(ns / SECOND);
    now->tv_nsec = (long)(ns % SECOND);
    return 0;
}
