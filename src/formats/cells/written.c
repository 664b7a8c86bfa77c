/*
 * Values as they were written: see written.h.
 */
#include "formats/cells/written.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tfs_written_values {
    unsigned written; /* bit i: a text said what plane i is */
    /* What it said, where the chunk has something else; values NULL: the chunk has that. */
    struct tfs_cells_plane planes[TFS_PLANES_MAX];
    /* What the chunk has there: a voxel that has something else since was edited elsewhere. */
    struct tfs_cells_plane has[TFS_PLANES_MAX];
    size_t count; /* of voxels */
};

struct tfs_written_values *tfs_written_values_create(void)
{
    return calloc(1, sizeof(struct tfs_written_values));
}

void tfs_written_values_clear(struct tfs_written_values *values)
{
    for (unsigned i = 0; i < TFS_PLANES_MAX; i++) {
        free(values->planes[i].values);
        free(values->has[i].values);
    }
    *values = (struct tfs_written_values){0};
}

void tfs_written_values_free(struct tfs_written_values *values)
{
    if (values != NULL)
        tfs_written_values_clear(values);
    free(values);
}

void tfs_written_values_apart(struct tfs_written_values *values)
{
    values->written |= TFS_WRITTEN_APART;
}

/* The old one is freed. 0 or -ENOMEM: it has no values. */
static int copy_plane(struct tfs_cells_plane *to, const struct tfs_cells_plane *plane, size_t count)
{
    const size_t size = count * tfs_plane_size(&plane->form);

    free(to->values);
    *to = *plane;
    if (plane->values == NULL)
        return 0;
    to->values = malloc(size);
    if (to->values == NULL)
        return -ENOMEM;
    memcpy(to->values, plane->values, size);
    return 0;
}

struct tfs_written_values *tfs_written_values_copy(const struct tfs_written_values *values)
{
    struct tfs_written_values *copy = tfs_written_values_create();

    if (copy == NULL)
        return NULL;
    copy->written = values->written;
    copy->count = values->count;
    int result = 0;
    for (unsigned i = 0; i < TFS_PLANES_MAX && result == 0; i++) {
        result = copy_plane(&copy->planes[i], &values->planes[i], values->count);
        if (result == 0)
            result = copy_plane(&copy->has[i], &values->has[i], values->count);
    }
    if (result == 0)
        return copy;
    tfs_written_values_free(copy);
    return NULL;
}

/* ---- with an edit ---------------------------------------------------------------------------- */

/* Names stay as they are written. */
static bool is_written(unsigned written, const struct tfs_cells_edit *e, unsigned plane)
{
    return (written >> plane & 1) != 0 && e->planes[plane].form.kind != TFS_PLANE_NAMES;
}

static bool has_rules(const struct tfs_cells_kind *kind)
{
    bool rules = kind->settle != NULL;

    for (unsigned i = 0; i < kind->count; i++)
        rules = rules || kind->planes[i].legal != NULL;
    return rules;
}

/* What was written, where the chunk still has what it had then. */
static void take_kept(const struct tfs_written_values *values, struct tfs_cells_edit *e, unsigned i)
{
    for (size_t voxel = 0; voxel < values->count; voxel++)
        if (tfs_plane_get(&e->planes[i], voxel) == tfs_plane_get(&values->has[i], voxel))
            tfs_plane_set(&e->planes[i], voxel, tfs_plane_get(&values->planes[i], voxel));
}

/* The plane of the edit and the one that is kept say the same from here on. */
static int begin_plane(struct tfs_written_values *values, struct tfs_cells_edit *e, unsigned i,
                       struct tfs_error *err)
{
    struct tfs_cells_plane *kept = &values->planes[i];
    const bool now = is_written(e->written, e, i);

    if (tfs_cells_edit_plane(e, i, err) < 0)
        return err->code;
    if (!now && kept->values != NULL && kept->form.width == e->planes[i].form.width)
        take_kept(values, e, i);
    return copy_plane(kept, &e->planes[i], values->count) < 0 ? tfs_fail_memory(err) : 0;
}

/* Which planes cannot have the values that they have in this voxel? */
static unsigned find_odd(const struct tfs_cells_edit *e, size_t voxel)
{
    const struct tfs_cells_kind *kind = e->before->kind;
    uint64_t values[TFS_PLANES_MAX];
    unsigned odd = 0;

    for (unsigned i = 0; i < kind->count; i++)
        values[i] = e->planes[i].values != NULL ? tfs_plane_get(&e->planes[i], voxel) : 0;
    for (unsigned i = 0; i < kind->count; i++)
        if (kind->planes[i].legal != NULL && tfs_cells_edit_owns(e, i) &&
            kind->planes[i].legal(tfs_edit_doc(e->edit), values) != NULL)
            odd |= 1u << i;
    return odd;
}

static bool is_as_before(const struct tfs_cells_edit *e, size_t voxel)
{
    bool same = true;

    for (unsigned i = 0; i < e->before->kind->count && same; i++)
        same = !tfs_cells_edit_owns(e, i) ||
               tfs_plane_get(&e->planes[i], voxel) == tfs_plane_get(&e->before->planes[i], voxel);
    return same;
}

/* A voxel may keep what it has. */
static void leave_out(struct tfs_cells_edit *e)
{
    for (size_t voxel = 0; voxel < e->before->count; voxel++) {
        unsigned odd = is_as_before(e, voxel) ? 0 : find_odd(e, voxel);
        for (unsigned i = 0; odd != 0; i++, odd >>= 1)
            if ((odd & 1) != 0)
                tfs_plane_set(&e->planes[i], voxel, e->planes[i].form.empty);
    }
}

int tfs_written_values_begin(struct tfs_written_values *values, struct tfs_cells_edit *e,
                             struct tfs_error *err)
{
    const struct tfs_cells_kind *kind = e->before->kind;
    const unsigned written = values->written | e->written;

    if (!has_rules(kind))
        return 0;
    if (values->count != 0 && values->count != e->before->count)
        tfs_written_values_clear(values);
    values->count = e->before->count;
    for (unsigned i = 0; i < kind->count; i++)
        if (is_written(written, e, i) && begin_plane(values, e, i, err) < 0)
            return err->code;
    values->written = e->written = written;
    leave_out(e);
    return 0;
}

int tfs_written_values_end(struct tfs_written_values *values, const struct tfs_cells_edit *e,
                           struct tfs_error *err)
{
    for (unsigned i = 0; i < e->before->kind->count; i++) {
        struct tfs_cells_plane *kept = &values->planes[i], none = {0};
        const size_t size = values->count * tfs_plane_size(&kept->form);
        if (kept->values == NULL)
            continue;
        const bool same = memcmp(kept->values, e->planes[i].values, size) == 0;
        if (same)
            (void)copy_plane(kept, &none, 0);
        if (copy_plane(&values->has[i], same ? &none : &e->planes[i], values->count) < 0)
            return tfs_fail_memory(err);
    }
    return 0;
}
