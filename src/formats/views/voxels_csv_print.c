/*
 * Voxels with their values as text -> the lines of voxels.csv.
 *
 * Coordinates are printed once each and copied; what is left of a run in a row is lines that differ
 * in x alone, and whole rows of one value are copies of the row before but for z. Must not know
 * what values mean, nor where a game has them from.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/voxels_csv.h"
#include "text/decimal.h"

enum { X, Y, Z };

#define SLACK  (TFS_VOXEL_NUMBER + 3 * TFS_VOXEL_STEP) /* bytes that copies may write too many */
#define Z_STEP 8 /* what a z with its comma is copied by into a repeated row */

void tfs_voxel_header_print(struct tfs_buf *out, const char *const *names, unsigned count)
{
    tfs_buf_add_text(out, "x,y,z");
    for (unsigned i = 0; i < count; i++) {
        tfs_buf_u8(out, ',');
        tfs_buf_add_text(out, names[i]);
    }
    tfs_buf_u8(out, '\n');
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static void print_axis(struct tfs_voxel_axis *axis, int64_t low, uint32_t side)
{
    assert(low >= -TFS_VOXEL_REACH && low + side <= TFS_VOXEL_REACH); /* so the numbers have room */
    axis->end[0] = 0;
    for (uint32_t i = 0; i < side; i++) {
        const uint32_t size = (uint32_t)tfs_decimal_put_signed(axis->text[i], low + i);
        axis->text[i][size] = ',';
        axis->end[i + 1] = axis->end[i] + size + 1;
    }
}

static uint32_t number_size(const struct tfs_voxel_axis *axis, uint32_t i)
{
    return axis->end[i + 1] - axis->end[i];
}

/* Room for the three axes: the struct's own, or memory for long ones. */
static bool place_axes(struct tfs_voxel_lines *l, const uint32_t sides[3])
{
    const size_t count = (size_t)sides[X] + sides[Y] + sides[Z];

    uint8_t(*text)[TFS_VOXEL_NUMBER] = l->texts;
    uint32_t *end = l->ends;

    l->memory = NULL;
    if (count > 3 * TFS_VOXEL_SIDE) {
        l->memory = malloc(count * sizeof(*text) + (count + 3) * sizeof(*end));
        if (l->memory == NULL)
            return false;
        text = l->memory;
        end = (uint32_t *)(void *)(text + count);
    }
    for (unsigned i = X; i <= Z; i++) {
        l->axes[i] = (struct tfs_voxel_axis){text, end};
        text += sides[i];
        end += sides[i] + 1;
    }
    return true;
}

int tfs_voxel_lines_open(struct tfs_voxel_lines *l, const struct tfs_voxel_box *box,
                         struct tfs_buf *out, struct tfs_error *err)
{
    const int32_t chunk[3] = {box->key.x, box->key.y, box->key.z};

    if (!place_axes(l, box->sides))
        return tfs_fail_memory(err);
    l->size = 0;
    l->out = out;
    l->row_size = 0;
    for (unsigned i = X; i <= Z; i++) {
        l->sides[i] = box->sides[i];
        l->at[i] = 0;
        print_axis(&l->axes[i], (int64_t)chunk[i] * box->sides[i], box->sides[i]);
    }
    l->even = true;
    for (uint32_t x = 1; x < box->sides[X]; x++)
        l->even = l->even && number_size(&l->axes[X], x) == number_size(&l->axes[X], 0);
    return 0;
}

void tfs_voxel_lines_close(struct tfs_voxel_lines *l)
{
    free(l->memory);
    l->memory = NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Copies by whole steps; both sides have the slack. */
static inline uint8_t *put_steps(uint8_t *out, const uint8_t *text, uint32_t size)
{
    memcpy(out, text, TFS_VOXEL_STEP);
    for (uint32_t i = TFS_VOXEL_STEP; i < size; i += TFS_VOXEL_STEP)
        memcpy(out + i, text + i, TFS_VOXEL_STEP);
    return out + size;
}

/* Makes "y,z," of this row, or its size alone. */
static void make_row(struct tfs_voxel_lines *l)
{
    const uint32_t y_size = number_size(&l->axes[Y], l->at[Y]);

    l->row_size = y_size + number_size(&l->axes[Z], l->at[Z]);
    if (l->out == NULL)
        return;
    memcpy(l->row, l->axes[Y].text[l->at[Y]], TFS_VOXEL_NUMBER);
    memcpy(l->row + y_size, l->axes[Z].text[l->at[Z]], TFS_VOXEL_NUMBER);
}

/* Puts x and what is behind it; returns what is behind that. */
static inline uint8_t *put_line(uint8_t *out, const struct tfs_voxel_axis *x_axis, uint32_t x,
                                const uint8_t *tail, uint32_t size)
{
    memcpy(out, x_axis->text[x], TFS_VOXEL_NUMBER);
    return put_steps(out + number_size(x_axis, x), tail, size);
}

/* Lines that differ in x alone: what is behind it is made once. */
static void print_lines(const struct tfs_voxel_lines *l, uint32_t end,
                        const struct tfs_voxel_values *values, uint8_t *out)
{
    const struct tfs_voxel_axis axis = l->axes[X];
    const uint32_t size = values->size, row_size = l->row_size;
    uint8_t tail[3 * TFS_VOXEL_STEP];

    if (size > TFS_VOXEL_STEP || l->at[X] + 1 == end) {
        for (uint32_t x = l->at[X]; x < end; x++)
            out = put_steps(put_line(out, &axis, x, l->row, row_size), values->text, size);
        return;
    }
    memcpy(tail, l->row, sizeof(l->row));
    memcpy(tail + row_size, values->text, TFS_VOXEL_STEP);
    for (uint32_t x = l->at[X]; x < end; x++)
        out = put_line(out, &axis, x, tail, row_size + size);
}

/* Is this row like the one before it but for z, which has as many characters? No line of it may be
 * shorter behind y than what z is copied by. */
static bool is_repeated(const struct tfs_voxel_lines *l, const struct tfs_voxel_values *values)
{
    const uint32_t z = l->at[Z], size = number_size(&l->axes[Z], z);

    return z > 0 && size == number_size(&l->axes[Z], z - 1) && size <= Z_STEP &&
           size + values->size >= Z_STEP;
}

/* The row of `size` bytes before `out`, with the new z in each line. */
static void repeat_row(const struct tfs_voxel_lines *l, const struct tfs_voxel_values *values,
                       size_t size, uint8_t *out)
{
    const struct tfs_voxel_axis axis = l->axes[X];
    const uint32_t y_size = number_size(&l->axes[Y], l->at[Y]), sx = l->sides[X];
    const uint32_t tail = l->row_size + values->size;
    uint8_t z[sizeof(l->row) + Z_STEP];

    memcpy(z, l->row, sizeof(l->row));
    memcpy(z + l->row_size, values->text, Z_STEP);
    memcpy(out, out - size, size);
    out += y_size;
    for (uint32_t x = 0; x < sx; x++)
        memcpy(out + axis.end[x + 1] + (size_t)x * tail, z + y_size, Z_STEP);
}

/* Lines from this voxel up to `end` in its row; `again`: a whole row, and so was the one before. */
static void add_lines(struct tfs_voxel_lines *l, uint32_t end, bool again,
                      const struct tfs_voxel_values *values)
{
    if (l->row_size == 0)
        make_row(l);
    const uint32_t count = end - l->at[X];
    const size_t size = l->axes[X].end[end] - l->axes[X].end[l->at[X]] +
                        (size_t)count * (l->row_size + values->size);
    l->size += size;
    if (l->out == NULL)
        return;
    uint8_t *out = tfs_buf_reserve(l->out, size + SLACK);
    if (out == NULL)
        return;
    if (again && is_repeated(l, values))
        repeat_row(l, values, size, out);
    else
        print_lines(l, end, values, out);
    l->out->size += size;
}

/* Goes on by `count` voxels. */
static void advance(struct tfs_voxel_lines *l, uint32_t count)
{
    l->at[X] += count;
    if (l->at[X] < l->sides[X])
        return;
    l->at[Z] += l->at[X] / l->sides[X];
    l->at[X] %= l->sides[X];
    l->row_size = 0;
    if (l->at[Z] < l->sides[Z])
        return;
    l->at[Y] += l->at[Z] / l->sides[Z];
    l->at[Z] %= l->sides[Z];
}

void tfs_voxel_lines_add(struct tfs_voxel_lines *l, uint32_t count,
                         const struct tfs_voxel_values *values)
{
    bool whole = false;

    while (count > 0 && values->size > 0) {
        const uint32_t left = l->sides[X] - l->at[X], here = left < count ? left : count;
        const bool again = whole && here == l->sides[X];
        const uint32_t end = l->at[X] + here;
        whole = here == l->sides[X];
        add_lines(l, end, again, values);
        advance(l, here);
        count -= here;
    }
    advance(l, count);
}

/* ---- rows of numbers ------------------------------------------------------------------------- */

/* The size of a row's lines; 0: it has none. */
static size_t row_size(struct tfs_voxel_lines *l, const uint32_t *ids,
                       const struct tfs_voxel_values *values)
{
    const uint32_t sx = l->sides[X], *end = l->axes[X].end;
    uint32_t texts = 0, count = 0;

    for (uint32_t x = 0; x < sx; x++) {
        texts += values[ids[x]].size;
        count += values[ids[x]].lines;
    }
    if (count == 0)
        return 0;
    make_row(l);
    size_t size = texts + (size_t)count * l->row_size;
    if (l->even)
        return size + count * end[1];
    for (uint32_t x = 0; x < sx; x++)
        size += values[ids[x]].size > 0 ? end[x + 1] - end[x] : 0;
    return size;
}

static void print_row(const struct tfs_voxel_lines *l, const uint32_t *ids,
                      const struct tfs_voxel_values *values, uint8_t *out)
{
    const struct tfs_voxel_axis axis = l->axes[X];
    const uint32_t sx = l->sides[X], size = l->row_size;

    for (uint32_t x = 0; x < sx; x++) {
        const struct tfs_voxel_values v = values[ids[x]];
        if (v.size > 0)
            out = put_steps(put_line(out, &axis, x, l->row, size), v.text, v.size);
    }
}

static void add_row(struct tfs_voxel_lines *l, const uint32_t *ids,
                    const struct tfs_voxel_values *values)
{
    const size_t size = row_size(l, ids, values);

    l->size += size;
    if (size == 0 || l->out == NULL)
        return;
    uint8_t *out = tfs_buf_reserve(l->out, size + SLACK);
    if (out == NULL)
        return;
    print_row(l, ids, values, out);
    l->out->size += size;
}

void tfs_voxel_lines_add_rows(struct tfs_voxel_lines *l, uint32_t rows, const uint32_t *ids,
                              const struct tfs_voxel_values *values)
{
    for (; rows > 0; rows--, ids += l->sides[X]) {
        add_row(l, ids, values);
        advance(l, l->sides[X]);
    }
}

/* ---- one line -------------------------------------------------------------------------------- */

uint8_t *tfs_voxel_line_begin(struct tfs_voxel_lines *l, size_t room)
{
    uint8_t *out = tfs_buf_reserve(l->out, sizeof(l->row) + SLACK + room);

    if (out == NULL)
        return NULL;
    if (l->row_size == 0)
        make_row(l);
    return put_line(out, &l->axes[X], l->at[X], l->row, l->row_size);
}

void tfs_voxel_line_end(struct tfs_voxel_lines *l, const uint8_t *end)
{
    const size_t size = (size_t)(end - (l->out->data + l->out->size));

    l->size += size;
    l->out->size += size;
    advance(l, 1);
}
