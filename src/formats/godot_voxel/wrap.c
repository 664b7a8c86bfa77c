/*
 * Stored bytes of a block <-> payload, by liblz4 and libzstd.
 *
 * Must not know what the payload is: whether it is one, its parser says. No size of the bytes is
 * believed: one that no compressor could reach is refused before anything is allocated.
 */
#include "formats/godot_voxel/wrap.h"

#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

static const char *const names[TFS_GODOT_KINDS] = {
    [TFS_GODOT_BARE] = "bare",
    [TFS_GODOT_STORED] = "0 (not compressed)",
    [TFS_GODOT_LZ4_BE] = "1 (LZ4, big-endian size)",
    [TFS_GODOT_LZ4] = "2 (LZ4)",
    [TFS_GODOT_ZSTD] = "3 (Zstandard)",
    [TFS_GODOT_LZ4_BROKEN] = "1 with a little-endian size (written back as 2)",
    [TFS_GODOT_HEADERLESS] = "headerless (size and LZ4)",
};

const char *tfs_godot_kind_name(enum tfs_godot_kind kind)
{
    return names[kind];
}

bool tfs_godot_kind_is_cased(enum tfs_godot_kind kind)
{
    return kind == TFS_GODOT_STORED || kind == TFS_GODOT_LZ4_BE || kind == TFS_GODOT_LZ4 ||
           kind == TFS_GODOT_ZSTD;
}

/* ---- headers --------------------------------------------------------------------------------- */

/* What the header of a kind says: the bytes behind it, and the size of the payload. */
struct header {
    struct tfs_span packed;
    uint32_t size;
};

static int byte_of(enum tfs_godot_kind kind)
{
    switch (kind) {
    case TFS_GODOT_STORED:
        return TFS_GODOT_CASE_STORED;
    case TFS_GODOT_LZ4_BE:
    case TFS_GODOT_LZ4_BROKEN:
        return TFS_GODOT_CASE_LZ4_BE;
    case TFS_GODOT_LZ4:
        return TFS_GODOT_CASE_LZ4;
    case TFS_GODOT_ZSTD:
        return TFS_GODOT_CASE_ZSTD;
    case TFS_GODOT_BARE:
    case TFS_GODOT_HEADERLESS:
    case TFS_GODOT_KINDS:
        break;
    }
    return -1;
}

static bool has_size(enum tfs_godot_kind kind)
{
    return kind != TFS_GODOT_BARE && kind != TFS_GODOT_STORED;
}

static bool is_lz4(enum tfs_godot_kind kind)
{
    return has_size(kind) && kind != TFS_GODOT_ZSTD;
}

static int take_header(struct tfs_span stored, enum tfs_godot_kind kind, struct header *header,
                       struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(stored);
    int byte = byte_of(kind);

    if (byte >= 0 && tfs_take_u8(&c) != byte)
        return tfs_fail(err, -EBADMSG, "it does not begin with the byte %02x of this container",
                        (unsigned)byte);
    header->size = 0;
    if (has_size(kind))
        header->size = kind == TFS_GODOT_LZ4_BE ? tfs_take_u32be(&c) : tfs_take_u32le(&c);
    if (c.failed)
        return tfs_fail(err, -EBADMSG, "it is cut off within the header of its container");
    header->packed = tfs_take(&c, tfs_cursor_left(&c));
    return 0;
}

/* ---- taking out ------------------------------------------------------------------------------ */

/* Can so many compressed bytes hold a payload of that size, and may they? */
static int check_size(const struct header *header, enum tfs_godot_kind kind, struct tfs_error *err)
{
    const uint64_t packed = header->packed.size;
    const uint64_t most = is_lz4(kind) ? packed * TFS_GODOT_LZ4_RATIO + TFS_GODOT_LZ4_SLACK
                                       : packed * TFS_GODOT_ZSTD_RATIO;

    if (header->size > TFS_GODOT_DATA_MAX)
        return tfs_fail(err, -EBADMSG, "its container claims %u bytes, at most %ju are read",
                        header->size, (uintmax_t)TFS_GODOT_DATA_MAX);
    if (header->size > most)
        return tfs_fail(err, -EBADMSG,
                        "its container claims %u bytes, more than %zu bytes of %s can hold",
                        header->size, header->packed.size, is_lz4(kind) ? "LZ4" : "Zstandard");
    return 0;
}

static int inflate_zstd(const struct header *header, uint8_t *out, struct tfs_error *err)
{
    const struct tfs_span packed = header->packed;
    unsigned long long claimed = ZSTD_getFrameContentSize(packed.data, packed.size);

    if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR &&
        claimed != header->size)
        return tfs_fail(err, -EBADMSG, "its Zstandard frame is not one of %u bytes", header->size);
    size_t length = ZSTD_findFrameCompressedSize(packed.data, packed.size);
    size_t size = ZSTD_isError(length) || length != packed.size
                      ? 0
                      : ZSTD_decompress(out, header->size, packed.data, packed.size);
    if (ZSTD_isError(size) || size != header->size)
        return tfs_fail(err, -EBADMSG, "its Zstandard data is damaged");
    return 0;
}

static int inflate_lz4(const struct header *header, uint8_t *out, struct tfs_error *err)
{
    /* Below INT_MAX both: the sizes were checked, and the packed bytes come from a block. */
    if (header->packed.size > LZ4_MAX_INPUT_SIZE)
        return tfs_fail(err, -EBADMSG, "it is too large");
    int size = LZ4_decompress_safe((const char *)header->packed.data, (char *)out,
                                   (int)header->packed.size, (int)header->size);
    if (size < 0 || (uint32_t)size != header->size)
        return tfs_fail(err, -EBADMSG, "its LZ4 data is damaged");
    return 0;
}

/* The first bytes of a payload whose size was checked; none, where they cannot be had alone. */
static size_t peek(const struct header *header, enum tfs_godot_kind kind, uint8_t *head,
                   size_t size)
{
    if (!is_lz4(kind) || header->packed.size > LZ4_MAX_INPUT_SIZE)
        return 0;
    int room = (int)(size < header->size ? size : header->size);
    int found = LZ4_decompress_safe_partial((const char *)header->packed.data, (char *)head,
                                            (int)header->packed.size, room, room);
    return found < 0 ? 0 : (size_t)found;
}

static int check_begin(const struct header *header, enum tfs_godot_kind kind,
                       tfs_godot_begins_fn begins, struct tfs_error *err)
{
    uint8_t head[TFS_GODOT_HEADER_SIZE];

    if (begins == NULL || peek(header, kind, head, sizeof(head)) < sizeof(head))
        return 0;
    return begins((struct tfs_span){head, sizeof(head)}, err);
}

static int inflate(const struct header *header, enum tfs_godot_kind kind,
                   tfs_godot_begins_fn begins, struct tfs_blob **payload, struct tfs_error *err)
{
    struct tfs_buf out = {0};

    if (check_size(header, kind, err) < 0 || check_begin(header, kind, begins, err) < 0)
        return err->code;
    uint8_t *room = tfs_buf_reserve(&out, header->size == 0 ? 1 : header->size);
    if (room == NULL)
        return tfs_buf_check(&out, err);
    int result =
        kind == TFS_GODOT_ZSTD ? inflate_zstd(header, room, err) : inflate_lz4(header, room, err);
    if (result == 0) {
        out.size = header->size;
        result = tfs_blob_take(&out, payload, err);
    }
    tfs_buf_release(&out);
    return result;
}

static int unwrap_as(struct tfs_blob *stored, enum tfs_godot_kind kind, tfs_godot_begins_fn begins,
                     tfs_godot_parse_fn parse, void *arg, struct tfs_blob **payload,
                     struct tfs_error *err)
{
    struct tfs_blob *found = NULL;
    struct header header;

    if (take_header(tfs_blob_span(stored), kind, &header, err) < 0)
        return err->code;
    int result = has_size(kind) ? inflate(&header, kind, begins, &found, err)
                                : tfs_blob_slice(stored, header.packed, &found, err);
    if (result == 0)
        result = parse(arg, tfs_blob_span(found), err);
    if (result == 0)
        *payload = found;
    else
        tfs_blob_unref(found);
    return result;
}

/* The kind whose sentence is told when none fits. */
static enum tfs_godot_kind likely(struct tfs_span stored)
{
    static const enum tfs_godot_kind kinds[] = {TFS_GODOT_STORED, TFS_GODOT_LZ4_BE, TFS_GODOT_LZ4,
                                                TFS_GODOT_ZSTD};

    return stored.size > 0 && stored.data[0] < 4 ? kinds[stored.data[0]] : TFS_GODOT_BARE;
}

int tfs_godot_unwrap(struct tfs_blob *stored, tfs_godot_begins_fn begins, tfs_godot_parse_fn parse,
                     void *arg, enum tfs_godot_kind *kind, struct tfs_blob **payload,
                     struct tfs_error *err)
{
    const enum tfs_godot_kind best = likely(tfs_blob_span(stored));
    struct tfs_error told = {0};

    for (enum tfs_godot_kind k = TFS_GODOT_BARE; k < TFS_GODOT_KINDS; k++) {
        struct tfs_error why = {0};
        if (unwrap_as(stored, k, begins, parse, arg, payload, &why) == 0) {
            *kind = k;
            return 0;
        }
        if (why.code == -ENOMEM)
            return tfs_fail(err, why.code, "%s", why.text);
        if (k == best)
            told = why;
    }
    return tfs_fail(err, -EBADMSG, "%s", told.text);
}

/* What lies behind `head` is not read: only how much it is counts. */
static bool may_be(struct tfs_span head, uint64_t size, enum tfs_godot_kind kind,
                   tfs_godot_begins_fn begins)
{
    static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    struct tfs_error ignored = {0};
    struct header all, first;

    if (take_header(head, kind, &first, &ignored) < 0)
        return false;
    if (!has_size(kind))
        return begins(first.packed, &ignored) == 0;
    all = first;
    all.packed.size += size - head.size;
    if (all.size < TFS_GODOT_DATA_MIN || check_size(&all, kind, &ignored) < 0)
        return false;
    /* Of this kind there is nothing but a number that is not too large. */
    if (kind == TFS_GODOT_HEADERLESS && all.packed.size > (size_t)LZ4_COMPRESSBOUND(all.size))
        return false;
    if (kind == TFS_GODOT_ZSTD)
        return first.packed.size >= sizeof(zstd) &&
               memcmp(first.packed.data, zstd, sizeof(zstd)) == 0;
    return check_begin(&first, kind, begins, &ignored) == 0;
}

bool tfs_godot_may_begin(struct tfs_span head, uint64_t size, tfs_godot_begins_fn begins)
{
    bool may = false;

    for (enum tfs_godot_kind k = TFS_GODOT_BARE; k < TFS_GODOT_KINDS; k++)
        may = may || may_be(head, size, k, begins);
    return may;
}

size_t tfs_godot_peek(struct tfs_span stored, uint8_t *head, size_t size)
{
    struct tfs_error ignored = {0};
    const enum tfs_godot_kind kind = likely(stored);
    struct header header;

    if (take_header(stored, kind, &header, &ignored) < 0 || check_size(&header, kind, &ignored) < 0)
        return 0;
    return peek(&header, kind, head, size);
}

/* ---- putting in ------------------------------------------------------------------------------ */

static void put_header(enum tfs_godot_kind kind, uint32_t size, struct tfs_buf *out)
{
    if (kind != TFS_GODOT_BARE && kind != TFS_GODOT_HEADERLESS)
        tfs_buf_u8(out, (uint8_t)byte_of(kind));
    if (!has_size(kind))
        return;
    if (kind == TFS_GODOT_LZ4_BE)
        tfs_buf_u32be(out, size);
    else
        tfs_buf_u32le(out, size);
}

static int deflate_zstd(struct tfs_span payload, struct tfs_buf *out, struct tfs_error *err)
{
    size_t bound = ZSTD_compressBound(payload.size);
    uint8_t *room = tfs_buf_reserve(out, bound);

    if (room == NULL)
        return tfs_buf_check(out, err);
    size_t size = ZSTD_compress(room, bound, payload.data, payload.size, TFS_GODOT_ZSTD_LEVEL);
    if (ZSTD_isError(size))
        return tfs_fail(err, -EIO, "Zstandard: %s", ZSTD_getErrorName(size));
    out->size += size;
    return 0;
}

/* The destination has the size that the engine gives it: the bytes depend on it. */
static int deflate_lz4(struct tfs_span payload, struct tfs_buf *out, struct tfs_error *err)
{
    int bound = LZ4_compressBound((int)payload.size);
    uint8_t *room = tfs_buf_reserve(out, (size_t)bound);

    if (room == NULL)
        return tfs_buf_check(out, err);
    int size =
        LZ4_compress_default((const char *)payload.data, (char *)room, (int)payload.size, bound);
    if (size <= 0)
        return tfs_fail(err, -EIO, "LZ4 could not compress %zu bytes", payload.size);
    out->size += (size_t)size;
    return 0;
}

int tfs_godot_wrap(enum tfs_godot_kind kind, struct tfs_span payload, struct tfs_buf *out,
                   struct tfs_error *err)
{
    if (payload.size > TFS_GODOT_DATA_MAX)
        return tfs_fail(err, -EFBIG, "a block of %zu bytes, at most %ju can be stored",
                        payload.size, (uintmax_t)TFS_GODOT_DATA_MAX);
    if (kind == TFS_GODOT_LZ4_BROKEN)
        kind = TFS_GODOT_LZ4;
    put_header(kind, (uint32_t)payload.size, out);
    if (!has_size(kind)) {
        tfs_buf_add_span(out, payload);
        return tfs_buf_check(out, err);
    }
    return kind == TFS_GODOT_ZSTD ? deflate_zstd(payload, out, err)
                                  : deflate_lz4(payload, out, err);
}
