/*
 * Names and the numbers that arrays give them: formats/views/arrays/numbers.h.
 */
#include <string.h>

#include "formats/views/arrays/numbers.h"
#include "unit.h"

#define NAMES 3000 /* many share their first cell of the table */

static const char *name_of(int i)
{
    static char name[32];

    snprintf(name, sizeof(name), "base:block_%04d", i);
    return name;
}

static enum tfs_emptiness emptiness(struct tfs_span name)
{
    return tfs_span_equal(name, tfs_span_of("air")) ? TFS_AIR : TFS_SEEN;
}

/* A chunk that has all names, in another order. */
static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *err)
{
    static char text[NAMES][32];

    (void)wanted, (void)err;
    cells->names = calloc(NAMES, sizeof(*cells->names));
    cells->name_count = NAMES;
    for (int i = 0; i < NAMES; i++) {
        snprintf(text[i], sizeof(text[i]), "%s", name_of(NAMES - 1 - i));
        cells->names[i] = tfs_span_of(text[i]);
    }
    return 0;
}

static void release(struct tfs_cells *cells)
{
    free(cells->names);
}

START_TEST(every_name_has_a_number_of_its_own)
{
    static const struct tfs_plane plane = {.name = "block", .form = {.kind = TFS_PLANE_NAMES}};
    static const struct tfs_cells_kind kind = {
        .planes = &plane, .count = 1, .decode = decode, .release = release, .emptiness = emptiness};
    static const struct tfs_tree tree = {.cells = &kind};
    struct tfs_chunk chunk = {.slot = TFS_SLOT_NONE};
    struct tfs_save save = {.tree = &tree};
    struct tfs_numbers *numbers = NULL;
    struct tfs_error err = {0};
    struct tfs_buf name = {0};
    struct tfs_facts *facts;
    struct tfs_doc *empty;
    struct tfs_edit edit;
    uint32_t number;

    ck_assert_int_eq(tfs_facts_create(0, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &empty, &err), 0);
    ck_assert_int_eq(tfs_edit_open(empty, &edit, &err), 0);
    ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    ck_assert_int_eq(tfs_save_caches_make(&save, &err), 0);
    ck_assert_int_eq(tfs_numbers_open(&save, doc, &numbers, &err), 0);
    ck_assert_uint_eq(tfs_numbers_count(numbers), NAMES + 1);
    for (int i = 0; i < NAMES; i++) {
        ck_assert_int_eq(tfs_numbers_add(numbers, tfs_span_of(name_of(i)), &number, &err), 0);
        ck_assert_uint_eq(number, (uint32_t)i + 1);
        tfs_buf_clear(&name);
        ck_assert(tfs_numbers_name(numbers, number, &name));
        ck_assert(tfs_span_equal(tfs_buf_span(&name), tfs_span_of(name_of(i))));
    }
    ck_assert_int_eq(tfs_numbers_add(numbers, tfs_span_of("air"), &number, &err), 0);
    ck_assert_uint_eq(number, 0);
    ck_assert_uint_eq(tfs_numbers_count(numbers), NAMES + 1);
    ck_assert(!tfs_numbers_name(numbers, NAMES + 1, &name));
    tfs_buf_release(&name);
    tfs_save_caches_free(&save);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("numbers");

    tcase_add_test(unit_case(s, "numbers"), every_name_has_a_number_of_its_own);
    return s;
}

UNIT_MAIN(suite)
