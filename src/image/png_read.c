/*
 * A PNG of any kind -> samples of one type, if that loses nothing.
 *
 * Must not know what the samples mean. The bytes may be a bomb: ancillary chunks are skipped unread
 * (a profile or a text could inflate to anything), the size is compared before a row is allocated,
 * and no more is allocated than so many bytes can inflate to. libpng reports errors by longjmp:
 * everything it must not leak hangs on struct reader, and only functions called by `guarded` call
 * what may jump.
 */
#include "image/png.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#define SIGNATURE_SIZE 8
#define INFLATE_RATIO  1032 /* the most that deflate makes of a byte */
#define PALETTE_MAX    256

enum { RED, GREEN, BLUE, ALPHA, CHANNELS };

struct reader {
    png_structp png;
    png_infop info;
    const struct tfs_png_source *source;
    uint64_t at; /* what of it was read */
    const struct tfs_png_shape *shape;
    tfs_png_take_fn take;
    void *arg;
    struct tfs_error *err;

    unsigned depth;    /* as the file says, 8 for a palette */
    unsigned channels; /* as libpng gives them: 1 grey or index, 2 with alpha, 3 RGB, 4 RGBA */
    bool wide;         /* 16 bits a channel */
    size_t row_size;
    size_t stored_row; /* bytes of one as the file has it */
    bool straight;     /* what libpng gives is what is wanted */

    bool indexed;
    bool by_index;                     /* a palette of colours of others */
    uint32_t numbers[TFS_PNG_COLOURS]; /* INDEX8: their colours */
    unsigned last;                     /* the number that was met last */
    bool palette_alpha;
    uint32_t colours;
    uint8_t palette[PALETTE_MAX][CHANNELS];

    uint8_t *out;    /* the samples of one row, unless straight */
    uint8_t *given;  /* one row as libpng gives it; all of them when interlaced */
    png_bytep *rows; /* when interlaced */
};

/* ---- libpng ---------------------------------------------------------------------------------- */

static void on_error(png_structp png, png_const_charp message)
{
    struct reader *r = png_get_error_ptr(png);

    tfs_fail(r->err, -EBADMSG, "the PNG is damaged: %s", message);
    png_longjmp(png, 1);
}

/* What libpng says of no memory differs; that there was none is to be known. */
static png_voidp on_malloc(png_structp png, png_alloc_size_t size)
{
    struct reader *r = png_get_mem_ptr(png);
    void *memory = malloc(size);

    if (memory == NULL)
        tfs_fail_memory(r->err);
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep data, size_t size)
{
    struct reader *r = png_get_io_ptr(png);

    if (size > r->source->size - r->at)
        png_error(png, "it is cut off");
    if (r->source->read(r->source->arg, r->at, size, data, r->err) < 0)
        png_error(png, "it cannot be read"); /* what is said of it is known */
    r->at += size;
}

static int reader_init(struct reader *r, struct tfs_error *err)
{
    r->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, on_error, on_warning, r, on_malloc,
                                      on_free);
    if (r->png == NULL)
        return tfs_fail_memory(err);
    r->info = png_create_info_struct(r->png);
    return r->info == NULL ? tfs_fail_memory(err) : 0;
}

static void reader_release(struct reader *r)
{
    png_destroy_read_struct(&r->png, &r->info, NULL);
    free(r->out);
    free(r->given);
    free(r->rows);
}

/* Runs a step that calls libpng; its errors come out here. */
static int guarded(struct reader *r, int (*step)(struct reader *r))
{
    if (setjmp(png_jmpbuf(r->png)) != 0)
        return r->err->code;
    return step(r);
}

/* ---- the header ------------------------------------------------------------------------------ */

static int check_size(struct reader *r)
{
    uint32_t width = png_get_image_width(r->png, r->info);
    uint32_t height = png_get_image_height(r->png, r->info);

    if (width == r->shape->width && height == r->shape->height)
        return 0;
    return tfs_fail(r->err, -EBADMSG, "the picture has %u x %u pixels, %u x %u are needed", width,
                    height, r->shape->width, r->shape->height);
}

static void read_palette(struct reader *r)
{
    png_colorp colours = NULL;
    png_bytep alphas = NULL;
    int count = 0, alpha_count = 0;

    png_get_PLTE(r->png, r->info, &colours, &count);
    r->palette_alpha = png_get_tRNS(r->png, r->info, &alphas, &alpha_count, NULL) != 0;
    r->colours = (uint32_t)count;
    for (int i = 0; i < count && i < PALETTE_MAX; i++) {
        r->palette[i][RED] = colours[i].red;
        r->palette[i][GREEN] = colours[i].green;
        r->palette[i][BLUE] = colours[i].blue;
        r->palette[i][ALPHA] = r->palette_alpha && i < alpha_count ? alphas[i] : UINT8_MAX;
    }
}

/* Does libpng give what is wanted without our doing? */
static bool gives_wanted(const struct reader *r)
{
    switch (r->shape->type) {
    case TFS_PNG_GREY8:
    case TFS_PNG_INDEX8:
        return !r->indexed && r->channels == 1 && !r->wide;
    case TFS_PNG_GREY16:
        return r->channels == 1 && r->wide;
    case TFS_PNG_RGBA8:
        return r->channels == 4 && !r->wide;
    case TFS_PNG_RGB8:
        break;
    }
    return false;
}

/* The number that is shown in this colour; negative: none is. */
static int number_of(struct reader *r, const unsigned pixel[CHANNELS])
{
    const uint32_t colour = (uint32_t)(pixel[RED] << 16 | pixel[GREEN] << 8 | pixel[BLUE]);

    if (r->numbers[r->last] == colour)
        return (int)r->last;
    for (r->last = 0; r->last < TFS_PNG_COLOURS - 1 && r->numbers[r->last] != colour;)
        r->last++;
    return r->numbers[r->last] == colour ? (int)r->last : -1;
}

/* Is it a palette of colours that are neither ours nor grey? */
static bool is_of_others(struct reader *r)
{
    bool coloured = false;

    for (uint32_t i = 0; i < r->colours; i++) {
        const uint8_t *p = r->palette[i];
        const unsigned pixel[CHANNELS] = {p[RED], p[GREEN], p[BLUE], p[ALPHA]};
        if (number_of(r, pixel) >= 0)
            return false;
        coloured = coloured || p[RED] != p[GREEN] || p[RED] != p[BLUE];
    }
    return coloured;
}

static int check_alpha(struct reader *r)
{
    bool alpha = r->indexed ? r->palette_alpha : r->channels % 2 == 0;

    if (r->shape->type != TFS_PNG_RGBA8 || alpha)
        return 0;
    return tfs_fail(r->err, -EBADMSG,
                    "the picture has no alpha channel, which holds the fourth value of each pixel: "
                    "save it as RGBA with 8 bits");
}

/* Everything up to the first row. Bit depths below 8 become 8 by the PNG scale, a transparent
 * colour becomes an alpha channel; a palette stays, so that an index beyond it is noticed. */
static int read_header(struct reader *r)
{
    png_set_read_fn(r->png, r, on_read);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_crc_action(r->png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_user_limits(r->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(r->png, r->info);
    if (check_size(r) < 0)
        return r->err->code;

    r->stored_row = png_get_rowbytes(r->png, r->info);
    r->indexed = png_get_color_type(r->png, r->info) == PNG_COLOR_TYPE_PALETTE;
    r->depth = r->indexed ? 8 : png_get_bit_depth(r->png, r->info);
    if (r->indexed) {
        png_set_packing(r->png);
        read_palette(r);
    } else {
        png_set_expand(r->png);
    }
    (void)png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->channels = png_get_channels(r->png, r->info);
    r->wide = png_get_bit_depth(r->png, r->info) == 16;
    r->row_size = png_get_rowbytes(r->png, r->info);
    r->straight = gives_wanted(r);
    for (unsigned i = 0; i < TFS_PNG_COLOURS; i++)
        r->numbers[i] = tfs_png_colour((uint8_t)i);
    r->by_index = r->indexed && r->shape->type == TFS_PNG_INDEX8 && is_of_others(r);
    return check_alpha(r);
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static unsigned sample(const struct reader *r, const uint8_t *row, size_t i)
{
    return r->wide ? (unsigned)row[2 * i] << 8 | row[2 * i + 1] : row[i];
}

/* Red, green, blue and alpha in the picture's own depth. False: a colour that the palette lacks. */
static bool fetch(const struct reader *r, const uint8_t *row, uint32_t x, unsigned pixel[CHANNELS])
{
    size_t first = (size_t)x * r->channels;
    bool colour = r->channels > 2;

    if (r->indexed) {
        for (unsigned c = 0; c < CHANNELS && row[x] < r->colours; c++)
            pixel[c] = r->palette[row[x]][c];
        return row[x] < r->colours;
    }
    for (unsigned c = RED; c <= BLUE; c++)
        pixel[c] = sample(r, row, colour ? first + c : first);
    pixel[ALPHA] = r->channels % 2 == 0 ? sample(r, row, first + r->channels - 1)
                                        : (r->wide ? UINT16_MAX : UINT8_MAX);
    return true;
}

static int check_grey(struct reader *r, uint32_t x, uint32_t y, const unsigned pixel[CHANNELS])
{
    unsigned opaque = r->wide ? UINT16_MAX : UINT8_MAX;

    if (pixel[RED] != pixel[GREEN] || pixel[RED] != pixel[BLUE])
        return tfs_fail(r->err, -EBADMSG, "pixel %u,%u is not grey: red %u, green %u, blue %u", x,
                        y, pixel[RED], pixel[GREEN], pixel[BLUE]);
    if (pixel[ALPHA] != opaque)
        return tfs_fail(r->err, -EBADMSG, "pixel %u,%u is not opaque: alpha %u of %u", x, y,
                        pixel[ALPHA], opaque);
    return 0;
}

/* Makes the first `count` values 8 bits wide. */
static int narrow(struct reader *r, uint32_t x, uint32_t y, unsigned *pixel, unsigned count)
{
    for (unsigned c = 0; c < count && r->wide; c++) {
        if (pixel[c] % 257 != 0)
            return tfs_fail(r->err, -EBADMSG,
                            "pixel %u,%u has the 16-bit value %u, which no 8-bit value stands for: "
                            "save the picture with 8 bits",
                            x, y, pixel[c]);
        pixel[c] /= 257;
    }
    return 0;
}

/* A pixel in the colour of a number: 1, and *out is that. 0: it may be a grey one. */
static int take_number(struct reader *r, const uint8_t *row, uint32_t x, uint32_t y,
                       unsigned *pixel, uint8_t *out)
{
    if (pixel[RED] == pixel[GREEN] && pixel[RED] == pixel[BLUE] && !r->by_index)
        return 0;
    if (narrow(r, x, y, pixel, CHANNELS) < 0)
        return r->err->code;
    const int number = r->by_index ? row[x] : number_of(r, pixel);
    if (number < 0)
        return tfs_fail(r->err, -EBADMSG,
                        "pixel %u,%u has a colour that no number is shown in: red %u, green %u, "
                        "blue %u (paint without soft edges)",
                        x, y, pixel[RED], pixel[GREEN], pixel[BLUE]);
    *out = (uint8_t)number;
    return pixel[ALPHA] == UINT8_MAX
               ? 1
               : tfs_fail(r->err, -EBADMSG, "pixel %u,%u is not opaque: alpha %u of 255", x, y,
                          pixel[ALPHA]);
}

/* One pixel as the wanted samples. */
static int convert_pixel(struct reader *r, const uint8_t *row, uint32_t x, uint32_t y, uint8_t *out)
{
    unsigned pixel[CHANNELS] = {0};

    if (!fetch(r, row, x, pixel))
        return tfs_fail(r->err, -EBADMSG, "pixel %u,%u has colour %u of a palette of %u", x, y,
                        row[x], r->colours);
    if (r->shape->type == TFS_PNG_INDEX8 && take_number(r, row, x, y, pixel, out) != 0)
        return r->err->code;
    if (r->shape->type == TFS_PNG_RGBA8) {
        if (narrow(r, x, y, pixel, CHANNELS) < 0)
            return r->err->code;
        for (unsigned c = 0; c < CHANNELS; c++)
            out[c] = (uint8_t)pixel[c];
        return 0;
    }
    if (check_grey(r, x, y, pixel) < 0)
        return r->err->code;
    if (r->shape->type == TFS_PNG_GREY16) {
        unsigned value = r->wide ? pixel[RED] : pixel[RED] * 257;
        out[0] = (uint8_t)(value >> 8);
        out[1] = (uint8_t)value;
        return 0;
    }
    if (narrow(r, x, y, pixel, 1) < 0)
        return r->err->code;
    out[0] = (uint8_t)pixel[RED];
    return 0;
}

static int give_row(struct reader *r, uint32_t y, const uint8_t *row)
{
    const size_t bytes = tfs_png_row_size(r->shape) / r->shape->width;

    for (uint32_t x = 0; x < r->shape->width && !r->straight; x++)
        if (convert_pixel(r, row, x, y, r->out + x * bytes) < 0)
            return r->err->code;
    return r->take(r->arg, r->depth, y, r->straight ? row : r->out, r->err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int read_rows(struct reader *r)
{
    for (uint32_t y = 0; y < r->shape->height; y++) {
        png_read_row(r->png, r->given, NULL);
        if (give_row(r, y, r->given) < 0)
            return r->err->code;
    }
    png_read_end(r->png, NULL);
    return 0;
}

static int read_interlaced(struct reader *r)
{
    png_read_image(r->png, r->rows);
    png_read_end(r->png, NULL);
    for (uint32_t y = 0; y < r->shape->height; y++)
        if (give_row(r, y, r->rows[y]) < 0)
            return r->err->code;
    return 0;
}

static int allocate_rows(struct reader *r, bool interlaced)
{
    size_t height = r->shape->height;

    r->out = malloc(tfs_png_row_size(r->shape));
    r->given = malloc(r->row_size * (interlaced ? height : 1));
    if (r->out == NULL || r->given == NULL)
        return tfs_fail_memory(r->err);
    if (!interlaced)
        return 0;
    r->rows = malloc(height * sizeof(*r->rows));
    if (r->rows == NULL)
        return tfs_fail_memory(r->err);
    for (size_t y = 0; y < height; y++)
        r->rows[y] = r->given + y * r->row_size;
    return 0;
}

static int read_picture(struct reader *r)
{
    if (guarded(r, read_header) < 0)
        return r->err->code;
    if ((uint64_t)r->stored_row * r->shape->height / INFLATE_RATIO > r->source->size - r->at)
        return tfs_fail(r->err, -EBADMSG, "the PNG is damaged: it is cut off");

    bool interlaced = png_get_interlace_type(r->png, r->info) != PNG_INTERLACE_NONE;
    if (allocate_rows(r, interlaced) < 0)
        return r->err->code;
    return guarded(r, interlaced ? read_interlaced : read_rows);
}

int tfs_png_read_rows(const struct tfs_png_source *source, const struct tfs_png_shape *shape,
                      tfs_png_take_fn take, void *arg, struct tfs_error *err)
{
    struct reader r = {.source = source, .shape = shape, .take = take, .arg = arg, .err = err};
    uint8_t head[SIGNATURE_SIZE];

    if (source->size >= SIGNATURE_SIZE &&
        source->read(source->arg, 0, SIGNATURE_SIZE, head, err) < 0)
        return err->code;
    if (source->size < SIGNATURE_SIZE || png_sig_cmp(head, 0, SIGNATURE_SIZE) != 0)
        return tfs_fail(err, -EBADMSG, "this is not a PNG picture");
    int result = reader_init(&r, err);
    if (result == 0)
        result = read_picture(&r);
    reader_release(&r);
    return result;
}

/* ---- in memory ------------------------------------------------------------------------------- */

static int read_span(const void *arg, uint64_t offset, size_t size, uint8_t *out,
                     struct tfs_error *err)
{
    const struct tfs_span *png = arg;

    (void)err;
    if (size > 0)
        memcpy(out, png->data + offset, size);
    return 0;
}

struct tfs_png_source tfs_png_source_of(const struct tfs_span *png)
{
    return (struct tfs_png_source){png->size, read_span, png};
}

struct gathering {
    const struct tfs_png_shape *shape;
    struct tfs_buf *samples;
    size_t begin;
    unsigned depth;
};

/* Room for all rows is made when the first one comes: then the size is known to be right. */
static int gather_row(void *arg, unsigned depth, uint32_t row, const uint8_t *samples,
                      struct tfs_error *err)
{
    struct gathering *g = arg;
    const size_t size = tfs_png_row_size(g->shape);

    if (row == 0)
        (void)tfs_buf_reserve(g->samples, size * g->shape->height);
    g->depth = depth;
    tfs_buf_add(g->samples, samples, size);
    return tfs_buf_check(g->samples, err);
}

int tfs_png_read(struct tfs_span png, const struct tfs_png_shape *shape, struct tfs_buf *samples,
                 unsigned *depth, struct tfs_error *err)
{
    const struct tfs_png_source source = tfs_png_source_of(&png);
    struct gathering g = {.shape = shape, .samples = samples, .begin = samples->size};

    if (tfs_png_read_rows(&source, shape, gather_row, &g, err) == 0)
        *depth = g.depth;
    else
        samples->size = g.begin;
    return err->code;
}
