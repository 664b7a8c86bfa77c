/*
 * A metadata section <-> its items.
 *
 * Must not know text (metadata_text.c). Items are listed, never refused: what cannot be read is an
 * item itself, the rest of the section. A section is encoded in one order: block, voxels sorted by
 * x, y, z, and what takes everything behind it.
 */
#include "formats/godot_voxel/metadata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/godot_voxel/metadata_items.h"

/* ---- lists ----------------------------------------------------------------------------------- */

void tfs_godot_items_release(struct tfs_godot_items *items)
{
    free(items->items);
    *items = (struct tfs_godot_items){0};
}

int tfs_godot_items_add(struct tfs_godot_items *items, const struct tfs_godot_item *item,
                        struct tfs_error *err)
{
    struct tfs_godot_item *more = tfs_array_grow(items->items, items->count, sizeof(*more));

    if (more == NULL)
        return tfs_fail_memory(err);
    items->items = more;
    items->items[items->count++] = *item;
    return 0;
}

bool tfs_godot_item_takes_rest(const struct tfs_godot_item *item)
{
    return item->type >= TFS_GODOT_ITEM_CUSTOM;
}

/* ---- reading --------------------------------------------------------------------------------- */

static struct tfs_span rest_of(struct tfs_cursor *c)
{
    return tfs_take(c, tfs_cursor_left(c));
}

/* Takes an item of version 4, which must have at least its type byte. */
static void take_item_4(struct tfs_cursor *c, struct tfs_godot_item *item)
{
    struct tfs_cursor begin = *c;
    uint8_t type = tfs_take_u8(c);
    struct tfs_cursor data = *c;

    item->type = TFS_GODOT_ITEM_OPAQUE;
    if (type == TFS_GODOT_METADATA_EMPTY)
        item->type = TFS_GODOT_ITEM_EMPTY;
    else if (type == TFS_GODOT_METADATA_U64 && tfs_cursor_left(c) >= sizeof(uint64_t))
        item->type = TFS_GODOT_ITEM_U64;
    else if (type == TFS_GODOT_METADATA_VARIANT &&
             tfs_godot_variant_take(&data, TFS_GODOT_ENGINE_4))
        item->type = TFS_GODOT_ITEM_VARIANT;
    else if (type >= TFS_GODOT_METADATA_CUSTOM)
        item->type = TFS_GODOT_ITEM_CUSTOM;

    item->custom = type;
    if (item->type == TFS_GODOT_ITEM_OPAQUE) {
        *c = begin;
        item->bytes = rest_of(c);
    } else if (item->type == TFS_GODOT_ITEM_CUSTOM) {
        item->bytes = rest_of(c);
    } else if (item->type == TFS_GODOT_ITEM_U64) {
        item->bytes = tfs_take(c, sizeof(uint64_t));
    } else if (item->type == TFS_GODOT_ITEM_VARIANT) {
        item->bytes = tfs_take(c, tfs_cursor_offset(&data) - tfs_cursor_offset(c));
    }
}

/* Takes a position that lies inside the block. */
static bool take_position(struct tfs_cursor *c, const struct tfs_godot_block *block,
                          struct tfs_godot_item *item)
{
    struct tfs_cursor at = *c;

    item->voxel = true;
    item->x = tfs_take_u16le(&at);
    item->y = tfs_take_u16le(&at);
    item->z = tfs_take_u16le(&at);
    if (at.failed || item->x >= block->x || item->y >= block->y || item->z >= block->z)
        return false;
    *c = at;
    return true;
}

static int read_4(const struct tfs_godot_block *block, struct tfs_godot_items *items,
                  struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(block->metadata);
    struct tfs_godot_item item = {0};

    take_item_4(&c, &item);
    if (tfs_godot_items_add(items, &item, err) < 0)
        return err->code;
    while (tfs_cursor_left(&c) > 0) {
        item = (struct tfs_godot_item){0};
        if (!take_position(&c, block, &item))
            item = (struct tfs_godot_item){.type = TFS_GODOT_ITEM_REST, .bytes = rest_of(&c)};
        else if (tfs_cursor_left(&c) == 0)
            item.type = TFS_GODOT_ITEM_OPAQUE;
        else
            take_item_4(&c, &item);
        if (tfs_godot_items_add(items, &item, err) < 0)
            return err->code;
    }
    return 0;
}

static bool is_nil(struct tfs_span variant)
{
    static const uint8_t nil[4];

    return tfs_span_equal(variant, (struct tfs_span){nil, sizeof(nil)});
}

/* Takes an item of versions 2 and 3: one Variant. */
static bool take_item_3(struct tfs_cursor *c, enum tfs_godot_engine engine,
                        struct tfs_godot_item *item)
{
    struct tfs_cursor data = *c;

    if (!tfs_godot_variant_take(&data, engine))
        return false;
    item->bytes = tfs_take(c, tfs_cursor_offset(&data) - tfs_cursor_offset(c));
    item->type = is_nil(item->bytes) ? TFS_GODOT_ITEM_EMPTY : TFS_GODOT_ITEM_VARIANT;
    return true;
}

/* 1: the section is items of that engine to its end; 0: it is not. */
static int read_3(const struct tfs_godot_block *block, enum tfs_godot_engine engine,
                  struct tfs_godot_items *items, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(block->metadata);
    struct tfs_godot_item item = {0};

    items->count = 0;
    if (!take_item_3(&c, engine, &item))
        return 0;
    if (tfs_godot_items_add(items, &item, err) < 0)
        return err->code;
    while (tfs_cursor_left(&c) > 0) {
        item = (struct tfs_godot_item){0};
        if (!take_position(&c, block, &item) || !take_item_3(&c, engine, &item))
            return 0;
        if (tfs_godot_items_add(items, &item, err) < 0)
            return err->code;
    }
    return 1;
}

int tfs_godot_metadata_read(const struct tfs_godot_block *block, struct tfs_godot_items *items,
                            struct tfs_error *err)
{
    struct tfs_godot_item opaque = {.type = TFS_GODOT_ITEM_OPAQUE, .bytes = block->metadata};

    *items = (struct tfs_godot_items){0};
    if (block->metadata.size == 0)
        return 0;
    int result = block->version == TFS_GODOT_VERSION_MAX ? read_4(block, items, err) : 0;
    if (block->version < TFS_GODOT_VERSION_MAX) {
        result = read_3(block, TFS_GODOT_ENGINE_3, items, err);
        if (result == 0)
            result = read_3(block, TFS_GODOT_ENGINE_4, items, err);
        if (result == 0) {
            items->count = 0;
            result = tfs_godot_items_add(items, &opaque, err);
        }
    }
    if (result >= 0)
        return 0;
    tfs_godot_items_release(items);
    return result;
}

/* ---- what would read otherwise --------------------------------------------------------------- */

static const char *misread_variant(unsigned version, struct tfs_span bytes, unsigned *engines)
{
    unsigned readers = 0;

    for (unsigned engine = TFS_GODOT_ENGINE_3; engine <= TFS_GODOT_ENGINE_4; engine++)
        readers |= (unsigned)tfs_godot_variant_valid(bytes, engine) << engine;
    if (version == TFS_GODOT_VERSION_MAX)
        return (readers >> TFS_GODOT_ENGINE_4 & 1) != 0 ? NULL : "this is not one whole Variant";
    if (is_nil(bytes))
        return "this Variant is Nil, which is no item: write `empty`";
    if (readers == 0)
        return "this is not one whole Variant";
    *engines &= readers;
    return *engines != 0 ? NULL : "this Variant is of another engine than those of the lines above";
}

/* What an item of version 4 is that has these bytes from its type byte on. */
static enum tfs_godot_item_type type_of_4(struct tfs_span bytes)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    struct tfs_godot_item item = {0};

    take_item_4(&c, &item);
    return item.type;
}

/* The whole section of versions 2 and 3. */
static int is_opaque_3(const struct tfs_godot_block *block, struct tfs_span bytes, bool *opaque,
                       struct tfs_error *err)
{
    struct tfs_godot_block probe = *block;
    struct tfs_godot_items items;

    probe.metadata = bytes;
    if (tfs_godot_metadata_read(&probe, &items, err) < 0)
        return err->code;
    *opaque = items.count == 1 && items.items[0].type == TFS_GODOT_ITEM_OPAQUE;
    tfs_godot_items_release(&items);
    return 0;
}

static int is_opaque(const struct tfs_godot_block *block, const struct tfs_godot_item *item,
                     bool *opaque, struct tfs_error *err)
{
    if (block->version < TFS_GODOT_VERSION_MAX)
        return is_opaque_3(block, item->bytes, opaque, err);
    *opaque = item->bytes.size == 0 ? item->voxel : type_of_4(item->bytes) == TFS_GODOT_ITEM_OPAQUE;
    return 0;
}

int tfs_godot_item_misread(const struct tfs_godot_block *block, const struct tfs_godot_item *item,
                           unsigned *engines, const char **why, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(item->bytes);
    struct tfs_godot_item position;
    bool good = true;

    *why = NULL;
    if (item->type == TFS_GODOT_ITEM_VARIANT) {
        *why = misread_variant(block->version, item->bytes, engines);
        return 0;
    }
    if (item->type == TFS_GODOT_ITEM_OPAQUE && is_opaque(block, item, &good, err) < 0)
        return err->code;
    if (item->type == TFS_GODOT_ITEM_REST)
        good = item->bytes.size > 0 && !take_position(&c, block, &position);
    if (!good)
        *why = item->bytes.size == 0 ? "hex digits are missing"
                                     : "the game can read this: write the items that it says";
    return 0;
}

/* ---- what the engine cannot read ------------------------------------------------------------- */

static int warn_rest(struct tfs_span bytes, size_t at, struct tfs_error *warning)
{
    struct tfs_cursor c = tfs_cursor_init(bytes);
    unsigned x = tfs_take_u16le(&c), y = tfs_take_u16le(&c), z = tfs_take_u16le(&c);

    if (c.failed)
        return tfs_fail(warning, -EBADMSG,
                        "the metadata ends at byte %zu of the block in %zu bytes that are no "
                        "position: the engine drops metadata",
                        at, bytes.size);
    return tfs_fail(warning, -EBADMSG,
                    "the metadata has at byte %zu of the block the position %u %u %u, which lies "
                    "outside: the engine drops what is behind it",
                    at, x, y, z);
}

int tfs_godot_metadata_check(const struct tfs_godot_block *block, struct tfs_error *warning,
                             struct tfs_error *err)
{
    const size_t end = tfs_blob_span(block->data).size - sizeof(uint32_t); /* of the section */
    struct tfs_godot_items items;

    if (block->has_metadata && block->metadata.size == 0)
        tfs_fail(warning, -EBADMSG,
                 "the metadata has at byte %zu of the block the size 0: the engine reads on behind "
                 "its end",
                 end - TFS_GODOT_METADATA_MIN);
    if (tfs_godot_metadata_read(block, &items, err) < 0 || items.count == 0)
        return err->code;
    /* Only the last item takes the rest of the section. */
    const struct tfs_godot_item *last = &items.items[items.count - 1];
    if (last->type == TFS_GODOT_ITEM_REST)
        warn_rest(last->bytes, end - last->bytes.size, warning);
    if (last->type == TFS_GODOT_ITEM_OPAQUE)
        tfs_fail(warning, -EBADMSG,
                 "the metadata has at byte %zu of the block an item that the engine cannot read: "
                 "it drops metadata",
                 end - last->bytes.size);
    tfs_godot_items_release(&items);
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void put_item(const struct tfs_godot_item *item, unsigned version, struct tfs_buf *out)
{
    static const uint8_t nil[4];

    if (version < TFS_GODOT_VERSION_MAX) {
        if (item->type == TFS_GODOT_ITEM_EMPTY)
            tfs_buf_add(out, nil, sizeof(nil));
    } else if (item->type == TFS_GODOT_ITEM_EMPTY) {
        tfs_buf_u8(out, TFS_GODOT_METADATA_EMPTY);
    } else if (item->type == TFS_GODOT_ITEM_U64) {
        tfs_buf_u8(out, TFS_GODOT_METADATA_U64);
    } else if (item->type == TFS_GODOT_ITEM_VARIANT) {
        tfs_buf_u8(out, TFS_GODOT_METADATA_VARIANT);
    } else if (item->type == TFS_GODOT_ITEM_CUSTOM) {
        tfs_buf_u8(out, item->custom);
    }
    if (item->type != TFS_GODOT_ITEM_EMPTY)
        tfs_buf_add_span(out, item->bytes);
}

void tfs_godot_items_encode(const struct tfs_godot_items *items, unsigned version,
                            struct tfs_buf *out)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct tfs_godot_item *item = &items->items[i];
        if (item->voxel) {
            tfs_buf_u16le(out, item->x);
            tfs_buf_u16le(out, item->y);
            tfs_buf_u16le(out, item->z);
        }
        put_item(item, version, out);
    }
}

/* ---- the newer engine ------------------------------------------------------------------------ */

static int upgrade_item(const struct tfs_godot_item *item, struct tfs_buf *out,
                        struct tfs_error *err)
{
    if (item->voxel) {
        tfs_buf_u16le(out, item->x);
        tfs_buf_u16le(out, item->y);
        tfs_buf_u16le(out, item->z);
    }
    if (item->type == TFS_GODOT_ITEM_OPAQUE)
        return tfs_fail(err, -EBADMSG, "its metadata cannot be read");
    if (item->type == TFS_GODOT_ITEM_EMPTY) {
        tfs_buf_u8(out, TFS_GODOT_METADATA_EMPTY);
        return 0;
    }
    tfs_buf_u8(out, TFS_GODOT_METADATA_VARIANT);
    return tfs_godot_variant_upgrade(item->bytes, out, err);
}

int tfs_godot_metadata_upgrade(const struct tfs_godot_block *block, struct tfs_buf *section,
                               struct tfs_error *err)
{
    struct tfs_godot_items items = {0};
    int result = tfs_godot_metadata_read(block, &items, err);

    for (size_t i = 0; i < items.count && result == 0; i++)
        result = upgrade_item(&items.items[i], section, err);
    tfs_godot_items_release(&items);
    return result;
}
