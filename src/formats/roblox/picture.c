/*
 * Cells of the Terrain <-> what heightmap.png and map.png ask of it (formats/picture/picture.h). A
 * voxel is its cell: material, occupancy and water, a byte each.
 *
 * Must not know pictures, nor containers.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/diff/sum.h"
#include "formats/picture/picture.h"
#include "formats/roblox/lenses.h"
#include "formats/roblox/material.h"
#include "formats/roblox/source.h"

#define VOXEL_SIZE 3
#define FULL       255

static struct tfs_voxel_size size(const struct tfs_doc *doc)
{
    uint32_t edge = tfs_rbx_edge(tfs_rbx_group(doc, 0)->log2);

    return (struct tfs_voxel_size){edge, edge, edge};
}

/* ---- from above ------------------------------------------------------------------------------ */

/* What the engine shows where a place sets no colours of its own; a little lighter where it would
 * be lost in the shade. */
static const uint32_t colours[TFS_RBX_NAMED_MATERIALS] = {
    0x000000, 0x2f7f95, 0x6f8b45, 0x5d7a72, 0x9b9789, 0x8a563e, 0xcdb987, 0x9a784f,
    0x6c7074, 0x76b3dc, 0xe6ebf2, 0xa86c52, 0x5a4636, 0x3f3f4a, 0x75653f, 0xd8863f,
    0x6a6f68, 0x848576, 0x9cd0e6, 0x79904e, 0xd3ccc4, 0xceb496, 0x94948c,
};

static uint32_t colour_of(uint32_t cell)
{
    uint8_t material = (uint8_t)tfs_rbx_cell_material(cell);

    return material < TFS_RBX_NAMED_MATERIALS ? colours[material]
                                              : tfs_colour_of_hash((struct tfs_span){&material, 1});
}

/* The surface of a column, as far up as the records were read. */
struct surface {
    uint32_t top, cell;    /* above the highest cell that is not Air; that cell */
    uint32_t start, below; /* if it is water: where that begins; the cell right below, or Air */
};

static void add_water(struct surface *s, uint32_t y, uint32_t cell)
{
    bool on_something = s->top == y && y > 0;

    if (!on_something || tfs_rbx_cell_material(s->cell) != TFS_RBX_WATER) {
        s->start = y;
        s->below = on_something ? s->cell : TFS_RBX_EMPTY;
    }
    s->top = y + 1;
    s->cell = cell;
}

/* Equal cells of one layer. */
static void add_cells(struct surface *s, uint32_t count, uint32_t y, uint32_t cell)
{
    uint32_t material = tfs_rbx_cell_material(cell);

    if (material == TFS_RBX_WATER) {
        for (uint32_t i = 0; i < count; i++)
            add_water(&s[i], y, cell);
    } else if (material != TFS_RBX_AIR) {
        for (uint32_t i = 0; i < count; i++) {
            s[i].top = y + 1;
            s[i].cell = cell;
        }
    }
}

/* The records are a chunk's, layer by layer from the lowest: cells are not needed one by one. */
static int add_records(struct tfs_span records, uint32_t edge, struct surface *surfaces,
                       struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(records);
    const uint32_t layer = edge * edge;
    uint32_t y = 0, at = 0;

    while (y < edge) {
        struct tfs_rbx_run run;
        if (!tfs_rbx_run_take(&c, &run))
            return tfs_fail(err, -EBADMSG, "the records are cut off");
        while (run.count > 0 && y < edge) {
            uint32_t count = run.count < layer - at ? run.count : layer - at;
            add_cells(surfaces + at, count, y, run.cell);
            run.count -= count;
            at = (at + count) % layer;
            y += at == 0;
        }
    }
    return 0;
}

static struct tfs_column column_of(const struct surface *s)
{
    struct tfs_column column = {.top = (uint16_t)s->top};

    if (s->top == 0)
        return column;
    column.colour = colour_of(s->cell);
    column.bed = TFS_COLOUR_NONE;
    if (tfs_rbx_cell_material(s->cell) == TFS_RBX_WATER) {
        column.water = (uint16_t)(s->top - s->start);
        if (tfs_rbx_cell_material(s->below) != TFS_RBX_AIR)
            column.bed = colour_of(s->below);
    }
    return column;
}

static int columns(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns_out, struct tfs_error *err)
{
    const uint32_t edge = tfs_rbx_edge(tfs_rbx_chunk_log2(chunk));
    struct surface *surfaces = calloc((size_t)edge * edge, sizeof(*surfaces));

    (void)save;
    (void)doc;
    if (surfaces == NULL)
        return tfs_fail_memory(err);
    if (add_records(tfs_blob_span(chunk->blob), edge, surfaces, err) == 0)
        for (uint32_t i = 0; i < edge * edge; i++)
            columns_out[i] = column_of(&surfaces[i]);
    free(surfaces);
    return err->code;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void change_close(void *chunk)
{
    tfs_rbx_cells_release(chunk);
}

static int change_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                       void *chunk, struct tfs_error *err)
{
    (void)save;
    return tfs_rbx_cells_open(doc, key, chunk, err);
}

static int change_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                        struct tfs_error *err)
{
    (void)save;
    return tfs_rbx_store_cells(edit, chunk, err);
}

static uint32_t *cell_of(const struct tfs_rbx_cells *c, struct tfs_stretch at, uint32_t y)
{
    return &c->cells[((size_t)y * c->edge + at.z) * c->edge + at.x];
}

static int change_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                       struct tfs_error *err)
{
    uint32_t cell = *cell_of(chunk, at, at.from);

    tfs_buf_u8(voxel, (uint8_t)tfs_rbx_cell_material(cell));
    tfs_buf_u8(voxel, (uint8_t)tfs_rbx_cell_occupancy(cell));
    tfs_buf_u8(voxel, (uint8_t)tfs_rbx_cell_water(cell));
    return tfs_buf_check(voxel, err);
}

static int change_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                       struct tfs_error *err)
{
    (void)err;
    for (uint32_t y = at.from; y < at.to; y++)
        *cell_of(chunk, at, y) = tfs_rbx_cell(voxel.data[0], voxel.data[1], voxel.data[2]);
    return 0;
}

/* A cell that is Air already may hold bytes of its own, and keeps them. */
static int change_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    (void)err;
    for (uint32_t y = at.from; y < at.to; y++) {
        uint32_t *cell = cell_of(chunk, at, y);
        if (tfs_rbx_cell_material(*cell) != TFS_RBX_AIR)
            *cell = TFS_RBX_EMPTY;
    }
    return 0;
}

static void make_full(const struct tfs_voxels *voxels, uint8_t *voxel)
{
    (void)voxels;
    voxel[1] = FULL;
    voxel[2] = 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static struct tfs_voxel_size change_sides(const void *chunk)
{
    const struct tfs_rbx_cells *c = chunk;

    return (struct tfs_voxel_size){c->edge, c->edge, c->edge};
}

/* `Grass`, `Grass@76` where it is not full, `Grass@76~40` with water in it. */
static void print(const struct tfs_voxels *voxels, struct tfs_span voxel, bool brief,
                  struct tfs_buf *out)
{
    (void)voxels;
    const struct tfs_span name = tfs_rbx_material_name(voxel.data[0]);
    const uint8_t usual = voxel.data[0] == TFS_RBX_AIR ? 0 : FULL;

    if (name.size > 0)
        tfs_buf_add_span(out, name);
    else
        tfs_buf_printf(out, "%u", voxel.data[0]);
    if (!brief && voxel.data[1] != usual)
        tfs_buf_printf(out, "@%u", voxel.data[1]);
    if (!brief && voxel.data[2] != 0)
        tfs_buf_printf(out, "~%u", voxel.data[2]);
}

static bool empty(const struct tfs_voxels *voxels, struct tfs_span voxel)
{
    (void)voxels;
    return voxel.data[0] == TFS_RBX_AIR;
}

/* ---- in short -------------------------------------------------------------------------------- */

static void add_run(struct tfs_buf *out, struct tfs_rbx_run run)
{
    tfs_buf_u32le(out, run.cell);
    tfs_buf_u32le(out, run.count);
}

static int count_materials(struct tfs_voxel_sum *sum, const uint64_t *counts, struct tfs_error *err)
{
    for (unsigned i = 0; i <= TFS_RBX_MATERIAL_MASK && err->code == 0; i++) {
        const uint8_t voxel[VOXEL_SIZE] = {(uint8_t)i, FULL, 0};
        if (counts[i] > 0)
            tfs_voxel_sum_count(sum, (struct tfs_span){voxel, sizeof(voxel)}, counts[i], err);
    }
    return err->code;
}

/* Runs of equal cells are the same however many records they are. */
static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    const size_t count = tfs_rbx_cell_count(tfs_rbx_chunk_log2(chunk));
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(chunk->blob));
    struct tfs_rbx_run whole = {0}, run;
    uint64_t counts[TFS_RBX_MATERIAL_MASK + 1] = {0};

    (void)save;
    (void)doc;
    for (size_t at = 0; at < count; at += run.count) {
        if (!tfs_rbx_run_take(&records, &run))
            return tfs_fail(err, -EBADMSG, "the records are cut off");
        counts[tfs_rbx_cell_material(run.cell)] += run.count;
        if (run.cell != whole.cell) {
            add_run(&sum->same, whole);
            whole = (struct tfs_rbx_run){.cell = run.cell};
        }
        whole.count += run.count;
    }
    add_run(&sum->same, whole);
    return count_materials(sum, counts, err);
}

const struct tfs_voxels tfs_rbx_pictures = {
    .size = size,
    .columns = columns,
    .chunk_size = sizeof(struct tfs_rbx_cells),
    .open = change_open,
    .close = change_close,
    .store = change_store,
    .take = change_take,
    .fill = change_fill,
    .clear = change_clear,
    .make_full = make_full,
    .sides = change_sides,
    .print = print,
    .empty = empty,
    .absent_is_empty = true,
    .sum = sum,
};
