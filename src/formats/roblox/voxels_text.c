/*
 * Lines `x,y,z,material,occupancy,water` -> cells, with every rule about what a line may say.
 *
 * Must not know how cells are stored.
 */
#include "formats/roblox/voxels_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "formats/roblox/material.h"
#include "text/name.h"
#include "text/table.h"

enum column { X, Y, Z, MATERIAL, OCCUPANCY, WATER, COLUMNS };

/* A chunk's coordinates without the limits of those in a file. */
struct place {
    int64_t x, y, z;
};

struct reader {
    const struct tfs_rbx_cells *old;
    struct place place; /* the chunk that the rows must lie in */
    bool lenient;       /* what cannot be waits for another file */
    bool waits;
    uint32_t *cells;
};

/* ---- where a row lies ------------------------------------------------------------------------ */

static int64_t floor_divide(int64_t v, int64_t by)
{
    return v / by - (v % by < 0);
}

static int take_voxel(const struct tfs_record *record, struct tfs_rbx_voxel *voxel,
                      struct tfs_error *err)
{
    /* Beyond any chunk, with room for arithmetic. */
    const int64_t limit = INT64_C(1) << 48;

    if (tfs_line_number(&record->fields[X], "x", -limit, limit, &voxel->x, err) < 0 ||
        tfs_line_number(&record->fields[Y], "y", -limit, limit, &voxel->y, err) < 0)
        return err->code;
    return tfs_line_number(&record->fields[Z], "z", -limit, limit, &voxel->z, err);
}

static struct place place_of(struct tfs_rbx_voxel voxel, uint32_t edge)
{
    return (struct place){floor_divide(voxel.x, edge), floor_divide(voxel.y, edge),
                          floor_divide(voxel.z, edge)};
}

static bool same_place(struct place a, struct place b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static struct place own_place(const struct tfs_rbx_cells *c)
{
    return (struct place){c->chunk.key.x, c->chunk.key.y, c->chunk.key.z};
}

static int fail_outside(const struct tfs_record *record, struct tfs_rbx_voxel at,
                        const struct tfs_rbx_cells *c, struct tfs_error *err)
{
    const struct tfs_rbx_voxel low = tfs_rbx_voxel_of(c, 0);
    const int64_t last = (int64_t)c->edge - 1;

    return tfs_fail_line(err, &record->fields[X],
                         "voxel %" PRId64 ",%" PRId64 ",%" PRId64 " is outside this chunk, which "
                         "holds x %" PRId64 " to %" PRId64 ", y %" PRId64 " to %" PRId64
                         ", z %" PRId64 " to %" PRId64,
                         at.x, at.y, at.z, low.x, low.x + last, low.y, low.y + last, low.z,
                         low.z + last);
}

/* ---- what a row says ------------------------------------------------------------------------- */

static int take_material(const struct tfs_line *field, uint32_t *material, struct tfs_error *err)
{
    int named = tfs_rbx_material_find(field->text);
    int64_t number = named;
    char quoted[TFS_QUOTED];

    if (named < 0 && field->text.size > 0 && field->text.data[0] > '9')
        return tfs_fail_line(err, field,
                             "there is no material %s; palette.txt has the names, and 0 to 63 are "
                             "possible",
                             tfs_name_quote(field->text, quoted));
    if (named < 0 && tfs_line_number(field, "material", 0, TFS_RBX_MATERIALS - 1, &number, err) < 0)
        return err->code;
    *material = (uint32_t)number;
    return 0;
}

static int take_cell(const struct tfs_record *record, uint32_t *cell, struct tfs_error *err)
{
    uint32_t material = 0;
    int64_t occupancy = 0;
    int64_t water = 0;

    if (take_material(&record->fields[MATERIAL], &material, err) < 0 ||
        tfs_line_number(&record->fields[OCCUPANCY], "occupancy", 0, 255, &occupancy, err) < 0 ||
        tfs_line_number(&record->fields[WATER], "water", 0, 255, &water, err) < 0)
        return err->code;
    *cell = tfs_rbx_cell(material, (uint32_t)occupancy, (uint32_t)water);
    return 0;
}

static int fail_cell(const struct tfs_record *record, struct tfs_rbx_voxel at, uint32_t cell,
                     struct tfs_error *err)
{
    const uint32_t material = tfs_rbx_cell_material(cell);
    const bool is_air = material == TFS_RBX_AIR;
    const bool dry = tfs_rbx_cell_water(cell) == 0;
    const char *why = is_air && dry ? "Air has no occupancy"
                      : is_air      ? "Air has no water beside it; the material Water has"
                      : material == TFS_RBX_WATER ? "Water has no room for more water"
                                                  : "a cell of occupancy 255 has no room for water";

    return tfs_fail_line(err, &record->fields[is_air && dry ? OCCUPANCY : WATER],
                         "voxel %" PRId64 ",%" PRId64 ",%" PRId64 ": %s", at.x, at.y, at.z, why);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int take_row(struct reader *r, const struct tfs_record *record, struct tfs_error *err)
{
    const int64_t edge = r->old->edge;
    struct tfs_rbx_voxel at = {0};
    uint32_t cell = 0;

    if (take_voxel(record, &at, err) < 0)
        return err->code;
    if (!same_place(place_of(at, r->old->edge), r->place))
        return fail_outside(record, at, r->old, err);
    if (take_cell(record, &cell, err) < 0)
        return err->code;

    const struct place p = r->place;
    size_t i =
        (size_t)(((at.y - p.y * edge) * edge + at.z - p.z * edge) * edge + at.x - p.x * edge);
    if (cell != r->old->cells[i] && !tfs_rbx_cell_legal(cell)) {
        if (!r->lenient)
            return fail_cell(record, at, cell, err);
        r->waits = true;
        cell = tfs_rbx_cell_fit(cell);
    }
    r->cells[i] = cell;
    return 0;
}

static int fail_header(const struct tfs_line *at, struct tfs_error *err)
{
    return tfs_fail_line(err, at, "the first line must be " TFS_RBX_VOXELS_HEADER);
}

static int take_header(struct tfs_table *table, struct tfs_buf *scratch, struct tfs_error *err)
{
    static const char *const names[COLUMNS] = {"x", "y", "z", "material", "occupancy", "water"};
    const struct tfs_line nowhere = {.number = 1, .column = 1};
    struct tfs_record record;
    int result = tfs_table_next(table, &record, scratch, err);

    if (result < 0)
        return result;
    if (result == 0)
        return fail_header(&nowhere, err);
    for (unsigned i = 0; i < COLUMNS; i++)
        if (i >= record.count || !tfs_span_equal(record.fields[i].text, tfs_span_of(names[i])))
            return fail_header(&record.fields[0], err);
    return record.count == COLUMNS ? 0 : fail_header(&record.fields[COLUMNS], err);
}

/* All rows, into r->cells. */
static int take_rows(struct reader *r, struct tfs_span text, struct tfs_error *err)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_buf scratch = {0};
    int result = tfs_table_init(&table, text, err);

    memset(r->cells, 0, r->old->count * sizeof(*r->cells));
    if (result == 0)
        result = take_header(&table, &scratch, err);
    if (result == 0)
        while ((result = tfs_table_next(&table, &record, &scratch, err)) > 0)
            if (take_row(r, &record, err) < 0)
                break;
    tfs_buf_release(&scratch);
    return err->code;
}

/* The chunk that the first row lies in; the one that `old` is when there is none, or no sense in
 * it. */
static struct place first_place(struct tfs_span text, const struct tfs_rbx_cells *old)
{
    struct tfs_table table;
    struct tfs_record record;
    struct tfs_rbx_voxel voxel;
    struct tfs_buf scratch = {0};
    struct tfs_error ignored = {0};
    bool found = tfs_table_init(&table, text, &ignored) == 0 &&
                 take_header(&table, &scratch, &ignored) == 0 &&
                 tfs_table_next(&table, &record, &scratch, &ignored) == 1 &&
                 take_voxel(&record, &voxel, &ignored) == 0;

    tfs_buf_release(&scratch);
    return found ? place_of(voxel, old->edge) : own_place(old);
}

int tfs_rbx_voxels_parse(struct tfs_span text, const struct tfs_rbx_cells *old, struct tfs_put *put,
                         uint32_t *cells, struct tfs_error *err)
{
    struct reader r = {
        .old = old, .place = first_place(text, old), .lenient = put->fresh, .cells = cells};
    struct tfs_error elsewhere = {0};

    if (!same_place(r.place, own_place(old))) {
        /* A copy of another chunk, or a slip: decided by whether all of it lies there. */
        bool fits = take_rows(&r, text, &elsewhere) == 0;
        bool same = fits && memcmp(cells, old->cells, old->count * sizeof(*cells)) == 0;
        if (same || (fits && put->fresh)) {
            put->waits = put->waits || r.waits;
            return 0;
        }
        r.place = own_place(old);
    }
    r.waits = false;
    if (take_rows(&r, text, err) < 0)
        return err->code;
    put->waits = put->waits || r.waits;
    return 0;
}
