/*
 * Maker of maps.
 */
#include "luanti_maker.h"
#include "must.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>
#include <zstd.h>

#define VOXELS 4096

static void u16(struct tfs_buf *out, unsigned v)
{
    tfs_buf_u8(out, (uint8_t)(v >> 8));
    tfs_buf_u8(out, (uint8_t)v);
}

static void text(struct tfs_buf *out, const char *t)
{
    u16(out, (unsigned)strlen(t));
    tfs_buf_add_text(out, t);
}

/* ---- packing --------------------------------------------------------------------------------- */

static void add_zlib(struct tfs_buf *out, struct tfs_span bytes)
{
    uLongf size = compressBound(bytes.size);
    uint8_t *room = tfs_buf_reserve(out, size);

    must(room != NULL && compress(room, &size, bytes.data, bytes.size) == Z_OK, "zlib");
    out->size += size;
}

static void add_zstd(struct tfs_buf *out, struct tfs_span bytes)
{
    ZSTD_CStream *stream = ZSTD_createCStream();
    uint8_t *room = tfs_buf_reserve(out, ZSTD_compressBound(bytes.size));
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    ZSTD_outBuffer step = {room, ZSTD_compressBound(bytes.size), 0};

    must(stream != NULL && room != NULL && !ZSTD_isError(ZSTD_initCStream(stream, 3)), "zstd");
    must(!ZSTD_isError(ZSTD_compressStream(stream, &step, &in)), "zstd");
    must(ZSTD_endStream(stream, &step) == 0, "zstd");
    out->size += step.pos;
    ZSTD_freeCStream(stream);
}

void luanti_pack(struct tfs_buf *out, unsigned version, struct tfs_span head, struct tfs_span nodes,
                 struct tfs_span metadata, struct tfs_span rest)
{
    struct tfs_buf plain = {0};

    tfs_buf_u8(out, (uint8_t)version);
    if (version < 29) {
        tfs_buf_add_span(out, head);
        add_zlib(out, nodes);
        add_zlib(out, metadata);
        tfs_buf_add_span(out, rest);
        return;
    }
    tfs_buf_add_span(&plain, head);
    tfs_buf_add_span(&plain, nodes);
    tfs_buf_add_span(&plain, metadata);
    tfs_buf_add_span(&plain, rest);
    add_zstd(out, (struct tfs_span){plain.data, plain.size});
    tfs_buf_release(&plain);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* In the order in which they appear, which is by x first, then y, then z. */
static const char *const names[] = {"default:stone", "default:dirt", "air", "default:chest"};

/* What the block at `key` is made of: stones in its lowest row, dirt up to y 3 or 4. */
static unsigned id_at(struct tfs_key key, bool items, unsigned x, unsigned y, unsigned z)
{
    const unsigned stones = 1 + ((unsigned)key.x * 5 + (unsigned)key.z * 3) % 7;

    if (items && x == 3 && y == 5 && z == 2)
        return 3;
    if (y == 0 && z == 0 && x < stones)
        return 0;
    return y < 4 + (unsigned)(key.z & 1) ? 1 : 2;
}

static void add_nodes(struct tfs_buf *out, unsigned width, struct tfs_key key, bool items)
{
    for (unsigned i = 0; i < VOXELS; i++) {
        if (width == 2)
            tfs_buf_u8(out, 0);
        tfs_buf_u8(out, (uint8_t)id_at(key, items, i & 15, i >> 4 & 15, i >> 8));
    }
    for (unsigned i = 0; i < VOXELS; i++)
        tfs_buf_u8(out, (i >> 4 & 15) > 4 ? 0x0f : 0);
    for (unsigned i = 0; i < VOXELS; i++)
        tfs_buf_u8(out, i == 0 ? 7 : 0);
}

static void add_name_table(struct tfs_buf *out, unsigned version, bool items)
{
    const unsigned count = items ? 4 : 3;

    tfs_buf_u8(out, 0);
    u16(out, count);
    for (unsigned i = 0; i < count; i++) {
        const unsigned id = version < 28 ? i : count - 1 - i;
        u16(out, id);
        text(out, names[id]);
    }
}

static void add_metadata(struct tfs_buf *out, unsigned version, bool items)
{
    static const char inventory[] = "List main 2\nWidth 0\nItem default:dirt 5\nEmpty\n"
                                    "EndInventoryList\nEndInventory\n";
    static const char *const pairs[][2] = {{"infotext", "A chest"}, {"owner", "me"}};

    if (version == 22) {
        tfs_buf_add(out, "\0\1\0\0", 4);
    } else if (!items) {
        tfs_buf_u8(out, 0);
    } else {
        tfs_buf_u8(out, version < 28 ? 1 : 2);
        u16(out, 1);
        u16(out, 2 << 8 | 5 << 4 | 3);
        tfs_buf_u32be(out, 2);
        for (unsigned i = 0; i < 2; i++) {
            text(out, pairs[i][0]);
            tfs_buf_u32be(out, (uint32_t)strlen(pairs[i][1]));
            tfs_buf_add_text(out, pairs[i][1]);
            if (version >= 28)
                tfs_buf_u8(out, i == 1);
        }
        tfs_buf_add_text(out, inventory);
    }
}

static void add_objects(struct tfs_buf *out, struct tfs_key key, bool items)
{
    tfs_buf_u8(out, 0);
    u16(out, items);
    if (!items)
        return;
    tfs_buf_u8(out, 7);
    tfs_buf_u32be(out, (uint32_t)(key.x * 160000 + 45000));
    tfs_buf_u32be(out, (uint32_t)(key.y * 160000 + 65001));
    tfs_buf_u32be(out, (uint32_t)(key.z * 160000));
    text(out, "\1thing");
}

static void add_timers(struct tfs_buf *out, unsigned version, bool items)
{
    if (version < 24)
        return;
    if (version > 24)
        tfs_buf_u8(out, 10);
    else
        tfs_buf_u8(out, items);
    if (version > 24 || items)
        u16(out, items);
    if (!items)
        return;
    u16(out, 2 << 8 | 5 << 4 | 3);
    tfs_buf_u32be(out, 2500);
    tfs_buf_u32be(out, 750);
}

static void add_flags(struct tfs_buf *out, unsigned version)
{
    tfs_buf_u8(out, 2);
    if (version >= 27)
        u16(out, 0xffff);
}

static void add_times_and_names(struct tfs_buf *out, unsigned version, bool items)
{
    tfs_buf_u32be(out, 1234);
    add_name_table(out, version, items);
}

void luanti_block(struct tfs_buf *out, unsigned version, struct tfs_key key, bool items)
{
    const unsigned width = version < 24 ? 1 : 2;
    struct tfs_buf head = {0}, nodes = {0}, metadata = {0}, rest = {0};

    add_flags(&head, version);
    if (version == 29)
        add_times_and_names(&head, version, items);
    tfs_buf_u8(&head, (uint8_t)width);
    tfs_buf_u8(&head, 2);
    add_nodes(&nodes, width, key, items);
    add_metadata(&metadata, version, items);
    if (version == 23)
        tfs_buf_u8(&rest, 0);
    if (version == 24)
        add_timers(&rest, version, items);
    add_objects(&rest, key, items);
    if (version < 29)
        add_times_and_names(&rest, version, items);
    if (version > 24)
        add_timers(&rest, version, items);
    luanti_pack(out, version, tfs_buf_span(&head), tfs_buf_span(&nodes), tfs_buf_span(&metadata),
                tfs_buf_span(&rest));
    tfs_buf_release(&head);
    tfs_buf_release(&nodes);
    tfs_buf_release(&metadata);
    tfs_buf_release(&rest);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) == SQLITE_OK)
        return;
    fprintf(stderr, "luanti_maker: %s: %s\n", sql, why);
    abort();
}

static int bind_key(sqlite3_stmt *insert, bool axes, struct tfs_key key)
{
    if (!axes) {
        sqlite3_bind_int64(insert, 1, key.z * INT64_C(16777216) + key.y * INT64_C(4096) + key.x);
        return 2;
    }
    sqlite3_bind_int(insert, 1, key.x);
    sqlite3_bind_int(insert, 2, key.y);
    sqlite3_bind_int(insert, 3, key.z);
    return 4;
}

void luanti_map(const char *path, bool axes, unsigned version, unsigned count)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;

    must(sqlite3_open(path, &db) == SQLITE_OK, path);
    run(db, "PRAGMA page_size=512; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    run(db, axes ? "CREATE TABLE `blocks` (`x` INTEGER,`y` INTEGER,`z` INTEGER,`data` BLOB NOT "
                   "NULL,PRIMARY KEY (`x`, `z`, `y`))"
                 : "CREATE TABLE `blocks` (`pos` INT PRIMARY KEY,`data` BLOB)");
    must(sqlite3_prepare_v2(
             db,
             axes ? "INSERT INTO blocks VALUES (?1,?2,?3,?4)" : "INSERT INTO blocks VALUES (?1,?2)",
             -1, &insert, NULL) == SQLITE_OK,
         path);
    for (unsigned i = 0; i < count; i++) {
        const struct tfs_key key = {0, (int32_t)(i % 100) - 1, -1 + (int32_t)(i / 10000),
                                    (int32_t)(i / 100 % 100) - 1};
        struct tfs_buf block = {0};
        luanti_block(&block, version, key, i == 0);
        sqlite3_bind_blob(insert, bind_key(insert, axes, key), block.data, (int)block.size,
                          SQLITE_TRANSIENT);
        must(sqlite3_step(insert) == SQLITE_DONE, path);
        sqlite3_reset(insert);
        tfs_buf_release(&block);
    }
    sqlite3_finalize(insert);
    run(db, "COMMIT");
    must(sqlite3_close(db) == SQLITE_OK, path);
}

void luanti_world(const char *path, bool axes, unsigned version, unsigned count)
{
    static const char settings[] = "gameid = minetest\nbackend = sqlite3\nplayer_backend = files\n";
    char name[4096];
    FILE *file;

    must(mkdir(path, 0755) == 0, path);
    snprintf(name, sizeof(name), "%s/world.mt", path);
    file = fopen(name, "w");
    must(file != NULL && fputs(settings, file) >= 0 && fclose(file) == 0, name);
    snprintf(name, sizeof(name), "%s/map.sqlite", path);
    luanti_map(name, axes, version, count);
}

bool luanti_sample(const char *path, struct tfs_buf *out)
{
    gzFile file = gzopen(path, "rb");
    uint8_t piece[65536];

    if (file == NULL)
        return false;
    for (int n; (n = gzread(file, piece, sizeof(piece))) > 0;)
        tfs_buf_add(out, piece, (size_t)n);
    must(gzclose(file) == Z_OK, path);
    return true;
}
