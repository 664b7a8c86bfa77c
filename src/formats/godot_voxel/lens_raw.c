/*
 * raw.bin and instances.bin: a chunk's stored bytes, as they are.
 *
 * Must not know what is in them, beyond asking whether the container can hold them.
 */
#include <errno.h>

#include "formats/godot_voxel/instances.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"
#include "formats/views/views.h"

int tfs_godot_lens_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cells *cells;
    struct tfs_error why = {0};

    if (tfs_godot_cells_open(save, doc, at.key, &cells, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    bool there = cells->stored != NULL;
    tfs_cells_unref(cells);
    return there;
}

/* ---- raw.bin --------------------------------------------------------------------------------- */

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cells *cells;

    (void)put;
    if (tfs_godot_cells_open(save, tfs_edit_doc(edit), at.key, &cells, err) < 0)
        return err->code;
    tfs_godot_store_raw(edit, cells, text, err);
    tfs_cells_unref(cells);
    return err->code;
}

const struct tfs_lens tfs_godot_raw_lens = {
    .get = tfs_raw_get,
    .put = raw_put,
    .exists = tfs_godot_lens_exists,
    .size = tfs_raw_size,
};

/* ---- instances.bin --------------------------------------------------------------------------- */

static int extra_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_godot_cells_open(save, doc, at.key, &cells, err) < 0)
        return err->code;
    if (cells->extra_unread != 0)
        tfs_fail(err, cells->extra_unread, "the instances cannot be read now");
    tfs_buf_add_span(out, tfs_blob_span(cells->extra));
    tfs_cells_unref(cells);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int extra_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cells *cells;
    struct tfs_blob *extra = NULL;

    (void)put;
    if (tfs_godot_cells_open(save, tfs_edit_doc(edit), at.key, &cells, err) < 0)
        return err->code;
    bool same = cells->extra != NULL && tfs_span_equal(text, tfs_blob_span(cells->extra));
    if (!same && tfs_blob_copy(text, &extra, err) == 0 &&
        tfs_godot_instances_check(extra, err) == 0)
        tfs_godot_store_extra(edit, cells, extra, err);
    tfs_blob_unref(extra);
    tfs_cells_unref(cells);
    return err->code;
}

static int64_t extra_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cells *cells;
    struct tfs_error ignored = {0};

    if (tfs_godot_cells_open(save, doc, at.key, &cells, &ignored) < 0)
        return -1;
    int64_t size = cells->extra == NULL ? -1 : (int64_t)cells->extra->size;
    tfs_cells_unref(cells);
    return size;
}

static int extra_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cells *cells;
    struct tfs_error why = {0};

    if (tfs_godot_cells_open(save, doc, at.key, &cells, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    int there = cells->extra_unread != 0 ? cells->extra_unread : cells->extra != NULL;
    tfs_cells_unref(cells);
    return there;
}

static int extra_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_godot_cells_open(save, tfs_edit_doc(edit), at.key, &cells, err) < 0)
        return err->code;
    tfs_godot_store_extra(edit, cells, NULL, err);
    tfs_cells_unref(cells);
    return err->code;
}

const struct tfs_lens tfs_godot_instances_lens = {
    .get = extra_get,
    .put = extra_put,
    .exists = extra_exists,
    .remove = extra_remove,
    .size = extra_size,
};
