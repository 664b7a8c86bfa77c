/*
 * What could not be saved -> the directory NAME.unsaved-DATE/ beside the save; or where programs
 * keep their state, when there is no room beside it, what is there is given to others, or an
 * earlier one is there already. git ignores what is in it. What an earlier mount stored is found.
 */
#ifndef TFS_FORMATS_UNSAVED_H
#define TFS_FORMATS_UNSAVED_H

#include <sys/types.h>

#include "formats/format.h"

struct tfs_unsaved; /* a directory being filled */

/* For whom it is made. */
struct tfs_unsaved_for {
    const char *path; /* of the save */
    const char *name; /* its last component */
    uid_t uid;        /* its owner, who may read what root keeps */
    gid_t gid;
    bool elsewhere; /* beside the save only where there is no other place (tfs_facts.shipped) */
    bool whole;     /* a journal has it: where not all can be stored, no new directory stays */
};

struct tfs_unsaved_for tfs_unsaved_whose(const struct tfs_save *save);

/* Stores (or looks for) one file under a path of the tree, or below `later/` where that is taken by
 * what an earlier call stored, unless that has the same bytes: 0 or negative. */
int tfs_unsaved_add(struct tfs_unsaved *unsaved, const char *path, struct tfs_span bytes);

/* Gives all that is to be stored to tfs_unsaved_add: 0, or why the first of those could not be
 * stored that could not. May be called once more, for another directory. */
typedef int (*tfs_unsaved_fill)(void *arg, struct tfs_unsaved *unsaved);

/* 0, or negative when not all of it is there, durable; also when `fill` gave nothing. *directory:
 * where it is, malloc'ed; NULL: nowhere. One that an earlier call gave back is filled further if it
 * is at the place that comes first, and stays where nothing of what is `whole` could be stored. */
int tfs_unsaved_store(const struct tfs_unsaved_for *save, tfs_unsaved_fill fill, void *arg,
                      char **directory);

/* The directory of an earlier mount that has every file which `fill` gives, with the same bytes,
 * and durable: malloc'ed. NULL: there is none. */
char *tfs_unsaved_find(const struct tfs_unsaved_for *save, tfs_unsaved_fill fill, void *arg);

#endif
