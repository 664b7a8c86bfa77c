/*
 * Rows of samples -> an uncompressed PNG, whose size is known before.
 *
 * Must not know what the samples mean. libpng is not used for writing: where its zlib cuts stored
 * blocks depends on the zlib it is linked with, and the size of a file of the tree must not. Here a
 * block holds as many whole rows as fit, so rows are rendered straight into the file, where several
 * threads can do it at once; the checksums of their parts make that of the whole:
 *
 *   signature · IHDR · PLTE of INDEX8 · tEXt... · IDAT (78 01 · blocks · adler32) · IEND
 *   block: final · u16le length · u16le ~length · rows of (filter 00 · samples)
 *
 * Reading is png_read.c.
 */
#include "image/png.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#define SIGNATURE      "\x89PNG\r\n\x1a\n"
#define SIGNATURE_SIZE 8
#define CHUNK_FRAME    12 /* length, type, CRC */
#define IHDR_SIZE      13
#define PLTE_SIZE      (TFS_PNG_COLOURS * 3)
#define ZLIB_BEGIN     "\x78\x01" /* deflate, a window of 32 KiB; the fastest level */
#define ZLIB_HEADER    2
#define ZLIB_TRAILER   4
#define BLOCK_HEADER   5
#define BLOCK_MAX      65535

_Static_assert(1 + TFS_PNG_SIDE_MAX * 4 <= BLOCK_MAX, "a row must fit one stored block");

/* How a type is told in IHDR. */
static const struct {
    uint8_t depth, colour, bytes;
} types[] = {
    [TFS_PNG_GREY8] = {8, 0, 1}, [TFS_PNG_GREY16] = {16, 0, 2}, [TFS_PNG_RGB8] = {8, 2, 3},
    [TFS_PNG_RGBA8] = {8, 6, 4}, [TFS_PNG_INDEX8] = {8, 3, 1},
};

/* ---- sizes ----------------------------------------------------------------------------------- */

size_t tfs_png_row_size(const struct tfs_png_shape *shape)
{
    return (size_t)shape->width * types[shape->type].bytes;
}

static size_t text_size(const struct tfs_png_text *text)
{
    return strlen(text->key) + 1 + strlen(text->value);
}

/* Up to the IDAT chunk. */
static uint64_t head_size(const struct tfs_png_shape *shape)
{
    uint64_t size = SIGNATURE_SIZE + CHUNK_FRAME + IHDR_SIZE;

    if (shape->type == TFS_PNG_INDEX8)
        size += CHUNK_FRAME + PLTE_SIZE;
    for (size_t i = 0; i < shape->text_count; i++)
        size += CHUNK_FRAME + text_size(&shape->texts[i]);
    return size;
}

static uint64_t idat_size(const struct tfs_png_shape *shape)
{
    return ZLIB_HEADER + (uint64_t)tfs_png_blocks(shape) * BLOCK_HEADER +
           (uint64_t)shape->height * (1 + tfs_png_row_size(shape)) + ZLIB_TRAILER;
}

uint64_t tfs_png_size(const struct tfs_png_shape *shape)
{
    return head_size(shape) + CHUNK_FRAME + idat_size(shape) + CHUNK_FRAME;
}

uint32_t tfs_png_block_rows(const struct tfs_png_shape *shape)
{
    return (uint32_t)(BLOCK_MAX / (1 + tfs_png_row_size(shape)));
}

uint32_t tfs_png_blocks(const struct tfs_png_shape *shape)
{
    const uint32_t rows = tfs_png_block_rows(shape);

    return (shape->height + rows - 1) / rows;
}

/* The first row of a block, or the end. */
static uint32_t block_row(const struct tfs_png_shape *shape, uint32_t block)
{
    const uint64_t row = (uint64_t)block * tfs_png_block_rows(shape);

    return row < shape->height ? (uint32_t)row : shape->height;
}

uint64_t tfs_png_offset(const struct tfs_png_shape *shape, uint32_t block)
{
    const uint64_t end = CHUNK_FRAME - 4 /* CRC */ + ZLIB_HEADER;

    return head_size(shape) + end + (uint64_t)block * BLOCK_HEADER +
           block_row(shape, block) * (1 + (uint64_t)tfs_png_row_size(shape));
}

/* ---- colours of numbers ---------------------------------------------------------------------- */

/* Around the wheel in steps that keep neighbours apart; one channel is the strongest, one the
 * weakest. */
uint32_t tfs_png_colour(uint8_t number)
{
    const uint32_t hue = (number * 97U & 255) * 6, part = hue & 255;
    const uint32_t top = 255U - number % 3U * 56U, low = top / 6;
    const uint32_t rise = low + (top - low) * part / 255, fall = low + (top - low) - (rise - low);

    switch (hue >> 8) {
    case 0:
        return top << 16 | rise << 8 | low;
    case 1:
        return fall << 16 | top << 8 | low;
    case 2:
        return low << 16 | top << 8 | rise;
    case 3:
        return low << 16 | fall << 8 | top;
    case 4:
        return rise << 16 | low << 8 | top;
    default:
        return top << 16 | low << 8 | fall;
    }
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
    if (out->failed)
        return;
    uint32_t crc = (uint32_t)crc32_z(0, out->data + begin, out->size - begin);

    tfs_buf_u32be(out, crc);
}

static void write_palette(struct tfs_buf *out)
{
    size_t begin = chunk_begin(out, "PLTE", PLTE_SIZE);

    for (unsigned i = 0; i < TFS_PNG_COLOURS; i++)
        for (int shift = 16; shift >= 0; shift -= 8)
            tfs_buf_u8(out, (uint8_t)(tfs_png_colour((uint8_t)i) >> shift));
    chunk_end(out, begin);
}

void tfs_png_write_head(const struct tfs_png_shape *shape, struct tfs_buf *out)
{
    tfs_buf_add(out, SIGNATURE, SIGNATURE_SIZE);

    size_t begin = chunk_begin(out, "IHDR", IHDR_SIZE);
    tfs_buf_u32be(out, shape->width);
    tfs_buf_u32be(out, shape->height);
    tfs_buf_u8(out, types[shape->type].depth);
    tfs_buf_u8(out, types[shape->type].colour);
    tfs_buf_add(out, "\0\0", 3); /* deflate, the standard filters, not interlaced */
    chunk_end(out, begin);
    if (shape->type == TFS_PNG_INDEX8)
        write_palette(out);

    for (size_t i = 0; i < shape->text_count; i++) {
        const struct tfs_png_text *text = &shape->texts[i];
        begin = chunk_begin(out, "tEXt", text_size(text));
        tfs_buf_add(out, text->key, strlen(text->key) + 1);
        tfs_buf_add_text(out, text->value);
        chunk_end(out, begin);
    }
    chunk_begin(out, "IDAT", idat_size(shape));
    tfs_buf_add(out, ZLIB_BEGIN, ZLIB_HEADER);
}

void tfs_png_write_tail(const struct tfs_png_shape *shape, const struct tfs_png_sum *sums,
                        struct tfs_buf *out)
{
    static const uint8_t begin[] = {'I', 'D', 'A', 'T', 0x78, 0x01};
    const size_t row_size = 1 + tfs_png_row_size(shape);
    unsigned long crc = crc32_z(0, begin, sizeof(begin)), adler = 1;

    for (uint32_t i = 0; i < tfs_png_blocks(shape); i++) {
        const size_t rows = block_row(shape, i + 1) - block_row(shape, i);
        adler = adler32_combine(adler, sums[i].adler, (z_off_t)(rows * row_size));
        crc = crc32_combine(crc, sums[i].crc, (z_off_t)(BLOCK_HEADER + rows * row_size));
    }
    tfs_buf_u32be(out, (uint32_t)adler);
    if (!out->failed)
        crc = crc32_z(crc, out->data + out->size - ZLIB_TRAILER, ZLIB_TRAILER);
    tfs_buf_u32be(out, (uint32_t)crc);
    chunk_end(out, chunk_begin(out, "IEND", 0));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Blocks that one thread writes. */
struct band {
    const struct tfs_png_shape *shape;
    tfs_png_row_fn row;
    void *arg;
    uint32_t first, end;
    uint8_t *bytes;           /* where they go */
    struct tfs_png_sum *sums; /* of the first one and so on */
    pthread_t thread;
    bool started;
};

/* One stored block. The checksums are counted while it is still in the processor's cache. */
static void write_block(const struct band *band, uint32_t block, uint8_t *out,
                        struct tfs_png_sum *sum)
{
    const size_t row_size = tfs_png_row_size(band->shape);
    const uint32_t first = block_row(band->shape, block), end = block_row(band->shape, block + 1);
    const size_t size = (end - first) * (1 + row_size);
    uint8_t *at = out + BLOCK_HEADER;

    out[0] = end == band->shape->height;
    out[1] = (uint8_t)size;
    out[2] = (uint8_t)(size >> 8);
    out[3] = (uint8_t)~size;
    out[4] = (uint8_t)(~size >> 8);
    for (uint32_t row = first; row < end; row++, at += 1 + row_size) {
        at[0] = 0;
        band->row(band->arg, row, at + 1);
    }
    sum->adler = (uint32_t)adler32_z(1, out + BLOCK_HEADER, size);
    sum->crc = (uint32_t)crc32_z(0, out, BLOCK_HEADER + size);
}

static void *write_band(void *arg)
{
    const struct band *band = arg;
    const uint64_t begin = tfs_png_offset(band->shape, band->first);

    for (uint32_t i = band->first; i < band->end; i++)
        write_block(band, i, band->bytes + (tfs_png_offset(band->shape, i) - begin),
                    &band->sums[i - band->first]);
    return NULL;
}

/* The first band is this thread's, and each whose thread cannot be started. */
static void write_bands(struct band *bands, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        bands[i].started = pthread_create(&bands[i].thread, NULL, write_band, &bands[i]) == 0;
    for (unsigned i = 0; i < count; i++)
        if (!bands[i].started)
            write_band(&bands[i]);
    for (unsigned i = 0; i < count; i++)
        if (bands[i].started)
            pthread_join(bands[i].thread, NULL);
}

int tfs_png_write_blocks(const struct tfs_png_shape *shape, uint32_t first, uint32_t end,
                         const struct tfs_png_rows *rows, struct tfs_png_sum *sums,
                         struct tfs_buf *out, struct tfs_error *err)
{
    struct band bands[TFS_PNG_THREADS_MAX];
    const uint64_t begin = tfs_png_offset(shape, first);
    const size_t size = (size_t)(tfs_png_offset(shape, end) - begin);

    assert(shape->width - 1 < TFS_PNG_SIDE_MAX && shape->height - 1 < TFS_PNG_SIDE_MAX);
    assert(rows->threads - 1 < TFS_PNG_THREADS_MAX);
    uint8_t *bytes = tfs_buf_reserve(out, size);
    if (bytes == NULL)
        return tfs_buf_check(out, err);
    for (unsigned i = 0; i < rows->threads; i++) {
        struct band *band = &bands[i];
        *band = (struct band){.shape = shape, .row = rows->row, .arg = rows->args[i]};
        band->first = first + (end - first) * i / rows->threads;
        band->end = first + (end - first) * (i + 1) / rows->threads;
        band->bytes = bytes + (tfs_png_offset(shape, band->first) - begin);
        band->sums = sums + (band->first - first);
    }
    write_bands(bands, rows->threads);
    out->size += size;
    return 0;
}

/* ---- whole pictures -------------------------------------------------------------------------- */

int tfs_png_write_shared(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *const *args,
                         unsigned threads, struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_png_rows rows = {row, args, threads};
    const uint32_t blocks = tfs_png_blocks(shape);
    struct tfs_png_sum *sums = calloc(blocks, sizeof(*sums));

    if (sums == NULL)
        return tfs_fail_memory(err);
    if (tfs_buf_reserve(out, (size_t)tfs_png_size(shape)) != NULL) {
        tfs_png_write_head(shape, out);
        if (tfs_png_write_blocks(shape, 0, blocks, &rows, sums, out, err) == 0)
            tfs_png_write_tail(shape, sums, out);
    }
    free(sums);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

int tfs_png_write(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *arg,
                  struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_png_write_shared(shape, row, &arg, 1, out, err);
}
