/*
 * Names and the numbers that arrays give them: formats/arrays/numbers.h.
 */
#include <string.h>

#include "formats/arrays/numbers.h"
#include "unit.h"

#define NAMES 3000 /* many share their first cell of the table */

static const char *name_of(int i)
{
    static char name[32];

    snprintf(name, sizeof(name), "base:block_%04d", i);
    return name;
}

static bool is_air(struct tfs_span name)
{
    return tfs_span_equal(name, tfs_span_of("air"));
}

static int each_name(struct tfs_save *save, const struct tfs_doc *doc, tfs_name_fn each, void *arg,
                     struct tfs_error *err)
{
    int result = 0;

    (void)save;
    (void)doc;
    for (int i = NAMES; i-- > 0 && result == 0;)
        result = each(arg, tfs_span_of(name_of(i)), err);
    return result;
}

START_TEST(every_name_has_a_number_of_its_own)
{
    static const struct tfs_numbering numbering = {
        .empty = "air", .is_empty = is_air, .names = each_name};
    const struct tfs_doc doc = {.version = 1};
    struct tfs_save save = {0};
    struct tfs_numbers *numbers = NULL;
    struct tfs_error err = {0};
    struct tfs_span name;
    uint32_t number;

    ck_assert_int_eq(tfs_numbers_open(&save, &doc, &numbering, &numbers, &err), 0);
    ck_assert_uint_eq(tfs_numbers_count(numbers), NAMES + 1);
    for (int i = 0; i < NAMES; i++) {
        ck_assert_int_eq(tfs_numbers_add(numbers, tfs_span_of(name_of(i)), &number, &err), 0);
        ck_assert_uint_eq(number, (uint32_t)i + 1);
        ck_assert(tfs_numbers_name(numbers, number, &name));
        ck_assert(tfs_span_equal(name, tfs_span_of(name_of(i))));
    }
    ck_assert_int_eq(tfs_numbers_add(numbers, tfs_span_of("air"), &number, &err), 0);
    ck_assert_uint_eq(number, 0);
    number = 77;
    ck_assert(!tfs_numbers_find(numbers, tfs_span_of("base:no_block"), &number));
    ck_assert_uint_eq(number, 77);
    ck_assert(tfs_numbers_find(numbers, tfs_span_of(name_of(5)), &number));
    ck_assert_uint_eq(number, 6);
    ck_assert(tfs_numbers_find(numbers, tfs_span_of("air"), &number));
    ck_assert_uint_eq(number, 0);
    ck_assert_uint_eq(tfs_numbers_count(numbers), NAMES + 1);
    tfs_numbers_free(numbers);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("numbers");

    tcase_add_test(unit_case(s, "numbers"), every_name_has_a_number_of_its_own);
    return s;
}

UNIT_MAIN(suite)
