/*
 * Renaming: scratch to scratch is done at once, a file of the schema moved away becomes scratch,
 * and whatever is moved onto a name of the schema is an edit, which the worker judges before it
 * answers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/state.h"

/* One call. */
struct renaming {
    struct tfs_session *s;
    uint64_t parent, new_parent;
    const char *name, *new_name;
    bool no_replace;
    struct tfs_reply reply;
    struct tfs_entry from, to;
};

static int find(struct renaming *r)
{
    int result = tfs_entry_find_locked(r->s, r->parent, r->name, &r->from);
    if (result == 0)
        result = tfs_entry_find_locked(r->s, r->new_parent, r->new_name, &r->to);
    if (result == 0 && r->from.link == NULL && !(r->from.schema && r->from.visible))
        result = -ENOENT;
    if (result == 0 && r->no_replace && (r->to.link != NULL || r->to.visible))
        result = -EEXIST;
    return result;
}

static struct tfs_job *job_create(struct renaming *r,
                                  int (*apply)(struct tfs_session *, struct tfs_job *),
                                  void (*settle)(struct tfs_session *, struct tfs_job *))
{
    struct tfs_job *job = tfs_job_create(apply, r->reply);
    if (job != NULL) {
        job->settle = settle;
        job->undo = true;
    }
    return job;
}

/* ---- onto a file of the schema --------------------------------------------------------------- */

static int onto_file(struct renaming *r)
{
    struct tfs_session *s = r->s;
    if (s->options.read_only)
        return -EROFS;
    if (!tfs_node_writable(s->save, s->doc, &r->to.node))
        return -EACCES;
    struct tfs_inode *inode =
        r->from.link != NULL ? r->from.link->inode : tfs_inode_of_node_locked(s, &r->from.node);
    if (inode == NULL)
        return -ENOMEM;
    if (inode->kind == TFS_INODE_DIRECTORY || inode->kind == TFS_INODE_SYMLINK || inode->control)
        return -EPERM;
    struct tfs_job *job = job_create(r, tfs_apply_rename, tfs_settle_rename);
    if (job == NULL)
        return -ENOMEM;
    job->node = r->to.node;
    job->inode = inode;
    inode->jobs++;
    tfs_job_submit_locked(s, job);
    return -EINPROGRESS;
}

/* ---- scratch names --------------------------------------------------------------------------- */

/* May the scratch file that has the target name be replaced? */
static int may_replace(const struct renaming *r, bool directory)
{
    if (r->to.link == NULL)
        return 0;
    const struct tfs_inode *inode = r->to.link->inode;
    if (inode->control)
        return -EPERM;
    if (directory && inode->kind != TFS_INODE_DIRECTORY)
        return -ENOTDIR;
    if (!directory && inode->kind == TFS_INODE_DIRECTORY)
        return -EISDIR;
    return directory && !tfs_links_empty_locked(r->s, inode->id) ? -ENOTEMPTY : 0;
}

static int scratch_to_scratch(struct renaming *r)
{
    struct tfs_inode *inode = r->from.link->inode;
    bool directory = inode->kind == TFS_INODE_DIRECTORY;
    if (inode->control)
        return -EPERM;
    /* A directory does not become a chunk by its name: mv falls back to copying. */
    if (r->to.coordinate || r->to.schema)
        return directory ? -EXDEV : -EINVAL;
    int result = tfs_entry_free_for_scratch(r->s, &r->to, r->new_name, directory);
    if (result == 0)
        result = may_replace(r, directory);
    if (result < 0)
        return result;
    result = tfs_link_move_locked(r->s, inode, r->new_parent, r->new_name);
    if (result < 0)
        return result;
    inode->ctime = tfs_now_locked(r->s);
    return result;
}

/* The inode goes on as a scratch file of the new name, or as what it was. */
static int leave_schema(struct renaming *r, struct tfs_inode *inode, const struct tfs_node *node,
                        struct tfs_span content)
{
    struct tfs_session *s = r->s;
    struct tfs_inode *replaced = NULL;
    int result = tfs_tombstone_add_locked(s, node);
    if (result < 0)
        return result;
    result = tfs_link_replace_locked(s, r->new_parent, r->new_name, inode, &replaced);
    if (result == 0 && (result = tfs_inode_detach_locked(s, inode, content)) < 0) {
        if (replaced != NULL)
            (void)tfs_link_replace_locked(s, r->new_parent, r->new_name, replaced, &inode);
        else
            tfs_link_remove_locked(s, inode->link);
    } else if (replaced != NULL) {
        tfs_inode_drop_locked(s, replaced);
    }
    if (result < 0)
        tfs_tombstone_remove_locked(s, node);
    return result;
}

/* A file of the schema becomes a scratch file (a backup); its own name is a tombstone. */
static int schema_to_scratch(struct renaming *r)
{
    struct tfs_session *s = r->s;
    const struct tfs_node node = r->from.node;
    struct tfs_blob *content = NULL;
    struct tfs_error err = {0};
    if (!tfs_node_writable(s->save, s->doc, &node))
        return -EPERM;
    int result = tfs_entry_free_for_scratch(s, &r->to, r->new_name, false);
    struct tfs_inode *inode = result == 0 ? tfs_inode_of_node_locked(s, &node) : NULL;
    if (inode == NULL)
        return result < 0 ? result : -ENOMEM;
    inode->jobs++; /* rendering lets go of the lock */
    if (!inode->pending)
        result = tfs_content_locked(s, &node, &content, &err);
    if (result == 0)
        result = find(r);
    if (result == 0 && inode->kind != TFS_INODE_VIRTUAL)
        result = -ENOENT;
    if (result == 0)
        result = may_replace(r, false);
    if (result == 0)
        result = leave_schema(r, inode, &node, tfs_blob_span(content));
    tfs_fresh_touch_locked(s, &node);
    inode->jobs--;
    tfs_inode_drop_locked(s, inode);
    tfs_blob_unref(content);
    return result;
}

/* ---- chunk directories ----------------------------------------------------------------------- */

static int move_chunk(struct renaming *r)
{
    struct tfs_session *s = r->s;
    bool fixed = s->save->tree->fixed_chunks; /* refused with a sentence when it comes to it */
    if (!r->to.coordinate || r->new_parent != r->parent)
        return fixed ? -EPERM : -EXDEV;
    if (r->to.schema && !fixed)
        return -EEXIST;
    struct tfs_job *job = job_create(r, tfs_apply_move_chunk, NULL);
    if (job == NULL)
        return -ENOMEM;
    job->node = r->from.node;
    job->to = r->to.node.key;
    tfs_job_submit_locked(s, job);
    return -EINPROGRESS;
}

static bool is_group_top(const struct tfs_node *node)
{
    return tfs_node_is_group(node) && node->scope == TFS_SCOPE_GROUP &&
           node->directory == TFS_DIR_TOP;
}

/* A group moves chunk by chunk: mv falls back to copying. Elsewhere the copy would be scratch. */
static int move_group(struct renaming *r)
{
    const struct tfs_tree *tree = r->s->save->tree;
    struct tfs_error err = {0};
    if (is_group_top(&r->from.node) && r->to.schema && is_group_top(&r->to.node) &&
        !tree->fixed_groups)
        return r->to.visible ? -EEXIST : -EXDEV;
    if (tree->fixed_groups)
        tfs_fail(&err, -EPERM, "what is in %s comes with the save and stays", tree->group_dir);
    else
        tfs_fail(&err, -EPERM, "this directory becomes no other one; %s/N can become %s/M",
                 tree->group_dir, tree->group_dir);
    return tfs_refuse_name_locked(r->s, r->parent, r->name, &err);
}

static int move_schema(struct renaming *r)
{
    const struct tfs_node *from = &r->from.node;
    if (r->s->options.read_only)
        return -EROFS;
    if (r->to.schema && tfs_node_same(from, &r->to.node))
        return 0;
    if (tfs_node_is_chunk(from))
        return move_chunk(r);
    if (tfs_node_is_group(from))
        return move_group(r);
    if (tfs_node_is_directory(from))
        return -EPERM;
    if (!tfs_node_writable(r->s->save, r->s->doc, from))
        return -EPERM;
    if (r->to.coordinate || (r->to.schema && tfs_node_is_directory(&r->to.node)))
        return -EISDIR;
    return r->to.schema ? onto_file(r) : schema_to_scratch(r);
}

void tfs_session_rename(struct tfs_session *s, uint64_t parent, const char *name,
                        uint64_t new_parent, const char *new_name, bool no_replace,
                        struct tfs_reply reply)
{
    struct renaming r = {.s = s,
                         .parent = parent,
                         .new_parent = new_parent,
                         .name = name,
                         .new_name = new_name,
                         .no_replace = no_replace,
                         .reply = reply};
    pthread_mutex_lock(&s->lock);
    int result = find(&r);
    if (result < 0)
        ;
    else if (r.from.link == NULL)
        result = move_schema(&r);
    else if (r.to.schema && !tfs_node_is_directory(&r.to.node))
        result = onto_file(&r);
    else if (parent != new_parent || strcmp(name, new_name) != 0)
        result = scratch_to_scratch(&r);
    pthread_mutex_unlock(&s->lock);
    if (result != -EINPROGRESS)
        tfs_reply_now(reply, result);
}
