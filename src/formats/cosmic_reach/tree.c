/*
 * The names of a region's tree, and chunks that come, move and go.
 *
 * Must not know texts.
 */
#include <errno.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/cosmic_reach/cells.h"
#include "formats/cosmic_reach/cosmic_reach.h"
#include "formats/cosmic_reach/lenses.h"
#include "formats/cosmic_reach/zone.h"
#include "formats/views/views.h"

/* ---- the files ------------------------------------------------------------------------------- */

enum chunk_file {
    CHUNK_RAW,
    CHUNK_VOXELS,
    CHUNK_PALETTE,
    CHUNK_BLOCKS,
    CHUNK_SKY,
    CHUNK_LIGHT,
    CHUNK_ENTITIES,
    CHUNK_ARRAY,
    CHUNK_SKY_ARRAY,
    CHUNK_LIGHT_ARRAY,
    CHUNK_FILES
};

static const struct tfs_file chunk_files[CHUNK_FILES] = {
    [CHUNK_RAW] = TFS_RAW_FILE(&tfs_cosmic_raw_lens),
    [CHUNK_VOXELS] = TFS_VOXELS_FILE(&tfs_cells_table_lens),
    [CHUNK_PALETTE] = {.path = "palette.txt",
                       .flags = TFS_FILE_RENAMES,
                       .lens = &tfs_cells_palette_lens},
    [CHUNK_BLOCKS] = TFS_GRID_FILE("blocks.txt", TFS_GRID_LENS(TFS_COSMIC_PLANE_BLOCK)),
    [CHUNK_SKY] = TFS_APART_FILE("lights/sky.txt", TFS_FILE_OPTIONAL,
                                 TFS_OPTIONAL_GRID_LENS(TFS_COSMIC_PLANE_SKY)),
    [CHUNK_LIGHT] = TFS_APART_FILE("lights/block.txt", TFS_FILE_OPTIONAL,
                                   TFS_OPTIONAL_GRID_LENS(TFS_COSMIC_PLANE_LIGHT)),
    [CHUNK_ENTITIES] = TFS_APART_FILE("entities.bin", TFS_FILE_OPTIONAL, &tfs_cosmic_entities_lens),
    [CHUNK_ARRAY] = TFS_CHUNK_ARRAY_FILE("blocks", TFS_COSMIC_PLANE_BLOCK, NULL),
    [CHUNK_SKY_ARRAY] = TFS_CHUNK_ARRAY_FILE("lights/sky", TFS_COSMIC_PLANE_SKY, NULL),
    [CHUNK_LIGHT_ARRAY] = TFS_CHUNK_ARRAY_FILE("lights/block", TFS_COSMIC_PLANE_LIGHT, NULL),
};

enum root_file {
    ROOT_INFO,
    ROOT_NAMES,
    ROOT_HEIGHTMAP,
    ROOT_VIEW,
    ROOT_MAP,
    ROOT_ARRAY,
    ROOT_SKY_ARRAY,
    ROOT_LIGHT_ARRAY,
    ROOT_ARRAY_NAMES,
    ROOT_ARRAY_INFO,
    ROOT_REGION_FILES,
    ROOT_ZONE = ROOT_REGION_FILES, /* of zones only, from here on */
    ROOT_HEIGHTMAPS,
    ROOT_MAPS,
    ROOT_FILES
};

static const struct tfs_file root_files[ROOT_FILES] = {
    [ROOT_INFO] = {.path = "info.txt", .lens = &tfs_cosmic_info_lens},
    [ROOT_NAMES] = {.path = "palette.txt",
                    .flags = TFS_FILE_RENAMES,
                    .lens = &tfs_cells_names_lens},
    [ROOT_HEIGHTMAP] = TFS_HEIGHTMAP_FILE,
    [ROOT_VIEW] = TFS_HEIGHTMAP_VIEW_FILE,
    [ROOT_MAP] = TFS_MAP_FILE,
    [ROOT_ARRAY] = TFS_ARRAY_FILE("blocks", TFS_COSMIC_PLANE_BLOCK),
    [ROOT_SKY_ARRAY] = TFS_ARRAY_FILE("lights/sky", TFS_COSMIC_PLANE_SKY),
    [ROOT_LIGHT_ARRAY] = TFS_ARRAY_FILE("lights/block", TFS_COSMIC_PLANE_LIGHT),
    [ROOT_ARRAY_NAMES] = TFS_ARRAY_TEXT_FILE("palette.txt", &tfs_numbers_lens),
    [ROOT_ARRAY_INFO] = TFS_ARRAY_TEXT_FILE("info.txt", &tfs_array_info_lens),
    [ROOT_ZONE] = {.path = TFS_COSMIC_ZONE_INFO,
                   .lens = &tfs_cosmic_zone_lens,
                   .count = tfs_cosmic_zone_count},
    [ROOT_HEIGHTMAPS] = TFS_HEIGHTMAP_TILES,
    [ROOT_MAPS] = TFS_MAP_TILES,
};

/* ---- chunks ---------------------------------------------------------------------------------- */

static bool has_columns(const struct tfs_doc *doc, struct tfs_key key)
{
    return tfs_cosmic_version_at(doc, key) > TFS_COSMIC_VERSION_TABLE_MAX;
}

/* tfs_chunk.own of a new chunk. In a zone all of it is new. */
static uint64_t new_own(const struct tfs_doc *doc, struct tfs_key key)
{
    return tfs_cosmic_facts(doc)->zone ? TFS_OWN_NEW
                                       : tfs_cosmic_order_at(doc, key, has_columns(doc, key));
}

/* The column that a chunk at `key` would join; NULL: there is none, or the file knows no
 * columns. */
static const struct tfs_chunk *column_to_join(const struct tfs_doc *doc, struct tfs_key key)
{
    return has_columns(doc, key) ? tfs_cosmic_column_of(doc, key) : NULL;
}

static int chunk_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                        struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_chunk *column = column_to_join(doc, key);
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};
    struct tfs_buf body = {0};

    (void)save;
    if (tfs_cosmic_check_place(doc, key, err) < 0)
        return err->code;
    chunk.tag = column != NULL ? tfs_cosmic_chunk_version(column) : tfs_cosmic_version_at(doc, key);
    chunk.own = new_own(doc, key);
    tfs_cosmic_body_empty(&body, tfs_cosmic_chunk_version(&chunk));
    if (tfs_buf_check(&body, err) == 0)
        tfs_edit_put_bytes(edit, chunk, tfs_buf_span(&body), err);
    tfs_buf_release(&body);
    return err->code;
}

/* tfs_chunk.own of a chunk that moved to `to`. Alone in its column, or without columns, it keeps
 * its order in the data of a region. */
static uint64_t moved_own(const struct tfs_doc *doc, struct tfs_key from, struct tfs_key to,
                          uint64_t own)
{
    const bool alone = column_to_join(doc, to) == NULL && column_to_join(doc, from) == NULL;

    return alone && !tfs_cosmic_facts(doc)->zone ? own : new_own(doc, to);
}

/* The body that a chunk has once it is at `to`, where it has the version `version`. */
static int move_body(struct tfs_cosmic_chunk *chunk, struct tfs_key to, uint32_t version,
                     struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    struct tfs_blob *moved = NULL;

    if (tfs_cosmic_body_move(tfs_blob_span(chunk->in.blob), tfs_cosmic_chunk_version(&chunk->in),
                             version, chunk->in.key, to, &bytes, err) == 0 &&
        tfs_blob_take(&bytes, &moved, err) == 0) {
        tfs_blob_unref(chunk->in.blob);
        chunk->in.blob = moved;
    }
    tfs_buf_release(&bytes);
    return err->code;
}

static int chunk_move(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key from,
                      struct tfs_key to, struct tfs_error *err)
{
    struct tfs_cosmic_chunk moved;

    int status = tfs_cosmic_chunk_fetch(save, tfs_edit_doc(edit), from, &moved, err);
    if (status < 0)
        return status;
    if (tfs_cosmic_check_place(tfs_edit_doc(edit), from, err) == 0 &&
        tfs_cosmic_check_place(tfs_edit_doc(edit), to, err) == 0 &&
        tfs_edit_remove(edit, from, err) == 0) {
        const struct tfs_doc *doc = tfs_edit_doc(edit);
        const struct tfs_chunk *column = column_to_join(doc, to);
        const uint32_t version = tfs_cosmic_version_at(doc, to) == tfs_cosmic_version_at(doc, from)
                                     ? tfs_cosmic_chunk_version(&moved.in)
                                     : tfs_cosmic_version_at(doc, to);
        if (move_body(&moved, to, column != NULL ? tfs_cosmic_chunk_version(column) : version,
                      err) == 0) {
            moved.in.tag = column != NULL ? tfs_cosmic_chunk_version(column) : version;
            moved.in.own = moved_own(doc, from, to, moved.in.own);
            moved.in.key = to;
            tfs_edit_put(edit, &moved.in, err);
        }
    }
    tfs_cosmic_chunk_close(&moved);
    return err->code;
}

/* A body is as its version says, which is one for a column; the region is that of the name, or of
 * the chunks that are there. */
static int fits(const struct tfs_doc *ours, const struct tfs_doc *theirs,
                const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_key key = chunk == NULL ? (struct tfs_key){0} : chunk->key;
    const struct tfs_chunk *column =
        chunk == NULL || ours == theirs ? NULL : column_to_join(theirs, key);

    if (tfs_cosmic_version_at(ours, key) != tfs_cosmic_version_at(theirs, key) ||
        (column != NULL && tfs_cosmic_chunk_version(column) != tfs_cosmic_chunk_version(chunk)))
        return tfs_fail(err, -EINVAL, "chunks have another version there");
    if (key.group != 0)
        return tfs_fail(err, -EINVAL, "a region has no groups of chunks");
    return chunk == NULL ? 0 : tfs_cosmic_check_place(theirs, key, err);
}

#define TREE(shown)                                                                                \
    {                                                                                              \
        .root = {root_files, (shown)}, .chunk = {chunk_files, CHUNK_FILES},                        \
        .cells = &tfs_cosmic_cells, .chunk_create = chunk_create, .chunk_move = chunk_move,        \
        .fits = fits                                                                               \
    }

const struct tfs_tree tfs_cosmic_reach_tree = TREE(ROOT_REGION_FILES);
const struct tfs_tree tfs_cosmic_zone_tree = TREE(ROOT_FILES);
