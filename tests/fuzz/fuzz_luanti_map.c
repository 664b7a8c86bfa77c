/*
 * Any bytes as a database of Luanti. A first byte below 80: which tables it has, then rows as the
 * bytes say; the others: a sound database with some of its bytes changed. The bytes behind that are
 * edits (tests/lib/edit_target.h).
 *   made: schema, number of rows, and for each the key: 3 times a byte, or 7f and 8 bytes; value: 0
 *         NULL, 1 sound, else length and bytes
 *   changed: schema, number of changes, and those: place (2), byte
 */
#include <sqlite3.h>
#include <string.h>

#include "../lib/edit_target.h"
#include "../lib/luanti_maker.h"
#include "fuzz.h"

static const char *const schemas[] = {
    "CREATE TABLE blocks (pos INT PRIMARY KEY, data BLOB)",
    "CREATE TABLE blocks (x INTEGER, y INTEGER, z INTEGER, data BLOB NOT NULL, "
    "PRIMARY KEY (x, z, y))",
    "CREATE TABLE blocks (pos INT NOT NULL PRIMARY KEY, data)",
    "CREATE TABLE blocks (pos TEXT PRIMARY KEY, data TEXT) WITHOUT ROWID",
    "CREATE TABLE blocks (pos, data)",
    "CREATE TABLE blocks (x INTEGER, y INTEGER, z INTEGER, data BLOB, PRIMARY KEY (x, z))",
    "CREATE TABLE blocks (x, y, z, data, more DEFAULT 7, PRIMARY KEY (x, z, y)) WITHOUT ROWID",
    "CREATE VIEW blocks AS SELECT 1 AS pos, x'00' AS data",
    "CREATE TABLE blocks (pos INT PRIMARY KEY, data BLOB CHECK (length(data) > 99));"
    "CREATE TRIGGER t AFTER INSERT ON blocks BEGIN DELETE FROM blocks; END",
    "CREATE TABLE blocks (pos INT PRIMARY KEY, data BLOB, z INT)",
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
        luanti_block(&block, 29, (struct tfs_key){0}, true);
    return tfs_buf_span(&block);
}

static int64_t take_number(struct tfs_cursor *in)
{
    const int8_t small = (int8_t)tfs_take_u8(in);

    return small == 0x7f ? (int64_t)tfs_take_u64le(in) : small;
}

/* Unsigned: it may overflow. */
static int64_t pos_of(int64_t x, int64_t y, int64_t z)
{
    return (int64_t)(((uint64_t)z * 4096 + (uint64_t)y) * 4096 + (uint64_t)x);
}

static void bind_value(sqlite3_stmt *insert, int column, struct tfs_cursor *in)
{
    const uint8_t size = tfs_take_u8(in);
    struct tfs_span bytes = size == 1 ? sound_block() : (struct tfs_span){0};

    if (size > 1)
        bytes = tfs_take(in, size < tfs_cursor_left(in) ? size : tfs_cursor_left(in));
    if (size > 0)
        sqlite3_bind_blob(insert, column, bytes.size > 0 ? (const void *)bytes.data : "",
                          (int)bytes.size, SQLITE_TRANSIENT);
}

static void make_rows(sqlite3 *db, bool axes, struct tfs_cursor *in)
{
    sqlite3_stmt *insert = NULL;

    if (sqlite3_prepare_v2(db,
                           axes
                               ? "INSERT OR IGNORE INTO blocks (x, y, z, data) VALUES (?1,?2,?3,?4)"
                               : "INSERT OR IGNORE INTO blocks (pos, data) VALUES (?1,?2)",
                           -1, &insert, NULL) != SQLITE_OK)
        return;
    for (unsigned rows = tfs_take_u8(in) % 8; rows > 0; rows--) {
        const int64_t x = take_number(in), y = take_number(in), z = take_number(in);
        sqlite3_bind_int64(insert, 1, axes ? x : pos_of(x, y, z));
        if (axes) {
            sqlite3_bind_int64(insert, 2, y);
            sqlite3_bind_int64(insert, 3, z);
        }
        bind_value(insert, axes ? 4 : 2, in);
        (void)sqlite3_step(insert); /* what the schema does not take is not there */
        sqlite3_reset(insert);
        sqlite3_clear_bindings(insert);
    }
    sqlite3_finalize(insert);
}

static void make_database(const char *path, struct tfs_cursor *in)
{
    const char *schema = schemas[tfs_take_u8(in) % SCHEMAS];
    sqlite3 *db = NULL;

    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    run(db, schema);
    make_rows(db, strstr(schema, "(x") != NULL, in);
    run(db, "COMMIT");
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

/* A sound map of three blocks in that schema, made once. */
static struct tfs_span sound_map(unsigned schema)
{
    static struct tfs_buf maps[2];
    char path[FUZZ_PATH];

    if (maps[schema].size == 0) {
        snprintf(path, sizeof(path), "%s/sound.sqlite", fuzz_save_dir());
        luanti_map(path, schema == 1, schema == 1 ? 29 : 25, 3);
        fuzz_save_read(path, &maps[schema]);
        remove(path);
    }
    return tfs_buf_span(&maps[schema]);
}

static void change_database(const char *path, struct tfs_cursor *in)
{
    struct tfs_buf bytes = {0};

    tfs_buf_add_span(&bytes, sound_map(tfs_take_u8(in) % 2));
    for (unsigned changes = tfs_take_u8(in); changes > 0 && tfs_cursor_left(in) >= 3; changes--) {
        const uint16_t at = tfs_take_u16le(in);
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
    snprintf(path, sizeof(path), "%s/map.sqlite", fuzz_save_dir());
    if (tfs_take_u8(&in) < 0x80)
        make_database(path, &in);
    else
        change_database(path, &in);
    strange_target(path, tfs_take(&in, tfs_cursor_left(&in)));
    return 0;
}
