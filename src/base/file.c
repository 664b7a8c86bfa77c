/*
 * A path -> an open, locked file and its bytes, with the identity that belongs to just these bytes.
 *
 * Must not know what is in the file. Nothing is mapped: a file that somebody cuts while it is read
 * is an error here, never a SIGBUS. Replacing a file is replace.c.
 */
#include "base/file.h"
#include "base/print.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <limits.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mounts.h"

#define OPEN_TRIES    16
#define READ_TRIES    5
#define READ_PAUSE_NS 20000000 /* between two tries to read a file that changes */
#define READ_STEP     (1u << 20)

int tfs_sink_span(struct tfs_sink *sink, struct tfs_span span, struct tfs_error *err)
{
    return sink->write(sink, span.data, span.size, err);
}

bool tfs_file_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* ---- opening and locking --------------------------------------------------------------------- */

/* Opens without following a link (the path is resolved already: a link here is somebody's doing)
 * and without waiting for the other end of a FIFO. */
static int open_regular(const char *path, int access, struct tfs_file_handle *file,
                        struct tfs_error *err)
{
    int fd = open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return tfs_fail_errno(err, "cannot be opened");
    if (fstat(fd, &file->st) < 0) {
        tfs_fail_errno(err, "cannot be examined");
        close(fd);
        return err->code;
    }
    if (!S_ISREG(file->st.st_mode)) {
        close(fd);
        return tfs_fail(err, -EINVAL, "is not a regular file");
    }
    file->fd = fd;
    return 0;
}

/* 1: locked, and still the file of that path; 0: the path has another file by now. */
static int lock_file(const char *path, struct tfs_file_handle *file, struct tfs_error *err)
{
    struct stat now;

    if (tfs_lock_save(file->fd, path, err) == -EBADF) {
        /* Network filesystems lock for writing only what is open for writing. */
        tfs_error_reset(err);
        tfs_file_close(file);
        if (open_regular(path, O_RDWR, file, err) == 0)
            tfs_lock_save(file->fd, path, err);
    }
    if (err->code < 0)
        return err->code;
    return lstat(path, &now) == 0 && now.st_dev == file->st.st_dev && now.st_ino == file->st.st_ino;
}

int tfs_file_open(const char *path, bool exclusive, struct tfs_file_handle *file,
                  struct tfs_error *err)
{
    struct tfs_file_handle opened = {.fd = -1};

    /* Between open and lock another terrainfs may have put a new file in the place of this one. */
    for (int i = 0; i < OPEN_TRIES; i++) {
        if (open_regular(path, O_RDONLY, &opened, err) < 0)
            return err->code;
        int locked = exclusive ? lock_file(path, &opened, err) : 1;
        if (locked == 1) {
            *file = opened;
            return 0;
        }
        tfs_file_close(&opened);
        if (locked < 0)
            return locked;
    }
    return tfs_fail(err, -EAGAIN, "is being replaced again and again by another program");
}

/* A lease is given only where nobody has; the signal that takes it back is one that does
 * nothing. */
bool tfs_file_is_written(int fd)
{
    if (fcntl(fd, F_SETSIG, SIGURG) < 0)
        return false;
    if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
        return errno == EAGAIN;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
}

void tfs_file_close(struct tfs_file_handle *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

ssize_t tfs_file_read_at(int fd, uint64_t offset, void *out, size_t size)
{
    size_t done = 0;
    ssize_t got = 1;

    while (done < size && got != 0) {
        got = pread(fd, (uint8_t *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return -errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

static int fail_limit(uint64_t limit, struct tfs_error *err)
{
    return tfs_fail(err, -EFBIG, "is larger than %" PRIu64 " bytes, at most so many are read",
                    limit);
}

/* Appends what the file holds now, from its beginning to its end; `expected` bytes and the end come
 * with the first step. */
static int read_to_end(int fd, uint64_t expected, uint64_t limit, struct tfs_buf *out,
                       struct tfs_error *err)
{
    for (size_t step = (size_t)expected + 1;;) {
        uint8_t *room = tfs_buf_reserve(out, step);
        if (room == NULL)
            return tfs_buf_check(out, err);
        ssize_t got = pread(fd, room, step, (off_t)out->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tfs_fail_errno(err, "cannot be read");
        if (got == 0)
            return 0;
        out->size += (size_t)got;
        if (out->size > limit)
            return fail_limit(limit, err);
        step = (size_t)got < step ? step - (size_t)got : READ_STEP;
    }
}

/* One try: 1 when the file was the same before and after, and *st is its identity; 0 when not. */
static int read_once(int fd, uint64_t limit, tfs_file_read_fn read, void *arg, struct stat *st,
                     struct tfs_error *err)
{
    struct stat before;

    if (fstat(fd, &before) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if (before.st_size < 0 || (uint64_t)before.st_size > limit)
        return fail_limit(limit, err);
    read(arg, fd, (uint64_t)before.st_size, err);
    if (err->code == -ENOMEM || err->code == -EFBIG)
        return err->code;
    if (fstat(fd, st) < 0)
        return err->code < 0 ? err->code : tfs_fail_errno(err, "cannot be examined");
    if (tfs_file_same(&before, st))
        return err->code < 0 ? err->code : 1;
    tfs_error_reset(err);
    return 0;
}

int tfs_file_read_by(struct tfs_file_handle *file, uint64_t limit, tfs_file_read_fn read, void *arg,
                     struct tfs_error *err)
{
    const struct timespec pause = {.tv_nsec = READ_PAUSE_NS};
    struct stat st;
    int whole = 0;

    for (int i = 0; i < READ_TRIES && whole == 0; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        whole = read_once(file->fd, limit, read, arg, &st, err);
    }
    if (whole == 0)
        return tfs_fail(err, -EAGAIN, "is being written by another program");
    if (whole > 0)
        file->st = st;
    return err->code;
}

/* All bytes of a file. */
struct reading {
    struct tfs_buf bytes;
    uint64_t limit;
};

static int read_whole(void *arg, int fd, uint64_t size, struct tfs_error *err)
{
    struct reading *r = arg;

    tfs_buf_clear(&r->bytes);
    if (read_to_end(fd, size, r->limit, &r->bytes, err) == 0 && r->bytes.size != size)
        tfs_fail(err, -EAGAIN, "is being written by another program");
    return err->code;
}

int tfs_file_read(struct tfs_file_handle *file, uint64_t limit, struct tfs_blob **blob,
                  struct tfs_error *err)
{
    struct reading r = {.limit = limit};

    if (tfs_file_read_by(file, limit, read_whole, &r, err) == 0)
        tfs_blob_take(&r.bytes, blob, err);
    tfs_buf_release(&r.bytes);
    return err->code;
}

int tfs_file_changed(const char *path, const struct stat *st, struct tfs_error *err)
{
    struct stat now;

    if (lstat(path, &now) == 0)
        return !tfs_file_same(&now, st);
    if (errno == ENOENT || errno == ENOTDIR)
        return 1;
    return tfs_fail_errno(err, "cannot be examined");
}

int tfs_write_all(int fd, struct tfs_span bytes)
{
    for (size_t done = 0; done < bytes.size;) {
        const ssize_t n = write(fd, bytes.data + done, bytes.size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return n == 0 ? -EIO : -errno;
    }
    return 0;
}

/* ---- may it be replaced ---------------------------------------------------------------------- */

void tfs_file_make_parents(char *path, mode_t mode)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, mode);
        *slash = '/';
    }
}

char *tfs_state_directory(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const bool has_state = state != NULL && state[0] == '/';
    char *path = NULL;

    errno = ENOENT;
    if (!has_state && (home == NULL || home[0] != '/'))
        return NULL;
    errno = ENOMEM;
    return tfs_print(&path, "%s%s", has_state ? state : home, has_state ? "" : "/.local/state") < 0
               ? NULL
               : path;
}

char *tfs_file_directory(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int tfs_directory_empty(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    int empty = 1;

    if (directory == NULL)
        return -errno;
    while (empty == 1 && (errno = 0, entry = readdir(directory)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (empty == 1 && errno != 0)
        empty = -errno;
    closedir(directory);
    return empty;
}

/* Kernels before 5.6 know no such rule for the whole path, and some sandboxes forbid what they do
 * not know: then it holds for the last name alone. */
int tfs_directory_open(const char *path)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const struct open_how how = {.flags = flags, .resolve = RESOLVE_NO_SYMLINKS};
    struct stat st;
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open(path, flags | O_NOFOLLOW);
    if (fd >= 0)
        return fd;
    const int code = errno;
    /* O_NOFOLLOW says ENOTDIR of a link. */
    return code == ENOTDIR && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? -ELOOP : -code;
}

int tfs_file_give(int fd, const struct stat *like)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((st.st_uid == like->st_uid && st.st_gid == like->st_gid) ||
        fchown(fd, like->st_uid, like->st_gid) == 0)
        return 0;
    return errno == EPERM && geteuid() != 0 ? 0 : -errno;
}

/* The new file must have the owner of the old one; only root can give files away. */
static int check_owner(const struct stat *file, const struct stat *directory, struct tfs_error *err)
{
    if (geteuid() == 0)
        return 0;
    if ((directory->st_mode & S_ISVTX) != 0 && file->st_uid != geteuid() &&
        directory->st_uid != geteuid())
        return tfs_fail(err, -EPERM, "its directory lets only the owner of a file replace it");
    if (file->st_uid != geteuid())
        return tfs_fail(err, -EPERM,
                        "it belongs to another user (%u), to whom a new file could not "
                        "be given",
                        file->st_uid);
    bool inherited = (directory->st_mode & S_ISGID) != 0 && directory->st_gid == file->st_gid;
    if (!inherited && file->st_gid != getegid() && !group_member(file->st_gid))
        return tfs_fail(err, -EPERM,
                        "it belongs to a group (%u) to which a new file could not be "
                        "given: chgrp gives it to one of yours",
                        file->st_gid);
    return 0;
}

/* A file that is a mount point itself (containers do this) cannot be renamed over. */
static int check_mount(const char *path, const char *directory, struct tfs_error *err)
{
    const int flags = AT_SYMLINK_NOFOLLOW;
    struct statx file, above;

    if (statx(AT_FDCWD, path, flags, STATX_MNT_ID, &file) < 0 ||
        statx(AT_FDCWD, directory, flags, STATX_MNT_ID, &above) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if ((file.stx_mask & above.stx_mask & STATX_MNT_ID) != 0 && file.stx_mnt_id != above.stx_mnt_id)
        return tfs_fail(err, -EBUSY,
                        "it is mounted by itself, so that it cannot be replaced; give "
                        "access to its directory instead");
    return 0;
}

static int check_replaceable(const char *path, const char *directory, struct tfs_error *err)
{
    struct stat file, above;

    if (eaccess(path, W_OK) < 0)
        return tfs_fail_errno(err, "it is write-protected");
    if (eaccess(directory, R_OK | W_OK | X_OK) < 0)
        return tfs_fail_errno(err,
                              "its directory, where a new one would be made, cannot be written");
    if (stat(path, &file) < 0 || stat(directory, &above) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if (check_owner(&file, &above, err) < 0)
        return err->code;
    return check_mount(path, directory, err);
}

int tfs_file_writable(const char *path, struct tfs_error *err)
{
    char *directory = tfs_file_directory(path);

    if (directory == NULL)
        return tfs_fail_memory(err);
    int result = check_replaceable(path, directory, err);
    free(directory);
    return result;
}
