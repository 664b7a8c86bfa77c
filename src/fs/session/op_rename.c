/*
 * Renaming: scratch to scratch is done at once, a file of the schema moved away becomes scratch,
 * and whatever is moved onto a name of the schema is an edit, which its store checks before it
 * answers. From the tree of one store to that of another nothing is moved: mv copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/ops.h"

/* One call. */
struct renaming {
    uint64_t parent, new_parent;
    const char *name, *new_name;
    bool no_replace;
    struct tfs_reply reply;
    struct tfs_entry from, to;
    struct tfs_error err; /* to be logged; code 0: nothing */
    bool about_new;       /* it is about the new name */
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
    struct tfs_rename_work *rename = (struct tfs_rename_work *)work;

    tfs_blob_unref(rename->text);
    tfs_doc_unref(rename->before);
}

static int onto_file(struct tfs_session *s, struct renaming *r)
{
    const struct tfs_node *to = &r->to.node;

    if (tfs_ops_read_only(s, to))
        return -EROFS;
    if (tfs_entry_check_shown(&r->to, &r->err) < 0) {
        r->about_new = true;
        return r->err.code;
    }
    if (!tfs_ops_writable(s, to))
        return -EACCES;
    struct tfs_inode *inode = tfs_inode_find(&s->inodes, r->from.link->scratch->id);
    if (inode->scratch->kind != TFS_SCRATCH_FILE ||
        (inode->scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    struct tfs_rename_work *work =
        tfs_work_create(sizeof(*work), &tfs_rename_onto, tfs_ops_branch(s, to), inode, r->reply);
    if (work == NULL)
        return -ENOMEM;
    work->work.release = release_rename;
    if (tfs_blob_copy(tfs_buf_span(&inode->scratch->bytes), &work->text, &r->err) < 0) {
        inode->refs--;
        work->work.inode = NULL;
        tfs_work_free(&work->work);
        return -ENOMEM;
    }
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
    return directory && !tfs_overlay_is_empty(&s->overlay, scratch->id) ? -ENOTEMPTY : 0;
}

static void drop_replaced(struct tfs_session *s, const struct tfs_scratch *replaced)
{
    if (replaced != NULL)
        tfs_inode_drop(&s->inodes, tfs_inode_find(&s->inodes, replaced->id));
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
    result = tfs_link_move(&s->overlay, scratch, r->new_parent, r->new_name, &replaced);
    if (result < 0)
        return result;
    drop_replaced(s, replaced);
    scratch->ctime = tfs_views_now(&s->views);
    return 0;
}

/* The copy gets the new name, and the name of the schema is hidden. */
static int leave_schema(struct tfs_session *s, struct renaming *r, struct tfs_scratch *copy)
{
    const struct tfs_node *node = &r->from.node;
    struct tfs_scratch *replaced = NULL;
    int result = tfs_names_hide(&s->names, node, TFS_HIDING_PASSES);

    if (result == 0)
        result = tfs_link_replace(&s->overlay, r->new_parent, r->new_name, copy, &replaced);
    if (result < 0) {
        tfs_names_show(&s->names, node);
        return result;
    }
    const struct tfs_node dir = tfs_ops_parent(s, node);
    tfs_ops_bump_directory(s, &dir);
    tfs_ops_leave(s, node, tfs_store_shown(r->from.branch->store));
    drop_replaced(s, replaced);
    return 0;
}

/* Is there room for what a file that nobody wrote shows, as far as that is known without making it?
 * 0 or -ENOSPC. */
static int check_room(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    struct tfs_view view = {branch->save, tfs_store_shown(branch->store), *node, tfs_node_id(node),
                            0};
    uint64_t size;

    return tfs_views_size(&s->views, &view, &size) == 0 && size > tfs_scratch_left(&s->overlay)
               ? -ENOSPC
               : 0;
}

/* A file of the schema becomes a scratch file (a backup); its own name is hidden. */
static int schema_to_scratch(struct tfs_session *s, struct renaming *r, struct tfs_need *need)
{
    const struct tfs_node *node = &r->from.node;
    const bool unborn = tfs_inode_unborn(&s->inodes, node) != NULL;
    struct tfs_inode *copy = NULL;
    struct tfs_blob *content = NULL;
    uint64_t stamp;
    int result = tfs_ops_writable(s, node)
                     ? tfs_entry_free_for_scratch(s, &r->to, r->new_name, false)
                     : -EPERM;

    if (result == 0)
        result = may_replace(s, r, false);
    if (result == 0 && tfs_ops_is_array(s, node) && tfs_ops_array_is_dirty(s, node))
        result = -EBUSY;
    if (result == 0 && !unborn)
        result = check_room(s, node);
    if (result == 0 && !unborn)
        result = tfs_ops_bytes(s, need, node, &content, &stamp);
    if (result < 0)
        return result;
    result = tfs_ops_copy(s, node, tfs_blob_span(content), &copy);
    tfs_blob_unref(content);
    if (result < 0)
        return result;
    result = leave_schema(s, r, copy->scratch);
    tfs_inode_drop(&s->inodes, copy);
    return result;
}

/* ---- chunk directories ----------------------------------------------------------------------- */

/* To what is no coordinate mv would copy it, into memory. */
static int move_chunk(struct renaming *r)
{
    /* Refused with a sentence when it comes to it. */
    bool fixed = tfs_chunks_are_fixed(r->from.branch->save);
    if (!r->to.coordinate)
        return tfs_fail(&r->err, -EPERM, "a chunk moves to a coordinate, X_Y_Z, and nowhere else");
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
    if (tree->fixed_groups)
        return tfs_fail(&r->err, -EPERM, "what is in %s comes with the save and stays",
                        tree->group_dir);
    return tfs_fail(&r->err, -EPERM, "this directory becomes no other one; %s/N can become %s/M",
                    tree->group_dir, tree->group_dir);
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
    int result = tfs_ops_run(s, try_rename, &r);

    bool about_new = r.about_new || result == -EACCES;
    tfs_ops_told(s, about_new ? new_parent : parent, about_new ? new_name : name, result, &r.err);
    if (result != -EINPROGRESS)
        tfs_reply_now(reply, result);
}
