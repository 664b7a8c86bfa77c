/*
 * The channels' names and empty values; stored values <-> numbers.
 *
 * Must not know files, chunks or containers.
 */
#include "formats/godot_voxel/channel.h"

const char *const tfs_godot_channel_names[TFS_GODOT_CHANNELS] = {
    "type", "sdf", "color", "indices", "weights", "data5", "data6", "data7",
};

#define FLOAT_100  UINT64_C(0x42c80000)
#define DOUBLE_100 UINT64_C(0x4059000000000000)
#define INDICES_16 UINT64_C(0x3210)
#define WEIGHTS    UINT64_C(0x000f)

static uint64_t empty_sdf(unsigned version, unsigned depth)
{
    static const uint64_t unsigned_far[] = {0xff, 0xffff, FLOAT_100, DOUBLE_100};
    static const uint64_t signed_far[] = {0x7f, 0x7fff, FLOAT_100, DOUBLE_100};

    return version == 2 ? unsigned_far[depth] : signed_far[depth];
}

uint64_t tfs_godot_empty_value(unsigned channel, unsigned version, unsigned depth)
{
    switch (channel) {
    case TFS_GODOT_SDF:
        return empty_sdf(version, depth);
    case TFS_GODOT_INDICES:
        return depth == 1 ? INDICES_16 : 0;
    case TFS_GODOT_WEIGHTS:
        return version == 2 ? 0 : WEIGHTS;
    default:
        return 0;
    }
}

void tfs_godot_set_bits(uint8_t *out, uint64_t bits, unsigned depth)
{
    for (unsigned i = 0; i < 1U << depth; i++)
        out[i] = (uint8_t)(bits >> 8 * i);
}

void tfs_godot_put_bits(struct tfs_buf *out, uint64_t bits, unsigned depth)
{
    uint8_t bytes[1 << TFS_GODOT_DEPTH_MAX];

    tfs_godot_set_bits(bytes, bits, depth);
    tfs_buf_add(out, bytes, (size_t)1 << depth);
}
