/*
 * What changed in a document -> the files of a folder, written one after another.
 *
 * Must not know any format: one file is written by the format's writer. What the disk holds is a
 * document too, made step by step: before each file, because nothing may fail behind it.
 */
#include <stdlib.h>

#include "base/array.h"
#include "formats/cells/cells.h"
#include "formats/containers/folder_commit.h"
#include "formats/undo/undo.h"

/* ---- steps ----------------------------------------------------------------------------------- */

static int add_step(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct tfs_folder_commit *c = arg;
    struct tfs_folder_step step = {.key = after == NULL ? before->key : after->key, .chunk = after};

    if (after != NULL && tfs_cells_check(c->save, c->doc, step.key, NULL, c->err) < 0)
        return c->err->code;
    struct tfs_folder_step *steps = tfs_array_grow(c->steps, c->count, sizeof(*steps));
    if (steps == NULL)
        return tfs_fail_memory(c->err);
    c->steps = steps;
    step.file = c->writer->file_of(c->writer->arg, step.key, &step.index);
    c->steps[c->count++] = step;
    return 0;
}

static int compare_steps(const void *a, const void *b)
{
    const struct tfs_folder_step *left = a, *right = b;
    int order = tfs_key_compare(left->file, right->file);

    if (order != 0)
        return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

int tfs_folder_commit_open(struct tfs_save *save, struct tfs_doc *doc,
                           const struct tfs_folder_writer *writer, struct tfs_folder_commit *commit,
                           struct tfs_error *err)
{
    *commit = (struct tfs_folder_commit){.save = save, .writer = writer, .doc = doc, .err = err};
    if (tfs_doc_diff(save->doc, doc, add_step, commit) < 0)
        return err->code;
    if (commit->count > 0)
        qsort(commit->steps, commit->count, sizeof(*commit->steps), compare_steps);
    return tfs_edit_open(save->doc, &commit->reached, err);
}

int tfs_folder_commit_expect(struct tfs_folder_commit *commit, struct tfs_key file)
{
    const struct tfs_save *save = commit->save;
    char *path = save->keeper == NULL ? NULL : save->container->journal->path(save, file);

    if (save->keeper != NULL && path == NULL)
        return tfs_fail_memory(commit->err);
    if (path != NULL)
        tfs_undo_expect(save->keeper, path);
    free(path);
    return 0;
}

void tfs_folder_commit_close(struct tfs_folder_commit *commit)
{
    tfs_edit_release(&commit->reached);
    free(commit->steps);
}

struct tfs_doc *tfs_folder_commit_reached(struct tfs_folder_commit *commit)
{
    return commit->reached.base == NULL ? NULL : tfs_edit_finish(&commit->reached);
}

void tfs_folder_wrote(const struct tfs_save *save, struct tfs_key file, struct tfs_hash hash,
                      bool whole)
{
    if (save->rewrite.wrote != NULL)
        save->rewrite.wrote(save->rewrite.arg, file, hash, whole);
}

/* ---- one file -------------------------------------------------------------------------------- */

/* The end of the run of steps of one file. */
static size_t run_end(const struct tfs_folder_commit *c, size_t begin)
{
    size_t end = begin + 1;

    while (end < c->count && tfs_key_compare(c->steps[end].file, c->steps[begin].file) == 0)
        end++;
    return end;
}

/* What the disk holds once these steps are made. */
static int look_ahead(struct tfs_folder_commit *c, const struct tfs_folder_step *steps,
                      size_t count, struct tfs_edit *ahead)
{
    struct tfs_doc *reached = tfs_edit_finish(&c->reached);
    int result = tfs_edit_open(reached, ahead, c->err);

    tfs_doc_unref(reached);
    for (size_t i = 0; i < count && result == 0; i++)
        result = steps[i].chunk == NULL ? tfs_edit_remove(ahead, steps[i].key, c->err)
                                        : tfs_edit_put(ahead, steps[i].chunk, c->err);
    return result;
}

/* Writes one file with these steps. */
static int write_file(struct tfs_folder_commit *c, struct tfs_key file,
                      const struct tfs_folder_step *steps, size_t count, bool whole)
{
    struct tfs_edit ahead = {0};
    int result = look_ahead(c, steps, count, &ahead);

    if (result == 0)
        result = c->writer->write(c->writer->arg, file, steps, count, whole, c->err);
    if (result <= 0) {
        tfs_edit_release(&ahead);
        return c->err->code;
    }
    tfs_edit_release(&c->reached);
    c->reached = ahead;
    return c->err->code;
}

/* The same with those of a run that are to be made now. */
static int write_run(struct tfs_folder_commit *c, size_t begin, size_t end, bool gains, bool losses)
{
    struct tfs_folder_step *now = reallocarray(NULL, end - begin, sizeof(*now));
    size_t count = 0, later = 0;

    if (now == NULL)
        return tfs_fail_memory(c->err);
    for (size_t i = begin; i < end; i++) {
        if (c->steps[i].chunk != NULL ? gains : losses)
            now[count++] = c->steps[i];
        later += c->steps[i].chunk == NULL && !losses;
    }
    int result = count == 0 ? 0 : write_file(c, now[0].file, now, count, later == 0);
    free(now);
    return result;
}

int tfs_folder_commit_file(struct tfs_folder_commit *commit, struct tfs_key file)
{
    return write_file(commit, file, NULL, 0, true);
}

/* ---- all files ------------------------------------------------------------------------------- */

static int write_pass(struct tfs_folder_commit *c, bool gains, bool losses)
{
    for (size_t begin = 0, end; begin < c->count; begin = end) {
        end = run_end(c, begin);
        if (write_run(c, begin, end, gains, losses) < 0)
            return c->err->code;
    }
    return 0;
}

static int expect_all(struct tfs_folder_commit *c)
{
    for (size_t i = 0; i < c->count; i = run_end(c, i))
        if (tfs_folder_commit_expect(c, c->steps[i].file) < 0)
            return c->err->code;
    return 0;
}

int tfs_folder_commit_chunks(struct tfs_folder_commit *commit)
{
    bool one = commit->count > 0 && run_end(commit, 0) == commit->count;

    if (expect_all(commit) < 0 || write_pass(commit, true, one) < 0)
        return commit->err->code;
    return one ? 0 : write_pass(commit, false, true);
}
