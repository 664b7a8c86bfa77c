/*
 * Two documents of one format -> the chunks that say different things, voxel by voxel.
 *
 * A chunk whose stored bytes are the same on both sides is never decoded, unless what belongs to
 * the whole save (names of materials) differs. Voxels of one whose bytes differ are compared by
 * what they are called (formats/cells/voxels.h); what voxels do not say (lights, entities,
 * metadata) is in the files with TFS_FILE_APART, whose texts are compared. So a chunk that another
 * program stored otherwise, but that says the same, does not differ.
 *
 * Memory: one chunk of each side, and the names in it.
 */
#ifndef TFS_FORMATS_COMPARE_DIFF_H
#define TFS_FORMATS_COMPARE_DIFF_H

#include "formats/compare/chunk.h"

enum { TFS_BEFORE, TFS_AFTER, TFS_SIDES };

enum tfs_diff_kind { TFS_DIFF_ADDED, TFS_DIFF_REMOVED, TFS_DIFF_CHANGED };

/* Voxels of one name in a chunk, without what is partial about them: of those that differ. */
struct tfs_diff_count {
    struct tfs_span name; /* printable; valid as long as the chunk */
    uint64_t voxels[TFS_SIDES];
};

/* A chunk that differs. */
struct tfs_diff_chunk {
    enum tfs_diff_kind kind;
    struct tfs_key key;
    const struct tfs_chunk *chunks[TFS_SIDES]; /* NULL: absent */
    char why[TFS_ERROR_TEXT];                  /* it cannot be looked into; "": it can */
    uint64_t voxels;                           /* that differ */
    struct tfs_diff_box box;                   /* of these */
    uint32_t files; /* bit i: chunk.files[i] of the tree of `before` differs */
};

/* Consecutive voxels of one row that differ and have one name on a side. */
struct tfs_diff_run {
    int64_t from, to; /* x of the first and of the last */
    struct tfs_span name;
};

/* The voxels of one row along x that differ: what they are on each side. */
struct tfs_diff_row {
    int64_t y, z;
    const struct tfs_diff_run *runs[TFS_SIDES];
    size_t counts[TFS_SIDES];
};

struct tfs_diff;

/* Both are called with what is valid during the call alone; a result that is not 0 ends the
 * walk. */
typedef int (*tfs_diff_chunk_fn)(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk);
typedef int (*tfs_diff_row_fn)(void *arg, const struct tfs_diff_row *row);

/* Refuses with a sentence what cannot be compared: EINVAL for two formats, or chunks of two
 * sizes. */
int tfs_diff_check(const struct tfs_side sides[TFS_SIDES], struct tfs_error *err);
int tfs_diff_open(const struct tfs_side sides[TFS_SIDES], struct tfs_diff **diff,
                  struct tfs_error *err);
void tfs_diff_close(struct tfs_diff *diff);

/* Calls `differs` for each chunk that differs, in key order. Voxels of chunks that were added or
 * removed are counted by tfs_diff_count_voxels alone. Returns what `differs` returned, or a
 * failure. */
int tfs_diff_walk(struct tfs_diff *diff, tfs_diff_chunk_fn differs, void *arg,
                  struct tfs_error *err);

/* For `differs`: counts the voxels of a chunk that was added or removed. */
int tfs_diff_count_voxels(struct tfs_diff *diff, struct tfs_diff_chunk *chunk,
                          struct tfs_error *err);
/* The names in what was counted last, by name. */
const struct tfs_diff_count *tfs_diff_counts(const struct tfs_diff *diff, size_t *count);
/* The rows of what was counted last. Returns what `row` returned, or a failure. */
int tfs_diff_rows(struct tfs_diff *diff, tfs_diff_row_fn row, void *arg, struct tfs_error *err);

/* Bit i: root.files[i] of the tree of `before` differs (TFS_FILE_APART). */
int tfs_diff_root(struct tfs_diff *diff, uint32_t *files, struct tfs_error *err);

/* Chunks that neither side could read: whether they differ is not known. */
size_t tfs_diff_unknown(const struct tfs_diff *diff);
/* Chunks of one side that the other lacks, but may only not show (tfs_facts_hiding): none of them
 * was added or removed for sure. */
size_t tfs_diff_hidden(const struct tfs_diff *diff);

#endif
