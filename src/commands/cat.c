/*
 * cat: files of the tree -> the standard output. Nothing here writes to the save or locks it.
 */
#include "commands/cli.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

/* Prints one file of the tree. */
static enum tfs_status print_node(struct tfs_cli *cli, struct tfs_save *save,
                                  const struct tfs_node *node, const char *path)
{
    enum tfs_status status;
    struct tfs_error err = {0};
    struct tfs_buf out = {0};
    char about[TFS_CLI_PATH];

    if (tfs_node_file(save, node)
            ->lens->get(save, save->doc, tfs_node_at(save, node), &out, &err) ||
        tfs_buf_check(&out, &err))
        status = tfs_cli_report(cli, tfs_cli_path(cli, path, about), &err);
    else
        status = tfs_cli_print(cli, tfs_buf_span(&out));
    tfs_buf_release(&out);
    return status;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* The files that a pattern names, as a shell would find them in a mount. */
struct match {
    struct tfs_cli *cli;
    struct tfs_save *save;
    size_t found;
    enum tfs_status status;
};

static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

static void print_match(struct match *m, const struct tfs_node *node)
{
    struct tfs_buf path = {0};

    tfs_tree_path(m->save, m->save->doc, node, &path);
    tfs_buf_u8(&path, 0);
    m->found++;
    m->status = tfs_status_worst(
        m->status, path.failed ? tfs_cli_say(m->cli, TFS_STATUS_SYSTEM, "out of memory")
                               : print_node(m->cli, m->save, node, (const char *)path.data));
    tfs_buf_release(&path);
}

static bool has_name_like(const struct match *m, const struct tfs_node *node, const char *pattern)
{
    struct tfs_buf name = {0};

    tfs_tree_name(m->save, m->save->doc, node, &name);
    tfs_buf_u8(&name, 0);
    const bool like =
        !name.failed && fnmatch(pattern, (const char *)name.data, FNM_PERIOD | FNM_NOESCAPE) == 0;
    tfs_buf_release(&name);
    return like;
}

/* What in the directory fits `pattern`: its first component, and below that the rest. */
static void match_below(struct match *m, const struct tfs_node *dir, const char *pattern)
{
    char first[NAME_MAX + 1], about[TFS_CLI_PATH];
    const size_t length = strcspn(pattern, "/");
    const char *rest = pattern + length + strspn(pattern + length, "/");
    struct tfs_node node;
    size_t index = 0;
    int found = 0;

    if (length > NAME_MAX)
        return;
    memcpy(first, pattern, length);
    first[length] = '\0';
    while (m->status != TFS_STATUS_SYSTEM &&
           (found = tfs_tree_entry(m->save, m->save->doc, dir, index, &index, &node)) == 1) {
        if (!has_name_like(m, &node, first))
            continue;
        if (tfs_node_is_directory(&node) && *rest != '\0')
            match_below(m, &node, rest);
        else if (!tfs_node_is_directory(&node) && *rest == '\0')
            print_match(m, &node);
    }
    if (found < 0)
        m->status = tfs_cli_say(m->cli, TFS_STATUS_SYSTEM, "%s: %s",
                                tfs_cli_path(m->cli, pattern, about), strerror(-found));
}

/* Names that the document lacks as yet may fit, too: those of one chunk where the pattern names
 * it. */
static int read_chunks(struct tfs_save *save, const char *pattern, struct tfs_error *err)
{
    static const char chunks[] = "chunks/";
    const char *name = pattern;

    if (strncmp(pattern, chunks, sizeof(chunks) - 1) == 0)
        name += sizeof(chunks) - 1;
    return name > pattern && name[0] != '/' && name[strcspn(name, "*?[/")] == '/'
               ? tfs_cli_read_chunks(save, pattern, err)
               : tfs_save_complete(save, NULL, err);
}

static enum tfs_status print_matches(struct tfs_cli *cli, struct tfs_save *save,
                                     const char *pattern)
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct match match = {.cli = cli, .save = save};
    struct tfs_error err = {0};
    char about[TFS_CLI_PATH];

    while (pattern[0] == '/' || (pattern[0] == '.' && pattern[1] == '/'))
        pattern++;
    if (read_chunks(save, pattern, &err) < 0)
        return tfs_cli_report(cli, tfs_cli_path(cli, pattern, about), &err);
    match_below(&match, &root, pattern);
    if (match.found == 0 && match.status == TFS_STATUS_DONE)
        return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: the save has no file like this",
                           tfs_cli_path(cli, pattern, about));
    return match.status;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* A name that is there is meant as it stands, whatever characters are in it. */
static enum tfs_status print_path(struct tfs_cli *cli, struct tfs_save *save, const char *path)
{
    struct tfs_node node;

    if (is_pattern(path) && tfs_tree_resolve(save, save->doc, path, true, &node) < 0)
        return print_matches(cli, save, path);
    enum tfs_status status = tfs_cli_find_file(cli, save, path, true, &node);
    return status != TFS_STATUS_DONE ? status : print_node(cli, save, &node, path);
}

enum tfs_status tfs_cli_cat(struct tfs_cli *cli)
{
    struct tfs_save *save;

    cli->options.views = TFS_VIEWS_EVERY;
    cli->options.later = true;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_NONE, &save);

    if (status)
        return status;
    for (int i = 1; i < cli->operand_count && status != TFS_STATUS_SYSTEM; i++)
        status = tfs_status_worst(status, print_path(cli, save, cli->operands[i]));
    tfs_save_close(save);
    return status;
}
