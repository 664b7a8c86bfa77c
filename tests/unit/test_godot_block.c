/* formats/godot_voxel: containers of one block, and BlockData. An independent codec made the
 * vectors. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "../lib/files_case.h"
#include "formats/godot_voxel/block.h"
#include "formats/godot_voxel/upgrade.h"
#include "limit_memory.h"

#define SAMPLES "../shared/samples/godot_voxel/"

static const char default_4[] =
    "021f000000300410000200f00911000011ff7f0100111032110f000100010001000df00d90";
static const char default_2[] =
    "010000001f300210000200f00911000011ffff01001110321100000100010001000df00d90";
static const char bare[] =
    "04 0200 0300 0200 00 0102030405060708090a0b0c 11ff7f 0100 111032 110f00 0100 0100 0100"
    "19000000 00 010002000000 01 0700000000000000 010002000100 28 aabb 0df00d90";
static const char headerless[] =
    "46000000f11104020003000200000102030405060708090a0b0c11ff7f0100111032110f0001020060190000"
    "00000127003000 01070c00000900c00002000100 28aabb0df00d90";

static glob_t samples; /* found before the tests fork */
static struct tfs_buf bytes;
static struct tfs_blob *stored;
static struct tfs_godot_block block;

static void release(void)
{
    tfs_godot_block_release(&block);
    tfs_blob_unref(stored);
    stored = NULL;
    tfs_buf_release(&bytes);
}

/* Opens what `bytes` holds. */
static int open_bytes(struct tfs_error *err)
{
    tfs_godot_block_release(&block);
    tfs_blob_unref(stored);
    stored = NULL;
    ck_assert_int_eq(tfs_blob_copy(tfs_buf_span(&bytes), &stored, err), 0);
    return tfs_godot_block_open(stored, &block, err);
}

static int open_hex(const char *text, struct tfs_error *err)
{
    tfs_buf_release(&bytes);
    bytes = files_hex(text);
    return open_bytes(err);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static const struct {
    const char *hex;
    enum tfs_godot_kind kind;
    unsigned version, x, y, z;
} vectors[] = {
    {default_4, TFS_GODOT_LZ4, 4, 16, 16, 16},
    {default_2, TFS_GODOT_LZ4_BE, 2, 16, 16, 16},
    {bare, TFS_GODOT_BARE, 4, 2, 3, 2},
    {headerless, TFS_GODOT_HEADERLESS, 4, 2, 3, 2},
};

START_TEST(block_is_found_in_its_container)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(open_hex(vectors[_i].hex, &err), 0);
    ck_assert_int_eq((int)block.kind, (int)vectors[_i].kind);
    ck_assert_uint_eq(block.version, vectors[_i].version);
    ck_assert_uint_eq(block.x, vectors[_i].x);
    ck_assert_uint_eq(block.y, vectors[_i].y);
    ck_assert_uint_eq(block.z, vectors[_i].z);
}
END_TEST

/* Encoded and wrapped again, the bytes are those that were there: but for the broken kind. */
static void check_again(void)
{
    struct tfs_buf data = {0}, again = {0};
    struct tfs_error err = {0};

    tfs_godot_block_encode(&block, &data);
    ck_assert(tfs_span_equal(tfs_buf_span(&data), tfs_blob_span(block.data)));
    ck_assert_int_eq(tfs_godot_wrap(block.kind, tfs_buf_span(&data), &again, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&again), tfs_buf_span(&bytes)));
    tfs_buf_release(&data);
    tfs_buf_release(&again);
}

START_TEST(block_is_encoded_as_it_was)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(open_hex(vectors[_i].hex, &err), 0);
    check_again();
}
END_TEST

START_TEST(sample_is_encoded_as_it_was)
{
    struct tfs_error err = {0};

    bytes = files_read_file(samples.gl_pathv[_i]);
    ck_assert_msg(open_bytes(&err) == 0, "%s: %s", samples.gl_pathv[_i], err.text);
    /* The bytes of Zstandard depend on its version. */
    if (block.kind != TFS_GODOT_ZSTD)
        check_again();
}
END_TEST

/* Every kind, also those that no sample has. */
START_TEST(container_reads_back_every_kind)
{
    enum tfs_godot_kind kind = (enum tfs_godot_kind)_i;
    struct tfs_buf data = files_hex(bare);
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_godot_wrap(kind, tfs_buf_span(&data), &bytes, &err), 0);
    ck_assert_int_eq(open_bytes(&err), 0);
    ck_assert(tfs_span_equal(tfs_blob_span(block.data), tfs_buf_span(&data)));
    ck_assert_int_eq((int)block.kind, (int)(kind == TFS_GODOT_LZ4_BROKEN ? TFS_GODOT_LZ4 : kind));
    for (size_t n = bytes.size; n > bytes.size / 2; n--)
        ck_assert(tfs_godot_block_may_begin((struct tfs_span){bytes.data, n}, bytes.size));
    tfs_buf_release(&data);
}
END_TEST

/* First bytes of files of other formats: terrain of Roblox, of BeamNG, a place, a database,
 * text. */
static const char *const others[] = {
    "01 05 00000000 00000000 00000000 41014202410342044105420641074208",
    "01 05 00000000 00000000 00000001 0102030405060708090a0b0c0d0e0f10",
    "08 00 10 00 00 1027 1027 1027",
    "09 00 10 00 00 1027 1027 1027",
    "04 00 00 00 00 00 00 00",
    "3c726f626c6f7821890a0d0a1a0a0000",
    "53514c69746520666f726d6174203300",
    "22 00000000",
    "00",
};

START_TEST(large_file_of_another_format_is_no_block_by_its_first_bytes)
{
    struct tfs_buf head = files_hex(others[_i]);
    static const uint64_t sizes[] = {4096, 90000000, 250000000};

    for (size_t i = 0; i < COUNT(sizes); i++)
        ck_assert(!tfs_godot_block_may_begin(tfs_buf_span(&head), sizes[i]));
    tfs_buf_release(&head);
}
END_TEST

START_TEST(container_1_with_a_little_endian_size_is_read)
{
    struct tfs_error err = {0};

    bytes = files_hex(default_4);
    bytes.data[0] = 1;
    ck_assert_int_eq(open_bytes(&err), 0);
    ck_assert_int_eq((int)block.kind, (int)TFS_GODOT_LZ4_BROKEN);
}
END_TEST

/* ---- blocks of every shape ------------------------------------------------------------------- */

START_TEST(dense_channel_of_equal_values_stays_dense)
{
    struct tfs_error err = {0};

    bytes = files_read_file(SAMPLES "engine_v4/none_but_uniform_data6.blk");
    ck_assert_int_eq(open_bytes(&err), 0);
    ck_assert_int_eq((int)block.channels[TFS_GODOT_DATA6].mode, (int)TFS_GODOT_NONE);
    check_again();
}
END_TEST

START_TEST(metadata_of_size_0_is_read_and_not_written)
{
    struct tfs_buf data = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(open_hex("04 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100"
                              "00000000 0df00d90",
                              &err),
                     0);
    ck_assert(block.has_metadata);
    ck_assert_uint_eq(block.metadata.size, 0);
    tfs_godot_block_encode(&block, &data);
    ck_assert_uint_eq(data.size, TFS_GODOT_DATA_MIN);
    tfs_buf_release(&data);
}
END_TEST

/* ---- bad bytes ------------------------------------------------------------------------------- */

#define CHANNELS "0100 0100 0100 0100 0100 0100 0100 0100"

static const struct {
    const char *hex;
    const char *sentence;
} bads[] = {
    {"", "the block is cut off within its header, at byte 0"},
    {"05 0100 0100 0100" CHANNELS "0df00d90", "block version 5 is not supported, only 2 to 4"},
    {"04 0000 0100 0100" CHANNELS "0df00d90",
     "the block has 0 x 1 x 1 voxels, at most 16777216 are read"},
    {"00 04 0010 0010 0200" CHANNELS "0df00d90",
     "the block has 4096 x 4096 x 2 voxels, at most 16777216 are read"},
    {"00 04 ffff ffff ffff" CHANNELS "0df00d90",
     "the block has 65535 x 65535 x 65535 voxels, at most 16777216 are read"},
    {"00 04 0100 0100 0100 0200 0100 0100 0100 0100 0100 0100 0100 0df00d90",
     "channel 0, at byte 7, has the unknown mode 2"},
    {"00 04 0100 0100 0100 0100 4100 0100 0100 0100 0100 0100 0100 0df00d90",
     "channel 1, at byte 9, has the unknown depth 4"},
    {"00 04 ff00 0100 0100 0000 0100 0100 0100 0100 0100 0100 0100 0df00d90",
     "the block is cut off within its channels, at byte 8"},
    {"00 04 0100 0100 0100" CHANNELS "0df00d91", "the block does not end in 0df00d90"},
    {"00 04 0100 0100 0100" CHANNELS "0df0", "the block is cut off within its end, at byte 23"},
    {"00 04 0100 0100 0100" CHANNELS "02000000 00 0df00d90",
     "the metadata, at byte 23, does not end where the block ends"},
    {"00 04 0100 0100 0100" CHANNELS "00 0df00d90",
     "the metadata, at byte 23, does not end where the block ends"},
    {"02 1f0000", "it is cut off within the header of its container"},
    {"02 ffffff7f 00", "its container claims 2147483647 bytes, at most 268435456 are read"},
    {"02 ffffff0f 00 00",
     "its container claims 268435455 bytes, more than 2 bytes of LZ4 can hold"},
    {"02 20000000 300410000200f00911000011ff7f0100111032110f000100010001000df00d90",
     "its LZ4 data is damaged"},
    {"02 1e000000 300410000200f00911000011ff7f0100111032110f000100010001000df00d90",
     "its LZ4 data is damaged"},
    {"02 08000000 10 04 0000 00", "its LZ4 data is damaged"},
    {"03 08000000 28b52ffd", "its Zstandard data is damaged"},
};

START_TEST(damage_has_a_sentence)
{
    struct tfs_error err = {0};

    ck_assert_int_eq(open_hex(bads[_i].hex, &err), -EBADMSG);
    ck_assert_str_eq(err.text, bads[_i].sentence);
}
END_TEST

/* Cut anywhere, or with any byte another one: refused, or a block that encodes to itself. */
/* So many zeros in a container of that kind. */
static void open_zeros(enum tfs_godot_kind kind, size_t size, struct tfs_error *err)
{
    struct tfs_buf zeros = {0}, packed = {0};
    uint8_t *room = tfs_buf_reserve(&zeros, size);

    ck_assert_ptr_nonnull(room);
    memset(room, 0, size);
    zeros.size = size;
    ck_assert_int_eq(tfs_godot_wrap(kind, tfs_buf_span(&zeros), &packed, err), 0);
    tfs_buf_add_span(&bytes, tfs_buf_span(&packed));
    tfs_buf_release(&packed);
    tfs_buf_release(&zeros);
    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(open_bytes(err), -EBADMSG);
}

START_TEST(container_of_a_bomb_is_refused_by_what_it_begins_with)
{
    struct tfs_error err = {0};

    open_zeros((enum tfs_godot_kind)_i, (size_t)128 << 20, &err);
    ck_assert_str_eq(err.text, "block version 0 is not supported, only 2 to 4");
}
END_TEST

START_TEST(zstandard_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken)
{
    struct tfs_error err = {0};

    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(open_hex("03 00000008 28b52ffd 20 01 0d0000 04", &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "claims 134217728 bytes, more than 10 bytes of "
                                           "Zstandard can hold"));
}
END_TEST

START_TEST(damage_anywhere_is_refused_or_harmless)
{
    struct tfs_buf whole = files_hex(vectors[_i].hex);

    for (size_t n = 0; n < whole.size; n++) {
        struct tfs_error err = {0};
        tfs_buf_clear(&bytes);
        tfs_buf_add(&bytes, whole.data, n);
        ck_assert_int_eq(open_bytes(&err), -EBADMSG);
        ck_assert(err.text[0] != '\0');
    }
    for (size_t n = 0; n < whole.size * 255; n++) {
        struct tfs_error err = {0};
        struct tfs_buf data = {0};
        tfs_buf_clear(&bytes);
        tfs_buf_add_span(&bytes, tfs_buf_span(&whole));
        bytes.data[n / 255] = (uint8_t)(bytes.data[n / 255] + 1 + n % 255);
        if (open_bytes(&err) < 0)
            continue;
        tfs_godot_block_encode(&block, &data);
        ck_assert(block.has_metadata && block.metadata.size == 0
                      ? data.size < block.data->size
                      : tfs_span_equal(tfs_buf_span(&data), tfs_blob_span(block.data)));
        tfs_buf_release(&data);
    }
    tfs_buf_release(&whole);
}
END_TEST

/* ---- upgrade --------------------------------------------------------------------------------- */

static const struct {
    unsigned depth, before;
    int after;
} distances[] = {
    {0, 255, 127},  {0, 254, 127}, {0, 127, 0},       {0, 128, 1},
    {0, 0, -127},   {0, 126, -1},  {1, 65535, 32767}, {1, 32767, 0},
    {1, 0, -32767}, {1, 32768, 1}, {1, 32766, -1},    {1, 65534, 32767},
};

START_TEST(upgrade_turns_small_distances_signed)
{
    unsigned depth = distances[_i].depth;
    struct tfs_buf data = {0};
    struct tfs_godot_block after;
    struct tfs_error err = {0};
    char hex[200];

    snprintf(hex, sizeof(hex),
             "02 0100 0100 0100 0105 %s %s 0107 111032 110000 0100 0100 0100 "
             "0df00d90",
             depth == 0 ? "01" : "11", depth == 0 ? "00" : "0000");
    ck_assert_int_eq(open_hex(hex, &err), 0);
    uint8_t *value = bytes.data + 10;
    value[0] = (uint8_t)distances[_i].before;
    if (depth == 1)
        value[1] = (uint8_t)(distances[_i].before >> 8);
    ck_assert_int_eq(open_bytes(&err), 0);
    ck_assert_int_eq(tfs_godot_block_upgrade(&block, &data, &err), 0);
    ck_assert_int_eq(tfs_godot_block_parse(tfs_buf_span(&data), &after, &err), 0);
    ck_assert_uint_eq(after.version, 4);
    const uint8_t *found = after.channels[TFS_GODOT_SDF].bytes.data;
    int signed_value = depth == 0 ? (int8_t)found[0] : (int16_t)(found[0] | found[1] << 8);
    ck_assert_int_eq(signed_value, distances[_i].after);
    ck_assert_uint_eq(after.channels[TFS_GODOT_TYPE].bytes.data[0], 5);
    /* Weights of version 2 are data, not a default. */
    ck_assert_uint_eq(after.channels[TFS_GODOT_WEIGHTS].bytes.data[0], 0);
    tfs_buf_release(&data);
}
END_TEST

static Suite *block_suite(void)
{
    Suite *suite = suite_create("godot_block");
    TCase *tcase = unit_case(suite, "bytes");

    glob(SAMPLES "*/*.blk", 0, NULL, &samples);
    glob(SAMPLES "*/*.bin", GLOB_APPEND, NULL, &samples);
    tcase_add_checked_fixture(tcase, NULL, release);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, block_is_found_in_its_container, 0, COUNT(vectors));
    tcase_add_loop_test(tcase, block_is_encoded_as_it_was, 0, COUNT(vectors));
    unit_add_samples(tcase, sample_is_encoded_as_it_was, samples.gl_pathc, SAMPLES);
    tcase_add_loop_test(tcase, container_reads_back_every_kind, 0, TFS_GODOT_KINDS);
    tcase_add_loop_test(tcase, large_file_of_another_format_is_no_block_by_its_first_bytes, 0,
                        COUNT(others));
    tcase_add_test(tcase, container_1_with_a_little_endian_size_is_read);
    unit_add_where(samples.gl_pathc > 0, tcase, dense_channel_of_equal_values_stays_dense, 1,
                   SAMPLES);
    tcase_add_test(tcase, metadata_of_size_0_is_read_and_not_written);
    tcase_add_loop_test(tcase, damage_has_a_sentence, 0, COUNT(bads));
    tcase_add_loop_test(tcase, container_of_a_bomb_is_refused_by_what_it_begins_with,
                        TFS_GODOT_LZ4_BE, TFS_GODOT_LZ4 + 1);
    tcase_add_test(tcase,
                   zstandard_that_claims_more_than_it_can_hold_is_refused_before_memory_is_taken);
    tcase_add_loop_test(tcase, damage_anywhere_is_refused_or_harmless, 0, COUNT(vectors));
    tcase_add_loop_test(tcase, upgrade_turns_small_distances_signed, 0, COUNT(distances));
    return suite;
}

UNIT_MAIN(block_suite)
