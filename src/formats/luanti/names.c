/*
 * Chunks -> the names of their nodes, and what is remembered of them.
 *
 * A chunk that the document does not hold is what its own number says; of another one the bytes are
 * compared by their checksum. Must not know what is done with names.
 */
#include "formats/luanti/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/database/rows.h"
#include "formats/luanti/block.h"

#define HELD (UINT64_C(1) << 63) /* the rest is a checksum, no own number */

/* What a chunk was, and its names then; NULL: nothing is known. */
struct tfs_luanti_seen {
    uint64_t what;
    struct tfs_luanti_names *names;
};

void tfs_luanti_memory_init(struct tfs_luanti_memory *m)
{
    *m = (struct tfs_luanti_memory){0};
    pthread_mutex_init(&m->lock, NULL);
}

/* Forgets all. */
static void clear(struct tfs_luanti_memory *m)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&m->known, &at, &cell);)
        free(cell.value);
    tfs_map_release(&m->known);
    free(m->chunks);
    m->known = (struct tfs_map){0};
    m->chunks = NULL;
    m->chunk_count = 0;
    m->bytes = 0;
}

void tfs_luanti_memory_release(struct tfs_luanti_memory *m)
{
    clear(m);
    pthread_mutex_destroy(&m->lock);
}

static uint64_t what_of(const struct tfs_chunk *chunk)
{
    const struct tfs_span held = tfs_blob_span(chunk->blob);

    return tfs_chunk_is_unread(chunk, false) ? tfs_rows_reading(chunk)
                                             : HELD | tfs_checksum(held, held.size);
}

/* Room for the slot. */
static int reserve(struct tfs_luanti_memory *m, uint32_t slot, struct tfs_error *err)
{
    const uint32_t count = slot < UINT32_MAX / 2 ? slot + slot / 8 + 1024 : UINT32_MAX;

    if (slot < m->chunk_count)
        return 0;
    struct tfs_luanti_seen *chunks = reallocarray(m->chunks, count, sizeof(*chunks));
    if (chunks == NULL)
        return tfs_fail_memory(err);
    memset(chunks + m->chunk_count, 0, (count - m->chunk_count) * sizeof(*chunks));
    m->chunks = chunks;
    m->chunk_count = count;
    return 0;
}

static bool same_names(const struct tfs_luanti_names *a, const struct tfs_luanti_names *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!tfs_span_equal(a->names[i], b->names[i]))
            return false;
    return true;
}

/* The names with bytes of their own behind them; NULL: no memory. */
static struct tfs_luanti_names *copy_names(const struct tfs_luanti_name *names, uint32_t count,
                                           uint64_t *sum, size_t *size)
{
    *size = sizeof(struct tfs_luanti_names) + count * sizeof(struct tfs_span);
    *sum = count;
    for (uint32_t i = 0; i < count; i++) {
        *sum = tfs_checksum(names[i].name, *sum);
        *size += names[i].name.size;
    }
    *sum |= 1;
    struct tfs_luanti_names *copy = calloc(1, *size);
    uint8_t *at = copy == NULL ? NULL : (uint8_t *)&copy->names[count];
    for (uint32_t i = 0; i < count && copy != NULL; i++) {
        copy->names[i] = (struct tfs_span){at, names[i].name.size};
        if (names[i].name.size > 0)
            memcpy(at, names[i].name.data, names[i].name.size);
        at += names[i].name.size;
    }
    if (copy != NULL)
        copy->count = count;
    return copy;
}

/* Remembers the names, or finds that others have them too. Names of one checksum that are not the
 * same are kept instead of those. What could be read of a damaged block has no names. */
static int keep(struct tfs_luanti_memory *m, const struct tfs_luanti_block *block,
                struct tfs_luanti_names **names, struct tfs_error *err)
{
    uint64_t sum;
    size_t size;
    struct tfs_luanti_names *made = copy_names(block->names, block->count, &sum, &size);

    if (made == NULL)
        return tfs_fail_memory(err);
    *names = tfs_map_find(&m->known, sum);
    if (*names != NULL && same_names(*names, made)) {
        free(made);
        return 0;
    }
    if (*names != NULL || m->bytes + size > TFS_LUANTI_NAMES_MAX)
        clear(m);
    if (tfs_map_set(&m->known, sum, made) < 0) {
        free(made);
        return tfs_fail_memory(err);
    }
    m->bytes += size;
    *names = made;
    return 0;
}

static bool is_damage(const struct tfs_error *why)
{
    return why->code == -EBADMSG || why->code == -EFBIG || why->code == -ENOTSUP;
}

/* What is remembered of the chunk; NULL: nothing. */
static struct tfs_luanti_names *find(const struct tfs_luanti_memory *m,
                                     const struct tfs_chunk *chunk)
{
    if (chunk->slot >= m->chunk_count || m->chunks[chunk->slot].what != what_of(chunk))
        return NULL;
    return m->chunks[chunk->slot].names;
}

/* Decodes and remembers; `bytes` are the chunk's, or `why` says why there are none. What cannot be
 * fetched now is not remembered: the next time it may be there. */
static int learn(struct tfs_luanti_memory *m, const struct tfs_chunk *chunk, struct tfs_span bytes,
                 const struct tfs_error *why, struct tfs_luanti_names **names,
                 struct tfs_error *err)
{
    struct tfs_luanti_block *block = calloc(1, sizeof(*block));
    struct tfs_error inside = {0};

    if (block == NULL)
        return tfs_fail_memory(err);
    if (why->code == 0 && tfs_luanti_names_open(bytes, block, &inside) < 0)
        *block = (struct tfs_luanti_block){0};
    if (inside.code < 0 && !is_damage(&inside))
        tfs_fail(err, inside.code, "%s", inside.text);
    else if (keep(m, block, names, err) == 0 && why->code == 0 && reserve(m, chunk->slot, err) == 0)
        m->chunks[chunk->slot] = (struct tfs_luanti_seen){what_of(chunk), *names};
    tfs_luanti_block_release(block);
    free(block);
    return err->code;
}

#define MANY 256 /* chunks that are fetched in one go */

void tfs_luanti_names_prepare(struct tfs_luanti_memory *m, struct tfs_save *save,
                              const struct tfs_doc *doc, size_t from)
{
    struct tfs_chunk chunks[MANY];
    struct tfs_luanti_names *names;
    struct tfs_error ignored = {0};
    const struct tfs_error none = {0};
    size_t count = 0, ready;

    if (from % MANY != 0)
        return;
    for (size_t i = from; i < doc->count && i < from + MANY; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        if (tfs_chunk_is_unread(chunk, false) && find(m, chunk) == NULL)
            chunks[count++] = *chunk;
    }
    for (ready = 0; ready < count && ignored.code == 0;) {
        const size_t begin = ready;
        ready += tfs_chunks_fetch(save, chunks + begin, count - begin, &ignored);
        for (size_t i = begin; i < ready; i++) {
            /* The chunk is told by what the document holds of it. */
            struct tfs_chunk unread = chunks[i];
            unread.blob = NULL;
            unread.flags |= TFS_CHUNK_UNREAD;
            learn(m, &unread, tfs_blob_span(chunks[i].blob), &none, &names, &ignored);
            tfs_blob_unref(chunks[i].blob);
        }
    }
}

int tfs_luanti_names_of(struct tfs_luanti_memory *m, struct tfs_save *save,
                        const struct tfs_chunk *chunk, struct tfs_luanti_names **names,
                        struct tfs_error *err)
{
    struct tfs_blob *stored = NULL, *extra = NULL;
    struct tfs_error why = {0};

    *names = find(m, chunk);
    if (*names != NULL)
        return 0;
    if (tfs_chunk_is_unread(chunk, false))
        save->container->fetch(save, chunk, &stored, &extra, &why);
    else
        stored = tfs_blob_ref(chunk->blob);
    if (why.code < 0 && !is_damage(&why))
        tfs_fail(err, why.code, "%s", why.text);
    else
        learn(m, chunk, tfs_blob_span(stored), &why, names, err);
    tfs_blob_unref(stored);
    return err->code;
}
