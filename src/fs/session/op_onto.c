/*
 * Renames onto files of the schema. The text is checked before the reply; rejected, it changes
 * nothing. Run by the stores' threads, which take the session's lock for each step; how a text
 * becomes an edit is in op_edit.c.
 */
#include <errno.h>

#include "fs/session/ops.h"

/* From before the new text is accepted until its file has the name, the old file shows what it
 * showed: to programs that have it open, and to those that open it meanwhile. */
static int keep_shown(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_branch *branch = work->work.branch;
    struct tfs_doc *shown = tfs_store_shown(branch->store);
    const int exists = tfs_node_exists(branch->save, shown, &work->to);
    struct tfs_inode *old = tfs_inode_of(&s->inodes, &work->to);

    if (exists < 0 || (exists == 0 && old == NULL))
        return exists;
    if (old == NULL)
        old = tfs_inode_make(&s->inodes, &work->to);
    if (old == NULL)
        return -ENOMEM;
    if (old != work->work.inode && old->past == NULL) {
        old->node = work->to;
        old->past = tfs_doc_ref(shown);
    }
    return 0;
}

/* The text was rejected: the old file shows what is accepted. */
static void show_accepted(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *old = tfs_inode_of(&s->inodes, &work->to);

    if (old == NULL || old == work->work.inode)
        return;
    if (old->past != NULL)
        tfs_views_restamp(&s->views, tfs_node_id(&work->to));
    tfs_doc_unref(old->past);
    old->past = NULL;
    tfs_notify_stale(s->notify, old->id);
    tfs_inode_drop(&s->inodes, old);
}

static int apply_rename(struct tfs_job *job, bool last)
{
    struct tfs_rename_work *work = (struct tfs_rename_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_content c = {.inode = work->work.inode, .size = TFS_CONTENT_ALL};
    struct tfs_error err = {0};

    (void)last;
    int result = tfs_ops_run_as_read(s, tfs_ops_content, &c);
    work->text = c.blob;
    if (c.why.code < 0)
        tfs_ops_log_inode(s, &c.why, c.inode);
    if (result < 0)
        return result;
    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->to);
    result = keep_shown(s, work);
    pthread_mutex_unlock(&s->lock);
    if (result < 0)
        return result;
    result = tfs_ops_validate(&work->work, &work->to, tfs_blob_span(work->text), &err);
    if (result < 0)
        tfs_ops_log_node(s, &err, &work->to);
    return result;
}

/* Who has it open for writing goes on as a writer of the file that it became; not who opened it as
 * a file of the tree before its name went. */
static bool goes_on(const struct tfs_handle *handle)
{
    return handle->writer && !handle->gone;
}

/* Makes the drafts of who goes on, from the bytes that it has; without memory none is there. */
static int make_drafts(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_inode *inode = work->work.inode;
    struct tfs_handle *h;

    if (inode->scratch == NULL || tfs_ops_is_array(s, &work->to))
        return 0;
    for (h = inode->handles; h != NULL; h = h->next) {
        if (!goes_on(h))
            continue;
        h->draft = tfs_draft_create(tfs_buf_span(&inode->scratch->bytes));
        if (h->draft == NULL)
            break;
    }
    if (h == NULL)
        return 0;
    for (h = inode->handles; h != NULL; h = h->next) {
        if (!goes_on(h))
            continue;
        tfs_draft_free(h->draft);
        h->draft = NULL;
    }
    return -ENOMEM;
}

/* It may have been written to since the text was checked: what is behind that was appended. */
static void begin_draft(struct tfs_session *s, struct tfs_draft *draft, struct tfs_span checked)
{
    const struct tfs_span now = tfs_buf_span(&draft->bytes);
    const struct tfs_span begin = {now.data, now.size < checked.size ? now.size : checked.size};

    draft->accepted = tfs_span_equal(begin, checked) ? checked.size : TFS_NOT_APPENDED;
    if (!tfs_span_equal(now, checked))
        tfs_draft_wrote(draft, TFS_OWNER_ANY, tfs_views_now(&s->views));
}

static void begin_drafts(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *inode = work->work.inode;
    struct tfs_doc *shown = tfs_store_shown(work->work.branch->store);
    const uint64_t stamp = tfs_views_stamp(&s->views, tfs_node_id(&work->to));

    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next) {
        if (!goes_on(h) || h->draft == NULL)
            continue;
        tfs_draft_stands_on(h->draft, shown, &work->to, stamp);
        begin_draft(s, h->draft, tfs_blob_span(work->text));
    }
}

/* Whoever wrote a file of the schema that takes another name wrote it for the one that it was. */
static int prepare_names(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *inode = work->work.inode;
    /* What was written to an array since it was checked is for the file that it was. */
    int result = inode->array != NULL && inode->array->dirty ? -EBUSY : 0;

    if (result == 0)
        result = tfs_inode_reserve(&s->inodes);
    if (result == 0)
        result = make_drafts(s, work);
    if (result == 0 && inode->scratch == NULL) {
        /* Its content is in the other file now. */
        result = tfs_names_hide(&s->names, &inode->node, TFS_HIDING_UNLINKED);
    }
    return result;
}

/* The times that the scratch file had (rsync sets them before it renames) go with it. */
static void move_times(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_scratch *scratch = work->work.inode->scratch;

    if (scratch != NULL)
        (void)tfs_views_set_times(&s->views, tfs_node_id(&work->to), &scratch->atime,
                                  &scratch->mtime);
}

static void move_name(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *inode = work->work.inode, *old = tfs_inode_of(&s->inodes, &work->to);

    if (old != NULL && old != inode) {
        tfs_ops_leave(s, old);
        tfs_inode_drop(&s->inodes, old);
    }
    if (inode->scratch == NULL)
        tfs_inode_part_handles(inode); /* it is hidden */
    else if (inode->scratch->link != NULL)
        tfs_link_remove(&s->overlay, inode->scratch->link);
    move_times(s, work);
    tfs_inode_end_array(inode);
    tfs_views_restamp(&s->views, tfs_node_id(&work->to));
    if (inode->scratch != NULL)
        begin_drafts(s, work);
    tfs_inode_attach(&s->inodes, inode, &work->to);
    tfs_names_show(&s->names, &work->to);
    tfs_notify_stale(s->notify, inode->id);
}

/* The program may take its temp file away now (sed -i, rsync and patch do): what could not be
 * stored is put aside, as after a close. */
static void keep_text(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_job *job = &work->work.job;

    if (job->result < 0 && job->result != -ENOMEM && (!job->edited || job->undone))
        (void)tfs_ops_put_aside(s, &work->to, tfs_blob_span(work->text));
}

static void settle_rename(struct tfs_job *job)
{
    struct tfs_rename_work *work = (struct tfs_rename_work *)job;
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->to);
    keep_text(s, work);
    /* The text is accepted; renamed once more, it finds itself there. */
    if (job->result == 0)
        job->result = prepare_names(s, work);
    if (job->result == 0) {
        move_name(s, work);
        if (job->edited)
            tfs_ops_drop_rejected(s, &work->to);
    } else {
        show_accepted(s, work);
    }
    pthread_mutex_unlock(&s->lock);
}

const struct tfs_job_kind tfs_rename_onto = {apply_rename, settle_rename};
