/*
 * Edits: from what users wrote or did to a new document. Run by the worker only; a refused one
 * leaves the document as it was. Committing is not done here (worker.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/state.h"

/* ---- adopting a document --------------------------------------------------------------------- */

struct adopting {
    struct tfs_session *s;
    const struct tfs_node *self;
    const struct tfs_doc *before;
};

static void changed_node(struct adopting *a, struct tfs_node node)
{
    struct tfs_session *s = a->s;
    if (a->self != NULL && tfs_node_same(a->self, &node)) {
        tfs_bump_stamp_locked(s, &node);
        return;
    }
    tfs_bump_locked(s, &node);
    tfs_stale_id(s, tfs_node_known_id_locked(s, &node));
    struct tfs_node dir = tfs_tree_parent(s->save, &node);
    const struct tfs_file *file = tfs_node_file(s->save, &node);
    bool comes_and_goes =
        file != NULL && (file->lens->exists != NULL || file->family_count != NULL);
    if (comes_and_goes)
        tfs_stale_id(s, tfs_node_known_id_locked(s, &dir));
}

static bool reserve_keys(struct tfs_session *s, uint32_t count)
{
    if (count <= s->key_count)
        return true;
    struct tfs_key *keys = realloc(s->keys, (size_t)count * sizeof(*keys));
    if (keys == NULL)
        return false;
    for (uint32_t i = s->key_count; i < count; i++)
        keys[i].group = UINT32_MAX;
    s->keys = keys;
    s->key_count = count;
    return true;
}

/* The directory that lists chunks of this group reads differently. */
static void changed_list(struct adopting *a, const struct tfs_chunk *chunk)
{
    struct tfs_node dir = {
        .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = -1};
    tfs_stale_id(a->s, tfs_node_id(&dir));
    dir = tfs_tree_parent(a->s->save, &dir);
    tfs_bump_locked(a->s, &dir);
    tfs_stale_id(a->s, tfs_node_id(&dir));
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct adopting *a = arg;
    struct tfs_session *s = a->s;
    const struct tfs_chunk *chunk = after != NULL ? after : before;
    if (before == NULL || after == NULL)
        changed_list(a, chunk);
    /* A moved chunk is first gone and then there, or the other way round: keys tell which is
     * last. */
    if (after != NULL)
        s->keys[chunk->slot] = chunk->key;
    else if (tfs_key_compare(s->keys[chunk->slot], chunk->key) == 0)
        s->keys[chunk->slot].group = UINT32_MAX;
    const struct tfs_tree *tree = s->save->tree;
    uint32_t files = tree->chunk_changes != NULL ? tree->chunk_changes(before, after) : UINT32_MAX;
    for (unsigned i = 0; i < tree->chunk_count; i++) {
        struct tfs_node node = {
            .scope = TFS_SCOPE_CHUNK, .key = chunk->key, .slot = chunk->slot, .file = (int)i};
        struct tfs_inode *inode = tfs_map_find(&s->virtuals, tfs_node_id(&node));
        if (inode != NULL && after != NULL)
            inode->node.key = after->key;
        if ((files >> i & 1) != 0)
            changed_node(a, node);
    }
    return 0;
}

static void changed_root(struct adopting *a, const struct tfs_doc *after)
{
    const struct tfs_tree *tree = a->s->save->tree;
    uint32_t files = tree->root_changes != NULL ? tree->root_changes(a->before, after) : UINT32_MAX;
    for (unsigned i = 0; i < tree->root_count; i++) {
        if ((files >> i & 1) == 0)
            continue;
        const struct tfs_file *file = &tree->root_files[i];
        uint32_t members = 1;
        if (file->family_count != NULL) {
            uint32_t old_count = file->family_count(a->before);
            members = file->family_count(after);
            members = members > old_count ? members : old_count;
        }
        for (uint32_t m = 0; m < members; m++)
            changed_node(a, (struct tfs_node){.file = (int)i, .member = m});
    }
    if (tree->group_dir != NULL)
        tfs_stale_id(a->s, 1);
}

int tfs_adopt_prepare(struct tfs_session *s, const struct tfs_doc *doc, struct tfs_error *err)
{
    pthread_mutex_lock(&s->lock);
    bool room = reserve_keys(s, doc->next_slot);
    pthread_mutex_unlock(&s->lock);
    return room ? 0 : tfs_fail_memory(err);
}

void tfs_adopt(struct tfs_session *s, struct tfs_doc *doc, const struct tfs_node *self)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_doc *before = s->doc;
    struct adopting a = {s, self, before};
    assert(doc->next_slot <= s->key_count);
    s->doc = doc;
    if (before->version != doc->version) {
        (void)tfs_doc_diff(before, doc, changed_chunk, &a);
        changed_root(&a, doc);
    }
    tfs_doc_unref(before);
    pthread_mutex_unlock(&s->lock);
}

/* Finishes the edit, makes its document the shown one, and notes in the job what it did. */
static int adopt_edit(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *self,
                      struct tfs_job *job, struct tfs_error *err)
{
    struct tfs_doc *doc = tfs_edit_finish(edit);
    if (doc->version == s->doc->version || tfs_adopt_prepare(s, doc, err) < 0) {
        tfs_doc_unref(doc);
        return err->code;
    }
    job->edited = true;
    if (job->before == NULL)
        job->before = tfs_doc_ref(s->doc);
    tfs_doc_unref(job->after);
    job->after = tfs_doc_ref(doc);
    tfs_adopt(s, doc, self);
    return 0;
}

static int differs(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)arg;
    (void)before;
    (void)after;
    return 1;
}

bool tfs_same_content(const struct tfs_doc *a, const struct tfs_doc *b)
{
    bool same = tfs_doc_diff(a, b, differs, NULL) == 0;
    for (unsigned i = 0; i < TFS_PARTS; i++)
        same = same && tfs_blob_equal(a->parts[i], b->parts[i]);
    return same;
}

struct undoing {
    struct tfs_session *s;
    struct tfs_edit *edit;
    struct tfs_error *err;
};

static int undo_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct undoing *u = arg;
    return before != NULL ? tfs_edit_put(u->edit, before, u->err)
                          : tfs_edit_remove(u->edit, after->key, u->err);
}

/* Is the chunk still as the edit left it? */
static int still_edited(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct tfs_session *s = arg;
    struct tfs_key key = after != NULL ? after->key : before->key;
    return tfs_chunk_same(tfs_doc_find(s->doc, key), after) ? 0 : 1;
}

static bool can_undo(struct tfs_session *s, const struct tfs_job *job)
{
    bool can = job->edited && tfs_doc_diff(job->before, job->after, still_edited, s) == 0;
    for (unsigned i = 0; i < TFS_PARTS; i++)
        can = can && (job->before->parts[i] == job->after->parts[i] ||
                      job->after->parts[i] == s->doc->parts[i]);
    return can;
}

/* Back to the very document on disk, when it is the same again: nothing is unsaved then. */
static struct tfs_doc *or_disk(struct tfs_session *s, struct tfs_doc *doc)
{
    if (!tfs_same_content(doc, s->disk))
        return doc;
    tfs_doc_unref(doc);
    s->disk->next_slot = s->key_count; /* slots that were given out are not given again */
    return tfs_doc_ref(s->disk);
}

void tfs_undo(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_edit edit;
    struct tfs_error err = {0};
    struct undoing u = {s, &edit, &err};
    /* With nothing on top of it the document before is at hand, which needs no memory. */
    if (job->edited && job->after == s->doc) {
        job->before->next_slot = s->key_count;
        tfs_adopt(s, tfs_doc_ref(job->before), NULL);
        return;
    }
    if (!can_undo(s, job) || tfs_edit_open(s->doc, &edit, &err) < 0)
        return;
    int result = tfs_doc_diff(job->before, job->after, undo_chunk, &u);
    for (unsigned i = 0; i < TFS_PARTS; i++) {
        if (job->before->parts[i] != job->after->parts[i])
            tfs_edit_part(&edit, i, job->before->parts[i]);
    }
    if (result == 0)
        tfs_adopt(s, or_disk(s, tfs_edit_finish(&edit)), NULL);
    tfs_edit_release(&edit);
}

/* ---- judging documents ----------------------------------------------------------------------- */

static int put_text(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *node,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_file *file = tfs_node_file(s->save, node);
    if (file->lens->put == NULL)
        return tfs_fail(err, -EACCES, "this file is read-only");
    return file->lens->put(s->save, edit, tfs_node_at(node), text, put, err);
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
                (file->family_count != NULL && target.member >= file->family_count(s->doc));
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
    result = put_text(s, &edit, &target, text, &put, err);
    if (result == 0 && fresh != NULL)
        result = put_waiting(s, &edit, &target, fresh, &done, err);
    struct tfs_blob *waits = NULL;
    if (result == 0 && fresh != NULL && put.waits)
        result = tfs_blob_copy(text, &waits, err);
    if (result == 0)
        result = adopt_edit(s, &edit, &target, job, err);
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
    if (tfs_node_exists(s->save, s->doc, node))
        result = tfs_node_file(s->save, node)->lens->remove(s->save, &edit, tfs_node_at(node), err);
    if (result == 0)
        result = adopt_edit(s, &edit, NULL, job, err);
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
            result = adopt_edit(s, &edit, NULL, job, &err);
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
        result = adopt_edit(s, &edit, NULL, job, &err);
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
    else
        result = s->save->tree->chunk_move(s->save, &edit, job->node.key, job->to, &err);
    if (result == 0)
        result = adopt_edit(s, &edit, NULL, job, &err);
    tfs_edit_release(&edit);
    return result == 0 ? 0 : refuse_job(s, &err, &job->to);
}

/* ---- closing files --------------------------------------------------------------------------- */

/* A copy of the bytes to judge; they count as judged from here on. */
static struct tfs_blob *bytes_to_judge(struct tfs_session *s, struct tfs_inode *inode,
                                       struct tfs_node *node, struct tfs_error *err)
{
    struct tfs_blob *blob = NULL;
    pthread_mutex_lock(&s->lock);
    if (inode->outdated)
        tfs_fail(err, -ESTALE, "the save was changed by another program, which was given way");
    else if (inode->kind == TFS_INODE_VIRTUAL && inode->pending && inode->dirty &&
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
    struct tfs_blob *blob = bytes_to_judge(s, inode, &node, err);
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
    if (!tfs_node_exists(s->save, s->doc, node))
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
    tfs_log_error(s, err, path.failed ? NULL : (const char *)path.data);
    tfs_buf_release(&path);
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
    int result = tfs_map_reserve(&s->virtuals);
    if (result == 0 && job->inode->kind == TFS_INODE_VIRTUAL)
        result = tfs_tombstone_add_locked(s, &job->inode->node);
    return result;
}

static void leave_old_name(struct tfs_session *s, struct tfs_job *job)
{
    struct tfs_inode *inode = job->inode;
    if (inode->kind == TFS_INODE_VIRTUAL)
        return; /* it has its tombstone */
    struct tfs_link *link = tfs_link_find_locked(s, job->parent, job->name);
    if (link != NULL && link->inode == inode)
        tfs_link_remove_locked(s, job->parent, link);
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
