/*
 * formats/luanti: maps and worlds on disk, and the files of their trees: exact texts, what an edit
 * stores, what is refused.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "../lib/files_case.h"
#include "../lib/lens_check.h"
#include "../lib/luanti_maker.h"
#include "../lib/picture_numbers.h"
#include "formats/cells/cells.h"
#include "fs/tree/tree.h"
#include "in_full.h"
#include "sanitized.h"
#include "scratch.h"

static struct tree_files c;
static const struct tfs_key first = {0, -1, -1, -1}, second = {0, 0, -1, -1}, far = {0, 7, 3, -9};

static void teardown(void)
{
    if (c.save != NULL)
        tree_files_close(&c);
    scratch_teardown();
}

static void open_map(bool axes, unsigned version)
{
    luanti_map(scratch_path("map.sqlite"), axes, version, 2);
    ck_assert_msg(files_open(&c, scratch_path("map.sqlite")) == 0, "%s", c.err.text);
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
    ck_assert_msg(files_open(&c, scratch_path("map.sqlite")) == 0, "%s", c.err.text);
}

#define SHOWS(key, name, text)                                                                     \
    do {                                                                                           \
        struct tfs_buf shown = files_get(&c, key, name);                                           \
        ck_assert_msg(tfs_span_equal(tfs_buf_span(&shown), tfs_span_of(text)), "%s is %.*s", name, \
                      (int)shown.size, (const char *)shown.data);                                  \
        tfs_buf_release(&shown);                                                                   \
    } while (0)

/* ---- texts ----------------------------------------------------------------------------------- */

START_TEST(the_files_of_a_chunk_have_these_texts)
{
    open_map(_i % 2 == 0, (unsigned)_i);
    SHOWS(first, "palette.txt", "0 default:stone\n1 default:dirt\n2 air\n3 default:chest\n");
    SHOWS(first, "metadata.txt",
          _i < 28 ? "3 5 2 infotext = A chest\n3 5 2 owner = me\n"
                    "3 5 2 inventory List main 2\n3 5 2 inventory Width 0\n"
                    "3 5 2 inventory Item default:dirt 5\n3 5 2 inventory Empty\n"
                    "3 5 2 inventory EndInventoryList\n3 5 2 inventory EndInventory\n"
                  : "3 5 2 infotext = A chest\n3 5 2 owner = me\n3 5 2 private owner\n"
                    "3 5 2 inventory List main 2\n3 5 2 inventory Width 0\n"
                    "3 5 2 inventory Item default:dirt 5\n3 5 2 inventory Empty\n"
                    "3 5 2 inventory EndInventoryList\n3 5 2 inventory EndInventory\n");
    SHOWS(first, "objects.txt", "7 4.5 6.5001 0 017468696e67\n");
    if (_i >= 24)
        SHOWS(first, "timers.txt", "3 5 2 2.5 0.75\n");
    ck_assert(files_holds(&c, first, "param2.txt", "y=00 z=00 |   7   0"));
    ck_assert(files_holds(&c, first, "param1.txt", "y=05 z=00 | 0f 0f"));
    ck_assert(
        files_holds(&c, first, "voxels.csv", "x,y,z,node,param2\n-16,-16,-16,default:stone,7"));
    ck_assert(files_holds(&c, first, "voxels.csv", "\n-13,-11,-14,default:chest,0\n"));
    SHOWS(FILES_ROOT, "palette.txt", "air\ndefault:chest\ndefault:dirt\ndefault:stone\n");
    ck_assert_ptr_null(files_get(&c, second, "metadata.txt").data);
}
END_TEST

START_TEST(map_of_every_version_obeys_the_laws)
{
    open_map(_i % 2 == 0, (unsigned)_i);
    lens_check_reads(c.save, c.save->doc, NULL);
}
END_TEST

START_TEST(what_is_written_is_in_the_database)
{
    open_map(_i % 2 == 0, (unsigned)_i);
    put(first, "voxels.csv", "x,y,z,node,param2\n-16,-16,-16,new:node,200\n-1,-1,-1,\"a,b\",0\n");
    put(second, "metadata.txt", "1 2 3 b = 2\n1 2 3 a =\n0 15 15 = \\x20\n");
    put(second, "objects.txt", "7 -0.5 1 15.9999\n");
    open_again();
    SHOWS(first, "voxels.csv", "x,y,z,node,param2\n-16,-16,-16,new:node,200\n-1,-1,-1,\"a,b\",0\n");
    SHOWS(first, "palette.txt", "0 new:node\n1 air\n2 a,b\n");
    SHOWS(second, "metadata.txt", "0 15 15 = \\x20\n1 2 3 b = 2\n1 2 3 a =\n");
    SHOWS(second, "objects.txt", "7 -0.5 1 15.9999\n");
}
END_TEST

START_TEST(fields_of_the_head_are_written_one_by_one)
{
    open_map(true, 29);
    SHOWS(second, "state.txt",
          "version 29\ngenerated yes\nunderground no\ntimestamp 1234\n"
          "lighting_complete ffff\n");
    put(second, "state.txt", "timestamp none\nunderground yes\n");
    put(second, "state.txt", "generated no\nlighting_complete 0abc\n");
    open_again();
    SHOWS(second, "state.txt",
          "version 29\ngenerated no\nunderground yes\ntimestamp none\n"
          "lighting_complete 0abc\n");
}
END_TEST

/* ---- nodes ----------------------------------------------------------------------------------- */

START_TEST(renamed_node_keeps_param2_and_light)
{
    open_map(true, 29);
    struct tfs_buf light = files_get(&c, first, "param1.txt");
    struct tfs_buf param2 = files_get(&c, first, "param2.txt");
    put(first, "palette.txt", "0 new:rock\n1 default:dirt\n2 air\n3 default:chest\n");
    put(FILES_ROOT, "palette.txt", "air\ndefault:chest\ndefault:dirt\nmod:rock\nother:stone\n");
    ck_assert(files_holds(&c, first, "blocks.txt", "palette 0 other:stone\n"));
    ck_assert(files_holds(&c, second, "blocks.txt", "palette 0 mod:rock\n"));
    struct tfs_buf again = files_get(&c, first, "param1.txt");
    ck_assert(tfs_span_equal(tfs_buf_span(&light), tfs_buf_span(&again)));
    tfs_buf_release(&again);
    again = files_get(&c, first, "param2.txt");
    ck_assert(tfs_span_equal(tfs_buf_span(&param2), tfs_buf_span(&again)));
    ck_assert(files_holds(&c, first, "state.txt", "lighting_complete ffff\n"));
    tfs_buf_release(&again);
    tfs_buf_release(&light);
    tfs_buf_release(&param2);
}
END_TEST

START_TEST(another_node_loses_param2_unless_it_keeps_its_index)
{
    struct tfs_buf text;

    open_map(true, 29);
    text = files_get(&c, first, "blocks.txt");
    tfs_buf_u8(&text, '\0');
    char *name = strstr((char *)text.data, "default:stone");
    memcpy(name, "renamed:rock!", 13);
    put(first, "blocks.txt", (const char *)text.data);
    ck_assert(files_holds(&c, first, "param2.txt", "y=00 z=00 |   7   0"));
    strstr((char *)text.data, "y=00 z=00 | ")[12] = '1';
    put(first, "blocks.txt", (const char *)text.data);
    SHOWS(first, "param2.txt", "fill 0\n");
    tfs_buf_release(&text);
}
END_TEST

START_TEST(new_air_takes_the_light_beside_it)
{
    open_map(true, 29);
    put(first, "voxels.csv", "x,y,z,node,param2\n");
    SHOWS(first, "param1.txt", "fill 0f\n");
    ck_assert(files_holds(&c, first, "state.txt", "lighting_complete f000\n"));
}
END_TEST

START_TEST(two_names_become_one)
{
    open_map(false, 25);
    put(first, "palette.txt", "0 air\n1 air\n2 air\n3 default:chest\n");
    SHOWS(first, "palette.txt", "0 air\n1 default:chest\n");
    put(FILES_ROOT, "palette.txt", "air\nair\nair\nair\n");
    SHOWS(FILES_ROOT, "palette.txt", "air\n");
    SHOWS(first, "blocks.txt", "palette 0 air\nfill 0\n");
}
END_TEST

/* ---- chunks ---------------------------------------------------------------------------------- */

START_TEST(moved_chunk_takes_its_objects_along)
{
    open_map(_i == 1, 29);
    ck_assert_int_eq(files_move(&c, first, far), 0);
    open_again();
    SHOWS(far, "objects.txt", "7 4.5 6.5001 0 017468696e67\n");
    ck_assert(files_holds(&c, far, "voxels.csv", "\n115,53,-142,default:chest,0\n"));
    ck_assert_ptr_null(tfs_doc_find(c.doc, first));
}
END_TEST

START_TEST(copy_by_raw_bin_has_its_objects_where_it_is)
{
    open_map(true, 29);
    struct tfs_buf raw = files_get(&c, first, "raw.bin");
    ck_assert_int_eq(files_create(&c, far), 0);
    c.how.fresh = true;
    ck_assert_int_eq(files_put(&c, far, "raw.bin", tfs_buf_span(&raw)), 0);
    SHOWS(far, "objects.txt", "7 4.5 6.5001 0 017468696e67\n");
    c.how.fresh = false;
    ck_assert_int_eq(files_put(&c, far, "raw.bin", tfs_buf_span(&raw)), 0);
    SHOWS(far, "objects.txt", "7 -123.5 -57.4999 128 017468696e67\n");
    tfs_buf_release(&raw);
}
END_TEST

START_TEST(new_chunk_is_air_of_the_highest_version)
{
    open_map(_i % 2 == 0, (unsigned)_i);
    ck_assert_int_eq(files_create(&c, far), 0);
    open_again();
    SHOWS(far, "blocks.txt", "palette 0 air\nfill 0\n");
    SHOWS(far, "param1.txt", "fill 0f\n");
    ck_assert(files_holds(&c, far, "state.txt", "generated yes\nunderground no\ntimestamp none\n"));
    ck_assert_ptr_null(files_get(&c, far, "objects.txt").data);
    put(far, "objects.txt", "7 1 2 3 00\n");
    ck_assert(files_holds(&c, far, "state.txt", "timestamp 0\n"));
}
END_TEST

/* Of a tree that is put back: the files of a chunk come in any order. */
START_TEST(new_chunk_takes_an_older_version_that_its_state_says)
{
    static const char *const metadata = "0 1 2 infotext = old\n";
    static const char *const timers = "0 1 2 7 3\n";
    char state[32];
    const unsigned highest = 27 + (unsigned)_i % 3, version = 25 + (unsigned)_i / 3;
    const bool older = version < highest;

    for (int order = 0; order < 2; order++) {
        unlink(scratch_path("map.sqlite"));
        open_map(true, highest);
        snprintf(state, sizeof(state), "version %u\n", version);
        ck_assert_int_eq(files_create(&c, far), 0);
        c.how.fresh = true;
        if (order == 0)
            put(far, "state.txt", state);
        put(far, "voxels.csv", "x,y,z,node,param2\n112,49,-142,default:chest,1\n");
        put(far, "metadata.txt", metadata);
        put(far, "timers.txt", timers);
        if (order == 1)
            put(far, "state.txt", state);
        c.how.fresh = false;
        open_again();
        snprintf(state, sizeof(state), "version %u\n", older ? version : highest);
        ck_assert(files_holds(&c, far, "state.txt", state));
        SHOWS(far, "metadata.txt", metadata);
        SHOWS(far, "timers.txt", timers);
        ck_assert(files_holds(&c, far, "voxels.csv", ",default:chest,1\n"));
        if (order == 0)
            tree_files_close(&c);
    }
}
END_TEST

/* ---- names of the map ------------------------------------------------------------------------ */

static const struct tfs_container *real;
static size_t fetches;

static size_t count_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                          struct tfs_error *err)
{
    const size_t ready = real->fetch(save, chunks, count, err);

    fetches += ready;
    return ready;
}

START_TEST(names_are_asked_of_each_chunk_once)
{
    open_map(true, 29);
    struct tfs_container counting = *(real = c.save->container);
    counting.fetch = count_fetch;
    c.save->container = &counting;
    fetches = 0;
    SHOWS(FILES_ROOT, "palette.txt", "air\ndefault:chest\ndefault:dirt\ndefault:stone\n");
    ck_assert_uint_eq(fetches, 2);
    SHOWS(FILES_ROOT, "palette.txt", "air\ndefault:chest\ndefault:dirt\ndefault:stone\n");
    ck_assert_uint_eq(fetches, 2);
    put(second, "voxels.csv", "x,y,z,node,param2\n15,-16,-1,c:d,0\n");
    fetches = 0;
    SHOWS(FILES_ROOT, "palette.txt", "air\nc:d\ndefault:chest\ndefault:dirt\ndefault:stone\n");
    ck_assert_uint_eq(fetches, 0);
    put(FILES_ROOT, "palette.txt", "air\nc:d\ne:f\ndefault:dirt\ndefault:stone\n");
    SHOWS(FILES_ROOT, "palette.txt", "air\nc:d\ndefault:dirt\ndefault:stone\ne:f\n");
    ck_assert_int_eq(files_delete(&c, first), 0);
    SHOWS(FILES_ROOT, "palette.txt", "air\nc:d\n");
    c.save->container = real;
}
END_TEST

START_TEST(map_is_looked_into_once_for_all_new_chunks_of_an_edit)
{
    struct tfs_edit edit;

    open_map(true, 27);
    struct tfs_container counting = *(real = c.save->container);
    counting.fetch = count_fetch;
    c.save->container = &counting;
    fetches = 0;
    tree_files_begin(&c, &edit);
    for (int32_t x = 0; x < 9; x++) {
        const struct tfs_key key = {0, x, 3, -9};
        ck_assert_int_eq(tfs_chunk_create(c.save, &edit, key, &c.err), 0);
    }
    ck_assert_int_eq(tree_files_end(&c, &edit, 0), 0);
    ck_assert_uint_eq(fetches, 2);
    open_again();
    SHOWS(far, "blocks.txt", "palette 0 air\nfill 0\n");
    ck_assert(files_holds(&c, far, "state.txt", "version 27\n"));
}
END_TEST

/* ---- pictures -------------------------------------------------------------------------------- */

static struct tfs_node find_file(const char *path)
{
    struct tfs_node node;

    ck_assert_msg(tfs_tree_resolve(c.save, c.doc, path, false, &node) == 0, "%s", path);
    return node;
}

/* The heights of a picture; `edge` 0: of the whole map, else of a tile. */
static void read_heights_of(const char *path, uint32_t edge)
{
    const struct tfs_node node = find_file(path);
    struct tfs_buf png = {0};

    tfs_error_reset(&c.err);
    ck_assert_msg(tfs_node_file(c.save, &node)
                          ->lens->get(c.save, c.doc, tfs_node_at(c.save, &node), &png, &c.err) == 0,
                  "%s", c.err.text);
    if (edge == 0)
        height_picture_read(c.save, c.doc, tfs_buf_span(&png));
    else
        height_tile_read(tfs_buf_span(&png), edge, edge);
    tfs_buf_release(&png);
}

static int put_heights(const char *path)
{
    const struct tfs_node node = find_file(path);
    struct tfs_put put_as = {0};
    struct tfs_buf png = {0};
    struct tfs_doc *after = NULL;

    tfs_error_reset(&c.err);
    height_picture_write(TFS_PNG_GREY16, &png);
    const int status =
        tfs_node_apply(c.save, c.doc, &node, tfs_buf_span(&png), &put_as, &after, &c.err);
    if (status == 0) {
        tfs_doc_unref(c.doc);
        c.doc = after;
    }
    tfs_buf_release(&png);
    return status;
}

/* One node in the south-west corner of the first chunk, one in the north-east of the second. */
static void open_two_nodes(void)
{
    open_map(true, 29);
    put(first, "voxels.csv", "x,y,z,node,param2\n-16,-10,-16,a:b,3\n");
    put(second, "voxels.csv", "x,y,z,node,param2\n15,-16,-1,c:d,0\n");
}

START_TEST(north_is_up_in_pictures)
{
    open_two_nodes();
    read_heights_of("heightmap.png", 0);
    ck_assert_uint_eq(width, 32);
    ck_assert_uint_eq(depth, 16);
    ck_assert_uint_eq(heights[15 * 32], 7);
    ck_assert_uint_eq(heights[31], 1);
    ck_assert(
        files_holds(&c, FILES_ROOT, "info.txt",
                    "picture origin: x -16 z -1 is pixel 0,0, z grows upward: north is up\n"));
}
END_TEST

START_TEST(picture_with_north_up_is_sculpted_where_it_shows)
{
    open_two_nodes();
    read_heights_of("heightmap.png", 0);
    heights[15 * 32] = 6;
    heights[31] = 3;
    ck_assert_msg(put_heights("heightmap.png") == 0, "%s", c.err.text);
    SHOWS(first, "voxels.csv", "x,y,z,node,param2\n");
    SHOWS(second, "voxels.csv",
          "x,y,z,node,param2\n15,-16,-1,c:d,0\n15,-15,-1,c:d,0\n15,-14,-1,c:d,0\n");
    read_heights_of("heightmap.png", 0);
    heights[15 * 32 + 31] = 60000;
    ck_assert_int_lt(put_heights("heightmap.png"), 0);
    ck_assert_ptr_nonnull(strstr(c.err.text, "pixel 31,15"));
}
END_TEST

START_TEST(map_too_wide_for_a_picture_has_tiles)
{
    const struct tfs_key east = {0, 600, -1, 0};
    struct tfs_node node;

    open_two_nodes();
    ck_assert_int_ne(tfs_tree_resolve(c.save, c.doc, "heightmaps/0_-1.png", false, &node), 0);
    ck_assert_int_eq(files_create(&c, east), 0);
    put(east, "voxels.csv", "x,y,z,node,param2\n9600,-12,0,e:f,0\n");
    ck_assert_int_ne(tfs_tree_resolve(c.save, c.doc, "heightmap.png", false, &node), 0);
    ck_assert_int_ne(tfs_tree_resolve(c.save, c.doc, "heightmaps/1_-1.png", false, &node), 0);
    find_file("maps/37_0.png");
    ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "picture tiles: 3 in heightmaps and maps"));

    read_heights_of("heightmaps/-1_-1.png", 256);
    ck_assert_uint_eq(heights[15 * 256 + 240], 7);
    read_heights_of("heightmaps/0_-1.png", 256);
    ck_assert_uint_eq(heights[15], 1);
    ck_assert_uint_eq(heights[15 * 256 + 240], 0);
    heights[15] = 20;
    ck_assert_msg(put_heights("heightmaps/0_-1.png") == 0, "%s", c.err.text);
    ck_assert_ptr_nonnull(tfs_doc_find(c.doc, ((struct tfs_key){0, 0, 0, -1})));
    ck_assert(files_holds(&c, ((struct tfs_key){0, 0, 0, -1}), "voxels.csv", "15,3,-1,c:d,0\n"));
    read_heights_of("heightmaps/37_0.png", 256);
    ck_assert_uint_eq(heights[255 * 256 + 128], 5);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *name, *text, *sentence;
    uint32_t line;
} refused[] = {
    {"voxels.csv", "x,y,z,node,param2\n0,-16,-16,a:b,256\n", "param2 256 is out of range", 2},
    {"voxels.csv", "x,y,z,node,param2\n0,-16,-16,,0\n", "a node needs a name", 2},
    {"voxels.csv", "x,y,z,node\n0,-16,-16,a:b\n", "param2", 1},
    {"blocks.txt", "palette 0 air\nfill 1\n", "the palette has 1 entry", 2},
    {"blocks.txt", "palette 1 air\nfill 1\n", "the palette has no entry 0", 2},
    {"blocks.txt", "fill 0\n", "no palette", 1},
    {"palette.txt", "0 a\n", "entry 1 is missing", 0},
    {"param1.txt", "fill 100\n", "", 1},
    {"param2.txt", "fill 256\n", "a parameter has 8 bits", 1},
    {"metadata.txt", "1 2 16 a = b\n", "z 16 is out of range", 1},
    {"metadata.txt", "1 2 3 a b\n", "`KEY = VALUE`", 1},
    {"metadata.txt", "1 2 3 inventory List main 1\n", "must be `inventory EndInventory`", 1},
    {"metadata.txt", "1 2 3 inventory EndInventory\n1 2 3 inventory Width 0\n", "behind its", 2},
    {"metadata.txt", "1 2 3 private a\n", "no variable of this key", 1},
    {"metadata.txt", "1 2 3 inventory a\\nb\n", "a line break", 1},
    {"metadata.txt", "# none\n", "remove the file", 0},
    {"timers.txt", "1 2 3 4\n", "the elapsed time is missing", 1},
    {"timers.txt", "1 2 3 4 5 6\n", "five numbers", 1},
    {"timers.txt", "1 2 3 4.0001 5\n", "3 digits behind the point", 1},
    {"timers.txt", "1 2 3 2147484 5\n", "out of range", 1},
    {"objects.txt", "7 1 2 300000 00\n", "outside the world", 1},
    {"objects.txt", "7 1 2 3 001\n", "pairs of them", 1},
    {"objects.txt", "7 1 2 3 0g\n", "no pair of hex digits", 1},
    {"state.txt", "version 28\n", "which cannot be changed", 1},
    {"state.txt", "generated maybe\n", "`yes` or `no`", 1},
    {"state.txt", "lighting_complete fff\n", "four hex digits", 1},
    {"state.txt", "light 1\n", "no such key", 1},
    {"state.txt", "timestamp 1\ntimestamp 2\n", "given already", 2},
    {"raw.bin", "\x1e", "version 30 is not supported, only 22 to 29", 0},
};

START_TEST(what_cannot_be_stored_is_refused_with_its_place)
{
    open_map(true, 29);
    struct tfs_doc *before = c.doc;
    ck_assert_int_lt(files_put_text(&c, second, refused[_i].name, refused[_i].text), 0);
    ck_assert_msg(strstr(c.err.text, refused[_i].sentence) != NULL, "%s: %s", refused[_i].name,
                  c.err.text);
    ck_assert_uint_eq(c.err.line, refused[_i].line);
    ck_assert_ptr_eq(c.doc, before);
}
END_TEST

START_TEST(block_of_an_early_version_takes_no_private_metadata_and_no_timer)
{
    open_map(false, 23);
    ck_assert_int_eq(files_put_text(&c, first, "metadata.txt", "1 1 1 a = b\n1 1 1 private a\n"),
                     -EBADMSG);
    ck_assert_ptr_nonnull(strstr(c.err.text, "version 23 has no private metadata"));
    ck_assert_int_eq(files_put_text(&c, first, "timers.txt", "1 1 1 1 0\n"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(c.err.text, "version 23 has no timers"));
}
END_TEST

/* As the server keeps them: what ends first is first, and of what ends together the order is
 * kept. */
START_TEST(timers_that_end_together_keep_the_order_of_their_lines)
{
    open_map(true, 29);
    ck_assert_int_eq(
        files_put_text(&c, first, "timers.txt",
                       "9 0 0 5 1\n3 0 0 4 0\n7 0 0 6 2\n1 0 0 9 8\n5 0 0 4 0\n2 0 0 4.5 0.5\n"),
        0);
    SHOWS(first, "timers.txt",
          "1 0 0 9 8\n9 0 0 5 1\n3 0 0 4 0\n7 0 0 6 2\n5 0 0 4 0\n2 0 0 4.5 0.5\n");
}
END_TEST

START_TEST(chunk_outside_the_world_is_refused)
{
    const struct tfs_key outside = {0, 0, 1938, 0};

    open_map(true, 29);
    ck_assert_int_eq(files_create(&c, outside), -EINVAL);
    ck_assert_ptr_nonnull(strstr(c.err.text, "knows no block with y = 1938, only -1938 to 1937"));
    ck_assert_int_eq(files_move(&c, first, outside), -EINVAL);
}
END_TEST

/* ---- databases and folders ------------------------------------------------------------------- */

static void run(const char *sql)
{
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open(scratch_path("map.sqlite"), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static int count_rows(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;

    ck_assert_int_eq(sqlite3_open(scratch_path("map.sqlite"), &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    const int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

/* The corners of what keys can hold; pos is a sum, so a negative x borrows from y. */
START_TEST(keys_read_back_at_the_bounds)
{
    const struct tfs_key keys[] = {{0, -2048, -2048, -2048},
                                   {0, 2047, 2047, 2047},
                                   {0, -1, 0, 0},
                                   {0, 0, -1, 0},
                                   {0, -1938, 1937, -1}};
    static const char *const numbers[] = {"-34368129024", "34351347711", "-1", "-4096", "-8845202"};
    char sql[200];

    run("CREATE TABLE blocks (pos INT NOT NULL PRIMARY KEY, data BLOB)");
    for (unsigned i = 0; i < 5; i++) {
        snprintf(sql, sizeof(sql), "INSERT INTO blocks VALUES (%s, x'00')", numbers[i]);
        run(sql);
    }
    ck_assert_int_eq(files_open(&c, scratch_path("map.sqlite")), 0);
    ck_assert_uint_eq(c.doc->count, 5);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_msg(tfs_doc_find(c.doc, keys[i]) != NULL, "%s", numbers[i]);
}
END_TEST

START_TEST(rows_that_no_key_reaches_are_kept_and_not_shown)
{
    luanti_map(scratch_path("map.sqlite"), false, 25, 2);
    run("INSERT INTO blocks VALUES ('text', x'19'), (34368126976, x'19'), (1.5, x'19')");
    ck_assert_int_eq(files_open(&c, scratch_path("map.sqlite")), 0);
    ck_assert_uint_eq(c.doc->count, 2);
    const char *note = tfs_facts_find(c.doc->facts, TFS_NOTE_WARNING);
    ck_assert_ptr_nonnull(note);
    ck_assert_ptr_nonnull(strstr(note, "3 rows of the database cannot be reached"));
}
END_TEST

static const struct {
    const char *sql, *sentence;
} schemas[] = {
    {"CREATE TABLE blocks (pos INT, data BLOB)", "of whole numbers: pos"},
    {"CREATE TABLE blocks (data BLOB PRIMARY KEY)", "of whole numbers: pos"},
    {"CREATE TABLE blocks (x INT, y INT, z INT, data BLOB, PRIMARY KEY (x, z))", "numbers: x y z"},
    {"CREATE TABLE blocks (z INT PRIMARY KEY, data BLOB)", "of whole numbers: x y z"},
    /* Several rows of one block: removing it would remove all of them. */
    {"CREATE TABLE blocks (pos INT, more INT, data BLOB, PRIMARY KEY (pos, more))", "numbers: pos"},
    /* The block 0 would be the text '0'. */
    {"CREATE TABLE blocks (pos TEXT PRIMARY KEY, data BLOB)", "of whole numbers: pos"},
    {"CREATE TABLE blocks (x INT, y REAL, z INT, data BLOB, PRIMARY KEY (x, z, y))", "x y z"},
    /* A copy of a block would remove the block. */
    {"CREATE TABLE blocks (pos INT PRIMARY KEY, data BLOB UNIQUE ON CONFLICT REPLACE)", "only key"},
    {"CREATE TABLE blocks (pos INT, data BLOB GENERATED ALWAYS AS (pos))", "whole numbers: pos"},
};

START_TEST(strange_table_is_refused)
{
    run(schemas[_i].sql);
    ck_assert_int_eq(files_open(&c, scratch_path("map.sqlite")), -EBADMSG);
    ck_assert_msg(strstr(c.err.text, schemas[_i].sentence) != NULL, "%s", c.err.text);
}
END_TEST

START_TEST(value_of_another_type_is_a_damaged_chunk)
{
    luanti_map(scratch_path("map.sqlite"), false, 29, 2);
    run("UPDATE blocks SET data = 'text' WHERE pos = -16781312");
    ck_assert_int_eq(files_open(&c, scratch_path("map.sqlite")), 0);
    ck_assert(tfs_cells_damaged(c.save, c.doc, second));
    SHOWS(second, "raw.bin", "text");
    struct tfs_buf good = files_get(&c, first, "raw.bin");
    ck_assert_int_eq(files_put(&c, second, "raw.bin", tfs_buf_span(&good)), 0);
    open_again();
    ck_assert(files_holds(&c, second, "palette.txt", "3 default:chest\n"));
    tfs_buf_release(&good);
}
END_TEST

static const struct {
    const char *settings;
    int code;
    const char *sentence;
} worlds[] = {
    {"gameid = minetest\nbackend = sqlite3\n", 0, ""},
    {"gameid = minetest\n", 0, ""},
    {"backend = redis\nbackend = sqlite3 \r\n", 0, ""},
    {"backends = redis\nmy backend = redis\nbackend\n", 0, ""},
    {"backend = leveldb\n", -ENOTSUP, "--migrate sqlite3` brings it there"},
    {"backend=leveldb\n", -ENOTSUP, "its map is kept in leveldb"},
    {"\tbackend\t=leveldb", -ENOTSUP, "its map is kept in leveldb"},
    {"blocksize=8\n", -ENOTSUP, "8 nodes a side, only 16"},
    {"gameid = \xff\nbackend = leveldb\n", -EBADMSG, "its world.mt, line 1: byte ff is not UTF-8"},
    {"backend = sqlite3\nblocksize = 32\n", -ENOTSUP, "32 nodes a side, only 16"},
};

START_TEST(world_folder_is_opened_by_its_settings)
{
    luanti_world(scratch_path("world"), true, 29, 2);
    scratch_write("world/world.mt", worlds[_i].settings);
    ck_assert_int_eq(files_open(&c, scratch_path("world")), worlds[_i].code);
    ck_assert_msg(strstr(c.err.text, worlds[_i].sentence) != NULL, "%s", c.err.text);
    if (worlds[_i].code == 0)
        ck_assert(files_holds(&c, FILES_ROOT, "info.txt", "container: map database\n"));
}
END_TEST

START_TEST(world_of_links_is_opened)
{
    luanti_world(scratch_path("world"), true, 29, 2);
    const char *const files[] = {"world.mt", "map.sqlite"};
    for (unsigned i = 0; i < 2; i++) {
        char path[32];
        snprintf(path, sizeof(path), "world/%s", files[i]);
        char *from = strdup(scratch_path(path));
        ck_assert_int_eq(rename(from, scratch_path(files[i])), 0);
        snprintf(path, sizeof(path), "../%s", files[i]);
        ck_assert_int_eq(symlink(path, from), 0);
        free(from);
    }
    ck_assert_msg(files_open(&c, scratch_path("world")) == 0, "%s", c.err.text);
    ck_assert_uint_eq(c.doc->count, 2);
}
END_TEST

START_TEST(world_without_a_map_is_refused)
{
    luanti_world(scratch_path("world"), true, 29, 2);
    ck_assert_int_eq(unlink(scratch_path("world/map.sqlite")), 0);
    ck_assert_int_eq(files_open(&c, scratch_path("world")), -ENOENT);
    ck_assert_ptr_nonnull(strstr(c.err.text, "its map.sqlite cannot be opened"));
}
END_TEST

/* ---- real maps ------------------------------------------------------------------------------- */

#define MAP "../shared/samples/luanti/mesecons.sqlite.gz"

#define BLOCKS 12133

static void open_real_map(void)
{
    struct tfs_buf map = {0};

    ck_assert(luanti_sample(MAP, &map));
    files_write_file(scratch_path("map.sqlite"), tfs_buf_span(&map));
    tfs_buf_release(&map);
    if (!in_full())
        run(SANITIZED ? "DELETE FROM blocks WHERE pos % 97 <> 1"
                      : "DELETE FROM blocks WHERE pos % 13 <> 1");
    ck_assert_int_eq(files_open(&c, scratch_path("map.sqlite")), 0);
    ck_assert_uint_ge(c.doc->count, in_full() ? BLOCKS : SANITIZED ? 59 : 400);
}

START_TEST(real_map_obeys_the_laws)
{
    open_real_map();
    lens_check_reads(c.save, c.save->doc, NULL);
}
END_TEST

/* What is put is what is read then, of every file of a chunk. */
static void put_and_get(struct tfs_key key, const char *name, const char *text)
{
    put(key, name, text);
    ck_assert_msg(files_shows(&c, key, name, text), "%d_%d_%d/%s", key.x, key.y, key.z, name);
}

/* The names of a palette with another one in front. */
static void rename_first(struct tfs_key key)
{
    struct tfs_buf palette = files_get(&c, key, "palette.txt"), next = {0};
    const uint8_t *end = memchr(palette.data, '\n', palette.size);

    tfs_buf_printf(&next, "0 put:get%.*s", (int)(palette.size - (size_t)(end - palette.data)),
                   (const char *)end);
    tfs_buf_u8(&next, 0);
    put_and_get(key, "palette.txt", (const char *)next.data);
    tfs_buf_release(&palette);
    tfs_buf_release(&next);
}

static void edit_every_file(struct tfs_key key)
{
    char voxels[100];

    rename_first(key);
    put_and_get(key, "param2.txt", "fill 7\n");
    put_and_get(key, "param1.txt", "fill 2f\n");
    put_and_get(key, "metadata.txt", "3 0 1 put = get\n");
    put_and_get(key, "timers.txt", "15 0 15 4.5 0.125\n");
    put_and_get(key, "objects.txt", "7 0.5 1 -0.25 00ff\n");
    put_and_get(key, "blocks.txt", "palette 0 a:b\nfill 0\n");
    snprintf(voxels, sizeof(voxels), "x,y,z,node,param2\n%d,%d,%d,c:d,9\n", key.x * 16 + 3,
             key.y * 16, key.z * 16 + 15);
    put_and_get(key, "voxels.csv", voxels);
    ck_assert(files_shows(&c, key, "palette.txt", "0 air\n1 c:d\n"));
    ck_assert(files_shows(&c, key, "metadata.txt", "3 0 1 put = get\n"));
    ck_assert(files_shows(&c, key, "timers.txt", "15 0 15 4.5 0.125\n"));
    ck_assert(files_shows(&c, key, "objects.txt", "7 0.5 1 -0.25 00ff\n"));
}

/* From one block that is edited to the next. */
#define STEP (c.doc->count / (in_full() ? 2000 : 40) + 1)

START_TEST(edited_real_blocks_read_back)
{
    open_real_map();
    for (size_t i = 0; i < c.doc->count; i += STEP)
        edit_every_file(tfs_doc_at(c.doc, i)->key);
    open_again();
    for (size_t i = 0; i < c.doc->count; i += STEP)
        ck_assert(files_shows(&c, tfs_doc_at(c.doc, i)->key, "palette.txt", "0 air\n1 c:d\n"));
}
END_TEST

/* Every name of the map gets another one; `add` or without it again. */
static void rename_all(bool add)
{
    struct tfs_buf names = files_get(&c, FILES_ROOT, "palette.txt"), next = {0};

    for (const uint8_t *at = names.data; at < names.data + names.size;) {
        const uint8_t *end = memchr(at, '\n', (size_t)(names.data + names.size - at));
        tfs_buf_add_text(&next, add ? "x:" : "");
        tfs_buf_add(&next, at + (add ? 0 : 2), (size_t)(end + 1 - at) - (add ? 0 : 2));
        at = end + 1;
    }
    tfs_buf_u8(&next, 0);
    put(FILES_ROOT, "palette.txt", (const char *)next.data);
    tfs_buf_release(&names);
    tfs_buf_release(&next);
}

/* Only the flag that a rename decides anew may be another one. And however many there are: what was
 * renamed waits for its commit outside memory. */
START_TEST(real_map_that_is_renamed_and_back_has_its_bytes)
{
    open_real_map();
    tree_files_close(&c);
    run("DELETE FROM blocks WHERE pos % 13 <> 1");
    run("CREATE TABLE was AS SELECT pos, data FROM blocks");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(files_open(&c, scratch_path("map.sqlite")), 0);
        ck_assert_uint_gt(c.doc->count, SANITIZED ? 2 : 400);
        c.save->options.memory = 1;
        rename_all(i == 0);
        for (size_t k = 0; k < c.doc->count; k++)
            ck_assert_ptr_null(tfs_doc_at(c.doc, k)->blob);
        ck_assert(files_holds(&c, FILES_ROOT, "palette.txt", i == 0 ? "x:air\n" : "air\n"));
        ck_assert_msg(files_commit(&c) == 0, "%s", c.err.text);
        tree_files_close(&c);
        ck_assert_int_eq(count_rows("SELECT count(*) FROM blocks JOIN was USING (pos) WHERE "
                                    "substr(blocks.data, 3) <> substr(was.data, 3)") == 0,
                         i == 1);
    }
}
END_TEST

/* Nodes are what they were: their stream is not packed again. */
START_TEST(renamed_node_leaves_the_nodes_as_they_are_stored)
{
    open_map(false, 28);
    struct tfs_buf before = files_get(&c, first, "raw.bin");
    put(FILES_ROOT, "palette.txt", "air\ndefault:chest\ndefault:dirt\nmod:rock\n");
    struct tfs_buf after = files_get(&c, first, "raw.bin");
    /* Behind version, flags, light and widths; up to the names there is nothing else. */
    ck_assert_uint_gt(before.size, 300);
    ck_assert_mem_eq(after.data + 6, before.data + 6, 150);
    ck_assert_uint_eq(before.size - after.size, strlen("default:stone") - strlen("mod:rock"));
    tfs_buf_release(&before);
    tfs_buf_release(&after);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("luanti map");
    TCase *files = unit_case(suite, "files");
    TCase *refusals = unit_case(suite, "refused");
    TCase *saves = unit_case(suite, "saves");

    tcase_add_checked_fixture(files, scratch_setup, teardown);
    tcase_add_loop_test(files, the_files_of_a_chunk_have_these_texts, 23, 30);
    tcase_add_loop_test(files, map_of_every_version_obeys_the_laws, 22, 30);
    tcase_add_loop_test(files, what_is_written_is_in_the_database, 23, 30);
    tcase_add_test(files, fields_of_the_head_are_written_one_by_one);
    tcase_add_test(files, renamed_node_keeps_param2_and_light);
    tcase_add_test(files, another_node_loses_param2_unless_it_keeps_its_index);
    tcase_add_test(files, new_air_takes_the_light_beside_it);
    tcase_add_test(files, two_names_become_one);
    tcase_add_test(files, renamed_node_leaves_the_nodes_as_they_are_stored);
    tcase_add_loop_test(files, moved_chunk_takes_its_objects_along, 0, 2);
    tcase_add_test(files, copy_by_raw_bin_has_its_objects_where_it_is);
    tcase_add_test(files, map_is_looked_into_once_for_all_new_chunks_of_an_edit);
    tcase_add_test(files, names_are_asked_of_each_chunk_once);
    tcase_add_test(files, north_is_up_in_pictures);
    tcase_add_test(files, picture_with_north_up_is_sculpted_where_it_shows);
    tcase_add_test(files, map_too_wide_for_a_picture_has_tiles);
    tcase_add_loop_test(files, new_chunk_is_air_of_the_highest_version, 22, 30);
    tcase_add_loop_test(files, new_chunk_takes_an_older_version_that_its_state_says, 0, 15);
    tcase_add_checked_fixture(refusals, scratch_setup, teardown);
    tcase_add_loop_test(refusals, what_cannot_be_stored_is_refused_with_its_place, 0,
                        COUNT(refused));
    tcase_add_test(refusals, block_of_an_early_version_takes_no_private_metadata_and_no_timer);
    tcase_add_test(refusals, timers_that_end_together_keep_the_order_of_their_lines);
    tcase_add_test(refusals, chunk_outside_the_world_is_refused);
    tcase_add_checked_fixture(saves, scratch_setup, teardown);
    tcase_set_timeout(saves, 180);
    tcase_add_test(saves, keys_read_back_at_the_bounds);
    tcase_add_test(saves, rows_that_no_key_reaches_are_kept_and_not_shown);
    tcase_add_loop_test(saves, strange_table_is_refused, 0, COUNT(schemas));
    tcase_add_test(saves, value_of_another_type_is_a_damaged_chunk);
    tcase_add_loop_test(saves, world_folder_is_opened_by_its_settings, 0, COUNT(worlds));
    tcase_add_test(saves, world_of_links_is_opened);
    tcase_add_test(saves, world_without_a_map_is_refused);
    unit_add_where(access(MAP, R_OK) == 0, saves, real_map_obeys_the_laws, 1, MAP);
    unit_add_where(access(MAP, R_OK) == 0, saves, edited_real_blocks_read_back, 1, MAP);
    unit_add_where(access(MAP, R_OK) == 0, saves, real_map_that_is_renamed_and_back_has_its_bytes,
                   1, MAP);
    return suite;
}

UNIT_MAIN(make_suite)
