/*
 * malloc and its relatives, counted and failing; the memory is the C library's or a sanitizer's.
 */
#include "failing.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/* Of sanitizers: absent in a plain program. */
void *__interceptor_malloc(size_t size) __attribute__((weak));
void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));
void *__interceptor_realloc(void *old, size_t size) __attribute__((weak));
int __interceptor_posix_memalign(void **memory, size_t alignment, size_t size)
    __attribute__((weak));
void __interceptor_free(void *memory) __attribute__((weak));

static atomic_bool counting;
static atomic_uint_fast64_t count, hits;
static atomic_int_fast64_t live;
static uint64_t first;
static enum failing_mode failing;

/* Is this thread in code under test? A sanitizer needs memory of its own when a thread starts. */
static _Thread_local bool running;

void failing_begin(uint64_t n, enum failing_mode mode)
{
    atomic_store(&count, 0);
    atomic_store(&hits, 0);
    first = n;
    failing = mode;
    running = true;
    atomic_store(&counting, true);
}

uint64_t failing_end(void)
{
    atomic_store(&counting, false);
    return atomic_load(&count);
}

uint64_t failing_hits(void)
{
    return atomic_load(&hits);
}

int64_t failing_live(void)
{
    return __interceptor_malloc != NULL ? -1 : (int64_t)atomic_load(&live);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define STARTS 64

/* What a thread is to do: found by it before it may fail. */
static struct start {
    atomic_bool used;
    void *(*run)(void *arg);
    void *arg;
} starts[STARTS];

static void *run_thread(void *arg)
{
    struct start *given = arg;
    struct start start = {.run = given->run, .arg = given->arg};

    atomic_store(&given->used, false);
    running = true;
    void *result = start.run(start.arg);
    running = false;
    return result;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg)
{
    struct start *start = starts;

    while (atomic_exchange(&start->used, true))
        if (++start == starts + STARTS)
            return EAGAIN;
    start->run = run;
    start->arg = arg;
    int result = __real_pthread_create(thread, attr, run_thread, start);
    if (result != 0)
        atomic_store(&start->used, false);
    return result;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Is this the one? Stops a debugger there with TFS_SWEEP_TRAP set. */
static bool fails(void)
{
    if (!atomic_load(&counting) || !running)
        return false;
    uint64_t n = atomic_fetch_add(&count, 1) + 1;
    if (first == 0 || n < first || (failing == FAILING_ONCE && n > first))
        return false;
    atomic_fetch_add(&hits, 1);
    if (getenv("TFS_SWEEP_TRAP") != NULL)
        raise(SIGTRAP);
    errno = ENOMEM;
    return true;
}

static void *counted(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add(&live, 1);
    return memory;
}

void *malloc(size_t size)
{
    if (fails())
        return NULL;
    return counted(__interceptor_malloc != NULL ? __interceptor_malloc(size) : __libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
    if (fails())
        return NULL;
    return counted(__interceptor_calloc != NULL ? __interceptor_calloc(n, size)
                                                : __libc_calloc(n, size));
}

void *realloc(void *old, size_t size)
{
    if (fails())
        return NULL;
    void *memory = __interceptor_realloc != NULL ? __interceptor_realloc(old, size)
                                                 : __libc_realloc(old, size);
    return old == NULL ? counted(memory) : memory;
}

void *reallocarray(void *old, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, n * size);
}

void free(void *memory)
{
    if (memory == NULL)
        return;
    atomic_fetch_sub(&live, 1);
    if (__interceptor_free != NULL)
        __interceptor_free(memory);
    else
        __libc_free(memory);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (fails())
        return ENOMEM;
    if (__interceptor_posix_memalign != NULL)
        return __interceptor_posix_memalign(memory, alignment, size);
    *memory = counted(__libc_memalign(alignment, size));
    return *memory != NULL ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *memory = NULL;

    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

char *strndup(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = malloc(length + 1);

    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    return strndup(text, strlen(text));
}
