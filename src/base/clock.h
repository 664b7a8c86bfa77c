/*
 * Deadlines: milliseconds of a clock that nobody sets. 0 is no deadline.
 */
#ifndef TFS_BASE_CLOCK_H
#define TFS_BASE_CLOCK_H

#include <stdint.h>

int64_t tfs_now_ms(void);
/* The sooner one. */
int64_t tfs_sooner(int64_t a, int64_t b);

#endif
