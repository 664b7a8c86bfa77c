/*
 * A mount: its options for libfuse, the threads that serve it, the signals that end it, and
 * notifications to the kernel. What requests mean is in requests.c.
 *
 * libfuse mounts, reads requests and answers them. The threads are ours, because those of
 * fuse_session_loop_mt
 *   - end the mount when one of them finds no memory for a request;
 *   - drop requests that they were given when a signal ends the loop;
 *   - end by pthread_cancel, which loads a library then, and aborts where it cannot;
 *   - take a lock twice for each request.
 */
#include "fs/mount/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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

/* A thread that serves requests, and its room for one. */
struct server {
    struct tfs_fuse *fuse;
    pthread_t thread;
    struct fuse_buf buf;
};

struct tfs_fuse {
    struct fuse_session *se;
    struct tfs_fuse_requests requests;
    sigset_t others;   /* all signals but those that end the loop, and WAKE */
    pthread_t main;    /* waits for these */
    atomic_int result; /* why a server ended the loop; 0: unmounted */
    unsigned wanted;   /* servers; of them run: */
    unsigned started;
    struct server servers[];
};

static atomic_bool ended; /* there is one mount in a process */

/* ---- mounting -------------------------------------------------------------------------------- */

/* The user's options come last and win. */
static int add_options(const struct tfs_mount_options *options, const char *source, bool read_only,
                       struct fuse_args *args)
{
    char *fsname = NULL, *joined = NULL;
    int result = -ENOMEM;

    if (tfs_print(&fsname, "fsname=%s", source) >= 0 &&
        tfs_print(&joined, "subtype=%s,default_permissions,noexec,nosuid,nodev%s%s%.0u",
                  TFS_MOUNT_SUBTYPE, read_only ? ",ro" : "",
                  options->max_read > 0 ? ",max_read=" : "", options->max_read) >= 0 &&
        fuse_opt_add_opt_escaped(&joined, fsname) == 0 && /* a path may hold commas */
        (options->fuse_options == NULL || fuse_opt_add_opt(&joined, options->fuse_options) == 0) &&
        fuse_opt_add_arg(args, "terrainfs") == 0 && fuse_opt_add_arg(args, "-o") == 0 &&
        fuse_opt_add_arg(args, joined) == 0 &&
        (!options->debug || fuse_opt_add_arg(args, "-d") == 0))
        result = 0;
    free(fsname);
    free(joined);
    return result;
}

static void on_signal(int signal)
{
    if (signal != WAKE)
        atomic_store(&ended, true);
}

/* From here on they wait for tfs_fuse_loop, also in the threads that are started. What is ignored
 * (by nohup, for example) stays so. */
static void hold_signals(struct tfs_fuse *fuse)
{
    static const int held[] = {SIGTERM, SIGINT, SIGHUP, WAKE};
    const struct sigaction ours = {.sa_handler = on_signal};
    struct sigaction before;
    sigset_t signals;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigfillset(&fuse->others);
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        if (sigaction(held[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN &&
            held[i] != WAKE)
            continue;
        sigaction(held[i], &ours, NULL);
        sigaddset(&signals, held[i]);
        sigdelset(&fuse->others, held[i]);
    }
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static unsigned threads_of(const struct tfs_mount_options *options)
{
    cpu_set_t cpus;

    if (options->threads > 0)
        return options->threads;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
}

int tfs_fuse_open(const struct tfs_mount_options *options, const char *source, bool read_only,
                  struct tfs_fuse **out, struct tfs_error *err)
{
    const unsigned wanted = threads_of(options);
    const bool arrays = (options->views & TFS_VIEWS_ARRAYS) != 0;
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    struct tfs_fuse *fuse = calloc(1, sizeof(*fuse) + wanted * sizeof(fuse->servers[0]));

    if (fuse == NULL || add_options(options, source, read_only, &args) < 0)
        tfs_fail_memory(err);
    else
        fuse->se = fuse_session_new(&args, &tfs_fuse_operations, sizeof(tfs_fuse_operations),
                                    &fuse->requests);
    fuse_opt_free_args(&args);
    if (err->code == 0 && fuse->se == NULL)
        tfs_fail(err, -EINVAL, "the mount options cannot be used"); /* libfuse said why */
    if (err->code < 0) {
        free(fuse);
        return err->code;
    }
    fuse->wanted = wanted;
    fuse->requests.se = fuse->se;
    pthread_mutex_init(&fuse->requests.giving, NULL);
    fuse->requests.max_read = options->max_read;
    fuse->requests.read_ahead = arrays && wanted > 1;
    hold_signals(fuse);
    *out = fuse;
    return 0;
}

/* ---- serving --------------------------------------------------------------------------------- */

/* Serves the next request: 1; 0: it is unmounted, perhaps while a request was being read
 * (ECONNABORTED); or negative. The first call makes the room. */
static int serve_one(struct tfs_fuse *fuse, struct server *server)
{
    int received = fuse_session_receive_buf(fuse->se, &server->buf);

    if (received > 0)
        fuse_session_process_buf(fuse->se, &server->buf);
    return received > 0 ? 1 : received == -ECONNABORTED ? 0 : received;
}

/* Ends between two requests only, so that each that was taken is answered. Without memory for
 * requests it leaves them to the others. */
static void *serve(void *arg)
{
    struct server *server = arg;
    struct tfs_fuse *fuse = server->fuse;
    int result = 1;
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, WAKE);
    pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
    while (!atomic_load(&ended) && (result > 0 || result == -EINTR || result == -EAGAIN))
        result = serve_one(fuse, server);
    if (server->buf.mem != NULL && !atomic_exchange(&ended, true)) {
        atomic_store(&fuse->result, result);
        pthread_kill(fuse->main, WAKE);
    }
    return NULL;
}

/* INIT, the kernel's first request, was sent when it mounted. */
static int answer_init(struct tfs_fuse *fuse, struct tfs_error *err)
{
    int result = 1;

    while (!fuse->requests.initialized && result > 0)
        result = serve_one(fuse, &fuse->servers[0]);
    if (result == -ENOMEM)
        return tfs_fail_memory(err);
    if (!fuse->requests.initialized || fuse_session_exited(fuse->se))
        return tfs_fail(err, -EIO, "the kernel and this libfuse do not agree on how to serve it");
    return 0;
}

/* Starts as many servers as can be started. The first has its memory for requests already. */
static int start_servers(struct tfs_fuse *fuse, struct tfs_error *err)
{
    int result = 0;

    fuse->main = pthread_self();
    for (; fuse->started < fuse->wanted && result == 0; fuse->started += result == 0) {
        struct server *server = &fuse->servers[fuse->started];
        server->fuse = fuse;
        result = pthread_create(&server->thread, NULL, serve, server);
    }
    if (fuse->started == 0)
        return tfs_fail(err, -result, "no thread can be started to serve it: %s (ulimit -v, -u)",
                        strerror(result));
    return 0;
}

/* The kernel looks up every name and listing again. False: it is older than Linux 6.16. Does not
 * wait. */
static bool begin_epoch(struct tfs_fuse *fuse)
{
    /* As FUSE_NOTIFY_INC_EPOCH, which this libfuse does not know. */
    const struct {
        uint32_t size;
        int32_t code;
        uint64_t request;
    } notification = {.size = sizeof(notification), .code = 8};

    return write(fuse_session_fd(fuse->se), &notification, sizeof(notification)) ==
           (ssize_t)sizeof(notification);
}

int tfs_fuse_mount(struct tfs_fuse *fuse, struct tfs_session *session, const char *mountpoint,
                   struct tfs_error *err)
{
    fuse->requests.session = session;
    if (fuse_session_mount(fuse->se, mountpoint) < 0)
        return tfs_fail(err, -EIO, "cannot be mounted");
    if (answer_init(fuse, err) < 0)
        return err->code;
    fuse->requests.names_last = begin_epoch(fuse);
    return start_servers(fuse, err);
}

/* Wakes servers that wait for a request, and keeps others from waiting. */
static void stop_servers(struct tfs_fuse *fuse)
{
    const int fd = fuse_session_fd(fuse->se);

    atomic_store(&ended, true);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    for (unsigned i = 0; i < fuse->started; i++)
        pthread_kill(fuse->servers[i].thread, WAKE);
    for (unsigned i = 0; i < fuse->started; i++)
        pthread_join(fuse->servers[i].thread, NULL);
}

int tfs_fuse_loop(struct tfs_fuse *fuse, int command)
{
    struct pollfd wait = {.fd = command, .events = POLLIN};
    char byte;

    while (!atomic_load(&ended)) {
        if (ppoll(&wait, 1, NULL, &fuse->others) <= 0)
            continue; /* a signal came */
        if (read(command, &byte, 1) != 1)
            break;
        wait.fd = -1;
    }
    stop_servers(fuse);
    return atomic_load(&fuse->result);
}

void tfs_fuse_close(struct tfs_fuse *fuse)
{
    fuse_session_unmount(fuse->se); /* harmless when it is not mounted any more */
    fuse_session_destroy(fuse->se);
    for (unsigned i = 0; i < fuse->wanted; i++)
        free(fuse->servers[i].buf.mem);
    pthread_mutex_destroy(&fuse->requests.giving);
    free(fuse);
}

/* ---- notifications --------------------------------------------------------------------------- */

void tfs_fuse_changed(void *arg)
{
    struct tfs_fuse *fuse = arg;

    if (fuse->requests.names_last)
        (void)begin_epoch(fuse);
}

void tfs_fuse_invalidate(void *arg, uint64_t id)
{
    struct tfs_fuse *fuse = arg;

    (void)fuse_lowlevel_notify_inval_inode(fuse->se, id, 0, 0);
}
