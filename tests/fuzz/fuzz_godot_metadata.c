/*
 * Any bytes as metadata.txt of blocks of all versions: refused with sentence and place, or a
 * section that is shown, and written back the same. And as a section, and as meta.vxrm.
 */
#include <errno.h>

#include "formats/godot_voxel/meta.h"
#include "formats/godot_voxel/metadata.h"
#include "fuzz.h"

static void check_section(const struct tfs_godot_block *block)
{
    struct tfs_godot_items items = {0};
    struct tfs_buf text = {0}, section = {0};
    struct tfs_error err = {0};

    REQUIRE(tfs_godot_metadata_read(block, &items, &err) == 0);
    tfs_godot_metadata_print(&items, &text);
    REQUIRE(tfs_godot_metadata_parse(block, tfs_buf_span(&text), &section, &err) == 0);
    REQUIRE(tfs_span_equal(tfs_buf_span(&section), block->metadata));
    tfs_godot_items_release(&items);
    tfs_buf_release(&text);
    tfs_buf_release(&section);
}

static void check_text(struct tfs_span text, struct tfs_godot_block block)
{
    struct tfs_buf section = {0};
    struct tfs_error err = {0};

    block.metadata = (struct tfs_span){0};
    if (tfs_godot_metadata_parse(&block, text, &section, &err) == 0) {
        block.metadata = tfs_buf_span(&section);
        check_section(&block);
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
        check_section(&block);
        check_text((struct tfs_span){data, size}, block);
    }
    check_meta((struct tfs_span){data, size});
    return 0;
}
