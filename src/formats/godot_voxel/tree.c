/*
 * The names of a save of blocks.
 *
 * Must not know texts, nor containers.
 */
#include <errno.h>

#include "formats/views/arrays/array.h"
#include "formats/godot_voxel/godot_voxel.h"
#include "formats/godot_voxel/instances.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/metadata.h"
#include "formats/godot_voxel/store.h"
#include "formats/views/pictures/picture.h"
#include "formats/views/views.h"

/* raw.bin says everything, and comes first; voxels.csv says all channels, before one alone. */
enum chunk_file {
    CHUNK_RAW,
    CHUNK_VOXELS,
    CHUNK_CHANNEL,
    CHUNK_METADATA = CHUNK_CHANNEL + TFS_GODOT_CHANNELS,
    CHUNK_ARRAY,
    CHUNK_INSTANCES = CHUNK_ARRAY + TFS_GODOT_CHANNELS, /* of streams only */
    CHUNK_FILES
};

#define CHANNEL_FILE(name, number)                                                                 \
    {                                                                                              \
        .path = "channels/" name ".txt", .flags = TFS_FILE_FILLED,                                 \
        .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS, .lens = &(const struct tfs_lens)              \
        {                                                                                          \
            .param = &tfs_plane_numbers[number], .get = tfs_cells_grid_get,                        \
            .put = tfs_cells_grid_put, .size = tfs_cells_grid_size,                                \
            .exists = tfs_godot_lens_exists                                                        \
        }                                                                                          \
    }

#define CHUNK_ARRAY_FILE(name, number)                                                             \
    TFS_CHUNK_ARRAY_FILE("channels/" name, number, tfs_godot_lens_exists)

static const struct tfs_lens voxels_lens = {.get = tfs_cells_table_get,
                                            .put = tfs_cells_table_put,
                                            .size = tfs_cells_table_size,
                                            .exists = tfs_godot_lens_exists};

static const struct tfs_file chunk_files[CHUNK_FILES] = {
    [CHUNK_RAW] = TFS_RAW_FILE(&tfs_godot_raw_lens),
    [CHUNK_VOXELS] = TFS_VOXELS_FILE(&voxels_lens),
    [CHUNK_CHANNEL] = CHANNEL_FILE("type", 0),
    CHANNEL_FILE("sdf", 1),
    CHANNEL_FILE("color", 2),
    CHANNEL_FILE("indices", 3),
    CHANNEL_FILE("weights", 4),
    CHANNEL_FILE("data5", 5),
    CHANNEL_FILE("data6", 6),
    CHANNEL_FILE("data7", 7),
    [CHUNK_METADATA] = TFS_APART_FILE("metadata.txt", 0, &tfs_godot_metadata_lens),
    [CHUNK_ARRAY] = CHUNK_ARRAY_FILE("type", 0),
    CHUNK_ARRAY_FILE("sdf", 1),
    CHUNK_ARRAY_FILE("color", 2),
    CHUNK_ARRAY_FILE("indices", 3),
    CHUNK_ARRAY_FILE("weights", 4),
    CHUNK_ARRAY_FILE("data5", 5),
    CHUNK_ARRAY_FILE("data6", 6),
    CHUNK_ARRAY_FILE("data7", 7),
    [CHUNK_INSTANCES] = {.path = "instances.bin",
                         .flags = TFS_FILE_OPTIONAL | TFS_FILE_APART,
                         .lens = &tfs_godot_instances_lens,
                         .views = TFS_VIEWS_VOXELS | TFS_VIEWS_GRIDS | TFS_VIEWS_RAW},
};

/* Of level 0 and of others. */
#define ARRAY_FILES                                                                                \
    TFS_ARRAY_FILE("channels/type", 0), TFS_ARRAY_FILE("channels/sdf", 1),                         \
        TFS_ARRAY_FILE("channels/color", 2), TFS_ARRAY_FILE("channels/indices", 3),                \
        TFS_ARRAY_FILE("channels/weights", 4), TFS_ARRAY_FILE("channels/data5", 5),                \
        TFS_ARRAY_FILE("channels/data6", 6), TFS_ARRAY_FILE("channels/data7", 7)

enum root_file {
    ROOT_INFO,
    ROOT_HEIGHTMAP,
    ROOT_VIEW,
    ROOT_MAP,
    ROOT_HEIGHTMAPS,
    ROOT_MAPS,
    ROOT_ARRAY,
    ROOT_ARRAY_INFO = ROOT_ARRAY + TFS_GODOT_CHANNELS,
    ROOT_FILES
};

static const struct tfs_file root_files[ROOT_FILES] = {
    [ROOT_INFO] = {.path = "info.txt", .lens = &tfs_godot_info_lens},
    [ROOT_HEIGHTMAP] = TFS_HEIGHTMAP_FILE,
    [ROOT_VIEW] = TFS_HEIGHTMAP_VIEW_FILE,
    [ROOT_MAP] = TFS_MAP_FILE,
    [ROOT_HEIGHTMAPS] = TFS_HEIGHTMAP_TILES,
    [ROOT_MAPS] = TFS_MAP_TILES,
    [ROOT_ARRAY] = ARRAY_FILES,
    [ROOT_ARRAY_INFO] = TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_info_lens),
};

static const struct tfs_file level_files[] = {
    ARRAY_FILES,
    TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_group_info_lens),
};

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint32_t levels(const struct tfs_doc *doc)
{
    return tfs_godot_rules(doc)->lods;
}

#define FOR_ALL_CONTAINERS                                                                         \
    .root = {root_files, ROOT_FILES}, .chunk.files = chunk_files,                                  \
    .group = TFS_SCHEMA(level_files), .group_dir = "lods", .groups = levels,                       \
    .cells = &tfs_godot_cells, .fits = tfs_godot_rules_fit, .upgrade = tfs_godot_save_upgrade

const struct tfs_tree tfs_godot_block_tree = {
    FOR_ALL_CONTAINERS,
    .chunk.count = CHUNK_INSTANCES,
};

const struct tfs_tree tfs_godot_region_tree = {
    FOR_ALL_CONTAINERS,
    .chunk.count = CHUNK_INSTANCES,
    .chunk_create = tfs_godot_chunk_create,
    .chunk_move = tfs_godot_chunk_move,
};

const struct tfs_tree tfs_godot_stream_tree = {
    FOR_ALL_CONTAINERS,
    .chunk.count = CHUNK_FILES,
    .chunk_create = tfs_godot_chunk_create,
    .chunk_move = tfs_godot_chunk_move,
};
