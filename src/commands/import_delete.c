/*
 * import --delete: what DIR lacks -> removed from the save.
 *
 * With a manifest only what the export had was removed by somebody; what the save got since then is
 * in no export, and stays.
 */
#include <errno.h>

#include "commands/import.h"
#include "formats/chosen.h"

/* The node's path as a C string in `path`, which the caller releases. */
static bool path_of(struct tfs_import *im, const struct tfs_node *node, struct tfs_buf *path)
{
    struct tfs_error err = {0};

    tfs_tree_path(im->save, im->base, node, path);
    tfs_buf_u8(path, 0);
    if (tfs_buf_check(path, &err) == 0)
        return true;
    tfs_import_refuse(im, im->dir, &err);
    return false;
}

static bool is_of_new_chunk(const struct tfs_import *im, const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_CHUNK && !tfs_doc_find(im->base, node->key);
}

/* Did somebody remove it from DIR? What a chunk has only because it is new, nobody put there. */
static bool was_removed(struct tfs_import *im, const struct tfs_node *node, const char *path)
{
    struct tfs_error err = {0};
    int listed = !im->manifest.present || im->cli->restore || is_of_new_chunk(im, node)
                     ? 1
                     : tfs_manifest_lists(&im->manifest, path, &err);

    if (listed < 0)
        tfs_import_refuse(im, path, &err);
    else if (!listed)
        im->counts.gained++;
    return listed > 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void remove_file(struct tfs_import *im, const struct tfs_node *node, tfs_removed_fn remove,
                        void *arg)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, node)->lens;
    struct tfs_error err = {0};
    struct tfs_buf path = {0};
    struct tfs_edit edit;

    if (!lens->remove || !tfs_node_writable(im->save, im->doc, node) || !path_of(im, node, &path))
        goto out;
    const char *name = (const char *)path.data;
    if (!was_removed(im, node, name))
        goto out;
    if (tfs_edit_open(im->doc, &edit, &err) == 0) {
        if (lens->remove(im->save, &edit, tfs_node_at(im->save, node), &err) == 0)
            remove(arg, name, tfs_edit_finish(&edit));
        tfs_edit_release(&edit);
    }
    if (err.code)
        tfs_import_refuse(im, name, &err);
out:
    tfs_buf_release(&path);
}

static bool was_found(const struct tfs_found_list *list, const struct tfs_node *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (tfs_node_same(&list->items[i].node, node))
            return true;
    return false;
}

void tfs_import_missing_files(struct tfs_import *im, const struct tfs_node *top,
                              const struct tfs_found_list *list, tfs_removed_fn remove, void *arg)
{
    const struct tfs_tree *tree = im->save->tree;
    bool chunk = top->scope == TFS_SCOPE_CHUNK;
    const struct tfs_file *files = chunk ? tree->chunk_files : tree->root_files;
    unsigned count = chunk ? tree->chunk_count : tree->root_count;
    struct tfs_node node = *top;

    for (unsigned i = 0; i < count; i++) {
        uint32_t members = files[i].count ? files[i].count(tree, im->doc) : 1;

        if (!(files[i].flags & TFS_FILE_OPTIONAL) || !tfs_file_is_chosen(&files[i], im->views))
            continue;
        node.file = (int)i;
        for (node.member = 0; node.member < members; node.member++)
            if (!was_found(list, &node) && tfs_node_exists(im->save, im->doc, &node) != 0)
                remove_file(im, &node, remove, arg);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void remove_chunk(struct tfs_import *im, const struct tfs_chunk *chunk)
{
    const struct tfs_tree *tree = im->save->tree;
    const struct tfs_node node = tfs_node_of_chunk(chunk);
    struct tfs_error err = {0};
    struct tfs_buf path = {0};
    struct tfs_edit edit;

    if (!path_of(im, &node, &path) || !was_removed(im, &node, (const char *)path.data))
        goto out;
    if (tfs_edit_open(im->doc, &edit, &err) == 0) {
        int result = tree->chunk_remove ? tree->chunk_remove(im->save, &edit, chunk->key, &err)
                                        : tfs_edit_remove(&edit, chunk->key, &err);
        if (result == 0)
            tfs_import_advance(im, tfs_edit_finish(&edit));
        tfs_edit_release(&edit);
    }
    if (err.code)
        tfs_import_refuse(im, (const char *)path.data, &err);
    else
        im->counts.removed++;
out:
    tfs_buf_release(&path);
}

void tfs_import_missing_chunks(struct tfs_import *im)
{
    if (im->save->tree->fixed_chunks)
        return;
    for (size_t i = 0; i < im->base->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(im->base, i);

        if (!tfs_found_chunk(&im->chunks, chunk->key))
            remove_chunk(im, chunk);
    }
}
