/*
 * Areas of a document -> boxes of tiles, and their names.
 *
 * Must not know what pictures show.
 */
#include <errno.h>

#include "formats/picture/columns.h"

/* Chunks along a side of a tile: a power of two, so that tiles end where coordinates do. */
static int32_t chunks_a_tile(uint32_t edge)
{
    int32_t count = 1;

    while ((uint32_t)count * 2 * edge <= TFS_PICTURE_TILE)
        count *= 2;
    return count;
}

static const struct tfs_key *tiles_of(const struct tfs_voxels *voxels, const struct tfs_doc *doc,
                                      size_t *count)
{
    const struct tfs_voxel_size chunk = tfs_voxels_size(voxels, doc);

    return tfs_doc_areas(doc, chunks_a_tile(chunk.x), chunks_a_tile(chunk.z), count);
}

uint32_t tfs_picture_tiles(const struct tfs_voxels *voxels, const struct tfs_doc *doc)
{
    struct tfs_picture_box box;
    size_t count = 0;

    if (tfs_picture_box(voxels, doc, &box) && box.sy <= TFS_PICTURE_HEIGHT_MAX &&
        box.chunk.x <= TFS_PNG_SIDE_MAX && box.chunk.z <= TFS_PNG_SIDE_MAX)
        tiles_of(voxels, doc, &count);
    return count > UINT32_MAX ? 0 : (uint32_t)count;
}

uint32_t tfs_picture_tiles_if_wide(const struct tfs_voxels *voxels, const struct tfs_doc *doc)
{
    return tfs_picture_count(voxels, doc) > 0 ? 0 : tfs_picture_tiles(voxels, doc);
}

void tfs_picture_tile_name(const struct tfs_voxels *voxels, const struct tfs_doc *doc,
                           uint32_t member, struct tfs_buf *out)
{
    size_t count;
    const struct tfs_key *tiles = tiles_of(voxels, doc, &count);

    if (member < count)
        tfs_buf_printf(out, "%d_%d.png", tiles[member].x, tiles[member].z);
}

bool tfs_picture_tile(const struct tfs_voxels *voxels, const struct tfs_doc *doc, uint32_t member,
                      struct tfs_picture_box *box)
{
    size_t count;
    const struct tfs_key *tiles = tiles_of(voxels, doc, &count);

    if (member >= count || !tfs_picture_box(voxels, doc, box) || box->sy > TFS_PICTURE_HEIGHT_MAX)
        return false;
    const int32_t x = chunks_a_tile(box->chunk.x), z = chunks_a_tile(box->chunk.z);
    box->low.x = tiles[member].x * x;
    box->low.z = tiles[member].z * z;
    box->x = (int64_t)box->low.x * box->chunk.x;
    box->z = (int64_t)box->low.z * box->chunk.z;
    box->sx = (uint64_t)x * box->chunk.x;
    box->sz = (uint64_t)z * box->chunk.z;
    return tfs_picture_box_fits(box);
}

int tfs_picture_shown(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_picture_box *box, struct tfs_error *err)
{
    const struct tfs_voxels *voxels = save->tree->voxels;

    if (at.param != NULL ? tfs_picture_tile(voxels, doc, at.member, box)
                         : tfs_picture_box(voxels, doc, box) && tfs_picture_box_fits(box))
        return 0;
    return tfs_fail(err, -ENOENT, "there is no picture of this save, info.txt says why");
}
