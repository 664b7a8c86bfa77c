/*
 * raw.bin: the records of a chunk, as they are stored.
 *
 * Any valid records of exactly one chunk may be written, whether the engine would write them so or
 * not.
 */
#include "formats/roblox/cells.h"
#include "formats/roblox/lenses.h"

static int raw_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                   struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    (void)save;
    if (tfs_doc_need(doc, at.key, &chunk, err) < 0)
        return err->code;
    tfs_buf_add_span(out, tfs_blob_span(chunk->blob));
    return tfs_buf_check(out, err);
}

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    (void)save;
    (void)put;
    if (tfs_doc_need(tfs_edit_doc(edit), at.key, &chunk, err) < 0)
        return err->code;
    if (tfs_span_equal(text, tfs_blob_span(chunk->blob)))
        return 0;
    if (tfs_rbx_records_check(text, tfs_rbx_chunk_log2(chunk), err) < 0)
        return err->code;
    return tfs_rbx_store_records(edit, chunk, text, err);
}

static int64_t raw_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_chunk *chunk;
    struct tfs_error ignored = {0};

    (void)save;
    if (tfs_doc_need(doc, at.key, &chunk, &ignored) < 0)
        return ignored.code;
    return (int64_t)chunk->blob->size;
}

const struct tfs_lens tfs_rbx_raw_lens = {.get = raw_get, .put = raw_put, .size = raw_size};
