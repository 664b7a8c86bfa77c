/*
 * Directories of groups in a session on the fake format: made before their chunks, removed after
 * them, refused where the save has no place for them.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/session_driver.h"
#include "../lib/session_format.h"
#include "base/clock.h"
#include "fs/session/ops.h"

static void setup(void)
{
    open_with((struct tfs_session_options){0});
}

static void teardown(void)
{
    tfs_session_close(session);
}

static int make(const char *path)
{
    struct tfs_attr attr;
    return make_directory(path, &attr);
}

static void remove_chunk(const char *dir)
{
    static const char *const files[] = {"raw.bin", "text.txt"};
    char path[100];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        ck_assert_int_eq(unlink_path(path), 0);
    }
    snprintf(path, sizeof(path), "%s/part", dir);
    ck_assert_int_eq(remove_directory(path), 0);
    ck_assert_int_eq(remove_directory(dir), 0);
}

/* Another program puts the chunk 0_0_0 of this group into the save, or takes it away. */
static void change_outside(uint32_t group, bool there)
{
    struct tfs_error err = {0};
    struct tfs_edit edit;
    struct tfs_chunk chunk = *tfs_doc_find(save->doc, (struct tfs_key){.group = 0});
    ck_assert_int_eq(tfs_edit_open(save->doc, &edit, &err), 0);
    chunk.key.group = group;
    chunk.slot = TFS_SLOT_NONE;
    if (there)
        ck_assert_int_eq(tfs_edit_put(&edit, &chunk, &err), 0);
    else
        ck_assert_int_eq(tfs_edit_remove(&edit, chunk.key, &err), 0);
    fake_disk.theirs = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    fake_disk.changed = 1;
    ck_assert_int_eq(sync_directory("chunks"), 0);
}

/* cp -r and tar make a directory before what is in it. */
START_TEST(session_makes_directories_of_a_group_before_its_chunks)
{
    ck_assert(!exists("layers"));
    ck_assert_int_eq(make("layers"), 0);
    ck_assert_str_eq(list(""), ". .. all.txt chunks layers ");
    ck_assert_str_eq(list("layers"), ". .. ");
    ck_assert_int_eq(make("layers"), -EEXIST);
    ck_assert_int_eq(make("layers/2"), 0);
    ck_assert_str_eq(list("layers"), ". .. 2 ");
    ck_assert_str_eq(list("layers/2"), ". .. ");
    ck_assert_int_eq(make("layers/2/chunks"), 0);
    ck_assert_int_eq(make("layers/2/chunks"), -EEXIST);
    ck_assert_str_eq(list("layers/2"), ". .. chunks ");
    ck_assert_str_eq(list("layers/2/chunks"), ". .. ");
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_int_eq(make("layers/2/chunks/5_0_0"), 0);
    ck_assert_int_eq(put("layers/2/chunks/5_0_0/text.txt", "five"), 0);
    ck_assert_str_eq(list("layers/2/chunks"), ". .. 5_0_0 ");
    ck_assert_uint_eq(tfs_doc_group_count(save->doc, 2), 1);
}
END_TEST

/* rm -r removes a directory after what was in it. */
START_TEST(session_keeps_directories_of_a_group_until_they_are_removed)
{
    change_outside(2, true);
    ck_assert_str_eq(list(""), ". .. all.txt chunks layers ");
    ck_assert_str_eq(list("layers/2/chunks"), ". .. 0_0_0 ");
    ck_assert_int_eq(remove_directory("layers"), -ENOTEMPTY);
    ck_assert_int_eq(remove_directory("layers/2"), -ENOTEMPTY);
    ck_assert_int_eq(remove_directory("layers/2/chunks"), -ENOTEMPTY);
    remove_chunk("layers/2/chunks/0_0_0");
    ck_assert_uint_eq(tfs_doc_group_count(save->doc, 2), 0);
    ck_assert_str_eq(list("layers/2/chunks"), ". .. ");
    ck_assert_int_eq(remove_directory("layers/2"), -ENOTEMPTY);
    ck_assert_int_eq(remove_directory("layers/2/chunks"), 0);
    ck_assert_int_eq(remove_directory("layers"), -ENOTEMPTY);
    ck_assert_int_eq(remove_directory("layers/2"), 0);
    ck_assert_str_eq(list("layers"), ". .. ");
    ck_assert_int_eq(remove_directory("layers"), 0);
    ck_assert_str_eq(list(""), ". .. all.txt chunks ");
    ck_assert_int_eq(remove_directory("layers"), -ENOENT);
}
END_TEST

START_TEST(session_removes_no_group_directory_with_a_scratch_file)
{
    ck_assert_int_eq(make("layers"), 0);
    ck_assert_int_eq(make("layers/2"), 0);
    ck_assert_int_eq(put("layers/2/notes", "n"), 0);
    ck_assert_int_eq(remove_directory("layers/2"), -ENOTEMPTY);
    ck_assert_int_eq(unlink_path("layers/2/notes"), 0);
    ck_assert_int_eq(remove_directory("layers/2"), 0);
}
END_TEST

START_TEST(session_refuses_groups_that_the_save_cannot_hold)
{
    ck_assert_int_eq(make("layers"), 0);
    ck_assert_int_eq(make("layers/4"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(cat(".terrainfs/errors.log"),
                                 "layers/4: this save holds layers/1 to layers/3 only ("));
    ck_assert_int_eq(make("layers/0"), -EINVAL);
    ck_assert_int_eq(make("layers/01"), -EINVAL);
    ck_assert_int_eq(make("layers/top"), -EINVAL);
    ck_assert_ptr_nonnull(
        strstr(messages, "layers/top: a directory in layers is named N, a plain decimal number"));
    ck_assert_int_eq(make("layers/.git"), 0);
    ck_assert_int_eq(make("layers/3"), 0);
    ck_assert_str_eq(list("layers"), ". .. 3 .git ");
}
END_TEST

START_TEST(session_makes_no_group_on_a_read_only_mount)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.read_only = true});
    ck_assert_int_eq(make("layers"), -EROFS);
}
END_TEST

/* mv copies then: each chunk is made and removed for itself. */
START_TEST(session_leaves_it_to_mv_to_copy_a_group)
{
    change_outside(2, true);
    ck_assert_int_eq(rename_path("layers/2", "layers/3"), -EXDEV);
    ck_assert_int_eq(make("layers/3"), 0);
    ck_assert_int_eq(rename_path("layers/2", "layers/3"), -EEXIST);
    ck_assert_int_eq(rename_path("layers/2", "layers/two"), -EPERM);
    ck_assert_int_eq(rename_path("layers/2/chunks", "layers/3/chunks"), -EPERM);
    ck_assert_int_eq(rename_path("layers", "levels"), -EPERM);
    ck_assert_int_eq(make("scratch"), 0);
    ck_assert_int_eq(rename_path("scratch", "layers/1"), -EXDEV);
    ck_assert_str_eq(list("layers"), ". .. 2 3 ");
}
END_TEST

/* Nobody in this mount made those directories. */
START_TEST(session_shows_no_group_whose_last_chunk_went_outside)
{
    change_outside(2, true);
    ck_assert(exists("layers/2/chunks/0_0_0"));
    change_outside(2, false);
    ck_assert(!exists("layers"));
    ck_assert_str_eq(list(""), ". .. all.txt chunks ");
}
END_TEST

static uint64_t stale[100];
static size_t stale_count;

static void note_stale(void *arg, uint64_t id)
{
    (void)arg;
    if (stale_count < sizeof(stale) / sizeof(stale[0]))
        stale[stale_count++] = id;
}

static bool became_stale(uint64_t id)
{
    for (size_t i = 0; i < stale_count; i++)
        if (stale[i] == id)
            return true;
    return false;
}

/* The kernel keeps what it listed. */
START_TEST(session_invalidates_listings_that_a_new_group_changes)
{
    const struct tfs_events events = {.invalidate = note_stale};
    const struct tfs_session_options options = {
        .scratch_limit = 1 << 20, .cache_limit = 1 << 20, .exit_fd = -1};
    struct tfs_attr layers, group;
    struct tfs_error err = {0};
    tfs_session_close(session);
    save = fake_save_create();
    ck_assert_int_eq(tfs_session_open(save, &options, &events, &session, &err), 0);
    stale_count = 0;
    change_outside(2, true);
    ck_assert_int_eq(look("layers", &layers), 0);
    ck_assert_int_eq(look("layers/2", &group), 0);
    ck_assert(became_stale(1));
    ck_assert(became_stale(layers.id));
    ck_assert(became_stale(group.id));
}
END_TEST

/* ---- like any other directories -------------------------------------------------------------- */

/* layers, three groups, their chunks/, and two chunks in each. */
#define DIRECTORIES (1 + 3 * 4)

static const char *directory_path(unsigned i)
{
    static const char *const below[] = {"", "/chunks", "/chunks/0_0_0", "/chunks/7_-1_2"};
    static char path[100];
    if (i == 0)
        return "layers";
    snprintf(path, sizeof(path), "layers/%u%s", (i - 1) / 4 + 1, below[(i - 1) % 4]);
    return path;
}

static unsigned parent_of_directory(unsigned i)
{
    static const unsigned up[] = {0, 1, 2, 2};
    unsigned kind = (i - 1) % 4;
    return kind == 0 ? 0 : i - kind - 1 + up[kind];
}

static bool has_children(const bool *there, unsigned directory)
{
    for (unsigned i = 1; i < DIRECTORIES; i++)
        if (there[i] && parent_of_directory(i) == directory)
            return true;
    return false;
}

static int expected(const bool *there, unsigned i, bool makes)
{
    if (i > 0 && !there[parent_of_directory(i)])
        return -ENOENT;
    if (makes)
        return there[i] ? -EEXIST : 0;
    if (!there[i])
        return -ENOENT;
    return has_children(there, i) ? -ENOTEMPTY : 0;
}

static int walk_step(unsigned i, bool makes)
{
    struct tfs_attr attr;
    const char *name;
    if (parent_of(directory_path(i), &name) == 0)
        return -ENOENT;
    return makes ? make_directory(directory_path(i), &attr) : remove_directory(directory_path(i));
}

START_TEST(session_treats_groups_as_directories_of_a_filesystem)
{
    bool there[DIRECTORIES] = {false};
    uint32_t random = 12345;
    unsigned done = 0;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.linger_ms = 3600000}); /* new chunks stay empty */
    for (unsigned step = 0; step < 3000; step++) {
        random = random * 1103515245 + 12345;
        unsigned i = (random >> 16) % DIRECTORIES;
        bool makes = (random >> 8) % 3 != 0;
        int wanted = expected(there, i, makes), got = walk_step(i, makes);
        ck_assert_msg(got == wanted, "step %u: %s %s: %d, not %d", step, makes ? "mkdir" : "rmdir",
                      directory_path(i), got, wanted);
        there[i] = got == 0 ? makes : there[i];
        done += got == 0;
        for (unsigned n = 0; n < DIRECTORIES; n++)
            ck_assert_msg(exists(directory_path(n)) == there[n], "step %u: %s", step,
                          directory_path(n));
    }
    ck_assert_uint_gt(done, 500);
    ck_assert_int_gt(fake_disk.commits, 200);
    for (unsigned group = 1; group <= 3; group++)
        ck_assert_uint_eq(tfs_doc_group_count(save->doc, group),
                          (size_t)there[4 * group - 1] + there[4 * group]);
}
END_TEST

/* ---- files of a group ------------------------------------------------------------------------ */

static int about_get(struct tfs_save *of, const struct tfs_doc *doc, struct tfs_at at,
                     struct tfs_buf *out, struct tfs_error *err)
{
    (void)of;
    tfs_buf_printf(out, "%zu\n", tfs_doc_group_count(doc, at.key.group));
    return tfs_buf_check(out, err);
}

static int about_put(struct tfs_save *of, struct tfs_edit *edit, struct tfs_at at,
                     struct tfs_span text, struct tfs_put *put_of, struct tfs_error *err)
{
    struct tfs_buf now = {0};
    (void)put_of;
    if (about_get(of, tfs_edit_doc(edit), at, &now, err) == 0 &&
        !tfs_span_equal(text, tfs_buf_span(&now)))
        tfs_fail(err, -EBADMSG, "there are others");
    tfs_buf_release(&now);
    return err->code;
}

static int has_chunks(struct tfs_save *of, const struct tfs_doc *doc, struct tfs_at at)
{
    (void)of;
    return tfs_doc_group_count(doc, at.key.group) > 0;
}

static const struct tfs_lens about_lens = {
    .get = about_get, .put = about_put, .exists = has_chunks};
static const struct tfs_file group_files[] = {{.path = "about/count.txt", .lens = &about_lens},
                                              {.path = "about/more/it.txt", .lens = &about_lens}};

/* The fake format with files of groups, whose names stay away for `linger_ms`. */
static void open_with_files(unsigned linger_ms)
{
    static struct tfs_tree tree;

    tfs_session_close(session);
    struct tfs_save *opened = fake_save_create();
    tree = *opened->tree;
    tree.group.files = group_files;
    tree.group.count = sizeof(group_files) / sizeof(group_files[0]);
    opened->tree = &tree;
    open_save_with(opened, (struct tfs_session_options){.linger_ms = linger_ms});
}

static void make_group(const char *number)
{
    char path[100];
    snprintf(path, sizeof(path), "layers/%s", number);
    ck_assert_int_eq(make(path), 0);
    snprintf(path, sizeof(path), "layers/%s/chunks", number);
    ck_assert_int_eq(make(path), 0);
    snprintf(path, sizeof(path), "layers/%s/chunks/5_0_0", number);
    ck_assert_int_eq(make(path), 0);
    snprintf(path, sizeof(path), "layers/%s/chunks/5_0_0/text.txt", number);
    ck_assert_int_eq(put(path, "five"), 0);
}

#define HOUR_MS 3600000

/* cp -r, which makes the chunks first. */
START_TEST(session_hides_files_of_a_new_group_until_they_are_created)
{
    open_with_files(HOUR_MS);
    ck_assert_int_eq(make("layers"), 0);
    make_group("2");
    ck_assert_str_eq(list("layers/2"), ". .. chunks ");
    ck_assert(!exists("layers/2/about"));
    ck_assert_int_eq(make("layers/2/about"), 0);
    ck_assert_int_eq(make("layers/2/about"), -EEXIST);
    ck_assert_str_eq(list("layers/2/about"), ". .. ");
    ck_assert_int_eq(put("layers/2/about/count.txt", "1\n"), 0);
    ck_assert_int_eq(make("layers/2/about/more"), 0);
    ck_assert_str_eq(list("layers/2/about"), ". .. count.txt more ");
    ck_assert_str_eq(list("layers/2/about/more"), ". .. ");
    ck_assert_int_eq(put("layers/2/about/more/it.txt", "1\n"), 0);
    ck_assert_str_eq(cat("layers/2/about/more/it.txt"), "1\n");
    ck_assert_int_eq(put("layers/2/about/count.txt", "7\n"), -EBADMSG);
}
END_TEST

/* tar may make them first. */
START_TEST(session_makes_a_directory_for_files_of_a_group_before_its_chunks)
{
    open_with_files(HOUR_MS);
    ck_assert_int_eq(make("layers"), 0);
    ck_assert_int_eq(make("layers/2"), 0);
    ck_assert_int_eq(make("layers/2/about"), 0);
    ck_assert_str_eq(list("layers/2"), ". .. about ");
    ck_assert_int_eq(remove_directory("layers/2"), -ENOTEMPTY);
    ck_assert_int_eq(remove_directory("layers/2/about"), 0);
    ck_assert_int_eq(remove_directory("layers/2"), 0);
}
END_TEST

START_TEST(session_shows_files_of_a_new_group_after_a_while)
{
    open_with_files(1);
    ck_assert_int_eq(make("layers"), 0);
    make_group("2");
    ck_assert(comes(exists, "layers/2/about/more/it.txt"));
    ck_assert_str_eq(list("layers/2"), ". .. chunks about ");
}
END_TEST

/* rm -r of a copy that was given up leaves no directory that shows later. */
START_TEST(session_keeps_no_hidden_directory_of_a_group_that_is_removed)
{
    open_with_files(HOUR_MS);
    ck_assert_int_eq(make("layers"), 0);
    make_group("2");
    ck_assert_int_eq(unlink_path("layers/2/chunks/5_0_0/text.txt"), 0);
    ck_assert_int_eq(remove_directory("layers/2/chunks/5_0_0"), 0);
    ck_assert_int_eq(remove_directory("layers/2/chunks"), 0);
    ck_assert_int_eq(remove_directory("layers/2"), 0);
    ck_assert_int_eq(remove_directory("layers"), 0);
    ck_assert(!exists("layers"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("groups");
    TCase *c = unit_case(s, "groups");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, session_makes_directories_of_a_group_before_its_chunks);
    tcase_add_test(c, session_keeps_directories_of_a_group_until_they_are_removed);
    tcase_add_test(c, session_removes_no_group_directory_with_a_scratch_file);
    tcase_add_test(c, session_refuses_groups_that_the_save_cannot_hold);
    tcase_add_test(c, session_makes_no_group_on_a_read_only_mount);
    tcase_add_test(c, session_leaves_it_to_mv_to_copy_a_group);
    tcase_add_test(c, session_shows_no_group_whose_last_chunk_went_outside);
    tcase_add_test(c, session_invalidates_listings_that_a_new_group_changes);
    tcase_add_test(c, session_treats_groups_as_directories_of_a_filesystem);
    tcase_add_test(c, session_hides_files_of_a_new_group_until_they_are_created);
    tcase_add_test(c, session_makes_a_directory_for_files_of_a_group_before_its_chunks);
    tcase_add_test(c, session_shows_files_of_a_new_group_after_a_while);
    tcase_add_test(c, session_keeps_no_hidden_directory_of_a_group_that_is_removed);
    return s;
}

UNIT_MAIN(suite)
