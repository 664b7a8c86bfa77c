/* formats/cosmic_reach, chunk bodies: layers of every type, canonical encoding, what keeps its
 * bytes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/cosmic_case.h"
#include "formats/cosmic_reach/body.h"
#include "unit.h"

static struct tfs_error err;

/* ---- layers ---------------------------------------------------------------------------------- */

/* Section 8, vectors 4 and 6: first bytes of a layer (the rest is zero) and first values. */
static const struct {
    const struct tfs_cosmic_layer_kind *kind;
    uint8_t type;
    const char *bytes;
    uint32_t values[8];
} first_values[] = {
    {&tfs_cosmic_block_layers, TFS_COSMIC_BIT, "8d 00*31", {1, 0, 1, 1, 0, 0, 0, 1}},
    {&tfs_cosmic_block_layers, TFS_COSMIC_HALFNIBBLE, "b1 00*63", {1, 0, 3, 2}},
    {&tfs_cosmic_block_layers, TFS_COSMIC_NIBBLE, "c1 00*127", {1, 12}},
    {&tfs_cosmic_block_layers, TFS_COSMIC_BYTE, "c8 00*255", {200}},
    {&tfs_cosmic_block_layers, TFS_COSMIC_SHORT, "012c 00*510", {300}},
    {&tfs_cosmic_block_layers,
     TFS_COSMIC_SINGLE_BYTE,
     "c8",
     {200, 200, 200, 200, 200, 200, 200, 200}},
    {&tfs_cosmic_block_layers,
     TFS_COSMIC_SINGLE_INT,
     "0000012c",
     {300, 300, 300, 300, 300, 300, 300, 300}},
    {&tfs_cosmic_sky_layers, TFS_COSMIC_SKY_LAYER_SINGLE, "0f", {15, 15, 15, 15, 15, 15, 15, 15}},
    {&tfs_cosmic_sky_layers, TFS_COSMIC_SKY_LAYER_NIBBLE, "c1 00*127", {1, 12}},
    {&tfs_cosmic_light_layers,
     TFS_COSMIC_LIGHT_LAYER_SINGLE,
     "010203",
     {0x123, 0x123, 0x123, 0x123, 0x123, 0x123, 0x123, 0x123}},
    {&tfs_cosmic_light_layers, TFS_COSMIC_LIGHT_LAYER_SHORT, "0000 0f41 00*508", {0, 0xf41}},
    {&tfs_cosmic_light_layers,
     TFS_COSMIC_LIGHT_LAYER_RED,
     "0f 04 01 21 00*127",
     {0x141, 0x241, 0x041, 0x041, 0x041, 0x041, 0x041, 0x041}},
    {&tfs_cosmic_light_layers,
     TFS_COSMIC_LIGHT_LAYER_GREEN,
     "0f 00 01 21 00*127",
     {0xf11, 0xf21, 0xf01, 0xf01, 0xf01, 0xf01, 0xf01, 0xf01}},
    {&tfs_cosmic_light_layers,
     TFS_COSMIC_LIGHT_LAYER_BLUE,
     "ff f4 33 21 00*127",
     {0xf41, 0xf42, 0xf40, 0xf40, 0xf40, 0xf40, 0xf40, 0xf40}},
};

START_TEST(layers_of_every_type_decode_lowest_bits_first)
{
    struct maker_bytes bytes = cosmic_hex(first_values[_i].bytes);
    const struct tfs_cosmic_layer_kind *kind = first_values[_i].kind;
    uint32_t values[TFS_COSMIC_LAYER_VALUES];

    ck_assert_uint_eq(bytes.size, kind->sizes[first_values[_i].type]);
    kind->decode(first_values[_i].type, bytes.data, values);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_uint_eq(values[i], first_values[_i].values[i]);
    maker_release(&bytes);
}
END_TEST

/* An independent way: the values of a layer, and then the map. */
static void check_map(uint8_t type, const uint8_t *bytes, const uint32_t *map, uint32_t room)
{
    uint8_t shorts[2 * TFS_COSMIC_LAYER_VALUES];
    uint32_t ids[TFS_COSMIC_LAYER_VALUES];
    bool known = true;

    tfs_cosmic_block_layers.decode(type, bytes, ids);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES; i++)
        known = known && ids[i] < room && map[ids[i]] != TFS_COSMIC_NO_NUMBER;
    ck_assert_msg(tfs_cosmic_layer_map(type, bytes, map, room, shorts) == known, "type %u", type);
    for (unsigned i = 0; i < TFS_COSMIC_LAYER_VALUES && known; i++)
        ck_assert_uint_eq(shorts[2 * i] | (uint32_t)shorts[2 * i + 1] << 8, map[ids[i]]);
}

START_TEST(block_layers_of_every_type_show_the_numbers_of_their_indices)
{
    uint8_t bytes[2 * TFS_COSMIC_LAYER_VALUES] = {0};
    uint32_t map[512], state = 1;

    for (unsigned count = 1; count <= 512; count = count < 16 ? count + 1 : 2 * count)
        for (uint8_t type = TFS_COSMIC_SINGLE_BYTE; type <= TFS_COSMIC_BIT; type++) {
            for (unsigned i = 0; i < 512; i++)
                map[i] = i < count ? 65535 - 7 * i : TFS_COSMIC_NO_NUMBER;
            memset(bytes, 0, sizeof(bytes));
            check_map(type, bytes, map, count < 16 ? 16 : count);
            for (unsigned i = 0; i < sizeof(bytes); i++) {
                state = state * 1103515245 + 12345;
                bytes[i] = type == TFS_COSMIC_SHORT && i % 2 == 0 ? state >> 30 & 1
                                                                  : (uint8_t)(state >> 16);
            }
            check_map(type, bytes, map, count < 16 ? 16 : count);
        }
}
END_TEST

/* ---- canonical block data -------------------------------------------------------------------- */

/* Layer 0 is filled with `base`, its first voxel is `high`; all else is `rest`. */
static const struct {
    const char *name;
    uint32_t version, palette, base, high, rest;
    uint8_t type;
    uint32_t size;
} layer_rules[] = {
    {"uniform", 7, 200, 5, 5, 0, TFS_COSMIC_SINGLE_BYTE, 1},
    {"uniform 127", 7, 200, 127, 127, 0, TFS_COSMIC_SINGLE_BYTE, 1},
    {"uniform 128, which the game would read signed", 7, 200, 128, 128, 0, TFS_COSMIC_BYTE, 256},
    {"uniform 255", 7, 300, 255, 255, 0, TFS_COSMIC_BYTE, 256},
    {"uniform 256", 7, 300, 256, 256, 0, TFS_COSMIC_SHORT, 512},
    {"1", 7, 2, 0, 1, 0, TFS_COSMIC_BIT, 32},
    {"1 in version 2", 2, 2, 0, 1, 0, TFS_COSMIC_BIT, 32},
    {"1 in version 1, which knows no BIT", 1, 2, 0, 1, 0, TFS_COSMIC_HALFNIBBLE, 64},
    {"1 in version 0", 0, 2, 0, 1, 0, TFS_COSMIC_HALFNIBBLE, 64},
    {"2", 7, 3, 0, 2, 0, TFS_COSMIC_HALFNIBBLE, 64},
    {"3", 7, 4, 1, 3, 0, TFS_COSMIC_HALFNIBBLE, 64},
    {"4", 7, 5, 0, 4, 0, TFS_COSMIC_NIBBLE, 128},
    {"0 and 9, ids are global to the chunk", 7, 10, 0, 9, 0, TFS_COSMIC_NIBBLE, 128},
    {"15", 7, 16, 0, 15, 0, TFS_COSMIC_NIBBLE, 128},
    {"16", 7, 17, 0, 16, 0, TFS_COSMIC_BYTE, 256},
    {"255", 7, 256, 0, 255, 0, TFS_COSMIC_BYTE, 256},
    {"256", 7, 257, 0, 256, 0, TFS_COSMIC_SHORT, 512},
    {"4095", 7, 4096, 0, 4095, 0, TFS_COSMIC_SHORT, 512},
};

static char name_bytes[TFS_COSMIC_PALETTE_MAX][16];

static void make_names(struct tfs_span *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name_bytes[i], sizeof(name_bytes[i]), "n%u", i);
        names[i] = tfs_span_of(name_bytes[i]);
    }
}

START_TEST(blocks_are_encoded_by_the_rules_of_the_game)
{
    static struct tfs_span names[TFS_COSMIC_PALETTE_MAX];
    static uint32_t ids[TFS_COSMIC_VALUES], back[TFS_COSMIC_VALUES];
    struct tfs_buf out = {0};
    struct tfs_cosmic_blocks blocks;

    make_names(names, layer_rules[_i].palette);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        ids[i] = i < TFS_COSMIC_LAYER_VALUES ? layer_rules[_i].base : layer_rules[_i].rest;
    ids[0] = layer_rules[_i].high;
    tfs_cosmic_blocks_encode(&out, names, layer_rules[_i].palette, ids, layer_rules[_i].version);
    ck_assert_int_eq(tfs_cosmic_blocks_view(tfs_buf_span(&out), &blocks, &err), 0);
    ck_assert_msg(blocks.layers.types[0] == layer_rules[_i].type, "%s: type %u",
                  layer_rules[_i].name, blocks.layers.types[0]);
    ck_assert_uint_eq(blocks.layers.bytes[0].size, layer_rules[_i].size);
    ck_assert_uint_eq(blocks.count, layer_rules[_i].palette);
    ck_assert_uint_eq(blocks.layers.types[1], TFS_COSMIC_SINGLE_BYTE);
    tfs_cosmic_layers_decode(&blocks.layers, back);
    ck_assert_mem_eq(back, ids, sizeof(ids));
    tfs_buf_release(&out);
}
END_TEST

START_TEST(one_name_in_all_voxels_is_single)
{
    const struct tfs_span names[] = {tfs_span_of("a"), tfs_span_of("b"), tfs_span_of("b")};
    static uint32_t ids[TFS_COSMIC_VALUES];
    struct tfs_buf out = {0};

    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        ids[i] = 1 + i % 2;
    tfs_cosmic_blocks_encode(&out, names, 3, ids, 7);
    ck_assert_uint_eq(out.size, 6);
    ck_assert_mem_eq(out.data, "\1\0\0\0\1b", 6);
    tfs_buf_release(&out);
}
END_TEST

/* Vector 3 of section 8. */
static const struct {
    uint32_t version;
    const char *bytes;
} vector_3[] = {
    {2, "02 00000002 00000008 626173653a616972 00000003 613a62 | 07 00 00 08 00*29 | "
        "0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100"},
    {1, "02 00000002 00000008 626173653a616972 00000003 613a62 | 03 00 00 00 00 40 00*59 | "
        "0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100"},
};

START_TEST(test_vector_3)
{
    const struct tfs_span names[] = {tfs_span_of("base:air"), tfs_span_of("a:b")};
    struct maker_bytes expected = cosmic_hex(vector_3[_i].bytes);
    uint32_t ids[TFS_COSMIC_VALUES] = {[19] = 1};
    struct tfs_buf out = {0};

    ck_assert_uint_eq(expected.size, _i == 0 ? 87 : 119);
    tfs_cosmic_blocks_encode(&out, names, 2, ids, vector_3[_i].version);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), cosmic_span(&expected)));
    maker_release(&expected);
    tfs_buf_release(&out);
}
END_TEST

/* ---- refused bodies -------------------------------------------------------------------------- */

#define AIR "01 00000008 626173653a616972 "

static const struct {
    const char *bytes, *sentence;
    uint32_t version;
} bad_bodies[] = {
    {"", "offset 0: the block data is missing", 7},
    {"03", "offset 0: unknown block data type 3", 7},
    {"00", "offset 0: unknown block data type 0", 7},
    {"01 0000", "offset 1: the name of palette entry 0 is longer than what is left", 7},
    {"01 ffffffff 00", "offset 1: the name of palette entry 0 is longer than what is left", 7},
    {"01 7fffffff 00", "offset 1: the name of palette entry 0 is longer than what is left", 7},
    {"02 0000", "offset 1: the block data is cut off before its palette", 7},
    {"02 00000000", "offset 1: a palette of 0 entries, 1 to 4096 are possible", 7},
    {"02 00001001", "offset 1: a palette of 4097 entries, 1 to 4096 are possible", 7},
    {"02 7fffffff", "offset 1: a palette of 2147483647 entries, 1 to 4096 are possible", 7},
    {"02 80000000", "offset 1: a palette of -2147483648 entries, 1 to 4096 are possible", 7},
    {"02 00001000 00000001 61",
     "offset 10: the name of palette entry 1 is longer than what is left", 7},
    {"02 00000001 00000001 61 08", "offset 10: layer 0 of the block data has unknown type 8", 7},
    {"02 00000001 00000001 61 0100 00", "offset 12: layer 1 of the block data has unknown type 0",
     7},
    {"02 00000001 00000001 61 07 00*31", "offset 10: the block data is cut off within layer 0", 7},
    {AIR, "offset 13: the sky light is missing", 7},
    {AIR "00", "offset 13: unknown sky light type 0", 7},
    {AIR "04", "offset 13: unknown sky light type 4", 7},
    {AIR "03", "offset 13: the sky light ends before its level", 7},
    {AIR "02 03", "offset 14: layer 0 of the sky light has unknown type 3", 7},
    {AIR "030f", "offset 15: the block light is missing", 7},
    {AIR "030f 03", "offset 15: unknown block light type 3", 7},
    {AIR "030f 02 06", "offset 16: layer 0 of the block light has unknown type 6", 7},
    {AIR "030f 02 03 00*130", "offset 16: the block light is cut off within layer 0", 7},
    {AIR "030f 01", "offset 16: the block entity section is missing", 1},
    {AIR "030f 01 02", "offset 16: unknown block entity type 2", 1},
    {AIR "030f 01 01 00000002 00", "offset 16: the block entities are longer than what is left", 1},
    {AIR "030f 01 01 ffffffff 00", "offset 16: the block entities are longer than what is left", 1},
    {AIR "030f 01 00 00", "offset 17: 1 byte behind the end of the chunk", 1},
    {AIR "030f 01 00", "offset 16: 1 byte behind the end of the chunk", 0},
};

START_TEST(a_bad_body_is_refused_with_its_offset)
{
    struct maker_bytes bytes = cosmic_hex(bad_bodies[_i].bytes);
    struct tfs_cosmic_body body;

    tfs_error_reset(&err);
    ck_assert_int_eq(
        tfs_cosmic_body_split(cosmic_span(&bytes), bad_bodies[_i].version, &body, &err), -EBADMSG);
    ck_assert_str_eq(err.text, bad_bodies[_i].sentence);
    maker_release(&bytes);
}
END_TEST

/* One layer of each type with an index that the palette of one does not have. */
static const struct {
    const char *layer, *sentence;
} bad_indices[] = {
    {"01 01", "offset 11: layer 0 has palette index 1, the palette has 1 entry"},
    {"02 00000001", "offset 11: layer 0 has palette index 1, the palette has 1 entry"},
    {"02 ffffffff", "offset 11: layer 0 has palette index 4294967295, the palette has 1 entry"},
    {"03 00*63 c0", "offset 11: layer 0 has palette index 3, the palette has 1 entry"},
    {"04 00*127 f0", "offset 11: layer 0 has palette index 15, the palette has 1 entry"},
    {"05 00*255 ff", "offset 11: layer 0 has palette index 255, the palette has 1 entry"},
    {"06 00*510 1000", "offset 11: layer 0 has palette index 4096, the palette has 1 entry"},
    {"07 00*31 80", "offset 11: layer 0 has palette index 1, the palette has 1 entry"},
};

START_TEST(an_index_outside_the_palette_is_refused)
{
    char text[256];
    struct tfs_cosmic_body body;

    snprintf(text, sizeof(text),
             "02 00000001 00000001 61 %s 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 "
             "0100 0100 0100 0100 01 01 00",
             bad_indices[_i].layer);
    struct maker_bytes bytes = cosmic_hex(text);
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_cosmic_body_split(cosmic_span(&bytes), 7, &body, &err), 0);
    ck_assert_int_eq(tfs_cosmic_body_check(&body, bytes.data, &err), -EBADMSG);
    ck_assert_str_eq(err.text, bad_indices[_i].sentence);
    maker_release(&bytes);
}
END_TEST

/* ---- empty chunks ---------------------------------------------------------------------------- */

static const struct {
    uint32_t version;
    const char *bytes;
} empty_bodies[] = {
    {0, "01 00000011 626173653a6169725b64656661756c745d 030f 01"},
    {1, "01 00000011 626173653a6169725b64656661756c745d 030f 01 00"},
    {2, "01 00000011 626173653a6169725b64656661756c745d 030f 01 00"},
    {3, AIR "030f 01 00"},
    {7, AIR "030f 01 00"},
};

START_TEST(an_empty_chunk_is_what_the_game_stores_for_air)
{
    struct maker_bytes expected = cosmic_hex(empty_bodies[_i].bytes);
    struct tfs_buf out = {0};

    tfs_cosmic_body_empty(&out, empty_bodies[_i].version);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), cosmic_span(&expected)));
    tfs_buf_release(&out);
    maker_release(&expected);
}
END_TEST

START_TEST(air_is_a_name_alone_or_with_a_bracket)
{
    ck_assert(tfs_cosmic_is_air(tfs_span_of("base:air")));
    ck_assert(tfs_cosmic_is_air(tfs_span_of("base:air[default]")));
    ck_assert(!tfs_cosmic_is_air(tfs_span_of("base:airship")));
    ck_assert(!tfs_cosmic_is_air(tfs_span_of("base:ai")));
    ck_assert(!tfs_cosmic_is_air(tfs_span_of("")));
    ck_assert(!tfs_cosmic_is_air(tfs_span_of("other:air")));
}
END_TEST

/* ---- light that keeps its bytes -------------------------------------------------------------- */

static struct tfs_cosmic_light view_light(struct tfs_span section)
{
    struct tfs_cursor c = tfs_cursor_init(section);
    struct tfs_cosmic_light light = {0};

    ck_assert_int_eq(tfs_cosmic_light_take(&c, &light, &err), 0);
    ck_assert_uint_eq(tfs_cursor_left(&c), 0);
    return light;
}

/* Layer 0 mono, layer 1 short with a top nibble, layer 2 uniform short, the rest black. */
static struct maker_bytes odd_light(void)
{
    return cosmic_hex("02 | 04 ff0001 21 00*127 | 02 f123 00*510 | 02 0000*1 00*510 | "
                      "01000000 01000000 01000000 01000000 01000000 01000000 01000000 01000000 "
                      "01000000 01000000 01000000 01000000 01000000");
}

START_TEST(block_light_layers_that_do_not_change_keep_their_bytes)
{
    struct maker_bytes old = odd_light();
    struct tfs_cosmic_light view = view_light(cosmic_span(&old)), after;
    uint32_t values[TFS_COSMIC_VALUES];
    struct tfs_buf out = {0};

    tfs_cosmic_layers_decode(&view.layers, values);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        values[i] &= TFS_COSMIC_LIGHT_MASK;
    values[5 * TFS_COSMIC_LAYER_VALUES] = 0xabc;
    values[TFS_COSMIC_LAYER_VALUES + 7] = 0x001;
    tfs_cosmic_light_encode(&out, &view, values);
    after = view_light(tfs_buf_span(&out));
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++) {
        if (y == 1 || y == 5) {
            ck_assert_uint_eq(after.layers.types[y], TFS_COSMIC_LIGHT_LAYER_SHORT);
        } else {
            ck_assert_uint_eq(after.layers.types[y], view.layers.types[y]);
            ck_assert(tfs_span_equal(after.layers.bytes[y], view.layers.bytes[y]));
        }
    }
    /* The top nibble of the value that did not change stays. */
    ck_assert_mem_eq(after.layers.bytes[1].data, "\xf1\x23\0\0", 4);
    ck_assert_mem_eq(after.layers.bytes[1].data + 14, "\0\1", 2);
    ck_assert_mem_eq(after.layers.bytes[5].data, "\x0a\xbc", 2);
    tfs_buf_release(&out);
    maker_release(&old);
}
END_TEST

START_TEST(new_block_light_is_single_where_black)
{
    const struct tfs_cosmic_light none = {0};
    uint32_t values[TFS_COSMIC_VALUES] = {[300] = 0xf00};
    struct tfs_buf out = {0};

    tfs_cosmic_light_encode(&out, &none, values);
    struct tfs_cosmic_light after = view_light(tfs_buf_span(&out));
    for (unsigned y = 0; y < TFS_COSMIC_LAYERS; y++)
        ck_assert_uint_eq(after.layers.types[y],
                          y == 1 ? TFS_COSMIC_LIGHT_LAYER_SHORT : TFS_COSMIC_LIGHT_LAYER_SINGLE);
    tfs_buf_release(&out);
}
END_TEST

START_TEST(a_layer_that_becomes_black_stays_short)
{
    struct maker_bytes old = odd_light();
    struct tfs_cosmic_light view = view_light(cosmic_span(&old));
    const uint32_t values[TFS_COSMIC_VALUES] = {0};
    struct tfs_buf out = {0};

    tfs_cosmic_light_encode(&out, &view, values);
    struct tfs_cosmic_light after = view_light(tfs_buf_span(&out));
    ck_assert_uint_eq(after.layers.types[0], TFS_COSMIC_LIGHT_LAYER_SHORT);
    ck_assert_uint_eq(after.layers.types[1], TFS_COSMIC_LIGHT_LAYER_SHORT);
    tfs_buf_release(&out);
    maker_release(&old);
}
END_TEST

static struct tfs_span encode_sky(struct tfs_buf *out, const char *old, unsigned changed,
                                  uint32_t level)
{
    struct maker_bytes section = cosmic_hex(old);
    struct tfs_cursor c = tfs_cursor_init(cosmic_span(&section));
    struct tfs_cosmic_light sky;
    uint32_t values[TFS_COSMIC_VALUES] = {0};

    ck_assert_int_eq(tfs_cosmic_sky_take(&c, &sky, &err), 0);
    if (sky.present)
        tfs_cosmic_layers_decode(&sky.layers, values);
    for (unsigned i = 0; i < TFS_COSMIC_VALUES; i++)
        values[i] = i < changed ? level : values[i] & TFS_COSMIC_SKY_MASK;
    tfs_cosmic_sky_encode(out, &sky, values);
    maker_release(&section);
    return tfs_buf_span(out);
}

START_TEST(sky_light_is_encoded_by_the_rules_of_the_game)
{
    struct tfs_buf out = {0};

    ck_assert(tfs_span_equal(encode_sky(&out, "01", 4096, 15),
                             (struct tfs_span){(const uint8_t *)"\3\17", 2}));
    tfs_buf_clear(&out);
    struct tfs_span layered = encode_sky(&out, "03 0f", 1, 3);
    ck_assert_uint_eq(layered.size, 1 + 129 + 15 * 2);
    ck_assert_mem_eq(layered.data, "\2\2\xf3\xff", 4);
    ck_assert_mem_eq(layered.data + 130, "\1\17\1\17", 4);
    tfs_buf_release(&out);
}
END_TEST

START_TEST(a_sky_level_above_15_keeps_its_bits_where_it_is_not_changed)
{
    struct tfs_buf out = {0};
    struct tfs_span layered = encode_sky(&out, "03 1f", 1, 3);

    ck_assert_mem_eq(layered.data, "\2\2\xf3\xff", 4);
    ck_assert_mem_eq(layered.data + 130, "\1\x1f\1\x1f", 4);
    tfs_buf_release(&out);
}
END_TEST

static Suite *body_suite(void)
{
    Suite *suite = suite_create("cosmic_body");
    TCase *layers = unit_case(suite, "layers"), *blocks = unit_case(suite, "blocks");
    TCase *bad = unit_case(suite, "bad"), *light = unit_case(suite, "light");

    LOOP(layers, first_values, layers_of_every_type_decode_lowest_bits_first);
    tcase_add_test(layers, block_layers_of_every_type_show_the_numbers_of_their_indices);
    LOOP(blocks, layer_rules, blocks_are_encoded_by_the_rules_of_the_game);
    LOOP(blocks, vector_3, test_vector_3);
    LOOP(blocks, empty_bodies, an_empty_chunk_is_what_the_game_stores_for_air);
    tcase_add_test(blocks, one_name_in_all_voxels_is_single);
    tcase_add_test(blocks, air_is_a_name_alone_or_with_a_bracket);
    LOOP(bad, bad_bodies, a_bad_body_is_refused_with_its_offset);
    LOOP(bad, bad_indices, an_index_outside_the_palette_is_refused);
    tcase_add_test(light, block_light_layers_that_do_not_change_keep_their_bytes);
    tcase_add_test(light, new_block_light_is_single_where_black);
    tcase_add_test(light, a_layer_that_becomes_black_stays_short);
    tcase_add_test(light, sky_light_is_encoded_by_the_rules_of_the_game);
    tcase_add_test(light, a_sky_level_above_15_keeps_its_bits_where_it_is_not_changed);
    return suite;
}

UNIT_MAIN(body_suite)
