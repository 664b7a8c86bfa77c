/*
 * Scratch files and their names: see scratch.h. All names are in two trees of tsearch(3), by name
 * and by serial, where those of one directory lie side by side.
 */
#include "fs/session/scratch.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- names ----------------------------------------------------------------------------------- */

static int compare_parents(const struct tfs_link *a, const struct tfs_link *b)
{
    return (a->parent > b->parent) - (a->parent < b->parent);
}

/* The tree functions give the key first. */
static int compare_names(const void *key, const void *at)
{
    const struct tfs_link *a = key, *b = at;
    const int parents = compare_parents(a, b);

    return parents != 0 ? parents : strcmp(a->name, b->name);
}

static int compare_serials(const void *key, const void *at)
{
    const struct tfs_link *a = key, *b = at;
    const int parents = compare_parents(a, b);

    return parents != 0 ? parents : (a->serial > b->serial) - (a->serial < b->serial);
}

/* A search that never ends at a link, and notes the last one that is not before the key: the way
 * down the tree passes the first of them. */
struct seeking {
    struct tfs_link from;
    struct tfs_link *found;
};

static int compare_seeking(const void *key, const void *at)
{
    struct seeking *seeking = (struct seeking *)key;

    if (compare_serials(&seeking->from, at) > 0)
        return 1;
    seeking->found = (struct tfs_link *)at;
    return -1;
}

static void keep(void *link)
{
    (void)link;
}

void tfs_scratch_tree_init(struct tfs_scratch_tree *tree, uint64_t limit)
{
    *tree = (struct tfs_scratch_tree){.limit = limit};
}

void tfs_scratch_tree_release(struct tfs_scratch_tree *tree)
{
    tdestroy(tree->by_serial, keep);
    tdestroy(tree->by_name, free);
}

struct tfs_link *tfs_link_find(const struct tfs_scratch_tree *tree, uint64_t parent,
                               const char *name)
{
    const struct tfs_link key = {.parent = parent, .name = name};
    struct tfs_link **found = tfind(&key, &tree->by_name, compare_names);

    return found != NULL ? *found : NULL;
}

struct tfs_link *tfs_link_from(const struct tfs_scratch_tree *tree, uint64_t parent,
                               uint64_t serial)
{
    struct seeking seeking = {.from = {.parent = parent, .serial = serial}};

    (void)tfind(&seeking, &tree->by_serial, compare_seeking);
    return seeking.found != NULL && seeking.found->parent == parent ? seeking.found : NULL;
}

bool tfs_scratch_tree_is_empty(const struct tfs_scratch_tree *tree, uint64_t parent)
{
    return tfs_link_from(tree, parent, 0) == NULL;
}

/* A link that is nobody's yet; NULL without memory, and nothing has changed. */
static struct tfs_link *add_link(struct tfs_scratch_tree *tree, uint64_t parent, const char *name)
{
    const size_t size = strlen(name) + 1;
    struct tfs_link *link = malloc(sizeof(*link) + size);

    if (link == NULL)
        return NULL;
    *link = (struct tfs_link){parent, tree->next_serial++, NULL, memcpy(link + 1, name, size)};
    if (tsearch(link, &tree->by_name, compare_names) == NULL)
        goto no_memory;
    if (tsearch(link, &tree->by_serial, compare_serials) == NULL) {
        tdelete(link, &tree->by_name, compare_names);
        goto no_memory;
    }
    return link;
no_memory:
    free(link);
    return NULL;
}

static void give_link(struct tfs_scratch_tree *tree, struct tfs_link *link,
                      struct tfs_scratch *scratch)
{
    count(tree, scratch, TFS_SCRATCH_COST, 0);
    link->scratch = scratch;
    scratch->link = link;
    scratch->parent = link->parent;
}

/* The link is nobody's then. */
static void take_link(struct tfs_scratch_tree *tree, struct tfs_link *link)
{
    count(tree, link->scratch, 0, TFS_SCRATCH_COST);
    link->scratch->link = NULL;
    link->scratch = NULL;
}

int tfs_link_put(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch, uint64_t parent,
                 const char *name, struct tfs_scratch **replaced)
{
    struct tfs_link *old = scratch->link, *link = tfs_link_find(tree, parent, name);

    *replaced = link != NULL ? link->scratch : NULL;
    if (link == NULL && old == NULL && is_capped(scratch) &&
        TFS_SCRATCH_COST > tfs_scratch_left(tree))
        return -ENOSPC;
    if (link == NULL)
        link = add_link(tree, parent, name);
    if (link == NULL)
        return -ENOMEM;
    if (*replaced != NULL)
        take_link(tree, link);
    if (old != NULL)
        tfs_link_remove(tree, old);
    give_link(tree, link, scratch);
    return 0;
}

void tfs_link_remove(struct tfs_scratch_tree *tree, struct tfs_link *link)
{
    take_link(tree, link);
    tdelete(link, &tree->by_name, compare_names);
    tdelete(link, &tree->by_serial, compare_serials);
    free(link);
}
