/*
 * A save and its document, with files by path: what tests of lenses need. A save of one file
 * (formats/containers/file.h) is opened from bytes with its codec and the tree, without a disk;
 * those on disk open with files_case.h.
 */
#ifndef TFS_TESTS_TREE_FILES_H
#define TFS_TESTS_TREE_FILES_H

#include "formats/format.h"

struct tree_files {
    struct tfs_save *save;
    struct tfs_doc *doc;  /* with the edits that were not committed */
    bool in_memory;       /* the save is bytes, not a file */
    struct tfs_put how;   /* of puts: `fresh`, `options` and `original` */
    struct tfs_error err; /* of the last call */
};

/* Decodes; 0 or negative. `path` is what the save's path is said to be. */
int tree_files_open(struct tree_files *t, const struct tfs_container *container, const char *path,
                    struct tfs_span bytes);
void tree_files_close(struct tree_files *t);

/* Encodes the document. Aborts when that fails. */
void tree_files_encode(struct tree_files *t, struct tfs_buf *out);

bool tree_files_has(struct tree_files *t, const char *path);
bool tree_files_writable(struct tree_files *t, const char *path);

/* An edit of the document; what it made becomes the document unless `result` is negative. Returns
 * `result`, which must be what t->err says. */
void tree_files_begin(struct tree_files *t, struct tfs_edit *edit);
int tree_files_end(struct tree_files *t, struct tfs_edit *edit, int result);

/* Appends the file's bytes, and aborts when their number is not what the lens said. ENOENT. */
int tree_files_get(struct tree_files *t, const char *path, struct tfs_buf *out);

/* Puts a text; the document stays as it is when it is refused. */
int tree_files_put(struct tree_files *t, const char *path, struct tfs_span text);

/* Calls `each` with the path of every file, in the order of listings. */
void tree_files_walk(struct tree_files *t, void (*each)(void *arg, const char *path), void *arg);

#endif
