/*
 * A format for tests of the session: its saves live in memory, and the disk does what a test says.
 *
 * A chunk's blob is its text, lower case, and behind a `|` its note, if it has one. Its files:
 *   raw.bin        the blob; what begins with `!` is refused
 *   text.txt       the text, shown in lower case (so a text in capitals is accepted, not canonical)
 *   part/note.txt  the note; optional; one that begins with `?` cannot be removed
 * The root has all.txt, the texts of all chunks. Groups are layers/1 to layers/3.
 */
#ifndef TFS_TESTS_FAKE_FORMAT_H
#define TFS_TESTS_FAKE_FORMAT_H

#include "formats/format.h"

#define FAKE_LAYERS 4

/* What a fake save is doing. */
enum fake_moment { FAKE_GET, FAKE_PUT, FAKE_COMMIT, FAKE_MOMENTS };

/* The disk of a fake save. Tests set it while the session works. */
struct fake_disk {
    _Atomic int commits;            /* that were successful */
    _Atomic int get;                /* the next text that is rendered fails with this code */
    _Atomic int fail;               /* the next commits fail with this code, 0: none */
    _Atomic int changed;            /* another program wrote the save */
    _Atomic int looks;              /* how often that was asked */
    _Atomic int puts;               /* how often a note was put onto an edit */
    struct tfs_doc *_Atomic theirs; /* what it wrote */
    _Atomic bool misfit;            /* and no chunk of ours fits that */
    /* Called once, in the middle of: text.txt being rendered, being validated, a commit. */
    void (*during[FAKE_MOMENTS])(void);
};

extern struct fake_disk fake_disk;

/* A save with the chunks 0_0_0 "zero", 1_0_0 "one|note" and -2_3_4 "two". */
struct tfs_save *fake_save_create(void);

/* What was committed last: a reference. For threads other than that which commits. */
struct tfs_doc *fake_saved(struct tfs_save *save);

/* `doc` with one chunk set to `blob`: for what another program writes. */
struct tfs_doc *fake_doc_with(struct tfs_doc *doc, int x, const char *blob);

/* Sets one chunk in an edit. */
int fake_edit_set(struct tfs_edit *edit, int x, const char *blob, struct tfs_error *err);

/* The blob of chunk x_0_0 (or -2_3_4 for x = -2) as text; "" when absent. Static storage. */
const char *fake_blob(const struct tfs_doc *doc, int x);

#endif
