/*
 * Commits on the toy format: full and failing disks, staged edits, and saves that other programs
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
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "later"), -ENOSPC);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "later");
    ck_assert_str_eq(toy_blob(save->doc, 0), "zero");
    toy_disk.fail = 0;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "now"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "later");
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

START_TEST(session_failed_name_operations_are_undone)
{
    struct tfs_attr attr;
    toy_disk.fail = -EIO;
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), -EIO);
    ck_assert(!exists("chunks/5_0_0"));
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/6_0_0"), -EIO);
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "one");
    ck_assert(!exists("chunks/6_0_0"));
    ck_assert_int_eq(put("t", "abc"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/1_0_0/text.txt"), -EIO);
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "one");
    ck_assert_str_eq(cat("t"), "abc");
}
END_TEST

START_TEST(session_unsaved_edits_are_kept_beside_the_save)
{
    char command[512];
    char directory[] = "/tmp/toy-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    free(save->path);
    ck_assert_int_gt(asprintf(&save->path, "%s/toy.save", directory), 0);
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "kept"), -ENOSPC);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "b a d"), -EBADMSG);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    snprintf(command, sizeof(command),
             "cd %s/toy.save.unsaved-* && test \"$(cat chunks/0_0_0/raw.bin)\" = kept && "
             "test \"$(cat rejected/chunks/1_0_0/text.txt)\" = 'b a d' && rm -r %s",
             directory, directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

/* The disk of the save has room for a directory, and not for what belongs in it. */
START_TEST(session_keeps_edits_elsewhere_when_they_do_not_fit_beside_the_save)
{
    char command[512];
    char directory[] = "/tmp/toy-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    free(save->path);
    ck_assert_int_gt(asprintf(&save->path, "%s/save/toy.save", directory), 0);
    snprintf(command, sizeof(command),
             "mkdir %s/save && mount -t tmpfs -o nr_inodes=5 tmpfs %s/save 2>/dev/null", directory,
             directory);
    ck_assert_int_eq(system(command), 0);
    setenv("XDG_STATE_HOME", directory, 1);
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "kept"), -ENOSPC);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "too"), -ENOSPC);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    snprintf(command, sizeof(command),
             "cd %s && test -z \"$(ls save)\"; bad=$?; umount save; "
             "test $bad = 0 && test \"$(cat terrainfs/toy.*/chunks/0_0_0/raw.bin)\" = kept && "
             "rm -r %s",
             directory, directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(session_staged_edits_are_forced_by_fsync)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.commit_seconds = 3600});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "staged"), 0);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "too"), 0);
    ck_assert_int_eq(toy_disk.commits, 0);
    ck_assert_str_eq(cat("chunks/0_0_0/raw.bin"), "staged");
    struct tfs_handle *reader = open_path("all.txt", O_RDONLY);
    ck_assert_int_eq(sync_file(reader), 0);
    tfs_session_release(session, reader);
    ck_assert_int_eq(toy_disk.commits, 1);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "last"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "last");
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

START_TEST(session_asks_when_the_save_changed_under_an_edit)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    outside_change(1, "theirs");
    ck_assert_int_eq(close_file(handle), -ESTALE);
    ck_assert_int_eq(toy_disk.commits, 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "ours");
    ck_assert_ptr_nonnull(strstr(messages, "conflict=mine"));
    tfs_doc_unref(toy_disk.theirs);
}
END_TEST

START_TEST(session_theirs_reloads_and_keeps_our_bytes_aside)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_THEIRS});
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    outside_change(0, "theirs");
    ck_assert_int_eq(close_file(handle), -ESTALE);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "theirs");
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "ours");
}
END_TEST

/* The worker looks by itself, too: what close said 0 of is told by the next barrier, once. */
START_TEST(session_fsync_tells_of_staged_edits_that_were_set_aside)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_THEIRS, .commit_seconds = 60});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "ours"), 0);
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, "chunks/0_0_0/text.txt"));
    ck_assert_int_eq(sync_directory("chunks"), -ESTALE);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "ours");
}
END_TEST

START_TEST(session_mine_puts_our_chunks_onto_the_new_save)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_MINE});
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "ours"), 0);
    outside_change(1, "theirs");
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "ours");
    ck_assert_str_eq(toy_blob(save->doc, 1), "theirs");
}
END_TEST

/* Found by fuzz_session_saves: tiles of one size were put onto a terrain of another. */
START_TEST(session_mine_sets_edits_aside_that_do_not_fit)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_MINE, .commit_seconds = 60});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "ours"), 0);
    toy_disk.misfit = true; /* before: the worker looks on its own, too */
    outside_change(1, "theirs");
    ck_assert_int_eq(sync_directory("chunks"), -ESTALE);
    ck_assert_int_eq(toy_disk.commits, 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "theirs");
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "ours");
    ck_assert_ptr_nonnull(strstr(messages, "do not fit"));
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "again"), 0);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "again");
    ck_assert_str_eq(toy_blob(save->doc, 1), "theirs");
}
END_TEST

START_TEST(session_mine_waits_for_a_broken_save_to_be_good_again)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_MINE, .commit_seconds = 60});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "ours"), 0);
    toy_disk.changed = 1; /* and cannot be read */
    ck_assert_int_eq(sync_directory("chunks"), -EIO);
    ck_assert_int_eq(toy_disk.commits, 0);
    outside_change(1, "theirs");
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "ours");
    ck_assert_str_eq(toy_blob(save->doc, 1), "theirs");
}
END_TEST

static bool gives_eio(const char *path)
{
    return strcmp(cat(path), strerror(EIO)) == 0;
}

START_TEST(session_broken_save_gives_eio_until_it_is_good_again)
{
    toy_disk.changed = 1;
    ck_assert(comes(gives_eio, "chunks/0_0_0/text.txt"));
    struct tfs_doc *theirs = toy_doc_with(save->doc, 0, "theirs");
    toy_disk.theirs = theirs;
    ck_assert(comes(zero_is_theirs, "chunks/0_0_0/text.txt"));
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static const TTest *const *const tests[] = {
    &session_full_disk_is_told_to_close_and_the_edit_waits,
    &session_failed_name_operations_are_undone,
    &session_unsaved_edits_are_kept_beside_the_save,
    &session_staged_edits_are_forced_by_fsync,
    &session_reloads_a_changed_save_without_edits,
    &session_asks_when_the_save_changed_under_an_edit,
    &session_theirs_reloads_and_keeps_our_bytes_aside,
    &session_fsync_tells_of_staged_edits_that_were_set_aside,
    &session_mine_puts_our_chunks_onto_the_new_save,
    &session_mine_sets_edits_aside_that_do_not_fit,
    &session_mine_waits_for_a_broken_save_to_be_good_again,
    &session_broken_save_gives_eio_until_it_is_good_again,
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
