/*
 * voxels.csv: the dense channels of a block <-> one line a voxel, in global coordinates.
 *
 * Must not know how channels are stored. A voxel has a line unless every channel of the table has
 * its empty value there; on write a channel of the header is empty where no line says otherwise.
 * `sdf/32` in the header says the depth, too: where no other file does, and on write everywhere.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chosen.h"
#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"
#include "formats/voxel_table.h"
#include "text/decimal.h"

static const struct tfs_voxel_columns columns = {.names = tfs_godot_channel_names,
                                                 .count = TFS_GODOT_CHANNELS,
                                                 .may_lack_any = true,
                                                 .have_depths = true};

static struct tfs_voxel_box box_of(const struct tfs_godot_block *block, struct tfs_key key)
{
    return (struct tfs_voxel_box){key, {block->x, block->y, block->z}};
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The channels that a table has, and their values: of one row along x, or of all voxels. */
struct column {
    unsigned channel, depth;
    struct tfs_grid_rules rules;
    uint64_t empty; /* as arrays have it */
    struct tfs_godot_array array;
};

struct table {
    const struct tfs_godot_block *block;
    struct column columns[TFS_GODOT_CHANNELS];
    unsigned count;
};

/* Adds a column whose array has `count` values. */
static int add_column(struct table *table, unsigned channel, unsigned depth, size_t count,
                      struct tfs_error *err)
{
    struct column *column = &table->columns[table->count];

    column->channel = channel;
    column->depth = depth;
    column->rules = tfs_godot_channel_rules(table->block, channel, depth);
    column->empty = tfs_godot_empty_value(channel, table->block->version, depth);
    if (tfs_godot_array_create(&column->array, count, depth, err) < 0)
        return err->code;
    table->count++;
    return 0;
}

static void table_release(struct table *table)
{
    for (unsigned i = 0; i < table->count; i++)
        tfs_godot_array_release(&table->columns[i].array);
}

/* ---- get ------------------------------------------------------------------------------------- */

#define VALUES_ROOM (TFS_GODOT_CHANNELS * (TFS_GRID_VALUE_MAX + 1))

static bool is_empty(const struct table *table, size_t i)
{
    for (unsigned c = 0; c < table->count; c++)
        if (tfs_godot_array_get(&table->columns[c].array, i) != table->columns[c].empty)
            return false;
    return true;
}

/* Prints what stands behind the coordinates of voxel i; returns what is behind it. */
static uint8_t *put_values(const struct table *table, size_t i, uint8_t *out)
{
    for (unsigned c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        const struct tfs_grid_shape *shape = &column->rules.shape;
        out += column->array.wide ? tfs_grid_put_value64(out, shape, column->array.values64[i])
                                  : tfs_grid_put_value(out, shape, column->array.values[i]);
        *out++ = c + 1 < table->count ? ',' : '\n';
    }
    return out;
}

/* The lines of one row along x, whose values the columns have. */
static void print_row(const struct table *table, struct tfs_voxel_lines *lines)
{
    const struct tfs_voxel_values none = {0};
    uint32_t empty = 0;

    for (uint32_t x = 0; x < table->block->x; x++) {
        if (is_empty(table, x)) {
            empty++;
            continue;
        }
        if (empty > 0)
            tfs_voxel_lines_add(lines, empty, &none);
        empty = 0;
        uint8_t *out = tfs_voxel_line_begin(lines, VALUES_ROOM);
        if (out != NULL)
            tfs_voxel_line_end(lines, put_values(table, x, out));
    }
    tfs_voxel_lines_add(lines, empty, &none);
}

static void read_row(struct table *table, uint32_t y, uint32_t z)
{
    for (unsigned c = 0; c < table->count; c++)
        tfs_godot_row_read(table->block, table->columns[c].channel, y, z, &table->columns[c].array,
                           0);
}

static int print_rows(struct table *table, struct tfs_key key, struct tfs_buf *out,
                      struct tfs_error *err)
{
    const struct tfs_godot_block *block = table->block;
    const struct tfs_voxel_box box = box_of(block, key);
    struct tfs_voxel_lines lines;

    if (tfs_voxel_lines_open(&lines, &box, out, err) < 0)
        return err->code;
    for (uint32_t y = 0; y < block->y; y++)
        for (uint32_t z = 0; z < block->z; z++) {
            read_row(table, y, z);
            print_row(table, &lines);
        }
    tfs_voxel_lines_close(&lines);
    return tfs_buf_check(out, err);
}

#define NAME_ROOM 16 /* for "weights/16" */

static void print_header(const struct table *table, bool depths, struct tfs_buf *out)
{
    char names[TFS_GODOT_CHANNELS][NAME_ROOM];
    const char *list[TFS_GODOT_CHANNELS];

    for (unsigned c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        list[c] = tfs_godot_channel_names[column->channel];
        if (!depths)
            continue;
        snprintf(names[c], NAME_ROOM, "%s/%u", list[c], 8U << column->depth);
        list[c] = names[c];
    }
    tfs_voxel_header_print(out, list, table->count);
}

/* The table of a block with columns for one row of its dense channels, and its header. */
static int table_open(const struct tfs_godot_block *block, bool depths, struct table *table,
                      struct tfs_buf *out, struct tfs_error *err)
{
    *table = (struct table){.block = block};
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && err->code == 0; i++)
        if (block->channels[i].mode == TFS_GODOT_NONE)
            add_column(table, i, block->channels[i].depth, block->x, err);
    print_header(table, depths, out);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_view *view;
    struct table table;

    if (tfs_godot_lens_view(save, doc, at.key, &view, err) < 0)
        return err->code;
    if (table_open(&view->block, tfs_chosen_depths(save->options.views), &table, out, err) == 0 &&
        table.count > 0)
        print_rows(&table, at.key, out, err);
    table_release(&table);
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- size ------------------------------------------------------------------------------------ */

/* How many bytes the value is printed in. */
static uint32_t value_size(const struct column *column, size_t i)
{
    const struct tfs_grid_shape *shape = &column->rules.shape;
    uint8_t text[TFS_GRID_VALUE_MAX];

    if (column->array.wide)
        return (uint32_t)tfs_grid_put_value64(text, shape, column->array.values64[i]);
    const uint32_t value = column->array.values[i];
    if (shape->base != TFS_GRID_DECIMAL && shape->base != TFS_GRID_SIGNED)
        return (uint32_t)tfs_grid_put_value(text, shape, value);
    const uint32_t minus = shape->base == TFS_GRID_SIGNED ? value >> 31 : 0;
    const uint32_t size = minus != 0 ? 0 - value : value;
    if (size >= 100000)
        return minus + tfs_decimal_width(size);
    return 1 + minus + (size >= 10) + (size >= 100) + (size >= 1000) + (size >= 10000);
}

/* What put_values prints of the voxels of a row, in bytes; 0: this voxel has no line. */
static void measure_row(const struct table *table, uint32_t *sizes)
{
    for (uint32_t x = 0; x < table->block->x; x++) {
        sizes[x] = 0;
        if (is_empty(table, x))
            continue;
        sizes[x] = table->count; /* what is behind each value */
        for (unsigned c = 0; c < table->count; c++)
            sizes[x] += value_size(&table->columns[c], x);
    }
}

/* Lines of so many bytes behind the coordinates, for each number of bytes that there can be. */
struct lengths {
    struct tfs_voxel_values of[VALUES_ROOM + 1];
};

static int measure_rows(struct table *table, struct tfs_key key, uint64_t *size,
                        struct tfs_error *err)
{
    const struct tfs_godot_block *block = table->block;
    const struct tfs_voxel_box box = box_of(block, key);
    uint32_t *sizes = malloc(block->x * sizeof(*sizes));
    struct tfs_voxel_lines lines;
    struct lengths lengths;

    if (sizes == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i <= VALUES_ROOM; i++)
        lengths.of[i] = (struct tfs_voxel_values){.size = i, .lines = i > 0};
    if (tfs_voxel_lines_open(&lines, &box, NULL, err) == 0) {
        for (uint32_t y = 0; y < block->y; y++)
            for (uint32_t z = 0; z < block->z; z++) {
                read_row(table, y, z);
                measure_row(table, sizes);
                tfs_voxel_lines_add_rows(&lines, 1, sizes, lengths.of);
            }
        *size += lines.size;
        tfs_voxel_lines_close(&lines);
    }
    free(sizes);
    return err->code;
}

static int64_t voxels_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct table table;
    struct tfs_error ignored = {0};
    struct tfs_buf header = {0};

    if (tfs_godot_lens_view(save, doc, at.key, &view, &ignored) < 0)
        return -1;
    table_open(&view->block, tfs_chosen_depths(save->options.views), &table, &header, &ignored);
    uint64_t size = header.size;
    if (ignored.code == 0 && table.count > 0)
        measure_rows(&table, at.key, &size, &ignored);
    table_release(&table);
    tfs_buf_release(&header);
    tfs_godot_view_unref(view);
    return ignored.code < 0 ? -1 : (int64_t)size;
}

/* ---- put: the lines -------------------------------------------------------------------------- */

/* The columns that the header names, empty where no line says otherwise. */
static int make_columns(struct table *table, const struct tfs_voxel_reader *r,
                        const struct tfs_godot_rules *rules, struct tfs_error *err)
{
    const size_t volume = tfs_godot_volume(table->block);

    for (unsigned channel = 0; channel < TFS_GODOT_CHANNELS; channel++) {
        const unsigned now = table->block->channels[channel].depth;
        unsigned depth = now;
        if (!r->has[channel])
            continue;
        if (r->depths[channel].text.data != NULL &&
            tfs_godot_depth_take(r->depths[channel], rules, channel, now, &depth, err) < 0)
            return err->code;
        if (add_column(table, channel, depth, volume, err) < 0)
            return err->code;
        struct column *column = &table->columns[table->count - 1];
        for (size_t i = 0; i < volume; i++)
            tfs_godot_array_set(&column->array, i, column->empty);
    }
    return 0;
}

static int take_value(struct column *column, const struct tfs_line *field, size_t i,
                      struct tfs_error *err)
{
    if (column->array.wide)
        return tfs_grid_take_value64(field, &column->rules, &column->array.values64[i], err);
    return tfs_grid_take_value(field, &column->rules, &column->array.values[i], err);
}

/* Values that are those of voxel `before`, or stand in the row's fields. */
static int take_row(struct table *table, const struct tfs_voxel_row *row, size_t before,
                    struct tfs_error *err)
{
    for (unsigned c = 0; c < table->count; c++) {
        struct column *column = &table->columns[c];
        if (row->again)
            tfs_godot_array_set(&column->array, row->voxel,
                                tfs_godot_array_get(&column->array, before));
        else if (take_value(column, &row->fields[column->channel], row->voxel, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_table(struct tfs_voxel_reader *r, struct table *table,
                      const struct tfs_godot_rules *rules, struct tfs_error *err)
{
    struct tfs_voxel_row row;
    size_t before = 0;
    int got;

    if (make_columns(table, r, rules, err) < 0)
        return err->code;
    while ((got = tfs_voxel_reader_next(r, &row, err)) == 1) {
        if (take_row(table, &row, before, err) < 0)
            return err->code;
        before = row.voxel;
    }
    return got;
}

/* ---- put: the block -------------------------------------------------------------------------- */

/* Has the channel these values already, of this depth, in whichever mode? */
static int same_values(const struct tfs_godot_block *block, const struct column *column, bool *same,
                       struct tfs_error *err)
{
    const size_t value = column->array.wide ? sizeof(uint64_t) : sizeof(uint32_t);
    const uint8_t *at = column->array.memory;
    struct tfs_godot_array row = {0};

    *same = block->channels[column->channel].depth == column->depth;
    if (!*same)
        return 0;
    if (tfs_godot_array_create(&row, block->x, column->depth, err) < 0)
        return err->code;
    for (uint32_t y = 0; y < block->y && *same; y++) {
        for (uint32_t z = 0; z < block->z && *same; z++, at += value * block->x) {
            tfs_godot_row_read(block, column->channel, y, z, &row, 0);
            *same = memcmp(row.memory, at, value * block->x) == 0;
        }
    }
    tfs_godot_array_release(&row);
    return 0;
}

/* Puts the columns that changed into the block; their bytes go to `bytes`, one buffer a column. */
static int apply(const struct table *table, struct tfs_godot_block *block, struct tfs_buf *bytes,
                 bool *changed, struct tfs_error *err)
{
    for (unsigned c = 0; c < table->count; c++) {
        const struct column *column = &table->columns[c];
        struct tfs_godot_values *values = &block->channels[column->channel];
        bool same = false;
        if (same_values(block, column, &same, err) < 0)
            return err->code;
        if (same)
            continue;
        tfs_godot_channel_write(block, &column->array, column->depth, &bytes[c]);
        if (tfs_buf_check(&bytes[c], err) < 0)
            return err->code;
        values->mode = TFS_GODOT_NONE;
        values->depth = (uint8_t)column->depth;
        values->bytes = tfs_buf_span(&bytes[c]);
        *changed = true;
    }
    return 0;
}

static int put_in_view(struct tfs_save *save, struct tfs_edit *edit,
                       const struct tfs_godot_view *view, struct tfs_span text,
                       const struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_voxel_reader r = {0};
    struct table table = {0};
    struct tfs_buf own = {0}, bytes[TFS_GODOT_CHANNELS] = {0};
    struct tfs_godot_block block;
    bool changed = !view->readable;

    if (tfs_godot_store_begin(save, edit->base, view, &own, &block, err) < 0)
        goto out;
    const struct tfs_godot_block old = block;
    const struct tfs_voxel_box box = box_of(&block, view->chunk.key);
    table.block = &old;
    if (tfs_voxel_reader_open(&r, &columns, &box, edit, put->fresh, text, err) == 0 &&
        read_table(&r, &table, tfs_godot_rules(edit->base), err) == 0 &&
        apply(&table, &block, bytes, &changed, err) == 0 && changed)
        tfs_godot_store_block(edit, view, &block, put->options, err);
out:
    table_release(&table);
    for (unsigned c = 0; c < TFS_GODOT_CHANNELS; c++)
        tfs_buf_release(&bytes[c]);
    tfs_buf_release(&own);
    return tfs_voxel_reader_close(&r, err);
}

static int voxels_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    put_in_view(save, edit, view, text, put, err);
    tfs_godot_view_unref(view);
    return err->code;
}

const struct tfs_lens tfs_godot_voxels_lens = {
    .get = voxels_get,
    .put = voxels_put,
    .exists = tfs_godot_lens_exists,
    .size = voxels_size,
};
