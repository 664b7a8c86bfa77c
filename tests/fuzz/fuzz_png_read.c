/*
 * Any bytes as a PNG of its own size, read as every type of samples: refused with a sentence, or
 * samples that are written and read back the same. An odd first byte has the sums of the chunks put
 * right first, so that what lies behind them is reached.
 */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "fuzz.h"
#include "image/png.h"

#define SIDE_MAX  64 /* larger ones are only slower */
#define SIGNATURE 8

static uint32_t u32_at(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_sums(uint8_t *png, size_t size)
{
    size_t at = SIGNATURE;

    while (size >= at + 12 && u32_at(png + at) <= size - at - 12) {
        size_t length = u32_at(png + at);
        uint32_t sum = (uint32_t)crc32(crc32(0, NULL, 0), png + at + 4, (uInt)length + 4);
        for (unsigned i = 0; i < 4; i++)
            png[at + 8 + length + i] = (uint8_t)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

struct picture {
    const struct tfs_png_shape *shape;
    const uint8_t *samples;
};

static void row_of(void *arg, uint32_t row, uint8_t *samples)
{
    const struct picture *p = arg;
    size_t size = tfs_png_row_size(p->shape);

    memcpy(samples, p->samples + row * size, size);
}

static void check(struct tfs_span png, enum tfs_png_type type)
{
    struct tfs_png_shape shape = {.width = 1, .height = 1, .type = type};
    struct tfs_buf samples = {0}, again = {0}, written = {0};
    struct tfs_error err = {0};
    unsigned depth = 0;

    if (png.size >= SIGNATURE + 16) {
        shape.width = u32_at(png.data + SIGNATURE + 8) % (SIDE_MAX + 1);
        shape.height = u32_at(png.data + SIGNATURE + 12) % (SIDE_MAX + 1);
    }
    shape.width += shape.width == 0;
    shape.height += shape.height == 0;
    if (tfs_png_read(png, &shape, &samples, &depth, &err) < 0) {
        REQUIRE(err.code == -EBADMSG && err.text[0] != '\0');
        tfs_buf_release(&samples);
        return;
    }
    REQUIRE(samples.size == tfs_png_row_size(&shape) * shape.height);
    REQUIRE(depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16);
    struct picture picture = {&shape, samples.data};
    REQUIRE(tfs_png_write(&shape, row_of, &picture, &written, &err) == 0);
    REQUIRE(written.size == tfs_png_size(&shape));
    REQUIRE(tfs_png_read(tfs_buf_span(&written), &shape, &again, &depth, &err) == 0);
    REQUIRE(tfs_span_equal(tfs_buf_span(&samples), tfs_buf_span(&again)));
    tfs_buf_release(&samples);
    tfs_buf_release(&again);
    tfs_buf_release(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *png;

    if (size == 0 || (png = malloc(size)) == NULL)
        return 0;
    memcpy(png, data + 1, size - 1);
    if (data[0] % 2 == 1)
        put_sums(png, size - 1);
    check((struct tfs_span){png, size - 1}, TFS_PNG_GREY8);
    check((struct tfs_span){png, size - 1}, TFS_PNG_GREY16);
    check((struct tfs_span){png, size - 1}, TFS_PNG_RGBA8);
    free(png);
    return 0;
}
