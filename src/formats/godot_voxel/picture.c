/*
 * Blocks <-> what heightmap.png and map.png ask of them (formats/picture/picture.h;
 * FORMAT.md, section 8). A voxel is its eight values, with the version and the depths of the block
 * that they come from.
 *
 * Must not know pictures, nor containers. Distances are copied or emptied, never computed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/diff/sum.h"
#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/colour.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/matter.h"
#include "formats/godot_voxel/store.h"
#include "formats/picture/picture.h"

static struct tfs_voxel_size size(const struct tfs_doc *doc)
{
    uint32_t sides[3];

    tfs_godot_rules_sides(doc, sides);
    return (struct tfs_voxel_size){sides[0], sides[1], sides[2]};
}

/* ---- from above ------------------------------------------------------------------------------ */

static void look_down(const struct tfs_godot_paints *paints, struct tfs_column *columns)
{
    const struct tfs_godot_block *block = paints->block;
    const size_t count = (size_t)block->x * block->z;
    struct tfs_godot_scan scans[TFS_GODOT_SOLID];
    unsigned channels = 0;

    for (unsigned c = 0; c < TFS_GODOT_SOLID; c++) {
        scans[channels] = tfs_godot_scan_of(block, tfs_godot_solid[c]);
        channels += tfs_godot_scan_finds(&scans[channels]);
    }
    for (size_t i = 0; i < count && channels > 0; i++) {
        uint32_t top = 0;
        for (unsigned c = 0; c < channels && top < block->y; c++) {
            uint32_t found = tfs_godot_scan_top(&scans[c], i, block->y);
            top = found > top ? found : top;
        }
        if (top > 0)
            columns[i] = (struct tfs_column){
                .top = (uint16_t)top,
                .colour = tfs_godot_paint(paints, i * block->y + top - 1),
                .bed = TFS_COLOUR_NONE,
            };
    }
}

static int columns(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
                   struct tfs_column *columns_out, struct tfs_error *err)
{
    struct tfs_godot_paints paints;
    struct tfs_godot_view *view;

    if (tfs_godot_view_make(save, doc, chunk, &view, err) < 0)
        return err->code;
    if (view->readable && tfs_godot_paints_init(save, doc, view, &paints, err) == 0)
        look_down(&paints, columns_out);
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- voxels as bytes ------------------------------------------------------------------------- */

/* Version, then depth and 64 bits of each channel. */
static uint8_t voxel_depth(struct tfs_span voxel, unsigned channel)
{
    return voxel.data[1 + 9 * channel];
}

static uint64_t voxel_value(struct tfs_span voxel, unsigned channel)
{
    return tfs_godot_get_bits(voxel.data + 2 + 9 * channel, TFS_GODOT_DEPTH_MAX);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* A chunk that is being changed. */
struct change {
    struct tfs_godot_view *view;
    bool there;                   /* it has a block; else the first voxel says which it will be */
    struct tfs_godot_block block; /* its spans are the view's, or lie in what follows */
    struct tfs_buf blank;
    struct tfs_buf own[TFS_GODOT_CHANNELS]; /* of channels that changed */
    uint32_t sides[3];
    const struct tfs_godot_rules *rules;
};

static void change_close(void *chunk)
{
    struct change *c = chunk;

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        tfs_buf_release(&c->own[i]);
    tfs_buf_release(&c->blank);
    tfs_godot_view_unref(c->view);
}

static int change_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                       void *chunk, struct tfs_error *err)
{
    const struct tfs_chunk *found;
    struct change *c = chunk;

    if (tfs_doc_need(doc, key, &found, err) < 0 ||
        tfs_godot_view_make(save, doc, found, &c->view, err) < 0)
        return err->code;
    if (c->view->damage != NULL)
        return tfs_fail(err, -EBADMSG, "the block of chunk %d_%d_%d is damaged: %s", key.x, key.y,
                        key.z, c->view->damage);
    c->there = c->view->readable;
    c->block = c->view->block;
    c->rules = tfs_godot_rules(doc);
    tfs_godot_rules_sides(doc, c->sides);
    return 0;
}

/* A row of a database without a block is what a chunk begins as. */
static int change_create(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                         struct tfs_error *err)
{
    const struct tfs_chunk chunk = {.key = key, .slot = TFS_SLOT_NONE};

    (void)save;
    if (tfs_godot_rules_coordinate(tfs_godot_rules(edit->base), key, err) < 0)
        return err->code;
    return tfs_edit_put(edit, &chunk, err);
}

static bool changed(const struct change *c)
{
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (c->own[i].data != NULL)
            return true;
    return false;
}

static int change_store(struct tfs_save *save, struct tfs_edit *edit, void *chunk,
                        struct tfs_error *err)
{
    const struct change *c = chunk;
    unsigned options = save->options.upgrade ? TFS_PUT_UPGRADE : 0;

    return changed(c) ? tfs_godot_store_block(edit, c->view, &c->block, options, err) : 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static size_t index_of(const struct change *c, struct tfs_stretch at, uint32_t y)
{
    return y + (size_t)c->block.y * (at.x + (size_t)c->block.x * at.z);
}

static uint64_t block_value(const struct tfs_godot_block *block, unsigned channel, size_t voxel)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    size_t at = values->mode == TFS_GODOT_UNIFORM ? 0 : voxel << values->depth;

    return tfs_godot_get_bits(values->bytes.data + at, values->depth);
}

static uint64_t value_at(const struct change *c, unsigned channel, size_t voxel)
{
    return block_value(&c->block, channel, voxel);
}

/* Values of the channel that can be changed, one for each voxel. */
static int own_channel(struct change *c, unsigned channel, struct tfs_error *err)
{
    struct tfs_godot_values *values = &c->block.channels[channel];
    struct tfs_buf *own = &c->own[channel];
    const size_t step = (size_t)1 << values->depth;

    if (own->data != NULL)
        return 0;
    if (values->mode == TFS_GODOT_NONE)
        tfs_buf_add_span(own, values->bytes);
    else if (tfs_buf_reserve(own, tfs_godot_volume(&c->block) * step) != NULL)
        while (own->size < tfs_godot_volume(&c->block) * step)
            tfs_buf_add(own, values->bytes.data, step);
    if (tfs_buf_check(own, err) < 0)
        return err->code;
    values->mode = TFS_GODOT_NONE;
    values->bytes = tfs_buf_span(own);
    return 0;
}

/* A value that is there already is no change: a UNIFORM channel stays one. */
static int set_value(struct change *c, unsigned channel, size_t voxel, uint64_t bits,
                     struct tfs_error *err)
{
    unsigned depth = c->block.channels[channel].depth;

    if (value_at(c, channel, voxel) == bits)
        return 0;
    if (own_channel(c, channel, err) == 0)
        tfs_godot_set_bits(c->own[channel].data + (voxel << depth), bits, depth);
    return err->code;
}

static int take_voxel(const struct tfs_godot_block *block, size_t index, struct tfs_buf *voxel,
                      struct tfs_error *err)
{
    tfs_buf_u8(voxel, block->version);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        tfs_buf_u8(voxel, block->channels[i].depth);
        tfs_buf_u64le(voxel, block_value(block, i, index));
    }
    return tfs_buf_check(voxel, err);
}

static int change_take(const void *chunk, struct tfs_stretch at, struct tfs_buf *voxel,
                       struct tfs_error *err)
{
    const struct change *c = chunk;

    return take_voxel(&c->block, index_of(c, at, at.from), voxel, err);
}

/* ---- raising --------------------------------------------------------------------------------- */

/* Makes the block that the chunk lacks such that it can hold the voxel. */
static int make_block(struct change *c, struct tfs_span voxel, struct tfs_error *err)
{
    uint8_t depths[TFS_GODOT_CHANNELS];

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        depths[i] = voxel_depth(voxel, i);
    if (tfs_godot_store_blank(voxel.data[0], c->sides, depths, &c->blank, &c->block, err) < 0 ||
        tfs_godot_rules_depths(c->rules, &c->block, err) < 0)
        return err->code;
    c->there = true;
    return 0;
}

/* Values of another version or depth mean something else. */
static int check_voxel(const struct change *c, struct tfs_span voxel, struct tfs_error *err)
{
    const struct tfs_key key = c->view->chunk.key;

    if (voxel.data[0] != c->block.version)
        return tfs_fail(err, -EBADMSG,
                        "the voxel to repeat is one of a block of version %u, chunk %d_%d_%d has "
                        "version %u",
                        voxel.data[0], key.x, key.y, key.z, c->block.version);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (voxel_depth(voxel, i) != c->block.channels[i].depth)
            return tfs_fail(err, -EBADMSG,
                            "channel %s of the voxel to repeat has depth %u, in chunk %d_%d_%d %u",
                            tfs_godot_channel_names[i], 8U << voxel_depth(voxel, i), key.x, key.y,
                            key.z, 8U << c->block.channels[i].depth);
    return 0;
}

static int change_fill(void *chunk, struct tfs_stretch at, struct tfs_span voxel,
                       struct tfs_error *err)
{
    struct change *c = chunk;

    if ((!c->there && make_block(c, voxel, err) < 0) || check_voxel(c, voxel, err) < 0)
        return err->code;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        for (uint32_t y = at.from; y < at.to; y++)
            if (set_value(c, i, index_of(c, at, y), voxel_value(voxel, i), err) < 0)
                return err->code;
    return 0;
}

/* ---- lowering -------------------------------------------------------------------------------- */

/* Only what makes a voxel one that is not empty changes: its other values stay. */
static int change_clear(void *chunk, struct tfs_stretch at, struct tfs_error *err)
{
    struct change *c = chunk;

    for (unsigned i = 0; i < TFS_GODOT_SOLID && c->there; i++) {
        const unsigned channel = tfs_godot_solid[i];
        const struct tfs_godot_matter m = tfs_godot_matter_of(&c->block, channel);
        const uint64_t empty =
            tfs_godot_empty_value(channel, c->block.version, c->block.channels[channel].depth);
        for (uint32_t y = at.from; y < at.to; y++) {
            size_t voxel = index_of(c, at, y);
            if (tfs_godot_is_matter(m, value_at(c, channel, voxel)) &&
                set_value(c, channel, voxel, empty, err) < 0)
                return err->code;
        }
    }
    return 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static struct tfs_voxel_size change_sides(const void *chunk)
{
    const struct change *c = chunk;

    if (!c->there)
        return (struct tfs_voxel_size){0};
    return (struct tfs_voxel_size){c->block.x, c->block.y, c->block.z};
}

/* A block that has what a voxel says of its own one. */
static struct tfs_godot_block block_of(struct tfs_span voxel)
{
    struct tfs_godot_block block = {.version = voxel.data[0]};

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        block.channels[i] = (struct tfs_godot_values){
            .mode = TFS_GODOT_UNIFORM,
            .depth = voxel_depth(voxel, i),
            .bytes = {voxel.data + 2 + 9 * i, (size_t)1 << voxel_depth(voxel, i)},
        };
    return block;
}

static void print_value(const struct tfs_godot_block *block, unsigned channel, struct tfs_buf *out)
{
    const unsigned depth = block->channels[channel].depth;
    const struct tfs_grid_rules rules = tfs_godot_channel_rules(block, channel, depth);
    const uint64_t value = tfs_godot_uniform_value(block, channel);
    uint8_t text[TFS_GRID_VALUE_MAX];
    size_t size = depth == TFS_GODOT_DEPTH_MAX
                      ? tfs_grid_put_value64(text, &rules.shape, value)
                      : tfs_grid_put_value(text, &rules.shape, (uint32_t)value);

    tfs_buf_printf(out, "%s=", tfs_godot_channel_names[channel]);
    tfs_buf_add(out, text, size);
}

static bool has_matter(const struct tfs_godot_block *block, unsigned channel, struct tfs_span voxel)
{
    return tfs_godot_is_matter(tfs_godot_matter_of(block, channel), voxel_value(voxel, channel));
}

/* Does the channel's first value say more than one that nobody wrote? */
static bool says_something(const struct tfs_godot_block *block, unsigned channel)
{
    const struct tfs_godot_values *values = &block->channels[channel];

    return values->depth != tfs_godot_usual_depths[channel] ||
           tfs_godot_get_bits(values->bytes.data, values->depth) !=
               tfs_godot_empty_value(channel, block->version, values->depth);
}

/* Distances of air say something. */
static bool empty(const struct tfs_voxels *voxels, struct tfs_span voxel)
{
    (void)voxels;
    const struct tfs_godot_block block = block_of(voxel);

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (says_something(&block, i))
            return false;
    return true;
}

/* `type=3`; of distances only that they are below 0; nothing of air. */
static void print_brief(struct tfs_span voxel, struct tfs_buf *out)
{
    const struct tfs_godot_block block = block_of(voxel);

    if (has_matter(&block, TFS_GODOT_TYPE, voxel))
        print_value(&block, TFS_GODOT_TYPE, out);
    else if (has_matter(&block, TFS_GODOT_COLOR, voxel))
        print_value(&block, TFS_GODOT_COLOR, out);
    else if (has_matter(&block, TFS_GODOT_SDF, voxel))
        tfs_buf_add_text(out, "solid");
}

/* The values that are not those of a voxel that nobody wrote, and the depth where it is not the
 * default one: `type=3 sdf=-12/8`. */
static void print(const struct tfs_voxels *voxels, struct tfs_span voxel, bool brief,
                  struct tfs_buf *out)
{
    (void)voxels;
    const struct tfs_godot_block block = block_of(voxel);
    const size_t begin = out->size;

    if (brief) {
        print_brief(voxel, out);
        return;
    }
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        const unsigned depth = block.channels[i].depth;
        if (!says_something(&block, i))
            continue;
        if (out->size > begin)
            tfs_buf_u8(out, ' ');
        print_value(&block, i, out);
        if (depth != tfs_godot_usual_depths[i])
            tfs_buf_printf(out, "/%u", 8U << depth);
    }
    if (out->size == begin)
        tfs_buf_add_text(out, "empty");
}

/* ---- in short -------------------------------------------------------------------------------- */

/* Voxels that are counted as one thing: by the value that makes them more than empty. */
struct bin {
    uint64_t value, voxels;
    unsigned channel;
    size_t voxel; /* one of them */
};

#define BINS_LOG 9
#define BINS     (1u << BINS_LOG)

struct bins {
    const struct tfs_godot_block *block;
    struct tfs_voxel_sum *sum;
    struct tfs_buf voxel;
    struct bin bins[BINS];
};

static int bin_empty(struct bins *bins, struct bin *bin, struct tfs_error *err)
{
    tfs_buf_clear(&bins->voxel);
    if (bin->voxels > 0 && take_voxel(bins->block, bin->voxel, &bins->voxel, err) == 0)
        tfs_voxel_sum_count(bins->sum, tfs_buf_span(&bins->voxel), bin->voxels, err);
    bin->voxels = 0;
    return err->code;
}

static int bin_add(struct bins *bins, unsigned channel, uint64_t value, size_t voxel,
                   struct tfs_error *err)
{
    const uint64_t spread = (value * TFS_GODOT_SOLID + channel) * UINT64_C(0x9e3779b97f4a7c15);
    struct bin *bin = &bins->bins[spread >> (64 - BINS_LOG)];

    if (bin->voxels > 0 && (bin->value != value || bin->channel != channel) &&
        bin_empty(bins, bin, err) < 0)
        return err->code;
    if (bin->voxels == 0)
        *bin = (struct bin){.value = value, .channel = channel, .voxel = voxel};
    bin->voxels++;
    return 0;
}

/* In the order in which print_brief looks at them. */
static unsigned find_scans(const struct tfs_godot_block *block, unsigned *channels,
                           struct tfs_godot_scan scans[TFS_GODOT_SOLID])
{
    static const unsigned order[TFS_GODOT_SOLID] = {TFS_GODOT_TYPE, TFS_GODOT_COLOR, TFS_GODOT_SDF};
    unsigned count = 0;

    for (unsigned i = 0; i < TFS_GODOT_SOLID; i++) {
        scans[count] = tfs_godot_scan_of(block, order[i]);
        channels[count] = order[i];
        count += tfs_godot_scan_finds(&scans[count]);
    }
    return count;
}

/* How many voxels are not empty: matter, and air with distances or further values. */
static uint64_t count_saying(const struct tfs_godot_block *block)
{
    const size_t volume = tfs_godot_volume(block);
    unsigned dense[TFS_GODOT_CHANNELS], count = 0;
    uint64_t empties[TFS_GODOT_CHANNELS], said = 0;

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++) {
        const struct tfs_godot_values *values = &block->channels[i];
        if (values->depth != tfs_godot_usual_depths[i] ||
            (values->mode == TFS_GODOT_UNIFORM && says_something(block, i)))
            return volume;
        empties[count] = tfs_godot_empty_value(i, block->version, values->depth);
        dense[count] = i;
        count += values->mode != TFS_GODOT_UNIFORM;
    }
    for (size_t voxel = 0; voxel < volume; voxel++) {
        unsigned i = 0;
        while (i < count && block_value(block, dense[i], voxel) == empties[i])
            i++;
        said += i < count;
    }
    return said;
}

/* Matter has a short name. */
static int count_matter(struct bins *bins, struct tfs_error *err)
{
    const struct tfs_godot_block *block = bins->block;
    const size_t volume = tfs_godot_volume(block);
    unsigned channels[TFS_GODOT_SOLID];
    struct tfs_godot_scan scans[TFS_GODOT_SOLID];
    const unsigned count = find_scans(block, channels, scans);

    for (size_t voxel = 0; voxel < volume && count > 0; voxel++)
        for (unsigned i = 0; i < count; i++) {
            uint64_t value = block_value(block, channels[i], voxel);
            if (!tfs_godot_is_matter(scans[i].m, value))
                continue;
            if (bin_add(bins, channels[i], channels[i] == TFS_GODOT_SDF ? 0 : value, voxel, err) <
                0)
                return err->code;
            break;
        }
    for (unsigned i = 0; i < BINS; i++)
        if (bin_empty(bins, &bins->bins[i], err) < 0)
            return err->code;
    return 0;
}

/* Are the values of a dense channel all the same? */
static bool all_equal(const struct tfs_godot_values *values)
{
    const size_t step = (size_t)1 << values->depth;

    return values->bytes.size <= step ||
           memcmp(values->bytes.data, values->bytes.data + step, values->bytes.size - step) == 0;
}

/* A channel that nobody wrote says nothing; one of equal values says one, however it is stored. */
static void add_channel(const struct tfs_godot_block *block, unsigned channel, struct tfs_buf *same)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    const bool one = all_equal(values);

    if (one && !says_something(block, channel))
        return;
    tfs_buf_u8(same, (uint8_t)channel);
    tfs_buf_u8(same, values->depth);
    tfs_buf_u8(same, channel == TFS_GODOT_SDF && block->version == 2);
    tfs_buf_u8(same, one);
    tfs_buf_add(same, values->bytes.data, one ? (size_t)1 << values->depth : values->bytes.size);
}

static int sum(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_chunk *chunk,
               struct tfs_voxel_sum *sum, struct tfs_error *err)
{
    struct bins bins = {.sum = sum};
    struct tfs_godot_view *view;

    if (tfs_godot_view_keep(save, doc, chunk, &view, err) < 0)
        return err->code;
    if (view->damage != NULL)
        tfs_fail(err, -EBADMSG, "%s", view->damage);
    if (view->readable) {
        bins.block = &view->block;
        tfs_buf_u32le(&sum->same, view->block.x);
        tfs_buf_u32le(&sum->same, view->block.y);
        tfs_buf_u32le(&sum->same, view->block.z);
        for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
            add_channel(&view->block, i, &sum->same);
        count_matter(&bins, err);
        sum->filled = count_saying(&view->block);
    }
    tfs_buf_release(&bins.voxel);
    tfs_godot_view_unref(view);
    return err->code;
}

const struct tfs_voxels tfs_godot_pictures = {
    .size = size,
    .columns = columns,
    .chunk_size = sizeof(struct change),
    .open = change_open,
    .close = change_close,
    .store = change_store,
    .create = change_create,
    .take = change_take,
    .fill = change_fill,
    .clear = change_clear,
    .sides = change_sides,
    .print = print,
    .empty = empty,
    .sum = sum,
};
