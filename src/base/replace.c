/*
 * Pieces of bytes -> a durable new file in the place of an old one, at one instant.
 *
 * Must not know what is in the file. The order of a replacement; each step begins only after the
 * one before has succeeded:
 *   1. the directory is opened, once and through no link; all names below are names in it;
 *   2. the temp file is made (O_EXCL, mode 0600) and locked;
 *   3. it gets the owner and the attributes of the old file;
 *   4. it is written; the caller reads it back and compares;
 *   5. it gets the mode of the old file;
 *   6. fdatasync of the temp file: from here on a power cut cannot leave a name without its bytes;
 *   7. the name has still the old file that was read, or none;
 *      The keeper of old files gives it a second name now, or copies it. That can take long, so
 *      the name is looked at once more;
 *   8. rename: from here on every reader meets the new file;
 *   9. fsync of the directory: from here on a power cut cannot bring the old file back;
 *  10. success is returned, and only then may anybody be told that an edit is saved
 *      (fs/store/thread.c).
 *
 * Invariants that follow:
 *   a. until 8 the old file is not touched; after it, nothing of the old one is used;
 *   b. a failure in 1 to 8 leaves the old file, and no temp file; a failure in 9 leaves the new one
 *      and returns EIO. A sync that failed is not asked again, because the kernel reports lost
 *      writes once: another attempt writes another temp file and begins at 1;
 *   c. a process that ends between 8 and 9 leaves a new file that is not durable. The next one that
 *      opens the save for writing syncs the directory before it shows anything (tfs_file_settle);
 *   d. at no instant can another process lock the new file, or take it for a stray;
 *   e. only its maker can read the temp file until it has owner, ACL and mode of the old one;
 *   f. a directory that is moved meanwhile takes the whole replacement with it, and who can change
 *      the path cannot lead a write out of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"

#define MARK          ".terrainfs-"
#define LETTERS       6
#define NAME_TRIES    100
#define BUFFER_SIZE   (256u << 10)
#define BEGIN_SIZE    (2u << 20) /* after so many bytes the disk is asked to begin */
#define ATTRIBUTE_MAX 65536      /* what the kernel allows for a value and for the list of names */
#define ACL_ACCESS    "system.posix_acl_access"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* ".NAME.terrainfs-", NAME cut where the whole would be longer than a file name can be. */
static void temp_prefix(const char *path, char prefix[NAME_MAX + 1])
{
    int room = NAME_MAX - 1 - (int)strlen(MARK) - LETTERS;

    snprintf(prefix, NAME_MAX + 1, ".%.*s" MARK, room, base_name(path));
}

/* ---- the new file gets what the old one has -------------------------------------------------- */

/* Is it no harm that this attribute cannot be set? Security modules set their labels themselves,
 * and a filesystem that cannot store an attribute never had it. */
static bool may_be_lost(const char *name, int error)
{
    return error == ENOTSUP || error == ENODATA || strncmp(name, "security.", 9) == 0;
}

static int copy_attribute(int from, int to, const char *name, void *value, struct tfs_error *err)
{
    ssize_t size = fgetxattr(from, name, value, ATTRIBUTE_MAX);

    if (size >= 0 && fsetxattr(to, name, value, (size_t)size, 0) == 0)
        return 0;
    if (may_be_lost(name, errno))
        return 0;
    return tfs_fail(err, -errno, "the attribute %s cannot be kept: %s", name, strerror(errno));
}

static int give_attributes(int to, int from, struct tfs_error *err)
{
    char *names = malloc(2 * ATTRIBUTE_MAX);

    if (names == NULL)
        return tfs_fail_memory(err);

    /* A directory can give its new files an ACL that the old file does not have. */
    if (fremovexattr(to, ACL_ACCESS) < 0 && errno != ENODATA && errno != ENOTSUP)
        tfs_fail_errno(err, "the permissions of the directory cannot be set aside");
    ssize_t size = flistxattr(from, names, ATTRIBUTE_MAX);
    if (size < 0 && errno != ENOTSUP)
        tfs_fail_errno(err, "the attributes cannot be listed");
    for (ssize_t at = 0; err->code == 0 && at < size; at += (ssize_t)strlen(names + at) + 1)
        copy_attribute(from, to, names + at, names + ATTRIBUTE_MAX, err);
    free(names);
    return err->code;
}

/* Owner and attributes. The mode comes when all is written, because a write takes set-id bits
 * away. */
static int inherit(int to, const struct tfs_file_handle *old, struct tfs_error *err)
{
    struct stat st;

    if (fstat(to, &st) < 0)
        return tfs_fail_errno(err, "the new copy cannot be examined");
    if ((st.st_uid != old->st.st_uid || st.st_gid != old->st.st_gid) &&
        fchown(to, old->st.st_uid, old->st.st_gid) < 0)
        return tfs_fail(err, -errno,
                        "the new copy cannot be given to user %u and group %u, to whom "
                        "the old one belongs: %s",
                        old->st.st_uid, old->st.st_gid, strerror(errno));
    return give_attributes(to, old->fd, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int fail_write(const struct tfs_replacement *r, int error, struct tfs_error *err)
{
    const char *name = base_name(r->path);
    int length = (int)(name - r->path);

    return tfs_fail(err, tfs_write_code(error), "the new copy could not be written in %.*s: %s",
                    length == 0 ? 1 : length, length == 0 ? "." : r->path, strerror(error));
}

/* The disk can write while we encode and verify; whether it did well is for fdatasync to say. */
static void begin(struct tfs_replacement *r, uint64_t written)
{
    sync_file_range(r->fd, (off_t)r->begun, (off_t)(written - r->begun), SYNC_FILE_RANGE_WRITE);
    r->begun = written;
}

static int write_all(struct tfs_replacement *r, const uint8_t *data, size_t size,
                     struct tfs_error *err)
{
    while (size > 0) {
        ssize_t written = write(r->fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fail_write(r, written < 0 ? errno : EIO, err);
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

static int flush(struct tfs_replacement *r, struct tfs_error *err)
{
    if (write_all(r, r->buffer, r->buffered, err) < 0)
        return err->code;
    r->buffered = 0;
    if (r->size - r->begun >= BEGIN_SIZE)
        begin(r, r->size);
    return 0;
}

/* Writes a large piece without copying it. Nothing is buffered then. */
static int write_large(struct tfs_replacement *r, const uint8_t *data, size_t size,
                       struct tfs_error *err)
{
    for (size_t step; size > 0; data += step, size -= step) {
        step = size < BEGIN_SIZE ? size : BEGIN_SIZE;
        r->size += step;
        if (write_all(r, data, step, err) < 0)
            return err->code;
        if (r->size - r->begun >= BEGIN_SIZE)
            begin(r, r->size);
    }
    return 0;
}

static int sink_write(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct tfs_replacement *r = (struct tfs_replacement *)sink; /* its first member */

    if (size > BUFFER_SIZE - r->buffered && flush(r, err) < 0)
        return err->code;
    if (size >= BUFFER_SIZE)
        return write_large(r, data, size, err);
    if (size > 0)
        memcpy(r->buffer + r->buffered, data, size);
    r->buffered += size;
    r->size += size;
    return 0;
}

/* ---- the life of a replacement --------------------------------------------------------------- */

static void release(struct tfs_replacement *r)
{
    if (r->fd >= 0) {
        unlinkat(r->directory, r->temp, 0);
        close(r->fd);
    }
    if (r->directory >= 0)
        close(r->directory);
    free(r->path);
    free(r->temp);
    free(r->buffer);
    *r = (struct tfs_replacement){.directory = -1, .fd = -1};
}

void tfs_replacement_cancel(struct tfs_replacement *r)
{
    if (r->path != NULL)
        release(r);
}

/* Makes it, and locks it, where there are locks. EEXIST: another one has that name, or it was taken
 * for a stray between the two. */
static int create_locked(struct tfs_replacement *r)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    struct stat made, named;

    r->fd = openat(r->directory, r->temp, flags, 0600);
    if (r->fd < 0)
        return -errno;
    const bool taken = flock(r->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (!taken && fstat(r->fd, &made) == 0 &&
        fstatat(r->directory, r->temp, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        made.st_ino == named.st_ino && made.st_dev == named.st_dev)
        return 0;
    unlinkat(r->directory, r->temp, 0);
    close(r->fd);
    r->fd = -1;
    return -EEXIST;
}

static int create_temp(struct tfs_replacement *r, struct tfs_error *err)
{
    size_t prefix = strlen(r->temp);
    unsigned char random[LETTERS];
    int result = -EEXIST;

    for (int i = 0; i < NAME_TRIES && result == -EEXIST; i++) {
        if (getrandom(random, sizeof(random), 0) != sizeof(random))
            return tfs_fail_errno(err, "no random name could be made");
        for (size_t n = 0; n < LETTERS; n++)
            r->temp[prefix + n] = letters[random[n] % (sizeof(letters) - 1)];
        result = create_locked(r);
    }
    return result < 0 ? fail_write(r, -result, err) : 0;
}

static int prepare(struct tfs_replacement *r, const char *path, struct tfs_error *err)
{
    char *directory = tfs_file_directory(path);

    r->path = strdup(path);
    r->temp = calloc(1, NAME_MAX + 1);
    r->buffer = malloc(BUFFER_SIZE);
    if (directory == NULL || r->path == NULL || r->temp == NULL || r->buffer == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    temp_prefix(path, r->temp);
    r->directory = tfs_directory_open(directory);
    if (r->directory == -ELOOP)
        tfs_fail(err, -ELOOP, "its directory is reached through a link that was not there before");
    else if (r->directory < 0)
        tfs_fail(err, r->directory, "the directory of the save cannot be opened: %s",
                 strerror(-r->directory));
out:
    free(directory);
    return err->code;
}

int tfs_replacement_open(const char *path, const struct tfs_file_handle *old,
                         struct tfs_replacement *r, struct tfs_error *err)
{
    struct tfs_replacement opened = {.sink = {sink_write}, .directory = -1, .fd = -1};

    if (prepare(&opened, path, err) < 0 || create_temp(&opened, err) < 0 ||
        (old != NULL && inherit(opened.fd, old, err) < 0)) {
        release(&opened);
        return err->code;
    }
    *r = opened;
    return 0;
}

int tfs_replacement_read(struct tfs_replacement *r, struct tfs_blob **blob, struct tfs_error *err)
{
    struct tfs_file_handle temp = {.fd = r->fd};
    struct tfs_blob *read = NULL;

    if (flush(r, err) < 0)
        return err->code;
    begin(r, r->size);
    if (tfs_file_read(&temp, UINT64_MAX, &read, err) < 0)
        return err->code;
    if (read->size != r->size) {
        tfs_blob_unref(read);
        return tfs_fail(err, -EIO, "the new copy does not read back as it was written");
    }
    *blob = read;
    return 0;
}

int tfs_replacement_readback(struct tfs_replacement *r, struct tfs_readback *readback,
                             struct tfs_error *err)
{
    *readback = (struct tfs_readback){.fd = -1};
    if (flush(r, err) < 0)
        return err->code;
    begin(r, r->size);
    return tfs_readback_init(readback, r->fd, r->size, err);
}

/* All bytes of a file, piece by piece. `to`: NULL or who takes them. */
static int read_all(struct tfs_readback *from, struct tfs_sink *to, struct tfs_hash *hash,
                    struct tfs_error *err)
{
    struct tfs_span piece;

    do {
        if (tfs_readback_take(from, SIZE_MAX, &piece, err) < 0 ||
            (to != NULL && tfs_sink_span(to, piece, err) < 0))
            return err->code;
    } while (piece.size > 0);
    return tfs_readback_end(from, hash, err);
}

int tfs_replacement_copy(struct tfs_replacement *r, const struct tfs_file_handle *from,
                         struct tfs_error *err)
{
    struct tfs_readback source = {.fd = -1}, written = {.fd = -1};
    struct tfs_hash old, new;
    struct stat now;

    if (tfs_readback_init(&source, from->fd, (uint64_t)from->st.st_size, err) == 0 &&
        read_all(&source, &r->sink, &old, err) == 0 &&
        tfs_replacement_readback(r, &written, err) == 0 &&
        read_all(&written, NULL, &new, err) == 0 && !tfs_hash_equal(old, new))
        tfs_fail(err, -EIO, "the new copy does not read back as it was written");
    /* A second name may have moved its ctime. */
    if (err->code == 0 && (fstat(from->fd, &now) < 0 || now.st_size != from->st.st_size ||
                           now.st_mtim.tv_sec != from->st.st_mtim.tv_sec ||
                           now.st_mtim.tv_nsec != from->st.st_mtim.tv_nsec))
        tfs_fail(err, -EAGAIN, "is being written by another program");
    tfs_readback_release(&written);
    tfs_readback_release(&source);
    return err->code;
}

/* ---- taking the old one's place -------------------------------------------------------------- */

/* Has the name still the old file? Looked for in the directory in which the name will change: a
 * path could lead elsewhere by now. */
static int check_old(int directory, const char *path, const struct tfs_file_handle *old,
                     struct tfs_error *err)
{
    struct stat now;

    if (old->fd < 0)
        return 0;
    int result = fstatat(directory, base_name(path), &now, AT_SYMLINK_NOFOLLOW);
    if (result < 0 && errno != ENOENT)
        return tfs_fail_errno(err, "cannot be examined");
    if (result < 0 || !tfs_file_same(&now, &old->st))
        return tfs_fail(err, -ESTALE, "was changed by another program since it was read");
    return 0;
}

/* The keeper may read lists and copy files: another program saves in that time, too. */
static int keep_old(struct tfs_keeper *keeper, int directory, const char *path,
                    struct tfs_file_handle *old, const struct stat *new, struct tfs_error *err)
{
    if (keeper == NULL)
        return 0;
    if (keeper->before(keeper, path, old, new, err) < 0)
        return err->code;
    return check_old(directory, path, old, err);
}

/* Renames to a name that must be free. */
static int rename_new(const struct tfs_replacement *r, const char *name)
{
    struct stat st;

    if (renameat2(r->directory, r->temp, r->directory, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    /* This filesystem has no RENAME_NOREPLACE: looking first is the best there is. */
    if (fstatat(r->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(r->directory, r->temp, r->directory, name);
}

/* The rename; then `file` is the new file's handle. The rename changes ctime and nothing else: what
 * differs more was already changed by another program, which the identity from before will show. */
static int take_place(struct tfs_replacement *r, struct tfs_file_handle *file, struct stat written,
                      struct tfs_error *err)
{
    const char *name = base_name(r->path);
    struct stat now;

    int result =
        file->fd < 0 ? rename_new(r, name) : renameat(r->directory, r->temp, r->directory, name);
    if (result < 0)
        return tfs_fail_errno(err, "the new copy cannot take its place");
    tfs_file_close(file);
    file->fd = r->fd;
    r->fd = -1;
    file->st = written;
    if (fstat(file->fd, &now) == 0) {
        written.st_ctim = now.st_ctim;
        if (tfs_file_same(&written, &now))
            file->st = now;
    }
    return 0;
}

struct tfs_taking {
    struct tfs_replacement *r;
    struct tfs_file_handle *file;
    struct tfs_error *err;
};

void tfs_replacement_take(const struct tfs_taking *t)
{
    struct tfs_replacement *r = t->r;
    struct stat written;

    if (check_old(r->directory, r->path, t->file, t->err) < 0)
        return;
    if (fstat(r->fd, &written) < 0)
        tfs_fail_errno(t->err, "the new copy cannot be examined");
    else if (keep_old(r->keeper, r->directory, r->path, t->file, &written, t->err) == 0)
        take_place(r, t->file, written, t->err);
}

int tfs_file_remove(int directory, const char *path, struct tfs_file_handle *file,
                    struct tfs_keeper *keeper, struct tfs_error *err)
{
    if (check_old(directory, path, file, err) < 0)
        return err->code;
    if (keep_old(keeper, directory, path, file, NULL, err) == 0 &&
        unlinkat(directory, base_name(path), 0) < 0)
        tfs_fail_errno(err, "cannot be removed");
    return err->code;
}

static int take_place_at_once(struct tfs_replacement *r, struct tfs_file_handle *file,
                              struct tfs_error *err)
{
    const struct tfs_taking taking = {r, file, err};

    if (r->moment != NULL)
        r->moment(r->moment_arg, &taking);
    else
        tfs_replacement_take(&taking);
    return err->code;
}

/* Some filesystems cannot sync a directory, and say so with EINVAL. */
int tfs_directory_sync(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -errno;
}

int tfs_replacement_give(struct tfs_replacement *r, const struct stat *like, struct tfs_error *err)
{
    int result = tfs_file_give(r->fd, like);

    if (result < 0)
        return tfs_fail(err, result, "the new file cannot be given to user %u and group %u: %s",
                        like->st_uid, like->st_gid, strerror(-result));
    if (fchmod(r->fd, like->st_mode & 0777) < 0)
        tfs_fail_errno(err, "the permissions cannot be set");
    return err->code;
}

int tfs_replacement_give_all(struct tfs_replacement *r, const struct tfs_file_handle *like,
                             struct tfs_error *err)
{
    if (tfs_replacement_give(r, &like->st, err) < 0)
        return err->code;
    return give_attributes(r->fd, like->fd, err);
}

int tfs_replacement_finish(struct tfs_replacement *r, struct tfs_file_handle *file,
                           struct tfs_error *err)
{
    if (flush(r, err) < 0)
        goto out;
    if (file->fd >= 0 && fchmod(r->fd, file->st.st_mode & 07777) < 0) {
        tfs_fail_errno(err, "the permissions cannot be kept");
        goto out;
    }
    if (fdatasync(r->fd) < 0) {
        fail_write(r, errno, err);
        goto out;
    }
    if (take_place_at_once(r, file, err) < 0)
        goto out;
    int result = tfs_directory_sync(r->directory);
    if (result < 0)
        tfs_fail(err, -EIO, "was written, but its directory cannot be made durable: %s",
                 strerror(-result));
out:
    release(r);
    return err->code;
}

int tfs_file_settle(const char *path, struct tfs_error *err)
{
    char *directory = tfs_file_directory(path);

    if (directory == NULL)
        return tfs_fail_memory(err);
    tfs_directory_settle(directory, err);
    free(directory);
    return err->code;
}

/* Where the directory cannot be opened, or is read-only, nothing can be replaced. */
int tfs_directory_settle(const char *path, struct tfs_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    int result = tfs_directory_sync(fd);
    close(fd);
    if (result == 0 || result == -EROFS)
        return 0;
    return tfs_fail(err, -EIO, "its directory cannot be made durable: %s", strerror(-result));
}

/* ---- strays ---------------------------------------------------------------------------------- */

static bool is_stray_name(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(name, prefix, length) == 0 && strlen(name + length) == LETTERS &&
           strspn(name + length, letters) == LETTERS;
}

/* Opens a stray that nobody works on; negative: there is none of that name. */
static int open_stray(int directory, const char *name)
{
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Removes them, or with `is` looks for one of which that is true. */
static bool each_stray(const char *path, bool (*is)(void *arg, int fd), void *arg)
{
    char prefix[NAME_MAX + 1];
    char *name = tfs_file_directory(path);
    DIR *directory = name == NULL ? NULL : opendir(name);
    bool found = false;

    free(name);
    if (directory == NULL)
        return false;
    temp_prefix(path, prefix);
    for (struct dirent *entry; !found && (entry = readdir(directory)) != NULL;) {
        int fd =
            is_stray_name(entry->d_name, prefix) ? open_stray(dirfd(directory), entry->d_name) : -1;
        if (fd < 0)
            continue;
        if (is != NULL)
            found = is(arg, fd);
        else
            unlinkat(dirfd(directory), entry->d_name, 0);
        close(fd);
    }
    closedir(directory);
    return found;
}

void tfs_file_remove_strays(const char *path)
{
    (void)each_stray(path, NULL, NULL);
}

bool tfs_file_find_stray(const char *path, bool (*is)(void *arg, int fd), void *arg)
{
    return each_stray(path, is, arg);
}
