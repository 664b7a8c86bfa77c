/*
 * raw.bin: the bytes of a chunk, as they are stored. Whatever decodes may be written.
 */
#include "formats/views/views.h"

/* NULL where the save does not give them. */
static int open_bytes(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                      struct tfs_blob **bytes, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;
    struct tfs_cells *cells;

    if (tfs_doc_need(doc, key, &chunk, err) < 0)
        return err->code;
    if (!tfs_chunk_is_unread(chunk, false)) {
        *bytes = tfs_blob_ref(chunk->blob);
        return 0;
    }
    if (tfs_cells_open(save, doc, key, 0, &cells, err) < 0)
        return err->code;
    *bytes = tfs_blob_ref(cells->stored);
    tfs_cells_unref(cells);
    return 0;
}

int tfs_raw_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_blob *bytes;

    if (open_bytes(save, doc, at.key, &bytes, err) < 0)
        return err->code;
    tfs_buf_add_span(out, tfs_blob_span(bytes));
    tfs_blob_unref(bytes);
    return tfs_buf_check(out, err);
}

int64_t tfs_raw_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error why = {0};
    struct tfs_blob *bytes;

    if (open_bytes(save, doc, at.key, &bytes, &why) < 0)
        return why.code;
    const int64_t size = (int64_t)tfs_blob_span(bytes).size;
    tfs_blob_unref(bytes);
    return size;
}

static int raw_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                   struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const struct tfs_chunk *chunk;
    struct tfs_blob *bytes;

    (void)put;
    if (tfs_doc_need(doc, at.key, &chunk, err) < 0 ||
        open_bytes(save, doc, at.key, &bytes, err) < 0)
        return err->code;
    const bool same = tfs_span_equal(text, tfs_blob_span(bytes));
    tfs_blob_unref(bytes);
    if (same || tfs_chunk_fits(save->tree, doc, doc, chunk, err) < 0 ||
        tfs_edit_put_bytes(edit, *chunk, text, err) < 0)
        return err->code;
    return tfs_cells_check(save, tfs_edit_doc(edit), at.key, NULL, err);
}

const struct tfs_lens tfs_raw_lens = {.get = tfs_raw_get, .put = raw_put, .size = tfs_raw_size};
