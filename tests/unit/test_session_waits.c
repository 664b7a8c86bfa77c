/*
 * Calls on the fake format that come while another one is under way: which of them waits, and what
 * it hears.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session_case.h"

/* ---- in the middle of something -------------------------------------------------------------- */

static struct tfs_handle *other_handle;

static struct answer other_answer, next_answer;

static void flush_other(void)
{
    tfs_session_flush(session, other_handle, 1, REPLY(&other_answer));
}

static void release_other(void)
{
    tfs_session_release(session, other_handle);
}

START_TEST(session_flush_waits_for_a_validation_under_way)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, 0, "abc"), 0);
    ck_assert_int_eq(write_text(other_handle, 3, "def"), 0);
    answer_init(&other_answer);
    fake_disk.during[FAKE_PUT] = flush_other;
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(flush(handle), -ENOSPC);
    ck_assert_int_eq(answer_wait(&other_answer), -ENOSPC);
    tfs_session_release(session, handle);
    tfs_session_release(session, other_handle);
}
END_TEST

/* ---- on the way to a journal ----------------------------------------------------------------- */

static bool answered_early;

/* While the journal is begun, which needs to know what the save holds. */
static int hash_while_another_closes(struct tfs_save *of, struct tfs_key file,
                                     struct tfs_hash *hash, struct stat *st, struct tfs_error *err)
{
    (void)of;
    (void)file;
    (void)st;
    (void)err;
    flush_other();
    pthread_mutex_lock(&other_answer.lock);
    answered_early = other_answer.done;
    pthread_mutex_unlock(&other_answer.lock);
    *hash = (struct tfs_hash){0};
    return 0;
}

static const struct tfs_journal_files waiting = {.hash = hash_while_another_closes};

/* On a save of that path whose journal begins with what `hash` says. */
static void open_journaling(char *path, const struct tfs_journal_files *one)
{
    static struct tfs_container journaling;
    struct tfs_save *opened = fake_save_create();

    tfs_session_close(session);
    free(opened->path);
    opened->path = path;
    journaling = *opened->container;
    journaling.journal = one;
    opened->container = &journaling;
    open_save_with(opened, (struct tfs_session_options){.commit_seconds = 3600});
}

/* Its bytes were accepted with those of the first close, and no journal holds them yet. */
START_TEST(session_close_waits_for_the_journal_that_another_close_writes)
{
    char directory[] = "/tmp/fake-XXXXXX", *path;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_gt(asprintf(&path, "%s/fake.save", directory), 0);
    open_journaling(path, &waiting);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, 0, "abc"), 0);
    ck_assert_int_eq(write_text(other_handle, 3, "def"), 0);
    answer_init(&other_answer);
    answered_early = true;
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert(!answered_early);
    ck_assert_int_eq(fake_disk.commits, 0);
    tfs_session_release(session, handle);
    tfs_session_release(session, other_handle);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

static int hash_of_nothing(struct tfs_save *of, struct tfs_key file, struct tfs_hash *hash,
                           struct stat *st, struct tfs_error *err)
{
    (void)of;
    (void)file;
    (void)st;
    (void)err;
    *hash = (struct tfs_hash){0};
    return 0;
}

static const struct tfs_journal_files of_nothing = {.hash = hash_of_nothing};

/* Where there cannot be a journal, the save takes the edit at once, and a full disk is told. */
START_TEST(session_close_hears_that_neither_journal_nor_save_can_be_written)
{
    open_journaling(strdup("/dev/null/fake.save"), &of_nothing);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "later"), -ENOSPC);
    fake_disk.fail = 0;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "now"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "later");
    ck_assert_str_eq(fake_blob(save->doc, 1), "now|note");
    ck_assert_int_ge(fake_disk.commits, 1);
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

static struct tfs_handle *split_handle, *third_handle;

/* Another has written and closes while a write(2) of caller 2 is on its way, which the kernel split
 * at the end of a page. */
static void close_other_in_a_split_write(unsigned fragment_ms)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.fragment_ms = fragment_ms});
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    split_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4095, tfs_span_of("d"), false), 0);
    answer_init(&other_answer);
    flush_other();
}

static void release_both(void)
{
    tfs_session_release(session, other_handle);
    tfs_session_release(session, split_handle);
}

START_TEST(session_close_of_one_waits_for_the_rest_of_a_write_of_another)
{
    close_other_in_a_split_write(3600000);
    usleep(20000); /* so that the worker would have validated half of it */
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4096, tfs_span_of("ef"), false),
                     0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcdef");
    ck_assert_int_eq(fake_disk.commits, 1);
    release_both();
}
END_TEST

static void begin_split_write(void)
{
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4095, tfs_span_of("d"), false), 0);
}

/* While the first of two closes is validated that were asked for together. */
static void close_both_soon(void)
{
    fake_disk.during[FAKE_PUT] = begin_split_write;
    flush_other();
    answer_init(&next_answer);
    tfs_session_flush(session, third_handle, 1, REPLY(&next_answer));
}

START_TEST(session_close_waits_for_a_write_that_begins_while_others_are_validated)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.fragment_ms = 3600000});
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    third_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    split_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    ck_assert_int_eq(write_text(third_handle, 0, "abc"), 0);
    answer_init(&other_answer);
    fake_disk.during[FAKE_PUT] = close_both_soon;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abc");
    usleep(20000); /* so that the worker would have validated half of it */
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4096, tfs_span_of("ef"), false),
                     0);
    ck_assert_int_eq(answer_wait(&next_answer), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcdef");
    tfs_session_release(session, third_handle);
    release_both();
}
END_TEST

START_TEST(session_write_that_never_ends_holds_up_no_close)
{
    bool done = false;
    close_other_in_a_split_write(20);
    for (int i = 0; i < 2000 && !done; i++) {
        ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4095, tfs_span_of("d"), false),
                         0);
        usleep(5000);
        pthread_mutex_lock(&other_answer.lock);
        done = other_answer.done;
        pthread_mutex_unlock(&other_answer.lock);
    }
    ck_assert(done);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    release_both();
}
END_TEST

START_TEST(session_close_of_one_goes_on_when_the_other_closes)
{
    close_other_in_a_split_write(3600000);
    answer_init(&next_answer);
    tfs_session_flush(session, split_handle, 2, REPLY(&next_answer));
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_int_eq(answer_wait(&next_answer), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcd");
    release_both();
}
END_TEST

START_TEST(session_close_of_one_does_not_wait_long)
{
    close_other_in_a_split_write(1);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcd");
    release_both();
}
END_TEST

START_TEST(session_end_does_not_wait_for_the_rest_of_a_write)
{
    close_other_in_a_split_write(3600000);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcd");
    release_both();
}
END_TEST

START_TEST(session_close_during_a_validation_keeps_refused_bytes)
{
    struct answer a;
    answer_init(&a);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "b4d"), 0);
    fake_disk.during[FAKE_PUT] = release_other;
    tfs_session_flush(session, other_handle, 1, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "b4d");
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
}
END_TEST

/* RELEASE comes when close(2) has long returned, and is processed later still: the next writer may
 * have begun. */
static void next_writer_begins(void)
{
    release_other();
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "hal"), 0);
}

START_TEST(session_late_release_does_not_validate_what_the_next_writer_has_begun)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "first"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    fake_disk.during[FAKE_PUT] = next_writer_begins;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "first");
    ck_assert_int_eq(write_text(other_handle, 3, "f"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "half");
    release_other();
}
END_TEST

/* Nor is it lost when the next writer writes nothing. */
static void next_writer_only_opens(void)
{
    ck_assert_int_eq(write_text(other_handle, 0, "later"), 0);
    release_other();
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
}

START_TEST(session_bytes_that_no_flush_saw_are_validated_when_the_last_writer_is_gone)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "first"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    fake_disk.during[FAKE_PUT] = next_writer_only_opens;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "first");
    ck_assert_int_eq(flush(other_handle), 0);
    release_other();
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "later");
}
END_TEST

START_TEST(session_reader_may_close_while_its_file_is_unlinked)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "other"), 0);
    fake_disk.during[FAKE_GET] = release_other;
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert(fake_disk.during[FAKE_GET] == NULL);
    ck_assert(comes(exists, "chunks/0_0_0/text.txt"));
}
END_TEST

static void open_other(void)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
}

START_TEST(session_reader_that_comes_during_a_rename_sees_a_whole_file)
{
    ck_assert_int_eq(put("t", "fresh"), 0);
    fake_disk.during[FAKE_COMMIT] = open_other;
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(text_of_handle(other_handle, 0), "zero");
    tfs_session_release(session, other_handle);
}
END_TEST

static void write_other(void)
{
    ck_assert_int_eq(write_text(other_handle, 3, "more"), 0);
}

START_TEST(session_bytes_written_during_a_rename_are_validated_at_close)
{
    other_handle = open_path("t", O_WRONLY);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    fake_disk.during[FAKE_COMMIT] = write_other;
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abc");
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcmore");
    tfs_session_release(session, other_handle);
}
END_TEST

/* Two jobs for one batch: a rename, which is undone when the disk fails, and an edit behind it. */
static void rename_and_flush_other(void)
{
    const char *name;
    uint64_t chunk = parent_of("chunks/0_0_0/text.txt", &name);
    tfs_session_rename(session, 1, "t", chunk, "text.txt", false, REPLY(&next_answer));
    flush_other();
}

START_TEST(session_undo_spares_later_edits_of_the_same_chunk)
{
    ck_assert_int_eq(put("t", "abc"), 0);
    other_handle = open_path("chunks/0_0_0/part/note.txt", O_WRONLY);
    ck_assert_int_eq(write_text(other_handle, 0, "note"), 0);
    answer_init(&other_answer);
    answer_init(&next_answer);
    fake_disk.during[FAKE_PUT] = rename_and_flush_other;
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "uno"), -ENOSPC);
    ck_assert_int_eq(answer_wait(&next_answer), -ENOSPC);
    ck_assert_int_eq(answer_wait(&other_answer), -ENOSPC);
    fake_disk.fail = 0;
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_ptr_nonnull(strstr(fake_blob(save->doc, 0), "|note"));
    tfs_session_release(session, other_handle);
}
END_TEST

START_TEST(session_renames_onto_an_absent_file_that_is_still_open)
{
    struct tfs_handle *reader = open_path("chunks/1_0_0/part/note.txt", O_RDONLY);
    ck_assert_int_eq(put("chunks/1_0_0/raw.bin", "one"), 0);
    ck_assert_int_eq(put("t", "new"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/1_0_0/part/note.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|new");
    tfs_session_release(session, reader);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static const TTest *const *const tests[] = {
    &session_flush_waits_for_a_validation_under_way,
    &session_close_waits_for_the_journal_that_another_close_writes,
    &session_close_hears_that_neither_journal_nor_save_can_be_written,
    &session_close_during_a_validation_keeps_refused_bytes,
    &session_close_of_one_waits_for_the_rest_of_a_write_of_another,
    &session_close_of_one_goes_on_when_the_other_closes,
    &session_close_waits_for_a_write_that_begins_while_others_are_validated,
    &session_write_that_never_ends_holds_up_no_close,
    &session_close_of_one_does_not_wait_long,
    &session_end_does_not_wait_for_the_rest_of_a_write,
    &session_late_release_does_not_validate_what_the_next_writer_has_begun,
    &session_bytes_that_no_flush_saw_are_validated_when_the_last_writer_is_gone,
    &session_reader_may_close_while_its_file_is_unlinked,
    &session_reader_that_comes_during_a_rename_sees_a_whole_file,
    &session_bytes_written_during_a_rename_are_validated_at_close,
    &session_undo_spares_later_edits_of_the_same_chunk,
    &session_renames_onto_an_absent_file_that_is_still_open,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session waits");

    session_case(s, tests, sizeof(tests) / sizeof(tests[0]));
    return s;
}

UNIT_MAIN(suite)
