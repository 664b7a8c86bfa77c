/* formats/godot_voxel: SQLite streams. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../lib/looked_into.h"
#include "../lib/files_case.h"
#include "../lib/voxel_maker.h"
#include "formats/database/rows_state.h"
#include "formats/godot_voxel/block.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/rules.h"
#include "formats/godot_voxel/stream_key.h"
#include "formats/godot_voxel/view.h"
#include "formats/picture/columns.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/godot_voxel/"

static struct tree_files c;
static sqlite3 *other; /* another program's connection */

static void teardown(void)
{
    sqlite3_close(other);
    other = NULL;
    tree_files_close(&c);
    scratch_teardown();
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* godot_voxel/FORMAT.md, section 7; an independent codec made the keys. */
START_TEST(key_of_every_format_is_that_of_the_page)
{
    const struct tfs_key key = {1, -1, 0, 2};
    struct tfs_godot_loc loc;
    struct tfs_buf blob = files_hex("ffffff01000008000008");

    tfs_godot_key_encode(TFS_GODOT_KEY_INT64_16, key, &loc);
    ck_assert_int_eq(loc.number, 562945658454018);
    tfs_godot_key_encode(TFS_GODOT_KEY_INT64_19, key, &loc);
    ck_assert_int_eq(loc.number, 288230101273804802);
    tfs_godot_key_encode(TFS_GODOT_KEY_TEXT, key, &loc);
    ck_assert_uint_eq(loc.size, 8);
    ck_assert_mem_eq(loc.bytes, "-1,0,2,1", 8);
    tfs_godot_key_encode(TFS_GODOT_KEY_BLOB, key, &loc);
    ck_assert_uint_eq(loc.size, blob.size);
    ck_assert_mem_eq(loc.bytes, blob.data, blob.size);
    tfs_buf_release(&blob);
}
END_TEST

START_TEST(key_reads_back_at_the_bounds)
{
    enum tfs_godot_key_format format = (enum tfs_godot_key_format)_i;
    int32_t low, high;

    tfs_godot_key_bounds(format, &low, &high);
    const int32_t values[] = {low, low + 1, -1, 0, 1, 12345, high - 1, high};
    for (int i = 0; i < 8 * 8 * 8; i++) {
        const struct tfs_key key = {(uint32_t)i % 24, values[i % 8], values[i / 8 % 8],
                                    values[i / 64]};
        struct tfs_key found;
        struct tfs_godot_loc loc;
        tfs_godot_key_encode(format, key, &loc);
        const struct tfs_span bytes = {loc.bytes, loc.size};
        ck_assert(tfs_godot_key_decode(format, loc.number, bytes, &found));
        ck_assert_int_eq(tfs_key_compare(found, key), 0);
    }
}
END_TEST

static const struct {
    enum tfs_godot_key_format format;
    int64_t number;
    const char *text;
} no_keys[] = {
    {TFS_GODOT_KEY_INT64_16, INT64_C(24) << 48, ""},
    {TFS_GODOT_KEY_INT64_16, INT64_C(1) << 56, ""},
    {TFS_GODOT_KEY_INT64_16, -1, ""},
    {TFS_GODOT_KEY_INT64_19, INT64_C(24) << 57, ""},
    {TFS_GODOT_KEY_INT64_19, -1, ""},
    {TFS_GODOT_KEY_TEXT, 0, ""},
    {TFS_GODOT_KEY_TEXT, 0, "1,2,3"},
    {TFS_GODOT_KEY_TEXT, 0, "1,2,3,"},
    {TFS_GODOT_KEY_TEXT, 0, "1,2,3,4,5"},
    {TFS_GODOT_KEY_TEXT, 0, "01,2,3,4"},
    {TFS_GODOT_KEY_TEXT, 0, "-0,2,3,4"},
    {TFS_GODOT_KEY_TEXT, 0, "+1,2,3,4"},
    {TFS_GODOT_KEY_TEXT, 0, "1, 2,3,4"},
    {TFS_GODOT_KEY_TEXT, 0, "1,2,3,24"},
    {TFS_GODOT_KEY_TEXT, 0, "1,2,3,-1"},
    {TFS_GODOT_KEY_TEXT, 0, "33554432,2,3,4"},
    {TFS_GODOT_KEY_TEXT, 0, "999999999999,2,3,4"},
    {TFS_GODOT_KEY_BLOB, 0, "123456789"},
    {TFS_GODOT_KEY_BLOB, 0, "12345678901"},
    {TFS_GODOT_KEY_BLOB, 0, "123456789\xff"},
};

START_TEST(key_that_no_coordinate_has_is_none)
{
    struct tfs_key key;

    ck_assert(!tfs_godot_key_decode(no_keys[_i].format, no_keys[_i].number,
                                    tfs_span_of(no_keys[_i].text), &key));
}
END_TEST

/* ---- databases ------------------------------------------------------------------------------- */

static const char *db_path(void)
{
    return scratch_path("world.sqlite");
}

static void run(const char *sql)
{
    char *why = NULL;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(other, sql, NULL, NULL, &why) == SQLITE_OK, "%s: %s", sql, why);
}

/* Closes the other program's connection, which makes tables and is gone. */
static void run_and_close(const char *sql)
{
    run(sql);
    sqlite3_close(other);
    other = NULL;
}

/* The one number that a query gives. */
static int64_t ask(const char *sql)
{
    sqlite3_stmt *statement;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(other, sql, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static void must_open(void)
{
    ck_assert_msg(files_open(&c, db_path()) == 0, "%s", c.err.text);
}

static void commit(void)
{
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
}

/* Opens it anew: what is on disk. */
static void reopen(void)
{
    tree_files_close(&c);
    must_open();
}

START_TEST(stream_of_every_key_format_is_edited)
{
    const struct tfs_key first = {0, -50, -1, -50}, fresh = {3, -9, 8, 7};
    const unsigned format = (unsigned)_i;

    voxel_stream(db_path(), format, 10);
    must_open();
    ck_assert_uint_eq(c.doc->count, 10);
    ck_assert_int_eq(files_put_text(&c, first, "channels/data5.txt", "fill 9"), 0);
    ck_assert_int_eq(files_create(&c, fresh), 0);
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, -49, -1, -50}), 0);
    ck_assert_int_eq(
        files_move(&c, (struct tfs_key){0, -48, -1, -50}, (struct tfs_key){1, 1, 2, 3}), 0);
    commit();
    reopen();
    ck_assert_uint_eq(c.doc->count, 10);
    ck_assert(files_shows(&c, first, "channels/data5.txt", "depth 8\nfill 9\n"));
    ck_assert(files_shows(&c, fresh, "voxels.csv", "x,y,z\n"));
    ck_assert(
        files_holds(&c, (struct tfs_key){1, 1, 2, 3}, "voxels.csv", "x,y,z,type,sdf\n16,32,"));
    ck_assert_ptr_null(tfs_doc_find(c.doc, (struct tfs_key){0, -49, -1, -50}));
}
END_TEST

START_TEST(edit_writes_one_column_of_one_row)
{
    const struct tfs_key key = {1, 1, 0, 0};

    files_copy(SAMPLES "engine_v4/stream_coord2.sqlite", db_path());
    run("CREATE TABLE copy AS SELECT * FROM blocks");
    must_open();
    const struct tfs_chunk *chunk = NULL;
    for (size_t i = 0; i < c.doc->count && chunk == NULL; i++) {
        struct tfs_key at = tfs_doc_at(c.doc, i)->key;
        struct tfs_buf extra = files_get(&c, at, "instances.bin");
        struct tfs_buf raw = files_get(&c, at, "raw.bin");
        if (extra.data != NULL && raw.data != NULL)
            chunk = tfs_doc_at(c.doc, i);
        tfs_buf_release(&extra);
        tfs_buf_release(&raw);
    }
    ck_assert_ptr_nonnull(chunk);
    ck_assert_int_eq(files_put_text(&c, chunk->key, "channels/data7.txt", "fill 3"), 0);
    commit();
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks"), ask("SELECT count(*) FROM copy"));
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks JOIN copy USING (loc) "
                         "WHERE blocks.vb IS NOT copy.vb"),
                     1);
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks JOIN copy USING (loc) "
                         "WHERE blocks.instances IS NOT copy.instances"),
                     0);
    (void)key;
}
END_TEST

/* ---- instances ------------------------------------------------------------------------------- */

static struct tfs_key key_with(const char *name, bool without_block)
{
    for (size_t i = 0; i < c.doc->count; i++) {
        struct tfs_key key = tfs_doc_at(c.doc, i)->key;
        struct tfs_buf found = files_get(&c, key, name), raw = files_get(&c, key, "raw.bin");
        bool fits = found.data != NULL && (raw.data == NULL) == without_block;
        tfs_buf_release(&found);
        tfs_buf_release(&raw);
        if (fits)
            return key;
    }
    ck_abort_msg("no chunk has %s", name);
    return (struct tfs_key){0};
}

START_TEST(instances_come_and_go)
{
    files_copy(SAMPLES "engine_v4/stream_coord0.sqlite", db_path());
    must_open();
    struct tfs_key key = key_with("instances.bin", false);
    struct tfs_buf extra = files_get(&c, key, "instances.bin");
    ck_assert_int_eq(files_remove(&c, key, "instances.bin"), 0);
    commit();
    reopen();
    struct tfs_buf gone = files_get(&c, key, "instances.bin");
    ck_assert_ptr_null(gone.data);
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks WHERE instances IS NOT NULL"), 1);
    ck_assert_int_eq(files_put(&c, key, "instances.bin", tfs_buf_span(&extra)), 0);
    commit();
    reopen();
    struct tfs_buf back = files_get(&c, key, "instances.bin");
    ck_assert(tfs_span_equal(tfs_buf_span(&back), tfs_buf_span(&extra)));
    tfs_buf_release(&back);
    tfs_buf_release(&extra);
}
END_TEST

static const char *const no_instances[] = {
    "",
    "00",
    "00 02 00 0000803f 0df00d90",
    "00 01 00 00000000 0df00d90",
    "00 01 01 0000803f 0df00d90",
    "00 01 00 0000803f 0df00d91",
    "00 01 00 0000803f 0df00d90 00",
    "00 01 01 0000803f 0100 ffff 00000000 0000803f 00 0df00d90",
    "00 01 01 0000803f 0100 0000 00000000 0000803f 01 0df00d90",
    "00 00 00 0000803f 900df00d",
};

START_TEST(bytes_that_are_no_instances_are_refused)
{
    struct tfs_buf bytes = files_hex(no_instances[_i]);

    voxel_stream(db_path(), 2, 1);
    must_open();
    ck_assert_int_eq(
        files_put(&c, tfs_doc_at(c.doc, 0)->key, "instances.bin", tfs_buf_span(&bytes)), -EBADMSG);
    tfs_buf_release(&bytes);
}
END_TEST

static const char *const good_instances[] = {
    "00 01 00 0000803f 0df00d90",
    "00 00 00 3f800000 900df00d",
    "00 01 01 0000803f 0100 0100 00000000 0000803f 00 000000000000 00 00000000 0df00d90",
};

START_TEST(instances_of_either_byte_order_are_taken)
{
    struct tfs_buf bytes = files_hex(good_instances[_i]);

    voxel_stream(db_path(), 2, 1);
    must_open();
    ck_assert_msg(
        files_put(&c, tfs_doc_at(c.doc, 0)->key, "instances.bin", tfs_buf_span(&bytes)) == 0, "%s",
        c.err.text);
    commit();
    ck_assert_int_eq(ask("SELECT length(instances) FROM blocks"), (int64_t)bytes.size);
    tfs_buf_release(&bytes);
}
END_TEST

START_TEST(row_without_voxels_gets_a_block_by_a_channel)
{
    files_copy(SAMPLES "engine_v4/stream_coord2.sqlite", db_path());
    must_open();
    struct tfs_key key = {0};
    for (size_t i = 0; i < c.doc->count; i++) {
        struct tfs_buf raw = files_get(&c, tfs_doc_at(c.doc, i)->key, "raw.bin");
        if (raw.data == NULL)
            key = tfs_doc_at(c.doc, i)->key;
        tfs_buf_release(&raw);
    }
    struct tfs_buf csv = files_get(&c, key, "voxels.csv");
    ck_assert_ptr_null(csv.data);
    ck_assert_int_eq(files_put_text(&c, key, "channels/type.txt", "fill 5"), 0);
    commit();
    reopen();
    ck_assert(files_shows(&c, key, "channels/type.txt", "depth 16\nfill 5\n"));
    ck_assert(files_shows(&c, key, "channels/sdf.txt", "depth 16\nfill 32767\n"));
}
END_TEST

/* ---- others ---------------------------------------------------------------------------------- */

static const struct tfs_key one = {0, -50, -1, -50}, two = {0, -49, -1, -50};

START_TEST(database_that_is_being_written_is_busy)
{
    voxel_stream(db_path(), 2, 3);
    must_open();
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    run("BEGIN IMMEDIATE; UPDATE blocks SET instances = NULL");
    ck_assert_int_eq(files_commit(&c), -EBUSY);
    ck_assert_str_eq(c.err.text, "the database is locked by another program, which may be a "
                                 "running game");
    run("ROLLBACK");
    commit();
    reopen();
    ck_assert(files_shows(&c, one, "channels/data5.txt", "depth 8\nfill 9\n"));
}
END_TEST

START_TEST(reader_that_holds_on_makes_the_commit_busy)
{
    voxel_stream(db_path(), 2, 3);
    run("PRAGMA journal_mode=DELETE; BEGIN; SELECT count(*) FROM blocks");
    must_open();
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    ck_assert_int_eq(files_commit(&c), -EBUSY);
    run("COMMIT");
    commit();
}
END_TEST

START_TEST(change_of_another_row_stands_in_nobodys_way)
{
    struct tfs_error err = {0};

    voxel_stream(db_path(), 2, 3);
    must_open();
    ck_assert(files_holds(&c, two, "channels/data5.txt", "fill 0"));
    ck_assert_int_eq(c.save->container->changed(c.save, &err), 0);
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    run("UPDATE blocks SET vb = (SELECT vb FROM blocks WHERE loc = '-48,-1,-50,0') "
        "WHERE loc = '-49,-1,-50,0'");
    ck_assert_int_eq(c.save->container->changed(c.save, &err), 1);
    uint64_t place = tfs_doc_find(c.doc, two)->own;
    commit();
    /* What the other program wrote is shown, what we wrote too. */
    ck_assert_int_eq(c.save->container->changed(c.save, &err), 0);
    ck_assert_uint_ne(tfs_doc_find(c.doc, two)->own, place);
    ck_assert(files_shows(&c, one, "channels/data5.txt", "depth 8\nfill 9\n"));
    struct tfs_buf other_row = files_get(&c, two, "raw.bin");
    struct tfs_buf source = files_get(&c, (struct tfs_key){0, -48, -1, -50}, "raw.bin");
    ck_assert(tfs_span_equal(tfs_buf_span(&other_row), tfs_buf_span(&source)));
    tfs_buf_release(&other_row);
    tfs_buf_release(&source);
}
END_TEST

static const struct {
    const char *sql, *sentence;
} conflicts[] = {
    {"UPDATE blocks SET vb = x'00' WHERE loc = '-50,-1,-50,0'",
     "another program changed chunk -50_-1_-50 since it was read"},
    {"DELETE FROM blocks WHERE loc = '-50,-1,-50,0'",
     "another program removed this row of the database"},
};

START_TEST(change_of_the_same_row_is_a_conflict)
{
    voxel_stream(db_path(), 2, 3);
    must_open();
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    ck_assert_int_eq(files_put_text(&c, two, "channels/data5.txt", "fill 9"), 0);
    run(conflicts[_i].sql);
    int64_t rows = ask("SELECT count(*) FROM blocks");
    ck_assert_int_eq(files_commit(&c), -ESTALE);
    ck_assert_str_eq(c.err.text, conflicts[_i].sentence);
    /* Nothing was written, of no row. */
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks"), rows);
    struct tfs_error err = {0};
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    tfs_doc_unref(c.doc);
    c.doc = tfs_doc_ref(c.save->doc);
    ck_assert(files_shows(&c, two, "channels/data5.txt", "depth 8\nfill 0\n"));
}
END_TEST

/* The other program changed instances, we the voxels: both stand. */
START_TEST(change_of_the_other_column_is_none)
{
    voxel_stream(db_path(), 2, 3);
    must_open();
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    run("UPDATE blocks SET instances = x'0001000000803f0df00d90'");
    commit();
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks WHERE instances IS NOT NULL"), 3);
    struct tfs_buf extra = files_get(&c, one, "instances.bin");
    ck_assert_uint_eq(extra.size, 11);
    tfs_buf_release(&extra);
}
END_TEST

START_TEST(reload_keeps_what_did_not_change)
{
    struct tfs_error err = {0};

    voxel_stream(db_path(), 2, 3);
    must_open();
    ck_assert(files_holds(&c, one, "channels/data5.txt", "fill 0"));
    ck_assert(files_holds(&c, two, "channels/data5.txt", "fill 0"));
    const struct tfs_chunk before_one = *tfs_doc_find(c.doc, one);
    const struct tfs_chunk before_two = *tfs_doc_find(c.doc, two);
    run("UPDATE blocks SET vb = x'00' WHERE loc = '-50,-1,-50,0';"
        "INSERT INTO blocks VALUES ('7,7,7,2', NULL, NULL);"
        "DELETE FROM blocks WHERE loc = '-48,-1,-50,0'");
    ck_assert_int_eq(c.save->container->changed(c.save, &err), 1);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert_int_eq(c.save->container->changed(c.save, &err), 0);
    const struct tfs_doc *doc = c.save->doc;
    ck_assert_uint_eq(doc->count, 3);
    ck_assert(!tfs_chunk_same(tfs_doc_find(doc, one), &before_one));
    ck_assert(tfs_chunk_same(tfs_doc_find(doc, two), &before_two));
    ck_assert_uint_eq(tfs_doc_find(doc, one)->slot, before_one.slot);
    ck_assert_ptr_nonnull(tfs_doc_find(doc, (struct tfs_key){2, 7, 7, 7}));
    ck_assert(c.save->tree->chunk_damaged(c.save, doc, one));
}
END_TEST

START_TEST(database_is_locked_against_a_second_mount)
{
    struct tree_files second;

    voxel_stream(db_path(), 2, 1);
    must_open();
    ck_assert_int_eq(files_open(&second, db_path()), -EWOULDBLOCK);
    ck_assert_int_eq(files_open_as(&second, db_path(), NULL, TFS_LOCK_NONE), 0);
    tree_files_close(&second);
    /* A game is not kept out. */
    run("UPDATE blocks SET instances = NULL");
}
END_TEST

START_TEST(wal_database_is_edited_beside_its_game)
{
    voxel_stream(db_path(), 2, 3);
    run("PRAGMA journal_mode=WAL; UPDATE blocks SET instances = NULL");
    must_open();
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    commit();
    run("UPDATE blocks SET instances = x'0001000000803f0df00d90'");
    struct tfs_error err = {0};
    ck_assert_int_eq(c.save->container->changed(c.save, &err), 1);
    reopen();
    ck_assert(files_shows(&c, one, "channels/data5.txt", "depth 8\nfill 9\n"));
}
END_TEST

/* ---- foreign and hostile --------------------------------------------------------------------- */

static const struct {
    const char *sql;
    int code;
    const char *sentence;
} refused[] = {
    {"CREATE TABLE a (b)", -EBADMSG,
     "is a database, but not a stream of Voxel Tools: it has no table meta"},
    {"CREATE TABLE meta (version, block_size_po2)", -EBADMSG,
     "is a database, but not a stream of Voxel Tools: it has no table blocks"},
    {"CREATE TABLE meta (version, block_size_po2);"
     "CREATE VIEW blocks AS SELECT 1 AS loc, 2 AS vb, 3 AS instances; CREATE TABLE channels (idx)",
     -EBADMSG, "is a database, but not a stream of Voxel Tools: it has no table blocks"},
    {"CREATE TABLE meta (version, block_size_po2); CREATE TABLE blocks (loc PRIMARY KEY, vb);"
     "CREATE TABLE channels (idx)",
     -EBADMSG,
     "is a database, but not a stream of Voxel Tools: its table blocks has no column instances"},
    {"CREATE TABLE meta (version, block_size_po2); CREATE TABLE blocks (loc, vb, instances);"
     "CREATE TABLE channels (idx)",
     -EBADMSG, "its table blocks has another primary key than loc"},
#define TABLES                                                                                     \
    "CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format INTEGER);"      \
    "CREATE TABLE blocks (loc TEXT PRIMARY KEY, vb BLOB, instances BLOB);"                         \
    "CREATE TABLE channels (idx INTEGER PRIMARY KEY, depth INTEGER);"
    {TABLES, -EBADMSG, "its table meta is empty"},
    {TABLES "INSERT INTO meta VALUES (1, 4, 2), (1, 4, 2)", -EBADMSG,
     "its table meta has more than one row"},
    {TABLES "INSERT INTO meta VALUES (2, 4, 2)", -ENOTSUP,
     "schema version 2 is not supported, only 0 and 1"},
    {TABLES "INSERT INTO meta VALUES ('x', 4, 2)", -EBADMSG,
     "its table meta has no number as version"},
    {TABLES "INSERT INTO meta VALUES (1, 0, 2)", -EBADMSG,
     "its block_size_po2 is not a number from 1 to 8"},
    {TABLES "INSERT INTO meta VALUES (1, NULL, 2)", -EBADMSG,
     "its block_size_po2 is not a number from 1 to 8"},
    {TABLES "INSERT INTO meta VALUES (1, 4, 4)", -ENOTSUP,
     "coordinate_format 4 of its keys is not supported"},
};

START_TEST(foreign_database_is_refused_with_a_sentence)
{
    run_and_close(refused[_i].sql);
    ck_assert_int_eq(files_open(&c, db_path()), refused[_i].code);
    ck_assert_str_eq(c.err.text, refused[_i].sentence);
}
END_TEST

START_TEST(coordinate_format_null_is_0)
{
    run_and_close("CREATE TABLE meta (version INTEGER, block_size_po2 INTEGER, coordinate_format "
                  "INTEGER);"
                  "CREATE TABLE blocks (loc INTEGER PRIMARY KEY, vb BLOB, instances BLOB);"
                  "CREATE TABLE channels (idx INTEGER PRIMARY KEY, depth INTEGER);"
                  "INSERT INTO meta VALUES (1, 4, NULL);"
                  "INSERT INTO blocks VALUES (562945658454018, NULL, NULL)");
    must_open();
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, (struct tfs_key){1, -1, 0, 2}));
}
END_TEST

START_TEST(values_of_other_types_are_damage_of_their_chunk)
{
    run_and_close(TABLES "INSERT INTO meta VALUES (1, 4, 2);"
                         "INSERT INTO blocks VALUES ('0,0,0,0', 'text', NULL);"
                         "INSERT INTO blocks VALUES ('1,0,0,0', 17, 4.5);"
                         "INSERT INTO blocks VALUES ('2,0,0,0', x'', x'');"
                         "INSERT INTO blocks VALUES ('nonsense', NULL, NULL);"
                         "INSERT INTO blocks VALUES (x'0102', NULL, NULL)");
    must_open();
    ck_assert_uint_eq(c.doc->count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(c.save->tree->chunk_damaged(c.save, c.doc, tfs_doc_at(c.doc, i)->key));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt",
                          "warning: 2 rows of the database cannot be reached by a coordinate"));
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "damaged: chunks/1_0_0: "));
    /* The others can be written, and theirs stay. */
    ck_assert_int_eq(files_create(&c, (struct tfs_key){0, 3, 0, 0}), 0);
    commit();
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks WHERE typeof(vb) = 'integer'"), 1);
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks"), 6);
}
END_TEST

/* The chunk shows no bytes, and is nobody else's business. */
static void check_damaged_row(const char *sentence)
{
    ck_assert(c.save->tree->chunk_damaged(c.save, c.doc, one));
    ck_assert(files_shows(&c, one, "raw.bin", ""));
    ck_assert_int_eq(files_put_text(&c, one, "raw.bin", ""), 0);
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", sentence));
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 4"), -EBADMSG);
    ck_assert(files_shows(&c, two, "channels/data5.txt", "depth 8\nfill 0\n"));
}

static void check_restored_row(void)
{
    ck_assert_int_eq(files_put_text(&c, two, "channels/data5.txt", "fill 4"), 0);
    commit();
    struct tfs_buf raw = files_get(&c, two, "raw.bin");
    ck_assert_int_eq(files_put(&c, one, "raw.bin", tfs_buf_span(&raw)), 0);
    commit();
    reopen();
    ck_assert(files_shows(&c, one, "channels/data5.txt", "depth 8\nfill 4\n"));
    tfs_buf_release(&raw);
}

START_TEST(value_longer_than_any_block_is_damage_of_its_chunk)
{
    voxel_stream(db_path(), 2, 3);
    run_and_close("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                  "UPDATE blocks SET vb = zeroblob(280000000) WHERE loc = '-50,-1,-50,0'");
    must_open();
    check_damaged_row("damaged: chunks/-50_-1_-50: a value in the database has more than ");
    check_restored_row();
}
END_TEST

/* A page behind the row's own says that the next one is where no page is. Nothing is written
 * then. */
START_TEST(damaged_page_of_a_row_is_damage_of_its_chunk)
{
    const size_t page = 512;

    voxel_stream_of(db_path(), 2, 3, 4);
    must_open();
    struct tfs_buf raw = files_get(&c, one, "raw.bin"), file;
    tree_files_close(&c);
    file = files_read_file(db_path());
    const uint8_t *found = memmem(file.data, file.size, raw.data + raw.size / 2, 64);
    ck_assert_ptr_nonnull(found);
    memset(file.data + (size_t)(found - file.data) / page * page, 0x7f, 4);
    files_write_file(db_path(), tfs_buf_span(&file));
    must_open();
    check_damaged_row("damaged: chunks/-50_-1_-50: the database: ");
    ck_assert_int_eq(files_put_text(&c, two, "channels/data5.txt", "fill 4"), 0);
    ck_assert_int_eq(files_commit(&c), -EBADMSG);
    tfs_buf_release(&raw);
    tfs_buf_release(&file);
}
END_TEST

static bool fetch_fails;

static int fetch_if_it_works(struct tfs_save *save, const struct tfs_chunk *chunk,
                             struct tfs_blob **stored, struct tfs_blob **extra,
                             struct tfs_error *err)
{
    return fetch_fails ? tfs_fail(err, -EBADMSG, "the database: disk image is malformed")
                       : tfs_rows_fetch(save, chunk, stored, extra, err);
}

/* SQLite calls a page that the disk failed to give damaged, too. */
START_TEST(row_that_could_not_be_read_once_is_no_damage_for_good)
{
    voxel_stream(db_path(), 2, 3);
    must_open();
    struct tfs_container failing = *c.save->container;
    failing.fetch = fetch_if_it_works;
    c.save->container = &failing;
    fetch_fails = true;
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "damaged: chunks/-50_-1_-50: the database"));
    ck_assert(c.save->tree->chunk_damaged(c.save, c.doc, one));
    fetch_fails = false;
    ck_assert(!c.save->tree->chunk_damaged(c.save, c.doc, one));
    ck_assert(!files_holds(&c, FILES_ROOT, "info.txt", "damaged"));
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 4"), 0);
    commit();
    ck_assert(files_shows(&c, one, "channels/data5.txt", "depth 8\nfill 4\n"));
    c.save->container = &tfs_godot_stream_container;
}
END_TEST

START_TEST(block_of_another_size_is_damage)
{
    const struct tfs_key key = {0, 0, 0, 0};
    struct tfs_buf raw = {0};

    voxel_stream(db_path(), 2, 1);
    must_open();
    voxel_block(&raw, 4, 5, key, 0, TFS_GODOT_LZ4);
    ck_assert_int_eq(files_put(&c, one, "raw.bin", tfs_buf_span(&raw)), -EBADMSG);
    ck_assert_str_eq(c.err.text, "the block has 32 x 32 x 32 voxels, this database holds blocks of "
                                 "16 x 16 x 16");
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(file_that_may_not_be_written_is_shown_read_only)
{
    const uid_t user = geteuid(), nobody = 65534;

    voxel_stream(db_path(), 2, 1);
    ck_assert_int_eq(chmod(db_path(), 0444), 0);
    /* Root may do everything, and would see nothing of this. */
    ck_assert(user != 0 || setresuid(nobody, nobody, 0) == 0);
    must_open();
    ck_assert_ptr_nonnull(c.save->read_only);
    ck_assert_ptr_nonnull(strstr(c.save->read_only, "it cannot be written: Permission denied"));
    ck_assert_int_eq(files_commit(&c), -EROFS);
    ck_assert(user != 0 || setresuid(0, 0, 0) == 0);
}
END_TEST

START_TEST(damaged_database_is_refused)
{
    struct tfs_buf file;

    voxel_stream(db_path(), 2, 50);
    file = files_read_file(db_path());
    /* Its second half is noise. */
    for (size_t i = 8192; i < file.size; i++)
        file.data[i] = (uint8_t)(i * 31);
    files_write_file(db_path(), tfs_buf_span(&file));
    ck_assert_int_eq(files_open(&c, db_path()), -EBADMSG);
    ck_assert(c.err.text[0] != '\0');
    tfs_buf_release(&file);
}
END_TEST

/* A row's place in its page lies outside: SQLite says so once, and then reads on. */
START_TEST(database_with_a_damaged_page_is_not_written)
{
    struct tfs_buf file;
    const struct tfs_key key = {0, -50, -1, -50};

    voxel_stream_of(db_path(), 2, 2, 2);
    file = files_read_file(db_path());
    file.data[1034] = 4;
    files_write_file(db_path(), tfs_buf_span(&file));
    ck_assert_int_eq(files_open(&c, db_path()), 0);
    struct tfs_blob *blob = NULL;
    const struct tfs_chunk *chunk = tfs_doc_find(c.doc, key);
    ck_assert_int_eq(tfs_chunk_load(c.save, chunk, &blob, &c.err), -EBADMSG);
    tfs_error_reset(&c.err);
    if (files_put_text(&c, key, "channels/type.txt", "depth 16\nfill 7\n") == 0)
        ck_assert_int_eq(files_commit(&c), -EBADMSG);
    struct tfs_buf after = files_read_file(db_path());
    ck_assert(tfs_span_equal(tfs_buf_span(&file), tfs_buf_span(&after)));
    tfs_buf_release(&file);
    tfs_buf_release(&after);
}
END_TEST

/* ---- rows fetched together ------------------------------------------------------------------- */

#define PICTURE_BLOCKS 300

static int get_picture(struct tfs_buf *out)
{
    const struct tfs_at root = {.member = 0};

    tfs_error_reset(&c.err);
    return tfs_heightmap_lens.get(c.save, c.doc, root, out, &c.err);
}

/* Bytes of both pictures of the database, as it is opened anew. To be released. */
static struct tfs_buf read_pictures(bool together)
{
    const struct tfs_at root = {.member = 0};
    struct tfs_buf out = {0};

    must_open();
    const struct tfs_container *container = c.save->container;
    struct tfs_container single = *container;
    ck_assert(single.fetch_many != NULL);
    single.fetch_many = NULL;
    if (!together)
        c.save->container = &single;
    ck_assert_msg(get_picture(&out) == 0, "%s", c.err.text);
    ck_assert_int_eq(tfs_map_lens.get(c.save, c.doc, root, &out, &c.err), 0);
    c.save->container = container;
    tree_files_close(&c);
    return out;
}

START_TEST(rows_fetched_together_give_the_picture_of_single_ones)
{
    voxel_stream_of(db_path(), 2, PICTURE_BLOCKS, 2);
    run_and_close("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                  "UPDATE blocks SET vb = x'0203' WHERE rowid % 37 = 1;"
                  "UPDATE blocks SET vb = 'text', instances = 7 WHERE rowid % 37 = 2;"
                  "UPDATE blocks SET vb = NULL WHERE rowid % 37 = 3;"
                  "UPDATE blocks SET vb = zeroblob(2000000) WHERE rowid % 37 = 4;"
                  "UPDATE blocks SET vb = zeroblob(280000000) WHERE rowid = 200");
    struct tfs_buf together = read_pictures(true), single = read_pictures(false);
    ck_assert_uint_gt(together.size, 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&together), tfs_buf_span(&single)));
    tfs_buf_release(&together);
    tfs_buf_release(&single);
}
END_TEST

/* What is not damage of a chunk is told, and the picture is there when it is over. */
START_TEST(row_that_cannot_be_fetched_together_fails_the_picture)
{
    struct tfs_buf out = {0};

    voxel_stream_of(db_path(), 2, PICTURE_BLOCKS, 2);
    must_open();
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(get_picture(&out), -EBUSY);
    run("ROLLBACK");
    run("BEGIN; DELETE FROM blocks WHERE rowid = 150; COMMIT");
    ck_assert_int_eq(get_picture(&out), -ESTALE);
    ck_assert_str_eq(c.err.text, "another program removed this row of the database");
    tfs_error_reset(&c.err);
    ck_assert_int_eq(c.save->container->reload(c.save, &c.err), 0);
    tfs_doc_unref(c.doc);
    c.doc = tfs_doc_ref(c.save->doc);
    ck_assert_msg(get_picture(&out) == 0, "%s", c.err.text);
    /* No lock is left behind. */
    run("BEGIN EXCLUSIVE; UPDATE blocks SET instances = NULL; COMMIT");
    tfs_buf_release(&out);
}
END_TEST

/* Rows that were fetched together are known as well as single ones. */
START_TEST(change_of_a_row_fetched_with_others_is_noticed)
{
    struct tfs_buf out = {0};

    voxel_stream_of(db_path(), 2, PICTURE_BLOCKS, 2);
    must_open();
    ck_assert_int_eq(get_picture(&out), 0);
    run("UPDATE blocks SET vb = NULL WHERE loc = '-49,-1,-50,0'");
    ck_assert_int_eq(c.save->container->changed(c.save, &c.err), 1);
    ck_assert_int_eq(c.save->container->reload(c.save, &c.err), 0);
    ck_assert(tfs_chunk_same(tfs_doc_find(c.save->doc, one), tfs_doc_find(c.doc, one)));
    ck_assert(!tfs_chunk_same(tfs_doc_find(c.save->doc, two), tfs_doc_find(c.doc, two)));
    ck_assert_uint_eq(looked_into(c.save, c.save->doc), 1);
    tfs_buf_release(&out);
}
END_TEST

/* ---- large saves ----------------------------------------------------------------------------- */

static unsigned queries;

static int count_query(unsigned kind, void *arg, void *statement, void *sql)
{
    (void)kind;
    (void)arg;
    (void)statement;
    queries += strncmp(sql, "SELECT", 6) == 0;
    return 0;
}

/* Opens it anew and reads info.txt; *rows: of how many chunks it had to know more than the key. */
static struct tfs_buf info_of_large(unsigned *rows)
{
    struct tfs_rows *own;

    reopen();
    own = c.save->own;
    queries = 0;
    sqlite3_trace_v2(own->source.db.sqlite, SQLITE_TRACE_STMT, count_query, NULL);
    struct tfs_buf info = files_get(&c, FILES_ROOT, "info.txt");
    tfs_buf_u8(&info, 0);
    *rows = queries;
    return info;
}

START_TEST(info_of_a_large_save_looks_into_the_same_few_chunks)
{
    unsigned chunks = 0, of = 0, rows;

    voxel_stream_of(db_path(), 2, 9000, 1);
    struct tfs_buf info = info_of_large(&rows);
    const char *line = strstr((const char *)info.data, "\nlooked into: ");
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "\nlooked into: %u of %u chunks;", &chunks, &of), 2);
    ck_assert_uint_eq(of, 9000);
    ck_assert_uint_ge(chunks, TFS_GODOT_COUNTS_CHUNKS / 4);
    ck_assert_uint_le(chunks, TFS_GODOT_COUNTS_CHUNKS);
    ck_assert_uint_ge(rows, chunks);
    ck_assert_uint_le(rows, chunks + 1); /* one says the size of blocks */
    struct tfs_buf again = info_of_large(&rows);
    ck_assert(tfs_span_equal(tfs_buf_span(&info), tfs_buf_span(&again)));
    tfs_buf_release(&again);
    tfs_buf_release(&info);
}
END_TEST

START_TEST(chunk_made_in_a_large_save_looks_into_no_more_chunks)
{
    unsigned rows;

    voxel_stream_of(db_path(), 2, 9000, 1);
    struct tfs_buf info = info_of_large(&rows);
    queries = 0;
    for (int32_t x = 0; x < 50; x++)
        ck_assert_int_eq(files_create(&c, (struct tfs_key){0, x, 70, 0}), 0);
    ck_assert_uint_eq(queries, 0);
    tfs_buf_release(&info);
}
END_TEST

static Suite *stream_suite(void)
{
    Suite *suite = suite_create("godot_stream");
    TCase *keys = unit_case(suite, "keys"), *tcase = unit_case(suite, "stream");
    const bool samples = access(SAMPLES "engine_v4/stream_coord2.sqlite", R_OK) == 0;

    tcase_add_test(keys, key_of_every_format_is_that_of_the_page);
    tcase_add_loop_test(keys, key_reads_back_at_the_bounds, 0, TFS_GODOT_KEY_FORMATS);
    tcase_add_loop_test(keys, key_that_no_coordinate_has_is_none, 0, COUNT(no_keys));
    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, stream_of_every_key_format_is_edited, 0, 5);
    unit_add_where(samples, tcase, edit_writes_one_column_of_one_row, 1, SAMPLES);
    unit_add_where(samples, tcase, instances_come_and_go, 1, SAMPLES);
    unit_add_where(samples, tcase, row_without_voxels_gets_a_block_by_a_channel, 1, SAMPLES);
    tcase_add_loop_test(tcase, bytes_that_are_no_instances_are_refused, 0, COUNT(no_instances));
    tcase_add_loop_test(tcase, instances_of_either_byte_order_are_taken, 0, COUNT(good_instances));
    tcase_add_test(tcase, database_that_is_being_written_is_busy);
    tcase_add_test(tcase, reader_that_holds_on_makes_the_commit_busy);
    tcase_add_test(tcase, change_of_another_row_stands_in_nobodys_way);
    tcase_add_loop_test(tcase, change_of_the_same_row_is_a_conflict, 0, COUNT(conflicts));
    tcase_add_test(tcase, change_of_the_other_column_is_none);
    tcase_add_test(tcase, reload_keeps_what_did_not_change);
    tcase_add_test(tcase, database_is_locked_against_a_second_mount);
    tcase_add_test(tcase, wal_database_is_edited_beside_its_game);
    tcase_add_loop_test(tcase, foreign_database_is_refused_with_a_sentence, 0, COUNT(refused));
    tcase_add_test(tcase, coordinate_format_null_is_0);
    tcase_add_test(tcase, values_of_other_types_are_damage_of_their_chunk);
    tcase_add_test(tcase, value_longer_than_any_block_is_damage_of_its_chunk);
    tcase_add_test(tcase, damaged_page_of_a_row_is_damage_of_its_chunk);
    tcase_add_test(tcase, row_that_could_not_be_read_once_is_no_damage_for_good);
    tcase_add_test(tcase, block_of_another_size_is_damage);
    tcase_add_test(tcase, file_that_may_not_be_written_is_shown_read_only);
    tcase_add_test(tcase, damaged_database_is_refused);
    tcase_add_test(tcase, database_with_a_damaged_page_is_not_written);
    tcase_add_test(tcase, rows_fetched_together_give_the_picture_of_single_ones);
    tcase_add_test(tcase, row_that_cannot_be_fetched_together_fails_the_picture);
    tcase_add_test(tcase, change_of_a_row_fetched_with_others_is_noticed);
    tcase_add_test(tcase, info_of_a_large_save_looks_into_the_same_few_chunks);
    tcase_add_test(tcase, chunk_made_in_a_large_save_looks_into_no_more_chunks);
    return suite;
}

UNIT_MAIN(stream_suite)
