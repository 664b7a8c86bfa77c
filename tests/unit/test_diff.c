/*
 * formats/compare: what is said of chunks, in short and voxel by voxel.
 */
#include "formats/compare/diff.h"
#include "formats/compare/count.h"

#include "../lib/beamng_case.h"
#include "../lib/cosmic_case.h"
#include "../lib/place_case.h"
#include "scratch.h"
#include "../lib/small_saves.h"

static struct tfs_save *open_save(const char *path, enum tfs_lock lock)
{
    const struct tfs_open_options options = {.lock = lock};
    struct tfs_error err = {0};
    struct tfs_save *save;

    ck_assert_msg(tfs_save_open(path, NULL, &options, &save, &err) == 0, "%s", err.text);
    return save;
}

/* ---- in short -------------------------------------------------------------------------------- */

/* The sum of the document's i-th chunk, fetched where it has to be. */
static void make_sum(const struct tfs_side *side, size_t i, struct tfs_chunk_count *sum)
{
    struct tfs_fetched fetched = {0};
    struct tfs_error err = {0};

    tfs_fetched_take(&fetched, tfs_doc_at(side->doc, i));
    ck_assert_msg(tfs_fetch(side, &fetched, 1, &err) == 0 && fetched.why.code == 0 &&
                      tfs_chunk_count(sum, side, &fetched.chunk, &err) == 0,
                  "%s%s", fetched.why.text, err.text);
    tfs_fetched_release(&fetched);
}

static uint64_t count_of(const struct tfs_chunk_count *sum, struct tfs_span name)
{
    size_t i = 0;

    while (i < sum->count && !tfs_span_equal(sum->counts[i].name, name))
        i++;
    return i < sum->count ? sum->counts[i].voxels : 0;
}

/* Voxel by voxel. */
static void check_counts(const struct tfs_side *side, size_t i, const struct tfs_chunk_count *sum)
{
    const struct tfs_cells_kind *kind = side->save->tree->cells;
    struct tfs_voxel_pool pool = {0};
    struct tfs_voxel_chunk chunk = {0};
    struct tfs_error err = {0};
    uint64_t counts[1024] = {0};
    uint32_t voxel, met = 0;

    ck_assert_int_eq(tfs_voxel_pool_begin(&pool, kind, &err), 0);
    ck_assert_int_eq(tfs_voxel_chunk_open(&chunk, &pool, side->save, side->doc,
                                          tfs_doc_at(side->doc, i)->key, &err),
                     0);
    const struct tfs_voxel_size size = chunk.cells->size;
    for (uint32_t n = 0; n < size.x * size.y * size.z; n++) {
        const uint32_t at[] = {n % size.x, n / size.x / size.z, n / size.x % size.z};
        ck_assert_int_eq(tfs_voxel_at(&pool, &chunk, at, &voxel, &err), 0);
        ck_assert_uint_lt(pool.brief.count, 1024);
        counts[pool.looks[voxel].brief] += !pool.looks[voxel].empty;
    }
    for (uint32_t n = 0; n < pool.brief.count; n++) {
        const struct tfs_span name = tfs_words_at(&pool.brief, n);
        met += name.size > 0 && counts[n] > 0;
        if (name.size > 0)
            ck_assert_uint_eq(count_of(sum, name), counts[n]);
    }
    ck_assert_uint_eq(sum->count, met);
    tfs_voxel_chunk_release(&chunk);
    tfs_voxel_pool_release(&pool);
}

START_TEST(chunks_have_as_many_voxels_of_a_name_as_are_found_one_by_one)
{
    const struct small_save *kind = &small_saves[_i];
    struct tfs_chunk_count sum = {0};

    kind->make(scratch_path(kind->file));
    struct tfs_save *save = open_save(scratch_path(kind->file), TFS_LOCK_NONE);
    const struct tfs_side side = {save, save->doc};
    for (size_t i = 0; i < save->doc->count; i++) {
        make_sum(&side, i, &sum);
        check_counts(&side, i, &sum);
    }
    tfs_chunk_count_release(&sum);
    tfs_save_close(save);
}
END_TEST

static const struct tfs_container *counted;
static size_t fetches;

static size_t count_fetch(struct tfs_save *save, struct tfs_chunk *chunks, size_t count,
                          struct tfs_error *err)
{
    fetches++;
    return counted->fetch(save, chunks, count, err);
}

/* `text` walks over chunks whose bytes it has: to read a database again takes the most time. */
START_TEST(chunks_that_were_fetched_are_summed_up_without_another_look_at_the_save)
{
    const struct small_save *kind = &small_saves[_i];
    struct tfs_chunk_count sum = {0};
    struct tfs_error err = {0};

    kind->make(scratch_path(kind->file));
    struct tfs_save *save = open_save(scratch_path(kind->file), TFS_LOCK_NONE);
    const struct tfs_side side = {save, save->doc};
    struct tfs_container container = *save->container;
    counted = save->container;
    container.fetch = count_fetch;
    for (size_t i = 0; i < save->doc->count; i++) {
        struct tfs_fetched fetched = {0};
        tfs_fetched_take(&fetched, tfs_doc_at(save->doc, i));
        ck_assert_int_eq(tfs_fetch(&side, &fetched, 1, &err), 0);
        save->container = &container;
        fetches = 0;
        ck_assert_int_eq(tfs_chunk_count(&sum, &side, &fetched.chunk, &err), 0);
        ck_assert_uint_eq(fetches, 0);
        save->container = counted;
        tfs_fetched_release(&fetched);
    }
    tfs_chunk_count_release(&sum);
    tfs_save_close(save);
}
END_TEST

static int note_chunk(void *arg, struct tfs_diff *diff, struct tfs_diff_chunk *chunk)
{
    struct tfs_key *keys = arg;

    (void)diff;
    for (; keys->group != UINT32_MAX; keys++)
        ;
    keys[0] = chunk->key;
    keys[1].group = UINT32_MAX;
    return 0;
}

/* Does a comparison tell the chunk? */
static bool is_told(const struct tfs_key *keys, struct tfs_key key)
{
    for (; keys->group != UINT32_MAX; keys++)
        if (tfs_key_compare(*keys, key) == 0)
            return true;
    return false;
}

static void find_told(const struct tfs_side sides[TFS_SIDES], struct tfs_key *keys)
{
    struct tfs_error err = {0};
    struct tfs_diff *diff;

    keys[0].group = UINT32_MAX;
    ck_assert_int_eq(tfs_diff_open(sides, &diff, &err), 0);
    ck_assert_msg(tfs_diff_walk(diff, note_chunk, keys, &err) == 0, "%s", err.text);
    tfs_diff_close(diff);
}

/* For each chunk of both documents: other checksums exactly where a comparison tells it. */
static void assert_sums_agree(struct tfs_save *save, const struct tfs_doc *after, const char *what)
{
    const struct tfs_side sides[TFS_SIDES] = {{save, save->doc}, {save, after}};
    struct tfs_chunk_count old = {0}, new = {0};
    struct tfs_key told[256];

    find_told(sides, told);
    for (size_t i = 0; i < after->count; i++) {
        const struct tfs_key key = tfs_doc_at(after, i)->key;
        size_t before = tfs_doc_lower_bound(save->doc, key);
        if (tfs_doc_find(save->doc, key) == NULL)
            continue;
        make_sum(&sides[TFS_BEFORE], before, &old);
        make_sum(&sides[TFS_AFTER], i, &new);
        ck_assert_msg((old.checksum != new.checksum) == is_told(told, key), "%s: chunk %d_%d_%d",
                      what, key.x, key.y, key.z);
    }
    tfs_chunk_count_release(&old);
    tfs_chunk_count_release(&new);
}

/* The save's document with the edit; the same one where this kind of save refuses it. */
static struct tfs_doc *apply(struct tfs_save *save, const struct small_edit *edit)
{
    struct tfs_error err = {0};
    struct tfs_buf text = {0};
    struct tfs_doc *after = NULL;
    struct tfs_edit to;

    ck_assert_int_eq(tfs_edit_open(save->doc, &to, &err), 0);
    small_edit_text(save, save->doc, edit, &text);
    if (small_edit_apply(save, &to, edit, tfs_buf_span(&text), &err) == 0)
        after = tfs_edit_finish(&to);
    tfs_edit_release(&to);
    tfs_buf_release(&text);
    return after != NULL ? after : tfs_doc_ref(save->doc);
}

START_TEST(checksums_differ_where_a_comparison_finds_a_difference)
{
    const struct small_save *kind = &small_saves[_i];

    kind->make(scratch_path(kind->file));
    struct tfs_save *save = open_save(scratch_path(kind->file), TFS_LOCK_EXCLUSIVE);
    for (int i = 0; i < SMALL_EDITS && kind->edits[i].path != NULL; i++) {
        struct tfs_node node;
        if (small_save_find(save, save->doc, kind->edits[i].path, &node) != 0)
            continue;
        struct tfs_doc *after = apply(save, &kind->edits[i]);
        assert_sums_agree(save, after, kind->edits[i].path);
        tfs_doc_unref(after);
    }
    tfs_save_close(save);
}
END_TEST

/* ---- the same, stored otherwise -------------------------------------------------------------- */

static uint64_t sum_of_records(const char *value)
{
    struct tree_files c;
    struct tfs_chunk_count sum = {0};

    place_open_hex(&c, value);
    make_sum(&(struct tfs_side){c.save, c.doc}, 0, &sum);
    const uint64_t checksum = sum.checksum;
    tfs_chunk_count_release(&sum);
    tree_files_close(&c);
    return checksum;
}

/* Eight cells of Grass as one run, and as two. */
START_TEST(records_split_otherwise_have_the_same_checksum)
{
    const uint64_t whole = sum_of_records("01 01 00000000 00000000 00000000 82 07");

    ck_assert_uint_eq(whole, sum_of_records("01 01 00000000 00000000 00000000 82 02 82 04"));
    ck_assert_uint_ne(whole, sum_of_records("01 01 00000000 00000000 00000000 83 07"));
}
END_TEST

static uint64_t sum_of_palette(const char *const *names, const uint16_t *ids)
{
    struct maker_region region = maker_region_init(3);
    struct maker_chunk *chunk = maker_region_add(&region, 0, 0, 0);
    struct tfs_chunk_count sum = {0};
    struct tree_files c;

    maker_layered(&chunk->body, names, 3, ids, 3);
    maker_sky(&chunk->body, NULL);
    maker_sky(&chunk->body, NULL);
    maker_entities(&chunk->body, NULL, -1);
    cosmic_open_maker(&c, &region);
    make_sum(&(struct tfs_side){c.save, c.doc}, 0, &sum);
    const uint64_t checksum = sum.checksum;
    tfs_chunk_count_release(&sum);
    tree_files_close(&c);
    maker_region_release(&region);
    return checksum;
}

START_TEST(palettes_of_another_order_have_the_same_checksum)
{
    static const char *const names[] = {"base:air", "base:grass", "base:sand"};
    static const char *const others[] = {"base:sand", "base:air", "base:grass"};
    static const char *const renamed[] = {"base:air", "base:sand", "base:grass"};
    static uint16_t ids[MAKER_VOXELS], turned[MAKER_VOXELS];

    for (size_t i = 0; i < MAKER_VOXELS; i++) {
        ids[i] = (uint16_t)(i % 7 % 3);
        turned[i] = (uint16_t)((ids[i] + 1) % 3);
    }
    const uint64_t sum = sum_of_palette(names, ids);
    ck_assert_uint_eq(sum, sum_of_palette(others, turned));
    ck_assert_uint_ne(sum, sum_of_palette(renamed, ids));
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("diff");
    TCase *sums = unit_case(suite, "sums");

    tcase_add_checked_fixture(sums, scratch_setup, scratch_teardown);
    tcase_set_timeout(sums, 60);
    tcase_add_loop_test(sums, chunks_have_as_many_voxels_of_a_name_as_are_found_one_by_one, 0,
                        small_save_count);
    tcase_add_loop_test(sums,
                        chunks_that_were_fetched_are_summed_up_without_another_look_at_the_save, 0,
                        small_save_count);
    tcase_add_loop_test(sums, checksums_differ_where_a_comparison_finds_a_difference, 0,
                        small_save_count);
    tcase_add_test(sums, records_split_otherwise_have_the_same_checksum);
    tcase_add_test(sums, palettes_of_another_order_have_the_same_checksum);
    return suite;
}

UNIT_MAIN(make_suite)
