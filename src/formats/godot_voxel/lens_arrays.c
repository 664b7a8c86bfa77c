/*
 * arrays/NAME.npy: a channel of every voxel, [y, z, x] (formats/arrays/array.h), as wide as the
 * channel is deep: whole numbers, distances of 8 and 16 bits with a sign (but in version 2), those
 * of 32 and 64 bits as floating point. Arrays of the root are of level 0, those in lods/N/arrays/
 * of another one; where the blocks of a level have different depths, as wide as the deepest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/array.h"
#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"

static unsigned channel_of(const struct tfs_array_view *view)
{
    const unsigned *number = view->array->param;

    return *number;
}

static char kind_of(unsigned channel, unsigned version, unsigned depth)
{
    if (channel != TFS_GODOT_SDF)
        return 'u';
    return depth >= 2 ? 'f' : version > 2 ? 'i' : 'u';
}

/* ---- form ------------------------------------------------------------------------------------ */

static void set_form(struct tfs_volume *v, unsigned channel, unsigned version, unsigned depth,
                     const uint32_t size[3])
{
    v->kind = kind_of(channel, version, depth);
    v->width = 1U << depth;
    v->empty = tfs_godot_empty_value(channel, version, depth);
    v->sides[0] = size[1];
    v->sides[1] = size[2];
    v->sides[2] = size[0];
}

static int form_chunk(struct tfs_array_view *view, struct tfs_error *err)
{
    const unsigned channel = channel_of(view);
    struct tfs_godot_view *chunk;

    if (tfs_godot_lens_view(view->save, view->doc, view->chunk->key, &chunk, err) < 0)
        return err->code;
    const struct tfs_godot_block *block = &chunk->block;
    const uint32_t size[3] = {block->x, block->y, block->z};
    set_form(&view->volume, channel, block->version, block->channels[channel].depth, size);
    tfs_godot_view_unref(chunk);
    return 0;
}

static int form_whole(struct tfs_array_view *view, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(view->doc);
    const unsigned channel = channel_of(view);
    struct tfs_godot_form form;
    uint32_t size[3];

    if (tfs_godot_form_find(view->save, view->doc, view->volume.low.group, &form, err) < 0)
        return err->code;
    tfs_godot_rules_sides(view->doc, size);
    set_form(&view->volume, channel, form.version,
             rules->depths_fixed ? rules->depths[channel] : form.depths[channel], size);
    return 0;
}

static int form(struct tfs_array_view *view, struct tfs_error *err)
{
    return view->chunk != NULL ? form_chunk(view, err) : form_whole(view, err);
}

/* Have the block's values a place in such an array? */
static int check_form(const struct tfs_volume *v, unsigned channel,
                      const struct tfs_godot_block *block, struct tfs_key key,
                      struct tfs_error *err)
{
    const unsigned depth = block->channels[channel].depth;

    if (block->y == v->sides[0] && block->z == v->sides[1] && block->x == v->sides[2] &&
        kind_of(channel, block->version, depth) == v->kind && 1U << depth <= v->width &&
        (v->kind != 'f' || 1U << depth == v->width))
        return 0;
    return tfs_fail(err, -EBADMSG,
                    "chunk %d_%d_%d stores %s in another way than others do: there is an array of "
                    "each chunk, but not one of all",
                    key.x, key.y, key.z, tfs_godot_channel_names[channel]);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A value of so many bits as a number of 64. */
static uint64_t widen(const struct tfs_volume *v, uint64_t value, unsigned bits)
{
    const unsigned above = 64 - bits;

    return v->kind == 'i' ? (uint64_t)((int64_t)(value << above) >> above) : value;
}

static void read_block(const struct tfs_volume *v, const struct tfs_godot_block *block,
                       unsigned channel, uint32_t from, uint32_t to, uint8_t *out)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    const unsigned depth = values->depth;

    for (uint32_t y = from; y < to; y++)
        for (uint32_t z = 0; z < block->z; z++)
            for (uint32_t x = 0; x < block->x; x++, out += v->width) {
                const size_t i = values->mode == TFS_GODOT_UNIFORM
                                     ? 0
                                     : y + (size_t)block->y * (x + (size_t)block->x * z);
                const uint64_t bits = tfs_godot_get_bits(values->bytes.data + (i << depth), depth);
                tfs_array_set(out, v->width, 0, widen(v, bits, 8U << depth));
            }
}

static void fill(const struct tfs_volume *v, uint32_t from, uint32_t to, uint8_t *out)
{
    const size_t count = (size_t)(to - from) * v->sides[1] * v->sides[2];

    for (size_t i = 0; i < count; i++)
        tfs_array_set(out, v->width, i, v->empty);
}

/* A chunk without voxels, and one that is damaged, are empty. */
static int read_channel(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                        uint32_t from, uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const unsigned channel = channel_of(view);
    struct tfs_godot_view *opened;

    if (tfs_godot_view_make(view->save, view->doc, chunk, &opened, err) < 0)
        return err->code;
    if (!opened->readable)
        fill(v, from, to, values);
    else if (check_form(v, channel, &opened->block, chunk->key, err) == 0)
        read_block(v, &opened->block, channel, from, to, values);
    tfs_godot_view_unref(opened);
    return err->code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool all_equal(const struct tfs_array_change *change)
{
    const unsigned width = change->view->volume.width;

    for (size_t i = 1; i < change->count; i++)
        if (memcmp(change->wanted, change->wanted + i * width, width) != 0)
            return false;
    return true;
}

/* Appends the stored values: of every voxel, or the one that all have. */
static int write_values(const struct tfs_array_change *change, const struct tfs_godot_block *block,
                        struct tfs_godot_values *values, struct tfs_buf *bytes,
                        struct tfs_error *err)
{
    const struct tfs_volume *v = &change->view->volume;
    const size_t count = values->mode == TFS_GODOT_UNIFORM ? 1 : change->count;
    const unsigned depth = values->depth;
    uint8_t *out = tfs_buf_reserve(bytes, count << depth);

    if (out == NULL)
        return tfs_buf_check(bytes, err);
    for (size_t i = 0; i < count; i++) {
        const size_t x = i % block->x, z = i / block->x % block->z, y = i / block->x / block->z;
        const uint64_t value = tfs_array_value(change->wanted, v->width, i);
        const uint64_t stored = value & UINT64_MAX >> (64 - (8U << depth));
        if (widen(v, stored, 8U << depth) != widen(v, value, 8 * v->width))
            return tfs_array_refuse(change, i, err, "the channel has %u bits in this chunk",
                                    8U << depth);
        tfs_godot_set_bits(out + ((count == 1 ? 0 : y + block->y * (x + block->x * z)) << depth),
                           stored, depth);
    }
    bytes->size += count << depth;
    values->bytes = tfs_buf_span(bytes);
    return 0;
}

/* A channel that is UNIFORM stays so while all its values are equal. */
static int write_view(const struct tfs_array_change *change, const struct tfs_godot_view *view,
                      struct tfs_error *err)
{
    const unsigned channel = channel_of(change->view);
    struct tfs_godot_block block;
    struct tfs_buf own = {0}, bytes = {0};

    if (view->damage != NULL)
        return tfs_fail(err, -EBADMSG, "chunk %d_%d_%d is damaged and cannot be written: %s",
                        change->key.x, change->key.y, change->key.z, view->damage);
    if (tfs_godot_store_begin(change->view->save, change->edit->base, view, &own, &block, err) ==
            0 &&
        check_form(&change->view->volume, channel, &block, change->key, err) == 0) {
        struct tfs_godot_values values = block.channels[channel];
        if (values.mode == TFS_GODOT_UNIFORM && !all_equal(change))
            values.mode = TFS_GODOT_NONE;
        if (write_values(change, &block, &values, &bytes, err) == 0) {
            block.channels[channel] = values;
            tfs_godot_store_block(change->edit, view, &block, change->options, err);
        }
    }
    tfs_buf_release(&own);
    tfs_buf_release(&bytes);
    return err->code;
}

static int write_channel(const struct tfs_array_change *change, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(change->view->save, tfs_edit_doc(change->edit), change->key, &view,
                            err) < 0)
        return err->code;
    write_view(change, view, err);
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- the files ------------------------------------------------------------------------------- */

static const unsigned numbers[TFS_GODOT_CHANNELS] = {0, 1, 2, 3, 4, 5, 6, 7};

#define ARRAY(name, number)                                                                        \
    {                                                                                              \
        .whole = true, .file = "channels/" name ".npy", .about = "the channel " name,              \
        .form = form, .read = read_channel, .write = write_channel, .param = &numbers[number]      \
    }

static const struct tfs_array arrays[TFS_GODOT_CHANNELS] = {
    ARRAY("type", 0),    ARRAY("sdf", 1),   ARRAY("color", 2), ARRAY("indices", 3),
    ARRAY("weights", 4), ARRAY("data5", 5), ARRAY("data6", 6), ARRAY("data7", 7),
};

#define CHUNK_LENS(i)                                                                              \
    {                                                                                              \
        .param = &arrays[i], .get = tfs_array_chunk_get, .put = tfs_array_chunk_put,               \
        .size = tfs_array_chunk_size, .exists = tfs_godot_lens_exists                              \
    }

const struct tfs_lens tfs_godot_chunk_array_lenses[TFS_GODOT_CHANNELS] = {
    CHUNK_LENS(0), CHUNK_LENS(1), CHUNK_LENS(2), CHUNK_LENS(3),
    CHUNK_LENS(4), CHUNK_LENS(5), CHUNK_LENS(6), CHUNK_LENS(7),
};

static int exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_volume volume = {.doc = doc, .low.group = at.key.group};
    uint32_t size[3];

    (void)save;
    tfs_godot_rules_sides(doc, size);
    set_form(&volume, TFS_GODOT_SDF, TFS_GODOT_VERSION_MAX, TFS_GODOT_DEPTH_MAX, size);
    return size[0] > 0 && size[1] > 0 && size[2] > 0 && tfs_volume_span(&volume);
}

const struct tfs_lens tfs_godot_array_lenses[TFS_GODOT_CHANNELS] = {
    TFS_ARRAY_WHOLE_LENS(&arrays[0], exist), TFS_ARRAY_WHOLE_LENS(&arrays[1], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[2], exist), TFS_ARRAY_WHOLE_LENS(&arrays[3], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[4], exist), TFS_ARRAY_WHOLE_LENS(&arrays[5], exist),
    TFS_ARRAY_WHOLE_LENS(&arrays[6], exist), TFS_ARRAY_WHOLE_LENS(&arrays[7], exist),
};

/* A level comes and goes with its chunks. */
static int has_chunks(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)save;
    return tfs_doc_group_count(doc, at.key.group) > 0;
}

static int info_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                    struct tfs_buf *out, struct tfs_error *err)
{
    return tfs_arrays_info(save, doc, at.key.group, arrays, TFS_GODOT_CHANNELS,
                           exist(save, doc, at) != 0, out, err);
}

const struct tfs_lens tfs_godot_array_info_lens = {.get = info_get};
const struct tfs_lens tfs_godot_level_array_info_lens = {.param = &tfs_godot_array_info_lens,
                                                         .get = info_get,
                                                         .put = tfs_array_same_put,
                                                         .exists = has_chunks};
