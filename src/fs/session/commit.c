/*
 * Commit points of texts and pictures: what a draft says becomes an edit, or is refused and put
 * aside. Run by the stores' threads, which take the session's lock for each step; how a text
 * becomes an edit is in edit.c.
 *
 * Where the file shows something else than it did when the draft began, a draft that was cut to 0
 * takes its place; what was appended goes behind it; any other is refused (ESTALE).
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fs/session/ops.h"

static const char gone_sentence[] =
    "this file was removed or replaced while it was written: what was written is not taken, and "
    "kept in " TFS_CONTROL_NAME "/rejected/";

static const char changed_sentence[] =
    "this file was changed by another file or program while it was written: what was written is "
    "not taken, and kept in " TFS_CONTROL_NAME "/rejected/; open the file again";

static const char unread_sentence[] =
    "it cannot be read now what this file shows, and what was written may not fit it";

static const char unready_sentence[] =
    "the save cannot be edited now: what another program wrote could not be taken in yet";

struct commit_work {
    struct tfs_work work;
    struct tfs_handle *handle; /* whose draft is taken; NULL: that of an array's inode is */
    uint64_t writes;           /* of the draft that was taken */
    bool applied;              /* else the store cannot edit now, and nobody looked at it */
};

/* ---- what is taken --------------------------------------------------------------------------- */

/* A draft, as it is taken. */
struct taking {
    struct tfs_node node;
    struct tfs_blob *text;    /* a copy; NULL: of a large draft */
    struct tfs_sparse *pages; /* of such a one, which nobody writes to meanwhile */
    uint64_t size;
    bool merged;         /* `text` has what was appended behind what others wrote */
    struct tfs_doc *doc; /* the file as it was when the draft began; NULL: not known */
    struct tfs_node then;
    uint64_t stamp;
    uint64_t accepted;
    struct timespec time;
    bool gone, cut, append;
    bool told; /* so it was refused before */
};

static void end_taking(struct taking *t)
{
    tfs_blob_unref(t->text);
    tfs_sparse_unref(t->pages);
    tfs_doc_unref(t->doc);
}

/* Is there anything to take? */
static bool begin_taking(struct commit_work *work, struct taking *t, struct tfs_error *err)
{
    struct tfs_session *s = work->work.branch->session;
    const struct tfs_handle *handle = work->handle;
    struct tfs_draft *draft = handle->draft;

    if (draft == NULL || draft->state == TFS_DRAFT_CLEAN)
        return false;
    if (draft->sparse == NULL) {
        (void)tfs_blob_copy(tfs_buf_span(&draft->bytes), &t->text, err);
    } else {
        t->pages = tfs_sparse_ref(draft->sparse);
        t->pages->busy = true;
    }
    t->size = tfs_draft_size(draft);
    t->node = handle->inode->node;
    tfs_ops_refresh(s, &t->node);
    t->doc = tfs_doc_ref(draft->doc);
    t->then = draft->node;
    t->stamp = draft->stamp;
    t->accepted = draft->accepted;
    t->time = draft->time;
    t->gone = tfs_inode_is_gone(handle->inode);
    t->cut = draft->cut;
    t->append = handle->append && draft->accepted != TFS_NOT_APPENDED;
    t->told = draft->state == TFS_DRAFT_REFUSED;
    work->writes = draft->writes;
    /* From here on they say how it is cut while it is taken. */
    draft->cut = false;
    draft->accepted = t->size;
    return true;
}

/* All of it in memory, where it is not too much for that. */
static int read_text(struct tfs_save *save, struct taking *t, struct tfs_error *err)
{
    if (t->text != NULL || t->pages == NULL)
        return 0;
    if (t->size > TFS_DRAFT_WHOLE_MAX)
        return tfs_fail(err, -EFBIG, "what was refused is too large to be kept");
    return tfs_sparse_text(t->pages, save, &t->node, &t->text, err);
}

/* ---- somebody was faster --------------------------------------------------------------------- */

struct showing {
    const struct tfs_node *node;
    struct tfs_blob *blob;
};

/* Nothing of a file that is not there. */
static int try_shown(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct showing *c = call;
    const struct tfs_view view = tfs_ops_view(s, c->node);
    const int exists = tfs_node_exists(view.save, view.doc, &view.node);

    return exists == 1 ? tfs_ops_bytes(s, need, &view, &c->blob) : exists;
}

/* Does it say what it said when the draft began? Where that cannot be found out any more: no.
 * `shown`: NULL: it is not there. */
static bool is_as_then(struct tfs_session *s, const struct taking *t, const struct tfs_blob *shown)
{
    const struct tfs_view view = tfs_ops_view_in(s, &t->then, t->doc);
    struct tfs_error ignored = {0};
    struct tfs_blob *then = NULL;

    if (t->doc != NULL && tfs_node_exists(view.save, t->doc, &t->then) == 0)
        return shown == NULL;
    const bool same = t->doc != NULL && shown != NULL &&
                      tfs_views_render(&s->views, &view, &then, &ignored) == 0 &&
                      tfs_span_equal(tfs_blob_span(then), tfs_blob_span(shown));
    tfs_blob_unref(then);
    return same;
}

/* What was appended, behind what the file shows. */
static int put_behind(struct taking *t, const struct tfs_blob *shown, struct tfs_error *err)
{
    const struct tfs_span all = tfs_blob_span(t->text);
    const size_t accepted = (size_t)t->accepted < all.size ? (size_t)t->accepted : all.size;
    struct tfs_blob *merged = NULL;
    struct tfs_buf text = {0};

    tfs_buf_add_span(&text, tfs_blob_span(shown));
    tfs_buf_add(&text, all.data + accepted, all.size - accepted);
    int result = tfs_buf_check(&text, err);
    if (result == 0)
        result = tfs_blob_take(&text, &merged, err);
    tfs_buf_release(&text);
    if (result == 0) {
        tfs_blob_unref(t->text);
        t->text = merged;
        t->merged = true;
    }
    return result;
}

/* 0: the draft, or what became of it, may be put. */
static int settle_with_others(struct tfs_work *work, struct taking *t, struct tfs_error *err)
{
    struct tfs_session *s = work->branch->session;
    struct showing c = {&t->node, NULL};
    const uint64_t now = tfs_views_stamp(&s->views, tfs_node_id(&t->node));

    if (t->gone)
        return tfs_fail(err, -ESTALE, "%s", gone_sentence);
    if (t->cut || (t->doc != NULL && t->stamp == now))
        return 0;
    int result = tfs_ops_run_as_read(s, NULL, try_shown, &c);
    if (result < 0)
        return tfs_fail(err, result, "%s", unread_sentence);
    if (is_as_then(s, t, c.blob))
        result = 0;
    else if (!t->append)
        result = tfs_fail(err, -ESTALE, "%s", changed_sentence);
    else if ((result = read_text(work->branch->save, t, err)) == 0)
        result = put_behind(t, c.blob, err);
    tfs_blob_unref(c.blob);
    return result;
}

/* ---- a draft --------------------------------------------------------------------------------- */

static int put_text(struct tfs_work *work, struct taking *t, struct tfs_error *err)
{
    struct tfs_written written;

    if (t->text == NULL) {
        written = tfs_sparse_written(t->pages);
        work->written = &written;
    }
    const int result = tfs_ops_validate(work, &t->node, tfs_blob_span(t->text), err);
    work->written = NULL;
    return result;
}

/* What the file shows is what the draft began from, from now on; not where the draft lacks what
 * others wrote: what it gets goes behind them again. */
static void accept(struct commit_work *work, const struct taking *t)
{
    struct tfs_session *s = work->work.branch->session;
    struct tfs_draft *draft = work->handle->draft;
    const uint64_t id = tfs_node_id(&t->node);

    (void)tfs_views_set_times(&s->views, id, NULL, &t->time);
    tfs_inode_is_born(&s->inodes, &t->node);
    if (t->merged)
        tfs_draft_lacks_text(draft);
    else
        tfs_draft_stands_on(draft, tfs_store_shown(work->work.branch->store), &t->node,
                            tfs_views_stamp(&s->views, id));
    if (t->pages != NULL && t->pages == draft->sparse)
        tfs_sparse_accept(t->pages);
    draft->cut = draft->cut || (t->cut && !work->handle->append);
    draft->state = draft->writes == work->writes ? TFS_DRAFT_CLEAN : TFS_DRAFT_DIRTY;
    if (work->work.job.edited)
        tfs_ops_drop_rejected(s, &t->node);
}

/* Nothing of the draft was taken. */
static void give_back(struct tfs_draft *draft, const struct taking *t)
{
    if (!draft->cut && draft->accepted == t->size)
        draft->accepted = t->accepted;
    draft->cut = draft->cut || t->cut;
}

/* True: it is to be told. */
static bool refuse(struct commit_work *work, const struct taking *t)
{
    struct tfs_session *s = work->work.branch->session;
    struct tfs_draft *draft = work->handle->draft;
    const bool lost = t->text == NULL && t->pages != NULL;
    const struct tfs_span text =
        t->text != NULL ? tfs_blob_span(t->text) : tfs_buf_span(&draft->bytes);

    give_back(draft, t);
    if (!t->told)
        tfs_ops_put_aside(s, &t->node, lost ? NULL : &text);
    if (draft->writes == work->writes)
        draft->state = TFS_DRAFT_REFUSED;
    return !t->told;
}

/* `why`: 0, or it is refused for that reason without being looked at. */
static int commit_draft(struct commit_work *work, int why)
{
    struct tfs_session *s = work->work.branch->session;
    struct taking t = {.text = NULL};
    struct tfs_error err = {0}, ignored = {0};
    bool tell = false;

    pthread_mutex_lock(&s->lock);
    const bool any = begin_taking(work, &t, &err);
    pthread_mutex_unlock(&s->lock);
    if (!any)
        return 0;
    if (why < 0)
        tfs_fail(&err, why, "%s", unready_sentence);
    int result = err.code;
    if (result == 0)
        result = settle_with_others(&work->work, &t, &err);
    if (result == 0)
        result = put_text(&work->work, &t, &err);
    if (result < 0)
        (void)read_text(work->work.branch->save, &t, &ignored);
    pthread_mutex_lock(&s->lock);
    if (t.pages != NULL)
        t.pages->busy = false;
    if (result == 0)
        accept(work, &t);
    else
        tell = refuse(work, &t);
    pthread_cond_broadcast(&s->answered);
    pthread_mutex_unlock(&s->lock);
    if (tell)
        tfs_ops_log_node(s, &err, &t.node);
    end_taking(&t);
    return result;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool is_array(struct commit_work *work)
{
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    const bool is = work->work.inode->array != NULL;
    pthread_mutex_unlock(&s->lock);
    return is;
}

static int release_array(struct tfs_work *work)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    int result = tfs_ops_commit_array(work, true);

    pthread_mutex_lock(&s->lock);
    if (inode->array != NULL && !tfs_inode_has_writer(inode))
        tfs_inode_end_array(inode);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static int store_removals(struct tfs_work *work)
{
    struct tfs_session *s = work->branch->session;

    pthread_mutex_lock(&s->lock);
    const bool scratch = work->inode->scratch != NULL;
    const struct tfs_node node = work->inode->node;
    pthread_mutex_unlock(&s->lock);
    return scratch ? 0 : tfs_rest_store(work, &node);
}

static int apply_commit(struct tfs_job *job, bool last)
{
    struct commit_work *work = (struct commit_work *)job;

    (void)last;
    int result = 0;
    work->applied = true;
    if (is_array(work))
        result = work->handle != NULL ? tfs_ops_commit_array(&work->work, false)
                                      : release_array(&work->work);
    else if (work->handle != NULL)
        result = commit_draft(work, 0);
    return result == 0 && job->barrier ? store_removals(&work->work) : result;
}

/* A name that was created with a refused text is gone again. */
static void end_name(struct tfs_session *s, struct tfs_inode *inode)
{
    struct tfs_node node = inode->node;

    tfs_inode_lose_name(&s->inodes, inode);
    tfs_ops_refresh(s, &node);
    tfs_ops_list_again(s, &node);
}

static void end_handle(struct tfs_session *s, struct tfs_handle *handle)
{
    struct tfs_inode *inode = handle->inode;
    const bool unborn =
        handle->draft != NULL && tfs_inode_unborn(&s->inodes, &inode->node) == inode;

    tfs_handle_drop(handle);
    if (unborn && tfs_inode_unborn(&s->inodes, &inode->node) == NULL)
        end_name(s, inode);
}

/* What was accepted is foreign, and set aside: nobody goes on from it. What came behind it is
 * nowhere yet. */
static void part(struct tfs_session *s, struct tfs_handle *handle)
{
    struct tfs_inode *inode = handle->inode;

    if (inode->doc == NULL)
        tfs_ops_refresh(s, &inode->node);
    tfs_inode_leave(&s->inodes, inode, tfs_ops_shown(s, &inode->node));
    if (inode->array != NULL) {
        inode->array->failed = -ESTALE;
        inode->array->state = TFS_DRAFT_DIRTY;
    }
    if (handle->draft != NULL && handle->draft->state == TFS_DRAFT_CLEAN)
        handle->draft->state = TFS_DRAFT_REFUSED;
}

/* Nobody will close an array once more that nobody has open. */
static void refuse_array(struct commit_work *work, int why)
{
    struct tfs_session *s = work->work.branch->session;
    struct tfs_inode *inode = work->work.inode;

    pthread_mutex_lock(&s->lock);
    const bool left = work->handle == NULL && inode->array != NULL && !tfs_inode_has_writer(inode);
    if (left)
        inode->array->failed = why;
    pthread_mutex_unlock(&s->lock);
    if (left)
        (void)release_array(&work->work);
}

static void settle_commit(struct tfs_job *job)
{
    struct commit_work *work = (struct commit_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_handle *handle = work->handle;

    if (job->result < 0 && !work->applied && is_array(work))
        refuse_array(work, job->result);
    else if (job->result < 0 && !work->applied && handle != NULL)
        (void)commit_draft(work, job->result);
    if (handle == NULL)
        return;
    pthread_mutex_lock(&s->lock);
    if (job->result == 0 && handle->draft != NULL)
        tfs_draft_saved(handle->draft, work->writes);
    if (job->undone)
        part(s, handle);
    handle->jobs--;
    end_handle(s, handle);
    pthread_mutex_unlock(&s->lock);
}

static const struct tfs_job_kind commit = {apply_commit, settle_commit};

/* -EINPROGRESS, a job answers; or -ENOMEM. */
static int submit_commit(struct tfs_session *s, struct tfs_handle *handle, bool barrier,
                         struct tfs_reply reply)
{
    struct tfs_branch *branch = tfs_ops_branch_of(s, handle->inode);
    struct commit_work *work = tfs_work_create(
        sizeof(*work), &commit, branch != NULL ? branch : &s->branches[0], handle->inode, reply);

    if (work == NULL)
        return -ENOMEM;
    work->handle = handle;
    handle->jobs++;
    work->work.job.barrier = barrier;
    tfs_work_submit(&work->work);
    return -EINPROGRESS;
}

/* ---- close(2) -------------------------------------------------------------------------------- */

/* Is there anything that this close would be told of? What was accepted of an array with the bytes
 * of another handle may still be on its way to the save or to the journal. */
static bool has_to_flush(struct tfs_session *s, const struct tfs_handle *handle, uint64_t owner)
{
    const struct tfs_inode *inode = handle->inode;
    const struct tfs_open_array *array = inode->array;

    if (array == NULL)
        return handle->draft != NULL && tfs_draft_is_of(handle->draft, owner);
    return handle->wrote && (array->state != TFS_DRAFT_CLEAN ||
                             tfs_store_unsaved(tfs_ops_branch(s, &inode->node)->store));
}

void tfs_session_flush(struct tfs_session *s, struct tfs_handle *handle, uint64_t owner,
                       struct tfs_reply reply)
{
    pthread_mutex_lock(&s->lock);
    const int result = has_to_flush(s, handle, owner) ? submit_commit(s, handle, false, reply) : 0;
    pthread_mutex_unlock(&s->lock);
    tfs_reply_now(reply, result);
}

/* Without memory for a job the draft waits for the end. */
void tfs_ops_release_handle(struct tfs_session *s, struct tfs_handle *handle)
{
    const bool dirty = handle->draft != NULL && handle->draft->state == TFS_DRAFT_DIRTY;

    handle->closed = true;
    if (!dirty || submit_commit(s, handle, false, (struct tfs_reply){0}) == -ENOMEM)
        end_handle(s, handle);
}

void tfs_ops_release_array(struct tfs_session *s, struct tfs_inode *inode)
{
    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
        h->closed = h->closed || h->writer;
    struct commit_work *work = tfs_work_create(
        sizeof(*work), &commit, tfs_ops_branch(s, &inode->node), inode, (struct tfs_reply){0});
    if (work != NULL)
        tfs_work_submit(&work->work);
}

/* ---- barriers on directories ----------------------------------------------------------------- */

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

/* A barrier on what this node of the branch is, or has in it: as submit_commit. */
static int submit_sync(struct tfs_branch *branch, struct tfs_node node, struct tfs_reply reply)
{
    struct sync_work *work = tfs_work_create(sizeof(*work), &sync_kind, branch, NULL, reply);

    if (work == NULL)
        return -ENOMEM;
    work->work.job.barrier = true;
    work->node = node;
    tfs_work_submit(&work->work);
    return -EINPROGRESS;
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
        tfs_reply_now(one, submit_sync(&s->branches[i], TFS_NODE_ROOT, one));
    }
    return -EINPROGRESS;
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
    const int result = branch != NULL ? submit_sync(branch, node, reply) : submit_all(s, reply);
    pthread_mutex_unlock(&s->lock);
    tfs_reply_now(reply, result);
}

/* ---- fsync of a file ------------------------------------------------------------------------- */

void tfs_session_fsync(struct tfs_session *s, struct tfs_handle *handle, struct tfs_reply reply)
{
    pthread_mutex_lock(&s->lock);
    const int result = submit_commit(s, handle, true, reply);
    pthread_mutex_unlock(&s->lock);
    tfs_reply_now(reply, result);
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
