/*
 * Names and paths <-> nodes, and texts of files onto edits. list.c has what is in a directory.
 *
 * Nothing is stored: a node is computed from a path or from a place in a directory.
 * This file must not know what users did to names (that is the session's), what a file holds (its
 * lens does), or FUSE.
 */
#include "fs/tree/tree.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "formats/cells/written.h"
#include "fs/tree/groups.h"

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
    else if (tfs_schema_directory(tfs_scope_schema(save, node->scope), node->directory, &path))
        tfs_buf_add_span(out, tfs_schema_name(path));
}

static struct tfs_node parent_of(const struct tfs_save *save, const struct tfs_node *node)
{
    struct tfs_node groups = TFS_NODE_ROOT;

    if (node->file >= 0)
        return tfs_node_sibling_directory(
            node,
            tfs_schema_file_directory(tfs_scope_schema(save, node->scope), (unsigned)node->file));
    if (node->directory != TFS_DIR_TOP)
        return tfs_node_sibling_directory(
            node, tfs_schema_parent(tfs_scope_schema(save, node->scope), node->directory));
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
    struct tfs_schema schema = tfs_scope_schema(save, dir->scope);
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
    if (dir->scope != TFS_SCOPE_ROOT || groups == NULL || strcmp(name, groups) != 0)
        return false;
    return *directory = TFS_DIR_GROUPS, true;
}

static bool lookup_directory(const struct tfs_save *save, const struct tfs_node *dir,
                             const char *name, struct tfs_node *node)
{
    struct tfs_schema schema = tfs_scope_schema(save, dir->scope);
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
