/*
 * Bytes that an edit made of a chunk -> a blob of the document; or, once edits hold much, a number
 * of it, and the bytes in a temporary file until they are in the database.
 *
 * Must not know what the bytes are. A number is never used again, and what it stands for does not
 * depend on where the bytes are: so a chunk is the same before and after its commit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/temporary.h"
#include "formats/containers/database/rows_state.h"

#define HELD_MAX ((size_t)4 << 20)   /* bytes of edits that documents hold */
#define KEPT     (UINT64_C(1) << 62) /* the rest of tfs_chunk.own is an index, no reading */
#define WRITTEN  UINT64_MAX

/* NULL: the chunk has another kind of number. */
static struct tfs_row_kept *find(const struct tfs_rows *own, const struct tfs_chunk *chunk)
{
    const uint64_t index = tfs_rows_reading(chunk) & ~KEPT;

    return tfs_chunk_is_unread(chunk, false) && (tfs_rows_reading(chunk) & KEPT) != 0 &&
                   index < own->kept.count
               ? &own->kept.chunks[index]
               : NULL;
}

bool tfs_rows_kept_print(struct tfs_rows *own, const struct tfs_chunk *chunk,
                         struct tfs_row_print *print)
{
    pthread_mutex_lock(&own->memory);
    const struct tfs_row_kept *kept = find(own, chunk);
    if (kept != NULL)
        *print = (struct tfs_row_print){.reading = tfs_rows_reading(chunk), .value = kept->sum};
    pthread_mutex_unlock(&own->memory);
    return kept != NULL;
}

static int read_bytes(const struct tfs_rows *own, const struct tfs_row_kept *kept,
                      struct tfs_blob **bytes, struct tfs_error *err)
{
    struct tfs_buf buf = {0};
    uint8_t *room = tfs_buf_reserve(&buf, kept->size);
    const int result =
        room == NULL ? 0 : tfs_temporary_read(own->kept.fd, kept->offset, kept->size, room);

    buf.size += room == NULL ? 0 : kept->size;
    if (result < 0)
        tfs_fail(err, result, "what an edit made cannot be read back: %s", strerror(-result));
    else if (tfs_buf_check(&buf, err) == 0 && tfs_checksum(tfs_buf_span(&buf), 0) != kept->sum)
        tfs_fail(err, -EIO, "what an edit made was damaged in its temporary file");
    else if (err->code == 0)
        tfs_blob_copy(tfs_buf_span(&buf), bytes, err);
    tfs_buf_release(&buf);
    return err->code;
}

int tfs_rows_kept_bytes(struct tfs_rows *own, const struct tfs_chunk *chunk,
                        struct tfs_blob **bytes, struct tfs_error *err)
{
    pthread_mutex_lock(&own->memory);
    const struct tfs_row_kept *kept = find(own, chunk);
    const bool here = kept != NULL && kept->offset != WRITTEN;
    if (here)
        read_bytes(own, kept, bytes, err);
    pthread_mutex_unlock(&own->memory);
    return err->code < 0 ? err->code : here;
}

void tfs_rows_kept_written(struct tfs_rows *own, const struct tfs_chunk *chunk)
{
    pthread_mutex_lock(&own->memory);
    struct tfs_row_kept *kept = find(own, chunk);
    if (kept != NULL && kept->offset != WRITTEN) {
        kept->offset = WRITTEN;
        if (--own->kept.pending == 0 && ftruncate(own->kept.fd, 0) == 0)
            own->kept.end = 0;
    }
    pthread_mutex_unlock(&own->memory);
}

/* False: there is no room for it. */
static bool put_aside(struct tfs_rows *own, struct tfs_chunk *chunk, struct tfs_span bytes)
{
    struct tfs_rows_kept *k = &own->kept;
    struct tfs_row_kept *chunks = tfs_array_grow(k->chunks, k->count, sizeof(*chunks));

    if (chunks == NULL)
        return false;
    k->chunks = chunks;
    if (!k->open)
        k->fd = tfs_temporary_open();
    k->open = k->open || k->fd >= 0;
    if (!k->open || tfs_temporary_write(k->fd, k->end, bytes) < 0)
        return false;
    k->chunks[k->count] =
        (struct tfs_row_kept){k->end, tfs_checksum(bytes, 0), (uint32_t)bytes.size};
    chunk->own = KEPT | k->count++;
    k->end += bytes.size;
    k->pending++;
    return true;
}

int tfs_rows_keep(struct tfs_save *save, struct tfs_chunk *chunk, struct tfs_span bytes,
                  struct tfs_error *err)
{
    struct tfs_rows *own = tfs_rows_of(save);

    chunk->blob = NULL;
    pthread_mutex_lock(&own->memory);
    const size_t most = save->options.memory != 0 ? save->options.memory : HELD_MAX;
    const bool much = own->kept.held + bytes.size > most && !tfs_rows_have_extra(own);
    if (much && put_aside(own, chunk, bytes)) {
        chunk->flags |= TFS_CHUNK_UNREAD;
    } else {
        chunk->flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
        if (tfs_blob_copy(bytes, &chunk->blob, err) == 0)
            own->kept.held += sizeof(struct tfs_blob) + bytes.size;
    }
    pthread_mutex_unlock(&own->memory);
    return err->code;
}

void tfs_rows_kept_release(struct tfs_rows *own)
{
    if (own->kept.open)
        close(own->kept.fd);
    free(own->kept.chunks);
}
