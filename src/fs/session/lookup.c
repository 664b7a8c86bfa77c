/*
 * What a name stands for now: those of the schema (fs/tree), what users did to them (names.h) and
 * scratch files; lookups and listings. Where that is said by chunks that the shown document lacks,
 * because nobody asked for them yet, a verb ends with TFS_NEEDS_CHUNKS; the store's thread reads
 * them, and the verb is tried again.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "fs/session/ops.h"

/* ---- chunks that nobody read yet ------------------------------------------------------------- */

struct chunks_work {
    struct tfs_work work;
    struct tfs_key chunk;
    bool all;
};

static int apply_read(struct tfs_job *job, bool last)
{
    const struct chunks_work *w = (struct chunks_work *)job;
    struct tfs_error err = {0};
    const int result = tfs_store_complete(w->work.branch->store, w->all ? NULL : &w->chunk, &err);

    if (result == -EAGAIN)
        return last ? -EIO : result;
    if (result < 0)
        tfs_ops_log_branch(w->work.branch, &err);
    return result;
}

static const struct tfs_job_kind read_chunks = {.apply = apply_read};

static int read_once(struct tfs_need *need)
{
    struct chunks_work *w =
        tfs_work_create(sizeof(*w), &read_chunks, need->branch, NULL, (struct tfs_reply){0});

    if (w == NULL)
        return -ENOMEM;
    w->chunk = need->chunk;
    w->all = need->all_chunks;
    w->work.job.reads = w->all ? NULL : &w->chunk;
    return tfs_work_wait(&w->work);
}

/* Has them read by the store's thread, and waits for it; and before, where the save is written just
 * now. */
static int read_and_wait(struct tfs_need *need)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int result;

    while ((result = read_once(need)) == -EAGAIN)
        nanosleep(&pause, NULL);
    return result;
}

/* ---- what is needed -------------------------------------------------------------------------- */

/* Does the shown document have the chunks that may be at `chunk`; NULL: all of them? 0 if it does;
 * else TFS_NEEDS_CHUNKS. */
static int know(struct tfs_need *need, struct tfs_branch *branch, const struct tfs_key *chunk)
{
    if (!tfs_save_lacks(branch->save, tfs_store_shown(branch->store), chunk))
        return 0;
    need->read_chunks = read_and_wait;
    need->branch = branch;
    need->all_chunks = chunk == NULL;
    need->chunk = chunk == NULL ? (struct tfs_key){0} : *chunk;
    return TFS_NEEDS_CHUNKS;
}

/* Is it the first part of a path of the schema? */
static bool is_root_name(const struct tfs_tree *tree, const char *name)
{
    const size_t length = strlen(name);
    bool found = false;

    for (unsigned i = 0; i < tree->root.count && !found; i++) {
        const char *path = tree->root.files[i].path;
        found = strncmp(path, name, length) == 0 && (path[length] == '\0' || path[length] == '/');
    }
    return found;
}

/* What files of the root show, and whether they are there, is of all chunks. */
static int know_name(struct tfs_need *need, struct tfs_branch *branch, const struct tfs_node *dir,
                     const char *name)
{
    struct tfs_key key = {0};
    uint32_t group;

    if (tfs_node_holds_chunks(dir, &group)) {
        key.group = group;
        return tfs_chunk_name_parse(name, &key) ? know(need, branch, &key) : 0;
    }
    if (dir->scope != TFS_SCOPE_ROOT || !is_root_name(branch->save->tree, name))
        return 0;
    return know(need, branch, NULL);
}

/* The chunks that this directory lists. */
static int know_directory(struct tfs_need *need, struct tfs_branch *branch,
                          const struct tfs_node *dir)
{
    return dir->scope == TFS_SCOPE_ROOT ? know(need, branch, NULL) : 0;
}

/* ---- what is in a chunk ---------------------------------------------------------------------- */

/* What is read so is remembered, and what cannot be read is not waited for once more, but where
 * another program changed it. */
static int look_inside(struct tfs_need *need)
{
    const struct tfs_view *view = &need->view;

    if (tfs_node_exists(view->save, view->doc, &view->node) == -ESTALE)
        (void)tfs_ops_catch_up(need, need->branch, view->doc);
    return 0;
}

#define ASKED_MAX 4 /* a verb names two */

int tfs_ops_know_inside(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node)
{
    struct tfs_branch *branch = tfs_ops_branch(s, node);

    if (branch == NULL || node->scope != TFS_SCOPE_CHUNK || tfs_node_is_chunk(node) ||
        branch->save->tree->cells == NULL || need->asked == ASKED_MAX)
        return 0;
    struct tfs_doc *doc = tfs_store_shown(branch->store);
    const struct tfs_chunk *chunk = tfs_doc_find(doc, node->key);
    if (chunk == NULL || (chunk->flags & TFS_CHUNK_UNREAD_ALL) == 0 ||
        (need->asked > 0 && tfs_key_compare(need->view.node.key, node->key) == 0))
        return 0;
    need->asked++;
    need->read_chunks = look_inside;
    need->branch = branch;
    tfs_need_view(need, &(struct tfs_view){branch->save, doc, *node, 0, 0});
    return TFS_NEEDS_CHUNKS;
}

static int look_again(struct tfs_need *need)
{
    (void)tfs_ops_catch_up(need, need->branch, need->view.doc);
    return 0;
}

int tfs_ops_know_again(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node,
                       int result)
{
    struct tfs_branch *branch = tfs_ops_branch(s, node);

    if (result != -ESTALE || branch == NULL || need->looks == 0 ||
        need->behind == tfs_store_shown(branch->store)->version)
        return result;
    need->read_chunks = look_again;
    need->branch = branch;
    tfs_need_view(need,
                  &(struct tfs_view){branch->save, tfs_store_shown(branch->store), *node, 0, 0});
    return TFS_NEEDS_CHUNKS;
}

/* ---- what a name stands for ------------------------------------------------------------------ */

bool tfs_holds_groups(const struct tfs_node *dir)
{
    return tfs_node_is_group(dir) && dir->scope == TFS_SCOPE_ROOT;
}

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

/* The i-th of all directories above the stores and roots of stores: 1 if it is in `dir`, with
 * *name; 0; -1: there are no more. */
static int next_above(const struct tfs_session *s, const struct tfs_node *dir, uint64_t i,
                      struct tfs_node *node, const char **name)
{
    const bool above = i < s->above_count;

    if (i >= s->above_count + s->branch_count)
        return -1;
    const struct tfs_branch *branch = above ? NULL : &s->branches[i - s->above_count];
    *node = TFS_NODE_ROOT;
    node->store = above ? TFS_STORE_ABOVE : branch->number;
    node->slot = above ? (uint32_t)i : 0;
    *name = above ? s->above[i].name : branch->name;
    return i > 0 && dir->slot == (above ? s->above[i].parent : branch->above);
}

static void find_above(struct tfs_session *s, const char *name, struct tfs_entry *entry)
{
    const char *found;
    int here;

    for (uint64_t i = 0; !entry->schema; i++) {
        if ((here = next_above(s, &entry->dir, i, &entry->node, &found)) < 0)
            break;
        entry->schema = entry->visible = here && strcmp(name, found) == 0;
    }
}

static int find_in_tree(struct tfs_session *s, struct tfs_need *need, const char *name,
                        struct tfs_entry *entry)
{
    const struct tfs_branch *branch = entry->branch;
    struct tfs_key key = {0};
    int result = know_name(need, entry->branch, &entry->dir, name);

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
    if (tfs_node_holds_chunks(&entry->dir, &key.group) && tfs_chunk_name_parse(name, &key)) {
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
    entry->link = tfs_link_find(&s->scratch_tree, parent, name);
    if (entry->link != NULL || entry->scratch_dir != NULL)
        return 0;
    if (entry->branch != NULL)
        return find_in_tree(s, need, name, entry);
    find_above(s, name, entry);
    return 0;
}

bool tfs_entry_read_only(struct tfs_session *s, const struct tfs_entry *entry)
{
    return entry->branch != NULL ? tfs_store_read_only(entry->branch->store) : s->options.read_only;
}

bool tfs_entry_is_left_out(const struct tfs_entry *entry)
{
    struct tfs_save *save = entry->branch != NULL ? entry->branch->save : NULL;

    return save != NULL && tfs_node_is_left_out(save, &entry->node) &&
           tfs_node_exists(save, tfs_store_shown(entry->branch->store), &entry->node) != 1;
}

/* `cp -r CHUNK OTHER` where the other chunk is there. */
static bool is_chunk_in_chunk(const struct tfs_entry *entry, const char *name)
{
    struct tfs_key key = entry->dir.key;

    return entry->scratch_dir == NULL && entry->branch != NULL &&
           entry->dir.scope == TFS_SCOPE_CHUNK && tfs_chunk_name_parse(name, &key);
}

int tfs_entry_free_for_scratch(struct tfs_session *s, const struct tfs_entry *entry,
                               const char *name, bool directory)
{
    uint32_t group;

    if (tfs_entry_read_only(s, entry))
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
                           struct tfs_span bytes, struct tfs_inode **out)
{
    struct tfs_inode *inode = tfs_inode_make_scratch(&s->inodes, kind, 0);

    if (inode == NULL)
        return -ENOMEM;
    struct tfs_scratch *scratch = inode->scratch, *replaced;
    scratch->mode = owner->st.st_mode & 07777;
    scratch->uid = owner->st.st_uid;
    scratch->gid = owner->st.st_gid;
    scratch->atime = scratch->mtime = scratch->ctime = tfs_views_now(&s->views);
    int result = tfs_scratch_resize(&s->scratch_tree, scratch, bytes.size);
    if (result == 0 && bytes.size > 0)
        memcpy(scratch->bytes.data, bytes.data, bytes.size);
    if (result == 0)
        result = tfs_link_put(&s->scratch_tree, scratch, parent, name, &replaced);
    if (result < 0) {
        tfs_inode_drop(&s->inodes, inode);
        return result;
    }
    if (replaced != NULL)
        tfs_inode_drop(&s->inodes, tfs_inode_find(&s->inodes, replaced->id));
    *out = inode;
    return 0;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

/* The id of a file that shows the text of now. */
static int give_id(struct tfs_session *s, const struct tfs_node *node, struct tfs_attr *attr)
{
    const uint64_t computed = tfs_node_id(node);
    const bool alone = tfs_views_have_met(&s->views, computed);
    struct tfs_doc *shown = alone ? tfs_ops_shown(s, node) : NULL;
    const int result =
        tfs_inode_give(&s->inodes, node, tfs_views_stamp(&s->views, computed), shown, &attr->id);

    attr->lasts = attr->lasts && attr->id == computed;
    return result;
}

/* The id of the text that was rendered, for this LOOKUP alone: the file shows another one now. */
static int give_rendered(struct tfs_session *s, struct tfs_need *need, struct tfs_attr *attr)
{
    const struct tfs_view *view = &need->view;
    uint64_t id;
    int result = tfs_inode_give(&s->inodes, &view->node, view->stamp, view->doc, &id);

    if (result < 0)
        return result;
    struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);
    result = tfs_ops_attr(s, need, inode, attr);
    if (result < 0) {
        inode->refs--;
        tfs_inode_drop(&s->inodes, inode);
    }
    return result;
}

/* Of a file; its id and its size are of one text. */
static int look_up_file(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node,
                        struct tfs_attr *attr)
{
    const struct tfs_view view = tfs_ops_view(s, node);
    const bool older = tfs_need_has_older(need, &view);
    const int result = tfs_ops_attr_node(s, older ? NULL : need, node, attr);

    if (result == 0)
        return give_id(s, node, attr);
    return older && result == -EAGAIN ? give_rendered(s, need, attr) : result;
}

struct looking_up {
    uint64_t parent;
    const char *name;
    struct tfs_attr *attr;
};

static int try_lookup(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct looking_up *c = call;
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
    return tfs_node_is_directory(&entry.node) ? tfs_ops_attr_node(s, need, &entry.node, c->attr)
                                              : look_up_file(s, need, &entry.node, c->attr);
}

int tfs_session_lookup(struct tfs_session *s, uint64_t parent, const char *name,
                       struct tfs_attr *attr)
{
    struct looking_up c = {parent, name, attr};

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

/* ---- listings -------------------------------------------------------------------------------- */

/* Names of the schema first, then scratch names. Offsets name a place that stays true while entries
 * come and go (rm -r lists and deletes at once): 1 and 2 behind `.` and `..`; then for chunk
 * directories 3 + the chunk's slot, for others 2 + the number behind the schema's entry; from
 * SCRATCH on the serial number of a scratch name. */
#define SCHEMA  2
#define SCRATCH (UINT64_C(1) << 40)

/* One call. */
struct listing {
    struct tfs_session *s;
    uint64_t id;
    struct tfs_node dir;
    bool schema; /* the directory is one of the schema: `dir` */
    uint64_t offset;
    bool files; /* with their attributes */
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

    if ((l->files || type == S_IFDIR) && tfs_ops_attr_listed(l->s, node, &entry.attr))
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

static bool give_above(struct listing *l)
{
    struct tfs_node node;
    const char *name;
    int here;

    for (uint64_t i = l->offset - SCHEMA; (here = next_above(l->s, &l->dir, i, &node, &name)) >= 0;
         i++)
        if (here && !give_named(l, &node, name, SCHEMA + i + 1))
            return false;
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

/* .terrainfs is not listed: tar and rsync --delete would take it along or away. */
static void give_scratch(struct listing *l)
{
    struct tfs_session *s = l->s;
    uint64_t from = l->offset >= SCRATCH ? l->offset - SCRATCH : 0;
    const struct tfs_link *link;

    for (; (link = tfs_link_from(&s->scratch_tree, l->id, from)) != NULL; from = link->serial + 1) {
        if (link->scratch == s->rejected.control->scratch)
            continue;
        if (!give_entry(l, link->name, SCRATCH + link->serial + 1, link->scratch->id,
                        link->scratch->kind))
            return;
    }
}

/* What is to be listed: 0 or negative. */
static int find_listed(struct listing *l, struct tfs_need *need)
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
    result = branch == NULL ? 0 : know_directory(need, branch, &l->dir);
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
    int result = find_listed(l, need);

    l->result = 0;
    if (result == 0 && give_dots(l) && (!l->schema || offset >= SCRATCH || give_schema(l)))
        give_scratch(l);
    /* A listing without what cannot be found out would stay in caches as if it were whole. What was
     * given before that is taken; the next call says it. */
    if (result == 0 && l->result < 0 && l->offset == offset)
        result = tfs_ops_know_again(s, need, &l->dir, l->result);
    return result;
}

int tfs_session_read_directory(struct tfs_session *s, uint64_t id, uint64_t offset, bool files,
                               tfs_dirent_fn give, void *arg)
{
    struct listing l = {
        .s = s, .id = id, .offset = offset, .files = files, .give = give, .arg = arg};

    return tfs_ops_run(s, try_list, &l);
}

bool tfs_session_is_as_read(struct tfs_session *s)
{
    return tfs_views_last_stamp(&s->views) == 0;
}
