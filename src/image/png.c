/*
 * Rows of samples -> an uncompressed PNG, whose size is known before.
 *
 * Must not know what the samples mean. libpng is not used for writing: where its zlib cuts stored
 * blocks depends on the zlib it is linked with, and the size of a file of the tree must not. Here a
 * block holds as many whole rows as fit, so rows are rendered straight into the file, where several
 * threads can do it at once; the checksums of their parts make that of the whole:
 *
 *   signature · IHDR · tEXt... · IDAT (78 01 · blocks · adler32) · IEND
 *   block: final · u16le length · u16le ~length · rows of (filter 00 · samples)
 *
 * Reading is png_read.c.
 */
#include "image/png.h"

#include <assert.h>
#include <pthread.h>
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

/* Blocks of an IDAT chunk that one thread writes. */
struct part {
    const struct tfs_png_shape *shape;
    tfs_png_row_fn row;
    void *arg;
    uint32_t first, end; /* rows */
    uint8_t *bytes;      /* where they go */
    size_t size;         /* bytes there */
    uint32_t crc, adler; /* of these bytes, of the rows in them */
    pthread_t thread;
    bool started;
};

/* One stored block of `count` rows from `first` on; returns its size. The checksums are counted
 * while it is still in the processor's cache. */
static size_t write_block(struct part *part, uint32_t first, uint32_t count, uint8_t *out)
{
    const size_t row_size = tfs_png_row_size(part->shape);
    const size_t size = count * (1 + row_size);
    uint8_t *at = out + BLOCK_HEADER;

    out[0] = first + count == part->shape->height;
    out[1] = (uint8_t)size;
    out[2] = (uint8_t)(size >> 8);
    out[3] = (uint8_t)~size;
    out[4] = (uint8_t)(~size >> 8);
    for (uint32_t i = 0; i < count; i++, at += 1 + row_size) {
        at[0] = 0;
        part->row(part->arg, first + i, at + 1);
    }
    part->adler = (uint32_t)adler32_z(part->adler, out + BLOCK_HEADER, size);
    part->crc = (uint32_t)crc32_z(part->crc, out, BLOCK_HEADER + size);
    return BLOCK_HEADER + size;
}

static void *write_part(void *arg)
{
    struct part *part = arg;
    const uint32_t rows = rows_per_block(part->shape);

    part->crc = 0;
    part->adler = 1;
    part->size = 0;
    for (uint32_t first = part->first; first < part->end; first += rows) {
        uint32_t left = part->end - first;
        part->size += write_block(part, first, left < rows ? left : rows, part->bytes + part->size);
    }
    return NULL;
}

/* Blocks begin at multiples of a block's rows, whoever writes them. */
static uint32_t part_end(const struct tfs_png_shape *shape, unsigned part, unsigned parts)
{
    const uint32_t rows = rows_per_block(shape);
    const uint32_t blocks = (shape->height + rows - 1) / rows;
    const uint32_t end = blocks * part / parts * rows;

    return end < shape->height ? end : shape->height;
}

/* Fills in the rows, at the end of `out`. The first part is this thread's, and each whose thread
 * cannot be started. */
static void write_parts(struct part *parts, unsigned count, const struct tfs_buf *out)
{
    const size_t row_size = 1 + tfs_png_row_size(parts[0].shape);
    const uint32_t rows = rows_per_block(parts[0].shape);

    for (unsigned i = 0; i < count; i++) {
        struct part *part = &parts[i];
        part->first = part_end(part->shape, i, count);
        part->end = part_end(part->shape, i + 1, count);
        part->bytes = out->data + out->size + part->first * row_size +
                      (size_t)(part->first / rows) * BLOCK_HEADER;
        part->started = i > 0 && pthread_create(&part->thread, NULL, write_part, part) == 0;
    }
    for (unsigned i = 0; i < count; i++)
        if (!parts[i].started)
            write_part(&parts[i]);
    for (unsigned i = 0; i < count; i++)
        if (parts[i].started)
            pthread_join(parts[i].thread, NULL);
}

static void write_idat(struct part *parts, unsigned count, struct tfs_buf *out)
{
    const struct tfs_png_shape *shape = parts[0].shape;
    const size_t row_size = 1 + tfs_png_row_size(shape);

    const size_t begin = chunk_begin(out, "IDAT", idat_size(shape));
    tfs_buf_u8(out, 0x78); /* deflate, a window of 32 KiB */
    tfs_buf_u8(out, 0x01); /* the fastest level */
    unsigned long crc = crc32_z(0, out->data + begin, out->size - begin), adler = 1;
    write_parts(parts, count, out);
    for (unsigned i = 0; i < count; i++) {
        const struct part *part = &parts[i];
        const size_t size = (part->end - part->first) * row_size;
        adler = adler32_combine(adler, part->adler, (z_off_t)size);
        crc = crc32_combine(crc, part->crc, (z_off_t)part->size);
        out->size += part->size;
    }
    tfs_buf_u32be(out, (uint32_t)adler);
    crc = crc32_z(crc, out->data + out->size - ZLIB_TRAILER, ZLIB_TRAILER);
    tfs_buf_u32be(out, (uint32_t)crc);
}

int tfs_png_write_shared(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *const *args,
                         unsigned threads, struct tfs_buf *out, struct tfs_error *err)
{
    struct part parts[TFS_PNG_THREADS_MAX];

    assert(shape->width - 1 < TFS_PNG_SIDE_MAX && shape->height - 1 < TFS_PNG_SIDE_MAX);
    assert(threads - 1 < TFS_PNG_THREADS_MAX);
    if (tfs_buf_reserve(out, (size_t)tfs_png_size(shape)) == NULL)
        return tfs_buf_check(out, err);
    for (unsigned i = 0; i < threads; i++)
        parts[i] = (struct part){.shape = shape, .row = row, .arg = args[i]};
    write_header(shape, out);
    write_idat(parts, threads, out);
    chunk_end(out, chunk_begin(out, "IEND", 0));
    return 0;
}

int tfs_png_write(const struct tfs_png_shape *shape, tfs_png_row_fn row, void *arg,
                  struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_png_write_shared(shape, row, &arg, 1, out, err);
}
