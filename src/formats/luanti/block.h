/*
 * The blob of one map block <-> its fields, and the bytes of its sections (FORMAT.md, sections 3
 * and 4).
 *
 * Voxel order of all arrays: x fastest, then z, then y, as in texts. The stored order is x, y, z.
 */
#ifndef TFS_FORMATS_LUANTI_BLOCK_H
#define TFS_FORMATS_LUANTI_BLOCK_H

#include "base/blob.h"

#define TFS_LUANTI_SIDE   16
#define TFS_LUANTI_VOXELS 4096

enum tfs_luanti_version {
    TFS_LUANTI_VERSION_MIN = 22,
    TFS_LUANTI_VERSION_METADATA = 23,     /* metadata is key and value; before, typed */
    TFS_LUANTI_VERSION_EARLY_TIMERS = 24, /* timers before objects, this version alone */
    TFS_LUANTI_VERSION_TIMERS = 25,       /* timers at the end */
    TFS_LUANTI_VERSION_LIGHTING = 27,     /* lighting_complete */
    TFS_LUANTI_VERSION_PRIVATE = 28,      /* private metadata */
    TFS_LUANTI_VERSION_ZSTD = 29,         /* one frame */
    TFS_LUANTI_VERSION_MAX = 29,
};

enum tfs_luanti_flags {
    TFS_LUANTI_UNDERGROUND = 0x01,
    TFS_LUANTI_NOT_AIR = 0x02, /* before 2024: day and night differ */
    TFS_LUANTI_NOT_GENERATED = 0x08,
};

#define TFS_LUANTI_NO_TIMESTAMP UINT32_MAX

enum tfs_luanti_section {
    TFS_LUANTI_NODES, /* param0, param1, param2 */
    TFS_LUANTI_METADATA,
    TFS_LUANTI_OBJECTS,
    TFS_LUANTI_NAMES,
    TFS_LUANTI_TIMERS, /* empty where the version has none */
    TFS_LUANTI_SECTIONS
};

/* A name of the table, and the number that stands for it in param0. */
struct tfs_luanti_name {
    uint16_t id;
    struct tfs_span name;
};

struct tfs_luanti_block {
    uint8_t version, flags;
    uint8_t width;     /* bytes of a param0 */
    uint16_t lighting; /* 0xffff where the version has none */
    uint32_t timestamp;
    struct tfs_span sections[TFS_LUANTI_SECTIONS]; /* not compressed */
    /* The streams of NODES and METADATA as they are stored, versions 22 to 28. A caller that sets
     * another section empties its stream. */
    struct tfs_span streams[TFS_LUANTI_METADATA + 1];

    struct tfs_buf memory;             /* of what was inflated */
    uint32_t count, stored;            /* names that a voxel has, and all */
    struct tfs_luanti_name *names;     /* the former, by id */
    struct tfs_luanti_name *order;     /* all, as they are stored */
    uint32_t nodes[TFS_LUANTI_VOXELS]; /* index into `names` */
    uint8_t param1[TFS_LUANTI_VOXELS], param2[TFS_LUANTI_VOXELS];
};

/* The place of a voxel in the stored order, and the other way round. */
static inline uint32_t tfs_luanti_place(uint32_t voxel)
{
    return (voxel & 0xf) | (voxel >> 4 & 0xf) << 8 | (voxel >> 8 & 0xf) << 4;
}

/* Reads a blob, whose bytes stay the caller's and must outlive the block. ENOTSUP: a version that
 * is not supported; EBADMSG names an offset. Zeroed or closed before; to be released after success
 * only. */
int tfs_luanti_block_open(struct tfs_span blob, struct tfs_luanti_block *block,
                          struct tfs_error *err);
/* The same for a caller that asks for names: `nodes`, `param1` and `param2` are not set. */
int tfs_luanti_names_open(struct tfs_span blob, struct tfs_luanti_block *block,
                          struct tfs_error *err);
void tfs_luanti_block_release(struct tfs_luanti_block *block);

/* Appends the blob of the block's fields and sections; streams that are there are taken as they
 * are. Arrays and names are not looked at. */
int tfs_luanti_block_encode(const struct tfs_luanti_block *block, struct tfs_buf *out,
                            struct tfs_error *err);

/* Appends the section of nodes. An id takes `width` bytes, 1 or 2. */
void tfs_luanti_nodes_encode(struct tfs_buf *out, unsigned width, const uint16_t *ids,
                             const uint8_t *param1, const uint8_t *param2);

bool tfs_luanti_is_air(struct tfs_span name);
bool tfs_luanti_is_ignore(struct tfs_span name);

#endif
