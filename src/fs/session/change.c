/*
 * Removing, making and linking names. Whatever changes the save goes to its store as a job. A group
 * of chunks has directories of its own, which come and go with its chunks, and with what users made
 * (names.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/ops.h"

/* One call about a name; `verb` is an attempt at what it asks for. */
struct naming {
    int (*verb)(struct tfs_session *s, struct naming *c);
    uint64_t parent;
    const char *name;
    struct tfs_attr owner; /* of what is made */
    const char *target;
    struct tfs_reply reply;
    struct tfs_attr *attr;
    struct tfs_entry entry;
    struct tfs_error err; /* to be logged; code 0: nothing */
};

static int try_verb(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct naming *c = call;
    const int result = tfs_entry_find(s, need, c->parent, c->name, &c->entry);

    return result < 0 ? result : c->verb(s, c);
}

static int run(struct tfs_session *s, struct naming *c)
{
    return tfs_ops_told(s, c->parent, c->name, tfs_ops_run(s, try_verb, c), &c->err);
}

/* ---- unlink ---------------------------------------------------------------------------------- */

static int unlink_scratch(struct tfs_session *s, struct tfs_link *link)
{
    struct tfs_scratch *scratch = link->scratch;

    if ((scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    if (scratch->kind == TFS_SCRATCH_DIRECTORY)
        return -EISDIR;
    tfs_link_remove(&s->scratch_tree, link);
    scratch->ctime = tfs_views_now(&s->views);
    tfs_inode_drop(&s->inodes, tfs_inode_find(&s->inodes, scratch->id));
    return 0;
}

/* A program that has the file open goes on with it as it was. */
static int unlink_schema(struct tfs_session *s, const struct tfs_node *node)
{
    if (tfs_node_is_directory(node))
        return -EISDIR;
    if (!tfs_ops_writable(s, node))
        return -EPERM;
    if (tfs_names_hide(&s->names, node, TFS_HIDING_UNLINKED) < 0)
        return -ENOMEM;
    tfs_ops_leave(s, node, tfs_ops_shown(s, node));
    tfs_ops_bump_parent(s, node);
    return 0;
}

static int unlink_name(struct tfs_session *s, struct naming *c)
{
    const struct tfs_entry *entry = &c->entry;

    if (entry->link != NULL)
        return unlink_scratch(s, entry->link);
    if (tfs_entry_read_only(s, entry))
        return -EROFS;
    return entry->schema && entry->visible ? unlink_schema(s, &entry->node) : -ENOENT;
}

int tfs_session_unlink(struct tfs_session *s, uint64_t parent, const char *name)
{
    struct naming c = {.verb = unlink_name, .parent = parent, .name = name};

    return run(s, &c);
}

/* ---- directories of groups ------------------------------------------------------------------- */

static int check_empty(struct tfs_session *s, const struct tfs_node *dir)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, dir);
    const struct tfs_doc *doc = tfs_store_shown(branch->store);
    struct tfs_node child;
    size_t i = 0;
    int found;

    while ((found = tfs_tree_name_of_schema(branch->save, doc, dir, i, &i, &child)) == 1) {
        int visible = tfs_ops_visible(s, &child);
        if (visible != 0)
            return visible < 0 ? visible : -ENOTEMPTY;
    }
    if (found < 0)
        return found;
    return tfs_scratch_tree_is_empty(&s->scratch_tree, tfs_node_id(dir)) ? 0 : -ENOTEMPTY;
}

/* Is the directory there, with those of its scope that the schema has? Then it stays. */
static int keep(struct tfs_session *s, const struct tfs_node *node)
{
    if (tfs_ops_visible(s, node) != 1)
        return 0;
    return tfs_names_add(&s->names, node);
}

/* rm -r removes directories after what was in them. */
static int group_keep(struct tfs_session *s, const struct tfs_node *chunk)
{
    const struct tfs_tree *tree = tfs_ops_branch(s, chunk)->save->tree;
    const unsigned end = tfs_schema_end(tree->group);
    struct tfs_node chunks = tfs_ops_parent(s, chunk), group, groups;

    if (!tfs_node_is_group(&chunks) || tree->fixed_groups)
        return 0;
    group = tfs_ops_parent(s, &chunks);
    groups = tfs_ops_parent(s, &group);
    int result = keep(s, &groups);
    for (group.directory = 0; group.directory < end && result == 0; group.directory++)
        result = keep(s, &group);
    return result;
}

static int group_make(struct tfs_session *s, const struct tfs_node *node, struct tfs_error *err)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    const struct tfs_tree *tree = branch->save->tree;
    uint32_t group = node->scope == TFS_SCOPE_GROUP ? node->key.group : 1;

    if (tree->fixed_groups)
        return tfs_fail(err, -EPERM, "what is in %s comes with the save: none can be made",
                        tree->group_dir);
    if (tfs_group_check(branch->save, tfs_store_shown(branch->store), group, err) < 0)
        return err->code;
    const struct tfs_node up = tfs_ops_parent(s, node);
    /* Files beside chunks/ come with chunks, and cp -r creates them after the chunks. */
    if ((tfs_node_is_group(&up) && tfs_names_add(&s->names, &up) < 0) ||
        (node->scope == TFS_SCOPE_GROUP && node->directory == TFS_DIR_TOP &&
         tfs_names_make(&s->names, node, tree->group) < 0) ||
        tfs_names_add(&s->names, node) < 0)
        return -ENOMEM;
    tfs_ops_bump_parent(s, node);
    return 0;
}

static int group_remove(struct tfs_session *s, const struct tfs_node *node)
{
    int result = tfs_ops_branch(s, node)->save->tree->fixed_groups ? -EPERM : check_empty(s, node);

    if (result < 0)
        return result;
    tfs_names_drop(&s->names, node);
    tfs_ops_bump_parent(s, node);
    return 0;
}

/* ---- directories ----------------------------------------------------------------------------- */

static int make_scratch(struct tfs_session *s, const struct naming *c, enum tfs_scratch_kind kind)
{
    struct tfs_inode *inode;
    int result = tfs_entry_make_scratch(s, c->parent, c->name, kind, &c->owner,
                                        tfs_span_of(c->target), &inode);

    if (result < 0)
        return result;
    inode->refs = 1;
    return tfs_ops_attr(s, NULL, inode, c->attr);
}

/* Is it a directory for files of a group whose chunks are there? */
static bool is_shown_in_group(const struct tfs_entry *entry)
{
    return entry->node.directory >= TFS_DIR_SUB &&
           tfs_node_exists(entry->branch->save, tfs_store_shown(entry->branch->store),
                           &entry->node) == 1;
}

/* mkdir of a directory of the schema other than a chunk's: but for those of groups, it can only
 * come back. */
static int mkdir_schema(struct tfs_session *s, struct naming *c, const struct tfs_entry *entry)
{
    if (entry->visible)
        return -EEXIST;
    if (tfs_entry_is_left_out(entry))
        return -EPERM;
    if (entry->branch != NULL && tfs_node_is_group(&entry->node) && !is_shown_in_group(entry)) {
        int result = group_make(s, &entry->node, &c->err);
        return result < 0 ? result : tfs_ops_attr_node(s, NULL, &entry->node, c->attr);
    }
    if (entry->node.file >= 0 || entry->node.scope == TFS_SCOPE_ROOT ||
        !tfs_names_hides(&s->names, &entry->node, NULL))
        return -EPERM;
    tfs_names_show(&s->names, &entry->node);
    return tfs_ops_attr_node(s, NULL, &entry->node, c->attr);
}

static void refuse_number(const struct tfs_entry *entry, struct tfs_error *err)
{
    const struct tfs_tree *tree = entry->branch->save->tree;

    if (entry->dir.scope == TFS_SCOPE_CHUNK)
        tfs_fail(err, -EINVAL,
                 "a chunk has no chunk in it: copy the files, or onto a coordinate that is free");
    else if (tfs_holds_groups(&entry->dir))
        tfs_fail(err, -EINVAL, "a directory in %s is named N, a plain decimal number from %u on",
                 tree->group_dir, tfs_group_label(tree));
    else
        tfs_fail(err, -EINVAL, "a chunk directory is named X_Y_Z, plain decimal numbers: 3_-1_12");
}

static int make_directory(struct tfs_session *s, struct naming *c)
{
    const struct tfs_entry *entry = &c->entry;

    if (tfs_entry_read_only(s, entry))
        return -EROFS;
    if (entry->link != NULL)
        return -EEXIST;
    if (entry->coordinate)
        return entry->schema ? -EEXIST
                             : tfs_ops_chunk(entry->branch, TFS_CHUNK_MAKE, &entry->node,
                                             entry->node.key, c->reply);
    if (entry->schema)
        return mkdir_schema(s, c, entry);
    const int result = tfs_entry_free_for_scratch(s, entry, c->name, true);
    if (result == -EINVAL)
        refuse_number(entry, &c->err);
    return result < 0 ? result : make_scratch(s, c, TFS_SCRATCH_DIRECTORY);
}

void tfs_session_mkdir(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, struct tfs_reply reply)
{
    struct tfs_attr attr;
    struct naming c = {.verb = make_directory,
                       .parent = parent,
                       .name = name,
                       .owner.st = {.st_mode = mode, .st_uid = uid, .st_gid = gid},
                       .target = "",
                       .reply = reply,
                       .attr = &attr};
    const int result = run(s, &c);

    if (result != -EINPROGRESS)
        reply.done(reply.arg, result, result == 0 ? &attr : NULL);
}

static int rmdir_scratch(struct tfs_session *s, struct tfs_link *link)
{
    const struct tfs_scratch *scratch = link->scratch;

    if (scratch->kind != TFS_SCRATCH_DIRECTORY)
        return -ENOTDIR;
    if ((scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    if (!tfs_scratch_tree_is_empty(&s->scratch_tree, scratch->id))
        return -ENOTEMPTY;
    tfs_link_remove(&s->scratch_tree, link);
    tfs_inode_drop(&s->inodes, tfs_inode_find(&s->inodes, scratch->id));
    return 0;
}

static int rmdir_chunk(struct tfs_session *s, const struct tfs_entry *entry, struct naming *c)
{
    /* A tile is refused with its sentence, whatever is in it. */
    int result = tfs_chunks_are_fixed(entry->branch->save) ? 0 : check_empty(s, &entry->node);
    if (result == 0)
        result = group_keep(s, &entry->node);
    if (result < 0)
        return result;
    return tfs_ops_chunk(entry->branch, TFS_CHUNK_REMOVE, &entry->node, entry->node.key, c->reply);
}

/* lights/ and the like, arrays/ of a group: gone until mkdir or two seconds bring it back. */
static int rmdir_below_chunk(struct tfs_session *s, const struct tfs_entry *entry)
{
    if (entry->node.scope == TFS_SCOPE_ROOT)
        return -EPERM;
    int result = check_empty(s, &entry->node);
    if (result < 0)
        return result;
    return tfs_names_hide(&s->names, &entry->node, TFS_HIDING_PASSES);
}

static int remove_directory(struct tfs_session *s, struct naming *c)
{
    const struct tfs_entry *entry = &c->entry;

    if (entry->link != NULL)
        return rmdir_scratch(s, entry->link);
    if (!entry->schema || !entry->visible)
        return -ENOENT;
    if (!tfs_node_is_directory(&entry->node))
        return -ENOTDIR;
    if (tfs_entry_read_only(s, entry))
        return -EROFS;
    if (tfs_node_is_chunk(&entry->node))
        return rmdir_chunk(s, entry, c);
    if (entry->branch != NULL && tfs_node_is_group(&entry->node) && !is_shown_in_group(entry))
        return group_remove(s, &entry->node);
    return rmdir_below_chunk(s, entry);
}

void tfs_session_rmdir(struct tfs_session *s, uint64_t parent, const char *name,
                       struct tfs_reply reply)
{
    struct naming c = {.verb = remove_directory, .parent = parent, .name = name, .reply = reply};
    const int result = run(s, &c);

    tfs_reply_now(reply, result);
}

/* ---- symbolic links: scratch only (editors lock with them) ----------------------------------- */

static int make_symlink(struct tfs_session *s, struct naming *c)
{
    const struct tfs_entry *entry = &c->entry;

    if (entry->link != NULL || entry->visible)
        return -EEXIST;
    if (entry->schema)
        return -EPERM;
    const int result = tfs_entry_free_for_scratch(s, entry, c->name, false);
    return result < 0 ? result : make_scratch(s, c, TFS_SCRATCH_SYMLINK);
}

int tfs_session_symlink(struct tfs_session *s, uint64_t parent, const char *name,
                        const char *target, uid_t uid, gid_t gid, struct tfs_attr *attr)
{
    struct naming c = {.verb = make_symlink,
                       .parent = parent,
                       .name = name,
                       .owner.st = {.st_mode = 0777, .st_uid = uid, .st_gid = gid},
                       .target = target,
                       .attr = attr};

    return run(s, &c);
}

int tfs_session_readlink(struct tfs_session *s, uint64_t id, char **target)
{
    pthread_mutex_lock(&s->lock);
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);
    const struct tfs_scratch *scratch = inode != NULL ? inode->scratch : NULL;
    int result = scratch != NULL && scratch->kind == TFS_SCRATCH_SYMLINK ? 0 : -EINVAL;
    if (result == 0 && scratch->bytes.size == 0)
        result = -ESTALE; /* unlinked since it was looked up */
    if (result == 0) {
        *target = strndup((const char *)scratch->bytes.data, scratch->bytes.size);
        result = *target != NULL ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}
