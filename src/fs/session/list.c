/*
 * Listing directories: names of the schema first, then scratch names.
 *
 * Offsets name a place that stays true while entries come and go (rm -r lists and deletes at once):
 * 1 and 2 behind `.` and `..`; then for chunk directories 3 + the chunk's slot, for others 2 + the
 * number behind the schema's entry; from SCRATCH on the serial number of a scratch name.
 */
#include <errno.h>

#include "formats/views/view_sets.h"
#include "fs/session/ops.h"

#define SCHEMA  2
#define SCRATCH (UINT64_C(1) << 40)

/* One call. */
struct listing {
    struct tfs_session *s;
    uint64_t id;
    struct tfs_node dir;
    bool schema; /* the directory is one of the schema: `dir` */
    uint64_t offset;
    tfs_dirent_fn give;
    void *arg;
    int result; /* negative: what is in the directory cannot be found out now */
};

static bool give_one(struct listing *l, const struct tfs_dirent *entry)
{
    if (!l->give(l->arg, entry))
        return false;
    l->offset = entry->next;
    return true;
}

static bool give_entry(struct listing *l, const char *name, uint64_t next, uint64_t id, mode_t type)
{
    const struct tfs_dirent entry = {
        .name = name, .next = next, .attr.st = {.st_ino = id, .st_mode = type}};

    return give_one(l, &entry);
}

/* `.` and `..`. */
static bool give_dots(struct listing *l)
{
    static const char *const names[SCHEMA] = {".", ".."};
    uint64_t ids[SCHEMA] = {l->id, 1};

    if (l->schema) {
        struct tfs_node up = tfs_ops_parent(l->s, &l->dir);
        ids[1] = tfs_node_id(&up);
    } else {
        ids[1] = tfs_inode_find(&l->s->inodes, l->id)->scratch->parent;
    }
    while (l->offset < SCHEMA)
        if (!give_entry(l, names[l->offset], l->offset + 1, ids[l->offset], S_IFDIR))
            return false;
    return true;
}

static bool give_named(struct listing *l, const struct tfs_node *node, const char *name,
                       uint64_t next)
{
    const mode_t type = tfs_node_is_directory(node) ? S_IFDIR : S_IFREG;
    struct tfs_dirent entry = {.name = name, .next = next};

    if (tfs_ops_attr_listed(l->s, node, &entry.attr))
        return give_one(l, &entry);
    return give_entry(l, name, next, tfs_node_id(node), type);
}

static bool give_node(struct listing *l, const struct tfs_node *node, uint64_t next)
{
    const struct tfs_branch *branch = tfs_ops_branch(l->s, node);
    struct tfs_buf name = {0};
    int visible = tfs_ops_visible(l->s, node);

    if (visible <= 0) {
        l->result = visible;
        return visible == 0;
    }
    tfs_tree_name(branch->save, tfs_store_shown(branch->store), node, &name);
    tfs_buf_u8(&name, 0);
    bool given = !name.failed && give_named(l, node, (const char *)name.data, next);
    tfs_buf_release(&name);
    return given;
}

static bool give_chunks(struct listing *l, uint32_t group)
{
    struct tfs_store *store = tfs_ops_branch(l->s, &l->dir)->store;
    const uint32_t slots = tfs_store_slots(store);

    for (uint64_t slot = l->offset - SCHEMA; slot < slots; slot++) {
        struct tfs_node node = {
            .scope = TFS_SCOPE_CHUNK, .store = l->dir.store, .slot = (uint32_t)slot, .file = -1};
        if (tfs_store_key(store, node.slot, &node.key) && node.key.group == group &&
            !give_node(l, &node, SCHEMA + slot + 1))
            return false;
    }
    return true;
}

/* Directories above the stores, and the roots of stores. */
static bool give_above(struct listing *l)
{
    struct tfs_session *s = l->s;

    for (uint64_t i = l->offset - SCHEMA; i < s->above_count + s->branch_count; i++) {
        struct tfs_node node = TFS_NODE_ROOT;
        const char *name;
        bool here;
        if (i < s->above_count) {
            node.store = TFS_STORE_ABOVE;
            node.slot = (uint32_t)i;
            name = s->above[i].name;
            here = i > 0 && s->above[i].parent == l->dir.slot;
        } else {
            const struct tfs_branch *branch = &s->branches[i - s->above_count];
            node.store = branch->number;
            name = branch->name;
            here = branch->above == l->dir.slot;
        }
        if (here && !give_named(l, &node, name, SCHEMA + i + 1))
            return false;
    }
    return true;
}

static bool give_schema(struct listing *l)
{
    const struct tfs_branch *branch = tfs_ops_branch(l->s, &l->dir);
    uint32_t group;
    struct tfs_node node;
    size_t i = (size_t)(l->offset - SCHEMA);

    if (branch == NULL)
        return give_above(l);
    if (tfs_node_holds_chunks(&l->dir, &group))
        return give_chunks(l, group);
    const struct tfs_doc *doc = tfs_store_shown(branch->store);
    while ((l->result = tfs_tree_name_of_schema(branch->save, doc, &l->dir, i, &i, &node)) == 1) {
        if (!give_node(l, &node, SCHEMA + i))
            return false;
    }
    return l->result == 0;
}

/* Is .terrainfs listed? Trees of a set of files are for tar and rsync --delete, which would take it
 * along or away. */
static bool shows_control(const struct tfs_session *s)
{
    return tfs_rejected_has_lines(&s->rejected) &&
           tfs_chosen_all(s->branches[0].save->options.views);
}

static void give_scratch(struct listing *l)
{
    struct tfs_session *s = l->s;
    uint64_t from = l->offset >= SCRATCH ? l->offset - SCRATCH : 0;
    const struct tfs_link *link;

    for (; (link = tfs_link_from(&s->scratch_tree, l->id, from)) != NULL; from = link->serial + 1) {
        if (link->scratch == s->rejected.control->scratch && !shows_control(s))
            continue;
        if (!give_entry(l, link->name, SCRATCH + link->serial + 1, link->scratch->id,
                        link->scratch->kind))
            return;
    }
}

/* What is to be listed: 0 or negative. */
static int find_directory(struct listing *l, struct tfs_need *need)
{
    struct tfs_session *s = l->s;
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, l->id);

    l->schema = inode == NULL;
    if (!l->schema)
        return inode->scratch != NULL && inode->scratch->kind == TFS_SCRATCH_DIRECTORY ? 0
                                                                                       : -ENOTDIR;
    int result = tfs_ops_node(s, l->id, &l->dir);
    if (result < 0)
        return result;
    struct tfs_branch *branch = tfs_ops_branch(s, &l->dir);
    if (branch != NULL && tfs_store_broken(branch->store) != 0)
        return -EIO;
    if (!tfs_node_is_directory(&l->dir))
        return -ENOTDIR;
    result = branch == NULL ? 0 : tfs_ops_know_directory(need, branch, &l->dir);
    struct tfs_node inside = l->dir; /* listing a chunk looks at each of its files */
    inside.file = inside.scope == TFS_SCOPE_CHUNK ? 0 : inside.file;
    if (result == 0)
        result = tfs_ops_know_inside(s, need, &inside);
    if (result == 0)
        result = tfs_ops_check_visible(s, &l->dir);
    return tfs_ops_know_again(s, need, &l->dir, result);
}

static int try_list(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct listing *l = call;
    const uint64_t offset = l->offset;
    int result = find_directory(l, need);

    l->result = 0;
    if (result == 0 && give_dots(l) && (!l->schema || offset >= SCRATCH || give_schema(l)))
        give_scratch(l);
    /* A listing without what cannot be found out would stay in caches as if it were whole. What was
     * given before that is taken; the next call says it. */
    if (result == 0 && l->result < 0 && l->offset == offset)
        result = tfs_ops_know_again(s, need, &l->dir, l->result);
    return result;
}

int tfs_session_read_directory(struct tfs_session *s, uint64_t id, uint64_t offset,
                               tfs_dirent_fn give, void *arg)
{
    struct listing l = {.s = s, .id = id, .offset = offset, .give = give, .arg = arg};

    return tfs_ops_run(s, try_list, &l);
}

bool tfs_session_is_as_read(struct tfs_session *s)
{
    return tfs_views_last_stamp(&s->views) == 0;
}
