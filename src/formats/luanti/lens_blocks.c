/*
 * blocks.txt: the palette and a grid of indices into it; palette.txt of a chunk: the palette alone;
 * param1.txt and param2.txt: grids.
 *
 * An index is the place of a name among those of the block, by their stored numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"
#include "formats/renaming.h"
#include "text/decimal.h"
#include "text/grid.h"
#include "text/name.h"
#include "text/table.h"

#define KEYWORD     "palette "
#define PALETTE_MAX 65536 /* ids have 16 bits */

/* ---- a palette from a text ------------------------------------------------------------------- */

struct entry {
    size_t at, size; /* of the name, in bytes */
    uint32_t line;   /* 0: not given */
};

struct palette {
    uint32_t count; /* highest index + 1 */
    struct tfs_buf bytes;
    struct entry *entries; /* PALETTE_MAX */
};

static int palette_open(struct palette *p, struct tfs_error *err)
{
    *p = (struct palette){.entries = calloc(PALETTE_MAX, sizeof(*p->entries))};
    return p->entries == NULL ? tfs_fail_memory(err) : 0;
}

static void palette_close(struct palette *p)
{
    tfs_buf_release(&p->bytes);
    free(p->entries);
}

static struct tfs_span palette_name(const struct palette *p, uint32_t index)
{
    const struct entry *entry = &p->entries[index];

    return (struct tfs_span){entry->size == 0 ? NULL : p->bytes.data + entry->at, entry->size};
}

int tfs_luanti_name_check(struct tfs_span name, const struct tfs_line *line, struct tfs_error *err)
{
    static const struct tfs_name_rules rules = {"node", TFS_LUANTI_NAME_MAX};

    return tfs_name_check(&rules, name, line, err);
}

/* One line `INDEX NAME`. */
static int palette_add(struct palette *p, struct tfs_line line, struct tfs_error *err)
{
    struct tfs_line word;
    int64_t index;

    if (!tfs_line_word(&line, &word))
        return tfs_fail_line(err, &line, "an index and a name are missing");
    if (tfs_line_number(&word, "index", 0, PALETTE_MAX - 1, &index, err) < 0)
        return err->code;
    struct entry *entry = &p->entries[index];
    if (entry->line > 0)
        return tfs_fail_line(err, &word, "the index %u was given in line %u already",
                             (unsigned)index, entry->line);
    *entry = (struct entry){.at = p->bytes.size, .line = line.number};
    if (tfs_line_name(&line, &p->bytes, err) < 0)
        return err->code;
    entry->size = p->bytes.size - entry->at;
    p->count = index >= p->count ? (uint32_t)index + 1 : p->count;
    return 0;
}

/* The numbers of its names; none may lack. */
static int palette_numbers(const struct palette *p, struct tfs_luanti_change *change,
                           uint32_t **numbers, struct tfs_error *err)
{
    if (p->count == 0)
        return tfs_fail_at(err, -EBADMSG, 1, 1, "the text has no palette, not even of one node");
    *numbers = calloc(p->count, sizeof(**numbers));
    if (*numbers == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tfs_line line = {.number = p->entries[i].line, .column = 1};
        if (line.number == 0)
            return tfs_fail(err, -EBADMSG,
                            "the palette has no entry %u, though it has others up "
                            "to %u",
                            i, p->count - 1);
        if (tfs_luanti_change_number(change, palette_name(p, i), &(*numbers)[i], err) < 0)
            return err->code;
        /* Names that were there before may be as odd as they are. */
        if ((*numbers)[i] >= change->view->block.count &&
            tfs_luanti_name_check(palette_name(p, i), &line, err) < 0)
            return err->code;
    }
    return 0;
}

static void print_palette(const struct tfs_luanti_block *b, const char *prefix, struct tfs_buf *out)
{
    for (uint32_t i = 0; i < b->count; i++) {
        tfs_buf_add_text(out, prefix);
        tfs_table_print_number(out, i);
        tfs_buf_u8(out, ' ');
        tfs_name_print(out, b->names[i].name);
        tfs_buf_u8(out, '\n');
    }
}

static uint64_t palette_bytes(const struct tfs_luanti_block *b, size_t prefix)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < b->count; i++)
        size += prefix + tfs_decimal_width(i) + 1 + tfs_name_size(b->names[i].name) + 1;
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

    print_palette(b, KEYWORD, out);
    if (!is_uniform(b->nodes))
        tfs_buf_u8(out, '\n');
    tfs_grid_print(out, &shape, b->nodes);
}

static int64_t blocks_bytes(const struct tfs_luanti_block *b)
{
    const struct tfs_grid_shape shape = shape_of(TFS_GRID_DECIMAL, tfs_decimal_width(b->count - 1));
    const uint64_t grid = is_uniform(b->nodes) ? tfs_grid_fill_size(&shape, b->nodes[0])
                                               : 1 + tfs_grid_rows_size(&shape);

    return (int64_t)(palette_bytes(b, sizeof(KEYWORD) - 1) + grid);
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

static int parse_blocks(struct tfs_span text, struct palette *palette, uint32_t *indices,
                        struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line first, line, word;
    char range[64];
    bool more;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while ((more = tfs_lines_next(&lines, &first))) {
        line = first;
        if (!tfs_line_word(&line, &word) || !tfs_span_equal(word.text, tfs_span_of("palette")))
            break;
        if (palette_add(palette, line, err) < 0)
            return err->code;
    }
    if (!more)
        return tfs_fail(err, -EBADMSG, "the text ends behind the palette, without rows or `fill`");
    if (palette->count == 0)
        return tfs_fail_line(err, &first, "the text has no palette, not even of one node");
    snprintf(range, sizeof(range), "the palette has %u %s", palette->count,
             palette->count == 1 ? "entry" : "entries");
    const struct tfs_grid_rules rules = {
        .shape = shape_of(TFS_GRID_DECIMAL, tfs_decimal_width(palette->count - 1)),
        .high = palette->count - 1,
        .out_of_range = range,
    };
    return tfs_grid_parse(&lines, &first, &rules, indices, NULL, err);
}

/* A voxel that keeps its index has a node of another name: it was renamed, and keeps param2. */
static void set_nodes(struct tfs_luanti_change *change, const uint32_t *indices,
                      const uint32_t *numbers)
{
    bool renamed = true;

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t number = numbers[indices[i]];
        if (tfs_luanti_change_is(change, i, number))
            continue;
        if (indices[i] != change->view->block.nodes[i]) {
            renamed = false;
            change->param2[i] = 0;
        }
        tfs_luanti_change_set(change, i, number);
    }
    change->keeps_light = renamed;
}

static int blocks_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_luanti_change change;
    struct palette palette;
    uint32_t indices[TFS_LUANTI_VOXELS], *numbers = NULL;

    (void)put;
    if (palette_open(&palette, err) < 0)
        return err->code;
    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        parse_blocks(text, &palette, indices, err) == 0 &&
        palette_numbers(&palette, &change, &numbers, err) == 0) {
        set_nodes(&change, indices, numbers);
        tfs_luanti_change_store(edit, &change, err);
    }
    free(numbers);
    tfs_luanti_change_close(&change);
    palette_close(&palette);
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

static int parse_palette(struct tfs_span text, struct palette *palette, struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (palette_add(palette, line, err) < 0)
            return err->code;
    return 0;
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
        tfs_luanti_change_set(change, i, numbers[index]);
    }
    change->keeps_light = true;
    return 0;
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_luanti_change change;
    struct palette palette;
    uint32_t *numbers = NULL;

    (void)put;
    if (palette_open(&palette, err) < 0)
        return err->code;
    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        parse_palette(text, &palette, err) == 0 &&
        palette_numbers(&palette, &change, &numbers, err) == 0 &&
        rename_nodes(&change, palette.count, numbers, err) == 0)
        tfs_luanti_change_store(edit, &change, err);
    free(numbers);
    tfs_luanti_change_close(&change);
    palette_close(&palette);
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
