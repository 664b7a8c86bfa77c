/*
 * A chunk's key -> the values of its row, and the checksums that are kept of them.
 *
 * Must not know documents but for what a chunk says. What is fetched first in a reading is what has
 * been shown: invariant 3 of rows.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/containers/database/rows_state.h"

/* ---- what was fetched ------------------------------------------------------------------------ */

static uint64_t sum_of(const struct tfs_blob *blob, uint64_t seed)
{
    return blob == NULL ? 0 : tfs_checksum(tfs_blob_span(blob), seed);
}

static struct tfs_row_print print_of(const struct tfs_row *row, uint64_t reading)
{
    const uint64_t value = sum_of(row->value, 0);

    return (struct tfs_row_print){reading, value, sum_of(row->extra, value + 1)};
}

/* False: it was not fetched in its reading. */
static bool find_print(struct tfs_rows *own, const struct tfs_chunk *chunk,
                       struct tfs_row_print *print)
{
    if (tfs_rows_kept_print(own, chunk, print))
        return true;
    pthread_mutex_lock(&own->memory);
    const bool found = chunk->slot < own->print_count &&
                       own->prints[chunk->slot].reading == tfs_rows_reading(chunk);
    if (found)
        *print = own->prints[chunk->slot];
    pthread_mutex_unlock(&own->memory);
    return found;
}

bool tfs_rows_was_fetched(struct tfs_rows *own, const struct tfs_chunk *chunk)
{
    struct tfs_row_print print;

    return find_print(own, chunk, &print);
}

/* Room for the print of that slot. The caller holds the lock of what is remembered. */
static bool has_room(struct tfs_rows *own, uint32_t slot)
{
    if (slot < own->print_count)
        return true;
    const uint32_t count = slot / 1024 * 1024 + 1024;
    struct tfs_row_print *more = reallocarray(own->prints, count, sizeof(*more));
    if (more == NULL)
        return false;
    memset(more + own->print_count, 0, (count - own->print_count) * sizeof(*more));
    own->prints = more;
    own->print_count = count;
    return true;
}

/* The first that is fetched in a reading counts. */
static int add_print(struct tfs_rows *own, const struct tfs_chunk *chunk, const struct tfs_row *row,
                     struct tfs_error *err)
{
    if (tfs_rows_was_fetched(own, chunk))
        return 0;
    const struct tfs_row_print print = print_of(row, tfs_rows_reading(chunk));
    pthread_mutex_lock(&own->memory);
    const bool room = has_room(own, chunk->slot);
    if (room && own->prints[chunk->slot].reading != print.reading)
        own->prints[chunk->slot] = print;
    pthread_mutex_unlock(&own->memory);
    return room ? 0 : tfs_fail_memory(err);
}

bool tfs_rows_as_before(struct tfs_rows *own, const struct tfs_chunk *before,
                        const struct tfs_row *row, bool extra)
{
    const struct tfs_blob *now = extra ? row->extra : row->value;

    if (!tfs_chunk_is_unread(before, extra))
        return tfs_blob_equal(now, extra ? before->extra : before->blob);
    struct tfs_row_print print;
    /* What nobody looked at, nobody knows another way. */
    if (!find_print(own, before, &print))
        return true;
    return extra ? print.extra == sum_of(now, print.value + 1) : print.value == sum_of(now, 0);
}

bool tfs_rows_sum(const struct tfs_save *save, const struct tfs_chunk *chunk, uint64_t *sum)
{
    struct tfs_row_print print;

    if (chunk->blob != NULL || chunk->extra != NULL ||
        !find_print(tfs_rows_of(save), chunk, &print))
        return false;
    *sum = print.extra != 0 ? print.extra : print.value;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

#define MANY_BYTES ((size_t)1 << 20) /* of rows that are fetched in one go */

void tfs_row_release(struct tfs_row *row)
{
    tfs_blob_unref(row->value);
    tfs_blob_unref(row->extra);
    *row = (struct tfs_row){0};
}

int tfs_rows_find(struct tfs_rows *own, struct tfs_key key, struct tfs_row *row,
                  struct tfs_error *err)
{
    struct tfs_rows_source *source = &own->source;
    struct tfs_row found = {0};
    sqlite3_stmt *statement = tfs_rows_statement(own, TFS_ROWS_FETCH, err);
    int count;

    if (statement == NULL)
        return err->code;
    int bound = own->schema->bind(&source->layout, statement, key, &count);
    found.found = tfs_database_step(&source->db, statement, bound, err) == 1;
    if (found.found && tfs_database_value(statement, 0, &found.value, err) == 0 &&
        sqlite3_column_count(statement) > 1)
        tfs_database_value(statement, 1, &found.extra, err);
    tfs_database_reset(statement);
    if (err->code < 0)
        tfs_row_release(&found);
    else
        *row = found;
    return err->code;
}

/* The row of a chunk. A reading that begins after a commit has what the commit wrote. */
static int fetch_row(struct tfs_rows *own, const struct tfs_chunk *chunk, struct tfs_row *row,
                     struct tfs_error *err)
{
    if (tfs_rows_kept_bytes(own, chunk, &row->value, err) != 0)
        return err->code;
    if (tfs_rows_find(own, chunk->key, row, err) < 0)
        return err->code;
    if (!row->found)
        return tfs_fail(err, -ESTALE, "another program removed this row of the database");
    return add_print(own, chunk, row, err);
}

/* Puts a row where the chunk lacks it: the chunk takes what the row holds of it. */
static void fill_chunk(struct tfs_chunk *chunk, const struct tfs_row *row)
{
    if (tfs_chunk_is_unread(chunk, false))
        chunk->blob = tfs_blob_ref(row->value);
    if (tfs_chunk_is_unread(chunk, true))
        chunk->extra = tfs_blob_ref(row->extra);
    chunk->flags &= ~(uint32_t)TFS_CHUNK_UNREAD_ALL;
}

/* As many as are worth one go; with `err` set, the last of them could not be had. */
static size_t fetch_rows(struct tfs_rows *own, struct tfs_chunk *chunks, size_t count,
                         struct tfs_error *err)
{
    size_t ready = 0, bytes = 0;

    for (; ready < count && bytes < MANY_BYTES && err->code == 0; ready++) {
        struct tfs_row row = {0};
        if ((chunks[ready].flags & TFS_CHUNK_UNREAD_ALL) == 0)
            continue;
        if (fetch_row(own, &chunks[ready], &row, err) == 0)
            fill_chunk(&chunks[ready], &row);
        bytes += tfs_blob_span(row.value).size + tfs_blob_span(row.extra).size;
        tfs_row_release(&row);
    }
    return err->code < 0 && ready > 0 ? ready - 1 : ready;
}

/* To lock the database, and look whether it is still what SQLite remembers of it, costs more than
 * to read a row: here that is done once. */
static size_t fetch_at_once(struct tfs_rows *own, struct tfs_chunk *chunks, size_t count,
                            struct tfs_error *err)
{
    size_t ready = 0;

    if (count == 1)
        return fetch_rows(own, chunks, count, err);
    if (tfs_database_snapshot(&own->source.db, err) == 0)
        ready = fetch_rows(own, chunks, count, err);
    tfs_database_rollback(&own->source.db);
    return ready;
}

size_t tfs_rows_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                      struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);

    pthread_mutex_lock(&own->lock);
    const size_t ready = fetch_at_once(own, chunks, count, err);
    pthread_mutex_unlock(&own->lock);
    return ready;
}
