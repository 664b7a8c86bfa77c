/*
 * The directory of a chunk in DIR -> what its files say of that chunk, or nothing of it.
 *
 * The files are views of the same voxels, so what one says can undo what another one said. Rules:
 *   1. A view that nobody touched is not taken, and undoes nothing.
 *   2. All views are put in the order of the schema. Then putting each of them once more must
 *      change nothing, also of those that were edited and are in the save already. Else those that
 *      disagree are named, and nothing of the chunk is taken.
 *   3. In a chunk that the save lacks, or has damaged, raw.bin is what was copied, and only what
 *      says something else was edited.
 *   4. Where raw.bin reads like the save, the whole directory is of the save's state, as after a
 *      pull: there only what was taken counts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/import.h"
#include "formats/cells/written.h"
#include "formats/views/view_sets.h"

struct arrival {
    struct tfs_import *im;
    struct tfs_found *found;
    struct tfs_node top;
    bool fresh; /* the save lacks it */
    bool mends; /* the save has it damaged, and raw.bin is taken */
    bool disagrees;
    struct tfs_doc *raw;               /* a fresh chunk as its raw.bin left it */
    struct tfs_written_values *values; /* of a fresh chunk */
    struct tfs_found_list files;
    struct tfs_view *views;
    size_t count;
};

static bool is_raw(const struct arrival *a, const struct tfs_view *view)
{
    return (tfs_node_file(a->im->save, &view->found->node)->flags & TFS_FILE_RAW) != 0;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Is this what makes up a fresh chunk, and not an edit of it? */
static bool is_copied(const struct arrival *a, const struct tfs_view *view)
{
    return (a->fresh || a->mends) && is_raw(a, view);
}

/* Do the lines of the view mean other voxels than they did at the export? In palette.txt numbers
 * stand for voxels, and whoever writes a chunk may number them anew; which name was edited, only
 * the exported text tells. */
static bool is_renumbered(const struct arrival *a, const struct tfs_view *view)
{
    struct tfs_import *im = a->im;

    return (tfs_node_file(im->save, &view->found->node)->flags & TFS_FILE_RENAMES) != 0 &&
           im->manifest.present && view->touched && !a->fresh && !a->found->in_sync &&
           !tfs_view_is_exported(im, view->found, im->base) &&
           !tfs_view_is_exported(im, view->found, im->doc);
}

/* Such a view renames nothing: another file of the chunk has to have made it true. */
static void check_renumbered(struct arrival *a, struct tfs_view *view)
{
    struct tfs_import *im = a->im;
    struct tfs_error err = {0};

    view->holds = tfs_view_shows(im, view->found, im->doc);
    if (view->holds)
        return;
    tfs_fail(&err, -EBADMSG,
             "this chunk has another palette in the save than at the export, so these numbers may "
             "be other blocks: export it anew and edit that");
    tfs_import_refuse(im, view->found->path, &err);
}

/* Did a text give it values that it does not have? */
static bool is_left(const struct arrival *a)
{
    return a->values != NULL && tfs_written_values_left(a->values);
}

/* The values of a fresh chunk as they will be after one more text; NULL of another one. */
static int copy_values(const struct arrival *a, struct tfs_written_values **values,
                       struct tfs_error *err)
{
    *values = a->values != NULL ? tfs_written_values_copy(a->values) : NULL;
    return a->values != NULL && *values == NULL ? tfs_fail_memory(err) : 0;
}

/* Puts the view. False: it was refused. */
static bool put_view(struct arrival *a, struct tfs_view *view)
{
    struct tfs_import *im = a->im;
    struct tfs_put put = {.fresh = a->fresh};
    struct tfs_error err = {0};
    struct tfs_doc *after;

    if (copy_values(a, &put.values, &err) < 0 ||
        tfs_view_put(im, view->found, im->doc, &put, &after, &err) < 0) {
        tfs_written_values_free(put.values);
        tfs_import_refuse(im, view->found->path, &err);
        return false;
    }
    tfs_written_values_free(a->values);
    a->values = put.values;
    bool edited = !a->raw || after->version != im->doc->version || is_left(a);
    view->holds = edited && !is_copied(a, view) && (view->touched || !im->reading);
    tfs_import_advance(im, after);
    return true;
}

/* The last file came: a text with values that the chunk still does not have is refused. */
static void refuse_left(struct arrival *a)
{
    struct tfs_import *im = a->im;

    for (size_t i = 0; i < a->count && is_left(a); i++) {
        struct tfs_put put = {.fresh = a->fresh};
        struct tfs_error err = {0};
        struct tfs_doc *after = NULL;
        if (a->views[i].holds &&
            tfs_view_put(im, a->views[i].found, im->doc, &put, &after, &err) < 0)
            tfs_import_refuse(im, a->views[i].found->path, &err);
        tfs_doc_unref(after);
    }
}

static void take_view(struct arrival *a, struct tfs_view *view)
{
    if (view->done)
        return;
    view->done = true;
    /* What a chunk that came whole says is compared with what its raw.bin made of it. */
    if ((a->fresh || a->raw) && !tfs_view_compare(a->im, view, a->raw))
        return;
    if (!(a->fresh ? view->differs : tfs_view_wanted(a->im, view)))
        return;
    const uint64_t before = a->im->doc->version;
    view->renumbered = is_renumbered(a, view);
    if (view->renumbered || !put_view(a, view))
        return;
    a->im->counts.files += is_left(a) || a->im->doc->version != before;
    if (is_copied(a, view))
        a->raw = tfs_doc_ref(a->im->doc);
}

static void on_removed(void *arg, const char *path, struct tfs_doc *after)
{
    struct arrival *a = arg;

    (void)path;
    tfs_import_advance(a->im, after);
    a->im->counts.removed++;
}

static void on_uncreated(void *arg, const char *path, struct tfs_doc *after)
{
    const struct arrival *a = arg;

    (void)path;
    tfs_import_advance(a->im, after);
}

/* Removes the optional files that DIR lacks: with --delete, and those that a chunk has only because
 * it is new where no raw.bin of an export says what was in it. */
static void remove_missing(struct arrival *a)
{
    const bool complete =
        a->fresh && !tfs_chosen_all(a->im->views) && (a->im->views & TFS_VIEWS_RAW) == 0;

    if (a->im->cli->remove || complete)
        tfs_import_missing_files(a->im, &a->top, &a->files,
                                 a->im->cli->remove ? on_removed : on_uncreated, a);
}

static void take_views(struct arrival *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (is_copied(a, &a->views[i]) || !a->im->reading || !a->views[i].touched)
            take_view(a, &a->views[i]);
    for (size_t i = 0; i < a->count; i++)
        take_view(a, &a->views[i]);
    refuse_left(a);
    remove_missing(a);
    for (size_t i = 0; i < a->count; i++)
        if (a->views[i].renumbered)
            check_renumbered(a, &a->views[i]);
}

/* ---- do they agree? -------------------------------------------------------------------------- */

/* Names the view and the others whose word counts; where there are none, what was removed is the
 * other side. */
static void say_disagrees(struct arrival *a, const struct tfs_view *view)
{
    struct tfs_buf names = {0};

    for (size_t i = 0; i < a->count; i++)
        if (&a->views[i] != view && a->views[i].holds)
            tfs_buf_printf(&names, "%s%s", names.size > 0 ? ", " : "",
                           a->views[i].found->path + strlen(a->found->path) + 1);
    if (names.size == 0)
        tfs_buf_add_text(&names, a->found->path);
    tfs_buf_u8(&names, 0);
    a->disagrees = true;
    tfs_cli_say(a->im->cli, TFS_STATUS_BAD,
                "%s and %.300s contradict each other: nothing of this chunk is taken",
                view->found->path, names.failed ? "others" : (const char *)names.data);
    tfs_buf_release(&names);
}

static void check_views(struct arrival *a)
{
    const struct tfs_put put = {.fresh = a->fresh};

    for (size_t i = 0; i < a->count; i++)
        if (a->views[i].holds && !tfs_view_agrees(a->im, a->views[i].found, put, a->im->doc))
            say_disagrees(a, &a->views[i]);
}

/* ---- what nobody touched --------------------------------------------------------------------- */

static void count_untouched(struct arrival *a)
{
    bool touched = false;

    for (size_t i = 0; i < a->count; i++)
        touched = touched || a->views[i].touched;
    for (size_t i = 0; i < a->count; i++) {
        const struct tfs_view *view = &a->views[i];

        if (view->touched || !view->differs || tfs_view_wanted(a->im, view))
            continue;
        if (tfs_import_is_shown(a->im, a->top.key) || touched)
            a->im->counts.outdated++;
        else
            a->im->counts.untouched++;
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* A document in which the chunk is there, if only to find the names of its files by. */
static struct tfs_doc *with_chunk(struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};
    struct tfs_doc *with = NULL;
    struct tfs_edit edit;

    if (tfs_doc_find(doc, key))
        return tfs_doc_ref(doc);
    if (tfs_edit_open(doc, &edit, err) < 0)
        return NULL;
    if (tfs_edit_put(&edit, &chunk, err) == 0)
        with = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return with;
}

/* Finds the files of the chunk. */
static bool open_arrival(struct arrival *a)
{
    struct tfs_import *im = a->im;
    struct tfs_error err = {0};
    struct tfs_doc *doc = with_chunk(im->doc, a->top.key, &err);

    if (!doc) {
        tfs_import_refuse(im, a->found->path, &err);
        return false;
    }
    a->top.slot = tfs_doc_find(doc, a->top.key)->slot;
    enum tfs_status status =
        tfs_found_scan(im->cli, im->save, doc, &a->top, a->found->path, &a->files);
    tfs_doc_unref(doc);
    im->status = tfs_status_worst(im->status, status);
    tfs_views_check_arrays(im, &a->files);
    return !status && tfs_views_of(im, &a->files, &a->views, &a->count);
}

/* Compares with the save. */
static bool compare_views(struct arrival *a)
{
    struct tfs_import *im = a->im;
    bool good = true;

    a->found->in_sync = false;
    for (size_t i = 0; i < a->count; i++) {
        struct tfs_view *view = &a->views[i];

        good = tfs_view_compare(im, view, a->fresh ? NULL : im->base) && good;
        if (!view->differs && is_raw(a, view))
            a->found->in_sync = true;
    }
    for (size_t i = 0; i < a->count; i++)
        a->views[i].holds =
            !a->views[i].differs && !a->found->in_sync && tfs_view_counts(im, &a->views[i]);
    return good;
}

/* A chunk that the save lacks came with the export, and nobody touched it since: others removed it
 * from the save. */
static bool is_untouched(const struct arrival *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->views[i].touched || a->im->cli->all)
            return false;
    return a->count > 0 || a->files.count > 0; /* arrays make no chunk */
}

/* Has DIR only optional files of it, where a chunk may be without raw.bin, as rows of Voxel Tools
 * are that have nothing but instances? */
static bool is_bare(const struct arrival *a)
{
    const struct tfs_save *save = a->im->save;
    bool bare = a->count > 0 && save->tree->chunk.files[0].lens->exists != NULL;

    for (size_t i = 0; i < a->count && bare; i++)
        bare = (tfs_node_file(save, &a->views[i].found->node)->flags & TFS_FILE_OPTIONAL) != 0;
    return bare;
}

/* Adds the chunk; a bare one without what a new one has. */
static int add_chunk(struct arrival *a, struct tfs_edit *edit, struct tfs_error *err)
{
    const struct tfs_key key = a->top.key;

    if (tfs_chunk_create(a->im->save, edit, key, err) < 0 || !is_bare(a))
        return err->code;
    struct tfs_chunk chunk = *tfs_doc_find(tfs_edit_doc(edit), key);
    chunk.blob = NULL;
    return tfs_edit_put(edit, &chunk, err);
}

static bool create_chunk(struct arrival *a)
{
    struct tfs_import *im = a->im;
    struct tfs_error err = {0};
    struct tfs_edit edit;

    a->values = tfs_written_values_create();
    if (a->values == NULL)
        tfs_fail_memory(&err);
    else if (tfs_chunks_are_fixed(im->save))
        tfs_fail(&err, -EINVAL, "the save has no such chunk, and none can be added to it");
    else if (tfs_edit_open(im->doc, &edit, &err) == 0) {
        if (add_chunk(a, &edit, &err) == 0)
            tfs_import_advance(im, tfs_edit_finish(&edit));
        tfs_edit_release(&edit);
    }
    if (err.code) {
        tfs_import_refuse(im, a->found->path, &err);
        return false;
    }
    im->counts.added++;
    a->top.slot = tfs_doc_find(im->doc, a->top.key)->slot;
    for (size_t i = 0; i < a->files.count; i++)
        a->files.items[i].node.slot = a->top.slot;
    return true;
}

/* Puts everything back to where it was before this chunk. */
static void leave_out(struct arrival *a, struct tfs_doc *before,
                      const struct tfs_import_counts *counts)
{
    tfs_import_advance(a->im, tfs_doc_ref(before));
    a->im->counts = *counts;
    a->im->contradictions++;
    a->found->left_out = true;
}

/* Is raw.bin to be taken for a chunk that the save has damaged? What the other files say cannot be
 * compared with that. */
static bool is_mending(const struct arrival *a)
{
    struct tfs_import *im = a->im;
    const struct tfs_chunk *chunk = tfs_doc_find(im->base, a->top.key);
    struct tfs_error warning = {0}, err = {0};
    bool raw = false;

    for (size_t i = 0; i < a->count; i++)
        raw = raw || (is_raw(a, &a->views[i]) && tfs_view_wanted(im, &a->views[i]));
    if (!raw || chunk == NULL || (chunk->flags & TFS_CHUNK_DAMAGED) != 0)
        return raw && chunk != NULL;
    tfs_cells_check(im->save, im->base, a->top.key, &warning, &err);
    if (tfs_import_is_trouble(err.code))
        tfs_import_refuse(im, a->found->path, &err);
    return err.code != 0;
}

static void take_arrival(struct arrival *a)
{
    struct tfs_import *im = a->im;
    const struct tfs_import_counts counts = im->counts;
    struct tfs_doc *before = tfs_doc_ref(im->doc);

    a->mends = !a->fresh && is_mending(a);
    if (!a->fresh || create_chunk(a)) {
        take_views(a);
        if (!im->status)
            check_views(a);
    }
    if (a->disagrees)
        leave_out(a, before, &counts);
    else if (!a->fresh)
        count_untouched(a);
    tfs_doc_unref(before);
}

void tfs_import_chunk(struct tfs_import *im, struct tfs_found *chunk)
{
    struct arrival a = {.im = im, .found = chunk, .top = chunk->node};

    a.fresh = chunk->node.slot == TFS_SLOT_NONE;
    if (chunk->left_out || !open_arrival(&a) || !compare_views(&a))
        goto out;
    if (a.fresh && is_untouched(&a))
        im->counts.untouched += a.count;
    else
        take_arrival(&a);
out:
    tfs_doc_unref(a.raw);
    tfs_written_values_free(a.values);
    free(a.views);
    tfs_found_release(&a.files);
}
