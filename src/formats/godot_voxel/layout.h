/*
 * The numbers of the Godot Voxel Tools formats. What they stand for is drawn in FORMAT.md.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_LAYOUT_H
#define TFS_FORMATS_GODOT_VOXEL_LAYOUT_H

#include <stdint.h>

/* BlockData. */
#define TFS_GODOT_VERSION_MIN  2
#define TFS_GODOT_VERSION_MAX  4
#define TFS_GODOT_EPILOGUE     UINT32_C(0x900df00d)
#define TFS_GODOT_HEADER_SIZE  7  /* version and three sizes */
#define TFS_GODOT_DATA_MIN     27 /* header, eight UNIFORM channels of a byte, epilogue */
#define TFS_GODOT_DATA_MAX     (UINT64_C(1) << 28)
#define TFS_GODOT_VOLUME_MAX   (UINT32_C(1) << 24)
#define TFS_GODOT_DEPTH_MAX    3 /* a value of depth d has 1 << d bytes */
#define TFS_GODOT_METADATA_MIN 4 /* metadata_size itself */

enum tfs_godot_channel {
    TFS_GODOT_TYPE,
    TFS_GODOT_SDF,
    TFS_GODOT_COLOR,
    TFS_GODOT_INDICES,
    TFS_GODOT_WEIGHTS,
    TFS_GODOT_DATA5,
    TFS_GODOT_DATA6,
    TFS_GODOT_DATA7,
    TFS_GODOT_CHANNELS
};

enum tfs_godot_mode { TFS_GODOT_NONE = 0, TFS_GODOT_UNIFORM = 1 };

/* Metadata items of version 4. */
enum tfs_godot_metadata_type {
    TFS_GODOT_METADATA_EMPTY = 0,
    TFS_GODOT_METADATA_U64 = 1,
    TFS_GODOT_METADATA_VARIANT = 32,
    TFS_GODOT_METADATA_CUSTOM = 33, /* and above */
};

/* Compressed containers: the byte in front. */
enum tfs_godot_case_byte {
    TFS_GODOT_CASE_STORED = 0,
    TFS_GODOT_CASE_LZ4_BE = 1,
    TFS_GODOT_CASE_LZ4 = 2,
    TFS_GODOT_CASE_ZSTD = 3,
};

#define TFS_GODOT_ZSTD_LEVEL 3
/* The most that LZ4 can make of so many bytes: 255 times as many, and a little. */
#define TFS_GODOT_LZ4_RATIO 255
#define TFS_GODOT_LZ4_SLACK 64
/* The smallest Zstandard block, of 4 bytes, gives the largest, of 128 KiB. */
#define TFS_GODOT_ZSTD_RATIO (128 * 1024 / 4)

/* Levels of detail, block sizes, regions. */
#define TFS_GODOT_LODS     24
#define TFS_GODOT_FARTHEST 33554431 /* block coordinate, either way and at every level */
#define TFS_GODOT_PO2_MIN  1
#define TFS_GODOT_PO2_MAX  8

#define TFS_GODOT_REGION_MAGIC       "VXR_"
#define TFS_GODOT_REGION_MAGIC_SIZE  4
#define TFS_GODOT_REGION_VERSION_MIN 2
#define TFS_GODOT_REGION_VERSION_MAX 3
#define TFS_GODOT_REGION_HEADER_2    5  /* magic and version: the table follows */
#define TFS_GODOT_REGION_HEADER_3    20 /* the table follows, or the palette */
#define TFS_GODOT_REGION_PALETTE     1024
#define TFS_GODOT_REGION_HAS_PALETTE 0xff
#define TFS_GODOT_REGION_PO2_MAX     7 /* above, sides do not fit their byte */
#define TFS_GODOT_REGION_SIDE_MAX    254

#endif
