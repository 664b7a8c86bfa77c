/*
 * Bytes of a map block <-> fields, sections and voxels, by zlib and libzstd.
 *
 * Must not know where blocks lie, nor what texts make of metadata, objects and timers: of these
 * only the extent is found and the counts are checked.
 */
#include "formats/luanti/block.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "formats/luanti/lists.h"

#define INFLATE_MAX ((size_t)64 << 20)
#define STEP        ((size_t)32 << 10)
#define WINDOW_LOG  23   /* of a frame; the engine's levels need 22 at most */
#define SHORT_IDS   0x80 /* of one byte: from here on four bits of param2 belong to them */

/* ---- Zstandard ------------------------------------------------------------------------------- */

/* The Zstandard contexts of a thread, kept because making them takes longer than packing a
 * block. */
struct contexts {
    ZSTD_DCtx *inflate;
    ZSTD_CCtx *deflate;
};

static pthread_once_t contexts_once = PTHREAD_ONCE_INIT;
static pthread_key_t contexts_key;
static bool contexts_kept;

static void contexts_free(void *contexts)
{
    struct contexts *c = contexts;

    ZSTD_freeDCtx(c->inflate);
    ZSTD_freeCCtx(c->deflate);
    free(c);
}

static void make_key(void)
{
    contexts_kept = pthread_key_create(&contexts_key, contexts_free) == 0;
}

/* Those of the thread; NULL: no memory. */
static struct contexts *contexts(void)
{
    pthread_once(&contexts_once, make_key);
    struct contexts *c = contexts_kept ? pthread_getspecific(contexts_key) : NULL;
    if (c != NULL || !contexts_kept)
        return c;
    c = calloc(1, sizeof(*c));
    if (c != NULL && pthread_setspecific(contexts_key, c) != 0) {
        free(c);
        c = NULL;
    }
    return c;
}

static ZSTD_DCtx *inflate_context(void)
{
    struct contexts *c = contexts();

    if (c != NULL && c->inflate == NULL)
        c->inflate = ZSTD_createDCtx();
    return c == NULL ? NULL : c->inflate;
}

static ZSTD_CCtx *deflate_context(void)
{
    struct contexts *c = contexts();

    if (c != NULL && c->deflate == NULL)
        c->deflate = ZSTD_createCCtx();
    return c == NULL ? NULL : c->deflate;
}

/* ---- inflating ------------------------------------------------------------------------------- */

/* Room for the next step; NULL: no memory, or more than `max` bytes already. */
static uint8_t *next_step(struct tfs_buf *out, size_t max, struct tfs_error *err)
{
    uint8_t *room = tfs_buf_reserve(out, STEP);

    if (room == NULL)
        tfs_fail_memory(err);
    else if (out->size > max)
        tfs_fail(err, -EBADMSG, "more than %zu bytes inflated, at most that is read", max);
    return err->code < 0 ? NULL : room;
}

/* One zlib stream off the front of `c`; *stream is where it lies. */
static int inflate_stream(struct tfs_cursor *c, const char *what, size_t max, struct tfs_buf *out,
                          struct tfs_span *stream, struct tfs_error *err)
{
    const size_t offset = tfs_cursor_offset(c), left = tfs_cursor_left(c);
    struct z_stream_s z = {.next_in = c->at, .avail_in = (uInt)left};
    int state = Z_OK;

    if (inflateInit(&z) != Z_OK)
        return tfs_fail_memory(err);
    while (state == Z_OK) {
        uint8_t *const room = next_step(out, max, err);
        if (room == NULL)
            break;
        z.next_out = room;
        z.avail_out = STEP;
        state = inflate(&z, Z_NO_FLUSH);
        out->size += STEP - z.avail_out;
    }
    *stream = tfs_take(c, left - z.avail_in);
    inflateEnd(&z);
    if (state != Z_STREAM_END)
        tfs_fail(err, state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG,
                 "offset %zu: the zlib stream of the %s is damaged", offset, what);
    return err->code;
}

/* The frame that the rest of the blob is. */
static int inflate_frame(struct tfs_span frame, struct tfs_buf *out, struct tfs_error *err)
{
    ZSTD_DCtx *zstd = inflate_context();
    ZSTD_inBuffer in = {frame.data, frame.size, 0};
    size_t hint = 1;

    if (zstd == NULL)
        return tfs_fail_memory(err);
    ZSTD_DCtx_reset(zstd, ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    while (hint != 0 && !ZSTD_isError(hint)) {
        uint8_t *room = next_step(out, INFLATE_MAX, err);
        if (room == NULL)
            break;
        ZSTD_outBuffer step = {room, STEP, 0};
        hint = ZSTD_decompressStream(zstd, &step, &in);
        out->size += step.pos;
        if (step.pos == 0 && in.pos == in.size && hint != 0)
            break;
    }
    if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation)
        tfs_fail_memory(err);
    else if (hint != 0 || in.pos != in.size)
        tfs_fail(err, -EBADMSG, "offset 1: the Zstandard frame is damaged");
    return err->code;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A blob being read. Sections that were inflated are remembered by their offset, because the memory
 * they lie in moves while it grows. */
struct reading {
    struct tfs_luanti_block *block;
    struct tfs_cursor c; /* the blob, or for version 29 what its frame holds */
    struct tfs_error *err;
};

static int fail_cut_off(struct reading *r, const char *what)
{
    return tfs_fail(r->err, -EBADMSG, "offset %zu: the block is cut off within its %s",
                    tfs_cursor_offset(&r->c), what);
}

/* The section that `skip` finds the end of. */
static int take_section(struct reading *r, enum tfs_luanti_section section)
{
    const uint8_t *start = r->c.at;

    if (tfs_luanti_list_skip(&r->c, section, r->block->version, r->err) < 0)
        return r->err->code;
    r->block->sections[section] = (struct tfs_span){start, (size_t)(r->c.at - start)};
    return 0;
}

static int take_lighting(struct reading *r)
{
    struct tfs_luanti_block *b = r->block;

    b->flags = tfs_take_u8(&r->c);
    b->lighting = b->version >= TFS_LUANTI_VERSION_LIGHTING ? tfs_take_u16be(&r->c) : UINT16_MAX;
    return r->c.failed ? fail_cut_off(r, "head") : 0;
}

static int take_timestamp_and_names(struct reading *r)
{
    r->block->timestamp = tfs_take_u32be(&r->c);
    return take_section(r, TFS_LUANTI_NAMES);
}

static int take_widths(struct reading *r)
{
    const size_t offset = tfs_cursor_offset(&r->c);
    const uint8_t width = tfs_take_u8(&r->c), params = tfs_take_u8(&r->c);

    if (r->c.failed)
        return fail_cut_off(r, "head");
    if (params != 2 || width < 1 || width > 2 ||
        (width == 1 && r->block->version >= TFS_LUANTI_VERSION_EARLY_TIMERS))
        return tfs_fail(r->err, -EBADMSG,
                        "offset %zu: nodes of %u bytes and %u parameters are not possible", offset,
                        width, params);
    r->block->width = width;
    return 0;
}

static size_t nodes_size(const struct tfs_luanti_block *b)
{
    return (size_t)TFS_LUANTI_VOXELS * (b->width + 2u);
}

/* Versions 22 to 28: two streams. */
static int take_streams(struct reading *r)
{
    struct tfs_luanti_block *b = r->block;

    if (inflate_stream(&r->c, "nodes", nodes_size(b), &b->memory, &b->streams[TFS_LUANTI_NODES],
                       r->err) < 0)
        return r->err->code;
    if (b->memory.size != nodes_size(b))
        return tfs_fail(r->err, -EBADMSG, "the nodes inflate to %zu bytes, %zu are right",
                        b->memory.size, nodes_size(b));
    if (inflate_stream(&r->c, "metadata", INFLATE_MAX, &b->memory, &b->streams[TFS_LUANTI_METADATA],
                       r->err) < 0)
        return r->err->code;

    struct tfs_span metadata = {b->memory.data + nodes_size(b), b->memory.size - nodes_size(b)};
    struct tfs_cursor c = tfs_cursor_init(metadata);
    b->sections[TFS_LUANTI_NODES] = (struct tfs_span){b->memory.data, nodes_size(b)};
    b->sections[TFS_LUANTI_METADATA] = metadata;
    if (tfs_luanti_list_skip(&c, TFS_LUANTI_METADATA, b->version, r->err) == 0 &&
        tfs_cursor_left(&c) > 0)
        tfs_fail(r->err, -EBADMSG, "%zu bytes behind the metadata", tfs_cursor_left(&c));
    return r->err->code;
}

static int take_old(struct reading *r)
{
    const uint8_t version = r->block->version;

    if (take_lighting(r) < 0 || take_widths(r) < 0 || take_streams(r) < 0)
        return r->err->code;
    if (version == TFS_LUANTI_VERSION_METADATA && tfs_take_u8(&r->c) != 0)
        return tfs_fail(r->err, -EBADMSG, "the byte behind the metadata is not 0");
    if (version == TFS_LUANTI_VERSION_EARLY_TIMERS && take_section(r, TFS_LUANTI_TIMERS) < 0)
        return r->err->code;
    if (take_section(r, TFS_LUANTI_OBJECTS) < 0 || take_timestamp_and_names(r) < 0)
        return r->err->code;
    return version >= TFS_LUANTI_VERSION_TIMERS ? take_section(r, TFS_LUANTI_TIMERS) : 0;
}

static int take_new(struct reading *r)
{
    struct tfs_luanti_block *b = r->block;
    struct tfs_span frame = {r->c.at, tfs_cursor_left(&r->c)};

    if (inflate_frame(frame, &b->memory, r->err) < 0)
        return r->err->code;
    r->c = tfs_cursor_init(tfs_buf_span(&b->memory));
    if (take_lighting(r) < 0 || take_timestamp_and_names(r) < 0 || take_widths(r) < 0)
        return r->err->code;
    b->sections[TFS_LUANTI_NODES] = tfs_take(&r->c, nodes_size(b));
    if (r->c.failed)
        return fail_cut_off(r, "nodes");
    if (take_section(r, TFS_LUANTI_METADATA) < 0 || take_section(r, TFS_LUANTI_OBJECTS) < 0)
        return r->err->code;
    return take_section(r, TFS_LUANTI_TIMERS);
}

/* ---- voxels ---------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    return (int)((const struct tfs_luanti_name *)a)->id - ((const struct tfs_luanti_name *)b)->id;
}

static int read_names(struct reading *r)
{
    struct tfs_luanti_block *b = r->block;
    struct tfs_cursor c = tfs_cursor_init(b->sections[TFS_LUANTI_NAMES]);

    (void)tfs_take_u8(&c);
    b->count = b->stored = tfs_take_u16be(&c);
    b->order = calloc(2 * (size_t)b->count + 1, sizeof(*b->order));
    if (b->order == NULL)
        return tfs_fail_memory(r->err);
    b->names = b->order + b->count;
    for (uint32_t i = 0; i < b->count; i++) {
        b->order[i].id = tfs_take_u16be(&c);
        b->order[i].name = tfs_take(&c, tfs_take_u16be(&c));
    }
    memcpy(b->names, b->order, b->count * sizeof(*b->names));
    qsort(b->names, b->count, sizeof(*b->names), compare_ids);
    for (uint32_t i = 1; i < b->count; i++)
        if (b->names[i].id == b->names[i - 1].id)
            return tfs_fail(r->err, -EBADMSG, "two names have the number %u", b->names[i].id);
    return 0;
}

/* The id of a node in the stored order. One of a byte may take four bits of param2. */
static uint32_t id_at(const struct tfs_luanti_block *b, const uint8_t *param0, uint32_t i)
{
    if (b->width == 2)
        return (uint32_t)param0[2 * i] << 8 | param0[2 * i + 1];
    return param0[i] < SHORT_IDS
               ? param0[i]
               : (uint32_t)param0[i] << 4 | param0[2 * TFS_LUANTI_VOXELS + i] >> 4;
}

/* Is the row at i equal to the row before it? Most rows of most blocks are, and need no second
 * look. */
static bool is_row_again(const struct tfs_luanti_block *b, uint32_t i)
{
    const uint8_t *param0 = b->sections[TFS_LUANTI_NODES].data;

    return i > 0 && b->width == 2 &&
           memcmp(param0 + 2 * (size_t)i, param0 + 2 * (size_t)(i - TFS_LUANTI_SIDE),
                  2 * (size_t)TFS_LUANTI_SIDE) == 0;
}

/* Marks the ids of a row: each must have a name. */
static int use_row(struct reading *r, uint32_t *index, uint32_t last, uint32_t row)
{
    const uint8_t *param0 = r->block->sections[TFS_LUANTI_NODES].data;
    uint32_t before = UINT32_MAX, id;

    for (uint32_t i = row; i < row + TFS_LUANTI_SIDE; i++, before = id) {
        id = id_at(r->block, param0, i);
        if (id == before)
            continue;
        if (id > last || index[id] == 0)
            return tfs_fail(r->err, -EBADMSG, "node %u has the number %u, which has no name", i,
                            id);
        index[id] = 2;
    }
    return 0;
}

/* Finds the names that nodes use: by id, the index of each + 1, without gaps. Ids above `last` have
 * no name. */
static int find_used(struct reading *r, uint32_t *index, uint32_t last)
{
    struct tfs_luanti_block *b = r->block;
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->count; i++)
        index[b->names[i].id] = 1;
    for (uint32_t row = 0; row < TFS_LUANTI_VOXELS; row += TFS_LUANTI_SIDE)
        if (!is_row_again(b, row) && use_row(r, index, last, row) < 0)
            return r->err->code;
    for (uint32_t i = 0; i < b->count; i++)
        if (index[b->names[i].id] == 2) {
            index[b->names[i].id] = count + 1;
            b->names[count++] = b->names[i];
        }
    b->count = count;
    return 0;
}

/* Rows along x lie together in both orders. */
static void read_voxels(struct tfs_luanti_block *b, const uint32_t *index)
{
    const uint8_t *param0 = b->sections[TFS_LUANTI_NODES].data;
    const uint8_t *param1 = param0 + (size_t)TFS_LUANTI_VOXELS * b->width;
    const uint8_t *param2 = param1 + TFS_LUANTI_VOXELS;

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i += TFS_LUANTI_SIDE) {
        const uint32_t row = tfs_luanti_place(i);
        memcpy(b->param1 + row, param1 + i, TFS_LUANTI_SIDE);
        memcpy(b->param2 + row, param2 + i, TFS_LUANTI_SIDE);
        if (is_row_again(b, i)) {
            memcpy(b->nodes + row, b->nodes + tfs_luanti_place(i - TFS_LUANTI_SIDE),
                   TFS_LUANTI_SIDE * sizeof(*b->nodes));
            continue;
        }
        for (uint32_t x = 0; x < TFS_LUANTI_SIDE; x++) {
            b->nodes[row + x] = index[id_at(b, param0, i + x)] - 1;
            if (b->width == 1 && param0[i + x] >= SHORT_IDS)
                b->param2[row + x] &= 0xf;
        }
    }
}

/* The names that nodes have, and with `voxels` the nodes. */
static int read_nodes(struct reading *r, bool voxels)
{
    struct tfs_luanti_block *b = r->block;
    const uint32_t last = b->count == 0 ? 0 : b->names[b->count - 1].id;
    uint32_t *index = calloc(last + (size_t)1, sizeof(*index));

    if (index == NULL)
        return tfs_fail_memory(r->err);
    if (find_used(r, index, last) == 0 && voxels)
        read_voxels(b, index);
    free(index);
    return r->err->code;
}

/* ---- the block ------------------------------------------------------------------------------- */

static int block_open(struct tfs_span blob, bool voxels, struct tfs_luanti_block *block,
                      struct tfs_error *err)
{
    struct reading r = {block, tfs_cursor_init(blob), err};

    memset(block, 0, offsetof(struct tfs_luanti_block, nodes));
    block->version = tfs_take_u8(&r.c);
    if (blob.size == 0)
        tfs_fail(err, -EBADMSG, "offset 0: the block has no bytes");
    else if (block->version < TFS_LUANTI_VERSION_MIN || block->version > TFS_LUANTI_VERSION_MAX)
        tfs_fail(err, -ENOTSUP, "version %u is not supported, only %u to %u", block->version,
                 TFS_LUANTI_VERSION_MIN, TFS_LUANTI_VERSION_MAX);
    else if (blob.size > INFLATE_MAX)
        tfs_fail(err, -EBADMSG, "%zu bytes, at most %zu are read", blob.size, INFLATE_MAX);
    else if (block->version < TFS_LUANTI_VERSION_ZSTD)
        take_old(&r);
    else
        take_new(&r);
    if (err->code == 0 && tfs_cursor_left(&r.c) > 0)
        tfs_fail(err, -EBADMSG, "offset %zu: %zu bytes behind the block", tfs_cursor_offset(&r.c),
                 tfs_cursor_left(&r.c));
    if (err->code == 0 && read_names(&r) == 0)
        read_nodes(&r, voxels);
    if (err->code < 0)
        tfs_luanti_block_release(block);
    return err->code;
}

int tfs_luanti_block_open(struct tfs_span blob, struct tfs_luanti_block *block,
                          struct tfs_error *err)
{
    return block_open(blob, true, block, err);
}

int tfs_luanti_names_open(struct tfs_span blob, struct tfs_luanti_block *block,
                          struct tfs_error *err)
{
    return block_open(blob, false, block, err);
}

void tfs_luanti_block_release(struct tfs_luanti_block *block)
{
    tfs_buf_release(&block->memory);
    free(block->order);
    block->order = block->names = NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void deflate_stream(struct tfs_span bytes, struct tfs_buf *out, struct tfs_error *err)
{
    uLongf size = compressBound((uLong)bytes.size);
    uint8_t *room = tfs_buf_reserve(out, size);

    if (room == NULL ||
        compress2(room, &size, bytes.data, (uLong)bytes.size, Z_DEFAULT_COMPRESSION) != Z_OK)
        tfs_fail_memory(err);
    else
        out->size += size;
}

/* As the engine does it: a stream of unknown length, so the frame does not say how long it is. */
static void deflate_frame(struct tfs_span bytes, struct tfs_buf *out, struct tfs_error *err)
{
    ZSTD_CCtx *zstd = deflate_context();
    const size_t bound = ZSTD_compressBound(bytes.size);
    uint8_t *room = tfs_buf_reserve(out, bound);
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    ZSTD_outBuffer step = {room, bound, 0};

    if (zstd == NULL || room == NULL) {
        tfs_fail_memory(err);
        return;
    }
    size_t left = ZSTD_initCStream(zstd, 0);
    if (!ZSTD_isError(left))
        left = ZSTD_compressStream(zstd, &step, &in);
    if (!ZSTD_isError(left))
        left = ZSTD_endStream(zstd, &step);
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
        tfs_fail_memory(err);
    else if (left != 0 || in.pos != in.size)
        tfs_fail(err, -EIO, "Zstandard could not compress %zu bytes", bytes.size);
    else
        out->size += step.pos;
}

static void add_stream(const struct tfs_luanti_block *b, enum tfs_luanti_section section,
                       struct tfs_buf *out, struct tfs_error *err)
{
    if (b->streams[section].size > 0)
        tfs_buf_add_span(out, b->streams[section]);
    else
        deflate_stream(b->sections[section], out, err);
}

static void add_widths(const struct tfs_luanti_block *b, struct tfs_buf *out)
{
    tfs_buf_u8(out, b->width);
    tfs_buf_u8(out, 2);
}

static void encode_old(const struct tfs_luanti_block *b, struct tfs_buf *out, struct tfs_error *err)
{
    tfs_buf_u8(out, b->flags);
    if (b->version >= TFS_LUANTI_VERSION_LIGHTING)
        tfs_luanti_u16(out, b->lighting);
    add_widths(b, out);
    add_stream(b, TFS_LUANTI_NODES, out, err);
    add_stream(b, TFS_LUANTI_METADATA, out, err);
    if (b->version == TFS_LUANTI_VERSION_METADATA)
        tfs_buf_u8(out, 0);
    if (b->version == TFS_LUANTI_VERSION_EARLY_TIMERS)
        tfs_buf_add_span(out, b->sections[TFS_LUANTI_TIMERS]);
    tfs_buf_add_span(out, b->sections[TFS_LUANTI_OBJECTS]);
    tfs_buf_u32be(out, b->timestamp);
    tfs_buf_add_span(out, b->sections[TFS_LUANTI_NAMES]);
    if (b->version >= TFS_LUANTI_VERSION_TIMERS)
        tfs_buf_add_span(out, b->sections[TFS_LUANTI_TIMERS]);
}

static void encode_new(const struct tfs_luanti_block *b, struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_buf plain = {0};

    tfs_buf_u8(&plain, b->flags);
    tfs_luanti_u16(&plain, b->lighting);
    tfs_buf_u32be(&plain, b->timestamp);
    tfs_buf_add_span(&plain, b->sections[TFS_LUANTI_NAMES]);
    add_widths(b, &plain);
    tfs_buf_add_span(&plain, b->sections[TFS_LUANTI_NODES]);
    tfs_buf_add_span(&plain, b->sections[TFS_LUANTI_METADATA]);
    tfs_buf_add_span(&plain, b->sections[TFS_LUANTI_OBJECTS]);
    tfs_buf_add_span(&plain, b->sections[TFS_LUANTI_TIMERS]);
    if (tfs_buf_check(&plain, err) == 0)
        deflate_frame(tfs_buf_span(&plain), out, err);
    tfs_buf_release(&plain);
}

int tfs_luanti_block_encode(const struct tfs_luanti_block *b, struct tfs_buf *out,
                            struct tfs_error *err)
{
    tfs_buf_u8(out, b->version);
    if (b->version < TFS_LUANTI_VERSION_ZSTD)
        encode_old(b, out, err);
    else
        encode_new(b, out, err);
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

void tfs_luanti_nodes_encode(struct tfs_buf *out, unsigned width, const uint16_t *ids,
                             const uint8_t *param1, const uint8_t *param2)
{
    const size_t size = (size_t)TFS_LUANTI_VOXELS * (width + 2);
    uint8_t *param0 = tfs_buf_reserve(out, size);

    if (param0 == NULL)
        return;
    uint8_t *rest = param0 + (size_t)TFS_LUANTI_VOXELS * width;
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t voxel = tfs_luanti_place(i);
        const bool split = width == 1 && ids[voxel] >= SHORT_IDS;
        if (width == 2)
            *param0++ = (uint8_t)(ids[voxel] >> 8);
        *param0++ = (uint8_t)(split ? ids[voxel] >> 4 : ids[voxel]);
        rest[i] = param1[voxel];
        rest[TFS_LUANTI_VOXELS + i] =
            split ? (uint8_t)(ids[voxel] << 4 | (param2[voxel] & 0xf)) : param2[voxel];
    }
    out->size += size;
}

static bool is_name(struct tfs_span name, const char *text)
{
    return tfs_span_equal(name, tfs_span_of(text));
}

bool tfs_luanti_is_air(struct tfs_span name)
{
    return is_name(name, "air");
}

bool tfs_luanti_is_ignore(struct tfs_span name)
{
    return is_name(name, "ignore");
}
