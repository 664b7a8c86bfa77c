/*
 * Names: what a name stands for now, and removing, making and linking names. The schema's names lie
 * below (tree.h, existence.h); on top of them what users did to them (names.h) and scratch files.
 * Whatever changes the save goes to its store as a job.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/view_sets.h"
#include "fs/session/op_group.h"

/* ---- what a name stands for ------------------------------------------------------------------ */

static int find_directory(struct tfs_session *s, struct tfs_need *need, uint64_t parent,
                          struct tfs_entry *entry)
{
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, parent);

    if (inode != NULL) {
        entry->scratch_dir = inode->scratch;
        if (inode->scratch == NULL || inode->scratch->kind != TFS_SCRATCH_DIRECTORY)
            return -ENOTDIR;
        entry->branch = tfs_ops_branch_of(s, inode);
        return 0;
    }
    int result = tfs_ops_node(s, parent, &entry->dir);
    if (result < 0)
        return result;
    if (!tfs_node_is_directory(&entry->dir))
        return -ENOTDIR;
    entry->branch = tfs_ops_branch(s, &entry->dir);
    result = tfs_ops_know_inside(s, need, &entry->dir);
    return result < 0 ? result : tfs_ops_check_visible(s, &entry->dir);
}

/* A directory above the stores, or the root of one. */
static void find_above(struct tfs_session *s, const char *name, struct tfs_entry *entry)
{
    struct tfs_node node = TFS_NODE_ROOT;

    for (uint32_t i = 1; i < s->above_count && !entry->schema; i++) {
        if (s->above[i].parent != entry->dir.slot || strcmp(s->above[i].name, name) != 0)
            continue;
        node.store = TFS_STORE_ABOVE;
        node.slot = i;
        entry->schema = true;
    }
    for (size_t i = 0; i < s->branch_count && !entry->schema; i++) {
        const struct tfs_branch *branch = &s->branches[i];
        if (branch->above != entry->dir.slot || strcmp(branch->name, name) != 0)
            continue;
        node.store = branch->number;
        entry->schema = true;
    }
    entry->node = node;
    entry->visible = entry->schema;
}

static int find_in_tree(struct tfs_session *s, struct tfs_need *need, const char *name,
                        struct tfs_entry *entry)
{
    const struct tfs_branch *branch = entry->branch;
    uint32_t group;
    struct tfs_key key = {0};
    int result = tfs_ops_know_name(need, entry->branch, &entry->dir, name);

    if (result < 0)
        return result;
    result = tfs_tree_lookup(branch->save, tfs_store_shown(branch->store), &entry->dir, name, false,
                             &entry->node);

    if (result < 0 && result != -ENOENT)
        return result;
    if (result == 0) {
        result = tfs_ops_know_inside(s, need, &entry->node);
        int visible = result < 0 ? result : tfs_ops_visible(s, &entry->node);
        if (visible < 0)
            return tfs_ops_know_again(s, need, &entry->node, visible);
        entry->schema = true;
        entry->visible = visible;
    }
    if (tfs_node_holds_chunks(&entry->dir, &group) && tfs_chunk_name_parse(name, &key)) {
        key.group = group;
        entry->coordinate = true;
        if (!entry->schema)
            entry->node = (struct tfs_node){.scope = TFS_SCOPE_CHUNK,
                                            .store = branch->number,
                                            .key = key,
                                            .slot = TFS_SLOT_NONE,
                                            .file = -1};
    }
    return 0;
}

int tfs_entry_find(struct tfs_session *s, struct tfs_need *need, uint64_t parent, const char *name,
                   struct tfs_entry *entry)
{
    *entry = (struct tfs_entry){0};
    int result = find_directory(s, need, parent, entry);
    if (result < 0)
        return result;
    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    entry->link = tfs_link_find(&s->overlay, parent, name);
    if (entry->link != NULL || entry->scratch_dir != NULL)
        return 0;
    if (entry->branch != NULL)
        return find_in_tree(s, need, name, entry);
    find_above(s, name, entry);
    return 0;
}

static bool is_read_only(struct tfs_session *s, const struct tfs_entry *entry)
{
    return entry->branch != NULL ? tfs_store_read_only(entry->branch->store) : s->options.read_only;
}

int tfs_entry_check_shown(const struct tfs_entry *entry, struct tfs_error *err)
{
    struct tfs_save *save = entry->branch != NULL ? entry->branch->save : NULL;

    if (save == NULL || !tfs_node_is_left_out(save, &entry->node) ||
        tfs_node_exists(save, tfs_store_shown(entry->branch->store), &entry->node) == 1)
        return 0;
    struct tfs_buf views = {0};
    tfs_chosen_print(save->options.views, &views);
    tfs_buf_u8(&views, 0);
    tfs_fail(err, -EPERM, "this file of the tree is left out by -o views=%s and cannot be made",
             views.failed ? "" : (const char *)views.data);
    tfs_buf_release(&views);
    return err->code;
}

/* `cp -r CHUNK OTHER` where the other chunk is there. */
static bool is_chunk_in_chunk(const struct tfs_entry *entry, const char *name)
{
    struct tfs_key key;

    return entry->scratch_dir == NULL && entry->branch != NULL &&
           entry->dir.scope == TFS_SCOPE_CHUNK && tfs_chunk_name_parse(name, &key);
}

int tfs_entry_free_for_scratch(struct tfs_session *s, const struct tfs_entry *entry,
                               const char *name, bool directory)
{
    uint32_t group;

    if (is_read_only(s, entry))
        return -EROFS;
    if (entry->scratch_dir != NULL && (entry->scratch_dir->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    if (entry->coordinate || (directory && is_chunk_in_chunk(entry, name)))
        return -EINVAL;
    /* A mistyped coordinate or number must not become a directory of no effect. */
    bool numbers = entry->scratch_dir == NULL &&
                   (tfs_node_holds_chunks(&entry->dir, &group) || tfs_holds_groups(&entry->dir));
    return directory && numbers && name[0] != '.' ? -EINVAL : 0;
}

int tfs_entry_make_scratch(struct tfs_session *s, uint64_t parent, const char *name,
                           enum tfs_scratch_kind kind, const struct tfs_attr *owner,
                           const char *target, struct tfs_inode **out)
{
    struct tfs_inode *inode = tfs_inode_make_scratch(&s->inodes, kind, 0);

    if (inode == NULL)
        return -ENOMEM;
    struct tfs_scratch *scratch = inode->scratch;
    scratch->mode = owner->st.st_mode & 07777;
    scratch->uid = owner->st.st_uid;
    scratch->gid = owner->st.st_gid;
    scratch->atime = scratch->mtime = scratch->ctime = tfs_views_now(&s->views);
    int result = tfs_scratch_resize(&s->overlay, scratch, strlen(target));
    if (result == 0 && scratch->bytes.size > 0)
        memcpy(scratch->bytes.data, target, scratch->bytes.size);
    if (result == 0)
        result = tfs_link_add(&s->overlay, parent, name, scratch);
    if (result < 0)
        tfs_inode_drop(&s->inodes, inode);
    else
        *out = inode;
    return result;
}

/* One call about a name. */
struct naming {
    uint64_t parent;
    const char *name;
    struct tfs_attr owner; /* of what is made */
    const char *target;
    struct tfs_reply reply;
    struct tfs_attr *attr;
    struct tfs_error err; /* to be logged; code 0: nothing */
};

/* ---- lookup ---------------------------------------------------------------------------------- */

/* The id of a file that shows the text of now. */
static int give_id(struct tfs_session *s, const struct tfs_node *node, struct tfs_attr *attr)
{
    const uint64_t computed = tfs_node_id(node);
    const bool alone = tfs_views_have_met(&s->views, computed);
    struct tfs_doc *shown = alone ? tfs_store_shown(tfs_ops_branch(s, node)->store) : NULL;
    const int result =
        tfs_inode_give(&s->inodes, node, tfs_views_stamp(&s->views, computed), shown, &attr->id);

    attr->lasts = attr->lasts && attr->id == computed;
    return result;
}

static int try_lookup(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct naming *c = call;
    struct tfs_entry entry;
    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);

    if (result < 0)
        return result;
    if (entry.link != NULL) {
        struct tfs_inode *inode = tfs_inode_find(&s->inodes, entry.link->scratch->id);
        inode->refs++;
        return tfs_ops_attr(s, need, inode, c->attr);
    }
    if (!entry.schema || !entry.visible)
        return -ENOENT;
    result = tfs_ops_attr_node(s, need, &entry.node, c->attr);
    return result == 0 && !tfs_node_is_directory(&entry.node) ? give_id(s, &entry.node, c->attr)
                                                              : result;
}

int tfs_session_lookup(struct tfs_session *s, uint64_t parent, const char *name,
                       struct tfs_attr *attr)
{
    struct naming c = {.parent = parent, .name = name, .attr = attr};

    return tfs_ops_run(s, try_lookup, &c);
}

void tfs_session_forget(struct tfs_session *s, uint64_t id, uint64_t count)
{
    struct tfs_view view = {.id = id};

    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = id >= TFS_ID_TABLE ? tfs_inode_find(&s->inodes, id) : NULL;
    if (inode != NULL) {
        inode->refs -= count < inode->refs ? count : inode->refs;
        tfs_inode_drop(&s->inodes, inode);
    } else if (tfs_node_of_id(id, &view.node) && view.node.store != TFS_STORE_ABOVE) {
        view.save = tfs_ops_branch(s, &view.node)->save;
        tfs_views_set_given(&s->views, &view, false);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- unlink ---------------------------------------------------------------------------------- */

static int unlink_scratch(struct tfs_session *s, struct tfs_link *link)
{
    struct tfs_scratch *scratch = link->scratch;

    if ((scratch->flags & TFS_SCRATCH_CONTROL) != 0)
        return -EPERM;
    if (scratch->kind == TFS_SCRATCH_DIRECTORY)
        return -EISDIR;
    tfs_link_remove(&s->overlay, link);
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
    tfs_ops_leave(s, node, tfs_store_shown(tfs_ops_branch(s, node)->store));
    struct tfs_node dir = tfs_ops_parent(s, node);
    tfs_ops_bump_directory(s, &dir);
    return 0;
}

static int try_unlink(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct naming *c = call;
    struct tfs_entry entry;
    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);

    if (result < 0)
        return result;
    if (entry.link != NULL)
        return unlink_scratch(s, entry.link);
    if (is_read_only(s, &entry))
        return -EROFS;
    return entry.schema && entry.visible ? unlink_schema(s, &entry.node) : -ENOENT;
}

int tfs_session_unlink(struct tfs_session *s, uint64_t parent, const char *name)
{
    struct naming c = {.parent = parent, .name = name};

    return tfs_ops_told(s, parent, name, tfs_ops_run(s, try_unlink, &c), NULL);
}

/* ---- directories ----------------------------------------------------------------------------- */

static int make_scratch(struct tfs_session *s, const struct naming *c, enum tfs_scratch_kind kind)
{
    struct tfs_inode *inode;
    int result = tfs_entry_make_scratch(s, c->parent, c->name, kind, &c->owner, c->target, &inode);

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
    if (tfs_entry_check_shown(entry, &c->err) < 0)
        return c->err.code;
    if (entry->branch != NULL && tfs_node_is_group(&entry->node) && !is_shown_in_group(entry)) {
        int result = tfs_group_make(s, &entry->node, &c->err);
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

static int try_mkdir(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct naming *c = call;
    struct tfs_entry entry;

    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);
    if (result == 0 && is_read_only(s, &entry))
        result = -EROFS;
    if (result < 0)
        return result;
    if (entry.link != NULL)
        return -EEXIST;
    if (entry.coordinate)
        return entry.schema ? -EEXIST
                            : tfs_ops_chunk(entry.branch, TFS_CHUNK_MAKE, &entry.node,
                                            entry.node.key, c->reply);
    if (entry.schema)
        return mkdir_schema(s, c, &entry);
    result = tfs_entry_free_for_scratch(s, &entry, c->name, true);
    if (result == -EINVAL)
        refuse_number(&entry, &c->err);
    return result < 0 ? result : make_scratch(s, c, TFS_SCRATCH_DIRECTORY);
}

void tfs_session_mkdir(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, struct tfs_reply reply)
{
    struct tfs_attr attr;
    struct naming c = {.parent = parent,
                       .name = name,
                       .owner.st = {.st_mode = mode, .st_uid = uid, .st_gid = gid},
                       .target = "",
                       .reply = reply,
                       .attr = &attr};
    int result = tfs_ops_told(s, parent, name, tfs_ops_run(s, try_mkdir, &c), &c.err);

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
    if (!tfs_overlay_is_empty(&s->overlay, scratch->id))
        return -ENOTEMPTY;
    tfs_link_remove(&s->overlay, link);
    tfs_inode_drop(&s->inodes, tfs_inode_find(&s->inodes, scratch->id));
    return 0;
}

/* git passes over a directory that is not empty: the log says why the chunk is still there. */
static int rmdir_chunk(struct tfs_session *s, const struct tfs_entry *entry, struct naming *c)
{
    /* A tile is refused with its sentence, whatever is in it. */
    int result =
        tfs_chunks_are_fixed(entry->branch->save) ? 0 : tfs_ops_check_empty(s, &entry->node);
    if (result == -ENOTEMPTY && tfs_names_of(&s->names, &entry->node) != NULL)
        tfs_fail(&c->err, result,
                 "the chunk stays, because not all of its files were removed; trees of other files "
                 "need a mount with their -o views=");
    if (result == 0)
        result = tfs_group_keep(s, &entry->node);
    if (result < 0)
        return result;
    return tfs_ops_chunk(entry->branch, TFS_CHUNK_REMOVE, &entry->node, entry->node.key, c->reply);
}

/* lights/ and the like, arrays/ of a group: gone until mkdir or two seconds bring it back. */
static int rmdir_below_chunk(struct tfs_session *s, const struct tfs_entry *entry)
{
    if (entry->node.scope == TFS_SCOPE_ROOT)
        return -EPERM;
    int result = tfs_ops_check_empty(s, &entry->node);
    if (result < 0)
        return result;
    return tfs_names_hide(&s->names, &entry->node, TFS_HIDING_PASSES);
}

static int try_rmdir(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct naming *c = call;
    struct tfs_entry entry;

    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);
    if (result < 0)
        return result;
    if (entry.link != NULL)
        return rmdir_scratch(s, entry.link);
    if (!entry.schema || !entry.visible)
        return -ENOENT;
    if (!tfs_node_is_directory(&entry.node))
        return -ENOTDIR;
    if (is_read_only(s, &entry))
        return -EROFS;
    if (tfs_node_is_chunk(&entry.node))
        return rmdir_chunk(s, &entry, c);
    if (entry.branch != NULL && tfs_node_is_group(&entry.node) && !is_shown_in_group(&entry))
        return tfs_group_remove(s, &entry.node, &c->err);
    return rmdir_below_chunk(s, &entry);
}

void tfs_session_rmdir(struct tfs_session *s, uint64_t parent, const char *name,
                       struct tfs_reply reply)
{
    struct naming c = {.parent = parent, .name = name, .reply = reply};
    int result = tfs_ops_told(s, parent, name, tfs_ops_run(s, try_rmdir, &c), &c.err);

    if (result != -EINPROGRESS)
        tfs_reply_now(reply, result);
}

/* ---- symbolic links: scratch only (editors lock with them) ----------------------------------- */

static int try_symlink(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct naming *c = call;
    struct tfs_entry entry;

    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);
    if (result < 0)
        return result;
    if (entry.link != NULL || entry.visible)
        return -EEXIST;
    if (entry.schema)
        return tfs_entry_check_shown(&entry, &c->err) < 0 ? c->err.code : -EPERM;
    result = tfs_entry_free_for_scratch(s, &entry, c->name, false);
    return result < 0 ? result : make_scratch(s, c, TFS_SCRATCH_SYMLINK);
}

int tfs_session_symlink(struct tfs_session *s, uint64_t parent, const char *name,
                        const char *target, uid_t uid, gid_t gid, struct tfs_attr *attr)
{
    struct naming c = {.parent = parent,
                       .name = name,
                       .owner.st = {.st_mode = 0777, .st_uid = uid, .st_gid = gid},
                       .target = target,
                       .attr = attr};

    return tfs_ops_told(s, parent, name, tfs_ops_run(s, try_symlink, &c), &c.err);
}

int tfs_session_link(struct tfs_session *s, uint64_t parent, const char *name)
{
    tfs_ops_told(s, parent, name, -EMLINK, NULL);
    return -EPERM;
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
