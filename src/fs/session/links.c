/*
 * Two trees of the same links, by name and by serial.
 */
#include "fs/session/links.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The tree functions give the key first. */
static int compare_names(const void *key, const void *at)
{
    const struct tfs_link *link = key;

    link->in->compared++;
    return strcmp(link->name, ((const struct tfs_link *)at)->name);
}

static int compare_serials(const void *key, const void *at)
{
    const struct tfs_link *a = key;
    const struct tfs_link *b = at;

    a->in->compared++;
    return (a->serial > b->serial) - (a->serial < b->serial);
}

/* A search that never ends at a link, and notes the last one that is not before the key: the way
 * down the tree passes the first of them. */
struct seeking {
    struct tfs_link key;
    const struct tfs_link **found;
};

static int compare_seeking(const void *key, const void *at)
{
    const struct seeking *seeking = key;
    const struct tfs_link *link = at;

    seeking->key.in->compared++;
    if (link->serial < seeking->key.serial)
        return 1;
    *seeking->found = link;
    return -1;
}

static void keep(void *link)
{
    (void)link;
}

void tfs_links_release(struct tfs_links *links)
{
    tdestroy(links->by_serial, keep);
    tdestroy(links->by_name, free);
    *links = (struct tfs_links){0};
}

struct tfs_link *tfs_links_find(struct tfs_links *links, const char *name)
{
    const struct tfs_link key = {.in = links, .name = name};
    struct tfs_link **found = tfind(&key, &links->by_name, compare_names);

    return found != NULL ? *found : NULL;
}

struct tfs_link *tfs_links_from(struct tfs_links *links, uint64_t serial)
{
    const struct tfs_link *found = NULL;
    const struct seeking seeking = {.key = {.in = links, .serial = serial}, .found = &found};

    (void)tfind(&seeking, &links->by_serial, compare_seeking);
    return (struct tfs_link *)found;
}

struct tfs_link *tfs_links_add(struct tfs_links *links, const char *name, uint64_t serial,
                               struct tfs_scratch *scratch)
{
    size_t size = strlen(name) + 1;
    struct tfs_link *link = malloc(sizeof(*link) + size);

    if (link == NULL)
        return NULL;
    *link = (struct tfs_link){links, serial, scratch, memcpy(link + 1, name, size)};
    if (tsearch(link, &links->by_name, compare_names) == NULL)
        goto no_memory;
    if (tsearch(link, &links->by_serial, compare_serials) == NULL) {
        tdelete(link, &links->by_name, compare_names);
        goto no_memory;
    }
    links->count++;
    return link;
no_memory:
    free(link);
    return NULL;
}

void tfs_links_remove(struct tfs_links *links, struct tfs_link *link)
{
    tdelete(link, &links->by_name, compare_names);
    tdelete(link, &links->by_serial, compare_serials);
    links->count--;
    free(link);
}
