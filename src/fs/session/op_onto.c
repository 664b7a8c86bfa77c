/*
 * Whole texts that a file of the schema gets by its name: truncate(2), and a rename onto it. Each
 * is checked before the reply; rejected, it changes nothing. Run by the stores' threads, which take
 * the session's lock for each step; how a text becomes an edit is in op_edit.c.
 */
#include <errno.h>

#include "fs/session/ops.h"

/* ---- truncate(2) by name --------------------------------------------------------------------- */

/* What a file shows: its draft, its scratch bytes, or its saved bytes. */
struct content {
    struct tfs_inode *inode;
    struct tfs_node node;
    struct tfs_blob *blob; /* NULL: no bytes */
    uint64_t size;         /* as many are wanted; ALL: as many as there are */
    struct tfs_error why;
};

#define ALL UINT64_MAX

/* A draft that is rejected whatever it says: part of it would be accepted under another name, or
 * cut. */
static int check_draft(struct content *c)
{
    const struct tfs_draft *draft = c->inode->draft;

    if (draft != NULL && c->size > 0 && draft->state == TFS_DRAFT_OUTDATED)
        return tfs_fail(&c->why, -ESTALE, "%s", tfs_ops_why_outdated(draft));
    if (draft != NULL && c->size > 0 && draft->state == TFS_DRAFT_POISONED)
        return tfs_fail(&c->why, -EBADMSG, "a write to this file was refused");
    return 0;
}

/* What is saved of the file. Of a large one no more than is kept; and nothing, where it would not
 * be taken. */
static int saved_content(struct tfs_session *s, struct content *c, struct tfs_need *need)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, &c->node);
    struct tfs_view view = {branch->save, tfs_store_shown(branch->store), c->node,
                            tfs_node_id(&c->node), 0};
    uint64_t size, stamp;

    if (!tfs_views_in_ranges(&s->views, &view) || tfs_views_size(&s->views, &view, &size) < 0)
        return tfs_ops_bytes(s, need, &c->node, &c->blob, &stamp);
    if (c->size == 0)
        return 0;
    if (c->size < size)
        size = c->size;
    else if (c->size != ALL && c->size - size > TFS_DRAFT_MAX)
        return -EFBIG;
    if (size > TFS_DRAFT_WHOLE_MAX)
        return tfs_fail(&c->why, -EFBIG,
                        "a file of more than %u MiB cannot be cut, and takes no other name",
                        (unsigned)(TFS_DRAFT_WHOLE_MAX >> 20));
    const int range = tfs_ops_range(s, need, &c->node, 0, size, &c->blob);
    return range == 0 ? -EIO : range == 1 ? 0 : range;
}

static int try_content(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct content *c = call;
    struct tfs_error err = {0};

    c->node = c->inode->node;
    tfs_ops_refresh(s, &c->node);
    int result = c->inode->array != NULL && c->inode->array->dirty ? -EBUSY : check_draft(c);
    if (result == 0)
        result = tfs_draft_unspill(c->inode->draft);
    if (result < 0)
        return result;
    if (c->inode->draft != NULL)
        return tfs_blob_copy(tfs_buf_span(&c->inode->draft->bytes), &c->blob, &err);
    if (c->inode->scratch != NULL)
        return tfs_blob_copy(tfs_buf_span(&c->inode->scratch->bytes), &c->blob, &err);
    return saved_content(s, c, need);
}

/* The first bytes of it, or it with zeros behind it, which are in `longer`. */
static int cut_text(const struct content *c, struct tfs_buf *longer, struct tfs_span *text)
{
    struct tfs_error err = {0};

    *text = tfs_blob_span(c->blob);
    if (c->size <= text->size) {
        text->size = (size_t)c->size;
        return 0;
    }
    if (c->size - text->size > TFS_DRAFT_MAX)
        return -EFBIG;
    tfs_buf_add_span(longer, *text);
    tfs_buf_resize(longer, (size_t)c->size);
    *text = tfs_buf_span(longer);
    return tfs_buf_check(longer, &err);
}

/* With nothing of it left it may be written again, but not by those who wrote that. */
static int cut_draft(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    struct tfs_draft *draft = inode->draft;

    if (size == 0)
        tfs_ops_leave_outdated(s, inode);
    if (size == 0 && !tfs_draft_may_be_accepted(draft) && tfs_draft_is_unchecked(draft))
        (void)tfs_draft_take(draft, TFS_DRAFT_EMPTY);
    return tfs_draft_resize(draft, size);
}

static int apply_truncate(struct tfs_job *job, bool last)
{
    struct tfs_truncate_work *work = (struct tfs_truncate_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_inode *inode = work->work.inode;
    struct content c = {.inode = inode, .size = work->size};
    struct tfs_buf longer = {0};
    struct tfs_span text;

    (void)last;
    int result = tfs_ops_run_as_read(s, try_content, &c);
    if (result == 0)
        result = cut_text(&c, &longer, &text);
    if (result == 0)
        result = tfs_ops_validate(&work->work, &c.node, text, &c.why);
    if (c.why.code < 0)
        tfs_ops_log_inode(s, &c.why, inode);
    pthread_mutex_lock(&s->lock);
    if (result == 0 && inode->draft != NULL)
        result = cut_draft(s, inode, work->size);
    if (result == 0) {
        tfs_notify_stale(s->notify, inode->id);
        tfs_views_bump(&s->views, tfs_node_id(&c.node));
        if (job->edited)
            tfs_ops_drop_rejected(s, inode);
    }
    pthread_mutex_unlock(&s->lock);
    tfs_blob_unref(c.blob);
    tfs_buf_release(&longer);
    return result;
}

static int try_attr(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct tfs_work *work = call;

    return tfs_ops_attr(s, need, work->inode, &work->attr);
}

static void settle_truncate(struct tfs_job *job)
{
    struct tfs_work *work = (struct tfs_work *)job;

    if (job->result < 0)
        return;
    job->result = tfs_ops_run_as_read(work->branch->session, try_attr, work);
    work->has_attr = true;
}

const struct tfs_job_kind tfs_truncate = {apply_truncate, settle_truncate};

/* ---- renaming onto a file of the schema ------------------------------------------------------ */

/* From before the new text is accepted until its file has the name, the old file shows what it
 * showed: to programs that have it open, and to those that open it meanwhile. It gets a draft,
 * which is CLEAN. */
static int try_keep_shown(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct tfs_rename_work *work = call;
    const struct tfs_branch *branch = work->work.branch;
    struct tfs_blob *shown = NULL;
    uint64_t stamp;
    int exists = tfs_node_exists(branch->save, tfs_store_shown(branch->store), &work->to);

    if (exists <= 0)
        return exists;
    struct tfs_inode *old = tfs_inode_of(&s->inodes, &work->to);
    if (tfs_ops_is_array(s, &work->to)) {
        if (old != NULL && old != work->work.inode && old->past == NULL)
            old->past = tfs_doc_ref(tfs_store_shown(branch->store));
        return 0;
    }
    if (old != NULL && (old == work->work.inode || old->draft != NULL))
        return 0;
    int result = tfs_ops_bytes(s, need, &work->to, &shown, &stamp);
    if (result < 0)
        return result;
    old = tfs_inode_make(&s->inodes, &work->to);
    if (old != NULL)
        old->draft = tfs_draft_create(tfs_blob_span(shown));
    tfs_blob_unref(shown);
    return old != NULL && old->draft != NULL ? 0 : -ENOMEM;
}

/* The text was rejected: the old file shows what is accepted, unless somebody wrote to it. */
static void show_accepted(struct tfs_session *s, const struct tfs_rename_work *work)
{
    struct tfs_inode *old = tfs_inode_of(&s->inodes, &work->to);

    if (old == NULL || old == work->work.inode)
        return;
    const bool was_past = old->past != NULL;
    tfs_doc_unref(old->past);
    old->past = NULL;
    tfs_ops_end_clean(s, old, was_past);
    tfs_inode_drop(&s->inodes, old);
}

/* The program may take its temp file away now (sed -i, rsync and patch do): what was rejected is
 * put aside, as after a close. */
static void reject_rename(struct tfs_rename_work *work, const struct tfs_error *err)
{
    struct tfs_session *s = work->work.branch->session;
    struct tfs_buf path = {0};

    pthread_mutex_lock(&s->lock);
    tfs_ops_node_path(s, &work->to, &path);
    tfs_buf_u8(&path, 0);
    if (!path.failed && err->code != -ENOMEM)
        (void)tfs_quarantine_put(&s->quarantine, (const char *)path.data,
                                 tfs_blob_span(work->text));
    pthread_mutex_unlock(&s->lock);
    tfs_buf_release(&path);
    tfs_ops_log_node(s, err, &work->to);
}

static int apply_rename(struct tfs_job *job, bool last)
{
    struct tfs_rename_work *work = (struct tfs_rename_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct content c = {.inode = work->work.inode, .size = ALL};
    struct tfs_error err = {0};

    (void)last;
    int result = tfs_ops_run_as_read(s, try_content, &c);
    work->text = c.blob;
    if (result == 0)
        result = tfs_ops_run_as_read(s, try_keep_shown, work);
    else if (c.why.code < 0)
        tfs_ops_log_inode(s, &c.why, c.inode);
    if (result == 0) {
        result = tfs_ops_validate(&work->work, &work->to, tfs_blob_span(work->text), &err);
        if (result < 0)
            reject_rename(work, &err);
    }
    return result;
}

/* What a rename needs memory for, before any name changes. */
struct moving {
    struct tfs_inode *old;      /* the file whose name is taken; NULL: there is none */
    struct tfs_scratch *orphan; /* what it becomes; NULL: it stays what it was (inode.h) */
    struct tfs_draft *draft; /* of the file that takes it; NULL: nobody has it open for writing */
};

static int prepare_names(struct tfs_session *s, const struct tfs_rename_work *work,
                         struct moving *m)
{
    struct tfs_inode *inode = work->work.inode;
    bool has_bytes = inode->scratch != NULL || inode->draft != NULL;
    /* What was written to an array since it was checked is for the file that it was. */
    int result = inode->array != NULL && inode->array->dirty ? -EBUSY : 0;

    if (result == 0)
        result = tfs_inode_reserve(&s->inodes);
    if (result == 0)
        result = tfs_draft_unspill(inode->draft);
    m->old = tfs_inode_of(&s->inodes, &work->to);
    if (m->old == inode)
        m->old = NULL;
    if (result == 0 && inode->writers > 0 && has_bytes && !tfs_ops_is_array(s, &work->to)) {
        m->draft = tfs_draft_create((struct tfs_span){0});
        result = m->draft != NULL ? 0 : -ENOMEM;
    }
    if (result == 0 && m->old != NULL && !tfs_ops_is_array(s, &work->to)) {
        /* A program that has it open, or has looked it up and is about to open it, goes on with
         * what it showed. */
        bool known = m->old->handles > 0 || m->old->lookups > 0;
        unsigned flags = TFS_SCRATCH_UNCAPPED | (known ? TFS_SCRATCH_REPLACED : 0);
        result = tfs_ops_prepare_orphan(s, m->old, flags, (struct tfs_span){0}, &m->orphan);
    }
    if (result == 0 && inode->scratch == NULL) {
        /* Its content is in the other file now. */
        result = tfs_names_hide(&s->names, &inode->node, TFS_HIDING_UNLINKED);
    }
    if (result < 0) {
        tfs_scratch_free(&s->overlay, m->orphan);
        tfs_draft_free(m->draft);
    }
    return result;
}

static void leave_old_name(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_inode *inode = work->work.inode;

    if (inode->scratch == NULL)
        return; /* it is hidden */
    if (inode->scratch->link != NULL)
        tfs_link_remove(&s->overlay, inode->scratch->link);
}

/* Its bytes go on as a draft. It may have been written to since it was checked. */
static void move_bytes(struct tfs_session *s, const struct tfs_rename_work *work,
                       struct tfs_draft *draft)
{
    struct tfs_inode *inode = work->work.inode;

    tfs_buf_release(&draft->bytes);
    if (inode->scratch != NULL) {
        draft->bytes = tfs_scratch_take(&s->overlay, inode->scratch);
    } else {
        draft->bytes = inode->draft->bytes;
        inode->draft->bytes = (struct tfs_buf){0};
    }
    tfs_draft_take(draft, TFS_DRAFT_WRITE);
    if (tfs_span_equal(tfs_buf_span(&draft->bytes), tfs_blob_span(work->text))) {
        tfs_draft_take(draft, TFS_DRAFT_CHECK);
        tfs_draft_take(draft, TFS_DRAFT_ACCEPT);
    }
}

/* The times that the scratch file had (rsync sets them before it renames) go with it. */
static void move_times(struct tfs_session *s, const struct tfs_rename_work *work)
{
    const struct tfs_scratch *scratch = work->work.inode->scratch;

    if (scratch != NULL)
        (void)tfs_views_set_times(&s->views, tfs_node_id(&work->to), &scratch->atime,
                                  &scratch->mtime);
}

static void move_name(struct tfs_session *s, const struct tfs_rename_work *work,
                      const struct moving *m)
{
    struct tfs_inode *inode = work->work.inode;

    if (m->old != NULL && m->orphan != NULL)
        tfs_ops_orphan(s, m->old, m->orphan);
    else if (m->old != NULL)
        tfs_ops_leave(s, m->old);
    if (m->old != NULL)
        tfs_inode_drop(&s->inodes, m->old);
    leave_old_name(s, work);
    move_times(s, work);
    if (m->draft != NULL)
        move_bytes(s, work, m->draft);
    tfs_inode_end_draft(inode);
    tfs_inode_end_array(inode);
    tfs_inode_attach(&s->inodes, inode, &work->to);
    inode->draft = m->draft;
    tfs_names_show(&s->names, &work->to);
    tfs_views_restamp(&s->views, tfs_node_id(&work->to));
    tfs_notify_stale(s->notify, inode->id);
}

static void settle_rename(struct tfs_job *job)
{
    struct tfs_rename_work *work = (struct tfs_rename_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct moving m = {0};

    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->to);
    /* The text is accepted; renamed once more, it finds itself there. */
    if (job->result == 0)
        job->result = prepare_names(s, work, &m);
    if (job->result == 0) {
        move_name(s, work, &m);
        if (job->edited)
            tfs_ops_drop_rejected(s, work->work.inode);
    } else {
        show_accepted(s, work);
    }
    pthread_mutex_unlock(&s->lock);
}

const struct tfs_job_kind tfs_rename_onto = {apply_rename, settle_rename};
