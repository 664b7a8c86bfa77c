/*
 * Times that outlive a mount. git and rsync take a file with the same times for unchanged. Without
 * this they would read the whole tree again after each mount, when every time is the save's. At its
 * end a mount notes, for each chunk that somebody looked at, a checksum of its stored bytes and its
 * times. The next mount gives these times to chunks that still have those bytes.
 *
 *   $XDG_STATE_HOME/terrainfs/times/HASH-OF-THE-SAVE'S-PATH
 *     "terrainfs times 1\n"
 *     u64 program, u64 count, then count times:
 *     u32 group, s32 x, y, z, u64 checksum, s64 mtime, s64 ctime (nanoseconds), by key
 *     u64 checksum of all this                                            (all little-endian)
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
    size_t count;
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

/* Notes the present times of a chunk; those noted before stay until tfs_kept_times_write, which
 * puts both into the state file. Without memory, or beyond TFS_KEPT_TIMES_MAX, it is not noted. */
struct tfs_kept_notes {
    struct tfs_kept_time *items;
    size_t count;
};

void tfs_kept_times_note(struct tfs_kept_times *kept, struct tfs_kept_notes *notes,
                         struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_chunk *chunk, struct timespec mtime,
                         struct timespec ctime);
/* Releases the notes, too. */
void tfs_kept_times_write(struct tfs_kept_times *kept, struct tfs_kept_notes *notes);

#endif
