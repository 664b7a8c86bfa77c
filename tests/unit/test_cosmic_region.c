/* formats/cosmic_reach, region files: both layouts, gzip around them, and chunks that come and
 * go. */
#include <errno.h>
#include <zlib.h>

#include "../lib/changed_files.h"
#include "limit_memory.h"
#include "region_case.h"

/* ---- test vectors ---------------------------------------------------------------------------- */

START_TEST(test_vector_1)
{
    struct maker_bytes file = cosmic_hex(
        "ffecceac0000000700000002 1f8b08000000000000ff "
        "6360606064fa8f173030e0971f05431d303030a801313b23907000620120e607713892128b53ad12338b98815c"
        "00 099a37f2 2b020000");
    struct maker_bytes body = cosmic_hex("01 00000008 626173653a616972 | 03 0f | 01 | 00");

    ck_assert_int_eq(cosmic_open(&c, "/w/region_4_1_0.cosmicreach", cosmic_span(&file)), 0);
    ck_assert_uint_eq(c.doc->count, 1);
    ck_assert(tfs_span_equal(cosmic_body(&c, (struct tfs_key){0, 64, 16, 15}), cosmic_span(&body)));
    ck_assert_uint_eq(c.doc->facts->note_count, 0);
    if (strcmp(zlibVersion(), ZLIB_VERSION) == 0 && strstr(ZLIB_VERSION, "ng") == NULL)
        check_encodes_to(&file);
    maker_release(&file);
    maker_release(&body);
}
END_TEST

START_TEST(test_vector_2)
{
    struct maker_bytes file =
        cosmic_hex("ffecceac 00000002 00000000 00000001 ff*16384 0000002e 00000002 ffffffff "
                   "00000002 fffffff0 | 01 00000011 626173653a6169725b64656661756c745d | 03 0f | "
                   "01 | 00");

    ck_assert_uint_eq(file.size, 16446);
    set_s32(&file, 0xbd0, 0x4010);
    ck_assert_int_eq(cosmic_open(&c, "region_-1_0_-1.cosmicreach", cosmic_span(&file)), 0);
    ck_assert_uint_eq(c.doc->count, 1);
    ck_assert_uint_eq(cosmic_body(&c, (struct tfs_key){0, -1, 2, -16}).size, 26);
    ck_assert_uint_eq(c.doc->facts->note_count, 0);
    check_encodes_to(&file);
    maker_release(&file);
}
END_TEST

/* ---- containers ------------------------------------------------------------------------------ */

START_TEST(random_regions_of_every_version_come_out_as_they_went_in)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct maker_region r = maker_region_init(_i);
        maker_random_region(&r, (unsigned)(seed * 13 - 13), seed);
        struct maker_bytes file = written(&r);
        ck_assert_msg(cosmic_open(&c, "any", cosmic_span(&file)) == 0, "%s", c.err.text);
        ck_assert_uint_eq(c.doc->count, r.count);
        ck_assert_uint_eq(notes(TFS_NOTE_READ_ONLY) + notes(TFS_NOTE_DAMAGED), 0);
        check_encodes_to(&file);
        tree_files_close(&c);
        maker_release(&file);
        maker_region_release(&r);
    }
}
END_TEST

START_TEST(every_offset_type_is_kept)
{
    struct maker_region r = small_region(7);

    r.offsets = (unsigned)_i;
    struct maker_bytes file = written(&r);
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    ck_assert_uint_eq(((struct tfs_cosmic_facts *)c.doc->facts->own)->offset_type, (unsigned)_i);
    check_encodes_to(&file);
    maker_release(&file);
    maker_region_release(&r);
}
END_TEST

/* Entities make the first column so long that the second begins at `offset`. */
static const struct {
    unsigned from, to;
    int64_t offset;
} widths[] = {
    {1, 1, 127}, {1, 2, 128}, {2, 2, 32767}, {2, 3, 32768}, {1, 3, 70000}, {4, 4, 128},
};

START_TEST(an_offset_type_grows_only_when_it_must)
{
    struct maker_region r = small_region(7);
    static uint8_t zeros[70000];
    const struct tfs_key key = {0};

    r.offsets = widths[_i].from;
    cosmic_open_maker(&c, &r);
    /* The column has 88 bytes, entities add 4 and their own. */
    size_t size = (size_t)(widths[_i].offset - 9 - 2 * 29 - 4);
    ck_assert_int_eq(files_put(&c, key, "entities.bin", (struct tfs_span){zeros, size}), 0);
    struct maker_bytes file = cosmic_encode(&c);
    tree_files_close(&c);
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    ck_assert_uint_eq(((struct tfs_cosmic_facts *)c.doc->facts->own)->offset_type, widths[_i].to);
    maker_release(&file);
    maker_region_release(&r);
}
END_TEST

START_TEST(a_region_without_chunks_has_an_empty_table)
{
    struct maker_region empty = maker_region_init(_i);
    struct maker_region r = small_region(_i);

    empty.compression = 0;
    struct maker_bytes expected = written(&empty);
    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, 0, 0, 0}), 0);
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, 0, 3, 0}), 0);
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, 1, 0, 0}), 0);
    check_encodes_to(&expected);
    tree_files_close(&c);
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&expected)), 0);
    ck_assert_uint_eq(c.doc->count, 0);
    ck_assert_uint_eq(c.doc->facts->note_count, 0);
    maker_release(&expected);
    maker_region_release(&empty);
    maker_region_release(&r);
}
END_TEST

/* ---- gzip ------------------------------------------------------------------------------------ */

START_TEST(a_plain_gzip_header_is_kept)
{
    struct maker_bytes file = gzip_file();

    memcpy(file.data + 12 + 4, "\1\2\3\4\0\3", 6); /* a time, and written on Unix */
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    check_encodes_to(&file);
    maker_release(&file);
}
END_TEST

START_TEST(a_gzip_header_with_a_name_becomes_the_one_of_the_game)
{
    struct maker_bytes plain = gzip_file(), named = {0};

    maker_add(&named, plain.data, 22);
    named.data[12 + 3] = 8;
    maker_add(&named, "name", 5);
    maker_add(&named, plain.data + 22, plain.size - 22);
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&named)), 0);
    check_encodes_to(&plain);
    maker_release(&plain);
    maker_release(&named);
}
END_TEST

START_TEST(bytes_behind_the_gzip_member_make_the_save_read_only)
{
    struct maker_bytes file = gzip_file();
    size_t size = file.size;
    char expected[80];

    maker_add(&file, "abc", 3);
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    snprintf(expected, sizeof(expected), "offset %zu: 3 bytes behind the gzip member", size);
    ck_assert_str_eq(note(TFS_NOTE_READ_ONLY), expected);
    ck_assert_uint_eq(c.doc->count, 3);
    maker_release(&file);
}
END_TEST

START_TEST(a_broken_gzip_member_is_refused)
{
    struct maker_bytes file = gzip_file();

    file.data[file.size - 8] ^= 1;
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(c.err.text, "the gzip data is damaged: incorrect data check"));
    tree_files_close(&c);
    file.data[file.size - 8] ^= 1;
    file.data[file.size - 4] ^= 1;
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(c.err.text, "the gzip data is damaged: incorrect length check"));
    tree_files_close(&c);
    file.size -= 9;
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(c.err.text, "the gzip data is cut off"));
    maker_release(&file);
}
END_TEST

/* A file whose payload is these bytes, then so many zeros. */
static struct maker_bytes gzip_of_zeros(const struct maker_bytes *head, size_t zeros)
{
    static uint8_t none[1 << 16];
    struct maker_bytes file = cosmic_hex("ffecceac0000000700000002");
    uint8_t packed[1 << 16];
    z_stream z = {0};

    ck_assert_int_eq(deflateInit2(&z, 1, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = head->data;
    z.avail_in = (uInt)head->size;
    for (int status = Z_OK; status != Z_STREAM_END;) {
        z.next_out = packed;
        z.avail_out = sizeof(packed);
        status = deflate(&z, zeros == 0 && z.avail_in == 0 ? Z_FINISH : Z_NO_FLUSH);
        maker_add(&file, packed, sizeof(packed) - z.avail_out);
        if (z.avail_in > 0 || zeros == 0)
            continue;
        z.next_in = none;
        z.avail_in = (uInt)(zeros < sizeof(none) ? zeros : sizeof(none));
        zeros -= z.avail_in;
    }
    deflateEnd(&z);
    return file;
}

static int open_limited(const struct maker_bytes *file, uint64_t limit)
{
    struct tfs_save save = {.path = (char *)(uintptr_t)NAME, .options = {.inflate_limit = limit}};
    struct tfs_blob *blob = NULL;
    struct tfs_doc *doc = NULL;

    tfs_error_reset(&c.err);
    ck_assert_int_eq(tfs_blob_copy(cosmic_span(file), &blob, &c.err), 0);
    tfs_cosmic_reach_region.file->decode(&save, blob, &doc, &c.err);
    tfs_doc_unref(doc);
    tfs_blob_unref(blob);
    return c.err.code;
}

START_TEST(a_gzip_bomb_stops_at_the_cap)
{
    struct maker_bytes head = cosmic_hex("00000000 01 ff*256"); /* no column */
    struct maker_bytes file = gzip_of_zeros(&head, (8 << 20) - head.size);

    ck_assert_int_eq(open_limited(&file, 1 << 20), -EFBIG);
    ck_assert_str_eq(c.err.text, "the payload inflates to more than 1048576 bytes");
    ck_assert_int_eq(open_limited(&file, (8 << 20) - 1), -EFBIG);
    ck_assert_int_eq(open_limited(&file, 8 << 20), 0);
    maker_release(&head);
    maker_release(&file);
}
END_TEST

/* Payloads that cannot become a region, whatever follows: one column at slot 0, if any. */
static const struct {
    const char *head, *sentence;
} bombs[] = {
    {"00", "inflated offset 4: unknown offset type 0"},
    {"00000001 02 fffe", "inflated table slot 0: offset -2 is below 0"},
    {"00000001 01 00 ff*255 00000010 00000063", "inflated offset 265: a column of version 99 in a "
                                                "file of version 7"},
    {"00000001 01 00 ff*255 00000010 00000007 00",
     "inflated offset 269: a column of 0 chunks, 1 to 16 are possible"},
    {"00000001 01 00 ff*255 00000010 00000007 01",
     "inflated offset 277: more than 16777216 bytes behind the last column"},
    {"00000000 01 ff*256", "inflated offset 261: more than 16777216 bytes behind the last column"},
};

START_TEST(a_gzip_bomb_is_refused_by_what_it_begins_with)
{
    struct maker_bytes head = cosmic_hex(bombs[_i].head);
    struct maker_bytes file = gzip_of_zeros(&head, (size_t)128 << 20);

    limit_memory((size_t)64 << 20);
    ck_assert_int_eq(open_limited(&file, TFS_INFLATE_LIMIT), -EBADMSG);
    ck_assert_str_eq(c.err.text, bombs[_i].sentence);
    maker_release(&head);
    maker_release(&file);
}
END_TEST

/* ---- chunks come, move and go ---------------------------------------------------------------- */

static struct tfs_key key_of(int32_t x, int32_t y, int32_t z)
{
    return (struct tfs_key){0, x, y, z};
}

static void check_encodes_region(const struct maker_region *expected)
{
    struct maker_bytes bytes = written(expected);

    check_encodes_to(&bytes);
    maker_release(&bytes);
}

START_TEST(a_new_chunk_joins_its_column_in_height_order)
{
    struct maker_region r = small_region(7), expected = maker_region_init(7);

    expected.compression = 0;
    add_air(&expected, 0, 0, 0);
    add_air(&expected, 0, 2, 0);
    add_air(&expected, 0, 3, 0);
    add_air(&expected, 1, 0, 0);
    add_air(&expected, 0, 9, 5); /* a new column goes last */
    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_create(&c, key_of(0, 9, 5)), 0);
    ck_assert_int_eq(files_create(&c, key_of(0, 2, 0)), 0);
    check_encodes_region(&expected);
    maker_region_release(&r);
    maker_region_release(&expected);
}
END_TEST

START_TEST(a_new_chunk_of_a_table_goes_behind_the_last)
{
    struct maker_region r = small_region(_i), expected = small_region(_i);

    add_air(&expected, 0, 2, 0);
    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_create(&c, key_of(0, 2, 0)), 0);
    check_encodes_region(&expected);
    maker_region_release(&r);
    maker_region_release(&expected);
}
END_TEST

START_TEST(a_new_chunk_takes_its_columns_version)
{
    struct maker_region r = small_region(7);

    r.chunks[0].version = 5;
    r.chunks[1].version = 5;
    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_create(&c, key_of(0, 2, 0)), 0);
    ck_assert_int_eq(files_create(&c, key_of(2, 2, 2)), 0);
    ck_assert_uint_eq(tfs_doc_find(c.doc, key_of(0, 2, 0))->tag, 5);
    ck_assert_uint_eq(tfs_doc_find(c.doc, key_of(2, 2, 2))->tag, 7);
    maker_region_release(&r);
}
END_TEST

START_TEST(a_chunk_moved_there_and_back_leaves_the_file_as_it_was)
{
    struct maker_region r = small_region(_i);

    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_move(&c, key_of(1, 0, 0), key_of(5, 6, 7)), 0);
    ck_assert_ptr_null(tfs_doc_find(c.doc, key_of(1, 0, 0)));
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, key_of(5, 6, 7)));
    ck_assert_int_eq(files_move(&c, key_of(5, 6, 7), key_of(1, 0, 0)), 0);
    check_encodes_region(&r);
    ck_assert_int_eq(files_move(&c, key_of(0, 3, 0), key_of(0, 9, 0)), 0);
    ck_assert_int_eq(files_move(&c, key_of(0, 9, 0), key_of(0, 3, 0)), 0);
    check_encodes_region(&r);
    maker_region_release(&r);
}
END_TEST

START_TEST(a_column_without_chunks_leaves_the_table)
{
    struct maker_region r = small_region(7), expected = maker_region_init(7);

    expected.compression = 0;
    add_air(&expected, 1, 0, 0);
    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_delete(&c, key_of(0, 0, 0)), 0);
    ck_assert_int_eq(files_delete(&c, key_of(0, 3, 0)), 0);
    check_encodes_region(&expected);
    maker_region_release(&r);
    maker_region_release(&expected);
}
END_TEST

START_TEST(a_place_outside_the_region_is_refused)
{
    struct maker_region r = small_region(7);

    cosmic_open_maker(&c, &r);
    ck_assert_int_eq(files_create(&c, key_of(16, 0, 0)), -EINVAL);
    ck_assert_str_eq(c.err.text,
                     "chunk 16_0_0 is outside this region, which holds 0_0_0 to 15_15_15");
    ck_assert_int_eq(files_move(&c, key_of(1, 0, 0), key_of(0, -1, 0)), -EINVAL);
    ck_assert_str_eq(c.err.text,
                     "chunk 0_-1_0 is outside this region, which holds 0_0_0 to 15_15_15");
    check_encodes_region(&r);
    maker_region_release(&r);
}
END_TEST

START_TEST(an_empty_region_of_that_name_takes_its_own_chunks_only)
{
    struct maker_region r = maker_region_init(7);
    struct maker_bytes file = written(&r);

    ck_assert_int_eq(cosmic_open(&c, "region_-1_2_0.cosmicreach", cosmic_span(&file)), 0);
    ck_assert_int_eq(files_create(&c, key_of(0, 32, 0)), -EINVAL);
    ck_assert_str_eq(c.err.text,
                     "chunk 0_32_0 is outside this region, which holds -16_32_0 to -1_47_15");
    ck_assert_int_eq(files_create(&c, key_of(-1, 47, 15)), 0);
    maker_release(&file);
}
END_TEST

/* ---- changes --------------------------------------------------------------------------------- */

START_TEST(changes_name_the_files_that_read_differently)
{
    struct maker_region r = small_region(7);
    const struct tfs_key key = {0};

    cosmic_open_maker(&c, &r);
    struct tfs_doc *before = tfs_doc_ref(c.doc);
    ck_assert_int_eq(files_put_text(&c, key, "lights/sky.txt", "fill 3\n"), 0);
    ck_assert_str_eq(changed_chunk_files(c.save, before, c.doc, key),
                     "raw.bin lights/sky.txt arrays/lights/sky.npy");
    ck_assert_int_eq(files_put_text(&c, key, "palette.txt", "0 base:gas\n"), 0);
    ck_assert_str_eq(changed_chunk_files(c.save, before, c.doc, key),
                     "raw.bin voxels.csv palette.txt blocks.txt lights/sky.txt arrays/blocks.npy "
                     "arrays/lights/sky.npy");
    tfs_doc_unref(before);
    maker_region_release(&r);
}
END_TEST

static void add_chunk_tests(TCase *chunks)
{
    tcase_add_test(chunks, a_new_chunk_joins_its_column_in_height_order);
    tcase_add_loop_test(chunks, a_new_chunk_of_a_table_goes_behind_the_last, 0, 4);
    tcase_add_test(chunks, a_new_chunk_takes_its_columns_version);
    tcase_add_loop_test(chunks, a_chunk_moved_there_and_back_leaves_the_file_as_it_was, 0, 8);
    tcase_add_test(chunks, a_column_without_chunks_leaves_the_table);
    tcase_add_test(chunks, a_place_outside_the_region_is_refused);
    tcase_add_test(chunks, an_empty_region_of_that_name_takes_its_own_chunks_only);
    tcase_add_test(chunks, changes_name_the_files_that_read_differently);
}

static Suite *region_suite(void)
{
    Suite *suite = suite_create("cosmic_region");
    TCase *containers = unit_case_with(suite, "containers", NULL, teardown),
          *gzip = unit_case_with(suite, "gzip", NULL, teardown);

    tcase_add_test(containers, test_vector_1);
    tcase_add_test(containers, test_vector_2);
    tcase_add_loop_test(containers, random_regions_of_every_version_come_out_as_they_went_in, 0, 8);
    tcase_add_loop_test(containers, every_offset_type_is_kept, 1, 5);
    LOOP(containers, widths, an_offset_type_grows_only_when_it_must);
    tcase_add_loop_test(containers, a_region_without_chunks_has_an_empty_table, 0, 8);
    tcase_add_test(gzip, a_plain_gzip_header_is_kept);
    tcase_add_test(gzip, a_gzip_header_with_a_name_becomes_the_one_of_the_game);
    tcase_add_test(gzip, bytes_behind_the_gzip_member_make_the_save_read_only);
    tcase_add_test(gzip, a_broken_gzip_member_is_refused);
    tcase_add_test(gzip, a_gzip_bomb_stops_at_the_cap);
    tcase_add_loop_test(gzip, a_gzip_bomb_is_refused_by_what_it_begins_with, 0,
                        (int)(sizeof(bombs) / sizeof(bombs[0])));
    add_chunk_tests(unit_case_with(suite, "chunks", NULL, teardown));
    return suite;
}

UNIT_MAIN(region_suite)
