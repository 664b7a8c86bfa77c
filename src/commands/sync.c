/*
 * sync: returns when the save of a mount itself holds all that was accepted.
 *
 * A sync of the root directory is a barrier for all saves of the mount; its daemon answers when
 * they are on disk, or says why they cannot be.
 */
#include "commands/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum tfs_status say_failure(struct tfs_cli *cli, const char *mountpoint, int code)
{
    if (code == ENOTCONN)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: the daemon of this mount has ended; the next mount of the save "
                           "restores what its journal holds",
                           mountpoint);
    if (code == ESTALE)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: not all that was accepted is in the save, for another program "
                           "changed it; .terrainfs/errors.log says more",
                           mountpoint);
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: the save could not be brought up to date: %s",
                       mountpoint, strerror(code));
}

enum tfs_status tfs_cli_sync(struct tfs_cli *cli)
{
    char mountpoint[PATH_MAX];

    if (realpath(cli->operands[0], mountpoint) == NULL)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", cli->operands[0], strerror(errno));
    enum tfs_status status = tfs_cli_find_mount(cli, mountpoint);
    if (status != TFS_STATUS_DONE)
        return status;
    int fd = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        status = say_failure(cli, mountpoint, errno);
    if (fd >= 0)
        close(fd);
    return status;
}
