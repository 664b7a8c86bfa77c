/*
 * formats/minecraft: regions of every kind of block and packing, exact bytes and texts; what
 * follows from an edit; damage; real saves.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/files_case.h"
#include "../lib/lens_check.h"
#include "../lib/minecraft_maker.h"
#include "formats/cells/edit.h"
#include "formats/minecraft/column.h"
#include "formats/minecraft/packing.h"
#include "formats/minecraft/region.h"
#include "formats/minecraft/section.h"
#include "formats/minecraft/state.h"
#include "fs/tree/tree.h"
#include "sanitized.h"
#include "scratch.h"

#define SAMPLES "../shared/samples/minecraft/"
#define SECTOR  4096

static struct tree_files c;
static glob_t samples; /* found before the tests fork */
static const struct tfs_key ground = {0, 0, 0, 0}, sky = {0, 0, 1, 0},
                            rest = {TFS_GROUP_COLUMNS, 0, 0, 0};
static const char *const names[] = {"17:4", "minecraft:oak_log[axis=y]"};

static void teardown(void)
{
    if (c.save != NULL)
        tree_files_close(&c);
    scratch_teardown();
}

static const char *path(void)
{
    return scratch_path("r.0.0.mca");
}

static void open_made(enum minecraft_game game, uint8_t packing, unsigned columns)
{
    const struct minecraft_world world = {.game = game, .packing = packing, .columns = columns};

    minecraft_file(path(), &world);
    ck_assert_msg(files_open(&c, path()) == 0, "%s", c.err.text);
}

static void put(struct tfs_key key, const char *name, const char *text)
{
    ck_assert_msg(files_put_text(&c, key, name, text) == 0, "%s: %s", name, c.err.text);
}

/* Commits, and opens what is on disk. */
static void open_again(void)
{
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
    tree_files_close(&c);
    ck_assert_msg(files_open(&c, path()) == 0, "%s", c.err.text);
}

/* The text without its second line, a block. */
static void dig(struct tfs_key key)
{
    struct tfs_buf text = files_get(&c, key, "voxels.csv");
    char *first = strchr((char *)text.data, '\n') + 1, *second = strchr(first, '\n') + 1;

    memmove(first, second, strlen(second) + 1);
    put(key, "voxels.csv", (char *)text.data);
    tfs_buf_release(&text);
}

/* The NBT of the column that the file has in a slot. */
static struct tfs_buf column_of(uint32_t slot)
{
    struct tfs_buf file = files_read_file(path()), nbt = {0};
    struct tfs_mc_stored stored;
    bool over;

    ck_assert_int_eq(
        tfs_mc_stored_find(tfs_buf_span(&file), tfs_mc_entry_at(tfs_buf_span(&file), slot), &stored,
                           &c.err),
        0);
    ck_assert_int_eq(tfs_mc_stored_unpack(&stored, TFS_MC_COLUMN_LIMIT, &nbt, &over, &c.err), 0);
    tfs_buf_release(&file);
    return nbt;
}

/* What lies in the file at `at` is another byte. */
static void damage(size_t at, uint8_t byte)
{
    struct tfs_buf file = files_read_file(path());

    tree_files_close(&c);
    file.data[at] = byte;
    files_write_file(path(), tfs_buf_span(&file));
    tfs_buf_release(&file);
    ck_assert_msg(files_open(&c, path()) == 0, "%s", c.err.text);
}

/* The place behind the last of these bytes in the buffer; they must be there. */
static size_t behind_last(const struct tfs_buf *buf, struct tfs_span wanted)
{
    const uint8_t *last = NULL;
    const uint8_t *at = memmem(buf->data, buf->size, wanted.data, wanted.size);

    for (; at != NULL;
         at = memmem(at + 1, buf->size - (size_t)(at + 1 - buf->data), wanted.data, wanted.size))
        last = at;
    ck_assert_ptr_nonnull(last);
    return (size_t)(last - buf->data) + wanted.size;
}

static size_t behind_text(const struct tfs_buf *buf, const char *text)
{
    return behind_last(buf, tfs_span_of(text));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

START_TEST(every_kind_of_blocks_in_every_packing_reads_the_same)
{
    const enum minecraft_game game = (enum minecraft_game)(_i / 4);
    const bool old = game == MINECRAFT_12;

    open_made(game, (uint8_t)(_i % 4 + 1), 2);
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, 0), 4);
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, TFS_GROUP_COLUMNS), 2);
    ck_assert(
        files_holds(&c, ground, "voxels.csv", old ? "0,0,0,1:0\n" : "0,0,0,minecraft:stone\n"));
    ck_assert(files_holds(&c, ground, "voxels.csv",
                          old ? "12,1,2,17:4\n" : "12,1,2,minecraft:oak_log[axis=y]\n"));
    ck_assert(files_shows(&c, sky, "voxels.csv", "x,y,z,block\n"));
    ck_assert(files_shows(&c, sky, "lights/sky.txt", "fill f\n"));
    ck_assert(files_holds(&c, sky, "lights/block.txt", "y=00 z=00 | 0 1 0 1"));
    ck_assert(files_holds(&c, FILES_ROOT, "palette.txt", names[!old]));
}
END_TEST

START_TEST(a_block_that_goes_and_comes_back_leaves_the_bytes_of_the_game)
{
    const enum minecraft_game game = (enum minecraft_game)_i;

    open_made(game, 3, 1);
    struct tfs_buf before = column_of(0), text = files_get(&c, ground, "voxels.csv");
    struct tfs_buf section = files_get(&c, ground, "raw.bin");
    dig(ground);
    open_again();
    struct tfs_buf other = files_get(&c, ground, "raw.bin");
    ck_assert(!tfs_span_equal(tfs_buf_span(&section), tfs_buf_span(&other)));
    put(ground, "voxels.csv", (char *)text.data);
    open_again();
    struct tfs_buf again = files_get(&c, ground, "raw.bin"), after = column_of(0);
    ck_assert(tfs_span_equal(tfs_buf_span(&section), tfs_buf_span(&again)));
    /* But for light, and heightmaps that depend on more than air. */
    ck_assert_uint_le(after.size, before.size);
    tfs_buf_release(&before);
    tfs_buf_release(&after);
    tfs_buf_release(&text);
    tfs_buf_release(&section);
    tfs_buf_release(&other);
    tfs_buf_release(&again);
}
END_TEST

START_TEST(a_new_state_goes_where_it_appears_and_its_properties_where_the_game_has_them)
{
    open_made(MINECRAFT_18, 2, 1);
    put(ground, "voxels.csv",
        "x,y,z,block\n5,0,0,\"a:b[lit=true,axis=z]\"\n6,0,0,\"a:b[axis=z,lit=true]\"\n");
    ck_assert(files_shows(&c, ground, "palette.txt", "0 minecraft:air\n1 a:b[lit=true,axis=z]\n"));
    put(ground, "voxels.csv", "x,y,z,block\n5,0,0,minecraft:oak_log[axis=y]\n");
    open_again();
    ck_assert(
        files_shows(&c, ground, "palette.txt", "0 minecraft:air\n1 minecraft:oak_log[axis=y]\n"));
    put(ground, "voxels.csv", "x,y,z,block\n");
    open_again();
    ck_assert(files_shows(&c, ground, "palette.txt", "0 minecraft:air\n"));
}
END_TEST

START_TEST(up_to_1_17_air_is_the_first_state_also_where_there_is_none)
{
    open_made(MINECRAFT_13, 2, 1);
    put(ground, "blocks.txt", "palette 0 a:b\nfill 0\n");
    open_again();
    ck_assert(files_shows(&c, ground, "palette.txt", "0 minecraft:air\n1 a:b\n"));
}
END_TEST

/* 17 states need 5 bits: 320 longs that values cross, or 342 that none does. */
START_TEST(many_states_are_packed_as_the_version_packs_them)
{
    const enum minecraft_game game = (enum minecraft_game)_i;
    char text[2000] = "x,y,z,block\n";

    open_made(game, 2, 1);
    for (unsigned i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u,%u,3,a:b%u\n", i % 16,
                 i / 16, i);
    put(ground, "voxels.csv", text);
    open_again();
    ck_assert(files_shows(&c, ground, "voxels.csv", text));
    struct tfs_buf raw = files_get(&c, ground, "raw.bin");
    const uint32_t longs = game == MINECRAFT_13 ? 320 : 342;
    const uint8_t count[4] = {0, 0, (uint8_t)(longs >> 8), (uint8_t)longs};
    const char *name = game == MINECRAFT_18 ? "data" : "BlockStates";
    const uint8_t *at = memmem(raw.data, raw.size, name, strlen(name));
    ck_assert(at != NULL && memcmp(at + strlen(name), count, 4) == 0);
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(numbers_above_255_have_an_array_of_their_own)
{
    open_made(MINECRAFT_12, 2, 1);
    put(ground, "voxels.csv", "x,y,z,block\n1,2,3,4095:15\n");
    open_again();
    ck_assert(files_shows(&c, ground, "voxels.csv", "x,y,z,block\n1,2,3,4095:15\n"));
    put(ground, "voxels.csv", "x,y,z,block\n1,2,3,255:15\n");
    struct tfs_buf raw = files_get(&c, ground, "raw.bin");
    ck_assert_ptr_null(memmem(raw.data, raw.size, "Add", 3));
    tfs_buf_release(&raw);
}
END_TEST

static void insert(struct tfs_buf *buf, size_t at, struct tfs_span bytes)
{
    tfs_buf_resize(buf, buf->size + bytes.size);
    ck_assert_int_eq(buf->failed, 0);
    memmove(buf->data + at + bytes.size, buf->data + at, buf->size - bytes.size - at);
    memcpy(buf->data + at, bytes.data, bytes.size);
}

/* Some program may have left it there. */
START_TEST(an_empty_array_of_high_numbers_is_filled_and_stays_one)
{
    static const uint8_t add[] = {TFS_MC_NBT_BYTES, 0, 3, 'A', 'd', 'd', 0, 0, 0, 0};

    open_made(MINECRAFT_12, 2, 1);
    struct tfs_buf raw = files_get(&c, ground, "raw.bin");
    insert(&raw, raw.size - 1, (struct tfs_span){add, sizeof(add)});
    ck_assert_msg(files_put(&c, ground, "raw.bin", tfs_buf_span(&raw)) == 0, "%s", c.err.text);
    put(ground, "voxels.csv", "x,y,z,block\n1,2,3,4095:15\n");
    ck_assert(files_shows(&c, ground, "voxels.csv", "x,y,z,block\n1,2,3,4095:15\n"));
    tfs_buf_release(&raw);
    raw = files_get(&c, ground, "raw.bin");
    const uint8_t *first = memmem(raw.data, raw.size, "Add", 3);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(raw.data + behind_text(&raw, "Add"), first + 3);
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(names_that_are_no_states_are_refused)
{
    static const char *const bad[] = {
        "stone",   "a:",      ":b",        "A:b",          "a:b[",  "a:b[]",      "a:b[c]",
        "a:b[c=]", "a:b[=c]", "a:b[c=d]e", "a:b[c=d,c=e]", "a:b c", "a:b[c=d.e]", "a:b[c=d-e]"};
    char text[100];

    open_made(_i == 0 ? MINECRAFT_12 : MINECRAFT_18, 2, 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        snprintf(text, sizeof(text), "x,y,z,block\n1,2,3,\"%s\"\n", bad[i]);
        ck_assert_int_eq(files_put_text(&c, ground, "voxels.csv", text), -EBADMSG);
    }
}
END_TEST

START_TEST(lights_come_and_go)
{
    open_made((enum minecraft_game)_i, 2, 1);
    struct tfs_buf before = files_get(&c, ground, "raw.bin");
    ck_assert_int_eq(files_remove(&c, ground, "lights/block.txt"), 0);
    ck_assert_ptr_null(files_get(&c, ground, "lights/block.txt").data);
    put(ground, "lights/block.txt", "fill 9\n");
    open_again();
    ck_assert(files_shows(&c, ground, "lights/block.txt", "fill 9\n"));
    struct tfs_buf after = files_get(&c, ground, "raw.bin");
    ck_assert_uint_eq(before.size, after.size);
    tfs_buf_release(&before);
    tfs_buf_release(&after);
}
END_TEST

/* ---- columns --------------------------------------------------------------------------------- */

START_TEST(columns_that_nobody_edits_keep_their_bytes_places_and_times)
{
    open_made(MINECRAFT_18, 2, 3);
    struct tfs_buf before = files_read_file(path());
    dig(ground);
    open_again();
    struct tfs_buf after = files_read_file(path());
    const struct tfs_mc_entry entry = tfs_mc_entry_at(tfs_buf_span(&before), 0);
    const size_t begin = (size_t)entry.first * SECTOR, size = (size_t)entry.count * SECTOR;
    ck_assert_uint_eq(before.size, after.size);
    for (size_t i = 0; i < before.size; i++)
        ck_assert(before.data[i] == after.data[i] || (i >= SECTOR && i < SECTOR + 4) ||
                  (i >= begin && i < begin + size));
    ck_assert_int_ne(memcmp(before.data + SECTOR, after.data + SECTOR, 4), 0);
    tfs_buf_release(&before);
    tfs_buf_release(&after);
}
END_TEST

/* Blocks that do not become smaller when they are packed. */
static int put_noise(struct tfs_key key)
{
    struct tfs_buf text = {0};
    uint32_t random = (uint32_t)key.y + 1;

    tfs_buf_add_text(&text, "palette 0 minecraft:air\n");
    for (unsigned i = 1; i < 256; i++)
        tfs_buf_printf(&text, "palette %u a:b%u\n", i, i);
    for (unsigned i = 0; i < 4096; i++, random = random * 1664525 + 1013904223)
        tfs_buf_printf(&text, "%s%u", i % 16 == 0 ? "\n" : " ", random >> 24);
    tfs_buf_add_text(&text, "\n");
    const int result = files_put(&c, key, "blocks.txt", tfs_buf_span(&text));
    tfs_buf_release(&text);
    return result;
}

/* The first column has one sector, behind which one is free. */
START_TEST(a_column_that_grows_takes_the_first_free_sectors_that_are_enough)
{
    open_made(MINECRAFT_18, 2, 2);
    struct tfs_buf before = files_read_file(path());
    ck_assert_int_eq(put_noise(ground), 0);
    open_again();
    struct tfs_buf near = files_read_file(path());
    ck_assert_int_eq(put_noise(sky), 0);
    open_again();
    struct tfs_buf far = files_read_file(path());
    const struct tfs_mc_entry entry = tfs_mc_entry_at(tfs_buf_span(&near), 0);
    ck_assert(entry.first == 2 && entry.count == 2);
    ck_assert_uint_eq(before.size, near.size);
    const struct tfs_mc_entry moved = tfs_mc_entry_at(tfs_buf_span(&far), 0);
    ck_assert_uint_eq(moved.first, before.size / SECTOR);
    ck_assert_uint_eq(far.size, before.size + (size_t)moved.count * SECTOR);
    tfs_buf_release(&before);
    tfs_buf_release(&near);
    tfs_buf_release(&far);
}
END_TEST

START_TEST(what_follows_from_blocks_is_computed_when_a_column_is_written)
{
    const enum minecraft_game game = (enum minecraft_game)_i;

    open_made(game, 3, 1);
    struct tfs_buf before = column_of(0);
    put(ground, "lights/sky.txt", "fill 3\n");
    open_again();
    struct tfs_buf lit = column_of(0);
    const char *mark = game == MINECRAFT_12 ? "LightPopulated" : "isLightOn";
    const uint8_t *at = memmem(lit.data, lit.size, mark, strlen(mark));
    ck_assert(at != NULL && at[strlen(mark)] == 1);
    dig(ground);
    open_again();
    struct tfs_buf dug = column_of(0);
    at = memmem(dug.data, dug.size, mark, strlen(mark));
    ck_assert(at != NULL && at[strlen(mark)] == 0);
    ck_assert_ptr_null(memmem(dug.data, dug.size, "MOTION_BLOCKING", 15));
    const char *map = game == MINECRAFT_12 ? "HeightMap" : "WORLD_SURFACE";
    at = memmem(dug.data, dug.size, map, strlen(map));
    ck_assert_ptr_nonnull(at);
    /* The first stack is 0 high now, the second 1. */
    const uint8_t *value = at + strlen(map) + 4;
    ck_assert_uint_eq(game == MINECRAFT_12 ? value[3] : value[7], 0);
    ck_assert_uint_eq(game == MINECRAFT_12 ? value[7] : value[6], game == MINECRAFT_12 ? 1 : 2);
    tfs_buf_release(&before);
    tfs_buf_release(&lit);
    tfs_buf_release(&dug);
}
END_TEST

/* ---- heightmaps ------------------------------------------------------------------------------ */

/* A map that the column has now; false: it is not there. */
static bool map_of_column(enum minecraft_game game, const char *name, uint32_t values[256])
{
    const struct tfs_mc_packing packing = {256, game == MINECRAFT_13};
    struct tfs_buf nbt = column_of(0), tag = {0};

    tfs_mc_nbt_put_head(&tag, TFS_MC_NBT_LONGS, tfs_span_of(name));
    const uint8_t *at = memmem(nbt.data, nbt.size, tag.data, tag.size);
    if (at != NULL)
        tfs_mc_unpack(packing, 9, at + tag.size + 4, values);
    tfs_buf_release(&nbt);
    tfs_buf_release(&tag);
    return at != NULL;
}

/* The same blocks, and another one. */
static void add_block(struct tfs_key key, const char *line)
{
    struct tfs_buf text = files_get(&c, key, "voxels.csv");

    tfs_buf_add_text(&text, line);
    ck_assert_int_eq(files_put(&c, key, "voxels.csv", tfs_buf_span(&text)), 0);
    tfs_buf_release(&text);
}

/* The log is the top of the stack 12, 2: stone below it reaches no map. */
START_TEST(a_map_goes_when_a_block_changes_at_its_top_though_the_surface_stays)
{
    const enum minecraft_game game = (enum minecraft_game)_i;
    uint32_t values[256];

    open_made(game, 3, 1);
    add_block(ground, "12,0,2,a:b\n");
    open_again();
    ck_assert(map_of_column(game, "MOTION_BLOCKING", values));
    ck_assert_uint_eq(values[44], 2);
    add_block(ground, "11,0,2,a:b\n");
    open_again();
    ck_assert(!map_of_column(game, "MOTION_BLOCKING", values));
    ck_assert(map_of_column(game, "WORLD_SURFACE", values));
    ck_assert_uint_eq(values[43], 1);
    ck_assert_uint_eq(values[44], 2);
}
END_TEST

/* Before 1.18 no column says where its world begins: the map does. */
START_TEST(the_surface_is_counted_from_the_bottom_of_the_world)
{
    const struct minecraft_world world = {
        .game = (enum minecraft_game)_i, .packing = 3, .columns = 1, .below = 4};
    uint32_t values[256];

    minecraft_file(path(), &world);
    ck_assert_int_eq(files_open(&c, path()), 0);
    add_block(ground, "3,9,0,a:b\n");
    open_again();
    ck_assert(map_of_column(world.game, "WORLD_SURFACE", values));
    ck_assert_uint_eq(values[3], 64 + 10);
    ck_assert_uint_eq(values[2], 64 + 1);
    ck_assert_uint_eq(values[44], 64 + 2);
}
END_TEST

START_TEST(a_surface_whose_stacks_disagree_about_the_bottom_goes)
{
    uint32_t values[256];
    struct tfs_buf file;

    open_made(MINECRAFT_16, 3, 1);
    file = files_read_file(path());
    damage(behind_text(&file, "WORLD_SURFACE") + 4 + 7, 7);
    add_block(ground, "3,9,0,a:b\n");
    open_again();
    ck_assert(!map_of_column(MINECRAFT_16, "WORLD_SURFACE", values));
    tfs_buf_release(&file);
}
END_TEST

START_TEST(a_bottom_that_no_world_has_leaves_no_surface)
{
    uint32_t values[256];
    struct tfs_buf file;

    open_made(MINECRAFT_18, 3, 1);
    file = files_read_file(path());
    damage(behind_text(&file, "yPos"), _i == 0 ? 0x7f : 0x80);
    add_block(ground, "3,9,0,a:b\n");
    open_again();
    ck_assert(!map_of_column(MINECRAFT_18, "WORLD_SURFACE", values));
    tfs_buf_release(&file);
}
END_TEST

/* ---- the rest of a column -------------------------------------------------------------------- */

START_TEST(the_rest_of_a_column_takes_what_is_one_and_nothing_else)
{
    open_made((enum minecraft_game)_i, 2, 1);
    struct tfs_buf raw = files_get(&c, rest, "raw.bin");
    struct tfs_buf whole = column_of(0);
    uint8_t *at = memmem(raw.data, raw.size, "full", 4);

    ck_assert_int_eq(files_put(&c, rest, "raw.bin", tfs_buf_span(&whole)), -EBADMSG);
    at[1] = 'a';
    ck_assert_int_eq(files_put(&c, rest, "raw.bin", tfs_buf_span(&raw)), 0);
    open_again();
    ck_assert_int_eq(files_put_text(&c, ground, "voxels.csv", "x,y,z,block\n"), -EROFS);
    ck_assert_ptr_nonnull(strstr(c.err.text, "column 0_0 is not finished"));
    tfs_buf_release(&raw);
    tfs_buf_release(&whole);
}
END_TEST

/* A tag of so many bytes that are all 0, or that do not become smaller when they are packed. */
static void insert_bytes(struct tfs_buf *section, const char *name, size_t count, bool noise)
{
    struct tfs_buf tag = {0};
    uint32_t random = 1;

    tfs_mc_nbt_put_head(&tag, TFS_MC_NBT_BYTES, tfs_span_of(name));
    tfs_buf_u32be(&tag, (uint32_t)count);
    for (size_t i = 0; i < count; i++, random = random * 1664525 + 1013904223)
        tfs_buf_u8(&tag, noise ? (uint8_t)(random >> 24) : 0);
    insert(section, 0, tfs_buf_span(&tag));
    tfs_buf_release(&tag);
}

static void refuses(struct tfs_key key, const struct tfs_buf *raw, int code)
{
    ck_assert_int_eq(files_put(&c, key, "raw.bin", tfs_buf_span(raw)), code);
    ck_assert_ptr_nonnull(strstr(c.err.text, "column"));
}

static const uint8_t stub[] = {1, 0, 1, 'Y', 0, 0};

START_TEST(data_stays_behind_a_palette_that_is_stored_in_front_of_it)
{
    open_made(MINECRAFT_18, 2, 1);
    struct tfs_buf raw = files_get(&c, ground, "raw.bin"), data = {0};
    const size_t begin = behind_text(&raw, "data") - 7, size = 7 + 4 + 2048;
    const size_t end = behind_text(&raw, "biomes") - 10; /* of block_states */
    tfs_buf_add(&data, raw.data + begin, size);
    memmove(raw.data + begin, raw.data + begin + size, end - begin - size);
    memcpy(raw.data + end - size, data.data, size);
    ck_assert_msg(files_put(&c, ground, "raw.bin", tfs_buf_span(&raw)) == 0, "%s", c.err.text);
    dig(ground);
    struct tfs_buf dug = files_get(&c, ground, "raw.bin");
    ck_assert_uint_eq(dug.size, raw.size);
    ck_assert_uint_eq(behind_text(&dug, "data"), behind_text(&raw, "data"));
    tfs_buf_release(&raw);
    tfs_buf_release(&data);
    tfs_buf_release(&dug);
}
END_TEST

START_TEST(the_rest_of_a_column_has_a_place_for_each_section)
{
    static const uint8_t tag[] = {1, 0, 1, 'A', 0};

    open_made((enum minecraft_game)_i, 2, 1);
    struct tfs_buf raw = files_get(&c, rest, "raw.bin");
    const size_t end = behind_last(&raw, (struct tfs_span){stub, sizeof(stub)});
    raw.data[end - 2] = 5; /* the stub of another section */
    refuses(rest, &raw, -EBADMSG);
    raw.data[end - 2] = 0;
    insert(&raw, end - 1, (struct tfs_span){tag, sizeof(tag)});
    refuses(rest, &raw, -EBADMSG);
    tfs_buf_release(&raw);
}
END_TEST

/* Values cross from one long to the next up to 1.15. */
START_TEST(a_version_that_packs_the_sections_otherwise_is_refused)
{
    open_made(_i == 0 ? MINECRAFT_13 : MINECRAFT_16, 2, 1);
    struct tfs_buf raw = files_get(&c, rest, "raw.bin");
    raw.data[behind_text(&raw, "DataVersion") + 2] = _i == 0 ? 0x7f : 1;
    refuses(rest, &raw, -EBADMSG);
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(a_section_that_would_read_back_as_another_kind_is_refused)
{
    open_made(_i == 0 ? MINECRAFT_13 : MINECRAFT_16, 2, 1);
    struct tfs_buf raw = files_get(&c, ground, "raw.bin");
    insert_bytes(&raw, "Blocks", 4096, false);
    refuses(ground, &raw, -EBADMSG);
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(a_column_that_would_be_too_large_is_refused)
{
    open_made(MINECRAFT_18, 2, 1);
    struct tfs_buf many = files_get(&c, ground, "raw.bin");
    insert_bytes(&many, "A", 255 * SECTOR, true);
    refuses(ground, &many, -EFBIG);
    struct tfs_buf large = files_get(&c, ground, "raw.bin");
    insert_bytes(&large, "A", TFS_MC_COLUMN_LIMIT, false);
    refuses(ground, &large, -EFBIG);
    tfs_buf_release(&many);
    tfs_buf_release(&large);
}
END_TEST

/* Also by blocks, and by what other sections of the column have in the same mount; also in a
 * folder, where it is the file that says how the column is packed. */
START_TEST(blocks_that_no_longer_fit_into_a_column_are_refused)
{
    const struct minecraft_world world = {.game = MINECRAFT_18, .packing = 2, .columns = 1};

    minecraft_folder(scratch_path("region"), &world);
    minecraft_file(path(), &world);
    ck_assert_int_eq(files_open(&c, _i == 0 ? path() : scratch_path("region")), 0);
    struct tfs_buf raw = files_get(&c, ground, "raw.bin");
    insert_bytes(&raw, "A", 255 * SECTOR - 3000, true);
    ck_assert_msg(files_put(&c, ground, "raw.bin", tfs_buf_span(&raw)) == 0, "%s", c.err.text);
    ck_assert_int_eq(put_noise(sky), -EFBIG);
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
    tfs_buf_release(&raw);
}
END_TEST

/* The last tag of that name is called otherwise. */
static void damage_last(const char *name)
{
    struct tfs_buf file = files_read_file(path()), whole = {0};

    tfs_mc_nbt_put_string(&whole, tfs_span_of(name));
    damage(behind_last(&file, tfs_buf_span(&whole)) - 1, 'X');
    tfs_buf_release(&file);
    tfs_buf_release(&whole);
}

START_TEST(an_edit_beside_a_damaged_section_is_stored_and_heights_are_unknown)
{
    const enum minecraft_game game = (enum minecraft_game)_i;
    const char *map = game == MINECRAFT_12 ? "HeightMap" : "Heightmaps";

    open_made(game, 3, 1);
    damage_last(game == MINECRAFT_12 ? "Data" : "Name");
    dig(ground);
    struct tfs_buf text = files_get(&c, ground, "voxels.csv");
    open_again();
    ck_assert(files_shows(&c, ground, "voxels.csv", (char *)text.data));
    struct tfs_buf nbt = column_of(0);
    const uint8_t *value = nbt.data + behind_text(&nbt, map);
    ck_assert_uint_eq(value[0], 0); /* the end of the maps, or a count below 2^24 */
    for (size_t i = 0; i < 256 && game == MINECRAFT_12; i++)
        ck_assert_int_eq(memcmp(value + 4 + 4 * i, "\0\0\0", 4), 0);
    tfs_buf_release(&text);
    tfs_buf_release(&nbt);
}
END_TEST

START_TEST(splitting_and_joining_gives_the_column_back)
{
    const struct minecraft_world world = {.game = (enum minecraft_game)_i, .columns = 1};
    struct tfs_buf nbt = {0}, left = {0}, again = {0};
    struct tfs_mc_follows follows;
    struct tfs_mc_parts parts;
    struct tfs_mc_column column;

    minecraft_column(&nbt, &world, -7, 9);
    ck_assert_int_eq(
        tfs_mc_column_split(tfs_buf_span(&nbt), &left, &parts, &follows, &column, &c.err), 0);
    ck_assert(column.placed && column.x == -7 && column.z == 9);
    ck_assert_uint_eq(parts.count, 2);
    ck_assert_int_eq(tfs_mc_rest_check(tfs_buf_span(&left), -7, 9, &column, &c.err), 0);
    ck_assert_int_eq(tfs_mc_column_join(tfs_buf_span(&left), &parts, &follows, &again, &c.err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&nbt), tfs_buf_span(&again)));
    for (size_t size = 0; size < nbt.size; size += size < 300 ? 1 : 97) {
        struct tfs_buf cut = {0};
        struct tfs_error why = {0};
        ck_assert_int_eq(tfs_mc_column_split((struct tfs_span){nbt.data, size}, &cut, &parts,
                                             &follows, &column, &why),
                         -EBADMSG);
        tfs_buf_release(&cut);
    }
    tfs_buf_release(&nbt);
    tfs_buf_release(&left);
    tfs_buf_release(&again);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

START_TEST(hostile_nbt_is_damage)
{
    static const char *const texts[] = {
        "0a0000 0c 0001 61 ffffffff 00",    /* longs without end */
        "0a0000 09 0001 61 00 7fffffff 00", /* as many items of no type */
        "0a0000 09 0001 61 0a ffffffff 00", /* a negative count */
        "0a0000 0d 0001 61 00",             /* an unknown type */
        "0a0000 08 0001 61 ffff 00",        /* a text without end */
        "0a0000 00 00",                     /* something behind the root */
        "09 0000 00 00000000",              /* a list is the root */
        "0a0000 09 0008 73656374696f6e73 0a 00000002 01 0001 59 05 00 01 0001 59 05 00 00", /* Y
                                                                                               twice
                                                                                             */
        "0a0000 0a 000a 486569676874 6d617073 00 0a 000a 486569676874 6d617073 00 00", /* maps twice
                                                                                        */
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct tfs_buf nbt = files_hex(texts[i]), left = {0};
        struct tfs_mc_follows follows;
        struct tfs_mc_parts parts;
        struct tfs_mc_column column;
        struct tfs_error why = {0};
        ck_assert_msg(tfs_mc_column_split(tfs_buf_span(&nbt), &left, &parts, &follows, &column,
                                          &why) == -EBADMSG,
                      "%s", texts[i]);
        tfs_buf_release(&nbt);
        tfs_buf_release(&left);
    }
}
END_TEST

START_TEST(compounds_nested_deeper_than_the_game_reads_are_damage)
{
    struct tfs_buf nbt = {0}, left = {0};
    struct tfs_mc_follows follows;
    struct tfs_mc_parts parts;
    struct tfs_mc_column column;
    struct tfs_error why = {0};

    for (int i = 0; i < 100000; i++)
        tfs_buf_add(&nbt, "\x0a\0\0", 3);
    for (int i = 0; i < 100000; i++)
        tfs_buf_u8(&nbt, 0);
    ck_assert_int_eq(
        tfs_mc_column_split(tfs_buf_span(&nbt), &left, &parts, &follows, &column, &why), -EBADMSG);
    tfs_buf_release(&nbt);
    tfs_buf_release(&left);
}
END_TEST

/* A version is read before all else is walked over: not once more for each compound in another. */
START_TEST(only_the_level_of_the_root_says_what_a_column_is)
{
    static const uint8_t nbt[] = "\x0a\0\0\x0a\0\5Level\x0a\0\5Level"
                                 "\3\0\x0b"
                                 "DataVersion\0\0\0\5\0"
                                 "\3\0\4zPos\0\0\0\7\0";
    struct tfs_buf left = {0};
    struct tfs_mc_follows follows;
    struct tfs_mc_parts parts;
    struct tfs_mc_column column;
    struct tfs_error why = {0};

    ck_assert_msg(tfs_mc_column_split((struct tfs_span){nbt, sizeof(nbt)}, &left, &parts, &follows,
                                      &column, &why) == 0,
                  "%s", why.text);
    ck_assert_int_eq(column.version, 0);
    ck_assert_int_eq(column.z, 7);
    tfs_buf_release(&left);
}
END_TEST

START_TEST(a_damaged_column_shows_its_bytes_and_the_others_go_on)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } rows[] = {
        {2, 1},               /* its entry points into the table */
        {1, 0xff},            /* behind the file */
        {2 * SECTOR, 0xff},   /* more bytes than it has */
        {2 * SECTOR + 20, 0}, /* packed bytes */
    };

    open_made(MINECRAFT_18, 2, 2);
    damage(rows[_i].at, rows[_i].byte);
    const struct tfs_chunk *damaged = tfs_doc_find(c.doc, rest);
    ck_assert(damaged != NULL && (damaged->flags & TFS_CHUNK_DAMAGED) != 0);
    ck_assert_ptr_null(tfs_doc_find(c.doc, ground));
    ck_assert(
        files_holds(&c, (struct tfs_key){0, 1, 0, 0}, "voxels.csv", "16,0,0,minecraft:stone\n"));
    ck_assert_ptr_nonnull(c.save->read_only);
}
END_TEST

START_TEST(a_packing_that_is_not_known_hides_its_column)
{
    open_made(MINECRAFT_18, 2, 2);
    damage(2 * SECTOR + 4, _i == 0 ? 127 : 0x82);
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, TFS_GROUP_COLUMNS), 1);
    ck_assert_ptr_nonnull(tfs_facts_hiding(c.doc->facts));
    ck_assert_ptr_nonnull(c.save->read_only);
}
END_TEST

START_TEST(a_size_that_is_one_short_is_read_with_a_warning)
{
    struct tfs_buf file;

    open_made(MINECRAFT_18, 2, 1);
    file = files_read_file(path());
    damage(2 * SECTOR + 3, (uint8_t)(file.data[2 * SECTOR + 3] - 1));
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, ground));
    ck_assert_ptr_nonnull(tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING));
    ck_assert_ptr_null(c.save->read_only);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(columns_in_the_same_sectors_are_damaged_both)
{
    struct tfs_buf file;

    open_made(MINECRAFT_18, 2, 2);
    file = files_read_file(path());
    damage(6, file.data[2]);
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, 0), 0);
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, TFS_GROUP_COLUMNS), 2);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(the_limit_is_one_of_all_columns_together)
{
    struct tfs_blob *file, *whole, *part;

    open_made(MINECRAFT_18, 2, 3);
    struct tfs_buf bytes = files_read_file(path());
    ck_assert_int_eq(tfs_blob_take(&bytes, &file, &c.err), 0);
    ck_assert_int_eq(tfs_mc_region_payload(file, 0, &whole, &c.err), 0);
    ck_assert_int_eq(tfs_mc_region_payload(file, whole->size / 2, &part, &c.err), 0);
    ck_assert_uint_le(part->size, whole->size / 2 + 2 * SECTOR);
    tfs_blob_unref(file);
    tfs_blob_unref(whole);
    tfs_blob_unref(part);
}
END_TEST

START_TEST(files_that_are_too_short_are_refused_but_for_empty_ones)
{
    static const uint8_t zeros[8191];

    files_write_file(path(), (struct tfs_span){zeros, 0});
    ck_assert_int_eq(files_open(&c, path()), 0);
    ck_assert_uint_eq(c.doc->count, 0);
    tree_files_close(&c);
    files_write_file(path(), (struct tfs_span){zeros, sizeof(zeros)});
    ck_assert_int_eq(files_open(&c, path()), -EBADMSG);
    c.save = NULL;
}
END_TEST

/* ---- folders --------------------------------------------------------------------------------- */

START_TEST(a_region_of_a_region_folder_means_the_folder_and_shows_itself)
{
    const struct minecraft_world world = {.game = MINECRAFT_18, .packing = 2, .columns = 1};

    minecraft_folder(scratch_path("region"), &world);
    ck_assert_int_eq(files_open(&c, scratch_path("region")), 0);
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, TFS_GROUP_COLUMNS), 2);
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path("region/r.-1.0.mca")), 0);
    ck_assert_str_eq(c.save->container->name, "region folder");
    ck_assert_uint_eq(tfs_doc_group_count(c.doc, TFS_GROUP_COLUMNS), 1);
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, (struct tfs_key){TFS_GROUP_COLUMNS, -32, 0, 0}));
}
END_TEST

START_TEST(a_misplaced_column_leaves_the_others_of_its_region_readable)
{
    const struct minecraft_world world = {.game = MINECRAFT_18, .packing = 3, .columns = 2};
    const struct tfs_key other = {TFS_GROUP_COLUMNS, -31, 0, 0};

    minecraft_folder(scratch_path("region"), &world);
    ck_assert_int_eq(files_open(&c, scratch_path("region")), 0);
    struct tfs_buf before = files_get(&c, other, "raw.bin");
    tree_files_close(&c);
    struct tfs_buf file = files_read_file(scratch_path("region/r.-1.0.mca"));
    uint8_t *at = memmem(file.data, file.size, "xPos", 4);
    memset(at + 4, 0, 4);
    files_write_file(scratch_path("region/r.-1.0.mca"), tfs_buf_span(&file));
    ck_assert_int_eq(files_open(&c, scratch_path("region")), 0);
    const struct tfs_chunk *misplaced =
        tfs_doc_find(c.doc, (struct tfs_key){TFS_GROUP_COLUMNS, -32, 0, 0});
    ck_assert(misplaced != NULL && (misplaced->flags & TFS_CHUNK_DAMAGED) != 0);
    ck_assert_ptr_null(tfs_doc_find(c.doc, (struct tfs_key){0, -32, 0, 0}));
    struct tfs_buf after = files_get(&c, other, "raw.bin");
    ck_assert(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    ck_assert(files_holds(&c, (struct tfs_key){0, -31, 0, 0}, "voxels.csv",
                          "-496,0,0,minecraft:stone\n"));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
    tfs_buf_release(&file);
}
END_TEST

START_TEST(an_edit_of_a_folder_is_in_the_file_of_its_region)
{
    const struct minecraft_world world = {.game = MINECRAFT_16, .packing = 2, .columns = 1};
    const struct tfs_key far = {0, -32, 0, 0};
    struct tfs_buf raw;

    minecraft_folder(scratch_path("region"), &world);
    struct tfs_buf before = files_read_file(scratch_path("region/r.0.0.mca"));
    ck_assert_int_eq(files_open(&c, scratch_path("region")), 0);
    put(far, "voxels.csv", "x,y,z,block\n-512,3,4,a:b\n");
    raw = files_get(&c, (struct tfs_key){TFS_GROUP_COLUMNS, -32, 0, 0}, "raw.bin");
    *(uint8_t *)memmem(raw.data, raw.size, "full", 4) = 'F';
    ck_assert_int_eq(files_put(&c, (struct tfs_key){TFS_GROUP_COLUMNS, -32, 0, 0}, "raw.bin",
                               tfs_buf_span(&raw)),
                     0);
    ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
    tree_files_close(&c);
    ck_assert_int_eq(files_open(&c, scratch_path("region")), 0);
    ck_assert(files_shows(&c, far, "voxels.csv", "x,y,z,block\n-512,3,4,a:b\n"));
    struct tfs_buf after = files_read_file(scratch_path("region/r.0.0.mca"));
    ck_assert(tfs_span_equal(tfs_buf_span(&before), tfs_buf_span(&after)));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
    tfs_buf_release(&raw);
}
END_TEST

/* ---- real saves ------------------------------------------------------------------------------ */

static void open_sample(int i)
{
    const char *copy = scratch_path(strrchr(samples.gl_pathv[i], '/') + 1);

    files_copy(samples.gl_pathv[i], copy);
    ck_assert_msg(files_open_as(&c, copy, NULL, TFS_LOCK_NONE) == 0, "%s", c.err.text);
}

START_TEST(real_columns_are_put_together_byte_for_byte)
{
    struct tfs_buf file = files_read_file(samples.gl_pathv[_i]);
    size_t columns = 0;

    for (uint32_t slot = 0; slot < TFS_MC_COLUMNS; slot++) {
        const struct tfs_mc_entry entry = tfs_mc_entry_at(tfs_buf_span(&file), slot);
        struct tfs_buf nbt = {0}, left = {0}, again = {0};
        struct tfs_mc_stored stored;
        struct tfs_mc_follows follows;
        struct tfs_mc_parts parts;
        struct tfs_mc_column column;
        bool over;
        if (entry.count == 0)
            continue;
        ck_assert_int_eq(tfs_mc_stored_find(tfs_buf_span(&file), entry, &stored, &c.err), 0);
        ck_assert_int_eq(tfs_mc_stored_unpack(&stored, TFS_MC_COLUMN_LIMIT, &nbt, &over, &c.err),
                         0);
        ck_assert_int_eq(
            tfs_mc_column_split(tfs_buf_span(&nbt), &left, &parts, &follows, &column, &c.err), 0);
        ck_assert_int_eq(tfs_mc_column_join(tfs_buf_span(&left), &parts, &follows, &again, &c.err),
                         0);
        ck_assert(tfs_span_equal(tfs_buf_span(&nbt), tfs_buf_span(&again)));
        tfs_buf_release(&nbt);
        tfs_buf_release(&left);
        tfs_buf_release(&again);
        columns++;
    }
    ck_assert_uint_gt(columns, 0);
    tfs_buf_release(&file);
}
END_TEST

/* A value of every section is made another one and comes back: its palette and longs are made
 * anew, and are those of the game. */
START_TEST(real_sections_are_written_as_the_game_wrote_them)
{
    struct tfs_error err = {0};
    size_t tried = 0;

    open_sample(_i);
    for (size_t i = 0; i < c.doc->count; i++) {
        const struct tfs_chunk *chunk = tfs_doc_at(c.doc, i);
        struct tfs_cells_edit e = {0};
        struct tfs_edit one, two;
        uint32_t other;
        if (chunk->key.group != 0)
            continue;
        ck_assert_int_eq(tfs_edit_open(c.doc, &one, &err), 0);
        ck_assert_int_eq(tfs_cells_edit_open(&e, c.save, &one, chunk->key, &err), 0);
        ck_assert_int_eq(tfs_cells_edit_plane(&e, 0, &err), 0);
        ck_assert_int_eq(
            tfs_cells_edit_add(&e, tfs_span_of(chunk->tag == 0 ? "4000:9" : "x:y[z=1]"), &other,
                               &err),
            0);
        const uint64_t was = tfs_plane_get(&e.planes[0], 77);
        struct tfs_buf name = {0};
        tfs_buf_add_span(&name, tfs_cells_edit_name(&e, (uint32_t)was));
        tfs_plane_set(&e.planes[0], 77, other);
        const int status = tfs_cells_edit_finish(&e, &one, &err);
        tfs_cells_edit_close(&e);
        if (status == -EROFS) { /* the game has not finished the column */
            tfs_error_reset(&err);
            tfs_buf_release(&name);
            tfs_edit_release(&one);
            continue;
        }
        ck_assert_msg(status == 0, "%s", err.text);
        struct tfs_doc *after = tfs_edit_finish(&one);
        ck_assert_int_eq(tfs_edit_open(after, &two, &err), 0);
        e = (struct tfs_cells_edit){0};
        ck_assert_int_eq(tfs_cells_edit_open(&e, c.save, &two, chunk->key, &err), 0);
        ck_assert_int_eq(tfs_cells_edit_plane(&e, 0, &err), 0);
        ck_assert_int_eq(tfs_cells_edit_add(&e, tfs_buf_span(&name), &other, &err), 0);
        tfs_plane_set(&e.planes[0], 77, other);
        ck_assert_int_eq(tfs_cells_edit_finish(&e, &two, &err), 0);
        tfs_cells_edit_close(&e);
        struct tfs_doc *again = tfs_edit_finish(&two);
        ck_assert_msg(tfs_blob_equal(tfs_doc_find(again, chunk->key)->blob, chunk->blob),
                      "%d %d %d", chunk->key.x, chunk->key.y, chunk->key.z);
        tried++;
        tfs_buf_release(&name);
        tfs_edit_release(&one);
        tfs_edit_release(&two);
        tfs_doc_unref(after);
        tfs_doc_unref(again);
    }
    printf("# %s: %zu sections\n", samples.gl_pathv[_i], tried);
}
END_TEST

START_TEST(real_saves_hold_the_laws)
{
    struct lens_check check;

    open_sample(_i);
    if (c.doc->count > 2000)
        return;
    lens_check_open(&check, c.save);
    lens_check_unedited(&check);
    lens_check_encoding(&check);
    lens_check_close(&check);
}
END_TEST

static Suite *minecraft_suite(void)
{
    Suite *s = suite_create("minecraft");
    TCase *made = unit_case_with(s, "made", scratch_setup, teardown);
    TCase *real = unit_case_with(s, "real", scratch_setup, teardown);

    glob(SAMPLES "regions/*/*.mca", 0, NULL, &samples);
    glob(SAMPLES "world/region/*.mca", GLOB_APPEND, NULL, &samples);
    glob(SAMPLES "regions/*.mca", GLOB_APPEND, NULL, &samples);
    tcase_add_loop_test(made, every_kind_of_blocks_in_every_packing_reads_the_same, 0, 16);
    tcase_add_loop_test(made, a_block_that_goes_and_comes_back_leaves_the_bytes_of_the_game, 0, 4);
    tcase_add_test(made,
                   a_new_state_goes_where_it_appears_and_its_properties_where_the_game_has_them);
    tcase_add_test(made, up_to_1_17_air_is_the_first_state_also_where_there_is_none);
    tcase_add_loop_test(made, many_states_are_packed_as_the_version_packs_them, MINECRAFT_13,
                        MINECRAFT_GAMES);
    tcase_add_test(made, numbers_above_255_have_an_array_of_their_own);
    tcase_add_test(made, an_empty_array_of_high_numbers_is_filled_and_stays_one);
    tcase_add_loop_test(made, names_that_are_no_states_are_refused, 0, 2);
    tcase_add_loop_test(made, lights_come_and_go, 0, MINECRAFT_GAMES);
    tcase_add_test(made, columns_that_nobody_edits_keep_their_bytes_places_and_times);
    tcase_add_test(made, a_column_that_grows_takes_the_first_free_sectors_that_are_enough);
    tcase_add_loop_test(made, what_follows_from_blocks_is_computed_when_a_column_is_written, 0,
                        MINECRAFT_GAMES);
    tcase_add_loop_test(made, the_rest_of_a_column_takes_what_is_one_and_nothing_else, 0,
                        MINECRAFT_GAMES);
    tcase_add_test(made, data_stays_behind_a_palette_that_is_stored_in_front_of_it);
    tcase_add_loop_test(made, a_map_goes_when_a_block_changes_at_its_top_though_the_surface_stays,
                        MINECRAFT_13, MINECRAFT_GAMES);
    tcase_add_loop_test(made, the_surface_is_counted_from_the_bottom_of_the_world, MINECRAFT_16,
                        MINECRAFT_GAMES);
    tcase_add_test(made, a_surface_whose_stacks_disagree_about_the_bottom_goes);
    tcase_add_loop_test(made, a_bottom_that_no_world_has_leaves_no_surface, 0, 2);
    tcase_add_test(made, the_limit_is_one_of_all_columns_together);
    tcase_add_test(made, a_misplaced_column_leaves_the_others_of_its_region_readable);
    tcase_add_loop_test(made, the_rest_of_a_column_has_a_place_for_each_section, 0,
                        MINECRAFT_GAMES);
    tcase_add_loop_test(made, a_version_that_packs_the_sections_otherwise_is_refused, 0, 2);
    tcase_add_loop_test(made, a_section_that_would_read_back_as_another_kind_is_refused, 0, 2);
    tcase_add_test(made, a_column_that_would_be_too_large_is_refused);
    tcase_add_loop_test(made, blocks_that_no_longer_fit_into_a_column_are_refused, 0, 2);
    tcase_add_loop_test(made, an_edit_beside_a_damaged_section_is_stored_and_heights_are_unknown, 0,
                        MINECRAFT_GAMES);
    tcase_add_loop_test(made, splitting_and_joining_gives_the_column_back, 0, MINECRAFT_GAMES);
    tcase_add_test(made, hostile_nbt_is_damage);
    tcase_add_test(made, compounds_nested_deeper_than_the_game_reads_are_damage);
    tcase_add_test(made, only_the_level_of_the_root_says_what_a_column_is);
    tcase_add_loop_test(made, a_damaged_column_shows_its_bytes_and_the_others_go_on, 0, 4);
    tcase_add_loop_test(made, a_packing_that_is_not_known_hides_its_column, 0, 2);
    tcase_add_test(made, a_size_that_is_one_short_is_read_with_a_warning);
    tcase_add_test(made, columns_in_the_same_sectors_are_damaged_both);
    tcase_add_test(made, files_that_are_too_short_are_refused_but_for_empty_ones);
    tcase_add_test(made, a_region_of_a_region_folder_means_the_folder_and_shows_itself);
    tcase_add_test(made, an_edit_of_a_folder_is_in_the_file_of_its_region);
    unit_add_samples(real, real_columns_are_put_together_byte_for_byte, samples.gl_pathc, SAMPLES);
    unit_add_samples(real, real_sections_are_written_as_the_game_wrote_them, samples.gl_pathc,
                     SAMPLES);
    unit_add_samples(real, real_saves_hold_the_laws, samples.gl_pathc, SAMPLES);
    return s;
}

UNIT_MAIN(minecraft_suite)
