/*
 * Blocks -> what map.png and heightmap.png see of them from above (FORMAT.md, section 8). Stored
 * columns lie one behind another, and are searched as they are: the rows "picture" of the bench.
 *
 * Must not know pictures, nor containers.
 */
#include "formats/godot_voxel/colour.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/matter.h"
#include "formats/godot_voxel/store.h"
#include "formats/views/pictures/picture.h"

/* ---- from above ------------------------------------------------------------------------------ */

static void look_down(const struct tfs_godot_paints *paints, struct tfs_column *columns)
{
    const struct tfs_godot_block *block = paints->block;
    const size_t count = (size_t)block->x * block->z;
    struct tfs_godot_scan scans[TFS_GODOT_SOLID];
    unsigned channels = 0;

    for (unsigned c = 0; c < TFS_GODOT_SOLID; c++) {
        scans[channels] = tfs_godot_scan_of(block, tfs_godot_solid[c]);
        channels += tfs_godot_scan_finds(&scans[channels]);
    }
    for (size_t i = 0; i < count && channels > 0; i++) {
        uint32_t top = 0;
        for (unsigned c = 0; c < channels && top < block->y; c++) {
            uint32_t found = tfs_godot_scan_top(&scans[c], i, block->y);
            top = found > top ? found : top;
        }
        if (top > 0)
            columns[i] = (struct tfs_column){
                .top = (uint16_t)top,
                .colour = tfs_godot_paint(paints, i * block->y + top - 1),
                .bed = TFS_COLOUR_NONE,
            };
    }
}

int tfs_godot_columns(const struct tfs_doc *doc, const struct tfs_cells *cells,
                      struct tfs_column *columns, struct tfs_error *err)
{
    struct tfs_godot_paints paints;

    if (cells->count > 0 && tfs_godot_paints_init(doc, cells, &paints, err) == 0)
        look_down(&paints, columns);
    return err->code;
}
