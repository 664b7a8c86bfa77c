/*
 * Changed blocks of a region -> its file, replaced as a whole (base/file.h) after it was read back.
 *
 * Must not know blocks, nor in which order files are written (formats/folder.h). meta.vxrm comes
 * last, if an upgrade changed it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/godot_voxel/folder.h"
#include "formats/godot_voxel/rules.h"
#include "formats/undo/undo.h"

struct writer {
    struct tfs_save *save;
    struct tfs_godot_folder *own;
    bool newer; /* headers of version 2 become those of version 3 */
};

/* ---- one region file ------------------------------------------------------------------------- */

/* A region being written. */
struct region_job {
    struct tfs_sectors_change *changes;
    size_t count;
    char *path;
    struct tfs_file_handle old; /* fd -1: there is none yet */
    struct tfs_blob *bytes;     /* the old file */
    struct tfs_godot_region_file before;
    struct tfs_godot_region_file *after; /* allocated: the index takes it over */
    bool whole;                          /* no change of it comes later */
    const struct writer *writer;
    int written;  /* fd of the new file */
    bool renamed; /* it has taken its place */
};

static int make_changes(struct region_job *job, const struct tfs_folder_step *steps, size_t count,
                        struct tfs_error *err)
{
    job->after = calloc(1, sizeof(*job->after));
    job->changes = reallocarray(NULL, count + 1, sizeof(*job->changes));
    if (job->changes == NULL || job->after == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct tfs_chunk *chunk = steps[i].chunk;
        struct tfs_span stored = tfs_blob_span(chunk == NULL ? NULL : chunk->blob);
        job->changes[job->count++] = (struct tfs_sectors_change){steps[i].index, stored};
    }
    return 0;
}

static int make_directories(const struct writer *w, uint32_t lod, struct tfs_error *err)
{
    const struct tfs_folder_watch *watches = w->own->index.watches;
    const struct stat *like = &w->own->index.meta_st;

    return tfs_folder_make(watches[0].path, like, TFS_GODOT_META_NAME, err) < 0
               ? err->code
               : tfs_folder_make(watches[1 + lod].path, like, TFS_GODOT_META_NAME, err);
}

/* What a region that is not there yet would be, empty. */
static void begin_new(const struct writer *w, struct region_job *job)
{
    const struct tfs_godot_meta *meta = &w->own->index.meta;
    struct tfs_godot_region *region = &job->before.region;

    region->version = (uint8_t)meta->version;
    region->po2 = meta->po2;
    region->x = region->y = region->z = UINT32_C(1) << meta->region_po2;
    memcpy(region->depths, meta->depths, sizeof(region->depths));
    region->sectors.size = meta->sector_size;
    tfs_godot_region_place(region, TFS_GODOT_REGION_HEADER_2);
}

/* Opens and reads the old file, which must be the one that is known. */
static int begin_old(const struct writer *w, struct region_job *job,
                     const struct tfs_godot_region_file *known, struct tfs_error *err)
{
    if (tfs_file_open(job->path, false, &job->old, err) < 0)
        return err->code;
    if (!tfs_file_same(&job->old.st, &known->file.st))
        return tfs_fail(err, -ESTALE, "was changed by another program since it was read");
    if (tfs_file_read(&job->old, w->save->options.inflate_limit, &job->bytes, err) < 0)
        return err->code;
    return tfs_godot_region_file_parse(tfs_blob_span(job->bytes), job->bytes->size,
                                       &w->own->index.meta, &job->before, err);
}

static int begin(const struct writer *w, struct region_job *job, struct tfs_error *err)
{
    const struct tfs_key key = job->before.file.key;
    const struct tfs_godot_region_file *known = tfs_godot_index_find(&w->own->index, key);

    job->path = tfs_godot_folder_region_path(w->save->path, key);
    if (job->path == NULL)
        return tfs_fail_memory(err);
    if (known != NULL)
        return begin_old(w, job, known, err);
    begin_new(w, job);
    return make_directories(w, key.group, err);
}

static void job_release(struct region_job *job)
{
    free(job->changes);
    free(job->path);
    tfs_file_close(&job->old);
    tfs_blob_unref(job->bytes);
    tfs_godot_region_file_release(&job->before);
    tfs_godot_region_file_free(job->after);
}

static void put_header(const struct writer *w, const struct region_job *job, struct tfs_buf *out)
{
    const struct tfs_godot_region *region = &job->before.region;
    bool newest = w->newer || w->own->index.meta.version == TFS_GODOT_REGION_VERSION_MAX;
    bool new = job->old.fd < 0;

    if (newest && (new || region->version < TFS_GODOT_REGION_VERSION_MAX)) {
        tfs_godot_region_header(region, out);
    } else if (new) {
        tfs_buf_add_text(out, TFS_GODOT_REGION_MAGIC);
        tfs_buf_u8(out, TFS_GODOT_REGION_VERSION_MIN);
    } else {
        tfs_buf_add(out, job->bytes->data, region->sectors.table);
    }
}

/* The file with all its extents, which are to be freed. */
static int make_whole(const struct tfs_godot_region_file *file, const struct tfs_blob *bytes,
                      struct tfs_extent **extents, struct tfs_sectors_file *whole,
                      struct tfs_error *err)
{
    const struct tfs_sectors *sectors = &file->region.sectors;

    *extents = calloc(sectors->entries, sizeof(**extents));
    if (*extents == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < file->count; i++)
        (*extents)[file->slots[i].index] = file->slots[i].extent;
    *whole = (struct tfs_sectors_file){sectors, tfs_blob_span(bytes), *extents};
    return 0;
}

static int write_region(const struct writer *w, const struct region_job *job, struct tfs_sink *sink,
                        struct tfs_error *err)
{
    struct tfs_extent *extents = NULL;
    struct tfs_sectors_file old;
    struct tfs_buf header = {0};

    put_header(w, job, &header);
    if (tfs_buf_check(&header, err) == 0 &&
        make_whole(&job->before, job->bytes, &extents, &old, err) == 0)
        tfs_sectors_write(&old, tfs_buf_span(&header), job->changes, job->count, sink, err);
    tfs_buf_release(&header);
    free(extents);
    return err->code;
}

/* ---- verification ---------------------------------------------------------------------------- */

static int check_blocks(const struct region_job *job, const struct tfs_blob *bytes,
                        struct tfs_error *err)
{
    struct tfs_extent *before = NULL, *after = NULL;
    struct tfs_sectors_file old, written;

    if (make_whole(&job->before, job->bytes, &before, &old, err) == 0 &&
        make_whole(job->after, bytes, &after, &written, err) == 0 &&
        !tfs_sectors_written(&old, &written, job->changes, job->count))
        tfs_fail(err, -EIO,
                 "the region does not read back as it was written: a block is another one");
    free(before);
    free(after);
    return err->code;
}

static int verify(const struct writer *w, struct region_job *job, struct tfs_replacement *r,
                  struct tfs_error *err)
{
    struct tfs_blob *written = NULL;
    struct tfs_error why = {0};

    if (tfs_replacement_read(r, &written, err) < 0)
        return err->code;
    job->after->file.key = job->before.file.key;
    job->after->file.hash = tfs_hash_of(tfs_blob_span(written));
    job->after->file.hashed = true;
    if (tfs_godot_region_file_parse(tfs_blob_span(written), written->size, &w->own->index.meta,
                                    job->after, &why) < 0)
        tfs_fail(err, why.code == -ENOMEM ? why.code : -EIO,
                 "the region does not read back as it was written: %s", why.text);
    else
        check_blocks(job, written, err);
    tfs_blob_unref(written);
    return err->code;
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* The file on disk is the new one: so is what is known of it. There is room. */
static void know(const struct writer *w, struct region_job *job)
{
    struct tfs_godot_region_file *known =
        tfs_godot_index_find(&w->own->index, job->after->file.key);
    struct tfs_error ignored = {0};

    job->after->file.st = job->old.st;
    if (known != NULL) {
        struct tfs_godot_region_file before = *known;
        *known = *job->after;
        *job->after = before;
    } else if (tfs_folder_add(&w->own->index.files, &job->after->file, &ignored) == 0) {
        job->after = NULL;
    }
}

/* Nobody fetches a block between the rename and the new table. */
static void take_place(void *arg, const struct tfs_taking *taking)
{
    struct region_job *job = arg;
    struct tfs_godot_folder *own = job->writer->own;

    pthread_mutex_lock(&own->lock);
    tfs_replacement_take(taking);
    job->renamed = job->old.fd == job->written;
    if (job->renamed)
        know(job->writer, job);
    else if (job->old.fd >= 0) /* a second name may have moved its ctime */
        tfs_godot_index_find(&own->index, job->before.file.key)->file.st = job->old.st;
    tfs_recent_clear(&own->opened);
    pthread_mutex_unlock(&own->lock);
}

/* What is to be known of the new file behind the rename finds its place before. The list may move
 * in memory meanwhile, and others read it. */
static int reserve(struct writer *w, struct tfs_error *err)
{
    pthread_mutex_lock(&w->own->lock);
    tfs_folder_reserve(&w->own->index.files, err);
    pthread_mutex_unlock(&w->own->lock);
    return err->code;
}

static int replace(struct writer *w, struct region_job *job, struct tfs_error *err)
{
    struct tfs_replacement r;

    if (tfs_replacement_open(job->path, job->old.fd < 0 ? NULL : &job->old, &r, err) < 0)
        return err->code;
    if ((job->old.fd < 0 && tfs_replacement_give(&r, &w->own->index.meta_st, err) < 0) ||
        write_region(w, job, &r.sink, err) < 0 || verify(w, job, &r, err) < 0 ||
        reserve(w, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    job->written = r.fd;
    tfs_folder_wrote(w->save, job->before.file.key, job->after->file.hash, job->whole);
    r.keeper = w->save->keeper;
    r.moment = take_place;
    r.moment_arg = job;
    tfs_replacement_finish(&r, &job->old, err);
    if (job->renamed && err->code < 0)
        tfs_folder_unsure(&w->own->index.files, &w->own->lock, job->before.file.key);
    return job->renamed ? 1 : err->code;
}

/* tfs_folder_writer.write */
static int write_one(void *arg, struct tfs_key key, const struct tfs_folder_step *steps,
                     size_t count, bool whole, struct tfs_error *err)
{
    struct writer *w = arg;
    struct region_job job = {.old.fd = -1, .before.file.key = key, .whole = whole, .writer = w};
    struct tfs_error why = {0};
    char name[TFS_GODOT_REGION_NAME];
    int result = make_changes(&job, steps, count, &why);

    if (result == 0)
        result = begin(w, &job, &why);
    if (result == 0)
        result = replace(w, &job, &why);
    if (why.code < 0) {
        tfs_godot_region_name(key, name);
        tfs_fail(err, why.code, "regions/lod%u/%s: %s", key.group, name, why.text);
    }
    job_release(&job);
    /* Also what failed made and removed a file, which was not somebody else. */
    pthread_mutex_lock(&w->own->lock);
    tfs_godot_index_watch(&w->own->index, key.group);
    pthread_mutex_unlock(&w->own->lock);
    return result;
}

static struct tfs_key file_of(void *arg, struct tfs_key block, uint32_t *index)
{
    const struct writer *w = arg;

    return tfs_godot_folder_region_of(&w->own->index.meta, block, index);
}

/* ---- all regions ----------------------------------------------------------------------------- */

/* Regions that no block made new: those of version 2 in an upgrade, and those whose last commit is
 * not known to be durable. */
static int each_other(const struct writer *w, struct tfs_folder_commit *commit,
                      int (*call)(struct tfs_folder_commit *commit, struct tfs_key file))
{
    for (size_t i = 0; i < w->own->index.files.count; i++) {
        const struct tfs_godot_region_file *file = tfs_godot_index_at(&w->own->index, i);
        bool old = w->newer && file->region.version < TFS_GODOT_REGION_VERSION_MAX;
        if ((old || file->file.unsure) && call(commit, file->file.key) < 0)
            return commit->err->code;
    }
    return 0;
}

static int expect_meta(const struct writer *w, struct tfs_error *err)
{
    char *path = tfs_godot_folder_meta_path(w->save->path);

    if (path == NULL)
        return tfs_fail_memory(err);
    tfs_undo_expect(w->save->keeper, path);
    free(path);
    return 0;
}

static int write_meta(const struct writer *w, struct tfs_folder_commit *commit,
                      struct tfs_blob *text)
{
    char *path = tfs_godot_folder_meta_path(w->save->path);
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;
    struct tfs_error *err = commit->err;

    if (path == NULL)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, &file, err) == 0 &&
        !tfs_file_same(&file.st, &w->own->index.meta_st))
        tfs_fail(err, -ESTALE, "meta.vxrm was changed by another program since it was read");
    if (err->code == 0 && tfs_replacement_open(path, &file, &r, err) == 0) {
        r.keeper = w->save->keeper;
        if (tfs_sink_span(&r.sink, tfs_blob_span(text), err) < 0)
            tfs_replacement_cancel(&r);
        else if (tfs_replacement_finish(&r, &file, err) == 0)
            tfs_edit_common(&commit->reached, text);
        /* Ours, also when only its directory could not be made durable; and a second name may have
         * moved the ctime of the old one. */
        w->own->index.meta_st = file.st;
    }
    tfs_file_close(&file);
    free(path);
    return err->code;
}

static int write_all(struct writer *w, struct tfs_folder_commit *commit)
{
    struct tfs_blob *meta = tfs_godot_meta_text(commit->doc);

    w->newer = !tfs_blob_equal(meta, tfs_godot_meta_text(w->save->doc));
    if ((w->newer && expect_meta(w, commit->err) < 0) ||
        each_other(w, commit, tfs_folder_commit_expect) < 0 ||
        tfs_folder_commit_chunks(commit) < 0 || each_other(w, commit, tfs_folder_commit_file) < 0)
        return commit->err->code;
    return w->newer ? write_meta(w, commit, meta) : 0;
}

int tfs_godot_folder_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                           struct tfs_error *err)
{
    struct writer w = {.save = save, .own = tfs_godot_folder_of(save)};
    const struct tfs_folder_writer writer = {file_of, write_one, &w};
    struct tfs_folder_commit commit;

    if (tfs_folder_commit_open(save, doc, &writer, &commit, err) == 0)
        *reached =
            write_all(&w, &commit) == 0 ? tfs_doc_ref(doc) : tfs_folder_commit_reached(&commit);
    tfs_folder_commit_close(&commit);
    return err->code;
}
