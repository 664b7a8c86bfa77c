/*
 * voxels.csv: one line `x,y,z,material,occupancy,water` a cell that is not empty <-> cells.
 *
 * Writing goes along the records, without making cells: what is left of a run in a row is lines
 * that differ in x alone, copied from three printed pieces. Reading is in voxels_text.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/roblox/lenses.h"
#include "formats/roblox/material.h"
#include "formats/roblox/voxels_text.h"
#include "text/grid.h"

/* Room for the pieces of a line. They are copied whole, so what lies behind them is read and
 * overwritten. */
#define X_ROOM    16 /* "-8589934592" */
#define ROW_ROOM  32 /* ",-8589934592,-8589934592" */
#define CELL_ROOM 32 /* ",Cobblestone,255,255\n" */
#define LINE_ROOM (X_ROOM + ROW_ROOM + CELL_ROOM)

struct piece {
    uint8_t text[ROW_ROOM];
    size_t size;
};

/* A chunk's lines being made, or only counted (out NULL). */
struct printer {
    struct tfs_key key;
    uint32_t edge;
    uint8_t x[1 << TFS_RBX_LOG2_MAX][X_ROOM];
    uint32_t x_end[(1 << TFS_RBX_LOG2_MAX) + 1]; /* bytes of all x before */
    struct piece row;
    uint32_t row_number; /* of what is in `row` */
    uint64_t size;       /* of the lines so far */
    uint8_t *out;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static size_t print_number(uint8_t *out, int64_t v)
{
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    size_t size = tfs_decimal_width(rest) + (v < 0);

    out[0] = '-';
    for (size_t i = size; i > (v < 0); rest /= 10)
        out[--i] = (uint8_t)('0' + rest % 10);
    return size;
}

static void add_number(struct piece *piece, int64_t v)
{
    piece->text[piece->size++] = ',';
    piece->size += print_number(piece->text + piece->size, v);
}

static void make_row(struct printer *p, uint32_t row)
{
    p->row.size = 0;
    add_number(&p->row, (int64_t)p->key.y * p->edge + row / p->edge);
    add_number(&p->row, (int64_t)p->key.z * p->edge + row % p->edge);
    p->row_number = row;
}

static void make_cell(struct piece *piece, uint32_t cell)
{
    const uint32_t material = tfs_rbx_cell_material(cell);
    const char *name = tfs_rbx_material_name(material);

    piece->size = 0;
    if (name == NULL) {
        add_number(piece, material);
    } else {
        piece->text[piece->size++] = ',';
        memcpy(piece->text + piece->size, name, strlen(name));
        piece->size += strlen(name);
    }
    add_number(piece, tfs_rbx_cell_occupancy(cell));
    add_number(piece, tfs_rbx_cell_water(cell));
    piece->text[piece->size++] = '\n';
}

static void printer_init(struct printer *p, const struct tfs_chunk *chunk)
{
    p->key = chunk->key;
    p->edge = tfs_rbx_edge(chunk->tag);
    p->x_end[0] = 0;
    for (uint32_t x = 0; x < p->edge; x++) {
        size_t size = print_number(p->x[x], (int64_t)p->key.x * p->edge + x);
        p->x_end[x + 1] = p->x_end[x] + (uint32_t)size;
    }
    make_row(p, 0);
    p->size = 0;
    p->out = NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void print_lines(struct printer *p, uint32_t x, uint32_t end, const struct piece *cell)
{
    uint8_t *out = p->out;

    for (; x < end; x++) {
        memcpy(out, p->x[x], X_ROOM);
        out += p->x_end[x + 1] - p->x_end[x];
        memcpy(out, p->row.text, ROW_ROOM);
        out += p->row.size;
        memcpy(out, cell->text, CELL_ROOM);
        out += cell->size;
    }
    p->out = out;
}

/* The lines of `count` equal cells from cell number `at` on. */
static void print_run(struct printer *p, size_t at, uint32_t count, const struct piece *cell)
{
    while (count > 0) {
        uint32_t x = (uint32_t)at & (p->edge - 1);
        uint32_t row = (uint32_t)(at / p->edge);
        uint32_t here = p->edge - x < count ? p->edge - x : count;
        if (row != p->row_number)
            make_row(p, row);
        p->size += p->x_end[x + here] - p->x_end[x] + here * (p->row.size + cell->size);
        if (p->out != NULL)
            print_lines(p, x, x + here, cell);
        at += here;
        count -= here;
    }
}

static void print_chunk(struct printer *p, const struct tfs_chunk *chunk)
{
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_rbx_run run;
    struct piece cell;
    size_t at = 0;

    while (tfs_rbx_run_take(&records, &run)) {
        if (run.cell != TFS_RBX_EMPTY) {
            make_cell(&cell, run.cell);
            print_run(p, at, run.count, &cell);
        }
        at += run.count;
    }
}

static uint64_t lines_size(struct printer *p, const struct tfs_chunk *chunk)
{
    printer_init(p, chunk);
    print_chunk(p, chunk);
    return p->size;
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;
    struct printer p;

    (void)save;
    if (tfs_rbx_find_chunk(doc, at.key, &chunk, err) < 0)
        return err->code;

    const uint64_t size = lines_size(&p, chunk);
    if (tfs_rbx_check_text_size(size, err) < 0)
        return err->code;
    tfs_buf_add_text(out, TFS_RBX_VOXELS_HEADER "\n");
    p.out = tfs_buf_reserve(out, (size_t)size + LINE_ROOM);
    if (p.out != NULL) {
        print_chunk(&p, chunk);
        out->size += (size_t)size;
    }
    return tfs_buf_check(out, err);
}

static int64_t voxels_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_chunk *chunk;
    struct tfs_error ignored = {0};
    struct printer p;

    (void)save;
    if (tfs_rbx_find_chunk(doc, at.key, &chunk, &ignored) < 0)
        return ignored.code;

    const uint64_t size = lines_size(&p, chunk);
    return size > TFS_RBX_TEXT_MAX ? -1 : (int64_t)(size + sizeof(TFS_RBX_VOXELS_HEADER));
}

/* ---- put ------------------------------------------------------------------------------------- */

static int voxels_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_rbx_cells c;

    (void)save;
    if (tfs_rbx_cells_open(tfs_edit_doc(edit), at.key, &c, err) < 0)
        return err->code;

    const size_t size = c.count * sizeof(*c.cells);
    uint32_t *cells = malloc(size);
    if (cells == NULL) {
        tfs_fail_memory(err);
    } else if (tfs_rbx_voxels_parse(text, &c, put, cells, err) == 0 &&
               memcmp(cells, c.cells, size) != 0) {
        memcpy(c.cells, cells, size);
        tfs_rbx_store_cells(edit, &c, err);
    }
    free(cells);
    tfs_rbx_cells_release(&c);
    return err->code;
}

const struct tfs_lens tfs_rbx_voxels_lens = {
    .get = voxels_get,
    .put = voxels_put,
    .size = voxels_size,
};
