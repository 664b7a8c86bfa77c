/*
 * Schema + document -> the entries of a directory, in their order.
 */
#include "formats/views/view_sets.h"
#include "fs/tree/groups.h"
#include "fs/tree/tree.h"

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
        tfs_file_members(l->save, l->doc, &tfs_scope_schema(l->save, l->dir->scope).files[file]);
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
    struct tfs_schema schema = tfs_scope_schema(l->save, l->dir->scope);
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
    const struct tfs_schema schema = tfs_scope_schema(l->save, l->dir->scope);
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
    struct tfs_node found;
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
