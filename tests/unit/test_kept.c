/* formats/views/arrays/kept.c: layers of chunks are decoded once, ahead of who reads on, and never
 * keep good bytes away. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "formats/views/arrays/kept.h"
#include "unit.h"

#define SIDE        16
#define ROW         8 /* chunks along x and z: a layer has 512 KiB */
#define LAYERS      6
#define LAYER_BYTES ((uint64_t)ROW * ROW * SIDE * SIDE * SIDE * 2)
#define PIECE       ((uint64_t)128 << 10)

static struct tfs_array array;
static struct tfs_save save;
static struct tfs_error err;
static struct tfs_key bad;  /* cannot be decoded */
static int failure;         /* what it fails with; 0: it can */
static atomic_uint decoded; /* chunks */

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *e)
{
    const struct tfs_key key = cells->chunk.key;
    uint16_t *value = malloc(sizeof(*value));

    (void)wanted;
    atomic_fetch_add(&decoded, 1);
    *value = (uint16_t)(1 + key.x + 10 * key.z + 100 * key.y);
    cells->planes[0].values = value;
    cells->planes[0].filled = true;
    return failure < 0 && tfs_key_compare(key, bad) == 0 ? tfs_fail(e, failure, "bad") : 0;
}

static void release(struct tfs_cells *cells)
{
    free(cells->planes[0].values);
}

static const struct tfs_plane plane = {.name = "value", .form = {TFS_PLANE_UNSIGNED, .width = 2}};
static const struct tfs_cells_kind kind = {
    .planes = &plane, .count = 1, .size = {SIDE, SIDE, SIDE}, .decode = decode, .release = release};
static const struct tfs_tree tree = {.cells = &kind};

static unsigned fetches;

static size_t fetch(struct tfs_save *from, struct tfs_chunk *chunks, size_t count,
                    struct tfs_error *e)
{
    (void)from, (void)e;
    fetches++;
    for (size_t i = 0; i < count; i++)
        chunks[i].flags &= ~(uint32_t)TFS_CHUNK_UNREAD_ALL;
    return count;
}

static const struct tfs_container container = {.fetch = fetch};

static struct tfs_doc *make_doc(uint32_t flags)
{
    struct tfs_facts *facts;
    struct tfs_doc *empty;
    struct tfs_edit edit;

    ck_assert_int_eq(tfs_facts_create(0, &facts, &err), 0);
    ck_assert_int_eq(tfs_doc_create(facts, &empty, &err), 0);
    ck_assert_int_eq(tfs_edit_open(empty, &edit, &err), 0);
    for (int32_t i = 0; i < LAYERS * ROW * ROW; i++) {
        struct tfs_chunk chunk = {.key = {0, i % ROW, i / ROW / ROW, i / ROW % ROW},
                                  .flags = flags,
                                  .slot = TFS_SLOT_NONE};
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    }
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_doc_unref(empty);
    tfs_facts_unref(facts);
    return doc;
}

static void show(struct tfs_doc *doc)
{
    array = (struct tfs_array){
        .save = &save, .doc = doc, .kind = 'u', .sides = {SIDE, SIDE, SIDE}, .width = 2};
    ck_assert(tfs_array_span(&array));
    ck_assert_uint_eq(tfs_array_size(&array), TFS_NPY_HEAD + LAYERS * LAYER_BYTES);
}

static void setup(void)
{
    save = (struct tfs_save){.tree = &tree, .container = &container};
    ck_assert_int_eq(tfs_save_caches_make(&save, &err), 0);
    show(make_doc(0));
    failure = 0;
    atomic_store(&decoded, 0);
    tfs_error_reset(&err);
}

static void teardown(void)
{
    tfs_doc_unref((struct tfs_doc *)(uintptr_t)array.doc);
    tfs_save_caches_free(&save);
}

/* What is read is what an array without kept layers has. */
static void check_read(uint64_t offset, uint64_t size)
{
    struct tfs_blob *found = NULL;
    struct tfs_buf expected = {0};
    struct tfs_error e = {0};

    ck_assert_int_eq(tfs_kept_range(&array, offset, size, &found, &e), 0);
    ck_assert_int_eq(tfs_array_range(&array, offset, size, &expected, &e), 0);
    ck_assert_uint_eq(found->size, expected.size);
    ck_assert(tfs_span_equal(tfs_blob_span(found), tfs_buf_span(&expected)));
    tfs_blob_unref(found);
    tfs_buf_release(&expected);
}

static struct tfs_blob *range_of(uint64_t offset, uint64_t size)
{
    struct tfs_blob *part = NULL;

    ck_assert_int_eq(tfs_kept_range(&array, offset, size, &part, &err), 0);
    return part;
}

/* A part of a layer that is kept is given without a copy. */
START_TEST(layers_are_shared_with_who_reads_them)
{
    const uint64_t size = tfs_array_size(&array), border = TFS_NPY_HEAD + LAYER_BYTES;
    struct tfs_buf copy = {0};
    struct tfs_blob *first = range_of(size - 100, 100), *again = range_of(size - 50, 500);
    struct tfs_blob *behind = range_of(size, 1), *head = range_of(0, 10);
    struct tfs_blob *across = range_of(border - 1, 2);

    ck_assert_ptr_eq(first->data + 50, again->data);
    ck_assert_uint_eq(again->size, 50);
    ck_assert_int_eq(tfs_array_range(&array, size - 100, 100, &copy, &err), 0);
    ck_assert(tfs_span_equal(tfs_buf_span(&copy), tfs_blob_span(first)));
    ck_assert_uint_eq(behind->size, 0);
    ck_assert_ptr_null(head->parent);
    ck_assert_ptr_null(across->parent);
    tfs_buf_release(&copy);
    tfs_blob_unref(first);
    tfs_blob_unref(again);
    tfs_blob_unref(behind);
    tfs_blob_unref(head);
    tfs_blob_unref(across);
}
END_TEST

/* Chunks that are decoded to read these bytes. */
static unsigned cost(uint64_t offset, uint64_t size)
{
    const unsigned before = atomic_load(&decoded);
    struct tfs_blob *found = NULL;

    (void)tfs_kept_range(&array, offset, size, &found, &err);
    tfs_error_reset(&err);
    tfs_blob_unref(found);
    return atomic_load(&decoded) - before;
}

/* Reads as the kernel asks, and has what follows read ahead. */
static void read_on(uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at += PIECE) {
        (void)cost(at, PIECE);
        tfs_kept_ahead(&array, at, PIECE);
    }
}

static uint64_t layer_at(uint64_t index)
{
    return TFS_NPY_HEAD + index * LAYER_BYTES;
}

static void show_chunk(int32_t x)
{
    array.low = (struct tfs_key){0, x, 2, 3};
    array.chunks[0] = array.chunks[1] = array.chunks[2] = 1;
}

/* Arrays of chunks have one layer each, of the same document. */
START_TEST(layers_of_one_chunk_are_not_those_of_another)
{
    show_chunk(4);
    check_read(TFS_NPY_HEAD, 4096);
    show_chunk(5);
    check_read(TFS_NPY_HEAD, 4096);
}
END_TEST

/* To lock a database for each row costs more than the row. */
START_TEST(chunks_of_a_line_are_fetched_in_one_go)
{
    uint8_t values[2 * SIDE * SIDE];

    tfs_doc_unref((struct tfs_doc *)(uintptr_t)array.doc);
    show(make_doc(TFS_CHUNK_UNREAD));
    for (size_t i = 0; i < ROW; i++)
        ck_assert_int_eq(tfs_kept_layers(&array, tfs_doc_at(array.doc, i), 3, 4, values, &err), 0);
    ck_assert_uint_eq(fetches, 1);
    ck_assert_uint_eq(atomic_load(&decoded), ROW);
    ck_assert_uint_eq(tfs_array_value(values, 2, 0), ROW);
}
END_TEST

/* That of the first chunk begins where that of all chunks does. */
START_TEST(layers_of_all_chunks_are_not_those_of_the_first)
{
    check_read(TFS_NPY_HEAD, 4096);
    array.chunks[0] = array.chunks[1] = array.chunks[2] = 1;
    check_read(TFS_NPY_HEAD, 4096);
}
END_TEST

/* What a block says that could not be read for a moment may widen all values of its level. */
START_TEST(values_that_became_wider_are_read_again)
{
    check_read(layer_at(0), 100);
    check_read(layer_at(1), 100);
    array.width = 4;
    check_read(TFS_NPY_HEAD + LAYER_BYTES + 5000, 100);
    check_read(TFS_NPY_HEAD + 3 * LAYER_BYTES + 5000, 100);
}
END_TEST

START_TEST(layers_have_every_range)
{
    check_read(0, 10);
    check_read(0, PIECE);
    check_read(layer_at(1) - 100, 300);
    check_read(layer_at(1) - 100, 2 * LAYER_BYTES + 300);
    check_read(layer_at(LAYERS) - 100, 300);
    check_read(layer_at(LAYERS), 300);
}
END_TEST

START_TEST(layers_are_decoded_once)
{
    ck_assert_uint_eq(cost(layer_at(2), PIECE), ROW * ROW);
    ck_assert_uint_eq(cost(layer_at(2) + PIECE, PIECE), 0);
    ck_assert_uint_eq(cost(layer_at(2) - 100, 200), ROW * ROW);
}
END_TEST

START_TEST(layers_are_ready_for_who_reads_on)
{
    read_on(layer_at(0), layer_at(1));
    ck_assert_uint_eq(cost(layer_at(1), PIECE), 0);
    ck_assert_uint_eq(cost(layer_at(2), PIECE), ROW * ROW); /* one ahead, not two */
    read_on(layer_at(1), layer_at(LAYERS));
    ck_assert_uint_eq(atomic_load(&decoded), LAYERS * ROW * ROW);
    check_read(layer_at(LAYERS - 1), LAYER_BYTES);
}
END_TEST

START_TEST(layers_are_not_read_ahead_of_who_reads_here_and_there)
{
    for (unsigned i = 0; i < 40; i++) {
        const uint64_t at = layer_at(1 + i % 2 * 3) + i * 7 % 3 * PIECE;
        (void)cost(at, PIECE);
        tfs_kept_ahead(&array, at, PIECE);
    }
    ck_assert_uint_eq(atomic_load(&decoded), 2 * ROW * ROW);
}
END_TEST

START_TEST(layers_are_not_read_ahead_behind_the_end)
{
    read_on(layer_at(LAYERS - 2), layer_at(LAYERS) + PIECE);
    ck_assert_uint_eq(atomic_load(&decoded), 2 * ROW * ROW);
}
END_TEST

/* Requests are answered in any order. */
START_TEST(layers_are_read_ahead_of_requests_that_come_late)
{
    (void)cost(0, PIECE);
    for (uint64_t at = 0; at < LAYER_BYTES; at += 2 * PIECE) {
        tfs_kept_ahead(&array, at + PIECE, PIECE);
        tfs_kept_ahead(&array, at, PIECE);
    }
    ck_assert_uint_eq(atomic_load(&decoded), 2 * ROW * ROW);
    ck_assert_uint_eq(cost(layer_at(1) + PIECE, PIECE), 0);
}
END_TEST

/* Two readers, each of whom has the layer that it reads and the next one. */
START_TEST(layers_of_one_reader_stay_when_another_reads_ahead)
{
    for (uint64_t at = layer_at(0); at < layer_at(3); at += PIECE) {
        read_on(at, at + PIECE);
        read_on(at + 3 * LAYER_BYTES, at + 3 * LAYER_BYTES + PIECE);
    }
    ck_assert_uint_le(atomic_load(&decoded), (LAYERS + 1) * ROW * ROW);
}
END_TEST

START_TEST(layers_of_another_document_are_others)
{
    struct tfs_doc *old = (struct tfs_doc *)(uintptr_t)array.doc;

    read_on(0, LAYER_BYTES + PIECE);
    show(make_doc(0));
    tfs_doc_unref(old);
    ck_assert_uint_eq(cost(layer_at(1), PIECE), ROW * ROW);
    ck_assert_uint_eq(cost(layer_at(2), PIECE), ROW * ROW);
}
END_TEST

START_TEST(layer_with_a_bad_chunk_is_read_around_it)
{
    const uint64_t line = ROW * SIDE * 2, row = SIDE * 2;

    failure = _i == 0 ? -EIO : -ENOMEM;
    bad = (struct tfs_key){0, 3, 1, 0}; /* in the first lines of layer 1 */
    ck_assert_uint_eq(cost(layer_at(0), PIECE), ROW * ROW);
    check_read(layer_at(1) + SIDE * line, PIECE / 8);
    check_read(layer_at(1), 3 * row);
    check_read(layer_at(1) + 4 * row, line - row);
    check_read(layer_at(1) - 100, 100 + 3 * row);
    struct tfs_blob *none;
    ck_assert_int_eq(tfs_kept_range(&array, layer_at(1) + 2 * row, 2 * row, &none, &err), failure);
    ck_assert_ptr_null(none);
    tfs_error_reset(&err);
    ck_assert_uint_eq(cost(layer_at(0) + PIECE, PIECE), 0); /* the good one is still there */
}
END_TEST

START_TEST(layer_ahead_that_is_bad_is_nobody_s_failure)
{
    failure = -EIO;
    bad = (struct tfs_key){0, 3, 1, 0};
    read_on(0, LAYER_BYTES);
    check_read(layer_at(0) + 200, PIECE);
    check_read(layer_at(2), PIECE);
    check_read(layer_at(1) + LAYER_BYTES - PIECE / 8, PIECE / 8);
}
END_TEST

static void *read_all(void *arg)
{
    (void)arg;
    for (uint64_t at = 0; at < TFS_NPY_HEAD + LAYERS * LAYER_BYTES; at += PIECE) {
        check_read(at, PIECE);
        tfs_kept_ahead(&array, at, PIECE);
    }
    return NULL;
}

START_TEST(layers_are_read_and_made_by_several_threads)
{
    pthread_t threads[3];

    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_all, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

static Suite *kept_suite(void)
{
    Suite *suite = suite_create("kept");
    TCase *tcase = tcase_create("kept");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, layers_of_one_chunk_are_not_those_of_another);
    tcase_add_test(tcase, chunks_of_a_line_are_fetched_in_one_go);
    tcase_add_test(tcase, layers_of_all_chunks_are_not_those_of_the_first);
    tcase_add_test(tcase, values_that_became_wider_are_read_again);
    tcase_add_test(tcase, layers_are_shared_with_who_reads_them);
    tcase_add_test(tcase, layers_have_every_range);
    tcase_add_test(tcase, layers_are_decoded_once);
    tcase_add_test(tcase, layers_are_ready_for_who_reads_on);
    tcase_add_test(tcase, layers_are_not_read_ahead_of_who_reads_here_and_there);
    tcase_add_test(tcase, layers_are_not_read_ahead_behind_the_end);
    tcase_add_test(tcase, layers_are_read_ahead_of_requests_that_come_late);
    tcase_add_test(tcase, layers_of_one_reader_stay_when_another_reads_ahead);
    tcase_add_test(tcase, layers_of_another_document_are_others);
    tcase_add_loop_test(tcase, layer_with_a_bad_chunk_is_read_around_it, 0, 2);
    tcase_add_test(tcase, layer_ahead_that_is_bad_is_nobody_s_failure);
    tcase_add_test(tcase, layers_are_read_and_made_by_several_threads);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(kept_suite)
