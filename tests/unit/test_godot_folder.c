/* formats/godot_voxel: folders of regions, and meta.vxrm. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/files_case.h"
#include "../lib/voxel_maker.h"
#include "formats/cells/cells.h"
#include "formats/godot_voxel/meta.h"
#include "formats/containers/folder.h"
#include "formats/journal.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/godot_voxel/"

static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
    scratch_teardown();
}

static const char *world(void)
{
    return scratch_path("world");
}

static void must_open(void)
{
    ck_assert_msg(files_open(&c, world()) == 0, "%s", c.err.text);
}

static void commit(void)
{
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
}

static void reopen(void)
{
    tree_files_close(&c);
    must_open();
}

/* Two regions of 4 x 4 x 4 blocks along x, whose lower two layers are there: y 0 and 1. */
static void make_world(void)
{
    voxel_folder(world(), 2);
    must_open();
}

#define REGION_0 "world/regions/lod0/r.0.0.0.vxr"
#define REGION_1 "world/regions/lod0/r.1.0.0.vxr"

/* ---- meta.vxrm ------------------------------------------------------------------------------- */

#define DEPTHS "\"channel_depths\": [1, 1, 0, 1, 1, 0, 0, 0]"
#define REST   "\"block_size_po2\": 4, \"region_size_po2\": 4, \"sector_size\": 512, " DEPTHS

static const struct {
    const char *text;
    int code;
    const char *sentence;
    uint32_t line, column;
} metas[] = {
    {"{\"version\": 3, " REST "}", 0, "", 0, 0},
    {"{\"version\": 2.0, " REST ", \"lod_count\": 1.0, \"more\": {}}", 0, "", 0, 0},
    {"{\n\"version\": 3,,\n}", -EBADMSG, "is not JSON: string or '}' expected near ','", 2, 14},
    {"", -EBADMSG, "is not JSON: '[' or '{' expected near end of file", 1, 0},
    {"[3]", -EBADMSG, "is not a JSON object", 0, 0},
    {"{" REST "}", -EBADMSG, "version is missing", 0, 0},
    {"{\"version\": 1, " REST "}", -ENOTSUP,
     "version 1, from before 2021, is not supported: nothing says the size of its blocks", 0, 0},
    {"{\"version\": 4, " REST "}", -ENOTSUP, "version 4 is not supported, only 2 and 3", 0, 0},
    {"{\"version\": \"3\", " REST "}", -EBADMSG,
     "version is not a whole number from 0 to 4294967295", 0, 0},
    {"{\"version\": 3.5, " REST "}", -EBADMSG, "version is not a whole number from 0 to 4294967295",
     0, 0},
    {"{\"version\": 3, \"version\": 3, " REST "}", -EBADMSG,
     "is not JSON: duplicate object key near '\"version\"'", 1, 24},
    {"{\"version\": 3, \"block_size_po2\": 9, \"region_size_po2\": 4, \"sector_size\": 512, " DEPTHS
     "}",
     -EBADMSG, "block_size_po2 is not a whole number from 1 to 8", 0, 0},
    {"{\"version\": 3, \"block_size_po2\": 4, \"region_size_po2\": 8, \"sector_size\": 512, " DEPTHS
     "}",
     -EBADMSG, "region_size_po2 is not a whole number from 1 to 7", 0, 0},
    {"{\"version\": 3, \"block_size_po2\": 4, \"region_size_po2\": 4, \"sector_size\": 0, " DEPTHS
     "}",
     -EBADMSG, "sector_size is not a whole number from 1 to 65535", 0, 0},
    {"{\"version\": 3, \"block_size_po2\": 4, \"region_size_po2\": 4, \"sector_size\": 512}",
     -EBADMSG, "channel_depths is not a list of 8 numbers", 0, 0},
    {"{\"version\": 3, \"block_size_po2\": 4, \"region_size_po2\": 4, \"sector_size\": 512, "
     "\"channel_depths\": [1, 1, 0, 1, 1, 0, 0, 4]}",
     -EBADMSG, "a number of channel_depths is not a whole number from 0 to 3", 0, 0},
    {"{\"version\": 3, \"lod_count\": 25, " REST "}", -EBADMSG,
     "lod_count is not a whole number from 1 to 24", 0, 0},
};

START_TEST(meta_is_read_or_refused_with_a_sentence)
{
    struct tfs_godot_meta meta;
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_godot_meta_parse(tfs_span_of(metas[_i].text), &meta, &err),
                     metas[_i].code);
    ck_assert_str_eq(err.text, metas[_i].sentence);
    ck_assert_uint_eq(err.line, metas[_i].line);
    if (metas[_i].column > 0)
        ck_assert_uint_eq(err.column, metas[_i].column);
    if (metas[_i].code == 0) {
        ck_assert_uint_eq(meta.sector_size, 512);
        ck_assert_uint_eq(meta.depths[3], 1);
    }
}
END_TEST

START_TEST(meta_that_nests_too_deep_is_refused)
{
    struct tfs_godot_meta meta;
    struct tfs_error err = {0};
    struct tfs_buf text = {0};

    for (unsigned i = 0; i < 100000; i++)
        tfs_buf_u8(&text, '[');
    ck_assert_int_eq(tfs_godot_meta_parse(tfs_buf_span(&text), &meta, &err), -EBADMSG);
    tfs_buf_release(&text);
}
END_TEST

START_TEST(meta_that_is_no_utf_8_is_refused)
{
    struct tfs_godot_meta meta;
    struct tfs_error err = {0};
    const char *text = "{\"version\": 3, \"\xff\": 1, " REST "}";

    ck_assert_int_eq(tfs_godot_meta_parse(tfs_span_of(text), &meta, &err), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(err.text, "is not JSON: unable to decode byte 0xff"));
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(folder_shows_the_blocks_of_all_regions)
{
    make_world();
    ck_assert_uint_eq(c.doc->count, 2 * 32);
    ck_assert(
        files_holds(&c, (struct tfs_key){0, 7, 1, 3}, "voxels.csv", "x,y,z,type,sdf\n112,16,48,"));
    ck_assert_ptr_null(tfs_doc_find(c.doc, (struct tfs_key){0, 0, 2, 0}));
    ck_assert_ptr_null(tfs_doc_at(c.doc, 0)->blob); /* nothing was read but tables */
}
END_TEST

START_TEST(meta_itself_opens_the_folder)
{
    voxel_folder(world(), 1);
    ck_assert_msg(files_open(&c, scratch_path("world/meta.vxrm")) == 0, "%s", c.err.text);
    ck_assert_str_eq(c.save->path, world());
    ck_assert_str_eq(c.save->name, "world");
    ck_assert_uint_eq(c.doc->count, 32);
}
END_TEST

START_TEST(level_of_detail_is_a_group)
{
    voxel_folder(world(), 1);
    mkdir(scratch_path("world/regions/lod2"), 0755);
    files_copy(scratch_path(REGION_0), scratch_path("world/regions/lod2/r.-1.0.0.vxr"));
    must_open();
    ck_assert_uint_eq(c.doc->count, 64);
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, (struct tfs_key){2, -4, 0, 0}));
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, (struct tfs_key){2, -1, 1, 3}));
    ck_assert_int_eq(
        files_put_text(&c, (struct tfs_key){2, -1, 1, 3}, "channels/data5.txt", "fill 4"), 0);
    commit();
    reopen();
    ck_assert(
        files_shows(&c, (struct tfs_key){2, -1, 1, 3}, "channels/data5.txt", "depth 8\nfill 4\n"));
    ck_assert_int_eq(files_create(&c, (struct tfs_key){3, 0, 0, 0}), -EINVAL);
    ck_assert_str_eq(c.err.text, "this folder has levels of detail 0 to 2");
}
END_TEST

START_TEST(real_folder_is_edited)
{
    struct tfs_key key = {0};

    files_copy(SAMPLES "engine_v4/world_region", world());
    must_open();
    ck_assert_uint_eq(c.doc->count, 179);
    key = tfs_doc_at(c.doc, 100)->key;
    ck_assert_int_eq(files_put_text(&c, key, "voxels.csv", "x,y,z,data5\n"), 0);
    ck_assert_int_eq(files_put_text(&c, key, "channels/data5.txt", "fill 4"), 0);
    commit();
    reopen();
    ck_assert_uint_eq(c.doc->count, 179);
    ck_assert(files_shows(&c, key, "channels/data5.txt", "depth 8\nfill 4\n"));
}
END_TEST

/* ---- writing --------------------------------------------------------------------------------- */

START_TEST(edit_replaces_its_region_and_no_other)
{
    struct stat before, after;

    make_world();
    ck_assert_int_eq(stat(scratch_path(REGION_1), &before), 0);
    struct tfs_buf meta = files_read_file(scratch_path("world/meta.vxrm"));
    ck_assert_int_eq(
        files_put_text(&c, (struct tfs_key){0, 1, 1, 1}, "channels/data5.txt", "fill 4"), 0);
    commit();
    ck_assert_int_eq(stat(scratch_path(REGION_1), &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
    struct tfs_buf again = files_read_file(scratch_path("world/meta.vxrm"));
    ck_assert(tfs_span_equal(tfs_buf_span(&meta), tfs_buf_span(&again)));
    struct tfs_error err = {0};
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    /* Blocks of the new file are found without reading the folder again. */
    ck_assert(files_holds(&c, (struct tfs_key){0, 3, 1, 3}, "channels/type.txt", "depth 16\n"));
    reopen();
    ck_assert(
        files_shows(&c, (struct tfs_key){0, 1, 1, 1}, "channels/data5.txt", "depth 8\nfill 4\n"));
    tfs_buf_release(&meta);
    tfs_buf_release(&again);
}
END_TEST

START_TEST(chunk_where_no_region_is_makes_one)
{
    const struct tfs_key far = {0, -9, 20, -1};

    make_world();
    ck_assert_int_eq(files_create(&c, far), 0);
    commit();
    ck_assert_int_eq(access(scratch_path("world/regions/lod0/r.-3.5.-1.vxr"), R_OK), 0);
    struct tfs_error err = {0};
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    reopen();
    ck_assert_uint_eq(c.doc->count, 65);
    ck_assert(files_shows(&c, far, "channels/sdf.txt", "depth 16\nfill 32767\n"));
    /* The region stays when its last block goes. */
    ck_assert_int_eq(files_delete(&c, far), 0);
    commit();
    ck_assert_int_eq(access(scratch_path("world/regions/lod0/r.-3.5.-1.vxr"), R_OK), 0);
    reopen();
    ck_assert_uint_eq(c.doc->count, 64);
}
END_TEST

START_TEST(folder_without_regions_gets_its_first)
{
    const struct tfs_key key = {0, 0, 0, 0};

    mkdir(world(), 0755);
    scratch_write("world/meta.vxrm", "{\"version\": 2, " REST "}");
    must_open();
    ck_assert_uint_eq(c.doc->count, 0);
    ck_assert_int_eq(files_create(&c, key), 0);
    commit();
    struct tfs_buf file = files_read_file(scratch_path(REGION_0));
    ck_assert_mem_eq(file.data, "VXR_\2", 5);
    reopen();
    ck_assert_uint_eq(c.doc->count, 1);
    tfs_buf_release(&file);
}
END_TEST

/* A folder in which all may write: only root can make files that belong to another. */
START_TEST(who_is_not_root_adds_a_region_to_the_folder_of_another)
{
    const uid_t nobody = 65534;
    struct stat st;

    mkdir(world(), 0755);
    ck_assert_int_eq(chmod(world(), 0777), 0);
    scratch_write("world/meta.vxrm", "{\"version\": 3, " REST "}");
    ck_assert_int_eq(chmod(scratch_path("world/meta.vxrm"), 0644), 0);
    ck_assert_int_eq(seteuid(nobody), 0);
    must_open();
    ck_assert_int_eq(files_create(&c, (struct tfs_key){0, 0, 0, 0}), 0);
    int result = files_commit(&c);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_msg(result == 0, "%s", c.err.text);
    ck_assert_int_eq(stat(scratch_path(REGION_0), &st), 0);
    ck_assert_uint_eq(st.st_uid, nobody);
    ck_assert_uint_eq(st.st_mode & 0777, 0644);
}
END_TEST

START_TEST(chunks_that_change_places_between_regions_arrive)
{
    const struct tfs_key left = {0, 1, 0, 1}, right = {0, 6, 0, 1}, aside = {0, 2, 2, 2};

    make_world();
    struct tfs_buf a = files_get(&c, left, "raw.bin"), b = files_get(&c, right, "raw.bin");
    ck_assert_int_eq(files_move(&c, left, aside), 0);
    ck_assert_int_eq(files_move(&c, right, left), 0);
    ck_assert_int_eq(files_move(&c, aside, right), 0);
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, 0, 0, 0}), 0);
    ck_assert_int_eq(files_delete(&c, (struct tfs_key){0, 4, 0, 0}), 0);
    commit();
    reopen();
    struct tfs_buf now_a = files_get(&c, right, "raw.bin"), now_b = files_get(&c, left, "raw.bin");
    ck_assert(tfs_span_equal(tfs_buf_span(&a), tfs_buf_span(&now_a)));
    ck_assert(tfs_span_equal(tfs_buf_span(&b), tfs_buf_span(&now_b)));
    ck_assert_uint_eq(c.doc->count, 62);
    tfs_buf_release(&a);
    tfs_buf_release(&b);
    tfs_buf_release(&now_a);
    tfs_buf_release(&now_b);
}
END_TEST

/* A move from region 0 to region 1, and the second file cannot be written: the first has what it
 * gained, nothing is lost anywhere, and the next try does the rest. */
START_TEST(failure_between_two_files_loses_nothing)
{
    const struct tfs_key from = {0, 6, 0, 1}, to = {0, 1, 3, 1};

    make_world();
    struct tfs_buf moved = files_get(&c, from, "raw.bin");
    ck_assert_int_eq(files_move(&c, from, to), 0);
    /* Region 0 gains and is written first; region 1, which loses, is not the one that was read. */
    struct tfs_buf file = files_read_file(scratch_path(REGION_1));
    files_write_file(scratch_path("copy"), tfs_buf_span(&file));
    ck_assert_int_eq(rename(scratch_path("copy"), scratch_path(REGION_1)), 0);
    ck_assert_int_eq(files_commit(&c), -ESTALE);
    ck_assert_str_eq(c.err.text, "regions/lod0/r.1.0.0.vxr: was changed by another program since "
                                 "it was read");
    /* What is on disk is known: the block is in both. */
    ck_assert_ptr_nonnull(tfs_doc_find(c.save->doc, from));
    ck_assert_ptr_nonnull(tfs_doc_find(c.save->doc, to));
    struct tfs_doc *wanted = tfs_doc_ref(c.doc);
    struct tfs_error err = {0};
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    tfs_doc_unref(c.doc);
    c.doc = tfs_doc_ref(c.save->doc);
    struct tfs_buf first = files_get(&c, from, "raw.bin"), second = files_get(&c, to, "raw.bin");
    ck_assert(tfs_span_equal(tfs_buf_span(&first), tfs_buf_span(&moved)));
    ck_assert(tfs_span_equal(tfs_buf_span(&second), tfs_buf_span(&moved)));
    ck_assert_int_eq(files_delete(&c, from), 0);
    commit();
    reopen();
    ck_assert_uint_eq(c.doc->count, wanted->count);
    tfs_doc_unref(wanted);
    tfs_buf_release(&file);
    tfs_buf_release(&moved);
    tfs_buf_release(&first);
    tfs_buf_release(&second);
}
END_TEST

/* Between the look at the folder and the rename. */
START_TEST(region_that_another_made_meanwhile_is_kept_and_noticed)
{
    const struct tfs_key far = {0, -9, 20, -1};
    struct tfs_error err = {0};

    make_world();
    ck_assert_int_eq(files_create(&c, far), 0);
    scratch_write("world/regions/lod0/r.-3.5.-1.vxr", "another's");
    ck_assert_int_eq(files_commit(&c), -EEXIST);
    ck_assert_str_eq(scratch_read("world/regions/lod0/r.-3.5.-1.vxr"), "another's");
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
}
END_TEST

/* Our own file changes the directory, too: what another put there at that time must not pass for
 * ours. */
START_TEST(region_that_another_made_while_we_wrote_is_noticed)
{
    const struct tfs_key key = {0, 1, 1, 1};
    struct tfs_error err = {0};

    make_world();
    ck_assert_int_eq(files_put_text(&c, key, "channels/data5.txt", "fill 4"), 0);
    struct tfs_buf region = files_read_file(scratch_path(REGION_1));
    files_write_file(scratch_path("world/regions/lod0/r.7.0.0.vxr"), tfs_buf_span(&region));
    tfs_buf_release(&region);
    commit();
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    ck_assert_ptr_nonnull(tfs_doc_find(c.save->doc, (struct tfs_key){0, 28, 0, 0}));
    ck_assert(files_shows(&c, key, "channels/data5.txt", "depth 8\nfill 4\n"));
}
END_TEST

/* What a failed commit made and removed in the folder was not somebody else. */
START_TEST(commit_that_found_no_room_is_no_change_by_others)
{
    const struct tfs_key key = {0, 1, 0, 1};
    struct tfs_error err = {0};
    struct rlimit limit;

    make_world();
    ck_assert_int_eq(files_put_text(&c, key, "channels/data5.txt", "fill 9"), 0);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 1000;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(files_commit(&c), -EDQUOT);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    commit();
    reopen();
    ck_assert(files_shows(&c, key, "channels/data5.txt", "depth 8\nfill 9\n"));
}
END_TEST

START_TEST(region_that_others_changed_is_a_conflict)
{
    struct tfs_error err = {0};
    const struct tfs_key key = {0, 1, 1, 1}, other = {0, 5, 1, 1};

    make_world();
    ck_assert(files_holds(&c, other, "channels/data5.txt", "fill 0"));
    const struct tfs_chunk before = *tfs_doc_find(c.doc, other);
    ck_assert_int_eq(files_put_text(&c, key, "channels/data5.txt", "fill 4"), 0);
    struct tfs_buf file = files_read_file(scratch_path(REGION_0));
    tfs_buf_u8(&file, 0);
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&file));
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
    ck_assert_int_eq(files_commit(&c), -ESTALE);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 0);
    /* Chunks of the region that nobody touched are the same ones. */
    ck_assert(tfs_chunk_same(tfs_doc_find(c.save->doc, other), &before));
    tfs_buf_release(&file);
}
END_TEST

/* The same folder, of which another program wrote one block of the first region. */
static struct tfs_buf another_region(struct tfs_key key)
{
    struct tree_files other = {0};

    voxel_folder(scratch_path("other"), 2);
    ck_assert_int_eq(files_open(&other, scratch_path("other")), 0);
    ck_assert_int_eq(files_put_text(&other, key, "channels/data5.txt", "fill 4"), 0);
    ck_assert_int_eq(files_commit(&other), 0);
    tree_files_close(&other);
    return files_read_file(scratch_path("other/regions/lod0/r.0.0.0.vxr"));
}

static bool is_known(struct tfs_key key)
{
    return tfs_chunk_same(tfs_doc_find(c.save->doc, key), tfs_doc_find(c.doc, key));
}

START_TEST(blocks_that_others_left_alone_stay_in_a_region_that_they_wrote)
{
    const struct tfs_key theirs = {0, 1, 1, 1}, read = {0, 2, 1, 1}, ours = {0, 3, 1, 1},
                         unread = {0, 0, 0, 0};
    struct tfs_error err = {0};

    make_world();
    ck_assert_int_eq(files_put_text(&c, ours, "channels/data5.txt", "fill 4"), 0);
    commit();
    ck_assert(files_holds(&c, theirs, "channels/data5.txt", "fill 0"));
    ck_assert(files_holds(&c, read, "channels/data5.txt", "fill 0"));
    struct tfs_buf file = another_region(theirs);
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&file));
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert(is_known(read));
    ck_assert(!is_known(theirs));
    ck_assert(!is_known(ours)); /* they wrote an older one */
    ck_assert(!is_known(unread));
    tfs_doc_unref(c.doc);
    c.doc = tfs_doc_ref(c.save->doc);
    ck_assert(files_holds(&c, theirs, "channels/data5.txt", "fill 4"));
    /* And once more, without having fetched `read` since. */
    tfs_buf_u8(&file, 0);
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&file));
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert(is_known(read));
    ck_assert(is_known(theirs));
    tfs_buf_release(&file);
}
END_TEST

START_TEST(change_of_one_region_is_none_of_blocks_in_others)
{
    struct tfs_error err = {0};
    const struct tfs_key here = {0, 1, 1, 1}, there = {0, 5, 1, 1}, new = {0, 28, 0, 0};
    const struct tfs_container *container;

    make_world();
    container = c.save->container;
    struct tfs_buf file = files_read_file(scratch_path(REGION_0));
    tfs_buf_u8(&file, 0);
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&file));
    tfs_buf_release(&file);
    ck_assert_int_eq(container->changed(c.save, &here, &err), 1);
    ck_assert_int_eq(container->changed(c.save, &there, &err), 0);
    ck_assert_int_eq(container->changed(c.save, &new, &err), 0);
    ck_assert_int_eq(rename(scratch_path(REGION_1), scratch_path("world/regions/lod0/r.7.0.0.vxr")),
                     0);
    ck_assert_int_eq(container->changed(c.save, &there, &err), 1);
    ck_assert_int_eq(container->changed(c.save, &new, &err), 1);
}
END_TEST

START_TEST(region_that_appears_or_goes_is_noticed)
{
    struct tfs_error err = {0};

    make_world();
    ck_assert_int_eq(rename(scratch_path(REGION_1), scratch_path("world/regions/lod0/r.7.0.0.vxr")),
                     0);
    ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert_uint_eq(c.save->doc->count, 64);
    ck_assert_ptr_null(tfs_doc_find(c.save->doc, (struct tfs_key){0, 4, 0, 0}));
    ck_assert_ptr_nonnull(tfs_doc_find(c.save->doc, (struct tfs_key){0, 28, 0, 0}));
}
END_TEST

START_TEST(folder_is_away_while_its_regions_are_moved)
{
    static const char *const moved[] = {"world/regions", "world/regions/lod0"};
    struct tfs_error err = {0};

    make_world();
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s", scratch_path(moved[i]));
        ck_assert_int_eq(rename(path, scratch_path("away")), 0);
        ck_assert_int_eq(c.save->container->changed(c.save, NULL, &err), 1);
        ck_assert_int_eq(c.save->container->reload(c.save, &err), -ENOENT);
        ck_assert_uint_eq(c.save->doc->count, 64);
        tfs_error_reset(&err);
        ck_assert_int_eq(rename(scratch_path("away"), path), 0);
        ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    }
}
END_TEST

START_TEST(level_above_0_that_was_removed_is_gone)
{
    struct tfs_error err = {0};

    voxel_folder(world(), 2);
    mkdir(scratch_path("world/regions/lod1"), 0755);
    files_copy(scratch_path(REGION_0), scratch_path("world/regions/lod1/r.0.0.0.vxr"));
    must_open();
    ck_assert_uint_eq(c.doc->count, 96);
    ck_assert_int_eq(unlink(scratch_path("world/regions/lod1/r.0.0.0.vxr")), 0);
    ck_assert_int_eq(rmdir(scratch_path("world/regions/lod1")), 0);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert_uint_eq(c.save->doc->count, 64);
}
END_TEST

START_TEST(folder_is_locked_against_a_second_mount)
{
    struct tree_files second;

    make_world();
    ck_assert_int_eq(files_open(&second, world()), -EWOULDBLOCK);
    ck_assert_int_eq(files_open_as(&second, world(), NULL, TFS_LOCK_NONE), 0);
    tree_files_close(&second);
}
END_TEST

#define REGION "world/regions/lod0/r.0.0.0.vxr"

START_TEST(folder_and_one_region_of_it_are_not_written_at_the_same_time)
{
    struct tree_files region;

    make_world();
    ck_assert_int_eq(files_open(&region, scratch_path(REGION)), -EWOULDBLOCK);
    ck_assert_int_eq(files_open_as(&region, scratch_path(REGION), NULL, TFS_LOCK_NONE), 0);
    tree_files_close(&region);
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&region, scratch_path(REGION)), 0);
    ck_assert_int_eq(files_open(&c, world()), -EWOULDBLOCK);
    tree_files_close(&region);
    must_open();
}
END_TEST

START_TEST(region_of_a_folder_is_the_folder_with_its_chunks_alone)
{
    make_world();
    const size_t all = c.save->doc->count;
    char *journal = tfs_journal_beside(c.save);
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path(REGION)), 0);
    ck_assert_str_eq(c.save->path, world());
    ck_assert(c.save->doc->count > 0 && c.save->doc->count < all);
    char *beside = tfs_journal_beside(c.save);
    ck_assert_str_eq(beside, journal);
    free(beside);
    free(journal);
    ck_assert_int_eq(tfs_folder_check_place(c.save->doc, (struct tfs_key){1, 0, 0, 0}, &c.err),
                     -EINVAL);
}
END_TEST

/* As a save of one file is. */
START_TEST(region_shown_alone_that_is_missing_or_half_written_is_waited_for)
{
    make_world();
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path(REGION)), 0);
    const size_t count = c.save->doc->count;
    ck_assert_int_eq(rename(scratch_path(REGION), scratch_path("away")), 0);
    ck_assert_int_eq(c.save->container->reload(c.save, &c.err), -ENOENT);
    tfs_error_reset(&c.err);
    scratch_write(REGION, "VXR_");
    ck_assert_int_eq(c.save->container->reload(c.save, &c.err), -EBADMSG);
    tfs_error_reset(&c.err);
    ck_assert_int_eq(rename(scratch_path("away"), scratch_path(REGION)), 0);
    ck_assert_int_eq(c.save->container->reload(c.save, &c.err), 0);
    ck_assert_uint_eq(c.save->doc->count, count);
}
END_TEST

START_TEST(region_that_its_folder_cannot_show_is_refused)
{
    make_world();
    tree_files_close(&c);
    scratch_write("world/regions/lod0/r.9.0.0.vxr", "VXR_");
    ck_assert_int_eq(files_open(&c, scratch_path("world/regions/lod0/r.9.0.0.vxr")), -EBADMSG);
    ck_assert_int_eq(mkdir(scratch_path("world/regions/lod20"), 0755), 0);
    scratch_write("world/regions/lod20/r.0.0.0.vxr", "VXR_");
    ck_assert_int_eq(files_open(&c, scratch_path("world/regions/lod20/r.0.0.0.vxr")), -ENOENT);
    must_open();
}
END_TEST

START_TEST(strays_of_a_killed_process_are_removed)
{
    voxel_folder(world(), 1);
    scratch_write("world/regions/lod0/.r.0.0.0.vxr.terrainfs-aB3xYz", "half");
    scratch_write("world/regions/lod0/.r.9.0.0.vxr.terrainfs-aB3xYz", "half");
    scratch_write("world/regions/lod0/readme.txt", "not ours");
    scratch_write("world/.meta.vxrm.terrainfs-aB3xYz", "half");
    must_open();
    ck_assert_int_lt(access(scratch_path("world/.meta.vxrm.terrainfs-aB3xYz"), F_OK), 0);
    ck_assert_int_lt(access(scratch_path("world/regions/lod0/.r.0.0.0.vxr.terrainfs-aB3xYz"), F_OK),
                     0);
    ck_assert_int_lt(access(scratch_path("world/regions/lod0/.r.9.0.0.vxr.terrainfs-aB3xYz"), F_OK),
                     0);
    ck_assert_int_eq(access(scratch_path("world/regions/lod0/readme.txt"), F_OK), 0);
}
END_TEST

START_TEST(link_among_the_directories_refuses_the_folder)
{
    voxel_folder(world(), 1);
    char level[256], elsewhere[256];
    snprintf(level, sizeof(level), "%s", scratch_path("world/regions/lod0"));
    snprintf(elsewhere, sizeof(elsewhere), "%s", scratch_path("elsewhere"));
    ck_assert_int_eq(rename(level, elsewhere), 0);
    ck_assert_int_eq(symlink(elsewhere, level), 0);
    ck_assert_int_eq(files_open(&c, world()), -ELOOP);
    ck_assert_str_eq(c.err.text,
                     "its folder regions/lod0 is a link, and links lead out of the save");
}
END_TEST

/* ---- what does not fit ----------------------------------------------------------------------- */

static void is_left_out(const char *name, const char *why)
{
    const char *note = tfs_facts_find(c.doc->facts, TFS_NOTE_DAMAGED);
    char text[256];

    snprintf(text, sizeof(text), "%s: is left out: %s", name, why);
    ck_assert_ptr_nonnull(note);
    ck_assert_str_eq(note, text);
    ck_assert_ptr_nonnull(tfs_facts_hiding(c.doc->facts));
}

static const struct {
    size_t at;
    uint8_t byte;
    const char *sentence;
} disagreements[] = {
    {5, 5,
     "says block_size_po2 5, but meta.vxrm says 4: the game ignores "
     "this region"},
    {6, 8,
     "says region size 8 x 4 x 4, but meta.vxrm says 4: the game "
     "ignores this region"},
    {9, 2,
     "says channel depth 2, but meta.vxrm says 1: the game ignores "
     "this region"},
    {18, 4,
     "says sector_size 1024, but meta.vxrm says 512: the game "
     "ignores this region"},
    {0, 'X', "does not begin as a region does, with VXR_"},
    {20, 0, "block 0 0 0, entry 0 of the table, has no sectors"},
};

START_TEST(region_that_disagrees_with_meta_is_left_out)
{
    struct tfs_buf file;

    voxel_folder(world(), 2);
    file = files_read_file(scratch_path(REGION_1));
    file.data[disagreements[_i].at] = disagreements[_i].byte;
    if (disagreements[_i].at == 20)
        file.data[21] = 1;
    files_write_file(scratch_path(REGION_1), tfs_buf_span(&file));
    must_open();
    is_left_out("lod0/r.1.0.0.vxr", disagreements[_i].sentence);
    ck_assert_uint_eq(c.doc->count, 32);
    tfs_buf_release(&file);
}
END_TEST

static void make_fifo(const char *path)
{
    ck_assert_int_eq(mkfifo(path, 0644), 0);
}

static void make_directory(const char *path)
{
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void make_link(const char *path)
{
    ck_assert_int_eq(symlink("r.0.0.0.vxr", path), 0);
}

static void make_endless(const char *path)
{
    ck_assert_int_eq(symlink("/dev/zero", path), 0);
}

static void make_empty(const char *path)
{
    ck_assert_int_eq(close(open(path, O_CREAT | O_WRONLY, 0644)), 0);
}

static const struct {
    void (*make)(const char *path);
    const char *sentence;
} strange_files[] = {
    {make_fifo, "it is not a file"},
    {make_directory, "it is not a file"},
    {make_link, "it is a link, and links lead out of the save"},
    {make_endless, "it is a link, and links lead out of the save"},
    {make_empty, "does not begin as a region does, with VXR_"},
};

START_TEST(region_that_is_no_file_is_left_out)
{
    voxel_folder(world(), 1);
    strange_files[_i].make(scratch_path("world/regions/lod0/r.5.0.0.vxr"));
    must_open();
    is_left_out("lod0/r.5.0.0.vxr", strange_files[_i].sentence);
}
END_TEST

START_TEST(region_too_far_out_is_left_out)
{
    voxel_folder(world(), 1);
    ck_assert_int_eq(
        rename(scratch_path(REGION_0), scratch_path("world/regions/lod0/r.2147483647.0.0.vxr")), 0);
    must_open();
    is_left_out("lod0/r.2147483647.0.0.vxr", "lies farther out than any coordinate");
}
END_TEST

START_TEST(block_whose_size_lies_is_damage_of_its_chunk)
{
    struct tfs_buf file;
    const struct tfs_key bad = {0, 0, 0, 0}, good = {0, 1, 0, 0};

    voxel_folder(world(), 1);
    file = files_read_file(scratch_path(REGION_0));
    file.data[20 + 4 * 64 + 3] = 0x7f;
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&file));
    must_open();
    ck_assert(tfs_cells_damaged(c.save, c.doc, bad));
    ck_assert(!tfs_cells_damaged(c.save, c.doc, good));
    /* The others can be written, and its bytes stay. */
    ck_assert_int_eq(files_put_text(&c, good, "channels/data5.txt", "fill 4"), 0);
    commit();
    struct tfs_buf after = files_read_file(scratch_path(REGION_0));
    ck_assert_mem_eq(after.data + 20 + 4 * 64, file.data + 20 + 4 * 64, 512);
    tfs_buf_release(&file);
    tfs_buf_release(&after);
}
END_TEST

START_TEST(folder_without_meta_is_none)
{
    mkdir(world(), 0755);
    ck_assert_int_eq(files_open(&c, world()), -EBADMSG);
}
END_TEST

/* ---- several readers ------------------------------------------------------------------------- */

#define READERS 4
#define COMMITS 12

static struct tfs_doc *first;         /* as it was opened: all lazy */
static struct tfs_blob *stored[1600]; /* its blocks */
static atomic_bool done;

static struct tfs_blob *load(size_t i, struct tfs_error *err)
{
    struct tfs_blob *blob = NULL;

    tfs_chunk_load(c.save, tfs_doc_at(first, i), &blob, err);
    return blob;
}

static void load_all(void)
{
    struct tfs_error err = {0};

    first = tfs_doc_ref(c.doc);
    ck_assert_uint_le(first->count, COUNT(stored));
    for (size_t i = 0; i < first->count; i++) {
        stored[i] = load(i, &err);
        ck_assert_msg(err.code == 0 && stored[i]->size > 0, "%s", err.text);
    }
}

static void unload_all(void)
{
    for (size_t i = 0; i < first->count; i++)
        tfs_blob_unref(stored[i]);
    tfs_doc_unref(first);
}

/* Is the block that was stored there, in a file that a commit may be replacing? */
static bool is_there(size_t i)
{
    struct tfs_error err = {0};
    struct tfs_blob *blob = load(i, &err);
    bool same = err.code == 0 && tfs_blob_equal(blob, stored[i]);

    if (!same)
        fprintf(stderr, "chunk %zu: %s\n", i, err.code < 0 ? err.text : "other bytes");
    tfs_blob_unref(blob);
    return same;
}

/* All chunks but those that are edited, which are at x 0. NULL: all were right. */
static void *read_others(void *arg)
{
    bool right = true;

    do
        for (size_t i = 0; i < first->count && right; i++)
            right = tfs_doc_at(first, i)->key.x == 0 || is_there(i);
    while (right && !atomic_load(&done));
    return right ? NULL : arg;
}

START_TEST(blocks_are_read_while_their_regions_are_replaced)
{
    const struct tfs_key edited = {0, 0, 1, 1}, elsewhere = {0, 6, 3, 1};
    pthread_t threads[READERS];
    void *failure;
    bool failed = false;
    char text[32];

    make_world();
    load_all();
    atomic_store(&done, false);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_others, &done), 0);
    for (int i = 0; i < COMMITS; i++) {
        snprintf(text, sizeof(text), "fill %d", i + 1);
        ck_assert_int_eq(files_put_text(&c, edited, "channels/data5.txt", text), 0);
        ck_assert_int_eq(i % 2 == 0 ? files_create(&c, elsewhere) : files_delete(&c, elsewhere), 0);
        commit();
    }
    atomic_store(&done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], &failure);
        failed = failed || failure != NULL;
    }
    ck_assert(!failed);
    unload_all();
}
END_TEST

/* One block of each in turn, so that none stays open for the next. */
START_TEST(more_regions_than_are_kept_open_are_read)
{
    voxel_folder(world(), 40);
    must_open();
    load_all();
    for (size_t begin = 0; begin < 7; begin++)
        for (size_t i = begin; i < first->count; i += 7)
            ck_assert(is_there(i));
    unload_all();
}
END_TEST

/* What is read of a file that others have written into is nobody's block. */
START_TEST(region_written_into_while_it_is_open_is_not_read_on)
{
    struct tfs_error err = {0};

    make_world();
    load_all();
    struct tfs_buf file = files_read_file(scratch_path(REGION_0));
    struct tfs_buf cut = file;
    cut.size = 1000;
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&cut));
    ck_assert_ptr_null(load(0, &err));
    ck_assert_int_eq(err.code, -ESTALE);
    ck_assert_str_eq(err.text, "another program changed the region of this chunk");
    ck_assert(is_there(first->count - 1));
    files_write_file(scratch_path(REGION_0), tfs_buf_span(&file));
    tfs_error_reset(&err);
    ck_assert_int_eq(c.save->container->reload(c.save, &err), 0);
    ck_assert(is_there(0));
    tfs_buf_release(&file);
    unload_all();
}
END_TEST

static Suite *folder_suite(void)
{
    Suite *suite = suite_create("godot_folder");
    TCase *meta = unit_case(suite, "meta"), *tcase = unit_case(suite, "folder");

    tcase_add_loop_test(meta, meta_is_read_or_refused_with_a_sentence, 0, COUNT(metas));
    tcase_add_test(tcase, meta_that_nests_too_deep_is_refused);
    tcase_add_test(tcase, meta_that_is_no_utf_8_is_refused);
    tcase_add_checked_fixture(tcase, scratch_setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, folder_shows_the_blocks_of_all_regions);
    tcase_add_test(tcase, meta_itself_opens_the_folder);
    tcase_add_test(tcase, level_of_detail_is_a_group);
    unit_add_where(access(SAMPLES "engine_v4/world_region", R_OK) == 0, tcase,
                   real_folder_is_edited, 1, SAMPLES);
    tcase_add_test(tcase, edit_replaces_its_region_and_no_other);
    tcase_add_test(tcase, chunk_where_no_region_is_makes_one);
    tcase_add_test(tcase, folder_without_regions_gets_its_first);
    unit_add_where(geteuid() == 0, tcase, who_is_not_root_adds_a_region_to_the_folder_of_another, 1,
                   "root");
    tcase_add_test(tcase, chunks_that_change_places_between_regions_arrive);
    tcase_add_test(tcase, failure_between_two_files_loses_nothing);
    tcase_add_test(tcase, region_that_another_made_meanwhile_is_kept_and_noticed);
    tcase_add_loop_test(tcase, region_that_another_made_while_we_wrote_is_noticed, 0, 1);
    tcase_add_test(tcase, commit_that_found_no_room_is_no_change_by_others);
    tcase_add_test(tcase, region_that_others_changed_is_a_conflict);
    tcase_add_test(tcase, blocks_that_others_left_alone_stay_in_a_region_that_they_wrote);
    tcase_add_test(tcase, change_of_one_region_is_none_of_blocks_in_others);
    tcase_add_test(tcase, region_that_appears_or_goes_is_noticed);
    tcase_add_test(tcase, folder_is_away_while_its_regions_are_moved);
    tcase_add_test(tcase, level_above_0_that_was_removed_is_gone);
    tcase_add_test(tcase, folder_is_locked_against_a_second_mount);
    tcase_add_test(tcase, folder_and_one_region_of_it_are_not_written_at_the_same_time);
    tcase_add_test(tcase, region_of_a_folder_is_the_folder_with_its_chunks_alone);
    tcase_add_test(tcase, link_among_the_directories_refuses_the_folder);
    tcase_add_test(tcase, region_shown_alone_that_is_missing_or_half_written_is_waited_for);
    tcase_add_test(tcase, region_that_its_folder_cannot_show_is_refused);
    tcase_add_test(tcase, strays_of_a_killed_process_are_removed);
    tcase_add_loop_test(tcase, region_that_disagrees_with_meta_is_left_out, 0,
                        COUNT(disagreements));
    tcase_add_loop_test(tcase, region_that_is_no_file_is_left_out, 0, COUNT(strange_files));
    tcase_add_test(tcase, region_too_far_out_is_left_out);
    tcase_add_test(tcase, block_whose_size_lies_is_damage_of_its_chunk);
    tcase_add_test(tcase, folder_without_meta_is_none);
    tcase_add_test(tcase, blocks_are_read_while_their_regions_are_replaced);
    tcase_add_test(tcase, more_regions_than_are_kept_open_are_read);
    tcase_add_test(tcase, region_written_into_while_it_is_open_is_not_read_on);
    return suite;
}

UNIT_MAIN(folder_suite)
