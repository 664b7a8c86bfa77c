/*
 * --recursive: a directory -> the saves in it, each of which a command is run on.
 *
 * A folder that is a save is not entered, unless its files lie in it beside whatever else is there,
 * as regions do: then all but they is visited. Links are not followed, names that begin with a dot
 * are left out; so are mounts of ours and trees that `export` wrote, which show a save. What is no
 * save is passed over, unless its name is that of one.
 */
#include "commands/table.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/containers/several_saves.h"

#define DEPTH_MAX 64

struct walk {
    struct tfs_cli *cli;
    const struct tfs_command *command;
    size_t found;
    enum tfs_status status;
};

/* 1: it is a save, or holds several; 0: it is none; or negative. `folder`: the format of a save
 * that is the directory itself. */
static int look_at(const struct walk *w, const char *path, bool directory, const char **folder)
{
    const struct tfs_container *container = NULL;
    struct tfs_error none = {0};
    struct tfs_parts parts = {0};
    char *found = NULL;
    size_t count = 0;

    if (tfs_parts_find(path, w->cli->options.format, &parts, &none) == 0) {
        count = parts.count;
        tfs_parts_release(&parts);
    }
    if (count > 0)
        return 1;
    none = (struct tfs_error){0};
    const int result = tfs_save_find(path, NULL, w->cli->options.format, &container, &found, &none);
    struct stat st;
    const bool whole = result == 0 && directory && stat(found, &st) == 0 && S_ISDIR(st.st_mode);
    *folder = whole ? container->format : NULL;
    free(found);
    if (result == 0 || none.code == -EBADMSG || none.code == -ENOTSUP ||
        (directory && tfs_status_of(none.code) != TFS_STATUS_SYSTEM))
        return result == 0;
    return none.code;
}

static void run(struct walk *w, char *path)
{
    char **operands = w->cli->operands;
    const int count = w->cli->operand_count;

    w->found++;
    w->cli->operands = &path;
    w->cli->operand_count = 1;
    w->status =
        tfs_status_worst(w->status, tfs_cli_run_parts(w->cli, w->command->run, w->command->kind));
    w->cli->operands = operands;
    w->cli->operand_count = count;
}

static void fail_errno(struct walk *w, const char *path)
{
    struct tfs_error err = {0};

    tfs_fail(&err, -errno, "%s", strerror(errno));
    w->status = tfs_status_worst(w->status, tfs_cli_report(w->cli, path, &err));
}

/* ---- directories ----------------------------------------------------------------------------- */

struct names {
    char **items;
    size_t count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static bool add_name(struct names *names, const char *path, const char *name)
{
    char **items = tfs_array_grow(names->items, names->count, sizeof(*items));

    if (items == NULL)
        return false;
    names->items = items;
    if (tfs_print(&items[names->count], "%s/%s", path, name) < 0)
        return false;
    names->count++;
    return true;
}

/* Sorted. */
static bool read_names(struct walk *w, const char *path, struct names *names)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    bool memory = true;

    if (dir == NULL) {
        fail_errno(w, path);
        return false;
    }
    while (memory && (entry = readdir(dir)) != NULL)
        memory = entry->d_name[0] == '.' || add_name(names, path, entry->d_name);
    closedir(dir);
    if (!memory)
        w->status = tfs_cli_say(w->cli, TFS_STATUS_SYSTEM, "out of memory");
    else if (names->count > 0)
        qsort(names->items, names->count, sizeof(*names->items), compare_names);
    return memory;
}

/* A mount of ours or an exported tree: both have this directory. */
static bool shows_save(const char *path)
{
    char *control = NULL;
    const bool shows =
        tfs_print(&control, "%s/.terrainfs", path) >= 0 && access(control, F_OK) == 0;

    free(control);
    return shows;
}

/* chunks/X_Y_Z of a tree without that directory, as git clones one: what is in it are files of a
 * save. */
static bool is_chunk(const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t parent = strlen("/chunks");
    int x, y, z, end = 0;

    return slash != NULL && (size_t)(slash - path) >= parent &&
           strncmp(slash - parent, "/chunks", parent) == 0 &&
           sscanf(slash + 1, "%d_%d_%d%n", &x, &y, &z, &end) == 3 && slash[1 + end] == '\0';
}

static void visit(struct walk *w, char *path, unsigned depth);

/* Removes the names of files of that format. False: no name is left. */
static bool leave_out(struct names *names, const char *format)
{
    size_t kept = 0, count = names->count;

    for (size_t i = 0; i < count; i++)
        if (tfs_save_is_named(names->items[i], format))
            free(names->items[i]);
        else
            names->items[kept++] = names->items[i];
    names->count = kept;
    return kept < count;
}

/* `folder`: the directory is a save of this format, or NULL. */
static void enter(struct walk *w, const char *path, const char *folder, unsigned depth)
{
    struct names names = {0};

    if (depth == DEPTH_MAX)
        w->status = tfs_status_worst(
            w->status, tfs_cli_say(w->cli, TFS_STATUS_BAD, "%s: more than %d directories deep",
                                   path, DEPTH_MAX));
    else if (read_names(w, path, &names) && (folder == NULL || leave_out(&names, folder)))
        for (size_t i = 0; i < names.count && !w->cli->unread; i++)
            visit(w, names.items[i], depth + 1);
    names_release(&names);
}

static void visit(struct walk *w, char *path, unsigned depth)
{
    const char *folder = NULL;
    struct stat st;

    if ((depth == 0 ? stat(path, &st) : lstat(path, &st)) < 0) {
        fail_errno(w, path);
        return;
    }
    if ((!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) || (S_ISDIR(st.st_mode) && is_chunk(path)))
        return;
    const int is = look_at(w, path, S_ISDIR(st.st_mode), &folder);
    /* Opening a file that is unreadable, named as a save or named by the user tells why it is no
     * save. */
    if (is != 0 || (S_ISREG(st.st_mode) && (depth == 0 || tfs_save_is_named(path, NULL))))
        run(w, path);
    if ((is == 0 || folder != NULL) && S_ISDIR(st.st_mode) && !shows_save(path))
        enter(w, path, folder, depth);
}

enum tfs_status tfs_cli_walk(struct tfs_cli *cli, const struct tfs_command *command,
                             const char *path)
{
    struct walk w = {.cli = cli, .command = command};
    char *copy = strdup(path);

    if (copy == NULL)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/';)
        copy[--n] = '\0';
    visit(&w, copy, 0);
    free(copy);
    if (w.found == 0 && w.status == TFS_STATUS_DONE)
        return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: there is no save in this directory", path);
    return w.status;
}
