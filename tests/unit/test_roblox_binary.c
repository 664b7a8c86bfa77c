/* formats/roblox/binary: files that cannot be written, and files that
 * are refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/place_case.h"
#include "formats/roblox/source.h"
#include "limit_memory.h"

static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
}

static const struct tfs_key origin;

/* ---- what a file may be short of ------------------------------------------------------------- */

/* An INST and its values, in a binary file that has nothing else. */
struct bare {
    const char *class;
    uint32_t instances;
    const char *property; /* NULL: none */
    unsigned type;
    const char *values[4]; /* hex */
};

static void bare_prop(struct maker_bytes *payload, const struct bare *bare)
{
    struct maker_bytes values[4] = {{0}};

    for (uint32_t i = 0; i < bare->instances; i++)
        place_hex(&values[i], bare->values[i]);
    place_prop(payload, 5, bare->property, values, bare->instances);
    payload->data[8 + strlen(bare->property)] = (uint8_t)bare->type;
    for (int i = 0; i < 4; i++)
        maker_release(&values[i]);
}

static struct maker_bytes make_bare(const struct bare *bares, int count)
{
    struct maker_bytes file = {0};
    struct maker_bytes payload = {0};
    const char *last = "";

    place_magic(&file, 1, 1);
    for (int i = 0; i < count; i++) {
        if (strcmp(last, bares[i].class) != 0) {
            payload.size = 0;
            place_inst(&payload, 5, bares[i].class, bares[i].instances);
            place_chunk(&file, "INST", PLACE_LZ4, &payload);
            last = bares[i].class;
        }
        if (bares[i].property == NULL)
            continue;
        payload.size = 0;
        bare_prop(&payload, &bares[i]);
        place_chunk(&file, "PROP", PLACE_STORED, &payload);
    }
    place_end(&file);
    maker_release(&payload);
    return file;
}

static const struct {
    struct bare bares[2];
    int count;
    const char *says;
} locks[] = {
    {{{"Part", 1, NULL, 0, {0}}}, 1, "this file has no Terrain"},
    {{{"Terrain", 0, NULL, 0, {0}}}, 1, "this file has no Terrain"},
    {{{"Terrain", 1, NULL, 0, {0}}}, 1, "the Terrain has no SmoothGrid"},
    {{{"Terrain", 1, "ClusterGridV2", 1, {"01 05"}}}, 1, OLD_TERRAIN},
    {{{"Terrain", 1, "SmoothGrid", 0x1c, {"00"}}},
     1,
     "the terrain is not stored as a byte string, which is all we can write"},
    {{{"Terrain", 1, "PhysicsGrid", 1, {"03 03"}}, {"Terrain", 1, "SmoothGrid", 1, {"01 05"}}},
     2,
     "PhysicsGrid is of a version we cannot write, so the voxels must stay as they are"},
};

START_TEST(places_that_cannot_be_written_say_why)
{
    struct maker_bytes file = make_bare(locks[_i].bares, locks[_i].count);
    struct tfs_error err = {0};

    place_open(&c, &tfs_rbx_binary_container, &file);
    ck_assert_uint_eq(c.doc->count, 0);
    ck_assert_str_eq(tfs_facts_find(c.doc->facts, TFS_NOTE_READ_ONLY), locks[_i].says);
    ck_assert_int_eq(place_create(&c, origin, &err), -EROFS);
    ck_assert_str_eq(err.text, locks[_i].says);
    struct maker_bytes same = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&same), place_span(&file)));
    maker_release(&same);
    maker_release(&file);
}
END_TEST

START_TEST(terrain_beyond_the_first_is_kept_and_named)
{
    const struct bare two = {"Terrain", 2, "SmoothGrid", 1, {"01 00", "01 05"}};
    struct maker_bytes file = make_bare(&two, 1);
    struct tfs_error err = {0};

    place_open(&c, &tfs_rbx_binary_container, &file);
    ck_assert_str_eq(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING),
                     "there are 2 Terrains: the first is shown, the others are kept");
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    const struct bare wanted = {
        "Terrain", 2, "SmoothGrid", 1, {"01 00 000000 000000 000000 000000 00", "01 05"}};
    struct maker_bytes expected = make_bare(&wanted, 1);
    ck_assert(tfs_span_equal(place_span(&made), place_span(&expected)));
    maker_release(&file);
    maker_release(&made);
    maker_release(&expected);
}
END_TEST

START_TEST(value_without_bytes_stays_so_until_it_has_a_chunk)
{
    const struct bare empty = {"Terrain", 1, "SmoothGrid", 1, {""}};
    struct maker_bytes file = make_bare(&empty, 1);
    struct tfs_error err = {0};

    place_open(&c, &tfs_rbx_binary_container, &file);
    struct maker_bytes same = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&same), place_span(&file)));
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    ck_assert_uint_eq(made.size, file.size + 2 + 12 + 256);
    maker_release(&file);
    maker_release(&same);
    maker_release(&made);
}
END_TEST

/* ---- binary files that are refused ----------------------------------------------------------- */

#define MAGIC "3c726f626c6f7821 89ff0d0a1a0a 0000 01000000 01000000 00000000 00000000"
#define INST                                                                                       \
    "494e5354 00000000 18000000 00000000 05000000 07000000 5465727261696e 00 01000000 00000000"
#define END        "454e4400 00000000 09000000 00000000 3c2f726f626c6f783e"
#define PROP       "50524f50 00000000 "
#define NAMED_BODY "05000000 0a000000 536d6f6f746847726964 "
#define NAMED      "00000000 " NAMED_BODY

static const struct {
    const char *file;
    int code;
    const char *says;
} bad_binaries[] = {
    {"3c726f626c6f7820", -EBADMSG, "offset 0: does not begin as a binary place or model does"},
    {"3c726f626c6f7821 89ff0d0a1a0a 0000", -EBADMSG, "the head of the file is cut off"},
    {"3c726f626c6f7821 89ff0d0a1a0a 0100 01000000 01000000 00000000 00000000", -ENOTSUP,
     "binary version 1 is not supported, only version 0"},
    {MAGIC, -EBADMSG, "offset 32: the file ends without an END chunk"},
    {MAGIC INST, -EBADMSG, "offset 72: the file ends without an END chunk"},
    {MAGIC "494e5354 00000000 ffffffff 00000000", -EBADMSG,
     "offset 32: the chunk goes past the end of the file"},
    {MAGIC INST INST END, -EBADMSG, "offset 72, chunk INST: two classes have the id 5"},
    {MAGIC "494e5354 00000000 18000000 00000000 05000000 07000000 5465727261696e 00 07000000 "
           "00000000" END,
     -EBADMSG, "offset 32, chunk INST: it is cut off within its instances"},
    /* LZ4 that claims 4 GiB, for 0x3fffffff instances. */
    {MAGIC "494e5354 16000000 fcffffff 00000000 f005 05000000 07000000 5465727261696e 00 "
           "ffffff3f" END,
     -EBADMSG, "offset 32, chunk INST: it is cut off within its instances"},
    {MAGIC "494e5354 00000000 04000000 00000000 05000000" END, -EBADMSG,
     "offset 32, chunk INST: it is cut off"},
    {MAGIC PROP "1a000000 " NAMED "01 02000000 0105 00" INST END, -EBADMSG,
     "offset 32, chunk PROP: a property of class 5, which has no INST before"},
    {MAGIC INST PROP "12000000 " NAMED END, -EBADMSG, "offset 72, chunk PROP: it is cut off"},
    {MAGIC INST PROP "1a000000 " NAMED "01 02000000 0105 00" END, -EBADMSG,
     "offset 72, chunk PROP: 1 bytes behind its last value"},
    {MAGIC INST PROP "19000000 " NAMED "01 03000000 0105" END, -EBADMSG,
     "offset 72, chunk PROP: value 1 of 1 is cut off"},
    {MAGIC INST PROP "19000000 " NAMED "01 02000000 0105" PROP "19000000 " NAMED
                     "01 02000000 0105" END,
     -EBADMSG, "offset 113, chunk PROP: the Terrain has the property SmoothGrid twice"},
    {MAGIC INST PROP "19000000 " NAMED "01 02000000 0205" END, -ENOTSUP,
     "SmoothGrid of the Terrain: SmoothGrid version 2 is not supported, only version 1"},
    /* LZ4: an offset before the start; then one that claims too much, and one that gives less. */
    {MAGIC INST "50524f50 05000000 20000000 00000000 10 41 ffff 00" END, -EBADMSG,
     "offset 72, chunk PROP: its LZ4 data is damaged, or not of the 32 bytes it should be"},
    {MAGIC INST "50524f50 1b000000 ffffff0f 00000000 f00a 05000000 0a000000 "
                "536d6f6f746847726964 01 02000000 0105" END,
     -EBADMSG,
     "offset 72, chunk PROP: its LZ4 data is damaged, or not of the 268435455 bytes it should be"},
    {MAGIC INST "50524f50 1b000000 1a000000 00000000 f00a 05000000 0a000000 "
                "536d6f6f746847726964 01 02000000 0105" END,
     -EBADMSG,
     "offset 72, chunk PROP: its LZ4 data is damaged, or not of the 26 bytes it should be"},
    {MAGIC INST "50524f50 1b000000 01000010 00000000 f00a 05000000 0a000000 "
                "536d6f6f746847726964 01 02000000 0105" END,
     -EFBIG,
     "offset 72, chunk PROP: it would unpack to 268435457 bytes, at most 268435456 are read"},
    /* Zstandard: a frame that is cut off. */
    {MAGIC INST "50524f50 06000000 20000000 00000000 28b52ffd 2020" END, -EBADMSG,
     "offset 72, chunk PROP: it is cut off"},
};

START_TEST(binary_is_refused_with_place_and_reason)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    place_hex(&file, bad_binaries[_i].file);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err),
                     bad_binaries[_i].code);
    ck_assert_str_eq(err.text, bad_binaries[_i].says);
    maker_release(&file);
}
END_TEST

START_TEST(zstandard_frame_of_another_size_is_refused)
{
    const struct bare bare = {"Terrain", 1, NULL, 0, {0}};
    struct maker_bytes grid = {0};
    struct maker_bytes payload = {0};
    struct tfs_error err = {0};

    place_hex(&grid, "01 05");
    place_prop(&payload, 5, "SmoothGrid", &grid, 1);
    struct maker_bytes file = make_bare(&bare, 1);
    size_t end = file.size - 25;
    file.size = end;
    place_chunk(&file, "PROP", PLACE_ZSTD, &payload);
    place_end(&file);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), 0);
    file.data[end + 8]++; /* the size that the chunk claims */
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "its Zstandard data is damaged"));
    maker_release(&file);
    maker_release(&grid);
    maker_release(&payload);
}
END_TEST

/* A place whose one SmoothGrid begins so and goes on with zeros. */
static struct maker_bytes make_bomb(enum place_coding coding, const char *begin, size_t zeros)
{
    const struct bare bare = {"Terrain", 1, NULL, 0, {0}};
    struct maker_bytes grid = {0}, payload = {0}, file = make_bare(&bare, 1);
    static const uint8_t none[4096];

    place_hex(&grid, begin);
    for (; zeros > 0; zeros -= sizeof(none))
        maker_add(&grid, none, sizeof(none));
    place_prop(&payload, 5, "SmoothGrid", &grid, 1);
    file.size -= 25; /* its END */
    place_chunk(&file, "PROP", coding, &payload);
    place_end(&file);
    maker_release(&grid);
    maker_release(&payload);
    return file;
}

static const struct {
    const char *begin, *says;
} bombs[] = {
    {"00 05", "SmoothGrid version 0 is not supported"},
    {"01 09", "chunks with an edge of 2^9 voxels are not supported"},
};

START_TEST(packed_bomb_is_refused_by_what_it_begins_with)
{
    const enum place_coding coding = _i % 2 == 0 ? PLACE_ZSTD : PLACE_LZ4;
    struct maker_bytes file = make_bomb(coding, bombs[_i / 2].begin, (size_t)128 << 20);
    struct tfs_error err = {0};

    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, bombs[_i / 2].says));
    maker_release(&file);
}
END_TEST

START_TEST(zstandard_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    /* A frame that says 128 MiB and has one raw block: the head and the begin of a value. */
    place_hex(&file,
              MAGIC INST "50524f50 2d000000 00000008 00000000"
                         "28b52ffd 80 00 00000008 190100"
                         "05000000 0a000000 536d6f6f746847726964 01 08000000 0105 0000000000");
    place_hex(&file, END);
    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EBADMSG);
    ck_assert_msg(strstr(err.text, "its Zstandard data is damaged") != NULL, "%s", err.text);
    maker_release(&file);
}
END_TEST

/* A place of so many instances of a class, and of what of all of them comes again and again. */
static struct maker_bytes make_many(const char *class, uint32_t instances, const char *property,
                                    int times)
{
    struct maker_bytes file = {0}, payload = {0}, prop = {0};

    place_magic(&file, 1, 1);
    place_inst(&payload, 5, class, instances);
    place_chunk(&file, "INST", PLACE_ZSTD, &payload);
    place_hex(&prop, "05000000");
    maker_u8(&prop, (uint8_t)strlen(property));
    place_hex(&prop, "000000");
    maker_add(&prop, property, strlen(property));
    maker_u8(&prop, 2); /* no byte string */
    for (int i = 0; i < times; i++)
        place_chunk(&file, "PROP", PLACE_STORED, &prop);
    place_end(&file);
    maker_release(&payload);
    maker_release(&prop);
    return file;
}

START_TEST(properties_of_many_instances_cost_no_more_than_those_of_one)
{
    static const char *const properties[] = {"Name", "ClusterGrid", "SmoothGrid"};
    struct maker_bytes file = make_many("TerrainRegion", 65535, properties[_i], 50000);
    struct tfs_error err = {0};

    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), 0);
    maker_release(&file);
}
END_TEST

START_TEST(more_terrains_than_anybody_has_are_refused)
{
    struct maker_bytes file = make_many("Terrain", 65536, "Name", 1);
    struct tfs_error err = {0};

    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EFBIG);
    ck_assert_str_eq(err.text, "offset 32, chunk INST: more than 65535 Terrains");
    maker_release(&file);
}
END_TEST

START_TEST(values_of_kept_terrains_are_read_once)
{
    struct maker_bytes file = make_many("Terrain", 1, "Name", 1), payload = {0}, values[4] = {{0}};
    struct tfs_error err = {0};

    file.size -= 25; /* its END */
    place_inst(&payload, 6, "Terrain", 4);
    place_chunk(&file, "INST", PLACE_LZ4, &payload);
    payload.size = 0;
    place_prop(&payload, 6, "SmoothGrid", values, 4);
    place_chunk(&file, "PROP", PLACE_LZ4, &payload);
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EBADMSG);
    place_chunk(&file, "PROP", PLACE_LZ4, &payload);
    place_end(&file);
    err = (struct tfs_error){0};
    ck_assert_int_eq(place_try(&tfs_rbx_binary_container, place_span(&file), &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "Terrains that are only kept have one property twice"));
    maker_release(&file);
    maker_release(&payload);
}
END_TEST

/* LZ4 whose first 64 bytes, which are looked at, are in order: 66 literals, then nonsense. */
static void add_broken_property(struct maker_bytes *file)
{
    place_hex(file, "50524f50 47000000 00010000 00000000 f0 33 05000000 05000000 4e616d6531");
    for (int i = 0; i < 53; i++)
        maker_u8(file, 'x');
    place_hex(file, "ffff 00");
}

START_TEST(binary_tolerates_what_is_none_of_its_business)
{
    struct maker_bytes file = {0};
    struct tfs_error err = {0};

    place_hex(&file, MAGIC "58595a20 00000000 01000000 00000000 ff" INST);
    size_t prop = file.size;
    place_hex(&file, "50524f50 00000000 19000000 eeeeeeee " NAMED_BODY "01 02000000 0105");
    size_t behind = file.size;
    add_broken_property(&file);
    place_hex(&file, END "0102");
    place_open(&c, &tfs_rbx_binary_container, &file);
    ck_assert_int_eq(place_create(&c, origin, &err), 0);
    struct maker_bytes made = place_encode(&c);
    behind = file.size - behind;
    ck_assert_uint_eq(made.size, file.size + 12 + 256);
    ck_assert_mem_eq(made.data, file.data, prop);
    ck_assert_mem_eq(made.data + made.size - behind, file.data + file.size - behind, behind);
    /* The reserved field is kept. */
    ck_assert_mem_eq(made.data + prop + 12, "\xee\xee\xee\xee", 4);
    maker_release(&file);
    maker_release(&made);
}
END_TEST

static Suite *binary_suite(void)
{
    Suite *suite = suite_create("roblox_binary");
    TCase *binary = unit_case_with(suite, "binary", NULL, teardown);

    tcase_add_loop_test(binary, places_that_cannot_be_written_say_why, 0, COUNT(locks));
    tcase_add_test(binary, terrain_beyond_the_first_is_kept_and_named);
    tcase_add_test(binary, value_without_bytes_stays_so_until_it_has_a_chunk);
    tcase_add_loop_test(binary, binary_is_refused_with_place_and_reason, 0, COUNT(bad_binaries));
    tcase_add_test(binary, zstandard_frame_of_another_size_is_refused);
    tcase_add_loop_test(binary, packed_bomb_is_refused_by_what_it_begins_with, 0, 2 * COUNT(bombs));
    tcase_add_test(binary,
                   zstandard_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken);
    tcase_add_loop_test(binary, properties_of_many_instances_cost_no_more_than_those_of_one, 0, 3);
    tcase_add_test(binary, more_terrains_than_anybody_has_are_refused);
    tcase_add_test(binary, values_of_kept_terrains_are_read_once);
    tcase_add_test(binary, binary_tolerates_what_is_none_of_its_business);
    return suite;
}

UNIT_MAIN(binary_suite)
