/*
 * A file of DIR -> is it edited, and what becomes of the save with it.
 *
 * Texts are read again whenever they are needed: a hostile tree shall not hold more than one of
 * them in memory, and none that is larger than a draft may be.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/file.h"
#include "commands/import.h"

/* The path of something in DIR as it stands in the manifest. */
static const char *name_of(const struct tfs_import *im, const struct tfs_found *found)
{
    return found->path + strlen(im->dir) + 1;
}

static int read_text(struct tfs_import *im, const struct tfs_found *found, struct tfs_blob **text,
                     struct tfs_error *err)
{
    struct tfs_file_handle file;

    if (tfs_file_open(found->path, false, &file, err) < 0)
        return err->code;
    tfs_file_read(&file, tfs_cli_text_max(im->save, im->doc, &found->node), text, err);
    tfs_file_close(&file);
    return err->code;
}

bool tfs_import_is_trouble(int code)
{
    return code == -ENOMEM || code == -EIO || code == -EBUSY;
}

/* ---- comparing ------------------------------------------------------------------------------- */

int tfs_import_render(struct tfs_import *im, const struct tfs_found *found,
                      const struct tfs_doc *doc, struct tfs_buf *text, struct tfs_error *err)
{
    const struct tfs_lens *lens = tfs_node_file(im->save, &found->node)->lens;
    const int exists = tfs_node_exists(im->save, doc, &found->node);

    if (exists < 0)
        return tfs_fail(err, exists, "%s", strerror(-exists));
    if (exists > 0 && lens->get(im->save, doc, tfs_node_at(im->save, &found->node), text, err) == 0)
        tfs_buf_check(text, err);
    return err->code < 0 ? err->code : exists;
}

/* Does the file read like this in `doc`: 1 or 0? One that is damaged there does not. */
static int shows(struct tfs_import *im, const struct tfs_found *found, const struct tfs_doc *doc,
                 struct tfs_span text, struct tfs_error *err)
{
    tfs_buf_clear(&im->text);
    im->text.failed = false;
    const int there = tfs_import_render(im, found, doc, &im->text, err);
    if (there >= 0)
        return there > 0 && tfs_span_equal(tfs_buf_span(&im->text), text);
    if (tfs_import_is_trouble(err->code))
        return err->code;
    tfs_error_reset(err);
    return 0;
}

static bool is_array(const struct tfs_file *file)
{
    return (file->views & TFS_VIEWS_ARRAYS) != 0;
}

bool tfs_import_takes(const struct tfs_import *im, const struct tfs_found *found)
{
    const struct tfs_file *file = tfs_node_file(im->save, &found->node);

    return file != NULL && file->lens->put != NULL && !is_array(file);
}

/* Is it edited? An array that the save shows is not. */
static int is_edited(struct tfs_import *im, const struct tfs_found *found, struct tfs_span text,
                     struct tfs_error *err)
{
    int as_known = 0;

    if (im->manifest.present)
        as_known = tfs_manifest_has(&im->manifest, name_of(im, found), text, err);
    if (as_known == 0 && (!im->manifest.present || !tfs_import_takes(im, found)))
        as_known = shows(im, found, im->base, text, err);
    return as_known < 0 ? as_known : !as_known;
}

static void look_at(struct tfs_import *im, struct tfs_found *found)
{
    struct tfs_error err = {0};
    struct tfs_blob *text = NULL;
    int edited = 0;

    if (read_text(im, found, &text, &err) == 0)
        edited = is_edited(im, found, tfs_blob_span(text), &err);
    if (edited > 0 && !tfs_import_takes(im, found))
        tfs_fail(&err, -EBADMSG,
                 "the array is not what the save says, and import takes no arrays: `terrainfs put` "
                 "does, or remove it");
    if (err.code < 0)
        tfs_import_refuse(im, found->path, &err);
    found->edited = edited > 0;
    tfs_blob_unref(text);
}

void tfs_import_look(struct tfs_import *im, struct tfs_found_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct tfs_file *file = tfs_node_file(im->save, &list->items[i].node);
        if (file != NULL && file->lens->put != NULL)
            look_at(im, &list->items[i]);
    }
}

/* ---- putting --------------------------------------------------------------------------------- */

int tfs_import_put(struct tfs_import *im, const struct tfs_found *found, struct tfs_doc *doc,
                   struct tfs_put *put, struct tfs_doc **after, struct tfs_error *err)
{
    struct tfs_blob *text;

    if (read_text(im, found, &text, err) < 0)
        return err->code;
    const int same = shows(im, found, doc, tfs_blob_span(text), err);
    if (same > 0)
        *after = tfs_doc_ref(doc);
    else if (same == 0)
        tfs_node_apply(im->save, doc, &found->node, tfs_blob_span(text), put, after, err);
    tfs_blob_unref(text);
    return err->code;
}

bool tfs_import_renames(const struct tfs_import *im, const struct tfs_found *found)
{
    return (tfs_node_file(im->save, &found->node)->flags & TFS_FILE_RENAMES) != 0;
}

bool tfs_import_is_renumbered(struct tfs_import *im, const struct tfs_found *found)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    int is = 1;

    if (!im->manifest.present || !tfs_import_renames(im, found))
        return false;
    if (tfs_import_render(im, found, im->base, &text, &err) >= 0)
        is = tfs_manifest_has(&im->manifest, name_of(im, found), tfs_buf_span(&text), &err);
    tfs_buf_release(&text);
    if (err.code < 0)
        tfs_import_refuse(im, found->path, &err);
    return is == 0;
}

/* ---- files of the root ----------------------------------------------------------------------- */

/* What it was made from: as it was exported; where that is not known, as the save shows it. */
static int find_original(struct tfs_import *im, const struct tfs_found *found,
                         struct tfs_buf *original, struct tfs_error *err)
{
    const char *name = name_of(im, found);
    struct tfs_error why = {0};

    const int has = tfs_manifest_original(&im->manifest, im->dir, name, original, &why);
    if (has < 0)
        return tfs_fail(err, why.code, TFS_MANIFEST_DIR " has no original of it: %s", why.text);
    return has > 0 ? 0 : tfs_import_render(im, found, im->base, original, err);
}

/* `doubtful`: it says only what chunks say, DIR has edits of those, too, and nobody knows what it
 * was made from. A merge of git has chunks of both sides and the picture of one: it would undo what
 * the other one built. */
static void take_root(struct tfs_import *im, const struct tfs_found *found, bool doubtful)
{
    struct tfs_doc *after = NULL;
    struct tfs_buf original = {0};
    struct tfs_error err = {0};

    if (find_original(im, found, &original, &err) >= 0) {
        struct tfs_put put = {.original = tfs_buf_span(&original)};
        tfs_import_put(im, found, im->doc, &put, &after, &err);
    }
    if (doubtful && after != NULL && after->version != im->doc->version)
        tfs_fail(
            &err, -EBADMSG,
            "it disagrees with the chunks that are edited here, and without a manifest nothing "
            "tells what it was made from: import it alone, or not at all");
    if (err.code < 0) {
        tfs_import_refuse(im, found->path, &err);
        tfs_doc_unref(after);
    } else {
        im->counts.files += after->version != im->doc->version;
        tfs_import_advance(im, after);
    }
    tfs_buf_release(&original);
}

/* Where chunks come and go, what nobody edited in the root says only what chunks say. */
void tfs_import_roots(struct tfs_import *im, bool apart, bool chunks)
{
    const bool doubtful = chunks && !im->manifest.present;
    const bool all = im->cli->all && tfs_chunks_are_fixed(im->save);

    for (size_t i = 0; i < im->root.count && im->status != TFS_STATUS_SYSTEM; i++) {
        const struct tfs_found *found = &im->root.items[i];
        const struct tfs_file *file = tfs_node_file(im->save, &found->node);
        if (tfs_import_takes(im, found) && (all || found->edited) &&
            apart == ((file->flags & TFS_FILE_APART) != 0))
            take_root(im, found, doubtful && file->views == 0);
    }
}
