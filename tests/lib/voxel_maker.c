/*
 * Blocks of hills, and saves of them, written without the program's own containers of blocks.
 */
#include "voxel_maker.h"
#include "must.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SECTOR 512

/* ---- blocks ---------------------------------------------------------------------------------- */

static uint32_t noise(int32_t x, int32_t y, int32_t z)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u ^ (uint32_t)z * 0xc2b2ae3du;

    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ h >> 13;
}

/* How far a voxel lies above the ground, in 1/16 voxels. */
static int32_t height(int32_t x, int32_t y, int32_t z)
{
    double ground = 6.0 * sin(x * 0.07) + 5.0 * cos(z * 0.09);

    return (int32_t)lround((y - ground) * 16);
}

static void add_types(struct tfs_buf *out, unsigned side, struct tfs_key key, unsigned roughness)
{
    const int32_t s = (int32_t)side;

    for (int32_t z = 0; z < s; z++)
        for (int32_t x = 0; x < s; x++)
            for (int32_t y = 0; y < s; y++) {
                int32_t gx = key.x * s + x, gy = key.y * s + y, gz = key.z * s + z;
                int32_t above = height(gx, gy, gz);
                uint32_t type = above > 0 ? 0 : above > -16 ? 1 : above > -64 ? 2 : 3;
                if (roughness > 0 && noise(gx, gy, gz) % 256 < roughness)
                    type = noise(gz, gx, gy) % 500;
                tfs_buf_u16le(out, (uint16_t)type);
            }
}

static void add_distances(struct tfs_buf *out, unsigned version, unsigned side, struct tfs_key key)
{
    const int32_t s = (int32_t)side;

    for (int32_t z = 0; z < s; z++)
        for (int32_t x = 0; x < s; x++)
            for (int32_t y = 0; y < s; y++) {
                int32_t v = height(key.x * s + x, key.y * s + y, key.z * s + z) * 4;
                v = v > 32767 ? 32767 : v < -32767 ? -32767 : v;
                tfs_buf_u16le(out, (uint16_t)(version == 2 ? v + 32767 : v));
            }
}

void voxel_block(struct tfs_buf *out, unsigned version, unsigned po2, struct tfs_key key,
                 unsigned roughness, enum tfs_godot_kind kind)
{
    static const uint8_t tail_4[] = {0x01, 0, 0x11, 0x10, 0x32, 0x11, 0x0f, 0,    0x01,
                                     0,    1, 0,    1,    0,    0x0d, 0xf0, 0x0d, 0x90};
    struct tfs_buf data = {0};
    struct tfs_error err = {0};
    unsigned side = 1U << po2;

    tfs_buf_u8(&data, (uint8_t)version);
    for (unsigned i = 0; i < 3; i++)
        tfs_buf_u16le(&data, (uint16_t)side);
    tfs_buf_u8(&data, 0x10);
    add_types(&data, side, key, roughness);
    tfs_buf_u8(&data, 0x10);
    add_distances(&data, version, side, key);
    tfs_buf_add(&data, tail_4, sizeof(tail_4));
    must(!data.failed && tfs_godot_wrap(kind, tfs_buf_span(&data), out, &err) == 0, "block");
    tfs_buf_release(&data);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void write_file(const char *path, const struct tfs_buf *bytes)
{
    FILE *file = fopen(path, "wb");

    must(file != NULL && !bytes->failed, path);
    must(fwrite(bytes->data, 1, bytes->size, file) == bytes->size, path);
    must(fclose(file) == 0, path);
}

static void pad(struct tfs_buf *out, size_t begin, size_t unit)
{
    tfs_buf_resize(out, begin + (out->size - begin + unit - 1) / unit * unit);
}

static void add_header(struct tfs_buf *out, unsigned version, unsigned side, unsigned po2)
{
    static const uint8_t depths[] = {1, 1, 0, 1, 1, 0, 0, 0};

    tfs_buf_add_text(out, "VXR_");
    tfs_buf_u8(out, (uint8_t)version);
    if (version == 2)
        return;
    tfs_buf_u8(out, (uint8_t)po2);
    for (unsigned i = 0; i < 3; i++)
        tfs_buf_u8(out, (uint8_t)side);
    tfs_buf_add(out, depths, sizeof(depths));
    tfs_buf_u16le(out, SECTOR);
    tfs_buf_u8(out, 0);
}

/* A region of that version, whose lower `layers` layers of blocks are there; one of version 2 has
 * blocks of version 2. */
static void make_region(const char *path, unsigned version, struct tfs_key origin, unsigned side,
                        unsigned layers, unsigned po2)
{
    struct tfs_buf out = {0}, table = {0}, sectors = {0};
    uint32_t first = 0;

    for (unsigned z = 0; z < side; z++)
        for (unsigned x = 0; x < side; x++)
            for (unsigned y = 0; y < side; y++) {
                struct tfs_key key = {0, origin.x + (int32_t)x, origin.y + (int32_t)y,
                                      origin.z + (int32_t)z};
                struct tfs_buf block = {0};
                if (y >= layers) {
                    tfs_buf_u32le(&table, 0);
                    continue;
                }
                voxel_block(&block, version == 2 ? 2 : 4, po2, key, 0,
                            version == 2 ? TFS_GODOT_LZ4_BE : TFS_GODOT_LZ4);
                tfs_buf_u32le(&sectors, (uint32_t)block.size);
                tfs_buf_add_span(&sectors, tfs_buf_span(&block));
                pad(&sectors, 0, SECTOR);
                uint32_t end = (uint32_t)(sectors.size / SECTOR);
                tfs_buf_u32le(&table, first << 8 | (end - first));
                first = end;
                tfs_buf_release(&block);
            }
    add_header(&out, version, side, po2);
    tfs_buf_add_span(&out, tfs_buf_span(&table));
    tfs_buf_add_span(&out, tfs_buf_span(&sectors));
    write_file(path, &out);
    tfs_buf_release(&out);
    tfs_buf_release(&table);
    tfs_buf_release(&sectors);
}

void voxel_region(const char *path, unsigned side, unsigned po2)
{
    make_region(path, 3, (struct tfs_key){0}, side, side, po2);
}

static void make_folder(const char *path, unsigned version, unsigned regions, unsigned region_po2,
                        unsigned po2)
{
    static const char meta[] =
        "{\n\t\"block_size_po2\": %u,\n\t\"channel_depths\": [\n\t\t1,\n\t\t1,"
        "\n\t\t0,\n\t\t1,\n\t\t1,\n\t\t0,\n\t\t0,\n\t\t0\n\t],\n"
        "\t\"lod_count\": 3,\n\t\"region_size_po2\": %u,\n"
        "\t\"sector_size\": 512,\n\t\"version\": %u\n}";
    const unsigned side = 1U << region_po2;
    struct tfs_buf text = {0};
    char name[4096];

    must(mkdir(path, 0755) == 0, path);
    snprintf(name, sizeof(name), "%s/regions", path);
    must(mkdir(name, 0755) == 0, name);
    snprintf(name, sizeof(name), "%s/regions/lod0", path);
    must(mkdir(name, 0755) == 0, name);
    for (unsigned i = 0; i < regions; i++) {
        struct tfs_key origin = {.x = (int32_t)(side * i)};
        snprintf(name, sizeof(name), "%s/regions/lod0/r.%u.0.0.vxr", path, i);
        make_region(name, version, origin, side, side / 2, po2);
    }
    snprintf(name, sizeof(name), "%s/meta.vxrm", path);
    tfs_buf_printf(&text, meta, po2, region_po2, version);
    write_file(name, &text);
    tfs_buf_release(&text);
}

void voxel_folder_of(const char *path, unsigned regions, unsigned region_po2, unsigned po2)
{
    make_folder(path, 3, regions, region_po2, po2);
}

void voxel_folder(const char *path, unsigned regions)
{
    make_folder(path, 3, regions, 2, 4);
}

void voxel_folder_2(const char *path, unsigned regions)
{
    make_folder(path, 2, regions, 2, 4);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK)
        return;
    fprintf(stderr, "voxel_maker: %s: %s\n", sql, why);
    abort();
}

static void create_tables(sqlite3 *db, unsigned coordinates, unsigned po2)
{
    static const char *const loc[] = {"INTEGER", "INTEGER", "TEXT", "BLOB", "INTEGER"};
    char sql[300];

    run(db, coordinates == 4 ? "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER)"
                             : "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, "
                               "coordinate_format INTEGER)");
    snprintf(sql, sizeof(sql),
             "CREATE TABLE blocks (loc %s PRIMARY KEY, vb BLOB, instances BLOB);"
             "CREATE TABLE channels (idx INTEGER PRIMARY KEY, depth INTEGER)",
             loc[coordinates]);
    run(db, sql);
    if (coordinates == 4)
        snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES (0, %u)", po2);
    else
        snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES (1, %u, %u)", po2, coordinates);
    run(db, sql);
    run(db, "INSERT INTO channels VALUES (0,1),(1,1),(2,1),(3,1),(4,1),(5,1),(6,1),(7,1)");
}

static void bind_key(sqlite3_stmt *insert, unsigned coordinates, struct tfs_key key)
{
    const uint64_t x = (uint32_t)key.x, y = (uint32_t)key.y, z = (uint32_t)key.z;
    uint64_t low, high;
    uint8_t bytes[10];
    char text[60];

    switch (coordinates) {
    case 1:
        sqlite3_bind_int64(insert, 1,
                           (int64_t)((x & 0x7ffff) << 38 | (y & 0x7ffff) << 19 | (z & 0x7ffff)));
        return;
    case 2:
        snprintf(text, sizeof(text), "%d,%d,%d,0", key.x, key.y, key.z);
        sqlite3_bind_text(insert, 1, text, -1, SQLITE_TRANSIENT);
        return;
    case 3:
        low = (z & 0x3fff) << 50 | (y & 0x1ffffff) << 25 | (x & 0x1ffffff);
        high = z >> 14 & 0x7ff;
        for (unsigned i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(i < 8 ? low >> 8 * i : high >> 8 * (i - 8));
        sqlite3_bind_blob(insert, 1, bytes, sizeof(bytes), SQLITE_TRANSIENT);
        return;
    default:
        sqlite3_bind_int64(insert, 1,
                           (int64_t)((x & 0xffff) << 32 | (y & 0xffff) << 16 | (z & 0xffff)));
        return;
    }
}

static void make_stream(const char *path, const char *pragma, unsigned coordinates, unsigned count,
                        unsigned po2)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;

    must(sqlite3_open(path, &db) == SQLITE_OK, path);
    run(db, pragma);
    run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    create_tables(db, coordinates, po2);
    must(sqlite3_prepare_v2(db, "INSERT INTO blocks VALUES (?1, ?2, NULL)", -1, &insert, NULL) ==
             SQLITE_OK,
         path);
    for (unsigned i = 0; i < count; i++) {
        struct tfs_key key = {0, (int32_t)(i % 100) - 50, (int32_t)(i / 10000) - 1,
                              (int32_t)(i / 100 % 100) - 50};
        struct tfs_buf block = {0};
        voxel_block(&block, 4, po2, key, 0, TFS_GODOT_LZ4);
        bind_key(insert, coordinates, key);
        sqlite3_bind_blob(insert, 2, block.data, (int)block.size, SQLITE_TRANSIENT);
        must(sqlite3_step(insert) == SQLITE_DONE, path);
        sqlite3_reset(insert);
        tfs_buf_release(&block);
    }
    sqlite3_finalize(insert);
    run(db, "COMMIT");
    must(sqlite3_close(db) == SQLITE_OK, path);
}

void voxel_stream(const char *path, unsigned coordinates, unsigned count)
{
    make_stream(path, "", coordinates, count, 4);
}

void voxel_stream_of(const char *path, unsigned coordinates, unsigned count, unsigned po2)
{
    make_stream(path, "PRAGMA page_size=512", coordinates, count, po2);
}
