/*
 * raw.bin and instances.bin: a chunk's stored bytes, as they are.
 *
 * Must not know what is in them, beyond asking whether the container can hold them.
 */
#include <errno.h>

#include "formats/godot_voxel/instances.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"

int tfs_godot_lens_view(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        struct tfs_godot_view **view, struct tfs_error *err)
{
    struct tfs_godot_view *found;

    if (tfs_godot_view_open(save, doc, key, &found, err) < 0)
        return err->code;
    if (found->readable) {
        *view = found;
        return 0;
    }
    if (found->damage != NULL)
        tfs_fail(err, -EBADMSG, "the block of this chunk is damaged: %s", found->damage);
    else
        tfs_fail(err, -ENOENT, "this chunk has no voxels");
    tfs_godot_view_unref(found);
    return err->code;
}

int tfs_godot_lens_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error why = {0};

    if (tfs_godot_view_open(save, doc, at.key, &view, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    bool there = view->stored != NULL;
    tfs_godot_view_unref(view);
    return there;
}

/* ---- raw.bin --------------------------------------------------------------------------------- */

static int raw_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, doc, at.key, &view, err) < 0)
        return err->code;
    tfs_buf_add_span(out, tfs_blob_span(view->stored));
    tfs_godot_view_unref(view);
    return tfs_buf_check(out, err);
}

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    tfs_godot_store_raw(edit, view, text, put->options, err);
    tfs_godot_view_unref(view);
    return err->code;
}

static int64_t raw_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error ignored = {0};

    if (tfs_godot_view_open(save, doc, at.key, &view, &ignored) < 0)
        return -1;
    int64_t size = (int64_t)tfs_blob_span(view->stored).size;
    tfs_godot_view_unref(view);
    return size;
}

const struct tfs_lens tfs_godot_raw_lens = {
    .get = raw_get,
    .put = raw_put,
    .exists = tfs_godot_lens_exists,
    .size = raw_size,
};

/* ---- instances.bin --------------------------------------------------------------------------- */

static int extra_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, doc, at.key, &view, err) < 0)
        return err->code;
    if (view->unread != 0)
        tfs_fail(err, view->unread, "the instances cannot be read now");
    tfs_buf_add_span(out, tfs_blob_span(view->extra));
    tfs_godot_view_unref(view);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int extra_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_view *view;
    struct tfs_blob *extra = NULL;

    (void)put;
    if (tfs_godot_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    bool same = view->extra != NULL && tfs_span_equal(text, tfs_blob_span(view->extra));
    if (!same && tfs_blob_copy(text, &extra, err) == 0 &&
        tfs_godot_instances_check(extra, err) == 0)
        tfs_godot_store_extra(edit, view, extra, err);
    tfs_blob_unref(extra);
    tfs_godot_view_unref(view);
    return err->code;
}

static int64_t extra_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error ignored = {0};

    if (tfs_godot_view_open(save, doc, at.key, &view, &ignored) < 0)
        return -1;
    int64_t size = view->extra == NULL ? -1 : (int64_t)view->extra->size;
    tfs_godot_view_unref(view);
    return size;
}

static int extra_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error why = {0};

    if (tfs_godot_view_open(save, doc, at.key, &view, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    int there = view->unread != 0 ? view->unread : view->extra != NULL;
    tfs_godot_view_unref(view);
    return there;
}

static int extra_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    tfs_godot_store_extra(edit, view, NULL, err);
    tfs_godot_view_unref(view);
    return err->code;
}

const struct tfs_lens tfs_godot_instances_lens = {
    .get = extra_get,
    .put = extra_put,
    .exists = extra_exists,
    .remove = extra_remove,
    .size = extra_size,
};
