/*
 * PNG pictures: what is written is exactly as long as the formula says and reads back; what is read
 * converts without loss or is refused with the size or the pixel.
 *
 * Pictures to read are written here with libpng, of every kind.
 */
#include "png_case.h"

#include <stdio.h>
#include <string.h>

#include <png.h>

/* ---- pictures of every kind ------------------------------------------------------------------ */

#define TRNS_NONE (-1)

/* A picture as libpng shall write it. rows: samples as libpng takes them, `stride` bytes a row. */
struct source {
    uint32_t width, height;
    int colour, depth;
    bool interlaced;
    int trns; /* grey: the transparent value; palette: alpha of entry 0; TRNS_NONE */
    const uint8_t *rows;
    size_t stride;
};

static void on_write(png_structp png, png_bytep data, size_t size)
{
    tfs_buf_add(png_get_io_ptr(png), data, size);
}

static void on_flush(png_structp png)
{
    (void)png;
}

static const png_color palette[4] = {{0, 0, 0}, {7, 7, 7}, {255, 255, 255}, {9, 8, 8}};

static void set_trns(png_structp png, png_infop info, const struct source *s)
{
    png_byte alpha = (png_byte)s->trns;
    png_color_16 key = {.gray = (png_uint_16)s->trns};

    if (s->colour == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, 4);
    if (s->trns == TRNS_NONE)
        return;
    if (s->colour == PNG_COLOR_TYPE_PALETTE)
        png_set_tRNS(png, info, &alpha, 1, NULL);
    else
        png_set_tRNS(png, info, NULL, 0, &key);
}

static void make_png(const struct source *s, struct tfs_buf *out)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    const uint8_t *rows[256];

    ck_assert_uint_le(s->height, 256);
    for (uint32_t y = 0; y < s->height; y++)
        rows[y] = s->rows + y * s->stride;
    png_set_write_fn(png, out, on_write, on_flush);
    png_set_check_for_invalid_index(png, 0);
    png_set_IHDR(png, info, s->width, s->height, s->depth, s->colour,
                 s->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    set_trns(png, info, s);
    png_set_gAMA_fixed(png, info, 45455);
    png_set_rows(png, info, (png_bytepp)(uintptr_t)rows);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void check_round_trip(struct tfs_png_shape shape)
{
    struct tfs_buf png = {0}, samples = {0};
    struct tfs_error err = {0};
    unsigned depth = 0;
    size_t size = tfs_png_row_size(&shape);

    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &size, &png, &err), 0);
    ck_assert_uint_eq(png.size, tfs_png_size(&shape));
    if (shape.type != TFS_PNG_RGB8) {
        uint8_t *row = malloc(size);
        ck_assert_int_eq(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err), 0);
        ck_assert_uint_eq(depth, shape.type == TFS_PNG_GREY16 ? 16 : 8);
        for (uint32_t y = 0; y < shape.height; y++) {
            png_noise_row(&size, y, row);
            ck_assert_int_eq(memcmp(row, samples.data + y * size, size), 0);
        }
        free(row);
    }
    tfs_buf_release(&png);
    tfs_buf_release(&samples);
}

/* What one thread draws with. */
struct drawing {
    size_t size; /* first: as png_noise_row takes it */
    uint32_t next;
    bool disordered;
};

static void noise_row_in_order(void *arg, uint32_t row, uint8_t *samples)
{
    struct drawing *d = arg;

    d->disordered = d->disordered || (d->next != 0 && d->next != row);
    d->next = row + 1;
    png_noise_row(&d->size, row, samples);
}

static void check_shared(struct tfs_png_shape shape, unsigned threads)
{
    struct tfs_buf alone = {0}, shared = {0};
    struct tfs_error err = {0};
    size_t size = tfs_png_row_size(&shape);
    struct drawing drawings[TFS_PNG_THREADS_MAX] = {0};
    void *args[TFS_PNG_THREADS_MAX];

    for (unsigned i = 0; i < threads; i++) {
        drawings[i].size = size;
        args[i] = &drawings[i];
    }
    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &size, &alone, &err), 0);
    tfs_buf_u8(&shared, 'x'); /* it is appended */
    ck_assert_int_eq(tfs_png_write_shared(&shape, noise_row_in_order, args, threads, &shared, &err),
                     0);
    ck_assert_uint_eq(shared.size, alone.size + 1);
    ck_assert_int_eq(memcmp(shared.data + 1, alone.data, alone.size), 0);
    for (unsigned i = 0; i < threads; i++)
        ck_assert(!drawings[i].disordered);
    tfs_buf_release(&alone);
    tfs_buf_release(&shared);
}

START_TEST(png_of_several_threads_is_that_of_one)
{
    static const struct tfs_png_text texts[] = {{"origin", "-3,0,17"}};
    static const struct tfs_png_shape shapes[] = {
        {1, 1, TFS_PNG_GREY8, NULL, 0},      {255, 255, TFS_PNG_GREY8, NULL, 0},
        {255, 511, TFS_PNG_GREY8, texts, 1}, {8192, 5, TFS_PNG_GREY16, texts, 1},
        {8191, 17, TFS_PNG_RGB8, NULL, 0},   {300, 200, TFS_PNG_GREY16, texts, 1},
        {1, 8192, TFS_PNG_GREY16, NULL, 0},  {1000, 1000, TFS_PNG_RGBA8, NULL, 0},
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (unsigned threads = 1; threads <= TFS_PNG_THREADS_MAX; threads++)
            check_shared(shapes[i], threads);
}
END_TEST

/* Parts of each size, each in a buffer of its own, put together. */
START_TEST(png_in_parts_is_that_of_one)
{
    const struct tfs_png_text texts[] = {{"origin", "-16 32"}};
    const struct tfs_png_shape shape = {
        .width = 3000, .height = 100, .type = TFS_PNG_GREY16, .texts = texts, .text_count = 1};
    const uint32_t blocks = tfs_png_blocks(&shape), step = (uint32_t)_i;
    size_t size = tfs_png_row_size(&shape);
    void *args[] = {&size, &size, &size};
    const struct tfs_png_rows rows = {png_noise_row, args, 1 + step % 3};
    struct tfs_png_sum sums[16];
    struct tfs_buf whole = {0}, joined = {0};
    struct tfs_error err = {0};

    ck_assert_uint_eq(tfs_png_block_rows(&shape), 10);
    ck_assert_uint_eq(blocks, 10);
    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &size, &whole, &err), 0);
    tfs_png_write_head(&shape, &joined);
    for (uint32_t first = 0; first < blocks; first += step) {
        const uint32_t end = first + step < blocks ? first + step : blocks;
        struct tfs_buf part = {0};
        ck_assert_uint_eq(joined.size, tfs_png_offset(&shape, first));
        ck_assert_int_eq(tfs_png_write_blocks(&shape, first, end, &rows, sums + first, &part, &err),
                         0);
        tfs_buf_add_span(&joined, tfs_buf_span(&part));
        tfs_buf_release(&part);
    }
    ck_assert_uint_eq(joined.size, tfs_png_offset(&shape, blocks));
    tfs_png_write_tail(&shape, sums, &joined);
    ck_assert(tfs_span_equal(tfs_buf_span(&joined), tfs_buf_span(&whole)));
    tfs_buf_release(&joined);
    tfs_buf_release(&whole);
}
END_TEST

START_TEST(png_size_is_a_formula_and_what_is_written_reads_back)
{
    /* 65535 bytes a block: 255 rows of 256, 2 rows of 32767, one row of 32769. */
    static const struct tfs_png_shape shapes[] = {
        {1, 1, TFS_PNG_GREY8, NULL, 0},      {1, 1, TFS_PNG_GREY16, NULL, 0},
        {9, 9, TFS_PNG_INDEX8, NULL, 0},     {255, 300, TFS_PNG_INDEX8, NULL, 0},
        {3, 2, TFS_PNG_RGBA8, NULL, 0},      {5, 7, TFS_PNG_RGB8, NULL, 0},
        {255, 255, TFS_PNG_GREY8, NULL, 0},  {255, 256, TFS_PNG_GREY8, NULL, 0},
        {255, 511, TFS_PNG_GREY8, NULL, 0},  {8192, 1, TFS_PNG_RGBA8, NULL, 0},
        {8192, 3, TFS_PNG_RGBA8, NULL, 0},   {8192, 5, TFS_PNG_GREY16, NULL, 0},
        {1, 8192, TFS_PNG_GREY16, NULL, 0},  {300, 200, TFS_PNG_GREY16, NULL, 0},
        {8191, 17, TFS_PNG_GREY16, NULL, 0}, {64, 64, TFS_PNG_GREY8, NULL, 0},
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        check_round_trip(shapes[i]);
}
END_TEST

START_TEST(png_with_texts_is_as_long_as_the_formula_and_carries_them)
{
    static const struct tfs_png_text texts[] = {{"origin", "-3,0,17"}, {"bottom", ""}};
    struct tfs_png_shape shape = {4, 4, TFS_PNG_GREY16, texts, 2};
    struct tfs_buf png = {0};
    struct tfs_error err = {0};
    size_t size = tfs_png_row_size(&shape);

    check_round_trip(shape);
    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &size, &png, &err), 0);
    ck_assert_ptr_nonnull(memmem(png.data, png.size, "\0\0\0\x0etEXtorigin\0-3,0,17", 22));
    ck_assert_ptr_nonnull(memmem(png.data, png.size, "\0\0\0\x07tEXtbottom\0", 15));
    tfs_buf_release(&png);
}
END_TEST

START_TEST(png_is_written_without_compression_or_filter)
{
    /* The whole file of one black pixel. */
    static const uint8_t wanted[] = {
        0x89, 'P',  'N',  'G',  '\r', '\n', 0x1a, '\n', 0,   0,   0,    13,   'I',  'H',
        'D',  'R',  0,    0,    0,    1,    0,    0,    0,   1,   8,    0,    0,    0,
        0,    0x3a, 0x7e, 0x9b, 0x55, 0,    0,    0,    13,  'I', 'D',  'A',  'T',  0x78,
        0x01, 1,    2,    0,    0xfd, 0xff, 0,    0,    0,   2,   0,    1,    0x7e, 0x05,
        0x0d, 0xd2, 0,    0,    0,    0,    'I',  'E',  'N', 'D', 0xae, 0x42, 0x60, 0x82};
    struct tfs_png_shape shape = {1, 1, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf png = {0};
    struct tfs_error err = {0};
    size_t nothing = 0; /* png_noise_row then leaves the row as it is */

    ck_assert_ptr_nonnull(tfs_buf_reserve(&png, 200));
    memset(png.data, 0, 200);
    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &nothing, &png, &err), 0);
    ck_assert_uint_eq(png.size, sizeof(wanted));
    for (size_t i = 0; i < sizeof(wanted); i++)
        ck_assert_msg(png.data[i] == wanted[i], "byte %zu is %02x", i, png.data[i]);
    tfs_buf_release(&png);
}
END_TEST

/* ---- conversion ------------------------------------------------------------------------------ */

struct conversion {
    const char *name;
    int colour, depth, trns;
    uint8_t row[8]; /* two pixels */
    enum tfs_png_type type;
    const char *refused; /* part of the sentence; NULL: accepted */
    uint8_t samples[8];
    unsigned depth_told;
};

#define GREY  PNG_COLOR_TYPE_GRAY
#define GREYA PNG_COLOR_TYPE_GRAY_ALPHA
#define RGB   PNG_COLOR_TYPE_RGB
#define RGBA  PNG_COLOR_TYPE_RGB_ALPHA
#define INDEX PNG_COLOR_TYPE_PALETTE

static const struct conversion conversions[] = {
    {"1 bit to 8", GREY, 1, TRNS_NONE, {0x40}, TFS_PNG_GREY8, NULL, {0, 255}, 1},
    {"2 bits to 8", GREY, 2, TRNS_NONE, {0x90}, TFS_PNG_GREY8, NULL, {170, 85}, 2},
    {"4 bits to 8", GREY, 4, TRNS_NONE, {0x2f}, TFS_PNG_GREY8, NULL, {34, 255}, 4},
    {"8 bits", GREY, 8, TRNS_NONE, {3, 200}, TFS_PNG_GREY8, NULL, {3, 200}, 8},
    {"16 bits that fit 8", GREY, 16, TRNS_NONE, {3, 3, 9, 9}, TFS_PNG_GREY8, NULL, {3, 9}, 16},
    {"16 bits that do not",
     GREY,
     16,
     TRNS_NONE,
     {3, 3, 9, 8},
     TFS_PNG_GREY8,
     "pixel 1,1 has the 16-bit value 2312",
     {0},
     0},
    {"1 bit to 16", GREY, 1, TRNS_NONE, {0x40}, TFS_PNG_GREY16, NULL, {0, 0, 255, 255}, 1},
    {"4 bits to 16", GREY, 4, TRNS_NONE, {0x2f}, TFS_PNG_GREY16, NULL, {34, 34, 255, 255}, 4},
    {"8 bits to 16", GREY, 8, TRNS_NONE, {3, 200}, TFS_PNG_GREY16, NULL, {3, 3, 200, 200}, 8},
    {"16 bits", GREY, 16, TRNS_NONE, {1, 2, 3, 4}, TFS_PNG_GREY16, NULL, {1, 2, 3, 4}, 16},
    {"grey RGB", RGB, 8, TRNS_NONE, {5, 5, 5, 6, 6, 6}, TFS_PNG_GREY8, NULL, {5, 6}, 8},
    {"grey RGB to 16",
     RGB,
     8,
     TRNS_NONE,
     {5, 5, 5, 6, 6, 6},
     TFS_PNG_GREY16,
     NULL,
     {5, 5, 6, 6},
     8},
    {"coloured RGB",
     RGB,
     8,
     TRNS_NONE,
     {5, 5, 5, 6, 7, 8},
     TFS_PNG_GREY8,
     "pixel 1,1 is not grey: red 6, green 7, blue 8",
     {0},
     0},
    {"opaque RGBA",
     RGBA,
     8,
     TRNS_NONE,
     {5, 5, 5, 255, 6, 6, 6, 255},
     TFS_PNG_GREY8,
     NULL,
     {5, 6},
     8},
    {"transparent RGBA",
     RGBA,
     8,
     TRNS_NONE,
     {5, 5, 5, 255, 6, 6, 6, 254},
     TFS_PNG_GREY16,
     "pixel 1,1 is not opaque: alpha 254 of 255",
     {0},
     0},
    {"opaque grey and alpha",
     GREYA,
     8,
     TRNS_NONE,
     {5, 255, 6, 255},
     TFS_PNG_GREY8,
     NULL,
     {5, 6},
     8},
    {"opaque 16-bit grey and alpha",
     GREYA,
     16,
     TRNS_NONE,
     {5, 1, 255, 255, 6, 2, 255, 255},
     TFS_PNG_GREY16,
     NULL,
     {5, 1, 6, 2},
     16},
    {"transparent 16-bit grey",
     GREYA,
     16,
     TRNS_NONE,
     {5, 1, 255, 255, 6, 2, 255, 254},
     TFS_PNG_GREY16,
     "pixel 1,1 is not opaque: alpha 65534 of 65535",
     {0},
     0},
    {"transparent colour that is not there", GREY, 8, 7, {5, 6}, TFS_PNG_GREY8, NULL, {5, 6}, 8},
    {"transparent colour that is there",
     GREY,
     8,
     6,
     {5, 6},
     TFS_PNG_GREY8,
     "pixel 1,1 is not opaque",
     {0},
     0},
    {"transparent colour of 16 bits",
     GREY,
     16,
     0x0302,
     {1, 2, 3, 2},
     TFS_PNG_GREY16,
     "pixel 1,1 is not opaque",
     {0},
     0},
    {"grey palette", INDEX, 8, TRNS_NONE, {1, 2}, TFS_PNG_GREY8, NULL, {7, 255}, 8},
    {"grey palette of 2 bits", INDEX, 2, TRNS_NONE, {0x60}, TFS_PNG_GREY8, NULL, {7, 255}, 8},
    {"grey palette to 16", INDEX, 4, TRNS_NONE, {0x12}, TFS_PNG_GREY16, NULL, {7, 7, 255, 255}, 8},
    {"coloured palette",
     INDEX,
     8,
     TRNS_NONE,
     {1, 3},
     TFS_PNG_GREY8,
     "pixel 1,1 is not grey: red 9, green 8, blue 8",
     {0},
     0},
    {"colour beyond the palette",
     INDEX,
     8,
     TRNS_NONE,
     {1, 4},
     TFS_PNG_GREY8,
     "pixel 1,1 has colour 4 of a palette of 4",
     {0},
     0},
    {"palette with an unused transparent colour",
     INDEX,
     8,
     9,
     {1, 2},
     TFS_PNG_GREY8,
     NULL,
     {7, 255},
     8},
    {"palette with a transparent colour",
     INDEX,
     8,
     9,
     {1, 0},
     TFS_PNG_GREY8,
     "pixel 1,1 is not opaque: alpha 9 of 255",
     {0},
     0},
    {"RGBA",
     RGBA,
     8,
     TRNS_NONE,
     {1, 2, 3, 4, 5, 6, 7, 0},
     TFS_PNG_RGBA8,
     NULL,
     {1, 2, 3, 4, 5, 6, 7, 0},
     8},
    {"grey and alpha to RGBA",
     GREYA,
     8,
     TRNS_NONE,
     {1, 2, 3, 0},
     TFS_PNG_RGBA8,
     NULL,
     {1, 1, 1, 2, 3, 3, 3, 0},
     8},
    {"palette with alpha to RGBA",
     INDEX,
     8,
     9,
     {0, 3},
     TFS_PNG_RGBA8,
     NULL,
     {0, 0, 0, 9, 9, 8, 8, 255},
     8},
    {"coloured palette of others to numbers",
     INDEX,
     8,
     TRNS_NONE,
     {1, 3},
     TFS_PNG_INDEX8,
     NULL,
     {1, 3},
     8},
    {"colour beyond the palette of others",
     INDEX,
     8,
     TRNS_NONE,
     {1, 4},
     TFS_PNG_INDEX8,
     "pixel 1,1 has colour 4 of a palette of 4",
     {0},
     0},
    {"RGB in colours of numbers, and grey", /* that of number 0 */
     RGB,
     8,
     TRNS_NONE,
     {255, 42, 42, 6, 6, 6},
     TFS_PNG_INDEX8,
     NULL,
     {0, 6},
     8},
    {"RGB between colours of numbers",
     RGB,
     8,
     TRNS_NONE,
     {6, 6, 6, 254, 42, 42},
     TFS_PNG_INDEX8,
     "pixel 1,1 has a colour that no number is shown in: red 254, green 42, blue 42",
     {0},
     0},
    {"grey to numbers", GREY, 8, TRNS_NONE, {3, 200}, TFS_PNG_INDEX8, NULL, {3, 200}, 8},
    {"RGBA of numbers that is not opaque",
     RGBA,
     8,
     TRNS_NONE,
     {6, 6, 6, 255, 255, 42, 42, 9},
     TFS_PNG_INDEX8,
     "pixel 1,1 is not opaque: alpha 9 of 255",
     {0},
     0},
    {"RGB to RGBA",
     RGB,
     8,
     TRNS_NONE,
     {1, 2, 3, 4, 5, 6},
     TFS_PNG_RGBA8,
     "no alpha channel",
     {0},
     0},
    {"grey to RGBA", GREY, 8, TRNS_NONE, {1, 2}, TFS_PNG_RGBA8, "no alpha channel", {0}, 0},
    {"palette without alpha to RGBA",
     INDEX,
     8,
     TRNS_NONE,
     {1, 2},
     TFS_PNG_RGBA8,
     "no alpha channel",
     {0},
     0},
};

/* The picture is 2 x 2: a row of zeros, which converts always, and the row of the table. */
static void check_conversion(const struct conversion *c, bool interlaced)
{
    uint8_t rows[2][8] = {{0}};
    struct source s = {2, 2, c->colour, c->depth, interlaced, c->trns, rows[0], 8};
    struct tfs_png_shape shape = {2, 2, c->type, NULL, 0};
    struct tfs_buf png = {0}, samples;
    struct tfs_error err;
    unsigned depth = 0;

    memcpy(rows[0], c->row, 8);
    memcpy(rows[1], c->row, 8);
    if (c->refused != NULL) /* the first pixel of the second row is the sound one of the table */
        for (size_t i = 0, bytes = (size_t)(c->depth / 8); i < 8; i++)
            rows[0][i] = c->row[i % (bytes * (c->colour == RGBA    ? 4
                                              : c->colour == RGB   ? 3
                                              : c->colour == GREYA ? 2
                                                                   : 1))];
    make_png(&s, &png);
    int result = png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err);
    if (c->refused != NULL) {
        ck_assert_msg(result < 0, "%s: accepted", c->name);
        ck_assert_msg(strstr(err.text, c->refused) != NULL, "%s: %s", c->name, err.text);
    } else {
        size_t size = tfs_png_row_size(&shape);
        ck_assert_msg(result == 0, "%s: %s", c->name, err.text);
        ck_assert_msg(depth == c->depth_told, "%s: depth %u", c->name, depth);
        ck_assert_msg(memcmp(samples.data, c->samples, size) == 0 &&
                          memcmp(samples.data + size, c->samples, size) == 0,
                      "%s: other samples", c->name);
    }
    tfs_buf_release(&png);
    tfs_buf_release(&samples);
}

START_TEST(png_converts_without_loss_or_names_the_first_bad_pixel)
{
    check_conversion(&conversions[_i], false);
}
END_TEST

START_TEST(png_interlaced_converts_alike)
{
    check_conversion(&conversions[_i], true);
}
END_TEST

START_TEST(png_interlaced_of_many_rows_is_read_in_order)
{
    static uint8_t rows[100][200];
    struct source s = {100, 100, GREY, 16, true, TRNS_NONE, rows[0], 200};
    struct tfs_png_shape shape = {100, 100, TFS_PNG_GREY16, NULL, 0};
    struct tfs_buf png = {0}, samples;
    struct tfs_error err;
    size_t size = 200;
    unsigned depth;

    for (uint32_t y = 0; y < 100; y++)
        png_noise_row(&size, y, rows[y]);
    make_png(&s, &png);
    ck_assert_int_eq(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err), 0);
    ck_assert_int_eq(memcmp(samples.data, rows, sizeof(rows)), 0);
    tfs_buf_release(&png);
    tfs_buf_release(&samples);
}
END_TEST

START_TEST(png_colours_of_numbers_differ_and_none_is_grey)
{
    for (unsigned i = 0; i < TFS_PNG_COLOURS; i++) {
        const uint32_t colour = tfs_png_colour((uint8_t)i);
        ck_assert_uint_lt(colour, 1U << 24);
        ck_assert(colour >> 16 != (colour >> 8 & 255) || (colour & 255) != colour >> 16);
        for (unsigned j = 0; j < i; j++)
            ck_assert_uint_ne(colour, tfs_png_colour((uint8_t)j));
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("png");
    const int all = sizeof(conversions) / sizeof(conversions[0]);

    TCase *t = unit_case(s, "write");
    tcase_add_loop_test(t, png_in_parts_is_that_of_one, 1, 12);
    tcase_add_test(t, png_size_is_a_formula_and_what_is_written_reads_back);
    tcase_add_test(t, png_of_several_threads_is_that_of_one);
    tcase_add_test(t, png_with_texts_is_as_long_as_the_formula_and_carries_them);
    tcase_add_test(t, png_is_written_without_compression_or_filter);

    t = unit_case(s, "convert");
    tcase_add_loop_test(t, png_converts_without_loss_or_names_the_first_bad_pixel, 0, all);
    tcase_add_loop_test(t, png_interlaced_converts_alike, 0, all);
    tcase_add_test(t, png_interlaced_of_many_rows_is_read_in_order);
    tcase_add_test(t, png_colours_of_numbers_differ_and_none_is_grey);
    return s;
}

UNIT_MAIN(suite)
