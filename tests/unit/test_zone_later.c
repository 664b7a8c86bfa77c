/* formats/cosmic_reach: regions of a zone that are read when a chunk of theirs is asked for. */
#include <errno.h>
#include <semaphore.h>

#include "fs/store/store.h"
#include "zone_case.h"

/* The zone of make_zone, of which only the first bytes of each region are looked at. */
static void open_later(void)
{
    const struct tfs_open_options options = {.lock = TFS_LOCK_EXCLUSIVE, .later = true};

    tfs_save_close(save);
    save = NULL;
    ck_assert_msg(tfs_save_open(scratch_path("zone"), NULL, &options, &save, &err) == 0, "%s",
                  err.text);
}

static void make_later(void)
{
    make_region(7, -1, 0, 0);
    make_region(2, 0, 0, 0);
    open_later();
}

static bool lacks(int x, int y, int z)
{
    const struct tfs_key key = {0, x, y, z};

    return tfs_save_lacks(save, save->doc, &key);
}

static void complete(int x, int y, int z)
{
    const struct tfs_key key = {0, x, y, z};

    ck_assert_msg(tfs_save_complete(save, &key, &err) == 0, "%s", err.text);
    ck_assert(!lacks(x, y, z));
}

static void complete_all(void)
{
    ck_assert_msg(tfs_save_complete(save, NULL, &err) == 0, "%s", err.text);
    ck_assert(!tfs_save_lacks(save, save->doc, NULL));
}

START_TEST(region_is_read_when_a_chunk_in_its_area_is_asked_for)
{
    const struct tfs_key left = {0, -3, 1, 2}, right = {0, 3, 1, 2};

    make_later();
    ck_assert_uint_eq(save->doc->count, 0);
    ck_assert(lacks(-3, 1, 2) && lacks(3, 1, 2) && !lacks(40, 0, 0));
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, left), 7);
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, right), 2);
    complete(-3, 1, 2);
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert(has(-16, 0, 0) && has(-16, 1, 0) && lacks(3, 1, 2));
    const uint32_t slot = tfs_doc_at(save->doc, 0)->slot;
    complete_all();
    ck_assert_uint_eq(save->doc->count, 4);
    ck_assert_uint_eq(tfs_doc_at(save->doc, 0)->slot, slot);
    ck_assert_str_eq(text_of("palette.txt"), "base:r_-1_0_0\nbase:r_0_0_0\n");
}
END_TEST

START_TEST(document_that_lacks_nothing_is_not_read_again)
{
    make_later();
    complete_all();
    const uint64_t version = save->doc->version;
    complete_all();
    complete(-3, 1, 2);
    ck_assert_uint_eq(save->doc->version, version);
}
END_TEST

START_TEST(edit_does_not_read_the_other_regions)
{
    make_later();
    const ino_t other = inode_of(0, 0, 0);
    complete(-16, 0, 0);
    ck_assert_int_eq(put_text("chunks/-16_0_0/palette.txt", "0 base:gold_block\n"), 0);
    ck_assert(lacks(0, 0, 0) && !changed());
    ck_assert_uint_eq(inode_of(0, 0, 0), other);
    complete_all();
    ck_assert_str_eq(text_of("chunks/-16_0_0/palette.txt"), "0 base:gold_block\n");
    ck_assert_str_eq(text_of("chunks/0_0_0/palette.txt"), "0 base:r_0_0_0\n");
}
END_TEST

/* ---- by the thread of a store ---- */

static struct tfs_store *store;
static const struct tfs_container *real;
static const struct tfs_key in_left = {0, -16, 0, 0};
static int looks;
static sem_t answered;

static int count_looks(struct tfs_save *opened, const struct tfs_key *chunk, struct tfs_error *why)
{
    looks += chunk == NULL;
    return real->changed(opened, chunk, why);
}

static int64_t stopped_clock(void)
{
    return 1000;
}

static int read_left(struct tfs_job *job, bool last)
{
    (void)job;
    (void)last;
    return tfs_store_complete(store, &in_left, &err);
}

static void on_answer(void *arg, struct tfs_job *jobs)
{
    (void)arg;
    if (jobs != NULL)
        sem_post(&answered);
}

/* Of a thousand regions, those are looked at that somebody asked for. */
START_TEST(reading_a_chunk_looks_at_its_region_alone)
{
    static const struct tfs_job_kind kind = {.apply = read_left};
    const struct tfs_store_options options = {.now = stopped_clock};
    const struct tfs_store_client client = {.answer = on_answer};
    struct tfs_job job = {.kind = &kind, .reads = &in_left};

    make_later();
    struct tfs_container counting = *(real = save->container);
    counting.changed = count_looks;
    save->container = &counting;
    looks = 0;
    sem_init(&answered, 0, 0);
    ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
    ck_assert_int_eq(tfs_store_start(store), 0);
    tfs_store_submit(store, &job);
    ck_assert_int_eq(sem_wait(&answered), 0);
    ck_assert_int_eq(job.result, 0);
    ck_assert_int_eq(looks, 0);
    ck_assert(has(-16, 0, 0) && lacks(0, 0, 0));
    /* One that is changed meanwhile is known to be. */
    make_region(7, 0, 0, 0);
    const struct tfs_key in_right = {0, 0, 0, 0};
    job = (struct tfs_job){.kind = &kind, .reads = &in_right};
    tfs_store_submit(store, &job);
    ck_assert_int_eq(sem_wait(&answered), 0);
    ck_assert_int_eq(looks, 1);
    tfs_store_stop(store);
    tfs_store_give_back(store);
    tfs_store_close(store);
    save->container = real;
}
END_TEST

START_TEST(region_removed_before_it_was_read_has_no_chunks)
{
    make_later();
    ck_assert_int_eq(unlink(scratch_path(region_name(REGIONS, 0, 0, 0))), 0);
    complete_all();
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert(!has(0, 0, 0) && changed());
    reload();
    ck_assert(!changed());
    ck_assert_uint_eq(save->doc->count, 2);
    ck_assert_int_eq(create(0, 0, 0), 0);
    ck_assert(exists(0, 0, 0));
}
END_TEST

START_TEST(region_changed_before_it_was_read_shows_what_it_is_then)
{
    make_later();
    make_region(7, 5, 0, 0);
    ck_assert_int_eq(rename(scratch_path(region_name(REGIONS, 5, 0, 0)),
                            scratch_path("zone/regions/region_0_0_1.cosmicreach")),
                     0);
    make_region(7, 0, 0, 0);
    complete(0, 0, 0);
    ck_assert_uint_eq(tfs_cosmic_version_at(save->doc, (struct tfs_key){0, 0, 0, 0}), 7);
    ck_assert_str_eq(text_of("chunks/0_1_0/palette.txt"), "0 base:r_0_0_0\n");
    ck_assert(changed()); /* one more is there */
    reload();
    ck_assert(!changed() && lacks(-16, 0, 0) && lacks(0, 0, 16) && !lacks(0, 0, 0));
}
END_TEST

START_TEST(zone_of_which_all_is_known_stays_so)
{
    make_later();
    complete_all();
    make_region(7, 0, 0, 1);
    ck_assert(changed());
    reload();
    ck_assert(!tfs_save_lacks(save, save->doc, NULL));
    ck_assert(has(0, 0, 16));
}
END_TEST

START_TEST(damage_in_a_region_is_found_when_it_is_read)
{
    struct maker_bytes bytes = {0};

    maker_add(&bytes, "\xff\xec\xce\xac\0\0\0\7\0\0\0\2nothing", 19);
    make_region(7, -1, 0, 0);
    write_bytes(region_name(REGIONS, 0, 0, 0), &bytes);
    maker_release(&bytes);
    open_later();
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    complete(-16, 0, 0);
    ck_assert_ptr_null(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    ck_assert(tfs_cosmic_check_place(save->doc, (struct tfs_key){0, 0, 0, 0}, &err) == 0);
    complete_all();
    const char *note = tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED);
    ck_assert_ptr_nonnull(note);
    ck_assert_ptr_nonnull(strstr(note, "region_0_0_0.cosmicreach: is left out: offset"));
    ck_assert_int_eq(tfs_cosmic_check_place(save->doc, (struct tfs_key){0, 0, 0, 0}, &err), -EROFS);
    ck_assert(has(-16, 0, 0));
}
END_TEST

START_TEST(bad_first_bytes_of_a_region_are_found_at_once)
{
    make_region(7, -1, 0, 0);
    scratch_write("zone/regions/region_0_0_0.cosmicreach", "no region");
    open_later();
    ck_assert_ptr_nonnull(tfs_facts_find(save->doc->facts, TFS_NOTE_DAMAGED));
    ck_assert(!lacks(0, 0, 0));
}
END_TEST

static Suite *zone_suite(void)
{
    Suite *suite = suite_create("zone_later");
    TCase *later = unit_case(suite, "later");

    tcase_add_checked_fixture(later, setup, teardown);
    tcase_add_test(later, region_is_read_when_a_chunk_in_its_area_is_asked_for);
    tcase_add_test(later, document_that_lacks_nothing_is_not_read_again);
    tcase_add_test(later, edit_does_not_read_the_other_regions);
    tcase_add_test(later, reading_a_chunk_looks_at_its_region_alone);
    tcase_add_test(later, region_removed_before_it_was_read_has_no_chunks);
    tcase_add_test(later, region_changed_before_it_was_read_shows_what_it_is_then);
    tcase_add_test(later, zone_of_which_all_is_known_stays_so);
    tcase_add_test(later, damage_in_a_region_is_found_when_it_is_read);
    tcase_add_test(later, bad_first_bytes_of_a_region_are_found_at_once);
    return suite;
}

UNIT_MAIN(zone_suite)
