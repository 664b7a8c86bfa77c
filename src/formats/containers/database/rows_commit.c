/*
 * A document -> a transaction that makes the database say what it says.
 *
 * Must not know what rows hold.
 */
#include <errno.h>

#include "formats/containers/database/rows_state.h"

struct writing {
    struct tfs_save *save;
    struct tfs_rows *own;
    const struct tfs_doc *doc;
    bool foreign; /* others changed the database since it was read */
    struct tfs_error *err;
};

/* ---- comparing ------------------------------------------------------------------------------- */

/* Is the value of a column another one after the edit? */
static bool differs(const struct tfs_chunk *before, const struct tfs_chunk *after, bool extra)
{
    if (tfs_chunk_is_unread(after, extra))
        return false;
    return before == NULL || tfs_chunk_is_unread(before, extra) ||
           !tfs_blob_equal(extra ? before->extra : before->blob,
                           extra ? after->extra : after->blob);
}

/* Does the row say what the document does? NULL: that there is none. */
static bool is_as_meant(const struct tfs_chunk *after, const struct tfs_row *row)
{
    if (after == NULL || !row->found)
        return after == NULL && !row->found;
    return (tfs_chunk_is_unread(after, false) || tfs_blob_equal(row->value, after->blob)) &&
           (tfs_chunk_is_unread(after, true) || tfs_blob_equal(row->extra, after->extra));
}

/* Another program changed the database. Did it change this row in what we are about to change? A
 * row that holds already what we write is no conflict: our own last commit may have written it and
 * then failed to make it durable, so it is written again. */
static int check_unchanged(const struct writing *w, const struct tfs_chunk *before,
                           const struct tfs_chunk *after)
{
    const struct tfs_key key = before == NULL ? after->key : before->key;
    struct tfs_row row = {0};
    bool same;

    if (tfs_rows_find(w->own, key, &row, w->err) < 0)
        return w->err->code;
    same = row.found == (before != NULL);
    if (same && before != NULL && (after == NULL || differs(before, after, false)))
        same = tfs_rows_as_before(w->own, before, &row, false);
    if (same && before != NULL && (after == NULL || differs(before, after, true)))
        same = tfs_rows_as_before(w->own, before, &row, true);
    same = same || is_as_meant(after, &row);
    tfs_row_release(&row);
    if (same)
        return 0;
    if (!w->foreign)
        return tfs_fail(w->err, -EIO,
                        "the database has a row for chunk %d_%d_%d already, which cannot be read",
                        key.x, key.y, key.z);
    return tfs_fail(w->err, -ESTALE, "another program changed chunk %d_%d_%d since it was read",
                    key.x, key.y, key.z);
}

/* Does the row have now what the document says? */
static int verify_row(const struct writing *w, const struct tfs_chunk *after)
{
    struct tfs_row row = {0};

    if (tfs_rows_find(w->own, after->key, &row, w->err) < 0)
        return w->err->code;
    bool same = is_as_meant(after, &row);
    tfs_row_release(&row);
    return same ? 0 : tfs_fail(w->err, -EIO, "the database does not read back as it was written");
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Runs a statement on a key; `put`: it has a value, too. */
static int run(struct tfs_rows *own, enum tfs_rows_statement which, struct tfs_key key, bool put,
               const struct tfs_blob *value, struct tfs_error *err)
{
    sqlite3_stmt *statement = tfs_rows_statement(own, which, err);
    int count = 0;

    if (statement == NULL)
        return err->code;
    int bound = own->schema->bind(&own->source.layout, statement, key, &count);
    if (bound == SQLITE_OK && put)
        bound = tfs_database_bind(statement, count + 1, value);
    tfs_database_step(&own->source.db, statement, bound, err);
    tfs_database_reset(statement);
    return err->code;
}

static int write_held(const struct writing *w, const struct tfs_chunk *before,
                      const struct tfs_chunk *after)
{
    /* A row whose key is none, such as the text '5', may be the one that a new row would replace;
     * but our own last commit may have left it there. */
    if ((w->foreign || (before == NULL && !w->own->unsure)) &&
        check_unchanged(w, before, after) < 0)
        return w->err->code;
    if (after == NULL)
        return run(w->own, TFS_ROWS_REMOVE, before->key, false, NULL, w->err);
    if (differs(before, after, false) &&
        run(w->own, TFS_ROWS_PUT, after->key, true, after->blob, w->err) < 0)
        return w->err->code;
    if (tfs_rows_have_extra(w->own) && differs(before, after, true) &&
        run(w->own, TFS_ROWS_PUT_EXTRA, after->key, true, after->extra, w->err) < 0)
        return w->err->code;
    return verify_row(w, after);
}

/* What an edit made has to be in memory for that. */
static int write_row(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct writing *w = arg;
    struct tfs_blob *bytes = NULL;
    const int kept = after == NULL ? 0 : tfs_rows_kept_bytes(w->own, after, &bytes, w->err);

    if (kept == 0)
        return write_held(w, before, after);
    if (kept > 0) {
        struct tfs_chunk held = *after;
        held.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
        held.blob = bytes;
        write_held(w, before, &held);
    }
    tfs_blob_unref(bytes);
    return w->err->code;
}

static int note_written(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct writing *w = arg;

    (void)before;
    if (after != NULL)
        tfs_rows_kept_written(w->own, after);
    return 0;
}

/* The transaction. */
static int write_rows(struct writing *w)
{
    struct tfs_database *db = &w->own->source.db;
    uint32_t version = 0;

    if (tfs_rows_check_path(w->save, w->err) < 0 || tfs_database_begin(db, w->err) < 0)
        return w->err->code;
    /* Again: waiting for the lock may have taken its time. */
    if (tfs_rows_check_path(w->save, w->err) == 0 &&
        tfs_database_version(db, &version, w->err) == 0)
        w->foreign = version != w->own->seen;
    if (w->err->code == 0 && w->foreign)
        tfs_rows_check_layout(w->own, w->err);
    if (w->err->code == 0 && w->own->unsure)
        tfs_database_touch(db, w->err);
    if (w->err->code == 0 && tfs_doc_diff(w->save->doc, w->doc, write_row, w) == 0)
        w->own->unsure = tfs_database_commit(db, w->err) < 0;
    if (w->err->code < 0)
        tfs_database_rollback(db);
    else
        (void)tfs_doc_diff(w->save->doc, w->doc, note_written, w);
    return w->err->code;
}

/* ---- committing ------------------------------------------------------------------------------ */

/* Makes save->doc what is on disk: `doc`, or where others wrote too, all of it read again. What was
 * written is safe by now; should reading fail, the next look at the database says so. */
static void adopt(struct writing *w, struct tfs_doc *doc)
{
    struct tfs_error ignored = {0};
    struct tfs_doc *read = NULL;

    if (w->foreign)
        tfs_rows_refresh(w->own, doc, &read, &ignored);
    tfs_doc_unref(w->save->doc);
    w->save->doc = read != NULL ? read : tfs_doc_ref(doc);
    tfs_rows_stat(w->save);
}

static int copy_to(void *arg, const char *target, struct tfs_error *err)
{
    struct tfs_rows *own = arg;

    return tfs_database_copy(&own->source.db, target, err);
}

/* For undo. The caller holds the lock. */
static int keep(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);
    struct stat now;

    if (fstat(own->file.fd, &now) < 0)
        return tfs_fail_errno(err, "cannot be examined");
    return tfs_undo_copy(save->keeper, save->path, &now, copy_to, own, err);
}

/* What was kept is looked at as any other database first. */
static int restore(struct tfs_save *save, const char *from, struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);
    struct tfs_rows_layout layout;
    struct tfs_database kept;

    if (tfs_database_open(from, false, own->schema->value_max, &kept, err) < 0)
        return err->code;
    if (own->schema->look(&kept, &layout, err) == 0 && tfs_rows_check_path(save, err) == 0 &&
        keep(save, err) == 0) {
        tfs_database_restore(&own->source.db, &kept, err);
        /* One that was rolled back may have moved the times of the file all the same. */
        tfs_rows_stat(save);
        tfs_undo_wrote(save->keeper, save->path, &save->st);
    }
    tfs_database_close(&kept);
    return err->code;
}

int tfs_rows_restore(struct tfs_save *save, const char *from, struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);

    if (tfs_save_check_allowed(save, err) < 0)
        return err->code;
    pthread_mutex_lock(&own->lock);
    restore(save, from, err);
    pthread_mutex_unlock(&own->lock);
    return err->code;
}

int tfs_rows_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err)
{
    struct writing w = {.save = save, .own = tfs_rows_of(save), .doc = doc, .err = err};

    if (tfs_save_check_allowed(save, err) < 0 || tfs_save_check_chunks(save, doc, err) < 0)
        return err->code;
    pthread_mutex_lock(&w.own->lock);
    if (keep(save, err) == 0 && write_rows(&w) == 0) {
        adopt(&w, doc);
        tfs_undo_wrote(save->keeper, save->path, &save->st);
    }
    pthread_mutex_unlock(&w.own->lock);
    return err->code;
}
