/*
 * metadata.txt: the metadata section of a block <-> its lines.
 *
 * Must not know what lines look like (metadata_text.c).
 */
#include <errno.h>

#include "formats/cells/edit.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/metadata.h"
#include "formats/godot_voxel/store.h"

static int metadata_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_items items = {0};
    struct tfs_cells *cells;

    if (tfs_cells_need(save, doc, at.key, TFS_CELLS_ALL, &cells, err) < 0)
        return err->code;
    if (tfs_godot_metadata_read(tfs_godot_block_of(cells), &items, err) == 0)
        tfs_godot_metadata_print(&items, out);
    tfs_godot_items_release(&items);
    tfs_cells_unref(cells);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int metadata_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_buf section = {0};
    struct tfs_cells_edit e;

    (void)put;
    if (tfs_cells_edit_open(&e, save, edit, at.key, err) == 0) {
        struct tfs_godot_block block = *tfs_godot_block_of(e.before);
        if (tfs_godot_metadata_parse(&block, text, &section, err) == 0 &&
            (e.fresh || !tfs_span_equal(tfs_buf_span(&section), block.metadata))) {
            block.metadata = tfs_buf_span(&section);
            tfs_godot_store_block(edit, e.before, &block, err);
        }
    }
    tfs_cells_edit_close(&e);
    tfs_buf_release(&section);
    return err->code;
}

/* A block without metadata is the usual one. */
static int64_t metadata_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cells *cells;
    struct tfs_error ignored = {0};

    if (tfs_cells_need(save, doc, at.key, TFS_CELLS_ALL, &cells, &ignored) < 0)
        return -1;
    int64_t size = tfs_godot_block_of(cells)->metadata.size == 0 ? 0 : -1;
    tfs_cells_unref(cells);
    return size;
}

const struct tfs_lens tfs_godot_metadata_lens = {
    .get = metadata_get,
    .put = metadata_put,
    .exists = tfs_godot_lens_exists,
    .size = metadata_size,
};
