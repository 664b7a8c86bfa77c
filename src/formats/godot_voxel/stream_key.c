/*
 * Numbers, texts and bytes of the column loc <-> coordinates.
 *
 * Must not know SQLite.
 */
#include "formats/godot_voxel/stream_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/godot_voxel/layout.h"

#define BLOB_SIZE 10

const char *tfs_godot_key_format_name(enum tfs_godot_key_format format)
{
    static const char *const names[TFS_GODOT_KEY_FORMATS] = {
        [TFS_GODOT_KEY_INT64_16] = "0 (integer, 16 bits a coordinate)",
        [TFS_GODOT_KEY_INT64_19] = "1 (integer, 19 bits a coordinate)",
        [TFS_GODOT_KEY_TEXT] = "2 (text x,y,z,lod)",
        [TFS_GODOT_KEY_BLOB] = "3 (80 bits, 25 a coordinate)",
    };

    return names[format];
}

void tfs_godot_key_bounds(enum tfs_godot_key_format format, int32_t *low, int32_t *high)
{
    static const int32_t bits[TFS_GODOT_KEY_FORMATS] = {15, 18, 25, 24};
    int32_t end = (int32_t)1 << bits[format];

    *low = format == TFS_GODOT_KEY_TEXT ? 1 - end : -end;
    *high = end - 1;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static uint64_t cut(int32_t v, unsigned bits)
{
    return (uint64_t)(uint32_t)v & ((UINT64_C(1) << bits) - 1);
}

/* lod above x above y above z, each coordinate in that many bits. */
static int64_t pack(struct tfs_key key, unsigned bits)
{
    return (int64_t)((uint64_t)key.group << 3 * bits | cut(key.x, bits) << 2 * bits |
                     cut(key.y, bits) << bits | cut(key.z, bits));
}

static void encode_blob(struct tfs_key key, struct tfs_godot_loc *loc)
{
    uint64_t z = cut(key.z, 25);
    uint64_t low = cut(key.x, 25) | cut(key.y, 25) << 25 | z << 50;
    uint64_t high = z >> 14 | (uint64_t)key.group << 11;

    loc->size = BLOB_SIZE;
    for (unsigned i = 0; i < BLOB_SIZE; i++)
        loc->bytes[i] = (uint8_t)(i < 8 ? low >> 8 * i : high >> 8 * (i - 8));
}

void tfs_godot_key_encode(enum tfs_godot_key_format format, struct tfs_key key,
                          struct tfs_godot_loc *loc)
{
    *loc = (struct tfs_godot_loc){0};
    switch (format) {
    case TFS_GODOT_KEY_INT64_16:
        loc->number = pack(key, 16);
        return;
    case TFS_GODOT_KEY_INT64_19:
        loc->number = pack(key, 19);
        return;
    case TFS_GODOT_KEY_TEXT:
        loc->size = (size_t)snprintf((char *)loc->bytes, sizeof(loc->bytes), "%d,%d,%d,%u", key.x,
                                     key.y, key.z, key.group);
        return;
    case TFS_GODOT_KEY_BLOB:
        encode_blob(key, loc);
        return;
    case TFS_GODOT_KEY_FORMATS:
        return;
    }
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* The lowest bits as a number of two's complement. */
static int32_t widen(uint64_t v, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);

    v &= (UINT64_C(1) << bits) - 1;
    return (int32_t)((int64_t)(v ^ sign) - (int64_t)sign);
}

static struct tfs_key unpack(uint64_t v, unsigned bits)
{
    return (struct tfs_key){(uint32_t)(v >> 3 * bits), widen(v >> 2 * bits, bits),
                            widen(v >> bits, bits), widen(v, bits)};
}

static bool decode_blob(struct tfs_span bytes, struct tfs_key *key)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    uint64_t low = tfs_take_u64le(&c);
    uint64_t high = tfs_take_u16le(&c);

    if (c.failed)
        return false;
    *key = (struct tfs_key){(uint32_t)(high >> 11), widen(low, 25), widen(low >> 25, 25),
                            widen(low >> 50 | high << 14, 25)};
    return true;
}

/* Takes a number of at most 8 digits and, but at the end, the comma behind it. */
static bool take_number(struct tfs_span *text, bool last, int32_t *number)
{
    bool negative = text->size > 0 && text->data[0] == '-';
    size_t n = negative, digits = 0;
    int32_t v = 0;

    for (; n < text->size && (uint8_t)(text->data[n] - '0') <= 9 && digits < 8; n++, digits++)
        v = v * 10 + (text->data[n] - '0');
    if (digits == 0 || (last ? n != text->size : n == text->size || text->data[n] != ','))
        return false;
    *number = negative ? -v : v;
    n += !last;
    text->data += n;
    text->size -= n;
    return true;
}

static bool decode_text(struct tfs_span text, struct tfs_key *key)
{
    int32_t lod;

    if (!take_number(&text, false, &key->x) || !take_number(&text, false, &key->y) ||
        !take_number(&text, false, &key->z) || !take_number(&text, true, &lod) || lod < 0)
        return false;
    key->group = (uint32_t)lod;
    return true;
}

static bool in_bounds(enum tfs_godot_key_format format, struct tfs_key key)
{
    int32_t low, high;

    tfs_godot_key_bounds(format, &low, &high);
    return key.group < TFS_GODOT_LODS && key.x >= low && key.x <= high && key.y >= low &&
           key.y <= high && key.z >= low && key.z <= high;
}

bool tfs_godot_key_decode(enum tfs_godot_key_format format, int64_t number, struct tfs_span bytes,
                          struct tfs_key *key)
{
    struct tfs_key found = {0};
    struct tfs_godot_loc again;

    if (format == TFS_GODOT_KEY_INT64_16)
        found = unpack((uint64_t)number, 16);
    else if (format == TFS_GODOT_KEY_INT64_19)
        found = unpack((uint64_t)number, 19);
    else if (format == TFS_GODOT_KEY_TEXT ? !decode_text(bytes, &found)
                                          : !decode_blob(bytes, &found))
        return false;
    if (!in_bounds(format, found))
        return false;
    tfs_godot_key_encode(format, found, &again);
    if (again.number != number || again.size != bytes.size ||
        (bytes.size > 0 && memcmp(again.bytes, bytes.data, bytes.size) != 0))
        return false;
    *key = found;
    return true;
}
