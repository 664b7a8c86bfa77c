/*
 * info.txt of the root: what the file is.
 */
#include <inttypes.h>

#include "formats/views/info.h"
#include "formats/views/pictures/picture.h"
#include "formats/roblox/lenses.h"
#include "formats/roblox/smoothgrid.h"
#include "formats/roblox/source.h"

/* Bytes of a group's value. */
static uint64_t value_size(const struct tfs_doc *doc, uint32_t group)
{
    struct tfs_key first = {group, INT32_MIN, INT32_MIN, INT32_MIN};
    size_t at = tfs_doc_lower_bound(doc, first);
    size_t count = tfs_doc_group_count(doc, group);
    uint64_t size = 2 + count * (uint64_t)TFS_RBX_OFFSET_SIZE;

    for (size_t i = 0; i < count; i++)
        size += tfs_doc_at(doc, at + i)->blob->size;
    return size;
}

static void add_terrain(struct tfs_buf *out, const struct tfs_save *save, const struct tfs_doc *doc)
{
    const struct tfs_rbx_group *terrain = tfs_rbx_group(doc, 0);

    tfs_picture_info(out, save->tree, doc);
    if (terrain->grid == TFS_RBX_NONE)
        return;
    tfs_info_line(out, "edge", "%" PRIu32 " voxels a chunk, 4 studs a voxel",
                  tfs_rbx_edge(terrain->log2));
    tfs_info_line(out, "smoothgrid", "%" PRIu64 " bytes", value_size(doc, 0));
    if (terrain->physics != TFS_RBX_NONE)
        tfs_info_line(out, "physicsgrid", "computed again when voxels change");
}

static void add_regions(struct tfs_buf *out, const struct tfs_doc *doc)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(doc);

    tfs_info_line(out, "regions", "%" PRIu32, source->group_count - 1);
    for (uint32_t i = 1; i < source->group_count; i++) {
        if (source->groups[i].grid == TFS_RBX_NONE)
            continue;
        tfs_info_line(out, "region", "%" PRIu32 ": %zu chunks, %" PRIu64 " bytes", i - 1,
                      tfs_doc_group_count(doc, i), value_size(doc, i));
    }
}

static void add_lines(struct tfs_buf *out, struct tfs_save *save, const struct tfs_doc *doc,
                      struct tfs_error *err)
{
    const struct tfs_rbx_source *source = tfs_rbx_source(doc);

    (void)err;
    add_terrain(out, save, doc);
    if (source->kind->coding != NULL)
        tfs_info_line(out, "coding", "%s", source->kind->coding(source));
    if (source->group_count > 1)
        add_regions(out, doc);
}

const struct tfs_lens tfs_rbx_info_lens = TFS_INFO_LENS(add_lines);
