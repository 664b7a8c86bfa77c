/*
 * Chunk bodies and regions from plain values: the container part of the generator (worlds:
 * region_worlds.c). Must not use any code of src/, which it is there to test.
 */
#include "region_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define TABLE_SLOTS  4096
#define COLUMN_SLOTS 256

static void *must(void *memory)
{
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(3);
    }
    return memory;
}

void maker_release(struct maker_bytes *b)
{
    free(b->data);
    *b = (struct maker_bytes){0};
}

void maker_add(struct maker_bytes *b, const void *data, size_t size)
{
    if (b->capacity - b->size < size) {
        b->capacity = (b->size + size) * 2 + 64;
        b->data = must(realloc(b->data, b->capacity));
    }
    if (size)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

void maker_u8(struct maker_bytes *b, unsigned v)
{
    uint8_t byte = (uint8_t)v;
    maker_add(b, &byte, 1);
}

void maker_u16(struct maker_bytes *b, unsigned v)
{
    maker_u8(b, v >> 8 & 0xff);
    maker_u8(b, v & 0xff);
}

void maker_s32(struct maker_bytes *b, int64_t v)
{
    maker_u16(b, (unsigned)((uint64_t)v >> 16 & 0xffff));
    maker_u16(b, (unsigned)((uint64_t)v & 0xffff));
}

void maker_string(struct maker_bytes *b, const char *text)
{
    maker_s32(b, (int64_t)strlen(text));
    maker_add(b, text, strlen(text));
}

uint32_t maker_draw(struct maker_random *r, uint32_t below)
{
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ z >> 31) % below);
}

/* ---- sections -------------------------------------------------------------------------------- */

/* `count` values of `width` bits, the lowest bits of a byte first. */
static void add_bits(struct maker_bytes *b, const uint16_t *values, unsigned width)
{
    for (unsigned i = 0; i < 256; i += 8 / width) {
        unsigned byte = 0;
        for (unsigned k = 0; k < 8 / width; k++)
            byte |= (unsigned)values[i + k] << (k * width);
        maker_u8(b, byte & 0xff);
    }
}

static bool uniform(const uint16_t *values, unsigned n)
{
    for (unsigned i = 1; i < n; i++)
        if (values[i] != values[0])
            return false;
    return true;
}

static enum maker_layer game_layer(const uint16_t *ids, int32_t version)
{
    uint16_t high = 0;
    for (unsigned i = 0; i < 256; i++)
        high = ids[i] > high ? ids[i] : high;
    if (uniform(ids, 256) && high < 128)
        return MAKER_SINGLE_BYTE;
    if (high > 255)
        return MAKER_SHORT;
    if (high > 15 || uniform(ids, 256))
        return MAKER_BYTE;
    if (high > 3)
        return MAKER_NIBBLE;
    return high > 1 || version <= 1 ? MAKER_HALFNIBBLE : MAKER_BIT;
}

void maker_layer(struct maker_bytes *b, enum maker_layer type, const uint16_t *ids, int32_t version)
{
    if (type == MAKER_CANONICAL)
        type = game_layer(ids, version);
    maker_u8(b, type);
    if (type == MAKER_SINGLE_BYTE)
        maker_u8(b, ids[0]);
    if (type == MAKER_SINGLE_INT)
        maker_s32(b, ids[0]);
    if (type == MAKER_BIT)
        add_bits(b, ids, 1);
    if (type == MAKER_HALFNIBBLE)
        add_bits(b, ids, 2);
    if (type == MAKER_NIBBLE)
        add_bits(b, ids, 4);
    for (unsigned i = 0; type == MAKER_BYTE && i < 256; i++)
        maker_u8(b, ids[i]);
    for (unsigned i = 0; type == MAKER_SHORT && i < 256; i++)
        maker_u16(b, ids[i]);
}

void maker_layered(struct maker_bytes *b, const char *const *names, int32_t count,
                   const uint16_t *ids, int32_t version)
{
    maker_u8(b, 2);
    maker_s32(b, count);
    for (int32_t i = 0; i < count; i++)
        maker_string(b, names[i]);
    for (unsigned y = 0; y < MAKER_LAYERS; y++)
        maker_layer(b, MAKER_CANONICAL, ids + y * 256, version);
}

void maker_single(struct maker_bytes *b, const char *name)
{
    maker_u8(b, 1);
    maker_string(b, name);
}

void maker_game_blocks(struct maker_bytes *b, const char *const *names, int32_t count,
                       const uint16_t *ids, int32_t version)
{
    const char *order[256];
    uint16_t to[256], mapped[MAKER_VOXELS];
    int32_t used = 0;
    memset(to, 0xff, sizeof to);
    for (unsigned i = 0; i < MAKER_VOXELS && count <= 256; i++) {
        unsigned y = i >> 8, x = i >> 4 & 15, z = i & 15; /* z is the inner loop */
        uint16_t id = ids[(y * 16 + z) * 16 + x];
        if (to[id] == 0xffff) {
            to[id] = (uint16_t)used;
            order[used++] = names[id];
        }
    }
    for (unsigned i = 0; i < MAKER_VOXELS; i++)
        mapped[i] = to[ids[i]];
    if (used == 1)
        maker_single(b, order[0]);
    else
        maker_layered(b, order, used, mapped, version);
}

static void add_sky_layer(struct maker_bytes *b, const uint8_t *levels)
{
    uint16_t values[256];
    for (unsigned i = 0; i < 256; i++)
        values[i] = levels[i];
    if (uniform(values, 256)) {
        maker_u8(b, 1);
        maker_u8(b, values[0]);
    } else {
        maker_u8(b, 2);
        add_bits(b, values, 4);
    }
}

void maker_sky(struct maker_bytes *b, const uint8_t *levels)
{
    if (!levels) {
        maker_u8(b, 1);
        return;
    }
    bool same = true;
    for (unsigned i = 1; i < MAKER_VOXELS; i++)
        same = same && levels[i] == levels[0];
    maker_u8(b, same ? 3 : 2);
    if (same)
        maker_u8(b, levels[0]);
    for (unsigned y = 0; !same && y < MAKER_LAYERS; y++)
        add_sky_layer(b, levels + y * 256);
}

void maker_light(struct maker_bytes *b, const uint16_t *rgb)
{
    maker_u8(b, rgb ? 2 : 1);
    for (unsigned y = 0; rgb && y < MAKER_LAYERS; y++) {
        const uint16_t *layer = rgb + y * 256;
        if (uniform(layer, 256) && layer[0] == 0) {
            maker_add(b, "\1\0\0\0", 4);
            continue;
        }
        maker_u8(b, 2);
        for (unsigned i = 0; i < 256; i++)
            maker_u16(b, layer[i]);
    }
}

void maker_entities(struct maker_bytes *b, const char *bytes, int64_t size)
{
    maker_u8(b, size < 0 ? 0 : 1);
    if (size < 0)
        return;
    maker_s32(b, size);
    maker_add(b, bytes, (size_t)size);
}

/* ---- containers ------------------------------------------------------------------------------ */

struct maker_region maker_region_init(int32_t version)
{
    return (struct maker_region){.version = version, .compression = version >= 5 ? 2 : 0};
}

void maker_region_release(struct maker_region *r)
{
    for (size_t i = 0; i < r->count; i++)
        maker_release(&r->chunks[i].body);
    free(r->chunks);
    *r = (struct maker_region){0};
}

struct maker_chunk *maker_region_add(struct maker_region *r, int32_t x, int32_t y, int32_t z)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity * 2 + 16;
        r->chunks = must(realloc(r->chunks, r->capacity * sizeof *r->chunks));
    }
    struct maker_chunk *chunk = &r->chunks[r->count++];
    *chunk = (struct maker_chunk){.x = x, .y = y, .z = z, .version = r->version};
    return chunk;
}

static void set_s32(uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void add_place(struct maker_bytes *out, const struct maker_chunk *chunk)
{
    maker_s32(out, chunk->x);
    maker_s32(out, chunk->y);
    maker_s32(out, chunk->z);
}

static void write_table(const struct maker_region *r, struct maker_bytes *out)
{
    size_t start = out->size; /* of the table, behind the 16 bytes before it */
    for (unsigned i = 0; i < TABLE_SLOTS; i++)
        maker_s32(out, -1);
    for (size_t i = 0; i < r->count; i++) {
        const struct maker_chunk *chunk = &r->chunks[i];
        unsigned slot = (unsigned)((chunk->y & 15) * 256 + (chunk->x & 15) * 16 + (chunk->z & 15));
        set_s32(out->data + start + 4 * slot, (uint32_t)out->size);
        maker_s32(out, (int64_t)(20 + chunk->body.size));
        maker_s32(out, chunk->version);
        add_place(out, chunk);
        maker_add(out, chunk->body.data, chunk->body.size);
    }
}

static bool same_column(const struct maker_chunk *a, const struct maker_chunk *b)
{
    return a->x == b->x && a->z == b->z;
}

/* Number of chunks from `i` on that are in one column. */
static size_t column_length(const struct maker_region *r, size_t i)
{
    size_t n = 1;
    while (i + n < r->count && same_column(&r->chunks[i], &r->chunks[i + n]))
        n++;
    return n;
}

/* All columns to `out`, their offsets to `offsets` (-1 = absent); returns the number of columns. */
static unsigned write_columns(const struct maker_region *r, struct maker_bytes *out,
                              int64_t *offsets)
{
    unsigned columns = 0;
    for (size_t i = 0, n; i < r->count; i += n, columns++) {
        const struct maker_chunk *first = &r->chunks[i];
        size_t start = out->size;
        n = column_length(r, i);
        offsets[(first->x & 15) * 16 + (first->z & 15)] = (int64_t)start;
        maker_s32(out, 0);
        maker_s32(out, first->version);
        maker_u8(out, (unsigned)n);
        for (size_t k = i; k < i + n; k++) {
            add_place(out, &r->chunks[k]);
            maker_add(out, r->chunks[k].body.data, r->chunks[k].body.size);
        }
        set_s32(out->data + start, (uint32_t)(out->size - start));
    }
    return columns;
}

void maker_payload_write(const struct maker_region *r, struct maker_bytes *out)
{
    struct maker_bytes columns = {0};
    int64_t offsets[COLUMN_SLOTS], high = 0;
    memset(offsets, 0xff, sizeof offsets);
    unsigned count = write_columns(r, &columns, offsets);
    for (unsigned i = 0; i < COLUMN_SLOTS; i++)
        high = offsets[i] > high ? offsets[i] : high;
    unsigned type = r->offsets ? r->offsets : high > 32767 ? 3 : 2;
    maker_s32(out, count);
    maker_u8(out, type);
    for (unsigned i = 0; i < COLUMN_SLOTS; i++)
        for (unsigned byte = 1U << (type - 1); byte-- > 0;)
            maker_u8(out, (uint8_t)((uint64_t)offsets[i] >> (8 * byte)));
    maker_add(out, columns.data, columns.size);
    maker_release(&columns);
}

/* One gzip member with the header that the game writes. */
static void add_gzip(struct maker_bytes *out, const struct maker_bytes *payload)
{
    static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        must(NULL);
    uLong bound = deflateBound(&z, (uLong)payload->size);
    uint8_t *packed = must(malloc(bound));
    z.next_in = payload->data;
    z.avail_in = (uInt)payload->size;
    z.next_out = packed;
    z.avail_out = (uInt)bound;
    deflate(&z, Z_FINISH);
    maker_add(out, header, sizeof header);
    maker_add(out, packed, z.total_out);
    uint32_t ends[2] = {(uint32_t)crc32(0, payload->data, (uInt)payload->size),
                        (uint32_t)payload->size};
    for (unsigned i = 0; i < 8; i++)
        maker_u8(out, ends[i / 4] >> (8 * (i % 4)) & 0xff);
    deflateEnd(&z);
    free(packed);
}

void maker_region_write(const struct maker_region *r, struct maker_bytes *out)
{
    struct maker_bytes payload = {0};
    maker_add(out, "\xff\xec\xce\xac", 4);
    maker_s32(out, r->version);
    maker_s32(out, r->compression);
    if (r->version <= 3) {
        maker_s32(out, (int64_t)r->count);
        write_table(r, out);
        return;
    }
    maker_payload_write(r, &payload);
    if (r->compression == 2)
        add_gzip(out, &payload);
    else
        maker_add(out, payload.data, payload.size);
    maker_release(&payload);
}
