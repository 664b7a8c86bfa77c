/*
 * Any bytes as a database of Luanti (tests/lib/database_target.h). The kinds are the two schemas.
 *   made: schema, number of rows, and for each the key: 3 times a byte, or 7f and 8 bytes; value: 0
 *         NULL, 1 sound, else length and bytes
 */
#include <string.h>

#include "../lib/database_target.h"
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
        database_bind(insert, axes ? 4 : 2, sound_block(), in);
        database_insert(insert);
    }
    sqlite3_finalize(insert);
}

static void fill(sqlite3 *db, struct tfs_cursor *in)
{
    const char *schema = schemas[tfs_take_u8(in) % SCHEMAS];

    database_run(db, schema);
    make_rows(db, strstr(schema, "(x") != NULL, in);
}

static void make_sound(const char *path, unsigned schema)
{
    luanti_map(path, schema == 1, schema == 1 ? 29 : 25, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct database_target maps = {"map.sqlite", fill, 2, make_sound};

    database_target(&maps, (struct tfs_span){data, size});
    return 0;
}
