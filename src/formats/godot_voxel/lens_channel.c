/*
 * channels/NAME.txt: one channel of a block <-> its depth and a grid.
 *
 * Must not know the other channels.
 */
#include <errno.h>

#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/lenses.h"
#include "formats/godot_voxel/store.h"
#include "text/decimal.h"

#define DEPTH_LINE "depth "

static unsigned channel_of(struct tfs_at at)
{
    const unsigned *number = at.param;

    return *number;
}

/* ---- get ------------------------------------------------------------------------------------- */

static int print_rows(const struct tfs_godot_block *block, unsigned channel,
                      const struct tfs_grid_shape *shape, struct tfs_buf *out,
                      struct tfs_error *err)
{
    struct tfs_godot_array array = {0};

    if (tfs_godot_channel_read(block, channel, &array, err) < 0)
        return err->code;
    tfs_buf_u8(out, '\n');
    if (array.wide)
        tfs_grid_print_rows64(out, shape, array.values64);
    else
        tfs_grid_print_rows(out, shape, array.values);
    tfs_godot_array_release(&array);
    return tfs_buf_check(out, err);
}

static int print_channel(const struct tfs_godot_block *block, unsigned channel, struct tfs_buf *out,
                         struct tfs_error *err)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    const struct tfs_grid_shape shape =
        tfs_godot_channel_rules(block, channel, values->depth).shape;

    tfs_buf_printf(out, DEPTH_LINE "%u\n", 8U << values->depth);
    if (values->mode == TFS_GODOT_NONE)
        return print_rows(block, channel, &shape, out, err);
    uint64_t value = tfs_godot_uniform_value(block, channel);
    if (values->depth == TFS_GODOT_DEPTH_MAX)
        tfs_grid_print_fill64(out, &shape, value);
    else
        tfs_grid_print_fill(out, &shape, (uint32_t)value);
    return tfs_buf_check(out, err);
}

static int channel_get(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at,
                       struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_lens_view(save, doc, at.key, &view, err) < 0)
        return err->code;
    print_channel(&view->block, channel_of(at), out, err);
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- size ------------------------------------------------------------------------------------ */

static uint64_t text_size(const struct tfs_godot_block *block, unsigned channel)
{
    const struct tfs_godot_values *values = &block->channels[channel];
    const struct tfs_grid_shape shape =
        tfs_godot_channel_rules(block, channel, values->depth).shape;
    uint64_t size = sizeof(DEPTH_LINE) + tfs_decimal_width(8U << values->depth);

    if (values->mode == TFS_GODOT_NONE)
        return size + 1 + tfs_grid_rows_size(&shape);
    uint64_t value = tfs_godot_uniform_value(block, channel);
    return size + (values->depth == TFS_GODOT_DEPTH_MAX
                       ? tfs_grid_fill_size64(&shape, value)
                       : tfs_grid_fill_size(&shape, (uint32_t)value));
}

static int64_t channel_size(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error ignored = {0};

    if (tfs_godot_lens_view(save, doc, at.key, &view, &ignored) < 0)
        return -1;
    int64_t size = (int64_t)text_size(&view->block, channel_of(at));
    tfs_godot_view_unref(view);
    return size;
}

/* ---- put ------------------------------------------------------------------------------------- */

static int read_depth(struct tfs_line line, unsigned *depth, struct tfs_error *err)
{
    struct tfs_line word = line;
    int64_t bits;

    if (!tfs_line_word(&line, &word))
        word.text.size = 0;
    if (tfs_line_number(&word, "depth", 8, 64, &bits, err) < 0)
        return err->code;
    if (line.text.size > 0)
        return tfs_fail_line(err, &line, "depth takes one number");
    for (unsigned d = 0; d <= TFS_GODOT_DEPTH_MAX; d++) {
        if (bits == INT64_C(8) << d) {
            *depth = d;
            return 0;
        }
    }
    return tfs_fail_line(err, &word, "the depth is 8, 16, 32 or 64");
}

int tfs_godot_depth_take(struct tfs_line line, const struct tfs_godot_rules *rules,
                         unsigned channel, unsigned now, unsigned *depth, struct tfs_error *err)
{
    if (read_depth(line, depth, err) < 0)
        return err->code;
    if (*depth == now || !rules->depths_fixed || rules->depths[channel] == *depth)
        return 0;
    return tfs_fail_line(err, &line, "the depth here is %u in all chunks of %s",
                         8U << rules->depths[channel], rules->container);
}

/* Takes the line `depth N`, if `line` is one: 1; else 0. */
static int take_depth(struct tfs_line line, const struct tfs_godot_rules *rules, unsigned channel,
                      unsigned *depth, struct tfs_error *err)
{
    struct tfs_line word = line;

    tfs_line_word(&line, &word);
    if (!tfs_span_equal(word.text, tfs_span_of("depth")))
        return 0;
    return tfs_godot_depth_take(line, rules, channel, *depth, depth, err) < 0 ? err->code : 1;
}

/* The grid behind the header. */
static int parse_grid(struct tfs_lines *lines, const struct tfs_line *first,
                      const struct tfs_godot_block *block, unsigned channel,
                      struct tfs_godot_values *values, struct tfs_buf *bytes, struct tfs_error *err)
{
    const struct tfs_grid_rules rules = tfs_godot_channel_rules(block, channel, values->depth);
    struct tfs_godot_array array = {0};
    bool filled = false;

    if (tfs_godot_array_create(&array, tfs_godot_volume(block), values->depth, err) < 0)
        return err->code;
    int result = array.wide ? tfs_grid_parse64(lines, first, &rules, array.values64, &filled, err)
                            : tfs_grid_parse(lines, first, &rules, array.values, &filled, err);
    if (result == 0 && filled)
        tfs_godot_put_bits(bytes, tfs_godot_array_get(&array, 0), values->depth);
    else if (result == 0)
        tfs_godot_channel_write(block, &array, values->depth, bytes);
    tfs_godot_array_release(&array);
    values->mode = filled ? TFS_GODOT_UNIFORM : TFS_GODOT_NONE;
    return result < 0 ? result : tfs_buf_check(bytes, err);
}

static int parse_channel(const struct tfs_godot_rules *rules, struct tfs_span text,
                         const struct tfs_godot_block *block, unsigned channel,
                         struct tfs_godot_values *values, struct tfs_buf *bytes,
                         struct tfs_error *err)
{
    struct tfs_lines lines;
    struct tfs_line first;
    unsigned depth = block->channels[channel].depth;

    if (tfs_lines_init(&lines, text, err) < 0)
        return err->code;
    bool more = tfs_lines_next(&lines, &first);
    int header = more ? take_depth(first, rules, channel, &depth, err) : 0;
    if (header < 0)
        return header;
    values->depth = (uint8_t)depth;
    if (parse_grid(&lines, header == 0 && more ? &first : NULL, block, channel, values, bytes,
                   err) < 0)
        return err->code;
    values->bytes = tfs_buf_span(bytes);
    return 0;
}

static bool same_values(const struct tfs_godot_values *a, const struct tfs_godot_values *b)
{
    return a->mode == b->mode && a->depth == b->depth && tfs_span_equal(a->bytes, b->bytes);
}

static int put_in_view(struct tfs_save *save, struct tfs_edit *edit,
                       const struct tfs_godot_view *view, unsigned channel, struct tfs_span text,
                       const struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_values values = {0};
    struct tfs_godot_block block;
    struct tfs_buf own = {0}, bytes = {0};

    if (tfs_godot_store_begin(save, edit->base, view, &own, &block, err) == 0 &&
        parse_channel(tfs_godot_rules(edit->base), text, &block, channel, &values, &bytes, err) ==
            0 &&
        !(view->readable && same_values(&values, &block.channels[channel]))) {
        block.channels[channel] = values;
        tfs_godot_store_block(edit, view, &block, put->options, err);
    }
    tfs_buf_release(&own);
    tfs_buf_release(&bytes);
    return err->code;
}

static int channel_put(struct tfs_save *save, struct tfs_edit *edit, struct tfs_at at,
                       struct tfs_span text, struct tfs_put *put, struct tfs_error *err)
{
    struct tfs_godot_view *view;

    if (tfs_godot_view_open(save, tfs_edit_doc(edit), at.key, &view, err) < 0)
        return err->code;
    put_in_view(save, edit, view, channel_of(at), text, put, err);
    tfs_godot_view_unref(view);
    return err->code;
}

/* ---- voxels.csv ------------------------------------------------------------------------------ */

int tfs_godot_channel_in_table(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_at at)
{
    struct tfs_godot_view *view;
    struct tfs_error why = {0};

    if (tfs_godot_view_open(save, doc, at.key, &view, &why) < 0)
        return why.code == -ENOENT ? 0 : why.code;
    bool dense = view->readable && view->block.channels[channel_of(at)].mode == TFS_GODOT_NONE;
    tfs_godot_view_unref(view);
    return dense;
}

/* ---- one lens a channel ---------------------------------------------------------------------- */

static const unsigned numbers[TFS_GODOT_CHANNELS] = {0, 1, 2, 3, 4, 5, 6, 7};

#define CHANNEL_LENS(i)                                                                            \
    {                                                                                              \
        .param = &numbers[i], .get = channel_get, .put = channel_put,                              \
        .exists = tfs_godot_lens_exists, .size = channel_size                                      \
    }

const struct tfs_lens tfs_godot_channel_lenses[TFS_GODOT_CHANNELS] = {
    CHANNEL_LENS(0), CHANNEL_LENS(1), CHANNEL_LENS(2), CHANNEL_LENS(3),
    CHANNEL_LENS(4), CHANNEL_LENS(5), CHANNEL_LENS(6), CHANNEL_LENS(7),
};
