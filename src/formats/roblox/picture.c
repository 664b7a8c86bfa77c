/*
 * Cells of the Terrain <-> what heightmap.png and map.png ask of it (formats/picture/picture.h). A
 * voxel is its cell: material, occupancy and water, a byte each.
 *
 * Must not know pictures, nor containers.
 */
#include <stdlib.h>

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

/* One column, from the highest cell down; `step` cells lie between two of it. */
static void look_down(const uint32_t *cells, uint32_t edge, size_t step, struct tfs_column *column)
{
    uint32_t y = edge;

    while (y > 0 && tfs_rbx_cell_material(cells[(y - 1) * step]) == TFS_RBX_AIR)
        y--;
    if (y == 0)
        return;
    column->top = (uint16_t)y;
    column->colour = colour_of(cells[(y - 1) * step]);
    column->bed = TFS_COLOUR_NONE;
    while (y > 0 && tfs_rbx_cell_material(cells[(y - 1) * step]) == TFS_RBX_WATER)
        y--;
    column->water = (uint16_t)(column->top - y);
    if (y > 0 && tfs_rbx_cell_material(cells[(y - 1) * step]) != TFS_RBX_AIR)
        column->bed = colour_of(cells[(y - 1) * step]);
}

static int columns(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns_out, struct tfs_error *err)
{
    struct tfs_rbx_cells c;

    (void)save;
    if (tfs_rbx_cells_open(doc, chunk->key, &c, err) < 0)
        return err->code;
    size_t layer = (size_t)c.edge * c.edge;
    for (size_t i = 0; i < layer; i++)
        look_down(c.cells + i, c.edge, layer, &columns_out[i]);
    tfs_rbx_cells_release(&c);
    return 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void carving_close(void *chunk)
{
    tfs_rbx_cells_release(chunk);
    free(chunk);
}

static int carving_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        void **chunk, struct tfs_error *err)
{
    struct tfs_rbx_cells *c = calloc(1, sizeof(*c));

    (void)save;
    if (c == NULL)
        return tfs_fail_memory(err);
    if (tfs_rbx_cells_open(doc, key, c, err) < 0)
        free(c);
    else
        *chunk = c;
    return err->code;
}

static int carving_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                         struct tfs_error *err)
{
    (void)save;
    return tfs_rbx_store_cells(edit, chunk, err);
}

static uint32_t *cell_of(const struct tfs_rbx_cells *c, struct tfs_stretch at, uint32_t y)
{
    return &c->cells[((size_t)y * c->edge + at.z) * c->edge + at.x];
}

static int carving_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                        struct tfs_error *err)
{
    uint32_t cell = *cell_of(chunk, at, at.from);

    tfs_buf_u8(voxel, (uint8_t)tfs_rbx_cell_material(cell));
    tfs_buf_u8(voxel, (uint8_t)tfs_rbx_cell_occupancy(cell));
    tfs_buf_u8(voxel, (uint8_t)tfs_rbx_cell_water(cell));
    return tfs_buf_check(voxel, err);
}

static int carving_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                        struct tfs_error *err)
{
    (void)err;
    for (uint32_t y = at.from; y < at.to; y++)
        *cell_of(chunk, at, y) = tfs_rbx_cell(voxel.data[0], voxel.data[1], voxel.data[2]);
    return 0;
}

/* A cell that is Air already may hold bytes of its own, and keeps them. */
static int carving_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    (void)err;
    for (uint32_t y = at.from; y < at.to; y++) {
        uint32_t *cell = cell_of(chunk, at, y);
        if (tfs_rbx_cell_material(*cell) != TFS_RBX_AIR)
            *cell = TFS_RBX_EMPTY;
    }
    return 0;
}

static void make_full(uint8_t *voxel)
{
    voxel[1] = FULL;
    voxel[2] = 0;
}

const struct tfs_voxels tfs_rbx_pictures = {
    .size = size,
    .columns = columns,
    .open = carving_open,
    .close = carving_close,
    .store = carving_store,
    .take = carving_take,
    .fill = carving_fill,
    .clear = carving_clear,
    .make_full = make_full,
};

uint32_t tfs_rbx_picture_count(const struct tfs_doc *doc)
{
    return tfs_picture_count(&tfs_rbx_pictures, doc);
}
