/*
 * Planes of samples <-> PNG pictures, north up: row r of a picture is row side-1-r of the file.
 *
 * Must not know how a PNG is written, nor where tiles lie.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/beamng/layers.h"
#include "formats/beamng/lenses.h"
#include "formats/save/document_pages.h"
#include "formats/views/pictures/picture.h"

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
        picture.plane =
            tfs_beamng_plane_at(tfs_beamng_layout_of(doc), TFS_BEAMNG_EXTRA + at.member);
        picture.type = picture.plane->bytes == 4 ? TFS_PNG_RGBA8 : TFS_PNG_GREY8;
    }
    return picture;
}

/* Of a height map with its texts. */
static struct tfs_png_shape shape_of(const struct tfs_doc *doc, const struct picture *picture,
                                     struct tfs_beamng_texts *texts)
{
    const uint32_t side = tfs_beamng_layout_of(doc)->side;

    texts->count = 0;
    if (picture->plane == &tfs_beamng_heights)
        tfs_beamng_ground_texts(&tfs_beamng_facts(doc)->ground, texts);
    return (struct tfs_png_shape){side, side, picture->type, texts->items, texts->count};
}

#define TOGETHER 32 /* a loop of a fixed length is one that compilers make wide */

/* Little-endian samples to big-endian ones, and back. */
static void swap_bytes(uint8_t *samples, size_t size)
{
    uint8_t *const end = samples + size;

    for (uint16_t some[TOGETHER]; (size_t)(end - samples) >= sizeof(some);
         samples += sizeof(some)) {
        memcpy(some, samples, sizeof(some));
        for (unsigned i = 0; i < TOGETHER; i++)
            some[i] = (uint16_t)(some[i] << 8 | some[i] >> 8);
        memcpy(samples, some, sizeof(some));
    }
    for (; samples < end; samples += 2) {
        const uint8_t first = samples[0];
        samples[0] = samples[1];
        samples[1] = first;
    }
}

/* ---- showing --------------------------------------------------------------------------------- */

struct showing {
    const struct tfs_doc *doc;
    struct picture picture;
    struct tfs_png_shape shape;
};

static void show_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct showing *s = arg;

    tfs_beamng_row(s->doc, s->picture.plane, s->shape.height - 1 - row, samples);
    if (s->picture.type == TFS_PNG_GREY16)
        swap_bytes(samples, tfs_png_row_size(&s->shape));
    for (uint32_t x = 0; s->picture.mask && x < s->shape.width; x++)
        samples[x] = samples[x] == s->picture.layer ? UINT8_MAX : 0;
}

static int picture_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct showing s = {.doc = doc, .picture = picture_of(doc, at)};
    struct tfs_beamng_texts texts;

    (void)save;
    s.shape = shape_of(doc, &s.picture, &texts);
    return tfs_png_write(&s.shape, show_row, &s, out, err);
}

static int64_t picture_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    const struct picture picture = picture_of(doc, at);
    struct tfs_beamng_texts texts;
    const struct tfs_png_shape shape = shape_of(doc, &picture, &texts);

    (void)save;
    return (int64_t)tfs_png_size(&shape);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Rows are stored as they come, a row of tiles at a time: a terrain can be larger than what else is
 * in memory. */
struct taking {
    struct tfs_edit *edit;
    struct picture picture;
    struct tfs_png_shape shape;
    struct tfs_beamng_texts texts;
    struct tfs_doc *before;  /* as it was before the first row */
    struct tfs_buf original; /* what the picture was made from; empty: nothing is known */
    size_t pitch;            /* bytes of a row */
    uint8_t *now;            /* the row as it was before */
    uint8_t *band;           /* the rows of a row of tiles, from the south */
};

/* 8 bits stand for 16 only where that loses nothing: where all heights are multiples of 257, which
 * have two equal bytes. */
static int check_depth(const struct taking *t, unsigned depth, struct tfs_error *err)
{
    const uint32_t side = t->shape.type == TFS_PNG_GREY16 && depth < 16 ? t->shape.height : 0;

    for (uint32_t y = 0; y < side; y++) {
        tfs_beamng_row(t->before, t->picture.plane, side - 1 - y, t->now);
        for (uint32_t x = 0; x < side; x++)
            if (t->now[2 * x] != t->now[2 * x + 1])
                return tfs_picture_fail_depth(depth, x, y, err);
    }
    return 0;
}

/* A picture that says that it was made for another place or scale: its numbers are other heights
 * there. */
static int check_texts(const struct tfs_beamng_texts *ours, const struct tfs_png_source *png,
                       struct tfs_error *err)
{
    struct tfs_buf texts = {0};
    struct tfs_span theirs;

    tfs_png_read_texts(png, &texts, err);
    for (const struct tfs_png_text *t = ours->items, *end = t + ours->count;
         t < end && err->code == 0; t++)
        if (tfs_png_text_find(tfs_buf_span(&texts), t->key, &theirs) &&
            !tfs_span_equal(theirs, tfs_span_of(t->value)))
            tfs_fail(err, -EBADMSG,
                     "the picture says that it is of a terrain with %s %.*s, this one has %s: "
                     "without its texts (convert -strip) its numbers are taken as they are",
                     t->key, theirs.size < 60 ? (int)theirs.size : 60, (const char *)theirs.data,
                     t->value);
    tfs_buf_release(&texts);
    return err->code;
}

#define BRUSH 128 /* a grey from here on is white */

/* White becomes the mask's layer, and what was its layer and is black now becomes layer 0. What is
 * as it was in `was`, the mask that this one was made from (NULL: none), stays. */
static int paint(const struct taking *t, uint32_t y, const uint8_t *pixels, const uint8_t *was,
                 uint8_t *layers, struct tfs_error *err)
{
    const uint8_t layer = t->picture.layer;

    memcpy(layers, t->now, t->pitch);
    for (size_t x = 0; x < t->pitch; x++) {
        const bool white = pixels[x] >= BRUSH;
        if (white == (layers[x] == layer) || (was != NULL && white == (was[x] >= BRUSH)))
            continue;
        if (!white && layer == 0)
            return tfs_fail(err, -EBADMSG,
                            "pixel %zu,%" PRIu32 " takes layer 0 away, but nothing says what it "
                            "becomes: paint it in another mask",
                            x, y);
        layers[x] = white ? layer : 0;
    }
    return 0;
}

/* Samples that are what they were in what the picture was made from are no change: they stay as
 * they are now. */
static int take_samples(const struct taking *t, uint32_t y, const uint8_t *was, uint8_t *samples,
                        struct tfs_error *err)
{
    const uint32_t materials = tfs_beamng_name_count(t->before);
    const size_t bytes = t->picture.plane->bytes;

    for (size_t i = 0; i < t->pitch && was != NULL; i += bytes)
        if (memcmp(samples + i, was + i, bytes) == 0)
            memcpy(samples + i, t->now + i, bytes);
    for (size_t x = 0; x < t->pitch && t->picture.plane == &tfs_beamng_layers; x++)
        if (!tfs_beamng_layer_allowed(t->now[x], samples[x], materials))
            return tfs_fail(err, -EBADMSG,
                            "pixel %zu,%" PRIu32 " has layer %u, but there are %" PRIu32
                            " materials (255 is a hole)",
                            x, y, samples[x], materials);
    return 0;
}

/* Stores the tiles of one row of them. */
static int store_band(const struct taking *t, int32_t z, struct tfs_error *err)
{
    const struct tfs_beamng_layout *layout = tfs_beamng_layout_of(t->before);
    struct tfs_key key = {.z = z};
    uint8_t samples[TFS_BEAMNG_TILE_SAMPLES * 4];

    for (; key.x < (int32_t)tfs_beamng_tiles_a_side(layout); key.x++) {
        struct tfs_beamng_tile tile = tfs_beamng_tile_of(layout, key);
        tile.z = 0;
        tfs_beamng_tile_cut(&tile, t->picture.plane->bytes, t->band, (ptrdiff_t)t->pitch, samples);
        if (tfs_beamng_samples_put(t->edit, key, t->picture.plane, samples, err) < 0)
            return err->code;
    }
    return 0;
}

static int take_row(void *arg, unsigned depth, uint32_t row, const uint8_t *pixels,
                    struct tfs_error *err)
{
    const struct taking *t = arg;
    const uint32_t z = t->shape.height - 1 - row;
    const uint8_t *was = t->original.size > 0 ? t->original.data + row * t->pitch : NULL;
    uint8_t *samples = t->band + z % TFS_BEAMNG_TILE_SIDE * t->pitch;

    if (row == 0 && check_depth(t, depth, err) < 0)
        return err->code;
    tfs_beamng_row(t->before, t->picture.plane, z, t->now);
    if (!t->picture.mask)
        memcpy(samples, pixels, t->pitch);
    if (t->shape.type == TFS_PNG_GREY16)
        swap_bytes(samples, t->pitch);
    if ((t->picture.mask ? paint(t, row, pixels, was, samples, err)
                         : take_samples(t, row, was, samples, err)) < 0)
        return err->code;
    return z % TFS_BEAMNG_TILE_SIDE == 0 ? store_band(t, (int32_t)(z / TFS_BEAMNG_TILE_SIDE), err)
                                         : 0;
}

/* The samples of what the picture was made from, as in the file. */
static int read_original(struct taking *t, struct tfs_span png, struct tfs_error *err)
{
    unsigned depth;

    if (png.size > 0 && tfs_png_read(png, &t->shape, &t->original, &depth, err) == 0 &&
        t->shape.type == TFS_PNG_GREY16)
        swap_bytes(t->original.data, t->original.size);
    return err->code;
}

static int read_written(const void *arg, uint64_t offset, size_t size, uint8_t *out,
                        struct tfs_error *err)
{
    const struct tfs_written *written = arg;

    return written->read(written->arg, false, offset, size, out, err);
}

static int picture_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    struct taking t = {.edit = edit, .picture = picture_of(doc, at)};
    struct tfs_png_source png = tfs_png_source_of(&text);

    (void)save;
    if (put->written != NULL)
        png = (struct tfs_png_source){put->written->size, read_written, put->written};
    t.shape = shape_of(doc, &t.picture, &t.texts);
    t.pitch = tfs_png_row_size(&t.shape);
    t.now = malloc(t.pitch * (1 + TFS_BEAMNG_TILE_SIDE));
    if (t.now == NULL)
        return tfs_fail_memory(err);
    t.band = t.now + t.pitch;
    if (tfs_doc_clone(doc, &t.before, err) == 0 && check_texts(&t.texts, &png, err) == 0 &&
        read_original(&t, put->original, err) == 0 &&
        tfs_png_read_rows(&png, &t.shape, take_row, &t, err) == 0)
        tfs_beamng_terrain_check_layout(edit, err);
    tfs_doc_unref(t.before);
    tfs_buf_release(&t.original);
    free(t.now);
    return err->code;
}

const struct tfs_lens tfs_beamng_heightmap_lens = {
    .param = &heights_picture, .get = picture_get, .put = picture_put, .size = picture_size};
const struct tfs_lens tfs_beamng_layers_picture_lens = {
    .param = &layers_picture, .get = picture_get, .put = picture_put, .size = picture_size};
const struct tfs_lens tfs_beamng_extra_lens = {
    .param = &extra_picture, .get = picture_get, .put = picture_put, .size = picture_size};

const struct tfs_lens tfs_beamng_mask_lens = {
    .param = &masks_picture, .get = picture_get, .put = picture_put, .size = picture_size};
const struct tfs_lens tfs_beamng_holes_lens = {
    .param = &holes_picture, .get = picture_get, .put = picture_put, .size = picture_size};
