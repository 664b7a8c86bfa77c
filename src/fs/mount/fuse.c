/*
 * A mount: its options for libfuse, the threads that serve it, the signals that end it, and
 * notifications to the kernel. What requests mean is in requests.c.
 */
#include "fs/mount/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mounts.h"
#include "base/print.h"
#include "fs/mount/requests.h"

#define WAKE SIGUSR1

/* What a server does; else the opcode of the request that it answers. */
enum { ABSENT = 0, READING = -1 };

/* A thread that serves requests, and its room for one. */
struct server {
    struct tfs_fuse *fuse;
    pthread_t thread;
    struct fuse_buf buf;
    pid_t tid;        /* of the thread, once it is not absent */
    atomic_uint turn; /* how often it read */
    atomic_int doing; /* READING: also when it was given a request that it has not looked at */
};

struct tfs_fuse {
    struct fuse_session *se;
    struct tfs_fuse_requests requests;
    struct server *servers;
    unsigned threads; /* servers with room for a request */
    unsigned started; /* servers whose thread runs */
    sigset_t signals; /* what ends the loop, and WAKE */
    pthread_t waiter; /* the thread that waits for them */
    atomic_bool ended;
    atomic_int result;     /* why a server ended the loop; 0: unmounted */
    atomic_bool leaving;   /* the loop has ended: no more notifications */
    atomic_uint notifying; /* notifications under way */
};

/* ---- mounting -------------------------------------------------------------------------------- */

/* fsname may hold commas, which separate options. */
static char *escape_commas(const char *text)
{
    char *out = malloc(2 * strlen(text) + 1);
    char *at = out;

    for (; out != NULL && *text != '\0'; text++) {
        if (*text == ',' || *text == '\\')
            *at++ = '\\';
        *at++ = *text;
    }
    if (out != NULL)
        *at = '\0';
    return out;
}

/* -o for libfuse. The user's options come last and win. */
static char *join_options(const struct tfs_fuse_options *options)
{
    char max_read[32] = "", *joined = NULL;
    char *source = escape_commas(options->source);

    if (options->max_read > 0)
        snprintf(max_read, sizeof(max_read), ",max_read=%u", options->max_read);
    if (source == NULL ||
        tfs_print(&joined, "subtype=%s,default_permissions,noexec,nosuid,nodev%s%s,fsname=%s%s%s",
                  TFS_MOUNT_SUBTYPE, max_read, options->read_only ? ",ro" : "", source,
                  options->fuse_options ? "," : "",
                  options->fuse_options ? options->fuse_options : "") < 0)
        joined = NULL;
    free(source);
    return joined;
}

static int make_args(const struct tfs_fuse_options *options, struct fuse_args *args)
{
    char *joined = join_options(options);
    int result = joined == NULL || fuse_opt_add_arg(args, "terrainfs") < 0 ||
                         fuse_opt_add_arg(args, "-o") < 0 || fuse_opt_add_arg(args, joined) < 0 ||
                         (options->debug && fuse_opt_add_arg(args, "-d") < 0)
                     ? -ENOMEM
                     : 0;

    free(joined);
    return result;
}

/* What libfuse logs until requests are served. Why something fails it says in no other way. */
static char heard[TFS_ERROR_TEXT / 2];

static void on_log(enum fuse_log_level level, const char *format, va_list args)
{
    size_t used = strlen(heard);

    if (level != FUSE_LOG_DEBUG)
        vsnprintf(heard + used, sizeof(heard) - used, format, args);
    else
        vfprintf(stderr, format, args);
}

static void log_to_stderr(enum fuse_log_level level, const char *format, va_list args)
{
    (void)level;
    vfprintf(stderr, format, args);
}

static int fail_heard(int code, const char *what, struct tfs_error *err)
{
    heard[strcspn(heard, "\n")] = '\0';
    const char *why = strncmp(heard, "fuse: ", 6) == 0 ? heard + 6 : heard;
    return tfs_fail(err, code, "%s%s%s", what, *why != '\0' ? ": " : "", why);
}

static void on_wake(int signal)
{
    (void)signal;
}

/* The signals that end the loop wait for it from here on, in the threads that are started too. What
 * is ignored (by nohup, for example) stays so. */
static void hold_signals(struct tfs_fuse *fuse)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    const struct sigaction wake = {.sa_handler = on_wake};
    struct sigaction action;

    signal(SIGPIPE, SIG_IGN);
    sigaction(WAKE, &wake, NULL);
    sigemptyset(&fuse->signals);
    sigaddset(&fuse->signals, WAKE);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&fuse->signals, ends[i]);
    pthread_sigmask(SIG_BLOCK, &fuse->signals, NULL);
}

static int open_session(const struct tfs_fuse_options *options, struct tfs_fuse *fuse,
                        struct tfs_error *err)
{
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

    heard[0] = '\0';
    fuse_set_log_func(on_log);
    if (make_args(options, &args) < 0)
        tfs_fail_memory(err);
    else
        fuse->se = fuse_session_new(&args, &tfs_fuse_operations, sizeof(tfs_fuse_operations),
                                    &fuse->requests);
    if (err->code == 0 && fuse->se == NULL)
        fail_heard(-EINVAL, "the mount options cannot be used", err);
    fuse_opt_free_args(&args);
    return err->code;
}

int tfs_fuse_open(const struct tfs_fuse_options *options, struct tfs_fuse **out,
                  struct tfs_error *err)
{
    struct tfs_fuse *fuse = calloc(1, sizeof(*fuse));

    if (fuse == NULL)
        return tfs_fail_memory(err);
    fuse->requests.read_only = options->read_only;
    fuse->requests.max_read = options->max_read;
    fuse->requests.arrays = options->arrays;
    fuse->threads = options->threads;
    fuse->servers = calloc(options->threads, sizeof(*fuse->servers));
    if (fuse->servers == NULL)
        tfs_fail_memory(err);
    if (err->code < 0 || open_session(options, fuse, err) < 0) {
        tfs_fuse_close(fuse);
        return err->code;
    }
    hold_signals(fuse);
    *out = fuse;
    return 0;
}

void tfs_fuse_attach(struct tfs_fuse *fuse, struct tfs_session *session)
{
    fuse->requests.session = session;
}

/* ---- serving --------------------------------------------------------------------------------- */

static int opcode_of(const struct fuse_buf *buf)
{
    const struct fuse_in_header *head = buf->mem;

    return (buf->flags & FUSE_BUF_IS_FD) != 0 ? FUSE_WRITE : (int)head->opcode;
}

/* Serves the next request: 1; 0: it is unmounted; or negative. The first call makes the room. */
static int serve_one(struct tfs_fuse *fuse, struct server *server)
{
    int received = fuse_session_receive_buf(fuse->se, &server->buf);

    if (received > 0) {
        atomic_store(&server->doing, opcode_of(&server->buf));
        fuse_session_process_buf(fuse->se, &server->buf);
    }
    return received > 0 ? 1 : received;
}

/* Ends between two requests only, so that each that was taken is answered. */
static void *serve(void *arg)
{
    struct server *server = arg;
    struct tfs_fuse *fuse = server->fuse;
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, WAKE);
    pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
    server->tid = gettid();
    while (!atomic_load(&fuse->ended)) {
        atomic_store(&server->doing, READING);
        atomic_fetch_add(&server->turn, 1);
        int result = serve_one(fuse, server);
        if (result > 0 || result == -EINTR || result == -EAGAIN)
            continue;
        atomic_store(&fuse->result, result);
        tfs_fuse_end(fuse);
    }
    atomic_store(&server->doing, ABSENT);
    return NULL;
}

static int set_blocking(const struct tfs_fuse *fuse, bool blocking)
{
    int fd = fuse_session_fd(fuse->se);
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return -errno;
    return fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0 ? -errno : 0;
}

/* INIT, the kernel's first request, was sent when it mounted. */
static int answer_init(struct tfs_fuse *fuse, struct tfs_error *err)
{
    int result = 1;

    while (!fuse->requests.initialized && (result > 0 || result == -EINTR))
        result = serve_one(fuse, &fuse->servers[0]);
    if (result == -ENOMEM)
        return tfs_fail_memory(err);
    if (!fuse->requests.initialized || fuse_session_exited(fuse->se))
        return fail_heard(-EIO, "the kernel and this libfuse do not agree on how to serve it", err);
    return 0;
}

/* Room for a request for each server: one that found none when it was needed would end the mount.
 * With too little memory there are fewer servers. */
static int make_room(struct tfs_fuse *fuse, struct tfs_error *err)
{
    unsigned count = 1;

    if (set_blocking(fuse, false) < 0)
        return tfs_fail_errno(err, "/dev/fuse cannot be read without waiting");
    for (; count < fuse->threads; count++) {
        (void)serve_one(fuse, &fuse->servers[count]);
        if (fuse->servers[count].buf.mem == NULL)
            break;
    }
    fuse->threads = count;
    return set_blocking(fuse, true) < 0 ? tfs_fail_errno(err, "/dev/fuse cannot be waited for") : 0;
}

/* Until there are `count`: 0, or why the next one could not be started. */
static int start_servers(struct tfs_fuse *fuse, unsigned count)
{
    int result = 0;

    for (; fuse->started < count && result == 0; fuse->started += result == 0) {
        struct server *server = &fuse->servers[fuse->started];
        server->fuse = fuse;
        result = pthread_create(&server->thread, NULL, serve, server);
    }
    return result;
}

/* Without it nothing is served; the others come once the mount is ready, as many as can. */
static int start_first(struct tfs_fuse *fuse, struct tfs_error *err)
{
    fuse->waiter = pthread_self();
    fuse->requests.read_ahead = fuse->requests.arrays && fuse->threads > 1;
    const int result = start_servers(fuse, 1);
    if (result != 0)
        return tfs_fail(err, -result, "no thread can be started to serve it: %s (ulimit -v, -u)",
                        strerror(result));
    return 0;
}

/* A server that waits for a request is woken, and one that is about to wait does not. */
static void stop_servers(struct tfs_fuse *fuse)
{
    atomic_store(&fuse->ended, true);
    (void)set_blocking(fuse, false);
    for (unsigned i = 0; i < fuse->started; i++)
        pthread_kill(fuse->servers[i].thread, WAKE);
    for (; fuse->started > 0; fuse->started--)
        pthread_join(fuse->servers[fuse->started - 1].thread, NULL);
}

int tfs_fuse_mount(struct tfs_fuse *fuse, const char *mountpoint, struct tfs_error *err)
{
    if (fuse_session_mount(fuse->se, mountpoint) < 0)
        return fail_heard(-EIO, "cannot be mounted", err);
    if (answer_init(fuse, err) < 0 || make_room(fuse, err) < 0)
        return err->code;
    fuse_set_log_func(log_to_stderr);
    return start_first(fuse, err);
}

/* A notification may wait for a page that a request still in the kernel's queue holds: answers such
 * requests until no notification is under way. */
static void drain(struct tfs_fuse *fuse)
{
    while (atomic_load(&fuse->notifying) > 0) {
        struct pollfd fd = {.fd = fuse_session_fd(fuse->se), .events = POLLIN};
        if (poll(&fd, 1, 10) > 0 && (fd.revents & POLLIN) != 0)
            (void)serve_one(fuse, &fuse->servers[0]);
    }
}

void tfs_fuse_end(struct tfs_fuse *fuse)
{
    atomic_store(&fuse->ended, true);
    pthread_kill(fuse->waiter, WAKE);
}

bool tfs_fuse_ended(const struct tfs_fuse *fuse)
{
    sigset_t pending;

    sigpending(&pending);
    sigandset(&pending, &pending, &fuse->signals);
    return atomic_load(&fuse->ended) || !sigisemptyset(&pending);
}

int tfs_fuse_loop(struct tfs_fuse *fuse)
{
    int signal = WAKE;

    (void)start_servers(fuse, fuse->threads);
    while (signal == WAKE && !atomic_load(&fuse->ended))
        sigwait(&fuse->signals, &signal);
    stop_servers(fuse);
    atomic_store(&fuse->leaving, true);
    drain(fuse);
    return atomic_load(&fuse->result);
}

void tfs_fuse_close(struct tfs_fuse *fuse)
{
    if (fuse == NULL)
        return;
    if (fuse->se != NULL) {
        fuse_session_unmount(fuse->se); /* harmless when it is not mounted any more */
        fuse_session_destroy(fuse->se);
    }
    for (unsigned i = 0; fuse->servers != NULL && i < fuse->threads; i++)
        free(fuse->servers[i].buf.mem);
    free(fuse->servers);
    free(fuse);
}

/* ---- the order of closes --------------------------------------------------------------------- */

/* Is this thread of ours asleep? One that was given a request runs, however late. */
static bool is_asleep(pid_t tid)
{
    char path[64], text[128];
    ssize_t size = -1;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        size = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    if (size <= 0)
        return true; /* who cannot see it does not wait for it */
    text[size] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end == NULL || strncmp(name_end, ") S", 3) == 0;
}

/* May it have been given a close, before `turn` ended, that it has not done? */
static bool may_close(struct server *server, unsigned turn)
{
    for (;;) {
        const int doing = atomic_load(&server->doing);
        if (atomic_load(&server->turn) != turn || (doing != READING && doing != FUSE_RELEASE))
            return false;
        if (doing == FUSE_RELEASE || !is_asleep(server->tid))
            return true;
        /* Asleep over a read, if it was reading all the time. */
        if (atomic_load(&server->doing) == READING && atomic_load(&server->turn) == turn)
            return false;
    }
}

void tfs_fuse_settle(void *arg)
{
    static const struct timespec moment = {.tv_nsec = 50000};
    struct tfs_fuse *fuse = arg;

    for (unsigned i = 0; i < fuse->threads; i++) {
        const unsigned turn = atomic_load(&fuse->servers[i].turn);
        while (may_close(&fuse->servers[i], turn))
            nanosleep(&moment, NULL);
    }
}

void tfs_fuse_invalidate(void *arg, uint64_t id)
{
    struct tfs_fuse *fuse = arg;

    atomic_fetch_add(&fuse->notifying, 1);
    /* Looked at after the count went up: the end of the loop waits for the count. */
    if (!atomic_load(&fuse->leaving))
        (void)fuse_lowlevel_notify_inval_inode(fuse->se, id, 0, 0);
    atomic_fetch_sub(&fuse->notifying, 1);
}
