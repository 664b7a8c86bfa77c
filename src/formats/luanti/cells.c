/*
 * A block <-> cells; changed cells -> a block numbered and ordered as the engine would (FORMAT.md,
 * section 6).
 *
 * Must not know what files show.
 */
#include "formats/luanti/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cells/written.h"
#include "formats/containers/database/rows.h"
#include "formats/luanti/lists.h"
#include "formats/luanti/map.h"

#define NO_NUMBER   UINT32_MAX
#define SHORT_NAMES 0x80 /* so many ids fit one byte */

enum { NODE = TFS_LUANTI_PLANE_NODE, PARAM2, PARAM1 };

/* ---- decoding -------------------------------------------------------------------------------- */

static int set_names(struct tfs_cells *cells, const struct tfs_luanti_block *b,
                     struct tfs_error *err)
{
    cells->names = tfs_cells_alloc(cells, b->count * sizeof(*cells->names), err);
    if (cells->names == NULL)
        return err->code;
    for (uint32_t i = 0; i < b->count; i++)
        cells->names[i] = b->names[i].name;
    cells->name_count = b->count;
    cells->weight += b->memory.capacity;
    return 0;
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    const struct tfs_span stored = tfs_blob_span(cells->stored);
    struct tfs_luanti_block *b = tfs_cells_alloc(cells, sizeof(*b), err);

    if (b == NULL || (wanted == 0 ? tfs_luanti_names_open(stored, b, err)
                                  : tfs_luanti_block_open(stored, b, err)) < 0)
        return err->code;
    cells->own = b;
    if (wanted != 0) {
        cells->planes[NODE].values = b->nodes;
        cells->planes[PARAM2].values = b->param2;
        cells->planes[PARAM1].values = b->param1;
    }
    if (cells->warning != NULL && tfs_luanti_map_coordinate(cells->chunk.key, cells->warning) == 0)
        tfs_luanti_list_warn(b, cells->warning);
    return set_names(cells, b, err);
}

static void release(struct tfs_cells *cells)
{
    if (cells->own != NULL)
        tfs_luanti_block_release(cells->own);
}

/* ---- the rules of the game ------------------------------------------------------------------- */

static bool is_air(const struct tfs_cells_edit *e, uint32_t word)
{
    return tfs_luanti_is_air(tfs_words_at(&e->words, word));
}

/* Is the voxel's node another one than before, and was not only renamed? */
static bool is_replaced(const struct tfs_cells_edit *e, size_t voxel)
{
    const uint32_t *entries = e->planes[NODE].values, *old = e->before->planes[NODE].values;

    return entries[voxel] != old[voxel] && e->entries[entries[voxel]] != e->old[old[voxel]];
}

static bool any_replaced(const struct tfs_cells_edit *e)
{
    size_t i = 0;

    while (i < TFS_LUANTI_VOXELS && !is_replaced(e, i))
        i++;
    return i < TFS_LUANTI_VOXELS;
}

/* A node that is replaced loses its param2. */
static int reset_param2(struct tfs_cells_edit *e, struct tfs_error *err)
{
    if (tfs_cells_edit_plane(e, PARAM2, err) < 0)
        return err->code;
    for (size_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        if (is_replaced(e, i))
            tfs_plane_set(&e->planes[PARAM2], i, 0);
    return 0;
}

static uint8_t lighter(uint8_t a, uint8_t b)
{
    const uint8_t high = (a & 0xf0) > (b & 0xf0) ? a & 0xf0 : b & 0xf0;
    const uint8_t low = (a & 0x0f) > (b & 0x0f) ? a & 0x0f : b & 0x0f;

    return high | low;
}

/* The light of the voxels beside this one that are in the chunk. */
static uint8_t light_beside(const uint8_t *param1, uint32_t voxel)
{
    uint8_t light = 0;

    for (unsigned shift = 0; shift < 12; shift += 4) {
        const uint32_t at = voxel >> shift & 0xf;
        if (at > 0)
            light = lighter(light, param1[voxel - (1u << shift)]);
        if (at < TFS_LUANTI_SIDE - 1)
            light = lighter(light, param1[voxel + (1u << shift)]);
    }
    return light;
}

static bool air_differs(const struct tfs_cells_edit *e, uint32_t voxel)
{
    return is_air(e, tfs_cells_edit_word(e, voxel)) != is_air(e, tfs_cells_edit_old_word(e, voxel));
}

/* New air is as light as the lightest beside it, from above down: sunlight comes so. */
static int light_air(struct tfs_cells_edit *e, struct tfs_error *err)
{
    if ((e->written & 1u << PARAM1) != 0 || tfs_cells_edit_plane(e, PARAM1, err) < 0)
        return err->code;
    uint8_t *param1 = e->planes[PARAM1].values;
    for (uint32_t i = TFS_LUANTI_VOXELS; i-- > 0;)
        if (air_differs(e, i) && is_air(e, tfs_cells_edit_word(e, i)))
            param1[i] = light_beside(param1, i);
    return 0;
}

/* A node that only changed its name lets through the same light. */
static int settle(struct tfs_cells_edit *e, struct tfs_error *err)
{
    if (!any_replaced(e) || ((e->written & 1u << PARAM2) == 0 && reset_param2(e, err) < 0))
        return err->code;
    return light_air(e, err);
}

/* Does light spread otherwise now? */
static bool lets_other_light(const struct tfs_cells_edit *e)
{
    uint32_t i = 0;

    while (i < TFS_LUANTI_VOXELS && !air_differs(e, i))
        i++;
    return i < TFS_LUANTI_VOXELS && any_replaced(e);
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* The table of names of the block to be, and the ids of its voxels. */
struct table {
    uint32_t count;
    uint32_t *names;   /* words, by id */
    uint32_t *numbers; /* ids, by word; NO_NUMBER: not used */
    uint16_t ids[TFS_LUANTI_VOXELS];
    uint16_t list[TFS_LUANTI_VOXELS]; /* ids in the order in which they are stored */
};

/* By first appearance in the stored order. */
static void number_table(const struct tfs_cells_edit *e, struct table *t)
{
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t voxel = tfs_luanti_place(i);
        const uint32_t word = tfs_cells_edit_word(e, voxel);
        if (t->numbers[word] == NO_NUMBER) {
            t->numbers[word] = t->count;
            t->names[t->count++] = word;
        }
        t->ids[voxel] = (uint16_t)t->numbers[word];
    }
}

/* As the names are stored now, the new ones behind them. */
static void list_as_stored(const struct tfs_cells_edit *e, struct table *t)
{
    const struct tfs_luanti_block *b = tfs_luanti_block_of(e->before);
    bool listed[TFS_LUANTI_VOXELS] = {false};
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->stored; i++) {
        uint32_t word;
        if (!tfs_words_find(&e->words, b->order[i].name, &word))
            continue;
        const uint32_t id = t->numbers[word];
        if (id == NO_NUMBER || listed[id])
            continue;
        listed[id] = true;
        t->list[count++] = (uint16_t)id;
    }
    for (uint32_t id = 0; id < t->count; id++)
        if (!listed[id])
            t->list[count++] = (uint16_t)id;
}

static int make_table(const struct tfs_cells_edit *e, struct table *t, struct tfs_error *err)
{
    const size_t total = e->words.count;
    enum tfs_luanti_order order;

    t->count = 0;
    t->names = calloc(total, sizeof(*t->names));
    t->numbers = malloc(total * sizeof(*t->numbers));
    if (t->names == NULL || t->numbers == NULL)
        return tfs_fail_memory(err);
    memset(t->numbers, 0xff, total * sizeof(*t->numbers)); /* NO_NUMBER */
    number_table(e, t);
    if (tfs_luanti_order_of(e->before->save, e->edit->base, tfs_luanti_block_of(e->before)->version,
                            &order, err) < 0)
        return err->code;
    if (order == TFS_LUANTI_AS_STORED)
        list_as_stored(e, t);
    else
        tfs_luanti_order_list(order, t->count, t->list);
    return 0;
}

static void table_release(struct table *t)
{
    free(t->names);
    free(t->numbers);
}

static void encode_name(struct tfs_buf *out, uint32_t id, struct tfs_span name)
{
    tfs_luanti_u16(out, id);
    tfs_luanti_u16(out, (uint32_t)name.size);
    tfs_buf_add_span(out, name);
}

static void encode_table(const struct tfs_cells_edit *e, const struct table *t, struct tfs_buf *out)
{
    tfs_buf_u8(out, 0);
    tfs_luanti_u16(out, t->count);
    for (uint32_t i = 0; i < t->count; i++)
        encode_name(out, t->list[i], tfs_words_at(&e->words, t->names[t->list[i]]));
}

static void set_not_air(struct tfs_luanti_block *next, bool air)
{
    next->flags &= (uint8_t)~TFS_LUANTI_NOT_AIR;
    next->flags |= air ? 0 : TFS_LUANTI_NOT_AIR;
}

static int store(struct tfs_cells_edit *e, struct tfs_luanti_block *next, struct tfs_buf *nodes,
                 struct tfs_error *err)
{
    next->sections[TFS_LUANTI_NODES] = tfs_buf_span(nodes);
    next->streams[TFS_LUANTI_NODES] = (struct tfs_span){0};
    if (tfs_buf_check(nodes, err) == 0)
        tfs_luanti_cells_store(e->edit, e->before, next, err);
    return err->code;
}

/* Other nodes: a table of names of its own, and all that depends on what is there. */
static int store_nodes(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct tfs_luanti_block next = *tfs_luanti_block_of(e->before);
    struct tfs_buf nodes = {0}, names = {0};
    struct table t;

    if (make_table(e, &t, err) == 0) {
        if (next.version >= TFS_LUANTI_VERSION_LIGHTING && (e->written & TFS_WRITTEN_APART) == 0 &&
            lets_other_light(e))
            next.lighting = 0xf000;
        set_not_air(&next, t.count == 1 && is_air(e, t.names[0]));
        next.width = next.width == 1 && t.count <= SHORT_NAMES ? 1 : 2;
        tfs_luanti_nodes_encode(&nodes, next.width, t.ids, e->planes[PARAM1].values,
                                e->planes[PARAM2].values);
        encode_table(e, &t, &names);
        next.sections[TFS_LUANTI_NAMES] = tfs_buf_span(&names);
        if (tfs_buf_check(&names, err) == 0)
            store(e, &next, &nodes, err);
    }
    tfs_buf_release(&nodes);
    tfs_buf_release(&names);
    table_release(&t);
    return err->code;
}

/* The same nodes: their stored numbers stay. */
static int store_params(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct tfs_luanti_block next = *tfs_luanti_block_of(e->before);
    struct tfs_buf nodes = {0};
    uint16_t ids[TFS_LUANTI_VOXELS];

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        ids[i] = next.names[next.nodes[i]].id;
    tfs_luanti_nodes_encode(&nodes, next.width, ids, e->planes[PARAM1].values,
                            e->planes[PARAM2].values);
    store(e, &next, &nodes, err);
    tfs_buf_release(&nodes);
    return err->code;
}

/* An id of one byte takes half of param2; a greater value needs other ids. */
static bool param2_fits(const struct tfs_cells_edit *e)
{
    const struct tfs_luanti_block *b = tfs_luanti_block_of(e->before);
    const uint8_t *param2 = e->planes[PARAM2].values;

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS && b->width == 1; i++)
        if (param2[i] > 0xf && b->names[b->nodes[i]].id >= SHORT_NAMES)
            return false;
    return true;
}

/* Did every name of the table keep or change its name, and did no two become one? Then nodes keep
 * their numbers, and the table its order. */
static bool is_renaming(const struct tfs_cells_edit *e)
{
    const struct tfs_luanti_block *b = tfs_luanti_block_of(e->before);
    const struct tfs_cells_plane *nodes = e->planes;

    if (b->count != b->stored || e->entry_count != b->count ||
        memcmp(nodes->values, b->nodes, sizeof(b->nodes)) != 0)
        return false;
    for (uint32_t i = 0; i < e->entry_count; i++)
        if (e->firsts[e->entries[i]] != i)
            return false;
    return true;
}

/* The entry of a name as it is stored. */
static uint32_t entry_of(const struct tfs_luanti_block *b, const struct tfs_luanti_name *name)
{
    uint32_t i = 0;

    while (b->names[i].id != name->id)
        i++;
    return i;
}

static int store_renamed(struct tfs_cells_edit *e, struct tfs_error *err)
{
    const struct tfs_luanti_block *b = tfs_luanti_block_of(e->before);
    struct tfs_luanti_block next = *b;
    struct tfs_buf names = {0};

    tfs_buf_u8(&names, 0);
    tfs_luanti_u16(&names, b->stored);
    for (uint32_t i = 0; i < b->stored; i++)
        encode_name(&names, b->order[i].id, tfs_cells_edit_name(e, entry_of(b, &b->order[i])));
    next.sections[TFS_LUANTI_NAMES] = tfs_buf_span(&names);
    set_not_air(&next, b->count == 1 && is_air(e, e->entries[0]));
    if (tfs_buf_check(&names, err) == 0)
        tfs_luanti_cells_store(e->edit, e->before, &next, err);
    tfs_buf_release(&names);
    return err->code;
}

static bool names_differ(const struct tfs_cells_edit *e)
{
    for (size_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        if (tfs_cells_edit_word(e, i) != tfs_cells_edit_old_word(e, i))
            return true;
    return false;
}

static bool same_params(const struct tfs_cells_edit *e)
{
    const struct tfs_luanti_block *b = tfs_luanti_block_of(e->before);

    return memcmp(e->planes[PARAM1].values, b->param1, sizeof(b->param1)) == 0 &&
           memcmp(e->planes[PARAM2].values, b->param2, sizeof(b->param2)) == 0;
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    if (names_differ(e))
        return same_params(e) && is_renaming(e) ? store_renamed(e, err) : store_nodes(e, err);
    if (same_params(e))
        return 0;
    return param2_fits(e) ? store_params(e, err) : store_nodes(e, err);
}

/* ---- storing --------------------------------------------------------------------------------- */

int tfs_luanti_cells_put(struct tfs_edit *edit, const struct tfs_cells *cells,
                         struct tfs_span bytes, struct tfs_error *err)
{
    struct tfs_chunk chunk = cells->chunk;

    if (!cells->unread && tfs_span_equal(tfs_blob_span(cells->stored), bytes))
        return 0;
    if (tfs_rows_keep(cells->save, &chunk, bytes, err) == 0)
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

int tfs_luanti_cells_store(struct tfs_edit *edit, const struct tfs_cells *cells,
                           const struct tfs_luanti_block *block, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};

    if (tfs_luanti_block_encode(block, &bytes, err) == 0)
        tfs_luanti_cells_put(edit, cells, tfs_buf_span(&bytes), err);
    tfs_buf_release(&bytes);
    return err->code;
}

/* ---- the kind -------------------------------------------------------------------------------- */

/* `ignore` stands for what was not generated. */
static enum tfs_emptiness emptiness(struct tfs_span name)
{
    return tfs_luanti_is_air(name) ? TFS_AIR : tfs_luanti_is_ignore(name) ? TFS_UNSEEN : TFS_SEEN;
}

static const struct tfs_plane planes[TFS_LUANTI_PLANES] = {
    [NODE] = {.name = "node",
              .form = {.kind = TFS_PLANE_NAMES},
              .flags = TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES},
    [PARAM2] = {.name = "param2",
                .form = {TFS_PLANE_UNSIGNED, .width = 1, .digits = 3, .high = UINT8_MAX},
                .out_of_range = "a parameter has 8 bits",
                .mark = "@",
                .flags = TFS_PLANE_IN_TABLE,
                .about = "what the node makes of it: a direction, a colour, a level"},
    [PARAM1] = {.name = "param1",
                .form = {TFS_PLANE_HEX, .width = 1, .digits = 2, .high = UINT8_MAX},
                .out_of_range = "a parameter has 8 bits",
                .about = "light in most nodes"},
};

const struct tfs_cells_kind tfs_luanti_cells = {
    .planes = planes,
    .count = TFS_LUANTI_PLANES,
    .size = {TFS_LUANTI_SIDE, TFS_LUANTI_SIDE, TFS_LUANTI_SIDE},
    .unit = "node",
    .flags = TFS_CELLS_NORTH_UP,
    .names = {"node", UINT16_MAX, .entries = 65536}, /* ids have 16 bits */
    .decode = decode,
    .release = release,
    .emptiness = emptiness,
    .settle = settle,
    .encode = encode,
};
