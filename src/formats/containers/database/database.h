/*
 * A connection to a game's SQLite database, which nobody vouches for.
 *
 * What callers may rely on:
 *   - Nothing of the file is trusted or run: its triggers, views and functions are off, damaged
 *     cells are found, a value longer than the caller allows is never read (EFBIG), no other file
 *     is attached, and none is opened or removed but the database's own journal and log (guard.c).
 *   - Only the file is asked: no link is followed, nothing is created where there is none.
 *   - A game may have the database open at the same time. Whoever reads waits 200 ms for a lock
 *     (EBUSY), and the next readers not at all until one of them gets through; whoever writes waits
 *     every time.
 *   - A commit is on disk when tfs_database_commit returns.
 *   - A database in which damage was found is read as far as it goes, and never written (EBADMSG).
 *
 * One caller at a time. A database is locked by POSIX locks of the process: while a connection is
 * open, nobody else in the process may open and close the same file.
 */
#ifndef TFS_FORMATS_CONTAINERS_DATABASE_DATABASE_H
#define TFS_FORMATS_CONTAINERS_DATABASE_DATABASE_H

#include <sqlite3.h>

#include "base/blob.h"
#include "text/name.h"

struct tfs_database {
    sqlite3 *sqlite;
    struct tfs_database_guard *guard;
    sqlite3_stmt *version, *rollback; /* kept statements */
    int value_max;
    bool corrupt; /* damage was found */
    bool held;    /* another program held it locked for longer than a reader waits */
};

/* Opens the database and reads its schema. `value_max`: bytes of the longest value that is read.
 * What a killed program left half done is taken back first, also where the database is only to be
 * read; EROFS where that is not allowed. EBADMSG: this is no database, or damaged. */
int tfs_database_open(const char *path, bool writable, int value_max, struct tfs_database *db,
                      struct tfs_error *err);
/* The same to look at the tables alone, as they are in the file: nothing is locked, waited for or
 * taken back, no journal is read. */
int tfs_database_peek(const char *path, struct tfs_database *db, struct tfs_error *err);
/* All statements but those of `db` itself were finalized before. Closed ones are taken. */
void tfs_database_close(struct tfs_database *db);
/* Makes a database at `target` that holds all that this one does. */
int tfs_database_copy(struct tfs_database *db, const char *target, struct tfs_error *err);
/* The other way: all that `from` holds, in one transaction. */
int tfs_database_restore(struct tfs_database *db, struct tfs_database *from, struct tfs_error *err);
/* Is the file at its path another one than is open? */
bool tfs_database_moved(const struct tfs_database *db);

/* ---- its tables ------------------------------------------------------------------------------ */

/* Is there a table of that name, and no view or virtual table: 1, 0 or negative. */
int tfs_database_has_table(struct tfs_database *db, const char *table, struct tfs_error *err);
/* The same of a column; -ENOMEM. */
int tfs_database_has_column(struct tfs_database *db, const char *table, const char *column);
/* The same as demands: ENOTSUP says that this is a database but not `what`, "a map of ...". */
int tfs_database_need_table(struct tfs_database *db, const char *what, const char *table,
                            struct tfs_error *err);
int tfs_database_need_column(struct tfs_database *db, const char *what, const char *table,
                             const char *column, struct tfs_error *err);
/* EBADMSG: the primary key is others than these columns (sorted, a blank between two), or there is
 * another unique key, by which SQLite could remove rows that nobody named. `whole`: the columns
 * hold whole numbers, too; in others a number would become a text. */
int tfs_database_need_key(struct tfs_database *db, const char *table, const char *columns,
                          bool whole, struct tfs_error *err);
/* ---- statements ------------------------------------------------------------------------------ */

/* Makes `*statement` of `sql`, unless it is made already; the caller finalizes it. */
int tfs_database_prepare(struct tfs_database *db, const char *sql, sqlite3_stmt **statement,
                         struct tfs_error *err);
/* Goes on to the next row of a statement whose parameters are bound: 1 there is one, 0 there is
 * none. `bound`: what SQLite answered when they were bound. */
int tfs_database_step(struct tfs_database *db, sqlite3_stmt *statement, int bound,
                      struct tfs_error *err);
/* Makes the statement ready for another run, and releases what it held. */
void tfs_database_reset(sqlite3_stmt *statement);
/* The bytes of a column; *value is left alone where it is NULL. A value of another type than the
 * game writes is its bytes all the same. */
int tfs_database_value(sqlite3_stmt *row, int column, struct tfs_blob **value,
                       struct tfs_error *err);
/* Binds the bytes, which stay the caller's until the statement was reset; NULL is SQL's. Returns
 * what SQLite answers. */
int tfs_database_bind(sqlite3_stmt *statement, int parameter, const struct tfs_blob *value);

/* ---- transactions ---------------------------------------------------------------------------- */

/* Another number whenever another connection changed the database. */
int tfs_database_version(struct tfs_database *db, uint32_t *version, struct tfs_error *err);

/* What is read until tfs_database_rollback is one state of the database. */
int tfs_database_snapshot(struct tfs_database *db, struct tfs_error *err);

/* A transaction that holds the write lock from its beginning: what is read in it stays so until its
 * end. EBUSY: somebody else has that lock. */
int tfs_database_begin(struct tfs_database *db, struct tfs_error *err);
/* After a failure the transaction is still to be rolled back, and may be on disk all the same. */
int tfs_database_commit(struct tfs_database *db, struct tfs_error *err);
/* Makes the transaction one that writes, whatever its rows were before: SQLite leaves out a page
 * that it would not change. */
int tfs_database_touch(struct tfs_database *db, struct tfs_error *err);
/* Ends a snapshot or a transaction; nothing where there is none. Cannot fail. */
void tfs_database_rollback(struct tfs_database *db);

#endif
