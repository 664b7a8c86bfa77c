/* formats/containers/folder: its lock, its directories and the list of its files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/session_format.h"
#include "formats/containers/folder_state.h"
#include "no_pauses.h"
#include "scratch.h"

static struct tfs_save *save;
static struct tfs_error err;

static void setup(void)
{
    err = (struct tfs_error){0};
    save = fake_save_create();
    scratch_setup();
}

static void teardown(void)
{
    scratch_teardown();
    tfs_save_close(save);
}

/* ---- directories ----------------------------------------------------------------------------- */

START_TEST(folder_has_one_writer)
{
    int one = -1, other = -1;
    const char *path = scratch_path("world");

    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(tfs_folder_lock(path, true, &one, &err), 0);
    ck_assert_int_eq(tfs_folder_lock(path, true, &other, &err), -EWOULDBLOCK);
    ck_assert_ptr_nonnull(strstr(err.text, "another terrainfs"));
    tfs_error_reset(&err);
    ck_assert_int_eq(tfs_folder_lock(path, false, &other, &err), 0);
    close(one);
    close(other);
}
END_TEST

START_TEST(folder_that_was_replaced_is_not_the_one_that_is_locked)
{
    int fd = -1;
    char moved[4096];
    const char *path = scratch_path("world");

    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(tfs_folder_lock(path, true, &fd, &err), 0);
    ck_assert_int_eq(tfs_folder_check(path, fd, &err), 0);
    snprintf(moved, sizeof(moved), "%s.old", path);
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(tfs_folder_check(path, fd, &err), -EIO);
    tfs_error_reset(&err);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(tfs_folder_check(path, fd, &err), -ESTALE);
    close(fd);
}
END_TEST

START_TEST(known_files_are_found_by_key)
{
    struct tfs_folder_files files = {0};
    struct tfs_folder_file all[9] = {0};

    for (int i = 0; i < 9; i++) {
        all[i].key = (struct tfs_key){0, i * 5 % 9 - 4, 0, 0};
        atomic_init(&all[i].refs, 2);
        ck_assert_int_eq(tfs_folder_add(&files, &all[i], &err), 0);
    }
    for (int i = 0; i < 9; i++)
        ck_assert_ptr_eq(tfs_folder_find(&files, all[i].key), &all[i]);
    tfs_folder_remove(&files, &all[3]);
    ck_assert_ptr_null(tfs_folder_find(&files, all[3].key));
    ck_assert_ptr_eq(tfs_folder_find(&files, all[4].key), &all[4]);
    ck_assert_ptr_null(tfs_folder_find(&files, (struct tfs_key){0, 5, 0, 0}));
    tfs_folder_files_release(&files);
}
END_TEST

START_TEST(directory_that_is_made_is_searched_by_who_may_read)
{
    struct stat st;

    umask(0);
    free(save->path);
    save->path = strdup(scratch_path("world"));
    ck_assert_int_eq(mkdir(save->path, 0755), 0);
    save->st.st_mode = S_IFREG | 0640;
    ck_assert_int_eq(tfs_folder_make(save, scratch_path("world/regions/lod0"), &err), 0);
    ck_assert_int_eq(stat(scratch_path("world/regions"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0750);
    ck_assert_int_eq(stat(scratch_path("world/regions/lod0"), &st), 0);
    /* One that is there is left as it is. */
    ck_assert_int_eq(tfs_folder_make(save, scratch_path("world/regions"), &err), 0);
}
END_TEST

static Suite *folder_suite(void)
{
    Suite *suite = suite_create("folder");
    TCase *directories = unit_case(suite, "directories");

    tcase_add_checked_fixture(directories, setup, teardown);
    tcase_add_test(directories, folder_has_one_writer);
    tcase_add_test(directories, folder_that_was_replaced_is_not_the_one_that_is_locked);
    tcase_add_test(directories, known_files_are_found_by_key);
    tcase_add_test(directories, directory_that_is_made_is_searched_by_who_may_read);
    return suite;
}

UNIT_MAIN(folder_suite)
