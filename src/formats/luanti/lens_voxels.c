/*
 * voxels.csv: one line `x,y,z,node,param2` a node that is not air <-> nodes and their param2.
 *
 * Must not know light, metadata or containers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/luanti/change.h"
#include "formats/luanti/lenses.h"
#include "formats/voxel_table.h"
#include "text/decimal.h"
#include "text/name.h"

enum column { NODE, PARAM2, COLUMNS };

static const char *const column_names[COLUMNS] = {"node", "param2"};
static const struct tfs_voxel_columns columns = {.names = column_names, .count = COLUMNS};

static struct tfs_voxel_box box_of(struct tfs_key key)
{
    return (struct tfs_voxel_box){key, {TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, TFS_LUANTI_SIDE}};
}

/* ---- get ------------------------------------------------------------------------------------- */

/* What stands behind the coordinates of a name, up to param2: where it lies in `text`. Air has
 * nothing. */
struct prints {
    struct tfs_buf text;
    struct range {
        size_t at, size;
    } * ranges;
};

static int print_names(const struct tfs_luanti_block *b, struct prints *p, struct tfs_error *err)
{
    struct tfs_buf name = {0};

    p->ranges = calloc(b->count, sizeof(*p->ranges));
    if (p->ranges == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < b->count; i++) {
        p->ranges[i].at = p->text.size;
        if (tfs_luanti_is_air(b->names[i].name))
            continue;
        tfs_buf_clear(&name);
        tfs_name_print(&name, b->names[i].name);
        tfs_table_print_field(&p->text, tfs_buf_span(&name));
        tfs_buf_u8(&p->text, ',');
        p->ranges[i].size = p->text.size - p->ranges[i].at;
    }
    if (tfs_buf_check(&name, err) == 0)
        tfs_buf_check(&p->text, err);
    tfs_buf_release(&name);
    return err->code;
}

static void prints_release(struct prints *p)
{
    tfs_buf_release(&p->text);
    free(p->ranges);
}

static void print_voxel(struct tfs_voxel_lines *lines, const struct prints *p,
                        const struct range *range, uint8_t param2)
{
    static const struct tfs_voxel_values air = {.text = (const uint8_t *)""};

    if (range->size == 0) {
        tfs_voxel_lines_add(lines, 1, &air);
        return;
    }
    uint8_t *at = tfs_voxel_line_begin(lines, range->size + TFS_DECIMAL_MAX + 1);
    if (at == NULL)
        return;
    memcpy(at, p->text.data + range->at, range->size);
    at += range->size;
    at += tfs_decimal_put(at, param2);
    *at++ = '\n';
    tfs_voxel_line_end(lines, at);
}

static int voxels_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_voxel_box box = box_of(at.key);
    struct tfs_voxel_lines lines;
    struct tfs_luanti_view *view;
    struct prints p = {0};

    if (tfs_luanti_view_need(save, doc, at.key, &view, err) < 0)
        return err->code;
    tfs_voxel_header_print(out, columns.names, columns.count);
    if (print_names(&view->block, &p, err) == 0 &&
        tfs_voxel_lines_open(&lines, &box, out, err) == 0) {
        for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
            print_voxel(&lines, &p, &p.ranges[view->block.nodes[i]], view->block.param2[i]);
        tfs_voxel_lines_close(&lines);
    }
    prints_release(&p);
    tfs_luanti_view_unref(view);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

/* ---- put ------------------------------------------------------------------------------------- */

/* The number of the name that a field prints. */
static int take_name(struct tfs_buf *name, struct tfs_luanti_change *change,
                     const struct tfs_line *field, uint32_t *number, struct tfs_error *err)
{
    static const struct tfs_name_rules rules = TFS_LUANTI_NAME_RULES;

    tfs_buf_clear(name);
    if (tfs_line_name(field, name, err) < 0 ||
        tfs_words_find(&change->names, tfs_buf_span(name), number))
        return err->code;
    return tfs_name_check(&rules, tfs_buf_span(name), field, err) < 0
               ? err->code
               : tfs_words_add(&change->names, tfs_buf_span(name), number, err);
}

static int take_param2(const struct tfs_line *field, uint8_t *param2, struct tfs_error *err)
{
    int64_t number;

    if (tfs_line_number(field, "param2", 0, UINT8_MAX, &number, err) < 0)
        return err->code;
    *param2 = (uint8_t)number;
    return 0;
}

/* Gives the voxels that have a line their nodes: 0 at the end. */
static int read_lines(struct tfs_voxel_reader *r, struct tfs_luanti_change *change,
                      struct tfs_buf *name, bool there[TFS_LUANTI_VOXELS], struct tfs_error *err)
{
    struct tfs_voxel_row row;
    uint32_t number = 0;
    uint8_t param2 = 0;
    int got;

    while ((got = tfs_voxel_reader_next(r, &row, err)) == 1) {
        if (!row.again && (take_name(name, change, &row.fields[NODE], &number, err) < 0 ||
                           take_param2(&row.fields[PARAM2], &param2, err) < 0))
            return err->code;
        change->ids[row.voxel] = number;
        change->param2[row.voxel] = param2;
        there[row.voxel] = true;
    }
    return got;
}

static int put_lines(struct tfs_voxel_reader *r, struct tfs_luanti_change *change,
                     struct tfs_buf *name, struct tfs_error *err)
{
    bool there[TFS_LUANTI_VOXELS] = {false};

    if (read_lines(r, change, name, there, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        if (!there[i])
            tfs_luanti_change_clear(change, i);
    return tfs_luanti_change_store(r->edit, change, err);
}

static int voxels_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_voxel_box box = box_of(at.key);
    struct tfs_voxel_reader r = {0};
    struct tfs_luanti_change change;
    struct tfs_buf name = {0};

    if (tfs_luanti_change_open(&change, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        tfs_voxel_reader_open(&r, &columns, &box, edit, put->fresh, text, err) == 0)
        put_lines(&r, &change, &name, err);
    tfs_luanti_change_close(&change);
    tfs_buf_release(&name);
    return tfs_voxel_reader_close(&r, err);
}

const struct tfs_lens tfs_luanti_voxels_lens = {.get = voxels_get, .put = voxels_put};
