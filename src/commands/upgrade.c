/*
 * upgrade: all chunks of a save to the newest version of its format, one commit.
 */
#include "commands/cli.h"

#include <errno.h>
#include <stdlib.h>

struct upgrade {
    struct tfs_cli *cli;
    struct tfs_save *save;
    size_t refused;
};

/* One chunk that stays as it is, on stderr. */
static void say_refused(void *arg, const struct tfs_chunk *chunk, const char *why)
{
    struct upgrade *up = arg;
    struct tfs_node node = {
        .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = -1};
    char *path = tfs_cli_node_path(up->save, up->save->doc, &node);
    char about[TFS_CLI_NAME_MAX];

    if (path != NULL)
        tfs_cli_say(up->cli, TFS_STATUS_BAD, "%s: stays as it is: %s",
                    tfs_cli_path(up->cli, path, about), why);
    free(path);
    up->refused++;
}

/* Makes the edit and commits it, if there is something to commit. */
static int upgrade(struct upgrade *up, size_t *count, struct tfs_error *err)
{
    struct tfs_save *save = up->save;
    struct tfs_edit edit;
    int result = tfs_edit_open(save->doc, &edit, err);

    if (result)
        return result;
    result = save->tree->upgrade(save, &edit, say_refused, up, count, err);
    tfs_progress_end(up->cli);
    if (!result) {
        struct tfs_doc *doc = tfs_edit_finish(&edit);

        result = tfs_cli_commit(save, doc, err);
        tfs_doc_unref(doc);
    }
    tfs_edit_release(&edit);
    return result;
}

static enum tfs_status upgrade_save(struct tfs_cli *cli, struct tfs_save *save, const char *path)
{
    struct upgrade up = {.cli = cli, .save = save};
    struct tfs_error err = {0};
    enum tfs_status status;
    size_t count = 0;

    if (!save->tree->upgrade)
        return tfs_cli_say(
            cli, TFS_STATUS_USAGE,
            "%s: only saves of Godot Voxel Tools are upgraded, and this one is of %s", path,
            save->container->format);
    status = tfs_cli_writable(cli, path, save);
    if (status)
        return status;
    if (upgrade(&up, &count, &err))
        return tfs_cli_report(cli, path, &err);
    tfs_cli_tell(cli, "%s: %zu chunk%s upgraded, %zu left as they were", path, count,
                 count == 1 ? "" : "s", up.refused);
    return up.refused ? TFS_STATUS_BAD : TFS_STATUS_DONE;
}

enum tfs_status tfs_cli_upgrade(struct tfs_cli *cli)
{
    struct tfs_save *save;
    enum tfs_status status = tfs_cli_open(cli, cli->operands[0], TFS_LOCK_EXCLUSIVE, &save);

    if (status)
        return status;
    status = upgrade_save(cli, save, cli->operands[0]);
    tfs_cli_close(cli, cli->operands[0], save);
    return status;
}
