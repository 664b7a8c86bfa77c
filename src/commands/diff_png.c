/*
 * A difference -> one picture: map.png of both sides and, beside them, the map in grey with what
 * changed marked, for reviews where nobody runs this program.
 *
 * The maps are drawn one after the other into temporary files: that of an exported directory shares
 * what it is drawn from with the save's. In memory are a block of rows and the marks.
 *
 * Where three maps do not fit, a pixel stands for a square of columns: it shows the colour that the
 * map has at the first of them, and is marked when one of them is. A map that is scaled down by
 * itself has the colours of squares already.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/diff.h"
#include "commands/output.h"
#include "formats/compare/changed_columns.h"
#include "formats/views/pictures/columns.h"

#define PANELS     3 /* before, after, changes */
#define GAP        8
#define SIDE_SMALL 256 /* a map below it is drawn enlarged */
#define EDGE_FROM  800 /* columns: the edges of chunks are wider by a pixel */
#define PIXEL      3

static const uint8_t background[PIXEL] = {0x16, 0x18, 0x1d};
static const uint8_t gap_colour[PIXEL] = {0xff, 0xff, 0xff};
static const uint8_t column_colour[PIXEL] = {0xff, 0x20, 0xc0};
static const uint8_t frame_colour[PIXEL] = {0xff, 0xc8, 0x20};
static const uint8_t added_colour[PIXEL] = {0x20, 0xe0, 0x40};
static const uint8_t removed_colour[PIXEL] = {0xf0, 0x28, 0x20};

/* The map of one side. */
struct map {
    FILE *file; /* NULL: the side has no chunk */
    struct tfs_png_shape shape;
    struct tfs_area area;
    uint64_t texts; /* bytes of the file that the shape does not tell */
    uint64_t unit;  /* columns of a pixel along a side */
    uint8_t *row;   /* of pixels */
};

struct picture {
    struct tfs_differ *d;
    struct map maps[TFS_SIDES];
    struct tfs_area area; /* of both */
    bool north_up, stacked;
    uint64_t unit;          /* columns of a square along a side; not less than that of a map */
    uint64_t width, height; /* of the area in squares */
    uint32_t scale;         /* pixels of a square along a side; 1 where it has several columns */
    struct tfs_png_shape shape;
    struct tfs_marks marks;
    uint8_t *rows[TFS_SIDES]; /* of squares of the maps, those of `z` */
    uint64_t z;               /* in squares from the area's corner; UINT64_MAX: none */
    struct tfs_error *err;    /* of a row */
};

/* ---- the maps -------------------------------------------------------------------------------- */

static const struct tfs_file *find_map(const struct tfs_tree *tree)
{
    for (unsigned i = 0; i < tree->root.count; i++)
        if (strcmp(tree->root.files[i].path, "map.png") == 0)
            return &tree->root.files[i];
    return NULL;
}

/* Appends all of the map to the file. */
static int spool(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_lens *lens,
                 FILE *file, struct tfs_error *err)
{
    const struct tfs_at at = tfs_lens_at(lens, (struct tfs_key){0}, 0);
    struct tfs_buf bytes = {0};

    if (lens->get(save, doc, at, &bytes, err) == 0 && tfs_buf_check(&bytes, err) == 0 &&
        fwrite(bytes.data, 1, bytes.size, file) != bytes.size)
        tfs_fail_errno(err, "the map cannot be written to a temporary file");
    tfs_buf_release(&bytes);
    if (err->code == 0 && fflush(file) != 0)
        tfs_fail_errno(err, "the map cannot be written to a temporary file");
    return err->code;
}

/* What the file of the map says of itself, and what a pixel of it shows. */
static int read_shape(struct map *map, const struct tfs_picture_box *box, struct tfs_error *err)
{
    const uint64_t longer = box->sx > box->sz ? box->sx : box->sz;
    uint8_t head[64];
    ssize_t n = pread(fileno(map->file), head, sizeof(head), 0);

    map->shape.type = TFS_PNG_RGB8;
    if (n < 0 ||
        !tfs_png_sides((struct tfs_span){head, (size_t)n}, &map->shape.width, &map->shape.height))
        return tfs_fail(err, -EIO, "the map cannot be read back");
    map->texts = (uint64_t)lseek(fileno(map->file), 0, SEEK_END) - tfs_png_size(&map->shape);
    map->unit = 1;
    while (longer > TFS_PNG_SIDE_MAX * map->unit)
        map->unit *= 2;
    map->area = (struct tfs_area){box->x, box->z, map->unit > 1 ? box->sx : map->shape.width,
                                  map->unit > 1 ? box->sz : map->shape.height};
    map->row = malloc(tfs_png_row_size(&map->shape));
    return map->row == NULL ? tfs_fail_memory(err) : 0;
}

static int draw_map(struct picture *p, int side, struct tfs_error *err)
{
    struct tfs_save *save = p->d->saves[side];
    const struct tfs_doc *doc = p->d->docs[side];
    const struct tfs_file *file = find_map(save->tree);
    struct map *map = &p->maps[side];
    struct tfs_picture_box box;

    if (file == NULL)
        return tfs_fail(err, -EINVAL, "this format has no map.png: there is no picture of it");
    if (tfs_doc_group_count(doc, 0) == 0)
        return 0;
    tfs_picture_box(save->tree->cells, doc, &box);
    if (file->count != NULL && file->count(save->tree, doc) == 0)
        return tfs_fail(err, -EFBIG,
                        "%s is too large for a picture: it is %" PRIu64 " x %" PRIu64
                        " columns, %" PRIu64 " high; a picture has at most %d a side",
                        p->d->cli->operands[side], box.sx, box.sz, box.sy, TFS_PNG_SIDE_MAX);
    map->file = tmpfile();
    if (map->file == NULL)
        return tfs_fail_errno(err, "no temporary file can be made for the map");
    return spool(save, doc, file->lens, map->file, err) < 0 ? err->code
                                                            : read_shape(map, &box, err);
}

/* ---- the layout ------------------------------------------------------------------------------ */

static void join(struct tfs_area *all, const struct tfs_area *one)
{
    if (all->width == 0) {
        *all = *one;
        return;
    }
    const int64_t x = one->x < all->x ? one->x : all->x, z = one->z < all->z ? one->z : all->z;
    const int64_t all_x = all->x + (int64_t)all->width, one_x = one->x + (int64_t)one->width;
    const int64_t all_z = all->z + (int64_t)all->height, one_z = one->z + (int64_t)one->height;

    *all = (struct tfs_area){x, z, (uint64_t)((all_x > one_x ? all_x : one_x) - x),
                             (uint64_t)((all_z > one_z ? all_z : one_z) - z)};
}

static uint64_t three(uint64_t side)
{
    return PANELS * side + (PANELS - 1) * (uint64_t)GAP;
}

/* Side by side, or one below the other where that alone fits. */
static bool fits(struct picture *p)
{
    p->width = (p->area.width + p->unit - 1) / p->unit;
    p->height = (p->area.height + p->unit - 1) / p->unit;
    p->stacked = three(p->width) > TFS_PNG_SIDE_MAX;
    return p->width <= TFS_PNG_SIDE_MAX && p->height <= TFS_PNG_SIDE_MAX &&
           (!p->stacked || three(p->height) <= TFS_PNG_SIDE_MAX);
}

static int lay_out(struct picture *p, struct tfs_error *err)
{
    p->unit = 1;
    for (int side = 0; side < TFS_SIDES; side++)
        if (p->maps[side].file != NULL) {
            join(&p->area, &p->maps[side].area);
            if (p->maps[side].unit > p->unit)
                p->unit = p->maps[side].unit;
        }
    if (p->area.width == 0)
        return tfs_fail(err, -EINVAL, "neither side has terrain: there is no picture of it");
    while (!fits(p))
        p->unit *= 2;
    const uint64_t longer = p->width > p->height ? p->width : p->height;
    p->scale = p->unit == 1 && longer < SIDE_SMALL ? SIDE_SMALL / (uint32_t)longer : 1;
    const uint64_t drawn[2] = {p->width * p->scale, p->height * p->scale};
    p->shape = (struct tfs_png_shape){
        .width = (uint32_t)(p->stacked ? drawn[0] : three(drawn[0])),
        .height = (uint32_t)(p->stacked ? three(drawn[1]) : drawn[1]),
        .type = TFS_PNG_RGB8,
    };
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Sets the first column of the square that the map has; from `from` on, in the world. False: it has
 * none. */
static bool find_column(const struct picture *p, int64_t from, int64_t begins, uint64_t size,
                        uint64_t *column)
{
    const int64_t first = from < begins ? begins : from;

    *column = (uint64_t)(first - begins);
    return first < from + (int64_t)p->unit && *column < size;
}

/* Reads the row of a map that is at p->z, if it has one, over a background. */
static void read_row(struct picture *p, int side)
{
    const struct map *map = &p->maps[side];
    const struct tfs_area *area = &map->area;
    const size_t size = tfs_png_row_size(&map->shape);
    uint8_t *row = p->rows[side];
    uint64_t x, z;

    for (uint64_t i = 0; i < p->width; i++)
        memcpy(row + i * PIXEL, background, PIXEL);
    if (map->file == NULL ||
        !find_column(p, p->area.z + (int64_t)(p->z * p->unit), area->z, area->height, &z))
        return;
    const uint64_t line = (p->north_up ? area->height - 1 - z : z) / map->unit;
    const uint64_t from = map->texts + tfs_png_row_offset(&map->shape, (uint32_t)line);
    if (pread(fileno(map->file), map->row, size, (off_t)from) != (ssize_t)size) {
        tfs_fail(p->err, -EIO, "the map cannot be read back from its temporary file");
        return;
    }
    for (uint64_t i = 0; i < p->width; i++)
        if (find_column(p, p->area.x + (int64_t)(i * p->unit), area->x, area->width, &x))
            memcpy(row + i * PIXEL, map->row + x / map->unit * PIXEL, PIXEL);
}

static bool is_background(const uint8_t *pixel)
{
    return memcmp(pixel, background, PIXEL) == 0;
}

/* Grey, and darker: what is marked stands out. */
static void add_shade(const struct picture *p, uint64_t x, uint8_t out[PIXEL])
{
    const uint8_t *after = p->rows[TFS_AFTER] + x * PIXEL;
    const uint8_t *pixel = is_background(after) ? p->rows[TFS_BEFORE] + x * PIXEL : after;

    memset(out, (pixel[0] * 5 + pixel[1] * 9 + pixel[2] * 2) / 32, PIXEL);
}

static void tint(uint8_t out[PIXEL], const uint8_t colour[PIXEL])
{
    for (int i = 0; i < PIXEL; i++)
        out[i] = (uint8_t)((out[i] + colour[i]) / 2);
}

/* Is the pixel at the edge of its stack of chunks? Edges of a large map are wider: it is looked at
 * from farther away. */
static bool is_edge(const struct picture *p, uint64_t pixel_x, uint64_t pixel_z)
{
    const uint64_t longer = p->width > p->height ? p->width : p->height;
    const uint64_t wide = 1 + longer / EDGE_FROM;
    const uint64_t side_x = p->marks.stack_x / p->unit * p->scale;
    const uint64_t side_z = p->marks.stack_z / p->unit * p->scale;
    const uint64_t x = pixel_x % side_x, z = pixel_z % side_z;

    return x < wide || z < wide || x + wide >= side_x || z + wide >= side_z;
}

static void add_marks(const struct picture *p, uint64_t pixel_x, uint64_t pixel_z,
                      uint8_t out[PIXEL])
{
    const uint64_t x = pixel_x / p->scale * p->unit, z = p->z * p->unit;
    const unsigned stack = tfs_marks_stack(&p->marks, x, z);

    add_shade(p, pixel_x / p->scale, out);
    if (stack & TFS_MARK_REMOVED)
        tint(out, removed_colour);
    if (stack & TFS_MARK_ADDED)
        tint(out, added_colour);
    if (tfs_marks_column(&p->marks, x, z))
        memcpy(out, column_colour, PIXEL);
    else if (stack & TFS_MARK_CHANGED && is_edge(p, pixel_x, pixel_z))
        memcpy(out, frame_colour, PIXEL);
}

/* One row of pixels of a panel. */
static void draw_panel(struct picture *p, unsigned panel, uint32_t row, uint8_t *samples)
{
    const uint64_t height = p->height * p->scale;
    const uint64_t pixel_z = p->north_up ? height - 1 - row : row, z = pixel_z / p->scale;

    if (z != p->z) {
        p->z = z;
        for (int side = 0; side < TFS_SIDES; side++)
            read_row(p, side);
    }
    for (uint64_t x = 0; x < p->width * p->scale; x++, samples += PIXEL)
        if (panel < TFS_SIDES)
            memcpy(samples, p->rows[panel] + x / p->scale * PIXEL, PIXEL);
        else
            add_marks(p, x, pixel_z, samples);
}

static void draw_row(void *arg, uint32_t row, uint8_t *samples)
{
    struct picture *p = arg;
    const uint32_t height = (uint32_t)p->height * p->scale;
    const size_t width = (size_t)p->width * p->scale * PIXEL;

    for (size_t i = 0; i < p->shape.width; i++)
        memcpy(samples + i * PIXEL, gap_colour, PIXEL);
    for (unsigned panel = 0; panel < PANELS && !p->stacked; panel++)
        draw_panel(p, panel, row, samples + panel * (width + GAP * PIXEL));
    if (p->stacked && row % (height + GAP) < height)
        draw_panel(p, row / (height + GAP), row % (height + GAP), samples);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_blocks(struct picture *p, struct tfs_sink *sink, struct tfs_png_sum *sums,
                        struct tfs_buf *bytes, struct tfs_error *err)
{
    void *const args[] = {p};
    const struct tfs_png_rows rows = {draw_row, args, 1};

    p->err = err;
    for (uint32_t i = 0; i < tfs_png_blocks(&p->shape) && err->code == 0; i++) {
        tfs_buf_clear(bytes);
        if (tfs_png_write_blocks(&p->shape, i, i + 1, &rows, &sums[i], bytes, err) == 0)
            tfs_sink_span(sink, tfs_buf_span(bytes), err);
    }
    return err->code;
}

static int write_png(struct picture *p, struct tfs_sink *sink, struct tfs_error *err)
{
    struct tfs_png_sum *sums = calloc(tfs_png_blocks(&p->shape), sizeof(*sums));
    struct tfs_buf bytes = {0};

    if (sums == NULL)
        return tfs_fail_memory(err);
    tfs_png_write_head(&p->shape, &bytes);
    if (tfs_buf_check(&bytes, err) == 0 && tfs_sink_span(sink, tfs_buf_span(&bytes), err) == 0 &&
        write_blocks(p, sink, sums, &bytes, err) == 0) {
        tfs_buf_clear(&bytes);
        tfs_png_write_tail(&p->shape, sums, &bytes);
        if (tfs_buf_check(&bytes, err) == 0)
            tfs_sink_span(sink, tfs_buf_span(&bytes), err);
    }
    tfs_buf_release(&bytes);
    free(sums);
    return err->code;
}

static int write_file(struct picture *p, const struct stat *like, struct tfs_error *err)
{
    static const struct tfs_output_kind kind = {"a PNG", {(const uint8_t *)"\x89PNG\r\n\x1a\n", 8}};
    struct tfs_output out;

    if (tfs_output_open(p->d->cli->png, &kind, like, &out, err) < 0)
        return err->code;
    if (write_png(p, &out.file.sink, err) < 0)
        tfs_output_cancel(&out);
    else
        tfs_output_finish(&out, err);
    return err->code;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int draw(struct picture *p, struct tfs_error *err)
{
    for (int side = 0; side < TFS_SIDES; side++)
        if (draw_map(p, side, err) < 0)
            return err->code;
    if (lay_out(p, err) < 0)
        return err->code;
    const int some = p->maps[TFS_BEFORE].file != NULL ? TFS_BEFORE : TFS_AFTER;
    const struct tfs_cells_kind *kind = p->d->saves[some]->tree->cells;
    p->north_up = (kind->flags & TFS_CELLS_NORTH_UP) != 0;
    for (int side = 0; side < TFS_SIDES; side++) {
        p->rows[side] = malloc((size_t)p->width * PIXEL);
        if (p->rows[side] == NULL)
            return tfs_fail_memory(err);
    }
    if (tfs_marks_make(p->d->diff, &p->area, tfs_cells_size(kind, p->d->docs[some]), p->unit,
                       &p->marks, err) < 0)
        return err->code;
    write_file(p, &p->d->saves[some]->st, err);
    tfs_marks_release(&p->marks);
    return err->code;
}

int tfs_differ_png(struct tfs_differ *d, struct tfs_error *err)
{
    struct picture p = {.d = d, .z = UINT64_MAX};

    draw(&p, err);
    for (int side = 0; side < TFS_SIDES; side++) {
        free(p.rows[side]);
        free(p.maps[side].row);
        if (p.maps[side].file != NULL)
            fclose(p.maps[side].file);
    }
    return err->code;
}
