/*
 * Columns -> heightmap.png, and a picture back into heights, which sculpt.c carries out.
 *
 * Must not know games, nor how a column is changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/info.h"
#include "formats/picture/columns.h"
#include "formats/picture/sculpt.h"

/* ---- what there is --------------------------------------------------------------------------- */

void tfs_heightmap_name(const struct tfs_doc *doc, uint32_t member, struct tfs_buf *out)
{
    (void)doc;
    (void)member;
    tfs_buf_add_text(out, "heightmap.png");
}

uint32_t tfs_picture_count(const struct tfs_voxels *voxels, const struct tfs_doc *doc)
{
    struct tfs_picture_box box;

    return tfs_picture_box(voxels, doc, &box) && tfs_picture_box_fits(&box);
}

void tfs_picture_info(struct tfs_buf *out, const struct tfs_voxels *voxels,
                      const struct tfs_doc *doc)
{
    struct tfs_picture_box box;

    if (!tfs_picture_box(voxels, doc, &box)) {
        tfs_info_line(out, "pictures", "none, because there are no chunks");
        return;
    }
    if (!tfs_picture_box_fits(&box)) {
        tfs_info_line(out, "pictures",
                      "none, because the save is %" PRIu64 " x %" PRIu64 " voxels and %" PRIu64
                      " high; they end at %d x %d and %d",
                      box.sx, box.sz, box.sy, TFS_PNG_SIDE_MAX, TFS_PNG_SIDE_MAX,
                      TFS_PICTURE_HEIGHT_MAX);
        return;
    }
    tfs_info_line(out, "pictures", "%" PRIu64 " x %" PRIu64 " pixels", box.sx, box.sz);
    tfs_info_line(out, "picture origin", "x %" PRId64 " z %" PRId64 " is pixel 0,0", box.x, box.z);
    tfs_info_line(out, "picture bottom", "y %" PRId64 ": a height of 1 has its voxel there", box.y);
}

/* ---- get ------------------------------------------------------------------------------------- */

#define TEXT_COUNT 2
#define TEXT_ROOM  48

/* The shape of the picture with its texts. */
struct form {
    struct tfs_picture_box box;
    struct tfs_png_shape shape;
    struct tfs_png_text texts[TEXT_COUNT];
    char origin[TEXT_ROOM], bottom[TEXT_ROOM];
};

static int form_init(const struct tfs_save *save, const struct tfs_doc *doc, struct form *form,
                     struct tfs_error *err)
{
    if (!tfs_picture_box(save->tree->voxels, doc, &form->box) || !tfs_picture_box_fits(&form->box))
        return tfs_fail(err, -ENOENT, "there is no picture of this save, info.txt says why");
    snprintf(form->origin, sizeof(form->origin), "%" PRId64 " %" PRId64, form->box.x, form->box.z);
    snprintf(form->bottom, sizeof(form->bottom), "%" PRId64, form->box.y);
    form->texts[0] = (struct tfs_png_text){"origin", form->origin};
    form->texts[1] = (struct tfs_png_text){"bottom", form->bottom};
    form->shape = (struct tfs_png_shape){
        .width = (uint32_t)form->box.sx,
        .height = (uint32_t)form->box.sz,
        .type = TFS_PNG_GREY16,
        .texts = form->texts,
        .text_count = TEXT_COUNT,
    };
    return 0;
}

/* What one thread draws with. */
struct drawing {
    const struct tfs_picture_box *box;
    const struct tfs_columns *columns;
    struct tfs_pixel *strip;
    uint32_t drawn; /* the row of chunks that is in it */
};

static void draw_row(void *arg, uint32_t row, uint8_t *samples)
{
    struct drawing *d = arg;
    uint32_t within = row % d->box->chunk.z, strip = row / d->box->chunk.z;

    if (strip != d->drawn)
        tfs_columns_strip(d->columns, strip, d->strip);
    d->drawn = strip;
    const struct tfs_pixel *pixel = d->strip + (size_t)within * d->box->sx;
    for (uint64_t x = 0; x < d->box->sx; x++) {
        samples[2 * x] = (uint8_t)(pixel[x].height >> 8);
        samples[2 * x + 1] = (uint8_t)pixel[x].height;
    }
}

/* The caller has locked the columns. */
static int draw(const struct form *form, const struct tfs_columns *columns, struct tfs_buf *out,
                struct tfs_error *err)
{
    const unsigned threads = tfs_picture_threads(&form->box);
    const size_t pixels = (size_t)form->box.sx * form->box.chunk.z;
    struct drawing drawings[TFS_PNG_THREADS_MAX];
    void *args[TFS_PNG_THREADS_MAX];
    struct tfs_pixel *strips = calloc(threads * pixels, sizeof(*strips));

    if (strips == NULL)
        return tfs_fail_memory(err);
    for (unsigned i = 0; i < threads; i++) {
        drawings[i] = (struct drawing){&form->box, columns, strips + i * pixels, UINT32_MAX};
        args[i] = &drawings[i];
    }
    tfs_png_write_shared(&form->shape, draw_row, args, threads, out, err);
    free(strips);
    return err->code;
}

static int heightmap_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                         struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_columns *columns;
    struct form form;

    (void)at;
    if (form_init(save, doc, &form, err) < 0)
        return err->code;
    if (tfs_columns_lock(save, doc, &columns, err) == 0) {
        draw(&form, columns, out, err);
        tfs_columns_unlock(columns);
    }
    return err->code;
}

static int64_t heightmap_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct form form;
    struct tfs_error ignored = {0};

    (void)at;
    return form_init(save, doc, &form, &ignored) < 0 ? ignored.code
                                                     : (int64_t)tfs_png_size(&form.shape);
}

/* ---- put ------------------------------------------------------------------------------------- */

/* The heights as they are, in host order. */
static int read_heights(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_picture_box *box, uint16_t *heights, struct tfs_error *err)
{
    size_t strip_pixels = (size_t)box->sx * box->chunk.z;
    struct tfs_pixel *strip = calloc(strip_pixels, sizeof(*strip));
    struct tfs_columns *columns;

    if (strip == NULL)
        return tfs_fail_memory(err);
    if (tfs_columns_lock(save, doc, &columns, err) == 0) {
        for (uint32_t row = 0; row < box->sz / box->chunk.z; row++) {
            tfs_columns_strip(columns, row, strip);
            for (size_t i = 0; i < strip_pixels; i++)
                *heights++ = strip[i].height;
        }
        tfs_columns_unlock(columns);
    }
    free(strip);
    return err->code;
}

/* 8 bits stand for 16 only where that loses nothing: where all heights are multiples of 257. */
static int check_depth(const struct tfs_picture_box *box, const uint16_t *heights, unsigned depth,
                       struct tfs_error *err)
{
    size_t count = (size_t)(box->sx * box->sz);

    if (depth == 16)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (heights[i] % 257 != 0)
            return tfs_fail(err, -EBADMSG,
                            "the picture has %u bits a pixel, the heights of the save need 16 "
                            "(pixel %zu,%zu does): save it as 16-bit grey; ImageMagick keeps 16 "
                            "bits with -depth 16 -define png:bit-depth=16",
                            depth, i % (size_t)box->sx, i / (size_t)box->sx);
    return 0;
}

/* Samples, high byte first, to numbers in their place. */
static void swap_samples(struct tfs_buf *samples, uint16_t *heights)
{
    for (size_t i = 0; i < samples->size / 2; i++)
        heights[i] = (uint16_t)(samples->data[2 * i] << 8 | samples->data[2 * i + 1]);
}

static int heightmap_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                         struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct form form;
    struct tfs_buf samples = {0};
    unsigned depth = 0;
    uint16_t *heights = NULL;

    (void)at;
    (void)put;
    if (form_init(save, tfs_edit_doc(edit), &form, err) < 0)
        return err->code;
    size_t count = (size_t)(form.box.sx * form.box.sz);
    if (tfs_png_read(text, &form.shape, &samples, &depth, err) < 0)
        goto out;
    heights = calloc(count, 2 * sizeof(*heights));
    if (heights == NULL) {
        tfs_fail_memory(err);
        goto out;
    }
    swap_samples(&samples, heights + count);
    if (read_heights(save, tfs_edit_doc(edit), &form.box, heights, err) == 0 &&
        check_depth(&form.box, heights, depth, err) == 0)
        tfs_sculpt(save, edit, &form.box, heights, heights + count, err);
out:
    free(heights);
    tfs_buf_release(&samples);
    return err->code;
}

/* A picture that an image editor stripped of its texts is nobody else's. */
static bool heightmap_is_foreign(struct tfs_save *save, const struct tfs_doc *doc,
                                 struct tfs_span text)
{
    struct form form;
    struct tfs_error ignored = {0};
    uint32_t width, height;
    struct tfs_span origin, bottom;

    if (!tfs_png_sides(text, &width, &height) || !tfs_png_text_find(text, "origin", &origin) ||
        !tfs_png_text_find(text, "bottom", &bottom))
        return false;
    return form_init(save, doc, &form, &ignored) < 0 || width != form.shape.width ||
           height != form.shape.height || !tfs_span_equal(origin, tfs_span_of(form.origin)) ||
           !tfs_span_equal(bottom, tfs_span_of(form.bottom));
}

const struct tfs_lens tfs_heightmap_lens = {
    .get = heightmap_get,
    .put = heightmap_put,
    .size = heightmap_size,
    .is_foreign = heightmap_is_foreign,
};
