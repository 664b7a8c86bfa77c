/*
 * The directories and files of a folder: locked, made, listed.
 *
 * Must not know documents, nor what files hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mounts.h"
#include "base/print.h"
#include "base/refs.h"
#include "formats/containers/folder_state.h"

/* ---- the lock -------------------------------------------------------------------------------- */

/* A link is somebody's doing: the path was resolved when the save was opened. */
int tfs_folder_lock(const char *path, bool exclusive, int *fd, struct tfs_error *err)
{
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (opened < 0)
        return tfs_fail_errno(err, "cannot be opened");
    if (exclusive && tfs_lock_save(opened, path, err) < 0) {
        close(opened);
        return err->code;
    }
    *fd = opened;
    return 0;
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

/* Who may read the save may search it. Without its owner it is taken back: the next commit would
 * find it there, and leave it so. */
static int make_given(int parent, const char *name, const struct stat *like, struct tfs_error *err)
{
    const mode_t mode = (like->st_mode & 0777) | (like->st_mode & 0444) >> 2 | 0500;
    int result = mkdirat(parent, name, mode) < 0 ? -errno : 0;

    if (result == -EEXIST)
        return 0;
    if (result < 0)
        return tfs_fail(err, result, "a directory for regions cannot be made: %s",
                        strerror(-result));
    result = give_directory(parent, name, like);
    if (result == 0)
        return 0;
    (void)unlinkat(parent, name, AT_REMOVEDIR);
    return tfs_fail(err, result,
                    "a directory for regions cannot be given to the owner of the save: %s",
                    strerror(-result));
}

/* One that is there already is made durable too: its maker may have failed before it was. */
static int make_directory(const char *path, const struct stat *like, struct tfs_error *err)
{
    char *parent = tfs_file_directory(path);
    int fd = parent == NULL ? -ENOMEM : tfs_directory_open(parent);

    free(parent);
    if (fd < 0)
        return tfs_fail(err, fd, "the directory of regions cannot be opened: %s", strerror(-fd));
    if (make_given(fd, strrchr(path, '/') + 1, like, err) == 0 && fsync(fd) < 0 && errno != EINVAL)
        tfs_fail_errno(err, "the directory of regions cannot be made durable");
    close(fd);
    return err->code;
}

int tfs_folder_make(const struct tfs_save *save, const char *path, struct tfs_error *err)
{
    const size_t above = strlen(save->path);
    char *each = strdup(path);

    if (each == NULL)
        return tfs_fail_memory(err);
    for (char *at = each + above; *at != '\0' && err->code == 0; *at = '/') {
        at += 1 + strcspn(at + 1, "/");
        const bool last = *at == '\0';
        *at = '\0';
        make_directory(each, &save->st, err);
        if (last)
            break;
    }
    free(each);
    return err->code;
}

bool tfs_folder_is_other(const char *path, const struct stat *before)
{
    struct stat now;

    if (lstat(path, &now) < 0)
        now = (struct stat){0};
    return !tfs_file_same(before, &now);
}

/* ---- files ----------------------------------------------------------------------------------- */

struct tfs_folder_file *tfs_folder_file_ref(struct tfs_folder_file *file)
{
    tfs_refs_add(&file->refs);
    return file;
}

void tfs_folder_file_unref(struct tfs_folder_file *file)
{
    if (file == NULL || !tfs_refs_drop(&file->refs))
        return;
    for (size_t i = 0; i < file->note_count; i++)
        free(file->notes[i].text);
    free(file->notes);
    free(file->refusal);
    free(file->slots);
    free(file->own);
    free(file);
}

int tfs_folder_compare_slots(const void *a, const void *b)
{
    const struct tfs_folder_slot *left = a, *right = b;

    return (left->index > right->index) - (left->index < right->index);
}

struct tfs_folder_slot *tfs_folder_slot(const struct tfs_folder_file *file, uint32_t index)
{
    const struct tfs_folder_slot wanted = {.index = index};

    return file->count == 0 ? NULL
                            : bsearch(&wanted, file->slots, file->count, sizeof(wanted),
                                      tfs_folder_compare_slots);
}

/* ---- lists ----------------------------------------------------------------------------------- */

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

void tfs_folder_remove(struct tfs_folder_files *files, struct tfs_folder_file *file)
{
    size_t at = locate(files, file->key);

    files->count--;
    memmove(files->files + at, files->files + at + 1,
            (files->count - at) * sizeof(struct tfs_folder_file *));
    tfs_folder_file_unref(file);
}

int tfs_folder_files_copy(const struct tfs_folder_files *from, struct tfs_folder_files *files,
                          struct tfs_error *err)
{
    *files = (struct tfs_folder_files){NULL, 0};
    for (size_t i = 0; i < from->count; i++) {
        if (tfs_folder_add(files, from->files[i], err) < 0)
            break;
        tfs_folder_file_ref(from->files[i]);
    }
    if (err->code < 0)
        tfs_folder_files_release(files);
    return err->code;
}

void tfs_folder_files_release(struct tfs_folder_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        tfs_folder_file_unref(files->files[i]);
    free(files->files);
    *files = (struct tfs_folder_files){NULL, 0};
}
