/* formats/roblox/value and tree: which bytes come of chunks that are made, moved and removed. */
#include <errno.h>
#include <string.h>

#include "../lib/place_case.h"
#include "formats/roblox/source.h"
#include "unit.h"

static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
}

/* Chunks of edge 1 at x = 0, 2, 4: Grass, Slate, Sand. */
static const char three[] = "01 00  000000 000000 000000 000000 02"
                            "       000000 000000 000000 020000 03"
                            "       000000 000000 000000 020000 06";

static struct tfs_key at_x(int32_t x)
{
    return (struct tfs_key){.x = x};
}

static void assert_file(struct tree_files *of, const char *wanted)
{
    struct maker_bytes file = place_encode(of);
    struct maker_bytes bytes = {0};

    place_hex(&bytes, wanted);
    ck_assert_uint_eq(file.size, bytes.size);
    ck_assert(file.size == 0 || memcmp(file.data, bytes.data, bytes.size) == 0);
    maker_release(&file);
    maker_release(&bytes);
}

START_TEST(value_of_an_untouched_document_is_the_file)
{
    place_open_hex(&c, three);
    assert_file(&c, three);
}
END_TEST

START_TEST(value_of_an_edit_taken_back_is_the_file)
{
    struct tfs_error err = {0};

    place_open_hex(&c, three);
    ck_assert_int_eq(place_create(&c, at_x(3), &err), 0);
    ck_assert_int_eq(place_move(&c, at_x(2), at_x(-9), &err), 0);
    ck_assert_int_eq(place_remove(&c, at_x(3), &err), 0);
    ck_assert_int_eq(place_move(&c, at_x(-9), at_x(2), &err), 0);
    assert_file(&c, three);
}
END_TEST

START_TEST(new_chunk_is_air_between_its_neighbours)
{
    struct tfs_error err = {0};

    place_open_hex(&c, three);
    ck_assert_int_eq(place_create(&c, at_x(3), &err), 0);
    assert_file(&c, "01 00  000000 000000 000000 000000 02"
                    "       000000 000000 000000 020000 03"
                    "       000000 000000 000000 010000 00"
                    "       000000 000000 000000 010000 06");
    ck_assert_int_eq(place_create(&c, at_x(9), &err), 0);
    ck_assert_int_eq(place_create(&c, at_x(-1), &err), 0);
    assert_file(&c, "01 00  ff0000 ff0000 ff0000 ff0000 00"
                    "       000000 000000 000000 010000 02"
                    "       000000 000000 000000 020000 03"
                    "       000000 000000 000000 010000 00"
                    "       000000 000000 000000 010000 06"
                    "       000000 000000 000000 050000 00");
}
END_TEST

START_TEST(order_is_x_before_y_before_z)
{
    struct tfs_error err = {0};

    place_open_hex(&c, "01 00");
    ck_assert_int_eq(place_create(&c, (struct tfs_key){0, 1, 0, 0}, &err), 0);
    ck_assert_int_eq(place_create(&c, (struct tfs_key){0, 0, 1, 0}, &err), 0);
    ck_assert_int_eq(place_create(&c, (struct tfs_key){0, 0, 0, 1}, &err), 0);
    assert_file(&c, "01 00  000000 000000 000000 000001 00"
                    "       0000ff 0000ff 0000ff 0001ff 00"
                    "       00ff00 00ff00 00ff00 01ff00 00");
}
END_TEST

START_TEST(removed_chunk_changes_the_offset_behind_it_alone)
{
    struct tfs_error err = {0};

    place_open_hex(&c, three);
    ck_assert_int_eq(place_remove(&c, at_x(2), &err), 0);
    assert_file(&c, "01 00  000000 000000 000000 000000 02"
                    "       000000 000000 000000 040000 06");
    ck_assert_int_eq(place_remove(&c, at_x(0), &err), 0);
    ck_assert_int_eq(place_remove(&c, at_x(4), &err), 0);
    assert_file(&c, "01 00");
    ck_assert_int_eq(place_remove(&c, at_x(4), &err), -ENOENT);
}
END_TEST

START_TEST(moved_chunk_keeps_its_records)
{
    struct tfs_error err = {0};

    /* Not canonical: Grass with its occupancy given. */
    place_open_hex(&c, "01 00  000000 000000 000000 000000 42 ff"
                       "       000000 000000 000000 020000 03");
    ck_assert_int_eq(place_move(&c, at_x(0), at_x(3), &err), 0);
    assert_file(&c, "01 00  000000 000000 000000 020000 03"
                    "       000000 000000 000000 010000 42 ff");
}
END_TEST

START_TEST(moved_chunk_keeps_its_slot)
{
    struct tfs_error err = {0};

    place_open_hex(&c, three);
    uint32_t slot = tfs_doc_find(c.doc, at_x(2))->slot;
    ck_assert_int_eq(place_move(&c, at_x(2), at_x(7), &err), 0);
    ck_assert_uint_eq(tfs_doc_find(c.doc, at_x(7))->slot, slot);
}
END_TEST

START_TEST(value_that_does_not_ascend_keeps_its_order)
{
    struct tfs_error err = {0};

    /* x = 5, 1, 3. */
    place_open_hex(&c, "01 00  000000 000000 000000 050000 02"
                       "       ff0000 ff0000 ff0000 fc0000 03"
                       "       000000 000000 000000 020000 06");
    ck_assert_ptr_nonnull(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING));
    ck_assert_int_eq(place_create(&c, at_x(2), &err), 0);
    ck_assert_int_eq(place_create(&c, at_x(6), &err), 0);
    /* 2 before the first greater one, which is 5; 6 at the end. */
    assert_file(&c, "01 00  000000 000000 000000 020000 00"
                    "       000000 000000 000000 030000 02"
                    "       ff0000 ff0000 ff0000 fc0000 03"
                    "       000000 000000 000000 020000 06"
                    "       000000 000000 000000 030000 00");
}
END_TEST

START_TEST(new_chunk_has_the_edge_of_the_others)
{
    struct tfs_error err = {0};

    place_open_hex(&c, "01 01");
    ck_assert_int_eq(place_create(&c, at_x(0), &err), 0);
    assert_file(&c, "01 01 000000 000000 000000 000000 80 07");
}
END_TEST

START_TEST(chunk_too_far_out_is_refused_where_it_is_new)
{
    struct tfs_error err = {0};

    /* x = 262145 is stored. */
    place_open_hex(&c, "01 00  000000 040000 000000 010000 02");
    ck_assert_ptr_nonnull(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING));
    ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_MATERIALS), at_x(262145), "fill 3", &err), 0);
    ck_assert_int_eq(place_create(&c, at_x(262144), &err), 0);
    ck_assert_int_eq(place_create(&c, (struct tfs_key){0, 0, -262145, 0}, &err), -EINVAL);
    ck_assert_str_eq(err.text, "chunk 0_-262145_0 is too far out: the engine takes coordinates "
                               "from -262144 to 262144");
    tfs_error_reset(&err);
    ck_assert_int_eq(place_move(&c, at_x(262144), at_x(262146), &err), -EINVAL);
}
END_TEST

START_TEST(chunk_with_its_last_voxel_gone_stays)
{
    struct tfs_error err = {0};

    place_open_hex(&c, three);
    ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_MATERIALS), at_x(2), "fill 0", &err), 0);
    assert_file(&c, "01 00  000000 000000 000000 000000 02"
                    "       000000 000000 000000 020000 00"
                    "       000000 000000 000000 020000 06");
}
END_TEST

static const struct {
    const char *name;
    uint8_t bytes[TFS_PROBE_HEAD];
    size_t size;
    int bid;
} probes[] = {
    {"another version", {2, 5}, 2, TFS_BID_NONE},
    {"an edge nobody has", {1, 9}, 2, TFS_BID_NONE},
    {"one byte", {1}, 1, TFS_BID_NONE},
    {"nothing", {0}, 0, TFS_BID_NONE},
};

START_TEST(probe_wants_the_first_bytes)
{
    struct tfs_probe probe = {.head = {probes[_i].bytes, probes[_i].size}, .fd = -1};

    ck_assert_int_eq(tfs_rbx_blob_container.probe(&probe), probes[_i].bid);
}
END_TEST

static Suite *value_suite(void)
{
    Suite *suite = suite_create("roblox_value");
    TCase *chunks = unit_case_with(suite, "chunks", NULL, teardown);

    tcase_add_test(chunks, value_of_an_untouched_document_is_the_file);
    tcase_add_test(chunks, value_of_an_edit_taken_back_is_the_file);
    tcase_add_test(chunks, new_chunk_is_air_between_its_neighbours);
    tcase_add_test(chunks, order_is_x_before_y_before_z);
    tcase_add_test(chunks, removed_chunk_changes_the_offset_behind_it_alone);
    tcase_add_test(chunks, moved_chunk_keeps_its_records);
    tcase_add_test(chunks, moved_chunk_keeps_its_slot);
    tcase_add_test(chunks, value_that_does_not_ascend_keeps_its_order);
    tcase_add_test(chunks, new_chunk_has_the_edge_of_the_others);
    tcase_add_test(chunks, chunk_too_far_out_is_refused_where_it_is_new);
    tcase_add_test(chunks, chunk_with_its_last_voxel_gone_stays);
    tcase_add_loop_test(chunks, probe_wants_the_first_bytes, 0, COUNT(probes));
    return suite;
}

UNIT_MAIN(value_suite)
