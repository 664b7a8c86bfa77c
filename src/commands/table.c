/*
 * Every command and every option of one, once: see table.h.
 */
#include "commands/table.h"

#include <string.h>

#define LIKE       2 /* how many letters may differ */
#define LENGTH_MAX 32

const struct tfs_command tfs_commands[] = {
    {"info", "SAVE...", "print what the save is: format, version, chunks, bounds", tfs_cli_info,
     TFS_OPERANDS_SAVE, 1, TFS_CLI_MANY | TFS_CLI_RECURSIVE | TFS_CLI_JSON},
    {"check", "SAVE...", "decode every chunk; print what is damaged, unusual or read-only",
     tfs_cli_check, TFS_OPERANDS_SAVE, 1,
     TFS_CLI_MANY | TFS_CLI_RECURSIVE | TFS_CLI_JSON | TFS_CLI_QUIET},
    {"export", "SAVE DIR", "write the whole tree to DIR, which must be new or empty",
     tfs_cli_export, TFS_OPERANDS_SAVE_DIR, 2, TFS_CLI_VIEWS | TFS_CLI_JSON | TFS_CLI_QUIET},
    {"import", "DIR SAVE", "write into SAVE the files of DIR that were edited since the export",
     tfs_cli_import, TFS_OPERANDS_DIR_SAVE, 2,
     TFS_CLI_VIEWS | TFS_CLI_DELETE | TFS_CLI_ALL | TFS_CLI_FORCE | TFS_CLI_JSON | TFS_CLI_QUIET},
    {"cat", "SAVE PATH...", "print files of the tree; a PATH may be a pattern, in quotes",
     tfs_cli_cat, TFS_OPERANDS_SAVE_PATHS, 2, TFS_CLI_MORE},
    {"put", "SAVE PATH", "replace one file of the tree with the standard input", tfs_cli_put,
     TFS_OPERANDS_SAVE_PATH, 2, 0},
    {"diff", "A B", "print how the terrain of save A differs from that of save B", tfs_cli_diff,
     TFS_OPERANDS_TWO, 2, TFS_CLI_STAT | TFS_CLI_ALL_ROWS | TFS_CLI_JSON | TFS_CLI_GIT},
    {"text", "SAVE", "print one line for each chunk of the save, for git to compare", tfs_cli_text,
     TFS_OPERANDS_SAVE, 1, TFS_CLI_ALL_ROWS},
    {"merge", "BASE OURS THEIRS [-o OUT]",
     "add to OURS (or write to OUT) what THEIRS changed since BASE", tfs_cli_merge,
     TFS_OPERANDS_OTHER, 3, TFS_CLI_CONFLICTS | TFS_CLI_PATH | TFS_CLI_VIRTUAL | TFS_CLI_OPERANDS},
    {"git", "", "set up git to show and merge saves as terrain", tfs_cli_git, TFS_OPERANDS_OTHER, 0,
     TFS_CLI_ENABLE | TFS_CLI_GLOBAL | TFS_CLI_PLAIN},
    {"undo", "SAVE", "take back what the last mount or command changed; again: redo", tfs_cli_undo,
     TFS_OPERANDS_OTHER, 1, TFS_CLI_LIST | TFS_CLI_FORCE},
    {"upgrade", "SAVE", "convert a save of Godot Voxel Tools to the newest block version",
     tfs_cli_upgrade, TFS_OPERANDS_SAVE, 1, TFS_CLI_QUIET},
    {"sync", "MOUNTPOINT", "wait until the save of a mount is on disk", tfs_cli_sync,
     TFS_OPERANDS_OTHER, 1, TFS_CLI_PLAIN},
    {"umount", "MOUNTPOINT", "unmount, and wait until the save is on disk", tfs_cli_umount,
     TFS_OPERANDS_OTHER, 1, TFS_CLI_PLAIN},
    {"help", "[COMMAND]", "explain what a command does and which options it takes", tfs_cli_help,
     TFS_OPERANDS_OTHER, 0, TFS_CLI_OPERANDS | TFS_CLI_PLAIN},
    {NULL, NULL, NULL, NULL, TFS_OPERANDS_OTHER, 0, 0},
};

const struct tfs_flag tfs_flags[] = {
    {"delete", NULL, "also remove chunks and optional files that are not in DIR", TFS_CLI_DELETE},
    {"all", NULL, "take every file that differs from the save, edited or not", TFS_CLI_ALL},
    {"stat", NULL, "print only the summary", TFS_CLI_STAT},
    {"all-rows", NULL, "print every voxel that differs (text: that is not empty)",
     TFS_CLI_ALL_ROWS},
    {"json", NULL, "print JSON, for programs", TFS_CLI_JSON},
    {"quiet", NULL, "print no progress and no summary", TFS_CLI_QUIET},
    {"recursive", NULL, "also take every save in the given directories (-r)", TFS_CLI_RECURSIVE},
    {"git", NULL, "read the arguments that git gives to an external diff", TFS_CLI_GIT},
    {"conflicts", "SIDE", "which side a conflict keeps: ours (default), theirs or base",
     TFS_CLI_CONFLICTS},
    {"path", "PATH", "the name of OURS; in git, conflicts go to .git/terrainfs/PATH.conflicts.csv",
     TFS_CLI_PATH},
    {"virtual", NULL, "merge common ancestors for git: conflicts stay as in BASE, unreported",
     TFS_CLI_VIRTUAL},
    {"enable", NULL,
     "write the settings into the configuration of this repository, print attributes",
     TFS_CLI_ENABLE},
    {"global", NULL, "use the configuration of the user, for all repositories", TFS_CLI_GLOBAL},
    {"list", NULL, "list the kept versions", TFS_CLI_LIST},
    {"force", NULL, "do it even where another program changed the save since", TFS_CLI_FORCE},
    {NULL, NULL, NULL, 0},
};

const struct tfs_command *tfs_command_find(const char *name)
{
    for (const struct tfs_command *command = tfs_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* ---- names that were meant ------------------------------------------------------------------- */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* How many letters must be inserted, left out or changed. */
static size_t distance(const char *a, const char *b)
{
    const size_t length = strlen(b);
    size_t row[LENGTH_MAX + 1];

    if (length > LENGTH_MAX || strlen(a) > LENGTH_MAX)
        return LENGTH_MAX;
    for (size_t i = 0; i <= length; i++)
        row[i] = i;
    for (size_t at = 0; a[at] != '\0'; at++) {
        size_t corner = row[0];
        row[0] = at + 1;
        for (size_t i = 0; i < length; i++) {
            const size_t above = row[i + 1];
            row[i + 1] = least(row[i] + 1, above + 1, corner + (a[at] != b[i]));
            corner = above;
        }
    }
    return row[length];
}

/* Short words may differ by less. */
static size_t allowed(const char *name)
{
    return strlen(name) <= 3 ? 1 : LIKE;
}

bool tfs_word_is_like(const char *word, const char *name, size_t *best)
{
    const size_t differs = distance(word, name) + 1;

    if (differs > allowed(word) + 1 || (*best != 0 && differs >= *best))
        return false;
    *best = differs;
    return true;
}

const struct tfs_command *tfs_command_like(const char *name)
{
    const struct tfs_command *found = NULL;
    size_t best = 0;

    for (const struct tfs_command *command = tfs_commands; command->name != NULL; command++)
        if (tfs_word_is_like(name, command->name, &best))
            found = command;
    return found;
}

const struct tfs_flag *tfs_flag_like(const char *name, const struct tfs_command *command)
{
    const struct tfs_flag *found = NULL;
    size_t best = 0;

    for (const struct tfs_flag *flag = tfs_flags; flag->name != NULL; flag++)
        if (command != NULL && (command->flags & flag->flag) != 0 &&
            tfs_word_is_like(name, flag->name, &best))
            found = flag;
    return found;
}
