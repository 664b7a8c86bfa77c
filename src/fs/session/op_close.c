/*
 * What is checked when a file is closed or synced, and what becomes of its draft then. Run by the
 * stores' threads, which take the session's lock for each step; how a text becomes an edit is in
 * op_edit.c.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "fs/session/ops.h"

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
};

static void end_checking(struct checking *c)
{
    tfs_blob_unref(c->text);
    tfs_prepared_free(c->prepared);
    tfs_sparse_unref(c->sparse);
}

const char tfs_ops_outdated[] =
    "the save was changed by another program while this was written: what was written is not "
    "taken, and kept in " TFS_CONTROL_NAME "/rejected/; open the file again";

const char tfs_ops_overtaken[] =
    "another file or program changed what this file says while a mapping of it was written: what "
    "was written is not taken, and kept in " TFS_CONTROL_NAME "/rejected/; open the file again";

const char *tfs_ops_why_outdated(const struct tfs_draft *draft)
{
    return draft->overtaken ? tfs_ops_overtaken : tfs_ops_outdated;
}

/* It is rejected, whatever it says. */
static void begin_rejecting(const struct tfs_draft *draft, struct tfs_error *err)
{
    if (draft->state == TFS_DRAFT_OUTDATED)
        tfs_fail(err, -ESTALE, "%s", tfs_ops_why_outdated(draft));
    else
        tfs_fail(err, -EBADMSG, "a write to this file was refused");
}

/* Takes what there is to check, if there is anything: then the draft is CHECKING. `released`: a
 * RELEASE asks, which is processed when close(2) has long returned. A writer who opened the file
 * since has begun a document that only its own close may end: half of it could be accepted, and
 * would be in the save. */
static bool begin_checking(const struct tfs_inode *inode, bool released, struct checking *c,
                           struct tfs_error *err)
{
    struct tfs_draft *draft = inode->draft;

    if (draft == NULL)
        return false;
    if (draft->state == TFS_DRAFT_OUTDATED || draft->state == TFS_DRAFT_POISONED) {
        begin_rejecting(draft, err);
        return false;
    }
    if (!tfs_draft_is_unchecked(draft) || (released && inode->writers > 0))
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
static int put_aside(struct tfs_session *s, struct tfs_inode *inode)
{
    struct tfs_draft *draft = inode->draft;
    int result = tfs_draft_unspill(draft);

    if (result < 0)
        return result;
    result = tfs_ops_put_aside(s, inode, tfs_buf_span(&draft->bytes));
    draft->quarantined = result == 0;
    return result;
}

void tfs_ops_keep_outdated(struct tfs_session *s, struct tfs_inode *inode)
{
    if (!inode->draft->quarantined)
        (void)put_aside(s, inode);
}

void tfs_ops_leave_outdated(struct tfs_session *s, struct tfs_inode *inode)
{
    if (inode->draft == NULL || inode->draft->state != TFS_DRAFT_OUTDATED)
        return;
    tfs_ops_keep_outdated(s, inode);
    (void)tfs_handles_outdate(&s->inodes, inode, true, true);
}

/* The draft hears what became of its bytes; true: a rejection is to be told. */
static bool take_answer(struct tfs_work *work, const struct checking *c, int result, bool released)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    struct tfs_draft *draft = inode->draft;

    if (draft == NULL)
        return false; /* its name went to another file meanwhile, and the bytes with it */
    if (draft->state == TFS_DRAFT_POISONED)
        return false; /* meanwhile, and told */
    /* A shell's `> file` closes a copy of the descriptor before it writes: nothing to tell yet. */
    bool quiet = draft->told || (!released && tfs_draft_size(draft) == 0);
    if (result == 0) {
        const bool taken = tfs_draft_take(draft, TFS_DRAFT_ACCEPT);
        draft->closing = taken && !released;
        if (taken && c->sparse != NULL)
            tfs_sparse_accept(c->sparse);
        if (work->job.edited || draft->quarantined)
            tfs_ops_drop_rejected(s, inode);
        draft->quarantined = false;
    } else {
        /* Want of memory is no rejection: the bytes wait for the next check. */
        tfs_draft_take(draft, result == -ENOMEM ? TFS_DRAFT_DEFER : TFS_DRAFT_REJECT);
        draft->told = draft->state == TFS_DRAFT_REJECTED && (draft->told || !quiet);
        draft->closing = draft->told && !released;
    }
    if (!released && result < 0 && result != -ENOMEM && !quiet)
        (void)put_aside(s, inode);
    return result < 0 && !quiet;
}

/* It may have been cut since, or written anew. */
static bool begins_with(const struct tfs_draft *draft, struct tfs_span text)
{
    return draft->sparse == NULL && draft->bytes.size >= text.size &&
           memcmp(draft->bytes.data, text.data, text.size) == 0;
}

void tfs_ops_poison(struct tfs_session *s, struct tfs_inode *inode, const struct tfs_blob *text,
                    const struct tfs_error *why)
{
    bool tell = false;

    pthread_mutex_lock(&s->lock);
    struct tfs_draft *draft = inode->draft;
    if (draft != NULL && (text == NULL || begins_with(draft, tfs_blob_span(text)))) {
        (void)tfs_draft_take(draft, TFS_DRAFT_POISON);
        tell = draft->state == TFS_DRAFT_POISONED && !draft->told;
        draft->told = draft->told || tell;
    }
    if (tell)
        (void)put_aside(s, inode);
    pthread_mutex_unlock(&s->lock);
    if (tell)
        tfs_ops_log_inode(s, why, inode);
}

/* What began with begin_rejecting: it is told once. Nothing, where there was nothing to check. */
static int reject(const struct tfs_work *work, bool released, const struct tfs_error *err)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    bool tell = false;

    if (err->code == 0 || err->code == -ENOMEM)
        return err->code;
    pthread_mutex_lock(&s->lock);
    struct tfs_draft *draft = inode->draft;
    if (draft != NULL) {
        tell = !draft->told;
        draft->told = true;
        draft->closing = !released;
        if (tell || !draft->quarantined) /* else more was written since */
            (void)put_aside(s, inode);
    }
    pthread_cond_broadcast(&s->closed);
    pthread_mutex_unlock(&s->lock);
    if (tell)
        tfs_ops_log_inode(s, err, inode);
    return err->code;
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
    work->written = NULL;
    work->prepared = NULL;
    return result;
}

static int check_draft(struct tfs_work *work, bool released, struct checking *c,
                       struct tfs_error *err)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;

    pthread_mutex_lock(&s->lock);
    const struct tfs_node node = inode->node;
    const char *past_why = inode->past_why;
    const bool begun = begin_checking(inode, released, c, err);
    pthread_mutex_unlock(&s->lock);
    if (!begun)
        return reject(work, released, err);
    int result = check(work, &node, past_why, c, err);
    pthread_mutex_lock(&s->lock);
    bool tell = take_answer(work, c, result, released);
    pthread_cond_broadcast(&s->closed);
    pthread_mutex_unlock(&s->lock);
    if (tell)
        tfs_ops_log_inode(s, err, inode);
    return result;
}

static int apply_flush(struct tfs_job *job, bool last)
{
    struct tfs_flush_work *flush = (struct tfs_flush_work *)job;
    struct tfs_session *s = flush->work.branch->session;
    struct tfs_error err = {0};

    pthread_mutex_lock(&s->lock);
    bool waits = !last && waits_for_fragment(flush);
    const bool is_array = flush->work.inode->array != NULL;
    pthread_mutex_unlock(&s->lock);
    if (waits)
        return TFS_JOB_WAITS;
    struct checking c = {0};
    int result = is_array ? tfs_ops_commit_array(&flush->work, false)
                          : check_draft(&flush->work, false, &c, &err);
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

void tfs_ops_end_clean(struct tfs_session *s, struct tfs_inode *inode, bool always)
{
    const bool clean = inode->draft != NULL && inode->draft->state == TFS_DRAFT_CLEAN;

    if (clean)
        tfs_ops_end_draft(s, inode, false);
    else if (always)
        tfs_views_restamp(&s->views, tfs_node_id(&inode->node));
    if (clean || always)
        tfs_notify_stale(s->notify, inode->id);
}

/* Without memory to check the bytes, or to put them aside, they stay and the file shows them: they
 * are checked again. */
static void end_draft(struct tfs_session *s, struct tfs_inode *inode, int result)
{
    if (result == -ENOMEM || (result < 0 && put_aside(s, inode) < 0))
        s->retry_at = tfs_now_ms() + TFS_RETRY_MS;
    else
        tfs_ops_end_draft(s, inode, result < 0);
}

/* Without memory to take what was written it stays, and is taken later. */
static int release_array(struct tfs_work *work)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    int result = tfs_ops_commit_array(work, true);

    pthread_mutex_lock(&s->lock);
    if (result == -ENOMEM)
        s->retry_at = tfs_now_ms() + TFS_RETRY_MS;
    else if (inode->array != NULL && inode->writers == 0)
        tfs_ops_close_array(s, inode);
    pthread_mutex_unlock(&s->lock);
    return result;
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
    pthread_mutex_lock(&s->lock);
    const bool is_array = inode->array != NULL;
    pthread_mutex_unlock(&s->lock);
    if (is_array)
        return release_array(work);
    int result = check_draft(work, true, &c, &err);
    pthread_mutex_lock(&s->lock);
    if (inode->scratch == NULL) {
        tfs_notify_stale(s->notify, inode->id);
        if (inode->draft != NULL && inode->writers == 0)
            end_draft(s, inode, result);
    }
    pthread_mutex_unlock(&s->lock);
    end_checking(&c);
    return result;
}

const struct tfs_job_kind tfs_flush = {apply_flush, NULL};
const struct tfs_job_kind tfs_release = {apply_release, NULL};
