/*
 * A section <-> cells; changed cells -> a section as the game writes it (FORMAT.md, section 5).
 *
 * Must not know what files show, nor where a section lies.
 */
#include "formats/minecraft/cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/minecraft/column_write.h"
#include "formats/minecraft/state.h"
#include "text/decimal.h"

enum { BLOCK = TFS_MC_PLANE_BLOCK, SKY, LIGHT };

#define NUMBERS   65536 /* values of a block that is a number */
#define NONE      UINT32_MAX
#define AIR_STATE "minecraft:air"

static const struct tfs_mc_section *section_of(const struct tfs_cells *cells)
{
    return cells->own;
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* The texts of the palette, one behind the other. */
static int take_palette(struct tfs_cells *cells, const struct tfs_mc_section *s,
                        struct tfs_buf *texts, size_t *ends, struct tfs_error *err)
{
    struct tfs_cursor items = s->palette.items;

    for (uint32_t i = 0; i < s->palette.count; i++) {
        if (tfs_mc_state_print(tfs_mc_nbt_take(&items, TFS_MC_NBT_COMPOUND), texts, err) < 0)
            return err->code;
        ends[i] = texts->size;
    }
    cells->name_count = s->palette.count;
    return tfs_buf_check(texts, err);
}

/* "ID:DATA" of each number that a block has, by first appearance; `values` become entries. */
static int take_numbers(struct tfs_cells *cells, uint32_t *values, struct tfs_buf *texts,
                        size_t *ends, struct tfs_error *err)
{
    uint16_t *entries = calloc(NUMBERS, sizeof(*entries)); /* + 1 */

    if (entries == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < TFS_MC_VOXELS; i++) {
        const uint32_t number = values[i];
        if (entries[number] == 0) {
            tfs_buf_printf(texts, "%u:%u", number >> 4, number & 0xf);
            ends[cells->name_count++] = texts->size;
            entries[number] = (uint16_t)cells->name_count;
        }
        values[i] = entries[number] - 1u;
    }
    free(entries);
    return tfs_buf_check(texts, err);
}

static int keep_names(struct tfs_cells *cells, const struct tfs_buf *texts, const size_t *ends,
                      struct tfs_error *err)
{
    uint8_t *bytes = tfs_cells_alloc(cells, texts->size + 1, err);

    cells->names = tfs_cells_alloc(cells, (cells->name_count + 1) * sizeof(*cells->names), err);
    if (bytes == NULL || cells->names == NULL)
        return err->code;
    if (texts->size > 0)
        memcpy(bytes, texts->data, texts->size);
    for (uint32_t i = 0; i < cells->name_count; i++) {
        const size_t begin = i == 0 ? 0 : ends[i - 1];
        cells->names[i] = (struct tfs_span){bytes + begin, ends[i] - begin};
    }
    return 0;
}

static int decode_blocks(struct tfs_cells *cells, const struct tfs_mc_section *s, bool wanted,
                         struct tfs_error *err)
{
    struct tfs_cells_plane *plane = &cells->planes[BLOCK];
    size_t ends[TFS_MC_VOXELS];
    struct tfs_buf texts = {0};
    const bool numbers = s->layout == TFS_MC_NUMBERS;

    plane->filled = tfs_mc_section_is_single(s);
    if (wanted || numbers || plane->filled)
        plane->values =
            tfs_cells_alloc(cells, (plane->filled ? 1 : TFS_MC_VOXELS) * sizeof(uint32_t), err);
    if (plane->filled && plane->values != NULL)
        *(uint32_t *)plane->values = 0;
    else if (plane->values != NULL)
        tfs_mc_section_values(s, plane->values, err);
    if (err->code == 0 && (numbers ? take_numbers(cells, plane->values, &texts, ends, err)
                                   : take_palette(cells, s, &texts, ends, err)) == 0)
        keep_names(cells, &texts, ends, err);
    tfs_buf_release(&texts);
    return err->code;
}

static int decode_light(struct tfs_cells *cells, unsigned number, struct tfs_span light,
                        struct tfs_error *err)
{
    uint8_t *values = light.data == NULL ? NULL : tfs_cells_alloc(cells, TFS_MC_VOXELS, err);

    if (values == NULL)
        return err->code;
    for (size_t i = 0; i < TFS_MC_LIGHTS; i++) {
        values[2 * i] = light.data[i] & 0xf;
        values[2 * i + 1] = light.data[i] >> 4;
    }
    cells->planes[number].values = values;
    return 0;
}

/* The rest of a column has no voxels. */
static int decode_rest(struct tfs_cells *cells, struct tfs_error *err)
{
    struct tfs_mc_column column;
    const struct tfs_key key = cells->chunk.key;

    cells->size = (struct tfs_voxel_size){0};
    return tfs_mc_rest_check(tfs_blob_span(cells->stored), key.x, key.z, &column, err);
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    struct tfs_mc_section *s;

    if (cells->chunk.key.group != 0)
        return decode_rest(cells, err);
    cells->size = (struct tfs_voxel_size){TFS_MC_SIDE, TFS_MC_SIDE, TFS_MC_SIDE};
    if (tfs_mc_layout_of(&cells->chunk) == TFS_MC_NUMBERS)
        cells->air = tfs_span_of("0:0");
    s = cells->own = tfs_cells_alloc(cells, sizeof(*s), err);
    if (s == NULL || tfs_mc_section_open(tfs_blob_span(cells->stored),
                                         tfs_mc_layout_of(&cells->chunk), s, err) < 0)
        return err->code;
    if (s->y != cells->chunk.key.y)
        return tfs_fail(err, -EBADMSG, "it is section %d by what it says", s->y);
    if (decode_blocks(cells, s, (wanted & 1u << BLOCK) != 0, err) == 0 &&
        ((wanted & 1u << SKY) == 0 || decode_light(cells, SKY, s->sky, err) == 0) &&
        (wanted & 1u << LIGHT) != 0)
        decode_light(cells, LIGHT, s->light, err);
    return err->code;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* What the blocks of the section to be are: states, or numbers. */
struct blocks {
    struct tfs_words states; /* entries of its palette */
    uint32_t *of_words;      /* states or numbers by words of names; NONE: not looked at */
    uint32_t values[TFS_MC_VOXELS];
    uint32_t high;
};

/* The stored entry of a state that the section had: also where its text has another order. */
static bool find_stored(const struct tfs_cells *before, struct tfs_span text,
                        struct tfs_span *entry)
{
    struct tfs_cursor items = section_of(before)->palette.items;

    for (int exactly = 1; exactly >= 0; exactly--) {
        items = section_of(before)->palette.items;
        for (uint32_t i = 0; i < before->name_count; i++) {
            *entry = tfs_mc_nbt_take(&items, TFS_MC_NBT_COMPOUND);
            if (exactly ? tfs_span_equal(before->names[i], text)
                        : tfs_mc_state_same(before->names[i], text))
                return true;
        }
    }
    return false;
}

static int add_state(struct blocks *b, const struct tfs_cells *before, struct tfs_span text,
                     uint32_t *number, struct tfs_error *err)
{
    struct tfs_buf made = {0};
    struct tfs_span entry;

    if (!find_stored(before, text, &entry)) {
        if (tfs_mc_state_parse(text, &made, err) == 0)
            tfs_buf_check(&made, err);
        entry = tfs_buf_span(&made);
    }
    if (err->code == 0)
        tfs_words_add(&b->states, entry, number, err);
    tfs_buf_release(&made);
    return err->code;
}

static int take_number(struct tfs_span text, uint32_t *number, struct tfs_error *err)
{
    char copy[16] = "";
    const char *at = copy;
    int64_t id, data;

    if (text.size < sizeof(copy))
        memcpy(copy, text.data, text.size);
    if (!tfs_decimal_take(&at, ':', 0, NUMBERS / 16 - 1, &id) ||
        !tfs_decimal_take(&at, '\0', 0, 15, &data))
        return tfs_fail(err, -EBADMSG,
                        "%.*s is no ID:DATA, the numbers that blocks have before 1.13: 17:4",
                        text.size < 100 ? (int)text.size : 100, (const char *)text.data);
    *number = (uint32_t)(id << 4 | data);
    return 0;
}

static int take_word(struct blocks *b, const struct tfs_cells_edit *e, uint32_t word,
                     struct tfs_error *err)
{
    const struct tfs_span text = tfs_words_at(&e->words, word);

    return section_of(e->before)->layout == TFS_MC_NUMBERS
               ? take_number(text, &b->of_words[word], err)
               : add_state(b, e->before, text, &b->of_words[word], err);
}

/* By first appearance; up to 1.17 air is the first, also where there is none. */
static int take_blocks(struct blocks *b, const struct tfs_cells_edit *e, struct tfs_error *err)
{
    const enum tfs_mc_layout layout = section_of(e->before)->layout;
    uint32_t air;

    b->of_words = malloc((e->words.count + (size_t)1) * sizeof(*b->of_words));
    if (b->of_words == NULL)
        return tfs_fail_memory(err);
    memset(b->of_words, 0xff, e->words.count * sizeof(*b->of_words)); /* NONE */
    if ((layout == TFS_MC_STRADDLED || layout == TFS_MC_ALIGNED) &&
        add_state(b, e->before, tfs_span_of(AIR_STATE), &air, err) < 0)
        return err->code;
    for (size_t i = 0; i < TFS_MC_VOXELS; i++) {
        const uint32_t word = tfs_cells_edit_word(e, i);
        if (b->of_words[word] == NONE && take_word(b, e, word, err) < 0)
            return err->code;
        b->values[i] = b->of_words[word];
        b->high = b->values[i] > b->high ? b->values[i] : b->high;
    }
    return 0;
}

static void blocks_release(struct blocks *b)
{
    tfs_words_release(&b->states);
    free(b->of_words);
}

/* ---- writing tags ---------------------------------------------------------------------------- */

static void put_palette(const struct blocks *b, const char *name, struct tfs_buf *out)
{
    tfs_mc_nbt_put_head(out, TFS_MC_NBT_LIST, tfs_span_of(name));
    tfs_buf_u8(out, TFS_MC_NBT_COMPOUND);
    tfs_buf_u32be(out, b->states.count);
    for (uint32_t i = 0; i < b->states.count; i++)
        tfs_buf_add_span(out, tfs_words_at(&b->states, i));
}

static void put_longs(const struct blocks *b, enum tfs_mc_layout layout, const char *name,
                      struct tfs_buf *out)
{
    const struct tfs_mc_packing packing = tfs_mc_block_packing(layout);
    const unsigned bits = tfs_mc_block_bits(b->states.count);

    tfs_mc_nbt_put_head(out, TFS_MC_NBT_LONGS, tfs_span_of(name));
    tfs_buf_u32be(out, (uint32_t)(tfs_mc_packed_size(packing, bits) / 8));
    tfs_mc_pack(packing, bits, b->values, out);
}

/* One value of each block, by its place in the bits of a number. */
static void put_numbers(const struct blocks *b, const char *name, unsigned shift, unsigned bits,
                        struct tfs_buf *out)
{
    const size_t each = 8 / bits;
    const uint32_t mask = (1u << bits) - 1;

    tfs_mc_nbt_put_head(out, TFS_MC_NBT_BYTES, tfs_span_of(name));
    tfs_buf_u32be(out, (uint32_t)(TFS_MC_VOXELS / each));
    for (size_t i = 0; i < TFS_MC_VOXELS; i += each) {
        uint32_t byte = b->values[i] >> shift & mask;
        if (each == 2)
            byte |= (b->values[i + 1] >> shift & mask) << 4;
        tfs_buf_u8(out, (uint8_t)byte);
    }
}

/* block_states. One state needs no data; data that the section lacked goes in front of the
 * palette. */
static void put_states(const struct blocks *b, bool had_data, const struct tfs_mc_nbt_tag *tag,
                       struct tfs_buf *out)
{
    struct tfs_cursor c = tfs_cursor_init(tag->payload);
    struct tfs_mc_nbt_tag inner;

    tfs_mc_nbt_put_head(out, tag->type, tag->name);
    while (tfs_mc_nbt_next(&c, &inner)) {
        const bool palette = tfs_mc_nbt_is(&inner, "palette", TFS_MC_NBT_LIST);
        const bool longs = tfs_mc_nbt_is(&inner, "data", TFS_MC_NBT_LONGS);
        if (b->states.count > 1 && (had_data ? longs : palette))
            put_longs(b, TFS_MC_STATES, "data", out);
        if (palette)
            put_palette(b, "palette", out);
        else if (!longs)
            tfs_buf_add_span(out, inner.whole);
    }
    tfs_buf_u8(out, TFS_MC_NBT_END);
}

static void put_light(const struct tfs_cells_edit *e, unsigned plane, const char *name,
                      struct tfs_buf *out)
{
    const uint8_t *values = e->planes[plane].values;

    tfs_mc_nbt_put_head(out, TFS_MC_NBT_BYTES, tfs_span_of(name));
    tfs_buf_u32be(out, TFS_MC_LIGHTS);
    for (size_t i = 0; i < TFS_MC_VOXELS; i += 2)
        tfs_buf_u8(out, (uint8_t)(values[i] | values[i + 1] << 4));
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* A section being written: `b` NULL: its blocks stay. */
struct encoding {
    const struct tfs_cells_edit *e;
    const struct blocks *b;
    bool done[TFS_MC_PLANES]; /* Add, and lights */
    struct tfs_buf *out;
};

static const char *const added[TFS_MC_PLANES] = {"Add", "SkyLight", "BlockLight"};

/* Is the tag to be there, which may be absent? */
static bool is_wanted(const struct encoding *x, unsigned i)
{
    if (i != BLOCK)
        return x->e->planes[i].values != NULL;
    return x->b != NULL && x->b->high >> 12 > 0 &&
           section_of(x->e->before)->layout == TFS_MC_NUMBERS;
}

static void put_added(struct encoding *x, unsigned i)
{
    x->done[i] = true;
    if (!is_wanted(x, i))
        return;
    if (i == BLOCK)
        put_numbers(x->b, added[i], 12, 4, x->out);
    else
        put_light(x->e, i, added[i], x->out);
}

/* Those that the section lacks go where HashMap has them; `tag` is what comes next. */
static void put_before(struct encoding *x, const struct tfs_mc_nbt_tag *tag)
{
    const struct tfs_mc_section *s = section_of(x->e->before);
    const bool had[] = {s->add.data != NULL, s->sky.data != NULL, s->light.data != NULL};

    for (unsigned i = 0; i < TFS_MC_PLANES; i++)
        if (!had[i] && !x->done[i] &&
            (tag == NULL ||
             tfs_mc_nbt_bucket(tag->name) > tfs_mc_nbt_bucket(tfs_span_of(added[i]))))
            put_added(x, i);
}

static bool put_blocks(struct encoding *x, const struct tfs_mc_nbt_tag *tag)
{
    const struct blocks *b = x->b;
    const enum tfs_mc_layout layout = section_of(x->e->before)->layout;

    if (b == NULL)
        return false;
    if (layout == TFS_MC_STATES && tfs_mc_nbt_is(tag, "block_states", TFS_MC_NBT_COMPOUND))
        return put_states(b, section_of(x->e->before)->longs.size > 0, tag, x->out), true;
    if (layout == TFS_MC_NUMBERS && tfs_mc_nbt_is(tag, "Blocks", TFS_MC_NBT_BYTES))
        return put_numbers(b, "Blocks", 4, 8, x->out), true;
    if (layout == TFS_MC_NUMBERS && tfs_mc_nbt_is(tag, "Data", TFS_MC_NBT_BYTES))
        return put_numbers(b, "Data", 0, 4, x->out), true;
    if (layout == TFS_MC_NUMBERS || layout == TFS_MC_STATES)
        return false;
    if (tfs_mc_nbt_is(tag, "Palette", TFS_MC_NBT_LIST))
        return put_palette(b, "Palette", x->out), true;
    if (tfs_mc_nbt_is(tag, "BlockStates", TFS_MC_NBT_LONGS))
        return put_longs(b, layout, "BlockStates", x->out), true;
    return false;
}

/* Add, or a light that the section has: another one, or none. */
static bool put_again(struct encoding *x, const struct tfs_mc_nbt_tag *tag)
{
    for (unsigned i = 0; i < TFS_MC_PLANES; i++) {
        const bool same = i == BLOCK ? x->b == NULL : tfs_cells_edit_same_plane(x->e, i);
        if (tfs_mc_nbt_is(tag, added[i], TFS_MC_NBT_BYTES) && !same)
            return put_added(x, i), true;
    }
    return false;
}

static int encode_section(struct encoding *x, struct tfs_error *err)
{
    struct tfs_cursor c = tfs_cursor_init(tfs_blob_span(x->e->before->stored));
    struct tfs_mc_nbt_tag tag;

    while (tfs_mc_nbt_next(&c, &tag)) {
        put_before(x, &tag);
        if (!put_blocks(x, &tag) && !put_again(x, &tag))
            tfs_buf_add_span(x->out, tag.whole);
    }
    put_before(x, NULL);
    tfs_buf_u8(x->out, TFS_MC_NBT_END);
    return tfs_buf_check(x->out, err);
}

static bool blocks_differ(const struct tfs_cells_edit *e)
{
    for (size_t i = 0; i < TFS_MC_VOXELS; i++)
        if (tfs_cells_edit_word(e, i) != tfs_cells_edit_old_word(e, i))
            return true;
    return false;
}

/* The game goes on generating a column that it did not finish. */
static int check_finished(const struct tfs_cells_edit *e, struct tfs_error *err)
{
    const struct tfs_key key = {TFS_GROUP_COLUMNS, e->before->chunk.key.x, 0,
                                e->before->chunk.key.z};
    const struct tfs_chunk *rest;
    struct tfs_blob *bytes = NULL;
    struct tfs_mc_column column;

    if (tfs_doc_need(tfs_edit_doc(e->edit), key, &rest, err) < 0 ||
        tfs_chunk_load(e->before->save, rest, &bytes, err) < 0)
        return err->code;
    if (tfs_mc_rest_check(tfs_blob_span(bytes), key.x, key.z, &column, err) == 0 &&
        !tfs_mc_is_finished(&column))
        tfs_fail(err, -EROFS,
                 "column %d_%d is not finished (%.*s): the game would generate on, over the edit",
                 key.x, key.z, (int)(column.status.size < 60 ? column.status.size : 60),
                 (const char *)column.status.data);
    tfs_blob_unref(bytes);
    return err->code;
}

static int put_section(struct tfs_cells_edit *e, struct tfs_span bytes, struct tfs_error *err)
{
    const struct tfs_chunk *chunk = &e->before->chunk;

    if (tfs_edit_put_bytes(e->edit, *chunk, bytes, err) < 0)
        return err->code;
    return tfs_mc_column_check(e->before->save, tfs_edit_doc(e->edit), chunk->key, err);
}

static int encode(struct tfs_cells_edit *e, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};
    struct blocks *b = NULL;
    struct encoding x = {.e = e, .out = &bytes};

    if (blocks_differ(e)) {
        x.b = b = calloc(1, sizeof(*b));
        if (b == NULL)
            return tfs_fail_memory(err);
        take_blocks(b, e, err);
    }
    if (err->code == 0 && check_finished(e, err) == 0 && encode_section(&x, err) == 0)
        put_section(e, tfs_buf_span(&bytes), err);
    if (b != NULL)
        blocks_release(b);
    free(b);
    tfs_buf_release(&bytes);
    return err->code;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static enum tfs_emptiness emptiness(struct tfs_span name)
{
    const bool zero = name.size > 2 && name.data[0] == '0' && name.data[1] == ':';

    return zero || tfs_mc_state_is_air(name) ? TFS_AIR : TFS_SEEN;
}

static struct tfs_voxel_size group_size(const struct tfs_doc *doc, uint32_t group)
{
    const uint32_t side = group == 0 ? TFS_MC_SIDE : 0;

    (void)doc;
    return (struct tfs_voxel_size){side, side, side};
}

#define LIGHT_PLANE(word, what)                                                                    \
    {                                                                                              \
        .name = (word), .form = {TFS_PLANE_HEX, .width = 1, .digits = 1, .high = 15},              \
        .out_of_range = "a light has 4 bits", .flags = TFS_PLANE_OPTIONAL, .about = (what)         \
    }

static const struct tfs_plane planes[TFS_MC_PLANES] = {
    [BLOCK] = {.name = "block",
               .form = {.kind = TFS_PLANE_NAMES},
               .flags = TFS_PLANE_IN_TABLE | TFS_PLANE_DECIDES},
    [SKY] = LIGHT_PLANE("sky light", "light of the sky, 0 to 15"),
    [LIGHT] = LIGHT_PLANE("block light", "light of blocks, 0 to 15"),
};

const struct tfs_cells_kind tfs_mc_cells = {
    .planes = planes,
    .count = TFS_MC_PLANES,
    .group_size = group_size,
    .unit = "block",
    .names = {"block", TFS_MC_NAME_MAX, .entries = TFS_MC_VOXELS, .air = AIR_STATE},
    .decode = decode,
    .emptiness = emptiness,
    .encode = encode,
};
