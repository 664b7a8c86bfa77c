/*
 * The names of a map's tree, and chunks that come, move and go.
 *
 * Must not know texts.
 */
#include <errno.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/luanti/lenses.h"
#include "formats/luanti/lists.h"
#include "formats/luanti/luanti.h"
#include "formats/luanti/map.h"
#include "formats/luanti/cells.h"
#include "formats/views/views.h"

/* ---- the files ------------------------------------------------------------------------------- */

/* blocks.txt comes before param2.txt: a node that changes in it loses its own. */
enum chunk_file {
    CHUNK_RAW,
    CHUNK_VOXELS,
    CHUNK_PALETTE,
    CHUNK_BLOCKS,
    CHUNK_PARAM2,
    CHUNK_PARAM1,
    CHUNK_METADATA,
    CHUNK_TIMERS,
    CHUNK_OBJECTS,
    CHUNK_STATE,
    CHUNK_ARRAYS,
    CHUNK_FILES = CHUNK_ARRAYS + 3
};

static const struct tfs_file chunk_files[CHUNK_FILES] = {
    [CHUNK_RAW] = TFS_RAW_FILE(&tfs_luanti_raw_lens),
    [CHUNK_VOXELS] = TFS_VOXELS_FILE(&tfs_cells_table_lens),
    [CHUNK_PALETTE] = {.path = "palette.txt",
                       .flags = TFS_FILE_RENAMES,
                       .lens = &tfs_cells_palette_lens},
    [CHUNK_BLOCKS] = TFS_GRID_FILE("blocks.txt", TFS_GRID_LENS(TFS_LUANTI_PLANE_NODE)),
    [CHUNK_PARAM2] = TFS_GRID_FILE("param2.txt", TFS_GRID_LENS(TFS_LUANTI_PLANE_PARAM2)),
    [CHUNK_PARAM1] =
        TFS_APART_FILE("param1.txt", TFS_FILE_SUMMED, TFS_GRID_LENS(TFS_LUANTI_PLANE_PARAM1)),
    [CHUNK_METADATA] = TFS_APART_FILE("metadata.txt", TFS_FILE_OPTIONAL, &tfs_luanti_metadata_lens),
    [CHUNK_TIMERS] = TFS_APART_FILE("timers.txt", TFS_FILE_OPTIONAL, &tfs_luanti_timers_lens),
    [CHUNK_OBJECTS] = TFS_APART_FILE("objects.txt", TFS_FILE_OPTIONAL, &tfs_luanti_objects_lens),
    [CHUNK_STATE] = TFS_APART_FILE("state.txt", 0, &tfs_luanti_state_lens),
    [CHUNK_ARRAYS] = TFS_CHUNK_ARRAY_FILE("blocks", TFS_LUANTI_PLANE_NODE, NULL),
    TFS_CHUNK_ARRAY_FILE("param1", TFS_LUANTI_PLANE_PARAM1, NULL),
    TFS_CHUNK_ARRAY_FILE("param2", TFS_LUANTI_PLANE_PARAM2, NULL),
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
    [ROOT_INFO] = {.path = "info.txt", .lens = &tfs_luanti_info_lens},
    [ROOT_NAMES] = {.path = "palette.txt",
                    .flags = TFS_FILE_RENAMES,
                    .lens = &tfs_cells_names_lens},
    [ROOT_HEIGHTMAP] = TFS_HEIGHTMAP_FILE,
    [ROOT_VIEW] = TFS_HEIGHTMAP_VIEW_FILE,
    [ROOT_MAP] = TFS_MAP_FILE,
    [ROOT_HEIGHTMAPS] = TFS_HEIGHTMAP_TILES,
    [ROOT_MAPS] = TFS_MAP_TILES,
    [ROOT_ARRAYS] = TFS_ARRAY_FILE("blocks", TFS_LUANTI_PLANE_NODE),
    TFS_ARRAY_FILE("param1", TFS_LUANTI_PLANE_PARAM1),
    TFS_ARRAY_FILE("param2", TFS_LUANTI_PLANE_PARAM2),
    [ROOT_ARRAY_NAMES] = TFS_ARRAY_TEXT_FILE("palette.txt", &tfs_numbers_lens),
    [ROOT_ARRAY_INFO] = TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_info_lens),
};

/* ---- chunks ---------------------------------------------------------------------------------- */

/* All air, lit by the sun. */
static int put_empty(struct tfs_edit *edit, struct tfs_key key, uint8_t version,
                     struct tfs_error *err)
{
    static const uint8_t names[] = {0, 0, 1, 0, 0, 0, 3, 'a', 'i', 'r'};
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};
    struct tfs_luanti_block b = {.version = version,
                                 .width = version < TFS_LUANTI_VERSION_EARLY_TIMERS ? 1 : 2,
                                 .lighting = UINT16_MAX,
                                 .timestamp = TFS_LUANTI_NO_TIMESTAMP};
    const uint16_t ids[TFS_LUANTI_VOXELS] = {0};
    struct tfs_buf parts[TFS_LUANTI_SECTIONS] = {{0}}, bytes = {0};

    memset(b.param1, 0x0f, sizeof(b.param1));
    tfs_luanti_nodes_encode(&parts[TFS_LUANTI_NODES], b.width, ids, b.param1, b.param2);
    tfs_buf_add(&parts[TFS_LUANTI_NAMES], names, sizeof(names));
    for (enum tfs_luanti_section i = 0; i < TFS_LUANTI_SECTIONS; i++) {
        if (i != TFS_LUANTI_NODES && i != TFS_LUANTI_NAMES)
            tfs_luanti_list_empty(&parts[i], i, version);
        b.sections[i] = tfs_buf_span(&parts[i]);
        tfs_buf_check(&parts[i], err);
    }
    if (err->code == 0 && tfs_luanti_block_encode(&b, &bytes, err) == 0)
        tfs_edit_put_bytes(edit, chunk, tfs_buf_span(&bytes), err);
    tfs_buf_release(&bytes);
    for (unsigned i = 0; i < TFS_LUANTI_SECTIONS; i++)
        tfs_buf_release(&parts[i]);
    return err->code;
}

static int chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err)
{
    uint8_t version;

    if (tfs_luanti_map_coordinate(key, err) < 0 ||
        tfs_luanti_newest(save, edit->base, &version, err) < 0)
        return err->code;
    return put_empty(edit, key, version, err);
}

/* Objects know where they are in the world, and move with their block. */
static int chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                      struct tfs_key to, struct tfs_error *err)
{
    struct tfs_cells *cells;
    struct tfs_buf objects = {0}, bytes = {0};

    if (tfs_luanti_map_coordinate(to, err) < 0 ||
        tfs_cells_need(save, tfs_edit_doc(edit), from, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    struct tfs_chunk chunk = cells->chunk;
    struct tfs_luanti_block next = *tfs_luanti_block_of(cells);
    chunk.key = to;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    chunk.blob = cells->stored;
    tfs_blob_ref(chunk.blob);
    if (tfs_luanti_list_count(&next, TFS_LUANTI_OBJECTS) > 0) {
        tfs_luanti_objects_move(next.sections[TFS_LUANTI_OBJECTS], from, to, &objects);
        next.sections[TFS_LUANTI_OBJECTS] = tfs_buf_span(&objects);
        tfs_blob_unref(chunk.blob);
        chunk.blob = NULL;
        if (tfs_buf_check(&objects, err) == 0 && tfs_luanti_block_encode(&next, &bytes, err) == 0)
            tfs_blob_take(&bytes, &chunk.blob, err);
    }
    if (err->code == 0 && tfs_edit_remove(edit, from, err) == 0)
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    tfs_buf_release(&objects);
    tfs_buf_release(&bytes);
    tfs_cells_unref(cells);
    return err->code;
}

static int fits(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err)
{
    (void)ours;
    if (chunk == NULL || tfs_doc_find(theirs, chunk->key) != NULL)
        return 0;
    return chunk->key.group != 0 ? tfs_fail(err, -EINVAL, "a map has no groups of blocks")
                                 : tfs_luanti_map_coordinate(chunk->key, err);
}

const struct tfs_tree tfs_luanti_tree = {
    .root = {root_files, ROOT_FILES},
    .chunk = {chunk_files, CHUNK_FILES},
    .cells = &tfs_luanti_cells,
    .chunk_create = chunk_create,
    .chunk_move = chunk_move,
    .fits = fits,
};
