/*
 * The directory of a chunk in DIR -> what its files say of that chunk, or nothing of it.
 *
 * Files are put in the order of the schema, edited ones after the others. They are views of the
 * same voxels, so what one says can undo what another one said: putting each edited one once more
 * must change nothing. Else those that disagree are named, and nothing of the chunk is taken.
 */
#include <errno.h>
#include <stdlib.h>

#include "commands/import.h"
#include "formats/cells/written.h"
#include "formats/views/view_sets.h"

struct arrival {
    struct tfs_import *im;
    const struct tfs_found *found;
    struct tfs_node top;
    bool fresh;                        /* the save lacks it */
    struct tfs_written_values *values; /* of a fresh chunk */
    struct tfs_found_list files;
    struct tfs_buf palette; /* what its palette.txt said once it was put */
};

/* ---- which files ----------------------------------------------------------------------------- */

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

/* Finds the files of the chunk, and what is edited of them. */
static bool open_arrival(struct arrival *a)
{
    struct tfs_import *im = a->im;
    struct tfs_error err = {0};
    struct tfs_doc *doc = with_chunk(im->doc, a->top.key, &err);

    if (doc == NULL) {
        tfs_import_refuse(im, a->found->path, &err);
        return false;
    }
    a->top.slot = tfs_doc_find(doc, a->top.key)->slot;
    enum tfs_status status =
        tfs_found_scan(im->cli, im->save, doc, &a->top, a->found->path, &a->files);
    tfs_doc_unref(doc);
    im->status = tfs_status_worst(im->status, status);
    tfs_import_look(im, &a->files);
    return !status;
}

/* A chunk that the save lacks and that nobody edited: others removed it from the save. */
static bool is_wanted(const struct arrival *a)
{
    bool wanted = !a->fresh || a->im->cli->all || a->files.count == 0;

    for (size_t i = 0; i < a->files.count; i++)
        wanted = wanted || a->files.items[i].edited;
    return wanted;
}

static const struct tfs_file *file_of(const struct arrival *a, size_t i)
{
    return tfs_node_file(a->im->save, &a->files.items[i].node);
}

static bool has_raw(const struct arrival *a)
{
    for (size_t i = 0; i < a->files.count; i++)
        if ((file_of(a, i)->flags & TFS_FILE_RAW) != 0)
            return true;
    return false;
}

/* The sets that the directory has files of: git does not keep the manifest, and what a chunk has
 * beside raw.bin is in there, and not missing, where there is no other file. */
static unsigned views_of(const struct arrival *a)
{
    bool raw = a->im->views == 0 && has_raw(a);

    for (size_t i = 0; i < a->files.count; i++)
        raw = raw && (!tfs_import_takes(a->im, &a->files.items[i]) ||
                      tfs_file_is_chosen(file_of(a, i), TFS_VIEWS_RAW));
    return raw ? TFS_VIEWS_RAW : a->im->views;
}

/* ---- a chunk that the save lacks ------------------------------------------------------------- */

/* Has DIR only optional files of it, where a chunk may be without raw.bin, as rows of Voxel Tools
 * are that have nothing but instances? */
static bool is_bare(const struct arrival *a)
{
    bool bare = a->files.count > 0 && a->im->save->tree->chunk.files[0].lens->exists != NULL;

    for (size_t i = 0; i < a->files.count && bare; i++)
        bare = (file_of(a, i)->flags & TFS_FILE_OPTIONAL) != 0;
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

static int create_chunk(struct arrival *a, struct tfs_error *err)
{
    struct tfs_import *im = a->im;
    struct tfs_edit edit;

    if (tfs_chunks_are_fixed(im->save))
        return tfs_fail(err, -EINVAL, "the save has no such chunk, and none can be added to it");
    a->values = tfs_written_values_create();
    if (a->values == NULL)
        return tfs_fail_memory(err);
    if (tfs_edit_open(im->doc, &edit, err) < 0)
        return err->code;
    if (add_chunk(a, &edit, err) == 0) {
        tfs_import_advance(im, tfs_edit_finish(&edit));
        im->counts.added++;
        a->top.slot = tfs_doc_find(im->doc, a->top.key)->slot;
        for (size_t i = 0; i < a->files.count; i++)
            a->files.items[i].node.slot = a->top.slot;
    }
    tfs_edit_release(&edit);
    return err->code;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* In a palette.txt numbers stand for voxels, and whoever writes a chunk may number them anew. */
static int put_file(struct arrival *a, const struct tfs_found *file, struct tfs_error *err)
{
    struct tfs_put put = {.fresh = a->fresh, .values = a->values};
    struct tfs_import *im = a->im;
    struct tfs_doc *after = NULL;

    if (tfs_import_put(im, file, im->doc, &put, &after, err) < 0)
        return err->code;
    const bool changes = after->version != im->doc->version;
    if (changes && !a->fresh && tfs_import_is_renumbered(im, file)) {
        tfs_doc_unref(after);
        return tfs_fail(err, -EBADMSG,
                        "this chunk has another palette in the save than at the export, so these "
                        "numbers may be other blocks: export it anew and edit that");
    }
    im->counts.files += changes;
    tfs_import_advance(im, after);
    if (!tfs_import_renames(im, file))
        return 0;
    tfs_buf_clear(&a->palette);
    tfs_import_render(im, file, after, &a->palette, err);
    return err->code;
}

/* The edited files, or the others. False: one was refused. */
static bool put_files(struct arrival *a, bool edited)
{
    struct tfs_error err = {0};

    for (size_t i = 0; i < a->files.count; i++) {
        const struct tfs_found *file = &a->files.items[i];
        if (!tfs_import_takes(a->im, file) || file->edited != edited ||
            put_file(a, file, &err) == 0)
            continue;
        tfs_import_refuse(a->im, file->path, &err);
        return false;
    }
    return true;
}

/* Does a palette.txt say what it said when it was put? One that makes two names one says less then,
 * and cannot be put once more. */
static bool is_as_put(struct arrival *a, const struct tfs_found *file)
{
    struct tfs_buf now = {0};
    struct tfs_error err = {0};
    const bool same = tfs_import_renames(a->im, file) &&
                      tfs_import_render(a->im, file, a->im->doc, &now, &err) >= 0 &&
                      tfs_span_equal(tfs_buf_span(&now), tfs_buf_span(&a->palette));

    tfs_buf_release(&now);
    return same;
}

/* Does the chunk say what the file says, now that all of them were put? Else it is named. */
static bool agrees(struct arrival *a, const struct tfs_found *file)
{
    struct tfs_put put = {.fresh = a->fresh};
    struct tfs_import *im = a->im;
    struct tfs_error err = {0};
    struct tfs_doc *after = NULL;
    const bool same = (tfs_import_put(im, file, im->doc, &put, &after, &err) == 0 &&
                       after->version == im->doc->version) ||
                      is_as_put(a, file);

    tfs_doc_unref(after);
    if (tfs_import_is_trouble(err.code))
        tfs_import_refuse(im, file->path, &err);
    else if (!same)
        tfs_cli_say(im->cli, TFS_STATUS_BAD,
                    "%s: it disagrees with other files of this chunk, of which nothing is taken"
                    "%s%s",
                    file->path, err.code < 0 ? ": " : "", err.text);
    return same;
}

static bool all_agree(struct arrival *a)
{
    bool agree = true;

    for (size_t i = 0; i < a->files.count; i++)
        if (a->files.items[i].edited && tfs_import_takes(a->im, &a->files.items[i]))
            agree = agrees(a, &a->files.items[i]) && agree;
    return agree;
}

/* Optional files that a chunk has only because it is new are absent where DIR lacks them, unless
 * raw.bin says what is in it. */
static bool take_files(struct arrival *a)
{
    if (((a->fresh || a->im->cli->all) && !put_files(a, false)) || !put_files(a, true))
        return false;
    if (a->im->cli->remove || (a->fresh && !has_raw(a)))
        tfs_import_missing_files(a->im, &a->top, &a->files, views_of(a));
    return true;
}

static void take_arrival(struct arrival *a)
{
    struct tfs_import *im = a->im;
    const struct tfs_import_counts counts = im->counts;
    struct tfs_doc *before = tfs_doc_ref(im->doc);
    struct tfs_error err = {0};

    if (a->fresh && create_chunk(a, &err) < 0)
        tfs_import_refuse(im, a->found->path, &err);
    else if (take_files(a) && !all_agree(a)) {
        tfs_import_advance(im, tfs_doc_ref(before));
        im->counts = counts;
        im->counts.left_out++;
    }
    tfs_doc_unref(before);
}

void tfs_import_chunk(struct tfs_import *im, struct tfs_found *chunk)
{
    struct arrival a = {
        .im = im, .found = chunk, .top = chunk->node, .fresh = chunk->node.slot == TFS_SLOT_NONE};

    if (open_arrival(&a) && is_wanted(&a))
        take_arrival(&a);
    tfs_written_values_free(a.values);
    tfs_buf_release(&a.palette);
    tfs_found_release(&a.files);
}
