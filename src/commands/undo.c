/*
 * undo: the newest version of a save and the save change places; and what is kept
 * (docs/journal.md, section 7).
 */
#include "commands/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "formats/journal.h"
#include "formats/containers/database/rows.h"

struct undo {
    struct tfs_cli *cli;
    const char *name; /* as the user wrote it */
    char *path;
    const struct tfs_container *container; /* NULL: what is there is no save */
    struct tfs_undo_options options;
    struct tfs_versions list;
};

/* The path that a save had which is gone; NULL: that cannot be known, or no memory. */
static char *absent_path(const char *name)
{
    const char *last = strrchr(name, '/') == NULL ? name : strrchr(name, '/') + 1;
    char *directory = tfs_file_directory(name), *path = NULL;
    char *real = directory == NULL ? NULL : realpath(directory, NULL);

    if (real != NULL && tfs_print(&path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, last) < 0)
        path = NULL;
    free(directory);
    free(real);
    return path;
}

/* The path of the save. What another program left there need not be one any more; and a list may be
 * had of one that is gone. */
static int find_save(struct undo *u, bool lists, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (tfs_save_find(u->name, NULL, u->cli->options.format, &u->container, &u->path, &why) == 0)
        return 0;
    if (why.code == -EBADMSG)
        u->path = realpath(u->name, NULL);
    else if (why.code == -ENOENT && lists)
        u->path = absent_path(u->name);
    if (u->path != NULL)
        return 0;
    return tfs_fail(err, why.code, "%s%s", why.text,
                    why.code == -ENOENT ? "; undo --list shows what is kept of it" : "");
}

static enum tfs_status say_none(const struct undo *u)
{
    return tfs_cli_say(u->cli, TFS_STATUS_BAD,
                       "%s: no earlier version of it is kept (of databases: only with -o backup)",
                       u->name);
}

static enum tfs_status list(const struct undo *u)
{
    const bool none = u->list.count + u->list.unread == 0;
    enum tfs_status status = none ? say_none(u) : TFS_STATUS_DONE;
    char date[TFS_TIME_TEXT];

    for (size_t i = 0; i < u->list.count && !status; i++) {
        const struct tfs_version *version = &u->list.items[i];
        status = tfs_cli_print_line(u->cli, "%s  %zu file%s, %" PRIu64 " bytes%s  %s/files",
                                    tfs_time_print(version->time, date), version->count,
                                    version->count == 1 ? "" : "s", tfs_version_size(version),
                                    version->undoes != 0 ? " (undone)" : "", version->path);
    }
    if (u->list.unread > 0 && !status)
        status = tfs_cli_print_line(u->cli, "%zu of terrainfs 0.1, or damaged  %s/*/files",
                                    u->list.unread, u->list.place);
    return status;
}

/* ---- going back ------------------------------------------------------------------------------ */

static enum tfs_status say_done(const struct undo *u)
{
    const struct tfs_version *version = u->list.next;
    char date[TFS_TIME_TEXT];

    return tfs_cli_say(u->cli, TFS_STATUS_DONE, "%s: %zu file%s put back as before the %s %s%s",
                       u->name, version->count, version->count == 1 ? "" : "s",
                       version->undoes != 0 ? "undo of" : "changes of",
                       tfs_time_print(version->time, date),
                       u->options.when == TFS_UNDO_NEVER ? "; what was there is not kept"
                                                         : "; once more takes that back");
}

/* Where that cannot be known: yes. */
static bool has_journal(const struct undo *u)
{
    const struct tfs_save save = {.container = u->container, .path = u->path};
    char *beside = u->container != NULL ? tfs_journal_beside(&save) : strdup(u->path);
    struct tfs_error ignored = {0};
    const bool has = beside == NULL || tfs_journal_find(beside, &ignored) != 0;

    free(beside);
    return has;
}

/* Edits that only a journal holds belong to what is undone: whoever opens the save brings them in.
 * What is damaged is put back all the same, unless they would be in neither version then. */
static enum tfs_status settle_journals(const struct undo *u)
{
    struct tfs_error err = {0};
    struct tfs_save *save;

    if (u->container != NULL && tfs_container_is_database(u->container))
        return TFS_STATUS_DONE;
    u->cli->options.later = true;
    if (tfs_cli_try_open(u->cli, u->name, TFS_LOCK_EXCLUSIVE, &save, &err) == 0)
        tfs_cli_close(u->cli, u->name, save);
    return err.code == 0 || (tfs_status_of(err.code) == TFS_STATUS_BAD && !has_journal(u))
               ? TFS_STATUS_DONE
               : tfs_cli_report(u->cli, u->name, &err);
}

static enum tfs_status swap_files(const struct undo *u, bool force)
{
    struct tfs_error err = {0};

    return tfs_undo_swap(u->path, &u->options, force, &err) < 0
               ? tfs_cli_report(u->cli, u->name, &err)
               : say_done(u);
}

/* Within the save itself: a program that has it open sees one transaction. */
static int restore(const struct undo *u, struct tfs_save *save, bool force, struct tfs_error *err)
{
    const struct tfs_version *next = u->list.next;

    if (tfs_undo_check(u->path, &u->list, force, err) < 0)
        return err->code;
    if (next->count != 1 || !tfs_container_is_database(save->container))
        return tfs_fail(err, -EBADMSG, "what is kept of it is no database");
    char *from = tfs_version_kept(next, next->files[0].path);
    if (from == NULL)
        return tfs_fail_memory(err);
    tfs_rows_restore(save, from, err);
    free(from);
    return err->code;
}

static enum tfs_status swap_database(const struct undo *u, bool force)
{
    struct tfs_open_options options = tfs_options_open(&u->cli->options, TFS_LOCK_EXCLUSIVE);
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;

    options.undo.databases = true;
    options.undo.undoes = u->list.next->number;
    if (tfs_save_open(u->path, u->cli->options.format, &options, &save, &err) == 0)
        restore(u, save, force, &err);
    tfs_save_close(save);
    if (err.code < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    (void)tfs_undo_remove(u->list.next->path);
    return say_done(u);
}

static enum tfs_status run(struct undo *u)
{
    struct tfs_error err = {0};
    const bool lists = (u->cli->flags & TFS_CLI_LIST) != 0,
               force = (u->cli->flags & TFS_CLI_FORCE) != 0;

    if (find_save(u, lists, &err) < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    enum tfs_status status = lists ? TFS_STATUS_DONE : settle_journals(u);
    if (status)
        return status;
    if (tfs_versions_read(u->path, &u->options, false, &u->list, &err) < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    if (lists)
        return list(u);
    if (u->list.next == NULL)
        return say_none(u);
    return u->container != NULL && tfs_container_is_database(u->container) ? swap_database(u, force)
                                                                           : swap_files(u, force);
}

enum tfs_status tfs_cli_undo(struct tfs_cli *cli)
{
    struct undo u = {.cli = cli, .name = cli->operands[0], .options = cli->options.undo};
    const enum tfs_status status = run(&u);

    tfs_versions_release(&u.list);
    free(u.path);
    return status;
}
