/*
 * The lines of voxels.csv -> voxels of one chunk, with the fields that have their values.
 *
 * A line as we print it (bare numbers, bare fields) is read in place, and one with the same values
 * as the line before is not cut into fields at all; everything else (quotes, blanks, comments,
 * faults) takes the way through the table reader. Must not know what values mean.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/views/voxels_csv.h"
#include "text/name.h"

enum { X, Y, Z, AXES };

#define DIGITS_MAX 12 /* numbers of so many are within TFS_VOXEL_REACH */

static const char *const axis_names[AXES] = {"x", "y", "z"};

/* ---- the header ------------------------------------------------------------------------------ */

#define LIST_MAX 128

/* "x,y,z,block", or "x,y,z and any of type,sdf". */
static const char *list_columns(const struct tfs_voxel_columns *columns, char out[LIST_MAX])
{
    const char *before = columns->may_lack_any ? " and any of " : ",";
    int size = snprintf(out, LIST_MAX, "x,y,z");

    for (unsigned i = 0; i < columns->count && size < LIST_MAX; i++, before = ",")
        size += snprintf(out + size, LIST_MAX - (size_t)size, "%s%s", before, columns->names[i]);
    return out;
}

static int fail_column(const struct tfs_voxel_reader *r, const struct tfs_line *at,
                       struct tfs_span name, const char *what, struct tfs_error *err)
{
    char quoted[TFS_QUOTED], list[LIST_MAX];

    return tfs_fail_line(err, at, "the column %s is %s, the columns are %s",
                         tfs_name_quote(name, quoted), what, list_columns(r->columns, list));
}

/* Which column is called so: below AXES a coordinate, then those of the game. */
static unsigned find_column(const struct tfs_voxel_columns *columns, struct tfs_span name)
{
    for (unsigned i = 0; i < AXES; i++)
        if (tfs_span_equal(name, tfs_span_of(axis_names[i])))
            return i;
    for (unsigned i = 0; i < columns->count; i++)
        if (tfs_span_equal(name, tfs_span_of(columns->names[i])))
            return AXES + i;
    return AXES + columns->count;
}

/* Takes `/32` off the end of a name, if it is there: what stands behind the slash. */
static struct tfs_line cut_depth(struct tfs_line *name)
{
    struct tfs_line depth = *name;
    size_t size = 0;

    while (size < name->text.size && name->text.data[size] != '/')
        size++;
    if (size == name->text.size)
        return (struct tfs_line){0};
    tfs_line_skip(&depth, size + 1);
    name->text.size = size;
    return depth;
}

static int take_column(struct tfs_voxel_reader *r, unsigned index, bool found[AXES],
                       struct tfs_error *err)
{
    const struct tfs_line *field = &r->record.fields[index];
    struct tfs_line name = *field, depth = {0};

    if (r->columns->have_depths)
        depth = cut_depth(&name);
    const unsigned column = find_column(r->columns, name.text);
    if (column == AXES + r->columns->count || (column < AXES && depth.text.data != NULL))
        return fail_column(r, field, field->text, "not known", err);
    if (column >= AXES)
        r->depths[column - AXES] = depth;
    bool *there = column < AXES ? &found[column] : &r->has[column - AXES];
    if (*there)
        return fail_column(r, field, field->text, "there twice", err);
    *there = true;
    r->column[index] = column;
    if (column < AXES)
        r->axis[column] = index;
    return 0;
}

static int check_all_there(const struct tfs_voxel_reader *r, const bool found[AXES],
                           struct tfs_error *err)
{
    const char *lacking = NULL;

    for (unsigned i = r->columns->count; i-- > 0 && !r->columns->may_lack_any;)
        lacking = r->has[i] ? lacking : r->columns->names[i];
    for (unsigned i = AXES; i-- > 0;)
        lacking = found[i] ? lacking : axis_names[i];
    return lacking == NULL
               ? 0
               : fail_column(r, &r->record.fields[0], tfs_span_of(lacking), "missing", err);
}

static int read_header(struct tfs_voxel_reader *r, struct tfs_error *err)
{
    bool found[AXES] = {false};
    char list[LIST_MAX];
    int got = tfs_table_next(&r->table, &r->record, &r->scratch, err);

    if (got == 0)
        return tfs_fail_at(err, -EBADMSG, 1, 1, "the header line is missing, the columns are %s",
                           list_columns(r->columns, list));
    for (unsigned i = 0; got > 0 && i < r->record.count; i++)
        if (take_column(r, i, found, err) < 0)
            return err->code;
    r->plain = r->axis[X] == X && r->axis[Y] == Y && r->axis[Z] == Z;
    return got < 0 ? got : check_all_there(r, found, err);
}

int tfs_voxel_reader_open(struct tfs_voxel_reader *r, const struct tfs_voxel_columns *columns,
                          const struct tfs_voxel_box *box, struct tfs_edit *edit, bool fresh,
                          struct tfs_span text, struct tfs_error *err)
{
    const int32_t chunk[AXES] = {box->key.x, box->key.y, box->key.z};

    r->columns = columns;
    r->box = *box;
    r->edit = edit;
    r->version = tfs_edit_doc(edit)->version;
    r->fresh = fresh;
    for (unsigned i = 0; i < AXES; i++)
        r->low[i] = (int64_t)chunk[i] * box->sides[i];
    return tfs_table_init(&r->table, text, err) < 0 ? err->code : read_header(r, err);
}

/* ---- places ---------------------------------------------------------------------------------- */

static int64_t floor_divide(int64_t v, int64_t by)
{
    return v / by - (v % by < 0);
}

static bool inside(const struct tfs_voxel_reader *r, unsigned axis, int64_t v)
{
    return v >= r->low[axis] && v - r->low[axis] < r->box.sides[axis];
}

static size_t index_of(const struct tfs_voxel_reader *r, const int64_t at[AXES])
{
    const uint32_t *sides = r->box.sides;

    return ((size_t)(at[Y] - r->low[Y]) * sides[Z] + (size_t)(at[Z] - r->low[Z])) * sides[X] +
           (size_t)(at[X] - r->low[X]);
}

/* Does the record's voxel lie in the chunk? */
static int check_inside(const struct tfs_voxel_reader *r, const int64_t at[AXES],
                        struct tfs_error *err)
{
    for (unsigned i = 0; i < AXES; i++)
        if (!inside(r, i, at[i]))
            return tfs_fail_line(err, &r->record.fields[r->axis[i]],
                                 "%s %" PRId64 " is outside chunk %" PRId64 "_%" PRId64 "_%" PRId64
                                 ", which has %s %" PRId64 " to %" PRId64,
                                 axis_names[i], at[i], r->low[X] / r->box.sides[X],
                                 r->low[Y] / r->box.sides[Y], r->low[Z] / r->box.sides[Z],
                                 axis_names[i], r->low[i], r->low[i] + r->box.sides[i] - 1);
    return 0;
}

/* The first row says which chunk all of them lie in. */
static void decide(struct tfs_voxel_reader *r, const int64_t at[AXES])
{
    r->decided = true;
    if (!r->fresh)
        check_inside(r, at, &r->elsewhere);
    if (!r->fresh && r->elsewhere.code == 0)
        return;
    for (unsigned i = 0; i < AXES; i++)
        r->low[i] = floor_divide(at[i], r->box.sides[i]) * r->box.sides[i];
}

/* The voxel that the record names. */
static int take_place(struct tfs_voxel_reader *r, struct tfs_voxel_row *row, struct tfs_error *err)
{
    for (unsigned i = 0; i < AXES; i++)
        if (tfs_line_number(&r->record.fields[r->axis[i]], axis_names[i], -TFS_VOXEL_REACH,
                            TFS_VOXEL_REACH, &row->at[i], err) < 0)
            return err->code;
    if (!r->decided)
        decide(r, row->at);
    if (check_inside(r, row->at, err) < 0)
        return err->code;
    row->voxel = index_of(r, row->at);
    return 0;
}

/* ---- lines as we print them ------------------------------------------------------------------ */

/* A number and the comma behind it; false when it is anything else. */
static inline bool fast_number(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *at;
    const bool negative = p < end && *p == '-';
    const uint8_t *digits = p += negative;
    uint64_t v = 0;

    end = end - p > DIGITS_MAX + 1 ? p + DIGITS_MAX + 1 : end;
    while (p < end && (unsigned)(*p - '0') < 10)
        v = v * 10 + (unsigned)(*p++ - '0');
    if (p == digits || p == end || *p != ',' || (*digits == '0' && (negative || p - digits > 1)))
        return false;
    *value = negative ? -(int64_t)v : (int64_t)v;
    *at = p + 1;
    return true;
}

/* Takes a field that is what it looks like off the front of `rest`: no quotes, no blanks at its
 * ends. */
static bool fast_field(struct tfs_line *rest, struct tfs_line *field)
{
    const uint8_t *data = rest->text.data;
    const size_t left = rest->text.size;
    size_t size = 0;

    while (size < left && data[size] != ',' && data[size] != '"')
        size++;
    if (size == 0 || data[0] <= ' ' || data[size - 1] <= ' ' || (size < left && data[size] == '"'))
        return false;
    *field = *rest;
    field->text.size = size;
    tfs_line_skip(rest, size < left ? size + 1 : size);
    return true;
}

/* Cuts what is behind the coordinates into the fields of a row. */
static bool fast_fields(const struct tfs_voxel_reader *r, struct tfs_line rest,
                        struct tfs_voxel_row *row)
{
    if (rest.text.size > 0 && rest.text.data[rest.text.size - 1] == ',')
        return false;
    for (unsigned i = AXES; i < r->table.columns; i++)
        if (!fast_field(&rest, &row->fields[r->column[i] - AXES]))
            return false;
    return rest.text.size == 0;
}

/* Does the text from `at` on go on as `before` did, to the end of its line? */
static inline bool is_again(struct tfs_span before, const uint8_t *at, const uint8_t *end)
{
    return before.data != NULL && (size_t)(end - at) > before.size && at[before.size] == '\n' &&
           memcmp(at, before.data, before.size) == 0;
}

/* Takes y, z and the values of a line whose x was taken. */
static bool fast_rest(struct tfs_voxel_reader *r, struct tfs_voxel_row *row, const uint8_t *begin,
                      const uint8_t *at, const uint8_t *end)
{
    struct tfs_span values = r->values;
    const uint8_t *rest = at;

    if (!fast_number(&at, end, &row->at[Y]) || !fast_number(&at, end, &row->at[Z]) ||
        !inside(r, Y, row->at[Y]) || !inside(r, Z, row->at[Z]))
        return false;
    row->again = is_again(values, at, end);
    if (!row->again) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL)
            return false;
        values.size = (size_t)(newline - at);
        if (!fast_fields(
                r,
                (struct tfs_line){
                    {at, values.size}, r->table.lines.number + 1, (uint32_t)(at - begin) + 1},
                row))
            return false;
    }
    r->values = (struct tfs_span){at, values.size};
    r->rest = (struct tfs_span){rest, (size_t)(at - rest) + values.size};
    return true;
}

/* The next line, if it is a plain one in this chunk; else false, and nothing is taken. */
static bool fast_row(struct tfs_voxel_reader *r, struct tfs_voxel_row *row)
{
    struct tfs_lines *lines = &r->table.lines;
    const uint8_t *begin = lines->rest.data, *end = begin + lines->rest.size, *at = begin;

    if (!fast_number(&at, end, &row->at[X]) || !inside(r, X, row->at[X]))
        return false;
    row->again = is_again(r->rest, at, end);
    if (!row->again) {
        if (!fast_rest(r, row, begin, at, end))
            return false;
        r->first = index_of(r, (const int64_t[]){r->low[X], row->at[Y], row->at[Z]});
    }
    r->begin = begin;
    row->voxel = r->first + (size_t)(row->at[X] - r->low[X]);
    at += r->rest.size + 1;
    lines->rest = (struct tfs_span){at, (size_t)(end - at)};
    lines->number++;
    return true;
}

void tfs_voxel_reader_fields(const struct tfs_voxel_reader *r, struct tfs_voxel_row *row)
{
    const struct tfs_lines *lines = &r->table.lines;
    const uint8_t *at = lines->rest.data - 1 - r->values.size; /* its line end was taken, too */

    if (row->again)
        fast_fields(
            r,
            (struct tfs_line){{at, r->values.size}, lines->number, (uint32_t)(at - r->begin) + 1},
            row);
    row->again = false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int tfs_voxel_reader_next(struct tfs_voxel_reader *r, struct tfs_voxel_row *row,
                          struct tfs_error *err)
{
    if (r->decided && r->plain && fast_row(r, row))
        return 1;
    r->rest.data = r->values.data = NULL;
    row->again = false;
    int got = tfs_table_next(&r->table, &r->record, &r->scratch, err);
    if (got <= 0)
        return got;
    if (take_place(r, row, err) < 0)
        return err->code;
    for (unsigned i = 0; i < r->record.count; i++)
        if (r->column[i] >= AXES)
            row->fields[r->column[i] - AXES] = r->record.fields[i];
    return 1;
}

int tfs_voxel_reader_close(struct tfs_voxel_reader *r, struct tfs_error *err)
{
    const bool changed = r->edit != NULL && tfs_edit_doc(r->edit)->version != r->version;

    if (r->elsewhere.code != 0 && (changed || err->code == -EBADMSG))
        *err = r->elsewhere;
    tfs_buf_release(&r->scratch);
    return err->code;
}
