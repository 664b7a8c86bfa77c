/*
 * PNG files that are damaged, or made to cost memory: each is refused with a sentence, or read,
 * within a small bound of memory.
 */
#include "limit_memory.h"
#include "png_case.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>
#include <zlib.h>

/* A PNG of chunks put together by hand. */
static void add_chunk(struct tfs_buf *out, const char *type, const void *data, size_t size)
{
    tfs_buf_u32be(out, (uint32_t)size);
    size_t begin = out->size;
    tfs_buf_add(out, type, 4);
    tfs_buf_add(out, data, size);
    tfs_buf_u32be(out, (uint32_t)crc32(0, out->data + begin, (uInt)(out->size - begin)));
}

static void add_header(struct tfs_buf *out, uint32_t width, uint32_t height, int depth, int colour,
                       int interlace)
{
    uint8_t ihdr[13] = {(uint8_t)(width >> 24),
                        (uint8_t)(width >> 16),
                        (uint8_t)(width >> 8),
                        (uint8_t)width,
                        (uint8_t)(height >> 24),
                        (uint8_t)(height >> 16),
                        (uint8_t)(height >> 8),
                        (uint8_t)height,
                        (uint8_t)depth,
                        (uint8_t)colour,
                        0,
                        0,
                        (uint8_t)interlace};

    tfs_buf_add(out, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(out, "IHDR", ihdr, sizeof(ihdr));
}

/* `size` zeros, deflated. */
static void deflate_zeros(struct tfs_buf *out, size_t size)
{
    static const uint8_t zeros[65536];
    z_stream z = {0};

    ck_assert_int_eq(deflateInit(&z, 9), Z_OK);
    while (size > 0 || z.avail_in > 0) {
        size_t n = size < sizeof(zeros) ? size : sizeof(zeros);
        z.next_in = (uint8_t *)(uintptr_t)zeros;
        z.avail_in = (uInt)n;
        size -= n;
        z.avail_out = 1 << 20;
        z.next_out = tfs_buf_reserve(out, z.avail_out);
        ck_assert_int_ge(deflate(&z, size == 0 ? Z_FINISH : Z_NO_FLUSH), Z_OK);
        ck_assert_uint_eq(z.avail_in, 0);
        out->size += (1 << 20) - z.avail_out;
    }
    deflateEnd(&z);
}

START_TEST(png_of_another_size_is_refused_with_both_sizes_before_memory_is_taken)
{
    struct tfs_png_shape shape = {256, 128, TFS_PNG_GREY16, NULL, 0};
    struct tfs_buf png = {0}, samples;
    struct tfs_error err;
    unsigned depth;

    add_header(&png, 0x7fffffff, 0x7fffffff, 16, PNG_COLOR_TYPE_RGB_ALPHA, 1);
    add_chunk(&png, "IDAT", "x\x9c", 2);
    limit_memory(256 << 20);
    ck_assert_int_lt(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err), 0);
    ck_assert_str_eq(err.text,
                     "the picture has 2147483647 x 2147483647 pixels, 256 x 128 are needed");
    tfs_buf_release(&png);
}
END_TEST

START_TEST(png_that_is_too_small_for_its_pixels_takes_no_memory)
{
    struct tfs_png_shape shape = {8192, 8192, TFS_PNG_GREY16, NULL, 0};
    struct tfs_buf png = {0}, samples;
    struct tfs_error err;
    unsigned depth;

    add_header(&png, 8192, 8192, 16, PNG_COLOR_TYPE_GRAY, 0);
    add_chunk(&png, "IDAT", "x\x9c", 2);
    limit_memory(64 << 20);
    ck_assert_int_lt(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "is cut off"));
    tfs_buf_release(&png);
}
END_TEST

/* 512 MiB of interlaced rows in 100 kB: enough for one bit a pixel, not for these 64. */
START_TEST(png_that_is_too_small_for_the_bits_of_its_pixels_takes_no_memory)
{
    struct tfs_png_shape shape = {8192, 8192, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf png = {0}, data = {0}, samples;
    struct tfs_error err;
    unsigned depth;

    tfs_buf_resize(&data, 100000);
    memset(data.data, 0, data.size);
    add_header(&png, 8192, 8192, 16, PNG_COLOR_TYPE_RGB_ALPHA, 1);
    add_chunk(&png, "IDAT", data.data, data.size);
    limit_memory(64 << 20);
    ck_assert_int_lt(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "is cut off"));
    tfs_buf_release(&png);
    tfs_buf_release(&data);
}
END_TEST

START_TEST(png_texts_and_profiles_that_would_inflate_without_end_are_skipped)
{
    static const char *const types[] = {"zTXt", "iCCP", "iTXt", "zzZz"};
    struct tfs_png_shape shape = {2, 2, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf png = {0}, bomb = {0}, data = {0}, samples;
    struct tfs_error err;
    unsigned depth;

    tfs_buf_add(&bomb, "name\0\0", 6);
    deflate_zeros(&bomb, (size_t)256 << 20);
    deflate_zeros(&data, 6);
    add_header(&png, 2, 2, 8, PNG_COLOR_TYPE_GRAY, 0);
    for (size_t i = 0; i < 4; i++)
        add_chunk(&png, types[i], bomb.data, bomb.size);
    add_chunk(&png, "IDAT", data.data, data.size);
    for (size_t i = 0; i < 4; i++)
        add_chunk(&png, types[i], bomb.data, bomb.size);
    add_chunk(&png, "IEND", NULL, 0);
    limit_memory(64 << 20);
    ck_assert_int_eq(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err), 0);
    ck_assert_int_eq(memcmp(samples.data, "\0\0\0\0", 4), 0);
    tfs_buf_release(&png);
    tfs_buf_release(&bomb);
    tfs_buf_release(&data);
    tfs_buf_release(&samples);
}
END_TEST

START_TEST(png_that_inflates_to_more_than_its_pixels_costs_no_more_than_they)
{
    struct tfs_png_shape shape = {2, 2, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf png = {0}, data = {0}, samples;
    struct tfs_error err;
    unsigned depth;

    deflate_zeros(&data, (size_t)256 << 20);
    add_header(&png, 2, 2, 8, PNG_COLOR_TYPE_GRAY, 0);
    add_chunk(&png, "IDAT", data.data, data.size);
    add_chunk(&png, "IEND", NULL, 0);
    limit_memory(64 << 20);
    (void)png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err);
    tfs_buf_release(&png);
    tfs_buf_release(&data);
    tfs_buf_release(&samples);
}
END_TEST

START_TEST(png_cut_anywhere_is_refused)
{
    struct tfs_png_shape shape = {5, 3, TFS_PNG_GREY16, NULL, 0};
    struct tfs_buf png = {0}, samples;
    struct tfs_error err = {0};
    size_t size = tfs_png_row_size(&shape);
    unsigned depth;

    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &size, &png, &err), 0);
    for (size_t n = 0; n < png.size; n++) {
        uint8_t *copy = malloc(n + 1); /* an own allocation: a sanitizer sees what is read behind */
        memcpy(copy, png.data, n);
        ck_assert_int_lt(png_read_as((struct tfs_span){copy, n}, shape, &samples, &depth, &err), 0);
        tfs_buf_release(&samples);
        free(copy);
    }
    tfs_buf_release(&png);
}
END_TEST

START_TEST(png_with_one_wrong_byte_is_refused)
{
    struct tfs_png_shape shape = {5, 3, TFS_PNG_RGBA8, NULL, 0};
    struct tfs_buf png = {0}, samples;
    struct tfs_error err = {0};
    size_t size = tfs_png_row_size(&shape);
    unsigned depth;

    ck_assert_int_eq(tfs_png_write(&shape, png_noise_row, &size, &png, &err), 0);
    for (size_t i = 0; i < png.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            png.data[i] ^= (uint8_t)(1u << bit);
            ck_assert_msg(png_read_as(tfs_buf_span(&png), shape, &samples, &depth, &err) < 0,
                          "bit %u of byte %zu", bit, i);
            tfs_buf_release(&samples);
            png.data[i] ^= (uint8_t)(1u << bit);
        }
    }
    tfs_buf_release(&png);
}
END_TEST

START_TEST(png_refuses_what_is_no_png)
{
    static const char *const texts[] = {"", "\x89PNG", "GIF89a..........", "P5 2 2 255\n....\n"};
    struct tfs_png_shape shape = {2, 2, TFS_PNG_GREY8, NULL, 0};
    struct tfs_buf samples;
    struct tfs_error err;
    unsigned depth;

    ck_assert_int_lt(png_read_as(tfs_span_of(texts[_i]), shape, &samples, &depth, &err), 0);
    ck_assert_str_eq(err.text, "this is not a PNG picture");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("png_hostile");

    TCase *t = unit_case(s, "hostile");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, png_of_another_size_is_refused_with_both_sizes_before_memory_is_taken);
    tcase_add_test(t, png_that_is_too_small_for_its_pixels_takes_no_memory);
    tcase_add_test(t, png_that_is_too_small_for_the_bits_of_its_pixels_takes_no_memory);
    tcase_add_test(t, png_texts_and_profiles_that_would_inflate_without_end_are_skipped);
    tcase_add_test(t, png_that_inflates_to_more_than_its_pixels_costs_no_more_than_they);
    tcase_add_test(t, png_cut_anywhere_is_refused);
    tcase_add_test(t, png_with_one_wrong_byte_is_refused);
    tcase_add_loop_test(t, png_refuses_what_is_no_png, 0, 4);
    return s;
}

UNIT_MAIN(suite)
