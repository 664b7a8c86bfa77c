/*
 * Renaming: scratch to scratch is done at once, a file of the schema moved away becomes scratch,
 * and a scratch file that is moved onto a name of the schema is an edit, which its store checks
 * before it answers: rejected, it changes nothing. From the tree of one store to that of another,
 * and from one file of the schema onto another, nothing is moved: mv copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/ops.h"

/* ---- the job of a rename onto a file of the schema ------------------------------------------- */

struct rename_work {
    struct tfs_work work; /* `inode`: the scratch file that takes the name */
    struct tfs_node to;
    struct tfs_blob *text;  /* what it had */
    struct tfs_doc *before; /* what was shown then */
    bool accepted;          /* the file shows the text */
};

static int apply_rename(struct tfs_job *job, bool last)
{
    struct rename_work *work = (struct rename_work *)job;
    struct tfs_session *s = work->work.branch->session;
    struct tfs_error err = {0};

    (void)last;
    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->to);
    work->before = tfs_doc_ref(tfs_store_shown(work->work.branch->store));
    pthread_mutex_unlock(&s->lock);
    const int result = tfs_ops_validate(&work->work, &work->to, tfs_blob_span(work->text), &err);
    if (result < 0)
        tfs_ops_log_node(s, &err, &work->to);
    work->accepted = result == 0;
    return result;
}

/* Makes the drafts of who has it open for writing, and goes on as a writer of the file that it
 * became, from the bytes that it has; without memory none is there. */
static int make_drafts(struct tfs_session *s, const struct rename_work *work)
{
    const struct tfs_inode *inode = work->work.inode;
    struct tfs_handle *h;

    if (tfs_ops_is_array(s, &work->to))
        return 0;
    for (h = inode->handles; h != NULL; h = h->next) {
        if (!h->writer)
            continue;
        h->draft = tfs_draft_create(tfs_buf_span(&inode->scratch->bytes));
        if (h->draft == NULL)
            break;
    }
    if (h == NULL)
        return 0;
    for (h = inode->handles; h != NULL; h = h->next) {
        tfs_draft_free(h->draft);
        h->draft = NULL;
    }
    return -ENOMEM;
}

/* It may have been written to since the text was checked: what is behind that was appended. */
static void begin_draft(struct tfs_session *s, struct tfs_draft *draft, struct tfs_span checked)
{
    const struct tfs_span now = tfs_buf_span(&draft->bytes);
    const struct tfs_span begin = {now.data, now.size < checked.size ? now.size : checked.size};

    draft->accepted = tfs_span_equal(begin, checked) ? checked.size : TFS_NOT_APPENDED;
    if (!tfs_span_equal(now, checked))
        tfs_draft_wrote(draft, TFS_OWNER_ANY, tfs_views_now(&s->views));
}

/* Who reads it reads these bytes on. */
static void go_on(struct tfs_session *s, const struct rename_work *work)
{
    struct tfs_inode *inode = work->work.inode;
    struct tfs_doc *shown = tfs_store_shown(work->work.branch->store);
    const uint64_t stamp = tfs_views_stamp(&s->views, tfs_node_id(&work->to));

    for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next) {
        if (!h->writer)
            h->blob = tfs_blob_ref(work->text);
        if (h->draft == NULL)
            continue;
        tfs_draft_stands_on(h->draft, shown, &work->to, stamp);
        begin_draft(s, h->draft, tfs_blob_span(work->text));
    }
}

/* The scratch file is the file of the tree; the times that it had (rsync sets them before it
 * renames) go with it. */
static void move_scratch(struct tfs_session *s, const struct rename_work *work)
{
    struct tfs_inode *inode = work->work.inode;
    const struct tfs_scratch *scratch = inode->scratch;

    if (scratch->link != NULL)
        tfs_link_remove(&s->scratch_tree, scratch->link);
    (void)tfs_views_set_times(&s->views, tfs_node_id(&work->to), &scratch->atime, &scratch->mtime);
    go_on(s, work);
    tfs_inode_attach(&s->inodes, inode, &work->to);
}

static void move_name(struct tfs_session *s, const struct rename_work *work)
{
    tfs_ops_leave(s, &work->to, work->before);
    tfs_views_restamp(&s->views, tfs_node_id(&work->to));
    move_scratch(s, work);
    tfs_names_show(&s->names, &work->to);
}

/* The program may take its temp file away now (sed -i, rsync and patch do): what could not be
 * stored is put aside, as after a close. */
static void keep_text(struct tfs_session *s, const struct rename_work *work)
{
    const struct tfs_job *job = &work->work.job;
    const struct tfs_span text = tfs_blob_span(work->text);

    if (job->result < 0 && (!work->accepted || job->undone))
        tfs_ops_put_aside(s, &work->to, &text);
}

static void settle_rename(struct tfs_job *job)
{
    struct rename_work *work = (struct rename_work *)job;
    struct tfs_session *s = work->work.branch->session;

    pthread_mutex_lock(&s->lock);
    tfs_ops_refresh(s, &work->to);
    keep_text(s, work);
    /* The text is accepted; renamed once more, it finds itself there. */
    if (job->result == 0)
        job->result = make_drafts(s, work);
    if (job->result == 0) {
        move_name(s, work);
        if (job->edited)
            tfs_ops_drop_rejected(s, &work->to);
    }
    pthread_mutex_unlock(&s->lock);
}

static const struct tfs_job_kind rename_kind = {apply_rename, settle_rename};

/* ---- what a rename is ------------------------------------------------------------------------ */

/* One call. */
struct renaming {
    uint64_t parent, new_parent;
    const char *name, *new_name;
    bool no_replace;
    struct tfs_reply reply;
    struct tfs_entry from, to;
};

static int find(struct tfs_session *s, struct tfs_need *need, struct renaming *r)
{
    int result = tfs_entry_find(s, need, r->parent, r->name, &r->from);

    if (result == 0)
        result = tfs_entry_find(s, need, r->new_parent, r->new_name, &r->to);
    if (result == 0 && r->from.link == NULL && !(r->from.schema && r->from.visible))
        result = -ENOENT;
    if (result == 0 && r->no_replace && (r->to.link != NULL || r->to.visible))
        result = -EEXIST;
    return result;
}

/* ---- onto a file of the schema --------------------------------------------------------------- */

static void release_rename(struct tfs_work *work)
{
    struct rename_work *rename = (struct rename_work *)work;

    tfs_blob_unref(rename->text);
    tfs_doc_unref(rename->before);
}

static int onto_file(struct tfs_session *s, struct renaming *r)
{
    const struct tfs_node *to = &r->to.node;

    if (tfs_ops_read_only(s, to))
        return -EROFS;
    if (tfs_entry_is_left_out(&r->to))
        return -EPERM;
    if (!tfs_ops_writable(s, to))
        return -EACCES;
    struct tfs_inode *inode = tfs_inode_find(&s->inodes, r->from.link->scratch->id);
    if (inode->scratch->kind != TFS_SCRATCH_FILE ||
        (inode->scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    struct tfs_error ignored = {0};
    struct tfs_blob *text;
    if (tfs_blob_copy(tfs_buf_span(&inode->scratch->bytes), &text, &ignored) < 0)
        return -ENOMEM;
    struct rename_work *work =
        tfs_work_create(sizeof(*work), &rename_kind, tfs_ops_branch(s, to), inode, r->reply);
    if (work == NULL) {
        tfs_blob_unref(text);
        return -ENOMEM;
    }
    work->work.release = release_rename;
    work->text = text;
    work->to = *to;
    work->work.job.saves = true;
    work->work.job.of_shown = true;
    tfs_work_submit(&work->work);
    return -EINPROGRESS;
}

/* ---- scratch names --------------------------------------------------------------------------- */

/* May the scratch file that has the target name be replaced? */
static int may_replace(struct tfs_session *s, const struct renaming *r, bool directory)
{
    if (r->to.link == NULL)
        return 0;
    const struct tfs_scratch *scratch = r->to.link->scratch;
    if ((scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    if (directory && scratch->kind != TFS_SCRATCH_DIRECTORY)
        return -ENOTDIR;
    if (!directory && scratch->kind == TFS_SCRATCH_DIRECTORY)
        return -EISDIR;
    return directory && !tfs_scratch_tree_is_empty(&s->scratch_tree, scratch->id) ? -ENOTEMPTY : 0;
}

static int scratch_to_scratch(struct tfs_session *s, struct renaming *r)
{
    struct tfs_scratch *scratch = r->from.link->scratch, *replaced = NULL;
    bool directory = scratch->kind == TFS_SCRATCH_DIRECTORY;

    if ((scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    /* A directory does not become a chunk by its name: mv falls back to copying. */
    if (r->to.coordinate || r->to.schema)
        return directory ? -EXDEV : -EINVAL;
    int result = tfs_entry_free_for_scratch(s, &r->to, r->new_name, directory);
    if (result == 0)
        result = may_replace(s, r, directory);
    if (result < 0)
        return result;
    result = tfs_link_put(&s->scratch_tree, scratch, r->new_parent, r->new_name, &replaced);
    if (result < 0)
        return result;
    if (replaced != NULL)
        tfs_inode_drop(&s->inodes, tfs_inode_find(&s->inodes, replaced->id));
    scratch->ctime = tfs_views_now(&s->views);
    return 0;
}

/* The name of the schema is hidden, and what it had is scratch. */
static int leave_schema(struct tfs_session *s, const struct renaming *r,
                        const struct tfs_attr *attr, struct tfs_span content)
{
    const struct tfs_node *node = &r->from.node;
    struct tfs_inode *copy;
    int result = tfs_names_hide(&s->names, node, TFS_HIDING_PASSES);

    if (result == 0)
        result = tfs_entry_make_scratch(s, r->new_parent, r->new_name, TFS_SCRATCH_FILE, attr,
                                        content, &copy);
    if (result < 0) {
        tfs_names_show(&s->names, node);
        return result;
    }
    copy->scratch->atime = attr->st.st_atim;
    copy->scratch->mtime = attr->st.st_mtim;
    tfs_ops_bump_parent(s, node);
    tfs_ops_leave(s, node, tfs_ops_shown(s, node));
    return 0;
}

/* A file of the schema becomes a scratch file (a backup). What has no room is not rendered. */
static int schema_to_scratch(struct tfs_session *s, struct renaming *r, struct tfs_need *need)
{
    const struct tfs_node *node = &r->from.node;
    const bool unborn = tfs_inode_unborn(&s->inodes, node) != NULL;
    const struct tfs_view view = tfs_ops_view(s, node);
    struct tfs_blob *content = NULL;
    struct tfs_attr attr;
    int result = tfs_ops_writable(s, node)
                     ? tfs_entry_free_for_scratch(s, &r->to, r->new_name, false)
                     : -EPERM;

    if (result == 0)
        result = may_replace(s, r, false);
    if (result == 0)
        result = tfs_ops_attr_node(s, need, node, &attr);
    if (result == 0 && !unborn && (uint64_t)attr.st.st_size > tfs_scratch_left(&s->scratch_tree))
        result = -ENOSPC;
    if (result == 0 && !unborn)
        result = tfs_ops_bytes(s, need, &view, &content);
    if (result == 0)
        result = leave_schema(s, r, &attr, tfs_blob_span(content));
    tfs_blob_unref(content);
    return result;
}

/* ---- chunk directories ----------------------------------------------------------------------- */

/* To what is no coordinate mv would copy it, into memory. */
static int move_chunk(struct renaming *r)
{
    /* Refused with a sentence when it comes to it. */
    const bool fixed = tfs_chunks_are_fixed(r->from.branch->save);

    if (!r->to.coordinate)
        return -EPERM;
    if (r->new_parent != r->parent)
        return fixed ? -EPERM : -EXDEV;
    if (r->to.schema && !fixed)
        return -EEXIST;
    return tfs_ops_chunk(r->from.branch, TFS_CHUNK_MOVE, &r->from.node, r->to.node.key, r->reply);
}

static bool is_group_top(const struct tfs_node *node)
{
    return tfs_node_is_group(node) && node->scope == TFS_SCOPE_GROUP &&
           node->directory == TFS_DIR_TOP;
}

/* A group moves chunk by chunk: mv falls back to copying. Elsewhere the copy would be scratch. */
static int move_group(struct renaming *r)
{
    const struct tfs_tree *tree = r->from.branch->save->tree;

    if (is_group_top(&r->from.node) && r->to.schema && is_group_top(&r->to.node) &&
        !tree->fixed_groups)
        return r->to.visible ? -EEXIST : -EXDEV;
    return -EPERM;
}

static int move_schema(struct tfs_session *s, struct renaming *r, struct tfs_need *need)
{
    const struct tfs_node *from = &r->from.node;

    if (tfs_ops_read_only(s, from))
        return -EROFS;
    if (r->to.schema && tfs_node_same(from, &r->to.node))
        return 0;
    if (tfs_node_is_chunk(from))
        return move_chunk(r);
    if (r->from.branch != NULL && tfs_node_is_group(from))
        return move_group(r);
    if (tfs_node_is_directory(from))
        return -EPERM;
    if (!tfs_ops_writable(s, from))
        return -EPERM;
    if (r->to.coordinate || (r->to.schema && tfs_node_is_directory(&r->to.node)))
        return -EISDIR;
    return r->to.schema ? -EXDEV : schema_to_scratch(s, r, need);
}

static int try_rename(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct renaming *r = call;
    int result = find(s, need, r);

    if (result < 0)
        return result;
    if (r->from.branch != r->to.branch)
        return -EXDEV;
    if (r->from.link == NULL)
        return move_schema(s, r, need);
    if (r->to.schema && !tfs_node_is_directory(&r->to.node))
        return onto_file(s, r);
    if (r->parent == r->new_parent && strcmp(r->name, r->new_name) == 0)
        return 0;
    return scratch_to_scratch(s, r);
}

void tfs_session_rename(struct tfs_session *s, uint64_t parent, const char *name,
                        uint64_t new_parent, const char *new_name, bool no_replace,
                        struct tfs_reply reply)
{
    struct renaming r = {.parent = parent,
                         .new_parent = new_parent,
                         .name = name,
                         .new_name = new_name,
                         .no_replace = no_replace,
                         .reply = reply};

    tfs_reply_now(reply, tfs_ops_run(s, try_rename, &r));
}
