/*
 * The records of a chunk <-> cells: material, occupancy and water of every voxel; and which cells
 * there may be (FORMAT.md, section 6).
 *
 * Must not know what files show.
 */
#include "formats/roblox/cells.h"

#include <errno.h>

#include "formats/cells/edit.h"
#include "formats/roblox/source.h"

enum { MATERIAL = TFS_RBX_PLANE_MATERIAL, OCCUPANCY, WATER };

#define FULL        255 /* occupancy */
#define NO_MATERIAL "Air; give the cell a material first"

/* ---- decoding -------------------------------------------------------------------------------- */

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    const uint32_t log2 = tfs_rbx_chunk_log2(&cells->chunk), edge = tfs_rbx_edge(log2);
    const size_t size = tfs_rbx_cell_count(log2);
    struct tfs_rbx_planes planes = {{NULL}};

    cells->size = (struct tfs_voxel_size){edge, edge, edge};
    for (unsigned i = 0; i < TFS_RBX_PLANES; i++) {
        if ((wanted >> i & 1) == 0)
            continue;
        planes.values[i] = cells->planes[i].values = tfs_cells_alloc(cells, size, err);
        if (planes.values[i] == NULL)
            return err->code;
    }
    if (wanted == TFS_CELLS_CHECK)
        return tfs_rbx_records_check(tfs_blob_span(cells->stored), log2, err);
    return wanted == 0 ? 0
                       : tfs_rbx_records_decode(tfs_blob_span(cells->stored), log2, &planes, err);
}

static size_t next_runs(struct tfs_cursor *stored, struct tfs_cells_run *runs, size_t room)
{
    struct tfs_rbx_run run;
    size_t count = 0;

    for (; count < room && tfs_rbx_run_take(stored, &run); count++) {
        for (unsigned i = 0; i < sizeof(run.cell); i++)
            runs[count].values[i] = (uint8_t)tfs_rbx_cell_value(run.cell, i);
        runs[count].count = run.count;
    }
    return count;
}

static struct tfs_voxel_size group_size(const struct tfs_doc *doc, uint32_t group)
{
    const struct tfs_rbx_group *found = tfs_rbx_group(doc, group);
    const uint32_t edge = tfs_rbx_edge((found != NULL ? found : tfs_rbx_group(doc, 0))->log2);

    return (struct tfs_voxel_size){edge, edge, edge};
}

/* ---- the rules of the game ------------------------------------------------------------------- */

/* Air has neither occupancy nor water, Water no water beside itself, a full cell none either. (What
 * is stored already need not be so.) */
static const char *legal_occupancy(const struct tfs_doc *doc, const uint64_t *values)
{
    (void)doc;
    return values[OCCUPANCY] != 0 && values[MATERIAL] == TFS_RBX_AIR ? NO_MATERIAL : NULL;
}

static const char *legal_water(const struct tfs_doc *doc, const uint64_t *values)
{
    (void)doc;
    if (values[WATER] == 0)
        return NULL;
    if (values[MATERIAL] == TFS_RBX_AIR)
        return NO_MATERIAL;
    if (values[MATERIAL] == TFS_RBX_WATER)
        return "Water, which has no room for more";
    return values[OCCUPANCY] == FULL ? "a cell of occupancy 255; lower the occupancy first" : NULL;
}

static bool is_written(const struct tfs_cells_edit *e, unsigned plane)
{
    return (e->written >> plane & 1) != 0;
}

/* A cell that becomes Air loses the rest, one that was Air is full; Water has no room for more.
 * What somebody wrote stays. */
static void settle_material(struct tfs_cells_edit *e, size_t i)
{
    const uint64_t material = tfs_plane_get(&e->planes[MATERIAL], i);
    const bool was_air = tfs_plane_get(&e->before->planes[MATERIAL], i) == TFS_RBX_AIR;
    const bool is_air = material == TFS_RBX_AIR;

    if (!is_written(e, OCCUPANCY) && (is_air || was_air))
        tfs_plane_set(&e->planes[OCCUPANCY], i, is_air ? 0 : FULL);
    if (!is_written(e, WATER) && (is_air || was_air || material == TFS_RBX_WATER))
        tfs_plane_set(&e->planes[WATER], i, 0);
}

/* A cell that becomes full has no room for water. */
static int settle(struct tfs_cells_edit *e, struct tfs_error *err)
{
    const size_t count = e->before->count;

    if (is_written(e, OCCUPANCY) && is_written(e, WATER))
        return 0;
    if (tfs_cells_edit_plane(e, OCCUPANCY, err) < 0 || tfs_cells_edit_plane(e, WATER, err) < 0)
        return err->code;
    for (size_t i = 0; (i = tfs_cells_edit_changed(e, MATERIAL, i)) < count; i++)
        settle_material(e, i);
    for (size_t i = 0; (i = tfs_cells_edit_changed(e, OCCUPANCY, i)) < count; i++)
        if (!is_written(e, WATER) && tfs_plane_get(&e->planes[OCCUPANCY], i) == FULL)
            tfs_plane_set(&e->planes[WATER], i, 0);
    return 0;
}

/* ---- storing --------------------------------------------------------------------------------- */

static int store_records(struct tfs_edit *edit, const struct tfs_chunk *chunk,
                         struct tfs_span records, struct tfs_error *err)
{
    const char *locked = tfs_rbx_locked(tfs_edit_doc(edit), chunk->key.group);

    return locked != NULL ? tfs_fail(err, -EROFS, "%s", locked)
                          : tfs_edit_put_bytes(edit, *chunk, records, err);
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct tfs_rbx_planes planes;
    struct tfs_buf records = {0};

    for (unsigned i = 0; i < TFS_RBX_PLANES; i++)
        planes.values[i] = e->planes[i].values;
    tfs_rbx_records_encode(&records, &planes, e->before->count);
    if (tfs_buf_check(&records, err) == 0)
        store_records(e->edit, &e->before->chunk, tfs_buf_span(&records), err);
    tfs_buf_release(&records);
    return err->code;
}

/* ---- from above ------------------------------------------------------------------------------ */

/* The engine's colours where a place sets none; a little lighter where a colour would be lost in
 * the shade. */
static const uint32_t colours[TFS_RBX_NAMED_MATERIALS] = {
    0x000000, 0x2f7f95, 0x6f8b45, 0x5d7a72, 0x9b9789, 0x8a563e, 0xcdb987, 0x9a784f,
    0x6c7074, 0x76b3dc, 0xe6ebf2, 0xa86c52, 0x5a4636, 0x3f3f4a, 0x75653f, 0xd8863f,
    0x6a6f68, 0x848576, 0x9cd0e6, 0x79904e, 0xd3ccc4, 0xceb496, 0x94948c,
};

static uint32_t colour_of(uint8_t material)
{
    return material < TFS_RBX_NAMED_MATERIALS ? colours[material]
                                              : tfs_colour_of_hash((struct tfs_span){&material, 1});
}

/* Equal cells at height `y` of some columns, which were seen up to there. */
static void add_solid(struct tfs_column *columns, size_t count, uint32_t y, uint32_t colour)
{
    const struct tfs_column solid = {
        .top = (uint16_t)(y + 1), .colour = colour, .bed = TFS_COLOUR_NONE};

    for (size_t i = 0; i < count; i++)
        columns[i] = solid;
}

static void add_water(struct tfs_column *columns, size_t count, uint32_t y, uint32_t colour)
{
    for (size_t i = 0; i < count; i++) {
        const struct tfs_column below = columns[i];
        const bool on_something = y > 0 && below.top == y;
        add_solid(&columns[i], 1, y, colour);
        columns[i].water = (uint16_t)(on_something ? below.water + 1 : 1);
        if (on_something)
            columns[i].bed = below.water > 0 ? below.bed : below.colour;
    }
}

/* Along the records, layer by layer from below. */
static int look_down(const struct tfs_doc *doc, const struct tfs_cells *cells,
                     struct tfs_column *columns, struct tfs_error *err)
{
    const size_t layer = (size_t)cells->size.x * cells->size.z;
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(cells->stored));
    struct tfs_rbx_run run;
    size_t at = 0;
    uint32_t y = 0;

    (void)doc, (void)err;
    while (tfs_rbx_run_take(&records, &run)) {
        const uint8_t material = (uint8_t)tfs_rbx_cell_value(run.cell, MATERIAL);
        const uint32_t colour = colour_of(material);
        for (size_t left = run.count; left > 0;) {
            const size_t count = left < layer - at ? left : layer - at;
            if (material == TFS_RBX_WATER)
                add_water(columns + at, count, y, colour);
            else if (material != TFS_RBX_AIR)
                add_solid(columns + at, count, y, colour);
            left -= count;
            at += count;
            y += at == layer;
            at = at == layer ? 0 : at;
        }
    }
    return 0;
}

/* ---- the kind -------------------------------------------------------------------------------- */

#define FLAGS (TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES)

static const struct tfs_plane planes[TFS_RBX_PLANES] = {
    [MATERIAL] = {.name = "material",
                  .form = {TFS_PLANE_UNSIGNED, .width = 1, .digits = 2, TFS_RBX_MATERIALS - 1},
                  .out_of_range = "materials are 0 to 63",
                  .flags = FLAGS,
                  .name_of = tfs_rbx_material_name,
                  .about = "the numbers of arrays/palette.txt"},
    [OCCUPANCY] = {.name = "occupancy",
                   .form = {TFS_PLANE_UNSIGNED, .width = 1, .digits = 3, UINT8_MAX},
                   .mark = "@",
                   .out_of_range = "occupancy is 0 to 255",
                   .flags = FLAGS | TFS_PLANE_PARTIAL,
                   .full = FULL,
                   .legal = legal_occupancy,
                   .about = "0 to 255"},
    [WATER] = {.name = "water",
               .form = {TFS_PLANE_UNSIGNED, .width = 1, .digits = 3, UINT8_MAX},
               .mark = "~",
               .out_of_range = "water is 0 to 255",
               .flags = FLAGS | TFS_PLANE_PARTIAL,
               .legal = legal_water,
               .about = "0 to 255"},
};

const struct tfs_cells_kind tfs_rbx_cells = {
    .planes = planes,
    .count = TFS_RBX_PLANES,
    .group_size = group_size,
    .flags = TFS_CELLS_ABSENT_EMPTY,
    .decode = decode,
    .next_runs = next_runs,
    .columns = look_down,
    .settle = settle,
    .encode = encode,
};
