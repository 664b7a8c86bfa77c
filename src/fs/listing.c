/*
 * Listing directories: names of the schema first, then scratch names.
 *
 * Offsets name a place that stays true while entries come and go (rm -r lists and deletes at once):
 * 1 and 2 behind `.` and `..`; then for chunk directories 3 + the chunk's slot, for others 2 + the
 * number behind the schema's entry; from SCRATCH on the serial number of a scratch name.
 */
#include <errno.h>

#include "fs/state.h"

#define SCHEMA  2
#define SCRATCH (UINT64_C(1) << 40)

/* One call. */
struct reading {
    struct tfs_session *s;
    uint64_t id;
    struct tfs_node dir;
    bool schema; /* the directory is one of the schema: `dir` */
    enum tfs_listed attributes;
    uint64_t offset;
    tfs_dirent_fn give;
    void *arg;
    int result; /* negative: what is in the directory cannot be found out now */
};

/* `.` and `..`: only number and type are read. */
static bool give_dots(struct reading *r)
{
    struct tfs_inode *inode = r->schema ? NULL : tfs_inode_find_locked(r->s, r->id);
    struct tfs_node up = r->schema ? tfs_tree_parent(r->s->save, &r->dir) : TFS_NODE_ROOT;
    uint64_t ids[SCHEMA] = {r->id, inode != NULL ? inode->parent : tfs_node_id(&up)};
    static const char *const names[SCHEMA] = {".", ".."};
    for (; r->offset < SCHEMA; r->offset++) {
        struct tfs_dirent entry = {.name = names[r->offset], .next = r->offset + 1};
        entry.attr.st.st_ino = ids[r->offset];
        entry.attr.st.st_mode = S_IFDIR;
        if (!r->give(r->arg, &entry))
            return false;
    }
    return true;
}

static bool give_entry(struct reading *r, const struct tfs_dirent *entry)
{
    if (!r->give(r->arg, entry))
        return false;
    struct tfs_inode *inode = entry->known ? tfs_inode_find_locked(r->s, entry->attr.id) : NULL;
    if (inode != NULL)
        inode->lookups++;
    r->offset = entry->next;
    return true;
}

static bool wants_attributes(const struct reading *r, bool directory)
{
    return r->attributes == TFS_LISTED_ALL || (r->attributes != TFS_LISTED_NONE && directory);
}

static bool give_node(struct reading *r, const struct tfs_node *node, uint64_t next)
{
    struct tfs_dirent entry = {.next = next};
    struct tfs_buf name = {0};
    int visible = tfs_visible_locked(r->s, node);
    if (visible <= 0) {
        r->result = visible;
        return visible == 0;
    }
    tfs_tree_name(r->s->save, r->s->doc, node, &name);
    tfs_buf_u8(&name, 0);
    bool directory = tfs_node_is_directory(node);
    entry.known =
        wants_attributes(r, directory) && tfs_attr_node_locked(r->s, node, true, &entry.attr) == 0;
    if (!entry.known) {
        entry.attr.st.st_ino = tfs_node_id(node);
        entry.attr.st.st_mode = directory ? S_IFDIR : S_IFREG;
    }
    entry.name = (const char *)name.data;
    bool given = !name.failed && give_entry(r, &entry);
    tfs_buf_release(&name);
    return given;
}

static bool give_chunks(struct reading *r, uint32_t group)
{
    for (uint64_t slot = r->offset - SCHEMA; slot < r->s->key_count; slot++) {
        struct tfs_key key = r->s->keys[slot];
        struct tfs_node node = {
            .scope = TFS_SCOPE_CHUNK, .key = key, .slot = (uint32_t)slot, .file = -1};
        if (key.group == group && !give_node(r, &node, SCHEMA + slot + 1))
            return false;
    }
    return true;
}

static bool give_schema(struct reading *r)
{
    uint32_t group;
    if (r->schema && tfs_node_holds_chunks(&r->dir, &group))
        return give_chunks(r, group);
    struct tfs_node node;
    size_t i = (size_t)(r->offset - SCHEMA);
    while (r->schema && (r->result = tfs_tree_name_of_schema(r->s->save, r->s->doc, &r->dir, i, &i,
                                                             &node)) == 1) {
        if (!give_node(r, &node, SCHEMA + i))
            return false;
    }
    return r->result == 0;
}

static void give_scratch(struct reading *r)
{
    uint64_t from = r->offset >= SCRATCH ? r->offset - SCRATCH : 0;
    const struct tfs_link *link;
    for (; (link = tfs_link_from_locked(r->s, r->id, from)) != NULL; from = link->serial + 1) {
        if (link->inode == r->s->control)
            continue;
        struct tfs_dirent entry = {.name = link->name, .next = SCRATCH + link->serial + 1};
        bool directory = link->inode->kind == TFS_INODE_DIRECTORY;
        entry.known = tfs_attr_inode_locked(r->s, link->inode, &entry.attr) == 0 &&
                      wants_attributes(r, directory);
        if (!give_entry(r, &entry))
            return;
    }
}

/* Is it a directory that can be listed? */
static int find_directory(struct reading *r)
{
    struct tfs_session *s = r->s;
    struct tfs_inode *inode = tfs_inode_find_locked(s, r->id);
    if (s->broken != 0)
        return -EIO;
    r->schema = inode == NULL;
    if (!r->schema)
        return inode->kind == TFS_INODE_DIRECTORY ? 0 : -ENOTDIR;
    int result = tfs_id_node_locked(s, r->id, &r->dir);
    if (result < 0)
        return result;
    if (!tfs_node_is_directory(&r->dir))
        return -ENOTDIR;
    int visible = tfs_visible_locked(s, &r->dir);
    return visible < 0 ? visible : visible == 0 ? -ESTALE : 0;
}

int tfs_session_read_directory(struct tfs_session *s, uint64_t id, uint64_t offset,
                               enum tfs_listed attributes, tfs_dirent_fn give, void *arg)
{
    struct reading r = {
        .s = s, .id = id, .attributes = attributes, .offset = offset, .give = give, .arg = arg};
    pthread_mutex_lock(&s->lock);
    int result = find_directory(&r);
    if (result == 0 && give_dots(&r) && (offset >= SCRATCH || give_schema(&r)))
        give_scratch(&r);
    pthread_mutex_unlock(&s->lock);
    /* A listing without what cannot be found out would stay in caches as if it were whole. What was
     * given before that is taken (its lookups are counted); the next call says it. */
    return result == 0 && r.result < 0 && r.offset == offset ? r.result : result;
}
