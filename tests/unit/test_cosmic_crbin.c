/* formats/cosmic_reach: block entities and where they are. */
#include <string.h>

#include "../lib/cosmic_case.h"
#include "formats/cosmic_reach/crbin.h"
#include "unit.h"

static struct tfs_error err;
static struct maker_bytes bytes;
static struct tfs_buf out;

static void setup(void)
{
    err = (struct tfs_error){0};
    bytes = (struct maker_bytes){0};
    out = (struct tfs_buf){0};
}

static void teardown(void)
{
    maker_release(&bytes);
    tfs_buf_release(&out);
}

static void field(int type, const char *name)
{
    maker_u8(&bytes, (unsigned)type);
    maker_string(&bytes, name);
}

/* Version 1: furnaces at these places, each with an array of items that have an x of their own. */
static void furnaces(const int32_t (*places)[3], int count)
{
    maker_s32(&bytes, 2);
    maker_string(&bytes, "base:furnace");
    maker_string(&bytes, "base:coal");
    field(19, "blockEntities");
    field(4, "x"); /* a long of the root is no coordinate */
    maker_u8(&bytes, 0);
    maker_s32(&bytes, 2);
    field(9, "stringId");
    field(3, "x");
    field(3, "y");
    field(3, "z");
    field(6, "heat");
    field(12, "levels");
    field(10, "fuel");
    maker_u8(&bytes, 0);
    field(3, "x");
    field(7, "lit");
    field(18, "names");
    maker_u8(&bytes, 0);
    maker_s32(&bytes, count + 1);
    maker_s32(&bytes, -1); /* none */
    for (int i = 0; i < count; i++) {
        maker_s32(&bytes, 0);
        maker_s32(&bytes, 0);
        for (int axis = 0; axis < 3; axis++)
            maker_s32(&bytes, places[i][axis]);
        maker_add(&bytes, "12345678", 8);
        maker_s32(&bytes, 2);
        maker_add(&bytes, "abcd", 4);
        maker_s32(&bytes, 1);
        maker_s32(&bytes, 77);
        maker_u8(&bytes, 1);
        maker_s32(&bytes, 1);
        maker_s32(&bytes, 1);
    }
    maker_add(&bytes, "88888888", 8);
}

static void zigzag(int32_t value)
{
    uint32_t v = (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);

    for (; v > 127; v >>= 7)
        maker_u8(&bytes, (v & 127) | 128);
    maker_u8(&bytes, v);
}

static void short_string(const char *text)
{
    zigzag((int32_t)strlen(text));
    maker_add(&bytes, text, strlen(text));
}

/* Version 2: one entity, and a field of that type at its end. */
static void second(int32_t x, int32_t y, int32_t z, unsigned last, const char *value)
{
    maker_add(&bytes, "CRB\x02", 4);
    zigzag(5);
    short_string("blockEntities");
    short_string("x");
    short_string("y");
    short_string("z");
    short_string("last");
    maker_u8(&bytes, 19);
    zigzag(0);
    maker_u8(&bytes, 0);
    zigzag(1);
    for (int i = 1; i <= 3; i++) {
        maker_u8(&bytes, 3);
        zigzag(i);
    }
    maker_u8(&bytes, last);
    zigzag(4);
    maker_u8(&bytes, 0);
    zigzag(1);
    zigzag(0);
    zigzag(x);
    zigzag(y);
    zigzag(z);
    maker_add(&bytes, value, strlen(value));
}

static int shift(int64_t x, int64_t y, int64_t z)
{
    const int64_t by[3] = {x, y, z};

    out.size = 0;
    return tfs_cosmic_crbin_shift(cosmic_span(&bytes), by, &out, &err);
}

START_TEST(entities_of_version_1_are_shifted_and_nothing_else)
{
    static const int32_t before[][3] = {{3, 64, -9}, {-16, 70, -1}},
                         after[][3] = {{-13, 64, 7}, {-32, 70, 15}};

    furnaces(before, 2);
    ck_assert_int_eq(shift(-16, 0, 16), 1);
    maker_release(&bytes);
    bytes = (struct maker_bytes){0};
    furnaces(after, 2);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), cosmic_span(&bytes)));
}
END_TEST

START_TEST(entities_of_version_2_are_shifted_though_their_numbers_grow)
{
    second(63, -1, 5, 4, "12345678");
    ck_assert_int_eq(shift(160000, -16, 0), 1);
    maker_release(&bytes);
    bytes = (struct maker_bytes){0};
    second(160063, -17, 5, 4, "12345678");
    ck_assert(tfs_span_equal(tfs_buf_span(&out), cosmic_span(&bytes)));
}
END_TEST

START_TEST(width_that_nobody_verified_is_not_guessed)
{
    second(1, 2, 3, 2, "12");
    ck_assert_int_eq(shift(16, 0, 0), 0);
    ck_assert_uint_eq(out.size, 0);
}
END_TEST

START_TEST(entity_that_would_leave_the_world_stays)
{
    static const int32_t place[][3] = {{INT32_MAX - 3, 0, 0}};

    furnaces(place, 1);
    ck_assert_int_eq(shift(16, 0, 0), 0);
    ck_assert_int_eq(shift(-16, 0, 0), 1);
}
END_TEST

START_TEST(bytes_that_are_cut_or_too_long_are_not_understood)
{
    static const int32_t place[][3] = {{3, 4, 5}};

    furnaces(place, 1);
    const size_t whole = bytes.size;
    for (bytes.size = 0; bytes.size < whole; bytes.size++)
        ck_assert_int_eq(shift(16, 0, 0), 0);
    maker_u8(&bytes, 0);
    ck_assert_uint_eq(bytes.size, whole + 1);
    ck_assert_int_eq(shift(16, 0, 0), 0);
}
END_TEST

/* Whatever the bytes are: no crash, and back again they are the same. */
START_TEST(every_changed_byte_is_understood_or_not)
{
    static const int32_t places[][3] = {{3, 4, 5}, {-3, 70, -500}};

    furnaces(places, 2);
    for (size_t i = 0; i < bytes.size; i++)
        for (unsigned value = 0; value < 256; value += 5) {
            const uint8_t kept = bytes.data[i];
            struct tfs_buf back = {0};
            bytes.data[i] = (uint8_t)value;
            if (shift(-16, 32, 48) == 1) {
                const int64_t by[3] = {16, -32, -48};
                ck_assert_int_eq(tfs_cosmic_crbin_shift(tfs_buf_span(&out), by, &back, &err), 1);
                ck_assert(tfs_span_equal(tfs_buf_span(&back), cosmic_span(&bytes)));
            }
            tfs_buf_release(&back);
            bytes.data[i] = kept;
        }
}
END_TEST

START_TEST(chunk_of_entities_is_the_one_that_all_are_in)
{
    static const int32_t same[][3] = {{-1, 16, 31}, {-16, 31, 16}},
                         two[][3] = {{0, 0, 0}, {16, 0, 0}};
    struct tfs_key chunk;

    furnaces(same, 2);
    ck_assert_int_eq(tfs_cosmic_crbin_chunk(cosmic_span(&bytes), &chunk, &err), 1);
    ck_assert_int_eq(tfs_key_compare(chunk, (struct tfs_key){0, -1, 1, 1}), 0);
    maker_release(&bytes);
    bytes = (struct maker_bytes){0};
    furnaces(two, 2);
    ck_assert_int_eq(tfs_cosmic_crbin_chunk(cosmic_span(&bytes), &chunk, &err), 0);
    maker_release(&bytes);
    bytes = (struct maker_bytes){0};
    furnaces(NULL, 0);
    ck_assert_int_eq(tfs_cosmic_crbin_chunk(cosmic_span(&bytes), &chunk, &err), 0);
}
END_TEST

/* ---- in a chunk ------------------------------------------------------------------------------ */

/* A region with the chunk 0_0_0 that has `bytes` as block entities. */
static void open_with_entities(struct tree_files *c)
{
    struct maker_region region = maker_region_init(2);
    struct maker_chunk *chunk = maker_region_add(&region, 0, 0, 0);

    maker_single(&chunk->body, "base:air[default]");
    maker_sky(&chunk->body, NULL);
    maker_u8(&chunk->body, 1);
    maker_entities(&chunk->body, (const char *)bytes.data, (int64_t)bytes.size);
    cosmic_open_maker(c, &region);
    maker_region_release(&region);
}

static void expect_entities(struct tree_files *c, struct tfs_key key, const int32_t (*places)[3])
{
    struct maker_bytes shown = cosmic_get(c, key, "entities.bin");

    maker_release(&bytes);
    bytes = (struct maker_bytes){0};
    furnaces(places, 2);
    ck_assert(tfs_span_equal(cosmic_span(&shown), cosmic_span(&bytes)));
    maker_release(&shown);
}

static const int32_t at_home[][3] = {{1, 2, 3}, {15, 0, 7}},
                     moved[][3] = {{33, 18, 3}, {47, 16, 7}};
static const struct tfs_key home = {0, 0, 0, 0}, away = {0, 2, 1, 0};

START_TEST(entities_move_with_their_chunk)
{
    struct tree_files c;

    furnaces(at_home, 2);
    open_with_entities(&c);
    ck_assert_int_eq(files_move(&c, home, away), 0);
    expect_entities(&c, away, moved);
    tree_files_close(&c);
}
END_TEST

START_TEST(entities_that_are_copied_into_a_new_chunk_move_there)
{
    static const char *const names[] = {"entities.bin", "raw.bin"};
    struct tree_files c;

    furnaces(at_home, 2);
    open_with_entities(&c);
    struct maker_bytes file = cosmic_get(&c, home, names[_i]);
    ck_assert_int_eq(files_create(&c, away), 0);
    ck_assert_int_eq(cosmic_put_fresh(&c, away, names[_i], cosmic_span(&file)), 0);
    expect_entities(&c, away, moved);
    /* In a chunk that is there they stay as they are. */
    ck_assert_int_eq(files_put(&c, away, names[_i], cosmic_span(&file)), 0);
    expect_entities(&c, away, at_home);
    maker_release(&file);
    tree_files_close(&c);
}
END_TEST

static Suite *crbin_suite(void)
{
    Suite *suite = suite_create("cosmic_crbin");
    TCase *tcase = unit_case(suite, "bytes"), *chunks = unit_case(suite, "chunks");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_checked_fixture(chunks, setup, teardown);
    tcase_add_test(tcase, entities_of_version_1_are_shifted_and_nothing_else);
    tcase_add_test(tcase, entities_of_version_2_are_shifted_though_their_numbers_grow);
    tcase_add_test(tcase, width_that_nobody_verified_is_not_guessed);
    tcase_add_test(tcase, entity_that_would_leave_the_world_stays);
    tcase_add_test(tcase, bytes_that_are_cut_or_too_long_are_not_understood);
    tcase_add_test(tcase, every_changed_byte_is_understood_or_not);
    tcase_add_test(tcase, chunk_of_entities_is_the_one_that_all_are_in);
    tcase_add_test(chunks, entities_move_with_their_chunk);
    tcase_add_loop_test(chunks, entities_that_are_copied_into_a_new_chunk_move_there, 0, 2);
    return suite;
}

UNIT_MAIN(crbin_suite)
