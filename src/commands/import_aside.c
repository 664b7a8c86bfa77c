/*
 * A directory of edits that were set aside by version 0.1: is it one, and what is in it that
 * `import` does not take? What it says of removals, import_delete.c takes.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/print.h"
#include "commands/import.h"

/* What it may have beside files of the tree and what was removed. */
static const char *const others[] = {"journal", "later", "rejected"};

#define OTHERS (sizeof(others) / sizeof(others[0]))

/* Of this type; 0: of any. A link is none of them. */
static bool has(const char *dir, const char *name, mode_t type)
{
    char *path = tfs_path_join(dir, name);
    struct stat st;
    const bool there = path != NULL && lstat(path, &st) == 0 &&
                       (type == 0 ? !S_ISLNK(st.st_mode) : (st.st_mode & S_IFMT) == type);

    free(path);
    return there;
}

/* Does git ignore all of it? The mount saw to that, and it stays where the directory is renamed. */
static bool is_ignored(const char *dir)
{
    char *path = tfs_path_join(dir, ".gitignore"), text[4];
    const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool is = fd >= 0 && read(fd, text, sizeof(text)) == 2 && memcmp(text, "*\n", 2) == 0;

    if (fd >= 0)
        close(fd);
    free(path);
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
    bool is = strcmp(name, TFS_ASIDE_REMOVED) == 0;

    for (size_t i = 0; i < OTHERS; i++)
        is = is || strcmp(name, others[i]) == 0;
    return is;
}

enum tfs_status tfs_aside_tell(struct tfs_cli *cli, const char *dir)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (size_t i = 0; i < OTHERS; i++)
        if (has(dir, others[i], 0))
            status = tfs_cli_say(cli, TFS_STATUS_BAD,
                                 "%s/%s: not taken: look at it, and import it or remove it", dir,
                                 others[i]);
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
