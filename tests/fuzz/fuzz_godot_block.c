/*
 * Any bytes as BlockData: what parses encodes to itself, its metadata is shown and written back the
 * same, and as version 4 it parses again.
 */
#include <errno.h>

#include "formats/godot_voxel/upgrade.h"
#include "fuzz_godot.h"

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
    if (block.version < TFS_GODOT_VERSION_MAX)
        check_upgrade(&block);
    tfs_buf_release(&encoded);
    return 0;
}
