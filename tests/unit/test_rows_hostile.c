/* formats/containers/database: databases that a killed program left half done, that are made to do
 * harm, or that are no saves. */
#include "rows_case.h"

/* ---- left half done, and hostile ------------------------------------------------------------- */

/* Changes rows, more than fit the cache, and is gone before it says COMMIT. */
static void change_half(void)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(db_path(), &db) != SQLITE_OK ||
        sqlite3_exec(db,
                     "PRAGMA cache_size = 2; BEGIN; UPDATE tiles SET data = zeroblob(9000);"
                     "INSERT INTO tiles VALUES (7, zeroblob(90000))",
                     NULL, NULL, NULL) != SQLITE_OK)
        abort();
}

START_TEST(change_that_a_killed_program_began_is_taken_back)
{
    run_and_close(PACKED PACKED_ROWS);
    scratch_child_end(scratch_child_start(change_half));
    ck_assert_int_eq(access(scratch_path("world-journal"), F_OK), 0);
    ck_assert_int_eq(try_open((enum tfs_lock)_i), 0);
    ck_assert_str_eq(save->container->name, "toy");
    ck_assert_str_eq(value(left, false), "left");
    ck_assert_int_lt(access(scratch_path("world-journal"), F_OK), 0);
}
END_TEST

START_TEST(change_that_is_under_way_is_left_alone)
{
    run_and_close(PACKED PACKED_ROWS);
    struct scratch_child child = scratch_child_start(change_half);
    ck_assert_int_eq(try_open(TFS_LOCK_NONE), -EBUSY);
    ck_assert_str_eq(err.text, "the database is locked by another program, which may be a running "
                               "game");
    ck_assert_int_eq(access(scratch_path("world-journal"), F_OK), 0);
    scratch_child_end(child);
}
END_TEST

/* Makes the journal refer to a super-journal: a page number, the name, its length, the sum of its
 * bytes, a magic number. */
static void append_super_journal(const char *journal, const char *name)
{
    static const uint8_t magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    struct tfs_buf record = {0};
    uint32_t sum = 0;
    FILE *file = fopen(journal, "ab");

    for (const char *at = name; *at != '\0'; at++)
        sum += (unsigned char)*at;
    tfs_buf_u32be(&record, 0x40000000 / 4096 + 1);
    tfs_buf_add_text(&record, name);
    tfs_buf_u32be(&record, (uint32_t)strlen(name));
    tfs_buf_u32be(&record, sum);
    tfs_buf_add(&record, magic, sizeof(magic));
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(record.data, 1, record.size, file), record.size);
    ck_assert_int_eq(fclose(file), 0);
    tfs_buf_release(&record);
}

START_TEST(journal_cannot_have_another_file_removed)
{
    run_and_close(PACKED PACKED_ROWS);
    scratch_child_end(scratch_child_start(change_half));
    scratch_write("letter", "dear reader");
    append_super_journal(scratch_path("world-journal"), scratch_path("letter"));
    ck_assert_int_eq(try_open((enum tfs_lock)_i), _i == TFS_LOCK_NONE ? -EROFS : -EIO);
    ck_assert_str_eq(scratch_read("letter"), "dear reader");
}
END_TEST

/* To open it for reading would wait until somebody writes. */
START_TEST(journal_that_is_a_pipe_does_not_hang)
{
    run_and_close(PACKED PACKED_ROWS);
    ck_assert_int_eq(mkfifo(scratch_path("world-journal"), 0600), 0);
    ck_assert_int_lt(try_open((enum tfs_lock)_i), 0);
}
END_TEST

/* The journal at our old name is of the database that is there now: it is not played into ours. */
START_TEST(journal_of_a_database_in_our_place_is_left_alone)
{
    run_and_close(PACKED PACKED_ROWS);
    must_open();
    ck_assert_int_eq(rename(db_path(), scratch_path("old")), 0);
    run_and_close(PACKED PACKED_ROWS);
    scratch_child_end(scratch_child_start(change_half));
    ck_assert_str_eq(value(left, false), "left");
    ck_assert_int_eq(access(scratch_path("world-journal"), F_OK), 0);
}
END_TEST

#define TRIGGER(name, when, then) "CREATE TRIGGER " name " " when " ON tiles BEGIN " then "; END;"

START_TEST(trigger_of_the_file_does_not_run)
{
    run_and_close(PACKED PACKED_ROWS
                  "CREATE TABLE log (text);" TRIGGER("evil", "AFTER UPDATE", "DELETE FROM tiles")
                      TRIGGER("adding", "AFTER INSERT", "INSERT INTO log VALUES ('new')")
                          TRIGGER("going", "BEFORE DELETE", "SELECT RAISE(ABORT, 'no')"));
    must_open();
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}, {right, NULL, NULL}, {fresh, "fresh", NULL}), 0);
    ck_assert_str_eq(ask("SELECT count(*) FROM tiles"), "3");
    ck_assert_str_eq(ask("SELECT count(*) FROM log"), "0");
}
END_TEST

START_TEST(view_is_no_table)
{
    run_and_close("CREATE TABLE a (b); CREATE VIEW tiles AS SELECT 1 AS pos, 2 AS data");
    ck_assert_int_eq(try_open(TFS_LOCK_NONE), -ENOTSUP);
    ck_assert_str_eq(
        err.text, "is an SQLite database of no game that is known here: a toy has a table tiles");
}
END_TEST

START_TEST(database_that_cannot_be_looked_through_now_is_not_called_damaged)
{
    struct tfs_database db;

    run(PACKED PACKED_ROWS);
    ck_assert_int_eq(tfs_database_open(db_path(), true, 1000, &db, &err), 0);
    db.corrupt = true;
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(tfs_database_begin(&db, &err), -EBUSY);
    run("COMMIT");
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_database_begin(&db, &err), 0);
    tfs_database_rollback(&db);
    tfs_database_close(&db);
}
END_TEST

/* ---- whose it is ----------------------------------------------------------------------------- */

static const struct {
    const char *sql;
    const char *container;
} claims[] = {
    {PACKED, "toy"},
    {WIDE, "toy"},
    {"CREATE TABLE tiles (pos)", "rest"},
    {"CREATE TABLE other (data)", "rest"},
};

START_TEST(database_belongs_to_whom_its_tables_say)
{
    run_and_close(claims[_i].sql);
    ck_assert_int_eq(rename(db_path(), scratch_path("a %41?b#c")), 0);
    ck_assert_int_eq(symlink("a %41?b#c", db_path()), 0);
    int code = try_open(TFS_LOCK_NONE);
    if (strcmp(claims[_i].container, "toy") == 0)
        ck_assert_str_eq(save->container->name, "toy");
    else
        ck_assert_int_eq(code, -ENOTSUP); /* by the other one, which has the same tables */
}
END_TEST

/* Who asks whose it is does not wait, and takes nothing back. */
START_TEST(looking_at_the_tables_touches_nothing)
{
    struct tfs_probe probe = {.path = db_path(), .head = tfs_span_of("SQLite format 3\0")};

    probe.head.size = 16;
    run_and_close(PACKED PACKED_ROWS);
    scratch_child_end(scratch_child_start(change_half));
    ck_assert(tfs_rows_has_column(&probe, "tiles", "data"));
    ck_assert_int_eq(access(scratch_path("world-journal"), F_OK), 0);
    run("BEGIN EXCLUSIVE");
    ck_assert(tfs_rows_has_column(&probe, "tiles", "data"));
    ck_assert(!tfs_rows_has_column(&probe, "tiles", "z"));
    run("COMMIT");
}
END_TEST

static Suite *rows_hostile_suite(void)
{
    Suite *suite = suite_create("rows_hostile");
    TCase *tcase = unit_case_with(suite, "rows", setup, teardown);

    tcase_add_loop_test(tcase, change_that_a_killed_program_began_is_taken_back, TFS_LOCK_NONE,
                        TFS_LOCK_EXCLUSIVE + 1);
    tcase_add_test(tcase, change_that_is_under_way_is_left_alone);
    tcase_add_loop_test(tcase, journal_cannot_have_another_file_removed, TFS_LOCK_NONE,
                        TFS_LOCK_EXCLUSIVE + 1);
    tcase_add_loop_test(tcase, journal_that_is_a_pipe_does_not_hang, TFS_LOCK_NONE,
                        TFS_LOCK_EXCLUSIVE + 1);
    tcase_add_test(tcase, journal_of_a_database_in_our_place_is_left_alone);
    tcase_add_test(tcase, trigger_of_the_file_does_not_run);
    tcase_add_test(tcase, view_is_no_table);
    tcase_add_test(tcase, database_that_cannot_be_looked_through_now_is_not_called_damaged);
    tcase_add_loop_test(tcase, database_belongs_to_whom_its_tables_say, 0, COUNT(claims));
    tcase_add_test(tcase, looking_at_the_tables_touches_nothing);
    return suite;
}

UNIT_MAIN(rows_hostile_suite)
