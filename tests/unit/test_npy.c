/* npy: heads as NumPy writes them, values in every order, and heads that are none. */
#include <errno.h>
#include <string.h>

#include "formats/views/arrays/npy.h"
#include "unit.h"

static struct tfs_buf file;
static struct tfs_npy npy;
static struct tfs_span values;
static struct tfs_error err;

static void setup(void)
{
    tfs_error_reset(&err);
}

static void teardown(void)
{
    tfs_buf_release(&file);
}

/* A file with this text as head and so many bytes of values: 0, 1, 2, ... */
static void make(uint8_t version, const char *head, size_t size)
{
    tfs_buf_clear(&file);
    tfs_buf_add(&file, "\x93NUMPY", 6);
    tfs_buf_u8(&file, version);
    tfs_buf_u8(&file, 0);
    tfs_buf_u8(&file, (uint8_t)strlen(head));
    tfs_buf_u8(&file, 0);
    if (version > 1) {
        tfs_buf_u8(&file, 0);
        tfs_buf_u8(&file, 0);
    }
    tfs_buf_add_text(&file, head);
    for (size_t i = 0; i < size; i++)
        tfs_buf_u8(&file, (uint8_t)i);
}

static int take(void)
{
    return tfs_npy_take(tfs_buf_span(&file), NULL, &npy, &values, &err);
}

START_TEST(npy_reads_what_it_prints)
{
    const struct tfs_npy head = {.kind = 'u', .width = 2, .shape = {2, 3, 4}, .dimensions = 3};

    tfs_npy_print(&head, &file);
    ck_assert_uint_eq(file.size, TFS_NPY_HEAD);
    ck_assert_int_eq(file.data[TFS_NPY_HEAD - 1], '\n');
    ck_assert_int_eq(memcmp(file.data + 10,
                            "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }", 62),
                     0);
    for (unsigned i = 0; i < 48; i++)
        tfs_buf_u8(&file, (uint8_t)i);
    ck_assert_int_eq(tfs_npy_take(tfs_buf_span(&file), &head, &npy, &values, &err), 0);
    ck_assert_uint_eq(values.size, 48);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 0, 0, 1), 0x0302);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 1, 2, 3), 0x2f2e);
}
END_TEST

START_TEST(npy_reads_other_orders)
{
    make(1, "{'shape': (2, 1, 3), 'fortran_order': True, 'descr': \">u2\"}", 12);
    ck_assert_int_eq(take(), 0);
    ck_assert(npy.fortran && npy.big);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 1, 0, 0), 0x0203);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 0, 0, 1), 0x0405);
    make(2, "{'descr': '|i1', 'fortran_order': False, 'shape': (130,), } \n", 130);
    ck_assert_int_eq(take(), 0);
    ck_assert_uint_eq(npy.dimensions, 1);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 0, 0, 127), 127);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 0, 0, 128), (uint64_t)-128);
    make(3, "{'descr': '<u8', 'fortran_order': False, 'shape': (), }", 8);
    ck_assert_int_eq(take(), 0);
    ck_assert_uint_eq(tfs_npy_value(&npy, values, 0, 0, 0), UINT64_C(0x0706050403020100));
}
END_TEST

/* What a row of one value becomes as a value of that kind; -1: it does not fit. */
static int row_of(const char *type, size_t width, uint64_t value, char kind, unsigned as_width,
                  uint64_t *out)
{
    const struct tfs_npy as = {.kind = kind, .width = as_width};
    const uint64_t at[3] = {0, 0, 0};
    uint64_t wrong = 9;
    uint8_t row[8] = {0};
    char head[80];

    snprintf(head, sizeof(head), "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }", type);
    make(1, head, width);
    for (size_t i = 0; i < width; i++)
        file.data[file.size - width + i] = (uint8_t)(value >> 8 * i);
    ck_assert_int_eq(take(), 0);
    if (!tfs_npy_row(&npy, values, &as, at, 1, row, &wrong)) {
        ck_assert_uint_eq(wrong, 0);
        return -1;
    }
    *out = 0;
    for (unsigned i = 0; i < 8; i++)
        *out |= (uint64_t)row[i] << 8 * i;
    return 0;
}

START_TEST(npy_takes_whole_numbers_of_any_width_that_fit)
{
    uint64_t out;

    ck_assert(row_of("<i8", 8, 65535, 'u', 2, &out) == 0 && out == 65535);
    ck_assert_int_eq(row_of("<i8", 8, 65536, 'u', 2, &out), -1);
    ck_assert_int_eq(row_of("|i1", 1, 0xff, 'u', 2, &out), -1);
    ck_assert_int_eq(row_of("<i8", 8, UINT64_MAX, 'u', 8, &out), -1);
    ck_assert(row_of("<u8", 8, UINT64_MAX, 'u', 8, &out) == 0 && out == UINT64_MAX);
    ck_assert(row_of("|i1", 1, 0xff, 'i', 2, &out) == 0 && out == 0xffff);
    ck_assert(row_of("<i8", 8, (uint64_t)-32768, 'i', 2, &out) == 0 && out == 0x8000);
    ck_assert_int_eq(row_of("<i8", 8, (uint64_t)-32769, 'i', 2, &out), -1);
    ck_assert_int_eq(row_of("<u2", 2, 0x8000, 'i', 2, &out), -1);
    ck_assert(row_of("<f4", 4, 0x3f800000, 'f', 4, &out) == 0 && out == 0x3f800000);
}
END_TEST

static const struct {
    const char *head;
    size_t size;
} bad[] = {
    {"", 0},
    {"{}", 0},
    {"{'descr': '<u2', 'fortran_order': False}", 2},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,)", 2},
    {"{'descr': '<u2', 'fortran_order': Maybe, 'shape': (1,)}", 2},
    {"{'descr': '<u3', 'fortran_order': False, 'shape': (1,)}", 3},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8},
    {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (1,)}", 2},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1, 1, 1)}", 2},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (-1,)}", 2},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,)}", 2},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296, 1)}", 0},
    {"{'descr': '<u8', 'fortran_order': False, 'shape': (4611686018427387904,)}", 0},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", 3},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", 5},
    {"{'other': '<u2', 'fortran_order': False, 'shape': (2,)}", 4},
};

START_TEST(npy_refuses_what_is_no_array)
{
    make(1, bad[_i].head, bad[_i].size);
    ck_assert_int_eq(take(), -EBADMSG);
}
END_TEST

START_TEST(npy_refuses_every_beginning_of_a_file)
{
    make(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n", 4);
    const size_t size = file.size;

    for (size_t i = 0; i < size; i++) {
        tfs_error_reset(&err);
        file.size = i;
        ck_assert_int_eq(take(), -EBADMSG);
    }
    tfs_error_reset(&err);
    file.size = size;
    ck_assert_int_eq(take(), 0);
    file.data[6] = 9; /* version */
    ck_assert_int_eq(take(), -EBADMSG);
}
END_TEST

START_TEST(npy_says_what_is_expected)
{
    const struct tfs_npy wanted = {.kind = 'u', .width = 2, .shape = {16, 16, 16}, .dimensions = 3};

    make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)}", 16);
    ck_assert_int_eq(take(), 0);
    ck_assert_int_eq(tfs_npy_take(tfs_buf_span(&file), &wanted, &npy, &values, &err), -EBADMSG);
    ck_assert_str_eq(err.text,
                     "the array is <f8 of shape (1, 2), it has to be <u2 of shape (16, 16, 16)");
    tfs_error_reset(&err);
    make(1, "{'descr': '|O', 'fortran_order': False, 'shape': (16, 16, 16)}", 16);
    ck_assert_int_eq(tfs_npy_take(tfs_buf_span(&file), &wanted, &npy, &values, &err), -EBADMSG);
    ck_assert_str_eq(err.text,
                     "the head of the .npy file is not one of at most three dimensions of plain "
                     "numbers; it has to be <u2 of shape (16, 16, 16)");
    tfs_error_reset(&err);
    file.size = 9;
    ck_assert_int_eq(tfs_npy_take(tfs_buf_span(&file), &wanted, &npy, &values, &err), -EBADMSG);
    ck_assert_str_eq(err.text, "this is no .npy file; it has to be <u2 of shape (16, 16, 16)");
}
END_TEST

/* A file with something behind its values. */
START_TEST(npy_measures_a_file_up_to_its_last_value)
{
    make(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}", 12);
    const size_t whole = file.size;
    tfs_buf_add_text(&file, "0 air\n");
    ck_assert_int_eq(take(), -EBADMSG);
    ck_assert_uint_eq(tfs_npy_measure(tfs_buf_span(&file)), whole);
    file.size = whole - 1;
    ck_assert_uint_eq(tfs_npy_measure(tfs_buf_span(&file)), whole - 1);
    make(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 12);
    ck_assert_uint_eq(tfs_npy_measure(tfs_buf_span(&file)), file.size);
}
END_TEST

static Suite *npy_suite(void)
{
    Suite *suite = suite_create("npy");
    TCase *tcase = tcase_create("npy");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, npy_reads_what_it_prints);
    tcase_add_test(tcase, npy_reads_other_orders);
    tcase_add_test(tcase, npy_takes_whole_numbers_of_any_width_that_fit);
    tcase_add_loop_test(tcase, npy_refuses_what_is_no_array, 0,
                        (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_test(tcase, npy_refuses_every_beginning_of_a_file);
    tcase_add_test(tcase, npy_says_what_is_expected);
    tcase_add_test(tcase, npy_measures_a_file_up_to_its_last_value);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(npy_suite)
