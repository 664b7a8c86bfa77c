/*
 * Edits: from what users wrote to a file, or did to a chunk's directory, to a new document. Run by
 * the store's thread, which alone publishes documents; a rejected edit leaves them as they were.
 * None of these is called with the session's lock held.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/cells/written.h"
#include "formats/views/view_sets.h"
#include "fs/session/ops.h"

/* ---- texts ----------------------------------------------------------------------------------- */

/* Did the family lose this member? */
static bool is_no_member(const struct tfs_branch *branch, const struct tfs_doc *doc,
                         const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(branch->save, node);

    return file->count != NULL &&
           (node->member >= file->count(branch->save->tree, doc) ||
            (file->family != NULL && tfs_node_exists(branch->save, doc, node) == 0));
}

/* Is the chunk deleted since, or the file no more? */
static bool is_gone(const struct tfs_branch *branch, const struct tfs_node *node)
{
    const struct tfs_doc *doc = tfs_store_shown(branch->store);
    const struct tfs_chunk *chunk = tfs_doc_find(doc, node->key);

    return (node->scope == TFS_SCOPE_CHUNK && (chunk == NULL || chunk->slot != node->slot)) ||
           is_no_member(branch, doc, node);
}

/* Says which names the save had not. */
static void tell_new_names(struct tfs_work *work, const struct tfs_node *node)
{
    struct tfs_buf *names = &work->job.new_names;
    struct tfs_error told = {0};

    tfs_buf_u8(names, 0);
    if (names->size > 1 && !names->failed) {
        tfs_fail(&told, -EBADMSG, TFS_NEW_NAMES_TEXT, (const char *)names->data);
        tfs_ops_log_node(work->branch->session, &told, node);
    }
    tfs_buf_release(names);
}

/* Stored bytes say what else is in their chunk. */
static int edit_text(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *node,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_save *save = work->branch->save;
    const bool raw = (tfs_node_file(save, node)->flags & TFS_FILE_RAW) != 0;
    struct tfs_absent taken = {0};
    int result = tfs_node_put(save, edit, node, text, put, err);

    if (result == 0 && !raw && tfs_rest_take(work->branch, edit, node, &taken) < 0)
        result = tfs_fail_memory(err);
    if (result == 0)
        result = tfs_store_accept(work->branch->store, edit, tfs_node_id(node), &work->job, err);
    tfs_rest_taken(s, &taken, result == 0);
    if (result < 0)
        return result;
    if (raw) {
        pthread_mutex_lock(&s->lock);
        tfs_names_keep_hidden(&s->names, node);
        pthread_mutex_unlock(&s->lock);
    }
    tell_new_names(work, node);
    return 0;
}

/* In a chunk just made, which remembers what its files said if that is accepted. */
static int edit_in_new(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *node,
                       struct tfs_span text, struct tfs_name_directory *dir, struct tfs_error *err)
{
    struct tfs_put put = {
        .fresh = true, .written = work->written, .values = tfs_written_values_copy(dir->values)};

    if (put.values == NULL)
        return tfs_fail_memory(err);
    int result = edit_text(work, edit, node, text, &put, err);
    if (result < 0) {
        tfs_written_values_free(put.values);
        return result;
    }
    work->fresh = dir->top;
    work->values = dir->values;
    dir->values = put.values;
    return 0;
}

void tfs_ops_undone(struct tfs_work *work)
{
    struct tfs_session *s = work->branch->session;

    pthread_mutex_lock(&s->lock);
    struct tfs_name_directory *dir =
        work->values != NULL ? tfs_names_of(&s->names, &work->fresh) : NULL;
    if (dir != NULL) {
        tfs_written_values_free(dir->values);
        dir->values = work->values;
        work->values = NULL;
    }
    pthread_mutex_unlock(&s->lock);
}

int tfs_ops_validate(struct tfs_work *work, const struct tfs_node *node, struct tfs_span text,
                     struct tfs_error *err)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_put put = {.written = work->written};
    struct tfs_node target = *node;
    struct tfs_edit edit;

    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &target);
    /* Only this thread forgets a chunk, so it stays valid without the lock. */
    struct tfs_name_directory *dir =
        tfs_names_is_new(&s->names, node) ? tfs_names_of(&s->names, node) : NULL;
    pthread_mutex_unlock(&s->lock);
    if (is_gone(work->branch, &target))
        return tfs_fail(err, -ESTALE, "%s was deleted while this file was being written",
                        node->scope == TFS_SCOPE_CHUNK ? "the chunk" : "what it shows");
    int result = tfs_store_edit(work->branch->store, &edit, err);
    if (result < 0)
        return result;
    result = dir != NULL ? edit_in_new(work, &edit, &target, text, dir, err)
                         : edit_text(work, &edit, &target, text, &put, err);
    tfs_edit_release(&edit);
    return result;
}

/* ---- chunk directories ----------------------------------------------------------------------- */

/* A job. */
struct chunk_work {
    struct tfs_work work;
    enum tfs_chunk_verb verb;
    struct tfs_node node;
    struct tfs_key to; /* where it is then */
};

/* Its names are hidden from the moment on when it is there. */
static int make_chunk(struct chunk_work *work, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_session *s = work->work.branch->session;
    struct tfs_save *save = work->work.branch->save;

    if (tfs_doc_find(edit->base, work->node.key) != NULL)
        return tfs_fail(err, -EEXIST, "this chunk is there already");
    if (tfs_chunk_create(save, edit, work->node.key, err) < 0)
        return err->code;
    work->node.slot = tfs_doc_find(tfs_edit_doc(edit), work->node.key)->slot;
    pthread_mutex_lock(&s->lock);
    const int result = tfs_names_make(&s->names, &work->node, save->tree->chunk);
    pthread_mutex_unlock(&s->lock);
    return result < 0 ? tfs_fail_memory(err) : 0;
}

static int move_chunk(struct chunk_work *work, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_save *save = work->work.branch->save;
    /* Another program may have changed the save since the names were looked at. */
    const struct tfs_chunk *chunk = tfs_doc_find(edit->base, work->node.key);
    if (chunk == NULL || chunk->slot != work->node.slot)
        return tfs_fail(err, -ESTALE, "the chunk to be moved is not there any more");
    if (!tfs_chunks_are_fixed(save) && tfs_doc_find(edit->base, work->to) != NULL)
        return tfs_fail(err, -EEXIST, "this chunk is there already");
    return tfs_chunk_move(save, edit, work->node.key, work->to, err);
}

static int change_chunk(struct chunk_work *work, struct tfs_edit *edit, struct tfs_error *err)
{
    switch (work->verb) {
    case TFS_CHUNK_MAKE:
        return make_chunk(work, edit, err);
    case TFS_CHUNK_REMOVE:
        return tfs_chunk_remove(work->work.branch->save, edit, work->node.key, err);
    case TFS_CHUNK_MOVE:
        return move_chunk(work, edit, err);
    }
    return 0;
}

static int edit_chunk(struct chunk_work *work, struct tfs_error *err)
{
    struct tfs_store *store = work->work.branch->store;
    struct tfs_edit edit;
    int result = tfs_store_edit(store, &edit, err);

    if (result < 0)
        return result;
    result = change_chunk(work, &edit, err);
    if (result == 0)
        result = tfs_store_accept(store, &edit, 0, &work->work.job, err);
    tfs_edit_release(&edit);
    return result;
}

static void forget_names(const struct chunk_work *work)
{
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    tfs_names_forget(&s->names, &work->node);
    pthread_mutex_unlock(&s->lock);
}

static int apply_chunk(struct tfs_job *job, bool last)
{
    struct chunk_work *work = (struct chunk_work *)job;
    struct tfs_node node = work->node;
    struct tfs_error err = {0};

    (void)last;
    if (edit_chunk(work, &err) == 0)
        return 0;
    if (work->verb == TFS_CHUNK_MAKE && work->node.slot != TFS_SLOT_NONE)
        forget_names(work);
    node.key = work->to;
    node.slot = TFS_SLOT_NONE;
    tfs_ops_log_node(work->work.branch->session, &err, &node);
    return err.code;
}

static void answer_make(struct chunk_work *work)
{
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->node);
    work->work.job.result = tfs_ops_attr_node(s, NULL, &work->node, &work->work.attr);
    work->work.has_attr = true;
    tfs_names_touch(&s->names, &work->node);
    pthread_mutex_unlock(&s->lock);
}

/* It is there, though not durable yet. */
static void begin_clock(struct chunk_work *work)
{
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    tfs_names_touch(&s->names, &work->node);
    pthread_mutex_unlock(&s->lock);
}

static void settle_chunk(struct tfs_job *job)
{
    struct chunk_work *work = (struct chunk_work *)job;
    const bool made = work->verb == TFS_CHUNK_MAKE, removed = work->verb == TFS_CHUNK_REMOVE;

    if (made && job->result == 0)
        answer_make(work);
    else if (job->edited && (job->undone ? made : removed))
        forget_names(work);
    else if (made && job->edited)
        begin_clock(work);
}

static const struct tfs_job_kind chunk_kind = {apply_chunk, settle_chunk};

int tfs_ops_chunk(struct tfs_branch *branch, enum tfs_chunk_verb verb, const struct tfs_node *chunk,
                  struct tfs_key to, struct tfs_reply reply)
{
    struct chunk_work *work = tfs_work_create(sizeof(*work), &chunk_kind, branch, NULL, reply);

    if (work == NULL)
        return -ENOMEM;
    work->verb = verb;
    work->node = *chunk;
    work->to = to;
    work->work.job.of_shown = verb == TFS_CHUNK_REMOVE;
    tfs_work_submit(&work->work);
    return -EINPROGRESS;
}
