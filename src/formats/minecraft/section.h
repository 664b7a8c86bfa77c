/*
 * A section, 16 x 16 x 16 blocks (FORMAT.md, section 4): the payload of its compound -> where its
 * values lie in it, and their numbers.
 */
#ifndef TFS_FORMATS_MINECRAFT_SECTION_H
#define TFS_FORMATS_MINECRAFT_SECTION_H

#include "formats/minecraft/column.h"

#define TFS_MC_SIDE   16
#define TFS_MC_LAYER  256
#define TFS_MC_VOXELS 4096
#define TFS_MC_LIGHTS (TFS_MC_VOXELS / 2) /* bytes of light */

struct tfs_mc_section {
    enum tfs_mc_layout layout;
    int8_t y;
    struct tfs_mc_nbt_list palette; /* not of numbers */
    struct tfs_span longs;          /* big-endian; empty: all blocks are the first of the palette */
    struct tfs_span blocks, data, add; /* of numbers; `add` may be empty */
    struct tfs_span sky, light;        /* data NULL: there is none */
};

/* EBADMSG: it is no section of that layout. */
int tfs_mc_section_open(struct tfs_span bytes, enum tfs_mc_layout layout,
                        struct tfs_mc_section *section, struct tfs_error *err);
/* What each block is: its place in the palette; of numbers id << 4 | data. */
int tfs_mc_section_values(const struct tfs_mc_section *section, uint32_t values[TFS_MC_VOXELS],
                          struct tfs_error *err);
/* Has every block the same value? It is the first of the palette then. */
bool tfs_mc_section_is_single(const struct tfs_mc_section *section);
/* Do two sections say of every block the same, in the same bytes? */
bool tfs_mc_section_same_blocks(const struct tfs_mc_section *a, const struct tfs_mc_section *b);

/* `count` values packed into longs, as sections and heightmaps have them: `bits` each, from the
 * lowest on. */
struct tfs_mc_packing {
    size_t count;
    bool straddled;
};

/* Bytes of so many values. */
size_t tfs_mc_packed_size(struct tfs_mc_packing packing, unsigned bits);
/* The bits of values in so many bytes, at least `least`; 0: they are too few, or too many. */
unsigned tfs_mc_packed_bits(struct tfs_mc_packing packing, size_t size, unsigned least);
void tfs_mc_pack(struct tfs_mc_packing packing, unsigned bits, const uint32_t *values,
                 struct tfs_buf *out);
void tfs_mc_unpack(struct tfs_mc_packing packing, unsigned bits, const uint8_t *longs,
                   uint32_t *values);

struct tfs_mc_packing tfs_mc_block_packing(enum tfs_mc_layout layout);
/* The bits of values below `count` in a section. */
unsigned tfs_mc_block_bits(uint32_t count);

#endif
