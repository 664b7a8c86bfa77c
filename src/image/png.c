/*
 * Rows of samples -> an uncompressed PNG, whose size is known before.
 *
 * Must not know what the samples mean. libpng is not used for writing: where its zlib cuts stored
 * blocks depends on the zlib it is linked with, and the size of a file of the tree must not. Here a
 * block holds as many whole rows as fit, so rows are rendered straight into the file:
 *
 *   signature · IHDR · tEXt... · IDAT (78 01 · blocks · adler32) · IEND
 *   block: final · u16le length · u16le ~length · rows of (filter 00 · samples)
 *
 * Reading is png_read.c.
 */
#include "image/png.h"

#include <assert.h>
#include <string.h>

#include <zlib.h>

#define SIGNATURE      "\x89PNG\r\n\x1a\n"
#define SIGNATURE_SIZE 8
#define CHUNK_FRAME    12 /* length, type, CRC */
#define IHDR_SIZE      13
#define ZLIB_HEADER    2
#define ZLIB_TRAILER   4
#define BLOCK_HEADER   5
#define BLOCK_MAX      65535

_Static_assert(1 + TFS_PNG_SIDE_MAX * 4 <= BLOCK_MAX, "a row must fit one stored block");

/* How a type is told in IHDR. */
static const struct {
    uint8_t depth, colour, bytes;
} types[] = {
    [TFS_PNG_GREY8] = {8, 0, 1},
    [TFS_PNG_GREY16] = {16, 0, 2},
    [TFS_PNG_RGB8] = {8, 2, 3},
    [TFS_PNG_RGBA8] = {8, 6, 4},
};

/* ---- sizes ----------------------------------------------------------------------------------- */

size_t tfs_png_row_size(const struct tfs_png_shape *shape)
{
    return (size_t)shape->width * types[shape->type].bytes;
}

static uint32_t rows_per_block(const struct tfs_png_shape *shape)
{
    return (uint32_t)(BLOCK_MAX / (1 + tfs_png_row_size(shape)));
}

static uint64_t idat_size(const struct tfs_png_shape *shape)
{
    uint32_t rows = rows_per_block(shape);
    uint64_t blocks = (shape->height + rows - 1) / rows;

    return ZLIB_HEADER + blocks * BLOCK_HEADER +
           (uint64_t)shape->height * (1 + tfs_png_row_size(shape)) + ZLIB_TRAILER;
}

static size_t text_size(const struct tfs_png_text *text)
{
    return strlen(text->key) + 1 + strlen(text->value);
}

uint64_t tfs_png_size(const struct tfs_png_shape *shape)
{
    uint64_t size = SIGNATURE_SIZE + CHUNK_FRAME + IHDR_SIZE;

    for (size_t i = 0; i < shape->text_count; i++)
        size += CHUNK_FRAME + text_size(&shape->texts[i]);
    return size + CHUNK_FRAME + idat_size(shape) + CHUNK_FRAME;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Begins a chunk of `size` bytes; returns where its CRC begins. */
static size_t chunk_begin(struct tfs_buf *out, const char *type, uint64_t size)
{
    tfs_buf_u32be(out, (uint32_t)size);
    tfs_buf_add(out, type, 4);
    return out->size - 4;
}

static void chunk_end(struct tfs_buf *out, size_t begin)
{
    uint32_t crc = (uint32_t)crc32_z(0, out->data + begin, out->size - begin);

    tfs_buf_u32be(out, crc);
}

static void write_header(const struct tfs_png_shape *shape, struct tfs_buf *out)
{
    tfs_buf_add(out, SIGNATURE, SIGNATURE_SIZE);

    size_t begin = chunk_begin(out, "IHDR", IHDR_SIZE);
    tfs_buf_u32be(out, shape->width);
    tfs_buf_u32be(out, shape->height);
    tfs_buf_u8(out, types[shape->type].depth);
    tfs_buf_u8(out, types[shape->type].colour);
    tfs_buf_add(out, "\0\0", 3); /* deflate, the standard filters, not interlaced */
    chunk_end(out, begin);

    for (size_t i = 0; i < shape->text_count; i++) {
        const struct tfs_png_text *text = &shape->texts[i];
        begin = chunk_begin(out, "tEXt", text_size(text));
        tfs_buf_add(out, text->key, strlen(text->key) + 1);
        tfs_buf_add_text(out, text->value);
        chunk_end(out, begin);
    }
}

/* The checksums of an IDAT chunk under way. */
struct sums {
    uint32_t crc, adler;
};

/* Counts what was appended since `begin` into the CRC, while it is still in the processor's
 * cache. */
static void count_crc(struct sums *sums, const struct tfs_buf *out, size_t begin)
{
    sums->crc = (uint32_t)crc32_z(sums->crc, out->data + begin, out->size - begin);
}

/* One stored block of `count` rows from `first` on. */
static void write_block(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *arg,
                        uint32_t first, uint32_t count, struct sums *sums, struct tfs_buf *out)
{
    size_t row_size = tfs_png_row_size(shape);
    size_t size = count * (1 + row_size);
    size_t begin = out->size;

    tfs_buf_u8(out, first + count == shape->height);
    tfs_buf_u16le(out, (uint16_t)size);
    tfs_buf_u16le(out, (uint16_t)~size);

    uint8_t *at = out->data + out->size;
    for (uint32_t i = 0; i < count; i++, at += 1 + row_size) {
        at[0] = 0;
        row(arg, first + i, at + 1);
    }
    sums->adler = (uint32_t)adler32_z(sums->adler, out->data + out->size, size);
    out->size += size;
    count_crc(sums, out, begin);
}

static void write_idat(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *arg,
                       struct tfs_buf *out)
{
    struct sums sums = {.crc = 0, .adler = 1};
    uint32_t rows = rows_per_block(shape);

    size_t begin = chunk_begin(out, "IDAT", idat_size(shape));
    tfs_buf_u8(out, 0x78); /* deflate, a window of 32 KiB */
    tfs_buf_u8(out, 0x01); /* the fastest level */
    count_crc(&sums, out, begin);
    for (uint32_t first = 0; first < shape->height; first += rows) {
        uint32_t left = shape->height - first;
        write_block(shape, row, arg, first, left < rows ? left : rows, &sums, out);
    }
    begin = out->size;
    tfs_buf_u32be(out, sums.adler);
    count_crc(&sums, out, begin);
    tfs_buf_u32be(out, sums.crc);
}

int tfs_png_write(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *arg,
                  struct tfs_buf *out, struct tfs_error *err)
{
    assert(shape->width - 1 < TFS_PNG_SIDE_MAX && shape->height - 1 < TFS_PNG_SIDE_MAX);
    if (tfs_buf_reserve(out, (size_t)tfs_png_size(shape)) == NULL)
        return tfs_buf_check(out, err);
    write_header(shape, out);
    write_idat(shape, row, arg, out);
    chunk_end(out, chunk_begin(out, "IEND", 0));
    return 0;
}
