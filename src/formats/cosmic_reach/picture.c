/*
 * Block data <-> what heightmap.png and map.png ask of it (formats/picture/picture.h). A voxel is
 * the name of its block.
 *
 * Must not know pictures, nor containers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cosmic_reach/change.h"
#include "formats/cosmic_reach/names.h"
#include "formats/picture/picture.h"

static struct tfs_voxel_size size(const struct tfs_doc *doc)
{
    (void)doc;
    return (struct tfs_voxel_size){TFS_COSMIC_SIDE, TFS_COSMIC_SIDE, TFS_COSMIC_SIDE};
}

/* ---- from above ------------------------------------------------------------------------------ */

/* A palette entry, looked at when a column first meets it. */
struct look {
    struct tfs_span name;
    enum { LOOK_UNKNOWN, LOOK_AIR, LOOK_WATER, LOOK_SOLID } kind;
    uint32_t colour;
};

/* Columns under construction, from the highest layer down. */
struct descent {
    struct look *looks;
    uint32_t count;
    struct tfs_column *columns;
    bool done[TFS_COSMIC_LAYER_VALUES];
    unsigned left; /* columns that are not done */
};

static int open_looks(const struct tfs_cosmic_blocks *blocks, struct descent *d,
                      struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    d->count = blocks->count;
    d->looks = calloc(d->count, sizeof(*d->looks));
    if (d->looks == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < d->count; i++)
        d->looks[i].name = tfs_cosmic_name_take(&c);
    return 0;
}

static const struct look *look_at(struct descent *d, uint32_t id)
{
    struct look *look = &d->looks[id];
    bool water = false;

    if (look->kind == LOOK_UNKNOWN) {
        look->colour = tfs_colour_of_name(look->name, &water);
        look->kind = tfs_cosmic_is_air(look->name) ? LOOK_AIR : water ? LOOK_WATER : LOOK_SOLID;
    }
    return look;
}

/* The next voxel of a column on the way down. */
static void descend(struct descent *d, unsigned at, unsigned y, const struct look *look)
{
    struct tfs_column *column = &d->columns[at];

    if (look->kind == LOOK_AIR && column->top == 0)
        return;
    if (column->top == 0) {
        column->top = (uint16_t)(y + 1);
        column->colour = look->colour;
        column->bed = TFS_COLOUR_NONE;
    } else if (look->kind == LOOK_SOLID) {
        column->bed = look->colour;
    }
    column->water = (uint16_t)(column->water + (look->kind == LOOK_WATER));
    d->done[at] = look->kind != LOOK_WATER;
    d->left -= d->done[at];
}

static int descend_layer(struct descent *d, const struct tfs_cosmic_layers *layers, unsigned y,
                         struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];

    layers->decode(layers->types[y], layers->bytes[y].data, ids);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++) {
        if (d->done[i])
            continue;
        if (ids[i] >= d->count)
            return tfs_fail(err, -EBADMSG, "layer %u has a palette index out of range", y);
        descend(d, i, y, look_at(d, ids[i]));
    }
    return 0;
}

static int columns(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns_out, struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct descent d = {.columns = columns_out, .left = TFS_COSMIC_LAYER_VALUES};

    (void)save;
    (void)doc;
    /* Block data is the body's first section. */
    if (tfs_cosmic_blocks_view(tfs_blob_span(chunk->blob), &blocks, err) < 0 ||
        open_looks(&blocks, &d, err) < 0)
        return err->code;
    bool air = blocks.single && look_at(&d, 0)->kind == LOOK_AIR;
    for (unsigned y = TFS_COSMIC_LAYERS; y-- > 0 && d.left > 0 && !air && err->code == 0;)
        descend_layer(&d, &blocks.layers, y, err);
    free(d.looks);
    return err->code;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* A chunk whose voxels are numbers: entries of its palette, then names that came from elsewhere. */
struct carving {
    struct tfs_cosmic_view view;
    struct tfs_cosmic_values *values;
    struct tfs_cosmic_names known; /* name -> number */
    struct tfs_span *added;
    uint32_t added_count, added_capacity;
    uint32_t air;
    bool has_air;
};

static void carving_close(void *chunk)
{
    struct carving *c = chunk;

    free(c->values);
    free(c->added);
    tfs_cosmic_names_release(&c->known);
    free(c);
}

static int carving_init(struct carving *c, const struct tfs_doc *doc, struct tfs_key key,
                        struct tfs_error *err)
{
    uint32_t first;

    if (tfs_cosmic_view_open(doc, key, &c->view, err) < 0 ||
        tfs_cosmic_body_check(&c->view.body, c->view.chunk->blob->data, err) < 0 ||
        tfs_cosmic_blocks_decode(&c->view.blocks, &c->values, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < c->values->count; i++)
        if (tfs_cosmic_names_add(&c->known, c->values->names[i], i, &first, err) < 0)
            return err->code;
    c->has_air = tfs_cosmic_find_air(c->values, &c->air);
    return 0;
}

static int carving_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        void **chunk, struct tfs_error *err)
{
    struct carving *c = calloc(1, sizeof(*c));

    (void)save;
    if (c == NULL)
        return tfs_fail_memory(err);
    if (carving_init(c, doc, key, err) < 0) {
        carving_close(c);
        return err->code;
    }
    *chunk = c;
    return 0;
}

static int carving_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                         struct tfs_error *err)
{
    struct carving *c = chunk;
    struct tfs_cosmic_change change = {&c->view, NULL, c->added, c->added_count, c->values->ids};
    struct tfs_cosmic_values *old;

    (void)save;
    if (tfs_cosmic_blocks_decode(&c->view.blocks, &old, err) < 0)
        return err->code;
    change.old = old;
    tfs_cosmic_change_store(edit, &change, err);
    free(old);
    return err->code;
}

static struct tfs_span name_of(const struct carving *c, uint32_t id)
{
    return id < c->values->count ? c->values->names[id] : c->added[id - c->values->count];
}

static uint32_t *voxel_of(const struct carving *c, struct tfs_stretch at, uint32_t y)
{
    return &c->values->ids[(y * TFS_COSMIC_SIDE + at.z) * TFS_COSMIC_SIDE + at.x];
}

static int carving_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                        struct tfs_error *err)
{
    const struct carving *c = chunk;

    tfs_buf_add_span(voxel, name_of(c, *voxel_of(c, at, at.from)));
    return tfs_buf_check(voxel, err);
}

/* The number of a name. */
static int number_of(struct carving *c, struct tfs_span name, uint32_t *number,
                     struct tfs_error *err)
{
    uint32_t next = c->values->count + c->added_count;

    if (c->added_count == c->added_capacity) {
        uint32_t capacity = c->added_capacity * 2 + 8;
        struct tfs_span *added = realloc(c->added, capacity * sizeof(*added));
        if (added == NULL)
            return tfs_fail_memory(err);
        c->added = added;
        c->added_capacity = capacity;
    }
    if (tfs_cosmic_names_add(&c->known, name, next, number, err) < 0)
        return err->code;
    if (*number == next)
        c->added[c->added_count++] = name;
    return 0;
}

static int carving_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                        struct tfs_error *err)
{
    struct carving *c = chunk;
    uint32_t number;

    if (number_of(c, voxel, &number, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to; y++)
        *voxel_of(c, at, y) = number;
    return 0;
}

/* What is air already keeps its own air name. */
static int carving_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    struct carving *c = chunk;

    if (!c->has_air && number_of(c, tfs_cosmic_air(c->view.chunk->tag), &c->air, err) < 0)
        return err->code;
    c->has_air = true;
    for (uint32_t y = at.from; y < at.to; y++) {
        uint32_t *voxel = voxel_of(c, at, y);
        if (!tfs_cosmic_is_air(name_of(c, *voxel)))
            *voxel = c->air;
    }
    return 0;
}

const struct tfs_voxels tfs_cosmic_pictures = {
    .size = size,
    .columns = columns,
    .open = carving_open,
    .close = carving_close,
    .store = carving_store,
    .take = carving_take,
    .fill = carving_fill,
    .clear = carving_clear,
};

uint32_t tfs_cosmic_picture_count(const struct tfs_doc *doc)
{
    return tfs_picture_count(&tfs_cosmic_pictures, doc);
}
