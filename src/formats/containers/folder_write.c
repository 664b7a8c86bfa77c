/*
 * Changed chunks of a file of a folder -> that file: replaced, made or removed as a whole.
 *
 * Must not know what a file holds, nor in which order files are written (folder_commit.h). A file
 * is decoded, changed, encoded, written beside the old one, read back and compared before it takes
 * its place. Every chunk that stays keeps its bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/containers/folder_commit.h"
#include "formats/containers/folder_state.h"
#include "formats/undo/undo.h"
#include "formats/containers/file.h"

struct writer {
    struct tfs_save *save;
    const struct tfs_folder_kind *kind;
    struct tfs_folder *own;
    bool newer; /* what is common gets another text */
};

/* A file being written. */
struct job {
    const struct writer *w;
    struct tfs_key key;
    char *path;
    struct tfs_folder_file *known;  /* a reference; NULL: there is no file yet */
    struct tfs_file_handle old;     /* fd -1: there is none */
    struct tfs_doc *before, *after; /* of this file alone */
    struct tfs_folder_file *made;   /* what is known of the new file */
    const struct tfs_folder_step *steps;
    size_t count;
    bool whole;   /* no change of it comes later */
    int written;  /* fd of the new file */
    bool renamed; /* it has taken its place */
};

static void job_release(struct job *job)
{
    free(job->path);
    tfs_file_close(&job->old);
    tfs_doc_unref(job->before);
    tfs_doc_unref(job->after);
    tfs_folder_file_unref(job->known);
    tfs_folder_file_unref(job->made);
}

/* ---- before ---------------------------------------------------------------------------------- */

/* Opens and reads the old file, which must be the one that is known. It is free, for we have the
 * lock of the folder, but for programs that are no terrainfs. */
static int begin_old(struct job *job, struct tfs_error *err)
{
    const struct tfs_save *save = job->w->save;
    struct tfs_blob *bytes = NULL;

    if (job->known->refusal != NULL)
        return tfs_fail(err, -EROFS, "it cannot be written: %s", job->known->refusal);
    if (tfs_file_open(job->path, false, &job->old, err) == -ENOENT) {
        tfs_error_reset(err);
        return tfs_fail(err, -ESTALE, "was removed by another program since it was read");
    }
    if (err->code == 0 && tfs_file_read(&job->old, save->options.inflate_limit, &bytes, err) == 0) {
        if (!tfs_file_same(&job->old.st, &job->known->st))
            tfs_fail(err, -ESTALE, "was changed by another program since it was read");
        else
            tfs_folder_decode(save, job->path, bytes, &job->before, err);
    }
    tfs_blob_unref(bytes);
    return err->code;
}

static int begin(struct job *job, struct tfs_error *err)
{
    struct tfs_folder *own = job->w->own;

    job->path = tfs_folder_file_path(job->w->save, job->key);
    if (job->path == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_lock(&own->lock);
    job->known = tfs_folder_find(&own->index.files, job->key);
    if (job->known != NULL)
        tfs_folder_file_ref(job->known);
    pthread_mutex_unlock(&own->lock);
    return job->known != NULL ? begin_old(job, err)
                              : job->w->kind->blank(job->w->save, job->key, &job->before, err);
}

/* ---- changing -------------------------------------------------------------------------------- */

/* A file alone has no groups. */
static int make_step(const struct job *job, struct tfs_edit *edit,
                     const struct tfs_folder_step *step, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = step->key};
    struct tfs_blob *bytes = NULL;

    chunk.key.group = 0;
    if (step->chunk == NULL)
        return tfs_edit_remove(edit, chunk.key, err);
    if (tfs_chunk_load(job->w->save, step->chunk, &bytes, err) < 0)
        return err->code;
    chunk.blob = bytes;
    chunk.slot = TFS_SLOT_NONE;
    if (job->w->kind->order != NULL) {
        chunk.tag = step->chunk->tag;
        chunk.flags = step->chunk->flags & ~(uint32_t)TFS_CHUNK_UNREAD;
        chunk.own = job->w->kind->order(tfs_edit_doc(edit), chunk.key);
    }
    tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(bytes);
    return err->code;
}

static int make_steps(struct job *job, struct tfs_error *err)
{
    const struct writer *w = job->w;
    struct tfs_edit edit;

    if (tfs_edit_open(job->before, &edit, err) < 0)
        return err->code;
    if (w->kind->renew != NULL)
        w->kind->renew(w->save->doc->facts, w->newer, &edit, err);
    for (size_t i = 0; i < job->count && err->code == 0; i++)
        make_step(job, &edit, &job->steps[i], err);
    if (err->code == 0)
        job->after = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int encode(const struct job *job, struct tfs_sink *sink, struct tfs_error *err)
{
    const struct tfs_container *container = job->w->kind->file;
    struct tfs_save one = {.container = container,
                           .tree = container->tree,
                           .path = job->path,
                           .options = job->w->save->options,
                           .doc = job->before};

    return container->file->encode(&one, job->after, sink, err);
}

/* What was read of chunks that stay is known of them in the new file, too. */
static void keep_sums(const struct job *job)
{
    struct tfs_folder *own = tfs_folder_of(job->w->save);
    size_t at = 0;

    pthread_mutex_lock(&own->lock); /* who fetches chunks notes their sums */
    for (size_t i = 0; job->known != NULL && i < job->made->count; i++) {
        struct tfs_folder_slot *slot = &job->made->slots[i];
        const struct tfs_folder_slot *was = tfs_folder_slot(job->known, slot->index);
        while (at < job->count && job->steps[at].index < slot->index)
            at++;
        if (slot->sum == 0 && was != NULL &&
            (at == job->count || job->steps[at].index != slot->index))
            slot->sum = was->sum;
    }
    pthread_mutex_unlock(&own->lock);
}

static int check_common(const struct job *job, const struct tfs_doc *written, struct tfs_error *why)
{
    return tfs_blob_equal(job->after->common, written->common)
               ? 0
               : tfs_fail(why, -EIO, "what belongs to all of it is another thing");
}

static int verify(struct job *job, struct tfs_replacement *r, struct tfs_error *err)
{
    const struct writer *w = job->w;
    struct tfs_file_handle handle = {.fd = r->fd};
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *written = NULL;
    struct tfs_error why = {0};

    if (tfs_replacement_read(r, &bytes, err) < 0)
        return err->code;
    handle.st.st_size = (off_t)bytes->size;
    if (tfs_folder_decode(w->save, job->path, bytes, &written, &why) == 0 &&
        tfs_doc_check_written(job->after, written, &why) == 0 &&
        check_common(job, written, &why) == 0 &&
        tfs_folder_file_make(w->save, w->save->doc->facts, job->key, &handle, written, &job->made,
                             &why) == 0) {
        job->made->hash = tfs_hash_of(tfs_blob_span(bytes));
        job->made->hashed = true;
        job->made->reading = job->known != NULL ? job->known->reading : w->own->reading;
        keep_sums(job);
    }
    if (why.code < 0)
        tfs_fail(err, why.code == -ENOMEM ? why.code : -EIO,
                 "the region does not read back as it was written: %s", why.text);
    tfs_doc_unref(written);
    tfs_blob_unref(bytes);
    return err->code;
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* The file on disk is the new one: so is what is known of it. There is room. The caller holds the
 * lock. */
static void know(struct job *job)
{
    struct tfs_folder_files *files = &job->w->own->index.files;
    struct tfs_error ignored = {0};

    if (job->known != NULL)
        tfs_folder_remove(files, tfs_folder_find(files, job->key));
    if (job->made != NULL && tfs_folder_add(files, job->made, &ignored) == 0)
        job->made = NULL;
}

/* Nobody fetches a chunk between the rename and what is known of the new file. */
static void take_place(void *arg, const struct tfs_taking *taking)
{
    struct job *job = arg;
    struct tfs_folder *own = job->w->own;

    pthread_mutex_lock(&own->lock);
    tfs_replacement_take(taking);
    job->renamed = job->old.fd == job->written;
    if (job->renamed) {
        job->made->st = job->old.st;
        know(job);
    } else if (job->known != NULL) {
        job->known->st = job->old.st; /* a second name may have moved its ctime */
    }
    if (job->w->kind->payload == NULL)
        tfs_recent_clear(&own->opened);
    pthread_mutex_unlock(&own->lock);
}

/* The list may move in memory meanwhile, and others read it. */
static int reserve(struct tfs_folder *own, struct tfs_error *err)
{
    pthread_mutex_lock(&own->lock);
    tfs_folder_reserve(&own->index.files, err);
    pthread_mutex_unlock(&own->lock);
    return err->code;
}

static int make_directory(const struct job *job, struct tfs_error *err)
{
    char *directory = job->known != NULL ? NULL : tfs_file_directory(job->path);

    if (job->known != NULL)
        return 0;
    if (directory == NULL)
        return tfs_fail_memory(err);
    tfs_folder_make(job->w->save, directory, err);
    free(directory);
    return err->code;
}

static int replace(struct job *job, struct tfs_error *err)
{
    const struct writer *w = job->w;
    struct tfs_replacement r;

    if (make_directory(job, err) < 0 ||
        tfs_replacement_open(job->path, job->old.fd < 0 ? NULL : &job->old, &r, err) < 0)
        return err->code;
    if ((job->old.fd < 0 && tfs_replacement_give(&r, &w->save->st, err) < 0) ||
        encode(job, &r.sink, err) < 0 || verify(job, &r, err) < 0 || reserve(w->own, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    job->written = r.fd;
    tfs_folder_wrote(w->save, job->key, job->made->hash, job->whole);
    r.keeper = w->save->keeper;
    r.moment = take_place;
    r.moment_arg = job;
    tfs_replacement_finish(&r, &job->old, err);
    if (job->renamed && err->code < 0) {
        pthread_mutex_lock(&w->own->lock);
        tfs_folder_find(&w->own->index.files, job->key)->unsure = true;
        pthread_mutex_unlock(&w->own->lock);
    }
    return job->renamed ? 1 : err->code;
}

/* ---- removing -------------------------------------------------------------------------------- */

static int sync_removal(struct tfs_folder *own, int directory, struct tfs_error *err)
{
    int result = tfs_directory_sync(directory);

    pthread_mutex_lock(&own->lock);
    own->unsure = result < 0;
    pthread_mutex_unlock(&own->lock);
    return result == 0
               ? 0
               : tfs_fail(err, -EIO, "a removal cannot be made durable: %s", strerror(-result));
}

/* The directory of that path. */
static int open_directory(const char *path, struct tfs_error *err)
{
    int fd = path == NULL ? -ENOMEM : tfs_directory_open(path);

    return fd < 0 ? tfs_fail(err, fd, "its folder cannot be opened: %s", strerror(-fd)) : fd;
}

static int remove_file(struct job *job, struct tfs_error *err)
{
    struct tfs_save *save = job->w->save;
    struct tfs_folder *own = job->w->own;

    if (job->known == NULL)
        return 1;
    char *path = tfs_file_directory(job->path);
    int directory = open_directory(path, err);
    free(path);
    if (directory < 0)
        return err->code;
    tfs_folder_wrote(save, job->key, (struct tfs_hash){0}, job->whole);
    pthread_mutex_lock(&own->lock);
    const bool removed = tfs_file_remove(directory, job->path, &job->old, save->keeper, err) == 0;
    if (removed)
        know(job);
    else
        job->known->st = job->old.st;
    pthread_mutex_unlock(&own->lock);
    if (removed)
        sync_removal(own, directory, err);
    close(directory);
    return removed ? 1 : err->code;
}

/* tfs_folder_writer.write */
static int write_one(void *arg, struct tfs_key key, const struct tfs_folder_step *steps,
                     size_t count, bool whole, struct tfs_error *err)
{
    struct job job = {
        .w = arg, .key = key, .old.fd = -1, .steps = steps, .count = count, .whole = whole};
    struct tfs_error why = {0};
    char path[TFS_FOLDER_PATH];
    int result = begin(&job, &why);

    if (result == 0)
        result = make_steps(&job, &why);
    if (result == 0)
        result = job.after->count == 0 && !job.w->kind->keeps_empty ? remove_file(&job, &why)
                                                                    : replace(&job, &why);
    if (why.code < 0) {
        job.w->kind->path(key, path);
        tfs_fail(err, why.code, "%s: %s", path, why.text);
    }
    job_release(&job);
    return result;
}

/* ---- all files ------------------------------------------------------------------------------- */

static struct tfs_key file_of(void *arg, struct tfs_key chunk, uint32_t *index)
{
    const struct writer *w = arg;

    return w->kind->file_of(w->save->doc->facts, chunk, index);
}

/* Files that no chunk made new: those that are older than what is common says, and those whose last
 * commit is not known to be durable. */
static bool find_other(const struct writer *w, size_t *at, struct tfs_key *key)
{
    bool found = false;

    pthread_mutex_lock(&w->own->lock);
    for (; *at < w->own->index.files.count && !found; ++*at) {
        const struct tfs_folder_file *file = w->own->index.files.files[*at];
        found = file->unsure || (w->newer && w->kind->is_old(file));
        *key = file->key;
    }
    pthread_mutex_unlock(&w->own->lock);
    return found;
}

static int expect_others(const struct writer *w, struct tfs_folder_commit *commit)
{
    struct tfs_key key;

    if (w->newer)
        tfs_undo_expect(w->save->keeper, w->own->index.common_path);
    for (size_t at = 0; commit->err->code == 0 && find_other(w, &at, &key);)
        tfs_folder_commit_expect(commit, key);
    return commit->err->code;
}

/* One that was written is known anew. */
static int write_others(const struct writer *w, struct tfs_folder_commit *commit)
{
    struct tfs_key key;

    for (size_t at = 0; commit->err->code == 0 && find_other(w, &at, &key);)
        tfs_folder_commit_file(commit, key);
    return commit->err->code;
}

/* A sync that failed is not asked again: first a name that comes and goes gives the disk the
 * directory once more. */
static int settle_directory(const struct writer *w, const char *folder, struct tfs_error *err)
{
    struct tfs_replacement r;
    char *path = NULL;

    if (tfs_print(&path, "%s/region", folder) < 0)
        return tfs_fail_memory(err);
    int directory = open_directory(folder, err);
    if (directory >= 0 && tfs_replacement_open(path, NULL, &r, err) == 0) {
        tfs_replacement_cancel(&r);
        sync_removal(w->own, directory, err);
    }
    if (directory >= 0)
        close(directory);
    free(path);
    return err->code;
}

static int settle_removals(const struct writer *w, struct tfs_error *err)
{
    const struct tfs_folder_index *index = &w->own->index;

    pthread_mutex_lock(&w->own->lock);
    const bool unsure = w->own->unsure;
    pthread_mutex_unlock(&w->own->lock);
    for (size_t i = 0; unsure && i < index->watch_count && err->code == 0; i++)
        settle_directory(w, index->watches[i].path, err);
    return err->code;
}

/* What is common comes last. */
static int write_common(const struct writer *w, struct tfs_folder_commit *commit)
{
    struct tfs_folder_index *index = &w->own->index;
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;
    struct tfs_error *err = commit->err;

    if (tfs_file_open(index->common_path, false, &file, err) == 0 &&
        !tfs_file_same(&file.st, &index->common_st))
        tfs_fail(err, -ESTALE, "%s was changed by another program since it was read",
                 w->kind->common);
    if (err->code == 0 && tfs_replacement_open(index->common_path, &file, &r, err) == 0) {
        r.keeper = w->save->keeper;
        if (tfs_sink_span(&r.sink, tfs_blob_span(commit->doc->common), err) < 0)
            tfs_replacement_cancel(&r);
        else if (tfs_replacement_finish(&r, &file, err) == 0)
            tfs_edit_common(&commit->reached, commit->doc->common);
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
    struct writer w = {.save = save,
                       .kind = tfs_folder_kind_of(save),
                       .own = tfs_folder_of(save),
                       .newer = !tfs_blob_equal(doc->common, save->doc->common)};
    const struct tfs_folder_writer writer = {file_of, write_one, &w};
    struct tfs_folder_commit commit;

    if (tfs_folder_commit_open(save, doc, &writer, &commit, err) == 0) {
        const bool done = expect_others(&w, &commit) == 0 &&
                          tfs_folder_commit_chunks(&commit) == 0 &&
                          write_others(&w, &commit) == 0 && settle_removals(&w, err) == 0 &&
                          (!w.newer || write_common(&w, &commit) == 0);
        *reached = done ? tfs_doc_ref(doc) : tfs_folder_commit_reached(&commit);
    }
    tfs_folder_commit_close(&commit);
    return err->code;
}
