/*
 * Documents and a key -> the cells that they have there.
 *
 * Must not know any format, nor what is compared.
 */
#include "formats/compare/chunk.h"

#include <errno.h>

void tfs_chunk_sides_close(struct tfs_chunk_sides *c)
{
    for (unsigned i = 0; i < TFS_CHUNK_SIDES_MAX; i++)
        tfs_voxel_chunk_close(&c->chunks[i]);
}

void tfs_chunk_sides_release(struct tfs_chunk_sides *c)
{
    for (unsigned i = 0; i < TFS_CHUNK_SIDES_MAX; i++)
        tfs_voxel_chunk_release(&c->chunks[i]);
    tfs_voxel_pool_release(&c->pool);
}

/* Takes the size of a side; those of the others must be the same. */
static int join_size(struct tfs_chunk_sides *c, struct tfs_voxel_size size, struct tfs_error *err)
{
    if (c->size.x == 0)
        c->size = size;
    if (size.x == 0 || (size.x == c->size.x && size.y == c->size.y && size.z == c->size.z))
        return 0;
    return tfs_fail(err, -EBADMSG, "it has %ux%ux%u voxels on one side and %ux%ux%u on another",
                    c->size.x, c->size.y, c->size.z, size.x, size.y, size.z);
}

static int open_side(struct tfs_chunk_sides *c, unsigned i, const struct tfs_side *side,
                     struct tfs_error *err)
{
    if (tfs_voxel_chunk_open(&c->chunks[i], &c->pool, side->save, side->doc, c->key, err) < 0)
        return err->code;
    return c->pool.kind->size.x > 0 ? 0 : join_size(c, c->chunks[i].cells->size, err);
}

int tfs_chunk_sides_open(struct tfs_chunk_sides *c, const struct tfs_side *sides, unsigned count,
                         struct tfs_key key, const bool *there, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = NULL;

    tfs_chunk_sides_close(c);
    for (unsigned i = 0; i < count; i++)
        kind = sides[i].save != NULL ? sides[i].save->tree->cells : kind;
    c->key = key;
    c->size = kind->size;
    if (tfs_voxel_pool_begin(&c->pool, kind, err) < 0)
        return err->code;
    for (unsigned i = 0; i < count; i++)
        if (there[i] && open_side(c, i, &sides[i], err) < 0)
            return err->code;
    return 0;
}

void tfs_diff_box_add(struct tfs_diff_box *box, uint64_t count, const struct tfs_chunk_sides *c,
                      const uint32_t at[3])
{
    const int64_t place[] = {(int64_t)c->key.x * c->size.x + at[0],
                             (int64_t)c->key.y * c->size.y + at[1],
                             (int64_t)c->key.z * c->size.z + at[2]};

    for (int axis = 0; axis < 3; axis++) {
        if (count == 0 || place[axis] < box->low[axis])
            box->low[axis] = place[axis];
        if (count == 0 || place[axis] > box->high[axis])
            box->high[axis] = place[axis];
    }
}
