/*
 * Areas of a document -> boxes of tiles, their names, and which of them read differently.
 *
 * Must not know what pictures show.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/save/tile_areas.h"
#include "formats/views/pictures/draw.h"

int32_t tfs_picture_tile_chunks(uint32_t edge)
{
    int32_t count = 1;

    while ((uint32_t)count * 2 * edge <= TFS_PICTURE_TILE)
        count *= 2;
    return count;
}

/* NULL: there is no memory. */
static const struct tfs_doc_areas *tiles_of(const struct tfs_cells_kind *kind,
                                            const struct tfs_doc *doc)
{
    const struct tfs_voxel_size chunk = tfs_cells_size(kind, doc);

    return tfs_doc_areas(doc, tfs_picture_tile_chunks(chunk.x), tfs_picture_tile_chunks(chunk.z));
}

static bool lists_tiles(const struct tfs_tree *tree)
{
    for (unsigned i = 0; i < tree->root.count; i++)
        if (tree->root.files[i].family == &tfs_picture_tile_names)
            return true;
    return false;
}

uint32_t tfs_picture_tiles(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    const struct tfs_doc_areas *tiles;

    if (!lists_tiles(tree) || tfs_picture_map_count(tree, doc) == 0 ||
        ((tree->cells->flags & TFS_CELLS_TILED) == 0 && tfs_picture_count(tree, doc) > 0))
        return 0;
    tiles = tiles_of(tree->cells, doc);
    return tiles == NULL ? 0 : tiles->end;
}

size_t tfs_picture_tiles_there(const struct tfs_cells_kind *kind, const struct tfs_doc *doc)
{
    const struct tfs_doc_areas *tiles = tiles_of(kind, doc);

    return tiles == NULL ? 0 : tiles->count;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The tile of that number; false: there is none. */
static bool tile_at(const struct tfs_cells_kind *kind, const struct tfs_doc *doc, uint32_t member,
                    struct tfs_key *tile)
{
    const struct tfs_doc_areas *tiles = tiles_of(kind, doc);

    if (tiles == NULL || member >= tiles->end || tiles->keys[member].group != 0)
        return false;
    *tile = tiles->keys[member];
    return true;
}

static void tile_name(const struct tfs_tree *tree, const struct tfs_doc *doc, uint32_t member,
                      struct tfs_buf *out)
{
    struct tfs_key tile;

    if (tile_at(tree->cells, doc, member, &tile))
        tfs_buf_printf(out, "%d_%d.png", tile.x, tile.z);
}

/* What follows a number; NULL: there is none of a coordinate. */
static const char *take_coordinate(const char *text, int32_t *value)
{
    char *end;
    const long number = strtol(text, &end, 10);

    *value = (int32_t)number;
    return end == text || number < INT32_MIN || number > INT32_MAX ? NULL : end;
}

static bool tile_find(const struct tfs_tree *tree, const struct tfs_doc *doc, const char *name,
                      uint32_t *member)
{
    const struct tfs_doc_areas *tiles = tiles_of(tree->cells, doc);
    struct tfs_key tile = {0};
    char again[40];
    const char *end = take_coordinate(name, &tile.x);

    if (tiles == NULL || end == NULL || *end != '_' || take_coordinate(end + 1, &tile.z) == NULL)
        return false;
    /* Printed again it must be the same: so +1, 01 and -0 are no names of tiles. */
    snprintf(again, sizeof(again), "%d_%d.png", tile.x, tile.z);
    return strcmp(name, again) == 0 && tfs_doc_areas_find(tiles, tile, member);
}

/* ---- boxes ----------------------------------------------------------------------------------- */

bool tfs_picture_tile_box(const struct tfs_cells_kind *kind, const struct tfs_doc *doc,
                          uint32_t member, struct tfs_picture_box *box)
{
    struct tfs_key tile;

    if (!tile_at(kind, doc, member, &tile) || !tfs_picture_box(kind, doc, box))
        return false;
    const int32_t x = tfs_picture_tile_chunks(box->chunk.x),
                  z = tfs_picture_tile_chunks(box->chunk.z);
    tfs_picture_box_move(box, tile.x * x, tile.z * z, (uint64_t)x, (uint64_t)z);
    return tfs_picture_box_fits(box);
}

int tfs_picture_tile_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_key tile;

    return tile_at(save->tree->cells, doc, at.member, &tile);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Tiles that are found changed, of which chunks lie in either document. */
struct changes {
    const struct tfs_doc_areas *before, *after;
    int32_t x, z; /* chunks along their sides */
    uint32_t count;
    bool *changed;
};

static int chunk_changed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct changes *c = arg;
    const struct tfs_key key = after != NULL ? after->key : before->key;
    const struct tfs_key tile = tfs_area_of(key, c->x, c->z);
    uint32_t number;

    if (key.group == 0 && tfs_doc_areas_find(after != NULL ? c->after : c->before, tile, &number) &&
        number < c->count)
        c->changed[number] = true;
    return 0;
}

/* Heights count from the bottom of the save, and its top shades the ground. Chunks of another size
 * make other tiles. */
static bool same_height(const struct tfs_cells_kind *kind, const struct tfs_doc *before,
                        const struct tfs_doc *after)
{
    struct tfs_picture_box a, b;

    return tfs_picture_box(kind, before, &a) && tfs_picture_box(kind, after, &b) &&
           a.chunk.x == b.chunk.x && a.chunk.z == b.chunk.z && a.y == b.y && a.sy == b.sy;
}

/* Tiles with a chunk that changed, where nothing else changes them. */
static bool tiles_change(const struct tfs_tree *tree, const struct tfs_doc *before,
                         const struct tfs_doc *after, uint32_t count, bool *changed)
{
    const struct tfs_voxel_size chunk = tfs_cells_size(tree->cells, after);
    struct changes changes = {.before = tiles_of(tree->cells, before),
                              .after = tiles_of(tree->cells, after),
                              .x = tfs_picture_tile_chunks(chunk.x),
                              .z = tfs_picture_tile_chunks(chunk.z),
                              .count = count,
                              .changed = changed};

    if (!same_height(tree->cells, before, after) || changes.before == NULL || changes.after == NULL)
        return false;
    tfs_doc_diff(before, after, chunk_changed, &changes);
    return true;
}

const struct tfs_family tfs_picture_tile_names = {tile_name, tile_find, tiles_change};
