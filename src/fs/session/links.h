/*
 * The names of one directory that lies in memory: what a name stands for, and the order in which
 * names came. To find, add or remove one of n names costs about log2(n) comparisons, whatever the
 * names are: a tree of files that somebody made to be slow is as fast as any other.
 *
 * Knows no file but its address, and no cap. Not thread-safe.
 */
#ifndef TFS_FS_SESSION_LINKS_H
#define TFS_FS_SESSION_LINKS_H

#include <stddef.h>
#include <stdint.h>

struct tfs_scratch;

/* Stays where it is until it is removed. */
struct tfs_link {
    struct tfs_links *in;
    uint64_t serial; /* its place in a listing */
    struct tfs_scratch *scratch;
    const char *name;
};

/* Zero-initialised = empty. It must not move while it has names. */
struct tfs_links {
    void *by_name, *by_serial; /* trees of tsearch(3) */
    size_t count;
    uint64_t compared; /* links looked at so far: what tests count */
};

void tfs_links_release(struct tfs_links *links);
/* NULL: there is no such name. */
struct tfs_link *tfs_links_find(struct tfs_links *links, const char *name);
/* The link with the least serial that is not below `serial`; NULL: there is none. So a listing goes
 * on behind a name whether or not that is still there. */
struct tfs_link *tfs_links_from(struct tfs_links *links, uint64_t serial);
/* Neither name nor serial may be there. NULL without memory, and nothing has changed. */
struct tfs_link *tfs_links_add(struct tfs_links *links, const char *name, uint64_t serial,
                               struct tfs_scratch *scratch);
void tfs_links_remove(struct tfs_links *links, struct tfs_link *link);

#endif
