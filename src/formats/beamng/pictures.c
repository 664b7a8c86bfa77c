/*
 * Planes of samples <-> PNG pictures, north up: row r of a picture is row side-1-r of the file.
 *
 * Must not know how a PNG is written, nor where tiles lie.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/layers.h"
#include "formats/beamng/lenses.h"
#include "formats/beamng/masks.h"
#include "image/png.h"

/* What one picture shows. Of a family: as `member` says. */
struct picture {
    const struct tfs_beamng_plane *plane; /* NULL: extra plane `member` */
    enum tfs_png_type type;
    bool mask;  /* not the plane's samples, but 255 where they are `layer`, else 0 */
    bool masks; /* `layer` is `member` */
    uint8_t layer;
};

static const struct picture heights_picture = {.plane = &tfs_beamng_heights,
                                               .type = TFS_PNG_GREY16};
static const struct picture layers_picture = {.plane = &tfs_beamng_layers, .type = TFS_PNG_INDEX8};
static const struct picture holes_picture = {
    .plane = &tfs_beamng_layers, .type = TFS_PNG_GREY8, .mask = true, .layer = TFS_BEAMNG_HOLE};
static const struct picture masks_picture = {
    .plane = &tfs_beamng_layers, .type = TFS_PNG_GREY8, .mask = true, .masks = true};
static const struct picture extra_picture = {.plane = NULL};

static struct picture picture_of(const struct tfs_doc *doc, struct tfs_at at)
{
    struct picture picture = *(const struct picture *)at.param;

    if (picture.masks)
        picture.layer = (uint8_t)at.member;
    if (picture.plane == NULL) {
        picture.plane = tfs_beamng_extra_plane(tfs_beamng_layout_of(doc), at.member);
        picture.type = picture.plane->bytes == 4 ? TFS_PNG_RGBA8 : TFS_PNG_GREY8;
    }
    return picture;
}

static struct tfs_png_shape shape_of(const struct tfs_doc *doc, const struct picture *picture)
{
    uint32_t side = tfs_beamng_layout_of(doc)->side;

    return (struct tfs_png_shape){.width = side, .height = side, .type = picture->type};
}

/* What a picture that is shown says in its texts. */
struct labels {
    struct tfs_beamng_texts said;
    struct tfs_png_text texts[TFS_BEAMNG_TEXTS];
};

/* The same shape with the texts, of a height map. */
static struct tfs_png_shape label(const struct tfs_doc *doc, const struct picture *picture,
                                  struct labels *labels)
{
    struct tfs_png_shape shape = shape_of(doc, picture);

    if (picture->plane != &tfs_beamng_heights)
        return shape;
    tfs_beamng_ground_texts(&tfs_beamng_facts(doc)->ground, &labels->said);
    for (size_t i = 0; i < labels->said.count; i++)
        labels->texts[i] =
            (struct tfs_png_text){labels->said.items[i].key, labels->said.items[i].value};
    shape.texts = labels->texts;
    shape.text_count = labels->said.count;
    return shape;
}

/* Little-endian samples to big-endian ones, and back: four at a time. */
static void swap_bytes(uint8_t *samples, size_t size)
{
    const uint64_t low = UINT64_C(0x00ff00ff00ff00ff);
    size_t i = 0;

    for (; i + 8 <= size; i += 8) {
        uint64_t four;
        memcpy(&four, samples + i, 8);
        four = (four & low) << 8 | (four >> 8 & low);
        memcpy(samples + i, &four, 8);
    }
    for (; i + 1 < size; i += 2) {
        uint8_t first = samples[i];
        samples[i] = samples[i + 1];
        samples[i + 1] = first;
    }
}

/* ---- showing --------------------------------------------------------------------------------- */

struct showing {
    struct tfs_beamng_terrain terrain;
    struct picture picture;
};

static void show_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct showing *s = arg;
    uint32_t side = s->terrain.layout.side;

    tfs_beamng_terrain_row(&s->terrain, s->picture.plane, side - 1 - row, samples);
    if (s->picture.type == TFS_PNG_GREY16)
        swap_bytes(samples, (size_t)side * 2);
    for (uint32_t x = 0; s->picture.mask && x < side; x++)
        samples[x] = samples[x] == s->picture.layer ? UINT8_MAX : 0;
}

static int picture_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct showing s = {.picture = picture_of(doc, at)};
    struct labels labels;
    struct tfs_png_shape shape = label(doc, &s.picture, &labels);

    (void)save;
    if (tfs_beamng_terrain_init(doc, &s.terrain, err) < 0)
        return err->code;
    int result = tfs_png_write(&shape, show_row, &s, out, err);
    tfs_beamng_terrain_release(&s.terrain);
    return result;
}

static int64_t picture_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct picture picture = picture_of(doc, at);
    struct labels labels;
    struct tfs_png_shape shape = label(doc, &picture, &labels);

    (void)save;
    return (int64_t)tfs_png_size(&shape);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A picture that was written, and the layers as they are, both north up. */
struct picture_edit {
    struct tfs_edit *edit;
    const struct tfs_doc *doc;
    uint32_t side;
    struct tfs_buf samples, layers;
    unsigned depth;
    struct tfs_error *err;
};

static int fail_pixel(struct picture_edit *t, size_t i, const char *what)
{
    return tfs_fail(t->err, -EBADMSG, "pixel %zu,%zu %s", i % t->side, i / t->side, what);
}

static int read_plane(const struct tfs_doc *doc, const struct tfs_beamng_plane *plane,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_beamng_terrain terrain;

    if (tfs_beamng_terrain_init(doc, &terrain, err) < 0)
        return err->code;
    int result = tfs_beamng_terrain_picture(&terrain, plane, out, err);
    tfs_beamng_terrain_release(&terrain);
    return result;
}

/* Reads the picture and, for those that change layers, the layers. */
static int picture_edit_init(struct picture_edit *t, struct tfs_edit *edit, struct tfs_at at,
                             struct tfs_span png, struct tfs_error *err)
{
    const struct picture picture = picture_of(tfs_edit_doc(edit), at);
    struct tfs_png_shape shape = shape_of(tfs_edit_doc(edit), &picture);

    *t = (struct picture_edit){
        .edit = edit, .doc = tfs_edit_doc(edit), .side = shape.width, .err = err};
    int result = tfs_png_read(png, &shape, &t->samples, &t->depth, err);
    if (result == 0 && shape.type == TFS_PNG_GREY16)
        swap_bytes(t->samples.data, t->samples.size);
    if (result == 0 && picture.plane == &tfs_beamng_layers)
        result = read_plane(t->doc, &tfs_beamng_layers, &t->layers, err);
    return result;
}

/* The samples of what the picture was made from, as in the file. */
static int read_original(struct picture_edit *t, const struct picture *picture,
                         const struct tfs_put *put, struct tfs_buf *samples)
{
    struct tfs_png_shape shape = shape_of(t->doc, picture);
    unsigned depth;

    if (tfs_png_read(put->original, &shape, samples, &depth, t->err) < 0)
        return t->err->code;
    if (shape.type == TFS_PNG_GREY16)
        swap_bytes(samples->data, samples->size);
    return 0;
}

/* Samples that are what they were in what the picture was made from are no change: they stay as
 * they are now. */
static int keep_unchanged(struct picture_edit *t, struct tfs_at at, const struct tfs_put *put)
{
    const struct picture picture = picture_of(t->doc, at);
    struct tfs_buf before = {0}, now = {0};
    const size_t bytes = picture.plane->bytes;

    if (put->original.size == 0 || read_original(t, &picture, put, &before) < 0 ||
        read_plane(t->doc, picture.plane, &now, t->err) < 0)
        goto out;
    for (size_t i = 0; i < t->samples.size; i += bytes)
        if (memcmp(t->samples.data + i, before.data + i, bytes) == 0)
            memcpy(t->samples.data + i, now.data + i, bytes);
out:
    tfs_buf_release(&before);
    tfs_buf_release(&now);
    return t->err->code;
}

/* Ends the edit: checks the layout, if `result` is 0, and frees the samples. */
static int picture_edit_finish(struct picture_edit *t, int result)
{
    if (result == 0)
        result = tfs_beamng_terrain_check_layout(t->edit, t->err);
    tfs_buf_release(&t->samples);
    tfs_buf_release(&t->layers);
    return result;
}

/* ---- heights --------------------------------------------------------------------------------- */

/* Rows are stored as they come, a row of tiles at a time: a terrain can be larger than what else is
 * in memory. */
struct heights_edit {
    struct picture_edit t;
    struct tfs_beamng_terrain before; /* as it was before the first row */
    struct tfs_buf original;          /* what the picture was made from; empty: that terrain */
    size_t pitch;                     /* bytes of a row */
    uint8_t *row;
    uint8_t *band; /* the rows of a row of tiles, from the south */
};

/* 8 bits stand for 16 only where that loses nothing: where all heights are multiples of 257, which
 * have two equal bytes. */
static int check_depth(struct heights_edit *h, unsigned depth)
{
    for (uint32_t y = 0; y < h->t.side && depth < 16; y++) {
        tfs_beamng_terrain_row(&h->before, &tfs_beamng_heights, h->t.side - 1 - y, h->row);
        for (uint32_t x = 0; x < h->t.side; x++)
            if (h->row[2 * x] != h->row[2 * x + 1])
                return tfs_fail(h->t.err, -EBADMSG,
                                "the picture has %u bits a pixel, the heights of the save need 16 "
                                "(pixel %" PRIu32 ",%" PRIu32 " does): save it as 16-bit grey; "
                                "ImageMagick keeps 16 bits with -depth 16 -define png:bit-depth=16",
                                depth, x, y);
    }
    return 0;
}

/* A picture that says that it was made for another place or scale: its numbers are other heights
 * there. */
static int check_texts(const struct tfs_doc *doc, const struct tfs_png_source *png,
                       struct tfs_error *err)
{
    struct tfs_beamng_texts ours;
    struct tfs_buf texts = {0};
    struct tfs_span theirs;

    tfs_beamng_ground_texts(&tfs_beamng_facts(doc)->ground, &ours);
    tfs_png_read_texts(png, &texts, err);
    for (size_t i = 0; i < ours.count && err->code == 0; i++)
        if (ours.items[i].counts &&
            tfs_png_text_find(tfs_buf_span(&texts), ours.items[i].key, &theirs) &&
            !tfs_span_equal(theirs, tfs_span_of(ours.items[i].value)))
            tfs_fail(err, -EBADMSG,
                     "the picture says that it is of a terrain with %s %.*s, this one has %s: "
                     "without its texts (convert -strip) its numbers are taken as they are",
                     ours.items[i].key, theirs.size < 60 ? (int)theirs.size : 60,
                     (const char *)theirs.data, ours.items[i].value);
    tfs_buf_release(&texts);
    return err->code;
}

/* Samples of row y that are what they were in what the picture was made from stay as they are. */
static void keep_unchanged_row(struct heights_edit *h, uint32_t y, uint8_t *samples)
{
    const uint8_t *was = h->original.data + y * h->pitch;

    tfs_beamng_terrain_row(&h->before, &tfs_beamng_heights, h->t.side - 1 - y, h->row);
    for (size_t i = 0; i < h->pitch; i += 2)
        if (memcmp(samples + i, was + i, 2) == 0)
            memcpy(samples + i, h->row + i, 2);
}

/* Stores the tiles of one row of them. */
static int store_band(struct heights_edit *h, int32_t z)
{
    struct tfs_key key = {.z = z};
    uint8_t samples[TFS_BEAMNG_TILE_SAMPLES * 2];

    for (; key.x < (int32_t)h->before.tiles; key.x++) {
        struct tfs_beamng_tile tile = tfs_beamng_tile_of(&h->before.layout, key);
        tile.z = 0;
        tfs_beamng_tile_cut(&tile, 2, h->band, (ptrdiff_t)h->pitch, samples);
        if (tfs_beamng_tile_put(h->t.edit, key, &tfs_beamng_heights, samples, h->t.err) < 0)
            return h->t.err->code;
    }
    return 0;
}

static int take_heights(void *arg, unsigned depth, uint32_t row, const uint8_t *samples,
                        struct tfs_error *err)
{
    struct heights_edit *h = arg;
    const uint32_t z = h->t.side - 1 - row;
    uint8_t *in_band = h->band + z % TFS_BEAMNG_TILE_SIDE * h->pitch;

    if (row == 0 && check_depth(h, depth) < 0)
        return err->code;
    memcpy(in_band, samples, h->pitch);
    swap_bytes(in_band, h->pitch);
    if (h->original.size > 0)
        keep_unchanged_row(h, row, in_band);
    return z % TFS_BEAMNG_TILE_SIDE == 0 ? store_band(h, (int32_t)(z / TFS_BEAMNG_TILE_SIDE)) : 0;
}

static int put_heights(struct heights_edit *h, struct tfs_at at, const struct tfs_png_source *png,
                       const struct tfs_put *put)
{
    const struct picture picture = picture_of(h->t.doc, at);
    const struct tfs_png_shape shape = shape_of(h->t.doc, &picture);

    h->pitch = tfs_png_row_size(&shape);
    h->row = malloc(h->pitch);
    h->band = malloc(h->pitch * TFS_BEAMNG_TILE_SIDE);
    if (h->row == NULL || h->band == NULL)
        return tfs_fail_memory(h->t.err);
    if (tfs_beamng_terrain_init(h->t.doc, &h->before, h->t.err) < 0 ||
        check_texts(h->t.doc, png, h->t.err) < 0 ||
        (put->original.size > 0 && read_original(&h->t, &picture, put, &h->original) < 0))
        return h->t.err->code;
    return tfs_png_read_rows(png, &shape, take_heights, h, h->t.err);
}

static int read_written(const void *arg, uint64_t offset, size_t size, uint8_t *out,
                        struct tfs_error *err)
{
    const struct tfs_written *written = arg;

    return written->read(written->arg, false, offset, size, out, err);
}

static int heightmap_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                         struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    struct heights_edit h = {
        .t = {.edit = edit, .doc = doc, .side = tfs_beamng_layout_of(doc)->side, .err = err}};
    struct tfs_png_source png = tfs_png_source_of(&text);

    (void)save;
    if (put->written != NULL)
        png = (struct tfs_png_source){put->written->size, read_written, put->written};
    int result = put_heights(&h, at, &png, put);
    tfs_beamng_terrain_release(&h.before);
    tfs_buf_release(&h.original);
    free(h.row);
    free(h.band);
    return picture_edit_finish(&h.t, result);
}

const struct tfs_lens tfs_beamng_heightmap_lens = {.param = &heights_picture,
                                                   .get = picture_get,
                                                   .put = heightmap_put,
                                                   .size = picture_size,
                                                   .takes_large = true};

/* ---- layers, extra planes -------------------------------------------------------------------- */

static int check_layers(struct picture_edit *t)
{
    uint32_t materials = tfs_beamng_name_count(t->doc);
    char what[80];

    for (size_t i = 0; i < t->samples.size; i++) {
        if (tfs_beamng_layer_allowed(t->layers.data[i], t->samples.data[i], materials))
            continue;
        snprintf(what, sizeof(what), "has layer %u, but there are %u materials (255 is a hole)",
                 t->samples.data[i], materials);
        return fail_pixel(t, i, what);
    }
    return 0;
}

/* Of layers, or of an extra plane. */
static int samples_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_beamng_plane *plane = picture_of(tfs_edit_doc(edit), at).plane;
    struct picture_edit t;
    int result = picture_edit_init(&t, edit, at, text, err);

    (void)save;
    if (result == 0)
        result = keep_unchanged(&t, at, put);
    if (result == 0 && plane == &tfs_beamng_layers)
        result = check_layers(&t);
    if (result == 0)
        result = tfs_beamng_terrain_put(edit, plane, t.samples.data, err);
    return picture_edit_finish(&t, result);
}

const struct tfs_lens tfs_beamng_layers_picture_lens = {
    .param = &layers_picture, .get = picture_get, .put = samples_put, .size = picture_size};
const struct tfs_lens tfs_beamng_extra_lens = {
    .param = &extra_picture, .get = picture_get, .put = samples_put, .size = picture_size};

/* ---- masks and holes ------------------------------------------------------------------------- */

/* White becomes the mask's layer, and what was its layer and is black now becomes layer 0. What is
 * as it was in `before`, the mask that this one was made from (NULL: none), stays. */
static int paint(struct picture_edit *t, uint8_t layer, const uint8_t *before)
{
    for (size_t i = 0; i < t->samples.size; i++) {
        bool white = t->samples.data[i] >= TFS_BEAMNG_BRUSH;
        if (white == (t->layers.data[i] == layer) ||
            (before && white == (before[i] >= TFS_BEAMNG_BRUSH)))
            continue;
        if (!white && layer == 0)
            return fail_pixel(t, i,
                              "takes layer 0 away, but nothing says what it becomes: paint "
                              "it in another mask");
        t->layers.data[i] = white ? layer : 0;
    }
    return 0;
}

static int mask_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                    struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct picture picture = picture_of(tfs_edit_doc(edit), at);
    struct tfs_buf before = {0};
    struct picture_edit t;
    int result = picture_edit_init(&t, edit, at, text, err);

    (void)save;
    if (result == 0 && put->original.size > 0)
        result = read_original(&t, &picture, put, &before);
    if (result == 0)
        result = paint(&t, picture.layer, before.data);
    if (result == 0)
        result = tfs_beamng_terrain_put(edit, &tfs_beamng_layers, t.layers.data, err);
    tfs_buf_release(&before);
    return picture_edit_finish(&t, result);
}

/* The samples of a picture of masks. */
static int read_mask(const struct tfs_doc *doc, const struct picture *picture, struct tfs_span png,
                     struct tfs_buf *samples, struct tfs_error *err)
{
    const struct tfs_png_shape shape = shape_of(doc, picture);
    unsigned depth;

    return tfs_png_read(png, &shape, samples, &depth, err);
}

static int mask_gather(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_span text, struct tfs_span original, struct tfs_buf *gathered,
                       struct tfs_error *err)
{
    const struct picture picture = picture_of(doc, at);
    struct tfs_buf now = {0}, before = {0}, layers = {0};

    (void)save;
    if (read_mask(doc, &picture, text, &now, err) == 0 &&
        (original.size == 0 || read_mask(doc, &picture, original, &before, err) == 0) &&
        read_plane(doc, &tfs_beamng_layers, &layers, err) == 0) {
        const struct tfs_beamng_mask mask = {.layer = picture.layer,
                                             .count = now.size,
                                             .now = now.data,
                                             .before = before.data,
                                             .layers = layers.data};
        tfs_beamng_masks_gather(&mask, gathered, err);
    }
    tfs_buf_release(&now);
    tfs_buf_release(&before);
    tfs_buf_release(&layers);
    return err->code;
}

const struct tfs_lens tfs_beamng_mask_lens = {.param = &masks_picture,
                                              .get = picture_get,
                                              .put = mask_put,
                                              .size = picture_size,
                                              .gather = mask_gather};
const struct tfs_lens tfs_beamng_holes_lens = {.param = &holes_picture,
                                               .get = picture_get,
                                               .put = mask_put,
                                               .size = picture_size,
                                               .gather = mask_gather};
