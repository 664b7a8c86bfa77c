/*
 * A chunk's key -> the values of its row, and the checksums that are kept of them.
 *
 * Must not know SQL (stream_db.c), nor documents but for what a chunk says. What is fetched first
 * in a reading is what has been shown: invariant 3 of stream.c.
 */
#include "formats/godot_voxel/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

/* ---- what was fetched ------------------------------------------------------------------------ */

static uint32_t checksum(const struct tfs_blob *blob)
{
    struct tfs_span span = tfs_blob_span(blob);

    return span.size == 0 ? 0 : (uint32_t)crc32_z(0, span.data, span.size);
}

/* NULL and no bytes are two things. */
static uint32_t size_of(const struct tfs_blob *blob)
{
    return blob == NULL ? UINT32_MAX : (uint32_t)blob->size;
}

static struct tfs_godot_print print_of(const struct tfs_godot_row *row, uint64_t reading)
{
    return (struct tfs_godot_print){reading, size_of(row->block), checksum(row->block),
                                    size_of(row->extra), checksum(row->extra)};
}

const struct tfs_godot_print *tfs_godot_stream_print(const struct tfs_godot_stream *own,
                                                     const struct tfs_chunk *chunk)
{
    if (chunk->slot >= own->print_count || own->prints[chunk->slot].reading != chunk->own)
        return NULL;
    return &own->prints[chunk->slot];
}

static int add_print(struct tfs_godot_stream *own, const struct tfs_chunk *chunk,
                     const struct tfs_godot_row *row, struct tfs_error *err)
{
    if (chunk->slot >= own->print_count) {
        uint32_t count = chunk->slot / 1024 * 1024 + 1024;
        struct tfs_godot_print *more = reallocarray(own->prints, count, sizeof(*more));
        if (more == NULL)
            return tfs_fail_memory(err);
        memset(more + own->print_count, 0, (count - own->print_count) * sizeof(*more));
        own->prints = more;
        own->print_count = count;
    }
    if (own->prints[chunk->slot].reading != chunk->own)
        own->prints[chunk->slot] = print_of(row, chunk->own);
    return 0;
}

bool tfs_godot_stream_as_before(const struct tfs_godot_stream *own, const struct tfs_chunk *before,
                                const struct tfs_godot_row *row, bool extra)
{
    const struct tfs_blob *now = extra ? row->extra : row->block;

    if (!tfs_godot_is_lazy(before, extra ? TFS_GODOT_LAZY_EXTRA : TFS_GODOT_LAZY))
        return tfs_blob_equal(now, extra ? before->extra : before->blob);
    const struct tfs_godot_print *print = tfs_godot_stream_print(own, before);
    /* What nobody looked at, nobody knows another way. */
    if (print == NULL)
        return true;
    return extra ? print->extra_size == size_of(now) && print->extra_crc == checksum(now)
                 : print->block_size == size_of(now) && print->block_crc == checksum(now);
}

/* ---- reading --------------------------------------------------------------------------------- */

#define MANY_BYTES ((size_t)1 << 20) /* of rows that are fetched in one go */

/* The row of a chunk. The caller holds the lock. */
static int fetch_row(struct tfs_godot_stream *own, const struct tfs_chunk *chunk,
                     struct tfs_godot_row *row, struct tfs_error *err)
{
    if (tfs_godot_db_fetch(&own->db, chunk->key, row, err) < 0)
        return err->code;
    if (!row->found)
        return tfs_fail(err, -ESTALE, "another program removed this row of the database");
    return add_print(own, chunk, row, err);
}

/* Puts a row where the chunk lacks it: the chunk takes what the row holds of it. */
static void fill_chunk(struct tfs_chunk *chunk, struct tfs_godot_row *row)
{
    if ((chunk->tag & TFS_GODOT_LAZY) != 0)
        chunk->blob = tfs_blob_ref(row->block);
    if ((chunk->tag & TFS_GODOT_LAZY_EXTRA) != 0)
        chunk->extra = tfs_blob_ref(row->extra);
    chunk->tag = 0;
}

/* To lock the database, and to look whether it is still what SQLite remembers of it, costs more
 * than to read a row: here that is done once. Of what the document holds already nothing is
 * needed. */
size_t tfs_godot_stream_fetch_many(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                                   struct tfs_error *err)
{
    struct tfs_godot_stream *own = save->own;
    size_t ready = 0, bytes = 0;

    pthread_mutex_lock(&own->lock);
    tfs_godot_db_snapshot(&own->db, err);
    for (; ready < count && bytes < MANY_BYTES && err->code == 0; ready++) {
        struct tfs_godot_row row = {0};
        if ((chunks[ready].tag & TFS_GODOT_LAZY) == 0)
            continue;
        if (fetch_row(own, &chunks[ready], &row, err) == 0)
            fill_chunk(&chunks[ready], &row);
        bytes += tfs_blob_span(row.block).size + tfs_blob_span(row.extra).size;
        tfs_godot_row_release(&row);
    }
    tfs_godot_db_rollback(&own->db);
    pthread_mutex_unlock(&own->lock);
    return err->code < 0 && ready > 0 ? ready - 1 : ready;
}

int tfs_godot_stream_fetch(struct tfs_save *save, const struct tfs_chunk *chunk,
                           struct tfs_blob **stored, struct tfs_blob **extra, struct tfs_error *err)
{
    struct tfs_godot_stream *own = save->own;
    struct tfs_godot_row row = {0};

    pthread_mutex_lock(&own->lock);
    fetch_row(own, chunk, &row, err);
    pthread_mutex_unlock(&own->lock);
    if (err->code == 0 && (chunk->tag & TFS_GODOT_LAZY) != 0)
        *stored = tfs_blob_ref(row.block);
    if (err->code == 0 && (chunk->tag & TFS_GODOT_LAZY_EXTRA) != 0)
        *extra = tfs_blob_ref(row.extra);
    tfs_godot_row_release(&row);
    return err->code;
}

/* For those who ask for one value without a view. */
int tfs_godot_stream_load(struct tfs_save *save, const struct tfs_chunk *chunk, bool extra,
                          struct tfs_blob **blob, struct tfs_error *err)
{
    struct tfs_blob *values[2] = {NULL, NULL};

    if (tfs_godot_stream_fetch(save, chunk, &values[0], &values[1], err) == 0) {
        if (values[extra] != NULL)
            *blob = tfs_blob_ref(values[extra]);
        else
            tfs_fail(err, -ENOENT, "this chunk has no such value");
    }
    tfs_blob_unref(values[0]);
    tfs_blob_unref(values[1]);
    return err->code;
}
