/*
 * A database whose rows are chunks -> documents, from its keys alone.
 *
 * Must not know SQL (database.c and the game's schema), nor what rows hold. Rows are fetched in
 * rows_fetch.c, changed in rows_commit.c. Invariants:
 *   1. the database is used under own->lock. Documents are immutable, as everywhere;
 *   2. a chunk of the document holds what this mount wrote; what it says is unread is fetched by
 *      its key. tfs_chunk.own is the number of the reading that found it, or found it changed;
 *   3. the first value of a row that was fetched since then is remembered by its checksums. After
 *      others changed the database, a row that still has them keeps its number, and nobody has to
 *      look at it again; one that was never fetched was never shown. And a commit leaves everything
 *      as it is when a row that it changes has others;
 *   4. own->file is opened before the database and closed after it, and nothing else opens that
 *      file: closing any descriptor of it would drop SQLite's locks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/containers/database/rows_state.h"

/* ---- the database ---------------------------------------------------------------------------- */

static void source_close(struct tfs_rows_source *source)
{
    for (unsigned i = 0; i < TFS_ROWS_STATEMENTS; i++)
        sqlite3_finalize(source->statements[i]);
    tfs_database_close(&source->db);
    *source = (struct tfs_rows_source){0};
}

static int source_open(const char *path, bool writable, const struct tfs_rows_schema *schema,
                       struct tfs_rows_source *source, struct tfs_error *err)
{
    struct tfs_rows_source opened = {0};

    if (tfs_database_open(path, writable, schema->value_max, &opened.db, err) < 0)
        return err->code;
    if (schema->look(&opened.db, &opened.layout, err) < 0)
        source_close(&opened);
    else
        *source = opened;
    return err->code;
}

sqlite3_stmt *tfs_rows_statement(struct tfs_rows *own, enum tfs_rows_statement which,
                                 struct tfs_error *err)
{
    struct tfs_rows_source *source = &own->source;
    const char *sql = own->schema->sql(&source->layout, which);

    if (tfs_database_prepare(&source->db, sql, &source->statements[which], err) < 0)
        return NULL;
    return source->statements[which];
}

int tfs_rows_check_layout(struct tfs_rows *own, struct tfs_error *err)
{
    struct tfs_rows_layout layout = {{0}};

    if (own->schema->look(&own->source.db, &layout, err) < 0)
        return err->code;
    if (memcmp(&layout, &own->source.layout, sizeof(layout)) == 0)
        return 0;
    return tfs_fail(err, -ESTALE,
                    "another program changed what the tables of the database say since it was "
                    "read");
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Sorted keys of the database as it is in one moment. */
struct index {
    struct tfs_key *keys;
    size_t count, others;
    uint32_t version;
};

static int add_key(const struct tfs_rows *own, sqlite3_stmt *row, struct index *index,
                   struct tfs_error *err)
{
    struct tfs_key *keys = tfs_array_grow(index->keys, index->count, sizeof(*keys));

    if (keys == NULL)
        return tfs_fail_memory(err);
    index->keys = keys;
    if (own->schema->key(&own->source.layout, row, &index->keys[index->count])) {
        index->count++;
        return 0;
    }
    index->others++;
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    return tfs_key_compare(*(const struct tfs_key *)a, *(const struct tfs_key *)b);
}

static int read_index(struct tfs_rows *own, struct index *index, struct tfs_error *err)
{
    struct tfs_database *db = &own->source.db;
    sqlite3_stmt *statement = tfs_rows_statement(own, TFS_ROWS_KEYS, err);

    *index = (struct index){0};
    if (statement == NULL)
        return err->code;
    while (tfs_database_step(db, statement, SQLITE_OK, err) == 1)
        if (add_key(own, statement, index, err) < 0)
            break;
    tfs_database_reset(statement);
    if (index->count > 0)
        qsort(index->keys, index->count, sizeof(*index->keys), compare_keys);
    return err->code < 0 ? err->code : tfs_database_version(db, &index->version, err);
}

/* ---- documents ------------------------------------------------------------------------------- */

static struct tfs_chunk unread_chunk(const struct tfs_rows *own, struct tfs_key key,
                                     uint64_t reading)
{
    return (struct tfs_chunk){
        .key = key,
        .slot = TFS_SLOT_NONE,
        .flags = tfs_rows_have_extra(own) ? TFS_CHUNK_UNREAD_ALL : TFS_CHUNK_UNREAD,
        .own = reading};
}

/* A document of unread chunks. */
static int make_doc(const struct tfs_rows *own, struct tfs_facts *facts, const struct index *index,
                    struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_edit edit;

    tfs_edit_open_empty(facts, &edit, err);
    for (size_t i = 0; i < index->count && err->code == 0; i++) {
        struct tfs_chunk chunk = unread_chunk(own, index->keys[i], own->reading + 1);
        tfs_edit_put(&edit, &chunk, err);
    }
    if (err->code == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

static void count_reading(struct tfs_rows *own, const struct index *index)
{
    own->reading++;
    own->seen = index->version;
}

/* Rows whose key is none: one may be meant as the row of a chunk. */
static int note_others(struct tfs_facts *facts, const struct index *index, struct tfs_error *err)
{
    const size_t others = index->others;

    if (others == 0)
        return 0;
    tfs_facts_note(facts, err, TFS_NOTE_WARNING,
                   "%zu row%s of the database cannot be reached by a coordinate: kept and not "
                   "shown",
                   others, others == 1 ? "" : "s");
    tfs_facts_set_hiding(facts);
    return err->code;
}

/* Reads all keys into a new document, in a snapshot. The caller holds the lock, or is alone. */
static int read_doc(struct tfs_rows *own, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;
    struct index index;

    if (read_index(own, &index, err) == 0 &&
        own->schema->facts(&own->source.layout, &facts, err) == 0 &&
        note_others(facts, &index, err) == 0 && make_doc(own, facts, &index, doc, err) == 0)
        count_reading(own, &index);
    tfs_facts_unref(facts);
    free(index.keys);
    return err->code;
}

/* ---- reading again --------------------------------------------------------------------------- */

/* Puts an unread chunk for a row that is new or another one than before. */
static int refresh_row(struct tfs_rows *own, struct tfs_edit *edit, struct tfs_key key,
                       struct tfs_error *err)
{
    const struct tfs_chunk *before = tfs_doc_find(edit->base, key);
    struct tfs_chunk chunk = unread_chunk(own, key, own->reading + 1);
    struct tfs_row row = {0};
    bool same = before != NULL;

    if (same && (before->flags != chunk.flags || tfs_rows_was_fetched(own, before))) {
        if (tfs_rows_find(own, key, &row, err) < 0)
            return err->code;
        same = tfs_rows_as_before(own, before, &row, false) &&
               tfs_rows_as_before(own, before, &row, true);
        tfs_row_release(&row);
    }
    return same ? 0 : tfs_edit_put(edit, &chunk, err);
}

/* Removes the chunks whose rows are gone: both lists are sorted. */
static int drop_rows(struct tfs_edit *edit, const struct index *index, struct tfs_error *err)
{
    size_t at = 0;

    for (size_t i = 0; i < edit->base->count; i++) {
        struct tfs_key key = tfs_doc_at(edit->base, i)->key;
        while (at < index->count && tfs_key_compare(index->keys[at], key) < 0)
            at++;
        if ((at == index->count || tfs_key_compare(index->keys[at], key) != 0) &&
            tfs_edit_remove(edit, key, err) < 0)
            return err->code;
    }
    return 0;
}

static int refresh_doc(struct tfs_rows *own, struct tfs_doc *base, struct tfs_doc **doc,
                       struct tfs_error *err)
{
    struct index index;
    struct tfs_edit edit;

    if (tfs_edit_open(base, &edit, err) < 0)
        return err->code;
    if (read_index(own, &index, err) == 0 && drop_rows(&edit, &index, err) == 0)
        for (size_t i = 0; i < index.count && err->code == 0; i++)
            refresh_row(own, &edit, index.keys[i], err);
    if (err->code == 0) {
        count_reading(own, &index);
        *doc = tfs_edit_finish(&edit);
    }
    free(index.keys);
    tfs_edit_release(&edit);
    return err->code;
}

int tfs_rows_refresh(struct tfs_rows *own, struct tfs_doc *base, struct tfs_doc **doc,
                     struct tfs_error *err)
{
    if (tfs_database_snapshot(&own->source.db, err) == 0)
        refresh_doc(own, base, doc, err);
    tfs_database_rollback(&own->source.db);
    return err->code;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The journal lies beside the database. */
static int check_writable(struct tfs_save *save, struct tfs_error *err)
{
    char *directory = tfs_file_directory(save->path);
    struct tfs_error why = {0};

    if (directory == NULL)
        return tfs_fail_memory(err);
    if (access(save->path, W_OK) < 0)
        tfs_fail(&why, -errno, "it cannot be written: %s", strerror(errno));
    else if (access(directory, W_OK) < 0)
        tfs_fail(&why, -errno, "its directory, where the journal has to be, cannot be written: %s",
                 strerror(errno));
    tfs_save_set_read_only(save, &why);
    free(directory);
    return 0;
}

int tfs_rows_check_path(const struct tfs_save *save, struct tfs_error *err)
{
    const struct tfs_rows *own = tfs_rows_of(save);
    struct stat now;

    if (lstat(save->path, &now) < 0)
        return tfs_fail(err, -EIO, "the database is not where it was: %s", strerror(errno));
    if (now.st_dev != own->file.st.st_dev || now.st_ino != own->file.st.st_ino)
        return tfs_fail(err, -ESTALE, "the database was replaced by another program");
    return 0;
}

static bool is_elsewhere(const struct tfs_save *save)
{
    struct tfs_error ignored = {0};

    return tfs_rows_check_path(save, &ignored) < 0;
}

/* Both were opened by path: are they one file, and still the one there? */
static int check_both(const struct tfs_save *save, const struct tfs_rows *own,
                      struct tfs_error *err)
{
    const struct stat *st = &own->file.st;
    struct stat now;

    if (lstat(save->path, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
        !tfs_database_moved(&own->source.db))
        return 0;
    return tfs_fail(err, -EAGAIN, "is being replaced by another program");
}

/* Opens file and database; on failure neither is open. */
static int open_both(struct tfs_save *save, struct tfs_rows *own, struct tfs_error *err)
{
    bool writable = tfs_save_is_locked(save) && save->read_only == NULL;

    if (tfs_file_open(save->path, tfs_save_is_locked(save), &own->file, err) < 0)
        return err->code;
    if (source_open(save->path, writable, own->schema, &own->source, err) == 0 &&
        check_both(save, own, err) < 0)
        source_close(&own->source);
    if (err->code < 0)
        tfs_file_close(&own->file);
    return err->code;
}

/* Opens both and reads a document; on failure neither is open. */
static int open_and_read(struct tfs_save *save, struct tfs_rows *own, struct tfs_doc **doc,
                         struct tfs_error *err)
{
    if (open_both(save, own, err) < 0)
        return err->code;
    if (tfs_database_snapshot(&own->source.db, err) == 0)
        read_doc(own, doc, err);
    tfs_database_rollback(&own->source.db);
    if (err->code < 0) {
        source_close(&own->source);
        tfs_file_close(&own->file);
    }
    return err->code;
}

int tfs_rows_open(struct tfs_save *save, const struct tfs_rows_schema *schema,
                  struct tfs_error *err)
{
    struct tfs_rows *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return tfs_fail_memory(err);
    own->schema = schema;
    if ((tfs_save_is_locked(save) && tfs_file_settle(save->path, err) < 0) ||
        check_writable(save, err) < 0 || open_and_read(save, own, &save->doc, err) < 0) {
        free(own);
        return err->code;
    }
    pthread_mutex_init(&own->lock, NULL);
    pthread_mutex_init(&own->memory, NULL);
    save->own = own;
    save->st = own->file.st;
    return 0;
}

/* Closing can write: SQLite brings its log into the file. That is ours, where all was ours. */
void tfs_rows_close(struct tfs_save *save)
{
    struct tfs_rows *own = tfs_rows_of(save);
    struct tfs_error ignored = {0};
    uint32_t version = 0;
    const bool ours = save->keeper != NULL && !is_elsewhere(save) &&
                      tfs_database_version(&own->source.db, &version, &ignored) == 0 &&
                      version == own->seen;

    source_close(&own->source);
    if (ours) {
        tfs_rows_stat(save);
        tfs_undo_wrote(save->keeper, save->path, &save->st);
    }
    tfs_file_close(&own->file);
    pthread_mutex_destroy(&own->lock);
    pthread_mutex_destroy(&own->memory);
    tfs_rows_kept_release(own);
    free(own->prints);
    free(own);
    save->own = NULL;
}

/* ---- outside changes ------------------------------------------------------------------------- */

int tfs_rows_changed(struct tfs_save *save, const struct tfs_key *chunk, struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);
    uint32_t version = 0;

    (void)chunk;
    pthread_mutex_lock(&own->lock);
    if (is_elsewhere(save)) {
        pthread_mutex_unlock(&own->lock);
        return 1;
    }
    int result = tfs_database_version(&own->source.db, &version, err);
    if (result == 0)
        result = version != own->seen;
    pthread_mutex_unlock(&own->lock);
    /* A program that is writing now has not written yet. */
    return result == -EBUSY ? 0 : result;
}

void tfs_rows_stat(struct tfs_save *save)
{
    struct tfs_rows *own = tfs_rows_of(save);
    struct stat st;

    if (fstat(own->file.fd, &st) == 0)
        save->st = own->file.st = st;
}

/* Reads a database that was put in the place of ours; ours stays open until that is done, because
 * what cannot be read is not to be shown instead of it. */
static int read_another(struct tfs_save *save, struct tfs_rows *own, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    struct tfs_file_handle file = own->file;
    struct tfs_rows_source source = own->source;
    const uint32_t seen = own->seen;

    own->source = (struct tfs_rows_source){0};
    if (open_and_read(save, own, doc, err) == 0) {
        if (tfs_doc_keep_slots(*doc, save->doc, err) == 0) {
            source_close(&source);
            tfs_file_close(&file);
            return 0;
        }
        source_close(&own->source);
        tfs_file_close(&own->file);
    }
    own->file = file;
    own->source = source;
    own->seen = seen;
    return err->code;
}

static int read_again(struct tfs_save *save, struct tfs_rows *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    if (is_elsewhere(save))
        return read_another(save, own, doc, err);
    if (tfs_database_snapshot(&own->source.db, err) == 0 && tfs_rows_check_layout(own, err) == 0)
        refresh_doc(own, save->doc, doc, err);
    tfs_database_rollback(&own->source.db);
    return err->code;
}

int tfs_rows_reload(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);
    struct tfs_doc *doc = NULL;

    pthread_mutex_lock(&own->lock);
    if (read_again(save, own, &doc, err) == 0)
        tfs_rows_stat(save);
    pthread_mutex_unlock(&own->lock);
    if (err->code == -EBUSY) {
        /* Somebody is just writing: until he is done, the save is what was read of it, and it
         * counts as changed. */
        tfs_error_reset(err);
        return 0;
    }
    if (err->code < 0) {
        tfs_doc_unref(doc);
        return err->code;
    }
    tfs_doc_unref(save->doc);
    save->doc = doc;
    return 0;
}

/* ---- whose database it is -------------------------------------------------------------------- */

bool tfs_rows_magic(const struct tfs_probe *probe)
{
    static const char magic[16] = "SQLite format 3";

    return probe->head.size >= sizeof(magic) && memcmp(probe->head.data, magic, sizeof(magic)) == 0;
}

int tfs_rows_has_column(const struct tfs_probe *probe, const char *table, const char *column)
{
    struct tfs_database db;
    struct tfs_error why = {0};

    if (!tfs_rows_magic(probe))
        return 0;
    if (tfs_database_peek(probe->path, &db, &why) < 0)
        return why.code == -ENOMEM ? why.code : 0;
    int there = tfs_database_has_table(&db, table, &why);
    if (there == 1)
        there = tfs_database_has_column(&db, table, column);
    tfs_database_close(&db);
    return there < 0 && there != -ENOMEM ? 0 : there;
}
