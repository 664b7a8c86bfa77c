/*
 * umount: takes a mount away and returns when its save is on disk, with the status of the daemon.
 *
 * umount(8) returns before the daemon has ended. The daemon tells in .terrainfs/status its process
 * (`pid: N`) and the read end of a pipe (`exit: FD`) into which it writes one byte, its exit
 * status, as the last thing it does. We open that pipe through /proc before we unmount.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_FILE ".terrainfs/status"
#define FUSE_MAGIC  0x65735546

static enum tfs_status say_errno(struct tfs_cli *cli, const char *path, int code)
{
    if (code == ENOTCONN)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: its daemon is gone; \"fusermount3 -u %s\" removes what is left",
                           path, path);
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(code));
}

static enum tfs_status say_busy(struct tfs_cli *cli, const char *path)
{
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                       "%s: a program still has a file open there, or works in it", path);
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
    close(fd); /* or we keep the mount busy ourselves */
    text[n < 0 ? 0 : n] = '\0';
    return (int)n;
}

/* Opens a pipe of another process, and nothing else: anybody can mount something that tells of a
 * pipe, and have a device there. -EINVAL: it is none. */
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

static enum tfs_status open_pipe(struct tfs_cli *cli, const char *mountpoint, int *fd)
{
    char text[4096];
    struct statfs fs;
    long pid, number;
    int n;

    if (statfs(mountpoint, &fs))
        return say_errno(cli, mountpoint, errno);
    n = fs.f_type == FUSE_MAGIC ? read_status(mountpoint, text, sizeof(text)) : -ENOENT;
    if (n < 0 && n != -ENOENT && n != -ENOTDIR)
        return say_errno(cli, mountpoint, -n);
    pid = n < 0 ? -1 : status_number(text, "pid");
    number = n < 0 ? -1 : status_number(text, "exit");
    int pipe = pid <= 0 || number < 0 ? -EINVAL : open_pipe_of(pid, number);
    if (pipe == -EINVAL)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: this is not a mount of terrainfs",
                           mountpoint);
    if (pipe < 0)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: cannot wait for its daemon, process %ld: %s", mountpoint, pid,
                           strerror(-pipe));
    *fd = pipe;
    return TFS_STATUS_DONE;
}

/* Reads to the pipe's end, which is the daemon's: the directory of what could not be saved, if
 * there is one, into `unsaved`; behind it the exit status, -1 without one. */
static int read_exit_status(int fd, char unsaved[PATH_MAX])
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    unsigned char last = 0;
    size_t count = 0;

    for (;;) {
        unsigned char byte;
        ssize_t n = read(fd, &byte, 1);

        if (n == 1) {
            if (count > 0 && count < PATH_MAX)
                unsaved[count - 1] = (char)last;
            last = byte;
            count++;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            break;
        } else {
            poll(&wait, 1, -1);
        }
    }
    unsaved[count > 0 && count < PATH_MAX ? count - 1 : 0] = '\0';
    return count > 0 ? last : -1;
}

static enum tfs_status await_daemon(struct tfs_cli *cli, const char *mountpoint, int fd)
{
    char unsaved[PATH_MAX];

    switch (read_exit_status(fd, unsaved)) {
    case TFS_STATUS_DONE:
        return TFS_STATUS_DONE;
    case -1:
        return tfs_cli_say(
            cli, TFS_STATUS_SYSTEM,
            "%s: unmounted, but its daemon ended without telling whether all was saved",
            mountpoint);
    default:
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM,
                           "%s: unmounted; not everything could be saved%s%s", mountpoint,
                           unsaved[0] != '\0' ? ", what was not is in " : "", unsaved);
    }
}

/* ---- unmounting ------------------------------------------------------------------------------ */

/* Runs fusermount3 -u with its stderr going to `fd`; never returns. */
static void run_fusermount(const char *mountpoint, int fd)
{
    dup2(fd, STDERR_FILENO);
    execlp("fusermount3", "fusermount3", "-u", "--", mountpoint, (char *)NULL);
    execlp("fusermount", "fusermount", "-u", "--", mountpoint, (char *)NULL);
    dprintf(STDERR_FILENO, "fusermount3: %s", strerror(errno));
    _exit(127);
}

/* What a pipe says until its end, on one line. */
static void read_words(int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t n;

    while (used < size - 1) {
        n = read(fd, text + used, size - 1 - used);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        used += n < 0 ? 0 : (size_t)n;
    }
    text[used] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static enum tfs_status unmount_as_user(struct tfs_cli *cli, const char *mountpoint)
{
    char words[512];
    int ends[2], state = -1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        return say_errno(cli, mountpoint, errno);
    pid = fork();
    if (pid == 0)
        run_fusermount(mountpoint, ends[1]);
    close(ends[1]);
    if (pid > 0) {
        read_words(ends[0], words, sizeof(words));
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    if (pid < 0)
        return say_errno(cli, mountpoint, errno);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return TFS_STATUS_DONE;
    if (strstr(words, strerror(EBUSY)) || strstr(words, "busy"))
        return say_busy(cli, mountpoint);
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", mountpoint, words);
}

static enum tfs_status unmount(struct tfs_cli *cli, const char *mountpoint)
{
    if (umount2(mountpoint, UMOUNT_NOFOLLOW) == 0)
        return TFS_STATUS_DONE;
    if (errno == EBUSY)
        return say_busy(cli, mountpoint);
    if (errno == EPERM)
        return unmount_as_user(cli, mountpoint);
    return say_errno(cli, mountpoint, errno);
}

enum tfs_status tfs_cli_umount(struct tfs_cli *cli)
{
    char mountpoint[PATH_MAX];
    enum tfs_status status;
    int fd = -1;

    if (!realpath(cli->operands[0], mountpoint))
        return say_errno(cli, cli->operands[0], errno);
    status = open_pipe(cli, mountpoint, &fd);
    if (status)
        return status;
    status = unmount(cli, mountpoint);
    if (!status)
        status = await_daemon(cli, mountpoint, fd);
    close(fd);
    return status;
}
