/*
 * Three chunks behind struct tfs_voxels -> the voxels that a merge gives to each side.
 *
 * Voxels are numbers here, as in cells.c: what has the same name is the same. All of them are
 * looked at before any is put: bytes that are put must not move.
 */
#include "formats/diff/trio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ABSENT 0 /* of a voxel that is not there; it is as good as an empty one */

static void close_chunks(struct tfs_trio *trio)
{
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (trio->open[i] != NULL)
            tfs_voxels_close(trio->voxels, trio->open[i]);
    memset(trio->open, 0, sizeof(trio->open));
}

void tfs_trio_release(struct tfs_trio *trio)
{
    close_chunks(trio);
    tfs_words_release(&trio->stored);
    tfs_words_release(&trio->names);
    tfs_buf_release(&trio->voxel);
    tfs_buf_release(&trio->name);
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        tfs_buf_release(&trio->changes[i]);
    free(trio->looks);
    *trio = (struct tfs_trio){0};
}

/* ---- voxels and their names ------------------------------------------------------------------ */

/* Numbers come one after another, from 0 on. */
static int look_at(struct tfs_trio *t, uint32_t number, struct tfs_error *err)
{
    const struct tfs_span voxel = tfs_buf_span(&t->voxel);
    struct tfs_trio_look look = {.empty = voxel.size == 0 || t->voxels->empty(t->voxels, voxel)};

    struct tfs_trio_look *looks = tfs_array_grow(t->looks, number, sizeof(*looks));
    if (looks == NULL)
        return tfs_fail_memory(err);
    t->looks = looks;
    tfs_buf_clear(&t->name);
    if (voxel.size > 0)
        t->voxels->print(t->voxels, voxel, false, &t->name);
    if (tfs_buf_check(&t->name, err) < 0 ||
        tfs_words_add(&t->names, tfs_buf_span(&t->name), &look.name, err) < 0)
        return err->code;
    t->looks[number] = look;
    return 0;
}

/* The number of the voxel in t->voxel. */
static int add_voxel(struct tfs_trio *t, uint32_t *number, struct tfs_error *err)
{
    uint32_t before = t->stored.count;

    if (tfs_words_add(&t->stored, tfs_buf_span(&t->voxel), number, err) < 0)
        return err->code;
    return t->stored.count > before ? look_at(t, *number, err) : 0;
}

static int take(struct tfs_trio *t, int side, struct tfs_stretch at, struct tfs_error *err)
{
    tfs_buf_clear(&t->voxel);
    if (t->has[side] && t->voxels->take(t->open[side], at, &t->voxel, err) < 0)
        return err->code;
    if (tfs_span_equal(tfs_buf_span(&t->voxel), tfs_words_at(&t->stored, t->last[side])))
        return 0;
    return add_voxel(t, &t->last[side], err);
}

/* ---- one chunk ------------------------------------------------------------------------------- */

static int begin(struct tfs_trio *t, struct tfs_error *err)
{
    uint32_t none;

    tfs_words_clear(&t->stored);
    tfs_words_clear(&t->names);
    memset(t->last, 0, sizeof(t->last));
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        tfs_buf_clear(&t->changes[i]);
    t->conflicts = 0;
    tfs_buf_clear(&t->voxel);
    return add_voxel(t, &none, err);
}

/* Takes the size of one side; those of the others must be the same. */
static int join_size(struct tfs_trio *t, int side, struct tfs_error *err)
{
    const struct tfs_voxel_size size = tfs_voxels_sides(t->voxels, t->open[side]);

    t->has[side] = size.x > 0;
    if (!t->has[side])
        return 0;
    if (t->size.x > 0 && (size.x != t->size.x || size.y != t->size.y || size.z != t->size.z))
        return tfs_fail(err, -EBADMSG, "it has %ux%ux%u voxels on one side and %ux%ux%u on another",
                        t->size.x, t->size.y, t->size.z, size.x, size.y, size.z);
    t->size = size;
    return 0;
}

int tfs_trio_open(struct tfs_trio *trio, const struct tfs_merge *merge, struct tfs_key key,
                  const bool there[TFS_MERGE_SIDES], struct tfs_error *err)
{
    close_chunks(trio);
    memset(trio->has, 0, sizeof(trio->has));
    trio->voxels = merge->sides[TFS_MERGE_OURS].save->tree->voxels;
    trio->key = key;
    trio->based = there[TFS_MERGE_BASE] || trio->voxels->absent_is_empty;
    trio->size = (struct tfs_voxel_size){0};
    for (int i = 0; i < TFS_MERGE_SIDES; i++) {
        const struct tfs_side *side = &merge->sides[i];
        if (there[i] &&
            (tfs_voxels_open(trio->voxels, side->save, side->doc, key, &trio->open[i], err) < 0 ||
             join_size(trio, i, err) < 0))
            return err->code;
    }
    return begin(trio, err);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool equal(const struct tfs_trio *t, enum tfs_merge_side a, enum tfs_merge_side b)
{
    const uint32_t left = t->last[a], right = t->last[b];

    if (left == ABSENT || right == ABSENT)
        return t->looks[left].empty && t->looks[right].empty;
    return t->looks[left].name == t->looks[right].name;
}

static void widen(struct tfs_trio *t, const int64_t at[3])
{
    for (int axis = 0; axis < 3; axis++) {
        if (t->conflicts == 0 || at[axis] < t->box.low[axis])
            t->box.low[axis] = at[axis];
        if (t->conflicts == 0 || at[axis] > t->box.high[axis])
            t->box.high[axis] = at[axis];
    }
    t->conflicts++;
}

static int tell(struct tfs_trio *t, const struct tfs_merge *merge, struct tfs_stretch at)
{
    const int64_t place[3] = {(int64_t)t->key.x * t->size.x + at.x,
                              (int64_t)t->key.y * t->size.y + at.from,
                              (int64_t)t->key.z * t->size.z + at.z};
    struct tfs_span names[TFS_MERGE_SIDES];

    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        names[i] = tfs_words_at(&t->names, t->looks[t->last[i]].name);
    widen(t, place);
    return merge->voxel(merge->arg, t->key, place, names);
}

static void add_change(struct tfs_trio *t, enum tfs_merge_side side, struct tfs_stretch at,
                       enum tfs_merge_side from)
{
    const struct tfs_trio_change change = {(uint16_t)at.x, (uint16_t)at.from, (uint16_t)at.z,
                                           t->last[from]};

    if (!equal(t, side, from))
        tfs_buf_add(&t->changes[side], &change, sizeof(change));
}

/* One side removed the chunk. What the other did to the base is lost with it, or the removal is. */
static bool lost(const struct tfs_trio *t)
{
    const enum tfs_merge_side kept =
        t->open[TFS_MERGE_OURS] != NULL ? TFS_MERGE_OURS : TFS_MERGE_THEIRS;

    return !equal(t, TFS_MERGE_BASE, kept);
}

static int compare_voxel(struct tfs_trio *t, const struct tfs_merge *merge, struct tfs_stretch at,
                         struct tfs_error *err)
{
    const bool removed = t->open[TFS_MERGE_OURS] == NULL || t->open[TFS_MERGE_THEIRS] == NULL;
    enum tfs_merge_side from = TFS_MERGE_OURS;
    int result = 0;

    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (take(t, i, at, err) < 0)
            return err->code;
    if (removed)
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

int tfs_trio_compare(struct tfs_trio *trio, const struct tfs_merge *merge, struct tfs_error *err)
{
    struct tfs_stretch at;

    for (at.from = 0; at.from < trio->size.y; at.from++)
        for (at.z = 0; at.z < trio->size.z; at.z++)
            for (at.x = 0; at.x < trio->size.x; at.x++) {
                at.to = at.from + 1;
                int result = compare_voxel(trio, merge, at, err);
                if (result != 0)
                    return result;
            }
    for (int i = 0; i < TFS_MERGE_SIDES; i++)
        if (tfs_buf_check(&trio->changes[i], err) < 0)
            return err->code;
    return 0;
}

size_t tfs_trio_changes(const struct tfs_trio *trio, enum tfs_merge_side side)
{
    return trio->changes[side].size / sizeof(struct tfs_trio_change);
}

/* ---- putting --------------------------------------------------------------------------------- */

static int put(const struct tfs_trio *t, void *chunk, const struct tfs_trio_change *change,
               struct tfs_error *err)
{
    const struct tfs_stretch at = {change->x, change->z, change->y, change->y + 1u};

    if (change->number == ABSENT)
        return t->voxels->clear(chunk, at, err);
    return t->voxels->fill(chunk, at, tfs_words_at(&t->stored, change->number), err);
}

int tfs_trio_apply(struct tfs_trio *trio, const struct tfs_merge *merge, struct tfs_edit *edit,
                   enum tfs_merge_side side, struct tfs_error *err)
{
    struct tfs_save *save = merge->sides[merge->carrier].save;
    const struct tfs_trio_change *changes = (const void *)trio->changes[side].data;
    void *chunk;

    if (tfs_trio_changes(trio, side) == 0)
        return 0;
    if (tfs_voxels_open(trio->voxels, save, tfs_edit_doc(edit), trio->key, &chunk, err) < 0)
        return err->code;
    for (size_t i = 0; i < tfs_trio_changes(trio, side) && err->code == 0; i++)
        put(trio, chunk, &changes[i], err);
    if (err->code == 0)
        trio->voxels->store(save, edit, chunk, err);
    tfs_voxels_close(trio->voxels, chunk);
    return err->code;
}
