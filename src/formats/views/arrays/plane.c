/*
 * A plane of cells <-> the values of an array. Of names these are the numbers of
 * arrays/palette.txt.
 *
 * Must not know what a game stores, nor where values are in a file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/arrays/array.h"
#include "formats/views/arrays/numbers.h"
#include "formats/cells/edit.h"

void tfs_values_fill(uint8_t *values, unsigned width, size_t count, uint64_t value)
{
    if (value == 0 || width == 1)
        memset(values, (int)value, count * width);
    else
        for (size_t i = 0; i < count; i++)
            tfs_array_set(values, width, i, value);
}

/* Have the plane's values a place in such an array? */
static int check_form(const struct tfs_array *a, const struct tfs_cells *cells,
                      const struct tfs_plane_form *form, struct tfs_error *err)
{
    const struct tfs_voxel_size size = cells->size;
    const struct tfs_key key = cells->chunk.key;
    const char kind = form->kind == TFS_PLANE_SIGNED  ? 'i'
                      : form->kind == TFS_PLANE_FLOAT ? 'f'
                                                      : 'u';

    if (cells->kind->form == NULL ||
        (size.y == a->sides[0] && size.z == a->sides[1] && size.x == a->sides[2] &&
         kind == a->kind && form->width <= a->width && (kind != 'f' || form->width == a->width)))
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "chunk %d_%d_%d stores %s in another way than others do: there is an array of "
                    "each chunk, but not one of all",
                    key.x, key.y, key.z, cells->kind->planes[a->plane].name);
}

/* The number of the voxel that begins row number `row` of the array's values. */
static size_t voxel_of(const struct tfs_array *a, const struct tfs_cells *cells, size_t row)
{
    return (a->flat ? a->sides[0] - 1 - row : row) * cells->size.x;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A tfs_number_fn. */
static int add_number(void *numbers, struct tfs_span name, uint32_t *number, struct tfs_error *err)
{
    return tfs_numbers_add(numbers, name, number, err);
}

/* By the game's fast path. */
static int show_stored(const struct tfs_array *a, const struct tfs_chunk *chunk, uint32_t from,
                       uint32_t to, uint8_t *values, struct tfs_error *err)
{
    struct tfs_numbers *numbers;
    struct tfs_blob *bytes;

    if (tfs_numbers_open(a->save, a->doc, &numbers, err) < 0 ||
        tfs_chunk_load(a->save, chunk, &bytes, err) < 0)
        return err->code;
    a->save->tree->cells->numbers(tfs_blob_span(bytes), from, to, add_number, numbers, values, err);
    tfs_blob_unref(bytes);
    return err->code;
}

/* Entries by a map of their numbers. */
static int show_names(const struct tfs_array *a, const struct tfs_cells *cells, size_t first,
                      size_t count, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_cells_plane *plane = &cells->planes[a->plane];
    const uint32_t *entries = (const uint32_t *)plane->values + (plane->filled ? 0 : first);
    const size_t step = plane->filled ? 0 : 1;
    uint32_t *map = calloc(cells->name_count + (size_t)1, sizeof(*map));
    struct tfs_numbers *numbers;

    if (map == NULL)
        tfs_fail_memory(err);
    else if (tfs_numbers_open(a->save, a->doc, &numbers, err) == 0)
        for (uint32_t i = 0; i < cells->name_count && err->code == 0; i++)
            tfs_numbers_add(numbers, cells->names[i], &map[i], err);
    for (size_t i = 0; i < count && err->code == 0; i++) {
        const uint16_t number = (uint16_t)map[entries[i * step]];
        memcpy(values + i * sizeof(number), &number, sizeof(number));
    }
    free(map);
    return err->code;
}

static void show_values(const struct tfs_array *a, const struct tfs_cells *cells, size_t first,
                        size_t count, uint8_t *values)
{
    const struct tfs_cells_plane *plane = &cells->planes[a->plane];

    if (!plane->filled && plane->form.width == a->width)
        memcpy(values, (const uint8_t *)plane->values + first * a->width, count * a->width);
    else if (plane->filled)
        tfs_values_fill(values, a->width, count,
                        tfs_plane_wide(&plane->form, tfs_plane_get(plane, 0)));
    else
        for (size_t i = 0; i < count; i++)
            tfs_array_set(values, a->width, i,
                          tfs_plane_wide(&plane->form, tfs_plane_get(plane, first + i)));
}

/* Layers of a flat array are rows of the chunk, from the north, which it may lack. */
static void show_rows(const struct tfs_array *a, const struct tfs_cells *cells, uint32_t from,
                      uint32_t to, uint8_t *values)
{
    const size_t size = tfs_array_row(a);

    for (uint32_t row = from; row < to; row++, values += size) {
        const size_t first = voxel_of(a, cells, row);
        if (first < cells->count)
            show_values(a, cells, first, cells->size.x, values);
    }
}

/* Along the runs that the game stores, of a plane of bytes. */
static void show_runs(const struct tfs_cells *cells, unsigned plane, size_t first, size_t end,
                      uint8_t *values)
{
    struct tfs_cells_runs runs;

    tfs_cells_runs_begin(&runs, cells);
    while (runs.end < end && tfs_cells_runs_next(&runs)) {
        const size_t begin = runs.end - runs.count;
        const size_t low = begin > first ? begin : first, high = runs.end < end ? runs.end : end;
        if (low < high)
            memset(values + (low - first), runs.values[plane], high - low);
    }
}

/* A chunk that does not decode, or lacks the plane, is empty. */
int tfs_array_layers(const struct tfs_array *a, const struct tfs_chunk *chunk, uint32_t from,
                     uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = a->save->tree->cells;
    const size_t layer = (size_t)a->sides[1] * a->sides[2];
    const size_t first = from * layer, count = (to - from) * layer;
    struct tfs_cells *cells;

    if (kind->numbers != NULL && kind->planes[a->plane].form.kind == TFS_PLANE_NAMES)
        return show_stored(a, chunk, from, to, values, err);
    if (tfs_cells_make(a->save, a->doc, chunk, tfs_cells_runs_need(kind, 1u << a->plane), &cells,
                       err) < 0)
        return err->code;
    const struct tfs_cells_plane *p = &cells->planes[a->plane];
    if (a->flat && cells->count < tfs_array_volume(a))
        memset(values, 0, count * a->width);
    if (cells->damage == NULL && kind->next_runs != NULL)
        show_runs(cells, a->plane, first, first + count, values);
    else if (cells->damage != NULL || p->values == NULL)
        tfs_values_fill(values, a->width, count, a->empty);
    else if (p->form.kind == TFS_PLANE_NAMES)
        show_names(a, cells, first, count, values, err);
    else if (a->flat)
        show_rows(a, cells, from, to, values);
    else if (check_form(a, cells, &p->form, err) == 0)
        show_values(a, cells, first, count, values);
    tfs_cells_unref(cells);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

int tfs_array_refuse(const struct tfs_array *a, char kind, uint64_t line, uint64_t x,
                     uint64_t value, const char *why, struct tfs_error *err)
{
    const uint64_t lines = (uint64_t)a->chunks[1] * a->sides[1]; /* of a plane */
    char place[64] = "", number[32];

    snprintf(number, sizeof(number), kind == 'u' ? "%" PRIu64 : "%" PRId64, value);
    if (!a->flat)
        snprintf(place, sizeof(place), "%" PRIu64 ",", line / lines);
    return tfs_fail(err, -EBADMSG, "[%s%" PRIu64 ",%" PRIu64 "] is %s, %s", place,
                    a->flat ? line : line % lines, x, number, why);
}

struct taking {
    const struct tfs_array_change *change;
    struct tfs_numbers *numbers; /* of names */
    struct tfs_cells_edit e;
    struct tfs_error why; /* of what a voxel cannot be */
    uint64_t value;       /* the number of the name that a voxel got last; 0: of none */
    uint32_t entry;       /* and its entry */
};

static int take_name(struct taking *t, size_t voxel, uint64_t value, struct tfs_error *err)
{
    struct tfs_buf name = {0};

    if (value == 0)
        return tfs_cells_edit_clear(&t->e, voxel, 1, err);
    if (value != t->value && !tfs_numbers_name(t->numbers, value, &name)) {
        tfs_fail(&t->why, -EBADMSG, "arrays/palette.txt has %" PRIu32 " lines",
                 tfs_numbers_count(t->numbers));
        return 0;
    }
    if (value != t->value && tfs_buf_check(&name, err) == 0 &&
        tfs_cells_edit_add(&t->e, tfs_buf_span(&name), &t->entry, err) == 0)
        t->value = value;
    tfs_buf_release(&name);
    if (err->code == 0)
        tfs_cells_edit_set(&t->e, voxel, 1, t->entry);
    return err->code;
}

/* The line of the array that has a row of the chunk. */
static uint64_t line_of(const struct tfs_array_change *c, size_t row)
{
    const struct tfs_array *a = c->array;

    return (c->origin[0] + row / a->sides[1]) * a->chunks[1] * a->sides[1] + c->origin[1] +
           row % a->sides[1];
}

/* A row of values that differ from what they are, or (`made`) may not. */
struct row {
    size_t number, voxel; /* of the chunk; of its first one */
    const uint8_t *now, *wanted;
    bool made;
};

static bool differs(const struct row *r, unsigned width, size_t x)
{
    return r->made || tfs_array_value(r->now, width, x) != tfs_array_value(r->wanted, width, x);
}

/* Fails with t->why. */
static int refuse(const struct taking *t, const struct row *r, size_t x, struct tfs_error *err)
{
    const struct tfs_array *a = t->change->array;

    return tfs_array_refuse(a, a->kind, line_of(t->change, r->number), t->change->origin[2] + x,
                            tfs_array_value(r->wanted, a->width, x), t->why.text, err);
}

static int take_names(struct taking *t, const struct row *r, struct tfs_error *err)
{
    const unsigned width = t->change->array->width;

    for (size_t x = 0; x < t->e.before->size.x && err->code == 0; x++) {
        if (!differs(r, width, x))
            continue;
        take_name(t, r->voxel + x, tfs_array_value(r->wanted, width, x), err);
        if (t->why.code < 0)
            return refuse(t, r, x, err);
    }
    return err->code;
}

/* Have voxels a value that they cannot have, whatever other planes say? */
static int check_numbers(struct taking *t, const struct row *r, struct tfs_error *err)
{
    const unsigned width = t->change->array->width;
    const struct tfs_plane *p = &t->e.before->kind->planes[t->change->array->plane];
    const uint64_t high = p->out_of_range != NULL ? p->form.high : UINT64_MAX;

    if (high >= UINT64_MAX >> (64 - 8 * width))
        return 0;
    for (size_t x = 0; x < t->e.before->size.x; x++) {
        if (!differs(r, width, x) || tfs_array_value(r->wanted, width, x) <= high)
            continue;
        tfs_fail(&t->why, -EBADMSG, "%s", p->out_of_range);
        return refuse(t, r, x, err);
    }
    return 0;
}

/* One that the chunk stores in fewer bits must fit, and go with what other planes say. */
static int take_numbers(struct taking *t, const struct row *r, struct tfs_error *err)
{
    const unsigned number = t->change->array->plane, width = t->change->array->width;
    const unsigned above = 64 - 8 * width;
    const struct tfs_plane *plane = &t->e.before->kind->planes[number];
    const char *refusal;
    struct tfs_cells_plane *p = &t->e.planes[number];
    const size_t count = t->e.before->size.x;

    if (check_numbers(t, r, err) < 0)
        return err->code;
    if (p->form.width == width)
        memcpy((uint8_t *)p->values + r->voxel * width, r->wanted, count * width);
    if (p->form.width == width && plane->legal == NULL)
        return 0;
    for (size_t x = 0, voxel = r->voxel; x < count; x++, voxel++) {
        const uint64_t value = tfs_array_value(r->wanted, width, x);
        if (!differs(r, width, x))
            continue;
        tfs_plane_set(p, voxel, value);
        if (tfs_plane_wide(&p->form, tfs_plane_get(p, voxel)) << above != value << above)
            tfs_fail(&t->why, -EBADMSG, "%s has %u bits in this chunk", plane->name,
                     8 * p->form.width);
        else if (t->e.values == NULL &&
                 (refusal = tfs_cells_edit_refusal(&t->e, voxel, number)) != NULL)
            tfs_fail(&t->why, -EBADMSG, "%s for %s", plane->name, refusal);
        if (t->why.code < 0)
            return refuse(t, r, x, err);
    }
    return 0;
}

static int take_values(struct taking *t, bool made, struct tfs_error *err)
{
    const struct tfs_array *a = t->change->array;
    const struct tfs_cells *before = t->e.before;
    struct tfs_cells_plane *p = &t->e.planes[a->plane];
    const size_t size = tfs_array_row(a);

    if (check_form(a, before, &p->form, err) < 0 || tfs_cells_edit_plane(&t->e, a->plane, err) < 0)
        return err->code;
    t->e.written = 1u << a->plane;
    t->e.values = t->change->given;
    for (size_t i = 0; i < (size_t)a->sides[0] * a->sides[1] && err->code == 0; i++) {
        const struct row r = {i, voxel_of(a, before, i), t->change->now + i * size,
                              t->change->wanted + i * size, made};
        if (made || memcmp(r.now, r.wanted, size) != 0)
            (p->form.kind == TFS_PLANE_NAMES ? take_names : take_numbers)(t, &r, err);
    }
    if ((before->kind->planes[a->plane].flags & TFS_PLANE_FILLABLE) != 0)
        p->filled = before->planes[a->plane].filled && tfs_plane_uniform(p, before->count);
    return err->code;
}

int tfs_array_store(const struct tfs_array_change *change, struct tfs_error *err)
{
    const struct tfs_array *a = change->array;
    const bool made = tfs_doc_find(tfs_edit_doc(change->edit), change->key) == NULL;
    struct taking t = {.change = change};

    if (made && tfs_chunk_create(a->save, change->edit, change->key, err) < 0)
        return err->code;
    if ((a->save->tree->cells->planes[a->plane].form.kind != TFS_PLANE_NAMES ||
         tfs_numbers_open(a->save, a->doc, &t.numbers, err) == 0) &&
        tfs_cells_edit_open(&t.e, a->save, change->edit, change->key, err) == 0 &&
        take_values(&t, made, err) == 0)
        tfs_cells_edit_finish(&t.e, change->edit, err);
    tfs_cells_edit_close(&t.e);
    return err->code;
}
