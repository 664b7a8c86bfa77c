/*
 * Any bytes as metadata.txt of blocks of all versions: refused with sentence and place, or a
 * section that is shown, and written back the same. And as a section, and as meta.vxrm.
 */
#include <errno.h>

#include "formats/godot_voxel/meta.h"
#include "fuzz_godot.h"

static void check_text(struct tfs_span text, struct tfs_godot_block block)
{
    struct tfs_buf section = {0};
    struct tfs_error err = {0};

    block.metadata = (struct tfs_span){0};
    if (tfs_godot_metadata_parse(&block, text, &section, &err) == 0) {
        block.metadata = tfs_buf_span(&section);
        check_metadata(&block);
    } else {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0' && err.line > 0);
    }
    tfs_buf_release(&section);
}

static void check_meta(struct tfs_span text)
{
    struct tfs_godot_meta meta;
    struct tfs_buf newer = {0};
    struct tfs_error err = {0};

    if (tfs_godot_meta_parse(text, &meta, &err) < 0) {
        REQUIRE(err.text[0] != '\0');
        return;
    }
    if (tfs_godot_meta_upgrade(text, &newer, &err) == 0) {
        REQUIRE(tfs_godot_meta_parse(tfs_buf_span(&newer), &meta, &err) == 0);
        REQUIRE(meta.version == TFS_GODOT_REGION_VERSION_MAX);
    }
    tfs_buf_release(&newer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned version = 2; version <= 4; version++) {
        struct tfs_godot_block block = {
            .version = (uint8_t)version, .x = 16, .y = 16, .z = 16, .metadata = {data, size}};
        check_metadata(&block);
        check_text((struct tfs_span){data, size}, block);
    }
    check_meta((struct tfs_span){data, size});
    return 0;
}
