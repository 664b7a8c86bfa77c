/*
 * A file that a command leaves beside what it was asked for: a table of conflicts, a picture. It
 * comes into being whole, and takes the place of an older one of its kind alone.
 */
#ifndef TFS_COMMANDS_OUTPUT_H
#define TFS_COMMANDS_OUTPUT_H

#include <limits.h>

#include "base/file.h"

/* The first bytes of such files, and their name in sentences: "a PNG". */
struct tfs_output_kind {
    const char *name;
    struct tfs_span begins;
};

struct tfs_output {
    struct tfs_replacement file; /* file.sink is where to write */
    struct tfs_file_handle old;  /* fd -1: there was none */
    bool open;
};

#define TFS_OUTPUT_PATH (2 * PATH_MAX)

/* Resolves all links in the directory of the path. The sentence of a failure names the path.
 * EINVAL: the file would not last, or the path names no file. */
int tfs_output_resolve(const char *path, char out[TFS_OUTPUT_PATH], struct tfs_error *err);

/* A new file may be read by those that may read `like`. EEXIST: something else is there; a link is,
 * too. */
int tfs_output_open(const char *path, const struct tfs_output_kind *kind, const struct stat *like,
                    struct tfs_output *out, struct tfs_error *err);
/* Writes all of it to disk, in the temp file. */
int tfs_output_settle(struct tfs_output *out, struct tfs_error *err);
int tfs_output_finish(struct tfs_output *out, struct tfs_error *err);
void tfs_output_cancel(struct tfs_output *out); /* nothing when it is not open */

/* Removes an older file of that kind; anything else stays. */
int tfs_output_remove(const char *path, const struct tfs_output_kind *kind, struct tfs_error *err);

#endif
