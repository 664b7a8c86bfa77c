/* formats/godot_voxel: whole saves brought to version 4 (godot_voxel/FORMAT.md, section 9). */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../lib/files_case.h"
#include "../lib/voxel_maker.h"
#include "formats/godot_voxel/block.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/godot_voxel/"

static struct tree_files c;
static size_t upgraded, refused;
static char reason[400];

static void teardown(void)
{
    tree_files_close(&c);
    scratch_teardown();
}

static void tell(void *arg, const struct tfs_chunk *chunk, const char *why)
{
    (void)arg;
    (void)chunk;
    refused++;
    snprintf(reason, sizeof(reason), "%s", why);
}

/* Upgrades the open save; true when that changed something. */
static bool upgrade(void)
{
    struct tfs_edit edit;

    refused = 0;
    tfs_error_reset(&c.err);
    ck_assert_int_eq(tfs_edit_open(c.doc, &edit, &c.err), 0);
    ck_assert_msg(c.save->tree->upgrade(c.save, &edit, tell, NULL, &upgraded, &c.err) == 0, "%s",
                  c.err.text);
    bool changed = edit.changed;
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_doc_unref(c.doc);
    c.doc = doc;
    tfs_edit_release(&edit);
    return changed;
}

static void must_open(const char *path)
{
    ck_assert_msg(files_open(&c, path) == 0, "%s", c.err.text);
}

static void commit(void)
{
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
}

static unsigned version_of(struct tfs_key key)
{
    struct tfs_buf raw = files_get(&c, key, "raw.bin");
    struct tfs_blob *blob = NULL;
    struct tfs_godot_block block;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_blob_copy(tfs_buf_span(&raw), &blob, &err), 0);
    ck_assert_int_eq(tfs_godot_block_open(blob, &block, &err), 0);
    unsigned version = block.version;
    tfs_godot_block_release(&block);
    tfs_blob_unref(blob);
    tfs_buf_release(&raw);
    return version;
}

/* Puts a block of version 2 into the open save. */
static void put_old(struct tfs_key key)
{
    struct tfs_buf raw = {0};

    voxel_block(&raw, 2, 4, key, 0, TFS_GODOT_LZ4_BE);
    ck_assert_msg(files_put(&c, key, "raw.bin", tfs_buf_span(&raw)) == 0, "%s", c.err.text);
    tfs_buf_release(&raw);
    ck_assert_uint_eq(version_of(key), 2);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

START_TEST(block_keeps_voxels_and_metadata)
{
    const struct tfs_key key = {0, 0, 0, 0};

    files_copy(SAMPLES "engine_v2/v2_meta_variants.blk", scratch_path("block"));
    must_open(scratch_path("block"));
    struct tfs_buf type = files_get(&c, key, "channels/type.txt");
    ck_assert(upgrade());
    ck_assert_uint_eq(upgraded, 1);
    ck_assert_uint_eq(refused, 0);
    commit();
    ck_assert_uint_eq(version_of(key), 4);
    struct tfs_buf after = files_get(&c, key, "channels/type.txt");
    ck_assert(tfs_span_equal(tfs_buf_span(&type), tfs_buf_span(&after)));
    ck_assert(files_holds(&c, key, "metadata.txt",
                          "voxel 0 15 0 variant 0200000005000000\n"
                          "voxel 1 0 15 variant 1d000000050000000102030405000000\n"
                          "voxel 1 2 2 variant 090000000000c03f000000c000004040\n"));
    /* It is of the newest version now. */
    ck_assert(!upgrade());
    ck_assert_uint_eq(upgraded, 0);
    tfs_buf_release(&type);
    tfs_buf_release(&after);
}
END_TEST

START_TEST(distances_mean_the_same_in_version_4)
{
    const struct tfs_key key = {0, 0, 0, 0};
    struct tfs_buf old = {0}, new = {0};

    voxel_block(&old, 2, 4, key, 0, TFS_GODOT_LZ4_BE);
    voxel_block(&new, 4, 4, key, 0, TFS_GODOT_LZ4);
    files_write_file(scratch_path("new"), tfs_buf_span(&new));
    must_open(scratch_path("new"));
    struct tfs_buf wanted = files_get(&c, key, "channels/sdf.txt");
    tree_files_close(&c);
    files_write_file(scratch_path("old"), tfs_buf_span(&old));
    must_open(scratch_path("old"));
    ck_assert(upgrade());
    struct tfs_buf found = files_get(&c, key, "channels/sdf.txt");
    ck_assert(tfs_span_equal(tfs_buf_span(&found), tfs_buf_span(&wanted)));
    tfs_buf_release(&old);
    tfs_buf_release(&new);
    tfs_buf_release(&wanted);
    tfs_buf_release(&found);
}
END_TEST

START_TEST(block_that_cannot_be_upgraded_is_told_and_stays)
{
    const struct tfs_key key = {0, 0, 0, 0};
    struct tfs_buf bytes = files_hex("03 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100 0100"
                                     "02000000 0100 0df00d90");

    files_write_file(scratch_path("block"), tfs_buf_span(&bytes));
    must_open(scratch_path("block"));
    ck_assert(!upgrade());
    ck_assert_uint_eq(upgraded, 0);
    ck_assert_uint_eq(refused, 1);
    ck_assert_str_eq(reason, "its metadata cannot be read");
    /* An edit with -o upgrade is stored in any case. */
    c.save->options.upgrade = true;
    ck_assert_int_eq(files_put_text(&c, key, "channels/type.txt", "fill 3"), 0);
    ck_assert_uint_eq(version_of(key), 3);
    tfs_buf_release(&bytes);
}
END_TEST

/* ---- containers ------------------------------------------------------------------------------ */

START_TEST(stream_is_upgraded_in_one_commit)
{
    const struct tfs_key one = {0, -50, -1, -50}, two = {0, -49, -1, -50};

    voxel_stream(scratch_path("db"), 2, 3);
    must_open(scratch_path("db"));
    put_old(one);
    put_old(two);
    commit();
    tree_files_close(&c);
    must_open(scratch_path("db"));
    ck_assert(upgrade());
    ck_assert_uint_eq(upgraded, 2);
    commit();
    tree_files_close(&c);
    must_open(scratch_path("db"));
    ck_assert_uint_eq(version_of(one), 4);
    ck_assert_uint_eq(version_of(two), 4);
}
END_TEST

#define DEPTHS "\"channel_depths\": [ 1, 1, 0, 1, 1, 0, 0, 0 ]"

static const char old_meta[] =
    "{\n\t\"block_size_po2\": 4.0,\n\t" DEPTHS ",\n\t\"lod_count\": 2,\n\t"
    "\"region_size_po2\": 1,\n\t\"sector_size\": 512,\n\t\"version\": 2.0"
    "\n}\n";
static const char new_meta[] =
    "{\n\t\"block_size_po2\": 4.0,\n\t" DEPTHS ",\n\t\"lod_count\": 2,\n\t"
    "\"region_size_po2\": 1,\n\t\"sector_size\": 512,\n\t\"version\": 3"
    "\n}\n";

/* A folder of version 2 with two regions, of one old block each, and one without any. */
static void make_old_folder(void)
{
    mkdir(scratch_path("world"), 0755);
    scratch_write("world/meta.vxrm", old_meta);
    must_open(scratch_path("world"));
    for (int32_t x = 0; x < 6; x += 2) {
        const struct tfs_key key = {0, x, 0, 0};
        ck_assert_int_eq(files_create(&c, key), 0);
        put_old(key);
    }
    commit();
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, 4, 0, 0}), 0);
    commit();
    tree_files_close(&c);
}

static void check_region_version(const char *name, uint8_t version)
{
    struct tfs_buf file = files_read_file(scratch_path(name));

    ck_assert_mem_eq(file.data, "VXR_", 4);
    ck_assert_uint_eq(file.data[4], version);
    tfs_buf_release(&file);
}

START_TEST(folder_is_upgraded_with_regions_and_meta)
{
    const struct tfs_key one = {0, 0, 0, 0}, two = {0, 2, 0, 0};
    struct tfs_error err = {0};

    make_old_folder();
    check_region_version("world/regions/lod0/r.1.0.0.vxr", 2);
    must_open(scratch_path("world"));
    struct tfs_buf type = files_get(&c, two, "channels/type.txt");
    ck_assert(upgrade());
    ck_assert_uint_eq(upgraded, 2);
    commit();
    ck_assert_str_eq(scratch_read("world/meta.vxrm"), new_meta);
    check_region_version("world/regions/lod0/r.0.0.0.vxr", 3);
    check_region_version("world/regions/lod0/r.1.0.0.vxr", 3);
    check_region_version("world/regions/lod0/r.2.0.0.vxr", 3);
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "meta version: 3\n"));
    tree_files_close(&c);
    must_open(scratch_path("world"));
    ck_assert_uint_eq(c.doc->count, 2);
    ck_assert_uint_eq(version_of(one), 4);
    struct tfs_buf after = files_get(&c, two, "channels/type.txt");
    ck_assert(tfs_span_equal(tfs_buf_span(&type), tfs_buf_span(&after)));
    ck_assert(!upgrade());
    tfs_buf_release(&type);
    tfs_buf_release(&after);
}
END_TEST

START_TEST(blocks_of_one_region_are_upgraded_alone)
{
    make_old_folder();
    must_open(scratch_path("world/regions/lod0/r.1.0.0.vxr"));
    ck_assert(upgrade());
    commit();
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "meta version: 2\n"));
    tree_files_close(&c);
    must_open(scratch_path("world"));
    ck_assert_uint_eq(version_of((struct tfs_key){0, 2, 0, 0}), 4);
    check_region_version("world/regions/lod0/r.1.0.0.vxr", 2);
}
END_TEST

static Suite *upgrade_suite(void)
{
    Suite *suite = suite_create("godot_upgrade");
    TCase *tcase = unit_case(suite, "upgrade");

    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    unit_add_where(access(SAMPLES "engine_v2/v2_meta_variants.blk", R_OK) == 0, tcase,
                   block_keeps_voxels_and_metadata, 1, SAMPLES);
    tcase_add_test(tcase, distances_mean_the_same_in_version_4);
    tcase_add_test(tcase, block_that_cannot_be_upgraded_is_told_and_stays);
    tcase_add_test(tcase, stream_is_upgraded_in_one_commit);
    tcase_add_test(tcase, folder_is_upgraded_with_regions_and_meta);
    tcase_add_test(tcase, blocks_of_one_region_are_upgraded_alone);
    return suite;
}

UNIT_MAIN(upgrade_suite)
