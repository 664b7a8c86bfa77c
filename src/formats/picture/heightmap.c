/*
 * Columns -> heightmap.png, and a picture back into heights, which sculpt.c carries out.
 *
 * Must not know games, nor how a column is changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/info.h"
#include "formats/picture/draw.h"
#include "formats/picture/map.h"
#include "formats/picture/sculpt.h"

/* z of the uppermost row of pixels. */
static int64_t origin_z(const struct tfs_picture_box *box)
{
    return box->z + (int64_t)tfs_picture_row(box, 0);
}

/* ---- what there is --------------------------------------------------------------------------- */

uint32_t tfs_picture_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    struct tfs_picture_box box;

    return tfs_picture_box(tree->cells, doc, &box) && tfs_picture_box_fits(&box);
}

uint32_t tfs_picture_map_count(const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    struct tfs_overview overview;

    return tfs_picture_count(tree, doc) > 0 || tfs_overview_of(tree->cells, doc, &overview);
}

/* What a pixel of map.png shows where it is no column. */
static void add_overview(struct tfs_buf *out, const struct tfs_overview *o)
{
    tfs_info_line(out, "map scale", "%" PRIu64, UINT64_C(1) << o->scale);
    tfs_info_line(out, "map size",
                  "%" PRIu32 " x %" PRIu32 " pixels, the corner of the first is x %" PRId64
                  " z %" PRId64,
                  o->width, o->height, o->box.x, origin_z(&o->box));
}

void tfs_picture_info(struct tfs_buf *out, const struct tfs_tree *tree, const struct tfs_doc *doc)
{
    const struct tfs_cells_kind *kind = tree->cells;
    const bool tiled = tfs_picture_tiles(tree, doc) > 0;
    struct tfs_picture_box box;
    struct tfs_overview o;

    if (!tfs_picture_box(kind, doc, &box)) {
        tfs_info_line(out, "pictures", "none, because there are no chunks");
        return;
    }
    const bool overview = tfs_overview_of(kind, doc, &o);
    if (!tfs_picture_box_fits(&box))
        tfs_info_line(out, "pictures",
                      "%s, because the save is %" PRIu64 " x %" PRIu64 " voxels and %" PRIu64
                      " high; they end at %d x %d and %d",
                      tiled      ? "map.png and tiles"
                      : overview ? "map.png alone"
                                 : "none",
                      box.sx, box.sz, box.sy, TFS_PNG_SIDE_MAX, TFS_PNG_SIDE_MAX,
                      TFS_PICTURE_HEIGHT_MAX);
    else
        tfs_info_line(out, "pictures", "%" PRIu64 " x %" PRIu64 " pixels", box.sx, box.sz);
    if (overview)
        add_overview(out, &o);
    if (tiled)
        tfs_info_line(out, "picture tiles",
                      "%zu in heightmaps and maps; X_Z.png begins at x %d * X "
                      "and z %d * Z",
                      tfs_picture_tiles_there(kind, doc), TFS_PICTURE_TILE, TFS_PICTURE_TILE);
    if (box.sy > TFS_PICTURE_HEIGHT_MAX)
        return;
    if (tfs_picture_box_fits(&box))
        tfs_info_line(out, "picture origin", "x %" PRId64 " z %" PRId64 " is pixel 0,0%s", box.x,
                      origin_z(&box), box.north_up ? ", z grows upward: north is up" : "");
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

static int form_init(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                     struct form *form, struct tfs_error *err)
{
    if (tfs_picture_shown(save, doc, at, &form->box, err) < 0)
        return err->code;
    snprintf(form->origin, sizeof(form->origin), "%" PRId64 " %" PRId64, form->box.x,
             origin_z(&form->box));
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
static int draw(const struct form *form, struct tfs_columns *columns, uint64_t offset,
                uint64_t size, struct tfs_buf *out, struct tfs_error *err)
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
    const struct tfs_picture picture = {
        .number = 0, .shape = form->shape, .box = &form->box, .rows = {draw_row, args, threads}};
    tfs_picture_draw(&picture, columns, offset, size, out, err);
    free(strips);
    return err->code;
}

static int heightmap_range(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                           uint64_t offset, uint64_t size, struct tfs_buf *out,
                           struct tfs_error *err)
{
    struct tfs_columns *columns;
    struct form form;

    if (form_init(save, doc, at, &form, err) < 0)
        return err->code;
    if (tfs_columns_lock(save, doc, &form.box, &columns, err) == 0) {
        draw(&form, columns, offset, size, out, err);
        tfs_columns_unlock(columns);
    }
    return err->code;
}

static int heightmap_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                         struct tfs_buf *out, struct tfs_error *err)
{
    return heightmap_range(save, doc, at, 0, UINT64_MAX, out, err);
}

static int64_t heightmap_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct form form;
    struct tfs_error ignored = {0};

    return form_init(save, doc, at, &form, &ignored) < 0 ? ignored.code
                                                         : (int64_t)tfs_png_size(&form.shape);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

#define BOUNDS_ROOM 160

/* The bounds that a picture was made for. */
struct bounds {
    int64_t x, z, y; /* of pixel 0,0, and of the bottom */
    uint32_t width, height;
};

static struct bounds bounds_of(const struct form *form)
{
    return (struct bounds){form->box.x, origin_z(&form->box), form->box.y, form->shape.width,
                           form->shape.height};
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
    char text[TEXT_ROOM];
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
static int check_bounds(const struct form *form, struct tfs_span png, struct tfs_error *err)
{
    const struct bounds own = bounds_of(form);
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
static int move_to(struct form *form, struct tfs_span original, struct tfs_error *err)
{
    struct tfs_picture_box *box = &form->box;
    struct bounds b = bounds_of(form);

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
    box->sx = form->shape.width = b.width;
    box->sz = form->shape.height = b.height;
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

static void carry_strip(const struct tfs_picture_box *box, int64_t up, uint32_t strip,
                        const struct tfs_pixel *pixels, uint16_t *heights)
{
    for (uint32_t within = 0; within < box->chunk.z; within++) {
        const uint64_t z = tfs_picture_row(box, (uint64_t)strip * box->chunk.z + within);
        for (uint64_t x = 0; x < box->sx; x++)
            heights[z * box->sx + x] = carry_height(up, pixels[within * box->sx + x].height);
    }
}

/* The heights of a document in `box` and above its bottom; 0 outside its own bounds. Rows ascend by
 * z, as of all heights here that are not pixels. */
static int read_heights(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_picture_box *box, uint16_t *heights, struct tfs_error *err)
{
    struct tfs_picture_box own;
    struct tfs_columns *columns;

    memset(heights, 0, (size_t)(box->sx * box->sz) * sizeof(*heights));
    if (!tfs_picture_box(save->tree->cells, doc, &own))
        return 0;
    if (own.sy > TFS_PICTURE_HEIGHT_MAX)
        return tfs_fail(err, -EFBIG, "the save is higher than a picture can tell");
    struct tfs_pixel *pixels = calloc((size_t)box->sx * box->chunk.z, sizeof(*pixels));
    if (pixels == NULL)
        return tfs_fail_memory(err);
    if (tfs_columns_lock(save, doc, box, &columns, err) == 0) {
        const uint32_t rows = tfs_picture_rows(box), step = tfs_columns_step(columns);
        for (uint32_t row = 0; row < rows && err->code == 0; row++) {
            const uint32_t end = rows - row < step ? rows : row + step;
            if (row % step == 0 && tfs_columns_rows(columns, row, end, err) < 0)
                break;
            tfs_columns_strip(columns, row, pixels);
            carry_strip(box, own.y - box->y, row, pixels, heights);
        }
        tfs_columns_unlock(columns);
    }
    free(pixels);
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
                            depth, i % (size_t)box->sx, (size_t)tfs_picture_row(box, i / box->sx));
    return 0;
}

/* A picture's pixels as numbers. */
static int read_picture(const struct form *form, struct tfs_span png, uint16_t *heights,
                        unsigned *depth, struct tfs_error *err)
{
    const uint64_t width = form->box.sx;
    struct tfs_buf samples = {0};

    if (tfs_png_read(png, &form->shape, &samples, depth, err) == 0)
        for (uint64_t i = 0; i < samples.size / 2; i++)
            heights[tfs_picture_row(&form->box, i / width) * width + i % width] =
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

static int heights_init(struct heights *h, const struct form *form, bool moved,
                        struct tfs_error *err)
{
    h->count = (size_t)(form->box.sx * form->box.sz);
    h->before = calloc(h->count, (moved ? 3 : 2) * sizeof(*h->before));
    if (h->before == NULL)
        return tfs_fail_memory(err);
    h->after = h->before + h->count;
    h->now = moved ? h->after + h->count : h->before;
    return 0;
}

/* What the picture says as the one that it was made from is no change: it stays as it is now. */
static int keep_unchanged(const struct form *form, struct tfs_span original, struct heights *h,
                          struct tfs_error *err)
{
    unsigned depth;

    if (original.size == 0)
        return 0;
    if (read_picture(form, original, h->before, &depth, err) < 0)
        return err->code;
    for (size_t i = 0; i < h->count; i++)
        if (h->after[i] == h->before[i])
            h->after[i] = h->now[i];
    return 0;
}

static int heightmap_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                         struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_doc *doc = tfs_edit_doc(edit);
    const bool moved = put->original.size > 0;
    struct form form;
    struct heights h = {0};
    unsigned depth;

    if (form_init(save, doc, at, &form, err) < 0 ||
        (moved && move_to(&form, put->original, err) < 0) || check_bounds(&form, text, err) < 0)
        return err->code;
    if (heights_init(&h, &form, moved, err) == 0 &&
        read_picture(&form, text, h.after, &depth, err) == 0 &&
        read_heights(save, doc, &form.box, h.now, err) == 0 &&
        keep_unchanged(&form, put->original, &h, err) == 0 &&
        check_depth(&form.box, h.before, depth, err) == 0)
        tfs_sculpt(save, edit, &form.box, h.now, h.after, err);
    free(h.before);
    return err->code;
}

#define HEIGHTMAP_LENS(tile, there)                                                                \
    {                                                                                              \
        .param = (tile), .get = heightmap_get, .get_range = heightmap_range, .put = heightmap_put, \
        .size = heightmap_size, .exists = (there)                                                  \
    }

const struct tfs_lens tfs_heightmap_lens = HEIGHTMAP_LENS(NULL, NULL);
const struct tfs_lens tfs_heightmap_tile_lens = HEIGHTMAP_LENS("tile", tfs_picture_tile_exists);
