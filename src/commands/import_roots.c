/*
 * Files of the root in DIR -> what they say of the whole save.
 *
 * Each is put against what it was made from (struct tfs_put, original), so that what nobody edited
 * in it undoes nothing. A file of the root is a view of every chunk that it changes: after it was
 * put, every view that counts there and was true has to be true still. (Where the pictures are
 * of another export, which they cannot be merged with, every view counts: a picture of one side
 * would undo what the other side did.) Where one is not, the two contradict each other: neither
 * the file nor anything of that chunk is taken, and the import begins anew without them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "commands/import.h"

/* A file of the root that is put. */
struct root {
    struct tfs_import *im;
    struct tfs_found *found;
    struct tfs_view view;
    unsigned flags;          /* enum tfs_file_flags */
    struct tfs_buf original; /* what it was made from */
    struct tfs_doc *after;   /* what comes out of it */
    bool quiet;              /* only asked whether there is a contradiction */
    bool stale_only;         /* about chunks alone whose directory is older than the save */
    bool contradicts;
    struct tfs_key *keys; /* of the chunks that it changes */
    size_t count;
};

static void root_release(struct root *r)
{
    tfs_buf_release(&r->original);
    tfs_doc_unref(r->after);
    free(r->keys);
}

/* ---- which chunks ---------------------------------------------------------------------------- */

/* Appends to a list of keys. */
static int add_key(struct tfs_key **keys, size_t *count, struct tfs_key key)
{
    struct tfs_key *items = tfs_array_grow(*keys, *count, sizeof(*items));

    if (!items)
        return -ENOMEM;
    *keys = items;
    items[(*count)++] = key;
    return 0;
}

static int on_changed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct root *r = arg;

    return add_key(&r->keys, &r->count, after ? after->key : before->key);
}

static int on_shown(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct tfs_import *im = arg;

    return add_key(&im->shown, &im->shown_count, after ? after->key : before->key);
}

/* ---- contradictions -------------------------------------------------------------------------- */

/* The file and something else cannot both be taken, as the sentence says. */
static void contradict(struct root *r, const char *format, const char *path)
{
    r->contradicts = true;
    if (r->quiet)
        return;
    r->im->contradictions++;
    r->im->again = true;
    r->found->left_out = true;
    tfs_cli_say(r->im->cli, TFS_STATUS_BAD, format, r->found->path, path);
}

#define BOTH "%s and %s contradict each other; neither is taken"

static void check_view(struct root *r, struct tfs_found *chunk, struct tfs_view *view)
{
    struct tfs_import *im = r->im;
    const struct tfs_doc *reference = chunk->node.slot == TFS_SLOT_NONE ? NULL : im->base;

    if (!tfs_view_compare(im, view, reference) ||
        !(im->other_pictures || tfs_view_counts(im, view)) ||
        !tfs_view_broken(im, view->found, (struct tfs_put){0}, im->doc, r->after))
        return;
    contradict(r, BOTH, view->found->path);
    chunk->left_out = chunk->left_out || !r->quiet;
}

/* The views of a chunk of DIR that the file changes. */
static void check_chunk(struct root *r, struct tfs_found *chunk)
{
    struct tfs_import *im = r->im;
    struct tfs_found_list files = {0};
    struct tfs_view *views = NULL;
    size_t count = 0;
    struct tfs_node top = chunk->node;

    if (chunk->left_out)
        contradict(r, BOTH, chunk->path);
    if (chunk->left_out || (r->stale_only && chunk->in_sync) || !tfs_doc_find(r->after, top.key))
        return;
    top.slot = tfs_doc_find(r->after, top.key)->slot;
    enum tfs_status status = tfs_found_scan(im->cli, im->save, r->after, &top, chunk->path, &files);
    im->status = tfs_status_worst(im->status, status);
    if (!status && tfs_views_of(im, &files, &views, &count))
        for (size_t i = 0; i < count; i++)
            check_view(r, chunk, &views[i]);
    free(views);
    tfs_found_release(&files);
}

/* A chunk that --delete removed does not come back by a picture. */
static void check_removed(struct root *r, struct tfs_key key)
{
    char name[TFS_CHUNK_NAME];

    if (!tfs_doc_find(r->im->base, key) || tfs_doc_find(r->im->doc, key))
        return;
    tfs_chunk_name(key, name);
    contradict(r, "%s and the removal of %s contradict each other; the first is not taken", name);
}

static void check_chunks(struct root *r)
{
    for (size_t i = 0; i < r->count && !(r->quiet && r->contradicts); i++) {
        struct tfs_found *chunk = tfs_found_chunk(&r->im->chunks, r->keys[i]);

        if (chunk)
            check_chunk(r, chunk);
        else
            check_removed(r, r->keys[i]);
    }
}

/* Another file of the root that was taken. */
static void check_root(struct root *r, struct tfs_found *other)
{
    struct tfs_import *im = r->im;
    struct tfs_view view = {.found = other};
    struct tfs_buf original = {0};

    if (tfs_view_compare(im, &view, im->base) && tfs_view_original(im, &view, &original) &&
        tfs_view_broken(im, other, (struct tfs_put){.original = tfs_buf_span(&original)}, im->doc,
                        r->after)) {
        contradict(r, BOTH, other->path);
        other->left_out = other->left_out || !r->quiet;
    }
    tfs_buf_release(&original);
}

static void check_roots(struct root *r)
{
    for (size_t i = 0; i < r->im->root.count && r->after->version != r->im->doc->version; i++) {
        struct tfs_found *other = &r->im->root.items[i];

        if (other->taken && other != r->found)
            check_root(r, other);
    }
}

/* Looks at what becomes untrue by what comes out of the file. True: nothing does. */
static bool contradicts_nothing(struct root *r, struct tfs_error *err)
{
    struct tfs_import *im = r->im;

    if (tfs_doc_diff(im->doc, r->after, on_changed, r) < 0) {
        tfs_fail_memory(err);
        return false;
    }
    if (im->edited || !r->quiet)
        check_chunks(r);
    if (!r->stale_only)
        check_roots(r);
    return !r->contradicts;
}

/* Puts the file onto what was taken so far. True: nothing becomes untrue by it. */
static bool try_root(struct root *r, struct tfs_error *err)
{
    struct tfs_put put = {.original = tfs_buf_span(&r->original)};

    return tfs_view_put(r->im, r->found, r->im->doc, &put, &r->after, err) == 0 &&
           contradicts_nothing(r, err);
}

/* Makes what comes out of it what was taken so far. */
static void accept(struct root *r)
{
    tfs_import_advance(r->im, r->after);
    r->after = NULL;
    r->im->counts.files++;
}

/* ---- before the chunks ----------------------------------------------------------------------- */

static void take_early(struct root *r)
{
    struct tfs_import *im = r->im;
    struct tfs_error err = {0};

    if (!r->view.differs)
        return;
    if (!tfs_view_wanted(im, &r->view)) {
        im->counts.untouched++;
        return;
    }
    if (!tfs_view_original(im, &r->view, &r->original))
        return;
    struct tfs_put put = {.original = tfs_buf_span(&r->original)};
    if (tfs_view_put(im, r->found, im->doc, &put, &r->after, &err) < 0)
        tfs_import_refuse(im, r->found->path, &err);
    else
        accept(r);
}

/* ---- after the chunks ------------------------------------------------------------------------ */

/* What the file says may be refused here, but it has to be known. */
static void refuse_trouble(struct root *r, const struct tfs_error *err)
{
    if (tfs_import_is_trouble(err->code))
        tfs_import_refuse(r->im, r->found->path, err);
}

/* Nobody touched it: would it undo an edit, or is it what --all would take? Names are what the
 * chunks say, and nothing by themselves. */
static void count_untouched(struct root *r)
{
    struct tfs_import *im = r->im;
    struct tfs_error err = {0};

    r->quiet = true;
    if (!(r->flags & TFS_FILE_RENAMES) && !tfs_view_is_of_part(im, &r->view) && try_root(r, &err))
        im->counts.untouched++;
    else
        im->counts.outdated++;
    refuse_trouble(r, &err);
}

/* Somebody edited it, and the save shows that already. Chunks whose directory is older than the
 * save can hold texts that were edited without knowing of it. */
static void check_true(struct root *r)
{
    struct tfs_error err = {0};

    r->stale_only = true;
    try_root(r, &err);
    refuse_trouble(r, &err);
}

/* Which of the save's names are meant, when chunks came along that have others? */
static bool is_ambiguous(const struct root *r)
{
    const struct tfs_import *im = r->im;

    return (r->flags & TFS_FILE_RENAMES) != 0 && !im->manifest.present &&
           im->doc->version != im->base->version;
}

static void take(struct root *r)
{
    struct tfs_import *im = r->im;
    struct tfs_error err = {0};

    r->quiet = im->reading && !r->view.touched;
    if (is_ambiguous(r)) {
        tfs_fail(&err, -EBADMSG,
                 "without the manifest of an export nothing tells which names it was made from: "
                 "import it alone, or not at all");
        tfs_import_refuse(im, r->found->path, &err);
    } else if (try_root(r, &err)) {
        r->found->taken = true;
        accept(r);
    } else if (err.code == -EBADMSG && r->view.touched && !r->found->waits) {
        r->found->waits = true;
    } else if (err.code && r->view.touched) {
        tfs_import_refuse(im, r->found->path, &err);
    } else if (err.code && !r->quiet) {
        tfs_cli_say(im->cli, TFS_STATUS_DONE, "%s: left out: %s", r->found->path, err.text);
    }
}

static void take_late(struct root *r)
{
    struct tfs_import *im = r->im;
    bool wanted = tfs_view_wanted(im, &r->view);

    if (!(r->view.differs || tfs_view_counts(im, &r->view)) ||
        tfs_view_shows(im, r->found, im->doc) || !tfs_view_original(im, &r->view, &r->original))
        return;
    if (!r->view.differs)
        check_true(r);
    else if (!wanted || (!r->view.touched && (r->flags & TFS_FILE_RENAMES)))
        count_untouched(r);
    else
        take(r);
}

/* What was refused, once more: by now another file may have said what it lacked. */
static void take_waiting(struct root *r)
{
    if (r->found->waits)
        take_late(r);
    r->found->waits = false;
}

/* ---- what the save shows --------------------------------------------------------------------- */

/* Takes back what somebody edited in the file: that changes the chunks in which the save shows
 * it. */
static void find_shown(struct root *r)
{
    struct tfs_import *im = r->im;
    struct tfs_error err = {0};
    struct tfs_blob *text;

    if (!im->manifest.present || !r->view.touched || !tfs_view_original(im, &r->view, &r->original))
        return;
    if (tfs_view_read(r->found, &text, &err) < 0) {
        tfs_import_refuse(im, r->found->path, &err);
        return;
    }
    struct tfs_put put = {.original = tfs_blob_span(text)};
    if (tfs_node_apply(im->save, im->base, &r->found->node, tfs_buf_span(&r->original), &put,
                       &r->after, &err) == 0 &&
        tfs_doc_diff(im->base, r->after, on_shown, im) < 0)
        tfs_fail_memory(&err);
    refuse_trouble(r, &err);
    tfs_blob_unref(text);
}

static int compare_keys(const void *a, const void *b)
{
    return tfs_key_compare(*(const struct tfs_key *)a, *(const struct tfs_key *)b);
}

bool tfs_import_is_shown(const struct tfs_import *im, struct tfs_key key)
{
    return im->shown_count > 0 &&
           bsearch(&key, im->shown, im->shown_count, sizeof(key), compare_keys) != NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void each_root(struct tfs_import *im, bool late, void (*step)(struct root *r))
{
    struct tfs_view *views;
    size_t count;

    if (!tfs_views_of(im, &im->root, &views, &count))
        return;
    for (size_t i = 0; i < count && im->status != TFS_STATUS_SYSTEM; i++) {
        struct root r = {.im = im, .found = views[i].found, .view = views[i]};

        r.flags = tfs_node_file(im->save, &r.found->node)->flags;
        if (!r.found->left_out && late == ((r.flags & (TFS_FILE_LATE | TFS_FILE_RENAMES)) != 0) &&
            tfs_view_compare(im, &r.view, im->base))
            step(&r);
        root_release(&r);
    }
    free(views);
}

static void on_removed(void *arg, const char *path, struct tfs_doc *after)
{
    struct tfs_import *im = arg;

    (void)path;
    tfs_import_advance(im, after);
    im->counts.removed++;
}

void tfs_import_find_shown(struct tfs_import *im)
{
    each_root(im, true, find_shown);
    if (im->shown_count > 0)
        qsort(im->shown, im->shown_count, sizeof(*im->shown), compare_keys);
}

void tfs_import_roots_early(struct tfs_import *im)
{
    each_root(im, false, take_early);
}

void tfs_import_roots_late(struct tfs_import *im)
{
    const struct tfs_node top = TFS_NODE_ROOT;

    im->cli->again = true; /* directories of chunks are looked into a second time */
    each_root(im, true, take_late);
    each_root(im, true, take_waiting);
    if (im->cli->remove)
        tfs_import_missing_files(im, &top, &im->root, on_removed, im);
}
