/*
 * What changed in a document -> the files of a folder, written one after another.
 *
 * Must not know what a file holds (folder_write.c). Of several files each gets what it gains before
 * any loses something, so a chunk that moves from one file to another is in both for a while, and
 * in neither never: there may be no journal, or the game may save before it is used. A crash
 * between two files leaves the rest to the journal, which has the whole edit (formats/journal.h).
 * What the disk holds is a document too, made step by step: before each file, because nothing may
 * fail behind it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "formats/cells/cells.h"
#include "formats/containers/folder_state.h"
#include "formats/undo/undo.h"

/* ---- steps ----------------------------------------------------------------------------------- */

struct finding {
    struct tfs_folder_commit *commit;
    struct tfs_error *err;
};

static int add_step(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct finding *f = arg;
    struct tfs_folder_commit *c = f->commit;
    struct tfs_folder_step step = {.key = after == NULL ? before->key : after->key, .chunk = after};

    struct tfs_folder_step *steps = tfs_array_grow(c->steps, c->count, sizeof(*steps));
    if (steps == NULL)
        return tfs_fail_memory(f->err);
    c->steps = steps;
    step.file = c->kind->file_of(c->save->doc->facts, step.key, &step.index);
    c->steps[c->count++] = step;
    return 0;
}

static int compare_steps(const void *a, const void *b)
{
    const struct tfs_folder_step *left = a, *right = b;
    int order = tfs_key_compare(left->file, right->file);

    if (order == 0)
        order = left->later - right->later;
    return order != 0 ? order : left->index < right->index ? -1 : left->index > right->index;
}

static void sort_steps(struct tfs_folder_commit *c)
{
    bool many = false;

    for (size_t i = 0; i < c->count; i++)
        many = many || tfs_key_compare(c->steps[i].file, c->steps[0].file) != 0;
    for (size_t i = 0; i < c->count; i++)
        c->steps[i].later = many && c->steps[i].chunk == NULL;
    if (c->count > 0)
        qsort(c->steps, c->count, sizeof(*c->steps), compare_steps);
}

/* The end of the run of steps of one file that are made at once. */
static size_t run_end(const struct tfs_folder_commit *c, size_t begin)
{
    const struct tfs_folder_step *first = &c->steps[begin];
    size_t end = begin + 1;

    while (end < c->count && tfs_key_compare(c->steps[end].file, first->file) == 0 &&
           c->steps[end].later == first->later)
        end++;
    return end;
}

/* Those that are older than what is common will say. One that was written is known anew. */
static bool find_older(const struct tfs_folder_commit *c, size_t *at, struct tfs_key *key)
{
    bool found = false;

    pthread_mutex_lock(&c->own->lock);
    for (; c->newer && *at < c->own->index.files.count && !found; ++*at) {
        const struct tfs_folder_file *file = c->own->index.files.files[*at];
        found = c->kind->is_old(file);
        *key = file->key;
    }
    pthread_mutex_unlock(&c->own->lock);
    return found;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What the disk holds once these steps are made. */
static int look_ahead(struct tfs_folder_commit *c, const struct tfs_folder_step *steps,
                      size_t count, struct tfs_edit *ahead, struct tfs_error *err)
{
    struct tfs_doc *reached = tfs_edit_finish(&c->reached);
    int result = tfs_edit_open(reached, ahead, err);

    tfs_doc_unref(reached);
    for (size_t i = 0; i < count && result == 0; i++)
        result = steps[i].chunk == NULL ? tfs_edit_remove(ahead, steps[i].key, err)
                                        : tfs_edit_put(ahead, steps[i].chunk, err);
    return result;
}

static int write_file(struct tfs_folder_commit *c, struct tfs_key file,
                      const struct tfs_folder_step *steps, size_t count, struct tfs_error *err)
{
    struct tfs_edit ahead = {0};

    if (look_ahead(c, steps, count, &ahead, err) < 0 ||
        tfs_folder_write_file(c, file, steps, count, err) < 0) {
        tfs_edit_release(&ahead);
        return err->code;
    }
    tfs_edit_release(&c->reached);
    c->reached = ahead;
    return err->code;
}

static int write_files(struct tfs_folder_commit *c, bool later, struct tfs_error *err)
{
    for (size_t begin = 0, end; begin < c->count && err->code == 0; begin = end) {
        end = run_end(c, begin);
        if (c->steps[begin].later == later)
            write_file(c, c->steps[begin].file, c->steps + begin, end - begin, err);
    }
    return err->code;
}

static int write_older(struct tfs_folder_commit *c, struct tfs_error *err)
{
    struct tfs_key key;

    for (size_t at = 0; err->code == 0 && find_older(c, &at, &key);)
        write_file(c, key, NULL, 0, err);
    return err->code;
}

/* A sync that failed is not asked again: first a name that comes and goes gives the disk the
 * directory once more. */
static int settle_directory(const char *folder, struct tfs_error *err)
{
    struct tfs_replacement r;
    char *path = NULL;

    if (tfs_print(&path, "%s/region", folder) < 0)
        return tfs_fail_memory(err);
    if (access(folder, F_OK) == 0 && tfs_replacement_open(path, NULL, &r, err) == 0) {
        tfs_replacement_cancel(&r);
        tfs_directory_settle(folder, err);
    }
    free(path);
    return err->code;
}

static int settle(const struct tfs_folder_commit *c, struct tfs_error *err)
{
    const struct tfs_folder_index *index = &c->own->index;

    for (size_t i = 0; c->own->unsure && i < index->watch_count && err->code == 0; i++)
        settle_directory(index->watches[i].path, err);
    c->own->unsure = c->own->unsure && err->code < 0;
    return err->code;
}

/* What is common comes last. */
static int write_common(struct tfs_folder_commit *c, struct tfs_error *err)
{
    struct tfs_folder_index *index = &c->own->index;
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;

    if (tfs_file_open(index->common_path, false, &file, err) == 0 &&
        !tfs_file_same(&file.st, &index->common_st))
        tfs_fail(err, -ESTALE, "%s was changed by another program since it was read",
                 c->kind->common);
    if (err->code == 0 && tfs_replacement_open(index->common_path, &file, &r, err) == 0) {
        r.keeper = c->save->keeper;
        if (tfs_sink_span(&r.sink, tfs_blob_span(c->doc->common), err) < 0)
            tfs_replacement_cancel(&r);
        else if (tfs_replacement_finish(&r, &file, err) == 0)
            tfs_edit_common(&c->reached, c->doc->common);
        /* Ours, also when only its directory could not be made durable; and a second name may have
         * moved the ctime of the old one. */
        index->common_st = file.st;
    }
    tfs_file_close(&file);
    return err->code;
}

int tfs_folder_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                     struct tfs_error *err)
{
    struct tfs_folder_commit c = {.save = save,
                                  .kind = tfs_folder_kind_of(save),
                                  .own = tfs_folder_of(save),
                                  .doc = doc,
                                  .newer = !tfs_blob_equal(doc->common, save->doc->common)};
    struct finding finding = {&c, err};

    if (tfs_save_check_chunks(save, doc, err) == 0 &&
        tfs_doc_diff(save->doc, doc, add_step, &finding) == 0 &&
        tfs_edit_open(save->doc, &c.reached, err) == 0) {
        sort_steps(&c);
        tfs_undo_begin(save->keeper);
        const bool done = write_files(&c, false, err) == 0 && write_files(&c, true, err) == 0 &&
                          write_older(&c, err) == 0 && settle(&c, err) == 0 &&
                          (!c.newer || write_common(&c, err) == 0);
        *reached = done ? tfs_doc_ref(doc) : tfs_edit_finish(&c.reached);
        tfs_edit_release(&c.reached);
    }
    free(c.steps);
    return err->code;
}
