/* Pictures <-> numbers: see picture_numbers.h. */
#include "picture_numbers.h"

#include <check.h>
#include <string.h>

#include "formats/views/pictures/columns.h"

uint32_t width, depth;
uint16_t heights[HEIGHTS_MAX], previous[HEIGHTS_MAX];
static uint16_t wanted[HEIGHTS_MAX];

void height_tile_read(struct tfs_span png, uint32_t columns_x, uint32_t columns_z)
{
    struct tfs_buf samples = {0};
    struct tfs_error err = {0};
    unsigned bits;

    width = columns_x;
    depth = columns_z;
    const struct tfs_png_shape shape = {.width = width, .height = depth, .type = TFS_PNG_GREY16};
    ck_assert_msg(tfs_png_read(png, &shape, &samples, &bits, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(bits, 16);
    ck_assert_uint_le(samples.size / 2, sizeof(heights) / sizeof(heights[0]));
    for (size_t i = 0; i < samples.size / 2; i++)
        heights[i] = (uint16_t)(samples.data[2 * i] << 8 | samples.data[2 * i + 1]);
    tfs_buf_release(&samples);
}

void height_picture_read(const struct tfs_save *save, const struct tfs_doc *doc,
                         struct tfs_span png)
{
    struct tfs_picture_box box;

    ck_assert(tfs_picture_box(save->tree->cells, doc, &box));
    height_tile_read(png, (uint32_t)box.sx, (uint32_t)box.sz);
}

void heights_draw(const struct tfs_save *save, const struct tfs_doc *doc,
                  struct maker_random *random)
{
    struct tfs_picture_box box;

    ck_assert(tfs_picture_box(save->tree->cells, doc, &box));
    memcpy(previous, heights, sizeof(heights));
    for (size_t i = 0; i < (size_t)width * depth; i++)
        if (maker_draw(random, 4) == 0)
            heights[i] = (uint16_t)maker_draw(random, (uint32_t)box.sy + 1);
    memcpy(wanted, heights, sizeof(heights));
}

void heights_check(void)
{
    for (size_t i = 0; i < (size_t)width * depth; i++) {
        if (wanted[i] < previous[i])
            ck_assert_uint_le(heights[i], wanted[i]);
        else
            ck_assert_uint_eq(heights[i], wanted[i]);
    }
}

void height_row(void *arg, uint32_t row, uint8_t *samples)
{
    const struct tfs_png_shape *shape = arg;

    for (uint32_t x = 0; x < shape->width; x++) {
        uint16_t height = heights[row * shape->width + x];
        if (shape->type == TFS_PNG_GREY8) {
            samples[x] = (uint8_t)height;
            continue;
        }
        samples[2 * x] = (uint8_t)(height >> 8);
        samples[2 * x + 1] = (uint8_t)height;
    }
}

void height_picture_write(enum tfs_png_type type, struct tfs_buf *png)
{
    struct tfs_png_shape shape = {.width = width, .height = depth, .type = type};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_png_write(&shape, height_row, &shape, png, &err), 0);
}

/* Signature, IHDR, the head of IDAT, of zlib and of the one stored block. */
#define SAMPLES_BEGIN (8 + 25 + 8 + 2 + 5)
#define WIDTH_AT      16

uint32_t map_picture_colour(struct tfs_span png, uint32_t x, uint32_t z)
{
    struct tfs_cursor c = tfs_cursor_init(png);

    tfs_take(&c, WIDTH_AT);
    const size_t line = 1 + 3 * (size_t)tfs_take_u32be(&c);
    const size_t at = SAMPLES_BEGIN + z * line + 1 + x * 3;
    ck_assert_uint_lt(at + 2, png.size);
    const uint8_t *rgb = png.data + at;
    return (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
}
