/*
 * What a commit replaces -> a version of the save in the user's state directory, and back
 * (docs/journal.md, section 7).
 *
 * A save that is opened to be written has a keeper. It hears of every file before another one
 * takes its place, and gives the old one a second name, or copies it. A file that cannot be kept
 * keeps no save from being written: the version goes, and a notice says so.
 */
#ifndef TFS_FORMATS_UNDO_UNDO_H
#define TFS_FORMATS_UNDO_UNDO_H

#include "base/file.h"

enum tfs_undo_when {
    TFS_UNDO_NEVER,
    TFS_UNDO_MOUNT,   /* the first commit begins a version */
    TFS_UNDO_COMMAND, /* so it does, when the newest version is older than ten minutes */
};

struct tfs_undo_options {
    enum tfs_undo_when when;
    const char *directory; /* that of the versions, absolute; NULL: the usual one */
    bool databases;        /* keep copies of these, too */
    unsigned undoes;       /* not 0, of `undo` itself: the number of the version that it brings
                            * back; what cannot be kept is not replaced then */
};

/* ---- keeping --------------------------------------------------------------------------------- */

/* The keeper of the save at `path`, which is absolute; that and options->directory must stay. It is
 * for one thread at a time. NULL is legal in the functions from here on. */
int tfs_undo_open(const char *path, const struct tfs_undo_options *options,
                  struct tfs_keeper **keeper, struct tfs_error *err);
void tfs_undo_close(struct tfs_keeper *keeper);

/* A commit is about to replace files. If another program changed one that we wrote, it begins a
 * version, which has all of the commit. */
void tfs_undo_begin(struct tfs_keeper *keeper);

/* What is written from now on, the edits of a journal and then other edits, begins a version.
 * `written`: a file that has its edits of a commit that was cut already, NULL: none has. The
 * version of that commit goes on, because half of a commit must not come back, and without that one
 * nothing is kept. */
void tfs_undo_apart(struct tfs_keeper *keeper, const char *written);

/* Makes what was kept durable, and keeps the limits; what was noted is durable at the end. Once a
 * sentence why the version before the edits is not kept: whether there is one. */
bool tfs_undo_settle(struct tfs_keeper *keeper, char notice[TFS_ERROR_TEXT]);

/* A database is about to be changed in place: `copy` makes a file of that name that holds all it
 * held. Fails only for an undo. */
typedef int (*tfs_undo_copy_fn)(void *arg, const char *target, struct tfs_error *err);
int tfs_undo_copy(struct tfs_keeper *keeper, const char *path, const struct stat *now,
                  tfs_undo_copy_fn copy, void *arg, struct tfs_error *err);
/* It was changed. */
void tfs_undo_wrote(struct tfs_keeper *keeper, const char *path, const struct stat *now);

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Which file it is, as the list has it. 0: not known, as what a power cut leaves of a list. */
#define TFS_UNDO_NO_FILE UINT64_MAX /* the inode: there is none */
struct tfs_undo_mark {
    uint64_t inode, size;
    int64_t seconds, nanoseconds; /* of its last change */
};

struct tfs_undo_file {
    struct tfs_undo_mark was;
    struct tfs_undo_mark wrote[2]; /* what we put in its place: noted before it is there, so that
                                    * the one before is known, too */
    char *path;                    /* in the directory of the save */
    int64_t at;                    /* of its line in the list */
};

struct tfs_version {
    unsigned number; /* grows */
    char *path;      /* of its directory */
    int64_t time;    /* when it was made, seconds */
    unsigned undoes; /* of an undo: the number of the version that it brought back; else 0 */
    struct tfs_undo_file *files;
    size_t count;
    int64_t end; /* of the list */
};

/* All versions of one save, from the newest to the oldest. */
struct tfs_versions {
    char *place; /* their directory */
    struct tfs_version *items;
    size_t count;
    size_t unread;   /* versions of 0.1, or damaged ones: their files are there */
    unsigned number; /* the highest one of all these */
    /* What is brought back next: the newest that differs from the save, or the one that an undo
     * which was cut was about to bring back. NULL: there is none. */
    const struct tfs_version *next;
};

/* None is no failure. `make`: their directory is made. */
int tfs_versions_read(const char *path, const struct tfs_undo_options *options, bool make,
                      struct tfs_versions *list, struct tfs_error *err);
void tfs_versions_release(struct tfs_versions *list);

/* Bytes of the files that it kept. */
uint64_t tfs_version_size(const struct tfs_version *version);
/* Where a file was kept; to be freed. */
char *tfs_version_kept(const struct tfs_version *version, const char *path);

/* ---- going back ------------------------------------------------------------------------------ */

/* Is the save as we left it? ESTALE: it is not, and there is no `force`. */
int tfs_undo_check(const char *path, const struct tfs_versions *list, bool force,
                   struct tfs_error *err);

/* Puts the files of the next version into their places; what they replace is a new version that
 * takes its place. The save, a file or a folder, is locked meanwhile. A cut at any moment leaves
 * each file old or new, and the next call finishes. ENOENT: nothing is kept. The container of a
 * database does the same, and removes the version. */
int tfs_undo_swap(const char *path, const struct tfs_undo_options *options, bool force,
                  struct tfs_error *err);
/* False: it is still there. */
bool tfs_undo_remove(const char *version);

#endif
