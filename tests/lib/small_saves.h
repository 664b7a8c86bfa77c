/*
 * One small save of each kind, made on disk, and edits of its files: what tests read that do one
 * thing with every kind of save.
 */
#ifndef TFS_TESTS_SMALL_SAVES_H
#define TFS_TESTS_SMALL_SAVES_H

#include "fs/tree/tree.h"

enum small_change {
    SMALL_TEXT,   /* another text: `with` */
    SMALL_CUT,    /* the last line is gone */
    SMALL_NAME,   /* the last line ends in an x more */
    SMALL_PIXEL,  /* a picture's first pixel above 0 is one lower */
    SMALL_FROM,   /* the bytes of the file `with` */
    SMALL_REMOVE, /* an optional file is removed */
};

struct small_edit {
    const char *path;
    enum small_change change;
    const char *with;
};

#define SMALL_EDITS 12

struct small_save {
    const char *name;               /* of the kind */
    const char *file;               /* its name on disk; a folder's is one too */
    void (*make)(const char *path); /* asserts that it can */
    const char *parts[4];           /* files that tests may damage, below a folder; NULL: itself */
    struct small_edit edits[SMALL_EDITS]; /* accepted, and each changes something */
    const char *from, *to;                /* a chunk, and a free place for it; NULL: chunks stay */
};

extern const struct small_save small_saves[];
extern const int small_save_count;

/* The path of a file that is in the save by that name: 0, or -ENOENT. */
int small_save_find(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                    struct tfs_node *node);

/* What the file is to say after the edit, made from what `doc` shows; nothing for SMALL_REMOVE.
 * Asserts that it can be read. */
void small_edit_text(struct tfs_save *save, const struct tfs_doc *doc,
                     const struct small_edit *edit, struct tfs_buf *text);

/* Applies the edit to an open edit of the document: 0 or the refusal. */
int small_edit_apply(struct tfs_save *save, struct tfs_edit *to, const struct small_edit *edit,
                     struct tfs_span text, struct tfs_error *err);

/* All files of a save, or of a folder, one after another, each with its name: two saves are the
 * same when these are. Names that begin with a dot count too. */
void small_save_bytes(const char *path, struct tfs_buf *bytes);

#endif
