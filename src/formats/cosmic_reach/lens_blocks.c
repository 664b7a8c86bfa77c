/*
 * blocks.txt: the palette and a grid of indices into it; palette.txt of a chunk: the palette alone.
 *
 * Must not know light, entities or containers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"
#include "text/decimal.h"

static const struct tfs_palette no_palette = {.rules = TFS_COSMIC_NAME_RULES,
                                              .max = TFS_COSMIC_PALETTE_MAX};

static struct tfs_grid_shape shape_of(uint32_t count)
{
    return (struct tfs_grid_shape){
        .sx = TFS_COSMIC_SIDE,
        .sy = TFS_COSMIC_SIDE,
        .sz = TFS_COSMIC_SIDE,
        .base = TFS_GRID_DECIMAL,
        .width = tfs_decimal_width(count - 1),
    };
}

/* ---- blocks.txt ------------------------------------------------------------------------------ */

static int blocks_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_view view;
    uint32_t ids[TFS_COSMIC_VALUES], id;

    if (tfs_cosmic_view_open(save, doc, at.key, &view, err) < 0)
        return err->code;

    struct tfs_grid_shape shape = shape_of(view.blocks.count);
    tfs_cosmic_palette_print(out, TFS_PALETTE_KEYWORD, view.blocks.palette, view.blocks.count);
    if (tfs_cosmic_layers_uniform(&view.blocks.layers, UINT32_MAX, &id)) {
        tfs_grid_print_fill(out, &shape, id);
    } else {
        tfs_cosmic_layers_decode(&view.blocks.layers, ids);
        tfs_buf_u8(out, '\n');
        tfs_grid_print_rows(out, &shape, ids);
    }
    tfs_cosmic_view_close(&view);
    return tfs_buf_check(out, err);
}

static int64_t blocks_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_view view;
    struct tfs_error ignored = {0};
    uint32_t id;

    if (tfs_cosmic_view_open(save, doc, at.key, &view, &ignored) < 0)
        return ignored.code;

    struct tfs_grid_shape shape = shape_of(view.blocks.count);
    uint64_t size =
        tfs_cosmic_palette_size(TFS_PALETTE_KEYWORD, view.blocks.palette, view.blocks.count);
    if (tfs_cosmic_layers_uniform(&view.blocks.layers, UINT32_MAX, &id))
        size += tfs_grid_fill_size(&shape, id);
    else
        size += 1 + tfs_grid_rows_size(&shape);
    tfs_cosmic_view_close(&view);
    return (int64_t)size;
}

static bool blocks_same(const struct tfs_cosmic_view *view, const struct tfs_palette *palette,
                        const uint32_t *ids)
{
    uint32_t before[TFS_COSMIC_VALUES];

    if (!tfs_cosmic_palette_equal(&view->blocks, palette->names, palette->count))
        return false;
    tfs_cosmic_layers_decode(&view->blocks.layers, before);
    return memcmp(before, ids, sizeof(before)) == 0;
}

static int blocks_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cosmic_view view = {0};
    struct tfs_palette palette = no_palette;
    uint32_t ids[TFS_COSMIC_VALUES];
    struct tfs_buf section = {0};

    (void)put;
    if (tfs_cosmic_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0 ||
        tfs_palette_read_grid(
            &palette, text,
            (struct tfs_voxel_size){TFS_COSMIC_SIDE, TFS_COSMIC_SIDE, TFS_COSMIC_SIDE},
            tfs_cosmic_palette_had, &view.blocks, ids, err) < 0 ||
        blocks_same(&view, &palette, ids))
        goto out;
    tfs_cosmic_blocks_encode(&section, palette.names, palette.count, ids,
                             tfs_cosmic_chunk_version(&view.chunk.in));
    tfs_cosmic_section_put(edit, &view.chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
out:
    tfs_cosmic_view_close(&view);
    tfs_buf_release(&section);
    tfs_palette_release(&palette);
    return err->code;
}

const struct tfs_lens tfs_cosmic_blocks_lens = {
    .get = blocks_get,
    .put = blocks_put,
    .size = blocks_size,
};

/* ---- palette.txt ----------------------------------------------------------------------------- */

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_view view;

    if (tfs_cosmic_view_open(save, doc, at.key, &view, err) < 0)
        return err->code;
    tfs_cosmic_palette_print(out, "", view.blocks.palette, view.blocks.count);
    tfs_cosmic_view_close(&view);
    return tfs_buf_check(out, err);
}

static int64_t palette_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_view view;
    struct tfs_error ignored = {0};

    if (tfs_cosmic_view_open(save, doc, at.key, &view, &ignored) < 0)
        return ignored.code;
    uint64_t size = tfs_cosmic_palette_size("", view.blocks.palette, view.blocks.count);
    tfs_cosmic_view_close(&view);
    return (int64_t)size;
}

/* An entry that is in use must stay. */
static int check_uses(const struct tfs_cosmic_blocks *blocks, uint32_t count, struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_VALUES];

    if (count >= blocks->count)
        return 0;
    tfs_cosmic_layers_decode(&blocks->layers, ids);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        if (ids[i] >= count)
            return tfs_fail(err, -EBADMSG,
                            "entry %u is missing, but there are blocks of it in the chunk", ids[i]);
    return 0;
}

static int palette_store(struct tfs_edit *edit, const struct tfs_cosmic_view *view,
                         const struct tfs_palette *palette, struct tfs_error *err)
{
    struct tfs_buf section = {0};

    if (tfs_cosmic_palette_equal(&view->blocks, palette->names, palette->count) ||
        check_uses(&view->blocks, palette->count, err) < 0)
        return err->code;
    tfs_cosmic_blocks_rename(&section, &view->blocks, palette->names, palette->count);
    tfs_cosmic_section_put(edit, &view->chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
    tfs_buf_release(&section);
    return err->code;
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_cosmic_view view = {0};
    struct tfs_palette palette = no_palette;

    (void)put;
    if (tfs_cosmic_view_open(save, tfs_edit_doc(edit), at.key, &view, err) == 0 &&
        tfs_palette_read(&palette, text, tfs_cosmic_palette_had, &view.blocks, err) == 0)
        palette_store(edit, &view, &palette, err);
    tfs_cosmic_view_close(&view);
    tfs_palette_release(&palette);
    return err->code;
}

const struct tfs_lens tfs_cosmic_palette_lens = {
    .get = palette_get,
    .put = palette_put,
    .size = palette_size,
};
