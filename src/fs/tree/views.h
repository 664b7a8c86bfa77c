/*
 * What files show, as far as it is remembered: when they changed, how large they are, and some of
 * their bytes. Everything is by computed id (tree.h) and stamp: a stamp grows with every change, so
 * that what is remembered of an older one is never found again.
 *
 * Thread-safe by its own lock, which is never held while a lens is at work. Knows no inode and no
 * draft: the file as it is saved.
 */
#ifndef TFS_FS_TREE_VIEWS_H
#define TFS_FS_TREE_VIEWS_H

#include <pthread.h>

#include "base/map.h"
#include "base/recent.h"
#include "fs/tree/tree.h"

/* The size of a file that was asked for before: the kernel asks again after every read. */
struct tfs_size {
    uint64_t id;
    uint64_t stamp;
    uint64_t size;
    bool given; /* the kernel has its text */
};

#define TFS_SIZES       ((size_t)1 << 18) /* 8 MB, touched only where they are used */
#define TFS_CHANGES_MAX ((size_t)1 << 18) /* about 30 MB */

struct tfs_times {
    struct timespec atime, mtime, ctime;
};

/* The times of a chunk's files that did not change since the save was read. */
struct tfs_chunk_times {
    struct timespec mtime, ctime;
    bool known;
};

/* Of one store. */
struct tfs_base {
    struct timespec time;           /* of files without a time of their own */
    struct tfs_chunk_times *chunks; /* by slot */
    size_t chunk_count;
};

struct tfs_views {
    pthread_mutex_t lock;
    struct tfs_map changes; /* id -> struct change */
    size_t changes_limit;
    uint64_t stamp;
    uint64_t base_stamp;    /* of what is not in `changes`; 0: nothing was forgotten there */
    struct tfs_base *bases; /* of what did not change since its save was read, by store */
    size_t base_count;
    struct timespec last_time; /* of the last change, so that times only grow */
    struct tfs_recent texts;
    struct tfs_size *sizes; /* TFS_SIZES by id, or NULL; a newer one takes the place of an older */
};

void tfs_views_init(struct tfs_views *views, size_t cache_limit, size_t changes_limit);
/* The time of files of that store that do not change; 0 or -ENOMEM. */
int tfs_views_set_base(struct tfs_views *views, uint16_t store, struct timespec time);
/* The same of one chunk, from now on; NULL, and without memory: as those of the store. */
void tfs_views_set_chunk(struct tfs_views *views, const struct tfs_node *chunk,
                         const struct timespec *mtime, const struct timespec *ctime);
bool tfs_views_has_chunk(struct tfs_views *views, const struct tfs_node *chunk);
/* The latest times that a file of the chunk has; false: nobody asked for any. */
bool tfs_views_latest(struct tfs_views *views, const struct tfs_node *chunk, unsigned files,
                      struct tfs_times *times);
void tfs_views_release(struct tfs_views *views);

/* ---- changes --------------------------------------------------------------------------------- */

/* 0: it reads as it did when its save was read first. */
uint64_t tfs_views_stamp(struct tfs_views *views, uint64_t id);
/* Grows with every change of any file; 0: all read as they did then. */
uint64_t tfs_views_last_stamp(struct tfs_views *views);
/* Content changed: new stamp, mtime and ctime. */
void tfs_views_bump(struct tfs_views *views, uint64_t id);
/* Counts all files as changed now, if `files` are more than can be known one by one. False: they
 * are not. */
bool tfs_views_bump_all(struct tfs_views *views, size_t files);
/* The same content reads differently: new stamp, times as they are. */
void tfs_views_restamp(struct tfs_views *views, uint64_t id);

/* The present time. Two calls never give the same one, because git and rsync tell versions apart by
 * it. */
struct timespec tfs_views_now(struct tfs_views *views);
void tfs_views_times(struct tfs_views *views, uint64_t id, struct tfs_times *times);
/* Sets the times that are not NULL; ctime becomes the present time. 0 or -ENOMEM. */
int tfs_views_set_times(struct tfs_views *views, uint64_t id, const struct timespec *atime,
                        const struct timespec *mtime);

/* Two programs met at an id of the file that they must not share: from now on each LOOKUP of its
 * name gets an id of its own. */
void tfs_views_meet(struct tfs_views *views, uint64_t id);
bool tfs_views_have_met(struct tfs_views *views, uint64_t id);

/* ---- sizes and bytes ------------------------------------------------------------------------- */

/* A file in a document. */
struct tfs_view {
    struct tfs_save *save;
    struct tfs_doc *doc;
    struct tfs_node node;
    uint64_t id;
    uint64_t stamp; /* of what it shows in `doc` */
};

/* Without rendering: 0, -EAGAIN when it takes that, -ESTALE when the file is not there. */
int tfs_views_size(struct tfs_views *views, const struct tfs_view *view, uint64_t *size);
/* The rendered bytes, if the file still has that stamp: a reference, or NULL. */
struct tfs_blob *tfs_views_find(struct tfs_views *views, uint64_t id, uint64_t stamp);
/* Renders, and remembers bytes and size if the stamp is still the same. */
int tfs_views_render(struct tfs_views *views, const struct tfs_view *view, struct tfs_blob **blob,
                     struct tfs_error *err);
/* Is the file too large to be remembered, and can its lens render ranges? Then ranges are rendered,
 * and none is remembered. */
bool tfs_views_in_ranges(struct tfs_views *views, const struct tfs_view *view);
/* Renders the `size` bytes at `offset`, or as many as there are. */
int tfs_views_render_range(const struct tfs_view *view, uint64_t offset, uint64_t size,
                           struct tfs_blob **blob, struct tfs_error *err);
/* Has the kernel got the text of the file as of view->stamp, until it forgets the file? Also true
 * where that cannot be remembered. */
bool tfs_views_is_given(struct tfs_views *views, const struct tfs_view *view);
/* Did that change? */
bool tfs_views_set_given(struct tfs_views *views, const struct tfs_view *view, bool given);
/* Bytes that are of no more use here. */
void tfs_views_drop(struct tfs_views *views, uint64_t id, uint64_t stamp);

#endif
