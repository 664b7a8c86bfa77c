/*
 * A directory of edits that were set aside by version 0.1: is it one, and what is in it that
 * `import` does not take? What it says of removals, import_delete.c takes.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/print.h"
#include "commands/import.h"

/* ---- is it one? ------------------------------------------------------------------------------ */

static bool has(const char *dir, const char *name, mode_t type)
{
    char path[PATH_MAX];
    struct stat st;

    return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
           lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Does git ignore all of it? The mount saw to that. */
static bool is_ignored(const char *dir)
{
    struct tfs_found ignore = {.path = NULL};
    struct tfs_error err = {0};
    struct tfs_blob *text = NULL;
    bool is = false;

    if (!has(dir, ".gitignore", S_IFREG) || tfs_print(&ignore.path, "%s/.gitignore", dir) < 0)
        return false;
    if (tfs_view_read(&ignore, &text, &err) == 0)
        is = tfs_span_equal(tfs_blob_span(text), tfs_span_of("*\n"));
    tfs_blob_unref(text);
    free(ignore.path);
    return is;
}

/* Has a directory on the way to it the name that mounts give? */
static bool is_named(const char *dir)
{
    char path[PATH_MAX];
    const char *at = realpath(dir, path);

    while (at != NULL && (at = strstr(at, ".unsaved-")) != NULL) {
        at += strlen(".unsaved-");
        if (strspn(at, "0123456789") == 8 && at[8] == '-' && strspn(at + 9, "0123456789") == 6)
            return true;
    }
    return false;
}

bool tfs_aside_is(const char *dir)
{
    return !has(dir, TFS_MANIFEST_DIR "/" TFS_MANIFEST, S_IFREG) &&
           (has(dir, TFS_ASIDE_REMOVED, S_IFDIR) || is_ignored(dir) || is_named(dir));
}

bool tfs_aside_name(const char *name)
{
    return strcmp(name, TFS_ASIDE_REMOVED) == 0 || strcmp(name, "journal") == 0 ||
           strcmp(name, "later") == 0 || strcmp(name, "rejected") == 0;
}

/* ---- what is not taken ----------------------------------------------------------------------- */

static bool same_file(char *one, char *other)
{
    const struct tfs_found a = {.path = one}, b = {.path = other};
    struct tfs_blob *left = NULL, *right = NULL;
    struct tfs_error err = {0};
    const bool same = tfs_view_read(&a, &left, &err) == 0 && tfs_view_read(&b, &right, &err) == 0 &&
                      tfs_span_equal(tfs_blob_span(left), tfs_blob_span(right));

    tfs_blob_unref(left);
    tfs_blob_unref(right);
    return same;
}

static bool all_in(const char *from, const char *dir, unsigned depth);

/* Is what `from` has of this name in `dir`, too? */
static bool one_in(const char *from, const char *dir, const char *name, unsigned depth)
{
    char *one = NULL, *other = NULL;
    bool in = false;

    if (tfs_print(&one, "%s/%s", from, name) >= 0 && tfs_print(&other, "%s/%s", dir, name) >= 0)
        in = has(from, name, S_IFDIR) ? all_in(one, other, depth + 1) : same_file(one, other);
    free(one);
    free(other);
    return in;
}

/* Is every file below `from` in `dir`, too? Then it is taken with that. */
static bool all_in(const char *from, const char *dir, unsigned depth)
{
    DIR *directory = depth < TFS_ASIDE_DEPTH ? opendir(from) : NULL;
    struct dirent *entry;
    bool in = directory != NULL;

    while (in && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            in = one_in(from, dir, entry->d_name, depth);
    if (directory != NULL)
        closedir(directory);
    return in;
}

enum tfs_status tfs_aside_tell(struct tfs_cli *cli, const char *dir)
{
    char rejected[PATH_MAX];
    enum tfs_status status = TFS_STATUS_DONE;

    if (has(dir, "later", S_IFDIR))
        status = tfs_cli_say(cli, TFS_STATUS_BAD,
                             "%s/later: not taken: later edits of files that are here, too: import "
                             "this directory next",
                             dir);
    if (has(dir, "journal", S_IFREG))
        status = tfs_cli_say(cli, TFS_STATUS_BAD,
                             "%s/journal: not taken: edits that could not be kept as files", dir);
    if (has(dir, "rejected", S_IFDIR) &&
        (snprintf(rejected, sizeof(rejected), "%s/rejected", dir) >= (int)sizeof(rejected) ||
         !all_in(rejected, dir, 0)))
        status =
            tfs_cli_say(cli, TFS_STATUS_BAD,
                        "%s/rejected: not taken: texts that were refused, or edits that had no "
                        "place elsewhere: look at them, and import this directory or remove it",
                        dir);
    return status;
}

enum tfs_status tfs_aside_check(struct tfs_cli *cli, const char *dir)
{
    if (!cli->remove)
        return TFS_STATUS_DONE;
    return tfs_cli_say(
        cli, TFS_STATUS_BAD,
        "%s: it holds edits that were set aside and is no whole tree: --delete would "
        "remove everything else; without --delete, what they removed is removed",
        dir);
}
