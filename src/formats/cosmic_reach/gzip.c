/*
 * A gzip member <-> its content, in pieces, with no second copy of the content in memory.
 *
 * Must not know what the content is.
 */
#include "formats/cosmic_reach/gzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define STEP         (256 * 1024)
#define PIECE_MAX    (1U << 30) /* zlib counts in unsigned int */
#define WINDOW_GZIP  (16 + MAX_WBITS)
#define WINDOW_RAW   (-MAX_WBITS)
#define LEVEL        6 /* level, window and memory level give the game's bytes back */
#define MEMORY_LEVEL 8

const uint8_t tfs_cosmic_gzip_header[TFS_COSMIC_GZIP_HEADER] = {0x1f, 0x8b, 8, 0, 0,
                                                                0,    0,    0, 0, 0xff};

/* ---- inflate --------------------------------------------------------------------------------- */

static int inflate_failure(const z_stream *z, size_t offset, int status, struct tfs_error *err)
{
    if (status == Z_MEM_ERROR)
        return tfs_fail_memory(err);
    if (status == Z_BUF_ERROR || status == Z_OK)
        return tfs_fail(err, -EBADMSG, "offset %zu: the gzip data is cut off", offset);
    return tfs_fail(err, -EBADMSG, "offset %zu: the gzip data is damaged: %s", offset,
                    z->msg != NULL ? z->msg : "it needs a dictionary");
}

/* One step into `out`: zlib's status. */
static int inflate_step(z_stream *z, struct tfs_span packed, uint64_t room, struct tfs_buf *out)
{
    size_t left = packed.size - z->total_in;
    size_t step = out->capacity - out->size > STEP ? out->capacity - out->size : STEP;

    step = step > PIECE_MAX ? PIECE_MAX : step;
    step = step > room ? (size_t)room : step;
    uint8_t *to = tfs_buf_reserve(out, step);
    if (to == NULL)
        return Z_MEM_ERROR;
    z->next_in = (Bytef *)(uintptr_t)(packed.data + z->total_in);
    z->avail_in = left > PIECE_MAX ? PIECE_MAX : (uInt)left;
    z->next_out = to;
    z->avail_out = (uInt)step;
    int status = inflate(z, Z_NO_FLUSH);
    out->size += step - z->avail_out;
    return status;
}

static int check_limit(size_t made, uint64_t limit, struct tfs_error *err)
{
    if (made <= limit)
        return 0;
    return tfs_fail(err, -EFBIG, "the payload inflates to more than %" PRIu64 " bytes", limit);
}

int tfs_cosmic_inflate(struct tfs_span packed, uint64_t limit, size_t origin,
                       const struct tfs_cosmic_look *look, struct tfs_buf *out, size_t *used,
                       struct tfs_error *err)
{
    z_stream z = {0};
    const size_t before = out->size;
    size_t made = 0, looked = 0;
    int status = inflateInit2(&z, WINDOW_GZIP);

    limit = limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2;
    if (status != Z_OK)
        return tfs_fail_memory(err);
    while (status == Z_OK && check_limit(made, limit, err) == 0) {
        /* One byte above the limit tells a payload of that size from a longer one. */
        status = inflate_step(&z, packed, limit + 1 - made, out);
        made = out->size - before;
        if (look == NULL || made / 2 < looked || status != Z_OK)
            continue;
        looked = made;
        if (look->look(look->arg, (struct tfs_span){out->data + before, made}, err) < 0)
            break;
    }
    if (status != Z_STREAM_END && err->code == 0)
        inflate_failure(&z, origin + z.total_in, status, err);
    check_limit(made, limit, err);
    *used = z.total_in;
    inflateEnd(&z);
    return err->code;
}

/* ---- deflate --------------------------------------------------------------------------------- */

/* Feeds what z->next_in has and hands on what comes out. */
static int deflate_some(struct tfs_cosmic_gzip *gzip, int flush, struct tfs_error *err)
{
    z_stream *z = &gzip->z;

    do {
        z->next_out = gzip->buffer;
        z->avail_out = STEP;
        deflate(z, flush);
        size_t made = STEP - z->avail_out;
        if (made > 0 && gzip->out->write(gzip->out, gzip->buffer, made, err) < 0)
            return err->code;
    } while (z->avail_out == 0);
    return 0;
}

static int gzip_write(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    struct tfs_cosmic_gzip *gzip = (struct tfs_cosmic_gzip *)sink;
    const uint8_t *at = data;

    while (size > 0) {
        uInt piece = size > PIECE_MAX ? PIECE_MAX : (uInt)size;
        gzip->crc = crc32(gzip->crc, at, piece);
        gzip->size += piece;
        gzip->z.next_in = (Bytef *)(uintptr_t)at;
        gzip->z.avail_in = piece;
        if (deflate_some(gzip, Z_NO_FLUSH, err) < 0)
            return err->code;
        at += piece;
        size -= piece;
    }
    return 0;
}

int tfs_cosmic_gzip_open(struct tfs_cosmic_gzip *gzip, struct tfs_sink *out,
                         const uint8_t header[TFS_COSMIC_GZIP_HEADER], struct tfs_error *err)
{
    *gzip = (struct tfs_cosmic_gzip){.sink = {.write = gzip_write}, .out = out};
    gzip->crc = crc32(0, NULL, 0);
    gzip->buffer = malloc(STEP);
    if (gzip->buffer == NULL || deflateInit2(&gzip->z, LEVEL, Z_DEFLATED, WINDOW_RAW, MEMORY_LEVEL,
                                             Z_DEFAULT_STRATEGY) != Z_OK) {
        free(gzip->buffer);
        gzip->buffer = NULL;
        return tfs_fail_memory(err);
    }
    return out->write(out, header, TFS_COSMIC_GZIP_HEADER, err);
}

int tfs_cosmic_gzip_finish(struct tfs_cosmic_gzip *gzip, struct tfs_error *err)
{
    struct tfs_buf end = {0};

    gzip->z.avail_in = 0;
    if (deflate_some(gzip, Z_FINISH, err) < 0)
        return err->code;
    tfs_buf_u32le(&end, (uint32_t)gzip->crc);
    tfs_buf_u32le(&end, gzip->size);
    if (tfs_buf_check(&end, err) == 0)
        tfs_sink_span(gzip->out, tfs_buf_span(&end), err);
    tfs_buf_release(&end);
    return err->code;
}

void tfs_cosmic_gzip_close(struct tfs_cosmic_gzip *gzip)
{
    if (gzip->buffer == NULL)
        return;
    deflateEnd(&gzip->z);
    free(gzip->buffer);
    gzip->buffer = NULL;
}
