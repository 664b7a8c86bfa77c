/*
 * The chunks of a group -> a SmoothGrid value.
 *
 * Must not know the file. Chunks that were read keep the order in which they stood; a new one goes
 * before the first of them that has a greater position, as the engine's own order has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    const uint64_t x = tfs_rbx_chunk_order(*left), y = tfs_rbx_chunk_order(*right);

    return (x > y) - (x < y);
}

/* A value on the way: where it was read from, and what it will be. */
struct writer {
    const struct tfs_blob *bodies;
    struct tfs_rbx_pieces *value;
    struct tfs_rbx_position at;
};

/* Adds `size` bytes that were just appended to `made`; where they stand in the value that was read,
 * right behind what was added last, they are taken from there. */
static void add_as_read(struct writer *w, size_t size)
{
    struct tfs_rbx_pieces *value = w->value;
    const struct tfs_span last = value->items[value->count - 1];
    const struct tfs_span made = {value->made.data + value->made.size - size, size};
    const uint8_t *next = last.data + last.size;
    const uint8_t *end = w->bodies->data + w->bodies->size;
    const bool was_read = last.data >= w->bodies->data && next <= end;

    if (was_read && (size_t)(end - next) >= size &&
        tfs_span_equal(made, (struct tfs_span){next, size})) {
        value->made.size -= size;
        tfs_rbx_pieces_add(value, (struct tfs_span){next, size});
    } else {
        tfs_rbx_pieces_add(value, made);
    }
}

static void put_chunk(struct writer *w, const struct tfs_chunk *chunk)
{
    struct tfs_rbx_position position = position_of(chunk);

    tfs_rbx_offset_put(&w->value->made, w->at, position);
    if (w->value->made.failed)
        return;
    add_as_read(w, TFS_RBX_OFFSET_SIZE);
    tfs_rbx_pieces_add(w->value, tfs_blob_span(chunk->blob));
    w->at = position;
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
static void put_merged(struct writer *w, const struct chunk_list *list)
{
    const struct tfs_chunk **new = list->chunks + list->old;
    const struct tfs_chunk **end = list->chunks + list->count;

    for (size_t i = 0; i < list->old; i++) {
        while (new < end && compare_position(new, &list->chunks[i]) < 0)
            put_chunk(w, *new ++);
        put_chunk(w, list->chunks[i]);
    }
    while (new < end)
        put_chunk(w, *new ++);
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
        bool is_new = tfs_rbx_chunk_is_new(chunk);
        list->chunks[is_new ? count - ++new : list->old++] = chunk;
    }
    qsort(list->chunks, list->old, sizeof(*list->chunks), compare_order);
    qsort(list->chunks + list->old, new, sizeof(*list->chunks), compare_position);
    return 0;
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

/* The first two bytes, from what was read where they are the same. */
static void put_header(struct writer *w, struct tfs_span read, uint32_t log2)
{
    struct tfs_rbx_pieces *value = w->value;

    tfs_rbx_value_begin(&value->made, log2);
    if (value->made.failed)
        return;
    const struct tfs_span made = tfs_buf_span(&value->made);
    if (read.size >= made.size && memcmp(read.data, made.data, made.size) == 0)
        tfs_rbx_pieces_add(value, (struct tfs_span){read.data, made.size});
    else
        tfs_rbx_pieces_add(value, made);
}

int tfs_rbx_value_encode(const struct tfs_doc *doc, uint32_t group, struct tfs_rbx_pieces *value,
                         struct tfs_error *err)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(doc);
    const struct tfs_rbx_group *of = &source->groups[group];
    const struct tfs_span read = tfs_rbx_value_span(source, of->grid);
    struct writer w = {.bodies = source->bodies, .value = value};
    struct chunk_list list = {0};

    /* A value without a single byte stays so until it has a chunk. */
    if (tfs_doc_group_count(doc, group) == 0 && read.size == 0)
        return 0;
    if (gather(doc, group, &list, err) < 0)
        return err->code;
    if (list.count > TFS_RBX_CHUNKS_MAX)
        tfs_fail(err, -EFBIG, "there are more than %u chunks", TFS_RBX_CHUNKS_MAX);
    else if (tfs_buf_reserve(&value->made, 2 + list.count * TFS_RBX_OFFSET_SIZE) != NULL) {
        put_header(&w, read, of->log2);
        put_merged(&w, &list);
    }
    free(list.chunks);
    return err->code < 0 ? err->code : tfs_rbx_pieces_check(value, err);
}
