/*
 * The names of the tree of a region, or of a folder of them; and info.txt.
 *
 * Must not know texts.
 */
#include <errno.h>

#include "formats/containers/folder.h"
#include "formats/minecraft/cells.h"
#include "formats/minecraft/column_write.h"
#include "formats/minecraft/minecraft.h"
#include "formats/minecraft/region.h"
#include "formats/views/arrays/array.h"
#include "formats/views/info.h"
#include "formats/views/views.h"

/* ---- info.txt -------------------------------------------------------------------------------- */

static void add_lines(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    const struct tfs_mc_region *region = tfs_mc_region_of(doc->facts);

    (void)err;
    if (doc->facts->folder == NULL) {
        tfs_info_line(out, "region", "%d %d", region->key.x, region->key.z);
        tfs_info_line(out, "columns", "%zu", region->columns);
        tfs_info_line(out, "data versions", "%d to %d", region->versions[0], region->versions[1]);
    }
    tfs_info_line(out, "chunk size", "16 16 16");
    tfs_picture_info(out, save->tree, doc);
    tfs_info_line(out, "light",
                  "is kept as stored; columns whose blocks change are marked, and the game "
                  "computes their light again");
    tfs_info_line(out, "running game",
                  "keeps columns in memory and writes them over edits: leave the world first");
}

static const struct tfs_lens info_lens = TFS_INFO_LENS(add_lines);

/* ---- raw.bin --------------------------------------------------------------------------------- */

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    if (tfs_raw_lens.put(save, edit, at, text, put, err) < 0 || !edit->changed)
        return err->code;
    return tfs_mc_column_check(save, tfs_edit_doc(edit), at.key, err);
}

static const struct tfs_lens raw_lens = {.get = tfs_raw_get, .put = raw_put, .size = tfs_raw_size};

/* ---- the files ------------------------------------------------------------------------------- */

enum chunk_file {
    CHUNK_RAW,
    CHUNK_VOXELS,
    CHUNK_PALETTE,
    CHUNK_BLOCKS,
    CHUNK_SKY,
    CHUNK_LIGHT,
    CHUNK_ARRAYS,
    CHUNK_FILES = CHUNK_ARRAYS + 3
};

static const struct tfs_file chunk_files[CHUNK_FILES] = {
    [CHUNK_RAW] = TFS_RAW_FILE(&raw_lens),
    [CHUNK_VOXELS] = TFS_VOXELS_FILE(&tfs_cells_table_lens),
    [CHUNK_PALETTE] = {.path = "palette.txt",
                       .flags = TFS_FILE_RENAMES,
                       .lens = &tfs_cells_palette_lens},
    [CHUNK_BLOCKS] = TFS_GRID_FILE("blocks.txt", TFS_GRID_LENS(TFS_MC_PLANE_BLOCK)),
    [CHUNK_SKY] = TFS_APART_FILE("lights/sky.txt", TFS_FILE_OPTIONAL,
                                 TFS_OPTIONAL_GRID_LENS(TFS_MC_PLANE_SKY)),
    [CHUNK_LIGHT] = TFS_APART_FILE("lights/block.txt", TFS_FILE_OPTIONAL,
                                   TFS_OPTIONAL_GRID_LENS(TFS_MC_PLANE_LIGHT)),
    [CHUNK_ARRAYS] = TFS_CHUNK_ARRAY_FILE("blocks", TFS_MC_PLANE_BLOCK, NULL),
    TFS_CHUNK_ARRAY_FILE("lights/sky", TFS_MC_PLANE_SKY, NULL),
    TFS_CHUNK_ARRAY_FILE("lights/block", TFS_MC_PLANE_LIGHT, NULL),
};

enum root_file {
    ROOT_INFO,
    ROOT_NAMES,
    ROOT_HEIGHTMAP,
    ROOT_VIEW,
    ROOT_MAP,
    ROOT_HEIGHTMAPS,
    ROOT_MAPS,
    ROOT_ARRAYS,
    ROOT_ARRAY_NAMES = ROOT_ARRAYS + 3,
    ROOT_ARRAY_INFO,
    ROOT_FILES
};

static const struct tfs_file root_files[ROOT_FILES] = {
    [ROOT_INFO] = {.path = "info.txt", .lens = &info_lens},
    [ROOT_NAMES] = {.path = "palette.txt",
                    .flags = TFS_FILE_RENAMES,
                    .lens = &tfs_cells_names_lens},
    [ROOT_HEIGHTMAP] = TFS_HEIGHTMAP_FILE,
    [ROOT_VIEW] = TFS_HEIGHTMAP_VIEW_FILE,
    [ROOT_MAP] = TFS_MAP_FILE,
    [ROOT_HEIGHTMAPS] = TFS_HEIGHTMAP_TILES,
    [ROOT_MAPS] = TFS_MAP_TILES,
    [ROOT_ARRAYS] = TFS_ARRAY_FILE("blocks", TFS_MC_PLANE_BLOCK),
    TFS_ARRAY_FILE("lights/sky", TFS_MC_PLANE_SKY),
    TFS_ARRAY_FILE("lights/block", TFS_MC_PLANE_LIGHT),
    [ROOT_ARRAY_NAMES] = TFS_ARRAY_TEXT_FILE("palette.txt", &tfs_numbers_lens),
    [ROOT_ARRAY_INFO] = TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_info_lens),
};

static const struct tfs_file column_files[] = {
    {.path = "raw.bin",
     .flags = TFS_FILE_RAW | TFS_FILE_APART,
     .lens = &raw_lens,
     .views = TFS_VIEWS_RAW | TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS},
};

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The game makes columns and their sections: none comes, and none goes. */
static int fits(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_chunk *there = chunk == NULL ? NULL : tfs_doc_find(theirs, chunk->key);

    (void)ours;
    if (chunk == NULL)
        return 0;
    if (there == NULL)
        return tfs_fail(err, -EINVAL, "the save has no such section or column");
    if (tfs_mc_layout_of(there) != tfs_mc_layout_of(chunk))
        return tfs_fail(err, -EINVAL, "blocks are stored in another way there");
    return tfs_folder_check_place(theirs, chunk->key, err);
}

const struct tfs_tree tfs_mc_tree = {
    .root = {root_files, ROOT_FILES},
    .chunk = {chunk_files, CHUNK_FILES},
    .column = TFS_SCHEMA(column_files),
    .cells = &tfs_mc_cells,
    .fits = fits,
};
