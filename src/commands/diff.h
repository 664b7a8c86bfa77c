/*
 * What the ways to show a difference share: text for people and git (diff_text.c), JSON for
 * programs (diff_json.c).
 */
#ifndef TFS_COMMANDS_DIFF_H
#define TFS_COMMANDS_DIFF_H

#include "commands/printer.h"

enum tfs_differ_rest { TFS_REST_NONE, TFS_REST_SAME, TFS_REST_DIFFERS, TFS_REST_UNKNOWN };

/* One comparison. */
struct tfs_differ {
    struct tfs_cli *cli;
    struct tfs_save *saves[TFS_SIDES]; /* of a directory: the other side's */
    struct tfs_doc *docs[TFS_SIDES];
    bool exported[TFS_SIDES]; /* it is a directory */
    bool partial;             /* which lacks what its export could not show */
    struct tfs_diff *diff;
    struct tfs_printer printer;

    /* Counted by a walk. */
    uint64_t chunks[TFS_DIFF_CHANGED + 1], voxels;
    struct tfs_diff_box box; /* of the voxels in group 0 */
    bool has_box;
    uint32_t files; /* root files, as tfs_diff_root has them */
    enum tfs_differ_rest rest;
    bool in_groups; /* a chunk of another group than the first differs */

    size_t rows;         /* printed, or counted, of this chunk */
    uint64_t rows_left;  /* that may be printed yet */
    struct tfs_buf held; /* the first of several chunks in a row that came
                          * or went: its line */
    enum tfs_diff_kind held_kind;
    size_t held_more;
    bool first; /* JSON: the next item of the list has no comma before it */
};

void tfs_differ_init(struct tfs_differ *d, struct tfs_cli *cli);
/* Compares the saves and documents of both sides, and prints what differs: the status of `diff`. */
enum tfs_status tfs_differ_compare(struct tfs_differ *d);
/* Closes the saves, too. */
void tfs_differ_release(struct tfs_differ *d);

/* Counts one chunk, or all; 0 or a failure. */
int tfs_differ_count(struct tfs_differ *d, struct tfs_diff_chunk *chunk, struct tfs_error *err);
int tfs_differ_count_all(struct tfs_differ *d, struct tfs_error *err);

/* Does the terrain differ? */
bool tfs_differ_terrain(const struct tfs_differ *d);
bool tfs_differ_wants(const struct tfs_differ *d, unsigned flag); /* enum tfs_cli_flag */

/* Print the whole difference; 0 or a failure. */
int tfs_differ_text(struct tfs_differ *d, struct tfs_error *err);
int tfs_differ_json(struct tfs_differ *d, struct tfs_error *err);

#endif
