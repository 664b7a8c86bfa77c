/*
 * Metadata of a block: its section <-> a list of items <-> the lines of metadata.txt
 * (FORMAT.md, section 4).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_METADATA_H
#define TFS_FORMATS_GODOT_VOXEL_METADATA_H

#include "formats/godot_voxel/block.h"

enum tfs_godot_item_type {
    TFS_GODOT_ITEM_EMPTY,
    TFS_GODOT_ITEM_U64,
    TFS_GODOT_ITEM_VARIANT,
    TFS_GODOT_ITEM_CUSTOM, /* the rest of the section, of a type that only the game knows */
    TFS_GODOT_ITEM_OPAQUE, /* the rest of the section, from an item on that cannot be read */
    TFS_GODOT_ITEM_REST,   /* the rest of the section, from a position on that is none */
};

struct tfs_godot_item {
    enum tfs_godot_item_type type;
    bool voxel; /* else of the block; false for REST */
    uint8_t custom;
    uint16_t x, y, z;
    struct tfs_span bytes; /* what is behind the type byte; OPAQUE: from it on; REST: from the
                            * position on */
};

struct tfs_godot_items {
    struct tfs_godot_item *items;
    size_t count;
};

void tfs_godot_items_release(struct tfs_godot_items *items);

/* All items of the block's section, in stored order; their bytes lie in it. Whatever the section
 * is, it can be listed. */
int tfs_godot_metadata_read(const struct tfs_godot_block *block, struct tfs_godot_items *items,
                            struct tfs_error *err);

/* Sets `warning` (EBADMSG) to where the engine loses its place in the section, of a block that has
 * its `data`. It drops metadata then without a word. */
int tfs_godot_metadata_check(const struct tfs_godot_block *block, struct tfs_error *warning,
                             struct tfs_error *err);

/* Appends the lines of metadata.txt. */
void tfs_godot_metadata_print(const struct tfs_godot_items *items, struct tfs_buf *out);

/* Appends to `section` what the text says, for this block: the stored section where the text says
 * what that says, else a canonical one; nothing for a text without lines. EBADMSG with line and
 * column. */
int tfs_godot_metadata_parse(const struct tfs_godot_block *block, struct tfs_span text,
                             struct tfs_buf *section, struct tfs_error *err);

/* Appends the section of a block of version 2 or 3 as version 4 has it. EBADMSG: it cannot be. */
int tfs_godot_metadata_upgrade(const struct tfs_godot_block *block, struct tfs_buf *section,
                               struct tfs_error *err);

#endif
