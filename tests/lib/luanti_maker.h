/*
 * Maps of Luanti made for tests and the bench, from the layouts in luanti/FORMAT.md and apart from
 * the codec.
 *
 * A block has dirt, with its own number of stones in it, below air; with `items` also a chest with
 * an inventory and variables, a timer and an object. The same for the same coordinates. All
 * functions abort when they fail.
 */
#ifndef TFS_TESTS_LUANTI_MAKER_H
#define TFS_TESTS_LUANTI_MAKER_H

#include "formats/save/document.h"

/* Appends the blob of a block of version 22 to 29. Versions before 25 have no timer, 22 has no
 * metadata. */
void luanti_block(struct tfs_buf *out, unsigned version, struct tfs_key key, bool items);

/* Appends a blob of these inflated bytes, as the engine packs them: of versions 22 to 28 `plain` is
 * what stands before the nodes, nodes, metadata and the rest behind it. */
void luanti_pack(struct tfs_buf *out, unsigned version, struct tfs_span head, struct tfs_span nodes,
                 struct tfs_span metadata, struct tfs_span rest);

/* A database of `count` blocks around the middle, the first one with items; `axes`: in the schema
 * with a column for each axis. */
void luanti_map(const char *path, bool axes, unsigned version, unsigned count);

/* A world folder with such a map. */
void luanti_world(const char *path, bool axes, unsigned version, unsigned count);

/* A gzip file of ../shared, inflated; false: that folder is not here. To be released. */
bool luanti_sample(const char *path, struct tfs_buf *out);

#endif
