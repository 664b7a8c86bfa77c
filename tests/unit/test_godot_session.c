/* The session on saves of Godot Voxel Tools: listings that fetch nothing, and saves that another
 * program holds locked. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../lib/session_driver.h"
#include "../lib/voxel_maker.h"
#include "formats/godot_voxel/stream.h"
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
    struct tfs_attr attr;
    unsigned count = 0;

    ck_assert_int_eq(look(path, &attr), 0);
    int result = tfs_session_read_directory(session, attr.id, 0, true, count_directory, &count);
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

static Suite *godot_session_suite(void)
{
    Suite *suite = suite_create("godot_session");
    TCase *tcase = unit_case(suite, "database");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, listing_of_chunks_asks_the_database_nothing);
    return suite;
}

UNIT_MAIN(godot_session_suite)
