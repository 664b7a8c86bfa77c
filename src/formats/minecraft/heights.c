/*
 * Blocks -> the highest of each stack, and the tags that say so.
 *
 * Must not know regions. WORLD_SURFACE is exact: it depends on air alone. The other heightmaps
 * depend on what no save says of a block; the game makes them again where they are absent.
 */
#include "formats/minecraft/heights.h"

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

/* ---- heightmaps ------------------------------------------------------------------------------ */

/* The values of WORLD_SURFACE in longs like those that are stored; false: they do not fit. */
static bool put_surface(const struct tops *tops, struct tfs_span longs, int32_t bottom,
                        bool straddled, struct tfs_buf *out)
{
    const struct tfs_mc_packing packing = {TFS_MC_LAYER, straddled};
    const unsigned bits = tfs_mc_packed_bits(packing, longs.size, 1);
    uint32_t values[TFS_MC_LAYER];

    for (size_t i = 0; i < TFS_MC_LAYER; i++) {
        const int32_t height = tops->ys[i] == NO_TOP ? 0 : tops->ys[i] - bottom;
        if (height < 0 || bits == 0 || (int64_t)height >= INT64_C(1) << bits)
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

static void put_heightmaps(const struct tops *tops, struct tfs_span stored, int32_t bottom,
                           bool straddled, struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(stored);
    struct tfs_mc_nbt_tag tag;

    while (tfs_mc_nbt_next(&c, &tag)) {
        const size_t begin = out->size;
        if (!tfs_mc_nbt_is(&tag, "WORLD_SURFACE", TFS_MC_NBT_LONGS)) {
            if (!is_of_blocks(&tag))
                tfs_buf_add_span(out, tag.whole);
            continue;
        }
        tfs_buf_add(out, tag.whole.data, tag.whole.size - tag.payload.size + 4);
        if (!put_surface(tops, tfs_mc_nbt_array(tag.payload), bottom, straddled, out))
            tfs_buf_resize(out, begin);
    }
    tfs_buf_u8(out, TFS_MC_NBT_END);
}

/* Up to 1.12: of other stacks it is the game's, which means what stops light. */
static void put_height_map(const struct tops *before, const struct tops *after,
                           struct tfs_span stored, struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(stored);
    const uint32_t count = tfs_take_u32be(&c);

    tfs_buf_u32be(out, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = tfs_take_u32be(&c);
        const bool changed = i < TFS_MC_LAYER && before->ys[i] != after->ys[i];
        const int32_t top = changed && after->ys[i] != NO_TOP ? after->ys[i] : 0;
        tfs_buf_u32be(out, changed ? (uint32_t)top : value);
    }
}

static int32_t bottom_of(const struct tfs_mc_column *column, const struct tfs_mc_parts *parts)
{
    const bool states = parts->count > 0 && parts->parts[0].layout == TFS_MC_STATES;

    return states ? column->bottom * TFS_MC_SIDE : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool same_blocks(const struct tfs_mc_part *a, const struct tfs_mc_part *b)
{
    struct tfs_mc_section s, t;
    struct tfs_error ignored = {0};

    return a->y == b->y && (tfs_span_equal(a->bytes, b->bytes) ||
                            (tfs_mc_section_open(a->bytes, a->layout, &s, &ignored) == 0 &&
                             tfs_mc_section_open(b->bytes, b->layout, &t, &ignored) == 0 &&
                             tfs_mc_section_same_blocks(&s, &t)));
}

static bool same_parts(const struct tfs_mc_parts *a, const struct tfs_mc_parts *b)
{
    size_t i = 0;

    while (i < a->count && i < b->count && same_blocks(&a->parts[i], &b->parts[i]))
        i++;
    return i == a->count && i == b->count;
}

int tfs_mc_follow(const struct tfs_mc_parts *before, const struct tfs_mc_parts *after,
                  const struct tfs_mc_column *column, struct tfs_mc_follows *follows,
                  struct tfs_buf *room, struct tfs_error *err)
{
    struct tfs_span *maps = &follows->payloads[TFS_MC_HEIGHTMAPS];
    struct tfs_span *map = &follows->payloads[TFS_MC_HEIGHT_MAP];
    const bool straddled = after->count > 0 && after->parts[0].layout == TFS_MC_STRADDLED;
    struct tops was, is;

    if (same_parts(before, after))
        return 0;
    for (unsigned i = TFS_MC_LIGHT_ON; i < TFS_MC_DERIVED; i++)
        follows->payloads[i] = (struct tfs_span){0};
    if (find_tops(before, &was, err) < 0 || find_tops(after, &is, err) < 0)
        return err->code;
    if (memcmp(was.ys, is.ys, sizeof(was.ys)) == 0)
        return 0;
    if (maps->data != NULL)
        put_heightmaps(&is, *maps, bottom_of(column, after), straddled, room);
    const size_t end = room->size;
    if (map->data != NULL)
        put_height_map(&was, &is, *map, room);
    if (tfs_buf_check(room, err) < 0)
        return err->code;
    *maps = maps->data != NULL ? (struct tfs_span){room->data, end} : *maps;
    *map = map->data != NULL ? (struct tfs_span){room->data + end, room->size - end} : *map;
    return 0;
}
