/*
 * Bytes -> the tags of a compound, one after another.
 *
 * Must not know what any tag means.
 */
#include "formats/minecraft/nbt.h"

#include <string.h>

#define BUCKETS 16

/* Bytes of a value, or of an item of an array; 0: they differ. */
static const uint8_t sizes[TFS_MC_NBT_TYPES] = {
    [TFS_MC_NBT_BYTE] = 1,  [TFS_MC_NBT_SHORT] = 2, [TFS_MC_NBT_INT] = 4,
    [TFS_MC_NBT_LONG] = 8,  [TFS_MC_NBT_FLOAT] = 4, [TFS_MC_NBT_DOUBLE] = 8,
    [TFS_MC_NBT_BYTES] = 1, [TFS_MC_NBT_INTS] = 4,  [TFS_MC_NBT_LONGS] = 8,
};

static void skip(struct tfs_cursor *c, uint8_t type, int depth);

static void skip_compound(struct tfs_cursor *c, int depth)
{
    uint8_t type;

    while ((type = tfs_take_u8(c)) != TFS_MC_NBT_END && !c->failed) {
        tfs_take(c, tfs_take_u16be(c));
        skip(c, type, depth);
    }
}

/* Items without bytes may be of no type: as many as somebody says would take for ever. */
static void skip_list(struct tfs_cursor *c, int depth)
{
    const uint8_t type = tfs_take_u8(c);
    const int32_t count = tfs_take_s32be(c);

    if (count < 0 || type >= TFS_MC_NBT_TYPES || (type == TFS_MC_NBT_END && count > 0)) {
        c->failed = true;
    } else if (sizes[type] > 0 && type <= TFS_MC_NBT_DOUBLE) {
        tfs_take(c, (uint64_t)count * sizes[type]);
    } else {
        for (int32_t i = 0; i < count && !c->failed; i++)
            skip(c, type, depth);
    }
}

static void skip(struct tfs_cursor *c, uint8_t type, int depth)
{
    switch (type) {
    case TFS_MC_NBT_BYTES:
    case TFS_MC_NBT_INTS:
    case TFS_MC_NBT_LONGS:
        tfs_take(c, (uint64_t)tfs_take_u32be(c) * sizes[type]);
        return;
    case TFS_MC_NBT_STRING:
        tfs_take(c, tfs_take_u16be(c));
        return;
    case TFS_MC_NBT_LIST:
    case TFS_MC_NBT_COMPOUND:
        if (depth == TFS_MC_NBT_DEPTH)
            c->failed = true;
        else if (type == TFS_MC_NBT_LIST)
            skip_list(c, depth + 1);
        else
            skip_compound(c, depth + 1);
        return;
    default:
        if (type == TFS_MC_NBT_END || type >= TFS_MC_NBT_TYPES)
            c->failed = true;
        else
            tfs_take(c, sizes[type]);
    }
}

struct tfs_span tfs_mc_nbt_take(struct tfs_cursor *c, uint8_t type)
{
    struct tfs_span payload = {c->at, 0};

    skip(c, type, 0);
    payload.size = c->failed ? 0 : (size_t)(c->at - payload.data);
    return payload;
}

bool tfs_mc_nbt_next(struct tfs_cursor *c, struct tfs_mc_nbt_tag *tag)
{
    tag->whole.data = c->at;
    tag->type = tfs_take_u8(c);
    if (c->failed || tag->type == TFS_MC_NBT_END)
        return false;
    tag->name = tfs_take(c, tfs_take_u16be(c));
    tag->payload = tfs_mc_nbt_take(c, tag->type);
    tag->whole.size = (size_t)(c->at - tag->whole.data);
    return !c->failed;
}

bool tfs_mc_nbt_is(const struct tfs_mc_nbt_tag *tag, const char *name, uint8_t type)
{
    return tag->type == type && tfs_span_equal(tag->name, tfs_span_of(name));
}

struct tfs_mc_nbt_list tfs_mc_nbt_list(struct tfs_span payload)
{
    struct tfs_mc_nbt_list list = {.items = tfs_cursor_init(payload)};

    list.type = tfs_take_u8(&list.items);
    list.count = tfs_take_u32be(&list.items);
    return list;
}

struct tfs_span tfs_mc_nbt_array(struct tfs_span payload)
{
    return (struct tfs_span){payload.data + 4, payload.size - 4};
}

struct tfs_span tfs_mc_nbt_string(struct tfs_span payload)
{
    return (struct tfs_span){payload.data + 2, payload.size - 2};
}

int64_t tfs_mc_nbt_number(const struct tfs_mc_nbt_tag *tag)
{
    struct tfs_cursor c = tfs_cursor_init(tag->payload);

    switch (tag->type) {
    case TFS_MC_NBT_BYTE:
        return (int8_t)tfs_take_u8(&c);
    case TFS_MC_NBT_SHORT:
        return (int16_t)tfs_take_u16be(&c);
    case TFS_MC_NBT_INT:
        return tfs_take_s32be(&c);
    case TFS_MC_NBT_LONG:
        return (int64_t)tfs_take_u64be(&c);
    default:
        return 0;
    }
}

void tfs_mc_nbt_put_string(struct tfs_buf *out, struct tfs_span text)
{
    tfs_buf_u8(out, (uint8_t)(text.size >> 8));
    tfs_buf_u8(out, (uint8_t)text.size);
    tfs_buf_add_span(out, text);
}

void tfs_mc_nbt_put_head(struct tfs_buf *out, uint8_t type, struct tfs_span name)
{
    tfs_buf_u8(out, type);
    tfs_mc_nbt_put_string(out, name);
}

unsigned tfs_mc_nbt_bucket(struct tfs_span name)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < name.size; i++)
        hash = hash * 31 + name.data[i];
    return (hash ^ hash >> 16) & (BUCKETS - 1);
}
