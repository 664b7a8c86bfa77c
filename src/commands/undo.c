/*
 * undo: the newest generation of a save and the save change places; what is kept, and what would
 * change (docs/undo.md).
 */
#include "commands/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/journal.h"
#include "base/print.h"
#include "formats/astray.h"
#include "formats/containers/database/rows.h"
#include "formats/journal.h"
#include "formats/parts.h"

/* A save of a folder of several, and what would be brought back of it. */
struct part {
    char *name;     /* as for undo_save; NULL: there is nothing */
    uint64_t *runs; /* of the processes that changed it */
    size_t count;
    int64_t time;
    bool chosen;
};

struct undo {
    struct tfs_cli *cli;
    const char *name;         /* as the user wrote it */
    const struct part *again; /* it went back, and comes again, as one that belongs to it failed */
    char *path;
    struct tfs_undo_options options;
    struct tfs_generations list;
    const struct tfs_generation *next; /* that is brought back; NULL */
    bool gone;                         /* there is no save */
    bool waits;                        /* edits of the journal would be taken back first, alone */
};

static bool wants(const struct undo *u, unsigned flag)
{
    return (u->cli->flags & flag) != 0;
}

static const char *date_of(int64_t seconds, char text[32])
{
    time_t time = seconds;
    struct tm tm;

    if (localtime_r(&time, &tm) == NULL || strftime(text, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        strcpy(text, "at an unknown time");
    return text;
}

/* The path of the save. What another program left there need not be one any more; *gone (where that
 * is asked for): nor need there be anything. */
static int find_save(const struct tfs_cli *cli, const char *name, char **path, bool *gone,
                     struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (tfs_save_find(name, NULL, cli->options.format, NULL, path, &why) == 0)
        return 0;
    *path = why.code == -ENOMEM ? NULL : realpath(name, NULL);
    if (*path == NULL && gone != NULL && why.code == -ENOENT) {
        *path = tfs_file_absent(name);
        *gone = *path != NULL;
    }
    return *path != NULL ? 0 : tfs_fail(err, why.code, "%s", why.text);
}

static const char *whence(const struct undo *u)
{
    return u->next->undoes != 0 ? "before the undo of" : "before the changes of";
}

static enum tfs_status say_none(struct undo *u)
{
    const struct tfs_container *container = NULL;
    struct tfs_error ignored = {0};
    char *found = NULL;

    tfs_save_find(u->name, NULL, u->cli->options.format, &container, &found, &ignored);
    free(found);
    return tfs_cli_say(u->cli, TFS_STATUS_BAD, "%s: no earlier version of it is kept%s", u->name,
                       container != NULL && tfs_container_is_database(container)
                           ? ": of databases one is kept only with -o backup"
                           : "");
}

/* For those who only look: the process whose edits the journal alone holds, where no version from
 * before them is kept; 0: none. */
static uint32_t waits_alone(const struct tfs_cli *cli, const char *path,
                            const struct tfs_generation *next)
{
    const bool looks = (cli->flags & (TFS_CLI_LIST | TFS_CLI_DRY_RUN)) != 0;
    const uint32_t run = looks ? tfs_journal_made_by(path) : 0;

    return next != NULL && next->run == run ? 0 : run;
}

/* ---- --list ---------------------------------------------------------------------------------- */

static enum tfs_status list(struct undo *u)
{
    enum tfs_status status = TFS_STATUS_DONE;
    char date[32];

    if (u->next == NULL && !u->waits)
        return say_none(u);
    if (u->waits)
        status = tfs_cli_print_line(u->cli, "now  the save without the edits of its journal");
    for (size_t i = 0; i < u->list.count && !status; i++) {
        const struct tfs_generation *generation = &u->list.items[i];
        status = tfs_cli_print_line(
            u->cli, "%s  %zu file%s, %" PRIu64 " bytes%s  %s", date_of(generation->time, date),
            generation->count, generation->count == 1 ? "" : "s", tfs_generation_size(generation),
            generation->undoes != 0 ? " (undone)" : "", generation->directory);
    }
    if (!status && u->list.earlier != NULL)
        status = tfs_cli_print_line(u->cli, "of an earlier save of that name  %s", u->list.earlier);
    return status;
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

/* As `terrainfs diff --stat` says it. */
static enum tfs_status compare(struct undo *u, char *now, char *then)
{
    char *operands[] = {now, then, NULL};
    struct tfs_cli diff = {
        .command = "diff", .options = u->cli->options, .flags = TFS_CLI_STAT, .operands = operands};
    enum tfs_status status = tfs_cli_diff(&diff);

    return status == TFS_STATUS_BAD ? TFS_STATUS_DONE : status;
}

static enum tfs_status compare_folders(struct undo *u)
{
    struct tfs_error err = {0};
    char *now = NULL, *then = NULL;
    enum tfs_status status = tfs_undo_spread(u->path, &u->list, &now, &then, &err) < 0
                                 ? tfs_cli_report(u->cli, u->name, &err)
                                 : compare(u, now, then);

    tfs_undo_clear(&u->list);
    free(now);
    free(then);
    return status;
}

static enum tfs_status dry_run(struct undo *u)
{
    const struct tfs_undo_file *own;
    struct tfs_error err = {0};
    char *then = NULL, date[32];

    if (u->waits)
        return tfs_cli_print_line(u->cli, "%s would lose the edits that only its journal holds",
                                  u->name);
    if (u->next == NULL)
        return say_none(u);
    if (tfs_undo_may(u->path, &u->list, wants(u, TFS_CLI_FORCE), &err) < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    if (u->next->kind == TFS_UNDO_FOLDER)
        return compare_folders(u);
    own = tfs_generation_own(u->next);
    /* There is nothing to compare. */
    if (u->gone || own == NULL || own->was.ino == 0)
        return tfs_cli_print_line(u->cli, "%s would %s, as %s %s", u->name,
                                  u->gone       ? "be put back"
                                  : own == NULL ? "get back what lies beside it"
                                                : "be removed",
                                  whence(u), date_of(u->next->time, date));
    if (tfs_print(&then, "%s/%s", u->next->directory, own->path) < 0)
        return tfs_cli_say(u->cli, TFS_STATUS_SYSTEM, "out of memory");
    enum tfs_status status = compare(u, u->path, then);
    free(then);
    return status;
}

/* ---- going back ------------------------------------------------------------------------------ */

static enum tfs_status say_done(struct undo *u, size_t files)
{
    struct tfs_error ignored = {0};
    char *journal = NULL, date[32];
    const bool unkept = tfs_undo_is_unkept(&u->options, wants(u, TFS_CLI_FORCE));

    if (u->again != NULL)
        return tfs_cli_say(u->cli, TFS_STATUS_DONE,
                           "%s: is again as it was before this undo: it goes together with what "
                           "could not be put back",
                           u->name);
    if (u->gone && tfs_journal_find(u->path, &ignored) > 0)
        journal = tfs_journal_path(u->path);
    enum tfs_status status =
        tfs_cli_say(u->cli, TFS_STATUS_DONE, "%s: %zu file%s put back as %s %s%s%s", u->name, files,
                    files == 1 ? "" : "s", whence(u), date_of(u->next->time, date),
                    journal != NULL ? "; edits that are not in it are in "
                    : u->gone       ? ""
                    : unkept        ? "; what was there is not kept"
                                    : "; once more takes that back",
                    journal != NULL ? journal : "");
    free(journal);
    return status;
}

/* Edits in a journal beside a link are not undone. */
static void say_astray(struct tfs_cli *cli, const char *name, const char *path)
{
    char *journal = tfs_astray_find(name), notice[TFS_ERROR_TEXT] = "";

    tfs_astray_say(journal, path, notice);
    if (journal != NULL)
        tfs_cli_say(cli, TFS_STATUS_DONE, "%s: %s", name, notice);
    free(journal);
}

/* Edits that only the journal holds belong to what is undone. */
static enum tfs_status settle_journal(struct tfs_cli *cli, const char *name, const char *path)
{
    struct tfs_error err = {0};
    struct tfs_save *save;
    enum tfs_status status = TFS_STATUS_DONE;
    int there = tfs_journal_exists(path, &err);

    if (there < 0)
        return tfs_cli_report(cli, name, &err);
    if (there > 0) {
        status = tfs_cli_open(cli, name, TFS_LOCK_EXCLUSIVE, &save);
        if (!status)
            tfs_cli_close(cli, name, save);
    } else {
        say_astray(cli, name, path);
    }
    return status;
}

static enum tfs_status swap_files(struct undo *u)
{
    struct tfs_error err = {0};
    size_t files = 0;

    if (tfs_undo_swap(u->path, &u->options, wants(u, TFS_CLI_FORCE), &files, &err) == 0)
        return say_done(u, files);
    enum tfs_status status = tfs_cli_report(u->cli, u->name, &err);
    return files == 0 ? status
                      : tfs_cli_say(u->cli, status,
                                    "%s: %zu of its files went back before that; the next undo "
                                    "of it goes on from there",
                                    u->name, files);
}

/* Within the save itself: a program that has it open sees one transaction. */
static int restore(struct undo *u, struct tfs_save *save, struct tfs_error *err)
{
    char *from = NULL;

    if (!tfs_container_is_database(save->container))
        return tfs_fail(err, -EINVAL, "is no database, but what is kept of it is one");
    if (tfs_undo_may(u->path, &u->list, wants(u, TFS_CLI_FORCE), err) < 0)
        return err->code;
    if (tfs_print(&from, "%s/%s", u->next->directory, u->next->files[0].path) < 0)
        return tfs_fail_memory(err);
    tfs_rows_restore(save, from, err);
    free(from);
    return err->code;
}

static enum tfs_status swap_database(struct undo *u)
{
    struct tfs_open_options options = tfs_options_open(&u->cli->options, TFS_LOCK_EXCLUSIVE);
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;

    options.undo = u->options;
    if (!tfs_undo_is_unkept(&u->options, wants(u, TFS_CLI_FORCE)))
        options.undo.when = TFS_UNDO_REDO;
    options.undo.undoes = tfs_undo_undoes(&u->list, u->next);
    options.undo.must = true;
    options.undo.databases = true;
    if (tfs_save_open(u->path, u->cli->options.format, &options, &save, &err) == 0)
        restore(u, save, &err);
    tfs_save_close(save);
    if (err.code < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    tfs_undo_forget(&u->list);
    return say_done(u, 1);
}

static enum tfs_status go_back(struct undo *u)
{
    if (u->next == NULL)
        return say_none(u);
    return u->next->kind == TFS_UNDO_DATABASE && !u->gone ? swap_database(u) : swap_files(u);
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum tfs_status run(struct undo *u)
{
    const struct tfs_generation *redo;
    struct tfs_error err = {0};
    enum tfs_status status = TFS_STATUS_DONE;
    const bool looks = wants(u, TFS_CLI_LIST) || wants(u, TFS_CLI_DRY_RUN);

    if (find_save(u->cli, u->name, &u->path, &u->gone, &err) < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    if (!looks && !u->gone)
        status = settle_journal(u->cli, u->name, u->path);
    if (status)
        return status;
    if (tfs_undo_read(u->path, &u->options, &u->list, &err) < 0)
        return tfs_cli_report(u->cli, u->name, &err);
    u->next = tfs_undo_next(&u->list, &redo);
    u->waits = !u->gone && waits_alone(u->cli, u->path, u->next) != 0;
    if (u->gone && u->next == NULL) {
        tfs_fail(&err, -ENOENT, "cannot be opened: %s", strerror(ENOENT));
        return tfs_cli_report(u->cli, u->name, &err);
    }
    if (wants(u, TFS_CLI_LIST))
        return list(u);
    return looks ? dry_run(u) : go_back(u);
}

static enum tfs_status undo_save(struct tfs_cli *cli, const char *name, const struct part *again)
{
    struct undo u = {.cli = cli,
                     .name = name,
                     .again = again,
                     .options = cli->options.undo,
                     .list = TFS_GENERATIONS_NONE};

    if (again != NULL) {
        u.options.runs = again->runs;
        u.options.run_count = again->count;
        u.options.time = again->time;
    }
    enum tfs_status status = run(&u);

    tfs_generations_release(&u.list);
    free(u.path);
    return status;
}

/* ---- several saves in one folder ------------------------------------------------------------- */

/* Takes the name. */
static int fill_part(struct part *part, char *name, const uint64_t *runs, size_t count,
                     int64_t time, struct tfs_error *err)
{
    *part = (struct part){.name = name, .count = count, .time = time};
    part->runs = reallocarray(NULL, count + 1, sizeof(*runs));
    if (part->runs == NULL)
        return tfs_fail_memory(err);
    if (count > 0)
        memcpy(part->runs, runs, count * sizeof(*runs));
    return 0;
}

/* Did one process change both? */
static bool go_together(const struct part *a, const struct part *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            if (a->runs[i] != 0 && a->runs[i] == b->runs[j])
                return true;
    return a == b;
}

static int look_at(struct tfs_cli *cli, const char *save, struct part *part, struct tfs_error *err)
{
    const struct tfs_generation *redo, *next;
    struct tfs_generations list = TFS_GENERATIONS_NONE;
    char *name = strdup(save), *real = NULL;

    if (name == NULL)
        return tfs_fail_memory(err);
    if (find_save(cli, name, &real, NULL, err) == 0 &&
        tfs_undo_read(real, &cli->options.undo, &list, err) == 0) {
        next = tfs_undo_next(&list, &redo);
        /* Once: a mount may end, and its journal with it. */
        const uint64_t run = waits_alone(cli, real, next);
        if (run != 0)
            fill_part(part, name, &run, 1, time(NULL), err);
        else if (next != NULL)
            fill_part(part, name, next->runs, next->run_count, next->time, err);
        name = part->name != NULL ? NULL : name;
    }
    tfs_generations_release(&list);
    free(real);
    free(name);
    return err->code;
}

/* Before anybody asks which of them was changed last. */
static enum tfs_status settle_journals(struct tfs_cli *cli, const struct tfs_parts *found)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < found->count && !status; i++) {
        struct tfs_error err = {0};
        char *real = NULL;
        status = find_save(cli, found->items[i].save, &real, NULL, &err) < 0
                     ? tfs_cli_report(cli, found->items[i].save, &err)
                     : settle_journal(cli, found->items[i].save, real);
        free(real);
    }
    return status;
}

/* Those that the last mount or command changed go together. */
static bool choose(struct part *parts, size_t count)
{
    const struct part *newest = NULL;

    for (size_t i = 0; i < count; i++)
        if (parts[i].name != NULL && (newest == NULL || parts[i].time > newest->time))
            newest = &parts[i];
    for (size_t i = 0; i < count && newest != NULL; i++)
        parts[i].chosen = parts[i].name != NULL && go_together(&parts[i], newest);
    return newest != NULL;
}

static enum tfs_status ask(struct tfs_cli *cli, const char *name)
{
    struct tfs_error err = {0};
    char *real = NULL;

    if (find_save(cli, name, &real, NULL, &err) == 0)
        tfs_undo_ask(real, &cli->options.undo, (cli->flags & TFS_CLI_FORCE) != 0, &err);
    free(real);
    return err.code < 0 ? tfs_cli_report(cli, name, &err) : TFS_STATUS_DONE;
}

/* Where one is refused none is changed: the others could not be brought back with it any more. What
 * shows while files are written is not asked. */
static enum tfs_status ask_all(struct tfs_cli *cli, const struct part *parts, size_t count)
{
    enum tfs_status status = TFS_STATUS_DONE;
    size_t chosen = 0;

    for (size_t i = 0; i < count; i++) {
        chosen += parts[i].chosen;
        if (parts[i].chosen)
            status = tfs_status_worst(status, ask(cli, parts[i].name));
    }
    return status && chosen > 1
               ? tfs_cli_say(cli, status, "%s: nothing is put back: its saves go together",
                             cli->operands[0])
               : status;
}

/* Those that went back before `failed` come again. Without --force: what another program made of
 * one meanwhile stays. */
static void take_back(struct tfs_cli *cli, const struct part *parts, const struct part *failed)
{
    const bool unkept = tfs_undo_is_unkept(&cli->options.undo, (cli->flags & TFS_CLI_FORCE) != 0);
    struct tfs_cli again = *cli;

    again.flags &= ~(unsigned)TFS_CLI_FORCE;
    for (const struct part *part = failed; part-- > parts;)
        if (part->chosen && (unkept || undo_save(&again, part->name, part)))
            tfs_cli_say(cli, TFS_STATUS_DONE, "%s: stays put back, and %s does not go back with it",
                        part->name, failed->name);
}

/* All that are chosen, or none. */
static enum tfs_status put_back(struct tfs_cli *cli, const struct part *parts, size_t count)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < count && !status; i++) {
        if (parts[i].chosen)
            status = undo_save(cli, parts[i].name, NULL);
        if (status)
            take_back(cli, parts, &parts[i]);
    }
    return status;
}

static enum tfs_status undo_parts(struct tfs_cli *cli, struct part *parts, size_t count)
{
    const bool looks = (cli->flags & (TFS_CLI_LIST | TFS_CLI_DRY_RUN)) != 0;

    if (!choose(parts, count))
        return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: no earlier version of it is kept",
                           cli->operands[0]);
    enum tfs_status refused = looks ? TFS_STATUS_DONE : ask_all(cli, parts, count);
    if (refused)
        return refused;
    if (!looks)
        return put_back(cli, parts, count);
    enum tfs_status status = TFS_STATUS_DONE;
    for (size_t i = 0; i < count; i++)
        if (parts[i].chosen)
            status = tfs_status_worst(status, undo_save(cli, parts[i].name, NULL));
    return status;
}

static enum tfs_status undo_folder(struct tfs_cli *cli, const struct tfs_parts *found)
{
    const bool looks = (cli->flags & (TFS_CLI_LIST | TFS_CLI_DRY_RUN)) != 0;
    enum tfs_status status = looks ? TFS_STATUS_DONE : settle_journals(cli, found);
    struct tfs_error err = {0};

    if (status)
        return status;
    struct part *parts = calloc(found->count, sizeof(*parts));
    if (parts == NULL)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
    for (size_t i = 0; i < found->count && err.code == 0; i++)
        look_at(cli, found->items[i].save, &parts[i], &err);
    status = err.code < 0 ? tfs_cli_report(cli, cli->operands[0], &err)
                          : undo_parts(cli, parts, found->count);
    for (size_t i = 0; i < found->count; i++) {
        free(parts[i].name);
        free(parts[i].runs);
    }
    free(parts);
    return status;
}

/* What is no folder of several is a save. */
enum tfs_status tfs_cli_undo(struct tfs_cli *cli)
{
    struct tfs_parts parts = {0};
    struct tfs_error err = {0};
    enum tfs_status status;

    if (tfs_parts_find(cli->operands[0], cli->options.format, &parts, &err) < 0)
        return tfs_cli_report(cli, cli->operands[0], &err);
    if (parts.left_out != NULL)
        tfs_cli_say(cli, TFS_STATUS_DONE, "%s: %s", cli->operands[0], parts.left_out);
    status = parts.count > 0 ? undo_folder(cli, &parts) : undo_save(cli, cli->operands[0], NULL);
    tfs_parts_release(&parts);
    return status;
}
