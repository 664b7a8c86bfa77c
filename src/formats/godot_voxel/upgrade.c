/*
 * A block of an older version -> BlockData of version 4.
 *
 * Must not know where blocks lie. What differs: version 2 counts small signed distances from the
 * middle of an unsigned range, versions 2 and 3 write Variants without a type byte.
 */
#include "formats/godot_voxel/upgrade.h"

#include <math.h>

#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/metadata.h"

/* One distance, in single precision as the engine has it. */
static uint64_t upgrade_sdf(uint64_t v, unsigned depth)
{
    const float middle = depth == 0 ? 127.0f : 32767.0f;
    float norm = ((float)v - middle) / middle;
    float clamped = fminf(fmaxf(norm, -1.0f), 1.0f);

    return (uint64_t)(int64_t)truncf(clamped * middle);
}

static void upgrade_values(const struct tfs_godot_values *values, struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(values->bytes);

    while (tfs_cursor_left(&c) > 0) {
        uint64_t v = values->depth == 0 ? tfs_take_u8(&c) : tfs_take_u16le(&c);
        tfs_godot_put_bits(out, upgrade_sdf(v, values->depth), values->depth);
    }
}

int tfs_godot_block_upgrade(const struct tfs_godot_block *block, struct tfs_buf *out,
                            struct tfs_error *err)
{
    struct tfs_godot_block upgraded = *block;
    struct tfs_godot_values *sdf = &upgraded.channels[TFS_GODOT_SDF];
    struct tfs_buf distances = {0}, section = {0};

    if (tfs_godot_metadata_upgrade(block, &section, err) < 0)
        goto out;
    if (block->version == 2 && sdf->depth < 2) {
        upgrade_values(sdf, &distances);
        sdf->bytes = tfs_buf_span(&distances);
    }
    if (tfs_buf_check(&distances, err) < 0 || tfs_buf_check(&section, err) < 0)
        goto out;
    upgraded.version = TFS_GODOT_VERSION_MAX;
    upgraded.metadata = tfs_buf_span(&section);
    tfs_godot_block_encode(&upgraded, out);
    tfs_buf_check(out, err);
out:
    tfs_buf_release(&distances);
    tfs_buf_release(&section);
    return err->code;
}
