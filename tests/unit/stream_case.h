/*
 * A stream for tests: a database of Voxel Tools, opened by this program and by another one.
 */
#ifndef TFS_TESTS_STREAM_CASE_H
#define TFS_TESTS_STREAM_CASE_H

#include <sqlite3.h>

#include "../lib/files_case.h"
#include "../lib/voxel_maker.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/godot_voxel/"

static struct tree_files c;
static sqlite3 *other; /* another program's connection */

static inline void teardown(void)
{
    sqlite3_close(other);
    other = NULL;
    tree_files_close(&c);
    scratch_teardown();
}

static const struct tfs_key one = {0, -50, -1, -50}, two = {0, -49, -1, -50};

static inline const char *db_path(void)
{
    return scratch_path("world.sqlite");
}

static inline void run(const char *sql)
{
    char *why = NULL;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(other, sql, NULL, NULL, &why) == SQLITE_OK, "%s: %s", sql, why);
}

/* Closes the other program's connection, which makes tables and is gone. */
static inline void run_and_close(const char *sql)
{
    run(sql);
    sqlite3_close(other);
    other = NULL;
}

/* The one number that a query gives. */
static inline int64_t ask(const char *sql)
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

static inline void must_open(void)
{
    ck_assert_msg(files_open(&c, db_path()) == 0, "%s", c.err.text);
}

static inline void commit(void)
{
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
}

/* Opens it anew: what is on disk. */
static inline void reopen(void)
{
    tree_files_close(&c);
    must_open();
}

#endif
