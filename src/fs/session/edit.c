/*
 * Edits: from what users wrote to a file, or did to a chunk's directory, to a new document.
 * Optional files that were unlinked are stored as absent: when their directory is at rest, or
 * earlier with an edit of their chunk or a barrier. Run by the store's thread, which alone
 * publishes documents; a rejected edit leaves them as they were. None of these is called with the
 * session's lock held.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "formats/cells/written.h"
#include "fs/session/ops.h"

/* ---- optional files that are to be stored as absent ------------------------------------------ */

struct absent {
    struct tfs_node *nodes;
    size_t count;
};

static bool is_optional(const struct tfs_save *save, const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    return file != NULL && (file->flags & TFS_FILE_OPTIONAL) != 0;
}

/* Those of one directory, `with_edit` also what nobody created in a chunk just made: 0 or
 * -ENOMEM. */
static int find_in_directory(const struct tfs_branch *branch, const struct tfs_name_directory *dir,
                             bool with_edit, struct absent *absent)
{
    for (size_t i = 0; i < dir->hidden_count && dir->top.scope == TFS_SCOPE_CHUNK; i++) {
        struct tfs_node node = dir->hidden[i].node;
        const enum tfs_hiding hiding = dir->hidden[i].hiding;
        if (hiding == TFS_HIDING_PASSES || !is_optional(branch->save, &node) ||
            (hiding == TFS_HIDING_UNCREATED && !with_edit))
            continue;
        struct tfs_node *more = tfs_array_grow(absent->nodes, absent->count, sizeof(*more));
        if (more == NULL)
            return -ENOMEM;
        tfs_ops_refresh(branch->session, &node);
        absent->nodes = more;
        more[absent->count++] = node;
    }
    return 0;
}

/* Those of a chunk that the node belongs to; of another node, all of the save. Takes the lock. */
static int find_absent(const struct tfs_branch *branch, const struct tfs_node *node, bool with_edit,
                       struct absent *absent)
{
    struct tfs_session *s = branch->session;
    const bool one = node->scope == TFS_SCOPE_CHUNK;
    struct tfs_map_cell cell;
    int result = 0;

    pthread_mutex_lock(&s->lock);
    const struct tfs_name_directory *dir = one ? tfs_names_of(&s->names, node) : NULL;
    if (dir != NULL)
        result = find_in_directory(branch, dir, with_edit, absent);
    for (size_t at = 0; !one && result == 0 && tfs_map_next(&s->names.directories, &at, &cell);) {
        dir = cell.value;
        if (dir->top.store == branch->number)
            result = find_in_directory(branch, dir, with_edit, absent);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

static int store_absent(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_node *node,
                        struct tfs_error *err)
{
    const int exists = tfs_node_exists(save, tfs_edit_doc(edit), node);

    if (exists < 0)
        return tfs_fail(err, exists, "cannot be removed now, its chunk cannot be looked into");
    return exists == 1
               ? tfs_node_file(save, node)->lens->remove(save, edit, tfs_node_at(save, node), err)
               : 0;
}

static void end_absent(struct tfs_session *s, struct absent *taken, bool accepted)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; accepted && i < taken->count; i++)
        tfs_names_stored(&s->names, &taken->nodes[i]);
    pthread_mutex_unlock(&s->lock);
    free(taken->nodes);
}

/* What could not be done now: for want of memory, or while another program holds the save locked or
 * is half-way. */
static bool is_passing(int result)
{
    return result == -ENOMEM || result == -EBUSY || result == -EIO;
}

/* It cannot be removed. */
static void show_again(struct tfs_session *s, const struct tfs_node *node)
{
    pthread_mutex_lock(&s->lock);
    tfs_names_show(&s->names, node);
    tfs_ops_list_again(s, node);
    pthread_mutex_unlock(&s->lock);
}

/* Goes it with an edit of `self` (NULL: of nothing): of its chunk, or of one that it changes? Then
 * the save never holds the edit without the removals that came before it. */
static bool goes_with(const struct tfs_edit *edit, const struct tfs_node *self,
                      const struct tfs_node *node)
{
    return self == NULL || (tfs_node_id(node) != tfs_node_id(self) &&
                            (self->scope == TFS_SCOPE_CHUNK ||
                             !tfs_chunk_same(tfs_doc_find(edit->base, node->key),
                                             tfs_doc_find(tfs_edit_doc(edit), node->key))));
}

/* A failure; those that are stored are left in `absent`, for end_absent. One that cannot be stored
 * holds no edit of another file up: it waits for its own end, which says why. */
static int store_all(const struct tfs_branch *branch, struct tfs_edit *edit,
                     const struct tfs_node *self, struct absent *absent)
{
    const size_t count = absent->count;
    int failed = 0;

    absent->count = 0;
    for (size_t i = 0; i < count && !is_passing(failed); i++) {
        const struct tfs_node node = absent->nodes[i];
        struct tfs_error err = {0};
        if (!goes_with(edit, self, &node))
            continue;
        if (store_absent(branch->save, edit, &node, &err) == 0) {
            absent->nodes[absent->count++] = node;
            continue;
        }
        if (self != NULL && err.code != -ENOMEM)
            continue;
        failed = err.code;
        tfs_ops_log_node(branch->session, &err, &node);
        if (!is_passing(failed))
            show_again(branch->session, &node);
    }
    return failed;
}

int tfs_rest_store(struct tfs_work *work, const struct tfs_node *node)
{
    struct tfs_branch *branch = work->branch;
    struct absent absent = {0};
    struct tfs_error err = {0};
    struct tfs_edit edit;
    int failed = 0, result = find_absent(branch, node, false, &absent);

    if (result == 0 && absent.count > 0)
        result = tfs_store_edit(branch->store, &edit, &err);
    if (result == 0 && absent.count > 0) {
        failed = store_all(branch, &edit, NULL, &absent);
        result = tfs_store_accept(branch->store, &edit, 0, &work->job, &err);
        tfs_edit_release(&edit);
    }
    end_absent(branch->session, &absent, result == 0);
    return result < 0 ? result : failed;
}

/* ---- directories at rest --------------------------------------------------------------------- */

struct rest_work {
    struct tfs_work work;
    struct tfs_node top;
};

/* Where nothing was done in the directory since, it is at rest now. */
static int apply_rest(struct tfs_job *job, bool last)
{
    struct rest_work *work = (struct rest_work *)job;
    struct tfs_session *s = work->work.branch->session;
    const int result =
        work->top.scope == TFS_SCOPE_CHUNK ? tfs_rest_store(&work->work, &work->top) : 0;

    pthread_mutex_lock(&s->lock);
    struct tfs_name_directory *dir = tfs_names_of(&s->names, &work->top);
    const bool rests = dir != NULL && dir->changed == TFS_NAMES_NEVER;
    if (rests && is_passing(result) && !last) {
        tfs_names_touch(&s->names, &work->top);
    } else if (rests) {
        for (size_t i = 0; i < dir->hidden_count; i++)
            tfs_ops_list_again(s, &dir->hidden[i].node);
        tfs_names_end(&s->names, dir);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* Nobody has looked at it, because nothing can be edited now: its time begins anew. */
static void settle_rest(struct tfs_job *job)
{
    struct rest_work *work = (struct rest_work *)job;
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    const struct tfs_name_directory *dir = tfs_names_of(&s->names, &work->top);
    if (job->result < 0 && dir != NULL && dir->changed == TFS_NAMES_NEVER)
        tfs_names_touch(&s->names, &work->top);
    pthread_mutex_unlock(&s->lock);
}

static const struct tfs_job_kind rest_kind = {apply_rest, settle_rest};

/* Where somebody writes it is not the time: it begins anew. */
static void touch_written(struct tfs_session *s)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&s->inodes.open, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        if (inode->scratch == NULL && !tfs_inode_is_gone(inode) && tfs_inode_has_writer(inode))
            tfs_names_touch(&s->names, &inode->node);
    }
}

static void submit(void *arg, struct tfs_name_directory *dir)
{
    struct tfs_branch *branch = arg;
    struct rest_work *work =
        tfs_work_create(sizeof(*work), &rest_kind, branch, NULL, (struct tfs_reply){0});

    if (work == NULL) {
        tfs_names_touch(&branch->session->names, &dir->top);
        return;
    }
    dir->changed = TFS_NAMES_NEVER;
    work->top = dir->top;
    tfs_work_submit(&work->work);
}

int64_t tfs_rest_tick(struct tfs_branch *branch, int64_t now, bool all)
{
    struct tfs_names *names = &branch->session->names;

    if (!all && now >= names->due)
        touch_written(branch->session);
    return tfs_names_rest(names, branch->number, now, all, submit, branch);
}

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
    struct absent taken = {0};
    int result = tfs_node_put(save, edit, node, text, put, err);

    if (result == 0 && !raw &&
        (find_absent(work->branch, node, true, &taken) < 0 ||
         store_all(work->branch, edit, node, &taken) == -ENOMEM))
        result = tfs_fail_memory(err);
    if (result == 0)
        result = tfs_store_accept(work->branch->store, edit, tfs_node_id(node), &work->job, err);
    end_absent(s, &taken, result == 0);
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
    const int result = tfs_names_make(&s->names, &work->node, tfs_node_schema(save, &work->node));
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

static int apply_chunk(struct tfs_job *job, bool last)
{
    struct chunk_work *work = (struct chunk_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_node node = work->node;
    struct tfs_error err = {0};

    (void)last;
    if (edit_chunk(work, &err) == 0)
        return 0;
    pthread_mutex_lock(&s->lock);
    if (work->verb == TFS_CHUNK_MAKE && work->node.slot != TFS_SLOT_NONE)
        tfs_names_forget(&s->names, &work->node);
    pthread_mutex_unlock(&s->lock);
    node.key = work->to;
    node.slot = TFS_SLOT_NONE;
    tfs_ops_log_node(s, &err, &node);
    return err.code;
}

static void answer_make(struct tfs_session *s, struct chunk_work *work)
{
    tfs_ops_refresh(s, &work->node);
    work->work.job.result = tfs_ops_attr_node(s, NULL, &work->node, &work->work.attr);
    work->work.has_attr = true;
}

/* The time of a chunk that was made begins when it is there, durable or not. */
static void settle_chunk(struct tfs_job *job)
{
    struct chunk_work *work = (struct chunk_work *)job;
    struct tfs_session *s = work->work.branch->session;
    const bool made = work->verb == TFS_CHUNK_MAKE, removed = work->verb == TFS_CHUNK_REMOVE;

    pthread_mutex_lock(&s->lock);
    if (made && job->result == 0)
        answer_make(s, work);
    if (job->edited && (job->undone ? made : removed))
        tfs_names_forget(&s->names, &work->node);
    else if (made && job->edited)
        tfs_names_touch(&s->names, &work->node);
    pthread_mutex_unlock(&s->lock);
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
