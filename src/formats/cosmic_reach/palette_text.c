/*
 * A chunk's palette <-> lines `INDEX NAME`, as palette.txt and the header of blocks.txt have them.
 *
 * Must not know layers.
 */
#include "formats/cosmic_reach/lenses.h"

int tfs_cosmic_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_cosmic_view *view, struct tfs_error *err)
{
    int status = tfs_cosmic_chunk_open(save, doc, key, &view->chunk, err);

    if (status < 0)
        return status;
    status = tfs_cosmic_blocks_view(view->chunk.body.sections[TFS_COSMIC_SECTION_BLOCKS],
                                    &view->blocks, err);
    if (status < 0)
        tfs_cosmic_view_close(view);
    return status;
}

void tfs_cosmic_view_close(struct tfs_cosmic_view *view)
{
    tfs_cosmic_chunk_close(&view->chunk);
}

void tfs_cosmic_palette_print(struct tfs_buf *out, const char *prefix, struct tfs_span palette,
                              uint32_t count)
{
    struct tfs_cursor c = tfs_cursor_init(palette);

    for (uint32_t i = 0; i < count; i++)
        tfs_palette_print(out, prefix, i, tfs_cosmic_name_take(&c));
}

uint64_t tfs_cosmic_palette_size(const char *prefix, struct tfs_span palette, uint32_t count)
{
    struct tfs_cursor c = tfs_cursor_init(palette);
    uint64_t size = 0;

    for (uint32_t i = 0; i < count; i++)
        size += tfs_palette_line_size(prefix, i, tfs_cosmic_name_take(&c));
    return size;
}

bool tfs_cosmic_palette_equal(const struct tfs_cosmic_blocks *blocks, const struct tfs_span *names,
                              uint32_t count)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    if (blocks->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!tfs_span_equal(tfs_cosmic_name_take(&c), names[i]))
            return false;
    return true;
}

bool tfs_cosmic_palette_had(const void *blocks, struct tfs_span name)
{
    const struct tfs_cosmic_blocks *old = blocks;
    struct tfs_cursor c = tfs_cursor_init(old->palette);

    for (uint32_t i = 0; i < old->count; i++)
        if (tfs_span_equal(tfs_cosmic_name_take(&c), name))
            return true;
    return false;
}
