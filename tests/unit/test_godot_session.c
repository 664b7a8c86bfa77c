/* The session on saves of Godot Voxel Tools: listings that fetch nothing, and saves that another
 * program holds locked. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../lib/session_driver.h"
#include "../lib/voxel_maker.h"
#include "formats/godot_voxel/stream.h"
#include "formats/godot_voxel/view.h"
#include "scratch.h"

#define CHUNKS 30

static sqlite3 *other; /* another program's connection */
static unsigned fetches;

static void setup(void)
{
    scratch_setup();
}

static void teardown(void)
{
    if (session != NULL)
        tfs_session_close(session);
    session = NULL;
    sqlite3_close(other);
    other = NULL;
    scratch_teardown();
}

static void open_path_as_session(const char *path, struct tfs_session_options options)
{
    const struct tfs_open_options open = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_save *opened = NULL;
    struct tfs_error err = {0};

    ck_assert_msg(tfs_save_open(path, NULL, &open, &opened, &err) == 0, "%s", err.text);
    open_save_with(opened, options);
}

/* ---- databases ------------------------------------------------------------------------------- */

static int count_fetch(unsigned kind, void *arg, void *statement, void *sql)
{
    (void)kind;
    (void)arg;
    (void)statement;
    fetches += strncmp(sql, "SELECT", 6) == 0;
    return 0;
}

static const char *db_path(void)
{
    return scratch_path("world.sqlite");
}

static struct tfs_godot_db *db(void)
{
    return &((struct tfs_godot_stream *)save->own)->db;
}

static void open_database(void)
{
    voxel_stream(db_path(), 2, CHUNKS);
    open_path_as_session(db_path(), (struct tfs_session_options){.linger_ms = 3600000});
    fetches = 0;
    sqlite3_trace_v2(db()->db, SQLITE_TRACE_STMT, count_fetch, NULL);
}

static void run(const char *sql)
{
    char *why = NULL;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(other, sql, NULL, NULL, &why) == SQLITE_OK, "%s: %s", sql, why);
}

/* ---- listings -------------------------------------------------------------------------------- */

static bool count_directory(void *arg, const struct tfs_dirent *entry)
{
    *(unsigned *)arg += S_ISDIR(entry->attr.st.st_mode) && entry->known;
    return true;
}

/* Directories listed with their attributes, or a negative errno. */
static int list_with_attributes(const char *path)
{
    unsigned count = 0;
    int result = list_entries(path, true, count_directory, &count);

    return result < 0 ? result : (int)count;
}

START_TEST(listing_of_chunks_asks_the_database_nothing)
{
    struct tfs_attr attr;

    open_database();
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(list_with_attributes("chunks"), CHUNKS);
    ck_assert_int_eq(look("chunks/-50_-1_-50", &attr), 0);
    ck_assert_uint_eq(attr.st.st_nlink, 3); /* channels */
    ck_assert_uint_eq(fetches, 0);
}
END_TEST

#define INSTANCES "x'0001000000803f0df00d90'"

/* A database whose first chunk has instances, which another program holds locked. */
static void open_locked(void)
{
    voxel_stream(db_path(), 2, CHUNKS);
    run("UPDATE blocks SET instances = " INSTANCES " WHERE loc = '-50,-1,-50,0'");
    open_path_as_session(db_path(), (struct tfs_session_options){.linger_ms = 3600000});
    run("BEGIN EXCLUSIVE");
}

START_TEST(what_a_locked_database_hides_is_busy_not_absent)
{
    struct tfs_attr chunk, attr;
    struct tfs_handle *handle;

    open_locked();
    ck_assert_int_eq(look("chunks/-50_-1_-50", &chunk), 0);
    ck_assert_int_eq(list_with_attributes("chunks/-50_-1_-50"), -EBUSY);
    ck_assert_int_eq(tfs_session_lookup(session, chunk.id, "instances.bin", &attr), -EBUSY);
    ck_assert_int_eq(tfs_session_lookup(session, chunk.id, "channels", &attr), -EBUSY);
    ck_assert_int_eq(tfs_session_unlink(session, chunk.id, "instances.bin"), -EBUSY);
    ck_assert_int_eq(tfs_session_create(session, chunk.id, "instances.bin", 0644, 0, 0, O_WRONLY,
                                        &handle, &attr),
                     -EBUSY);
    ck_assert_int_eq(remove_directory("chunks/-50_-1_-50"), -EBUSY);
    run("ROLLBACK");
    ck_assert_str_eq(list("chunks/-50_-1_-50"),
                     ". .. raw.bin voxels.csv metadata.txt instances.bin channels ");
    ck_assert_str_eq(list("chunks/-49_-1_-50"), ". .. raw.bin voxels.csv metadata.txt channels ");
}
END_TEST

static int64_t patience(void)
{
    struct tfs_godot_stream *own = save->own;
    sqlite3_stmt *statement = NULL;

    pthread_mutex_lock(&own->lock);
    ck_assert_int_eq(sqlite3_prepare_v2(db()->db, "PRAGMA busy_timeout", -1, &statement, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    int64_t ms = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&own->lock);
    return ms;
}

/* Whoever walks through a locked database does not wait for each of its chunks. */
START_TEST(lock_is_waited_for_once)
{
    open_locked();
    const int64_t usual = patience();
    ck_assert_int_gt(usual, 0);
    ck_assert_int_eq(list_with_attributes("chunks/-50_-1_-50"), -EBUSY);
    ck_assert_int_eq(patience(), 0);
    ck_assert_int_eq(list_with_attributes("chunks/-49_-1_-50"), -EBUSY);
    ck_assert_int_eq(patience(), 0);
    run("ROLLBACK");
    ck_assert_int_ge(list_with_attributes("chunks/-48_-1_-50"), 0);
    ck_assert_int_eq(patience(), usual);
}
END_TEST

/* The edit, too, needs what the database hides. */
START_TEST(removal_waits_until_the_lock_is_gone)
{
    open_locked();
    run("ROLLBACK");
    struct tfs_handle *handle = open_path("chunks/-50_-1_-50/raw.bin", O_RDONLY);
    ck_assert_int_eq(unlink_path("chunks/-50_-1_-50/instances.bin"), 0);
    /* Its view is remembered no longer. */
    tfs_godot_memo_clear(save);
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(sync_directory("chunks/-50_-1_-50"), -EBUSY);
    ck_assert_int_eq(sync_file(handle), -EBUSY);
    tfs_session_release(session, handle);
    run("ROLLBACK");
    ck_assert_str_eq(list("chunks/-50_-1_-50"), ". .. raw.bin voxels.csv metadata.txt channels ");
    ck_assert_int_eq(sync_directory("chunks/-50_-1_-50"), 0);
    run("BEGIN; DELETE FROM blocks WHERE instances IS NOT NULL");
    ck_assert_int_eq(sqlite3_changes(other), 0);
    run("ROLLBACK");
}
END_TEST

static Suite *godot_session_suite(void)
{
    Suite *suite = suite_create("godot_session");
    TCase *tcase = unit_case(suite, "database");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, listing_of_chunks_asks_the_database_nothing);
    tcase_add_test(tcase, what_a_locked_database_hides_is_busy_not_absent);
    tcase_add_test(tcase, lock_is_waited_for_once);
    tcase_add_test(tcase, removal_waits_until_the_lock_is_gone);
    return suite;
}

UNIT_MAIN(godot_session_suite)
