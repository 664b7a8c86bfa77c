/*
 * Any bytes as BlockData: what parses encodes to itself, its metadata is shown and written back the
 * same, its channels too, and as version 4 it parses again.
 */
#include <errno.h>

#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/upgrade.h"
#include "fuzz_godot.h"

#define VOLUME_MAX 4096 /* larger ones are only slower */

static void check_channel(const struct tfs_godot_block *block, unsigned channel)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    struct tfs_godot_array array = {0};
    struct tfs_buf back = {0};
    struct tfs_error err = {0};

    REQUIRE(tfs_godot_channel_read(block, channel, &array, &err) == 0);
    tfs_godot_channel_write(block, &array, values->depth, &back);
    if (values->mode == TFS_GODOT_NONE)
        REQUIRE(tfs_span_equal(tfs_buf_span(&back), values->bytes));
    tfs_godot_array_release(&array);
    tfs_buf_release(&back);
}

static void check_upgrade(const struct tfs_godot_block *block)
{
    struct tfs_buf newer = {0};
    struct tfs_godot_block parsed;
    struct tfs_error err = {0};

    if (tfs_godot_block_upgrade(block, &newer, &err) == 0) {
        REQUIRE(tfs_godot_block_parse(tfs_buf_span(&newer), &parsed, &err) == 0);
        REQUIRE(parsed.version == TFS_GODOT_VERSION_MAX);
        check_metadata(&parsed);
    } else {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
    }
    tfs_buf_release(&newer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_godot_block block;
    struct tfs_buf encoded = {0};
    struct tfs_error err = {0};

    if (tfs_godot_block_parse((struct tfs_span){data, size}, &block, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
        return 0;
    }
    tfs_godot_block_encode(&block, &encoded);
    if (!block.has_metadata || block.metadata.size > 0)
        REQUIRE(tfs_span_equal(tfs_buf_span(&encoded), (struct tfs_span){data, size}));
    check_metadata(&block);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && tfs_godot_volume(&block) <= VOLUME_MAX; i++)
        check_channel(&block, i);
    if (block.version < TFS_GODOT_VERSION_MAX)
        check_upgrade(&block);
    tfs_buf_release(&encoded);
    return 0;
}
