/*
 * Heights before and after -> voxels cleared and repeated (docs/semantics.md, T8).
 *
 * Three steps: what voxel stands on top where one is needed; which voxel each raised column takes;
 * then chunk by chunk, each opened once, its part of every changed column. Must not know games: a
 * voxel is a number in a pool.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/voxels.h"
#include "formats/views/pictures/draw.h"

#define NEIGHBOURS 8

struct sculpt {
    struct tfs_save *save;
    struct tfs_edit *edit;
    const struct tfs_picture_box *box;
    const uint16_t *before, *after;
    size_t count;    /* pixels */
    uint8_t *wanted; /* is the top voxel of this column needed? */
    uint32_t *voxel; /* of the column's top, where it was needed; then what it is raised with */
    bool partial;    /* voxels of the game can be */
    struct tfs_voxel_pool pool;
    struct tfs_error *err;
};

/* ---- which top voxels are needed ------------------------------------------------------------- */

static bool raised(const struct sculpt *s, size_t i)
{
    return s->after[i] > s->before[i];
}

/* The neighbours of a pixel that have a voxel, as pixels; returns their number. */
static unsigned neighbours_of(const struct sculpt *s, size_t i, size_t around[NEIGHBOURS])
{
    int64_t width = (int64_t)s->box->sx, depth = (int64_t)s->box->sz;
    int64_t x = (int64_t)i % width, z = (int64_t)i / width;
    unsigned count = 0;

    for (int64_t dz = -1; dz <= 1; dz++)
        for (int64_t dx = -1; dx <= 1; dx++) {
            if ((dx == 0 && dz == 0) || x + dx < 0 || x + dx >= width || z + dz < 0 ||
                z + dz >= depth)
                continue;
            size_t at = (size_t)((z + dz) * width + x + dx);
            if (s->before[at] > 0)
                around[count++] = at;
        }
    return count;
}

/* The most common voxel of the save is asked for only where a raised column and all around it are
 * empty. */
static void want_tops(struct sculpt *s)
{
    size_t around[NEIGHBOURS];
    bool all = false;

    for (size_t i = 0; i < s->count; i++) {
        if (!raised(s, i))
            continue;
        s->wanted[i] = 1;
        if (s->before[i] > 0)
            continue;
        unsigned count = neighbours_of(s, i, around);
        for (unsigned k = 0; k < count; k++)
            s->wanted[around[k]] = 1;
        all = all || count == 0;
    }
    if (all)
        memset(s->wanted, 1, s->count);
}

/* ---- top voxels ------------------------------------------------------------------------------ */

/* Where a chunk lies in the picture. */
struct patch {
    struct tfs_key key;
    size_t pixel;  /* of its column 0,0 */
    uint32_t base; /* height of its bottom */
};

static struct patch patch_of(const struct tfs_picture_box *box, struct tfs_key key)
{
    size_t x = (size_t)(key.x - box->low.x) * box->chunk.x;
    size_t z = (size_t)(key.z - box->low.z) * box->chunk.z;

    return (struct patch){
        .key = key,
        .pixel = z * (size_t)box->sx + x,
        .base = (uint32_t)(key.y - box->low.y) * box->chunk.y,
    };
}

/* Is this the chunk that holds the column's top voxel, and is that one needed? */
static bool holds_wanted_top(const struct sculpt *s, const struct patch *patch, size_t pixel)
{
    return s->wanted[pixel] && s->before[pixel] > patch->base &&
           s->before[pixel] <= patch->base + s->box->chunk.y;
}

/* All needed top voxels in one chunk, which is opened when the first is found. */
static int take_tops_of(struct sculpt *s, struct tfs_key key)
{
    const struct patch patch = patch_of(s->box, key);
    struct tfs_voxel_chunk chunk = {.cells = NULL};

    for (uint32_t z = 0; z < s->box->chunk.z && s->err->code == 0; z++)
        for (uint32_t x = 0; x < s->box->chunk.x && s->err->code == 0; x++) {
            const size_t pixel = patch.pixel + z * (size_t)s->box->sx + x;
            if (!holds_wanted_top(s, &patch, pixel))
                continue;
            if (chunk.cells == NULL && tfs_voxel_chunk_open(&chunk, &s->pool, s->save,
                                                            tfs_edit_doc(s->edit), key, s->err) < 0)
                break;
            const uint32_t at[] = {x, s->before[pixel] - patch.base - 1, z};
            tfs_voxel_at(&s->pool, &chunk, at, &s->voxel[pixel], s->err);
        }
    tfs_voxel_chunk_release(&chunk);
    return s->err->code;
}

/* Can a column of the box have its top in this chunk? The document may reach further. */
static bool reaches(const struct tfs_picture_box *box, struct tfs_key key)
{
    int64_t x = ((int64_t)key.x - box->low.x) * box->chunk.x;
    int64_t y = ((int64_t)key.y - box->low.y) * box->chunk.y;
    int64_t z = ((int64_t)key.z - box->low.z) * box->chunk.z;

    return x >= 0 && x < (int64_t)box->sx && z >= 0 && z < (int64_t)box->sz && y >= 0 &&
           y < TFS_PICTURE_HEIGHT_MAX;
}

static int take_tops(struct sculpt *s)
{
    const struct tfs_doc *doc = tfs_edit_doc(s->edit);
    size_t count = tfs_doc_group_count(doc, 0);

    for (size_t i = 0; i < count; i++) {
        struct tfs_key key = tfs_doc_at(doc, i)->key;
        if (reaches(s->box, key) && take_tops_of(s, key) < 0)
            return s->err->code;
    }
    return 0;
}

/* ---- what empty columns are raised with ------------------------------------------------------ */

/* The most frequent; of equals the first. */
static uint32_t most_common_around(const struct sculpt *s, size_t i)
{
    size_t around[NEIGHBOURS];
    unsigned count = neighbours_of(s, i, around), best = 0;
    uint32_t voxel = TFS_VOXEL_NONE;

    for (unsigned k = 0; k < count; k++) {
        unsigned same = 0;
        for (unsigned n = 0; n < count; n++)
            same += s->voxel[around[n]] == s->voxel[around[k]];
        if (same > best) {
            best = same;
            voxel = s->voxel[around[k]];
        }
    }
    return voxel;
}

static int most_common_of_all(struct sculpt *s, uint32_t *voxel)
{
    uint64_t *uses = calloc(s->pool.voxels.count, sizeof(*uses));
    uint64_t best = 0;

    if (uses == NULL)
        return tfs_fail_memory(s->err);
    for (size_t i = 0; i < s->count; i++)
        uses[s->voxel[i]]++;
    for (uint32_t i = TFS_VOXEL_NONE + 1; i < s->pool.voxels.count; i++)
        if (uses[i] > best) {
            best = uses[i];
            *voxel = i;
        }
    free(uses);
    return 0;
}

static int refuse(struct sculpt *s, size_t pixel, const char *why)
{
    const size_t width = (size_t)s->box->sx;

    return tfs_fail(s->err, -EBADMSG, "pixel %zu,%zu: %s", pixel % width,
                    (size_t)tfs_picture_row(s->box, pixel / width), why);
}

static bool is_about_the_picture(const struct tfs_error *why)
{
    return tfs_is_damage(why->code) || why->code == -EINVAL;
}

/* The same for what the game says, where it is about the picture at all. */
static int refuse_inside(struct sculpt *s, size_t pixel, const struct tfs_error *why)
{
    return is_about_the_picture(why) ? refuse(s, pixel, why->text)
                                     : tfs_fail(s->err, why->code, "%s", why->text);
}

/* Empty columns are only looked at by themselves here: what they get does not spread. */
static int choose_voxels(struct sculpt *s)
{
    uint32_t common = TFS_VOXEL_NONE;

    if (most_common_of_all(s, &common) < 0)
        return s->err->code;
    for (size_t i = 0; i < s->count; i++) {
        if (!raised(s, i) || s->before[i] > 0)
            continue;
        s->voxel[i] = most_common_around(s, i);
        if (s->voxel[i] == TFS_VOXEL_NONE)
            s->voxel[i] = common;
        if (s->voxel[i] == TFS_VOXEL_NONE)
            return refuse(s, i,
                          "nothing can be raised here: the save has no voxel that could be "
                          "repeated");
    }
    return 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Heights [from, to) of a column that change. A partial top is made full when others come on top
 * of it. */
static void changed_range(const struct sculpt *s, size_t i, uint32_t *from, uint32_t *to)
{
    uint32_t before = s->before[i], after = s->after[i];

    *from = before < after ? before : after;
    *to = before < after ? after : before;
    if (before < after && before > 0 && s->partial)
        (*from)--;
}

/* The part of [from, to) in the chunk; false: none. */
static bool clip(const struct sculpt *s, const struct patch *patch, uint32_t from, uint32_t to,
                 struct tfs_stretch *at)
{
    uint32_t end = patch->base + s->box->chunk.y;

    if (to <= patch->base || from >= end || from >= to)
        return false;
    at->from = from > patch->base ? from - patch->base : 0;
    at->to = (to < end ? to : end) - patch->base;
    return true;
}

/* One column's part in the chunk. The highest voxel keeps the value that the top had; those below
 * are full. */
static int change_column(struct sculpt *s, const struct patch *patch, struct tfs_voxel_edit *e,
                         size_t pixel, struct tfs_stretch at, struct tfs_error *err)
{
    uint32_t from, to, full;

    changed_range(s, pixel, &from, &to);
    if (!raised(s, pixel))
        return clip(s, patch, from, to, &at) ? tfs_voxel_clear(e, at, true, err) : 0;
    if (tfs_voxel_fill_up(&s->pool, s->voxel[pixel], &full, err) < 0)
        return err->code;
    if (clip(s, patch, from, to - 1, &at) && tfs_voxel_put(e, at, full, err) < 0)
        return err->code;
    return clip(s, patch, to - 1, to, &at) ? tfs_voxel_put(e, at, s->voxel[pixel], err) : 0;
}

/* The first pixel of the patch whose change reaches into the chunk; with `raise`, one that is
 * raised. s->count: none. */
static size_t first_change(const struct sculpt *s, const struct patch *patch, bool raise)
{
    struct tfs_stretch ignored;
    uint32_t from, to;

    for (uint32_t z = 0; z < s->box->chunk.z; z++)
        for (uint32_t x = 0; x < s->box->chunk.x; x++) {
            size_t pixel = patch->pixel + z * (size_t)s->box->sx + x;
            changed_range(s, pixel, &from, &to);
            if ((!raise || raised(s, pixel)) && clip(s, patch, from, to, &ignored))
                return pixel;
        }
    return s->count;
}

/* Where chunks may have no voxels, it gets them as the first that is put there is stored. */
static int create_chunk(struct sculpt *s, struct tfs_key key, struct tfs_error *err)
{
    const struct tfs_tree *tree = s->save->tree;
    const struct tfs_chunk bare = {.key = key, .slot = TFS_SLOT_NONE};

    if (tree->chunk_create == NULL)
        return tfs_fail(err, -ENOTSUP, "too high: the save can hold no further chunk");
    if (tree->chunk_create(s->save, s->edit, key, err) == 0 && tree->cells->blank != NULL)
        tfs_edit_put(s->edit, &bare, err);
    return err->code;
}

/* The chunk above the value `most` could not be created. */
static int refuse_chunk(struct sculpt *s, size_t pixel, const struct tfs_error *why, uint64_t most)
{
    char text[TFS_ERROR_TEXT];

    snprintf(text, sizeof(text), "%.300s; the largest value here is %" PRIu64, why->text, most);
    return is_about_the_picture(why) ? refuse(s, pixel, text) : refuse_inside(s, pixel, why);
}

/* Makes sure that the chunk is there, if anything is raised into it. */
static int need_chunk(struct sculpt *s, const struct patch *patch, bool *there)
{
    struct tfs_error inside = {0};

    *there = tfs_doc_find(tfs_edit_doc(s->edit), patch->key) != NULL;
    if (*there)
        return 0;
    size_t pixel = first_change(s, patch, true);
    if (pixel == s->count)
        return 0;
    const uint64_t below = (uint64_t)((int64_t)patch->key.y - s->box->low.y) * s->box->chunk.y;
    if (create_chunk(s, patch->key, &inside) < 0)
        return refuse_chunk(s, pixel, &inside, below);
    *there = true;
    return 0;
}

/* The chunk's part of every changed column. */
static int change_columns(struct sculpt *s, const struct patch *patch, struct tfs_voxel_edit *e)
{
    struct tfs_stretch at = {0};
    struct tfs_error inside = {0};

    for (at.z = 0; at.z < s->box->chunk.z; at.z++)
        for (at.x = 0; at.x < s->box->chunk.x; at.x++) {
            size_t pixel = patch->pixel + at.z * (size_t)s->box->sx + at.x;
            if (s->before[pixel] != s->after[pixel] &&
                change_column(s, patch, e, pixel, at, &inside) < 0)
                return refuse_inside(s, pixel, &inside);
        }
    return 0;
}

static int change_chunk(struct sculpt *s, struct tfs_key key)
{
    const struct patch patch = patch_of(s->box, key);
    const size_t first = first_change(s, &patch, false);
    struct tfs_error inside = {0};
    struct tfs_voxel_edit e = {.pool = NULL};
    bool there;

    if (first == s->count)
        return 0;
    if (need_chunk(s, &patch, &there) < 0 || !there)
        return s->err->code;
    if (tfs_voxel_edit_open(&e, &s->pool, s->save, tfs_edit_doc(s->edit), key, &inside) < 0 ||
        (change_columns(s, &patch, &e) == 0 &&
         tfs_cells_edit_finish(&e.cells, s->edit, &inside) < 0))
        refuse_inside(s, first, &inside);
    tfs_voxel_edit_close(&e);
    return s->err->code;
}

/* The heights that any column of a patch of the picture changes in. */
static void patch_range(const struct sculpt *s, size_t corner, uint32_t *low, uint32_t *high)
{
    uint32_t from, to;

    *low = UINT32_MAX;
    *high = 0;
    for (uint32_t z = 0; z < s->box->chunk.z; z++)
        for (uint32_t x = 0; x < s->box->chunk.x; x++) {
            size_t pixel = corner + z * (size_t)s->box->sx + x;
            if (s->before[pixel] == s->after[pixel])
                continue;
            changed_range(s, pixel, &from, &to);
            *low = from < *low ? from : *low;
            *high = to > *high ? to : *high;
        }
}

/* The chunks above one another at (x, z), counted from the lowest corner. */
static int change_stack(struct sculpt *s, uint32_t x, uint32_t z)
{
    struct tfs_key key = {0, s->box->low.x + (int32_t)x, 0, s->box->low.z + (int32_t)z};
    uint32_t low, high;

    patch_range(s, z * s->box->chunk.z * (size_t)s->box->sx + x * (size_t)s->box->chunk.x, &low,
                &high);
    if (high == 0)
        return 0;
    for (uint32_t y = low / s->box->chunk.y; y <= (high - 1) / s->box->chunk.y; y++) {
        key.y = (int32_t)(s->box->low.y + (int64_t)y);
        if (change_chunk(s, key) < 0)
            return s->err->code;
    }
    return 0;
}

static int change_all(struct sculpt *s)
{
    for (uint32_t z = 0; z < s->box->sz / s->box->chunk.z; z++)
        for (uint32_t x = 0; x < s->box->sx / s->box->chunk.x; x++)
            if (change_stack(s, x, z) < 0)
                return s->err->code;
    return 0;
}

/* A save that grew above what a picture can tell would lose its pictures; and chunk coordinates
 * end. */
static int check_heights(struct sculpt *s)
{
    uint64_t highest = TFS_PICTURE_HEIGHT_MAX / s->box->chunk.y;
    uint64_t above = (uint64_t)((int64_t)INT32_MAX - s->box->low.y) + 1;
    uint64_t most = (highest < above ? highest : above) * s->box->chunk.y;

    for (size_t i = 0; i < s->count; i++)
        if (raised(s, i) && s->after[i] > most)
            return refuse(s, i, "too high: the save would be higher than a picture can tell");
    return 0;
}

int tfs_sculpt(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_picture_box *box,
               const uint16_t *before, const uint16_t *after, struct tfs_error *err)
{
    struct sculpt s = {.save = save,
                       .edit = edit,
                       .box = box,
                       .before = before,
                       .after = after,
                       .count = (size_t)(box->sx * box->sz),
                       .err = err};

    if (memcmp(before, after, s.count * sizeof(*before)) == 0)
        return 0;
    for (unsigned p = 0; p < save->tree->cells->count; p++)
        s.partial = s.partial || (save->tree->cells->planes[p].flags & TFS_PLANE_PARTIAL) != 0;
    s.wanted = calloc(s.count, sizeof(*s.wanted));
    s.voxel = calloc(s.count, sizeof(*s.voxel));
    if (s.wanted == NULL || s.voxel == NULL) {
        tfs_fail_memory(err);
    } else if (tfs_voxel_pool_begin(&s.pool, save->tree->cells, err) == 0 &&
               check_heights(&s) == 0) {
        want_tops(&s);
        if (take_tops(&s) == 0 && choose_voxels(&s) == 0)
            change_all(&s);
    }
    tfs_voxel_pool_release(&s.pool);
    free(s.wanted);
    free(s.voxel);
    return err->code;
}
