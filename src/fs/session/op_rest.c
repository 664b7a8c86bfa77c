/*
 * Directories at rest: what was hidden shows again, and unlinked optional files are stored as
 * absent: at rest, or earlier with an edit of their chunk or a barrier. Run by the stores' threads,
 * but for tfs_rest_sync.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "fs/session/ops.h"

/* ---- optional files that are to be stored as absent ------------------------------------------ */

static bool is_optional(const struct tfs_save *save, const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    return file != NULL && (file->flags & TFS_FILE_OPTIONAL) != 0;
}

/* The names of a chunk that are stored as absent; with an edit also those that nobody created: how
 * many. With the lock. */
static size_t find_absent(const struct tfs_branch *branch, const struct tfs_node *chunk,
                          bool with_edit, struct tfs_node absent[TFS_FILES_MAX])
{
    const struct tfs_name_directory *dir = tfs_names_of(&branch->session->names, chunk);
    size_t count = 0;

    if (dir == NULL || chunk->scope != TFS_SCOPE_CHUNK)
        return 0;
    for (size_t i = 0; i < dir->hidden_count && count < TFS_FILES_MAX; i++) {
        const enum tfs_hiding hiding = dir->hidden[i].hiding;
        absent[count] = tfs_names_hidden(dir, i);
        absent[count].key = chunk->key;
        count += is_optional(branch->save, &absent[count]) &&
                 (hiding == TFS_HIDING_UNLINKED || (hiding == TFS_HIDING_UNCREATED && with_edit));
    }
    return count;
}

/* Stores the file as absent, and notes that the edit of the job does. */
static int store_absent(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *node,
                        struct tfs_error *err)
{
    struct tfs_save *save = work->branch->save;
    const int exists = tfs_node_exists(save, tfs_edit_doc(edit), node);

    if (exists < 0)
        return tfs_fail(err, exists, "cannot be removed now, its chunk cannot be looked into");
    if (exists == 1 &&
        tfs_node_file(save, node)->lens->remove(save, edit, tfs_node_at(save, node), err) < 0)
        return err->code;
    struct tfs_node *more = tfs_array_grow(work->carried, work->carried_count, sizeof(*more));
    if (more == NULL)
        return tfs_fail_memory(err);
    work->carried = more;
    more[work->carried_count++] = *node;
    return 0;
}

/* Of one chunk. A removal that the format rejects does not hold up the edit: it waits for its own
 * end, which says why. */
static int take_of_chunk(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *self)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_node absent[TFS_FILES_MAX];

    pthread_mutex_lock(&s->lock);
    const size_t count = find_absent(work->branch, self, true, absent);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < count; i++) {
        struct tfs_error rejection = {0};
        if (absent[i].file != self->file &&
            store_absent(work, edit, &absent[i], &rejection) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

int tfs_rest_take(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *self)
{
    int result = 0;

    if (self->scope == TFS_SCOPE_CHUNK)
        return take_of_chunk(work, edit, self);
    for (size_t i = 0, count = edit->touched_count; i < count && result == 0; i++) {
        const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), edit->touched[i]);
        if (chunk == NULL)
            continue;
        struct tfs_node node = tfs_node_of_chunk(chunk);
        node.store = work->branch->number;
        result = take_of_chunk(work, edit, &node);
    }
    return result;
}

void tfs_rest_taken(struct tfs_work *work, bool taken)
{
    struct tfs_session *s = work->branch->session;

    if (work->carried_count == 0)
        return;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < work->carried_count; i++)
        if (taken)
            tfs_names_end(&s->names, &work->carried[i]);
        else
            (void)tfs_names_hide(&s->names, &work->carried[i], TFS_HIDING_UNLINKED);
    pthread_mutex_unlock(&s->lock);
}

/* ---- the job --------------------------------------------------------------------------------- */

struct rest_work {
    struct tfs_work work;
    struct tfs_node chunk;
    int *result; /* of the barrier that waits for it; NULL: there is none */
};

/* What could not be done now: for want of memory, or while another program holds the save locked or
 * is half-way. */
static bool is_passing(int result)
{
    return result == -ENOMEM || result == -EBUSY || result == -EIO;
}

/* The name shows again: with the lock. */
static void show(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_node up = tfs_ops_parent(s, node);

    tfs_ops_bump_directory(s, &up);
    tfs_ops_stale(s, &up);
}

/* One that is rejected shows again. */
static int store_all(struct tfs_work *work, struct tfs_edit *edit, const struct tfs_node *absent,
                     size_t count)
{
    struct tfs_session *s = work->branch->session;
    int failed = 0;

    for (size_t i = 0; i < count && !is_passing(failed); i++) {
        struct tfs_error err = {0};
        if (store_absent(work, edit, &absent[i], &err) == 0)
            continue;
        failed = err.code;
        tfs_ops_log_node(s, &err, &absent[i]);
        pthread_mutex_lock(&s->lock);
        if (!is_passing(failed)) {
            tfs_names_end(&s->names, &absent[i]);
            show(s, &absent[i]);
        }
        pthread_mutex_unlock(&s->lock);
    }
    return failed;
}

static int store_chunk(struct rest_work *work)
{
    struct tfs_branch *branch = work->work.branch;
    struct tfs_session *s = branch->session;
    struct tfs_node absent[TFS_FILES_MAX];
    struct tfs_error err = {0};
    struct tfs_edit edit;

    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->chunk);
    const size_t count = find_absent(branch, &work->chunk, false, absent);
    pthread_mutex_unlock(&s->lock);
    int result = count > 0 ? tfs_store_edit(branch->store, &edit, &err) : 0;
    if (count == 0 || result < 0)
        return result;
    const int failed = store_all(&work->work, &edit, absent, count);
    result = tfs_store_accept(branch->store, &edit, 0, &work->work.job, &err);
    if (result == 0)
        tfs_rest_taken(&work->work, true);
    tfs_edit_release(&edit);
    return result < 0 ? result : failed;
}

static void show_hidden(struct tfs_session *s, const struct tfs_name_directory *dir)
{
    for (size_t i = 0; i < dir->hidden_count; i++) {
        const struct tfs_node node = tfs_names_hidden(dir, i);
        show(s, &node);
    }
}

/* Where nothing was done in the directory since, it is at rest now. */
static int apply_rest(struct tfs_job *job, bool last)
{
    struct rest_work *work = (struct rest_work *)job;
    struct tfs_session *s = work->work.branch->session;
    const int result = store_chunk(work);

    pthread_mutex_lock(&s->lock);
    const struct tfs_name_directory *dir = tfs_names_of(&s->names, &work->chunk);
    const bool rests = dir != NULL && dir->changed == TFS_NAMES_NEVER;
    if (rests && is_passing(result) && !last) {
        tfs_names_touch(&s->names, &work->chunk);
    } else if (rests) {
        show_hidden(s, dir);
        tfs_names_forget(&s->names, &work->chunk);
    }
    pthread_mutex_unlock(&s->lock);
    if (result < 0 && work->result != NULL)
        *work->result = result;
    return result;
}

static const struct tfs_job_kind rest_kind = {apply_rest, NULL};

/* Nothing, where there is nothing to store: *submitted. 0 or -ENOMEM. */
static int submit(struct tfs_branch *branch, const struct tfs_node *chunk, int *result,
                  bool *submitted)
{
    struct tfs_node absent[TFS_FILES_MAX];

    *submitted = find_absent(branch, chunk, false, absent) > 0;
    if (!*submitted)
        return 0;
    struct rest_work *work =
        tfs_work_create(sizeof(*work), &rest_kind, branch, NULL, (struct tfs_reply){0});
    if (work == NULL)
        return -ENOMEM;
    work->chunk = *chunk;
    work->result = result;
    tfs_work_submit(&work->work);
    return 0;
}

/* ---- when ------------------------------------------------------------------------------------ */

int tfs_rest_sync(struct tfs_session *s, const struct tfs_node *node, int *result)
{
    struct tfs_branch *branch = tfs_ops_branch(s, node);
    struct tfs_map_cell cell;
    bool submitted;

    if (node->scope == TFS_SCOPE_CHUNK)
        return submit(branch, node, result, &submitted);
    for (size_t at = 0; tfs_map_next(&s->names.directories, &at, &cell);) {
        const struct tfs_node *chunk = &((const struct tfs_name_directory *)cell.value)->top;
        if (chunk->store == node->store && submit(branch, chunk, result, &submitted) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Has a program it open for writing by its name, or is what it wrote being taken? */
static bool has_writer(const struct tfs_inode *inode)
{
    const struct tfs_handle *h = inode->handles;

    while (h != NULL && !h->writer)
        h = h->next;
    return h != NULL && inode->scratch == NULL && !tfs_inode_is_gone(inode);
}

/* Where somebody writes it is not the time: it begins anew. */
static void touch_written(struct tfs_session *s)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&s->inodes.open, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        if (has_writer(inode))
            tfs_names_touch(&s->names, &inode->node);
    }
}

/* Is it at rest now, with nothing to be stored? */
static bool end(void *arg, struct tfs_name_directory *dir)
{
    struct tfs_branch *branch = arg;
    bool submitted;

    dir->changed = TFS_NAMES_NEVER;
    if (submit(branch, &dir->top, NULL, &submitted) < 0)
        tfs_names_touch(&branch->session->names, &dir->top);
    if (submitted)
        return false;
    show_hidden(branch->session, dir);
    return true;
}

int64_t tfs_rest_tick(struct tfs_branch *branch, int64_t now, bool all)
{
    struct tfs_names *names = &branch->session->names;

    if (!all && now >= names->due)
        touch_written(branch->session);
    return tfs_names_rest(names, branch->number, now, all, end, branch);
}
