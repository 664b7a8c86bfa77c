/*
 * A folder that is no save itself but holds several, as a game's world does.
 */
#ifndef TFS_FORMATS_CONTAINERS_SEVERAL_SAVES_H
#define TFS_FORMATS_CONTAINERS_SEVERAL_SAVES_H

#include "formats/format.h"

struct tfs_part {
    char *path; /* where it is shown: "zones/base/earth" */
    char *save; /* where it lies: a path to be opened */
};

/* The saves that a folder holds. */
struct tfs_parts {
    struct tfs_part *items; /* sorted by path, which is none the beginning of another */
    size_t count;
    const char *format;
    const char *file; /* a file of the folder that is shown beside them, as it is; NULL: none */
    char *left_out;   /* a sentence about the first that is not listed, and why; NULL: none is */
};

/* Sets *parts to what the folder at `path` holds; a save, and what is none, hold nothing (count 0).
 * `format` as for tfs_save_open. To be released behind success. */
int tfs_parts_find(const char *path, const char *format, struct tfs_parts *parts,
                   struct tfs_error *err);
void tfs_parts_release(struct tfs_parts *parts);

/* What is shown beside them, to be read: info.txt, which names them, and parts->file. NULL behind
 * the last. */
const char *tfs_parts_file(const struct tfs_parts *parts, size_t i);
/* The bytes of one of these; NULL when it cannot be read. */
int tfs_parts_read_file(const char *folder, const struct tfs_parts *parts, const char *file,
                        struct tfs_blob **bytes, struct tfs_error *err);

/* For containers: adds a save. Takes `path` and `save` over, also on failure; NULL: no memory. */
int tfs_parts_add(struct tfs_parts *parts, char *path, char *save, struct tfs_error *err);

#endif
