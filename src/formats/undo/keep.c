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
    enum tfs_undo_when when; /* how the next version begins */
    char *place;             /* NULL: not looked for yet */
    struct tfs_version now;  /* that is begun */
    int list;                /* of it; -1: none is */
    bool kept;               /* and it is not durable yet */
    bool given_up;           /* of this commit nothing more is kept */
    bool told;               /* the notice was */
    char notice[TFS_ERROR_TEXT];
};

static struct undo *undo_of(struct tfs_keeper *keeper)
{
    return (struct undo *)keeper;
}

/* ---- the version that is begun --------------------------------------------------------------- */

/* The list, and the names in all directories that lead to what was kept. */
static void make_durable(struct undo *u)
{
    char *path = tfs_undo_join(u->now.path, TFS_UNDO_FILES);
    struct tfs_error ignored = {0};

    (void)fdatasync(u->list);
    for (int i = 0; i < 4 && path != NULL; i++) {
        char *below = path;
        (void)tfs_directory_settle(below, &ignored);
        path = tfs_file_directory(below);
        free(below);
    }
    free(path);
    u->kept = false;
}

static void close_version(struct undo *u)
{
    if (u->list < 0)
        return;
    if (u->kept)
        make_durable(u);
    else
        (void)fdatasync(u->list);
    close(u->list);
    u->list = -1;
    tfs_version_release(&u->now);
}

/* Another version begins, of what another program made of the save: also where an undo goes on,
 * whose version has what was there before that. */
static void leave_version(struct undo *u)
{
    close_version(u);
    u->when = TFS_UNDO_MOUNT;
}

/* Nothing of the version is of use when a file of it is missing; nor is the rest of its commit. */
static void give_up(struct undo *u, const struct tfs_error *why)
{
    snprintf(u->notice, sizeof(u->notice),
             "the version before this edit is not kept for undo: %.300s", why->text);
    u->given_up = true;
    u->kept = false;
    if (u->list >= 0)
        tfs_undo_remove(u->now.path);
    leave_version(u);
}

/* ---- beginning it ---------------------------------------------------------------------------- */

/* Does the version say that we wrote what is there? */
static bool has_written(const struct undo *u, const struct tfs_version *version, const char *path)
{
    const struct tfs_undo_file *file = tfs_version_find(version, path);

    return file != NULL && tfs_undo_is_ours(file, tfs_undo_present(u->path, version, file), false);
}

/* With the newest version. `written`: only with that of the commit that wrote this file. */
static bool may_go_on(const struct undo *u, const struct tfs_versions *list, const char *written)
{
    const struct tfs_version *newest = list->items;
    const int64_t now = time(NULL);
    struct tfs_error ignored = {0};

    if (list->count == 0)
        return false;
    if (u->when == TFS_UNDO_REDO)
        return newest->undoes == u->options.undoes;
    if (newest != list->next || newest->kind != u->kind || newest->undoes != 0 ||
        tfs_version_check(u->path, newest, NULL, false, &ignored) < 0)
        return false;
    if (written != NULL)
        return has_written(u, newest, written + u->root);
    return u->when == TFS_UNDO_COMMAND && newest->time <= now && now - newest->time < YOUNG_SECONDS;
}

/* The oldest make room for it; that of which it is the undo goes when it was brought back. */
static int begin_new(struct undo *u, const struct tfs_versions *list, struct tfs_error *err)
{
    const unsigned undoes = u->when == TFS_UNDO_REDO ? u->options.undoes : 0;

    tfs_undo_sweep(u->place);
    for (size_t i = TFS_UNDO_VERSIONS - (undoes == 0); i < list->count; i++)
        tfs_undo_remove(list->items[i].path);
    u->now = (struct tfs_version){.number = list->count == 0 ? 1 : list->items[0].number + 1,
                                  .kind = u->kind,
                                  .undoes = undoes};
    return tfs_version_begin(u->path, u->place, &u->now, &u->list, err);
}

static int begin(struct undo *u, const char *written, struct tfs_error *err)
{
    struct tfs_versions list = {0};

    if ((u->place == NULL && tfs_undo_place(u->path, &u->options, true, &u->place, err) < 0) ||
        tfs_versions_read(u->path, &u->options, &list, err) < 0)
        return err->code;
    if (may_go_on(u, &list, written)) {
        u->now = list.items[0];
        list.items[0] = (struct tfs_version){0};
        tfs_version_go_on(&u->now, &u->list, err);
    } else if (written != NULL) {
        tfs_fail(err, -ENOENT, "a commit that was cut kept nothing that can be used");
    } else {
        begin_new(u, &list, err);
    }
    tfs_versions_release(&list);
    if (err->code < 0 && u->list >= 0)
        close_version(u);
    else if (err->code < 0)
        tfs_version_release(&u->now);
    return err->code;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static int enter_file(struct undo *u, const char *path, struct tfs_undo_mark was,
                      struct tfs_error *err)
{
    size_t ignored;
    const uint64_t size = tfs_version_size(&u->now, &ignored) + (uint64_t)was.size;

    if (size > TFS_UNDO_BYTES)
        return tfs_fail(err, -EFBIG, "it has %" PRIu64 " bytes, at most %" PRIu64 " are kept", size,
                        TFS_UNDO_BYTES);
    if ((u->list < 0 && begin(u, NULL, err) < 0) || tfs_version_find(&u->now, path) != NULL)
        return err->code;
    u->kept = true;
    return tfs_version_add(u->list, &u->now, path, was, err);
}

/* The file of the version; NULL: failed. One that another program changed since begins another
 * version. */
static struct tfs_undo_file *find_file(struct undo *u, const char *path, struct tfs_undo_mark was,
                                       struct tfs_error *err)
{
    struct tfs_undo_file *file = tfs_version_find(&u->now, path);

    for (int i = 0; i < 2 && err->code == 0; i++) {
        if (file == NULL && enter_file(u, path, was, err) == 0)
            file = tfs_version_find(&u->now, path);
        if (file == NULL || tfs_undo_is_ours(file, was, true))
            break;
        leave_version(u);
        file = NULL;
    }
    return err->code < 0 ? NULL : file;
}

/* Once: a program that entered the file may have been killed before it kept it. */
static int keep_file(struct undo *u, const char *path, tfs_undo_copy_fn copy, void *arg,
                     struct tfs_error *err)
{
    char *kept = tfs_version_kept(&u->now, path);

    if (kept == NULL)
        return tfs_fail_memory(err);
    if (access(kept, F_OK) < 0) {
        tfs_file_make_parents(kept, 0700);
        copy(arg, kept, err);
    }
    free(kept);
    return err->code;
}

/* Whatever fails keeps nothing from being written, unless `undo` itself asks: then what was kept
 * before it of other files stays, for they were replaced. */
static int conclude(struct undo *u, const struct tfs_error *why, struct tfs_error *err)
{
    if (why->code < 0 && u->options.when == TFS_UNDO_REDO)
        return tfs_fail(err, why->code,
                        "what is there now cannot be kept: %s; -o backup=no puts the earlier "
                        "version in its place all the same",
                        why->text);
    if (why->code < 0)
        give_up(u, why);
    return 0;
}

/* Keeps what is at `path` and `was`; then notes what comes (NULL: not yet). */
static int keep(struct undo *u, const char *path, struct tfs_undo_mark was,
                const struct tfs_undo_mark *next, tfs_undo_copy_fn copy, void *arg,
                struct tfs_error *err)
{
    struct tfs_error why = {0};

    pthread_mutex_lock(&u->lock);
    struct tfs_undo_file *file = u->given_up ? NULL : find_file(u, path + u->root, was, &why);
    if (file != NULL && was.ino != 0 && tfs_undo_mark_same(was, file->was))
        keep_file(u, path + u->root, copy, arg, &why);
    if (file != NULL && next != NULL && why.code == 0)
        tfs_version_note(u->list, file, was, *next, &why);
    conclude(u, &why, err);
    pthread_mutex_unlock(&u->lock);
    return err->code;
}

/* ---- files ----------------------------------------------------------------------------------- */

struct replaced {
    const char *path;
    int directory;
    struct tfs_file_handle *old;
};

/* Gives the file a second name; false: it has none. By now another file may be at its path. */
static bool link_file(const struct replaced *r, const char *kept)
{
    struct stat linked;

    if (linkat(r->directory, strrchr(r->path, '/') + 1, AT_FDCWD, kept, 0) < 0)
        return false;
    const bool same = lstat(kept, &linked) == 0 && linked.st_dev == r->old->st.st_dev &&
                      tfs_undo_mark_same(tfs_undo_mark_of(&linked), tfs_undo_mark_of(&r->old->st));
    if (!same)
        (void)unlink(kept);
    return same;
}

/* What a game goes on writing into would change under its second name, too. */
static int link_or_copy(void *arg, const char *kept, struct tfs_error *err)
{
    const struct replaced *r = arg;
    struct tfs_file_handle none = {.fd = -1};

    if (tfs_file_is_written(r->old->fd) || !link_file(r, kept))
        tfs_undo_copy_file(r->old, kept, &none, NULL, true, err);
    tfs_file_close(&none);
    return err->code;
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

static int before(struct tfs_keeper *keeper, const char *path, int directory,
                  struct tfs_file_handle *old, const struct stat *new, struct tfs_error *err)
{
    const struct tfs_undo_mark none = {0}, next = new == NULL ? none : tfs_undo_mark_of(new),
                               was = old->fd < 0 ? none : tfs_undo_mark_of(&old->st);
    struct replaced replaced = {path, directory, old};

    keep(undo_of(keeper), path, was, &next, link_or_copy, &replaced, err);
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
    u->given_up = false;
    for (size_t i = 0; i < u->now.count; i++) {
        const struct tfs_undo_file *file = &u->now.files[i];
        if (!tfs_undo_is_ours(file, tfs_undo_present(u->path, &u->now, file), true))
            leave_version(u);
    }
    pthread_mutex_unlock(&u->lock);
}

/* ---- databases ------------------------------------------------------------------------------- */

struct copying {
    tfs_undo_copy_fn copy;
    void *arg;
    mode_t mode;
};

/* Through a name of its own, so that a copy is whole or not there. */
static int copy_database(void *arg, const char *kept, struct tfs_error *err)
{
    const struct copying *c = arg;
    char *part = NULL;

    if (tfs_print(&part, "%s.part", kept) < 0)
        return tfs_fail_memory(err);
    (void)unlink(part);
    if (c->copy(c->arg, part, err) == 0 &&
        (chmod(part, c->mode & 0777) < 0 || rename(part, kept) < 0))
        tfs_fail_errno(err, "the copy cannot get its permissions and its name");
    free(part);
    return err->code;
}

int tfs_undo_copy(struct tfs_keeper *keeper, const char *path, const struct stat *now,
                  tfs_undo_copy_fn copy, void *arg, struct tfs_error *err)
{
    struct copying copying = {copy, arg, now->st_mode};
    struct undo *u = undo_of(keeper);

    if (u == NULL || !u->options.databases)
        return 0;
    tfs_undo_begin(keeper);
    return keep(u, path, tfs_undo_mark_of(now), NULL, copy_database, &copying, err);
}

void tfs_undo_wrote(struct tfs_keeper *keeper, const char *path, const struct stat *now)
{
    const struct tfs_undo_mark none = {0};
    struct undo *u = undo_of(keeper);
    struct tfs_error ignored = {0};

    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    struct tfs_undo_file *file = tfs_version_find(&u->now, path + u->root);
    if (file != NULL)
        (void)tfs_version_note(u->list, file, none, tfs_undo_mark_of(now), &ignored);
    pthread_mutex_unlock(&u->lock);
}

/* ---- journals -------------------------------------------------------------------------------- */

void tfs_undo_apart(struct tfs_keeper *keeper, const char *written)
{
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};

    if (u == NULL)
        return;
    pthread_mutex_lock(&u->lock);
    leave_version(u);
    u->given_up = false;
    if (written != NULL && begin(u, written, &why) < 0)
        give_up(u, &why);
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
    if (u->kept && u->options.when != TFS_UNDO_REDO) /* which takes one away next */
        tfs_undo_limit(u->place, TFS_UNDO_BYTES);
    if (u->kept)
        make_durable(u);
    const bool tell = !u->told && u->notice[0] != '\0';
    memcpy(notice, u->notice, TFS_ERROR_TEXT);
    u->told = u->told || tell;
    pthread_mutex_unlock(&u->lock);
    return tell;
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
