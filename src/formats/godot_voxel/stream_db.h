/*
 * The database of a stream: what is asked of SQLite, and nothing else of it is used
 * (FORMAT.md, section 7).
 *
 * One connection, used by one caller at a time. The file is foreign: its schema is looked at before
 * anything is asked of it, and nothing in it is trusted or run.
 */
#ifndef TFS_FORMATS_GODOT_VOXEL_STREAM_DB_H
#define TFS_FORMATS_GODOT_VOXEL_STREAM_DB_H

#include <sqlite3.h>

#include "base/blob.h"
#include "formats/godot_voxel/stream_key.h"

enum tfs_godot_statement {
    TFS_GODOT_SQL_VERSION,
    TFS_GODOT_SQL_FETCH,
    TFS_GODOT_SQL_PUT_BLOCK,
    TFS_GODOT_SQL_PUT_EXTRA,
    TFS_GODOT_SQL_DELETE,
    TFS_GODOT_SQL_ROLLBACK,
    TFS_GODOT_SQL_STATEMENTS
};

struct tfs_godot_db {
    sqlite3 *db;
    struct tfs_godot_guard *guard;                      /* what SQLite may open */
    sqlite3_stmt *statements[TFS_GODOT_SQL_STATEMENTS]; /* made when first needed */
    uint32_t schema;                                    /* 0 or 1 */
    enum tfs_godot_key_format format;
    uint8_t po2;
    bool corrupt; /* a page of it was found damaged: it is read as far as it goes, never written */
    /* Another program held it locked for longer than a reader waits: the next readers do not wait
     * again, until one of them gets through. */
    bool held;
};

/* A row; NULL is SQL's NULL. Of no row, `found` is false. */
struct tfs_godot_row {
    bool found;
    struct tfs_blob *block;
    struct tfs_blob *extra;
};

void tfs_godot_row_release(struct tfs_godot_row *row);

/* Opens the database and looks at its tables and at the row of meta (schema, format, po2). What a
 * killed program left half done is taken back first, also where it is only to be read; EROFS where
 * that is not allowed. */
int tfs_godot_db_open(const char *path, bool writable, struct tfs_godot_db *db,
                      struct tfs_error *err);
void tfs_godot_db_close(struct tfs_godot_db *db);
/* Is the file at its path another one than is open? */
bool tfs_godot_db_moved(const struct tfs_godot_db *db);

/* Another number whenever another connection changed the database. */
int tfs_godot_db_version(struct tfs_godot_db *db, uint32_t *version, struct tfs_error *err);

/* Reads the row of meta again. */
int tfs_godot_db_meta(struct tfs_godot_db *db, struct tfs_error *err);

/* All keys, in no order; *others: rows whose key is none. To be freed with free(). */
int tfs_godot_db_keys(struct tfs_godot_db *db, struct tfs_key **keys, size_t *count, size_t *others,
                      struct tfs_error *err);

int tfs_godot_db_fetch(struct tfs_godot_db *db, struct tfs_key key, struct tfs_godot_row *row,
                       struct tfs_error *err);

/* What is read until tfs_godot_db_rollback is one state of the database. */
int tfs_godot_db_snapshot(struct tfs_godot_db *db, struct tfs_error *err);

/* A transaction that holds the write lock from its beginning. EBUSY: somebody else does. */
int tfs_godot_db_begin(struct tfs_godot_db *db, struct tfs_error *err);
int tfs_godot_db_commit(struct tfs_godot_db *db, struct tfs_error *err);
/* Makes the transaction one that writes, whatever its rows were before: SQLite leaves out a page
 * that it would not change. */
int tfs_godot_db_touch(struct tfs_godot_db *db, struct tfs_error *err);
void tfs_godot_db_rollback(struct tfs_godot_db *db);

/* Sets one column of a row, which is made if there is none; NULL is SQL's. */
int tfs_godot_db_put(struct tfs_godot_db *db, enum tfs_godot_statement column, struct tfs_key key,
                     const struct tfs_blob *value, struct tfs_error *err);
int tfs_godot_db_delete(struct tfs_godot_db *db, struct tfs_key key, struct tfs_error *err);

#endif
