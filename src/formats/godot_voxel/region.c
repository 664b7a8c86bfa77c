/*
 * The bytes of a region file -> header and table.
 *
 * Must not know chunks, folders or blocks. Nothing is allocated by a number of the file.
 */
#include "formats/godot_voxel/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t tfs_godot_region_entries(const struct tfs_godot_region *region)
{
    return region->x * region->y * region->z;
}

void tfs_godot_region_at(const struct tfs_godot_region *region, uint32_t index, uint32_t *x,
                         uint32_t *y, uint32_t *z)
{
    *y = index % region->y;
    *x = index / region->y % region->x;
    *z = index / region->y / region->x;
}

uint32_t tfs_godot_region_index(const struct tfs_godot_region *region, uint32_t x, uint32_t y,
                                uint32_t z)
{
    return y + region->y * (x + region->x * z);
}

uint32_t tfs_godot_region_stored_max(const struct tfs_godot_region *region)
{
    return TFS_GODOT_SECTORS_MAX * region->sector_size - TFS_GODOT_BLOCK_HEADER;
}

/* ---- the header ------------------------------------------------------------------------------ */

static void take_meta(const struct tfs_godot_meta *meta, struct tfs_godot_region *region)
{
    region->po2 = meta->po2;
    region->x = region->y = region->z = UINT32_C(1) << meta->region_po2;
    memcpy(region->depths, meta->depths, sizeof(region->depths));
    region->sector_size = meta->sector_size;
}

static int take_header(struct tfs_cursor *c, struct tfs_godot_region *region, struct tfs_error *err)
{
    region->po2 = tfs_take_u8(c);
    region->x = tfs_take_u8(c);
    region->y = tfs_take_u8(c);
    region->z = tfs_take_u8(c);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        region->depths[i] = tfs_take_u8(c);
    region->sector_size = tfs_take_u16le(c);
    uint8_t palette = tfs_take_u8(c);
    region->palette = palette == TFS_GODOT_REGION_HAS_PALETTE;
    if (region->palette)
        tfs_take(c, TFS_GODOT_REGION_PALETTE);
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "is cut off within its header");
    if (palette != 0 && !region->palette)
        return tfs_fail(err, -EBADMSG, "has the unknown byte %02x for its palette, at byte 19",
                        palette);
    return 0;
}

static int check_header(const struct tfs_godot_region *region, struct tfs_error *err)
{
    const uint32_t sides[] = {region->x, region->y, region->z};

    if (region->po2 < TFS_GODOT_PO2_MIN || region->po2 > TFS_GODOT_PO2_MAX)
        return tfs_fail(err, -EBADMSG, "has blocks of 2^%u voxels, 2^%d to 2^%d are possible",
                        region->po2, TFS_GODOT_PO2_MIN, TFS_GODOT_PO2_MAX);
    for (unsigned i = 0; i < 3; i++)
        if (sides[i] == 0 || sides[i] > TFS_GODOT_REGION_SIDE_MAX)
            return tfs_fail(err, -EBADMSG, "has %u x %u x %u blocks, 1 to %d a side are possible",
                            region->x, region->y, region->z, TFS_GODOT_REGION_SIDE_MAX);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (region->depths[i] > TFS_GODOT_DEPTH_MAX)
            return tfs_fail(err, -EBADMSG, "has the unknown depth %u for channel %u",
                            region->depths[i], i);
    if (region->sector_size == 0)
        return tfs_fail(err, -EBADMSG, "has sectors of 0 bytes");
    return 0;
}

int tfs_godot_region_parse(struct tfs_span bytes, const struct tfs_godot_meta *meta,
                           struct tfs_godot_region *region, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    struct tfs_span magic = tfs_take(&c, TFS_GODOT_REGION_MAGIC_SIZE);
    struct tfs_godot_region parsed = {.version = tfs_take_u8(&c)};

    if (c.failed || !tfs_span_equal(magic, tfs_span_of(TFS_GODOT_REGION_MAGIC)))
        return tfs_fail(err, -EBADMSG, "does not begin as a region does, with VXR_");
    if (parsed.version < TFS_GODOT_REGION_VERSION_MIN ||
        parsed.version > TFS_GODOT_REGION_VERSION_MAX)
        return tfs_fail(err, -ENOTSUP, "region version %u is not supported, only %d and %d",
                        parsed.version, TFS_GODOT_REGION_VERSION_MIN, TFS_GODOT_REGION_VERSION_MAX);
    if (parsed.version == TFS_GODOT_REGION_VERSION_MIN && meta == NULL)
        return tfs_fail(err, -ENOTSUP,
                        "is a region of version 2, which does not say itself what is in it, and "
                        "there is no ../../" TFS_GODOT_META_NAME " that does");
    if (parsed.version == TFS_GODOT_REGION_VERSION_MIN)
        take_meta(meta, &parsed);
    else if (take_header(&c, &parsed, err) < 0)
        return err->code;
    if (check_header(&parsed, err) < 0)
        return err->code;
    parsed.table = tfs_cursor_offset(&c);
    parsed.begin = parsed.table + (size_t)4 * tfs_godot_region_entries(&parsed);
    *region = parsed;
    return 0;
}

static int differ(const char *what, unsigned ours, unsigned theirs, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG,
                    "says %s %u, but " TFS_GODOT_META_NAME " says %u: the game ignores this region",
                    what, ours, theirs);
}

int tfs_godot_region_agrees(const struct tfs_godot_region *region,
                            const struct tfs_godot_meta *meta, struct tfs_error *err)
{
    const uint32_t side = UINT32_C(1) << meta->region_po2;

    if (region->po2 != meta->po2)
        return differ("block_size_po2", region->po2, meta->po2, err);
    if (region->x != side || region->y != side || region->z != side)
        return tfs_fail(err, -EBADMSG,
                        "says region size %u x %u x %u, but " TFS_GODOT_META_NAME
                        " says %u: the game ignores this region",
                        region->x, region->y, region->z, side);
    if (region->sector_size != meta->sector_size)
        return differ("sector_size", region->sector_size, meta->sector_size, err);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (region->depths[i] != meta->depths[i])
            return differ("channel depth", region->depths[i], meta->depths[i], err);
    return 0;
}

void tfs_godot_region_header(const struct tfs_godot_region *region, struct tfs_buf *out)
{
    tfs_buf_add_text(out, TFS_GODOT_REGION_MAGIC);
    tfs_buf_u8(out, TFS_GODOT_REGION_VERSION_MAX);
    tfs_buf_u8(out, region->po2);
    tfs_buf_u8(out, (uint8_t)region->x);
    tfs_buf_u8(out, (uint8_t)region->y);
    tfs_buf_u8(out, (uint8_t)region->z);
    tfs_buf_add(out, region->depths, sizeof(region->depths));
    tfs_buf_u16le(out, (uint16_t)region->sector_size);
    tfs_buf_u8(out, 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

uint64_t tfs_godot_extent_offset(const struct tfs_godot_region *region,
                                 struct tfs_godot_extent extent)
{
    return region->begin + (uint64_t)extent.first * region->sector_size;
}

/* The last sector of a file need not be padded. */
uint64_t tfs_godot_extent_size(const struct tfs_godot_region *region,
                               struct tfs_godot_extent extent, uint64_t file_size)
{
    uint64_t offset = tfs_godot_extent_offset(region, extent);
    uint64_t size = (uint64_t)extent.count * region->sector_size;

    if (offset >= file_size)
        return 0;
    return size < file_size - offset ? size : file_size - offset;
}

static int check_extent(const struct tfs_godot_region *region, uint32_t index,
                        struct tfs_godot_extent extent, uint64_t file_size, struct tfs_error *err)
{
    uint32_t x, y, z;

    tfs_godot_region_at(region, index, &x, &y, &z);
    if (extent.count == 0)
        return tfs_fail(err, -EBADMSG, "block %u %u %u, entry %u of the table, has no sectors", x,
                        y, z, index);
    /* All sectors but the last must be there, and of that one something. */
    uint64_t least = (uint64_t)(extent.count - 1) * region->sector_size;
    if (tfs_godot_extent_size(region, extent, file_size) <= least)
        return tfs_fail(err, -EBADMSG,
                        "block %u %u %u, entry %u of the table, lies behind the end of the file", x,
                        y, z, index);
    return 0;
}

static int compare_first(const void *a, const void *b)
{
    const struct tfs_godot_extent *left = a, *right = b;

    return left->first < right->first ? -1 : left->first > right->first;
}

static int check_overlap(const struct tfs_godot_extent *extents, uint32_t entries,
                         struct tfs_error *err)
{
    size_t count = 0;

    for (uint32_t i = 0; i < entries; i++)
        count += extents[i].count > 0;
    struct tfs_godot_extent *sorted = reallocarray(NULL, count + 1, sizeof(*sorted));
    if (sorted == NULL)
        return tfs_fail_memory(err);
    count = 0;
    for (uint32_t i = 0; i < entries; i++)
        if (extents[i].count > 0)
            sorted[count++] = extents[i];
    qsort(sorted, count, sizeof(*sorted), compare_first);
    for (size_t i = 1; i < count && err->code == 0; i++)
        if (sorted[i].first < sorted[i - 1].first + sorted[i - 1].count)
            tfs_fail(err, -EBADMSG, "two blocks overlap in sector %u", sorted[i].first);
    free(sorted);
    return err->code;
}

int tfs_godot_region_table(const struct tfs_godot_region *region, struct tfs_span bytes,
                           uint64_t size, struct tfs_godot_extent *extents, struct tfs_error *err)
{
    const uint32_t entries = tfs_godot_region_entries(region);
    struct tfs_cursor c = tfs_cursor_init(bytes);

    tfs_cursor_seek(&c, region->table);
    if (tfs_cursor_left(&c) / 4 < entries)
        return tfs_fail(err, -EBADMSG, "is cut off within its table");
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t entry = tfs_take_u32le(&c);
        extents[i] = (struct tfs_godot_extent){entry >> 8, entry & 0xff};
        if (entry != 0 && check_extent(region, i, extents[i], size, err) < 0)
            return err->code;
    }
    return check_overlap(extents, entries, err);
}

int tfs_godot_region_block(struct tfs_span sectors, struct tfs_span *stored, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(sectors);
    uint32_t size = tfs_take_u32le(&c);
    struct tfs_span found = tfs_take(&c, size);

    if (c.failed)
        return tfs_fail(err, -EBADMSG, "its size, %u, is more than its sectors hold", size);
    *stored = found;
    return 0;
}
