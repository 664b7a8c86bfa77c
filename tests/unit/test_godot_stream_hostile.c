/* formats/godot_voxel: SQLite streams that no game wrote, or that are damaged. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "formats/cells/cells.h"
#include "formats/containers/database/rows.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "stream_case.h"

/* ---- foreign and hostile --------------------------------------------------------------------- */

static const struct {
    const char *sql;
    int code;
    const char *sentence;
} refused[] = {
    {"CREATE TABLE a (b)", -ENOTSUP,
     "is an SQLite database of no game that is known here: "
     "a stream of Voxel Tools has a table meta"},
    {"CREATE TABLE meta (version, block_size_po2)", -ENOTSUP,
     "is an SQLite database of no game that is known here: "
     "a stream of Voxel Tools has a table blocks"},
    {"CREATE TABLE meta (version, block_size_po2);"
     "CREATE VIEW blocks AS SELECT 1 AS loc, 2 AS vb, 3 AS instances; CREATE TABLE channels (idx)",
     -ENOTSUP,
     "is an SQLite database of no game that is known here: "
     "a stream of Voxel Tools has a table blocks"},
    {"CREATE TABLE meta (version, block_size_po2); CREATE TABLE blocks (loc PRIMARY KEY, vb);"
     "CREATE TABLE channels (idx)",
     -ENOTSUP,
     "is a database, but not a stream of Voxel Tools: its table blocks has no column instances"},
#define ONLY_KEY "the only key of its table blocks must be PRIMARY KEY: loc"
#define BLOCKS(columns)                                                                            \
    "CREATE TABLE meta (version, block_size_po2); CREATE TABLE blocks (" columns ");"              \
    "CREATE TABLE channels (idx); INSERT INTO meta VALUES (1, 4);"
    {BLOCKS("loc, vb, instances"), -EBADMSG, ONLY_KEY},
    {BLOCKS("loc INTEGER, vb BLOB, instances BLOB, PRIMARY KEY (loc, vb)"), -EBADMSG, ONLY_KEY},
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

/* A copy of a block would remove the block without a word. */
START_TEST(second_unique_key_is_refused)
{
    static const char *const tables[] = {
        BLOCKS("loc INTEGER PRIMARY KEY, vb BLOB UNIQUE ON CONFLICT REPLACE, instances BLOB"),
        BLOCKS("loc PRIMARY KEY, vb BLOB, instances BLOB UNIQUE ON CONFLICT REPLACE"),
        BLOCKS("loc INTEGER PRIMARY KEY, vb, instances") "CREATE UNIQUE INDEX one ON blocks (vb)",
    };

    run_and_close(tables[_i]);
    ck_assert_int_eq(files_open(&c, db_path()), -EBADMSG);
    ck_assert_str_eq(c.err.text, ONLY_KEY);
}
END_TEST

/* Another program may make one while the stream is open. */
START_TEST(second_unique_key_that_comes_later_is_refused_too)
{
    voxel_stream(db_path(), 2, 3);
    must_open();
    run_and_close("CREATE UNIQUE INDEX one ON blocks (vb)");
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 4"), 0);
    ck_assert_int_eq(files_commit(&c), -EBADMSG);
    ck_assert_str_eq(c.err.text, ONLY_KEY);
    ck_assert_int_eq(ask("SELECT count(*) FROM blocks"), 3);
}
END_TEST

/* An index that is not unique removes nothing. */
START_TEST(index_of_many_rows_is_taken)
{
    voxel_stream(db_path(), 2, 3);
    run_and_close("CREATE INDEX many ON blocks (length(vb))");
    must_open();
    ck_assert_int_eq(files_put_text(&c, one, "channels/data5.txt", "fill 4"), 0);
    commit();
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
        ck_assert(tfs_cells_damaged(c.save, c.doc, tfs_doc_at(c.doc, i)->key));
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
    ck_assert(tfs_cells_damaged(c.save, c.doc, one));
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

static size_t fetch_if_it_works(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                                struct tfs_error *err)
{
    if (!fetch_fails)
        return tfs_rows_fetch(save, chunks, count, err);
    tfs_fail(err, -EBADMSG, "the database: disk image is malformed");
    return 0;
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
    ck_assert(tfs_cells_damaged(c.save, c.doc, one));
    fetch_fails = false;
    ck_assert(!tfs_cells_damaged(c.save, c.doc, one));
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

static Suite *stream_hostile_suite(void)
{
    Suite *suite = suite_create("godot_stream_hostile");
    TCase *tcase = unit_case(suite, "stream");

    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, foreign_database_is_refused_with_a_sentence, 0, COUNT(refused));
    tcase_add_loop_test(tcase, second_unique_key_is_refused, 0, 3);
    tcase_add_test(tcase, second_unique_key_that_comes_later_is_refused_too);
    tcase_add_test(tcase, index_of_many_rows_is_taken);
    tcase_add_test(tcase, coordinate_format_null_is_0);
    tcase_add_test(tcase, values_of_other_types_are_damage_of_their_chunk);
    tcase_add_test(tcase, value_longer_than_any_block_is_damage_of_its_chunk);
    tcase_add_test(tcase, damaged_page_of_a_row_is_damage_of_its_chunk);
    tcase_add_test(tcase, row_that_could_not_be_read_once_is_no_damage_for_good);
    tcase_add_test(tcase, block_of_another_size_is_damage);
    tcase_add_test(tcase, file_that_may_not_be_written_is_shown_read_only);
    tcase_add_test(tcase, damaged_database_is_refused);
    tcase_add_test(tcase, database_with_a_damaged_page_is_not_written);
    return suite;
}

UNIT_MAIN(stream_hostile_suite)
