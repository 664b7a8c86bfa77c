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

/* Files beside chunks/ come with chunks. cp -r creates them after the chunks, and is told that they
 * exist if they show by then: all names of the new group are away until they are created, or until
 * nothing was written in it for a while. */
static int hide_names(struct tfs_session *s, const struct tfs_node *top)
{
    const struct tfs_tree *tree = tfs_ops_branch(s, top)->save->tree;
    const struct tfs_schema schema = tree->group;

    for (unsigned i = 0; i < schema.count; i++) {
        struct tfs_node node = tfs_node_sibling_file(top, i, 0);
        if (tfs_whiteout_add(&s->overlay, &node) == NULL)
            return -ENOMEM;
    }
    for (unsigned i = TFS_DIR_SUB; i < tfs_schema_end(schema); i++) {
        struct tfs_node node = tfs_node_sibling_directory(top, i);
        if (tfs_whiteout_add(&s->overlay, &node) == NULL)
            return -ENOMEM;
    }
    return 0;
}

/* What the schema has beside chunks/ stays as an empty directory, which rm -r removes. */
static int keep_below(struct tfs_session *s, const struct tfs_node *dir)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, dir);
    struct tfs_node child;
    size_t i = 0;
    int result = 0;

    while (result == 0 &&
           tfs_tree_entry(branch->save, tfs_store_shown(branch->store), dir, i, &i, &child) == 1) {
        if (!tfs_node_is_group(&child) || child.directory < TFS_DIR_SUB ||
            tfs_overlay_hides(&s->overlay, &child))
            continue;
        result = tfs_overlay_add_group(&s->overlay, &child);
        if (result == 0)
            result = keep_below(s, &child);
    }
    return result;
}

int tfs_group_keep(struct tfs_session *s, const struct tfs_node *chunk)
{
    struct tfs_node node = tfs_ops_parent(s, chunk);
    bool fixed = tfs_ops_branch(s, chunk)->save->tree->fixed_groups;

    for (; tfs_node_is_group(&node) && !fixed; node = tfs_ops_parent(s, &node))
        if (tfs_overlay_add_group(&s->overlay, &node) < 0 ||
            (node.scope == TFS_SCOPE_GROUP && keep_below(s, &node) < 0))
            return -ENOMEM;
    return 0;
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
    bool fresh = node->scope == TFS_SCOPE_GROUP && node->directory == TFS_DIR_TOP;
    if ((fresh && hide_names(s, node) < 0) || tfs_overlay_add_group(&s->overlay, node) < 0)
        return -ENOMEM;
    tfs_overlay_reveal(&s->overlay, node);
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
    tfs_overlay_remove_group(&s->overlay, node);
    parent_changed(s, node);
    return 0;
}
