/*
 * A body <-> cells: blocks, sky light and block light (FORMAT.md, sections 3 to 5).
 *
 * Must not know containers, nor what files show.
 */
#include "formats/cosmic_reach/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/edit.h"
#include "formats/cosmic_reach/crbin.h"

enum { BLOCK = TFS_COSMIC_PLANE_BLOCK, SKY, LIGHT };

#define LIGHTS (1u << SKY | 1u << LIGHT)

/* Where the sections lie of which cells were made. */
struct sections {
    struct tfs_cosmic_body body; /* not set where no light was wanted */
    struct tfs_cosmic_blocks blocks;
    struct tfs_cosmic_light lights[TFS_COSMIC_PLANES - SKY];
};

static struct sections *sections_of(const struct tfs_cells *cells)
{
    return cells->own;
}

/* What the two lights do not have in common. */
static const struct light {
    enum tfs_cosmic_section section;
    uint32_t mask;
    uint8_t none; /* type of a section without values */
    int (*take)(struct tfs_cursor *c, struct tfs_cosmic_light *light, struct tfs_error *err);
    void (*encode)(struct tfs_buf *out, const struct tfs_cosmic_light *old, const uint32_t *values);
} lights[TFS_COSMIC_PLANES] = {
    [SKY] = {TFS_COSMIC_SECTION_SKY, TFS_COSMIC_SKY_MASK, TFS_COSMIC_SKY_NONE, tfs_cosmic_sky_take,
             tfs_cosmic_sky_encode},
    [LIGHT] = {TFS_COSMIC_SECTION_LIGHT, TFS_COSMIC_LIGHT_MASK, TFS_COSMIC_LIGHT_NONE,
               tfs_cosmic_light_take, tfs_cosmic_light_encode},
};

/* ---- decoding -------------------------------------------------------------------------------- */

static void narrow(const uint32_t *values, uint32_t mask, struct tfs_cells_plane *p)
{
    uint8_t *bytes = p->values;
    uint16_t *shorts = p->values;

    if (p->form.width == 1)
        for (size_t i = 0; i < TFS_COSMIC_VALUES; i++)
            bytes[i] = (uint8_t)(values[i] & mask);
    else
        for (size_t i = 0; i < TFS_COSMIC_VALUES; i++)
            shorts[i] = (uint16_t)(values[i] & mask);
}

/* Is it a section of one value, which stands for all layers? */
static bool is_single(const struct tfs_cosmic_layers *layers)
{
    return layers->bytes[0].data == layers->bytes[TFS_COSMIC_LAYERS - 1].data;
}

/* The values of layers, or the one that all have. */
static int decode_plane(struct tfs_cells *cells, unsigned plane,
                        const struct tfs_cosmic_layers *layers, uint32_t mask,
                        struct tfs_error *err)
{
    struct tfs_cells_plane *p = &cells->planes[plane];
    uint32_t values[TFS_COSMIC_VALUES];

    p->filled = is_single(layers);
    const size_t count = p->filled ? 1 : TFS_COSMIC_VALUES, size = tfs_plane_size(&p->form);
    p->values = tfs_cells_alloc(cells, count * size, err);
    if (p->values == NULL)
        return err->code;
    if (p->filled) {
        layers->decode(layers->types[0], layers->bytes[0].data, values);
        tfs_plane_set(p, 0, values[0] & mask);
        return 0;
    }
    tfs_cosmic_layers_decode(layers, size == sizeof(*values) ? p->values : values);
    if (size < sizeof(*values))
        narrow(values, mask, p);
    return 0;
}

static int decode_names(struct tfs_cells *cells, const struct tfs_cosmic_blocks *blocks,
                        struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(blocks->palette);

    cells->names = tfs_cells_alloc(cells, blocks->count * sizeof(*cells->names), err);
    if (cells->names == NULL)
        return err->code;
    for (uint32_t i = 0; i < blocks->count; i++)
        cells->names[i] = tfs_cosmic_name_take(&c);
    cells->name_count = blocks->count;
    return 0;
}

static int decode_light(struct tfs_cells *cells, unsigned plane, struct tfs_error *err)
{
    const struct light *light = &lights[plane];
    struct tfs_cosmic_light *taken = &sections_of(cells)->lights[plane - SKY];
    struct tfs_cursor c = tfs_cursor_init(sections_of(cells)->body.sections[light->section]);

    if (light->take(&c, taken, err) < 0 || !taken->present)
        return err->code;
    return decode_plane(cells, plane, &taken->layers, light->mask, err);
}

/* The blocks; no index may be one that the palette lacks. */
static int decode_blocks(struct tfs_cells *cells, struct tfs_error *err)
{
    const struct tfs_cosmic_blocks *blocks = &sections_of(cells)->blocks;
    const struct tfs_cells_plane *plane = &cells->planes[BLOCK];
    uint32_t wrong = 0; /* its highest bit: of values above 31 bits, or above the last index */

    if (decode_plane(cells, BLOCK, &blocks->layers, UINT32_MAX, err) < 0 || plane->filled)
        return err->code;
    const uint32_t *values = plane->values;
    for (size_t i = 0; i < TFS_COSMIC_VALUES; i++)
        wrong |= values[i] | (blocks->count - 1 - values[i]);
    return wrong >> 31 == 0
               ? 0
               : tfs_cosmic_blocks_check(blocks, tfs_blob_span(cells->stored).data, err);
}

/* The whole body, and block entities that would stay where they are when their chunk moves. */
static int check_body(const struct tfs_cells *cells, struct tfs_error *err)
{
    const struct tfs_cosmic_body *body = &sections_of(cells)->body;
    struct tfs_span entities;

    if (tfs_cosmic_body_check(body, tfs_blob_span(cells->stored).data, err) < 0 ||
        cells->warning == NULL || !tfs_cosmic_entities_of(body, &entities))
        return err->code;
    const int understood = tfs_cosmic_crbin_check(entities, err);
    if (understood == 0)
        tfs_fail(cells->warning, -ENOTSUP,
                 "its block entities are not understood to their last byte: they keep their "
                 "coordinates when the chunk is moved or copied");
    return understood < 0 ? understood : 0;
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    const struct tfs_span bytes = tfs_blob_span(cells->stored);
    struct sections *s = cells->own = tfs_cells_alloc(cells, sizeof(*s), err);

    if (s == NULL)
        return err->code;
    memset(s, 0, sizeof(*s));
    cells->air = tfs_cosmic_air(tfs_cosmic_chunk_version(&cells->chunk));
    /* Block data is the body's first section. */
    if (tfs_cosmic_blocks_view(bytes, &s->blocks, err) < 0 ||
        ((wanted & (LIGHTS | TFS_CELLS_CHECK)) != 0 &&
         tfs_cosmic_body_split(bytes, tfs_cosmic_chunk_version(&cells->chunk), &s->body, err) <
             0) ||
        decode_names(cells, &s->blocks, err) < 0)
        return err->code;
    if ((wanted & 1u << BLOCK) != 0 && decode_blocks(cells, err) < 0)
        return err->code;
    if ((wanted & TFS_CELLS_CHECK) != 0 && check_body(cells, err) < 0)
        return err->code;
    for (unsigned plane = SKY; plane <= LIGHT && err->code == 0; plane++)
        if ((wanted & 1u << plane) != 0)
            decode_light(cells, plane, err);
    return err->code;
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Names that change alone leave the layers as they are stored. */
static int encode_blocks(const struct tfs_cells_edit *e, struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_cosmic_blocks *old = &sections_of(e->before)->blocks;
    struct tfs_span *names = calloc(e->entry_count, sizeof(*names));
    uint32_t ids[TFS_COSMIC_VALUES];

    if (names == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < e->entry_count; i++)
        names[i] = tfs_cells_edit_name(e, i);
    if (!tfs_cells_edit_owns(e, BLOCK)) {
        tfs_cosmic_blocks_rename(out, old, names, e->entry_count);
    } else {
        tfs_plane_widen(&e->planes[BLOCK], 0, TFS_COSMIC_VALUES, ids);
        tfs_cosmic_blocks_encode(out, names, e->entry_count, ids,
                                 tfs_cosmic_chunk_version(&e->before->chunk));
    }
    free(names);
    return 0;
}

static void encode_light(const struct tfs_cells_edit *e, unsigned plane, struct tfs_buf *out)
{
    const struct light *light = &lights[plane];
    uint32_t values[TFS_COSMIC_VALUES];

    if (tfs_cells_edit_same_plane(e, plane)) {
        tfs_buf_add_span(out, sections_of(e->before)->body.sections[light->section]);
    } else if (e->planes[plane].values == NULL) {
        tfs_buf_u8(out, light->none);
    } else {
        tfs_plane_widen(&e->planes[plane], 0, TFS_COSMIC_VALUES, values);
        light->encode(out, &sections_of(e->before)->lights[plane - SKY], values);
    }
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    const struct tfs_cosmic_body *body = &sections_of(e->before)->body;
    struct tfs_cosmic_chunk chunk = {.in = e->before->chunk, .body = *body};
    struct tfs_buf bytes = {0};

    if (tfs_cells_edit_prune(e, err) < 0 || tfs_cells_edit_same(e))
        return err->code;
    if (tfs_cells_edit_same_plane(e, BLOCK) && tfs_cells_edit_same_names(e))
        tfs_buf_add_span(&bytes, body->sections[TFS_COSMIC_SECTION_BLOCKS]);
    else
        encode_blocks(e, &bytes, err);
    encode_light(e, SKY, &bytes);
    encode_light(e, LIGHT, &bytes);
    tfs_buf_add_span(&bytes, body->sections[TFS_COSMIC_SECTION_ENTITIES]);
    chunk.in.blob = e->before->stored;
    chunk.in.flags &= ~(uint32_t)TFS_CHUNK_UNREAD;
    if (err->code == 0 && tfs_buf_check(&bytes, err) == 0)
        tfs_cosmic_body_put(e->edit, &chunk, tfs_buf_span(&bytes), err);
    tfs_buf_release(&bytes);
    return err->code;
}

/* ---- the kind -------------------------------------------------------------------------------- */

/* Layer by layer as they are stored, without cells in between. */
static int numbers(struct tfs_span stored, uint32_t from, uint32_t to, tfs_number_fn number,
                   void *arg, uint8_t *shorts, struct tfs_error *err)
{
    uint32_t map[TFS_COSMIC_PALETTE_MAX], room = TFS_COSMIC_ROOM_MIN;
    struct tfs_cosmic_blocks blocks;

    if (tfs_cosmic_blocks_view(stored, &blocks, err) < 0)
        return err->code;
    while (room < blocks.count)
        room *= 2;
    memset(map, 0xff, room * sizeof(*map)); /* TFS_COSMIC_NO_NUMBER */
    struct tfs_cursor palette = tfs_cursor_init(blocks.palette);
    for (uint32_t i = 0; i < blocks.count; i++)
        if (number(arg, tfs_cosmic_name_take(&palette), &map[i], err) < 0)
            return err->code;
    for (uint32_t y = from; y < to; y++, shorts += 2 * TFS_COSMIC_LAYER_VALUES)
        if (!tfs_cosmic_layer_map(blocks.layers.types[y], blocks.layers.bytes[y].data, map, room,
                                  shorts))
            return tfs_fail(err, -EBADMSG, "a palette index is out of range");
    return 0;
}

static enum tfs_emptiness emptiness(struct tfs_span name)
{
    return tfs_cosmic_is_air(name) ? TFS_AIR : TFS_SEEN;
}

static const struct tfs_plane planes[TFS_COSMIC_PLANES] = {
    [BLOCK] = {.name = "block",
               .form = {.kind = TFS_PLANE_NAMES},
               .flags = TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES},
    [SKY] = {.name = "sky light",
             .form = {TFS_PLANE_UNSIGNED, .width = 1, .digits = 2, .high = TFS_COSMIC_SKY_MASK},
             .out_of_range = "sky light has the levels 0 to 15",
             .flags = TFS_PLANE_OPTIONAL,
             .about = "sky light, 0 to 15"},
    [LIGHT] = {.name = "block light",
               .form = {TFS_PLANE_HEX, .width = 2, .digits = 3, .high = TFS_COSMIC_LIGHT_MASK},
               .out_of_range = "block light has the values 000 to fff",
               .flags = TFS_PLANE_OPTIONAL,
               .about = "block light, 0x000 to 0xfff: red, green, blue"},
};

const struct tfs_cells_kind tfs_cosmic_cells = {
    .planes = planes,
    .count = TFS_COSMIC_PLANES,
    .flags = TFS_CELLS_TILED,
    .size = {TFS_COSMIC_SIDE, TFS_COSMIC_SIDE, TFS_COSMIC_SIDE},
    .names = {"block", TFS_COSMIC_NAME_MAX, TFS_COSMIC_PALETTE_MAX, TFS_COSMIC_AIR},
    .decode = decode,
    .numbers = numbers,
    .emptiness = emptiness,
    .encode = encode,
};
