/*
 * A Godot Voxel save on disk for tests: opened as the program opens it, read and written by file
 * name.
 *
 * Functions assert (check) what must not fail; what may fail returns the code and leaves the
 * sentence in c->err and the document as it was.
 */
#ifndef TFS_TESTS_GODOT_CASE_H
#define TFS_TESTS_GODOT_CASE_H

#include "formats/format.h"

struct godot_case {
    struct tfs_save *save;
    struct tfs_doc *doc; /* with the edits that were not committed */
    struct tfs_error err;
    unsigned options; /* of puts */
    bool fresh;       /* of puts */
};

/* Hex digits; everything else is skipped. To be released. */
struct tfs_buf godot_hex(const char *text);

/* The whole file. To be released. */
struct tfs_buf godot_read_file(const char *path);
void godot_write_file(const char *path, struct tfs_span bytes);
/* Copies a file or a folder of them; the copy can be written. */
void godot_copy(const char *from, const char *to);

int godot_open(struct godot_case *c, const char *path);
int godot_open_as(struct godot_case *c, const char *path, const char *format, enum tfs_lock lock);
void godot_close(struct godot_case *c);

/* A file of the chunk, "channels/type.txt", or with a null key's `group` UINT32_MAX of the root.
 * One that is absent gives data NULL. What size() says must be right. To be released. */
struct tfs_buf godot_get(struct godot_case *c, struct tfs_key key, const char *name);
/* Is this text, byte for byte, what the file shows? */
bool godot_shows(struct godot_case *c, struct tfs_key key, const char *name, const char *text);
/* Does the file hold this text? */
bool godot_holds(struct godot_case *c, struct tfs_key key, const char *name, const char *text);

int godot_put(struct godot_case *c, struct tfs_key key, const char *name, struct tfs_span text);
int godot_put_text(struct godot_case *c, struct tfs_key key, const char *name, const char *text);
int godot_remove(struct godot_case *c, struct tfs_key key, const char *name);
int godot_create(struct godot_case *c, struct tfs_key key);
int godot_move(struct godot_case *c, struct tfs_key from, struct tfs_key to);
int godot_delete(struct godot_case *c, struct tfs_key key);

/* Puts the edits on disk. */
int godot_commit(struct godot_case *c);

#define GODOT_ROOT ((struct tfs_key){UINT32_MAX, 0, 0, 0})

#endif
