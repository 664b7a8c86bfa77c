/*
 * metadata.txt: the metadata section of a block <-> its lines.
 *
 * Must not know what lines look like (metadata_text.c).
 */
#include <errno.h>

#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/metadata.h"
#include "formats/godot_voxel/store.h"

static int metadata_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_items items = {0};
    struct tfs_godot_view *view;

    if (tfs_godot_lens_view(save, doc, at.key, &view, err) < 0)
        return err->code;
    if (tfs_godot_metadata_read(&view->block, &items, err) == 0)
        tfs_godot_metadata_print(&items, out);
    tfs_godot_items_release(&items);
    tfs_godot_view_unref(view);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int put_in_view(struct tfs_save *save, struct tfs_edit *edit,
                       const struct tfs_godot_view *view, struct tfs_span text,
                       const struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_block block;
    struct tfs_buf own = {0}, section = {0};

    if (tfs_godot_store_begin(save, edit->base, view, &own, &block, err) == 0 &&
        tfs_godot_metadata_parse(&block, text, &section, err) == 0 &&
        !(view->readable && tfs_span_equal(tfs_buf_span(&section), block.metadata))) {
        block.metadata = tfs_buf_span(&section);
        tfs_godot_store_block(edit, view, &block, put->options, err);
    }
    tfs_buf_release(&own);
    tfs_buf_release(&section);
    return err->code;
}

static int metadata_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    put_in_view(save, edit, view, text, put, err);
    tfs_godot_view_unref(view);
    return err->code;
}

/* A block without metadata is the usual one. */
static int64_t metadata_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error ignored = {0};

    if (tfs_godot_lens_view(save, doc, at.key, &view, &ignored) < 0)
        return -1;
    int64_t size = view->block.metadata.size == 0 ? 0 : -1;
    tfs_godot_view_unref(view);
    return size;
}

const struct tfs_lens tfs_godot_metadata_lens = {
    .get = metadata_get,
    .put = metadata_put,
    .exists = tfs_godot_lens_exists,
    .size = metadata_size,
};
