/* formats/folder: a folder of fake files as one save. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/session_format.h"
#include "formats/cells/cells.h"
#include "formats/containers/folder_state.h"
#include "formats/containers/folder_commit.h"
#include "scratch.h"

/* ---- what a commit writes -------------------------------------------------------------------- */

/* Two chunks along x a file. `log` tells which steps were made; `fail_at`: the file at which the
 * disk fails, before it holds the steps, or behind when `renamed`. */
static struct {
    char log[256];
    int fail_at;
    bool renamed;
} disk;

static struct tfs_save *save;
static struct tfs_tree tree; /* the save's, with cells */
static struct tfs_error err;

static int decode(struct tfs_cells *cells, unsigned wanted, struct tfs_error *error)
{
    (void)wanted;
    return cells->stored->data[0] == '!' ? tfs_fail(error, -EBADMSG, "it does not decode") : 0;
}

static const struct tfs_cells_kind kind = {.decode = decode};

static struct tfs_key file_of(void *arg, struct tfs_key chunk, uint32_t *index)
{
    (void)arg;
    *index = (uint32_t)chunk.x & 1;
    return (struct tfs_key){0, (chunk.x - (chunk.x & 1)) / 2, 0, 0};
}

static int write_file(void *arg, struct tfs_key file, const struct tfs_folder_step *steps,
                      size_t count, bool whole, struct tfs_error *error)
{
    size_t used = strlen(disk.log);

    (void)arg;
    (void)whole;
    if (file.x == disk.fail_at && !disk.renamed)
        return tfs_fail(error, -ENOSPC, "the disk is full");
    used += (size_t)snprintf(disk.log + used, sizeof(disk.log) - used, "%d:", file.x);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(disk.log + used, sizeof(disk.log) - used, "%c%d",
                                 steps[i].chunk == NULL ? '-' : '+', steps[i].key.x);
    snprintf(disk.log + used, sizeof(disk.log) - used, " ");
    if (file.x == disk.fail_at)
        tfs_fail(error, -EIO, "the directory cannot be made durable");
    return 1;
}

static const struct tfs_folder_writer writer = {file_of, write_file, NULL};

static void setup(void)
{
    disk.log[0] = '\0';
    disk.fail_at = 99;
    disk.renamed = false;
    err = (struct tfs_error){0};
    save = fake_save_create();
    tree = *save->tree;
    tree.cells = &kind;
    save->tree = &tree;
    scratch_setup();
}

static void teardown(void)
{
    scratch_teardown();
    tfs_save_close(save);
}

/* The save's document with chunk `x` set to `blob`; NULL: without it. Lets go of `doc`. */
static struct tfs_doc *with(struct tfs_doc *doc, int x, const char *blob)
{
    struct tfs_edit edit;
    struct tfs_key key = {0, x, x == -2 ? 3 : 0, x == -2 ? 4 : 0};

    ck_assert_int_eq(tfs_edit_open(doc, &edit, &err), 0);
    if (blob == NULL)
        ck_assert_int_eq(tfs_edit_remove(&edit, key, &err), 0);
    else
        ck_assert_int_eq(fake_edit_set(&edit, x, blob, &err), 0);
    struct tfs_doc *next = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    tfs_doc_unref(doc);
    return next;
}

/* Commits; the document that the disk holds then. */
static struct tfs_doc *commit(struct tfs_doc *doc)
{
    struct tfs_folder_commit c;

    ck_assert_int_eq(tfs_folder_commit_open(save, doc, &writer, &c, &err), 0);
    tfs_folder_commit_chunks(&c);
    struct tfs_doc *reached = tfs_folder_commit_reached(&c);
    tfs_folder_commit_close(&c);
    return reached;
}

START_TEST(one_file_is_written_once)
{
    struct tfs_doc *doc = with(with(tfs_doc_ref(save->doc), 0, NULL), 1, "new");
    struct tfs_doc *reached = commit(doc);

    ck_assert_str_eq(disk.log, "0:-0+1 ");
    ck_assert(fake_blob(reached, 0)[0] == '\0');
    ck_assert_str_eq(fake_blob(reached, 1), "new");
    tfs_doc_unref(reached);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(files_that_gain_are_written_before_those_that_lose)
{
    struct tfs_doc *doc = with(with(with(tfs_doc_ref(save->doc), 0, NULL), 5, "zero"), 1, "new");
    struct tfs_doc *reached = commit(doc);

    ck_assert_str_eq(disk.log, "0:+1 2:+5 0:-0 ");
    tfs_doc_unref(reached);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(commit_that_fails_between_two_files_says_what_the_disk_holds)
{
    struct tfs_doc *doc = with(with(tfs_doc_ref(save->doc), 0, NULL), 5, "zero");

    disk.fail_at = 0;
    struct tfs_doc *reached = commit(doc);
    ck_assert_int_eq(err.code, -ENOSPC);
    ck_assert_str_eq(disk.log, "2:+5 ");
    ck_assert_str_eq(fake_blob(reached, 5), "zero");
    ck_assert_str_eq(fake_blob(reached, 0), "zero");
    /* The next commit writes what is missing, and nothing else. */
    tfs_doc_unref(save->doc);
    save->doc = reached;
    disk.fail_at = 99;
    disk.log[0] = '\0';
    tfs_error_reset(&err);
    tfs_doc_unref(commit(doc));
    ck_assert_str_eq(disk.log, "0:-0 ");
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(file_that_is_renamed_but_not_durable_is_there)
{
    struct tfs_doc *doc = with(tfs_doc_ref(save->doc), 1, "new");

    disk.fail_at = 0;
    disk.renamed = true;
    struct tfs_doc *reached = commit(doc);
    ck_assert_int_eq(err.code, -EIO);
    ck_assert_str_eq(fake_blob(reached, 1), "new");
    tfs_doc_unref(reached);
    tfs_doc_unref(doc);
}
END_TEST

START_TEST(chunk_that_does_not_decode_is_never_written)
{
    struct tfs_doc *doc = with(tfs_doc_ref(save->doc), 1, "!bad");
    struct tfs_folder_commit c;

    ck_assert_int_lt(tfs_folder_commit_open(save, doc, &writer, &c, &err), 0);
    ck_assert_ptr_null(tfs_folder_commit_reached(&c));
    tfs_folder_commit_close(&c);
    tfs_doc_unref(doc);
}
END_TEST

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
    TCase *commits = unit_case(suite, "commits"), *directories = unit_case(suite, "directories");

    tcase_add_checked_fixture(commits, setup, teardown);
    tcase_add_checked_fixture(directories, setup, teardown);
    tcase_add_test(commits, one_file_is_written_once);
    tcase_add_test(commits, files_that_gain_are_written_before_those_that_lose);
    tcase_add_test(commits, commit_that_fails_between_two_files_says_what_the_disk_holds);
    tcase_add_test(commits, file_that_is_renamed_but_not_durable_is_there);
    tcase_add_test(commits, chunk_that_does_not_decode_is_never_written);
    tcase_add_test(directories, folder_has_one_writer);
    tcase_add_test(directories, folder_that_was_replaced_is_not_the_one_that_is_locked);
    tcase_add_test(directories, known_files_are_found_by_key);
    tcase_add_test(directories, directory_that_is_made_is_searched_by_who_may_read);
    return suite;
}

UNIT_MAIN(folder_suite)
