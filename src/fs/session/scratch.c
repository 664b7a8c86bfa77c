/*
 * Scratch files and their names: see scratch.h. The names of a directory are in two trees of
 * tsearch(3), by name and by serial.
 */
#include "fs/session/scratch.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The names of one directory. */
struct scratch_names {
    void *by_name, *by_serial;
    size_t count;
};

/* ---- files ----------------------------------------------------------------------------------- */

/* Is it under the cap? */
static bool is_capped(const struct tfs_scratch *scratch)
{
    return (scratch->flags & TFS_SCRATCH_OURS) == 0;
}

/* Files of .terrainfs itself count nowhere. */
static void count(struct tfs_scratch_tree *tree, const struct tfs_scratch *scratch, uint64_t more,
                  uint64_t less)
{
    if (is_capped(scratch))
        tree->used += more - less;
    else if ((scratch->flags & TFS_SCRATCH_UNCAPPED) != 0)
        tree->uncapped += more - less;
}

uint64_t tfs_scratch_left(const struct tfs_scratch_tree *tree)
{
    return tree->used < tree->limit ? tree->limit - tree->used : 0;
}

struct tfs_scratch *tfs_scratch_create(uint64_t id, enum tfs_scratch_kind kind, unsigned flags)
{
    struct tfs_scratch *scratch = calloc(1, sizeof(*scratch));

    if (scratch == NULL)
        return NULL;
    scratch->id = id;
    scratch->kind = kind;
    scratch->flags = flags;
    return scratch;
}

void tfs_scratch_empty(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch)
{
    count(tree, scratch, 0, scratch->bytes.size);
    tfs_buf_release(&scratch->bytes);
}

void tfs_scratch_free(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch)
{
    if (scratch == NULL)
        return;
    tfs_scratch_empty(tree, scratch);
    free(scratch);
}

int tfs_scratch_resize(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch, uint64_t size)
{
    size_t before = scratch->bytes.size;

    if (is_capped(scratch) && size > before && size - before > tfs_scratch_left(tree))
        return -ENOSPC;
    int result = tfs_buf_fit(&scratch->bytes, (size_t)size);
    if (result == 0)
        count(tree, scratch, scratch->bytes.size, before);
    return result;
}

void tfs_scratch_fill(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch,
                      struct tfs_buf *bytes)
{
    tfs_scratch_empty(tree, scratch);
    scratch->bytes = *bytes;
    *bytes = (struct tfs_buf){0};
    count(tree, scratch, scratch->bytes.size, 0);
}

/* ---- names of one directory ------------------------------------------------------------------ */

/* The tree functions give the key first. */
static int compare_names(const void *key, const void *at)
{
    return strcmp(((const struct tfs_link *)key)->name, ((const struct tfs_link *)at)->name);
}

static int compare_serials(const void *key, const void *at)
{
    const struct tfs_link *a = key, *b = at;

    return (a->serial > b->serial) - (a->serial < b->serial);
}

/* A search that never ends at a link, and notes the last one that is not before the key: the way
 * down the tree passes the first of them. */
struct seeking {
    uint64_t serial;
    struct tfs_link *found;
};

static int compare_seeking(const void *key, const void *at)
{
    struct seeking *seeking = (struct seeking *)key;
    const struct tfs_link *link = at;

    if (link->serial < seeking->serial)
        return 1;
    seeking->found = (struct tfs_link *)link;
    return -1;
}

static void keep(void *link)
{
    (void)link;
}

static void free_names(struct scratch_names *names)
{
    tdestroy(names->by_serial, keep);
    tdestroy(names->by_name, free);
    free(names);
}

/* NULL without memory, and nothing has changed. */
static struct tfs_link *add_name(struct scratch_names *names, const char *name, uint64_t serial)
{
    size_t size = strlen(name) + 1;
    struct tfs_link *link = malloc(sizeof(*link) + size);

    if (link == NULL)
        return NULL;
    *link = (struct tfs_link){serial, NULL, memcpy(link + 1, name, size)};
    if (tsearch(link, &names->by_name, compare_names) == NULL)
        goto no_memory;
    if (tsearch(link, &names->by_serial, compare_serials) == NULL) {
        tdelete(link, &names->by_name, compare_names);
        goto no_memory;
    }
    names->count++;
    return link;
no_memory:
    free(link);
    return NULL;
}

static void remove_name(struct scratch_names *names, struct tfs_link *link)
{
    tdelete(link, &names->by_name, compare_names);
    tdelete(link, &names->by_serial, compare_serials);
    names->count--;
    free(link);
}

/* ---- names ----------------------------------------------------------------------------------- */

void tfs_scratch_tree_init(struct tfs_scratch_tree *tree, uint64_t limit)
{
    *tree = (struct tfs_scratch_tree){.limit = limit};
}

void tfs_scratch_tree_release(struct tfs_scratch_tree *tree)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&tree->names, &at, &cell);)
        free_names(cell.value);
    tfs_map_release(&tree->names);
}

static struct scratch_names *names_in(const struct tfs_scratch_tree *tree, uint64_t parent)
{
    return tfs_map_find(&tree->names, parent);
}

struct tfs_link *tfs_link_find(const struct tfs_scratch_tree *tree, uint64_t parent,
                               const char *name)
{
    const struct scratch_names *names = names_in(tree, parent);
    const struct tfs_link key = {.name = name};
    struct tfs_link **found = names != NULL ? tfind(&key, &names->by_name, compare_names) : NULL;

    return found != NULL ? *found : NULL;
}

struct tfs_link *tfs_link_from(const struct tfs_scratch_tree *tree, uint64_t parent,
                               uint64_t serial)
{
    const struct scratch_names *names = names_in(tree, parent);
    struct seeking seeking = {serial, NULL};

    if (names != NULL)
        (void)tfind(&seeking, &names->by_serial, compare_seeking);
    return seeking.found;
}

bool tfs_scratch_tree_is_empty(const struct tfs_scratch_tree *tree, uint64_t parent)
{
    return names_in(tree, parent) == NULL;
}

static struct scratch_names *make_names(struct tfs_scratch_tree *tree, uint64_t parent)
{
    struct scratch_names *names = names_in(tree, parent);

    if (names != NULL)
        return names;
    names = calloc(1, sizeof(*names));
    if (names != NULL && tfs_map_set(&tree->names, parent, names) < 0) {
        free(names);
        return NULL;
    }
    return names;
}

/* link: NULL: there is none to remove. */
static void remove_link(struct tfs_scratch_tree *tree, uint64_t parent, struct scratch_names *names,
                        struct tfs_link *link)
{
    if (link != NULL)
        remove_name(names, link);
    if (names->count > 0)
        return;
    tfs_map_remove(&tree->names, parent);
    free_names(names);
}

/* A link that is nobody's yet; NULL without memory. */
static struct tfs_link *new_link(struct tfs_scratch_tree *tree, uint64_t parent, const char *name)
{
    struct scratch_names *names = make_names(tree, parent);

    if (names == NULL)
        return NULL;
    struct tfs_link *link = add_name(names, name, tree->next_serial++);
    if (link == NULL)
        remove_link(tree, parent, names, NULL);
    return link;
}

static void give_link(struct tfs_scratch_tree *tree, uint64_t parent, struct tfs_link *link,
                      struct tfs_scratch *scratch)
{
    count(tree, scratch, TFS_SCRATCH_COST, 0);
    link->scratch = scratch;
    scratch->link = link;
    scratch->parent = parent;
}

/* The link is nobody's then. Returns the names of its directory. */
static struct scratch_names *take_link(struct tfs_scratch_tree *tree, struct tfs_link *link)
{
    struct tfs_scratch *scratch = link->scratch;
    struct scratch_names *names = names_in(tree, scratch->parent);

    count(tree, scratch, 0, TFS_SCRATCH_COST);
    link->scratch = NULL;
    scratch->link = NULL;
    return names;
}

int tfs_link_add(struct tfs_scratch_tree *tree, uint64_t parent, const char *name,
                 struct tfs_scratch *scratch)
{
    if (is_capped(scratch) && TFS_SCRATCH_COST > tfs_scratch_left(tree))
        return -ENOSPC;
    struct tfs_link *link = new_link(tree, parent, name);
    if (link == NULL)
        return -ENOMEM;
    give_link(tree, parent, link, scratch);
    return 0;
}

int tfs_link_replace(struct tfs_scratch_tree *tree, uint64_t parent, const char *name,
                     struct tfs_scratch *scratch, struct tfs_scratch **replaced)
{
    struct tfs_link *link = tfs_link_find(tree, parent, name);
    struct tfs_scratch *old = link != NULL ? link->scratch : NULL;

    if (link == NULL) {
        int result = tfs_link_add(tree, parent, name, scratch);
        if (result < 0)
            return result;
    } else {
        take_link(tree, link);
        give_link(tree, parent, link, scratch);
    }
    *replaced = old;
    return 0;
}

int tfs_link_move(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch, uint64_t new_parent,
                  const char *new_name, struct tfs_scratch **replaced)
{
    const uint64_t parent = scratch->parent;
    struct tfs_link *old = scratch->link, *link = tfs_link_find(tree, new_parent, new_name);

    *replaced = link != NULL ? link->scratch : NULL;
    if (link == NULL)
        link = new_link(tree, new_parent, new_name);
    if (link == NULL)
        return -ENOMEM;
    if (*replaced != NULL)
        take_link(tree, link);
    struct scratch_names *names = take_link(tree, old);
    give_link(tree, new_parent, link, scratch);
    remove_link(tree, parent, names, old);
    return 0;
}

void tfs_link_remove(struct tfs_scratch_tree *tree, struct tfs_link *link)
{
    const uint64_t parent = link->scratch->parent;
    struct scratch_names *names = take_link(tree, link);

    remove_link(tree, parent, names, link);
}
