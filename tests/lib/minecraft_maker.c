/*
 * Maker of regions of Minecraft.
 */
#include "minecraft_maker.h"
#include "must.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BYTE = 1, INT = 3, BYTES = 7, STRING, LIST, COMPOUND, INTS, LONGS };
enum { VOXELS = 4096, SECTOR = 4096 };

static const int32_t versions[MINECRAFT_GAMES] = {1343, 1631, 2586, 3465};

/* ---- NBT ------------------------------------------------------------------------------------- */

static void u16(struct tfs_buf *out, size_t v)
{
    tfs_buf_u8(out, (uint8_t)(v >> 8));
    tfs_buf_u8(out, (uint8_t)v);
}

static void u32(struct tfs_buf *out, size_t v)
{
    tfs_buf_u32be(out, (uint32_t)v);
}

static void tag(struct tfs_buf *out, uint8_t type, const char *name)
{
    tfs_buf_u8(out, type);
    u16(out, strlen(name));
    tfs_buf_add_text(out, name);
}

static void end(struct tfs_buf *out)
{
    tfs_buf_u8(out, 0);
}

static void number(struct tfs_buf *out, const char *name, int32_t value)
{
    tag(out, INT, name);
    u32(out, (uint32_t)value);
}

static void byte(struct tfs_buf *out, const char *name, int value)
{
    tag(out, BYTE, name);
    tfs_buf_u8(out, (uint8_t)value);
}

static void text(struct tfs_buf *out, const char *name, const char *value)
{
    tag(out, STRING, name);
    u16(out, strlen(value));
    tfs_buf_add_text(out, value);
}

static void bytes(struct tfs_buf *out, const char *name, size_t count, uint8_t value)
{
    tag(out, BYTES, name);
    u32(out, count);
    while (count-- > 0)
        tfs_buf_u8(out, value);
}

/* Values of so many bits: `across`: from one long to the next. */
static void longs(struct tfs_buf *out, const char *name, const uint32_t *values, size_t count,
                  unsigned bits, bool across)
{
    uint64_t packed[VOXELS] = {0};
    const size_t each = 64 / bits;
    size_t used = 0;

    for (size_t i = 0; i < count * bits && across; i++)
        packed[i / 64] |= (uint64_t)(values[i / bits] >> i % bits & 1) << i % 64;
    for (size_t i = 0; i < count && !across; i++)
        packed[i / each] |= (uint64_t)values[i] << i % each * bits;
    used = across ? (count * bits + 63) / 64 : (count + each - 1) / each;
    tag(out, LONGS, name);
    u32(out, used);
    for (size_t i = 0; i < used; i++) {
        u32(out, packed[i] >> 32);
        u32(out, packed[i] & UINT32_MAX);
    }
}

/* ---- a column -------------------------------------------------------------------------------- */

/* 0 air, 1 stone, 2 a log. */
static uint32_t block_at(size_t i)
{
    return i == 300 ? 2 : i < 256 ? 1 : 0;
}

static void numbered(struct tfs_buf *out, bool air)
{
    tag(out, BYTES, "Blocks");
    u32(out, VOXELS);
    for (size_t i = 0; i < VOXELS; i++)
        tfs_buf_u8(out, (const uint8_t[]){0, 1, 17}[air ? 0 : block_at(i)]);
    tag(out, BYTES, "Data");
    u32(out, VOXELS / 2);
    for (size_t i = 0; i < VOXELS; i += 2)
        tfs_buf_u8(out, !air && block_at(i) == 2 ? 4 : 0);
}

static void state(struct tfs_buf *out, uint32_t block)
{
    if (block == 2) {
        tag(out, COMPOUND, "Properties");
        text(out, "axis", "y");
        end(out);
    }
    text(out, "Name",
         (const char *[]){"minecraft:air", "minecraft:stone", "minecraft:oak_log"}[block]);
    end(out);
}

static void palette(struct tfs_buf *out, const char *name, const uint32_t *blocks, uint32_t count)
{
    tag(out, LIST, name);
    tfs_buf_u8(out, COMPOUND);
    u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        state(out, blocks[i]);
}

/* The palette has air first up to 1.17, then what comes first. */
static void named(struct tfs_buf *out, enum minecraft_game game, bool air)
{
    static const uint32_t airs[] = {0}, old[] = {0, 1, 2}, met[] = {1, 0, 2};
    static const uint32_t place_met[] = {1, 0, 2};
    uint32_t values[VOXELS];

    for (size_t i = 0; i < VOXELS; i++) {
        const uint32_t block = air ? 0 : block_at(i);
        values[i] = game == MINECRAFT_18 && !air ? place_met[block] : block;
    }
    if (game == MINECRAFT_18) {
        tag(out, COMPOUND, "block_states");
        if (!air)
            longs(out, "data", values, VOXELS, 4, false);
        palette(out, "palette", air ? airs : met, air ? 1 : 3);
        end(out);
        tag(out, COMPOUND, "biomes");
        tag(out, LIST, "palette");
        tfs_buf_u8(out, STRING);
        u32(out, 1);
        u16(out, strlen("minecraft:plains"));
        tfs_buf_add_text(out, "minecraft:plains");
        end(out);
        return;
    }
    palette(out, "Palette", air ? airs : old, air ? 1 : 3);
    longs(out, "BlockStates", values, VOXELS, 4, game == MINECRAFT_13);
}

static void section(struct tfs_buf *out, enum minecraft_game game, int y)
{
    bytes(out, "SkyLight", VOXELS / 2, y == 0 ? 0 : 0xff);
    if (game == MINECRAFT_12)
        numbered(out, y > 0);
    else
        named(out, game, y > 0);
    byte(out, "Y", y);
    bytes(out, "BlockLight", VOXELS / 2, 0x10);
    end(out);
}

/* The lowest free y of each stack. */
static void heights(struct tfs_buf *out, const struct minecraft_world *w)
{
    const enum minecraft_game game = w->game;
    uint32_t values[256];

    for (size_t i = 0; i < 256; i++)
        values[i] = (i == 300 - 256 ? 2 : 1) + 16 * w->below;
    if (game == MINECRAFT_12) {
        tag(out, INTS, "HeightMap");
        u32(out, 256);
        for (size_t i = 0; i < 256; i++)
            u32(out, values[i]);
        return;
    }
    tag(out, COMPOUND, "Heightmaps");
    longs(out, "MOTION_BLOCKING", values, 256, 9, game == MINECRAFT_13);
    longs(out, "WORLD_SURFACE", values, 256, 9, game == MINECRAFT_13);
    end(out);
}

static void sections(struct tfs_buf *out, enum minecraft_game game, const char *name)
{
    tag(out, LIST, name);
    tfs_buf_u8(out, COMPOUND);
    u32(out, 3);
    byte(out, "Y", -1); /* it has light alone */
    bytes(out, "SkyLight", VOXELS / 2, 0);
    end(out);
    section(out, game, 0);
    section(out, game, 1);
}

static void contents(struct tfs_buf *out, const struct minecraft_world *w, int32_t x, int32_t z)
{
    const bool new = w->game == MINECRAFT_18;

    text(out, "Status", w->status != NULL ? w->status : new ? "minecraft:full" : "full");
    number(out, "zPos", z);
    if (new)
        number(out, "yPos", -(int32_t)w->below);
    byte(out, w->game == MINECRAFT_12 ? "LightPopulated" : "isLightOn", 1);
    heights(out, w);
    number(out, "xPos", x);
    sections(out, w->game, new ? "sections" : "Sections");
}

void minecraft_column(struct tfs_buf *out, const struct minecraft_world *world, int32_t x,
                      int32_t z)
{
    tag(out, COMPOUND, "");
    if (world->game == MINECRAFT_18) {
        contents(out, world, x, z);
    } else {
        tag(out, COMPOUND, "Level");
        contents(out, world, x, z);
        end(out);
    }
    number(out, "DataVersion", versions[world->game]);
    end(out);
    must(!out->failed, "no memory");
}

/* ---- a region -------------------------------------------------------------------------------- */

static void deflated(struct tfs_buf *out, struct tfs_span nbt, int window)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)nbt.data, .avail_in = (uInt)nbt.size};

    must(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
    z.avail_out = (uInt)deflateBound(&z, nbt.size);
    z.next_out = tfs_buf_reserve(out, z.avail_out);
    must(z.next_out != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END, "zlib");
    out->size += z.total_out;
    deflateEnd(&z);
}

/* One block of LZ4, one that is stored, and the last, which is empty. */
static void blocks_of_lz4(struct tfs_buf *out, struct tfs_span nbt)
{
    struct tfs_span parts[3] = {{nbt.data, nbt.size / 2}, {nbt.data + nbt.size / 2, 0}, {0}};
    char room[LZ4_COMPRESSBOUND(65536)];

    parts[1].size = nbt.size - parts[0].size;
    for (int i = 0; i < 3; i++) {
        const int packed = i > 0 ? (int)parts[i].size
                                 : LZ4_compress_default((const char *)nbt.data, room,
                                                        (int)parts[i].size, (int)sizeof(room));
        tfs_buf_add_text(out, "LZ4Block");
        tfs_buf_u8(out, i > 0 ? 0x16 : 0x26);
        tfs_buf_u32le(out, (uint32_t)packed);
        tfs_buf_u32le(out, (uint32_t)parts[i].size);
        tfs_buf_u32le(out, parts[i].size == 0
                               ? 0
                               : XXH32(parts[i].data, parts[i].size, 0x9747b28c) & 0x0fffffff);
        if (i == 0)
            tfs_buf_add(out, room, (size_t)packed);
        else
            tfs_buf_add_span(out, parts[i]);
    }
}

static void pack(struct tfs_buf *out, struct tfs_span nbt, uint8_t packing)
{
    if (packing == 1)
        deflated(out, nbt, 16 + MAX_WBITS);
    else if (packing == 2)
        deflated(out, nbt, MAX_WBITS);
    else if (packing == 3)
        tfs_buf_add_span(out, nbt);
    else
        blocks_of_lz4(out, nbt);
}

static void put_u32(struct tfs_buf *out, size_t at, size_t value)
{
    for (size_t i = 0; i < 4; i++)
        out->data[at + i] = (uint8_t)(value >> (24 - 8 * i));
}

/* The second column is not behind the first: a sector between them is free, and has old bytes. */
void minecraft_region(struct tfs_buf *out, const struct minecraft_world *world, int32_t x,
                      int32_t z)
{
    struct tfs_buf nbt = {0}, packed = {0};
    const size_t base = out->size;

    tfs_buf_resize(out, base + 2 * SECTOR);
    for (unsigned i = 0; i < world->columns; i++) {
        tfs_buf_clear(&nbt);
        tfs_buf_clear(&packed);
        minecraft_column(&nbt, world, x * 32 + (int32_t)i, z * 32);
        pack(&packed, tfs_buf_span(&nbt), world->packing);
        const size_t first = (out->size - base) / SECTOR, n = packed.size + 1;
        const size_t count = (n + 4 + SECTOR - 1) / SECTOR;
        u32(out, n);
        tfs_buf_u8(out, world->packing);
        tfs_buf_add_span(out, tfs_buf_span(&packed));
        tfs_buf_resize(out, base + (first + count) * SECTOR);
        put_u32(out, base + (size_t)4 * i, first << 8 | count);
        put_u32(out, base + SECTOR + (size_t)4 * i, 1600000000 + i);
        for (size_t k = 0; k < SECTOR && i + 1 < world->columns; k++)
            tfs_buf_u8(out, 0xee);
    }
    must(!out->failed, "no memory");
    tfs_buf_release(&nbt);
    tfs_buf_release(&packed);
}

static void write_region(const char *path, const struct minecraft_world *world, int32_t x)
{
    struct tfs_buf out = {0};
    FILE *file = fopen(path, "wb");

    /* Columns that are written have the date in them. */
    must(setenv("SOURCE_DATE_EPOCH", "1700000000", 0) == 0, "no memory");
    minecraft_region(&out, world, x, 0);
    must(file != NULL && fwrite(out.data, 1, out.size, file) == out.size && fclose(file) == 0,
         path);
    tfs_buf_release(&out);
}

void minecraft_file(const char *path, const struct minecraft_world *world)
{
    write_region(path, world, 0);
}

void minecraft_folder(const char *path, const struct minecraft_world *world)
{
    char name[4096];

    must(mkdir(path, 0777) == 0, path);
    for (int32_t x = 0; x >= -1; x--) {
        snprintf(name, sizeof(name), "%s/r.%d.0.mca", path, x);
        write_region(name, world, x);
    }
}
