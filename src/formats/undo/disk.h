/*
 * Where generations lie, and the files that say what is in one: for undo/ and its tests only. The
 * layout is drawn in docs/undo.md.
 */
#ifndef TFS_FORMATS_UNDO_DISK_H
#define TFS_FORMATS_UNDO_DISK_H

#include <dirent.h>

#include "base/buf.h"
#include "formats/undo/undo.h"

#define TFS_UNDO_MANIFEST "manifest"
#define TFS_UNDO_LEFT     "left"
#define TFS_UNDO_FILES    "files"

struct tfs_undo_limits {
    size_t generations; /* of a save */
    uint64_t bytes;     /* in all */
    size_t saves;
};

extern const struct tfs_undo_limits tfs_undo_limits;

/* ---- places (place.c) ------------------------------------------------------------------------ */

struct tfs_undo_place {
    int base, own;  /* directories; -1 */
    char *own_path; /* of `own` */
};

/* The directory of a save's generations; `make`: it is made if need be. 1: there is one, 0: there
 * is none yet. EPERM: something that is not ours is in its place. */
int tfs_undo_place_open(const char *path, const struct tfs_undo_options *options, bool make,
                        struct tfs_undo_place *place, struct tfs_error *err);
void tfs_undo_place_close(struct tfs_undo_place *place);

/* Opens or makes a directory of ours in `parent`: not a link, nobody else may write to it. */
int tfs_undo_directory(int parent, const char *name, bool make, struct tfs_error *err);

/* What an open directory is called; to be freed. NULL: no memory. */
char *tfs_undo_path_of(int fd);

/* Room for the name of the directory in which the generations of a save lie. */
#define TFS_UNDO_NAME 256

/* Numbers in `own`, ascending; to be freed with free(). */
int tfs_undo_numbers(int own, unsigned **numbers, size_t *count, struct tfs_error *err);

/* Makes the directories of a relative path below `top`. */
int tfs_undo_parents(int top, const char *path);
/* Removes a directory and all that is in it. */
void tfs_undo_remove(int parent, const char *name);

/* Where a file of the generation belongs, of the save that is at `save` now; to be freed. */
char *tfs_undo_target(const char *save, const struct tfs_generation *generation, const char *path);

struct tfs_undo_mark tfs_undo_mark_of(const struct stat *st);
bool tfs_undo_mark_same(struct tfs_undo_mark a, struct tfs_undo_mark b);

/* Copies what `from` holds to the file `to` in `directory`, durably, with times and permissions of
 * `like`: through a file beside it, so that it is whole or not there. */
int tfs_undo_copy_file(int from, const struct stat *like, int directory, const char *to,
                       struct tfs_error *err);

/* ---- manifests (manifest.c) ------------------------------------------------------------------ */

void tfs_manifest_head(const struct tfs_generation *generation, struct tfs_buf *out);
void tfs_manifest_run(uint64_t run, struct tfs_buf *out);
void tfs_manifest_file(const struct tfs_undo_file *file, struct tfs_buf *out);
/* Writes that the file with this number was replaced by one that is `left`. */
int tfs_undo_note_left(int fd, size_t number, struct tfs_undo_mark left);

/* Reads a generation: 1; 0: there is none that can be used. */
int tfs_generation_read(int own, const char *own_path, unsigned number,
                        struct tfs_generation *generation, struct tfs_error *err);
void tfs_generation_release(struct tfs_generation *generation);
/* Is that directory one that its maker did not come to fill, or that is being removed? What cannot
 * be read for any other reason may be a generation. */
bool tfs_generation_is_none(int own, unsigned number);

/* ---- generations of a save (read.c) ---------------------------------------------------------- */

/* Is the generation whole, and (unless `force`) the save as we left it? `redo`: the generation of
 * an undo that was cut, or NULL; files in it are done. EBADMSG, ESTALE. */
int tfs_undo_check(const char *path, const struct tfs_generation *generation,
                   const struct tfs_generation *redo, bool force, struct tfs_error *err);
/* What is at a path; all 0: nothing. */
struct tfs_undo_mark tfs_undo_mark_at(const char *path);

/* ---- caps (prune.c) -------------------------------------------------------------------------- */

/* Removes the oldest generations until all are within the limits; does nothing while `undo` works
 * there. */
void tfs_undo_prune(int base, const struct tfs_undo_limits *limits);

#endif
