/*
 * The session on the fake format: reading and writing, chunk directories, scratch files, many
 * threads at once, and what a long mount gathers.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"
#include "session_case.h"

/* ---- reading and writing --------------------------------------------------------------------- */

START_TEST(session_shows_what_the_lens_shows)
{
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    ck_assert_str_eq(cat("chunks/1_0_0/part/note.txt"), "note");
    ck_assert_str_eq(list(""), ". .. all.txt chunks ");
    ck_assert_str_eq(list("chunks/1_0_0"), ". .. raw.bin text.txt part ");
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. ");
    ck_assert(!exists("chunks/0_0_0/part/note.txt"));
    ck_assert(!exists("chunks/7_0_0"));
}
END_TEST

static bool count_known(void *arg, const struct tfs_dirent *entry)
{
    unsigned *known = arg;
    known[S_ISDIR(entry->attr.st.st_mode)] += entry->attr.id != 0;
    return true;
}

/* What a walk by names does not ask for would take the size of each file. */
START_TEST(session_lists_attributes_of_files_to_who_wants_them)
{
    struct tfs_attr chunk;
    ck_assert_int_eq(look("chunks/0_0_0", &chunk), 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero"); /* from now on its size is known */
    for (unsigned files = 0; files < 2; files++) {
        unsigned known[2] = {0};
        ck_assert_int_eq(
            tfs_session_read_directory(session, chunk.id, 0, files != 0, count_known, known), 0);
        ck_assert_uint_eq(known[0] > 0, files);
        ck_assert_uint_gt(known[1], 0);
    }
}
END_TEST

START_TEST(session_size_is_exact)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("all.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, (off_t)strlen(cat("all.txt")));
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "longer"), 0);
    ck_assert_int_eq(look("all.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, (off_t)strlen(cat("all.txt")));
}
END_TEST

START_TEST(session_close_is_a_commit_and_other_views_show_it)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "new"), 0);
    ck_assert_int_eq(fake_disk.commits, 1);
    ck_assert_str_eq(fake_blob(save->doc, 0), "new");
    ck_assert_str_eq(cat("chunks/0_0_0/raw.bin"), "new");
    ck_assert_ptr_nonnull(strstr(cat("all.txt"), "new\n"));
}
END_TEST

START_TEST(session_writing_back_what_was_read_commits_nothing)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "zero"), 0);
    ck_assert_int_eq(fake_disk.commits, 0);
}
END_TEST

START_TEST(session_shows_bytes_as_written_until_the_last_close)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "CAPS"), 0);
    ck_assert_int_eq(sync_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "caps");
    ck_assert_str_eq(text_of_handle(handle), "CAPS");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "caps");
}
END_TEST

START_TEST(session_copied_descriptor_may_write_on_after_a_flush)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(flush(handle), 0); /* the shell closes its copy: nothing was written yet */
    ck_assert_int_eq(write_text(handle, 0, "AB"), 0);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_int_eq(write_text(handle, 2, "CD"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "abcd");
    ck_assert_str_eq(messages, "");
}
END_TEST

START_TEST(session_refused_document_changes_nothing_and_is_kept)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    ck_assert_int_eq(fake_disk.commits, 0);
    ck_assert_ptr_nonnull(strstr(messages, "chunks/0_0_0/text.txt:1:3: only letters are allowed"));
    ck_assert_int_eq(sync_directory("chunks"), 0); /* the last close is through */
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "no 1 good");
    ck_assert_ptr_nonnull(strstr(cat(".terrainfs/errors.log"), "text.txt:1:3: only letters"));
    ck_assert_str_eq(list(""), ". .. all.txt chunks ");
}
END_TEST

/* The kernel tells of the last close after close(2) has returned. */
START_TEST(session_keeps_a_refused_document_before_its_close_returns)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "no 1 good"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "no 1 good");
    tfs_session_release(session, handle);
}
END_TEST

/* ---- chunk directories ----------------------------------------------------------------------- */

START_TEST(session_new_chunk_hides_its_files_until_they_are_created)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), 0);
    ck_assert_str_eq(fake_blob(save->doc, 5), "empty");
    ck_assert_str_eq(list("chunks/5_0_0"), ". .. ");
    ck_assert_int_eq(make_directory("chunks/5_0_0/part", &attr), 0);
    ck_assert_int_eq(put("chunks/5_0_0/text.txt", "five"), 0);
    ck_assert_str_eq(list("chunks/5_0_0"), ". .. text.txt part ");
}
END_TEST

START_TEST(session_new_chunk_shows_its_files_at_rest)
{
    struct tfs_attr attr;
    session_without_lingering();
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), 0);
    ck_assert(comes(exists, "chunks/5_0_0/raw.bin"));
    ck_assert_str_eq(cat("chunks/5_0_0/raw.bin"), "empty");
}
END_TEST

START_TEST(session_refuses_bad_chunk_directories)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("chunks/1_0_0", &attr), -EEXIST);
    ck_assert_int_eq(make_directory("chunks/+1_0_0", &attr), -EINVAL);
    ck_assert_int_eq(make_directory("chunks/new", &attr), -EINVAL);
    ck_assert_int_eq(make_directory("chunks/.git", &attr), 0);
    ck_assert_int_eq(make_directory("chunks/100_0_0", &attr), -EINVAL);
    ck_assert_ptr_nonnull(strstr(messages, "chunks/100_0_0: fakes end at 99"));
    ck_assert_int_eq(remove_directory("chunks"), -EPERM);
    ck_assert_int_eq(rename_path("chunks", "chunks2"), -EPERM);
}
END_TEST

START_TEST(session_deletes_a_chunk_whose_files_are_gone)
{
    ck_assert_int_eq(remove_directory("chunks/1_0_0"), -ENOTEMPTY);
    ck_assert_int_eq(unlink_path("chunks/1_0_0/raw.bin"), 0);
    ck_assert_int_eq(unlink_path("chunks/1_0_0/text.txt"), 0);
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_int_eq(remove_directory("chunks/1_0_0"), -ENOTEMPTY);
    ck_assert_int_eq(remove_directory("chunks/1_0_0/part"), 0);
    ck_assert_int_eq(remove_directory("chunks/1_0_0"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "");
    ck_assert_str_eq(list("chunks"), ". .. 0_0_0 -2_3_4 ");
}
END_TEST

START_TEST(session_moved_chunk_keeps_its_ids)
{
    struct tfs_attr before, after;
    ck_assert_int_eq(look("chunks/1_0_0/text.txt", &before), 0);
    struct tfs_handle *handle = open_path("chunks/1_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), 0);
    ck_assert_int_eq(look("chunks/9_0_0/text.txt", &after), 0);
    ck_assert_uint_eq(after.st.st_ino, before.st.st_ino);
    ck_assert(!exists("chunks/1_0_0"));
    ck_assert_int_eq(write_text(handle, 0, "nine"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 9), "nine|note");
    ck_assert_int_eq(rename_path("chunks/9_0_0", "chunks/0_0_0"), -EEXIST);
    ck_assert_int_eq(rename_path("chunks/9_0_0", "elsewhere"), -EPERM);
}
END_TEST

/* ---- scratch --------------------------------------------------------------------------------- */

START_TEST(session_scratch_files_are_capped)
{
    char text[4096];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct tfs_handle *handle = open_path("big", O_WRONLY);
    int result = 0;
    for (unsigned i = 0; i < 1000 && result == 0; i++)
        result = write_text(handle, i * 4095, text);
    ck_assert_int_eq(result, -ENOSPC);
    tfs_session_release(session, handle);
    ck_assert_int_eq(unlink_path("big"), 0);
    ck_assert_int_eq(put("small", text), 0);
}
END_TEST

START_TEST(session_unlinked_scratch_file_lives_while_open)
{
    struct tfs_attr attr;
    ck_assert_int_eq(put("s", "data"), 0);
    ck_assert_int_eq(look("s", &attr), 0);
    struct tfs_handle *handle = open_path("s", O_RDWR);
    ck_assert_int_eq(unlink_path("s"), 0);
    ck_assert_str_eq(text_of_handle(handle), "data");
    tfs_session_release(session, handle);
    ck_assert(!exists("s"));
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

struct name {
    uint64_t parent;
    const char *name;
};

/* As the kernel opens a name: once more after ESTALE. */
static int open_name(const struct name *name, int flags, struct tfs_handle **handle)
{
    int result = -ESTALE;
    bool keep;
    for (int tries = 0; tries < 2 && result == -ESTALE; tries++) {
        struct tfs_attr attr;
        result = tfs_session_lookup(session, name->parent, name->name, &attr);
        if (result == 0)
            result = tfs_session_open_file(session, attr.id, flags, handle, &keep);
        if (result < 0)
            tfs_session_forget(session, attr.id, 1);
    }
    return result;
}

static void *edit_often(void *arg)
{
    const char *const texts[] = {"abc", "DEF", "g4", "hij"};
    struct tfs_handle *handle;
    for (int i = 0; i < 100; i++) {
        if (open_name(arg, O_WRONLY | O_TRUNC, &handle) < 0)
            return "open failed";
        (void)write_text(handle, 0, texts[i % 4]);
        (void)flush(handle);
        tfs_session_release(session, handle);
    }
    return NULL;
}

static bool ignore_entry(void *arg, const struct tfs_dirent *entry)
{
    (void)arg;
    (void)entry;
    return true;
}

static void *read_often(void *arg)
{
    for (int i = 0; i < 300; i++) {
        struct tfs_handle *handle;
        struct tfs_blob *hold = NULL;
        struct tfs_span bytes;
        struct tfs_attr attr;
        if (open_name(arg, O_RDONLY, &handle) < 0)
            return "open failed";
        if (tfs_session_read(session, handle, 0, 0, 100, &hold, &bytes) < 0)
            return "read failed";
        tfs_blob_unref(hold);
        tfs_session_release(session, handle);
        (void)tfs_session_lookup(session, 1, "all.txt", &attr);
        (void)tfs_session_read_directory(session, 1, 0, true, ignore_entry, NULL);
        (void)tfs_session_current(session, 1);
    }
    return NULL;
}

START_TEST(session_survives_many_threads)
{
    const char *const paths[] = {"chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt", "all.txt"};
    struct name names[3];
    pthread_t threads[8];
    for (int i = 0; i < 3; i++) {
        const char *name;
        names[i].parent = parent_of(paths[i], &name);
        names[i].name = i == 2 ? "all.txt" : "text.txt";
    }
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, i < 4 ? edit_often : read_often,
                       &names[i < 4 ? i % 2 : i % 3]);
    for (int i = 0; i < 8; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        ck_assert_ptr_null(failure);
    }
    ck_assert_int_eq(tfs_session_finish(session) & ~3, 0);
    ck_assert_str_eq(save->doc == NULL ? "" : fake_blob(save->doc, -2), "two");
}
END_TEST

/* ---- what a long mount gathers --------------------------------------------------------------- */

static const char *digits(char text[], size_t count)
{
    memset(text, '1', count);
    text[count] = '\0';
    return text;
}

/* Refused texts of 900 bytes, of which there is room for one beside their names. */
START_TEST(session_says_which_refused_text_has_no_room)
{
    struct tfs_attr attr;
    char text[2501];

    tfs_session_close(session);
    open_with((struct tfs_session_options){.rejected_limit = 2400});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", digits(text, 900)), -EBADMSG);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", digits(text, 1000)), -EBADMSG);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", digits(text, 900)), -EBADMSG);
    ck_assert_int_eq(look(".terrainfs/rejected/chunks/1_0_0/text.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 0);
    ck_assert_int_eq(look(".terrainfs/rejected/chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 1000);
    ck_assert_ptr_nonnull(strstr(cat(".terrainfs/errors.log"),
                                 "chunks/1_0_0/text.txt: what was refused has no room"));
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", digits(text, 2500)), -EBADMSG);
    ck_assert_int_eq(look(".terrainfs/rejected/chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 1000); /* the older one stays */
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_ptr_nonnull(strstr(messages, "1 refused text is kept in "));
    ck_assert_ptr_nonnull(strstr(messages, "chunks/1_0_0/text.txt was refused and is not kept"));
}
END_TEST

/* It is named at the end, until a text of its path is accepted. */
START_TEST(session_that_lost_a_refused_text_does_not_end_well)
{
    char text[2501];

    tfs_session_close(session);
    open_with((struct tfs_session_options){.rejected_limit = 2400});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", digits(text, 2500)), -EBADMSG);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", digits(text, 2500)), -EBADMSG);
    ck_assert_int_eq(put("chunks/-2_3_4/text.txt", digits(text, 2500)), -EBADMSG);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "good"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_ptr_nonnull(strstr(messages, "chunks/0_0_0/text.txt, chunks/-2_3_4/text.txt were "
                                           "refused and are not kept"));
    ck_assert_ptr_null(strstr(messages, "kept in"));
}
END_TEST

/* The table has room for two files, and the session goes on telling new from old. */
START_TEST(session_that_forgets_single_changes_still_shows_all_of_them)
{
    static const char *const paths[] = {"chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt",
                                        "chunks/-2_3_4/text.txt"};
    struct tfs_attr before, after;
    char text[] = "a";
    tfs_session_close(session);
    open_with((struct tfs_session_options){.changes_limit = 2});
    for (int i = 0; i < 12; i++, text[0]++) {
        const char *path = paths[i % 3];
        ck_assert_int_eq(look(path, &before), 0);
        ck_assert_int_eq(put(path, text), 0);
        ck_assert_str_eq(cat(path), text);
        ck_assert_ptr_nonnull(strstr(cat("all.txt"), text));
        ck_assert_int_eq(look(path, &after), 0);
        ck_assert(after.st.st_mtim.tv_sec > before.st.st_mtim.tv_sec ||
                  after.st.st_mtim.tv_nsec > before.st.st_mtim.tv_nsec);
        ck_assert_uint_ne(after.id, before.id);
    }
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static const TTest *const *const tests[] = {
    &session_shows_what_the_lens_shows,
    &session_lists_attributes_of_files_to_who_wants_them,
    &session_size_is_exact,
    &session_close_is_a_commit_and_other_views_show_it,
    &session_writing_back_what_was_read_commits_nothing,
    &session_shows_bytes_as_written_until_the_last_close,
    &session_copied_descriptor_may_write_on_after_a_flush,
    &session_refused_document_changes_nothing_and_is_kept,
    &session_keeps_a_refused_document_before_its_close_returns,
    &session_new_chunk_hides_its_files_until_they_are_created,
    &session_new_chunk_shows_its_files_at_rest,
    &session_refuses_bad_chunk_directories,
    &session_deletes_a_chunk_whose_files_are_gone,
    &session_moved_chunk_keeps_its_ids,
    &session_scratch_files_are_capped,
    &session_unlinked_scratch_file_lives_while_open,
    &session_says_which_refused_text_has_no_room,
    &session_that_lost_a_refused_text_does_not_end_well,
    &session_that_forgets_single_changes_still_shows_all_of_them,
    &session_survives_many_threads,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session");

    session_case(s, tests, sizeof(tests) / sizeof(tests[0]));
    return s;
}

UNIT_MAIN(suite)
