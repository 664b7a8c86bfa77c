/*
 * Tiles <-> what comparing asks of them (formats/picture/picture.h). A voxel is a sample: its
 * height, the values of the planes behind the layers, and the names of its material and of those at
 * its corners, so that equal samples are equal whatever the order of the materials. Names may
 * repeat: which of the materials of one name it is, in their order, belongs to the sample.
 *
 * Must not know how differences are found or shown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/lenses.h"
#include "formats/beamng/materials.h"
#include "formats/diff/sum.h"
#include "formats/picture/picture.h"
#include "text/name.h"

/* What stands in the place of a name. No name is printed with a `#` in front. */
enum kind { KIND_NAME, KIND_HOLE, KIND_NUMBER };

#define CORNERS   4
#define MATERIALS (1 + CORNERS) /* its own, then those at its corners */

/* A tile. */
struct samples {
    struct tfs_key key;
    struct tfs_beamng_layout layout;
    struct tfs_beamng_tile tile;
    struct tfs_blob *heights, *others, *table;
    struct tfs_buf own;                /* both values, changed; empty: nothing did */
    struct tfs_beamng_materials names; /* in the table */
};

/* ---- tiles ----------------------------------------------------------------------------------- */

static void samples_close(void *chunk)
{
    struct samples *s = chunk;

    tfs_blob_unref(s->heights);
    tfs_blob_unref(s->others);
    tfs_blob_unref(s->table);
    tfs_buf_release(&s->own);
}

static int samples_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        void *chunk, struct tfs_error *err)
{
    const struct tfs_chunk *found = tfs_doc_find(doc, key);
    struct samples *s = chunk;

    (void)save;
    if (found == NULL)
        return tfs_fail(err, -ENOENT, "there is no tile %d_0_%d", key.x, key.z);
    s->key = key;
    s->layout = *tfs_beamng_layout_of(doc);
    s->tile = tfs_beamng_tile_of(&s->layout, key);
    s->heights = tfs_blob_ref(found->blob);
    s->others = tfs_blob_ref(found->extra);
    s->table = tfs_blob_ref(tfs_beamng_table(doc));
    tfs_beamng_materials_find(tfs_blob_span(s->table), s->layout.nul, &s->names);
    return 0;
}

static struct tfs_beamng_planes planes_of(const struct samples *s)
{
    return (struct tfs_beamng_planes){tfs_blob_span(s->heights), tfs_blob_span(s->others)};
}

/* The same of what changed. */
static struct tfs_beamng_planes own_planes(const struct samples *s)
{
    const size_t heights = s->heights->size;

    return (struct tfs_beamng_planes){{s->own.data, heights},
                                      {s->own.data + heights, s->own.size - heights}};
}

static void take_material(const struct samples *s, uint8_t layer, struct tfs_buf *voxel)
{
    if (layer == TFS_BEAMNG_HOLE) {
        tfs_buf_u8(voxel, KIND_HOLE);
    } else if (layer < s->names.count && s->names.at[layer].size > 0) {
        tfs_buf_u8(voxel, KIND_NAME);
        tfs_buf_u8(voxel, s->names.same[layer]);
        tfs_buf_u16le(voxel, (uint16_t)s->names.at[layer].size);
        tfs_buf_add_span(voxel, s->names.at[layer]);
    } else {
        tfs_buf_u8(voxel, KIND_NUMBER);
        tfs_buf_u8(voxel, layer);
    }
}

static bool has_corners(const struct tfs_beamng_layout *layout)
{
    return layout->extra == tfs_beamng_corners.bytes;
}

/* For each corner which of the materials before has the same layer, or its own number and what it
 * is. */
static void take_corners(const struct samples *s, uint8_t layer, const uint8_t *corners,
                         struct tfs_buf *voxel)
{
    uint8_t layers[MATERIALS] = {layer};

    memcpy(layers + 1, corners, CORNERS);
    for (uint8_t i = 1; i < MATERIALS; i++) {
        uint8_t first = 0;
        while (layers[first] != layers[i])
            first++;
        tfs_buf_u8(voxel, first);
        if (first == i)
            take_material(s, layers[i], voxel);
    }
}

static bool same_material(const struct samples *a, const struct samples *b, uint8_t layer)
{
    struct tfs_span names[2] = {{NULL, 0}, {NULL, 0}};

    if (layer < a->names.count)
        names[0] = a->names.at[layer];
    if (layer < b->names.count)
        names[1] = b->names.at[layer];
    return tfs_span_equal(names[0], names[1]) &&
           (names[0].size == 0 || a->names.same[layer] == b->names.same[layer]);
}

static bool samples_same(const void *a, const void *b)
{
    const struct samples *before = a, *after = b;
    struct tfs_span layers = tfs_blob_span(before->others);
    bool met[TFS_BEAMNG_HOLE + 1] = {0};

    if (before->layout.version != after->layout.version ||
        before->layout.extra != after->layout.extra ||
        !tfs_blob_equal(before->heights, after->heights) ||
        !tfs_blob_equal(before->others, after->others))
        return false;
    if (!has_corners(&before->layout))
        layers = tfs_beamng_tile_plane(planes_of(before), &before->tile, &tfs_beamng_layers);
    for (size_t i = 0; i < layers.size; i++)
        met[layers.data[i]] = true;
    for (unsigned layer = 0; layer < TFS_BEAMNG_HOLE; layer++)
        if (met[layer] && !same_material(before, after, (uint8_t)layer))
            return false;
    return true;
}

/* The further values that are no materials. */
static void take_values(const struct samples *s, size_t i, struct tfs_buf *voxel)
{
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s->layout); p++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_extra_plane(&s->layout, p);
        tfs_buf_add(voxel,
                    tfs_beamng_tile_plane(planes_of(s), &s->tile, plane).data + i * plane->bytes,
                    plane->bytes);
    }
}

/* The height, then the layout, its further values, the material, and those at the corners. */
static int samples_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                        struct tfs_error *err)
{
    const struct samples *s = chunk;
    const struct tfs_beamng_planes planes = planes_of(s);
    const size_t i = (size_t)at.z * s->tile.width + at.x;

    if (at.x >= s->tile.width || at.z >= s->tile.height)
        return 0;
    const uint8_t layer = tfs_beamng_tile_plane(planes, &s->tile, &tfs_beamng_layers).data[i];
    tfs_buf_add(voxel, tfs_beamng_tile_plane(planes, &s->tile, &tfs_beamng_heights).data + 2 * i,
                2);
    tfs_buf_u8(voxel, s->layout.version);
    tfs_buf_u8(voxel, s->layout.extra);
    if (!has_corners(&s->layout))
        take_values(s, i, voxel);
    take_material(s, layer, voxel);
    if (has_corners(&s->layout))
        take_corners(
            s, layer,
            tfs_beamng_tile_plane(planes, &s->tile, &tfs_beamng_corners).data + CORNERS * i, voxel);
    return tfs_buf_check(voxel, err);
}

/* ---- what a sample is called ----------------------------------------------------------------- */

struct material {
    enum kind kind;
    uint8_t number; /* KIND_NAME: how many before it have this name; KIND_NUMBER: the layer */
    struct tfs_span name;
};

/* A sample as it was taken. */
struct sample {
    uint32_t height;
    struct tfs_beamng_layout layout; /* as far as planes go */
    struct tfs_cursor values;
    struct material materials[MATERIALS];
};

static struct material material_of(struct tfs_cursor *c)
{
    struct material m = {.kind = (enum kind)tfs_take_u8(c)};

    if (m.kind != KIND_HOLE)
        m.number = tfs_take_u8(c);
    if (m.kind == KIND_NAME)
        m.name = tfs_take(c, tfs_take_u16le(c));
    return m;
}

static struct sample sample_of(struct tfs_span voxel)
{
    struct tfs_cursor c = tfs_cursor_init(voxel);
    struct sample s = {.height = tfs_take_u16le(&c)};

    s.layout.version = tfs_take_u8(&c);
    s.layout.extra = tfs_take_u8(&c);
    if (!has_corners(&s.layout))
        s.values = tfs_cursor_init(tfs_take(&c, s.layout.extra));
    s.materials[0] = material_of(&c);
    for (unsigned i = 1; has_corners(&s.layout) && i < MATERIALS; i++) {
        const unsigned first = tfs_take_u8(&c);
        s.materials[i] = first < i ? s.materials[first] : material_of(&c);
    }
    return s;
}

static uint32_t height(struct tfs_span voxel)
{
    return sample_of(voxel).height;
}

static bool empty(const struct tfs_voxels *voxels, struct tfs_span voxel)
{
    (void)voxels;
    (void)voxel;
    return false;
}

static void print_material(const struct material *m, struct tfs_buf *out)
{
    switch (m->kind) {
    case KIND_NAME:
        tfs_name_print(out, m->name);
        break;
    case KIND_HOLE:
        tfs_buf_add_text(out, "#hole");
        break;
    case KIND_NUMBER:
        tfs_buf_printf(out, "#%u", m->number);
        break;
    }
}

/* Without what stands between corners and behind them. */
static void print_corner_name(struct tfs_span name, struct tfs_buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < name.size; i++) {
        if (memchr(" ,#", name.data[i], 3) == NULL)
            continue;
        tfs_name_print(out, (struct tfs_span){name.data + from, i - from});
        tfs_buf_printf(out, "\\x%02x", name.data[i]);
        from = i + 1;
    }
    tfs_name_print(out, (struct tfs_span){name.data + from, name.size - from});
}

/* `corners=Grass,Grass,Sand#2,#hole`: the number is that of the materials of one name. */
static void print_corners(const struct material *corners, struct tfs_buf *out)
{
    tfs_buf_printf(out, " %s=", tfs_beamng_corners.name);
    for (unsigned i = 0; i < CORNERS; i++) {
        if (i > 0)
            tfs_buf_u8(out, ',');
        if (corners[i].kind != KIND_NAME)
            print_material(&corners[i], out);
        else
            print_corner_name(corners[i].name, out);
        if (corners[i].kind == KIND_NAME && corners[i].number > 0)
            tfs_buf_printf(out, "#%u", corners[i].number + 1);
    }
}

static void print_values(struct sample *s, struct tfs_buf *out)
{
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s->layout); p++)
        tfs_buf_printf(out, " %s=%u", tfs_beamng_extra_plane(&s->layout, p)->name,
                       tfs_take_u8(&s->values));
}

/* `Grass`; in full `Grass h=1234 texture=3`, of the second material of that name with `same=2`. */
static void print(const struct tfs_voxels *voxels, struct tfs_span voxel, bool brief,
                  struct tfs_buf *out)
{
    (void)voxels;
    struct sample s = sample_of(voxel);

    print_material(&s.materials[0], out);
    if (brief)
        return;
    tfs_buf_printf(out, " h=%u", s.height);
    if (has_corners(&s.layout))
        print_corners(s.materials + 1, out);
    else
        print_values(&s, out);
    if (s.materials[0].kind == KIND_NAME && s.materials[0].number > 0)
        tfs_buf_printf(out, " same=%u", s.materials[0].number + 1);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The layer of a material. */
static int find_layer(const struct samples *s, const struct material *m, uint8_t *layer,
                      struct tfs_error *err)
{
    switch (m->kind) {
    case KIND_HOLE:
        *layer = TFS_BEAMNG_HOLE;
        return 0;
    case KIND_NUMBER:
        *layer = m->number;
        if (*layer >= s->names.count || s->names.at[*layer].size == 0)
            return 0;
        return tfs_fail(err, -EBADMSG, "layer %u has a name on one side alone", *layer);
    case KIND_NAME:
        break;
    }
    /* Where there was no place for all that repeat (materials.c), it is another one. */
    for (unsigned same = m->number + 1u; same > 0; same--) {
        *layer = (uint8_t)tfs_beamng_materials_number(&s->names, m->name, (uint8_t)(same - 1));
        if (*layer < s->names.count)
            return 0;
    }
    return tfs_fail(err, -EBADMSG, "there is no such material in the palette");
}

static void set_values(struct samples *s, size_t i, const struct tfs_beamng_plane *plane,
                       struct tfs_cursor *values)
{
    const struct tfs_span own = tfs_beamng_tile_plane(own_planes(s), &s->tile, plane);
    const size_t at = (size_t)(own.data - s->own.data);
    const struct tfs_span bytes = tfs_take(values, plane->bytes);

    memcpy(s->own.data + at + i * plane->bytes, bytes.data, bytes.size);
}

/* Its bytes are those of this tile's layers. */
static int set_corners(struct samples *s, size_t i, const struct material *corners,
                       struct tfs_error *err)
{
    uint8_t layers[CORNERS];
    struct tfs_cursor values = tfs_cursor_init((struct tfs_span){layers, CORNERS});

    for (unsigned c = 0; c < CORNERS; c++)
        if (find_layer(s, &corners[c], &layers[c], err) < 0)
            return err->code;
    set_values(s, i, &tfs_beamng_corners, &values);
    return 0;
}

static int samples_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                        struct tfs_error *err)
{
    struct samples *s = chunk;
    struct sample sample = sample_of(voxel);
    struct tfs_cursor heights = tfs_cursor_init(voxel);
    const size_t i = (size_t)at.z * s->tile.width + at.x;
    uint8_t layer;

    if (at.x >= s->tile.width || at.z >= s->tile.height || sample.layout.extra != s->layout.extra)
        return tfs_fail(err, -EBADMSG, "the sides have samples of other layouts");
    if (find_layer(s, &sample.materials[0], &layer, err) < 0)
        return err->code;
    struct tfs_cursor layers = tfs_cursor_init((struct tfs_span){&layer, 1});
    if (s->own.size == 0) {
        tfs_buf_add_span(&s->own, tfs_blob_span(s->heights));
        tfs_buf_add_span(&s->own, tfs_blob_span(s->others));
    }
    if (tfs_buf_check(&s->own, err) < 0)
        return err->code;
    set_values(s, i, &tfs_beamng_heights, &heights);
    set_values(s, i, &tfs_beamng_layers, &layers);
    if (has_corners(&s->layout))
        return set_corners(s, i, sample.materials + 1, err);
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s->layout); p++)
        set_values(s, i, tfs_beamng_extra_plane(&s->layout, p), &sample.values);
    return 0;
}

/* No sample is absent that was there. */
static int samples_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    (void)chunk;
    (void)at;
    return tfs_fail(err, -EBADMSG, "a sample cannot be removed");
}

static int samples_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                         struct tfs_error *err)
{
    struct samples *s = chunk;
    const struct tfs_chunk *stored = tfs_doc_find(tfs_edit_doc(edit), s->key);
    struct tfs_chunk next = *stored;

    (void)save;
    if (s->own.size == 0)
        return 0;
    next.blob = next.extra = NULL;
    if (tfs_blob_copy(own_planes(s).heights, &next.blob, err) == 0 &&
        tfs_blob_copy(own_planes(s).others, &next.extra, err) == 0 &&
        tfs_edit_put(edit, &next, err) == 0)
        tfs_beamng_terrain_check_layout(edit, err);
    tfs_blob_unref(next.blob);
    tfs_blob_unref(next.extra);
    return err->code;
}

/* ---- in short -------------------------------------------------------------------------------- */

/* Layers by the order in which they are met. */
struct numbering {
    uint64_t counts[TFS_BEAMNG_HOLE + 1]; /* of samples */
    uint16_t number[TFS_BEAMNG_HOLE + 1]; /* from 1 */
    uint8_t order[TFS_BEAMNG_HOLE + 1];
    uint16_t met;
};

static void number_layers(struct numbering *n, struct tfs_span layers, struct tfs_buf *out)
{
    for (size_t i = 0; i < layers.size; i++) {
        const uint8_t layer = layers.data[i];
        if (n->number[layer] == 0) {
            n->order[n->met] = layer;
            n->number[layer] = ++n->met;
        }
        tfs_buf_u16le(out, n->number[layer]);
    }
}

/* Layers and corners as such numbers, then what those are called. */
static int sum_layers(const struct samples *s, struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    const struct tfs_span layers =
        tfs_beamng_tile_plane(planes_of(s), &s->tile, &tfs_beamng_layers);
    struct numbering n = {.met = 0};
    struct tfs_buf voxel = {0};

    for (size_t i = 0; i < layers.size; i++)
        n.counts[layers.data[i]]++;
    number_layers(&n, layers, &sum->same);
    if (has_corners(&s->layout))
        number_layers(&n, tfs_beamng_tile_plane(planes_of(s), &s->tile, &tfs_beamng_corners),
                      &sum->same);
    for (unsigned i = 0; i < n.met && err->code == 0; i++) {
        tfs_buf_clear(&voxel);
        tfs_buf_add(&voxel, "\0\0\0\0", 4); /* height 0, no further planes */
        take_material(s, n.order[i], &voxel);
        tfs_buf_u32le(&sum->same, (uint32_t)voxel.size);
        tfs_buf_add_span(&sum->same, tfs_buf_span(&voxel));
        if (tfs_buf_check(&voxel, err) == 0 && n.counts[n.order[i]] > 0)
            tfs_voxel_sum_count(sum, tfs_buf_span(&voxel), n.counts[n.order[i]], err);
    }
    tfs_buf_release(&voxel);
    return err->code;
}

static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    void *opened;

    if (tfs_voxels_open(&tfs_beamng_compared, save, doc, chunk->key, &opened, err) < 0)
        return err->code;
    const struct samples *s = opened;
    const struct tfs_beamng_planes planes = planes_of(s);
    tfs_buf_add_span(&sum->same, tfs_beamng_tile_plane(planes, &s->tile, &tfs_beamng_heights));
    for (unsigned p = 0; p < tfs_beamng_extra_count(&s->layout); p++) {
        const struct tfs_beamng_plane *plane = tfs_beamng_extra_plane(&s->layout, p);
        tfs_buf_add_text(&sum->same, plane->name);
        if (!has_corners(&s->layout))
            tfs_buf_add_span(&sum->same, tfs_beamng_tile_plane(planes, &s->tile, plane));
    }
    sum_layers(s, sum, err);
    tfs_voxels_close(&tfs_beamng_compared, opened);
    return err->code;
}

const struct tfs_voxels tfs_beamng_compared = {
    .fixed = {TFS_BEAMNG_TILE_SIDE, 1, TFS_BEAMNG_TILE_SIDE},
    .chunk_size = sizeof(struct samples),
    .open = samples_open,
    .close = samples_close,
    .store = samples_store,
    .take = samples_take,
    .fill = samples_fill,
    .clear = samples_clear,
    .print = print,
    .empty = empty,
    .height = height,
    .unit = "sample",
    .north_up = true,
    .same = samples_same,
    .merge_names = tfs_beamng_merge_names,
    .sum = sum,
};
