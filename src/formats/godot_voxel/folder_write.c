/*
 * What changed in a document -> the region files of a folder, replaced one after another.
 *
 * Must not know blocks. The order, so that a crash between two files never loses a block:
 *   1. regions that gain or change blocks, by level, y, z, x; what they lose stays in them, if
 * there is more than one file to write;
 *   2. regions that lose blocks;
 *   3. meta.vxrm, if an upgrade changed it.
 * So at every instant each block is what it was or what it shall be, and one that moves between two
 * regions may be in both. Each file is replaced as a whole (base/file.h), after it was read back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/godot_voxel/folder.h"
#include "formats/godot_voxel/rules.h"

/* One block that changes. */
struct step {
    struct tfs_key region; /* that it is in */
    uint32_t index;
    struct tfs_key block;
    struct tfs_blob *stored; /* the document's; NULL: there is none any more */
    bool done;
};

struct writer {
    struct tfs_save *save;
    struct tfs_godot_folder *own;
    struct tfs_doc *doc;
    struct step *steps;
    size_t count;
    struct tfs_edit reached; /* what the disk holds */
    bool newer;              /* headers of version 2 become those of version 3 */
    struct tfs_error *err;
};

/* ---- steps ----------------------------------------------------------------------------------- */

static int add_step(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct writer *w = arg;
    struct step step = {.block = after == NULL ? before->key : after->key,
                        .stored = after == NULL ? NULL : after->blob};

    if (after != NULL && w->save->tree->chunk_check(w->save, w->doc, after->key, NULL, w->err) < 0)
        return w->err->code;
    struct step *steps = tfs_array_grow(w->steps, w->count, sizeof(*steps));
    if (steps == NULL)
        return tfs_fail_memory(w->err);
    w->steps = steps;
    step.region = tfs_godot_folder_region_of(&w->own->index.meta, step.block, &step.index);
    w->steps[w->count++] = step;
    return 0;
}

static int compare_steps(const void *a, const void *b)
{
    const struct step *left = a, *right = b;
    int order = tfs_key_compare(left->region, right->region);

    if (order != 0)
        return order;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* The end of the run of steps of one region. */
static size_t run_end(const struct writer *w, size_t begin)
{
    size_t end = begin + 1;

    while (end < w->count && tfs_key_compare(w->steps[end].region, w->steps[begin].region) == 0)
        end++;
    return end;
}

/* ---- one region file ------------------------------------------------------------------------- */

/* A region being written. */
struct region_job {
    const struct step *steps; /* of this region */
    size_t step_count;
    bool gains, losses; /* which of them are made now */
    bool always;        /* the file is written even if no block of it changes */
    struct tfs_godot_change *changes;
    size_t count;
    char *path;
    struct tfs_file_handle old; /* fd -1: there is none yet */
    struct tfs_blob *bytes;     /* the old file */
    struct tfs_godot_region_file before, after;
};

static bool is_made(const struct region_job *job, const struct step *step)
{
    return !step->done && (step->stored != NULL ? job->gains : job->losses);
}

static int make_changes(struct region_job *job, struct tfs_error *err)
{
    job->changes = reallocarray(NULL, job->step_count + 1, sizeof(*job->changes));
    if (job->changes == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < job->step_count; i++)
        if (is_made(job, &job->steps[i]))
            job->changes[job->count++] =
                (struct tfs_godot_change){job->steps[i].index, tfs_blob_span(job->steps[i].stored)};
    return 0;
}

/* A directory that root makes belongs to whom the save belongs to. By now its name may be that of
 * another one, which is not ours to give. */
static int give_directory(int parent, const char *name, const struct stat *like)
{
    struct stat st;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    int result = fstat(fd, &st) < 0 ? -errno : 0;
    if (result == 0 && st.st_uid == geteuid())
        result = tfs_file_give(fd, like);
    close(fd);
    return result;
}

/* Without its owner it is taken back: the next commit would find it there, and leave it so. */
static void make_given(int parent, const char *name, const struct stat *like, struct tfs_error *err)
{
    /* Whoever may read meta.vxrm may search the directory. */
    const mode_t mode = (like->st_mode & 0777) | (like->st_mode & 0444) >> 2;
    int result = mkdirat(parent, name, mode) < 0 ? -errno : 0;

    if (result == -EEXIST)
        return;
    if (result < 0) {
        tfs_fail(err, result, "a directory for regions cannot be made: %s", strerror(-result));
        return;
    }
    result = give_directory(parent, name, like);
    if (result == 0)
        return;
    tfs_fail(err, result, "a directory for regions cannot be given to the owner of meta.vxrm: %s",
             strerror(-result));
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Makes a directory durable in its parent. Also one that is there: who made it may have failed, or
 * been killed, before it was. */
static int make_directory(const char *path, const struct stat *like, struct tfs_error *err)
{
    char *parent = tfs_file_directory(path);
    int fd = parent == NULL ? -ENOMEM : tfs_directory_open(parent);

    free(parent);
    if (fd < 0)
        return tfs_fail(err, fd, "the directory of regions cannot be opened: %s", strerror(-fd));
    make_given(fd, strrchr(path, '/') + 1, like, err);
    if (err->code == 0 && fsync(fd) < 0 && errno != EINVAL)
        tfs_fail_errno(err, "the directory of regions cannot be made durable");
    close(fd);
    return err->code;
}

static int make_directories(const struct writer *w, uint32_t lod, struct tfs_error *err)
{
    const struct tfs_godot_watch *watches = w->own->index.watches;
    const struct stat *like = &w->own->index.meta_st;

    return make_directory(watches[0].path, like, err) < 0
               ? err->code
               : make_directory(watches[1 + lod].path, like, err);
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
    region->sector_size = meta->sector_size;
    region->table = TFS_GODOT_REGION_HEADER_2;
    region->begin = region->table + (size_t)4 * tfs_godot_region_entries(region);
}

/* Opens and reads the old file, which must be the one that is known. */
static int begin_old(const struct writer *w, struct region_job *job,
                     const struct tfs_godot_region_file *known, struct tfs_error *err)
{
    if (tfs_file_open(job->path, false, &job->old, err) < 0)
        return err->code;
    if (!tfs_file_same(&job->old.st, &known->st))
        return tfs_fail(err, -ESTALE, "was changed by another program since it was read");
    if (tfs_file_read(&job->old, w->save->options.inflate_limit, &job->bytes, err) < 0)
        return err->code;
    return tfs_godot_region_file_parse(tfs_blob_span(job->bytes), job->bytes->size,
                                       &w->own->index.meta, &job->before, err);
}

static int begin(const struct writer *w, struct region_job *job, struct tfs_error *err)
{
    const struct tfs_key key = job->before.key;
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
    tfs_godot_region_file_release(&job->after);
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
        tfs_buf_add(out, job->bytes->data, region->table);
    }
}

static int write_region(const struct writer *w, struct region_job *job, struct tfs_sink *sink,
                        struct tfs_error *err)
{
    const struct tfs_godot_region *region = &job->before.region;
    struct tfs_godot_extent *extents = calloc(tfs_godot_region_entries(region), sizeof(*extents));
    struct tfs_buf header = {0};

    if (extents == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < job->before.count; i++)
        extents[job->before.slots[i].index] = job->before.slots[i].extent;
    put_header(w, job, &header);
    if (tfs_buf_check(&header, err) == 0)
        tfs_godot_region_write(region, tfs_blob_span(job->bytes), extents, tfs_buf_span(&header),
                               job->changes, job->count, sink, err);
    tfs_buf_release(&header);
    free(extents);
    return err->code;
}

/* ---- verification ---------------------------------------------------------------------------- */

/* The sectors of an entry; empty: it has none. */
static struct tfs_span sectors_of(const struct tfs_godot_region_file *file, struct tfs_span bytes,
                                  uint32_t index)
{
    const struct tfs_godot_slot *slot = tfs_godot_region_file_slot(file, index);

    if (slot == NULL)
        return (struct tfs_span){0};
    return (struct tfs_span){
        bytes.data + tfs_godot_extent_offset(&file->region, slot->extent),
        (size_t)tfs_godot_extent_size(&file->region, slot->extent, bytes.size)};
}

static bool is_block(struct tfs_span sectors, struct tfs_span stored)
{
    struct tfs_error ignored = {0};
    struct tfs_span found;

    if (stored.data == NULL)
        return sectors.size == 0;
    return tfs_godot_region_block(sectors, &found, &ignored) == 0 && tfs_span_equal(found, stored);
}

/* Does `after` begin with all of `before`? A sector that was not whole may have become so. */
static bool is_kept(struct tfs_span before, struct tfs_span after)
{
    return after.size >= before.size && (after.size > 0) == (before.size > 0) &&
           (before.size == 0 || memcmp(before.data, after.data, before.size) == 0);
}

/* Is every block of the new file the old one, or the one that was to be written? */
static bool is_as_meant(const struct region_job *job, struct tfs_span written)
{
    const uint32_t entries = tfs_godot_region_entries(&job->before.region);
    size_t next = 0;

    for (uint32_t i = 0; i < entries; i++) {
        struct tfs_span before = sectors_of(&job->before, tfs_blob_span(job->bytes), i);
        struct tfs_span after = sectors_of(&job->after, written, i);
        bool changed = next < job->count && job->changes[next].index == i;
        if (changed ? !is_block(after, job->changes[next].stored) : !is_kept(before, after))
            return false;
        next += changed;
    }
    return true;
}

static int verify(const struct writer *w, struct region_job *job, struct tfs_replacement *r,
                  struct tfs_error *err)
{
    struct tfs_blob *written = NULL;
    struct tfs_error why = {0};

    if (tfs_replacement_read(r, &written, err) < 0)
        return err->code;
    job->after.key = job->before.key;
    if (tfs_godot_region_file_parse(tfs_blob_span(written), written->size, &w->own->index.meta,
                                    &job->after, &why) < 0)
        tfs_fail(err, why.code == -ENOMEM ? why.code : -EIO,
                 "the region does not read back as it was written: %s", why.text);
    else if (!is_as_meant(job, tfs_blob_span(written)))
        tfs_fail(err, -EIO,
                 "the region does not read back as it was written: a block is another one");
    tfs_blob_unref(written);
    return err->code;
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* The file on disk is the new one: so is what is known of it. There is room. */
static void know(struct writer *w, struct region_job *job)
{
    struct tfs_godot_region_file *known = tfs_godot_index_find(&w->own->index, job->after.key);
    struct tfs_error ignored = {0};

    job->after.st = job->old.st;
    if (known != NULL) {
        tfs_godot_region_file_release(known);
        *known = job->after;
    } else if (tfs_godot_index_add(&w->own->index, &job->after, &ignored) < 0) {
        return;
    }
    job->after.slots = NULL;
}

static int replace(struct writer *w, struct region_job *job, struct tfs_error *err)
{
    struct tfs_replacement r;

    if (tfs_replacement_open(job->path, job->old.fd < 0 ? NULL : &job->old, &r, err) < 0)
        return err->code;
    if ((job->old.fd < 0 && tfs_replacement_give(&r, &w->own->index.meta_st, err) < 0) ||
        write_region(w, job, &r.sink, err) < 0 || verify(w, job, &r, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    const int written = r.fd;
    /* What is to be known of the new file behind the rename finds its place before. */
    if (tfs_godot_index_reserve(&w->own->index, err) < 0) {
        tfs_replacement_cancel(&r);
        return err->code;
    }
    /* Nobody fetches a block between the rename and the new table. */
    pthread_mutex_lock(&w->own->lock);
    tfs_replacement_finish(&r, &job->old, err);
    bool renamed = job->old.fd == written;
    job->after.unsure = err->code < 0;
    if (renamed)
        know(w, job);
    tfs_godot_folder_forget(w->own);
    pthread_mutex_unlock(&w->own->lock);
    return renamed ? 1 : err->code;
}

/* The document that the disk will hold has these steps too: made before the file, because nothing
 * may fail behind it. */
static int look_ahead(struct writer *w, const struct region_job *job, struct tfs_edit *ahead,
                      struct tfs_error *err)
{
    struct tfs_doc *reached = tfs_edit_finish(&w->reached);
    int result = tfs_edit_open(reached, ahead, err);

    tfs_doc_unref(reached);
    for (size_t i = 0; i < job->step_count && result == 0; i++) {
        const struct step *step = &job->steps[i];
        const struct tfs_chunk *chunk = tfs_doc_find(w->doc, step->block);
        if (is_made(job, step))
            result = chunk == NULL ? tfs_edit_remove(ahead, step->block, err)
                                   : tfs_edit_put(ahead, chunk, err);
    }
    return result;
}

/* The file is there. */
static void reach(struct writer *w, const struct region_job *job, struct step *steps,
                  struct tfs_edit *ahead)
{
    for (size_t i = 0; i < job->step_count; i++)
        steps[i].done = steps[i].done || is_made(job, &steps[i]);
    tfs_edit_release(&w->reached);
    w->reached = *ahead;
    *ahead = (struct tfs_edit){0};
}

/* Writes one region with the steps that are to be made now. */
static int write_one(struct writer *w, struct tfs_key key, struct step *steps, size_t count,
                     struct region_job kind)
{
    struct region_job job = kind;
    struct tfs_edit ahead = {0};
    struct tfs_error why = {0};
    char name[TFS_GODOT_REGION_NAME];
    int result;

    job.steps = steps;
    job.step_count = count;
    job.old.fd = -1;
    job.before.key = key;
    result = make_changes(&job, &why);
    if (result == 0 && job.count == 0 && !job.always)
        goto out;
    if (result == 0)
        result = begin(w, &job, &why);
    if (result == 0)
        result = look_ahead(w, &job, &ahead, &why);
    if (result == 0)
        result = replace(w, &job, &why);
    if (result > 0) {
        reach(w, &job, steps, &ahead);
        result = 0;
    }
    if (why.code < 0) {
        tfs_godot_region_name(key, name);
        result = tfs_fail(w->err, why.code, "regions/lod%u/%s: %s", key.group, name, why.text);
    }
out:
    tfs_edit_release(&ahead);
    job_release(&job);
    /* Also what failed made and removed a file, which was not somebody else. */
    pthread_mutex_lock(&w->own->lock);
    tfs_godot_index_watch(&w->own->index, key.group);
    pthread_mutex_unlock(&w->own->lock);
    return result;
}

/* ---- all regions ----------------------------------------------------------------------------- */

static int write_pass(struct writer *w, bool gains, bool losses)
{
    const struct region_job kind = {.gains = gains, .losses = losses};

    for (size_t begin = 0, end; begin < w->count; begin = end) {
        end = run_end(w, begin);
        if (write_one(w, w->steps[begin].region, w->steps + begin, end - begin, kind) < 0)
            return w->err->code;
    }
    return 0;
}

/* Regions that no block made new: those of version 2 in an upgrade, and those whose last commit is
 * not known to be durable. */
static int write_others(struct writer *w)
{
    const struct region_job kind = {.always = true};

    for (size_t i = 0; i < w->own->index.count; i++) {
        const struct tfs_godot_region_file *file = &w->own->index.files[i];
        bool old = w->newer && file->region.version < TFS_GODOT_REGION_VERSION_MAX;
        if ((old || file->unsure) && write_one(w, file->key, NULL, 0, kind) < 0)
            return w->err->code;
    }
    return 0;
}

static int write_meta(struct writer *w, struct tfs_blob *text)
{
    char *path = tfs_godot_folder_meta_path(w->save->path);
    struct tfs_file_handle file = {.fd = -1};
    struct tfs_replacement r;
    struct tfs_error *err = w->err;

    if (path == NULL)
        return tfs_fail_memory(err);
    if (tfs_file_open(path, false, &file, err) == 0 &&
        !tfs_file_same(&file.st, &w->own->index.meta_st))
        tfs_fail(err, -ESTALE, "meta.vxrm was changed by another program since it was read");
    if (err->code == 0 && tfs_replacement_open(path, &file, &r, err) == 0) {
        const int written = r.fd;
        if (tfs_sink_span(&r.sink, tfs_blob_span(text), err) < 0)
            tfs_replacement_cancel(&r);
        else if (tfs_replacement_finish(&r, &file, err) == 0)
            tfs_edit_part(&w->reached, TFS_GODOT_PART_META, text);
        /* Ours, also when only its directory could not be made durable. */
        if (file.fd == written)
            w->own->index.meta_st = file.st;
    }
    tfs_file_close(&file);
    free(path);
    return err->code;
}

static int write_all(struct writer *w)
{
    struct tfs_blob *meta = w->doc->parts[TFS_GODOT_PART_META];
    bool one = w->count > 0 && run_end(w, 0) == w->count;

    w->newer = !tfs_blob_equal(meta, w->save->doc->parts[TFS_GODOT_PART_META]);
    if (write_pass(w, true, one) < 0 || (!one && write_pass(w, false, true) < 0))
        return w->err->code;
    if (write_others(w) < 0)
        return w->err->code;
    return w->newer ? write_meta(w, meta) : 0;
}

int tfs_godot_folder_write(struct tfs_save *save, struct tfs_doc *doc, struct tfs_doc **reached,
                           struct tfs_error *err)
{
    struct writer w = {.save = save, .own = save->own, .doc = doc, .err = err};

    if (tfs_doc_diff(save->doc, doc, add_step, &w) < 0 ||
        tfs_edit_open(save->doc, &w.reached, err) < 0)
        goto out;
    if (w.count > 0)
        qsort(w.steps, w.count, sizeof(*w.steps), compare_steps);
    *reached = write_all(&w) == 0 ? tfs_doc_ref(doc) : tfs_edit_finish(&w.reached);
    tfs_edit_release(&w.reached);
out:
    free(w.steps);
    return err->code;
}
