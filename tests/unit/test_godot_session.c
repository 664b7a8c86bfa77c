/* The session on saves of Godot Voxel Tools: listings that fetch nothing, saves that another
 * program holds locked, and saves that are away for a moment. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/session_driver.h"
#include "../lib/voxel_maker.h"
#include "base/clock.h"
#include "formats/containers/database/rows_state.h"
#include "formats/godot_voxel/counts.h"
#include "fs/session/ops.h"
#include "scratch.h"

#define CHUNKS 30

static sqlite3 *other; /* another program's connection */
static _Atomic unsigned fetches;

static int count_fetch(unsigned kind, void *arg, void *statement, void *sql)
{
    (void)kind;
    (void)arg;
    (void)statement;
    fetches += strncmp(sql, "SELECT", 6) == 0;
    return 0;
}

/* Whichever connection fetches: a reader that finds the first one busy takes the second. */
static int count_fetches(sqlite3 *db, char **why, const struct sqlite3_api_routines *api)
{
    (void)why;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_fetch, NULL);
}

static void setup(void)
{
    scratch_setup();
    sqlite3_auto_extension((void (*)(void))count_fetches);
}

static void teardown(void)
{
    sqlite3_reset_auto_extension();
    if (session != NULL)
        tfs_session_close(session);
    session = NULL;
    sqlite3_close(other);
    other = NULL;
    scratch_teardown();
}

static void open_path_as_session(const char *path, struct tfs_session_options options)
{
    const struct tfs_open_options open = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_save *opened = NULL;
    struct tfs_error err = {0};

    ck_assert_msg(tfs_save_open(path, NULL, &open, &opened, &err) == 0, "%s", err.text);
    open_save_with(opened, options);
}

/* ---- databases ------------------------------------------------------------------------------- */

static const char *db_path(void)
{
    return scratch_path("world.sqlite");
}

static sqlite3 *db(void)
{
    return ((struct tfs_rows *)save->own)->source.db.sqlite;
}

static void open_database(void)
{
    voxel_stream(db_path(), 2, CHUNKS);
    open_path_as_session(db_path(), (struct tfs_session_options){.linger_ms = 3600000});
    fetches = 0;
}

static void run(const char *sql)
{
    char *why = NULL;

    if (other == NULL)
        ck_assert_int_eq(sqlite3_open(db_path(), &other), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(other, sql, NULL, NULL, &why) == SQLITE_OK, "%s: %s", sql, why);
}

/* ---- listings -------------------------------------------------------------------------------- */

static bool count_directory(void *arg, const struct tfs_dirent *entry)
{
    *(unsigned *)arg += S_ISDIR(entry->attr.st.st_mode) && entry->name[0] != '.';
    return true;
}

/* Directories that are listed, or a negative errno. */
static int count_directories(const char *path)
{
    unsigned count = 0;
    int result = list_entries(path, count_directory, &count);

    return result < 0 ? result : (int)count;
}

START_TEST(listing_of_chunks_asks_the_database_nothing)
{
    struct tfs_attr attr;

    open_database();
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(count_directories("chunks"), CHUNKS);
    ck_assert_int_eq(look("chunks/-50_-1_-50", &attr), 0);
    ck_assert_uint_eq(fetches, 0);
}
END_TEST

#define INSTANCES "x'0001000000803f0df00d90'"

/* A database whose first chunk has instances, which another program holds locked. */
static void open_locked(void)
{
    voxel_stream(db_path(), 2, CHUNKS);
    run("UPDATE blocks SET instances = " INSTANCES " WHERE loc = '-50,-1,-50,0'");
    open_path_as_session(db_path(), (struct tfs_session_options){.linger_ms = 3600000});
    run("BEGIN EXCLUSIVE");
}

START_TEST(what_a_locked_database_hides_is_busy_not_absent)
{
    struct tfs_attr chunk, attr;
    struct tfs_handle *handle;

    open_locked();
    ck_assert_int_eq(look("chunks/-50_-1_-50", &chunk), 0);
    ck_assert_int_eq(count_directories("chunks/-50_-1_-50"), -EBUSY);
    ck_assert_int_eq(tfs_session_lookup(session, chunk.id, "instances.bin", &attr), -EBUSY);
    ck_assert_int_eq(tfs_session_lookup(session, chunk.id, "channels", &attr), -EBUSY);
    ck_assert_int_eq(tfs_session_unlink(session, chunk.id, "instances.bin"), -EBUSY);
    ck_assert_int_eq(tfs_session_create(session, chunk.id, "instances.bin", 0644, 0, 0, O_WRONLY,
                                        &handle, &attr),
                     -EBUSY);
    ck_assert_int_eq(remove_directory("chunks/-50_-1_-50"), -EBUSY);
    run("ROLLBACK");
    ck_assert_str_eq(list("chunks/-50_-1_-50"),
                     ". .. raw.bin voxels.csv metadata.txt instances.bin channels ");
    ck_assert_str_eq(list("chunks/-49_-1_-50"), ". .. raw.bin voxels.csv metadata.txt channels ");
}
END_TEST

static int64_t patience(void)
{
    struct tfs_rows *own = save->own;
    sqlite3_stmt *statement = NULL;

    pthread_mutex_lock(&own->lock);
    ck_assert_int_eq(sqlite3_prepare_v2(db(), "PRAGMA busy_timeout", -1, &statement, NULL),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    int64_t ms = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    pthread_mutex_unlock(&own->lock);
    return ms;
}

/* Whoever walks through a locked database does not wait for each of its chunks. */
START_TEST(lock_is_waited_for_once)
{
    open_locked();
    run("ROLLBACK");
    ck_assert_int_ge(count_directories("chunks/-47_-1_-50"), 0); /* the store may have met it */
    const int64_t usual = patience();
    ck_assert_int_gt(usual, 0);
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(count_directories("chunks/-50_-1_-50"), -EBUSY);
    ck_assert_int_eq(patience(), 0);
    ck_assert_int_eq(count_directories("chunks/-49_-1_-50"), -EBUSY);
    ck_assert_int_eq(patience(), 0);
    run("ROLLBACK");
    ck_assert_int_ge(count_directories("chunks/-48_-1_-50"), 0);
    ck_assert_int_eq(patience(), usual);
}
END_TEST

static unsigned waits, stalls;
static pthread_t reader; /* in a test */

/* A reader waits for the other program: does everybody else wait with it? */
static int on_busy(void *arg, int times)
{
    (void)arg;
    (void)times;
    if (!pthread_equal(pthread_self(), reader)) /* the store looks from time to time */
        return 0;
    /* Others hold it for a moment only, and need no more than that. */
    const int64_t until = tfs_now_ms() + 10000;
    int held = pthread_mutex_trylock(&session->lock);
    while (held != 0 && tfs_now_ms() < until)
        held = pthread_mutex_trylock(&session->lock);
    if (held == 0)
        pthread_mutex_unlock(&session->lock);
    waits++;
    stalls += held != 0;
    return 0;
}

/* Asks for what is in a chunk while another program has the database locked. */
static void ask_locked(int how, const struct tfs_attr *chunk)
{
    struct tfs_rows *own = save->own;
    struct tfs_attr channels, attr;
    struct tfs_handle *handle;
    bool keep;

    run("ROLLBACK");
    /* What is remembered hides what comes of it. */
    ck_assert_int_eq(tfs_session_lookup(session, chunk->id, "channels", &channels), 0);
    ck_assert_int_eq(tfs_session_lookup(session, chunk->id, "raw.bin", &attr), 0);
    tfs_godot_cache_clear(save);
    run("BEGIN EXCLUSIVE");
    pthread_mutex_lock(&own->lock);
    ck_assert_int_eq(sqlite3_busy_handler(db(), on_busy, NULL), SQLITE_OK);
    pthread_mutex_unlock(&own->lock);
    if (how == 0)
        ck_assert_int_eq(tfs_session_lookup(session, chunk->id, "voxels.csv", &attr), -EBUSY);
    else if (how == 1)
        ck_assert_int_eq(count_directories("chunks/-50_-1_-50"), -EBUSY);
    else if (how == 2)
        ck_assert_int_eq(tfs_session_getattr(session, channels.id, NULL, &attr), -EBUSY);
    else
        ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, &handle, &keep), -EBUSY);
}

START_TEST(nobody_else_waits_for_a_locked_database)
{
    struct tfs_attr chunk;

    open_locked();
    reader = pthread_self();
    ck_assert_int_eq(look("chunks/-50_-1_-50", &chunk), 0);
    for (int how = 0; how < 4; how++) {
        waits = stalls = 0;
        /* Where the store looked in between, and met the lock, nobody waits for it once more. */
        for (int i = 0; i < 20 && waits == 0; i++)
            ask_locked(how, &chunk);
        ck_assert_uint_gt(waits, 0);
        ck_assert_uint_eq(stalls, 0);
    }
}
END_TEST

/* The edit, too, needs what the database hides. */
START_TEST(removal_waits_until_the_lock_is_gone)
{
    open_locked();
    run("ROLLBACK");
    struct tfs_handle *handle = open_path("chunks/-50_-1_-50/raw.bin", O_RDONLY);
    ck_assert_int_eq(unlink_path("chunks/-50_-1_-50/instances.bin"), 0);
    /* Its view is remembered no longer. */
    tfs_godot_cache_clear(save);
    run("BEGIN EXCLUSIVE");
    ck_assert_int_eq(sync_directory("chunks/-50_-1_-50"), -EBUSY);
    ck_assert_int_eq(sync_file(handle), -EBUSY);
    tfs_session_release(session, handle);
    run("ROLLBACK");
    ck_assert_str_eq(list("chunks/-50_-1_-50"), ". .. raw.bin voxels.csv metadata.txt channels ");
    ck_assert_int_eq(sync_directory("chunks/-50_-1_-50"), 0);
    run("BEGIN; DELETE FROM blocks WHERE instances IS NOT NULL");
    ck_assert_int_eq(sqlite3_changes(other), 0);
    run("ROLLBACK");
}
END_TEST

/* What was put when it was written lacks a removal that is to go with it. */
START_TEST(appended_line_takes_the_removal_of_its_chunk_along)
{
    char line[200];

    open_locked();
    run("ROLLBACK");
    const char *text = cat("chunks/-50_-1_-50/voxels.csv");
    snprintf(line, sizeof(line), "%s", strchr(text, '\n') + 1);
    line[strcspn(line, "\n") + 1] = '\0';
    struct tfs_handle *handle = open_path("chunks/-50_-1_-50/voxels.csv", O_WRONLY | O_APPEND);
    ck_assert_int_eq(unlink_path("chunks/-50_-1_-50/instances.bin"), 0);
    ck_assert_int_eq(write_text(handle, 0, line), 0);
    ck_assert_int_eq(close_file(handle), 0);
    run("BEGIN; DELETE FROM blocks WHERE instances IS NOT NULL");
    ck_assert_int_eq(sqlite3_changes(other), 0);
    run("ROLLBACK");
}
END_TEST

/* ---- saves that are away --------------------------------------------------------------------- */

/* Has the worker look at the save on disk. */
static void check_save(void)
{
    ck_assert_int_eq(tfs_session_look(session, 1), 0);
}

/* Saves below home/, and what of them is moved away. */
static const struct {
    const char *save, *moved;
} moves[] = {
    {"home/world.sqlite", "home/world.sqlite"},
    {"home/world.sqlite", "home"},
    {"home/world", "home/world"},
    {"home/world", "home"},
    {"home/world", "home/world/meta.vxrm"},
    {"home/region.vxr", "home/region.vxr"},
    {"home/region.vxr", "home"},
};

static const char *chunk;        /* a chunk of the save at hand */
static char shown[64], edit[64]; /* paths of a file of it that is 0 everywhere */

static void make_home(const char *path)
{
    ck_assert_int_eq(mkdir(scratch_path("home"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("away"), 0755), 0);
    chunk = "0_0_0";
    if (strcmp(path, "home/world.sqlite") == 0) {
        voxel_stream(scratch_path(path), 2, CHUNKS);
        chunk = "-50_-1_-50";
    } else if (strcmp(path, "home/world") == 0) {
        voxel_folder(scratch_path(path), 1);
    } else {
        voxel_region(scratch_path(path), 2, 4);
    }
    snprintf(shown, sizeof(shown), "chunks/%s/channels/data5.txt", chunk);
    snprintf(edit, sizeof(edit), "chunks/%s/channels/data6.txt", chunk);
}

static void move(const char *from, const char *to)
{
    ck_assert_int_eq(rename(scratch_path(from), scratch_path(to)), 0);
}

START_TEST(save_that_was_away_for_a_moment_is_read_and_edited_again)
{
    make_home(moves[_i].save);
    open_path_as_session(scratch_path(moves[_i].save), (struct tfs_session_options){0});
    ck_assert(tfs_session_current(session, 1));
    move(moves[_i].moved, "away/it");
    ck_assert(!tfs_session_current(session, 1));
    check_save();
    ck_assert_str_eq(cat("info.txt"), "Input/output error");
    ck_assert_str_eq(cat(shown), "Input/output error");
    ck_assert(!tfs_session_current(session, 1));
    move("away/it", moves[_i].moved);
    check_save();
    ck_assert(tfs_session_current(session, 1));
    ck_assert_ptr_nonnull(strstr(cat("info.txt"), "format: godot_voxel"));
    ck_assert_str_eq(cat(shown), "depth 8\nfill 0\n");
    ck_assert_int_eq(put(edit, "fill 7\n"), 0);
    ck_assert_str_eq(cat(edit), "depth 8\nfill 7\n");
}
END_TEST

START_TEST(edit_made_while_the_save_is_away_waits_for_it)
{
    char rejected[128];

    make_home(moves[_i].save);
    open_path_as_session(scratch_path(moves[_i].save), (struct tfs_session_options){0});
    ck_assert_str_eq(cat(shown), "depth 8\nfill 0\n");
    struct tfs_handle *handle = open_path(shown, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "fill 7\n"), 0);
    move(moves[_i].moved, "away/it");
    ck_assert_int_eq(sync_file(handle), -EIO);
    ck_assert_int_eq(flush(handle), -EIO);
    snprintf(rejected, sizeof(rejected), ".terrainfs/rejected/%s", shown);
    ck_assert_str_eq(cat(rejected), "fill 7\n");
    move("away/it", moves[_i].moved);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(cat(shown), "depth 8\nfill 7\n");
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

/* Another program opens the database by the name that it has meanwhile. */
START_TEST(change_made_while_the_save_is_away_is_picked_up)
{
    make_home("home/world.sqlite");
    open_path_as_session(scratch_path("home/world.sqlite"), (struct tfs_session_options){0});
    ck_assert_str_eq(cat(shown), "depth 8\nfill 0\n");
    move("home/world.sqlite", "world.sqlite");
    check_save();
    run("UPDATE blocks SET vb = NULL WHERE loc = '-50,-1,-50,0'");
    move("world.sqlite", "home/world.sqlite");
    check_save();
    ck_assert(!exists(shown));
    ck_assert(exists("chunks/-49_-1_-50/channels/data5.txt"));
}
END_TEST

static struct tfs_buf bytes_of(const char *path)
{
    struct tfs_buf bytes = {0};
    FILE *file = fopen(path, "rb");
    uint8_t byte;

    ck_assert_ptr_nonnull(file);
    while (fread(&byte, 1, 1, file) == 1)
        tfs_buf_u8(&bytes, byte);
    fclose(file);
    return bytes;
}

static void check_unchanged(const char *path, struct tfs_buf *before)
{
    struct tfs_buf now = bytes_of(path);

    ck_assert_uint_eq(now.size, before->size);
    ck_assert_mem_eq(now.data, before->data, now.size);
    tfs_buf_release(&now);
    tfs_buf_release(before);
}

/* The lock is that of the folder, not of its name. */
START_TEST(folder_in_the_place_of_ours_is_locked_and_ours_let_go)
{
    const struct tfs_open_options open = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_save *second = NULL;
    struct tfs_error err = {0};

    make_home("home/world");
    voxel_folder(scratch_path("theirs"), 2);
    open_path_as_session(scratch_path("home/world"), (struct tfs_session_options){0});
    move("home/world", "ours");
    move("theirs", "home/world");
    check_save();
    ck_assert(exists("chunks/7_0_0"));
    ck_assert_int_eq(tfs_save_open(scratch_path("home/world"), NULL, &open, &second, &err),
                     -EWOULDBLOCK);
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_save_open(scratch_path("ours"), NULL, &open, &second, &err), 0);
    tfs_save_close(second);
    ck_assert_int_eq(put("chunks/7_0_0/channels/data5.txt", "fill 7\n"), 0);
}
END_TEST

/* SQLite looks for journals by name: what a game writes beside a new database is not played back
 * into ours, which is only kept under another name. */
START_TEST(journal_of_a_database_in_the_place_of_ours_is_not_ours)
{
    char journal[3 * PATH_MAX];

    make_home("home/world.sqlite");
    open_path_as_session(scratch_path("home/world.sqlite"), (struct tfs_session_options){0});
    move("home/world.sqlite", "ours.sqlite");
    struct tfs_buf before = bytes_of(scratch_path("ours.sqlite"));
    snprintf(journal, sizeof(journal), "%s-journal", scratch_path("home/world.sqlite"));
    voxel_stream(db_path(), 2, CHUNKS);
    run("PRAGMA cache_size = 2; BEGIN; UPDATE blocks SET vb = zeroblob(9000)");
    move("world.sqlite", "home/world.sqlite");
    move("world.sqlite-journal", "home/world.sqlite-journal");
    ck_assert_int_eq(access(journal, F_OK), 0);
    ck_assert_str_eq(cat(shown), "depth 8\nfill 0\n");
    ck_assert_int_eq(access(journal, F_OK), 0);
    check_unchanged(scratch_path("ours.sqlite"), &before);
}
END_TEST

/* ---- a game that writes meanwhile ------------------------------------------------------------ */

#define REGION     "/regions/lod0/r.0.0.0.vxr"
#define SEVEN      "depth 8\nfill 7\n"
#define FOR_EVER   (1u << 30)
#define WRITES_MAX 200 /* that one call on a path waits out */

static const struct tfs_container *real;
static _Atomic unsigned writes; /* of the region, each right before a block is fetched */

static size_t write_and_fetch(struct tfs_save *of, struct tfs_chunk *blocks, size_t count,
                              struct tfs_error *err)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = writes}};

    if (writes > 0) {
        writes--;
        ck_assert_int_eq(utimensat(AT_FDCWD, scratch_path("home/world" REGION), times, 0), 0);
    }
    return real->fetch(of, blocks, count, err);
}

/* A world of which no block was read, though its names were. */
static void open_and_list(void)
{
    static struct tfs_container writing;
    const struct tfs_open_options open = {.lock = TFS_LOCK_EXCLUSIVE};
    struct tfs_save *opened = NULL;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_save_open(scratch_path("home/world"), NULL, &open, &opened, &err), 0);
    writing = *(real = opened->container);
    writing.fetch = write_and_fetch;
    opened->container = &writing;
    open_save_with(opened, (struct tfs_session_options){0});
    ck_assert_ptr_nonnull(strstr(list("chunks"), "0_0_0 "));
}

static void check_in_cat(void)
{
    ck_assert_str_eq(cat(edit), SEVEN);
}

static void check_in_list(void)
{
    ck_assert_ptr_nonnull(strstr(list("chunks/0_0_0"), "raw.bin "));
}

static void check_in_stat(void)
{
    struct tfs_attr attr;

    ck_assert_int_eq(look(edit, &attr), 0);
    ck_assert_int_eq(attr.st.st_size, (int)strlen(SEVEN));
}

static void check_in_open(void)
{
    struct tfs_handle *handle = open_path(edit, O_RDONLY);

    ck_assert_ptr_nonnull(handle);
    tfs_session_release(session, handle);
}

static void check_in_root(void)
{
    ck_assert_ptr_nonnull(strstr(cat("info.txt"), "format: godot_voxel"));
}

static void check_in_move(void)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0", "chunks/0_3_0"), 0);
    ck_assert_str_eq(cat("chunks/0_3_0/channels/data6.txt"), SEVEN);
    ck_assert(!exists("chunks/0_0_0"));
}

static void check_in_mkdir(void)
{
    struct tfs_attr attr;

    ck_assert_int_eq(make_directory("chunks/0_3_0", &attr), 0);
    ck_assert_str_eq(cat(edit), SEVEN);
}

static void check_in_put(void)
{
    ck_assert_int_eq(put(shown, "fill 5\n"), 0);
    ck_assert_str_eq(cat(edit), SEVEN);
}

static void (*const first_calls[])(void) = {check_in_cat,   check_in_list, check_in_stat,
                                            check_in_open,  check_in_root, check_in_move,
                                            check_in_mkdir, check_in_put};

/* Whatever is asked first: nobody looked at the save since. */
START_TEST(block_of_a_region_that_was_replaced_shows_what_it_is_now)
{
    char ours[2 * PATH_MAX], theirs[2 * PATH_MAX];

    make_home("home/world");
    snprintf(ours, sizeof(ours), "%s/home/world" REGION, scratch_dir);
    snprintf(theirs, sizeof(theirs), "%s/theirs" REGION, scratch_dir);
    voxel_folder(scratch_path("theirs"), 1);
    open_path_as_session(scratch_path("theirs"), (struct tfs_session_options){0});
    ck_assert_int_eq(put(edit, SEVEN), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    tfs_session_close(session);
    open_and_list();
    ck_assert_int_eq(rename(theirs, ours), 0);
    first_calls[_i]();
    ck_assert_ptr_null(strstr(messages, "while edits were pending"));
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

START_TEST(block_of_a_region_that_is_being_written_is_read_once_it_was)
{
    make_home("home/world");
    open_and_list();
    writes = 3;
    ck_assert_str_eq(cat(edit), "depth 8\nfill 0\n");
    ck_assert_uint_eq(writes, 0);
}
END_TEST

START_TEST(block_of_a_region_that_is_written_for_ever_is_not_waited_for)
{
    struct tfs_attr attr;

    make_home("home/world");
    open_and_list();
    writes = FOR_EVER;
    ck_assert_int_eq(look(edit, &attr), -ESTALE);
    ck_assert_uint_gt(writes, FOR_EVER - WRITES_MAX);
    writes = 0;
    ck_assert_str_eq(cat(edit), "depth 8\nfill 0\n");
}
END_TEST

/* ---- arrays ---------------------------------------------------------------------------------- */

#define ARRAY "chunks/-50_-1_-50/arrays/channels/type.npy"

#define CHANNEL "chunks/-50_-1_-50/channels/type.txt"

static struct tfs_handle *cutter;
static uint64_t array_id;
static const struct tfs_lens *array_lens;

/* Opens the database with another lens for the array. */
static void open_with_lens(struct tfs_lens *lens)
{
    static struct tfs_file files[TFS_FILES_MAX];
    static struct tfs_tree tree;

    open_database();
    save->options.views = TFS_VIEWS_ALL | TFS_VIEWS_ARRAYS;
    tree = *save->tree;
    for (unsigned i = 0; i < tree.chunk.count; i++) {
        files[i] = tree.chunk.files[i];
        if (strcmp(files[i].path, "arrays/channels/type.npy") == 0) {
            array_lens = files[i].lens;
            *lens = *array_lens;
            files[i].lens = lens;
        }
    }
    tree.chunk.files = files;
    save->tree = &tree;
}

/* While what was written to the array is taken, somebody else cuts it to 0. */
static int cut_and_put(struct tfs_save *opened, struct tfs_edit *doc, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    bool keep;
    if (cutter == NULL)
        ck_assert_int_eq(
            tfs_session_open_file(session, array_id, O_WRONLY | O_TRUNC, &cutter, &keep), 0);
    return array_lens->put(opened, doc, at, text, put, err);
}

START_TEST(array_cut_to_nothing_while_it_is_taken_is_another_text)
{
    static struct tfs_lens lens;
    struct tfs_attr attr;

    open_with_lens(&lens);
    lens.put = cut_and_put;
    ck_assert_int_eq(look(ARRAY, &attr), 0);
    struct tfs_handle *writer = open_path(ARRAY, O_RDWR);
    array_id = writer->inode->id;
    ck_assert_int_eq(write_text(writer, (uint64_t)attr.st.st_size - 1, "\1"), 0);
    ck_assert_int_eq(flush(writer), 0);
    ck_assert_int_eq(tfs_session_getattr(session, array_id, cutter, &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 0);
    ck_assert_int_eq(close_file(cutter), -EBADMSG);
    tfs_session_release(session, writer);
    tfs_session_close(session);
    session = NULL;
}
END_TEST

/* Between the edit and its commit another program writes the row. */
static int put_before_others(struct tfs_save *opened, struct tfs_edit *doc, struct tfs_at at,
                             struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const int result = array_lens->put(opened, doc, at, text, put, err);

    run("UPDATE blocks SET vb = (SELECT vb FROM blocks WHERE loc != '-50,-1,-50,0' LIMIT 1)"
        " WHERE loc = '-50,-1,-50,0'");
    return result;
}

START_TEST(array_whose_edit_was_set_aside_is_told_so_until_it_is_opened_again)
{
    static struct tfs_lens lens;

    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
    open_with_lens(&lens);
    ck_assert_int_eq(put(CHANNEL, "depth 16\nfill 3\n"), 0);
    lens.put = put_before_others;
    struct tfs_handle *writer = open_path(ARRAY, O_RDWR);
    ck_assert_int_eq(write_text(writer, 128, "\7"), 0);
    ck_assert_int_eq(sync_file(writer), -ESTALE);
    lens.put = array_lens->put;
    ck_assert_int_eq(sync_file(writer), -ESTALE);
    ck_assert_int_eq(close_file(writer), -ESTALE);
    writer = open_path(ARRAY, O_RDWR);
    ck_assert_int_eq(write_text(writer, 128, "\7"), 0);
    ck_assert_int_eq(close_file(writer), 0);
    tfs_session_close(session);
    session = NULL;
}
END_TEST

static bool edits;

/* While the rest of a page is made, somebody else changes what the array shows. */
static int edit_and_get(struct tfs_save *opened, const struct tfs_doc *doc, struct tfs_at at,
                        uint64_t offset, uint64_t size, struct tfs_blob **part,
                        struct tfs_error *err)
{
    const bool now = edits;

    edits = false;
    if (now)
        ck_assert_int_eq(put(CHANNEL, "depth 16\nfill 5\n"), 0);
    return array_lens->get_range(opened, doc, at, offset, size, part, err);
}

/* The page is of what lies below it when it is written, and not of what lay there before. */
START_TEST(array_page_that_is_made_while_others_edit_takes_nothing_back)
{
    static struct tfs_lens lens;

    open_with_lens(&lens);
    lens.get_range = edit_and_get;
    ck_assert_int_eq(put(CHANNEL, "depth 16\nfill 3\n"), 0);
    struct tfs_handle *writer = open_path(ARRAY, O_RDWR);
    edits = true;
    ck_assert_int_eq(write_text(writer, 128, "\7"), 0);
    ck_assert(!edits);
    ck_assert_int_eq(close_file(writer), 0);
    ck_assert_ptr_nonnull(strstr(cat(CHANNEL), "z=00 |     7     5     5"));
    tfs_session_close(session);
    session = NULL;
}
END_TEST

/* The kernel tells of the last close after close(2) has returned. */
START_TEST(session_shows_an_array_as_it_was_as_soon_as_a_close_was_refused)
{
    struct tfs_attr attr, after;

    open_database();
    save->options.views = TFS_VIEWS_ARRAYS;
    ck_assert_int_eq(look(ARRAY, &attr), 0);
    struct tfs_handle *handle = open_path(ARRAY, O_RDWR);
    ck_assert_int_eq(write_text(handle, (uint64_t)attr.st.st_size, "more"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert_int_eq(look(ARRAY, &after), 0);
    ck_assert_int_eq(after.st.st_size, attr.st.st_size);
    tfs_session_release(session, handle);
}
END_TEST

/* What became of a cut, and of renaming the array as soon as that was told. */
struct cut {
    struct answer answer;
    int renamed;
};

static void rename_at_once(void *arg, int result, const struct tfs_attr *attr)
{
    struct cut *cut = arg;

    cut->renamed = rename_path(ARRAY, "chunks/-50_-1_-50/arrays/old.bak");
    answered(&cut->answer, result, attr);
}

START_TEST(session_has_no_open_array_behind_a_refused_truncate_by_name)
{
    const struct stat values = {.st_size = 100};
    struct tfs_attr attr;
    struct cut cut;

    open_database();
    save->options.views = TFS_VIEWS_ARRAYS;
    ck_assert_int_eq(look(ARRAY, &attr), 0);
    answer_init(&cut.answer);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE,
                        (struct tfs_reply){rename_at_once, &cut});
    ck_assert_int_eq(answer_wait(&cut.answer), -EBADMSG);
    ck_assert_int_eq(cut.renamed, 0);
}
END_TEST

static Suite *godot_session_suite(void)
{
    Suite *suite = suite_create("godot_session");
    TCase *tcase = unit_case(suite, "database"), *away = unit_case(suite, "away");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, listing_of_chunks_asks_the_database_nothing);
    tcase_add_test(tcase, what_a_locked_database_hides_is_busy_not_absent);
    tcase_add_test(tcase, lock_is_waited_for_once);
    tcase_add_test(tcase, nobody_else_waits_for_a_locked_database);
    tcase_add_test(tcase, removal_waits_until_the_lock_is_gone);
    tcase_add_test(tcase, appended_line_takes_the_removal_of_its_chunk_along);
    tcase_add_test(tcase, array_cut_to_nothing_while_it_is_taken_is_another_text);
    tcase_add_test(tcase, array_whose_edit_was_set_aside_is_told_so_until_it_is_opened_again);
    tcase_add_test(tcase, array_page_that_is_made_while_others_edit_takes_nothing_back);
    tcase_add_test(tcase, session_shows_an_array_as_it_was_as_soon_as_a_close_was_refused);
    tcase_add_test(tcase, session_has_no_open_array_behind_a_refused_truncate_by_name);
    tcase_add_checked_fixture(away, setup, teardown);
    tcase_set_timeout(away, 60);
    tcase_add_loop_test(away, save_that_was_away_for_a_moment_is_read_and_edited_again, 0,
                        COUNT(moves));
    tcase_add_loop_test(away, edit_made_while_the_save_is_away_waits_for_it, 0, COUNT(moves));
    tcase_add_test(away, change_made_while_the_save_is_away_is_picked_up);
    tcase_add_test(away, folder_in_the_place_of_ours_is_locked_and_ours_let_go);
    tcase_add_test(away, journal_of_a_database_in_the_place_of_ours_is_not_ours);
    tcase_add_loop_test(away, block_of_a_region_that_was_replaced_shows_what_it_is_now, 0,
                        COUNT(first_calls));
    tcase_add_test(away, block_of_a_region_that_is_being_written_is_read_once_it_was);
    tcase_add_test(away, block_of_a_region_that_is_written_for_ever_is_not_waited_for);
    return suite;
}

UNIT_MAIN(godot_session_suite)
