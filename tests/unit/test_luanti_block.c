/*
 * formats/luanti: blobs of map blocks and the order of their names. The vectors are those of
 * luanti/FORMAT.md; an independent codec made them.
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "../lib/files_case.h"
#include "../lib/luanti_maker.h"
#include "formats/luanti/block.h"
#include "formats/luanti/lists.h"
#include "formats/luanti/order.h"
#include "unit.h"

static struct tfs_luanti_block block;
static struct tfs_error err;

static void setup(void)
{
    tfs_error_reset(&err);
    memset(&block, 0, sizeof(block));
}

static void teardown(void)
{
    tfs_luanti_block_release(&block);
}

static void open_block(const struct tfs_buf *blob)
{
    ck_assert_msg(tfs_luanti_block_open(tfs_buf_span(blob), &block, &err) == 0, "%s", err.text);
}

static struct tfs_buf made(unsigned version)
{
    struct tfs_buf blob = {0};

    luanti_block(&blob, version, (struct tfs_key){0, 1, -2, 3}, true);
    return blob;
}

/* ---- vectors --------------------------------------------------------------------------------- */

START_TEST(block_of_version_29_that_was_not_generated)
{
    struct tfs_buf blob =
        files_hex("1d 28b52ffd 00 58 f50000a80bff0000010000000669676e6f72650202000a"
                  "000002000000b09700b0");
    struct tfs_buf again = {0};

    open_block(&blob);
    ck_assert_uint_eq(block.memory.size, 16413);
    ck_assert_uint_eq(block.flags,
                      TFS_LUANTI_UNDERGROUND | TFS_LUANTI_NOT_AIR | TFS_LUANTI_NOT_GENERATED);
    ck_assert_uint_eq(block.timestamp, TFS_LUANTI_NO_TIMESTAMP);
    ck_assert_uint_eq(block.count, 1);
    ck_assert(tfs_luanti_is_ignore(block.names[0].name));
    ck_assert_int_eq(tfs_luanti_block_encode(&block, &again, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&again), tfs_buf_span(&blob)));
    tfs_buf_release(&again);
    tfs_buf_release(&blob);
}
END_TEST

START_TEST(block_of_version_28_of_air)
{
    struct tfs_buf blob = files_hex("1c01ffff0202789cedc13101000000c2a0f54f6d0c1fa000000000000000"
                                    "000000000000000080b70140000001789c63000000010001000000ffffff"
                                    "ff000001000000036169720a0000");
    struct tfs_buf again = {0};

    open_block(&blob);
    ck_assert(tfs_luanti_is_air(block.names[0].name));
    memset(block.streams, 0, sizeof(block.streams));
    ck_assert_int_eq(tfs_luanti_block_encode(&block, &again, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&again), tfs_buf_span(&blob)));
    tfs_buf_release(&again);
    tfs_buf_release(&blob);
}
END_TEST

static void check_order(enum tfs_luanti_order order, uint32_t count, const uint16_t *expected)
{
    uint16_t list[TFS_LUANTI_VOXELS];

    tfs_luanti_order_list(order, count, list);
    ck_assert_mem_eq(list, expected, count * sizeof(*list));
}

START_TEST(names_are_in_the_order_of_the_hash_tables)
{
    static const uint16_t a7[] = {6, 5, 4, 3, 2, 1, 0}, b7[] = {6, 1, 0, 2, 3, 4, 5};
    static const uint16_t a14[] = {13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const uint16_t b19[] = {18, 17, 16, 5,  4,  3,  2,  0,  1, 6,
                                   7,  8,  9,  10, 11, 12, 13, 14, 15};
    static const uint16_t up[] = {0, 1, 2};

    check_order(TFS_LUANTI_HASH_A, 7, a7);
    check_order(TFS_LUANTI_HASH_A, 14, a14);
    check_order(TFS_LUANTI_HASH_B, 7, b7);
    check_order(TFS_LUANTI_HASH_B, 19, b19);
    check_order(TFS_LUANTI_ASCENDING, 3, up);
}
END_TEST

START_TEST(largest_table_of_names_has_every_number_once)
{
    uint16_t list[TFS_LUANTI_VOXELS];
    bool seen[TFS_LUANTI_VOXELS] = {false}, twice = false;

    tfs_luanti_order_list((enum tfs_luanti_order)_i, TFS_LUANTI_VOXELS, list);
    for (unsigned i = 0; i < TFS_LUANTI_VOXELS; i++) {
        twice = twice || list[i] >= TFS_LUANTI_VOXELS || seen[list[i]];
        seen[list[i] % TFS_LUANTI_VOXELS] = true;
    }
    ck_assert(!twice);
}
END_TEST

/* ---- every version --------------------------------------------------------------------------- */

START_TEST(block_of_every_version_encodes_to_itself)
{
    struct tfs_buf blob = made((unsigned)_i), again = {0};

    open_block(&blob);
    ck_assert_int_eq(block.version, _i);
    ck_assert_uint_eq(block.count, 4);
    ck_assert_uint_eq(block.param2[0], 7);
    ck_assert_uint_eq(tfs_luanti_list_count(&block, TFS_LUANTI_METADATA), _i > 22);
    ck_assert_uint_eq(tfs_luanti_list_count(&block, TFS_LUANTI_TIMERS), _i > 23);
    ck_assert_uint_eq(tfs_luanti_list_count(&block, TFS_LUANTI_OBJECTS), 1);
    memset(block.streams, 0, sizeof(block.streams));
    ck_assert_int_eq(tfs_luanti_block_encode(&block, &again, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&again), tfs_buf_span(&blob)));
    tfs_buf_release(&again);
    tfs_buf_release(&blob);
}
END_TEST

/* Whatever is missing or wrong, it is told with a sentence. */
static void check_sentence(struct tfs_span blob)
{
    struct tfs_luanti_block other;
    struct tfs_error why = {0};

    if (tfs_luanti_block_open(blob, &other, &why) == 0) {
        tfs_luanti_block_release(&other);
        return;
    }
    ck_assert_msg(why.code == -EBADMSG || why.code == -ENOTSUP, "%d", why.code);
    ck_assert_int_ne(why.text[0], '\0');
}

START_TEST(every_truncation_is_told)
{
    struct tfs_buf blob = made((unsigned)_i);

    for (size_t size = 0; size < blob.size; size++) {
        struct tfs_luanti_block other;
        struct tfs_error why = {0};
        ck_assert_int_lt(tfs_luanti_block_open((struct tfs_span){blob.data, size}, &other, &why),
                         0);
        ck_assert_int_ne(why.text[0], '\0');
    }
    tfs_buf_release(&blob);
}
END_TEST

START_TEST(every_flipped_bit_is_read_or_told)
{
    struct tfs_buf blob = made((unsigned)_i);

    for (size_t bit = 0; bit < 8 * blob.size; bit++) {
        blob.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        check_sentence(tfs_buf_span(&blob));
        blob.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    tfs_buf_release(&blob);
}
END_TEST

START_TEST(version_of_another_engine_is_not_supported)
{
    const uint8_t bytes[] = {(uint8_t)_i, 0, 0};

    ck_assert_int_eq(tfs_luanti_block_open((struct tfs_span){bytes, 3}, &block, &err), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, "is not supported, only 22 to 29"));
}
END_TEST

START_TEST(bytes_behind_a_block_are_told)
{
    struct tfs_buf blob = made((unsigned)_i);

    tfs_buf_u8(&blob, 0);
    ck_assert_int_eq(tfs_luanti_block_open(tfs_buf_span(&blob), &block, &err), -EBADMSG);
    tfs_buf_release(&blob);
}
END_TEST

/* ---- hostile --------------------------------------------------------------------------------- */

/* A block of version 29 with these names and all nodes of number 0. */
static struct tfs_buf with_names(const char *names)
{
    struct tfs_buf head = files_hex("00 ffff ffffffff 00"), text = files_hex(names), blob = {0};
    struct tfs_buf nodes = {0}, rest = files_hex("00 0000 0a 0000"), none = files_hex("00");

    tfs_buf_add_span(&head, tfs_buf_span(&text));
    tfs_buf_add(&head, "\2\2", 2);
    tfs_buf_resize(&nodes, 4 * (size_t)TFS_LUANTI_VOXELS);
    luanti_pack(&blob, 29, tfs_buf_span(&head), tfs_buf_span(&nodes), tfs_buf_span(&none),
                tfs_buf_span(&rest));
    tfs_buf_release(&head);
    tfs_buf_release(&text);
    tfs_buf_release(&nodes);
    tfs_buf_release(&rest);
    tfs_buf_release(&none);
    return blob;
}

static const struct {
    const char *names;
    const char *sentence; /* NULL: it is read */
} tables[] = {
    {"0001 0000 0003 616972", NULL},
    {"0000", "has the number 0, which has no name"},
    {"0001 0001 0003 616972", "has the number 0, which has no name"},
    {"0002 0000 0003 616972 0000 0001 61", "two names have the number 0"},
    {"0002 0000 0003 616972 0005 0001 61", NULL},
    {"0002 0001 0003 616972 0000 0003 616972", NULL},
    {"0001 0000 0000", NULL},
};

START_TEST(table_of_names_is_read_or_told)
{
    struct tfs_buf blob = with_names(tables[_i].names);
    int result = tfs_luanti_block_open(tfs_buf_span(&blob), &block, &err);

    if (tables[_i].sentence == NULL) {
        ck_assert_msg(result == 0, "%s", err.text);
        ck_assert_uint_eq(block.count, 1);
    } else {
        ck_assert_int_eq(result, -EBADMSG);
        ck_assert_msg(strstr(err.text, tables[_i].sentence) != NULL, "%s", err.text);
    }
    tfs_buf_release(&blob);
}
END_TEST

START_TEST(frame_that_inflates_without_end_is_told)
{
    struct tfs_buf head = {0}, blob = {0};
    const struct tfs_span none = {0};

    tfs_buf_resize(&head, (size_t)70 << 20);
    luanti_pack(&blob, 29, tfs_buf_span(&head), none, none, none);
    ck_assert_int_eq(tfs_luanti_block_open(tfs_buf_span(&blob), &block, &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "at most that is read"));
    tfs_buf_release(&head);
    tfs_buf_release(&blob);
}
END_TEST

/* Nodes have one size: what is longer is not looked through. */
START_TEST(nodes_that_inflate_without_end_are_told_early)
{
    static const uint8_t head[] = {0, 0xff, 0xff, 2, 2};
    struct tfs_buf nodes = {0}, blob = {0};
    const struct tfs_span none = {0};

    tfs_buf_resize(&nodes, (size_t)1 << 20);
    luanti_pack(&blob, 28, (struct tfs_span){head, sizeof(head)}, tfs_buf_span(&nodes), none, none);
    ck_assert_int_eq(tfs_luanti_block_open(tfs_buf_span(&blob), &block, &err), -EBADMSG);
    ck_assert_str_eq(err.text, "more than 16384 bytes inflated, at most that is read");
    tfs_buf_release(&nodes);
    tfs_buf_release(&blob);
}
END_TEST

/* ---- real blocks ----------------------------------------------------------------------------- */

#define MAP "../shared/samples/luanti/mesecons.sqlite.gz"

/* The nodes and names of the block as the engine would write them: what is stored. */
static void check_canonical(const struct tfs_luanti_block *b)
{
    uint16_t ids[TFS_LUANTI_VOXELS], next = 0;
    struct tfs_buf nodes = {0};
    bool appear = true; /* in ascending order */

    ck_assert_uint_eq(b->count, b->stored);
    for (uint32_t i = 0; i < TFS_LUANTI_VOXELS; i++) {
        const uint32_t voxel = tfs_luanti_place(i);
        ids[voxel] = b->names[b->nodes[voxel]].id;
        appear = appear && ids[voxel] <= next;
        next = (uint16_t)(next + (ids[voxel] == next));
    }
    ck_assert(appear);
    tfs_luanti_nodes_encode(&nodes, b->width, ids, b->param1, b->param2);
    ck_assert(tfs_span_equal(tfs_buf_span(&nodes), b->sections[TFS_LUANTI_NODES]));
    ck_assert((tfs_luanti_orders_of(b) & 1u << TFS_LUANTI_ASCENDING) != 0);
    tfs_buf_release(&nodes);
}

/* Metadata that is written anew from its lines, in the same bytes. */
static void check_metadata(const struct tfs_luanti_block *b)
{
    struct tfs_buf lines = {0}, section = {0};

    if (tfs_luanti_list_count(b, TFS_LUANTI_METADATA) == 0)
        return;
    tfs_luanti_metadata_print(b, &lines);
    ck_assert_int_eq(tfs_luanti_metadata_parse(b->version, tfs_buf_span(&lines), &section, &err),
                     0);
    ck_assert(tfs_span_equal(tfs_buf_span(&section), b->sections[TFS_LUANTI_METADATA]));
    tfs_buf_release(&lines);
    tfs_buf_release(&section);
}

static void check_real_block(struct tfs_span blob)
{
    struct tfs_buf again = {0};

    ck_assert_msg(tfs_luanti_block_open(blob, &block, &err) == 0, "%s", err.text);
    check_canonical(&block);
    check_metadata(&block);
    memset(block.streams, 0, sizeof(block.streams));
    ck_assert_int_eq(tfs_luanti_block_encode(&block, &again, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&again), blob));
    tfs_buf_release(&again);
    tfs_luanti_block_release(&block);
}

START_TEST(every_real_block_comes_out_as_it_is_stored)
{
    struct tfs_buf map = {0};
    sqlite3 *db = NULL;
    sqlite3_stmt *rows = NULL;
    unsigned count = 0;

    ck_assert(luanti_sample(MAP, &map));
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_deserialize(db, "main", map.data, (sqlite3_int64)map.size,
                                         (sqlite3_int64)map.size, SQLITE_DESERIALIZE_READONLY),
                     SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT data FROM blocks", -1, &rows, NULL), SQLITE_OK);
    for (; sqlite3_step(rows) == SQLITE_ROW; count++)
        check_real_block(
            (struct tfs_span){sqlite3_column_blob(rows, 0), (size_t)sqlite3_column_bytes(rows, 0)});
    ck_assert_uint_eq(count, 12133);
    sqlite3_finalize(rows);
    sqlite3_close(db);
    tfs_buf_release(&map);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("luanti block");
    TCase *vectors = unit_case(suite, "vectors");
    TCase *versions = unit_case(suite, "versions");
    TCase *hostile = unit_case(suite, "hostile");
    TCase *real = unit_case(suite, "real");

    tcase_add_checked_fixture(vectors, setup, teardown);
    tcase_add_test(vectors, block_of_version_29_that_was_not_generated);
    tcase_add_test(vectors, block_of_version_28_of_air);
    tcase_add_test(vectors, names_are_in_the_order_of_the_hash_tables);
    tcase_add_loop_test(vectors, largest_table_of_names_has_every_number_once, 0,
                        TFS_LUANTI_ORDERS);
    tcase_add_checked_fixture(versions, setup, teardown);
    tcase_add_loop_test(versions, block_of_every_version_encodes_to_itself, 22, 30);
    tcase_add_loop_test(versions, every_truncation_is_told, 22, 30);
    tcase_add_loop_test(versions, every_flipped_bit_is_read_or_told, 22, 30);
    tcase_add_loop_test(versions, bytes_behind_a_block_are_told, 22, 30);
    tcase_add_checked_fixture(hostile, setup, teardown);
    tcase_add_loop_test(hostile, version_of_another_engine_is_not_supported, 20, 22);
    tcase_add_loop_test(hostile, version_of_another_engine_is_not_supported, 30, 32);
    tcase_add_loop_test(hostile, table_of_names_is_read_or_told, 0,
                        (int)(sizeof(tables) / sizeof(tables[0])));
    tcase_add_test(hostile, frame_that_inflates_without_end_is_told);
    tcase_add_test(hostile, nodes_that_inflate_without_end_are_told_early);
    tcase_add_checked_fixture(real, setup, teardown);
    tcase_set_timeout(real, 60);
    unit_add_where(access(MAP, R_OK) == 0, real, every_real_block_comes_out_as_it_is_stored, 1,
                   MAP);
    return suite;
}

UNIT_MAIN(make_suite)
