/*
 * Values of a voxel -> a colour of map.png.
 *
 * Must not know pictures. What a number of channel color, type or indices looks like, the game
 * alone knows: but for palettes of regions and colours that are stored themselves, a number has a
 * colour of ours, always the same.
 */
#include "formats/godot_voxel/colour.h"

#include "formats/godot_voxel/channel.h"
#include "formats/views/pictures/picture.h"

#define NIBBLES 4 /* textures of a voxel */

/* Small numbers, which most games get by with; 0 is smooth ground without a texture of its own. */
static const uint32_t numbered[] = {
    0x8c9163, 0x6c9848, 0x8d6d48, 0x84857f, 0xd4c48e, 0x4c7b3a, 0x9c7747, 0xb45f48,
    0xe6ebee, 0xa3a9b5, 0x5a616c, 0xc79c4d, 0x4f8f89, 0x8b6d93, 0xc78c84, 0x7e8955,
};

static uint32_t colour_of_number(uint64_t number)
{
    uint8_t bytes[sizeof(number)];

    if (number < sizeof(numbered) / sizeof(numbered[0]))
        return numbered[number];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return tfs_colour_of_hash((struct tfs_span){bytes, sizeof(bytes)});
}

static uint64_t value_at(const struct tfs_godot_block *block, unsigned channel, size_t voxel)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    size_t at = values->mode == TFS_GODOT_UNIFORM ? 0 : voxel << values->depth;

    return tfs_godot_get_bits(values->bytes.data + at, values->depth);
}

/* ---- colours that are stored ----------------------------------------------------------------- */

int tfs_godot_paints_init(const struct tfs_doc *doc, const struct tfs_cells *cells,
                          struct tfs_godot_paints *paints, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(doc);
    const struct tfs_godot_values *color = &tfs_godot_block_of(cells)->channels[TFS_GODOT_COLOR];
    int found = 0;

    paints->block = tfs_godot_block_of(cells);
    /* Indices have 8 bits. */
    if (rules->palette != NULL && color->depth == 0 &&
        (color->mode == TFS_GODOT_NONE || color->bytes.data[0] != 0))
        found = rules->palette(cells->save, doc, cells->chunk.key, paints->palette, err);
    paints->has_palette = found > 0;
    return found < 0 ? found : 0;
}

/* Four channels of `bits` each, red highest, alpha lowest. False: nobody would see it, so it is no
 * colour. */
static bool take_rgba(uint64_t value, unsigned bits, unsigned alpha_min, uint32_t *colour)
{
    const uint32_t most = (1U << bits) - 1;

    if ((value & most) < alpha_min)
        return false;
    *colour = 0;
    for (unsigned i = 3; i > 0; i--)
        *colour = *colour << 8 | (uint32_t)(value >> bits * i & most) * 255 / most;
    return true;
}

/* A value of channel color as the engine's mesher of cubes reads it. Of 8 bits only what is opaque
 * is taken for a colour: more often they are indices of a palette that the save does not have. */
static uint32_t stored_colour(const struct tfs_godot_paints *paints, uint64_t value, unsigned depth)
{
    uint32_t colour;

    if (depth == 0 && paints->has_palette) {
        const uint8_t *rgba = &paints->palette[4 * value];
        return (uint32_t)rgba[0] << 16 | (uint32_t)rgba[1] << 8 | rgba[2];
    }
    if ((depth == 0 && take_rgba(value, 2, 3, &colour)) ||
        (depth == 1 && take_rgba(value, 4, 1, &colour)) ||
        (depth == 2 && take_rgba(value, 8, 1, &colour)))
        return colour;
    return colour_of_number(value);
}

/* ---- textures -------------------------------------------------------------------------------- */

/* The texture of the greatest weight; of equals the first. */
static uint64_t texture_of(const struct tfs_godot_block *block, size_t voxel)
{
    uint64_t indices = value_at(block, TFS_GODOT_INDICES, voxel), weights, most = 0;
    unsigned best = 0;

    if (block->channels[TFS_GODOT_INDICES].depth != 1)
        return indices;
    weights = value_at(block, TFS_GODOT_WEIGHTS, voxel);
    for (unsigned i = 0; i < NIBBLES; i++)
        if ((weights >> 4 * i & 0xf) > most) {
            most = weights >> 4 * i & 0xf;
            best = i;
        }
    return indices >> 4 * best & 0xf;
}

uint32_t tfs_godot_paint(const struct tfs_godot_paints *paints, size_t voxel)
{
    const struct tfs_godot_block *block = paints->block;
    uint64_t color = value_at(block, TFS_GODOT_COLOR, voxel);
    uint64_t type = value_at(block, TFS_GODOT_TYPE, voxel);

    if (color != 0)
        return stored_colour(paints, color, block->channels[TFS_GODOT_COLOR].depth);
    return colour_of_number(type != 0 ? type : texture_of(block, voxel));
}
