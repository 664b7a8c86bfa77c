/*
 * Numbers for the voxels of a chunk, and names for the numbers -> nodes and a table of names.
 *
 * Must not know where the names come from.
 */
#include "formats/luanti/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/luanti/lists.h"

#define NO_NUMBER   UINT32_MAX
#define SHORT_NAMES 0x80 /* so many ids fit one byte */

/* ---- names and numbers ----------------------------------------------------------------------- */

static int number_names(struct tfs_luanti_change *c, struct tfs_error *err)
{
    const struct tfs_luanti_block *b = &c->view->block;

    c->numbers = calloc(b->count + 1, sizeof(*c->numbers));
    if (c->numbers == NULL)
        return tfs_fail_memory(err);
    for (uint32_t i = 0; i < b->count; i++)
        if (tfs_words_add(&c->names, b->names[i].name, &c->numbers[i], err) < 0)
            return err->code;
    tfs_words_add(&c->names, tfs_span_of("air"), &c->air, err);
    c->had = c->names.count;
    return err->code;
}

/* The number of the name that the voxel had. */
static uint32_t old_number(const struct tfs_luanti_change *c, uint32_t voxel)
{
    return c->numbers[c->view->block.nodes[voxel]];
}

int tfs_luanti_change_begin(struct tfs_luanti_change *c, struct tfs_save *save,
                            struct tfs_luanti_view *view, struct tfs_error *err)
{
    memset(c, 0, sizeof(*c));
    c->save = save;
    c->view = tfs_luanti_view_ref(view);
    if (number_names(c, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        c->ids[i] = old_number(c, i);
    memcpy(c->param1, c->view->block.param1, sizeof(c->param1));
    memcpy(c->param2, c->view->block.param2, sizeof(c->param2));
    return 0;
}

int tfs_luanti_change_open(struct tfs_luanti_change *c, struct tfs_save *save,
                           const struct tfs_doc *doc, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_luanti_view *view = NULL;

    memset(c, 0, sizeof(*c));
    if (tfs_luanti_view_need(save, doc, key, &view, err) == 0)
        tfs_luanti_change_begin(c, save, view, err);
    tfs_luanti_view_unref(view);
    return err->code;
}

void tfs_luanti_change_close(struct tfs_luanti_change *c)
{
    tfs_luanti_view_unref(c->view);
    tfs_words_release(&c->names);
    free(c->numbers);
}

bool tfs_luanti_change_had(const void *change, struct tfs_span name)
{
    const struct tfs_luanti_change *c = change;
    uint32_t number;

    return tfs_words_find(&c->names, name, &number) && number < c->had;
}

/* ---- voxels ---------------------------------------------------------------------------------- */

void tfs_luanti_change_clear(struct tfs_luanti_change *c, uint32_t voxel)
{
    if (c->ids[voxel] == c->air)
        return;
    c->ids[voxel] = c->air;
    c->param2[voxel] = 0;
}

static bool names_differ(const struct tfs_luanti_change *c)
{
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        if (c->ids[i] != old_number(c, i))
            return true;
    return false;
}

/* ---- light ----------------------------------------------------------------------------------- */

static uint8_t lighter(uint8_t a, uint8_t b)
{
    const uint8_t high = (a & 0xf0) > (b & 0xf0) ? a & 0xf0 : b & 0xf0;
    const uint8_t low = (a & 0x0f) > (b & 0x0f) ? a & 0x0f : b & 0x0f;

    return high | low;
}

/* The light of the voxels beside this one that are in the chunk. */
static uint8_t light_beside(const struct tfs_luanti_change *c, uint32_t voxel)
{
    uint8_t light = 0;

    for (unsigned shift = 0; shift < 12; shift += 4) {
        const uint32_t at = voxel >> shift & 0xf;
        if (at > 0)
            light = lighter(light, c->param1[voxel - (1u << shift)]);
        if (at < TFS_LUANTI_SIDE - 1)
            light = lighter(light, c->param1[voxel + (1u << shift)]);
    }
    return light;
}

/* New air is as light as the lightest beside it, from above down: sunlight comes so. True: what
 * lets light through is another one than before. */
static bool light_air(struct tfs_luanti_change *c)
{
    bool changed = false;

    for (uint32_t i = TFS_LUANTI_VOXELS; i-- > 0;) {
        const bool air = c->ids[i] == c->air;
        if (air == (old_number(c, i) == c->air))
            continue;
        changed = true;
        if (air)
            c->param1[i] = light_beside(c, i);
    }
    return changed;
}

/* ---- storing --------------------------------------------------------------------------------- */

/* The table of names of the block to be, and the ids of its voxels. */
struct table {
    uint32_t count;
    uint32_t *names;   /* numbers, by id */
    uint32_t *numbers; /* ids, by number; NO_NUMBER: not used */
    uint16_t ids[TFS_LUANTI_VOXELS];
    uint16_t list[TFS_LUANTI_VOXELS]; /* ids in the order in which they are stored */
};

/* By first appearance in the stored order. */
static void number_table(const struct tfs_luanti_change *c, struct table *t)
{
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t voxel = tfs_luanti_place(i);
        const uint32_t number = c->ids[voxel];
        if (t->numbers[number] == NO_NUMBER) {
            t->numbers[number] = t->count;
            t->names[t->count++] = number;
        }
        t->ids[voxel] = (uint16_t)t->numbers[number];
    }
}

/* As the names are stored now, the new ones behind them. */
static void list_as_stored(const struct tfs_luanti_change *c, struct table *t)
{
    const struct tfs_luanti_block *b = &c->view->block;
    bool listed[TFS_LUANTI_VOXELS] = {false};
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->stored; i++) {
        uint32_t number;
        if (!tfs_words_find(&c->names, b->order[i].name, &number))
            continue;
        const uint32_t id = t->numbers[number];
        if (id == NO_NUMBER || listed[id])
            continue;
        listed[id] = true;
        t->list[count++] = (uint16_t)id;
    }
    for (uint32_t id = 0; id < t->count; id++)
        if (!listed[id])
            t->list[count++] = (uint16_t)id;
}

static void encode_names(const struct tfs_luanti_change *c, const struct table *t,
                         struct tfs_buf *out)
{
    tfs_buf_u8(out, 0);
    tfs_luanti_u16(out, t->count);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct tfs_span name = tfs_luanti_change_name(c, t->names[t->list[i]]);
        tfs_luanti_u16(out, t->list[i]);
        tfs_luanti_u16(out, (uint32_t)name.size);
        tfs_buf_add_span(out, name);
    }
}

static int make_table(const struct tfs_luanti_change *c, const struct tfs_doc *doc, struct table *t,
                      struct tfs_error *err)
{
    const size_t total = c->names.count;
    enum tfs_luanti_order order;

    t->count = 0;
    t->names = calloc(total, sizeof(*t->names));
    t->numbers = malloc(total * sizeof(*t->numbers));
    if (t->names == NULL || t->numbers == NULL)
        return tfs_fail_memory(err);
    memset(t->numbers, 0xff, total * sizeof(*t->numbers));
    number_table(c, t);
    if (tfs_luanti_view_order(c->save, doc, c->view->block.version, &order, err) < 0)
        return err->code;
    if (order == TFS_LUANTI_AS_STORED)
        list_as_stored(c, t);
    else
        tfs_luanti_order_list(order, t->count, t->list);
    return 0;
}

static void table_release(struct table *t)
{
    free(t->names);
    free(t->numbers);
}

/* Other nodes: a table of names of its own, and all that depends on what is there. */
static int store_nodes(struct tfs_edit *edit, struct tfs_luanti_change *c, struct tfs_error *err)
{
    struct tfs_luanti_block next = c->view->block;
    struct tfs_buf nodes = {0}, names = {0};
    struct table t;

    if (make_table(c, edit->base, &t, err) == 0) {
        if (!c->keeps_light && light_air(c) && next.version >= TFS_LUANTI_VERSION_LIGHTING)
            next.lighting = 0xf000;
        next.flags &= (uint8_t)~TFS_LUANTI_NOT_AIR;
        if (t.count > 1 || t.names[0] != c->air)
            next.flags |= TFS_LUANTI_NOT_AIR;
        next.width = next.width == 1 && t.count <= SHORT_NAMES ? 1 : 2;
        tfs_luanti_nodes_encode(&nodes, next.width, t.ids, c->param1, c->param2);
        encode_names(c, &t, &names);
        next.sections[TFS_LUANTI_NODES] = tfs_buf_span(&nodes);
        next.sections[TFS_LUANTI_NAMES] = tfs_buf_span(&names);
        next.streams[TFS_LUANTI_NODES] = (struct tfs_span){0};
        if (tfs_buf_check(&nodes, err) == 0 && tfs_buf_check(&names, err) == 0)
            tfs_luanti_view_store(edit, c->view, &next, err);
    }
    tfs_buf_release(&nodes);
    tfs_buf_release(&names);
    table_release(&t);
    return err->code;
}

/* The same nodes: their stored numbers stay. */
static int store_params(struct tfs_edit *edit, const struct tfs_luanti_change *c,
                        struct tfs_error *err)
{
    struct tfs_luanti_block next = c->view->block;
    struct tfs_buf nodes = {0};
    uint16_t ids[TFS_LUANTI_VOXELS];

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++)
        ids[i] = next.names[next.nodes[i]].id;
    tfs_luanti_nodes_encode(&nodes, next.width, ids, c->param1, c->param2);
    next.sections[TFS_LUANTI_NODES] = tfs_buf_span(&nodes);
    next.streams[TFS_LUANTI_NODES] = (struct tfs_span){0};
    if (tfs_buf_check(&nodes, err) == 0)
        tfs_luanti_view_store(edit, c->view, &next, err);
    tfs_buf_release(&nodes);
    return err->code;
}

/* An id of one byte takes half of param2; a greater value needs other ids. */
static bool param2_fits(const struct tfs_luanti_change *c)
{
    const struct tfs_luanti_block *b = &c->view->block;

    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS && b->width == 1; i++)
        if (c->param2[i] > 0xf && b->names[b->nodes[i]].id >= SHORT_NAMES)
            return false;
    return true;
}

int tfs_luanti_change_store(struct tfs_edit *edit, struct tfs_luanti_change *c,
                            struct tfs_error *err)
{
    const struct tfs_luanti_block *b = &c->view->block;

    if (names_differ(c))
        return store_nodes(edit, c, err);
    if (memcmp(c->param1, b->param1, sizeof(c->param1)) == 0 &&
        memcmp(c->param2, b->param2, sizeof(c->param2)) == 0)
        return 0;
    return param2_fits(c) ? store_params(edit, c, err) : store_nodes(edit, c, err);
}
