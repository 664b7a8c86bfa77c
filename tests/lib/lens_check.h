/*
 * The laws of every tree (docs/semantics.md, T1), checked on any save and for any
 * edits: what is refused has a sentence and changes nothing, what is accepted decodes, reads back,
 * and writing that back is no edit, files that are not edited can all be written back as they read,
 * which is no edit either, and a chunk that reads as before keeps its bytes.
 *
 * Takes the files from the tables of the tree: those of the root, of groups and of chunks, all
 * views, arrays included. Knows no game. A law that does not hold aborts.
 */
#ifndef TFS_TESTS_LENS_CHECK_H
#define TFS_TESTS_LENS_CHECK_H

#include "fs/tree/tree.h"

#define CHUNKS_TOO_MANY 300 /* edits end there: more would only be slow */

struct lens_check {
    struct tfs_save *save;
    struct tfs_doc *base; /* what was on disk */
    struct tfs_doc *doc;  /* with what was accepted so far */
    bool strange;         /* nobody vouches for what is on disk: chunks may be damaged */
    uint32_t chunks_max;  /* no more chunks are made than this */
    unsigned views;       /* of the save before */
};

/* Starts at what is on disk. The save shows every file as long as this is open. */
void lens_check_open(struct lens_check *c, struct tfs_save *save);
void lens_check_close(struct lens_check *c);

/* What a file reads; its size is the one that it says. */
void lens_check_get(struct lens_check *c, const struct tfs_node *node, struct tfs_buf *text);
/* A put of any text into a file that can be written. Returns 0, or the failure of a refused one. */
int lens_check_put(struct lens_check *c, const struct tfs_node *node, struct tfs_span text,
                   bool fresh);

/* Values that did not change keep their stored bytes: a chunk whose files, other than raw.bin, all
 * read in `after` as they do in `before` holds the same bytes there. */
void lens_check_kept(struct tfs_save *save, struct tfs_doc *before, struct tfs_doc *after);

/* Edits as the bytes say, checking each one:
 *   00-8f  file, length (2 bytes, little-endian, at most what is left), text: a put
 *   90-9f  file, number, that many of: place (2), byte: samples of a picture are changed
 *   a0-bf  file: an optional one is removed
 *   c0-d7  x, y, z: a chunk is made      d8-ef  chunk, x, y, z: one is moved
 *   f0-ff  chunk: one is removed
 * `file` is three bytes: chunk (0: the root), file, member. An odd first byte of a put: the chunk's
 * directory was just made. */
void lens_check_edits(struct lens_check *c, struct tfs_span bytes);

/* Every file reads, is as long as it says, and writing it back is no edit. */
void lens_check_unedited(struct lens_check *c);
/* The same of a document of the save, or of one of its chunks alone. */
void lens_check_reads(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_key *chunk);

/* Every file of the root, and of chunks that were edited in `a`, reads the same in both;
 * `derived`: those too that cannot be written, which may say something of the disk. */
void lens_check_same(struct lens_check *a, struct lens_check *b, bool derived);

/* A save that is one file: encoded and decoded, the document has the same chunks and files. */
void lens_check_encoding(struct lens_check *c);

#endif
