/*
 * Bytes of a chunk body <-> its four sections.
 *
 * Must not know containers or texts.
 */
#include "formats/cosmic_reach/body.h"
#include "formats/cosmic_reach/zone.h"

#include <errno.h>

#define SKY_FULL 15

static int take_entities(struct tfs_cursor *c, struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    uint8_t type = tfs_take_u8(c);

    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the block entity section is missing", offset);
    if (type == TFS_COSMIC_ENTITIES_NONE)
        return 0;
    if (type != TFS_COSMIC_ENTITIES_PRESENT)
        return tfs_fail(err, -EBADMSG, "offset %zu: unknown block entity type %u", offset, type);
    tfs_cosmic_name_take(c);
    if (c->failed)
        return tfs_fail(err, -EBADMSG,
                        "offset %zu: the block entities are longer than what is left", offset);
    return 0;
}

static int take_section(struct tfs_cursor *c, enum tfs_cosmic_section section, uint32_t version,
                        struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct tfs_cosmic_light light;

    switch (section) {
    case TFS_COSMIC_SECTION_BLOCKS:
        return tfs_cosmic_blocks_take(c, &blocks, err);
    case TFS_COSMIC_SECTION_SKY:
        return tfs_cosmic_sky_take(c, &light, err);
    case TFS_COSMIC_SECTION_LIGHT:
        return tfs_cosmic_light_take(c, &light, err);
    case TFS_COSMIC_SECTION_ENTITIES:
        return version < TFS_COSMIC_ENTITIES_VERSION_MIN ? 0 : take_entities(c, err);
    case TFS_COSMIC_SECTIONS:
        break;
    }
    return 0;
}

int tfs_cosmic_body_take(struct tfs_cursor *c, uint32_t version, struct tfs_cosmic_body *body,
                         struct tfs_error *err)
{
    for (unsigned i = 0; i < TFS_COSMIC_SECTIONS; i++) {
        const uint8_t *start = c->at;
        if (take_section(c, (enum tfs_cosmic_section)i, version, err) < 0)
            return err->code;
        body->sections[i] = (struct tfs_span){start, (size_t)(c->at - start)};
    }
    return 0;
}

int tfs_cosmic_body_split(struct tfs_span bytes, uint32_t version, struct tfs_cosmic_body *body,
                          struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);

    if (tfs_cosmic_body_take(&c, version, body, err) < 0)
        return err->code;
    if (tfs_cursor_left(&c) > 0)
        return tfs_fail(err, -EBADMSG, "offset %zu: %zu byte%s behind the end of the chunk",
                        tfs_cursor_offset(&c), tfs_cursor_left(&c),
                        tfs_cursor_left(&c) == 1 ? "" : "s");
    return 0;
}

int tfs_cosmic_body_check(const struct tfs_cosmic_body *body, const uint8_t *start,
                          struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;

    if (tfs_cosmic_blocks_view(body->sections[TFS_COSMIC_SECTION_BLOCKS], &blocks, err) < 0)
        return err->code;
    return tfs_cosmic_blocks_check(&blocks, start, err);
}

int tfs_cosmic_chunk_fetch(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                           struct tfs_cosmic_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_chunk *found;
    struct tfs_blob *bytes = NULL;

    if (tfs_doc_need(doc, key, &found, err) < 0 || tfs_chunk_load(save, found, &bytes, err) < 0)
        return err->code;
    chunk->in = *found;
    chunk->in.blob = bytes;
    chunk->in.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    return 0;
}

int tfs_cosmic_chunk_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                          struct tfs_cosmic_chunk *chunk, struct tfs_error *err)
{
    struct tfs_cosmic_chunk opened;
    int status = tfs_cosmic_chunk_fetch(save, doc, key, &opened, err);

    if (status < 0)
        return status;
    status = tfs_cosmic_body_split(tfs_blob_span(opened.in.blob),
                                   tfs_cosmic_chunk_version(&opened.in), &opened.body, err);
    if (status < 0)
        tfs_cosmic_chunk_close(&opened);
    else
        *chunk = opened;
    return status;
}

void tfs_cosmic_chunk_close(struct tfs_cosmic_chunk *chunk)
{
    tfs_blob_unref(chunk->in.blob);
    chunk->in.blob = NULL;
}

/* ---- changes --------------------------------------------------------------------------------- */

const struct tfs_chunk *tfs_cosmic_column_of(const struct tfs_doc *doc, struct tfs_key key)
{
    const struct tfs_chunk *chunk = NULL;
    const int32_t lowest = key.y - (key.y & (TFS_COSMIC_SIDE - 1));

    for (int32_t i = 0; i < TFS_COSMIC_SIDE && chunk == NULL; i++) {
        key.y = lowest + i;
        chunk = tfs_doc_find(doc, key);
    }
    return chunk;
}

uint64_t tfs_cosmic_order_at(const struct tfs_doc *doc, struct tfs_key key, bool columns)
{
    const struct tfs_chunk *there = tfs_doc_find(doc, key);
    uint64_t behind = 0;

    if (there == NULL && columns)
        there = tfs_cosmic_column_of(doc, key);
    if (there != NULL)
        return tfs_cosmic_chunk_order(there);
    for (size_t i = 0; i < doc->count; i++) {
        uint64_t order = tfs_cosmic_chunk_order(tfs_doc_at(doc, i));
        behind = order >= behind ? order + 1 : behind;
    }
    return behind;
}

/* Takes the buffer's memory. */
static int put_buffer(struct tfs_edit *edit, const struct tfs_cosmic_chunk *chunk,
                      struct tfs_buf *bytes, struct tfs_error *err)
{
    struct tfs_chunk changed = chunk->in;

    if (tfs_buf_check(bytes, err) < 0)
        return err->code;
    if (tfs_span_equal(tfs_buf_span(bytes), tfs_blob_span(chunk->in.blob)))
        return 0;
    if (tfs_cosmic_check_place(edit->base, chunk->in.key, err) < 0)
        return err->code;
    if (tfs_cosmic_facts(edit->base)->zone)
        changed.own = TFS_OWN_NEW;
    changed.blob = NULL;
    if (tfs_blob_take(bytes, &changed.blob, err) < 0)
        return err->code;
    int status = tfs_edit_put(edit, &changed, err);
    tfs_blob_unref(changed.blob);
    return status;
}

int tfs_cosmic_body_put(struct tfs_edit *edit, const struct tfs_cosmic_chunk *chunk,
                        struct tfs_span bytes, struct tfs_error *err)
{
    struct tfs_buf copy = {0};

    tfs_buf_add_span(&copy, bytes);
    int status = put_buffer(edit, chunk, &copy, err);
    tfs_buf_release(&copy);
    return status;
}

int tfs_cosmic_section_put(struct tfs_edit *edit, const struct tfs_cosmic_chunk *chunk,
                           enum tfs_cosmic_section section, const struct tfs_buf *bytes,
                           struct tfs_error *err)
{
    struct tfs_buf changed = {0};

    if (tfs_buf_check(bytes, err) < 0)
        return err->code;
    for (unsigned i = 0; i < TFS_COSMIC_SECTIONS; i++)
        tfs_buf_add_span(&changed, i == section ? tfs_buf_span(bytes) : chunk->body.sections[i]);
    int status = put_buffer(edit, chunk, &changed, err);
    tfs_buf_release(&changed);
    return status;
}

void tfs_cosmic_body_empty(struct tfs_buf *out, uint32_t version)
{
    static const uint32_t ids[TFS_COSMIC_VALUES];
    struct tfs_span air = tfs_cosmic_air(version);

    tfs_cosmic_blocks_encode(out, &air, 1, ids, version);
    tfs_buf_u8(out, TFS_COSMIC_SKY_SINGLE);
    tfs_buf_u8(out, SKY_FULL);
    tfs_buf_u8(out, TFS_COSMIC_LIGHT_NONE);
    if (version >= TFS_COSMIC_ENTITIES_VERSION_MIN)
        tfs_buf_u8(out, TFS_COSMIC_ENTITIES_NONE);
}
