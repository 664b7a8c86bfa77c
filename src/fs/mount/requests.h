/*
 * Requests of the kernel to the session, and its answers. For fuse.c only, which receives them.
 */
#ifndef TFS_FS_MOUNT_REQUESTS_H
#define TFS_FS_MOUNT_REQUESTS_H

#include <stdatomic.h>
#include <stdbool.h>

struct tfs_session;

/* What libfuse hands to each request as its user data. */
struct tfs_fuse_requests {
    struct tfs_session *session;
    bool initialized;  /* INIT was answered */
    bool skip_open;    /* the kernel can do without OPEN (read-only mounts) */
    bool skip_opendir; /* ... and without OPENDIR */
    bool read_only;
    unsigned max_read;
    bool arrays;         /* as of struct tfs_fuse_options */
    bool read_ahead;     /* of arrays: another thread answers meanwhile */
    atomic_int listings; /* so many more give the attributes of files */
};

struct fuse_lowlevel_ops;
extern const struct fuse_lowlevel_ops tfs_fuse_operations;

#endif
