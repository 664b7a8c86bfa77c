/*
 * Where versions lie, and the list of what is in one: for undo/ and its tests only. The layout is
 * drawn in docs/journal.md, section 7.
 */
#ifndef TFS_FORMATS_UNDO_VERSIONS_H
#define TFS_FORMATS_UNDO_VERSIONS_H

#include "formats/undo/undo.h"

#define TFS_UNDO_LIST     "list"
#define TFS_UNDO_FILES    "files"
#define TFS_UNDO_VERSIONS 5                   /* of a save */
#define TFS_UNDO_BYTES    (UINT64_C(1) << 30) /* in all */

/* ---- directories and files (place.c) --------------------------------------------------------- */

/* The directory of a save's versions, to be freed; `make`: it is made if need be. ENOENT: there is
 * none. EPERM: something that is not ours is in its place. */
int tfs_undo_place(const char *save, const struct tfs_undo_options *options, bool make,
                   char **place, struct tfs_error *err);

/* Removes the oldest of all versions of all saves, of which this is one, until no more than so many
 * bytes are kept, or one version. */
void tfs_undo_limit(const char *version, uint64_t bytes);
/* Makes durable which names are in the directory of a version, below it, and above it. */
void tfs_undo_sync(const char *version);

/* Puts a copy of `from` in the place of `old` (fd -1: there is none), durably. */
int tfs_undo_copy_file(const struct tfs_file_handle *from, const char *target,
                       struct tfs_file_handle *old, struct tfs_keeper *keeper,
                       struct tfs_error *err);

/* ---- lists (versions.c) ---------------------------------------------------------------------- */

/* Makes the directory of an empty version. */
int tfs_version_make(const char *place, unsigned number, unsigned undoes,
                     struct tfs_version *version, struct tfs_error *err);
/* Opens the list. */
int tfs_version_open(const struct tfs_version *version, int *fd, struct tfs_error *err);
int tfs_version_add(int fd, struct tfs_version *version, const char *path, struct tfs_undo_mark was,
                    struct tfs_error *err);
/* Notes that in the place of what is `present` comes a file with the mark `next`. */
int tfs_version_note(int fd, struct tfs_undo_file *file, struct tfs_undo_mark present,
                     struct tfs_undo_mark next, struct tfs_error *err);
void tfs_version_release(struct tfs_version *version);

struct tfs_undo_file *tfs_version_find(const struct tfs_version *version, const char *path);
/* The first of its files in whose place is neither what was kept nor what we wrote there, in this
 * version or in `redo`, that of an undo that was cut (NULL: none was); NULL: there is none. */
const struct tfs_undo_file *tfs_version_foreign(const char *save, const struct tfs_version *version,
                                                const struct tfs_version *redo);

/* Where a file of a version belongs; to be freed. */
char *tfs_undo_target(const char *save, const char *path);
/* NULL: of no file. */
struct tfs_undo_mark tfs_undo_mark_of(const struct stat *st);
bool tfs_undo_mark_same(struct tfs_undo_mark a, struct tfs_undo_mark b);
/* Is what was kept in the place of the file? */
bool tfs_undo_is_back(const char *save, const struct tfs_undo_file *file);
#endif
