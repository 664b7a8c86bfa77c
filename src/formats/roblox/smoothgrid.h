/*
 * SmoothGrid: the bytes of a terrain <-> its chunks <-> their cells (FORMAT.md, section 2).
 *
 * A value is a header and chunks; a chunk is an offset from the chunk before and records, runs of
 * equal cells. Finding the chunks of a value skips the records without making cells of them.
 *
 * Cell order of every array here: x fastest, then z, then y: index = (y * E + z) * E + x, with E
 * the chunk's edge, 2^log2. A cell is one number, see tfs_rbx_cell.
 */
#ifndef TFS_FORMATS_ROBLOX_SMOOTHGRID_H
#define TFS_FORMATS_ROBLOX_SMOOTHGRID_H

#include "base/buf.h"
#include "formats/roblox/material.h"

#define TFS_RBX_VERSION      1
#define TFS_RBX_LOG2_MAX     8
#define TFS_RBX_LOG2_DEFAULT 5  /* what the engine writes */
#define TFS_RBX_OFFSET_SIZE  12 /* three i32 */
#define TFS_RBX_CHUNKS_MAX                                                                         \
    (UINT32_C(1) << 22) /* of a value; each costs ten times its least bytes */

/* ---- cells and records ----------------------------------------------------------------------- */

/* material 0..63, occupancy and water 0..255, in one byte each from the lowest. */
static inline uint32_t tfs_rbx_cell(uint32_t material, uint32_t occupancy, uint32_t water)
{
    return material | occupancy << 8 | water << 16;
}

static inline uint32_t tfs_rbx_cell_material(uint32_t cell)
{
    return cell & 0xff;
}

static inline uint32_t tfs_rbx_cell_occupancy(uint32_t cell)
{
    return cell >> 8 & 0xff;
}

static inline uint32_t tfs_rbx_cell_water(uint32_t cell)
{
    return cell >> 16;
}

/* Air without occupancy and water: what a chunk is made of before anything is put into it. */
#define TFS_RBX_EMPTY UINT32_C(0)

static inline uint32_t tfs_rbx_edge(uint32_t log2)
{
    return UINT32_C(1) << log2;
}

static inline size_t tfs_rbx_cell_count(uint32_t log2)
{
    return (size_t)1 << 3 * log2;
}

struct tfs_rbx_run {
    uint32_t cell;
    uint32_t count; /* 1..256 */
};

/* A record is: flag, occupancy if TFS_RBX_HAS_OCCUPANCY, count - 1 if TFS_RBX_HAS_COUNT; a count
 * byte of 0 means one cell and that its water follows. */
#define TFS_RBX_MATERIAL_MASK 0x3f
#define TFS_RBX_HAS_OCCUPANCY 0x40
#define TFS_RBX_HAS_COUNT     0x80
#define TFS_RBX_RECORD_MAX    4 /* bytes */

static inline uint32_t tfs_rbx_default_occupancy(uint32_t material)
{
    return material == TFS_RBX_AIR ? 0 : 255;
}

/* The fields behind the flag, from `at` on; returns what is behind them. */
static inline const uint8_t *tfs_rbx_take_fields(const uint8_t *at, uint32_t flag,
                                                 struct tfs_rbx_run *run)
{
    uint32_t material = flag & TFS_RBX_MATERIAL_MASK;
    uint32_t occupancy = tfs_rbx_default_occupancy(material);
    uint32_t water = 0;

    run->count = 1;
    if ((flag & TFS_RBX_HAS_OCCUPANCY) != 0)
        occupancy = *at++;
    if ((flag & TFS_RBX_HAS_COUNT) != 0) {
        run->count += *at++;
        if (run->count == 1)
            water = *at++;
    }
    run->cell = tfs_rbx_cell(material, occupancy, water);
    return at;
}

/* A record near the end, which may be cut off: as if zeros followed, then looked whether they were
 * needed. */
bool tfs_rbx_run_take_last(struct tfs_cursor *records, struct tfs_rbx_run *run);

/* The next record; false when it is cut off or there is none. */
static inline bool tfs_rbx_run_take(struct tfs_cursor *records, struct tfs_rbx_run *run)
{
    const uint8_t *at = records->at;

    if (records->failed || records->end - at < TFS_RBX_RECORD_MAX)
        return tfs_rbx_run_take_last(records, run);
    records->at = tfs_rbx_take_fields(at + 1, at[0], run);
    return true;
}

/* Walks over the records of one chunk. EBADMSG when they are cut off or a run is too long; the
 * offset in the sentence counts from the cursor's start. */
int tfs_rbx_records_take(struct tfs_cursor *c, uint32_t log2, struct tfs_error *err);

/* Are these the records of exactly one chunk? EBADMSG; the offset in the sentence counts from their
 * start. */
int tfs_rbx_records_check(struct tfs_span records, uint32_t log2, struct tfs_error *err);

/* Material, occupancy and water of all cells of a chunk. */
#define TFS_RBX_PLANES 3
struct tfs_rbx_planes {
    uint8_t *values[TFS_RBX_PLANES]; /* tfs_rbx_cell_count(log2) each */
};

/* The value of a cell in a plane. */
static inline uint32_t tfs_rbx_cell_value(uint32_t cell, unsigned plane)
{
    return cell >> 8 * plane & 0xff;
}

/* Fills the planes that are not NULL; records that do not pass the check are EBADMSG. */
int tfs_rbx_records_decode(struct tfs_span records, uint32_t log2,
                           const struct tfs_rbx_planes *planes, struct tfs_error *err);
/* Appends the records as the engine writes them (section 2.3). */
void tfs_rbx_records_encode(struct tfs_buf *out, const struct tfs_rbx_planes *planes, size_t count);

/* Appends the records of a chunk of empty cells. */
void tfs_rbx_records_empty(struct tfs_buf *out, uint32_t log2);

/* Are the cells of two chunks the same, whatever the spelling? Both are valid records of chunks of
 * one size. */
bool tfs_rbx_records_same(struct tfs_span a, struct tfs_span b);
/* Is every cell empty? */
bool tfs_rbx_records_are_empty(struct tfs_span records);

/* ---- chunks of a value ----------------------------------------------------------------------- */

struct tfs_rbx_position {
    int32_t x, y, z;
};

/* Ascending by x, then y, then z: the order in which the engine writes. */
int tfs_rbx_position_compare(struct tfs_rbx_position a, struct tfs_rbx_position b);

/* Chunks further out than this are kept where they are stored; the engine refuses them (section
 * 2.5). */
#define TFS_RBX_POSITION_MAX 262144
bool tfs_rbx_position_legal(struct tfs_rbx_position at);

struct tfs_rbx_entry {
    struct tfs_rbx_position position;
    size_t order;            /* 0 for the first chunk of the value */
    struct tfs_span records; /* in the value */
};

struct tfs_rbx_index {
    uint32_t log2;
    bool sorted; /* the value's chunks ascend */
    size_t count;
    struct tfs_rbx_entry *entries; /* ascending by position */
};

/* The first bytes of a value that is not empty, before the rest is unpacked: may it be one that is
 * read? Refuses as tfs_rbx_index_open does. */
int tfs_rbx_header_check(struct tfs_span head, struct tfs_error *err);

/* Do these bytes begin as a value does, with chunks that read? False also where not even two of
 * that size fit in. */
bool tfs_rbx_value_begins(struct tfs_span bytes);
/* Finds the chunks of a value: refuses what is damaged (EBADMSG) or of another version (ENOTSUP),
 * with the offset in the value and the chunk. A value of no bytes has no chunks. */
int tfs_rbx_index_open(struct tfs_span value, struct tfs_rbx_index *index, struct tfs_error *err);
void tfs_rbx_index_release(struct tfs_rbx_index *index);

void tfs_rbx_value_begin(struct tfs_buf *out, uint32_t log2);
/* The 12 bytes between two chunks, or two regions of PhysicsGrid; `from` is (0,0,0) at first. */
void tfs_rbx_offset_put(struct tfs_buf *out, struct tfs_rbx_position from,
                        struct tfs_rbx_position to);
struct tfs_rbx_position tfs_rbx_offset_take(struct tfs_cursor *c, struct tfs_rbx_position from);

/* Do two values of one edge describe the same voxels? (An absent chunk is as good as an empty
 * one.) */
bool tfs_rbx_indexes_same(const struct tfs_rbx_index *a, const struct tfs_rbx_index *b);

#endif
