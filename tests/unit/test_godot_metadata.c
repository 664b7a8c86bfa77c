/* formats/godot_voxel: Variants, metadata sections and metadata.txt. An independent codec made the
 * vectors; variants are as Godot 3.2.3 writes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/files_case.h"
#include "formats/godot_voxel/metadata.h"
#include "formats/godot_voxel/variant.h"
#include "unit.h"

static struct tfs_buf bytes, out;
static struct tfs_error err;

static void setup(void)
{
    err = (struct tfs_error){0};
}

static void release(void)
{
    tfs_buf_release(&bytes);
    tfs_buf_release(&out);
}

/* ---- variants -------------------------------------------------------------------------------- */

static const char *const variants_3[] = {
    "00000000",
    "0100000001000000",
    "0100000000000000",
    "0200000005000000",
    "02000000f9ffffff",
    "020001000000000000010000",
    "030000000000003f",
    "030001009a9999999999b93f",
    "0400000000000000",
    "040000000300000061626300",
    "040000000400000061626364",
    "04000000040000005a6fc3ab",
    "050000000000803f00000040",
    "060000000000803f000000400000404000008040",
    "070000000000c03f000000c000004040",
    "0800000040a9603f4477f53e4477f5be40a9603f0000404000008040",
    "090000000000803f00000000000000000000a040",
    "0a0000000000000000000000000000000000803f",
    "0b000000000000000000803f0000004000004040000080400000a040",
    "0c0000000000803f0000000000000000000000000000803f0000000000000000000000000000803f",
    "0d0000000000803f0000000000000000000000000000803f0000000000000000000000000000803f"
    "000000000000000000000000",
    "0e0000000000803f0000003f0000803e0000803f",
    "0f00000003000080020000000100000004000000726f6f7401000000410000000100000042000000"
    "03000000706f73000100000078000000",
    "0f000000000000800000000000000000",
    "1200000000000000",
    "12000000020000000400000001000000610000000200000001000000040000000100000062000000"
    "13000000040000000200000001000000030000000000204004000000010000007800000012000000"
    "0100000004000000010000006b00000000000000",
    "1300000000000000",
    "13000000020000000200000001000000130000000200000002000000020000001300000001000000"
    "0200000003000000",
    "14000000050000000102030405000000",
    "150000000300000001000000feffffff03000000",
    "16000000020000000000003fcdcccc3d",
    "1700000003000000020000006100000001000000000000000600000068656c6c6f000000",
    "18000000010000000000803f00000040",
    "19000000020000000000803f0000004000004040000080400000a0400000c040",
    "1a000000010000000000803f00000000000000000000803f",
    "10000000",
};

START_TEST(variant_of_godot_3_is_measured)
{
    bytes = files_hex(variants_3[_i]);
    struct tfs_cursor c = tfs_cursor_init(tfs_buf_span(&bytes));

    ck_assert(tfs_godot_variant_take(&c, TFS_GODOT_ENGINE_3));
    ck_assert_uint_eq(tfs_cursor_left(&c), 0);
    for (size_t n = 0; n < bytes.size; n++) {
        struct tfs_span cut = {bytes.data, n};
        ck_assert(!tfs_godot_variant_valid(cut, TFS_GODOT_ENGINE_3));
    }
}
END_TEST

/* The same value, by the numbers of the newer engine. */
START_TEST(variant_of_godot_3_becomes_one_of_godot_4)
{
    bytes = files_hex(variants_3[_i]);
    ck_assert_msg(tfs_godot_variant_upgrade(tfs_buf_span(&bytes), &out, &err) == 0, "%s", err.text);
    ck_assert(tfs_godot_variant_valid(tfs_buf_span(&out), TFS_GODOT_ENGINE_4));
}
END_TEST

static const struct {
    const char *before, *after;
} upgrades[] = {
    {"00000000", "00000000"},
    {"020001000000000000010000", "020001000000000000010000"},
    {"0500000000 00803f00000040", "0500000000 00803f00000040"},
    {"07000000 0000c03f 000000c0 00004040", "09000000 0000c03f 000000c0 00004040"},
    {"10000000", "17000000 0000000000000000"},
    {"13000000 01000000 0e000000 0000803f0000003f0000803e0000803f",
     "1c000000 01000000 14000000 0000803f0000003f0000803e0000803f"},
    {"12000000 01000000 02000000 05000000 18000000 01000000 0000803f 00000040",
     "1b000000 01000000 02000000 05000000 23000000 01000000 0000803f 00000040"},
    {"11000100 0102030405060708", "18000100 0102030405060708"},
    {"11000000 00000000", "18000000 00000000"},
};

START_TEST(variant_gets_the_numbers_of_godot_4)
{
    struct tfs_buf expected = files_hex(upgrades[_i].after);

    bytes = files_hex(upgrades[_i].before);
    ck_assert_int_eq(tfs_godot_variant_upgrade(tfs_buf_span(&bytes), &out, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), tfs_buf_span(&expected)));
    tfs_buf_release(&expected);
}
END_TEST

START_TEST(object_with_properties_has_no_counterpart)
{
    bytes = files_hex("11000000 04000000 4e6f6465 01000000 01000000 61000000 00000000");
    ck_assert(tfs_godot_variant_valid(tfs_buf_span(&bytes), TFS_GODOT_ENGINE_3));
    ck_assert_int_eq(tfs_godot_variant_upgrade(tfs_buf_span(&bytes), &out, &err), -EBADMSG);
}
END_TEST

/* Written by hand from the engine's source. */
static const char *const variants_4[] = {
    "00000000",
    "01000000 01000000",
    "02000100 2a00000000000000",
    "05000100 00000000000000000000000000000000",
    "08000000 01000000020000000300000004000000",
    "15000000 03000000 61626300",
    "16000000 01000080 00000000 00000000 01000000 61000000",
    "16000000 00000080 00000000 02000000 01000000 61000000",
    "1a000000 01000000 61000000 0102030405060708",
    "19000000",
    "18000000 00000000",
    "18000000 01000000 61000000 01000000 01000000 62000000 00000000",
    "1b000000 01000000 00000000 00000000",
    "1b000500 02000000 02000000 00000000",
    "1c000100 02000000 01000000 02000000 05000000",
    "1c000200 04000000 4e6f6465 00000000",
    "1d000000 05000000 68656c6c6f000000",
    "22000000 01000000 02000000 61000000",
    "24000100 01000000 000000000000000000000000000000000000000000000000",
    "26000000 01000000 00000000000000000000000000000000",
};

START_TEST(variant_of_godot_4_is_measured)
{
    bytes = files_hex(variants_4[_i]);
    ck_assert(tfs_godot_variant_valid(tfs_buf_span(&bytes), TFS_GODOT_ENGINE_4));
    for (size_t n = 0; n < bytes.size; n++) {
        struct tfs_span cut = {bytes.data, n};
        ck_assert(!tfs_godot_variant_valid(cut, TFS_GODOT_ENGINE_4));
    }
}
END_TEST

static const char *const no_variants[] = {
    "27000000 00000000",          /* a type that is none */
    "06000000",                   /* cut */
    "04000000 ffffffff 00000000", /* a string longer than all there is */
    "1d000000 ffffff7f 00000000", /* an array of more than all there is */
    "1c000000 ffffffff 00000000", /* the same of values */
    "1b000000 01000000 00000000", /* a key without value */
    "16000000 01000000 00000000 00000000 01000000 61000000", /* a path of Godot 2 */
};

START_TEST(variant_that_lies_is_none)
{
    bytes = files_hex(no_variants[_i]);
    ck_assert(!tfs_godot_variant_valid(tfs_buf_span(&bytes), TFS_GODOT_ENGINE_4));
}
END_TEST

START_TEST(variant_may_lie_512_levels_deep)
{
    for (int levels = 511; levels <= 512; levels++) {
        tfs_buf_clear(&bytes);
        for (int i = 0; i < levels; i++) {
            tfs_buf_u32le(&bytes, 28);
            tfs_buf_u32le(&bytes, 1);
        }
        tfs_buf_u32le(&bytes, 0);
        ck_assert_int_eq(tfs_godot_variant_valid(tfs_buf_span(&bytes), TFS_GODOT_ENGINE_4),
                         levels == 511);
    }
}
END_TEST

/* ---- sections -------------------------------------------------------------------------------- */

static struct tfs_godot_block block_of(unsigned version, const struct tfs_buf *section)
{
    return (struct tfs_godot_block){.version = (uint8_t)version,
                                    .x = 16,
                                    .y = 16,
                                    .z = 16,
                                    .has_metadata = section->size > 0,
                                    .metadata = tfs_buf_span(section)};
}

static void print(const struct tfs_godot_block *block, struct tfs_buf *text)
{
    struct tfs_godot_items items;

    ck_assert_int_eq(tfs_godot_metadata_read(block, &items, &err), 0);
    tfs_godot_metadata_print(&items, text);
    tfs_godot_items_release(&items);
}

static const struct {
    unsigned version;
    const char *section, *text;
} sections[] = {
    {4, "", ""},
    {4, "00 0100 0000 0000 05 ff", "voxel 1 0 0 opaque 05ff\n"},
    {4, "00", "block empty\n"},
    {4, "00 1000 0000 0000 00", "rest 10000000000000\n"},
    {4, "29 0102", "block custom 41 0102\n"},
    {4, "ff", "block custom 255\n"},
    {4, "02", "block opaque 02\n"},
    {4, "01 00", "block opaque 0100\n"},
    {4, "20 02000000", "block opaque 2002000000\n"},
    {4, "01 ffffffffffffffff", "block u64 18446744073709551615\n"},
    {4, "20 0200000005000000 0100 0200 0300 00",
     "block variant 0200000005000000\nvoxel 1 2 3 empty\n"},
    {4, "00 0100 0200 0300", "voxel 1 2 3 opaque\n"},
    {4, "00 0100 0200 03", "rest 0100020003\n"},
    {4, "00 0200 0000 0000 00 0100 0000 0000 00", "voxel 2 0 0 empty\nvoxel 1 0 0 empty\n"},
    {4, "00 0100 0000 0000 28 aabb", "voxel 1 0 0 custom 40 aabb\n"},
    {2, "00000000 0100 0200 0300 04000000 04000000 5a6fc3ab",
     "voxel 1 2 3 variant 04000000040000005a6fc3ab\n"},
    {2, "0100", "block opaque 0100\n"},
    {2, "00000000", "block empty\n"},
    {3, "00000000 1000 0000 0000 00000000", "block opaque 0000000010000000000000000000\n"},
    {2, "07000000 0000c03f 000000c0 00004040", "block variant 070000000000c03f000000c000004040\n"},
    /* Only Godot 4 knows this type. */
    {3, "1d000000 01000000 61000000", "block variant 1d0000000100000061000000\n"},
};

START_TEST(section_is_shown_as_lines)
{
    bytes = files_hex(sections[_i].section);
    struct tfs_godot_block block = block_of(sections[_i].version, &bytes);

    print(&block, &out);
    tfs_buf_u8(&out, 0);
    ck_assert_str_eq((const char *)out.data, sections[_i].text);
}
END_TEST

START_TEST(section_shown_and_written_back_is_the_same)
{
    bytes = files_hex(sections[_i].section);
    struct tfs_godot_block block = block_of(sections[_i].version, &bytes);

    ck_assert_int_eq(tfs_godot_metadata_parse(&block, tfs_span_of(sections[_i].text), &out, &err),
                     0);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), tfs_buf_span(&bytes)));
}
END_TEST

/* Into a block without metadata. */
static const struct {
    unsigned version;
    const char *text, *section;
} writes[] = {
    {4, "# nothing\n\n", ""},
    {4, "block empty", ""},
    {4, "block u64 1\nblock empty", ""},
    {2, "block empty\n", ""},
    {4, " block\tu64  7 ", "01 0700000000000000"},
    {4, "voxel 1 2 3 u64 7\r\nblock u64 1\n",
     "01 0100000000000000 010002000300 01 0700000000000000"},
    {4, "voxel 2 0 0 empty\nvoxel 1 5 0 empty\nvoxel 1 2 9 empty\nvoxel 1 2 3 empty\n",
     "00 010002000300 00 010002000900 00 010005000000 00 020000000000 00"},
    {4, "voxel 1 1 1 u64 1\nvoxel 0 0 0 empty\nvoxel 1 1 1 u64 2\n",
     "00 000000000000 00 010001000100 01 0200000000000000"},
    {4, "block u64 1\nblock u64 2\n", "01 0200000000000000"},
    {4, "voxel 3 0 0 custom 40 AAbb\nvoxel 9 0 0 empty", "00 090000000000 00 030000000000 28 aabb"},
    {4, "rest 10000000000000", "00 10000000000000"},
    {4, "block custom 33", "21"},
    {4, "voxel 0 0 0 variant 0200000005000000", "00 000000000000 20 0200000005000000"},
    {2, "voxel 0 0 0 variant 0200000005000000", "00000000 000000000000 0200000005000000"},
    {3, "block opaque 01", "01"},
    {2, "block empty\nvoxel 15 15 15 empty", "00000000 0f000f000f00 00000000"},
};

START_TEST(lines_are_written_in_order)
{
    struct tfs_buf expected = files_hex(writes[_i].section);
    struct tfs_buf none = {0};
    struct tfs_godot_block block = block_of(writes[_i].version, &none);

    ck_assert_msg(tfs_godot_metadata_parse(&block, tfs_span_of(writes[_i].text), &out, &err) == 0,
                  "%s", err.text);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), tfs_buf_span(&expected)));
    tfs_buf_release(&expected);
}
END_TEST

/* What is written reads back the same: a second writing changes nothing. */
START_TEST(lines_written_twice_are_the_same)
{
    struct tfs_buf none = {0}, text = {0}, again = {0};
    struct tfs_godot_block block = block_of(writes[_i].version, &none);

    ck_assert_int_eq(tfs_godot_metadata_parse(&block, tfs_span_of(writes[_i].text), &out, &err), 0);
    block = block_of(writes[_i].version, &out);
    print(&block, &text);
    block = block_of(writes[_i].version, &none);
    ck_assert_int_eq(tfs_godot_metadata_parse(&block, tfs_buf_span(&text), &again, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), tfs_buf_span(&again)));
    tfs_buf_release(&text);
    tfs_buf_release(&again);
}
END_TEST

static const struct {
    unsigned version, line, column;
    const char *text, *sentence;
} bads[] = {
    {4, 1, 1, "blok empty", "blok is not one of block, voxel and rest"},
    {4, 1, 6, "block", "the type is missing"},
    {4, 1, 7, "block int 5", "int is not a type, which are empty, u64, variant, custom and opaque"},
    {4, 2, 7, "\nvoxel 16 0 0 empty", "x 16 is out of range, 0 to 15"},
    {4, 1, 9, "voxel 0 -1 0 empty", "y -1 is out of range, 0 to 15"},
    {4, 1, 9, "voxel 0 a 0 empty", "the y a is not a number"},
    {4, 1, 10, "voxel 0 0", "the z is missing"},
    {4, 1, 13, "block empty 1", "nothing can stand here any more"},
    {4, 1, 11, "block u64 18446744073709551616",
     "value 18446744073709551616 is out of range, it has 64 bits"},
    {4, 1, 11, "block u64 0x1", "the value 0x1 is not a number"},
    {4, 1, 10, "block u64", "u64 needs a number"},
    {4, 1, 15, "block variant 020000000500000",
     "020000000500000 is not an even number of hex digits"},
    {4, 1, 15, "block variant 02xx", "02xx is not an even number of hex digits"},
    {4, 1, 14, "block custom 32 00", "number of the type 32 is out of range, 33 to 255"},
    {4, 2, 1, "voxel 0 0 0 custom 33\nrest 00",
     "custom, opaque and rest take all that follows, there can be one of them, and line 1 is one"},
    {4, 1, 1, "block custom 33\nvoxel 0 0 0 empty", "beside this line no other can stand"},
    {2, 1, 7, "block u64 5", "a block of version 2 has no item of this type"},
    {3, 1, 13, "voxel 0 0 0 opaque 05", "a block of version 3 has no item of this type"},
    {2, 1, 1, "rest 00", "a block of version 2 has no item of this type"},
    /* What the engine would take for something else. */
    {4, 1, 15, "block variant 02000000", "this is not one whole Variant"},
    {4, 2, 23, "\nvoxel 1 2 3  variant  020000000500000000", "this is not one whole Variant"},
    {4, 1, 14, "block variant", "this is not one whole Variant"},
    {4, 1, 14, "block opaque 00", "the game can read this: write the items that it says"},
    {4, 1, 14, "block opaque 29", "the game can read this: write the items that it says"},
    {4, 1, 13, "block opaque", "hex digits are missing"},
    {4, 2, 6, "block u64 7\nrest 00000000000000",
     "the game can read this: write the items that it says"},
    {4, 1, 5, "rest", "hex digits are missing"},
    {4, 1, 20, "voxel 0 0 0 opaque 200200000005000000",
     "the game can read this: write the items that it says"},
    {2, 1, 14, "block opaque 00000000", "the game can read this: write the items that it says"},
    {2, 1, 21, "voxel 0 0 0 variant 0500", "this is not one whole Variant"},
    {2, 1, 15, "block variant 00000000", "this Variant is Nil, which is no item: write `empty`"},
    {3, 2, 21,
     "voxel 0 0 0 variant 1d0000000100000061000000\nvoxel 0 0 1 variant 140000000200000001020000",
     "this Variant is of another engine than those of the lines above"},
    /* Godot 3 has no data behind that type, and would find two voxels there. */
    {3, 2, 15, "# nothing\nblock variant 10000000000000000000000000000000000000000100000000000000",
     "Godot 3 would find other items in this metadata"},
};

START_TEST(bad_line_is_refused_with_its_place)
{
    struct tfs_buf none = {0};
    struct tfs_godot_block block = block_of(bads[_i].version, &none);

    ck_assert_int_eq(tfs_godot_metadata_parse(&block, tfs_span_of(bads[_i].text), &out, &err),
                     -EBADMSG);
    ck_assert_str_eq(err.text, bads[_i].sentence);
    ck_assert_uint_eq(err.line, bads[_i].line);
    ck_assert_uint_eq(err.column, bads[_i].column);
}
END_TEST

/* ---- the newer engine ------------------------------------------------------------------------ */

START_TEST(section_becomes_one_of_version_4)
{
    struct tfs_buf text = {0};

    bytes = files_hex("12000000 00000000 0100 0200 0300 00000000 0000 0000 0000 14000000 02000000 "
                      "0102 0000");
    struct tfs_godot_block block = block_of(2, &bytes);
    ck_assert_int_eq(tfs_godot_metadata_upgrade(&block, &out, &err), 0);
    block = block_of(4, &out);
    print(&block, &text);
    tfs_buf_u8(&text, 0);
    ck_assert_str_eq((const char *)text.data, "block variant 1b00000000000000\n"
                                              "voxel 1 2 3 empty\n"
                                              "voxel 0 0 0 variant 1d0000000200000001020000\n");
    tfs_buf_release(&text);
}
END_TEST

START_TEST(section_that_cannot_be_read_is_not_upgraded)
{
    bytes = files_hex("0100");
    struct tfs_godot_block block = block_of(3, &bytes);

    ck_assert_int_eq(tfs_godot_metadata_upgrade(&block, &out, &err), -EBADMSG);
    ck_assert_str_eq(err.text, "its metadata cannot be read");
}
END_TEST

static Suite *metadata_suite(void)
{
    Suite *suite = suite_create("godot_metadata");
    TCase *tcase = unit_case(suite, "metadata");

    tcase_add_checked_fixture(tcase, setup, release);
    tcase_add_loop_test(tcase, variant_of_godot_3_is_measured, 0, COUNT(variants_3));
    tcase_add_loop_test(tcase, variant_of_godot_3_becomes_one_of_godot_4, 0, COUNT(variants_3));
    tcase_add_loop_test(tcase, variant_gets_the_numbers_of_godot_4, 0, COUNT(upgrades));
    tcase_add_test(tcase, object_with_properties_has_no_counterpart);
    tcase_add_loop_test(tcase, variant_of_godot_4_is_measured, 0, COUNT(variants_4));
    tcase_add_loop_test(tcase, variant_that_lies_is_none, 0, COUNT(no_variants));
    tcase_add_test(tcase, variant_may_lie_512_levels_deep);
    tcase_add_loop_test(tcase, section_is_shown_as_lines, 0, COUNT(sections));
    tcase_add_loop_test(tcase, section_shown_and_written_back_is_the_same, 0, COUNT(sections));
    tcase_add_loop_test(tcase, lines_are_written_in_order, 0, COUNT(writes));
    tcase_add_loop_test(tcase, lines_written_twice_are_the_same, 0, COUNT(writes));
    tcase_add_loop_test(tcase, bad_line_is_refused_with_its_place, 0, COUNT(bads));
    tcase_add_test(tcase, section_becomes_one_of_version_4);
    tcase_add_test(tcase, section_that_cannot_be_read_is_not_upgraded);
    return suite;
}

UNIT_MAIN(metadata_suite)
