/*
 * The tables of a stream (FORMAT.md, section 7) -> what formats/containers/database/rows.h asks
 * about them.
 *
 * Must not know what blocks hold, nor how rows are fetched and changed.
 */
#include <errno.h>

#include "base/hash.h"
#include "formats/containers/database/rows.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/layout.h"
#include "formats/godot_voxel/stream_key.h"
#include "formats/godot_voxel/counts.h"
#include "formats/views/info.h"

#define SCHEMA_MAX 1
/* The longest value that is read: a block that does not compress at all. */
#define VALUE_MAX ((int)(TFS_GODOT_DATA_MAX + TFS_GODOT_DATA_MAX / 128))

static const char what[] = "a stream of Voxel Tools";

/* ---- the layout: the row of meta ------------------------------------------------------------- */

enum { NUMBER_SCHEMA, NUMBER_FORMAT, NUMBER_PO2 };

static enum tfs_godot_key_format format_of(const struct tfs_rows_layout *layout)
{
    return (enum tfs_godot_key_format)layout->number[NUMBER_FORMAT];
}

static int check_columns(struct tfs_database *db, struct tfs_error *err)
{
    static const char *const columns[][2] = {{"meta", "version"},
                                             {"meta", "block_size_po2"},
                                             {"blocks", "loc"},
                                             {"blocks", "vb"},
                                             {"blocks", "instances"}};

    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (tfs_database_need_column(db, what, columns[i][0], columns[i][1], err) < 0)
            return err->code;
    return tfs_database_need_key(db, "blocks", "loc", false, err);
}

static int take_meta(sqlite3_stmt *row, struct tfs_rows_layout *layout, struct tfs_error *err)
{
    int64_t version = sqlite3_column_int64(row, 0);
    int64_t po2 = sqlite3_column_int64(row, 1);
    int64_t format = sqlite3_column_int64(row, 2);

    if (sqlite3_column_type(row, 0) != SQLITE_INTEGER || version < 0)
        return tfs_fail(err, -EBADMSG, "its table meta has no number as version");
    if (version > SCHEMA_MAX)
        return tfs_fail(err, -ENOTSUP, "schema version %lld is not supported, only 0 and %d",
                        (long long)version, SCHEMA_MAX);
    if (sqlite3_column_type(row, 1) != SQLITE_INTEGER || po2 < TFS_GODOT_PO2_MIN ||
        po2 > TFS_GODOT_PO2_MAX)
        return tfs_fail(err, -EBADMSG, "its block_size_po2 is not a number from %d to %d",
                        TFS_GODOT_PO2_MIN, TFS_GODOT_PO2_MAX);
    /* Without a column, or with NULL in it, these are 0. */
    if (format < 0 || format >= TFS_GODOT_KEY_FORMATS || (version == 0 && format != 0))
        return tfs_fail(err, -ENOTSUP, "coordinate_format %lld of its keys is not supported",
                        (long long)format);
    layout->number[NUMBER_SCHEMA] = version;
    layout->number[NUMBER_FORMAT] = format;
    layout->number[NUMBER_PO2] = po2;
    return 0;
}

static int read_meta(struct tfs_database *db, struct tfs_rows_layout *layout, struct tfs_error *err)
{
    const int there = tfs_database_has_column(db, "meta", "coordinate_format");
    const char *sql = there == 1 ? "SELECT version, block_size_po2, coordinate_format FROM meta"
                                 : "SELECT version, block_size_po2, 0 FROM meta";
    sqlite3_stmt *statement = NULL;

    if (there < 0)
        return tfs_fail_memory(err);
    if (tfs_database_prepare(db, sql, &statement, err) < 0)
        return err->code;
    int result = tfs_database_step(db, statement, SQLITE_OK, err);
    if (result == 0)
        tfs_fail(err, -EBADMSG, "its table meta is empty");
    else if (result > 0 && take_meta(statement, layout, err) == 0 &&
             tfs_database_step(db, statement, SQLITE_OK, err) == 1)
        tfs_fail(err, -EBADMSG, "its table meta has more than one row");
    sqlite3_finalize(statement);
    return err->code;
}

static int look(struct tfs_database *db, struct tfs_rows_layout *layout, struct tfs_error *err)
{
    if (tfs_database_need_table(db, what, "meta", err) == 0 &&
        tfs_database_need_table(db, what, "blocks", err) == 0 &&
        tfs_database_need_table(db, what, "channels", err) == 0 && check_columns(db, err) == 0)
        read_meta(db, layout, err);
    return err->code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *sql(const struct tfs_rows_layout *layout, enum tfs_rows_statement which)
{
    static const char *const statements[TFS_ROWS_STATEMENTS] = {
        [TFS_ROWS_KEYS] = "SELECT loc FROM blocks",
        [TFS_ROWS_FETCH] = "SELECT vb, instances FROM blocks WHERE loc = ?1",
        [TFS_ROWS_PUT] = "INSERT INTO blocks (loc, vb) VALUES (?1, ?2) "
                         "ON CONFLICT (loc) DO UPDATE SET vb = excluded.vb",
        [TFS_ROWS_PUT_EXTRA] = "INSERT INTO blocks (loc, instances) VALUES (?1, ?2) "
                               "ON CONFLICT (loc) DO UPDATE SET instances = excluded.instances",
        [TFS_ROWS_REMOVE] = "DELETE FROM blocks WHERE loc = ?1",
    };

    (void)layout;
    return statements[which];
}

/* The type in which each format is stored; anything else is no key. */
static int type_of(enum tfs_godot_key_format format)
{
    return format == TFS_GODOT_KEY_TEXT   ? SQLITE_TEXT
           : format == TFS_GODOT_KEY_BLOB ? SQLITE_BLOB
                                          : SQLITE_INTEGER;
}

static bool take_key(const struct tfs_rows_layout *layout, sqlite3_stmt *row, struct tfs_key *key)
{
    const enum tfs_godot_key_format format = format_of(layout);
    struct tfs_span bytes = {0};
    int64_t number = 0;

    if (sqlite3_column_type(row, 0) != type_of(format))
        return false;
    if (type_of(format) == SQLITE_INTEGER) {
        number = sqlite3_column_int64(row, 0);
    } else {
        bytes.data = format == TFS_GODOT_KEY_TEXT ? sqlite3_column_text(row, 0)
                                                  : sqlite3_column_blob(row, 0);
        bytes.size = (size_t)sqlite3_column_bytes(row, 0);
    }
    return tfs_godot_key_decode(format, number, bytes, key);
}

static int bind_key(const struct tfs_rows_layout *layout, sqlite3_stmt *statement,
                    struct tfs_key key, int *count)
{
    const enum tfs_godot_key_format format = format_of(layout);
    struct tfs_godot_loc loc;

    *count = 1;
    tfs_godot_key_encode(format, key, &loc);
    if (format == TFS_GODOT_KEY_TEXT)
        return sqlite3_bind_text(statement, 1, (const char *)loc.bytes, (int)loc.size,
                                 SQLITE_TRANSIENT);
    if (format == TFS_GODOT_KEY_BLOB)
        return sqlite3_bind_blob(statement, 1, loc.bytes, (int)loc.size, SQLITE_TRANSIENT);
    return sqlite3_bind_int64(statement, 1, loc.number);
}

/* ---- facts ----------------------------------------------------------------------------------- */

struct stream_facts {
    struct tfs_godot_rules rules; /* first */
    struct tfs_rows_layout layout;
};

static struct stream_facts *facts_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static void describe(const struct tfs_doc *doc, struct tfs_buf *out)
{
    const struct stream_facts *facts = facts_of(doc->facts);

    tfs_info_line(out, "schema version", "%d", (int)facts->layout.number[NUMBER_SCHEMA]);
    tfs_info_line(out, "key format", "%s", tfs_godot_key_format_name(format_of(&facts->layout)));
    tfs_info_line(out, "coordinates", "%d to %d", facts->rules.low[0], facts->rules.high[0]);
}

static int make_facts(const struct tfs_rows_layout *layout, struct tfs_facts **facts,
                      struct tfs_error *err)
{
    int32_t low, high;

    if (tfs_facts_create(sizeof(struct stream_facts), facts, err) < 0)
        return err->code;
    struct stream_facts *own = facts_of(*facts);
    tfs_godot_key_bounds(format_of(layout), &low, &high);
    *own = (struct stream_facts){.rules = {.container = "this database",
                                           .cubed = true,
                                           .po2 = (uint8_t)layout->number[NUMBER_PO2],
                                           .cased = true,
                                           .low = {low, low, low},
                                           .high = {high, high, high},
                                           .lods = TFS_GODOT_LODS,
                                           .describe = describe},
                                 .layout = *layout};
    return 0;
}

static int rest(const struct tfs_save *save, uint64_t *checksum, struct tfs_error *err)
{
    const struct tfs_rows_layout *layout = &facts_of(save->doc->facts)->layout;
    const uint8_t numbers[] = {(uint8_t)layout->number[NUMBER_SCHEMA],
                               (uint8_t)layout->number[NUMBER_FORMAT]};

    (void)err;
    *checksum = tfs_checksum((struct tfs_span){numbers, sizeof(numbers)}, 0);
    return 0;
}

/* ---- the container --------------------------------------------------------------------------- */

static const struct tfs_rows_schema schema = {.value_max = VALUE_MAX,
                                              .look = look,
                                              .sql = sql,
                                              .key = take_key,
                                              .bind = bind_key,
                                              .facts = make_facts};

/* A database that another game does not claim gets the sentence that says what it lacks. */
static int stream_probe(const struct tfs_probe *probe)
{
    if (!tfs_rows_magic(probe))
        return TFS_BID_NONE;
    const int there = tfs_rows_has_column(probe, "blocks", "vb");
    return there < 0 ? there : there == 1 ? TFS_BID_FULL : TFS_BID_LOW;
}

static int stream_open(struct tfs_save *save, struct tfs_error *err)
{
    if (tfs_godot_cache_create(save, err) == 0 && tfs_rows_open(save, &schema, err) < 0)
        tfs_godot_cache_free(save);
    return err->code;
}

static void stream_close(struct tfs_save *save)
{
    tfs_godot_cache_free(save);
    tfs_rows_close(save);
}

const struct tfs_container tfs_godot_stream_container = {
    .format = "godot_voxel",
    .name = "SQLite stream",
    .tree = &tfs_godot_stream_tree,
    .probe = stream_probe,
    .open = stream_open,
    .close = stream_close,
    TFS_ROWS_FUNCTIONS,
    .rest = rest,
};
