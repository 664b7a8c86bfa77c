/*
 * The files of one scope of a tree (formats/format.h, struct tfs_schema): their paths, with
 * directories to any depth, taken apart. A scope's directories are numbered by enum tfs_directory
 * (node.h), in the order in which the paths name them, one before what is in it.
 *
 * Knows no document: what is there and what is not is the tree's.
 */
#ifndef TFS_FS_TREE_SCHEMA_H
#define TFS_FS_TREE_SCHEMA_H

#include "formats/format.h"

/* Does the file lie in the directory of that path, "" for the top one; or in one of those in it? */
bool tfs_schema_is_in(const struct tfs_file *file, struct tfs_span directory);
bool tfs_schema_is_below(const struct tfs_file *file, struct tfs_span directory);
/* "sky.txt" of "lights/sky.txt"; "lights" of "arrays/lights". */
const char *tfs_schema_file_name(const struct tfs_file *file);
struct tfs_span tfs_schema_name(struct tfs_span path);

struct tfs_schema_directory {
    unsigned number;      /* TFS_DIR_SUB + i */
    unsigned first;       /* the first file below it; those of one directory follow one another */
    struct tfs_span path; /* "arrays/lights" */
};

/* The next directory, the first one after {0}. */
bool tfs_schema_next(struct tfs_schema schema, struct tfs_schema_directory *at);
/* The path of a directory, "" for TFS_DIR_TOP; false when the files have none of this number. */
bool tfs_schema_directory(struct tfs_schema schema, unsigned number, struct tfs_span *path);
/* The directories' numbers are below this. */
unsigned tfs_schema_end(struct tfs_schema schema);
/* The directory that holds files[file], or another directory. */
unsigned tfs_schema_file_directory(struct tfs_schema schema, unsigned file);
unsigned tfs_schema_parent(struct tfs_schema schema, unsigned number);

#endif
