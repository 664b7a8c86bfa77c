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
#include "formats/cosmic_reach/region.h"
#include "formats/diff/sum.h"
#include "formats/picture/picture.h"
#include "text/name.h"

/* ---- from above ------------------------------------------------------------------------------ */

/* Columns as far as the layers were read, from the highest down. */
struct scan {
    struct tfs_span *names;
    struct tfs_name_look *looks; /* of palette entries, which columns met */
    uint32_t count;
    struct tfs_column *columns;
    bool done[TFS_COSMIC_LAYER_VALUES];
    unsigned left; /* columns that are not done */
};

static int scan_open(struct scan *s, const struct tfs_cosmic_blocks *blocks, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    s->count = blocks->count;
    s->names = calloc(s->count, sizeof(*s->names));
    s->looks = calloc(s->count, sizeof(*s->looks));
    if (s->names == NULL || s->looks == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < s->count; i++)
        s->names[i] = tfs_cosmic_name_take(&c);
    return 0;
}

static const struct tfs_name_look *look_at(struct scan *s, uint32_t id)
{
    if (s->looks[id].kind == TFS_LOOK_UNKNOWN)
        s->looks[id] = tfs_name_look(s->names[id], tfs_cosmic_is_air(s->names[id]));
    return &s->looks[id];
}

static int scan_layer(struct scan *s, const struct tfs_cosmic_layers *layers, unsigned y,
                      struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];

    layers->decode(layers->types[y], layers->bytes[y].data, ids);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++) {
        if (s->done[i])
            continue;
        if (ids[i] >= s->count)
            return tfs_fail(err, -EBADMSG, "layer %u has a palette index out of range", y);
        s->done[i] = tfs_column_add(&s->columns[i], y, look_at(s, ids[i]));
        s->left -= s->done[i];
    }
    return 0;
}

static int columns(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns_out, struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct scan s = {.columns = columns_out, .left = TFS_COSMIC_LAYER_VALUES};
    struct tfs_blob *bytes = NULL;

    (void)doc;
    int status = tfs_chunk_load(save, chunk, &bytes, err);
    if (status < 0)
        return status;
    /* Block data is the body's first section. */
    if (tfs_cosmic_blocks_view(tfs_blob_span(bytes), &blocks, err) == 0 &&
        scan_open(&s, &blocks, err) == 0) {
        bool air = blocks.single && look_at(&s, 0)->kind == TFS_LOOK_NOTHING;
        for (unsigned y = TFS_COSMIC_LAYERS; y-- > 0 && s.left > 0 && !air && err->code == 0;)
            scan_layer(&s, &blocks.layers, y, err);
    }
    free(s.names);
    free(s.looks);
    tfs_blob_unref(bytes);
    return err->code;
}

/* ---- changes --------------------------------------------------------------------------------- */

static void change_close(void *chunk)
{
    tfs_cosmic_change_close(chunk);
}

static int change_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                       void *chunk, struct tfs_error *err)
{
    return tfs_cosmic_change_open(save, chunk, doc, key, err);
}

static int change_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                        struct tfs_error *err)
{
    (void)save;
    return tfs_cosmic_change_store(edit, chunk, err);
}

static size_t index_of(struct tfs_stretch at, uint32_t y)
{
    return ((size_t)y * TFS_COSMIC_SIDE + at.z) * TFS_COSMIC_SIDE + at.x;
}

static int change_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                       struct tfs_error *err)
{
    const struct tfs_cosmic_change *c = chunk;

    tfs_buf_add_span(voxel, tfs_cosmic_change_name(c, c->ids[index_of(at, at.from)]));
    return tfs_buf_check(voxel, err);
}

static int change_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                       struct tfs_error *err)
{
    uint32_t number;

    if (tfs_cosmic_change_number(chunk, voxel, &number, err) < 0)
        return err->code;
    for (uint32_t y = at.from; y < at.to; y++)
        tfs_cosmic_change_set(chunk, index_of(at, y), number);
    return 0;
}

static int change_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    for (uint32_t y = at.from; y < at.to; y++)
        if (tfs_cosmic_change_clear(chunk, index_of(at, y), err) < 0)
            return err->code;
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print(struct tfs_span voxel, bool brief, struct tfs_buf *out)
{
    (void)brief;
    tfs_name_print(out, voxel);
}

/* ---- in short -------------------------------------------------------------------------------- */

/* The names of a palette by the order in which voxels come to have them. */
struct order {
    struct tfs_cosmic_names names;
    uint32_t *first;  /* of each entry: the first one of its name */
    uint32_t *number; /* of such an entry, from 1; 0: no voxel had it so far */
    uint64_t *counts;
    uint32_t *met; /* entries in that order */
    uint32_t count;
};

static void order_release(struct order *o)
{
    tfs_cosmic_names_release(&o->names);
    free(o->first);
    free(o->number);
    free(o->counts);
    free(o->met);
}

static int order_open(struct order *o, const struct tfs_cosmic_values *values,
                      struct tfs_error *err)
{
    o->first = malloc(values->count * sizeof(*o->first));
    o->number = calloc(values->count, sizeof(*o->number));
    o->counts = calloc(values->count, sizeof(*o->counts));
    o->met = malloc(values->count * sizeof(*o->met));
    if (o->first == NULL || o->number == NULL || o->counts == NULL || o->met == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < values->count; i++)
        if (tfs_cosmic_names_add(&o->names, values->names[i], i, &o->first[i], err) < 0)
            return err->code;
    return 0;
}

/* Palettes of another order, or with names that no voxel has, are the same. */
static int sum_values(const struct tfs_cosmic_values *values, struct order *o,
                      struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    uint8_t *same = tfs_buf_reserve(&sum->same, 2 * TFS_COSMIC_VALUES);

    if (same == NULL)
        return tfs_fail_memory(err);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++) {
        uint32_t entry = o->first[values->ids[i]];
        if (o->number[entry] == 0) {
            o->met[o->count++] = entry;
            o->number[entry] = o->count;
        }
        o->counts[entry]++;
        same[2 * i] = (uint8_t)o->number[entry];
        same[2 * i + 1] = (uint8_t)(o->number[entry] >> 8);
    }
    sum->same.size += 2 * TFS_COSMIC_VALUES;
    for (uint32_t i = 0; i < o->count && err->code == 0; i++) {
        const struct tfs_span name = values->names[o->met[i]];
        tfs_buf_u32le(&sum->same, (uint32_t)name.size);
        tfs_buf_add_span(&sum->same, name);
        tfs_voxel_sum_count(sum, name, o->counts[o->met[i]], err);
    }
    return err->code;
}

static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct tfs_cosmic_values *values;
    struct order order = {0};

    (void)save;
    (void)doc;
    if (tfs_cosmic_blocks_view(tfs_blob_span(chunk->blob), &blocks, err) < 0 ||
        tfs_cosmic_blocks_decode(&blocks, &values, err) < 0)
        return err->code;
    if (order_open(&order, values, err) == 0)
        sum_values(values, &order, sum, err);
    order_release(&order);
    free(values);
    return err->code;
}

const struct tfs_voxels tfs_cosmic_pictures = {
    .fixed = {TFS_COSMIC_SIDE, TFS_COSMIC_SIDE, TFS_COSMIC_SIDE},
    .columns = columns,
    .chunk_size = sizeof(struct tfs_cosmic_change),
    .open = change_open,
    .close = change_close,
    .store = change_store,
    .take = change_take,
    .fill = change_fill,
    .clear = change_clear,
    .print = print,
    .empty = tfs_cosmic_is_air,
    .sum = sum,
};

uint32_t tfs_cosmic_picture_count(const struct tfs_doc *doc)
{
    return tfs_picture_count(&tfs_cosmic_pictures, doc);
}

uint32_t tfs_cosmic_tile_count(const struct tfs_doc *doc)
{
    return tfs_cosmic_facts(doc)->zone ? tfs_picture_tiles(&tfs_cosmic_pictures, doc) : 0;
}
