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
    int ended; /* what became of the removals that it asked for, which are done before it */
};

static int apply_sync(struct tfs_job *job, bool last)
{
    (void)last;
    return ((const struct sync_work *)job)->ended;
}

static const struct tfs_job_kind sync_kind = {apply_sync, NULL};

/* A barrier on a file of a chunk covers the removals in that chunk; one on a root file, all. Files
 * that are not optional are left alone: they would only show again. */
static bool is_covered(struct tfs_session *s, const struct tfs_node *file,
                       const struct tfs_whiteout *whiteout)
{
    const struct tfs_node *removed = &whiteout->node;

    if (!whiteout->unlinked || removed->file < 0 || removed->store != file->store)
        return false;
    const struct tfs_branch *branch = tfs_ops_branch(s, removed);
    return (tfs_node_file(branch->save, removed)->flags & TFS_FILE_OPTIONAL) != 0 &&
           (file->scope == TFS_SCOPE_ROOT ||
            (removed->scope == TFS_SCOPE_CHUNK && file->slot == removed->slot));
}

/* Ends the whiteouts of the directory, due or not; those of the whole save where it is the root of
 * that, or above it. */
static void end_whiteouts(struct tfs_session *s, const struct tfs_node *root, uint64_t dir,
                          bool above, struct sync_work *work)
{
    const bool all = above || tfs_node_id(root) == dir;
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&s->overlay.whiteouts, &at, &cell);) {
        const struct tfs_whiteout *whiteout = cell.value;
        struct tfs_node parent = tfs_ops_parent(s, &whiteout->node);
        const bool within = tfs_node_id(&parent) == dir;
        if ((within || (all && is_covered(s, root, whiteout))) &&
            tfs_ops_end_whiteout(s, &whiteout->node, &work->ended, !within) < 0)
            work->ended = -ENOMEM;
    }
}

/* `above`: the directory lies above the branch. */
static int submit_sync(struct tfs_session *s, struct tfs_branch *branch, uint64_t dir, bool above,
                       struct tfs_reply reply)
{
    struct tfs_node root = TFS_NODE_ROOT;
    struct sync_work *work = tfs_work_create(sizeof(*work), &sync_kind, branch, NULL, reply);

    if (work == NULL)
        return -ENOMEM;
    work->work.job.barrier = true;
    root.store = branch->number;
    end_whiteouts(s, &root, dir, above, work);
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

static int submit_all(struct tfs_session *s, uint64_t dir, struct tfs_reply reply)
{
    struct sync_all *all = malloc(sizeof(*all));

    if (all == NULL)
        return -ENOMEM;
    all->reply = reply;
    atomic_init(&all->left, (unsigned)s->branch_count);
    atomic_init(&all->result, 0);
    for (size_t i = 0; i < s->branch_count; i++) {
        struct tfs_reply one = {one_done, all};
        if (submit_sync(s, &s->branches[i], dir, true, one) < 0)
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
    struct tfs_branch *branch = s->branch_count == 1 ? &s->branches[0] : branch_of(s, id, &node);
    int result =
        branch != NULL ? submit_sync(s, branch, id, false, reply) : submit_all(s, id, reply);
    pthread_mutex_unlock(&s->lock);
    if (result < 0)
        tfs_reply_now(reply, result);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void end_covered(struct tfs_session *s, const struct tfs_node *file,
                        struct tfs_flush_work *work)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&s->overlay.whiteouts, &at, &cell);) {
        const struct tfs_whiteout *whiteout = cell.value;
        if (is_covered(s, file, whiteout) &&
            tfs_ops_end_whiteout(s, &whiteout->node, &work->ended, true) < 0)
            work->ended = -ENOMEM;
    }
}

void tfs_session_fsync(struct tfs_session *s, struct tfs_handle *handle, struct tfs_reply reply)
{
    struct tfs_inode *inode = handle->inode;

    pthread_mutex_lock(&s->lock);
    struct tfs_branch *branch = tfs_ops_branch_of(s, inode);
    const int result = handle->refused ? -ESTALE : -ENOMEM; /* where no job answers */
    struct tfs_flush_work *work =
        handle->refused ? NULL
                        : tfs_work_create(sizeof(*work), &tfs_flush,
                                          branch != NULL ? branch : &s->branches[0], inode, reply);
    if (work != NULL) {
        work->work.job.barrier = true;
        if (inode->scratch == NULL)
            end_covered(s, &inode->node, work);
        tfs_work_submit(&work->work);
    }
    pthread_mutex_unlock(&s->lock);
    if (work == NULL)
        tfs_reply_now(reply, result);
}

/* ---- saves that other programs changed ------------------------------------------------------- */

struct check_work {
    struct tfs_work work;
    void (*run)(void *arg);
    void *arg;
};

static const struct tfs_job_kind check_kind = {NULL, NULL};

static void release_check(struct tfs_work *work)
{
    struct check_work *check = (struct check_work *)work;

    check->run(check->arg);
}

bool tfs_session_current(struct tfs_session *s, uint64_t id)
{
    struct tfs_node node;

    pthread_mutex_lock(&s->lock);
    const struct tfs_branch *branch = branch_of(s, id, &node);
    pthread_mutex_unlock(&s->lock);
    return branch == NULL ||
           tfs_store_current(branch->store, node.scope == TFS_SCOPE_CHUNK ? &node.key : NULL);
}

int tfs_session_after_check(struct tfs_session *s, uint64_t id, void (*run)(void *arg), void *arg)
{
    struct tfs_node node;

    pthread_mutex_lock(&s->lock);
    struct tfs_branch *branch = branch_of(s, id, &node);
    pthread_mutex_unlock(&s->lock);
    struct check_work *work =
        tfs_work_create(sizeof(*work), &check_kind, branch != NULL ? branch : &s->branches[0], NULL,
                        (struct tfs_reply){0});

    if (work == NULL)
        return -ENOMEM;
    work->run = run;
    work->arg = arg;
    work->work.release = release_check;
    tfs_work_submit(&work->work);
    return 0;
}
