/*
 * Changed chunks of a file of a folder -> that file: replaced, made or removed as a whole.
 *
 * Must not know what a file holds, nor in which order files are written (folder_commit.c). A file
 * is decoded, changed, encoded, written beside the old one, read back and compared before it takes
 * its place (file.h). Every chunk that stays keeps its bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/containers/file.h"
#include "formats/containers/folder_state.h"

/* A file being written. */
struct job {
    const struct tfs_folder_commit *c;
    struct tfs_key key;
    char *path;
    struct tfs_folder_file *known;  /* a reference; NULL: there is no file yet */
    struct tfs_file_handle old;     /* fd -1: there is none */
    struct tfs_doc *before, *after; /* of this file alone */
    struct tfs_folder_file *made;   /* what is known of the new file */
    const struct tfs_folder_step *steps;
    size_t count;
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
    const struct tfs_save *save = job->c->save;
    struct tfs_save one = tfs_folder_one(save, job->path);
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
            one.container->file->decode(&one, bytes, &job->before, err);
    }
    tfs_blob_unref(bytes);
    return err->code;
}

static int begin(struct job *job, struct tfs_error *err)
{
    struct tfs_folder *own = job->c->own;

    job->path = tfs_folder_file_path(job->c->save, job->key);
    if (job->path == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_lock(&own->lock);
    job->known = tfs_folder_find(&own->index.files, job->key);
    if (job->known != NULL)
        tfs_folder_file_ref(job->known);
    pthread_mutex_unlock(&own->lock);
    return job->known != NULL ? begin_old(job, err)
                              : job->c->kind->blank(job->c->save, job->key, &job->before, err);
}

/* ---- changing -------------------------------------------------------------------------------- */

/* A file alone has no groups but those that all files have. */
static int make_step(const struct job *job, struct tfs_edit *edit,
                     const struct tfs_folder_step *step, struct tfs_error *err)
{
    struct tfs_chunk chunk = {.key = step->key};
    struct tfs_blob *bytes = NULL;

    chunk.key.group -= job->key.group;
    if (step->chunk == NULL)
        return tfs_edit_remove(edit, chunk.key, err);
    if (tfs_chunk_load(job->c->save, step->chunk, &bytes, err) < 0)
        return err->code;
    chunk.blob = bytes;
    chunk.slot = TFS_SLOT_NONE;
    if (job->c->kind->payload != NULL) {
        chunk.tag = step->chunk->tag;
        chunk.flags = step->chunk->flags & ~(uint32_t)TFS_CHUNK_UNREAD;
    }
    if (job->c->kind->order != NULL)
        chunk.own = job->c->kind->order(tfs_edit_doc(edit), chunk.key);
    tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(bytes);
    return err->code;
}

static int make_steps(struct job *job, struct tfs_error *err)
{
    const struct tfs_folder_commit *c = job->c;
    struct tfs_edit edit;

    if (tfs_edit_open(job->before, &edit, err) < 0)
        return err->code;
    if (c->kind->renew != NULL)
        c->kind->renew(c->save->doc->facts, c->newer, &edit, err);
    for (size_t i = 0; i < job->count && err->code == 0; i++)
        make_step(job, &edit, &job->steps[i], err);
    if (err->code == 0)
        job->after = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What was read of chunks that stay is known of them in the new file, too. */
static void keep_sums(const struct job *job)
{
    struct tfs_folder *own = tfs_folder_of(job->c->save);
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

static int fill(struct job *job, struct tfs_replacement *r, struct tfs_error *err)
{
    const struct tfs_save *save = job->c->save;
    struct tfs_save one = tfs_folder_one(save, job->path);
    struct tfs_file_handle handle = {.fd = r->fd};
    struct tfs_doc *written = NULL;
    struct tfs_hash hash;

    one.doc = job->before;
    one.checked = job->after;
    if (tfs_whole_file_fill(&one, job->after, r, &written, &hash, err) < 0)
        return err->code;
    handle.st.st_size = (off_t)hash.size;
    if (tfs_folder_file_make(save, save->doc->facts, job->key, &handle, written, &job->made, err) ==
        0) {
        job->made->hash = hash;
        job->made->hashed = true;
        job->made->reading = job->known != NULL ? job->known->reading : job->c->own->reading;
        keep_sums(job);
    }
    tfs_doc_unref(written);
    return err->code;
}

/* Has the file all of the commit then, and nothing to lose later? */
static bool is_whole(const struct job *job)
{
    const struct tfs_folder_step *next = job->steps + job->count;

    return job->count == 0 || next == job->c->steps + job->c->count ||
           tfs_key_compare(next->file, job->key) != 0;
}

/* What takes the place of a file, or is about to (all 0: nothing), is told to whoever keeps a
 * journal. */
static int tell(const struct job *job, struct tfs_hash hash, struct tfs_error *err)
{
    const struct tfs_rewrite *rewrite = &job->c->save->rewrite;

    return rewrite->wrote == NULL
               ? 0
               : rewrite->wrote(rewrite->arg, job->key, hash, is_whole(job), err);
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* The file on disk is the new one: so is what is known of it. There is room. The caller holds the
 * lock. */
static void know(struct job *job)
{
    struct tfs_folder_files *files = &job->c->own->index.files;
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
    struct tfs_folder *own = job->c->own;

    pthread_mutex_lock(&own->lock);
    tfs_replacement_take(taking);
    job->renamed = job->old.fd == job->written;
    if (job->renamed) {
        job->made->st = job->old.st;
        know(job);
    } else if (job->known != NULL) {
        job->known->st = job->old.st; /* a second name may have moved its ctime */
    }
    if (job->c->kind->payload == NULL)
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
    tfs_folder_make(job->c->save, directory, err);
    free(directory);
    return err->code;
}

static int replace(struct job *job, struct tfs_error *err)
{
    const struct tfs_folder_commit *c = job->c;
    struct tfs_replacement r;

    if (make_directory(job, err) < 0 ||
        tfs_replacement_open(job->path, job->old.fd < 0 ? NULL : &job->old, &r, err) < 0)
        return err->code;
    if ((job->old.fd < 0 && tfs_replacement_give(&r, &c->save->st, err) < 0) ||
        fill(job, &r, err) < 0 || reserve(c->own, err) < 0 || tell(job, job->made->hash, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    job->written = r.fd;
    r.keeper = c->save->keeper;
    r.moment = take_place;
    r.moment_arg = job;
    tfs_replacement_finish(&r, &job->old, err);
    c->own->unsure = c->own->unsure || (job->renamed && err->code < 0);
    return job->renamed ? 1 : err->code;
}

/* ---- removing -------------------------------------------------------------------------------- */

static int remove_file(struct job *job, struct tfs_error *err)
{
    struct tfs_save *save = job->c->save;
    struct tfs_folder *own = job->c->own;

    if (job->known == NULL)
        return 1;
    char *path = tfs_file_directory(job->path);
    const int directory = path == NULL ? -ENOMEM : tfs_directory_open(path);
    free(path);
    if (directory < 0)
        return tfs_fail(err, directory, "its folder cannot be opened: %s", strerror(-directory));
    if (tell(job, (struct tfs_hash){0}, err) < 0) {
        close(directory);
        return err->code;
    }
    pthread_mutex_lock(&own->lock);
    const bool removed = tfs_file_remove(directory, job->path, &job->old, save->keeper, err) == 0;
    if (removed)
        know(job);
    else
        job->known->st = job->old.st;
    pthread_mutex_unlock(&own->lock);
    const int result = removed ? tfs_directory_sync(directory) : 0;
    close(directory);
    own->unsure = own->unsure || result < 0;
    if (result < 0)
        tfs_fail(err, -EIO, "a removal cannot be made durable: %s", strerror(-result));
    return removed ? 1 : err->code;
}

int tfs_folder_write_file(const struct tfs_folder_commit *commit, struct tfs_key file,
                          const struct tfs_folder_step *steps, size_t count, struct tfs_error *err)
{
    struct job job = {.c = commit, .key = file, .old.fd = -1, .steps = steps, .count = count};
    struct tfs_error why = {0};
    char path[TFS_FOLDER_PATH];
    int result = begin(&job, &why);

    if (result == 0)
        result = make_steps(&job, &why);
    if (result == 0)
        result = job.after->count == 0 && !commit->kind->keeps_empty ? remove_file(&job, &why)
                                                                     : replace(&job, &why);
    if (why.code < 0) {
        commit->kind->path(file, path);
        tfs_fail(err, why.code, "%s: %s", path, why.text);
    }
    job_release(&job);
    return result;
}
