/*
 * blocks.txt: the palette and a grid of indices into it; palette.txt of a chunk: the palette alone.
 *
 * Must not know light, entities or containers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/lenses.h"
#include "text/decimal.h"

#define KEYWORD "palette "

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
    tfs_cosmic_palette_print(out, KEYWORD, view.blocks.palette, view.blocks.count);
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
        tfs_cosmic_palette_size(sizeof(KEYWORD) - 1, view.blocks.palette, view.blocks.count);
    if (tfs_cosmic_layers_uniform(&view.blocks.layers, UINT32_MAX, &id))
        size += tfs_grid_fill_size(&shape, id);
    else
        size += 1 + tfs_grid_rows_size(&shape);
    tfs_cosmic_view_close(&view);
    return (int64_t)size;
}

static bool is_keyword(struct tfs_line word)
{
    return word.text.size == sizeof(KEYWORD) - 2 &&
           memcmp(word.text.data, KEYWORD, sizeof(KEYWORD) - 2) == 0;
}

/* The palette lines; *first is the line behind them. */
static int parse_header(struct tfs_lines *lines, const struct tfs_cosmic_blocks *old,
                        struct tfs_cosmic_palette_text *palette, struct tfs_line *first,
                        struct tfs_error *err)
{
    while (tfs_lines_next(lines, first)) {
        struct tfs_line line = *first, word;
        if (!tfs_line_word(&line, &word) || !is_keyword(word))
            return tfs_cosmic_palette_text_finish(palette, old, err);
        if (tfs_cosmic_palette_text_add(palette, line, err) < 0)
            return err->code;
    }
    if (tfs_cosmic_palette_text_finish(palette, old, err) < 0)
        return err->code;
    return tfs_fail(err, -EBADMSG, "the text ends behind the palette, without rows or `fill`");
}

static int parse_blocks(struct tfs_span text, const struct tfs_cosmic_blocks *old,
                        struct tfs_cosmic_palette_text *palette, uint32_t *ids,
                        struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line first;
    char range[64];

    if (tfs_lines_init(&lines, text, err) < 0 ||
        parse_header(&lines, old, palette, &first, err) < 0)
        return err->code;
    snprintf(range, sizeof(range), "the palette has %u %s", palette->count,
             palette->count == 1 ? "entry" : "entries");

    struct tfs_grid_rules rules = {
        .shape = shape_of(palette->count),
        .high = palette->count - 1,
        .out_of_range = range,
    };
    return tfs_grid_parse(&lines, &first, &rules, ids, NULL, err);
}

static bool blocks_same(const struct tfs_cosmic_view *view,
                        const struct tfs_cosmic_palette_text *palette, const uint32_t *ids)
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
    struct tfs_cosmic_palette_text *palette = NULL;
    uint32_t ids[TFS_COSMIC_VALUES];
    struct tfs_buf section = {0};

    (void)put;
    if (tfs_cosmic_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0 ||
        tfs_cosmic_palette_text_open(&palette, err) < 0 ||
        parse_blocks(text, &view.blocks, palette, ids, err) < 0 || blocks_same(&view, palette, ids))
        goto out;
    tfs_cosmic_blocks_encode(&section, palette->names, palette->count, ids,
                             tfs_cosmic_chunk_version(&view.chunk.in));
    tfs_cosmic_section_put(edit, &view.chunk, TFS_COSMIC_SECTION_BLOCKS, &section, err);
out:
    tfs_cosmic_view_close(&view);
    tfs_buf_release(&section);
    tfs_cosmic_palette_text_close(palette);
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
    uint64_t size = tfs_cosmic_palette_size(0, view.blocks.palette, view.blocks.count);
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
                         const struct tfs_cosmic_palette_text *palette, struct tfs_error *err)
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
    struct tfs_cosmic_palette_text *palette = NULL;
    struct tfs_lines lines;
    struct tfs_line line;

    (void)put;
    if (tfs_cosmic_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0 ||
        tfs_lines_init(&lines, text, err) < 0 || tfs_cosmic_palette_text_open(&palette, err) < 0)
        goto out;
    while (tfs_lines_next(&lines, &line))
        if (tfs_cosmic_palette_text_add(palette, line, err) < 0)
            goto out;
    if (tfs_cosmic_palette_text_finish(palette, &view.blocks, err) == 0)
        palette_store(edit, &view, palette, err);
out:
    tfs_cosmic_view_close(&view);
    tfs_cosmic_palette_text_close(palette);
    return err->code;
}

const struct tfs_lens tfs_cosmic_palette_lens = {
    .get = palette_get,
    .put = palette_put,
    .size = palette_size,
};
