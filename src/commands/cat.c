/*
 * cat: files of the tree -> the standard output. Nothing here writes to the save or locks it.
 */
#include "commands/cli.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct printing {
    struct tfs_cli *cli;
    struct tfs_save *save;
    struct tfs_buf header; /* header of the table that was printed last */
    size_t found;          /* files that the pattern found */
    enum tfs_status status;
};

/* The table without its header, where the one before has the same. */
static struct tfs_span drop_header(struct printing *p, struct tfs_span table)
{
    const uint8_t *end = memchr(table.data, '\n', table.size);
    const struct tfs_span header = {table.data, end == NULL ? 0 : (size_t)(end + 1 - table.data)};
    const bool same = tfs_span_equal(header, tfs_buf_span(&p->header));

    tfs_buf_clear(&p->header);
    tfs_buf_add_span(&p->header, header);
    return same ? (struct tfs_span){table.data + header.size, table.size - header.size} : table;
}

/* Prints one file of the tree. */
static void print_node(struct printing *p, const struct tfs_node *node, const char *path)
{
    const struct tfs_file *file = tfs_node_file(p->save, node);
    struct tfs_error err = {0};
    struct tfs_buf out = {0};
    enum tfs_status status;
    char about[TFS_CLI_NAME_MAX];

    if (file->lens->get(p->save, p->save->doc, tfs_node_at(p->save, node), &out, &err) ||
        tfs_buf_check(&out, &err)) {
        status = tfs_cli_report(p->cli, tfs_cli_path(p->cli, path, about), &err);
    } else {
        const bool table = strcmp(file->path, "voxels.csv") == 0;
        const struct tfs_span bytes = tfs_buf_span(&out);
        status = tfs_cli_print(p->cli, table ? drop_header(p, bytes) : bytes);
    }
    p->status = tfs_status_worst(p->status, status);
    tfs_buf_release(&out);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static bool is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

static void print_match(struct printing *p, const struct tfs_node *node)
{
    char *path = tfs_cli_node_path(p->save, p->save->doc, node);

    p->found++;
    if (path == NULL)
        p->status = tfs_cli_say(p->cli, TFS_STATUS_SYSTEM, "out of memory");
    else
        print_node(p, node, path);
    free(path);
}

static bool has_name_like(const struct printing *p, const struct tfs_node *node,
                          const char *pattern)
{
    struct tfs_buf name = {0};

    tfs_tree_name(p->save, p->save->doc, node, &name);
    tfs_buf_u8(&name, 0);
    const bool like =
        !name.failed && fnmatch(pattern, (const char *)name.data, FNM_PERIOD | FNM_NOESCAPE) == 0;
    tfs_buf_release(&name);
    return like;
}

/* Prints what fits `pattern` in the directory: its first component here, the rest below. */
static void match_below(struct printing *p, const struct tfs_node *dir, const char *pattern)
{
    char first[NAME_MAX + 1], about[TFS_CLI_NAME_MAX];
    const size_t length = strcspn(pattern, "/");
    const char *rest = pattern + length + strspn(pattern + length, "/");
    struct tfs_node node;
    size_t index = 0;
    int found = 0;

    if (length > NAME_MAX)
        return;
    memcpy(first, pattern, length);
    first[length] = '\0';
    while (p->status != TFS_STATUS_SYSTEM &&
           (found = tfs_tree_entry(p->save, p->save->doc, dir, index, &index, &node)) == 1) {
        if (!has_name_like(p, &node, first))
            continue;
        if (tfs_node_is_directory(&node) && *rest != '\0')
            match_below(p, &node, rest);
        else if (!tfs_node_is_directory(&node) && *rest == '\0')
            print_match(p, &node);
    }
    if (found < 0)
        p->status = tfs_cli_say(p->cli, TFS_STATUS_SYSTEM, "%s: %s",
                                tfs_cli_path(p->cli, pattern, about), strerror(-found));
}

/* Reads the chunks that the pattern may mean: one if it names one, else all. */
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

static void print_matches(struct printing *p, const char *pattern)
{
    const struct tfs_node root = TFS_NODE_ROOT;
    struct tfs_error err = {0};
    char about[TFS_CLI_NAME_MAX];

    while (pattern[0] == '/' || (pattern[0] == '.' && pattern[1] == '/'))
        pattern++;
    p->found = 0;
    if (read_chunks(p->save, pattern, &err) < 0) {
        p->status = tfs_status_worst(
            p->status, tfs_cli_report(p->cli, tfs_cli_path(p->cli, pattern, about), &err));
        return;
    }
    match_below(p, &root, pattern);
    if (p->found == 0 && p->status != TFS_STATUS_SYSTEM)
        p->status = tfs_cli_say(p->cli, TFS_STATUS_BAD, "%s: the save has no file like this",
                                tfs_cli_path(p->cli, pattern, about));
}

/* ---- the command ----------------------------------------------------------------------------- */

/* A path that exists is no pattern, whatever characters are in it. */
static void print_path(struct printing *p, const char *path)
{
    struct tfs_node node;

    if (is_pattern(path) && tfs_tree_resolve(p->save, p->save->doc, path, true, &node) < 0) {
        print_matches(p, path);
        return;
    }
    const enum tfs_status status = tfs_cli_find_file(p->cli, p->save, path, true, &node);
    if (status == TFS_STATUS_DONE)
        print_node(p, &node, path);
    p->status = tfs_status_worst(p->status, status);
}

enum tfs_status tfs_cli_cat(struct tfs_cli *cli)
{
    struct printing p = {.cli = cli};

    cli->options.views = TFS_VIEWS_EVERY;
    cli->options.later = true;
    p.status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_NONE, &p.save);

    if (p.status)
        return p.status;
    for (int i = 1; i < cli->operand_count && p.status != TFS_STATUS_SYSTEM; i++)
        print_path(&p, cli->operands[i]);
    tfs_save_close(p.save);
    tfs_buf_release(&p.header);
    return p.status;
}
