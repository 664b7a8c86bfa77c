/*
 * Names and paths <-> nodes, what is in a directory, texts of files onto edits, and what differs
 * between two documents.
 *
 * Nothing is stored: a node is computed from a path or from a place in a directory.
 * This file must not know what users did to names (that is the session's), what a file holds (its
 * lens does), or FUSE.
 */
#include "fs/tree/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/written.h"
#include "formats/compare/changed_files.h"
#include "formats/views/view_sets.h"

/* ---- texts ----------------------------------------------------------------------------------- */

int tfs_node_put(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_node *node,
                 struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    if (!file->lens->put)
        return tfs_fail(err, -EACCES, "this file is read-only");
    if (!tfs_node_writable(save, tfs_edit_doc(edit), node))
        return tfs_fail(err, -EBADMSG, "this chunk is damaged and cannot be written");
    if ((file->flags & TFS_FILE_RAW) != 0 && put->values != NULL)
        tfs_written_values_clear(put->values);
    return file->lens->put(save, edit, tfs_node_at(save, node), text, put, err);
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

uint64_t tfs_node_text_max(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_node *node)
{
    const struct tfs_lens *lens = tfs_node_file(save, node)->lens;
    int64_t size = -1;

    /* Its chunk may have gone with a reload. */
    if (lens->size != NULL && tfs_node_exists(save, doc, node) == 1)
        size = lens->size(save, doc, tfs_node_at(save, node));
    return TFS_TEXT_MORE + (size > 0 ? 4 * (uint64_t)size : 0);
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
        tfs_group_name(node->key.group, tfs_group_label(save->tree), name);
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
    else if (node->directory == TFS_DIR_COLUMNS)
        tfs_buf_add_text(out, "columns");
    else if (tfs_schema_directory(tfs_node_schema(save, node), node->directory, &path))
        tfs_buf_add_span(out, tfs_schema_name(path));
}

static struct tfs_node parent_of(const struct tfs_save *save, const struct tfs_node *node)
{
    struct tfs_node groups = TFS_NODE_ROOT;

    if (node->file >= 0)
        return tfs_node_sibling_directory(
            node, tfs_schema_file_directory(tfs_node_schema(save, node), (unsigned)node->file));
    if (node->directory != TFS_DIR_TOP)
        return tfs_node_sibling_directory(
            node, tfs_schema_parent(tfs_node_schema(save, node), node->directory));
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

void tfs_tree_path(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out)
{
    struct tfs_node parent = tfs_tree_parent(save, node);

    if (tfs_node_is_root(node))
        return;
    tfs_tree_path(save, doc, &parent, out);
    if (!tfs_node_is_root(&parent))
        tfs_buf_add_text(out, "/");
    tfs_tree_name(save, doc, node, out);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

/* 1, 0 or -ENOMEM, as the next one. */
static int lookup_member(const struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_file *file, const char *name, uint32_t *member)
{
    const uint32_t count = tfs_file_members(save, doc, file);
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
    struct tfs_schema schema = tfs_node_schema(save, dir);
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
                                      tfs_file_members(save, doc, file) > 0;
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
    if (save->tree->column.count > 0 && strcmp(name, "columns") == 0)
        return *directory = TFS_DIR_COLUMNS, true;
    if (dir->scope != TFS_SCOPE_ROOT || groups == NULL || strcmp(name, groups) != 0)
        return false;
    return *directory = TFS_DIR_GROUPS, true;
}

static bool lookup_directory(const struct tfs_save *save, const struct tfs_node *dir,
                             const char *name, struct tfs_node *node)
{
    struct tfs_schema schema = tfs_node_schema(save, dir);
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
    const struct tfs_chunk *chunk =
        tfs_chunk_name_parse(name, &key) ? tfs_doc_find(doc, key) : NULL;

    if (chunk == NULL)
        return -ENOENT;
    *node = tfs_node_of_chunk(chunk);
    return 0;
}

static int lookup_group(const struct tfs_save *save, const struct tfs_doc *doc, const char *name,
                        bool must_exist, struct tfs_node *node)
{
    uint32_t group;

    if (!tfs_group_name_parse(name, tfs_group_label(save->tree), &group) ||
        (must_exist && !tfs_group_exists(save, doc, group)))
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

    /* The names in a group are known where the group itself is not there yet. */
    if (dir->file >= 0 ||
        !((!must_exist && dir->scope == TFS_SCOPE_GROUP) || tfs_scope_exists(save, doc, dir)))
        return -ENOENT;
    if (tfs_node_holds_chunks(dir, &group))
        return lookup_chunk(doc, group, name, node);
    if (dir->directory == TFS_DIR_GROUPS)
        return lookup_group(save, doc, name, must_exist, node);
    if ((file = lookup_file(save, doc, dir, name, &found)) < 0)
        return file;
    if (file == 0 && !lookup_directory(save, dir, name, &found))
        return -ENOENT;
    int exists = must_exist ? tfs_node_exists_in_scope(save, doc, &found) : 1;
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

/* ---- listings -------------------------------------------------------------------------------- */

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
    bool comes = tfs_file_is_chosen(of, l->save->options.views) &&
                 ((of->flags & TFS_FILE_OPTIONAL) != 0 ||
                  tfs_file_completes_table(of, l->save->options.views));

    return l->absent && comes ? 1 : tfs_file_exists(l->save, l->doc, file, l->damaged);
}

/* The first listed member of files[file] from index `from` on. */
static int listing_file(struct listing *l, unsigned file, size_t from, size_t *next,
                        struct tfs_node *node)
{
    uint32_t count =
        tfs_file_members(l->save, l->doc, &tfs_node_schema(l->save, l->dir).files[file]);
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
    struct tfs_schema schema = tfs_node_schema(l->save, l->dir);
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
    const struct tfs_schema schema = tfs_node_schema(l->save, l->dir);
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
            listed = tfs_directory_exists(l->save, l->doc, node, l->damaged);
    }
    return listed;
}

static int entry_chunk(const struct tfs_doc *doc, uint32_t group, size_t index, size_t *next,
                       struct tfs_node *node)
{
    size_t first = tfs_doc_group_begin(doc, group);
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
    if (absent ? group >= save->tree->groups(doc) : !tfs_group_next(save, doc, group, &group))
        return 0;
    *node = tfs_node_of_group(group);
    *next = group;
    return 1;
}

static int entry(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                 bool absent, size_t index, size_t *next, struct tfs_node *node)
{
    struct listing l = {.save = save, .doc = doc, .dir = dir, .absent = absent};
    uint32_t group;

    /* The names in a group are known where the group itself is not there yet. */
    if (!(absent && dir->scope == TFS_SCOPE_GROUP) && !tfs_scope_exists(save, doc, dir))
        return 0;
    if (tfs_node_holds_chunks(dir, &group))
        return entry_chunk(doc, group, index, next, node);
    if (dir->directory == TFS_DIR_GROUPS)
        return entry_group(save, doc, absent, index, next, node);
    int damaged = tfs_node_is_damaged(save, doc, dir);
    if (damaged < 0)
        return damaged;
    l.damaged = damaged;
    int listed = listing_files(&l, index, next, node);
    return listed != 0 ? listed : listing_directories(&l, index, next, node);
}

static int entry_in_store(struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_node *dir, bool absent, size_t index, size_t *next,
                          struct tfs_node *node)
{
    struct tfs_node found;
    const int result = entry(save, doc, dir, absent, index, next, &found);

    if (result != 1)
        return result;
    *node = found;
    node->store = dir->store;
    return 1;
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

/* ---- what differs between two documents ------------------------------------------------------ */

struct walk {
    struct tfs_save *save;
    const struct tfs_doc *before, *after;
    tfs_changed_fn changed;
    void *arg;
    uint32_t group; /* the group that was reported last */
    bool renamed;   /* a file of a chunk that has names reads differently */
    bool many;      /* so many chunks differ that nobody looks into them */
};

/* Files of groups show all of their chunks. */
static void change_group(struct walk *w, uint32_t group)
{
    for (unsigned i = 0; i < w->save->tree->group.count; i++) {
        const struct tfs_node node = {
            .scope = TFS_SCOPE_GROUP, .key = {.group = group}, .file = (int)i};
        w->changed(w->arg, &node, &w->save->tree->group.files[i], TFS_CHANGED_FILE);
    }
}

/* Reports all files of all groups, whether the groups exist or not. */
static void change_groups(struct walk *w)
{
    const struct tfs_tree *tree = w->save->tree;
    const uint32_t before = tree->group.count > 0 ? tree->groups(w->before) : 0;
    const uint32_t after = tree->group.count > 0 ? tree->groups(w->after) : 0;

    for (uint32_t group = 1; group < before || group < after; group++)
        change_group(w, group);
}

#define MANY 16 /* chunks */

static int count_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    size_t *count = arg;

    (void)before;
    (void)after;
    return --*count == 0;
}

/* Do more than MANY chunks differ? */
static bool differ_in(const struct tfs_doc *before, const struct tfs_doc *after, size_t count)
{
    return tfs_doc_diff(before, after, count_chunk, &count) != 0;
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct walk *w = arg;
    struct tfs_node node = tfs_node_of_chunk(after != NULL ? after : before);
    const struct tfs_schema *schema = tfs_chunk_schema(w->save->tree, node.key.group);

    /* Chunks come in the order of their groups. */
    if (node.key.group > w->group)
        change_group(w, w->group = node.key.group);
    if (before == NULL || after == NULL)
        w->changed(w->arg, &node, NULL, after != NULL ? TFS_CHUNK_CAME : TFS_CHUNK_WENT);
    const struct tfs_doc *docs[2] = {w->before, w->after};
    uint32_t files = w->many ? UINT32_MAX : tfs_changed_files(w->save, docs, before, after);
    for (unsigned i = 0; i < schema->count; i++) {
        node.file = (int)i;
        if ((files >> i & 1) == 0)
            continue;
        w->renamed = w->renamed || (schema->files[i].flags & TFS_FILE_RENAMES) != 0;
        w->changed(w->arg, &node, &schema->files[i], TFS_CHANGED_FILE);
    }
    return 0;
}

/* Which of `count` members of a family read differently: to be freed. NULL: all may. */
static bool *find_members(const struct walk *w, const struct tfs_file *file, uint32_t count)
{
    bool *changed = NULL;

    if (file->family != NULL && file->family->changes != NULL)
        changed = calloc((size_t)count + 1, sizeof(*changed));
    if (changed == NULL ||
        file->family->changes(w->save->tree, w->before, w->after, count, changed))
        return changed;
    free(changed);
    return NULL;
}

static void changed_root_file(const struct walk *w, unsigned i)
{
    const struct tfs_file *file = &w->save->tree->root.files[i];
    uint32_t before = 1, after = 1;
    bool *changed = NULL;

    if (file->count != NULL) {
        before = file->count(w->save->tree, w->before);
        after = file->count(w->save->tree, w->after);
    }
    const uint32_t members = after > before ? after : before;
    /* A member that did not exist before counts as changed. */
    if (before > 0 && after > 0)
        changed = find_members(w, file, members);
    for (uint32_t m = 0; m < members; m++) {
        const struct tfs_node node = {.file = (int)i, .member = m};
        if (changed == NULL || changed[m])
            w->changed(w->arg, &node, file, TFS_CHANGED_FILE);
    }
    free(changed);
}

void tfs_changes_each(struct tfs_save *save, const struct tfs_doc *before,
                      const struct tfs_doc *after, tfs_changed_fn changed, void *arg)
{
    struct walk w = {save, before, after, changed, arg, .group = 0};
    const bool common =
        before->facts != after->facts || !tfs_blob_equal(before->common, after->common);

    if (before->version == after->version)
        return;
    w.many = differ_in(before, after, MANY);
    (void)tfs_doc_diff(before, after, changed_chunk, &w);
    if (common)
        change_groups(&w);
    /* Names of the save are those of its chunks, or what they have in common. */
    for (unsigned i = 0; i < save->tree->root.count; i++)
        if (common || w.renamed || (save->tree->root.files[i].flags & TFS_FILE_RENAMES) == 0)
            changed_root_file(&w, i);
}
