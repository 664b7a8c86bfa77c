/*
 * Requests of the kernel to the session, and its answers. For fuse.c only, which receives them.
 */
#ifndef TFS_FS_MOUNT_REQUESTS_H
#define TFS_FS_MOUNT_REQUESTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tfs_session;

/* What libfuse hands to each request as its user data. */
struct tfs_fuse_requests {
    struct tfs_session *session;
    struct fuse_session *se;
    pthread_mutex_t giving; /* a text to the kernel: no file is opened for reading meanwhile */
    unsigned max_read;      /* of struct tfs_mount_options */
    bool read_ahead;        /* of arrays: another thread answers meanwhile */
    bool names_last;        /* the kernel can be told that all names are stale */
    bool initialized;       /* INIT was answered */
    atomic_uint listings;   /* so many more give the attributes of files */
};

struct fuse_lowlevel_ops;
extern const struct fuse_lowlevel_ops tfs_fuse_operations;

#endif
