/*
 * Three pointers of Git LFS -> the saves that they stand for -> a merge of these -> a pointer.
 *
 * The merge itself is a second run of this program. The driver of Git LFS is not used: of an object
 * that it cannot fetch it makes an empty file, and it drops what its program says.
 */
#include "commands/merge_lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POINTER "version https://git-lfs.github.com/spec/"
/* Set for the second run: a pointer that it meets has no save here. */
#define INSIDE "TERRAINFS_LFS"

/* $0 is this program, $1 the path, $2 $3 $4 are the sides, $5 is --virtual or empty. A merge that
 * is refused leaves OURS; between merges, BASE. */
static const char script[] =
    "export GIT_LFS_SKIP_SMUDGE=0 " INSIDE "=1\n"
    "merge() {\n"
    "    for side in \"$2\" \"$3\" \"$4\"; do\n"
    "        git lfs smudge -- \"$1\" <\"$side\" >\"$side.save\" || return 3\n"
    "    done\n"
    "    \"$0\" merge $5 --path=\"$1\" -- \"$2.save\" \"$3.save\" \"$4.save\"\n"
    "    status=$?\n"
    "    [ $status -gt 1 ] || git lfs clean -- \"$1\" <\"$3.save\" >\"$3\" || return 3\n"
    "    return $status\n"
    "}\n"
    "merge \"$@\"\n"
    "status=$?\n"
    "[ $status -le 1 ] || [ -z \"$5\" ] || cat \"$2\" >\"$3\"\n"
    "rm -f \"$2.save\" \"$3.save\" \"$4.save\"\n"
    "exit $status\n";

static bool is_pointer(const char *path)
{
    char head[sizeof(POINTER) - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
                    memcmp(head, POINTER, sizeof(head)) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

bool tfs_merge_has_pointers(const struct tfs_cli *cli)
{
    bool has = false;

    for (int i = 0; i < cli->operand_count && !has; i++)
        has = is_pointer(cli->operands[i]);
    return has && cli->path != NULL && getenv(INSIDE) == NULL;
}

enum tfs_status tfs_merge_by_lfs(struct tfs_cli *cli)
{
    const char *virtual = (cli->flags & TFS_CLI_VIRTUAL) != 0 ? "--virtual" : "";
    char self[PATH_MAX] = "";

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0)
        execl("/bin/sh", "sh", "-c", script, self, cli->path, cli->operands[0], cli->operands[1],
              cli->operands[2], virtual, (char *)NULL);
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "a shell cannot be run: %s", strerror(errno));
}
