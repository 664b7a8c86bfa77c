/*
 * Chunks that are not there -> holes: see holes.h. Places here are bytes behind the head.
 */
#include "formats/arrays/holes.h"

#define HOLE_MIN 4096
#define STEPS    262144 /* pieces of data that are looked at; what follows counts as data */

struct sizes {
    uint64_t row, line, plane, all; /* bytes: a row of a chunk, a line, a plane, the array */
    size_t end;                     /* index in the document behind the last chunk */
};

static struct sizes sizes_of(const struct tfs_volume *v)
{
    struct sizes s = {.row = (uint64_t)v->sides[2] * v->width};

    s.line = v->chunks[2] * s.row;
    s.plane = (uint64_t)v->chunks[1] * v->sides[1] * s.line;
    s.all = tfs_volume_size(v) - TFS_NPY_HEAD;
    s.end = tfs_doc_lower_bound(v->doc,
                                (struct tfs_key){v->low.group, INT32_MIN, INT32_MIN, INT32_MIN}) +
            tfs_doc_group_count(v->doc, v->low.group);
    return s;
}

/* Index in the document of the first chunk from this place (in chunks: y, z, x) on. */
static size_t find(const struct tfs_volume *v, const struct sizes *s, uint64_t y, uint64_t z,
                   uint64_t x)
{
    const struct tfs_key key = {v->low.group, (int32_t)(v->low.x + (int64_t)x),
                                (int32_t)(v->low.y + (int64_t)y), (int32_t)(v->low.z + (int64_t)z)};

    if (z >= v->chunks[1])
        return find(v, s, y + 1, 0, 0);
    return y >= v->chunks[0] ? s->end : tfs_doc_lower_bound(v->doc, key);
}

/* The place of a chunk; false: there is none behind. */
static bool place_of(const struct tfs_volume *v, const struct sizes *s, size_t index,
                     uint64_t at[3])
{
    if (index >= s->end)
        return false;
    const struct tfs_key key = tfs_doc_at(v->doc, index)->key;
    at[0] = (uint64_t)((int64_t)key.y - v->low.y);
    at[1] = (uint64_t)((int64_t)key.z - v->low.z);
    at[2] = (uint64_t)((int64_t)key.x - v->low.x);
    return true;
}

/* The first byte from `p` on that a chunk has, or the end. */
static uint64_t next_data(const struct tfs_volume *v, const struct sizes *s, uint64_t p)
{
    uint64_t at[3];

    if (p >= s->all)
        return s->all;
    const uint64_t y = p / s->plane, z = p % s->plane / s->line;
    const uint64_t cy = y / v->sides[0], cz = z / v->sides[1], cx = p % s->line / s->row;
    if (place_of(v, s, find(v, s, cy, cz, cx), at) && at[0] == cy && at[1] == cz) {
        const uint64_t begin = y * s->plane + z * s->line + at[2] * s->row;
        return begin > p ? begin : p;
    }
    /* The next line of these chunks, chunks behind them, the next plane, planes above. */
    if ((z + 1) % v->sides[1] != 0 && place_of(v, s, find(v, s, cy, cz, 0), at) && at[0] == cy &&
        at[1] == cz)
        return y * s->plane + (z + 1) * s->line + at[2] * s->row;
    if (place_of(v, s, find(v, s, cy, cz + 1, 0), at) && at[0] == cy)
        return y * s->plane + at[1] * v->sides[1] * s->line + at[2] * s->row;
    if ((y + 1) % v->sides[0] != 0 && place_of(v, s, find(v, s, cy, 0, 0), at) && at[0] == cy)
        return (y + 1) * s->plane + at[1] * v->sides[1] * s->line + at[2] * s->row;
    if (place_of(v, s, find(v, s, cy + 1, 0, 0), at))
        return at[0] * v->sides[0] * s->plane + at[1] * v->sides[1] * s->line + at[2] * s->row;
    return s->all;
}

/* The end of bytes that chunks have, of which `p` is one. */
static uint64_t end_of_data(const struct tfs_volume *v, const struct sizes *s, uint64_t p)
{
    const uint64_t y = p / s->plane, z = p % s->plane / s->line;
    const uint64_t cy = y / v->sides[0], cz = z / v->sides[1];

    if (find(v, s, cy + 1, 0, 0) - find(v, s, cy, 0, 0) == (uint64_t)v->chunks[1] * v->chunks[2])
        return (cy + 1) * v->sides[0] * s->plane;
    if (find(v, s, cy, cz + 1, 0) - find(v, s, cy, cz, 0) == v->chunks[2])
        return y * s->plane + (cz + 1) * v->sides[1] * s->line;
    return p - p % s->row + s->row;
}

static uint64_t next_hole(const struct tfs_volume *v, const struct sizes *s, uint64_t p)
{
    for (unsigned i = 0; i < STEPS && p < s->all; i++) {
        const uint64_t data = next_data(v, s, p);
        if (data - p >= HOLE_MIN)
            return p;
        p = data < s->all ? end_of_data(v, s, data) : s->all;
    }
    return s->all;
}

uint64_t tfs_volume_seek(const struct tfs_volume *v, uint64_t offset, bool hole)
{
    const struct sizes s = sizes_of(v);
    const uint64_t p = offset > TFS_NPY_HEAD ? offset - TFS_NPY_HEAD : 0;

    if (v->empty != 0 || v->flat || (!hole && offset < TFS_NPY_HEAD))
        return hole ? TFS_NPY_HEAD + s.all : offset;
    return TFS_NPY_HEAD + (hole ? next_hole(v, &s, p) : next_data(v, &s, p));
}

uint64_t tfs_volume_stored(const struct tfs_volume *v)
{
    const uint64_t chunk = tfs_volume_values(v) * v->width;

    if (v->empty != 0 || v->flat)
        return tfs_volume_size(v);
    return TFS_NPY_HEAD + tfs_doc_group_count(v->doc, v->low.group) * chunk;
}
