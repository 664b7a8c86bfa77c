/*
 * A save of rows for tests: a database with the tables of a game that nobody plays, opened by this
 * program and by another one.
 */
#ifndef TFS_TESTS_ROWS_CASE_H
#define TFS_TESTS_ROWS_CASE_H

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "formats/cells/cells.h"
#include "formats/containers/database/rows_state.h"
#include "scratch.h"

#define PACKED "CREATE TABLE tiles (pos INTEGER PRIMARY KEY, data BLOB);"
#define WIDE   "CREATE TABLE tiles (x INT, z INT, data BLOB, note BLOB, PRIMARY KEY (x, z));"
/* The chunks -1_0_0 "left", 0_0_0 "middle" and 1_0_2 "right". */
#define PACKED_ROWS "INSERT INTO tiles VALUES (135, 'left'), (136, 'middle'), (169, 'right');"
#define WIDE_ROWS                                                                                  \
    "INSERT INTO tiles VALUES (-1, 0, 'left', 'l'), (0, 0, 'middle', NULL), (1, 2, 'right', 'r');"

static const struct tfs_key left = {0, -1, 0, 0}, middle = {0, 0, 0, 0}, right = {0, 1, 0, 2},
                            fresh = {0, 3, 0, 4};

/* ---- the game -------------------------------------------------------------------------------- */

static inline bool is_wide(const struct tfs_rows_layout *layout)
{
    return layout->number[0] != 0;
}

static inline int look(struct tfs_database *db, struct tfs_rows_layout *layout,
                       struct tfs_error *err)
{
    if (tfs_database_need_table(db, "a toy", "tiles", err) < 0 ||
        tfs_database_need_column(db, "a toy", "tiles", "data", err) < 0)
        return err->code;
    layout->number[0] = tfs_database_has_column(db, "tiles", "z");
    return 0;
}

static inline const char *sql(const struct tfs_rows_layout *layout, enum tfs_rows_statement which)
{
    static const char *const packed[TFS_ROWS_STATEMENTS] = {
        [TFS_ROWS_KEYS] = "SELECT pos FROM tiles",
        [TFS_ROWS_FETCH] = "SELECT data FROM tiles WHERE pos = ?1",
        [TFS_ROWS_PUT] = "INSERT INTO tiles (pos, data) VALUES (?1, ?2) "
                         "ON CONFLICT DO UPDATE SET data = excluded.data",
        [TFS_ROWS_REMOVE] = "DELETE FROM tiles WHERE pos = ?1",
    };
    static const char *const wide[TFS_ROWS_STATEMENTS] = {
        [TFS_ROWS_KEYS] = "SELECT x, z FROM tiles",
        [TFS_ROWS_FETCH] = "SELECT data, note FROM tiles WHERE x = ?1 AND z = ?2",
        [TFS_ROWS_PUT] = "INSERT INTO tiles (x, z, data) VALUES (?1, ?2, ?3) "
                         "ON CONFLICT DO UPDATE SET data = excluded.data",
        [TFS_ROWS_PUT_EXTRA] = "INSERT INTO tiles (x, z, note) VALUES (?1, ?2, ?3) "
                               "ON CONFLICT DO UPDATE SET note = excluded.note",
        [TFS_ROWS_REMOVE] = "DELETE FROM tiles WHERE x = ?1 AND z = ?2",
    };

    return is_wide(layout) ? wide[which] : packed[which];
}

static inline bool take_key(const struct tfs_rows_layout *layout, sqlite3_stmt *row,
                            struct tfs_key *key)
{
    int64_t first = sqlite3_column_int64(row, 0);

    if (sqlite3_column_type(row, 0) != SQLITE_INTEGER)
        return false;
    if (is_wide(layout))
        *key = (struct tfs_key){0, (int32_t)first, 0, sqlite3_column_int(row, 1)};
    else
        *key = (struct tfs_key){0, (int32_t)(first % 16 - 8), 0, (int32_t)(first / 16 - 8)};
    return is_wide(layout) || (first >= 0 && first < 256);
}

static inline int bind_key(const struct tfs_rows_layout *layout, sqlite3_stmt *statement,
                           struct tfs_key key, int *count)
{
    *count = is_wide(layout) ? 2 : 1;
    if (!is_wide(layout))
        return sqlite3_bind_int64(statement, 1, (key.z + 8) * 16 + key.x + 8);
    int result = sqlite3_bind_int64(statement, 1, key.x);
    return result == SQLITE_OK ? sqlite3_bind_int64(statement, 2, key.z) : result;
}

static inline int make_facts(const struct tfs_rows_layout *layout, struct tfs_facts **facts,
                             struct tfs_error *err)
{
    (void)layout;
    return tfs_facts_create(0, facts, err);
}

static const struct tfs_rows_schema schema = {.value_max = 1000,
                                              .look = look,
                                              .sql = sql,
                                              .key = take_key,
                                              .bind = bind_key,
                                              .facts = make_facts};

static inline int toy_probe(const struct tfs_probe *probe)
{
    return tfs_rows_has_column(probe, "tiles", "data") ? TFS_BID_FULL : TFS_BID_NONE;
}

static inline int other_probe(const struct tfs_probe *probe)
{
    return tfs_rows_magic(probe) ? TFS_BID_LOW : TFS_BID_NONE;
}

static inline int toy_open(struct tfs_save *save, struct tfs_error *err)
{
    return tfs_rows_open(save, &schema, err);
}

/* What begins with `!` is no tile. */
static inline int toy_decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    const struct tfs_span stored = tfs_blob_span(cells->stored);

    (void)wanted;
    return stored.size > 0 && stored.data[0] == '!' ? tfs_fail(err, -EBADMSG, "this is no tile")
                                                    : 0;
}

static const struct tfs_cells_kind toy_cells = {.decode = toy_decode};
static const struct tfs_tree toy_tree = {.cells = &toy_cells};

#define TOY(name_, probe_)                                                                         \
    {                                                                                              \
        .format = "toy", .name = name_, .tree = &toy_tree, .probe = probe_, .open = toy_open,      \
        .fetch = tfs_rows_fetch, .commit = tfs_rows_commit, .changed = tfs_rows_changed,           \
        .reload = tfs_rows_reload, .close = tfs_rows_close                                         \
    }

static const struct tfs_container toy = TOY("toy", toy_probe), rest = TOY("rest", other_probe);

/* Instead of those of the program: the linker takes no other when there is this one. */
const struct tfs_container *const tfs_containers[] = {&toy, &rest, NULL};
const struct tfs_ending tfs_endings[] = {{NULL, NULL}};

/* ---- this program and another ---------------------------------------------------------------- */

static struct tfs_save *save;
static struct tfs_error err;
static sqlite3 *other; /* the other program's connection */

static inline const char *db_path(void)
{
    return scratch_path("world");
}

static inline void run(const char *text)
{
    char *why = NULL;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(other, text, NULL, NULL, &why) == SQLITE_OK, "%s: %s", text, why);
}

static inline void run_and_close(const char *text)
{
    run(text);
    ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
    other = NULL;
}

/* The first value that a query gives, as text; good until the next call. */
static inline const char *ask(const char *query)
{
    static char answer[64];
    sqlite3_stmt *statement;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(other, query, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    const unsigned char *text = sqlite3_column_text(statement, 0);
    snprintf(answer, sizeof(answer), "%s", text == NULL ? "NULL" : (const char *)text);
    sqlite3_finalize(statement);
    return answer;
}

static bool aside; /* documents hold no bytes of edits */

static inline int try_open(enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock, .memory = aside};

    tfs_error_reset(&err);
    return tfs_save_open(db_path(), NULL, &options, &save, &err);
}

static inline void must_open(void)
{
    ck_assert_msg(try_open(TFS_LOCK_EXCLUSIVE) == 0, "%s", err.text);
}

static inline void close_save(void)
{
    tfs_save_close(save);
    save = NULL;
}

static inline void teardown(void)
{
    sqlite3_close(other);
    other = NULL;
    close_save();
    aside = false;
    scratch_teardown();
}

static inline void setup(void)
{
    scratch_setup();
    tfs_error_reset(&err);
}

static inline void setup_aside(void)
{
    setup();
    aside = true;
}

static inline sqlite3 *ours(void)
{
    return ((struct tfs_rows *)save->own)->source.db.sqlite;
}

/* The value of a chunk of the saved document as text: "-" where it is not there, "NULL". */
static inline const char *value(struct tfs_key key, bool extra)
{
    static char text[2][64];
    const struct tfs_chunk *chunk = tfs_doc_find(save->doc, key);
    char *out = text[extra];

    if (chunk == NULL)
        return "-";
    tfs_error_reset(&err);
    struct tfs_chunk copy = *chunk;
    tfs_blob_ref(copy.blob);
    tfs_blob_ref(copy.extra);
    ck_assert_msg(tfs_chunks_fetch(save, &copy, 1, &err) == 1, "%s", err.text);
    const struct tfs_blob *found = extra ? copy.extra : copy.blob;
    if (found == NULL)
        snprintf(out, sizeof(text[0]), "NULL");
    else
        snprintf(out, sizeof(text[0]), "%.*s", (int)found->size, (const char *)found->data);
    tfs_blob_unref(copy.blob);
    tfs_blob_unref(copy.extra);
    return out;
}

struct change {
    struct tfs_key key;
    const char *data, *note; /* NULL: stays as it is; both: the row goes */
};

/* `base` with these changes. */
static inline struct tfs_doc *changed(struct tfs_doc *base, const struct change *changes,
                                      size_t count)
{
    struct tfs_edit edit;

    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_edit_open(base, &edit, &err), 0);
    for (size_t i = 0; i < count; i++) {
        const struct tfs_chunk *old = tfs_doc_find(base, changes[i].key);
        struct tfs_chunk chunk = {.key = changes[i].key, .slot = TFS_SLOT_NONE};
        struct tfs_blob *note = NULL;
        if (old != NULL)
            chunk = *old;
        if (changes[i].data == NULL && changes[i].note == NULL) {
            ck_assert_int_eq(tfs_edit_remove(&edit, changes[i].key, &err), 0);
            continue;
        }
        if (changes[i].data != NULL) {
            ck_assert_int_eq(tfs_rows_keep(save, &chunk, tfs_span_of(changes[i].data), &err), 0);
        } else {
            tfs_blob_ref(chunk.blob);
        }
        if (changes[i].note != NULL) {
            ck_assert_int_eq(tfs_blob_copy(tfs_span_of(changes[i].note), &note, &err), 0);
            chunk.extra = note;
            chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD_EXTRA;
        }
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
        tfs_blob_unref(chunk.blob);
        tfs_blob_unref(note);
    }
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return doc;
}

static inline int commit(const struct change *changes, size_t count)
{
    struct tfs_doc *doc = changed(save->doc, changes, count);
    int result = save->container->commit(save, doc, &err);

    tfs_doc_unref(doc);
    return result;
}

#define COMMIT(...)                                                                                \
    commit((const struct change[]){__VA_ARGS__},                                                   \
           sizeof((const struct change[]){__VA_ARGS__}) / sizeof(struct change))

static inline void reload(void)
{
    tfs_error_reset(&err);
    ck_assert_msg(tfs_rows_reload(save, &err) == 0, "%s", err.text);
}

#endif
