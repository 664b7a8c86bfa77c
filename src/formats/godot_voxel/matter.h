/*
 * Matter: the stored values that make a voxel more than empty, and where the highest lie
 * (FORMAT.md, section 8).
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_MATTER_H
#define TFS_FORMATS_GODOT_VOXEL_MATTER_H

#include "formats/godot_voxel/block.h"

/* Channels of which one value can make a voxel one that is not empty. */
#define TFS_GODOT_SOLID 3
extern const unsigned tfs_godot_solid[TFS_GODOT_SOLID];

/* These values do so, as stored: low to low + span. */
struct tfs_godot_matter {
    uint64_t low, span;
};

/* Those of a channel that is one of tfs_godot_solid. */
struct tfs_godot_matter tfs_godot_matter_of(unsigned version, unsigned channel, unsigned depth);

static inline bool tfs_godot_is_matter(struct tfs_godot_matter m, uint64_t bits)
{
    return bits - m.low <= m.span;
}

/* A channel in which the highest matter is searched. Eight stored bytes of values that are no
 * matter have no bit of `mask` set, once they are xored with `flipped`: so air, which most of a
 * column is, is told apart eight bytes at a time. */
struct tfs_godot_scan {
    const struct tfs_godot_values *values;
    struct tfs_godot_matter m;
    uint64_t flipped, mask;
};

struct tfs_godot_scan tfs_godot_scan_of(const struct tfs_godot_block *block, unsigned channel);
/* False: no voxel is matter by this channel. */
bool tfs_godot_scan_finds(const struct tfs_godot_scan *s);
/* The voxels of a column, which has `y`, up to and with its highest matter; 0: it has none. */
uint32_t tfs_godot_scan_top(const struct tfs_godot_scan *s, size_t column, uint32_t y);

#endif
