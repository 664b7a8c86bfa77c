/* formats/voxel_table: lines of voxels printed in three ways, and read in two. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/region_maker.h"
#include "formats/views/voxels_csv.h"
#include "unit.h"

static const char *const names[] = {"kind", "level"};
static const struct tfs_voxel_columns columns = {.names = names, .count = 2};
static const struct tfs_voxel_columns some = {.names = names, .count = 2, .may_lack_any = true};

static struct tfs_doc *doc;
static struct tfs_edit edit;
static struct tfs_error err;
static struct tfs_buf text;

static void setup(void)
{
    struct tfs_facts *facts = NULL;

    ck_assert_int_eq(tfs_facts_create(1, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &doc, &err), 0);
    ck_assert_int_eq(tfs_edit_open(doc, &edit, &err), 0);
    tfs_facts_unref(facts);
}

static void teardown(void)
{
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
    tfs_buf_release(&text);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Boxes with one row, rows that wrap, numbers that change their length and sign, and long axes. */
static const struct tfs_voxel_box boxes[] = {
    {{0, 0, 0, 0}, {1, 1, 1}},       {{0, 0, 0, 0}, {16, 16, 16}},
    {{0, -1, -1, -1}, {16, 16, 16}}, {{2, 6, -7, 62}, {16, 3, 16}},
    {{0, -1, 3, 0}, {256, 1, 12}},   {{0, 2147483647, -2147483647 - 1, 0}, {256, 2, 256}},
    {{0, 0, 0, 0}, {3, 2, 300}},     {{0, -1, 0, 0}, {1200, 2, 2}},
};

#define KINDS 5

/* Texts of all lengths; 0 is an empty voxel. */
static struct tfs_voxel_values values[KINDS];
static uint8_t texts[KINDS][4 * TFS_VOXEL_STEP];

static void make_values(struct maker_random *random)
{
    static const uint32_t sizes[KINDS] = {0, 2, 9, TFS_VOXEL_STEP, 3 * TFS_VOXEL_STEP + 1};

    for (unsigned i = 0; i < KINDS; i++) {
        for (uint32_t k = 0; k < sizes[i]; k++)
            texts[i][k] = (uint8_t)('a' + maker_draw(random, 26));
        if (sizes[i] > 0)
            texts[i][sizes[i] - 1] = '\n';
        values[i] = (struct tfs_voxel_values){texts[i], sizes[i], sizes[i] > 0};
    }
}

/* Runs of kinds, up to more than a row. */
static uint32_t *draw_voxels(const struct tfs_voxel_box *box, struct maker_random *random)
{
    const size_t count = (size_t)box->sides[0] * box->sides[1] * box->sides[2];
    uint32_t *voxels = malloc(count * sizeof(*voxels));

    for (size_t i = 0; i < count;) {
        uint32_t kind = maker_draw(random, KINDS), run = 1 + maker_draw(random, 3);
        run = maker_draw(random, 4) == 0 ? maker_draw(random, 4 * box->sides[0]) + 1 : run;
        for (; run > 0 && i < count; run--)
            voxels[i++] = kind;
    }
    return voxels;
}

static void print_plainly(const struct tfs_voxel_box *box, const uint32_t *voxels,
                          struct tfs_buf *out)
{
    const uint32_t *sides = box->sides;

    for (uint32_t y = 0; y < sides[1]; y++)
        for (uint32_t z = 0; z < sides[2]; z++)
            for (uint32_t x = 0; x < sides[0]; x++) {
                const struct tfs_voxel_values *v = &values[*voxels++];
                if (v->size > 0)
                    tfs_buf_printf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%.*s",
                                   (int64_t)box->key.x * sides[0] + x,
                                   (int64_t)box->key.y * sides[1] + y,
                                   (int64_t)box->key.z * sides[2] + z, (int)v->size, v->text);
            }
}

enum way { RUNS, ROWS, LINES, WAYS };

static void print_line(struct tfs_voxel_lines *lines, uint32_t kind)
{
    if (values[kind].size == 0) {
        tfs_voxel_lines_add(lines, 1, &values[kind]);
        return;
    }
    uint8_t *out = tfs_voxel_line_begin(lines, sizeof(texts[0]));
    ck_assert_ptr_nonnull(out);
    memcpy(out, values[kind].text, values[kind].size);
    tfs_voxel_line_end(lines, out + values[kind].size);
}

/* All lines in one way; returns the size that was counted. */
static uint64_t print_so(enum way way, const struct tfs_voxel_box *box, const uint32_t *voxels,
                         struct tfs_buf *out)
{
    const size_t count = (size_t)box->sides[0] * box->sides[1] * box->sides[2];
    struct tfs_voxel_lines lines;

    ck_assert_int_eq(tfs_voxel_lines_open(&lines, box, out, &err), 0);
    if (way == ROWS)
        tfs_voxel_lines_add_rows(&lines, box->sides[1] * box->sides[2], voxels, values);
    for (size_t i = 0, run; i < count && way == RUNS; i += run) {
        for (run = 1; i + run < count && voxels[i + run] == voxels[i];)
            run++;
        tfs_voxel_lines_add(&lines, (uint32_t)run, &values[voxels[i]]);
    }
    for (size_t i = 0; i < count && way == LINES; i++)
        print_line(&lines, voxels[i]);
    tfs_voxel_lines_close(&lines);
    return lines.size;
}

START_TEST(lines_are_the_same_in_whatever_way_they_are_printed)
{
    const struct tfs_voxel_box *box = &boxes[_i];
    struct maker_random random = {(uint64_t)_i + 1};
    struct tfs_buf plain = {0};

    for (unsigned round = 0; round < 4; round++) {
        make_values(&random);
        uint32_t *voxels = draw_voxels(box, &random);
        tfs_buf_clear(&plain);
        print_plainly(box, voxels, &plain);
        for (enum way way = RUNS; way < WAYS; way++) {
            tfs_buf_clear(&text);
            ck_assert_uint_eq(print_so(way, box, voxels, &text), plain.size);
            ck_assert(tfs_span_equal(tfs_buf_span(&text), tfs_buf_span(&plain)));
            if (way != LINES)
                ck_assert_uint_eq(print_so(way, box, voxels, NULL), plain.size);
        }
        free(voxels);
    }
    tfs_buf_release(&plain);
}
END_TEST

/* ---- reading --------------------------------------------------------------------------------- */

static const struct tfs_voxel_box cube = {{0, -1, 0, 2}, {4, 4, 4}};

/* One line for each row: index and fields; then the result. */
static int read_all(const struct tfs_voxel_columns *of, const char *source, bool fresh,
                    struct tfs_buf *out)
{
    struct tfs_voxel_reader r = {0};
    struct tfs_voxel_row row;
    int got = 0;

    tfs_error_reset(&err);
    if (tfs_voxel_reader_open(&r, of, &cube, &edit, fresh, tfs_span_of(source), &err) == 0)
        while ((got = tfs_voxel_reader_next(&r, &row, &err)) == 1) {
            tfs_voxel_reader_fields(&r, &row);
            tfs_buf_printf(out, "%zu", row.voxel);
            for (unsigned i = 0; i < of->count; i++)
                if (r.has[i])
                    tfs_buf_printf(out, " %u:%u:%.*s", row.fields[i].number, row.fields[i].column,
                                   (int)row.fields[i].text.size, row.fields[i].text.data);
            tfs_buf_u8(out, '\n');
        }
    tfs_buf_u8(out, '\0');
    return tfs_voxel_reader_close(&r, &err);
}

static const struct {
    const char *text, *rows;
} good[] = {
    {"x,y,z,kind,level\n-4,0,8,a,1\n-3,0,8,a,1\n-3,1,8,a,1\n-1,3,11,b,2",
     "0 2:8:a 2:10:1\n1 3:8:a 3:10:1\n17 4:8:a 4:10:1\n63 5:9:b 5:11:2\n"},
    {"level,z,kind,x,y\n1,8,a,-4,0\n1,8,a,-4,0\n", "0 2:5:a 2:1:1\n0 3:5:a 3:1:1\n"},
    {"x,y,z,level,kind\r\n-4,0,8,1,a\r\n-4,0,9,1,a\r\n", "0 2:10:a 2:8:1\n4 3:10:a 3:8:1\n"},
    {" x , y,z,kind,level \n\n# -4,0,8,a,1\n-4, 0,8,\"a\"\"b\",1\n-4,0,8,a,1\n-4,0,8,a,1\n",
     "0 4:10:a\"b 4:16:1\n0 5:8:a 5:10:1\n0 6:8:a 6:10:1\n"},
    {"x,y,z,kind,level\n", ""},
    {"x,y,z,kind,level\n-4,0,8,,1\n-4,0,8,,1\n-4,0,8,a,\n",
     "0 2:8: 2:9:1\n0 3:8: 3:9:1\n0 4:8:a 4:10:\n"},
};

START_TEST(rows_are_read_with_the_places_of_their_fields)
{
    ck_assert_msg(read_all(&columns, good[_i].text, false, &text) == 0, "%s", err.text);
    ck_assert_str_eq((const char *)text.data, good[_i].rows);
}
END_TEST

START_TEST(columns_that_may_be_lacking_are_not_read)
{
    ck_assert_int_eq(read_all(&some, "y,level,x,z\n0,7,-4,8\n", false, &text), 0);
    ck_assert_str_eq((const char *)text.data, "0 2:3:7\n");
    tfs_buf_clear(&text);
    ck_assert_int_eq(read_all(&some, "x,y,z\n-4,0,8\n", false, &text), 0);
    ck_assert_str_eq((const char *)text.data, "0\n");
}
END_TEST

static const struct {
    const char *text, *sentence;
    uint32_t line, column;
} bad[] = {
    {"", "the header line is missing, the columns are x,y,z,kind,level", 1, 1},
    {"x,y,kind,level\n", "the column z is missing, the columns are x,y,z,kind,level", 1, 1},
    {"x,y,z,level\n", "the column kind is missing, the columns are x,y,z,kind,level", 1, 1},
    {"x,y,z,kind,kind\n", "the column kind is there twice, the columns are x,y,z,kind,level", 1,
     12},
    {"x,y,z,kind,X\n", "the column X is not known, the columns are x,y,z,kind,level", 1, 12},
    {"x,y,z,kind,level\n-4,0,8,a,1\n-4,0,8,a\n", "the line has 4 fields, the header has 5", 3, 1},
    {"x,y,z,kind,level\n-4,0,8,a,1\n-4,0,8,a,1,2\n", "the line has 6 fields, the header has 5", 3,
     1},
    {"x,y,z,kind,level\n-4,0,8,a,1\n0,0,8,a,1\n",
     "x 0 is outside chunk -1_0_2, which has x -4 to -1", 3, 1},
    {"x,y,z,kind,level\n-4,0,8,a,1\n-4,4,8,a,1\n",
     "y 4 is outside chunk -1_0_2, which has y 0 to 3", 3, 4},
    {"x,y,z,kind,level\n-4,0,8,a,1\n-4,0,12,a,1\n",
     "z 12 is outside chunk -1_0_2, which has z 8 to 11", 3, 6},
    {"x,y,z,kind,level\n-4,0,8,a,1\n-04,0,8,a,1\n-4,+0,8,a,1\n", "the y +0 is not a number", 4, 4},
    {"x,y,z,kind,level\n-4,0,1099511627777,a,1\n",
     "z 1099511627777 is out of range, -1099511627776 to 1099511627776", 2, 6},
};

START_TEST(rows_are_refused_with_their_place)
{
    ck_assert_int_eq(read_all(&columns, bad[_i].text, false, &text), -EBADMSG);
    ck_assert_str_eq(err.text, bad[_i].sentence);
    ck_assert_uint_eq(err.line, bad[_i].line);
    ck_assert_uint_eq(err.column, bad[_i].column);
}
END_TEST

#define ELSEWHERE "x,y,z,kind,level\n3,-4,0,a,1\n0,-1,3,a,1\n"

START_TEST(rows_of_one_other_chunk_belong_to_a_chunk_just_made)
{
    ck_assert_int_eq(read_all(&columns, ELSEWHERE, true, &text), 0);
    ck_assert_str_eq((const char *)text.data, "3 2:8:a 2:10:1\n60 3:8:a 3:10:1\n");
    ck_assert_int_eq(read_all(&columns, ELSEWHERE "-4,0,8,a,1\n", true, &text), -EBADMSG);
    ck_assert_str_eq(err.text, "x -4 is outside chunk 0_-1_0, which has x 0 to 3");
    ck_assert_uint_eq(err.line, 4);
}
END_TEST

START_TEST(rows_of_one_other_chunk_are_taken_where_they_change_nothing)
{
    const struct tfs_chunk chunk = {.slot = TFS_SLOT_NONE};
    struct tfs_voxel_reader r = {0};
    struct tfs_voxel_row row;

    ck_assert_int_eq(read_all(&columns, ELSEWHERE, false, &text), 0);
    tfs_error_reset(&err);
    ck_assert_int_eq(
        tfs_voxel_reader_open(&r, &columns, &cube, &edit, false, tfs_span_of(ELSEWHERE), &err), 0);
    ck_assert_int_eq(tfs_voxel_reader_next(&r, &row, &err), 1);
    ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    ck_assert_int_eq(tfs_voxel_reader_close(&r, &err), -EBADMSG);
    ck_assert_str_eq(err.text, "x 3 is outside chunk -1_0_2, which has x -4 to -1");
    /* What is wrong with them besides is of no interest. */
    ck_assert_int_eq(read_all(&columns, ELSEWHERE "9,9,9,a,1\n", false, &text), -EBADMSG);
    ck_assert_str_eq(err.text, "x 3 is outside chunk -1_0_2, which has x -4 to -1");
    ck_assert_uint_eq(err.line, 2);
}
END_TEST

static Suite *voxel_table_suite(void)
{
    Suite *suite = suite_create("voxel_table");
    TCase *t = unit_case(suite, "tables");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, lines_are_the_same_in_whatever_way_they_are_printed, 0, COUNT(boxes));
    tcase_add_loop_test(t, rows_are_read_with_the_places_of_their_fields, 0, COUNT(good));
    tcase_add_test(t, columns_that_may_be_lacking_are_not_read);
    tcase_add_loop_test(t, rows_are_refused_with_their_place, 0, COUNT(bad));
    tcase_add_test(t, rows_of_one_other_chunk_belong_to_a_chunk_just_made);
    tcase_add_test(t, rows_of_one_other_chunk_are_taken_where_they_change_nothing);
    return suite;
}

UNIT_MAIN(voxel_table_suite)
