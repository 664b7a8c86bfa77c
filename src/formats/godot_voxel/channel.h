/*
 * The eight channels: what their values are called, how they are written, and their order
 * (FORMAT.md, sections 3 and 8).
 *
 * Grid order, as text/grid.h has it: index (y * size_z + z) * size_x + x.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_CHANNEL_H
#define TFS_FORMATS_GODOT_VOXEL_CHANNEL_H

#include "formats/godot_voxel/block.h"
#include "text/grid.h"

extern const char *const tfs_godot_channel_names[TFS_GODOT_CHANNELS];

/* The bits of a voxel that nobody wrote. */
uint64_t tfs_godot_empty_value(unsigned channel, unsigned version, unsigned depth);

/* One stored value of 1 << size_log bytes, which is its depth. */
static inline uint64_t tfs_godot_get_bits(const uint8_t *bytes, unsigned size_log)
{
    uint64_t bits = bytes[0];

    for (unsigned i = 1; i < 1u << size_log; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    return bits;
}

void tfs_godot_set_bits(uint8_t *bytes, uint64_t bits, unsigned depth);

/* How values of a channel stand in text, and which are allowed. */
struct tfs_grid_rules tfs_godot_channel_rules(const struct tfs_godot_block *block, unsigned channel,
                                              unsigned depth);

/* Values in memory: 32 bits each (signed ones as an int32_t), or 64 for depth 3. */
struct tfs_godot_array {
    bool wide;
    union {
        void *memory; /* to be freed; NULL: nothing held */
        uint32_t *values;
        uint64_t *values64;
    };
};

/* `count` values of that depth, not set. */
int tfs_godot_array_create(struct tfs_godot_array *array, size_t count, unsigned depth,
                           struct tfs_error *err);
void tfs_godot_array_release(struct tfs_godot_array *array);

static inline uint64_t tfs_godot_array_get(const struct tfs_godot_array *array, size_t i)
{
    return array->wide ? array->values64[i] : array->values[i];
}

void tfs_godot_array_set(struct tfs_godot_array *array, size_t i, uint64_t value);

/* One row along x: array->values[first] and on. */
void tfs_godot_row_read(const struct tfs_godot_block *block, unsigned channel, uint32_t y,
                        uint32_t z, struct tfs_godot_array *array, size_t first);

/* All values of a channel in grid order. */
int tfs_godot_channel_read(const struct tfs_godot_block *block, unsigned channel,
                           struct tfs_godot_array *array, struct tfs_error *err);

/* The value of a UNIFORM channel, as the array has it. */
uint64_t tfs_godot_uniform_value(const struct tfs_godot_block *block, unsigned channel);

/* Appends stored values: all of them, or the one of a UNIFORM channel. */
void tfs_godot_channel_write(const struct tfs_godot_block *block,
                             const struct tfs_godot_array *array, unsigned depth,
                             struct tfs_buf *out);
void tfs_godot_put_bits(struct tfs_buf *out, uint64_t bits, unsigned depth);

#endif
