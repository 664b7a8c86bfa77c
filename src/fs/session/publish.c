/*
 * What stores ask and tell: publishing, what is being written, what is due, and the answers to
 * jobs. Called by the stores' threads; takes the session's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fs/tree/changes.h"
#include "fs/session/ops.h"

/* ---- what the kernel has of directories ------------------------------------------------------ */

/* Without the lock: the kernel waits for nothing of ours, but takes its time. */
static void tell_stale(struct tfs_branch *branch)
{
    struct tfs_session *s = branch->session;
    struct tfs_map_cell cell;

    pthread_mutex_lock(&s->lock);
    tfs_ops_end_quiet(s);
    struct tfs_map stale = branch->stale;
    branch->stale = (struct tfs_map){0};
    pthread_mutex_unlock(&s->lock);
    for (size_t at = 0; tfs_map_next(&stale, &at, &cell);)
        s->events.invalidate(s->events.caches, cell.key);
    tfs_map_release(&stale);
}

/* ---- another document is shown --------------------------------------------------------------- */

struct publishing {
    struct tfs_branch *branch;
    uint64_t self; /* its times are those of its draft */
    bool all;      /* everything counts as changed already */
};

static void file_changed(const struct publishing *p, const struct tfs_node *node,
                         const struct tfs_file *file)
{
    struct tfs_session *s = p->branch->session;
    const uint64_t id = tfs_node_id(node);

    if (id == p->self)
        tfs_views_restamp(&s->views, id);
    else if (!p->all)
        tfs_views_bump(&s->views, id);
    if (tfs_comes_and_goes(file)) {
        struct tfs_node dir = tfs_ops_parent(s, node);
        tfs_ops_stale(s, &dir);
    }
}

static void node_changed(void *arg, const struct tfs_node *changed, const struct tfs_file *file,
                         enum tfs_changed how)
{
    const struct publishing *p = arg;
    struct tfs_node node = *changed;

    node.store = p->branch->number;
    if (how == TFS_CHANGED_FILE) {
        file_changed(p, &node, file);
        return;
    }
    /* The directory that lists chunks of this group reads differently. */
    struct tfs_node dir = tfs_ops_parent(p->branch->session, &node);
    tfs_ops_stale(p->branch->session, &node);
    tfs_ops_bump_directory(p->branch->session, &dir);
    tfs_ops_stale(p->branch->session, &dir);
    /* With its first and its last chunk a group comes and goes. */
    for (; tfs_node_is_group(&dir); dir = tfs_ops_parent(p->branch->session, &dir))
        tfs_ops_stale(p->branch->session, &dir);
}

static int count_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    size_t *count = arg;

    (void)before;
    (void)after;
    ++*count;
    return 0;
}

static bool bump_all(struct tfs_branch *branch, const struct tfs_publication *change)
{
    size_t chunks = 0;

    (void)tfs_doc_diff(change->before, change->after, count_chunk, &chunks);
    return tfs_views_bump_all(&branch->session->views, chunks * branch->save->tree->chunk.count);
}

/* Caches and names hear of it. */
static void announce(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct publishing p = {.branch = branch, .self = change->self, .all = bump_all(branch, change)};
    struct tfs_node root = TFS_NODE_ROOT;

    tfs_changes_each(branch->save, change->before, change->after, node_changed, &p);
    if (branch->save->tree->group_dir == NULL || change->before->version == change->after->version)
        return;
    root.store = branch->number;
    tfs_ops_stale(branch->session, &root);
}

static void on_publish(void *arg, struct tfs_store *store, const struct tfs_publication *change)
{
    struct tfs_branch *branch = arg;
    struct tfs_session *s = branch->session;
    bool kept = true;

    pthread_mutex_lock(&s->lock);
    while (kept && tfs_ops_past_loses(branch, change)) {
        pthread_mutex_unlock(&s->lock);
        kept = tfs_ops_keep_past(branch, change);
        pthread_mutex_lock(&s->lock);
    }
    tfs_store_show(store, change);
    if (!change->completed)
        announce(branch, change);
    tfs_ops_end_quiet(s);
    pthread_mutex_unlock(&s->lock);
}

/* A name that the kernel keeps would be found where it cannot be read. */
static void on_turned(void *arg, struct tfs_store *store)
{
    const struct tfs_branch *branch = arg;
    struct tfs_session *s = branch->session;
    struct tfs_node root = TFS_NODE_ROOT;

    (void)store;
    root.store = branch->number;
    pthread_mutex_lock(&s->lock);
    tfs_views_restamp(&s->views, tfs_node_id(&root));
    tfs_ops_end_quiet(s);
    pthread_mutex_unlock(&s->lock);
}

/* ---- what is due ----------------------------------------------------------------------------- */

static int64_t on_tick(void *arg, struct tfs_store *store, bool last)
{
    struct tfs_branch *branch = arg;
    struct tfs_session *s = branch->session;

    (void)store;
    pthread_mutex_lock(&s->lock);
    const int64_t now = tfs_now_ms();
    const int64_t next = tfs_sooner(tfs_rest_tick(branch, now, last), tfs_ops_begin_quiet(s, now));
    pthread_mutex_unlock(&s->lock);
    tell_stale(branch);
    return next;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void reply(struct tfs_work *work)
{
    const int result = work->job.result;

    if (work->reply.done != NULL)
        work->reply.done(work->reply.arg, result,
                         result == 0 && work->has_attr ? &work->attr : NULL);
    tfs_work_free(work);
}

/* Whoever hears of an edit finds it in every directory. */
static void on_answer(void *arg, struct tfs_store *store, struct tfs_job *jobs)
{
    struct tfs_branch *branch = arg;

    (void)store;
    for (struct tfs_job *job = jobs; job != NULL; job = job->next)
        if (job->undone)
            tfs_ops_undone((struct tfs_work *)job);
    tell_stale(branch);
    while (jobs != NULL) {
        struct tfs_job *next = jobs->next;
        reply((struct tfs_work *)jobs);
        jobs = next;
    }
}

/* ---- people ---------------------------------------------------------------------------------- */

static void on_log(void *arg, struct tfs_store *store, const struct tfs_error *err)
{
    const struct tfs_branch *branch = arg;

    (void)store;
    tfs_ops_log_branch(branch, err);
}

static void on_message(void *arg, struct tfs_store *store, const char *text)
{
    const struct tfs_branch *branch = arg;

    (void)store;
    tfs_ops_message_of(branch, text);
}

const struct tfs_store_client tfs_ops_client = {
    .publish = on_publish,
    .turned = on_turned,
    .tick = on_tick,
    .answer = on_answer,
    .log = on_log,
    .message = on_message,
};
