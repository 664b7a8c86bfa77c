/*
 * Blocks -> the highest of each stack, and the tags that say so.
 *
 * Must not know regions. WORLD_SURFACE is exact: it depends on air alone. The other heightmaps
 * depend on what no save says of a block; the game makes them again where they are absent, as it
 * does all of them where a damaged section leaves tops unknown.
 */
#include "formats/minecraft/heights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/minecraft/state.h"

#define NO_TOP INT32_MIN

/* The first free y above the blocks of each stack, z * 16 + x; NO_TOP: there is none. */
struct tops {
    int32_t ys[TFS_MC_LAYER];
    size_t left; /* stacks that none was found of */
};

/* ---- the highest blocks ---------------------------------------------------------------------- */

/* airs[i]: is the i-th state of the palette air? */
static int find_airs(const struct tfs_mc_section *s, bool airs[TFS_MC_VOXELS],
                     struct tfs_error *err)
{
    struct tfs_cursor items = s->palette.items;
    struct tfs_buf text = {0};

    for (uint32_t i = 0; i < s->palette.count && err->code == 0; i++) {
        tfs_buf_clear(&text);
        if (tfs_mc_state_print(tfs_mc_nbt_take(&items, TFS_MC_NBT_COMPOUND), &text, err) == 0 &&
            tfs_buf_check(&text, err) == 0)
            airs[i] = tfs_mc_state_is_air(tfs_buf_span(&text));
    }
    tfs_buf_release(&text);
    return err->code;
}

static void find_in_section(struct tops *tops, const struct tfs_mc_section *s,
                            const uint32_t *values, const bool *airs)
{
    const bool numbers = s->layout == TFS_MC_NUMBERS;

    for (size_t i = TFS_MC_VOXELS; i-- > 0 && tops->left > 0;) {
        int32_t *top = &tops->ys[i % TFS_MC_LAYER];
        if (*top != NO_TOP || (numbers ? values[i] >> 4 == 0 : airs[values[i]]))
            continue;
        *top = s->y * TFS_MC_SIDE + (int32_t)(i / TFS_MC_LAYER) + 1;
        tops->left--;
    }
}

static int look_into(struct tops *tops, const struct tfs_mc_part *part, struct tfs_error *err)
{
    uint32_t values[TFS_MC_VOXELS];
    bool airs[TFS_MC_VOXELS];
    struct tfs_mc_section s;

    if (tfs_mc_section_open(part->bytes, part->layout, &s, err) < 0 ||
        find_airs(&s, airs, err) < 0 || (tfs_mc_section_is_single(&s) && airs[0]) ||
        tfs_mc_section_values(&s, values, err) < 0)
        return err->code;
    find_in_section(tops, &s, values, airs);
    return 0;
}

static int compare_parts(const void *a, const void *b)
{
    const struct tfs_mc_part *const *left = a, *const *right = b;

    return (*right)->y - (*left)->y;
}

/* From above. */
static int find_tops(const struct tfs_mc_parts *parts, struct tops *tops, struct tfs_error *err)
{
    const struct tfs_mc_part *sorted[TFS_MC_SECTIONS];

    tops->left = TFS_MC_LAYER;
    for (size_t i = 0; i < TFS_MC_LAYER; i++)
        tops->ys[i] = NO_TOP;
    for (size_t i = 0; i < parts->count; i++)
        sorted[i] = &parts->parts[i];
    qsort(sorted, parts->count, sizeof(*sorted), compare_parts);
    for (size_t i = 0; i < parts->count && tops->left > 0; i++)
        if (look_into(tops, sorted[i], err) < 0)
            return err->code;
    return 0;
}

/* ---- blocks that changed --------------------------------------------------------------------- */

/* The state or number of each block, as bytes to compare. */
struct states {
    struct tfs_span entries[TFS_MC_VOXELS]; /* of the palette; not of numbers */
    uint32_t values[TFS_MC_VOXELS];
};

static int take_states(const struct tfs_mc_part *part, struct states *states, struct tfs_error *err)
{
    struct tfs_mc_section s;

    if (tfs_mc_section_open(part->bytes, part->layout, &s, err) < 0 ||
        tfs_mc_section_values(&s, states->values, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < s.palette.count; i++)
        states->entries[i] = tfs_mc_nbt_take(&s.palette.items, TFS_MC_NBT_COMPOUND);
    return 0;
}

static bool same_state(const struct states *a, const struct states *b, bool numbers, size_t i)
{
    const uint32_t was = a->values[i], is = b->values[i];

    return numbers ? was == is : tfs_span_equal(a->entries[was], b->entries[is]);
}

/* Raises the ends of stacks above the highest block in each that another one has taken. */
static int find_ends(const struct tfs_mc_part *before, const struct tfs_mc_part *after,
                     struct tops *ends, struct tfs_error *err)
{
    struct states *was = calloc(2, sizeof(*was)), *is = was + 1;

    if (was == NULL)
        return tfs_fail_memory(err);
    if (take_states(before, was, err) == 0 && take_states(after, is, err) == 0)
        for (size_t i = 0; i < TFS_MC_VOXELS; i++) {
            int32_t *end = &ends->ys[i % TFS_MC_LAYER];
            const int32_t y = after->y * TFS_MC_SIDE + (int32_t)(i / TFS_MC_LAYER) + 1;
            if (*end < y && !same_state(was, is, after->layout == TFS_MC_NUMBERS, i))
                *end = y;
        }
    free(was);
    return err->code;
}

static bool same_blocks(const struct tfs_mc_part *a, const struct tfs_mc_part *b)
{
    struct tfs_mc_section s, t;
    struct tfs_error ignored = {0};

    return tfs_span_equal(a->bytes, b->bytes) ||
           (tfs_mc_section_open(a->bytes, a->layout, &s, &ignored) == 0 &&
            tfs_mc_section_open(b->bytes, b->layout, &t, &ignored) == 0 &&
            tfs_mc_section_same_blocks(&s, &t));
}

/* EBADMSG: a section that changed is damaged, or was not there. */
static int find_changes(const struct tfs_mc_parts *before, const struct tfs_mc_parts *after,
                        struct tops *ends, bool *changed, struct tfs_error *err)
{
    *changed = false;
    for (size_t i = 0; i < TFS_MC_LAYER; i++)
        ends->ys[i] = NO_TOP;
    for (size_t i = 0; i < after->count && err->code == 0; i++) {
        const struct tfs_mc_part *is = &after->parts[i], *was = tfs_mc_part_at(before, is->y);
        if (was != NULL && same_blocks(was, is))
            continue;
        *changed = true;
        if (was == NULL || was->layout != is->layout)
            tfs_fail(err, -EBADMSG, "section %d is another one", is->y);
        else
            find_ends(was, is, ends, err);
    }
    return err->code;
}

/* ---- heightmaps ------------------------------------------------------------------------------ */

/* What heightmaps become from: stacks before and after, the ends of what changed in them. */
struct change {
    struct tops was, is, ends;
    bool known;     /* all of these; else a section is damaged */
    bool placed;    /* `bottom` is known */
    int64_t bottom; /* of the world: heights of 0 */
    bool straddled;
};

static bool same_tops(const struct change *c)
{
    return memcmp(c->was.ys, c->is.ys, sizeof(c->was.ys)) == 0;
}

/* The heights that a map has; false: it is none. */
static bool take_map(struct tfs_span longs, bool straddled, uint32_t values[TFS_MC_LAYER],
                     unsigned *bits)
{
    const struct tfs_mc_packing packing = {TFS_MC_LAYER, straddled};

    *bits = tfs_mc_packed_bits(packing, longs.size, 1);
    if (*bits > 0)
        tfs_mc_unpack(packing, *bits, longs.data, values);
    return *bits > 0;
}

/* Before 1.18 no column says its bottom: it is where WORLD_SURFACE says it of every stack. */
static void find_bottom(struct change *c, struct tfs_span maps)
{
    struct tfs_cursor cursor = tfs_cursor_init(maps);
    struct tfs_mc_nbt_tag tag;
    uint32_t values[TFS_MC_LAYER];
    unsigned bits;
    bool agreed = true;

    while (tfs_mc_nbt_next(&cursor, &tag)) {
        if (!tfs_mc_nbt_is(&tag, "WORLD_SURFACE", TFS_MC_NBT_LONGS) ||
            !take_map(tfs_mc_nbt_array(tag.payload), c->straddled, values, &bits))
            continue;
        for (size_t i = 0; i < TFS_MC_LAYER; i++) {
            const int64_t bottom = (int64_t)c->was.ys[i] - values[i];
            if (c->was.ys[i] == NO_TOP)
                continue;
            agreed = agreed && (!c->placed || bottom == c->bottom);
            c->placed = true;
            c->bottom = bottom;
        }
    }
    c->placed = c->placed && agreed;
}

/* The values of WORLD_SURFACE in longs like those that are stored; false: they do not fit. */
static bool put_surface(const struct change *c, struct tfs_span longs, struct tfs_buf *out)
{
    const struct tfs_mc_packing packing = {TFS_MC_LAYER, c->straddled};
    const unsigned bits = tfs_mc_packed_bits(packing, longs.size, 1);
    uint32_t values[TFS_MC_LAYER];

    for (size_t i = 0; i < TFS_MC_LAYER; i++) {
        const int64_t height = c->is.ys[i] == NO_TOP ? 0 : c->is.ys[i] - c->bottom;
        if (height < 0 || bits == 0 || height >= INT64_C(1) << bits)
            return false;
        values[i] = (uint32_t)height;
    }
    tfs_mc_pack(packing, bits, values, out);
    return true;
}

static bool is_of_blocks(const struct tfs_mc_nbt_tag *tag)
{
    return tfs_mc_nbt_is(tag, "MOTION_BLOCKING", TFS_MC_NBT_LONGS) ||
           tfs_mc_nbt_is(tag, "MOTION_BLOCKING_NO_LEAVES", TFS_MC_NBT_LONGS) ||
           tfs_mc_nbt_is(tag, "OCEAN_FLOOR", TFS_MC_NBT_LONGS);
}

/* Has no block changed from the top that the map has of a stack on? */
static bool is_unreached(const struct change *c, struct tfs_span longs)
{
    uint32_t values[TFS_MC_LAYER];
    unsigned bits;

    if (!c->placed || !take_map(longs, c->straddled, values, &bits))
        return false;
    for (size_t i = 0; i < TFS_MC_LAYER; i++)
        if (c->ends.ys[i] != NO_TOP && c->ends.ys[i] - c->bottom >= values[i])
            return false;
    return true;
}

/* A map that nobody can tell goes. */
static void put_heightmaps(const struct change *c, struct tfs_span stored, struct tfs_buf *out)
{
    struct tfs_cursor cursor = tfs_cursor_init(stored);
    struct tfs_mc_nbt_tag tag;

    while (tfs_mc_nbt_next(&cursor, &tag)) {
        const bool surface = tfs_mc_nbt_is(&tag, "WORLD_SURFACE", TFS_MC_NBT_LONGS);
        const size_t begin = out->size;
        bool stays = !surface && !is_of_blocks(&tag);
        if (c->known && !stays)
            stays = surface ? same_tops(c) : is_unreached(c, tfs_mc_nbt_array(tag.payload));
        if (stays) {
            tfs_buf_add_span(out, tag.whole);
        } else if (surface && c->known && c->placed) {
            tfs_buf_add(out, tag.whole.data, tag.whole.size - tag.payload.size + 4);
            if (!put_surface(c, tfs_mc_nbt_array(tag.payload), out))
                tfs_buf_resize(out, begin);
        }
    }
    tfs_buf_u8(out, TFS_MC_NBT_END);
}

/* Up to 1.12: of other stacks it is the game's, which means what stops light. 0: unknown. */
static void put_height_map(const struct change *c, struct tfs_span stored, struct tfs_buf *out)
{
    struct tfs_cursor cursor = tfs_cursor_init(stored);
    const uint32_t count = tfs_take_u32be(&cursor);

    tfs_buf_u32be(out, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = tfs_take_u32be(&cursor);
        const bool same = c->known && (i >= TFS_MC_LAYER || c->was.ys[i] == c->is.ys[i]);
        const int32_t top = c->known && i < TFS_MC_LAYER && c->is.ys[i] != NO_TOP ? c->is.ys[i] : 0;
        tfs_buf_u32be(out, same ? value : (uint32_t)top);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int find_change(struct change *c, const struct tfs_mc_parts *before,
                       const struct tfs_mc_parts *after, const struct tfs_mc_column *column,
                       bool *changed, struct tfs_error *err)
{
    const enum tfs_mc_layout layout = after->count > 0 ? after->parts[0].layout : TFS_MC_NUMBERS;
    struct tfs_error why = {0};

    *c = (struct change){.straddled = layout == TFS_MC_STRADDLED,
                         .placed = layout == TFS_MC_STATES,
                         .bottom = (int64_t)column->bottom * TFS_MC_SIDE};
    c->known = find_changes(before, after, &c->ends, changed, &why) == 0 &&
               (!*changed ||
                (find_tops(before, &c->was, &why) == 0 && find_tops(after, &c->is, &why) == 0));
    return why.code == -ENOMEM ? tfs_fail_memory(err) : 0;
}

int tfs_mc_follow(const struct tfs_mc_parts *before, const struct tfs_mc_parts *after,
                  const struct tfs_mc_column *column, struct tfs_mc_follows *follows,
                  struct tfs_buf *room, struct tfs_error *err)
{
    struct tfs_span *maps = &follows->payloads[TFS_MC_HEIGHTMAPS];
    struct tfs_span *map = &follows->payloads[TFS_MC_HEIGHT_MAP];
    struct change c;
    bool changed;

    if (find_change(&c, before, after, column, &changed, err) < 0 || !changed)
        return err->code;
    for (unsigned i = TFS_MC_LIGHT_ON; i < TFS_MC_DERIVED; i++)
        follows->payloads[i] = (struct tfs_span){0};
    if (maps->data != NULL && c.known && !c.placed)
        find_bottom(&c, *maps);
    if (maps->data != NULL)
        put_heightmaps(&c, *maps, room);
    const size_t end = room->size;
    if (map->data != NULL)
        put_height_map(&c, *map, room);
    if (tfs_buf_check(room, err) < 0)
        return err->code;
    *maps = maps->data != NULL ? (struct tfs_span){room->data, end} : *maps;
    *map = map->data != NULL ? (struct tfs_span){room->data + end, room->size - end} : *map;
    return 0;
}
