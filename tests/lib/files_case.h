/*
 * A save for tests: opened as the program opens it, or from bytes (tree_files.h), read and written
 * by the names of its files.
 *
 * Functions assert (check) what must not fail; what may fail returns the code and leaves the
 * sentence in c->err and the document as it was.
 */
#ifndef TFS_TESTS_FILES_CASE_H
#define TFS_TESTS_FILES_CASE_H

#include "tree_files.h"

/* Hex digits; everything else is skipped. To be released. */
struct tfs_buf files_hex(const char *text);

/* The whole file. To be released. */
struct tfs_buf files_read_file(const char *path);
void files_write_file(const char *path, struct tfs_span bytes);
/* Copies a file or a folder of them; the copy can be written. */
void files_copy(const char *from, const char *to);

int files_open(struct tree_files *c, const char *path);
int files_open_as(struct tree_files *c, const char *path, const char *format, enum tfs_lock lock);

/* A file of the chunk, "channels/type.txt", or with a null key's `group` UINT32_MAX of the root.
 * One that is absent gives data NULL. What size() says must be right. To be released. */
struct tfs_buf files_get(struct tree_files *c, struct tfs_key key, const char *name);
/* Is this text, byte for byte, what the file shows? */
bool files_shows(struct tree_files *c, struct tfs_key key, const char *name, const char *text);
/* Does the file hold this text? */
bool files_holds(struct tree_files *c, struct tfs_key key, const char *name, const char *text);

int files_put(struct tree_files *c, struct tfs_key key, const char *name, struct tfs_span text);
int files_put_text(struct tree_files *c, struct tfs_key key, const char *name, const char *text);
int files_remove(struct tree_files *c, struct tfs_key key, const char *name);
int files_create(struct tree_files *c, struct tfs_key key);
int files_move(struct tree_files *c, struct tfs_key from, struct tfs_key to);
int files_delete(struct tree_files *c, struct tfs_key key);

/* Puts the edits on disk. */
int files_commit(struct tree_files *c);

#define FILES_ROOT ((struct tfs_key){UINT32_MAX, 0, 0, 0})

#endif
