/*
 * Renames onto files of the schema. The text is checked before the reply; rejected, it changes
 * nothing. Run by the stores' threads, which take the session's lock for each step; how a text
 * becomes an edit is in op_edit.c.
 */
#include <errno.h>

#include "fs/session/ops.h"

static int apply_rename(struct tfs_job *job, bool last)
{
    struct tfs_rename_work *work = (struct tfs_rename_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_error err = {0};

    (void)last;
    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->to);
    work->before = tfs_doc_ref(tfs_store_shown(work->work.branch->store));
    pthread_mutex_unlock(&s->lock);
    const int result = tfs_ops_validate(&work->work, &work->to, tfs_blob_span(work->text), &err);
    if (result < 0)
        tfs_ops_log_node(s, &err, &work->to);
    return result;
}

/* Makes the drafts of who has it open for writing, and goes on as a writer of the file that it
 * became, from the bytes that it has; without memory none is there. */
static int make_drafts(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_inode *inode = work->work.inode;
    struct tfs_handle *h;

    if (tfs_ops_is_array(s, &work->to))
        return 0;
    for (h = inode->handles; h != NULL; h = h->next) {
        if (!h->writer)
            continue;
        h->draft = tfs_draft_create(tfs_buf_span(&inode->scratch->bytes));
        if (h->draft == NULL)
            break;
    }
    if (h == NULL)
        return 0;
    for (h = inode->handles; h != NULL; h = h->next) {
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

/* Who reads it reads these bytes on. */
static void go_on(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *inode = work->work.inode;
    struct tfs_doc *shown = tfs_store_shown(work->work.branch->store);
    const uint64_t stamp = tfs_views_stamp(&s->views, tfs_node_id(&work->to));

    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next) {
        if (!h->writer)
            h->blob = tfs_blob_ref(work->text);
        if (h->draft == NULL)
            continue;
        tfs_draft_stands_on(h->draft, shown, &work->to, stamp);
        begin_draft(s, h->draft, tfs_blob_span(work->text));
    }
}

/* The scratch file is the file of the tree; the times that it had (rsync sets them before it
 * renames) go with it. */
static void move_scratch(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *inode = work->work.inode;
    const struct tfs_scratch *scratch = inode->scratch;

    if (scratch->link != NULL)
        tfs_link_remove(&s->overlay, scratch->link);
    (void)tfs_views_set_times(&s->views, tfs_node_id(&work->to), &scratch->atime, &scratch->mtime);
    go_on(s, work);
    tfs_inode_attach(&s->inodes, inode, &work->to);
}

static void move_name(struct tfs_session *s, const struct tfs_rename_work *work)
{
    tfs_ops_leave(s, &work->to, work->before);
    tfs_views_restamp(&s->views, tfs_node_id(&work->to));
    move_scratch(s, work);
    tfs_names_show(&s->names, &work->to);
}

/* The program may take its temp file away now (sed -i, rsync and patch do): what could not be
 * stored is put aside, as after a close. */
static void keep_text(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_job *job = &work->work.job;

    if (job->result < 0 && (!job->edited || job->undone))
        tfs_ops_put_aside(s, &work->to, tfs_blob_span(work->text));
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
        job->result = make_drafts(s, work);
    if (job->result == 0) {
        move_name(s, work);
        if (job->edited)
            tfs_ops_drop_rejected(s, &work->to);
    }
    pthread_mutex_unlock(&s->lock);
}

const struct tfs_job_kind tfs_rename_onto = {apply_rename, settle_rename};
