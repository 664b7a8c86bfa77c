/*
 * A plane of cells <-> grid text, of names with the palette in front: blocks.txt, param2.txt,
 * lights/sky.txt; and palette.txt of a chunk, which is the palette alone.
 *
 * Must not know what a game stores.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/edit.h"
#include "formats/views/views.h"

const unsigned tfs_plane_numbers[TFS_PLANES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};

static unsigned plane_of(struct tfs_at at)
{
    return *(const unsigned *)at.param;
}

/* The cells with the lens's plane. ENOENT: the chunk lacks it. */
static int open_plane(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_cells **cells, struct tfs_error *err)
{
    const unsigned plane = plane_of(at);

    if (tfs_cells_need(save, doc, at.key, 1u << plane, cells, err) < 0 ||
        (*cells)->planes[plane].values != NULL)
        return err->code;
    tfs_cells_unref(*cells);
    return tfs_fail(err, -ENOENT, "the chunk stores no %s", save->tree->cells->planes[plane].name);
}

/* ---- get ------------------------------------------------------------------------------------- */

static void print_palette(const struct tfs_cells *cells, const char *prefix, struct tfs_buf *out)
{
    for (uint32_t i = 0; i < cells->name_count; i++)
        tfs_palette_print(out, prefix, i, cells->names[i]);
}

static uint64_t palette_size(const struct tfs_cells *cells, const char *prefix)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < cells->name_count; i++)
        size += tfs_palette_line_size(prefix, i, cells->names[i]);
    return size;
}

static int print_rows(const struct tfs_cells *cells, const struct tfs_cells_plane *plane,
                      const struct tfs_grid_shape *shape, struct tfs_buf *out,
                      struct tfs_error *err)
{
    uint32_t *values;

    if (tfs_plane_size(&plane->form) == sizeof(uint64_t)) {
        tfs_grid_print_rows64(out, shape, plane->values);
        return 0;
    }
    if (tfs_plane_size(&plane->form) == sizeof(*values)) {
        tfs_grid_print_rows(out, shape, plane->values);
        return 0;
    }
    values = malloc(cells->count * sizeof(*values));
    if (values == NULL)
        return tfs_fail_memory(err);
    tfs_plane_widen(plane, 0, cells->count, values);
    tfs_grid_print_rows(out, shape, values);
    free(values);
    return 0;
}

/* The one value of a uniform plane, as grids have it. */
static uint32_t narrow_value(const struct tfs_cells_plane *plane)
{
    uint32_t value;

    tfs_plane_widen(plane, 0, 1, &value);
    return value;
}

static bool has_rows(const struct tfs_cells *cells, unsigned number)
{
    return (cells->kind->planes[number].flags & TFS_PLANE_ROWS) != 0 ||
           !tfs_plane_uniform(&cells->planes[number], cells->count);
}

static int print_grid(const struct tfs_cells *cells, unsigned number, struct tfs_buf *out,
                      struct tfs_error *err)
{
    const struct tfs_cells_plane *plane = &cells->planes[number];
    const struct tfs_grid_shape shape =
        tfs_plane_shape(&plane->form, cells->size, cells->name_count);
    const bool named = plane->form.kind == TFS_PLANE_NAMES;

    if (named)
        print_palette(cells, TFS_PALETTE_KEYWORD, out);
    if (has_rows(cells, number)) {
        if (named)
            tfs_buf_u8(out, '\n');
        return print_rows(cells, plane, &shape, out, err);
    }
    if (plane->form.width == sizeof(uint64_t))
        tfs_grid_print_fill64(out, &shape, tfs_plane_get(plane, 0));
    else
        tfs_grid_print_fill(out, &shape, narrow_value(plane));
    return 0;
}

int tfs_cells_grid_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (open_plane(save, doc, at, &cells, err) < 0)
        return err->code;
    print_grid(cells, plane_of(at), out, err);
    tfs_cells_unref(cells);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

static uint64_t grid_size(const struct tfs_cells *cells, unsigned number)
{
    const struct tfs_cells_plane *plane = &cells->planes[number];
    const struct tfs_grid_shape shape =
        tfs_plane_shape(&plane->form, cells->size, cells->name_count);
    const bool named = plane->form.kind == TFS_PLANE_NAMES;
    const uint64_t head = named ? palette_size(cells, TFS_PALETTE_KEYWORD) : 0;

    if (has_rows(cells, number))
        return head + named + tfs_grid_rows_size(&shape);
    return head + (plane->form.width == sizeof(uint64_t)
                       ? tfs_grid_fill_size64(&shape, tfs_plane_get(plane, 0))
                       : tfs_grid_fill_size(&shape, narrow_value(plane)));
}

int64_t tfs_cells_grid_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_cells *cells;

    const bool rows = (save->tree->cells->planes[plane_of(at)].flags & TFS_PLANE_ROWS) != 0;
    if ((rows ? tfs_cells_need(save, doc, at.key, 0, &cells, &ignored)
              : open_plane(save, doc, at, &cells, &ignored)) < 0)
        return ignored.code;
    const uint64_t size = grid_size(cells, plane_of(at));
    tfs_cells_unref(cells);
    return (int64_t)size;
}

/* ---- put ------------------------------------------------------------------------------------- */

static int take_names(struct tfs_cells_edit *e, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_palette palette = {.rules = e->before->kind->names,
                                  .max = e->before->kind->entries_max};

    if (tfs_cells_edit_plane(e, 0, err) == 0 &&
        tfs_palette_read_grid(&palette, text, e->before->size, tfs_cells_edit_had, e,
                              e->planes[0].values, err) == 0)
        tfs_cells_edit_table(e, palette.names, palette.count, err);
    tfs_palette_release(&palette);
    return err->code;
}

struct target {
    const struct tfs_cells_edit *edit;
    unsigned plane;
    struct tfs_error *why;
};

static int check_value(const void *arg, size_t i, uint32_t value, struct tfs_error *err)
{
    const struct target *t = arg;
    const struct tfs_cells_kind *kind = t->edit->before->kind;

    if (kind->legal(t->edit, t->plane, i, value, t->why) == 0)
        return 0;
    return tfs_fail(err, t->why->code, "%s %u is not there, %s", kind->planes[t->plane].name, value,
                    t->why->text);
}

static int take_narrow(struct tfs_cells_edit *e, unsigned number,
                       const struct tfs_grid_rules *rules, struct tfs_lines *lines,
                       struct tfs_error *err)
{
    struct tfs_error why = {0};
    const struct target target = {e, number, &why};
    uint32_t *values = malloc(e->before->count * sizeof(*values));

    if (values == NULL)
        return tfs_fail_memory(err);
    if (tfs_grid_parse_checked(lines, rules, values,
                               e->before->kind->legal != NULL ? check_value : NULL, &target,
                               err) == 0)
        for (size_t i = 0; i < e->before->count; i++)
            tfs_plane_set(&e->planes[number], i, values[i]);
    free(values);
    return err->code;
}

static int take_values(struct tfs_cells_edit *e, unsigned number, struct tfs_span text,
                       struct tfs_error *err)
{
    struct tfs_cells_plane *plane = &e->planes[number];
    const struct tfs_grid_rules rules = {tfs_plane_shape(&plane->form, e->before->size, 0),
                                         plane->form.high,
                                         e->before->kind->planes[number].out_of_range};
    struct tfs_lines lines;

    if (tfs_lines_init(&lines, text, err) < 0 || tfs_cells_edit_plane(e, number, err) < 0)
        return err->code;
    if (plane->form.width == sizeof(uint64_t))
        return tfs_grid_parse64(&lines, NULL, &rules, plane->values, NULL, err);
    return take_narrow(e, number, &rules, &lines, err);
}

int tfs_cells_grid_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const unsigned plane = plane_of(at);
    struct tfs_cells_edit e;

    (void)put;
    if (tfs_cells_edit_open(&e, save, tfs_edit_doc(edit), at.key, err) == 0) {
        e.edit = edit;
        e.written = 1u << plane;
        if ((e.planes[plane].form.kind == TFS_PLANE_NAMES ? take_names(&e, text, err)
                                                          : take_values(&e, plane, text, err)) == 0)
            tfs_cells_edit_finish(&e, edit, err);
    }
    tfs_cells_edit_close(&e);
    return err->code;
}

/* ---- optional planes ------------------------------------------------------------------------- */

int tfs_cells_plane_exists(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error why = {0};
    struct tfs_cells *cells;

    if (open_plane(save, doc, at, &cells, &why) < 0)
        return why.code == -ENOENT || why.code == -EBADMSG ? 0 : why.code;
    tfs_cells_unref(cells);
    return 1;
}

int tfs_cells_plane_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                           struct tfs_error *err)
{
    struct tfs_cells_edit e;

    if (tfs_cells_edit_open(&e, save, tfs_edit_doc(edit), at.key, err) == 0) {
        tfs_cells_edit_drop(&e, plane_of(at));
        tfs_cells_edit_finish(&e, edit, err);
    }
    tfs_cells_edit_close(&e);
    return err->code;
}

/* ---- palette.txt ----------------------------------------------------------------------------- */

static int palette_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_cells *cells;

    if (tfs_cells_need(save, doc, at.key, 0, &cells, err) < 0)
        return err->code;
    print_palette(cells, "", out);
    tfs_cells_unref(cells);
    return tfs_buf_check(out, err);
}

static int64_t palette_text_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error ignored = {0};
    struct tfs_cells *cells;

    if (tfs_cells_need(save, doc, at.key, 0, &cells, &ignored) < 0)
        return ignored.code;
    const uint64_t size = palette_size(cells, "");
    tfs_cells_unref(cells);
    return (int64_t)size;
}

/* An entry that voxels have must stay. */
static int check_uses(const struct tfs_cells *cells, uint32_t count, struct tfs_error *err)
{
    for (size_t i = 0; i < cells->count && count < cells->name_count; i++) {
        const uint32_t entry = (uint32_t)tfs_plane_get(&cells->planes[0], i);
        if (entry >= count)
            return tfs_fail(err, -EBADMSG,
                            "entry %u is missing, but there are %ss of it in the chunk", entry,
                            cells->kind->names.unit);
    }
    return 0;
}

static int palette_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_palette palette = {.rules = save->tree->cells->names,
                                  .max = save->tree->cells->entries_max};
    struct tfs_cells_edit e;

    (void)put;
    if (tfs_cells_edit_open(&e, save, tfs_edit_doc(edit), at.key, err) == 0 &&
        tfs_palette_read(&palette, text, tfs_cells_edit_had, &e, err) == 0 &&
        check_uses(e.before, palette.count, err) == 0 &&
        tfs_cells_edit_table(&e, palette.names, palette.count, err) == 0)
        tfs_cells_edit_finish(&e, edit, err);
    tfs_cells_edit_close(&e);
    tfs_palette_release(&palette);
    return err->code;
}

const struct tfs_lens tfs_cells_palette_lens = {
    .get = palette_get,
    .put = palette_put,
    .size = palette_text_size,
};
