/*
 * Tiles <-> what comparing asks of them (formats/picture/picture.h). A voxel is a sample: its
 * height, the values of the planes behind the layers, and the name of its material, so that equal
 * samples are equal whatever the order of the materials.
 *
 * Must not know how differences are found or shown.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/beamng/lenses.h"
#include "formats/diff/sum.h"
#include "formats/picture/picture.h"
#include "text/name.h"

/* What stands in the place of a name. No name is printed with a `#` in front. */
enum kind { KIND_NAME, KIND_HOLE, KIND_NUMBER };

/* A tile. */
struct samples {
    struct tfs_beamng_layout layout;
    struct tfs_beamng_tile tile;
    struct tfs_blob *blob, *table;
    struct tfs_span names[TFS_BEAMNG_HOLE]; /* in the table */
    uint32_t count;
};

/* Of all tiles; those at an edge lack samples. */
static struct tfs_voxel_size size(const struct tfs_doc *doc)
{
    (void)doc;
    return (struct tfs_voxel_size){TFS_BEAMNG_TILE_SIDE, 1, TFS_BEAMNG_TILE_SIDE};
}

static struct tfs_voxel_size sides(const void *chunk)
{
    (void)chunk;
    return size(NULL);
}

static void samples_close(void *chunk)
{
    struct samples *s = chunk;

    tfs_blob_unref(s->blob);
    tfs_blob_unref(s->table);
    free(s);
}

static int samples_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        void **chunk, struct tfs_error *err)
{
    const struct tfs_chunk *found = tfs_doc_find(doc, key);
    struct tfs_beamng_names names = tfs_beamng_names_of(doc);

    (void)save;
    if (found == NULL)
        return tfs_fail(err, -ENOENT, "there is no tile %d_0_%d", key.x, key.z);
    struct samples *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return tfs_fail_memory(err);
    s->layout = *tfs_beamng_layout_of(doc);
    s->tile = tfs_beamng_tile_of(&s->layout, key);
    s->blob = tfs_blob_ref(found->blob);
    s->table = tfs_blob_ref(tfs_beamng_table(doc));
    while (s->count < TFS_BEAMNG_HOLE && tfs_beamng_names_next(&names, &s->names[s->count]))
        s->count++;
    *chunk = s;
    return 0;
}

static void take_material(const struct samples *s, uint8_t layer, struct tfs_buf *voxel)
{
    if (layer == TFS_BEAMNG_HOLE) {
        tfs_buf_u8(voxel, KIND_HOLE);
    } else if (layer < s->count && s->names[layer].size > 0) {
        tfs_buf_u8(voxel, KIND_NAME);
        tfs_buf_add_span(voxel, s->names[layer]);
    } else {
        tfs_buf_u8(voxel, KIND_NUMBER);
        tfs_buf_u8(voxel, layer);
    }
}

/* The height, then the layout with its further values, then the material. */
static int samples_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                        struct tfs_error *err)
{
    const struct samples *s = chunk;
    const struct tfs_span blob = tfs_blob_span(s->blob);
    const size_t i = (size_t)at.z * s->tile.width + at.x;

    if (at.x >= s->tile.width || at.z >= s->tile.height)
        return 0;
    tfs_buf_add(voxel, tfs_beamng_tile_plane(blob, &s->tile, &tfs_beamng_heights).data + 2 * i, 2);
    tfs_buf_u8(voxel, s->layout.version);
    tfs_buf_u8(voxel, s->layout.extra);
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s->layout); p++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_extra_plane(&s->layout, p);
        tfs_buf_add(voxel, tfs_beamng_tile_plane(blob, &s->tile, plane).data + i * plane->bytes,
                    plane->bytes);
    }
    take_material(s, tfs_beamng_tile_plane(blob, &s->tile, &tfs_beamng_layers).data[i], voxel);
    return tfs_buf_check(voxel, err);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A sample as it was taken. */
struct sample {
    uint32_t height;
    struct tfs_beamng_layout layout; /* as far as planes go */
    struct tfs_cursor extra;
    enum kind kind;
    struct tfs_span name;
};

static struct sample sample_of(struct tfs_span voxel)
{
    struct tfs_cursor c = tfs_cursor_init(voxel);
    struct sample s = {.height = tfs_take_u16le(&c)};

    s.layout.version = tfs_take_u8(&c);
    s.layout.extra = tfs_take_u8(&c);
    s.extra = tfs_cursor_init(tfs_take(&c, s.layout.extra));
    s.kind = (enum kind)tfs_take_u8(&c);
    s.name = tfs_take(&c, tfs_cursor_left(&c));
    return s;
}

static uint32_t height(struct tfs_span voxel)
{
    return sample_of(voxel).height;
}

static bool empty(struct tfs_span voxel)
{
    (void)voxel;
    return false;
}

static void print_material(const struct sample *s, struct tfs_buf *out)
{
    switch (s->kind) {
    case KIND_NAME:
        tfs_name_print(out, s->name);
        break;
    case KIND_HOLE:
        tfs_buf_add_text(out, "#hole");
        break;
    case KIND_NUMBER:
        tfs_buf_printf(out, "#%u", s->name.data[0]);
        break;
    }
}

/* `Grass`; in full `Grass h=1234 corners=3`. */
static void print(struct tfs_span voxel, bool brief, struct tfs_buf *out)
{
    struct sample s = sample_of(voxel);

    print_material(&s, out);
    if (brief)
        return;
    tfs_buf_printf(out, " h=%u", s.height);
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s.layout); p++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_extra_plane(&s.layout, p);
        uint32_t value = 0;
        for (unsigned byte = 0; byte < plane->bytes; byte++)
            value |= (uint32_t)tfs_take_u8(&s.extra) << 8 * byte;
        tfs_buf_printf(out, " %s=%u", plane->name, value);
    }
}

/* ---- in short -------------------------------------------------------------------------------- */

/* Layers by the order in which samples come to have them, then what those are called. */
static int sum_layers(const struct samples *s, struct tfs_span layers, struct tfs_voxel_sum *sum,
                      struct tfs_error *err)
{
    uint64_t counts[TFS_BEAMNG_HOLE + 1] = {0};
    uint16_t number[TFS_BEAMNG_HOLE + 1] = {0}, met = 0; /* from 1 */
    uint8_t order[TFS_BEAMNG_HOLE + 1];
    struct tfs_buf voxel = {0};

    for (size_t i = 0; i < layers.size; i++) {
        uint8_t layer = layers.data[i];
        if (counts[layer]++ == 0) {
            order[met] = layer;
            number[layer] = ++met;
        }
        tfs_buf_u16le(&sum->same, number[layer]);
    }
    for (unsigned i = 0; i < met && err->code == 0; i++) {
        tfs_buf_clear(&voxel);
        tfs_buf_add(&voxel, "\0\0\0\0", 4); /* height 0, no further planes */
        take_material(s, order[i], &voxel);
        tfs_buf_u32le(&sum->same, (uint32_t)voxel.size);
        tfs_buf_add_span(&sum->same, tfs_buf_span(&voxel));
        if (tfs_buf_check(&voxel, err) == 0)
            tfs_voxel_sum_count(sum, tfs_buf_span(&voxel), counts[order[i]], err);
    }
    tfs_buf_release(&voxel);
    return err->code;
}

static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    void *opened;

    if (samples_open(save, doc, chunk->key, &opened, err) < 0)
        return err->code;
    const struct samples *s = opened;
    const struct tfs_span blob = tfs_blob_span(s->blob);
    tfs_buf_add_span(&sum->same, tfs_beamng_tile_plane(blob, &s->tile, &tfs_beamng_heights));
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s->layout); p++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_extra_plane(&s->layout, p);
        tfs_buf_add_text(&sum->same, plane->name);
        tfs_buf_add_span(&sum->same, tfs_beamng_tile_plane(blob, &s->tile, plane));
    }
    sum_layers(s, tfs_beamng_tile_plane(blob, &s->tile, &tfs_beamng_layers), sum, err);
    samples_close(opened);
    return err->code;
}

const struct tfs_voxels tfs_beamng_compared = {
    .size = size,
    .open = samples_open,
    .close = samples_close,
    .take = samples_take,
    .sides = sides,
    .print = print,
    .empty = empty,
    .height = height,
    .unit = "sample",
    .sum = sum,
};
