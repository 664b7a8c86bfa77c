/*
 * BlockData, versions 2, 3 and 4: eight channels of values and metadata, as they are stored
 * (FORMAT.md, section 3).
 *
 * A block is a view: its spans lie in `data`, or, while it is being changed, in bytes of the caller
 * that changes it. Values stay in stored order, little-endian: index y + size_y * (x + size_x * z).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_BLOCK_H
#define TFS_FORMATS_GODOT_VOXEL_BLOCK_H

#include "formats/godot_voxel/wrap.h"

struct tfs_godot_values {
    enum tfs_godot_mode mode;
    uint8_t depth;         /* 0 to 3: a value has 1 << depth bytes */
    struct tfs_span bytes; /* of every voxel (NONE), or of one (UNIFORM) */
};

struct tfs_godot_block {
    uint8_t version;
    uint32_t x, y, z; /* size, each 1 to 65535 */
    struct tfs_godot_values channels[TFS_GODOT_CHANNELS];
    bool has_metadata; /* there is a metadata_size, maybe 0 */
    struct tfs_span metadata;
    enum tfs_godot_kind kind;
    struct tfs_blob *data; /* BlockData; NULL when nothing is held */
};

uint32_t tfs_godot_volume(const struct tfs_godot_block *block);

/* The view of BlockData that fills `data` exactly. Sets neither kind nor data. */
int tfs_godot_block_parse(struct tfs_span data, struct tfs_godot_block *block,
                          struct tfs_error *err);

/* Appends BlockData; an empty metadata section is left out. */
void tfs_godot_block_encode(const struct tfs_godot_block *block, struct tfs_buf *out);

/* Takes the block out of its container and parses it; holds a reference to what it views. */
int tfs_godot_block_open(struct tfs_blob *stored, struct tfs_godot_block *block,
                         struct tfs_error *err);
void tfs_godot_block_release(struct tfs_godot_block *block);

/* Does an LZ4 container begin here whose payload begins as a block does? It may be damaged behind
 * that. */
bool tfs_godot_block_begins(struct tfs_span stored);

/* Can `size` bytes be a block, damaged or not, that begin with `head`? */
bool tfs_godot_block_may_begin(struct tfs_span head, uint64_t size);

#endif
