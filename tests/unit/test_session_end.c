/*
 * What is left at the end of a session, and where it is then.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../lib/session_driver.h"
#include "../lib/session_format.h"
#include "scratch.h"

static void setup(void)
{
    scratch_setup();
    ck_assert_int_eq(setenv("XDG_STATE_HOME", scratch_dir, 1), 0);
    open_with((struct tfs_session_options){0});
    free(save->path);
    ck_assert_int_gt(asprintf(&save->path, "%s/fake.save", scratch_dir), 0);
}

static void teardown(void)
{
    fake_disk.fail = 0;
    tfs_session_close(session);
    scratch_teardown();
}

static int shell(const char *script)
{
    char command[2 * PATH_MAX];

    snprintf(command, sizeof(command), "cd %s && %s", scratch_dir, script);
    return system(command);
}

START_TEST(session_end_keeps_unsaved_edits_and_refused_texts)
{
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "kept"), -ENOSPC);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "b a d"), -EBADMSG);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_int_eq(shell("grep -q kept fake.save.unsaved-*/journal && "
                           "grep -qx 'b a d' fake.save.rejected-*/chunks/1_0_0/text.txt"),
                     0);
}
END_TEST

static bool is_nothing_beside_the_save(void)
{
    return shell("test -z \"$(find . -name '*.unsaved-*' -o -name '*.rejected-*')\"") == 0;
}

START_TEST(session_end_keeps_the_newest_of_each_refused_text)
{
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "b a d"), -EBADMSG);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "w o r s e"), -EBADMSG);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "4"), -EBADMSG);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_ptr_nonnull(strstr(tfs_session_left(session), "2 refused texts are kept in "));
    ck_assert_int_eq(shell("cd fake.save.rejected-* && grep -qx 4 chunks/0_0_0/text.txt && "
                           "grep -qx 'w o r s e' chunks/1_0_0/text.txt && "
                           "grep -qx '\\*' .gitignore"),
                     0);
}
END_TEST

START_TEST(session_end_takes_what_nobody_closed)
{
    struct tfs_handle *good = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    struct tfs_handle *bad = open_path("chunks/1_0_0/text.txt", O_WRONLY | O_TRUNC);

    ck_assert_int_eq(write_text(good, 0, "last"), 0);
    ck_assert_int_eq(write_text(bad, 0, "b a d"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_str_eq(fake_blob(save->doc, 0), "last");
    ck_assert_int_eq(shell("grep -qx 'b a d' fake.save.rejected-*/chunks/1_0_0/text.txt"), 0);
}
END_TEST

START_TEST(session_end_names_what_is_lost_but_hidden_files_and_backups)
{
    struct tfs_attr attr;

    ck_assert_int_eq(make_directory(".Trash", &attr), 0);
    ck_assert_int_eq(put(".Trash/text.txt", "gone"), 0);
    ck_assert_int_eq(make_directory("old", &attr), 0);
    ck_assert_int_eq(put("old/text.txt", "gone"), 0);
    ck_assert_int_eq(rename_path("chunks/1_0_0/part/note.txt", "chunks/1_0_0/note~"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_str_eq(tfs_session_left(session), "old/text.txt is not kept");
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert(is_nothing_beside_the_save());
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("session_end");
    TCase *c = unit_case(s, "session_end");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, session_end_keeps_unsaved_edits_and_refused_texts);
    tcase_add_test(c, session_end_takes_what_nobody_closed);
    tcase_add_test(c, session_end_names_what_is_lost_but_hidden_files_and_backups);
    tcase_add_test(c, session_end_keeps_the_newest_of_each_refused_text);
    return s;
}

UNIT_MAIN(suite)
