/*
 * Two chunks behind struct tfs_voxels -> the voxels that differ.
 *
 * Voxels are numbers here: equal bytes have equal numbers, and what has the same name is the same
 * (a voxel of an older version of the format may be other bytes). Must not know any format.
 */
#include "formats/diff/compared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Of a voxel that is not there. No name of a save begins so: it would be escaped. */
#define ABSENT      0
#define ABSENT_NAME "#none"

void tfs_compared_release(struct tfs_compared *cells)
{
    tfs_compared_close(cells);
    tfs_words_release(&cells->stored);
    tfs_words_release(&cells->full);
    tfs_words_release(&cells->kinds);
    tfs_buf_release(&cells->voxel);
    tfs_buf_release(&cells->name);
    tfs_voxel_sum_release(&cells->sum);
    free(cells->looks);
    free(cells->counts);
    for (int i = 0; i < TFS_SIDES; i++) {
        free(cells->rows[i]);
        free(cells->runs[i]);
    }
    *cells = (struct tfs_compared){0};
}

/* ---- voxels and their names ------------------------------------------------------------------ */

/* The number of the voxel's name in `words`. */
static int add_name(struct tfs_compared *c, struct tfs_span voxel, bool brief,
                    struct tfs_words *words, uint32_t *number, struct tfs_error *err)
{
    tfs_buf_clear(&c->name);
    if (voxel.size == 0)
        tfs_buf_add_text(&c->name, ABSENT_NAME);
    else
        c->voxels->print(c->voxels, voxel, brief, &c->name);
    if (tfs_buf_check(&c->name, err) < 0)
        return err->code;
    return tfs_words_add(words, tfs_buf_span(&c->name), number, err);
}

/* Numbers come one after another, from 0 on. */
static int look_at(struct tfs_compared *c, uint32_t number, struct tfs_error *err)
{
    const struct tfs_span voxel = tfs_buf_span(&c->voxel);
    struct tfs_compared_look look = {.empty =
                                         voxel.size == 0 || c->voxels->empty(c->voxels, voxel)};

    struct tfs_compared_look *looks = tfs_array_grow(c->looks, number, sizeof(*looks));
    if (looks == NULL)
        return tfs_fail_memory(err);
    c->looks = looks;
    if (add_name(c, voxel, false, &c->full, &look.full, err) < 0 ||
        add_name(c, voxel, true, &c->kinds, &look.kind, err) < 0)
        return err->code;
    look.has_height = voxel.size > 0 && c->voxels->height != NULL;
    if (look.has_height)
        look.height = c->voxels->height(voxel);
    c->looks[number] = look;
    return 0;
}

/* The number of the voxel in c->voxel. */
static int add_voxel(struct tfs_compared *c, uint32_t *number, struct tfs_error *err)
{
    uint32_t before = c->stored.count;

    if (tfs_words_add(&c->stored, tfs_buf_span(&c->voxel), number, err) < 0)
        return err->code;
    return c->stored.count > before ? look_at(c, *number, err) : 0;
}

/* *number: that of a voxel before, which may have the same. */
static int take(struct tfs_compared *c, int side, struct tfs_stretch at, uint32_t *number,
                struct tfs_error *err)
{
    tfs_buf_clear(&c->voxel);
    if (c->has[side] && c->voxels->take(c->open[side], at, &c->voxel, err) < 0)
        return err->code;
    if (tfs_span_equal(tfs_buf_span(&c->voxel), tfs_words_at(&c->stored, *number)))
        return 0;
    return add_voxel(c, number, err);
}

static int read_row(struct tfs_compared *c, int side, uint32_t y, uint32_t z, struct tfs_error *err)
{
    struct tfs_stretch at = {.z = z, .from = y, .to = y + 1};
    uint32_t last = ABSENT;

    for (; at.x < c->size.x; at.x++) {
        if (take(c, side, at, &last, err) < 0)
            return err->code;
        c->rows[side][at.x] = last;
    }
    return 0;
}

static int read_rows(struct tfs_compared *c, uint32_t y, uint32_t z, struct tfs_error *err)
{
    if (read_row(c, TFS_BEFORE, y, z, err) == 0)
        read_row(c, TFS_AFTER, y, z, err);
    return err->code;
}

/* Empty space is no voxel that came or went. */
static bool differs(const struct tfs_compared *c, uint32_t x)
{
    uint32_t before = c->rows[TFS_BEFORE][x], after = c->rows[TFS_AFTER][x];

    if (before == ABSENT || after == ABSENT)
        return !c->looks[before].empty || !c->looks[after].empty;
    return c->looks[before].full != c->looks[after].full;
}

static bool rows_equal(const struct tfs_compared *c)
{
    return memcmp(c->rows[TFS_BEFORE], c->rows[TFS_AFTER], c->size.x * sizeof(**c->rows)) == 0;
}

/* ---- one chunk ------------------------------------------------------------------------------- */

void tfs_compared_close(struct tfs_compared *cells)
{
    for (int i = 0; i < TFS_SIDES; i++)
        if (cells->open[i] != NULL)
            tfs_voxels_close(cells->voxels, cells->open[i]);
    memset(cells->open, 0, sizeof(cells->open));
    memset(cells->has, 0, sizeof(cells->has));
}

/* Room for the rows, and the voxel that is not there. */
static int begin(struct tfs_compared *c, struct tfs_error *err)
{
    uint32_t none;

    tfs_words_clear(&c->stored);
    tfs_words_clear(&c->full);
    tfs_words_clear(&c->kinds);
    for (int i = 0; i < TFS_SIDES && c->size.x > c->row_capacity; i++) {
        free(c->rows[i]);
        free(c->runs[i]);
        c->rows[i] = calloc(c->size.x, sizeof(*c->rows[i]));
        c->runs[i] = calloc(c->size.x, sizeof(*c->runs[i]));
        if (c->rows[i] == NULL || c->runs[i] == NULL)
            return tfs_fail_memory(err);
    }
    if (c->size.x > c->row_capacity)
        c->row_capacity = c->size.x;
    tfs_buf_clear(&c->voxel);
    return add_voxel(c, &none, err);
}

/* Takes the size of one side; the other one's must be the same. */
static int join_size(struct tfs_compared *c, int side, struct tfs_error *err)
{
    struct tfs_voxel_size size = tfs_voxels_sides(c->voxels, c->open[side]);

    c->has[side] = size.x > 0;
    if (!c->has[side])
        return 0;
    if (side == TFS_AFTER && c->has[TFS_BEFORE] &&
        (size.x != c->size.x || size.y != c->size.y || size.z != c->size.z))
        return tfs_fail(err, -EBADMSG, "it is %ux%ux%u before and %ux%ux%u after", c->size.x,
                        c->size.y, c->size.z, size.x, size.y, size.z);
    c->size = size;
    return 0;
}

int tfs_compared_open(struct tfs_compared *cells, const struct tfs_side sides[TFS_SIDES],
                      struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    tfs_compared_close(cells);
    cells->key = chunk->key;
    cells->size = (struct tfs_voxel_size){0};
    for (int i = 0; i < TFS_SIDES; i++) {
        if (chunk->chunks[i] == NULL)
            continue;
        if (chunk->chunks[i]->flags & TFS_CHUNK_DAMAGED)
            return tfs_fail(err, -EBADMSG, "it is damaged");
        if (tfs_voxels_open(cells->voxels, sides[i].save, sides[i].doc, chunk->key, &cells->open[i],
                            err) < 0 ||
            join_size(cells, i, err) < 0)
            return err->code;
    }
    return begin(cells, err);
}

/* ---- counting -------------------------------------------------------------------------------- */

static int make_room(struct tfs_compared *c, uint32_t capacity, struct tfs_error *err)
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

static int count_name(struct tfs_compared *c, int side, const struct tfs_compared_look *look,
                      struct tfs_error *err)
{
    if (make_room(c, c->kinds.capacity, err) == 0)
        c->counts[look->kind].voxels[side] += !look->empty;
    return err->code;
}

static void widen(struct tfs_diff_box *box, unsigned axis, int64_t at, bool first)
{
    if (first || at < box->low[axis])
        box->low[axis] = at;
    if (first || at > box->high[axis])
        box->high[axis] = at;
}

static void count_height(struct tfs_diff_heights *heights, const struct tfs_compared_look *before,
                         const struct tfs_compared_look *after)
{
    const uint32_t now[TFS_SIDES] = {before->height, after->height};
    const int64_t change = (int64_t)after->height - before->height;
    const bool first = heights->count == 0;

    if (!before->has_height || !after->has_height || change == 0)
        return;
    for (int i = 0; i < TFS_SIDES; i++) {
        if (first || now[i] < heights->low[i])
            heights->low[i] = now[i];
        if (first || now[i] > heights->high[i])
            heights->high[i] = now[i];
    }
    heights->least = first || change < heights->least ? change : heights->least;
    heights->most = first || change > heights->most ? change : heights->most;
    heights->sum += change;
    heights->count++;
}

/* A voxel that differs. */
static int count_voxel(struct tfs_compared *c, uint32_t x, uint32_t y, uint32_t z,
                       struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_compared_look *before = &c->looks[c->rows[TFS_BEFORE][x]];
    const struct tfs_compared_look *after = &c->looks[c->rows[TFS_AFTER][x]];
    const bool first = chunk->voxels++ == 0;

    widen(&chunk->box, 0, (int64_t)c->key.x * c->size.x + x, first);
    widen(&chunk->box, 1, (int64_t)c->key.y * c->size.y + y, first);
    widen(&chunk->box, 2, (int64_t)c->key.z * c->size.z + z, first);
    count_height(&chunk->heights, before, after);
    if (count_name(c, TFS_BEFORE, before, err) == 0)
        count_name(c, TFS_AFTER, after, err);
    return err->code;
}

static int compare_counts(const void *a, const void *b)
{
    return tfs_span_compare(((const struct tfs_diff_count *)a)->name,
                            ((const struct tfs_diff_count *)b)->name);
}

/* Leaves the names that were met, in order. */
static void finish_counts(struct tfs_compared *c)
{
    c->counted = 0;
    for (uint32_t i = 0; i < c->kinds.count && i < c->count_capacity; i++) {
        struct tfs_diff_count count = c->counts[i];
        count.name = tfs_words_at(&c->kinds, i);
        if (count.name.size > 0 && count.voxels[TFS_BEFORE] + count.voxels[TFS_AFTER] > 0)
            c->counts[c->counted++] = count;
    }
    if (c->counted > 0)
        qsort(c->counts, c->counted, sizeof(*c->counts), compare_counts);
}

int tfs_compared_count(struct tfs_compared *cells, struct tfs_diff_chunk *chunk,
                       struct tfs_error *err)
{
    if (cells->counts != NULL)
        memset(cells->counts, 0, cells->count_capacity * sizeof(*cells->counts));
    for (uint32_t y = 0; y < cells->size.y; y++)
        for (uint32_t z = 0; z < cells->size.z; z++) {
            if (read_rows(cells, y, z, err) < 0)
                return err->code;
            for (uint32_t x = 0; !rows_equal(cells) && x < cells->size.x; x++)
                if (differs(cells, x) && count_voxel(cells, x, y, z, chunk, err) < 0)
                    return err->code;
        }
    finish_counts(cells);
    return 0;
}

/* ---- a chunk that the other side lacks ------------------------------------------------------- */

/* Is there a voxel between these corners that is not empty? */
static int meets(struct tfs_compared *c, int side, const uint32_t low[3], const uint32_t high[3],
                 bool *met, struct tfs_error *err)
{
    uint32_t last = ABSENT;

    *met = false;
    for (uint32_t y = low[1]; y <= high[1]; y++)
        for (uint32_t z = low[2]; z <= high[2]; z++)
            for (uint32_t x = low[0]; x <= high[0]; x++) {
                if (take(c, side, (struct tfs_stretch){x, z, y, y + 1}, &last, err) < 0)
                    return err->code;
                if (!c->looks[last].empty) {
                    *met = true;
                    return 0;
                }
            }
    return 0;
}

/* Moves planes from the sides of the chunk inwards, until each meets a voxel. */
static int find_box(struct tfs_compared *c, int side, struct tfs_diff_box *box,
                    struct tfs_error *err)
{
    const uint32_t size[3] = {c->size.x, c->size.y, c->size.z};
    const int32_t key[3] = {c->key.x, c->key.y, c->key.z};
    uint32_t low[3] = {0}, high[3] = {size[0] - 1, size[1] - 1, size[2] - 1};

    for (unsigned i = 0; i < 6; i++) {
        const unsigned axis = (i / 2 + 1) % 3; /* first the heights, of which most are air */
        uint32_t *end = i % 2 == 0 ? &low[axis] : &high[axis];
        for (bool met = false; !met && low[axis] < high[axis];) {
            uint32_t plane[2][3];
            memcpy(plane[0], low, sizeof(low));
            memcpy(plane[1], high, sizeof(high));
            plane[0][axis] = plane[1][axis] = *end;
            if (meets(c, side, plane[0], plane[1], &met, err) < 0)
                return err->code;
            *end += met ? 0 : i % 2 == 0 ? 1 : -1u;
        }
    }
    for (unsigned axis = 0; axis < 3; axis++) {
        box->low[axis] = (int64_t)key[axis] * size[axis] + low[axis];
        box->high[axis] = (int64_t)key[axis] * size[axis] + high[axis];
    }
    return 0;
}

int tfs_compared_count_alone(struct tfs_compared *cells, const struct tfs_side *side,
                             struct tfs_diff_chunk *chunk, struct tfs_error *err)
{
    const int there = chunk->kind == TFS_DIFF_ADDED ? TFS_AFTER : TFS_BEFORE;
    struct tfs_voxel_sum *sum = &cells->sum;

    if (tfs_voxel_sum_counts(sum, side, chunk->chunks[there], err) < 0 ||
        make_room(cells, (uint32_t)sum->count, err) < 0)
        return err->code;
    for (size_t i = 0; i < sum->count; i++) {
        cells->counts[i] = (struct tfs_diff_count){.name = sum->counts[i].name};
        cells->counts[i].voxels[there] = sum->counts[i].voxels;
    }
    cells->counted = sum->count;
    chunk->voxels = sum->filled;
    return chunk->voxels > 0 ? find_box(cells, there, &chunk->box, err) : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The runs of a side; voxels that are not there have none. */
static size_t find_runs(struct tfs_compared *c, int side)
{
    struct tfs_diff_run *runs = c->runs[side];
    const int64_t first = (int64_t)c->key.x * c->size.x;
    uint32_t name = UINT32_MAX; /* of the run that may go on */
    size_t count = 0;

    for (uint32_t x = 0; x < c->size.x; x++) {
        uint32_t number = c->rows[side][x];
        if (number == ABSENT || !differs(c, x)) {
            name = UINT32_MAX;
        } else if (c->looks[number].full == name) {
            runs[count - 1].to++;
        } else {
            name = c->looks[number].full;
            runs[count++] =
                (struct tfs_diff_run){first + x, first + x, tfs_words_at(&c->full, name)};
        }
    }
    return count;
}

int tfs_compared_rows(struct tfs_compared *cells, tfs_diff_row_fn row, void *arg,
                      struct tfs_error *err)
{
    struct tfs_diff_row found = {.runs = {cells->runs[TFS_BEFORE], cells->runs[TFS_AFTER]}};
    int result = 0;

    for (uint32_t y = 0; y < cells->size.y && result == 0; y++)
        for (uint32_t z = 0; z < cells->size.z && result == 0; z++) {
            if (read_rows(cells, y, z, err) < 0)
                return err->code;
            if (rows_equal(cells))
                continue;
            found.y = (int64_t)cells->key.y * cells->size.y + y;
            found.z = (int64_t)cells->key.z * cells->size.z + z;
            for (int i = 0; i < TFS_SIDES; i++)
                found.counts[i] = find_runs(cells, i);
            if (found.counts[TFS_BEFORE] + found.counts[TFS_AFTER] > 0)
                result = row(arg, &found);
        }
    return result;
}
