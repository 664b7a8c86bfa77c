/*
 * What `import` finds in a directory: the names of the tree that are there, one scope at a time.
 */
#ifndef TFS_CLI_IMPORT_H
#define TFS_CLI_IMPORT_H

#include "cli.h"

/* What `import --delete` would make of the save, which stays as it is: a document, a reference.
 * Says what it refuses. */
enum tfs_status tfs_import_read(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                struct tfs_doc **doc);

/* One name of the tree in DIR. */
struct tfs_found {
    struct tfs_node node;
    char *path; /* to be opened, and for sentences */
};

struct tfs_found_list {
    struct tfs_found *items;
    size_t count;
};

void tfs_found_release(struct tfs_found_list *list);

/* Appends what DIR's directory `path` holds of the scope whose top directory is `top`: its files,
 * also those in subdirectories, in schema order; and the directories of chunks and groups, which
 * are not entered. Names that mean nothing are said on stderr; those that begin with a dot are not.
 */
enum tfs_status tfs_found_scan(struct tfs_cli *cli, struct tfs_save *save,
                               const struct tfs_doc *doc, const struct tfs_node *top,
                               const char *path, struct tfs_found_list *list);

/* Appends the chunk directories below chunks/ of `path`, which is that of `holder`; chunks that the
 * save lacks are nodes with TFS_SLOT_NONE. */
enum tfs_status tfs_found_chunks(struct tfs_cli *cli, const struct tfs_doc *doc,
                                 const struct tfs_node *holder, const char *path,
                                 struct tfs_found_list *list);

/* By key. */
void tfs_found_sort_chunks(struct tfs_found_list *list);

#endif
