/*
 * The numbers of the Cosmic Reach region format. What they stand for is drawn in FORMAT.md.
 */
#ifndef TFS_FORMATS_COSMIC_REACH_LAYOUT_H
#define TFS_FORMATS_COSMIC_REACH_LAYOUT_H

#include <stdint.h>

#define TFS_COSMIC_MAGIC             "\xff\xec\xce\xac"
#define TFS_COSMIC_MAGIC_SIZE        4
#define TFS_COSMIC_HEADER_SIZE       12 /* magic, FileVersion, CompressionType */
#define TFS_COSMIC_VERSION_MAX       7
#define TFS_COSMIC_VERSION_TABLE_MAX 3 /* up to here: a table of chunks; above: of columns */

enum tfs_cosmic_compression {
    TFS_COSMIC_STORED = 0,
    TFS_COSMIC_LZ4 = 1,
    TFS_COSMIC_GZIP = 2,
};

#define TFS_COSMIC_SIDE         16 /* blocks a chunk side, chunks a region side */
#define TFS_COSMIC_LAYERS       16
#define TFS_COSMIC_LAYER_VALUES 256
#define TFS_COSMIC_VALUES       4096 /* of a chunk: index (y * 16 + z) * 16 + x */

#define TFS_COSMIC_ABSENT (-1) /* a table entry */

/* Chunk table (FileVersion 0-3). */
#define TFS_COSMIC_TABLE_SLOTS  4096
#define TFS_COSMIC_TABLE_DATA   (TFS_COSMIC_HEADER_SIZE + 4 + 4 * TFS_COSMIC_TABLE_SLOTS)
#define TFS_COSMIC_CHUNK_HEADER 20 /* size, version, x, y, z */

/* Columns (FileVersion 4-7). */
#define TFS_COSMIC_COLUMN_SLOTS       256
#define TFS_COSMIC_COLUMN_HEADER      9  /* size, version, number of chunks */
#define TFS_COSMIC_PLACE_SIZE         12 /* x, y, z in front of a body */
#define TFS_COSMIC_COLUMN_VERSION_MIN 4

enum tfs_cosmic_offset_type {
    TFS_COSMIC_OFFSET_S8 = 1,
    TFS_COSMIC_OFFSET_S16,
    TFS_COSMIC_OFFSET_S32,
    TFS_COSMIC_OFFSET_S64,
};

#define TFS_COSMIC_GZIP_HEADER 10

/* Block data. */
enum tfs_cosmic_blocks_type { TFS_COSMIC_BLOCKS_SINGLE = 1, TFS_COSMIC_BLOCKS_LAYERED = 2 };

enum tfs_cosmic_block_layer {
    TFS_COSMIC_SINGLE_BYTE = 1,
    TFS_COSMIC_SINGLE_INT,
    TFS_COSMIC_HALFNIBBLE,
    TFS_COSMIC_NIBBLE,
    TFS_COSMIC_BYTE,
    TFS_COSMIC_SHORT,
    TFS_COSMIC_BIT,
};

#define TFS_COSMIC_BIT_VERSION_MIN  2   /* games of versions 0 and 1 do not know BIT */
#define TFS_COSMIC_BARE_AIR_VERSION 3   /* from here on names have no [default] */
#define TFS_COSMIC_SINGLE_BYTE_MAX  127 /* the game reads SINGLE_BYTE signed */
#define TFS_COSMIC_PALETTE_MAX      4096
#define TFS_COSMIC_NAME_MAX         65535

/* Sky light. */
enum tfs_cosmic_sky_type {
    TFS_COSMIC_SKY_NONE = 1,
    TFS_COSMIC_SKY_LAYERED = 2,
    TFS_COSMIC_SKY_SINGLE = 3,
};
enum tfs_cosmic_sky_layer { TFS_COSMIC_SKY_LAYER_SINGLE = 1, TFS_COSMIC_SKY_LAYER_NIBBLE };
#define TFS_COSMIC_SKY_MASK 0xfU

/* Block light: 0xRGB. */
enum tfs_cosmic_light_type { TFS_COSMIC_LIGHT_NONE = 1, TFS_COSMIC_LIGHT_LAYERED = 2 };
enum tfs_cosmic_light_layer {
    TFS_COSMIC_LIGHT_LAYER_SINGLE = 1,
    TFS_COSMIC_LIGHT_LAYER_SHORT,
    TFS_COSMIC_LIGHT_LAYER_RED, /* MONO: nibbles that replace red, green or blue */
    TFS_COSMIC_LIGHT_LAYER_GREEN,
    TFS_COSMIC_LIGHT_LAYER_BLUE,
};
#define TFS_COSMIC_LIGHT_MASK 0xfffU

/* Block entities: absent in chunks of version 0. */
enum tfs_cosmic_entities_type { TFS_COSMIC_ENTITIES_NONE = 0, TFS_COSMIC_ENTITIES_PRESENT = 1 };
#define TFS_COSMIC_ENTITIES_VERSION_MIN 1

#endif
