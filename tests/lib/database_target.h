/*
 * What the fuzz targets of databases share. A first byte below 80: a database made as the bytes
 * say; else a sound one with some of its bytes changed: kind, number of changes, and those: place
 * (2), byte. The bytes behind that are edits (edit_target.h).
 */
#ifndef TFS_TESTS_DATABASE_TARGET_H
#define TFS_TESTS_DATABASE_TARGET_H

#include <sqlite3.h>

#include "edit_target.h"

#define DATABASE_KINDS_MAX 8

struct database_target {
    const char *name; /* of the file */
    /* Makes the tables, and rows, of a new database. */
    void (*fill)(sqlite3 *db, struct tfs_cursor *in);
    unsigned kinds; /* of sound ones; each is made once, with few rows */
    void (*make_sound)(const char *path, unsigned kind);
};

void database_target(const struct database_target *target, struct tfs_span input);

/* SQL that must work. */
void database_run(sqlite3 *db, const char *sql);
/* Binds what a byte says: NULL, the sound value, or else that many of the next bytes. */
void database_bind(sqlite3_stmt *insert, int column, struct tfs_span sound, struct tfs_cursor *in);
/* Inserts what is bound, if the schema takes it. */
void database_insert(sqlite3_stmt *insert);

#endif
