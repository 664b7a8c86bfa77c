/*
 * Columns -> heightmap-view.png: the heights of heightmap.png from black to white, for looking.
 *
 * 8-bit grey, because the numbers are not to be edited: 0 where a column is empty, else 1 for `low`
 * and below to 255 for `high` and above. Few columns are beyond them: one tower does not make all
 * else black. Texts of these names say the two heights, padded, so that the size does not depend on
 * them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "formats/picture/draw.h"

#define TEXT_COUNT 2
#define DIGITS     6
#define SHADES     254 /* between `low` and `high` */

/* What one thread draws with; all but the strip is the same for all. */
struct relief {
    const struct tfs_picture_box *box;
    const struct tfs_columns *columns;
    uint32_t low, high; /* low above high: all columns are empty */
    struct tfs_pixel *strip;
    uint32_t drawn; /* the row of chunks that is in it */
};

struct labels {
    char low[DIGITS], high[DIGITS];
    struct tfs_png_text texts[TEXT_COUNT];
};

static struct tfs_png_shape shape_of(const struct tfs_picture_box *box, uint32_t low, uint32_t high,
                                     struct labels *labels)
{
    const unsigned from = low > high ? 0 : low, to = low > high ? 0 : high;

    snprintf(labels->low, DIGITS, "%05u", from % 100000);
    snprintf(labels->high, DIGITS, "%05u", to % 100000);
    labels->texts[0] = (struct tfs_png_text){"low", labels->low};
    labels->texts[1] = (struct tfs_png_text){"high", labels->high};
    return (struct tfs_png_shape){.width = (uint32_t)box->sx,
                                  .height = (uint32_t)box->sz,
                                  .type = TFS_PNG_GREY8,
                                  .texts = labels->texts,
                                  .text_count = TEXT_COUNT};
}

static uint8_t shade_of(const struct relief *relief, uint32_t height)
{
    if (height == 0)
        return 0;
    if (height == relief->low && height == relief->high)
        return 1 + SHADES / 2;
    if (height <= relief->low)
        return 1;
    if (height >= relief->high)
        return 1 + SHADES;
    return (uint8_t)(1 + (height - relief->low) * SHADES / (relief->high - relief->low));
}

static void relief_row(void *arg, uint32_t row, uint8_t *samples)
{
    struct relief *r = arg;
    const uint32_t within = row % r->box->chunk.z, strip = row / r->box->chunk.z;

    if (strip != r->drawn)
        tfs_columns_strip(r->columns, strip, r->strip);
    r->drawn = strip;
    const struct tfs_pixel *pixel = r->strip + (size_t)within * r->box->sx;
    for (uint64_t x = 0; x < r->box->sx; x++)
        samples[x] = shade_of(r, pixel[x].height);
}

/* The caller has locked the columns. */
static int draw(const struct relief *relief, struct tfs_columns *columns, uint64_t offset,
                uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    const unsigned threads = tfs_picture_threads(relief->box);
    const size_t pixels = (size_t)relief->box->sx * relief->box->chunk.z;
    struct relief reliefs[TFS_PNG_THREADS_MAX];
    void *args[TFS_PNG_THREADS_MAX];
    struct labels labels;
    struct tfs_pixel *strips = calloc(threads * pixels, sizeof(*strips));

    if (strips == NULL)
        return tfs_fail_memory(err);
    for (unsigned i = 0; i < threads; i++) {
        reliefs[i] = *relief;
        reliefs[i].strip = strips + i * pixels;
        args[i] = &reliefs[i];
    }
    const struct tfs_picture picture = {
        .number = 2,
        .shape = shape_of(relief->box, relief->low, relief->high, &labels),
        .box = relief->box,
        .rows = {relief_row, args, threads}};
    tfs_picture_draw(&picture, columns, offset, size, out, err);
    free(strips);
    return err->code;
}

static int view_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      uint64_t offset, uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_picture_box box;
    struct tfs_columns *columns;

    if (tfs_picture_shown(save, doc, at, &box, err) < 0)
        return err->code;
    if (tfs_columns_lock(save, doc, &box, &columns, err) == 0) {
        struct relief relief = {.box = &box, .columns = columns, .drawn = UINT32_MAX};
        if (tfs_columns_stretch(columns, &relief.low, &relief.high, err) == 0)
            draw(&relief, columns, offset, size, out, err);
        tfs_columns_unlock(columns);
    }
    return err->code;
}

static int view_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    return view_range(save, doc, at, 0, UINT64_MAX, out, err);
}

static int64_t view_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_picture_box box;
    struct tfs_error ignored = {0};
    struct labels labels;

    if (tfs_picture_shown(save, doc, at, &box, &ignored) < 0)
        return ignored.code;
    const struct tfs_png_shape shape = shape_of(&box, 0, 0, &labels);
    return (int64_t)tfs_png_size(&shape);
}

const struct tfs_lens tfs_heightmap_view_lens = {
    .get = view_get, .get_range = view_range, .size = view_size};
