/* formats/cosmic_reach, region files: both layouts, what damages a chunk, what refuses the file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../lib/changed_files.h"
#include "../lib/cosmic_case.h"
#include "formats/cosmic_reach/region.h"
#include "formats/whole_file.h"
#include "limit_memory.h"

#define NAME "region_0_0_0.cosmicreach"

static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
}

static struct maker_bytes written(const struct maker_region *r)
{
    struct maker_bytes bytes = {0};

    maker_region_write(r, &bytes);
    return bytes;
}

static void add_air(struct maker_region *r, int32_t x, int32_t y, int32_t z)
{
    struct maker_chunk *chunk = maker_region_add(r, x, y, z);

    maker_single(&chunk->body, chunk->version < 3 ? "base:air[default]" : "base:air");
    maker_add(&chunk->body, "\3\17\1\0", chunk->version > 0 ? 4 : 3);
}

/* Two columns, 0_0 with two chunks and 1_0 with one; in versions 0-3 three chunks. */
static struct maker_region small_region(int32_t version)
{
    struct maker_region r = maker_region_init(version);

    r.compression = 0;
    add_air(&r, 0, 0, 0);
    add_air(&r, 0, 3, 0);
    add_air(&r, 1, 0, 0);
    return r;
}

static struct maker_bytes small_file(int32_t version)
{
    struct maker_region r = small_region(version);
    struct maker_bytes bytes = written(&r);

    maker_region_release(&r);
    return bytes;
}

static void check_same(const struct maker_bytes *a, const struct maker_bytes *b)
{
    ck_assert(tfs_span_equal(cosmic_span(a), cosmic_span(b)));
}

static void check_encodes_to(const struct maker_bytes *expected)
{
    struct maker_bytes again = cosmic_encode(&c);

    check_same(&again, expected);
    maker_release(&again);
}

static const char *note(enum tfs_note_kind kind)
{
    const char *text = tfs_facts_find(c.doc->facts, kind);

    return text == NULL ? "" : text;
}

static unsigned notes(enum tfs_note_kind kind)
{
    unsigned count = 0;

    for (size_t i = 0; i < c.doc->facts->note_count; i++)
        count += c.doc->facts->notes[i].kind == kind;
    return count;
}

static void set_s32(struct maker_bytes *bytes, size_t at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        bytes->data[at + i] = (uint8_t)(v >> (24 - 8 * i));
}

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

static struct maker_bytes gzip_file(void)
{
    struct maker_region r = small_region(7);

    r.compression = 2;
    struct maker_bytes file = written(&r);
    maker_region_release(&r);
    return file;
}

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
        for (unsigned f = 0; f < c.save->tree->chunk_count; f++) {
            struct maker_bytes bytes =
                cosmic_get(&c, chunk->key, c.save->tree->chunk_files[f].path);
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

static const char *chunk_changes(const struct tfs_doc *before, struct tfs_key key)
{
    const struct tfs_tree *tree = &tfs_cosmic_reach_tree;

    return changed_chunk_files(
        tree, tree->chunk_changes(tfs_doc_find(before, key), tfs_doc_find(c.doc, key)));
}

START_TEST(changes_name_the_files_that_read_differently)
{
    struct maker_region r = small_region(7);
    const struct tfs_tree *tree = &tfs_cosmic_reach_tree;
    const struct tfs_key key = {0};

    cosmic_open_maker(&c, &r);
    struct tfs_doc *before = tfs_doc_ref(c.doc);
    ck_assert_int_eq(files_put_text(&c, key, "lights/sky.txt", "fill 3\n"), 0);
    ck_assert_str_eq(chunk_changes(before, key), "raw.bin lights/sky.txt arrays/lights/sky.npy");
    ck_assert_str_eq(changed_root_files(tree, tree->root_changes(before, c.doc)),
                     "arrays/lights/sky.npy");
    ck_assert_int_eq(files_put_text(&c, key, "palette.txt", "0 base:gas\n"), 0);
    ck_assert_str_eq(chunk_changes(before, key),
                     "raw.bin voxels.csv palette.txt blocks.txt lights/sky.txt arrays/blocks.npy "
                     "arrays/lights/sky.npy");
    /* All air under another name is not: palette.txt, and the pictures and the array now show
     * something; the names of the array as well. */
    ck_assert_str_eq(changed_root_files(tree, tree->root_changes(before, c.doc)),
                     "palette.txt heightmap.png heightmap-view.png map.png arrays/blocks.npy "
                     "arrays/lights/sky.npy arrays/palette.txt");
    ck_assert_uint_eq(tree->root_changes(before, before), 0);
    ck_assert_uint_eq(tree->chunk_changes(NULL, tfs_doc_find(c.doc, key)),
                      (UINT32_C(1) << tree->chunk_count) - 1);
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

static void add_fault_tests(TCase *bad)
{
    LOOP(bad, bad_headers, a_bad_header_is_refused_with_its_offset);
    LOOP(bad, faults, a_fault_gets_the_verdict_and_the_sentence_it_deserves);
    tcase_add_test(bad, chunks_beside_a_damaged_one_are_read);
    tcase_add_test(bad, damage_in_a_column_shows_the_rest_of_it_as_one_chunk);
    tcase_add_test(bad, a_wrong_index_damages_one_chunk_of_a_column);
    tcase_add_loop_test(bad, bytes_that_nothing_points_at_make_the_save_read_only, 0, 8);
    tcase_add_loop_test(bad, a_file_named_as_another_region_is_refused, 0, 8);
    LOOP(bad, file_names, only_canonical_names_give_a_region);
    LOOP(bad, layouts, a_truncated_region_is_refused_or_read_as_far_as_it_goes);
    LOOP(bad, layouts, no_flipped_byte_does_harm);
    tcase_add_test(bad, no_flipped_byte_of_a_rich_body_does_harm);
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
    add_fault_tests(unit_case_with(suite, "faults", NULL, teardown));
    add_chunk_tests(unit_case_with(suite, "chunks", NULL, teardown));
    return suite;
}

UNIT_MAIN(region_suite)
