/*
 * The session on the toy format: names, pending documents, commit points, tombstones, new chunk
 * directories, failing disks, changes behind our back, and many threads at once.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/session_driver.h"
#include "../lib/toy_format.h"
#include "scratch.h"

static void setup(void)
{
    open_with((struct tfs_session_options){0});
}

static void teardown(void)
{
    toy_disk.fail = 0;
    tfs_session_close(session);
}

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

static bool name_known(void *arg, const struct tfs_dirent *entry)
{
    if (entry->known)
        strcat(strcat(arg, entry->name), " ");
    return true;
}

/* Names of the chunk 0_0_0 that are listed with their attributes. */
static const char *listed_with(enum tfs_listed attributes)
{
    static char names[256];
    names[0] = '\0';
    ck_assert_int_eq(list_entries("chunks/0_0_0", attributes, name_known, names), 0);
    return names;
}

START_TEST(session_lists_as_many_attributes_as_are_wanted)
{
    struct tfs_attr attr;
    ck_assert_int_eq(put("chunks/0_0_0/scratch", "x"), 0);
    ck_assert_int_eq(make_directory("chunks/0_0_0/.dir", &attr), 0);
    /* The sizes of the others are not known before they are rendered. */
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_str_eq(listed_with(TFS_LISTED_NONE), "");
    ck_assert_str_eq(listed_with(TFS_LISTED_DIRECTORIES), "part .dir ");
    ck_assert_str_eq(listed_with(TFS_LISTED_ALL), "text.txt part scratch .dir ");
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

static void nothing(void)
{
}

/* Rendered for their size once, though their bytes do not stay. */
START_TEST(session_remembers_the_sizes_of_all_files)
{
    static const char *const paths[] = {
        "chunks/-2_3_4/raw.bin", "chunks/-2_3_4/text.txt", "chunks/0_0_0/raw.bin",
        "chunks/0_0_0/text.txt", "chunks/1_0_0/raw.bin",   "chunks/1_0_0/text.txt",
    };
    const size_t count = sizeof(paths) / sizeof(paths[0]);
    struct tfs_attr attr;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.cache_limit = 1});
    for (size_t i = 0; i < 2 * count; i++) {
        toy_disk.during[TOY_GET] = i < count ? NULL : nothing;
        ck_assert_int_eq(look(paths[i % count], &attr), 0);
        ck_assert(i < count || toy_disk.during[TOY_GET] == nothing);
    }
    toy_disk.during[TOY_GET] = NULL;
}
END_TEST

/* Reads that many bytes of the text of 0_0_0 and closes it; was it rendered? */
static bool reading_renders(size_t size)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes = {0};
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    toy_disk.during[TOY_GET] = nothing;
    ck_assert_int_eq(tfs_session_read(session, attr.id, handle, 0, size, &hold, &bytes), 0);
    ck_assert_uint_eq(bytes.size, size);
    ck_assert_int_eq(memcmp(bytes.data, "zero", size), 0);
    tfs_blob_unref(hold);
    tfs_session_release(session, handle);
    bool rendered = toy_disk.during[TOY_GET] == NULL;
    toy_disk.during[TOY_GET] = NULL;
    return rendered;
}

/* The kernel has them then. */
START_TEST(session_lets_go_of_bytes_that_were_read)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0); /* rendered for the size */
    ck_assert(!reading_renders(2));
    ck_assert(reading_renders(4));
    ck_assert(reading_renders(1));
}
END_TEST

START_TEST(session_close_is_a_commit_and_other_views_show_it)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "new"), 0);
    ck_assert_int_eq(toy_disk.commits, 1);
    ck_assert_str_eq(toy_blob(save->doc, 0), "new");
    ck_assert_str_eq(cat("chunks/0_0_0/raw.bin"), "new");
    ck_assert_ptr_nonnull(strstr(cat("all.txt"), "new\n"));
}
END_TEST

START_TEST(session_writing_back_what_was_read_commits_nothing)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "zero"), 0);
    ck_assert_int_eq(toy_disk.commits, 0);
}
END_TEST

START_TEST(session_shows_bytes_as_written_until_the_last_close)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "CAPS"), 0);
    ck_assert_int_eq(sync_file(handle), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "caps");
    ck_assert_str_eq(text_of_handle(handle, attr.id), "CAPS");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "caps");
}
END_TEST

/* Of two programs that have the file mapped the kernel picks one, whoever wrote. */
START_TEST(session_close_commits_pages_that_came_through_another_handle)
{
    struct tfs_handle *idle = open_path("chunks/0_0_0/text.txt", O_RDWR);
    struct tfs_handle *mapper = open_path("chunks/0_0_0/text.txt", O_RDWR);
    ck_assert_int_eq(tfs_session_write(session, idle, 0, 0, tfs_span_of("page"), true), 0);
    ck_assert_int_eq(flush(mapper), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "page");
    tfs_session_release(session, mapper);
    tfs_session_release(session, idle);
}
END_TEST

START_TEST(session_copied_descriptor_may_write_on_after_a_flush)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_lt(flush(handle), 0); /* the shell closes its copy: an empty text is refused */
    ck_assert_int_eq(write_text(handle, 0, "AB"), 0);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_int_eq(write_text(handle, 2, "CD"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "abcd");
    ck_assert_str_eq(messages, "");
}
END_TEST

START_TEST(session_refused_document_changes_nothing_and_is_kept)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    ck_assert_int_eq(toy_disk.commits, 0);
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

/* ---- refused at write(2) --------------------------------------------------------------------- */

#define TEXT "chunks/0_0_0/text.txt"

/* A text of the toy format has letters only. What echo writes is refused before its line end. */
START_TEST(session_refuses_a_line_that_cannot_be_right_when_it_is_written)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "b4d\n"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(messages, TEXT ":1:6: only letters are allowed"));
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "zerob4d\n");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_int_eq(toy_disk.commits, 0);
}
END_TEST

START_TEST(session_takes_nothing_more_of_a_draft_with_a_refused_write)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "4\n"), -EBADMSG);
    ck_assert_int_eq(write_text(handle, 0, "abc"), -EBADMSG);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert_int_eq(sync_file(handle), -EBADMSG);
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_str_eq(cat(".terrainfs/rejected/" TEXT), "4\n");
    ck_assert_int_eq(toy_disk.commits, 0);
}
END_TEST

START_TEST(session_takes_a_draft_again_that_was_cut_to_nothing)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    struct stat empty = {0}, some = {.st_size = 1};
    struct answer a;
    struct tfs_attr attr;
    ck_assert_int_eq(write_text(handle, 0, "4\n"), -EBADMSG);
    ck_assert_int_eq(look(TEXT, &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, handle, &some, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), -EBADMSG);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, handle, &empty, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(write_text(handle, 0, "good"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(toy_blob(save->doc, 0), "good");
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

/* What later bytes can make good is checked at the close: a line without its end, and lines of who
 * does not write in order. */
START_TEST(session_refuses_no_write_that_can_still_become_right)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "4"), 0);
    ck_assert_int_eq(write_text(handle, 0, "g"), 0);
    ck_assert_int_eq(write_text(handle, 1, "\n"), 0);
    ck_assert_int_eq(write_text(handle, 1, "o"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(toy_blob(save->doc, 0), "go");
}
END_TEST

START_TEST(session_refuses_no_write_in_a_new_directory)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("chunks/7_0_0", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/7_0_0/text.txt", O_WRONLY | O_CREAT | O_EXCL);
    ck_assert_int_eq(write_text(handle, 0, "4\n"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    tfs_session_release(session, handle);
}
END_TEST

/* mkdir chunks/7_0_0; echo -n ... >> chunks/7_0_0/text.txt */
START_TEST(session_appends_to_what_a_new_chunk_holds)
{
    struct tfs_attr attr;
    const char *name;
    struct tfs_handle *handle;
    ck_assert_int_eq(make_directory("chunks/7_0_0", &attr), 0);
    uint64_t parent = parent_of("chunks/7_0_0/text.txt", &name);
    ck_assert_int_eq(
        tfs_session_create(session, parent, name, 0644, 0, 0, O_WRONLY | O_APPEND, &handle, &attr),
        0);
    ck_assert_int_eq(attr.st.st_size, 5);
    ck_assert_int_eq(write_text(handle, 0, "more"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/7_0_0/text.txt"), "emptymore");
}
END_TEST

START_TEST(session_creates_anew_in_a_new_chunk_for_who_copies)
{
    static const int flags[] = {O_WRONLY | O_EXCL, O_WRONLY | O_TRUNC};
    struct tfs_attr attr;
    const char *name;
    struct tfs_handle *handle;
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof(path), "chunks/%d_0_0/text.txt", 7 + i);
        ck_assert_int_eq(make_directory(i == 0 ? "chunks/7_0_0" : "chunks/8_0_0", &attr), 0);
        uint64_t parent = parent_of(path, &name);
        ck_assert_int_eq(
            tfs_session_create(session, parent, name, 0644, 0, 0, flags[i], &handle, &attr), 0);
        ck_assert_int_eq(attr.st.st_size, 0);
        ck_assert_int_eq(write_text(handle, 0, "copied"), 0);
        ck_assert_int_eq(flush(handle), 0);
        tfs_session_release(session, handle);
        ck_assert_str_eq(cat(path), "copied");
    }
}
END_TEST

/* Those that a number answers, and that no message says. */
START_TEST(session_logs_every_refusal)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(unlink_path("all.txt"), -EPERM);
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "all.txt: this name is a fixed one"));
    ck_assert_int_eq(rename_path("chunks", "other"), -EPERM);
    ck_assert_ptr_nonnull(strstr(cat(".terrainfs/errors.log"), "chunks: this name is a fixed one"));
    ck_assert_int_eq(put("scratch", "text"), 0);
    ck_assert_int_eq(rename_path("scratch", "all.txt"), -EACCES);
    ck_assert_int_eq(look("all.txt", &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_WRONLY, 1, &handle, &keep), -EACCES);
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "all.txt: this file is for reading only"));
    ck_assert_str_eq(messages, "");
    ck_assert_int_eq(unlink_path("nothing"), -ENOENT);
    ck_assert_ptr_null(strstr(cat(".terrainfs/errors.log"), "nothing"));
}
END_TEST

START_TEST(session_logs_what_cannot_be_moved_there)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0", "away"), -EXDEV);
    ck_assert_ptr_nonnull(
        strstr(cat(".terrainfs/errors.log"), "chunks/0_0_0: this cannot be moved"));
}
END_TEST

START_TEST(session_says_when_something_was_refused)
{
    int year, day, seconds;
    ck_assert_int_eq(unlink_path("all.txt"), -EPERM);
    const char *time = strrchr(cat(".terrainfs/errors.log"), '(');
    ck_assert_ptr_nonnull(time);
    ck_assert_int_eq(sscanf(time, "(%4d-%*2d-%2d %*2d:%*2d:%2d)", &year, &day, &seconds), 3);
    ck_assert_int_ge(year, 2024);
}
END_TEST

static char seen_behind[64];

static void *look_behind(void *arg)
{
    (void)arg;
    snprintf(seen_behind, sizeof(seen_behind), "%s", cat("chunks/0_0_0/text.txt"));
    return NULL;
}

/* The kernel tells of the last close after close(2) has returned: who opens the file between the
 * two waits for it. */
START_TEST(session_shows_the_accepted_text_as_soon_as_a_close_was_refused)
{
    pthread_t reader;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.closing_ms = 3600000});
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "no 1 good"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert_int_eq(pthread_create(&reader, NULL, look_behind, NULL), 0);
    usleep(20000); /* so that the reader would have seen what was refused */
    tfs_session_release(session, handle);
    ck_assert_int_eq(pthread_join(reader, NULL), 0);
    ck_assert_str_eq(seen_behind, "zero");
}
END_TEST

/* (cat a; cat b) > f: the close between the two sees half a document. */
START_TEST(session_forgets_what_it_kept_when_the_whole_document_is_good)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "1"), 0);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    ck_assert(exists(".terrainfs/rejected/chunks/0_0_0/text.txt"));
    ck_assert_int_eq(write_text(handle, 0, "good"), 0);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert(!exists(".terrainfs/rejected/chunks"));
    tfs_session_release(session, handle);
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

/* vim writes its backup back when a write fails, before the kernel tells that the first handle is
 * gone. */
START_TEST(session_keeps_a_refused_document_when_the_file_is_opened_again)
{
    struct tfs_handle *refused = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(refused, 0, "1"), 0);
    ck_assert_int_eq(flush(refused), -EBADMSG);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "zero"), 0);
    tfs_session_release(session, refused);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "1");
    ck_assert_int_eq(tfs_session_finish(session), 3);
}
END_TEST

START_TEST(session_forgets_a_refused_document_when_its_file_is_mended)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "nor 2"), -EBADMSG);
    ck_assert_int_eq(put("chunks/-2_3_4/text.txt", "3"), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0); /* the last closes are through */
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. 0_0_0 1_0_0 -2_3_4 ");
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "good"), 0);
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. 1_0_0 -2_3_4 ");
    ck_assert_int_eq(put("t", "good"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/1_0_0/text.txt"), 0);
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. -2_3_4 ");
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_ptr_nonnull(strstr(messages, "1 refused text is kept in "));
}
END_TEST

START_TEST(session_that_saw_every_refused_document_mended_ends_well)
{
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "good"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_ptr_null(tfs_session_left(session));
}
END_TEST

START_TEST(session_keeps_no_empty_document_aside)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDWR | O_TRUNC);
    ck_assert_int_eq(flush(handle), -EBADMSG);
    tfs_session_release(session, handle);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "filled"), 0);
    ck_assert(!exists(".terrainfs/rejected/chunks"));
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

START_TEST(session_truncate_by_name_is_validated_at_once)
{
    struct tfs_attr attr;
    struct answer a;
    struct stat values = {.st_size = 0};
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), -EBADMSG);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
    values.st_size = 2;
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(a.attr.st.st_size, 2);
    ck_assert_str_eq(toy_blob(save->doc, 0), "ze");
}
END_TEST

START_TEST(session_pending_document_has_a_cap)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, UINT64_C(1) << 40, "x"), -EFBIG);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
}
END_TEST

START_TEST(session_append_goes_to_the_end_whatever_the_caller_believes)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 40, "more"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(toy_blob(save->doc, 0), "zeromore");
}
END_TEST

START_TEST(session_open_wants_a_fresh_look_after_the_size_changed)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(look("chunks/0_0_0/raw.bin", &attr), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "longer"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, 1, &handle, &keep), -ESTALE);
    ck_assert_int_eq(look("chunks/0_0_0/raw.bin", &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, 1, &handle, &keep), 0);
    ck_assert(!keep);
    tfs_session_release(session, handle);
}
END_TEST

/* Each replacement gives the name another id. */
START_TEST(session_open_wants_one_fresh_look_however_often_the_file_is_replaced)
{
    struct tfs_attr first, second;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "two"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &first), 0);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "three"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, first.id, O_RDONLY, 2, &handle, &keep),
                     -ESTALE);
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "four"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &second), 0);
    ck_assert_uint_ne(second.id, first.id);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "sixsix"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, second.id, O_RDONLY, 2, &handle, &keep), 0);
    ck_assert_str_eq(text_of_handle(handle, second.id), "sixsix");
    tfs_session_release(session, handle);
}
END_TEST

START_TEST(session_mtime_moves_with_the_content_only)
{
    struct tfs_attr before, after, other;
    ck_assert_int_eq(look("chunks/1_0_0/raw.bin", &before), 0);
    ck_assert_int_eq(look("chunks/1_0_0/part/note.txt", &other), 0);
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "uno"), 0);
    ck_assert_int_eq(look("chunks/1_0_0/raw.bin", &after), 0);
    ck_assert_int_ne(after.st.st_mtim.tv_nsec, before.st.st_mtim.tv_nsec);
    ck_assert_int_eq(look("chunks/1_0_0/part/note.txt", &after), 0);
    ck_assert_int_eq(after.st.st_mtim.tv_sec, other.st.st_mtim.tv_sec);
}
END_TEST

/* ---- removing and renaming ------------------------------------------------------------------- */

START_TEST(session_unlinked_file_shows_again_after_two_seconds)
{
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert(!exists("chunks/0_0_0/text.txt"));
    ck_assert_str_eq(list("chunks/0_0_0"), ". .. raw.bin part ");
    ck_assert(comes(exists, "chunks/0_0_0/text.txt"));
    ck_assert_int_eq(toy_disk.commits, 0);
}
END_TEST

START_TEST(session_unlinked_file_can_be_created_again)
{
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "again"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "again");
}
END_TEST

START_TEST(session_reader_of_an_unlinked_file_keeps_its_bytes)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "other"), 0);
    ck_assert_str_eq(text_of_handle(handle, attr.id), "zero");
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "other");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "other");
}
END_TEST

START_TEST(session_removed_optional_file_is_stored_as_absent)
{
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 1), "one|note");
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 1), "one");
    ck_assert_int_eq(put("chunks/1_0_0/part/note.txt", "back"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 1), "one|back");
}
END_TEST

START_TEST(session_lists_an_optional_file_from_its_creation_on)
{
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. ");
    struct tfs_handle *handle = open_path("chunks/0_0_0/part/note.txt", O_WRONLY);
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. note.txt ");
    ck_assert_int_eq(remove_directory("chunks/0_0_0/part"), -ENOTEMPTY);
    ck_assert_int_eq(write_text(handle, 0, "new"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(list("chunks/0_0_0/part"), ". .. note.txt ");
    ck_assert_str_eq(toy_blob(save->doc, 0), "zero|new");
}
END_TEST

START_TEST(session_fsync_of_a_directory_hears_that_a_removal_is_refused)
{
    ck_assert_int_eq(put("chunks/1_0_0/part/note.txt", "?"), 0);
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), -EBADMSG);
    ck_assert_ptr_nonnull(strstr(messages, "chunks/1_0_0/part/note.txt: this note stays"));
    ck_assert_str_eq(cat("chunks/1_0_0/part/note.txt"), "?");
    ck_assert_int_eq(sync_directory("chunks/1_0_0/part"), 0);
}
END_TEST

START_TEST(session_read_only_files_refuse)
{
    struct tfs_attr attr;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(look("all.txt", &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_WRONLY, 1, &handle, &keep), -EACCES);
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
    int result = tfs_session_open_file(session, attr.id, flags, 1, &handle, &keep);
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
    ck_assert_int_eq(toy_disk.commits, 0);
}
END_TEST

START_TEST(session_rename_of_a_scratch_file_is_an_edit)
{
    struct tfs_attr attr;
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "FRESH"), 0);
    ck_assert_int_eq(toy_disk.commits, 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "fresh");
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

START_TEST(session_schema_file_moved_onto_another_is_validated)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 1), "zero|note");
    ck_assert(!exists("chunks/0_0_0/text.txt"));
    ck_assert(comes(exists, "chunks/0_0_0/text.txt"));
}
END_TEST

/* ---- chunk directories ----------------------------------------------------------------------- */

START_TEST(session_new_chunk_hides_its_files_until_created_or_two_seconds)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), 0);
    ck_assert_str_eq(toy_blob(save->doc, 5), "empty");
    ck_assert_str_eq(list("chunks/5_0_0"), ". .. ");
    ck_assert_int_eq(make_directory("chunks/5_0_0/part", &attr), 0);
    ck_assert_int_eq(put("chunks/5_0_0/text.txt", "five"), 0);
    ck_assert_str_eq(list("chunks/5_0_0"), ". .. text.txt part ");
    ck_assert(comes(exists, "chunks/5_0_0/raw.bin"));
    ck_assert_str_eq(cat("chunks/5_0_0/raw.bin"), "five");
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
    ck_assert_ptr_nonnull(strstr(messages, "chunks/100_0_0: toys end at 99"));
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
    ck_assert_str_eq(toy_blob(save->doc, 1), "");
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
    ck_assert_uint_eq(after.id, before.id);
    ck_assert(!exists("chunks/1_0_0"));
    ck_assert_int_eq(write_text(handle, 0, "nine"), 0);
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(toy_blob(save->doc, 9), "nine|note");
    ck_assert_int_eq(rename_path("chunks/9_0_0", "chunks/0_0_0"), -EEXIST);
    ck_assert_int_eq(rename_path("chunks/9_0_0", "elsewhere"), -EXDEV);
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
    ck_assert_str_eq(text_of_handle(handle, attr.id), "data");
    tfs_session_release(session, handle);
    ck_assert(!exists("s"));
}
END_TEST

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

static void outside_change(int x, const char *blob)
{
    toy_disk.theirs = toy_doc_with(save->doc, x, blob);
    toy_disk.changed = 1;
}

static bool zero_is_theirs(const char *path)
{
    return strcmp(cat(path), "theirs") == 0;
}

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
    ck_assert_int_eq(flush(handle), -ESTALE);
    tfs_session_release(session, handle);
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
    ck_assert_int_eq(flush(handle), -ESTALE);
    tfs_session_release(session, handle);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "theirs");
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "ours");
}
END_TEST

/* The worker looks by itself, too: what close said 0 of is told by the next barrier, once. */
START_TEST(session_fsync_tells_of_staged_edits_that_gave_way)
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
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
    ck_assert_str_eq(toy_blob(save->doc, 0), "ours");
    ck_assert_str_eq(toy_blob(save->doc, 1), "theirs");
}
END_TEST

/* Found by fuzz_session_saves: tiles of one size were put onto a terrain of another. */
START_TEST(session_mine_gives_way_where_our_chunks_do_not_fit)
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

/* ---- in the middle of something -------------------------------------------------------------- */

static struct tfs_handle *other_handle;
static struct answer other_answer, next_answer;

static void flush_other(void)
{
    tfs_session_flush(session, other_handle, 1, REPLY(&other_answer));
}

static void release_other(void)
{
    tfs_session_release(session, other_handle);
}

START_TEST(session_flush_waits_for_a_validation_under_way)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, 0, "abc"), 0);
    ck_assert_int_eq(write_text(other_handle, 3, "def"), 0);
    answer_init(&other_answer);
    toy_disk.during[TOY_PUT] = flush_other;
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(flush(handle), -ENOSPC);
    ck_assert_int_eq(answer_wait(&other_answer), -ENOSPC);
    tfs_session_release(session, handle);
    tfs_session_release(session, other_handle);
}
END_TEST

/* ---- the same on the way to a journal ---- */

static bool answered_early;

/* While the journal is begun, which needs to know what the save holds. */
static int hash_while_another_closes(struct tfs_save *of, struct tfs_hash *hash,
                                     struct tfs_error *err)
{
    (void)of;
    (void)err;
    flush_other();
    pthread_mutex_lock(&other_answer.lock);
    answered_early = other_answer.done;
    pthread_mutex_unlock(&other_answer.lock);
    *hash = (struct tfs_hash){0};
    return 0;
}

/* Its bytes were accepted with those of the first close, and no journal holds them yet. */
START_TEST(session_close_waits_for_the_journal_that_another_close_writes)
{
    static struct tfs_container journaling;
    char directory[] = "/tmp/toy-XXXXXX";
    tfs_session_close(session);
    open_with((struct tfs_session_options){.commit_seconds = 3600});
    ck_assert_ptr_nonnull(mkdtemp(directory));
    free(save->path);
    ck_assert_int_gt(asprintf(&save->path, "%s/toy.save", directory), 0);
    journaling = *save->container;
    journaling.hash = hash_while_another_closes;
    journaling.journal = NULL;
    save->container = &journaling;
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, 0, "abc"), 0);
    ck_assert_int_eq(write_text(other_handle, 3, "def"), 0);
    answer_init(&other_answer);
    answered_early = true;
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert(!answered_early);
    ck_assert_int_eq(toy_disk.commits, 0);
    tfs_session_release(session, handle);
    tfs_session_release(session, other_handle);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

static int hash_of_nothing(struct tfs_save *of, struct tfs_hash *hash, struct tfs_error *err)
{
    (void)of;
    (void)err;
    *hash = (struct tfs_hash){0};
    return 0;
}

/* Where there cannot be a journal, the save takes the edit at once, and a full disk is told. */
START_TEST(session_close_hears_that_neither_journal_nor_save_can_be_written)
{
    static struct tfs_container journaling;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.commit_seconds = 3600});
    free(save->path);
    save->path = strdup("/dev/null/toy.save");
    journaling = *save->container;
    journaling.hash = hash_of_nothing;
    journaling.journal = NULL;
    save->container = &journaling;
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "later"), -ENOSPC);
    toy_disk.fail = 0;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "now"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "later");
    ck_assert_str_eq(toy_blob(save->doc, 1), "now|note");
    ck_assert_int_ge(toy_disk.commits, 1);
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

static struct tfs_handle *split_handle, *third_handle;

/* Another has written and closes while a write(2) of caller 2 is on its way, which the kernel split
 * at the end of a page. */
static void close_other_in_a_split_write(unsigned part_ms)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.part_ms = part_ms});
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    split_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4095, tfs_span_of("d"), false), 0);
    answer_init(&other_answer);
    flush_other();
}

static void release_both(void)
{
    tfs_session_release(session, other_handle);
    tfs_session_release(session, split_handle);
}

START_TEST(session_close_of_one_waits_for_the_rest_of_a_write_of_another)
{
    close_other_in_a_split_write(3600000);
    usleep(20000); /* so that the worker would have validated half of it */
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4096, tfs_span_of("ef"), false),
                     0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abcdef");
    ck_assert_int_eq(toy_disk.commits, 1);
    release_both();
}
END_TEST

static void begin_split_write(void)
{
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4095, tfs_span_of("d"), false), 0);
}

/* While the first of two closes is validated that were asked for together. */
static void close_both_soon(void)
{
    toy_disk.during[TOY_PUT] = begin_split_write;
    flush_other();
    answer_init(&next_answer);
    tfs_session_flush(session, third_handle, 1, REPLY(&next_answer));
}

START_TEST(session_close_waits_for_a_write_that_begins_while_others_are_validated)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.part_ms = 3600000});
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    third_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    split_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    ck_assert_int_eq(write_text(third_handle, 0, "abc"), 0);
    answer_init(&other_answer);
    toy_disk.during[TOY_PUT] = close_both_soon;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abc");
    usleep(20000); /* so that the worker would have validated half of it */
    ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4096, tfs_span_of("ef"), false),
                     0);
    ck_assert_int_eq(answer_wait(&next_answer), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abcdef");
    tfs_session_release(session, third_handle);
    release_both();
}
END_TEST

START_TEST(session_write_that_never_ends_holds_up_no_close)
{
    bool done = false;
    close_other_in_a_split_write(20);
    for (int i = 0; i < 2000 && !done; i++) {
        ck_assert_int_eq(tfs_session_write(session, split_handle, 2, 4095, tfs_span_of("d"), false),
                         0);
        usleep(5000);
        pthread_mutex_lock(&other_answer.lock);
        done = other_answer.done;
        pthread_mutex_unlock(&other_answer.lock);
    }
    ck_assert(done);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    release_both();
}
END_TEST

START_TEST(session_close_of_one_goes_on_when_the_other_closes)
{
    close_other_in_a_split_write(3600000);
    answer_init(&next_answer);
    tfs_session_flush(session, split_handle, 2, REPLY(&next_answer));
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_int_eq(answer_wait(&next_answer), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abcd");
    release_both();
}
END_TEST

START_TEST(session_close_of_one_does_not_wait_long)
{
    close_other_in_a_split_write(1);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abcd");
    release_both();
}
END_TEST

START_TEST(session_end_does_not_wait_for_the_rest_of_a_write)
{
    close_other_in_a_split_write(3600000);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abcd");
    release_both();
}
END_TEST

START_TEST(session_close_during_a_validation_keeps_refused_bytes)
{
    struct answer a;
    answer_init(&a);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "b4d"), 0);
    toy_disk.during[TOY_PUT] = release_other;
    tfs_session_flush(session, other_handle, 1, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), -EBADMSG);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(cat(".terrainfs/rejected/chunks/0_0_0/text.txt"), "b4d");
    ck_assert_str_eq(cat("chunks/0_0_0/text.txt"), "zero");
}
END_TEST

/* RELEASE comes when close(2) has long returned, and is processed later still: the next writer may
 * have begun. */
static void next_writer_begins(void)
{
    release_other();
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "hal"), 0);
}

START_TEST(session_late_release_does_not_validate_what_the_next_writer_has_begun)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "first"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    toy_disk.during[TOY_COMMIT] = next_writer_begins;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "first");
    ck_assert_int_eq(write_text(other_handle, 3, "f"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "half");
    release_other();
}
END_TEST

/* Nor is it lost when the next writer writes nothing. */
static void next_writer_only_opens(void)
{
    ck_assert_int_eq(write_text(other_handle, 0, "later"), 0);
    release_other();
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
}

START_TEST(session_bytes_that_no_flush_saw_are_validated_when_the_last_writer_is_gone)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "first"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    toy_disk.during[TOY_COMMIT] = next_writer_only_opens;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "first");
    ck_assert_int_eq(flush(other_handle), 0);
    release_other();
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "later");
}
END_TEST

START_TEST(session_reader_may_close_while_its_file_is_unlinked)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "other"), 0);
    toy_disk.during[TOY_GET] = release_other;
    ck_assert_int_eq(unlink_path("chunks/0_0_0/text.txt"), 0);
    ck_assert(toy_disk.during[TOY_GET] == NULL);
    ck_assert(comes(exists, "chunks/0_0_0/text.txt"));
}
END_TEST

static void open_other(void)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
}

START_TEST(session_reader_that_comes_during_a_rename_sees_a_whole_file)
{
    ck_assert_int_eq(put("t", "fresh"), 0);
    toy_disk.during[TOY_COMMIT] = open_other;
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(text_of_handle(other_handle, 0), "zero");
    tfs_session_release(session, other_handle);
}
END_TEST

static void write_other(void)
{
    ck_assert_int_eq(write_text(other_handle, 3, "more"), 0);
}

START_TEST(session_bytes_written_during_a_rename_are_validated_at_close)
{
    other_handle = open_path("t", O_WRONLY);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    toy_disk.during[TOY_COMMIT] = write_other;
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abc");
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(toy_blob(save->doc, 0), "abcmore");
    tfs_session_release(session, other_handle);
}
END_TEST

/* Two jobs for one batch: a rename, which is undone when the disk fails, and an edit behind it. */
static void rename_and_flush_other(void)
{
    const char *name;
    uint64_t chunk = parent_of("chunks/0_0_0/text.txt", &name);
    tfs_session_rename(session, 1, "t", chunk, "text.txt", false, REPLY(&next_answer));
    flush_other();
}

START_TEST(session_undo_spares_later_edits_of_the_same_chunk)
{
    ck_assert_int_eq(put("t", "abc"), 0);
    other_handle = open_path("chunks/0_0_0/part/note.txt", O_WRONLY);
    ck_assert_int_eq(write_text(other_handle, 0, "note"), 0);
    answer_init(&other_answer);
    answer_init(&next_answer);
    toy_disk.during[TOY_PUT] = rename_and_flush_other;
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "uno"), -ENOSPC);
    ck_assert_int_eq(answer_wait(&next_answer), -ENOSPC);
    ck_assert_int_eq(answer_wait(&other_answer), -ENOSPC);
    toy_disk.fail = 0;
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_ptr_nonnull(strstr(toy_blob(save->doc, 0), "|note"));
    tfs_session_release(session, other_handle);
}
END_TEST

START_TEST(session_renames_onto_an_absent_file_that_is_still_open)
{
    struct tfs_handle *reader = open_path("chunks/1_0_0/part/note.txt", O_RDONLY);
    ck_assert_int_eq(put("chunks/1_0_0/raw.bin", "one"), 0);
    ck_assert_int_eq(put("t", "new"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/1_0_0/part/note.txt"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 1), "one|new");
    tfs_session_release(session, reader);
}
END_TEST

/* ---- ids and names --------------------------------------------------------------------------- */

START_TEST(session_id_of_a_moved_file_never_means_the_file_it_was)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    uint64_t moved = attr.id; /* what the kernel calls chunks/1_0_0/text.txt from now on */
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "new"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    ck_assert_uint_ne(attr.id, moved);
    ck_assert_int_eq(tfs_session_getattr(session, moved, &attr), -ESTALE);
}
END_TEST

START_TEST(session_id_of_a_removed_backup_means_nothing)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    uint64_t moved = attr.id;
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "chunks/0_0_0/backup"), 0);
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "new"), 0);
    ck_assert_int_eq(unlink_path("chunks/0_0_0/backup"), 0);
    ck_assert_int_eq(tfs_session_getattr(session, moved, &attr), -ESTALE);
}
END_TEST

START_TEST(session_removal_of_an_optional_file_moves_with_its_chunk)
{
    ck_assert_int_eq(unlink_path("chunks/1_0_0/part/note.txt"), 0);
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), 0);
    ck_assert_int_eq(sync_directory("chunks/9_0_0/part"), 0);
    ck_assert_str_eq(toy_blob(save->doc, 9), "one");
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
    ck_assert_int_eq(flush(handle), 0);
    tfs_session_release(session, handle);
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

START_TEST(session_undone_operation_leaves_nothing_unsaved)
{
    struct tfs_attr attr;
    toy_disk.fail = -ENOSPC;
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), -ENOSPC);
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/6_0_0"), -ENOSPC);
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

static struct answer first_made, second_made;

static void ask_for_directory(const char *path, struct answer *a)
{
    const char *name;
    uint64_t parent = parent_of(path, &name);
    answer_init(a);
    tfs_session_mkdir(session, parent, name, 0755, 0, 0, REPLY(a));
}

/* Both wait for what is under way, and share the next commit. */
static void make_two_directories(void)
{
    ask_for_directory("chunks/5_0_0", &first_made);
    ask_for_directory("chunks/6_0_0", &second_made);
}

static void make_two_directories_on_a_full_disk(void)
{
    make_two_directories();
    toy_disk.fail = -ENOSPC;
}

START_TEST(session_operations_that_fail_together_leave_nothing_unsaved)
{
    toy_disk.during[TOY_PUT] = make_two_directories_on_a_full_disk;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "zero"), 0); /* what it says already */
    ck_assert_int_eq(answer_wait(&first_made), -ENOSPC);
    ck_assert_int_eq(answer_wait(&second_made), -ENOSPC);
    toy_disk.fail = 0;
    ck_assert_str_eq(list("chunks"), ". .. 0_0_0 1_0_0 -2_3_4 ");
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_int_eq(toy_disk.commits, 0);
}
END_TEST

START_TEST(session_operations_that_come_together_share_a_commit)
{
    toy_disk.during[TOY_COMMIT] = make_two_directories;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "before"), 0);
    ck_assert_int_eq(answer_wait(&first_made), 0);
    ck_assert_int_eq(answer_wait(&second_made), 0);
    ck_assert_int_eq(toy_disk.commits, 2);
}
END_TEST

START_TEST(session_chunk_made_by_both_sides_is_there_after_a_reload)
{
    struct tfs_attr attr;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_THEIRS, .commit_seconds = 60});
    ck_assert_int_eq(make_directory("chunks/5_0_0", &attr), 0);
    outside_change(5, "empty");
    ck_assert_int_eq(sync_directory("chunks"), -ESTALE);
    ck_assert_str_eq(list("chunks"), ". .. 0_0_0 1_0_0 -2_3_4 5_0_0 ");
    ck_assert_str_eq(cat("chunks/5_0_0/raw.bin"), "empty");
}
END_TEST

START_TEST(session_move_onto_a_chunk_that_came_from_outside_is_refused)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_THEIRS});
    outside_change(9, "theirs");
    ck_assert_int_eq(rename_path("chunks/1_0_0", "chunks/9_0_0"), -EEXIST);
    ck_assert_str_eq(cat("chunks/9_0_0/text.txt"), "theirs");
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "one");
}
END_TEST

START_TEST(session_worker_rests_when_staged_edits_gave_way)
{
    tfs_session_close(session);
    open_with((struct tfs_session_options){.conflict = TFS_CONFLICT_THEIRS, .commit_seconds = 1});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "ours"), 0);
    outside_change(0, "theirs");
    ck_assert(comes(zero_is_theirs, "chunks/0_0_0/text.txt"));
    usleep(1200000); /* past the deadline of the edit that is no more */
    int before = toy_disk.looks;
    usleep(300000);
    ck_assert_int_lt(toy_disk.looks - before, 50);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------------- */

static void *edit_often(void *arg)
{
    const char *const texts[] = {"abc", "DEF", "g4", "hij"};
    uint64_t id = *(const uint64_t *)arg;
    struct tfs_handle *handle;
    bool keep;
    for (int i = 0; i < 100; i++) {
        struct tfs_attr attr;
        int result = -ESTALE;
        while (result == -ESTALE && tfs_session_getattr(session, id, &attr) == 0)
            result =
                tfs_session_open_file(session, id, O_WRONLY | O_TRUNC, gettid(), &handle, &keep);
        if (result < 0)
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
    uint64_t id = *(const uint64_t *)arg;
    for (int i = 0; i < 300; i++) {
        struct tfs_blob *hold = NULL;
        struct tfs_span bytes;
        struct tfs_attr attr;
        if (tfs_session_read(session, id, NULL, 0, 100, &hold, &bytes) < 0)
            return "read failed";
        tfs_blob_unref(hold);
        (void)tfs_session_lookup(session, 1, "all.txt", &attr);
        (void)tfs_session_read_directory(session, 1, 0, true, ignore_entry, NULL);
        (void)tfs_session_current(session, 1);
    }
    return NULL;
}

START_TEST(session_survives_many_threads)
{
    const char *const paths[] = {"chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt", "all.txt"};
    uint64_t ids[3];
    pthread_t threads[8];
    for (int i = 0; i < 3; i++) {
        struct tfs_attr attr;
        ck_assert_int_eq(look(paths[i], &attr), 0);
        ids[i] = attr.id;
    }
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, i < 4 ? edit_often : read_often,
                       &ids[i < 4 ? i % 2 : i % 3]);
    for (int i = 0; i < 8; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        ck_assert_ptr_null(failure);
    }
    ck_assert_int_eq(tfs_session_finish(session) & ~3, 0);
    ck_assert_str_eq(save->doc == NULL ? "" : toy_blob(save->doc, -2), "two");
}
END_TEST

/* ---- what a long mount gathers --------------------------------------------------------------- */

static const char *digits(char text[], size_t count)
{
    memset(text, '1', count);
    text[count] = '\0';
    return text;
}

/* Refused texts of 900 bytes, of which there is room for one. */
START_TEST(session_lets_the_oldest_refused_text_go_for_a_newer_one)
{
    char text[3001];
    tfs_session_close(session);
    open_with((struct tfs_session_options){.rejected_limit = 2000});
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", digits(text, 900)), -EBADMSG);
    ck_assert(comes(exists, ".terrainfs/rejected/chunks/0_0_0/text.txt"));
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", digits(text, 900)), -EBADMSG);
    ck_assert(comes(exists, ".terrainfs/rejected/chunks/1_0_0/text.txt"));
    ck_assert(!exists(".terrainfs/rejected/chunks/0_0_0/text.txt"));
    /* The newest one stays, however large it is. */
    ck_assert_int_eq(put("chunks/-2_3_4/text.txt", digits(text, 3000)), -EBADMSG);
    ck_assert(comes(exists, ".terrainfs/rejected/chunks/-2_3_4/text.txt"));
    ck_assert_str_eq(list(".terrainfs/rejected/chunks"), ". .. -2_3_4 ");
    ck_assert_int_eq(tfs_session_finish(session), 3);
    ck_assert_ptr_nonnull(strstr(messages, "2 older refused texts were let go"));
}
END_TEST

/* Opens as the kernel does: who is told ESTALE looks again and comes back once. */
static struct tfs_handle *open_again(const char *path, int flags, bool *keep)
{
    struct tfs_handle *handle = NULL;
    struct tfs_attr attr;
    int result = -ESTALE;
    for (int i = 0; i < 2 && result == -ESTALE; i++) {
        ck_assert_int_eq(look(path, &attr), 0);
        result = tfs_session_open_file(session, attr.id, flags, 1, &handle, keep);
    }
    ck_assert_int_eq(result, 0);
    return handle;
}

/* The table has room for two files, and the session goes on telling new from old. */
START_TEST(session_that_forgets_single_changes_still_shows_all_of_them)
{
    static const char *const paths[] = {"chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt",
                                        "chunks/-2_3_4/text.txt"};
    struct tfs_attr before, after;
    char text[] = "a";
    bool keep = false;
    tfs_session_close(session);
    open_with((struct tfs_session_options){.changes_limit = 2});
    for (int i = 0; i < 12; i++, text[0]++) {
        const char *path = paths[i % 3];
        ck_assert_int_eq(look(path, &before), 0);
        struct tfs_handle *handle = open_again(path, O_WRONLY | O_TRUNC, &keep);
        ck_assert_int_eq(write_text(handle, 0, text), 0);
        ck_assert_int_eq(flush(handle), 0);
        tfs_session_release(session, handle);
        ck_assert_str_eq(cat(path), text);
        ck_assert_ptr_nonnull(strstr(cat("all.txt"), text));
        ck_assert_int_eq(look(path, &after), 0);
        ck_assert(after.st.st_mtim.tv_sec > before.st.st_mtim.tv_sec ||
                  after.st.st_mtim.tv_nsec > before.st.st_mtim.tv_nsec);
        tfs_session_release(session, open_again(path, O_RDONLY, &keep));
        ck_assert(!keep);
    }
}
END_TEST

static const TTest *const *const tests[] = {
    &session_shows_what_the_lens_shows,
    &session_lists_as_many_attributes_as_are_wanted,
    &session_size_is_exact,
    &session_remembers_the_sizes_of_all_files,
    &session_lets_go_of_bytes_that_were_read,
    &session_close_is_a_commit_and_other_views_show_it,
    &session_writing_back_what_was_read_commits_nothing,
    &session_shows_bytes_as_written_until_the_last_close,
    &session_close_commits_pages_that_came_through_another_handle,
    &session_copied_descriptor_may_write_on_after_a_flush,
    &session_refused_document_changes_nothing_and_is_kept,
    &session_refuses_a_line_that_cannot_be_right_when_it_is_written,
    &session_takes_nothing_more_of_a_draft_with_a_refused_write,
    &session_takes_a_draft_again_that_was_cut_to_nothing,
    &session_refuses_no_write_that_can_still_become_right,
    &session_refuses_no_write_in_a_new_directory,
    &session_appends_to_what_a_new_chunk_holds,
    &session_creates_anew_in_a_new_chunk_for_who_copies,
    &session_logs_every_refusal,
    &session_logs_what_cannot_be_moved_there,
    &session_says_when_something_was_refused,
    &session_shows_the_accepted_text_as_soon_as_a_close_was_refused,
    &session_forgets_a_refused_document_when_its_file_is_mended,
    &session_that_saw_every_refused_document_mended_ends_well,
    &session_keeps_no_empty_document_aside,
    &session_keeps_a_refused_document_before_its_close_returns,
    &session_keeps_a_refused_document_when_the_file_is_opened_again,
    &session_forgets_what_it_kept_when_the_whole_document_is_good,
    &session_truncate_by_name_is_validated_at_once,
    &session_pending_document_has_a_cap,
    &session_append_goes_to_the_end_whatever_the_caller_believes,
    &session_open_wants_a_fresh_look_after_the_size_changed,
    &session_open_wants_one_fresh_look_however_often_the_file_is_replaced,
    &session_mtime_moves_with_the_content_only,
    &session_unlinked_file_shows_again_after_two_seconds,
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
    &session_schema_file_moved_onto_another_is_validated,
    &session_new_chunk_hides_its_files_until_created_or_two_seconds,
    &session_refuses_bad_chunk_directories,
    &session_deletes_a_chunk_whose_files_are_gone,
    &session_moved_chunk_keeps_its_ids,
    &session_scratch_files_are_capped,
    &session_unlinked_scratch_file_lives_while_open,
    &session_full_disk_is_told_to_close_and_the_edit_waits,
    &session_failed_name_operations_are_undone,
    &session_unsaved_edits_are_kept_beside_the_save,
    &session_staged_edits_are_forced_by_fsync,
    &session_reloads_a_changed_save_without_edits,
    &session_asks_when_the_save_changed_under_an_edit,
    &session_theirs_reloads_and_keeps_our_bytes_aside,
    &session_fsync_tells_of_staged_edits_that_gave_way,
    &session_mine_puts_our_chunks_onto_the_new_save,
    &session_mine_gives_way_where_our_chunks_do_not_fit,
    &session_mine_waits_for_a_broken_save_to_be_good_again,
    &session_broken_save_gives_eio_until_it_is_good_again,
    &session_flush_waits_for_a_validation_under_way,
    &session_close_waits_for_the_journal_that_another_close_writes,
    &session_close_hears_that_neither_journal_nor_save_can_be_written,
    &session_close_during_a_validation_keeps_refused_bytes,
    &session_close_of_one_waits_for_the_rest_of_a_write_of_another,
    &session_close_of_one_goes_on_when_the_other_closes,
    &session_close_waits_for_a_write_that_begins_while_others_are_validated,
    &session_write_that_never_ends_holds_up_no_close,
    &session_close_of_one_does_not_wait_long,
    &session_end_does_not_wait_for_the_rest_of_a_write,
    &session_late_release_does_not_validate_what_the_next_writer_has_begun,
    &session_bytes_that_no_flush_saw_are_validated_when_the_last_writer_is_gone,
    &session_reader_may_close_while_its_file_is_unlinked,
    &session_reader_that_comes_during_a_rename_sees_a_whole_file,
    &session_bytes_written_during_a_rename_are_validated_at_close,
    &session_undo_spares_later_edits_of_the_same_chunk,
    &session_renames_onto_an_absent_file_that_is_still_open,
    &session_id_of_a_moved_file_never_means_the_file_it_was,
    &session_id_of_a_removed_backup_means_nothing,
    &session_removal_of_an_optional_file_moves_with_its_chunk,
    &session_full_scratch_leaves_a_file_that_was_to_be_moved_away,
    &session_removed_file_that_stays_open_has_a_cap,
    &session_undone_operation_leaves_nothing_unsaved,
    &session_operations_that_fail_together_leave_nothing_unsaved,
    &session_operations_that_come_together_share_a_commit,
    &session_chunk_made_by_both_sides_is_there_after_a_reload,
    &session_move_onto_a_chunk_that_came_from_outside_is_refused,
    &session_worker_rests_when_staged_edits_gave_way,
    &session_lets_the_oldest_refused_text_go_for_a_newer_one,
    &session_that_forgets_single_changes_still_shows_all_of_them,
    &session_survives_many_threads,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session");
    TCase *c = unit_case(s, "session");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_test(c, *tests[i]);
    unit_add_where(scratch_can_mount(), c,
                   session_keeps_edits_elsewhere_when_they_do_not_fit_beside_the_save, 1,
                   "root and mount(2)");
    return s;
}

UNIT_MAIN(suite)
