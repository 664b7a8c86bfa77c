/*
 * The chunks of a group -> a SmoothGrid value.
 *
 * Must not know the file. Chunks that were read keep the order in which they stood; a new one goes
 * before the first of them that has a greater position, as the engine's own order has it.
 */
#include <stdlib.h>

#include "formats/roblox/source.h"

static struct tfs_rbx_position position_of(const struct tfs_chunk *chunk)
{
    return (struct tfs_rbx_position){chunk->key.x, chunk->key.y, chunk->key.z};
}

static int compare_position(const void *a, const void *b)
{
    const struct tfs_chunk *const *left = a;
    const struct tfs_chunk *const *right = b;

    return tfs_rbx_position_compare(position_of(*left), position_of(*right));
}

static int compare_order(const void *a, const void *b)
{
    const struct tfs_chunk *const *left = a;
    const struct tfs_chunk *const *right = b;

    return ((*left)->own > (*right)->own) - ((*left)->own < (*right)->own);
}

static void put_chunk(struct tfs_buf *out, const struct tfs_chunk *chunk,
                      struct tfs_rbx_position *at)
{
    struct tfs_rbx_position position = position_of(chunk);

    tfs_rbx_offset_put(out, *at, position);
    tfs_buf_add_span(out, tfs_blob_span(chunk->blob));
    *at = position;
}

/* Chunks of a group: those that were read from the front, in their order, then the new ones,
 * ascending. */
struct chunk_list {
    const struct tfs_chunk **chunks;
    size_t count;
    size_t old;
};

/* What goes before an old chunk are the new ones below it that did not go before another: since
 * they ascend, that is right in whatever order the old ones are. */
static void put_merged(struct tfs_buf *out, const struct chunk_list *list)
{
    struct tfs_rbx_position at = {0};
    const struct tfs_chunk **new = list->chunks + list->old;
    const struct tfs_chunk **end = list->chunks + list->count;

    for (size_t i = 0; i < list->old; i++) {
        while (new < end && compare_position(new, &list->chunks[i]) < 0)
            put_chunk(out, *new ++, &at);
        put_chunk(out, list->chunks[i], &at);
    }
    while (new < end)
        put_chunk(out, *new ++, &at);
}

static int gather(const struct tfs_doc *doc, uint32_t group, struct chunk_list *list,
                  struct tfs_error *err)
{
    size_t first =
        tfs_doc_lower_bound(doc, (struct tfs_key){group, INT32_MIN, INT32_MIN, INT32_MIN});
    size_t count = tfs_doc_group_count(doc, group);
    size_t new = 0;

    list->chunks = calloc(count + 1, sizeof(*list->chunks));
    if (list->chunks == NULL)
        return tfs_fail_memory(err);
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(doc, first + i);
        bool is_new = chunk->own == TFS_RBX_ORDER_NEW;
        list->chunks[is_new ? count - ++new : list->old++] = chunk;
    }
    qsort(list->chunks, list->old, sizeof(*list->chunks), compare_order);
    qsort(list->chunks + list->old, new, sizeof(*list->chunks), compare_position);
    return 0;
}

/* At once, because a value can be most of the file. */
static void reserve_value(struct tfs_buf *out, const struct chunk_list *list)
{
    size_t size = 2 + list->count * TFS_RBX_OFFSET_SIZE;

    for (size_t i = 0; i < list->count; i++)
        size += list->chunks[i]->blob->size;
    (void)tfs_buf_reserve(out, size);
}

int tfs_rbx_index_group(const struct tfs_doc *doc, uint32_t group, struct tfs_rbx_index *index,
                        struct tfs_error *err)
{
    struct chunk_list list = {0};

    if (gather(doc, group, &list, err) < 0)
        return err->code;
    qsort(list.chunks, list.count, sizeof(*list.chunks), compare_position);
    index->entries = calloc(list.count + 1, sizeof(*index->entries));
    if (index->entries == NULL) {
        free(list.chunks);
        return tfs_fail_memory(err);
    }
    index->log2 = tfs_rbx_source(doc)->groups[group].log2;
    index->sorted = true;
    index->count = list.count;
    for (size_t i = 0; i < list.count; i++)
        index->entries[i] = (struct tfs_rbx_entry){position_of(list.chunks[i]), i,
                                                   tfs_blob_span(list.chunks[i]->blob)};
    free(list.chunks);
    return 0;
}

int tfs_rbx_value_encode(const struct tfs_doc *doc, uint32_t group, struct tfs_buf *out,
                         struct tfs_error *err)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(doc);
    const struct tfs_rbx_group *of = &source->groups[group];
    struct chunk_list list = {0};

    /* A value without a single byte stays so until it has a chunk. */
    if (tfs_doc_group_count(doc, group) == 0 && source->values[of->grid].size == 0)
        return 0;
    if (gather(doc, group, &list, err) < 0)
        return err->code;
    reserve_value(out, &list);
    tfs_rbx_value_begin(out, of->log2);
    put_merged(out, &list);
    free(list.chunks);
    return tfs_buf_check(out, err);
}
