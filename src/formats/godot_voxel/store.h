/*
 * What lenses make of a chunk -> the edit: encoded, compressed, and checked against the rules of
 * the container.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_STORE_H
#define TFS_FORMATS_GODOT_VOXEL_STORE_H

#include "formats/godot_voxel/view.h"

/* Those of the engine's new blocks. */
extern const uint8_t tfs_godot_usual_depths[TFS_GODOT_CHANNELS];

/* A new block, whose bytes are `own`'s. */
int tfs_godot_store_blank(unsigned version, const uint32_t size[3],
                          const uint8_t depths[TFS_GODOT_CHANNELS], struct tfs_buf *own,
                          struct tfs_godot_block *block, struct tfs_error *err);

/* The chunk's block, to be changed; where there is none, a new one. Its bytes are the view's, or
 * `own`'s. `base`: the document as it is without the edit. */
int tfs_godot_store_begin(struct tfs_save *save, const struct tfs_doc *base,
                          const struct tfs_godot_view *view, struct tfs_buf *own,
                          struct tfs_godot_block *block, struct tfs_error *err);

/* Makes `block` the chunk's, in the container it had; as version 4 where that is asked for. */
int tfs_godot_store_block(struct tfs_edit *edit, const struct tfs_godot_view *view,
                          const struct tfs_godot_block *block, unsigned options,
                          struct tfs_error *err);

/* Makes these stored bytes the chunk's block, verbatim where the engine can read them there. */
int tfs_godot_store_raw(struct tfs_edit *edit, const struct tfs_godot_view *view,
                        struct tfs_span bytes, unsigned options, struct tfs_error *err);

/* Sets the instances; NULL removes them. */
int tfs_godot_store_extra(struct tfs_edit *edit, const struct tfs_godot_view *view,
                          struct tfs_blob *extra, struct tfs_error *err);

/* For struct tfs_tree: chunks, and the upgrade of a whole save. */
int tfs_godot_chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                           struct tfs_error *err);
int tfs_godot_chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                         struct tfs_key to, struct tfs_error *err);
int tfs_godot_save_upgrade(struct tfs_save *save, struct tfs_edit *edit, tfs_refused_fn refused,
                           void *arg, size_t *count, struct tfs_error *err);

#endif
