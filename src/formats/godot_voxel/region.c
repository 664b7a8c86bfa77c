/*
 * The bytes of a region file -> its header, and where its table is.
 *
 * Must not know chunks, folders or blocks. Nothing is allocated by a number of the file.
 */
#include "formats/godot_voxel/region.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void find_at(const struct tfs_godot_region *region, uint32_t index, uint32_t *x, uint32_t *y,
                    uint32_t *z)
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

/* struct tfs_sectors.name */
static void name_entry(const struct tfs_sectors *sectors, uint32_t index,
                       char name[TFS_SECTORS_NAME])
{
    uint32_t x, y, z;

    find_at((const struct tfs_godot_region *)sectors, index, &x, &y, &z);
    snprintf(name, TFS_SECTORS_NAME, "block %u %u %u", x, y, z);
}

/* The table of a region of that size, at that offset. */
static void place_table(struct tfs_godot_region *region, size_t table)
{
    region->sectors.table = table;
    region->sectors.entries = region->x * region->y * region->z;
    region->sectors.name = name_entry;
}

/* ---- the header ------------------------------------------------------------------------------ */

static void take_meta(const struct tfs_godot_meta *meta, struct tfs_godot_region *region)
{
    region->po2 = meta->po2;
    region->x = region->y = region->z = UINT32_C(1) << meta->region_po2;
    memcpy(region->depths, meta->depths, sizeof(region->depths));
    region->sectors.size = meta->sector_size;
}

void tfs_godot_region_of_meta(const struct tfs_godot_meta *meta, struct tfs_godot_region *region)
{
    *region = (struct tfs_godot_region){.version = (uint8_t)meta->version};
    take_meta(meta, region);
    place_table(region, TFS_GODOT_REGION_HEADER_2);
}

static int take_header(struct tfs_cursor *c, struct tfs_godot_region *region, struct tfs_error *err)
{
    region->po2 = tfs_take_u8(c);
    region->x = tfs_take_u8(c);
    region->y = tfs_take_u8(c);
    region->z = tfs_take_u8(c);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        region->depths[i] = tfs_take_u8(c);
    region->sectors.size = tfs_take_u16le(c);
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
    if (region->sectors.size == 0)
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
    place_table(&parsed, tfs_cursor_offset(&c));
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
    if (region->sectors.size != meta->sector_size)
        return differ("sector_size", region->sectors.size, meta->sector_size, err);
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
    tfs_buf_u16le(out, (uint16_t)region->sectors.size);
    tfs_buf_u8(out, 0);
}
