/*
 * The names of a terrain's tree, and chunks that come, move and go.
 *
 * Must not know texts, nor the containers.
 */
#include <errno.h>

#include "formats/views/arrays/array.h"
#include "formats/roblox/cells.h"
#include "formats/roblox/lenses.h"
#include "formats/roblox/roblox.h"
#include "formats/roblox/source.h"
#include "formats/views/views.h"

static const struct tfs_lens group_palette_lens = {
    .param = &tfs_cells_values_lens, .get = tfs_cells_values_get, .put = tfs_array_same_put};

/* ---- the files ------------------------------------------------------------------------------- */

enum chunk_file {
    CHUNK_RAW,
    CHUNK_VOXELS,
    CHUNK_MATERIALS,
    CHUNK_OCCUPANCY,
    CHUNK_WATER,
    CHUNK_ARRAYS,
    CHUNK_FILES = CHUNK_ARRAYS + 3
};

static const struct tfs_file chunk_files[CHUNK_FILES] = {
    [CHUNK_RAW] = TFS_RAW_FILE(&tfs_raw_lens),
    [CHUNK_VOXELS] = TFS_VOXELS_FILE(&tfs_cells_table_lens),
    [CHUNK_MATERIALS] = TFS_GRID_FILE("materials.txt", TFS_GRID_LENS(TFS_RBX_PLANE_MATERIAL)),
    [CHUNK_OCCUPANCY] = TFS_GRID_FILE("occupancy.txt", TFS_GRID_LENS(TFS_RBX_PLANE_OCCUPANCY)),
    [CHUNK_WATER] = TFS_GRID_FILE("water.txt", TFS_GRID_LENS(TFS_RBX_PLANE_WATER)),
    [CHUNK_ARRAYS] = TFS_CHUNK_ARRAY_FILE("materials", TFS_RBX_PLANE_MATERIAL, NULL),
    TFS_CHUNK_ARRAY_FILE("occupancy", TFS_RBX_PLANE_OCCUPANCY, NULL),
    TFS_CHUNK_ARRAY_FILE("water", TFS_RBX_PLANE_WATER, NULL),
};

/* Those of the root are of the first terrain; other terrains have theirs in regions/N/arrays/. */
#define ARRAY_FILES                                                                                \
    TFS_ARRAY_FILE("materials", TFS_RBX_PLANE_MATERIAL),                                           \
        TFS_ARRAY_FILE("occupancy", TFS_RBX_PLANE_OCCUPANCY),                                      \
        TFS_ARRAY_FILE("water", TFS_RBX_PLANE_WATER)

enum root_file {
    ROOT_INFO,
    ROOT_PALETTE,
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
    [ROOT_INFO] = {.path = "info.txt", .lens = &tfs_rbx_info_lens},
    [ROOT_PALETTE] = {.path = "palette.txt", .lens = &tfs_cells_values_lens},
    [ROOT_HEIGHTMAP] = TFS_HEIGHTMAP_FILE,
    [ROOT_VIEW] = TFS_HEIGHTMAP_VIEW_FILE,
    [ROOT_MAP] = TFS_MAP_FILE,
    [ROOT_HEIGHTMAPS] = TFS_HEIGHTMAP_TILES,
    [ROOT_MAPS] = TFS_MAP_TILES,
    [ROOT_ARRAYS] = ARRAY_FILES,
    [ROOT_ARRAY_NAMES] = TFS_ARRAY_TEXT_FILE("palette.txt", &tfs_cells_values_lens),
    [ROOT_ARRAY_INFO] = TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_info_lens),
};

static const struct tfs_file group_files[] = {
    ARRAY_FILES,
    TFS_ARRAY_TEXT_FILE("palette.txt", &group_palette_lens),
    TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_group_info_lens),
};

static uint32_t groups(const struct tfs_doc *doc)
{
    return tfs_rbx_source(doc)->group_count;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int check_group(const struct tfs_doc *doc, uint32_t group, struct tfs_error *err)
{
    const char *locked = tfs_rbx_locked(doc, group);

    return locked == NULL ? 0 : tfs_fail(err, -EROFS, "%s", locked);
}

/* Can this chunk coordinate hold a chunk? */
static int check_coordinate(const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err)
{
    const struct tfs_rbx_position at = {key.x, key.y, key.z};

    if (check_group(doc, key.group, err) < 0)
        return err->code;
    if (!tfs_rbx_position_legal(at))
        return tfs_fail(err, -EINVAL,
                        "chunk %d_%d_%d is too far out: the engine takes coordinates from -%d to "
                        "%d",
                        key.x, key.y, key.z, TFS_RBX_POSITION_MAX, TFS_RBX_POSITION_MAX);
    return 0;
}

/* Records are those of an edge, which is one for a terrain. One that lies too far out may go. */
static int fits(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err)
{
    (void)ours;
    if (chunk == NULL)
        return 0;
    if (check_group(theirs, chunk->key.group, err) < 0 ||
        (tfs_doc_find(theirs, chunk->key) == NULL && check_coordinate(theirs, chunk->key, err) < 0))
        return err->code;
    return tfs_rbx_group(theirs, chunk->key.group)->log2 == tfs_rbx_chunk_log2(chunk)
               ? 0
               : tfs_fail(err, -EINVAL, "chunks have another edge there");
}

static int chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE, .own = TFS_OWN_NEW};
    struct tfs_buf records = {0};

    (void)save;
    if (check_coordinate(tfs_edit_doc(edit), key, err) < 0)
        return err->code;
    chunk.tag = tfs_rbx_group(tfs_edit_doc(edit), key.group)->log2;
    tfs_rbx_records_empty(&records, tfs_rbx_chunk_log2(&chunk));
    if (tfs_buf_check(&records, err) == 0)
        tfs_edit_put_bytes(edit, chunk, tfs_buf_span(&records), err);
    tfs_buf_release(&records);
    return err->code;
}

const struct tfs_tree tfs_rbx_tree = {
    .root = {root_files, ROOT_FILES},
    .chunk = {chunk_files, CHUNK_FILES},
    .group = TFS_SCHEMA(group_files),
    .group_dir = "regions",
    .groups = groups,
    .fixed_groups = true,
    .cells = &tfs_rbx_cells,
    .chunk_create = chunk_create,
    .fits = fits,
};
