/*
 * Commits on the fake format: full and failing disks, staged edits, and saves that other programs
 * change.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "scratch.h"
#include "session_case.h"

/* ---- the disk -------------------------------------------------------------------------------- */

START_TEST(session_full_disk_is_told_to_close_and_the_edit_waits)
{
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "later"), -ENOSPC);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "later");
    ck_assert_str_eq(fake_blob(save->doc, 0), "zero");
    fake_disk.fail = 0;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "now"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "later");
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

START_TEST(session_failed_name_operations_wait_for_the_next_commit)
{
    struct tfs_attr attr;
    fake_disk.fail = -EIO;
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), -EIO);
    ck_assert(exists("chunks/5_0_0"));
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/6_0_0"), -EIO);
    ck_assert_str_eq(cat("chunks/6_0_0/text.txt"), "one");
    ck_assert(!exists("chunks/1_0_0"));
    ck_assert_int_eq(put("t", "abc"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), -EIO);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "abc");
    ck_assert_str_eq(cat("t"), "abc");
    fake_disk.fail = 0;
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abc");
    ck_assert_str_eq(fake_blob(save->doc, 6), "one|note");
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

/* Into a directory that is made; its name ends with XXXXXX. */
static void move_save(char *directory)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    free(save->path);
    ck_assert_int_gt(asprintf(&save->path, "%s/fake.save", directory), 0);
}

START_TEST(session_unsaved_edits_are_kept_beside_the_save)
{
    char command[512];
    char directory[] = "/tmp/fake-XXXXXX";
    move_save(directory);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "kept"), -ENOSPC);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "b a d"), -EBADMSG);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    snprintf(command, sizeof(command),
             "cd %s && grep -q kept fake.save.unsaved-*/journal && "
             "test \"$(cat fake.save.rejected-*/chunks/1_0_0/text.txt)\" = 'b a d' && rm -r %s",
             directory, directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* The disk of the save has room for a directory, and not for what belongs in it. */
START_TEST(session_keeps_edits_elsewhere_when_they_do_not_fit_beside_the_save)
{
    char command[512];
    char directory[] = "/tmp/fake-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    free(save->path);
    ck_assert_int_gt(asprintf(&save->path, "%s/save/fake.save", directory), 0);
    snprintf(command, sizeof(command),
             "mkdir %s/save && mount -t tmpfs -o nr_inodes=2 tmpfs %s/save 2>/dev/null", directory,
             directory);
    ck_assert_int_eq(system(command), 0);
    setenv("XDG_STATE_HOME", directory, 1);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "kept"), -ENOSPC);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "too"), -ENOSPC);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    snprintf(command, sizeof(command),
             "cd %s && test -z \"$(ls save)\"; bad=$?; umount save; "
             "test $bad = 0 && grep -q kept terrainfs/fake.save.unsaved-*/journal && "
             "rm -r %s",
             directory, directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(session_staged_edits_are_forced_by_fsync)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.commit_auto = true});
    fake_disk.fail = -EBUSY;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "staged"), 0);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "too"), 0);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_str_eq(cat("chunks/0_0_0/raw.bin"), "staged");
    struct tfs_handle *reader = open_path("all.txt", O_RDONLY);
    fake_disk.fail = 0;
    ck_assert_int_eq(sync_file(reader), 0);
    tfs_session_release(session, reader);
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "last"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "last");
}
END_TEST

/* ---- the save changes behind our back -------------------------------------------------------- */

START_TEST(session_reloads_a_changed_save_without_edits)
{
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, "chunks/0_0_0/text.txt"));
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "one");
}
END_TEST

START_TEST(session_takes_what_another_program_wrote_elsewhere_before_a_close)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    outside_change(1, "theirs");
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "ours");
    ck_assert_str_eq(fake_blob(save->doc, 1), "theirs");
}
END_TEST

static void another_program_writes(void)
{
    outside_change(1, "theirs");
}

/* It was faster than the commit of an edit that was made already. */
START_TEST(session_sets_an_edit_aside_when_the_save_changed_under_it)
{
    char command[512], directory[] = "/tmp/fake-XXXXXX";
    move_save(directory);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    fake_disk.during[FAKE_PUT] = another_program_writes;
    ck_assert_int_eq(flush(handle), -ESTALE);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_int_eq(sync_file(handle), -ESTALE); /* that it asks again does not save it */
    ck_assert_int_eq(close_file(handle), -ESTALE);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "theirs");
    ck_assert_ptr_nonnull(strstr(messages, "edits that waited for it are in"));
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "again"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    snprintf(command, sizeof(command), "grep -q ours %s/fake.save.unsaved-*/journal && rm -r %s",
             directory, directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

static struct tfs_handle *late;

static void all_write(void)
{
    another_program_writes();
    ck_assert_int_eq(write_text(late, 4, "more"), 0);
}

/* What came behind that edit is not aside with it. */
START_TEST(session_keeps_what_was_written_while_an_edit_was_set_aside)
{
    char command[512], directory[] = "/tmp/fake-XXXXXX";
    move_save(directory);
    late = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(late, 0, "ours"), 0);
    fake_disk.during[FAKE_PUT] = all_write;
    ck_assert_int_eq(sync_file(late), -ESTALE);
    ck_assert_int_eq(close_file(late), -ESTALE);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "oursmore");
    snprintf(command, sizeof(command), "rm -r %s", directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* What the first edit became has no place to go to, so nothing can be edited. */
START_TEST(session_keeps_what_a_close_gives_to_a_save_that_cannot_be_edited_now)
{
    setenv("XDG_STATE_HOME", "/dev/null", 1);
    free(save->path);
    ck_assert_ptr_nonnull(save->path = strdup("/dev/null/fake.save"));
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    fake_disk.during[FAKE_PUT] = another_program_writes;
    ck_assert_int_lt(sync_file(handle), 0);
    ck_assert_int_lt(put("chunks/1_0_0/text.txt", "more"), 0);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/1_0_0/text.txt"), "more");
    (void)close_file(handle);
    tfs_session_close(session); /* nothing of it gets into a home */
    unsetenv("XDG_STATE_HOME");
    open_with((struct tfs_session_options){0});
}
END_TEST

/* ---- open files go on ------------------------------------------------------------------------ */

#define TEXT     "chunks/0_0_0/text.txt"
#define REJECTED ".terrainfs/rejected/" TEXT

static int cut_to(struct tfs_handle *handle, const char *path, off_t size)
{
    const struct stat values = {.st_size = size};
    struct tfs_attr attr;
    struct answer a;
    ck_assert_int_eq(look(path, &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, handle, &values, TFS_SET_SIZE, REPLY(&a));
    return answer_wait(&a);
}

/* An editor that has synced keeps its descriptor. */
START_TEST(session_refuses_a_handle_whose_text_another_program_replaced)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    ck_assert_int_eq(sync_file(handle), 0);
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, "chunks/0_0_0/raw.bin"));
    ck_assert_str_eq(cat(TEXT), "theirs");
    ck_assert_int_eq(write_text(handle, 4, "more"), 0);
    ck_assert_int_eq(sync_file(handle), -ESTALE);
    ck_assert_str_eq(cat(REJECTED), "oursmore");
    ck_assert_ptr_nonnull(strstr(cat(".terrainfs/errors.log"), TEXT ": this file was changed"));
    ck_assert_int_eq(cut_to(handle, TEXT, 2), 0);
    ck_assert_int_eq(close_file(handle), -ESTALE);
    ck_assert_str_eq(fake_blob(save->doc, 0), "theirs");
    ck_assert_str_eq(cat(TEXT), "theirs");
}
END_TEST

START_TEST(session_lets_a_handle_that_was_cut_replace_what_another_program_wrote)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    ck_assert_int_eq(flush(handle), 0);
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, TEXT));
    struct tfs_handle *other = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(other, 6, "too"), 0);
    ck_assert_int_eq(close_file(other), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "theirstoo");
    ck_assert_int_eq(write_text(handle, 4, "more"), 0);
    ck_assert_str_eq(cat(TEXT), "theirstoo");
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "oursmore");
}
END_TEST

START_TEST(session_leaves_writers_of_other_chunks_alone_when_the_save_changes)
{
    struct tfs_handle *handle = open_path("chunks/1_0_0/text.txt", O_WRONLY | O_TRUNC);
    struct tfs_handle *log = open_path("chunks/-2_3_4/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_int_eq(write_text(log, 3, "a"), 0);
    ck_assert_int_eq(flush(log), 0);
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, TEXT));
    ck_assert_int_eq(write_text(handle, 4, "more"), 0);
    ck_assert_int_eq(write_text(log, 4, "b"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_int_eq(close_file(log), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "theirs");
    ck_assert_str_eq(fake_blob(save->doc, 1), "oursmore|note");
    ck_assert_str_eq(fake_blob(save->doc, -2), "twoab");
}
END_TEST

START_TEST(session_appends_to_what_another_program_wrote)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 4, "ours"), 0);
    ck_assert_int_eq(flush(handle), 0);
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, TEXT));
    ck_assert_int_eq(write_text(handle, 8, "more"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "theirsmore");
}
END_TEST

static bool gives_eio(const char *path)
{
    return strcmp(cat(path), strerror(EIO)) == 0;
}

START_TEST(session_broken_save_gives_eio_until_it_is_good_again)
{
    fake_disk.changed = 1;
    ck_assert(comes(gives_eio, "chunks/0_0_0/text.txt"));
    struct tfs_doc *theirs = fake_doc_with(save->doc, 0, "theirs");
    fake_disk.theirs = theirs;
    ck_assert(comes(zero_is_theirs, "chunks/0_0_0/text.txt"));
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static const TTest *const *const tests[] = {
    &session_full_disk_is_told_to_close_and_the_edit_waits,
    &session_failed_name_operations_wait_for_the_next_commit,
    &session_unsaved_edits_are_kept_beside_the_save,
    &session_staged_edits_are_forced_by_fsync,
    &session_reloads_a_changed_save_without_edits,
    &session_takes_what_another_program_wrote_elsewhere_before_a_close,
    &session_sets_an_edit_aside_when_the_save_changed_under_it,
    &session_keeps_what_was_written_while_an_edit_was_set_aside,
    &session_keeps_what_a_close_gives_to_a_save_that_cannot_be_edited_now,
    &session_broken_save_gives_eio_until_it_is_good_again,
    &session_refuses_a_handle_whose_text_another_program_replaced,
    &session_lets_a_handle_that_was_cut_replace_what_another_program_wrote,
    &session_leaves_writers_of_other_chunks_alone_when_the_save_changes,
    &session_appends_to_what_another_program_wrote,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session commits");
    TCase *c = session_case(s, tests, sizeof(tests) / sizeof(tests[0]));

    unit_add_where(scratch_can_mount(), c,
                   session_keeps_edits_elsewhere_when_they_do_not_fit_beside_the_save, 1,
                   "root and mount(2)");
    return s;
}

UNIT_MAIN(suite)
