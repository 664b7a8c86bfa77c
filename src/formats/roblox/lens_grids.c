/*
 * materials.txt, occupancy.txt, water.txt: one attribute of every cell <-> a grid of numbers.
 *
 * The three belong together (attribute.h). A cell whose value in the file did not change is neither
 * changed nor checked, so odd values that are stored stay as they are.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/roblox/attribute.h"
#include "formats/roblox/lenses.h"
#include "formats/roblox/material.h"
#include "formats/roblox/summary.h"
#include "text/grid.h"

static struct tfs_grid_shape shape_of(const struct tfs_rbx_attribute *a, uint32_t log2)
{
    const uint32_t edge = tfs_rbx_edge(log2);

    return (struct tfs_grid_shape){edge, edge, edge, TFS_GRID_DECIMAL, a->width};
}

/* ---- get ------------------------------------------------------------------------------------- */

static bool is_uniform(const struct tfs_rbx_attribute *a, const struct tfs_rbx_summary *s)
{
    return tfs_rbx_attribute_of(a, s->varies) == 0;
}

/* `# 2 Grass` for each material that occurs, so that it can be searched for, and an empty line. */
static void print_legend(struct tfs_buf *out, uint64_t present)
{
    for (uint32_t i = 0; i < TFS_RBX_MATERIALS; i++) {
        const struct tfs_span name = tfs_rbx_material_name(i);
        if ((present >> i & 1) == 0)
            continue;
        tfs_buf_printf(out, "# %" PRIu32 " ", i);
        tfs_buf_add_span(out, name.size > 0 ? name : tfs_span_of("(no name)"));
        tfs_buf_u8(out, '\n');
    }
    tfs_buf_u8(out, '\n');
}

static void print_head(struct tfs_buf *out, const struct tfs_rbx_attribute *a,
                       const struct tfs_rbx_summary *s)
{
    if (a->legend)
        print_legend(out, s->materials);
}

static uint64_t rows_size(const struct tfs_rbx_attribute *a, const struct tfs_rbx_summary *s,
                          uint32_t log2)
{
    const struct tfs_grid_shape shape = shape_of(a, log2);

    return is_uniform(a, s) ? tfs_grid_fill_size(&shape, tfs_rbx_attribute_of(a, s->first))
                            : tfs_grid_rows_size(&shape);
}

/* The values of a chunk, along its records. */
struct values {
    const struct tfs_rbx_attribute *attribute;
    struct tfs_cursor records;
    struct tfs_rbx_run ahead; /* the record that ended the run before; count 0: none yet */
};

/* Records of one value are one run: they differ in other attributes, or are too long for one. */
static void next_values(void *arg, struct tfs_grid_run *next)
{
    struct values *v = arg;
    struct tfs_rbx_run run = v->ahead;

    if (run.count == 0 && !tfs_rbx_run_take(&v->records, &run))
        run = (struct tfs_rbx_run){TFS_RBX_EMPTY, UINT32_MAX};
    *next = (struct tfs_grid_run){tfs_rbx_attribute_of(v->attribute, run.cell), run.count};
    v->ahead.count = 0;
    while (tfs_cursor_left(&v->records) > 0 && tfs_rbx_run_take(&v->records, &v->ahead)) {
        if (tfs_rbx_attribute_of(v->attribute, v->ahead.cell) != next->value)
            return;
        next->count += v->ahead.count;
        v->ahead.count = 0;
    }
}

static int print_rows(struct tfs_buf *out, const struct tfs_rbx_attribute *a,
                      const struct tfs_chunk *chunk, struct tfs_error *err)
{
    const struct tfs_grid_shape shape = shape_of(a, tfs_rbx_chunk_log2(chunk));
    struct values v = {a, tfs_cursor_init(tfs_blob_span(chunk->blob)), {0}};

    tfs_grid_print_runs(out, &shape, next_values, &v);
    if (v.records.failed)
        return tfs_fail(err, -EBADMSG, "the records are cut off");
    return tfs_buf_check(out, err);
}

static int grid_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_rbx_attribute *a = at.param;
    const struct tfs_chunk *chunk;

    (void)save;
    if (tfs_doc_need(doc, at.key, &chunk, err) < 0)
        return err->code;

    const struct tfs_rbx_summary s = tfs_rbx_summary(doc, chunk);
    const struct tfs_grid_shape shape = shape_of(a, tfs_rbx_chunk_log2(chunk));
    if (tfs_rbx_check_text_size(rows_size(a, &s, tfs_rbx_chunk_log2(chunk)), err) < 0)
        return err->code;
    print_head(out, a, &s);
    if (!is_uniform(a, &s))
        return print_rows(out, a, chunk, err);
    tfs_grid_print_fill(out, &shape, tfs_rbx_attribute_of(a, s.first));
    return tfs_buf_check(out, err);
}

static int64_t grid_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct tfs_rbx_attribute *a = at.param;
    const struct tfs_chunk *chunk;
    struct tfs_error ignored = {0};
    struct tfs_buf head = {0};

    (void)save;
    if (tfs_doc_need(doc, at.key, &chunk, &ignored) < 0)
        return ignored.code;

    const struct tfs_rbx_summary s = tfs_rbx_summary(doc, chunk);
    const uint64_t rows = rows_size(a, &s, tfs_rbx_chunk_log2(chunk));
    print_head(&head, a, &s);
    int64_t size = head.failed || rows > TFS_RBX_TEXT_MAX ? -1 : (int64_t)(head.size + rows);
    tfs_buf_release(&head);
    return size;
}

/* ---- put ------------------------------------------------------------------------------------- */

/* The place of value number `cell` in a text that was parsed already. */
static struct tfs_line find_value(struct tfs_span text, const struct tfs_grid_shape *shape,
                                  size_t cell)
{
    struct tfs_error ignored = {0};
    struct tfs_lines lines = {0};
    struct tfs_line line = {0};
    struct tfs_line word = {0};
    size_t row = cell / shape->sx;
    size_t column = cell % shape->sx;

    (void)tfs_lines_init(&lines, text, &ignored);
    (void)tfs_lines_next(&lines, &line);
    if (line.text.size > 0 && line.text.data[0] == 'f') {
        row = 0; /* `fill VALUE` is the value of all of them */
        column = 1;
    }
    for (; row > 0; row--)
        (void)tfs_lines_next(&lines, &line);

    const uint8_t *bar = line.text.size == 0 ? NULL : memchr(line.text.data, '|', line.text.size);
    if (bar != NULL)
        tfs_line_skip(&line, (size_t)(bar + 1 - line.text.data));
    for (size_t i = 0; i <= column; i++)
        (void)tfs_line_word(&line, &word);
    return word;
}

static int refuse(const struct tfs_rbx_attribute *a, const struct tfs_rbx_cells *c, size_t cell,
                  uint32_t value, struct tfs_span text, struct tfs_error *err)
{
    const struct tfs_grid_shape shape = shape_of(a, tfs_rbx_chunk_log2(&c->chunk));
    const struct tfs_line place = find_value(text, &shape, cell);
    const struct tfs_rbx_voxel at = tfs_rbx_voxel_of(c, cell);

    return tfs_fail_line(err, &place,
                         "voxel %" PRId64 ",%" PRId64 ",%" PRId64 ": %s %" PRIu32 " for %s", at.x,
                         at.y, at.z, a->name, value, tfs_rbx_attribute_refusal(c->cells[cell]));
}

/* Gives the cells their new values. In a new chunk, what does not fit waits for the file that makes
 * it fit. */
static int apply_values(const struct tfs_rbx_attribute *a, struct tfs_rbx_cells *c,
                        const uint32_t *values, struct tfs_span text, struct tfs_put *put,
                        struct tfs_error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        if (values[i] == tfs_rbx_attribute_of(a, c->cells[i]) || a->apply(&c->cells[i], values[i]))
            continue;
        if (!put->fresh)
            return refuse(a, c, i, values[i], text, err);
        put->waits = true;
    }
    return 0;
}

static int parse_values(const struct tfs_rbx_attribute *a, uint32_t log2, struct tfs_span text,
                        uint32_t *values, struct tfs_error *err)
{
    struct tfs_lines lines;
    const struct tfs_grid_rules rules = {shape_of(a, log2), a->high, a->out_of_range};

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    return tfs_grid_parse(&lines, NULL, &rules, values, NULL, err);
}

static int grid_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_rbx_attribute *a = at.param;
    struct tfs_rbx_cells c;

    (void)save;
    if (tfs_rbx_cells_open(tfs_edit_doc(edit), at.key, &c, err) < 0)
        return err->code;

    uint32_t *values = malloc(c.count * sizeof(*values));
    if (values == NULL)
        tfs_fail_memory(err);
    else if (parse_values(a, tfs_rbx_chunk_log2(&c.chunk), text, values, err) == 0 &&
             apply_values(a, &c, values, text, put, err) == 0)
        tfs_rbx_store_cells(edit, &c, err);
    free(values);
    tfs_rbx_cells_release(&c);
    return err->code;
}

/* ---- the three files ------------------------------------------------------------------------- */

#define GRID_LENS(attribute)                                                                       \
    {                                                                                              \
        .param = (attribute), .get = grid_get, .put = grid_put, .size = grid_size                  \
    }

const struct tfs_lens tfs_rbx_materials_lens = GRID_LENS(&tfs_rbx_material);
const struct tfs_lens tfs_rbx_occupancy_lens = GRID_LENS(&tfs_rbx_occupancy);
const struct tfs_lens tfs_rbx_water_lens = GRID_LENS(&tfs_rbx_water);
