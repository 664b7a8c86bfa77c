/* formats/views/arrays/range.c: every range of an array is that of the whole, whichever chunks
 * there are. */
#include <stdlib.h>
#include <string.h>

#include "formats/views/arrays/kept.h"
#include "unit.h"

#define SIDE 2

static struct tfs_doc *doc;
static struct tfs_array array;
static struct tfs_save save;
static struct tfs_error err;
static size_t looked; /* chunks that were asked for values */

static const struct tfs_key keys[] = {
    {0, -1, 5, 0}, {0, 1, 5, 0}, {0, 0, 5, 2}, {0, 0, 7, 1}, {1, 90, 90, 9}};

/* A value that no other place has. */
static uint16_t value_at(struct tfs_key key, uint32_t y, uint32_t z, uint32_t x)
{
    return (uint16_t)(1 + ((key.x + 1) * 1000 + key.y * 100 + key.z * 10) +
                      (int)(4 * y + 2 * z + x));
}

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *e)
{
    uint16_t *values = malloc(SIDE * SIDE * SIDE * sizeof(*values));

    (void)wanted, (void)e;
    looked++;
    for (uint32_t i = 0; i < SIDE * SIDE * SIDE; i++)
        values[i] = value_at(cells->chunk.key, i / 4, i / 2 % 2, i % 2);
    cells->planes[0].values = values;
    return 0;
}

static void release(struct tfs_cells *cells)
{
    free(cells->planes[0].values);
}

static const struct tfs_plane plane = {.name = "value", .form = {TFS_PLANE_UNSIGNED, .width = 2}};
static const struct tfs_cells_kind kind = {
    .planes = &plane, .count = 1, .size = {SIDE, SIDE, SIDE}, .decode = decode, .release = release};
static const struct tfs_tree tree = {.cells = &kind};

/* Chunk number `damaged` is. */
static void make_with(const struct tfs_key *of, size_t count, size_t damaged)
{
    struct tfs_facts *facts;
    struct tfs_doc *empty;
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_facts_create(0, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &empty, &err), 0);
    ck_assert_int_eq(tfs_edit_open(empty, &edit, &err), 0);
    for (size_t i = 0; i < count; i++) {
        struct tfs_chunk chunk = {
            .key = of[i], .slot = TFS_SLOT_NONE, .flags = i == damaged ? TFS_CHUNK_DAMAGED : 0};
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    }
    doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
    save = (struct tfs_save){.tree = &tree};
    array = (struct tfs_array){
        .save = &save, .doc = doc, .kind = 'u', .sides = {SIDE, SIDE, SIDE}, .width = 2};
}

static void make(const struct tfs_key *of, size_t count)
{
    make_with(of, count, SIZE_MAX);
}

static void forget(void)
{
    tfs_save_caches_free(&save);
    save = (struct tfs_save){.tree = &tree};
    ck_assert_int_eq(tfs_save_caches_make(&save, &err), 0);
}

static void teardown(void)
{
    tfs_save_caches_free(&save);
    tfs_doc_unref(doc);
    doc = NULL;
}

/* Into memory that had other bytes; layers that were decoded before are kept. */
static struct tfs_buf next_part(uint64_t offset, uint64_t size)
{
    struct tfs_buf out = {0};

    memset(tfs_buf_reserve(&out, 1024), 0xee, 1024);
    ck_assert_int_eq(tfs_array_range(&array, offset, size, &out, &err), 0);
    return out;
}

static struct tfs_buf part(uint64_t offset, uint64_t size)
{
    forget();
    return next_part(offset, size);
}

START_TEST(array_spans_the_chunks_of_group_0)
{
    make(keys, 5);
    ck_assert(tfs_array_span(&array));
    ck_assert_uint_eq(array.chunks[0], 3); /* y 5 to 7 */
    ck_assert_uint_eq(array.chunks[1], 3);
    ck_assert_uint_eq(array.chunks[2], 3);
    ck_assert_uint_eq(tfs_array_size(&array), 128 + 6 * 6 * 6 * 2);
}
END_TEST

START_TEST(array_has_each_value_at_its_place)
{
    struct tfs_npy npy;
    struct tfs_span values;

    make(keys, 5);
    ck_assert(tfs_array_span(&array));
    struct tfs_buf whole = part(0, UINT64_MAX);
    ck_assert_int_eq(tfs_npy_take(tfs_buf_span(&whole), NULL, &npy, &values, &err), 0);
    size_t filled = 0;
    for (uint64_t i = 0; i < 216; i++)
        filled += tfs_npy_value(&npy, values, i / 36, i / 6 % 6, i % 6) != 0;
    ck_assert_uint_eq(filled, 4 * 8);
    for (size_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t y = i / 4, z = i / 2 % 2, x = i % 2;
            const uint64_t found =
                tfs_npy_value(&npy, values, 2 * (uint64_t)(keys[k].y - 5) + y,
                              2 * (uint64_t)keys[k].z + z, 2 * (uint64_t)(keys[k].x + 1) + x);
            ck_assert_uint_eq(found, value_at(keys[k], y, z, x));
        }
    tfs_buf_release(&whole);
}
END_TEST

START_TEST(array_gives_every_range)
{
    make(keys, 5);
    array.empty = (uint64_t)_i * 0x1234;
    ck_assert(tfs_array_span(&array));
    struct tfs_buf whole = part(0, UINT64_MAX);
    ck_assert_uint_eq(whole.size, tfs_array_size(&array));
    for (uint64_t offset = 0; offset <= whole.size; offset += 1 + offset % 3)
        for (uint64_t size = 1; size < 200; size += 1 + size % 5) {
            struct tfs_buf some = size == 1 ? part(offset, size) : next_part(offset, size);
            const uint64_t left = whole.size - offset;
            ck_assert_uint_eq(some.size, size < left ? size : left);
            ck_assert(some.size == 0 || memcmp(some.data, whole.data + offset, some.size) == 0);
            tfs_buf_release(&some);
        }
    tfs_buf_release(&whole);
}
END_TEST

START_TEST(array_looks_only_into_chunks_that_a_range_touches)
{
    make(keys, 5);
    ck_assert(tfs_array_span(&array));
    looked = 0;
    struct tfs_buf row = part(128 + 2 * 36 * 2, 36 * 2); /* a plane without chunks */
    ck_assert_uint_eq(looked, 0);
    tfs_buf_release(&row);
    row = part(128, 2 * 6 * 2); /* two rows of the lowest plane, and a third chunk behind them */
    ck_assert_uint_eq(looked, 2);
    tfs_buf_release(&row);
    looked = 0;
    row = part(128 + 4 * 36 * 2, 12); /* a row of the highest layer, with one chunk elsewhere */
    ck_assert_uint_eq(looked, 0);
    tfs_buf_release(&row);
}
END_TEST

/* A line has four chunks of four bytes. */
START_TEST(array_looks_along_a_line_only_into_chunks_of_the_range)
{
    static const struct tfs_key line[] = {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 2, 0, 0}, {0, 3, 0, 0}};
    static const struct {
        uint64_t offset, size;
        size_t chunks;
    } ranges[] = {{0, 1, 1},  {6, 2, 1},  {6, 3, 2},       {12, 4, 1}, {15, 2, 2},
                  {8, 12, 3}, {4, 16, 4}, {16 + 5, 11, 3}, {0, 32, 4}};

    make(line, 4);
    ck_assert(tfs_array_span(&array));
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        looked = 0;
        struct tfs_buf some = part(128 + ranges[i].offset, ranges[i].size);
        ck_assert_uint_eq(looked, ranges[i].chunks);
        tfs_buf_release(&some);
    }
}
END_TEST

START_TEST(array_looks_into_no_chunk_between_the_end_of_a_plane_and_the_next)
{
    static const struct tfs_key line[] = {{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 2}};

    make(line, 3);
    ck_assert(tfs_array_span(&array));
    looked = 0;
    struct tfs_buf rows = part(128 + 5 * 4, 2 * 4); /* the last row, and the first one */
    ck_assert_uint_eq(looked, 2);
    ck_assert_uint_eq(rows.data[0], (uint8_t)value_at(line[2], 0, 1, 0));
    ck_assert_uint_eq(rows.data[4], (uint8_t)value_at(line[0], 1, 0, 0));
    tfs_buf_release(&rows);
}
END_TEST

START_TEST(array_is_empty_where_a_chunk_is_missing_or_damaged)
{
    static const struct tfs_key line[] = {{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 2, 0, 0}, {0, 1, 0, 1}};
    struct tfs_npy npy;
    struct tfs_span values;

    make_with(line, 4, 1);
    array.empty = 0xa0b;
    ck_assert(tfs_array_span(&array));
    struct tfs_buf whole = part(0, UINT64_MAX);
    ck_assert_int_eq(tfs_npy_take(tfs_buf_span(&whole), NULL, &npy, &values, &err), 0);
    for (uint64_t i = 0; i < 48; i++) {
        const uint64_t y = i / 24, z = i / 6 % 4, x = i % 6;
        const bool there = z < 2 ? x < 2 || x > 3 : x == 2 || x == 3;
        const struct tfs_key key = {0, (int32_t)(x / 2), 0, (int32_t)(z / 2)};
        ck_assert_uint_eq(
            tfs_npy_value(&npy, values, y, z, x),
            there ? value_at(key, (uint32_t)y, (uint32_t)(z % 2), (uint32_t)(x % 2)) : 0xa0bU);
    }
    tfs_buf_release(&whole);
}
END_TEST

START_TEST(array_is_not_of_what_is_too_large_or_nothing)
{
    static const struct tfs_key far[] = {{0, INT32_MIN, 0, 0}, {0, INT32_MAX, 0, 0}};
    static const struct tfs_key wide[] = {{0, 0, 0, 0}, {0, 99999, 99999, 99999}};

    make(keys, 0);
    ck_assert(!tfs_array_span(&array));
    teardown();
    make(far, 2);
    ck_assert(!tfs_array_span(&array));
    teardown();
    make(wide, 2);
    ck_assert(!tfs_array_span(&array));
}
END_TEST

static Suite *range_suite(void)
{
    Suite *suite = suite_create("range");
    TCase *tcase = tcase_create("range");

    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, array_spans_the_chunks_of_group_0);
    tcase_add_test(tcase, array_has_each_value_at_its_place);
    tcase_add_loop_test(tcase, array_gives_every_range, 0, 2);
    tcase_add_test(tcase, array_looks_only_into_chunks_that_a_range_touches);
    tcase_add_test(tcase, array_looks_along_a_line_only_into_chunks_of_the_range);
    tcase_add_test(tcase, array_looks_into_no_chunk_between_the_end_of_a_plane_and_the_next);
    tcase_add_test(tcase, array_is_empty_where_a_chunk_is_missing_or_damaged);
    tcase_add_test(tcase, array_is_not_of_what_is_too_large_or_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(range_suite)
