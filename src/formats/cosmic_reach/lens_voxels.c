/*
 * voxels.csv: one line `x,y,z,block` a block that is not air <-> block data.
 *
 * Must not know light, entities or containers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/change.h"
#include "formats/cosmic_reach/lenses.h"
#include "formats/voxel_table.h"
#include "text/name.h"

static const char *const column_names[] = {"block"};
static const struct tfs_voxel_columns columns = {.names = column_names, .count = 1};

static struct tfs_voxel_box box_of(struct tfs_key key)
{
    return (struct tfs_voxel_box){key, {TFS_COSMIC_SIDE, TFS_COSMIC_SIDE, TFS_COSMIC_SIDE}};
}

/* ---- get ------------------------------------------------------------------------------------- */

/* What the lines of each palette entry have behind their coordinates; air has no line. */
struct blocks {
    struct tfs_voxel_values *values;
    struct tfs_buf text;
};

static void print_block(struct blocks *b, struct tfs_span name, struct tfs_voxel_values *values,
                        struct tfs_buf *printed)
{
    const size_t begin = b->text.size;

    if (tfs_cosmic_is_air(name))
        return;
    tfs_buf_clear(printed);
    tfs_name_print(printed, name);
    tfs_table_print_field(&b->text, tfs_buf_span(printed));
    tfs_buf_u8(&b->text, '\n');
    values->size = (uint32_t)(b->text.size - begin);
    values->lines = 1;
}

static void blocks_release(struct blocks *b)
{
    free(b->values);
    tfs_buf_release(&b->text);
}

/* To be released after a failure too. */
static int print_blocks(struct blocks *b, const struct tfs_cosmic_blocks *blocks,
                        struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);
    struct tfs_buf printed = {0};
    size_t at = 0;

    b->values = calloc(blocks->count, sizeof(*b->values));
    if (b->values == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < blocks->count; i++)
        print_block(b, tfs_cosmic_name_take(&c), &b->values[i], &printed);
    tfs_buf_resize(&b->text, b->text.size + TFS_VOXEL_STEP);
    if (tfs_buf_check(&printed, err) == 0)
        tfs_buf_check(&b->text, err);
    for (uint32_t i = 0; i < blocks->count && err->code == 0; at += b->values[i++].size)
        b->values[i].text = b->text.data + at;
    tfs_buf_release(&printed);
    return err->code;
}

static void add_layer(struct tfs_voxel_lines *lines, const struct blocks *b,
                      const struct tfs_cosmic_layers *layers, unsigned y)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];

    if (layers->types[y] == TFS_COSMIC_SINGLE_BYTE) {
        tfs_voxel_lines_add(lines, TFS_COSMIC_LAYER_VALUES, &b->values[layers->bytes[y].data[0]]);
        return;
    }
    layers->decode(layers->types[y], layers->bytes[y].data, ids);
    tfs_voxel_lines_add_rows(lines, TFS_COSMIC_SIDE, ids, b->values);
}

/* All lines; `out` NULL: their size alone. */
static int print_lines(const struct tfs_cosmic_view *view, struct tfs_buf *out, uint64_t *size,
                       struct tfs_error *err)
{
    const struct tfs_voxel_box box = box_of(view->chunk.in.key);
    struct tfs_voxel_lines lines;
    struct blocks b = {0};

    if (print_blocks(&b, &view->blocks, err) == 0 &&
        tfs_voxel_lines_open(&lines, &box, out, err) == 0) {
        for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++)
            add_layer(&lines, &b, &view->blocks.layers, y);
        *size = lines.size;
        tfs_voxel_lines_close(&lines);
    }
    blocks_release(&b);
    return err->code;
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cosmic_view view;
    uint64_t ignored;

    int status = tfs_cosmic_view_open(save, doc, at.key, &view, err);
    if (status < 0)
        return status;
    tfs_voxel_header_print(out, columns.names, columns.count);
    print_lines(&view, out, &ignored, err);
    tfs_cosmic_view_close(&view);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static int64_t voxels_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_cosmic_view view;
    struct tfs_error ignored = {0};
    uint64_t size;

    int status = tfs_cosmic_view_open(save, doc, at.key, &view, &ignored);
    if (status < 0)
        return status;
    status = print_lines(&view, NULL, &size, &ignored);
    tfs_cosmic_view_close(&view);
    if (status < 0)
        return status;
    return (int64_t)(sizeof("x,y,z,block") + size);
}

/* ---- put ------------------------------------------------------------------------------------- */

/* The number of the name that a field prints. */
static int take_name(struct tfs_buf *name, struct tfs_cosmic_change *change,
                     const struct tfs_line *field, uint32_t *number, struct tfs_error *err)
{
    static const struct tfs_name_rules rules = TFS_COSMIC_NAME_RULES;

    tfs_buf_clear(name);
    if (tfs_line_name(field, name, err) < 0 ||
        tfs_cosmic_change_find(change, tfs_buf_span(name), number))
        return err->code;
    return tfs_name_check(&rules, tfs_buf_span(name), field, err) < 0
               ? err->code
               : tfs_cosmic_change_number(change, tfs_buf_span(name), number, err);
}

/* Gives the voxels that have a line their names: 0 at the end. */
static int read_lines(struct tfs_voxel_reader *r, struct tfs_cosmic_change *change,
                      struct tfs_buf *name, bool there[TFS_COSMIC_VALUES], struct tfs_error *err)
{
    struct tfs_voxel_row row;
    uint32_t number = 0;
    int got;

    while ((got = tfs_voxel_reader_next(r, &row, err)) == 1) {
        if (!row.again && take_name(name, change, &row.fields[0], &number, err) < 0)
            return err->code;
        tfs_cosmic_change_set(change, row.voxel, number);
        there[row.voxel] = true;
    }
    return got;
}

static int put_lines(struct tfs_voxel_reader *r, struct tfs_cosmic_change *change,
                     struct tfs_buf *name, struct tfs_error *err)
{
    bool there[TFS_COSMIC_VALUES] = {false};

    if (read_lines(r, change, name, there, err) < 0)
        return err->code;
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        if (!there[i] && tfs_cosmic_change_clear(change, i, err) < 0)
            return err->code;
    return tfs_cosmic_change_store(r->edit, change, err);
}

static int voxels_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_voxel_box box = box_of(at.key);
    struct tfs_voxel_reader r = {0};
    struct tfs_cosmic_change *change = calloc(1, sizeof(*change));
    struct tfs_buf name = {0};

    if (change == NULL)
        return tfs_fail_memory(err);
    if (tfs_cosmic_change_open(save, change, tfs_edit_doc(edit), at.key, err) == 0 &&
        tfs_voxel_reader_open(&r, &columns, &box, edit, put->fresh, text, err) == 0)
        put_lines(&r, change, &name, err);
    tfs_cosmic_change_close(change);
    tfs_buf_release(&name);
    free(change);
    return tfs_voxel_reader_close(&r, err);
}

const struct tfs_lens tfs_cosmic_voxels_lens = {
    .get = voxels_get,
    .put = voxels_put,
    .size = voxels_size,
};
