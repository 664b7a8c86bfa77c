/*
 * The smallest format (tests/lib/toy_format.c) obeys the laws: random edits of all its files,
 * pictures and chunks, which are committed and read again. And what is stored as one unit is two
 * chunks for everybody else.
 */
#include <string.h>

#include "../lib/lens_check.h"
#include "../lib/region_maker.h"
#include "../lib/toy_format.h"
#include "../lib/written_check.h"
#include "scratch.h"

/* In place of those of registry.c. */
const struct tfs_container *const tfs_containers[] = {&toy_container, NULL};
const struct tfs_ending tfs_endings[] = {{NULL, NULL}};

#define EDITS 400

static struct tfs_save *save;
static struct lens_check check;
static struct maker_random rnd;

static struct tfs_save *open_save(enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};
    struct tfs_error err = {0};
    struct tfs_save *opened = NULL;

    ck_assert_msg(tfs_save_open(scratch_path("save"), NULL, &options, &opened, &err) == 0, "%s",
                  err.text);
    return opened;
}

static void setup(void)
{
    scratch_setup_in_memory();
    scratch_write("save", "TOY1");
    save = open_save(TFS_LOCK_EXCLUSIVE);
    lens_check_open(&check, save);
}

static void teardown(void)
{
    lens_check_close(&check);
    tfs_save_close(save);
    scratch_teardown();
}

static void edit(const void *bytes, size_t size)
{
    lens_check_edits(&check, (struct tfs_span){bytes, size});
}

static uint8_t draw(uint32_t below)
{
    return (uint8_t)maker_draw(&rnd, below);
}

/* ---- random edits ---------------------------------------------------------------------------- */

static void make_or_move_or_remove(void)
{
    const uint8_t chunk = draw(255), x = draw(3), y = draw(5), z = draw(3);
    const uint8_t ops[][5] = {{0xc0, x, y, z, 0xc0}, {0xd8, chunk, x, y, z}, {0xf0, chunk}};
    static const size_t sizes[] = {4, 5, 2};
    const unsigned which = draw(8) < 6 ? 0 : 1 + draw(2);

    edit(ops[which], sizes[which]);
}

/* Of a picture of the root: columns as high as some chunks. */
static void change_pixels(void)
{
    uint8_t op[] = {0x90, 0, draw(255), 0, 2, draw(64), 0, 0, draw(64), 0, 0};

    for (size_t i = 5; i < sizeof(op); i += 3)
        op[i + 2] = op[i] % 2 == 0 ? 0 : draw(12);
    edit(op, sizeof(op));
}

/* A file of one chunk, with another digit in it, is written into another chunk. */
static void change_text(void)
{
    const struct tfs_tree *tree = save->tree;
    const unsigned file = draw(tree->chunk.count), from = draw((uint32_t)check.doc->count);
    const uint8_t to = (uint8_t)(1 + draw((uint32_t)check.doc->count));
    const struct tfs_lens *lens = tree->chunk.files[file].lens;
    struct tfs_at at = tfs_lens_at(lens, tfs_doc_at(check.doc, from)->key, 0);
    struct tfs_buf op = {0}, text = {0};
    struct tfs_error err = {0};

    if (lens->exists != NULL && lens->exists(save, check.doc, at) == 0)
        return;
    ck_assert_int_eq(lens->get(save, check.doc, at, &text, &err), 0);
    for (size_t i = text.size; i-- > 0;)
        if (text.data[i] >= '0' && text.data[i] <= '9' && draw(20) == 0)
            text.data[i] = (uint8_t)('0' + draw(10));
    tfs_buf_add(&op, (const uint8_t[]){draw(2), to, (uint8_t)file, 0}, 4);
    tfs_buf_u16le(&op, (uint16_t)text.size);
    tfs_buf_add_span(&op, tfs_buf_span(&text));
    edit(op.data, op.size);
    tfs_buf_release(&op);
    tfs_buf_release(&text);
}

/* The document is on disk, and reads from there as it is. */
static void commit(void)
{
    struct tfs_error err = {0};
    struct lens_check again;

    ck_assert_msg(save->container->commit(save, check.doc, &err) == 0, "%s", err.text);
    struct tfs_save *read = open_save(TFS_LOCK_NONE);
    lens_check_open(&again, read);
    lens_check_same(&check, &again, true);
    lens_check_close(&again);
    tfs_save_close(read);
}

/* voxels.csv of the first chunk. */
static void put_voxels(const char *lines)
{
    struct tfs_buf op = {0};

    tfs_buf_add(&op, "\0\1\1\0", 4);
    tfs_buf_u16le(&op, (uint16_t)strlen(lines));
    tfs_buf_add_text(&op, lines);
    edit(op.data, op.size);
    tfs_buf_release(&op);
}

START_TEST(what_is_written_is_what_reads)
{
    edit("\xc0\0\0\0\xc0\0\1\0", 8);
    put_voxels("x,y,z,block,level\n0,0,0,stone,3\n1,0,0,\"a b\",0\n1,1,1,water,9\n");
    ck_assert_uint_gt(written_check(&check, 8, (uint64_t)_i + 1), 8);
    commit();
}
END_TEST

START_TEST(edits_of_all_files_obey_the_laws)
{
    rnd.state = (uint64_t)_i + 1;
    edit("\xc0\0\0\0", 4);
    put_voxels("x,y,z,block,level\n0,0,0,stone,3\n1,0,0,\"a b\",0\n1,1,1,water,9\n");
    for (unsigned i = 0; i < EDITS && check.doc->count <= CHUNKS_TOO_MANY; i++) {
        if (check.doc->count == 0 || draw(6) == 0)
            make_or_move_or_remove();
        else if (draw(4) == 0)
            change_pixels();
        else
            change_text();
    }
    lens_check_encoding(&check);
    commit();
}
END_TEST

START_TEST(chunks_at_the_ends_of_the_world_obey_the_laws)
{
    static const int32_t ends[] = {INT32_MIN, -1, INT32_MAX};
    const struct tfs_key key = {0, ends[_i % 3], ends[_i / 3], ends[2 - _i % 3]};
    struct tfs_error err = {0};
    struct tfs_edit made;

    ck_assert_int_eq(tfs_edit_open(check.doc, &made, &err), 0);
    ck_assert_int_eq(save->tree->chunk_create(save, &made, key, &err), 0);
    tfs_doc_unref(check.doc);
    check.doc = tfs_edit_finish(&made);
    tfs_edit_release(&made);
    lens_check_unedited(&check);
    commit();
}
END_TEST

/* ---- units ----------------------------------------------------------------------------------- */

static off_t size_on_disk(void)
{
    struct stat st;

    commit();
    ck_assert_int_eq(stat(scratch_path("save"), &st), 0);
    return st.st_size;
}

START_TEST(a_unit_is_two_chunks_that_come_change_and_go_alone)
{
    const off_t empty = size_on_disk();

    edit("\xc0\0\0\0\xc0\0\1\0", 8);
    const off_t one = size_on_disk() - empty;
    struct tfs_blob *upper = tfs_blob_ref(tfs_doc_at(check.doc, 1)->blob);
    put_voxels("x,y,z,block,level\n0,0,0,stone,3\n");
    ck_assert_int_eq(size_on_disk(), empty + one);
    ck_assert(tfs_blob_equal(tfs_doc_at(save->doc, 1)->blob, upper));
    ck_assert(!tfs_blob_equal(tfs_doc_at(save->doc, 0)->blob, upper));
    edit("\xf0\0", 2);
    ck_assert_int_eq(size_on_disk(), empty + one);
    ck_assert(tfs_blob_equal(tfs_doc_at(save->doc, 0)->blob, upper));
    edit("\xf0\0", 2);
    ck_assert_int_eq(size_on_disk(), empty);
    tfs_blob_unref(upper);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("toy");
    TCase *c = unit_case_with(s, "laws", setup, teardown);

    tcase_add_loop_test(c, what_is_written_is_what_reads, 0, 20);
    tcase_add_loop_test(c, edits_of_all_files_obey_the_laws, 0, 20);
    tcase_add_loop_test(c, chunks_at_the_ends_of_the_world_obey_the_laws, 0, 9);
    tcase_add_test(c, a_unit_is_two_chunks_that_come_change_and_go_alone);
    return s;
}

UNIT_MAIN(suite)
