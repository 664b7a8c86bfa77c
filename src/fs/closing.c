/*
 * What is judged when a document is closed, synced, cut or renamed onto a file of the schema, and
 * what becomes of its bytes then. Run by the worker only; how a text becomes an edit is in edits.c.
 */
#include <errno.h>

#include "fs/state.h"

/* ---- closing files --------------------------------------------------------------------------- */

/* A copy of the bytes to judge; they count as judged from here on. `last`: a RELEASE asks, which is
 * processed when close(2) has long returned. A writer who opened the file since has begun a
 * document that only its own close may end: half of it could be accepted, and would be in the save.
 */
static struct tfs_blob *bytes_to_judge(struct tfs_session *s, struct tfs_job *job, bool last,
                                       struct tfs_node *node, struct tfs_error *err)
{
    struct tfs_blob *blob = NULL;
    struct tfs_inode *inode = job->inode;
    pthread_mutex_lock(&s->lock);
    if (tfs_job_waits_locked(s, job))
        err->code = TFS_JOB_WAITS;
    else if (inode->outdated)
        tfs_fail(err, -ESTALE, "the save was changed by another program, which was given way");
    else if (inode->kind == TFS_INODE_VIRTUAL && inode->pending && inode->dirty &&
             !(last && inode->writers > 0) &&
             tfs_blob_copy(tfs_buf_span(&inode->bytes), &blob, err) == 0) {
        inode->dirty = false;
        inode->judging = true;
        *node = inode->node;
    }
    pthread_mutex_unlock(&s->lock);
    return blob;
}

static void log_refusal(struct tfs_session *s, const struct tfs_inode *inode,
                        const struct tfs_error *err)
{
    struct tfs_buf path = {0};
    pthread_mutex_lock(&s->lock);
    tfs_path_locked(s, inode->id, &path);
    pthread_mutex_unlock(&s->lock);
    tfs_buf_u8(&path, 0);
    tfs_log_error(s, err, path.failed ? NULL : (const char *)path.data);
    tfs_buf_release(&path);
}

/* Kept when the refusal is told, not only when the last handle is gone: the kernel sends that news
 * after close(2) has returned, and who reads the error looks for the bytes at once. */
static int keep_judged_locked(struct tfs_session *s, struct tfs_inode *inode, bool refused)
{
    struct tfs_buf path = {0};
    if (!refused && !inode->kept)
        return 0;
    tfs_path_locked(s, inode->id, &path);
    tfs_buf_u8(&path, 0);
    int result = path.failed ? -ENOMEM : 0;
    if (result == 0 && refused)
        result = tfs_keep_rejected_locked(s, (const char *)path.data, tfs_buf_span(&inode->bytes));
    else if (result == 0)
        tfs_keep_accepted_locked(s, (const char *)path.data);
    inode->kept = refused && result == 0;
    tfs_buf_release(&path);
    return refused ? result : 0;
}

static int judge_inode(struct tfs_session *s, struct tfs_job *job, bool last, struct tfs_error *err)
{
    struct tfs_node node;
    struct tfs_inode *inode = job->inode;
    struct tfs_blob *blob = bytes_to_judge(s, job, last, &node, err);
    if (blob == NULL)
        return err->code;
    int result = tfs_judge(s, &node, tfs_blob_span(blob), job, err);
    pthread_mutex_lock(&s->lock);
    /* A shell's `> file` closes a copy of the descriptor before it writes: nothing to tell yet. */
    bool quiet = inode->complained || (!last && !inode->written && inode->bytes.size == 0);
    inode->judging = false;
    if (result < 0)
        inode->dirty = inode->pending;
    else
        inode->closing = !last && !inode->dirty;
    inode->complained = result < 0 && (inode->complained || !quiet);
    /* Want of memory is no refusal: the bytes wait for the next judgement. */
    if (!last && result != -ENOMEM && (result >= 0 || !quiet))
        (void)keep_judged_locked(s, inode, result < 0);
    pthread_mutex_unlock(&s->lock);
    if (result < 0 && !quiet)
        log_refusal(s, inode, err);
    tfs_blob_unref(blob);
    return result;
}

int tfs_apply_flush(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_error err = {0};
    return judge_inode(s, job, false, &err);
}

/* Without memory to judge the bytes, or to keep them aside, they stay and the file shows them: the
 * worker tries again. */
static void end_pending_locked(struct tfs_session *s, struct tfs_inode *inode, int result)
{
    if (result == -ENOMEM || keep_judged_locked(s, inode, result < 0) < 0) {
        inode->dirty = inode->dirty || result < 0;
        s->again = true;
        return;
    }
    if (result < 0)
        tfs_bump_locked(s, &inode->node);
    else
        tfs_bump_stamp_locked(s, &inode->node);
    tfs_inode_forget_bytes_locked(s, inode);
    pthread_cond_broadcast(&s->closed);
    /* A name that was created with a refused text is gone again. */
    struct tfs_node dir = tfs_tree_parent(s->save, &inode->node);
    tfs_stale_id(s, tfs_node_known_id_locked(s, &dir));
}

/* The last writer is gone: accepted bytes give way to the canonical text, refused ones are kept
 * aside. */
int tfs_apply_release(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_error err = {0};
    struct tfs_inode *inode = job->inode;
    int result = judge_inode(s, job, true, &err);
    pthread_mutex_lock(&s->lock);
    if (inode->kind == TFS_INODE_VIRTUAL) {
        tfs_stale_id(s, inode->id);
        if (inode->pending && inode->writers == 0)
            end_pending_locked(s, inode, result);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* truncate(2) by name: judged at once; refused, it changes nothing. */
int tfs_apply_truncate(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    struct tfs_blob *content = NULL;
    struct tfs_inode *inode = job->inode;
    pthread_mutex_lock(&s->lock);
    struct tfs_node node = inode->node;
    int result = 0;
    if (inode->pending)
        tfs_buf_add_span(&text, tfs_buf_span(&inode->bytes));
    else
        result = tfs_content_locked(s, &node, &content, &err);
    pthread_mutex_unlock(&s->lock);
    tfs_buf_add_span(&text, tfs_blob_span(content));
    if (result == 0 && job->size > text.size + TFS_PENDING_MAX)
        result = -EFBIG;
    if (result == 0) {
        tfs_buf_resize(&text, (size_t)job->size);
        result = tfs_buf_check(&text, &err);
    }
    if (result == 0 && (result = tfs_judge(s, &node, tfs_buf_span(&text), job, &err)) < 0)
        log_refusal(s, inode, &err);
    pthread_mutex_lock(&s->lock);
    if (result == 0 && inode->pending)
        result = tfs_inode_resize_locked(s, inode, job->size);
    if (result == 0) {
        tfs_stale_id(s, inode->id);
        tfs_bump_locked(s, &node);
    }
    pthread_mutex_unlock(&s->lock);
    tfs_blob_unref(content);
    tfs_buf_release(&text);
    return result;
}

void tfs_settle_truncate(struct tfs_session *s, struct tfs_job *job)
{
    if (job->result == 0) {
        job->result = tfs_attr_inode_locked(s, job->inode, &job->attr);
        job->has_attr = true;
    }
}

/* ---- renaming onto a file of the schema ------------------------------------------------------ */

/* From before the new text is accepted until its file has the name, the old file shows what it
 * showed: to who has it open, and to who opens it meanwhile. */
static int pin(struct tfs_session *s, const struct tfs_node *node, const struct tfs_inode *inode,
               struct tfs_error *err)
{
    struct tfs_blob *shown = NULL;
    int exists = tfs_node_exists(s->save, s->doc, node);
    if (exists < 0)
        return tfs_fail(err, exists, "its chunk cannot be looked into now");
    if (exists == 0)
        return 0;
    struct tfs_inode *old = tfs_inode_of_node_locked(s, node);
    if (old == NULL)
        return tfs_fail_memory(err);
    if (old == inode || old->pending)
        return 0;
    old->jobs++; /* rendering lets go of the lock */
    int result = tfs_content_locked(s, node, &shown, err);
    if (result == 0 && old->kind == TFS_INODE_VIRTUAL && !old->pending) {
        tfs_buf_add_span(&old->bytes, tfs_blob_span(shown));
        result = tfs_buf_check(&old->bytes, err);
        old->pending = old->pinned = result == 0;
        if (result < 0)
            tfs_buf_release(&old->bytes);
    }
    old->jobs--;
    tfs_blob_unref(shown);
    return result;
}

/* The rename was refused: the old file shows what is accepted, unless somebody wrote to it. */
static void unpin(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_inode *old = tfs_map_find(&s->virtuals, tfs_node_id(node));
    if (old == NULL || !old->pinned)
        return;
    old->pinned = false;
    if (!old->dirty && old->writers == 0)
        tfs_inode_forget_bytes_locked(s, old);
    tfs_inode_drop_locked(s, old);
}

/* The program may take its temp file away now (sed -i, rsync and patch do): what was refused is
 * kept, as after a close. */
static void refuse_rename(struct tfs_session *s, struct tfs_job *job, struct tfs_error *err)
{
    struct tfs_buf path = {0};
    tfs_tree_path(s->save, s->doc, &job->node, &path);
    tfs_buf_u8(&path, 0);
    if (!path.failed && err->code != -ENOMEM) {
        pthread_mutex_lock(&s->lock);
        (void)tfs_keep_rejected_locked(s, (const char *)path.data, tfs_blob_span(job->text));
        pthread_mutex_unlock(&s->lock);
    }
    tfs_buf_release(&path);
    tfs_log_refusal(s, &job->node, err);
}

int tfs_apply_rename(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_error err = {0};
    struct tfs_inode *inode = job->inode;
    int result = 0;
    pthread_mutex_lock(&s->lock);
    if (inode->kind == TFS_INODE_VIRTUAL && !inode->pending)
        result = tfs_content_locked(s, &inode->node, &job->text, &err);
    else
        result = tfs_blob_copy(tfs_buf_span(&inode->bytes), &job->text, &err);
    if (result == 0)
        result = pin(s, &job->node, inode, &err);
    pthread_mutex_unlock(&s->lock);
    if (result == 0) {
        result = tfs_judge(s, &job->node, tfs_blob_span(job->text), job, &err);
        if (result < 0)
            refuse_rename(s, job, &err);
    }
    return result;
}

/* The times that the scratch file had (rsync sets them before it renames) go with it. */
static void keep_times(struct tfs_session *s, const struct tfs_node *node,
                       const struct tfs_inode *inode)
{
    struct tfs_change *change = tfs_change_locked(s, tfs_node_id(node));
    if (change == NULL || inode->kind != TFS_INODE_FILE)
        return;
    change->atime = inode->atime;
    change->mtime = inode->mtime;
    change->ctime = tfs_now_locked(s);
    change->stamp = ++s->stamp;
}

/* What the names need memory for, before any of them changes. */
static int prepare_names(struct tfs_session *s, const struct tfs_job *job)
{
    const struct tfs_inode *inode = job->inode;
    int result = tfs_map_reserve(&s->virtuals);
    if (result == 0 && inode->kind == TFS_INODE_VIRTUAL)
        result = tfs_tombstone_add_locked(s, &inode->node);
    if (result == 0 && inode->kind == TFS_INODE_VIRTUAL)
        tfs_tombstone_locked(s, &inode->node)->unlinked = true;
    return result;
}

static void leave_old_name(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_inode *inode = job->inode;
    if (inode->kind == TFS_INODE_VIRTUAL)
        return; /* it has its tombstone */
    if (inode->link != NULL)
        tfs_link_remove_locked(s, inode->link);
}

/* Who has the file open whose name is taken goes on with what it showed, as does who has looked it
 * up and is about to open it. */
static void leave_to_readers(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_inode *old = tfs_map_find(&s->virtuals, tfs_node_id(&job->node));
    if (old == NULL || old == job->inode || (old->handles == 0 && old->lookups == 0))
        return;
    old->uncapped = old->displaced = true;
    (void)tfs_inode_detach_locked(s, old, (struct tfs_span){0});
    tfs_inode_drop_locked(s, old);
}

void tfs_settle_rename(struct tfs_session *s, struct tfs_job *job)
{
    /* The text is accepted; renamed once more, it finds itself there. */
    if (job->result == 0)
        job->result = prepare_names(s, job);
    if (job->result < 0) {
        unpin(s, &job->node);
        return;
    }
    struct tfs_inode *inode = job->inode;
    leave_to_readers(s, job);
    leave_old_name(s, job);
    keep_times(s, &job->node, inode);
    /* A file of the schema that was not pending has no bytes to go on with. */
    bool open = inode->writers > 0 && (inode->kind == TFS_INODE_FILE || inode->pending);
    if (tfs_inode_attach_locked(s, inode, &job->node) < 0)
        return;
    if (open)
        inode->pending = true;
    else
        tfs_inode_forget_bytes_locked(s, inode);
    /* It may have been written to since it was judged. */
    inode->dirty = open && !tfs_span_equal(tfs_buf_span(&inode->bytes), tfs_blob_span(job->text));
    tfs_reveal_locked(s, &job->node);
    tfs_bump_stamp_locked(s, &job->node);
    tfs_stale_id(s, inode->id);
}
