/*
 * What cannot go into a save -> a directory NAME.KIND-DATE/ beside it; where none can be made
 * there, or people pack and pass on what is beside it, below the place where programs keep their
 * state. git ignores what is in it.
 */
#ifndef TFS_FORMATS_APART_H
#define TFS_FORMATS_APART_H

#include "formats/format.h"

struct tfs_apart; /* a directory that is being filled */

/* Stores a file under a path in it: 0 or negative. */
int tfs_apart_add(struct tfs_apart *apart, const char *path, struct tfs_span bytes);
/* The same of what an open file holds. */
int tfs_apart_copy(struct tfs_apart *apart, const char *path, int fd);

/* Adds all that is to be stored: 0, or why the first of it could not be. May be called twice, for
 * another directory. */
typedef int (*tfs_apart_fill)(void *arg, struct tfs_apart *apart);

/* 0: all of it is in *directory (malloc'ed), durable. Negative: nowhere is all of it; *directory is
 * NULL then, or has a `part` of it. */
int tfs_apart_store(const struct tfs_save *save, const char *kind, bool part, tfs_apart_fill fill,
                    void *arg, char **directory);

#endif
