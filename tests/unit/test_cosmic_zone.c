/* formats/cosmic_reach: all regions of a folder as one save. */
#include <errno.h>
#include <sys/syscall.h>

#include "formats/cells/cells.h"
#include "zone_case.h"

/* Takes the place of the C library's, for the whole program. */
static enum { WHOLE, INTERRUPTED, SHORT, FAILING } reads;

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    if (reads == INTERRUPTED) {
        reads = WHOLE;
        errno = EINTR;
        return -1;
    }
    if (reads == FAILING) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, bytes, reads == SHORT ? (size + 1) / 2 : size, at);
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

/* It is not damaged: its chunks would be gone until somebody writes it. */
START_TEST(region_of_which_a_read_is_short_or_interrupted_is_whole)
{
    make_zone();
    reads = _i == 0 ? SHORT : INTERRUPTED;
    must_open("zone");
    reads = WHOLE;
    ck_assert_uint_eq(save->doc->count, 4);
}
END_TEST

/* A disk may fail for a moment. */
START_TEST(region_that_could_not_be_read_is_looked_at_again)
{
    make_zone();
    reads = FAILING;
    must_open("zone");
    ck_assert_uint_eq(save->doc->count, 0);
    reads = WHOLE;
    ck_assert(changed());
    reload();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert(!changed());
}
END_TEST

/* A disk may fail for ever: then nothing changes any more. */
START_TEST(region_that_can_never_be_read_is_looked_at_again_once)
{
    make_zone();
    reads = FAILING;
    must_open("zone");
    ck_assert(changed());
    reload();
    ck_assert(!changed());
    reads = WHOLE;
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

#define STRAY "zone/region_5_0_0.cosmicreach"

/* A region file in the zone's own folder, where the game does not look for it. */
static void make_stray(void)
{
    char made[PATH_MAX];

    make_region(7, 5, 0, 0);
    snprintf(made, sizeof(made), "%s", scratch_path(region_name(REGIONS, 5, 0, 0)));
    ck_assert_int_eq(rename(made, scratch_path(STRAY)), 0);
}

START_TEST(region_beside_the_folder_of_regions_is_none_of_the_zone)
{
    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    make_stray();
    must_open("zone");
    ck_assert_uint_eq(save->doc->count, 4);
    must_open(STRAY);
    ck_assert(has(80, 0, 0));
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

static int writes_seen;

static int see_moved(void *arg, struct tfs_key file, struct tfs_hash hash, bool whole,
                     struct tfs_error *why)
{
    struct tfs_save *seen = NULL;

    (void)arg, (void)file, (void)hash, (void)whole, (void)why;
    ck_assert_int_eq(try_open("zone", TFS_LOCK_NONE, &seen), 0);
    ck_assert(tfs_doc_find(seen->doc, (struct tfs_key){0, -16, 0, 0}) != NULL ||
              tfs_doc_find(seen->doc, (struct tfs_key){0, 3, 0, 0}) != NULL);
    tfs_save_close(seen);
    writes_seen++;
    return 0;
}

START_TEST(chunk_that_leaves_a_region_which_changes_too_is_never_in_neither)
{
    make_zone();
    begin();
    ck_assert_int_eq(tfs_chunk_create(save, &edit, (struct tfs_key){0, -15, 0, 0}, &err), 0);
    save->rewrite.wrote = see_moved;
    ck_assert_int_eq(end(tfs_chunk_move(save, &edit, (struct tfs_key){0, -16, 0, 0},
                                        (struct tfs_key){0, 3, 0, 0}, &err)),
                     0);
    ck_assert_int_eq(writes_seen, 3);
    ck_assert(has(-15, 0, 0) && !has(-16, 0, 0) && has(3, 0, 0));
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
        tfs_cells_check(save, save->doc, (struct tfs_key){0, -16, 0, 0}, &warning, &err), 0);
    ck_assert_ptr_nonnull(strstr(warning.text, "not understood to their last byte"));
    tfs_error_reset(&warning);
    ck_assert_int_eq(
        tfs_cells_check(save, save->doc, (struct tfs_key){0, -16, 1, 0}, &warning, &err), 0);
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
    ck_assert_ptr_nonnull(strstr(err.text, "links lead out of the save"));
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
    for (unsigned i = 0; i < save->tree->chunk.count; i++)
        if (strcmp(save->tree->chunk.files[i].path, name) == 0)
            return save->tree->chunk.files[i].lens;
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
        ck_assert_int_eq(tfs_chunk_create(save, &edit, key, &err), 0);
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
        ck_assert_msg(tfs_chunk_move(save, &edit, key, to, &err) == 0, "%s", err.text);
        *other = *cell;
        *cell = 0;
        return;
    default:
        cell = model_draw_chunk(&key);
        if (cell == NULL)
            return;
        ck_assert_int_eq(tfs_chunk_remove(save, &edit, key, &err), 0);
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

static Suite *zone_suite(void)
{
    Suite *suite = suite_create("cosmic_zone");
    TCase *shows = unit_case(suite, "shows"), *writes = unit_case(suite, "writes"),
          *damage = unit_case(suite, "damage"), *random = unit_case(suite, "random");

    tcase_add_checked_fixture(shows, setup, teardown);
    tcase_add_checked_fixture(writes, setup, teardown);
    tcase_add_checked_fixture(damage, setup, teardown);
    tcase_add_checked_fixture(random, setup, teardown);
    tcase_add_test(shows, zone_shows_the_chunks_of_all_regions);
    tcase_add_loop_test(shows, region_of_which_a_read_is_short_or_interrupted_is_whole, 0, 2);
    tcase_add_test(shows, region_that_could_not_be_read_is_looked_at_again);
    tcase_add_test(shows, region_that_can_never_be_read_is_looked_at_again_once);
    tcase_add_test(shows, no_document_holds_the_bytes_of_a_zone);
    tcase_add_test(shows, zone_has_a_tile_for_each_region_column);
    tcase_add_test(shows, tile_at_the_end_of_the_world_is_found_by_its_name);
    tcase_add_test(shows, tile_keeps_its_number_while_others_come_and_go);
    tcase_add_loop_test(shows, folder_of_regions_is_the_zone_too, 0, 2);
    tcase_add_test(shows, region_beside_the_folder_of_regions_is_none_of_the_zone);
    tcase_add_test(shows, zone_without_regions_is_empty_and_gets_its_first);
    tcase_add_test(shows, new_region_has_the_version_that_the_world_says);
    tcase_add_test(writes, one_voxel_rewrites_one_region);
    tcase_add_test(writes, region_that_the_disk_wrote_otherwise_does_not_take_its_place);
    tcase_add_test(writes, what_is_written_back_changes_no_region);
    tcase_add_test(writes, block_is_renamed_in_all_regions);
    tcase_add_test(writes, region_comes_with_its_first_chunk_and_goes_with_its_last);
    tcase_add_test(writes, chunk_that_moves_to_another_version_is_converted);
    tcase_add_test(writes, chunk_that_leaves_a_region_which_changes_too_is_never_in_neither);
    tcase_add_test(writes, chunk_with_entities_does_not_move_to_version_0);
    tcase_add_test(writes, entities_that_are_not_understood_are_warned_of);
    tcase_add_test(writes, chunk_farther_out_than_any_block_is_refused);
    tcase_add_loop_test(damage, bad_region_costs_its_own_area_only, 0, 3);
    tcase_add_test(damage, region_with_a_fault_is_shown_but_not_written);
    tcase_add_test(damage, names_that_do_not_belong_are_left_alone);
    tcase_add_test(damage, link_and_directory_named_as_regions_are_left_out);
    tcase_add_test(damage, folder_of_regions_that_is_a_link_is_refused);
    tcase_set_timeout(random, 240);
    tcase_add_test(random, random_edits_give_what_a_model_says);
    return suite;
}

UNIT_MAIN(zone_suite)
