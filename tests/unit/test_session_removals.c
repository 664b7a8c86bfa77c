/*
 * When the removal of an optional file reaches the save: with the next edit of its chunk, at a
 * barrier, and at no other time here, for the two seconds of these sessions are an hour.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fs/session/ops.h"
#include "../lib/session_driver.h"
#include "../lib/session_format.h"

#define NOTE "chunks/1_0_0/part/note.txt"
#define TEXT "chunks/1_0_0/text.txt"

#define LINGER_MS 3600000

static void setup(void)
{
    open_with((struct tfs_session_options){.linger_ms = LINGER_MS});
}

static void teardown(void)
{
    fake_disk.fail = 0;
    tfs_session_close(session);
}

static void remove_note(void)
{
    ck_assert_int_eq(unlink_path(NOTE), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
}

static const char *status_line(const char *name)
{
    static char line[64];
    const char *at = strstr(cat(".terrainfs/status"), name);
    ck_assert_ptr_nonnull(at);
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
    return line;
}

static int64_t first_deadline(void)
{
    struct tfs_map_cell cell;
    int64_t first = 0;

    for (size_t at = 0; tfs_map_next(&session->overlay.whiteouts, &at, &cell);)
        first = tfs_sooner(first, ((struct tfs_whiteout *)cell.value)->deadline);
    return first;
}

/* rm -r takes one name after the other, and may take its time. */
START_TEST(removal_of_a_name_gives_those_before_it_in_the_chunk_the_whole_time)
{
    static int (*const removals[])(const char *) = {unlink_path, remove_directory};
    static const char *const names[] = {TEXT, "chunks/1_0_0/part"};

    remove_note();
    for (int i = 0; i < 2; i++) {
        const int64_t before = first_deadline();
        while (tfs_now_ms() + LINGER_MS <= before)
            usleep(1000);
        ck_assert_int_eq(removals[i](names[i]), 0);
        ck_assert_int_gt(first_deadline(), before);
    }
}
END_TEST

START_TEST(removal_goes_with_the_next_edit_of_its_chunk)
{
    remove_note();
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_str_eq(status_line("hidden: "), "hidden: 0");
    ck_assert(!exists(NOTE));
    ck_assert_str_eq(list("chunks/1_0_0/part"), ". .. ");
}
END_TEST

START_TEST(removal_goes_with_a_rename_onto_another_file_of_its_chunk)
{
    ck_assert_int_eq(put("t", "new"), 0);
    remove_note();
    ck_assert_int_eq(rename_path("t", TEXT), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
}
END_TEST

START_TEST(removal_goes_with_a_truncate_of_another_file_of_its_chunk)
{
    struct answer a;
    struct tfs_attr attr;
    struct stat values = {.st_size = 2};
    remove_note();
    ck_assert_int_eq(look(TEXT, &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "on");
}
END_TEST

START_TEST(removal_goes_with_its_chunk_when_that_is_moved)
{
    remove_note();
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 9), "one");
    ck_assert(!exists("chunks/9_0_0/part/note.txt"));
}
END_TEST

START_TEST(removal_is_staged_with_the_edit_that_carries_it)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.linger_ms = LINGER_MS, .commit_seconds = 3600});
    remove_note();
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert_str_eq(cat("chunks/1_0_0/raw.bin"), "new");
    struct tfs_handle *reader = open_path("chunks/0_0_0/text.txt", O_RDONLY);
    ck_assert_int_eq(sync_file(reader), 0);
    tfs_session_release(session, reader);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
}
END_TEST

/* A program that unlinks a file to create it anew is in no hurry because of other chunks. */
START_TEST(removal_waits_while_other_chunks_are_edited)
{
    remove_note();
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert(!exists(NOTE));
    ck_assert_int_eq(put(NOTE, "back"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|back");
}
END_TEST

/* The backup is the only copy of it then. */
START_TEST(file_renamed_away_stays_in_the_save_while_its_chunk_is_edited)
{
    ck_assert_int_eq(rename_path(NOTE, NOTE "~"), 0);
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|note");
    ck_assert(!exists(NOTE));
    ck_assert_int_eq(rename_path(NOTE "~", NOTE), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|note");
}
END_TEST

/* What it held is in the save under the other name. */
START_TEST(file_renamed_onto_another_of_the_save_goes_with_the_next_edit_of_its_chunk)
{
    ck_assert_int_eq(rename_path(NOTE, "chunks/0_0_0/part/note.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zero|note");
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
}
END_TEST

START_TEST(file_created_again_is_not_removed_by_an_edit_of_its_chunk)
{
    remove_note();
    struct tfs_handle *handle = open_path(NOTE, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|note");
    ck_assert_int_eq(write_text(handle, 0, "again"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|again");
}
END_TEST

START_TEST(temporary_file_renamed_onto_a_removed_one_takes_its_place)
{
    ck_assert_int_eq(put("t", "again"), 0);
    remove_note();
    ck_assert_int_eq(rename_path("t", NOTE), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|again");
    ck_assert_str_eq(cat(NOTE), "again");
}
END_TEST

START_TEST(stored_bytes_written_after_a_removal_say_what_is_there)
{
    remove_note();
    ck_assert_int_eq(put("chunks/1_0_0/raw.bin", "raw|its note"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "raw|its note");
    ck_assert_str_eq(cat(NOTE), "its note");
    ck_assert_str_eq(list("chunks/1_0_0/part"), ". .. note.txt ");
}
END_TEST

START_TEST(reader_of_a_removed_file_keeps_its_bytes_when_the_removal_is_stored)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look(NOTE, &attr), 0);
    struct tfs_handle *reader = open_path(NOTE, O_RDONLY);
    remove_note();
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
    ck_assert_str_eq(text_of_handle(reader, attr.id), "note");
    ck_assert_int_eq(put(NOTE, "back"), 0);
    tfs_session_release(session, reader);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|back");
    ck_assert_str_eq(cat(NOTE), "back");
}
END_TEST

START_TEST(refused_edit_leaves_the_removal_waiting)
{
    remove_note();
    ck_assert_int_eq(put(TEXT, "b4d"), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0); /* the last close is through */
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert(!exists(NOTE));
    ck_assert_int_eq(put(TEXT, "good"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "good");
}
END_TEST

START_TEST(refused_removal_does_not_hold_up_the_edit)
{
    ck_assert_int_eq(put(NOTE, "?"), 0);
    ck_assert_int_eq(unlink_path(NOTE), 0);
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|?");
    ck_assert_str_eq(messages, "");
    ck_assert(!exists(NOTE));
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(messages, NOTE ": this note stays"));
    ck_assert_str_eq(cat(NOTE), "?");
}
END_TEST

START_TEST(removal_and_edit_wait_together_for_a_full_disk)
{
    remove_note();
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put(TEXT, "new"), -ENOSPC);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert_str_eq(cat("chunks/1_0_0/raw.bin"), "new");
    ck_assert(!exists(NOTE));
    fake_disk.fail = 0;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "any"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
}
END_TEST

START_TEST(removal_waits_on_when_the_operation_that_carried_it_is_undone)
{
    ck_assert_int_eq(put("t", "new"), 0);
    remove_note();
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(rename_path("t", TEXT), -ENOSPC);
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), -ENOSPC);
    ck_assert_str_eq(cat("chunks/1_0_0/raw.bin"), "one|note");
    ck_assert_str_eq(status_line("unsaved: "), "unsaved: no");
    ck_assert(!exists(NOTE));
    fake_disk.fail = 0;
    ck_assert_int_eq(put(TEXT, "later"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "later");
}
END_TEST

/* The end of a directory's removals and the edit that carries one of them may meet. */
START_TEST(removal_is_stored_when_its_directory_is_synced_after_a_failed_commit)
{
    ck_assert_int_eq(put("t", "new"), 0);
    remove_note();
    fake_disk.fail = -EIO;
    ck_assert_int_eq(rename_path("t", TEXT), -EIO);
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), -EIO);
    fake_disk.fail = 0;
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one");
}
END_TEST

static void sync_path(const char *path)
{
    struct tfs_handle *reader = open_path(path, O_RDONLY);
    ck_assert_int_eq(sync_file(reader), 0);
    tfs_session_release(session, reader);
}

START_TEST(barrier_on_a_file_stores_the_removals_of_its_chunk)
{
    remove_note();
    sync_path("chunks/0_0_0/text.txt");
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    sync_path(TEXT);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one");
}
END_TEST

START_TEST(barrier_on_a_root_file_stores_all_removals)
{
    ck_assert_int_eq(put("chunks/0_0_0/part/note.txt", "x"), 0);
    ck_assert_int_eq(unlink_path("chunks/0_0_0/part/note.txt"), 0);
    remove_note();
    sync_path("all.txt");
    ck_assert_str_eq(fake_blob(save->doc, 0), "zero");
    ck_assert_str_eq(fake_blob(save->doc, 1), "one");
}
END_TEST

/* Who unlinked it, to create it anew, does not find it there; and vim's backup stays the only
 * copy. */
START_TEST(barrier_on_a_file_brings_no_name_back)
{
    ck_assert_int_eq(rename_path(NOTE, NOTE "~"), 0);
    ck_assert_int_eq(unlink_path(TEXT), 0);
    sync_path("chunks/1_0_0/raw.bin");
    ck_assert(!exists(TEXT));
    ck_assert(!exists(NOTE));
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
}
END_TEST

static void create_note_anew(void)
{
    struct tfs_handle *handle = open_path(NOTE, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "anew"), 0);
    tfs_session_release(session, handle);
}

START_TEST(file_created_while_its_removal_is_committed_is_there)
{
    remove_note();
    fake_disk.during[FAKE_COMMIT] = create_note_anew;
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert(fake_disk.during[FAKE_COMMIT] == NULL);
    ck_assert_int_eq(sync_directory("chunks"), 0); /* the last close is through */
    ck_assert_str_eq(cat(NOTE), "anew");
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|anew");
}
END_TEST

static void remove_note_meanwhile(void)
{
    ck_assert_int_eq(unlink_path(NOTE), 0);
}

/* It came after the edit: nothing says that it is to be stored with it. */
START_TEST(removal_during_a_commit_waits)
{
    fake_disk.during[FAKE_COMMIT] = remove_note_meanwhile;
    ck_assert_int_eq(put(TEXT, "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|note");
    ck_assert(!exists(NOTE));
    ck_assert_int_eq(put(TEXT, "newer"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "newer");
}
END_TEST

static const TTest *const *const tests[] = {
    &removal_of_a_name_gives_those_before_it_in_the_chunk_the_whole_time,
    &removal_goes_with_the_next_edit_of_its_chunk,
    &removal_goes_with_a_rename_onto_another_file_of_its_chunk,
    &removal_goes_with_a_truncate_of_another_file_of_its_chunk,
    &removal_goes_with_its_chunk_when_that_is_moved,
    &removal_is_staged_with_the_edit_that_carries_it,
    &removal_waits_while_other_chunks_are_edited,
    &file_renamed_away_stays_in_the_save_while_its_chunk_is_edited,
    &file_renamed_onto_another_of_the_save_goes_with_the_next_edit_of_its_chunk,
    &file_created_again_is_not_removed_by_an_edit_of_its_chunk,
    &temporary_file_renamed_onto_a_removed_one_takes_its_place,
    &stored_bytes_written_after_a_removal_say_what_is_there,
    &reader_of_a_removed_file_keeps_its_bytes_when_the_removal_is_stored,
    &refused_edit_leaves_the_removal_waiting,
    &refused_removal_does_not_hold_up_the_edit,
    &removal_and_edit_wait_together_for_a_full_disk,
    &removal_waits_on_when_the_operation_that_carried_it_is_undone,
    &removal_is_stored_when_its_directory_is_synced_after_a_failed_commit,
    &barrier_on_a_file_stores_the_removals_of_its_chunk,
    &barrier_on_a_root_file_stores_all_removals,
    &barrier_on_a_file_brings_no_name_back,
    &file_created_while_its_removal_is_committed_is_there,
    &removal_during_a_commit_waits,
};

static Suite *suite(void)
{
    return unit_suite("removals", setup, teardown, tests, sizeof(tests) / sizeof(tests[0]));
}

UNIT_MAIN(suite)
