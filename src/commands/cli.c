/*
 * argv -> one command, or the mount.
 *
 * Knows how a command line is written; what a command does is in files of their names, the mount is
 * behind fs/mount/mount.h.
 */
#include "commands/table.h"
#include "formats/containers/several_saves.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum request {
    REQUEST_RUN,
    REQUEST_HELP,
    REQUEST_VERSION,
    REQUEST_WRONG, /* and the user was told why */
    REQUEST_NO_MEMORY,
};

/* Values of options that have no letter: the row of the flag behind this. */
enum { OPTION_FLAG = 256, LONG_OPTIONS = 40 };

static void fill_long_options(struct option options[LONG_OPTIONS])
{
    size_t count = 0;

    options[count++] = (struct option){"help", no_argument, NULL, 'h'};
    options[count++] = (struct option){"version", no_argument, NULL, 'V'};
    for (size_t i = 0; tfs_flags[i].name != NULL; i++)
        options[count++] = (struct option){
            tfs_flags[i].name, tfs_flags[i].value != NULL ? required_argument : no_argument, NULL,
            OPTION_FLAG + (int)i};
    options[count] = (struct option){0};
    assert(count < LONG_OPTIONS);
}

static enum tfs_status say_usage(struct tfs_cli *cli, const char *problem, const char *what)
{
    tfs_cli_say(cli, TFS_STATUS_USAGE, "%s%s", problem, what);
    fputs("Try 'terrainfs --help'.\n", stderr);
    return TFS_STATUS_USAGE;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool is_merge(const struct tfs_command *command)
{
    return command != NULL && (command->flags & TFS_CLI_CONFLICTS) != 0;
}

static enum request parse_values(struct tfs_cli *cli, const struct tfs_command *command,
                                 const char *text)
{
    const bool mounting = command == NULL;
    struct tfs_error err = {0};

    if (!tfs_options_parse(&cli->options, text, mounting, &err))
        return REQUEST_RUN;
    if (err.code == -ENOMEM)
        return REQUEST_NO_MEMORY;
    if (is_merge(command))
        tfs_cli_say(cli, TFS_STATUS_USAGE, "-o %s; -o OUT, the result, stands behind the operands",
                    err.text);
    else
        say_usage(cli, "-o ", err.text);
    return REQUEST_WRONG;
}

/* What version 0.1 had, and what there is instead. */
static const struct {
    const char *name, *instead;
} gone[] = {
    {"--prefer", "remove the files that are not to be taken"},
    {"--restore", "give --all"},
    {"--dry-run", "undo --list shows what is kept, and where"},
    {"--png", "compare map.png of both saves, which cat prints"},
    {"--color", "colours are for terminals"},
    {"--rows", "give --all-rows"},
    {"--attributes", "git --enable prints the lines"},
    {"--disable", "git config --remove-section takes the settings away"},
    {"--status", "git config --get-regexp terrain shows the settings"},
    {"--exclude", "mount or export with -o views=voxels"},
};

static const char *instead_of(const char *name)
{
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        if (strncmp(gone[i].name, name, strcspn(name, "=")) == 0 &&
            strlen(gone[i].name) == strcspn(name, "="))
            return gone[i].instead;
    return NULL;
}

static enum request refuse_option(struct tfs_cli *cli, const struct tfs_command *command,
                                  char **argv, int option)
{
    char letter[] = {'-', (char)optopt, '\0'};
    bool is_long = optopt == 0 || optopt >= OPTION_FLAG;
    const char *name = is_long ? argv[optind - 1] : letter;
    const struct tfs_flag *like =
        is_long && option == '?' ? tfs_flag_like(name + strspn(name, "-"), command) : NULL;

    if (is_long && instead_of(name) != NULL)
        tfs_cli_say(cli, TFS_STATUS_USAGE, "%s: this option is no longer there: %s", name,
                    instead_of(name));
    else if (like != NULL)
        tfs_cli_say(cli, TFS_STATUS_USAGE, "there is no such option here: %s; did you mean --%s?",
                    name, like->name);
    else
        say_usage(
            cli,
            option == ':' ? "this option needs a value: " : "there is no such option here: ", name);
    return REQUEST_WRONG;
}

static enum request parse_conflicts(struct tfs_cli *cli, const char *side)
{
    cli->conflicts = side;
    if (strcmp(side, "ours") == 0 || strcmp(side, "theirs") == 0 || strcmp(side, "base") == 0)
        return REQUEST_RUN;
    say_usage(cli, "--conflicts= is ours, theirs or base, not ", side);
    return REQUEST_WRONG;
}

static enum request apply_flag(struct tfs_cli *cli, const struct tfs_flag *flag)
{
    cli->flags |= flag->flag;
    cli->remove = (cli->flags & TFS_CLI_DELETE) != 0;
    cli->all = (cli->flags & TFS_CLI_ALL) != 0;
    if (flag->flag == TFS_CLI_PATH)
        cli->path = optarg;
    if (flag->flag == TFS_CLI_CONFLICTS)
        return parse_conflicts(cli, optarg);
    return REQUEST_RUN;
}

/* What getopt answers for the long name of a flag. */
static int flag_option(unsigned flag)
{
    int i = 0;

    while (tfs_flags[i].flag != flag)
        i++;
    return OPTION_FLAG + i;
}

static enum request apply_option(struct tfs_cli *cli, const struct tfs_command *command,
                                 char **argv, int option)
{
    switch (option) {
    case 'o':
        return parse_values(cli, command, optarg);
    case 'f':
        cli->options.foreground = true;
        return REQUEST_RUN;
    case 'd':
        cli->options.debug = true;
        return REQUEST_RUN;
    case 'r':
        option = flag_option(TFS_CLI_RECURSIVE);
        break;
    case 'h':
        return REQUEST_HELP;
    case 'V':
        return REQUEST_VERSION;
    default:
        break;
    }
    if (command != NULL && option >= OPTION_FLAG &&
        (command->flags & tfs_flags[option - OPTION_FLAG].flag) != 0)
        return apply_flag(cli, &tfs_flags[option - OPTION_FLAG]);
    return refuse_option(cli, command, argv, option);
}

/* All options of argv. Of a command they stand before the operands; a mount takes them anywhere,
 * because mount(8) puts them behind. */
static enum request parse_options(struct tfs_cli *cli, const struct tfs_command *command, int argc,
                                  char **argv)
{
    const bool walks = command != NULL && (command->flags & TFS_CLI_RECURSIVE) != 0;
    const char *letters = walks ? "+:o:hVr" : command != NULL ? "+:o:hV" : ":o:fdhV";
    struct option long_options[LONG_OPTIONS];
    enum request request = REQUEST_RUN;
    int option;

    fill_long_options(long_options);
    opterr = 0;
    optind = 1;
    while (request == REQUEST_RUN &&
           (option = getopt_long(argc, argv, letters, long_options, NULL)) != -1)
        request = apply_option(cli, command, argv, option);
    cli->operands = argv + optind;
    return request;
}

/* ---- running --------------------------------------------------------------------------------- */

static enum tfs_status run_command(struct tfs_cli *cli, const struct tfs_command *command)
{
    enum tfs_status status = TFS_STATUS_DONE;

    /* A reader that went away is an error to report, not a reason to die of. */
    signal(SIGPIPE, SIG_IGN);
    /* git runs `diff` with operands of its own. */
    const enum tfs_operands kind =
        (cli->flags & TFS_CLI_GIT) != 0 ? TFS_OPERANDS_OTHER : command->kind;
    if ((command->flags & TFS_CLI_MANY) == 0)
        return tfs_cli_run_parts(cli, command->run, kind);
    const bool walks = (cli->flags & TFS_CLI_RECURSIVE) != 0;
    cli->many = cli->operand_count > 1 || walks;
    for (; cli->operand_count > 0 && !cli->unread; cli->operand_count--, cli->operands++)
        status = tfs_status_worst(status, walks ? tfs_cli_walk(cli, command, *cli->operands)
                                                : tfs_cli_run_parts(cli, command->run, kind));
    return status;
}

/* May it have another number of operands? */
static bool counts_itself(const struct tfs_cli *cli, const struct tfs_command *command, int count)
{
    return command != NULL &&
           ((command->flags & TFS_CLI_OPERANDS) != 0 || (cli->flags & TFS_CLI_GIT) != 0 ||
            ((command->flags & TFS_CLI_MANY) != 0 && count > 0) ||
            ((command->flags & TFS_CLI_MORE) != 0 && count > command->operand_count));
}

/* A word that is nearly a command, and no file. */
static bool is_meant_as_command(const char *word)
{
    return strchr(word, '/') == NULL && tfs_command_find(word) == NULL &&
           tfs_command_like(word) != NULL && access(word, F_OK) < 0;
}

/* A word behind the first operand that is an option and no file; NULL: there is none. */
static const char *find_late_option(const struct tfs_cli *cli, const struct tfs_command *command)
{
    if (command == NULL || cli->operand_count == 0 || strcmp(cli->operands[-1], "--") == 0)
        return NULL;
    for (int i = 1; i < cli->operand_count; i++) {
        const char *word = cli->operands[i];
        if (word[0] == '-' && word[1] != '\0' && access(word, F_OK) < 0 &&
            !(is_merge(command) && i == 3 && strcmp(word, "-o") == 0))
            return word;
    }
    return NULL;
}

/* ---- operands the other way round ------------------------------------------------------------ */

static bool is_save(const struct tfs_cli *cli, const char *path)
{
    struct tfs_error ignored = {0};
    struct tfs_parts parts = {0};
    bool is = tfs_save_is(path, cli->options.format);

    if (!is && tfs_parts_find(path, cli->options.format, &parts, &ignored) == 0) {
        is = parts.count > 0;
        tfs_parts_release(&parts);
    }
    return is;
}

/* Of two operands, is the other one the save? */
static bool is_swapped(const struct tfs_cli *cli, const struct tfs_command *command)
{
    const enum tfs_operands kind = command ? command->kind : TFS_OPERANDS_SAVE_DIR;
    const int at = kind == TFS_OPERANDS_DIR_SAVE ? 1 : 0;

    /* A new mount point is an empty folder, which is no save: no format has to look at it. */
    return cli->operand_count == 2 && tfs_directory_empty(cli->operands[1 - at]) != 1 &&
           (kind == TFS_OPERANDS_SAVE_PATH || kind == TFS_OPERANDS_SAVE_PATHS ||
            kind == TFS_OPERANDS_SAVE_DIR || at == 1) &&
           is_save(cli, cli->operands[1 - at]) && !is_save(cli, cli->operands[at]);
}

static enum tfs_status say_swapped(struct tfs_cli *cli, const struct tfs_command *command)
{
    const int at = command && command->kind == TFS_OPERANDS_DIR_SAVE ? 0 : 1;

    return tfs_cli_say(cli, TFS_STATUS_USAGE,
                       "%s is the save: the operands are the other way round, %s",
                       cli->operands[at], command ? command->operands : "SAVE MOUNTPOINT");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Without operands the user wants to know what the program is. */
static enum tfs_status explain(struct tfs_cli *cli)
{
    tfs_cli_say(cli, TFS_STATUS_USAGE, "missing operand: SAVE MOUNTPOINT");
    fputs("'terrainfs SAVE MOUNTPOINT' shows a game's terrain save as files in a directory,\n"
          "'terrainfs info SAVE' says what a file or folder is; 'terrainfs --help' says more.\n",
          stderr);
    return TFS_STATUS_USAGE;
}

static enum tfs_status say_like(struct tfs_cli *cli)
{
    if (strcmp(cli->operands[0], "mount") == 0)
        return tfs_cli_say(cli, TFS_STATUS_USAGE,
                           "mounting needs no command: terrainfs SAVE MOUNTPOINT");
    return tfs_cli_say(cli, TFS_STATUS_USAGE,
                       "there is neither a command nor a save %s; did you mean %s?",
                       cli->operands[0], tfs_command_like(cli->operands[0])->name);
}

static bool takes_views(const struct tfs_cli *cli, const struct tfs_command *command)
{
    return cli->options.views == 0 || command == NULL || (command->flags & TFS_CLI_VIEWS) != 0;
}

static enum tfs_status mount_save(struct tfs_cli *cli, const char *save, const char *directory)
{
    struct tfs_open_options open = tfs_options_open(
        &cli->options, cli->options.read_only ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE);

    cli->command = "mount";
    open.undo = cli->options.undo;
    open.later = true;
    open.step = tfs_progress_on_step;
    open.step_arg = cli;
    return (enum tfs_status)tfs_mount(&cli->options, &open, save, directory);
}

static enum tfs_status run(struct tfs_cli *cli, const struct tfs_command *command, int argc,
                           char **argv)
{
    enum request request = parse_options(cli, command, argc, argv);
    int count = cli->operand_count = argc - optind, wanted = command ? command->operand_count : 2;

    switch (request) {
    case REQUEST_HELP:
        return command ? tfs_help_command(cli, command) : tfs_help_all(cli);
    case REQUEST_VERSION:
        return tfs_cli_print(cli, tfs_span_of("terrainfs " TFS_VERSION "\n"));
    case REQUEST_WRONG:
        return TFS_STATUS_USAGE;
    case REQUEST_NO_MEMORY:
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
    case REQUEST_RUN:
        break;
    }
    if (command == NULL && count == 0)
        return explain(cli);
    if (command == NULL && is_meant_as_command(cli->operands[0]))
        return say_like(cli);
    if (find_late_option(cli, command) != NULL)
        return say_usage(cli,
                         "options stand before the operands: ", find_late_option(cli, command));
    if (count != wanted && !counts_itself(cli, command, count))
        return say_usage(cli, count < wanted ? "missing operand: " : "too many operands: ",
                         command ? command->operands : "SAVE MOUNTPOINT");
    if (!takes_views(cli, command))
        return say_usage(cli, "-o views: this option is for a mount, export and import", "");
    if (!command && tfs_command_find(cli->operands[0]))
        return say_usage(cli,
                         "a command goes before its options, a save of this name is written ./",
                         cli->operands[0]);
    if (is_swapped(cli, command))
        return say_swapped(cli, command);
    if (command)
        return run_command(cli, command);
    return mount_save(cli, cli->operands[0], cli->operands[1]);
}

/* mount(8) calls its helpers by the name mount.TYPE. */
static bool is_mount_helper(const char *name)
{
    const char *slash = strrchr(name, '/');

    return strncmp(slash != NULL ? slash + 1 : name, "mount.", strlen("mount.")) == 0;
}

/* As mount(8) says it: SAVE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]. */
static enum tfs_status run_helper(struct tfs_cli *cli, int argc, char **argv)
{
    enum request request = REQUEST_RUN;
    bool fake = false;
    int option;

    opterr = 0;
    while (request == REQUEST_RUN && (option = getopt(argc, argv, "sfnvo:t:N:")) != -1) {
        fake = fake || option == 'f';
        if (option == 'o')
            request = parse_values(cli, NULL, optarg);
        else if (option == '?')
            request = refuse_option(cli, NULL, argv, option);
    }
    if (request == REQUEST_NO_MEMORY)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
    if (request != REQUEST_RUN)
        return TFS_STATUS_USAGE;
    if (argc - optind != 2)
        return say_usage(cli, "wanted: ", "SAVE MOUNTPOINT");
    if (fake)
        return TFS_STATUS_DONE;
    return mount_save(cli, argv[optind], argv[optind + 1]);
}

int tfs_cli_main(int argc, char **argv)
{
    const bool helper = argc > 0 && is_mount_helper(argv[0]);
    const struct tfs_command *command = argc > 1 ? tfs_command_find(argv[1]) : NULL;
    struct tfs_cli cli = {.command = command ? command->name : "mount"};
    enum tfs_status status;

    tfs_options_init(&cli.options);
    status = helper    ? run_helper(&cli, argc, argv)
             : command ? run(&cli, command, argc - 1, argv + 1)
                       : run(&cli, NULL, argc, argv);
    tfs_options_release(&cli.options);
    return (int)status;
}
