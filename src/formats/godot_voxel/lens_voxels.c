/*
 * voxels.csv: the dense channels of a block <-> one line a voxel, in global coordinates.
 *
 * Must not know how channels are stored. A voxel has a line unless every channel of the table has
 * its empty value there; on write a channel of the header is empty where no line says otherwise.
 */
#include <errno.h>
#include <string.h>

#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"
#include "text/decimal.h"
#include "text/name.h"
#include "text/table.h"

/* The global coordinate of a chunk's first voxel along each axis. */
struct origin {
    int64_t x, y, z;
};

static struct origin origin_of(const struct tfs_godot_block *block, struct tfs_key key)
{
    return (struct origin){(int64_t)key.x * block->x, (int64_t)key.y * block->y,
                           (int64_t)key.z * block->z};
}

/* ---- get ------------------------------------------------------------------------------------- */

/* One column of the table. */
struct column {
    unsigned channel;
    struct tfs_grid_rules rules;
    uint64_t empty; /* as arrays have it */
    struct tfs_godot_array array;
};

struct table {
    const struct tfs_godot_block *block;
    struct column columns[TFS_GODOT_CHANNELS];
    unsigned count;
};

static uint64_t empty_of(const struct tfs_godot_block *block, unsigned channel)
{
    return tfs_godot_empty_value(channel, block->version, block->channels[channel].depth);
}

/* Adds a column whose array has `count` values. */
static int add_column(struct table *table, unsigned channel, size_t count, struct tfs_error *err)
{
    struct column *column = &table->columns[table->count];
    unsigned depth = table->block->channels[channel].depth;

    column->channel = channel;
    column->rules = tfs_godot_channel_rules(table->block, channel, depth);
    column->empty = empty_of(table->block, channel);
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

static uint8_t *put_value(uint8_t *at, const struct column *column, size_t i)
{
    const struct tfs_grid_shape *shape = &column->rules.shape;

    *at++ = ',';
    return at + (column->array.wide ? tfs_grid_put_value64(at, shape, column->array.values64[i])
                                    : tfs_grid_put_value(at, shape, column->array.values[i]));
}

static bool is_empty(const struct table *table, size_t i)
{
    for (unsigned c = 0; c < table->count; c++)
        if (tfs_godot_array_get(&table->columns[c].array, i) != table->columns[c].empty)
            return false;
    return true;
}

/* What stands behind x on all lines of a row: ",y,z". */
static size_t put_row(uint8_t *out, struct origin at)
{
    uint8_t *end = out;

    *end++ = ',';
    end += tfs_decimal_put_signed(end, at.y);
    *end++ = ',';
    end += tfs_decimal_put_signed(end, at.z);
    return (size_t)(end - out);
}

/* The lines of one row along x, whose values the columns have. */
static void print_row(const struct table *table, struct origin at, struct tfs_buf *out)
{
    const size_t longest = 3 * (TFS_DECIMAL_MAX + 2) + table->count * (TFS_GRID_VALUE_MAX + 1) + 1;
    uint8_t *begin = tfs_buf_reserve(out, longest * table->block->x);
    uint8_t *end = begin;
    uint8_t row[2 * (TFS_DECIMAL_MAX + 2)];
    size_t row_size = put_row(row, at);

    for (uint32_t x = 0; x < table->block->x && begin != NULL; x++) {
        if (is_empty(table, x))
            continue;
        end += tfs_decimal_put_signed(end, at.x + x);
        memcpy(end, row, row_size);
        end += row_size;
        for (unsigned c = 0; c < table->count; c++)
            end = put_value(end, &table->columns[c], x);
        *end++ = '\n';
    }
    if (begin != NULL)
        out->size += (size_t)(end - begin);
}

static void print_rows(struct table *table, struct origin origin, struct tfs_buf *out)
{
    const struct tfs_godot_block *block = table->block;

    for (uint32_t y = 0; y < block->y; y++) {
        for (uint32_t z = 0; z < block->z; z++) {
            struct origin at = {origin.x, origin.y + y, origin.z + z};
            for (unsigned c = 0; c < table->count; c++)
                tfs_godot_row_read(block, table->columns[c].channel, y, z, &table->columns[c].array,
                                   0);
            print_row(table, at, out);
        }
    }
}

static int print_table(const struct tfs_godot_block *block, struct tfs_key key, struct tfs_buf *out,
                       struct tfs_error *err)
{
    struct table table = {.block = block};

    tfs_buf_add_text(out, "x,y,z");
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        if (block->channels[i].mode != TFS_GODOT_NONE)
            continue;
        if (add_column(&table, i, block->x, err) < 0)
            goto out;
        tfs_buf_u8(out, ',');
        tfs_buf_add_text(out, tfs_godot_channel_names[i]);
    }
    tfs_buf_u8(out, '\n');
    if (table.count > 0)
        print_rows(&table, origin_of(block, key), out);
    tfs_buf_check(out, err);
out:
    table_release(&table);
    return err->code;
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_lens_view(save, doc, at.key, &view, err) < 0)
        return err->code;
    print_table(&view->block, at.key, out, err);
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- put: the header ------------------------------------------------------------------------- */

#define AXES 3

/* What the fields of a line are. */
struct reading {
    struct table table;
    struct tfs_key key;
    bool fresh;          /* the voxels may lie in another chunk, which the first line tells */
    struct origin low;   /* the lowest voxel that a line may name */
    unsigned axis[AXES]; /* field of x, y, z */
    unsigned field[TFS_GODOT_CHANNELS]; /* of each column */
};

static int fail_name(const struct tfs_line *field, const char *what, struct tfs_error *err)
{
    char found[TFS_QUOTED];

    return tfs_fail_line(err, field, "the column %s %s", tfs_name_quote(field->text, found), what);
}

static int read_channel(struct reading *r, const struct tfs_record *header, unsigned index,
                        struct tfs_error *err)
{
    const struct tfs_line *field = &header->fields[index];
    unsigned channel = tfs_godot_channel_find(field->text);
    size_t volume = tfs_godot_volume(r->table.block);

    if (channel == TFS_GODOT_CHANNELS)
        return fail_name(field, "is neither a coordinate nor a channel", err);
    for (unsigned c = 0; c < r->table.count; c++)
        if (r->table.columns[c].channel == channel)
            return fail_name(field, "is there twice", err);
    r->field[r->table.count] = index;
    if (add_column(&r->table, channel, volume, err) < 0)
        return err->code;
    struct column *column = &r->table.columns[r->table.count - 1];
    for (size_t i = 0; i < volume; i++)
        tfs_godot_array_set(&column->array, i, column->empty);
    return 0;
}

static int read_header(struct reading *r, const struct tfs_record *header, struct tfs_error *err)
{
    bool found[AXES] = {false};

    for (unsigned i = 0; i < header->count; i++) {
        const struct tfs_line *field = &header->fields[i];
        const char *letter =
            field->text.size == 1 ? memchr("xyz", field->text.data[0], AXES) : NULL;
        if (letter == NULL) {
            if (read_channel(r, header, i, err) < 0)
                return err->code;
            continue;
        }
        unsigned axis = (unsigned)(*letter - 'x');
        if (found[axis])
            return fail_name(field, "is there twice", err);
        found[axis] = true;
        r->axis[axis] = i;
    }
    if (found[0] && found[1] && found[2])
        return 0;
    return tfs_fail_line(err, &header->fields[0],
                         "the header line must name x, y and z, and channels: x,y,z,type");
}

/* ---- put: the lines -------------------------------------------------------------------------- */

static int64_t floor_to(int64_t v, uint32_t size)
{
    int64_t rest = v % (int64_t)size;

    return v - rest - (rest < 0 ? (int64_t)size : 0);
}

/* In a chunk just made, all voxels may be those of one other chunk: that of the first line. */
static int read_origin(struct reading *r, const struct tfs_record *record, struct tfs_error *err)
{
    const struct tfs_godot_block *block = r->table.block;
    const int64_t reach = INT64_C(1) << 40;
    int64_t at[AXES];

    if (!r->fresh)
        return 0;
    r->fresh = false;
    for (unsigned i = 0; i < AXES; i++) {
        const char axis[2] = {(char)('x' + i), '\0'};
        if (tfs_line_number(&record->fields[r->axis[i]], axis, -reach, reach, &at[i], err) < 0)
            return err->code;
    }
    r->low = (struct origin){floor_to(at[0], block->x), floor_to(at[1], block->y),
                             floor_to(at[2], block->z)};
    return 0;
}

/* The voxel that a line names. */
static int read_place(const struct reading *r, const struct tfs_record *record, size_t *index,
                      struct tfs_error *err)
{
    const struct tfs_godot_block *block = r->table.block;
    const int64_t low[AXES] = {r->low.x, r->low.y, r->low.z};
    const uint32_t size[AXES] = {block->x, block->y, block->z};
    int64_t at[AXES];

    for (unsigned i = 0; i < AXES; i++) {
        const char axis[2] = {(char)('x' + i), '\0'};
        if (tfs_line_number(&record->fields[r->axis[i]], axis, low[i], low[i] + size[i] - 1, &at[i],
                            err) < 0)
            return err->code;
        at[i] -= low[i];
    }
    *index = ((size_t)at[1] * block->z + (size_t)at[2]) * block->x + (size_t)at[0];
    return 0;
}

static int read_value(struct column *column, const struct tfs_line *field, size_t index,
                      struct tfs_error *err)
{
    if (column->array.wide)
        return tfs_grid_take_value64(field, &column->rules, &column->array.values64[index], err);
    return tfs_grid_take_value(field, &column->rules, &column->array.values[index], err);
}

static int read_line(struct reading *r, const struct tfs_record *record, struct tfs_error *err)
{
    size_t index = 0;

    if (read_origin(r, record, err) < 0 || read_place(r, record, &index, err) < 0)
        return err->code;
    for (unsigned c = 0; c < r->table.count; c++)
        if (read_value(&r->table.columns[c], &record->fields[r->field[c]], index, err) < 0)
            return err->code;
    return 0;
}

static int read_table(struct reading *r, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_buf scratch = {0};

    if (tfs_table_init(&table, text, err) < 0)
        return err->code;
    int result = tfs_table_next(&table, &record, &scratch, err);
    if (result == 0)
        result = tfs_fail_at(err, -EBADMSG, 1, 1,
                             "the header line is missing, which names the columns: x,y,z,type");
    if (result > 0)
        result = read_header(r, &record, err);
    while (result == 0) {
        int more = tfs_table_next(&table, &record, &scratch, err);
        if (more <= 0)
            break;
        result = read_line(r, &record, err);
    }
    tfs_buf_release(&scratch);
    return err->code;
}

/* ---- put: the block -------------------------------------------------------------------------- */

/* Has the channel these values already, in whichever mode? */
static int same_values(const struct tfs_godot_block *block, const struct column *column, bool *same,
                       struct tfs_error *err)
{
    const size_t value = column->array.wide ? sizeof(uint64_t) : sizeof(uint32_t);
    const uint8_t *at = column->array.memory;
    struct tfs_godot_array row = {0};

    if (tfs_godot_array_create(&row, block->x, block->channels[column->channel].depth, err) < 0)
        return err->code;
    *same = true;
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
        tfs_godot_channel_write(block, &column->array, values->depth, &bytes[c]);
        if (tfs_buf_check(&bytes[c], err) < 0)
            return err->code;
        values->mode = TFS_GODOT_NONE;
        values->bytes = tfs_buf_span(&bytes[c]);
        *changed = true;
    }
    return 0;
}

static int put_in_view(struct tfs_save *save, struct tfs_edit *edit,
                       const struct tfs_godot_view *view, struct tfs_span text,
                       const struct tfs_put *put, struct tfs_error *err)
{
    struct reading r = {.key = view->chunk.key, .fresh = put->fresh};
    struct tfs_buf own = {0}, bytes[TFS_GODOT_CHANNELS] = {0};
    struct tfs_godot_block block;
    bool changed = !view->readable;

    if (tfs_godot_store_begin(save, edit->base, view, &own, &block, err) < 0)
        goto out;
    struct tfs_godot_block old = block;
    r.table.block = &old;
    r.low = origin_of(&block, r.key);
    if (read_table(&r, text, err) == 0 && apply(&r.table, &block, bytes, &changed, err) == 0 &&
        changed)
        tfs_godot_store_block(edit, view, &block, put->options, err);
out:
    table_release(&r.table);
    for (unsigned c = 0; c < TFS_GODOT_CHANNELS; c++)
        tfs_buf_release(&bytes[c]);
    tfs_buf_release(&own);
    return err->code;
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
};
