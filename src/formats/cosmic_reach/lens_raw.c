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
    const struct tfs_chunk *chunk = tfs_doc_find(doc, at.key);

    (void)save;
    if (chunk == NULL)
        return tfs_fail(err, -ENOENT, "there is no chunk %d_%d_%d", at.key.x, at.key.y, at.key.z);
    tfs_buf_add_span(out, tfs_blob_span(chunk->blob));
    return tfs_buf_check(out, err);
}

static int64_t raw_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_chunk *chunk = tfs_doc_find(doc, at.key);

    (void)save;
    return chunk == NULL ? -ENOENT : (int64_t)chunk->blob->size;
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

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_chunk *chunk = tfs_doc_find(tfs_edit_doc(edit), at.key);
    struct tfs_buf bytes = {0};
    struct tfs_cosmic_body body;

    (void)save;
    (void)put;
    if (chunk == NULL)
        return tfs_fail(err, -ENOENT, "there is no chunk %d_%d_%d", at.key.x, at.key.y, at.key.z);
    if (fit_entities(text, chunk->tag, &bytes, err) == 0 &&
        tfs_cosmic_body_split(tfs_buf_span(&bytes), chunk->tag, &body, err) == 0 &&
        tfs_cosmic_body_check(&body, bytes.data, err) == 0)
        tfs_cosmic_body_put(edit, chunk, tfs_buf_span(&bytes), err);
    tfs_buf_release(&bytes);
    return err->code;
}

const struct tfs_lens tfs_cosmic_raw_lens = {.get = raw_get, .put = raw_put, .size = raw_size};

/* ---- entities.bin ---------------------------------------------------------------------------- */

/* The bytes of the section, without type and length; false when there is none. */
static bool entities_of(const struct tfs_cosmic_body *body, struct tfs_span *bytes)
{
    struct tfs_cursor c = tfs_cursor_init(body->sections[TFS_COSMIC_SECTION_ENTITIES]);

    if (tfs_take_u8(&c) != TFS_COSMIC_ENTITIES_PRESENT)
        return false;
    *bytes = tfs_cosmic_name_take(&c);
    return !c.failed;
}

static bool find_entities(const struct tfs_doc *doc, struct tfs_key key, struct tfs_span *bytes)
{
    const struct tfs_chunk *chunk;
    struct tfs_cosmic_body body;
    struct tfs_error ignored = {0};

    return tfs_cosmic_chunk_find(doc, key, &chunk, &body, &ignored) == 0 &&
           entities_of(&body, bytes);
}

static int entities_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_span bytes;

    (void)save;
    return find_entities(doc, at.key, &bytes);
}

static int64_t entities_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_span bytes;

    (void)save;
    return find_entities(doc, at.key, &bytes) ? (int64_t)bytes.size : -ENOENT;
}

static int entities_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                        struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_span bytes;

    (void)save;
    if (!find_entities(doc, at.key, &bytes))
        return tfs_fail(err, -ENOENT, "the chunk has no block entities");
    tfs_buf_add_span(out, bytes);
    return tfs_buf_check(out, err);
}

/* Stores a section of that type and these bytes. */
static int store_entities(struct tfs_edit *edit, struct tfs_key key,
                          enum tfs_cosmic_entities_type type, struct tfs_span bytes,
                          struct tfs_error *err)
{
    const struct tfs_chunk *chunk;
    struct tfs_cosmic_body body;
    struct tfs_buf section = {0};

    if (tfs_cosmic_chunk_find(tfs_edit_doc(edit), key, &chunk, &body, err) < 0)
        return err->code;
    if (chunk->tag < TFS_COSMIC_ENTITIES_VERSION_MIN)
        return type == TFS_COSMIC_ENTITIES_NONE
                   ? 0
                   : tfs_fail(err, -EBADMSG, "a chunk of version 0 cannot hold block entities");
    tfs_buf_u8(&section, (uint8_t)type);
    if (type == TFS_COSMIC_ENTITIES_PRESENT) {
        tfs_buf_u32be(&section, (uint32_t)bytes.size);
        tfs_buf_add_span(&section, bytes);
    }
    tfs_cosmic_section_put(edit, chunk, &body, TFS_COSMIC_SECTION_ENTITIES, &section, err);
    tfs_buf_release(&section);
    return err->code;
}

static int entities_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                        struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    (void)save;
    (void)put;
    if (text.size > INT32_MAX)
        return tfs_fail(err, -EFBIG, "block entities of 2 GiB or more");
    return store_entities(edit, at.key, TFS_COSMIC_ENTITIES_PRESENT, text, err);
}

static int entities_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                           struct tfs_error *err)
{
    (void)save;
    return store_entities(edit, at.key, TFS_COSMIC_ENTITIES_NONE, (struct tfs_span){0}, err);
}

const struct tfs_lens tfs_cosmic_entities_lens = {
    .get = entities_get,
    .put = entities_put,
    .exists = entities_exists,
    .remove = entities_remove,
    .size = entities_size,
};
