/*
 * A directory of edits that were set aside by version 0.1: is it one, and what is in it that
 * `import` does not take? What it says of removals, import_delete.c takes.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/import.h"

/* ---- is it one? ------------------------------------------------------------------------------ */

static bool has(const char *dir, const char *name, mode_t type)
{
    char path[PATH_MAX];
    struct stat st;

    return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
           lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
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
           (has(dir, TFS_ASIDE_REMOVED, S_IFDIR) || is_named(dir));
}

bool tfs_aside_name(const char *name)
{
    return strcmp(name, TFS_ASIDE_REMOVED) == 0 || strcmp(name, "journal") == 0 ||
           strcmp(name, "later") == 0 || strcmp(name, "rejected") == 0;
}

/* ---- what is not taken ----------------------------------------------------------------------- */

enum tfs_status tfs_aside_tell(struct tfs_cli *cli, const char *dir)
{
    static const struct {
        const char *name;
        mode_t type;
        const char *why;
    } others[] = {
        {"later", S_IFDIR, "later edits of files that are here, too: import this directory next"},
        {"journal", S_IFREG, "edits that could not be kept as files"},
        {"rejected", S_IFDIR,
         "texts that were refused, or edits that had no place elsewhere: look at them, and import "
         "this directory or remove it"},
    };
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (has(dir, others[i].name, others[i].type))
            status = tfs_cli_say(cli, TFS_STATUS_BAD, "%s/%s: not taken: %s", dir, others[i].name,
                                 others[i].why);
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
