/*
 * A chunk of a zone -> its body in the payload of its region, for several threads at once.
 *
 * Must not know documents, nor how regions change. Payloads that were inflated last are kept
 * (base/recent.h). A file is opened and inflated without the lock, for that takes long; it counts
 * only if it is still the file whose bodies are known, and what is found to be another one is tried
 * once more under the lock, where no commit of ours comes in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/refs.h"

#include "formats/cosmic_reach/zone.h"

#define MEMORY_USUAL ((size_t)64 << 20)

/* ---- payloads that are kept ------------------------------------------------------------------ */

struct payload {
    atomic_uint refs;
    struct tfs_cosmic_region_file *file; /* a reference: what was read again is another one */
    struct tfs_blob *bytes;
};

static bool payload_is(const void *payload, const void *file)
{
    return ((const struct payload *)payload)->file == file;
}

static size_t payload_weight(const void *payload)
{
    return ((const struct payload *)payload)->bytes->size;
}

static void payload_ref(void *payload)
{
    tfs_refs_add(&((struct payload *)payload)->refs);
}

static void payload_unref(void *object)
{
    struct payload *payload = object;

    if (!tfs_refs_drop(&payload->refs))
        return;
    tfs_cosmic_region_file_unref(payload->file);
    tfs_blob_unref(payload->bytes);
    free(payload);
}

static const struct tfs_recent_kind payloads = {payload_is, payload_weight, payload_ref,
                                                payload_unref};

void tfs_cosmic_zone_payloads_init(struct tfs_save *save, struct tfs_recent *recent)
{
    tfs_recent_init(recent, &payloads,
                    save->options.memory > 0 ? save->options.memory : MEMORY_USUAL);
}

/* A reference to the bytes; NULL: they are not kept. */
static struct tfs_blob *payload_find(struct tfs_cosmic_zone *own,
                                     const struct tfs_cosmic_region_file *file)
{
    struct payload *found = tfs_recent_find(&own->payloads, file);
    struct tfs_blob *bytes = NULL;

    if (found != NULL) {
        bytes = tfs_blob_ref(found->bytes);
        payload_unref(found);
    }
    return bytes;
}

/* Without memory it is not kept. */
static void payload_keep(struct tfs_cosmic_zone *own, struct tfs_cosmic_region_file *file,
                         struct tfs_blob *bytes)
{
    struct payload *payload = malloc(sizeof(*payload));

    if (payload == NULL)
        return;
    atomic_init(&payload->refs, 1);
    payload->file = tfs_cosmic_region_file_ref(file);
    payload->bytes = tfs_blob_ref(bytes);
    tfs_recent_add(&own->payloads, payload);
    payload_unref(payload);
}

/* ---- one body -------------------------------------------------------------------------------- */

static const struct tfs_cosmic_body_at *find_body(const struct tfs_cosmic_region_file *file,
                                                  struct tfs_key chunk)
{
    const uint32_t slot = tfs_cosmic_table_slot(chunk);

    for (size_t low = 0, high = file->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (file->bodies[middle].slot == slot)
            return &file->bodies[middle];
        if (file->bodies[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int fail_other(struct tfs_error *err)
{
    return tfs_fail(err, -ESTALE, "another program changed the region of this chunk");
}

/* The region that holds the chunk as it is known now: a reference. The caller holds the lock. */
static int find_file(const struct tfs_cosmic_zone *own, const struct tfs_chunk *chunk,
                     struct tfs_cosmic_region_file **file, struct tfs_error *err)
{
    struct tfs_cosmic_region_file *found = (struct tfs_cosmic_region_file *)tfs_folder_find(
        &own->index.files, tfs_cosmic_region_of(chunk->key));
    const struct tfs_cosmic_body_at *body = found == NULL ? NULL : find_body(found, chunk->key);

    if (body == NULL || body->hash != tfs_cosmic_chunk_hash(chunk))
        return fail_other(err);
    *file = tfs_cosmic_region_file_ref(found);
    return 0;
}

static int slice(struct tfs_blob *payload, const struct tfs_cosmic_region_file *file,
                 const struct tfs_chunk *chunk, struct tfs_blob **blob, struct tfs_error *err)
{
    const struct tfs_cosmic_body_at *body = find_body(file, chunk->key);

    if (body == NULL || body->offset > payload->size || payload->size - body->offset < body->size)
        return fail_other(err);
    const struct tfs_span bytes = {payload->data + body->offset, body->size};
    /* A file that was written into, without a trace in its times. */
    if (tfs_checksum(bytes, tfs_cosmic_chunk_version(chunk)) != tfs_cosmic_chunk_hash(chunk))
        return fail_other(err);
    return tfs_blob_slice(payload, bytes, blob, err);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads and inflates the file of that identity. */
static int read_payload(const struct tfs_save *save, const char *path, const struct stat *st,
                        struct tfs_blob **payload, struct tfs_error *err)
{
    struct tfs_file_handle handle = {.fd = -1};
    struct tfs_blob *bytes = NULL;

    if (tfs_file_open(path, false, &handle, err) == -ENOENT) {
        tfs_error_reset(err);
        tfs_fail(err, -ESTALE, "another program removed the region of this chunk");
    }
    if (err->code == 0 && !tfs_file_same(&handle.st, st))
        fail_other(err);
    if (err->code == 0 && tfs_file_read(&handle, save->options.inflate_limit, &bytes, err) == 0) {
        if (!tfs_file_same(&handle.st, st))
            fail_other(err);
        else
            tfs_cosmic_region_payload(bytes, save->options.inflate_limit, payload, err);
    }
    tfs_blob_unref(bytes);
    tfs_file_close(&handle);
    return err->code;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* The region of a chunk as it was known under the lock. */
struct source {
    struct tfs_cosmic_region_file *file; /* a reference */
    struct tfs_blob *payload;            /* a reference; NULL: not kept, but to be read */
    char *path;                          /* then */
    struct stat st;
};

static void source_release(struct source *source)
{
    tfs_cosmic_region_file_unref(source->file);
    tfs_blob_unref(source->payload);
    free(source->path);
}

/* The caller holds the lock. */
static int source_find(struct tfs_cosmic_zone *own, const struct tfs_chunk *chunk,
                       struct source *source, struct tfs_error *err)
{
    if (find_file(own, chunk, &source->file, err) < 0)
        return err->code;
    source->payload = payload_find(own, source->file);
    if (source->payload != NULL)
        return 0;
    source->st = source->file->file.st;
    source->path = tfs_cosmic_zone_path(&own->index, source->file->file.key);
    return source->path == NULL ? tfs_fail_memory(err) : 0;
}

/* Needs no lock: what was read is kept for that record of the file, whatever became of it. */
static int source_read(struct tfs_save *save, struct source *source, struct tfs_error *err)
{
    if (source->payload == NULL &&
        read_payload(save, source->path, &source->st, &source->payload, err) == 0)
        payload_keep(tfs_cosmic_zone_of(save), source->file, source->payload);
    return err->code;
}

/* `locked`: it is read under the lock, too. */
static int try_once(struct tfs_save *save, const struct tfs_chunk *chunk, bool locked,
                    struct tfs_blob **blob, struct tfs_error *err)
{
    struct tfs_cosmic_zone *own = tfs_cosmic_zone_of(save);
    struct source source = {0};

    pthread_mutex_lock(&own->lock);
    if (source_find(own, chunk, &source, err) == 0 && locked)
        source_read(save, &source, err);
    pthread_mutex_unlock(&own->lock);
    if (err->code == 0 && source_read(save, &source, err) == 0)
        slice(source.payload, source.file, chunk, blob, err);
    source_release(&source);
    return err->code;
}

int tfs_cosmic_zone_fetch(struct tfs_save *save, const struct tfs_chunk *chunk,
                          struct tfs_blob **stored, struct tfs_blob **extra, struct tfs_error *err)
{
    struct tfs_error first = {0};

    (void)extra;
    int result = try_once(save, chunk, false, stored, &first);
    if (result == -ESTALE)
        return try_once(save, chunk, true, stored, err);
    return result < 0 ? tfs_fail(err, result, "%s", first.text) : 0;
}
