/*
 * blocks.txt: the palette and a grid of indices into it; palette.txt of a chunk: the palette alone;
 * param1.txt and param2.txt: grids.
 *
 * An index is the place of a name among those of the block, by their stored numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"
#include "text/decimal.h"
#include "text/grid.h"

#define PALETTE_MAX 65536 /* ids have 16 bits */

static const struct tfs_palette no_palette = {.rules = TFS_LUANTI_NAME_RULES, .max = PALETTE_MAX};

/* The numbers of a palette's names. */
static int number_palette(const struct tfs_palette *p, struct tfs_luanti_change *change,
                          uint32_t **numbers, struct tfs_error *err)
{
    *numbers = calloc(p->count, sizeof(**numbers));
    if (*numbers == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < p->count && err->code == 0; i++)
        tfs_words_add(&change->names, p->names[i], &(*numbers)[i], err);
    return err->code;
}

static void print_palette(const struct tfs_luanti_block *b, const char *prefix, struct tfs_buf *out)
{
    for (uint32_t i = 0; i < b->count; i++)
        tfs_palette_print(out, prefix, i, b->names[i].name);
}

static uint64_t palette_bytes(const struct tfs_luanti_block *b, const char *prefix)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < b->count; i++)
        size += tfs_palette_line_size(prefix, i, b->names[i].name);
    return size;
}

/* ---- blocks.txt ------------------------------------------------------------------------------ */

static struct tfs_grid_shape shape_of(enum tfs_grid_base base, uint32_t width)
{
    return (struct tfs_grid_shape){TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, base, width};
}

static bool is_uniform(const uint32_t *values)
{
    return memcmp(values, values + 1, (TFS_LUANTI_VOXELS - 1) * sizeof(*values)) == 0;
}

static void print_blocks(const struct tfs_luanti_block *b, struct tfs_buf *out)
{
    const struct tfs_grid_shape shape = shape_of(TFS_GRID_DECIMAL, tfs_decimal_width(b->count - 1));

    print_palette(b, TFS_PALETTE_KEYWORD, out);
    if (!is_uniform(b->nodes))
        tfs_buf_u8(out, '\n');
    tfs_grid_print(out, &shape, b->nodes);
}

static int64_t blocks_bytes(const struct tfs_luanti_block *b)
{
    const struct tfs_grid_shape shape = shape_of(TFS_GRID_DECIMAL, tfs_decimal_width(b->count - 1));
    const uint64_t grid = is_uniform(b->nodes) ? tfs_grid_fill_size(&shape, b->nodes[0])
                                               : 1 + tfs_grid_rows_size(&shape);

    return (int64_t)(palette_bytes(b, TFS_PALETTE_KEYWORD) + grid);
}

static int blocks_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_luanti_view *view;

    if (tfs_luanti_view_need(save, doc, at.key, &view, err) < 0)
        return err->code;
    print_blocks(&view->block, out);
    tfs_luanti_view_unref(view);
    return tfs_buf_check(out, err);
}

static int64_t blocks_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_luanti_view *view;
    struct tfs_error ignored = {0};

    if (tfs_luanti_view_need(save, doc, at.key, &view, &ignored) < 0)
        return ignored.code;
    const int64_t size = blocks_bytes(&view->block);
    tfs_luanti_view_unref(view);
    return size;
}

/* A voxel that keeps its index has a node of another name: it was renamed, and keeps param2. */
static void set_nodes(struct tfs_luanti_change *change, const uint32_t *indices,
                      const uint32_t *numbers)
{
    bool renamed = true;

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t number = numbers[indices[i]];
        if (change->ids[i] == number)
            continue;
        if (indices[i] != change->view->block.nodes[i]) {
            renamed = false;
            change->param2[i] = 0;
        }
        change->ids[i] = number;
    }
    change->keeps_light = renamed;
}

static int blocks_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_luanti_change change;
    struct tfs_palette palette = no_palette;
    uint32_t indices[TFS_LUANTI_VOXELS], *numbers = NULL;

    (void)put;
    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        tfs_palette_read_grid(&palette, text, TFS_LUANTI_SIDE, tfs_luanti_change_had, &change,
                              indices, err) == 0 &&
        number_palette(&palette, &change, &numbers, err) == 0) {
        set_nodes(&change, indices, numbers);
        tfs_luanti_change_store(edit, &change, err);
    }
    free(numbers);
    tfs_luanti_change_close(&change);
    tfs_palette_release(&palette);
    return err->code;
}

const struct tfs_lens tfs_luanti_blocks_lens = {
    .get = blocks_get,
    .put = blocks_put,
    .size = blocks_size,
};

/* ---- palette.txt ----------------------------------------------------------------------------- */

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_luanti_view *view;

    if (tfs_luanti_view_need(save, doc, at.key, &view, err) < 0)
        return err->code;
    print_palette(&view->block, "", out);
    tfs_luanti_view_unref(view);
    return tfs_buf_check(out, err);
}

/* Every voxel takes the name that its entry has now. */
static int rename_nodes(struct tfs_luanti_change *change, uint32_t count, const uint32_t *numbers,
                        struct tfs_error *err)
{
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t index = change->view->block.nodes[i];
        if (index >= count)
            return tfs_fail(err, -EBADMSG,
                            "entry %u is missing, but there are nodes of it in the chunk", index);
        change->ids[i] = numbers[index];
    }
    change->keeps_light = true;
    return 0;
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_luanti_change change;
    struct tfs_palette palette = no_palette;
    uint32_t *numbers = NULL;

    (void)put;
    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        tfs_palette_read(&palette, text, tfs_luanti_change_had, &change, err) == 0 &&
        number_palette(&palette, &change, &numbers, err) == 0 &&
        rename_nodes(&change, palette.count, numbers, err) == 0)
        tfs_luanti_change_store(edit, &change, err);
    free(numbers);
    tfs_luanti_change_close(&change);
    tfs_palette_release(&palette);
    return err->code;
}

const struct tfs_lens tfs_luanti_palette_lens = {.get = palette_get, .put = palette_put};

/* ---- param1.txt, param2.txt ------------------------------------------------------------------ */

/* Which array it is, and how a value is written. */
struct param {
    size_t offset[2]; /* in a block, in a change */
    struct tfs_grid_rules rules;
};

#define PARAM(name, digits, as)                                                                    \
    {                                                                                              \
        .offset = {offsetof(struct tfs_luanti_block, name),                                        \
                   offsetof(struct tfs_luanti_change, name)},                                      \
        .rules = {                                                                                 \
            .shape = {TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, as, digits},              \
            .high = UINT8_MAX,                                                                     \
            .out_of_range = "a parameter has 8 bits",                                              \
        },                                                                                         \
    }

static const struct param param1 = PARAM(param1, 2, TFS_GRID_HEX);
static const struct param param2 = PARAM(param2, 3, TFS_GRID_DECIMAL);

static int param_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const struct param *param = at.param;
    struct tfs_luanti_view *view;
    uint32_t values[TFS_LUANTI_VOXELS];

    if (tfs_luanti_view_need(save, doc, at.key, &view, err) < 0)
        return err->code;
    const uint8_t *stored = (const uint8_t *)&view->block + param->offset[0];
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        values[i] = stored[i];
    tfs_grid_print(out, &param->rules.shape, values);
    tfs_luanti_view_unref(view);
    return tfs_buf_check(out, err);
}

static int64_t param_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct param *param = at.param;
    struct tfs_luanti_view *view;
    struct tfs_error ignored = {0};

    if (tfs_luanti_view_need(save, doc, at.key, &view, &ignored) < 0)
        return ignored.code;
    const uint8_t *stored = (const uint8_t *)&view->block + param->offset[0];
    const uint64_t size = memcmp(stored, stored + 1, TFS_LUANTI_VOXELS - 1) == 0
                              ? tfs_grid_fill_size(&param->rules.shape, stored[0])
                              : tfs_grid_rows_size(&param->rules.shape);
    tfs_luanti_view_unref(view);
    return (int64_t)size;
}

static int param_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct param *param = at.param;
    struct tfs_luanti_change change;
    struct tfs_lines lines;
    uint32_t values[TFS_LUANTI_VOXELS];

    (void)put;
    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        tfs_lines_init(&lines, text, err) == 0 &&
        tfs_grid_parse(&lines, NULL, &param->rules, values, NULL, err) == 0) {
        uint8_t *stored = (uint8_t *)&change + param->offset[1];
        for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
            stored[i] = (uint8_t)values[i];
        tfs_luanti_change_store(edit, &change, err);
    }
    tfs_luanti_change_close(&change);
    return err->code;
}

const struct tfs_lens tfs_luanti_param1_lens = {
    .param = &param1,
    .get = param_get,
    .put = param_put,
    .size = param_size,
};

const struct tfs_lens tfs_luanti_param2_lens = {
    .param = &param2,
    .get = param_get,
    .put = param_put,
    .size = param_size,
};
