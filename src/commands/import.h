/*
 * What the parts of `import` share: the names of the tree that are in DIR (import_scan.c), what a
 * file says (import_files.c), chunks (import_chunks.c), what DIR lacks (import_delete.c), edits
 * that version 0.1 set aside (import_aside.c).
 */
#ifndef TFS_COMMANDS_IMPORT_H
#define TFS_COMMANDS_IMPORT_H

#include "commands/cli.h"
#include "commands/manifest.h"

/* What `import --all --delete` would make of the save, which stays as it is: a document, a
 * reference. Says what it refuses. Not `whole`: the export could not show everything, and the
 * document has what DIR lacks as the save has it. */
enum tfs_status tfs_import_read(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                struct tfs_doc **doc, bool *whole);

/* ---- names ----------------------------------------------------------------------------------- */

/* One name of the tree in DIR. */
struct tfs_found {
    struct tfs_node node;
    char *path;  /* to be opened, and for sentences */
    bool edited; /* a file that differs from the manifest; without one, from the save */
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

struct tfs_import_counts {
    size_t files, added, removed; /* that were taken */
    size_t left_out;              /* chunks, whose files disagree; removals that were not done */
};

struct tfs_import {
    struct tfs_cli *cli;
    struct tfs_save *save;
    const char *dir;
    struct tfs_manifest manifest;
    unsigned views; /* which files of the tree DIR is to have: enum tfs_file_views */
    struct tfs_found_list root, chunks; /* what DIR holds; chunks are sorted */
    struct tfs_doc *base;               /* the save as it was before */
    struct tfs_doc *doc;                /* with what was taken so far */
    enum tfs_status status;
    struct tfs_import_counts counts;
    bool records;        /* DIR is no tree: it has the records of a journal */
    bool written;        /* the save has what was taken */
    struct tfs_buf text; /* a file of the save, to compare */
};

/* Says that DIR is only the beginning of an export: what it lacks, nobody removed. */
enum tfs_status tfs_import_refuse_cut(struct tfs_cli *cli, const char *dir);
/* Says why something is refused: nothing will be written. */
void tfs_import_refuse(struct tfs_import *im, const char *path, const struct tfs_error *err);
/* A failure that says nothing of a text: to go on could undo an edit. */
bool tfs_import_is_trouble(int code);
/* Takes over the reference `doc` as what was taken so far. */
void tfs_import_advance(struct tfs_import *im, struct tfs_doc *doc);

/* ---- files (import_files.c) ------------------------------------------------------------------ */

/* Finds out which files of a list are edited. Refuses edited arrays, and what cannot be read. */
void tfs_import_look(struct tfs_import *im, struct tfs_found_list *list);
/* Is it put? Arrays and files for looking are not. */
bool tfs_import_takes(const struct tfs_import *im, const struct tfs_found *found);

/* Puts what the file says onto `doc`: a reference to what comes out, which has the version of `doc`
 * where that says it already. */
int tfs_import_put(struct tfs_import *im, const struct tfs_found *found, struct tfs_doc *doc,
                   struct tfs_put *put, struct tfs_doc **after, struct tfs_error *err);

/* Appends what the file says of `doc`: 1; 0: that does not show it. */
int tfs_import_render(struct tfs_import *im, const struct tfs_found *found,
                      const struct tfs_doc *doc, struct tfs_buf *text, struct tfs_error *err);

/* Is it a palette.txt? */
bool tfs_import_renames(const struct tfs_import *im, const struct tfs_found *found);
/* Do the lines of a palette.txt stand for other entries in the save than in the export? */
bool tfs_import_is_renumbered(struct tfs_import *im, const struct tfs_found *found);

/* Takes the files of the root as differences: those that say what no voxel says, or the others.
 * `chunks`: DIR has edits of chunks, too. */
void tfs_import_roots(struct tfs_import *im, bool apart, bool chunks);

/* Takes the files of a chunk, or nothing of it. */
void tfs_import_chunk(struct tfs_import *im, struct tfs_found *chunk);

/* ---- what DIR lacks (import_delete.c) -------------------------------------------------------- */

/* Removes optional files of a scope that are not in the list, of these sets. */
void tfs_import_missing_files(struct tfs_import *im, const struct tfs_node *top,
                              const struct tfs_found_list *list, unsigned views);
/* Removes chunks. */
void tfs_import_missing_chunks(struct tfs_import *im);
/* Takes what set-aside edits removed: cli->removals. */
void tfs_import_removals(struct tfs_import *im);

#endif
