/*
 * A command on a folder that holds several saves -> the same command on each of them.
 *
 * Must not know what a command does, only where its operands name saves, directories and files of
 * the tree. What the folder shows beside its saves is read-only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "commands/cli.h"
#include "commands/foreign.h"
#include "commands/import.h"
#include "commands/json.h"
#include "formats/views/view_sets.h"
#include "formats/containers/several_saves.h"

/* The command for the saves of a folder. */
struct each {
    struct tfs_cli *cli;
    tfs_command_fn run;
    const char *folder;
    const struct tfs_parts *parts;
    char **operands; /* as the user gave them */
    bool aside;      /* import of edits that were set aside */
};

static enum tfs_status no_memory(struct tfs_cli *cli)
{
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
}

/* Runs the command with other operands, which it frees. Options and notes of a command are of one
 * save, so each save begins with those that the user gave. */
static enum tfs_status run_with(const struct each *e, char *first, char *second)
{
    char *operands[] = {first, second, NULL};
    struct tfs_cli one = *e->cli;
    enum tfs_status status;

    one.operands = operands;
    one.operand_count = 2;
    if (first == NULL || second == NULL) {
        status = no_memory(e->cli);
    } else {
        status = e->run(&one);
        e->cli->unread = one.unread;
    }
    free(first);
    free(second);
    return status;
}

/* ---- SAVE ------------------------------------------------------------------------------------ */

static enum tfs_status run_each(const struct each *e)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < e->parts->count && !e->cli->unread; i++) {
        const struct tfs_part *part = &e->parts->items[i];
        if ((e->cli->flags & TFS_CLI_JSON) == 0)
            status = tfs_status_worst(status, tfs_cli_print_line(e->cli, "save: %s", part->path));
        status = tfs_status_worst(status, run_with(e, strdup(part->save), strdup("")));
    }
    return status;
}

/* ---- SAVE PATH ------------------------------------------------------------------------------- */

/* Does this component of a path name this component of a part? `pattern`: it may be a pattern. */
static bool means(const char *path, size_t length, const char *part, size_t part_length,
                  bool pattern)
{
    char wanted[NAME_MAX + 1], name[NAME_MAX + 1];

    if (length > NAME_MAX || part_length > NAME_MAX)
        return false;
    snprintf(wanted, sizeof(wanted), "%.*s", (int)length, path);
    snprintf(name, sizeof(name), "%.*s", (int)part_length, part);
    return strcmp(wanted, name) == 0 ||
           (pattern && fnmatch(wanted, name, FNM_PERIOD | FNM_NOESCAPE) == 0);
}

/* What follows `part` in a path as users type it; NULL: it does not begin so. */
static const char *behind(const char *path, const char *part, bool pattern)
{
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    for (;;) {
        const size_t length = strcspn(path, "/"), part_length = strcspn(part, "/");
        if (path[length] == '\0' || !means(path, length, part, part_length, pattern))
            return NULL;
        path += length + 1;
        if (part[part_length] == '\0')
            return path;
        part += part_length + 1;
    }
}

static enum tfs_status print_file(const struct each *e, const char *file)
{
    struct tfs_blob *bytes = NULL;
    struct tfs_error err = {0};
    enum tfs_status status;

    if (tfs_parts_read_file(e->folder, e->parts, file, &bytes, &err) < 0)
        return no_memory(e->cli);
    status = bytes == NULL ? tfs_cli_say(e->cli, TFS_STATUS_SYSTEM, "%s/%s: it cannot be read",
                                         e->folder, file)
                           : tfs_cli_print(e->cli, tfs_blob_span(bytes));
    tfs_blob_unref(bytes);
    return status;
}

/* Is it one of the files that the folder shows beside its saves? */
static bool is_beside(const struct each *e, const char *path)
{
    const char *file;

    for (size_t i = 0; (file = tfs_parts_file(e->parts, i)) != NULL; i++)
        if (strcmp(file, path) == 0)
            return true;
    return false;
}

/* What is to be done with one path, which may be a pattern; one that is written needs one save. */
static enum tfs_status run_on_path(const struct each *e, const char *path, bool write)
{
    enum tfs_status status = TFS_STATUS_DONE;
    size_t found = 0;

    for (size_t i = 0; i < e->parts->count; i++) {
        const struct tfs_part *part = &e->parts->items[i];
        const char *rest = behind(path, part->path, !write);
        if (rest == NULL)
            continue;
        found++;
        status = tfs_status_worst(status, run_with(e, strdup(part->save), strdup(rest)));
    }
    if (found > 0)
        return status;
    if (!is_beside(e, path))
        return tfs_cli_say(
            e->cli, TFS_STATUS_BAD,
            "%s/%s: there is no such file: this holds saves, and paths begin with one "
            "of them, such as %s/",
            e->folder, path, e->parts->items[0].path);
    return write ? tfs_cli_say(e->cli, TFS_STATUS_BAD, "%s/%s: it is read-only", e->folder, path)
                 : print_file(e, path);
}

static enum tfs_status run_on_paths(const struct each *e)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (int i = 1; i < e->cli->operand_count; i++)
        status = tfs_status_worst(status, run_on_path(e, e->operands[i], false));
    return status;
}

/* ---- SAVE DIR -------------------------------------------------------------------------------- */

/* Makes the directories above `part` in DIR. */
static enum tfs_status make_above(const struct each *e, const char *target, const char *part)
{
    char *path = tfs_path_join(target, part);
    enum tfs_status status = TFS_STATUS_DONE;

    if (path == NULL)
        return no_memory(e->cli);
    for (char *at = path + strlen(target) + 1; status == 0 && (at = strchr(at, '/')) != NULL;
         at++) {
        *at = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            status = tfs_cli_say(e->cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
        *at = '/';
    }
    free(path);
    return status;
}

static enum tfs_status copy_file(const struct each *e, const char *target, const char *file)
{
    struct tfs_blob *bytes = NULL;
    struct tfs_error err = {0};
    char *path = tfs_path_join(target, file);
    enum tfs_status status = TFS_STATUS_DONE;
    int fd = -1;

    if (path == NULL || tfs_parts_read_file(e->folder, e->parts, file, &bytes, &err) < 0) {
        free(path);
        return no_memory(e->cli);
    }
    if (bytes != NULL) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
        if (fd < 0 || write(fd, bytes->data, bytes->size) != (ssize_t)bytes->size)
            status = tfs_cli_say(e->cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    }
    if (fd >= 0 && close(fd) < 0 && status == TFS_STATUS_DONE)
        status = tfs_cli_say(e->cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    if (fd >= 0 && status != TFS_STATUS_DONE)
        (void)unlink(path);
    tfs_blob_unref(bytes);
    free(path);
    return status;
}

static enum tfs_status run_export(const struct each *e)
{
    const char *target = e->operands[1];
    enum tfs_status status = tfs_cli_make_target(e->cli, target, 0777);

    if (status != TFS_STATUS_DONE)
        return status;
    /* One that is damaged is exported as far as it can be read, and so are the others. */
    for (size_t i = 0; i < e->parts->count && status != TFS_STATUS_SYSTEM; i++) {
        const struct tfs_part *part = &e->parts->items[i];
        enum tfs_status made = make_above(e, target, part->path);
        if (made == TFS_STATUS_DONE)
            made = run_with(e, strdup(part->save), tfs_path_join(target, part->path));
        status = tfs_status_worst(status, made);
    }
    if (!tfs_chosen_all(e->cli->options.views))
        return status;
    for (size_t i = 0; status != TFS_STATUS_SYSTEM && tfs_parts_file(e->parts, i) != NULL; i++)
        status = tfs_status_worst(status, copy_file(e, target, tfs_parts_file(e->parts, i)));
    return status;
}

/* ---- what a tree has besides ----------------------------------------------------------------- */

/* A name in a tree that is none of the saves. `among`: it stands where saves do. */
typedef enum tfs_status (*stray_fn)(const struct each *e, const char *tree, const char *path,
                                    bool among);

static enum tfs_status find_strays(const struct each *e, const char *tree, const char *above,
                                   stray_fn tell);

static bool is_directory(const char *path)
{
    struct stat st;

    return path != NULL && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum tfs_status look_at(const struct each *e, const char *tree, const char *above,
                               const char *name, stray_fn tell)
{
    char *path = above[0] == '\0' ? strdup(name) : tfs_path_join(above, name);
    const size_t length = path == NULL ? 0 : strlen(path);
    enum tfs_status status;
    bool known = false, is_above = false;

    for (size_t i = 0; path != NULL && i < e->parts->count; i++) {
        const char *part = e->parts->items[i].path;
        const bool begins = strncmp(part, path, length) == 0;
        known = known || (begins && part[length] == '\0');
        is_above = is_above || (begins && part[length] == '/');
    }
    if (path == NULL)
        status = no_memory(e->cli);
    else if (is_above)
        status = find_strays(e, tree, path, tell);
    else
        status = known ? TFS_STATUS_DONE : tell(e, tree, path, above[0] != '\0');
    free(path);
    return status;
}

/* Finds names that are no saves, as deep as saves lie. Names that begin with a dot are left out. */
static enum tfs_status find_strays(const struct each *e, const char *tree, const char *above,
                                   stray_fn tell)
{
    char *path = tfs_path_join(tree, above);
    DIR *directory = path == NULL ? NULL : opendir(path);
    enum tfs_status status = TFS_STATUS_DONE;
    struct dirent *entry;

    if (path == NULL)
        status = no_memory(e->cli);
    else if (directory == NULL && errno != ENOTDIR && errno != ENOENT)
        status = tfs_cli_say(e->cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            status = tfs_status_worst(status, look_at(e, tree, above, entry->d_name, tell));
    if (directory != NULL)
        closedir(directory);
    free(path);
    return status;
}

/* ---- DIR SAVE -------------------------------------------------------------------------------- */

/* A directory in the place of a save may hold somebody's edits. */
static enum tfs_status tell_import(const struct each *e, const char *tree, const char *path,
                                   bool among)
{
    char *found = tfs_path_join(tree, path);
    enum tfs_status status = TFS_STATUS_DONE;

    if (found == NULL)
        status = no_memory(e->cli);
    else if (!among && e->aside && tfs_aside_name(path))
        status = TFS_STATUS_DONE; /* it is taken, or named, elsewhere */
    else if (among && is_directory(found))
        status = tfs_cli_say(e->cli, TFS_STATUS_BAD,
                             "%s: %s has no such save: nothing was taken. Give it the name of one, "
                             "such as %s, or take it away",
                             found, e->folder, e->parts->items[0].path);
    else if (among || !is_beside(e, path))
        tfs_cli_say(e->cli, status, "%s: ignored: the tree has no such name", found);
    free(found);
    return status;
}

static bool has_removals(const struct each *e)
{
    char *removals = tfs_path_join(e->operands[0], TFS_ASIDE_REMOVED);
    const bool has = is_directory(removals);

    free(removals);
    return has;
}

static bool has_part(const struct each *e)
{
    bool found = false;

    for (size_t i = 0; i < e->parts->count && !found; i++) {
        char *from = tfs_path_join(e->operands[0], e->parts->items[i].path);
        found = from == NULL || access(from, F_OK) == 0;
        free(from);
    }
    return found || has_removals(e);
}

/* Before any save of the folder is written. */
static enum tfs_status refuse_cut(const struct each *e)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < e->parts->count && !status; i++) {
        char *from = tfs_path_join(e->operands[0], e->parts->items[i].path);
        if (from == NULL)
            status = no_memory(e->cli);
        else if (tfs_manifest_is_cut(from))
            status = tfs_import_refuse_cut(e->cli, from);
        free(from);
    }
    return status;
}

/* Imports one save of the folder, if DIR has it. */
static enum tfs_status import_part(const struct each *e, const struct tfs_part *part)
{
    char *from = tfs_path_join(e->operands[0], part->path);
    char *removals = e->aside ? tfs_path_join(e->operands[0], TFS_ASIDE_REMOVED) : NULL;
    char *removed = removals == NULL ? NULL : tfs_path_join(removals, part->path);
    enum tfs_status status = TFS_STATUS_DONE;

    if (from == NULL || (e->aside && removed == NULL))
        status = no_memory(e->cli);
    else if (access(from, F_OK) == 0 || (removed != NULL && access(removed, F_OK) == 0)) {
        e->cli->removals = removed;
        status = run_with(e, from, strdup(part->save));
        e->cli->removals = NULL;
        from = NULL;
    }
    free(from);
    free(removals);
    free(removed);
    return status;
}

/* Edits that a mount of the folder set aside? */
static enum tfs_status look_aside(struct each *e, enum tfs_status *told)
{
    e->aside = tfs_aside_is(e->operands[0]);
    *told = TFS_STATUS_DONE;
    if (!e->aside)
        return TFS_STATUS_DONE;
    const enum tfs_status status = tfs_aside_check(e->cli, e->operands[0]);
    if (!status)
        *told = tfs_aside_tell(e->cli, e->operands[0]);
    return status;
}

static enum tfs_status run_import(struct each *e)
{
    enum tfs_status told, status;

    if (tfs_foreign_alone(e->operands[0]))
        return tfs_cli_say(e->cli, TFS_STATUS_BAD,
                           "%s: it holds edits of one save of %s: give the path of that, such as "
                           "%s",
                           e->operands[0], e->folder, e->parts->items[0].save);
    if (!has_part(e))
        return tfs_cli_say(e->cli, TFS_STATUS_BAD,
                           "%s: it has nothing of the saves of %s: nothing was taken. What is "
                           "meant for one of them belongs into a directory such as its %s",
                           e->operands[0], e->folder, e->parts->items[0].path);
    status = look_aside(e, &told);
    if (status == TFS_STATUS_DONE)
        status = find_strays(e, e->operands[0], "", tell_import);
    if (status == TFS_STATUS_DONE)
        status = refuse_cut(e);
    if (status != TFS_STATUS_DONE)
        return status;
    for (size_t i = 0; i < e->parts->count; i++)
        status = tfs_status_worst(status, import_part(e, &e->parts->items[i]));
    return tfs_status_worst(told, status);
}

/* ---- A B ------------------------------------------------------------------------------------- */

static enum tfs_status print_only(const struct each *e, const char *folder, const char *part)
{
    struct tfs_buf object = {0};

    if ((e->cli->flags & TFS_CLI_JSON) == 0)
        return tfs_cli_print_line(e->cli, "only in %s: %s", folder, part);
    tfs_json_text(&object, "save", part);
    tfs_json_text(&object, "only_in", folder);
    return tfs_cli_print_object(e->cli, &object, TFS_STATUS_DONE);
}

static enum tfs_status say_only(const struct each *e, const char *folder, const char *part)
{
    enum tfs_status status = print_only(e, folder, part);

    return status == TFS_STATUS_DONE ? TFS_STATUS_BAD : TFS_STATUS_USAGE;
}

/* The save of the same path on the other side, to be freed. A directory that holds no saves of its
 * own has it below itself. */
static char *find_other(const struct tfs_parts *others, const char *folder, const char *path)
{
    for (size_t i = 0; i < others->count; i++)
        if (strcmp(others->items[i].path, path) == 0)
            return strdup(others->items[i].save);
    return tfs_path_join(folder, path);
}

static bool is_absent(const char *path, const struct tfs_parts *others)
{
    struct stat st;

    return lstat(path, &st) < 0 || access(path, F_OK) < 0 ||
           (others->count > 0 && S_ISLNK(st.st_mode));
}

/* Compares the saves of the folder with what stands at the same paths on the other side. */
static enum tfs_status diff_side(const struct each *e, const struct tfs_parts *others, bool second,
                                 bool compare)
{
    const char *other = e->operands[second ? 0 : 1];
    enum tfs_status worst = TFS_STATUS_DONE, status;

    for (size_t i = 0; i < e->parts->count; i++) {
        const char *path = e->parts->items[i].path;
        char *mine = strdup(e->parts->items[i].save), *its = find_other(others, other, path);
        if (mine != NULL && its != NULL && is_absent(its, others)) {
            status = say_only(e, e->folder, path);
        } else if (compare) {
            e->cli->part = path;
            status = second ? run_with(e, its, mine) : run_with(e, mine, its);
            e->cli->part = NULL;
            mine = its = NULL;
        } else {
            status = TFS_STATUS_DONE;
        }
        free(mine);
        free(its);
        worst = status > worst ? status : worst;
    }
    return worst;
}

/* A tree that was exported may have saves that the folder lacks. */
static enum tfs_status tell_diff(const struct each *e, const char *tree, const char *path,
                                 bool among)
{
    char *found = tfs_path_join(tree, path);
    const bool is_part = found == NULL || (among && is_directory(found));

    free(found);
    return is_part ? say_only(e, tree, path) : TFS_STATUS_DONE;
}

/* Compares the saves of the folder with a tree, or with what else is at their places. */
static enum tfs_status diff_folder(const struct each *e, const struct tfs_parts *others,
                                   bool second, bool compare)
{
    const enum tfs_status status = diff_side(e, others, second, compare);

    if (others->count > 0)
        return status;
    enum tfs_status strays = find_strays(e, e->operands[second ? 0 : 1], "", tell_diff);
    strays = strays == TFS_STATUS_SYSTEM ? TFS_STATUS_USAGE : strays; /* trouble */
    return strays > status ? strays : status;
}

/* ---- which command --------------------------------------------------------------------------- */

static enum tfs_status run_parts(struct each *e, enum tfs_operands operands)
{
    switch (operands) {
    case TFS_OPERANDS_SAVE:
        return run_each(e);
    case TFS_OPERANDS_SAVE_PATH:
        return run_on_path(e, e->operands[1], true);
    case TFS_OPERANDS_SAVE_PATHS:
        return run_on_paths(e);
    case TFS_OPERANDS_SAVE_DIR:
        return run_export(e);
    case TFS_OPERANDS_DIR_SAVE:
        return run_import(e);
    case TFS_OPERANDS_OTHER:
    case TFS_OPERANDS_TWO:
        break;
    }
    return e->run(e->cli);
}

/* Tells what a folder leaves out. Commands on the whole folder have a status for that. */
static enum tfs_status say_left_out(const struct each *e, enum tfs_operands operands, int operand,
                                    const struct tfs_parts *parts)
{
    if (parts->left_out == NULL)
        return TFS_STATUS_DONE;
    tfs_cli_say(e->cli, TFS_STATUS_DONE, "%s: %s", e->operands[operand], parts->left_out);
    if (operands == TFS_OPERANDS_TWO)
        return TFS_STATUS_USAGE; /* trouble */
    return e->run == tfs_cli_check || e->run == tfs_cli_export ? TFS_STATUS_BAD : TFS_STATUS_DONE;
}

static enum tfs_status run_two(struct each *e, const struct tfs_parts *first,
                               const struct tfs_parts *second)
{
    enum tfs_status status = TFS_STATUS_DONE, other = TFS_STATUS_DONE;

    if (first->count == 0 && second->count == 0)
        return e->run(e->cli);
    for (int i = 0; i < 2; i++)
        if ((i == 0 ? first : second)->count == 0 &&
            tfs_save_is(e->operands[i], e->cli->options.format))
            return tfs_cli_say(e->cli, TFS_STATUS_USAGE, /* trouble */
                               "%s is one save, and %s holds several: name one of those",
                               e->operands[i], e->operands[1 - i]);
    if (first->count > 0) {
        e->folder = e->operands[0];
        e->parts = first;
        status = diff_folder(e, second, false, true);
    }
    if (second->count > 0) {
        e->folder = e->operands[1];
        e->parts = second;
        other = diff_folder(e, first, true, first->count == 0);
    }
    return status > other ? status : other;
}

/* Finds the saves in the operands. *about is the operand that was looked at last, for sentences. */
static int find_parts(const struct tfs_cli *cli, enum tfs_operands operands, int at,
                      struct tfs_parts parts[2], const char **about, struct tfs_error *err)
{
    *about = cli->operands[at];
    if (tfs_parts_find(*about, cli->options.format, &parts[0], err) < 0 ||
        operands != TFS_OPERANDS_TWO || cli->operand_count < 2)
        return err->code;
    *about = cli->operands[1];
    return tfs_parts_find(*about, cli->options.format, &parts[1], err);
}

enum tfs_status tfs_cli_run_parts(struct tfs_cli *cli, tfs_command_fn run,
                                  enum tfs_operands operands)
{
    struct each e = {.cli = cli, .run = run, .operands = cli->operands};
    const int at = operands == TFS_OPERANDS_DIR_SAVE ? 1 : 0;
    struct tfs_parts parts[2] = {{0}, {0}};
    struct tfs_error err = {0};
    enum tfs_status status, left_out = TFS_STATUS_DONE;
    const char *about;

    if (operands == TFS_OPERANDS_OTHER || cli->operand_count <= at)
        return run(cli);
    if (find_parts(cli, operands, at, parts, &about, &err) < 0) {
        status = tfs_cli_report(cli, about, &err);
        status = operands == TFS_OPERANDS_TWO ? TFS_STATUS_USAGE : status; /* trouble */
    } else {
        for (int i = 0; i < 2; i++)
            left_out = tfs_status_worst(left_out, say_left_out(&e, operands, at + i, &parts[i]));
        e.folder = cli->operands[at];
        e.parts = &parts[0];
        status = operands == TFS_OPERANDS_TWO ? run_two(&e, &parts[0], &parts[1])
                 : parts[0].count == 0        ? run(cli)
                                              : run_parts(&e, operands);
        status = tfs_status_worst(status, left_out);
    }
    for (int i = 0; i < 2; i++)
        tfs_parts_release(&parts[i]);
    return status;
}
