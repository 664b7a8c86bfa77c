/*
 * Chunks -> the names of their voxels, and what is remembered of them.
 *
 * A chunk that the document does not hold is what its own number says, another one what the number
 * of its blob says. Must not know what is done with names.
 */
#include "formats/cells/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define HELD   (UINT64_C(1) << 63) /* the rest is the number of a blob, no own number */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* What a chunk was, and its names then; NULL: nothing is known. */
struct tfs_names_seen {
    uint64_t what;
    struct tfs_chunk_names *names;
};

void tfs_names_memory_init(struct tfs_names_memory *m)
{
    *m = (struct tfs_names_memory){0};
    pthread_mutex_init(&m->lock, NULL);
}

/* Forgets all. */
static void clear(struct tfs_names_memory *m)
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

void tfs_names_memory_release(struct tfs_names_memory *m)
{
    clear(m);
    pthread_mutex_destroy(&m->lock);
}

void tfs_names_memory_unlock(struct tfs_names_memory *m)
{
    pthread_mutex_unlock(&m->lock);
}

static uint64_t what_of(const struct tfs_chunk *chunk)
{
    return tfs_chunk_is_unread(chunk, false) ? chunk->own
           : chunk->blob == NULL             ? HELD
                                             : HELD | chunk->blob->number;
}

/* Room for the slot. */
static int reserve(struct tfs_names_memory *m, uint32_t slot, struct tfs_error *err)
{
    const uint32_t count = slot < UINT32_MAX / 2 ? slot + slot / 8 + 1024 : UINT32_MAX;

    if (slot < m->chunk_count)
        return 0;
    struct tfs_names_seen *chunks = reallocarray(m->chunks, count, sizeof(*chunks));
    if (chunks == NULL)
        return tfs_fail_memory(err);
    memset(chunks + m->chunk_count, 0, (count - m->chunk_count) * sizeof(*chunks));
    m->chunks = chunks;
    m->chunk_count = count;
    return 0;
}

static bool same_names(const struct tfs_chunk_names *a, const struct tfs_chunk_names *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!tfs_span_equal(a->names[i], b->names[i]))
            return false;
    return true;
}

/* The names with bytes of their own behind them; NULL: no memory. */
static struct tfs_chunk_names *copy_names(const struct tfs_span *names, uint32_t count,
                                          uint64_t *sum, size_t *size)
{
    *size = sizeof(struct tfs_chunk_names) + count * sizeof(struct tfs_span);
    *sum = count;
    for (uint32_t i = 0; i < count; i++) {
        *size += names[i].size;
        *sum = (*sum ^ names[i].size) * SPREAD;
    }
    struct tfs_chunk_names *copy = malloc(*size);
    if (copy == NULL)
        return NULL;
    uint8_t *const bytes = (uint8_t *)&copy->names[count], *at = bytes;
    *copy = (struct tfs_chunk_names){.count = count};
    for (uint32_t i = 0; i < count; at += names[i++].size) {
        copy->names[i] = (struct tfs_span){at, names[i].size};
        if (names[i].size > 0)
            memcpy(at, names[i].data, names[i].size);
    }
    *sum = tfs_checksum((struct tfs_span){bytes, (size_t)(at - bytes)}, *sum) | 1;
    return copy;
}

/* Remembers the names, or finds that others have them too. Names of one checksum that are not the
 * same are kept instead of those. */
static int keep(struct tfs_names_memory *m, const struct tfs_cells *cells,
                struct tfs_chunk_names **names, struct tfs_error *err)
{
    uint64_t sum;
    size_t size;
    struct tfs_chunk_names *made =
        copy_names(cells->names, cells->damage == NULL ? cells->name_count : 0, &sum, &size);

    if (made == NULL)
        return tfs_fail_memory(err);
    *names = tfs_map_find(&m->known, sum);
    if (*names != NULL && same_names(*names, made)) {
        free(made);
        return 0;
    }
    if (*names != NULL || m->bytes + size > TFS_CHUNK_NAMES_MAX)
        clear(m);
    if (tfs_map_set(&m->known, sum, made) < 0) {
        free(made);
        return tfs_fail_memory(err);
    }
    m->bytes += size;
    *names = made;
    return 0;
}

/* What is remembered of the chunk; NULL: nothing. */
static struct tfs_chunk_names *find(const struct tfs_names_memory *m, const struct tfs_chunk *chunk)
{
    if (chunk->slot >= m->chunk_count || m->chunks[chunk->slot].names == NULL ||
        m->chunks[chunk->slot].what != what_of(chunk))
        return NULL;
    return m->chunks[chunk->slot].names;
}

/* Decodes and remembers. `chunk` is as the document has it, `fetched` may have its bytes, too. What
 * cannot be fetched now is not remembered: the next time it may be there. */
static int learn(struct tfs_names_memory *m, struct tfs_save *save, const struct tfs_chunk *chunk,
                 const struct tfs_chunk *fetched, struct tfs_chunk_names **names,
                 struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_make(save, NULL, fetched, 0, &cells, err) < 0)
        return err->code;
    if (keep(m, cells, names, err) == 0 && !cells->unread && reserve(m, chunk->slot, err) == 0)
        m->chunks[chunk->slot] = (struct tfs_names_seen){what_of(chunk), *names};
    tfs_cells_unref(cells);
    return err->code;
}

#define MANY 256 /* chunks that are fetched in one go */

struct preparing {
    struct tfs_names_memory *memory;
    struct tfs_save *save;
    const struct tfs_doc *doc;
};

/* A tfs_fetched_fn. */
static void learn_fetched(void *arg, const struct tfs_chunk *fetched, struct tfs_error *err)
{
    const struct preparing *p = arg;
    struct tfs_chunk_names *names;
    struct tfs_error unknown = {0};

    if (err->code == 0)
        learn(p->memory, p->save, tfs_doc_find(p->doc, fetched->key), fetched, &names, &unknown);
}

void tfs_chunk_names_prepare(struct tfs_names_memory *m, struct tfs_save *save,
                             const struct tfs_doc *doc, size_t from)
{
    struct preparing preparing = {m, save, doc};
    struct tfs_chunk chunks[MANY];
    struct tfs_error ignored = {0};
    size_t count = 0;

    for (size_t i = from; from % MANY == 0 && i < doc->count && i < from + MANY; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, i);
        if (!tfs_chunk_is_unread(chunk, false) || find(m, chunk) != NULL)
            continue;
        chunks[count++] = *chunk;
        tfs_chunk_ref(chunk);
    }
    tfs_chunks_each(save, chunks, count, learn_fetched, &preparing, &ignored);
}

int tfs_chunk_names_of(struct tfs_names_memory *m, struct tfs_save *save,
                       const struct tfs_chunk *chunk, struct tfs_chunk_names **names,
                       struct tfs_error *err)
{
    *names = find(m, chunk);
    return *names != NULL ? 0 : learn(m, save, chunk, chunk, names, err);
}

int tfs_cells_chunk_names(struct tfs_save *save, const struct tfs_chunk *chunk, tfs_name_fn each,
                          void *arg, struct tfs_error *err)
{
    struct tfs_names_memory *memory = tfs_names_memory_lock(save);
    struct tfs_chunk_names *names;

    if (tfs_chunk_names_of(memory, save, chunk, &names, err) == 0)
        for (uint32_t i = 0; i < names->count && err->code == 0; i++)
            if (!tfs_name_is_air(save->tree->cells, names->names[i]))
                each(arg, names->names[i], err);
    tfs_names_memory_unlock(memory);
    return err->code;
}
