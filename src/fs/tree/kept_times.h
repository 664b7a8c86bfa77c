/*
 * Times that outlive a mount. git and rsync take a file with the same times for unchanged. Without
 * this they would read the whole tree again after each mount, when every time is the save's. At its
 * end a mount notes, for each chunk that somebody looked at, a checksum of its stored bytes and its
 * times. The next mount gives these times to chunks that still have those bytes.
 *
 *   $XDG_STATE_HOME/terrainfs/times/HASH-OF-THE-SAVE'S-PATH
 *     "terrainfs times 2\n", u64 program, then times as they lie in memory, by key:
 *     u32 group, s32 x, y, z, u64 checksum, s64 mtime, s64 ctime (nanoseconds)
 *     u64 checksum of all this
 *
 * The path is the key, because a save that is replaced has another inode each time.
 * What is read is hostile until checked, and without it every time is the save's: nothing here can
 * fail a mount.
 *
 * Not thread-safe: the caller's lock guards it. Of one save.
 */
#ifndef TFS_FS_TREE_KEPT_TIMES_H
#define TFS_FS_TREE_KEPT_TIMES_H

#include <time.h>

#include "formats/format.h"

struct tfs_kept_time {
    struct tfs_key key;
    uint64_t checksum;
    int64_t mtime, ctime; /* nanoseconds since 1970 */
};

#define TFS_KEPT_TIMES_MAX ((size_t)1 << 18)

struct tfs_kept_times {
    char *path; /* of the state file; NULL: there is no place for it */
    struct tfs_kept_time *items;
    size_t count, sorted; /* the first ones are of earlier mounts, by key */
    bool noted;           /* something for the state file */
    uint64_t program;
    uint64_t version, seed; /* the seed of checksums in the document of that version */
};

/* Zero-initialised, and filled with what an earlier mount left. Errors leave it empty. */
void tfs_kept_times_open(struct tfs_kept_times *kept, const struct tfs_save *save);
void tfs_kept_times_release(struct tfs_kept_times *kept);

/* The times of a chunk that has the bytes it had then: true. */
bool tfs_kept_times_find(struct tfs_kept_times *kept, struct tfs_save *save,
                         const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                         struct timespec *mtime, struct timespec *ctime);

/* The present times of a chunk, once, for tfs_kept_times_write, which puts them into the state file
 * beside those of other chunks. Without memory, or beyond TFS_KEPT_TIMES_MAX, it is not noted. */
void tfs_kept_times_note(struct tfs_kept_times *kept, struct tfs_save *save,
                         const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                         struct timespec mtime, struct timespec ctime);
void tfs_kept_times_write(struct tfs_kept_times *kept);

#endif
