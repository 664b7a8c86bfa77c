/*
 * What fuzz targets of Godot blocks share.
 */
#ifndef TFS_TESTS_FUZZ_GODOT_H
#define TFS_TESTS_FUZZ_GODOT_H

#include "formats/godot_voxel/metadata.h"
#include "fuzz.h"

/* The metadata of a block is shown, and written back the same. */
static inline void check_metadata(const struct tfs_godot_block *block)
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

#endif
