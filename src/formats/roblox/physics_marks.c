/*
 * Marks of blocks, joined by block -> the lists of regions that PhysicsGrid is.
 *
 * Must not know voxels.
 */
#include "formats/roblox/physics_marks.h"

#include <stdlib.h>

#include "base/array.h"

#define PHYSICS_VERSION 2
#define PHYSICS_LOG2    3 /* of the edge of a region */
#define HEAD_SIZE       2
#define LISTS           3

bool tfs_rbx_physics_known(struct tfs_span value)
{
    return value.size == 0 || (value.size >= HEAD_SIZE && value.data[0] == PHYSICS_VERSION &&
                               value.data[1] == PHYSICS_LOG2);
}

int tfs_rbx_mark_add(struct tfs_rbx_marks *marks, struct tfs_rbx_mark mark, struct tfs_error *err)
{
    struct tfs_rbx_mark *items = tfs_array_grow(marks->items, marks->count, sizeof(*items));

    if (items == NULL)
        return tfs_fail_memory(err);
    marks->items = items;
    marks->items[marks->count++] = mark;
    return 0;
}

int tfs_rbx_mark_compare(const void *a, const void *b)
{
    const struct tfs_rbx_block *left = &((const struct tfs_rbx_mark *)a)->block;
    const struct tfs_rbx_block *right = &((const struct tfs_rbx_mark *)b)->block;

    if (left->x != right->x)
        return left->x < right->x ? -1 : 1;
    if (left->y != right->y)
        return left->y < right->y ? -1 : 1;
    return left->z < right->z ? -1 : left->z > right->z;
}

void tfs_rbx_marks_join(struct tfs_rbx_marks *marks)
{
    size_t joined = 0;

    if (marks->count == 0)
        return;
    qsort(marks->items, marks->count, sizeof(*marks->items), tfs_rbx_mark_compare);
    for (size_t i = 1; i < marks->count; i++) {
        if (tfs_rbx_mark_compare(&marks->items[joined], &marks->items[i]) == 0)
            marks->items[joined].regions |= marks->items[i].regions;
        else
            marks->items[++joined] = marks->items[i];
    }
    marks->count = joined + 1;
}

/* ---- the list -------------------------------------------------------------------------------- */

struct lister {
    struct tfs_buf *out;
    struct tfs_rbx_position last;
    uint32_t count;
};

/* A coordinate of a region from its block's; it wraps round as all offsets do. */
static int32_t region_coordinate(int64_t block, uint32_t region)
{
    return (int32_t)(uint32_t)(block * TFS_RBX_REGIONS_ALONG + region);
}

static void list_region(struct lister *l, struct tfs_rbx_block block, uint32_t x, uint32_t y,
                        uint32_t z)
{
    struct tfs_rbx_position at = {region_coordinate(block.x, x), region_coordinate(block.y, y),
                                  region_coordinate(block.z, z)};

    tfs_rbx_offset_put(l->out, l->last, at);
    l->last = at;
    l->count++;
}

/* Regions of one layer across y, of marks that differ in z only, ascending by z. */
static void list_row(struct lister *l, const struct tfs_rbx_mark *marks, size_t count, uint32_t x,
                     uint32_t y)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t z = 0; z < TFS_RBX_REGIONS_ALONG; z++)
            if ((marks[i].regions >> ((x * TFS_RBX_REGIONS_ALONG + y) * TFS_RBX_REGIONS_ALONG + z) &
                 1) != 0)
                list_region(l, marks[i].block, x, y, z);
}

/* How many marks from the front are in one block layer: the same x, and the same y if wanted. */
static size_t count_same(const struct tfs_rbx_mark *marks, size_t count, bool also_y)
{
    size_t n = 1;

    while (n < count && marks[n].block.x == marks[0].block.x &&
           (!also_y || marks[n].block.y == marks[0].block.y))
        n++;
    return n;
}

/* Regions with one x coordinate, of marks that have the block's x in common. */
static void list_plane(struct lister *l, const struct tfs_rbx_mark *marks, size_t count, uint32_t x)
{
    while (count > 0) {
        size_t same = count_same(marks, count, true);
        for (uint32_t y = 0; y < TFS_RBX_REGIONS_ALONG; y++)
            list_row(l, marks, same, x, y);
        marks += same;
        count -= same;
    }
}

/* All regions, ascending by x, y, z. */
static void list_marks(struct lister *l, const struct tfs_rbx_marks *marks)
{
    const struct tfs_rbx_mark *at = marks->items;
    size_t left = marks->count;

    while (left > 0) {
        size_t same = count_same(at, left, false);
        for (uint32_t x = 0; x < TFS_RBX_REGIONS_ALONG; x++)
            list_plane(l, at, same, x);
        at += same;
        left -= same;
    }
}

void tfs_rbx_marks_put(struct tfs_buf *out, const struct tfs_rbx_marks *marks)
{
    struct lister lister = {.out = out};
    size_t count_at = out->size + HEAD_SIZE;

    tfs_buf_u8(out, PHYSICS_VERSION);
    tfs_buf_u8(out, PHYSICS_LOG2);
    tfs_buf_u32be(out, 0); /* known when the list is done */
    list_marks(&lister, marks);
    if (!out->failed)
        for (unsigned i = 0; i < 4; i++)
            out->data[count_at + i] = (uint8_t)(lister.count >> (24 - 8 * i));
    for (int i = 1; i < LISTS; i++)
        tfs_buf_u32be(out, 0);
}
