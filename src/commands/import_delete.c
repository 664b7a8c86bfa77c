/*
 * import --delete: what DIR lacks -> removed from the save.
 *
 * With a manifest only what the export had was removed by somebody; what the save got since then is
 * in no export, and stays, but with --all. And what set-aside edits say that they removed.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/import.h"
#include "formats/views/view_sets.h"
#include "text/decimal.h"

/* The path of a name of the save, to be freed; NULL: no memory, as is said. */
static char *path_of(struct tfs_import *im, const struct tfs_node *node)
{
    char *path = tfs_cli_node_path(im->save, im->base, node);
    struct tfs_error err = {0};

    if (path == NULL) {
        tfs_fail_memory(&err);
        tfs_import_refuse(im, im->dir, &err);
    }
    return path;
}

static bool is_of_new_chunk(const struct tfs_import *im, const struct tfs_node *node)
{
    return node->scope == TFS_SCOPE_CHUNK && !tfs_doc_find(im->base, node->key);
}

/* Did somebody remove it from DIR? What a chunk has only because it is new, nobody put there. */
static bool was_removed(struct tfs_import *im, const struct tfs_node *node, const char *path)
{
    struct tfs_error err = {0};

    if (!im->manifest.present || im->cli->all || is_of_new_chunk(im, node))
        return true;
    const int listed = tfs_manifest_lists(&im->manifest, path, &err);
    if (listed < 0)
        tfs_import_refuse(im, path, &err);
    return listed > 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void remove_file(struct tfs_import *im, const struct tfs_node *node)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, node)->lens;
    const bool removable = lens->remove && tfs_node_writable(im->save, im->doc, node);
    char *path = removable ? path_of(im, node) : NULL;
    struct tfs_error err = {0};
    struct tfs_edit edit;

    if (path != NULL && was_removed(im, node, path) && tfs_edit_open(im->doc, &edit, &err) == 0) {
        if (lens->remove(im->save, &edit, tfs_node_at(im->save, node), &err) == 0) {
            tfs_import_advance(im, tfs_edit_finish(&edit));
            im->counts.removed += !is_of_new_chunk(im, node);
        }
        tfs_edit_release(&edit);
    }
    if (err.code)
        tfs_import_refuse(im, path, &err);
    free(path);
}

static bool was_found(const struct tfs_found_list *list, const struct tfs_node *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (tfs_node_same(&list->items[i].node, node))
            return true;
    return false;
}

void tfs_import_missing_files(struct tfs_import *im, const struct tfs_node *top,
                              const struct tfs_found_list *list, unsigned views)
{
    const struct tfs_tree *tree = im->save->tree;
    const struct tfs_schema schema = tfs_node_schema(im->save, top);
    const struct tfs_file *files = schema.files;
    struct tfs_node node = *top;

    for (unsigned i = 0; i < schema.count; i++) {
        uint32_t members = files[i].count ? files[i].count(tree, im->doc) : 1;

        if (!(files[i].flags & TFS_FILE_OPTIONAL) || !tfs_file_is_chosen(&files[i], views))
            continue;
        node.file = (int)i;
        for (node.member = 0; node.member < members; node.member++)
            if (!was_found(list, &node) && tfs_node_exists(im->save, im->doc, &node) != 0)
                remove_file(im, &node);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* `path`: for sentences. */
static void drop_chunk(struct tfs_import *im, struct tfs_key key, const char *path)
{
    struct tfs_error err = {0};
    struct tfs_edit edit;

    if (tfs_edit_open(im->doc, &edit, &err) == 0) {
        int result = tfs_chunk_remove(im->save, &edit, key, &err);
        if (result == 0)
            tfs_import_advance(im, tfs_edit_finish(&edit));
        tfs_edit_release(&edit);
    }
    if (err.code)
        tfs_import_refuse(im, path, &err);
    else
        im->counts.removed++;
}

static void remove_chunk(struct tfs_import *im, const struct tfs_chunk *chunk)
{
    const struct tfs_node node = tfs_node_of_chunk(chunk);
    char *path = path_of(im, &node);

    if (path != NULL && was_removed(im, &node, path))
        drop_chunk(im, chunk->key, path);
    free(path);
}

void tfs_import_missing_chunks(struct tfs_import *im)
{
    if (tfs_chunks_are_fixed(im->save))
        return;
    for (size_t i = 0; i < im->base->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(im->base, i);

        if (!tfs_found_chunk(&im->chunks, chunk->key))
            remove_chunk(im, chunk);
    }
}

/* ---- what set-aside edits removed ------------------------------------------------------------ */

/* Says why the removal that the file `path` stands for is not done. */
static void leave(struct tfs_import *im, const char *path, const char *why)
{
    im->counts.left_out++;
    tfs_cli_say(im->cli, TFS_STATUS_BAD, "%s: not removed: %s", path, why);
}

/* "GROUP_X_Y_Z". */
static bool parse_removed(const char *name, struct tfs_key *key)
{
    int64_t group;

    if (!tfs_decimal_take(&name, '_', 0, UINT32_MAX, &group))
        return false;
    key->group = (uint32_t)group;
    return tfs_chunk_name_parse(name, key);
}

static void take_removed_chunk(struct tfs_import *im, const char *path, struct tfs_key key)
{
    if (tfs_found_chunk(&im->chunks, key) != NULL)
        leave(im, path, "there are edits of this chunk, too, and which came last is not known");
    else if (tfs_doc_find(im->doc, key) != NULL)
        drop_chunk(im, key, path);
    else if (tfs_facts_hiding(im->base->facts) != NULL)
        leave(im, path, "the save does not show this chunk, and may have it");
}

/* `name`: a path of the tree. */
static void take_removed_file(struct tfs_import *im, const char *path, const char *name)
{
    struct tfs_node node;
    char here[PATH_MAX];
    const int found = tfs_tree_resolve(im->save, im->doc, name, false, &node);

    if (snprintf(here, sizeof(here), "%s/%s", im->dir, name) < (int)sizeof(here) &&
        access(here, F_OK) == 0)
        leave(im, path, "the file is there, too, and which came last is not known");
    else if (found == 0 && !tfs_node_is_directory(&node) &&
             tfs_node_file(im->save, &node)->lens->remove)
        remove_file(im, &node);
    else if (found != -ENOENT || strchr(name, '/') == NULL ||
             tfs_facts_hiding(im->base->facts) != NULL)
        leave(im, path, "the save has no such file");
}

static void take_removals(struct tfs_import *im, const char *directory, unsigned depth);

static void take_removal(struct tfs_import *im, const char *path, unsigned depth)
{
    const char *name = path + strlen(im->cli->removals) + 1;
    struct tfs_key key;
    struct stat st;

    if (lstat(path, &st) < 0)
        leave(im, path, strerror(errno));
    else if (S_ISDIR(st.st_mode) && depth < TFS_ASIDE_DEPTH)
        take_removals(im, path, depth + 1);
    else if (!S_ISREG(st.st_mode) || st.st_size > 0)
        leave(im, path, "only an empty file stands for a removal");
    else if (parse_removed(name, &key))
        take_removed_chunk(im, path, key);
    else
        take_removed_file(im, path, name);
}

static void take_removals(struct tfs_import *im, const char *directory, unsigned depth)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    char path[PATH_MAX];

    if (dir == NULL && errno != ENOENT)
        leave(im, directory, strerror(errno));
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) < (int)sizeof(path))
            take_removal(im, path, depth);
        else
            leave(im, directory, strerror(ENAMETOOLONG));
    }
    if (dir != NULL)
        closedir(dir);
}

void tfs_import_removals(struct tfs_import *im)
{
    take_removals(im, im->cli->removals, 0);
}
