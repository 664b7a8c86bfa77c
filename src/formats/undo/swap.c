/*
 * The next version of a save and the save change places: see undo.h.
 *
 * Each file goes the way of a commit: a new file beside it, read back, and then renamed
 * (base/file.h), and the keeper keeps what it replaces. So there is always the old file or the new
 * one. Files are put back in the reverse of the order in which they were kept: a block that moved
 * from one file to another is in both, then, if the power fails between the two. The version goes
 * last; one that is still there, with a newer one that undoes it, was cut and is put back again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mounts.h"
#include "base/print.h"
#include "formats/undo/versions.h"

struct swap {
    const char *path;
    struct tfs_versions list;
    struct tfs_file_handle save; /* locked; of a folder the directory */
    struct tfs_keeper *keeper;
};

/* ---- one file -------------------------------------------------------------------------------- */

/* There was no such file then. */
static int remove_file(struct swap *s, const char *target, struct tfs_file_handle *file,
                       struct tfs_error *err)
{
    char *directory = tfs_file_directory(target);
    int fd = directory == NULL ? -ENOMEM : tfs_directory_open(directory);

    free(directory);
    if (fd < 0)
        return tfs_fail(err, fd, "the directory of a file cannot be opened: %s", strerror(-fd));
    if (tfs_file_remove(fd, target, file, s->keeper, err) == 0 && tfs_directory_sync(fd) < 0)
        tfs_fail(err, -EIO, "cannot be removed durably");
    close(fd);
    return err->code;
}

/* A database that is damaged is put back as a file: its log, which SQLite would bring into that, is
 * of what was there. */
static int check_log(const char *target, struct tfs_error *err)
{
    static const char *const endings[] = {"-wal", "-journal"};

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]) && err->code == 0; i++) {
        char *log = NULL;
        if (tfs_print(&log, "%s%s", target, endings[i]) < 0)
            return tfs_fail_memory(err);
        if (access(log, F_OK) == 0)
            tfs_fail(err, -EBUSY, "SQLite's log of it is there: move %s away first", log);
        free(log);
    }
    return err->code;
}

static int copy_back(struct swap *s, const struct tfs_undo_file *file, const char *target,
                     struct tfs_file_handle *present, struct tfs_error *err)
{
    char *path = tfs_version_kept(s->list.next, file->path);
    struct tfs_file_handle kept = {.fd = -1};

    if (path == NULL)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, &kept, err) == 0)
        tfs_undo_copy_file(&kept, target, present, s->keeper, err);
    tfs_file_close(&kept);
    free(path);
    return err->code;
}

static int put_back(struct swap *s, const struct tfs_undo_file *file, const char *target,
                    struct tfs_error *err)
{
    struct tfs_file_handle other = {.fd = -1};
    struct tfs_file_handle *present = strcmp(target, s->path) == 0 ? &s->save : &other;
    struct tfs_error why = {0};

    tfs_file_remove_strays(target); /* of an undo that was killed */
    if (check_log(target, err) < 0)
        return err->code;
    if (present == &other && tfs_file_open(target, false, &other, &why) < 0 && why.code != -ENOENT)
        return tfs_fail(err, why.code, "%s", why.text);
    if (file->was.inode != TFS_UNDO_NO_FILE)
        copy_back(s, file, target, present, err);
    else if (present->fd >= 0)
        remove_file(s, target, present, err);
    tfs_file_close(&other);
    return err->code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int put_all_back(struct swap *s, struct tfs_error *err)
{
    struct tfs_error why = {0};

    for (size_t i = s->list.next->count; i-- > 0 && why.code == 0;) {
        const struct tfs_undo_file *file = &s->list.next->files[i];
        char *target = tfs_undo_target(s->path, file->path);
        if (target == NULL)
            return tfs_fail_memory(err);
        /* One that an undo of before put back may not be durable yet. */
        if (tfs_undo_is_back(s->path, file) ? tfs_file_settle(target, &why) < 0
                                            : put_back(s, file, target, &why) < 0)
            tfs_fail(err, why.code, "%s: %s%s", file->path, why.text,
                     i + 1 < s->list.next->count ? "; the next undo of it goes on from there" : "");
        free(target);
    }
    return err->code;
}

static int lock_save(struct swap *s, struct tfs_error *err)
{
    struct stat st;

    if (lstat(s->path, &st) < 0)
        return tfs_fail_errno(err, "cannot be opened");
    if (!S_ISDIR(st.st_mode))
        return tfs_file_open(s->path, true, &s->save, err);
    s->save.fd = tfs_directory_open(s->path);
    if (s->save.fd < 0)
        return tfs_fail(err, s->save.fd, "cannot be opened: %s", strerror(-s->save.fd));
    return tfs_lock_save(s->save.fd, s->path, err);
}

/* The version goes when what took its place is durable. */
static int swap(struct swap *s, const struct tfs_undo_options *options, bool force,
                struct tfs_error *err)
{
    struct tfs_undo_options redo = *options;

    if (s->list.next == NULL)
        return tfs_fail(err, -ENOENT, "no earlier version of it is kept");
    if (tfs_undo_check(s->path, &s->list, force, err) < 0)
        return err->code;
    redo.undoes = s->list.next->number;
    if (options->when != TFS_UNDO_NEVER && tfs_undo_open(s->path, &redo, &s->keeper, err) < 0)
        return err->code;
    put_all_back(s, err);
    tfs_undo_close(s->keeper);
    if (err->code == 0)
        (void)tfs_undo_remove(s->list.next->path);
    return err->code;
}

int tfs_undo_swap(const char *path, const struct tfs_undo_options *options, bool force,
                  struct tfs_error *err)
{
    struct swap s = {.path = path, .save.fd = -1};

    if (lock_save(&s, err) == 0 && tfs_versions_read(path, options, false, &s.list, err) == 0)
        swap(&s, options, force, err);
    tfs_versions_release(&s.list);
    tfs_file_close(&s.save);
    return err->code;
}
