/*
 * Any bytes as a region file: refused with a sentence, or blocks that can be found, and after one
 * was taken away and one was added, a file in which all others are the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/godot_voxel/region.h"
#include "fuzz.h"

#define ENTRIES_MAX 65536 /* larger tables are only slower */

static const struct tfs_godot_meta meta = {
    .version = 2, .po2 = 4, .region_po2 = 1, .sector_size = 16, .lods = 1};

struct memory_sink {
    struct tfs_sink sink; /* first */
    struct tfs_buf out;
};

static int memory_write(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    (void)err;
    tfs_buf_add(&((struct memory_sink *)sink)->out, data, size);
    return 0;
}

struct opened {
    struct tfs_godot_region region;
    struct tfs_extent *extents;
    struct tfs_span bytes;
};

static bool open_region(struct tfs_span bytes, struct opened *opened)
{
    struct tfs_error err = {0};

    opened->bytes = bytes;
    opened->extents = NULL;
    if (tfs_godot_region_parse(bytes, &meta, &opened->region, &err) == 0 &&
        opened->region.sectors.entries <= ENTRIES_MAX &&
        tfs_sectors_read(&opened->region.sectors, bytes, bytes.size, &opened->extents, &err) == 0)
        return true;
    REQUIRE(err.code == 0 || err.text[0] != '\0');
    return false;
}

static struct tfs_span sectors_of(const struct opened *opened, uint32_t index)
{
    return tfs_extent_span(&opened->region.sectors, opened->extents[index], opened->bytes);
}

/* A sector that was not whole may have become so. */
static bool begins_with(struct tfs_span span, struct tfs_span front)
{
    return span.size >= front.size &&
           (front.size == 0 || memcmp(span.data, front.data, front.size) == 0);
}

static void check_entry(const struct opened *before, const struct opened *after, uint32_t i,
                        struct tfs_span fresh, bool removed)
{
    const struct tfs_span sectors = sectors_of(after, i);

    if (i == 0) {
        REQUIRE(tfs_span_equal(tfs_sectors_block(sectors), fresh));
    } else if (removed) {
        REQUIRE(sectors.size == 0);
    } else {
        REQUIRE(begins_with(sectors, sectors_of(before, i)));
        REQUIRE((sectors.size > 0) == (before->extents[i].count > 0));
    }
}

/* Entry 0 gets another block, the last one none. */
static void check_write(const struct opened *before)
{
    const uint32_t entries = before->region.sectors.entries;
    const struct tfs_span header = {before->bytes.data, before->region.sectors.table};
    const struct tfs_span fresh = tfs_span_of("a block of some bytes");
    const struct tfs_sectors_change changes[] = {{0, fresh}, {entries - 1, {0}}};
    struct memory_sink sink = {.sink = {memory_write}};
    struct opened after;
    struct tfs_error err = {0};
    size_t count = entries > 1 ? 2 : 1;

    const struct tfs_sectors_file old = {&before->region.sectors, before->bytes, before->extents};
    if (tfs_sectors_write(&old, header, changes, count, &sink.sink, &err) == 0) {
        REQUIRE(open_region(tfs_buf_span(&sink.out), &after));
        for (uint32_t i = 0; i < entries; i++)
            check_entry(before, &after, i, fresh, i == entries - 1);
        free(after.extents);
    } else {
        REQUIRE(err.code == -EFBIG && err.text[0] != '\0');
    }
    tfs_buf_release(&sink.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct opened opened;

    if (!open_region((struct tfs_span){data, size}, &opened))
        return 0;
    check_write(&opened);
    free(opened.extents);
    return 0;
}
