/*
 * Two documents -> the names that read differently, and what is in them: see changes.h.
 */
#include "fs/tree/changes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/compare/changed_files.h"

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
    const struct tfs_tree *tree = w->save->tree;
    struct tfs_node node = tfs_node_of_chunk(after != NULL ? after : before);

    /* Chunks come in the order of their groups. */
    if (node.key.group > w->group)
        change_group(w, w->group = node.key.group);
    if (before == NULL || after == NULL)
        w->changed(w->arg, &node, NULL, after != NULL ? TFS_CHUNK_CAME : TFS_CHUNK_WENT);
    const struct tfs_doc *docs[2] = {w->before, w->after};
    uint32_t files = w->many ? UINT32_MAX : tfs_changed_files(w->save, docs, before, after);
    for (unsigned i = 0; i < tree->chunk.count; i++) {
        node.file = (int)i;
        if ((files >> i & 1) == 0)
            continue;
        w->renamed = w->renamed || (tree->chunk.files[i].flags & TFS_FILE_RENAMES) != 0;
        w->changed(w->arg, &node, &tree->chunk.files[i], TFS_CHANGED_FILE);
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
