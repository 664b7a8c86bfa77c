/*
 * Files about to be replaced -> a version: see undo.h.
 *
 * Must not know any format. The first replacement of each file since the version began keeps it; so
 * does the first after another program changed it, in a version of its own. The order, so that a
 * cut leaves a version that tells what it has, and knows the save for ours:
 *   1. the line of the list; 2. the link or copy; 3. the note of what comes; 4. the caller's
 * rename. A file that is still the one that was kept was not replaced.
 *
 * Commits and tfs_undo_settle may be in two threads: `lock` guards all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/undo/versions.h"

#define YOUNG_SECONDS 600

struct undo {
    struct tfs_keeper keeper; /* first */
    struct tfs_undo_options options;
    enum tfs_undo_kind kind;
    char *path;
    size_t root; /* bytes of `path` before the paths of its files */

    pthread_mutex_t lock;
    enum tfs_undo_when when;  /* how the next version begins */
    char *place;              /* NULL: not looked for yet */
    struct tfs_version *now;  /* NULL: none is begun */
    struct tfs_version begun; /* what it points to */
    int list;                 /* of it; -1 */
    uint64_t size;            /* of its files */
    bool kept, noted;         /* and it is not durable yet */
    bool given_up;
    char notice[TFS_ERROR_TEXT];
};

static struct undo *undo_of(struct tfs_keeper *keeper)
{
    return (struct undo *)keeper;
}

/* ---- the version that is begun --------------------------------------------------------------- */

static void settle_directory(char *path)
{
    struct tfs_error ignored = {0};

    if (path != NULL)
        (void)tfs_directory_settle(path, &ignored);
    free(path);
}

static void make_durable(struct undo *u)
{
    if ((u->noted || u->kept) && u->list >= 0)
        (void)fdatasync(u->list);
    if (u->kept) {
        settle_directory(tfs_undo_join(u->now->path, TFS_UNDO_FILES));
        settle_directory(strdup(u->now->path));
        settle_directory(strdup(u->place));
        settle_directory(tfs_file_directory(u->place));
    }
    u->kept = u->noted = false;
}

static void close_version(struct undo *u)
{
    make_durable(u);
    if (u->list >= 0)
        close(u->list);
    u->list = -1;
    tfs_version_release(&u->begun);
    u->now = NULL;
    u->size = 0;
}

/* Nothing of the version is of use when a file of it is missing. */
static void give_up(struct undo *u, const struct tfs_error *why)
{
    snprintf(u->notice, sizeof(u->notice),
             "the version before this edit is not kept for undo: %.300s", why->text);
    u->given_up = true;
    u->kept = u->noted = false;
    if (u->now != NULL && u->now->path != NULL)
        (void)tfs_undo_remove(u->now->path);
    close_version(u);
}

/* Another version begins, of what another program made of the save: also where an undo goes on,
 * whose version has what was there before that. */
static void leave_version(struct undo *u)
{
    close_version(u);
    u->when = TFS_UNDO_MOUNT;
}

/* ---- beginning it ---------------------------------------------------------------------------- */

/* With the newest version. */
static bool may_go_on(const struct undo *u, const struct tfs_versions *list, bool half)
{
    const struct tfs_version *newest = list->items;
    const int64_t now = time(NULL);
    struct tfs_error ignored = {0};

    if (list->count == 0 || (u->when == TFS_UNDO_MOUNT && !half))
        return false;
    if (u->when == TFS_UNDO_REDO)
        return newest->listed && newest->undoes == u->options.undoes;
    const bool young = newest->time <= now && now - newest->time < YOUNG_SECONDS;
    return newest == list->next && newest->kind == u->kind && newest->undoes == 0 &&
           (half || young) && tfs_version_check(u->path, newest, NULL, false, &ignored) == 0;
}

static int go_on(struct undo *u, struct tfs_version *version, struct tfs_error *err)
{
    size_t ignored;

    u->begun = *version;
    *version = (struct tfs_version){0};
    u->now = &u->begun;
    u->size = tfs_version_size(u->now, &ignored);
    return tfs_version_go_on(u->now, &u->list, err);
}

/* The oldest make room for it; that of which it is the undo goes when it was brought back. */
static int begin_new(struct undo *u, const struct tfs_versions *list, struct tfs_error *err)
{
    const unsigned undoes = u->when == TFS_UNDO_REDO ? u->options.undoes : 0;

    for (size_t i = TFS_UNDO_VERSIONS - (undoes == 0); i < list->count; i++)
        (void)tfs_undo_remove(list->items[i].path);
    u->begun = (struct tfs_version){.number = list->count == 0 ? 1 : list->items[0].number + 1,
                                    .kind = u->kind,
                                    .undoes = undoes};
    u->now = &u->begun;
    return tfs_version_begin(u->path, u->place, u->now, &u->list, err);
}

/* `half`: only with the newest version. */
static int begin(struct undo *u, bool half, struct tfs_error *err)
{
    struct tfs_versions list = {0};

    if ((u->place == NULL && tfs_undo_place(u->path, &u->options, true, &u->place, err) < 0) ||
        tfs_versions_read(u->path, &u->options, &list, err) < 0)
        return err->code;
    if (may_go_on(u, &list, half))
        go_on(u, list.items, err);
    else if (half)
        tfs_fail(err, -ENOENT, "a commit that was cut kept nothing that can be used");
    else
        begin_new(u, &list, err);
    tfs_versions_release(&list);
    return err->code;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static int enter_file(struct undo *u, const char *path, struct tfs_undo_mark was,
                      struct tfs_error *err)
{
    if (u->size + (uint64_t)was.size > TFS_UNDO_BYTES)
        return tfs_fail(err, -EFBIG, "it has %" PRIu64 " bytes, at most %" PRIu64 " are kept",
                        u->size + (uint64_t)was.size, TFS_UNDO_BYTES);
    if ((u->now == NULL && begin(u, false, err) < 0) || tfs_version_find(u->now, path) != NULL)
        return err->code;
    u->kept = true;
    u->size += (uint64_t)was.size;
    return tfs_version_add(u->list, u->now, path, was, err);
}

/* The file of the version; NULL: failed. One that another program changed since begins another
 * version. */
static struct tfs_undo_file *find_file(struct undo *u, const char *path, struct tfs_undo_mark was,
                                       struct tfs_error *err)
{
    struct tfs_undo_file *file = u->now == NULL ? NULL : tfs_version_find(u->now, path);

    for (int i = 0; i < 2 && err->code == 0; i++) {
        if (file == NULL && enter_file(u, path, was, err) == 0)
            file = tfs_version_find(u->now, path);
        if (file == NULL || tfs_undo_is_ours(file, was, true))
            break;
        leave_version(u);
        file = NULL;
    }
    return err->code < 0 ? NULL : file;
}

/* A second name moves the ctime of a file, when it comes and when it goes. What differs more is
 * another's doing, which whoever replaces the file will find. */
static void note_ctime(struct tfs_file_handle *old)
{
    struct stat now;

    if (fstat(old->fd, &now) == 0 &&
        tfs_undo_mark_same(tfs_undo_mark_of(&now), tfs_undo_mark_of(&old->st)))
        old->st = now;
}

/* Gives the file a second name; false: it has none. By now another file may be at its path. */
static bool link_file(const char *path, int directory, const char *kept,
                      struct tfs_file_handle *old)
{
    struct stat linked;

    if (linkat(directory, strrchr(path, '/') + 1, AT_FDCWD, kept, 0) < 0)
        return false;
    const bool same = lstat(kept, &linked) == 0 && linked.st_dev == old->st.st_dev &&
                      tfs_undo_mark_same(tfs_undo_mark_of(&linked), tfs_undo_mark_of(&old->st));
    if (!same)
        (void)unlink(kept);
    return same;
}

/* Makes the directories that lead to a file of the version. */
static int make_parents(const struct undo *u, char *kept, struct tfs_error *err)
{
    char *slash = kept + strlen(u->now->path) + sizeof("/" TFS_UNDO_FILES);

    while (err->code == 0 && (slash = strchr(slash, '/')) != NULL) {
        *slash = '\0';
        if (mkdir(kept, 0700) < 0 && errno != EEXIST)
            tfs_fail_errno(err, "its directory cannot be made");
        *slash++ = '/';
    }
    return err->code;
}

/* Once: a program that entered the file may have been killed before it kept it. What a game goes on
 * writing into would change under its second name, too. */
static int keep_file(struct undo *u, const char *path, int directory, struct tfs_file_handle *old,
                     struct tfs_error *err)
{
    char *kept = tfs_version_kept(u->now, path + u->root);
    struct tfs_file_handle none = {.fd = -1};

    if (kept == NULL)
        return tfs_fail_memory(err);
    if (access(kept, F_OK) < 0 && make_parents(u, kept, err) == 0 &&
        (tfs_file_is_written(old->fd) || !link_file(path, directory, kept, old)))
        tfs_undo_copy_file(old, kept, &none, NULL, true, err);
    tfs_file_close(&none);
    free(kept);
    return err->code;
}

/* Whatever fails keeps nothing from being written, unless `undo` itself asks: then what was kept
 * before it of other files stays, for they were replaced. */
static void conclude(struct undo *u, const struct tfs_error *why, struct tfs_error *err)
{
    if (why->code < 0 && u->options.when != TFS_UNDO_REDO)
        give_up(u, why);
    else if (why->code < 0)
        tfs_fail(err, why->code,
                 "what is there now cannot be kept: %s; -o backup=no puts the earlier version in "
                 "its place all the same",
                 why->text);
}

static int before(struct tfs_keeper *keeper, const char *path, int directory,
                  struct tfs_file_handle *old, const struct stat *new, struct tfs_error *err)
{
    const struct tfs_undo_mark none = {0}, next = new == NULL ? none : tfs_undo_mark_of(new),
                               was = old->fd < 0 ? none : tfs_undo_mark_of(&old->st);
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};

    pthread_mutex_lock(&u->lock);
    struct tfs_undo_file *file = u->given_up ? NULL : find_file(u, path + u->root, was, &why);
    if (file != NULL && (was.ino == 0 || !tfs_undo_mark_same(was, file->was) ||
                         keep_file(u, path, directory, old, &why) == 0))
        tfs_version_note(u->list, file, was, next, &why);
    u->noted = u->noted || file != NULL;
    conclude(u, &why, err);
    pthread_mutex_unlock(&u->lock);
    if (old->fd >= 0)
        note_ctime(old);
    return err->code;
}

void tfs_undo_begin(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; u->now != NULL && i < u->now->count; i++) {
        const struct tfs_undo_file *file = &u->now->files[i];
        if (!tfs_undo_is_ours(file, tfs_undo_present(u->path, u->now, file), true))
            leave_version(u);
    }
    pthread_mutex_unlock(&u->lock);
}

/* ---- databases ------------------------------------------------------------------------------- */

/* Through a name of its own, so that a copy is whole or not there. */
static int keep_database(const struct undo *u, const char *rel, const struct stat *now,
                         tfs_undo_copy_fn copy, void *arg, struct tfs_error *err)
{
    char *kept = tfs_version_kept(u->now, rel), *part = NULL;

    if (kept == NULL || tfs_print(&part, "%s.part", kept) < 0) {
        free(kept);
        return tfs_fail_memory(err);
    }
    (void)unlink(part);
    if (access(kept, F_OK) < 0 && copy(arg, part, err) == 0 &&
        (chmod(part, now->st_mode & 0777) < 0 || rename(part, kept) < 0))
        tfs_fail_errno(err, "the copy cannot get its permissions and its name");
    free(kept);
    free(part);
    return err->code;
}

int tfs_undo_copy(struct tfs_keeper *keeper, const char *path, const struct stat *now,
                  tfs_undo_copy_fn copy, void *arg, struct tfs_error *err)
{
    const struct tfs_undo_mark was = tfs_undo_mark_of(now);
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};

    if (u == NULL || !u->options.databases)
        return 0;
    pthread_mutex_lock(&u->lock);
    const struct tfs_undo_file *file = u->given_up ? NULL : find_file(u, path + u->root, was, &why);
    if (file != NULL && tfs_undo_mark_same(was, file->was))
        keep_database(u, path + u->root, now, copy, arg, &why);
    conclude(u, &why, err);
    pthread_mutex_unlock(&u->lock);
    return err->code;
}

void tfs_undo_wrote(struct tfs_keeper *keeper, const char *path, const struct stat *now)
{
    const struct tfs_undo_mark none = {0};
    struct undo *u = undo_of(keeper);
    struct tfs_error ignored = {0};

    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    struct tfs_undo_file *file = u->now == NULL ? NULL : tfs_version_find(u->now, path + u->root);
    u->noted = u->noted || file != NULL;
    if (file != NULL)
        (void)tfs_version_note(u->list, file, none, tfs_undo_mark_of(now), &ignored);
    pthread_mutex_unlock(&u->lock);
}

/* ---- journals -------------------------------------------------------------------------------- */

void tfs_undo_replay(struct tfs_keeper *keeper, bool half)
{
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};

    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    leave_version(u);
    if (half && begin(u, true, &why) < 0)
        give_up(u, &why);
    pthread_mutex_unlock(&u->lock);
}

void tfs_undo_replayed(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    close_version(u);
    u->when = u->options.when;
    u->given_up = false;
    pthread_mutex_unlock(&u->lock);
}

/* ---- life ------------------------------------------------------------------------------------ */

int tfs_undo_open(const char *path, enum tfs_undo_kind kind, const struct tfs_undo_options *options,
                  struct tfs_keeper **keeper, struct tfs_error *err)
{
    struct undo *u = calloc(1, sizeof(*u));
    char *copy = strdup(path);

    if (u == NULL || copy == NULL) {
        free(u);
        free(copy);
        return tfs_fail_memory(err);
    }
    *u = (struct undo){.keeper = {before},
                       .options = *options,
                       .kind = kind,
                       .path = copy,
                       .root = kind == TFS_UNDO_FOLDER ? strlen(path) + 1
                                                       : (size_t)(strrchr(copy, '/') + 1 - copy),
                       .when = options->when,
                       .list = -1};
    pthread_mutex_init(&u->lock, NULL);
    *keeper = &u->keeper;
    return 0;
}

bool tfs_undo_settle(struct tfs_keeper *keeper, char notice[TFS_ERROR_TEXT])
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return false;
    pthread_mutex_lock(&u->lock);
    if (u->kept)
        tfs_undo_limit(u->place, TFS_UNDO_BYTES);
    if (u->kept)
        make_durable(u);
    else if (u->noted) /* without waiting for the disk: edits may come one after another */
        (void)sync_file_range(u->list, 0, 0, SYNC_FILE_RANGE_WRITE);
    const bool told = u->notice[0] != '\0';
    memcpy(notice, u->notice, TFS_ERROR_TEXT);
    u->notice[0] = '\0';
    pthread_mutex_unlock(&u->lock);
    return told;
}

void tfs_undo_close(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    close_version(u);
    pthread_mutex_destroy(&u->lock);
    free(u->place);
    free(u->path);
    free(u);
}
