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

static void print(const struct tfs_voxels *voxels, struct tfs_span voxel, bool brief,
                  struct tfs_buf *out)
{
    (void)voxels;
    (void)brief;
    tfs_name_print(out, voxel);
}

/* ---- in short -------------------------------------------------------------------------------- */

static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    struct tfs_cosmic_blocks blocks;
    struct tfs_cosmic_values *values;

    (void)save;
    (void)doc;
    if (tfs_cosmic_blocks_view(tfs_blob_span(chunk->blob), &blocks, err) < 0 ||
        tfs_cosmic_blocks_decode(&blocks, &values, err) < 0)
        return err->code;
    tfs_voxel_sum_names(sum, values->ids, TFS_COSMIC_VALUES, values->names, values->count,
                        (struct tfs_span){0}, err);
    free(values);
    return err->code;
}

static bool empty(const struct tfs_voxels *voxels, struct tfs_span voxel)
{
    (void)voxels;
    return tfs_cosmic_is_air(voxel);
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
    .empty = empty,
    .sum = sum,
};
