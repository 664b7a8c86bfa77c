/*
 * Where versions lie, and the list of what is in one: for undo/ and its tests only. The layout is
 * drawn in docs/journal.md, section 7.
 */
#ifndef TFS_FORMATS_UNDO_VERSIONS_H
#define TFS_FORMATS_UNDO_VERSIONS_H

#include "formats/undo/undo.h"

#define TFS_UNDO_LIST     "list"
#define TFS_UNDO_FILES    "files"
#define TFS_UNDO_GONE     ".gone"             /* behind a number: no version yet, or no more */
#define TFS_UNDO_VERSIONS 5                   /* of a save */
#define TFS_UNDO_BYTES    (UINT64_C(1) << 30) /* in all */

/* ---- directories and files (place.c) --------------------------------------------------------- */

/* The directory of a save's versions, to be freed; `make`: it is made if need be. 1; 0: there is
 * none yet. EPERM: something that is not ours is in its place. */
int tfs_undo_place(const char *save, const struct tfs_undo_options *options, bool make,
                   char **place, struct tfs_error *err);

/* "a/b", to be freed; NULL: no memory. */
char *tfs_undo_join(const char *a, const char *b);

/* Removes the oldest of all versions beside `place` until no more than so many bytes are kept, or
 * one version. */
void tfs_undo_limit(const char *place, uint64_t bytes);
/* Removes what killed programs left of versions of a save. */
void tfs_undo_sweep(const char *place);

/* Puts a copy of `from` in the place of `old` (fd -1: there is none), durably; `times`: with those
 * of `from`. */
int tfs_undo_copy_file(const struct tfs_file_handle *from, const char *target,
                       struct tfs_file_handle *old, struct tfs_keeper *keeper, bool times,
                       struct tfs_error *err);

/* ---- lists (versions.c) ---------------------------------------------------------------------- */

/* Begins an empty version, whose list is open in *fd. */
int tfs_version_begin(const char *save, const char *place, struct tfs_version *version, int *fd,
                      struct tfs_error *err);
/* Opens the list of one that goes on. */
int tfs_version_go_on(const struct tfs_version *version, int *fd, struct tfs_error *err);
int tfs_version_add(int fd, struct tfs_version *version, const char *path, struct tfs_undo_mark was,
                    struct tfs_error *err);
/* Notes that in the place of what is `present` comes a file with the mark `next`. */
int tfs_version_note(int fd, struct tfs_undo_file *file, struct tfs_undo_mark present,
                     struct tfs_undo_mark next, struct tfs_error *err);
void tfs_version_release(struct tfs_version *version);

struct tfs_undo_file *tfs_version_find(const struct tfs_version *version, const char *path);
/* Where a file was kept, and where it belongs; to be freed. */
char *tfs_version_kept(const struct tfs_version *version, const char *path);
char *tfs_undo_target(const char *save, enum tfs_undo_kind kind, const char *path);

struct tfs_undo_mark tfs_undo_mark_of(const struct stat *st);
bool tfs_undo_mark_same(struct tfs_undo_mark a, struct tfs_undo_mark b);
/* What is at the place of a file now. */
struct tfs_undo_mark tfs_undo_present(const char *save, const struct tfs_version *version,
                                      const struct tfs_undo_file *file);
/* Did we put that there? `or_was`: or is it what was kept? */
bool tfs_undo_is_ours(const struct tfs_undo_file *file, struct tfs_undo_mark present, bool or_was);
/* Is a file where the version wants it? `redo`: what an undo of it kept that was cut, or NULL. */
bool tfs_version_is_back(const char *save, const struct tfs_version *version,
                         const struct tfs_version *redo, const struct tfs_undo_file *file);
#endif
