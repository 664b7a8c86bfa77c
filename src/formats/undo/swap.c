/*
 * The newest generation and the save change places: see undo.h.
 *
 * Each file goes the way of a commit: a new file beside it, read back, and then renamed
 * (base/file.h), and the keeper keeps what it replaces. So there is always the old file or the new
 * one. Files are put back in the reverse of the order in which they were kept: a block that moved
 * from one file to another is in both, then, if the power fails between the two. The generation
 * goes last; one that is still there, with a newer one that undoes it, was cut and is finished.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mounts.h"
#include "base/print.h"
#include "formats/undo/disk.h"

struct swap {
    const char *path;
    struct tfs_generations list;
    const struct tfs_generation *then; /* what is brought back */
    const struct tfs_generation *redo; /* what a cut undo kept already; NULL */
    struct tfs_file_handle save;       /* locked; of a folder the directory */
    struct tfs_keeper *keeper;
    bool force;
    bool gone;    /* there is no save, nor a lock of one */
    bool deleted; /* and that is not an undo's doing */
    bool unkept;  /* the user gives up what is there now */
    size_t files;
};

/* ---- locks ----------------------------------------------------------------------------------- */

static int lock_folder(struct swap *s, struct tfs_error *err)
{
    s->save.fd = tfs_directory_open(s->path);
    if (s->save.fd < 0)
        return tfs_fail(err, s->save.fd, "cannot be opened: %s", strerror(-s->save.fd));
    return tfs_lock_save(s->save.fd, s->path, err);
}

/* A save that was deleted has no lock that could say so. */
static int check_unmounted(const char *path, struct tfs_error *err)
{
    struct tfs_mounted mount = {0};
    const int found = tfs_mounted_of_save(path, &mount);

    tfs_mounted_release(&mount);
    return found > 0 ? tfs_fail_locked(path, err) : found < 0 ? tfs_fail_memory(err) : 0;
}

static int lock_save(struct swap *s, struct tfs_error *err)
{
    struct stat st;

    s->save.fd = -1;
    if (lstat(s->path, &st) == 0)
        return S_ISDIR(st.st_mode) ? lock_folder(s, err)
                                   : tfs_file_open(s->path, true, &s->save, err);
    s->gone = errno == ENOENT;
    return s->gone ? check_unmounted(s->path, err) : tfs_fail_errno(err, "cannot be opened");
}

/* ---- one file -------------------------------------------------------------------------------- */

static bool is_save(const struct swap *s, const char *target)
{
    return strcmp(target, s->path) == 0;
}

/* The file at its place; fd -1: there is none. */
static int open_present(struct swap *s, const char *target, struct tfs_file_handle *file,
                        struct tfs_error *err)
{
    struct tfs_error why = {0};

    file->fd = -1;
    if (is_save(s, target)) {
        *file = s->save;
        return 0;
    }
    if (tfs_file_open(target, false, file, &why) == 0 || why.code == -ENOENT)
        return 0;
    return tfs_fail(err, why.code, "%s", why.text);
}

/* The caller closes what is kept, also when it cannot be read. */
static int read_kept(const struct swap *s, const struct tfs_undo_file *file,
                     struct tfs_file_handle *kept, struct tfs_blob **bytes, struct tfs_error *err)
{
    char *path = NULL;

    kept->fd = -1;
    if (tfs_print(&path, "%s/%s", s->then->directory, file->path) < 0)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, kept, err) == 0)
        tfs_file_read(kept, tfs_undo_limits.bytes, bytes, err);
    free(path);
    return err->code;
}

/* Has a file that is open the bytes that are kept? */
static bool is_equal(const struct swap *s, const struct tfs_undo_file *file,
                     struct tfs_file_handle *present)
{
    struct tfs_file_handle kept;
    struct tfs_blob *then = NULL, *now = NULL;
    struct tfs_error ignored = {0};
    bool equal = false;

    if (file->was.ino != 0 && present->st.st_size == file->was.size &&
        tfs_file_read(present, tfs_undo_limits.bytes, &now, &ignored) == 0) {
        equal = read_kept(s, file, &kept, &then, &ignored) == 0 && tfs_blob_equal(then, now);
        tfs_file_close(&kept);
    }
    tfs_blob_unref(then);
    tfs_blob_unref(now);
    return equal;
}

static bool is_equal_at(const struct swap *s, const struct tfs_undo_file *file, const char *target)
{
    struct tfs_file_handle present;
    struct tfs_error ignored = {0};

    if (tfs_file_open(target, false, &present, &ignored) < 0)
        return false;
    bool equal = is_equal(s, file, &present);
    tfs_file_close(&present);
    return equal;
}

static int replace(struct swap *s, const char *target, struct tfs_blob *bytes,
                   const struct tfs_file_handle *kept, struct tfs_file_handle *file,
                   struct tfs_error *err)
{
    struct tfs_replacement r;
    struct tfs_blob *written = NULL;

    if (tfs_replacement_open(target, file->fd < 0 ? NULL : file, &r, err) < 0)
        return err->code;
    r.keeper = s->keeper;
    if ((file->fd < 0 && tfs_replacement_give_all(&r, kept, err) < 0) ||
        tfs_sink_span(&r.sink, tfs_blob_span(bytes), err) < 0 ||
        tfs_replacement_read(&r, &written, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    bool same = tfs_blob_equal(bytes, written);
    tfs_blob_unref(written);
    if (same)
        return tfs_replacement_finish(&r, file, err);
    tfs_replacement_cancel(&r);
    return tfs_fail(err, -EIO, "the new copy does not read back as it was written");
}

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

static int put_back(struct swap *s, const struct tfs_undo_file *file, const char *target,
                    struct tfs_error *err)
{
    struct tfs_file_handle present, kept;
    struct tfs_blob *bytes = NULL;

    if (open_present(s, target, &present, err) < 0)
        return err->code;
    if (s->keeper == NULL && !s->unkept && present.fd >= 0 && !is_equal(s, file, &present)) {
        /* When undo looked, nothing was there that would have to be kept. */
        tfs_fail(err, -ESTALE, "another program made it meanwhile: undo once more");
    } else if (file->was.ino != 0) {
        if (read_kept(s, file, &kept, &bytes, err) == 0)
            s->files += replace(s, target, bytes, &kept, &present, err) == 0;
        tfs_file_close(&kept);
    } else if (present.fd >= 0) {
        s->files += remove_file(s, target, &present, err) == 0;
    }
    if (is_save(s, target))
        s->save = present;
    else
        tfs_file_close(&present);
    tfs_blob_unref(bytes);
    return err->code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Is it there already? */
static bool is_back(const struct swap *s, const struct tfs_undo_file *file, const char *target)
{
    struct tfs_undo_mark now = tfs_undo_mark_at(target);

    if (!file->replaced && tfs_undo_mark_same(now, file->was))
        return true;
    for (size_t i = 0; s->redo != NULL && i < s->redo->count; i++)
        if (strcmp(s->redo->files[i].path, file->path) == 0)
            return s->redo->files[i].replaced && tfs_undo_mark_same(s->redo->files[i].left, now);
    return false;
}

static int put_all_back(struct swap *s, struct tfs_error *err)
{
    struct tfs_error why = {0};

    for (size_t i = s->then->count; i-- > 0 && why.code == 0;) {
        const struct tfs_undo_file *file = &s->then->files[i];
        char *target = tfs_undo_target(s->path, s->then, file->path);
        if (target == NULL)
            return tfs_fail_memory(err);
        /* An undo that failed may have put it there, and the disk not have heard of it. */
        if ((is_back(s, file, target) ? tfs_file_settle(target, &why)
                                      : put_back(s, file, target, &why)) < 0)
            tfs_fail(err, why.code, "%s: %s", file->path, why.text);
        free(target);
    }
    return err->code;
}

/* Is the save there when the generation was brought back? */
static bool has_save(const struct tfs_generation *generation)
{
    const struct tfs_undo_file *own = tfs_generation_own(generation);

    return generation->kind == TFS_UNDO_FOLDER || (own != NULL && own->was.ino != 0);
}

const struct tfs_generation *tfs_undo_next(const struct tfs_generations *list,
                                           const struct tfs_generation **redo)
{
    *redo = NULL;
    if (list->count == 0)
        return NULL;
    for (size_t i = 1; i < list->count && list->items[0].undoes != 0; i++)
        if (list->items[i].number == list->items[0].undoes) {
            *redo = &list->items[0];
            return &list->items[i];
        }
    for (size_t i = 0; i < list->count && list->gone; i++)
        if (has_save(&list->items[i]))
            return &list->items[i];
    return &list->items[0];
}

/* SQLite would put what it left of the old database into the one that comes back. */
static int check_leftovers(const char *path, struct tfs_error *err)
{
    static const char *const endings[] = {"-wal", "-journal"};
    struct stat st;

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]) && err->code == 0; i++) {
        char *name = NULL;
        if (tfs_print(&name, "%s%s", path, endings[i]) < 0)
            return tfs_fail_memory(err);
        if (lstat(name, &st) == 0)
            tfs_fail(err, -ESTALE, "the database is gone, but %s of it is there: move that away",
                     strrchr(name, '/') + 1);
        free(name);
    }
    return err->code;
}

/* Can the generation come back where nothing is? */
static int check_absent(const char *path, const struct tfs_generation *generation,
                        const struct tfs_generation *redo, struct tfs_error *err)
{
    char *directory;
    struct stat st;

    if (lstat(path, &st) == 0)
        return 0;
    if (generation->kind == TFS_UNDO_FOLDER)
        return tfs_fail(err, -ENOENT,
                        "the folder is gone, and of a folder those files alone are kept that were "
                        "changed: they are in %s",
                        generation->directory);
    if (redo == NULL && !has_save(generation))
        return tfs_fail(err, -ENOENT,
                        "it is gone, and no version of it is kept; what is kept of files beside it "
                        "is in %s",
                        generation->directory);
    directory = tfs_file_directory(path);
    if (directory == NULL)
        return tfs_fail_memory(err);
    if (lstat(directory, &st) < 0)
        tfs_fail(err, -ENOENT, "its directory is gone, too: make %s again, then undo", directory);
    free(directory);
    return err->code == 0 && generation->kind == TFS_UNDO_DATABASE ? check_leftovers(path, err)
                                                                   : err->code;
}

static int choose(struct swap *s, struct tfs_error *err)
{
    s->then = tfs_undo_next(&s->list, &s->redo);
    if (s->then == NULL)
        return tfs_fail(err, -ENOENT, "no earlier version of it is kept");
    if (check_absent(s->path, s->then, s->redo, err) < 0)
        return err->code;
    return tfs_undo_check(s->path, s->then, s->redo, s->force, err);
}

static void forget(const struct tfs_generations *list, const struct tfs_generation *generation)
{
    char name[16];

    snprintf(name, sizeof(name), "%u", generation->number);
    tfs_undo_remove(list->own, name);
}

/* Was the save deleted, other than by an undo? Then what brings it back stays: it may be deleted
 * once more. */
static bool is_deleted(const struct swap *s)
{
    const struct tfs_undo_file *own = tfs_generation_own(s->then);

    return s->gone && own != NULL && own->was.ino != 0 && !(own->replaced && own->left.ino == 0);
}

/* Is nothing at the places of its files that a new generation would have to keep? */
static bool is_nothing_lost(const struct swap *s)
{
    bool lost = false;

    for (size_t i = 0; i < s->then->count && !lost; i++) {
        const struct tfs_undo_file *file = &s->then->files[i];
        char *target = tfs_undo_target(s->path, s->then, file->path);
        lost = target == NULL ||
               (tfs_undo_mark_at(target).ino != 0 && !(s->deleted && is_equal_at(s, file, target)));
        free(target);
    }
    return !lost;
}

/* What is there now was put there by us. Without that the next undo wants --force. */
static void note_all_left(const struct swap *s)
{
    char name[32];

    snprintf(name, sizeof(name), "%u/" TFS_UNDO_LEFT, s->then->number);
    int fd = openat(s->list.own, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (size_t i = 0; i < s->then->count && fd >= 0; i++) {
        char *target = tfs_undo_target(s->path, s->then, s->then->files[i].path);
        (void)tfs_undo_note_left(fd, i, tfs_undo_mark_at(target));
        free(target);
    }
    if (fd >= 0) {
        (void)fdatasync(fd);
        close(fd);
    }
}

/* Nobody keeps what is there now: nothing is, or the user gave it up. */
static int swap_unkept(struct swap *s, struct tfs_error *err)
{
    if (put_all_back(s, err) < 0)
        return err->code;
    if (s->gone)
        note_all_left(s);
    else
        forget(&s->list, s->then);
    return 0;
}

/* Locks the save, and finds what is to be brought back. */
static int prepare(struct swap *s, const struct tfs_undo_options *options, struct tfs_error *err)
{
    if (lock_save(s, err) < 0 || tfs_undo_read(s->path, options, &s->list, err) < 0)
        return err->code;
    if (s->list.base >= 0 && flock(s->list.base, LOCK_EX) < 0)
        return tfs_fail_errno(err, "the earlier versions cannot be locked");
    return choose(s, err);
}

static int swap(struct swap *s, const struct tfs_undo_options *options, struct tfs_error *err)
{
    struct tfs_undo_options redo = *options;

    if (prepare(s, options, err) < 0)
        return err->code;
    s->deleted = is_deleted(s);
    redo.when = s->deleted ? TFS_UNDO_MOUNT : TFS_UNDO_REDO;
    redo.must = true;
    redo.undoes = s->deleted ? 0 : tfs_undo_undoes(&s->list, s->then);
    s->unkept = tfs_undo_is_unkept(options, s->force);
    if (s->unkept || (s->gone && is_nothing_lost(s)))
        return swap_unkept(s, err);
    if (tfs_undo_open(s->path, s->then->kind, &redo, &s->keeper, err) < 0)
        return err->code;
    if (put_all_back(s, err) == 0) {
        tfs_undo_finish(s->keeper);
        if (s->deleted)
            note_all_left(s);
        else
            forget(&s->list, s->then);
    }
    tfs_undo_close(s->keeper);
    return err->code;
}

bool tfs_undo_is_unkept(const struct tfs_undo_options *options, bool force)
{
    return force && options->when == TFS_UNDO_NEVER;
}

int tfs_undo_swap(const char *path, const struct tfs_undo_options *options, bool force,
                  size_t *files, struct tfs_error *err)
{
    struct swap s = {.path = path, .list = TFS_GENERATIONS_NONE, .force = force};

    s.save.fd = -1;
    swap(&s, options, err);
    *files = s.files;
    tfs_generations_release(&s.list);
    tfs_file_close(&s.save);
    return err->code;
}

int tfs_undo_ask(const char *path, const struct tfs_undo_options *options, bool force,
                 struct tfs_error *err)
{
    struct swap s = {.path = path, .list = TFS_GENERATIONS_NONE, .force = force, .save.fd = -1};

    prepare(&s, options, err);
    tfs_generations_release(&s.list);
    tfs_file_close(&s.save);
    return err->code;
}

int tfs_undo_may(const char *path, const struct tfs_generations *list, bool force,
                 struct tfs_error *err)
{
    const struct tfs_generation *redo, *next = tfs_undo_next(list, &redo);

    if (next == NULL)
        return tfs_fail(err, -ENOENT, "no earlier version of it is kept");
    if (check_absent(path, next, redo, err) < 0)
        return err->code;
    return tfs_undo_check(path, next, redo, force, err);
}

void tfs_undo_forget(const struct tfs_generations *list)
{
    const struct tfs_generation *redo, *next = tfs_undo_next(list, &redo);

    if (next != NULL)
        forget(list, next);
}
