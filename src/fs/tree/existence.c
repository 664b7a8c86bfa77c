/*
 * Schema + document -> what exists in it, groups included: levels of detail, TerrainRegions.
 *
 * Must not know what users did to names: that is the session's.
 */
#include "fs/tree/tree.h"

#include <errno.h>

#include "formats/views/view_sets.h"
#include "formats/views/views.h"

/* ---- groups ---------------------------------------------------------------------------------- */

/* Keys are in the order of their groups, so a group is one run of chunks, found by bisection. */
bool tfs_group_next(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    uint32_t *found)
{
    size_t first;

    if (group == 0)
        return *found = 0, true;
    if (!save->tree->group_dir)
        return false;
    if (save->tree->fixed_groups)
        return *found = group, group < save->tree->groups(doc);
    first = tfs_doc_group_begin(doc, group);
    if (first == doc->count)
        return false;
    *found = tfs_doc_at(doc, first)->key.group;
    return true;
}

bool tfs_group_exists(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group)
{
    uint32_t found;

    return tfs_group_next(save, doc, group, &found) && found == group;
}

int tfs_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    struct tfs_error *err)
{
    const struct tfs_tree *tree = save->tree;
    uint32_t end = tree->groups(doc);
    char low[TFS_GROUP_NAME], high[TFS_GROUP_NAME];

    if (group < end)
        return 0;
    if (end <= 1)
        return tfs_fail(err, -EINVAL, "this save cannot hold %s", tree->group_dir);
    tfs_group_name(1, tfs_group_label(tree), low);
    tfs_group_name(end - 1, tfs_group_label(tree), high);
    return tfs_fail(err, -EINVAL, "this save holds %s/%s to %s/%s only", tree->group_dir, low,
                    tree->group_dir, high);
}

/* ---- the schema ------------------------------------------------------------------------------ */

struct tfs_schema tfs_scope_schema(const struct tfs_save *save, enum tfs_scope scope)
{
    const struct tfs_tree *tree = save->tree;

    switch (scope) {
    case TFS_SCOPE_ROOT:
        return tree->root;
    case TFS_SCOPE_CHUNK:
        return tree->chunk;
    case TFS_SCOPE_GROUP:
        return tree->group;
    }
    return (struct tfs_schema){NULL, 0};
}

const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node)
{
    return node->file < 0 ? NULL : &tfs_scope_schema(save, node->scope).files[node->file];
}

struct tfs_at tfs_node_at(const struct tfs_save *save, const struct tfs_node *node)
{
    return tfs_lens_at(tfs_node_file(save, node)->lens, node->key, node->member);
}

bool tfs_node_is_left_out(const struct tfs_save *save, const struct tfs_node *node)
{
    const struct tfs_schema schema = tfs_scope_schema(save, node->scope);
    const unsigned views = save->options.views;
    struct tfs_span path;

    if (node->file >= 0)
        return !tfs_file_is_chosen(&schema.files[node->file], views);
    if (node->directory < TFS_DIR_SUB || !tfs_schema_directory(schema, node->directory, &path))
        return false;
    for (unsigned i = 0; i < schema.count; i++)
        if (tfs_schema_is_below(&schema.files[i], path) &&
            tfs_file_is_chosen(&schema.files[i], views))
            return false;
    return true;
}

/* ---- existence ------------------------------------------------------------------------------- */

bool tfs_scope_exists(const struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_node *node)
{
    const struct tfs_chunk *chunk;

    switch (node->scope) {
    case TFS_SCOPE_ROOT:
        return true;
    case TFS_SCOPE_GROUP:
        return node->key.group > 0 && tfs_group_exists(save, doc, node->key.group);
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

int tfs_node_is_damaged(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_node *node)
{
    if (is_marked_damaged(doc, node))
        return 1;
    return node->scope == TFS_SCOPE_CHUNK ? tfs_cells_damaged(save, doc, node->key) : 0;
}

uint32_t tfs_file_members(const struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_file *file)
{
    return file->count ? file->count(save->tree, doc) : 1;
}

int tfs_file_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                    bool damaged)
{
    const struct tfs_file *file = tfs_node_file(save, node);
    const unsigned views = save->options.views;

    if (damaged)
        return (file->flags & TFS_FILE_RAW) != 0;
    if (!tfs_file_is_chosen(file, views) || node->member >= tfs_file_members(save, doc, file))
        return 0;
    int exists = file->lens->exists ? file->lens->exists(save, doc, tfs_node_at(save, node)) : 1;
    if (exists <= 0 || !tfs_file_completes_table(file, views))
        return exists;
    return tfs_cells_plane_filled(save, doc, tfs_node_at(save, node));
}

static int any_member_exists(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *scope, unsigned file)
{
    uint32_t count = tfs_file_members(save, doc, &tfs_scope_schema(save, scope->scope).files[file]);
    int exists = 0;

    for (uint32_t member = 0; member < count && exists == 0; member++) {
        struct tfs_node node = tfs_node_sibling_file(scope, file, member);

        exists = tfs_file_exists(save, doc, &node, false);
    }
    return exists;
}

/* A subdirectory of a chunk exists as its chunk does; another one as one of the files below it
 * does. */
static int sub_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                      bool damaged)
{
    struct tfs_schema schema = tfs_scope_schema(save, node->scope);
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

int tfs_directory_exists(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_node *node, bool damaged)
{
    uint32_t first;

    switch (node->directory) {
    case TFS_DIR_TOP:
        return 1;
    case TFS_DIR_CHUNKS:
        return node->scope != TFS_SCOPE_CHUNK;
    case TFS_DIR_GROUPS:
        return node->scope == TFS_SCOPE_ROOT && tfs_group_next(save, doc, 1, &first);
    default:
        return sub_exists(save, doc, node, damaged);
    }
}

int tfs_node_exists_in_scope(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *node)
{
    int damaged = tfs_node_is_damaged(save, doc, node);

    if (damaged < 0)
        return damaged;
    return node->file < 0 ? tfs_directory_exists(save, doc, node, damaged)
                          : tfs_file_exists(save, doc, node, damaged);
}

int tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node)
{
    if (!tfs_scope_exists(save, doc, node))
        return 0;
    /* A chunk's directory is there whatever is in it: listing chunks decodes none. */
    return tfs_node_is_chunk(node) ? 1 : tfs_node_exists_in_scope(save, doc, node);
}

bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node)
{
    const struct tfs_file *file = tfs_node_file(save, node);

    if (save->read_only || !tfs_scope_exists(save, doc, node) || (file && !file->lens->put))
        return false;
    /* Damage can be replaced as a whole, and removed, but not edited. */
    return !file || (file->flags & TFS_FILE_RAW) != 0 || tfs_node_is_damaged(save, doc, node) != 1;
}
