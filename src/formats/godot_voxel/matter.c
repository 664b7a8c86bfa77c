/*
 * Values of a block, as stored -> whether they make a voxel more than empty; a channel -> where the
 * highest such value of a column is.
 *
 * Must not know pictures.
 */
#include "formats/godot_voxel/matter.h"

#include <string.h>

#include "formats/godot_voxel/channel.h"

const unsigned tfs_godot_solid[] = {TFS_GODOT_TYPE, TFS_GODOT_SDF, TFS_GODOT_COLOR};

/* Distances below 0; of floats neither -0 nor NaN. */
static struct tfs_godot_matter distance_matter(unsigned version, unsigned depth)
{
    static const struct tfs_godot_matter negative[] = {{0x80, 0x7f},
                                                       {0x8000, 0x7fff},
                                                       {0x80000001, 0x7f7fffff},
                                                       {0x8000000000000001, 0x7fefffffffffffff}};
    static const struct tfs_godot_matter lower_half[] = {{0, 126}, {0, 32766}};

    return version == 2 && depth < 2 ? lower_half[depth] : negative[depth];
}

struct tfs_godot_matter tfs_godot_matter_of(unsigned version, unsigned channel, unsigned depth)
{
    if (channel == TFS_GODOT_SDF)
        return distance_matter(version, depth);
    return (struct tfs_godot_matter){1, UINT64_MAX - 1};
}

/* ---- searching ------------------------------------------------------------------------------- */

struct tfs_godot_scan tfs_godot_scan_of(const struct tfs_godot_block *block, unsigned channel)
{
    struct tfs_godot_scan s = {
        .values = &block->channels[channel],
        .m = tfs_godot_matter_of(block->version, channel, block->channels[channel].depth),
        .mask = UINT64_MAX};
    unsigned depth = s.values->depth;
    uint8_t signs[sizeof(s.mask)] = {0};

    if (channel != TFS_GODOT_SDF)
        return s;
    for (size_t i = (1U << depth) - 1; i < sizeof(signs); i += (size_t)1 << depth)
        signs[i] = 0x80;
    memcpy(&s.mask, signs, sizeof(signs));
    s.flipped = block->version == 2 && depth < 2 ? UINT64_MAX : 0;
    return s;
}

/* False: none of these eight bytes belongs to a solid value. */
static bool may_be_matter(const struct tfs_godot_scan *s, const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return ((word ^ s->flipped) & s->mask) != 0;
}

bool tfs_godot_scan_finds(const struct tfs_godot_scan *s)
{
    const struct tfs_span bytes = s->values->bytes;
    uint64_t rest = s->flipped;
    size_t at = 0;

    for (; bytes.size - at >= sizeof(rest); at += sizeof(rest))
        if (may_be_matter(s, bytes.data + at))
            return true;
    /* Values are not split by the end: what is missing is filled with what is no matter. */
    memcpy(&rest, bytes.data + at, bytes.size - at);
    return ((rest ^ s->flipped) & s->mask) != 0;
}

/* The values of one column lie one behind another: up to and with its highest matter. */
static uint32_t top8(const uint8_t *column, uint32_t y, struct tfs_godot_matter m)
{
    while (y > 0 && !tfs_godot_is_matter(m, column[y - 1]))
        y--;
    return y;
}

static uint32_t top16(const uint8_t *column, uint32_t y, struct tfs_godot_matter m)
{
    while (y > 0 && !tfs_godot_is_matter(m, column[2 * y - 2] | (uint64_t)column[2 * y - 1] << 8))
        y--;
    return y;
}

static uint32_t top_wide(const uint8_t *column, uint32_t y, unsigned depth,
                         struct tfs_godot_matter m)
{
    while (y > 0 &&
           !tfs_godot_is_matter(m, tfs_godot_get_bits(column + ((size_t)(y - 1) << depth), depth)))
        y--;
    return y;
}

uint32_t tfs_godot_scan_top(const struct tfs_godot_scan *s, size_t column, uint32_t y)
{
    const struct tfs_godot_values *values = s->values;
    const uint8_t *at = values->bytes.data + ((column * y) << values->depth);
    size_t left = (size_t)y << values->depth;

    if (values->mode == TFS_GODOT_UNIFORM)
        return tfs_godot_is_matter(s->m, tfs_godot_get_bits(values->bytes.data, values->depth)) ? y
                                                                                                : 0;
    while (left >= sizeof(uint64_t) && !may_be_matter(s, at + left - sizeof(uint64_t)))
        left -= sizeof(uint64_t);
    y = (uint32_t)(left >> values->depth);
    if (values->depth == 0)
        return top8(at, y, s->m);
    if (values->depth == 1)
        return top16(at, y, s->m);
    return top_wide(at, y, values->depth, s->m);
}
