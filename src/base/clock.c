/* Milliseconds of the monotonic clock, dates, and times as people read them. */
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

int64_t tfs_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t tfs_date(void)
{
    const char *set = getenv("SOURCE_DATE_EPOCH");

    return set != NULL ? strtoll(set, NULL, 10) : (int64_t)time(NULL);
}

int64_t tfs_sooner(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

bool tfs_is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

const char *tfs_time_print(int64_t seconds, char text[TFS_TIME_TEXT])
{
    const time_t time = seconds;
    struct tm tm;

    if (localtime_r(&time, &tm) == NULL ||
        strftime(text, TFS_TIME_TEXT, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        strcpy(text, "an unknown time");
    return text;
}

int tfs_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    int result = pthread_condattr_init(&monotonic);

    if (result != 0)
        return -result;
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    result = pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return -result;
}

bool tfs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline)
{
    struct timespec end = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

    return pthread_cond_timedwait(cond, lock, &end) == 0;
}
