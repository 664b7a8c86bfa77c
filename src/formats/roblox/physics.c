/*
 * Voxels -> the list of 8x8x8 regions that a non-Air voxel, grown by one on every side, touches.
 *
 * Must not know the file, nor make cells: records are runs, and a run is a few bits of row masks.
 *
 * All is done in blocks of 32x32x32 voxels, whatever the edge of a chunk is, because 4x4x4 regions
 * of a block are 64 bits. A block marks its own regions and those of its neighbours that its border
 * touches; what many blocks say of one block is joined at the end.
 */
#include "formats/roblox/physics_marks.h"

#include <stdlib.h>
#include <string.h>

#include "formats/roblox/material.h"

#define BLOCK  32 /* edge in voxels */
#define ROWS   (BLOCK * BLOCK)
#define REGION 8
#define ALONG  TFS_RBX_REGIONS_ALONG
#define GROWN  (ALONG + 2) /* the same with a region of each neighbour */

_Static_assert(ALONG == BLOCK / REGION, "the regions of a block are the bits of a mark");

/* ---- one block ------------------------------------------------------------------------------- */

/* Row y * BLOCK + z of a block: bit x is set where the voxel is not Air. */
struct rows {
    uint32_t bits[ROWS];
};

/* Which of the GROWN regions along x a row touches, bit 0 being the one of the neighbour below. */
static uint32_t grow_row(uint32_t row)
{
    uint32_t touched = 0;

    for (uint32_t i = 0; i < ALONG; i++) {
        uint32_t voxels = row >> i * REGION & 0xff;
        uint32_t low = voxels & 1;
        uint32_t high = voxels >> (REGION - 1);
        touched |= (low | (voxels != 0 ? 2u : 0u) | high << 2) << i;
    }
    return touched;
}

/* By grown y and z: the regions along x that are touched. */
struct tfs_rbx_near {
    bool known;
    uint8_t x[GROWN][GROWN];
};

/* The first and the last of the grown regions that a voxel of that coordinate touches. */
static uint32_t first_touched(uint32_t v)
{
    return v / REGION + (v % REGION == 0 ? 0 : 1);
}

static uint32_t last_touched(uint32_t v)
{
    return v / REGION + (v % REGION == REGION - 1 ? 2 : 1);
}

/* Growing along x is left for the end: there are fewer regions than rows. */
static void grow_block(const struct rows *rows, struct tfs_rbx_near *near)
{
    uint32_t joined[GROWN][GROWN] = {0};

    for (uint32_t y = 0; y < BLOCK; y++) {
        for (uint32_t z = 0; z < BLOCK; z++) {
            uint32_t row = rows->bits[y * BLOCK + z];
            for (uint32_t gy = first_touched(y); row != 0 && gy <= last_touched(y); gy++)
                for (uint32_t gz = first_touched(z); gz <= last_touched(z); gz++)
                    joined[gy][gz] |= row;
        }
    }
    for (uint32_t y = 0; y < GROWN; y++)
        for (uint32_t z = 0; z < GROWN; z++)
            near->x[y][z] = (uint8_t)grow_row(joined[y][z]);
}

/* Where grown region g lies: in the block below (-1), in this one (0), in the one above (1), and
 * which of that block's it is. */
static int64_t side_of(uint32_t g)
{
    return g == 0 ? -1 : g == GROWN - 1;
}

static uint32_t region_of(uint32_t g)
{
    return (g + ALONG - 1) % ALONG;
}

/* What the grown block says of itself, in the middle, and of its neighbours. */
static void spread(const struct tfs_rbx_near *near, uint64_t regions[3][3][3])
{
    for (uint32_t y = 0; y < GROWN; y++)
        for (uint32_t z = 0; z < GROWN; z++)
            for (uint32_t x = 0; x < GROWN; x++) {
                uint32_t bit = (region_of(x) * ALONG + region_of(y)) * ALONG + region_of(z);
                uint64_t touched = near->x[y][z] >> x & 1;
                regions[side_of(x) + 1][side_of(y) + 1][side_of(z) + 1] |= touched << bit;
            }
}

static int mark_block(struct tfs_rbx_marks *marks, struct tfs_rbx_block block,
                      const struct tfs_rbx_near *near, struct tfs_error *err)
{
    uint64_t regions[3][3][3] = {0};

    spread(near, regions);
    for (int64_t i = 0; i < 27; i++) {
        int64_t x = i / 9;
        int64_t y = i / 3 % 3;
        int64_t z = i % 3;
        struct tfs_rbx_mark mark = {{block.x + x - 1, block.y + y - 1, block.z + z - 1},
                                    regions[x][y][z]};
        if (mark.regions != 0 && tfs_rbx_mark_add(marks, mark, err) < 0)
            return err->code;
    }
    return 0;
}

/* ---- one chunk ------------------------------------------------------------------------------- */

/* A chunk as blocks: blocks_along^3 of them; a chunk smaller than a block lies inside of one, from
 * voxel `origin` on. */
struct chunk_rows {
    uint32_t edge;
    uint32_t along; /* blocks along an edge */
    uint32_t x, y, z;
    struct rows *blocks;
};

/* Sets `count` voxels along x from a cell on, which do not leave the row and lie in one block. */
static void set_row(struct chunk_rows *c, uint32_t cell, uint32_t count)
{
    uint32_t x = c->x + cell % c->edge;
    uint32_t z = c->z + cell / c->edge % c->edge;
    uint32_t y = c->y + cell / c->edge / c->edge;
    uint32_t block = ((y / BLOCK) * c->along + z / BLOCK) * c->along + x / BLOCK;
    uint32_t bits = (uint32_t)((UINT64_C(1) << count) - 1) << x % BLOCK;

    c->blocks[block].bits[y % BLOCK * BLOCK + z % BLOCK] |= bits;
}

/* The same of a chunk that is one block, which nearly all are: cells lie there as rows do. */
static void set_block(struct rows *rows, struct tfs_span records)
{
    struct tfs_cursor cursor = tfs_cursor_init(records);
    uint32_t cell = 0;
    struct tfs_rbx_run run;

    while (tfs_rbx_run_take(&cursor, &run)) {
        const uint32_t end = cell + run.count;
        if (tfs_rbx_cell_material(run.cell) == TFS_RBX_AIR)
            cell = end;
        while (cell < end) {
            const uint32_t x = cell % BLOCK, room = BLOCK - x;
            const uint32_t count = room < end - cell ? room : end - cell;
            rows->bits[cell / BLOCK] |= UINT32_MAX >> (BLOCK - count) << x;
            cell += count;
        }
    }
}

static void set_records(struct chunk_rows *c, struct tfs_span records)
{
    struct tfs_cursor cursor = tfs_cursor_init(records);
    uint32_t step = c->edge < BLOCK ? c->edge : BLOCK;
    uint32_t cell = 0;
    struct tfs_rbx_run run;

    if (c->edge == BLOCK) {
        set_block(c->blocks, records);
        return;
    }
    while (tfs_rbx_run_take(&cursor, &run)) {
        uint32_t end = cell + run.count;
        if (tfs_rbx_cell_material(run.cell) == TFS_RBX_AIR)
            cell = end;
        while (cell < end) {
            uint32_t room = step - cell % step;
            uint32_t count = room < end - cell ? room : end - cell;
            set_row(c, cell, count);
            cell += count;
        }
    }
}

/* Marks the regions that the blocks of a chunk touch. For a chunk that is one block `kept`
 * remembers them; NULL: nothing does. */
static int mark_chunk(struct tfs_rbx_marks *marks, const struct tfs_rbx_entry *entry,
                      struct chunk_rows *c, struct tfs_rbx_near *kept, struct tfs_error *err)
{
    const int64_t x = (int64_t)entry->position.x * c->edge;
    const int64_t y = (int64_t)entry->position.y * c->edge;
    const int64_t z = (int64_t)entry->position.z * c->edge;
    const uint32_t count = c->along * c->along * c->along;
    struct tfs_rbx_near fresh = {0};
    struct tfs_rbx_near *near = kept == NULL ? &fresh : kept;

    c->x = (uint32_t)(x & (BLOCK - 1));
    c->y = (uint32_t)(y & (BLOCK - 1));
    c->z = (uint32_t)(z & (BLOCK - 1));
    if (!near->known) {
        memset(c->blocks, 0, count * sizeof(*c->blocks));
        set_records(c, entry->records);
    }
    for (uint32_t i = 0; i < count; i++) {
        /* Floor: the low bits are the place in the block. */
        struct tfs_rbx_block block = {(x - c->x) / BLOCK + i % c->along,
                                      (y - c->y) / BLOCK + i / c->along / c->along,
                                      (z - c->z) / BLOCK + i / c->along % c->along};
        if (!near->known)
            grow_block(&c->blocks[i], near);
        if (mark_block(marks, block, near, err) < 0)
            return err->code;
    }
    near->known = kept != NULL;
    return 0;
}

/* Where the regions of a chunk are remembered; NULL: nowhere. *at is the entry of the memory's
 * terrain to go on from; both are in the same order. */
static struct tfs_rbx_near *recall(const struct tfs_rbx_physics_memory *memory,
                                   const struct tfs_rbx_entry *entry, size_t *at)
{
    if (memory == NULL || memory->near == NULL)
        return NULL;

    const struct tfs_rbx_index *old = memory->terrain;
    while (*at < old->count &&
           tfs_rbx_position_compare(old->entries[*at].position, entry->position) < 0)
        ++*at;
    bool same = *at < old->count && old->entries[*at].records.data == entry->records.data &&
                tfs_rbx_position_compare(old->entries[*at].position, entry->position) == 0;
    return same ? &memory->near[*at] : NULL;
}

static int mark_chunks(struct tfs_rbx_marks *marks, const struct tfs_rbx_index *index,
                       const struct tfs_rbx_physics_memory *memory, struct tfs_error *err)
{
    struct chunk_rows c = {.edge = tfs_rbx_edge(index->log2)};
    size_t at = 0;

    c.along = c.edge <= BLOCK ? 1 : c.edge / BLOCK;
    c.blocks = calloc((size_t)c.along * c.along * c.along, sizeof(*c.blocks));
    if (c.blocks == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < index->count && err->code == 0; i++) {
        const struct tfs_rbx_entry *entry = &index->entries[i];
        mark_chunk(marks, entry, &c, c.along == 1 ? recall(memory, entry, &at) : NULL, err);
    }
    free(c.blocks);
    return err->code;
}

/* ---- a few chunks that differ ---------------------------------------------------------------- */

/* With more of them all marks are joined again. */
#define DIFFERENT_MAX 64
#define NEIGHBOURS    27

struct different {
    struct tfs_rbx_position positions[DIFFERENT_MAX]; /* ascending */
    struct tfs_rbx_near near[DIFFERENT_MAX];
    size_t count;
};

/* Finds the chunks that differ from those of the memory; false: too many do. */
static bool find_different(const struct tfs_rbx_index *old, const struct tfs_rbx_index *new,
                           struct different *different)
{
    size_t i = 0, j = 0;

    for (different->count = 0; i < old->count || j < new->count;) {
        const int order = i == old->count   ? 1
                          : j == new->count ? -1
                                            : tfs_rbx_position_compare(old->entries[i].position,
                                                                       new->entries[j].position);
        if (order != 0 || old->entries[i].records.data != new->entries[j].records.data) {
            if (different->count == DIFFERENT_MAX)
                return false;
            different->positions[different->count++] =
                order <= 0 ? old->entries[i].position : new->entries[j].position;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return true;
}

/* Number i of the blocks around one, itself among them. */
static struct tfs_rbx_block neighbour(struct tfs_rbx_block block, int i)
{
    return (struct tfs_rbx_block){block.x + i / 9 - 1, block.y + i / 3 % 3 - 1,
                                  block.z + i % 3 - 1};
}

static const struct tfs_rbx_entry *find_entry(const struct tfs_rbx_index *index,
                                              struct tfs_rbx_block block)
{
    const struct tfs_rbx_position position = {(int32_t)block.x, (int32_t)block.y, (int32_t)block.z};
    size_t low = 0, high = index->count;

    if (position.x != block.x || position.y != block.y || position.z != block.z)
        return NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = tfs_rbx_position_compare(index->entries[middle].position, position);
        if (order == 0)
            return &index->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Marks the regions of chunks that differ; a chunk that is gone touches none. */
static int look_at_different(const struct tfs_rbx_index *now, struct different *different,
                             struct tfs_error *err)
{
    struct chunk_rows c = {.edge = BLOCK, .along = 1, .blocks = malloc(sizeof(*c.blocks))};

    if (c.blocks == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < different->count; i++) {
        const struct tfs_rbx_position at = different->positions[i];
        const struct tfs_rbx_entry *entry =
            find_entry(now, (struct tfs_rbx_block){at.x, at.y, at.z});
        memset(c.blocks, 0, sizeof(*c.blocks));
        if (entry != NULL)
            set_records(&c, entry->records);
        grow_block(c.blocks, &different->near[i]);
    }
    free(c.blocks);
    return 0;
}

/* The regions that the chunk of this block touches; NULL: there is no chunk. */
static const struct tfs_rbx_near *near_of(const struct tfs_rbx_physics_memory *memory,
                                          const struct different *different,
                                          struct tfs_rbx_block block)
{
    const struct tfs_rbx_entry *old = find_entry(memory->terrain, block);

    for (size_t i = 0; i < different->count; i++) {
        const struct tfs_rbx_position at = different->positions[i];
        if (at.x == block.x && at.y == block.y && at.z == block.z)
            return &different->near[i];
    }
    return old == NULL ? NULL : &memory->near[old - memory->terrain->entries];
}

/* All regions of one block, touched by it and its neighbours. */
static uint64_t join_around(const struct tfs_rbx_physics_memory *memory,
                            const struct different *different, struct tfs_rbx_block block)
{
    uint64_t joined = 0;

    for (int i = 0; i < NEIGHBOURS; i++) {
        uint64_t regions[3][3][3] = {0};
        const struct tfs_rbx_near *near = near_of(memory, different, neighbour(block, i));
        if (near == NULL)
            continue;
        spread(near, regions);
        joined |= regions[2 - i / 9][2 - i / 3 % 3][2 - i % 3];
    }
    return joined;
}

static int mark_around(const struct tfs_rbx_physics_memory *memory,
                       const struct different *different, struct tfs_rbx_marks *marks,
                       struct tfs_error *err)
{
    for (size_t i = 0; i < different->count * NEIGHBOURS && err->code == 0; i++) {
        const struct tfs_rbx_position at = different->positions[i / NEIGHBOURS];
        const struct tfs_rbx_block block = {at.x, at.y, at.z};
        tfs_rbx_mark_add(marks, (struct tfs_rbx_mark){neighbour(block, (int)(i % NEIGHBOURS)), 0},
                         err);
    }
    if (err->code == 0)
        tfs_rbx_marks_join(marks);
    for (size_t i = 0; i < marks->count && err->code == 0; i++)
        marks->items[i].regions = join_around(memory, different, marks->items[i].block);
    return err->code;
}

/* The marks of the memory, but for those in `around`, which are sorted, too. */
static int merge_marks(const struct tfs_rbx_physics_memory *memory,
                       const struct tfs_rbx_marks *around, struct tfs_rbx_marks *marks,
                       struct tfs_error *err)
{
    size_t i = 0, j = 0;

    while (err->code == 0 && (i < memory->mark_count || j < around->count)) {
        const int order = i == memory->mark_count ? 1
                          : j == around->count
                              ? -1
                              : tfs_rbx_mark_compare(&memory->marks[i], &around->items[j]);
        const struct tfs_rbx_mark mark = order < 0 ? memory->marks[i] : around->items[j];
        if (mark.regions != 0)
            tfs_rbx_mark_add(marks, mark, err);
        i += order <= 0;
        j += order >= 0;
    }
    return err->code;
}

/* Completes the memory for its terrain. */
static int remember(struct tfs_rbx_physics_memory *memory, struct tfs_error *err)
{
    struct tfs_rbx_marks marks = {0};

    if (memory->marks != NULL)
        return 0;
    if (memory->near == NULL)
        memory->near = calloc(memory->terrain->count + 1, sizeof(*memory->near));
    if (memory->near == NULL)
        return tfs_fail_memory(err);
    if (mark_chunks(&marks, memory->terrain, memory, err) < 0 || marks.count == 0) {
        free(marks.items);
        return err->code;
    }
    tfs_rbx_marks_join(&marks);
    memory->marks = marks.items;
    memory->mark_count = marks.count;
    return 0;
}

/* The marks of blocks around chunks that differ from the memory: 1; 0: too many differ, or chunks
 * are no blocks. */
static int recall_around(const struct tfs_rbx_index *now, struct tfs_rbx_physics_memory *memory,
                         struct tfs_rbx_marks *around, struct tfs_error *err)
{
    struct different different;

    if (remember(memory, err) < 0)
        return err->code;
    if (tfs_rbx_edge(now->log2) != BLOCK || !find_different(memory->terrain, now, &different))
        return 0;
    if (look_at_different(now, &different, err) < 0 ||
        mark_around(memory, &different, around, err) < 0)
        return err->code;
    return 1;
}

/* The marks of a terrain, computed from those of one that is nearly the same. */
static int recall_marks(const struct tfs_rbx_index *now, struct tfs_rbx_physics_memory *memory,
                        struct tfs_rbx_marks *marks, struct tfs_error *err)
{
    struct tfs_rbx_marks around = {0};
    const int few = recall_around(now, memory, &around, err);

    if (few > 0)
        merge_marks(memory, &around, marks, err);
    else if (few == 0 && mark_chunks(marks, now, memory, err) == 0)
        tfs_rbx_marks_join(marks);
    free(around.items);
    return err->code;
}

int tfs_rbx_physics_same(const struct tfs_rbx_index *terrain, struct tfs_rbx_physics_memory *memory,
                         struct tfs_error *err)
{
    struct tfs_rbx_marks around = {0};
    int same = recall_around(terrain, memory, &around, err);

    for (size_t i = 0; same > 0 && i < around.count; i++) {
        const struct tfs_rbx_mark *mark = &around.items[i];
        const struct tfs_rbx_mark *old = memory->mark_count == 0
                                             ? NULL
                                             : bsearch(mark, memory->marks, memory->mark_count,
                                                       sizeof(*mark), tfs_rbx_mark_compare);
        same = (old == NULL ? 0 : old->regions) == mark->regions;
    }
    free(around.items);
    return same;
}

void tfs_rbx_physics_memory_release(struct tfs_rbx_physics_memory *memory)
{
    free(memory->near);
    free(memory->marks);
    memory->near = NULL;
    memory->marks = NULL;
    memory->mark_count = 0;
}

int tfs_rbx_physics_encode(const struct tfs_rbx_index *terrain,
                           struct tfs_rbx_physics_memory *memory, struct tfs_buf *out,
                           struct tfs_error *err)
{
    struct tfs_rbx_marks marks = {0};

    if (memory != NULL)
        recall_marks(terrain, memory, &marks, err);
    else if (mark_chunks(&marks, terrain, NULL, err) == 0)
        tfs_rbx_marks_join(&marks);
    if (err->code == 0) {
        tfs_rbx_marks_put(out, &marks);
        tfs_buf_check(out, err);
    }
    free(marks.items);
    return err->code;
}
