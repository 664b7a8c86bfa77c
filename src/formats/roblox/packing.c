/*
 * Packed payloads <-> their bytes.
 *
 * Must not know what a payload holds.
 */
#include "formats/roblox/packing.h"

#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* What the engine uses; `LZ4_compress_default` has no level. */
#define ZSTD_LEVEL 9

/* An LZ4 block of n bytes cannot give more than 255 n; this much is left for its last literals. */
#define LZ4_RATIO 255
#define LZ4_EXTRA 64

/* The smallest Zstandard block, of 4 bytes, gives the largest, of 128 KiB. */
#define ZSTD_RATIO (128 * 1024 / 4)

#define ZSTD_HEAD 18 /* bytes of a frame that say its size, at most */

static const uint8_t zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

enum tfs_rbx_packing tfs_rbx_packing_of(uint32_t packed_size, struct tfs_span bytes)
{
    if (packed_size == 0)
        return TFS_RBX_STORED;
    if (bytes.size >= sizeof(zstd_magic) && memcmp(bytes.data, zstd_magic, sizeof(zstd_magic)) == 0)
        return TFS_RBX_ZSTD;
    return TFS_RBX_LZ4;
}

const char *tfs_rbx_packing_name(enum tfs_rbx_packing packing)
{
    switch (packing) {
    case TFS_RBX_STORED:
        return "stored";
    case TFS_RBX_LZ4:
        return "LZ4";
    case TFS_RBX_ZSTD:
        return "Zstandard";
    }
    return "";
}

static int fail_damaged(const struct tfs_rbx_packed *packed, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "its %s data is damaged, or not of the %u bytes it should be",
                    tfs_rbx_packing_name(packed->packing), packed->size);
}

static int fail_zstd(const struct tfs_rbx_packed *packed, size_t result, struct tfs_error *err)
{
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return tfs_fail_memory(err);
    return fail_damaged(packed, err);
}

/* ---- the head -------------------------------------------------------------------------------- */

void tfs_rbx_unpacker_release(struct tfs_rbx_unpacker *u)
{
    ZSTD_freeDStream(u->zstd);
    u->zstd = NULL;
}

static int zstd_head(struct tfs_rbx_unpacker *u, const struct tfs_rbx_packed *packed, uint8_t *head,
                     size_t room, size_t *size, struct tfs_error *err)
{
    ZSTD_inBuffer in = {packed->bytes.data, packed->bytes.size, 0};
    ZSTD_outBuffer out = {head, room, 0};
    size_t left = 1;

    if (u->zstd == NULL)
        u->zstd = ZSTD_createDStream();
    if (u->zstd == NULL)
        return tfs_fail_memory(err);
    ZSTD_initDStream(u->zstd);
    while (left > 0 && out.pos < room && !ZSTD_isError(left)) {
        size_t before = in.pos + out.pos;
        left = ZSTD_decompressStream(u->zstd, &out, &in);
        if (in.pos + out.pos == before)
            break; /* the frame is cut off */
    }
    if (ZSTD_isError(left))
        return fail_zstd(packed, left, err);
    *size = out.pos;
    return 0;
}

static int lz4_head(const struct tfs_rbx_packed *packed, uint8_t *head, size_t room, size_t *size,
                    struct tfs_error *err)
{
    if (packed->bytes.size > INT32_MAX)
        return fail_damaged(packed, err);

    int got = LZ4_decompress_safe_partial((const char *)packed->bytes.data, (char *)head,
                                          (int)packed->bytes.size, (int)room, (int)room);
    if (got < 0)
        return fail_damaged(packed, err);
    *size = (size_t)got;
    return 0;
}

int tfs_rbx_unpack_head(struct tfs_rbx_unpacker *u, const struct tfs_rbx_packed *packed,
                        uint8_t *head, size_t room, size_t *size, struct tfs_error *err)
{
    switch (packed->packing) {
    case TFS_RBX_ZSTD:
        return zstd_head(u, packed, head, room, size, err);
    case TFS_RBX_LZ4:
        return lz4_head(packed, head, room, size, err);
    case TFS_RBX_STORED:
        break;
    }
    *size = packed->bytes.size < room ? packed->bytes.size : room;
    if (*size > 0)
        memcpy(head, packed->bytes.data, *size);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Can that many bytes come of this? */
static bool size_possible(const struct tfs_rbx_packed *packed)
{
    const uint64_t bytes = packed->bytes.size;

    switch (packed->packing) {
    case TFS_RBX_STORED:
        return packed->size == bytes;
    case TFS_RBX_LZ4:
        return bytes <= INT32_MAX && packed->size <= LZ4_RATIO * bytes + LZ4_EXTRA;
    case TFS_RBX_ZSTD:
        return packed->size <= ZSTD_RATIO * bytes &&
               ZSTD_getFrameContentSize(packed->bytes.data, packed->bytes.size) == packed->size;
    }
    return false;
}

static int unpack_into(const struct tfs_rbx_packed *packed, uint8_t *out, struct tfs_error *err)
{
    const char *from = (const char *)packed->bytes.data;
    size_t size = 0;

    switch (packed->packing) {
    case TFS_RBX_STORED:
        memcpy(out, from, packed->size);
        return 0;
    case TFS_RBX_LZ4:
        if (LZ4_decompress_safe(from, (char *)out, (int)packed->bytes.size, (int)packed->size) !=
            (int)packed->size)
            return fail_damaged(packed, err);
        return 0;
    case TFS_RBX_ZSTD:
        size = ZSTD_decompress(out, packed->size, from, packed->bytes.size);
        return size == packed->size ? 0 : fail_zstd(packed, size, err);
    }
    return 0;
}

bool tfs_rbx_size_possible(const struct tfs_rbx_packed *packed)
{
    return packed->size <= TFS_RBX_PAYLOAD_MAX && size_possible(packed);
}

int tfs_rbx_unpack(const struct tfs_rbx_packed *packed, struct tfs_buf *out, struct tfs_error *err)
{
    if (packed->size > TFS_RBX_PAYLOAD_MAX)
        return tfs_fail(err, -EFBIG, "it would unpack to %u bytes, at most %u are read",
                        packed->size, TFS_RBX_PAYLOAD_MAX);
    if (!size_possible(packed))
        return fail_damaged(packed, err);
    if (packed->size == 0)
        return 0;

    uint8_t *room = tfs_buf_reserve(out, packed->size);
    if (room == NULL)
        return tfs_fail_memory(err);
    if (unpack_into(packed, room, err) < 0)
        return err->code;
    out->size += packed->size;
    return 0;
}

/* ---- packing --------------------------------------------------------------------------------- */

static int pack_bytes(enum tfs_rbx_packing packing, struct tfs_span payload, struct tfs_buf *out,
                      struct tfs_error *err)
{
    const int size = (int)payload.size;
    const size_t bound =
        packing == TFS_RBX_LZ4 ? (size_t)LZ4_compressBound(size) : ZSTD_compressBound(payload.size);
    uint8_t *room = tfs_buf_reserve(out, bound);

    if (room == NULL)
        return tfs_fail_memory(err);

    size_t packed = packing == TFS_RBX_LZ4
                        ? (size_t)LZ4_compress_default((const char *)payload.data, (char *)room,
                                                       size, (int)bound)
                        : ZSTD_compress(room, bound, payload.data, payload.size, ZSTD_LEVEL);
    if (packed == 0 || ZSTD_isError(packed))
        return tfs_fail_memory(err);
    out->size += packed;
    return 0;
}

int tfs_rbx_pack(enum tfs_rbx_packing packing, const struct tfs_rbx_pieces *payload,
                 struct tfs_rbx_pieces *packed, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};

    if (packing == TFS_RBX_STORED) {
        tfs_rbx_pieces_add_all(packed, payload);
        return tfs_rbx_pieces_check(packed, err);
    }
    (void)tfs_buf_reserve(&bytes, (size_t)payload->size);
    tfs_rbx_pieces_copy(payload, 0, payload->size, &bytes);
    if (tfs_buf_check(&bytes, err) == 0 &&
        pack_bytes(packing, tfs_buf_span(&bytes), &packed->made, err) == 0)
        tfs_rbx_pieces_add_made(packed, 0);
    tfs_buf_release(&bytes);
    return err->code < 0 ? err->code : tfs_rbx_pieces_check(packed, err);
}

/* ---- what was packed is read back ------------------------------------------------------------ */

/* What is unpacked comes here. */
struct unpacking {
    struct tfs_rbx_comparison comparison;
    struct tfs_readback *written;
    uint32_t left; /* packed bytes to come */
    struct tfs_error *err;
};

static int lz4_check(struct unpacking *u)
{
    const struct tfs_rbx_pieces *payload = u->comparison.pieces;
    struct tfs_rbx_packed packed = {.packing = TFS_RBX_LZ4, .size = (uint32_t)payload->size};
    struct tfs_buf bytes = {0}, out = {0};
    struct tfs_error why = {0};
    uint8_t *room = tfs_buf_reserve(&bytes, u->left);

    if (room == NULL)
        return tfs_fail_memory(u->err);
    packed.bytes = (struct tfs_span){room, u->left};
    if (tfs_readback_copy(u->written, room, u->left, u->err) < 0)
        goto out;
    if (tfs_rbx_unpack(&packed, &out, &why) == -ENOMEM)
        tfs_fail_memory(u->err);
    else if (why.code < 0 || !tfs_rbx_compare_next(&u->comparison, tfs_buf_span(&out)))
        tfs_readback_fail(u->written, u->err);
out:
    tfs_buf_release(&bytes);
    tfs_buf_release(&out);
    return u->err->code;
}

/* Unpacks these bytes of the frame. *left: what the decoder wants to have yet; 0 at the end of the
 * frame. */
static int zstd_unpack(struct unpacking *u, ZSTD_DStream *zstd, struct tfs_span bytes,
                       struct tfs_buf *room, size_t *left)
{
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    bool full = true;

    while (*left > 0 && (in.pos < in.size || full)) {
        ZSTD_outBuffer out = {room->data, room->capacity, 0};
        *left = ZSTD_decompressStream(zstd, &out, &in);
        if (ZSTD_isError(*left) && ZSTD_getErrorCode(*left) == ZSTD_error_memory_allocation)
            return tfs_fail_memory(u->err);
        if (ZSTD_isError(*left) ||
            !tfs_rbx_compare_next(&u->comparison, (struct tfs_span){room->data, out.pos}))
            return tfs_readback_fail(u->written, u->err);
        full = out.pos == out.size;
    }
    return in.pos == in.size ? 0 : tfs_readback_fail(u->written, u->err);
}

/* All bytes of the frame; the first ones say its size. */
static int zstd_frame(struct unpacking *u, ZSTD_DStream *zstd, struct tfs_buf *room)
{
    uint8_t head[ZSTD_HEAD];
    struct tfs_span bytes = {head, u->left < sizeof(head) ? u->left : sizeof(head)};
    size_t left = 1;

    if (tfs_readback_copy(u->written, head, bytes.size, u->err) < 0)
        return u->err->code;
    if (ZSTD_getFrameContentSize(head, bytes.size) != u->comparison.pieces->size)
        return tfs_readback_fail(u->written, u->err);
    while (bytes.size > 0 && left > 0) {
        if (zstd_unpack(u, zstd, bytes, room, &left) < 0)
            return u->err->code;
        u->left -= (uint32_t)bytes.size;
        bytes.size = 0;
        if (u->left > 0 && tfs_readback_take(u->written, u->left, &bytes, u->err) < 0)
            return u->err->code;
    }
    return left == 0 && u->left == 0 ? 0 : tfs_readback_fail(u->written, u->err);
}

static int zstd_check(struct unpacking *u)
{
    ZSTD_DStream *zstd = ZSTD_createDStream();
    struct tfs_buf room = {0};

    if (zstd == NULL || tfs_buf_reserve(&room, ZSTD_DStreamOutSize()) == NULL)
        tfs_fail_memory(u->err);
    else
        zstd_frame(u, zstd, &room);
    ZSTD_freeDStream(zstd);
    tfs_buf_release(&room);
    return u->err->code;
}

int tfs_rbx_pack_check(enum tfs_rbx_packing packing, const struct tfs_rbx_pieces *payload,
                       uint32_t size, struct tfs_readback *written, struct tfs_error *err)
{
    struct unpacking u = {{payload, 0, 0}, written, size, err};

    switch (packing) {
    case TFS_RBX_STORED:
        return tfs_rbx_pieces_expect(payload, written, err);
    case TFS_RBX_LZ4:
        lz4_check(&u);
        break;
    case TFS_RBX_ZSTD:
        zstd_check(&u);
        break;
    }
    if (err->code == 0 && !tfs_rbx_compare_end(&u.comparison))
        tfs_readback_fail(written, err);
    return err->code;
}
