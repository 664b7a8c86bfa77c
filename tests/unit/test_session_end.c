/*
 * What is left at the end of a session, and where it is then; also where nothing is left but what
 * the session kept from its beginning.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../lib/session_driver.h"
#include "../lib/session_format.h"
#include "fs/session/reserve.h"
#include "scratch.h"

/* The number that the next descriptor gets. */
static int next_descriptor(void)
{
    int fd = dup(STDIN_FILENO);

    ck_assert_int_ge(fd, 0);
    close(fd);
    return fd;
}

/* No number is free below one that is in use, whatever this process was started with. */
static void fill_gaps(void)
{
    DIR *list = opendir("/proc/self/fd");
    int last = 0;

    ck_assert_ptr_nonnull(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;)
        last = atoi(entry->d_name) > last ? atoi(entry->d_name) : last;
    closedir(list);
    while (next_descriptor() < last)
        ck_assert_int_ge(dup(STDIN_FILENO), 0);
}

/* Descriptors have numbers below `count` from now on. */
static void limit_descriptors(int count)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)count;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void setup(void)
{
    fill_gaps();
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

START_TEST(session_end_keeps_unsaved_edits_though_no_descriptor_is_left)
{
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "kept"), -ENOSPC);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "b a d"), -EBADMSG);
    int next = next_descriptor();
    limit_descriptors(next);
    ck_assert_int_eq(dup(STDIN_FILENO), -1);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    limit_descriptors(next + 64);
    ck_assert_int_eq(shell("grep -q kept fake.save.unsaved-*/journal && "
                           "grep -qx 'b a d' fake.save.rejected-*/chunks/1_0_0/text.txt"),
                     0);
}
END_TEST

#ifdef __GLIBC__
/* Memory that is mapped alone goes back to the system, and where there is none a heap that grows by
 * as much as that of a mount does not get it again: edits went to NAME.unsaved-DATE. */
START_TEST(session_end_finds_its_memory_in_the_heap_of_a_mount)
{
    struct tfs_reserve reserve = {0};
    struct tfs_error err = {0};

    mallopt(M_MMAP_THRESHOLD, 2 << 20);
    mallopt(M_TOP_PAD, 8 << 20);
    const size_t mapped = mallinfo2().hblkhd;
    ck_assert_int_eq(tfs_reserve_open(&reserve, &err), 0);
    ck_assert_uint_eq(mallinfo2().hblkhd, mapped);
    tfs_reserve_release(&reserve);
}
END_TEST
#endif

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

/* Two programs that never close it: who opened it last is the last to say what it is. */
START_TEST(session_end_takes_open_drafts_in_the_order_of_their_opening)
{
    struct tfs_handle *first = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    struct tfs_handle *last = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);

    ck_assert_int_eq(write_text(last, 0, "last"), 0);
    ck_assert_int_eq(write_text(first, 0, "first"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "last");
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
    ck_assert_str_eq(tfs_session_left(session), "old (1 file) is not kept");
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|note");
    ck_assert(is_nothing_beside_the_save());
}
END_TEST

START_TEST(session_is_refused_where_it_could_not_end)
{
    const struct tfs_session_options options = {0};
    struct tfs_session *refused = NULL;
    struct tfs_save *other = fake_save_create();
    struct tfs_error err = {0};
    int next = next_descriptor();

    limit_descriptors(next + 2 * TFS_RESERVE_FILES - 1);
    ck_assert_int_eq(tfs_session_open(other, &options, NULL, &refused, &err), -EMFILE);
    ck_assert_ptr_nonnull(strstr(err.text, "ulimit -n"));
    ck_assert_int_eq(next_descriptor(), next);
    tfs_error_reset(&err);
    limit_descriptors(next + 2 * TFS_RESERVE_FILES);
    ck_assert_int_eq(tfs_session_open(other, &options, NULL, &refused, &err), 0);
    tfs_session_close(refused);
    ck_assert_int_eq(next_descriptor(), next);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("session_end");
    TCase *c = unit_case(s, "session_end");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, session_end_keeps_unsaved_edits_though_no_descriptor_is_left);
#ifdef __GLIBC__
    tcase_add_test(c, session_end_finds_its_memory_in_the_heap_of_a_mount);
#endif
    tcase_add_test(c, session_end_takes_open_drafts_in_the_order_of_their_opening);
    tcase_add_test(c, session_end_names_what_is_lost_but_hidden_files_and_backups);
    tcase_add_test(c, session_is_refused_where_it_could_not_end);
    tcase_add_test(c, session_end_keeps_the_newest_of_each_refused_text);
    return s;
}

UNIT_MAIN(suite)
