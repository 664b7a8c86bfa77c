/*
 * An SQLite database of blocks: opened from its keys alone, changed by transactions.
 *
 * Must not know SQL (stream_db.c), nor what blocks hold. Rows are fetched in stream_fetch.c.
 * Invariants:
 *   1. the database is used under own->lock; documents are immutable, as everywhere;
 *   2. a chunk of the document holds what this mount wrote; what its tag calls lazy is fetched by
 *      its key. tfs_chunk.own is the number of the reading that found it, or found it changed;
 *   3. the first value of a row that was fetched since then is remembered by its checksums. After
 *      others changed the database, a row that still has them keeps its number, and nobody has to
 *      look at it again; one that was never fetched was never shown. And a commit leaves everything
 *      as it is when a row that it changes has others;
 *   4. own->file is opened before the database and closed after it, and nothing else opens that
 *      file: closing any descriptor of it would drop SQLite's locks.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/stream.h"
#include "formats/godot_voxel/view.h"
#include "formats/info.h"

static const char magic[16] = "SQLite format 3";

/* ---- documents ------------------------------------------------------------------------------- */

struct stream_facts {
    struct tfs_godot_rules rules; /* first */
    uint32_t schema;
    enum tfs_godot_key_format format;
};

static void describe(const struct tfs_doc *doc, struct tfs_buf *out)
{
    const struct stream_facts *facts = doc->facts->own;

    tfs_info_line(out, "schema version", "%u", facts->schema);
    tfs_info_line(out, "key format", "%s", tfs_godot_key_format_name(facts->format));
    tfs_info_line(out, "coordinates", "%d to %d", facts->rules.low[0], facts->rules.high[0]);
}

static int make_facts(const struct tfs_godot_db *db, size_t others, struct tfs_facts **facts,
                      struct tfs_error *err)
{
    int32_t low, high;

    if (tfs_facts_create(sizeof(struct stream_facts), facts, err) < 0)
        return err->code;
    struct stream_facts *own = (*facts)->own;
    tfs_godot_key_bounds(db->format, &low, &high);
    *own = (struct stream_facts){.rules = {.container = "this database",
                                           .cubed = true,
                                           .po2 = db->po2,
                                           .cased = true,
                                           .low = {low, low, low},
                                           .high = {high, high, high},
                                           .lods = TFS_GODOT_LODS,
                                           .fetch = tfs_godot_stream_fetch,
                                           .fetch_many = tfs_godot_stream_fetch_many,
                                           .describe = describe},
                                 .schema = db->schema,
                                 .format = db->format};
    if (others > 0)
        tfs_facts_note(*facts, err, TFS_NOTE_WARNING,
                       "%zu row%s of the database cannot be reached by a coordinate: kept and not "
                       "shown",
                       others, others == 1 ? "" : "s");
    return err->code;
}

static int compare_keys(const void *a, const void *b)
{
    return tfs_key_compare(*(const struct tfs_key *)a, *(const struct tfs_key *)b);
}

static struct tfs_chunk lazy_chunk(struct tfs_key key, uint64_t reading)
{
    return (struct tfs_chunk){.key = key,
                              .slot = TFS_SLOT_NONE,
                              .tag = TFS_GODOT_LAZY | TFS_GODOT_LAZY_EXTRA,
                              .own = reading};
}

/* Sorted keys of the database as it is in one moment. */
struct index {
    struct tfs_key *keys;
    size_t count, others;
    uint32_t version;
};

static int read_index(struct tfs_godot_stream *own, struct index *index, struct tfs_error *err)
{
    *index = (struct index){0};
    if (tfs_godot_db_keys(&own->db, &index->keys, &index->count, &index->others, err) < 0)
        return err->code;
    if (index->count > 0)
        qsort(index->keys, index->count, sizeof(*index->keys), compare_keys);
    return tfs_godot_db_version(&own->db, &index->version, err);
}

/* A document of lazy chunks. */
static int make_doc(struct tfs_facts *facts, const struct index *index, uint64_t reading,
                    struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_doc *empty = NULL;
    struct tfs_edit edit;

    if (tfs_doc_create(facts, &empty, err) < 0)
        return err->code;
    if (tfs_edit_open(empty, &edit, err) == 0) {
        for (size_t i = 0; i < index->count && err->code == 0; i++) {
            struct tfs_chunk chunk = lazy_chunk(index->keys[i], reading);
            tfs_edit_put(&edit, &chunk, err);
        }
        if (err->code == 0)
            *doc = tfs_edit_finish(&edit);
        tfs_edit_release(&edit);
    }
    tfs_doc_unref(empty);
    return err->code;
}

/* Reads all keys into a new document. The caller holds the lock, or is alone. */
static int read_doc(struct tfs_godot_stream *own, struct tfs_doc **doc, struct tfs_error *err)
{
    struct tfs_facts *facts = NULL;
    struct index index = {0};

    if (tfs_godot_db_snapshot(&own->db, err) < 0)
        return err->code;
    if (read_index(own, &index, err) == 0 && make_facts(&own->db, index.others, &facts, err) == 0 &&
        make_doc(facts, &index, own->reading + 1, doc, err) == 0) {
        own->reading++;
        own->seen = index.version;
    }
    tfs_godot_db_rollback(&own->db);
    tfs_facts_unref(facts);
    free(index.keys);
    return err->code;
}

/* ---- reading again --------------------------------------------------------------------------- */

/* Puts a lazy chunk for a row that is new or another one than before. */
static int refresh_row(struct tfs_godot_stream *own, struct tfs_edit *edit, struct tfs_key key,
                       struct tfs_error *err)
{
    const struct tfs_chunk *before = tfs_doc_find(edit->base, key);
    struct tfs_chunk chunk = lazy_chunk(key, own->reading + 1);
    struct tfs_godot_row row = {0};
    bool same = before != NULL;

    if (same && (before->tag != chunk.tag || tfs_godot_stream_print(own, before) != NULL)) {
        if (tfs_godot_db_fetch(&own->db, key, &row, err) < 0)
            return err->code;
        same = tfs_godot_stream_as_before(own, before, &row, false) &&
               tfs_godot_stream_as_before(own, before, &row, true);
        tfs_godot_row_release(&row);
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

/* The document as the database is now; what did not change is shared with `base`. */
static int refresh_doc(struct tfs_godot_stream *own, struct tfs_doc *base, struct tfs_doc **doc,
                       struct tfs_error *err)
{
    struct index index = {0};
    struct tfs_edit edit;

    if (tfs_edit_open(base, &edit, err) < 0)
        return err->code;
    if (tfs_godot_db_snapshot(&own->db, err) == 0 && read_index(own, &index, err) == 0 &&
        drop_rows(&edit, &index, err) == 0)
        for (size_t i = 0; i < index.count && err->code == 0; i++)
            refresh_row(own, &edit, index.keys[i], err);
    tfs_godot_db_rollback(&own->db);
    if (err->code == 0) {
        own->reading++;
        own->seen = index.version;
        *doc = tfs_edit_finish(&edit);
    }
    free(index.keys);
    tfs_edit_release(&edit);
    return err->code;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool exclusive(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

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

/* Is the file at the save's path still the database that is open? EIO: there is none; ESTALE:
 * another one. The caller holds the lock. */
static int check_path(const struct tfs_save *save, struct tfs_error *err)
{
    const struct tfs_godot_stream *own = save->own;
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

    return check_path(save, &ignored) < 0;
}

/* Both were opened by path: are they one file, and still the one there? */
static int check_both(const struct tfs_save *save, const struct tfs_file_handle *file,
                      const struct tfs_godot_db *db, struct tfs_error *err)
{
    struct stat now;

    if (lstat(save->path, &now) == 0 && now.st_dev == file->st.st_dev &&
        now.st_ino == file->st.st_ino && !tfs_godot_db_moved(db))
        return 0;
    return tfs_fail(err, -EAGAIN, "is being replaced by another program");
}

/* Opens file and database; on failure neither is open. */
static int open_both(struct tfs_save *save, struct tfs_file_handle *file, struct tfs_godot_db *db,
                     struct tfs_error *err)
{
    bool writable = exclusive(save) && save->read_only == NULL;

    if (tfs_file_open(save->path, exclusive(save), file, err) < 0)
        return err->code;
    if (tfs_godot_db_open(save->path, writable, db, err) == 0 &&
        check_both(save, file, db, err) < 0)
        tfs_godot_db_close(db);
    if (err->code < 0)
        tfs_file_close(file);
    return err->code;
}

static void stream_free(struct tfs_godot_stream *own)
{
    tfs_godot_db_close(&own->db);
    tfs_file_close(&own->file);
    pthread_mutex_destroy(&own->lock);
    free(own->prints);
    free(own);
}

static int stream_open(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_stream *own = calloc(1, sizeof(*own));

    if (own == NULL)
        return tfs_fail_memory(err);
    own->file.fd = -1;
    pthread_mutex_init(&own->lock, NULL);
    if ((exclusive(save) && tfs_file_settle(save->path, err) < 0) ||
        check_writable(save, err) < 0 || tfs_godot_cache_create(save, err) < 0 ||
        open_both(save, &own->file, &own->db, err) < 0 || read_doc(own, &save->doc, err) < 0) {
        tfs_godot_cache_free(save);
        stream_free(own);
        return err->code;
    }
    save->own = own;
    save->st = own->file.st;
    return 0;
}

static void stream_close(struct tfs_save *save)
{
    tfs_godot_cache_free(save);
    stream_free(save->own);
    save->own = NULL;
}

/* ---- outside changes ------------------------------------------------------------------------- */

static int stream_changed(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_stream *own = save->own;
    uint32_t version = 0;

    pthread_mutex_lock(&own->lock);
    if (is_elsewhere(save)) {
        pthread_mutex_unlock(&own->lock);
        return 1;
    }
    int result = tfs_godot_db_version(&own->db, &version, err);
    if (result == 0)
        result = version != own->seen;
    pthread_mutex_unlock(&own->lock);
    /* Who is just writing has not written yet. */
    return result == -EBUSY ? 0 : result;
}

static void stat_again(struct tfs_save *save, struct tfs_godot_stream *own)
{
    struct stat st;

    if (fstat(own->file.fd, &st) == 0)
        save->st = own->file.st = st;
}

/* Reads a database that was put in the place of ours; ours stays open until that is done, because
 * what cannot be read is not to be shown instead of it. */
static int read_another(struct tfs_save *save, struct tfs_godot_stream *own, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    struct tfs_file_handle file = own->file;
    struct tfs_godot_db db = own->db;
    const uint32_t seen = own->seen;

    if (open_both(save, &own->file, &own->db, err) == 0) {
        if (read_doc(own, doc, err) == 0 && tfs_doc_keep_slots(*doc, save->doc, err) == 0) {
            tfs_godot_db_close(&db);
            tfs_file_close(&file);
            return 0;
        }
        tfs_godot_db_close(&own->db);
        tfs_file_close(&own->file);
    }
    own->file = file;
    own->db = db;
    own->seen = seen;
    return err->code;
}

/* Reads the row of meta again. If it has changed, nothing that was read before means the same: then
 * all is read. After a failure the row counts as it was. */
static int read_by_meta(struct tfs_save *save, struct tfs_godot_stream *own, struct tfs_doc **doc,
                        struct tfs_error *err)
{
    struct tfs_godot_db *db = &own->db;
    const struct tfs_godot_db before = *db;

    if (tfs_godot_db_meta(db, err) == 0) {
        if (before.schema == db->schema && before.format == db->format && before.po2 == db->po2)
            return refresh_doc(own, save->doc, doc, err);
        if (read_doc(own, doc, err) == 0)
            tfs_doc_keep_slots(*doc, save->doc, err);
    }
    if (err->code < 0) {
        db->schema = before.schema;
        db->format = before.format;
        db->po2 = before.po2;
    }
    return err->code;
}

static int read_again(struct tfs_save *save, struct tfs_godot_stream *own, struct tfs_doc **doc,
                      struct tfs_error *err)
{
    return is_elsewhere(save) ? read_another(save, own, doc, err)
                              : read_by_meta(save, own, doc, err);
}

static int stream_reload(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_stream *own = save->own;
    struct tfs_doc *doc = NULL;

    pthread_mutex_lock(&own->lock);
    if (read_again(save, own, &doc, err) == 0)
        stat_again(save, own);
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

/* ---- committing ------------------------------------------------------------------------------ */

struct writing {
    struct tfs_save *save;
    struct tfs_godot_stream *own;
    const struct tfs_doc *doc;
    bool foreign; /* others changed the database since it was read */
    struct tfs_error *err;
};

/* Is the value of a column another one after the edit? */
static bool differs(const struct tfs_chunk *before, const struct tfs_chunk *after, bool extra)
{
    const enum tfs_godot_tag tag = extra ? TFS_GODOT_LAZY_EXTRA : TFS_GODOT_LAZY;

    if (tfs_godot_is_lazy(after, tag))
        return false;
    return before == NULL || tfs_godot_is_lazy(before, tag) ||
           !tfs_blob_equal(extra ? before->extra : before->blob,
                           extra ? after->extra : after->blob);
}

/* Does the row say what the document does? NULL: that there is none. */
static bool is_as_meant(const struct tfs_chunk *after, const struct tfs_godot_row *row)
{
    if (after == NULL || !row->found)
        return after == NULL && !row->found;
    return (tfs_godot_is_lazy(after, TFS_GODOT_LAZY) || tfs_blob_equal(row->block, after->blob)) &&
           (tfs_godot_is_lazy(after, TFS_GODOT_LAZY_EXTRA) ||
            tfs_blob_equal(row->extra, after->extra));
}

/* Another program changed the database. Did it change this row in what we are about to change? A
 * row that holds already what we write is no conflict: our own last commit may have written it and
 * then failed to make it durable, so it is written again. */
static int check_unchanged(const struct writing *w, const struct tfs_chunk *before,
                           const struct tfs_chunk *after)
{
    const struct tfs_key key = before == NULL ? after->key : before->key;
    struct tfs_godot_row row = {0};
    bool same;

    if (tfs_godot_db_fetch(&w->own->db, key, &row, w->err) < 0)
        return w->err->code;
    same = row.found == (before != NULL);
    if (same && before != NULL && (after == NULL || differs(before, after, false)))
        same = tfs_godot_stream_as_before(w->own, before, &row, false);
    if (same && before != NULL && (after == NULL || differs(before, after, true)))
        same = tfs_godot_stream_as_before(w->own, before, &row, true);
    same = same || is_as_meant(after, &row);
    tfs_godot_row_release(&row);
    if (same)
        return 0;
    return tfs_fail(w->err, -ESTALE, "another program changed chunk %d_%d_%d since it was read",
                    key.x, key.y, key.z);
}

static int check_row(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct writing *w = arg;

    (void)before;
    return after == NULL ? 0
                         : w->save->tree->chunk_check(w->save, w->doc, after->key, NULL, w->err);
}

/* Does the row have now what the document says? */
static int verify_row(const struct writing *w, const struct tfs_chunk *after)
{
    struct tfs_godot_row row = {0};

    if (tfs_godot_db_fetch(&w->own->db, after->key, &row, w->err) < 0)
        return w->err->code;
    bool same = is_as_meant(after, &row);
    tfs_godot_row_release(&row);
    return same ? 0 : tfs_fail(w->err, -EIO, "the database does not read back as it was written");
}

static int write_row(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct writing *w = arg;
    struct tfs_godot_db *db = &w->own->db;

    if (w->foreign && check_unchanged(w, before, after) < 0)
        return w->err->code;
    if (after == NULL)
        return tfs_godot_db_delete(db, before->key, w->err);
    if (differs(before, after, false) &&
        tfs_godot_db_put(db, TFS_GODOT_SQL_PUT_BLOCK, after->key, after->blob, w->err) < 0)
        return w->err->code;
    if (differs(before, after, true) &&
        tfs_godot_db_put(db, TFS_GODOT_SQL_PUT_EXTRA, after->key, after->extra, w->err) < 0)
        return w->err->code;
    return verify_row(w, after);
}

/* The transaction. */
static int write_rows(struct writing *w)
{
    struct tfs_godot_db *db = &w->own->db;
    uint32_t version = 0;

    if (check_path(w->save, w->err) < 0 || tfs_godot_db_begin(db, w->err) < 0)
        return w->err->code;
    /* Again: waiting for the lock may have taken its time. */
    if (check_path(w->save, w->err) == 0 && tfs_godot_db_version(db, &version, w->err) == 0)
        w->foreign = version != w->own->seen;
    if (w->err->code == 0 && w->own->unsure)
        tfs_godot_db_touch(db, w->err);
    if (w->err->code == 0 && tfs_doc_diff(w->save->doc, w->doc, write_row, w) == 0)
        w->own->unsure = tfs_godot_db_commit(db, w->err) < 0;
    if (w->err->code < 0)
        tfs_godot_db_rollback(db);
    return w->err->code;
}

/* Makes save->doc what is on disk: `doc`, or where others wrote too, all of it read again. What was
 * written is safe by now; should reading fail, the next look at the database says so. */
static void adopt(struct writing *w, struct tfs_doc *doc)
{
    struct tfs_error ignored = {0};
    struct tfs_doc *read = NULL;

    if (w->foreign)
        refresh_doc(w->own, doc, &read, &ignored);
    tfs_doc_unref(w->save->doc);
    w->save->doc = read != NULL ? read : tfs_doc_ref(doc);
    stat_again(w->save, w->own);
}

static int check_allowed(const struct tfs_save *save, struct tfs_error *err)
{
    if (save->read_only != NULL)
        return tfs_fail(err, -EROFS, "cannot be written: %s", save->read_only);
    if (!exclusive(save))
        return tfs_fail(err, -EROFS, "was opened for reading only");
    return 0;
}

static int stream_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    struct writing w = {.save = save, .own = save->own, .doc = doc, .err = err};

    if (check_allowed(save, err) < 0 || tfs_doc_diff(save->doc, doc, check_row, &w) < 0)
        return err->code;
    pthread_mutex_lock(&w.own->lock);
    if (write_rows(&w) == 0)
        adopt(&w, doc);
    pthread_mutex_unlock(&w.own->lock);
    return err->code;
}

/* ---- the container --------------------------------------------------------------------------- */

static int stream_probe(const struct tfs_probe *probe)
{
    return probe->head.size >= sizeof(magic) && memcmp(probe->head.data, magic, sizeof(magic)) == 0
               ? TFS_BID_FULL
               : TFS_BID_NONE;
}

const struct tfs_container tfs_godot_stream_container = {
    .format = "godot_voxel",
    .name = "SQLite stream",
    .tree = &tfs_godot_stream_tree,
    .probe = stream_probe,
    .open = stream_open,
    .load = tfs_godot_stream_load,
    .commit = stream_commit,
    .changed = stream_changed,
    .reload = stream_reload,
    .close = stream_close,
    .detects_conflicts = true,
};
