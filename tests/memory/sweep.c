/*
 * The loop of all sweeps, its figures, and a word on where it was when something crashed.
 */
#include "sweep.h"

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failing.h"

static struct {
    char what[200];
    uint64_t scenarios, allocations, failed, errors;
} told;

static char now[300]; /* the attempt under way */

/* ---- crashes --------------------------------------------------------------------------------- */

void __asan_on_error(void);

void __asan_on_error(void)
{
    if (write(STDERR_FILENO, now, strlen(now)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        return;
}

static void crashed(int signal)
{
    __asan_on_error();
    raise(signal);
}

static void watch_crashes(void)
{
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
    const struct sigaction once = {.sa_handler = crashed, .sa_flags = (int)SA_RESETHAND};

    /* A sanitizer says more, and calls us too. */
    for (size_t i = 0; failing_live() >= 0 && i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &once, NULL);
}

/* ---- one attempt ----------------------------------------------------------------------------- */

/* Did an allocation fail? *count of them there were. */
static bool attempt(const struct sweep *acts, uint64_t n, enum failing_mode mode, uint64_t *count)
{
    struct tfs_error err = {0};

    snprintf(now, sizeof(now), "%s: allocation %" PRIu64 "%s fails", told.what, n,
             mode == FAILING_FROM ? " and all behind it" : "");
    acts->begin();
    failing_begin(n, mode);
    int result = acts->act(&err);
    *count = failing_end();
    bool hit = failing_hits() > 0;
    ck_assert_msg(result == 0 || (hit && result == -ENOMEM && err.code == result && err.text[0]),
                  "%s: %d %s", now, result, err.text);
    told.errors += result < 0;
    told.failed += hit;
    acts->end(result);
    return hit;
}

static void check_live(int64_t before)
{
    ck_assert_msg(failing_live() == before, "%s: %" PRId64 " pieces of memory are lost", now,
                  failing_live() - before);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* TFS_SWEEP_AT=n: only that one. */
static uint64_t only(void)
{
    const char *at = getenv("TFS_SWEEP_AT");

    return at == NULL ? 0 : strtoull(at, NULL, 10);
}

static void sweep_mode(const struct sweep *acts, enum failing_mode mode, uint64_t count)
{
    uint64_t step = in_full() || only() ? 1 : count / SWEEP_SHORT + 1;
    uint64_t n = only() ? only() : mode == FAILING_ONCE ? 1 : 1 + step / 2;
    uint64_t ignored;

    int64_t before = failing_live();
    while (attempt(acts, n, mode, &ignored) && !only()) {
        check_live(before);
        n += step;
    }
    check_live(before);
}

void sweep(const char *what, const struct sweep *acts)
{
    uint64_t count = 0;

    snprintf(told.what, sizeof(told.what), "%s", what);
    watch_crashes();
    /* Twice: what libraries keep for ever is not lost. */
    attempt(acts, 0, FAILING_ONCE, &count);
    attempt(acts, 0, FAILING_ONCE, &count);
    sweep_mode(acts, FAILING_ONCE, count);
    sweep_mode(acts, FAILING_FROM, count);
    told.scenarios++;
    told.allocations += count;
}

const char *sweep_now(void)
{
    return now;
}

void sweep_tell(const char *kind)
{
    printf("# %s: %" PRIu64 " acts with %" PRIu64 " allocations, %" PRIu64 " made to fail, %" PRIu64
           " errors\n",
           kind, told.scenarios, told.allocations, told.failed, told.errors);
    fflush(stdout);
}
