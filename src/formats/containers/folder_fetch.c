/*
 * A chunk of a folder -> its bytes in its file, for several threads at once.
 *
 * Must not know documents, nor how files change. Files that were fetched from last are kept open,
 * or their payloads (base/recent.h). A file is opened and read without the lock, for that takes
 * longest; it counts only if it is still the file that is known, and what is found to be another
 * one is tried once more with a file that is opened under the lock, where no commit of ours comes
 * in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/refs.h"
#include "formats/containers/folder_state.h"

#define MEMORY_USUAL ((size_t)64 << 20)
#define OPENED_MAX   16 /* files that are kept open */

/* ---- files that are kept --------------------------------------------------------------------- */

static bool opened_is(const void *opened, const void *file)
{
    return ((const struct tfs_folder_opened *)opened)->file == file;
}

static size_t opened_weight(const void *object)
{
    const struct tfs_folder_opened *opened = object;

    return opened->payload == NULL ? MEMORY_USUAL / OPENED_MAX : opened->payload->size;
}

static void opened_ref(void *opened)
{
    tfs_refs_add(&((struct tfs_folder_opened *)opened)->refs);
}

void tfs_folder_opened_unref(struct tfs_folder_opened *opened)
{
    if (opened == NULL || !tfs_refs_drop(&opened->refs))
        return;
    tfs_folder_file_unref(opened->file);
    tfs_blob_unref(opened->payload);
    tfs_file_close(&opened->handle);
    free(opened);
}

static void opened_unref(void *opened)
{
    tfs_folder_opened_unref(opened);
}

static const struct tfs_recent_kind opened_files = {opened_is, opened_weight, opened_ref,
                                                    opened_unref};

void tfs_folder_opened_init(const struct tfs_save *save, struct tfs_recent *recent)
{
    const bool payloads = tfs_folder_kind_of(save)->payload != NULL;

    tfs_recent_init(recent, &opened_files,
                    payloads && save->options.memory > 0 ? save->options.memory : MEMORY_USUAL);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int fail_other(struct tfs_error *err)
{
    tfs_error_reset(err);
    return tfs_fail(err, -ESTALE, "another program changed the region of this chunk");
}

/* The index knows the file: that it is not there is no ENOENT, which means that there is no such
 * chunk. */
static int fail_gone(const struct tfs_save *save, struct tfs_error *err)
{
    struct stat st;

    tfs_error_reset(err);
    if (lstat(save->only != NULL ? save->only : save->path, &st) < 0)
        return tfs_fail(err, -EIO, "the save is not where it was: %s", strerror(errno));
    return tfs_fail(err, -ESTALE, "another program removed the region of this chunk");
}

/* The same bytes: a second name may have moved the ctime. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_payload(const struct tfs_save *save, const struct stat *st,
                        struct tfs_folder_opened *opened, struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(save);
    const uint64_t limit = save->options.inflate_limit;
    struct tfs_blob *bytes = NULL;

    if (!is_same(&opened->handle.st, st))
        return fail_other(err);
    if (kind->payload == NULL)
        return 0;
    if (tfs_file_read(&opened->handle, limit, &bytes, err) == 0) {
        if (is_same(&opened->handle.st, st))
            kind->payload(bytes, limit, &opened->payload, err);
        else
            fail_other(err);
    }
    tfs_blob_unref(bytes);
    tfs_file_close(&opened->handle);
    opened->handle.fd = -1;
    return err->code;
}

/* `st`: what is known of the file. */
static int opened_make(const struct tfs_save *save, struct tfs_folder_file *file,
                       const struct stat *st, struct tfs_folder_opened **opened,
                       struct tfs_error *err)
{
    char *path = tfs_folder_file_path(save, file->key);
    struct tfs_folder_opened *made = calloc(1, sizeof(*made));

    if (path == NULL || made == NULL) {
        free(path);
        free(made);
        return tfs_fail_memory(err);
    }
    atomic_init(&made->refs, 1);
    made->handle.fd = -1;
    made->file = tfs_folder_file_ref(file);
    if (tfs_file_open(path, false, &made->handle, err) == -ENOENT)
        fail_gone(save, err);
    else if (err->code == 0)
        read_payload(save, st, made, err);
    free(path);
    if (err->code < 0)
        tfs_folder_opened_unref(made);
    else
        *opened = made;
    return err->code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_all(int fd, const struct tfs_folder_slot *slot, struct tfs_buf *out,
                    struct tfs_error *err)
{
    uint8_t *room = tfs_buf_reserve(out, slot->size);
    const ssize_t got = room == NULL ? 0 : tfs_file_read_at(fd, slot->offset, room, slot->size);

    if (room == NULL)
        return tfs_buf_check(out, err);
    if (got < 0)
        return tfs_fail(err, (int)got, "the region cannot be read: %s", strerror((int)-got));
    out->size = (size_t)got;
    return out->size == slot->size ? 0
                                   : tfs_fail(err, -EIO, "the region ends before its block does");
}

/* Was it, when all was read, still the file that is known? If not, why reading failed does not
 * matter. */
static int check_file(const struct tfs_folder_opened *opened, const struct stat *st,
                      struct tfs_error *err)
{
    struct stat now;

    if (fstat(opened->handle.fd, &now) < 0) {
        tfs_error_reset(err);
        return tfs_fail_errno(err, "the region cannot be examined");
    }
    return is_same(&now, st) ? err->code : fail_other(err);
}

static int read_apart(const struct tfs_save *save, const struct tfs_folder_opened *opened,
                      const struct tfs_folder_slot *slot, const struct stat *st,
                      struct tfs_blob **stored, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};

    if (read_all(opened->handle.fd, slot, &bytes, err) == 0)
        tfs_folder_kind_of(save)->stored(save, opened->file, &bytes, err);
    if (check_file(opened, st, err) == 0)
        tfs_blob_take(&bytes, stored, err);
    tfs_buf_release(&bytes);
    return err->code;
}

/* That the sum is the one that is known covers a file that was written into without a trace in its
 * times. */
static int slice(const struct tfs_folder_opened *opened, const struct tfs_folder_slot *slot,
                 struct tfs_blob **stored, struct tfs_error *err)
{
    struct tfs_blob *payload = opened->payload;
    const struct tfs_span bytes = {payload->data + slot->offset, slot->size};

    if (slot->offset > payload->size || payload->size - slot->offset < slot->size ||
        tfs_checksum(bytes, slot->tag) != slot->sum)
        return fail_other(err);
    return tfs_blob_slice(payload, bytes, stored, err);
}

/* ---- fetching -------------------------------------------------------------------------------- */

/* Where a chunk lies, as it was known under the lock. */
struct source {
    struct tfs_folder_file *file; /* a reference */
    struct tfs_folder_slot slot;
    struct stat st;
    struct tfs_folder_opened *opened; /* the same; NULL: it is to be opened */
};

static void source_release(struct source *source)
{
    tfs_folder_file_unref(source->file);
    tfs_folder_opened_unref(source->opened);
}

/* The caller holds the lock. */
static int source_find(const struct tfs_save *save, const struct tfs_chunk *chunk, bool again,
                       struct source *source, struct tfs_error *err)
{
    const struct tfs_folder_kind *kind = tfs_folder_kind_of(save);
    struct tfs_folder *own = tfs_folder_of(save);
    uint32_t index;
    const struct tfs_key key = kind->file_of(own->index.facts, chunk->key, &index);
    struct tfs_folder_file *file = tfs_folder_find(&own->index.files, key);
    const struct tfs_folder_slot *slot = file == NULL ? NULL : tfs_folder_slot(file, index);

    if (slot == NULL || (kind->payload != NULL && slot->sum != chunk->own))
        return fail_other(err);
    *source = (struct source){tfs_folder_file_ref(file), *slot, file->st, NULL};
    if (!again || kind->payload != NULL)
        source->opened = tfs_recent_find(&own->opened, file);
    return again && source->opened == NULL
               ? opened_make(save, file, &source->st, &source->opened, err)
               : 0;
}

/* Says later whether another program changed it, when its file is read again. */
static void note_sum(struct tfs_folder *own, const struct source *source, struct tfs_span bytes)
{
    const uint64_t sum = tfs_checksum(bytes, source->slot.tag);

    pthread_mutex_lock(&own->lock);
    tfs_folder_slot(source->file, source->slot.index)->sum = sum;
    pthread_mutex_unlock(&own->lock);
}

static int open_once(struct tfs_save *save, struct source *source, struct tfs_error *err)
{
    struct tfs_folder *own = tfs_folder_of(save);
    const size_t number = (uintptr_t)source->file / sizeof(*source->file) % TFS_FOLDER_OPENING;

    pthread_mutex_lock(&own->opening[number]);
    source->opened = tfs_recent_find(&own->opened, source->file);
    if (source->opened == NULL &&
        opened_make(save, source->file, &source->st, &source->opened, err) == 0)
        tfs_recent_add(&own->opened, source->opened);
    pthread_mutex_unlock(&own->opening[number]);
    return err->code;
}

/* `again`: the file is opened under the lock, whichever is kept open. */
static int try_once(struct tfs_save *save, const struct tfs_chunk *chunk, bool again,
                    struct tfs_blob **stored, struct tfs_error *err)
{
    struct tfs_folder *own = tfs_folder_of(save);
    struct source source = {0};
    struct tfs_blob *blob = NULL;

    pthread_mutex_lock(&own->lock);
    source_find(save, chunk, again, &source, err);
    pthread_mutex_unlock(&own->lock);
    if (err->code == 0 && source.opened == NULL)
        open_once(save, &source, err);
    if (err->code == 0 && source.opened->payload != NULL) {
        slice(source.opened, &source.slot, &blob, err);
    } else if (err->code == 0 &&
               read_apart(save, source.opened, &source.slot, &source.st, &blob, err) == 0) {
        note_sum(own, &source, tfs_blob_span(blob));
    }
    source_release(&source);
    if (err->code == 0)
        *stored = blob;
    return err->code;
}

size_t tfs_folder_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                        struct tfs_error *err)
{
    (void)count;
    if (try_once(save, chunks, false, &chunks->blob, err) == -ESTALE) {
        tfs_error_reset(err);
        try_once(save, chunks, true, &chunks->blob, err);
    }
    if (err->code < 0)
        return 0;
    chunks->flags &= ~(uint32_t)TFS_CHUNK_UNREAD_ALL;
    return 1;
}

bool tfs_folder_same(struct tfs_save *save, struct tfs_folder_opened **opened,
                     struct tfs_folder_file *file, struct tfs_folder_slot *slot,
                     const struct tfs_folder_slot *was, const struct tfs_chunk *chunk)
{
    const uint64_t sum = chunk->blob != NULL ? tfs_checksum(tfs_blob_span(chunk->blob), slot->tag)
                         : was != NULL       ? was->sum
                                             : 0;
    struct tfs_error ignored = {0};
    struct tfs_blob *blob = NULL;

    if (sum == 0 || (*opened == NULL && opened_make(save, file, &file->st, opened, &ignored) < 0) ||
        read_apart(save, *opened, slot, &file->st, &blob, &ignored) < 0)
        return false;
    slot->sum = tfs_checksum(tfs_blob_span(blob), slot->tag);
    tfs_blob_unref(blob);
    return slot->sum == sum;
}
