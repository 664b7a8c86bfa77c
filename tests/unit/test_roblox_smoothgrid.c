/* formats/roblox/records and smoothgrid: every record form, runs, offsets, real values. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/place_maker.h"
#include "formats/format.h"
#include "formats/roblox/material.h"
#include "formats/roblox/smoothgrid.h"
#include "scratch.h"

static struct maker_bytes hex(const char *text)
{
    struct maker_bytes bytes = {0};

    place_hex(&bytes, text);
    return bytes;
}

static struct tfs_span span_of(const struct maker_bytes *bytes)
{
    return (struct tfs_span){bytes->data, bytes->size};
}

/* ---- records --------------------------------------------------------------------------------- */

/* As tfs_rbx_cell, for initialisers. */
#define CELL(material, occupancy, water) ((material) | (occupancy) << 8 | (water) << 16)
#define AIR(occupancy, water)            CELL(0, occupancy, water)
enum { WATER = 1, GRASS = 2, SAND = 6, ROCK = 8, UNKNOWN = 31 };

/* Records that an independent codec made, and borders of runs. */
static const struct {
    const char *name, *records, *canonical;
    uint32_t log2;
    uint32_t cells[8]; /* the first ones */
} forms[] = {
    {"one cell", "00", "00", 0, {AIR(0, 0)}},
    {"partial", "42 80", "42 80", 0, {CELL(GRASS, 128, 0)}},
    {"every form",
     "02 48 00 81 02 c6 64 00 ff 80 01",
     "02 48 00 81 02 c6 64 00 ff 80 01",
     1,
     {CELL(GRASS, 255, 0), CELL(ROCK, 0, 0), CELL(WATER, 255, 0), CELL(WATER, 255, 0),
      CELL(WATER, 255, 0), CELL(SAND, 100, 255), AIR(0, 0), AIR(0, 0)}},
    {"equal water cells, unknown material, occupancy 0 with water",
     "c6 00 00 7f c6 64 00 ff c6 64 00 ff 1f 86 03",
     "c6 00 00 7f c6 64 00 ff c6 64 00 ff 1f 86 03",
     1,
     {CELL(SAND, 0, 127), CELL(SAND, 100, 255), CELL(SAND, 100, 255), CELL(UNKNOWN, 255, 0),
      CELL(SAND, 255, 0), CELL(SAND, 255, 0), CELL(SAND, 255, 0), CELL(SAND, 255, 0)}},
    {"legal, not canonical",
     "42 ff 82 00 00 81 01 40 11 80 00 07 00 00",
     "82 01 81 01 40 11 80 00 07 80 01",
     1,
     {CELL(GRASS, 255, 0), CELL(GRASS, 255, 0), CELL(WATER, 255, 0), CELL(WATER, 255, 0),
      AIR(17, 0), AIR(0, 7), AIR(0, 0), AIR(0, 0)}},
    {"a run of the whole chunk", "80 3f", "80 3f", 2, {0}},
    {"two runs of 256", "82 ff 82 ff", "82 ff 82 ff", 3, {CELL(GRASS, 255, 0)}},
    {"runs cut at 256, not where the text likes",
     "82 fe 82 ff 02",
     "82 ff 82 ff",
     3,
     {CELL(GRASS, 255, 0)}},
};

/* Planes of up to 32 x 32 x 32 cells. */
static struct tfs_rbx_planes planes_at(uint8_t values[TFS_RBX_PLANES][32768])
{
    return (struct tfs_rbx_planes){{values[0], values[1], values[2]}};
}

static void decode_cells(struct tfs_span records, uint32_t log2, uint32_t *cells)
{
    static uint8_t values[TFS_RBX_PLANES][32768];
    const struct tfs_rbx_planes planes = planes_at(values);
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_records_decode(records, log2, &planes, &err), 0);
    for (size_t i = 0; i < tfs_rbx_cell_count(log2); i++)
        cells[i] = tfs_rbx_cell(values[0][i], values[1][i], values[2][i]);
}

static void encode_cells(struct tfs_buf *out, const uint32_t *cells, size_t count)
{
    static uint8_t values[TFS_RBX_PLANES][32768];
    const struct tfs_rbx_planes planes = planes_at(values);

    for (unsigned p = 0; p < TFS_RBX_PLANES; p++)
        for (size_t i = 0; i < count; i++)
            values[p][i] = (uint8_t)tfs_rbx_cell_value(cells[i], p);
    tfs_rbx_records_encode(out, &planes, count);
}

START_TEST(records_decode_and_encode)
{
    struct maker_bytes records = hex(forms[_i].records);
    struct maker_bytes canonical = hex(forms[_i].canonical);
    size_t count = tfs_rbx_cell_count(forms[_i].log2);
    uint32_t cells[512];
    struct tfs_error err = {0};
    struct tfs_buf out = {0};

    ck_assert_int_eq(tfs_rbx_records_check(span_of(&records), forms[_i].log2, &err), 0);
    decode_cells(span_of(&records), forms[_i].log2, cells);
    for (size_t i = 0; i < count && i < 8 && forms[_i].log2 < 2; i++)
        ck_assert_msg(cells[i] == forms[_i].cells[i], "%s: cell %zu is %06x", forms[_i].name, i,
                      cells[i]);
    ck_assert_uint_eq(cells[0], forms[_i].cells[0]);
    encode_cells(&out, cells, count);
    ck_assert_mem_eq(out.data, canonical.data, canonical.size);
    ck_assert_uint_eq(out.size, canonical.size);
    ck_assert(tfs_rbx_records_same(span_of(&records), span_of(&canonical)));
    tfs_buf_release(&out);
    maker_release(&records);
    maker_release(&canonical);
}
END_TEST

START_TEST(records_run_across_rows_and_layers)
{
    /* Edge 4: 15 cells of Rock end in the last row of the first layer, 2 of Sand lie in two
     * layers. */
    struct maker_bytes records = hex("88 0e 86 01 80 2e");
    uint32_t cells[64];

    decode_cells(span_of(&records), 2, cells);
    ck_assert_uint_eq(cells[3], CELL(ROCK, 255, 0));
    ck_assert_uint_eq(cells[4], CELL(ROCK, 255, 0));
    ck_assert_uint_eq(cells[15], CELL(SAND, 255, 0));
    ck_assert_uint_eq(cells[16], CELL(SAND, 255, 0));
    ck_assert_uint_eq(cells[17], TFS_RBX_EMPTY);
    maker_release(&records);
}
END_TEST

START_TEST(records_of_an_empty_chunk_are_runs_of_air)
{
    struct tfs_buf out = {0};

    tfs_rbx_records_empty(&out, 5);
    ck_assert_uint_eq(out.size, 256);
    ck_assert_uint_eq(out.data[0], 0x80);
    ck_assert_uint_eq(out.data[255], 0xff);
    ck_assert(tfs_rbx_records_are_empty(tfs_buf_span(&out)));
    tfs_buf_clear(&out);
    tfs_rbx_records_empty(&out, 0);
    ck_assert_uint_eq(out.size, 1);
    ck_assert_uint_eq(out.data[0], 0);
    tfs_buf_release(&out);
}
END_TEST

static const struct {
    const char *records;
    uint32_t log2;
    const char *says;
} damaged[] = {
    {"", 0, "offset 0: the records end after 0 of 1 cells"},
    {"42", 0, "offset 0: the records end after 0 of 1 cells"},
    {"82", 1, "offset 0: the records end after 0 of 8 cells"},
    {"00 c2 40 00", 1, "offset 1: the records end after 1 of 8 cells"},
    {"00 82 07", 1,
     "offset 1: a run of 8 cells goes past the end of the chunk, which has room for "
     "7 more"},
    {"82 07 00", 1, "offset 2: 1 bytes behind the last cell of the chunk"},
};

START_TEST(records_refuse_what_is_not_one_chunk)
{
    struct maker_bytes records = hex(damaged[_i].records);
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_records_check(span_of(&records), damaged[_i].log2, &err), -EBADMSG);
    ck_assert_str_eq(err.text, damaged[_i].says);
    maker_release(&records);
}
END_TEST

START_TEST(records_of_the_same_cells_are_the_same)
{
    struct maker_bytes a = hex("02 48 00 81 02 c6 64 00 ff 80 01");
    struct maker_bytes b = hex("03 48 00 81 02 c6 64 00 ff 80 01");
    struct maker_bytes c = hex("02 48 01 81 02 c6 64 00 ff 80 01");
    struct maker_bytes d = hex("02 48 00 81 02 46 64 80 01");

    ck_assert(tfs_rbx_records_same(span_of(&a), span_of(&a)));
    ck_assert(!tfs_rbx_records_same(span_of(&a), span_of(&b)));
    ck_assert(!tfs_rbx_records_same(span_of(&a), span_of(&c)));
    ck_assert(!tfs_rbx_records_same(span_of(&d), span_of(&a)));
    ck_assert(!tfs_rbx_records_are_empty(span_of(&a)));
    maker_release(&a);
    maker_release(&b);
    maker_release(&c);
    maker_release(&d);
}
END_TEST

START_TEST(records_of_random_cells_come_back)
{
    static struct place_cell cells[4096];
    static uint32_t decoded[4096];
    struct maker_random random = {(uint64_t)_i};
    struct maker_bytes records = {0};
    struct tfs_buf out = {0};

    place_random_cells(&random, cells, 4096);
    place_records(&records, cells, 4096);
    decode_cells(span_of(&records), 4, decoded);
    for (size_t i = 0; i < 4096; i++)
        ck_assert_uint_eq(decoded[i],
                          tfs_rbx_cell(cells[i].material, cells[i].occupancy, cells[i].water));
    encode_cells(&out, decoded, 4096);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), span_of(&records)));
    tfs_buf_release(&out);
    maker_release(&records);
}
END_TEST

/* Noise is stored cell by cell: rows of such records are stepped over several at a time. */
START_TEST(records_of_noise_end_where_their_last_cell_is)
{
    static struct place_cell cells[4096];
    struct maker_random random = {(uint64_t)_i};
    struct maker_bytes records = {0};
    struct tfs_error err = {0};

    place_random_cells(&random, cells, 4096);
    for (size_t i = 0; i < 4096; i++)
        if (maker_draw(&random, 60) != 0)
            cells[i] = (struct place_cell){.material = (uint8_t)(1 + i % 2),
                                           .occupancy = (uint8_t)(1 + i % 253)};
    place_records(&records, cells, 4096);
    const struct tfs_span all = span_of(&records);
    ck_assert_int_eq(tfs_rbx_records_check(all, 4, &err), 0);
    for (size_t n = 0; n < all.size; n += n + 100 < all.size ? 97 : 1) {
        tfs_error_reset(&err);
        ck_assert_int_eq(tfs_rbx_records_check((struct tfs_span){all.data, n}, 4, &err), -EBADMSG);
    }
    maker_release(&records);
}
END_TEST

/* ---- values ---------------------------------------------------------------------------------- */

static const char two_chunks[] =
    "01 00  ff 00 00 ff 00 00 ff 00 01 ff 02 2c  42 80  00 ff ff 00 ff ff 00 ff fe 01 fe d3  08";

START_TEST(value_gives_chunks_with_signs_and_wraps)
{
    struct maker_bytes value = hex(two_chunks);
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_index_open(span_of(&value), &index, &err), 0);
    ck_assert_uint_eq(index.count, 2);
    ck_assert_uint_eq(index.log2, 0);
    ck_assert(index.sorted);
    ck_assert_int_eq(index.entries[0].position.x, -1);
    ck_assert_int_eq(index.entries[0].position.y, 2);
    ck_assert_int_eq(index.entries[0].position.z, 300);
    ck_assert_int_eq(index.entries[1].position.x, 0);
    ck_assert_int_eq(index.entries[1].position.y, 0);
    ck_assert_int_eq(index.entries[1].position.z, -1);
    ck_assert_uint_eq(index.entries[1].records.size, 1);
    ck_assert_uint_eq(index.entries[1].records.data[0], 0x08);
    tfs_rbx_index_release(&index);
    maker_release(&value);
}
END_TEST

START_TEST(value_without_chunks_has_an_edge)
{
    struct maker_bytes value = hex("01 03");
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_index_open(span_of(&value), &index, &err), 0);
    ck_assert_uint_eq(index.count, 0);
    ck_assert_uint_eq(index.log2, 3);
    ck_assert_int_eq(tfs_rbx_index_open((struct tfs_span){0}, &index, &err), 0);
    ck_assert_uint_eq(index.count, 0);
    ck_assert_uint_eq(index.log2, 5);
    maker_release(&value);
}
END_TEST

START_TEST(value_keeps_the_order_of_chunks_that_do_not_ascend)
{
    /* (1,0,0), then (0,0,0). */
    struct maker_bytes value = hex("01 00 000000 000000 000000 010000 02"
                                   "ff0000 ff0000 ff0000 ff0000 03");
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_index_open(span_of(&value), &index, &err), 0);
    ck_assert(!index.sorted);
    ck_assert_int_eq(index.entries[0].position.x, 0);
    ck_assert_uint_eq(index.entries[0].order, 1);
    ck_assert_int_eq(index.entries[1].position.x, 1);
    ck_assert_uint_eq(index.entries[1].order, 0);
    tfs_rbx_index_release(&index);
    maker_release(&value);
}
END_TEST

static const struct {
    const char *value;
    int code;
    const char *says;
} bad_values[] = {
    {"01", -EBADMSG, "offset 0: the header is cut off"},
    {"02 05", -ENOTSUP, "SmoothGrid version 2 is not supported, only version 1"},
    {"01 09", -ENOTSUP, "chunks with an edge of 2^9 voxels are not supported, only up to 2^8"},
    {"01 00 00", -EBADMSG, "offset 2: the offset of a chunk is cut off"},
    {"01 00 000000 000000 000000 000000", -EBADMSG,
     "chunk 0_0_0, offset 14: the records end after 0 of 1 cells"},
    {"01 00 000000 000000 000000 ff0000 82 01", -EBADMSG,
     "chunk 255_0_0, offset 14: a run of 2 cells goes past the end of the chunk, which has room "
     "for 1 more"},
    {"01 00 000000 000000 000000 010203 00 000000 000000 000000 000000 00", -EBADMSG,
     "chunk 1_2_3 occurs twice"},
};

START_TEST(value_is_refused_with_place_and_reason)
{
    struct maker_bytes value = hex(bad_values[_i].value);
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_index_open(span_of(&value), &index, &err), bad_values[_i].code);
    ck_assert_str_eq(err.text, bad_values[_i].says);
    ck_assert_ptr_null(index.entries);
    maker_release(&value);
}
END_TEST

/* Chunks of one cell, 13 bytes each, cost ten times that. */
START_TEST(value_of_more_chunks_than_are_read_is_refused)
{
    static const uint8_t next[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    struct maker_bytes value = hex("01 00");
    struct tfs_rbx_index index;
    struct tfs_error err = {0};

    for (uint32_t i = 0; i <= TFS_RBX_CHUNKS_MAX; i++)
        maker_add(&value, next, sizeof(next));
    ck_assert_int_eq(tfs_rbx_index_open(span_of(&value), &index, &err), -EFBIG);
    ck_assert_str_eq(err.text, "there are more than 4194304 chunks");
    maker_release(&value);
}
END_TEST

START_TEST(value_cut_anywhere_but_between_chunks_is_refused)
{
    struct maker_bytes value = hex(two_chunks);

    for (size_t size = 1; size < value.size; size++) {
        struct tfs_rbx_index index = {0};
        struct tfs_error err = {0};
        int result = tfs_rbx_index_open((struct tfs_span){value.data, size}, &index, &err);
        ck_assert_int_eq(result, size == 2 || size == 16 ? 0 : -EBADMSG);
        tfs_rbx_index_release(&index);
    }
    maker_release(&value);
}
END_TEST

static const struct {
    const char *a, *b;
    bool same;
} pairs[] = {
    {"01 05", "", true},
    {"01 00 000000 000000 000000 000000 00", "01 00", true}, /* a chunk of Air */
    {"01 00 000000 000000 000000 000000 00", "01 05", false},
    {"01 00 000000 000000 000000 000000 02", "01 00", false},
    {"01 00 000000 000000 000000 000000 02", "01 00 000000 000000 000000 000000 42 ff", true},
    {"01 00 000000 000000 000000 000000 02", "01 00 000000 000000 000000 000001 02", false},
};

START_TEST(values_are_compared_by_voxels)
{
    struct maker_bytes a = hex(pairs[_i].a);
    struct maker_bytes b = hex(pairs[_i].b);
    struct tfs_rbx_index left = {0};
    struct tfs_rbx_index right = {0};
    struct tfs_error err = {0};

    ck_assert_int_eq(tfs_rbx_index_open(span_of(&a), &left, &err), 0);
    ck_assert_int_eq(tfs_rbx_index_open(span_of(&b), &right, &err), 0);
    ck_assert_int_eq(tfs_rbx_indexes_same(&left, &right), pairs[_i].same);
    ck_assert_int_eq(tfs_rbx_indexes_same(&right, &left), pairs[_i].same);
    tfs_rbx_index_release(&left);
    tfs_rbx_index_release(&right);
    maker_release(&a);
    maker_release(&b);
}
END_TEST

/* ---- real values ----------------------------------------------------------------------------- */

static struct maker_bytes read_file(const char *path)
{
    struct maker_bytes bytes = {0};
    uint8_t block[65536];
    FILE *file = fopen(path, "rb");

    ck_assert_ptr_nonnull(file);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        maker_add(&bytes, block, n);
    fclose(file);
    return bytes;
}

/* The value from its chunks in canonical form. */
static void encode_value(const struct tfs_rbx_index *index, struct tfs_buf *out)
{
    static uint32_t cells[32768];
    struct tfs_rbx_position at = {0};

    tfs_rbx_value_begin(out, index->log2);
    for (size_t i = 0; i < index->count; i++) {
        const struct tfs_rbx_entry *e = &index->entries[i];
        tfs_rbx_offset_put(out, at, e->position);
        at = e->position;
        decode_cells(e->records, index->log2, cells);
        encode_cells(out, cells, tfs_rbx_cell_count(index->log2));
    }
}

static void check_round_trip(const struct maker_bytes *value)
{
    struct tfs_rbx_index index = {0};
    struct tfs_error err = {0};
    struct tfs_buf out = {0};

    ck_assert_int_eq(tfs_rbx_index_open(span_of(value), &index, &err), 0);
    ck_assert(index.sorted);
    encode_value(&index, &out);
    ck_assert(tfs_span_equal(tfs_buf_span(&out), span_of(value)));
    tfs_buf_release(&out);
    tfs_rbx_index_release(&index);
}

static glob_t samples;

START_TEST(values_of_real_places_are_canonical)
{
    struct maker_bytes value = read_file(samples.gl_pathv[_i]);
    check_round_trip(&value);
    maker_release(&value);
}
END_TEST

START_TEST(values_of_made_landscapes_are_canonical)
{
    struct place_world world = {.seed = (uint64_t)_i, .chunks = 4, .log2 = (unsigned)_i};
    struct maker_bytes value = {0};

    place_grid(&value, &world);
    check_round_trip(&value);
    maker_release(&value);
}
END_TEST

START_TEST(materials_have_names_up_to_22)
{
    ck_assert(tfs_span_equal(tfs_rbx_material_name(0), tfs_span_of("Air")));
    ck_assert(tfs_span_equal(tfs_rbx_material_name(22), tfs_span_of("Pavement")));
    ck_assert_uint_eq(tfs_rbx_material_name(23).size, 0);
}
END_TEST

#define NOISY  70 /* chunks, of two bytes a cell: more than a probe looks at */
#define CHUNK  ((size_t)12 + 2 * 32768)
#define DAMAGE (2 + 69 * CHUNK + 12)

static void write_noisy(const char *path, bool spoiled)
{
    uint8_t *value = calloc(1, 2 + NOISY * CHUNK), *at = value;

    *at++ = 1;
    *at++ = 5;
    for (int i = 0; i < NOISY; i++) {
        at[11] = i > 0; /* the next one in z */
        at += 12;
        for (int cell = 0; cell < 32768; cell++) {
            *at++ = 0x41;
            *at++ = (uint8_t)(1 + cell % 254);
        }
    }
    if (spoiled)
        value[DAMAGE] = 0xff;
    FILE *file = fopen(path, "w");
    ck_assert_uint_eq(fwrite(value, 1, 2 + NOISY * CHUNK, file), 2 + NOISY * CHUNK);
    ck_assert_int_eq(fclose(file), 0);
    free(value);
}

/* The beginning of a large file says what it is, and where all of it is read the damage is
 * found. */
START_TEST(large_value_is_known_by_its_beginning_and_refused_for_its_end)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_NONE};
    struct tfs_error err = {0};
    struct tfs_save *save = NULL;

    write_noisy(scratch_path("large.bin"), false);
    ck_assert_int_eq(tfs_save_open(scratch_path("large.bin"), NULL, &options, &save, &err), 0);
    ck_assert_uint_eq(save->doc->count, NOISY);
    tfs_save_close(save);
    write_noisy(scratch_path("large.bin"), true);
    ck_assert_int_eq(tfs_save_open(scratch_path("large.bin"), NULL, &options, &save, &err),
                     -EBADMSG);
    ck_assert_msg(strstr(err.text, "SmoothGrid") != NULL, "%s", err.text);
}
END_TEST

static Suite *smoothgrid_suite(void)
{
    Suite *suite = suite_create("roblox_smoothgrid");
    TCase *records = unit_case(suite, "records");
    TCase *values = unit_case(suite, "values");

    tcase_add_loop_test(records, records_decode_and_encode, 0, COUNT(forms));
    tcase_add_test(records, records_run_across_rows_and_layers);
    tcase_add_test(records, records_of_an_empty_chunk_are_runs_of_air);
    tcase_add_loop_test(records, records_refuse_what_is_not_one_chunk, 0, COUNT(damaged));
    tcase_add_test(records, records_of_the_same_cells_are_the_same);
    tcase_add_loop_test(records, records_of_random_cells_come_back, 0, 20);
    tcase_add_loop_test(records, records_of_noise_end_where_their_last_cell_is, 0, 20);
    tcase_add_test(records, materials_have_names_up_to_22);
    TCase *files = unit_case(suite, "files");
    tcase_add_checked_fixture(files, scratch_setup, scratch_teardown);
    tcase_add_test(files, large_value_is_known_by_its_beginning_and_refused_for_its_end);
    tcase_add_test(values, value_gives_chunks_with_signs_and_wraps);
    tcase_add_test(values, value_without_chunks_has_an_edge);
    tcase_add_test(values, value_keeps_the_order_of_chunks_that_do_not_ascend);
    tcase_add_loop_test(values, value_is_refused_with_place_and_reason, 0, COUNT(bad_values));
    tcase_add_test(values, value_of_more_chunks_than_are_read_is_refused);
    tcase_add_test(values, value_cut_anywhere_but_between_chunks_is_refused);
    tcase_add_loop_test(values, values_are_compared_by_voxels, 0, COUNT(pairs));
    tcase_set_timeout(values, 60);
    (void)glob("../shared/samples/roblox/*.SmoothGrid.bin", 0, NULL, &samples);
    unit_add_samples(values, values_of_real_places_are_canonical, samples.gl_pathc,
                     "../shared/samples/roblox");
    tcase_add_loop_test(values, values_of_made_landscapes_are_canonical, 0, 6);
    return suite;
}

UNIT_MAIN(smoothgrid_suite)
