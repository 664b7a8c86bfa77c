/*
 * A Cosmic Reach save in memory for tests, with the files of files_case.h.
 */
#ifndef TFS_TESTS_COSMIC_CASE_H
#define TFS_TESTS_COSMIC_CASE_H

#include "formats/cosmic_reach/cosmic_reach.h"
#include "files_case.h"
#include "region_maker.h"

/* Hex digits; everything else is skipped, `*N` behind a byte repeats it. */
struct maker_bytes cosmic_hex(const char *text);
struct tfs_span cosmic_span(const struct maker_bytes *bytes);

/* `name` is the file's name, for the region that it gives. */
int cosmic_open(struct tree_files *c, const char *name, struct tfs_span bytes);
/* A region of that version with the chunk 0_0_0 of that chunk version, whose body is `body`. */
void cosmic_open_body(struct tree_files *c, int32_t version, int32_t chunk_version,
                      struct tfs_span body);
void cosmic_open_maker(struct tree_files *c, const struct maker_region *region);

/* The document as a file. */
struct maker_bytes cosmic_encode(struct tree_files *c);

/* The body of a chunk that is there. */
struct tfs_span cosmic_body(struct tree_files *c, struct tfs_key key);

/* A file of the chunk, or of the root when `root`; an optional one that is absent gives
 * data NULL. What size() says must be right. */
struct maker_bytes cosmic_get(struct tree_files *c, struct tfs_key key, const char *name);
struct maker_bytes cosmic_get_root(struct tree_files *c, const char *name);

/* As one whose directory was just made. */
int cosmic_put_fresh(struct tree_files *c, struct tfs_key key, const char *name,
                     struct tfs_span text);

#endif
