/*
 * Chunks -> ranges of the bytes of an array, of which only the chunks that they touch are decoded:
 * see array.h.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/views/arrays/kept.h"

bool tfs_array_span(struct tfs_array *a)
{
    struct tfs_key high;

    if (!tfs_doc_bounds(a->doc, a->low.group, &a->low, &high))
        return false;
    const int64_t y = (int64_t)high.y - a->low.y + 1, z = (int64_t)high.z - a->low.z + 1;
    const int64_t counts[3] = {a->flat ? z : y, a->flat ? y : z, (int64_t)high.x - a->low.x + 1};
    uint64_t bytes = a->width;
    for (unsigned i = 0; i < 3; i++) {
        if (counts[i] > UINT32_MAX / a->sides[i] ||
            __builtin_mul_overflow(bytes, (uint64_t)counts[i] * a->sides[i], &bytes) ||
            bytes > TFS_ARRAY_MAX)
            return false;
        a->chunks[i] = (uint32_t)counts[i];
    }
    return true;
}

struct tfs_key tfs_array_key(const struct tfs_array *a, const uint64_t at[3])
{
    struct tfs_key key = a->low;

    key.x += (int32_t)at[2];
    key.y += (int32_t)at[a->flat ? 1 : 0];
    key.z += (int32_t)(a->flat ? a->chunks[0] - 1 - at[0] : at[1]);
    return key;
}

struct tfs_npy tfs_array_npy(const struct tfs_array *a)
{
    const uint64_t layers = (uint64_t)a->chunks[0] * a->sides[0] - a->cut;
    const uint64_t lines = (uint64_t)a->chunks[1] * a->sides[1];
    const uint64_t count = tfs_array_line(a) / a->width;

    return (struct tfs_npy){.kind = a->kind,
                            .width = a->width,
                            .shape = {a->flat ? lines : layers, a->flat ? layers : lines, count},
                            .dimensions = a->flat ? 2 : 3};
}

uint64_t tfs_array_size(const struct tfs_array *a)
{
    const struct tfs_npy npy = tfs_array_npy(a);

    return TFS_NPY_HEAD + npy.shape[0] * npy.shape[1] * npy.shape[2] * npy.width;
}

/* A range of the values, in bytes of the array: a part of one plane, or whole planes. */
struct range {
    const struct tfs_array *a;
    uint64_t begin, end;
    uint8_t *out;
    uint8_t *layers; /* of one chunk */
};

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Copies what the range has of `bytes` at `at` in the array. NULL: they are empty values. */
static void copy_part(const struct range *r, uint64_t at, const uint8_t *bytes, uint64_t size)
{
    const uint64_t from = at > r->begin ? at : r->begin;
    const uint64_t to = at + size < r->end ? at + size : r->end;
    uint8_t *out = r->out + (from - r->begin);

    if (from >= to)
        return;
    if (bytes != NULL)
        memcpy(out, bytes + (from - at), (size_t)(to - from));
    else if (r->a->empty == 0)
        memset(out, 0, (size_t)(to - from));
    else
        for (uint64_t i = from; i < to; i++)
            *out++ = (uint8_t)(r->a->empty >> 8 * (i % r->a->width));
}

/* `size` is a constant where this is used, so each use is a loop of its own. */
static inline void copy_whole(const struct range *r, uint64_t at, const uint8_t *rows,
                              uint32_t count, size_t size)
{
    const uint64_t row = tfs_array_row(r->a), line = tfs_array_line(r->a);
    uint8_t *to = r->out + (at - r->begin);

    for (uint32_t i = 0; i < count; i++, to += line, rows += row)
        memcpy(to, rows, size);
}

/* Copies what the range has of rows of a chunk, of which the first is at `at` in the array. Lines
 * of the array have `size` bytes of each. */
static void copy_rows(const struct range *r, uint64_t at, const uint8_t *rows, uint32_t count,
                      uint64_t size)
{
    const uint64_t row = tfs_array_row(r->a), line = tfs_array_line(r->a);

    if (at < r->begin || at + (count - 1) * line + size > r->end)
        for (uint32_t i = 0; i < count; i++)
            copy_part(r, at + i * line, rows + i * row, size);
    else if (size == 16)
        copy_whole(r, at, rows, count, 16);
    else if (size == 32)
        copy_whole(r, at, rows, count, 32);
    else
        copy_whole(r, at, rows, count, (size_t)size);
}

/* Layers of a chunk, in a line of chunks of layer at[0] and line at[1] of chunks. */
struct layers {
    uint64_t at[3];    /* of the chunk */
    uint32_t from, to; /* in each of them */
};

/* Where layer `y` of a chunk is. */
static uint64_t place_of(const struct range *r, const struct layers *l, uint32_t y)
{
    const struct tfs_array *a = r->a;

    return tfs_array_place(a, l->at[0] * a->sides[0] + y, l->at[1] * a->sides[1], l->at[2]);
}

/* Has the range something of the chunk? Whole planes have. */
static bool touches(const struct range *r, const struct layers *l)
{
    const uint64_t at = place_of(r, l, l->from), line = tfs_array_line(r->a);
    const uint64_t row = tfs_array_row(r->a), past = r->begin > at ? (r->begin - at) / line : 0;
    const uint64_t place = at + past * line; /* of the last row that begins before the range */

    if (l->to - l->from > 1 || (place + row > r->begin && place < r->end))
        return true;
    return past + 1 < r->a->sides[1] && place + line < r->end;
}

static int copy_chunk(const struct range *r, const struct tfs_chunk *chunk, const struct layers *l,
                      struct tfs_error *err)
{
    const struct tfs_array *a = r->a;
    const uint64_t layer = a->sides[1] * tfs_array_row(a), plane = tfs_array_plane(a);
    const uint64_t part = tfs_array_part(a, l->at[2]), at = place_of(r, l, l->from);

    if (tfs_kept_layers(a, chunk, l->from, l->to, r->layers, err) < 0)
        return err->code;
    if (a->flat)
        copy_rows(r, at, r->layers, l->to - l->from, part);
    for (uint32_t i = 0; i < l->to - l->from && !a->flat; i++)
        copy_rows(r, at + i * plane, r->layers + i * layer, a->sides[1], part);
    return 0;
}

static void copy_empty(const struct range *r, struct layers l, uint64_t x, uint64_t end)
{
    const struct tfs_array *a = r->a;

    l.at[2] = x;
    for (uint32_t y = l.from; y < l.to && x < end; y++)
        for (uint32_t z = 0; z < a->sides[1]; z++)
            copy_part(r, place_of(r, &l, y) + z * tfs_array_line(a), NULL,
                      (end - x - 1) * tfs_array_row(a) + tfs_array_part(a, end - 1));
}

/* The chunks from `x` to `end` of a line along x. */
static int copy_chunks(const struct range *r, struct layers l, uint64_t x, uint64_t end,
                       struct tfs_error *err)
{
    const struct tfs_array *a = r->a;

    l.at[2] = x;
    for (size_t i = tfs_doc_lower_bound(a->doc, tfs_array_key(a, l.at)); i < a->doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(a->doc, i);
        l.at[2] = (uint64_t)((int64_t)chunk->key.x - a->low.x);
        if (l.at[2] >= end || tfs_key_compare(chunk->key, tfs_array_key(a, l.at)) != 0)
            break;
        if ((chunk->flags & TFS_CHUNK_DAMAGED) != 0 || !touches(r, &l))
            continue;
        copy_empty(r, l, x, l.at[2]);
        x = l.at[2] + 1;
        if (copy_chunk(r, chunk, &l, err) < 0)
            return err->code;
    }
    copy_empty(r, l, x, end);
    return 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static int copy_range(const struct range *r, struct tfs_error *err)
{
    const struct tfs_array *a = r->a;
    const uint64_t plane = tfs_array_plane(a), line = tfs_array_line(a), row = tfs_array_row(a);
    const uint64_t first = r->begin / plane + a->cut, last = (r->end - 1) / plane + a->cut;
    const uint64_t low = r->begin % plane / line, high = (r->end - 1) % plane / line;
    const bool one = first == last && low == high; /* of a line, only chunks in the range */
    const uint64_t x = one ? r->begin % line / row : 0;
    const uint64_t end = one ? (r->end - 1) % line / row + 1 : a->chunks[2];

    for (uint64_t cy = first / a->sides[0]; cy <= last / a->sides[0]; cy++) {
        const uint64_t bottom = cy * a->sides[0], top = bottom + a->sides[0] - 1;
        struct layers l = {.at = {cy},
                           .from = first > bottom ? (uint32_t)(first - bottom) : 0,
                           .to = (uint32_t)((last < top ? last : top) - bottom + 1)};
        for (l.at[1] = low / a->sides[1]; l.at[1] <= high / a->sides[1]; l.at[1]++)
            if (copy_chunks(r, l, x, end, err) < 0)
                return err->code;
    }
    return 0;
}

/* The end of the whole planes that a range begins with, or of the part of its first plane. */
static uint64_t end_of_planes(const struct tfs_array *a, uint64_t begin, uint64_t end)
{
    const uint64_t plane = tfs_array_plane(a), whole = end / plane * plane;
    const uint64_t next = (begin / plane + 1) * plane;

    if (begin % plane == 0 && begin < whole)
        return whole;
    return next < end ? next : end;
}

/* Appends bytes of the values. */
static int add_values(const struct tfs_array *a, uint64_t begin, uint64_t end, struct tfs_buf *out,
                      struct tfs_error *err)
{
    struct range r = {.a = a, .begin = begin};

    r.layers = malloc(tfs_array_volume(a) * a->width);
    r.out = tfs_buf_reserve(out, (size_t)(end - begin));
    if (r.layers == NULL || r.out == NULL)
        tfs_fail_memory(err);
    for (; r.begin < end && err->code == 0; r.begin = r.end) {
        r.end = end_of_planes(a, r.begin, end);
        copy_range(&r, err);
        r.out += r.end - r.begin;
    }
    if (err->code == 0)
        out->size += (size_t)(end - begin);
    free(r.layers);
    return err->code;
}

int tfs_array_range(const struct tfs_array *a, uint64_t offset, uint64_t size, struct tfs_buf *out,
                    struct tfs_error *err)
{
    const uint64_t whole = tfs_array_size(a);
    const struct tfs_npy npy = tfs_array_npy(a);
    struct tfs_buf head = {0};

    if (offset >= whole)
        return 0;
    const uint64_t end = size < whole - offset ? offset + size : whole;
    if (offset < TFS_NPY_HEAD) {
        tfs_npy_print(&npy, &head);
        if (tfs_buf_check(&head, err) == 0)
            tfs_buf_add(out, head.data + offset,
                        (size_t)((end < TFS_NPY_HEAD ? end : TFS_NPY_HEAD) - offset));
        tfs_buf_release(&head);
        offset = TFS_NPY_HEAD;
    }
    if (err->code == 0 && offset < end)
        add_values(a, offset - TFS_NPY_HEAD, end - TFS_NPY_HEAD, out, err);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}
