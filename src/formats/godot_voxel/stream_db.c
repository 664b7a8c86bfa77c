/*
 * A path -> a connection that answers the few questions of stream_db.h.
 *
 * Must not know documents. Triggers and views of the file are switched off, its functions are not
 * trusted, a value longer than any block is never read.
 */
#include "formats/godot_voxel/stream_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "formats/godot_voxel/layout.h"

#define BUSY_MS    200 /* a game holds its locks for moments */
#define SCHEMA_MAX 1
/* The longest value that is read: a block that does not compress at all. */
#define VALUE_MAX ((int)(TFS_GODOT_DATA_MAX + TFS_GODOT_DATA_MAX / 128))

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

/* Who walks through a thousand rows of a database that is held locked waits for one of them. */
static void set_held(struct tfs_godot_db *db, bool held)
{
    if (db->held != held)
        sqlite3_busy_timeout(db->db, held ? 0 : BUSY_MS);
    db->held = held;
}

static int fail(struct tfs_godot_db *db, int result, struct tfs_error *err)
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
                        VALUE_MAX);
    return tfs_fail(err, code, "the database: %s", sqlite3_errmsg(db->db));
}

static int execute(struct tfs_godot_db *db, const char *sql, struct tfs_error *err)
{
    int result = sqlite3_exec(db->db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : fail(db, result, err);
}

/* ---- what SQLite may open -------------------------------------------------------------------- */

/* SQLite's own way to files, for one connection, but for two things.
 *
 * A journal can name a "super-journal", which belongs to a change of several databases at once. To
 * take back such a change SQLite reads that file, and removes it when it knows no other database:
 * whoever makes up a journal can so have any file removed. No engine writes one; nobody opens it.
 *
 * Journal and log are found by the name that the database was opened by. When it was moved away and
 * another one is at that name, they are the other's: played back into ours they would destroy it.
 * They do not exist then. */
struct tfs_godot_guard {
    sqlite3_vfs vfs; /* first */
    const sqlite3_vfs *real;
    char name[32];
    const char *database; /* the name that it was opened by; SQLite's, as long as it is open */
    dev_t device;
    ino_t inode;
};

static bool is_of_journal(int flags)
{
    return (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
}

static bool has_journals_name(const struct tfs_godot_guard *guard, const char *name)
{
    const size_t length = guard->database == NULL ? 0 : strlen(guard->database);

    return length > 0 && strncmp(name, guard->database, length) == 0 &&
           (strcmp(name + length, "-journal") == 0 || strcmp(name + length, "-wal") == 0);
}

/* Is the database still where journal and log are looked for? */
static bool is_in_place(const struct tfs_godot_guard *guard)
{
    struct stat st;

    return guard->database != NULL && lstat(guard->database, &st) == 0 &&
           st.st_dev == guard->device && st.st_ino == guard->inode;
}

static int guarded_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct tfs_godot_guard *guard = (struct tfs_godot_guard *)vfs;
    struct stat st;

    if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0 || (is_of_journal(flags) && !is_in_place(guard))) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    int result = guard->real->xOpen(vfs, name, file, flags, out);
    if (result == SQLITE_OK && (flags & SQLITE_OPEN_MAIN_DB) != 0 && lstat(name, &st) == 0) {
        guard->database = name;
        guard->device = st.st_dev;
        guard->inode = st.st_ino;
    }
    return result;
}

static int guarded_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    const struct tfs_godot_guard *guard = (const struct tfs_godot_guard *)vfs;

    if (has_journals_name(guard, name) && !is_in_place(guard)) {
        *out = 0;
        return SQLITE_OK;
    }
    return guard->real->xAccess(vfs, name, flags, out);
}

static struct tfs_godot_guard *guard_create(void)
{
    const sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    struct tfs_godot_guard *guard = calloc(1, sizeof(*guard));

    if (real == NULL || guard == NULL) {
        free(guard);
        return NULL;
    }
    snprintf(guard->name, sizeof(guard->name), "terrainfs-%p", (void *)guard);
    guard->vfs = *real;
    guard->vfs.zName = guard->name;
    guard->vfs.pNext = NULL;
    guard->vfs.xOpen = guarded_open;
    guard->vfs.xAccess = guarded_access;
    guard->real = real;
    sqlite3_vfs_register(&guard->vfs, 0);
    return guard;
}

static void guard_free(struct tfs_godot_guard *guard)
{
    if (guard != NULL)
        sqlite3_vfs_unregister(&guard->vfs);
    free(guard);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int harden(struct tfs_godot_db *db, struct tfs_error *err)
{
    static const int switches[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
    };

    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (sqlite3_db_config(db->db, switches[i][0], switches[i][1], NULL) != SQLITE_OK)
            return tfs_fail(err, -EIO, "this SQLite cannot be kept from trusting a database");
    sqlite3_limit(db->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    sqlite3_limit(db->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(db->db, BUSY_MS);
    /* EXTRA: a commit is on disk even if the power fails at the next moment. */
    return execute(db,
                   "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA synchronous=EXTRA; "
                   "PRAGMA foreign_keys=OFF",
                   err);
}

/* Is there a table of that name, and no view or virtual table? Asking also reads the schema. */
static int check_table(struct tfs_godot_db *db, const char *name, struct tfs_error *err)
{
    static const char sql[] = "SELECT rootpage > 0 AND type = 'table' FROM sqlite_master "
                              "WHERE name = ?1 AND type <> 'index' AND type <> 'trigger'";
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db->db, sql, -1, &statement, NULL);

    if (result == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        result = sqlite3_step(statement);
    }
    if (result != SQLITE_ROW && result != SQLITE_DONE)
        fail(db, result, err);
    else if (result == SQLITE_DONE || sqlite3_column_int(statement, 0) != 1)
        tfs_fail(err, -EBADMSG,
                 "is a database, but not a stream of Voxel Tools: it has no table %s", name);
    sqlite3_finalize(statement);
    return err->code;
}

/* Is there such a column? *primary: it is the primary key. */
static bool has_column(struct tfs_godot_db *db, const char *table, const char *name, bool *primary)
{
    int key = 0;

    if (sqlite3_table_column_metadata(db->db, "main", table, name, NULL, NULL, NULL, &key, NULL) !=
        SQLITE_OK)
        return false;
    if (primary != NULL)
        *primary = key != 0;
    return true;
}

static int check_columns(struct tfs_godot_db *db, struct tfs_error *err)
{
    static const char *const columns[][2] = {{"meta", "version"},
                                             {"meta", "block_size_po2"},
                                             {"blocks", "loc"},
                                             {"blocks", "vb"},
                                             {"blocks", "instances"}};
    bool primary = false;

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (!has_column(db, columns[i][0], columns[i][1], NULL))
            return tfs_fail(err, -EBADMSG,
                            "is a database, but not a stream of Voxel Tools: its table %s has no "
                            "column %s",
                            columns[i][0], columns[i][1]);
    has_column(db, "blocks", "loc", &primary);
    if (!primary)
        return tfs_fail(err, -EBADMSG, "its table blocks has another primary key than loc");
    return 0;
}

static int take_meta(struct tfs_godot_db *db, sqlite3_stmt *statement, struct tfs_error *err)
{
    int64_t version = sqlite3_column_int64(statement, 0);
    int64_t po2 = sqlite3_column_int64(statement, 1);
    int64_t format = sqlite3_column_int64(statement, 2);

    if (sqlite3_column_type(statement, 0) != SQLITE_INTEGER || version < 0)
        return tfs_fail(err, -EBADMSG, "its table meta has no number as version");
    if (version > SCHEMA_MAX)
        return tfs_fail(err, -ENOTSUP, "schema version %lld is not supported, only 0 and %d",
                        (long long)version, SCHEMA_MAX);
    if (sqlite3_column_type(statement, 1) != SQLITE_INTEGER || po2 < TFS_GODOT_PO2_MIN ||
        po2 > TFS_GODOT_PO2_MAX)
        return tfs_fail(err, -EBADMSG, "its block_size_po2 is not a number from %d to %d",
                        TFS_GODOT_PO2_MIN, TFS_GODOT_PO2_MAX);
    /* Without a column, or with NULL in it, these are 0. */
    if (format < 0 || format >= TFS_GODOT_KEY_FORMATS || (version == 0 && format != 0))
        return tfs_fail(err, -ENOTSUP, "coordinate_format %lld of its keys is not supported",
                        (long long)format);
    db->schema = (uint32_t)version;
    db->po2 = (uint8_t)po2;
    db->format = (enum tfs_godot_key_format)format;
    return 0;
}

int tfs_godot_db_meta(struct tfs_godot_db *db, struct tfs_error *err)
{
    const char *sql = has_column(db, "meta", "coordinate_format", NULL)
                          ? "SELECT version, block_size_po2, coordinate_format FROM meta"
                          : "SELECT version, block_size_po2, 0 FROM meta";
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db->db, sql, -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_DONE)
        tfs_fail(err, -EBADMSG, "its table meta is empty");
    else if (result != SQLITE_ROW)
        fail(db, result, err);
    else if (take_meta(db, statement, err) == 0 && sqlite3_step(statement) == SQLITE_ROW)
        tfs_fail(err, -EBADMSG, "its table meta has more than one row");
    sqlite3_finalize(statement);
    return err->code;
}

static int open_once(const char *path, bool writable, struct tfs_godot_db *db,
                     struct tfs_error *err)
{
    const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOFOLLOW |
                      SQLITE_OPEN_EXRESCODE |
                      (writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    struct tfs_godot_db opened = {.guard = guard_create()};
    int result = opened.guard == NULL
                     ? SQLITE_NOMEM
                     : sqlite3_open_v2(path, &opened.db, flags, opened.guard->name);

    if (opened.db == NULL)
        tfs_fail_memory(err);
    else if (result != SQLITE_OK)
        fail(&opened, result, err);
    else if (harden(&opened, err) == 0 && check_table(&opened, "meta", err) == 0 &&
             check_table(&opened, "blocks", err) == 0 &&
             check_table(&opened, "channels", err) == 0 && check_columns(&opened, err) == 0)
        tfs_godot_db_meta(&opened, err);
    if (err->code < 0)
        tfs_godot_db_close(&opened);
    else
        *db = opened;
    return err->code;
}

/* What a killed program left half done can only be read once SQLite has taken it back, or carried
 * it over from the log: as every reader of such a database does, whoever wants to read it opens it
 * once for writing. Whether that is allowed, and that nobody is still at it, is SQLite's to find
 * out. */
int tfs_godot_db_open(const char *path, bool writable, struct tfs_godot_db *db,
                      struct tfs_error *err)
{
    struct tfs_godot_db settled = {0};
    struct tfs_error why = {0}, ignored = {0};

    if (open_once(path, writable, db, &why) == -EROFS && !writable &&
        open_once(path, true, &settled, &ignored) == 0) {
        tfs_godot_db_close(&settled);
        return open_once(path, false, db, err);
    }
    return why.code < 0 ? tfs_fail(err, why.code, "%s", why.text) : 0;
}

void tfs_godot_db_close(struct tfs_godot_db *db)
{
    for (unsigned i = 0; i < TFS_GODOT_SQL_STATEMENTS; i++)
        sqlite3_finalize(db->statements[i]);
    sqlite3_close(db->db);
    guard_free(db->guard);
    *db = (struct tfs_godot_db){0};
}

bool tfs_godot_db_moved(const struct tfs_godot_db *db)
{
    int moved = 1;

    sqlite3_file_control(db->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

/* ---- statements ------------------------------------------------------------------------------ */

static const char *const sql_of[TFS_GODOT_SQL_STATEMENTS] = {
    [TFS_GODOT_SQL_VERSION] = "PRAGMA data_version",
    [TFS_GODOT_SQL_FETCH] = "SELECT vb, instances FROM blocks WHERE loc = ?1",
    [TFS_GODOT_SQL_PUT_BLOCK] = "INSERT INTO blocks (loc, vb) VALUES (?1, ?2) "
                                "ON CONFLICT (loc) DO UPDATE SET vb = excluded.vb",
    [TFS_GODOT_SQL_PUT_EXTRA] = "INSERT INTO blocks (loc, instances) VALUES (?1, ?2) "
                                "ON CONFLICT (loc) DO UPDATE SET instances = excluded.instances",
    [TFS_GODOT_SQL_DELETE] = "DELETE FROM blocks WHERE loc = ?1",
    [TFS_GODOT_SQL_ROLLBACK] = "ROLLBACK",
};

/* NULL: it cannot be made, and `err` says why. */
static sqlite3_stmt *prepare(struct tfs_godot_db *db, enum tfs_godot_statement which,
                             struct tfs_error *err)
{
    int result = SQLITE_OK;

    if (db->statements[which] == NULL)
        result = sqlite3_prepare_v3(db->db, sql_of[which], -1, SQLITE_PREPARE_PERSISTENT,
                                    &db->statements[which], NULL);
    if (result != SQLITE_OK)
        fail(db, result, err);
    return db->statements[which];
}

/* Makes the statement ready for another run; what it held is let go. */
static void reset(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static int bind_key(struct tfs_godot_db *db, sqlite3_stmt *statement, struct tfs_key key)
{
    struct tfs_godot_loc loc;

    tfs_godot_key_encode(db->format, key, &loc);
    if (db->format == TFS_GODOT_KEY_TEXT)
        return sqlite3_bind_text(statement, 1, (const char *)loc.bytes, (int)loc.size,
                                 SQLITE_TRANSIENT);
    if (db->format == TFS_GODOT_KEY_BLOB)
        return sqlite3_bind_blob(statement, 1, loc.bytes, (int)loc.size, SQLITE_TRANSIENT);
    return sqlite3_bind_int64(statement, 1, loc.number);
}

int tfs_godot_db_version(struct tfs_godot_db *db, uint32_t *version, struct tfs_error *err)
{
    sqlite3_stmt *statement = prepare(db, TFS_GODOT_SQL_VERSION, err);

    if (statement == NULL)
        return err->code;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *version = (uint32_t)sqlite3_column_int64(statement, 0);
    else
        fail(db, result, err);
    set_held(db, err->code == -EBUSY);
    reset(statement);
    return err->code;
}

/* ---- all keys -------------------------------------------------------------------------------- */

struct key_list {
    struct tfs_key *keys;
    size_t count, others;
};

/* The type in which each format is stored; anything else is no key. */
static int type_of(enum tfs_godot_key_format format)
{
    return format == TFS_GODOT_KEY_TEXT   ? SQLITE_TEXT
           : format == TFS_GODOT_KEY_BLOB ? SQLITE_BLOB
                                          : SQLITE_INTEGER;
}

static int add_key(struct tfs_godot_db *db, sqlite3_stmt *statement, struct key_list *list,
                   struct tfs_error *err)
{
    struct tfs_span bytes = {0};
    struct tfs_key key;

    struct tfs_key *keys = tfs_array_grow(list->keys, list->count, sizeof(*keys));
    if (keys == NULL)
        return tfs_fail_memory(err);
    list->keys = keys;
    bool good = sqlite3_column_type(statement, 0) == type_of(db->format);
    if (good && type_of(db->format) != SQLITE_INTEGER) {
        bytes.data = db->format == TFS_GODOT_KEY_TEXT ? sqlite3_column_text(statement, 0)
                                                      : sqlite3_column_blob(statement, 0);
        bytes.size = (size_t)sqlite3_column_bytes(statement, 0);
    }
    int64_t number = type_of(db->format) == SQLITE_INTEGER ? sqlite3_column_int64(statement, 0) : 0;
    if (good && tfs_godot_key_decode(db->format, number, bytes, &key))
        list->keys[list->count++] = key;
    else
        list->others++;
    return 0;
}

static int read_keys(struct tfs_godot_db *db, struct key_list *list, struct tfs_error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db->db, "SELECT loc FROM blocks", -1, &statement, NULL);

    if (result == SQLITE_OK)
        while ((result = sqlite3_step(statement)) == SQLITE_ROW)
            if (add_key(db, statement, list, err) < 0)
                break;
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        fail(db, result, err);
    sqlite3_finalize(statement);
    return err->code;
}

int tfs_godot_db_keys(struct tfs_godot_db *db, struct tfs_key **keys, size_t *count, size_t *others,
                      struct tfs_error *err)
{
    struct key_list list = {0};

    if (read_keys(db, &list, err) < 0) {
        free(list.keys);
        return err->code;
    }
    *keys = list.keys;
    *count = list.count;
    *others = list.others;
    return 0;
}

/* ---- one row --------------------------------------------------------------------------------- */

void tfs_godot_row_release(struct tfs_godot_row *row)
{
    tfs_blob_unref(row->block);
    tfs_blob_unref(row->extra);
    *row = (struct tfs_godot_row){0};
}

/* A value of another type than the engine writes is its bytes all the same. */
static int take_value(sqlite3_stmt *statement, int column, struct tfs_blob **value,
                      struct tfs_error *err)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return 0;
    const uint8_t *data = sqlite3_column_blob(statement, column);
    int size = sqlite3_column_bytes(statement, column);
    return tfs_blob_copy((struct tfs_span){data, data == NULL ? 0 : (size_t)size}, value, err);
}

int tfs_godot_db_fetch(struct tfs_godot_db *db, struct tfs_key key, struct tfs_godot_row *row,
                       struct tfs_error *err)
{
    struct tfs_godot_row found = {0};
    sqlite3_stmt *statement = prepare(db, TFS_GODOT_SQL_FETCH, err);

    if (statement == NULL)
        return err->code;
    int result = bind_key(db, statement, key);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    found.found = result == SQLITE_ROW;
    if (found.found) {
        if (take_value(statement, 0, &found.block, err) == 0)
            take_value(statement, 1, &found.extra, err);
    } else if (result != SQLITE_DONE) {
        fail(db, result, err);
    }
    set_held(db, err->code == -EBUSY);
    reset(statement);
    if (err->code < 0)
        tfs_godot_row_release(&found);
    else
        *row = found;
    return err->code;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* What takes it back is made first: that must not need memory when there is none. */
static int begin(struct tfs_godot_db *db, const char *sql, struct tfs_error *err)
{
    if (prepare(db, TFS_GODOT_SQL_ROLLBACK, err) == NULL)
        return err->code;
    tfs_godot_db_rollback(db);
    return execute(db, sql, err);
}

int tfs_godot_db_snapshot(struct tfs_godot_db *db, struct tfs_error *err)
{
    return begin(db, "BEGIN", err);
}

/* SQLite calls a page that could not be read damaged, too: was it only that? What keeps us from
 * looking, a lock or no memory, is no damage either. */
static int check_sound(struct tfs_godot_db *db, struct tfs_error *err)
{
    sqlite3_stmt *statement = NULL;
    const char *verdict = NULL;
    int result = sqlite3_prepare_v2(db->db, "PRAGMA quick_check(1)", -1, &statement, NULL);

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

int tfs_godot_db_begin(struct tfs_godot_db *db, struct tfs_error *err)
{
    /* SQLite names a bad page once and uses it the second time: a row written into one can take its
     * neighbours along. */
    if (db->corrupt && check_sound(db, err) < 0)
        return err->code;
    db->corrupt = false;
    set_held(db, false);
    return begin(db, "BEGIN IMMEDIATE", err);
}

int tfs_godot_db_commit(struct tfs_godot_db *db, struct tfs_error *err)
{
    return execute(db, "COMMIT", err);
}

int tfs_godot_db_touch(struct tfs_godot_db *db, struct tfs_error *err)
{
    sqlite3_stmt *statement = NULL;
    char sql[64];
    int result = sqlite3_prepare_v2(db->db, "PRAGMA user_version", -1, &statement, NULL);

    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", sqlite3_column_int(statement, 0));
    else
        fail(db, result, err);
    sqlite3_finalize(statement);
    return err->code < 0 ? err->code : execute(db, sql, err);
}

void tfs_godot_db_rollback(struct tfs_godot_db *db)
{
    sqlite3_stmt *statement = db->statements[TFS_GODOT_SQL_ROLLBACK];

    /* Some failures have ended the transaction already; without the statement none began. */
    if (sqlite3_get_autocommit(db->db) != 0 || statement == NULL)
        return;
    sqlite3_step(statement);
    sqlite3_reset(statement);
}

/* Runs a statement that gives no row. */
static int run(struct tfs_godot_db *db, sqlite3_stmt *statement, int bound, struct tfs_error *err)
{
    int result = bound == SQLITE_OK ? sqlite3_step(statement) : bound;

    if (result != SQLITE_DONE)
        fail(db, result, err);
    reset(statement);
    return err->code;
}

int tfs_godot_db_put(struct tfs_godot_db *db, enum tfs_godot_statement column, struct tfs_key key,
                     const struct tfs_blob *value, struct tfs_error *err)
{
    sqlite3_stmt *statement = prepare(db, column, err);

    if (statement == NULL)
        return err->code;
    int result = bind_key(db, statement, key);
    if (result == SQLITE_OK && value != NULL)
        result = sqlite3_bind_blob64(statement, 2, value->size > 0 ? (const void *)value->data : "",
                                     value->size, SQLITE_STATIC);
    return run(db, statement, result, err);
}

int tfs_godot_db_delete(struct tfs_godot_db *db, struct tfs_key key, struct tfs_error *err)
{
    sqlite3_stmt *statement = prepare(db, TFS_GODOT_SQL_DELETE, err);

    if (statement == NULL)
        return err->code;
    return run(db, statement, bind_key(db, statement, key), err);
}
