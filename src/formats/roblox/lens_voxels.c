/*
 * voxels.csv: one line `x,y,z,material,occupancy,water` a cell that is not empty <-> cells.
 *
 * Writing goes along the records, without making cells: what is left of a run in a row is lines
 * that differ in x alone, copied from two printed pieces; whole rows are copies of the one before,
 * but for z. Reading is in voxels_text.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/roblox/lenses.h"
#include "formats/roblox/material.h"
#include "formats/roblox/summary.h"
#include "formats/roblox/voxels_text.h"
#include "text/decimal.h"

/* Room for the pieces of a line. They are copied whole, so what lies behind them is read and
 * overwritten. */
#define NUMBER_ROOM 16 /* "-549755813888," */
#define CELL_ROOM   32 /* "Cobblestone,255,255\n" */
#define TAIL_ROOM   64 /* two numbers and a cell */
#define TAIL_USUAL  32 /* seldom more */
#define LINE_ROOM   (NUMBER_ROOM + TAIL_ROOM)
#define Z_ROOM      8 /* "0,Mud,0,0\n" is longer, and so is "0,23,0,0\n" */

#define EDGE_MAX (1 << TFS_RBX_LOG2_MAX)

/* The coordinates of a chunk along one axis, a comma behind each. */
struct axis {
    uint8_t text[EDGE_MAX][NUMBER_ROOM];
    uint32_t end[EDGE_MAX + 1]; /* bytes of all before */
};

/* Text that lines have in common. */
struct piece {
    uint8_t text[TAIL_ROOM + CELL_ROOM];
    uint32_t size;
};

struct axes {
    uint32_t log2; /* of the chunk's edge */
    struct axis x, y, z;
};

/* A chunk's lines being made. */
struct printer {
    struct axes axes;
    uint8_t bytes[256][4]; /* numbers with the comma behind them */
    struct tfs_buf *out;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static void axis_init(struct axis *axis, int32_t chunk, uint32_t edge)
{
    axis->end[0] = 0;
    for (uint32_t i = 0; i < edge; i++) {
        uint32_t size = (uint32_t)tfs_decimal_put_signed(axis->text[i], (int64_t)chunk * edge + i);
        axis->text[i][size] = ',';
        axis->end[i + 1] = axis->end[i] + size + 1;
    }
}

static void axes_init(struct axes *axes, const struct tfs_chunk *chunk)
{
    const uint32_t edge = tfs_rbx_edge(chunk->tag);

    axes->log2 = chunk->tag;
    axis_init(&axes->x, chunk->key.x, edge);
    axis_init(&axes->y, chunk->key.y, edge);
    axis_init(&axes->z, chunk->key.z, edge);
}

static void printer_init(struct printer *p, const struct tfs_chunk *chunk, struct tfs_buf *out)
{
    axes_init(&p->axes, chunk);
    for (uint32_t v = 0; v < 256; v++)
        p->bytes[v][tfs_decimal_put(p->bytes[v], v)] = ',';
    p->out = out;
}

static uint32_t coordinate_size(const struct axis *axis, uint32_t i)
{
    return axis->end[i + 1] - axis->end[i];
}

static void add_coordinate(struct piece *piece, const struct axis *axis, uint32_t i)
{
    memcpy(piece->text + piece->size, axis->text[i], NUMBER_ROOM);
    piece->size += coordinate_size(axis, i);
}

/* Characters of a number of one byte, and what is behind it. */
static uint32_t byte_size(uint32_t v)
{
    return 2U + (v > 9) + (v > 99);
}

static void add_byte(struct piece *piece, const struct printer *p, uint32_t v)
{
    memcpy(piece->text + piece->size, p->bytes[v], sizeof(p->bytes[v]));
    piece->size += byte_size(v);
}

static void make_cell(struct piece *piece, const struct printer *p, uint32_t cell)
{
    const struct tfs_span name = tfs_rbx_material_name(tfs_rbx_cell_material(cell));

    piece->size = 0;
    if (name.size > 0) {
        memcpy(piece->text, name.data, name.size);
        piece->text[name.size] = ',';
        piece->size = (uint32_t)name.size + 1;
    } else {
        add_byte(piece, p, tfs_rbx_cell_material(cell));
    }
    add_byte(piece, p, tfs_rbx_cell_occupancy(cell));
    add_byte(piece, p, tfs_rbx_cell_water(cell));
    piece->text[piece->size - 1] = '\n';
}

static uint32_t cell_size(uint32_t cell)
{
    const uint32_t material = tfs_rbx_cell_material(cell);
    const struct tfs_span name = tfs_rbx_material_name(material);

    return (name.size > 0 ? (uint32_t)name.size + 1 : byte_size(material)) +
           byte_size(tfs_rbx_cell_occupancy(cell)) + byte_size(tfs_rbx_cell_water(cell));
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Equal cells of a row, from x on. */
struct stretch {
    uint32_t x, end, y, z;
    bool again; /* a whole row, and so was the one before, of the same cells */
    const struct piece *cell;
};

static size_t lines_size(const struct axes *axes, const struct stretch *s)
{
    uint32_t tail =
        coordinate_size(&axes->y, s->y) + coordinate_size(&axes->z, s->z) + s->cell->size;

    return axes->x.end[s->end] - axes->x.end[s->x] + (size_t)(s->end - s->x) * tail;
}

/* What is behind x in the lines of a stretch. */
static void make_tail(const struct axes *axes, const struct stretch *s, struct piece *tail)
{
    tail->size = 0;
    add_coordinate(tail, &axes->y, s->y);
    add_coordinate(tail, &axes->z, s->z);
    memcpy(tail->text + tail->size, s->cell->text, CELL_ROOM);
    tail->size += s->cell->size;
}

static void print_lines(const struct axes *axes, const struct stretch *s, const struct piece *tail,
                        uint8_t *out)
{
    for (uint32_t x = s->x; x < s->end; x++) {
        memcpy(out, axes->x.text[x], NUMBER_ROOM);
        out += coordinate_size(&axes->x, x);
        memcpy(out, tail->text, TAIL_USUAL);
        if (tail->size > TAIL_USUAL)
            memcpy(out + TAIL_USUAL, tail->text + TAIL_USUAL, TAIL_ROOM - TAIL_USUAL);
        out += tail->size;
    }
}

/* Is the row like the one before it, but for another z of as many characters? No line is shorter
 * behind y than Z_ROOM. */
static bool is_repeated(const struct axes *axes, const struct stretch *s)
{
    return s->again && s->z > 0 && coordinate_size(&axes->z, s->z) <= Z_ROOM &&
           coordinate_size(&axes->z, s->z) == coordinate_size(&axes->z, s->z - 1);
}

/* The row before, which `out` stands behind, with the new z in each line. */
static void repeat_lines(const struct axes *axes, const struct stretch *s, const struct piece *tail,
                         size_t size, uint8_t *out)
{
    const uint32_t y = coordinate_size(&axes->y, s->y);

    memcpy(out, out - size, size);
    out += y;
    for (uint32_t x = s->x; x < s->end; x++)
        memcpy(out + axes->x.end[x + 1] + x * tail->size, tail->text + y, Z_ROOM);
}

static void add_lines(struct printer *p, const struct stretch *s)
{
    const size_t size = lines_size(&p->axes, s);
    uint8_t *out = tfs_buf_reserve(p->out, size + LINE_ROOM);
    struct piece tail;

    if (out == NULL)
        return;
    make_tail(&p->axes, s, &tail);
    if (is_repeated(&p->axes, s))
        repeat_lines(&p->axes, s, &tail, size, out);
    else
        print_lines(&p->axes, s, &tail, out);
    p->out->size += size;
}

/* The lines of `count` equal cells from cell number `at` on. */
static void add_run(struct printer *p, size_t at, uint32_t count, const struct piece *cell)
{
    const uint32_t edge = tfs_rbx_edge(p->axes.log2);
    struct stretch s = {.cell = cell};

    for (uint32_t here; count > 0; at += here, count -= here) {
        const bool whole = s.end - s.x == edge;
        s.x = (uint32_t)at & (edge - 1);
        here = edge - s.x < count ? edge - s.x : count;
        s.end = s.x + here;
        s.y = (uint32_t)(at >> 2 * p->axes.log2);
        s.z = (uint32_t)(at >> p->axes.log2) & (edge - 1);
        s.again = whole && here == edge;
        add_lines(p, &s);
    }
}

static void add_chunk(struct printer *p, const struct tfs_chunk *chunk)
{
    const size_t count = tfs_rbx_cell_count(chunk->tag);
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_rbx_run run;
    struct piece cell;

    for (size_t at = 0; at < count && tfs_rbx_run_take(&records, &run); at += run.count) {
        run.count = run.count < count - at ? run.count : (uint32_t)(count - at);
        if (run.cell != TFS_RBX_EMPTY) {
            make_cell(&cell, p, run.cell);
            add_run(p, at, run.count, &cell);
        }
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bytes of the coordinates of a chunk's first `count` cells, with their commas: of whole layers, of
 * whole rows of the next layer, and of what is left. */
static uint64_t coordinates_size(const struct axes *axes, size_t count)
{
    const uint64_t edge = tfs_rbx_edge(axes->log2), row = axes->x.end[edge];
    const uint32_t y = (uint32_t)(count >> 2 * axes->log2);
    const uint32_t z = (uint32_t)(count >> axes->log2) & (tfs_rbx_edge(axes->log2) - 1);
    const uint32_t x = (uint32_t)count & (tfs_rbx_edge(axes->log2) - 1);
    uint64_t size = y * edge * (row + axes->z.end[edge]) + edge * edge * axes->y.end[y];

    if (y == edge)
        return size;
    size += z * row + edge * axes->z.end[z] + z * edge * coordinate_size(&axes->y, y);
    return size + axes->x.end[x] +
           x * (coordinate_size(&axes->y, y) + coordinate_size(&axes->z, z));
}

uint64_t tfs_rbx_lines_size(const struct tfs_chunk *chunk)
{
    const size_t count = tfs_rbx_cell_count(chunk->tag);
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_rbx_run run;
    struct axes axes;
    uint64_t size = 0, begin = 0;

    axes_init(&axes, chunk);
    for (size_t at = 0; at < count && tfs_rbx_run_take(&records, &run); at += run.count) {
        run.count = run.count < count - at ? run.count : (uint32_t)(count - at);
        const uint64_t end = coordinates_size(&axes, at + run.count);
        if (run.cell != TFS_RBX_EMPTY)
            size += end - begin + (uint64_t)run.count * cell_size(run.cell);
        begin = end;
    }
    return size;
}

/* ---- get ------------------------------------------------------------------------------------- */

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;
    struct printer p;

    (void)save;
    if (tfs_rbx_find_chunk(doc, at.key, &chunk, err) < 0)
        return err->code;

    const uint64_t size = tfs_rbx_summary(doc, chunk).lines;
    if (tfs_rbx_check_text_size(size, err) < 0)
        return err->code;
    /* All at once, so that nothing moves; the lines themselves ask for what they need. */
    (void)tfs_buf_reserve(out, sizeof(TFS_RBX_VOXELS_HEADER) + (size_t)size + LINE_ROOM);
    tfs_buf_add_text(out, TFS_RBX_VOXELS_HEADER "\n");
    printer_init(&p, chunk, out);
    add_chunk(&p, chunk);
    return tfs_buf_check(out, err);
}

static int64_t voxels_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_chunk *chunk;
    struct tfs_error ignored = {0};

    (void)save;
    if (tfs_rbx_find_chunk(doc, at.key, &chunk, &ignored) < 0)
        return ignored.code;

    const uint64_t size = tfs_rbx_summary(doc, chunk).lines;
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
    } else if (tfs_rbx_voxels_parse(text, &c, put, cells, err) == 0) {
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
