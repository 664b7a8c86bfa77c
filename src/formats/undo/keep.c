/*
 * Files about to be replaced -> a version: see undo.h.
 *
 * Must not know any format. The first replacement of each file since the version began keeps it; a
 * commit after another program changed one begins a version. The order, so that a cut leaves a
 * version that has what it tells, and knows the save for ours:
 *   1. the link or copy; 2. the line of the list; 3. the note of what comes; 4. the caller's
 * rename. A file that is still the one that was kept was not replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
    const char *path;
    struct tfs_version now; /* that is begun */
    int list;               /* of it; -1: none is */
    bool apart;             /* the next one is new, whoever asks */
    bool kept;              /* and it is not durable yet */
    bool cut;               /* the rest of a commit that was cut is written */
    bool given_up;          /* of this commit nothing more is kept */
    bool told;              /* the notice was */
    char notice[TFS_ERROR_TEXT];
};

static struct undo *undo_of(struct tfs_keeper *keeper)
{
    return (struct undo *)keeper;
}

/* As the list has it: in the directory of the save. */
static const char *name_of(const struct undo *u, const char *path)
{
    return path + (strrchr(u->path, '/') + 1 - u->path);
}

/* ---- the version that is begun --------------------------------------------------------------- */

/* An undo makes no room: the version that it brings back goes when that was done. */
static void make_durable(struct undo *u)
{
    if (!u->kept)
        return;
    if (u->options.undoes == 0)
        tfs_undo_limit(u->now.path, TFS_UNDO_BYTES);
    (void)fdatasync(u->list);
    tfs_undo_sync(u->now.path);
    u->kept = false;
}

static void leave_version(struct undo *u)
{
    u->apart = true;
    if (u->list < 0)
        return;
    if (u->given_up || u->now.count == 0)
        (void)tfs_undo_remove(u->now.path);
    else
        make_durable(u);
    (void)fdatasync(u->list);
    close(u->list);
    u->list = -1;
    u->kept = false;
    tfs_version_release(&u->now);
}

/* Nothing of the version is of use when a file of it is missing; nor is the rest of its commit. */
static void give_up(struct undo *u, const struct tfs_error *why)
{
    snprintf(u->notice, sizeof(u->notice),
             "the version before this edit is not kept for undo: %.300s", why->text);
    u->given_up = true;
    leave_version(u);
}

/* Does the next version go on with the newest? `written`: that of the commit that wrote it does. */
static bool joins(const struct undo *u, const struct tfs_versions *list, const char *written)
{
    const struct tfs_version *newest = list->items;

    if (list->count == 0 || newest->undoes != u->options.undoes ||
        tfs_version_foreign(u->path, newest, NULL) != NULL)
        return false;
    if (written != NULL)
        return tfs_version_find(newest, name_of(u, written)) != NULL;
    const uint64_t age = (uint64_t)(time(NULL) - newest->time);
    return newest->undoes != 0 ||
           (!u->apart && u->options.when == TFS_UNDO_COMMAND && age < YOUNG_SECONDS);
}

/* The oldest make room for it; that of which it is the undo goes when it was brought back. */
static int begin_new(struct undo *u, const struct tfs_versions *list, struct tfs_error *err)
{
    const unsigned undoes = u->options.undoes;

    for (size_t i = TFS_UNDO_VERSIONS - (undoes == 0); i < list->count; i++)
        (void)tfs_undo_remove(list->items[i].path);
    return tfs_version_make(list->place, list->number + 1, undoes, &u->now, err);
}

static int begin(struct undo *u, const char *written, struct tfs_error *err)
{
    struct tfs_versions list;

    if (tfs_versions_read(u->path, &u->options, true, &list, err) < 0) {
        tfs_versions_release(&list);
        return err->code;
    }
    if (joins(u, &list, written)) {
        u->now = list.items[0];
        list.items[0] = (struct tfs_version){0};
    } else if (written != NULL) {
        tfs_fail(err, -ENOENT, "a commit that was cut kept nothing that can be used");
    } else {
        begin_new(u, &list, err);
    }
    if (err->code == 0 && tfs_version_open(&u->now, &u->list, err) < 0 && u->now.count == 0)
        (void)tfs_undo_remove(u->now.path); /* an empty one would count */
    if (err->code < 0)
        tfs_version_release(&u->now);
    tfs_versions_release(&list);
    return err->code;
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* What a program left that was killed before it entered the file is kept again. */
static int keep_file(struct undo *u, const char *name, tfs_undo_copy_fn copy, void *arg,
                     struct tfs_error *err)
{
    char *kept = tfs_version_kept(&u->now, name);

    if (kept == NULL)
        return tfs_fail_memory(err);
    tfs_file_make_parents(kept, 0700);
    (void)unlink(kept);
    copy(arg, kept, err);
    free(kept);
    return err->code;
}

/* The file of the version; NULL: failed. `now`: NULL: there is none to be kept. */
static struct tfs_undo_file *enter_file(struct undo *u, const char *name, const struct stat *now,
                                        tfs_undo_copy_fn copy, void *arg, struct tfs_error *err)
{
    if (u->list < 0 && begin(u, NULL, err) < 0)
        return NULL;
    struct tfs_undo_file *file = tfs_version_find(&u->now, name);
    if (file != NULL)
        return file;
    const uint64_t size = tfs_version_size(&u->now) + (now == NULL ? 0 : (uint64_t)now->st_size);
    if (size > TFS_UNDO_BYTES)
        tfs_fail(err, -EFBIG, "it has %" PRIu64 " bytes, at most %" PRIu64 " are kept", size,
                 TFS_UNDO_BYTES);
    else if (now == NULL || keep_file(u, name, copy, arg, err) == 0)
        tfs_version_add(u->list, &u->now, name, tfs_undo_mark_of(now), err);
    u->kept = true;
    return err->code < 0 ? NULL : tfs_version_find(&u->now, name);
}

/* Keeps what is at `path` `now`; then notes what comes (NULL: not yet). Whatever fails keeps
 * nothing from being written, unless `undo` itself asks: then what was kept before it of other
 * files stays, for they were replaced. */
static int keep(struct undo *u, const char *path, const struct stat *now,
                const struct tfs_undo_mark *next, tfs_undo_copy_fn copy, void *arg,
                struct tfs_error *err)
{
    struct tfs_error why = {0};
    struct tfs_undo_file *file =
        u->given_up ? NULL : enter_file(u, name_of(u, path), now, copy, arg, &why);

    if (file != NULL && next != NULL)
        tfs_version_note(u->list, file, tfs_undo_mark_of(now), *next, &why);
    if (why.code < 0 && u->options.undoes != 0)
        return tfs_fail(err, why.code,
                        "what is there now cannot be kept: %s; -o backup=no puts the earlier "
                        "version in its place all the same",
                        why.text);
    if (why.code < 0)
        give_up(u, &why);
    return 0;
}

void tfs_undo_begin(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    u->given_up = u->given_up && u->cut;
    if (tfs_version_foreign(u->path, &u->now, NULL) != NULL)
        leave_version(u);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Gives the file a second name, and not another one that is at its path by now. What a game goes on
 * writing into would change under its second name, too. */
static int link_or_copy(void *arg, const char *kept, struct tfs_error *err)
{
    const struct tfs_file_handle *old = arg;
    struct tfs_file_handle none = {.fd = -1};
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", old->fd);
    if (tfs_file_is_written(old->fd) ||
        linkat(AT_FDCWD, path, AT_FDCWD, kept, AT_SYMLINK_FOLLOW) < 0)
        tfs_undo_copy_file(old, kept, &none, NULL, err);
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

static int before(struct tfs_keeper *keeper, const char *path, struct tfs_file_handle *old,
                  const struct stat *new, struct tfs_error *err)
{
    const struct tfs_undo_mark next = tfs_undo_mark_of(new);

    keep(undo_of(keeper), path, old->fd < 0 ? NULL : &old->st, &next, link_or_copy, old, err);
    if (old->fd >= 0)
        note_ctime(old);
    return err->code;
}

/* ---- databases ------------------------------------------------------------------------------- */

int tfs_undo_copy(struct tfs_keeper *keeper, const char *path, const struct stat *now,
                  tfs_undo_copy_fn copy, void *arg, struct tfs_error *err)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL || !u->options.databases)
        return 0;
    tfs_undo_begin(keeper);
    return keep(u, path, now, NULL, copy, arg, err);
}

void tfs_undo_wrote(struct tfs_keeper *keeper, const char *path, const struct stat *now)
{
    struct undo *u = undo_of(keeper);
    struct tfs_error ignored = {0};

    if (u == NULL)
        return;
    struct tfs_undo_file *file = tfs_version_find(&u->now, name_of(u, path));
    if (file != NULL)
        (void)tfs_version_note(u->list, file, tfs_undo_mark_of(NULL), tfs_undo_mark_of(now),
                               &ignored);
}

/* ---- life ------------------------------------------------------------------------------------ */

void tfs_undo_apart(struct tfs_keeper *keeper, const char *written)
{
    struct undo *u = undo_of(keeper);
    struct tfs_error why = {0};

    if (u == NULL)
        return;
    leave_version(u);
    u->given_up = false;
    u->cut = written != NULL;
    if (written != NULL && begin(u, written, &why) < 0)
        give_up(u, &why);
}

int tfs_undo_open(const char *path, const struct tfs_undo_options *options,
                  struct tfs_keeper **keeper, struct tfs_error *err)
{
    struct undo *u = calloc(1, sizeof(*u));

    if (u == NULL)
        return tfs_fail_memory(err);
    *u = (struct undo){.keeper = {before}, .options = *options, .path = path, .list = -1};
    *keeper = &u->keeper;
    return 0;
}

bool tfs_undo_settle(struct tfs_keeper *keeper, char notice[TFS_ERROR_TEXT])
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return false;
    make_durable(u);
    const bool tell = !u->told && u->notice[0] != '\0';
    memcpy(notice, u->notice, TFS_ERROR_TEXT);
    u->told = u->told || tell;
    return tell;
}

void tfs_undo_close(struct tfs_keeper *keeper)
{
    struct undo *u = undo_of(keeper);

    if (u == NULL)
        return;
    leave_version(u);
    free(u);
}
