/*
 * The commands, their options and the values of -o, each once: what argv is read by (cli.c), and
 * what `help`, the completions of shells and the summary of --help are printed from (help.c).
 */
#ifndef TFS_COMMANDS_TABLE_H
#define TFS_COMMANDS_TABLE_H

#include "commands/cli.h"

struct tfs_command {
    const char *name;
    const char *operands; /* "SAVE DIR" */
    const char *summary;
    tfs_command_fn run;
    enum tfs_operands kind;
    int operand_count;
    unsigned flags; /* those it takes, enum tfs_cli_flag */
};

struct tfs_flag {
    const char *name;
    const char *value; /* "WHAT"; NULL: it takes none */
    const char *summary;
    unsigned flag;
};

/* Both end with a row without a name. */
extern const struct tfs_command tfs_commands[];
extern const struct tfs_flag tfs_flags[];

/* Is `word` more like `name` than like any name before? *best is for this function, 0 at first. */
bool tfs_word_is_like(const char *word, const char *name, size_t *best);

/* NULL: there is none of that name. */
const struct tfs_command *tfs_command_find(const char *name);
/* The command whose name is most like this one; NULL: none is like it. */
const struct tfs_command *tfs_command_like(const char *name);
/* The same of the options of a command; NULL is a mount. */
const struct tfs_flag *tfs_flag_like(const char *name, const struct tfs_command *command);

#endif
