/*
 * A directory of the user's -> the names of the tree in it. Opens no file and changes nothing.
 *
 * Symbolic links to directories are not followed: what DIR holds is what stands below it. What
 * stands in the place of a directory is refused, because to pass over it would be to say that what
 * belongs there was removed.
 */
#include "commands/import.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/print.h"

void tfs_found_release(struct tfs_found_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].path);
    free(list->items);
    *list = (struct tfs_found_list){0};
}

static enum tfs_status no_memory(struct tfs_cli *cli)
{
    return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "out of memory");
}

/* Takes `path`. */
static enum tfs_status add(struct tfs_cli *cli, struct tfs_found_list *list,
                           const struct tfs_node *node, char *path)
{
    struct tfs_found *items = tfs_array_grow(list->items, list->count, sizeof(*items));

    if (!items) {
        free(path);
        return no_memory(cli);
    }
    list->items = items;
    list->items[list->count++] = (struct tfs_found){.node = *node, .path = path};
    return TFS_STATUS_DONE;
}

static enum tfs_status ignore(struct tfs_cli *cli, const char *path, const char *why)
{
    return tfs_cli_say(cli, TFS_STATUS_DONE, "%s: ignored: %s", path, why);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* One directory being read: what to do with each name, which it owns. */
struct walk {
    struct tfs_cli *cli;
    struct tfs_save *save;
    const struct tfs_doc *doc;
    const struct tfs_node *dir;
    struct tfs_found_list *list;
    enum tfs_status (*entry)(struct walk *walk, const char *name, char *path);
};

static enum tfs_status walk_name(struct walk *walk, const char *directory, const char *name)
{
    char *path = name[0] == '.' ? NULL : tfs_path_join(directory, name);

    if (name[0] == '.')
        return TFS_STATUS_DONE;
    return path == NULL ? no_memory(walk->cli) : walk->entry(walk, name, path);
}

static enum tfs_status walk_directory(struct walk *walk, const char *path)
{
    DIR *dir = opendir(path);
    enum tfs_status status = TFS_STATUS_DONE;
    struct dirent *entry;

    if (!dir)
        return tfs_cli_say(walk->cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    while (!status) {
        errno = 0;
        entry = readdir(dir);
        if (entry)
            status = walk_name(walk, path, entry->d_name);
        else if (errno)
            status = tfs_cli_say(walk->cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
        else
            break;
    }
    closedir(dir);
    return status;
}

/* Is it the directory that the tree has of this name? */
static enum tfs_status check_directory(struct tfs_cli *cli, const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return tfs_cli_say(cli, TFS_STATUS_SYSTEM, "%s: %s", path, strerror(errno));
    if (S_ISLNK(st.st_mode))
        return tfs_cli_say(cli, TFS_STATUS_BAD,
                           "%s: is a symbolic link; links to directories are not followed: put the "
                           "directory itself here",
                           path);
    return S_ISDIR(st.st_mode) ? TFS_STATUS_DONE
                               : tfs_cli_say(cli, TFS_STATUS_BAD,
                                             "%s: is no directory, and the tree has one of this "
                                             "name",
                                             path);
}

/* ---- files of a scope ------------------------------------------------------------------------ */

/* A name that the tree lacks. Those of edits that were set aside are taken, or named, elsewhere. */
static enum tfs_status scan_other(struct walk *walk, const char *name, const char *path)
{
    if (walk->cli->removals != NULL && walk->dir->directory == TFS_DIR_TOP && tfs_aside_name(name))
        return TFS_STATUS_DONE;
    return ignore(walk->cli, path, "the tree has no such name");
}

static enum tfs_status scan_name(struct walk *walk, const char *name, char *path)
{
    struct tfs_node node;
    enum tfs_status status = TFS_STATUS_DONE;

    int found = tfs_tree_lookup(walk->save, walk->doc, walk->dir, name, false, &node);
    if (found == -ENOMEM) {
        status = tfs_cli_say(walk->cli, TFS_STATUS_SYSTEM, "%s: out of memory", path);
    } else if (found < 0) {
        status = scan_other(walk, name, path);
    } else if (!tfs_node_is_directory(&node)) {
        return add(walk->cli, walk->list, &node, path);
    } else if ((status = check_directory(walk->cli, path)) == TFS_STATUS_DONE) {
        struct walk below = *walk;

        if (node.directory < TFS_DIR_SUB)
            return add(walk->cli, walk->list, &node, path);
        below.dir = &node;
        status = walk_directory(&below, path);
    }
    free(path);
    return status;
}

/* Directories first, then files in schema order, families by member. */
static int compare_files(const void *a, const void *b)
{
    const struct tfs_found *left = a, *right = b;

    if (left->node.file != right->node.file)
        return left->node.file < right->node.file ? -1 : 1;
    if (left->node.member != right->node.member)
        return left->node.member < right->node.member ? -1 : 1;
    return strcmp(left->path, right->path);
}

enum tfs_status tfs_found_scan(struct tfs_cli *cli, struct tfs_save *save,
                               const struct tfs_doc *doc, const struct tfs_node *top,
                               const char *path, struct tfs_found_list *list)
{
    struct walk walk = {cli, save, doc, top, list, scan_name};
    enum tfs_status status = walk_directory(&walk, path);

    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_files);
    return status;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static enum tfs_status scan_chunk(struct walk *walk, const char *name, char *path)
{
    struct tfs_node node = {.scope = TFS_SCOPE_CHUNK, .slot = TFS_SLOT_NONE, .file = -1};
    const struct tfs_chunk *chunk;
    enum tfs_status status;

    (void)tfs_node_holds_chunks(walk->dir, &node.key.group);
    if (!tfs_chunk_name_parse(name, &node.key)) {
        status = ignore(walk->cli, path, "this is not the name of a chunk");
    } else if ((status = check_directory(walk->cli, path)) == TFS_STATUS_DONE) {
        chunk = tfs_doc_find(walk->doc, node.key);
        if (chunk)
            node.slot = chunk->slot;
        return add(walk->cli, walk->list, &node, path);
    }
    free(path);
    return status;
}

enum tfs_status tfs_found_chunks(struct tfs_cli *cli, const struct tfs_doc *doc,
                                 const struct tfs_node *holder, const char *path,
                                 struct tfs_found_list *list)
{
    struct walk walk = {cli, NULL, doc, holder, list, scan_chunk};

    return walk_directory(&walk, path);
}

static int compare_keys(const void *a, const void *b)
{
    return tfs_key_compare(((const struct tfs_found *)a)->node.key,
                           ((const struct tfs_found *)b)->node.key);
}

void tfs_found_sort_chunks(struct tfs_found_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_keys);
}

struct tfs_found *tfs_found_chunk(const struct tfs_found_list *list, struct tfs_key key)
{
    const struct tfs_found wanted = {.node.key = key};

    return list->count == 0
               ? NULL
               : bsearch(&wanted, list->items, list->count, sizeof(*list->items), compare_keys);
}
