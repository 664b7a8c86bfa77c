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
    unsigned max_read;   /* of struct tfs_mount_options */
    bool read_ahead;     /* of arrays: another thread answers meanwhile */
    bool initialized;    /* INIT was answered */
    bool skip_open;      /* nobody must know what is open, and the kernel can do without OPEN */
    bool skip_opendir;   /* ... and without OPENDIR */
    atomic_int listings; /* so many more give the attributes of files */
};

struct fuse_lowlevel_ops;
extern const struct fuse_lowlevel_ops tfs_fuse_operations;

#endif
