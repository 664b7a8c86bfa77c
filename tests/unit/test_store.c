/*
 * The store on the fake format, without names, inodes or FUSE: jobs, commits, taking edits back,
 * slots, and saves that other programs change.
 */
#include "scratch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/session_format.h"
#include "fs/store/state.h"

static struct tfs_save *save;
static struct tfs_store *store;

/* What the client was told; by the store's thread, read behind its answers. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t come;
    int published, answered, logged, turned, ticks;
    char message[TFS_ERROR_TEXT];
} told;

/* A job that sets a chunk of the fake save. */
struct set_job {
    struct tfs_job job;
    int x;
    const char *blob;
    int *sequence; /* counts the jobs that were applied */
    bool done;
    int result;
};

static int apply_set(struct tfs_job *job, bool last)
{
    struct set_job *set = (struct set_job *)job;
    struct tfs_error err = {0};
    struct tfs_edit edit;

    (void)last;
    if (set->sequence != NULL)
        ++*set->sequence;
    if (set->blob == NULL)
        return 0;
    int result = tfs_store_edit(store, &edit, &err);
    if (result < 0)
        return result;
    result = fake_edit_set(&edit, set->x, set->blob, &err);
    if (result == 0)
        result = tfs_store_accept(store, &edit, 0, job, &err);
    tfs_edit_release(&edit);
    return result;
}

static const struct tfs_job_kind set_kind = {.apply = apply_set};

static void on_publish(void *arg, struct tfs_store *of, const struct tfs_publication *change)
{
    (void)arg;
    ck_assert_ptr_ne(change->before, change->after);
    told.published++;
    tfs_store_show(of, change);
}

static void on_turned(void *arg)
{
    (void)arg;
    told.turned++;
}

static void on_answer(void *arg, struct tfs_job *jobs)
{
    (void)arg;
    pthread_mutex_lock(&told.lock);
    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        struct set_job *set = (struct set_job *)job;
        set->done = true;
        set->result = job->result;
        told.answered++;
        tfs_job_release(job);
    }
    pthread_cond_broadcast(&told.come);
    pthread_mutex_unlock(&told.lock);
}

static void on_log(void *arg, const struct tfs_error *err)
{
    (void)arg;
    pthread_mutex_lock(&told.lock);
    told.logged++;
    snprintf(told.message, sizeof(told.message), "%s", err->text);
    pthread_mutex_unlock(&told.lock);
}

static int logged_count(void)
{
    pthread_mutex_lock(&told.lock);
    int count = told.logged;
    pthread_mutex_unlock(&told.lock);
    return count;
}

static bool with_journal; /* the save is in the scratch directory, where a journal can be */
static struct tfs_container journaling;

static struct tfs_hash hash_now = {1, 2, 3};

static int fake_hash(struct tfs_save *of, struct tfs_key file, struct tfs_hash *hash,
                     struct stat *st, struct tfs_error *err)
{
    (void)of;
    (void)file;
    (void)st;
    (void)err;
    *hash = hash_now;
    return 0;
}

static const struct tfs_journal_files one_file = {.hash = fake_hash};

static void give_journal(void)
{
    journaling = *save->container;
    journaling.journal = &one_file;
    save->container = &journaling;
    free(save->path);
    save->path = strdup(scratch_path("fake.save"));
}

static bool burst;

/* Time stands still: the store neither looks at the save nor writes it by itself. */
static int64_t stopped_clock(void)
{
    return 1000000;
}

static void start(struct tfs_store_options options)
{
    const struct tfs_store_client client = {
        .publish = on_publish,
        .turned = on_turned,
        .answer = on_answer,
        .log = on_log,
    };
    struct tfs_error err = {0};
    options.now = stopped_clock;
    memset(&told, 0, sizeof(told));
    pthread_mutex_init(&told.lock, NULL);
    pthread_cond_init(&told.come, NULL);
    save = fake_save_create();
    if (with_journal)
        give_journal();
    ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
    if (burst) {
        store->pace.edited = options.now();
        store->st.st_size = 1 << 30; /* no record is too large for the journal */
    }
    ck_assert_int_eq(tfs_store_start(store), 0);
}

static void setup(void)
{
    start((struct tfs_store_options){0});
}

/* Edits wait in the journal: each comes right behind another. */
static void restart_in_a_burst(void)
{
    burst = true;
    tfs_store_close(store);
    start((struct tfs_store_options){.commit_auto = true});
    burst = false;
}

static void restart(struct tfs_store_options options)
{
    tfs_store_close(store);
    start(options);
}

static void teardown(void)
{
    fake_disk.fail = 0;
    tfs_store_close(store);
}

static void submit(struct set_job *set)
{
    set->job.kind = &set_kind;
    tfs_store_submit(store, &set->job);
}

static int answer_of(struct set_job *set)
{
    pthread_mutex_lock(&told.lock);
    while (!set->done)
        pthread_cond_wait(&told.come, &told.lock);
    pthread_mutex_unlock(&told.lock);
    return set->result;
}

static int set_chunk(int x, const char *blob)
{
    struct set_job set = {.x = x, .blob = blob};
    submit(&set);
    return answer_of(&set);
}

static int barrier(void)
{
    struct set_job sync = {.job.barrier = true};
    submit(&sync);
    return answer_of(&sync);
}

static void outside_change(int x, const char *blob)
{
    fake_disk.theirs = fake_doc_with(save->doc, x, blob);
    fake_disk.changed = 1;
}

/* The shown document, a reference. */
static struct tfs_doc *snapshot(void)
{
    pthread_mutex_lock(&store->lock);
    struct tfs_doc *doc = tfs_doc_ref(store->shown);
    pthread_mutex_unlock(&store->lock);
    return doc;
}

static const char *shown(int x)
{
    struct tfs_doc *doc = snapshot();
    const char *blob = fake_blob(doc, x);
    tfs_doc_unref(doc);
    return blob;
}

/* ---- edits and commits ----------------------------------------------------------------------- */

START_TEST(store_commits_an_edit_before_it_answers)
{
    ck_assert_int_eq(set_chunk(0, "new"), 0);
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_str_eq(fake_blob(save->doc, 0), "new");
    ck_assert_str_eq(shown(0), "new");
    ck_assert(!tfs_store_unsaved(store));
    ck_assert_uint_eq(tfs_store_commits(store), 1);
    ck_assert_int_eq(told.published, 1);
}
END_TEST

START_TEST(store_publishes_nothing_for_an_edit_that_changes_nothing)
{
    ck_assert_int_eq(set_chunk(0, "zero"), 0);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_int_eq(told.published, 0);
}
END_TEST

static struct set_job held[3];

static void submit_held(void)
{
    submit(&held[0]);
    submit(&held[1]);
}

START_TEST(store_writes_the_save_once_for_jobs_that_come_together)
{
    held[0] = (struct set_job){.x = 0, .blob = "a"};
    held[1] = (struct set_job){.x = 1, .blob = "b"};
    fake_disk.during[FAKE_COMMIT] = submit_held;
    ck_assert_int_eq(set_chunk(-2, "c"), 0);
    ck_assert_int_eq(answer_of(&held[0]), 0);
    ck_assert_int_eq(answer_of(&held[1]), 0);
    ck_assert_int_eq(fake_disk.commits, 2);
    ck_assert_str_eq(fake_blob(save->doc, 0), "a");
    ck_assert_str_eq(fake_blob(save->doc, 1), "b");
}
END_TEST

START_TEST(store_snapshot_never_changes)
{
    struct tfs_doc *before = snapshot();
    uint64_t version = before->version;
    uint32_t next_slot = before->next_slot;
    ck_assert_int_eq(set_chunk(0, "new"), 0);
    ck_assert_int_eq(set_chunk(9, "nine"), 0);
    outside_change(1, "theirs");
    ck_assert_int_eq(barrier(), 0);
    ck_assert_str_eq(fake_blob(before, 0), "zero");
    ck_assert_str_eq(fake_blob(before, 9), "");
    ck_assert_uint_eq(before->version, version);
    ck_assert_uint_eq(before->next_slot, next_slot);
    tfs_doc_unref(before);
}
END_TEST

START_TEST(store_stages_edits_until_a_barrier)
{
    restart_in_a_burst();
    ck_assert_int_eq(set_chunk(0, "staged"), 0);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert(tfs_store_unsaved(store));
    ck_assert_str_eq(shown(0), "staged");
    ck_assert_int_eq(barrier(), 0);
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_int_eq(set_chunk(0, "last"), 0);
    tfs_store_stop(store);
    ck_assert_str_eq(fake_blob(save->doc, 0), "last");
}
END_TEST

START_TEST(store_keeps_an_edit_that_could_not_be_written_and_writes_it_later)
{
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(set_chunk(0, "later"), -ENOSPC);
    ck_assert_str_eq(shown(0), "later");
    ck_assert_str_eq(fake_blob(save->doc, 0), "zero");
    ck_assert_int_eq(told.logged, 1);
    fake_disk.fail = 0;
    ck_assert_int_eq(barrier(), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "later");
}
END_TEST

START_TEST(store_tells_a_close_that_the_edit_of_another_could_not_be_written)
{
    fake_disk.fail = -EIO;
    ck_assert_int_eq(set_chunk(0, "later"), -EIO);
    struct set_job close = {.job.saves = true};
    submit(&close);
    ck_assert_int_eq(answer_of(&close), -EIO);
    struct set_job look = {.x = 0};
    submit(&look);
    ck_assert_int_eq(answer_of(&look), 0);
}
END_TEST

START_TEST(store_keeps_an_operation_that_could_not_be_written_for_the_next_commit)
{
    struct set_job make = {.job.of_shown = true, .x = 5, .blob = "five"};
    fake_disk.fail = -ENOSPC;
    submit(&make);
    ck_assert_int_eq(answer_of(&make), -ENOSPC);
    ck_assert_str_eq(shown(5), "five");
    fake_disk.fail = 0;
    ck_assert_int_eq(barrier(), 0);
    ck_assert_str_eq(fake_blob(save->doc, 5), "five");
}
END_TEST

/* ---- other programs -------------------------------------------------------------------------- */

START_TEST(store_reads_a_changed_save_again_when_nothing_is_lost_by_it)
{
    outside_change(0, "theirs");
    ck_assert(!tfs_store_current(store, NULL));
    ck_assert_int_eq(barrier(), 0);
    ck_assert_str_eq(shown(0), "theirs");
    ck_assert(tfs_store_current(store, NULL));
}
END_TEST

/* The journal that was set aside has this text. */
static bool is_aside(const char *text)
{
    char command[2 * PATH_MAX];

    snprintf(command, sizeof(command), "grep -q '%s' %s/fake.save.unsaved-*/journal", text,
             scratch_dir);
    return system(command) == 0;
}

static void restart_on_disk(struct tfs_store_options options)
{
    scratch_setup();
    with_journal = true;
    restart(options);
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
}

START_TEST(store_sets_an_edit_aside_when_another_program_was_faster)
{
    restart_on_disk((struct tfs_store_options){0});
    struct set_job ours = {.job.of_shown = true, .blob = "ours"};
    outside_change(1, "theirs");
    submit(&ours);
    ck_assert_int_eq(answer_of(&ours), -ESTALE);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_str_eq(shown(0), "zero");
    ck_assert_str_eq(shown(1), "theirs");
    ck_assert_ptr_nonnull(strstr(told.message, "edits that waited for it are in"));
    ck_assert(is_aside("ours"));
    ck_assert_int_eq(set_chunk(0, "again"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "again");
    ck_assert_str_eq(fake_blob(save->doc, 1), "theirs");
    tfs_store_stop(store);
    ck_assert_ptr_nonnull(tfs_store_left(store));
    scratch_teardown();
}
END_TEST

/* What was acknowledged waits in the journal until it is durable elsewhere. */
START_TEST(store_sets_edits_of_its_journal_aside_when_another_program_was_faster)
{
    struct set_job next = {.x = 5, .blob = "five"};
    scratch_setup();
    with_journal = true;
    restart_in_a_burst();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
    ck_assert_int_eq(set_chunk(0, "ours"), 0);
    ck_assert_int_eq(access(scratch_path(".fake.save.terrainfs-journal"), F_OK), 0);
    hash_now = (struct tfs_hash){4, 5, 6};
    outside_change(1, "theirs");
    submit(&next);
    ck_assert_int_eq(answer_of(&next), 0);
    ck_assert(is_aside("ours"));
    ck_assert_str_eq(shown(0), "zero");
    ck_assert_str_eq(shown(1), "theirs");
    ck_assert_str_eq(shown(5), "five");
    tfs_store_stop(store);
    ck_assert_str_eq(fake_blob(save->doc, 5), "five");
    ck_assert_int_eq(access(scratch_path(".fake.save.terrainfs-journal"), F_OK), -1);
    scratch_teardown();
}
END_TEST

static int take_away(const char *journal)
{
    return unlink(journal);
}

static int cut_off(const char *journal)
{
    return truncate(journal, 56);
}

/* What the journal held is what is shown, too. */
START_TEST(store_sets_edits_aside_whose_journal_others_took_away)
{
    static int (*const damage[])(const char *) = {take_away, cut_off};
    scratch_setup();
    with_journal = true;
    restart_in_a_burst();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
    ck_assert_int_eq(set_chunk(0, "ours"), 0);
    ck_assert_int_eq(damage[_i](scratch_path(".fake.save.terrainfs-journal")), 0);
    hash_now = (struct tfs_hash){4, 5, 6};
    outside_change(1, "theirs");
    ck_assert_int_eq(set_chunk(5, "five"), 0);
    ck_assert(is_aside("ours"));
    ck_assert_str_eq(shown(0), "zero");
    ck_assert_str_eq(shown(5), "five");
    tfs_store_stop(store);
    scratch_teardown();
}
END_TEST

START_TEST(store_keeps_edits_at_the_end_whose_journal_others_took_away)
{
    char journal[PATH_MAX];

    scratch_setup();
    with_journal = true;
    restart_in_a_burst();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
    ck_assert_int_eq(set_chunk(0, "ours"), 0);
    snprintf(journal, sizeof(journal), "%s", scratch_path(".fake.save.terrainfs-journal"));
    ck_assert_int_eq(take_away(journal), 0);
    if (_i == 1) /* there can be no other one */
        ck_assert_int_eq(mkdir(journal, 0700), 0);
    fake_disk.fail = -EIO;
    tfs_store_stop(store);
    ck_assert_int_eq(is_aside("ours"), _i == 1);
    ck_assert_ptr_nonnull(
        strstr(tfs_store_left(store), _i == 1 ? "are in /" : "are in the journal"));
    scratch_teardown();
}
END_TEST

static struct set_job second;

static void edit_and_be_overtaken(void)
{
    submit(&second);
    while (strcmp(shown(1), "second") != 0)
        usleep(1000);
    outside_change(7, "theirs");
    fake_disk.fail = -ESTALE;
}

/* Both edits are set aside: that of the rewrite, and the one that waits for the next. */
START_TEST(store_tells_who_edited_during_a_rewrite_that_the_edit_was_set_aside)
{
    restart_on_disk((struct tfs_store_options){0});
    second = (struct set_job){.x = 1, .blob = "second"};
    fake_disk.during[FAKE_COMMIT] = edit_and_be_overtaken;
    ck_assert_int_eq(set_chunk(0, "first"), -ESTALE);
    ck_assert_int_eq(answer_of(&second), -ESTALE);
    ck_assert(is_aside("first") && is_aside("second"));
    ck_assert_str_eq(shown(1), "one|note");
    fake_disk.fail = 0;
    tfs_store_stop(store);
    scratch_teardown();
}
END_TEST

/* A program that copied the save over itself took nothing away. */
START_TEST(store_goes_on_with_its_edits_when_the_save_is_what_the_journal_knows)
{
    scratch_setup();
    with_journal = true;
    restart_in_a_burst();
    ck_assert_int_eq(set_chunk(0, "ours"), 0);
    outside_change(0, "zero");
    ck_assert_int_eq(barrier(), 0);
    ck_assert_str_eq(shown(0), "ours");
    ck_assert_str_eq(fake_blob(save->doc, 0), "ours");
    tfs_store_stop(store);
    ck_assert_ptr_null(tfs_store_left(store));
    scratch_teardown();
}
END_TEST

START_TEST(store_says_once_that_a_save_cannot_be_read_and_that_it_can_again)
{
    fake_disk.changed = 1;
    ck_assert_int_eq(barrier(), -EIO);
    ck_assert_int_eq(barrier(), -EIO);
    ck_assert_int_eq(logged_count(), 1);
    ck_assert(tfs_store_broken(store));
    ck_assert_int_eq(told.turned, 1);
    struct tfs_doc *theirs = fake_doc_with(save->doc, 0, "theirs");
    fake_disk.theirs = theirs;
    ck_assert_int_eq(barrier(), 0);
    ck_assert(!tfs_store_broken(store));
    ck_assert_int_eq(told.turned, 2);
    ck_assert_str_eq(shown(0), "theirs");
}
END_TEST

/* ---- many threads ---------------------------------------------------------------------------- */

static void *edit_often(void *arg)
{
    static const char *const texts[] = {"a", "b", "c"};
    for (int i = 0; i < 200; i++)
        if (set_chunk(*(int *)arg, texts[i % 3]) != 0)
            return "an edit failed";
    return NULL;
}

static void *read_often(void *arg)
{
    struct tfs_key key;
    (void)arg;
    for (int i = 0; i < 2000; i++) {
        struct tfs_doc *doc = snapshot();
        bool whole = doc->count >= 3 && tfs_store_key(store, 0, &key);
        tfs_doc_unref(doc);
        (void)tfs_store_current(store, NULL);
        if (!whole)
            return "a snapshot is not whole";
    }
    return NULL;
}

#define MORE_THAN_A_JOURNAL (((size_t)64 << 20) + 1)

START_TEST(store_with_a_full_journal_writes_a_save_on_a_full_disk_no_oftener_than_it_should)
{
    char *text = malloc(MORE_THAN_A_JOURNAL + 1);
    memset(text, 'a', MORE_THAN_A_JOURNAL);
    text[MORE_THAN_A_JOURNAL] = '\0';
    scratch_setup();
    with_journal = true;
    restart_in_a_burst();
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(set_chunk(0, text), 0);
    ck_assert_int_eq(access(scratch_path(".fake.save.terrainfs-journal"), F_OK), 0);
    for (int i = 0; i < 3000 && logged_count() == 0; i++)
        usleep(10000);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(set_chunk(0, NULL), 0);
    ck_assert_int_eq(logged_count(), 1);
    fake_disk.fail = 0;
    tfs_store_stop(store);
    ck_assert_int_eq(access(scratch_path(".fake.save.terrainfs-journal"), F_OK), -1);
    ck_assert_int_eq(fake_disk.commits, 1);
    scratch_teardown();
    free(text);
}
END_TEST

START_TEST(store_serves_many_threads)
{
    static int chunks[] = {0, 1, 7};
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, i < 3 ? edit_often : read_often, &chunks[i % 3]);
    for (int i = 0; i < 6; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        ck_assert_ptr_null(failure);
    }
    tfs_store_stop(store);
    ck_assert_str_eq(fake_blob(save->doc, 7), "b");
}
END_TEST

static const TTest *const *const tests[] = {
    &store_commits_an_edit_before_it_answers,
    &store_publishes_nothing_for_an_edit_that_changes_nothing,
    &store_writes_the_save_once_for_jobs_that_come_together,
    &store_snapshot_never_changes,
    &store_stages_edits_until_a_barrier,
    &store_keeps_an_edit_that_could_not_be_written_and_writes_it_later,
    &store_tells_a_close_that_the_edit_of_another_could_not_be_written,
    &store_keeps_an_operation_that_could_not_be_written_for_the_next_commit,
    &store_reads_a_changed_save_again_when_nothing_is_lost_by_it,
    &store_sets_an_edit_aside_when_another_program_was_faster,
    &store_sets_edits_of_its_journal_aside_when_another_program_was_faster,
    &store_tells_who_edited_during_a_rewrite_that_the_edit_was_set_aside,
    &store_goes_on_with_its_edits_when_the_save_is_what_the_journal_knows,
    &store_says_once_that_a_save_cannot_be_read_and_that_it_can_again,
    &store_with_a_full_journal_writes_a_save_on_a_full_disk_no_oftener_than_it_should,
    &store_serves_many_threads,
};

static Suite *suite(void)
{
    Suite *s = unit_suite("store", setup, teardown, tests, sizeof(tests) / sizeof(tests[0]));
    TCase *c = unit_case(s, "taken_away");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, store_sets_edits_aside_whose_journal_others_took_away, 0, 2);
    tcase_add_loop_test(c, store_keeps_edits_at_the_end_whose_journal_others_took_away, 0, 2);
    return s;
}

UNIT_MAIN(suite)
