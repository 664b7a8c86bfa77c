/*
 * git: tells git how to show and merge saves. Writes the configuration that makes `git diff`, `git
 * log -p`, `git blame` and `git merge` call `terrainfs diff --git`, `text` and `merge`, and prints
 * the lines of .gitattributes that say for which files.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/cli.h"
#include "commands/git_run.h"

/* -text: git changes no line end of a save that is a text (core.autocrlf). */
#define ATTRIBUTES " -text diff=terrain merge=terrain"

/* Keys and values. The value of a command is what follows the name of the program. */
static const struct {
    const char *key, *value, *arguments;
} settings[] = {
    {"diff.terrain.command", NULL, " diff --git --"},
    {"diff.terrain.textconv", NULL, " text --"},
    {"diff.terrain.cachetextconv", "true", NULL},
    {"diff.terrain.xfuncname", "^chunk ([^ ]+)", NULL},
    {"merge.terrain.name", "voxels of terrain", NULL},
    {"merge.terrain.driver", NULL, " merge --path=%P -- %O %A %B"},
    /* Of branches that were merged into each other git merges the common ancestors first. A voxel
     * in conflict there must be as it was before, or one side would win without a word. */
    {"merge.terrain.recursive", "terrain-base", NULL},
    {"merge.terrain-base.name", "voxels of terrain, between merges", NULL},
    {"merge.terrain-base.driver", NULL, " merge --virtual --path=%P -- %O %A %B"},
};

/* ---- the program, as a shell finds it -------------------------------------------------------- */

/* Is the first `terrainfs` on the PATH this program? */
static bool is_on_path(const char *self)
{
    const char *path = getenv("PATH");

    while (path != NULL && *path != '\0') {
        const size_t length = strcspn(path, ":");
        char name[PATH_MAX], resolved[PATH_MAX];
        if (length > 0 &&
            snprintf(name, sizeof(name), "%.*s/terrainfs", (int)length, path) < (int)sizeof(name) &&
            access(name, X_OK) == 0)
            return realpath(name, resolved) != NULL && strcmp(resolved, self) == 0;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Appends a word as shells read it. */
static void quote(const char *word, struct tfs_buf *out)
{
    tfs_buf_u8(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            tfs_buf_add_text(out, "'\\'");
        tfs_buf_u8(out, (uint8_t)*word);
    }
    tfs_buf_u8(out, '\'');
}

/* The program by its name where a shell finds it by that, else by its path. */
static void add_program(struct tfs_buf *out)
{
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[n > 0 ? n : 0] = '\0';
    if (n <= 0 || is_on_path(self))
        tfs_buf_add_text(out, "terrainfs");
    else
        quote(self, out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum tfs_status write_setting(struct tfs_cli *cli, size_t i)
{
    const bool global = (cli->flags & TFS_CLI_GLOBAL) != 0;
    struct tfs_error err = {0};
    struct tfs_buf value = {0};
    int status = -ENOMEM;

    if (settings[i].value == NULL)
        add_program(&value);
    tfs_buf_add_text(&value, settings[i].value ? settings[i].value : settings[i].arguments);
    tfs_buf_u8(&value, 0);
    const char *const words[] = {"config",        global ? "--global" : "--local", "--replace-all",
                                 settings[i].key, (const char *)value.data,        NULL};
    if (tfs_buf_check(&value, &err) == 0)
        status = tfs_git_run(words, false, NULL, &err);
    tfs_buf_release(&value);
    if (status == 0)
        return TFS_STATUS_DONE;
    return status < 0 ? tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s", err.text)
                      : tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                                    "git did not take %s; --global is for "
                                    "all repositories that are yours",
                                    settings[i].key);
}

static enum tfs_status print_attributes(struct tfs_cli *cli)
{
    enum tfs_status status = TFS_STATUS_DONE;

    for (const struct tfs_ending *ending = tfs_endings; ending->format != NULL && !status; ending++)
        status = tfs_cli_print_line(cli, "*%s" ATTRIBUTES, ending->text);
    return status;
}

enum tfs_status tfs_cli_git(struct tfs_cli *cli)
{
    enum tfs_status status = TFS_STATUS_DONE;

    if ((cli->flags & TFS_CLI_ENABLE) == 0)
        return tfs_cli_say(cli, TFS_STATUS_USAGE,
                           "git --enable configures git; `git config --remove-section` of "
                           "diff.terrain, merge.terrain and merge.terrain-base takes it away");
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && !status; i++)
        status = write_setting(cli, i);
    if (!status && isatty(STDOUT_FILENO) == 1)
        tfs_cli_say(cli, TFS_STATUS_DONE,
                    "these lines belong into .gitattributes; a save of another name needs its own");
    return status ? status : print_attributes(cli);
}
