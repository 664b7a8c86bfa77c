/*
 * BlockData <-> the view of its channels and metadata.
 *
 * Must not know what values mean, nor the inside of metadata.
 */
#include "formats/godot_voxel/block.h"

#include <errno.h>

static int fail_cut(const struct tfs_cursor *c, const char *what, struct tfs_error *err)
{
    return tfs_fail(err, -EBADMSG, "the block is cut off within %s, at byte %zu", what,
                    tfs_cursor_offset(c));
}

uint32_t tfs_godot_volume(const struct tfs_godot_block *block)
{
    return block->x * block->y * block->z;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static int take_head(struct tfs_cursor *c, struct tfs_godot_block *block, struct tfs_error *err)
{
    block->version = tfs_take_u8(c);
    block->x = tfs_take_u16le(c);
    block->y = tfs_take_u16le(c);
    block->z = tfs_take_u16le(c);
    if (c->failed)
        return fail_cut(c, "its header", err);
    if (block->version < TFS_GODOT_VERSION_MIN || block->version > TFS_GODOT_VERSION_MAX)
        return tfs_fail(err, -EBADMSG, "block version %u is not supported, only %d to %d",
                        block->version, TFS_GODOT_VERSION_MIN, TFS_GODOT_VERSION_MAX);
    uint64_t volume = (uint64_t)block->x * block->y * block->z;
    if (volume == 0 || volume > TFS_GODOT_VOLUME_MAX)
        return tfs_fail(err, -EBADMSG, "the block has %u x %u x %u voxels, at most %u are read",
                        block->x, block->y, block->z, TFS_GODOT_VOLUME_MAX);
    return 0;
}

static int take_channel(struct tfs_cursor *c, const struct tfs_godot_block *block, unsigned index,
                        struct tfs_godot_values *values, struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    uint8_t format = tfs_take_u8(c);
    uint8_t mode = format & 0xf, depth = format >> 4;

    if (c->failed)
        return fail_cut(c, "its channels", err);
    if (mode > TFS_GODOT_UNIFORM)
        return tfs_fail(err, -EBADMSG, "channel %u, at byte %zu, has the unknown mode %u", index,
                        offset, mode);
    if (depth > TFS_GODOT_DEPTH_MAX)
        return tfs_fail(err, -EBADMSG, "channel %u, at byte %zu, has the unknown depth %u", index,
                        offset, depth);
    uint64_t count = mode == TFS_GODOT_UNIFORM ? 1 : tfs_godot_volume(block);
    values->mode = mode == TFS_GODOT_UNIFORM ? TFS_GODOT_UNIFORM : TFS_GODOT_NONE;
    values->depth = depth;
    values->bytes = tfs_take(c, count << depth);
    return c->failed ? fail_cut(c, "its channels", err) : 0;
}

/* What lies between the channels and the end: metadata, or nothing, and the epilogue. */
static int take_tail(struct tfs_cursor *c, struct tfs_godot_block *block, struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    size_t left = tfs_cursor_left(c);

    block->has_metadata = left > sizeof(uint32_t);
    block->metadata = (struct tfs_span){0};
    if (block->has_metadata) {
        uint32_t size = tfs_take_u32le(c);
        if (left < TFS_GODOT_METADATA_MIN + sizeof(uint32_t) ||
            size != left - TFS_GODOT_METADATA_MIN - sizeof(uint32_t))
            return tfs_fail(err, -EBADMSG,
                            "the metadata, at byte %zu, does not end where the block ends", offset);
        block->metadata = tfs_take(c, size);
    }
    uint32_t epilogue = tfs_take_u32le(c);
    if (c->failed)
        return fail_cut(c, "its end", err);
    if (epilogue != TFS_GODOT_EPILOGUE)
        return tfs_fail(err, -EBADMSG, "the block does not end in 0df00d90");
    return 0;
}

int tfs_godot_block_parse(struct tfs_span data, struct tfs_godot_block *block,
                          struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(data);
    struct tfs_godot_block parsed = {0};

    if (take_head(&c, &parsed, err) < 0)
        return err->code;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (take_channel(&c, &parsed, i, &parsed.channels[i], err) < 0)
            return err->code;
    if (take_tail(&c, &parsed, err) < 0)
        return err->code;
    *block = parsed;
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------- */

void tfs_godot_block_encode(const struct tfs_godot_block *block, struct tfs_buf *out)
{
    tfs_buf_u8(out, block->version);
    tfs_buf_u16le(out, (uint16_t)block->x);
    tfs_buf_u16le(out, (uint16_t)block->y);
    tfs_buf_u16le(out, (uint16_t)block->z);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        const struct tfs_godot_values *values = &block->channels[i];
        tfs_buf_u8(out, (uint8_t)(values->mode | (unsigned)values->depth << 4));
        tfs_buf_add_span(out, values->bytes);
    }
    if (block->metadata.size > 0) {
        tfs_buf_u32le(out, (uint32_t)block->metadata.size);
        tfs_buf_add_span(out, block->metadata);
    }
    tfs_buf_u32le(out, TFS_GODOT_EPILOGUE);
}

/* ---- in a container -------------------------------------------------------------------------- */

static int parse_payload(void *arg, struct tfs_span payload, struct tfs_error *err)
{
    return tfs_godot_block_parse(payload, arg, err);
}

static int begins(struct tfs_span head, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(head);
    struct tfs_godot_block block;

    return take_head(&c, &block, err);
}

int tfs_godot_block_open(struct tfs_blob *stored, struct tfs_godot_block *block,
                         struct tfs_error *err)
{
    struct tfs_godot_block opened = {0};

    if (tfs_godot_unwrap(stored, begins, parse_payload, &opened, &opened.kind, &opened.data, err) <
        0)
        return err->code;
    *block = opened;
    return 0;
}

void tfs_godot_block_release(struct tfs_godot_block *block)
{
    tfs_blob_unref(block->data);
    *block = (struct tfs_godot_block){0};
}

bool tfs_godot_block_begins(struct tfs_span stored)
{
    uint8_t head[TFS_GODOT_HEADER_SIZE];
    size_t size = tfs_godot_peek(stored, head, sizeof(head));
    struct tfs_error ignored = {0};

    return begins((struct tfs_span){head, size}, &ignored) == 0;
}

bool tfs_godot_block_may_begin(struct tfs_span head, uint64_t size)
{
    return tfs_godot_may_begin(head, size, begins);
}
