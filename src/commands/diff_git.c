/*
 * diff --git: the arguments that git gives to an external diff -> what differs, under a head as git
 * prints it.
 *
 *   PATH OLD-FILE OLD-HEX OLD-MODE NEW-FILE NEW-HEX NEW-MODE [NEW-PATH WHAT]     or, unmerged: PATH
 *
 * The status is 0 whether something differs or not, for files that are no saves, and when a pager
 * was quit: git ends its whole run, and says so, when an external diff fails.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/diff.h"
#include "commands/git_run.h"
#include "fs/recovery/recover.h"

enum {
    PATH,
    OLD_FILE,
    OLD_HEX,
    OLD_MODE,
    NEW_FILE,
    NEW_HEX,
    NEW_MODE,
    PLAIN,
    NEW_PATH = PLAIN,
    WHAT,
    MOVED
};

static const int files[TFS_SIDES] = {OLD_FILE, NEW_FILE};

static bool is_absent(const char *file)
{
    return strcmp(file, "/dev/null") == 0;
}

/* ---- the head -------------------------------------------------------------------------------- */

/* Prints the lines in which git describes a rename. */
static enum tfs_status print_lines(struct tfs_cli *cli, const char *text)
{
    enum tfs_status status = TFS_STATUS_DONE;

    while (*text != '\0' && !status) {
        size_t length = strcspn(text, "\n");
        status = tfs_cli_print_line(cli, "%.*s", (int)(length < 4096 ? length : 4096), text);
        text += length + (text[length] == '\n');
    }
    return status;
}

static enum tfs_status print_modes(struct tfs_cli *cli, char **a)
{
    if (is_absent(a[OLD_FILE]))
        return tfs_cli_print_line(cli, "new file mode %s", a[NEW_MODE]);
    if (is_absent(a[NEW_FILE]))
        return tfs_cli_print_line(cli, "deleted file mode %s", a[OLD_MODE]);
    if (strcmp(a[OLD_MODE], a[NEW_MODE]) == 0)
        return TFS_STATUS_DONE;
    enum tfs_status status = tfs_cli_print_line(cli, "old mode %s", a[OLD_MODE]);
    return status ? status : tfs_cli_print_line(cli, "new mode %s", a[NEW_MODE]);
}

static enum tfs_status print_head(struct tfs_cli *cli, char **a)
{
    const bool moved = cli->operand_count == MOVED;
    enum tfs_status status =
        tfs_cli_print_line(cli, "diff --git a/%s b/%s", a[PATH], moved ? a[NEW_PATH] : a[PATH]);

    if (!status)
        status = print_modes(cli, a);
    if (!status && moved)
        status = print_lines(cli, a[WHAT]);
    return status;
}

/* git decides on colours as for its own diffs: by color.diff, and whether a pager reads them. */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");
    const bool read_by_people = isatty(STDOUT_FILENO) == 1 || getenv("GIT_PAGER_IN_USE") != NULL;
    const char *const words[] = {"config", "--get-colorbool", "color.diff",
                                 read_by_people ? "true" : "false", NULL};
    struct tfs_buf out = {0};
    struct tfs_error ignored = {0};

    if (no != NULL && *no != '\0')
        return false;
    bool wants = tfs_git_run(words, true, &out, &ignored) == 0 && !out.failed &&
                 tfs_span_equal(tfs_buf_span(&out), tfs_span_of("true\n"));
    tfs_buf_release(&out);
    return wants;
}

/* ---- the sides ------------------------------------------------------------------------------- */

/* Opens a side that exists, or prints into the diff why it is no save. */
static bool open_side(struct tfs_differ *d, int side, enum tfs_status *status)
{
    char **a = d->cli->operands;
    const bool moved = side == TFS_AFTER && d->cli->operand_count == MOVED;
    const struct tfs_open_options options = tfs_options_open(&d->cli->options, TFS_LOCK_NONE);
    char notice[TFS_ERROR_TEXT];
    struct tfs_error err = {0};

    if (is_absent(a[files[side]]))
        return true;
    if (tfs_save_open(a[files[side]], d->cli->options.format, &options, &d->saves[side], &err) ==
            0 &&
        tfs_recover(d->saves[side], notice, &err) == 0) {
        d->docs[side] = tfs_doc_ref(d->saves[side]->doc);
        return true;
    }
    *status = tfs_cli_print_line(d->cli, "%c/%s: %s", side == TFS_BEFORE ? 'a' : 'b',
                                 a[moved ? NEW_PATH : PATH], err.text);
    return false;
}

/* A side that is not there is the other save without any chunk. */
static bool empty_side(struct tfs_differ *d, int side)
{
    struct tfs_error err = {0};

    if (d->saves[side] != NULL)
        return true;
    d->saves[side] = d->saves[!side];
    if (tfs_doc_create(d->docs[!side]->facts, &d->docs[side], &err) == 0)
        return true;
    tfs_cli_say(d->cli, TFS_STATUS_SYSTEM, "%s", err.text);
    return false;
}

static enum tfs_status compare(struct tfs_cli *cli)
{
    struct tfs_differ d;
    enum tfs_status status = TFS_STATUS_DONE;

    tfs_differ_init(&d, cli);
    d.printer.colour = wants_colour();
    bool before = open_side(&d, TFS_BEFORE, &status);
    bool after = !status && open_side(&d, TFS_AFTER, &status);
    if (before && after && (d.saves[TFS_BEFORE] != NULL || d.saves[TFS_AFTER] != NULL) &&
        empty_side(&d, TFS_BEFORE) && empty_side(&d, TFS_AFTER)) {
        (void)tfs_differ_compare(&d); /* it told what is wrong */
        status = d.printer.lost;      /* git must not take half a diff for a whole one */
    }
    tfs_differ_release(&d);
    return status;
}

enum tfs_status tfs_cli_diff_git(struct tfs_cli *cli)
{
    if (cli->operand_count == 1) {
        enum tfs_status status = tfs_cli_print_line(cli, "* Unmerged path %s", cli->operands[PATH]);
        return status;
    }
    if (cli->operand_count != PLAIN && cli->operand_count != MOVED)
        return tfs_cli_say(cli, TFS_STATUS_USAGE,
                           "diff --git takes the arguments of an external diff of git: 1, 7 or 9, "
                           "not %d",
                           cli->operand_count);
    enum tfs_status status = print_head(cli, cli->operands);
    if (!status)
        status = compare(cli);
    return cli->unread ? TFS_STATUS_DONE : status;
}
