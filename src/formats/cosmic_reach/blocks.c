/*
 * Bytes of the block data section <-> a palette and 4,096 indices.
 *
 * Must not know containers, texts or what is done with a block.
 */
#include "formats/cosmic_reach/blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AIR_DEFAULT TFS_COSMIC_AIR "[default]"

struct tfs_span tfs_cosmic_name_take(struct tfs_cursor *c)
{
    int32_t size = tfs_take_s32be(c);

    /* A negative length becomes one that is longer than any file. */
    return tfs_take(c, size < 0 ? UINT64_MAX : (uint64_t)size);
}

static int take_names(struct tfs_cursor *c, struct tfs_cosmic_blocks *blocks, struct tfs_error *err)
{
    const uint8_t *start = c->at;

    for (uint32_t i = 0; i < blocks->count; i++) {
        size_t offset = tfs_cursor_offset(c);
        tfs_cosmic_name_take(c);
        if (c->failed)
            return tfs_fail(err, -EBADMSG,
                            "offset %zu: the name of palette entry %u is longer than what is left",
                            offset, i);
    }
    blocks->palette = (struct tfs_span){start, (size_t)(c->at - start)};
    return 0;
}

static int take_single(struct tfs_cursor *c, struct tfs_cosmic_blocks *blocks,
                       struct tfs_error *err)
{
    static const uint8_t zero = 0;

    blocks->single = true;
    blocks->count = 1;
    blocks->rest = (struct tfs_span){0};
    tfs_cosmic_layers_repeat(&blocks->layers, &tfs_cosmic_block_layers, TFS_COSMIC_SINGLE_BYTE,
                             (struct tfs_span){&zero, 1});
    return take_names(c, blocks, err);
}

static int take_layered(struct tfs_cursor *c, struct tfs_cosmic_blocks *blocks,
                        struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    int32_t count = tfs_take_s32be(c);

    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the block data is cut off before its palette",
                        offset);
    if (count < 1 || count > TFS_COSMIC_PALETTE_MAX)
        return tfs_fail(err, -EBADMSG, "offset %zu: a palette of %d entries, 1 to %d are possible",
                        offset, count, TFS_COSMIC_PALETTE_MAX);
    blocks->single = false;
    blocks->count = (uint32_t)count;
    if (take_names(c, blocks, err) < 0)
        return err->code;

    const uint8_t *start = c->at;
    if (tfs_cosmic_layers_take(c, &tfs_cosmic_block_layers, &blocks->layers, err) < 0)
        return err->code;
    blocks->rest = (struct tfs_span){start, (size_t)(c->at - start)};
    return 0;
}

int tfs_cosmic_blocks_take(struct tfs_cursor *c, struct tfs_cosmic_blocks *blocks,
                           struct tfs_error *err)
{
    size_t offset = tfs_cursor_offset(c);
    uint8_t type = tfs_take_u8(c);

    if (c->failed)
        return tfs_fail(err, -EBADMSG, "offset %zu: the block data is missing", offset);
    if (type == TFS_COSMIC_BLOCKS_SINGLE)
        return take_single(c, blocks, err);
    if (type == TFS_COSMIC_BLOCKS_LAYERED)
        return take_layered(c, blocks, err);
    return tfs_fail(err, -EBADMSG, "offset %zu: unknown block data type %u", offset, type);
}

int tfs_cosmic_blocks_view(struct tfs_span section, struct tfs_cosmic_blocks *blocks,
                           struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(section);

    return tfs_cosmic_blocks_take(&c, blocks, err);
}

/* The greatest index that a layer of that type can hold; most layers need no look at their
 * values. */
static uint32_t layer_room(uint8_t type)
{
    switch ((enum tfs_cosmic_block_layer)type) {
    case TFS_COSMIC_BIT:
        return 1;
    case TFS_COSMIC_HALFNIBBLE:
        return 3;
    case TFS_COSMIC_NIBBLE:
        return 15;
    case TFS_COSMIC_SINGLE_BYTE:
    case TFS_COSMIC_BYTE:
        return 255;
    case TFS_COSMIC_SHORT:
        return 65535;
    case TFS_COSMIC_SINGLE_INT:
        break;
    }
    return UINT32_MAX;
}

static uint32_t highest_of(const uint32_t *values)
{
    uint32_t high = 0;

    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        high = values[i] > high ? values[i] : high;
    return high;
}

int tfs_cosmic_blocks_check(const struct tfs_cosmic_blocks *blocks, const uint8_t *start,
                            struct tfs_error *err)
{
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];

    for (unsigned y = 0; y < TFS_COSMIC_LAYERS && !blocks->single; y++) {
        if (layer_room(blocks->layers.types[y]) < blocks->count)
            continue;
        blocks->layers.decode(blocks->layers.types[y], blocks->layers.bytes[y].data, ids);
        uint32_t high = highest_of(ids);
        if (high >= blocks->count)
            return tfs_fail(err, -EBADMSG,
                            "offset %zu: layer %u has palette index %u, the palette has %u %s",
                            (size_t)(blocks->layers.bytes[y].data - start), y, high, blocks->count,
                            blocks->count == 1 ? "entry" : "entries");
    }
    return 0;
}

int tfs_cosmic_blocks_decode(const struct tfs_cosmic_blocks *blocks,
                             struct tfs_cosmic_values **values, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);
    struct tfs_cosmic_values *v = malloc(sizeof(*v) + blocks->count * sizeof(v->names[0]));

    if (v == NULL)
        return tfs_fail_memory(err);
    v->count = blocks->count;
    for (uint32_t i = 0; i < v->count; i++)
        v->names[i] = tfs_cosmic_name_take(&c);
    tfs_cosmic_layers_decode(&blocks->layers, v->ids);
    *values = v;
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void add_name(struct tfs_buf *out, struct tfs_span name)
{
    tfs_buf_u32be(out, (uint32_t)name.size);
    tfs_buf_add_span(out, name);
}

static void add_single(struct tfs_buf *out, struct tfs_span name)
{
    tfs_buf_u8(out, TFS_COSMIC_BLOCKS_SINGLE);
    add_name(out, name);
}

static void add_palette(struct tfs_buf *out, const struct tfs_span *names, uint32_t count)
{
    tfs_buf_u8(out, TFS_COSMIC_BLOCKS_LAYERED);
    tfs_buf_u32be(out, count);
    for (uint32_t i = 0; i < count; i++)
        add_name(out, names[i]);
}

/* The rule of section 5, from the narrow to the wide. */
static void add_layer(struct tfs_buf *out, const uint32_t *ids, uint32_t version)
{
    uint32_t high = highest_of(ids);
    bool uniform = tfs_cosmic_values_equal(ids);

    if (uniform && high <= TFS_COSMIC_SINGLE_BYTE_MAX) {
        tfs_buf_u8(out, TFS_COSMIC_SINGLE_BYTE);
        tfs_buf_u8(out, (uint8_t)high);
    } else if (high > 255) {
        tfs_buf_u8(out, TFS_COSMIC_SHORT);
        tfs_cosmic_pack(out, 16, ids);
    } else if (high > 15 || uniform) {
        tfs_buf_u8(out, TFS_COSMIC_BYTE);
        tfs_cosmic_pack(out, 8, ids);
    } else if (high > 3) {
        tfs_buf_u8(out, TFS_COSMIC_NIBBLE);
        tfs_cosmic_pack(out, 4, ids);
    } else if (high > 1 || version < TFS_COSMIC_BIT_VERSION_MIN) {
        tfs_buf_u8(out, TFS_COSMIC_HALFNIBBLE);
        tfs_cosmic_pack(out, 2, ids);
    } else {
        tfs_buf_u8(out, TFS_COSMIC_BIT);
        tfs_cosmic_pack(out, 1, ids);
    }
}

/* One name in all voxels, possibly under several indices. */
static bool one_name(const struct tfs_span *names, const uint32_t *ids)
{
    for (unsigned i = 1; i < TFS_COSMIC_VALUES; i++)
        if (ids[i] != ids[0] && !tfs_span_equal(names[ids[i]], names[ids[0]]))
            return false;
    return true;
}

void tfs_cosmic_blocks_encode(struct tfs_buf *out, const struct tfs_span *names, uint32_t count,
                              const uint32_t *ids, uint32_t version)
{
    if (one_name(names, ids)) {
        add_single(out, names[ids[0]]);
        return;
    }
    add_palette(out, names, count);
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++)
        add_layer(out, ids + y * TFS_COSMIC_LAYER_VALUES, version);
}

void tfs_cosmic_blocks_rename(struct tfs_buf *out, const struct tfs_cosmic_blocks *blocks,
                              const struct tfs_span *names, uint32_t count)
{
    if (blocks->single) {
        add_single(out, names[0]);
        return;
    }
    add_palette(out, names, count);
    tfs_buf_add_span(out, blocks->rest);
}

/* ---- air ------------------------------------------------------------------------------------- */

bool tfs_cosmic_is_air(struct tfs_span name)
{
    const size_t size = sizeof(TFS_COSMIC_AIR) - 1;

    return name.size >= size && memcmp(name.data, TFS_COSMIC_AIR, size) == 0 &&
           (name.size == size || name.data[size] == '[');
}

struct tfs_span tfs_cosmic_air(uint32_t version)
{
    return tfs_span_of(version < TFS_COSMIC_BARE_AIR_VERSION ? AIR_DEFAULT : TFS_COSMIC_AIR);
}
