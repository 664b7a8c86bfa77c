/*
 * The files of one scope of a tree (formats/format.h, struct tfs_tree): their paths, with at most
 * one directory, taken apart. A scope's directories are numbered by enum tfs_directory (node.h).
 *
 * Knows no document: what is there and what is not is the tree's.
 */
#ifndef TFS_FS_SCHEMA_H
#define TFS_FS_SCHEMA_H

#include "formats/format.h"

struct tfs_schema {
    const struct tfs_file *files;
    unsigned count;
};

/* "lights" of "lights/sky.txt"; empty for a file of the top directory. */
struct tfs_span tfs_schema_directory_name(const struct tfs_file *file);
/* "sky.txt" of "lights/sky.txt". */
const char *tfs_schema_file_name(const struct tfs_file *file);
bool tfs_schema_same_directory(const struct tfs_file *a, const struct tfs_file *b);

/* Is files[i] the first file of its subdirectory? Those of one follow one another. */
bool tfs_schema_opens_directory(struct tfs_schema schema, unsigned i);
/* How many subdirectories the files have. */
unsigned tfs_schema_directory_count(struct tfs_schema schema);
/* The first file of the subdirectory `directory` (TFS_DIR_SUB + i); count when it is none. */
unsigned tfs_schema_directory_first(struct tfs_schema schema, unsigned directory);
/* The directory that holds files[file]: TFS_DIR_TOP or TFS_DIR_SUB + i. */
unsigned tfs_schema_file_directory(struct tfs_schema schema, unsigned file);
/* Does files[i] lie in the directory whose first file is files[first] (the top one needs none)? */
bool tfs_schema_lies_in(struct tfs_schema schema, unsigned directory, unsigned first, unsigned i);

#endif
