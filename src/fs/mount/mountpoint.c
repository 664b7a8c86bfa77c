/*
 * The name of a directory -> the place of a mount, that nobody else takes meanwhile.
 *
 * Must not know libfuse, nor what is mounted.
 */
#include "fs/mount/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mounts.h"

/* A mount of ours whose process was killed is of no use to anybody. */
static int clear(struct tfs_mountpoint *point, struct tfs_error *err)
{
    char text[TFS_ERROR_TEXT + 2 * PATH_MAX], *save = NULL;
    int count = tfs_unmount_dead(point->path, &save, err);

    if (count > 0) {
        snprintf(text, sizeof(text), "%s: took away the dead mount of %s, whose process had ended",
                 point->name, save);
        point->say(text);
    }
    free(save);
    return count < 0 ? count : 0;
}

/* Of two mounts that begin at once on one directory, neither would see the other. */
static int lock(struct tfs_mountpoint *point, struct tfs_error *err)
{
    point->locked = open(point->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (point->locked >= 0 && flock(point->locked, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return tfs_fail(err, -EBUSY,
                        "another mount is beginning here, or a program has locked the directory");
    return 0;
}

/* Over other mounts we mount as every file system does, but not over a live one of ours: a user
 * that does that has forgotten it. */
static int refuse_mounted(const struct tfs_mountpoint *point, struct tfs_error *err)
{
    struct tfs_mounted top;

    if (tfs_mounted_at(point->path, &top) <= 0)
        return 0;
    if (tfs_mounted_is_ours(&top))
        tfs_fail(err, -EBUSY, "%s is mounted here already", top.source);
    else if (strncmp(top.type, "fuse", 4) == 0 && tfs_mounted_is_dead(point->path))
        tfs_fail(err, -ENOTCONN,
                 "the mount point is a dead mount (%s), whose process has ended: "
                 "\"fusermount3 -u %s\" takes it away",
                 top.type, point->path);
    tfs_mounted_release(&top);
    return err->code;
}

static bool lies_in(const char *path, const char *directory)
{
    size_t n = strlen(directory);

    if (n > 0 && directory[n - 1] == '/')
        n--;
    return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

int tfs_mountpoint_check(const struct tfs_mountpoint *point, const char *save,
                         struct tfs_error *err)
{
    if (lies_in(save, point->path))
        return tfs_fail(err, -EINVAL, "the mount point contains the save %s", save);
    if (lies_in(point->path, save))
        return tfs_fail(err, -EINVAL, "the mount point lies in the save %s", save);
    return 0;
}

/* Checked before the mount point is locked: a save inside it would take the lock for another
 * program's. */
static int check_named(const struct tfs_mountpoint *point, const char *name, struct tfs_error *err)
{
    char *save = realpath(name, NULL);
    int result = save != NULL ? tfs_mountpoint_check(point, save, err) : 0;

    free(save);
    return result;
}

int tfs_mountpoint_find(struct tfs_mountpoint *point, const char *save, struct tfs_error *err)
{
    struct stat st;

    point->path = realpath(point->name, NULL);
    if (point->path == NULL && errno == ENOENT)
        return tfs_fail(err, -ENOENT, "there is no such directory; mkdir makes the mount point");
    if (point->path == NULL)
        return tfs_fail_errno(err, "the mount point cannot be used");
    if (clear(point, err) < 0 || check_named(point, save, err) < 0 || lock(point, err) < 0 ||
        refuse_mounted(point, err) < 0)
        return err->code;
    if (stat(point->path, &st) < 0)
        return tfs_fail_errno(err, "the mount point cannot be used");
    if (!S_ISDIR(st.st_mode))
        return tfs_fail(err, -ENOTDIR, "the mount point is not a directory");
    return 0;
}

static void unlock(struct tfs_mountpoint *point)
{
    if (point->locked >= 0)
        close(point->locked);
    point->locked = -1;
}

void tfs_mountpoint_taken(struct tfs_mountpoint *point)
{
    point->mounted = tfs_mounted_id(point->path);
    unlock(point);
}

bool tfs_mountpoint_is_covered(const struct tfs_mountpoint *point)
{
    const uint64_t top = tfs_mounted_id(point->path);

    return point->mounted != 0 && top != 0 && top != point->mounted;
}

void tfs_mountpoint_release(struct tfs_mountpoint *point)
{
    unlock(point);
    free(point->path);
    point->path = NULL;
}
