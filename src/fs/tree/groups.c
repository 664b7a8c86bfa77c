/*
 * Document -> the groups in it: levels of detail, TerrainRegions.
 *
 * Keys are in the order of their groups, so a group is one run of chunks, found by bisection.
 */
#include "fs/tree/groups.h"

#include <errno.h>

#include "fs/tree/node.h"

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
