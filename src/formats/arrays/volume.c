/*
 * Chunks -> ranges of one array: see volume.h.
 */
#include "formats/arrays/volume.h"

#include <stdlib.h>
#include <string.h>

bool tfs_volume_span(struct tfs_volume *v)
{
    struct tfs_key high;

    if (!tfs_doc_bounds(v->doc, v->low.group, &v->low, &high))
        return false;
    const int64_t y = (int64_t)high.y - v->low.y + 1, z = (int64_t)high.z - v->low.z + 1;
    const int64_t counts[3] = {v->flat ? z : y, v->flat ? y : z, (int64_t)high.x - v->low.x + 1};
    uint64_t bytes = v->width;
    for (unsigned i = 0; i < 3; i++) {
        if (counts[i] > UINT32_MAX / v->sides[i] ||
            __builtin_mul_overflow(bytes, (uint64_t)counts[i] * v->sides[i], &bytes) ||
            bytes > TFS_VOLUME_MAX)
            return false;
        v->chunks[i] = (uint32_t)counts[i];
    }
    return true;
}

void tfs_volume_span_chunk(struct tfs_volume *v, struct tfs_key key)
{
    v->low = key;
    v->chunks[0] = v->chunks[1] = v->chunks[2] = 1;
}

struct tfs_key tfs_volume_key(const struct tfs_volume *v, const uint64_t at[3])
{
    struct tfs_key key = v->low;

    key.x += (int32_t)at[2];
    key.y += (int32_t)at[v->flat ? 1 : 0];
    key.z += (int32_t)(v->flat ? v->chunks[0] - 1 - at[0] : at[1]);
    return key;
}

uint32_t tfs_volume_first(const struct tfs_volume *v, uint64_t y)
{
    return y == 0 ? v->cut : 0;
}

/* Bytes of a row along x of one chunk, and of one of its layers. */
static uint64_t row_of(const struct tfs_volume *v)
{
    return (uint64_t)v->sides[2] * v->width;
}

static uint64_t layer_of(const struct tfs_volume *v)
{
    return v->sides[1] * row_of(v);
}

uint64_t tfs_volume_line(const struct tfs_volume *v)
{
    return v->chunks[2] * row_of(v) - (uint64_t)v->cut * v->width;
}

uint64_t tfs_volume_row(const struct tfs_volume *v, uint64_t x)
{
    return row_of(v) - (x + 1 == v->chunks[2] ? (uint64_t)v->cut * v->width : 0);
}

struct tfs_npy tfs_volume_npy(const struct tfs_volume *v)
{
    const uint64_t layers = (uint64_t)v->chunks[0] * v->sides[0] - v->cut;
    const uint64_t lines = (uint64_t)v->chunks[1] * v->sides[1];
    const uint64_t count = tfs_volume_line(v) / v->width;

    return (struct tfs_npy){.kind = v->kind,
                            .width = v->width,
                            .shape = {v->flat ? lines : layers, v->flat ? layers : lines, count},
                            .dimensions = v->flat ? 2 : 3};
}

uint64_t tfs_volume_size(const struct tfs_volume *v)
{
    const struct tfs_npy npy = tfs_volume_npy(v);

    return TFS_NPY_HEAD + npy.shape[0] * npy.shape[1] * npy.shape[2] * npy.width;
}

/* A range of the values, in bytes of the array, and where they go. */
struct range {
    const struct tfs_volume *v;
    uint64_t begin, end;
    uint64_t row, plane; /* bytes of a row along x, of a plane */
    uint8_t *out;
    uint8_t *layers; /* of one chunk */
};

/* Where the rows of a chunk are: the first of layer `y`, in bytes of the array. */
static uint64_t place_of(const struct range *r, uint64_t y, uint64_t z, uint64_t x)
{
    return (y - r->v->cut) * r->plane + z * r->v->sides[1] * r->row + x * row_of(r->v);
}

/* ---- what is in no chunk --------------------------------------------------------------------- */

/* Empty values from `at` on in the array. */
static void fill_empty(const struct range *r, uint64_t at, uint64_t bytes)
{
    const struct tfs_volume *v = r->v;
    const uint64_t from = at > r->begin ? at : r->begin;
    const uint64_t to = at + bytes < r->end ? at + bytes : r->end;
    uint8_t *out = r->out + (from - r->begin);

    if (from >= to)
        return;
    const size_t size = (size_t)(to - from);
    if (v->empty == 0) {
        memset(out, 0, size);
        return;
    }
    for (size_t i = 0; i < v->width && i < size; i++)
        out[i] = (uint8_t)(v->empty >> 8 * ((from + i) % v->width));
    for (size_t done = v->width; done < size;) {
        const size_t next = done < size - done ? done : size - done;
        memcpy(out + done, out, next);
        done += next;
    }
}

/* Have all `count` chunks along x that begin with `key` values? `at`: the first of them. */
static bool is_full(const struct tfs_volume *v, struct tfs_key key, size_t at, uint64_t count)
{
    if (v->doc->count - at < count)
        return false;
    key.x += (int32_t)(count - 1);
    if (tfs_key_compare(tfs_doc_at(v->doc, at + count - 1)->key, key) != 0)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if ((tfs_doc_at(v->doc, at + i)->flags & TFS_CHUNK_DAMAGED) != 0)
            return false;
    return true;
}

/* ---- what is in chunks ----------------------------------------------------------------------- */

/* Copies what the range has of a row of a chunk: `bytes` of them, at `at` in the array. */
static void copy_part(const struct range *r, uint64_t at, const uint8_t *row, uint64_t bytes)
{
    const uint64_t from = at > r->begin ? at : r->begin;
    const uint64_t to = at + bytes < r->end ? at + bytes : r->end;

    if (from < to)
        memcpy(r->out + (from - r->begin), row + (from - at), (size_t)(to - from));
}

/* `size` is a constant where this is used, so each use is a loop of its own. */
static inline void copy_rows(uint8_t *to, uint64_t step, const uint8_t *rows, uint32_t count,
                             size_t size)
{
    for (uint32_t i = 0; i < count; i++, to += step, rows += size)
        memcpy(to, rows, size);
}

/* The rows of a layer, all of which the range has. */
static void copy_whole_rows(uint8_t *to, uint64_t step, const uint8_t *rows, uint32_t count,
                            size_t size)
{
    switch (size) {
    case 16:
        copy_rows(to, step, rows, count, 16);
        break;
    case 32:
        copy_rows(to, step, rows, count, 32);
        break;
    case 64:
        copy_rows(to, step, rows, count, 64);
        break;
    default:
        copy_rows(to, step, rows, count, size);
        break;
    }
}

/* Copies what the range has of a layer of a chunk, whose first row is at `at` in the array. Rows of
 * the array have `size` bytes of it; where that is not all there is one row. */
static void copy_layer(const struct range *r, uint64_t at, const uint8_t *values, uint64_t size)
{
    const uint32_t rows = r->v->sides[1];

    if (at >= r->begin && at + (rows - 1) * r->row + size <= r->end) {
        copy_whole_rows(r->out + (at - r->begin), r->row, values, rows, (size_t)size);
        return;
    }
    for (uint32_t z = 0; z < rows; z++)
        copy_part(r, at + z * r->row, values + z * size, size);
}

/* Copies layers `from` to `to` of the chunk whose place along y, z, x is given. */
static int copy_chunk(const struct range *r, const struct tfs_chunk *chunk, const uint64_t at[3],
                      uint32_t from, uint32_t to, struct tfs_error *err)
{
    const struct tfs_volume *v = r->v;
    const uint64_t layer = layer_of(v);

    memset(r->layers, 0, (size_t)((to - from) * layer));
    if (v->layers(v->arg, chunk, from, to, r->layers, err) < 0)
        return err->code;
    for (uint32_t y = from; y < to; y++)
        copy_layer(r, place_of(r, at[0] * v->sides[0] + y, at[1], at[2]),
                   r->layers + (y - from) * layer, tfs_volume_row(v, at[2]));
    return 0;
}

/* Which chunks of a row along x have a part of the range: those from `low` to `high`; or, where the
 * range is the end of a line and the beginning of the next, those up to `high` and from `low` on.
 */
struct columns {
    uint64_t low, high;
};

static bool has_column(struct columns c, uint64_t cx)
{
    return c.low <= c.high ? c.low <= cx && cx <= c.high : cx <= c.high || c.low <= cx;
}

/* In layer `y` of the chunks, which is the only one where the range has not all of it. */
static struct columns columns_of(const struct range *r, uint64_t cy, uint64_t cz, uint32_t y)
{
    const struct tfs_volume *v = r->v;
    const uint64_t begin = place_of(r, cy * v->sides[0] + y, cz, 0);
    const uint64_t end = begin + v->sides[1] * r->row;
    const uint64_t first = r->begin > begin ? r->begin : begin;
    const uint64_t last = (r->end < end ? r->end : end) - 1;
    const uint64_t lines = last / r->row - first / r->row + 1;
    const struct columns c = {first % r->row / row_of(v), last % r->row / row_of(v)};

    return lines == 1 || (lines == 2 && c.low > c.high) ? c : (struct columns){0, v->chunks[2] - 1};
}

/* The chunks of one row along x: those of layer `cy`, `cz`. */
static int copy_chunks(const struct range *r, uint64_t cy, uint64_t cz, uint32_t from, uint32_t to,
                       struct tfs_error *err)
{
    const struct tfs_volume *v = r->v;
    const struct columns c = columns_of(r, cy, cz, from);
    const uint64_t first[3] = {cy, cz, c.low <= c.high ? c.low : 0};
    const struct tfs_key key = tfs_volume_key(v, first);
    size_t at = tfs_doc_lower_bound(v->doc, key);
    const bool full = c.low <= c.high && is_full(v, key, at, c.high - c.low + 1);

    for (uint32_t y = from; y < to && !full; y++)
        fill_empty(r, place_of(r, cy * v->sides[0] + y, cz, 0), v->sides[1] * r->row);
    for (; at < v->doc->count; at++) {
        const struct tfs_chunk *chunk = tfs_doc_at(v->doc, at);
        const uint64_t cx = (uint64_t)((int64_t)chunk->key.x - v->low.x);
        if (chunk->key.group != key.group || chunk->key.y != key.y || chunk->key.z != key.z ||
            cx >= v->chunks[2] || (cx > c.high && c.low <= c.high))
            break;
        const uint64_t place[3] = {cy, cz, cx};
        if (has_column(c, cx) && (chunk->flags & TFS_CHUNK_DAMAGED) == 0 &&
            copy_chunk(r, chunk, place, from, to, err) < 0)
            return err->code;
    }
    return 0;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Of whole planes, or of a part of one, of which only the chunks in the range are asked. */
static int copy_planes(const struct range *r, struct tfs_error *err)
{
    const struct tfs_volume *v = r->v;
    const uint64_t side = v->sides[0], stripe = v->sides[1] * r->row;
    const uint64_t first = r->begin / r->plane + v->cut, last = (r->end - 1) / r->plane + v->cut;
    const uint64_t low = r->begin % r->plane / stripe, high = (r->end - 1) % r->plane / stripe;

    for (uint64_t cy = first / side; cy <= last / side; cy++) {
        const uint64_t bottom = cy * side;
        const uint32_t from = first > bottom ? (uint32_t)(first - bottom) : 0;
        const uint32_t to = (uint32_t)(last < bottom + side ? last - bottom + 1 : side);
        for (uint64_t cz = low; cz <= high; cz++)
            if (copy_chunks(r, cy, cz, from, to, err) < 0)
                return err->code;
    }
    return 0;
}

/* The end of the whole planes that the range begins with, or of the part of its first plane. */
static uint64_t end_of_planes(const struct range *r)
{
    const uint64_t whole = r->end / r->plane * r->plane;

    if (r->begin % r->plane == 0 && r->begin < whole)
        return whole;
    const uint64_t next = (r->begin / r->plane + 1) * r->plane;
    return next < r->end ? next : r->end;
}

/* Appends bytes of the values. */
static int add_values(const struct tfs_volume *v, uint64_t begin, uint64_t end, struct tfs_buf *out,
                      struct tfs_error *err)
{
    struct range r = {.v = v, .begin = begin, .end = end};
    const size_t size = (size_t)(end - begin);

    r.row = tfs_volume_line(v);
    r.plane = (uint64_t)v->chunks[1] * v->sides[1] * r.row;
    r.layers = malloc((size_t)(v->sides[0] * layer_of(v)));
    r.out = tfs_buf_reserve(out, size);
    if (r.layers == NULL || r.out == NULL) {
        free(r.layers);
        return tfs_fail_memory(err);
    }
    while (r.begin < end && err->code == 0) {
        r.end = end_of_planes(&r);
        if (copy_planes(&r, err) == 0) {
            r.out += r.end - r.begin;
            r.begin = r.end;
            r.end = end;
        }
    }
    if (err->code == 0)
        out->size += size;
    free(r.layers);
    return err->code;
}

int tfs_volume_range(const struct tfs_volume *v, uint64_t offset, uint64_t size,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const uint64_t whole = tfs_volume_size(v);
    const struct tfs_npy npy = tfs_volume_npy(v);
    struct tfs_buf head = {0};
    uint64_t end;

    if (offset >= whole)
        return 0;
    end = size < whole - offset ? offset + size : whole;
    if (offset < TFS_NPY_HEAD) {
        tfs_npy_print(&npy, &head);
        if (tfs_buf_check(&head, err) == 0)
            tfs_buf_add(out, head.data + offset,
                        (size_t)((end < TFS_NPY_HEAD ? end : TFS_NPY_HEAD) - offset));
        tfs_buf_release(&head);
        offset = TFS_NPY_HEAD;
    }
    if (err->code == 0 && offset < end)
        add_values(v, offset - TFS_NPY_HEAD, end - TFS_NPY_HEAD, out, err);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}
