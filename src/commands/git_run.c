/*
 * Words -> a run of git, its output and its exit status. Knows nothing of what it is asked.
 */
#include "commands/git_run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define STEP        4096
#define ANSWER_MAX  ((size_t)1 << 20)
#define NOT_STARTED 127 /* as shells say it */

static int read_all(int fd, struct tfs_buf *out, struct tfs_error *err)
{
    ssize_t n = 1;

    while (n != 0 && out->size < ANSWER_MAX) {
        uint8_t *room = tfs_buf_reserve(out, STEP);
        if (room == NULL)
            return tfs_fail_memory(err);
        n = read(fd, room, STEP);
        if (n < 0 && errno != EINTR)
            return tfs_fail_errno(err, "what git says cannot be read");
        out->size += n > 0 ? (size_t)n : 0;
    }
    return n == 0 ? 0 : tfs_fail(err, -EFBIG, "git says more than is read");
}

static int wait_for(pid_t child, struct tfs_error *err)
{
    int state;

    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return tfs_fail_errno(err, "git cannot be waited for");
    if (!WIFEXITED(state) || WEXITSTATUS(state) == NOT_STARTED)
        return tfs_fail(err, -ECHILD, "git did not run to its end");
    return WEXITSTATUS(state);
}

/* Starts it with its standard output on `fd`; negative: as it is. */
static int start(const char *const words[], bool quiet, int fd, pid_t *child, struct tfs_error *err)
{
    char *argv[TFS_GIT_WORDS + 2] = {(char *)"git"};
    posix_spawn_file_actions_t actions;

    for (size_t i = 0; i < TFS_GIT_WORDS && words[i] != NULL; i++)
        argv[i + 1] = (char *)words[i];
    int result = posix_spawn_file_actions_init(&actions);
    if (result != 0)
        return tfs_fail_memory(err);
    if (fd >= 0)
        result = posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    if (result == 0 && quiet)
        result =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (result == 0)
        result = posix_spawnp(child, "git", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (result != 0)
        tfs_fail(err, -result, "git cannot be run: %s", strerror(result));
    return err->code;
}

int tfs_git_run(const char *const words[], bool quiet, struct tfs_buf *out, struct tfs_error *err)
{
    int ends[2] = {-1, -1};
    pid_t child;

    if (out != NULL && pipe2(ends, O_CLOEXEC) < 0)
        return tfs_fail_errno(err, "no pipe can be made");
    int result = start(words, quiet, ends[1], &child, err);
    if (ends[1] >= 0)
        close(ends[1]);
    bool started = result == 0;
    if (started && out != NULL)
        result = read_all(ends[0], out, err);
    if (ends[0] >= 0)
        close(ends[0]);
    if (!started)
        return result;
    struct tfs_error ignored = {0};
    int status = wait_for(child, result < 0 ? &ignored : err);
    return result < 0 ? result : status;
}
