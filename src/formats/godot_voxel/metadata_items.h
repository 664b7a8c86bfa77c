/*
 * What the two files of metadata share: for metadata*.c only.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_METADATA_ITEMS_H
#define TFS_FORMATS_GODOT_VOXEL_METADATA_ITEMS_H

#include "formats/godot_voxel/metadata.h"

int tfs_godot_items_add(struct tfs_godot_items *items, const struct tfs_godot_item *item,
                        struct tfs_error *err);

/* CUSTOM, OPAQUE and REST. */
bool tfs_godot_item_takes_rest(const struct tfs_godot_item *item);

/* Appends the section of these items, in their order. */
void tfs_godot_items_encode(const struct tfs_godot_items *items, unsigned version,
                            struct tfs_buf *out);

#endif
