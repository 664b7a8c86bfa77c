/*
 * A block <-> cells: what its channels' numbers are, and their order (FORMAT.md, sections 3 and 8).
 *
 * Must not know what files show, nor how chunks lie on disk.
 */
#include "formats/godot_voxel/cells.h"

#include <errno.h>

#include "formats/cells/edit.h"
#include "formats/godot_voxel/channel.h"
#include "formats/godot_voxel/counts.h"
#include "formats/godot_voxel/instances.h"
#include "formats/godot_voxel/matter.h"
#include "formats/godot_voxel/metadata.h"
#include "formats/godot_voxel/store.h"

/* ---- forms ----------------------------------------------------------------------------------- */

static const struct tfs_plane_form unsigned_forms[] = {
    {.kind = TFS_PLANE_UNSIGNED, .width = 1, .digits = 3, .high = UINT8_MAX},
    {.kind = TFS_PLANE_UNSIGNED, .width = 2, .digits = 5, .high = UINT16_MAX},
    {.kind = TFS_PLANE_UNSIGNED, .width = 4, .digits = 10, .high = UINT32_MAX},
    {.kind = TFS_PLANE_UNSIGNED, .width = 8, .digits = 20, .high = UINT64_MAX},
};

static const struct tfs_plane_form distance_forms[] = {
    {.kind = TFS_PLANE_SIGNED, .width = 1, .digits = 4, .high = INT8_MAX},
    {.kind = TFS_PLANE_SIGNED, .width = 2, .digits = 6, .high = INT16_MAX},
    {.kind = TFS_PLANE_FLOAT, .width = 4, .digits = 15},
    {.kind = TFS_PLANE_FLOAT, .width = 8, .digits = 24},
};

struct tfs_plane_form tfs_godot_form(unsigned version, unsigned channel, unsigned width)
{
    const unsigned depth = tfs_godot_depth(width);
    const bool distance = channel == TFS_GODOT_SDF && (version > 2 || depth >= 2);
    struct tfs_plane_form form = distance ? distance_forms[depth] : unsigned_forms[depth];
    const struct tfs_godot_matter matter = tfs_godot_matter_of(version, channel, depth);

    form.empty = tfs_godot_empty_value(channel, version, depth);
    form.solid = matter.low;
    form.solid_span = matter.span & UINT64_MAX >> (64 - 8 * width);
    return form;
}

static struct tfs_voxel_size group_size(const struct tfs_doc *doc, uint32_t group)
{
    uint32_t sides[3];

    (void)group;
    tfs_godot_rules_sides(doc, sides);
    return (struct tfs_voxel_size){sides[0], sides[1], sides[2]};
}

/* As wide as the deepest of the level. */
static int group_form(struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                      unsigned plane, struct tfs_plane_form *form, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(doc);
    struct tfs_godot_level level;

    if (tfs_godot_level_find(save, doc, group, &level, err) == 0)
        *form = tfs_godot_form(
            level.version, plane,
            1U << (rules->depths_fixed ? rules->depths[plane] : level.depths[plane]));
    return err->code;
}

/* ---- decoding -------------------------------------------------------------------------------- */

struct decoded {
    struct tfs_godot_block block;                     /* first */
    _Alignas(8) uint8_t fills[TFS_GODOT_CHANNELS][8]; /* the values of UNIFORM channels */
};

/* Stored order has y fastest. */
#define TURN(type, value)                                                                          \
    for (uint32_t y = 0; y < b->y; y++)                                                            \
        for (uint32_t z = 0; z < b->z; z++) {                                                      \
            const uint8_t *at = from + ((y + layer * z) << depth);                                 \
            type *row = (type *)to + ((size_t)y * b->z + z) * b->x;                                \
            for (uint32_t x = 0; x < b->x; x++, at += step)                                        \
                row[x] = (type)(value);                                                            \
        }

static void turn(const struct tfs_godot_block *b, const struct tfs_godot_values *values, void *to)
{
    const uint8_t *from = values->bytes.data;
    const unsigned depth = values->depth;
    const size_t layer = (size_t)b->x * b->y, step = (size_t)b->y << depth;

    switch (depth) {
    case 0:
        TURN(uint8_t, *at);
        break;
    case 1:
        TURN(uint16_t, at[0] | at[1] << 8);
        break;
    case 2:
        TURN(uint32_t, tfs_godot_get_bits(at, 2));
        break;
    default:
        TURN(uint64_t, tfs_godot_get_bits(at, 3));
    }
}

static int set_plane(struct tfs_cells *cells, struct decoded *d, unsigned i, struct tfs_error *err)
{
    const struct tfs_godot_values *values = &d->block.channels[i];
    const size_t size = (size_t)tfs_godot_volume(&d->block) << values->depth;
    struct tfs_cells_plane *plane = &cells->planes[i];

    plane->form = tfs_godot_form(d->block.version, i, 1U << values->depth);
    plane->filled = values->mode == TFS_GODOT_UNIFORM;
    if (plane->filled) {
        plane->values = d->fills[i];
        tfs_plane_set(plane, 0, tfs_godot_get_bits(values->bytes.data, values->depth));
        return 0;
    }
    plane->values = tfs_cells_alloc(cells, size, err);
    if (plane->values == NULL)
        return err->code;
    turn(&d->block, values, plane->values);
    return 0;
}

/* The size that the chunk says, instances, and what the engine cannot reach or read. */
static int check_rest(const struct tfs_cells *cells, struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(cells->doc);
    const struct tfs_godot_block *block = tfs_godot_block_of(cells);

    if (!rules->cubed && tfs_godot_chunk_sides(&cells->chunk) != tfs_godot_sides_of(block))
        return tfs_fail(err, -EBADMSG, "the block has another size than the chunk says");
    if (cells->extra != NULL && tfs_godot_instances_check(cells->extra, err) < 0)
        return err->code;
    if (cells->warning != NULL) {
        tfs_godot_rules_coordinate(rules, cells->chunk.key, cells->warning);
        if (block != NULL)
            tfs_godot_metadata_check(block, cells->warning, err);
    }
    return err->code;
}

static int decode_block(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    if (cells->stored == NULL)
        return 0;
    struct decoded *d = cells->own = tfs_cells_alloc(cells, sizeof(*d), err);
    if (d == NULL)
        return err->code;
    d->block = (struct tfs_godot_block){0};
    if (tfs_godot_block_open(cells->stored, &d->block, err) < 0 ||
        tfs_godot_rules_size(tfs_godot_rules(cells->doc), &d->block, err) < 0)
        return err->code;
    cells->version = d->block.version;
    cells->size = (struct tfs_voxel_size){d->block.x, d->block.y, d->block.z};
    cells->weight += tfs_blob_span(d->block.data).size;
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        if ((wanted >> i & 1) != 0 && set_plane(cells, d, i, err) < 0)
            return err->code;
    return 0;
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    return decode_block(cells, wanted, err) < 0 || (wanted & TFS_CELLS_CHECK) == 0
               ? err->code
               : check_rest(cells, err);
}

int tfs_godot_cells_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_cells **cells, struct tfs_error *err)
{
    return tfs_cells_open(save, doc, key, TFS_CELLS_ALL, cells, err);
}

static void release(struct tfs_cells *cells)
{
    struct decoded *d = cells->own;

    if (d != NULL)
        tfs_godot_block_release(&d->block);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void put_values(const struct tfs_cells_plane *plane, struct tfs_voxel_size size,
                       unsigned depth, struct tfs_buf *out)
{
    const size_t bytes = (size_t)size.x * size.y * size.z << depth;
    uint8_t *at = tfs_buf_reserve(out, bytes);

    if (at == NULL)
        return;
    for (uint32_t z = 0; z < size.z; z++)
        for (uint32_t x = 0; x < size.x; x++)
            for (uint32_t y = 0; y < size.y; y++, at += (size_t)1 << depth)
                tfs_godot_set_bits(at, tfs_plane_get(plane, ((size_t)y * size.z + z) * size.x + x),
                                   depth);
    out->size += bytes;
}

static int put_plane(const struct tfs_cells_edit *e, unsigned i, struct tfs_godot_block *block,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_cells_plane *plane = &e->planes[i];
    const uint8_t depth = tfs_godot_depth(plane->form.width);

    if (depth != block->channels[i].depth &&
        tfs_godot_rules_depth(tfs_godot_rules(tfs_edit_doc(e->edit)), i, depth, err) < 0)
        return err->code;
    if (plane->filled)
        tfs_godot_put_bits(out, tfs_plane_get(plane, 0), depth);
    else
        put_values(plane, e->before->size, depth, out);
    block->channels[i] =
        (struct tfs_godot_values){.mode = plane->filled ? TFS_GODOT_UNIFORM : TFS_GODOT_NONE,
                                  .depth = depth,
                                  .bytes = tfs_buf_span(out)};
    return tfs_buf_check(out, err);
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct tfs_godot_block block = *tfs_godot_block_of(e->before);
    struct tfs_buf bytes[TFS_GODOT_CHANNELS] = {{0}};

    for (unsigned i = 0; i < TFS_GODOT_CHANNELS && err->code == 0; i++)
        if (!tfs_cells_edit_same_plane(e, i))
            put_plane(e, i, &block, &bytes[i], err);
    if (err->code == 0)
        tfs_godot_store_block(e->edit, e->before, &block, err);
    for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
        tfs_buf_release(&bytes[i]);
    return err->code;
}

/* ---- the game -------------------------------------------------------------------------------- */

#define FLAGS (TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES | TFS_PLANE_FILLABLE)
/* With the depths of the engine's new blocks. */
#define CHANNEL(text, bytes, more)                                                                 \
    {                                                                                              \
        .name = text, .form = {.kind = TFS_PLANE_UNSIGNED, .width = (bytes)},                      \
        .mark = " " text "=", .flags = FLAGS | (more), .about = "the channel " text                \
    }

static const struct tfs_plane planes[TFS_GODOT_CHANNELS] = {
    CHANNEL("type", 2, TFS_PLANE_SOLID),
    CHANNEL("sdf", 2, TFS_PLANE_SOLID | TFS_PLANE_DISTANCE),
    CHANNEL("color", 1, TFS_PLANE_SOLID),
    CHANNEL("indices", 2, 0),
    CHANNEL("weights", 2, 0),
    CHANNEL("data5", 1, 0),
    CHANNEL("data6", 1, 0),
    CHANNEL("data7", 1, 0),
};

const struct tfs_cells_kind tfs_godot_cells = {
    .planes = planes,
    .count = TFS_GODOT_CHANNELS,
    .group_size = group_size,
    .decode = decode,
    .release = release,
    .columns = tfs_godot_columns,
    .encode = encode,
    .form = tfs_godot_form,
    .group_form = group_form,
    .blank = tfs_godot_blank,
};
