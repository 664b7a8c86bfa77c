/*
 * Edits: from what users wrote to a file, or did to a chunk's directory, to a new document. Run by
 * the worker only; a refused one leaves the document as it was. Committing is not done here
 * (worker.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/state.h"

/* ---- removals that go with an edit ----------------------------------------------------------- */

/* Notes that the edit of `job` stores this unlinked file as absent; false: it is not to be. */
static bool begin_removal(struct tfs_session *s, const struct tfs_node *node, struct tfs_job *job)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_tombstone *tomb = tfs_tombstone_locked(s, node);
    bool waits = tomb != NULL && tomb->unlinked && tomb->carrier == NULL;
    if (waits)
        tomb->carrier = job;
    job->carries = job->carries || waits;
    pthread_mutex_unlock(&s->lock);
    return waits;
}

static void cancel_removal(struct tfs_session *s, const struct tfs_node *node)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_tombstone *tomb = tfs_tombstone_locked(s, node);
    if (tomb != NULL)
        tomb->carrier = NULL;
    pthread_mutex_unlock(&s->lock);
}

/* An accepted edit of a chunk takes the unlinked optional files of that chunk along, so that the
 * save never holds the edit without the removal that came before it. Other chunks do not: a program
 * that unlinks a file to create it anew must be able to take its time. A removal that is refused
 * does not hold up the edit; it stays, and its own end says why. `self` is a file of the chunk,
 * whose own name comes back with the edit, or its directory. 0 or -ENOMEM. */
static int take_removals(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *self,
                         struct tfs_job *job)
{
    const struct tfs_tree *tree = s->save->tree;
    int result = 0;
    for (unsigned i = 0; i < tree->chunk_count && result != -ENOMEM; i++) {
        struct tfs_error refusal = {0};
        const struct tfs_file *file = &tree->chunk_files[i];
        struct tfs_node node = tfs_node_sibling_file(self, i, 0);
        if ((file->flags & TFS_FILE_OPTIONAL) == 0 || (int)i == self->file ||
            !begin_removal(s, &node, job))
            continue;
        result = tfs_node_exists(s->save, tfs_edit_doc(edit), &node);
        if (result == 1)
            result = file->lens->remove(s->save, edit, tfs_node_at(s->save, &node), &refusal);
        if (result < 0)
            cancel_removal(s, &node);
    }
    return result == -ENOMEM ? result : 0;
}

/* The same for all chunks that the edit of a root file has changed. */
static int take_removals_of_changed(struct tfs_session *s, struct tfs_edit *edit,
                                    struct tfs_job *job)
{
    int result = 0;
    for (size_t i = 0, count = edit->touched_count; i < count && result == 0; i++) {
        const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), edit->touched[i]);
        if (chunk != NULL) {
            struct tfs_node node = tfs_node_of_chunk(chunk);
            result = take_removals(s, edit, &node, job);
        }
    }
    return result;
}

/* ---- judging documents ----------------------------------------------------------------------- */

static int put_text(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *node,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_file *file = tfs_node_file(s->save, node);
    if (file->lens->put == NULL)
        return tfs_fail(err, -EACCES, "this file is read-only");
    return file->lens->put(s->save, edit, tfs_node_at(s->save, node), text, put, err);
}

/* A file of a chunk comes after the removals: where it is raw.bin, it says what is there now. */
static int put_with_removals(struct tfs_session *s, struct tfs_edit *edit,
                             const struct tfs_node *node, struct tfs_span text, struct tfs_put *put,
                             struct tfs_job *job, struct tfs_error *err)
{
    bool chunk = node->scope == TFS_SCOPE_CHUNK;
    if (chunk && take_removals(s, edit, node, job) < 0)
        return tfs_fail_memory(err);
    int result = put_text(s, edit, node, text, put, err);
    if (result == 0 && !chunk && take_removals_of_changed(s, edit, job) < 0)
        return tfs_fail_memory(err);
    return result;
}

/* In a new chunk: texts that had to leave something out get another chance now. *done: bit i: that
 * of chunk_files[i] waits no more, once the edit is accepted. */
static int put_waiting(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *node,
                       const struct tfs_fresh *fresh, uint32_t *done, struct tfs_error *err)
{
    for (unsigned i = 0; i < s->save->tree->chunk_count; i++) {
        struct tfs_node other = *node;
        other.file = (int)i;
        if (fresh->waiting[i] == NULL || other.file == node->file)
            continue;
        struct tfs_put put = {.fresh = true, .options = s->options.put_options};
        int result = put_text(s, edit, &other, tfs_blob_span(fresh->waiting[i]), &put, err);
        if (result < 0)
            return result;
        if (!put.waits)
            *done |= UINT32_C(1) << i;
    }
    return 0;
}

bool tfs_fresh_complete(const struct tfs_session *s, const struct tfs_fresh *fresh)
{
    for (unsigned i = 0; i < s->save->tree->chunk_count; i++) {
        const struct tfs_file *file = &s->save->tree->chunk_files[i];
        bool required = (file->flags & TFS_FILE_OPTIONAL) == 0 && file->lens->put != NULL;
        if (required && (fresh->written >> i & 1) == 0)
            return false;
    }
    return true;
}

/* `waits`: the text, if it waits for another file; taken over. */
static void accepted_in_fresh(struct tfs_session *s, const struct tfs_node *node,
                              struct tfs_blob *waits, uint32_t done)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_fresh *fresh = tfs_fresh_locked(s, node);
    if (fresh != NULL) {
        fresh->written |= UINT32_C(1) << node->file;
        done |= UINT32_C(1) << node->file;
        for (unsigned i = 0; i < TFS_FILES_MAX; i++) {
            if ((done >> i & 1) == 0)
                continue;
            tfs_blob_unref(fresh->waiting[i]);
            fresh->waiting[i] = NULL;
        }
        fresh->waiting[node->file] = tfs_blob_ref(waits);
        /* Like any other directory from now on, unless names are still hidden. */
        if (!fresh->hidden && tfs_fresh_complete(s, fresh))
            tfs_fresh_remove_locked(s, node->slot);
    }
    pthread_mutex_unlock(&s->lock);
    tfs_blob_unref(waits);
}

int tfs_judge(struct tfs_session *s, const struct tfs_node *node, struct tfs_span text,
              struct tfs_job *job, struct tfs_error *err)
{
    struct tfs_edit edit;
    pthread_mutex_lock(&s->lock);
    struct tfs_node target = *node;
    /* The chunk may have been moved or deleted since, or the family become smaller. */
    if (node->scope == TFS_SCOPE_CHUNK)
        target.key = s->keys[node->slot];
    const struct tfs_file *file = tfs_node_file(s->save, &target);
    const struct tfs_chunk *chunk = tfs_doc_find(s->doc, target.key);
    bool gone = (node->scope == TFS_SCOPE_CHUNK && (chunk == NULL || chunk->slot != node->slot)) ||
                (file->count != NULL && target.member >= file->count(s->doc));
    /* Only the worker removes it, so it stays valid without the lock. */
    struct tfs_fresh *fresh = tfs_fresh_locked(s, node);
    pthread_mutex_unlock(&s->lock);
    if (gone)
        return tfs_fail(err, -ESTALE, "%s was deleted while this file was being written",
                        node->scope == TFS_SCOPE_CHUNK ? "the chunk" : "what it shows");
    struct tfs_put put = {.fresh = fresh != NULL, .options = s->options.put_options};
    uint32_t done = 0;
    int result = tfs_edit_open(s->doc, &edit, err);
    if (result < 0)
        return result;
    result = put_with_removals(s, &edit, &target, text, &put, job, err);
    if (result == 0 && fresh != NULL)
        result = put_waiting(s, &edit, &target, fresh, &done, err);
    struct tfs_blob *waits = NULL;
    if (result == 0 && fresh != NULL && put.waits)
        result = tfs_blob_copy(text, &waits, err);
    if (result == 0)
        result = tfs_adopt_edit(s, &edit, &target, job, err);
    if (result == 0 && fresh != NULL)
        accepted_in_fresh(s, &target, waits, done);
    else
        tfs_blob_unref(waits);
    tfs_edit_release(&edit);
    return result;
}

int tfs_store_absent(struct tfs_session *s, const struct tfs_node *node, struct tfs_job *job,
                     struct tfs_error *err)
{
    struct tfs_edit edit;
    int result = tfs_edit_open(s->doc, &edit, err);
    if (result < 0)
        return result;
    int exists = tfs_node_exists(s->save, s->doc, node);
    if (exists == 1)
        result = tfs_node_file(s->save, node)
                     ->lens->remove(s->save, &edit, tfs_node_at(s->save, node), err);
    else if (exists < 0)
        result = tfs_fail(err, exists, "cannot be removed now, its chunk cannot be looked into");
    if (result == 0)
        result = tfs_adopt_edit(s, &edit, NULL, job, err);
    tfs_edit_release(&edit);
    return result;
}

/* ---- chunk directories ----------------------------------------------------------------------- */

void tfs_log_refusal(struct tfs_session *s, const struct tfs_node *node,
                     const struct tfs_error *err)
{
    struct tfs_buf path = {0};
    tfs_tree_path(s->save, s->doc, node, &path);
    tfs_buf_u8(&path, 0);
    tfs_log_error(s, err, path.failed ? NULL : (const char *)path.data);
    tfs_buf_release(&path);
}

static int refuse_job(struct tfs_session *s, struct tfs_error *err, const struct tfs_key *key)
{
    struct tfs_node node = {.scope = TFS_SCOPE_CHUNK, .key = *key, .file = -1};
    tfs_log_refusal(s, &node, err);
    return err->code;
}

static int reserve_fresh(struct tfs_session *s)
{
    pthread_mutex_lock(&s->lock);
    int result = tfs_map_reserve(&s->fresh);
    pthread_mutex_unlock(&s->lock);
    return result;
}

int tfs_apply_make_chunk(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_edit edit;
    struct tfs_error err = {0};
    struct tfs_fresh *fresh = calloc(1, sizeof(*fresh));
    if (fresh == NULL)
        return -ENOMEM;
    int result = tfs_edit_open(s->doc, &edit, &err);
    if (result == 0) {
        result = tfs_doc_find(s->doc, job->node.key) != NULL
                     ? tfs_fail(&err, -EEXIST, "this chunk is there already")
                     : s->save->tree->chunk_create(s->save, &edit, job->node.key, &err);
        /* Only the worker adds to this map, so that the room is still there. */
        if (result == 0 && reserve_fresh(s) < 0)
            result = tfs_fail_memory(&err);
        if (result == 0)
            result = tfs_adopt_edit(s, &edit, NULL, job, &err);
        tfs_edit_release(&edit);
    }
    if (result < 0) {
        free(fresh);
        return refuse_job(s, &err, &job->node.key);
    }
    pthread_mutex_lock(&s->lock);
    job->node.slot = tfs_doc_find(s->doc, job->node.key)->slot;
    fresh->hidden = true;
    fresh->deadline = tfs_now_ms() + s->options.linger_ms;
    if (tfs_map_set(&s->fresh, (uint64_t)job->node.slot + 1, fresh) < 0)
        free(fresh);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void tfs_settle_make_chunk(struct tfs_session *s, struct tfs_job *job)
{
    if (job->result == 0) {
        job->result = tfs_attr_node_locked(s, &job->node, true, &job->attr);
        job->has_attr = true;
    } else if (job->edited) {
        tfs_fresh_remove_locked(s, job->node.slot);
    }
}

int tfs_apply_remove_chunk(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_edit edit;
    struct tfs_error err = {0};
    const struct tfs_tree *tree = s->save->tree;
    int result = tfs_edit_open(s->doc, &edit, &err);
    if (result < 0)
        return result;
    result = tree->chunk_remove != NULL ? tree->chunk_remove(s->save, &edit, job->node.key, &err)
                                        : tfs_edit_remove(&edit, job->node.key, &err);
    if (result == 0)
        result = tfs_adopt_edit(s, &edit, NULL, job, &err);
    tfs_edit_release(&edit);
    return result == 0 ? 0 : refuse_job(s, &err, &job->node.key);
}

/* Everything that was said about names in the chunk goes with it. */
void tfs_settle_remove_chunk(struct tfs_session *s, struct tfs_job *job)
{
    if (job->result < 0)
        return;
    struct tfs_node node = job->node;
    tfs_fresh_remove_locked(s, node.slot);
    for (unsigned i = 0; i < s->save->tree->chunk_count; i++) {
        node.file = (int)i;
        tfs_tombstone_remove_locked(s, &node);
    }
    node.file = -1;
    for (node.directory = TFS_DIR_SUB; node.directory < TFS_DIR_SUB + TFS_FILES_MAX;
         node.directory++)
        tfs_tombstone_remove_locked(s, &node);
}

int tfs_apply_move_chunk(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_edit edit;
    struct tfs_error err = {0};
    int result = tfs_edit_open(s->doc, &edit, &err);
    if (result < 0)
        return result;
    /* Another program may have changed the save since the names were looked at. */
    const struct tfs_chunk *chunk = tfs_doc_find(s->doc, job->node.key);
    if (chunk == NULL || chunk->slot != job->node.slot)
        result = tfs_fail(&err, -ESTALE, "the chunk to be moved is not there any more");
    else if (!s->save->tree->fixed_chunks && tfs_doc_find(s->doc, job->to) != NULL)
        result = tfs_fail(&err, -EEXIST, "this chunk is there already");
    else if (take_removals(s, &edit, &job->node, job) < 0)
        result = tfs_fail_memory(&err);
    else
        result = s->save->tree->chunk_move(s->save, &edit, job->node.key, job->to, &err);
    if (result == 0)
        result = tfs_adopt_edit(s, &edit, NULL, job, &err);
    tfs_edit_release(&edit);
    return result == 0 ? 0 : refuse_job(s, &err, &job->to);
}
