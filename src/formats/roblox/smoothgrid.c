/*
 * The bytes of a SmoothGrid value -> where its chunks are; and offsets between chunks.
 *
 * Must not know where the value comes from, nor make cells of records: a value of thousands of
 * chunks is looked through in the time it takes to read it once.
 */
#include "formats/roblox/smoothgrid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int tfs_rbx_position_compare(struct tfs_rbx_position a, struct tfs_rbx_position b)
{
    if (a.x != b.x)
        return a.x < b.x ? -1 : 1;
    if (a.y != b.y)
        return a.y < b.y ? -1 : 1;
    return a.z < b.z ? -1 : a.z > b.z;
}

static bool coordinate_legal(int32_t v)
{
    return v >= -TFS_RBX_POSITION_MAX && v <= TFS_RBX_POSITION_MAX;
}

bool tfs_rbx_position_legal(struct tfs_rbx_position at)
{
    return coordinate_legal(at.x) && coordinate_legal(at.y) && coordinate_legal(at.z);
}

/* ---- offsets --------------------------------------------------------------------------------- */

void tfs_rbx_value_begin(struct tfs_buf *out, uint32_t log2)
{
    tfs_buf_u8(out, TFS_RBX_VERSION);
    tfs_buf_u8(out, (uint8_t)log2);
}

/* Most significant bytes of x, y, z first, then the next ones. The difference wraps round. */
void tfs_rbx_offset_put(struct tfs_buf *out, struct tfs_rbx_position from,
                        struct tfs_rbx_position to)
{
    uint32_t x = (uint32_t)to.x - (uint32_t)from.x;
    uint32_t y = (uint32_t)to.y - (uint32_t)from.y;
    uint32_t z = (uint32_t)to.z - (uint32_t)from.z;

    uint8_t *at = tfs_buf_reserve(out, TFS_RBX_OFFSET_SIZE);

    if (at == NULL)
        return;
    for (unsigned shift = 32; shift > 0; shift -= 8) {
        *at++ = (uint8_t)(x >> (shift - 8));
        *at++ = (uint8_t)(y >> (shift - 8));
        *at++ = (uint8_t)(z >> (shift - 8));
    }
    out->size += TFS_RBX_OFFSET_SIZE;
}

static int32_t to_signed(uint32_t v)
{
    return v <= INT32_MAX ? (int32_t)v : -(int32_t)(UINT32_MAX - v) - 1;
}

struct tfs_rbx_position tfs_rbx_offset_take(struct tfs_cursor *c, struct tfs_rbx_position from)
{
    uint32_t x = 0;
    uint32_t y = 0;
    uint32_t z = 0;

    for (int i = 0; i < 4; i++) {
        x = x << 8 | tfs_take_u8(c);
        y = y << 8 | tfs_take_u8(c);
        z = z << 8 | tfs_take_u8(c);
    }
    return (struct tfs_rbx_position){to_signed((uint32_t)from.x + x),
                                     to_signed((uint32_t)from.y + y),
                                     to_signed((uint32_t)from.z + z)};
}

/* ---- the index ------------------------------------------------------------------------------- */

static int add_entry(struct tfs_rbx_index *index, struct tfs_rbx_entry entry, struct tfs_error *err)
{
    if (index->count == TFS_RBX_CHUNKS_MAX)
        return tfs_fail(err, -EFBIG, "there are more than %u chunks", TFS_RBX_CHUNKS_MAX);
    struct tfs_rbx_entry *entries = tfs_array_grow(index->entries, index->count, sizeof(*entries));
    if (entries == NULL)
        return tfs_fail_memory(err);
    index->entries = entries;
    entry.order = index->count;
    index->entries[index->count++] = entry;
    return 0;
}

/* Takes one chunk, which stands at `position`. */
static int take_chunk(struct tfs_cursor *c, uint32_t log2, struct tfs_rbx_position *position,
                      struct tfs_rbx_entry *entry, struct tfs_error *err)
{
    struct tfs_error inner = {0};
    size_t offset = tfs_cursor_offset(c);

    *position = tfs_rbx_offset_take(c, *position);
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the offset of a chunk is cut off", offset);
    entry->position = *position;
    entry->records = (struct tfs_span){.data = c->at};
    if (tfs_rbx_records_take(c, log2, &inner) < 0)
        return tfs_fail(err, inner.code, "chunk %d_%d_%d, %s", position->x, position->y,
                        position->z, inner.text);
    entry->records.size = (size_t)(c->at - entry->records.data);
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct tfs_rbx_entry *left = a;
    const struct tfs_rbx_entry *right = b;

    return tfs_rbx_position_compare(left->position, right->position);
}

/* Sorts the entries, and refuses two of one position. */
static int order_entries(struct tfs_rbx_index *index, struct tfs_error *err)
{
    const struct tfs_rbx_entry *e = index->entries;

    index->sorted = true;
    for (size_t i = 1; i < index->count; i++)
        index->sorted = index->sorted && compare_entries(&e[i - 1], &e[i]) <= 0;
    if (!index->sorted)
        qsort(index->entries, index->count, sizeof(*index->entries), compare_entries);
    for (size_t i = 1; i < index->count; i++)
        if (compare_entries(&e[i - 1], &e[i]) == 0)
            return tfs_fail(err, -EBADMSG, "chunk %d_%d_%d occurs twice", e[i].position.x,
                            e[i].position.y, e[i].position.z);
    return 0;
}

static int take_header(struct tfs_cursor *c, uint32_t *log2, struct tfs_error *err)
{
    uint8_t version = tfs_take_u8(c);

    *log2 = tfs_take_u8(c);
    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset 0: the header is cut off");
    if (version != TFS_RBX_VERSION)
        return tfs_fail(err, -ENOTSUP, "SmoothGrid version %u is not supported, only version %u",
                        version, TFS_RBX_VERSION);
    if (*log2 > TFS_RBX_LOG2_MAX)
        return tfs_fail(err, -ENOTSUP,
                        "chunks with an edge of 2^%u voxels are not supported, only up to 2^%u",
                        *log2, TFS_RBX_LOG2_MAX);
    return 0;
}

int tfs_rbx_header_check(struct tfs_span head, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(head);
    uint32_t log2;

    return take_header(&c, &log2, err);
}

int tfs_rbx_index_open(struct tfs_span value, struct tfs_rbx_index *index, struct tfs_error *err)
{
    struct tfs_rbx_index opened = {.log2 = TFS_RBX_LOG2_DEFAULT, .sorted = true};
    struct tfs_cursor c = tfs_cursor_init(value);
    struct tfs_rbx_position position = {0};
    int result = 0;

    if (value.size > 0)
        result = take_header(&c, &opened.log2, err);
    while (result == 0 && tfs_cursor_left(&c) > 0) {
        struct tfs_rbx_entry entry = {0};
        result = take_chunk(&c, opened.log2, &position, &entry, err);
        if (result == 0)
            result = add_entry(&opened, entry, err);
    }
    if (result == 0)
        result = order_entries(&opened, err);
    if (result < 0)
        tfs_rbx_index_release(&opened);
    else
        *index = opened;
    return result;
}

#define CELL_MAX 8 /* bytes of one cell at most, and more */

bool tfs_rbx_value_begins(struct tfs_span bytes)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    struct tfs_rbx_position position = {0};
    struct tfs_rbx_entry entry;
    struct tfs_error ignored = {0};
    uint32_t log2;

    if (take_header(&c, &log2, &ignored) < 0)
        return false;
    const size_t most = TFS_RBX_OFFSET_SIZE + ((size_t)CELL_MAX << 3 * log2);
    if (bytes.size < 2 * most)
        return false;
    while (tfs_cursor_left(&c) >= most)
        if (take_chunk(&c, log2, &position, &entry, &ignored) < 0)
            return false;
    return true;
}

void tfs_rbx_index_release(struct tfs_rbx_index *index)
{
    free(index->entries);
    *index = (struct tfs_rbx_index){0};
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool entries_same(const struct tfs_rbx_entry *a, const struct tfs_rbx_entry *b)
{
    if (a == NULL || b == NULL)
        return tfs_rbx_records_are_empty(a == NULL ? b->records : a->records);
    return a->records.data == b->records.data || tfs_span_equal(a->records, b->records) ||
           tfs_rbx_records_same(a->records, b->records);
}

bool tfs_rbx_indexes_same(const struct tfs_rbx_index *a, const struct tfs_rbx_index *b)
{
    size_t i = 0;
    size_t j = 0;

    if (a->log2 != b->log2)
        return a->count == 0 && b->count == 0;
    while (i < a->count || j < b->count) {
        const struct tfs_rbx_entry *left = i < a->count ? &a->entries[i] : NULL;
        const struct tfs_rbx_entry *right = j < b->count ? &b->entries[j] : NULL;
        int order = left == NULL    ? 1
                    : right == NULL ? -1
                                    : tfs_rbx_position_compare(left->position, right->position);
        if (!entries_same(order <= 0 ? left : NULL, order >= 0 ? right : NULL))
            return false;
        i += order <= 0;
        j += order >= 0;
    }
    return true;
}
