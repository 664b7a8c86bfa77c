/*
 * The kernel's side of a session: mounting, the loop, and translating requests. Only
 * fs/mount/fuse.c and fs/mount/requests.c include libfuse.
 */
#ifndef TFS_FS_MOUNT_FUSE_H
#define TFS_FS_MOUNT_FUSE_H

#include "fs/session/session.h"

struct tfs_fuse;

struct tfs_fuse_options {
    const char *source;       /* shown as the mounted device: the save */
    const char *fuse_options; /* joined by commas, may be NULL */
    bool read_only;
    bool debug;
    unsigned threads;  /* at least 1 */
    unsigned max_read; /* bytes; 0: what the kernel likes */
    bool arrays;       /* are shown: who has one open is to be known */
};

/* EINVAL: libfuse does not take an option. From here on SIGTERM, SIGINT and SIGHUP are blocked in
 * this thread and in those that it starts, until tfs_fuse_loop takes them. */
int tfs_fuse_open(const struct tfs_fuse_options *options, struct tfs_fuse **fuse,
                  struct tfs_error *err);
/* Who answers requests. */
void tfs_fuse_attach(struct tfs_fuse *fuse, struct tfs_session *session);
/* Mounts, and serves from then on, by one thread: the kernel's INIT was answered, and there is room
 * for a request for each thread. After a failure tfs_fuse_close unmounts. */
int tfs_fuse_mount(struct tfs_fuse *fuse, const char *mountpoint, struct tfs_error *err);
/* Starts the other threads that serve, as many as can be started. Waits until the file system is
 * unmounted or a SIGTERM, SIGINT or SIGHUP comes, and ends serving. Replies of the session's stores
 * may still come after it: the connection stays open until tfs_fuse_close. */
int tfs_fuse_loop(struct tfs_fuse *fuse);
/* tfs_fuse_loop need not wait. */
void tfs_fuse_end(struct tfs_fuse *fuse);
/* Need it not? */
bool tfs_fuse_ended(const struct tfs_fuse *fuse);
/* Unmounts, if that was not done from outside. The session must have ended: a reply into a
 * descriptor that was closed, and perhaps given to a save, would be written into that save. */
void tfs_fuse_close(struct tfs_fuse *fuse);

/* Of struct tfs_events, with the struct tfs_fuse as arg. */
void tfs_fuse_invalidate(void *arg, uint64_t id);
void tfs_fuse_settle(void *arg);

#endif
