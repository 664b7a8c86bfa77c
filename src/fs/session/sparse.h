/*
 * Bytes that were written over what a file showed in a document, without having all of the file in
 * memory: pages in an unlinked temporary file, at the offsets that they have in the file. Beside a
 * page that was written and accepted stands what was accepted, from its next write on.
 *
 * Knows no inode and no lens. Not thread-safe, but for reading while nobody writes.
 */
#ifndef TFS_FS_SESSION_SPARSE_H
#define TFS_FS_SESSION_SPARSE_H

#include "base/map.h"
#include "fs/tree/tree.h"

#define TFS_SPARSE_PAGE 4096

/* A bit a page. */
struct tfs_pages {
    struct tfs_map blocks; /* number of the first page / bits of a block -> uint64_t[] */
};

struct tfs_sparse {
    atomic_uint refs;
    uint64_t size;
    struct tfs_doc *base;   /* what it showed when it was opened; NULL: it began as no bytes */
    uint64_t base_size;     /* bytes of it that still show; 0: values are not compared with it */
    bool based;             /* what is as in `base`, or as it was accepted, is no edit */
    bool accepted;          /* `old` may be asked for */
    bool busy;              /* it is being read without a lock, and nobody writes to it */
    bool cut;               /* bytes went, which counts as written everywhere */
    int fd, old_fd;         /* -1: nothing was written; old_fd: nothing twice */
    struct tfs_pages held;  /* in the file */
    struct tfs_pages dirty; /* written since they were accepted last */
    struct tfs_pages old;   /* in the other file, as they were accepted */
};

/* Over the file of `size` bytes that `base` shows (a reference is taken); NULL: over nothing. */
int tfs_sparse_create(struct tfs_doc *base, uint64_t size, struct tfs_sparse **sparse);
struct tfs_sparse *tfs_sparse_ref(struct tfs_sparse *sparse);
void tfs_sparse_unref(struct tfs_sparse *sparse); /* NULL is legal */
/* Puts another one in its place, of which nothing shows: what it was may be read just now. */
int tfs_sparse_empty(struct tfs_sparse **sparse);

/* Does a write of these bytes need what `base` shows of a page? Then *page is its offset. */
bool tfs_sparse_lacks(const struct tfs_sparse *sparse, uint64_t offset, uint64_t size,
                      uint64_t *page);
/* What `base` shows at a page. */
int tfs_sparse_fill(struct tfs_sparse *sparse, uint64_t page, struct tfs_span bytes);
/* Nothing is lacking. Grows. Negative: nothing of it is there, for want of memory or of a file. */
int tfs_sparse_write(struct tfs_sparse *sparse, uint64_t offset, struct tfs_span bytes);
int tfs_sparse_resize(struct tfs_sparse *sparse, uint64_t size);
/* What it says now is in the save. */
void tfs_sparse_accept(struct tfs_sparse *sparse);

/* Are these bytes, which it has, others than in `base` only where they lie in the file? Then
 * tfs_sparse_read needs no more. */
bool tfs_sparse_holds(const struct tfs_sparse *sparse, uint64_t offset, uint64_t size);
/* Puts what was written over `out`, which has what `base` shows, or zeros. */
int tfs_sparse_read(const struct tfs_sparse *sparse, uint64_t offset, size_t size, uint8_t *out);

/* All of it, where nobody writes to it: `node` is the file. */
int tfs_sparse_text(const struct tfs_sparse *sparse, struct tfs_save *save,
                    const struct tfs_node *node, struct tfs_blob **text, struct tfs_error *err);
/* As a lens takes it: valid as long as `sparse`. */
struct tfs_written tfs_sparse_written(struct tfs_sparse *sparse);

#endif
