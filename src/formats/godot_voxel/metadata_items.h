/*
 * What the two files of metadata share: for metadata*.c only.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_METADATA_ITEMS_H
#define TFS_FORMATS_GODOT_VOXEL_METADATA_ITEMS_H

#include "formats/godot_voxel/metadata.h"
#include "formats/godot_voxel/variant.h"

int tfs_godot_items_add(struct tfs_godot_items *items, const struct tfs_godot_item *item,
                        struct tfs_error *err);

/* CUSTOM, OPAQUE and REST. */
bool tfs_godot_item_takes_rest(const struct tfs_godot_item *item);

/* Why these bytes would not read back as the item that has them; NULL: they do. Variants of a
 * version 2 or 3 are those of one engine: *engines, bit i: of engine i, loses those that do not
 * read this one; begin with TFS_GODOT_ANY_ENGINE. */
#define TFS_GODOT_ANY_ENGINE (1U << TFS_GODOT_ENGINE_3 | 1U << TFS_GODOT_ENGINE_4)
int tfs_godot_item_misread(const struct tfs_godot_block *block, const struct tfs_godot_item *item,
                           unsigned *engines, const char **why, struct tfs_error *err);

/* Appends the section of these items, in their order. */
void tfs_godot_items_encode(const struct tfs_godot_items *items, unsigned version,
                            struct tfs_buf *out);

#endif
