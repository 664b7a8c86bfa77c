/*
 * The commands: everything that terrainfs does without a mount, and what they share.
 *
 * A command gets its operands and the parsed options, says on stderr what went wrong, and returns
 * the exit status. Sentences about content go on with the path and the line, as those of compilers.
 */
#ifndef TFS_COMMANDS_CLI_H
#define TFS_COMMANDS_CLI_H

#include <limits.h>

#include "formats/format.h"
#include "fs/tree/tree.h"
#include "commands/options.h"
#include "commands/status.h"

/* "import: 120 of 5601 chunks, 80 a second, 1:08 left" on stderr, when that is a terminal and the
 * work is long. */
struct tfs_progress {
    bool on;
    bool visible;
    const char *unit;
    size_t done, total;
    int64_t began_at, shown_at; /* milliseconds of the monotonic clock */
};

/* Options of commands (table.c); and how a command takes its operands and -o views=. */
enum tfs_cli_flag {
    TFS_CLI_STAT = 1,
    TFS_CLI_ALL_ROWS = 2,
    TFS_CLI_JSON = 4,
    TFS_CLI_LIST = 32,
    TFS_CLI_FORCE = 128,
    TFS_CLI_DELETE = 256,
    TFS_CLI_ALL = 512,
    TFS_CLI_QUIET = 2048,
    TFS_CLI_VIEWS = 0x1000,
    TFS_CLI_GIT = 0x2000, /* diff: the operands of git */
    TFS_CLI_ENABLE = 0x4000,
    TFS_CLI_GLOBAL = 0x40000,
    TFS_CLI_OPERANDS = 0x100000, /* the command counts its operands itself */
    TFS_CLI_MANY = 0x200000,     /* it is run for each of one or more operands */
    TFS_CLI_PLAIN = 0x400000,    /* it opens no save: no -o */
    TFS_CLI_CONFLICTS = 0x800000,
    TFS_CLI_PATH = 0x1000000,
    TFS_CLI_MORE = 0x4000000, /* it takes further operands of the last kind */
    TFS_CLI_RECURSIVE = 0x20000000,
    TFS_CLI_VIRTUAL = 0x40000000,
};

struct tfs_cli {
    const char *command;
    struct tfs_mount_options options;
    unsigned flags;        /* enum tfs_cli_flag */
    bool remove;           /* import --delete */
    bool all;              /* import --all */
    const char *removals;  /* import of edits that were set aside: where it says what they removed;
                            * NULL: DIR may tell, or is something else */
    const char *path;      /* merge --path; NULL: none */
    const char *conflicts; /* merge --conflicts: ours, theirs or base; NULL: ours */
    char **operands;
    int operand_count;
    bool many;        /* the command is run for several operands */
    const char *part; /* of a folder of several saves, where this one is; NULL: it is none of one */
    bool unread;      /* nobody reads the standard output any more */
    struct tfs_progress progress;
};

typedef enum tfs_status (*tfs_command_fn)(struct tfs_cli *cli);

/* What the operands of a command are. */
enum tfs_operands {
    TFS_OPERANDS_OTHER,
    TFS_OPERANDS_SAVE,
    TFS_OPERANDS_SAVE_PATH,
    TFS_OPERANDS_SAVE_PATHS, /* patterns of shells, too */
    TFS_OPERANDS_SAVE_DIR,
    TFS_OPERANDS_DIR_SAVE,
    TFS_OPERANDS_TWO, /* to be compared */
};

/* Runs the command; of a folder that holds several saves (formats/containers/several_saves.h), on
 * each of them. */
enum tfs_status tfs_cli_run_parts(struct tfs_cli *cli, tfs_command_fn run,
                                  enum tfs_operands operands);

/* Creates the directory `path`, or takes an empty one; or says why not. */
enum tfs_status tfs_cli_make_target(struct tfs_cli *cli, const char *path, mode_t mode);

struct tfs_command; /* table.h */

/* Runs the command on every save below `path`, or on the one that it is (walk.c). */
enum tfs_status tfs_cli_walk(struct tfs_cli *cli, const struct tfs_command *command,
                             const char *path);

/* What there is; and what a command does and takes, on the standard output. */
enum tfs_status tfs_help_all(struct tfs_cli *cli);
enum tfs_status tfs_help_command(struct tfs_cli *cli, const struct tfs_command *command);

/* main(): a command or a mount. */
int tfs_cli_main(int argc, char **argv);

/* The commands of the same names. */
enum tfs_status tfs_cli_help(struct tfs_cli *cli);
enum tfs_status tfs_cli_info(struct tfs_cli *cli);
enum tfs_status tfs_cli_check(struct tfs_cli *cli);
enum tfs_status tfs_cli_cat(struct tfs_cli *cli);
enum tfs_status tfs_cli_put(struct tfs_cli *cli);
enum tfs_status tfs_cli_export(struct tfs_cli *cli);
enum tfs_status tfs_cli_import(struct tfs_cli *cli);
enum tfs_status tfs_cli_diff(struct tfs_cli *cli);
enum tfs_status tfs_cli_text(struct tfs_cli *cli);
enum tfs_status tfs_cli_diff_git(struct tfs_cli *cli); /* diff --git */
enum tfs_status tfs_cli_git(struct tfs_cli *cli);
enum tfs_status tfs_cli_merge(struct tfs_cli *cli);
enum tfs_status tfs_cli_undo(struct tfs_cli *cli);
enum tfs_status tfs_cli_upgrade(struct tfs_cli *cli);
enum tfs_status tfs_cli_sync(struct tfs_cli *cli);
enum tfs_status tfs_cli_umount(struct tfs_cli *cli);

/* ---- shared (share.c) ------------------------------------------------------------------------ */

/* All sentences come out as one line each: control characters in names are escaped
 * (tfs_sentence_print). */

/* One line on stderr: "terrainfs: ...", and the status given. */
enum tfs_status tfs_cli_say(struct tfs_cli *cli, enum tfs_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, but for --quiet. */
void tfs_cli_tell(struct tfs_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The failure on stderr as "terrainfs: path:line:column: sentence"; its status. */
enum tfs_status tfs_cli_report(struct tfs_cli *cli, const char *path, const struct tfs_error *err);

/* Opens the save, or says why not. */
enum tfs_status tfs_cli_open(struct tfs_cli *cli, const char *path, enum tfs_lock lock,
                             struct tfs_save **save);

/* The same, but the caller tells the user. */
int tfs_cli_try_open(struct tfs_cli *cli, const char *path, enum tfs_lock lock,
                     struct tfs_save **save, struct tfs_error *err);

/* Closes a save that was open for writing. Tells the user when no version could be kept for
 * undo. */
void tfs_cli_close(struct tfs_cli *cli, const char *path, struct tfs_save *save);

/* The path of a name of the tree, to be freed; NULL: no memory. */
char *tfs_cli_node_path(const struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_node *node);

/* DONE when the save can be committed; otherwise says why not. */
enum tfs_status tfs_cli_writable(struct tfs_cli *cli, const char *path,
                                 const struct tfs_save *save);

/* Appends the names in `doc` that the save does not have yet; `doc` is to become save->doc.
 * tfs_cli_tell_names tells the user of them once they are in the save. */
int tfs_cli_find_names(struct tfs_save *save, struct tfs_doc *doc, struct tfs_buf *names,
                       struct tfs_error *err);
void tfs_cli_tell_names(struct tfs_cli *cli, const char *path, struct tfs_buf *names);

/* Writes the document into the save, unless the save holds it already. */
int tfs_cli_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err);
/* The same, and tells of the names that the save did not have. */
int tfs_cli_commit_names(struct tfs_cli *cli, const char *path, struct tfs_save *save,
                         struct tfs_doc *doc, struct tfs_error *err);

/* DONE if the topmost mount on `path`, an absolute path, is ours; otherwise says what is there. */
enum tfs_status tfs_cli_find_mount(struct tfs_cli *cli, const char *path);
enum tfs_status tfs_cli_say_no_mount(struct tfs_cli *cli, const char *path);

/* Warnings and damage that opening found, on stderr. */
void tfs_cli_warn(struct tfs_cli *cli, const char *path, const struct tfs_save *save);

/* The whole span to the standard output; and a sentence, as one line. */
enum tfs_status tfs_cli_print(struct tfs_cli *cli, struct tfs_span span);
enum tfs_status tfs_cli_print_line(struct tfs_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the JSON object in the buffer, prints it and releases it. Returns the worse of `status` and
 * what printing gave. */
enum tfs_status tfs_cli_print_object(struct tfs_cli *cli, struct tfs_buf *object,
                                     enum tfs_status status);

void tfs_progress_begin(struct tfs_cli *cli, const char *unit, size_t total);
void tfs_progress_step(struct tfs_cli *cli);
void tfs_progress_end(struct tfs_cli *cli);
/* struct tfs_open_options.step, with struct tfs_cli. */
void tfs_progress_on_step(void *cli, const char *unit, size_t done, size_t total);

/* Reads the chunks that a path of the tree may mean: those around the one that it names, else
 * all. */
int tfs_cli_read_chunks(struct tfs_save *save, const char *path, struct tfs_error *err);

/* Resolves a path as users type it (leading, trailing and double slashes, `./`) to a file of the
 * tree; `must_exist` as in fs/tree/tree.h. Says why it cannot. */
enum tfs_status tfs_cli_find_file(struct tfs_cli *cli, struct tfs_save *save, const char *path,
                                  bool must_exist, struct tfs_node *node);

/* The most bytes that a text of the file may have: as many as a draft of it in a mount, and as many
 * as `cat` prints. */
uint64_t tfs_cli_text_max(struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_node *node);

/* "SAVE/PATH": what sentences call a file of the save that is the first operand. Returns `out`. */
#define TFS_CLI_NAME_MAX (2 * PATH_MAX)
const char *tfs_cli_path(const struct tfs_cli *cli, const char *path, char out[TFS_CLI_NAME_MAX]);

#endif
