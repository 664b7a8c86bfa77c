/*
 * What lenses make of a chunk -> the edit: encoded, compressed, and checked against the rules of
 * the container.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_STORE_H
#define TFS_FORMATS_GODOT_VOXEL_STORE_H

#include "formats/godot_voxel/cells.h"

/* The stored bytes of a new block: tfs_cells_kind.blank. `base`: the document as it is without the
 * edit. */
int tfs_godot_blank(struct tfs_save *save, const struct tfs_doc *base, struct tfs_key key,
                    const struct tfs_cells_like *like, struct tfs_blob **stored,
                    struct tfs_error *err);

/* Makes `block` the chunk's, in the container it had; as version 4 with -o upgrade. */
int tfs_godot_store_block(struct tfs_edit *edit, const struct tfs_cells *cells,
                          const struct tfs_godot_block *block, struct tfs_error *err);

/* Makes these stored bytes the chunk's block, verbatim where the engine can read them there. */
int tfs_godot_store_raw(struct tfs_edit *edit, const struct tfs_cells *cells, struct tfs_span bytes,
                        struct tfs_error *err);

/* Sets the instances; NULL removes them. */
int tfs_godot_store_extra(struct tfs_edit *edit, const struct tfs_cells *cells,
                          struct tfs_blob *extra, struct tfs_error *err);

/* For struct tfs_tree: chunks, and the upgrade of a whole save. */
int tfs_godot_chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                           struct tfs_error *err);
int tfs_godot_chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                         struct tfs_key to, struct tfs_error *err);
int tfs_godot_save_upgrade(struct tfs_save *save, struct tfs_edit *edit, tfs_refused_fn refused,
                           void *arg, size_t *count, struct tfs_error *err);

#endif
