/*
 * The directory that a save is mounted on: it is looked at, and locked against another mount that
 * begins there, before anything is mounted.
 */
#ifndef TFS_FS_MOUNT_MOUNTPOINT_H
#define TFS_FS_MOUNT_MOUNTPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct tfs_mountpoint {
    const char *name;              /* as the user calls it */
    void (*say)(const char *text); /* tells the user something that is no failure */
    char *path;                    /* absolute, without links; NULL until it was found */
    int locked;                    /* open until we have mounted there; -1 before and after */
    uint64_t mounted;              /* the id of our mount in the kernel's table; 0: not known */
};

/* Finds it by its name, takes a dead mount of ours away, and locks it. EBUSY: a mount of ours is
 * there or begins, or a program locked the directory; EINVAL: as of tfs_mountpoint_check, of
 * `save`, a path as the user gave it; ENOENT, ENOTDIR, ENOTCONN (a dead mount of another file
 * system). */
int tfs_mountpoint_find(struct tfs_mountpoint *point, const char *save, struct tfs_error *err);

/* EINVAL: the mount point is the save or above it, so that the session could not replace the save;
 * or it is inside the save and would count as a part of it. `save` is absolute, without links. */
int tfs_mountpoint_check(const struct tfs_mountpoint *point, const char *save,
                         struct tfs_error *err);

/* We have mounted there: others see it, so the lock goes. */
void tfs_mountpoint_taken(struct tfs_mountpoint *point);
/* Did another program mount over our mount? */
bool tfs_mountpoint_is_covered(const struct tfs_mountpoint *point);

void tfs_mountpoint_release(struct tfs_mountpoint *point);

#endif
