/*
 * The kernel's side of a session: mounting, the loop, and translating requests. Only
 * fs/mount/fuse.c and fs/mount/requests.c include libfuse.
 */
#ifndef TFS_FS_MOUNT_FUSE_H
#define TFS_FS_MOUNT_FUSE_H

#include "fs/mount/mount.h"

struct tfs_fuse;

/* source: shown as the mounted device. EINVAL: libfuse does not take an option. From here on
 * SIGTERM, SIGINT and SIGHUP are blocked in this thread and in those that it starts, until
 * tfs_fuse_loop takes them. */
int tfs_fuse_open(const struct tfs_mount_options *options, const char *source, bool read_only,
                  struct tfs_fuse **fuse, struct tfs_error *err);
/* Mounts, and serves from then on: the kernel's INIT was answered, and at least one thread runs and
 * has room for requests. After a failure tfs_fuse_close unmounts. */
int tfs_fuse_mount(struct tfs_fuse *fuse, struct tfs_session *session, const char *mountpoint,
                   struct tfs_error *err);
/* Waits until the file system is unmounted, a SIGTERM, SIGINT or SIGHUP comes, or the descriptor
 * `command` ends without a byte that says that nobody waits any more (-1: nobody does); and ends
 * serving. Replies of the session's stores may still come after it: the connection stays open until
 * tfs_fuse_close. */
int tfs_fuse_loop(struct tfs_fuse *fuse, int command);
/* Unmounts, if that was not done from outside. The session must have ended: a reply into a
 * descriptor that was closed, and perhaps given to a save, would be written into that save. */
void tfs_fuse_close(struct tfs_fuse *fuse);

/* Of struct tfs_events, with the struct tfs_fuse as arg. */
void tfs_fuse_changed(void *arg);
void tfs_fuse_invalidate(void *arg, uint64_t id);

#endif
