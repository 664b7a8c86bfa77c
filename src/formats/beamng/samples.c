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

#include "formats/arrays/array.h"
#include "formats/beamng/cells.h"
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
    struct tfs_cells_edit e;
    struct tfs_beamng_layout layout;
    struct tfs_blob *table;
    struct tfs_beamng_materials names; /* in the table */
};

/* ---- tiles ----------------------------------------------------------------------------------- */

static void samples_close(void *chunk)
{
    struct samples *s = chunk;

    tfs_cells_edit_close(&s->e);
    tfs_blob_unref(s->table);
}

static int samples_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        void *chunk, struct tfs_error *err)
{
    struct samples *s = chunk;

    s->layout = *tfs_beamng_layout_of(doc);
    s->table = tfs_blob_ref(tfs_beamng_table(doc));
    tfs_beamng_materials_find(tfs_blob_span(s->table), s->layout.nul, &s->names);
    return tfs_cells_edit_load(&s->e, save, doc, key, err);
}

static int samples_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                         struct tfs_error *err)
{
    struct samples *s = chunk;

    (void)save;
    return tfs_cells_edit_finish(&s->e, edit, err);
}

/* The bytes of a plane. */
static struct tfs_span values_of(const struct samples *s, unsigned plane)
{
    const struct tfs_cells_plane *p = &s->e.planes[plane];

    return (struct tfs_span){p->values, p->values == NULL ? 0 : s->e.before->count * p->form.width};
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

static void mark_layers(const struct samples *s, unsigned plane, bool *met)
{
    const struct tfs_span layers = values_of(s, plane);

    for (size_t i = 0; i < layers.size; i++)
        met[layers.data[i]] = true;
}

static bool samples_same(const void *a, const void *b)
{
    const struct samples *before = a, *after = b;
    bool met[TFS_BEAMNG_HOLE + 1] = {0};

    if (before->layout.version != after->layout.version ||
        !tfs_chunk_same(&before->e.before->chunk, &after->e.before->chunk))
        return false;
    mark_layers(before, TFS_BEAMNG_PLANE_LAYER, met);
    mark_layers(before, TFS_BEAMNG_PLANE_CORNERS, met);
    for (unsigned layer = 0; layer < TFS_BEAMNG_HOLE; layer++)
        if (met[layer] && !same_material(before, after, (uint8_t)layer))
            return false;
    return true;
}

static size_t index_of(const struct samples *s, struct tfs_stretch at)
{
    return (size_t)at.z * s->e.before->size.x + at.x;
}

static bool is_outside(const struct samples *s, struct tfs_stretch at)
{
    return at.x >= s->e.before->size.x || at.z >= s->e.before->size.z;
}

/* The height, then the layout, its further values, the material, and those at the corners. */
static int samples_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                        struct tfs_error *err)
{
    const struct samples *s = chunk;
    const struct tfs_cells_plane *planes = s->e.planes;
    const size_t i = index_of(s, at);

    if (is_outside(s, at))
        return 0;
    tfs_buf_u16le(voxel, (uint16_t)tfs_plane_get(&planes[TFS_BEAMNG_PLANE_HEIGHT], i));
    tfs_buf_u8(voxel, s->layout.version);
    tfs_buf_u8(voxel, s->layout.extra);
    for (unsigned p = TFS_BEAMNG_PLANE_TEXTURE; p < TFS_BEAMNG_PLANES; p++)
        if (planes[p].values != NULL)
            tfs_buf_u8(voxel, (uint8_t)tfs_plane_get(&planes[p], i));
    take_material(s, (uint8_t)tfs_plane_get(&planes[TFS_BEAMNG_PLANE_LAYER], i), voxel);
    for (unsigned c = 0; c < CORNERS && has_corners(&s->layout); c++)
        take_material(s, values_of(s, TFS_BEAMNG_PLANE_CORNERS).data[CORNERS * i + c], voxel);
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
    for (unsigned i = 1; has_corners(&s.layout) && i < MATERIALS; i++)
        s.materials[i] = material_of(&c);
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

/* What a plane has of a sample, whose materials are these layers of the tile. */
static uint64_t value_of(struct sample *sample, unsigned plane, const uint8_t layers[MATERIALS])
{
    switch (plane) {
    case TFS_BEAMNG_PLANE_HEIGHT:
        return sample->height;
    case TFS_BEAMNG_PLANE_LAYER:
        return layers[0];
    case TFS_BEAMNG_PLANE_CORNERS:
        return tfs_array_value(layers + 1, CORNERS, 0);
    }
    return tfs_take_u8(&sample->values);
}

static int samples_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                        struct tfs_error *err)
{
    struct samples *s = chunk;
    struct sample sample = sample_of(voxel);
    uint8_t layers[MATERIALS];

    if (is_outside(s, at) || sample.layout.extra != s->layout.extra)
        return tfs_fail(err, -EBADMSG, "the sides have samples of other layouts");
    for (unsigned i = 0; i < (has_corners(&s->layout) ? MATERIALS : 1); i++)
        if (find_layer(s, &sample.materials[i], &layers[i], err) < 0)
            return err->code;
    s->e.written = TFS_CELLS_ALL;
    for (unsigned p = 0; p < TFS_BEAMNG_PLANES; p++) {
        if (s->e.before->planes[p].values == NULL)
            continue;
        if (tfs_cells_edit_plane(&s->e, p, err) < 0)
            return err->code;
        tfs_plane_set(&s->e.planes[p], index_of(s, at), value_of(&sample, p, layers));
    }
    return 0;
}

/* No sample is absent that was there. */
static int samples_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    (void)chunk;
    (void)at;
    return tfs_fail(err, -EBADMSG, "a sample cannot be removed");
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
    const struct tfs_span layers = values_of(s, TFS_BEAMNG_PLANE_LAYER);
    struct numbering n = {.met = 0};
    struct tfs_buf voxel = {0};

    for (size_t i = 0; i < layers.size; i++)
        n.counts[layers.data[i]]++;
    number_layers(&n, layers, &sum->same);
    number_layers(&n, values_of(s, TFS_BEAMNG_PLANE_CORNERS), &sum->same);
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
    tfs_buf_add_span(&sum->same, values_of(s, TFS_BEAMNG_PLANE_HEIGHT));
    for (unsigned p = TFS_BEAMNG_PLANE_CORNERS; p < TFS_BEAMNG_PLANES; p++) {
        if (s->e.planes[p].values != NULL)
            tfs_buf_add_text(&sum->same, tfs_beamng_cells.planes[p].name);
        if (p != TFS_BEAMNG_PLANE_CORNERS)
            tfs_buf_add_span(&sum->same, values_of(s, p));
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
