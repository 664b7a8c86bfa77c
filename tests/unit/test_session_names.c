/*
 * Names on the fake format: removing, renaming, backups of editors, and which id means which file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/small_saves.h"
#include "scratch.h"
#include "session_case.h"

/* ---- removing and renaming ------------------------------------------------------------------- */

START_TEST(session_unlinked_file_shows_again_at_rest)
{
    session_without_lingering();
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert(comes(exists, "chunks/0_0_0/text.txt"));
    ck_assert_int_eq(fake_disk.commits, 0);
}
END_TEST

START_TEST(session_unlinked_file_can_be_created_again)
{
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert(!exists("chunks/0_0_0/text.txt"));
    ck_assert_str_eq(list("chunks/0_0_0"), ". .. raw.bin part ");
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "again"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "again");
}
END_TEST

START_TEST(session_reader_of_an_unlinked_file_keeps_its_bytes)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "other"), 0);
    ck_assert_str_eq(text_of_handle(handle), "zero");
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "other");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "other");
}
END_TEST

START_TEST(session_removed_optional_file_is_stored_as_absent)
{
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one");
    ck_assert_int_eq(put("chunks/1_0_0/part/note.txt", "back"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|back");
}
END_TEST

START_TEST(session_lists_an_optional_file_from_its_creation_on)
{
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. ");
    struct tfs_handle *handle = open_path("chunks/0_0_0/part/note.txt", O_WRONLY);
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. note.txt ");
    ck_assert_int_eq(remove_directory("chunks/0_0_0/part"), -ENOTEMPTY);
    ck_assert_int_eq(write_text(handle, 0, "new"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. note.txt ");
    ck_assert_str_eq(fake_blob(save->doc, 0), "zero|new");
}
END_TEST

START_TEST(session_fsync_of_a_directory_hears_that_a_removal_is_refused)
{
    ck_assert_int_eq(put("chunks/1_0_0/part/note.txt", "?"), 0);
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(messages, "chunks/1_0_0/part/note.txt: this note stays"));
    ck_assert(exists("chunks/1_0_0/part/note.txt"));
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), 0);
}
END_TEST

START_TEST(session_read_only_files_refuse)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(look("all.txt", &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_WRONLY, &handle, &keep), -EACCES);
    ck_assert_int_eq(unlink_path("all.txt"), -EPERM);
    ck_assert_int_eq(attr.st.st_mode & 0222, 0);
}
END_TEST

static int open_status(const char *path, int flags)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(look(path, &attr), 0);
    int result = tfs_session_open_file(session, attr.id, flags, &handle, &keep);
    if (result == 0)
        tfs_session_release(session, handle);
    return result;
}

static int create_status(const char *path, int flags)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    const char *name;
    uint64_t parent = parent_of(path, &name);
    int result =
        tfs_session_create(session, parent, name, 0644, 0, 0, flags | O_CREAT, &handle, &attr);
    if (result == 0)
        tfs_session_release(session, handle);
    return result;
}

static int truncate_status(const char *path)
{
    struct answer a;
    struct tfs_attr attr;
    ck_assert_int_eq(look(path, &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &(struct stat){.st_size = 1}, TFS_SET_SIZE,
                        REPLY(&a));
    return answer_wait(&a);
}

/* A file that is read-only says EACCES, whatever may be written beside it. */
START_TEST(session_read_only_file_says_eacces_to_whoever_writes)
{
    ck_assert_int_eq(put("s", "scratch"), 0);
    ck_assert_int_eq(open_status("all.txt", O_RDONLY), 0);
    ck_assert_int_eq(open_status("all.txt", O_RDWR), -EACCES);
    ck_assert_int_eq(open_status("all.txt", O_RDONLY | O_TRUNC), -EACCES);
    ck_assert_int_eq(create_status("all.txt", O_WRONLY), -EACCES);
    ck_assert_int_eq(truncate_status("all.txt"), -EACCES);
    ck_assert_int_eq(rename_path("s", "all.txt"), -EACCES);
    ck_assert_int_eq(rename_path("all.txt", "s2"), -EPERM);
    ck_assert_int_eq(open_status(".terrainfs/status", O_WRONLY), -EACCES);
}
END_TEST

/* A mount that is read-only says EROFS, and first. */
START_TEST(session_read_only_mount_says_erofs_to_whoever_writes)
{
    struct tfs_attr attr;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.read_only = true});
    static const char *const paths[] = {"chunks/0_0_0/text.txt", "all.txt"};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(open_status(paths[i], O_RDONLY), 0);
        ck_assert_int_eq(open_status(paths[i], O_WRONLY), -EROFS);
        ck_assert_int_eq(open_status(paths[i], O_RDONLY | O_TRUNC), -EROFS);
        ck_assert_int_eq(create_status(paths[i], O_WRONLY), -EROFS);
        ck_assert_int_eq(truncate_status(paths[i]), -EROFS);
        ck_assert_int_eq(unlink_path(paths[i]), -EROFS);
        ck_assert_int_eq(rename_path(paths[i], "chunks/1_0_0/text.txt"), -EROFS);
    }
    ck_assert_int_eq(create_status("chunks/0_0_0/part/note.txt", O_WRONLY), -EROFS);
    ck_assert_int_eq(create_status("scratch", O_WRONLY), -EROFS);
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), -EROFS);
    ck_assert_int_eq(make_directory("scratch", &attr), -EROFS);
    ck_assert_int_eq(remove_directory("chunks/0_0_0"), -EROFS);
    ck_assert_int_eq(rename_path("chunks/0_0_0", "chunks/5_0_0"), -EROFS);
    ck_assert_int_eq(open_status(".terrainfs/status", O_WRONLY), -EACCES);
    ck_assert_int_eq(fake_disk.commits, 0);
}
END_TEST

START_TEST(session_rename_of_a_scratch_file_is_an_edit)
{
    struct tfs_attr attr;
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "FRESH"), 0);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "fresh");
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "fresh");
    ck_assert(!exists("chunks/0_0_0/.tmp"));
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 5);
}
END_TEST

/* As rsync -t does. */
START_TEST(session_rename_takes_the_times_of_the_scratch_file_along)
{
    const struct stat times = {.st_atim = {.tv_sec = 1000, .tv_nsec = 1},
                               .st_mtim = {.tv_sec = 2000, .tv_nsec = 2}};
    struct tfs_attr attr;
    struct answer a;
    ck_assert_int_eq(put("t", "timed"), 0);
    ck_assert_int_eq(look("t", &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &times, TFS_SET_ATIME | TFS_SET_MTIME, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_mtim.tv_sec, 2000);
    ck_assert_int_eq(attr.st.st_mtim.tv_nsec, 2);
    ck_assert_int_eq(attr.st.st_atim.tv_sec, 1000);
    ck_assert_int_gt(attr.st.st_ctim.tv_sec, 2000);
}
END_TEST

START_TEST(session_refused_rename_leaves_the_scratch_file)
{
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "b4d"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), -EBADMSG);
    ck_assert_str_eq(cat("chunks/0_0_0/.tmp"), "b4d");
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
}
END_TEST

START_TEST(session_backup_and_new_file_as_vim_writes)
{
    struct tfs_attr before, after;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &before), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "chunks/0_0_0/text.txt~"), 0);
    ck_assert(!exists("chunks/0_0_0/text.txt"));
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "edited"), 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt~"), "zero");
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt~"), 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "edited");
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &after), 0);
    ck_assert_uint_ne(after.id, before.id);
    ck_assert_uint_eq(after.st.st_ino, before.st.st_ino);
}
END_TEST

START_TEST(session_lets_mv_copy_a_file_of_the_tree_onto_another)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt"), -EXDEV);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert(exists("chunks/0_0_0/text.txt"));
}
END_TEST

/* ---- ids and names --------------------------------------------------------------------------- */

START_TEST(session_removal_of_an_optional_file_moves_with_its_chunk)
{
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), 0);
    ck_assert_int_eq(sync_directory("chunks/9_0_0/part"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 9), "one");
}
END_TEST

START_TEST(session_removal_that_is_refused_does_not_hold_up_an_edit)
{
    ck_assert_int_eq(put("chunks/1_0_0/part/note.txt", "?"), 0);
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "new"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new|?");
    /* Its name is free, and nothing was said yet. */
    ck_assert_str_eq(messages, "");
    ck_assert(!exists("chunks/1_0_0/part/note.txt"));
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(messages, "chunks/1_0_0/part/note.txt: this note stays"));
    ck_assert(exists("chunks/1_0_0/part/note.txt"));
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), 0);
}
END_TEST

/* On a full disk; then there is room. */
static void check_removal_waits(const char *raw)
{
    ck_assert_str_eq(cat("chunks/1_0_0/raw.bin"), raw);
    ck_assert(!exists("chunks/1_0_0/part/note.txt"));
    fake_disk.fail = 0;
}

START_TEST(session_removal_and_edit_wait_together_for_a_full_disk)
{
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "new"), -ENOSPC);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    check_removal_waits("new");
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "any"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "new");
}
END_TEST

static const struct tfs_container *real;
static void (*before_commit)(void); /* once; NULL: nothing */

static int commit_where_there_is_room(struct tfs_save *of, struct tfs_doc *doc,
                                      struct tfs_error *err)
{
    void (*const now)(void) = before_commit;

    before_commit = NULL;
    if (now != NULL)
        now();
    return fake_disk.fail != 0 ? tfs_fail(err, fake_disk.fail, "the disk is full")
                               : real->commit(of, doc, err);
}

/* A session on the blob of a terrain, whose disk does what the fake one does. */
static void open_blob(void)
{
    static struct tfs_container failing;
    const struct tfs_open_options exclusive = {.lock = TFS_LOCK_EXCLUSIVE};
    const char *path = scratch_path("terrain.bin");
    struct tfs_save *opened = NULL;
    struct tfs_error err = {0};

    tfs_session_close(session);
    for (int i = 0; i < small_save_count; i++)
        if (strcmp(small_saves[i].file, "terrain.bin") == 0)
            small_saves[i].make(path);
    ck_assert_msg(tfs_save_open(path, NULL, &exclusive, &opened, &err) == 0, "%s", err.text);
    real = opened->container;
    failing = *real;
    failing.commit = commit_where_there_is_room;
    opened->container = &failing;
    open_save_with(opened, (struct tfs_session_options){.linger_ms = 3600000});
}

static struct tfs_handle *second_handle;
static struct answer second_answer;

/* While an edit is written another one comes, and another program saves. */
static void edit_and_be_overtaken(void)
{
    tfs_session_flush(session, second_handle, 1, REPLY(&second_answer));
    while (strcmp(cat("chunks/5_5_5/occupancy.txt"), "fill 50\n") != 0)
        usleep(1000);
    ck_assert_int_eq(utimensat(AT_FDCWD, scratch_path("terrain.bin"), NULL, 0), 0);
}

/* What it was written with before them is there for the next edit. */
START_TEST(session_keeps_values_of_a_new_chunk_when_two_edits_of_it_are_set_aside)
{
    struct tfs_attr attr;

    scratch_setup();
    open_blob();
    answer_init(&second_answer);
    ck_assert_int_eq(make_directory("chunks/5_5_5", &attr), 0);
    ck_assert_int_eq(put("chunks/5_5_5/occupancy.txt", "fill 100\n"), 0);
    second_handle = open_path("chunks/5_5_5/occupancy.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(second_handle, 0, "fill 50\n"), 0);
    before_commit = edit_and_be_overtaken;
    ck_assert_int_eq(put("chunks/5_5_5/materials.txt", "fill 2\n"), -ESTALE);
    ck_assert_int_eq(answer_wait(&second_answer), -ESTALE);
    tfs_session_release(session, second_handle);
    ck_assert_int_eq(put("chunks/5_5_5/materials.txt", "fill 2\n"), 0);
    ck_assert_str_eq(cat("chunks/5_5_5/occupancy.txt"), "fill 100\n");
    tfs_session_close(session);
    open_with((struct tfs_session_options){0});
    scratch_teardown();
}
END_TEST

START_TEST(session_full_scratch_leaves_a_file_that_was_to_be_moved_away)
{
    static char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    tfs_session_close(session);
    open_with((struct tfs_session_options){.scratch_limit = 3000});
    ck_assert_int_eq(put("big", text), 0);
    ck_assert_int_eq(put("old", "old"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", text), 0);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, 0, "abc"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "old"), -ENOSPC);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(cat("old"), "old");
    ck_assert_int_eq(strncmp(cat("chunks/0_0_0/text.txt"), "abcx", 4), 0);
}
END_TEST

START_TEST(session_removed_file_that_stays_open_has_a_cap)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR);
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(write_text(handle, UINT64_C(1) << 28, "x"), -EFBIG);
    ck_assert_int_eq(write_text(handle, 4, "x"), 0);
    tfs_session_release(session, handle);
}
END_TEST

START_TEST(session_move_onto_a_chunk_that_came_from_outside_is_refused)
{
    outside_change(9, "theirs");
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), -EEXIST);
    ck_assert_str_eq(cat("chunks/9_0_0/text.txt"), "theirs");
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "one");
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static const TTest *const *const tests[] = {
    &session_unlinked_file_shows_again_at_rest,
    &session_unlinked_file_can_be_created_again,
    &session_reader_of_an_unlinked_file_keeps_its_bytes,
    &session_removed_optional_file_is_stored_as_absent,
    &session_lists_an_optional_file_from_its_creation_on,
    &session_fsync_of_a_directory_hears_that_a_removal_is_refused,
    &session_read_only_files_refuse,
    &session_read_only_file_says_eacces_to_whoever_writes,
    &session_read_only_mount_says_erofs_to_whoever_writes,
    &session_rename_of_a_scratch_file_is_an_edit,
    &session_rename_takes_the_times_of_the_scratch_file_along,
    &session_refused_rename_leaves_the_scratch_file,
    &session_backup_and_new_file_as_vim_writes,
    &session_lets_mv_copy_a_file_of_the_tree_onto_another,
    &session_removal_of_an_optional_file_moves_with_its_chunk,
    &session_removal_that_is_refused_does_not_hold_up_an_edit,
    &session_removal_and_edit_wait_together_for_a_full_disk,
    &session_keeps_values_of_a_new_chunk_when_two_edits_of_it_are_set_aside,
    &session_full_scratch_leaves_a_file_that_was_to_be_moved_away,
    &session_removed_file_that_stays_open_has_a_cap,
    &session_move_onto_a_chunk_that_came_from_outside_is_refused,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session names");

    session_case(s, tests, sizeof(tests) / sizeof(tests[0]));
    return s;
}

UNIT_MAIN(suite)
