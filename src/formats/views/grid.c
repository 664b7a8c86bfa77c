/*
 * A plane of cells <-> grid text, of names with the palette in front: blocks.txt, param2.txt,
 * lights/sky.txt; and palette.txt of a chunk, which is the palette alone. Values that the game
 * itself names have these names in comments.
 *
 * Must not know what a game stores.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/edit.h"
#include "formats/views/views.h"
#include "text/decimal.h"

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

    if (tfs_cells_need(save, doc, at.key,
                       tfs_cells_runs_need(save->tree->cells, 1u << plane) | TFS_CELLS_SUMMARY,
                       cells, err) < 0 ||
        (*cells)->planes[plane].values != NULL || (*cells)->kind->next_runs != NULL)
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

static bool is_fillable(const struct tfs_cells_kind *kind, unsigned plane)
{
    return (kind->planes[plane].flags & TFS_PLANE_FILLABLE) != 0;
}

/* What a text depends on beside its rows. */
struct summary {
    uint64_t first; /* value */
    bool uniform;   /* all others are equal */
};

static struct summary summarize(const struct tfs_cells *cells, unsigned number)
{
    const struct tfs_cells_plane *plane = &cells->planes[number];

    if ((cells->kind->planes[number].flags & TFS_PLANE_ROWS) != 0)
        return (struct summary){.uniform = false};
    if (cells->kind->next_runs != NULL)
        return (struct summary){cells->summary.first[number], cells->summary.differs[number] == 0};
    return (struct summary){tfs_plane_get(plane, 0), is_fillable(cells->kind, number)
                                                         ? plane->filled
                                                         : tfs_plane_uniform(plane, cells->count)};
}

/* `# 2 Grass` for each value that occurs, so that it can be searched for, and an empty line. */
static void print_legend(const struct tfs_plane *plane, const bool *there, struct tfs_buf *out)
{
    for (unsigned i = 0; i <= plane->form.high; i++) {
        const struct tfs_span name = plane->name_of(i);
        if (!there[i])
            continue;
        tfs_buf_printf(out, "# %u ", i);
        tfs_buf_add_span(out, name.size > 0 ? name : tfs_span_of("(no name)"));
        tfs_buf_u8(out, '\n');
    }
    tfs_buf_u8(out, '\n');
}

/* The values of a plane along the runs that the game stores. */
struct values {
    struct tfs_cells_runs runs;
    unsigned plane;
};

/* Runs of one value are one: they differ in other planes, or are too long for one. */
static void next_values(void *arg, struct tfs_grid_run *next)
{
    struct values *v = arg;

    *next = (struct tfs_grid_run){v->runs.values[v->plane], (uint32_t)v->runs.count};
    while (tfs_cells_runs_next(&v->runs) && v->runs.values[v->plane] == next->value)
        next->count += (uint32_t)v->runs.count;
}

static void print_runs(const struct tfs_cells *cells, unsigned number,
                       const struct tfs_grid_shape *shape, struct tfs_buf *out)
{
    struct values v = {.plane = number};

    tfs_cells_runs_begin(&v.runs, cells);
    (void)tfs_cells_runs_next(&v.runs);
    tfs_grid_print_runs(out, shape, next_values, &v);
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

static struct tfs_grid_shape shape_of(const struct tfs_cells *cells, unsigned number)
{
    return tfs_plane_shape(&cells->planes[number].form, cells->size, cells->name_count);
}

#define WIDTH_KEYWORD "depth"

static int print_grid(const struct tfs_cells *cells, unsigned number, const struct summary *s,
                      struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_cells_plane *plane = &cells->planes[number];
    const struct tfs_grid_shape shape = shape_of(cells, number);
    const bool named = plane->form.kind == TFS_PLANE_NAMES;

    if (named)
        print_palette(cells, TFS_PALETTE_KEYWORD, out);
    if (cells->kind->form != NULL)
        tfs_buf_printf(out, WIDTH_KEYWORD " %u\n", 8 * plane->form.width);
    if (cells->kind->planes[number].name_of != NULL)
        print_legend(&cells->kind->planes[number], cells->summary.there, out);
    if ((named || cells->kind->form != NULL) && !s->uniform)
        tfs_buf_u8(out, '\n');
    if (s->uniform && plane->form.width == sizeof(uint64_t))
        tfs_grid_print_fill64(out, &shape, s->first);
    else if (s->uniform)
        tfs_grid_print_fill(out, &shape, tfs_plane_narrow(&plane->form, s->first));
    else if (cells->kind->next_runs != NULL)
        print_runs(cells, number, &shape, out);
    else
        print_rows(cells, plane, &shape, out, err);
    return err->code;
}

static uint64_t rows_size(const struct tfs_cells *cells, unsigned number, const struct summary *s)
{
    const struct tfs_plane_form *form = &cells->planes[number].form;
    const struct tfs_grid_shape shape = shape_of(cells, number);

    if (!s->uniform)
        return tfs_grid_rows_size(&shape);
    return form->width == sizeof(uint64_t)
               ? tfs_grid_fill_size64(&shape, s->first)
               : tfs_grid_fill_size(&shape, tfs_plane_narrow(form, s->first));
}

/* -ENOMEM: there is no memory to tell. */
static int64_t head_size(const struct tfs_cells *cells, unsigned number, const struct summary *s)
{
    struct tfs_buf legend = {0};

    if (cells->kind->form != NULL)
        return (int64_t)sizeof(WIDTH_KEYWORD " ") +
               tfs_decimal_width(8 * cells->planes[number].form.width) + !s->uniform;
    if (cells->planes[number].form.kind == TFS_PLANE_NAMES)
        return (int64_t)palette_size(cells, TFS_PALETTE_KEYWORD) + !s->uniform;
    if (cells->kind->planes[number].name_of != NULL)
        print_legend(&cells->kind->planes[number], cells->summary.there, &legend);
    const int64_t size = legend.failed ? -ENOMEM : (int64_t)legend.size;
    tfs_buf_release(&legend);
    return size;
}

int tfs_cells_check_text(uint64_t size, struct tfs_error *err)
{
    if (size <= TFS_TEXT_MAX)
        return 0;
    return tfs_fail(err, -EFBIG,
                    "would be %" PRIu64 " bytes long, more than the %" PRIu64
                    " that are rendered; raw.bin has the chunk as it is stored",
                    size, TFS_TEXT_MAX);
}

int tfs_cells_grid_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    const unsigned number = plane_of(at);
    struct tfs_cells *cells;

    if (open_plane(save, doc, at, &cells, err) < 0)
        return err->code;
    const struct summary s = summarize(cells, number);
    if (tfs_cells_check_text(rows_size(cells, number, &s), err) == 0)
        print_grid(cells, number, &s, out, err);
    tfs_cells_unref(cells);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

int64_t tfs_cells_grid_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const unsigned number = plane_of(at);
    struct tfs_error ignored = {0};
    struct tfs_cells *cells;

    const bool always = (save->tree->cells->planes[number].flags & TFS_PLANE_ROWS) != 0;
    if ((always ? tfs_cells_need(save, doc, at.key, 0, &cells, &ignored)
                : open_plane(save, doc, at, &cells, &ignored)) < 0)
        return ignored.code;
    const struct summary s = summarize(cells, number);
    const uint64_t rows = rows_size(cells, number, &s);
    const int64_t head = head_size(cells, number, &s);
    tfs_cells_check_text(rows, &ignored);
    tfs_cells_unref(cells);
    if (head < 0)
        return head;
    return ignored.code < 0 ? ignored.code : head + (int64_t)rows;
}

/* ---- put ------------------------------------------------------------------------------------- */

static int take_names(struct tfs_cells_edit *e, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_palette palette = {.rules = e->before->kind->names};

    if (tfs_cells_edit_plane(e, 0, err) == 0 &&
        tfs_palette_read_grid(&palette, text, e->before->size, tfs_cells_edit_had, e,
                              e->planes[0].values, err) == 0)
        tfs_cells_edit_table(e, palette.names, palette.count, err);
    tfs_palette_release(&palette);
    return err->code;
}

static int read_width(struct tfs_line line, unsigned *width, struct tfs_error *err)
{
    struct tfs_line word = line;
    int64_t bits;

    if (!tfs_line_word(&line, &word))
        word.text.size = 0;
    if (tfs_line_number(&word, WIDTH_KEYWORD, 8, 64, &bits, err) < 0)
        return err->code;
    if (line.text.size > 0)
        return tfs_fail_line(err, &line, WIDTH_KEYWORD " takes one number");
    if ((bits & (bits - 1)) != 0)
        return tfs_fail_line(err, &word, "the " WIDTH_KEYWORD " is 8, 16, 32 or 64");
    *width = (unsigned)bits / 8;
    return 0;
}

int tfs_cells_take_width(struct tfs_cells_edit *e, unsigned plane, struct tfs_line line,
                         struct tfs_error *err)
{
    unsigned width = 0;

    return read_width(line, &width, err) < 0 ? err->code
                                             : tfs_cells_edit_width(e, plane, width, err);
}

/* Takes the line in front of the grid. *first: what was read and is not that. */
static int take_head(struct tfs_cells_edit *e, unsigned plane, struct tfs_lines *lines,
                     struct tfs_line *first, bool *more, struct tfs_error *err)
{
    struct tfs_line rest, word;

    *more = tfs_lines_next(lines, first);
    rest = word = *first;
    if (!*more || !tfs_line_word(&rest, &word) ||
        !tfs_span_equal(word.text, tfs_span_of(WIDTH_KEYWORD)))
        return 0;
    *more = false;
    return tfs_cells_take_width(e, plane, rest, err);
}

static int take_narrow(struct tfs_cells_edit *e, unsigned number,
                       const struct tfs_grid_rules *rules, struct tfs_lines *lines,
                       const struct tfs_line *first, bool *filled, struct tfs_error *err)
{
    uint32_t *values = malloc(e->before->count * sizeof(*values));

    if (values == NULL)
        return tfs_fail_memory(err);
    if (tfs_grid_parse(lines, first, rules, values, filled, err) == 0)
        for (size_t i = 0; i < e->before->count; i++)
            tfs_plane_set(&e->planes[number], i, values[i]);
    free(values);
    return err->code;
}

/* The place of a value in a text of rows or a fill that was parsed already. */
static struct tfs_line find_value(struct tfs_span text, uint32_t row_size, size_t voxel)
{
    struct tfs_error ignored = {0};
    struct tfs_lines lines = {0};
    struct tfs_line line = {0}, word = {0};
    size_t row = voxel / row_size, column = voxel % row_size;

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

static int refuse(const struct tfs_cells_edit *e, unsigned number, size_t voxel, const char *why,
                  struct tfs_span text, struct tfs_error *err)
{
    const struct tfs_voxel_size size = e->before->size;
    const struct tfs_key key = e->before->chunk.key;
    const struct tfs_line place = find_value(text, size.x, voxel);

    return tfs_fail_line(
        err, &place, "voxel %" PRId64 ",%" PRId64 ",%" PRId64 ": %s %" PRIu64 " for %s",
        (int64_t)key.x * size.x + (int64_t)(voxel % size.x),
        (int64_t)key.y * size.y + (int64_t)(voxel / size.x / size.z),
        (int64_t)key.z * size.z + (int64_t)(voxel / size.x % size.z),
        e->before->kind->planes[number].name, tfs_plane_get(&e->planes[number], voxel), why);
}

/* In a new chunk another file may make legal what is not. */
static int check_values(struct tfs_cells_edit *e, unsigned number, struct tfs_span text,
                        struct tfs_error *err)
{
    if (e->before->kind->planes[number].legal == NULL || e->values != NULL)
        return 0;
    for (size_t i = 0; (i = tfs_cells_edit_changed(e, number, i)) < e->before->count; i++) {
        const char *why = tfs_cells_edit_refusal(e, i, number);
        if (why != NULL)
            return refuse(e, number, i, why, text, err);
    }
    return 0;
}

static int take_values(struct tfs_cells_edit *e, unsigned number, struct tfs_span text,
                       struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = e->before->kind;
    struct tfs_cells_plane *plane = &e->planes[number];
    char range[TFS_PLANE_RANGE];
    struct tfs_lines lines;
    struct tfs_line first;
    bool more = false, filled = false;

    if (tfs_lines_init(&lines, text, err) < 0 ||
        (kind->form != NULL && take_head(e, number, &lines, &first, &more, err) < 0) ||
        tfs_cells_edit_plane(e, number, err) < 0)
        return err->code;
    const struct tfs_grid_rules rules =
        tfs_plane_rules(&kind->planes[number], &plane->form, e->before->size, range);
    const struct tfs_line *head = more ? &first : NULL;
    if ((plane->form.width == sizeof(uint64_t)
             ? tfs_grid_parse64(&lines, head, &rules, plane->values, &filled, err)
             : take_narrow(e, number, &rules, &lines, head, &filled, err)) < 0)
        return err->code;
    plane->filled = filled && is_fillable(kind, number);
    return check_values(e, number, text, err);
}

int tfs_cells_grid_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const unsigned plane = plane_of(at);
    struct tfs_cells_edit e;

    if (tfs_cells_edit_open(&e, save, edit, at.key, err) == 0) {
        e.written = 1u << plane;
        e.values = put->values;
        if ((e.planes[plane].form.kind == TFS_PLANE_NAMES ? take_names(&e, text, err)
                                                          : take_values(&e, plane, text, err)) == 0)
            tfs_cells_edit_finish(&e, edit, err);
    }
    tfs_cells_edit_close(&e);
    return err->code;
}

int tfs_cells_plane_filled(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_error why = {0};
    struct tfs_cells *cells;

    if (tfs_cells_open(save, doc, at.key, TFS_CELLS_ALL, &cells, &why) < 0)
        return why.code == -ENOENT ? 1 : why.code;
    const bool filled =
        cells->damage != NULL || cells->count == 0 || cells->planes[plane_of(at)].filled;
    tfs_cells_unref(cells);
    return filled;
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

    if (tfs_cells_edit_open(&e, save, edit, at.key, err) == 0) {
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
    struct tfs_palette palette = {.rules = save->tree->cells->names};
    struct tfs_cells_edit e;

    (void)put;
    if (tfs_cells_edit_open(&e, save, edit, at.key, err) == 0 &&
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
