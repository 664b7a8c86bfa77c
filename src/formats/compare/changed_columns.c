/*
 * The rows of a difference -> marks on a map.
 *
 * Must not know any format, nor how marks look. Of chunks that came or went all columns are news:
 * they are not looked into.
 */
#include "formats/compare/changed_columns.h"

#include <stdlib.h>

struct marking {
    struct tfs_marks *marks;
    struct tfs_voxel_size chunk;
    struct tfs_error *err;
};

void tfs_marks_release(struct tfs_marks *marks)
{
    free(marks->bits);
    free(marks->kinds);
    *marks = (struct tfs_marks){0};
}

static size_t bit_of(const struct tfs_marks *m, uint64_t x, uint64_t z)
{
    return (size_t)(z / m->unit) * m->width + (size_t)(x / m->unit);
}

static size_t stack_of(const struct tfs_marks *m, uint64_t x, uint64_t z)
{
    return (size_t)(z / m->stack_z) * m->stacks + (size_t)(x / m->stack_x);
}

bool tfs_marks_column(const struct tfs_marks *marks, uint64_t x, uint64_t z)
{
    const size_t bit = bit_of(marks, x, z);

    return (marks->bits[bit / 8] >> bit % 8 & 1) != 0;
}

unsigned tfs_marks_stack(const struct tfs_marks *marks, uint64_t x, uint64_t z)
{
    return marks->kinds[stack_of(marks, x, z)];
}

static bool is_inside(const struct tfs_area *area, int64_t x, int64_t z)
{
    return x >= area->x && z >= area->z && (uint64_t)(x - area->x) < area->width &&
           (uint64_t)(z - area->z) < area->height;
}

static int mark_row(void *arg, const struct tfs_diff_row *row)
{
    struct tfs_marks *m = arg;

    for (int side = 0; side < TFS_SIDES; side++)
        for (size_t i = 0; i < row->counts[side]; i++)
            for (int64_t x = row->runs[side][i].from; x <= row->runs[side][i].to; x++)
                if (is_inside(&m->area, x, row->z)) {
                    const size_t bit =
                        bit_of(m, (uint64_t)(x - m->area.x), (uint64_t)(row->z - m->area.z));
                    m->bits[bit / 8] |= (uint8_t)(1 << bit % 8);
                }
    return 0;
}

static int mark_chunk(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    const struct marking *marking = arg;
    struct tfs_marks *m = marking->marks;
    const int64_t x = (int64_t)chunk->key.x * marking->chunk.x;
    const int64_t z = (int64_t)chunk->key.z * marking->chunk.z;

    if (chunk->key.group != 0 || !is_inside(&m->area, x, z))
        return 0;
    m->kinds[stack_of(m, (uint64_t)(x - m->area.x), (uint64_t)(z - m->area.z))] |=
        (uint8_t)(1 << chunk->kind);
    if (chunk->kind != TFS_DIFF_CHANGED || chunk->voxels == 0 || chunk->why[0] != '\0')
        return 0;
    return tfs_diff_rows(diff, mark_row, m, marking->err);
}

static uint64_t count(uint64_t size, uint64_t side)
{
    return (size + side - 1) / side;
}

int tfs_marks_make(struct tfs_diff *diff, const struct tfs_area *area, struct tfs_voxel_size chunk,
                   uint64_t unit, struct tfs_marks *marks, struct tfs_error *err)
{
    const uint64_t stack_x = chunk.x > unit ? chunk.x : unit;
    const uint64_t stack_z = chunk.z > unit ? chunk.z : unit;
    struct marking marking = {marks, chunk, err};

    *marks = (struct tfs_marks){.area = *area,
                                .unit = unit,
                                .stack_x = stack_x,
                                .stack_z = stack_z,
                                .width = (size_t)count(area->width, unit),
                                .stacks = (size_t)count(area->width, stack_x)};
    marks->bits = calloc(marks->width * (size_t)count(area->height, unit) / 8 + 1, 1);
    marks->kinds = calloc(marks->stacks * (size_t)count(area->height, stack_z), 1);
    if (marks->bits == NULL || marks->kinds == NULL)
        tfs_fail_memory(err);
    else
        tfs_diff_walk(diff, mark_chunk, &marking, err);
    if (err->code < 0)
        tfs_marks_release(marks);
    return err->code;
}
