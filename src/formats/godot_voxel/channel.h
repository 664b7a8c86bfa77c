/*
 * The eight channels: what they are called, their empty values, and stored values (FORMAT.md,
 * sections 3 and 8).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_CHANNEL_H
#define TFS_FORMATS_GODOT_VOXEL_CHANNEL_H

#include "formats/godot_voxel/block.h"

extern const char *const tfs_godot_channel_names[TFS_GODOT_CHANNELS];

/* The bits of a voxel that nobody wrote. */
uint64_t tfs_godot_empty_value(unsigned channel, unsigned version, unsigned depth);

/* One stored value of 1 << size_log bytes, which is its depth. */
static inline uint64_t tfs_godot_get_bits(const uint8_t *bytes, unsigned size_log)
{
    uint64_t bits = bytes[0];

    for (unsigned i = 1; i < 1u << size_log; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    return bits;
}

void tfs_godot_set_bits(uint8_t *bytes, uint64_t bits, unsigned depth);

void tfs_godot_put_bits(struct tfs_buf *out, uint64_t bits, unsigned depth);

#endif
