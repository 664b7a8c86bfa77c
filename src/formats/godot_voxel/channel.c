/*
 * Stored values of a channel <-> numbers in grid order; what each channel's numbers are.
 *
 * Must not know files, chunks or containers.
 */
#include "formats/godot_voxel/channel.h"

#include <stdlib.h>
#include <string.h>

const char *const tfs_godot_channel_names[TFS_GODOT_CHANNELS] = {
    "type", "sdf", "color", "indices", "weights", "data5", "data6", "data7",
};

#define FLOAT_100  UINT64_C(0x42c80000)
#define DOUBLE_100 UINT64_C(0x4059000000000000)
#define INDICES_16 UINT64_C(0x3210)
#define WEIGHTS    UINT64_C(0x000f)

static uint64_t empty_sdf(unsigned version, unsigned depth)
{
    static const uint64_t unsigned_far[] = {0xff, 0xffff, FLOAT_100, DOUBLE_100};
    static const uint64_t signed_far[] = {0x7f, 0x7fff, FLOAT_100, DOUBLE_100};

    return version == 2 ? unsigned_far[depth] : signed_far[depth];
}

uint64_t tfs_godot_empty_value(unsigned channel, unsigned version, unsigned depth)
{
    switch (channel) {
    case TFS_GODOT_SDF:
        return empty_sdf(version, depth);
    case TFS_GODOT_INDICES:
        return depth == 1 ? INDICES_16 : 0;
    case TFS_GODOT_WEIGHTS:
        return version == 2 ? 0 : WEIGHTS;
    default:
        return 0;
    }
}

/* ---- in text --------------------------------------------------------------------------------- */

static const struct tfs_grid_rules unsigned_rules[] = {
    {{.base = TFS_GRID_DECIMAL, .width = 3}, UINT8_MAX, "0 to 255"},
    {{.base = TFS_GRID_DECIMAL, .width = 5}, UINT16_MAX, "0 to 65535"},
    {{.base = TFS_GRID_DECIMAL, .width = 10}, UINT32_MAX, "0 to 4294967295"},
    {{.base = TFS_GRID_DECIMAL, .width = 20}, UINT64_MAX, "0 to 18446744073709551615"},
};

static const struct tfs_grid_rules signed_rules[] = {
    {{.base = TFS_GRID_SIGNED, .width = 4}, INT8_MAX, "-128 to 127"},
    {{.base = TFS_GRID_SIGNED, .width = 6}, INT16_MAX, "-32768 to 32767"},
};

static const struct tfs_grid_rules real_rules[] = {
    {{.base = TFS_GRID_FLOAT, .width = 15}, 0, "it has 32 bits"},
    {{.base = TFS_GRID_FLOAT, .width = 24}, 0, "it has 64 bits"},
};

struct tfs_grid_rules tfs_godot_channel_rules(const struct tfs_godot_block *block, unsigned channel,
                                              unsigned depth)
{
    struct tfs_grid_rules rules = unsigned_rules[depth];

    if (channel == TFS_GODOT_SDF && depth >= 2)
        rules = real_rules[depth - 2];
    else if (channel == TFS_GODOT_SDF && block->version > 2)
        rules = signed_rules[depth];
    rules.shape.sx = block->x;
    rules.shape.sy = block->y;
    rules.shape.sz = block->z;
    return rules;
}

/* Are small values of this channel signed? */
static bool is_signed(const struct tfs_godot_block *block, unsigned channel, unsigned depth)
{
    return channel == TFS_GODOT_SDF && depth < 2 && block->version > 2;
}

/* ---- in memory ------------------------------------------------------------------------------- */

int tfs_godot_array_create(struct tfs_godot_array *array, size_t count, unsigned depth,
                           struct tfs_error *err)
{
    bool wide = depth == TFS_GODOT_DEPTH_MAX;
    void *memory = malloc(count * (wide ? sizeof(uint64_t) : sizeof(uint32_t)));

    if (memory == NULL)
        return tfs_fail_memory(err);
    array->wide = wide;
    array->memory = memory;
    return 0;
}

void tfs_godot_array_release(struct tfs_godot_array *array)
{
    free(array->memory);
    array->memory = NULL;
}

void tfs_godot_array_set(struct tfs_godot_array *array, size_t i, uint64_t value)
{
    if (array->wide)
        array->values64[i] = value;
    else
        array->values[i] = (uint32_t)value;
}

/* ---- stored values --------------------------------------------------------------------------- */

/* As an int32_t in 32 bits. */
static uint32_t widen(uint64_t bits, unsigned depth)
{
    int32_t value = depth == 0 ? (int8_t)bits : (int16_t)bits;

    return (uint32_t)value;
}

uint64_t tfs_godot_uniform_value(const struct tfs_godot_block *block, unsigned channel)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    uint64_t bits = tfs_godot_get_bits(values->bytes.data, values->depth);

    return is_signed(block, channel, values->depth) ? widen(bits, values->depth) : bits;
}

/* One row along x in stored order lies size_y values apart. */
struct stride {
    const uint8_t *at;
    size_t step;
};

static void read_row8(struct stride from, uint32_t *out, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++, from.at += from.step)
        out[x] = *from.at;
}

static void read_row16(struct stride from, uint32_t *out, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++, from.at += from.step)
        out[x] = (uint32_t)from.at[0] | (uint32_t)from.at[1] << 8;
}

static void read_row32(struct stride from, uint32_t *out, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++, from.at += from.step)
        out[x] = (uint32_t)tfs_godot_get_bits(from.at, 2);
}

static void read_row64(struct stride from, uint64_t *out, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++, from.at += from.step)
        out[x] = tfs_godot_get_bits(from.at, 3);
}

static void spread(struct tfs_godot_array *array, size_t first, size_t count, uint64_t value)
{
    for (size_t i = first; i < first + count; i++)
        tfs_godot_array_set(array, i, value);
}

void tfs_godot_row_read(const struct tfs_godot_block *block, unsigned channel, uint32_t y,
                        uint32_t z, struct tfs_godot_array *array, size_t first)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    const unsigned depth = values->depth;
    size_t index = y + (size_t)block->y * block->x * z;

    if (values->mode == TFS_GODOT_UNIFORM) {
        spread(array, first, block->x, tfs_godot_uniform_value(block, channel));
        return;
    }
    struct stride from = {values->bytes.data + (index << depth), (size_t)block->y << depth};
    if (depth == 0)
        read_row8(from, array->values + first, block->x);
    else if (depth == 1)
        read_row16(from, array->values + first, block->x);
    else if (depth == 2)
        read_row32(from, array->values + first, block->x);
    else
        read_row64(from, array->values64 + first, block->x);
    if (is_signed(block, channel, depth))
        for (size_t i = first; i < first + block->x; i++)
            array->values[i] = widen(array->values[i], depth);
}

int tfs_godot_channel_read(const struct tfs_godot_block *block, unsigned channel,
                           struct tfs_godot_array *array, struct tfs_error *err)
{
    size_t first = 0;

    if (tfs_godot_array_create(array, tfs_godot_volume(block), block->channels[channel].depth,
                               err) < 0)
        return err->code;
    for (uint32_t y = 0; y < block->y; y++)
        for (uint32_t z = 0; z < block->z; z++, first += block->x)
            tfs_godot_row_read(block, channel, y, z, array, first);
    return 0;
}

void tfs_godot_set_bits(uint8_t *out, uint64_t bits, unsigned depth)
{
    for (unsigned i = 0; i < 1U << depth; i++)
        out[i] = (uint8_t)(bits >> 8 * i);
}

void tfs_godot_put_bits(struct tfs_buf *out, uint64_t bits, unsigned depth)
{
    uint8_t bytes[1 << TFS_GODOT_DEPTH_MAX];

    tfs_godot_set_bits(bytes, bits, depth);
    tfs_buf_add(out, bytes, (size_t)1 << depth);
}

void tfs_godot_channel_write(const struct tfs_godot_block *block,
                             const struct tfs_godot_array *array, unsigned depth,
                             struct tfs_buf *out)
{
    size_t size = (size_t)tfs_godot_volume(block) << depth;
    uint8_t *at = tfs_buf_reserve(out, size);

    if (at == NULL)
        return;
    for (uint32_t z = 0; z < block->z; z++)
        for (uint32_t x = 0; x < block->x; x++)
            for (uint32_t y = 0; y < block->y; y++, at += (size_t)1 << depth) {
                size_t i = ((size_t)y * block->z + z) * block->x + x;
                tfs_godot_set_bits(at, tfs_godot_array_get(array, i), depth);
            }
    out->size += size;
}
