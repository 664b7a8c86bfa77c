/*
 * umount: takes a mount away and returns when its save is on disk, with the status of the daemon.
 *
 * umount(8) returns before the daemon has ended. The daemon tells in .terrainfs/status its process
 * (`pid: N`) and the read end of a pipe (`umount-pipe: FD`) into which it writes one byte, its exit
 * status, as the last thing it does. We open that pipe through /proc before we unmount.
 */
#include "commands/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mounts.h"

#define STATUS_FILE ".terrainfs/status"

static enum tfs_status say_errno(struct tfs_cli *cli, const char *path, int code)
{
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(code));
}

static enum tfs_status say_error(struct tfs_cli *cli, const char *path, const struct tfs_error *err)
{
    return tfs_cli_say(cli, tfs_status_of(err->code), "%s: %s", path, err->text);
}

/* ---- the daemon's pipe ----------------------------------------------------------------------- */

/* The number behind `key: ` at the start of a line; -1 without one. */
static long status_number(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (; text; text = strchr(text, '\n'), text += text != NULL)
        if (strncmp(text, key, length) == 0 && strncmp(text + length, ": ", 2) == 0) {
            const char *digits = text + length + 2;
            char *end;
            long value = strtol(digits, &end, 10);

            return end != digits && value >= 0 ? value : -1;
        }
    return -1;
}

/* Reads the status file of a mount; the length, or negative errno. */
static int read_status(const char *mountpoint, char *text, size_t size)
{
    char path[PATH_MAX + sizeof(STATUS_FILE) + 1];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", mountpoint, STATUS_FILE);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    n = read(fd, text, size - 1);
    n = n < 0 ? -errno : n;
    close(fd); /* otherwise we would keep the mount busy */
    text[n < 0 ? 0 : n] = '\0';
    return (int)n;
}

/* Opens a pipe of another process, and nothing else: anybody can mount something whose status names
 * a device. -EINVAL: it is no pipe. */
static int open_pipe_of(long pid, long number)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%ld/fd/%ld", pid, number);
    int found = open(path, O_PATH | O_CLOEXEC);
    if (found < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
    int fd = fstat(found, &st) < 0 || !S_ISFIFO(st.st_mode)
                 ? -EINVAL
                 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result = fd == -1 ? -errno : fd;
    close(found);
    return result;
}

/* *fd: -1 when the daemon has no memory to answer. */
static enum tfs_status open_pipe(struct tfs_cli *cli, const char *mountpoint, int *fd)
{
    char text[4096];

    enum tfs_status status = tfs_cli_find_mount(cli, mountpoint);
    if (status != TFS_STATUS_DONE)
        return status;
    int n = read_status(mountpoint, text, sizeof(text));
    if (n == -ENOMEM || n == 0) {
        *fd = -1;
        return TFS_STATUS_DONE;
    }
    if (n < 0)
        return say_errno(cli, mountpoint, -n);
    long pid = status_number(text, "pid"), number = status_number(text, "umount-pipe");
    int pipe = pid <= 0 || number < 0 ? -EINVAL : open_pipe_of(pid, number);
    if (pipe == -EINVAL)
        return tfs_cli_say_no_mount(cli, mountpoint);
    if (pipe < 0)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: cannot wait for its daemon, process %ld: %s", mountpoint, pid,
                           strerror(-pipe));
    *fd = pipe;
    return TFS_STATUS_DONE;
}

#define LEFT_MAX (2 * PATH_MAX)

/* Reads to the pipe's end, which is the daemon's: what is not in the save, as a sentence, if
 * there is something, into `left`; behind it the exit status, -1 without one. */
static int read_exit_status(int fd, char left[LEFT_MAX])
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    unsigned char last = 0;
    size_t count = 0;

    for (;;) {
        unsigned char byte;
        ssize_t n = read(fd, &byte, 1);

        if (n == 1) {
            if (count > 0 && count < LEFT_MAX)
                left[count - 1] = (char)last;
            last = byte;
            count++;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            break;
        } else {
            poll(&wait, 1, -1);
        }
    }
    left[count == 0 ? 0 : count < LEFT_MAX ? count - 1 : LEFT_MAX - 1] = '\0';
    return count > 0 ? last : -1;
}

static enum tfs_status say_lost(struct tfs_cli *cli, const char *mountpoint)
{
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                       "%s: unmounted, but its daemon ended without telling whether all was saved",
                       mountpoint);
}

static enum tfs_status await_daemon(struct tfs_cli *cli, const char *mountpoint, int fd)
{
    char left[LEFT_MAX];

    switch (read_exit_status(fd, left)) {
    case TFS_STATUS_DONE:
        if (left[0] != '\0')
            tfs_cli_say(cli, TFS_STATUS_DONE, "%s: %s", mountpoint, left);
        return TFS_STATUS_DONE;
    case -1:
        return say_lost(cli, mountpoint);
    default:
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: unmounted; %s", mountpoint,
                           left[0] != '\0' ? left : "not everything could be saved");
    }
}

/* ---- unmounting ------------------------------------------------------------------------------ */

/* `fd`: the daemon's pipe, -1 if it cannot tell. */
static enum tfs_status unmount_live(struct tfs_cli *cli, const char *mountpoint, int fd)
{
    struct tfs_error err = {0};
    enum tfs_status status;

    if (tfs_unmount(mountpoint, false, &err) < 0)
        status = say_error(cli, mountpoint, &err);
    else if (fd >= 0)
        status = await_daemon(cli, mountpoint, fd);
    else
        status = tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                             "%s: unmounted without waiting for its daemon, which has no memory to "
                             "answer; what it cannot save it puts beside the save",
                             mountpoint);
    /* Dead mounts may lie under it. */
    if (err.code == 0 && tfs_unmount_dead(mountpoint, NULL, &err) < 0)
        status = say_error(cli, mountpoint, &err);
    return status;
}

enum tfs_status tfs_cli_umount(struct tfs_cli *cli)
{
    char mountpoint[PATH_MAX];
    struct tfs_error err = {0};
    int fd = -1;

    if (!realpath(cli->operands[0], mountpoint))
        return say_errno(cli, cli->operands[0], errno);
    int dead = tfs_unmount_dead(mountpoint, NULL, &err);
    if (dead < 0)
        return say_error(cli, mountpoint, &err);
    if (dead > 0)
        return say_lost(cli, mountpoint);
    enum tfs_status status = open_pipe(cli, mountpoint, &fd);
    if (!status)
        status = unmount_live(cli, mountpoint, fd);
    if (fd >= 0)
        close(fd);
    return status;
}
