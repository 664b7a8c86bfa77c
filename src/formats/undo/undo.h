/*
 * The files that the first commit of a mount or command replaces -> a generation in the user's
 * state directory, and back (docs/undo.md).
 *
 * A save that is opened to be written has a keeper. It hears of every file before another one
 * takes its place. That costs a close a hard link; copies are made by a thread of its own. A file
 * that cannot be kept keeps no save from being written: the generation goes, and a notice says so.
 */
#ifndef TFS_FORMATS_UNDO_UNDO_H
#define TFS_FORMATS_UNDO_UNDO_H

#include "base/file.h"

enum tfs_undo_kind { TFS_UNDO_FILE, TFS_UNDO_FOLDER, TFS_UNDO_DATABASE, TFS_UNDO_KINDS };

enum tfs_undo_when {
    TFS_UNDO_NEVER,
    TFS_UNDO_MOUNT,   /* the first commit begins a generation */
    TFS_UNDO_COMMAND, /* so it does, when the last generation is older than ten minutes */
    TFS_UNDO_REDO,    /* `undo` itself */
};

struct tfs_undo_options {
    enum tfs_undo_when when;
    const char *directory; /* that of the generations, absolute; NULL: the usual one */
    bool databases;        /* keep copies of these too */
    unsigned undoes;       /* REDO: the number of the generation that is brought back */
    const uint64_t *runs; /* REDO: whose changes it has, so that saves go together; or NULL: ours */
    size_t run_count;
    int64_t time; /* with `runs`: when they changed it */
    bool must;    /* what cannot be kept is not replaced */
};

/* The keeper of the save at `path`, which is absolute; options->directory must stay. */
int tfs_undo_open(const char *path, enum tfs_undo_kind kind, const struct tfs_undo_options *options,
                  struct tfs_keeper **keeper, struct tfs_error *err);
/* Waits until all copies are made. NULL is legal in the functions from here on. */
void tfs_undo_finish(struct tfs_keeper *keeper);
/* Finishes and frees it. To be called when the save is closed. */
void tfs_undo_close(struct tfs_keeper *keeper);

/* A file that a commit put in its place before it was cut. */
struct tfs_undo_wrote {
    char *path;
    struct stat st; /* all 0: it removed the file */
};

/* What a process left undone when it was killed. */
struct tfs_undo_cut {
    uint32_t run; /* which process (base/journal.h) */
    bool half;    /* it may have written some files of a commit, and not the others */
    const struct tfs_undo_wrote *wrote;
    size_t count;
};

/* That is about to be done: what it replaces enters the last generation, if that process began it
 * and left the save as it is; else one of its own. Only what completes half of a commit is kept
 * nowhere then: the half must not come back. */
void tfs_undo_resume(struct tfs_keeper *keeper, const struct tfs_undo_cut *cut);
/* That is done: the next commit enters a generation as if nothing had been kept yet. */
void tfs_undo_leave(struct tfs_keeper *keeper);

/* A commit is about to replace this file among others, and has replaced none of them yet: if
 * another program changed it since, a generation begins that has all of the commit. */
void tfs_undo_expect(struct tfs_keeper *keeper, const char *path);

/* Once a sentence why the version before the edits is not kept: whether there is one. */
bool tfs_undo_notice(struct tfs_keeper *keeper, char notice[TFS_ERROR_TEXT]);

/* A database is about to be changed in place: `copy` makes a file of that name that holds all it
 * held. Fails only where it must. */
typedef int (*tfs_undo_copy_fn)(void *arg, const char *target, struct tfs_error *err);
int tfs_undo_copy(struct tfs_keeper *keeper, const char *path, const struct stat *now,
                  tfs_undo_copy_fn copy, void *arg, struct tfs_error *err);

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Which file it was: also behind a link and a rename. All 0: there was none. */
struct tfs_undo_mark {
    uint64_t ino;
    int64_t size;
    struct timespec mtime;
};

/* A file of a generation. */
struct tfs_undo_file {
    char *path; /* of a folder: in it; else in the directory of the save */
    struct tfs_undo_mark was;
    struct tfs_undo_mark left; /* what we put in its place last */
    bool replaced;             /* `left` is known */
};

struct tfs_generation {
    unsigned number; /* grows */
    enum tfs_undo_kind kind;
    int64_t time; /* when it began, seconds */
    unsigned undoes;
    uint64_t run;   /* the process that made it, or joined it last (base/journal.h); 0: not known */
    uint64_t *runs; /* all of these processes */
    size_t run_count;
    char *save;      /* the path that the save had */
    char *directory; /* of its files; they have their paths below it */
    struct tfs_undo_file *files;
    size_t count;
};

/* All generations of one save, from the newest to the oldest. */
struct tfs_generations {
    struct tfs_generation *items;
    size_t count;
    int base;       /* the directory of all saves; -1: there is none */
    int own;        /* that of this save; -1 */
    bool gone;      /* there is no save */
    bool elsewhere; /* it had another path when they were kept */
    char *earlier;  /* the files of the newest generation of another save that had the path; NULL */
};

#define TFS_GENERATIONS_NONE                                                                       \
    {                                                                                              \
        NULL, 0, -1, -1, false, false, NULL                                                        \
    }

/* What an undo brings back that was kept under another path has no number at the path of now. */
#define TFS_UNDO_ELSEWHERE 999999999u

/* The number for tfs_undo_options.undoes. */
unsigned tfs_undo_undoes(const struct tfs_generations *list,
                         const struct tfs_generation *generation);

/* Those of the save at `path`, or of what it was before it was renamed. None is no failure. */
int tfs_undo_read(const char *path, const struct tfs_undo_options *options,
                  struct tfs_generations *list, struct tfs_error *err);
void tfs_generations_release(struct tfs_generations *list);

/* The file that is the save itself; NULL: none is, as in a folder. An undo keeps in the reverse
 * order, so that it need not be the first. */
const struct tfs_undo_file *tfs_generation_own(const struct tfs_generation *generation);

/* Bytes of its files. */
uint64_t tfs_generation_size(const struct tfs_generation *generation);

/* ---- going back ------------------------------------------------------------------------------ */

/* Does an undo with these keep nothing of what it replaces? */
bool tfs_undo_is_unkept(const struct tfs_undo_options *options, bool force);

/* Puts the files of the newest generation into their places; what they replace is a new generation
 * that takes its place (tfs_undo_is_unkept: it is lost). What cannot be kept is not replaced. The
 * save, a file or a folder, is locked meanwhile. *files: how many were put back, also of those
 * before one that failed. A cut at any moment leaves each file old or new, and the next call
 * finishes. ENOENT: nothing is kept; ESTALE: another program changed the save since, and not
 * `force`. */
int tfs_undo_swap(const char *path, const struct tfs_undo_options *options, bool force,
                  size_t *files, struct tfs_error *err);

/* Would that be refused, as the save is now? What shows while files are written (room, limits) is
 * not asked. It is locked meanwhile, and nothing changed. */
int tfs_undo_ask(const char *path, const struct tfs_undo_options *options, bool force,
                 struct tfs_error *err);

/* The generation that is brought back next: the newest, or the one that an undo which was cut was
 * about to bring back; *redo is what that one kept, or NULL. Of a save that was deleted the newest
 * that has it. NULL: there is none. */
const struct tfs_generation *tfs_undo_next(const struct tfs_generations *list,
                                           const struct tfs_generation **redo);

/* For a database, whose save is put back by its container: is that generation whole, and the
 * database as we left it? And removes the generation. */
int tfs_undo_may(const char *path, const struct tfs_generations *list, bool force,
                 struct tfs_error *err);
void tfs_undo_forget(const struct tfs_generations *list);

/* Makes two folders with the files of that generation of a folder, as they are now and as
 * they were then, and with the small files at its top: a comparison of the two finds what differs
 * between the whole folders. *now and *then: their paths, to be freed, after tfs_undo_clear. */
int tfs_undo_spread(const char *path, const struct tfs_generations *list, char **now, char **then,
                    struct tfs_error *err);
void tfs_undo_clear(const struct tfs_generations *list);

#endif
