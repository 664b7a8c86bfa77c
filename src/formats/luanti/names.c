/*
 * Chunks -> the names of their nodes, and what is remembered of them.
 *
 * A chunk that the document does not hold is what its own number says; of another one the bytes are
 * compared by their checksum. Must not know what is done with names.
 */
#include "formats/luanti/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/luanti/view.h"

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

    return tfs_chunk_is_unread(chunk, false) ? chunk->own : HELD | tfs_checksum(held, held.size);
}

/* Room for the slot. */
static int reserve(struct tfs_luanti_memory *m, uint32_t slot, struct tfs_error *err)
{
    const uint32_t count = slot < UINT32_MAX / 2 ? slot + slot / 2 + 64 : UINT32_MAX;

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
static int keep(struct tfs_luanti_memory *m, const struct tfs_luanti_view *view,
                struct tfs_luanti_names **names, struct tfs_error *err)
{
    const uint32_t count = view->damage == NULL ? view->block.count : 0;
    uint64_t sum;
    size_t size;
    struct tfs_luanti_names *made = copy_names(view->block.names, count, &sum, &size);

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

int tfs_luanti_names_of(struct tfs_luanti_memory *m, struct tfs_save *save,
                        const struct tfs_chunk *chunk, struct tfs_luanti_names **names,
                        struct tfs_error *err)
{
    const uint64_t what = what_of(chunk);
    struct tfs_luanti_names *found = NULL;
    struct tfs_luanti_view *view;

    if (chunk->slot < m->chunk_count && m->chunks[chunk->slot].names != NULL &&
        m->chunks[chunk->slot].what == what) {
        *names = m->chunks[chunk->slot].names;
        return 0;
    }
    if (tfs_luanti_view_make(save, chunk, &view, err) < 0)
        return err->code;
    if (keep(m, view, &found, err) == 0 && (view->unread || reserve(m, chunk->slot, err) == 0)) {
        if (!view->unread)
            m->chunks[chunk->slot] = (struct tfs_luanti_seen){what, found};
        *names = found;
    }
    tfs_luanti_view_unref(view);
    return err->code;
}
