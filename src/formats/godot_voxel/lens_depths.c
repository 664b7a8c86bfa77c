/*
 * depths.txt: which channels of a block have another depth than in a new one <-> a line for each.
 *
 * voxels.csv has values without their depth. Where its columns stand for the channels
 * (`-o views=voxels`), this file says the rest. Must not know how channels are stored.
 */
#include <errno.h>
#include <string.h>

#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"
#include "text/grid.h"
#include "text/lines.h"
#include "text/name.h"

/* ---- get ------------------------------------------------------------------------------------- */

/* Depths that are fixed are those of a new block, too. */
static bool has_others(const struct tfs_godot_rules *rules, const struct tfs_godot_block *block)
{
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && !rules->depths_fixed; i++)
        if (block->channels[i].depth != tfs_godot_usual_depths[i])
            return true;
    return false;
}

static int depths_exist(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error why = {0};

    if (tfs_godot_view_open(save, doc, at.key, &view, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    bool there = view->readable && has_others(tfs_godot_rules(doc), &view->block);
    tfs_godot_view_unref(view);
    return there;
}

static int depths_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                      struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_lens_view(save, doc, at.key, &view, err) < 0)
        return err->code;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (view->block.channels[i].depth != tfs_godot_usual_depths[i])
            tfs_buf_printf(out, "%s %u\n", tfs_godot_channel_names[i],
                           8U << view->block.channels[i].depth);
    tfs_godot_view_unref(view);
    return tfs_buf_check(out, err);
}

/* ---- the text -------------------------------------------------------------------------------- */

static int find_channel(const struct tfs_line *word, unsigned *channel, struct tfs_error *err)
{
    char quoted[TFS_QUOTED];

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if (tfs_span_equal(word->text, tfs_span_of(tfs_godot_channel_names[i]))) {
            *channel = i;
            return 0;
        }
    return tfs_fail_line(err, word, "%s is no channel", tfs_name_quote(word->text, quoted));
}

/* One line `NAME BITS`. */
static int take_line(struct tfs_line line, uint8_t depths[TFS_GODOT_CHANNELS], unsigned *named,
                     struct tfs_error *err)
{
    struct tfs_line word = line;
    unsigned channel = 0, depth;

    tfs_line_word(&line, &word);
    if (find_channel(&word, &channel, err) < 0)
        return err->code;
    if ((*named >> channel & 1) != 0)
        return tfs_fail_line(err, &word, "%s is there twice", tfs_godot_channel_names[channel]);
    if (tfs_godot_depth_take(line, &depth, err) < 0)
        return err->code;
    depths[channel] = (uint8_t)depth;
    *named |= 1U << channel;
    return 0;
}

/* Channels without a line have the depth of a new block. */
static int parse(struct tfs_span text, uint8_t depths[TFS_GODOT_CHANNELS], struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line line;
    unsigned named = 0;

    memcpy(depths, tfs_godot_usual_depths, TFS_GODOT_CHANNELS);
    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    while (tfs_lines_next(&lines, &line))
        if (take_line(line, depths, &named, err) < 0)
            return err->code;
    return 0;
}

/* ---- a channel of another depth -------------------------------------------------------------- */

struct conversion {
    unsigned channel;
    unsigned depths[2]; /* before, after */
    struct tfs_grid_rules rules[2];
    uint64_t empty[2]; /* as arrays have it */
};

static struct conversion conversion_of(const struct tfs_godot_block *block, unsigned channel,
                                       unsigned depth)
{
    struct conversion c = {.channel = channel, .depths = {block->channels[channel].depth, depth}};

    for (int i = 0; i < 2; i++) {
        c.rules[i] = tfs_godot_channel_rules(block, channel, c.depths[i]);
        c.empty[i] = tfs_godot_empty_value(channel, block->version, c.depths[i]);
    }
    return c;
}

static size_t print_value(const struct conversion *c, int side, uint64_t value,
                          uint8_t text[TFS_GRID_VALUE_MAX])
{
    const struct tfs_grid_shape *shape = &c->rules[side].shape;

    return c->depths[side] == TFS_GODOT_DEPTH_MAX
               ? tfs_grid_put_value64(text, shape, value)
               : tfs_grid_put_value(text, shape, (uint32_t)value);
}

/* What is empty stays empty; another value is the one with the same text. */
static int convert(const struct conversion *c, uint64_t value, uint64_t *out, struct tfs_error *err)
{
    uint8_t text[TFS_GRID_VALUE_MAX], again[TFS_GRID_VALUE_MAX];
    struct tfs_error why = {0};
    uint32_t narrow = 0;

    *out = c->empty[1];
    if (value == c->empty[0])
        return 0;
    const size_t size = print_value(c, 0, value, text);
    const struct tfs_line word = {.text = {text, size}, .number = 1, .column = 1};
    if (c->depths[1] == TFS_GODOT_DEPTH_MAX)
        tfs_grid_take_value64(&word, &c->rules[1], out, &why);
    else if (tfs_grid_take_value(&word, &c->rules[1], &narrow, &why) == 0)
        *out = narrow;
    if (why.code == 0 && print_value(c, 1, *out, again) == size && memcmp(text, again, size) == 0)
        return 0;
    return tfs_fail(
        err, -EBADMSG, "%s has the value %.*s, which does not fit into %u bits: change it first",
        tfs_godot_channel_names[c->channel], (int)size, (const char *)text, 8U << c->depths[1]);
}

static int convert_channel(struct tfs_godot_block *block, const struct conversion *c,
                           struct tfs_buf *bytes, struct tfs_error *err)
{
    struct tfs_godot_values *values = &block->channels[c->channel];
    const bool uniform = values->mode == TFS_GODOT_UNIFORM;
    const size_t count = uniform ? 1 : tfs_godot_volume(block);
    struct tfs_godot_array before = {0}, after = {0};
    uint64_t value = tfs_godot_uniform_value(block, c->channel);

    if ((!uniform && tfs_godot_channel_read(block, c->channel, &before, err) < 0) ||
        tfs_godot_array_create(&after, count, c->depths[1], err) < 0)
        goto out;
    for (size_t i = 0; i < count; i++) {
        if (convert(c, uniform ? value : tfs_godot_array_get(&before, i), &value, err) < 0)
            goto out;
        tfs_godot_array_set(&after, i, value);
    }
    if (uniform)
        tfs_godot_put_bits(bytes, tfs_godot_array_get(&after, 0), c->depths[1]);
    else
        tfs_godot_channel_write(block, &after, c->depths[1], bytes);
    values->depth = (uint8_t)c->depths[1];
    values->bytes = tfs_buf_span(bytes);
out:
    tfs_godot_array_release(&before);
    tfs_godot_array_release(&after);
    return err->code < 0 ? err->code : tfs_buf_check(bytes, err);
}

/* ---- put ------------------------------------------------------------------------------------- */

static int put_in_view(struct tfs_save *save, struct tfs_edit *edit,
                       const struct tfs_godot_view *view, const uint8_t depths[TFS_GODOT_CHANNELS],
                       unsigned options, struct tfs_error *err)
{
    struct tfs_buf own = {0}, bytes[TFS_GODOT_CHANNELS] = {0};
    struct tfs_godot_block block;
    bool changed = false;

    if (tfs_godot_store_begin(save, edit->base, view, &own, &block, err) < 0)
        goto out;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && err->code == 0; i++) {
        const struct conversion c = conversion_of(&block, i, depths[i]);
        if (c.depths[0] == c.depths[1])
            continue;
        convert_channel(&block, &c, &bytes[i], err);
        changed = true;
    }
    if (err->code == 0 && changed)
        tfs_godot_store_block(edit, view, &block, options, err);
out:
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        tfs_buf_release(&bytes[i]);
    tfs_buf_release(&own);
    return err->code;
}

static int set_depths(struct tfs_save *save, struct tfs_edit *edit, struct tfs_key key,
                      const uint8_t depths[TFS_GODOT_CHANNELS], unsigned options,
                      struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, tfs_edit_doc(edit), key, &view, err) < 0)
        return err->code;
    put_in_view(save, edit, view, depths, options, err);
    tfs_godot_view_unref(view);
    return err->code;
}

static int depths_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                      struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(edit->base);
    uint8_t depths[TFS_GODOT_CHANNELS];

    if (parse(text, depths, err) < 0)
        return err->code;
    if (rules->depths_fixed && memcmp(depths, rules->depths, sizeof(depths)) != 0)
        return tfs_fail(err, -EBADMSG, "depths are the same in all chunks of %s", rules->container);
    return set_depths(save, edit, at.key, depths, put->options, err);
}

static int depths_remove(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                         struct tfs_error *err)
{
    if (tfs_godot_rules(edit->base)->depths_fixed)
        return 0;
    return set_depths(save, edit, at.key, tfs_godot_usual_depths, 0, err);
}

const struct tfs_lens tfs_godot_depths_lens = {
    .get = depths_get,
    .put = depths_put,
    .exists = depths_exist,
    .remove = depths_remove,
};
