/*
 * What is checked when a file is closed, synced, cut or renamed onto a file of the schema, and what
 * becomes of its bytes then. Run by the stores' threads, which take the session's lock for each
 * step; how a text becomes an edit is in op_edit.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fs/ops.h"

static void log_inode(struct tfs_session *s, const struct tfs_inode *inode,
                      const struct tfs_error *err)
{
    struct tfs_buf path = {0};

    pthread_mutex_lock(&s->lock);
    tfs_ops_path(s, inode->id, &path);
    pthread_mutex_unlock(&s->lock);
    tfs_buf_u8(&path, 0);
    tfs_ops_log(s, err, path.failed ? NULL : (const char *)path.data);
    tfs_buf_release(&path);
}

/* ---- closing files --------------------------------------------------------------------------- */

/* Is a fragment of somebody else's write all that there is to check, for now? */
static bool waits_for_fragment(struct tfs_flush_work *flush)
{
    struct tfs_session *s = flush->work.branch->session;
    const struct tfs_draft *draft = flush->work.inode->draft;
    int64_t now = tfs_now_ms();

    if (!flush->patient || draft == NULL || draft->fragment_until <= now ||
        draft->fragment_by == flush->caller)
        return false;
    /* A writer that goes on in such fragments does not hold it up for ever. */
    if (flush->patience_end == 0)
        flush->patience_end = now + s->options.fragment_ms;
    if (now >= flush->patience_end)
        return false;
    flush->work.job.until = tfs_sooner(draft->fragment_until, flush->patience_end);
    return true;
}

/* What of a draft is being checked. */
struct checking {
    struct tfs_blob *text; /* a copy; NULL: of a sparse draft, or there is nothing to check */
    struct tfs_prepared *prepared; /* of that text; NULL: nothing is */
    struct tfs_sparse *sparse;     /* which nobody writes to meanwhile */
    struct tfs_blob *rejected;     /* of a sparse draft: what it said; NULL: it is too large */
};

static void end_checking(struct checking *c)
{
    tfs_blob_unref(c->text);
    tfs_blob_unref(c->rejected);
    tfs_prepared_free(c->prepared);
    tfs_sparse_unref(c->sparse);
}

/* Takes what there is to check, if there is anything: then the draft is CHECKING. `last`: a RELEASE
 * asks, which is processed when close(2) has long returned. A writer who opened the file since has
 * begun a document that only its own close may end: half of it could be accepted, and would be in
 * the save. */
static bool begin_checking(const struct tfs_inode *inode, bool last, struct checking *c,
                           struct tfs_error *err)
{
    struct tfs_draft *draft = inode->draft;

    if (draft == NULL)
        return false;
    if (draft->state == TFS_DRAFT_OUTDATED) {
        tfs_fail(err, -ESTALE, "the save was replaced by another program's while this was written");
        return false;
    }
    if (draft->state == TFS_DRAFT_POISONED) {
        draft->closing = !last;
        tfs_fail(err, -EBADMSG, "a write to this file was refused");
        return false;
    }
    if (!tfs_draft_is_unchecked(draft) || (last && inode->writers > 0))
        return false;
    c->prepared = tfs_draft_take_prepared(draft);
    if (draft->sparse != NULL)
        c->sparse = tfs_sparse_ref(draft->sparse);
    else if (c->prepared != NULL)
        c->text = tfs_blob_ref(c->prepared->text);
    else if (tfs_blob_copy(tfs_buf_span(&draft->bytes), &c->text, err) < 0)
        return false;
    tfs_draft_take(draft, TFS_DRAFT_CHECK);
    return true;
}

/* Rejected bytes are put aside when the rejection is told, not only when the last handle is gone:
 * the kernel sends that news after close(2) has returned, and a program that reads the error looks
 * for the bytes at once. */
static int put_aside(struct tfs_session *s, struct tfs_inode *inode, const struct tfs_blob *text)
{
    struct tfs_draft *draft = inode->draft;
    struct tfs_buf path = {0};

    int result = text == NULL ? tfs_draft_unspill(draft) : 0;
    if (result < 0)
        return result == -EBUSY ? 0 : result; /* too large, and told */
    tfs_ops_path(s, inode->id, &path);
    tfs_buf_u8(&path, 0);
    result = path.failed ? -ENOMEM
                         : tfs_quarantine_put(
                               &s->quarantine, (const char *)path.data,
                               text != NULL ? tfs_blob_span(text) : tfs_buf_span(&draft->bytes));
    draft->quarantined = result == 0;
    tfs_buf_release(&path);
    return result;
}

/* The file was mended: what was rejected of it before is of no more use. A text that says what the
 * save says already mends nothing: vim writes the old one back when a write fails. */
static void drop_rejected(struct tfs_session *s, const struct tfs_inode *inode)
{
    struct tfs_buf path = {0};

    if (tfs_quarantine_is_empty(&s->quarantine))
        return;
    tfs_ops_path(s, inode->id, &path);
    tfs_buf_u8(&path, 0);
    if (!path.failed)
        tfs_quarantine_drop(&s->quarantine, (const char *)path.data);
    tfs_buf_release(&path);
}

/* The draft hears what became of its bytes; true: a rejection is to be told. */
static bool take_answer(struct tfs_work *work, const struct checking *c, int result, bool last)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    struct tfs_draft *draft = inode->draft;

    if (draft == NULL)
        return false; /* its name went to another file meanwhile, and the bytes with it */
    if (draft->state == TFS_DRAFT_POISONED)
        return false; /* meanwhile, and told */
    /* A shell's `> file` closes a copy of the descriptor before it writes: nothing to tell yet. */
    bool quiet = draft->told || (!last && tfs_draft_size(draft) == 0);
    if (result == 0) {
        const bool taken = tfs_draft_take(draft, TFS_DRAFT_ACCEPT);
        draft->closing = taken && !last;
        if (taken && c->sparse != NULL)
            tfs_sparse_accept(c->sparse);
        if (work->job.edited || draft->quarantined)
            drop_rejected(s, inode);
        draft->quarantined = false;
    } else {
        /* Want of memory is no rejection: the bytes wait for the next check. */
        tfs_draft_take(draft, result == -ENOMEM ? TFS_DRAFT_DEFER : TFS_DRAFT_REJECT);
        draft->told = draft->state == TFS_DRAFT_REJECTED && (draft->told || !quiet);
        draft->closing = draft->told && !last;
    }
    if (!last && result < 0 && result != -ENOMEM && !quiet)
        (void)put_aside(s, inode, c->rejected);
    return result < 0 && !quiet;
}

void tfs_ops_poison(struct tfs_session *s, struct tfs_inode *inode, const struct tfs_error *why)
{
    bool tell = false;

    pthread_mutex_lock(&s->lock);
    if (inode->draft != NULL && tfs_draft_take(inode->draft, TFS_DRAFT_POISON)) {
        tell = inode->draft->told = true;
        (void)put_aside(s, inode, NULL);
    }
    pthread_mutex_unlock(&s->lock);
    if (tell)
        log_inode(s, inode, why);
}

/* What a rejected draft says that is not in memory: to be put aside. */
static void read_rejected(const struct tfs_work *work, struct checking *c)
{
    struct tfs_session *s = work->branch->session;
    const struct tfs_lens *lens = tfs_node_file(work->branch->save, &work->inode->node)->lens;
    const uint64_t most = lens->takes_large ? TFS_DRAFT_WHOLE_MAX : TFS_DRAFT_KEPT_MAX;
    struct tfs_error err = {0};

    if (c->sparse->size <= most &&
        tfs_sparse_text(c->sparse, work->branch->save, &work->inode->node, &c->rejected, &err) == 0)
        return;
    tfs_fail(&err, -EFBIG, "what was refused is too large to be kept");
    log_inode(s, work->inode, &err);
}

static int check(struct tfs_work *work, const struct tfs_node *node, const char *past_why,
                 struct checking *c, struct tfs_error *err)
{
    struct tfs_written written;
    int result;

    if (c->sparse != NULL) {
        written = tfs_sparse_written(c->sparse);
        work->written = &written;
    }
    work->prepared = c->prepared;
    if (past_why != NULL)
        result = tfs_fail(err, -ESTALE, "%s", past_why);
    else
        result = tfs_ops_validate(work, node, tfs_blob_span(c->text), err);
    tfs_blob_unref(work->original);
    work->original = NULL;
    for (unsigned i = 0; i < 2; i++) {
        tfs_doc_unref(work->began[i]);
        work->began[i] = NULL;
    }
    work->written = NULL;
    work->prepared = NULL;
    if (result < 0 && result != -ENOMEM && c->sparse != NULL && c->sparse->size > 0)
        read_rejected(work, c);
    return result;
}

static int check_draft(struct tfs_work *work, bool last, struct checking *c, struct tfs_error *err)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;

    pthread_mutex_lock(&s->lock);
    const struct tfs_node node = inode->node;
    const char *past_why = inode->past_why;
    const bool begun = begin_checking(inode, last, c, err);
    work->original = begun ? tfs_blob_ref(inode->draft->original) : NULL;
    for (unsigned i = 0; i < 2; i++)
        work->began[i] = begun ? tfs_doc_ref(inode->draft->began[i]) : NULL;
    pthread_mutex_unlock(&s->lock);
    if (!begun)
        return err->code;
    int result = check(work, &node, past_why, c, err);
    pthread_mutex_lock(&s->lock);
    bool tell = take_answer(work, c, result, last);
    if (result == 0 && inode->draft != NULL && c->text != NULL)
        tfs_draft_began_as(inode->draft, c->text);
    pthread_cond_broadcast(&s->closed);
    pthread_mutex_unlock(&s->lock);
    if (tell)
        log_inode(s, inode, err);
    return result;
}

static int apply_flush(struct tfs_job *job, bool last)
{
    struct tfs_flush_work *flush = (struct tfs_flush_work *)job;
    struct tfs_session *s = flush->work.branch->session;
    struct tfs_error err = {0};

    pthread_mutex_lock(&s->lock);
    bool waits = !last && waits_for_fragment(flush);
    pthread_mutex_unlock(&s->lock);
    if (waits)
        return TFS_JOB_WAITS;
    struct checking c = {0};
    int result = check_draft(&flush->work, false, &c, &err);
    end_checking(&c);
    return result == 0 ? flush->ended : result;
}

void tfs_ops_end_draft(struct tfs_session *s, struct tfs_inode *inode, bool rejected)
{
    if (inode->past_why != NULL)
        ; /* the file is another one */
    else if (rejected)
        tfs_views_bump(&s->views, tfs_node_id(&inode->node));
    else
        tfs_views_restamp(&s->views, tfs_node_id(&inode->node));
    tfs_inode_end_draft(inode);
    pthread_cond_broadcast(&s->closed);
    if (!rejected)
        return;
    /* A name that was created with a rejected text is gone again. */
    struct tfs_node node = inode->node;
    tfs_ops_refresh(s, &node);
    struct tfs_node dir = tfs_ops_parent(s, &node);
    tfs_notify_stale(s->notify, tfs_node_id(&dir));
}

/* Without memory to check the bytes, or to put them aside, they stay and the file shows them: they
 * are checked again. */
static void end_draft(struct tfs_session *s, struct tfs_inode *inode, const struct checking *c,
                      int result)
{
    if (result == -ENOMEM || (result < 0 && put_aside(s, inode, c->rejected) < 0))
        s->retry_at = tfs_now_ms() + TFS_RETRY_MS;
    else
        tfs_ops_end_draft(s, inode, result < 0);
}

/* The last writer is gone: accepted bytes make room for the canonical text, rejected ones are put
 * aside. */
static int apply_release(struct tfs_job *job, bool last)
{
    struct tfs_work *work = (struct tfs_work *)job;
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    struct checking c = {0};
    struct tfs_error err = {0};

    (void)last;
    int result = check_draft(work, true, &c, &err);
    pthread_mutex_lock(&s->lock);
    if (inode->scratch == NULL) {
        tfs_notify_stale(s->notify, inode->id);
        if (inode->draft != NULL && inode->writers == 0)
            end_draft(s, inode, &c, result);
    }
    pthread_mutex_unlock(&s->lock);
    end_checking(&c);
    return result;
}

const struct tfs_job_kind tfs_flush = {apply_flush, NULL};
const struct tfs_job_kind tfs_release = {apply_release, NULL};

/* ---- truncate(2) by name: checked at once; rejected, it changes nothing ---------------------- */

/* What a file shows: its draft, its scratch bytes, or its saved bytes. */
struct content {
    struct tfs_inode *inode;
    struct tfs_node node;
    struct tfs_blob *blob;
};

static int try_content(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct content *c = call;
    struct tfs_error err = {0};
    uint64_t stamp;

    c->node = c->inode->node;
    tfs_ops_refresh(s, &c->node);
    const int result = tfs_draft_unspill(c->inode->draft);
    if (result < 0)
        return result;
    if (c->inode->draft != NULL)
        return tfs_blob_copy(tfs_buf_span(&c->inode->draft->bytes), &c->blob, &err);
    if (c->inode->scratch != NULL)
        return tfs_blob_copy(tfs_buf_span(&c->inode->scratch->bytes), &c->blob, &err);
    return tfs_ops_bytes(s, need, &c->node, &c->blob, &stamp);
}

static int cut_text(const struct content *c, uint64_t size, struct tfs_buf *text)
{
    struct tfs_error err = {0};

    if (size > c->blob->size + TFS_DRAFT_MAX)
        return -EFBIG;
    tfs_buf_add_span(text, tfs_blob_span(c->blob));
    tfs_buf_resize(text, (size_t)size);
    return tfs_buf_check(text, &err);
}

static int apply_truncate(struct tfs_job *job, bool last)
{
    struct tfs_truncate_work *work = (struct tfs_truncate_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_inode *inode = work->work.inode;
    struct content c = {.inode = inode};
    struct tfs_error err = {0};
    struct tfs_buf text = {0};

    (void)last;
    int result = tfs_ops_run(s, try_content, &c);
    if (result == 0)
        result = cut_text(&c, work->size, &text);
    if (result == 0) {
        result = tfs_ops_validate(&work->work, &c.node, tfs_buf_span(&text), &err);
        if (result < 0)
            log_inode(s, inode, &err);
    }
    pthread_mutex_lock(&s->lock);
    if (result == 0 && inode->draft != NULL)
        result = tfs_draft_resize(inode->draft, work->size);
    if (result == 0) {
        tfs_notify_stale(s->notify, inode->id);
        tfs_views_bump(&s->views, tfs_node_id(&c.node));
        if (job->edited)
            drop_rejected(s, inode);
    }
    pthread_mutex_unlock(&s->lock);
    tfs_blob_unref(c.blob);
    tfs_buf_release(&text);
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
    job->result = tfs_ops_run(work->branch->session, try_attr, work);
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
    if (tfs_ops_has_past(s, &work->to)) {
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
    if (old->draft != NULL && old->draft->state == TFS_DRAFT_CLEAN && old->writers == 0)
        tfs_inode_end_draft(old);
    tfs_doc_unref(old->past);
    old->past = NULL;
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
    struct content c = {.inode = work->work.inode};
    struct tfs_error err = {0};

    (void)last;
    int result = tfs_ops_run(s, try_content, &c);
    work->text = c.blob;
    if (result == 0)
        result = tfs_ops_run(s, try_keep_shown, work);
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
    int result = tfs_inode_reserve(&s->inodes);

    if (result == 0)
        result = tfs_draft_unspill(inode->draft);
    m->old = tfs_inode_of(&s->inodes, &work->to);
    if (m->old == inode)
        m->old = NULL;
    if (result == 0 && inode->writers > 0 && has_bytes) {
        m->draft = tfs_draft_create((struct tfs_span){0});
        result = m->draft != NULL ? 0 : -ENOMEM;
    }
    if (result == 0 && m->old != NULL && !tfs_ops_has_past(s, &work->to)) {
        /* A program that has it open, or has looked it up and is about to open it, goes on with
         * what it showed. */
        bool known = m->old->handles > 0 || m->old->lookups > 0;
        unsigned flags = TFS_SCRATCH_UNCAPPED | (known ? TFS_SCRATCH_REPLACED : 0);
        result = tfs_ops_prepare_orphan(s, m->old, flags, (struct tfs_span){0}, &m->orphan);
    }
    if (result == 0 && inode->scratch == NULL) {
        struct tfs_whiteout *whiteout = tfs_whiteout_add(&s->overlay, &inode->node);
        if (whiteout != NULL)
            whiteout->unlinked = true; /* its content is in the other file now */
        result = whiteout != NULL ? 0 : -ENOMEM;
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
        return; /* it has its whiteout */
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
    tfs_inode_attach(&s->inodes, inode, &work->to);
    inode->draft = m->draft;
    tfs_overlay_reveal(&s->overlay, &work->to);
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
            drop_rejected(s, work->work.inode);
    } else {
        show_accepted(s, work);
    }
    pthread_mutex_unlock(&s->lock);
}

const struct tfs_job_kind tfs_rename_onto = {apply_rename, settle_rename};
