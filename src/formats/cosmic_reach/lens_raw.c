/*
 * raw.bin and entities.bin: bytes of a chunk as they are stored.
 *
 * Must not know what blocks or light say.
 */
#include <errno.h>

#include "formats/cosmic_reach/lenses.h"

/* ---- raw.bin --------------------------------------------------------------------------------- */

static int raw_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_chunk chunk;
    int status = tfs_cosmic_chunk_fetch(save, doc, at.key, &chunk, err);

    if (status < 0)
        return status;
    tfs_buf_add_span(out, tfs_blob_span(chunk.in.blob));
    tfs_cosmic_chunk_close(&chunk);
    return tfs_buf_check(out, err);
}

static int64_t raw_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_error ignored = {0};
    int status = tfs_cosmic_chunk_fetch(save, doc, at.key, &chunk, &ignored);

    if (status < 0)
        return status;
    int64_t size = (int64_t)chunk.in.blob->size;
    tfs_cosmic_chunk_close(&chunk);
    return size;
}

/* A body of the other kind of version: its entity section comes or goes. Adds what `text` becomes
 * to `out`. */
static int fit_entities(struct tfs_span text, uint32_t version, struct tfs_buf *out,
                        struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(text);
    struct tfs_cosmic_body body;
    bool wanted = version >= TFS_COSMIC_ENTITIES_VERSION_MIN;

    /* A body of version 0 has the three sections that every version has. */
    if (tfs_cosmic_body_take(&c, 0, &body, err) < 0)
        return err->code;
    size_t end = tfs_cursor_offset(&c);
    if (wanted && tfs_cursor_left(&c) == 0) {
        tfs_buf_add_span(out, text);
        tfs_buf_u8(out, TFS_COSMIC_ENTITIES_NONE);
    } else if (!wanted && tfs_cursor_left(&c) == 1 && text.data[end] == TFS_COSMIC_ENTITIES_NONE) {
        tfs_buf_add(out, text.data, end);
    } else if (!wanted && tfs_cursor_left(&c) > 0 &&
               text.data[end] == TFS_COSMIC_ENTITIES_PRESENT) {
        return tfs_fail(err, -EBADMSG,
                        "offset %zu: the bytes have block entities, a chunk of version 0 cannot "
                        "hold them",
                        end);
    } else {
        tfs_buf_add_span(out, text);
    }
    return tfs_buf_check(out, err);
}

/* Into a directory just made a body is copied from elsewhere, and its block entities with it. */
static int settle_entities(struct tfs_key key, uint32_t version, struct tfs_buf *bytes,
                           struct tfs_error *err)
{
    struct tfs_cosmic_body body;
    struct tfs_span entities;
    struct tfs_buf settled = {0}, moved = {0};

    if (tfs_cosmic_body_split(tfs_buf_span(bytes), version, &body, err) < 0)
        return err->code;
    if (tfs_cosmic_entities_of(&body, &entities) &&
        tfs_cosmic_entities_settle(entities, key, &settled, err) == 1) {
        tfs_buf_add(&moved, bytes->data, (size_t)(entities.data - bytes->data) - 4);
        tfs_buf_u32be(&moved, (uint32_t)settled.size);
        tfs_buf_add_span(&moved, tfs_buf_span(&settled));
        tfs_buf_release(bytes);
        *bytes = moved;
    }
    tfs_buf_release(&settled);
    return err->code < 0 ? err->code : tfs_buf_check(bytes, err);
}

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_buf bytes = {0};
    struct tfs_cosmic_body body;

    int status = tfs_cosmic_chunk_fetch(save, tfs_edit_doc(edit), at.key, &chunk, err);
    if (status < 0)
        return status;
    if (fit_entities(text, tfs_cosmic_chunk_version(&chunk.in), &bytes, err) == 0 &&
        (!put->fresh ||
         settle_entities(at.key, tfs_cosmic_chunk_version(&chunk.in), &bytes, err) == 0) &&
        tfs_cosmic_body_split(tfs_buf_span(&bytes), tfs_cosmic_chunk_version(&chunk.in), &body,
                              err) == 0 &&
        tfs_cosmic_body_check(&body, bytes.data, err) == 0)
        tfs_cosmic_body_put(edit, &chunk, tfs_buf_span(&bytes), err);
    tfs_cosmic_chunk_close(&chunk);
    tfs_buf_release(&bytes);
    return err->code;
}

const struct tfs_lens tfs_cosmic_raw_lens = {.get = raw_get, .put = raw_put, .size = raw_size};

/* ---- entities.bin ---------------------------------------------------------------------------- */

/* 1; 0 when the chunk stores none, as far as anybody can read; negative when that cannot be found
 * out. To be closed behind a 1. */
static int find_entities(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_cosmic_chunk *chunk, struct tfs_span *bytes)
{
    struct tfs_error ignored = {0};
    int status = tfs_cosmic_chunk_open(save, doc, key, chunk, &ignored);

    if (status < 0)
        return status == -ENOENT || status == -EBADMSG ? 0 : status;
    if (tfs_cosmic_entities_of(&chunk->body, bytes))
        return 1;
    tfs_cosmic_chunk_close(chunk);
    return 0;
}

static int entities_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_span bytes;
    int found = find_entities(save, doc, at.key, &chunk, &bytes);

    if (found > 0)
        tfs_cosmic_chunk_close(&chunk);
    return found;
}

static int64_t entities_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_span bytes;
    int found = find_entities(save, doc, at.key, &chunk, &bytes);

    if (found <= 0)
        return found < 0 ? found : -ENOENT;
    tfs_cosmic_chunk_close(&chunk);
    return (int64_t)bytes.size;
}

static int entities_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_span bytes;
    int found = find_entities(save, doc, at.key, &chunk, &bytes);

    if (found <= 0)
        return found < 0 ? tfs_fail(err, found, "the block entities cannot be read now")
                         : tfs_fail(err, -ENOENT, "the chunk has no block entities");
    tfs_buf_add_span(out, bytes);
    tfs_cosmic_chunk_close(&chunk);
    return tfs_buf_check(out, err);
}

/* Stores a section of that type and these bytes. */
static int store_entities(struct tfs_edit *edit, const struct tfs_cosmic_chunk *chunk,
                          enum tfs_cosmic_entities_type type, struct tfs_span bytes,
                          struct tfs_error *err)
{
    struct tfs_buf section = {0};

    if (tfs_cosmic_chunk_version(&chunk->in) < TFS_COSMIC_ENTITIES_VERSION_MIN)
        return type == TFS_COSMIC_ENTITIES_NONE
                   ? 0
                   : tfs_fail(err, -EBADMSG, "a chunk of version 0 cannot hold block entities");
    tfs_buf_u8(&section, (uint8_t)type);
    if (type == TFS_COSMIC_ENTITIES_PRESENT) {
        tfs_buf_u32be(&section, (uint32_t)bytes.size);
        tfs_buf_add_span(&section, bytes);
    }
    tfs_cosmic_section_put(edit, chunk, TFS_COSMIC_SECTION_ENTITIES, &section, err);
    tfs_buf_release(&section);
    return err->code;
}

static int entities_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cosmic_chunk chunk;
    struct tfs_buf settled = {0};

    if (text.size > INT32_MAX)
        return tfs_fail(err, -EFBIG, "block entities of 2 GiB or more");
    int status = tfs_cosmic_chunk_open(save, tfs_edit_doc(edit), at.key, &chunk, err);
    if (status < 0)
        return status;
    /* Into a directory just made they are copied from elsewhere. */
    status = put->fresh ? tfs_cosmic_entities_settle(text, at.key, &settled, err) : 0;
    if (status >= 0)
        store_entities(edit, &chunk, TFS_COSMIC_ENTITIES_PRESENT,
                       status == 1 ? tfs_buf_span(&settled) : text, err);
    tfs_cosmic_chunk_close(&chunk);
    tfs_buf_release(&settled);
    return err->code;
}

static int entities_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                           struct tfs_error *err)
{
    struct tfs_cosmic_chunk chunk;
    int status = tfs_cosmic_chunk_open(save, tfs_edit_doc(edit), at.key, &chunk, err);

    if (status < 0)
        return status;
    store_entities(edit, &chunk, TFS_COSMIC_ENTITIES_NONE, (struct tfs_span){0}, err);
    tfs_cosmic_chunk_close(&chunk);
    return err->code;
}

const struct tfs_lens tfs_cosmic_entities_lens = {
    .get = entities_get,
    .put = entities_put,
    .exists = entities_exists,
    .remove = entities_remove,
    .size = entities_size,
};
