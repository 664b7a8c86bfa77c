/*
 * One side of a comparison: a document, the bytes of its chunks, and its files.
 */
#ifndef TFS_FORMATS_COMPARE_FETCH_H
#define TFS_FORMATS_COMPARE_FETCH_H

#include "formats/format.h"

struct tfs_side {
    struct tfs_save *save;
    const struct tfs_doc *doc; /* NULL: it has nothing */
};

/* Appends the chunk's name: `3_0_-1`, `lods/1/3_0_-1`. */
void tfs_key_print(const struct tfs_save *save, struct tfs_key key, struct tfs_buf *out);

/* ---- chunks ---------------------------------------------------------------------------------- */

#define TFS_FETCH_WINDOW 16 /* chunks that are fetched at once */

/* A chunk: a copy, whose bytes may come to be there. Zero-initialised = absent. */
struct tfs_fetched {
    bool there;
    struct tfs_chunk chunk;
    struct tfs_error why; /* its bytes cannot be read */
};

/* Fetches the bytes that the document does not hold of at most TFS_FETCH_WINDOW chunks, in as few
 * goes as the format can. A chunk that is damaged has `why`; other failures are returned. */
int tfs_fetch(const struct tfs_side *side, struct tfs_fetched *fetched, size_t count,
              struct tfs_error *err);
void tfs_fetched_take(struct tfs_fetched *fetched, const struct tfs_chunk *chunk); /* or NULL */
void tfs_fetched_release(struct tfs_fetched *fetched);

/* ---- walks ----------------------------------------------------------------------------------- */

#define TFS_WALK_SIDES 3

/* The chunks of several documents in key order, those of one key together. */
struct tfs_walk {
    struct tfs_side sides[TFS_WALK_SIDES];
    unsigned count;
    /* Need the chunks of a key, NULL where there is none, not be looked at? NULL: they need. */
    bool (*skips)(const void *arg, const struct tfs_chunk *const chunks[TFS_WALK_SIDES]);
    const void *arg;

    /* For fetch.c only. */
    size_t at[TFS_WALK_SIDES], keys, next;
    struct tfs_fetched chunks[TFS_WALK_SIDES][TFS_FETCH_WINDOW];
};

/* The fetched chunks of the next key, until the next call: 1. 0: there are no more. */
int tfs_walk_next(struct tfs_walk *walk, struct tfs_fetched *chunks[TFS_WALK_SIDES],
                  struct tfs_key *key, struct tfs_error *err);
void tfs_walk_end(struct tfs_walk *walk); /* it may begin again */

/* ---- files ----------------------------------------------------------------------------------- */

/* The text of a file, in place of what `text` held; *there: is it there at all? */
int tfs_side_read(const struct tfs_side *side, const struct tfs_file *file, struct tfs_key key,
                  struct tfs_buf *text, bool *there, struct tfs_error *err);

/* A file on two sides. Zero-initialised; to be used again. */
struct tfs_two_texts {
    struct tfs_buf text[2];
    bool there[2];
};

/* Reads both: 1 they say the same, 0, or negative. */
int tfs_sides_alike(const struct tfs_side *a, const struct tfs_side *b, const struct tfs_file *file,
                    struct tfs_key key, struct tfs_two_texts *texts, struct tfs_error *err);
void tfs_two_texts_release(struct tfs_two_texts *texts);

#endif
