/*
 * Any bytes as a database of Godot Voxel Tools. A first byte below 80: which columns and key format
 * it has, then rows as the bytes say; the others: a sound database with some of its bytes changed.
 * The bytes behind that are edits (tests/lib/edit_target.h).
 *   made: schema, version, block_size_po2, key format, number of rows, and for each
 *         key: kind and 10 bytes; block and instances: 0 NULL, 1 sound, else length and bytes
 *   changed: key format, number of changes, and those: place (2), byte
 */
#include <sqlite3.h>
#include <string.h>

#include "../lib/edit_target.h"
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

static void run(sqlite3 *db, const char *sql)
{
    REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

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

static void bind_value(sqlite3_stmt *insert, int column, struct tfs_cursor *in)
{
    uint8_t size = tfs_take_u8(in);
    struct tfs_span bytes = size == 1 ? sound_block() : (struct tfs_span){0};

    if (size > 1)
        bytes = tfs_take(in, size < tfs_cursor_left(in) ? size : tfs_cursor_left(in));
    if (size > 0)
        sqlite3_bind_blob(insert, column, bytes.size > 0 ? (const void *)bytes.data : "",
                          (int)bytes.size, SQLITE_TRANSIENT);
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
        bind_value(insert, 2, in);
        bind_value(insert, 3, in);
        (void)sqlite3_step(insert); /* what the schema does not take is not there */
        sqlite3_reset(insert);
        sqlite3_clear_bindings(insert);
    }
    sqlite3_finalize(insert);
}

static void make_database(const char *path, struct tfs_cursor *in)
{
    const char *schema = schemas[tfs_take_u8(in) % SCHEMAS];
    int version = (int8_t)tfs_take_u8(in), po2 = (int8_t)tfs_take_u8(in);
    int format = (int8_t)tfs_take_u8(in);
    sqlite3 *db = NULL;
    char sql[200];

    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    run(db, schema);
    if (strstr(schema, "coordinate_format") != NULL)
        snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES (%d, %d, %d)", version, po2, format);
    else
        snprintf(sql, sizeof(sql), "INSERT INTO meta VALUES (%d, %d)", version, po2);
    run(db, sql);
    make_rows(db, in);
    run(db, "COMMIT");
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

/* A sound stream of three blocks and that key format, made once. */
static struct tfs_span sound_stream(unsigned format)
{
    static struct tfs_buf streams[5];
    char path[FUZZ_PATH];

    if (streams[format].size == 0) {
        snprintf(path, sizeof(path), "%s/sound.sqlite", fuzz_save_dir());
        voxel_stream(path, format, 3);
        fuzz_save_read(path, &streams[format]);
        remove(path);
    }
    return tfs_buf_span(&streams[format]);
}

static void change_database(const char *path, struct tfs_cursor *in)
{
    struct tfs_buf bytes = {0};

    tfs_buf_add_span(&bytes, sound_stream(tfs_take_u8(in) % 5));
    for (unsigned changes = tfs_take_u8(in); changes > 0 && tfs_cursor_left(in) >= 3; changes--) {
        uint16_t at = tfs_take_u16le(in);
        bytes.data[at % bytes.size] = tfs_take_u8(in);
    }
    fuzz_save_write(path, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tfs_cursor in = tfs_cursor_init((struct tfs_span){data, size});
    char path[FUZZ_PATH];

    fuzz_save_clear(fuzz_save_dir());
    snprintf(path, sizeof(path), "%s/a.sqlite", fuzz_save_dir());
    if (tfs_take_u8(&in) < 0x80)
        make_database(path, &in);
    else
        change_database(path, &in);
    strange_target(path, tfs_take(&in, tfs_cursor_left(&in)));
    return 0;
}
