/* formats/roblox/lens_*: what files say, what writing them does, and that nothing else changes. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "../lib/changed_files.h"
#include "../lib/place_case.h"
#include "formats/cells/written.h"
#include "formats/roblox/material.h"
#include "formats/views/views.h"
#include "unit.h"

static struct tree_files c;

static void teardown(void)
{
    tree_files_close(&c);
}

enum { WATER = 1, GRASS = 2, SLATE = 3, UNKNOWN = 31 };

#define LENSES PLACE_FILES

static const struct tfs_key origin;

/* One chunk at 0_0_0 with these cells. */
static void open_cells(struct tree_files *of, uint32_t log2, const struct place_cell *cells)
{
    struct maker_bytes value = {0};
    const int32_t zero[3] = {0};

    maker_u8(&value, 1);
    maker_u8(&value, log2);
    place_offset(&value, zero, zero);
    place_records(&value, cells, (size_t)1 << 3 * log2);
    place_open(of, &tfs_rbx_blob_container, &value);
    maker_release(&value);
}

static void open_cell(struct tree_files *of, uint32_t cell)
{
    struct place_cell one = {(uint8_t)tfs_rbx_cell_material(cell),
                             (uint8_t)tfs_rbx_cell_occupancy(cell),
                             (uint8_t)tfs_rbx_cell_water(cell)};

    open_cells(of, 0, &one);
}

static void open_random(struct tree_files *of, uint64_t seed)
{
    static struct place_cell cells[4096];
    struct maker_random random = {seed};
    uint32_t log2 = maker_draw(&random, 5);

    place_random_cells(&random, cells, (size_t)1 << 3 * log2);
    open_cells(of, log2, cells);
}

/* ---- reading --------------------------------------------------------------------------------- */

START_TEST(files_show_the_cells)
{
    /* Edge 2: Grass, Rock of occupancy 0, 3 x Water, Sand 100 with water 255, 2 x Air. */
    static const char *const texts[LENSES] = {
        [1] = "x,y,z,material,occupancy,water\n"
              "-2,4,-6,Grass,255,0\n"
              "-1,4,-6,Rock,0,0\n"
              "-2,4,-5,Water,255,0\n"
              "-1,4,-5,Water,255,0\n"
              "-2,5,-6,Water,255,0\n"
              "-1,5,-6,31,100,255\n",
        [2] = "# 0 Air\n# 1 Water\n# 2 Grass\n# 8 Rock\n# 31 (no name)\n\n"
              "y=00 z=00 |  2  8\ny=00 z=01 |  1  1\n\n"
              "y=01 z=00 |  1 31\ny=01 z=01 |  0  0\n",
        [3] = "y=00 z=00 | 255   0\ny=00 z=01 | 255 255\n\n"
              "y=01 z=00 | 255 100\ny=01 z=01 |   0   0\n",
        [4] = "y=00 z=00 |   0   0\ny=00 z=01 |   0   0\n\n"
              "y=01 z=00 |   0 255\ny=01 z=01 |   0   0\n",
    };
    struct tfs_key key = {0, -1, 2, -3};

    place_open_hex(&c, "01 01 ff00ff ff00ff ff00ff ff02fd 02 48 00 81 02 df 64 00 ff 80 01");
    for (int i = 1; i < LENSES; i++) {
        struct maker_bytes text = place_get(&c, PLACE_LENS(i), key);
        ck_assert_str_eq((const char *)text.data, texts[i]);
        maker_release(&text);
    }
}
END_TEST

START_TEST(files_of_equal_cells_are_fills)
{
    place_open_hex(&c, "01 03 000000 000000 000000 000000 82 ff 82 ff");
    struct maker_bytes materials = place_get(&c, PLACE_LENS(PLACE_MATERIALS), origin);
    struct maker_bytes water = place_get(&c, PLACE_LENS(PLACE_WATER), origin);
    ck_assert_str_eq((const char *)materials.data, "# 2 Grass\n\nfill 2\n");
    ck_assert_str_eq((const char *)water.data, "fill 0\n");
    maker_release(&materials);
    maker_release(&water);
}
END_TEST

START_TEST(grid_that_would_be_too_long_is_not_rendered)
{
    struct maker_bytes value = {0};
    struct tfs_error err = {0};
    struct tfs_buf out = {0};
    struct tfs_at at = tfs_lens_at(PLACE_LENS(PLACE_VOXELS), origin, 0);

    /* Edge 256, 2^24 cells: one of Sand, then Grass. */
    place_hex(&value, "01 08 000000 000000 000000 000000 06 82 fe");
    for (int i = 1; i < 65536; i++)
        place_hex(&value, "82 ff");
    place_open(&c, &tfs_rbx_blob_container, &value);
    ck_assert_int_eq(PLACE_LENS(PLACE_VOXELS)->get(c.save, c.doc, at, &out, &err), -EFBIG);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_int_lt(PLACE_LENS(PLACE_VOXELS)->size(c.save, c.doc, at), 0);
    /* Its other files are read as ever. */
    struct maker_bytes occupancy = place_get(&c, PLACE_LENS(PLACE_OCCUPANCY), origin);
    ck_assert_str_eq((const char *)occupancy.data, "fill 255\n");
    maker_release(&occupancy);
    maker_release(&value);
}
END_TEST

/* The lines of a chunk, cell by cell. */
static void print_cells(struct tfs_buf *out, uint32_t log2, struct tfs_key key,
                        const struct place_cell *cells)
{
    const uint32_t edge = 1U << log2;

    tfs_buf_add_text(out, "x,y,z,material,occupancy,water\n");
    for (uint32_t i = 0; i < edge * edge * edge; i++) {
        const struct place_cell *cell = &cells[i];
        if (cell->material == 0 && cell->occupancy == 0 && cell->water == 0)
            continue;
        tfs_buf_printf(out, "%jd,%jd,%jd,", (intmax_t)key.x * edge + i % edge,
                       (intmax_t)key.y * edge + i / edge / edge,
                       (intmax_t)key.z * edge + i / edge % edge);
        if (cell->material == 0)
            tfs_buf_add_text(out, "Air");
        else if (cell->material == 17)
            tfs_buf_add_text(out, "Cobblestone");
        else
            tfs_buf_printf(out, "%u", cell->material);
        tfs_buf_printf(out, ",%u,%u\n", cell->occupancy, cell->water);
    }
    tfs_buf_u8(out, 0);
}

/* Rows of equal cells are copies of the row before with another z: the shortest and the longest
 * lines, where z gets another digit, loses its sign, or is long; runs that end anywhere. */
START_TEST(rows_of_equal_cells_are_lines_of_their_own)
{
    static const int32_t places[] = {0, 1, 3, 31, 32, -1, -2, -4, 3125, INT32_MAX, INT32_MIN};
    static const struct place_cell kinds[] = {
        {30, 0, 0}, {17, 255, 0}, {0, 9, 0}, {17, 100, 255}, {0, 0, 0}};
    static struct place_cell cells[32768];
    struct maker_random random = {(uint64_t)_i};
    const uint32_t log2 = 1 + (uint32_t)_i % 5, count = 1U << 3 * log2;
    const int32_t place = places[(size_t)_i / 5 % (sizeof(places) / sizeof(places[0]))];
    const struct tfs_key key = {0, -7, 12, place};
    struct maker_bytes value = {0};
    struct tfs_buf wanted = {0};

    for (uint32_t i = 0, end = 0; i < count; i++) {
        if (i == end)
            end += 1 + maker_draw(&random, maker_draw(&random, 2) == 0 ? 3 : 3000);
        cells[i] = i + 1 == end || i == 0 ? kinds[maker_draw(&random, 5)] : cells[i - 1];
    }
    maker_u8(&value, 1);
    maker_u8(&value, log2);
    place_offset(&value, (int32_t[3]){0}, (int32_t[3]){key.x, key.y, key.z});
    place_records(&value, cells, count);
    place_open(&c, &tfs_rbx_blob_container, &value);
    struct maker_bytes text = place_get(&c, PLACE_LENS(PLACE_VOXELS), key);
    print_cells(&wanted, log2, key, cells);
    ck_assert_str_eq((const char *)text.data, (const char *)wanted.data);
    ck_assert_int_eq(PLACE_LENS(PLACE_VOXELS)
                         ->size(c.save, c.doc, tfs_lens_at(PLACE_LENS(PLACE_VOXELS), key, 0)),
                     (int64_t)text.size);
    maker_release(&text);
    maker_release(&value);
    tfs_buf_release(&wanted);
}
END_TEST

/* Its one cell is Grass of that occupancy. */
static void check_chunk(struct tree_files *of, int32_t x, uint32_t occupancy_of_it)
{
    const struct tfs_key key = {0, x, 0, 0};
    char lines[100];

    snprintf(lines, sizeof(lines), "x,y,z,material,occupancy,water\n%d,0,0,Grass,%u,0\n", x,
             occupancy_of_it);
    for (int i = 0; i < LENSES; i++) {
        struct maker_bytes text = place_get(of, PLACE_LENS(i), key);
        int64_t size = PLACE_LENS(i)->size(of->save, of->doc, tfs_lens_at(PLACE_LENS(i), key, 0));
        ck_assert_int_eq(size, (int64_t)text.size);
        if (i == PLACE_VOXELS)
            ck_assert_str_eq((const char *)text.data, lines);
        maker_release(&text);
    }
}

/* More chunks than are remembered, looked at in turns with another document of the same save. */
START_TEST(sizes_are_those_of_the_document_that_is_asked)
{
    struct maker_bytes value = {0};
    struct tfs_error err = {0};

    maker_u8(&value, 1);
    maker_u8(&value, 0);
    for (int32_t x = 0; x < 200; x++) {
        const struct place_cell cell = {GRASS, (uint8_t)x, 0};
        place_offset(&value, x == 0 ? (int32_t[3]){0} : (int32_t[3]){x - 1, 0, 0},
                     (int32_t[3]){x, 0, 0});
        place_records(&value, &cell, 1);
    }
    place_open(&c, &tfs_rbx_blob_container, &value);

    struct tree_files before = {.save = c.save, .doc = tfs_doc_ref(c.doc)};
    for (int32_t x = 0; x < 200; x += 7)
        ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_OCCUPANCY), (struct tfs_key){0, x, 0, 0},
                                     "fill 201\n", &err),
                         0);
    for (int32_t x = 0; x < 200; x++) {
        check_chunk(&before, x, (uint32_t)x);
        check_chunk(&c, x, x % 7 == 0 ? 201 : (uint32_t)x);
        check_chunk(&before, x, (uint32_t)x);
        check_chunk(&before, x * 65 % 200, (uint32_t)x * 65 % 200);
    }
    tfs_doc_unref(before.doc);
    maker_release(&value);
}
END_TEST

/* ---- GetPut and PutGet ----------------------------------------------------------------------- */

static void check_get_put(struct tree_files *of)
{
    for (size_t n = 0; n < of->doc->count; n++) {
        struct tfs_key key = tfs_doc_at(of->doc, n)->key;
        for (int i = 0; i < LENSES; i++) {
            struct maker_bytes text = place_get(of, PLACE_LENS(i), key);
            struct tfs_put put = {0};
            struct tfs_error err = {0};
            uint64_t version = of->doc->version;
            int result = place_put(of, PLACE_LENS(i), key, place_span(&text), &put, &err);
            ck_assert_msg(result == 0, "%d_%d_%d file %d: %s", key.x, key.y, key.z, i, err.text);
            ck_assert_uint_eq(of->doc->version, version);
            maker_release(&text);
        }
    }
}

START_TEST(writing_back_what_was_read_changes_nothing)
{
    open_random(&c, (uint64_t)_i);
    check_get_put(&c);
}
END_TEST

static glob_t samples;

START_TEST(writing_back_what_was_read_changes_nothing_in_real_places)
{
    struct maker_bytes value = place_read_file(samples.gl_pathv[_i]);

    place_open(&c, &tfs_rbx_blob_container, &value);
    ck_assert_uint_gt(c.doc->count, 0);
    check_get_put(&c);
    struct maker_bytes file = place_encode(&c);
    ck_assert(tfs_span_equal(place_span(&file), place_span(&value)));
    maker_release(&file);
    maker_release(&value);
}
END_TEST

START_TEST(stored_oddities_survive_writing_back)
{
    /* Not canonical; Air with occupancy, Air with water, water on Water and on a full cell. */
    place_open_hex(&c, "01 01 000000 000000 000000 000000"
                       "42 ff 80 00 07 40 11 81 00 c1 80 00 09 82 00 00 82 00 05 00");
    check_get_put(&c);
}
END_TEST

START_TEST(reading_gives_what_was_written)
{
    struct tree_files a;
    struct tree_files b;

    open_random(&a, (uint64_t)_i);
    /* Another chunk of the same size. */
    for (uint64_t seed = (uint64_t)_i + 1000;; seed++) {
        open_random(&b, seed);
        if (tfs_doc_at(a.doc, 0)->tag == tfs_doc_at(b.doc, 0)->tag)
            break;
        tree_files_close(&b);
    }
    for (int i = 0; i < LENSES; i++) {
        struct maker_bytes wanted = place_get(&b, PLACE_LENS(i), origin);
        struct tfs_put put = {0};
        struct tfs_error err = {0};
        if (place_put(&a, PLACE_LENS(i), origin, place_span(&wanted), &put, &err) == 0) {
            struct maker_bytes got = place_get(&a, PLACE_LENS(i), origin);
            ck_assert_str_eq((const char *)got.data, (const char *)wanted.data);
            maker_release(&got);
        } else {
            ck_assert_int_eq(err.code, -EBADMSG);
            ck_assert_int_gt(i, 2); /* only occupancy and water depend on what is there */
        }
        maker_release(&wanted);
    }
    tree_files_close(&a);
    tree_files_close(&b);
}
END_TEST

START_TEST(cells_that_come_to_the_old_ones_keep_their_spelling)
{
    struct tfs_error err = {0};
    struct tfs_put put = {0};

    /* 2 x Grass as two records of which one gives its occupancy. */
    place_open_hex(&c, "01 01 000000 000000 000000 000000 42 ff 02 80 05");
    struct maker_bytes text = place_get(&c, PLACE_LENS(PLACE_VOXELS), origin);
    ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_MATERIALS), origin, "fill 2", &err), 0);
    ck_assert_uint_eq(tfs_doc_at(c.doc, 0)->blob->size, 2);
    ck_assert_int_eq(place_put(&c, PLACE_LENS(PLACE_VOXELS), origin, place_span(&text), &put, &err),
                     0);
    ck_assert_uint_eq(tfs_doc_at(c.doc, 0)->blob->size, 4);
    maker_release(&text);
}
END_TEST

/* ---- what a written value does --------------------------------------------------------------- */

#define CELL(material, occupancy, water) ((material) | (occupancy) << 8 | (water) << 16)
#define REFUSED                          UINT32_MAX

static const struct {
    enum chunk_file file;
    uint32_t before;
    const char *text;
    uint32_t after;
    const char *says;
} writes[] = {
    {PLACE_MATERIALS, CELL(0, 0, 0), "fill 2", CELL(GRASS, 255, 0), NULL},
    {PLACE_MATERIALS, CELL(0, 17, 7), "fill 1", CELL(WATER, 255, 0), NULL},
    {PLACE_MATERIALS, CELL(GRASS, 40, 9), "fill 0", CELL(0, 0, 0), NULL},
    {PLACE_MATERIALS, CELL(WATER, 40, 0), "fill 0", CELL(0, 0, 0), NULL},
    {PLACE_MATERIALS, CELL(GRASS, 40, 9), "fill 1", CELL(WATER, 40, 0), NULL},
    {PLACE_MATERIALS, CELL(GRASS, 40, 9), "fill 3", CELL(SLATE, 40, 9), NULL},
    {PLACE_MATERIALS, CELL(WATER, 40, 0), "fill 3", CELL(SLATE, 40, 0), NULL},
    {PLACE_MATERIALS, CELL(GRASS, 0, 0), "fill 63", CELL(63, 0, 0), NULL},
    {PLACE_MATERIALS, CELL(GRASS, 0, 0), "fill 64", REFUSED,
     "value 64 is out of range, materials are 0 to 63"},
    {PLACE_OCCUPANCY, CELL(GRASS, 255, 0), "fill 40", CELL(GRASS, 40, 0), NULL},
    {PLACE_OCCUPANCY, CELL(GRASS, 40, 9), "fill 0", CELL(GRASS, 0, 9), NULL},
    {PLACE_OCCUPANCY, CELL(GRASS, 40, 9), "fill 255", CELL(GRASS, 255, 0), NULL},
    {PLACE_OCCUPANCY, CELL(WATER, 40, 0), "fill 41", CELL(WATER, 41, 0), NULL},
    {PLACE_OCCUPANCY, CELL(0, 17, 0), "fill 17", CELL(0, 17, 0), NULL},
    {PLACE_OCCUPANCY, CELL(0, 17, 0), "fill 0", CELL(0, 0, 0), NULL},
    {PLACE_OCCUPANCY, CELL(0, 0, 0), "fill 40", REFUSED,
     "voxel 0,0,0: occupancy 40 for Air; give the cell a material first"},
    {PLACE_OCCUPANCY, CELL(GRASS, 0, 0), "fill 256", REFUSED,
     "value 256 is out of range, occupancy is 0 to 255"},
    {PLACE_WATER, CELL(GRASS, 40, 0), "fill 255", CELL(GRASS, 40, 255), NULL},
    {PLACE_WATER, CELL(GRASS, 40, 9), "fill 0", CELL(GRASS, 40, 0), NULL},
    {PLACE_WATER, CELL(0, 0, 9), "fill 0", CELL(0, 0, 0), NULL},
    {PLACE_WATER, CELL(WATER, 40, 9), "fill 9", CELL(WATER, 40, 9), NULL},
    {PLACE_WATER, CELL(GRASS, 255, 0), "fill 9", REFUSED,
     "voxel 0,0,0: water 9 for a cell of occupancy 255; lower the occupancy first"},
    {PLACE_WATER, CELL(WATER, 40, 0), "fill 9", REFUSED,
     "voxel 0,0,0: water 9 for Water, which has no room for more"},
    {PLACE_WATER, CELL(0, 0, 0), "fill 9", REFUSED,
     "voxel 0,0,0: water 9 for Air; give the cell a material first"},

#define HEADER "x,y,z,material,occupancy,water\n"
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Grass,40,9\n", CELL(GRASS, 40, 9), NULL},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,31,40,9\n", CELL(UNKNOWN, 40, 9), NULL},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,2,255,0\n", CELL(GRASS, 255, 0), NULL},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Grass,1,2\n0,0,0,Slate,3,0", CELL(SLATE, 3, 0),
     NULL},
    {PLACE_VOXELS, CELL(GRASS, 40, 9), HEADER, CELL(0, 0, 0), NULL},
    {PLACE_VOXELS, CELL(GRASS, 40, 9), HEADER "0,0,0,Air,0,0", CELL(0, 0, 0), NULL},
    {PLACE_VOXELS, CELL(0, 17, 0), HEADER "0,0,0,Air,17,0", CELL(0, 17, 0), NULL},
    {PLACE_VOXELS, CELL(GRASS, 255, 9), HEADER "0,0,0,Grass,255,9", CELL(GRASS, 255, 9), NULL},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Air,17,0", REFUSED,
     "voxel 0,0,0: occupancy 17 for Air; give the cell a material first"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Air,0,7", REFUSED,
     "voxel 0,0,0: water 7 for Air; give the cell a material first"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Water,1,7", REFUSED,
     "voxel 0,0,0: water 7 for Water, which has no room for more"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Grass,255,7", REFUSED,
     "voxel 0,0,0: water 7 for a cell of occupancy 255; lower the occupancy first"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,grass,255,0", REFUSED,
     "there is no material grass; palette.txt has the names, and 0 to 63 are possible"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,64,255,0", REFUSED,
     "material 64 is out of range, 0 to 63"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "1,0,0,Grass,255,0", REFUSED,
     "x 1 is outside chunk 0_0_0, which has x 0 to 0"},
    {PLACE_VOXELS, CELL(0, 0, 0), HEADER "0,0,0,Grass,255,0\n0,-1,0,Grass,255,0", REFUSED,
     "y -1 is outside chunk 0_0_0, which has y 0 to 0"},
    {PLACE_VOXELS, CELL(0, 0, 0), "x,y,z,block\n", REFUSED,
     "the column block is not known, the columns are x,y,z,material,occupancy,water"},
    {PLACE_VOXELS, CELL(0, 0, 0), "", REFUSED,
     "the header line is missing, the columns are x,y,z,material,occupancy,water"},
};

static uint32_t only_cell(const struct tree_files *of)
{
    struct tfs_cursor records = tfs_cursor_init(tfs_blob_span(tfs_doc_at(of->doc, 0)->blob));
    struct tfs_rbx_run run;

    ck_assert(tfs_rbx_run_take(&records, &run));
    return run.cell;
}

START_TEST(written_values_do_what_the_table_says)
{
    struct tfs_error err = {0};

    open_cell(&c, writes[_i].before);
    int result = place_write(&c, PLACE_LENS(writes[_i].file), origin, writes[_i].text, &err);
    if (writes[_i].after == REFUSED) {
        ck_assert_int_eq(result, -EBADMSG);
        ck_assert_str_eq(err.text, writes[_i].says);
        ck_assert_uint_gt(err.line, 0);
        ck_assert_uint_eq(only_cell(&c), writes[_i].before);
    } else {
        ck_assert_msg(result == 0, "%s", err.text);
        ck_assert_uint_eq(only_cell(&c), writes[_i].after);
    }
}
END_TEST

START_TEST(refused_value_is_named_with_voxel_line_and_column)
{
    struct tfs_error err = {0};
    static const char text[] = "# water\n\ny=00 z=00 | 0 0\n0   0\n\n0 0\ny=01 z=01 | 0 17\n";

    /* Grass of occupancy 40, but the last cell is full. */
    place_open_hex(&c, "01 01 ff00ff ff00ff ff00ff ff02fd c2 28 06 02");
    ck_assert_int_eq(
        place_write(&c, PLACE_LENS(PLACE_WATER), (struct tfs_key){0, -1, 2, -3}, text, &err),
        -EBADMSG);
    ck_assert_str_eq(
        err.text, "voxel -1,5,-5: water 17 for a cell of occupancy 255; lower the occupancy first");
    ck_assert_uint_eq(err.line, 7);
    ck_assert_uint_eq(err.column, 15);
}
END_TEST

START_TEST(raw_is_stored_as_written)
{
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    const uint8_t odd[] = {0x42, 0xff, 0x82, 0x00, 0x00, 0x80, 0x05};
    const uint8_t bad[] = {0x42, 0xff, 0x82, 0x07};

    place_open_hex(&c, "01 01 000000 000000 000000 000000 80 07");
    ck_assert_int_eq(place_put(&c, PLACE_LENS(PLACE_RAW), origin,
                               (struct tfs_span){odd, sizeof(odd)}, &put, &err),
                     0);
    struct maker_bytes raw = place_get(&c, PLACE_LENS(PLACE_RAW), origin);
    ck_assert_uint_eq(raw.size, sizeof(odd));
    ck_assert_mem_eq(raw.data, odd, sizeof(odd));
    ck_assert_int_eq(place_put(&c, PLACE_LENS(PLACE_RAW), origin,
                               (struct tfs_span){bad, sizeof(bad)}, &put, &err),
                     -EBADMSG);
    maker_release(&raw);
}
END_TEST

/* ---- new directories ------------------------------------------------------------------------- */

/* As the caller of put does in a directory just made. */
static void copy_in_order(struct tree_files *of, struct tfs_key to, struct maker_bytes *texts,
                          const int *order, int count)
{
    struct tfs_put put = {.fresh = true, .values = tfs_written_values_create()};

    for (int n = 0; n < count; n++) {
        const int file = order[n];
        struct tfs_error err = {0};
        if (file == PLACE_RAW)
            tfs_written_values_clear(put.values);
        int result = place_put(of, PLACE_LENS(file), to, place_span(&texts[file]), &put, &err);
        ck_assert_msg(result == 0, "file %d: %s", file, err.text);
    }
    tfs_written_values_free(put.values);
}

/* The i-th order of `count` things. */
static void make_order(int i, int *order, int count)
{
    for (int n = 0; n < count; n++) {
        int at = i % (n + 1);
        i /= n + 1;
        memmove(order + at + 1, order + at, (size_t)(n - at) * sizeof(*order));
        order[at] = n;
    }
}

/* Copies the files `first` and following of the only chunk into a new one. */
static void check_copy(struct tree_files *of, int number, int first)
{
    const struct tfs_key to = {0, 5, -1, 7};
    struct maker_bytes texts[LENSES];
    struct tfs_error err = {0};
    int order[LENSES] = {0};

    make_order(number, order, LENSES - first);
    for (int i = 0; i < LENSES - first; i++)
        order[i] += first;
    for (int i = 0; i < LENSES; i++)
        texts[i] = place_get(of, PLACE_LENS(i), origin);
    ck_assert_int_eq(place_create(of, to, &err), 0);
    copy_in_order(of, to, texts, order, LENSES - first);
    ck_assert(tfs_rbx_records_same(tfs_blob_span(tfs_doc_find(of->doc, origin)->blob),
                                   tfs_blob_span(tfs_doc_find(of->doc, to)->blob)));
    for (int i = 0; i < LENSES; i++)
        maker_release(&texts[i]);
}

START_TEST(copy_of_a_directory_is_the_same_in_any_order_of_files)
{
    /* With oddities that only raw.bin may make. */
    place_open_hex(&c, "01 01 000000 000000 000000 000000"
                       "42 28 80 00 07 40 11 c2 28 00 63 c1 80 00 09 82 00 00 82 00 05 01");
    check_copy(&c, _i, 0);
}
END_TEST

START_TEST(copy_of_three_grids_is_the_same_in_any_order)
{
    open_random(&c, (uint64_t)_i / 6);
    check_copy(&c, _i % 6, 2);
}
END_TEST

/* What a text said of a voxel that was edited otherwise since is of no more use. */
START_TEST(values_of_a_new_chunk_leave_alone_what_was_edited_elsewhere)
{
    struct tfs_error err = {0};
    struct tfs_put elsewhere = {0}, put = {.fresh = true, .values = tfs_written_values_create()};
    const struct tfs_key to = {0, 0, 0, 0};
    const char voxel[] = HEADER "0,0,0,Slate,40,9\n";

    place_open_hex(&c, "01 01");
    ck_assert_int_eq(place_create(&c, to, &err), 0);
    ck_assert_int_eq(
        place_put(&c, PLACE_LENS(PLACE_OCCUPANCY), to, tfs_span_of("fill 100\n"), &put, &err), 0);
    ck_assert_int_eq(
        place_put(&c, PLACE_LENS(PLACE_VOXELS), to, tfs_span_of(voxel), &elsewhere, &err), 0);
    ck_assert_int_eq(
        place_put(&c, PLACE_LENS(PLACE_MATERIALS), to, tfs_span_of("fill 2\n"), &put, &err), 0);
    struct maker_bytes got = place_get(&c, PLACE_LENS(PLACE_VOXELS), to);
    ck_assert_ptr_nonnull(
        strstr((const char *)got.data, "\n0,0,0,Grass,40,9\n1,0,0,Grass,100,0\n"));
    maker_release(&got);
    tfs_written_values_free(put.values);
}
END_TEST

START_TEST(voxels_of_another_chunk_are_shifted_into_a_new_one)
{
    struct tfs_error err = {0};
    struct tfs_put put = {.fresh = true};
    const struct tfs_key to = {0, -3, 0, 0};
    const char text[] = HEADER "2,0,0,Grass,255,0\n3,1,1,Slate,40,9\n";
    const char two[] = HEADER "2,0,0,Grass,255,0\n4,1,1,Slate,40,9\n";

    place_open_hex(&c, "01 01");
    ck_assert_int_eq(place_create(&c, to, &err), 0);
    ck_assert_int_eq(place_put(&c, PLACE_LENS(PLACE_VOXELS), to, tfs_span_of(text), &put, &err), 0);
    struct maker_bytes got = place_get(&c, PLACE_LENS(PLACE_VOXELS), to);
    ck_assert_str_eq((const char *)got.data, HEADER "-6,0,0,Grass,255,0\n-5,1,1,Slate,40,9\n");
    maker_release(&got);
    /* What is there already is accepted from there at any time, anything else is not. */
    ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_VOXELS), to, text, &err), 0);
    ck_assert_int_eq(place_put(&c, PLACE_LENS(PLACE_VOXELS), to, tfs_span_of(two), &put, &err),
                     -EBADMSG);
    ck_assert_str_eq(err.text, "x 4 is outside chunk 1_0_0, which has x 2 to 3");
    tfs_error_reset(&err);
    ck_assert_int_eq(place_write(&c, PLACE_LENS(PLACE_VOXELS), to,
                                 HEADER "2,0,0,Grass,255,0\n3,1,1,Slate,40,8\n", &err),
                     -EBADMSG);
    ck_assert_uint_eq(err.line, 2);
}
END_TEST

/* ---- what else reads differently ------------------------------------------------------------- */

START_TEST(changes_name_the_files_that_read_differently)
{
    static const struct {
        enum chunk_file file;
        const char *text;
        const char *files;
    } cases[] = {
        {PLACE_MATERIALS, "fill 3", "raw.bin voxels.csv materials.txt arrays/materials.npy"},
        {PLACE_OCCUPANCY, "fill 41", "raw.bin voxels.csv occupancy.txt arrays/occupancy.npy"},
        {PLACE_OCCUPANCY, "fill 255",
         "raw.bin voxels.csv occupancy.txt water.txt arrays/occupancy.npy arrays/water.npy"},
        {PLACE_WATER, "fill 0", "raw.bin voxels.csv water.txt arrays/water.npy"},
        {PLACE_MATERIALS, "fill 0",
         "raw.bin voxels.csv materials.txt occupancy.txt water.txt arrays/materials.npy "
         "arrays/occupancy.npy arrays/water.npy"},
        {PLACE_RAW, "\xc2\x28\x01\x09", ""},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        struct tfs_error err = {0};
        open_cell(&c, CELL(GRASS, 40, 9));
        struct tfs_doc *before = tfs_doc_ref(c.doc);
        place_write(&c, PLACE_LENS(cases[i].file), origin, cases[i].text, &err);
        ck_assert_str_eq(changed_chunk_files(c.save, before, c.doc, origin), cases[i].files);
        tfs_doc_unref(before);
        tree_files_close(&c);
    }
}
END_TEST

START_TEST(another_spelling_changes_raw_alone)
{
    struct tfs_error err = {0};
    struct tfs_put put = {0};
    const uint8_t same[] = {0x42, 0xff};

    open_cell(&c, CELL(GRASS, 255, 0));
    struct tfs_doc *before = tfs_doc_ref(c.doc);
    ck_assert_int_eq(
        place_put(&c, PLACE_LENS(PLACE_RAW), origin, (struct tfs_span){same, 2}, &put, &err), 0);
    ck_assert_str_eq(changed_chunk_files(c.save, before, c.doc, origin), "raw.bin");
    tfs_doc_unref(before);
}
END_TEST

START_TEST(palette_lists_the_materials)
{
    place_open_hex(&c, "01 05");
    struct maker_bytes text = place_get(&c, &tfs_cells_values_lens, origin);
    ck_assert(strncmp((const char *)text.data, "0 Air\n1 Water\n2 Grass\n", 22) == 0);
    ck_assert_ptr_nonnull(strstr((const char *)text.data, "22 Pavement\n"));
    ck_assert(tfs_cells_values_lens.put == NULL);
    maker_release(&text);
}
END_TEST

static Suite *lenses_suite(void)
{
    Suite *suite = suite_create("roblox_lenses");
    TCase *reading = unit_case_with(suite, "reading", NULL, teardown);
    TCase *laws = unit_case_with(suite, "laws", NULL, teardown);
    TCase *writing = unit_case_with(suite, "writing", NULL, teardown);
    TCase *fresh = unit_case_with(suite, "new directories", NULL, teardown);

    (void)glob("../shared/samples/roblox/*.SmoothGrid.bin", 0, NULL, &samples);
    tcase_add_test(reading, files_show_the_cells);
    tcase_add_test(reading, files_of_equal_cells_are_fills);
    tcase_add_test(reading, grid_that_would_be_too_long_is_not_rendered);
    tcase_add_test(reading, sizes_are_those_of_the_document_that_is_asked);
    tcase_add_loop_test(reading, rows_of_equal_cells_are_lines_of_their_own, 0, 110);
    tcase_add_test(reading, palette_lists_the_materials);
    tcase_set_timeout(laws, 60);
    tcase_add_loop_test(laws, writing_back_what_was_read_changes_nothing, 0, 20);
    unit_add_samples(laws, writing_back_what_was_read_changes_nothing_in_real_places,
                     samples.gl_pathc, "../shared/samples/roblox");
    tcase_add_test(laws, stored_oddities_survive_writing_back);
    tcase_add_loop_test(laws, reading_gives_what_was_written, 0, 20);
    tcase_add_test(laws, cells_that_come_to_the_old_ones_keep_their_spelling);
    tcase_add_loop_test(writing, written_values_do_what_the_table_says, 0, COUNT(writes));
    tcase_add_test(writing, refused_value_is_named_with_voxel_line_and_column);
    tcase_add_test(writing, raw_is_stored_as_written);
    tcase_add_test(writing, changes_name_the_files_that_read_differently);
    tcase_add_test(writing, another_spelling_changes_raw_alone);
    tcase_set_timeout(fresh, 60);
    tcase_add_loop_test(fresh, copy_of_a_directory_is_the_same_in_any_order_of_files, 0, 120);
    tcase_add_loop_test(fresh, copy_of_three_grids_is_the_same_in_any_order, 0, 60);
    tcase_add_test(fresh, values_of_a_new_chunk_leave_alone_what_was_edited_elsewhere);
    tcase_add_test(fresh, voxels_of_another_chunk_are_shifted_into_a_new_one);
    return suite;
}

UNIT_MAIN(lenses_suite)
