/*
 * What tests of Roblox terrain do with a document: from bytes, through its files, and back.
 *
 * Any failure that a test does not ask for ends it.
 */
#ifndef TFS_TESTS_PLACE_CASE_H
#define TFS_TESTS_PLACE_CASE_H

#include "formats/roblox/cells.h"
#include "formats/roblox/lenses.h"
#include "formats/roblox/roblox.h"
#include "formats/containers/file.h"
#include "place_maker.h"
#include "tree_files.h"

/* Why the terrain of an old place cannot be written. */
#define OLD_TERRAIN                                                                                \
    "the terrain is of the old kind (ClusterGrid): open the place in Roblox Studio, which "        \
    "converts it, and save it"

/* The files of a chunk, as the tree has them. */
enum chunk_file { PLACE_RAW, PLACE_VOXELS, PLACE_MATERIALS, PLACE_OCCUPANCY, PLACE_WATER };
#define PLACE_FILES      5
#define PLACE_LENS(file) (tfs_rbx_tree.chunk.files[file].lens)

/* Opens the bytes with that container's codec. */
void place_open(struct tree_files *c, const struct tfs_container *container,
                const struct maker_bytes *bytes);
void place_open_hex(struct tree_files *c, const char *value);
/* 0 or why the bytes are refused; nothing needs closing. */
int place_try(const struct tfs_container *container, struct tfs_span bytes, struct tfs_error *err);

/* The document as a file. */
struct maker_bytes place_encode(struct tree_files *c);

/* The file of a chunk; the text ends in a NUL that its size leaves out. */
struct maker_bytes place_get(struct tree_files *c, const struct tfs_lens *lens, struct tfs_key key);
/* Puts a text: 0 and the new document is c->doc, or the error. */
int place_put(struct tree_files *c, const struct tfs_lens *lens, struct tfs_key key,
              struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
/* The same, never fresh. */
int place_write(struct tree_files *c, const struct tfs_lens *lens, struct tfs_key key,
                const char *text, struct tfs_error *err);

/* mkdir, rmdir and mv of a chunk's directory. */
int place_create(struct tree_files *c, struct tfs_key key, struct tfs_error *err);
int place_remove(struct tree_files *c, struct tfs_key key, struct tfs_error *err);
int place_move(struct tree_files *c, struct tfs_key from, struct tfs_key to, struct tfs_error *err);

struct tfs_span place_span(const struct maker_bytes *bytes);
struct maker_bytes place_read_file(const char *path);

#endif
