/*
 * voxels.csv: the planes of cells that are columns of the table <-> one line a voxel.
 *
 * Must not know what a game stores.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/edit.h"
#include "formats/views/view_sets.h"
#include "formats/views/views.h"
#include "formats/views/voxels_csv.h"
#include "text/decimal.h"
#include "text/name.h"

/* Characters of a value; a name that the game gives has fewer. */
#define VALUE_MAX (TFS_VOXEL_STEP - 1)

/* The planes that are columns. */
struct columns {
    struct tfs_voxel_columns head;
    const char *names[TFS_PLANES_MAX];
    unsigned planes[TFS_PLANES_MAX];
};

/* Those of all chunks; with cells, those of that chunk. */
static void find_columns(const struct tfs_cells_kind *kind, const struct tfs_cells *cells,
                         struct columns *c)
{
    *c = (struct columns){
        .head = {.may_lack_any = kind->form != NULL, .have_depths = kind->form != NULL}};
    for (unsigned i = 0; i < kind->count; i++) {
        const unsigned flags = kind->planes[i].flags;
        if ((flags & TFS_PLANE_IN_TABLE) == 0 ||
            (cells != NULL && (flags & TFS_PLANE_FILLABLE) != 0 && cells->planes[i].filled))
            continue;
        assert((flags & TFS_PLANE_OPTIONAL) == 0); /* the table of a chunk has all columns */
        c->planes[c->head.count] = i;
        c->names[c->head.count++] = kind->planes[i].name;
    }
    c->head.names = c->names;
}

static unsigned plane_bits(const struct tfs_cells_kind *kind)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < kind->count; i++)
        bits |= (kind->planes[i].flags & TFS_PLANE_IN_TABLE) != 0 ? 1u << i : 0;
    return bits;
}

static unsigned planes_needed(const struct tfs_cells_kind *kind)
{
    return tfs_cells_runs_need(kind, plane_bits(kind));
}

static struct tfs_voxel_box box_of(const struct tfs_cells *cells)
{
    const struct tfs_voxel_size size = cells->size;

    return (struct tfs_voxel_box){cells->chunk.key, {size.x, size.y, size.z}};
}

/* ---- get ------------------------------------------------------------------------------------- */

/* What the lines of each entry of the table of names have behind their coordinates, with the next
 * separator; nothing for air. */
struct printed {
    struct tfs_buf text;
    struct tfs_voxel_values *entries;
};

static void print_name(struct printed *p, struct tfs_span name, uint8_t behind,
                       struct tfs_buf *scratch)
{
    tfs_buf_clear(scratch);
    tfs_name_print(scratch, name);
    tfs_table_print_field(&p->text, tfs_buf_span(scratch));
    tfs_buf_u8(&p->text, behind);
}

static int print_names(const struct tfs_cells *cells, uint8_t behind, struct printed *p,
                       struct tfs_error *err)
{
    struct tfs_buf scratch = {0};
    size_t at = 0;

    p->entries = calloc(cells->name_count + (size_t)1, sizeof(*p->entries));
    if (p->entries == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < cells->name_count; i++) {
        const size_t begin = p->text.size;
        if (tfs_name_is_air(cells->kind, cells->names[i]))
            continue;
        print_name(p, cells->names[i], behind, &scratch);
        p->entries[i].size = (uint32_t)(p->text.size - begin);
        p->entries[i].lines = 1;
    }
    tfs_buf_resize(&p->text, p->text.size + TFS_VOXEL_STEP);
    if (tfs_buf_check(&scratch, err) == 0)
        tfs_buf_check(&p->text, err);
    for (uint32_t i = 0; i < cells->name_count && err->code == 0; at += p->entries[i++].size)
        p->entries[i].text = p->text.data + at;
    tfs_buf_release(&scratch);
    return err->code;
}

static void printed_release(struct printed *p)
{
    tfs_buf_release(&p->text);
    free(p->entries);
}

/* One column of names: each line is the entry's. */
static void add_entries(struct tfs_voxel_lines *lines, const struct tfs_cells *cells,
                        const struct printed *p)
{
    const struct tfs_cells_plane *plane = &cells->planes[0];
    const uint32_t *entries = plane->values;
    const size_t layer = plane->filled ? cells->count : (size_t)cells->size.x * cells->size.z;

    for (size_t i = 0; i < cells->count; i += layer)
        if (plane->filled ||
            memcmp(entries + i, entries + i + 1, (layer - 1) * sizeof(*entries)) == 0)
            tfs_voxel_lines_add(lines, (uint32_t)layer, &p->entries[entries[i]]);
        else
            tfs_voxel_lines_add_rows(lines, cells->size.z, entries + i, p->entries);
}

static bool has_line(const struct tfs_cells *cells, const struct columns *c,
                     const struct printed *p, const uint64_t *values)
{
    for (unsigned k = 0; k < c->head.count; k++) {
        const unsigned number = c->planes[k];
        const struct tfs_plane_form *form = &cells->planes[number].form;
        if ((cells->kind->planes[number].flags & TFS_PLANE_DECIDES) != 0 &&
            (form->kind == TFS_PLANE_NAMES ? p->entries[values[number]].size > 0
                                           : values[number] != form->empty))
            return true;
    }
    return false;
}

/* A value of a plane without a table of names: by the name that the game gives it, or its number.
 * Returns how many characters. */
static size_t print_value(const struct tfs_cells *cells, unsigned number, uint64_t value,
                          uint8_t text[VALUE_MAX])
{
    const struct tfs_plane_form *form = &cells->planes[number].form;
    const struct tfs_plane *p = &cells->kind->planes[number];
    const struct tfs_span name = p->name_of != NULL ? p->name_of(value) : (struct tfs_span){0};

    if (name.size > 0) {
        memcpy(text, name.data, name.size);
        return name.size;
    }
    if (form->kind == TFS_PLANE_UNSIGNED)
        return tfs_decimal_put(text, value);
    const struct tfs_grid_shape shape = tfs_plane_shape(form, cells->size, 0);
    return form->width == sizeof(uint64_t)
               ? tfs_grid_put_value64(text, &shape, value)
               : tfs_grid_put_value(text, &shape, tfs_plane_narrow(form, value));
}

/* Room for what stands behind the coordinates in any line. */
static size_t values_room(const struct tfs_cells *cells, const struct columns *c,
                          const struct printed *p)
{
    size_t longest = VALUE_MAX + 1;

    for (uint32_t i = 0; i < cells->name_count; i++)
        longest = p->entries[i].size > longest ? p->entries[i].size : longest;
    return c->head.count * longest + TFS_VOXEL_STEP;
}

/* What stands there in lines of voxels with these values. */
static size_t print_values(const struct tfs_cells *cells, const struct columns *c,
                           const struct printed *p, const uint64_t *values, uint8_t *text)
{
    uint8_t *at = text;

    for (unsigned k = 0; k < c->head.count; k++) {
        const unsigned number = c->planes[k];
        if (cells->planes[number].form.kind == TFS_PLANE_NAMES) {
            const struct tfs_voxel_values *name = &p->entries[values[number]];
            memcpy(at, name->text, name->size);
            at += name->size;
            continue;
        }
        at += print_value(cells, number, values[number], at);
        *at++ = k + 1 < c->head.count ? ',' : '\n';
    }
    return (size_t)(at - text);
}

/* Lines of `count` voxels with these values. `text` has room for what is behind the coordinates. */
static void add_values(struct tfs_voxel_lines *lines, const struct tfs_cells *cells,
                       const struct columns *c, const struct printed *p, const uint64_t *values,
                       size_t count, uint8_t *text)
{
    struct tfs_voxel_values line = {.text = text, .lines = 1};

    if (has_line(cells, c, p, values))
        line.size = (uint32_t)print_values(cells, c, p, values, text);
    tfs_voxel_lines_add(lines, (uint32_t)count, &line);
}

/* Voxels with the same values in all columns at once. */
static int add_planes(struct tfs_voxel_lines *lines, const struct tfs_cells *cells,
                      const struct columns *c, const struct printed *p, struct tfs_error *err)
{
    uint8_t *text = calloc(1, values_room(cells, c, p));
    uint64_t values[TFS_PLANES_MAX];

    if (text == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0, end; i < cells->count; i = end) {
        end = cells->count;
        for (unsigned k = 0; k < c->head.count; k++) {
            const struct tfs_cells_plane *plane = &cells->planes[c->planes[k]];
            values[c->planes[k]] = tfs_plane_get(plane, i);
            end = i + tfs_plane_run(plane, i, end);
        }
        add_values(lines, cells, c, p, values, end - i, text);
    }
    free(text);
    return 0;
}

/* ---- runs that the game stores --------------------------------------------------------------- */

#define RECENT 256

/* What the lines of voxels with these values have behind their coordinates. */
struct recent {
    uint64_t values; /* a byte of each plane */
    uint32_t size;   /* 0: such voxels have no line */
    bool is_set;
};

static void print_run(const struct tfs_cells *cells, const struct columns *c,
                      const struct printed *p, const struct tfs_cells_runs *runs, uint8_t *text,
                      struct recent *found)
{
    uint64_t values[TFS_PLANES_MAX];

    for (unsigned i = 0; i < TFS_PLANES_MAX; i++)
        values[i] = runs->values[i];
    memcpy(&found->values, runs->values, sizeof(found->values));
    found->size =
        has_line(cells, c, p, values) ? (uint32_t)print_values(cells, c, p, values, text) : 0;
    found->is_set = true;
}

/* Lines that were printed last are found again: the rows "sizes" and "roblox" of the bench. */
static int add_runs(struct tfs_voxel_lines *lines, const struct tfs_cells *cells,
                    const struct columns *c, const struct printed *p, struct tfs_error *err)
{
    const size_t room = values_room(cells, c, p);
    struct recent *recent = calloc(RECENT, sizeof(*recent));
    uint8_t *texts = malloc(RECENT * room);
    struct tfs_cells_runs runs;
    uint64_t values;

    if (recent == NULL || texts == NULL)
        tfs_fail_memory(err);
    tfs_cells_runs_begin(&runs, cells);
    while (err->code == 0 && tfs_cells_runs_next(&runs)) {
        memcpy(&values, runs.values, sizeof(values));
        const size_t place = (values * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
        uint8_t *text = texts + place * room;
        if (!recent[place].is_set || recent[place].values != values)
            print_run(cells, c, p, &runs, text, &recent[place]);
        const struct tfs_voxel_values line = {text, recent[place].size, 1};
        tfs_voxel_lines_add(lines, (uint32_t)runs.count, &line);
    }
    free(recent);
    free(texts);
    return err->code;
}

/* ---- all lines ------------------------------------------------------------------------------- */

/* All lines; `out` NULL: their size alone. */
static int print_lines(const struct tfs_cells *cells, const struct columns *c, struct tfs_buf *out,
                       uint64_t *size, struct tfs_error *err)
{
    const struct tfs_voxel_box box = box_of(cells);
    const bool named = tfs_cells_named(cells) != NULL, alone = named && c->head.count == 1;
    struct tfs_voxel_lines lines;
    struct printed p = {0};

    *size = 0;
    if (c->head.count == 0)
        return 0;
    if (print_names(cells, alone ? '\n' : ',', &p, err) == 0 &&
        tfs_voxel_lines_open(&lines, &box, out, err) == 0) {
        if (cells->kind->next_runs != NULL)
            add_runs(&lines, cells, c, &p, err);
        else if (!named)
            tfs_cells_number_lines(&lines, cells, c->planes, c->head.count, err);
        else if (alone)
            add_entries(&lines, cells, &p);
        else
            add_planes(&lines, cells, c, &p, err);
        *size = lines.size;
        tfs_voxel_lines_close(&lines);
    }
    printed_release(&p);
    return err->code;
}

/* Counted once: the row "size of voxels.csv" of the bench. */
static int measure_lines(struct tfs_cells *cells, const struct columns *c, uint64_t *size,
                         struct tfs_error *err)
{
    *size = atomic_load(&cells->table_size);
    if (*size == 0 && print_lines(cells, c, NULL, size, err) == 0)
        atomic_store(&cells->table_size, *size);
    return err->code < 0 ? err->code : tfs_cells_check_text(*size, err);
}

#define ROW_MAX 64 /* characters of a line; names alone are longer */

/* Of a chunk whose text may be too long: the size of its lines, for which there is room then. */
static int check_size(struct tfs_cells *cells, const struct columns *c, struct tfs_buf *out,
                      struct tfs_error *err)
{
    uint64_t size;

    if (TFS_TEXT_MAX / ROW_MAX < cells->count && measure_lines(cells, c, &size, err) == 0)
        (void)tfs_buf_reserve(out, (size_t)size + 16 * ROW_MAX);
    return err->code;
}

#define NAME_ROOM 24 /* for "weights/16" */

/* With what columns are stored in, where no grid says it. */
static void print_header(const struct tfs_cells *cells, const struct columns *c,
                         struct tfs_buf *out)
{
    const bool widths = cells->kind->form != NULL && tfs_chosen_depths(cells->save->options.views);
    char texts[TFS_PLANES_MAX][NAME_ROOM];
    const char *names[TFS_PLANES_MAX];

    for (unsigned k = 0; k < c->head.count; k++) {
        names[k] = widths ? texts[k] : c->names[k];
        if (widths)
            snprintf(texts[k], NAME_ROOM, "%s/%u", c->names[k],
                     8 * cells->planes[c->planes[k]].form.width);
    }
    tfs_voxel_header_print(out, names, c->head.count);
}

int tfs_cells_table_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_cells *cells;
    struct columns c;
    uint64_t size;

    if (tfs_cells_need(save, doc, at.key, planes_needed(kind), &cells, err) < 0)
        return err->code;
    find_columns(kind, cells, &c);
    if (check_size(cells, &c, out, err) == 0) {
        print_header(cells, &c, out);
        print_lines(cells, &c, out, &size, err);
    }
    tfs_cells_unref(cells);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

int64_t tfs_cells_table_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_cells_kind *kind = save->tree->cells;
    struct tfs_buf head = {0};
    struct tfs_error ignored = {0};
    struct tfs_cells *cells;
    struct columns c;
    uint64_t size = 0;

    if (tfs_cells_need(save, doc, at.key, planes_needed(kind), &cells, &ignored) < 0)
        return ignored.code;
    find_columns(kind, cells, &c);
    print_header(cells, &c, &head);
    if (tfs_buf_check(&head, &ignored) == 0)
        measure_lines(cells, &c, &size, &ignored);
    size += head.size;
    tfs_buf_release(&head);
    tfs_cells_unref(cells);
    return ignored.code < 0 ? ignored.code : (int64_t)size;
}

/* ---- put ------------------------------------------------------------------------------------- */

/* A column that the header names. */
struct field {
    unsigned column, plane;
    bool named;
    struct tfs_grid_rules rules; /* of numbers */
    char range[TFS_PLANE_RANGE];
};

struct reading {
    struct tfs_voxel_reader reader;
    struct columns columns;
    struct field fields[TFS_PLANES_MAX];
    unsigned count;
    struct tfs_cells_edit edit;
    bool *there; /* voxels that have a line; NULL: all were emptied before the first */
    struct tfs_buf name;
    bool has_legal; /* there are values that not every voxel may have */
    /* Of the row, by plane: its values; and those of them that this voxel may not have, bit i. */
    uint64_t values[TFS_PLANES_MAX];
    unsigned odd;
    size_t first, length; /* voxels that get these values next */
};

/* The entry of the name that a field prints. */
static int take_name(struct reading *r, const struct tfs_line *field, uint64_t *entry,
                     struct tfs_error *err)
{
    const struct tfs_name_rules *rules = &r->edit.before->kind->names;
    uint32_t found;

    tfs_buf_clear(&r->name);
    if (tfs_line_name(field, &r->name, err) < 0)
        return err->code;
    const struct tfs_span name = tfs_buf_span(&r->name);
    if (!tfs_cells_edit_find(&r->edit, name, &found) &&
        (tfs_name_check(rules, name, field, err) < 0 ||
         tfs_cells_edit_add(&r->edit, name, &found, err) < 0))
        return err->code;
    *entry = found;
    return 0;
}

/* The value that the game itself calls so: is there one? */
static bool find_value(const struct tfs_plane *p, struct tfs_span name, uint64_t *value)
{
    for (*value = 0; *value <= p->form.high && name.size > 0; ++*value)
        if (tfs_span_equal(p->name_of(*value), name))
            return true;
    return false;
}

static int take_number(struct reading *r, const struct field *f, const struct tfs_line *text,
                       struct tfs_error *err)
{
    const struct tfs_plane *p = &r->edit.before->kind->planes[f->plane];
    uint64_t *value = &r->values[f->plane];
    char quoted[TFS_QUOTED];
    int64_t number;
    uint32_t narrow;

    if (p->name_of != NULL && find_value(p, text->text, value))
        return 0;
    if (p->name_of != NULL && text->text.size > 0 && text->text.data[0] > '9')
        return tfs_fail_line(err, text,
                             "there is no %s %s; palette.txt has the names, and 0 to %" PRIu64
                             " are possible",
                             p->name, tfs_name_quote(text->text, quoted), p->form.high);
    if (p->form.kind == TFS_PLANE_UNSIGNED && p->out_of_range != NULL) {
        if (tfs_line_number(text, p->name, 0, (int64_t)p->form.high, &number, err) == 0)
            *value = (uint64_t)number;
        return err->code;
    }
    if (r->edit.planes[f->plane].form.width == sizeof(uint64_t))
        return tfs_grid_take_value64(text, &f->rules, value, err);
    if (tfs_grid_take_value(text, &f->rules, &narrow, err) == 0)
        *value = narrow;
    return err->code;
}

static const char *refusal(const struct reading *r, unsigned plane)
{
    const struct tfs_plane *p = &r->edit.before->kind->planes[plane];

    return p->legal == NULL ? NULL : p->legal(tfs_edit_doc(r->edit.edit), r->values);
}

static int take_values(struct reading *r, const struct tfs_voxel_row *row, struct tfs_error *err)
{
    const struct field *end = r->fields + r->count;

    for (const struct field *f = r->fields; f < end; f++)
        if (f->named ? take_name(r, &row->fields[f->column], &r->values[f->plane], err) < 0
                     : take_number(r, f, &row->fields[f->column], err) < 0)
            return err->code;
    r->odd = 0;
    for (unsigned k = 0; k < r->columns.head.count && r->has_legal; k++)
        if (refusal(r, r->columns.planes[k]) != NULL)
            r->odd |= 1u << r->columns.planes[k];
    return 0;
}

static void set_values(struct reading *r)
{
    const struct field *end = r->fields + r->count;

    for (const struct field *f = r->fields; f < end; f++)
        if (f->named)
            tfs_cells_edit_set(&r->edit, r->first, r->length, (uint32_t)r->values[f->plane]);
        else
            tfs_plane_set_all(&r->edit.planes[f->plane], r->first, r->length, r->values[f->plane]);
    if (r->there != NULL)
        memset(r->there + r->first, true, r->length);
    r->length = 0;
}

/* The row's values are odd ones. A voxel that has them already may keep them. In a new chunk
 * another file may make them legal. */
static int set_odd(struct reading *r, struct tfs_voxel_row *row, struct tfs_error *err)
{
    const struct tfs_cells *before = r->edit.before;
    bool same = true;

    set_values(r);
    for (unsigned k = 0; k < r->columns.head.count; k++) {
        const unsigned plane = r->columns.planes[k];
        same = same && tfs_plane_get(&before->planes[plane], row->voxel) == r->values[plane];
    }
    for (unsigned k = 0; k < r->columns.head.count && !same && r->edit.values == NULL; k++) {
        const unsigned plane = r->columns.planes[k];
        if ((r->odd >> plane & 1) == 0)
            continue;
        tfs_voxel_reader_fields(&r->reader, row);
        return tfs_fail_line(err, &row->fields[k],
                             "voxel %" PRId64 ",%" PRId64 ",%" PRId64 ": %s %" PRIu64 " for %s",
                             row->at[0], row->at[1], row->at[2], before->kind->planes[plane].name,
                             r->values[plane], refusal(r, plane));
    }
    return 0;
}

/* The plane of a column; of a kind without names all voxels are empty until their line comes. */
static int begin_field(struct reading *r, struct field *f, struct tfs_error *err)
{
    const struct tfs_cells *before = r->edit.before;
    const struct tfs_plane_form *form = &r->edit.planes[f->plane].form;
    const struct tfs_line width = r->reader.depths[f->column];

    if (width.text.data != NULL && tfs_cells_take_width(&r->edit, f->plane, width, err) < 0)
        return err->code;
    if ((tfs_cells_named(before) != NULL ? tfs_cells_edit_plane : tfs_cells_edit_empty)(
            &r->edit, f->plane, err) < 0)
        return err->code;
    r->edit.written |= 1u << f->plane;
    f->named = form->kind == TFS_PLANE_NAMES;
    if (!f->named)
        f->rules = tfs_plane_rules(&before->kind->planes[f->plane], form, before->size, f->range);
    return 0;
}

static int begin_fields(struct reading *r, struct tfs_error *err)
{
    for (unsigned k = 0; k < r->columns.head.count; k++) {
        struct field *f = &r->fields[r->count];
        if (!r->reader.has[k])
            continue;
        f->column = k;
        f->plane = r->columns.planes[k];
        if (begin_field(r, f, err) < 0)
            return err->code;
        r->count++;
    }
    return 0;
}

/* Empties voxels without a line. One that is empty keeps its name. */
static int clear_rest(struct reading *r, struct tfs_error *err)
{
    const size_t count = r->edit.before->count;

    for (size_t i = 0, end; r->there != NULL && i < count; i = end) {
        const bool *next = memchr(r->there + i, !r->there[i], count - i);
        end = next != NULL ? (size_t)(next - r->there) : count;
        if (!r->there[i] && tfs_cells_edit_clear(&r->edit, i, end - i, err) < 0)
            return err->code;
    }
    return 0;
}

static int put_lines(struct reading *r, struct tfs_error *err)
{
    struct tfs_voxel_row row;
    int got;

    if (begin_fields(r, err) < 0)
        return err->code;
    while ((got = tfs_voxel_reader_next(&r->reader, &row, err)) == 1) {
        if (row.again && r->odd == 0 && row.voxel == r->first + r->length) {
            r->length++;
            continue;
        }
        set_values(r);
        if (!row.again && take_values(r, &row, err) < 0)
            return err->code;
        r->first = row.voxel;
        r->length = 1;
        if (r->odd != 0 && set_odd(r, &row, err) < 0)
            return err->code;
    }
    set_values(r);
    if (got < 0 || clear_rest(r, err) < 0)
        return err->code;
    tfs_cells_edit_refill(&r->edit);
    return tfs_cells_edit_finish(&r->edit, r->reader.edit, err);
}

int tfs_cells_table_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct reading *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return tfs_fail_memory(err);
    find_columns(save->tree->cells, NULL, &r->columns);
    for (unsigned k = 0; k < r->columns.head.count; k++)
        r->has_legal |= save->tree->cells->planes[r->columns.planes[k]].legal != NULL;
    if (tfs_cells_edit_open(&r->edit, save, edit, at.key, err) == 0) {
        r->edit.values = put->values;
        const struct tfs_voxel_box box = box_of(r->edit.before);
        const bool named = tfs_cells_named(r->edit.before) != NULL;
        r->there = named ? calloc(r->edit.before->count, sizeof(*r->there)) : NULL;
        if (named && r->there == NULL)
            tfs_fail_memory(err);
        else if (tfs_voxel_reader_open(&r->reader, &r->columns.head, &box, edit, put->fresh, text,
                                       err) == 0)
            put_lines(r, err);
    }
    tfs_cells_edit_close(&r->edit);
    tfs_buf_release(&r->name);
    free(r->there);
    tfs_voxel_reader_close(&r->reader, err);
    free(r);
    return err->code;
}

const struct tfs_lens tfs_cells_table_lens = {
    .get = tfs_cells_table_get,
    .put = tfs_cells_table_put,
    .size = tfs_cells_table_size,
};
