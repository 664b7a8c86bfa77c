/*
 * A folder that is no save -> which of its entries is one: for the sentences of tfs_container.hint.
 */
#ifndef TFS_FORMATS_ADVICE_H
#define TFS_FORMATS_ADVICE_H

#include <sys/stat.h>

#include "base/error.h"

/* Is the entry at this path meant: 1, 0 or -ENOMEM? */
typedef int (*tfs_meant_fn)(const char *path);

/* Entries of a folder. */
struct tfs_first {
    char *name;   /* the first by name, to be freed; NULL: there is none */
    size_t count; /* how many there are */
};

/* Finds those of a folder that are of a kind (S_IFDIR or S_IFREG, links are neither) and meant. A
 * folder that cannot be read has none. 0 or -ENOMEM. */
int tfs_first_find(const char *folder, mode_t kind, tfs_meant_fn is_meant, struct tfs_first *first);

/* Fails with a sentence, in which `text` has %s for the first one, where there is such an entry and
 * err is empty: err->code. */
int tfs_advise(const char *folder, mode_t kind, tfs_meant_fn is_meant, const char *text,
               struct tfs_error *err);

#endif
