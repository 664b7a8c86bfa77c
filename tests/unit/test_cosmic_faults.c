/* formats/cosmic_reach, region files: what refuses the file, makes it read-only or damages a chunk;
 * and hostile bytes. */
#include <errno.h>

#include "region_case.h"

/* ---- refused headers ------------------------------------------------------------------------- */

static const struct {
    const char *bytes, *sentence;
    int code;
} bad_headers[] = {
    {"", "offset 0: the file is cut off within its header", -EBADMSG},
    {"ffecceac 00000007 000000", "offset 11: the file is cut off within its header", -EBADMSG},
    {"ffecceab 00000007 00000000", "offset 0: the file does not begin with ffecceac", -EBADMSG},
    {"ffecceac 00000008 00000002", "offset 4: FileVersion 8 is not supported, only 0 to 7",
     -ENOTSUP},
    {"ffecceac ffffffff 00000000", "offset 4: FileVersion -1 is not supported, only 0 to 7",
     -ENOTSUP},
    {"ffecceac 00000004 00000001", "offset 8: compression 1 (LZ4) is not supported", -ENOTSUP},
    {"ffecceac 00000007 00000003", "offset 8: unknown compression 3", -EBADMSG},
    {"ffecceac 00000003 00000002", "offset 8: compression 2 in FileVersion 3, which has none",
     -EBADMSG},
    {"ffecceac 00000002 00000000 00*100",
     "offset 112: the file is cut off within its table, which takes 16400 bytes", -EBADMSG},
    {"ffecceac 00000007 00000000 000000",
     "offset 15: the data is cut off before the table of columns", -EBADMSG},
    {"ffecceac 00000007 00000000 00000000 00", "offset 16: unknown offset type 0", -EBADMSG},
    {"ffecceac 00000007 00000000 00000000 05", "offset 16: unknown offset type 5", -EBADMSG},
    {"ffecceac 00000007 00000000 00000000 02 ff*511",
     "offset 528: the data is cut off within the table of columns", -EBADMSG},
    {"ffecceac 00000007 00000002", "offset 12: the gzip data is cut off", -EBADMSG},
};

START_TEST(a_bad_header_is_refused_with_its_offset)
{
    struct maker_bytes file = cosmic_hex(bad_headers[_i].bytes);

    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), bad_headers[_i].code);
    ck_assert_str_eq(c.err.text, bad_headers[_i].sentence);
    maker_release(&file);
}
END_TEST

/* ---- refused, read-only or damaged ----------------------------------------------------------- */

enum verdict { REFUSED, READ_ONLY, DAMAGED, WARNED, FINE };

/* A small region with one s32 (or the byte behind `at` when `byte`) set to another value. Offsets
 * of version 2: table 16, chunks at 16400, 16446, 16492, each 46 long. Of version 7, not
 * compressed: count 12, type 16, table 17 (s16), columns at 529 (67 long: header 9, chunks of 29)
 * and 596. */
static const struct {
    int32_t version;
    size_t at;
    uint32_t value;
    bool byte;
    enum verdict verdict;
    const char *sentence;
} faults[] = {
    {2, 12, 2, false, READ_ONLY, "the count says 2 chunks, the table has 3"},
    {2, 12, 0xffffffff, false, READ_ONLY, "the count says -1 chunks, the table has 3"},
    {2, 16, 12, false, REFUSED,
     "table slot 0: offset 12 is outside the data, which is 16400 to 16538"},
    {2, 16, 0xfffffffe, false, REFUSED,
     "table slot 0: offset -2 is outside the data, which is 16400 to 16538"},
    {2, 16, 16530, false, REFUSED,
     "table slot 0: offset 16530 is outside the data, which is 16400 to 16538"},
    {2, 16, 0x7fffffff, false, REFUSED,
     "table slot 0: offset 2147483647 is outside the data, which is 16400 to 16538"},
    {2, 16, 16446, false, REFUSED, NULL},
    {2, 16, 16401, false, REFUSED,
     "offset 16401: chunks overlap, this one has 11776 bytes, the next begins at 16446"},
    {2, 20, 16402, false, REFUSED, "offset 16400: chunks overlap, the next begins at 16402"},
    {2, 20, 16430, false, REFUSED,
     "offset 16400: chunks overlap, this one has 46 bytes, the next begins at 16430"},
    {2, 16, 0xffffffff, false, READ_ONLY, NULL},
    {2, 16400, 45, false, READ_ONLY, "offset 16400: the size field says 45, it is 46 bytes long"},
    {2, 16400, 0x7fffffff, false, READ_ONLY,
     "offset 16400: the size field says 2147483647, it is 46 bytes long"},
    {2, 16400, 0x80000000, false, READ_ONLY,
     "offset 16400: the size field says -2147483648, it is 46 bytes long"},
    {2, 16404, 3, false, DAMAGED, "chunk 0_0_0: offset 16404: version 3 in a file of version 2"},
    {2, 16404, 0xffffffff, false, DAMAGED,
     "chunk 0_0_0: offset 16404: version -1 in a file of version 2"},
    {2, 16404, 1, false, FINE, NULL},
    {2, 16408, 1, false, DAMAGED,
     "chunk 0_0_0: offset 16408: the coordinates 1 0 0 do not belong to table slot 0"},
    {2, 16408, 16, false, DAMAGED,
     "chunk 0_0_0: offset 16408: the coordinates 16 0 0 do not belong to table slot 0"},
    {2, 16420, 9, true, DAMAGED, "chunk 0_0_0: offset 16420: unknown block data type 9"},
    {2, 16421, 0x7fffffff, false, DAMAGED,
     "chunk 0_0_0: offset 16421: the name of palette entry 0 is longer than what is left"},
    {2, 16443, 16, true, WARNED, "chunk 0_0_0: sky light 16 is above 15"},
    {2, 16537, 1, true, DAMAGED,
     "chunk 1_0_0: offset 16537: the block entities are longer than what is left"},
    {7, 12, 3, false, READ_ONLY, "the count says 3 columns, the table has 2"},
    {7, 16, 1, true, REFUSED, NULL},
    {7, 17, 0xfffeffff, false, REFUSED,
     "table slot 0: offset -2 is outside the data, which is 0 to 105"},
    {7, 17, 0x0066ffff, false, REFUSED,
     "table slot 0: offset 631 is outside the data, which is 529 to 634"},
    {7, 17, 0x0043ffff, false, REFUSED, "table slots 0 and 16 both point at offset 596"},
    {7, 17, 0x000000ff, false, REFUSED, NULL},
    {7, 17, 0xffffffff, false, READ_ONLY, "the count says 2 columns, the table has 1"},
    {7, 529, 66, false, READ_ONLY, "offset 529: the size field says 66, it is 67 bytes long"},
    {7, 533, 8, false, REFUSED, "offset 533: a column of version 8 in a file of version 7"},
    {7, 533, 3, false, REFUSED, "offset 533: a column of version 3 in a file of version 7"},
    {7, 533, 4, false, FINE, NULL},
    {7, 537, 0, true, REFUSED, "offset 537: a column of 0 chunks, 1 to 16 are possible"},
    {7, 537, 17, true, REFUSED, "offset 537: a column of 17 chunks, 1 to 16 are possible"},
    {7, 537, 1, true, READ_ONLY, "offset 529: the size field says 67, it is 38 bytes long"},
    {7, 537, 3, true, DAMAGED, "chunk 0_4_0: offset 596: the column ends before its last chunk"},
    {7, 538, 1, false, DAMAGED,
     "chunk 0_0_0: offset 538: the coordinates 1 0 0 do not belong to table slot 0 or do not "
     "ascend, and the chunks above it in its column cannot be found"},
    {7, 542, 5, false, DAMAGED,
     "chunk 0_6_0: offset 567: the coordinates 0 3 0 do not belong to table slot 0 or do not "
     "ascend"},
    {7, 542, 15, false, DAMAGED,
     "column 0_0: offset 567: the coordinates 0 3 0 do not belong to table slot 0 or do not "
     "ascend"},
    {7, 550, 7, true, DAMAGED,
     "chunk 0_0_0: offset 550: unknown block data type 7, and the chunks above it in its column "
     "cannot be found"},
};

static enum verdict verdict_of_reading(void)
{
    if (c.err.code < 0)
        return REFUSED;
    if (notes(TFS_NOTE_DAMAGED) > 0)
        return DAMAGED;
    if (notes(TFS_NOTE_READ_ONLY) > 0)
        return READ_ONLY;
    return notes(TFS_NOTE_WARNING) > 0 ? WARNED : FINE;
}

static const char *sentence_of(enum verdict verdict)
{
    static const enum tfs_note_kind kinds[] = {
        [READ_ONLY] = TFS_NOTE_READ_ONLY,
        [DAMAGED] = TFS_NOTE_DAMAGED,
        [WARNED] = TFS_NOTE_WARNING,
    };

    return verdict == REFUSED ? c.err.text : note(kinds[verdict]);
}

START_TEST(a_fault_gets_the_verdict_and_the_sentence_it_deserves)
{
    struct maker_bytes file = small_file(faults[_i].version);
    size_t at = faults[_i].at;

    if (faults[_i].byte)
        file.data[at] = (uint8_t)faults[_i].value;
    else
        set_s32(&file, at, faults[_i].value);
    cosmic_open(&c, NAME, cosmic_span(&file));
    enum verdict verdict = verdict_of_reading();
    ck_assert_msg(verdict == faults[_i].verdict, "version %d, offset %zu: verdict %d: %s",
                  faults[_i].version, at, verdict, c.err.text);
    if (faults[_i].sentence != NULL)
        ck_assert_str_eq(sentence_of(verdict), faults[_i].sentence);
    maker_release(&file);
}
END_TEST

START_TEST(chunks_beside_a_damaged_one_are_read)
{
    struct maker_bytes file = small_file(2);

    file.data[16420] = 9;
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    ck_assert_uint_eq(c.doc->count, 3);
    const struct tfs_chunk *bad = tfs_doc_find(c.doc, (struct tfs_key){0});
    ck_assert_uint_eq(bad->flags, TFS_CHUNK_DAMAGED);
    ck_assert_uint_eq(bad->blob->size, 26);
    ck_assert(
        files_shows(&c, (struct tfs_key){0, 1, 0, 0}, "palette.txt", "0 base:air[default]\n"));
    maker_release(&file);
}
END_TEST

START_TEST(damage_in_a_column_shows_the_rest_of_it_as_one_chunk)
{
    struct maker_bytes file = small_file(7);

    file.data[550] = 9;
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    ck_assert_uint_eq(c.doc->count, 2);
    const struct tfs_chunk *bad = tfs_doc_find(c.doc, (struct tfs_key){0});
    ck_assert_uint_eq(bad->flags, TFS_CHUNK_DAMAGED);
    ck_assert_uint_eq(bad->blob->size, 67 - 9 - 12);
    ck_assert(files_shows(&c, (struct tfs_key){0, 1, 0, 0}, "palette.txt", "0 base:air\n"));
    maker_release(&file);
}
END_TEST

/* Where a chunk of a column may be that is not shown, and where none can be. */
static const struct {
    size_t at;
    uint8_t value;
    bool hides;
} column_faults[] = {
    {550, 9, true},  /* the first body: the chunk above it */
    {579, 9, false}, /* the last body, of a chunk whose coordinates are known */
    {570, 9, true},  /* the coordinates of the last chunk: it may be any above the first */
    {545, 15, true}, /* the chunk below it is the highest of the region: it is not shown */
    {537, 3, true},  /* a third chunk, of which nothing is known */
};

START_TEST(damage_to_the_last_chunk_of_a_column_hides_no_other)
{
    struct maker_bytes file = small_file(7);

    file.data[column_faults[_i].at] = column_faults[_i].value;
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    ck_assert_ptr_nonnull(tfs_facts_find(c.doc->facts, TFS_NOTE_DAMAGED));
    ck_assert_int_eq(tfs_facts_hiding(c.doc->facts) != NULL, column_faults[_i].hides);
    maker_release(&file);
}
END_TEST

START_TEST(a_wrong_index_damages_one_chunk_of_a_column)
{
    struct maker_region r = maker_region_init(7);
    uint16_t ids[MAKER_VOXELS] = {[4095] = 1};
    const char *const names[] = {"a", "b"};

    r.compression = 0;
    struct maker_chunk *chunk = maker_region_add(&r, 0, 0, 0);
    maker_layered(&chunk->body, names, 2, ids, 7);
    maker_add(&chunk->body, "\1\1\0", 3);
    size_t last_layer = 529 + 9 + 12 + chunk->body.size - 3 - 32;
    add_air(&r, 0, 1, 0);
    struct maker_bytes file = written(&r);
    ck_assert_uint_eq(file.data[last_layer - 1], 7);
    file.data[last_layer - 2] = 5; /* the layer below is uniform: index 5 now */
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    ck_assert_uint_eq(c.doc->count, 2);
    ck_assert_uint_eq(notes(TFS_NOTE_DAMAGED), 1);
    ck_assert_uint_eq(tfs_doc_find(c.doc, (struct tfs_key){0, 0, 0, 0})->flags, TFS_CHUNK_DAMAGED);
    ck_assert_uint_eq(tfs_doc_find(c.doc, (struct tfs_key){0, 0, 1, 0})->flags, 0);
    maker_release(&file);
    maker_region_release(&r);
}
END_TEST

START_TEST(bytes_that_nothing_points_at_make_the_save_read_only)
{
    struct maker_bytes file = small_file(_i);
    size_t size = file.size;
    char expected[80];

    maker_add(&file, "abcde", 5);
    ck_assert_int_eq(cosmic_open(&c, NAME, cosmic_span(&file)), 0);
    snprintf(expected, sizeof(expected), "offset %zu: 5 bytes that no table entry points at", size);
    ck_assert_str_eq(note(TFS_NOTE_READ_ONLY), expected);
    maker_release(&file);
}
END_TEST

START_TEST(a_file_named_as_another_region_is_refused)
{
    struct maker_bytes file = small_file(_i);

    ck_assert_int_eq(cosmic_open(&c, "region_1_0_-2.cosmicreach", cosmic_span(&file)), -EBADMSG);
    ck_assert_str_eq(c.err.text, "the chunks are those of region_0_0_0, but the file is named "
                                 "region_1_0_-2");
    tree_files_close(&c);
    ck_assert_int_eq(cosmic_open(&c, "backup of region_1_0_-2.cosmicreach", cosmic_span(&file)), 0);
    maker_release(&file);
}
END_TEST

static const struct {
    const char *name;
    bool good;
    struct tfs_key region;
} file_names[] = {
    {"region_0_0_0.cosmicreach", true, {0, 0, 0, 0}},
    {"region_-1_2_-34.cosmicreach", true, {0, -1, 2, -34}},
    {"region_134217727_-134217728_0.cosmicreach", true, {0, 134217727, -134217728, 0}},
    {"region_134217728_0_0.cosmicreach", false, {0}},
    {"region_0_-134217729_0.cosmicreach", false, {0}},
    {"region_99999999999999999999_0_0.cosmicreach", false, {0}},
    {"region_+1_0_0.cosmicreach", false, {0}},
    {"region_01_0_0.cosmicreach", false, {0}},
    {"region_-0_0_0.cosmicreach", false, {0}},
    {"region_ 1_0_0.cosmicreach", false, {0}},
    {"region_0_0.cosmicreach", false, {0}},
    {"region_0_0_0_0.cosmicreach", false, {0}},
    {"region_0_0_0.cosmicreach~", false, {0}},
    {"Region_0_0_0.cosmicreach", false, {0}},
    {"region_", false, {0}},
    {"", false, {0}},
};

START_TEST(only_canonical_names_give_a_region)
{
    struct tfs_key region;

    ck_assert_int_eq(tfs_cosmic_region_of_name(file_names[_i].name, &region), file_names[_i].good);
    if (file_names[_i].good)
        ck_assert_int_eq(tfs_key_compare(region, file_names[_i].region), 0);
}
END_TEST

/* ---- hostile bytes --------------------------------------------------------------------------- */

/* Everything there is to read of what was accepted. */
static void read_all(void)
{
    for (size_t i = 0; i < c.doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(c.doc, i);
        if (chunk->flags & TFS_CHUNK_DAMAGED) {
            struct maker_bytes raw = cosmic_get(&c, chunk->key, "raw.bin");
            maker_release(&raw);
            continue;
        }
        for (unsigned f = 0; f < c.save->tree->chunk.count; f++) {
            struct maker_bytes bytes =
                cosmic_get(&c, chunk->key, c.save->tree->chunk.files[f].path);
            maker_release(&bytes);
        }
    }
    struct maker_bytes names = cosmic_get_root(&c, "palette.txt");
    maker_release(&names);
}

/* Opens; what is accepted without a note must come out as it went in. */
static void open_hostile(const struct maker_bytes *file)
{
    if (cosmic_open(&c, NAME, cosmic_span(file)) == 0) {
        read_all();
        if (verdict_of_reading() >= WARNED && c.doc->count > 0 &&
            ((struct tfs_cosmic_facts *)c.doc->facts->own)->compression == 0)
            check_encodes_to(file);
    }
    tree_files_close(&c);
}

static const int32_t layouts[] = {1, 7, 77}; /* 77: version 7, compressed */

static struct maker_bytes layout_file(int32_t layout)
{
    return layout == 77 ? gzip_file() : small_file(layout);
}

START_TEST(a_truncated_region_is_refused_or_read_as_far_as_it_goes)
{
    struct maker_bytes file = layout_file(layouts[_i]);
    size_t whole = file.size;

    /* Inside the long table of version 1 every length is like its neighbours. */
    for (size_t size = 0; size<whole; size += size> 64 && size < 16300 && _i == 0 ? 97 : 1) {
        file.size = size;
        ck_assert_msg(cosmic_open(&c, NAME, cosmic_span(&file)) < 0 ||
                          verdict_of_reading() == DAMAGED || verdict_of_reading() == READ_ONLY,
                      "%zu of %zu bytes: taken for whole", size, whole);
        tree_files_close(&c);
        open_hostile(&file);
    }
    file.size = whole;
    maker_release(&file);
}
END_TEST

START_TEST(no_flipped_byte_does_harm)
{
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    struct maker_bytes file = layout_file(layouts[_i]);

    for (size_t at = 0; at<file.size; at += at> 64 && at < 16300 && _i == 0 ? 61 : 1) {
        for (unsigned f = 0; f < sizeof(flips); f++) {
            file.data[at] ^= flips[f];
            open_hostile(&file);
            file.data[at] ^= flips[f];
        }
    }
    maker_release(&file);
}
END_TEST

START_TEST(no_flipped_byte_of_a_rich_body_does_harm)
{
    struct maker_region r = maker_region_init(3);
    struct maker_random rnd = {4711};

    for (unsigned i = 0; i < 3; i++)
        maker_random_body(&maker_region_add(&r, (int32_t)i, 0, 0)->body, &rnd, 3);
    struct maker_bytes file = written(&r);
    for (size_t at = 16400; at < file.size; at += 1 + maker_draw(&rnd, 40)) {
        uint8_t before = file.data[at];
        file.data[at] = (uint8_t)maker_draw(&rnd, 256);
        open_hostile(&file);
        file.data[at] = before;
    }
    maker_release(&file);
    maker_region_release(&r);
}
END_TEST

static Suite *faults_suite(void)
{
    Suite *suite = suite_create("cosmic_faults");
    TCase *bad = unit_case_with(suite, "faults", NULL, teardown);

    LOOP(bad, bad_headers, a_bad_header_is_refused_with_its_offset);
    LOOP(bad, faults, a_fault_gets_the_verdict_and_the_sentence_it_deserves);
    tcase_add_test(bad, chunks_beside_a_damaged_one_are_read);
    tcase_add_test(bad, damage_in_a_column_shows_the_rest_of_it_as_one_chunk);
    tcase_add_loop_test(bad, damage_to_the_last_chunk_of_a_column_hides_no_other, 0,
                        (int)(sizeof(column_faults) / sizeof(column_faults[0])));
    tcase_add_test(bad, a_wrong_index_damages_one_chunk_of_a_column);
    tcase_add_loop_test(bad, bytes_that_nothing_points_at_make_the_save_read_only, 0, 8);
    tcase_add_loop_test(bad, a_file_named_as_another_region_is_refused, 0, 8);
    LOOP(bad, file_names, only_canonical_names_give_a_region);
    LOOP(bad, layouts, a_truncated_region_is_refused_or_read_as_far_as_it_goes);
    LOOP(bad, layouts, no_flipped_byte_does_harm);
    tcase_add_test(bad, no_flipped_byte_of_a_rich_body_does_harm);
    return suite;
}

UNIT_MAIN(faults_suite)
