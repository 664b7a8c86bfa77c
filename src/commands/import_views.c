/*
 * A file of DIR -> what it says of the save: is it edited, is it true, what would become of the
 * save with it.
 *
 * Texts are read again whenever they are needed: a hostile tree shall not hold more than one of
 * them in memory. Must not know in which order files are taken.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "commands/import.h"

int tfs_view_read(const struct tfs_found *found, struct tfs_blob **text, struct tfs_error *err)
{
    struct tfs_file_handle file;
    int result = tfs_file_open(found->path, false, &file, err);

    if (result)
        return result;
    result = tfs_file_read(&file, TFS_TEXT_MAX, text, err);
    tfs_file_close(&file);
    return result;
}

bool tfs_import_is_trouble(int code)
{
    return code == -ENOMEM || code == -EIO || code == -EBUSY;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Does the file read like this in `doc`: 1 or 0? One that is damaged there does not. */
static int reads_as(struct tfs_import *im, const struct tfs_doc *doc, const struct tfs_node *node,
                    struct tfs_span text, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, node)->lens;
    struct tfs_at at = tfs_node_at(im->save, node);
    int64_t size;

    int exists = tfs_node_exists(im->save, doc, node);
    if (exists <= 0)
        return exists < 0 ? tfs_fail(err, exists, "%s", strerror(-exists)) : 0;
    size = lens->size ? lens->size(im->save, doc, at) : -1;
    if (size >= 0 && (uint64_t)size != text.size)
        return 0;
    if (im->text.failed)
        tfs_buf_release(&im->text);
    tfs_buf_clear(&im->text);
    if (lens->get(im->save, doc, at, &im->text, err) == 0 && tfs_buf_check(&im->text, err) == 0)
        return tfs_span_equal(tfs_buf_span(&im->text), text);
    if (tfs_import_is_trouble(err->code))
        return err->code;
    tfs_error_reset(err);
    return 0;
}

/* Is it as `export` wrote it? */
static int is_untouched(const struct tfs_import *im, const struct tfs_found *found,
                        struct tfs_span text, struct tfs_error *err)
{
    if (!im->manifest.present)
        return 0;
    return tfs_manifest_has(&im->manifest, tfs_import_name(im, found->path), text, err);
}

/* A picture for looking: map.png. */
static bool is_map(const struct tfs_import *im, const struct tfs_found *found)
{
    const struct tfs_file *file = tfs_node_file(im->save, &found->node);

    return file && (file->flags & TFS_FILE_LATE) && !file->lens->put;
}

bool tfs_view_compare(struct tfs_import *im, struct tfs_view *view, const struct tfs_doc *reference)
{
    const struct tfs_found *found = view->found;
    struct tfs_error err = {0};
    struct tfs_blob *text;

    if (tfs_view_read(found, &text, &err) < 0) {
        tfs_import_refuse(im, found->path, &err);
        return false;
    }
    const struct tfs_span span = tfs_blob_span(text);
    int untouched = is_untouched(im, found, span, &err);
    int same = reference && untouched >= 0 ? reads_as(im, reference, &found->node, span, &err) : 0;
    tfs_blob_unref(text);
    if (err.code) {
        tfs_import_refuse(im, found->path, &err);
        return false;
    }
    view->touched = !untouched;
    view->differs = !same;
    im->edited = im->edited || (im->manifest.present && view->touched && !is_map(im, found));
    return true;
}

void tfs_views_check_pictures(struct tfs_import *im)
{
    for (size_t i = 0; i < im->root.count; i++) {
        struct tfs_view view = {.found = &im->root.items[i]};

        if (is_map(im, view.found) && tfs_view_compare(im, &view, im->base) && view.touched &&
            view.differs)
            im->other_pictures = true;
    }
}

void tfs_views_check_arrays(struct tfs_import *im, struct tfs_found_list *files)
{
    for (size_t i = 0; i < files->count && !im->cli->again; i++) {
        struct tfs_view view = {.found = &files->items[i]};

        if (!view.found->array || !tfs_node_file(im->save, &view.found->node)->lens->put ||
            !tfs_view_compare(im, &view, im->base) || !view.touched || !view.differs)
            continue;
        tfs_cli_say(im->cli, TFS_STATUS_BAD,
                    tfs_node_exists(im->save, im->base, &view.found->node) == 1
                        ? "%s: the array is not what the save says, and import takes no arrays: "
                          "`terrainfs put` does, or remove it"
                        : "%s: the save has no such array, and import takes no arrays: remove it; "
                          "it comes with its chunks",
                    view.found->path);
        im->status = tfs_status_worst(im->status, TFS_STATUS_BAD);
    }
}

bool tfs_view_is_of_part(const struct tfs_import *im, const struct tfs_view *view)
{
    return im->manifest.partial && view->found->node.scope == TFS_SCOPE_ROOT &&
           !tfs_chunks_are_fixed(im->save);
}

bool tfs_view_wanted(const struct tfs_import *im, const struct tfs_view *view)
{
    return view->differs && (view->touched || (im->cli->all && !tfs_view_is_of_part(im, view)));
}

bool tfs_view_counts(const struct tfs_import *im, const struct tfs_view *view)
{
    return tfs_view_wanted(im, view) || (im->manifest.present && view->touched);
}

bool tfs_views_of(struct tfs_import *im, struct tfs_found_list *files, struct tfs_view **views,
                  size_t *count)
{
    struct tfs_view *items = calloc(files->count + 1, sizeof(*items));
    struct tfs_error err = {0};
    size_t n = 0;

    if (!items) {
        tfs_fail_memory(&err);
        tfs_import_refuse(im, im->dir, &err);
        return false;
    }
    for (size_t i = 0; i < files->count; i++) {
        const struct tfs_file *file = tfs_node_file(im->save, &files->items[i].node);

        if (file && file->lens->put && !files->items[i].array)
            items[n++].found = &files->items[i];
    }
    *views = items;
    *count = n;
    return true;
}

bool tfs_view_shows(struct tfs_import *im, const struct tfs_found *found, const struct tfs_doc *doc)
{
    struct tfs_view view = {.found = (struct tfs_found *)found};

    return tfs_view_compare(im, &view, doc) && !view.differs;
}

/* ---- originals ------------------------------------------------------------------------------- */

static int render(struct tfs_import *im, const struct tfs_found *found, const struct tfs_doc *doc,
                  struct tfs_buf *text, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, &found->node)->lens;

    int exists = tfs_node_exists(im->save, doc, &found->node);

    if (exists <= 0)
        return exists < 0 ? tfs_fail(err, exists, "%s", strerror(-exists)) : 0;
    if (lens->get(im->save, doc, tfs_node_at(im->save, &found->node), text, err) == 0)
        tfs_buf_check(text, err);
    return err->code;
}

bool tfs_view_is_exported(struct tfs_import *im, const struct tfs_found *found,
                          const struct tfs_doc *doc)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    bool is = render(im, found, doc, &text, &err) == 0 &&
              is_untouched(im, found, tfs_buf_span(&text), &err) > 0;

    tfs_buf_release(&text);
    if (err.code < 0)
        tfs_import_refuse(im, found->path, &err);
    return is;
}

bool tfs_view_original(struct tfs_import *im, const struct tfs_view *view, struct tfs_buf *text)
{
    const char *name = tfs_import_name(im, view->found->path);
    struct tfs_error err = {0};
    char path[PATH_MAX];
    int has = view->touched ? tfs_manifest_original(&im->manifest, im->dir, name, text, &err) : 0;

    if (has < 0) {
        snprintf(path, sizeof(path), "%s/" TFS_MANIFEST_DIR "/original/%s.gz", im->dir, name);
        tfs_import_refuse(im, path, &err);
    } else if (has == 0 && render(im, view->found, im->base, text, &err) < 0) {
        tfs_import_refuse(im, view->found->path, &err);
    }
    return err.code == 0;
}

/* ---- putting --------------------------------------------------------------------------------- */

int tfs_view_put(struct tfs_import *im, const struct tfs_found *found, struct tfs_doc *doc,
                 struct tfs_put *put, struct tfs_doc **after, struct tfs_error *err)
{
    struct tfs_blob *text;

    if (tfs_view_read(found, &text, err) < 0)
        return err->code;
    tfs_node_apply(im->save, doc, &found->node, tfs_blob_span(text), put, after, err);
    tfs_blob_unref(text);
    return err->code;
}

/* Is this what the file says? Then putting it changes nothing, however it is spelled. */
static int agrees(struct tfs_import *im, const struct tfs_found *found, struct tfs_put put,
                  struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_blob *text;
    struct tfs_doc *after;

    if (tfs_view_read(found, &text, err) < 0)
        return err->code;
    int same = reads_as(im, doc, &found->node, tfs_blob_span(text), err);
    if (same == 0 && tfs_node_exists(im->save, doc, &found->node) > 0 &&
        tfs_node_apply(im->save, doc, &found->node, tfs_blob_span(text), &put, &after, err) == 0) {
        same = after->version == doc->version;
        tfs_doc_unref(after);
    }
    tfs_blob_unref(text);
    if (tfs_import_is_trouble(err->code))
        return err->code;
    tfs_error_reset(err);
    return same;
}

bool tfs_view_agrees(struct tfs_import *im, const struct tfs_found *found, struct tfs_put put,
                     struct tfs_doc *doc)
{
    struct tfs_error err = {0};
    const int same = agrees(im, found, put, doc, &err);

    if (same < 0)
        tfs_import_refuse(im, found->path, &err);
    return same != 0;
}

bool tfs_view_broken(struct tfs_import *im, const struct tfs_found *found, struct tfs_put put,
                     struct tfs_doc *before, struct tfs_doc *after)
{
    struct tfs_error err = {0};
    int now = before->version == after->version ? 1 : agrees(im, found, put, after, &err);
    int then = now == 0 ? agrees(im, found, put, before, &err) : 0;

    if (now < 0 || then < 0)
        tfs_import_refuse(im, found->path, &err);
    return then > 0;
}
