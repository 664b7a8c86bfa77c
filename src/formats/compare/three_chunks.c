/*
 * A chunk on three sides -> the voxels that a merge gives to each side.
 *
 * All of them are looked at before any is put.
 */
#include "formats/compare/three_chunks.h"

#include <string.h>

void tfs_three_chunks_release(struct tfs_three_chunks *trio)
{
    tfs_chunk_sides_release(&trio->sides);
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        tfs_buf_release(&trio->changes[i]);
    *trio = (struct tfs_three_chunks){0};
}

int tfs_three_chunks_open(struct tfs_three_chunks *trio, const struct tfs_merge *merge,
                          struct tfs_key key, const bool there[TFS_MERGE_SIDES],
                          struct tfs_error *err)
{
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        tfs_buf_clear(&trio->changes[i]);
    trio->conflicts = 0;
    memcpy(trio->there, there, sizeof(trio->there));
    if (tfs_chunk_sides_open(&trio->sides, merge->sides, TFS_MERGE_SIDES, key, there, err) < 0)
        return err->code;
    trio->based =
        there[TFS_MERGE_BASE] || (trio->sides.pool.kind->flags & TFS_CELLS_ABSENT_EMPTY) != 0;
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool equal(const struct tfs_three_chunks *t, enum tfs_merge_side a, enum tfs_merge_side b)
{
    return tfs_voxels_same(&t->sides.pool, t->voxels[a], t->voxels[b]);
}

static int tell(struct tfs_three_chunks *t, const struct tfs_merge *merge, const uint32_t at[3])
{
    const struct tfs_voxel_pool *pool = &t->sides.pool;
    struct tfs_diff_box place;
    struct tfs_span names[TFS_MERGE_SIDES];

    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        names[i] = tfs_words_at(&pool->full, pool->looks[t->voxels[i]].full);
    tfs_diff_box_add(&place, 0, &t->sides, at);
    tfs_diff_box_add(&t->box, t->conflicts++, &t->sides, at);
    return merge->voxel(merge->arg, t->sides.key, place.low, names);
}

static void add_change(struct tfs_three_chunks *t, enum tfs_merge_side side, const uint32_t at[3],
                       enum tfs_merge_side from)
{
    const struct tfs_voxel_change change = {(uint16_t)at[0], (uint16_t)at[1], (uint16_t)at[2],
                                            t->voxels[from]};

    if (!equal(t, side, from))
        tfs_buf_add(&t->changes[side], &change, sizeof(change));
}

/* One side removed the chunk. What the other did to the base is lost with it, or the removal is. */
static bool lost(const struct tfs_three_chunks *t)
{
    return !equal(t, TFS_MERGE_BASE, t->there[TFS_MERGE_OURS] ? TFS_MERGE_OURS : TFS_MERGE_THEIRS);
}

static int compare_voxel(struct tfs_three_chunks *t, const struct tfs_merge *merge,
                         const uint32_t at[3], struct tfs_error *err)
{
    enum tfs_merge_side from = TFS_MERGE_OURS;
    int result = 0;

    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (tfs_voxel_at(&t->sides.pool, &t->sides.chunks[i], at, &t->voxels[i], err) < 0)
            return err->code;
    if (!t->there[TFS_MERGE_OURS] || !t->there[TFS_MERGE_THEIRS])
        return lost(t) ? tell(t, merge, at) : 0;
    if (equal(t, TFS_MERGE_OURS, TFS_MERGE_THEIRS))
        return 0;
    if (t->based && equal(t, TFS_MERGE_BASE, TFS_MERGE_OURS)) {
        from = TFS_MERGE_THEIRS;
    } else if (!t->based || !equal(t, TFS_MERGE_BASE, TFS_MERGE_THEIRS)) {
        from = merge->prefer;
        result = tell(t, merge, at);
    }
    add_change(t, TFS_MERGE_OURS, at, from);
    add_change(t, TFS_MERGE_THEIRS, at, from);
    return result;
}

int tfs_three_chunks_compare(struct tfs_three_chunks *trio, const struct tfs_merge *merge,
                             struct tfs_error *err)
{
    const struct tfs_voxel_size size = trio->sides.size;
    const struct tfs_voxel_chunk *chunks = trio->sides.chunks;
    int result = 0;

    for (uint32_t y = 0; y < size.y; y++)
        for (uint32_t z = 0; z < size.z; z++) {
            if (tfs_voxel_rows_equal(&chunks[TFS_MERGE_OURS], &chunks[TFS_MERGE_THEIRS], y, z))
                continue;
            for (uint32_t x = 0; x < size.x && result == 0; x++)
                result = compare_voxel(trio, merge, (uint32_t[]){x, y, z}, err);
            if (result != 0)
                return result;
        }
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (tfs_buf_check(&trio->changes[i], err) < 0)
            return err->code;
    return 0;
}

size_t tfs_voxel_changes(const struct tfs_three_chunks *trio, enum tfs_merge_side side)
{
    return trio->changes[side].size / sizeof(struct tfs_voxel_change);
}

/* ---- putting --------------------------------------------------------------------------------- */

int tfs_three_chunks_apply(struct tfs_three_chunks *trio, const struct tfs_merge *merge,
                           struct tfs_edit *edit, enum tfs_merge_side side, struct tfs_error *err)
{
    const struct tfs_voxel_change *change = (const void *)trio->changes[side].data;
    size_t left = tfs_voxel_changes(trio, side);
    struct tfs_voxel_edit e = {0};

    if (left == 0)
        return 0;
    tfs_voxel_edit_open(&e, &trio->sides.pool, merge->sides[merge->carrier].save,
                        tfs_edit_doc(edit), trio->sides.key, err);
    for (; left > 0 && err->code == 0; change++, left--) {
        const struct tfs_stretch at = {change->x, change->z, change->y, change->y + 1u};
        if (change->voxel == TFS_VOXEL_NONE)
            tfs_voxel_clear(&e, at, false, err);
        else
            tfs_voxel_put(&e, at, change->voxel, err);
    }
    if (err->code == 0)
        tfs_cells_edit_finish(&e.cells, edit, err);
    tfs_voxel_edit_close(&e);
    return err->code;
}
