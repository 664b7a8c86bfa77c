/*
 * The NBT of a column, copied tag by tag; what sections and derived tags become is the difference
 * between taking it apart and putting it together.
 *
 * Must not know what a section holds.
 */
#include "formats/minecraft/column.h"

#include <errno.h>
#include <string.h>

#define VERSION_ALIGNED 2529 /* the first whose values do not cross from one long to the next */

/* A walk through a column: what is copied goes to `out`. */
struct walk {
    struct tfs_mc_column *column;
    struct tfs_mc_parts *parts;
    struct tfs_mc_follows *follows;
    bool joins;                 /* else it takes apart */
    bool seen[TFS_MC_SECTIONS]; /* heights of sections */
    size_t used;                /* parts that found their place */
    struct tfs_buf *out;
    struct tfs_error *err;
};

static int fail_nbt(struct walk *w)
{
    return tfs_fail(w->err, -EBADMSG, "its NBT is damaged");
}

/* ---- what follows from blocks ---------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t type;
    uint8_t size; /* of zeros: what the rest has in its place */
} derived[TFS_MC_DERIVED] = {
    [TFS_MC_HEIGHTMAPS] = {"Heightmaps", TFS_MC_NBT_COMPOUND, 1},
    [TFS_MC_HEIGHT_MAP] = {"HeightMap", TFS_MC_NBT_INTS, 4},
    [TFS_MC_LIGHT_ON] = {"isLightOn", TFS_MC_NBT_BYTE, 1},
    [TFS_MC_LIGHTED] = {"LightPopulated", TFS_MC_NBT_BYTE, 1},
    [TFS_MC_LIGHT_SERVER] = {"starlight.light_version", TFS_MC_NBT_INT, 4},
};

static bool is_derived(const struct tfs_mc_nbt_tag *tag, unsigned *which)
{
    for (*which = 0; *which < TFS_MC_DERIVED; ++*which)
        if (tfs_mc_nbt_is(tag, derived[*which].name, derived[*which].type))
            return true;
    return false;
}

static void put_derived(struct walk *w, const struct tfs_mc_nbt_tag *tag, unsigned which)
{
    static const uint8_t zeros[4];
    struct tfs_span *payload = &w->follows->payloads[which];

    tfs_mc_nbt_put_head(w->out, tag->type, tag->name);
    if (!w->joins && payload->data != NULL)
        fail_nbt(w);
    if (!w->joins)
        *payload = tag->payload;
    if (w->joins && payload->data != NULL)
        tfs_buf_add_span(w->out, *payload);
    else
        tfs_buf_add(w->out, zeros, derived[which].size);
}

/* ---- sections -------------------------------------------------------------------------------- */

/* What is seen of a section without looking into it. */
struct look {
    bool placed; /* it says its height */
    int8_t y;
    bool numbers, palette, states, paletted;
    size_t tags;
};

static bool look_at(struct tfs_span section, struct look *look)
{
    struct tfs_cursor c = tfs_cursor_init(section);
    struct tfs_mc_nbt_tag tag;

    for (*look = (struct look){0}; tfs_mc_nbt_next(&c, &tag); look->tags++) {
        if (tfs_mc_nbt_is(&tag, "Y", TFS_MC_NBT_BYTE)) {
            look->placed = true;
            look->y = (int8_t)tfs_mc_nbt_number(&tag);
        }
        look->numbers = look->numbers || tfs_mc_nbt_is(&tag, "Blocks", TFS_MC_NBT_BYTES);
        look->palette = look->palette || tfs_mc_nbt_is(&tag, "Palette", TFS_MC_NBT_LIST);
        look->states = look->states || tfs_mc_nbt_is(&tag, "BlockStates", TFS_MC_NBT_LONGS);
        look->paletted = look->paletted || tfs_mc_nbt_is(&tag, "block_states", TFS_MC_NBT_COMPOUND);
    }
    return !c.failed;
}

static bool has_blocks(const struct look *look)
{
    return look->placed && (look->paletted || look->numbers || (look->palette && look->states));
}

static enum tfs_mc_layout layout_of(const struct walk *w, const struct look *look)
{
    if (look->paletted)
        return TFS_MC_STATES;
    if (look->numbers)
        return TFS_MC_NUMBERS;
    return w->column->version < VERSION_ALIGNED ? TFS_MC_STRADDLED : TFS_MC_ALIGNED;
}

static void put_stub(struct walk *w, int8_t y)
{
    tfs_mc_nbt_put_head(w->out, TFS_MC_NBT_BYTE, tfs_span_of("Y"));
    tfs_buf_u8(w->out, (uint8_t)y);
    tfs_buf_u8(w->out, TFS_MC_NBT_END);
}

const struct tfs_mc_part *tfs_mc_part_at(const struct tfs_mc_parts *parts, int8_t y)
{
    for (size_t i = 0; i < parts->count; i++)
        if (parts->parts[i].y == y)
            return &parts->parts[i];
    return NULL;
}

/* The part that belongs into the place of a stub; NULL: none. */
static const struct tfs_mc_part *part_of(const struct walk *w, const struct look *look)
{
    return look->placed && look->tags == 1 ? tfs_mc_part_at(w->parts, look->y) : NULL;
}

static void take_part(struct walk *w, const struct look *look, struct tfs_span section)
{
    w->parts->parts[w->parts->count++] = (struct tfs_mc_part){look->y, layout_of(w, look), section};
    put_stub(w, look->y);
}

static int walk_section(struct walk *w, struct tfs_span section)
{
    struct look look;

    if (!look_at(section, &look))
        return fail_nbt(w);
    const uint8_t place = (uint8_t)look.y;
    if (look.placed && w->seen[place])
        return tfs_fail(w->err, -EBADMSG, "it has section %d twice", look.y);
    w->seen[place] = w->seen[place] || look.placed;
    const struct tfs_mc_part *part = w->joins ? part_of(w, &look) : NULL;
    w->used += part != NULL;
    if (!w->joins && has_blocks(&look))
        take_part(w, &look, section);
    else
        tfs_buf_add_span(w->out, part != NULL ? part->bytes : section);
    return 0;
}

static int walk_sections(struct walk *w, const struct tfs_mc_nbt_tag *tag)
{
    struct tfs_mc_nbt_list list = tfs_mc_nbt_list(tag->payload);

    tfs_buf_add(w->out, tag->whole.data, tag->whole.size - tag->payload.size + 5);
    for (uint32_t i = 0; i < list.count && w->err->code == 0; i++)
        walk_section(w, tfs_mc_nbt_take(&list.items, list.type));
    return w->err->code;
}

/* ---- the column ------------------------------------------------------------------------------ */

static bool is_sections(const struct tfs_mc_nbt_tag *tag, bool level)
{
    return tfs_mc_nbt_is(tag, level ? "Sections" : "sections", TFS_MC_NBT_LIST) &&
           tag->payload.data[0] == TFS_MC_NBT_COMPOUND;
}

static void note(struct tfs_mc_column *column, const struct tfs_mc_nbt_tag *tag)
{
    if (tfs_mc_nbt_is(tag, "DataVersion", TFS_MC_NBT_INT))
        column->version = (int32_t)tfs_mc_nbt_number(tag);
    else if (tfs_mc_nbt_is(tag, "xPos", TFS_MC_NBT_INT))
        column->x = (int32_t)tfs_mc_nbt_number(tag);
    else if (tfs_mc_nbt_is(tag, "zPos", TFS_MC_NBT_INT))
        column->z = (int32_t)tfs_mc_nbt_number(tag);
    else if (tfs_mc_nbt_is(tag, "yPos", TFS_MC_NBT_INT))
        column->bottom = (int32_t)tfs_mc_nbt_number(tag);
    else if (tfs_mc_nbt_is(tag, "Status", TFS_MC_NBT_STRING))
        column->status = tfs_mc_nbt_string(tag->payload);
    column->placed = column->placed || tfs_mc_nbt_is(tag, "zPos", TFS_MC_NBT_INT);
}

/* The version may stand behind the sections that it is needed for. `level` as below: each level
 * more would walk over all that is in it once more. */
static void note_all(struct tfs_mc_column *column, struct tfs_span compound, bool level)
{
    struct tfs_cursor c = tfs_cursor_init(compound);
    struct tfs_mc_nbt_tag tag;

    while (tfs_mc_nbt_next(&c, &tag)) {
        note(column, &tag);
        if (!level && tfs_mc_nbt_is(&tag, "Level", TFS_MC_NBT_COMPOUND))
            note_all(column, tag.payload, true);
    }
}

/* `level`: the compound below the root, which columns have to 1.17. */
static int walk_compound(struct walk *w, struct tfs_span compound, bool level)
{
    struct tfs_cursor c = tfs_cursor_init(compound);
    struct tfs_mc_nbt_tag tag;
    unsigned which;

    while (w->err->code == 0 && tfs_mc_nbt_next(&c, &tag)) {
        if (is_sections(&tag, level)) {
            walk_sections(w, &tag);
        } else if (!level && tfs_mc_nbt_is(&tag, "Level", TFS_MC_NBT_COMPOUND)) {
            tfs_mc_nbt_put_head(w->out, tag.type, tag.name);
            walk_compound(w, tag.payload, true);
        } else if (is_derived(&tag, &which)) {
            put_derived(w, &tag, which);
        } else {
            tfs_buf_add_span(w->out, tag.whole);
        }
    }
    if (c.failed || tfs_cursor_left(&c) > 0)
        return fail_nbt(w);
    tfs_buf_u8(w->out, TFS_MC_NBT_END);
    return w->err->code;
}

static int walk_root(struct walk *w, struct tfs_span nbt)
{
    struct tfs_cursor c = tfs_cursor_init(nbt);
    const uint8_t type = tfs_take_u8(&c);
    const struct tfs_span name = tfs_take(&c, tfs_take_u16be(&c));

    if (c.failed || type != TFS_MC_NBT_COMPOUND)
        return fail_nbt(w);
    const struct tfs_span compound = {c.at, tfs_cursor_left(&c)};
    if (tfs_mc_nbt_take(&c, type).size != compound.size || c.failed)
        return fail_nbt(w);
    note_all(w->column, compound, false);
    tfs_mc_nbt_put_head(w->out, type, name);
    return walk_compound(w, compound, false) < 0 ? w->err->code : tfs_buf_check(w->out, w->err);
}

int tfs_mc_column_split(struct tfs_span nbt, struct tfs_buf *rest, struct tfs_mc_parts *parts,
                        struct tfs_mc_follows *follows, struct tfs_mc_column *column,
                        struct tfs_error *err)
{
    struct walk w = {.column = column, .parts = parts, .follows = follows, .out = rest, .err = err};

    *column = (struct tfs_mc_column){0};
    *follows = (struct tfs_mc_follows){0};
    parts->count = 0;
    return walk_root(&w, nbt);
}

int tfs_mc_column_join(struct tfs_span rest, struct tfs_mc_parts *parts,
                       struct tfs_mc_follows *follows, struct tfs_buf *nbt, struct tfs_error *err)
{
    struct tfs_mc_column column = {0};
    struct walk w = {.column = &column,
                     .parts = parts,
                     .follows = follows,
                     .joins = true,
                     .out = nbt,
                     .err = err};

    if (walk_root(&w, rest) == 0 && w.used < parts->count)
        tfs_fail(err, -EBADMSG, "a section has no place in its column");
    return err->code;
}

int tfs_mc_rest_check(struct tfs_span rest, int32_t x, int32_t z, struct tfs_mc_column *column,
                      struct tfs_error *err)
{
    struct tfs_mc_follows follows;
    struct tfs_mc_parts parts;
    struct tfs_buf again = {0};

    if (tfs_mc_column_split(rest, &again, &parts, &follows, column, err) == 0) {
        if (column->placed && (column->x != x || column->z != z))
            tfs_fail(err, -EBADMSG, "it is column %d_%d by what it says", column->x, column->z);
        else if (parts.count > 0)
            tfs_fail(err, -EBADMSG, "section %d has blocks, which are in chunks/",
                     parts.parts[0].y);
        else if (!tfs_span_equal(tfs_buf_span(&again), rest))
            tfs_fail(err, -EBADMSG,
                     "heightmaps and marks of light follow from the blocks: here "
                     "they are empty");
    }
    tfs_buf_release(&again);
    return err->code;
}

bool tfs_mc_is_finished(const struct tfs_mc_column *column)
{
    static const char *const finished[] = {"full", "minecraft:full", "fullchunk", "postprocessed"};

    for (size_t i = 0; i < sizeof(finished) / sizeof(*finished); i++)
        if (tfs_span_equal(column->status, tfs_span_of(finished[i])))
            return true;
    return column->status.size == 0;
}
