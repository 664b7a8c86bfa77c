/*
 * Schema + document -> directories, files, their names and their order.
 *
 * Nothing is stored: a node is computed from a path or from a place in a directory.
 * This file must not know what users did to names (that is the session's), what a file holds (its
 * lens does), or FUSE.
 */
#include "fs/tree.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "formats/chosen.h"
#include "fs/schema.h"

/* ---- the schema ------------------------------------------------------------------------------ */

static struct tfs_schema schema_of(const struct tfs_save *save, enum tfs_scope scope)
{
    const struct tfs_tree *tree = save->tree;

    switch (scope) {
    case TFS_SCOPE_ROOT:
        return (struct tfs_schema){tree->root_files, tree->root_count};
    case TFS_SCOPE_CHUNK:
        return (struct tfs_schema){tree->chunk_files, tree->chunk_count};
    case TFS_SCOPE_GROUP:
        return (struct tfs_schema){tree->group_files, tree->group_count};
    }
    return (struct tfs_schema){NULL, 0};
}

const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node)
{
    return node->file < 0 ? NULL : &schema_of(save, node->scope).files[node->file];
}

struct tfs_at tfs_node_at(const struct tfs_save *save, const struct tfs_node *node)
{
    return tfs_lens_at(tfs_node_file(save, node)->lens, node->key, node->member);
}

static bool is_chosen(const struct tfs_save *save, const struct tfs_file *file)
{
    return tfs_file_is_chosen(file, save->options.views);
}

bool tfs_node_is_left_out(const struct tfs_save *save, const struct tfs_node *node)
{
    struct tfs_schema schema = schema_of(save, node->scope);
    struct tfs_span path;

    if (node->file >= 0)
        return !is_chosen(save, &schema.files[node->file]);
    if (node->directory < TFS_DIR_SUB || !tfs_schema_directory(schema, node->directory, &path))
        return false;
    for (unsigned i = 0; i < schema.count; i++)
        if (tfs_schema_is_below(&schema.files[i], path) && is_chosen(save, &schema.files[i]))
            return false;
    return true;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Where the chunks of a group begin; the greatest group's end is the document's. */
static size_t group_begin(const struct tfs_doc *doc, uint32_t group)
{
    return tfs_doc_lower_bound(doc, (struct tfs_key){group, INT32_MIN, INT32_MIN, INT32_MIN});
}

static size_t group_end(const struct tfs_doc *doc, uint32_t group)
{
    return group == UINT32_MAX ? doc->count : group_begin(doc, group + 1);
}

/* The first group from `group` on that exists; false when there is none. Group 0 always exists. */
static bool group_next(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                       uint32_t *found)
{
    size_t first;

    if (group == 0)
        return *found = 0, true;
    if (!save->tree->group_dir)
        return false;
    if (save->tree->fixed_groups)
        return *found = group, group < save->tree->groups(doc);
    first = group_begin(doc, group);
    if (first == doc->count)
        return false;
    *found = tfs_doc_at(doc, first)->key.group;
    return true;
}

static bool group_exists(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group)
{
    uint32_t found;

    return group_next(save, doc, group, &found) && found == group;
}

/* Groups above 0. */
static size_t group_count(const struct tfs_save *save, const struct tfs_doc *doc)
{
    size_t count = 0;
    uint32_t group = 0;

    if (save->tree->group_dir && save->tree->fixed_groups) {
        uint32_t end = save->tree->groups(doc);

        return end ? end - 1 : 0;
    }
    while (group < UINT32_MAX && group_next(save, doc, group + 1, &group))
        count++;
    return count;
}

int tfs_tree_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                         struct tfs_error *err)
{
    const struct tfs_tree *tree = save->tree;
    uint32_t end = tree->groups(doc);
    char low[TFS_GROUP_NAME], high[TFS_GROUP_NAME];

    if (group < end)
        return 0;
    if (end <= 1)
        return tfs_fail(err, -EINVAL, "this save cannot hold %s", tree->group_dir);
    tfs_group_name(1, tree->group_label, low);
    tfs_group_name(end - 1, tree->group_label, high);
    return tfs_fail(err, -EINVAL, "this save holds %s/%s to %s/%s only", tree->group_dir, low,
                    tree->group_dir, high);
}

/* ---- existence ------------------------------------------------------------------------------- */

/* Are the names in a group known where the group itself is not there yet? */
static bool may_be_absent(const struct tfs_node *node, bool absent)
{
    return absent && node->scope == TFS_SCOPE_GROUP;
}

/* Is there what the node belongs to (its chunk, its group)? */
static bool scope_exists(const struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_node *node)
{
    const struct tfs_chunk *chunk;

    switch (node->scope) {
    case TFS_SCOPE_ROOT:
        return true;
    case TFS_SCOPE_GROUP:
        return node->key.group > 0 && group_exists(save, doc, node->key.group);
    case TFS_SCOPE_CHUNK:
        chunk = tfs_doc_find(doc, node->key);
        return chunk && chunk->slot == node->slot;
    }
    return false;
}

/* Was the chunk that the node belongs to found damaged when the save was read? In a scope that
 * exists. */
static bool is_marked_damaged(const struct tfs_doc *doc, const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_CHUNK &&
           (tfs_doc_find(doc, node->key)->flags & TFS_CHUNK_DAMAGED) != 0;
}

/* What follows is 1 or 0, or negative when it cannot be found out now. */

/* Does the chunk that the node belongs to not decode? This may fetch it. In a scope that exists. */
static int is_damaged(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node)
{
    if (is_marked_damaged(doc, node))
        return 1;
    if (node->scope != TFS_SCOPE_CHUNK || !save->tree->chunk_damaged)
        return 0;
    return save->tree->chunk_damaged(save, doc, node->key);
}

/* Members of files[file]; 1 for a file that is no family. */
static uint32_t member_count(const struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_file *file)
{
    return file->count ? file->count(save->tree, doc) : 1;
}

/* The file's own condition where `views` are shown, in a scope that exists; `damaged`: of its
 * chunk. */
static int file_exists_in(struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_node *node, bool damaged, unsigned views)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    if (damaged)
        return (file->flags & TFS_FILE_RAW) != 0;
    if (!tfs_file_is_chosen(file, views) || node->member >= member_count(save, doc, file))
        return 0;
    int exists = file->lens->exists ? file->lens->exists(save, doc, tfs_node_at(save, node)) : 1;
    if (exists <= 0 || !tfs_file_completes_table(file, views))
        return exists;
    int said = file->in_table(save, doc, tfs_node_at(save, node));
    return said < 0 ? said : !said;
}

static int file_exists(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node, bool damaged)
{
    return file_exists_in(save, doc, node, damaged, save->options.views);
}

static int any_member_exists(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *scope, unsigned file)
{
    uint32_t count = member_count(save, doc, &schema_of(save, scope->scope).files[file]);
    int exists = 0;

    for (uint32_t member = 0; member < count && exists == 0; member++) {
        struct tfs_node node = tfs_node_sibling_file(scope, file, member);

        exists = file_exists(save, doc, &node, false);
    }
    return exists;
}

/* A subdirectory of a chunk stands for its chunk; another one for the files below it. */
static int sub_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                      bool damaged)
{
    struct tfs_schema schema = schema_of(save, node->scope);
    struct tfs_span path;
    int exists = 0;

    if (!tfs_schema_directory(schema, node->directory, &path))
        return 0;
    if (node->scope == TFS_SCOPE_CHUNK)
        return !damaged && !tfs_node_is_left_out(save, node);
    for (unsigned i = 0; i < schema.count && exists == 0; i++)
        if (tfs_schema_is_below(&schema.files[i], path))
            exists = any_member_exists(save, doc, node, i);
    return exists;
}

static int directory_exists(struct tfs_save *save, const struct tfs_doc *doc,
                            const struct tfs_node *node, bool damaged)
{
    switch (node->directory) {
    case TFS_DIR_TOP:
        return 1;
    case TFS_DIR_CHUNKS:
        return node->scope != TFS_SCOPE_CHUNK;
    case TFS_DIR_GROUPS:
        return node->scope == TFS_SCOPE_ROOT && group_count(save, doc) > 0;
    default:
        return sub_exists(save, doc, node, damaged);
    }
}

/* The node's own condition; its scope exists. */
static int exists_in_scope(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_node *node)
{
    int damaged = is_damaged(save, doc, node);

    if (damaged < 0)
        return damaged;
    return node->file < 0 ? directory_exists(save, doc, node, damaged)
                          : file_exists(save, doc, node, damaged);
}

int tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node)
{
    if (!scope_exists(save, doc, node))
        return 0;
    /* A chunk's directory is there whatever is in it: listing chunks decodes none. */
    return tfs_node_is_chunk(node) ? 1 : exists_in_scope(save, doc, node);
}

int tfs_node_exists_anyway(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_node *node)
{
    if (!scope_exists(save, doc, node))
        return 0;
    const int damaged = is_damaged(save, doc, node);
    if (damaged < 0)
        return damaged;
    return file_exists_in(save, doc, node, damaged, save->options.views | TFS_VIEWS_ALL);
}

bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    if (save->read_only || !scope_exists(save, doc, node) || (file && !file->lens->put))
        return false;
    /* Damage can be replaced as a whole, and removed, but not edited. */
    return !file || (file->flags & TFS_FILE_RAW) != 0 || is_damaged(save, doc, node) != 1;
}

/* ---- texts ----------------------------------------------------------------------------------- */

int tfs_node_put(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_node *node,
                 struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(save, node)->lens;

    if (!lens->put)
        return tfs_fail(err, -EACCES, "this file is read-only");
    if (!tfs_node_writable(save, tfs_edit_doc(edit), node))
        return tfs_fail(err, -EBADMSG, "this chunk is damaged and cannot be written");
    return lens->put(save, edit, tfs_node_at(save, node), text, put, err);
}

int tfs_node_apply(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_node *node,
                   struct tfs_span text, struct tfs_put *put, struct tfs_doc **after,
                   struct tfs_error *err)
{
    struct tfs_edit edit;
    int result = tfs_edit_open(doc, &edit, err);

    if (result < 0)
        return result;
    result = tfs_node_put(save, &edit, node, text, put, err);
    if (result == 0)
        *after = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return result;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void file_name(const struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_node *node, struct tfs_buf *out)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    if (file->family)
        file->family->name(save->tree, doc, node->member, out);
    else
        tfs_buf_add_text(out, tfs_schema_file_name(file));
}

static void top_name(const struct tfs_save *save, const struct tfs_node *node, struct tfs_buf *out)
{
    char name[TFS_CHUNK_NAME];

    switch (node->scope) {
    case TFS_SCOPE_ROOT:
        return;
    case TFS_SCOPE_GROUP:
        tfs_group_name(node->key.group, save->tree->group_label, name);
        tfs_buf_add_text(out, name);
        return;
    case TFS_SCOPE_CHUNK:
        tfs_chunk_name(node->key, name);
        tfs_buf_add_text(out, name);
        return;
    }
}

void tfs_tree_name(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out)
{
    struct tfs_span path;

    if (node->file >= 0)
        file_name(save, doc, node, out);
    else if (node->directory == TFS_DIR_TOP)
        top_name(save, node, out);
    else if (node->directory == TFS_DIR_CHUNKS)
        tfs_buf_add_text(out, "chunks");
    else if (node->directory == TFS_DIR_GROUPS)
        tfs_buf_add_text(out, save->tree->group_dir);
    else if (tfs_schema_directory(schema_of(save, node->scope), node->directory, &path))
        tfs_buf_add_span(out, tfs_schema_name(path));
}

static struct tfs_node parent_of(const struct tfs_save *save, const struct tfs_node *node)
{
    struct tfs_node groups = TFS_NODE_ROOT;

    if (node->file >= 0)
        return tfs_node_sibling_directory(
            node, tfs_schema_file_directory(schema_of(save, node->scope), (unsigned)node->file));
    if (node->directory != TFS_DIR_TOP)
        return tfs_node_sibling_directory(
            node, tfs_schema_parent(schema_of(save, node->scope), node->directory));
    if (node->scope == TFS_SCOPE_CHUNK)
        return tfs_node_of_chunks(node->key.group);
    if (node->scope == TFS_SCOPE_GROUP)
        groups.directory = TFS_DIR_GROUPS;
    return groups;
}

struct tfs_node tfs_tree_parent(const struct tfs_save *save, const struct tfs_node *node)
{
    struct tfs_node parent = parent_of(save, node);

    parent.store = node->store;
    return parent;
}

static bool is_root(const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_ROOT && node->file < 0 && node->directory == TFS_DIR_TOP;
}

void tfs_tree_path(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out)
{
    struct tfs_node parent = tfs_tree_parent(save, node);

    if (is_root(node))
        return;
    tfs_tree_path(save, doc, &parent, out);
    if (!is_root(&parent))
        tfs_buf_add_text(out, "/");
    tfs_tree_name(save, doc, node, out);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

/* 1, 0 or -ENOMEM, as the next one. */
static int lookup_member(const struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_file *file, const char *name, uint32_t *member)
{
    const uint32_t count = member_count(save, doc, file);
    struct tfs_buf text = {0};
    bool found = false;

    if (file->family->find)
        return file->family->find(save->tree, doc, name, member) && *member < count;
    for (uint32_t i = 0; i < count && !found; i++) {
        tfs_buf_clear(&text);
        file->family->name(save->tree, doc, i, &text);
        found = tfs_span_equal(tfs_buf_span(&text), tfs_span_of(name));
        *member = i;
    }
    int result = text.failed ? -ENOMEM : found;
    tfs_buf_release(&text);
    return result;
}

static int lookup_file(const struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *dir, const char *name, struct tfs_node *node)
{
    struct tfs_schema schema = schema_of(save, dir->scope);
    struct tfs_span path;

    if (!tfs_schema_directory(schema, dir->directory, &path))
        return 0;
    for (unsigned i = 0; i < schema.count; i++) {
        const struct tfs_file *file = &schema.files[i];
        uint32_t member = 0;

        if (!tfs_schema_is_in(file, path))
            continue;
        int same = file->family ? lookup_member(save, doc, file, name, &member)
                                : strcmp(tfs_schema_file_name(file), name) == 0 &&
                                      member_count(save, doc, file) > 0;
        if (same == 0)
            continue;
        *node = tfs_node_sibling_file(dir, i, member);
        return same;
    }
    return 0;
}

/* Directories that are in the top directory of a scope without a file's path. */
static bool lookup_fixed(const struct tfs_save *save, const struct tfs_node *dir, const char *name,
                         unsigned *directory)
{
    const char *groups = save->tree->group_dir;

    if (dir->directory != TFS_DIR_TOP || dir->scope == TFS_SCOPE_CHUNK)
        return false;
    if (strcmp(name, "chunks") == 0)
        return *directory = TFS_DIR_CHUNKS, true;
    if (dir->scope != TFS_SCOPE_ROOT || groups == NULL || strcmp(name, groups) != 0)
        return false;
    return *directory = TFS_DIR_GROUPS, true;
}

static bool lookup_directory(const struct tfs_save *save, const struct tfs_node *dir,
                             const char *name, struct tfs_node *node)
{
    struct tfs_schema schema = schema_of(save, dir->scope);
    struct tfs_schema_directory at = {0};
    unsigned directory;

    if (lookup_fixed(save, dir, name, &directory))
        return *node = tfs_node_sibling_directory(dir, directory), true;
    while (tfs_schema_next(schema, &at))
        if (tfs_span_equal(tfs_schema_name(at.path), tfs_span_of(name)) &&
            tfs_schema_parent(schema, at.number) == dir->directory)
            return *node = tfs_node_sibling_directory(dir, at.number), true;
    return false;
}

static int lookup_chunk(const struct tfs_doc *doc, uint32_t group, const char *name,
                        struct tfs_node *node)
{
    struct tfs_key key = {.group = group};
    const struct tfs_chunk *chunk;

    if (!tfs_chunk_name_parse(name, &key))
        return -ENOENT;
    chunk = tfs_doc_find(doc, key);
    if (!chunk)
        return -ENOENT;
    *node = tfs_node_of_chunk(chunk);
    return 0;
}

static int lookup_group(const struct tfs_save *save, const struct tfs_doc *doc, const char *name,
                        bool must_exist, struct tfs_node *node)
{
    uint32_t group;

    if (!tfs_group_name_parse(name, save->tree->group_label, &group) ||
        (must_exist && !group_exists(save, doc, group)))
        return -ENOENT;
    *node = tfs_node_of_group(group);
    return 0;
}

static int lookup(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                  const char *name, bool must_exist, struct tfs_node *node)
{
    struct tfs_node found;
    uint32_t group;
    int file;

    if (dir->file >= 0 || !(may_be_absent(dir, !must_exist) || scope_exists(save, doc, dir)))
        return -ENOENT;
    if (tfs_node_holds_chunks(dir, &group))
        return lookup_chunk(doc, group, name, node);
    if (dir->directory == TFS_DIR_GROUPS)
        return lookup_group(save, doc, name, must_exist, node);
    if ((file = lookup_file(save, doc, dir, name, &found)) < 0)
        return file;
    if (file == 0 && !lookup_directory(save, dir, name, &found))
        return -ENOENT;
    int exists = must_exist ? exists_in_scope(save, doc, &found) : 1;
    if (exists <= 0)
        return exists < 0 ? exists : -ENOENT;
    *node = found;
    return 0;
}

int tfs_tree_lookup(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                    const char *name, bool must_exist, struct tfs_node *node)
{
    struct tfs_node found;
    int result = lookup(save, doc, dir, name, must_exist, &found);

    if (result < 0)
        return result;
    *node = found;
    node->store = dir->store;
    return 0;
}

int tfs_tree_resolve(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                     bool must_exist, struct tfs_node *node)
{
    struct tfs_node at = TFS_NODE_ROOT;

    while (*path) {
        size_t length = strcspn(path, "/");
        char name[NAME_MAX + 1];
        int result;

        if (!tfs_node_is_directory(&at))
            return -ENOTDIR;
        if (length > NAME_MAX)
            return -ENOENT;
        memcpy(name, path, length);
        name[length] = '\0';
        result = tfs_tree_lookup(save, doc, &at, name, must_exist, &at);
        if (result)
            return result;
        path += length;
        path += *path == '/';
    }
    *node = at;
    return 0;
}

/* ---- listing --------------------------------------------------------------------------------- */

/* Where a listing of files and subdirectories stands: `base` is the index of what comes next. */
struct listing {
    struct tfs_save *save;
    const struct tfs_doc *doc;
    const struct tfs_node *dir;
    bool absent; /* names of optional files and of groups that are not there are listed, too */
    bool damaged;
    size_t base;
};

static int is_listed(const struct listing *l, const struct tfs_node *file)
{
    const struct tfs_file *of = tfs_node_file(l->save, file);
    bool comes = is_chosen(l->save, of) && ((of->flags & TFS_FILE_OPTIONAL) != 0 ||
                                            tfs_file_completes_table(of, l->save->options.views));

    return l->absent && comes ? 1 : file_exists(l->save, l->doc, file, l->damaged);
}

/* The first listed member of files[file] from index `from` on. */
static int listing_file(struct listing *l, unsigned file, size_t from, size_t *next,
                        struct tfs_node *node)
{
    uint32_t count = member_count(l->save, l->doc, &schema_of(l->save, l->dir->scope).files[file]);
    size_t skip = from > l->base ? from - l->base : 0;
    int listed = 0;

    for (; skip < count && listed == 0; skip++) {
        *node = tfs_node_sibling_file(l->dir, file, (uint32_t)skip);
        *next = l->base + skip + 1;
        listed = is_listed(l, node);
    }
    l->base += count;
    return listed;
}

static int listing_files(struct listing *l, size_t from, size_t *next, struct tfs_node *node)
{
    struct tfs_schema schema = schema_of(l->save, l->dir->scope);
    struct tfs_span path;
    int listed = 0;

    if (!tfs_schema_directory(schema, l->dir->directory, &path))
        return 0;
    for (unsigned i = 0; i < schema.count && listed == 0; i++)
        if (tfs_schema_is_in(&schema.files[i], path))
            listed = listing_file(l, i, from, next, node);
    return listed;
}

/* Directories, each of the scope with one index, whether it exists and is in this one or not. */
static int listing_directories(struct listing *l, size_t from, size_t *next, struct tfs_node *node)
{
    const struct tfs_schema schema = schema_of(l->save, l->dir->scope);
    const unsigned end = tfs_schema_end(schema);
    unsigned directory = from > l->base ? (unsigned)(from - l->base) + 1 : TFS_DIR_CHUNKS;
    int listed = 0;

    for (; directory < end && listed == 0; directory++) {
        if (tfs_schema_parent(schema, directory) != l->dir->directory)
            continue;
        *node = tfs_node_sibling_directory(l->dir, directory);
        *next = l->base + directory;
        if (l->absent && l->save->tree->group_dir && tfs_node_is_group(node))
            listed = 1;
        else
            listed = directory_exists(l->save, l->doc, node, l->damaged);
    }
    return listed;
}

static int entry_chunk(const struct tfs_doc *doc, uint32_t group, size_t index, size_t *next,
                       struct tfs_node *node)
{
    size_t first = group_begin(doc, group);
    const struct tfs_chunk *chunk;

    if (index >= doc->count - first)
        return 0;
    chunk = tfs_doc_at(doc, first + index);
    if (chunk->key.group != group)
        return 0;
    *node = tfs_node_of_chunk(chunk);
    *next = index + 1;
    return 1;
}

/* A group's index is its number less one. */
static int entry_group(const struct tfs_save *save, const struct tfs_doc *doc, bool absent,
                       size_t index, size_t *next, struct tfs_node *node)
{
    uint32_t group = (uint32_t)index + 1;

    if (index >= UINT32_MAX)
        return 0;
    if (absent ? group >= save->tree->groups(doc) : !group_next(save, doc, group, &group))
        return 0;
    *node = tfs_node_of_group(group);
    *next = group;
    return 1;
}

static int entry(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                 bool absent, size_t index, size_t *next, struct tfs_node *node)
{
    struct listing l = {.save = save, .doc = doc, .dir = dir, .absent = absent};
    struct tfs_node found;
    uint32_t group;

    if (!may_be_absent(dir, absent) && !scope_exists(save, doc, dir))
        return 0;
    if (tfs_node_holds_chunks(dir, &group))
        return entry_chunk(doc, group, index, next, node);
    if (dir->directory == TFS_DIR_GROUPS)
        return entry_group(save, doc, absent, index, next, node);
    int damaged = is_damaged(save, doc, dir);
    if (damaged < 0)
        return damaged;
    l.damaged = damaged;
    int listed = listing_files(&l, index, next, &found);
    if (listed == 0)
        listed = listing_directories(&l, index, next, &found);
    if (listed == 1)
        *node = found;
    return listed;
}

static int entry_in_store(struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_node *dir, bool absent, size_t index, size_t *next,
                          struct tfs_node *node)
{
    int result = entry(save, doc, dir, absent, index, next, node);

    if (result == 1)
        node->store = dir->store;
    return result;
}

int tfs_tree_entry(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                   size_t index, size_t *next, struct tfs_node *node)
{
    return entry_in_store(save, doc, dir, false, index, next, node);
}

int tfs_tree_name_of_schema(struct tfs_save *save, const struct tfs_doc *doc,
                            const struct tfs_node *dir, size_t index, size_t *next,
                            struct tfs_node *node)
{
    return entry_in_store(save, doc, dir, true, index, next, node);
}

/* Directories that a schema has in a directory, which exists. */
static size_t count_directories(struct tfs_save *save, const struct tfs_doc *doc,
                                const struct tfs_node *dir)
{
    const struct tfs_schema schema = schema_of(save, dir->scope);
    const unsigned end = tfs_schema_end(schema);
    size_t count = 0;

    for (unsigned directory = TFS_DIR_CHUNKS; directory < end; directory++) {
        struct tfs_node node = tfs_node_sibling_directory(dir, directory);

        count += tfs_schema_parent(schema, directory) == dir->directory &&
                 directory_exists(save, doc, &node, false) == 1;
    }
    return count;
}

/* The same of a chunk's own one, which is there: those with a file that was chosen. A listing of
 * chunks asks this of every chunk, so damage that only a look into the chunk would find does not
 * count. */
static size_t count_directories_of_chunk(const struct tfs_save *save)
{
    struct tfs_schema schema = schema_of(save, TFS_SCOPE_CHUNK);
    struct tfs_span last = {0};
    size_t count = 0;

    for (unsigned i = 0; i < schema.count; i++) {
        const struct tfs_file *file = &schema.files[i];
        const char *slash = strchr(file->path, '/');

        if (slash == NULL || !is_chosen(save, file) ||
            (last.size > 0 && tfs_schema_is_below(file, last)))
            continue;
        last = (struct tfs_span){(const uint8_t *)file->path, (size_t)(slash - file->path)};
        count++;
    }
    return count;
}

size_t tfs_tree_subdirectories(struct tfs_save *save, const struct tfs_doc *doc,
                               const struct tfs_node *dir)
{
    uint32_t group;

    if (tfs_node_is_chunk(dir)) {
        const struct tfs_chunk *chunk = tfs_doc_find(doc, dir->key);
        const bool shows =
            chunk != NULL && chunk->slot == dir->slot && (chunk->flags & TFS_CHUNK_DAMAGED) == 0;
        return shows ? count_directories_of_chunk(save) : 0;
    }
    if (dir->file >= 0 || !scope_exists(save, doc, dir))
        return 0;
    if (tfs_node_holds_chunks(dir, &group))
        return group_end(doc, group) - group_begin(doc, group);
    if (dir->directory == TFS_DIR_GROUPS)
        return group_count(save, doc);
    return count_directories(save, doc, dir);
}
