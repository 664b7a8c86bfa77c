/*
 * Several saves in one session: two fake saves in one tree, each with its own document, commits,
 * conflicts and reasons not to be written.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/session_driver.h"
#include "../lib/session_format.h"

static struct tfs_save *saves[2];

static void open_two(struct tfs_session_options options, const char *read_only)
{
    struct tfs_error err = {0}, why = {0};
    options.scratch_limit = options.cache_limit = 1 << 20;
    options.exit_fd = -1;
    for (int i = 0; i < 2; i++)
        saves[i] = fake_save_create();
    saves[1]->st.st_mtim.tv_sec = 1000;
    if (read_only != NULL) {
        tfs_fail(&why, -EROFS, "%s", read_only);
        tfs_save_set_read_only(saves[1], &why);
    }
    const struct tfs_session_part parts[] = {{"zones/earth", saves[0]}, {"zones/moon", saves[1]}};
    ck_assert_int_eq(tfs_session_open_many(parts, 2, &options, NULL, &session, &err), 0);
}

static void setup(void)
{
    open_two((struct tfs_session_options){0}, NULL);
}

static void reopen(struct tfs_session_options options, const char *read_only)
{
    tfs_session_close(session);
    open_two(options, read_only);
}

static void teardown(void)
{
    fake_disk.fail = 0;
    tfs_session_close(session);
}

START_TEST(stores_show_their_trees_side_by_side)
{
    ck_assert_str_eq(list(""), ". .. zones ");
    ck_assert_str_eq(list("zones"), ". .. earth moon ");
    ck_assert_str_eq(list("zones/moon"), ". .. all.txt chunks ");
    ck_assert_str_eq(list("zones/moon/chunks"), ". .. 0_0_0 1_0_0 -2_3_4 ");
    ck_assert_str_eq(cat("zones/earth/chunks/0_0_0/text.txt"), "zero");
    ck_assert_str_eq(cat("zones/moon/chunks/1_0_0/part/note.txt"), "note");
    ck_assert(!exists("chunks"));
    ck_assert(!exists("zones/mars"));
}
END_TEST

START_TEST(stores_have_ids_and_attributes_of_their_own)
{
    static const char *const paths[] = {"",
                                        "zones",
                                        "zones/earth",
                                        "zones/moon",
                                        "zones/earth/chunks",
                                        "zones/moon/chunks",
                                        "zones/earth/all.txt",
                                        "zones/moon/all.txt",
                                        "zones/earth/chunks/0_0_0/text.txt",
                                        "zones/moon/chunks/0_0_0/text.txt"};
    struct tfs_attr attrs[10];
    ck_assert_int_eq(tfs_session_getattr(session, 1, NULL, &attrs[0]), 0);
    for (int i = 1; i < 10; i++)
        ck_assert_int_eq(look(paths[i], &attrs[i]), 0);
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < i; j++) {
            ck_assert_msg(attrs[i].id != attrs[j].id, "%s and %s", paths[i], paths[j]);
            ck_assert_msg(attrs[i].st.st_ino != attrs[j].st.st_ino, "%s and %s", paths[i],
                          paths[j]);
        }
    ck_assert_int_eq(attrs[8].st.st_mtim.tv_sec, 0);
    ck_assert_int_eq(attrs[9].st.st_mtim.tv_sec, 1000);
}
END_TEST

START_TEST(stores_are_edited_apart)
{
    ck_assert_int_eq(put("zones/moon/chunks/0_0_0/text.txt", "crater"), 0);
    ck_assert_str_eq(fake_blob(saves[1]->doc, 0), "crater");
    ck_assert_str_eq(fake_blob(saves[0]->doc, 0), "zero");
    ck_assert_str_eq(cat("zones/moon/all.txt"), "crater\none\ntwo\n");
    ck_assert_str_eq(cat("zones/earth/all.txt"), "zero\none\ntwo\n");
    ck_assert_int_eq(fake_disk.commits, 1);
}
END_TEST

START_TEST(stores_make_and_remove_chunks_of_their_own)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("zones/moon/chunks/5_0_0", &attr), 0);
    ck_assert_str_eq(fake_blob(saves[1]->doc, 5), "empty");
    ck_assert_str_eq(fake_blob(saves[0]->doc, 5), "");
    ck_assert_int_eq(rename_path("zones/moon/chunks/5_0_0", "zones/moon/chunks/6_0_0"), 0);
    ck_assert(exists("zones/moon/chunks/6_0_0"));
    ck_assert(!exists("zones/earth/chunks/6_0_0"));
    ck_assert_int_eq(remove_directory("zones/moon/chunks/6_0_0"), 0);
    ck_assert_str_eq(list("zones/moon/chunks"), ". .. 0_0_0 1_0_0 -2_3_4 ");
}
END_TEST

START_TEST(stores_give_each_other_nothing_by_a_rename)
{
    ck_assert_int_eq(rename_path("zones/moon/chunks/0_0_0", "zones/earth/chunks/9_0_0"), -EXDEV);
    ck_assert_int_eq(
        rename_path("zones/moon/chunks/0_0_0/text.txt", "zones/earth/chunks/0_0_0/text.txt"),
        -EXDEV);
    ck_assert_int_eq(rename_path("zones/moon/chunks/0_0_0/text.txt", "zones/earth/backup"), -EXDEV);
    ck_assert_int_eq(put("zones/moon/scratch", "letters"), 0);
    ck_assert_int_eq(rename_path("zones/moon/scratch", "zones/earth/chunks/0_0_0/text.txt"),
                     -EXDEV);
    ck_assert_int_eq(rename_path("zones/moon/scratch", "zones/earth/scratch"), -EXDEV);
    ck_assert_int_eq(rename_path("zones/moon/scratch", "zones/moon/chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(fake_blob(saves[1]->doc, 0), "letters");
    ck_assert_str_eq(fake_blob(saves[0]->doc, 0), "zero");
}
END_TEST

START_TEST(stores_roots_and_what_is_above_them_stay)
{
    struct tfs_attr attr;
    ck_assert_int_eq(remove_directory("zones/moon"), -EPERM);
    ck_assert_int_eq(remove_directory("zones"), -EPERM);
    ck_assert_int_eq(rename_path("zones", "planets"), -EPERM);
    ck_assert_int_eq(rename_path("zones/moon", "zones/mars"), -EPERM);
    ck_assert_int_eq(unlink_path("zones/moon"), -EISDIR);
    ck_assert_int_eq(make_directory("zones/moon", &attr), -EEXIST);
    ck_assert_int_eq(put("notes", "scratch"), 0);
    ck_assert_int_eq(rename_path("notes", "zones/notes"), 0);
    ck_assert_str_eq(list("zones"), ". .. earth moon notes ");
    ck_assert_str_eq(cat("zones/notes"), "scratch");
    ck_assert_int_eq(make_directory("zones/.git", &attr), 0);
    ck_assert_int_eq(rename_path("zones/notes", "zones/.git/notes"), 0);
    ck_assert_str_eq(cat("zones/.git/notes"), "scratch");
}
END_TEST

START_TEST(store_that_cannot_be_written_leaves_the_other_writable)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    reopen((struct tfs_session_options){0}, "the moon is far");
    ck_assert_int_eq(look("zones/moon/chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_mode & 0222, 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_WRONLY, &handle, &keep), -EROFS);
    ck_assert_int_eq(unlink_path("zones/moon/chunks/0_0_0/text.txt"), -EROFS);
    ck_assert_int_eq(make_directory("zones/moon/chunks/5_0_0", &attr), -EROFS);
    ck_assert_int_eq(put("zones/earth/chunks/0_0_0/text.txt", "green"), 0);
    ck_assert_str_eq(fake_blob(saves[0]->doc, 0), "green");
}
END_TEST

START_TEST(stores_are_all_written_by_a_barrier_above_them)
{
    reopen((struct tfs_session_options){.commit_auto = true}, NULL);
    fake_disk.fail = -EBUSY;
    ck_assert_int_eq(put("zones/earth/chunks/0_0_0/text.txt", "a"), 0);
    ck_assert_int_eq(put("zones/moon/chunks/0_0_0/text.txt", "b"), 0);
    fake_disk.fail = 0;
    ck_assert_int_eq(sync_directory("zones/moon/chunks"), 0);
    ck_assert_str_eq(fake_blob(saves[1]->doc, 0), "b");
    ck_assert_int_eq(sync_directory("zones"), 0);
    ck_assert_str_eq(fake_blob(saves[0]->doc, 0), "a");
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("zones/moon/chunks/0_0_0/text.txt", "c"), 0);
    ck_assert_int_eq(sync_directory("zones"), -ENOSPC);
    fake_disk.fail = 0;
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_str_eq(fake_blob(saves[1]->doc, 0), "c");
}
END_TEST

START_TEST(stores_keep_refused_texts_under_their_whole_path)
{
    ck_assert_int_eq(put("zones/moon/chunks/0_0_0/text.txt", "b4d"), -EBADMSG);
    ck_assert_str_eq(cat(".terrainfs/rejected/zones/moon/chunks/0_0_0/text.txt"), "b4d");
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "zones/moon/chunks/0_0_0/text.txt:1:2: only letters"));
}
END_TEST

START_TEST(edits_of_stores_that_could_not_be_written_are_beside_each_of_them)
{
    char command[512];
    char directory[] = "/tmp/fake-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(directory));
    free(saves[0]->path);
    ck_assert_int_gt(asprintf(&saves[0]->path, "%s/earth/fake", directory), 0);
    free(saves[1]->path);
    ck_assert_int_gt(asprintf(&saves[1]->path, "%s/moon/fake", directory), 0);
    snprintf(command, sizeof(command), "mkdir %s/earth %s/moon", directory, directory);
    ck_assert_int_eq(system(command), 0);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("zones/earth/chunks/0_0_0/text.txt", "green"), -ENOSPC);
    ck_assert_int_eq(put("zones/moon/chunks/1_0_0/text.txt", "grey"), -ENOSPC);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    snprintf(command, sizeof(command),
             "cd %s && grep -q green earth/*.unsaved-*/journal && "
             "grep -q grey moon/*.unsaved-*/journal && rm -r %s",
             directory, directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(stores_bring_removed_names_back_each_in_its_tree)
{
    ck_assert_int_eq(unlink_path("zones/moon/chunks/1_0_0/part/note.txt"), 0);
    ck_assert(exists("zones/earth/chunks/1_0_0/part/note.txt"));
    ck_assert_int_eq(unlink_path("zones/earth/chunks/0_0_0/text.txt"), 0);
    ck_assert(exists("zones/moon/chunks/0_0_0/text.txt"));
    ck_assert_int_eq(sync_directory("zones/moon/chunks/1_0_0/part"), 0);
    ck_assert_str_eq(fake_blob(saves[1]->doc, 1), "one");
    ck_assert_str_eq(fake_blob(saves[0]->doc, 1), "one|note");
    ck_assert(comes(exists, "zones/earth/chunks/0_0_0/text.txt"));
}
END_TEST

static const TTest *const *const tests[] = {
    &stores_show_their_trees_side_by_side,
    &stores_have_ids_and_attributes_of_their_own,
    &stores_are_edited_apart,
    &stores_make_and_remove_chunks_of_their_own,
    &stores_give_each_other_nothing_by_a_rename,
    &stores_roots_and_what_is_above_them_stay,
    &store_that_cannot_be_written_leaves_the_other_writable,
    &stores_are_all_written_by_a_barrier_above_them,
    &stores_keep_refused_texts_under_their_whole_path,
    &edits_of_stores_that_could_not_be_written_are_beside_each_of_them,
    &stores_bring_removed_names_back_each_in_its_tree,
};

static Suite *suite(void)
{
    return unit_suite("stores", setup, teardown, tests, sizeof(tests) / sizeof(tests[0]));
}

UNIT_MAIN(suite)
