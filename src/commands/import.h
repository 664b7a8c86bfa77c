/*
 * What the parts of `import` share: the files of the tree that are in DIR (import_scan.c), what
 * they say (import_views.c), chunks (import_chunks.c), files of the root (import_roots.c), what DIR
 * lacks (import_delete.c).
 */
#ifndef TFS_COMMANDS_IMPORT_H
#define TFS_COMMANDS_IMPORT_H

#include "commands/cli.h"
#include "commands/manifest.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* What `import --all --delete` would make of the save, which stays as it is: a document, a
 * reference. Of two views that contradict each other the edited one is true. Says what it
 * refuses. Not `whole`: the export lacked something that it could not show, as is said, and the
 * document has that as the save has it. */
enum tfs_status tfs_import_read(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                struct tfs_doc **doc, bool *whole);

/* One name of the tree in DIR. */
struct tfs_found {
    struct tfs_node node;
    char *path;    /* to be opened, and for sentences */
    bool left_out; /* it contradicts another one: nothing of it is taken */
    bool in_sync;  /* a chunk whose raw.bin reads like the save */
    bool waits;    /* one of the root that was refused: it is put again after all others
                    * were */
    bool taken;    /* a file of the root: what it says has to be true in the end */
    bool array;    /* it is in arrays/, and never taken */
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
/* The chunk in a sorted list; NULL: DIR lacks it. */
struct tfs_found *tfs_found_chunk(const struct tfs_found_list *list, struct tfs_key key);

/* ---- edits that were set aside --------------------------------------------------------------- */

/* In such a directory: files that stand for what was removed. */
#define TFS_ASIDE_REMOVED "deleted"
#define TFS_ASIDE_DEPTH   16 /* of directories in it */

/* Is it one, or a part of one? */
bool tfs_aside_is(const char *dir);
/* Is this what such a directory has beside files of the tree? */
bool tfs_aside_name(const char *name);
/* Refuses --delete. */
enum tfs_status tfs_aside_check(struct tfs_cli *cli, const char *dir);
/* Says what in it is not taken: BAD, if that may be edits. */
enum tfs_status tfs_aside_tell(struct tfs_cli *cli, const char *dir);

/* ---- the import ------------------------------------------------------------------------------ */

/* What one pass over DIR took. */
struct tfs_import_counts {
    size_t files, added, removed;
    size_t untouched; /* files that differ from the save, that nobody touched since the export, and
                       * that contradict nothing: what --all would take */
    size_t outdated;  /* such files that contradict a touched one */
    size_t unknown;   /* what DIR lacks because the export could not show it, or the save got it */
    size_t gained;    /* what DIR lacks because the save got it since the export */
};

struct tfs_import {
    struct tfs_cli *cli;
    struct tfs_save *save;
    const char *dir;
    struct tfs_manifest manifest;
    unsigned views; /* which files of the tree DIR is to have: enum tfs_file_views */
    struct tfs_found_list root, chunks; /* what DIR holds; chunks are sorted */
    struct tfs_key *shown; /* sorted: chunks in which the save shows edits of files of the root */
    size_t shown_count;
    struct tfs_doc *base; /* the save as it was before */
    struct tfs_doc *doc;  /* with what was taken so far */
    enum tfs_status status;
    struct tfs_import_counts counts;
    size_t contradictions;
    bool written;        /* the save has what was taken */
    bool reading;        /* of two views that contradict each other the edited one is true */
    bool edited;         /* somebody touched a file since the export */
    bool other_pictures; /* a picture that nobody can edit is not the one that was exported: those
                          * beside it came from elsewhere, too */
    bool again;          /* a file that was taken has to be left out: take everything anew */
    bool unfinished;     /* something was not done, as was said; the rest is */
    struct tfs_buf text; /* a file of the save, to compare */
};

/* Says that DIR is only the beginning of an export: what it lacks, nobody removed. */
enum tfs_status tfs_import_refuse_cut(struct tfs_cli *cli, const char *dir);
/* Says why something is refused. */
void tfs_import_refuse(struct tfs_import *im, const char *path, const struct tfs_error *err);
/* A failure that says nothing of a text: to go on could undo an edit. */
bool tfs_import_is_trouble(int code);
/* The path of something in DIR as it stands in the manifest. */
const char *tfs_import_name(const struct tfs_import *im, const char *path);
/* Takes over the reference `doc` as what was taken so far. */
void tfs_import_advance(struct tfs_import *im, struct tfs_doc *doc);

/* ---- views ----------------------------------------------------------------------------------- */

/* A file of DIR that can be written. */
struct tfs_view {
    struct tfs_found *found;
    bool touched;    /* since the export; without a manifest, every file is */
    bool differs;    /* from the save as it was before the import */
    bool done;       /* its turn came */
    bool renumbered; /* it was not put: in the save its numbers are other voxels by now */
    bool holds; /* what it says has to be true in the end: it was taken, or edited and in the save
                 * already */
};

/* Those of a list. False without memory, which is said. */
bool tfs_views_of(struct tfs_import *im, struct tfs_found_list *files, struct tfs_view **views,
                  size_t *count);

/* Refuses the arrays of a list that somebody edited. */
void tfs_views_check_arrays(struct tfs_import *im, struct tfs_found_list *files);

/* Sets im->other_pictures. */
void tfs_views_check_pictures(struct tfs_import *im);

/* Sets touched, and differs by comparing with `reference` (NULL: it differs). False: refused. */
bool tfs_view_compare(struct tfs_import *im, struct tfs_view *view,
                      const struct tfs_doc *reference);
/* Is it a view of the whole save, from an export that could not show all of that? Where it shows
 * nothing, something may be: --all does not take it. */
bool tfs_view_is_of_part(const struct tfs_import *im, const struct tfs_view *view);
/* Is it to be taken? */
bool tfs_view_wanted(const struct tfs_import *im, const struct tfs_view *view);
/* Does what it says count, whether it is taken or is in the save already? */
bool tfs_view_counts(const struct tfs_import *im, const struct tfs_view *view);

/* Does the file read like this in `doc`? */
bool tfs_view_shows(struct tfs_import *im, const struct tfs_found *found,
                    const struct tfs_doc *doc);

/* Is what `doc` shows as this file the exported text, of which the manifest has the hash? */
bool tfs_view_is_exported(struct tfs_import *im, const struct tfs_found *found,
                          const struct tfs_doc *doc);

/* Appends what an edited file of the root was made from: as it was exported; where that is not
 * known, as the save shows it. Nothing, where the save does not show it. False: refused. */
bool tfs_view_original(struct tfs_import *im, const struct tfs_view *view, struct tfs_buf *text);

/* Puts what the file says onto `doc`: a reference to what comes out, which is `doc` itself when it
 * says that already. */
int tfs_view_put(struct tfs_import *im, const struct tfs_found *found, struct tfs_doc *doc,
                 struct tfs_put *put, struct tfs_doc **after, struct tfs_error *err);

/* The text of the file. */
int tfs_view_read(const struct tfs_found *found, struct tfs_blob **text, struct tfs_error *err);

/* Does `doc` say what the file says? Putting it once more changes nothing then. */
bool tfs_view_agrees(struct tfs_import *im, const struct tfs_found *found, struct tfs_put put,
                     struct tfs_doc *doc);

/* Does `before` say what the file says, and `after` no longer? Both are told by putting it. */
bool tfs_view_broken(struct tfs_import *im, const struct tfs_found *found, struct tfs_put put,
                     struct tfs_doc *before, struct tfs_doc *after);

/* ---- parts of the import --------------------------------------------------------------------- */

/* Takes the files of a chunk, or nothing of it. */
void tfs_import_chunk(struct tfs_import *im, struct tfs_found *chunk);

/* Finds im->shown. A view that nobody touched in such a chunk is out of date. */
void tfs_import_find_shown(struct tfs_import *im);
bool tfs_import_is_shown(const struct tfs_import *im, struct tfs_key key);

/* Files of the root: those that come before the chunks; and the others, with a look at whether what
 * all of them say is true now. */
void tfs_import_roots_early(struct tfs_import *im);
void tfs_import_roots_late(struct tfs_import *im);

/* --delete: optional files of a scope that its directory `path` lacks are told to `remove`, which
 * gets the document without the file; chunks that DIR lacks are removed. */
typedef void (*tfs_removed_fn)(void *arg, const char *path, struct tfs_doc *after);
void tfs_import_missing_files(struct tfs_import *im, const struct tfs_node *top,
                              const struct tfs_found_list *list, tfs_removed_fn remove, void *arg);
void tfs_import_missing_chunks(struct tfs_import *im);
/* Takes what set-aside edits removed: cli->removals. */
void tfs_import_removals(struct tfs_import *im);

#endif
