/* formats/godot_voxel, whole saves: the laws GetPut and PutGet on every sample block
 * (../shared/samples), and on made saves of every container. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/files_case.h"
#include "../lib/lens_check.h"
#include "../lib/voxel_maker.h"
#include "formats/godot_voxel/cells.h"
#include "formats/godot_voxel/channel.h"
#include "in_full.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/godot_voxel/"

static struct tree_files c;
static glob_t samples; /* found before the tests fork */
static uint64_t state = 88172645463325252u;

static void teardown(void)
{
    tree_files_close(&c);
    scratch_teardown();
}

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Opens a copy of the sample. */
static void open_sample(const char *path)
{
    files_copy(path, scratch_path("save"));
    ck_assert_msg(files_open(&c, scratch_path("save")) == 0, "%s: %s", path, c.err.text);
}

/* ---- what was read is written ---------------------------------------------------------------- */

START_TEST(sample_written_back_changes_nothing)
{
    open_sample(samples.gl_pathv[_i]);
    lens_check_reads(c.save, c.doc, NULL);
}
END_TEST

/* ---- what is written is read ----------------------------------------------------------------- */

/* A value of the channel as text. */
static size_t put_random(const struct tfs_grid_rules *rules, unsigned depth, uint8_t *out)
{
    uint64_t v = next_random() >> next_random() % 60;

    if (rules->shape.base == TFS_GRID_FLOAT)
        return depth == 3 ? tfs_grid_put_value64(out, &rules->shape, next_random())
                          : tfs_grid_put_value(out, &rules->shape, (uint32_t)next_random());
    if (rules->shape.base == TFS_GRID_SIGNED)
        return tfs_grid_put_value(
            out, &rules->shape,
            (uint32_t)((int32_t)(v % (2 * rules->high + 2)) - (int32_t)rules->high - 1));
    if (rules->high != UINT64_MAX)
        v %= rules->high + 1;
    return depth == 3 ? tfs_grid_put_value64(out, &rules->shape, v)
                      : tfs_grid_put_value(out, &rules->shape, (uint32_t)v);
}

/* Random rows, without labels and alignment; or a fill line. */
static void random_grid(const struct tfs_godot_block *block, unsigned channel, unsigned depth,
                        bool fill, struct tfs_buf *out)
{
    const struct tfs_plane_form form = tfs_godot_form(block->version, channel, 1U << depth);
    char range[TFS_PLANE_RANGE];
    const struct tfs_grid_rules rules = tfs_plane_rules(&tfs_godot_cells.planes[channel], &form,
                                                        (struct tfs_voxel_size){1, 1, 1}, range);
    uint8_t value[TFS_GRID_VALUE_MAX];

    tfs_buf_printf(out, "depth %u\n%s", 8U << depth, fill ? "fill " : "");
    for (uint32_t row = 0; row < (fill ? 1 : block->y * block->z); row++) {
        for (uint32_t x = 0; x < (fill ? 1 : block->x); x++) {
            tfs_buf_add(out, value, put_random(&rules, depth, value));
            tfs_buf_u8(out, ' ');
        }
        tfs_buf_u8(out, '\n');
    }
}

/* Puts the text; what is then shown, put again, changes nothing, and has the same words. */
static void check_words(struct tfs_key key, const char *name, const struct tfs_buf *text)
{
    ck_assert_msg(files_put(&c, key, name, tfs_buf_span(text)) == 0, "%s: %s", name, c.err.text);
    struct tfs_buf shown = files_get(&c, key, name);
    struct tfs_line a = {.text = tfs_buf_span(text)}, b = {.text = tfs_buf_span(&shown)};
    struct tfs_lines typed, read;
    struct tfs_error err = {0};
    ck_assert_int_eq(tfs_lines_init(&typed, tfs_buf_span(text), &err), 0);
    ck_assert_int_eq(tfs_lines_init(&read, tfs_buf_span(&shown), &err), 0);
    while (tfs_lines_next(&typed, &a)) {
        struct tfs_line left, right;
        ck_assert(tfs_lines_next(&read, &b));
        const uint8_t *bar = memchr(b.text.data, '|', b.text.size);
        if (bar != NULL)
            tfs_line_skip(&b, (size_t)(bar + 1 - b.text.data));
        while (tfs_line_word(&a, &left)) {
            ck_assert(tfs_line_word(&b, &right));
            ck_assert_msg(tfs_span_equal(left.text, right.text), "%s: %.*s became %.*s", name,
                          (int)left.text.size, (const char *)left.text.data, (int)right.text.size,
                          (const char *)right.text.data);
        }
        ck_assert(!tfs_line_word(&b, &right));
    }
    ck_assert(!tfs_lines_next(&read, &b));
    tfs_buf_release(&shown);
    lens_check_reads(c.save, c.doc, &key);
}

static void check_channel(struct tfs_key key, unsigned channel)
{
    static struct tfs_godot_block block;
    struct tfs_buf raw = files_get(&c, key, "raw.bin"), text = {0};
    struct tfs_blob *blob = NULL;
    struct tfs_error err = {0};
    char name[40];

    ck_assert_int_eq(tfs_blob_copy(tfs_buf_span(&raw), &blob, &err), 0);
    ck_assert_int_eq(tfs_godot_block_open(blob, &block, &err), 0);
    snprintf(name, sizeof(name), "channels/%s.txt", tfs_godot_channel_names[channel]);
    /* Where depths are fixed, that of the block; else any. */
    bool fixed = !tfs_chunks_are_fixed(c.save);
    unsigned depth = fixed ? block.channels[channel].depth : (unsigned)(next_random() % 4);
    random_grid(&block, channel, depth, next_random() % 4 == 0, &text);
    check_words(key, name, &text);
    tfs_godot_block_release(&block);
    tfs_blob_unref(blob);
    tfs_buf_release(&text);
    tfs_buf_release(&raw);
}

static const char *const metadata_4[] = {
    "block u64 7\nvoxel 0 0 0 variant 0200000005000000\nvoxel 1 0 0 custom 77 0102\n",
    "voxel 0 0 0 empty\n",
    "block custom 33 aabbcc\n",
};
static const char *const metadata_3[] = {
    "block variant 0200000005000000\nvoxel 0 0 0 empty\nvoxel 1 0 0 variant 0100000001000000\n",
    "voxel 0 0 0 empty\n",
    "block opaque 01\n",
};

static void check_metadata(struct tfs_key key)
{
    bool newest = files_put_text(&c, key, "metadata.txt", "block u64 1") == 0;

    for (unsigned i = 0; i < 3; i++) {
        const char *text = newest ? metadata_4[i] : metadata_3[i];
        ck_assert_msg(files_put_text(&c, key, "metadata.txt", text) == 0, "%s: %s", text,
                      c.err.text);
        ck_assert(files_shows(&c, key, "metadata.txt", text));
        lens_check_reads(c.save, c.doc, &key);
    }
}

/* Lines of voxels.csv taken away, and put back: the same block again. */
static void check_table(struct tfs_key key)
{
    struct tfs_buf table = files_get(&c, key, "voxels.csv"), fewer = {0};
    const uint8_t *end = table.data + table.size;

    for (const uint8_t *at = table.data; at < end;) {
        const uint8_t *line = at;
        at = (const uint8_t *)memchr(at, '\n', (size_t)(end - at)) + 1;
        if (line == table.data || next_random() % 3 != 0)
            tfs_buf_add(&fewer, line, (size_t)(at - line));
    }
    ck_assert_msg(files_put(&c, key, "voxels.csv", tfs_buf_span(&fewer)) == 0, "%s", c.err.text);
    struct tfs_buf shown = files_get(&c, key, "voxels.csv");
    ck_assert(tfs_span_equal(tfs_buf_span(&shown), tfs_buf_span(&fewer)));
    ck_assert_int_eq(files_put(&c, key, "voxels.csv", tfs_buf_span(&table)), 0);
    struct tfs_buf again = files_get(&c, key, "voxels.csv");
    ck_assert(tfs_span_equal(tfs_buf_span(&again), tfs_buf_span(&table)));
    tfs_buf_release(&table);
    tfs_buf_release(&fewer);
    tfs_buf_release(&shown);
    tfs_buf_release(&again);
}

static void check_putget(struct tfs_key key)
{
    struct tfs_buf raw = files_get(&c, key, "raw.bin");

    if (raw.data != NULL) {
        check_table(key);
        check_metadata(key);
        for (unsigned i = 0; i < TFS_GODOT_CHANNELS; i++)
            check_channel(key, i);
        check_table(key);
    }
    tfs_buf_release(&raw);
}

#define CHUNKS (in_full() ? 6u : 2u) /* of a save, about */

/* Of a save of many chunks some; then the edits go to disk and are read again. */
static void check_save(void)
{
    for (size_t i = 0; i < c.doc->count; i += 1 + c.doc->count / CHUNKS)
        check_putget(tfs_doc_at(c.doc, i)->key);
    struct tfs_doc *edited = tfs_doc_ref(c.doc);
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
    tree_files_close(&c);
    ck_assert_msg(files_open(&c, scratch_path("save")) == 0, "%s", c.err.text);
    ck_assert_uint_eq(c.doc->count, edited->count);
    for (size_t i = 0; i < edited->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(edited, i);
        struct tfs_buf raw = files_get(&c, chunk->key, "raw.bin");
        if (chunk->blob != NULL)
            ck_assert(tfs_span_equal(tfs_blob_span(chunk->blob), tfs_buf_span(&raw)));
        tfs_buf_release(&raw);
    }
    tfs_doc_unref(edited);
}

START_TEST(sample_reads_as_it_was_written)
{
    open_sample(samples.gl_pathv[_i]);
    check_save();
}
END_TEST

START_TEST(made_save_obeys_the_laws)
{
    static const unsigned formats[] = {0, 1, 2, 3, 4};

    if (_i == 0)
        voxel_region(scratch_path("save"), 3, 4);
    else if (_i == 1)
        voxel_folder(scratch_path("save"), 2);
    else
        voxel_stream(scratch_path("save"), formats[_i - 2], 20);
    ck_assert_msg(files_open(&c, scratch_path("save")) == 0, "%s", c.err.text);
    lens_check_reads(c.save, c.doc, NULL);
    check_save();
}
END_TEST

/* ---- from save to save ----------------------------------------------------------------------- */

/* All files of a chunk written one after another into a new chunk elsewhere, as `cp -r` does. */
START_TEST(chunk_copied_file_by_file_arrives)
{
    const struct tfs_key from = {0, 1, 1, 1}, to = {0, 300, -2, 7};
    const struct tfs_tree *tree;
    struct tfs_buf texts[TFS_FILES_MAX] = {0};

    voxel_region(scratch_path("region"), 2, 4);
    ck_assert_int_eq(files_open(&c, scratch_path("region")), 0);
    ck_assert_int_eq(files_put_text(&c, from, "metadata.txt", "voxel 1 2 3 u64 5"), 0);
    tree = c.save->tree;
    for (unsigned i = 0; i < tree->chunk.count; i++)
        texts[i] = files_get(&c, from, tree->chunk.files[i].path);
    tree_files_close(&c);
    voxel_stream(scratch_path("save"), 2, 1);
    ck_assert_int_eq(files_open(&c, scratch_path("save")), 0);
    ck_assert_int_eq(files_create(&c, to), 0);
    c.how.fresh = true;
    for (unsigned i = 0; i < tree->chunk.count; i++)
        ck_assert_msg(files_put(&c, to, tree->chunk.files[i].path, tfs_buf_span(&texts[i])) == 0,
                      "%s: %s", tree->chunk.files[i].path, c.err.text);
    c.how.fresh = false;
    for (unsigned i = 0; i < tree->chunk.count; i++) {
        struct tfs_buf found = files_get(&c, to, tree->chunk.files[i].path);
        bool table = strcmp(tree->chunk.files[i].path, "voxels.csv") == 0;
        /* Its voxels have the coordinates of their new place. */
        ck_assert(table != tfs_span_equal(tfs_buf_span(&found), tfs_buf_span(&texts[i])));
        tfs_buf_release(&found);
        tfs_buf_release(&texts[i]);
    }
    ck_assert(files_holds(&c, to, "voxels.csv", "\n4800,-32,112,"));
}
END_TEST

START_TEST(table_of_another_chunk_is_shifted_into_a_new_one_only)
{
    const struct tfs_key to = {0, -3, 0, 2};

    voxel_stream(scratch_path("save"), 2, 1);
    ck_assert_int_eq(files_open(&c, scratch_path("save")), 0);
    ck_assert_int_eq(files_create(&c, to), 0);
    ck_assert_int_eq(files_put_text(&c, to, "voxels.csv", "x,y,z,type\n-1,17,33,4\n"), -EBADMSG);
    c.how.fresh = true;
    ck_assert_int_eq(files_put_text(&c, to, "voxels.csv", "x,y,z,type\n-1,17,33,4\n-16,16,32,5\n"),
                     0);
    ck_assert(files_shows(&c, to, "voxels.csv", "x,y,z,type\n-48,0,32,5\n-33,1,33,4\n"));
    /* Of two chunks: refused. */
    ck_assert_int_eq(files_put_text(&c, to, "voxels.csv", "x,y,z,type\n-1,17,33,4\n0,16,32,5\n"),
                     -EBADMSG);
    ck_assert_str_eq(c.err.text, "x 0 is outside chunk -1_1_2, which has x -16 to -1");
}
END_TEST

static Suite *saves_suite(void)
{
    Suite *suite = suite_create("godot_saves");
    TCase *tcase = unit_case(suite, "laws");

    glob(SAMPLES "*/*.blk", 0, NULL, &samples);
    glob(SAMPLES "*/*.bin", GLOB_APPEND, NULL, &samples);
    glob(SAMPLES "*/*.vxr", GLOB_APPEND, NULL, &samples);
    glob(SAMPLES "*/*.sqlite", GLOB_APPEND, NULL, &samples);
    glob(SAMPLES "*/world_region", GLOB_APPEND, NULL, &samples);
    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    tcase_set_timeout(tcase, 120);
    unit_add_samples(tcase, sample_written_back_changes_nothing, samples.gl_pathc, SAMPLES);
    unit_add_samples(tcase, sample_reads_as_it_was_written, samples.gl_pathc, SAMPLES);
    tcase_add_loop_test(tcase, made_save_obeys_the_laws, 0, 7);
    tcase_add_test(tcase, chunk_copied_file_by_file_arrives);
    tcase_add_test(tcase, table_of_another_chunk_is_shifted_into_a_new_one_only);
    return suite;
}

UNIT_MAIN(saves_suite)
