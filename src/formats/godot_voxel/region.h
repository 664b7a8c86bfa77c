/*
 * A region file: header, table, sectors (FORMAT.md, section 5).
 *
 * Table entries are numbered y + ry * (x + rx * z), x, y, z being local to the region.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_REGION_H
#define TFS_FORMATS_GODOT_VOXEL_REGION_H

#include "base/file.h"
#include "formats/godot_voxel/meta.h"

struct tfs_godot_region {
    uint8_t version; /* 2 or 3 */
    uint8_t po2;
    uint32_t x, y, z; /* size in blocks */
    uint8_t depths[TFS_GODOT_CHANNELS];
    uint32_t sector_size;
    bool palette;
    size_t table; /* offset of the table */
    size_t begin; /* offset of the sectors */
};

/* One entry of the table; count 0: no block. */
struct tfs_godot_extent {
    uint32_t first; /* sector, from `begin` */
    uint32_t count; /* sectors */
};

uint32_t tfs_godot_region_entries(const struct tfs_godot_region *region);
void tfs_godot_region_at(const struct tfs_godot_region *region, uint32_t index, uint32_t *x,
                         uint32_t *y, uint32_t *z);
uint32_t tfs_godot_region_index(const struct tfs_godot_region *region, uint32_t x, uint32_t y,
                                uint32_t z);
/* The greatest container that fits the sectors of one block. */
uint32_t tfs_godot_region_stored_max(const struct tfs_godot_region *region);

/* The header in front of `bytes`. A version 2 says nothing itself: `meta` does, NULL refuses it
 * (ENOTSUP). */
int tfs_godot_region_parse(struct tfs_span bytes, const struct tfs_godot_meta *meta,
                           struct tfs_godot_region *region, struct tfs_error *err);

/* What the header and the folder's meta say differently: EBADMSG with a sentence. */
int tfs_godot_region_agrees(const struct tfs_godot_region *region,
                            const struct tfs_godot_meta *meta, struct tfs_error *err);

/* Reads the table, which `bytes` hold whole, of a file of `size` bytes; refuses entries that cannot
 * be, and blocks that overlap. `extents` has room for all entries. */
int tfs_godot_region_table(const struct tfs_godot_region *region, struct tfs_span bytes,
                           uint64_t size, struct tfs_godot_extent *extents, struct tfs_error *err);

/* Offset of a block's sectors, and how many bytes of them the file has. */
uint64_t tfs_godot_extent_offset(const struct tfs_godot_region *region,
                                 struct tfs_godot_extent extent);
uint64_t tfs_godot_extent_size(const struct tfs_godot_region *region,
                               struct tfs_godot_extent extent, uint64_t file_size);

/* The stored block in its sectors; EBADMSG when it does not fit them. */
int tfs_godot_region_block(struct tfs_span sectors, struct tfs_span *stored, struct tfs_error *err);

/* Appends the header of a version 3 region, without palette. */
void tfs_godot_region_header(const struct tfs_godot_region *region, struct tfs_buf *out);

/* ---- writing --------------------------------------------------------------------------------- */

/* What becomes of one entry. */
struct tfs_godot_change {
    uint32_t index;
    struct tfs_span stored; /* the new block; data NULL: there is none any more */
};

/* Writes the region `old`, whose file is `bytes` and whose table is `extents`, with changes, sorted
 * by index, as the engine would: unchanged blocks keep their sectors. `header` is all that stands
 * in front of the table; its layout may be another one than old's. */
int tfs_godot_region_write(const struct tfs_godot_region *old, struct tfs_span bytes,
                           const struct tfs_godot_extent *extents, struct tfs_span header,
                           const struct tfs_godot_change *changes, size_t count,
                           struct tfs_sink *sink, struct tfs_error *err);

#endif
