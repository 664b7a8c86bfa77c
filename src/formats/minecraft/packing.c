/*
 * zlib, gzip, and the blocks of lz4-java.
 *
 * Must not know what is packed.
 */
#include "formats/minecraft/packing.h"

#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <zlib.h>

/* The header is all that is used of the library. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define STEP          (64 * 1024)
#define WINDOW_GZIP   (16 + MAX_WBITS)
#define LEVEL         6 /* level, window and memory level give the game's bytes back */
#define MEMORY_LEVEL  8
#define GZIP_SYSTEM   9 /* the byte of a gzip header that says which system wrote it */
#define GZIP_UNKNOWN  0xff
#define BLOCK         (64 * 1024) /* bytes of a block of LZ4 */
#define BLOCK_LOG     6           /* its size as a block says it: 2^(10 + 6) */
#define METHOD_RAW    0x10
#define METHOD_LZ4    0x20
#define CHECKSUM_SEED UINT32_C(0x9747b28c)
#define CHECKSUM_MASK UINT32_C(0x0fffffff)

static const char magic[] = "LZ4Block";
#define MAGIC (sizeof(magic) - 1)

static int fail_packed(struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "its packed bytes are damaged");
}

static int check_limit(size_t made, size_t limit, struct tfs_error *err)
{
    return made <= limit ? 0 : tfs_fail(err, -EFBIG, "it inflates to more than %zu bytes", limit);
}

/* ---- zlib ------------------------------------------------------------------------------------ */

static int inflate_all(z_stream *z, size_t limit, struct tfs_buf *out, struct tfs_error *err)
{
    const size_t before = out->size;
    int status = Z_OK;

    while (status == Z_OK && err->code == 0) {
        uint8_t *to = tfs_buf_reserve(out, STEP);
        if (to == NULL)
            return tfs_fail_memory(err);
        z->next_out = to;
        z->avail_out = STEP;
        status = inflate(z, Z_NO_FLUSH);
        out->size += STEP - z->avail_out;
        check_limit(out->size - before, limit, err);
    }
    if (status == Z_MEM_ERROR)
        return tfs_fail_memory(err);
    return status == Z_STREAM_END ? err->code : fail_packed(err);
}

static int unpack_zlib(int window, struct tfs_span packed, size_t limit, struct tfs_buf *out,
                       size_t *used, struct tfs_error *err)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.data, .avail_in = (uInt)packed.size};

    if (inflateInit2(&z, window) != Z_OK)
        return tfs_fail_memory(err);
    inflate_all(&z, limit, out, err);
    *used = z.total_in;
    inflateEnd(&z);
    return err->code;
}

static int pack_zlib(int window, struct tfs_span bytes, struct tfs_buf *out, struct tfs_error *err)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes.data, .avail_in = (uInt)bytes.size};
    const size_t begin = out->size;

    if (deflateInit2(&z, LEVEL, Z_DEFLATED, window, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return tfs_fail_memory(err);
    const uLong room = deflateBound(&z, (uLong)bytes.size);
    z.next_out = tfs_buf_reserve(out, room);
    z.avail_out = (uInt)room;
    if (z.next_out == NULL || deflate(&z, Z_FINISH) != Z_STREAM_END)
        tfs_fail_memory(err);
    else
        out->size += z.total_out;
    if (err->code == 0 && window == WINDOW_GZIP)
        out->data[begin + GZIP_SYSTEM] = GZIP_UNKNOWN;
    deflateEnd(&z);
    return err->code;
}

/* ---- LZ4 ------------------------------------------------------------------------------------- */

struct block {
    uint8_t method;
    uint32_t stored, size, sum;
    struct tfs_span bytes;
};

static bool take_block(struct tfs_cursor *c, struct block *b)
{
    const struct tfs_span name = tfs_take(c, MAGIC);

    b->method = tfs_take_u8(c) & 0xf0;
    b->stored = tfs_take_u32le(c);
    b->size = tfs_take_u32le(c);
    b->sum = tfs_take_u32le(c);
    b->bytes = tfs_take(c, b->stored);
    return !c->failed && memcmp(name.data, magic, MAGIC) == 0 && b->size <= 32 * 1024 * 1024 &&
           (b->method == METHOD_LZ4 || (b->method == METHOD_RAW && b->stored == b->size));
}

/* A block that is packed gives at most 255 times its bytes. */
static int unpack_block(const struct block *b, struct tfs_buf *out, struct tfs_error *err)
{
    if (b->size / 255 > b->stored)
        return fail_packed(err);
    uint8_t *to = tfs_buf_reserve(out, b->size);
    if (to == NULL)
        return tfs_fail_memory(err);
    if (b->method == METHOD_RAW)
        memcpy(to, b->bytes.data, b->size);
    else if (LZ4_decompress_safe((const char *)b->bytes.data, (char *)to, (int)b->stored,
                                 (int)b->size) != (int)b->size)
        return fail_packed(err);
    if ((XXH32(to, b->size, CHECKSUM_SEED) & CHECKSUM_MASK) != b->sum)
        return tfs_fail(err, -EBADMSG, "the checksum of a packed block is another");
    out->size += b->size;
    return 0;
}

static int unpack_lz4(struct tfs_span packed, size_t limit, struct tfs_buf *out, size_t *used,
                      struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(packed);
    const size_t before = out->size;
    struct block b;

    do {
        if (!take_block(&c, &b))
            return fail_packed(err);
        if (check_limit(out->size - before + b.size, limit, err) < 0 ||
            (b.size > 0 && unpack_block(&b, out, err) < 0))
            return err->code;
    } while (b.size > 0);
    *used = tfs_cursor_offset(&c);
    return 0;
}

static void put_block(struct tfs_buf *out, uint8_t method, struct tfs_span stored,
                      struct tfs_span bytes)
{
    tfs_buf_add(out, magic, MAGIC);
    tfs_buf_u8(out, method | BLOCK_LOG);
    tfs_buf_u32le(out, (uint32_t)stored.size);
    tfs_buf_u32le(out, (uint32_t)bytes.size);
    tfs_buf_u32le(
        out, bytes.size == 0 ? 0 : XXH32(bytes.data, bytes.size, CHECKSUM_SEED) & CHECKSUM_MASK);
    tfs_buf_add_span(out, stored);
}

static int pack_lz4(struct tfs_span bytes, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_buf packed = {0};
    char *to = (char *)tfs_buf_reserve(&packed, LZ4_COMPRESSBOUND(BLOCK));

    if (to == NULL)
        return tfs_fail_memory(err);
    while (bytes.size > 0) {
        const struct tfs_span piece = {bytes.data, bytes.size < BLOCK ? bytes.size : BLOCK};
        const int size = LZ4_compress_default((const char *)piece.data, to, (int)piece.size,
                                              LZ4_COMPRESSBOUND(BLOCK));
        const struct tfs_span stored = {(const uint8_t *)to, (size_t)size};
        if (size <= 0 || stored.size >= piece.size)
            put_block(out, METHOD_RAW, piece, piece);
        else
            put_block(out, METHOD_LZ4, stored, piece);
        bytes.data += piece.size;
        bytes.size -= piece.size;
    }
    put_block(out, METHOD_RAW, (struct tfs_span){0}, (struct tfs_span){0});
    tfs_buf_release(&packed);
    return tfs_buf_check(out, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

int tfs_mc_unpack_payload(uint8_t kind, struct tfs_span packed, size_t limit, struct tfs_buf *out,
                          size_t *used, struct tfs_error *err)
{
    switch (kind) {
    case TFS_MC_GZIP:
        return unpack_zlib(WINDOW_GZIP, packed, limit, out, used, err);
    case TFS_MC_ZLIB:
        return unpack_zlib(MAX_WBITS, packed, limit, out, used, err);
    case TFS_MC_STORED:
        tfs_buf_add_span(out, packed);
        *used = packed.size;
        return check_limit(packed.size, limit, err) < 0 ? err->code : tfs_buf_check(out, err);
    case TFS_MC_LZ4:
        return unpack_lz4(packed, limit, out, used, err);
    default:
        return tfs_fail(err, -ENOTSUP, "compression %u is not supported", kind);
    }
}

int tfs_mc_pack_payload(uint8_t kind, struct tfs_span bytes, struct tfs_buf *out,
                        struct tfs_error *err)
{
    switch (kind) {
    case TFS_MC_GZIP:
        return pack_zlib(WINDOW_GZIP, bytes, out, err);
    case TFS_MC_ZLIB:
        return pack_zlib(MAX_WBITS, bytes, out, err);
    case TFS_MC_LZ4:
        return pack_lz4(bytes, out, err);
    default:
        tfs_buf_add_span(out, bytes);
        return tfs_buf_check(out, err);
    }
}
