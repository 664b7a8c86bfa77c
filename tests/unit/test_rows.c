/* formats/containers/database: a save of rows is read, edited and read anew beside a game that
 * writes it, too. */
#include <signal.h>
#include <sys/resource.h>

#include "rows_case.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Statements of ours that begin with a word. */
static const char *counted;
static unsigned statements;

static int count_statement(unsigned kind, void *arg, void *statement, void *text)
{
    (void)kind;
    (void)arg;
    (void)statement;
    statements += strncmp(text, counted, strlen(counted)) == 0;
    return 0;
}

static int trace_ours(sqlite3 *db, const char **why, const struct sqlite3_api_routines *functions)
{
    (void)why;
    (void)functions;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, NULL);
}

START_TEST(opening_reads_all_keys_and_no_value)
{
    run_and_close(_i == 0 ? PACKED PACKED_ROWS : WIDE WIDE_ROWS);
    counted = "SELECT data";
    statements = 0;
    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))trace_ours), SQLITE_OK);
    must_open();
    ck_assert_uint_eq(save->doc->count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(tfs_doc_at(save->doc, i)->flags,
                          _i == 0 ? TFS_CHUNK_UNREAD : TFS_CHUNK_UNREAD_ALL);
    ck_assert_uint_eq(statements, 0);
    ck_assert_str_eq(value(left, false), "left");
    ck_assert_uint_eq(statements, 1);
    ck_assert_str_eq(value(right, false), "right");
    ck_assert_str_eq(value(left, true), _i == 0 ? "NULL" : "l");
    ck_assert_str_eq(value(middle, true), "NULL");
}
END_TEST

START_TEST(row_whose_key_is_none_is_counted_and_kept)
{
    run_and_close(PACKED PACKED_ROWS "INSERT INTO tiles VALUES (-1, 'a'), (256, 'b')");
    must_open();
    ck_assert_uint_eq(save->doc->count, 3);
    ck_assert_str_eq(
        tfs_facts_find(save->doc->facts, TFS_NOTE_WARNING),
        "2 rows of the database cannot be reached by a coordinate: kept and not shown");
    ck_assert_ptr_nonnull(tfs_facts_hiding(save->doc->facts));
    ck_assert_int_eq(COMMIT({left, NULL, NULL}), 0);
    ck_assert_str_eq(ask("SELECT count(*) FROM tiles"), "4");
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 256"), "b");
}
END_TEST

START_TEST(rows_are_fetched_together_in_one_transaction)
{
    struct tfs_chunk chunks[3];

    run_and_close(WIDE WIDE_ROWS);
    must_open();
    for (size_t i = 0; i < 3; i++)
        chunks[i] = *tfs_doc_at(save->doc, i);
    counted = "BEGIN";
    statements = 0;
    sqlite3_trace_v2(ours(), SQLITE_TRACE_STMT, count_statement, NULL);
    ck_assert_uint_eq(tfs_rows_fetch(save, chunks, 3, &err), 3);
    ck_assert_int_eq(err.code, 0);
    ck_assert_uint_eq(statements, 1);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(chunks[i].flags, 0);
        ck_assert_uint_ge(chunks[i].blob->size, 4);
        tfs_blob_unref(chunks[i].blob);
        tfs_blob_unref(chunks[i].extra);
    }
    /* No lock is left behind. */
    run("BEGIN EXCLUSIVE; COMMIT");
}
END_TEST

START_TEST(value_that_is_too_long_is_not_read)
{
    run_and_close(PACKED PACKED_ROWS "UPDATE tiles SET data = zeroblob(1001) WHERE pos = 135");
    must_open();
    struct tfs_chunk chunk = *tfs_doc_find(save->doc, left);
    ck_assert_uint_eq(tfs_rows_fetch(save, &chunk, 1, &err), 0);
    ck_assert_int_eq(err.code, -EFBIG);
    ck_assert_str_eq(err.text, "a value in the database has more than 1000 bytes, as no block");
    ck_assert_str_eq(value(middle, false), "middle");
}
END_TEST

static int64_t patience(void)
{
    sqlite3_stmt *statement;

    ck_assert_int_eq(sqlite3_prepare_v2(ours(), "PRAGMA busy_timeout", -1, &statement, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    int64_t ms = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return ms;
}

START_TEST(only_the_first_reader_of_a_locked_database_waits)
{
    struct tfs_chunk chunk;

    run(PACKED PACKED_ROWS);
    must_open();
    chunk = *tfs_doc_find(save->doc, left);
    ck_assert_int_gt(patience(), 0);
    run("BEGIN EXCLUSIVE");
    ck_assert_uint_eq(tfs_rows_fetch(save, &chunk, 1, &err), 0);
    ck_assert_int_eq(err.code, -EBUSY);
    ck_assert_int_eq(patience(), 0);
    run("COMMIT");
    ck_assert_str_eq(value(left, false), "left");
    ck_assert_int_gt(patience(), 0);
}
END_TEST

/* ---- writing --------------------------------------------------------------------------------- */

START_TEST(rows_come_change_and_go_in_one_transaction)
{
    run_and_close(_i == 0 ? PACKED PACKED_ROWS : WIDE WIDE_ROWS);
    must_open();
    counted = "BEGIN IMMEDIATE";
    statements = 0;
    sqlite3_trace_v2(ours(), SQLITE_TRACE_STMT, count_statement, NULL);
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}, {right, NULL, NULL}, {fresh, "new", NULL}), 0);
    ck_assert_uint_eq(statements, 1);
    ck_assert_str_eq(ask("SELECT group_concat(data, ' ') FROM "
                         "(SELECT CAST(data AS TEXT) AS data FROM tiles ORDER BY data)"),
                     "LEFT middle new");
    ck_assert_str_eq(ask("SELECT typeof(data) FROM tiles WHERE data = x'6e6577'"), "blob");
    close_save();
    must_open();
    ck_assert_str_eq(value(left, false), "LEFT");
    ck_assert_str_eq(value(left, true), _i == 0 ? "NULL" : "l");
    ck_assert_str_eq(value(fresh, false), "new");
    ck_assert_str_eq(value(right, false), "-");
}
END_TEST

/* The text '136' is no key, and yet what a new row of the chunk would replace. */
START_TEST(new_chunk_replaces_no_row_that_is_not_shown)
{
    run_and_close("CREATE TABLE tiles (pos TEXT PRIMARY KEY, data BLOB);" PACKED_ROWS);
    must_open();
    ck_assert_uint_eq(save->doc->count, 0);
    ck_assert_int_eq(COMMIT({middle, "new", NULL}), -EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "has a row for chunk 0_0_0 already"));
    ck_assert_str_eq(ask("SELECT group_concat(data) FROM tiles"), "left,middle,right");
}
END_TEST

START_TEST(second_value_is_written_alone)
{
    run_and_close(WIDE WIDE_ROWS);
    must_open();
    ck_assert_int_eq(COMMIT({middle, NULL, "m"}), 0);
    ck_assert_str_eq(ask("SELECT typeof(data) || typeof(note) FROM tiles WHERE x = 0"), "textblob");
    close_save();
    must_open();
    ck_assert_str_eq(value(middle, true), "m");
    ck_assert_str_eq(value(middle, false), "middle");
}
END_TEST

START_TEST(chunk_that_does_not_pass_its_check_leaves_all_rows)
{
    run_and_close(PACKED PACKED_ROWS);
    must_open();
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}, {right, "!", NULL}), -EBADMSG);
    ck_assert_str_eq(err.text, "this is no tile");
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 135"), "left");
}
END_TEST

START_TEST(database_that_was_opened_for_reading_is_not_written)
{
    run_and_close(PACKED PACKED_ROWS);
    ck_assert_int_eq(try_open(TFS_LOCK_NONE), 0);
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), -EROFS);
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 135"), "left");
}
END_TEST

START_TEST(second_writer_is_refused_and_a_game_is_not)
{
    struct tfs_save *first;

    run_and_close(PACKED PACKED_ROWS);
    must_open();
    first = save;
    save = NULL;
    ck_assert_int_eq(try_open(TFS_LOCK_EXCLUSIVE), -EWOULDBLOCK);
    ck_assert_int_eq(try_open(TFS_LOCK_NONE), 0);
    tfs_save_close(first);
    run("UPDATE tiles SET data = 'theirs'");
}
END_TEST

/* A document does not change by its commit: no file of it reads differently then. */
START_TEST(chunk_is_the_same_before_and_after_its_commit)
{
    run_and_close(PACKED PACKED_ROWS);
    must_open();
    struct tfs_doc *doc =
        changed(save->doc, (const struct change[]){{left, "LEFT", NULL}, {fresh, "new", NULL}}, 2);
    const struct tfs_chunk made = *tfs_doc_find(doc, left);
    ck_assert(tfs_chunk_is_unread(&made, false) && made.blob == NULL);
    ck_assert(!tfs_chunk_same(&made, tfs_doc_find(save->doc, left)));
    struct tfs_blob *bytes = NULL;
    ck_assert_int_eq(tfs_chunk_load(save, &made, &bytes, &err), 0);
    ck_assert(tfs_span_equal(tfs_blob_span(bytes), tfs_span_of("LEFT")));
    tfs_blob_unref(bytes);
    ck_assert_int_eq(save->container->commit(save, doc, &err), 0);
    ck_assert_ptr_eq(save->doc, doc);
    ck_assert_str_eq(value(left, false), "LEFT");
    ck_assert_str_eq(value(fresh, false), "new");
    /* Once it is in the database it is read there, and nowhere else. */
    struct stat st;
    ck_assert_int_eq(fstat(((struct tfs_rows *)save->own)->kept.fd, &st), 0);
    ck_assert_int_eq(st.st_size, 0);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(what_others_made_of_our_edit_is_a_conflict)
{
    run(PACKED PACKED_ROWS);
    must_open();
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}, {middle, "MIDDLE", NULL}), 0);
    const struct tfs_chunk ours_left = *tfs_doc_find(save->doc, left);
    const struct tfs_chunk ours_middle = *tfs_doc_find(save->doc, middle);
    run("UPDATE tiles SET data = 'theirs' WHERE pos = 135");
    ck_assert_int_eq(COMMIT({left, "again", NULL}), -ESTALE);
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 135"), "theirs");
    reload();
    ck_assert(!tfs_chunk_same(tfs_doc_find(save->doc, left), &ours_left));
    ck_assert(tfs_chunk_same(tfs_doc_find(save->doc, middle), &ours_middle));
    ck_assert_str_eq(value(left, false), "theirs");
    ck_assert_int_eq(COMMIT({left, "again", NULL}), 0);
    ck_assert_str_eq(value(left, false), "again");
}
END_TEST

/* A bad disk below the temporary file costs the edit, not the row that it is about. */
START_TEST(edit_that_was_damaged_in_its_temporary_file_is_not_written)
{
    run_and_close(PACKED PACKED_ROWS);
    must_open();
    struct tfs_doc *doc = changed(save->doc, &(const struct change){left, "LEFT", NULL}, 1);
    const char *before = ask("SELECT data FROM tiles WHERE pos = 135");
    char kept[64];
    snprintf(kept, sizeof(kept), "%s", before);
    ck_assert_int_eq(pwrite(((struct tfs_rows *)save->own)->kept.fd, "l", 1, 0), 1);
    ck_assert_int_eq(save->container->commit(save, doc, &err), -EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "was damaged in its temporary file"));
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 135"), kept);
    tfs_doc_unref(doc);
}
END_TEST

/* Without a place for them documents hold them. */
START_TEST(edit_without_a_temporary_file_is_held)
{
    run_and_close(PACKED PACKED_ROWS);
    must_open();
    struct rlimit none = {0, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    struct tfs_doc *doc = changed(save->doc, &(const struct change){left, "LEFT", NULL}, 1);
    none.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    ck_assert_ptr_nonnull(tfs_doc_find(doc, left)->blob);
    ck_assert_int_eq(save->container->commit(save, doc, &err), 0);
    ck_assert_str_eq(value(left, false), "LEFT");
    tfs_doc_unref(doc);
}
END_TEST

/* ---- another program writes ------------------------------------------------------------------ */

START_TEST(commit_waits_for_nobody_who_holds_the_lock_long)
{
    run(PACKED PACKED_ROWS);
    must_open();
    run("BEGIN IMMEDIATE; UPDATE tiles SET data = 'theirs' WHERE pos = 136");
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), -EBUSY);
    run("COMMIT");
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), 0);
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 135"), "LEFT");
    ck_assert_str_eq(ask("SELECT data FROM tiles WHERE pos = 136"), "theirs");
}
END_TEST

static unsigned looks, intrusions; /* reads in a transaction of ours; changes that got in then */

/* Another program tries to begin a change whenever we are about to read in a transaction. */
static int intrude(unsigned kind, void *db, void *statement, void *text)
{
    (void)kind;
    (void)text;
    if (sqlite3_get_autocommit(db) != 0 || sqlite3_stmt_readonly(statement) == 0)
        return 0;
    looks++;
    intrusions += sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    return 0;
}

START_TEST(row_cannot_change_between_our_look_at_it_and_our_write)
{
    run(PACKED PACKED_ROWS);
    must_open();
    sqlite3_trace_v2(ours(), SQLITE_TRACE_STMT, intrude, ours());
    looks = intrusions = 0;
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), 0);
    ck_assert_uint_gt(looks, 0);
    ck_assert_uint_eq(intrusions, 0);
}
END_TEST

static const struct {
    const char *theirs;
    struct change ours;
    int code;
} meetings[] = {
    {"UPDATE tiles SET data = 'theirs' WHERE x = -1", {{0, -1, 0, 0}, "LEFT", NULL}, -ESTALE},
    {"UPDATE tiles SET data = 'theirs' WHERE x = -1", {{0, -1, 0, 0}, NULL, NULL}, -ESTALE},
    {"UPDATE tiles SET note = 'theirs' WHERE x = -1", {{0, -1, 0, 0}, NULL, NULL}, -ESTALE},
    {"UPDATE tiles SET data = 'theirs' WHERE x = -1", {{0, -1, 0, 0}, NULL, "note"}, 0},
    {"UPDATE tiles SET note = 'theirs' WHERE x = -1", {{0, -1, 0, 0}, "LEFT", NULL}, 0},
    {"UPDATE tiles SET note = NULL WHERE x = -1", {{0, -1, 0, 0}, NULL, "note"}, -ESTALE},
    {"UPDATE tiles SET note = x'' WHERE x = 0", {{0, 0, 0, 0}, NULL, "note"}, -ESTALE},
    {"UPDATE tiles SET data = 'LEFT' WHERE x = -1", {{0, -1, 0, 0}, "LEFT", NULL}, 0},
    {"UPDATE tiles SET data = 'theirs' WHERE x = 0", {{0, -1, 0, 0}, "LEFT", NULL}, 0},
    {"DELETE FROM tiles WHERE x = -1", {{0, -1, 0, 0}, NULL, NULL}, 0},
    {"INSERT INTO tiles VALUES (3, 4, 'theirs', NULL)", {{0, 3, 0, 4}, "new", NULL}, -ESTALE},
    {"INSERT INTO tiles VALUES (3, 4, 'new', NULL)", {{0, 3, 0, 4}, "new", NULL}, 0},
};

/* Both changed the same value of the same row, and not to the same: only then. */
START_TEST(what_both_changed_is_a_conflict)
{
    run(WIDE WIDE_ROWS);
    must_open();
    for (size_t i = 0; i < 3; i++)
        value(tfs_doc_at(save->doc, i)->key, false);
    run(meetings[_i].theirs);
    ck_assert_int_eq(COMMIT({right, "RIGHT", NULL}, meetings[_i].ours), meetings[_i].code);
    /* All of it, or nothing. */
    ck_assert_str_eq(ask("SELECT CAST(data AS TEXT) FROM tiles WHERE x = 1"),
                     meetings[_i].code == 0 ? "RIGHT" : "right");
}
END_TEST

/* It was never shown, so nobody knows another value. */
START_TEST(row_that_nobody_looked_at_is_no_conflict)
{
    run(PACKED PACKED_ROWS);
    must_open();
    run("UPDATE tiles SET data = 'theirs' WHERE pos = 135");
    ck_assert_int_eq(COMMIT({left, NULL, NULL}), 0);
    ck_assert_str_eq(ask("SELECT count(*) FROM tiles"), "2");
}
END_TEST

START_TEST(commit_beside_another_program_shows_what_both_wrote)
{
    run(PACKED PACKED_ROWS);
    must_open();
    ck_assert_str_eq(value(middle, false), "middle");
    run("UPDATE tiles SET data = 'theirs' WHERE pos = 136");
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 1);
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), 0);
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 0);
    ck_assert_str_eq(value(middle, false), "theirs");
    ck_assert_str_eq(value(left, false), "LEFT");
}
END_TEST

START_TEST(reload_gives_new_numbers_to_what_changed_only)
{
    run(PACKED PACKED_ROWS);
    must_open();
    value(left, false);
    value(middle, false);
    const struct tfs_chunk old_left = *tfs_doc_find(save->doc, left);
    const struct tfs_chunk old_middle = *tfs_doc_find(save->doc, middle);
    run("UPDATE tiles SET data = 'theirs' WHERE pos = 135; DELETE FROM tiles WHERE pos = 169;"
        "INSERT INTO tiles VALUES (5, 'new')");
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 1);
    reload();
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 0);
    ck_assert_uint_eq(save->doc->count, 3);
    ck_assert(!tfs_chunk_same(tfs_doc_find(save->doc, left), &old_left));
    ck_assert(tfs_chunk_same(tfs_doc_find(save->doc, middle), &old_middle));
    ck_assert_uint_eq(tfs_doc_find(save->doc, left)->slot, old_left.slot);
    ck_assert_str_eq(value(left, false), "theirs");
    ck_assert_str_eq(value(right, false), "-");
}
END_TEST

START_TEST(reload_of_a_database_that_is_being_written_keeps_what_was_read)
{
    run(PACKED PACKED_ROWS);
    must_open();
    run("UPDATE tiles SET data = 'theirs' WHERE pos = 135; BEGIN EXCLUSIVE");
    reload();
    ck_assert_uint_eq(save->doc->count, 3);
    run("COMMIT");
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 1);
}
END_TEST

START_TEST(tables_of_another_layout_are_another_save)
{
    run(PACKED PACKED_ROWS);
    must_open();
    run("DROP TABLE tiles;" WIDE "INSERT INTO tiles VALUES (-1, 0, 'wide', 'w')");
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), -ESTALE);
    ck_assert_str_eq(err.text, "another program changed what the tables of the database say since "
                               "it was read");
    ck_assert_str_eq(ask("SELECT data FROM tiles"), "wide");
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_rows_reload(save, &err), -ESTALE);
    ck_assert_uint_eq(save->doc->count, 3);
    close_save();
    must_open();
    ck_assert_str_eq(value(left, false), "wide");
    ck_assert_str_eq(value(left, true), "w");
}
END_TEST

START_TEST(database_that_lost_its_table_keeps_what_was_read)
{
    run(PACKED PACKED_ROWS);
    must_open();
    run("ALTER TABLE tiles RENAME TO away");
    ck_assert_int_eq(tfs_rows_reload(save, &err), -ENOTSUP);
    ck_assert_str_eq(
        err.text, "is an SQLite database of no game that is known here: a toy has a table tiles");
    ck_assert_uint_eq(save->doc->count, 3);
    run("ALTER TABLE away RENAME TO tiles");
    reload();
    ck_assert_str_eq(value(left, false), "left");
}
END_TEST

START_TEST(database_put_in_the_place_of_ours_is_read)
{
    run_and_close(PACKED PACKED_ROWS);
    must_open();
    ck_assert_int_eq(rename(db_path(), scratch_path("old")), 0);
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 1);
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), -EIO);
    run_and_close(WIDE "INSERT INTO tiles VALUES (-1, 0, 'other', NULL)");
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), -ESTALE);
    reload();
    ck_assert_uint_eq(save->doc->count, 1);
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), 0);
    ck_assert_str_eq(ask("SELECT CAST(data AS TEXT) FROM tiles"), "LEFT");
}
END_TEST

START_TEST(database_with_a_log_is_edited_beside_its_game)
{
    run("PRAGMA journal_mode=WAL;" PACKED PACKED_ROWS);
    must_open();
    ck_assert_int_eq(COMMIT({left, "LEFT", NULL}), 0);
    run("UPDATE tiles SET data = 'theirs' WHERE pos = 136");
    ck_assert_int_eq(tfs_rows_changed(save, NULL, &err), 1);
    reload();
    ck_assert_str_eq(value(middle, false), "theirs");
    ck_assert_str_eq(value(left, false), "LEFT");
}
END_TEST

static Suite *rows_suite(void)
{
    Suite *suite = suite_create("rows");
    TCase *tcase = unit_case(suite, "rows");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, opening_reads_all_keys_and_no_value, 0, 2);
    tcase_add_test(tcase, row_whose_key_is_none_is_counted_and_kept);
    tcase_add_test(tcase, rows_are_fetched_together_in_one_transaction);
    tcase_add_test(tcase, value_that_is_too_long_is_not_read);
    tcase_add_test(tcase, only_the_first_reader_of_a_locked_database_waits);
    tcase_add_loop_test(tcase, rows_come_change_and_go_in_one_transaction, 0, 2);
    tcase_add_test(tcase, new_chunk_replaces_no_row_that_is_not_shown);
    tcase_add_test(tcase, second_value_is_written_alone);
    tcase_add_test(tcase, chunk_that_does_not_pass_its_check_leaves_all_rows);
    tcase_add_test(tcase, database_that_was_opened_for_reading_is_not_written);
    tcase_add_test(tcase, second_writer_is_refused_and_a_game_is_not);
    tcase_add_test(tcase, commit_waits_for_nobody_who_holds_the_lock_long);
    tcase_add_test(tcase, row_cannot_change_between_our_look_at_it_and_our_write);
    tcase_add_loop_test(tcase, what_both_changed_is_a_conflict, 0, COUNT(meetings));
    tcase_add_test(tcase, row_that_nobody_looked_at_is_no_conflict);
    tcase_add_test(tcase, commit_beside_another_program_shows_what_both_wrote);
    tcase_add_test(tcase, reload_gives_new_numbers_to_what_changed_only);
    tcase_add_test(tcase, reload_of_a_database_that_is_being_written_keeps_what_was_read);
    tcase_add_test(tcase, tables_of_another_layout_are_another_save);
    tcase_add_test(tcase, database_that_lost_its_table_keeps_what_was_read);
    tcase_add_test(tcase, database_put_in_the_place_of_ours_is_read);
    tcase_add_test(tcase, database_with_a_log_is_edited_beside_its_game);

    tcase = unit_case(suite, "rows put aside");
    tcase_add_checked_fixture(tcase, setup_aside, teardown);
    tcase_add_test(tcase, chunk_is_the_same_before_and_after_its_commit);
    tcase_add_test(tcase, what_others_made_of_our_edit_is_a_conflict);
    tcase_add_test(tcase, edit_that_was_damaged_in_its_temporary_file_is_not_written);
    tcase_add_test(tcase, edit_without_a_temporary_file_is_held);
    tcase_add_loop_test(tcase, rows_come_change_and_go_in_one_transaction, 0, 2);
    tcase_add_test(tcase, new_chunk_replaces_no_row_that_is_not_shown);
    tcase_add_test(tcase, chunk_that_does_not_pass_its_check_leaves_all_rows);
    tcase_add_test(tcase, commit_waits_for_nobody_who_holds_the_lock_long);
    tcase_add_test(tcase, commit_beside_another_program_shows_what_both_wrote);
    tcase_add_test(tcase, reload_gives_new_numbers_to_what_changed_only);
    tcase_add_test(tcase, tables_of_another_layout_are_another_save);
    tcase_add_test(tcase, database_put_in_the_place_of_ours_is_read);
    tcase_add_test(tcase, database_with_a_log_is_edited_beside_its_game);
    return suite;
}

UNIT_MAIN(rows_suite)
