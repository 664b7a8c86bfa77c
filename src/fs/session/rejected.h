/*
 * What was rejected, and why: what must not get lost though it could not be saved. Sentences in
 * .terrainfs/errors.log, rejected documents in .terrainfs/rejected/. They are scratch files,
 * because users list, read, copy and remove them by their names. At the end of the session what is
 * left of rejected/ goes to NAME.rejected-DATE/ (formats/apart.h), which session.c fills.
 *
 * Not thread-safe: the caller's lock guards it.
 */
#ifndef TFS_FS_SESSION_REJECTED_H
#define TFS_FS_SESSION_REJECTED_H

#include "fs/session/inode.h"
#include "fs/tree/views.h"

#define TFS_CONTROL_NAME ".terrainfs"
#define TFS_REJECTED_MAX (UINT64_C(256) << 20) /* rejected texts */

struct tfs_rejected {
    struct tfs_inodes *inodes;
    struct tfs_views *views; /* for times */
    struct stat st;          /* owner and mode of the save when it was opened */
    uint64_t limit;
    struct tfs_inode *control, *log, *status, *dir;
};

/* Makes .terrainfs: 0 or -ENOMEM. The members above `control` are set. */
int tfs_rejected_init(struct tfs_rejected *q);
/* A file at the root that nobody can change. -ENOMEM. */
int tfs_rejected_add_file(struct tfs_rejected *q, const char *name, struct tfs_span bytes);

/* A line for errors.log, without control characters; the time is added. Editors take a line as
 * file:line:column: sentence, so the time comes last. */
void tfs_rejected_log(struct tfs_rejected *q, const char *line);

/* Puts a rejected document aside, in the place of an older one. Where there is no room for it, or
 * it is too large to be had at all (NULL), the log says so, and where there is no older one an
 * empty file stands for it. */
void tfs_rejected_put(struct tfs_rejected *q, const char *path, const struct tfs_span *bytes);
/* What a handle wrote to `path` was rejected and is accepted now: the copy that was put aside
 * goes. */
void tfs_rejected_drop(struct tfs_rejected *q, const char *path);
bool tfs_rejected_is_empty(const struct tfs_rejected *q);

/* Takes a rejected document, of which nothing is left where it is empty: 0 or negative. */
typedef int (*tfs_rejected_fn)(void *arg, const char *path, struct tfs_span bytes);

/* Gives all of them: 0, or why the first of those was lost that were. */
int tfs_rejected_each(const struct tfs_rejected *q, tfs_rejected_fn each, void *arg);

#endif
