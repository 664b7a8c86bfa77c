/*
 * Directories of groups: see op_group.h.
 */
#include "fs/session/op_group.h"

#include <errno.h>

#include "fs/tree/groups.h"
#include "fs/tree/schema.h"

bool tfs_holds_groups(const struct tfs_node *dir)
{
    return tfs_node_is_group(dir) && dir->scope == TFS_SCOPE_ROOT;
}

int tfs_ops_check_empty(struct tfs_session *s, const struct tfs_node *dir)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, dir);
    const struct tfs_doc *doc = tfs_store_shown(branch->store);
    struct tfs_node child;
    size_t i = 0;
    int found;

    while ((found = tfs_tree_name_of_schema(branch->save, doc, dir, i, &i, &child)) == 1) {
        int visible = tfs_ops_visible(s, &child);
        if (visible != 0)
            return visible < 0 ? visible : -ENOTEMPTY;
    }
    if (found < 0)
        return found;
    return tfs_overlay_is_empty(&s->overlay, tfs_node_id(dir)) ? 0 : -ENOTEMPTY;
}

static void parent_changed(struct tfs_session *s, const struct tfs_node *node)
{
    struct tfs_node parent = tfs_ops_parent(s, node);

    tfs_ops_bump_directory(s, &parent);
}

/* Is the directory there, with those of its scope that the schema has? Then it stays. */
static int keep(struct tfs_session *s, const struct tfs_node *node)
{
    if (tfs_ops_visible(s, node) != 1)
        return 0;
    return tfs_names_add(&s->names, node);
}

/* rm -r removes directories after what was in them. */
int tfs_group_keep(struct tfs_session *s, const struct tfs_node *chunk)
{
    const struct tfs_tree *tree = tfs_ops_branch(s, chunk)->save->tree;
    const unsigned end = tfs_schema_end(tree->group);
    struct tfs_node chunks = tfs_ops_parent(s, chunk), group, groups;

    if (!tfs_node_is_group(&chunks) || tree->fixed_groups)
        return 0;
    group = tfs_ops_parent(s, &chunks);
    groups = tfs_ops_parent(s, &group);
    int result = keep(s, &groups);
    for (group.directory = 0; group.directory < end && result == 0; group.directory++)
        result = keep(s, &group);
    return result;
}

int tfs_group_make(struct tfs_session *s, const struct tfs_node *node, struct tfs_error *err)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    const struct tfs_tree *tree = branch->save->tree;
    uint32_t group = node->scope == TFS_SCOPE_GROUP ? node->key.group : 1;

    if (tree->fixed_groups)
        return tfs_fail(err, -EPERM, "what is in %s comes with the save: none can be made",
                        tree->group_dir);
    if (tfs_group_check(branch->save, tfs_store_shown(branch->store), group, err) < 0)
        return err->code;
    const struct tfs_node up = tfs_ops_parent(s, node);
    /* Files beside chunks/ come with chunks, and cp -r creates them after the chunks. */
    if ((tfs_node_is_group(&up) && tfs_names_add(&s->names, &up) < 0) ||
        (node->scope == TFS_SCOPE_GROUP && node->directory == TFS_DIR_TOP &&
         tfs_names_make(&s->names, node, tree->group) < 0) ||
        tfs_names_add(&s->names, node) < 0)
        return -ENOMEM;
    parent_changed(s, node);
    return 0;
}

int tfs_group_remove(struct tfs_session *s, const struct tfs_node *node, struct tfs_error *err)
{
    const struct tfs_tree *tree = tfs_ops_branch(s, node)->save->tree;

    if (tree->fixed_groups)
        return tfs_fail(err, -EPERM,
                        "what is in %s comes with the save and stays, only chunks can be removed",
                        tree->group_dir);
    int result = tfs_ops_check_empty(s, node);
    if (result < 0)
        return result;
    tfs_names_drop(&s->names, node);
    parent_changed(s, node);
    return 0;
}
