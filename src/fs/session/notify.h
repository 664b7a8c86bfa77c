/*
 * Invalidations and what must wait for them: caches are told what is stale, and only then an answer
 * goes out, in the order in which they were asked for. By a thread of its own, because an
 * invalidation may wait: the kernel lets it wait for a page that is being written back, and holds
 * such writes back while a truncate(2) by name is under way.
 *
 * Knows no session: ids and one function to call. Any thread may call it.
 */
#ifndef TFS_FS_SESSION_NOTIFY_H
#define TFS_FS_SESSION_NOTIFY_H

#include <stdint.h>

struct tfs_notify;

/* invalidate: NULL: there are no caches. */
int tfs_notify_open(void (*invalidate)(void *arg, uint64_t id), void *arg,
                    struct tfs_notify **notify);
/* Ends the thread, when all that was asked for is done. Answers that come later go out at once, and
 * no cache is told anything. NULL is legal. */
void tfs_notify_stop(struct tfs_notify *notify);
void tfs_notify_close(struct tfs_notify *notify);

/* What caches hold of this id is wrong. They are told with the next tfs_notify_then. */
void tfs_notify_stale(struct tfs_notify *notify, uint64_t id);
/* Tells the caches all that is stale, then calls `then`; from the caller's thread when there is
 * nothing to wait for. */
void tfs_notify_then(struct tfs_notify *notify, void (*then)(void *arg), void *arg);

#endif
