/*
 * Inodes, ids and scratch links: which id means which file, and when an inode is of no more use.
 * Knows no lens and no commit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/state.h"

/* ---- ids ------------------------------------------------------------------------------------- */

struct tfs_inode *tfs_inode_find_locked(struct tfs_session *s, uint64_t id)
{
    return tfs_map_find(&s->inodes, id);
}

int tfs_id_node_locked(struct tfs_session *s, uint64_t id, struct tfs_node *node)
{
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    if (inode != NULL) {
        *node = inode->node;
        return inode->kind == TFS_INODE_VIRTUAL ? 0 : -ENOENT;
    }
    if (!tfs_node_of_id(id, node) || tfs_map_find(&s->burned, id) != NULL)
        return -ESTALE;
    if (node->scope != TFS_SCOPE_CHUNK)
        return 0;
    if (node->slot >= s->key_count || s->keys[node->slot].group == UINT32_MAX)
        return -ESTALE;
    node->key = s->keys[node->slot];
    return 0;
}

static struct tfs_inode *inode_new(struct tfs_session *s, uint64_t id)
{
    struct tfs_inode *inode = calloc(1, sizeof(*inode));
    if (inode == NULL)
        return NULL;
    inode->id = id;
    if (tfs_map_set(&s->inodes, id, inode) < 0) {
        free(inode);
        return NULL;
    }
    return inode;
}

struct tfs_inode *tfs_inode_create_locked(struct tfs_session *s, enum tfs_inode_kind kind,
                                          mode_t mode, uid_t uid, gid_t gid)
{
    struct tfs_inode *inode = inode_new(s, s->next_id++);
    if (inode == NULL)
        return NULL;
    inode->kind = kind;
    inode->mode = mode & 07777;
    inode->uid = uid;
    inode->gid = gid;
    inode->atime = inode->mtime = inode->ctime = tfs_now_locked(s);
    return inode;
}

struct tfs_inode *tfs_inode_of_node_locked(struct tfs_session *s, const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);
    struct tfs_inode *inode = tfs_map_find(&s->virtuals, computed);
    if (inode != NULL)
        return inode;
    bool taken =
        tfs_map_find(&s->inodes, computed) != NULL || tfs_map_find(&s->burned, computed) != NULL;
    inode = inode_new(s, taken ? s->next_id++ : computed);
    if (inode == NULL)
        return NULL;
    inode->kind = TFS_INODE_VIRTUAL;
    inode->node = *node;
    if (tfs_map_set(&s->virtuals, computed, inode) < 0) {
        tfs_map_remove(&s->inodes, inode->id);
        free(inode);
        return NULL;
    }
    return inode;
}

uint64_t tfs_node_known_id_locked(struct tfs_session *s, const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);
    struct tfs_inode *inode = tfs_map_find(&s->virtuals, computed);
    return inode != NULL ? inode->id : computed;
}

uint64_t tfs_node_id_locked(struct tfs_session *s, const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);
    if (tfs_node_is_directory(node))
        return computed;
    struct tfs_inode *inode = tfs_map_find(&s->virtuals, computed);
    if (inode != NULL)
        return inode->id;
    if (tfs_map_find(&s->inodes, computed) == NULL && tfs_map_find(&s->burned, computed) == NULL)
        return computed;
    inode = tfs_inode_of_node_locked(s, node);
    return inode != NULL ? inode->id : 0;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static void uncount(struct tfs_session *s, const struct tfs_inode *inode)
{
    if (inode->kind != TFS_INODE_VIRTUAL && !inode->control && !inode->uncapped)
        s->scratch_used -= inode->bytes.size;
}

void tfs_inode_forget_bytes_locked(struct tfs_session *s, struct tfs_inode *inode)
{
    uncount(s, inode);
    tfs_buf_release(&inode->bytes);
    inode->pending = inode->dirty = inode->written = inode->closing = false;
    inode->complained = inode->kept = inode->outdated = inode->pinned = false;
}

static void inode_free(struct tfs_session *s, struct tfs_inode *inode)
{
    tfs_inode_forget_bytes_locked(s, inode);
    bool itself = false;
    if (inode->kind == TFS_INODE_VIRTUAL) {
        uint64_t computed = tfs_node_id(&inode->node);
        itself = inode->id == computed;
        if (tfs_map_find(&s->virtuals, computed) == inode)
            tfs_map_remove(&s->virtuals, computed);
    }
    /* The kernel may still know this id as what the file became: a scratch file, or another name of
     * the schema. Without memory to say that it is used up, the inode goes on holding it. */
    if (!itself && inode->id < TFS_ID_TABLE && tfs_map_set(&s->burned, inode->id, &s->burned) < 0) {
        inode->kind = TFS_INODE_FILE;
        return;
    }
    tfs_map_remove(&s->inodes, inode->id);
    free(inode);
}

void tfs_inode_drop_locked(struct tfs_session *s, struct tfs_inode *inode)
{
    if (inode->handles > 0 || inode->jobs > 0 || inode->link != NULL || inode->pending)
        return;
    if (inode->id >= TFS_ID_TABLE && inode->lookups > 0) {
        if (inode->kind != TFS_INODE_VIRTUAL && !inode->displaced)
            tfs_inode_forget_bytes_locked(s, inode);
        return;
    }
    inode_free(s, inode);
}

static uint64_t scratch_left(const struct tfs_session *s)
{
    return s->scratch_used < s->options.scratch_limit ? s->options.scratch_limit - s->scratch_used
                                                      : 0;
}

/* Lets go of memory that is no longer counted: the cap is for what is held. Without memory for the
 * smaller copy the larger stays. */
static void shrink(struct tfs_buf *bytes, size_t size)
{
    struct tfs_buf smaller = {0};
    size_t kept = size < bytes->size ? size : bytes->size;
    tfs_buf_add(&smaller, bytes->data, kept);
    if (smaller.failed)
        return;
    tfs_buf_release(bytes);
    *bytes = smaller;
}

int tfs_inode_resize_locked(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    bool counted = inode->kind != TFS_INODE_VIRTUAL && !inode->control && !inode->uncapped;
    if (counted && size > inode->bytes.size && size - inode->bytes.size > scratch_left(s))
        return -ENOSPC;
    size_t before = inode->bytes.size;
    if (size < inode->bytes.capacity / 4)
        shrink(&inode->bytes, (size_t)size);
    tfs_buf_resize(&inode->bytes, (size_t)size);
    if (inode->bytes.failed) {
        inode->bytes.failed = false;
        return -ENOMEM;
    }
    if (counted)
        s->scratch_used += inode->bytes.size - before;
    return 0;
}

int tfs_inode_detach_locked(struct tfs_session *s, struct tfs_inode *inode, struct tfs_span content)
{
    bool keeps_bytes = inode->pending;
    uint64_t size = keeps_bytes ? inode->bytes.size : content.size;
    if (!inode->uncapped && size > scratch_left(s))
        return -ENOSPC;
    if (!keeps_bytes) {
        tfs_buf_add_span(&inode->bytes, content);
        if (inode->bytes.failed) {
            tfs_buf_release(&inode->bytes);
            return -ENOMEM;
        }
    }
    struct tfs_attr attr = {0};
    inode->pending = false; /* so that the attributes are those of the file as saved */
    (void)tfs_attr_node_locked(s, &inode->node, true, &attr);
    tfs_map_remove(&s->virtuals, tfs_node_id(&inode->node));
    inode->kind = TFS_INODE_FILE;
    inode->dirty = inode->written = inode->closing = inode->outdated = false;
    inode->mode = attr.st.st_mode & 07777;
    inode->uid = attr.st.st_uid;
    inode->gid = attr.st.st_gid;
    inode->atime = attr.st.st_atim;
    inode->mtime = attr.st.st_mtim;
    inode->ctime = tfs_now_locked(s);
    if (!inode->uncapped)
        s->scratch_used += inode->bytes.size;
    return 0;
}

/* Takes `node` away from the inode that shows it now; open ones were detached by the caller, with
 * what they showed. */
static void displace(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_inode *old = tfs_map_remove(&s->virtuals, tfs_node_id(node));
    if (old == NULL)
        return;
    tfs_inode_forget_bytes_locked(s, old);
    old->kind = TFS_INODE_FILE;
    tfs_inode_drop_locked(s, old);
}

int tfs_inode_attach_locked(struct tfs_session *s, struct tfs_inode *inode,
                            const struct tfs_node *node)
{
    uint64_t computed = tfs_node_id(node);
    if (tfs_map_find(&s->virtuals, computed) == inode)
        return 0;
    displace(s, node);
    if (inode->kind == TFS_INODE_VIRTUAL)
        tfs_map_remove(&s->virtuals, tfs_node_id(&inode->node));
    if (tfs_map_set(&s->virtuals, computed, inode) < 0)
        return -ENOMEM;
    if (inode->kind == TFS_INODE_FILE)
        uncount(s, inode);
    inode->kind = TFS_INODE_VIRTUAL;
    inode->node = *node;
    inode->grave = inode->uncapped = false;
    return 0;
}

/* ---- links ----------------------------------------------------------------------------------- */

struct tfs_link *tfs_link_find_locked(struct tfs_session *s, uint64_t parent, const char *name)
{
    struct tfs_scratch_names *names = tfs_map_find(&s->names, parent);
    return names != NULL ? tfs_links_find(&names->links, name) : NULL;
}

struct tfs_link *tfs_link_from_locked(struct tfs_session *s, uint64_t parent, uint64_t serial)
{
    struct tfs_scratch_names *names = tfs_map_find(&s->names, parent);
    return names != NULL ? tfs_links_from(&names->links, serial) : NULL;
}

bool tfs_links_empty_locked(struct tfs_session *s, uint64_t parent)
{
    return tfs_map_find(&s->names, parent) == NULL;
}

size_t tfs_link_directories_locked(struct tfs_session *s, uint64_t parent)
{
    const struct tfs_scratch_names *names = tfs_map_find(&s->names, parent);
    return names != NULL ? names->directories : 0;
}

static struct tfs_scratch_names *names_of(struct tfs_session *s, uint64_t parent)
{
    struct tfs_scratch_names *names = tfs_map_find(&s->names, parent);
    if (names != NULL)
        return names;
    names = calloc(1, sizeof(*names));
    if (names != NULL && tfs_map_set(&s->names, parent, names) < 0) {
        free(names);
        return NULL;
    }
    return names;
}

static void remove_link(struct tfs_session *s, uint64_t parent, struct tfs_scratch_names *names,
                        struct tfs_link *link)
{
    if (link != NULL)
        tfs_links_remove(&names->links, link);
    if (names->links.count > 0)
        return;
    tfs_map_remove(&s->names, parent);
    free(names);
}

/* A link that is nobody's yet; NULL without memory. */
static struct tfs_link *new_link(struct tfs_session *s, uint64_t parent, const char *name)
{
    struct tfs_scratch_names *names = names_of(s, parent);
    if (names == NULL)
        return NULL;
    struct tfs_link *link = tfs_links_add(&names->links, name, s->next_serial++, NULL);
    if (link == NULL)
        remove_link(s, parent, names, NULL);
    return link;
}

static uint64_t cost(const struct tfs_inode *inode)
{
    return inode->control || inode->uncapped ? 0 : TFS_SCRATCH_COST;
}

static void give_link(struct tfs_session *s, uint64_t parent, struct tfs_link *link,
                      struct tfs_inode *inode)
{
    struct tfs_scratch_names *names = tfs_map_find(&s->names, parent);
    names->directories += inode->kind == TFS_INODE_DIRECTORY;
    s->scratch_used += cost(inode);
    link->inode = inode;
    inode->link = link;
    inode->parent = parent;
}

/* The link is nobody's then. Returns the names of its directory. */
static struct tfs_scratch_names *take_link(struct tfs_session *s, struct tfs_link *link)
{
    struct tfs_inode *inode = link->inode;
    struct tfs_scratch_names *names = tfs_map_find(&s->names, inode->parent);
    names->directories -= inode->kind == TFS_INODE_DIRECTORY;
    s->scratch_used -= cost(inode);
    link->inode = NULL;
    inode->link = NULL;
    return names;
}

int tfs_link_add_locked(struct tfs_session *s, uint64_t parent, const char *name,
                        struct tfs_inode *inode)
{
    if (cost(inode) > scratch_left(s))
        return -ENOSPC;
    struct tfs_link *link = new_link(s, parent, name);
    if (link == NULL)
        return -ENOMEM;
    give_link(s, parent, link, inode);
    return 0;
}

int tfs_link_replace_locked(struct tfs_session *s, uint64_t parent, const char *name,
                            struct tfs_inode *inode, struct tfs_inode **replaced)
{
    struct tfs_link *link = tfs_link_find_locked(s, parent, name);
    struct tfs_inode *old = link != NULL ? link->inode : NULL;
    if (link == NULL) {
        int result = tfs_link_add_locked(s, parent, name, inode);
        if (result < 0)
            return result;
    } else {
        take_link(s, link);
        give_link(s, parent, link, inode);
    }
    *replaced = old;
    return 0;
}

int tfs_link_move_locked(struct tfs_session *s, struct tfs_inode *inode, uint64_t new_parent,
                         const char *new_name)
{
    const uint64_t parent = inode->parent;
    struct tfs_link *old = inode->link, *link = tfs_link_find_locked(s, new_parent, new_name);
    struct tfs_inode *replaced = link != NULL ? link->inode : NULL;
    if (link == NULL)
        link = new_link(s, new_parent, new_name);
    if (link == NULL)
        return -ENOMEM;
    if (replaced != NULL)
        take_link(s, link);
    struct tfs_scratch_names *names = take_link(s, old);
    give_link(s, new_parent, link, inode);
    remove_link(s, parent, names, old);
    if (replaced != NULL)
        tfs_inode_drop_locked(s, replaced);
    return 0;
}

void tfs_link_remove_locked(struct tfs_session *s, struct tfs_link *link)
{
    const uint64_t parent = link->inode->parent;
    struct tfs_scratch_names *names = take_link(s, link);
    remove_link(s, parent, names, link);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void names_release(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(&s->names, &at, &cell);) {
        struct tfs_scratch_names *names = cell.value;
        tfs_links_release(&names->links);
        free(names);
    }
    tfs_map_release(&s->names);
}

void tfs_inodes_release(struct tfs_session *s)
{
    struct tfs_map_cell cell;
    for (size_t at = 0; tfs_map_next(&s->inodes, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        tfs_buf_release(&inode->bytes);
        free(inode);
    }
    tfs_map_release(&s->inodes);
    tfs_map_release(&s->virtuals);
    tfs_map_release(&s->burned);
    names_release(s);
}
