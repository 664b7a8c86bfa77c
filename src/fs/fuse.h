/*
 * The kernel's side of a session: mounting, the loop, and translating requests. fs/fuse.c is the
 * only file that includes libfuse.
 */
#ifndef TFS_FS_FUSE_H
#define TFS_FS_FUSE_H

#include "fs/session.h"

struct tfs_fuse;

struct tfs_fuse_options {
    const char *mountpoint;
    const char *source;       /* shown as the mounted device: the save */
    const char *fuse_options; /* joined by commas, may be NULL */
    bool read_only;
    bool debug;
    unsigned threads;
};

/* Mounts. Requests wait until tfs_fuse_loop; tfs_fuse_attach must have been called by then. */
int tfs_fuse_mount(const struct tfs_fuse_options *options, struct tfs_fuse **fuse,
                   struct tfs_error *err);
/* Who answers. */
void tfs_fuse_attach(struct tfs_fuse *fuse, struct tfs_session *session);
/* Serves until the file system is unmounted or a SIGTERM, SIGINT or SIGHUP comes. Replies of the
 * session's worker may still come behind it: the connection stays open until tfs_fuse_close. */
int tfs_fuse_loop(struct tfs_fuse *fuse);
/* Unmounts, if that was not done from outside. The session must have ended: a reply into a
 * descriptor that was closed, and perhaps given to a save, would be written into that save. */
void tfs_fuse_close(struct tfs_fuse *fuse);

/* struct tfs_events.invalidate, with the struct tfs_fuse as arg. */
void tfs_fuse_invalidate(void *arg, uint64_t id);

#endif
