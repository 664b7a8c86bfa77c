/*
 * Directories of groups: `lods`, `lods/2` and `lods/2/chunks`, or `regions` and what is in it.
 *
 * The tree knows such a directory as long as chunks are below it. cp -r and tar make a directory
 * before what it holds, rm -r removes it afterwards. So a directory that a user made, or whose last
 * chunk a user removed, stays until it is removed or the mount ends; the save knows nothing of it.
 */
#include <errno.h>

#include "fs/state.h"

bool tfs_group_kept_locked(const struct tfs_session *s, const struct tfs_node *node)
{
    return tfs_node_is_group(node) && tfs_map_find(&s->groups, tfs_node_id(node)) != NULL;
}

static int keep(struct tfs_session *s, const struct tfs_node *node)
{
    return tfs_map_set(&s->groups, tfs_node_id(node), s);
}

static void parent_changed(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_node parent = tfs_tree_parent(s->save, node);
    tfs_bump_locked(s, &parent);
}

int tfs_group_keep_locked(struct tfs_session *s, uint32_t group)
{
    struct tfs_node node = tfs_node_of_chunks(group);
    while (tfs_node_is_group(&node) && !s->save->tree->fixed_groups) {
        if (keep(s, &node) < 0)
            return -ENOMEM;
        node = tfs_tree_parent(s->save, &node);
    }
    return 0;
}

int tfs_group_make_locked(struct tfs_session *s, const struct tfs_node *node, struct tfs_error *err)
{
    const struct tfs_tree *tree = s->save->tree;
    uint32_t group = node->scope == TFS_SCOPE_GROUP ? node->key.group : 1;
    if (tree->fixed_groups)
        return tfs_fail(err, -EPERM, "what is in %s comes with the save: none can be made",
                        tree->group_dir);
    if (tfs_tree_group_check(s->save, s->doc, group, err) < 0)
        return err->code;
    if (keep(s, node) < 0)
        return -ENOMEM;
    parent_changed(s, node);
    return 0;
}

int tfs_group_remove_locked(struct tfs_session *s, const struct tfs_node *node,
                            struct tfs_error *err)
{
    const struct tfs_tree *tree = s->save->tree;
    if (tree->fixed_groups)
        return tfs_fail(err, -EPERM,
                        "what is in %s comes with the save and stays, only chunks can be removed",
                        tree->group_dir);
    if (tfs_directory_empty_locked(s, node) != 1)
        return -ENOTEMPTY;
    tfs_map_remove(&s->groups, tfs_node_id(node));
    parent_changed(s, node);
    return 0;
}

size_t tfs_group_count_locked(struct tfs_session *s, const struct tfs_node *dir)
{
    struct tfs_map_cell cell;
    struct tfs_node node;
    size_t count = 0;
    for (size_t at = 0; tfs_map_next(&s->groups, &at, &cell);) {
        if (!tfs_node_of_id(cell.key, &node) || tfs_node_exists(s->save, s->doc, &node) != 0)
            continue;
        struct tfs_node parent = tfs_tree_parent(s->save, &node);
        count += tfs_node_same(&parent, dir);
    }
    return count;
}
