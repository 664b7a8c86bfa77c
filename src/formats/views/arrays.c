/*
 * A plane of cells <-> the numbers of arrays/NAME.npy (formats/arrays/array.h). Of names these are
 * the numbers of arrays/palette.txt in an array of the save, and entries of the chunk's palette in
 * one of a chunk.
 *
 * Must not know what a game stores.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/numbers.h"
#include "formats/cells/edit.h"
#include "formats/views/views.h"

static unsigned plane_of(const struct tfs_array_view *view)
{
    return *(const unsigned *)view->array->param;
}

static char kind_of(enum tfs_plane_kind kind)
{
    return kind == TFS_PLANE_SIGNED ? 'i' : kind == TFS_PLANE_FLOAT ? 'f' : 'u';
}

static void set_form(struct tfs_volume *v, const struct tfs_plane_form *form,
                     struct tfs_voxel_size size)
{
    v->kind = kind_of(form->kind);
    v->width = form->width;
    v->empty = form->empty;
    v->sides[0] = size.y;
    v->sides[1] = size.z;
    v->sides[2] = size.x;
}

static int form_chunk(struct tfs_array_view *view, struct tfs_error *err)
{
    const unsigned plane = plane_of(view);
    struct tfs_cells *cells;

    if (tfs_cells_need(view->save, view->doc, view->chunk->key, 1u << plane, &cells, err) < 0)
        return err->code;
    set_form(&view->volume, &cells->planes[plane].form, cells->size);
    tfs_cells_unref(cells);
    return 0;
}

int tfs_cells_array_form(struct tfs_array_view *view, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = view->save->tree->cells;
    const unsigned plane = plane_of(view);
    const uint32_t group = view->volume.low.group;
    struct tfs_plane_form form = kind->planes[plane].form;

    if (kind->form != NULL && view->chunk != NULL)
        return form_chunk(view, err);
    if (kind->form != NULL && kind->group_form(view->save, view->doc, group, plane, &form, err) < 0)
        return err->code;
    set_form(&view->volume, &form,
             kind->group_size != NULL ? kind->group_size(view->doc, group) : kind->size);
    return 0;
}

/* Have the plane's values a place in such an array? */
static int check_form(const struct tfs_array_view *view, const struct tfs_cells *cells,
                      const struct tfs_cells_plane *plane, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const struct tfs_key key = cells->chunk.key;
    const unsigned width = plane->form.width;

    if (cells->kind->form == NULL ||
        (cells->size.y == v->sides[0] && cells->size.z == v->sides[1] &&
         cells->size.x == v->sides[2] && kind_of(plane->form.kind) == v->kind &&
         width <= v->width && (v->kind != 'f' || width == v->width)))
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "chunk %d_%d_%d stores %s in another way than others do: there is an array of "
                    "each chunk, but not one of all",
                    key.x, key.y, key.z, cells->kind->planes[plane_of(view)].name);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The number of each entry of the chunk's table; to be freed. */
static uint32_t *number_entries(const struct tfs_array_view *view, const struct tfs_cells *cells,
                                struct tfs_error *err)
{
    uint32_t *map = calloc(cells->name_count + (size_t)1, sizeof(*map));
    struct tfs_numbers *numbers;

    if (map == NULL)
        tfs_fail_memory(err);
    else if (tfs_numbers_open(view->save, view->doc, view->array->numbering, &numbers, err) == 0)
        for (uint32_t i = 0; i < cells->name_count && err->code == 0; i++)
            tfs_numbers_add(numbers, cells->names[i], &map[i], err);
    return map;
}

/* Entries as they are, or by a map: of 16 bits. */
static int show_names(const struct tfs_array_view *view, const struct tfs_cells *cells,
                      size_t first, size_t count, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_cells_plane *plane = &cells->planes[0];
    const uint32_t *entries = (const uint32_t *)plane->values + (plane->filled ? 0 : first);
    const size_t step = plane->filled ? 0 : 1;
    uint32_t *map = view->array->numbering != NULL ? number_entries(view, cells, err) : NULL;

    for (size_t i = 0; i < count && err->code == 0; i++) {
        const uint32_t entry = entries[i * step];
        const uint16_t number = (uint16_t)(map != NULL ? map[entry] : entry);
        memcpy(values + i * sizeof(number), &number, sizeof(number));
    }
    free(map);
    return err->code;
}

static int show_values(const struct tfs_array_view *view, const struct tfs_cells *cells,
                       size_t first, size_t count, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_cells_plane *plane = &cells->planes[plane_of(view)];
    const unsigned width = view->volume.width;

    if (check_form(view, cells, plane, err) < 0)
        return err->code;
    if (!plane->filled && plane->form.width == width)
        memcpy(values, (const uint8_t *)plane->values + first * width, count * width);
    else
        for (size_t i = 0; i < count; i++)
            tfs_array_set(values, width, i,
                          tfs_plane_wide(&plane->form, tfs_plane_get(plane, first + i)));
    return 0;
}

/* Layers of a flat array are rows of the chunk, from the north. */
static void show_rows(const struct tfs_array_view *view, const struct tfs_cells *cells,
                      uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;

    for (uint32_t row = from; row < to; row++, values += (size_t)v->sides[2] * v->width)
        if (v->sides[0] - 1 - row < cells->size.z)
            show_values(view, cells, (size_t)(v->sides[0] - 1 - row) * cells->size.x, cells->size.x,
                        values, err);
}

/* Along the runs that the game stores, of a plane of bytes. */
static void show_runs(const struct tfs_cells *cells, unsigned plane, size_t first, size_t end,
                      uint8_t *values)
{
    struct tfs_cells_runs runs;

    tfs_cells_runs_begin(&runs, cells, 1u << plane);
    while (runs.end < end && tfs_cells_runs_next(&runs)) {
        const size_t begin = runs.end - runs.count;
        const size_t low = begin > first ? begin : first, high = runs.end < end ? runs.end : end;
        if (low < high)
            memset(values + (low - first), (int)runs.values[plane], high - low);
    }
}

/* A chunk that does not decode, or lacks the plane, is empty. */
int tfs_cells_array_read(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                         uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const size_t layer = (size_t)v->sides[1] * v->sides[2];
    const size_t first = from * layer, count = (to - from) * layer;
    const unsigned plane = plane_of(view);
    struct tfs_cells *cells;

    if (tfs_cells_make(view->save, view->doc, chunk,
                       tfs_cells_runs_need(view->save->tree->cells, 1u << plane), &cells, err) < 0)
        return err->code;
    const struct tfs_cells_plane *p = &cells->planes[plane];
    if (cells->damage == NULL && cells->kind->next_run != NULL)
        show_runs(cells, plane, first, first + count, values);
    else if (cells->damage != NULL || p->values == NULL)
        for (size_t i = 0; i < count && v->empty != 0; i++)
            tfs_array_set(values, v->width, i, v->empty);
    else if (p->form.kind == TFS_PLANE_NAMES)
        show_names(view, cells, first, count, values, err);
    else if (v->flat)
        show_rows(view, cells, from, to, values, err);
    else
        show_values(view, cells, first, count, values, err);
    tfs_cells_unref(cells);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int take_name(const struct tfs_array_change *change, struct tfs_cells_edit *e, size_t i,
                     uint64_t value, struct tfs_error *err)
{
    const struct tfs_array_view *view = change->view;
    struct tfs_numbers *numbers;
    struct tfs_span name;
    uint32_t entry;

    if (value == 0)
        return tfs_cells_edit_clear(e, i, err);
    if (tfs_numbers_open(view->save, view->doc, view->array->numbering, &numbers, err) < 0)
        return err->code;
    if (!tfs_numbers_name(numbers, value, &name))
        return tfs_array_refuse(change, i, err, "arrays/palette.txt has %" PRIu32 " lines",
                                tfs_numbers_count(numbers));
    if (tfs_cells_edit_add(e, name, &entry, err) == 0)
        tfs_cells_edit_set(e, i, entry);
    return err->code;
}

static int take_entry(const struct tfs_array_change *change, struct tfs_cells_edit *e, size_t i,
                      uint64_t value, struct tfs_error *err)
{
    if (value >= e->before->name_count)
        return tfs_array_refuse(change, i, err, "the palette has %" PRIu32 " lines",
                                e->before->name_count);
    tfs_plane_set(&e->planes[0], i, value);
    return 0;
}

struct taking {
    const struct tfs_array_change *change;
    struct tfs_cells_edit e;
    unsigned plane;
    struct tfs_error why; /* of what is not legal */
};

static int take_value(struct taking *t, size_t i, size_t voxel, struct tfs_error *err)
{
    const struct tfs_array_view *view = t->change->view;
    const uint64_t value = tfs_array_value(t->change->wanted, view->volume.width, i);
    const struct tfs_cells_kind *kind = t->e.before->kind;
    const struct tfs_plane *p = &kind->planes[t->plane];
    struct tfs_cells_plane *plane = &t->e.planes[t->plane];
    const unsigned above = 64 - 8 * view->volume.width;

    if (p->form.kind == TFS_PLANE_NAMES)
        return view->array->numbering != NULL ? take_name(t->change, &t->e, i, value, err)
                                              : take_entry(t->change, &t->e, i, value, err);
    if (p->out_of_range != NULL && value > p->form.high)
        return tfs_array_refuse(t->change, i, err, "%s", p->out_of_range);
    if (kind->legal != NULL && kind->legal(&t->e, t->plane, voxel, value, &t->why) < 0)
        return tfs_array_refuse(t->change, i, err, "but %s", t->why.text);
    tfs_plane_set(plane, voxel, value);
    if (tfs_plane_wide(&plane->form, tfs_plane_get(plane, voxel)) << above != value << above)
        return tfs_array_refuse(t->change, i, err, "%s has %u bits in this chunk", p->name,
                                8 * plane->form.width);
    const char *why = tfs_cells_edit_refusal(&t->e, voxel, t->plane);
    return why == NULL ? 0 : tfs_array_refuse(t->change, i, err, "%s for %s", p->name, why);
}

/* The values of a row, from number `i` on. */
static int take_row(struct taking *t, size_t i, struct tfs_error *err)
{
    const struct tfs_volume *v = &t->change->view->volume;
    const size_t end = i + v->sides[2];
    size_t voxel = v->flat ? (v->sides[0] - 1 - i / v->sides[2]) * t->e.before->size.x : i;

    for (; i < end && err->code == 0; i++, voxel++)
        if (tfs_array_differs(t->change, i))
            take_value(t, i, voxel, err);
    return err->code;
}

static int take_values(struct taking *t, struct tfs_error *err)
{
    const struct tfs_array_change *change = t->change;
    const struct tfs_cells *before = t->e.before;
    struct tfs_cells_plane *p = &t->e.planes[t->plane];

    if (check_form(change->view, before, p, err) < 0 ||
        tfs_cells_edit_plane(&t->e, t->plane, err) < 0)
        return err->code;
    t->e.written = 1u << t->plane;
    t->e.given = change->view->array->named != NULL;
    for (size_t i = 0; i < change->count && err->code == 0; i += change->view->volume.sides[2])
        take_row(t, i, err);
    if ((before->kind->planes[t->plane].flags & TFS_PLANE_FILLABLE) != 0)
        p->filled = before->planes[t->plane].filled && tfs_plane_uniform(p, before->count);
    return err->code;
}

int tfs_cells_array_write(const struct tfs_array_change *change, struct tfs_error *err)
{
    struct taking t = {.change = change, .plane = plane_of(change->view)};
    struct tfs_save *save = change->view->save;

    if (tfs_cells_edit_open(&t.e, save, change->edit, change->key, err) == 0 &&
        take_values(&t, err) == 0)
        tfs_cells_edit_finish(&t.e, change->edit, err);
    tfs_cells_edit_close(&t.e);
    return err->code;
}
