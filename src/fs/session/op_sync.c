/*
 * Barriers, and opens that wait for a changed save to be looked at.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fs/session/ops.h"

/* ---- directories ----------------------------------------------------------------------------- */

/* A barrier on all stores: the last one answers. */
struct sync_all {
    struct tfs_reply reply;
    atomic_uint left;
    atomic_int result;
};

struct sync_work {
    struct tfs_work work;
    struct tfs_node node;
};

static int apply_sync(struct tfs_job *job, bool last)
{
    struct sync_work *work = (struct sync_work *)job;

    (void)last;
    return tfs_rest_store(&work->work, &work->node);
}

static const struct tfs_job_kind sync_kind = {apply_sync, NULL};

/* A barrier on what this node of the branch is, or has in it. */
static int submit_sync(struct tfs_branch *branch, struct tfs_node node, struct tfs_reply reply)
{
    struct sync_work *work = tfs_work_create(sizeof(*work), &sync_kind, branch, NULL, reply);

    if (work == NULL)
        return -ENOMEM;
    work->work.job.barrier = true;
    work->node = node;
    tfs_work_submit(&work->work);
    return 0;
}

static void one_done(void *arg, int result, const struct tfs_attr *attr)
{
    struct sync_all *all = arg;

    (void)attr;
    if (result < 0)
        atomic_store(&all->result, result);
    if (atomic_fetch_sub(&all->left, 1) > 1)
        return;
    tfs_reply_now(all->reply, atomic_load(&all->result));
    free(all);
}

static int submit_all(struct tfs_session *s, struct tfs_reply reply)
{
    struct sync_all *all = malloc(sizeof(*all));

    if (all == NULL)
        return -ENOMEM;
    all->reply = reply;
    atomic_init(&all->left, (unsigned)s->branch_count);
    atomic_init(&all->result, 0);
    for (size_t i = 0; i < s->branch_count; i++) {
        struct tfs_reply one = {one_done, all};
        if (submit_sync(&s->branches[i], TFS_NODE_ROOT, one) < 0)
            one_done(all, -ENOMEM, NULL);
    }
    return 0;
}

/* The store of a file or directory; NULL: it lies above the stores, or is no more. *node: what it
 * is of the tree; the root where it is nothing of it. */
static struct tfs_branch *branch_of(struct tfs_session *s, uint64_t id, struct tfs_node *node)
{
    const int result = tfs_ops_node(s, id, node);

    if (result == 0)
        return tfs_ops_branch(s, node);
    *node = TFS_NODE_ROOT;
    return result == -ENOENT ? tfs_ops_branch_of(s, tfs_inode_find(&s->inodes, id)) : NULL;
}

void tfs_session_fsync_directory(struct tfs_session *s, uint64_t id, struct tfs_reply reply)
{
    struct tfs_node node;

    pthread_mutex_lock(&s->lock);
    struct tfs_branch *branch = branch_of(s, id, &node);
    int result = branch != NULL ? submit_sync(branch, node, reply) : submit_all(s, reply);
    pthread_mutex_unlock(&s->lock);
    if (result < 0)
        tfs_reply_now(reply, result);
}

/* ---- files ----------------------------------------------------------------------------------- */

void tfs_session_fsync(struct tfs_session *s, struct tfs_handle *handle, struct tfs_reply reply)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_commit_work *work = tfs_commit_create(s, handle, reply);
    if (work != NULL) {
        work->work.job.barrier = true;
        tfs_work_submit(&work->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (work == NULL)
        tfs_reply_now(reply, -ENOMEM);
}

/* ---- saves that other programs changed ------------------------------------------------------- */

bool tfs_session_current(struct tfs_session *s, uint64_t id)
{
    struct tfs_node node;

    pthread_mutex_lock(&s->lock);
    const struct tfs_branch *branch = branch_of(s, id, &node);
    pthread_mutex_unlock(&s->lock);
    return branch == NULL ||
           tfs_store_current(branch->store, node.scope == TFS_SCOPE_CHUNK ? &node.key : NULL);
}

int tfs_session_look(struct tfs_session *s, uint64_t id)
{
    struct tfs_node node;

    pthread_mutex_lock(&s->lock);
    struct tfs_branch *branch = branch_of(s, id, &node);
    pthread_mutex_unlock(&s->lock);
    return tfs_ops_look(branch != NULL ? branch : &s->branches[0]);
}
