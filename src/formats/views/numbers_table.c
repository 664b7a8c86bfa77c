/*
 * voxels.csv of planes that are all numbers: its lines, a row along x at a time. This is what the
 * rows "godot" and "sizes" of the bench measure: distances differ from voxel to voxel, so there are
 * no runs to print at once.
 *
 * Must not know what a game stores.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/views/views.h"
#include "formats/views/voxels_csv.h"
#include "text/decimal.h"

#define VALUES_ROOM (TFS_PLANES_MAX * (TFS_GRID_VALUE_MAX + 1))

/* A plane, and its values in the row that is being printed. */
struct column {
    const struct tfs_cells_plane *plane;
    struct tfs_grid_shape shape;
    bool decides, wide;
    uint64_t empty;
    union {
        void *memory;
        uint32_t *values;
        uint64_t *values64;
    };
};

struct row {
    struct column columns[TFS_PLANES_MAX];
    unsigned count;
    uint32_t length;
    bool *says; /* which voxels have a line */
};

static int open_row(struct row *row, const struct tfs_cells *cells, const unsigned *planes,
                    unsigned count, struct tfs_error *err)
{
    row->length = cells->size.x;
    row->says = calloc(row->length, sizeof(*row->says));
    if (row->says == NULL)
        return tfs_fail_memory(err);
    for (; row->count < count; row->count++) {
        struct column *c = &row->columns[row->count];
        const unsigned plane = planes[row->count];
        c->plane = &cells->planes[plane];
        c->shape = tfs_plane_shape(&c->plane->form, cells->size, 0);
        c->decides = (cells->kind->planes[plane].flags & TFS_PLANE_DECIDES) != 0;
        c->wide = c->plane->form.width == sizeof(uint64_t);
        c->empty = tfs_plane_wide(&c->plane->form, c->plane->form.empty);
        c->empty = c->wide ? c->empty : (uint32_t)c->empty;
        c->memory = calloc(row->length, sizeof(uint64_t));
        if (c->memory == NULL)
            return tfs_fail_memory(err);
    }
    return 0;
}

static void close_row(struct row *row)
{
    for (unsigned k = 0; k < TFS_PLANES_MAX; k++)
        free(row->columns[k].memory);
    free(row->says);
}

static void find_lines(struct row *row, const struct column *c)
{
    for (uint32_t x = 0; x < row->length && c->wide; x++)
        row->says[x] |= c->values64[x] != c->empty;
    for (uint32_t x = 0; x < row->length && !c->wide; x++)
        row->says[x] |= c->values[x] != (uint32_t)c->empty;
}

static void read_row(struct row *row, size_t first)
{
    memset(row->says, 0, row->length);
    for (unsigned k = 0; k < row->count; k++) {
        struct column *c = &row->columns[k];
        if (!c->wide)
            tfs_plane_widen(c->plane, first, row->length, c->values);
        for (uint32_t x = 0; x < row->length && c->wide; x++)
            c->values64[x] = tfs_plane_get(c->plane, first + x);
        if (c->decides)
            find_lines(row, c);
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Prints what stands behind the coordinates; returns what is behind it. */
static uint8_t *put_values(const struct row *row, uint32_t x, uint8_t *out)
{
    for (unsigned k = 0; k < row->count; k++) {
        const struct column *c = &row->columns[k];
        out += c->wide ? tfs_grid_put_value64(out, &c->shape, c->values64[x])
                       : tfs_grid_put_value(out, &c->shape, c->values[x]);
        *out++ = k + 1 < row->count ? ',' : '\n';
    }
    return out;
}

static void print_row(const struct row *row, struct tfs_voxel_lines *lines)
{
    const struct tfs_voxel_values none = {0};
    uint32_t empty = 0;

    for (uint32_t x = 0; x < row->length; x++) {
        if (!row->says[x]) {
            empty++;
            continue;
        }
        if (empty > 0)
            tfs_voxel_lines_add(lines, empty, &none);
        empty = 0;
        uint8_t *out = tfs_voxel_line_begin(lines, VALUES_ROOM);
        if (out != NULL)
            tfs_voxel_line_end(lines, put_values(row, x, out));
    }
    tfs_voxel_lines_add(lines, empty, &none);
}

/* ---- counting -------------------------------------------------------------------------------- */

static uint32_t decimal_size(uint32_t value)
{
    if (value >= 100000)
        return tfs_decimal_width(value);
    return 1U + (value >= 10) + (value >= 100) + (value >= 1000) + (value >= 10000);
}

static uint32_t magnitude(uint32_t value)
{
    return value >> 31 != 0 ? 0 - value : value;
}

/* Adds how many bytes each value is printed in, with what is behind it. */
static void measure_column(const struct column *c, uint32_t length, uint32_t *sizes)
{
    const bool is_signed = c->shape.base == TFS_GRID_SIGNED;
    uint8_t text[TFS_GRID_VALUE_MAX];

    if (c->wide)
        for (uint32_t x = 0; x < length; x++)
            sizes[x] += (uint32_t)tfs_grid_put_value64(text, &c->shape, c->values64[x]) + 1;
    else if (is_signed)
        for (uint32_t x = 0; x < length; x++)
            sizes[x] += (c->values[x] >> 31) + decimal_size(magnitude(c->values[x])) + 1;
    else if (c->shape.base == TFS_GRID_DECIMAL)
        for (uint32_t x = 0; x < length; x++)
            sizes[x] += decimal_size(c->values[x]) + 1;
    else
        for (uint32_t x = 0; x < length; x++)
            sizes[x] += (uint32_t)tfs_grid_put_value(text, &c->shape, c->values[x]) + 1;
}

/* Lines of so many bytes behind the coordinates, for each number of bytes that there can be. */
struct lengths {
    uint32_t *sizes; /* of the row's voxels; 0: no line */
    struct tfs_voxel_values of[VALUES_ROOM + 1];
};

static void measure_row(const struct row *row, struct lengths *l, struct tfs_voxel_lines *lines)
{
    memset(l->sizes, 0, row->length * sizeof(*l->sizes));
    for (unsigned k = 0; k < row->count; k++)
        measure_column(&row->columns[k], row->length, l->sizes);
    for (uint32_t x = 0; x < row->length; x++)
        l->sizes[x] = row->says[x] ? l->sizes[x] : 0;
    tfs_voxel_lines_add_rows(lines, 1, l->sizes, l->of);
}

/* ---- all rows -------------------------------------------------------------------------------- */

int tfs_cells_number_lines(struct tfs_voxel_lines *lines, const struct tfs_cells *cells,
                           const unsigned *planes, unsigned count, struct tfs_error *err)
{
    struct row row = {.count = 0};
    struct lengths lengths = {.sizes = calloc(cells->size.x, sizeof(*lengths.sizes))};

    for (uint32_t i = 0; i <= VALUES_ROOM; i++)
        lengths.of[i] = (struct tfs_voxel_values){.size = i, .lines = i > 0};
    if (lengths.sizes == NULL)
        tfs_fail_memory(err);
    else if (open_row(&row, cells, planes, count, err) == 0)
        for (size_t i = 0; i < cells->count; i += row.length) {
            read_row(&row, i);
            if (lines->out != NULL)
                print_row(&row, lines);
            else
                measure_row(&row, &lengths, lines);
        }
    close_row(&row);
    free(lengths.sizes);
    return err->code;
}
