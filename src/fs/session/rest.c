/*
 * Directories at rest: what was hidden shows again, and unlinked optional files are stored as
 * absent: at rest, or earlier with an edit of their chunk or a barrier. Run by the stores' threads.
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

/* Those of one directory, `with_edit` also what nobody created in a chunk just made: 0 or
 * -ENOMEM. */
static int find_in_directory(const struct tfs_branch *branch, const struct tfs_name_directory *dir,
                             bool with_edit, struct tfs_absent *absent)
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
                       struct tfs_absent *absent)
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

static bool is_edited(const struct tfs_edit *edit, struct tfs_key key)
{
    return !tfs_chunk_same(tfs_doc_find(edit->base, key), tfs_doc_find(tfs_edit_doc(edit), key));
}

/* A removal that the format rejects does not hold up the edit: it waits for its own end, which says
 * why. */
int tfs_rest_take(const struct tfs_branch *branch, struct tfs_edit *edit,
                  const struct tfs_node *self, struct tfs_absent *taken)
{
    int result = find_absent(branch, self, true, taken);
    const size_t count = taken->count;

    taken->count = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct tfs_node node = taken->nodes[i];
        struct tfs_error err = {0};
        if ((self->scope != TFS_SCOPE_CHUNK && !is_edited(edit, node.key)) ||
            tfs_node_id(&node) == tfs_node_id(self))
            continue;
        const int stored = store_absent(branch->save, edit, &node, &err);
        result = stored == -ENOMEM ? stored : 0;
        if (stored == 0)
            taken->nodes[taken->count++] = node;
    }
    return result;
}

void tfs_rest_taken(struct tfs_session *s, struct tfs_absent *taken, bool accepted)
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

/* The name shows again: with the lock. */
static void list_again(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_node up = tfs_ops_parent(s, node);

    tfs_ops_bump_directory(s, &up);
    tfs_ops_stale(s, &up);
}

/* It cannot be removed. */
static void show_again(struct tfs_session *s, const struct tfs_node *node)
{
    pthread_mutex_lock(&s->lock);
    tfs_names_show(&s->names, node);
    list_again(s, node);
    pthread_mutex_unlock(&s->lock);
}

/* The first failure; those that are stored are left in `absent`. */
static int store_all(const struct tfs_branch *branch, struct tfs_edit *edit,
                     struct tfs_absent *absent)
{
    const size_t count = absent->count;
    int failed = 0;

    absent->count = 0;
    for (size_t i = 0; i < count && !is_passing(failed); i++) {
        const struct tfs_node node = absent->nodes[i];
        struct tfs_error err = {0};
        if (store_absent(branch->save, edit, &node, &err) == 0) {
            absent->nodes[absent->count++] = node;
            continue;
        }
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
    struct tfs_absent absent = {0};
    struct tfs_error err = {0};
    struct tfs_edit edit;
    int failed = 0, result = find_absent(branch, node, false, &absent);

    if (result == 0 && absent.count > 0)
        result = tfs_store_edit(branch->store, &edit, &err);
    if (result == 0 && absent.count > 0) {
        failed = store_all(branch, &edit, &absent);
        result = tfs_store_accept(branch->store, &edit, 0, &work->job, &err);
        tfs_edit_release(&edit);
    }
    tfs_rest_taken(branch->session, &absent, result == 0);
    return result < 0 ? result : failed;
}

/* ---- the job --------------------------------------------------------------------------------- */

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
            list_again(s, &dir->hidden[i].node);
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
