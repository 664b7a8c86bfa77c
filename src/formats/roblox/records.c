/*
 * Records (runs of equal cells) <-> cells of one chunk.
 *
 * Must not know where a chunk stands, nor what a user may make of a cell. A cell's occupancy is the
 * stored byte, never a fraction.
 */
#include <errno.h>
#include <string.h>

#include "formats/roblox/material.h"
#include "formats/roblox/smoothgrid.h"

#define RUN_MAX 256

bool tfs_rbx_run_take_last(struct tfs_cursor *records, struct tfs_rbx_run *run)
{
    uint8_t padded[TFS_RBX_RECORD_MAX] = {0};
    const size_t left = records->failed ? 0 : tfs_cursor_left(records);

    if (left > 0)
        memcpy(padded, records->at, left);
    const size_t size = (size_t)(tfs_rbx_take_fields(padded + 1, padded[0], run) - padded);
    (void)tfs_take(records, size);
    return !records->failed;
}

static int fail_cut_off(size_t cells, uint32_t log2, size_t offset, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "offset %zu: the records end after %zu of %zu cells", offset,
                    cells, tfs_rbx_cell_count(log2));
}

#define SINGLES 4 /* records of one cell, each a flag and an occupancy */

/* Are these SINGLES records of one cell each? Sculpted ground has long rows of them. */
static bool are_singles(const uint8_t *at)
{
    uint64_t flags, kinds, single;

    memcpy(&flags, at, sizeof(flags));
    memcpy(&kinds, "\xc0\0\xc0\0\xc0\0\xc0", sizeof(kinds));
    memcpy(&single, "\x40\0\x40\0\x40\0\x40", sizeof(single));
    return (flags & kinds) == single;
}

/* Steps over records while whole ones are there and none fills the chunk: most of what opening a
 * save does. *done counts their cells. */
static void skip_records(struct tfs_cursor *c, size_t total, size_t *done)
{
    const uint8_t *at = c->at;
    size_t cells = *done;

    if (c->failed)
        return;
    while (c->end - at >= 2 * SINGLES && total - cells > RUN_MAX) {
        if (are_singles(at)) {
            at += (size_t)2 * SINGLES;
            cells += SINGLES;
            continue;
        }
        const unsigned flag = at[0];
        at += 1 + (flag >> 6 & 1);
        cells++;
        if ((flag & TFS_RBX_HAS_COUNT) != 0) {
            cells += at[0];
            at += at[0] == 0 ? 2 : 1;
        }
    }
    c->at = at;
    *done = cells;
}

/* Fills cells of the wanted planes with one value. A short run writes eight at once; the next run
 * overwrites those that are too many. */
static void fill(const struct tfs_rbx_planes *planes, size_t at, size_t room,
                 struct tfs_rbx_run run)
{
    for (unsigned i = 0; i < TFS_RBX_PLANES; i++) {
        const uint32_t value = tfs_rbx_cell_value(run.cell, i);
        const uint64_t eight = UINT64_C(0x0101010101010101) * value;
        if (planes->values[i] == NULL)
            continue;
        if (run.count <= sizeof(eight) && room >= sizeof(eight))
            memcpy(planes->values[i] + at, &eight, sizeof(eight));
        else
            memset(planes->values[i] + at, (int)value, run.count);
    }
}

/* Walks the records of one chunk from `c`; `planes` may be NULL. */
static int take_records(struct tfs_cursor *c, uint32_t log2, const struct tfs_rbx_planes *planes,
                        struct tfs_error *err)
{
    const size_t total = tfs_rbx_cell_count(log2);
    size_t done = 0;

    if (planes == NULL)
        skip_records(c, total, &done);
    while (done < total) {
        const uint8_t *at = c->at;
        struct tfs_rbx_run run;
        if (!tfs_rbx_run_take(c, &run))
            return fail_cut_off(done, log2, (size_t)(at - c->start), err);
        if (run.count > total - done)
            return tfs_fail(err, -EBADMSG,
                            "offset %zu: a run of %u cells goes past the end of the chunk, which "
                            "has room for %zu more",
                            (size_t)(at - c->start), run.count, total - done);
        if (planes != NULL)
            fill(planes, done, total - done, run);
        done += run.count;
    }
    return 0;
}

int tfs_rbx_records_take(struct tfs_cursor *c, uint32_t log2, struct tfs_error *err)
{
    return take_records(c, log2, NULL, err);
}

int tfs_rbx_records_decode(struct tfs_span records, uint32_t log2,
                           const struct tfs_rbx_planes *planes, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(records);

    if (take_records(&c, log2, planes, err) < 0)
        return err->code;
    if (tfs_cursor_left(&c) > 0)
        return tfs_fail(err, -EBADMSG, "offset %zu: %zu bytes behind the last cell of the chunk",
                        tfs_cursor_offset(&c), tfs_cursor_left(&c));
    return 0;
}

int tfs_rbx_records_check(struct tfs_span records, uint32_t log2, struct tfs_error *err)
{
    return tfs_rbx_records_decode(records, log2, NULL, err);
}

static uint32_t cell_at(const struct tfs_rbx_planes *planes, size_t i)
{
    return tfs_rbx_cell(planes->values[0][i], planes->values[1][i], planes->values[2][i]);
}

/* The end of the equal values that begin at `i`; by eight, then one by one. */
static size_t run_end(const uint8_t *values, size_t i, size_t limit)
{
    size_t end = i + 1;

    while (limit - end >= sizeof(uint64_t) &&
           memcmp(values + end, values + end - 1, sizeof(uint64_t)) == 0)
        end += sizeof(uint64_t);
    while (end < limit && values[end] == values[i])
        end++;
    return end;
}

/* How many cells the record that begins here holds. Cells with water are never merged. */
static size_t run_length(const struct tfs_rbx_planes *planes, size_t i, size_t count)
{
    size_t end = count - i < RUN_MAX ? count : i + RUN_MAX;

    if (tfs_rbx_cell_water(cell_at(planes, i)) != 0)
        return 1;
    for (unsigned p = 0; p < TFS_RBX_PLANES; p++)
        end = run_end(planes->values[p], i, end);
    return end - i;
}

static void put_record(struct tfs_buf *out, uint32_t cell, size_t run)
{
    uint32_t material = tfs_rbx_cell_material(cell);
    uint32_t occupancy = tfs_rbx_cell_occupancy(cell);
    uint32_t water = tfs_rbx_cell_water(cell);
    bool has_occupancy = occupancy != tfs_rbx_default_occupancy(material);
    bool has_count = run > 1 || water != 0;
    uint8_t *record = tfs_buf_reserve(out, TFS_RBX_RECORD_MAX);

    if (record == NULL)
        return;
    uint8_t *at = record;
    *at++ = (uint8_t)(material | (has_occupancy ? TFS_RBX_HAS_OCCUPANCY : 0) |
                      (has_count ? TFS_RBX_HAS_COUNT : 0));
    if (has_occupancy)
        *at++ = (uint8_t)occupancy;
    if (has_count)
        *at++ = (uint8_t)(run - 1);
    if (water != 0)
        *at++ = (uint8_t)water;
    out->size += (size_t)(at - record);
}

void tfs_rbx_records_encode(struct tfs_buf *out, const struct tfs_rbx_planes *planes, size_t count)
{
    size_t i = 0;

    while (i < count) {
        size_t run = run_length(planes, i, count);
        put_record(out, cell_at(planes, i), run);
        i += run;
    }
}

void tfs_rbx_records_empty(struct tfs_buf *out, uint32_t log2)
{
    size_t left = tfs_rbx_cell_count(log2);

    while (left > 0) {
        size_t run = left < RUN_MAX ? left : RUN_MAX;
        put_record(out, TFS_RBX_EMPTY, run);
        left -= run;
    }
}

bool tfs_rbx_records_same(struct tfs_span a, struct tfs_span b)
{
    struct tfs_cursor left = tfs_cursor_init(a);
    struct tfs_cursor right = tfs_cursor_init(b);
    struct tfs_rbx_run x = {0};
    struct tfs_rbx_run y = {0};

    while ((x.count > 0 || tfs_rbx_run_take(&left, &x)) &&
           (y.count > 0 || tfs_rbx_run_take(&right, &y))) {
        const uint32_t common = x.count < y.count ? x.count : y.count;
        if (x.cell != y.cell)
            return false;
        x.count -= common;
        y.count -= common;
    }
    return true;
}

bool tfs_rbx_records_are_empty(struct tfs_span records)
{
    struct tfs_cursor c = tfs_cursor_init(records);
    struct tfs_rbx_run run;

    while (tfs_rbx_run_take(&c, &run))
        if (run.cell != TFS_RBX_EMPTY)
            return false;
    return true;
}
