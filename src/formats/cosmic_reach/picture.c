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

static void carving_close(void *chunk)
{
    tfs_cosmic_change_close(chunk);
    free(chunk);
}

static int carving_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        void **chunk, struct tfs_error *err)
{
    struct tfs_cosmic_change *c = malloc(sizeof(*c));

    (void)save;
    if (c == NULL)
        return tfs_fail_memory(err);
    if (tfs_cosmic_change_open(c, doc, key, err) < 0)
        carving_close(c);
    else
        *chunk = c;
    return err->code;
}

static int carving_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                         struct tfs_error *err)
{
    (void)save;
    return tfs_cosmic_change_store(edit, chunk, err);
}

static size_t index_of(struct tfs_stretch at, uint32_t y)
{
    return ((size_t)y * TFS_COSMIC_SIDE + at.z) * TFS_COSMIC_SIDE + at.x;
}

static int carving_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                        struct tfs_error *err)
{
    const struct tfs_cosmic_change *c = chunk;

    tfs_buf_add_span(voxel, tfs_cosmic_change_name(c, c->ids[index_of(at, at.from)]));
    return tfs_buf_check(voxel, err);
}

static int carving_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                        struct tfs_error *err)
{
    uint32_t number;

    if (tfs_cosmic_change_number(chunk, voxel, &number, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to; y++)
        tfs_cosmic_change_set(chunk, index_of(at, y), number);
    return 0;
}

static int carving_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    for (uint32_t y = at.from; y < at.to; y++)
        if (tfs_cosmic_change_clear(chunk, index_of(at, y), err) < 0)
            return err->code;
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
