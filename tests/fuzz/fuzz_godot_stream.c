/*
 * Any bytes as a database of Godot Voxel Tools (tests/lib/database_target.h). The kinds are those
 * of its keys. made: schema, version, block_size_po2, key format, number of rows, and for each key:
 * kind and 10 bytes; block and instances: 0 NULL, 1 sound, else length and bytes
 */
#include <string.h>

#include "../lib/database_target.h"
#include "../lib/voxel_maker.h"
#include "fuzz.h"

static const char *const schemas[] = {
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"
    "CREATE TABLE blocks (loc INTEGER PRIMARY KEY, vb BLOB, instances BLOB);"
    "CREATE TABLE channels (idx INTEGER PRIMARY KEY, depth INTEGER)",
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"
    "CREATE TABLE blocks (loc TEXT PRIMARY KEY, vb BLOB, instances BLOB)",
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"
    "CREATE TABLE blocks (loc BLOB PRIMARY KEY, vb BLOB, instances BLOB) WITHOUT ROWID",
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER);"
    "CREATE TABLE blocks (loc INTEGER PRIMARY KEY, vb BLOB, instances BLOB)",
    "CREATE TABLE meta (version, block_size_po2, coordinate_format);"
    "CREATE TABLE blocks (loc PRIMARY KEY, vb, instances, more DEFAULT 7)",
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"
    "CREATE VIEW blocks AS SELECT 1 AS loc, x'00' AS vb, NULL AS instances",
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"
    "CREATE TABLE blocks (loc INTEGER PRIMARY KEY, vb BLOB CHECK (length(vb) > 20), instances);"
    "CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END",
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"
    "CREATE TABLE blocks (loc INTEGER, vb BLOB, instances BLOB, PRIMARY KEY (loc, vb))",
};
#define SCHEMAS (sizeof(schemas) / sizeof(schemas[0]))

static struct tfs_span sound_block(void)
{
    static struct tfs_buf block;

    if (block.size == 0)
        voxel_block(&block, 4, 4, (struct tfs_key){0}, 0, TFS_GODOT_LZ4);
    return tfs_buf_span(&block);
}

static void bind_key(sqlite3_stmt *insert, struct tfs_cursor *in)
{
    uint8_t kind = tfs_take_u8(in);
    struct tfs_cursor key = tfs_cursor_init(tfs_take(in, 10));
    char text[48];

    switch (kind % 4) {
    case 0:
        sqlite3_bind_int64(insert, 1, (int64_t)tfs_take_u64le(&key));
        return;
    case 1:
        snprintf(text, sizeof(text), "%d,%d,%d,%u", (int8_t)tfs_take_u8(&key),
                 (int16_t)tfs_take_u16le(&key), (int32_t)tfs_take_u32le(&key), tfs_take_u8(&key));
        sqlite3_bind_text(insert, 1, text, -1, SQLITE_TRANSIENT);
        return;
    case 2:
        sqlite3_bind_blob(insert, 1, key.start, (int)tfs_cursor_left(&key), SQLITE_TRANSIENT);
        return;
    default: /* near the middle */
        sqlite3_bind_int64(insert, 1, tfs_take_u8(&key));
    }
}

static void make_rows(sqlite3 *db, struct tfs_cursor *in)
{
    unsigned rows = tfs_take_u8(in) % 8;
    sqlite3_stmt *insert = NULL;

    if (sqlite3_prepare_v2(db,
                           "INSERT OR IGNORE INTO blocks (loc, vb, instances) VALUES (?1,?2,?3)",
                           -1, &insert, NULL) != SQLITE_OK)
        return;
    for (; rows > 0; rows--) {
        bind_key(insert, in);
        database_bind(insert, 2, sound_block(), in);
        database_bind(insert, 3, sound_block(), in);
        database_insert(insert);
    }
    sqlite3_finalize(insert);
}

static void fill(sqlite3 *db, struct tfs_cursor *in)
{
    const char *schema = schemas[tfs_take_u8(in) % SCHEMAS];
    int version = (int8_t)tfs_take_u8(in), po2 = (int8_t)tfs_take_u8(in);
    int format = (int8_t)tfs_take_u8(in);
    char sql[200];

    database_run(db, schema);
    if (strstr(schema, "coordinate_format") != NULL)
        snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES (%d, %d, %d)", version, po2, format);
    else
        snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES (%d, %d)", version, po2);
    database_run(db, sql);
    make_rows(db, in);
}

static void make_sound(const char *path, unsigned format)
{
    voxel_stream(path, format, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct database_target streams = {"a.sqlite", fill, 5, make_sound};

    database_target(&streams, (struct tfs_span){data, size});
    return 0;
}
