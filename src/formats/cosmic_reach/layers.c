/*
 * Layers of 256 packed values <-> 32-bit values, for all three sections that have layers.
 *
 * Must not know what a value means.
 */
#include "formats/cosmic_reach/layers.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define NIBBLES (TFS_COSMIC_LAYER_VALUES / 2)
#define COLOURS 3 /* bytes red, green, blue */

/* `width` is a constant where this is used, so each use is a loop of its own. */
static inline void unpack(const uint8_t *bytes, unsigned width, uint32_t *values)
{
    const unsigned per_byte = 8 / width, mask = (1U << width) - 1;

    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES / per_byte; i++)
        for (unsigned k = 0; k < per_byte; k++)
            values[i * per_byte + k] = ((unsigned)bytes[i] >> (k * width)) & mask;
}

static void unpack_shorts(const uint8_t *bytes, uint32_t *values)
{
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        values[i] = (uint32_t)bytes[2 * i] << 8 | bytes[2 * i + 1];
}

static void fill(uint32_t value, uint32_t *values)
{
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        values[i] = value;
}

static void decode_block_layer(uint8_t type, const uint8_t *bytes, uint32_t *values)
{
    switch ((enum tfs_cosmic_block_layer)type) {
    case TFS_COSMIC_SINGLE_BYTE:
        fill(bytes[0], values);
        break;
    case TFS_COSMIC_SINGLE_INT:
        fill((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                 bytes[3],
             values);
        break;
    case TFS_COSMIC_HALFNIBBLE:
        unpack(bytes, 2, values);
        break;
    case TFS_COSMIC_NIBBLE:
        unpack(bytes, 4, values);
        break;
    case TFS_COSMIC_BYTE:
        unpack(bytes, 8, values);
        break;
    case TFS_COSMIC_SHORT:
        unpack_shorts(bytes, values);
        break;
    case TFS_COSMIC_BIT:
        unpack(bytes, 1, values);
        break;
    }
}

/* ---- numbers of indices ---------------------------------------------------------------------- */

static bool map_equal(uint32_t id, const uint32_t *map, uint32_t room, uint8_t *shorts)
{
    uint16_t numbers[TFS_COSMIC_LAYER_VALUES];

    if (id >= room || map[id] == TFS_COSMIC_NO_NUMBER)
        return false;
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        numbers[i] = htole16((uint16_t)map[id]);
    memcpy(shorts, numbers, sizeof(numbers));
    return true;
}

/* As unpack, half a byte at a time: it stands for up to four numbers, which a table has. */
static inline bool map_packed(const uint8_t *bytes, unsigned width, const uint32_t *map,
                              uint8_t *shorts)
{
    const unsigned count = 4 / width, mask = (1U << width) - 1;
    const size_t size = count * sizeof(uint16_t);
    uint32_t lacking = 0, seen = 0; /* a bit for each of the 16 halves */
    uint16_t table[16][4];

    for (unsigned half = 0; half < 16; half++)
        for (unsigned k = 0; k < count; k++) {
            const uint32_t number = map[half >> (k * width) & mask];
            lacking |= (uint32_t)(number == TFS_COSMIC_NO_NUMBER) << half;
            table[half][k] = htole16((uint16_t)number);
        }
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES / 8 * width; i++, shorts += 2 * size) {
        const unsigned low = bytes[i] & 0xfU, high = (unsigned)bytes[i] >> 4;
        seen |= 1U << low | 1U << high;
        memcpy(shorts, table[low], size);
        memcpy(shorts + size, table[high], size);
    }
    return (seen & lacking) == 0;
}

static bool map_values(uint8_t type, const uint8_t *bytes, const uint32_t *map, uint32_t room,
                       uint8_t *shorts)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES], bits = 0, all = 0;
    uint16_t numbers[TFS_COSMIC_LAYER_VALUES];

    decode_block_layer(type, bytes, ids);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        bits |= ids[i];
    if (bits >= room)
        return false;
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++) {
        all |= map[ids[i]];
        numbers[i] = htole16((uint16_t)map[ids[i]]);
    }
    memcpy(shorts, numbers, sizeof(numbers));
    return all != TFS_COSMIC_NO_NUMBER;
}

/* Most layers of the game are one index, or as narrow as a nibble. */
bool tfs_cosmic_layer_map(uint8_t type, const uint8_t *bytes, const uint32_t *map, uint32_t room,
                          uint8_t *shorts)
{
    switch ((enum tfs_cosmic_block_layer)type) {
    case TFS_COSMIC_SINGLE_BYTE:
        return map_equal(bytes[0], map, room, shorts);
    case TFS_COSMIC_BIT:
        return map_packed(bytes, 1, map, shorts);
    case TFS_COSMIC_HALFNIBBLE:
        return map_packed(bytes, 2, map, shorts);
    case TFS_COSMIC_NIBBLE:
        return map_packed(bytes, 4, map, shorts);
    case TFS_COSMIC_SINGLE_INT:
    case TFS_COSMIC_BYTE:
    case TFS_COSMIC_SHORT:
        break;
    }
    return map_values(type, bytes, map, room, shorts);
}

/* ---- light ----------------------------------------------------------------------------------- */

static void decode_sky_layer(uint8_t type, const uint8_t *bytes, uint32_t *values)
{
    if (type == TFS_COSMIC_SKY_LAYER_SINGLE)
        fill(bytes[0], values);
    else
        unpack(bytes, 4, values);
}

/* MONO: nibbles replace one colour. */
static void decode_mono(uint32_t colours, unsigned shift, const uint8_t *nibbles, uint32_t *values)
{
    uint32_t others = colours & ~(0xfU << shift);

    unpack(nibbles, 4, values);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        values[i] = others | values[i] << shift;
}

/* The game's library writes shifted levels unmasked; the low bits are what it meant. */
static uint32_t colours_of(const uint8_t *bytes)
{
    return (bytes[0] & 0xfU) << 8 | (bytes[1] & 0xfU) << 4 | (bytes[2] & 0xfU);
}

static void decode_light_layer(uint8_t type, const uint8_t *bytes, uint32_t *values)
{
    switch ((enum tfs_cosmic_light_layer)type) {
    case TFS_COSMIC_LIGHT_LAYER_SINGLE:
        fill(colours_of(bytes), values);
        break;
    case TFS_COSMIC_LIGHT_LAYER_SHORT:
        unpack_shorts(bytes, values);
        break;
    case TFS_COSMIC_LIGHT_LAYER_RED:
        decode_mono(colours_of(bytes), 8, bytes + COLOURS, values);
        break;
    case TFS_COSMIC_LIGHT_LAYER_GREEN:
        decode_mono(colours_of(bytes), 4, bytes + COLOURS, values);
        break;
    case TFS_COSMIC_LIGHT_LAYER_BLUE:
        decode_mono(colours_of(bytes), 0, bytes + COLOURS, values);
        break;
    }
}

const struct tfs_cosmic_layer_kind tfs_cosmic_block_layers = {
    .what = "block data",
    .highest = TFS_COSMIC_BIT,
    .sizes = {0, 1, 4, 64, NIBBLES, 256, 512, 32},
    .decode = decode_block_layer,
};

const struct tfs_cosmic_layer_kind tfs_cosmic_sky_layers = {
    .what = "sky light",
    .highest = TFS_COSMIC_SKY_LAYER_NIBBLE,
    .sizes = {0, 1, NIBBLES},
    .decode = decode_sky_layer,
};

const struct tfs_cosmic_layer_kind tfs_cosmic_light_layers = {
    .what = "block light",
    .highest = TFS_COSMIC_LIGHT_LAYER_BLUE,
    .sizes = {0, COLOURS, 512, COLOURS + NIBBLES, COLOURS + NIBBLES, COLOURS + NIBBLES},
    .decode = decode_light_layer,
};

int tfs_cosmic_layers_take(struct tfs_cursor *c, const struct tfs_cosmic_layer_kind *kind,
                           struct tfs_cosmic_layers *layers, struct tfs_error *err)
{
    layers->decode = kind->decode;
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++) {
        size_t offset = tfs_cursor_offset(c);
        uint8_t type = tfs_take_u8(c);
        if (!c->failed && (type == 0 || type > kind->highest))
            return tfs_fail(err, -EBADMSG, "offset %zu: layer %u of the %s has unknown type %u",
                            offset, y, kind->what, type);
        layers->types[y] = type;
        layers->bytes[y] = tfs_take(c, c->failed ? 0 : kind->sizes[type]);
        if (c->failed)
            return tfs_fail(err, -EBADMSG, "offset %zu: the %s is cut off within layer %u", offset,
                            kind->what, y);
    }
    return 0;
}

void tfs_cosmic_layers_repeat(struct tfs_cosmic_layers *layers,
                              const struct tfs_cosmic_layer_kind *kind, uint8_t type,
                              struct tfs_span bytes)
{
    layers->decode = kind->decode;
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++) {
        layers->types[y] = type;
        layers->bytes[y] = bytes;
    }
}

void tfs_cosmic_layers_decode(const struct tfs_cosmic_layers *layers,
                              uint32_t values[TFS_COSMIC_VALUES])
{
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++)
        layers->decode(layers->types[y], layers->bytes[y].data,
                       values + y * TFS_COSMIC_LAYER_VALUES);
}

void tfs_cosmic_pack(struct tfs_buf *out, unsigned width, const uint32_t *values)
{
    const size_t size = TFS_COSMIC_LAYER_VALUES / 8 * width;
    uint8_t *bytes = tfs_buf_reserve(out, size);

    if (bytes == NULL)
        return;
    if (width == 16) {
        for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++) {
            bytes[2 * i] = (uint8_t)(values[i] >> 8);
            bytes[2 * i + 1] = (uint8_t)values[i];
        }
    } else {
        memset(bytes, 0, size);
        for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
            bytes[i * width / 8] |= (uint8_t)(values[i] << (i * width % 8));
    }
    out->size += size;
}

bool tfs_cosmic_values_equal(const uint32_t *values)
{
    return memcmp(values, values + 1, (TFS_COSMIC_LAYER_VALUES - 1) * sizeof(*values)) == 0;
}
