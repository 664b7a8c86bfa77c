/*
 * What the lenses of a chunk share: its cells, storing them, and which cells there may be.
 *
 * Must not know any text.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/roblox/lenses.h"
#include "formats/roblox/material.h"
#include "formats/roblox/source.h"

int tfs_rbx_check_text_size(uint64_t size, struct tfs_error *err)
{
    if (size <= TFS_RBX_TEXT_MAX)
        return 0;
    return tfs_fail(err, -EFBIG,
                    "would be %llu bytes long, more than the %llu that are rendered; raw.bin has "
                    "the chunk as it is stored",
                    (unsigned long long)size, (unsigned long long)TFS_RBX_TEXT_MAX);
}

int tfs_rbx_cells_open(const struct tfs_doc *doc, struct tfs_key key, struct tfs_rbx_cells *c,
                       struct tfs_error *err)
{
    const struct tfs_chunk *chunk;
    struct tfs_rbx_cells opened = {0};

    if (tfs_doc_need(doc, key, &chunk, err) < 0)
        return err->code;
    opened.chunk = *chunk;
    opened.edge = tfs_rbx_edge(tfs_rbx_chunk_log2(chunk));
    opened.count = tfs_rbx_cell_count(tfs_rbx_chunk_log2(chunk));
    opened.cells = malloc(opened.count * sizeof(*opened.cells));
    if (opened.cells == NULL)
        return tfs_fail_memory(err);
    if (tfs_rbx_records_decode(tfs_blob_span(chunk->blob), tfs_rbx_chunk_log2(chunk), opened.cells,
                               err) < 0)
        free(opened.cells);
    else
        *c = opened;
    return err->code;
}

void tfs_rbx_cells_release(struct tfs_rbx_cells *c)
{
    free(c->cells);
    *c = (struct tfs_rbx_cells){0};
}

struct tfs_rbx_voxel tfs_rbx_voxel_of(const struct tfs_rbx_cells *c, size_t cell)
{
    const struct tfs_key key = c->chunk.key;
    const size_t edge = c->edge;

    return (struct tfs_rbx_voxel){
        (int64_t)key.x * c->edge + (int64_t)(cell % edge),
        (int64_t)key.y * c->edge + (int64_t)(cell / edge / edge),
        (int64_t)key.z * c->edge + (int64_t)(cell / edge % edge),
    };
}

int tfs_rbx_store_records(struct tfs_edit *edit, const struct tfs_chunk *chunk,
                          struct tfs_span records, struct tfs_error *err)
{
    const char *locked = tfs_rbx_locked(tfs_edit_doc(edit), chunk->key.group);
    struct tfs_chunk next = *chunk;

    if (locked != NULL)
        return tfs_fail(err, -EROFS, "%s", locked);
    if (tfs_blob_copy(records, &next.blob, err) < 0)
        return err->code;
    tfs_edit_put(edit, &next, err);
    tfs_blob_unref(next.blob);
    return err->code;
}

int tfs_rbx_store_cells(struct tfs_edit *edit, const struct tfs_rbx_cells *c, struct tfs_error *err)
{
    struct tfs_buf records = {0};

    tfs_rbx_records_encode(&records, c->cells, c->count);
    if (tfs_buf_check(&records, err) == 0 &&
        tfs_rbx_records_compare(tfs_blob_span(c->chunk.blob), tfs_buf_span(&records)) != 0)
        tfs_rbx_store_records(edit, &c->chunk, tfs_buf_span(&records), err);
    tfs_buf_release(&records);
    return err->code;
}

uint32_t tfs_rbx_cell_fit(uint32_t cell)
{
    uint32_t material = tfs_rbx_cell_material(cell);
    uint32_t occupancy = tfs_rbx_cell_occupancy(cell);

    if (material == TFS_RBX_AIR)
        return TFS_RBX_EMPTY;
    if (material == TFS_RBX_WATER || occupancy == 255)
        return tfs_rbx_cell(material, occupancy, 0);
    return cell;
}

bool tfs_rbx_cell_legal(uint32_t cell)
{
    return tfs_rbx_cell_fit(cell) == cell;
}
