/*
 * The tables of a map (FORMAT.md, section 2) -> what formats/containers/database/rows.h asks about
 * them; and a world folder -> the map in it.
 *
 * Must not know what blocks hold, nor how rows are fetched and changed.
 */
#include "formats/luanti/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"
#include "formats/containers/database/rows.h"
#include "formats/views/info.h"
#include "formats/luanti/luanti.h"
#include "formats/luanti/cells.h"
#include "formats/containers/several_saves.h"
#include "text/lines.h"
#include "text/name.h"

#define VALUE_MAX (64 << 20)
#define KEY_LOW   (-2048)
#define KEY_HIGH  2047
#define KEY_SHIFT INT64_C(0x800800800)

static const char what[] = "a map of Luanti";

/* ---- the layout: where the key is ------------------------------------------------------------ */

enum { NUMBER_AXES }; /* the key has a column for each axis; else it is one number, `pos` */

static bool has_axes(const struct tfs_rows_layout *layout)
{
    return layout->number[NUMBER_AXES] != 0;
}

static int look(struct tfs_database *db, struct tfs_rows_layout *layout, struct tfs_error *err)
{
    if (tfs_database_need_table(db, what, "blocks", err) < 0 ||
        tfs_database_need_column(db, what, "blocks", "data", err) < 0)
        return err->code;
    const int apart = tfs_database_has_column(db, "blocks", "z");
    if (apart < 0)
        return tfs_fail_memory(err);
    layout->number[NUMBER_AXES] = apart;
    return tfs_database_need_key(db, "blocks", apart == 1 ? "x y z" : "pos", true, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char *sql(const struct tfs_rows_layout *layout, enum tfs_rows_statement which)
{
    static const char *const statements[2][TFS_ROWS_STATEMENTS] = {
        {[TFS_ROWS_KEYS] = "SELECT pos FROM blocks",
         [TFS_ROWS_FETCH] = "SELECT data FROM blocks WHERE pos = ?1",
         [TFS_ROWS_PUT] = "INSERT INTO blocks (pos, data) VALUES (?1, ?2) "
                          "ON CONFLICT (pos) DO UPDATE SET data = excluded.data",
         [TFS_ROWS_REMOVE] = "DELETE FROM blocks WHERE pos = ?1"},
        {[TFS_ROWS_KEYS] = "SELECT x, y, z FROM blocks",
         [TFS_ROWS_FETCH] = "SELECT data FROM blocks WHERE x = ?1 AND y = ?2 AND z = ?3",
         [TFS_ROWS_PUT] = "INSERT INTO blocks (x, y, z, data) VALUES (?1, ?2, ?3, ?4) "
                          "ON CONFLICT (x, z, y) DO UPDATE SET data = excluded.data",
         [TFS_ROWS_REMOVE] = "DELETE FROM blocks WHERE x = ?1 AND y = ?2 AND z = ?3"},
    };

    return statements[has_axes(layout)][which];
}

static bool in_range(int64_t v)
{
    return v >= KEY_LOW && v <= KEY_HIGH;
}

/* A sum, not digits: a negative x borrows from y. */
static int64_t pos_of(struct tfs_key key)
{
    return ((int64_t)key.z * 4096 + key.y) * 4096 + key.x;
}

static int32_t digit_of(int64_t pos, unsigned shift)
{
    return (int32_t)((pos + KEY_SHIFT) >> shift & 0xfff) + KEY_LOW;
}

static bool take_key(const struct tfs_rows_layout *layout, sqlite3_stmt *row, struct tfs_key *key)
{
    int64_t at[3];

    for (int i = 0; i < (has_axes(layout) ? 3 : 1); i++) {
        if (sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return false;
        at[i] = sqlite3_column_int64(row, i);
    }
    if (has_axes(layout)) {
        *key = (struct tfs_key){0, (int32_t)at[0], (int32_t)at[1], (int32_t)at[2]};
        return in_range(at[0]) && in_range(at[1]) && in_range(at[2]);
    }
    if (at[0] < -(INT64_C(1) << 36) || at[0] > INT64_C(1) << 36)
        return false;
    *key = (struct tfs_key){0, digit_of(at[0], 0), digit_of(at[0], 12), digit_of(at[0], 24)};
    return pos_of(*key) == at[0];
}

static int bind_key(const struct tfs_rows_layout *layout, sqlite3_stmt *statement,
                    struct tfs_key key, int *count)
{
    const int32_t at[] = {key.x, key.y, key.z};
    int bound = SQLITE_OK;

    if (!has_axes(layout)) {
        *count = 1;
        return sqlite3_bind_int64(statement, 1, pos_of(key));
    }
    *count = 3;
    for (int i = 0; i < 3 && bound == SQLITE_OK; i++)
        bound = sqlite3_bind_int(statement, i + 1, at[i]);
    return bound;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static struct tfs_rows_layout *layout_of(const struct tfs_facts *facts)
{
    return facts->own;
}

static int make_facts(const struct tfs_rows_layout *layout, struct tfs_facts **facts,
                      struct tfs_error *err)
{
    if (tfs_facts_create(sizeof(*layout), facts, err) < 0)
        return err->code;
    *layout_of(*facts) = *layout;
    return 0;
}

void tfs_luanti_map_describe(const struct tfs_doc *doc, struct tfs_buf *out)
{
    tfs_info_line(out, "schema", "%s",
                  has_axes(layout_of(doc->facts)) ? "x, y, z (since 5.12)" : "pos (before 5.12)");
}

int tfs_luanti_map_coordinate(struct tfs_key key, struct tfs_error *err)
{
    const int32_t at[] = {key.x, key.y, key.z};

    for (unsigned i = 0; i < 3; i++)
        if (at[i] < -TFS_LUANTI_FARTHEST || at[i] >= TFS_LUANTI_FARTHEST)
            return tfs_fail(err, -EINVAL, "the engine knows no block with %c = %d, only %d to %d",
                            "xyz"[i], at[i], -TFS_LUANTI_FARTHEST, TFS_LUANTI_FARTHEST - 1);
    return 0;
}

/* ---- a world --------------------------------------------------------------------------------- */

#define WORLD_FILE     "world.mt"
#define MAP_FILE       "map.sqlite"
#define WORLD_FILE_MAX 65536

static char *join(const char *directory, const char *name)
{
    char *path = NULL;

    return tfs_print(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

/* The value of a line `KEY = VALUE`, the last one; false: there is none. Blanks are as one
 * likes. */
static bool find_setting(struct tfs_lines lines, const char *key, struct tfs_span *value)
{
    struct tfs_line line, word;
    bool found = false;

    while (tfs_lines_next(&lines, &line)) {
        const uint8_t *sign = memchr(line.text.data, '=', line.text.size);
        if (sign == NULL)
            continue;
        struct tfs_line name = line;
        name.text.size = (size_t)(sign - line.text.data);
        tfs_line_skip(&line, name.text.size + 1);
        if (!tfs_line_word(&name, &word) || name.text.size > 0 ||
            !tfs_span_equal(word.text, tfs_span_of(key)))
            continue;
        tfs_line_skip_blanks(&line);
        *value = line.text;
        found = true;
    }
    return found;
}

/* Is the map of the world one that can be read? `path`: of the world, for the way out. */
static int check_settings(struct tfs_span text, const char *path, struct tfs_error *err)
{
    struct tfs_span value;
    struct tfs_lines lines;
    struct tfs_error inside = {0};
    char quoted[TFS_QUOTED];

    if (tfs_lines_init(&lines, text, &inside) < 0)
        return tfs_fail(err, inside.code, "its " WORLD_FILE ", line %u: %s", inside.line,
                        inside.text);
    if (find_setting(lines, "backend", &value) && !tfs_span_equal(value, tfs_span_of("sqlite3")))
        return tfs_fail(err, -ENOTSUP,
                        "its map is kept in %s, only sqlite3 can be read: `minetestserver --world "
                        "%s --migrate sqlite3` brings it there",
                        tfs_name_quote(value, quoted), path);
    if (find_setting(lines, "blocksize", &value) && !tfs_span_equal(value, tfs_span_of("16")))
        return tfs_fail(err, -ENOTSUP, "its blocks have %s nodes a side, only 16 are supported",
                        tfs_name_quote(value, quoted));
    return 0;
}

static int check_world(const char *world, struct tfs_error *err)
{
    struct tfs_file_handle file;
    struct tfs_blob *text = NULL;
    char *link = join(world, WORLD_FILE), *path = link == NULL ? NULL : realpath(link, NULL);

    if (link == NULL)
        return tfs_fail_memory(err);
    if (path == NULL)
        tfs_fail_errno(err, "its " WORLD_FILE " cannot be opened");
    else if (tfs_file_open(path, false, &file, err) == 0) {
        if (tfs_file_read(&file, WORLD_FILE_MAX, &text, err) == 0)
            check_settings(tfs_blob_span(text), world, err);
        tfs_file_close(&file);
    }
    tfs_blob_unref(text);
    free(link);
    free(path);
    return err->code;
}

/* The save is its map: the world is only where that lies. */
static int find_map(const char *world, struct tfs_parts *parts, struct tfs_error *err)
{
    char *path = join(world, WORLD_FILE), *map;
    struct stat st;

    if (path == NULL)
        return tfs_fail_memory(err);
    const bool is_world = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    free(path);
    if (!is_world)
        return 0;
    if (check_world(world, err) < 0)
        return err->code;
    path = join(world, MAP_FILE);
    if (path == NULL)
        return tfs_fail_memory(err);
    map = realpath(path, NULL);
    if (map == NULL)
        tfs_fail(err, -errno, "its " MAP_FILE " cannot be opened: %s", strerror(errno));
    else
        tfs_parts_add(parts, strdup(""), map, err);
    free(path);
    return err->code;
}

/* ---- the container --------------------------------------------------------------------------- */

static const struct tfs_rows_schema schema = {.value_max = VALUE_MAX,
                                              .look = look,
                                              .sql = sql,
                                              .key = take_key,
                                              .bind = bind_key,
                                              .facts = make_facts};

/* Databases of a world that hold no blocks. */
static const struct other {
    const char *file, *table, *column, *what;
} others[] = {
    {"players.sqlite", "player", "posX", "players"},
    {"auth.sqlite", "auth", "password", "passwords and privileges"},
    {"mod_storage.sqlite", "entries", "modname", "what mods store"},
};

/* The one that has this name; NULL: none has. */
static const struct other *find_other(const char *name)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, others[i].file) == 0)
            return &others[i];
    return NULL;
}

/* Another database of a world is ours to refuse. */
static int map_probe(const struct tfs_probe *probe)
{
    const struct other *other = find_other(probe->name);
    int there = tfs_rows_has_column(probe, "blocks", "data");

    if (there == 0 && other != NULL)
        there = tfs_rows_has_column(probe, other->table, other->column);
    return there == 1 ? TFS_BID_FULL : there;
}

/* Says what the user gave instead of a map. */
static void refuse_other(const struct tfs_save *save, struct tfs_error *err)
{
    const char *slash = strrchr(save->path, '/');
    const struct other *other = find_other(slash == NULL ? save->path : slash + 1);

    if (other == NULL || err->code != -ENOTSUP)
        return;
    tfs_error_reset(err);
    tfs_fail(err, -ENOTSUP,
             "is a database of %s, which holds no terrain: give the folder of the world, "
             "or the map.sqlite in it",
             other->what);
}

static void map_close(struct tfs_save *save)
{
    tfs_luanti_samples_free(save);
    tfs_rows_close(save);
}

/* A server that runs has it open. Comes before the database is opened: closing the file drops
 * SQLite's locks. */
static bool is_open_elsewhere(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool held = fd >= 0 && tfs_file_is_written(fd);

    if (fd >= 0)
        close(fd);
    return held;
}

static int map_open(struct tfs_save *save, struct tfs_error *err)
{
    const bool held = is_open_elsewhere(save->path);

    if (tfs_luanti_samples_create(save, err) < 0)
        return err->code;
    if (tfs_rows_open(save, &schema, err) < 0) {
        refuse_other(save, err);
        tfs_luanti_samples_free(save);
        return err->code;
    }
    if (held)
        tfs_facts_note(save->doc->facts, err, TFS_NOTE_WARNING,
                       "another program has the map open: a server that runs keeps blocks in "
                       "memory and writes them over edits of the same blocks");
    if (err->code < 0)
        map_close(save);
    return err->code;
}

const struct tfs_container tfs_luanti_map_container = {
    .format = "luanti",
    .name = "map database",
    .tree = &tfs_luanti_tree,
    .probe = map_probe,
    .saves = find_map,
    .open = map_open,
    .close = map_close,
    TFS_ROWS_FUNCTIONS,
};
