/*
 * The store and its journal on a disk that fails when told: what is in the journal when an answer
 * goes out is what a kill at that moment leaves.
 */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "../lib/journal_case.h"
#include "../lib/session_format.h"
#include "formats/journal.h"
#include "fs/store/state.h"

static struct tfs_save *save;
static struct tfs_store *store;
static struct tfs_container journaling;
static int (*fake_commit)(struct tfs_save *of, struct tfs_doc *doc, struct tfs_error *why);
static struct tfs_error err;
static int logged;

/* ---- the disk -------------------------------------------------------------------------------- */

static _Atomic int data_syncs_fail, directory_syncs_fail; /* so many from now on */
static _Atomic bool removals_fail;
static _Atomic int directory_syncs; /* that were asked for */

/* These take the place of the C library's, for the whole program. */
int fdatasync(int fd)
{
    if (data_syncs_fail > 0) {
        data_syncs_fail--;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    directory_syncs++;
    if (directory_syncs_fail > 0) {
        directory_syncs_fail--;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int unlink(const char *path)
{
    if (removals_fail) {
        errno = EIO;
        return -1;
    }
    return unlinkat(AT_FDCWD, path, 0);
}

/* ---- the store ------------------------------------------------------------------------------- */

struct set_job {
    struct tfs_job job;
    int x;
    const char *blob;
    int result;
    bool done, quiet, remove;
    char journal[256]; /* what the journal held when the answer came, unless `quiet` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t come = PTHREAD_COND_INITIALIZER;

static int fake_hash(struct tfs_save *of, struct tfs_key file, struct tfs_hash *hash,
                     struct stat *st, struct tfs_error *ignored)
{
    (void)of;
    (void)file;
    (void)st;
    (void)ignored;
    *hash = (struct tfs_hash){1, 2, 3};
    return 0;
}

static const struct tfs_journal_files one_file = {.hash = fake_hash};

static int apply_set(struct tfs_job *job, bool last)
{
    struct set_job *set = (struct set_job *)job;
    struct tfs_error why = {0};
    struct tfs_edit edit;

    (void)last;
    if (set->blob == NULL && !set->remove)
        return 0;
    int result = tfs_store_edit(store, &edit, &why);
    if (result == 0 && set->remove)
        result = tfs_edit_remove(&edit, (struct tfs_key){.x = set->x}, &why);
    else if (result == 0)
        result = fake_edit_set(&edit, set->x, set->blob, &why);
    if (result == 0)
        result = tfs_store_accept(store, &edit, 0, job, &why);
    tfs_edit_release(&edit);
    return result;
}

static const struct tfs_job_kind set_kind = {.apply = apply_set};

static const char *journal_path(void)
{
    return scratch_path(".fake.save.terrainfs-journal");
}

/* The save with all that its journal says: the chunks that a test sets, "X=blob" each; "none":
 * there is no journal. */
static void print_journal(char *out, size_t size)
{
    struct tfs_journal_text text = {0};
    struct tfs_error why = {0};
    struct timespec when;
    struct tfs_edit edit;
    int found = tfs_journal_read(save->path, &save->st, &text, &why);

    snprintf(out, size, "none");
    if (found == 0)
        return;
    ck_assert_msg(found == 1, "%s", why.text);
    struct tfs_doc *saved = fake_saved(save);
    ck_assert_int_eq(tfs_edit_open(saved, &edit, &why), 0);
    for (size_t i = 0; i < text.count; i++)
        if (text.records[i].kind == TFS_JOURNAL_EDIT)
            ck_assert_int_eq(journal_apply(&edit, text.bytes, text.records[i].payload, &when, &why),
                             0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    out[0] = '\0';
    for (int x = 0; x < 10; x++) {
        size_t used = strlen(out);
        if (fake_blob(doc, x)[0] != '\0')
            snprintf(out + used, size - used, "%s%d=%s", used > 0 ? " " : "", x, fake_blob(doc, x));
    }
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
    tfs_doc_unref(saved);
    tfs_journal_text_release(&text);
}

static void on_answer(void *arg, struct tfs_job *jobs)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    for (struct tfs_job *job = jobs; job != NULL; job = job->next) {
        struct set_job *set = (struct set_job *)job;
        if (!set->quiet)
            print_journal(set->journal, sizeof(set->journal));
        set->result = job->result;
        set->done = true;
        tfs_job_release(job);
    }
    pthread_cond_broadcast(&come);
    pthread_mutex_unlock(&lock);
}

static void on_log(void *arg, const struct tfs_error *why)
{
    (void)arg;
    (void)why;
    logged++;
}

static _Atomic int64_t time_is; /* ms */

static int64_t tell_time(void)
{
    return time_is;
}

/* `burst`: the first edit comes right behind another. */
static void start(struct tfs_store_options options, bool burst)
{
    const struct tfs_store_client client = {.answer = on_answer, .log = on_log};

    save = fake_save_create();
    journaling = *save->container;
    journaling.journal = &one_file;
    fake_commit = journaling.commit;
    save->container = &journaling;
    free(save->path);
    save->path = strdup(scratch_path("fake.save"));
    save->st.st_uid = geteuid();
    save->st.st_size = 1000;
    ck_assert_int_eq(tfs_store_open(save, &options, &client, &store, &err), 0);
    store->pace.edited = burst ? time_is : 0;
    ck_assert_int_eq(tfs_store_start(store), 0);
}

static void setup(void)
{
    scratch_setup();
    tfs_error_reset(&err);
    logged = 0;
    time_is = 1000000; /* stands still: the burst does not end */
    start((struct tfs_store_options){.commit_auto = true, .now = tell_time}, true);
}

static void teardown(void)
{
    fake_disk.fail = 0;
    data_syncs_fail = directory_syncs_fail = 0;
    removals_fail = false;
    tfs_store_close(store);
    scratch_teardown();
}

static void submit(struct set_job *set)
{
    set->job.kind = &set_kind;
    tfs_store_submit(store, &set->job);
}

static int answer_of(struct set_job *set)
{
    pthread_mutex_lock(&lock);
    while (!set->done)
        pthread_cond_wait(&come, &lock);
    pthread_mutex_unlock(&lock);
    return set->result;
}

static struct set_job set_chunk(int x, const char *blob)
{
    struct set_job set = {.x = x, .blob = blob};

    submit(&set);
    answer_of(&set);
    return set;
}

static struct set_job make_chunk(int x, const char *blob)
{
    struct set_job set = {.x = x, .blob = blob};

    submit(&set);
    answer_of(&set);
    return set;
}

/* ---- syncs that fail ------------------------------------------------------------------------- */

START_TEST(journal_whose_sync_failed_is_replaced_before_the_answer)
{
    ck_assert_int_eq(set_chunk(0, "a").result, 0);
    data_syncs_fail = 1;
    struct set_job second = set_chunk(1, "b");
    ck_assert_int_eq(second.result, 0);
    ck_assert_str_eq(second.journal, "0=a 1=b");
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_int_eq(logged, 0);
}
END_TEST

START_TEST(journal_that_others_removed_is_made_anew_before_the_answer)
{
    ck_assert_int_eq(set_chunk(0, "a").result, 0);
    ck_assert_int_eq(unlink(journal_path()), 0);
    struct set_job second = set_chunk(1, "b");
    ck_assert_int_eq(second.result, 0);
    ck_assert_str_eq(second.journal, "0=a 1=b");
}
END_TEST

/* ---- commit=auto ----------------------------------------------------------------------------- */

static void start_auto(void)
{
    tfs_store_close(store);
    time_is = 1000000;
    start((struct tfs_store_options){.commit_auto = true, .now = tell_time}, false);
}

static void await_commits(int commits)
{
    for (int i = 0; i < 3000 && fake_disk.commits < commits; i++)
        usleep(10000);
    ck_assert_int_eq(fake_disk.commits, commits);
}

/* Until the save followed by itself, and all that comes behind it is done. */
static void let_time_pass(int64_t ms)
{
    int commits = fake_disk.commits;

    time_is += ms;
    set_chunk(0, NULL); /* the store looks at the clock */
    await_commits(commits + 1);
    while (tfs_store_unsaved(store))
        usleep(1000);
    set_chunk(0, NULL); /* is answered after the batch that wrote the save */
}

START_TEST(auto_writes_an_edit_that_comes_alone_into_the_save)
{
    start_auto();
    struct set_job first = set_chunk(0, "a");
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_str_eq(first.journal, "none");
    time_is += 250;
    ck_assert_int_eq(set_chunk(0, "b").result, 0);
    ck_assert_int_eq(fake_disk.commits, 2);
    ck_assert_int_eq(access(journal_path(), F_OK), -1);
}
END_TEST

START_TEST(auto_puts_a_burst_into_the_journal_and_writes_the_save_when_it_pauses)
{
    start_auto();
    set_chunk(0, "a");
    for (int i = 0; i < 20; i++) {
        time_is += 249;
        struct set_job next = set_chunk(1, i % 2 ? "b" : "c");
        ck_assert_int_eq(next.result, 0);
        ck_assert_str_eq(next.journal, i % 2 ? "0=a 1=b" : "0=a 1=c");
        ck_assert_int_eq(fake_disk.commits, 1);
    }
    let_time_pass(250);
    ck_assert_str_eq(fake_blob(save->doc, 1), "b");
    ck_assert_int_eq(access(journal_path(), F_OK), -1);
}
END_TEST

START_TEST(auto_writes_the_save_under_a_burst_that_does_not_end)
{
    start_auto();
    set_chunk(0, "a");
    for (int i = 0; i <= 50; i++) {
        ck_assert_int_eq(fake_disk.commits, 1);
        ck_assert_int_eq(set_chunk(1, i % 2 ? "b" : "c").result, 0);
        time_is += 100;
    }
    /* The first that waited is five seconds old. */
    ck_assert_int_eq(set_chunk(1, "d").result, 0);
    await_commits(2);
}
END_TEST

START_TEST(auto_writes_a_large_edit_into_the_save_at_once)
{
    char large[251];

    memset(large, 'x', 250);
    large[250] = '\0';
    start_auto();
    set_chunk(0, "a");
    ck_assert_int_eq(set_chunk(1, large).result, 0);
    ck_assert_int_eq(fake_disk.commits, 2);
    ck_assert_int_eq(set_chunk(1, "small").result, 0);
    ck_assert_int_eq(fake_disk.commits, 2);
}
END_TEST

START_TEST(auto_barrier_brings_the_save_up_to_date)
{
    struct set_job barrier = {.job.barrier = true};

    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b");
    ck_assert_int_eq(fake_disk.commits, 1);
    submit(&barrier);
    ck_assert_int_eq(answer_of(&barrier), 0);
    ck_assert_int_eq(fake_disk.commits, 2);
    ck_assert_str_eq(barrier.journal, "none");
}
END_TEST

/* The edit is durable all the same, and the log says what is wrong with the save. */
START_TEST(auto_keeps_in_the_journal_what_the_save_cannot_take)
{
    start_auto();
    fake_disk.fail = -ENOSPC;
    struct set_job made = make_chunk(5, "five");
    ck_assert_int_eq(made.result, 0);
    ck_assert_str_eq(made.journal, "0=zero 1=one|note 5=five");
    ck_assert_int_eq(logged, 1);
    fake_disk.fail = 0;
    let_time_pass(5000);
    ck_assert_str_eq(fake_blob(save->doc, 5), "five");
}
END_TEST

/* ---- while the save is written --------------------------------------------------------------- */

static struct set_job during[3];

/* In the middle of a rewrite: it goes on when this was answered. */
static void edit_during_rewrite(void)
{
    submit(&during[0]);
    answer_of(&during[0]);
}

START_TEST(rewrite_does_not_hold_up_an_edit)
{
    start_auto();
    during[0] = (struct set_job){.x = 1, .blob = "b"};
    fake_disk.during[FAKE_COMMIT] = edit_during_rewrite;
    struct set_job first = set_chunk(0, "a");
    ck_assert_int_eq(first.result, 0);
    ck_assert_int_eq(during[0].result, 0);
    /* A kill at that moment leaves the old save, which lacks both. */
    ck_assert_str_eq(during[0].journal, "0=a 1=b");
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_str_eq(first.journal, "0=a 1=b");
    let_time_pass(250);
    ck_assert_str_eq(fake_blob(save->doc, 1), "b");
    ck_assert_int_eq(access(journal_path(), F_OK), -1);
}
END_TEST

static void barrier_during_rewrite(void)
{
    submit(&during[0]);
    answer_of(&during[0]);
    submit(&during[1]);
}

START_TEST(rewrite_is_followed_by_another_for_a_barrier_behind_a_later_edit)
{
    start_auto();
    during[0] = (struct set_job){.x = 1, .blob = "b"};
    during[1] = (struct set_job){.job.barrier = true};
    fake_disk.during[FAKE_COMMIT] = barrier_during_rewrite;
    ck_assert_int_eq(set_chunk(0, "a").result, 0);
    ck_assert_int_eq(answer_of(&during[1]), 0);
    ck_assert_int_eq(fake_disk.commits, 2);
    ck_assert_str_eq(fake_blob(save->doc, 1), "b");
    ck_assert_str_eq(during[1].journal, "none");
}
END_TEST

static void fail_during_rewrite(void)
{
    edit_during_rewrite();
    fake_disk.fail = -EIO;
}

/* Its edit is in the journal, because that of another is. */
START_TEST(rewrite_that_fails_takes_nothing_back_that_the_journal_took)
{
    struct set_job made = {.x = 5, .blob = "five"};

    start_auto();
    during[0] = (struct set_job){.x = 1, .blob = "b"};
    fake_disk.during[FAKE_COMMIT] = fail_during_rewrite;
    submit(&made);
    ck_assert_int_eq(answer_of(&made), 0);
    ck_assert_str_eq(during[0].journal, "0=zero 1=b 5=five");
    ck_assert_str_eq(made.journal, "0=zero 1=b 5=five");
    ck_assert_int_eq(logged, 1);
}
END_TEST

static struct tfs_hash finished = {7, 8, 9};
static struct tfs_error finish_error; /* of the thread that writes the save */

/* What a container does before its file takes the place of the old one. */
static int finish(struct tfs_hash made)
{
    return save->rewrite.wrote(save->rewrite.arg, (struct tfs_key){0}, made, true, &finish_error);
}

static void finish_and_edit(void)
{
    ck_assert_int_eq(finish(finished), 0);
    edit_during_rewrite();
}

/* Records that a save with this content lacks, "X=blob" each. */
static size_t lacking(struct tfs_hash hash)
{
    struct tfs_journal_text text = {0};
    struct tfs_error why = {0};
    size_t first = 0, count = 0;

    ck_assert_int_eq(tfs_journal_read(save->path, &save->st, &text, &why), 1);
    ck_assert(journal_first(&text, hash, &first));
    for (size_t i = first; i < text.count; i++)
        count += text.records[i].kind == TFS_JOURNAL_EDIT;
    tfs_journal_text_release(&text);
    return count;
}

static size_t lacks_old, lacks_new;

static void finish_edit_and_look(void)
{
    finish_and_edit();
    lacks_old = lacking((struct tfs_hash){1, 2, 3});
    lacks_new = lacking(finished);
}

/* A kill behind the rename, before anything else is written. */
START_TEST(journal_made_during_a_rewrite_belongs_to_the_old_save_and_to_the_new_one)
{
    start_auto();
    during[0] = (struct set_job){.x = 1, .blob = "b"};
    fake_disk.during[FAKE_COMMIT] = finish_edit_and_look;
    ck_assert_int_eq(set_chunk(0, "a").result, 0);
    ck_assert_uint_eq(lacks_old, 1);
    ck_assert_uint_eq(lacks_new, 1);
    ck_assert_uint_eq(lacking(finished), 1); /* the journal that took its place */
}
END_TEST

START_TEST(journal_knows_what_a_rewrite_holds_and_what_came_behind_its_mark)
{
    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b"); /* these two are in the journal */
    set_chunk(0, "c");
    during[0] = (struct set_job){.x = 1, .blob = "d"};
    fake_disk.during[FAKE_COMMIT] = finish_edit_and_look;
    time_is += 250;
    set_chunk(0, NULL); /* the store looks at the clock */
    for (int i = 0; i < 3000 && tfs_store_commits(store) < 2; i++)
        usleep(10000);
    set_chunk(0, NULL); /* comes behind all that the end of the rewrite led to */
    ck_assert_uint_eq(lacks_old, 3);
    ck_assert_uint_eq(lacks_new, 1);
    ck_assert_uint_eq(lacking(finished), 1);
}
END_TEST

/* Chunk 0 of a save with this content, in which it is `blob`, and with what that save lacks. */
static void replay(struct tfs_hash hash, const char *blob, char out[16])
{
    struct tfs_journal_text text = {0};
    struct tfs_error why = {0};
    struct timespec when;
    struct tfs_edit edit;
    size_t first = 0;

    ck_assert_int_eq(tfs_journal_read(save->path, &save->st, &text, &why), 1);
    ck_assert(journal_first(&text, hash, &first));
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &why), 0);
    ck_assert_int_eq(fake_edit_set(&edit, 0, blob, &why), 0);
    for (size_t i = first; i < text.count; i++)
        if (text.records[i].kind == TFS_JOURNAL_EDIT)
            ck_assert_int_eq(journal_apply(&edit, text.bytes, text.records[i].payload, &when, &why),
                             0);
    struct tfs_doc *doc = tfs_edit_finish(&edit);
    snprintf(out, 16, "%s", fake_blob(doc, 0));
    tfs_doc_unref(doc);
    tfs_edit_release(&edit);
    tfs_journal_text_release(&text);
}

static const char *written; /* chunk 0 of what is written */
static char on_old[16], on_new[16];

static void finish_edit_and_replay(void)
{
    finish_and_edit();
    replay((struct tfs_hash){1, 2, 3}, "a", on_old);
    replay(finished, written, on_new);
}

/* To the save before the rewrite the second edit is none. */
START_TEST(edit_that_takes_back_what_is_being_written_is_in_a_new_journal)
{
    start_auto();
    set_chunk(0, "a");
    time_is += 250;
    during[0] = (struct set_job){.x = 0, .blob = "a"};
    written = "b";
    fake_disk.during[FAKE_COMMIT] = finish_edit_and_replay;
    ck_assert_int_eq(set_chunk(0, written).result, 0);
    ck_assert_int_eq(during[0].result, 0);
    ck_assert_str_eq(on_old, "a");
    ck_assert_str_eq(on_new, "a");
}
END_TEST

/* To the journal, too, which a large edit passes by. */
START_TEST(edit_that_takes_back_what_is_being_written_is_in_a_journal_that_goes_on)
{
    static char large[251];

    memset(large, 'x', 250);
    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b");
    during[0] = (struct set_job){.x = 0, .blob = "a"};
    written = large;
    fake_disk.during[FAKE_COMMIT] = finish_edit_and_replay;
    ck_assert_int_eq(set_chunk(0, written).result, 0);
    ck_assert_int_eq(during[0].result, 0);
    ck_assert_str_eq(on_old, "a");
    ck_assert_str_eq(on_new, "a");
}
END_TEST

static void finish_second_and_look(void)
{
    static const struct tfs_hash second = {7, 8, 10};

    ck_assert_int_eq(finish(second), 0);
    lacks_new = lacking(second);
}

static void finish_with_a_small_and_a_large_edit(void)
{
    finish_and_edit();
    submit(&during[1]);
    fake_disk.during[FAKE_COMMIT] = finish_second_and_look;
}

/* The small one is in the journal of the rewrite before. Once more on top of the large one it would
 * take that back, or bring a chunk that was moved to two places. */
START_TEST(rewrite_right_behind_another_knows_what_it_holds)
{
    static char large[251];

    memset(large, 'x', 250);
    start_auto();
    during[0] = (struct set_job){.x = 1, .blob = "b"};
    during[1] = (struct set_job){.x = 1, .blob = large};
    fake_disk.during[FAKE_COMMIT] = finish_with_a_small_and_a_large_edit;
    ck_assert_int_eq(set_chunk(0, "a").result, 0);
    ck_assert_int_eq(answer_of(&during[1]), 0);
    ck_assert_int_eq(fake_disk.commits, 2);
    ck_assert_uint_eq(lacks_new, 0);
    ck_assert_str_eq(during[1].journal, "none");
}
END_TEST

/* Such as a region file of Godot: what is saved is what was read back. */
static int commit_and_read_back(struct tfs_save *of, struct tfs_doc *doc, struct tfs_error *why)
{
    struct tfs_doc *back = NULL;
    struct tfs_edit edit;

    if (fake_commit(of, doc, why) < 0)
        return why->code;
    ck_assert_int_eq(tfs_doc_create(doc->facts, &back, why), 0);
    ck_assert_int_eq(tfs_edit_open(back, &edit, why), 0);
    for (size_t i = 0; i < doc->count; i++) {
        struct tfs_chunk chunk = *tfs_doc_at(doc, i);
        chunk.slot = TFS_SLOT_NONE;
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, why), 0);
    }
    tfs_doc_unref(back);
    back = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    ck_assert_int_eq(tfs_doc_keep_slots(back, doc, why), 0);
    tfs_doc_unref(of->doc);
    of->doc = back;
    return 0;
}

static uint32_t slot_of(int x)
{
    pthread_mutex_lock(&store->lock);
    const struct tfs_chunk *chunk = tfs_doc_find(store->shown, (struct tfs_key){.x = x});
    uint32_t slot = chunk != NULL ? chunk->slot : TFS_SLOT_NONE;
    pthread_mutex_unlock(&store->lock);
    return slot;
}

static uint32_t slot_made;

static void remove_and_make_again(void)
{
    edit_during_rewrite();
    submit(&during[1]);
    answer_of(&during[1]);
    slot_made = slot_of(1);
}

/* Who has looked it up goes on with it. */
START_TEST(rewrite_that_is_read_back_leaves_a_chunk_made_meanwhile_its_slot)
{
    start_auto();
    journaling.commit = commit_and_read_back;
    const uint32_t slot = slot_of(1);
    during[0] = (struct set_job){.x = 1, .remove = true};
    during[1] = (struct set_job){.x = 1, .blob = "one|note"};
    fake_disk.during[FAKE_COMMIT] = remove_and_make_again;
    ck_assert_int_eq(set_chunk(0, "a").result, 0);
    ck_assert_uint_ne(slot_made, slot);
    ck_assert_uint_eq(slot_of(1), slot_made);
}
END_TEST

static int finish_result;

static void finish_on_a_bad_disk(void)
{
    data_syncs_fail = 1;
    finish_result = finish(finished);
}

/* Else a kill right behind it would leave a save that its journal does not know. */
START_TEST(rewrite_of_which_the_journal_cannot_hear_must_not_end)
{
    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b");
    fake_disk.during[FAKE_COMMIT] = finish_on_a_bad_disk;
    let_time_pass(250);
    ck_assert_int_eq(finish_result, -EIO);
}
END_TEST

/* One that takes nothing more, and one that others removed, give way to a new one. */
START_TEST(journal_that_cannot_hear_of_a_rewrite_is_replaced_before_it)
{
    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b");
    if (_i == 0)
        data_syncs_fail = 1;
    else
        ck_assert_int_eq(unlink(journal_path()), 0);
    during[0] = (struct set_job){.x = 1, .blob = "c"};
    fake_disk.during[FAKE_COMMIT] = finish_edit_and_look;
    time_is += 250;
    set_chunk(0, NULL); /* the store looks at the clock */
    await_commits(2);
    set_chunk(0, NULL);
    ck_assert_uint_eq(lacks_old, 2);
    ck_assert_uint_eq(lacks_new, 1);
    ck_assert_int_eq(logged, 0);
}
END_TEST

/* ---- a journal that cannot be removed -------------------------------------------------------- */

static const struct tfs_hash third = {7, 8, 11};

static void finish_third(void)
{
    ck_assert_int_eq(finish(third), 0);
}

/* Else the next rewrite would be one of another program for whoever opens the save. */
START_TEST(journal_that_cannot_be_removed_hears_of_the_next_rewrite)
{
    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b");
    removals_fail = true;
    let_time_pass(250);
    ck_assert_int_eq(access(journal_path(), F_OK), 0);
    time_is += 250;
    fake_disk.during[FAKE_COMMIT] = finish_third;
    ck_assert_int_eq(set_chunk(1, "c").result, 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "c");
    ck_assert_uint_eq(lacking(third), 0);
    removals_fail = false;
    set_chunk(0, NULL);
    ck_assert_int_eq(access(journal_path(), F_OK), -1);
    ck_assert_int_eq(logged, 0);
}
END_TEST

/* The directory, whose sync failed, may have it back after a power cut. */
START_TEST(journal_whose_removal_is_not_durable_is_removed_again)
{
    start_auto();
    set_chunk(0, "a");
    set_chunk(1, "b");
    directory_syncs = 0;
    directory_syncs_fail = 1;
    let_time_pass(250);
    set_chunk(0, NULL);
    ck_assert_int_eq(access(journal_path(), F_OK), -1);
    ck_assert_int_eq(directory_syncs_fail, 0);
    ck_assert_int_eq(directory_syncs, 2);
}
END_TEST

/* ---- size ------------------------------------------------------------------------------------ */

#define MEGABYTE ((size_t)1 << 20)

static uint64_t journal_size(void)
{
    struct stat st;

    ck_assert_int_eq(stat(journal_path(), &st), 0);
    return (uint64_t)st.st_size;
}

/* The save cannot follow, and one chunk is edited again and again. */
START_TEST(journal_that_cannot_be_emptied_grows_no_further_than_what_is_unsaved)
{
    char *text = malloc(8 * MEGABYTE + 1);

    fake_disk.fail = -ENOSPC;
    for (int i = 0; i < 16; i++) {
        memset(text, 'a' + i % 26, 8 * MEGABYTE);
        text[8 * MEGABYTE] = '\0';
        struct set_job set = {.x = 0, .blob = text, .quiet = true};
        submit(&set);
        ck_assert_int_eq(answer_of(&set), 0);
        ck_assert_uint_le(journal_size(), (64 + 9) * MEGABYTE);
    }
    free(text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_journal");
    TCase *c = unit_case(s, "journal");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, journal_whose_sync_failed_is_replaced_before_the_answer);
    tcase_add_test(c, journal_that_others_removed_is_made_anew_before_the_answer);
    tcase_add_test(c, auto_writes_an_edit_that_comes_alone_into_the_save);
    tcase_add_test(c, auto_puts_a_burst_into_the_journal_and_writes_the_save_when_it_pauses);
    tcase_add_test(c, auto_writes_the_save_under_a_burst_that_does_not_end);
    tcase_add_test(c, auto_writes_a_large_edit_into_the_save_at_once);
    tcase_add_test(c, auto_barrier_brings_the_save_up_to_date);
    tcase_add_test(c, auto_keeps_in_the_journal_what_the_save_cannot_take);
    tcase_add_test(c, rewrite_does_not_hold_up_an_edit);
    tcase_add_test(c, rewrite_is_followed_by_another_for_a_barrier_behind_a_later_edit);
    tcase_add_test(c, rewrite_that_fails_takes_nothing_back_that_the_journal_took);
    tcase_add_test(c, journal_made_during_a_rewrite_belongs_to_the_old_save_and_to_the_new_one);
    tcase_add_test(c, journal_knows_what_a_rewrite_holds_and_what_came_behind_its_mark);
    tcase_add_test(c, edit_that_takes_back_what_is_being_written_is_in_a_new_journal);
    tcase_add_test(c, edit_that_takes_back_what_is_being_written_is_in_a_journal_that_goes_on);
    tcase_add_test(c, rewrite_right_behind_another_knows_what_it_holds);
    tcase_add_test(c, rewrite_that_is_read_back_leaves_a_chunk_made_meanwhile_its_slot);
    tcase_add_test(c, rewrite_of_which_the_journal_cannot_hear_must_not_end);
    tcase_add_loop_test(c, journal_that_cannot_hear_of_a_rewrite_is_replaced_before_it, 0, 2);
    tcase_add_test(c, journal_that_cannot_be_removed_hears_of_the_next_rewrite);
    tcase_add_test(c, journal_whose_removal_is_not_durable_is_removed_again);
    tcase_add_test(c, journal_that_cannot_be_emptied_grows_no_further_than_what_is_unsaved);
    return s;
}

UNIT_MAIN(suite)
