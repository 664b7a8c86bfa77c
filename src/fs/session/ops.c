/*
 * What all verbs need: nodes and their stores, paths, attempts, messages and jobs. See ops.h.
 */
#include "fs/session/ops.h"

#include <errno.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "formats/cells/written.h"
#include "text/name.h"

/* ---- stores and nodes ------------------------------------------------------------------------ */

struct tfs_branch *tfs_ops_branch(struct tfs_session *s, const struct tfs_node *node)
{
    size_t first = s->branches[0].number;

    return node->store == TFS_STORE_ABOVE ? NULL : &s->branches[node->store - first];
}

static struct tfs_branch *branch_of_id(struct tfs_session *s, uint64_t id)
{
    struct tfs_node node;
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);

    while (inode != NULL && inode->scratch != NULL) {
        id = inode->scratch->parent;
        inode = tfs_inode_find(&s->inodes, id);
    }
    return tfs_ops_node(s, id, &node) == 0 ? tfs_ops_branch(s, &node) : NULL;
}

struct tfs_branch *tfs_ops_branch_of(struct tfs_session *s, const struct tfs_inode *inode)
{
    return inode->scratch == NULL ? tfs_ops_branch(s, &inode->node)
                                  : branch_of_id(s, inode->scratch->parent);
}

static struct tfs_doc *doc_of(const struct tfs_branch *branch)
{
    return tfs_store_shown(branch->store);
}

struct tfs_doc *tfs_ops_shown(struct tfs_session *s, const struct tfs_node *node)
{
    return doc_of(tfs_ops_branch(s, node));
}

struct tfs_view tfs_ops_view_in(struct tfs_session *s, const struct tfs_node *node,
                                struct tfs_doc *doc)
{
    return (struct tfs_view){tfs_ops_branch(s, node)->save, doc, *node, tfs_node_id(node),
                             TFS_STAMP_NONE};
}

struct tfs_view tfs_ops_view(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_view view = tfs_ops_view_in(s, node, tfs_ops_shown(s, node));

    view.stamp = tfs_views_stamp(&s->views, view.id);
    return view;
}

struct tfs_view tfs_ops_view_of(struct tfs_session *s, const struct tfs_inode *inode)
{
    struct tfs_node node = inode->node;

    if (inode->doc == NULL) {
        tfs_ops_refresh(s, &node);
        return tfs_ops_view(s, &node);
    }
    struct tfs_view view = tfs_ops_view_in(s, &node, inode->doc);
    view.stamp = inode->stamp;
    return view;
}

bool tfs_ops_read_only(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);

    return branch != NULL ? tfs_store_read_only(branch->store) : s->options.read_only;
}

bool tfs_ops_writable(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);

    return branch != NULL && tfs_node_writable(branch->save, doc_of(branch), node);
}

static bool is_above(const struct tfs_session *s, uint64_t id)
{
    return s->above != NULL && id >= 1 && id <= s->above_count;
}

void tfs_ops_refresh(struct tfs_session *s, struct tfs_node *node)
{
    if (node->scope == TFS_SCOPE_CHUNK)
        (void)tfs_store_key(tfs_ops_branch(s, node)->store, node->slot, &node->key);
}

int tfs_ops_node(struct tfs_session *s, uint64_t id, struct tfs_node *node)
{
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);

    if (inode != NULL) {
        *node = inode->node;
        if (inode->scratch != NULL)
            return -ENOENT;
        tfs_ops_refresh(s, node);
        return 0;
    }
    if (is_above(s, id)) {
        *node = TFS_NODE_ROOT;
        node->store = TFS_STORE_ABOVE;
        node->slot = (uint32_t)(id - 1);
        return 0;
    }
    if (!tfs_node_of_id(id, node))
        return -ESTALE;
    size_t first = s->branches[0].number;
    if (node->store < first || node->store - first >= s->branch_count)
        return -ESTALE;
    if (node->scope != TFS_SCOPE_CHUNK)
        return 0;
    return tfs_store_key(tfs_ops_branch(s, node)->store, node->slot, &node->key) ? 0 : -ESTALE;
}

struct tfs_node tfs_ops_parent(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    struct tfs_node parent = *node;

    if (branch != NULL && (s->above == NULL || !tfs_node_is_root(node)))
        return tfs_tree_parent(branch->save, node);
    parent.slot = branch != NULL ? branch->above : s->above[node->slot].parent;
    parent.store = TFS_STORE_ABOVE;
    return parent;
}

int tfs_ops_visible(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);

    if (branch == NULL)
        return 1;
    if (tfs_names_hides(&s->names, node, NULL))
        return 0;
    if (tfs_node_is_group(node) && tfs_names_made(&s->names, node))
        return 1;
    if (node->file >= 0 && tfs_inode_unborn(&s->inodes, node) != NULL)
        return 1;
    return tfs_node_exists(branch->save, doc_of(branch), node);
}

int tfs_ops_check_visible(struct tfs_session *s, const struct tfs_node *node)
{
    int visible = tfs_ops_visible(s, node);

    return visible == 1 ? 0 : visible < 0 ? visible : -ESTALE;
}

bool tfs_ops_is_array(struct tfs_session *s, const struct tfs_node *node)
{
    return (tfs_node_file(tfs_ops_branch(s, node)->save, node)->flags & TFS_FILE_OVERLAY) != 0;
}

void tfs_ops_bump_parent(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_node dir = tfs_ops_parent(s, node);

    tfs_views_bump(&s->views, tfs_node_id(&dir));
}

void tfs_ops_stale(struct tfs_session *s, const struct tfs_node *dir)
{
    struct tfs_branch *branch = tfs_ops_branch(s, dir);

    /* Without memory it stays as long as the kernel keeps it. */
    if (s->events.invalidate != NULL && branch != NULL)
        (void)tfs_map_set(&branch->stale, tfs_node_id(dir), branch);
}

void tfs_ops_list_again(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_node dir = tfs_ops_parent(s, node);

    tfs_ops_bump_parent(s, node);
    tfs_ops_stale(s, &dir);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void path_of_above(struct tfs_session *s, uint32_t number, struct tfs_buf *out)
{
    if (number == 0)
        return;
    path_of_above(s, s->above[number].parent, out);
    tfs_buf_add_text(out, s->above[number].name);
    tfs_buf_u8(out, '/');
}

static void path_of_node(struct tfs_session *s, const struct tfs_node *node, struct tfs_buf *out)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    size_t before = out->size;

    if (s->above != NULL)
        path_of_above(s, branch != NULL ? branch->above : node->slot, out);
    if (branch != NULL && branch->name != NULL)
        tfs_buf_printf(out, "%s/", branch->name);
    size_t start = out->size;
    if (branch != NULL)
        tfs_tree_path(branch->save, doc_of(branch), node, out);
    if (out->size == start && start > before)
        out->size--; /* no slash behind a directory */
}

static void path_of_scratch(struct tfs_session *s, const struct tfs_scratch *scratch,
                            struct tfs_buf *out)
{
    if (scratch->link == NULL)
        return;
    tfs_ops_path(s, scratch->parent, out);
    if (out->size > 0)
        tfs_buf_u8(out, '/');
    tfs_buf_add_text(out, scratch->link->name);
}

void tfs_ops_path(struct tfs_session *s, uint64_t id, struct tfs_buf *out)
{
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);
    struct tfs_node node;

    if (inode != NULL && inode->scratch != NULL)
        path_of_scratch(s, inode->scratch, out);
    else if (tfs_ops_node(s, id, &node) == 0)
        path_of_node(s, &node, out);
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Did this verb have it rendered? */
static bool has_rendered(const struct tfs_need *need, const struct tfs_view *view, uint64_t offset,
                         uint64_t size)
{
    return need->blob != NULL && need->view.id == view->id && need->view.stamp == view->stamp &&
           need->offset == offset && need->size == size;
}

bool tfs_need_has_older(const struct tfs_need *need, const struct tfs_view *view)
{
    return need->blob != NULL && need->view.id == view->id && need->size == 0 &&
           need->view.stamp < view->stamp && view->stamp < TFS_STAMP_TAKEN;
}

void tfs_need_view(struct tfs_need *need, const struct tfs_view *view)
{
    tfs_doc_ref(view->doc);
    tfs_doc_unref(need->view.doc);
    need->view = *view;
}

static int have_rendered(struct tfs_need *need, const struct tfs_view *view, uint64_t offset,
                         uint64_t size)
{
    tfs_need_view(need, view);
    need->offset = offset;
    need->size = size;
    return TFS_NEEDS_BYTES;
}

int tfs_ops_bytes(struct tfs_session *s, struct tfs_need *need, const struct tfs_view *view,
                  struct tfs_blob **blob)
{
    if (tfs_store_broken(tfs_ops_branch(s, &view->node)->store))
        return -EIO;
    *blob = has_rendered(need, view, 0, 0) ? tfs_blob_ref(need->blob)
                                           : tfs_views_find(&s->views, view->id, view->stamp);
    return *blob != NULL ? 0 : have_rendered(need, view, 0, 0);
}

int tfs_ops_range(struct tfs_need *need, const struct tfs_view *view, uint64_t offset,
                  uint64_t size, struct tfs_blob **blob)
{
    if (!has_rendered(need, view, offset, size))
        return have_rendered(need, view, offset, size);
    *blob = tfs_blob_ref(need->blob);
    return 0;
}

static const struct tfs_job_kind look = {NULL, NULL};

/* Before any job the store's thread does. */
int tfs_ops_look(struct tfs_branch *branch)
{
    struct tfs_work *work =
        tfs_work_create(sizeof(*work), &look, branch, NULL, (struct tfs_reply){0});

    return work != NULL ? tfs_work_wait(work) : -ENOMEM;
}

/* That it fails for the same document tells
 * that no look helps: edits are pending, or an open file goes on with what was. */
int tfs_ops_catch_up(struct tfs_need *need, struct tfs_branch *branch, const struct tfs_doc *doc)
{
    if (need->looks == 0 || need->behind == doc->version)
        return -ESTALE;
    need->looks--;
    need->behind = doc->version;
    need->asked = 0;
    return tfs_ops_look(branch);
}

static int render(struct tfs_session *s, struct tfs_need *need)
{
    struct tfs_error err = {0};

    tfs_blob_unref(need->blob);
    need->blob = NULL;
    int result = need->size > 0 ? tfs_views_render_range(&need->view, need->offset, need->size,
                                                         &need->blob, &err)
                                : tfs_views_render(&s->views, &need->view, &need->blob, &err);
    if (result == -EBADMSG) {
        tfs_ops_log_node(s, &err, &need->view.node);
        result = -EIO;
    }
    if (result == -ESTALE)
        result = tfs_ops_catch_up(need, tfs_ops_branch(s, &need->view.node), need->view.doc);
    return result;
}

/* Are its pages being read where they lie? The commit that does takes nothing that a program or the
 * kernel has to give. */
static bool is_being_taken(const struct tfs_handle *handle)
{
    const struct tfs_sparse *pages = NULL;

    if (handle != NULL && handle->inode->array != NULL)
        pages = handle->inode->array->pages;
    else if (handle != NULL && handle->draft != NULL)
        pages = handle->draft->sparse;
    return pages != NULL && pages->busy;
}

#define LOOKS_MAX 8 /* at a save that another program goes on to write */

#define LATE_MS 1000 /* within these the kernel has read a listing that it was given */

void tfs_ops_end_quiet(struct tfs_session *s)
{
    const uint64_t stamp = tfs_views_last_stamp(&s->views);

    if (stamp == s->told)
        return;
    s->told = stamp;
    const int64_t now = tfs_now_ms();
    if (s->quiet_at == 0)
        s->late_until = now + LATE_MS;
    s->quiet_at = now + s->options.linger_ms;
    if (now < s->late_until && s->events.changed != NULL)
        s->events.changed(s->events.caches);
}

int64_t tfs_ops_begin_quiet(struct tfs_session *s, int64_t now)
{
    if (s->quiet_at != 0 && now >= s->quiet_at) {
        s->quiet_at = 0;
        if (s->events.changed != NULL)
            s->events.changed(s->events.caches);
    }
    return s->quiet_at;
}

static int run(struct tfs_session *s, const struct tfs_handle *writer, tfs_attempt_fn attempt,
               void *call, unsigned looks)
{
    struct tfs_need need = {.looks = looks};
    int result;

    do {
        pthread_mutex_lock(&s->lock);
        while (is_being_taken(writer))
            pthread_cond_wait(&s->answered, &s->lock);
        result = attempt(s, call, &need);
        tfs_ops_end_quiet(s);
        pthread_mutex_unlock(&s->lock);
        if (!tfs_needs_more(result))
            break;
        result = result == TFS_NEEDS_BYTES ? render(s, &need) : need.read_chunks(&need);
    } while (result >= 0);
    tfs_doc_unref(need.view.doc);
    tfs_blob_unref(need.blob);
    return result;
}

int tfs_ops_run(struct tfs_session *s, tfs_attempt_fn attempt, void *call)
{
    return run(s, NULL, attempt, call, LOOKS_MAX);
}

int tfs_ops_run_as_read(struct tfs_session *s, const struct tfs_handle *writer,
                        tfs_attempt_fn attempt, void *call)
{
    return run(s, writer, attempt, call, 0);
}

/* ---- people ---------------------------------------------------------------------------------- */

void tfs_ops_message(struct tfs_session *s, const char *format, ...)
{
    char text[TFS_ERROR_TEXT + 8192], line[2 * sizeof(text)];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (s->events.message != NULL)
        s->events.message(s->events.message_arg, tfs_sentence_print(text, line, sizeof(line)));
}

/* With a 0 behind it. */
static void path_of_file(struct tfs_session *s, const struct tfs_node *file, struct tfs_buf *path)
{
    struct tfs_node node = *file;

    tfs_ops_refresh(s, &node);
    path_of_node(s, &node, path);
    tfs_buf_u8(path, 0);
}

void tfs_ops_message_of(const struct tfs_branch *branch, const char *text)
{
    struct tfs_session *s = branch->session;
    struct tfs_node root = TFS_NODE_ROOT;
    struct tfs_buf path = {0};

    root.store = branch->number;
    pthread_mutex_lock(&s->lock);
    path_of_file(s, &root, &path);
    pthread_mutex_unlock(&s->lock);
    tfs_ops_message(s, "%s%s%s", path.failed ? "" : (const char *)path.data,
                    path.size > 1 && !path.failed ? ": " : "", text);
    tfs_buf_release(&path);
}

/* A line for errors.log, and a message. */
static void log_line(struct tfs_session *s, const struct tfs_error *err, const char *path)
{
    char text[TFS_ERROR_TEXT + 1024], line[2 * sizeof(text)];

    tfs_error_format(err, path, text, sizeof(text));
    tfs_sentence_print(text, line, sizeof(line));
    pthread_mutex_lock(&s->lock);
    tfs_rejected_log(&s->rejected, line);
    pthread_mutex_unlock(&s->lock);
    tfs_ops_message(s, "%s", line);
}

void tfs_ops_log_node(struct tfs_session *s, const struct tfs_error *err,
                      const struct tfs_node *file)
{
    struct tfs_buf path = {0};

    pthread_mutex_lock(&s->lock);
    path_of_file(s, file, &path);
    pthread_mutex_unlock(&s->lock);
    /* The root of all has no name. */
    log_line(s, err, path.size > 1 && !path.failed ? (const char *)path.data : NULL);
    tfs_buf_release(&path);
}

void tfs_ops_log_branch(const struct tfs_branch *branch, const struct tfs_error *err)
{
    struct tfs_node root = TFS_NODE_ROOT;

    root.store = branch->number;
    tfs_ops_log_node(branch->session, err, &root);
}

void tfs_ops_put_aside(struct tfs_session *s, const struct tfs_node *file,
                       const struct tfs_span *text)
{
    struct tfs_buf path = {0};

    path_of_file(s, file, &path);
    tfs_rejected_put(&s->rejected, path.failed ? "?" : (const char *)path.data, text);
    tfs_buf_release(&path);
}

void tfs_ops_drop_rejected(struct tfs_session *s, const struct tfs_node *file)
{
    struct tfs_buf path = {0};

    if (tfs_rejected_is_empty(&s->rejected))
        return;
    path_of_file(s, file, &path);
    if (!path.failed)
        tfs_rejected_drop(&s->rejected, (const char *)path.data);
    tfs_buf_release(&path);
}

int tfs_ops_told(struct tfs_session *s, uint64_t id, const char *name, int result,
                 const struct tfs_error *why)
{
    struct tfs_buf path = {0};

    if (why->code == 0)
        return result;
    pthread_mutex_lock(&s->lock);
    tfs_ops_path(s, id, &path);
    pthread_mutex_unlock(&s->lock);
    tfs_buf_add_text(&path, path.size > 0 ? "/" : "");
    tfs_buf_add_text(&path, name);
    tfs_buf_u8(&path, 0);
    log_line(s, why, path.failed ? name : (const char *)path.data);
    tfs_buf_release(&path);
    return result;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

void tfs_reply_now(struct tfs_reply reply, int result)
{
    if (result != -EINPROGRESS && reply.done != NULL)
        reply.done(reply.arg, result, NULL);
}

void *tfs_work_create(size_t size, const struct tfs_job_kind *kind, struct tfs_branch *branch,
                      struct tfs_inode *inode, struct tfs_reply reply)
{
    struct tfs_work *work = calloc(1, size);

    if (work == NULL)
        return NULL;
    work->job.kind = kind;
    work->job.saves = inode != NULL;
    work->branch = branch;
    work->reply = reply;
    work->inode = inode;
    if (inode != NULL)
        inode->refs++;
    return work;
}

void tfs_work_submit(struct tfs_work *work)
{
    tfs_store_submit(work->branch->store, &work->job);
}

/* What waits for the answer. */
struct waiting {
    sem_t done;
    int result;
};

static void end_waiting(void *arg, int result, const struct tfs_attr *attr)
{
    struct waiting *w = arg;

    (void)attr;
    w->result = result;
    sem_post(&w->done);
}

int tfs_work_wait(struct tfs_work *work)
{
    struct waiting waiting = {.result = 0};

    sem_init(&waiting.done, 0, 0);
    work->reply = (struct tfs_reply){end_waiting, &waiting};
    tfs_work_submit(work);
    while (sem_wait(&waiting.done) < 0)
        continue;
    sem_destroy(&waiting.done);
    return waiting.result;
}

void tfs_work_free(struct tfs_work *work)
{
    struct tfs_session *s = work->branch->session;

    if (work->inode != NULL) {
        pthread_mutex_lock(&s->lock);
        work->inode->refs--;
        tfs_inode_drop(&s->inodes, work->inode);
        pthread_mutex_unlock(&s->lock);
    }
    if (work->release != NULL)
        work->release(work);
    tfs_job_release(&work->job);
    tfs_written_values_free(work->values);
    free(work);
}
