/*
 * put: the standard input -> one file of a save, one commit.
 */
#include "commands/cli.h"

#include <errno.h>
#include <unistd.h>

#define INPUT_STEP (size_t)65536

/* All of the standard input, of at most so many bytes. */
static int read_input(struct tfs_buf *input, uint64_t most, struct tfs_error *err)
{
    for (;;) {
        uint8_t *room = tfs_buf_reserve(input, INPUT_STEP);
        ssize_t n;

        if (!room)
            return tfs_fail_memory(err);
        n = read(STDIN_FILENO, room, INPUT_STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tfs_fail_errno(err, "standard input");
        if (n == 0)
            return 0;
        input->size += (size_t)n;
        if (input->size > most)
            return tfs_fail(err, -EFBIG, "the input is larger than %ju bytes", (uintmax_t)most);
    }
}

static int apply(struct tfs_save *save, const struct tfs_node *node, struct tfs_span text,
                 struct tfs_doc **doc, struct tfs_buf *names, struct tfs_error *err)
{
    struct tfs_put put = {.options = TFS_PUT_APART};

    return tfs_node_apply(save, save->doc, node, text, &put, doc, err) < 0
               ? err->code
               : tfs_cli_find_names(save, *doc, names, err);
}

/* Puts the text and commits. A name may be new only because not all chunks were read yet. */
static int put_text(struct tfs_cli *cli, struct tfs_save *save, const struct tfs_node *node,
                    const char *path, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_doc *doc = NULL;
    struct tfs_buf names = {0};

    if (apply(save, node, text, &doc, &names, err) == 0 && names.size > 0 &&
        tfs_save_lacks(save, save->doc, NULL) && tfs_save_complete(save, NULL, err) == 0) {
        tfs_doc_unref(doc);
        doc = NULL;
        tfs_buf_clear(&names);
        apply(save, node, text, &doc, &names, err);
    }
    if (err->code == 0 && tfs_cli_commit(save, doc, err) == 0)
        tfs_cli_tell_names(cli, path, &names);
    tfs_doc_unref(doc);
    tfs_buf_release(&names);
    return err->code;
}

static enum tfs_status put_file(struct tfs_cli *cli, struct tfs_save *save, const char *path)
{
    struct tfs_error err = {0};
    struct tfs_buf input = {0};
    struct tfs_node node;
    char about[TFS_CLI_NAME_MAX];
    enum tfs_status status = tfs_cli_writable(cli, cli->operands[0], save);

    status = status ? status : tfs_cli_find_file(cli, save, path, false, &node);
    if (status)
        return status;
    tfs_cli_path(cli, path, about);
    if (!tfs_node_writable(save, save->doc, &node))
        return tfs_cli_say(cli, TFS_STATUS_BAD, "%s: this file is read-only", about);
    if (read_input(&input, tfs_cli_text_max(save, save->doc, &node), &err) ||
        put_text(cli, save, &node, about, tfs_buf_span(&input), &err))
        status = tfs_cli_report(cli, about, &err);
    tfs_buf_release(&input);
    return status;
}

enum tfs_status tfs_cli_put(struct tfs_cli *cli)
{
    struct tfs_save *save;

    cli->options.views = TFS_VIEWS_EVERY;
    cli->options.later = true;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_EXCLUSIVE, &save);

    if (status)
        return status;
    status = put_file(cli, save, cli->operands[1]);
    tfs_cli_close(cli, cli->operands[0], save);
    return status;
}
