/*
 * A chunk on two sides -> the voxels that differ.
 *
 * Must not know any format.
 */
#include "formats/compare/two_chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tfs_two_chunks_release(struct tfs_two_chunks *c)
{
    tfs_chunk_sides_release(&c->sides);
    free(c->counts);
    for (int i = 0; i < TFS_SIDES; i++) {
        free(c->rows[i]);
        free(c->runs[i]);
    }
    *c = (struct tfs_two_chunks){0};
}

int tfs_two_chunks_open(struct tfs_two_chunks *c, const struct tfs_side sides[TFS_SIDES],
                        struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    const bool there[] = {chunk->chunks[0] != NULL, chunk->chunks[1] != NULL};

    for (int i = 0; i < TFS_SIDES; i++)
        if (there[i] && chunk->chunks[i]->flags & TFS_CHUNK_DAMAGED)
            return tfs_fail(err, -EBADMSG, "it is damaged");
    if (tfs_chunk_sides_open(&c->sides, sides, TFS_SIDES, chunk->key, there, err) < 0)
        return err->code;
    for (int i = 0; i < TFS_SIDES && c->sides.size.x > c->row_capacity; i++) {
        free(c->rows[i]);
        free(c->runs[i]);
        c->rows[i] = calloc(c->sides.size.x, sizeof(*c->rows[i]));
        c->runs[i] = calloc(c->sides.size.x, sizeof(*c->runs[i]));
        if (c->rows[i] == NULL || c->runs[i] == NULL)
            return tfs_fail_memory(err);
    }
    if (c->sides.size.x > c->row_capacity)
        c->row_capacity = c->sides.size.x;
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct tfs_voxel_look *look_of(const struct tfs_two_chunks *c, int side, uint32_t x)
{
    return &c->sides.pool.looks[c->rows[side][x]];
}

/* *differs: may a voxel of the row? Then the rows are read. */
static int read_rows(struct tfs_two_chunks *c, uint32_t y, uint32_t z, bool *differs,
                     struct tfs_error *err)
{
    struct tfs_voxel_chunk *chunks = c->sides.chunks;

    *differs = !tfs_voxel_rows_equal(&chunks[TFS_BEFORE], &chunks[TFS_AFTER], y, z);
    for (int side = 0; side < TFS_SIDES && *differs; side++)
        for (uint32_t x = 0; x < c->sides.size.x; x++)
            if (tfs_voxel_at(&c->sides.pool, &chunks[side], (uint32_t[]){x, y, z},
                             &c->rows[side][x], err) < 0)
                return err->code;
    return 0;
}

static bool differs_at(const struct tfs_two_chunks *c, uint32_t x)
{
    return !tfs_voxels_same(&c->sides.pool, c->rows[TFS_BEFORE][x], c->rows[TFS_AFTER][x]);
}

/* The runs of a side; voxels that are not there have none. */
static size_t find_runs(struct tfs_two_chunks *c, int side)
{
    struct tfs_diff_run *runs = c->runs[side];
    const int64_t first = (int64_t)c->sides.key.x * c->sides.size.x;
    uint32_t name = UINT32_MAX; /* of the run that may go on */
    size_t count = 0;

    for (uint32_t x = 0; x < c->sides.size.x; x++) {
        const uint32_t full = look_of(c, side, x)->full;
        if (c->rows[side][x] == TFS_VOXEL_NONE || !differs_at(c, x)) {
            name = UINT32_MAX;
        } else if (full == name) {
            runs[count - 1].to++;
        } else {
            name = full;
            runs[count++] = (struct tfs_diff_run){first + x, first + x,
                                                  tfs_words_at(&c->sides.pool.full, full)};
        }
    }
    return count;
}

int tfs_two_chunks_rows(struct tfs_two_chunks *c, tfs_diff_row_fn row, void *arg,
                        struct tfs_error *err)
{
    struct tfs_diff_row found = {.runs = {c->runs[TFS_BEFORE], c->runs[TFS_AFTER]}};
    bool differs;
    int result = 0;

    for (uint32_t y = 0; y < c->sides.size.y && result == 0; y++)
        for (uint32_t z = 0; z < c->sides.size.z && result == 0; z++) {
            if (read_rows(c, y, z, &differs, err) < 0)
                return err->code;
            found.y = (int64_t)c->sides.key.y * c->sides.size.y + y;
            found.z = (int64_t)c->sides.key.z * c->sides.size.z + z;
            for (int i = 0; i < TFS_SIDES; i++)
                found.counts[i] = differs ? find_runs(c, i) : 0;
            if (found.counts[TFS_BEFORE] + found.counts[TFS_AFTER] > 0)
                result = row(arg, &found);
        }
    return result;
}

/* ---- counting -------------------------------------------------------------------------------- */

static int make_room(struct tfs_two_chunks *c, uint32_t capacity, struct tfs_error *err)
{
    const uint32_t old = c->count_capacity;

    if (capacity <= old)
        return 0;
    struct tfs_diff_count *counts = reallocarray(c->counts, capacity, sizeof(*counts));
    if (counts == NULL)
        return tfs_fail_memory(err);
    memset(counts + old, 0, (capacity - old) * sizeof(*counts));
    c->counts = counts;
    c->count_capacity = capacity;
    return 0;
}

/* A voxel that differs. */
static int count_voxel(struct tfs_two_chunks *c, const uint32_t at[3], struct tfs_diff_chunk *chunk,
                       struct tfs_error *err)
{
    const struct tfs_voxel_look *looks[] = {look_of(c, TFS_BEFORE, at[0]),
                                            look_of(c, TFS_AFTER, at[0])};

    if (make_room(c, c->sides.pool.brief.capacity, err) < 0)
        return err->code;
    tfs_diff_box_add(&chunk->box, chunk->voxels++, &c->sides, at);
    for (int side = 0; side < TFS_SIDES; side++)
        c->counts[looks[side]->brief].voxels[side] += !looks[side]->empty;
    return 0;
}

static int compare_counts(const void *a, const void *b)
{
    return tfs_span_compare(((const struct tfs_diff_count *)a)->name,
                            ((const struct tfs_diff_count *)b)->name);
}

/* Leaves the names that were met, in order. */
static void finish_counts(struct tfs_two_chunks *c)
{
    const struct tfs_words *names = &c->sides.pool.brief;

    c->counted = 0;
    for (uint32_t i = 0; i < names->count && i < c->count_capacity; i++) {
        struct tfs_diff_count count = c->counts[i];
        count.name = tfs_words_at(names, i);
        if (count.name.size > 0 && count.voxels[TFS_BEFORE] + count.voxels[TFS_AFTER] > 0)
            c->counts[c->counted++] = count;
    }
    if (c->counted > 0)
        qsort(c->counts, c->counted, sizeof(*c->counts), compare_counts);
}

int tfs_two_chunks_count(struct tfs_two_chunks *c, struct tfs_diff_chunk *chunk,
                         struct tfs_error *err)
{
    bool differs;

    if (c->counts != NULL)
        memset(c->counts, 0, c->count_capacity * sizeof(*c->counts));
    for (uint32_t y = 0; y < c->sides.size.y; y++)
        for (uint32_t z = 0; z < c->sides.size.z; z++) {
            if (read_rows(c, y, z, &differs, err) < 0)
                return err->code;
            for (uint32_t x = 0; differs && x < c->sides.size.x; x++)
                if (differs_at(c, x) && count_voxel(c, (uint32_t[]){x, y, z}, chunk, err) < 0)
                    return err->code;
        }
    finish_counts(c);
    return 0;
}
