/*
 * Any bytes as a stored block and as stored instances: refused with a sentence, or a block whose
 * BlockData encodes to itself and comes back out of every kind of container.
 */
#include <errno.h>

#include "formats/godot_voxel/block.h"
#include "formats/godot_voxel/instances.h"
#include "fuzz.h"

/* The same BlockData in a container of that kind. */
static void check_kind(struct tfs_span data, enum tfs_godot_kind kind)
{
    struct tfs_godot_block block = {0};
    struct tfs_buf stored = {0};
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};

    REQUIRE(tfs_godot_wrap(kind, data, &stored, &err) == 0);
    REQUIRE(tfs_blob_take(&stored, &blob, &err) == 0);
    REQUIRE(tfs_godot_block_open(blob, &block, &err) == 0);
    REQUIRE(tfs_span_equal(tfs_blob_span(block.data), data));
    tfs_godot_block_release(&block);
    tfs_blob_unref(blob);
}

static void check_block(struct tfs_blob *stored)
{
    struct tfs_godot_block block = {0};
    struct tfs_buf data = {0};
    struct tfs_error err = {0};

    if (tfs_godot_block_open(stored, &block, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
        return;
    }
    tfs_godot_block_encode(&block, &data);
    if (!block.has_metadata || block.metadata.size > 0)
        REQUIRE(tfs_span_equal(tfs_buf_span(&data), tfs_blob_span(block.data)));
    for (enum tfs_godot_kind kind = TFS_GODOT_BARE; kind < TFS_GODOT_KINDS; kind++)
        check_kind(tfs_blob_span(block.data), kind);
    tfs_buf_release(&data);
    tfs_godot_block_release(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_blob *stored = NULL;
    struct tfs_error err = {0};

    REQUIRE(tfs_blob_copy((struct tfs_span){data, size}, &stored, &err) == 0);
    check_block(stored);
    if (tfs_godot_instances_check(stored, &err) < 0)
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
    tfs_godot_block_begins((struct tfs_span){data, size});
    tfs_blob_unref(stored);
    return 0;
}
