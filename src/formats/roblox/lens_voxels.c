/*
 * voxels.csv: one line `x,y,z,material,occupancy,water` a cell that is not empty <-> cells.
 *
 * Writing goes along the records, without making cells; reading has every rule about what a line
 * may say.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/roblox/lenses.h"
#include "formats/roblox/material.h"
#include "formats/roblox/summary.h"
#include "formats/voxel_table.h"
#include "text/decimal.h"
#include "text/name.h"

enum column { MATERIAL, OCCUPANCY, WATER, COLUMNS };

static const char *const column_names[COLUMNS] = {"material", "occupancy", "water"};
static const struct tfs_voxel_columns columns = {.names = column_names, .count = COLUMNS};

#define HEADER "x,y,z,material,occupancy,water\n"

static struct tfs_voxel_box box_of(const struct tfs_chunk *chunk)
{
    const uint32_t edge = tfs_rbx_edge(tfs_rbx_chunk_log2(chunk));

    return (struct tfs_voxel_box){chunk->key, {edge, edge, edge}};
}

/* ---- get ------------------------------------------------------------------------------------- */

/* What is behind the coordinates in the lines of a cell: "Cobblestone,255,255\n". */
struct cell_text {
    uint8_t text[TFS_VOXEL_STEP];
    struct tfs_voxel_values values;
};

static void add_number(struct cell_text *t, uint32_t v, uint8_t end)
{
    t->values.size += (uint32_t)tfs_decimal_put(t->text + t->values.size, v);
    t->text[t->values.size++] = end;
}

static void print_cell(struct cell_text *t, uint32_t cell)
{
    const struct tfs_span name = tfs_rbx_material_name(tfs_rbx_cell_material(cell));

    t->values = (struct tfs_voxel_values){.text = t->text, .lines = 1};
    if (name.size > 0) {
        memcpy(t->text, name.data, name.size);
        t->text[name.size] = ',';
        t->values.size = (uint32_t)name.size + 1;
    } else {
        add_number(t, tfs_rbx_cell_material(cell), ',');
    }
    add_number(t, tfs_rbx_cell_occupancy(cell), ',');
    add_number(t, tfs_rbx_cell_water(cell), '\n');
}

/* All lines; `out` NULL: their size alone, which is returned. */
static uint64_t print_lines(const struct tfs_chunk *chunk, struct tfs_buf *out)
{
    const size_t count = tfs_rbx_cell_count(tfs_rbx_chunk_log2(chunk));
    const struct tfs_voxel_box box = box_of(chunk);
    const struct tfs_voxel_values none = {0};
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_voxel_lines lines;
    struct tfs_rbx_run run;
    struct cell_text t;
    struct tfs_error never = {0}; /* no edge is above TFS_VOXEL_SIDE */

    tfs_voxel_lines_open(&lines, &box, out, &never);
    for (size_t at = 0; at < count && tfs_rbx_run_take(&records, &run); at += run.count) {
        run.count = run.count < count - at ? run.count : (uint32_t)(count - at);
        if (run.cell != TFS_RBX_EMPTY)
            print_cell(&t, run.cell);
        tfs_voxel_lines_add(&lines, run.count, run.cell != TFS_RBX_EMPTY ? &t.values : &none);
    }
    tfs_voxel_lines_close(&lines);
    return lines.size;
}

uint64_t tfs_rbx_lines_size(const struct tfs_chunk *chunk)
{
    return print_lines(chunk, NULL);
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    (void)save;
    if (tfs_doc_need(doc, at.key, &chunk, err) < 0)
        return err->code;

    const uint64_t size = tfs_rbx_summary(doc, chunk).lines;
    if (tfs_rbx_check_text_size(size, err) < 0)
        return err->code;
    /* All at once, so that nothing moves; the lines themselves ask for what they need. */
    (void)tfs_buf_reserve(out, sizeof(HEADER) + (size_t)size + 4 * TFS_VOXEL_STEP);
    tfs_voxel_header_print(out, columns.names, columns.count);
    print_lines(chunk, out);
    return tfs_buf_check(out, err);
}

static int64_t voxels_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_chunk *chunk;
    struct tfs_error ignored = {0};

    (void)save;
    if (tfs_doc_need(doc, at.key, &chunk, &ignored) < 0)
        return ignored.code;

    const uint64_t size = tfs_rbx_summary(doc, chunk).lines;
    return size > TFS_RBX_TEXT_MAX ? -1 : (int64_t)(size + sizeof(HEADER) - 1);
}

/* ---- what a row says ------------------------------------------------------------------------- */

static int take_material(const struct tfs_line *field, uint32_t *material, struct tfs_error *err)
{
    int named = tfs_rbx_material_find(field->text);
    int64_t number = named;
    char quoted[TFS_QUOTED];

    if (named < 0 && field->text.size > 0 && field->text.data[0] > '9')
        return tfs_fail_line(err, field,
                             "there is no material %s; palette.txt has the names, and 0 to 63 are "
                             "possible",
                             tfs_name_quote(field->text, quoted));
    if (named < 0 && tfs_line_number(field, "material", 0, TFS_RBX_MATERIALS - 1, &number, err) < 0)
        return err->code;
    *material = (uint32_t)number;
    return 0;
}

static int take_cell(const struct tfs_line *fields, uint32_t *cell, struct tfs_error *err)
{
    uint32_t material = 0;
    int64_t occupancy = 0;
    int64_t water = 0;

    if (take_material(&fields[MATERIAL], &material, err) < 0 ||
        tfs_line_number(&fields[OCCUPANCY], "occupancy", 0, 255, &occupancy, err) < 0 ||
        tfs_line_number(&fields[WATER], "water", 0, 255, &water, err) < 0)
        return err->code;
    *cell = tfs_rbx_cell(material, (uint32_t)occupancy, (uint32_t)water);
    return 0;
}

static int fail_cell(const struct tfs_voxel_reader *r, struct tfs_voxel_row *row, uint32_t cell,
                     struct tfs_error *err)
{
    const uint32_t material = tfs_rbx_cell_material(cell);
    const bool is_air = material == TFS_RBX_AIR;
    const bool dry = tfs_rbx_cell_water(cell) == 0;
    const char *why = is_air && dry ? "Air has no occupancy"
                      : is_air      ? "Air has no water beside it; the material Water has"
                      : material == TFS_RBX_WATER ? "Water has no room for more water"
                                                  : "a cell of occupancy 255 has no room for water";

    tfs_voxel_reader_fields(r, row);
    return tfs_fail_line(err, &row->fields[is_air && dry ? OCCUPANCY : WATER],
                         "voxel %" PRId64 ",%" PRId64 ",%" PRId64 ": %s", row->at[0], row->at[1],
                         row->at[2], why);
}

/* ---- put ------------------------------------------------------------------------------------- */

/* Sets cells[c->count] to what the text says, empty where it has no line for a voxel. A line that
 * does not change its voxel is accepted as it is. In a new chunk, a value that cannot be stored yet
 * waits for another file. */
static int read_cells(struct tfs_voxel_reader *r, const struct tfs_rbx_cells *c,
                      struct tfs_put *put, uint32_t *cells, struct tfs_error *err)
{
    struct tfs_voxel_row row;
    uint32_t cell = TFS_RBX_EMPTY;
    int got;

    memset(cells, 0, c->count * sizeof(*cells));
    while ((got = tfs_voxel_reader_next(r, &row, err)) == 1) {
        if (!row.again && take_cell(row.fields, &cell, err) < 0)
            return err->code;
        cells[row.voxel] = cell;
        if (cell == c->cells[row.voxel] || tfs_rbx_cell_legal(cell))
            continue;
        if (!put->fresh)
            return fail_cell(r, &row, cell, err);
        put->waits = true;
        cells[row.voxel] = tfs_rbx_cell_fit(cell);
    }
    return got;
}

static int put_cells(struct tfs_voxel_reader *r, struct tfs_rbx_cells *c, struct tfs_put *put,
                     struct tfs_error *err)
{
    uint32_t *cells = malloc(c->count * sizeof(*cells));

    if (cells == NULL)
        return tfs_fail_memory(err);
    if (read_cells(r, c, put, cells, err) == 0) {
        memcpy(c->cells, cells, c->count * sizeof(*cells));
        tfs_rbx_store_cells(r->edit, c, err);
    }
    free(cells);
    return err->code;
}

static int voxels_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_voxel_reader r = {0};
    struct tfs_rbx_cells c;

    (void)save;
    if (tfs_rbx_cells_open(tfs_edit_doc(edit), at.key, &c, err) < 0)
        return err->code;
    const struct tfs_voxel_box box = box_of(&c.chunk);
    if (tfs_voxel_reader_open(&r, &columns, &box, edit, put->fresh, text, err) == 0)
        put_cells(&r, &c, put, err);
    tfs_rbx_cells_release(&c);
    return tfs_voxel_reader_close(&r, err);
}

const struct tfs_lens tfs_rbx_voxels_lens = {
    .get = voxels_get,
    .put = voxels_put,
    .size = voxels_size,
};
