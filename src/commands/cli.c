/*
 * argv -> one command, or the mount.
 *
 * Knows how a command line is written; what a command does is in cli_*.c, the mount is behind
 * fs/mount.h.
 */
#include "commands/cli.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    const char *operand_names;
    tfs_command_fn run;
    int operands;
    bool imports;
    unsigned flags; /* those it takes */
    enum tfs_operands kind;
} commands[] = {
    {"info", "SAVE", tfs_cli_info, 1, false, 0, TFS_OPERANDS_SAVE},
    {"check", "SAVE", tfs_cli_check, 1, false, 0, TFS_OPERANDS_SAVE},
    {"export", "SAVE DIR", tfs_cli_export, 2, false, TFS_CLI_VIEWS, TFS_OPERANDS_SAVE_DIR},
    {"import", "DIR SAVE", tfs_cli_import, 2, true, TFS_CLI_VIEWS, TFS_OPERANDS_DIR_SAVE},
    {"cat", "SAVE PATH", tfs_cli_cat, 2, false, 0, TFS_OPERANDS_SAVE_PATH},
    {"put", "SAVE PATH", tfs_cli_put, 2, false, 0, TFS_OPERANDS_SAVE_PATH},
    {"diff", "A B", tfs_cli_diff, 2, false,
     TFS_CLI_STAT | TFS_CLI_ALL_ROWS | TFS_CLI_JSON | TFS_CLI_COLOUR | TFS_CLI_GIT,
     TFS_OPERANDS_TWO},
    {"text", "SAVE", tfs_cli_text, 1, false, TFS_CLI_ROWS, TFS_OPERANDS_SAVE},
    {"git", "[SAVE]", tfs_cli_git, 0, false,
     TFS_CLI_ENABLE | TFS_CLI_DISABLE | TFS_CLI_STATUS | TFS_CLI_ATTRIBUTES | TFS_CLI_GLOBAL |
         TFS_CLI_EXCLUDE | TFS_CLI_OPERANDS,
     TFS_OPERANDS_OTHER},
    {"undo", "SAVE", tfs_cli_undo, 1, false, TFS_CLI_LIST | TFS_CLI_DRY_RUN | TFS_CLI_FORCE,
     TFS_OPERANDS_SAVE},
    {"upgrade", "SAVE", tfs_cli_upgrade, 1, false, 0, TFS_OPERANDS_SAVE},
    {"sync", "MOUNTPOINT", tfs_cli_sync, 1, false, 0, TFS_OPERANDS_OTHER},
    {"umount", "MOUNTPOINT", tfs_cli_umount, 1, false, 0, TFS_OPERANDS_OTHER},
};

/* What the options of a command line ask for. */
enum request {
    REQUEST_RUN,
    REQUEST_HELP,
    REQUEST_VERSION,
    REQUEST_WRONG, /* said why */
    REQUEST_NO_MEMORY,
};

enum { OPTION_DELETE = 256, OPTION_RESTORE, OPTION_PREFER, OPTION_FLAG };

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"delete", no_argument, NULL, OPTION_DELETE},
    {"stat", no_argument, NULL, OPTION_FLAG + TFS_CLI_STAT},
    {"all-rows", no_argument, NULL, OPTION_FLAG + TFS_CLI_ALL_ROWS},
    {"json", no_argument, NULL, OPTION_FLAG + TFS_CLI_JSON},
    {"color", no_argument, NULL, OPTION_FLAG + TFS_CLI_COLOUR},
    {"rows", no_argument, NULL, OPTION_FLAG + TFS_CLI_ROWS},
    {"git", no_argument, NULL, OPTION_FLAG + TFS_CLI_GIT},
    {"enable", no_argument, NULL, OPTION_FLAG + TFS_CLI_ENABLE},
    {"disable", no_argument, NULL, OPTION_FLAG + TFS_CLI_DISABLE},
    {"status", no_argument, NULL, OPTION_FLAG + TFS_CLI_STATUS},
    {"attributes", no_argument, NULL, OPTION_FLAG + TFS_CLI_ATTRIBUTES},
    {"global", no_argument, NULL, OPTION_FLAG + TFS_CLI_GLOBAL},
    {"exclude", no_argument, NULL, OPTION_FLAG + TFS_CLI_EXCLUDE},
    {"list", no_argument, NULL, OPTION_FLAG + TFS_CLI_LIST},
    {"dry-run", no_argument, NULL, OPTION_FLAG + TFS_CLI_DRY_RUN},
    {"force", no_argument, NULL, OPTION_FLAG + TFS_CLI_FORCE},
    {"restore", no_argument, NULL, OPTION_RESTORE},
    {"prefer", required_argument, NULL, OPTION_PREFER},
    {NULL, 0, NULL, 0},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static enum tfs_status print_usage(struct tfs_cli *cli)
{
    enum tfs_status status = tfs_cli_print(cli, tfs_span_of(tfs_usage));

    return status ? status : tfs_cli_print(cli, tfs_span_of(tfs_usage_options));
}

static enum tfs_status say_usage(struct tfs_cli *cli, const char *problem, const char *what)
{
    tfs_cli_say(cli, TFS_STATUS_USAGE, "%s%s", problem, what);
    fputs("Try 'terrainfs --help'.\n", stderr);
    return TFS_STATUS_USAGE;
}

/* ---- options --------------------------------------------------------------------------------- */

static enum request parse_values(struct tfs_cli *cli, const char *text, bool mounting)
{
    struct tfs_error err = {0};

    if (!tfs_options_parse(&cli->options, text, mounting, &err))
        return REQUEST_RUN;
    if (err.code == -ENOMEM)
        return REQUEST_NO_MEMORY;
    say_usage(cli, "-o ", err.text);
    return REQUEST_WRONG;
}

static enum request refuse_option(struct tfs_cli *cli, char **argv, int option)
{
    char letter[] = {'-', (char)optopt, '\0'};
    bool is_long = optopt == 0 || optopt >= OPTION_DELETE;

    say_usage(cli, option == ':' ? "this option needs a value: " : "there is no such option here: ",
              is_long ? argv[optind - 1] : letter);
    return REQUEST_WRONG;
}

static enum request parse_prefer(struct tfs_cli *cli, const char *name)
{
    if (tfs_prefer_parse(name, &cli->prefer))
        return REQUEST_RUN;
    say_usage(cli, "--prefer= is voxels, grids, raw or pictures, not ", name);
    return REQUEST_WRONG;
}

/* The options of `import` alone. */
static enum request apply_import_option(struct tfs_cli *cli, const struct command *command,
                                        char **argv, int option)
{
    if (!command || !command->imports)
        return refuse_option(cli, argv, option);
    if (option == OPTION_PREFER)
        return parse_prefer(cli, optarg);
    cli->remove = cli->remove || option == OPTION_DELETE;
    cli->restore = cli->restore || option == OPTION_RESTORE;
    return REQUEST_RUN;
}

static enum request apply_option(struct tfs_cli *cli, const struct command *command, char **argv,
                                 int option)
{
    switch (option) {
    case 'o':
        return parse_values(cli, optarg, !command);
    case 'f':
        cli->options.foreground = true;
        return REQUEST_RUN;
    case 'd':
        cli->options.debug = true;
        return REQUEST_RUN;
    case 'h':
        return REQUEST_HELP;
    case 'V':
        return REQUEST_VERSION;
    case OPTION_DELETE:
    case OPTION_RESTORE:
    case OPTION_PREFER:
        return apply_import_option(cli, command, argv, option);
    default:
        if (command && option > OPTION_FLAG && command->flags & (unsigned)(option - OPTION_FLAG)) {
            cli->flags |= (unsigned)(option - OPTION_FLAG);
            return REQUEST_RUN;
        }
        return refuse_option(cli, argv, option);
    }
}

/* All options of argv. Of a command they stand before the operands; a mount takes them anywhere,
 * because mount(8) puts them behind. */
static enum request parse_options(struct tfs_cli *cli, const struct command *command, int argc,
                                  char **argv)
{
    const char *letters = command ? "+:o:hV" : ":o:fdhV";
    enum request request = REQUEST_RUN;
    int option;

    opterr = 0;
    optind = 1;
    while (request == REQUEST_RUN &&
           (option = getopt_long(argc, argv, letters, long_options, NULL)) != -1)
        request = apply_option(cli, command, argv, option);
    cli->operands = argv + optind;
    return request;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum tfs_status run_command(struct tfs_cli *cli, const struct command *command)
{
    /* A reader that went away is an error to report, not a reason to die of. */
    signal(SIGPIPE, SIG_IGN);
    /* git runs `diff` with operands of its own. */
    return tfs_cli_run_parts(cli, command->run,
                             (cli->flags & TFS_CLI_GIT) != 0 ? TFS_OPERANDS_OTHER : command->kind);
}

/* Does the command look at how many operands there are? */
static bool counts_itself(const struct tfs_cli *cli, const struct command *command)
{
    return command != NULL &&
           ((command->flags & TFS_CLI_OPERANDS) != 0 || (cli->flags & TFS_CLI_GIT) != 0);
}

static bool takes_views(const struct tfs_cli *cli, const struct command *command)
{
    return cli->options.views == 0 || command == NULL || (command->flags & TFS_CLI_VIEWS) != 0;
}

static enum tfs_status run(struct tfs_cli *cli, const struct command *command, int argc,
                           char **argv)
{
    enum request request = parse_options(cli, command, argc, argv);
    int count = cli->operand_count = argc - optind, wanted = command ? command->operands : 2;

    switch (request) {
    case REQUEST_HELP:
        return print_usage(cli);
    case REQUEST_VERSION:
        return tfs_cli_print(cli, tfs_span_of("terrainfs " TFS_VERSION "\n"));
    case REQUEST_WRONG:
        return TFS_STATUS_USAGE;
    case REQUEST_NO_MEMORY:
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
    case REQUEST_RUN:
        break;
    }
    if (count != wanted && !counts_itself(cli, command))
        return say_usage(cli, count < wanted ? "missing operand: " : "too many operands: ",
                         command ? command->operand_names : "SAVE MOUNTPOINT");
    if (!takes_views(cli, command))
        return say_usage(cli, "-o views: this option is for a mount, export and import", "");
    if (command)
        return run_command(cli, command);
    if (find_command(cli->operands[0]))
        return say_usage(cli,
                         "a command goes before its options, a save of this name is written ./",
                         cli->operands[0]);
    return (enum tfs_status)tfs_mount(&cli->options, cli->operands[0], cli->operands[1]);
}

int tfs_cli_main(int argc, char **argv)
{
    const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
    struct tfs_cli cli = {.command = command ? command->name : "mount"};
    enum tfs_status status;

    tfs_options_init(&cli.options);
    status = command ? run(&cli, command, argc - 1, argv + 1) : run(&cli, NULL, argc, argv);
    tfs_options_release(&cli.options);
    return (int)status;
}
