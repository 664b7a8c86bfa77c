/*
 * Names: what a name stands for now, and removing, linking and making names. The schema's names lie
 * below (fs/tree.h); on top of them tombstones, names of new chunk directories that are still
 * hidden, and scratch names. Whatever changes the save goes to the worker as a job.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fs/state.h"

/* ---- new chunk directories ------------------------------------------------------------------- */

struct tfs_fresh *tfs_fresh_locked(struct tfs_session *s, const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_CHUNK ? tfs_map_find(&s->fresh, (uint64_t)node->slot + 1)
                                          : NULL;
}

void tfs_fresh_touch_locked(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_fresh *fresh = tfs_fresh_locked(s, node);
    if (fresh != NULL && fresh->hidden)
        fresh->deadline = tfs_now_ms() + s->options.linger_ms;
}

void tfs_fresh_remove_locked(struct tfs_session *s, uint32_t slot)
{
    struct tfs_fresh *fresh = tfs_map_remove(&s->fresh, (uint64_t)slot + 1);
    if (fresh == NULL)
        return;
    for (unsigned i = 0; i < TFS_FILES_MAX; i++)
        tfs_blob_unref(fresh->waiting[i]);
    free(fresh);
}

/* Which bit of fresh->created or fresh->directories is this node's? */
static uint32_t *fresh_bits(struct tfs_fresh *fresh, const struct tfs_node *node, uint32_t *bit)
{
    *bit = UINT32_C(1) << (node->file >= 0 ? (unsigned)node->file : node->directory - TFS_DIR_SUB);
    return node->file >= 0 ? &fresh->created : &fresh->directories;
}

static bool fresh_hides(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_fresh *fresh = tfs_fresh_locked(s, node);
    if (fresh == NULL || !fresh->hidden || tfs_node_is_chunk(node))
        return false;
    uint32_t bit;
    const uint32_t *bits = fresh_bits(fresh, node, &bit);
    return (*bits & bit) == 0;
}

/* ---- tombstones ------------------------------------------------------------------------------ */

struct tfs_tombstone *tfs_tombstone_locked(struct tfs_session *s, const struct tfs_node *node)
{
    return tfs_map_find(&s->tombstones, tfs_node_id(node));
}

int tfs_tombstone_add_locked(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_tombstone *tomb = tfs_tombstone_locked(s, node);
    if (tomb == NULL) {
        tomb = calloc(1, sizeof(*tomb));
        if (tomb == NULL)
            return -ENOMEM;
        tomb->node = *node;
        if (tfs_map_set(&s->tombstones, tfs_node_id(node), tomb) < 0) {
            free(tomb);
            return -ENOMEM;
        }
    }
    tomb->deadline = tfs_now_ms() + s->options.linger_ms;
    pthread_cond_signal(&s->work);
    return 0;
}

void tfs_tombstone_remove_locked(struct tfs_session *s, const struct tfs_node *node)
{
    free(tfs_map_remove(&s->tombstones, tfs_node_id(node)));
}

void tfs_reveal_locked(struct tfs_session *s, const struct tfs_node *node)
{
    tfs_tombstone_remove_locked(s, node);
    struct tfs_fresh *fresh = tfs_fresh_locked(s, node);
    if (fresh != NULL && !tfs_node_is_chunk(node)) {
        uint32_t bit;
        uint32_t *bits = fresh_bits(fresh, node, &bit);
        *bits |= bit;
    }
}

/* ---- what is there --------------------------------------------------------------------------- */

int tfs_visible_locked(struct tfs_session *s, const struct tfs_node *node)
{
    if (fresh_hides(s, node) || tfs_tombstone_locked(s, node) != NULL)
        return 0;
    if (tfs_group_kept_locked(s, node))
        return 1;
    struct tfs_inode *inode = tfs_map_find(&s->virtuals, tfs_node_id(node));
    if (inode != NULL && inode->pending)
        return 1;
    return tfs_node_exists(s->save, s->doc, node);
}

static int find_directory(struct tfs_session *s, uint64_t parent, struct tfs_entry *entry)
{
    struct tfs_inode *inode = tfs_inode_find_locked(s, parent);
    if (inode != NULL) {
        entry->scratch_dir = inode;
        return inode->kind == TFS_INODE_DIRECTORY ? 0 : -ENOTDIR;
    }
    int result = tfs_id_node_locked(s, parent, &entry->dir);
    if (result < 0)
        return result;
    if (!tfs_node_is_directory(&entry->dir))
        return -ENOTDIR;
    int visible = tfs_visible_locked(s, &entry->dir);
    return visible < 0 ? visible : visible == 0 ? -ESTALE : 0;
}

int tfs_entry_find_locked(struct tfs_session *s, uint64_t parent, const char *name,
                          struct tfs_entry *entry)
{
    *entry = (struct tfs_entry){0};
    int result = find_directory(s, parent, entry);
    if (result < 0)
        return result;
    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    entry->link = tfs_link_find_locked(s, parent, name);
    if (entry->link != NULL || entry->scratch_dir != NULL)
        return 0;
    result = tfs_tree_lookup(s->save, s->doc, &entry->dir, name, false, &entry->node);
    if (result < 0 && result != -ENOENT)
        return result;
    if (result == 0) {
        int visible = tfs_visible_locked(s, &entry->node);
        if (visible < 0)
            return visible;
        entry->schema = true;
        entry->visible = visible;
    }
    uint32_t group;
    struct tfs_key key = {0};
    if (tfs_node_holds_chunks(&entry->dir, &group) && tfs_chunk_name_parse(name, &key)) {
        key.group = group;
        entry->coordinate = true;
        if (!entry->schema)
            entry->node = (struct tfs_node){.scope = TFS_SCOPE_CHUNK, .key = key, .file = -1};
    }
    return 0;
}

static bool holds_groups(const struct tfs_node *dir)
{
    return tfs_node_is_group(dir) && dir->scope == TFS_SCOPE_ROOT;
}

int tfs_entry_free_for_scratch(struct tfs_session *s, const struct tfs_entry *entry,
                               const char *name, bool directory)
{
    uint32_t group;
    if (s->options.read_only)
        return -EROFS;
    if (entry->scratch_dir != NULL && entry->scratch_dir->control)
        return -EPERM;
    if (entry->coordinate)
        return -EINVAL;
    /* A mistyped coordinate or number must not become a directory of no effect. */
    if (directory && entry->scratch_dir == NULL && name[0] != '.' &&
        (tfs_node_holds_chunks(&entry->dir, &group) || holds_groups(&entry->dir)))
        return -EINVAL;
    return 0;
}

int tfs_directory_empty_locked(struct tfs_session *s, const struct tfs_node *dir)
{
    struct tfs_node child;
    size_t i = 0;
    int found;
    while ((found = tfs_tree_name_of_schema(s->save, s->doc, dir, i, &i, &child)) == 1) {
        int visible = tfs_visible_locked(s, &child);
        if (visible != 0)
            return visible < 0 ? visible : 0;
    }
    return found < 0 ? found : tfs_links_empty_locked(s, tfs_node_id(dir));
}

static void path_of_scratch(struct tfs_session *s, const struct tfs_inode *inode,
                            struct tfs_buf *out)
{
    if (inode->link == NULL)
        return;
    tfs_path_locked(s, inode->parent, out);
    if (out->size > 0)
        tfs_buf_u8(out, '/');
    tfs_buf_add_text(out, inode->link->name);
}

void tfs_path_locked(struct tfs_session *s, uint64_t id, struct tfs_buf *out)
{
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    struct tfs_node node;
    if (inode != NULL && inode->kind != TFS_INODE_VIRTUAL)
        path_of_scratch(s, inode, out);
    else if (tfs_id_node_locked(s, id, &node) == 0)
        tfs_tree_path(s->save, s->doc, &node, out);
}

int tfs_refuse_name_locked(struct tfs_session *s, uint64_t parent, const char *name,
                           const struct tfs_error *err)
{
    struct tfs_buf path = {0};
    tfs_path_locked(s, parent, &path);
    if (path.size > 0)
        tfs_buf_u8(&path, '/');
    tfs_buf_add(&path, name, strlen(name) + 1);
    pthread_mutex_unlock(&s->lock);
    tfs_log_error(s, err, path.failed ? name : (const char *)path.data);
    pthread_mutex_lock(&s->lock);
    tfs_buf_release(&path);
    return err->code;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

int tfs_session_lookup(struct tfs_session *s, uint64_t parent, const char *name,
                       struct tfs_attr *attr)
{
    struct tfs_entry entry;
    pthread_mutex_lock(&s->lock);
    int result = tfs_entry_find_locked(s, parent, name, &entry);
    if (result == 0 && entry.link != NULL) {
        result = tfs_attr_inode_locked(s, entry.link->inode, attr);
    } else if (result == 0) {
        if (entry.schema && entry.visible && entry.node.file >= 0)
            tfs_await_close_locked(s, tfs_node_known_id_locked(s, &entry.node));
        /* Looked at again: a close that ended just now may have taken the name with it. */
        int visible = entry.schema ? tfs_visible_locked(s, &entry.node) : 0;
        if (visible == 1)
            result = tfs_attr_node_locked(s, &entry.node, false, attr);
        else
            result = visible < 0 ? visible : -ENOENT;
    }
    struct tfs_inode *inode = result == 0 ? tfs_inode_find_locked(s, attr->id) : NULL;
    if (inode != NULL)
        inode->lookups++;
    pthread_mutex_unlock(&s->lock);
    return result;
}

void tfs_session_forget(struct tfs_session *s, uint64_t id, uint64_t count)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    if (inode != NULL) {
        inode->lookups -= count < inode->lookups ? count : inode->lookups;
        tfs_inode_drop_locked(s, inode);
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- unlink ---------------------------------------------------------------------------------- */

static int unlink_scratch(struct tfs_session *s, struct tfs_link *link)
{
    struct tfs_inode *inode = link->inode;
    if (inode->control)
        return -EPERM;
    if (inode->kind == TFS_INODE_DIRECTORY)
        return -EISDIR;
    tfs_link_remove_locked(s, link);
    inode->ctime = tfs_now_locked(s);
    tfs_inode_drop_locked(s, inode);
    return 0;
}

int tfs_bury_locked(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_inode *inode = tfs_map_find(&s->virtuals, tfs_node_id(node));
    if (inode == NULL)
        return 0;
    if (inode->handles == 0) {
        tfs_inode_forget_bytes_locked(s, inode);
        tfs_inode_drop_locked(s, inode);
        return 0;
    }
    struct tfs_blob *content = NULL;
    struct tfs_error err = {0};
    int result = 0;
    inode->jobs++; /* the lock may be let go while rendering */
    if (!inode->pending)
        result = tfs_content_locked(s, node, &content, &err);
    if (result == 0 && inode->kind == TFS_INODE_VIRTUAL) {
        inode->uncapped = true;
        result = tfs_inode_detach_locked(s, inode, tfs_blob_span(content));
        inode->uncapped = result == 0;
    }
    /* Whoever had it open may have closed it meanwhile. */
    inode->grave = result == 0 && inode->handles > 0;
    if (result == 0)
        result = inode->grave ? 1 : 0;
    tfs_blob_unref(content);
    inode->jobs--;
    tfs_inode_drop_locked(s, inode);
    return result;
}

static int unlink_schema(struct tfs_session *s, const struct tfs_entry *entry)
{
    const struct tfs_node *node = &entry->node;
    if (tfs_node_is_directory(node))
        return -EISDIR;
    if (!tfs_node_writable(s->save, s->doc, node))
        return -EPERM;
    /* The tombstone first: what was buried cannot come back. It does not end while that is done. */
    int result = tfs_tombstone_add_locked(s, node);
    if (result < 0)
        return result;
    tfs_tombstone_locked(s, node)->holders = 1;
    int orphans = tfs_bury_locked(s, node);
    struct tfs_tombstone *tomb = tfs_tombstone_locked(s, node);
    if (tomb != NULL) {
        tomb->holders = orphans > 0 ? (unsigned)orphans : 0;
        tomb->unlinked = orphans >= 0;
    }
    if (orphans < 0) {
        tfs_tombstone_remove_locked(s, node);
        return orphans;
    }
    struct tfs_fresh *fresh = tfs_fresh_locked(s, node);
    uint32_t bit;
    if (fresh != NULL && fresh->hidden) {
        uint32_t *bits = fresh_bits(fresh, node, &bit);
        *bits &= ~bit;
        tfs_fresh_touch_locked(s, node);
    }
    struct tfs_node dir = tfs_tree_parent(s->save, node);
    tfs_bump_locked(s, &dir);
    return 0;
}

int tfs_session_unlink(struct tfs_session *s, uint64_t parent, const char *name)
{
    struct tfs_entry entry;
    pthread_mutex_lock(&s->lock);
    int result = tfs_entry_find_locked(s, parent, name, &entry);
    if (result == 0 && entry.link != NULL)
        result = unlink_scratch(s, entry.link);
    else if (result == 0 && s->options.read_only)
        result = -EROFS;
    else if (result == 0)
        result = entry.schema && entry.visible ? unlink_schema(s, &entry) : -ENOENT;
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* ---- directories ----------------------------------------------------------------------------- */

static int mkdir_scratch(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                         uid_t uid, gid_t gid, struct tfs_attr *attr)
{
    struct tfs_inode *inode = tfs_inode_create_locked(s, TFS_INODE_DIRECTORY, mode, uid, gid);
    if (inode == NULL)
        return -ENOMEM;
    int result = tfs_link_add_locked(s, parent, name, inode);
    if (result == 0)
        result = tfs_attr_inode_locked(s, inode, attr);
    inode->lookups = result == 0 ? 1 : 0;
    tfs_inode_drop_locked(s, inode);
    return result;
}

static int mkdir_group(struct tfs_session *s, const struct tfs_entry *entry, uint64_t parent,
                       const char *name, struct tfs_attr *attr)
{
    struct tfs_error err = {0};
    int result = tfs_group_make_locked(s, &entry->node, &err);
    if (err.code < 0)
        return tfs_refuse_name_locked(s, parent, name, &err);
    return result < 0 ? result : tfs_attr_node_locked(s, &entry->node, true, attr);
}

/* mkdir of a directory of the schema other than a chunk's: but for those of groups, it can only
 * come back. */
static int mkdir_schema(struct tfs_session *s, const struct tfs_entry *entry, uint64_t parent,
                        const char *name, struct tfs_attr *attr)
{
    if (entry->visible)
        return -EEXIST;
    if (tfs_node_is_group(&entry->node))
        return mkdir_group(s, entry, parent, name, attr);
    bool gone = tfs_tombstone_locked(s, &entry->node) != NULL || fresh_hides(s, &entry->node);
    if (entry->node.file >= 0 || entry->node.scope != TFS_SCOPE_CHUNK || !gone)
        return -EPERM;
    tfs_reveal_locked(s, &entry->node);
    tfs_fresh_touch_locked(s, &entry->node);
    return tfs_attr_node_locked(s, &entry->node, true, attr);
}

static int refuse_number(struct tfs_session *s, const struct tfs_entry *entry, uint64_t parent,
                         const char *name)
{
    struct tfs_error err = {0};
    if (holds_groups(&entry->dir))
        tfs_fail(&err, -EINVAL, "a directory in %s is named N, a plain decimal number from %u on",
                 s->save->tree->group_dir, s->save->tree->group_label);
    else
        tfs_fail(&err, -EINVAL, "a chunk directory is named X_Y_Z, plain decimal numbers: 3_-1_12");
    return tfs_refuse_name_locked(s, parent, name, &err);
}

static int mkdir_chunk(struct tfs_session *s, const struct tfs_entry *entry, struct tfs_reply reply)
{
    if (entry->schema)
        return -EEXIST;
    struct tfs_job *job = tfs_job_create(tfs_apply_make_chunk, reply);
    if (job == NULL)
        return -ENOMEM;
    job->node = entry->node;
    job->undo = true;
    job->settle = tfs_settle_make_chunk;
    tfs_job_submit_locked(s, job);
    return -EINPROGRESS;
}

void tfs_session_mkdir(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, struct tfs_reply reply)
{
    struct tfs_entry entry;
    struct tfs_attr attr;
    pthread_mutex_lock(&s->lock);
    int result = tfs_entry_find_locked(s, parent, name, &entry);
    if (result == 0 && s->options.read_only)
        result = -EROFS;
    if (result < 0)
        ;
    else if (entry.link != NULL)
        result = -EEXIST;
    else if (entry.coordinate)
        result = mkdir_chunk(s, &entry, reply);
    else if (entry.schema)
        result = mkdir_schema(s, &entry, parent, name, &attr);
    else if ((result = tfs_entry_free_for_scratch(s, &entry, name, true)) == -EINVAL)
        result = refuse_number(s, &entry, parent, name);
    else if (result == 0)
        result = mkdir_scratch(s, parent, name, mode, uid, gid, &attr);
    pthread_mutex_unlock(&s->lock);
    if (result != -EINPROGRESS)
        reply.done(reply.arg, result, result == 0 ? &attr : NULL);
}

static int rmdir_scratch(struct tfs_session *s, struct tfs_link *link)
{
    struct tfs_inode *inode = link->inode;
    if (inode->kind != TFS_INODE_DIRECTORY)
        return -ENOTDIR;
    if (inode->control)
        return -EPERM;
    if (!tfs_links_empty_locked(s, inode->id))
        return -ENOTEMPTY;
    tfs_link_remove_locked(s, link);
    tfs_inode_drop_locked(s, inode);
    return 0;
}

static int rmdir_chunk(struct tfs_session *s, const struct tfs_entry *entry, struct tfs_reply reply)
{
    /* A tile is refused with its sentence, whatever is in it. */
    int empty = s->save->tree->fixed_chunks ? 1 : tfs_directory_empty_locked(s, &entry->node);
    if (empty <= 0)
        return empty < 0 ? empty : -ENOTEMPTY;
    if (tfs_group_keep_locked(s, entry->node.key.group) < 0)
        return -ENOMEM;
    struct tfs_job *job = tfs_job_create(tfs_apply_remove_chunk, reply);
    if (job == NULL)
        return -ENOMEM;
    job->node = entry->node;
    job->undo = true;
    job->settle = tfs_settle_remove_chunk;
    tfs_job_submit_locked(s, job);
    return -EINPROGRESS;
}

static int rmdir_group(struct tfs_session *s, const struct tfs_entry *entry, uint64_t parent,
                       const char *name)
{
    struct tfs_error err = {0};
    int result = tfs_group_remove_locked(s, &entry->node, &err);
    return err.code < 0 ? tfs_refuse_name_locked(s, parent, name, &err) : result;
}

/* lights/ and the like: gone until mkdir or two seconds bring it back. */
static int rmdir_part(struct tfs_session *s, const struct tfs_entry *entry)
{
    if (entry->node.scope != TFS_SCOPE_CHUNK)
        return -EPERM;
    int empty = tfs_directory_empty_locked(s, &entry->node);
    if (empty <= 0)
        return empty < 0 ? empty : -ENOTEMPTY;
    struct tfs_fresh *fresh = tfs_fresh_locked(s, &entry->node);
    uint32_t bit;
    if (fresh != NULL && fresh->hidden) {
        uint32_t *bits = fresh_bits(fresh, &entry->node, &bit);
        *bits &= ~bit;
    }
    tfs_fresh_touch_locked(s, &entry->node);
    return tfs_tombstone_add_locked(s, &entry->node);
}

void tfs_session_rmdir(struct tfs_session *s, uint64_t parent, const char *name,
                       struct tfs_reply reply)
{
    struct tfs_entry entry;
    pthread_mutex_lock(&s->lock);
    int result = tfs_entry_find_locked(s, parent, name, &entry);
    if (result < 0)
        ;
    else if (entry.link != NULL)
        result = rmdir_scratch(s, entry.link);
    else if (!entry.schema || !entry.visible)
        result = -ENOENT;
    else if (!tfs_node_is_directory(&entry.node))
        result = -ENOTDIR;
    else if (s->options.read_only)
        result = -EROFS;
    else if (tfs_node_is_chunk(&entry.node))
        result = rmdir_chunk(s, &entry, reply);
    else if (tfs_node_is_group(&entry.node))
        result = rmdir_group(s, &entry, parent, name);
    else
        result = rmdir_part(s, &entry);
    pthread_mutex_unlock(&s->lock);
    if (result != -EINPROGRESS)
        tfs_reply_now(reply, result);
}

/* ---- symbolic links: scratch only (editors lock with them) ----------------------------------- */

int tfs_session_symlink(struct tfs_session *s, uint64_t parent, const char *name,
                        const char *target, uid_t uid, gid_t gid, struct tfs_attr *attr)
{
    struct tfs_entry entry;
    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = NULL;
    int result = tfs_entry_find_locked(s, parent, name, &entry);
    if (result == 0 && (entry.link != NULL || entry.visible))
        result = -EEXIST;
    else if (result == 0 && entry.schema)
        result = -EPERM;
    else if (result == 0)
        result = tfs_entry_free_for_scratch(s, &entry, name, false);
    if (result == 0) {
        inode = tfs_inode_create_locked(s, TFS_INODE_SYMLINK, 0777, uid, gid);
        result = inode != NULL ? tfs_inode_resize_locked(s, inode, strlen(target)) : -ENOMEM;
    }
    if (result == 0) {
        memcpy(inode->bytes.data, target, inode->bytes.size);
        result = tfs_link_add_locked(s, parent, name, inode);
    }
    if (result == 0)
        result = tfs_attr_inode_locked(s, inode, attr);
    if (inode != NULL) {
        inode->lookups = result == 0 ? 1 : 0;
        tfs_inode_drop_locked(s, inode);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

int tfs_session_readlink(struct tfs_session *s, uint64_t id, char **target)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    int result = inode != NULL && inode->kind == TFS_INODE_SYMLINK ? 0 : -EINVAL;
    if (result == 0 && inode->bytes.size == 0)
        result = -ESTALE; /* unlinked since it was looked up */
    if (result == 0) {
        *target = strndup((const char *)inode->bytes.data, inode->bytes.size);
        result = *target != NULL ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}
