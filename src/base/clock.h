/*
 * Deadlines: milliseconds of a clock that nobody sets. 0 is no deadline. And times of files.
 */
#ifndef TFS_BASE_CLOCK_H
#define TFS_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

int64_t tfs_now_ms(void);
/* The sooner one. */
int64_t tfs_sooner(int64_t a, int64_t b);

/* The date, in seconds since 1970, for what is written into a save: $SOURCE_DATE_EPOCH where that
 * is set, so that the same edit gives the same bytes. */
int64_t tfs_date(void);

/* Is `a` after `b`? */
bool tfs_is_later(struct timespec a, struct timespec b);

/* "2026-11-22 10:20:00", as clocks here show it, or "an unknown time": the text. */
#define TFS_TIME_TEXT 32
const char *tfs_time_print(int64_t seconds, char text[TFS_TIME_TEXT]);

/* A condition that can be waited for until a deadline of this clock: 0 or negative. */
int tfs_cond_init(pthread_cond_t *cond);
/* False: the deadline passed. */
bool tfs_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline);

#endif
