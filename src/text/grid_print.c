/*
 * Values of a grid of voxels -> rows of text, or the one line `fill VALUE`; and their sizes.
 *
 * Must not know what the values mean, nor the header lines in front of the rows.
 *
 * A value of up to 7 characters is made as one "cell": its right-aligned text and the blank behind
 * it in the low bytes of a 64-bit word, stored with one 8-byte store; the bytes that are too many
 * are overwritten by the next cell. Cells of small grids of small values come from a table.
 *
 * Rows of `make bench` that need this: the table, `render 4096 values, decimal 1` and `decimal 2`;
 * digits made in the lanes of a word, `decimal 5` (a loop over digits takes 1.7 times as long), of
 * which the heights of BeamNG and the distances of Godot are made, and `hex 3` (1.2 times); copies
 * of rows of one value, `place: grep -r`.
 */
#include <assert.h>
#include <byteswap.h>
#include <endian.h>
#include <string.h>

#include "text/decimal.h"
#include "text/float.h"
#include "text/grid_tokens.h"

#define CELL_WIDTH_MAX 7    /* characters of a value that fit a cell, beside the blank */
#define CELL_SLACK     32   /* bytes that cells and labels may write too many */
#define LABEL_ROOM     32   /* of two numbers of 32 bits */
#define CELL_TABLE     1000 /* values with a cell in the table */
#define EACH_BYTE      UINT64_C(0x0101010101010101)

/* ---- sizes ---- */

static uint32_t label_digits(uint32_t size)
{
    uint32_t width = tfs_decimal_width(size - 1);

    return width < 2 ? 2 : width;
}

static uint32_t label_size(const struct tfs_grid_shape *shape)
{
    return (uint32_t)sizeof("y= z= | ") - 1 + label_digits(shape->sy) + label_digits(shape->sz);
}

uint64_t tfs_grid_rows_size(const struct tfs_grid_shape *shape)
{
    uint64_t row = label_size(shape) + (uint64_t)shape->sx * (shape->width + 1);

    return row * shape->sy * shape->sz + shape->sy - 1;
}

/* ---- printing ---- */

/* Both write the `width` lowest digits of v, with leading zeros, and return what is behind them. */
static uint8_t *put_decimal(uint8_t *out, uint64_t v, uint32_t width)
{
    for (uint32_t i = width; i > 0; i--, v /= 10)
        out[i - 1] = (uint8_t)('0' + v % 10);
    return out + width;
}

static uint8_t *put_hex(uint8_t *out, uint64_t v, uint32_t width)
{
    for (uint32_t i = width; i > 0; i--, v >>= 4)
        out[i - 1] = (uint8_t) "0123456789abcdef"[v & 15];
    return out + width;
}

static inline uint8_t *put_text(uint8_t *out, const char *text)
{
    size_t size = strlen(text);

    memcpy(out, text, size);
    return out + size;
}

static const char *const label_end = " | ";

uint8_t *tfs_grid_put_label(uint8_t *out, const struct tfs_grid_shape *shape, uint32_t y,
                            uint32_t z)
{
    out = put_text(out, "y=");
    out = put_decimal(out, y, label_digits(shape->sy));
    out = put_text(out, " z=");
    out = put_decimal(out, z, label_digits(shape->sz));
    return put_text(out, label_end);
}

static inline void store_cell(uint8_t *out, uint64_t cell)
{
    uint64_t lowest_first = htole64(cell);

    memcpy(out, &lowest_first, sizeof(lowest_first));
}

/* What is the same for all cells of a grid. Cells have their first digit in the lowest byte. */
struct cell_shape {
    uint64_t add;   /* makes digits text: '0' for each digit, then a blank */
    uint64_t last;  /* lowest bit of the last digit */
    uint32_t scale; /* what moves a decimal value to the front of 8 digits */
    unsigned shift; /* the same for hex */
};

static struct cell_shape cell_shape(uint32_t width)
{
    struct cell_shape cell = {.add = (uint64_t)' ' << 8 * width, .scale = 1};

    for (uint32_t i = 0; i < width; i++)
        cell.add |= (uint64_t)'0' << 8 * i;
    for (uint32_t i = width; i < 8; i++)
        cell.scale *= 10;
    cell.last = UINT64_C(1) << 8 * (width - 1);
    cell.shift = 4 * (8 - width);
    return cell;
}

/* All digits at once: halves of 4 digits, quarters of 2, eighths of 1, each in its own lane of the
 * word, the most significant one lowest. */
static inline uint64_t decimal_cell(const struct cell_shape *cell, uint32_t v)
{
    v *= cell->scale;
    uint64_t x = v / 10000 | (uint64_t)(v % 10000) << 32;
    uint64_t tens = (x * 10486 >> 20) & UINT64_C(0x0000007f0000007f); /* lane / 100 */
    x = tens | (x - 100 * tens) << 16;
    tens = (x * 103 >> 10) & UINT64_C(0x000f000f000f000f); /* lane / 10 */
    x = tens | (x - 10 * tens) << 8;

    /* Below the first digit that is not 0, the last one excepted: '0' - ' ' is 0x10. */
    uint64_t first = x | cell->last;
    uint64_t blanks = ((first & -first) - 1) & EACH_BYTE * 0x10;
    return x + cell->add - blanks;
}

static inline uint64_t hex_cell(const struct cell_shape *cell, uint32_t v)
{
    uint64_t x = v << cell->shift;

    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x | x << 4) & EACH_BYTE * 0x0f;
    x = bswap_64(x);
    uint64_t letters = (x + EACH_BYTE * 6) >> 4 & EACH_BYTE;
    return x + cell->add + letters * ('a' - '0' - 10);
}

/* Two's complement of a negative one: its digits behind a minus, in place of the last blank. */
static inline uint64_t signed_cell(const struct cell_shape *cell, uint32_t v)
{
    uint64_t sign = v >> 31;
    uint64_t x = decimal_cell(cell, (v ^ (uint32_t)-sign) + (uint32_t)sign);
    uint64_t first = (x ^ EACH_BYTE * ' ') & -(x ^ EACH_BYTE * ' '); /* lies in the first digit */
    unsigned lane = (unsigned)__builtin_ctzll(first) & ~7U;

    return x + (sign * ('-' - ' ') << ((lane - 8) & 63));
}

/* ---- values one by one ---- */

size_t tfs_grid_put_value(uint8_t *out, const struct tfs_grid_shape *shape, uint32_t value)
{
    switch (shape->base) {
    case TFS_GRID_DECIMAL:
        return tfs_decimal_put(out, value);
    case TFS_GRID_HEX:
        put_hex(out, value, shape->width);
        return shape->width;
    case TFS_GRID_SIGNED:
        if (value >> 31 == 0)
            return tfs_decimal_put(out, value);
        *out = '-';
        return 1 + tfs_decimal_put(out + 1, 0 - value);
    case TFS_GRID_FLOAT:
        return tfs_float32_print(out, value);
    }
    return 0;
}

size_t tfs_grid_put_value64(uint8_t *out, const struct tfs_grid_shape *shape, uint64_t value)
{
    assert(shape->base == TFS_GRID_DECIMAL || shape->base == TFS_GRID_FLOAT);
    return shape->base == TFS_GRID_FLOAT ? tfs_float64_print(out, value)
                                         : tfs_decimal_put(out, value);
}

/* Right-aligned, and a blank behind it. */
static void put_padded(uint8_t *out, uint32_t width, const uint8_t *text, size_t size)
{
    assert(size <= width);
    memset(out, ' ', width - size);
    memcpy(out + width - size, text, size);
    out[width] = ' ';
}

/* ---- rows ---- */

/* Where values in runs come from, and what is left of the last one. */
struct runs {
    tfs_grid_next_fn next;
    void *arg;
    uint32_t left;      /* values that have no text yet */
    uint64_t cell;      /* of its value */
    const uint8_t *row; /* a row of its values alone; NULL: there is none yet */
};

struct printer {
    const struct tfs_grid_shape *shape;
    struct cell_shape cell;
    const uint64_t *cells;    /* of all values of the grid, or NULL */
    const uint32_t *values;   /* either these */
    const uint64_t *values64; /* or those */
    struct runs *runs;        /* or these */
};

/* Values too wide for cells. */
static uint8_t *put_wide(const struct printer *printer, uint8_t *out, size_t first)
{
    const struct tfs_grid_shape *shape = printer->shape;
    uint8_t text[TFS_GRID_VALUE_MAX];

    for (uint32_t x = 0; x < shape->sx; x++, out += shape->width + 1) {
        size_t size = printer->values64 != NULL
                          ? tfs_grid_put_value64(text, shape, printer->values64[first + x])
                          : tfs_grid_put_value(text, shape, printer->values[first + x]);
        put_padded(out, shape->width, text, size);
    }
    return out;
}

/* The values of one row, each with a blank behind it. */
static uint8_t *put_values(const struct printer *printer, uint8_t *out, size_t first)
{
    const struct cell_shape cell = printer->cell;
    const uint32_t *values = printer->values + first;
    const uint32_t sx = printer->shape->sx;
    const uint32_t width = printer->shape->width;

    if (printer->cells != NULL) {
        for (uint32_t x = 0; x < sx; x++, out += width + 1)
            store_cell(out, printer->cells[values[x]]);
    } else if (printer->shape->base == TFS_GRID_DECIMAL) {
        for (uint32_t x = 0; x < sx; x++, out += width + 1)
            store_cell(out, decimal_cell(&cell, values[x]));
    } else if (printer->shape->base == TFS_GRID_SIGNED) {
        for (uint32_t x = 0; x < sx; x++, out += width + 1)
            store_cell(out, signed_cell(&cell, values[x]));
    } else {
        for (uint32_t x = 0; x < sx; x++, out += width + 1)
            store_cell(out, hex_cell(&cell, values[x]));
    }
    return out;
}

static void take_run(const struct printer *printer)
{
    struct runs *runs = printer->runs;
    struct tfs_grid_run run;

    runs->next(runs->arg, &run);
    assert(run.count > 0 && tfs_decimal_width(run.value) <= printer->shape->width);
    runs->cell = decimal_cell(&printer->cell, run.value);
    runs->left = run.count;
    runs->row = NULL;
}

/* Equal values, four at a time: those that are too many are overwritten. */
static uint8_t *put_equal(uint8_t *out, uint64_t cell, uint32_t count, size_t step)
{
    uint8_t *end = out + count * step;

    for (; out < end; out += 4 * step) {
        store_cell(out, cell);
        store_cell(out + step, cell);
        store_cell(out + 2 * step, cell);
        store_cell(out + 3 * step, cell);
    }
    return end;
}

/* The same from runs. Rows of one value are copies of the first. */
static uint8_t *put_runs(const struct printer *printer, uint8_t *out)
{
    struct runs *runs = printer->runs;
    const uint32_t sx = printer->shape->sx;
    const uint32_t width = printer->shape->width;
    const size_t size = (size_t)sx * (width + 1);
    const uint8_t *row = out;
    uint32_t count = 0;

    if (runs->row != NULL && runs->left >= sx) {
        memcpy(out, runs->row, size);
        runs->left -= sx;
        return out + size;
    }
    for (uint32_t x = 0; x < sx; x += count) {
        if (runs->left == 0)
            take_run(printer);
        count = runs->left < sx - x ? runs->left : sx - x;
        out = put_equal(out, runs->cell, count, width + 1);
        runs->left -= count;
    }
    runs->row = count == sx ? row : NULL;
    return out;
}

static bool fits_cells(const struct tfs_grid_shape *shape)
{
    return shape->width <= CELL_WIDTH_MAX && shape->base != TFS_GRID_FLOAT;
}

static uint8_t *put_row(const struct printer *printer, uint8_t *out, size_t first)
{
    if (printer->runs != NULL)
        return put_runs(printer, out);
    if (printer->values != NULL && fits_cells(printer->shape))
        return put_values(printer, out, first);
    return put_wide(printer, out, first);
}

/* Rows of a layer have one label, but for the digits of z. */
static uint8_t *put_layer(const struct printer *printer, uint8_t *out, uint32_t y)
{
    const struct tfs_grid_shape *shape = printer->shape;
    const uint32_t digits = label_digits(shape->sz);
    size_t first = (size_t)y * shape->sz * shape->sx;
    uint8_t label[LABEL_ROOM];
    const size_t size = (size_t)(tfs_grid_put_label(label, shape, y, 0) - label);
    const size_t z_at = size - strlen(label_end) - digits;

    for (uint32_t z = 0; z < shape->sz; z++, first += shape->sx) {
        memcpy(out, label, LABEL_ROOM);
        put_decimal(out + z_at, z, digits);
        out = put_row(printer, out + size, first);
        out[-1] = '\n';
    }
    return out;
}

static uint8_t *put_rows(const struct printer *printer, uint8_t *out)
{
    for (uint32_t y = 0; y < printer->shape->sy; y++) {
        if (y > 0)
            *out++ = '\n';
        out = put_layer(printer, out, y);
    }
    return out;
}

static void print_rows(const struct printer *printer, struct tfs_buf *out)
{
    size_t size = (size_t)tfs_grid_rows_size(printer->shape);
    uint8_t *begin = tfs_buf_reserve(out, size + CELL_SLACK);

    if (begin == NULL)
        return;
    uint8_t *end = put_rows(printer, begin);
    assert((size_t)(end - begin) == size);
    out->size += (size_t)(end - begin);
}

static size_t value_count(const struct tfs_grid_shape *shape)
{
    return (size_t)shape->sx * shape->sy * shape->sz;
}

static uint32_t greatest(const uint32_t *values, size_t count)
{
    uint32_t high = 0;

    for (size_t i = 0; i < count; i++)
        high = values[i] > high ? values[i] : high;
    return high;
}

void tfs_grid_print_rows(struct tfs_buf *out, const struct tfs_grid_shape *shape,
                         const uint32_t *values)
{
    uint64_t cells[CELL_TABLE];
    struct printer printer = {.shape = shape, .values = values};

    if (fits_cells(shape))
        printer.cell = cell_shape(shape->width);
    if (shape->base == TFS_GRID_DECIMAL) {
        uint32_t high = greatest(values, value_count(shape));
        assert(tfs_decimal_width(high) <= shape->width);
        if (high < CELL_TABLE && high < value_count(shape) && fits_cells(shape)) {
            for (uint32_t v = 0; v <= high; v++)
                cells[v] = decimal_cell(&printer.cell, v);
            printer.cells = cells;
        }
    }
    print_rows(&printer, out);
}

void tfs_grid_print_rows64(struct tfs_buf *out, const struct tfs_grid_shape *shape,
                           const uint64_t *values)
{
    struct printer printer = {.shape = shape, .values64 = values};

    print_rows(&printer, out);
}

void tfs_grid_print_runs(struct tfs_buf *out, const struct tfs_grid_shape *shape,
                         tfs_grid_next_fn next, void *arg)
{
    struct runs runs = {.next = next, .arg = arg};
    struct printer printer = {.shape = shape, .runs = &runs};

    assert(shape->base == TFS_GRID_DECIMAL && fits_cells(shape));
    printer.cell = cell_shape(shape->width);
    print_rows(&printer, out);
}

/* ---- the fill line ---- */

static const char fill[] = "fill ";

uint64_t tfs_grid_fill_size(const struct tfs_grid_shape *shape, uint32_t value)
{
    uint8_t text[TFS_GRID_VALUE_MAX];

    return sizeof(fill) + tfs_grid_put_value(text, shape, value);
}

uint64_t tfs_grid_fill_size64(const struct tfs_grid_shape *shape, uint64_t value)
{
    uint8_t text[TFS_GRID_VALUE_MAX];

    return sizeof(fill) + tfs_grid_put_value64(text, shape, value);
}

static void print_fill(struct tfs_buf *out, const uint8_t *text, size_t size)
{
    tfs_buf_add_text(out, fill);
    tfs_buf_add(out, text, size);
    tfs_buf_u8(out, '\n');
}

void tfs_grid_print_fill(struct tfs_buf *out, const struct tfs_grid_shape *shape, uint32_t value)
{
    uint8_t text[TFS_GRID_VALUE_MAX];

    print_fill(out, text, tfs_grid_put_value(text, shape, value));
}

void tfs_grid_print_fill64(struct tfs_buf *out, const struct tfs_grid_shape *shape, uint64_t value)
{
    uint8_t text[TFS_GRID_VALUE_MAX];

    print_fill(out, text, tfs_grid_put_value64(text, shape, value));
}
