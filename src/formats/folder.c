/*
 * The directories and files of a save: locked, made, watched, listed.
 *
 * Must not know any format, nor documents.
 */
#include "formats/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mounts.h"
#include "base/print.h"

#define STRAY ".terrainfs-"

/* ---- the lock -------------------------------------------------------------------------------- */

/* A link is somebody's doing: the path was resolved when the save was opened. */
int tfs_folder_lock(const char *path, enum tfs_folder_lock lock, int *fd, struct tfs_error *err)
{
    static const int operations[] = {
        [TFS_FOLDER_SHARED] = LOCK_SH | LOCK_NB, [TFS_FOLDER_EXCLUSIVE] = LOCK_EX | LOCK_NB};
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (opened < 0)
        return tfs_fail_errno(err, "cannot be opened");
    if (lock == TFS_FOLDER_UNLOCKED || flock(opened, operations[lock]) == 0) {
        *fd = opened;
        return 0;
    }
    if (errno == EWOULDBLOCK)
        tfs_fail_locked(path, err);
    else
        tfs_fail_errno(err, "cannot be locked");
    close(opened);
    return err->code;
}

int tfs_folder_check(const char *path, int fd, struct tfs_error *err)
{
    struct stat locked, now;

    if (lstat(path, &now) < 0)
        return tfs_fail(err, -EIO, "the folder is not where it was: %s", strerror(errno));
    if (fstat(fd, &locked) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    if (locked.st_dev != now.st_dev || locked.st_ino != now.st_ino)
        return tfs_fail(err, -ESTALE, "the folder was replaced by another program");
    return 0;
}

int tfs_folder_check_allowed(const struct tfs_save *save, struct tfs_error *err)
{
    if (save->read_only != NULL)
        return tfs_fail(err, -EROFS, "cannot be written: %s", save->read_only);
    if (save->options.lock != TFS_LOCK_EXCLUSIVE)
        return tfs_fail(err, -EROFS, "was opened for reading only");
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A directory that root makes belongs to the owner of the save. By now its name may be that of
 * another one, which is not ours to give. */
static int give_directory(int parent, const char *name, const struct stat *like)
{
    struct stat st;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    int result = fstat(fd, &st) < 0 ? -errno : 0;
    if (result == 0 && st.st_uid == geteuid())
        result = tfs_file_give(fd, like);
    close(fd);
    return result;
}

/* Without its owner it is taken back: the next commit would find it there, and leave it so. */
static void make_given(int parent, const char *name, const struct stat *like, const char *whose,
                       struct tfs_error *err)
{
    const mode_t mode = (like->st_mode & 0777) | (like->st_mode & 0444) >> 2;
    int result = mkdirat(parent, name, mode) < 0 ? -errno : 0;

    if (result == -EEXIST)
        return;
    if (result < 0) {
        tfs_fail(err, result, "a directory for regions cannot be made: %s", strerror(-result));
        return;
    }
    result = give_directory(parent, name, like);
    if (result == 0)
        return;
    tfs_fail(err, result, "a directory for regions cannot be given to the owner of %s: %s", whose,
             strerror(-result));
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

int tfs_folder_make(const char *path, const struct stat *like, const char *whose,
                    struct tfs_error *err)
{
    char *parent = tfs_file_directory(path);
    int fd = parent == NULL ? -ENOMEM : tfs_directory_open(parent);

    free(parent);
    if (fd < 0)
        return tfs_fail(err, fd, "the directory of regions cannot be opened: %s", strerror(-fd));
    make_given(fd, strrchr(path, '/') + 1, like, whose, err);
    if (err->code == 0 && fsync(fd) < 0 && errno != EINVAL)
        tfs_fail_errno(err, "the directory of regions cannot be made durable");
    close(fd);
    return err->code;
}

int tfs_folder_remove_stray(const char *directory, const char *name, struct tfs_error *err)
{
    const char *mark = strstr(name, STRAY);
    char *path = NULL;

    if (name[0] != '.' || mark == NULL)
        return 0;
    if (tfs_print(&path, "%s/%.*s", directory, (int)(mark - name) - 1, name + 1) < 0)
        return tfs_fail_memory(err);
    tfs_file_remove_strays(path);
    free(path);
    return 0;
}

/* ---- files that were edited alone ------------------------------------------------------------ */

bool tfs_folder_has_journal(int directory, const char *name, char file[TFS_JOURNAL_NAME])
{
    return tfs_journal_of_name(name, file) &&
           faccessat(directory, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int tfs_folder_check_alone(const char *beside, const char *file, struct tfs_error *why)
{
    struct tfs_error ignored = {0};

    /* Both have journals: that of the folder goes first, or neither could. */
    if (file == NULL || (beside != NULL && tfs_journal_find(beside, &ignored) == 1))
        return 0;
    return tfs_fail(
        why, -EROFS,
        "edits of %s wait in a journal of its own: open it alone first, or move that away", file);
}

/* ---- watching -------------------------------------------------------------------------------- */

void tfs_folder_look(const char *path, struct stat *st)
{
    if (lstat(path, st) < 0)
        *st = (struct stat){0};
}

bool tfs_folder_is_other(const char *path, const struct stat *before)
{
    struct stat now = {0};

    if (path == NULL)
        return false;
    tfs_folder_look(path, &now);
    return !tfs_file_same(before, &now);
}

static bool holds_unknown(const uint8_t *entries, size_t size, tfs_folder_unknown_fn unknown,
                          const void *arg)
{
    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        if (unknown(arg, entry->d_name))
            return true;
        at += entry->d_reclen;
    }
    return false;
}

/* Is there a file that is not known: 1, 0, or negative when that cannot be found out. Takes no
 * memory. */
static int find_unknown(const char *path, tfs_folder_unknown_fn unknown, const void *arg)
{
    _Alignas(struct dirent64) uint8_t entries[32768];
    int fd = tfs_directory_open(path);
    ssize_t size = 0;
    bool found = false;

    if (fd < 0)
        return fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
    while (!found && (size = getdents64(fd, entries, sizeof(entries))) > 0)
        found = holds_unknown(entries, (size_t)size, unknown, arg);
    close(fd);
    return size < 0 ? -EIO : found;
}

void tfs_folder_watch_again(struct tfs_folder_watch *watch, tfs_folder_unknown_fn unknown,
                            const void *arg)
{
    struct stat st;

    /* What comes between the look and the listing, or behind it, is a change all the same. */
    tfs_folder_look(watch->path, &st);
    int found = find_unknown(watch->path, unknown, arg);
    watch->unseen = found < 0;
    if (found == 0)
        watch->st = st;
}

/* ---- files that are known -------------------------------------------------------------------- */

/* Where a key stands, or would stand. */
static size_t locate(const struct tfs_folder_files *files, struct tfs_key key)
{
    size_t low = 0, high = files->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tfs_key_compare(files->files[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tfs_folder_file *tfs_folder_find(const struct tfs_folder_files *files, struct tfs_key key)
{
    size_t at = locate(files, key);

    if (at == files->count || tfs_key_compare(files->files[at]->key, key) != 0)
        return NULL;
    return files->files[at];
}

int tfs_folder_reserve(struct tfs_folder_files *files, struct tfs_error *err)
{
    struct tfs_folder_file **more =
        tfs_array_grow(files->files, files->count, sizeof(struct tfs_folder_file *));

    if (more == NULL)
        return tfs_fail_memory(err);
    files->files = more;
    return 0;
}

int tfs_folder_add(struct tfs_folder_files *files, struct tfs_folder_file *file,
                   struct tfs_error *err)
{
    if (tfs_folder_reserve(files, err) < 0)
        return err->code;
    size_t at = locate(files, file->key);
    memmove(files->files + at + 1, files->files + at,
            (files->count - at) * sizeof(struct tfs_folder_file *));
    files->files[at] = file;
    files->count++;
    return 0;
}

static int fail_changed(struct tfs_error *err)
{
    tfs_error_reset(err);
    return tfs_fail(err, -ESTALE, "was changed by another program since it was read");
}

static int hash_file(const char *path, struct tfs_folder_file *known, struct tfs_error *err)
{
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_hash found;
    struct stat now;

    int result = tfs_file_open(path, false, &file, err);
    if (result == -ENOENT || (result == 0 && !tfs_file_same(&file.st, &known->st)))
        result = fail_changed(err);
    if (result == 0)
        result = tfs_hash_file(file.fd, &found, err);
    if (result == 0 && (fstat(file.fd, &now) < 0 || !tfs_file_same(&now, &known->st)))
        result = fail_changed(err);
    tfs_file_close(&file);
    if (result == 0)
        known->hash = found;
    return result;
}

/* The next caller need not read the file. */
static void remember(struct tfs_folder_files *files, pthread_mutex_t *lock,
                     const struct tfs_folder_file *file)
{
    pthread_mutex_lock(lock);
    struct tfs_folder_file *known = tfs_folder_find(files, file->key);
    if (known != NULL && tfs_file_same(&known->st, &file->st)) {
        known->hash = file->hash;
        known->hashed = true;
    }
    pthread_mutex_unlock(lock);
}

int tfs_folder_hash(struct tfs_folder_files *files, pthread_mutex_t *lock, struct tfs_key key,
                    const char *path, struct tfs_hash *hash, struct stat *st, struct tfs_error *err)
{
    struct tfs_folder_file file = {.key = key};

    pthread_mutex_lock(lock);
    const struct tfs_folder_file *known = tfs_folder_find(files, key);
    if (known != NULL)
        file = *known;
    pthread_mutex_unlock(lock);
    if (known != NULL && !file.hashed) {
        if (hash_file(path, &file, err) < 0)
            return err->code;
        remember(files, lock, &file);
    }
    *hash = file.hash;
    *st = file.st;
    return 0;
}

void tfs_folder_unsure(struct tfs_folder_files *files, pthread_mutex_t *lock, struct tfs_key key)
{
    pthread_mutex_lock(lock);
    struct tfs_folder_file *known = tfs_folder_find(files, key);
    if (known != NULL)
        known->unsure = true;
    pthread_mutex_unlock(lock);
}

void tfs_folder_remove(struct tfs_folder_files *files, struct tfs_folder_file *file)
{
    size_t at = locate(files, file->key);

    files->count--;
    memmove(files->files + at, files->files + at + 1,
            (files->count - at) * sizeof(struct tfs_folder_file *));
}

void tfs_folder_newest(const struct tfs_folder_files *files, struct stat *st)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct timespec *m = &files->files[i]->st.st_mtim;
        if (m->tv_sec > st->st_mtim.tv_sec ||
            (m->tv_sec == st->st_mtim.tv_sec && m->tv_nsec > st->st_mtim.tv_nsec))
            st->st_mtim = st->st_ctim = *m;
    }
}
