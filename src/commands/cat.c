/*
 * info, cat: one file of the tree -> the standard output. Nothing here writes to the save or locks
 * it.
 */
#include "commands/cli.h"

/* Prints one file of the tree. */
static enum tfs_status print_file(struct tfs_cli *cli, struct tfs_save *save, const char *path)
{
    enum tfs_status status;
    struct tfs_error err = {0};
    struct tfs_buf out = {0};
    struct tfs_node node;
    const struct tfs_file *file;

    status = tfs_cli_find_file(cli, save, path, true, &node);
    if (status)
        return status;
    file = tfs_node_file(save, &node);
    if (file->lens->get(save, save->doc, tfs_node_at(save, &node), &out, &err) ||
        tfs_buf_check(&out, &err))
        status = tfs_cli_report(cli, path, &err);
    else
        status = tfs_cli_print(cli, tfs_buf_span(&out));
    tfs_buf_release(&out);
    return status;
}

static enum tfs_status open_and_print(struct tfs_cli *cli, const char *path)
{
    struct tfs_save *save;

    cli->options.views = TFS_VIEWS_EVERY;
    cli->options.later = true;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_NONE, &save);

    if (status)
        return status;
    status = print_file(cli, save, path);
    tfs_save_close(save);
    return status;
}

enum tfs_status tfs_cli_info(struct tfs_cli *cli)
{
    enum tfs_status status =
        cli->many ? tfs_cli_print_line(cli, "save: %s", cli->operands[0]) : TFS_STATUS_DONE;

    return status ? status : open_and_print(cli, "info.txt");
}

enum tfs_status tfs_cli_cat(struct tfs_cli *cli)
{
    return open_and_print(cli, cli->operands[1]);
}
