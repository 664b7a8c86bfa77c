/*
 * What is mounted where, as the kernel's table says it, and taking a mount away.
 *
 * The process that serves a mount is asked by tfs_mounted_is_dead alone: everything else answers
 * for a mount whose process hangs, too.
 */
#ifndef TFS_BASE_MOUNTS_H
#define TFS_BASE_MOUNTS_H

#include <stdbool.h>

#include "base/error.h"

/* The subtype of every mount of ours, and the type that the table shows. */
#define TFS_MOUNT_SUBTYPE "terrainfs"
#define TFS_MOUNT_TYPE    "fuse." TFS_MOUNT_SUBTYPE

/* A row of the table. Strings are malloc'ed and the row's (tfs_mounted_release). */
struct tfs_mounted {
    uint64_t id;
    char *point;  /* an absolute path */
    char *type;   /* "ext4", "fuse.terrainfs" */
    char *source; /* the device; of our mounts the save */
    bool read_only;
};

void tfs_mounted_release(struct tfs_mounted *mount);
bool tfs_mounted_is_ours(const struct tfs_mounted *mount);

/* The mount whose root `path`, an absolute one, is; the uppermost of several. 1: *mount; 0: there
 * is none, or the kernel does not tell; -ENOMEM. */
int tfs_mounted_at(const char *path, struct tfs_mounted *mount);

/* The id of that mount; 0: as above. Reads the table only where the kernel tells no other way: it
 * has a row for every mount of the machine. */
uint64_t tfs_mounted_id(const char *path);

/* Has the process that serves the mount ended? Waits for the answer of one that lives. */
bool tfs_mounted_is_dead(const char *point);

/* Unmounts what is uppermost on `path`; by fusermount3, where only that may. `lazily`: also while
 * programs use it. EBUSY: they do. */
int tfs_unmount(const char *path, bool lazily, struct tfs_error *err);

/* Unmounts our mounts on `path` whose process has ended, from the uppermost down to the first that
 * is not so. How many, or negative; *source, if not NULL: the save of the last, to be freed. */
int tfs_unmount_dead(const char *path, char **source, struct tfs_error *err);

/* Locks the save `path` for writing by its file or directory `fd`. A lock of which no mount is seen
 * is waited for, five seconds at most: umount(8) returns before the process of a mount has written
 * the save and ended. Negative: -EBADF may mean that `fd` has to be open for writing. */
int tfs_lock_save(int fd, const char *path, struct tfs_error *err);

#endif
