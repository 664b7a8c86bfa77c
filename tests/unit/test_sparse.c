/* sparse: what was written over what a file shows, compared with plain memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fs/session/sparse.h"
#include "unit.h"

#define PAGE ((size_t)TFS_SPARSE_PAGE)
#define SIZE (6 * PAGE + 100) /* of what the base shows */
#define MAX  (10 * PAGE)

static struct tfs_doc *base;
static struct tfs_sparse *sparse;
static struct tfs_error err;
static uint8_t shown[SIZE]; /* by the base */

static void setup(void)
{
    struct tfs_facts *facts;

    ck_assert_int_eq(tfs_facts_create(0, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &base, &err), 0);
    tfs_facts_unref(facts);
    for (size_t i = 0; i < SIZE; i++)
        shown[i] = (uint8_t)(i / 7 + 1);
    ck_assert_int_eq(tfs_sparse_create(base, SIZE, &sparse), 0);
}

static void teardown(void)
{
    tfs_sparse_unref(sparse);
    tfs_doc_unref(base);
    sparse = NULL;
    base = NULL;
}

/* As the session writes: pages of which a part is written are filled first. */
static int put(uint64_t offset, const uint8_t *bytes, size_t size)
{
    uint64_t page;

    while (tfs_sparse_lacks(sparse, offset, size, &page)) {
        const size_t left = SIZE - page < PAGE ? SIZE - page : PAGE;
        int result = tfs_sparse_fill(sparse, page, (struct tfs_span){shown + page, left});
        if (result < 0)
            return result;
    }
    return tfs_sparse_write(sparse, offset, (struct tfs_span){bytes, size});
}

/* What it says now. */
static void get(uint8_t *out)
{
    memset(out, 0, MAX);
    memcpy(out, shown, SIZE);
    ck_assert_int_eq(tfs_sparse_read(sparse, 0, MAX, out), 0);
}

static bool differs(uint64_t offset, uint64_t size)
{
    const struct tfs_written w = tfs_sparse_written(sparse);

    return w.differs(w.arg, offset, size);
}

START_TEST(sparse_shows_what_was_written_last)
{
    uint8_t expected[MAX] = {0}, got[MAX], bytes[3 * PAGE];
    size_t size = SIZE;

    memcpy(expected, shown, SIZE);
    srand(18);
    for (unsigned step = 0; step < 400; step++) {
        const size_t at = (size_t)rand() % (MAX - sizeof(bytes));
        const size_t count = 1 + (size_t)rand() % sizeof(bytes);
        if (step % 9 == 8) {
            size_t cut = (size_t)rand() % MAX;
            ck_assert_int_eq(tfs_sparse_resize(sparse, cut), 0);
            if (cut < size)
                memset(expected + cut, 0, MAX - cut);
            size = cut;
        } else {
            memset(bytes, (int)step, count);
            ck_assert_int_eq(put(at, bytes, count), 0);
            memcpy(expected + at, bytes, count);
            size = at + count > size ? at + count : size;
        }
        if (step % 31 == 30)
            tfs_sparse_accept(sparse);
        get(got);
        ck_assert_uint_eq(sparse->size, size);
        ck_assert_mem_eq(got, expected, size);
    }
}
END_TEST

START_TEST(sparse_says_which_pages_were_written)
{
    ck_assert(!differs(0, SIZE));
    ck_assert_int_eq(put(2 * PAGE + 5, (const uint8_t *)"x", 1), 0);
    ck_assert(differs(0, SIZE) && differs(2 * PAGE, 1) && differs(3 * PAGE - 1, 1));
    ck_assert(!differs(0, 2 * PAGE) && !differs(3 * PAGE, SIZE - 3 * PAGE));
    ck_assert(tfs_sparse_holds(sparse, 2 * PAGE, PAGE));
    ck_assert(!tfs_sparse_holds(sparse, 2 * PAGE - 1, 2));
    ck_assert(tfs_sparse_written(sparse).begun);
    tfs_sparse_accept(sparse);
    ck_assert(!differs(0, SIZE));
    ck_assert_int_eq(tfs_sparse_resize(sparse, SIZE - 1), 0);
    ck_assert(differs(0, 1));
    ck_assert(!tfs_sparse_written(sparse).begun);
}
END_TEST

START_TEST(sparse_keeps_what_was_accepted_beside_what_came_after)
{
    const uint8_t first = 0xaa, second = 0xbb;
    uint8_t before[PAGE];

    ck_assert_int_eq(put(PAGE, &first, 1), 0);
    tfs_sparse_accept(sparse);
    ck_assert_int_eq(put(PAGE + 1, &second, 1), 0);
    const struct tfs_written w = tfs_sparse_written(sparse);
    ck_assert(!w.begun);
    memcpy(before, shown + PAGE, PAGE);
    ck_assert_int_eq(w.read(w.arg, true, PAGE, PAGE, before, &err), 0);
    ck_assert_uint_eq(before[0], first);
    ck_assert_mem_eq(before + 1, shown + PAGE + 1, PAGE - 1);
    ck_assert_int_eq(w.read(w.arg, false, PAGE, PAGE, before, &err), 0);
    ck_assert_uint_eq(before[1], second);
}
END_TEST

/* Values of what was there before the cut are no measure of what is an edit. */
START_TEST(sparse_that_was_cut_to_nothing_is_not_compared_with_what_it_showed)
{
    ck_assert_ptr_eq(tfs_sparse_written(sparse).base, base);
    ck_assert_int_eq(tfs_sparse_empty(&sparse), 0);
    ck_assert_int_eq(tfs_sparse_resize(sparse, SIZE), 0);
    ck_assert_int_eq(put(0, (const uint8_t *)"head", 4), 0);
    tfs_sparse_accept(sparse);
    ck_assert_ptr_null(tfs_sparse_written(sparse).base);
    ck_assert_int_eq(put(PAGE, (const uint8_t *)"x", 1), 0);
    ck_assert_ptr_null(tfs_sparse_written(sparse).base);
}
END_TEST

START_TEST(sparse_over_nothing_is_zeros)
{
    uint8_t got[PAGE];

    tfs_sparse_unref(sparse);
    ck_assert_int_eq(tfs_sparse_create(NULL, SIZE, &sparse), 0);
    ck_assert_uint_eq(sparse->size, 0);
    ck_assert_int_eq(put(PAGE + 9, (const uint8_t *)"x", 1), 0);
    ck_assert(differs(0, 1)); /* all of it is what it says */
    memset(got, 7, sizeof(got));
    ck_assert_int_eq(tfs_sparse_read(sparse, PAGE, 10, got), 0);
    ck_assert(got[0] == 0 && got[8] == 0 && got[9] == 'x');
}
END_TEST

START_TEST(sparse_without_a_file_writes_nothing_and_can_be_written_later)
{
    struct rlimit old, none = {0};
    uint8_t got[MAX];

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    none.rlim_max = old.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(put(PAGE, shown, PAGE), -EMFILE);
    ck_assert_int_eq(tfs_sparse_resize(sparse, SIZE), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert(!differs(0, SIZE) && !tfs_sparse_holds(sparse, PAGE, PAGE));
    get(got);
    ck_assert_mem_eq(got, shown, SIZE);
    ck_assert_int_eq(put(PAGE, shown, PAGE), 0);
    ck_assert(differs(PAGE, PAGE));
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("sparse");
    TCase *tcase = tcase_create("sparse");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, sparse_shows_what_was_written_last);
    tcase_add_test(tcase, sparse_says_which_pages_were_written);
    tcase_add_test(tcase, sparse_keeps_what_was_accepted_beside_what_came_after);
    tcase_add_test(tcase, sparse_that_was_cut_to_nothing_is_not_compared_with_what_it_showed);
    tcase_add_test(tcase, sparse_over_nothing_is_zeros);
    tcase_add_test(tcase, sparse_without_a_file_writes_nothing_and_can_be_written_later);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(suite)
