/*
 * A Cosmic Reach save in memory for tests: opened from bytes, read and written by file name.
 *
 * Functions assert (check) what must not fail; what may fail returns the code and leaves the
 * sentence in c->err and the document as it was.
 */
#ifndef TFS_TESTS_COSMIC_CASE_H
#define TFS_TESTS_COSMIC_CASE_H

#include "formats/cosmic_reach/cosmic_reach.h"
#include "region_maker.h"

struct cosmic_case {
    struct tfs_save save;
    struct tfs_doc *doc;
    struct tfs_span original; /* what puts are made from; empty: what the document shows */
    struct tfs_error err;
};

/* Hex digits; everything else is skipped, `*N` behind a byte repeats it. */
struct maker_bytes cosmic_hex(const char *text);
struct tfs_span cosmic_span(const struct maker_bytes *bytes);

/* `name` is the file's name, for the region that it gives. */
int cosmic_open(struct cosmic_case *c, const char *name, struct tfs_span bytes);
/* A region of that version with the chunk 0_0_0 of that chunk version, whose body is `body`. */
void cosmic_open_body(struct cosmic_case *c, int32_t version, int32_t chunk_version,
                      struct tfs_span body);
void cosmic_open_maker(struct cosmic_case *c, const struct maker_region *region);
void cosmic_close(struct cosmic_case *c);

/* The document as a file. */
struct maker_bytes cosmic_encode(struct cosmic_case *c);

/* The body of a chunk that is there. */
struct tfs_span cosmic_body(struct cosmic_case *c, struct tfs_key key);

/* A file of the chunk, or of the root when `root`; an optional one that is absent gives
 * data NULL. What size() says must be right. */
struct maker_bytes cosmic_get(struct cosmic_case *c, struct tfs_key key, const char *name);
struct maker_bytes cosmic_get_root(struct cosmic_case *c, const char *name);

int cosmic_put(struct cosmic_case *c, struct tfs_key key, const char *name, struct tfs_span text);
int cosmic_put_text(struct cosmic_case *c, struct tfs_key key, const char *name, const char *text);
int cosmic_put_fresh(struct cosmic_case *c, struct tfs_key key, const char *name,
                     struct tfs_span text);
int cosmic_put_root(struct cosmic_case *c, const char *name, const char *text);
int cosmic_remove(struct cosmic_case *c, struct tfs_key key, const char *name);

int cosmic_create(struct cosmic_case *c, struct tfs_key key);
int cosmic_move(struct cosmic_case *c, struct tfs_key from, struct tfs_key to);
int cosmic_delete(struct cosmic_case *c, struct tfs_key key);

/* Is this text, byte for byte, what the file shows? */
bool cosmic_shows(struct cosmic_case *c, struct tfs_key key, const char *name, const char *text);

#endif
