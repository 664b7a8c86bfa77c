/*
 * A path -> a connection that trusts nothing of the file.
 *
 * Must not know documents, nor what tables there are.
 */
#include "formats/containers/database/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "formats/containers/database/guard.h"

#define BUSY_MS  200   /* a game holds its locks for moments */
#define PEEK_MAX 65536 /* bytes of the longest text of a schema that is looked at */

/* ---- failures -------------------------------------------------------------------------------- */

static int code_of(int result)
{
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return -EROFS;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_TOOBIG:
        return -EFBIG;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* our statements are right: a file format or a schema that is not */
        return -EBADMSG;
    default:
        return -EIO;
    }
}

/* A walk through a thousand rows of a database that is held locked waits for one of them. */
static void set_held(struct tfs_database *db, bool held)
{
    if (db->held != held)
        sqlite3_busy_timeout(db->sqlite, held ? 0 : BUSY_MS);
    db->held = held;
}

static int fail(struct tfs_database *db, int result, struct tfs_error *err)
{
    int code = code_of(result);

    db->corrupt = db->corrupt || code == -EBADMSG;
    set_held(db, code == -EBUSY);
    if (code == -EBUSY)
        return tfs_fail(err, code,
                        "the database is locked by another program, which may be a running game");
    if (result == SQLITE_READONLY_ROLLBACK || result == SQLITE_READONLY_RECOVERY)
        return tfs_fail(err, code,
                        "the database was left in the middle of a change, and may not be written "
                        "to take it back");
    if ((result & 0xff) == SQLITE_CANTOPEN)
        return tfs_fail(err, code,
                        "the database, its journal, or what its journal refers to cannot be "
                        "opened");
    if (code == -EFBIG)
        return tfs_fail(err, code, "a value in the database has more than %d bytes, as no block",
                        db->value_max);
    return tfs_fail(err, code, "the database: %s", sqlite3_errmsg(db->sqlite));
}

static int execute(struct tfs_database *db, const char *sql, struct tfs_error *err)
{
    int result = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : fail(db, result, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int harden(struct tfs_database *db, struct tfs_error *err)
{
    static const int switches[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
    };

    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (sqlite3_db_config(db->sqlite, switches[i][0], switches[i][1], NULL) != SQLITE_OK)
            return tfs_fail(err, -EIO, "this SQLite cannot be kept from trusting a database");
    sqlite3_limit(db->sqlite, SQLITE_LIMIT_LENGTH, db->value_max);
    sqlite3_limit(db->sqlite, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(db->sqlite, BUSY_MS);
    /* EXTRA: a commit is on disk even if the power fails at the next moment. */
    return execute(db,
                   "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA synchronous=EXTRA; "
                   "PRAGMA foreign_keys=OFF",
                   err);
}

static int open_once(const char *path, int how, int value_max, struct tfs_database *db,
                     struct tfs_error *err)
{
    const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW |
                      SQLITE_OPEN_EXRESCODE | how;
    struct tfs_database opened = {.guard = tfs_database_guard_create(), .value_max = value_max};
    int result = SQLITE_NOMEM;

    if (opened.guard != NULL)
        result =
            sqlite3_open_v2(path, &opened.sqlite, flags, tfs_database_guard_name(opened.guard));
    if (opened.sqlite == NULL)
        tfs_fail_memory(err);
    else if (result != SQLITE_OK)
        fail(&opened, result, err);
    else if (harden(&opened, err) == 0)
        execute(&opened, "SELECT 1 FROM sqlite_master LIMIT 1", err);
    if (err->code < 0)
        tfs_database_close(&opened);
    else
        *db = opened;
    return err->code;
}

/* What a killed program left half done can only be read once SQLite has taken it back, or carried
 * it over from the log: a reader opens it once for writing, as every reader of such a database
 * does. Whether that is allowed, and that nobody is still at it, is SQLite's to find out. */
int tfs_database_open(const char *path, bool writable, int value_max, struct tfs_database *db,
                      struct tfs_error *err)
{
    struct tfs_database settled = {0};
    struct tfs_error why = {0}, ignored = {0};

    const int how = writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;

    if (open_once(path, how, value_max, db, &why) == -EROFS && !writable &&
        open_once(path, SQLITE_OPEN_READWRITE, value_max, &settled, &ignored) == 0) {
        tfs_database_close(&settled);
        return open_once(path, how, value_max, db, err);
    }
    return why.code < 0 ? tfs_fail(err, why.code, "%s", why.text) : 0;
}

/* The path as SQLite wants it when something is said about the file. */
static void print_uri(const char *path, struct tfs_buf *out)
{
    tfs_buf_printf(out, "file:");
    for (const char *at = path; *at != '\0'; at++)
        tfs_buf_printf(out, "%%%02x", (unsigned)(unsigned char)*at);
    tfs_buf_printf(out, "?immutable=1");
    tfs_buf_u8(out, 0);
}

int tfs_database_peek(const char *path, struct tfs_database *db, struct tfs_error *err)
{
    struct tfs_buf uri = {0};

    print_uri(path, &uri);
    if (tfs_buf_check(&uri, err) == 0)
        open_once((const char *)uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, PEEK_MAX, db,
                  err);
    tfs_buf_release(&uri);
    return err->code;
}

void tfs_database_close(struct tfs_database *db)
{
    sqlite3_finalize(db->version);
    sqlite3_finalize(db->rollback);
    sqlite3_close(db->sqlite);
    tfs_database_guard_free(db->guard);
    *db = (struct tfs_database){0};
}

bool tfs_database_moved(const struct tfs_database *db)
{
    int moved = 1;

    sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

/* ---- its tables ------------------------------------------------------------------------------ */

int tfs_database_has_table(struct tfs_database *db, const char *table, struct tfs_error *err)
{
    static const char sql[] = "SELECT rootpage > 0 AND type = 'table' FROM sqlite_master "
                              "WHERE name = ?1 AND type <> 'index' AND type <> 'trigger'";
    sqlite3_stmt *statement = NULL;

    if (tfs_database_prepare(db, sql, &statement, err) < 0)
        return err->code;
    int bound = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    int result = tfs_database_step(db, statement, bound, err);
    if (result == 1)
        result = sqlite3_column_int(statement, 0) == 1;
    sqlite3_finalize(statement);
    return result;
}

int tfs_database_has_column(struct tfs_database *db, const char *table, const char *column)
{
    int result = sqlite3_table_column_metadata(db->sqlite, "main", table, column, NULL, NULL, NULL,
                                               NULL, NULL);

    if (result != SQLITE_OK)
        return (result & 0xff) == SQLITE_NOMEM ? -ENOMEM : 0;
    return 1;
}

int tfs_database_need_table(struct tfs_database *db, const char *what, const char *table,
                            struct tfs_error *err)
{
    int result = tfs_database_has_table(db, table, err);

    if (result == 0)
        return tfs_fail(err, -ENOTSUP,
                        "is an SQLite database of no game that is known here: %s has a table %s",
                        what, table);
    return result < 0 ? result : 0;
}

int tfs_database_need_column(struct tfs_database *db, const char *what, const char *table,
                             const char *column, struct tfs_error *err)
{
    const int result = tfs_database_has_column(db, table, column);

    if (result != 0)
        return result < 0 ? tfs_fail_memory(err) : 0;
    return tfs_fail(err, -ENOTSUP, "is a database, but not %s: its table %s has no column %s", what,
                    table, column);
}

int tfs_database_need_key(struct tfs_database *db, const char *table, const char *columns,
                          bool whole, struct tfs_error *err)
{
    static const char sql[] =
        "SELECT group_concat(name, ' '), min(type LIKE '%int%'), EXISTS (SELECT 1 FROM "
        "pragma_index_list(?1) WHERE \"unique\" AND origin <> 'pk') FROM (SELECT lower(name) AS "
        "name, type FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY 1)";
    sqlite3_stmt *statement = NULL;

    if (tfs_database_prepare(db, sql, &statement, err) < 0)
        return err->code;
    const int bound = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    if (tfs_database_step(db, statement, bound, err) == 1) {
        const char *key = (const char *)sqlite3_column_text(statement, 0);
        if (key == NULL || strcmp(key, columns) != 0 ||
            (whole && sqlite3_column_int(statement, 1) == 0) ||
            sqlite3_column_int(statement, 2) != 0)
            tfs_fail(err, -EBADMSG, "the only key of its table %s must be PRIMARY KEY%s: %s", table,
                     whole ? ", of whole numbers" : "", columns);
    }
    sqlite3_finalize(statement);
    return err->code;
}

/* ---- statements ------------------------------------------------------------------------------ */

int tfs_database_prepare(struct tfs_database *db, const char *sql, sqlite3_stmt **statement,
                         struct tfs_error *err)
{
    int result = SQLITE_OK;

    if (*statement == NULL)
        result =
            sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return result == SQLITE_OK ? 0 : fail(db, result, err);
}

int tfs_database_step(struct tfs_database *db, sqlite3_stmt *statement, int bound,
                      struct tfs_error *err)
{
    int result = bound == SQLITE_OK ? sqlite3_step(statement) : bound;

    if (result != SQLITE_ROW && result != SQLITE_DONE)
        return fail(db, result, err);
    set_held(db, false);
    return result == SQLITE_ROW;
}

/* SQLite looks at a page when it reads it, and keeps a damaged one in its cache as if it were
 * sound: what is damaged once is to be so the next time. */
void tfs_database_reset(sqlite3_stmt *statement)
{
    if ((sqlite3_reset(statement) & 0xff) == SQLITE_CORRUPT)
        sqlite3_db_release_memory(sqlite3_db_handle(statement));
    sqlite3_clear_bindings(statement);
}

int tfs_database_value(sqlite3_stmt *row, int column, struct tfs_blob **value,
                       struct tfs_error *err)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return 0;
    const uint8_t *data = sqlite3_column_blob(row, column);
    int size = sqlite3_column_bytes(row, column);
    if (data == NULL && sqlite3_errcode(sqlite3_db_handle(row)) == SQLITE_NOMEM)
        return tfs_fail_memory(err);
    return tfs_blob_copy((struct tfs_span){data, data == NULL ? 0 : (size_t)size}, value, err);
}

int tfs_database_bind(sqlite3_stmt *statement, int parameter, const struct tfs_blob *value)
{
    if (value == NULL)
        return sqlite3_bind_null(statement, parameter);
    return sqlite3_bind_blob64(statement, parameter,
                               value->size > 0 ? (const void *)value->data : "", value->size,
                               SQLITE_STATIC);
}

/* ---- transactions ---------------------------------------------------------------------------- */

int tfs_database_version(struct tfs_database *db, uint32_t *version, struct tfs_error *err)
{
    if (tfs_database_prepare(db, "PRAGMA data_version", &db->version, err) < 0)
        return err->code;
    if (tfs_database_step(db, db->version, SQLITE_OK, err) == 1)
        *version = (uint32_t)sqlite3_column_int64(db->version, 0);
    tfs_database_reset(db->version);
    return err->code;
}

/* What takes it back is made first: that must not need memory when there is none. */
static int begin(struct tfs_database *db, const char *sql, struct tfs_error *err)
{
    if (tfs_database_prepare(db, "ROLLBACK", &db->rollback, err) < 0)
        return err->code;
    tfs_database_rollback(db);
    return execute(db, sql, err);
}

int tfs_database_snapshot(struct tfs_database *db, struct tfs_error *err)
{
    return begin(db, "BEGIN", err);
}

/* SQLite calls a page that could not be read damaged, too: was it only that? What keeps us from
 * looking, a lock or no memory, is no damage either. */
static int check_sound(struct tfs_database *db, struct tfs_error *err)
{
    sqlite3_stmt *statement = NULL;
    const char *verdict = NULL;
    int result = sqlite3_prepare_v2(db->sqlite, "PRAGMA quick_check(1)", -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        verdict = (const char *)sqlite3_column_text(statement, 0);
    if (result != SQLITE_ROW && code_of(result) != -EBADMSG)
        fail(db, result, err);
    else if (result == SQLITE_ROW && verdict == NULL)
        tfs_fail_memory(err);
    else if (verdict == NULL || strcmp(verdict, "ok") != 0)
        tfs_fail(err, -EBADMSG, "the database is damaged: nothing is written to it");
    sqlite3_finalize(statement);
    return err->code;
}

int tfs_database_begin(struct tfs_database *db, struct tfs_error *err)
{
    /* SQLite names a bad page once and uses it the second time: a row written into one can take its
     * neighbours along. */
    if (db->corrupt && check_sound(db, err) < 0)
        return err->code;
    db->corrupt = false;
    set_held(db, false);
    return begin(db, "BEGIN IMMEDIATE", err);
}

int tfs_database_commit(struct tfs_database *db, struct tfs_error *err)
{
    return execute(db, "COMMIT", err);
}

int tfs_database_touch(struct tfs_database *db, struct tfs_error *err)
{
    sqlite3_stmt *statement = NULL;
    char sql[64];

    if (tfs_database_prepare(db, "PRAGMA user_version", &statement, err) < 0)
        return err->code;
    if (tfs_database_step(db, statement, SQLITE_OK, err) == 1)
        snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", sqlite3_column_int(statement, 0));
    else
        tfs_fail(err, -EIO, "the database: it has no user_version");
    sqlite3_finalize(statement);
    return err->code < 0 ? err->code : execute(db, sql, err);
}

void tfs_database_rollback(struct tfs_database *db)
{
    /* Some failures have ended the transaction already; without the statement none began. */
    if (sqlite3_get_autocommit(db->sqlite) != 0 || db->rollback == NULL)
        return;
    sqlite3_step(db->rollback);
    sqlite3_reset(db->rollback);
}

/* ---- whole databases ------------------------------------------------------------------------- */

/* SQLite's own way: page by page, under its locks, one transaction of the target. */
static int copy_pages(struct tfs_database *db, sqlite3 *to, sqlite3 *from, struct tfs_error *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    int result = SQLITE_NOMEM;

    if (backup != NULL) {
        result = sqlite3_backup_step(backup, -1);
        const int finished = sqlite3_backup_finish(backup);
        result = result == SQLITE_DONE ? finished : result;
    }
    return result == SQLITE_OK ? 0 : fail(db, result, err);
}

int tfs_database_copy(struct tfs_database *db, const char *target, struct tfs_error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
    sqlite3 *other = NULL;
    int result = sqlite3_open_v2(target, &other, flags, NULL);

    if (other == NULL)
        return tfs_fail_memory(err);
    if (result == SQLITE_OK)
        copy_pages(db, other, db->sqlite, err);
    else
        tfs_fail(err, code_of(result), "the copy cannot be made: %s", sqlite3_errmsg(other));
    sqlite3_close(other);
    return err->code;
}

int tfs_database_restore(struct tfs_database *db, struct tfs_database *from, struct tfs_error *err)
{
    return copy_pages(db, db->sqlite, from->sqlite, err);
}
