/*
 * The tables of commands and options -> what people read of them.
 */
#include "commands/table.h"

#include <stdio.h>
#include <string.h>

#include "commands/options.h"
#include "formats/views/view_sets.h"

#define COLUMN 18 /* where summaries begin */

static const char mount_usage[] = "usage: terrainfs [-f] [-d] [-o OPTIONS] SAVE MOUNTPOINT\n";

static const char intro[] =
    "       terrainfs COMMAND [OPTIONS] OPERANDS\n"
    "       terrainfs help COMMAND\n"
    "       terrainfs --help | --version\n"
    "\n"
    "Mounts a game's terrain save as a directory of text files and pictures. What\n"
    "programs write there is encoded into the save as the game itself would do it.\n"
    "\n"
    "Commands, which need no mount:\n";

static const char ending[] =
    "\n"
    "If a save has the name of a command, write ./NAME.\n"
    "\n"
    "Exit status: 0 done, 1 the save or an edit is bad, 2 usage, 3 the system refused;\n"
    "of diff: 0 the same terrain, 1 different, 2 trouble; of text: 0;\n"
    "of merge: 1 with conflicts.\n";

/* ---- lines ----------------------------------------------------------------------------------- */

/* "  NAME            summary"; a summary of several lines is indented. */
static void print_row(struct tfs_buf *out, const char *name, const char *summary)
{
    if (strlen(name) + 3 > COLUMN)
        tfs_buf_printf(out, "  %s\n%*s", name, COLUMN, "");
    else
        tfs_buf_printf(out, "  %-*s", COLUMN - 2, name);
    for (; *summary != '\0'; summary++) {
        tfs_buf_u8(out, (uint8_t)*summary);
        if (*summary == '\n')
            tfs_buf_printf(out, "%*s", COLUMN, "");
    }
    tfs_buf_u8(out, '\n');
}

static void print_flag(struct tfs_buf *out, const struct tfs_flag *flag, const char *of)
{
    char name[64], summary[256];

    snprintf(name, sizeof(name), "--%s%s%s", flag->name, flag->value != NULL ? "=" : "",
             flag->value != NULL ? flag->value : "");
    snprintf(summary, sizeof(summary), "%s%s%s", of, *of != '\0' ? ": " : "", flag->summary);
    print_row(out, name, summary);
}

/* The commands that take it. */
static void print_flag_of_all(struct tfs_buf *out, const struct tfs_flag *flag)
{
    char names[128] = "";

    for (const struct tfs_command *command = tfs_commands; command->name != NULL; command++)
        if ((command->flags & flag->flag) != 0)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                     names[0] != '\0' ? ", " : "", command->name);
    print_flag(out, flag, names);
}

static void print_values(struct tfs_buf *out, bool of_mounts, unsigned flags)
{
    struct tfs_option_help help;

    for (size_t i = 0; tfs_option_help(i, &help); i++)
        if (help.mount_only == of_mounts && (help.flag == 0 || (flags & help.flag) != 0))
            print_row(out, help.spelling, help.summary);
}

/* ---- help ------------------------------------------------------------------------------------ */

static enum tfs_status print_and_release(struct tfs_cli *cli, struct tfs_buf *out)
{
    struct tfs_error err = {0};
    enum tfs_status status = tfs_buf_check(out, &err) < 0
                                 ? tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory")
                                 : tfs_cli_print(cli, tfs_buf_span(out));

    tfs_buf_release(out);
    return status;
}

enum tfs_status tfs_help_all(struct tfs_cli *cli)
{
    struct tfs_buf out = {0};
    char name[64];

    tfs_buf_add_text(&out, mount_usage);
    tfs_buf_add_text(&out, intro);
    for (const struct tfs_command *command = tfs_commands; command->name != NULL; command++) {
        snprintf(name, sizeof(name), "%s %s", command->name, command->operands);
        print_row(&out, name, command->summary);
    }
    tfs_buf_add_text(&out, "\nOptions of a mount, and of commands before their operands:\n");
    print_row(&out, "-f", "mount: stay in the foreground");
    print_row(&out, "-d", "mount: stay in the foreground and log every request");
    print_row(&out, "-o OPTIONS", "see below");
    for (const struct tfs_flag *flag = tfs_flags; flag->name != NULL; flag++)
        print_flag_of_all(&out, flag);
    print_row(&out, "-h, --help", "print this text; after a command, what `help COMMAND` prints");
    print_row(&out, "-V, --version", "print name and version");
    tfs_buf_add_text(&out, "\nOPTIONS, separated by commas (SIZE is a number with K, M or G behind "
                           "it):\n");
    print_values(&out, false, ~0U);
    tfs_buf_add_text(&out, "and for a mount only, beside those of mount(8) and FUSE:\n");
    print_values(&out, true, ~0U);
    tfs_buf_add_text(&out, ending);
    return print_and_release(cli, &out);
}

enum tfs_status tfs_help_command(struct tfs_cli *cli, const struct tfs_command *command)
{
    struct tfs_buf out = {0};

    const bool plain = (command->flags & TFS_CLI_PLAIN) != 0;

    tfs_buf_printf(&out, "usage: terrainfs %s%s", command->name, plain ? "" : " [-o OPTIONS]");
    for (const struct tfs_flag *flag = tfs_flags; flag->name != NULL; flag++)
        if ((command->flags & flag->flag) != 0)
            tfs_buf_printf(&out, " [--%s%s%s]", flag->name, flag->value != NULL ? "=" : "",
                           flag->value != NULL ? flag->value : "");
    tfs_buf_printf(&out, " %s\n\n", command->operands);
    print_row(&out, command->name, command->summary);
    for (const struct tfs_flag *flag = tfs_flags; flag->name != NULL; flag++)
        if ((command->flags & flag->flag) != 0)
            print_flag(&out, flag, "");
    if (!plain) {
        tfs_buf_add_text(&out, "\nOPTIONS, separated by commas:\n");
        print_values(&out, false, command->flags);
    }
    tfs_buf_add_text(&out, "\nThe manual, terrainfs(1), says more.\n");
    return print_and_release(cli, &out);
}

enum tfs_status tfs_cli_help(struct tfs_cli *cli)
{
    if (cli->operand_count == 0)
        return tfs_help_all(cli);
    const struct tfs_command *command = tfs_command_find(cli->operands[0]);
    const struct tfs_command *like = command == NULL ? tfs_command_like(cli->operands[0]) : NULL;
    if (cli->operand_count > 1)
        return tfs_cli_say(cli, TFS_STATUS_USAGE, "too many operands: [COMMAND]");
    if (command != NULL)
        return tfs_help_command(cli, command);
    return tfs_cli_say(cli, TFS_STATUS_USAGE, "there is no command %s%s%s%s", cli->operands[0],
                       like != NULL ? "; did you mean " : "", like != NULL ? like->name : "",
                       like != NULL ? "?" : "");
}
