/*
 * Changed chunks of a region of a zone -> its file: replaced, made or removed as a whole.
 *
 * Must not know bodies, nor in which order files are written (formats/folder.h). A region is read
 * whole, changed, encoded, written beside the old file, read back and compared before it takes its
 * place; one without chunks has no file. Every chunk that stays keeps its bytes and its place in
 * the data.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "formats/cosmic_reach/zone.h"

/* A region being written. */
struct job {
    struct tfs_save *save;
    struct tfs_key region;
    char *path;
    const struct tfs_cosmic_region_file *known; /* NULL: there is no file yet */
    struct tfs_file_handle old;                 /* fd -1: there is none */
    struct tfs_doc *before, *after;             /* of this region alone */
    struct tfs_cosmic_region_file *made;        /* what is known of the new file */
    bool whole;                                 /* no change of it comes later */
    int written;                                /* fd of the new file */
    bool renamed;                               /* it has taken its place */
};

static struct tfs_cosmic_zone *zone_of(const struct job *job)
{
    return tfs_cosmic_zone_of(job->save);
}

static void job_release(struct job *job)
{
    free(job->path);
    tfs_file_close(&job->old);
    tfs_doc_unref(job->before);
    tfs_doc_unref(job->after);
    tfs_cosmic_region_file_unref(job->made);
}

/* ---- before ---------------------------------------------------------------------------------- */

/* What a region that is not there yet would be, empty. A region that was there when the zone was
 * read, and lost its last chunk since, comes back as it was. */
static int begin_new(struct job *job, struct tfs_error *err)
{
    const struct tfs_cosmic_zone_facts *zone = tfs_cosmic_zone_facts(job->save->doc);
    const struct tfs_cosmic_region_file *once =
        tfs_cosmic_zone_region(zone, tfs_cosmic_column_key(job->region, 0));
    struct tfs_facts *facts = NULL;

    if (tfs_facts_create(sizeof(struct tfs_cosmic_facts), &facts, err) < 0)
        return err->code;
    struct tfs_cosmic_facts *own = tfs_cosmic_facts_of(facts);
    *own = once == NULL || once->left_out ? zone->newest : once->facts;
    own->zone = false;
    own->named = true;
    own->region = job->region;
    tfs_doc_create(facts, &job->before, err);
    tfs_facts_unref(facts);
    return err->code;
}

/* Opens and reads the old file, which must be the one that is known. */
static int begin_old(struct job *job, struct tfs_error *err)
{
    const uint64_t limit = job->save->options.inflate_limit;
    struct tfs_blob *bytes = NULL;

    if (job->known->refusal != NULL)
        return tfs_fail(err, -EROFS, "it cannot be written: %s", job->known->refusal);
    /* A program that writes one region alone locks the folder for that, and we have that lock: so
     * the file is free, but for programs that are no terrainfs. */
    if (tfs_file_open(job->path, false, &job->old, err) == -ENOENT) {
        tfs_error_reset(err);
        return tfs_fail(err, -ESTALE, "was removed by another program since it was read");
    }
    if (err->code == 0 && tfs_file_read(&job->old, limit, &bytes, err) == 0) {
        if (!tfs_file_same(&job->old.st, &job->known->file.st))
            tfs_fail(err, -ESTALE, "was changed by another program since it was read");
        else
            tfs_cosmic_region_decode(job->path, limit, bytes, &job->before, err);
    }
    tfs_blob_unref(bytes);
    return err->code;
}

static int begin(struct job *job, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = zone_of(job);

    job->path = tfs_cosmic_zone_path(&own->index, job->region);
    pthread_mutex_lock(&own->lock);
    job->known = (struct tfs_cosmic_region_file *)tfs_folder_find(&own->index.files, job->region);
    pthread_mutex_unlock(&own->lock);
    if (job->path == NULL)
        return tfs_fail_memory(err);
    return job->known == NULL ? begin_new(job, err) : begin_old(job, err);
}

/* ---- changing -------------------------------------------------------------------------------- */

static int make_step(struct job *job, struct tfs_edit *edit, const struct tfs_folder_step *step,
                     struct tfs_error *err)
{
    const bool columns = tfs_cosmic_facts(job->before)->version > TFS_COSMIC_VERSION_TABLE_MAX;
    struct tfs_chunk chunk;
    struct tfs_blob *bytes = NULL;

    if (step->chunk == NULL)
        return tfs_edit_remove(edit, step->key, err);
    int status = tfs_chunk_load(job->save, step->chunk, &bytes, err);
    if (status < 0)
        return status;
    chunk = *step->chunk;
    chunk.blob = bytes;
    chunk.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    chunk.slot = TFS_SLOT_NONE;
    chunk.own = tfs_cosmic_order_at(tfs_edit_doc(edit), chunk.key, columns);
    tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(bytes);
    return err->code;
}

static int make_steps(struct job *job, const struct tfs_folder_step *steps, size_t count,
                      struct tfs_error *err)
{
    struct tfs_edit edit;
    int status = 0;

    if (tfs_edit_open(job->before, &edit, err) < 0)
        return err->code;
    for (size_t i = 0; i < count && status == 0; i++)
        status = make_step(job, &edit, &steps[i], err);
    if (status == 0)
        job->after = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return status;
}

/* ---- verification ---------------------------------------------------------------------------- */

static int verify(struct job *job, struct tfs_replacement *r, struct tfs_error *err)
{
    struct tfs_blob *bytes = NULL;
    struct tfs_doc *written = NULL;
    struct tfs_error why = {0};

    if (tfs_replacement_read(r, &bytes, err) < 0)
        return err->code;
    if (tfs_cosmic_region_decode(job->path, job->save->options.inflate_limit, bytes, &written,
                                 &why) == 0 &&
        tfs_doc_check_written(job->after, written, &why) == 0)
        tfs_cosmic_region_file_make(job->region, &job->old.st, written, &job->made, &why);
    if (why.code == 0) {
        job->made->file.hash = tfs_hash_of(tfs_blob_span(bytes));
        job->made->file.hashed = true;
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
    struct tfs_cosmic_zone *own = zone_of(job);
    struct tfs_error ignored = {0};

    if (job->known != NULL) {
        struct tfs_cosmic_region_file *known =
            (struct tfs_cosmic_region_file *)tfs_folder_find(&own->index.files, job->region);
        tfs_folder_remove(&own->index.files, &known->file);
        tfs_cosmic_region_file_unref(known);
        job->known = NULL;
    }
    if (job->made != NULL && tfs_folder_add(&own->index.files, &job->made->file, &ignored) == 0)
        job->made = NULL;
}

/* The old file is still there; a second name may have moved its ctime. The caller holds the
 * lock. */
static void still_known(const struct job *job)
{
    tfs_folder_find(&zone_of(job)->index.files, job->region)->st = job->old.st;
}

/* Nobody fetches a chunk between the rename and what is known of the new file. */
static void take_place(void *arg, const struct tfs_taking *taking)
{
    struct job *job = arg;
    struct tfs_cosmic_zone *own = zone_of(job);

    pthread_mutex_lock(&own->lock);
    tfs_replacement_take(taking);
    job->renamed = job->old.fd == job->written;
    if (job->renamed) {
        job->made->file.st = job->old.st;
        know(job);
    } else if (job->old.fd >= 0) {
        still_known(job);
    }
    pthread_mutex_unlock(&own->lock);
}

int tfs_cosmic_zone_make_folder(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct stat like = save->st;
    int fd;

    if (!own->lock_is_parent)
        return 0;
    like.st_mode |= 0400;
    if (tfs_folder_make(own->index.regions.path, &like, "the zone", err) < 0 ||
        tfs_folder_lock(own->index.regions.path, TFS_FOLDER_EXCLUSIVE, &fd, err) < 0)
        return err->code;
    pthread_mutex_lock(&own->lock);
    own->folder_fd = own->lock_fd;
    own->lock_fd = fd;
    own->lock_is_parent = false;
    tfs_cosmic_zone_index_watch(&own->index);
    pthread_mutex_unlock(&own->lock);
    return 0;
}

/* The list may move in memory meanwhile, and others read it. */
static int reserve(struct tfs_cosmic_zone *own, struct tfs_error *err)
{
    pthread_mutex_lock(&own->lock);
    tfs_folder_reserve(&own->index.files, err);
    pthread_mutex_unlock(&own->lock);
    return err->code;
}

static int replace(struct job *job, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = zone_of(job);
    struct tfs_replacement r;

    if (tfs_cosmic_zone_make_folder(job->save, err) < 0 ||
        tfs_replacement_open(job->path, job->old.fd < 0 ? NULL : &job->old, &r, err) < 0)
        return err->code;
    if ((job->old.fd < 0 && tfs_replacement_give(&r, &job->save->st, err) < 0) ||
        tfs_cosmic_region_encode(job->after, &r.sink, err) < 0 || verify(job, &r, err) < 0 ||
        reserve(own, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    job->written = r.fd;
    tfs_folder_wrote(job->save, job->region, job->made->file.hash, job->whole);
    r.keeper = job->save->keeper;
    r.moment = take_place;
    r.moment_arg = job;
    tfs_replacement_finish(&r, &job->old, err);
    if (job->renamed && err->code < 0)
        tfs_folder_unsure(&own->index.files, &own->lock, job->region);
    return job->renamed ? 1 : err->code;
}

/* ---- removing -------------------------------------------------------------------------------- */

static void set_unsure(struct tfs_cosmic_zone *own, bool unsure)
{
    pthread_mutex_lock(&own->lock);
    own->unsure = unsure;
    pthread_mutex_unlock(&own->lock);
}

static int sync_removal(struct tfs_cosmic_zone *own, int directory, struct tfs_error *err)
{
    int result = tfs_directory_sync(directory);

    set_unsure(own, result < 0);
    if (result == 0)
        return 0;
    return tfs_fail(err, -EIO, "a removal cannot be made durable: %s", strerror(-result));
}

/* A region without chunks has no file. */
static int remove_file(struct job *job, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = zone_of(job);

    if (job->known == NULL)
        return 1;
    int directory = tfs_directory_open(own->index.regions.path);
    if (directory < 0)
        return tfs_fail(err, directory, "its folder cannot be opened: %s", strerror(-directory));
    tfs_folder_wrote(job->save, job->region, (struct tfs_hash){0}, job->whole);
    pthread_mutex_lock(&own->lock);
    const bool removed =
        tfs_file_remove(directory, job->path, &job->old, job->save->keeper, err) == 0;
    if (removed)
        know(job);
    else
        still_known(job);
    pthread_mutex_unlock(&own->lock);
    if (removed)
        sync_removal(own, directory, err);
    close(directory);
    return removed ? 1 : err->code;
}

/* tfs_folder_writer.write */
static int write_region(void *arg, struct tfs_key region, const struct tfs_folder_step *steps,
                        size_t count, bool whole, struct tfs_error *err)
{
    struct job job = {.save = arg, .region = region, .old.fd = -1, .whole = whole};
    struct tfs_cosmic_zone *own = zone_of(&job);
    struct tfs_error why = {0};
    char name[TFS_COSMIC_REGION_NAME];
    int result = begin(&job, &why);

    if (result == 0)
        result = make_steps(&job, steps, count, &why);
    if (result == 0)
        result = job.after->count == 0 ? remove_file(&job, &why) : replace(&job, &why);
    if (why.code < 0) {
        tfs_cosmic_region_name(region, name);
        tfs_fail(err, why.code, "regions/%s: %s", name, why.text);
    }
    job_release(&job);
    /* Also what failed made and removed a file, which was not somebody else. */
    pthread_mutex_lock(&own->lock);
    tfs_cosmic_zone_index_watch(&own->index);
    pthread_mutex_unlock(&own->lock);
    return result;
}

/* ---- all regions ----------------------------------------------------------------------------- */

static struct tfs_key file_of(void *arg, struct tfs_key chunk, uint32_t *index)
{
    (void)arg;
    *index = tfs_cosmic_table_slot(chunk);
    return tfs_cosmic_region_of(chunk);
}

/* From the file with that number on; *at: the number of the one behind it. */
static bool find_unsure(struct tfs_cosmic_zone *own, size_t *at, struct tfs_key *region)
{
    bool found = false;

    pthread_mutex_lock(&own->lock);
    for (; *at < own->index.files.count && !found; ++*at) {
        found = own->index.files.files[*at]->unsure;
        *region = own->index.files.files[*at]->key;
    }
    pthread_mutex_unlock(&own->lock);
    return found;
}

/* A sync that failed is not asked again: first a name that comes and goes gives the disk the
 * directory once more. */
static int settle_removals(struct tfs_cosmic_zone *own, struct tfs_error *err)
{
    const char *folder = own->index.regions.path;
    struct tfs_replacement r;
    char *path = NULL;

    pthread_mutex_lock(&own->lock);
    const bool unsure = own->unsure;
    pthread_mutex_unlock(&own->lock);
    if (!unsure)
        return 0;
    if (tfs_print(&path, "%s/region", folder) < 0)
        return tfs_fail_memory(err);
    int directory = tfs_directory_open(folder);
    if (directory < 0) {
        tfs_fail(err, directory, "its folder cannot be opened: %s", strerror(-directory));
    } else if (tfs_replacement_open(path, NULL, &r, err) == 0) {
        tfs_replacement_cancel(&r);
        sync_removal(own, directory, err);
    }
    if (directory >= 0)
        close(directory);
    free(path);
    pthread_mutex_lock(&own->lock);
    tfs_cosmic_zone_index_watch(&own->index);
    pthread_mutex_unlock(&own->lock);
    return err->code;
}

static int expect_unsure(struct tfs_cosmic_zone *own, struct tfs_folder_commit *commit)
{
    struct tfs_key region;

    for (size_t at = 0; commit->err->code == 0 && find_unsure(own, &at, &region);)
        tfs_folder_commit_expect(commit, region);
    return commit->err->code;
}

/* Regions whose last commit is not known to be durable: one that was written is known anew. */
static int write_unsure(struct tfs_cosmic_zone *own, struct tfs_folder_commit *commit)
{
    struct tfs_key region;

    for (size_t at = 0; commit->err->code == 0 && find_unsure(own, &at, &region); at = 0)
        tfs_folder_commit_file(commit, region);
    return commit->err->code < 0 ? commit->err->code : settle_removals(own, commit->err);
}

int tfs_cosmic_zone_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                          struct tfs_error *err)
{
    const struct tfs_folder_writer writer = {file_of, write_region, save};
    struct tfs_folder_commit commit;

    if (tfs_folder_commit_open(save, doc, &writer, &commit, err) == 0)
        *reached = expect_unsure(tfs_cosmic_zone_of(save), &commit) == 0 &&
                           tfs_folder_commit_chunks(&commit) == 0 &&
                           write_unsure(tfs_cosmic_zone_of(save), &commit) == 0
                       ? tfs_doc_ref(doc)
                       : tfs_folder_commit_reached(&commit);
    tfs_folder_commit_close(&commit);
    return err->code;
}
