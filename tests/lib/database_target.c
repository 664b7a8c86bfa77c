#include "database_target.h"

#include <stdio.h>

#include "../fuzz/fuzz.h"

void database_run(sqlite3 *db, const char *sql)
{
    REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

void database_bind(sqlite3_stmt *insert, int column, struct tfs_span sound, struct tfs_cursor *in)
{
    const uint8_t size = tfs_take_u8(in);
    struct tfs_span bytes = size == 1 ? sound : (struct tfs_span){0};

    if (size > 1)
        bytes = tfs_take(in, size < tfs_cursor_left(in) ? size : tfs_cursor_left(in));
    if (size > 0)
        sqlite3_bind_blob(insert, column, bytes.size > 0 ? (const void *)bytes.data : "",
                          (int)bytes.size, SQLITE_TRANSIENT);
}

void database_insert(sqlite3_stmt *insert)
{
    (void)sqlite3_step(insert);
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
}

static void make(const struct database_target *target, const char *path, struct tfs_cursor *in)
{
    sqlite3 *db = NULL;

    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    database_run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    target->fill(db, in);
    database_run(db, "COMMIT");
    REQUIRE(sqlite3_close(db) == SQLITE_OK);
}

/* A sound one, made once. */
static struct tfs_span sound(const struct database_target *target, unsigned kind)
{
    static struct tfs_buf made[DATABASE_KINDS_MAX];
    char path[FUZZ_PATH];

    if (made[kind].size == 0) {
        snprintf(path, sizeof(path), "%s/sound.sqlite", fuzz_save_dir());
        target->make_sound(path, kind);
        fuzz_save_read(path, &made[kind]);
        remove(path);
    }
    return tfs_buf_span(&made[kind]);
}

static void change(const struct database_target *target, const char *path, struct tfs_cursor *in)
{
    struct tfs_buf bytes = {0};

    tfs_buf_add_span(&bytes, sound(target, tfs_take_u8(in) % target->kinds));
    for (unsigned changes = tfs_take_u8(in); changes > 0 && tfs_cursor_left(in) >= 3; changes--) {
        const uint16_t at = tfs_take_u16le(in);
        bytes.data[at % bytes.size] = tfs_take_u8(in);
    }
    fuzz_save_write(path, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

void database_target(const struct database_target *target, struct tfs_span input)
{
    struct tfs_cursor in = tfs_cursor_init(input);
    char path[FUZZ_PATH];

    fuzz_save_clear(fuzz_save_dir());
    snprintf(path, sizeof(path), "%s/%s", fuzz_save_dir(), target->name);
    if (tfs_take_u8(&in) < 0x80)
        make(target, path, &in);
    else
        change(target, path, &in);
    strange_target(path, tfs_take(&in, tfs_cursor_left(&in)));
}
