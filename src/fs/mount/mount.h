/*
 * A mount as the user asked for it, and the one function that does it: all that the command line
 * knows of FUSE.
 */
#ifndef TFS_FS_MOUNT_MOUNT_H
#define TFS_FS_MOUNT_MOUNT_H

#include "fs/session/session.h"

#define TFS_SCRATCH_SIZE (UINT64_C(64) << 20)
#define TFS_CACHE_SIZE   (UINT64_C(8) << 20) /* the kernel has its own cache besides */

struct tfs_mount_options {
    bool foreground; /* -f */
    bool debug;      /* -d; it stays in the foreground too */
    bool read_only;  /* -o ro */
    unsigned views;  /* enum tfs_file_views; 0: all */
    bool upgrade;
    bool commit_auto;   /* commit=auto; else every close is a commit */
    const char *format; /* NULL: found by probing */
    const char *name;   /* of commands: what the save is called (struct tfs_open_options) */
    bool later;         /* of commands: chunks may be read later (struct tfs_open_options) */
    uint64_t scratch_size;
    uint64_t cache_size; /* rendered files */
    uint64_t inflate_limit;
    unsigned threads;             /* 0: as many as CPUs that it may run on */
    unsigned max_read;            /* 0: what the kernel likes */
    struct tfs_undo_options undo; /* what is replaced is kept; -o backup */
    char *backup;                 /* undo.directory, or NULL */
    char *fuse_options; /* all that is not ours, joined by commas, for libfuse and mount; or NULL */
};

/* Mounts `save`, opened with `open`, on `mountpoint` and says on stderr why it cannot; then nothing
 * is mounted. Without `foreground` another process serves it, and this one ends at once with the
 * exit status (status.h) when that is ready or has failed. Returns the exit status otherwise. */
int tfs_mount(const struct tfs_mount_options *options, const struct tfs_open_options *open,
              const char *save, const char *mountpoint);

#endif
