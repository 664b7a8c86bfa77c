/* formats/godot_voxel: region files. The engine's way of laying out sectors:
 * godot_voxel/FORMAT.md, section 5. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>

#include "../lib/files_case.h"
#include "../lib/voxel_maker.h"
#include "formats/cells/cells.h"
#include "formats/cells/cells.h"
#include "formats/godot_voxel/region.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/godot_voxel/"
#define SECTOR  64

/* 2 x 1 x 2 blocks of 2 x 2 x 2 voxels, sectors of 64 bytes: vector 6 of section 10. */
static const char header[] = "5658525f 03 01 02 01 02 0101000101000000 4000 00";
#define BEGIN 36
#define BLOCK 43 /* bytes of a block without metadata, and its size */

static struct tree_files c;
static glob_t samples; /* found before the tests fork */

static void teardown(void)
{
    tree_files_close(&c);
    scratch_teardown();
}

/* ---- small regions --------------------------------------------------------------------------- */

/* A bare-bones block of 2^3 whose data5 is dense with these values; `size` bytes of metadata make
 * it longer. Container 0, so that sizes are known. */
static void add_block(struct tfs_buf *out, uint8_t value, size_t size)
{
    struct tfs_buf bytes = files_hex("00 04 0200 0200 0200 110000 11ff7f 0100 111032 110f00 00");

    for (int i = 0; i < 8; i++)
        tfs_buf_u8(&bytes, value);
    tfs_buf_u32be(&bytes, 0x01000100);
    if (size > 0) {
        tfs_buf_u32le(&bytes, (uint32_t)size);
        tfs_buf_u8(&bytes, 40);
        tfs_buf_resize(&bytes, bytes.size + size - 1);
    }
    tfs_buf_u32be(&bytes, 0x0df00d90);
    tfs_buf_add_span(out, tfs_buf_span(&bytes));
    tfs_buf_release(&bytes);
}

struct sector {
    uint8_t value;  /* of data5 of the block that begins here; 0: no block */
    size_t size;    /* of its metadata */
    uint8_t filler; /* what is behind it, and what other sectors hold */
};

/* The file: entries as they stand in the table, then sectors. */
static void make(struct tfs_buf *file, const uint32_t entries[4], const struct sector *sectors,
                 size_t count)
{
    *file = files_hex(header);
    for (int i = 0; i < 4; i++)
        tfs_buf_u32le(file, entries[i]);
    for (size_t i = 0; i < count; i++) {
        size_t begin = BEGIN + i * SECTOR;
        struct tfs_buf block = {0};
        while (file->size < begin + SECTOR)
            tfs_buf_u8(file, sectors[i].filler);
        if (sectors[i].value == 0)
            continue;
        add_block(&block, sectors[i].value, sectors[i].size);
        file->size = begin;
        tfs_buf_u32le(file, (uint32_t)block.size);
        tfs_buf_add_span(file, tfs_buf_span(&block));
        while (file->size % SECTOR != BEGIN)
            tfs_buf_u8(file, sectors[i].filler);
        tfs_buf_release(&block);
    }
}

#define ENTRY(first, count) ((uint32_t)(first) << 8 | (count))

static void save(const char *name, const struct tfs_buf *file)
{
    files_write_file(scratch_path(name), tfs_buf_span(file));
}

/* Is the file on disk just this? */
static void check_file(const char *name, const struct tfs_buf *expected)
{
    struct tfs_buf found = files_read_file(scratch_path(name));

    ck_assert_uint_eq(found.size, expected->size);
    for (size_t i = 0; i < found.size; i++)
        ck_assert_msg(found.data[i] == expected->data[i], "byte %zu is %02x, not %02x", i,
                      found.data[i], expected->data[i]);
    tfs_buf_release(&found);
}

static const struct tfs_key at_000 = {0, 0, 0, 0}, at_100 = {0, 1, 0, 0}, at_001 = {0, 0, 0, 1},
                            at_101 = {0, 1, 0, 1};

/* Table order: 000 100 001 101. */
static const struct sector three[] = {{1, 0, 0xaa}, {2, 0, 0xbb}, {3, 0, 0xcc}};
static const uint32_t three_entries[] = {ENTRY(0, 1), ENTRY(1, 1), ENTRY(2, 1), 0};

static void open_three(void)
{
    struct tfs_buf file;

    make(&file, three_entries, three, COUNT(three));
    save("region.vxr", &file);
    tfs_buf_release(&file);
    ck_assert_msg(files_open(&c, scratch_path("region.vxr")) == 0, "%s", c.err.text);
}

static void set_data5(struct tfs_key key, uint8_t value, size_t metadata)
{
    char text[600];
    int n = 0;

    snprintf(text, sizeof(text), "%u %u\n%u %u\n%u %u\n%u %u\n", value, value, value, value, value,
             value, value, value);
    ck_assert_msg(files_put_text(&c, key, "channels/data5.txt", text) == 0, "%s", c.err.text);
    if (metadata == 0)
        return;
    n = snprintf(text, sizeof(text), "block custom 40 ");
    for (size_t i = 1; i < metadata; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, "00");
    ck_assert_msg(files_put_text(&c, key, "metadata.txt", text) == 0, "%s", c.err.text);
}

static void commit(void)
{
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
}

START_TEST(region_shows_its_blocks)
{
    open_three();
    ck_assert_uint_eq(c.doc->count, 3);
    ck_assert(files_holds(&c, at_001, "voxels.csv", "x,y,z,data5\n0,0,2,3\n1,0,2,3\n0,0,3,3\n"));
    ck_assert_ptr_null(tfs_doc_find(c.doc, at_101));
}
END_TEST

START_TEST(name_gives_the_coordinates)
{
    struct tfs_buf file;

    make(&file, three_entries, three, COUNT(three));
    save("r.-3.5.2.vxr", &file);
    tfs_buf_release(&file);
    ck_assert_int_eq(files_open(&c, scratch_path("r.-3.5.2.vxr")), 0);
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, (struct tfs_key){0, -6, 5, 4}));
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, (struct tfs_key){0, -5, 5, 4}));
    ck_assert_int_eq(files_create(&c, (struct tfs_key){0, -7, 5, 4}), -EINVAL);
    ck_assert_str_eq(c.err.text, "this region holds no chunk with x = -7, only -6 to -5");
    ck_assert_int_eq(files_create(&c, (struct tfs_key){0, -5, 5, 5}), 0);
    ck_assert_int_eq(files_create(&c, (struct tfs_key){1, -5, 5, 5}), -EINVAL);
}
END_TEST

START_TEST(same_count_overwrites_in_place)
{
    static const struct sector after[] = {{1, 0, 0xaa}, {9, 0, 0xbb}, {3, 0, 0xcc}};
    struct tfs_buf file;

    open_three();
    set_data5(at_100, 9, 0);
    commit();
    make(&file, three_entries, after, COUNT(after));
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(more_sectors_move_a_block_to_the_end)
{
    static const struct sector after[] = {{1, 0, 0xaa}, {3, 0, 0xcc}, {2, 60, 0}};
    static const uint32_t entries[] = {ENTRY(0, 1), ENTRY(2, 2), ENTRY(1, 1), 0};
    struct tfs_buf file;

    open_three();
    set_data5(at_100, 2, 60);
    commit();
    make(&file, entries, after, COUNT(after));
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

#define METADATA(whole) ((whole)-BLOCK - 4) /* bytes that make a block as long, with its size */

START_TEST(block_that_just_fills_its_sectors_stays_in_them)
{
    static const struct sector after[] = {{1, 0, 0xaa}, {2, METADATA(SECTOR), 0}, {3, 0, 0xcc}};
    struct tfs_buf file;

    open_three();
    set_data5(at_100, 2, METADATA(SECTOR));
    commit();
    make(&file, three_entries, after, COUNT(after));
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(block_that_just_fills_two_sectors_goes_to_the_end_with_two)
{
    static const struct sector after[] = {{1, 0, 0xaa}, {3, 0, 0xcc}, {2, METADATA(2 * SECTOR), 0}};
    static const uint32_t entries[] = {ENTRY(0, 1), ENTRY(2, 2), ENTRY(1, 1), 0};
    struct tfs_buf file;

    open_three();
    set_data5(at_100, 2, METADATA(2 * SECTOR));
    commit();
    make(&file, entries, after, COUNT(after));
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(fewer_sectors_close_the_gap)
{
    static const struct sector before[] = {{1, 60, 0xaa}, {0, 0, 0}, {3, 0, 0xcc}};
    static const uint32_t entries[] = {ENTRY(0, 2), 0, ENTRY(2, 1), 0};
    static const uint32_t entries_after[] = {ENTRY(0, 1), 0, ENTRY(1, 1), 0};
    struct tfs_buf file, expected;

    make(&file, entries, before, 1);
    /* The second sector of the first block is in the file already. */
    make(&expected, entries, (const struct sector[]){{3, 0, 0xcc}}, 1);
    tfs_buf_add(&file, expected.data + BEGIN, SECTOR);
    tfs_buf_release(&expected);
    save("region.vxr", &file);
    ck_assert_msg(files_open(&c, scratch_path("region.vxr")) == 0, "%s", c.err.text);
    ck_assert_int_eq(files_put_text(&c, at_000, "metadata.txt", ""), 0);
    commit();
    make(&expected, entries_after, (const struct sector[]){{1, 0, 0}, {3, 0, 0xcc}}, 2);
    /* What stood behind the shorter block stays there: zeros of the metadata. */
    struct tfs_buf found = files_read_file(scratch_path("region.vxr"));
    ck_assert_uint_eq(found.size, expected.size);
    ck_assert_mem_eq(found.data, expected.data, BEGIN + BLOCK);
    ck_assert_mem_eq(found.data + BEGIN + SECTOR, expected.data + BEGIN + SECTOR, SECTOR);
    ck_assert_mem_eq(found.data + BEGIN + BLOCK, file.data + BEGIN + BLOCK, SECTOR - BLOCK);
    tfs_buf_release(&found);
    tfs_buf_release(&file);
    tfs_buf_release(&expected);
}
END_TEST

START_TEST(deleted_block_leaves_no_hole)
{
    static const struct sector after[] = {{1, 0, 0xaa}, {3, 0, 0xcc}};
    static const uint32_t entries[] = {ENTRY(0, 1), 0, ENTRY(1, 1), 0};
    struct tfs_buf file;

    open_three();
    ck_assert_int_eq(files_delete(&c, at_100), 0);
    commit();
    make(&file, entries, after, COUNT(after));
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(last_block_deleted_leaves_an_empty_table)
{
    static const uint32_t entries[4];
    struct tfs_buf file;

    open_three();
    ck_assert_int_eq(files_delete(&c, at_000), 0);
    ck_assert_int_eq(files_delete(&c, at_100), 0);
    ck_assert_int_eq(files_delete(&c, at_001), 0);
    commit();
    make(&file, entries, NULL, 0);
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
    /* And blocks can be made in it again, of the depths that the header says. */
    ck_assert_int_eq(files_create(&c, at_101), 0);
    commit();
    ck_assert(files_shows(&c, at_101, "channels/type.txt", "depth 16\nfill 0\n"));
    ck_assert(files_shows(&c, at_101, "channels/color.txt", "depth 8\nfill 0\n"));
}
END_TEST

START_TEST(new_blocks_go_to_the_end_in_table_order)
{
    struct tfs_buf file;

    open_three();
    ck_assert_int_eq(files_create(&c, at_101), 0);
    set_data5(at_000, 1, 60);
    commit();
    file = files_read_file(scratch_path("region.vxr"));
    struct tfs_cursor cursor = tfs_cursor_init(tfs_buf_span(&file));
    tfs_cursor_seek(&cursor, 20);
    ck_assert_uint_eq(tfs_take_u32le(&cursor), ENTRY(2, 2)); /* 000, which grew */
    ck_assert_uint_eq(tfs_take_u32le(&cursor), ENTRY(0, 1));
    ck_assert_uint_eq(tfs_take_u32le(&cursor), ENTRY(1, 1));
    ck_assert_uint_eq(tfs_take_u32le(&cursor), ENTRY(4, 1)); /* 101, new */
    ck_assert_uint_eq(file.size, BEGIN + 5 * SECTOR);
    tfs_buf_release(&file);
}
END_TEST

/* What the engine tolerates and we keep: a hole, a larger count, sectors behind the last block, a
 * last sector that is not whole. */
static void make_odd(struct tfs_buf *file)
{
    static const struct sector odd[] = {{1, 0, 0xaa}, {0, 0, 0xee}, {2, 0, 0xbb},
                                        {0, 0, 0xdd}, {3, 0, 0xcc}, {0, 0, 0x99}};
    static const uint32_t entries[] = {ENTRY(0, 1), ENTRY(2, 2), ENTRY(4, 1), 0};

    make(file, entries, odd, COUNT(odd));
}

START_TEST(odd_region_is_shown_and_kept)
{
    struct tfs_buf file;

    make_odd(&file);
    save("region.vxr", &file);
    ck_assert_msg(files_open(&c, scratch_path("region.vxr")) == 0, "%s", c.err.text);
    ck_assert_uint_eq(c.doc->count, 3);
    ck_assert(
        files_holds(&c, FILES_ROOT, "info.txt",
                    "warning: 1 sector between blocks is not used, the first change closes it"));
    /* There and back: nothing is written. */
    set_data5(at_100, 7, 0);
    set_data5(at_100, 2, 0);
    commit();
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(change_closes_holes_and_drops_what_is_behind)
{
    static const struct sector after[] = {{9, 0, 0xaa}, {2, 0, 0xbb}, {0, 0, 0xdd}, {3, 0, 0xcc}};
    static const uint32_t entries[] = {ENTRY(0, 1), ENTRY(1, 2), ENTRY(3, 1), 0};
    struct tfs_buf file;

    make_odd(&file);
    save("region.vxr", &file);
    tfs_buf_release(&file);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    set_data5(at_000, 9, 0);
    commit();
    make(&file, entries, after, COUNT(after));
    check_file("region.vxr", &file);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(last_sector_need_not_be_whole)
{
    struct tfs_buf file;

    make(&file, three_entries, three, COUNT(three));
    file.size -= 5;
    save("region.vxr", &file);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    set_data5(at_000, 9, 0);
    commit();
    struct tfs_buf found = files_read_file(scratch_path("region.vxr"));
    ck_assert_uint_eq(found.size, file.size);
    tfs_buf_release(&found);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(block_of_just_255_sectors_is_kept)
{
    char *text = malloc(40000);
    int n = sprintf(text, "block custom 40 ");
    uint32_t entry;

    open_three();
    for (int i = 1; i < METADATA(255 * SECTOR); i++)
        n += sprintf(text + n, "00");
    ck_assert_msg(files_put_text(&c, at_000, "metadata.txt", text) == 0, "%s", c.err.text);
    commit();
    struct tfs_buf file = files_read_file(scratch_path("region.vxr"));
    memcpy(&entry, file.data + BEGIN - 16, sizeof(entry));
    ck_assert_uint_eq(entry, ENTRY(2, 255));
    ck_assert_uint_eq(file.size, BEGIN + 257 * SECTOR);
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    ck_assert(files_holds(&c, at_000, "metadata.txt", text));
    tfs_buf_release(&file);
    free(text);
}
END_TEST

static int count_bytes(struct tfs_sink *sink, const void *data, size_t size, struct tfs_error *err)
{
    (void)sink;
    (void)data;
    (void)size;
    (void)err;
    return 0;
}

/* Whatever a lens lets through. */
START_TEST(region_is_not_written_with_a_block_of_256_sectors)
{
    static const uint8_t stored[256 * SECTOR];
    struct tfs_sink sink = {count_bytes};
    struct tfs_godot_region region;
    struct tfs_extent *extents;
    struct tfs_error err = {0};
    struct tfs_buf file;

    for (int more = 0; more < 2; more++) {
        const size_t size = 255 * SECTOR - 4 + (size_t)more;
        const struct tfs_sectors_change change = {3, {stored, size}};
        make(&file, three_entries, three, COUNT(three));
        const struct tfs_span bytes = tfs_buf_span(&file);
        ck_assert_int_eq(tfs_godot_region_parse(bytes, NULL, &region, &err), 0);
        ck_assert_int_eq(tfs_sectors_read(&region.sectors, bytes, file.size, &extents, &err), 0);
        const struct tfs_sectors_file old = {&region.sectors, bytes, extents};
        ck_assert_int_eq(
            tfs_sectors_write(&old, (struct tfs_span){bytes.data, region.sectors.table}, &change, 1,
                              &sink, &err),
            more ? -EFBIG : 0);
        free(extents);
        tfs_buf_release(&file);
    }
}
END_TEST

START_TEST(block_of_more_than_255_sectors_is_refused)
{
    char *text = malloc(40000);
    int n = sprintf(text, "block custom 40 ");

    open_three();
    for (int i = 0; i < 255 * SECTOR; i++)
        n += sprintf(text + n, "00");
    ck_assert_int_eq(files_put_text(&c, at_000, "metadata.txt", text), -EFBIG);
    ck_assert_str_eq(c.err.text, "the block has 16364 bytes, at most 16316 fit the 255 sectors "
                                 "that a block of this region may have");
    free(text);
}
END_TEST

/* ---- what a region demands ------------------------------------------------------------------- */

START_TEST(block_of_another_size_is_refused)
{
    struct tfs_buf raw = {0};

    open_three();
    voxel_block(&raw, 4, 4, at_000, 0, TFS_GODOT_LZ4);
    ck_assert_int_eq(files_put(&c, at_000, "raw.bin", tfs_buf_span(&raw)), -EBADMSG);
    ck_assert_str_eq(c.err.text,
                     "the block has 16 x 16 x 16 voxels, this region holds blocks of 2 x 2 x 2");
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(block_of_other_depths_is_refused)
{
    struct tfs_buf raw = files_hex("04 0200 0200 0200 0100 11ff7f 0100 111032 110f00 0100 0100 0100"
                                   "0df00d90");

    open_three();
    ck_assert_int_eq(files_put(&c, at_000, "raw.bin", tfs_buf_span(&raw)), -EBADMSG);
    ck_assert_str_eq(c.err.text, "channel type has depth 8, this region holds blocks whose depth "
                                 "there is 16");
    ck_assert_int_eq(files_put_text(&c, at_000, "channels/type.txt", "depth 8\nfill 0"), -EBADMSG);
    ck_assert_str_eq(c.err.text, "channel type has depth 8, this region holds blocks whose depth "
                                 "there is 16");
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(bare_block_gets_a_container_that_the_engine_reads)
{
    struct tfs_buf raw = files_hex("04 0200 0200 0200 110500 11ff7f 0100 111032 110f00 0100 0100 "
                                   "0100 0df00d90");

    open_three();
    ck_assert_int_eq(files_put(&c, at_101, "raw.bin", tfs_buf_span(&raw)), -ENOENT);
    ck_assert_int_eq(files_create(&c, at_101), 0);
    ck_assert_int_eq(files_put(&c, at_101, "raw.bin", tfs_buf_span(&raw)), 0);
    ck_assert(files_shows(&c, at_101, "channels/type.txt", "depth 16\nfill 5\n"));
    ck_assert_uint_eq(tfs_doc_find(c.doc, at_101)->blob->data[0], 2);
    commit();
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(block_moves_with_its_bytes)
{
    open_three();
    struct tfs_blob *blob = tfs_blob_ref(tfs_doc_find(c.doc, at_000)->blob);
    ck_assert_int_eq(files_move(&c, at_000, at_101), 0);
    commit();
    ck_assert_ptr_null(tfs_doc_find(c.doc, at_000));
    ck_assert(tfs_blob_equal(tfs_doc_find(c.doc, at_101)->blob, blob));
    ck_assert_int_eq(files_move(&c, at_101, (struct tfs_key){0, 2, 0, 0}), -EINVAL);
    tfs_blob_unref(blob);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

START_TEST(damaged_block_shows_its_bytes_and_leaves_the_others_writable)
{
    struct tfs_buf file;
    struct tfs_error err = {0};

    make(&file, three_entries, three, COUNT(three));
    file.data[BEGIN + SECTOR + 20] = 0x77;
    save("region.vxr", &file);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    ck_assert(tfs_cells_damaged(c.save, c.doc, at_100));
    ck_assert(!tfs_cells_damaged(c.save, c.doc, at_000));
    ck_assert_int_eq(tfs_cells_check(c.save, c.doc, at_100, NULL, &err), -EBADMSG);
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "damaged: chunks/1_0_0: "));
    struct tfs_buf raw = files_get(&c, at_100, "raw.bin");
    ck_assert_mem_eq(raw.data, file.data + BEGIN + SECTOR + 4, raw.size);
    ck_assert_int_eq(files_move(&c, at_100, at_101), -EBADMSG);
    set_data5(at_000, 9, 0);
    commit();
    struct tfs_buf found = files_read_file(scratch_path("region.vxr"));
    ck_assert_mem_eq(found.data + BEGIN + SECTOR, file.data + BEGIN + SECTOR, 2 * SECTOR);
    ck_assert_int_eq(files_delete(&c, at_100), 0);
    commit();
    tfs_buf_release(&found);
    tfs_buf_release(&file);
    tfs_buf_release(&raw);
}
END_TEST

static const struct {
    const char *hex; /* of what stands at `at` */
    size_t at;
    size_t size; /* the file is cut to */
    int code;
    const char *sentence;
} damages[] = {
    {"04", 4, 0, -ENOTSUP, "region version 4 is not supported, only 2 and 3"},
    {"01", 4, 0, -ENOTSUP, "region version 1 is not supported, only 2 and 3"},
    {"02", 4, 0, -ENOTSUP,
     "is a region of version 2, which does not say itself what is in it, and there is no "
     "../../meta.vxrm that does"},
    {"00", 5, 0, -EBADMSG, "has blocks of 2^0 voxels, 2^1 to 2^8 are possible"},
    {"09", 5, 0, -EBADMSG, "has blocks of 2^9 voxels, 2^1 to 2^8 are possible"},
    {"00", 6, 0, -EBADMSG, "has 0 x 1 x 2 blocks, 1 to 254 a side are possible"},
    {"ff", 8, 0, -EBADMSG, "has 2 x 1 x 255 blocks, 1 to 254 a side are possible"},
    {"fefefe", 6, 0, -EBADMSG, "is cut off within its table"},
    {"04", 9, 0, -EBADMSG, "has the unknown depth 4 for channel 0"},
    {"0000", 17, 0, -EBADMSG, "has sectors of 0 bytes"},
    {"05", 19, 0, -EBADMSG, "has the unknown byte 05 for its palette, at byte 19"},
    {"ff", 19, 0, -EBADMSG, "is cut off within its header"},
    {"", 0, 19, -EBADMSG, "is cut off within its header"},
    {"", 0, 30, -EBADMSG, "is cut off within its table"},
    {"00010000", 20, 0, -EBADMSG, "block 0 0 0, entry 0 of the table, has no sectors"},
    {"01030000", 20, 0, -EBADMSG,
     "block 0 0 0, entry 0 of the table, lies behind the end of the file"},
    {"01ffffff", 24, 0, -EBADMSG,
     "block 1 0 0, entry 1 of the table, lies behind the end of the file"},
    {"ff000000", 20, 0, -EBADMSG,
     "block 0 0 0, entry 0 of the table, lies behind the end of the file"},
    {"02000000", 20, 0, -EBADMSG, "two blocks overlap in sector 1"},
    {"01010000", 20, 0, -EBADMSG, "two blocks overlap in sector 1"},
};

START_TEST(damaged_region_is_refused_with_a_sentence)
{
    struct tfs_buf file, hex = files_hex(damages[_i].hex);

    make(&file, three_entries, three, COUNT(three));
    if (hex.size > 0)
        memcpy(file.data + damages[_i].at, hex.data, hex.size);
    if (damages[_i].size > 0)
        file.size = damages[_i].size;
    save("region.vxr", &file);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), damages[_i].code);
    ck_assert_str_eq(c.err.text, damages[_i].sentence);
    tfs_buf_release(&file);
    tfs_buf_release(&hex);
}
END_TEST

/* The others stay readable (docs/semantics.md). */
START_TEST(block_with_a_size_that_its_sectors_do_not_hold_is_damaged)
{
    struct tfs_buf file, hex = files_hex("3d000000");

    make(&file, three_entries, three, COUNT(three));
    memcpy(file.data + BEGIN, hex.data, hex.size);
    save("region.vxr", &file);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    ck_assert_int_lt(tfs_cells_check(c.save, c.save->doc, (struct tfs_key){0}, NULL, &c.err), 0);
    tfs_buf_release(&file);
    tfs_buf_release(&hex);
}
END_TEST

/* Cut anywhere, or any byte another one: refused, or opened and checked without harm. */
START_TEST(region_with_any_byte_changed_does_no_harm)
{
    struct tfs_buf file;
    const struct tfs_open_options options = {.lock = TFS_LOCK_NONE};

    make(&file, three_entries, three, COUNT(three));
    for (size_t i = 0; i < file.size; i++) {
        struct tfs_error err = {0};
        struct tfs_save *opened;
        uint8_t before = file.data[i];
        file.data[i] = (uint8_t)(before ^ (i % 2 == 0 ? 0xff : 0x01));
        save("region.vxr", &file);
        file.data[i] = before;
        if (tfs_save_open(scratch_path("region.vxr"), "godot_voxel", &options, &opened, &err) < 0) {
            ck_assert(err.text[0] != '\0');
            continue;
        }
        for (size_t n = 0; n < opened->doc->count; n++)
            tfs_cells_check(opened, opened->doc, tfs_doc_at(opened->doc, n)->key, NULL, &err);
        tfs_save_close(opened);
    }
    tfs_buf_release(&file);
}
END_TEST

/* ---- samples --------------------------------------------------------------------------------- */

/* An edit of one block: every other block's bytes are what they were. */
START_TEST(sample_edited_keeps_all_other_blocks)
{
    struct tfs_doc *before;
    size_t differing = 0;

    files_copy(samples.gl_pathv[_i], scratch_path("region.vxr"));
    ck_assert_msg(files_open(&c, scratch_path("region.vxr")) == 0, "%s", c.err.text);
    before = tfs_doc_ref(c.doc);
    struct tfs_key key = tfs_doc_at(c.doc, c.doc->count / 2)->key;
    ck_assert_int_eq(files_put_text(&c, key, "channels/data7.txt", "fill 77"), 0);
    commit();
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    ck_assert_uint_eq(c.doc->count, before->count);
    for (size_t i = 0; i < before->count; i++) {
        const struct tfs_chunk *old = tfs_doc_at(before, i), *new = tfs_doc_at(c.doc, i);
        ck_assert_int_eq(tfs_key_compare(old->key, new->key), 0);
        differing += !tfs_blob_equal(old->blob, new->blob);
    }
    ck_assert_uint_eq(differing, 1);
    ck_assert(files_shows(&c, key, "channels/data7.txt", "depth 8\nfill 77\n"));
    tfs_doc_unref(before);
}
END_TEST

/* Many edits, one after another and all at once, give the same chunks. */
START_TEST(large_region_survives_many_edits)
{
    voxel_region(scratch_path("region.vxr"), 4, 4);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    for (int32_t i = 0; i < 40; i++) {
        struct tfs_key key = {0, i % 4, i / 4 % 4, i / 16};
        struct tfs_buf block = {0};
        voxel_block(&block, 4, 4, key, (unsigned)(i * 37 % 256), TFS_GODOT_LZ4);
        ck_assert_int_eq(files_put(&c, key, "raw.bin", tfs_buf_span(&block)), 0);
        tfs_buf_release(&block);
        if (i % 3 == 0)
            commit();
    }
    commit();
    struct tfs_doc *edited = tfs_doc_ref(c.doc);
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path("region.vxr")), 0);
    ck_assert_uint_eq(c.doc->count, edited->count);
    for (size_t i = 0; i < edited->count; i++)
        ck_assert(tfs_chunk_same(tfs_doc_at(edited, i), tfs_doc_at(c.doc, i)));
    tfs_doc_unref(edited);
}
END_TEST

/* A region of version 2 takes what it is from the folder around it. */
START_TEST(version_2_is_read_beside_its_folder)
{
    static const char meta[] =
        "{\"version\": 2, \"block_size_po2\": 4.0, \"region_size_po2\": 1, \"sector_size\": 512,"
        " \"channel_depths\": [1, 1, 0, 1, 1, 0, 0, 0]}";
    struct tfs_buf file = {0}, block = {0};

    mkdir(scratch_path("regions"), 0755);
    mkdir(scratch_path("regions/lod0"), 0755);
    scratch_write("meta.vxrm", meta);
    tfs_buf_add_text(&file, "VXR_\2");
    for (uint32_t i = 0; i < 8; i++)
        tfs_buf_u32le(&file, i == 2 ? ENTRY(0, 100) : 0);
    voxel_block(&block, 2, 4, at_000, 0, TFS_GODOT_LZ4_BE);
    size_t begin = file.size;
    tfs_buf_u32le(&file, (uint32_t)block.size);
    tfs_buf_add_span(&file, tfs_buf_span(&block));
    tfs_buf_resize(&file, begin + 100 * 512);
    save("regions/lod0/r.1.0.0.vxr", &file);
    ck_assert_msg(files_open(&c, scratch_path("regions/lod0/r.1.0.0.vxr")) == 0, "%s", c.err.text);
    const struct tfs_key key = {0, 3, 0, 0};
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, key));
    ck_assert_int_eq(files_put_text(&c, key, "channels/data5.txt", "fill 9"), 0);
    ck_assert_int_eq(files_create(&c, (struct tfs_key){0, 2, 1, 1}), 0);
    commit();
    struct tfs_buf found = files_read_file(scratch_path("regions/lod0/r.1.0.0.vxr"));
    ck_assert_mem_eq(found.data, "VXR_\2", 5);
    /* The new chunk is of the version that the save has. */
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "block version: 2 in 2 chunks\n"));
    tfs_buf_release(&found);
    tfs_buf_release(&file);
    tfs_buf_release(&block);
}
END_TEST

static Suite *region_suite(void)
{
    Suite *suite = suite_create("godot_region");
    TCase *tcase = unit_case(suite, "region");

    glob(SAMPLES "engine_v4/*.vxr", 0, NULL, &samples);
    glob(SAMPLES "engine_v4/world_region/regions/*/*.vxr", GLOB_APPEND, NULL, &samples);
    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, region_shows_its_blocks);
    tcase_add_test(tcase, name_gives_the_coordinates);
    tcase_add_test(tcase, same_count_overwrites_in_place);
    tcase_add_test(tcase, more_sectors_move_a_block_to_the_end);
    tcase_add_test(tcase, block_that_just_fills_its_sectors_stays_in_them);
    tcase_add_test(tcase, block_that_just_fills_two_sectors_goes_to_the_end_with_two);
    tcase_add_test(tcase, fewer_sectors_close_the_gap);
    tcase_add_test(tcase, deleted_block_leaves_no_hole);
    tcase_add_test(tcase, last_block_deleted_leaves_an_empty_table);
    tcase_add_test(tcase, new_blocks_go_to_the_end_in_table_order);
    tcase_add_test(tcase, odd_region_is_shown_and_kept);
    tcase_add_test(tcase, change_closes_holes_and_drops_what_is_behind);
    tcase_add_test(tcase, last_sector_need_not_be_whole);
    tcase_add_test(tcase, block_of_just_255_sectors_is_kept);
    tcase_add_test(tcase, region_is_not_written_with_a_block_of_256_sectors);
    tcase_add_test(tcase, block_of_more_than_255_sectors_is_refused);
    tcase_add_test(tcase, block_of_another_size_is_refused);
    tcase_add_test(tcase, block_of_other_depths_is_refused);
    tcase_add_test(tcase, bare_block_gets_a_container_that_the_engine_reads);
    tcase_add_test(tcase, block_moves_with_its_bytes);
    tcase_add_test(tcase, damaged_block_shows_its_bytes_and_leaves_the_others_writable);
    tcase_add_loop_test(tcase, damaged_region_is_refused_with_a_sentence, 0, COUNT(damages));
    tcase_add_test(tcase, block_with_a_size_that_its_sectors_do_not_hold_is_damaged);
    tcase_add_test(tcase, region_with_any_byte_changed_does_no_harm);
    unit_add_samples(tcase, sample_edited_keeps_all_other_blocks, samples.gl_pathc, SAMPLES);
    tcase_add_test(tcase, large_region_survives_many_edits);
    tcase_add_test(tcase, version_2_is_read_beside_its_folder);
    return suite;
}

UNIT_MAIN(region_suite)
