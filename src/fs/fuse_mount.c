/*
 * From a command line to a served mount: forks first (locks, database connections and threads do
 * not survive a fork), does everything that can fail in the child, and returns the child's true
 * status.
 */
#include "fs/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "fs/fuse.h"
#include "status.h"
#include "text/name.h"

/* One mount while it is being set up and served. */
struct mounting {
    const struct tfs_mount_options *options;
    const char *save_name;
    char *mountpoint; /* absolute */
    int ready;        /* the parent waits for a byte here; -1 in the foreground */
    /* Read end: for `terrainfs umount`, through /proc. Write end: where unsaved bytes are, if there
     * are any, and last the exit status. */
    int exit_pipe[2];
    bool bad_option; /* libfuse does not know it: wrong usage, not a bad save */
    bool detached;   /* stderr is gone: messages go to syslog */
    struct tfs_save *save;
    struct tfs_fuse *fuse;
    struct tfs_session *session;
};

static void on_message(void *arg, const char *line)
{
    const struct mounting *m = arg;
    if (m->detached)
        syslog(LOG_WARNING, "%s", line);
    else
        fprintf(stderr, "terrainfs: %s\n", line);
}

/* Before there is a session, whose messages are lines already. */
static void say(const char *text)
{
    char line[2 * (TFS_ERROR_TEXT + PATH_MAX)];
    fprintf(stderr, "terrainfs: %s\n", tfs_sentence_print(text, line, sizeof(line)));
}

static int complain(const struct tfs_error *err, const char *path)
{
    char text[TFS_ERROR_TEXT + PATH_MAX];
    tfs_error_format(err, path, text, sizeof(text));
    say(text);
    return (int)tfs_status_of(err->code);
}

static void say_read_only(const struct mounting *m)
{
    char text[TFS_ERROR_TEXT + PATH_MAX];
    snprintf(text, sizeof(text), "%s: mounted read-only: %s", m->save_name, m->save->read_only);
    say(text);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int resolve_mountpoint(struct mounting *m, const char *mountpoint, struct tfs_error *err)
{
    struct stat st;
    m->mountpoint = realpath(mountpoint, NULL);
    if (m->mountpoint == NULL || stat(m->mountpoint, &st) < 0)
        return tfs_fail_errno(err, "the mount point cannot be used");
    if (!S_ISDIR(st.st_mode))
        return tfs_fail(err, -ENOTDIR, "the mount point is not a directory");
    return 0;
}

/* Mounted over its own save, the session could neither replace it nor be told from it. */
static int refuse_inside(const struct mounting *m, struct tfs_error *err)
{
    size_t n = strlen(m->mountpoint);
    if (n > 1 && m->mountpoint[n - 1] == '/')
        n--;
    bool inside = strncmp(m->save->path, m->mountpoint, n) == 0 &&
                  (m->save->path[n] == '/' || m->save->path[n] == '\0' || n == 1);
    if (inside)
        return tfs_fail(err, -EINVAL, "the mount point contains the save %s", m->save->path);
    return 0;
}

static int open_save(struct mounting *m, struct tfs_error *err)
{
    struct tfs_open_options options = {
        .lock = m->options->read_only ? TFS_LOCK_NONE : TFS_LOCK_EXCLUSIVE,
        .upgrade = m->options->upgrade,
        .inflate_limit = m->options->inflate_limit,
    };
    return tfs_save_open(m->save_name, m->options->format, &options, &m->save, err);
}

static int open_fuse(struct mounting *m, struct tfs_error *err)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = m->options->threads;
    if (threads == 0)
        threads = cpus > 1 ? (unsigned)cpus : 1;
    struct tfs_fuse_options options = {
        .mountpoint = m->mountpoint,
        .source = m->save->path,
        .fuse_options = m->options->fuse_options,
        .read_only = m->options->read_only || m->save->read_only != NULL,
        .debug = m->options->debug,
        .threads = threads,
    };
    int result = tfs_fuse_mount(&options, &m->fuse, err);
    m->bad_option = result == -EINVAL;
    return result;
}

static int open_session(struct mounting *m, struct tfs_error *err)
{
    struct tfs_session_options options = {
        .read_only = m->options->read_only,
        .commit_seconds = (unsigned)m->options->commit_seconds,
        .scratch_limit = m->options->scratch_size,
        .cache_limit = m->options->cache_size,
        .conflict = m->options->conflict,
        .put_options = m->options->upgrade ? TFS_PUT_UPGRADE : 0,
        .exit_fd = m->exit_pipe[0],
    };
    struct tfs_events events = {.invalidate = tfs_fuse_invalidate,
                                .invalidate_arg = m->fuse,
                                .message = on_message,
                                .message_arg = m};
    int result = tfs_session_open(m->save, &options, &events, &m->session, err);
    if (result == 0) {
        m->save = NULL; /* the session's now */
        tfs_fuse_attach(m->fuse, m->session);
    }
    return result;
}

/* Tells the parent, and lets go of the terminal. */
static void detach(struct mounting *m)
{
    if (m->ready < 0)
        return;
    openlog("terrainfs", LOG_PID, LOG_USER);
    m->detached = true;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    (void)chdir("/");
    char status = TFS_STATUS_DONE;
    while (write(m->ready, &status, 1) < 0 && errno == EINTR)
        ;
    close(m->ready);
    m->ready = -1;
}

/* Texts of a walk come and go by the thousand. Memory that malloc gives back and takes again is
 * mapped and cleared each time, which takes longer than to render them; what is as large as a
 * picture goes back to the system at once. One heap serves all threads: they take turns in a walk,
 * and what one of them freed lies in the processor's cache for the next. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
    mallopt(M_TOP_PAD, 8 << 20);
#endif
}

static int serve(struct mounting *m)
{
    keep_freed_memory();
    detach(m);
    int result = tfs_fuse_loop(m->fuse);
    int status = tfs_session_finish(m->session);
    const char *unsaved = tfs_session_unsaved(m->session);
    if (unsaved != NULL && write(m->exit_pipe[1], unsaved, strlen(unsaved)) < 0)
        status = TFS_STATUS_SYSTEM;
    return status == TFS_STATUS_DONE && result < 0 ? TFS_STATUS_SYSTEM : status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void release(struct mounting *m)
{
    if (m->session != NULL)
        tfs_session_close(m->session);
    if (m->save != NULL)
        tfs_save_close(m->save);
    tfs_fuse_close(m->fuse);
    free(m->mountpoint);
}

/* Everything, in the process that will serve. */
static int run(struct mounting *m, const char *mountpoint)
{
    struct tfs_error err = {0};
    const char *about = mountpoint;
    int status;
    if (pipe2(m->exit_pipe, O_CLOEXEC) < 0) {
        tfs_fail_errno(&err, "pipe");
        return complain(&err, NULL);
    }
    int result = resolve_mountpoint(m, mountpoint, &err);
    if (result == 0) {
        about = m->save_name;
        result = open_save(m, &err);
    }
    if (result == 0 && m->save->read_only != NULL && !m->options->read_only)
        say_read_only(m);
    if (result == 0)
        result = refuse_inside(m, &err);
    if (result == 0)
        result = open_fuse(m, &err);
    if (result == 0)
        result = open_session(m, &err);
    status = result < 0 ? complain(&err, about) : serve(m);
    if (m->bad_option)
        status = TFS_STATUS_USAGE;
    release(m);
    char byte = (char)status;
    if (write(m->exit_pipe[1], &byte, 1) < 0)
        status = TFS_STATUS_SYSTEM;
    return status;
}

/* The parent: waits until the mount is served, or for the child's status. */
static int await_ready(int fd)
{
    char status = TFS_STATUS_SYSTEM;
    ssize_t n;
    do
        n = read(fd, &status, 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    if (n != 1)
        fprintf(stderr, "terrainfs: the serving process ended unexpectedly\n");
    return n == 1 ? status : TFS_STATUS_SYSTEM;
}

int tfs_mount(const struct tfs_mount_options *options, const char *save, const char *mountpoint)
{
    struct mounting m = {.options = options, .save_name = save, .ready = -1};
    int pipe_fds[2];
    if (options->foreground || options->debug)
        return run(&m, mountpoint);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        perror("terrainfs: pipe");
        return TFS_STATUS_SYSTEM;
    }
    pid_t child = fork();
    if (child < 0) {
        perror("terrainfs: fork");
        return TFS_STATUS_SYSTEM;
    }
    if (child > 0) {
        close(pipe_fds[1]);
        return await_ready(pipe_fds[0]);
    }
    close(pipe_fds[0]);
    setsid();
    m.ready = pipe_fds[1];
    int status = run(&m, mountpoint);
    if (m.ready >= 0) {
        char byte = (char)status;
        (void)!write(m.ready, &byte, 1);
    }
    exit(status);
}
