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
    const int64_t counts[3] = {(int64_t)high.y - v->low.y + 1, (int64_t)high.z - v->low.z + 1,
                               (int64_t)high.x - v->low.x + 1};
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

struct tfs_npy tfs_volume_npy(const struct tfs_volume *v)
{
    struct tfs_npy npy = {.kind = v->kind, .width = v->width, .dimensions = 3};

    for (unsigned i = 0; i < 3; i++)
        npy.shape[i] = (uint64_t)v->chunks[i] * v->sides[i];
    return npy;
}

uint64_t tfs_volume_size(const struct tfs_volume *v)
{
    uint64_t size = v->width;

    for (unsigned i = 0; i < 3; i++)
        size *= (uint64_t)v->chunks[i] * v->sides[i];
    return TFS_NPY_HEAD + size;
}

/* A range of the values, in bytes of the array, and where they go. */
struct range {
    const struct tfs_volume *v;
    uint64_t begin, end;
    uint64_t row, plane; /* bytes of a row along x, of a plane */
    uint8_t *out;
    uint8_t *layers; /* of one chunk */
};

/* Bytes of a row along x of one chunk, and of one of its layers. */
static uint64_t row_of(const struct tfs_volume *v)
{
    return (uint64_t)v->sides[2] * v->width;
}

static uint64_t layer_of(const struct tfs_volume *v)
{
    return v->sides[1] * row_of(v);
}

/* Copies what the range has of a row of a chunk: `bytes` of them, at `at` in the array. */
static void copy_row(const struct range *r, uint64_t at, const uint8_t *row, uint64_t bytes)
{
    const uint64_t from = at > r->begin ? at : r->begin;
    const uint64_t to = at + bytes < r->end ? at + bytes : r->end;

    if (from < to)
        memcpy(r->out + (from - r->begin), row + (from - at), (size_t)(to - from));
}

/* Where the rows of a chunk are: the first of layer `y`, in bytes of the array. */
static uint64_t place_of(const struct range *r, uint64_t y, uint64_t z, uint64_t x)
{
    return y * r->plane + z * r->v->sides[1] * r->row + x * row_of(r->v);
}

/* Copies layers `from` to `to` of the chunk whose place along y, z, x is given. */
static int copy_chunk(const struct range *r, const struct tfs_chunk *chunk, const uint64_t at[3],
                      uint32_t from, uint32_t to, struct tfs_error *err)
{
    const struct tfs_volume *v = r->v;
    const uint64_t row = row_of(v);

    memset(r->layers, 0, (size_t)((to - from) * layer_of(v)));
    if (v->layers(v->arg, chunk, from, to, r->layers, err) < 0)
        return err->code;
    const uint8_t *values = r->layers;
    for (uint32_t y = from; y < to; y++)
        for (uint32_t z = 0; z < v->sides[1]; z++, values += row)
            copy_row(r, place_of(r, at[0] * v->sides[0] + y, at[1], at[2]) + z * r->row, values,
                     row);
    return 0;
}

/* The chunks of one row along x: those of layer `cy`, `cz`. */
static int copy_chunks(const struct range *r, uint64_t cy, uint64_t cz, uint32_t from, uint32_t to,
                       struct tfs_error *err)
{
    const struct tfs_volume *v = r->v;
    const uint64_t first = place_of(r, cy * v->sides[0] + from, cz, 0);
    const uint64_t behind = place_of(r, cy * v->sides[0] + to - 1, cz + 1, 0);
    struct tfs_key key = v->low;

    if (behind <= r->begin || first >= r->end)
        return 0;
    key.y += (int32_t)cy;
    key.z += (int32_t)cz;
    size_t at = tfs_doc_lower_bound(v->doc, key);
    for (; at < v->doc->count; at++) {
        const struct tfs_chunk *chunk = tfs_doc_at(v->doc, at);
        const uint64_t cx = (uint64_t)((int64_t)chunk->key.x - v->low.x);
        if (chunk->key.group != key.group || chunk->key.y != key.y || chunk->key.z != key.z ||
            cx >= v->chunks[2])
            break;
        const uint64_t place[3] = {cy, cz, cx};
        if ((chunk->flags & TFS_CHUNK_DAMAGED) == 0 &&
            copy_chunk(r, chunk, place, from, to, err) < 0)
            return err->code;
    }
    return 0;
}

static int copy_range(const struct range *r, struct tfs_error *err)
{
    const struct tfs_volume *v = r->v;
    const uint64_t side = v->sides[0];
    const uint64_t first = r->begin / r->plane, last = (r->end - 1) / r->plane;

    for (uint64_t cy = first / side; cy <= last / side; cy++) {
        const uint64_t bottom = cy * side;
        const uint32_t from = first > bottom ? (uint32_t)(first - bottom) : 0;
        const uint32_t to = (uint32_t)(last < bottom + side ? last - bottom + 1 : side);
        /* Within one plane only some rows are in the range. */
        const uint64_t stripe = v->sides[1] * r->row;
        const uint64_t low = first == last ? r->begin % r->plane / stripe : 0;
        const uint64_t high = first == last ? (r->end - 1) % r->plane / stripe : v->chunks[1] - 1;
        for (uint64_t cz = low; cz <= high; cz++)
            if (copy_chunks(r, cy, cz, from, to, err) < 0)
                return err->code;
    }
    return 0;
}

/* Appends bytes of the values. */
static int add_values(const struct tfs_volume *v, uint64_t begin, uint64_t end, struct tfs_buf *out,
                      struct tfs_error *err)
{
    struct range r = {.v = v, .begin = begin, .end = end};
    const size_t size = (size_t)(end - begin);

    r.row = v->chunks[2] * row_of(v);
    r.plane = (uint64_t)v->chunks[1] * v->sides[1] * r.row;
    r.layers = malloc((size_t)(v->sides[0] * layer_of(v)));
    r.out = tfs_buf_reserve(out, size);
    if (r.layers == NULL || r.out == NULL) {
        free(r.layers);
        return tfs_fail_memory(err);
    }
    memset(r.out, 0, size);
    for (size_t i = 0; v->empty != 0 && i < size; i++)
        r.out[i] = (uint8_t)(v->empty >> 8 * ((begin + i) % v->width));
    if (copy_range(&r, err) == 0)
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
