/* formats/cosmic_reach: all regions of a folder as one save. */
#include <errno.h>
#include <malloc.h>
#include <semaphore.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/region_maker.h"
#include "formats/cosmic_reach/zone.h"
#include "fs/store.h"
#include "fs/tree.h"
#include "scratch.h"

static struct tfs_save *save;
static struct tfs_error err;

/* ---- the folder ------------------------------------------------------------------------------ */

#define REGIONS "zone/regions/"

static const char *region_name(const char *folder, int x, int y, int z)
{
    static char name[128];

    snprintf(name, sizeof(name), "%sregion_%d_%d_%d.cosmicreach", folder, x, y, z);
    return name;
}

static void write_bytes(const char *name, const struct maker_bytes *bytes)
{
    FILE *file = fopen(scratch_path(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    ck_assert_int_eq(fclose(file), 0);
}

static void add_chunk(struct maker_region *region, int x, int y, int z, const char *block)
{
    struct maker_chunk *chunk = maker_region_add(region, x, y, z);

    maker_single(&chunk->body, block);
    maker_sky(&chunk->body, NULL);
    maker_u8(&chunk->body, 1);
    if (region->version > 0)
        maker_u8(&chunk->body, 0);
}

/* A region of that version with its lowest chunk and the one above it, of a block named after
 * it. */
static void make_region(int version, int x, int y, int z)
{
    struct maker_region region = maker_region_init(version);
    struct maker_bytes file = {0};
    char block[64];

    snprintf(block, sizeof(block), "base:r_%d_%d_%d", x, y, z);
    add_chunk(&region, 16 * x, 16 * y, 16 * z, block);
    add_chunk(&region, 16 * x, 16 * y + 1, 16 * z, block);
    maker_region_write(&region, &file);
    write_bytes(region_name(REGIONS, x, y, z), &file);
    maker_release(&file);
    maker_region_release(&region);
}

static void setup(void)
{
    scratch_setup();
    err = (struct tfs_error){0};
    save = NULL;
    ck_assert_int_eq(mkdir(scratch_path("zone"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch_path("zone/regions"), 0755), 0);
    scratch_write("zone/zoneInfo.json", "{\"zoneId\": \"base:earth\"}");
}

static void teardown(void)
{
    tfs_save_close(save);
    scratch_teardown();
}

static int try_open(const char *name, enum tfs_lock lock, struct tfs_save **opened)
{
    const struct tfs_open_options options = {.lock = lock};

    tfs_error_reset(&err);
    return tfs_save_open(scratch_path(name), NULL, &options, opened, &err);
}

static void must_open(const char *name)
{
    tfs_save_close(save);
    save = NULL;
    ck_assert_msg(try_open(name, TFS_LOCK_EXCLUSIVE, &save) == 0, "%s", err.text);
}

/* Two regions along x, of versions 7 and 2, left and right of 0. */
static void make_zone(void)
{
    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    must_open("zone");
}

/* ---- files of the tree ----------------------------------------------------------------------- */

static struct tfs_node find(const char *path)
{
    struct tfs_node node;

    ck_assert_msg(tfs_tree_resolve(save, save->doc, path, false, &node) == 0, "%s", path);
    return node;
}

/* The text of a file, good until the next call. */
static const char *text_of(const char *path)
{
    static struct tfs_buf text;
    const struct tfs_node node = find(path);

    text.size = 0;
    int status = tfs_node_file(save, &node)
                     ->lens->get(save, save->doc, tfs_node_at(save, &node), &text, &err);
    ck_assert_msg(status == 0, "%s: %s", path, err.text);
    tfs_buf_u8(&text, 0);
    return (const char *)text.data;
}

static struct tfs_edit edit;

static void begin(void)
{
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
}

/* Commits the edit if `status` says that it went well. */
static int end(int status)
{
    struct tfs_doc *doc = status == 0 ? tfs_edit_finish(&edit) : NULL;

    tfs_edit_release(&edit);
    if (doc != NULL)
        status = save->container->commit(save, doc, &err);
    tfs_doc_unref(doc);
    return status;
}

static int put_text(const char *path, const char *text)
{
    const struct tfs_node node = find(path);
    struct tfs_put put = {0};

    begin();
    return end(
        tfs_node_file(save, &node)
            ->lens->put(save, &edit, tfs_node_at(save, &node), tfs_span_of(text), &put, &err));
}

static int create(int x, int y, int z)
{
    begin();
    return end(save->tree->chunk_create(save, &edit, (struct tfs_key){0, x, y, z}, &err));
}

static int move(struct tfs_key from, struct tfs_key to)
{
    begin();
    return end(save->tree->chunk_move(save, &edit, from, to, &err));
}

static int drop(int x, int y, int z)
{
    begin();
    return end(save->tree->chunk_remove(save, &edit, (struct tfs_key){0, x, y, z}, &err));
}

static bool has(int x, int y, int z)
{
    return tfs_doc_find(save->doc, (struct tfs_key){0, x, y, z}) != NULL;
}

static bool exists(int x, int y, int z)
{
    return access(scratch_path(region_name(REGIONS, x, y, z)), F_OK) == 0;
}

static ino_t inode_of(int x, int y, int z)
{
    struct stat st;

    ck_assert_int_eq(stat(scratch_path(region_name(REGIONS, x, y, z)), &st), 0);
    return st.st_ino;
}

static bool changed(void)
{
    return save->container->changed(save, &err) == 1;
}

static void reload(void)
{
    ck_assert_msg(save->container->reload(save, &err) == 0, "%s", err.text);
}

/* ---- what it shows --------------------------------------------------------------------------- */

START_TEST(zone_shows_the_chunks_of_all_regions)
{
    make_zone();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert(has(-16, 0, 0) && has(-16, 1, 0) && has(0, 0, 0) && has(0, 1, 0));
    ck_assert_str_eq(text_of("palette.txt"), "base:r_-1_0_0\nbase:r_0_0_0\n");
    ck_assert_str_eq(text_of("zoneInfo.json"), "{\"zoneId\": \"base:earth\"}");
    ck_assert_str_eq(text_of("chunks/-16_1_0/palette.txt"), "0 base:r_-1_0_0\n");
    ck_assert_ptr_nonnull(strstr(text_of("info.txt"), "region files: 2\n"));
    ck_assert_ptr_nonnull(
        strstr(text_of("info.txt"), "version: 2 (chunk table), in 1 region files\n"));
}
END_TEST

START_TEST(no_document_holds_the_bytes_of_a_zone)
{
    make_zone();
    (void)text_of("palette.txt");
    for (size_t i = 0; i < save->doc->count; i++)
        ck_assert_ptr_null(tfs_doc_at(save->doc, i)->blob);
}
END_TEST

START_TEST(zone_has_a_tile_for_each_region_column)
{
    struct tfs_node node;

    make_zone();
    find("heightmap.png");
    find("heightmaps/-1_0.png");
    find("maps/0_0.png");
    ck_assert_int_ne(tfs_tree_resolve(save, save->doc, "heightmaps/1_0.png", false, &node), 0);
    (void)text_of("maps/-1_0.png");
    ck_assert_int_eq(create(16, 0, 0), 0);
    find("heightmaps/1_0.png");
}
END_TEST

static uint32_t member_of(const char *path)
{
    return find(path).member;
}

/* A chunk that comes below all others in the order of tiles, and a reading of the folder anew. */
START_TEST(tile_keeps_its_number_while_others_come_and_go)
{
    make_zone();
    const uint32_t left = member_of("maps/-1_0.png"), right = member_of("maps/0_0.png");
    ck_assert_int_eq(create(-100, 0, -100), 0);
    const uint32_t far = member_of("maps/-7_-7.png");
    ck_assert_uint_eq(member_of("maps/-1_0.png"), left);
    make_region(7, -3, 0, -3);
    reload();
    ck_assert_uint_eq(member_of("maps/0_0.png"), right);
    ck_assert_uint_eq(member_of("maps/-7_-7.png"), far);
    ck_assert_uint_eq(member_of("maps/-3_-3.png"), 3);
    ck_assert_int_eq(drop(-100, 0, -100), 0);
    ck_assert_ptr_nonnull(strstr(text_of("info.txt"), "picture tiles: 3 in"));
    ck_assert_int_eq(create(-100, 0, -100), 0);
    ck_assert_uint_eq(member_of("maps/-7_-7.png"), far);
}
END_TEST

START_TEST(tile_at_the_end_of_the_world_is_found_by_its_name)
{
    make_region(2, -134217728, 0, 0);
    make_region(2, 134217727, 0, 134217727);
    must_open("zone");
    find("heightmaps/-134217728_0.png");
    find("maps/134217727_134217727.png");
}
END_TEST

START_TEST(folder_of_regions_is_the_zone_too)
{
    static const char *const names[] = {"zone/regions", "any"};

    make_zone();
    tfs_save_close(save);
    save = NULL;
    if (_i == 1)
        ck_assert_int_eq(rename(scratch_path("zone/regions"), scratch_path("any")), 0);
    must_open(names[_i]);
    ck_assert_uint_eq(save->doc->count, 4);
    struct tfs_node info;
    ck_assert_int_eq(tfs_tree_resolve(save, save->doc, "zoneInfo.json", true, &info),
                     _i == 0 ? 0 : -ENOENT);
}
END_TEST

START_TEST(zone_without_regions_is_empty_and_gets_its_first)
{
    ck_assert_int_eq(rmdir(scratch_path("zone/regions")), 0);
    must_open("zone");
    ck_assert_uint_eq(save->doc->count, 0);
    ck_assert_int_eq(create(-1, 5, 17), 0);
    ck_assert(exists(-1, 0, 1));
    ck_assert(!changed());
    must_open("zone");
    ck_assert(has(-1, 5, 17));
}
END_TEST

START_TEST(new_region_has_the_version_that_the_world_says)
{
    char path[] = "worlds/w/zones/base/earth";

    for (char *at = path; at != NULL; at = strchr(at + 1, '/')) {
        char *slash = strchr(at + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        ck_assert_int_eq(mkdir(scratch_path(path), 0755), 0);
        if (slash != NULL)
            *slash = '/';
    }
    scratch_write("worlds/w/worldInfo.json", "{\n\"latestRegionFileVersion\": 3,\n}");
    scratch_write("worlds/w/zones/base/earth/zoneInfo.json", "{}");
    must_open(path);
    ck_assert_int_eq(create(0, 0, 0), 0);
    ck_assert_uint_eq(tfs_doc_at(save->doc, 0)->tag, 3);
    must_open(path);
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, (struct tfs_key){0}), 3);
}
END_TEST

/* ---- what is written ------------------------------------------------------------------------- */

START_TEST(one_voxel_rewrites_one_region)
{
    make_zone();
    const ino_t left = inode_of(-1, 0, 0), right = inode_of(0, 0, 0);
    ck_assert_int_eq(put_text("chunks/0_1_0/voxels.csv", "x,y,z,block\n3,16,5,base:gold\n"), 0);
    ck_assert_uint_eq(inode_of(-1, 0, 0), left);
    ck_assert_uint_ne(inode_of(0, 0, 0), right);
    ck_assert(!changed());
    must_open("zone");
    ck_assert_str_eq(text_of("chunks/0_1_0/voxels.csv"), "x,y,z,block\n3,16,5,base:gold\n");
    ck_assert_str_eq(text_of("chunks/0_0_0/palette.txt"), "0 base:r_0_0_0\n");
}
END_TEST

static bool disk_errs; /* what is written says something else, which reads as well */

/* Takes the place of the C library's, for the whole program. */
ssize_t write(int fd, const void *data, size_t size)
{
    uint8_t *copy = disk_errs && size > 0 ? malloc(size) : NULL;
    ssize_t written;

    if (copy == NULL)
        return syscall(SYS_write, fd, data, size);
    memcpy(copy, data, size);
    uint8_t *name = memmem(copy, size, "base:new", 8);
    if (name != NULL)
        name[7] = 'W';
    written = syscall(SYS_write, fd, copy, size);
    free(copy);
    return written;
}

START_TEST(region_that_the_disk_wrote_otherwise_does_not_take_its_place)
{
    make_zone();
    const ino_t before = inode_of(0, 0, 0);
    disk_errs = true;
    ck_assert_int_eq(put_text("chunks/0_1_0/palette.txt", "0 base:new\n"), -EIO);
    disk_errs = false;
    ck_assert_ptr_nonnull(strstr(err.text, "chunk 0_1_0 is another one"));
    ck_assert_uint_eq(inode_of(0, 0, 0), before);
    tfs_error_reset(&err);
    ck_assert_int_eq(put_text("chunks/0_1_0/palette.txt", "0 base:new\n"), 0);
}
END_TEST

START_TEST(what_is_written_back_changes_no_region)
{
    make_zone();
    const ino_t left = inode_of(-1, 0, 0), right = inode_of(0, 0, 0);
    char *text = strdup(text_of("chunks/0_1_0/voxels.csv"));
    ck_assert_int_eq(put_text("chunks/0_1_0/voxels.csv", text), 0);
    free(text);
    ck_assert_uint_eq(inode_of(-1, 0, 0), left);
    ck_assert_uint_eq(inode_of(0, 0, 0), right);
}
END_TEST

START_TEST(block_is_renamed_in_all_regions)
{
    make_zone();
    ck_assert_int_eq(put_text("palette.txt", "base:new\nbase:r_0_0_0\n"), 0);
    must_open("zone");
    ck_assert_str_eq(text_of("palette.txt"), "base:new\nbase:r_0_0_0\n");
    ck_assert_str_eq(text_of("chunks/-16_0_0/palette.txt"), "0 base:new\n");
}
END_TEST

START_TEST(region_comes_with_its_first_chunk_and_goes_with_its_last)
{
    make_zone();
    ck_assert_int_eq(create(40, -20, 3), 0);
    ck_assert(exists(2, -2, 0));
    ck_assert_uint_eq(tfs_doc_find(save->doc, (struct tfs_key){0, 40, -20, 3})->tag, 7);
    ck_assert_int_eq(drop(40, -20, 3), 0);
    ck_assert(!exists(2, -2, 0));
    ck_assert_int_eq(drop(0, 0, 0), 0);
    ck_assert(exists(0, 0, 0));
    ck_assert_int_eq(drop(0, 1, 0), 0);
    ck_assert(!exists(0, 0, 0));
    ck_assert(!changed());
    /* It comes back as it was. */
    ck_assert_int_eq(create(5, 5, 5), 0);
    must_open("zone");
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, (struct tfs_key){0}), 2);
}
END_TEST

START_TEST(chunk_that_moves_to_another_version_is_converted)
{
    make_region(7, -1, 0, 0);
    make_region(0, 0, 0, 0);
    must_open("zone");
    ck_assert_int_eq(put_text("chunks/-16_0_0/voxels.csv", "x,y,z,block\n-250,1,2,base:gold\n"), 0);
    ck_assert_int_eq(move((struct tfs_key){0, -16, 0, 0}, (struct tfs_key){0, 3, 2, 1}), 0);
    must_open("zone");
    ck_assert(!has(-16, 0, 0));
    ck_assert_uint_eq(tfs_doc_find(save->doc, (struct tfs_key){0, 3, 2, 1})->tag, 0);
    ck_assert_str_eq(text_of("chunks/3_2_1/voxels.csv"), "x,y,z,block\n54,33,18,base:gold\n");
    ck_assert_str_eq(text_of("chunks/3_2_1/palette.txt"), "0 base:air[default]\n1 base:gold\n");
    ck_assert_int_eq(move((struct tfs_key){0, 3, 2, 1}, (struct tfs_key){0, -9, 2, 1}), 0);
    must_open("zone");
    ck_assert_str_eq(text_of("chunks/-9_2_1/palette.txt"), "0 base:air\n1 base:gold\n");
}
END_TEST

START_TEST(chunk_with_entities_does_not_move_to_version_0)
{
    make_region(7, -1, 0, 0);
    make_region(0, 0, 0, 0);
    must_open("zone");
    ck_assert_int_eq(put_text("chunks/-16_0_0/entities.bin", "furnace"), 0);
    ck_assert_int_eq(move((struct tfs_key){0, -16, 0, 0}, (struct tfs_key){0, 3, 2, 1}), -EINVAL);
    ck_assert_str_eq(err.text, "the chunk is of version 7 and has block entities, which a chunk of "
                               "version 0 cannot hold");
    ck_assert(has(-16, 0, 0) && !has(3, 2, 1));
}
END_TEST

START_TEST(entities_that_are_not_understood_are_warned_of)
{
    struct tfs_error warning = {0};

    make_zone();
    ck_assert_int_eq(put_text("chunks/-16_0_0/entities.bin", "furnace"), 0);
    ck_assert_int_eq(
        save->tree->chunk_check(save, save->doc, (struct tfs_key){0, -16, 0, 0}, &warning, &err),
        0);
    ck_assert_ptr_nonnull(strstr(warning.text, "not understood to their last byte"));
    tfs_error_reset(&warning);
    ck_assert_int_eq(
        save->tree->chunk_check(save, save->doc, (struct tfs_key){0, -16, 1, 0}, &warning, &err),
        0);
    ck_assert_int_eq(warning.code, 0);
}
END_TEST

START_TEST(chunk_farther_out_than_any_block_is_refused)
{
    make_zone();
    ck_assert_int_eq(create(INT32_MAX / 16 + 1, 0, 0), -EINVAL);
    ck_assert_int_eq(create(0, INT32_MIN, 0), -EINVAL);
    ck_assert_int_eq(create(INT32_MIN / 16, 0, INT32_MAX / 16), 0);
    must_open("zone");
    ck_assert(has(INT32_MIN / 16, 0, INT32_MAX / 16));
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

START_TEST(bad_region_costs_its_own_area_only)
{
    static const char *const bad[] = {"", "no region", "\xff\xec\xce\xac"};

    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    scratch_write(region_name(REGIONS, 1, 0, 0), bad[_i]);
    must_open("zone");
    ck_assert_ptr_null(save->read_only);
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert_ptr_nonnull(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    ck_assert_ptr_nonnull(
        strstr(text_of("info.txt"), "damaged: region_1_0_0.cosmicreach: is left"));
    ck_assert_int_eq(create(17, 1, 1), -EROFS);
    ck_assert_ptr_nonnull(strstr(err.text, "region_1_0_0.cosmicreach cannot be written: "));
    ck_assert_int_eq(move((struct tfs_key){0, 0, 0, 0}, (struct tfs_key){0, 17, 0, 0}), -EROFS);
    ck_assert_int_eq(put_text("chunks/0_1_0/palette.txt", "0 base:new\n"), 0);
    ck_assert_str_eq(scratch_read(region_name(REGIONS, 1, 0, 0)), bad[_i]);
    ck_assert(!changed());
}
END_TEST

START_TEST(region_with_a_fault_is_shown_but_not_written)
{
    FILE *file;

    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    file = fopen(scratch_path(region_name(REGIONS, 0, 0, 0)), "a");
    ck_assert_int_ge(fputs("behind the end", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    must_open("zone");
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert_str_eq(text_of("chunks/0_1_0/palette.txt"), "0 base:r_0_0_0\n");
    ck_assert_int_eq(put_text("chunks/0_1_0/palette.txt", "0 base:new\n"), -EROFS);
    ck_assert_int_eq(drop(0, 1, 0), -EROFS);
    ck_assert_int_eq(put_text("chunks/-16_1_0/palette.txt", "0 base:new\n"), 0);
}
END_TEST

START_TEST(names_that_do_not_belong_are_left_alone)
{
    static const char *const names[] = {"region_1_0_0.cosmicreach.bak", "region_01_0_0.cosmicreach",
                                        "region_1_-0_0.cosmicreach", "region_1_0.cosmicreach",
                                        "readme.txt"};

    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), REGIONS "%s", names[i]);
        scratch_write(path, "not ours");
    }
    must_open("zone");
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
}
END_TEST

START_TEST(link_and_directory_named_as_regions_are_left_out)
{
    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    ck_assert_int_eq(rename(scratch_path(region_name(REGIONS, 0, 0, 0)), scratch_path("outside")),
                     0);
    ck_assert_int_eq(symlink("../../outside", scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert_int_eq(mkdir(scratch_path(region_name(REGIONS, 5, 0, 0)), 0755), 0);
    must_open("zone");
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert_int_eq(create(0, 0, 0), -EROFS);
    ck_assert_ptr_nonnull(strstr(err.text, "links lead out of the zone"));
    ck_assert_int_eq(create(80, 0, 0), -EROFS);
}
END_TEST

START_TEST(folder_of_regions_that_is_a_link_is_refused)
{
    make_region(7, -1, 0, 0);
    ck_assert_int_eq(rename(scratch_path("zone/regions"), scratch_path("elsewhere")), 0);
    ck_assert_int_eq(symlink("../elsewhere", scratch_path("zone/regions")), 0);
    ck_assert_int_lt(try_open("zone", TFS_LOCK_EXCLUSIVE, &save), 0);
}
END_TEST

/* ---- others ---------------------------------------------------------------------------------- */

START_TEST(regions_that_come_and_go_are_read_again)
{
    make_zone();
    make_region(3, 4, 4, 4);
    ck_assert(changed());
    reload();
    ck_assert(has(64, 64, 64));
    ck_assert(!changed());
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert(changed());
    reload();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert(!has(0, 0, 0));
    ck_assert(!changed());
}
END_TEST

/* Is the folder of the zone locked, as `undo` sees it? */
static bool is_locked(void)
{
    int fd = open(scratch_path("zone"), O_RDONLY);
    bool locked = flock(fd, LOCK_EX | LOCK_NB) < 0;

    close(fd);
    return locked;
}

/* And comes back: by an edit of ours, and by another program. */
START_TEST(zone_is_empty_while_its_folder_of_regions_is_gone)
{
    make_zone();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, -1, 0, 0))), 0);
        ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
        ck_assert_int_eq(rmdir(scratch_path("zone/regions")), 0);
        ck_assert(changed() && is_locked());
        reload();
        ck_assert(save->doc->count == 0 && is_locked());
        if (i == 0) {
            ck_assert_int_eq(create(0, 0, 0), 0);
            ck_assert_int_eq(create(-1, 0, 0), 0);
            ck_assert(exists(0, 0, 0) && exists(-1, 0, 0) && !changed() && is_locked());
        }
    }
    ck_assert_int_eq(mkdir(scratch_path("zone/regions"), 0755), 0);
    make_region(7, 0, 0, 0);
    ck_assert(changed());
    reload();
    ck_assert(save->doc->count == 2 && is_locked() && !changed());
    ck_assert_int_eq(create(-1, 0, 0), 0);
}
END_TEST

static bool changed_at(int x, int y, int z)
{
    return save->container->changed_at(save, (struct tfs_key){0, x, y, z}, &err) == 1;
}

/* So opening a file takes no longer in a zone of a thousand regions. */
START_TEST(change_of_one_region_is_none_of_chunks_in_others)
{
    make_zone();
    make_region(7, 0, 0, 0);
    ck_assert(changed() && changed_at(0, 1, 0) && !changed_at(-1, 1, 0));
    reload();
    ck_assert(!changed() && !changed_at(0, 1, 0));
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert(changed() && changed_at(0, 1, 0) && changed_at(-1, 1, 0)); /* of the folder */
    reload();
    make_region(7, 5, 0, 0);
    ck_assert(changed_at(80, 0, 0) && changed_at(-1, 1, 0));
}
END_TEST

START_TEST(chunk_that_another_program_left_alone_is_the_same_chunk)
{
    struct maker_region region = maker_region_init(2);
    struct maker_bytes file = {0};

    make_zone();
    const struct tfs_chunk kept = *tfs_doc_find(save->doc, (struct tfs_key){0, 0, 0, 0});
    const struct tfs_chunk other = *tfs_doc_find(save->doc, (struct tfs_key){0, 0, 1, 0});
    add_chunk(&region, 0, 1, 0, "base:other");
    add_chunk(&region, 0, 0, 0, "base:r_0_0_0");
    maker_region_write(&region, &file);
    write_bytes(region_name(REGIONS, 0, 0, 0), &file);
    ck_assert(changed());
    reload();
    ck_assert(tfs_chunk_same(tfs_doc_find(save->doc, kept.key), &kept));
    ck_assert(!tfs_chunk_same(tfs_doc_find(save->doc, other.key), &other));
    ck_assert_uint_eq(tfs_doc_find(save->doc, other.key)->slot, other.slot);
    ck_assert_str_eq(text_of("chunks/0_1_0/palette.txt"), "0 base:other\n");
    maker_release(&file);
    maker_region_release(&region);
}
END_TEST

START_TEST(region_that_another_program_changed_is_not_overwritten)
{
    make_zone();
    make_region(3, 0, 0, 0);
    ck_assert_int_eq(put_text("chunks/-16_0_0/palette.txt", "0 base:new\n"), 0);
    ck_assert_int_eq(create(3, 3, 3), -ESTALE);
    ck_assert_ptr_nonnull(strstr(err.text, "region_0_0_0.cosmicreach: was changed by another"));
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert_int_eq(create(3, 3, 3), -ESTALE);
}
END_TEST

static struct stat frozen; /* whose times do not move; st_ino 0: none */

static int freeze(int result, struct stat *st)
{
    if (result == 0 && frozen.st_ino != 0 && st->st_ino == frozen.st_ino) {
        st->st_mtim = frozen.st_mtim;
        st->st_ctim = frozen.st_ctim;
    }
    return result;
}

/* These take the place of the C library's, for the whole program. */
int fstatat(int fd, const char *name, struct stat *st, int flags)
{
    return freeze((int)syscall(SYS_newfstatat, fd, name, st, flags), st);
}

int fstat(int fd, struct stat *st)
{
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

int lstat(const char *name, struct stat *st)
{
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

/* Clocks tick slowly: what another program writes right behind a read leaves no trace in times. */
START_TEST(bytes_that_another_program_wrote_into_a_region_are_not_a_chunk_that_was_read)
{
    const char *path = scratch_path(region_name(REGIONS, 0, 0, 0));
    struct tfs_blob *blob = NULL;
    static uint8_t bytes[1 << 16];

    make_zone();
    ck_assert_int_eq(stat(path, &frozen), 0);
    int fd = open(path, O_RDWR);
    ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
    uint8_t *name = memmem(bytes, (size_t)size, "base:r_0_0_0", 12);
    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(pwrite(fd, "x", 1, name + 5 - bytes), 1);
    close(fd);
    ck_assert(!changed());
    ck_assert_int_eq(
        tfs_chunk_load(save, tfs_doc_find(save->doc, (struct tfs_key){0}), &blob, &err), -ESTALE);
    frozen.st_ino = 0;
}
END_TEST

START_TEST(bytes_of_a_region_that_is_gone_are_stale)
{
    struct tfs_blob *blob = NULL;

    make_zone();
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    ck_assert_int_eq(
        tfs_chunk_load(save, tfs_doc_find(save->doc, (struct tfs_key){0}), &blob, &err), -ESTALE);
}
END_TEST

START_TEST(chunk_of_an_old_document_is_never_another_one)
{
    struct tfs_blob *blob = NULL;

    make_zone();
    struct tfs_doc *old = tfs_doc_ref(save->doc);
    ck_assert_int_eq(put_text("chunks/0_0_0/palette.txt", "0 base:new\n"), 0);
    ck_assert_int_eq(tfs_chunk_load(save, tfs_doc_find(old, (struct tfs_key){0}), &blob, &err),
                     -ESTALE);
    tfs_error_reset(&err);
    ck_assert_int_eq(
        tfs_chunk_load(save, tfs_doc_find(old, (struct tfs_key){0, 0, 1, 0}), &blob, &err), 0);
    tfs_blob_unref(blob);
    tfs_doc_unref(old);
}
END_TEST

START_TEST(zone_and_region_exclude_each_other)
{
    struct tfs_save *region = NULL, *second = NULL;

    make_zone();
    ck_assert_int_eq(try_open(region_name(REGIONS, 0, 0, 0), TFS_LOCK_EXCLUSIVE, &region),
                     -EWOULDBLOCK);
    ck_assert_int_eq(try_open(region_name(REGIONS, 0, 0, 0), TFS_LOCK_NONE, &region), 0);
    tfs_save_close(region);
    ck_assert_int_eq(try_open("zone/regions", TFS_LOCK_EXCLUSIVE, &region), -EWOULDBLOCK);
    tfs_save_close(save);
    save = NULL;
    ck_assert_int_eq(try_open(region_name(REGIONS, 0, 0, 0), TFS_LOCK_EXCLUSIVE, &region), 0);
    ck_assert_int_eq(try_open(region_name(REGIONS, -1, 0, 0), TFS_LOCK_EXCLUSIVE, &second), 0);
    ck_assert_int_eq(try_open("zone", TFS_LOCK_EXCLUSIVE, &save), -EWOULDBLOCK);
    tfs_save_close(second);
    tfs_save_close(region);
    must_open("zone");
}
END_TEST

START_TEST(strays_of_a_killed_process_are_removed)
{
    make_region(7, 0, 0, 0);
    scratch_write(REGIONS ".region_9_0_0.cosmicreach.terrainfs-aB3xYz", "half");
    scratch_write(REGIONS ".keep", "not ours");
    must_open("zone");
    ck_assert_int_lt(
        access(scratch_path(REGIONS ".region_9_0_0.cosmicreach.terrainfs-aB3xYz"), F_OK), 0);
    ck_assert_int_eq(access(scratch_path(REGIONS ".keep"), F_OK), 0);
}
END_TEST

/* ---- against a model ------------------------------------------------------------------------- */

#define MODEL_SIDE  32 /* chunks along x and z: regions -1 and 0 */
#define MODEL_EDITS 10000

/* What the lowest voxel of each chunk is: 0 there is no chunk, 1 air, else base:b_N. */
static unsigned model[4][MODEL_SIDE][MODEL_SIDE];
static struct maker_random dice = {7};

static struct tfs_key model_key(unsigned y, unsigned z, unsigned x)
{
    /* y in regions -1 and 0 too. */
    return (struct tfs_key){0, (int32_t)x - 16, (int32_t)y - 2, (int32_t)z - 16};
}

static unsigned *model_draw(struct tfs_key *key)
{
    const unsigned y = maker_draw(&dice, 4), z = maker_draw(&dice, MODEL_SIDE),
                   x = maker_draw(&dice, MODEL_SIDE);

    *key = model_key(y, z, x);
    return &model[y][z][x];
}

/* A chunk that is there; NULL after some tries. */
static unsigned *model_draw_chunk(struct tfs_key *key)
{
    for (int i = 0; i < 200; i++) {
        unsigned *cell = model_draw(key);
        if (*cell != 0)
            return cell;
    }
    return NULL;
}

static const struct tfs_lens *lens_of(const char *name)
{
    for (unsigned i = 0; i < save->tree->chunk_count; i++)
        if (strcmp(save->tree->chunk_files[i].path, name) == 0)
            return save->tree->chunk_files[i].lens;
    ck_abort_msg("no file %s", name);
    return NULL;
}

static void model_put(struct tfs_key key, unsigned *cell)
{
    const struct tfs_lens *lens = lens_of("voxels.csv");
    struct tfs_put put = {0};
    char text[160];

    *cell = 2 + maker_draw(&dice, 50);
    snprintf(text, sizeof(text), "x,y,z,block\n%d,%d,%d,base:b_%u\n", 16 * key.x, 16 * key.y,
             16 * key.z, *cell);
    ck_assert_msg(
        lens->put(save, &edit, tfs_lens_at(lens, key, 0), tfs_span_of(text), &put, &err) == 0, "%s",
        err.text);
}

static void model_edit(void)
{
    struct tfs_key key, to;
    unsigned *cell = model_draw(&key), *other;

    switch (maker_draw(&dice, 5)) {
    case 0:
    case 1:
        if (*cell != 0)
            return;
        ck_assert_int_eq(save->tree->chunk_create(save, &edit, key, &err), 0);
        *cell = 1;
        return;
    case 2:
        cell = model_draw_chunk(&key);
        if (cell != NULL)
            model_put(key, cell);
        return;
    case 3:
        cell = model_draw_chunk(&key);
        other = model_draw(&to);
        if (cell == NULL || *other != 0)
            return;
        ck_assert_msg(save->tree->chunk_move(save, &edit, key, to, &err) == 0, "%s", err.text);
        *other = *cell;
        *cell = 0;
        return;
    default:
        cell = model_draw_chunk(&key);
        if (cell == NULL)
            return;
        ck_assert_int_eq(save->tree->chunk_remove(save, &edit, key, &err), 0);
        *cell = 0;
    }
}

static void model_check_chunk(struct tfs_key key, unsigned cell)
{
    const struct tfs_lens *lens = lens_of("voxels.csv");
    struct tfs_buf text = {0};
    char wanted[160];

    ck_assert_msg((tfs_doc_find(save->doc, key) != NULL) == (cell != 0), "chunk %d_%d_%d", key.x,
                  key.y, key.z);
    if (cell == 0)
        return;
    snprintf(wanted, sizeof(wanted), "x,y,z,block\n");
    if (cell > 1)
        snprintf(wanted, sizeof(wanted), "x,y,z,block\n%d,%d,%d,base:b_%u\n", 16 * key.x,
                 16 * key.y, 16 * key.z, cell);
    ck_assert_int_eq(lens->get(save, save->doc, tfs_lens_at(lens, key, 0), &text, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&text), tfs_span_of(wanted)));
    tfs_buf_release(&text);
}

static void model_check(void)
{
    bool regions[2][2][2] = {0};

    for (unsigned y = 0; y < 4; y++)
        for (unsigned z = 0; z < MODEL_SIDE; z++)
            for (unsigned x = 0; x < MODEL_SIDE; x++) {
                model_check_chunk(model_key(y, z, x), model[y][z][x]);
                if (model[y][z][x] != 0)
                    regions[y / 2][z / 16][x / 16] = true;
            }
    for (int i = 0; i < 8; i++)
        ck_assert(exists(i % 2 - 1, i / 4 - 1, i / 2 % 2 - 1) == regions[i / 4][i / 2 % 2][i % 2]);
}

/* Regions of several versions; edits of one commit touch several of them. */
START_TEST(random_edits_give_what_a_model_says)
{
    static const int versions[] = {7, 2, 0, 4, 7, 3, 1, 5};

    for (int i = 0; i < 8; i++) {
        const struct tfs_key key = {0, 16 * (i % 2 - 1), 16 * (i / 4 - 1), 16 * (i / 2 % 2 - 1)};
        struct maker_region region = maker_region_init(versions[i]);
        struct maker_bytes file = {0};
        add_chunk(&region, key.x, key.y + 15 * (key.y < 0), key.z,
                  versions[i] < 3 ? "base:air[default]" : "base:air");
        maker_region_write(&region, &file);
        write_bytes(region_name(REGIONS, i % 2 - 1, i / 4 - 1, i / 2 % 2 - 1), &file);
        model[(key.y < 0 ? 15 + key.y : key.y) + 2][key.z + 16][key.x + 16] = 1;
        maker_release(&file);
        maker_region_release(&region);
    }
    must_open("zone");
    model_check();
    for (int done = 0, batch = 0; done < MODEL_EDITS; batch++) {
        begin();
        for (unsigned n = 1 + maker_draw(&dice, 300); n > 0; n--, done++)
            model_edit();
        ck_assert_msg(end(0) == 0, "%s", err.text);
        ck_assert(!changed());
        if (batch % 10 == 0)
            must_open("zone");
        if (batch % 5 == 0)
            model_check();
    }
    must_open("zone");
    model_check();
}
END_TEST

/* ---- regions that are read later ------------------------------------------------------------- */

/* The zone of make_zone, of which only the first bytes of each region are looked at. */
static void open_later(void)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE, .later = true};

    tfs_save_close(save);
    save = NULL;
    ck_assert_msg(tfs_save_open(scratch_path("zone"), NULL, &options, &save, &err) == 0, "%s",
                  err.text);
}

static void make_later(void)
{
    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    open_later();
}

static bool lacks(int x, int y, int z)
{
    const struct tfs_key key = {0, x, y, z};

    return tfs_save_lacks(save, save->doc, &key);
}

static void complete(int x, int y, int z)
{
    const struct tfs_key key = {0, x, y, z};

    ck_assert_msg(tfs_save_complete(save, &key, &err) == 0, "%s", err.text);
    ck_assert(!lacks(x, y, z));
}

static void complete_all(void)
{
    ck_assert_msg(tfs_save_complete(save, NULL, &err) == 0, "%s", err.text);
    ck_assert(!tfs_save_lacks(save, save->doc, NULL));
}

START_TEST(region_is_read_when_a_chunk_in_its_area_is_asked_for)
{
    const struct tfs_key left = {0, -3, 1, 2}, right = {0, 3, 1, 2};

    make_later();
    ck_assert_uint_eq(save->doc->count, 0);
    ck_assert(lacks(-3, 1, 2) && lacks(3, 1, 2) && !lacks(40, 0, 0));
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, left), 7);
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, right), 2);
    complete(-3, 1, 2);
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert(has(-16, 0, 0) && has(-16, 1, 0) && lacks(3, 1, 2));
    const uint32_t slot = tfs_doc_at(save->doc, 0)->slot;
    complete_all();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert_uint_eq(tfs_doc_at(save->doc, 0)->slot, slot);
    ck_assert_str_eq(text_of("palette.txt"), "base:r_-1_0_0\nbase:r_0_0_0\n");
}
END_TEST

START_TEST(document_that_lacks_nothing_is_not_read_again)
{
    make_later();
    complete_all();
    const uint64_t version = save->doc->version;
    complete_all();
    complete(-3, 1, 2);
    ck_assert_uint_eq(save->doc->version, version);
}
END_TEST

/* As base/array.h says, and adding a region relies on: room for 16 when there are 9. */
START_TEST(list_of_a_zone_that_was_read_later_has_room_for_new_regions)
{
    for (int x = 0; x < 9; x++)
        make_region(7, x, 0, 0);
    open_later();
    complete_all();
    const struct tfs_folder_files *files = &tfs_cosmic_zone_of(save)->index.files;
    ck_assert_uint_eq(files->count, 9);
    ck_assert_uint_ge(malloc_usable_size(files->files), 16 * sizeof(struct tfs_folder_file *));
}
END_TEST

START_TEST(edit_does_not_read_the_other_regions)
{
    make_later();
    const ino_t other = inode_of(0, 0, 0);
    complete(-16, 0, 0);
    ck_assert_int_eq(put_text("chunks/-16_0_0/palette.txt", "0 base:gold_block\n"), 0);
    ck_assert(lacks(0, 0, 0) && !changed());
    ck_assert_uint_eq(inode_of(0, 0, 0), other);
    complete_all();
    ck_assert_str_eq(text_of("chunks/-16_0_0/palette.txt"), "0 base:gold_block\n");
    ck_assert_str_eq(text_of("chunks/0_0_0/palette.txt"), "0 base:r_0_0_0\n");
}
END_TEST

/* ---- by the thread of a store ---- */

static struct tfs_store *store;
static const struct tfs_container *real;
static const struct tfs_key in_left = {0, -16, 0, 0};
static int looks;
static sem_t answered;

static int count_looks(struct tfs_save *opened, struct tfs_error *why)
{
    looks++;
    return real->changed(opened, why);
}

static int64_t stopped_clock(void)
{
    return 1000;
}

static int read_left(struct tfs_job *job, bool last)
{
    (void)job;
    (void)last;
    return tfs_store_complete(store, &in_left, &err);
}

static void on_answer(void *arg, struct tfs_store *of, struct tfs_job *jobs)
{
    (void)arg;
    (void)of;
    if (jobs != NULL)
        sem_post(&answered);
}

/* Of a thousand regions, those are looked at that somebody asked for. */
START_TEST(reading_a_chunk_looks_at_its_region_alone)
{
    static const struct tfs_job_kind kind = {.apply = read_left};
    const struct tfs_store_options options = {.now = stopped_clock};
    const struct tfs_store_client client = {.answer = on_answer};
    struct tfs_job job = {.kind = &kind, .reads = &in_left};

    make_later();
    struct tfs_container counting = *(real = save->container);
    counting.changed = count_looks;
    save->container = &counting;
    looks = 0;
    sem_init(&answered, 0, 0);
    ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
    ck_assert_int_eq(tfs_store_start(store), 0);
    tfs_store_submit(store, &job);
    ck_assert_int_eq(sem_wait(&answered), 0);
    ck_assert_int_eq(job.result, 0);
    ck_assert_int_eq(looks, 0);
    ck_assert(has(-16, 0, 0) && lacks(0, 0, 0));
    /* One that is changed meanwhile is known to be. */
    make_region(7, 0, 0, 0);
    const struct tfs_key in_right = {0, 0, 0, 0};
    job = (struct tfs_job){.kind = &kind, .reads = &in_right};
    tfs_store_submit(store, &job);
    ck_assert_int_eq(sem_wait(&answered), 0);
    ck_assert_int_eq(looks, 1);
    tfs_store_stop(store);
    tfs_store_give_back(store);
    tfs_store_close(store);
    save->container = real;
}
END_TEST

START_TEST(region_removed_before_it_was_read_has_no_chunks)
{
    make_later();
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    complete_all();
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert(!has(0, 0, 0) && changed());
    reload();
    ck_assert(!changed());
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert_int_eq(create(0, 0, 0), 0);
    ck_assert(exists(0, 0, 0));
}
END_TEST

START_TEST(region_changed_before_it_was_read_shows_what_it_is_then)
{
    make_later();
    make_region(7, 5, 0, 0);
    ck_assert_int_eq(rename(scratch_path(region_name(REGIONS, 5, 0, 0)),
                            scratch_path("zone/regions/region_0_0_1.cosmicreach")),
                     0);
    make_region(7, 0, 0, 0);
    complete(0, 0, 0);
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, (struct tfs_key){0, 0, 0, 0}), 7);
    ck_assert_str_eq(text_of("chunks/0_1_0/palette.txt"), "0 base:r_0_0_0\n");
    ck_assert(changed()); /* one more is there */
    reload();
    ck_assert(!changed() && lacks(-16, 0, 0) && lacks(0, 0, 16) && !lacks(0, 0, 0));
}
END_TEST

START_TEST(zone_of_which_all_is_known_stays_so)
{
    make_later();
    complete_all();
    make_region(7, 0, 0, 1);
    ck_assert(changed());
    reload();
    ck_assert(!tfs_save_lacks(save, save->doc, NULL));
    ck_assert(has(0, 0, 16));
}
END_TEST

START_TEST(damage_in_a_region_is_found_when_it_is_read)
{
    struct maker_bytes bytes = {0};

    maker_add(&bytes, "\xff\xec\xce\xac\0\0\0\7\0\0\0\2nothing", 19);
    make_region(7, -1, 0, 0);
    write_bytes(region_name(REGIONS, 0, 0, 0), &bytes);
    maker_release(&bytes);
    open_later();
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    complete(-16, 0, 0);
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    ck_assert(tfs_cosmic_check_place(save->doc, (struct tfs_key){0, 0, 0, 0}, &err) == 0);
    complete_all();
    const char *note = tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED);
    ck_assert_ptr_nonnull(note);
    ck_assert_ptr_nonnull(strstr(note, "region_0_0_0.cosmicreach: is left out: offset"));
    ck_assert_int_eq(tfs_cosmic_check_place(save->doc, (struct tfs_key){0, 0, 0, 0}, &err), -EROFS);
    ck_assert(has(-16, 0, 0));
}
END_TEST

START_TEST(bad_first_bytes_of_a_region_are_found_at_once)
{
    make_region(7, -1, 0, 0);
    scratch_write("zone/regions/region_0_0_0.cosmicreach", "no region");
    open_later();
    ck_assert_ptr_nonnull(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    ck_assert(!lacks(0, 0, 0));
}
END_TEST

static Suite *zone_suite(void)
{
    Suite *suite = suite_create("cosmic_zone");
    TCase *shows = unit_case(suite, "shows"), *writes = unit_case(suite, "writes"),
          *damage = unit_case(suite, "damage"), *others = unit_case(suite, "others"),
          *later = unit_case(suite, "later"), *random = unit_case(suite, "random");

    tcase_add_checked_fixture(shows, setup, teardown);
    tcase_add_checked_fixture(writes, setup, teardown);
    tcase_add_checked_fixture(damage, setup, teardown);
    tcase_add_checked_fixture(others, setup, teardown);
    tcase_add_checked_fixture(later, setup, teardown);
    tcase_add_checked_fixture(random, setup, teardown);
    tcase_add_test(shows, zone_shows_the_chunks_of_all_regions);
    tcase_add_test(shows, no_document_holds_the_bytes_of_a_zone);
    tcase_add_test(shows, zone_has_a_tile_for_each_region_column);
    tcase_add_test(shows, tile_at_the_end_of_the_world_is_found_by_its_name);
    tcase_add_test(shows, tile_keeps_its_number_while_others_come_and_go);
    tcase_add_loop_test(shows, folder_of_regions_is_the_zone_too, 0, 2);
    tcase_add_test(shows, zone_without_regions_is_empty_and_gets_its_first);
    tcase_add_test(shows, new_region_has_the_version_that_the_world_says);
    tcase_add_test(writes, one_voxel_rewrites_one_region);
    tcase_add_test(writes, region_that_the_disk_wrote_otherwise_does_not_take_its_place);
    tcase_add_test(writes, what_is_written_back_changes_no_region);
    tcase_add_test(writes, block_is_renamed_in_all_regions);
    tcase_add_test(writes, region_comes_with_its_first_chunk_and_goes_with_its_last);
    tcase_add_test(writes, chunk_that_moves_to_another_version_is_converted);
    tcase_add_test(writes, chunk_with_entities_does_not_move_to_version_0);
    tcase_add_test(writes, entities_that_are_not_understood_are_warned_of);
    tcase_add_test(writes, chunk_farther_out_than_any_block_is_refused);
    tcase_add_loop_test(damage, bad_region_costs_its_own_area_only, 0, 3);
    tcase_add_test(damage, region_with_a_fault_is_shown_but_not_written);
    tcase_add_test(damage, names_that_do_not_belong_are_left_alone);
    tcase_add_test(damage, link_and_directory_named_as_regions_are_left_out);
    tcase_add_test(damage, folder_of_regions_that_is_a_link_is_refused);
    tcase_add_test(others, regions_that_come_and_go_are_read_again);
    tcase_add_test(others, zone_is_empty_while_its_folder_of_regions_is_gone);
    tcase_add_test(others, change_of_one_region_is_none_of_chunks_in_others);
    tcase_add_test(others, chunk_that_another_program_left_alone_is_the_same_chunk);
    tcase_add_test(others, region_that_another_program_changed_is_not_overwritten);
    tcase_add_test(others,
                   bytes_that_another_program_wrote_into_a_region_are_not_a_chunk_that_was_read);
    tcase_add_test(others, bytes_of_a_region_that_is_gone_are_stale);
    tcase_add_test(others, chunk_of_an_old_document_is_never_another_one);
    tcase_add_test(others, zone_and_region_exclude_each_other);
    tcase_add_test(others, strays_of_a_killed_process_are_removed);
    tcase_add_test(later, region_is_read_when_a_chunk_in_its_area_is_asked_for);
    tcase_add_test(later, document_that_lacks_nothing_is_not_read_again);
    tcase_add_test(later, list_of_a_zone_that_was_read_later_has_room_for_new_regions);
    tcase_add_test(later, edit_does_not_read_the_other_regions);
    tcase_add_test(later, reading_a_chunk_looks_at_its_region_alone);
    tcase_add_test(later, region_removed_before_it_was_read_has_no_chunks);
    tcase_add_test(later, region_changed_before_it_was_read_shows_what_it_is_then);
    tcase_add_test(later, zone_of_which_all_is_known_stays_so);
    tcase_add_test(later, damage_in_a_region_is_found_when_it_is_read);
    tcase_add_test(later, bad_first_bytes_of_a_region_are_found_at_once);
    tcase_set_timeout(random, 240);
    tcase_add_test(random, random_edits_give_what_a_model_says);
    return suite;
}

UNIT_MAIN(zone_suite)
