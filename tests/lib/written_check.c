/* What was written is what reads: see written_check.h. */
#include "written_check.h"

#include <inttypes.h>
#include <string.h>

#include "../fuzz/fuzz.h"
#include "formats/views/arrays/array.h"
#include "formats/views/arrays/numbers.h"
#include "formats/views/pictures/picture.h"
#include "formats/views/views.h"
#include "region_maker.h"
#include "text/name.h"
#include "text/table.h"

#define VIEW_MAX  (INT64_C(1) << 20) /* bytes of a view that is read after each edit */
#define NAMES_MAX 65536
#define DRAWS     16

struct check {
    struct lens_check *c;
    struct maker_random rnd;
    struct tfs_words names;  /* the first is what is empty, whatever it is called */
    struct tfs_key key;      /* of the chunk whose voxels are edited */
    struct tfs_cells *cells; /* of it, as they were before an edit */
    unsigned accepted;
};

/* Of all voxels of a chunk, by plane; NULL: nothing is said of it. Numbers are as wide as they can
 * be, and names are numbers of check.names. */
struct values {
    uint64_t *of[TFS_PLANES_MAX];
};

static void values_release(struct values *v)
{
    for (unsigned i = 0; i < TFS_PLANES_MAX; i++)
        free(v->of[i]);
}

static uint64_t *room_for(const struct check *k, uint64_t value)
{
    uint64_t *values = calloc(k->cells->count, sizeof(*values));

    REQUIRE(values != NULL);
    for (size_t i = 0; i < k->cells->count; i++)
        values[i] = value;
    return values;
}

static bool is_named(const struct check *k, unsigned plane)
{
    return k->cells->planes[plane].form.kind == TFS_PLANE_NAMES;
}

static uint64_t number_of(struct check *k, struct tfs_span name)
{
    struct tfs_error err = {0};
    uint32_t number = 0;

    if (!tfs_name_is_air(k->cells->kind, name))
        REQUIRE(tfs_words_add(&k->names, name, &number, &err) == 0);
    return number;
}

/* The number of the name that a text prints. */
static uint64_t number_of_text(struct check *k, const struct tfs_line *text)
{
    struct tfs_buf name = {0};
    struct tfs_error err = {0};

    REQUIRE(tfs_line_name(text, &name, &err) == 0);
    const uint64_t number = number_of(k, tfs_buf_span(&name));
    tfs_buf_release(&name);
    return number;
}

/* What the chunk lacks is empty. */
static uint64_t empty_value(const struct check *k, unsigned plane)
{
    const struct tfs_plane_form *form = &k->cells->planes[plane].form;

    return form->kind == TFS_PLANE_NAMES ? 0 : tfs_plane_wide(form, form->empty);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* False: it has no voxels, or is damaged. */
static bool open_cells(struct check *k)
{
    struct tfs_error err = {0};

    tfs_cells_unref(k->cells);
    k->cells = NULL;
    return tfs_cells_need(k->c->save, k->c->doc, k->key, TFS_CELLS_ALL, &k->cells, &err) == 0;
}

static void read_cells(struct check *k, struct values *v)
{
    uint64_t *names = calloc(k->cells->name_count + (size_t)1, sizeof(*names));

    REQUIRE(names != NULL);
    for (uint32_t i = 0; i < k->cells->name_count; i++)
        names[i] = number_of(k, k->cells->names[i]);
    *v = (struct values){{NULL}};
    for (unsigned p = 0; p < k->cells->kind->count; p++) {
        const struct tfs_cells_plane *plane = &k->cells->planes[p];
        v->of[p] = room_for(k, empty_value(k, p));
        for (size_t i = 0; i < k->cells->count && plane->values != NULL; i++) {
            const uint64_t value = tfs_plane_get(plane, i);
            v->of[p][i] = is_named(k, p) ? names[value] : tfs_plane_wide(&plane->form, value);
        }
    }
    free(names);
}

/* ---- numbers in texts ------------------------------------------------------------------------ */

static uint64_t take_number(const struct check *k, unsigned plane, const struct tfs_line *word)
{
    const struct tfs_plane_form *form = &k->cells->planes[plane].form;
    const struct tfs_plane *p = &k->cells->kind->planes[plane];
    const struct tfs_grid_rules rules = {tfs_plane_shape(form, k->cells->size, 1),
                                         is_named(k, plane) ? NAMES_MAX - 1 : form->high, ""};
    struct tfs_error err = {0};
    uint64_t wide = 0;
    uint32_t narrow;

    for (uint64_t i = 0; word->text.data[0] > '9' && p->name_of != NULL && i <= form->high; i++)
        if (tfs_span_equal(p->name_of(i), word->text))
            return i;
    if (form->width == sizeof(wide)) {
        REQUIRE(tfs_grid_take_value64(word, &rules, &wide, &err) == 0);
        return wide;
    }
    REQUIRE(tfs_grid_take_value(word, &rules, &narrow, &err) == 0);
    return form->kind == TFS_PLANE_SIGNED ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static void print_number(const struct check *k, unsigned plane, uint64_t value, struct tfs_buf *out)
{
    const struct tfs_plane_form *form = &k->cells->planes[plane].form;
    const struct tfs_grid_shape shape = tfs_plane_shape(form, k->cells->size, 1);
    uint8_t text[TFS_GRID_VALUE_MAX];

    if (form->kind == TFS_PLANE_NAMES)
        tfs_buf_printf(out, "%" PRIu64, value);
    else if (form->width == sizeof(value))
        tfs_buf_add(out, text, tfs_grid_put_value64(text, &shape, value));
    else
        tfs_buf_add(out, text, tfs_grid_put_value(text, &shape, (uint32_t)value));
}

/* ---- grids ----------------------------------------------------------------------------------- */

struct grid {
    struct tfs_buf head;
    uint64_t *values;  /* as they stand there */
    uint64_t *palette; /* numbers of names */
    uint64_t count;    /* of the palette */
};

static void take_palette(struct check *k, struct grid *g, struct tfs_line line)
{
    struct tfs_line word;

    REQUIRE(tfs_line_word(&line, &word));
    const uint64_t index = take_number(k, 0, &word);
    g->palette[index] = number_of_text(k, &line);
    g->count = index >= g->count ? index + 1 : g->count;
}

/* Returns how many values the line has. */
static size_t take_row(struct check *k, struct grid *g, unsigned plane, struct tfs_line line,
                       size_t at)
{
    const uint8_t *bar = memchr(line.text.data, '|', line.text.size);
    struct tfs_line word;
    size_t count = 0;

    if (bar != NULL)
        tfs_line_skip(&line, (size_t)(bar + 1 - line.text.data));
    for (tfs_line_skip_blanks(&line); tfs_line_word(&line, &word); count++) {
        REQUIRE(at + count < k->cells->count);
        g->values[at + count] = take_number(k, plane, &word);
    }
    return count;
}

static void grid_read(struct check *k, unsigned plane, struct tfs_span text, struct grid *g)
{
    struct tfs_lines lines;
    struct tfs_line line, word, rest;
    struct tfs_error err = {0};
    size_t count = 0;

    *g = (struct grid){.values = room_for(k, empty_value(k, plane)),
                       .palette = calloc(NAMES_MAX, sizeof(*g->palette))};
    REQUIRE(g->palette != NULL && tfs_lines_init(&lines, text, &err) == 0);
    while (tfs_lines_next(&lines, &line)) {
        rest = line;
        REQUIRE(tfs_line_word(&rest, &word));
        const bool is_palette = tfs_span_equal(word.text, tfs_span_of("palette"));
        if (is_palette)
            take_palette(k, g, rest);
        if (is_palette || tfs_span_equal(word.text, tfs_span_of("depth"))) {
            tfs_buf_add_span(&g->head, line.text);
            tfs_buf_u8(&g->head, '\n');
        } else if (tfs_span_equal(word.text, tfs_span_of("fill"))) {
            free(g->values);
            g->values = room_for(k, take_number(k, plane, &rest));
            count = k->cells->count;
        } else {
            count += take_row(k, g, plane, line, count);
        }
    }
    REQUIRE(text.size == 0 || count == k->cells->count);
}

static void grid_release(struct grid *g)
{
    tfs_buf_release(&g->head);
    free(g->values);
    free(g->palette);
}

static void read_grid(struct check *k, unsigned plane, struct tfs_span text, struct values *v)
{
    struct grid g;

    grid_read(k, plane, text, &g);
    v->of[plane] = g.values;
    for (size_t i = 0; i < k->cells->count && is_named(k, plane); i++)
        g.values[i] = g.palette[g.values[i]];
    g.values = NULL;
    grid_release(&g);
}

/* The entry of a name, which is added where the palette lacks it. */
static uint64_t entry_of(const struct check *k, struct grid *g, uint64_t number)
{
    for (uint64_t i = 0; i < g->count; i++)
        if (g->palette[i] == number)
            return i;
    tfs_buf_printf(&g->head, "palette %" PRIu64 " ", g->count);
    tfs_name_print(&g->head, tfs_words_at(&k->names, (uint32_t)number));
    tfs_buf_u8(&g->head, '\n');
    return g->count;
}

/* Rows without labels. */
static void write_grid(struct check *k, unsigned plane, struct tfs_span text, size_t voxel,
                       uint64_t value, struct tfs_buf *out)
{
    struct grid g;

    grid_read(k, plane, text, &g);
    g.values[voxel] = is_named(k, plane) ? entry_of(k, &g, value) : value;
    tfs_buf_add_span(out, tfs_buf_span(&g.head));
    for (size_t i = 0; i < k->cells->count; i++) {
        print_number(k, plane, g.values[i], out);
        tfs_buf_u8(out, (i + 1) % k->cells->size.x == 0 ? '\n' : ' ');
    }
    grid_release(&g);
}

/* ---- voxels.csv ------------------------------------------------------------------------------ */

/* The plane that a column tells of. */
static unsigned plane_of(const struct check *k, struct tfs_span column)
{
    const uint8_t *slash = memchr(column.data, '/', column.size);
    unsigned plane = 0;

    column.size = slash != NULL ? (size_t)(slash - column.data) : column.size;
    while (!tfs_span_equal(tfs_span_of(k->cells->kind->planes[plane].name), column))
        REQUIRE(++plane < k->cells->kind->count);
    return plane;
}

static int64_t coordinate(const struct tfs_line *field)
{
    struct tfs_error err = {0};
    int64_t value;

    REQUIRE(tfs_line_number(field, "", -INT64_MAX, INT64_MAX, &value, &err) == 0);
    return value;
}

static size_t voxel_of(const struct check *k, const struct tfs_record *row)
{
    const struct tfs_voxel_size size = k->cells->size;
    const struct tfs_key key = k->cells->chunk.key;
    const int64_t x = coordinate(&row->fields[0]) - (int64_t)key.x * size.x;
    const int64_t y = coordinate(&row->fields[1]) - (int64_t)key.y * size.y;
    const int64_t z = coordinate(&row->fields[2]) - (int64_t)key.z * size.z;

    REQUIRE(x >= 0 && y >= 0 && z >= 0 && x < size.x && y < size.y && z < size.z);
    return ((size_t)y * size.z + (size_t)z) * size.x + (size_t)x;
}

struct columns {
    unsigned planes[TFS_PLANES_MAX], count;
};

/* What each column says of all voxels: what has no line is empty. */
static void read_table(struct check *k, struct tfs_span text, struct values *v, struct columns *c)
{
    struct tfs_buf scratch = {0};
    struct tfs_error err = {0};
    struct tfs_record row;
    struct tfs_table table;

    REQUIRE(tfs_table_init(&table, text, &err) == 0 &&
            tfs_table_next(&table, &row, &scratch, &err) == 1);
    for (c->count = 0; c->count + 3 < row.count; c->count++) {
        const unsigned plane = plane_of(k, row.fields[c->count + 3].text);
        c->planes[c->count] = plane;
        v->of[plane] = room_for(k, empty_value(k, plane));
    }
    while (tfs_table_next(&table, &row, &scratch, &err) == 1)
        for (unsigned i = 0; i < c->count; i++) {
            const unsigned plane = c->planes[i];
            const struct tfs_line *field = &row.fields[i + 3];
            v->of[plane][voxel_of(k, &row)] =
                is_named(k, plane) ? number_of_text(k, field) : take_number(k, plane, field);
        }
    REQUIRE(err.code == 0);
    tfs_buf_release(&scratch);
}

static void print_place(const struct check *k, size_t voxel, struct tfs_buf *out)
{
    const struct tfs_voxel_size size = k->cells->size;
    const struct tfs_key key = k->cells->chunk.key;

    tfs_buf_printf(out, "%" PRId64 ",%" PRId64 ",%" PRId64,
                   (int64_t)key.x * size.x + (int64_t)(voxel % size.x),
                   (int64_t)key.y * size.y + (int64_t)(voxel / size.x / size.z),
                   (int64_t)key.z * size.z + (int64_t)(voxel / size.x % size.z));
}

static void print_field(const struct check *k, unsigned plane, uint64_t value, struct tfs_buf *out)
{
    struct tfs_buf name = {0};

    tfs_buf_u8(out, ',');
    if (is_named(k, plane)) {
        tfs_name_print(&name, tfs_words_at(&k->names, (uint32_t)value));
        tfs_table_print_field(out, tfs_buf_span(&name));
    } else {
        print_number(k, plane, value, out);
    }
    tfs_buf_release(&name);
}

/* The line of the voxel goes, and another one comes at the end, unless the voxel gets no name. */
static void write_table(struct check *k, struct columns *c, struct values *v, struct tfs_span text,
                        size_t voxel, struct tfs_buf *out)
{
    struct tfs_buf line = {0};

    print_place(k, voxel, &line);
    tfs_buf_u8(&line, ',');
    for (const uint8_t *at = text.data, *end = text.data + text.size, *next; at < end; at = next) {
        next = (const uint8_t *)memchr(at, '\n', (size_t)(end - at)) + 1;
        if ((size_t)(next - at) < line.size || memcmp(at, line.data, line.size) != 0)
            tfs_buf_add(out, at, (size_t)(next - at));
    }
    tfs_buf_release(&line);
    if (is_named(k, c->planes[0]) && v->of[c->planes[0]][voxel] == 0)
        return;
    print_place(k, voxel, out);
    for (unsigned i = 0; i < c->count; i++)
        print_field(k, c->planes[i], v->of[c->planes[i]][voxel], out);
    tfs_buf_u8(out, '\n');
}

/* ---- arrays ---------------------------------------------------------------------------------- */

struct array {
    struct tfs_npy npy;
    struct tfs_span values;
    uint64_t at[3]; /* of the chunk's first voxel */
};

static void open_array(const struct check *k, const struct tfs_array_lens *lens,
                       struct tfs_span text, struct array *a)
{
    const struct tfs_cells *cells = k->cells;
    const struct tfs_key key = cells->chunk.key;
    const struct tfs_cells_kind *kind = cells->kind;
    const struct tfs_voxel_size size =
        kind->size.x > 0 ? kind->size : kind->group_size(k->c->doc, key.group);
    struct tfs_key low = key, high;
    struct tfs_error err = {0};

    REQUIRE(tfs_npy_take(text, NULL, &a->npy, &a->values, &err) == 0);
    if (lens->whole)
        REQUIRE(tfs_doc_bounds(k->c->doc, key.group, &low, &high));
    a->at[0] = (uint64_t)((int64_t)key.y - low.y) * size.y;
    a->at[1] = (uint64_t)((int64_t)key.z - low.z) * size.z;
    a->at[2] = (uint64_t)((int64_t)key.x - low.x) * size.x;
}

/* Where the value of a voxel is, y, z, x; rows of a surface begin in the north. */
static void find_place(const struct check *k, const struct array *a, size_t voxel,
                       uint64_t place[3])
{
    const struct tfs_voxel_size size = k->cells->size;

    place[0] = a->at[0] + voxel / size.x / size.z;
    place[1] = a->at[1] + voxel / size.x % size.z;
    place[2] = a->at[2] + voxel % size.x;
    if (a->npy.dimensions == 2)
        place[1] = a->npy.shape[1] - 1 - place[1];
    for (unsigned i = 0; i < 3; i++)
        REQUIRE(place[i] < a->npy.shape[i]);
}

static void read_array(struct check *k, const struct tfs_array_lens *lens, struct tfs_span text,
                       struct values *v)
{
    struct tfs_buf name = {0};
    uint64_t place[3], last = 0, known = 0;
    struct array a;

    open_array(k, lens, text, &a);
    v->of[lens->plane] = room_for(k, 0);
    for (size_t i = 0; i < k->cells->count; i++) {
        find_place(k, &a, i, place);
        const uint64_t value = tfs_npy_value(&a.npy, a.values, place[0], place[1], place[2]);
        if (is_named(k, lens->plane) && value != last) {
            tfs_buf_clear(&name);
            REQUIRE(tfs_numbers_name(k->c->save->numbers, value, &name));
            known = number_of(k, tfs_buf_span(&name));
            last = value;
        }
        v->of[lens->plane][i] = is_named(k, lens->plane) ? known : value;
    }
    tfs_buf_release(&name);
}

static void write_array(struct check *k, const struct tfs_array_lens *lens, struct tfs_span text,
                        size_t voxel, uint64_t value, struct tfs_buf *out)
{
    struct tfs_error err = {0};
    uint64_t place[3];
    uint32_t number = 0;
    struct array a;

    open_array(k, lens, text, &a);
    find_place(k, &a, voxel, place);
    if (is_named(k, lens->plane) && value > 0)
        REQUIRE(tfs_numbers_add(k->c->save->numbers, tfs_words_at(&k->names, (uint32_t)value),
                                &number, &err) == 0);
    tfs_buf_add_span(out, text);
    tfs_array_set(out->data + (a.values.data - text.data), a.npy.width,
                  (size_t)((place[0] * a.npy.shape[1] + place[1]) * a.npy.shape[2] + place[2]),
                  is_named(k, lens->plane) ? number : value);
}

/* ---- views ----------------------------------------------------------------------------------- */

enum kind { NO_VIEW, GRID, TABLE, ARRAY };

static enum kind kind_of(const struct check *k, const struct tfs_node *node)
{
    const struct tfs_lens *lens = tfs_node_file(k->c->save, node)->lens;

    return lens->get == tfs_cells_grid_get    ? GRID
           : lens->get == tfs_cells_table_get ? TABLE
           : lens->get == tfs_array_get       ? ARRAY
                                              : NO_VIEW;
}

static const void *param_of(const struct check *k, const struct tfs_node *node)
{
    return tfs_node_file(k->c->save, node)->lens->param;
}

static void read_view(struct check *k, const struct tfs_node *node, struct tfs_span text,
                      struct values *v)
{
    const void *param = param_of(k, node);
    struct columns columns;

    *v = (struct values){{NULL}};
    switch (kind_of(k, node)) {
    case GRID:
        read_grid(k, *(const unsigned *)param, text, v);
        break;
    case TABLE:
        read_table(k, text, v, &columns);
        break;
    case ARRAY:
        read_array(k, param, text, v);
        break;
    case NO_VIEW:
        break;
    }
}

static void require_same(const struct check *k, const struct tfs_node *node, unsigned plane,
                         const uint64_t *wanted, const uint64_t *values)
{
    for (size_t i = 0; i < k->cells->count; i++) {
        if (wanted[i] == values[i])
            continue;
        fprintf(stderr, "%s: voxel %zu: %s is %#" PRIx64 ", not %#" PRIx64 "\n",
                tfs_node_file(k->c->save, node)->path, i, k->cells->kind->planes[plane].name,
                values[i], wanted[i]);
        abort();
    }
}

static bool is_readable(const struct check *k, const struct tfs_node *node)
{
    const struct tfs_lens *lens = tfs_node_file(k->c->save, node)->lens;

    return tfs_node_exists(k->c->save, k->c->doc, node) == 1 &&
           (kind_of(k, node) != ARRAY ||
            lens->size(k->c->save, k->c->doc, tfs_node_at(k->c->save, node)) <= VIEW_MAX);
}

/* Of an empty voxel voxels.csv says nothing. */
static void take_untold(const struct check *k, const struct tfs_node *node,
                        const struct values *cells, struct values *v)
{
    const struct tfs_cells_kind *kind = k->cells->kind;

    for (size_t i = 0; kind_of(k, node) == TABLE && i < k->cells->count; i++) {
        bool told = false;
        for (unsigned p = 0; p < kind->count; p++)
            told = told || ((kind->planes[p].flags & TFS_PLANE_DECIDES) != 0 && v->of[p] != NULL &&
                            v->of[p][i] != empty_value(k, p));
        for (unsigned p = 0; p < kind->count && !told; p++)
            if ((kind->planes[p].flags & TFS_PLANE_DECIDES) == 0 && v->of[p] != NULL)
                v->of[p][i] = cells->of[p][i];
    }
}

static void check_view(struct check *k, const struct tfs_node *node, const struct values *cells)
{
    struct tfs_buf text = {0};
    struct values v;

    if (kind_of(k, node) == NO_VIEW || !is_readable(k, node))
        return;
    lens_check_get(k->c, node, &text);
    read_view(k, node, tfs_buf_span(&text), &v);
    take_untold(k, node, cells, &v);
    for (unsigned p = 0; p < k->cells->kind->count; p++)
        if (v.of[p] != NULL)
            require_same(k, node, p, cells->of[p], v.of[p]);
    values_release(&v);
    tfs_buf_release(&text);
}

typedef void (*file_fn)(struct check *k, const struct tfs_node *node, const void *arg);

static void each_file(struct check *k, struct tfs_node top, file_fn each, const void *arg)
{
    const struct tfs_schema schema = tfs_node_schema(k->c->save, &top);

    for (unsigned i = 0; i < schema.count; i++)
        for (uint32_t m = 0; m < tfs_file_members(k->c->save, k->c->doc, &schema.files[i]); m++) {
            const struct tfs_node node = tfs_node_sibling_file(&top, i, m);
            each(k, &node, arg);
        }
}

/* Where the whole arrays of the chunk's group are. */
static struct tfs_node above(struct tfs_key key)
{
    return key.group == 0 ? TFS_NODE_ROOT : tfs_node_of_group(key.group);
}

static void check_one(struct check *k, const struct tfs_node *node, const void *arg)
{
    check_view(k, node, arg);
}

/* All views of the chunk show its cells. */
static void check_views(struct check *k, const struct values *cells)
{
    each_file(k, tfs_node_of_chunk(tfs_doc_find(k->c->doc, k->key)), check_one, cells);
    each_file(k, above(k->key), check_one, cells);
}

/* ---- an edit of a voxel ---------------------------------------------------------------------- */

/* One that most games take, or only Minecraft, before 1.13 or since. */
static struct tfs_span draw_name(struct check *k)
{
    static const char *const names[] = {"a:new \\ \"name\", 1", "5:1", "a:b[c=d]"};

    return tfs_span_of(names[maker_draw(&k->rnd, 3)]);
}

/* What another voxel has, or a new name or number. */
static uint64_t draw_value(struct check *k, unsigned plane, const uint64_t *values, bool may_be_new)
{
    const struct tfs_plane_form *form = &k->cells->planes[plane].form;
    const uint64_t there = values[maker_draw(&k->rnd, (uint32_t)k->cells->count)];
    const uint64_t low = form->high < 16 ? form->high : 15;

    if (!may_be_new || maker_draw(&k->rnd, 2) == 0 || form->kind == TFS_PLANE_FLOAT)
        return there;
    return is_named(k, plane) ? number_of(k, draw_name(k)) : maker_draw(&k->rnd, (uint32_t)low + 1);
}

/* The same, and mostly another one than this voxel has. */
static uint64_t other_value(struct check *k, unsigned plane, const uint64_t *values, size_t voxel,
                            bool may_be_new)
{
    uint64_t value = values[voxel];

    for (unsigned i = 0; i < DRAWS && value == values[voxel]; i++)
        value = draw_value(k, plane, values, may_be_new);
    return value;
}

/* The voxel has the value, and all that the text says of others is as it was. */
static void check_cells(struct check *k, const struct tfs_node *node, struct values *wanted)
{
    struct values now;

    REQUIRE(open_cells(k));
    read_cells(k, &now);
    take_untold(k, node, &now, wanted);
    for (unsigned p = 0; p < k->cells->kind->count; p++)
        if (wanted->of[p] != NULL)
            require_same(k, node, p, wanted->of[p], now.of[p]);
    check_views(k, &now);
    values_release(&now);
}

/* The text with another value for one voxel; `wanted` gets what it says of planes. */
static void change_voxel(struct check *k, const struct tfs_node *node, struct tfs_span text,
                         struct values *wanted, struct tfs_buf *out)
{
    const size_t voxel = maker_draw(&k->rnd, (uint32_t)k->cells->count);
    const enum kind kind = kind_of(k, node);
    const void *param = param_of(k, node);
    struct columns c = {.count = 1};
    unsigned plane;

    *wanted = (struct values){{NULL}};
    if (kind == TABLE) {
        read_table(k, text, wanted, &c);
        if (c.count == 0)
            return;
        plane = c.planes[maker_draw(&k->rnd, c.count)];
    } else {
        read_view(k, node, text, wanted);
        plane =
            kind == GRID ? *(const unsigned *)param : ((const struct tfs_array_lens *)param)->plane;
    }
    const uint64_t value = other_value(k, plane, wanted->of[plane], voxel, kind != ARRAY);
    wanted->of[plane][voxel] = value;
    if (kind == GRID)
        write_grid(k, plane, text, voxel, value, out);
    else if (kind == TABLE)
        write_table(k, &c, wanted, text, voxel, out);
    else
        write_array(k, param, text, voxel, value, out);
    /* A voxel without a line is empty in all columns. */
    for (unsigned i = 0; kind == TABLE && i < c.count && is_named(k, c.planes[0]); i++)
        if (wanted->of[c.planes[0]][voxel] == 0)
            wanted->of[c.planes[i]][voxel] = empty_value(k, c.planes[i]);
}

static void edit_voxel(struct check *k, const struct tfs_node *node)
{
    struct tfs_buf text = {0}, out = {0};
    const uint64_t version = k->c->doc->version;
    struct values wanted;

    if (tfs_node_exists(k->c->save, k->c->doc, node) == 1)
        lens_check_get(k->c, node, &text);
    change_voxel(k, node, tfs_buf_span(&text), &wanted, &out);
    if (out.size > 0 && lens_check_put(k->c, node, tfs_buf_span(&out), false) == 0) {
        k->accepted += k->c->doc->version != version;
        check_cells(k, node, &wanted);
    }
    values_release(&wanted);
    tfs_buf_release(&text);
    tfs_buf_release(&out);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Has one text each line of the other? */
static bool has_lines(struct tfs_span text, struct tfs_span other)
{
    struct tfs_buf all = {0}, line = {0};
    bool has = true;

    tfs_buf_u8(&all, '\n');
    tfs_buf_add_span(&all, text);
    tfs_buf_u8(&all, '\n');
    for (size_t at = 0, end; at < other.size && has; at = end + 1) {
        for (end = at; end < other.size && other.data[end] != '\n';)
            end++;
        tfs_buf_clear(&line);
        tfs_buf_u8(&line, '\n');
        tfs_buf_add(&line, other.data + at, end - at);
        tfs_buf_u8(&line, '\n');
        has = memmem(all.data, all.size, line.data, line.size) != NULL;
    }
    tfs_buf_release(&all);
    tfs_buf_release(&line);
    return has;
}

/* Does the file keep what it is not told? src/formats/luanti/FORMAT.md, section 5. */
static bool may_leave_out(const struct check *k, const struct tfs_node *node)
{
    return strcmp(tfs_node_file(k->c->save, node)->path, "state.txt") == 0;
}

static void require_lines(const struct check *k, const struct tfs_node *node, struct tfs_span text)
{
    struct tfs_buf now = {0};

    lens_check_get(k->c, node, &now);
    if (!has_lines(tfs_buf_span(&now), text) ||
        (!may_leave_out(k, node) && !has_lines(text, tfs_buf_span(&now)))) {
        fprintf(stderr, "%s was written as\n%.*s---- and reads\n%.*s",
                tfs_node_file(k->c->save, node)->path, (int)text.size, (const char *)text.data,
                (int)now.size, (const char *)now.data);
        abort();
    }
    tfs_buf_release(&now);
}

/* Line n of a chunk's palette is what its n-th name is called from now on. */
static void rename_values(struct check *k, struct tfs_span text, struct values *v)
{
    const struct tfs_cells_plane *plane = &k->cells->planes[0];
    struct tfs_lines lines;
    struct tfs_line line, word;
    struct tfs_error err = {0};

    *v = (struct values){{room_for(k, 0)}};
    REQUIRE(tfs_lines_init(&lines, text, &err) == 0);
    while (tfs_lines_next(&lines, &line)) {
        REQUIRE(tfs_line_word(&line, &word));
        const uint64_t index = take_number(k, 0, &word), number = number_of_text(k, &line);
        for (size_t i = 0; i < k->cells->count; i++)
            if (tfs_plane_get(plane, i) == index)
                v->of[0][i] = number;
    }
}

/* A text that is as files print theirs, but for the order of lines. */
static void try_text(struct check *k, const struct tfs_node *node, struct tfs_span text)
{
    const bool renames = (tfs_node_file(k->c->save, node)->flags & TFS_FILE_RENAMES) != 0 &&
                         node->scope == TFS_SCOPE_CHUNK;
    const uint64_t version = k->c->doc->version;
    struct values wanted = {{NULL}};

    REQUIRE(open_cells(k));
    if (lens_check_put(k->c, node, text, false) < 0)
        return;
    k->accepted += k->c->doc->version != version;
    if (renames) {
        rename_values(k, text, &wanted);
        check_cells(k, node, &wanted);
    } else {
        require_lines(k, node, text);
    }
    values_release(&wanted);
}

void written_cut_line(struct maker_random *rnd, const struct tfs_buf *text, struct tfs_buf *cut)
{
    size_t from = text->size == 0 ? 0 : maker_draw(rnd, (uint32_t)text->size), to = from;

    while (from > 0 && text->data[from - 1] != '\n')
        from--;
    while (to < text->size && text->data[to] != '\n')
        to++;
    tfs_buf_add(cut, text->data, from);
    if (to < text->size)
        tfs_buf_add(cut, text->data + to + 1, text->size - to - 1);
}

static void without_line(struct check *k, const struct tfs_node *node, const struct tfs_buf *text)
{
    struct tfs_buf cut = {0};

    written_cut_line(&k->rnd, text, &cut);
    try_text(k, node, tfs_buf_span(&cut));
    tfs_buf_release(&cut);
}

/* One digit that is no 0, and stands alone or behind another, is another such digit. */
static void other_digit(struct check *k, const struct tfs_node *node, struct tfs_buf *text)
{
    size_t at = maker_draw(&k->rnd, (uint32_t)text->size);

    while (at < text->size && (text->data[at] < '1' || text->data[at] > '9'))
        at++;
    if (at == text->size)
        return;
    text->data[at] = (uint8_t)('1' + maker_draw(&k->rnd, 9));
    try_text(k, node, tfs_buf_span(text));
}

/* The last line, a name mostly, is another one. */
static void longer_line(struct check *k, const struct tfs_node *node, struct tfs_buf *text)
{
    if (text->data[text->size - 1] != '\n')
        return;
    text->data[text->size - 1] = 'x';
    tfs_buf_u8(text, '\n');
    try_text(k, node, tfs_buf_span(text));
}

/* What the file of another chunk says. */
static void text_of_another(struct check *k, const struct tfs_node *node)
{
    const struct tfs_doc *doc = k->c->doc;
    const struct tfs_chunk *chunk = tfs_doc_at(doc, maker_draw(&k->rnd, (uint32_t)doc->count));
    const struct tfs_node top = tfs_node_of_chunk(chunk);
    const struct tfs_node other = tfs_node_sibling_file(&top, (unsigned)node->file, node->member);
    struct tfs_buf text = {0};

    if (node->scope != TFS_SCOPE_CHUNK ||
        tfs_chunk_schema(k->c->save->tree, node->key.group) !=
            tfs_chunk_schema(k->c->save->tree, chunk->key.group) ||
        tfs_node_exists(k->c->save, doc, &other) != 1)
        return;
    lens_check_get(k->c, &other, &text);
    try_text(k, node, tfs_buf_span(&text));
    tfs_buf_release(&text);
}

static void edit_text(struct check *k, const struct tfs_node *node, const struct tfs_buf *text)
{
    struct tfs_buf copy = {0};

    text_of_another(k, node);
    if (text->size == 0 || text->size > VIEW_MAX)
        return;
    tfs_buf_add_span(&copy, tfs_buf_span(text));
    without_line(k, node, &copy);
    other_digit(k, node, &copy);
    longer_line(k, node, &copy);
    tfs_buf_release(&copy);
}

/* ---- all files ------------------------------------------------------------------------------- */

/* Some pixels of a picture of the root; columns become low ones, as high ones are many chunks. */
static void edit_picture(struct check *k, const struct tfs_node *node, bool deep)
{
    const uint64_t version = k->c->doc->version;
    uint8_t op[5 + 3 * 4] = {0x90, 0, (uint8_t)node->file, (uint8_t)node->member, 3};

    for (size_t i = 5; i < sizeof(op); i += 3) {
        op[i] = (uint8_t)maker_draw(&k->rnd, 256);
        op[i + 1] = (uint8_t)maker_draw(&k->rnd, 256);
        op[i + 2] = (uint8_t)maker_draw(&k->rnd, !deep ? 256 : op[i] % 2 == 0 ? 1 : 32);
    }
    lens_check_edits(k->c, (struct tfs_span){op, sizeof(op)});
    k->accepted += k->c->doc->version != version;
}

static void edit_file(struct check *k, const struct tfs_node *node, const void *arg)
{
    struct tfs_buf text = {0};

    (void)arg;
    if (!tfs_node_writable(k->c->save, k->c->doc, node) || !open_cells(k) ||
        (tfs_node_file(k->c->save, node)->flags & TFS_FILE_RAW) != 0)
        return;
    if (kind_of(k, node) != NO_VIEW) {
        if (kind_of(k, node) == GRID || is_readable(k, node))
            edit_voxel(k, node);
        return;
    }
    if (tfs_node_exists(k->c->save, k->c->doc, node) == 1)
        lens_check_get(k->c, node, &text);
    if (text.size > 24 && memcmp(text.data, "\x89PNG", 4) == 0)
        edit_picture(k, node, text.data[24] == 16);
    else
        edit_text(k, node, &text);
    tfs_buf_release(&text);
}

/* One that has voxels, if one is drawn soon: columns have none. */
static void draw_chunk(struct check *k)
{
    const struct tfs_doc *doc = k->c->doc;

    for (unsigned i = 0; i == 0 || (i < DRAWS && !open_cells(k)); i++)
        k->key = tfs_doc_at(doc, maker_draw(&k->rnd, (uint32_t)doc->count))->key;
}

unsigned written_check(struct lens_check *c, unsigned rounds, uint64_t seed)
{
    struct check k = {.c = c, .rnd.state = seed};
    struct tfs_error err = {0};
    uint32_t empty;

    REQUIRE(tfs_words_add(&k.names, tfs_span_of(""), &empty, &err) == 0);
    for (unsigned i = 0; i < rounds && c->doc->count > 0; i++) {
        draw_chunk(&k);
        each_file(&k, tfs_node_of_chunk(tfs_doc_find(c->doc, k.key)), edit_file, NULL);
        each_file(&k, above(k.key), edit_file, NULL);
    }
    tfs_cells_unref(k.cells);
    tfs_words_release(&k.names);
    return k.accepted;
}
