/*
 * Edits: from what users wrote to a file, or did to a chunk's directory, to a new document. Run by
 * the store's thread, which alone publishes documents; a rejected edit leaves them as they were.
 * None of these is called with the session's lock held.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/cells/written.h"
#include "formats/chosen.h"
#include "fs/session/ops.h"

/* ---- removals that go with an edit ----------------------------------------------------------- */

/* Notes that the edit of `work` stores this unlinked file as absent; false: it is not to be. */
static bool begin_removal(struct tfs_work *work, const struct tfs_node *node)
{
    struct tfs_session *s = work->branch->session;

    pthread_mutex_lock(&s->lock);
    struct tfs_whiteout *whiteout = tfs_whiteout_find(&s->overlay, node);
    bool waits = whiteout != NULL && whiteout->unlinked && whiteout->carrier == NULL;
    if (waits)
        whiteout->carrier = work;
    work->carries = work->carries || waits;
    pthread_mutex_unlock(&s->lock);
    return waits;
}

static void cancel_removal(struct tfs_session *s, const struct tfs_node *node)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_whiteout *whiteout = tfs_whiteout_find(&s->overlay, node);
    if (whiteout != NULL)
        whiteout->carrier = NULL;
    pthread_mutex_unlock(&s->lock);
}

/* An accepted edit of a chunk takes the unlinked optional files of that chunk along, so that the
 * save never holds the edit without the removal that came before it. Other chunks do not: a program
 * that unlinks a file to create it again must be able to take its time. A removal that the format
 * rejects does not hold up the edit; it stays, and its own end says why. `self` is a file of the
 * chunk, whose own name comes back with the edit, or its directory. 0 or -ENOMEM. */
static int take_removals(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *self)
{
    struct tfs_save *save = work->branch->save;
    const struct tfs_tree *tree = save->tree;
    int result = 0;

    for (unsigned i = 0; i < tree->chunk.count && result != -ENOMEM; i++) {
        struct tfs_error rejection = {0};
        const struct tfs_file *file = &tree->chunk.files[i];
        if ((file->flags & TFS_FILE_OPTIONAL) == 0 || (int)i == self->file)
            continue;
        struct tfs_node node = tfs_node_sibling_file(self, i, 0);
        if (!begin_removal(work, &node))
            continue;
        result = tfs_node_exists(save, tfs_edit_doc(edit), &node);
        if (result == 1)
            result = file->lens->remove(save, edit, tfs_node_at(save, &node), &rejection);
        if (result < 0)
            cancel_removal(work->branch->session, &node);
    }
    return result == -ENOMEM ? result : 0;
}

/* The same for all chunks that the edit of a root file has changed. */
static int take_removals_of_changed(struct tfs_work *work, struct tfs_edit *edit)
{
    int result = 0;

    for (size_t i = 0, count = edit->touched_count; i < count && result == 0; i++) {
        const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), edit->touched[i]);
        if (chunk != NULL) {
            struct tfs_node node = tfs_node_of_chunk(chunk);
            node.store = work->branch->number;
            result = take_removals(work, edit, &node);
        }
    }
    return result;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Takes the edit that was prepared of the text, if that was made of the document that is shown, and
 * if it would be the same now. */
static bool take_prepared(const struct tfs_work *work, struct tfs_edit *edit,
                          const struct tfs_node *node, const struct tfs_put *put)
{
    struct tfs_prepared *prepared = work->prepared;

    if (prepared == NULL || put->fresh || edit->changed || prepared->edit.base != edit->base ||
        prepared->file != tfs_node_id(node) ||
        prepared->edit.next->next_slot != edit->base->next_slot)
        return false;
    tfs_edit_release(edit);
    *edit = prepared->edit;
    prepared->edit = (struct tfs_edit){0};
    return true;
}

/* A file of a chunk comes after the removals: where it is raw.bin, it says what is there now. */
static int put_with_removals(struct tfs_work *work, struct tfs_edit *edit,
                             const struct tfs_node *node, struct tfs_span text, struct tfs_put *put,
                             struct tfs_error *err)
{
    bool chunk = node->scope == TFS_SCOPE_CHUNK;

    if (chunk && take_removals(work, edit, node) < 0)
        return tfs_fail_memory(err);
    int result = take_prepared(work, edit, node, put)
                     ? 0
                     : tfs_node_put(work->branch->save, edit, node, text, put, err);
    if (result == 0 && !chunk && take_removals_of_changed(work, edit) < 0)
        return tfs_fail_memory(err);
    return result;
}

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

/* Does the tree show no stored bytes, which would say what else is in a new chunk? */
static bool lacks_raw(const struct tfs_save *save)
{
    for (unsigned i = 0; i < save->tree->chunk.count; i++)
        if ((save->tree->chunk.files[i].flags & TFS_FILE_RAW) != 0 &&
            tfs_file_is_chosen(&save->tree->chunk.files[i], save->options.views))
            return false;
    return true;
}

/* In a new chunk without raw.bin: an optional file that nobody created is absent, whatever a new
 * chunk has by itself. Where it is created later, it comes back. */
static int remove_uncreated(const struct tfs_branch *branch, struct tfs_edit *edit,
                            const struct tfs_node *self, struct tfs_error *err)
{
    struct tfs_session *s = branch->session;
    struct tfs_save *save = branch->save;

    if (!lacks_raw(save))
        return 0;
    pthread_mutex_lock(&s->lock);
    const struct tfs_fresh *fresh = tfs_fresh_find(&s->overlay, self);
    uint32_t kept = fresh != NULL && fresh->hidden ? fresh->created : UINT32_MAX;
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < save->tree->chunk.count; i++) {
        const struct tfs_file *file = &save->tree->chunk.files[i];
        struct tfs_node node = tfs_node_sibling_file(self, i, 0);
        if ((file->flags & TFS_FILE_OPTIONAL) == 0 || (kept >> i & 1) != 0 ||
            (int)i == self->file || tfs_node_exists(save, tfs_edit_doc(edit), &node) != 1)
            continue;
        if (file->lens->remove(save, edit, tfs_node_at(save, &node), err) < 0)
            return err->code;
    }
    return 0;
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

static int edit_text(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *node,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_branch *branch = work->branch;
    int result = put_with_removals(work, edit, node, text, put, err);

    if (result == 0 && put->fresh)
        result = remove_uncreated(branch, edit, node, err);
    if (result == 0)
        result = tfs_store_accept(branch->store, edit, tfs_node_id(node), &work->job, err);
    if (result == 0)
        tell_new_names(work, node);
    return result;
}

/* In a chunk just made, which remembers what its files said if that is accepted. */
static int edit_in_fresh(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *node,
                         struct tfs_span text, struct tfs_fresh *fresh, struct tfs_error *err)
{
    struct tfs_put put = {
        .fresh = true, .written = work->written, .values = tfs_written_values_copy(fresh->values)};
    struct tfs_written_values *dropped = put.values;

    if (put.values == NULL)
        return tfs_fail_memory(err);
    int result = edit_text(work, edit, node, text, &put, err);
    if (result == 0) {
        dropped = fresh->values;
        fresh->values = put.values;
    }
    tfs_written_values_free(dropped);
    return result;
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
    /* Only this thread removes it, so it stays valid without the lock. */
    struct tfs_fresh *fresh = tfs_fresh_find(&s->overlay, node);
    pthread_mutex_unlock(&s->lock);
    if (is_gone(work->branch, &target))
        return tfs_fail(err, -ESTALE, "%s was deleted while this file was being written",
                        node->scope == TFS_SCOPE_CHUNK ? "the chunk" : "what it shows");
    int result = tfs_store_edit(work->branch->store, &edit, err);
    if (result < 0)
        return result;
    result = fresh != NULL ? edit_in_fresh(work, &edit, &target, text, fresh, err)
                           : edit_text(work, &edit, &target, text, &put, err);
    tfs_edit_release(&edit);
    return result;
}

/* ---- chunk directories ----------------------------------------------------------------------- */

/* One step from the shown document to the next: what `change` does to the edit. */
typedef int (*change_fn)(struct tfs_chunk_work *work, struct tfs_edit *edit, struct tfs_error *err);

static int change_chunk(struct tfs_chunk_work *work, change_fn change, struct tfs_error *err)
{
    struct tfs_store *store = work->work.branch->store;
    struct tfs_edit edit;
    int result = tfs_store_edit(store, &edit, err);

    if (result < 0)
        return result;
    result = change(work, &edit, err);
    if (result == 0)
        result = tfs_store_accept(store, &edit, 0, &work->work.job, err);
    tfs_edit_release(&edit);
    return result;
}

static int refuse(const struct tfs_chunk_work *work, const struct tfs_error *err,
                  struct tfs_key key)
{
    struct tfs_node node = work->node;

    node.key = key;
    tfs_ops_log_node(work->work.branch->session, err, &node);
    return err->code;
}

static int make_chunk(struct tfs_chunk_work *work, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_session *s = work->work.branch->session;
    struct tfs_save *save = work->work.branch->save;

    if (tfs_doc_find(edit->base, work->node.key) != NULL)
        return tfs_fail(err, -EEXIST, "this chunk is there already");
    int result = tfs_chunk_create(save, edit, work->node.key, err);
    if (result < 0)
        return result;
    /* Only this thread adds new directories, so that the room is still there. */
    pthread_mutex_lock(&s->lock);
    result = tfs_fresh_reserve(&s->overlay);
    pthread_mutex_unlock(&s->lock);
    return result < 0 ? tfs_fail_memory(err) : 0;
}

static int apply_make_chunk(struct tfs_job *job, bool last)
{
    struct tfs_chunk_work *work = (struct tfs_chunk_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_error err = {0};
    struct tfs_fresh *fresh = tfs_fresh_create();

    (void)last;
    if (fresh == NULL)
        return -ENOMEM;
    if (change_chunk(work, make_chunk, &err) < 0) {
        tfs_fresh_free(fresh);
        return refuse(work, &err, work->node.key);
    }
    work->node.slot = tfs_doc_find(tfs_store_shown(work->work.branch->store), work->node.key)->slot;
    pthread_mutex_lock(&s->lock);
    tfs_fresh_add(&s->overlay, &work->node, fresh);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static void settle_make_chunk(struct tfs_job *job)
{
    struct tfs_chunk_work *work = (struct tfs_chunk_work *)job;
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    if (job->result == 0) {
        tfs_ops_refresh(s, &work->node);
        job->result = tfs_ops_attr_node(s, NULL, &work->node, &work->work.attr);
        work->work.has_attr = true;
    } else if (job->edited) {
        tfs_fresh_remove(&s->overlay, &work->node);
    }
    pthread_mutex_unlock(&s->lock);
}

static int remove_chunk(struct tfs_chunk_work *work, struct tfs_edit *edit, struct tfs_error *err)
{
    return tfs_chunk_remove(work->work.branch->save, edit, work->node.key, err);
}

static int apply_remove_chunk(struct tfs_job *job, bool last)
{
    struct tfs_chunk_work *work = (struct tfs_chunk_work *)job;
    struct tfs_error err = {0};

    (void)last;
    int result = change_chunk(work, remove_chunk, &err);
    return result == 0 ? 0 : refuse(work, &err, work->node.key);
}

static void settle_remove_chunk(struct tfs_job *job)
{
    const struct tfs_chunk_work *work = (struct tfs_chunk_work *)job;
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    if (job->result == 0)
        tfs_overlay_forget_chunk(&s->overlay, &work->node, work->work.branch->save->tree);
    pthread_mutex_unlock(&s->lock);
}

static int move_chunk(struct tfs_chunk_work *work, struct tfs_edit *edit, struct tfs_error *err)
{
    struct tfs_save *save = work->work.branch->save;
    /* Another program may have changed the save since the names were looked at. */
    const struct tfs_chunk *chunk = tfs_doc_find(edit->base, work->node.key);
    if (chunk == NULL || chunk->slot != work->node.slot)
        return tfs_fail(err, -ESTALE, "the chunk to be moved is not there any more");
    if (!tfs_chunks_are_fixed(save) && tfs_doc_find(edit->base, work->to) != NULL)
        return tfs_fail(err, -EEXIST, "this chunk is there already");
    if (take_removals(&work->work, edit, &work->node) < 0)
        return tfs_fail_memory(err);
    return tfs_chunk_move(save, edit, work->node.key, work->to, err);
}

static int apply_move_chunk(struct tfs_job *job, bool last)
{
    struct tfs_chunk_work *work = (struct tfs_chunk_work *)job;
    struct tfs_error err = {0};

    (void)last;
    int result = change_chunk(work, move_chunk, &err);
    return result == 0 ? 0 : refuse(work, &err, work->to);
}

const struct tfs_job_kind tfs_make_chunk = {apply_make_chunk, settle_make_chunk};
const struct tfs_job_kind tfs_remove_chunk = {apply_remove_chunk, settle_remove_chunk};
const struct tfs_job_kind tfs_move_chunk = {apply_move_chunk, NULL};

/* ---- the end of whiteouts -------------------------------------------------------------------- */

static int store_absent(struct tfs_end_work *work, struct tfs_error *err)
{
    const struct tfs_branch *branch = work->work.branch;
    const struct tfs_file *file = tfs_node_file(branch->save, &work->node);
    struct tfs_edit edit;
    int result = tfs_store_edit(branch->store, &edit, err);

    if (result < 0)
        return result;
    int exists = tfs_node_exists(branch->save, edit.base, &work->node);
    if (exists == 1)
        result =
            file->lens->remove(branch->save, &edit, tfs_node_at(branch->save, &work->node), err);
    else if (exists < 0)
        result = tfs_fail(err, exists, "cannot be removed now, its chunk cannot be looked into");
    if (result == 0)
        result = tfs_store_accept(branch->store, &edit, 0, &work->work.job, err);
    tfs_edit_release(&edit);
    return result;
}

/* The whiteout goes: the name shows again, if its file is there. */
static void end_name(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_node dir = tfs_ops_parent(s, node);

    tfs_whiteout_remove(&s->overlay, node);
    tfs_ops_bump_directory(s, &dir);
    tfs_notify_stale(s->notify, tfs_node_id(&dir));
}

/* What could not be done now: for want of memory, or while another program holds the save
 * locked. */
static bool is_passing(int result)
{
    return result == -ENOMEM || result == -EBUSY;
}

static void end_whiteout(struct tfs_session *s, const struct tfs_end_work *work, int result,
                         bool last)
{
    struct tfs_whiteout *whiteout = tfs_whiteout_find(&s->overlay, &work->node);

    if (is_passing(result) && !last && whiteout != NULL)
        tfs_whiteout_linger(&s->overlay, whiteout); /* it is removed later */
    else
        end_name(s, &work->node);
    /* That a removal is rejected is no fault of a file that is synced; that it waits on must be
     * told. */
    if (result < 0 && work->result != NULL && (!work->passing_only || is_passing(result)))
        *work->result = result;
}

static bool is_optional(const struct tfs_branch *branch, const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(branch->save, node);

    return file != NULL && (file->flags & TFS_FILE_OPTIONAL) != 0;
}

static int apply_end(struct tfs_job *job, bool last)
{
    struct tfs_end_work *work = (struct tfs_end_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_error err = {0};
    int result = 0;

    pthread_mutex_lock(&s->lock);
    const struct tfs_whiteout *whiteout = tfs_whiteout_find(&s->overlay, &work->node);
    bool still = whiteout != NULL;
    bool carried = still && whiteout->carrier != NULL; /* what becomes of that edit decides */
    tfs_ops_refresh(s, &work->node);
    pthread_mutex_unlock(&s->lock);
    if (carried)
        return 0;
    if (still && is_optional(work->work.branch, &work->node))
        result = store_absent(work, &err);
    if (result < 0)
        tfs_ops_log_node(s, &err, &work->node);
    pthread_mutex_lock(&s->lock);
    end_whiteout(s, work, result, last);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static const struct tfs_job_kind end_of_whiteout = {apply_end, NULL};

int tfs_ops_end_whiteout(struct tfs_session *s, const struct tfs_node *node, int *result,
                         bool passing_only)
{
    struct tfs_end_work *work = tfs_work_create(
        sizeof(*work), &end_of_whiteout, tfs_ops_branch(s, node), NULL, (struct tfs_reply){0});

    if (work == NULL)
        return -ENOMEM;
    work->node = *node;
    work->result = result;
    work->passing_only = passing_only;
    tfs_work_submit(&work->work);
    return 0;
}

void tfs_ops_end_carried(struct tfs_work *work)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_map_cell cell;
    bool stands = work->job.edited && !work->job.undone;

    if (!work->carries)
        return;
    pthread_mutex_lock(&s->lock);
    for (size_t at = 0; tfs_map_next(&s->overlay.whiteouts, &at, &cell);) {
        struct tfs_whiteout *whiteout = cell.value;
        if (whiteout->carrier != work)
            continue;
        whiteout->carrier = NULL;
        if (stands) {
            struct tfs_node node = whiteout->node;
            end_name(s, &node);
            at--;
        }
    }
    pthread_mutex_unlock(&s->lock);
}
