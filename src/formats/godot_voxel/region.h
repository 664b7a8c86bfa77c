/*
 * A region file: a header, then table and sectors (formats/containers/sectors.h; FORMAT.md, section
 * 5).
 *
 * Table entries are numbered y + ry * (x + rx * z), x, y, z being local to the region.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_REGION_H
#define TFS_FORMATS_GODOT_VOXEL_REGION_H

#include "formats/godot_voxel/meta.h"
#include "formats/containers/sectors.h"

struct tfs_godot_region {
    struct tfs_sectors sectors; /* first */
    uint8_t version;            /* 2 or 3 */
    uint8_t po2;
    uint32_t x, y, z; /* size in blocks */
    uint8_t depths[TFS_GODOT_CHANNELS];
    bool palette;
};

uint32_t tfs_godot_region_index(const struct tfs_godot_region *region, uint32_t x, uint32_t y,
                                uint32_t z);

/* The header in front of `bytes`. A version 2 says nothing itself: `meta` does, NULL refuses it
 * (ENOTSUP). */
int tfs_godot_region_parse(struct tfs_span bytes, const struct tfs_godot_meta *meta,
                           struct tfs_godot_region *region, struct tfs_error *err);

/* A region of a folder, without blocks yet. */
void tfs_godot_region_of_meta(const struct tfs_godot_meta *meta, struct tfs_godot_region *region);

/* What the header and the folder's meta say differently: EBADMSG with a sentence. */
int tfs_godot_region_agrees(const struct tfs_godot_region *region,
                            const struct tfs_godot_meta *meta, struct tfs_error *err);

/* Appends the header of a version 3 region, without palette. */
void tfs_godot_region_header(const struct tfs_godot_region *region, struct tfs_buf *out);

#endif
