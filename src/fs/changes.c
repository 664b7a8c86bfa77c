/*
 * Two documents -> the names that read differently: see changes.h.
 */
#include "fs/changes.h"

struct walk {
    struct tfs_save *save;
    const struct tfs_doc *before, *after;
    tfs_changed_fn changed;
    void *arg;
};

bool tfs_comes_and_goes(const struct tfs_file *file)
{
    return file->lens->exists != NULL || file->count != NULL;
}

static int changed_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct walk *w = arg;
    const struct tfs_tree *tree = w->save->tree;
    struct tfs_node node = tfs_node_of_chunk(after != NULL ? after : before);

    if (before == NULL || after == NULL)
        w->changed(w->arg, &node, after != NULL ? TFS_CHUNK_CAME : TFS_CHUNK_WENT);
    uint32_t files = tree->chunk_changes != NULL ? tree->chunk_changes(before, after) : UINT32_MAX;
    for (unsigned i = 0; i < tree->chunk_count; i++) {
        node.file = (int)i;
        if ((files >> i & 1) != 0)
            w->changed(w->arg, &node, TFS_CHANGED_FILE);
    }
    return 0;
}

static void changed_root_file(const struct walk *w, unsigned i)
{
    const struct tfs_file *file = &w->save->tree->root_files[i];
    uint32_t members = 1;

    if (file->count != NULL) {
        uint32_t before = file->count(w->before);
        members = file->count(w->after);
        members = members > before ? members : before;
    }
    for (uint32_t m = 0; m < members; m++) {
        const struct tfs_node node = {.file = (int)i, .member = m};
        w->changed(w->arg, &node, TFS_CHANGED_FILE);
    }
}

void tfs_changes_each(struct tfs_save *save, const struct tfs_doc *before,
                      const struct tfs_doc *after, tfs_changed_fn changed, void *arg)
{
    struct walk w = {save, before, after, changed, arg};
    const struct tfs_tree *tree = save->tree;

    if (before->version == after->version)
        return;
    (void)tfs_doc_diff(before, after, changed_chunk, &w);
    uint32_t files = tree->root_changes != NULL ? tree->root_changes(before, after) : UINT32_MAX;
    for (unsigned i = 0; i < tree->root_count; i++)
        if ((files >> i & 1) != 0)
            changed_root_file(&w, i);
}

void tfs_changes_all(struct tfs_save *save, const struct tfs_doc *doc, tfs_changed_fn changed,
                     void *arg)
{
    struct walk w = {save, doc, doc, changed, arg};

    for (size_t c = 0; c < doc->count; c++) {
        struct tfs_node node = tfs_node_of_chunk(tfs_doc_at(doc, c));
        for (unsigned i = 0; i < save->tree->chunk_count; i++) {
            node.file = (int)i;
            changed(arg, &node, TFS_CHANGED_FILE);
        }
    }
    for (unsigned i = 0; i < save->tree->root_count; i++)
        changed_root_file(&w, i);
}
