/*
 * From a command line to a served mount: forks first (locks, database connections and threads do
 * not survive a fork), does everything that can fail in the child, and returns the child's true
 * status, which fuse_daemonize cannot.
 *
 * Parent and child. When the parent fails, nothing is mounted:
 *   1. the child tells its status through a socket when it serves, or when it has taken back all
 *      that it did; its sentence is on stderr before that;
 *   2. a child that dies before leaves at most a dead mount, which the parent takes away;
 *   3. when the parent dies before, the child ends too (SIGTERM by the kernel, or a socket that
 *      nobody reads);
 *   4. what the parent has read it answers, and no signal ends it from then on. A child that gets
 *      no answer while it serves has a parent that died with another status, and ends.
 */
#include "fs/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/mounts.h"
#include "fs/mount/fuse.h"
#include "fs/mount/mountpoint.h"
#include "fs/recovery/recover.h"
#include "commands/status.h"
#include "formats/views/view_sets.h"
#include "formats/containers/several_saves.h"
#include "text/name.h"

#define FILES_WANTED 1024
#define FILES_LEAST  64
#define LEFT_MAX     32768 /* bytes that a pipe takes without a reader */

/* One mount while it is being set up and served. */
struct mounting {
    const struct tfs_mount_options *options;
    const struct tfs_open_options *open;
    const char *save_name;
    struct tfs_mountpoint point;
    const char *about; /* what the error is about */
    int command;       /* the mount command waits for a byte here; -1 in the foreground */
    int null;          /* instead of its terminal; -1 in the foreground */
    bool told;
    bool bad_option; /* libfuse does not take it: wrong usage, not a bad save */
    /* Read end: for `terrainfs umount`, through /proc. Write end: what is not in the save, if
     * there is something, and last the exit status. */
    int exit_pipe[2];
    atomic_bool detached;           /* stderr is gone: messages go to syslog */
    char *source;                   /* the save, or the folder that holds the saves */
    struct tfs_parts folder;        /* what it holds, where it is one */
    struct tfs_session_part *parts; /* the session's from then on; each path is allocated */
    size_t part_count;
    struct tfs_fuse *fuse;
    struct tfs_session *session;
};

static void on_message(void *arg, const char *line)
{
    const struct mounting *m = arg;
    char name[2 * PATH_MAX];

    tfs_sentence_print(m->save_name, name, sizeof(name));
    if (m->detached)
        syslog(LOG_WARNING, "%s: %s", name, line);
    else
        fprintf(stderr, "terrainfs: %s: %s\n", name, line);
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

/* Something about a save. */
static void say_of(const struct mounting *m, const char *part, const char *how, const char *what)
{
    char text[TFS_ERROR_TEXT + 2 * PATH_MAX];

    snprintf(text, sizeof(text), "%s%s%s: %s%s", m->save_name, part[0] == '\0' ? "" : "/", part,
             how, what);
    say(text);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Opens one save, and brings it to what its journal says. `part`: its path in the folder; "": it is
 * all there is. */
static int open_part(struct mounting *m, const char *path, const char *part, struct tfs_error *err)
{
    char notice[TFS_ERROR_TEXT];
    struct tfs_session_part *made = &m->parts[m->part_count];

    if (tfs_save_open(path, m->options->format, m->open, &made->save, err) < 0)
        return err->code;
    m->part_count++;
    made->path = strdup(part);
    if (made->path == NULL)
        return tfs_fail_memory(err);
    if (made->save->read_only != NULL && !m->options->read_only)
        say_of(m, part, "mounted read-only: ", made->save->read_only);
    else if (tfs_container_is_database(made->save->container) && !m->options->read_only &&
             !m->open->undo.databases && m->open->undo.when != TFS_UNDO_NEVER)
        say_of(m, part, "", "edits of a database can be undone only with -o backup");
    if (tfs_recover(made->save, notice, err) == 0 && notice[0] != '\0')
        say_of(m, part, "", notice);
    return err->code;
}

/* The saves of a folder, which lie elsewhere where a directory in it is a link. */
static int open_parts(struct mounting *m, struct tfs_error *err)
{
    struct tfs_error why = {0};

    for (size_t i = 0; i < m->folder.count && why.code == 0; i++) {
        open_part(m, m->folder.items[i].save, m->folder.items[i].path, &why);
        if (why.code < 0)
            tfs_fail(err, why.code, "%s: %s", m->folder.items[i].path, why.text);
    }
    if (m->folder.left_out != NULL)
        say_of(m, "", "warning: ", m->folder.left_out);
    return err->code;
}

static int open_saves(struct mounting *m, struct tfs_error *err)
{
    m->about = m->save_name;
    if (tfs_parts_find(m->save_name, m->options->format, &m->folder, err) < 0)
        return err->code;
    m->parts = calloc(m->folder.count + 1, sizeof(*m->parts));
    if (m->parts == NULL)
        return tfs_fail_memory(err);
    if (m->folder.count > 0 ? open_parts(m, err) < 0 : open_part(m, m->save_name, "", err) < 0)
        return err->code;
    m->source = realpath(m->folder.count > 0 ? m->save_name : m->parts[0].save->path, NULL);
    if (m->source == NULL)
        return tfs_fail_errno(err, "cannot be opened");
    for (size_t i = 0; i < m->part_count && err->code == 0; i++)
        tfs_mountpoint_check(&m->point, m->parts[i].save->path, err);
    return err->code;
}

/* None of the saves can be written. */
static bool all_read_only(const struct mounting *m)
{
    bool all = true;

    for (size_t i = 0; i < m->part_count; i++)
        all = all && m->parts[i].save->read_only != NULL;
    return all;
}

/* What the folder of several saves shows beside them. */
static int show_beside(struct mounting *m, struct tfs_error *err)
{
    const char *name;

    for (size_t i = 0; (name = tfs_parts_file(&m->folder, i)) != NULL; i++) {
        struct tfs_blob *bytes;
        if (tfs_parts_read_file(m->source, &m->folder, name, &bytes, err) < 0)
            return err->code;
        if (bytes != NULL && tfs_session_add_file(m->session, name, tfs_blob_span(bytes)) < 0)
            tfs_fail_memory(err);
        tfs_blob_unref(bytes);
    }
    return err->code;
}

static int open_session(struct mounting *m, struct tfs_error *err)
{
    struct tfs_session_options options = {
        .read_only = m->options->read_only,
        .commit_auto = m->options->commit_auto,
        .scratch_limit = m->options->scratch_size,
        .cache_limit = m->options->cache_size,
        .keep_times = true,
        .exit_fd = m->exit_pipe[0],
    };
    struct tfs_events events = {.changed = tfs_fuse_changed,
                                .invalidate = tfs_fuse_invalidate,
                                .caches = m->fuse,
                                .message = on_message,
                                .message_arg = m};

    if (tfs_session_open_many(m->parts, m->part_count, &options, &events, &m->session, err) < 0)
        return err->code;
    for (size_t i = 0; i < m->part_count; i++)
        m->parts[i].save = NULL; /* the session's now */
    return m->folder.count > 0 && tfs_chosen_all(m->options->views) ? show_beside(m, err) : 0;
}

static int mount_session(struct mounting *m, struct tfs_error *err)
{
    m->about = m->point.name;
    if (access("/dev/fuse", R_OK | W_OK) < 0)
        return tfs_fail(err, -errno,
                        "cannot be mounted, because /dev/fuse cannot be used: %s; \"terrainfs "
                        "export\" and \"terrainfs import\" work without it",
                        strerror(errno));
    if (tfs_fuse_mount(m->fuse, m->session, m->point.path, err) < 0)
        return err->code;
    tfs_mountpoint_taken(&m->point);
    return 0;
}

/* A mount needs few descriptors, but not as few as some shells allow. */
static int raise_limits(struct tfs_error *err)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_WANTED)
        return 0;
    files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur >= FILES_LEAST
               ? 0
               : tfs_fail(err, -EMFILE, "a mount needs %d descriptors (ulimit -n)", FILES_LEAST);
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

static int open_all(struct mounting *m, struct tfs_error *err)
{
    if (raise_limits(err) < 0)
        return err->code;
    if (pipe2(m->exit_pipe, O_CLOEXEC) < 0)
        return tfs_fail_errno(err, "no pipe can be made");
    m->about = m->point.name;
    if (m->command >= 0 && (m->null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
        return tfs_fail_errno(err, "/dev/null cannot be opened");
    if (tfs_mountpoint_find(&m->point, m->save_name, err) < 0 || open_saves(m, err) < 0)
        return err->code;
    keep_freed_memory();
    const bool read_only = m->options->read_only || all_read_only(m);
    m->bad_option = tfs_fuse_open(m->options, m->source, read_only, &m->fuse, err) == -EINVAL;
    if (err->code < 0 || open_session(m, err) < 0)
        return err->code;
    return mount_session(m, err);
}

static void tell_command(struct mounting *m, int status)
{
    const char byte = (char)status;

    m->told = true;
    (void)!write(m->command, &byte, 1);
}

/* Lets go of the terminal. Behind it nothing ends the mount but unmounting, signals, and a command
 * that does not answer. */
static void announce(struct mounting *m)
{
    openlog("terrainfs", LOG_PID | LOG_NDELAY, LOG_USER); /* now: later there may be no room */
    m->detached = true;
    for (int fd = 0; fd < 3; fd++)
        dup2(m->null, fd);
    close(m->null);
    (void)chdir("/");
    prctl(PR_SET_PDEATHSIG, 0);
    tell_command(m, TFS_STATUS_DONE);
}

static int serve(struct mounting *m)
{
    char broke[TFS_ERROR_TEXT] = "";

    if (m->command >= 0)
        announce(m);
    const int result = tfs_fuse_loop(m->fuse, m->command);
    if (result < 0) {
        snprintf(broke, sizeof(broke), "the connection to the kernel broke: %s", strerror(-result));
        on_message(m, broke);
    }
    const int status = tfs_session_finish(m->session);
    const char *left = tfs_session_left(m->session);
    const bool told =
        dprintf(m->exit_pipe[1], "%s%s%.*s", broke, broke[0] != '\0' && left != NULL ? "; " : "",
                LEFT_MAX, left != NULL ? left : "") >= 0;
    return result < 0 || !told ? TFS_STATUS_SYSTEM : status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* libfuse unmounts whatever is uppermost, and nothing if the connection was aborted. */
static void unmount(struct mounting *m)
{
    struct tfs_error ignored = {0};

    if (tfs_mountpoint_is_covered(&m->point))
        return; /* the process ends, and with it the connection */
    tfs_fuse_close(m->fuse);
    (void)tfs_unmount_dead(m->point.path, NULL, &ignored);
}

static void release(struct mounting *m)
{
    if (m->session != NULL)
        tfs_session_close(m->session);
    for (size_t i = 0; i < m->part_count; i++) {
        tfs_save_close(m->parts[i].save);
        free((char *)m->parts[i].path);
    }
    free(m->parts);
    free(m->source);
    tfs_parts_release(&m->folder);
    if (m->fuse != NULL)
        unmount(m);
    tfs_mountpoint_release(&m->point);
}

/* Everything, in the process that will serve. */
static int run(struct mounting *m)
{
    struct tfs_error err = {0};
    int status = open_all(m, &err) < 0 ? complain(&err, m->about) : serve(m);

    if (m->bad_option)
        status = TFS_STATUS_USAGE;
    release(m);
    char byte = (char)status;
    if (write(m->exit_pipe[1], &byte, 1) < 0)
        status = TFS_STATUS_SYSTEM;
    return status;
}

/* ---- parent and child ------------------------------------------------------------------------ */

static void serve_in_child(struct mounting *m, pid_t parent)
{
    /* The daemon must not hold what the caller has open, such as a lock. */
    m->command = dup2(m->command, STDERR_FILENO + 1);
    (void)close_range(STDERR_FILENO + 2, UINT_MAX, 0);
    (void)fcntl(m->command, F_SETFD, FD_CLOEXEC);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        exit(TFS_STATUS_SYSTEM);
    int status = run(m);
    if (!m->told)
        tell_command(m, status);
    exit(status);
}

/* The child died without a word. */
static int clear_up(pid_t child, const char *mountpoint_name)
{
    struct tfs_error ignored = {0};
    char *mountpoint = realpath(mountpoint_name, NULL);
    int state = 0;

    waitpid(child, &state, 0);
    if (WIFSIGNALED(state))
        fprintf(stderr, "terrainfs: the serving process was killed by signal %d (%s)\n",
                WTERMSIG(state), strsignal(WTERMSIG(state)));
    else
        fprintf(stderr, "terrainfs: the serving process ended unexpectedly\n");
    if (mountpoint != NULL)
        (void)tfs_unmount_dead(mountpoint, NULL, &ignored);
    free(mountpoint);
    return TFS_STATUS_SYSTEM;
}

/* The parent: waits until the mount is served, or for the child's status. Without handlers no
 * signal interrupts it: it goes on, or dies. */
static int await_child(pid_t child, int ready, const char *mountpoint_name)
{
    char status;
    sigset_t all;

    if (read(ready, &status, 1) != 1)
        return clear_up(child, mountpoint_name);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    (void)!write(ready, &status, 1); /* a child that is gone by now ended after it served */
    return status;
}

int tfs_mount(const struct tfs_mount_options *options, const struct tfs_open_options *open,
              const char *save, const char *mountpoint)
{
    struct mounting m = {.options = options,
                         .open = open,
                         .save_name = save,
                         .point = {.name = mountpoint, .say = say, .locked = -1},
                         .command = -1,
                         .null = -1,
                         .exit_pipe = {-1, -1}};
    int ends[2];

    if (options->foreground || options->debug)
        return run(&m);
    const pid_t parent = getpid();
    const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    const pid_t child = paired ? fork() : -1;
    if (child < 0) {
        perror("terrainfs: no process can be started to serve it");
        return TFS_STATUS_SYSTEM;
    }
    close(ends[child == 0 ? 0 : 1]);
    if (child > 0) /* everything to release is the child's now, libraries' memory included */
        _exit(await_child(child, ends[0], mountpoint));
    m.command = ends[1];
    serve_in_child(&m, parent);
    return TFS_STATUS_SYSTEM;
}
