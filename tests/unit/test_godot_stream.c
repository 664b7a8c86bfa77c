/* formats/godot_voxel: SQLite streams. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/looked_into.h"
#include "formats/cells/cells.h"
#include "formats/containers/database/rows_state.h"
#include "formats/godot_voxel/stream_key.h"
#include "formats/godot_voxel/counts.h"
#include "formats/views/pictures/columns.h"
#include "stream_case.h"

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
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 9"), 0);
    run("UPDATE blocks SET vb = (SELECT vb FROM blocks WHERE loc = '-48,-1,-50,0') "
        "WHERE loc = '-49,-1,-50,0'");
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
    uint64_t place = tfs_doc_find(c.doc, two)->own;
    commit();
    /* What the other program wrote is shown, what we wrote too. */
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
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
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    const struct tfs_doc *doc = c.save->doc;
    ck_assert_uint_eq(doc->count, 3);
    ck_assert(!tfs_chunk_same(tfs_doc_find(doc, one), &before_one));
    ck_assert(tfs_chunk_same(tfs_doc_find(doc, two), &before_two));
    ck_assert_uint_eq(tfs_doc_find(doc, one)->slot, before_one.slot);
    ck_assert_ptr_nonnull(tfs_doc_find(doc, (struct tfs_key){2, 7, 7, 7}));
    ck_assert(tfs_cells_damaged(c.save, doc, one));
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
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
    reopen();
    ck_assert(files_shows(&c, one, "channels/data5.txt", "depth 8\nfill 9\n"));
}
END_TEST

/* ---- rows fetched together ------------------------------------------------------------------- */

#define PICTURE_BLOCKS 300

static int get_picture(struct tfs_buf *out)
{
    tfs_error_reset(&c.err);
    return tfs_heightmap_lens.get(
        c.save, c.doc, tfs_lens_at(&tfs_heightmap_lens, (struct tfs_key){0}, 0), out, &c.err);
}

static size_t fetch_one(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                        struct tfs_error *err)
{
    (void)count;
    return tfs_rows_fetch(save, chunks, 1, err);
}

/* Bytes of both pictures of the database, as it is opened anew. To be released. */
static struct tfs_buf read_pictures(bool together)
{
    struct tfs_buf out = {0};

    must_open();
    const struct tfs_container *container = c.save->container;
    struct tfs_container single = *container;
    single.fetch = fetch_one;
    if (!together)
        c.save->container = &single;
    ck_assert_msg(get_picture(&out) == 0, "%s", c.err.text);
    ck_assert_int_eq(
        tfs_map_lens.get(c.save, c.doc, tfs_lens_at(&tfs_map_lens, (struct tfs_key){0}, 0), &out,
                         &c.err),
        0);
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
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &c.err), 1);
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
    tcase_add_test(tcase, rows_fetched_together_give_the_picture_of_single_ones);
    tcase_add_test(tcase, row_that_cannot_be_fetched_together_fails_the_picture);
    tcase_add_test(tcase, change_of_a_row_fetched_with_others_is_noticed);
    tcase_add_test(tcase, info_of_a_large_save_looks_into_the_same_few_chunks);
    tcase_add_test(tcase, chunk_made_in_a_large_save_looks_into_no_more_chunks);
    return suite;
}

UNIT_MAIN(stream_suite)
