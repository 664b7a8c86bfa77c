/*
 * heightmap.png, or a tile of it -> the heights that columns shall have, which sculpt.c carries
 * out.
 *
 * Must not know games, nor how a column is changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/views/pictures/draw.h"

/* ---- bounds ---------------------------------------------------------------------------------- */

#define BOUNDS_ROOM 160

/* The bounds that a picture was made for. */
struct bounds {
    int64_t x, z, y; /* of pixel 0,0, and of the bottom */
    uint32_t width, height;
};

static struct bounds bounds_of(const struct tfs_picture *p)
{
    return (struct bounds){p->box.x, tfs_picture_origin_z(&p->box), p->box.y, p->shape.width,
                           p->shape.height};
}

static void bounds_print(const struct bounds *b, char out[BOUNDS_ROOM])
{
    snprintf(out, BOUNDS_ROOM,
             "%" PRIu32 " x %" PRIu32 " pixels, origin %" PRId64 " %" PRId64 ", bottom %" PRId64,
             b->width, b->height, b->x, b->z, b->y);
}

/* One or two numbers, if the picture has such a text and it is that. */
static bool text_numbers(struct tfs_span png, const char *key, int64_t *first, int64_t *second)
{
    struct tfs_span value;
    char text[TFS_PICTURE_TEXT];
    int used = -1;

    if (!tfs_png_text_find(png, key, &value) || value.size >= sizeof(text))
        return false;
    memcpy(text, value.data, value.size);
    text[value.size] = '\0';
    if (second != NULL)
        sscanf(text, "%" SCNd64 " %" SCNd64 "%n", first, second, &used);
    else
        sscanf(text, "%" SCNd64 "%n", first, &used);
    return used == (int)value.size;
}

/* What the picture says of its bounds replaces that in `b`; false: it says nothing, as after an
 * editor that keeps no texts. */
static bool bounds_said(struct tfs_span png, struct bounds *b)
{
    struct bounds said = *b;
    bool origin = text_numbers(png, "origin", &said.x, &said.z);
    bool bottom = text_numbers(png, "bottom", &said.y, NULL);

    if (origin)
        b->x = said.x, b->z = said.z;
    if (bottom)
        b->y = said.y;
    return (origin || bottom) && tfs_png_sides(png, &b->width, &b->height);
}

/* Refuses a picture that says that it was made for other bounds. */
static int check_bounds(const struct tfs_picture *p, struct tfs_span png, struct tfs_error *err)
{
    const struct bounds own = bounds_of(p);
    char wanted[BOUNDS_ROOM], made_for[BOUNDS_ROOM];
    struct bounds said = own;

    if (!bounds_said(png, &said))
        return 0;
    bounds_print(&own, wanted);
    bounds_print(&said, made_for);
    if (strcmp(wanted, made_for) == 0)
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "the picture was made for other bounds (%s) than these (%s): read it again and "
                    "edit that one",
                    made_for, wanted);
}

/* A chunk's coordinate from that of its first voxel; false where no chunk begins. */
static bool chunk_at(int64_t voxel, uint32_t edge, int32_t *chunk)
{
    if (voxel % (int64_t)edge != 0 || voxel / (int64_t)edge > INT32_MAX ||
        voxel / (int64_t)edge < INT32_MIN)
        return false;
    *chunk = (int32_t)(voxel / (int64_t)edge);
    return true;
}

/* Moves the box to the bounds of a picture that `export` wrote. They lie on borders of chunks. */
static int move_to(struct tfs_picture *p, struct tfs_span original, struct tfs_error *err)
{
    struct tfs_picture_box *box = &p->box;
    struct bounds b = bounds_of(p);

    if (!bounds_said(original, &b))
        b.width = 0;
    b.z -= box->north_up ? (int64_t)b.height - 1 : 0;
    if (b.width == 0 || b.height == 0 || b.width > TFS_PNG_SIDE_MAX ||
        b.height > TFS_PNG_SIDE_MAX || b.width % box->chunk.x != 0 ||
        b.height % box->chunk.z != 0 || !chunk_at(b.x, box->chunk.x, &box->low.x) ||
        !chunk_at(b.y, box->chunk.y, &box->low.y) || !chunk_at(b.z, box->chunk.z, &box->low.z) ||
        box->low.x > INT32_MAX - TFS_PNG_SIDE_MAX || box->low.z > INT32_MAX - TFS_PNG_SIDE_MAX)
        return tfs_fail(err, -EBADMSG, "the picture was made from one that is not of this save");
    box->x = b.x;
    box->y = b.y;
    box->z = b.z;
    box->sx = p->shape.width = b.width;
    box->sz = p->shape.height = b.height;
    return 0;
}

/* ---- put ------------------------------------------------------------------------------------- */

/* A height above one bottom as one above another, which lies `up` lower. */
static uint16_t carry_height(int64_t up, uint16_t height)
{
    const int64_t top = up + height;

    if (height == 0 || top <= 0)
        return 0;
    return top < UINT16_MAX ? (uint16_t)top : UINT16_MAX;
}

/* Heights of a document being read. */
struct reading {
    const struct tfs_picture_box *box;
    int64_t up; /* how much higher the document's own bottom is */
    uint16_t *heights;
};

static void take_strip(void *arg, uint32_t number, const struct tfs_pixel *pixels)
{
    const struct reading *r = arg;
    const uint64_t width = r->box->sx, first = (uint64_t)number * r->box->chunk.z;

    for (uint64_t row = 0; row < r->box->chunk.z; row++) {
        uint16_t *heights = r->heights + tfs_picture_row(r->box, first + row) * width;
        for (uint64_t x = 0; x < width; x++)
            heights[x] = carry_height(r->up, pixels[row * width + x].height);
    }
}

/* The heights of a document in `box` and above its bottom; 0 outside its own bounds. Rows ascend by
 * z, as of all heights here that are not pixels. */
static int read_heights(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_picture_box *box, uint16_t *heights, struct tfs_error *err)
{
    struct reading reading = {.box = box, .heights = heights};
    struct tfs_columns *columns;
    struct tfs_picture_box own;

    (void)tfs_picture_box(save->tree->cells, doc, &own); /* a picture of it was opened */
    reading.up = own.y - box->y;
    if (tfs_columns_lock(save, doc, &columns, err) == 0) {
        tfs_strips_each(columns, box, take_strip, &reading, err);
        tfs_columns_unlock(columns);
    }
    return err->code;
}

int tfs_picture_fail_depth(unsigned depth, uint64_t x, uint64_t y, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG,
                    "the picture has %u bits a pixel, the heights of the save need 16 (pixel "
                    "%" PRIu64 ",%" PRIu64 " does): save it as 16-bit grey; ImageMagick keeps 16 "
                    "bits with -depth 16 -define png:bit-depth=16",
                    depth, x, y);
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
            return tfs_picture_fail_depth(depth, i % box->sx, tfs_picture_row(box, i / box->sx),
                                          err);
    return 0;
}

/* A picture's pixels as numbers. */
static int read_picture(const struct tfs_picture *p, struct tfs_span png, uint16_t *heights,
                        unsigned *depth, struct tfs_error *err)
{
    const uint64_t width = p->box.sx;
    struct tfs_buf samples = {0};

    if (tfs_png_read(png, &p->shape, &samples, depth, err) == 0)
        for (uint64_t i = 0; i < samples.size / 2; i++)
            heights[tfs_picture_row(&p->box, i / width) * width + i % width] =
                (uint16_t)(samples.data[2 * i] << 8 | samples.data[2 * i + 1]);
    tfs_buf_release(&samples);
    return err->code;
}

/* The heights that a picture is about. */
struct heights {
    size_t count;
    uint16_t *before, *after; /* in what it was made from, and as it says */
    uint16_t *now;            /* of the document; `before` itself if it was made from that */
};

static int heights_init(struct heights *h, const struct tfs_picture *p, bool moved,
                        struct tfs_error *err)
{
    h->count = (size_t)(p->box.sx * p->box.sz);
    h->before = calloc(h->count, (moved ? 3 : 2) * sizeof(*h->before));
    if (h->before == NULL)
        return tfs_fail_memory(err);
    h->after = h->before + h->count;
    h->now = moved ? h->after + h->count : h->before;
    return 0;
}

/* What the picture says as the one that it was made from is no change: it stays as it is now. */
static int keep_unchanged(const struct tfs_picture *p, struct tfs_span original, struct heights *h,
                          struct tfs_error *err)
{
    unsigned depth;

    if (original.size == 0)
        return 0;
    if (read_picture(p, original, h->before, &depth, err) < 0)
        return err->code;
    for (size_t i = 0; i < h->count; i++)
        if (h->after[i] == h->before[i])
            h->after[i] = h->now[i];
    return 0;
}

int tfs_heightmap_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const bool moved = put->original.size > 0;
    struct tfs_picture p;
    struct heights h = {0};
    unsigned depth;

    if (tfs_picture_open(save, doc, at, &p, err) < 0 ||
        (moved && move_to(&p, put->original, err) < 0) || check_bounds(&p, text, err) < 0)
        return err->code;
    if (heights_init(&h, &p, moved, err) == 0 &&
        read_picture(&p, text, h.after, &depth, err) == 0 &&
        read_heights(save, doc, &p.box, h.now, err) == 0 &&
        keep_unchanged(&p, put->original, &h, err) == 0 &&
        check_depth(&p.box, h.before, depth, err) == 0)
        tfs_sculpt(save, edit, &p.box, h.now, h.after, err);
    free(h.before);
    return err->code;
}
