/*
 * Handles on the fake format: what each of them reads, writes and commits beside the others, what
 * is refused and kept, and what comes in the middle of something.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session_case.h"

#define TEXT     "chunks/0_0_0/text.txt"
#define NOTE     "chunks/0_0_0/part/note.txt"
#define REJECTED ".terrainfs/rejected/" TEXT

/* ---- who sees what, and who commits ---------------------------------------------------------- */

static int write_as(struct tfs_handle *handle, uint64_t owner, uint64_t offset, const char *text)
{
    return tfs_session_write(session, handle, owner, offset, tfs_span_of(text), false);
}

static int flush_as(struct tfs_handle *handle, uint64_t owner)
{
    struct answer a;
    answer_init(&a);
    tfs_session_flush(session, handle, owner, REPLY(&a));
    return answer_wait(&a);
}

static int set(const char *path, struct tfs_handle *handle, const struct stat *values, unsigned set,
               struct tfs_attr *attr)
{
    struct tfs_attr found;
    struct answer a;
    ck_assert_int_eq(look(path, &found), 0);
    answer_init(&a);
    tfs_session_setattr(session, found.id, handle, values, set, REPLY(&a));
    int result = answer_wait(&a);
    *attr = a.attr;
    return result;
}

static const char *read_as(struct tfs_handle *handle, uint64_t owner)
{
    static char text[64];
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes = {0};
    ck_assert_int_eq(tfs_session_read(session, handle, owner, 0, sizeof(text) - 1, &hold, &bytes),
                     0);
    snprintf(text, sizeof(text), "%.*s", (int)bytes.size, (const char *)bytes.data);
    tfs_blob_unref(hold);
    return text;
}

/* A page of a cache that all share is never a draft's. */
START_TEST(session_shows_a_draft_to_who_wrote_it_alone)
{
    struct tfs_handle *handle = open_path(TEXT, O_RDWR);
    struct tfs_attr attr;
    ck_assert(tfs_session_is_direct(handle));
    ck_assert_int_eq(write_text(handle, 4, "more"), 0);
    ck_assert_str_eq(read_as(handle, 1), "zeromore");
    ck_assert_str_eq(read_as(handle, 0), "zero");
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_int_eq(look(TEXT, &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 4);
    ck_assert_int_eq(tfs_session_getattr(session, attr.id, handle, &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 8);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(cat(TEXT), "zeromore");
}
END_TEST

/* What the kernel is to be given with the answer to this open, and whose it is; "": nothing. */
static const char *given(struct tfs_handle *handle)
{
    static char text[64];
    struct tfs_blob *blob = tfs_session_give_text(session, handle);
    const struct tfs_span bytes = tfs_blob_span(blob);
    snprintf(text, sizeof(text), "%.*s", (int)bytes.size, (const char *)bytes.data);
    tfs_blob_unref(blob);
    return text;
}

/* The kernel would wait for a page that a READ of another handle holds. */
START_TEST(session_gives_a_text_to_the_kernel_once_and_beside_no_other_handle)
{
    struct tfs_attr attr;
    ck_assert_int_eq(look(TEXT, &attr), 0);
    struct tfs_handle *first = open_path(TEXT, O_RDONLY), *second = open_path(TEXT, O_RDONLY);
    ck_assert_str_eq(given(first), "");
    ck_assert_str_eq(given(second), "");
    ck_assert_int_eq(close_file(first), 0);
    ck_assert_str_eq(given(second), "zero");
    ck_assert_str_eq(given(second), "");
    ck_assert_int_eq(close_file(second), 0);
    first = open_path(TEXT, O_RDONLY);
    ck_assert_str_eq(given(first), "");
    ck_assert_int_eq(close_file(first), 0);
    tfs_session_forget(session, attr.id, 1); /* its pages are gone */
    first = open_path(TEXT, O_RDONLY);
    ck_assert_str_eq(given(first), "zero");
    ck_assert_int_eq(close_file(first), 0);
    first = open_path(TEXT, O_RDWR);
    ck_assert_str_eq(given(first), "");
    ck_assert_int_eq(close_file(first), 0);
}
END_TEST

/* git stores the size that it sees before it closes what it created. */
START_TEST(session_shows_the_size_of_a_created_file_and_nothing_of_its_text)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/part/note.txt", O_RDWR);
    struct tfs_attr attr, after;
    ck_assert_int_eq(write_text(handle, 0, "new"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/part/note.txt", &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 3);
    ck_assert_str_eq(cat("chunks/0_0_0/part/note.txt"), "");
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_int_eq(look("chunks/0_0_0/part/note.txt", &after), 0);
    ck_assert_int_eq(after.st.st_mtim.tv_nsec, attr.st.st_mtim.tv_nsec);
    ck_assert_str_eq(cat("chunks/0_0_0/part/note.txt"), "new");
}
END_TEST

START_TEST(session_commits_when_a_writer_closes_and_for_nobody_else)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_as(handle, 7, 0, "half"), 0);
    ck_assert_int_eq(flush_as(handle, 8), 0); /* a child that ends */
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_int_eq(write_as(handle, 7, 4, "whole"), 0);
    ck_assert_int_eq(flush_as(handle, 7), 0);
    ck_assert_str_eq(cat(TEXT), "halfwhole");
    ck_assert_int_eq(put(TEXT, "other"), 0);
    ck_assert_int_eq(flush_as(handle, 7), 0); /* it wrote nothing since */
    tfs_session_release(session, handle);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(cat(TEXT), "other");
}
END_TEST

/* `{ a & b & c; } >f`: c ends and wrote nothing. */
START_TEST(session_commits_nothing_for_who_wrote_nothing_beside_two_that_did)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_as(handle, 7, 0, "half"), 0);
    ck_assert_int_eq(write_as(handle, 8, 4, "half"), 0);
    ck_assert_int_eq(flush_as(handle, 9), 0);
    ck_assert_str_eq(cat(TEXT), "zero");
    ck_assert_int_eq(flush_as(handle, 8), 0);
    ck_assert_str_eq(cat(TEXT), "halfhalf");
    tfs_session_release(session, handle);
}
END_TEST

/* More programs than are counted: each of them may be one that wrote. */
START_TEST(session_commits_for_everybody_when_many_wrote)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    for (uint64_t owner = 1; owner <= 12; owner++)
        ck_assert_int_eq(write_as(handle, owner, owner - 1, "x"), 0);
    ck_assert_int_eq(flush_as(handle, 99), 0);
    ck_assert_str_eq(cat(TEXT), "xxxxxxxxxxxx");
    ck_assert_int_eq(put(TEXT, "other"), 0);
    ck_assert_int_eq(flush_as(handle, 3), 0);
    ck_assert_str_eq(cat(TEXT), "other");
    tfs_session_release(session, handle);
}
END_TEST

START_TEST(session_keeps_the_time_that_was_set_before_a_close)
{
    const struct stat values = {.st_mtim = {1234, 5}};
    struct tfs_attr attr;
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(handle, 0, "new"), 0);
    ck_assert_int_eq(set(TEXT, NULL, &values, TFS_SET_MTIME, &attr), 0);
    ck_assert_int_ne(attr.st.st_mtim.tv_sec, 1234);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_int_eq(look(TEXT, &attr), 0);
    ck_assert_int_eq(attr.st.st_mtim.tv_sec, 1234);
}
END_TEST

/* What was cut off is not there to stand behind another text. */
START_TEST(session_appends_nothing_behind_others_once_it_was_cut_shorter)
{
    const struct stat values = {.st_size = 2};
    struct tfs_attr attr;
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(set(TEXT, handle, &values, TFS_SET_SIZE, &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 2);
    ck_assert_int_eq(write_text(handle, 0, "x"), 0);
    ck_assert_int_eq(put(TEXT, "other"), 0);
    ck_assert_int_eq(flush(handle), -ESTALE);
    ck_assert_str_eq(cat(REJECTED), "zex");
    tfs_session_release(session, handle);
}
END_TEST

/* The text that others put there says what it said before. */
START_TEST(session_takes_a_draft_whose_file_was_written_with_the_same_text)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY);
    ck_assert_int_eq(write_text(handle, 4, "more"), 0);
    ck_assert_int_eq(put(TEXT, "other"), 0);
    ck_assert_int_eq(put(TEXT, "zero"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(cat(TEXT), "zeromore");
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------------- */

START_TEST(session_refuses_no_write_in_a_new_directory)
{
    struct tfs_attr attr;
    ck_assert_int_eq(make_directory("chunks/7_0_0", &attr), 0);
    struct tfs_handle *handle = open_path("chunks/7_0_0/text.txt", O_WRONLY | O_CREAT | O_EXCL);
    ck_assert_int_eq(write_text(handle, 0, "4\n"), 0);
    ck_assert_int_eq(close_file(handle), -EBADMSG);
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
    ck_assert_int_eq(close_file(handle), 0);
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
        ck_assert_int_eq(close_file(handle), 0);
        ck_assert_str_eq(cat(path), "copied");
    }
}
END_TEST

START_TEST(session_moves_a_chunk_to_a_coordinate_alone)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0", "away"), -EPERM);
}
END_TEST

/* mv copies then, and nothing is wrong. */
START_TEST(session_logs_nothing_of_what_mv_copies)
{
    ck_assert_int_eq(rename_path("chunks/0_0_0/text.txt", "chunks/1_0_0/text.txt"), -EXDEV);
    ck_assert_str_eq(cat(".terrainfs/errors.log"), "");
}
END_TEST

START_TEST(session_says_when_something_was_refused)
{
    int year, day, seconds;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "no 1 good"), -EBADMSG);
    const char *time = strrchr(cat(".terrainfs/errors.log"), '(');
    ck_assert_ptr_nonnull(time);
    ck_assert_int_eq(sscanf(time, "(%4d-%*2d-%2d %*2d:%*2d:%2d)", &year, &day, &seconds), 3);
    ck_assert_int_ge(year, 2024);
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

/* sed -i takes its temporary file away when it cannot be renamed. */
START_TEST(session_keeps_a_text_that_a_rename_could_not_store)
{
    ck_assert_int_eq(put("t", "new"), 0);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(rename_path("t", TEXT), -ENOSPC);
    fake_disk.fail = 0;
    ck_assert_int_eq(unlink_path("t"), 0);
    ck_assert_str_eq(cat(TEXT), "new");
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "new");
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
    ck_assert_int_eq(close_file(handle), 0); /* it wrote nothing */
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_ptr_nonnull(strstr(messages, TEXT ":"));
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "filled"), 0);
    ck_assert(!exists(".terrainfs/rejected/chunks"));
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
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &attr), 0);
    answer_init(&a);
    tfs_session_setattr(session, attr.id, NULL, &values, TFS_SET_SIZE, REPLY(&a));
    ck_assert_int_eq(answer_wait(&a), 0);
    ck_assert_int_eq(a.attr.st.st_size, 2);
    ck_assert_str_eq(fake_blob(save->doc, 0), "ze");
}
END_TEST

START_TEST(session_pending_document_has_a_cap)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY);
    ck_assert_int_eq(write_text(handle, UINT64_C(1) << 40, "x"), -EFBIG);
    ck_assert_int_eq(close_file(handle), 0);
}
END_TEST

START_TEST(session_append_goes_to_the_end_whatever_the_caller_believes)
{
    struct tfs_handle *handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 40, "more"), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zeromore");
}
END_TEST

/* Each replacement gives the name another id, and the second one shows what it did when it was
 * looked up. */
START_TEST(session_open_wants_one_fresh_look_however_often_the_file_is_replaced)
{
    struct tfs_attr first, second;
    struct tfs_handle *handle;
    bool keep;
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "two"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &first), 0);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "three"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, first.id, O_RDONLY, &handle, &keep), -ESTALE);
    ck_assert_int_eq(put("chunks/0_0_0/.tmp", "four"), 0);
    ck_assert_int_eq(rename_path("chunks/0_0_0/.tmp", "chunks/0_0_0/text.txt"), 0);
    ck_assert_int_eq(look("chunks/0_0_0/text.txt", &second), 0);
    ck_assert_uint_ne(second.id, first.id);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "sixsix"), 0);
    ck_assert_int_eq(tfs_session_open_file(session, second.id, O_RDONLY, &handle, &keep), 0);
    ck_assert_str_eq(text_of_handle(handle), "four");
    tfs_session_release(session, handle);
}
END_TEST

/* Where O_TRUNC and direct writes move the size of an id, nobody reads by it. */
START_TEST(session_gives_a_writer_an_id_that_no_reader_has)
{
    struct tfs_attr attr, after;
    struct tfs_handle *reader, *writer;
    bool keep;
    ck_assert_int_eq(look(TEXT, &attr), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, &reader, &keep), 0);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDWR, &writer, &keep), -ESTALE);
    ck_assert_int_eq(open_found(TEXT, O_RDWR | O_TRUNC, &writer), 0);
    ck_assert_int_eq(write_text(writer, 0, "other"), 0);
    ck_assert_int_eq(look(TEXT, &after), 0);
    ck_assert_int_eq(tfs_session_open_file(session, after.id, O_RDWR, &writer, &keep), 0);
    tfs_session_release(session, writer);
    ck_assert_str_eq(text_of_handle(reader), "zero");
    tfs_session_release(session, reader);
}
END_TEST

/* The size that the kernel has of it may be that of a draft which was never accepted. */
START_TEST(session_gives_no_name_the_id_of_a_writer)
{
    struct tfs_attr before, after;
    struct tfs_handle *handle;
    bool keep;
    for (int turn = 0; turn < 2; turn++) {
        ck_assert_int_eq(look(TEXT, &before), 0);
        ck_assert_int_eq(tfs_session_open_file(session, before.id, O_RDWR, &handle, &keep), 0);
        ck_assert_int_eq(look(TEXT, &after), 0);
        ck_assert_uint_ne(after.id, before.id);
        tfs_session_release(session, handle);
        tfs_session_forget(session, before.id, 1);
        ck_assert_int_eq(look(TEXT, &after), 0);
        ck_assert_uint_ne(after.id, before.id);
        ck_assert_uint_eq(after.st.st_ino, before.st.st_ino);
    }
}
END_TEST

START_TEST(session_reads_to_its_end_what_was_opened)
{
    struct tfs_handle *reader = open_path("chunks/0_0_0/raw.bin", O_RDONLY);
    struct tfs_attr attr;
    ck_assert_int_eq(put(TEXT, "longer"), 0);
    ck_assert_int_eq(put(TEXT, "longest"), 0);
    ck_assert_str_eq(text_of_handle(reader), "zero");
    ck_assert_int_eq(tfs_session_getattr(session, 0, reader, &attr), 0);
    ck_assert_int_eq(attr.st.st_size, 4);
    ck_assert_str_eq(cat("chunks/0_0_0/raw.bin"), "longest");
    ck_assert_str_eq(text_of_handle(reader), "zero");
    tfs_session_release(session, reader);
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

/* ---- in the middle of something -------------------------------------------------------------- */

static struct tfs_handle *other_handle;

static struct answer other_answer;

static void flush_other(void)
{
    tfs_session_flush(session, other_handle, 1, REPLY(&other_answer));
}

static void release_other(void)
{
    tfs_session_release(session, other_handle);
}

static void write_and_flush_other(void)
{
    ck_assert_int_eq(write_as(other_handle, 1, 0, "other"), 0);
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
}

/* Once the name was looked up again there is an id that can be opened, whatever others write. */
START_TEST(session_opens_a_text_that_changes_while_it_is_rendered)
{
    struct tfs_handle *handle = NULL;
    struct tfs_attr attr;
    bool keep;

    tfs_session_close(session);
    open_with((struct tfs_session_options){.cache_limit = 1});
    ck_assert_int_eq(look(TEXT, &attr), 0);
    other_handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, &handle, &keep), -ESTALE);
    ck_assert_int_eq(look(TEXT, &attr), 0);
    ck_assert_str_eq(cat("chunks/1_0_0/text.txt"), "one"); /* the cache has room for one text */
    fake_disk.during[FAKE_GET] = write_and_flush_other;
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, &handle, &keep), 0);
    ck_assert(fake_disk.during[FAKE_GET] == NULL);
    ck_assert_str_eq(text_of_handle(handle), "zero");
    tfs_session_release(session, handle);
    ck_assert_int_eq(close_file(other_handle), 0);
}
END_TEST

static int renders;

/* Each time that it is rendered somebody writes it, but not for ever. */
static void write_again(void)
{
    char text[16];

    snprintf(text, sizeof(text), "%.*s", ++renders, "abcdefgh");
    ck_assert_int_eq(write_as(other_handle, 1, 0, text), 0);
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    if (renders < 8)
        fake_disk.during[FAKE_GET] = write_again;
}

/* A LOOKUP ends, and has the id and the size of one text. */
START_TEST(session_looks_a_text_up_that_changes_whenever_it_is_rendered)
{
    struct tfs_handle *handle = NULL;
    struct tfs_attr attr;
    bool keep;

    other_handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "four"), 0); /* nobody knows its size */
    renders = 0;
    fake_disk.during[FAKE_GET] = write_again;
    ck_assert_int_eq(look(TEXT, &attr), 0);
    fake_disk.during[FAKE_GET] = NULL;
    ck_assert_int_eq(renders, 1);
    ck_assert(!attr.lasts);
    ck_assert_int_eq(attr.st.st_size, 4);
    ck_assert_int_eq(tfs_session_open_file(session, attr.id, O_RDONLY, &handle, &keep), 0);
    ck_assert_str_eq(text_of_handle(handle), "four");
    tfs_session_release(session, handle);
    ck_assert_str_eq(cat(TEXT), "a");
    ck_assert_int_eq(close_file(other_handle), 0);
}
END_TEST

/* So does a GETATTR of an id that is written through, whose size may be that of a moment before. */
START_TEST(session_says_what_a_file_is_that_changes_whenever_it_is_rendered)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY);
    struct tfs_attr attr;

    other_handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(put("chunks/0_0_0/raw.bin", "four"), 0); /* nobody knows its size */
    renders = 0;
    fake_disk.during[FAKE_GET] = write_again;
    ck_assert_int_eq(tfs_session_getattr(session, 0, handle, &attr), 0);
    fake_disk.during[FAKE_GET] = NULL;
    ck_assert_int_eq(renders, 1);
    ck_assert(attr.changing);
    tfs_session_release(session, handle);
    ck_assert_int_eq(close_file(other_handle), 0);
}
END_TEST

START_TEST(session_flush_waits_for_a_validation_under_way)
{
    other_handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_as(other_handle, 1, 0, "abc"), 0);
    ck_assert_int_eq(write_as(other_handle, 2, 3, "def"), 0);
    answer_init(&other_answer);
    fake_disk.during[FAKE_PUT] = flush_other;
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(flush_as(other_handle, 2), -ENOSPC);
    ck_assert_int_eq(answer_wait(&other_answer), -ENOSPC);
    fake_disk.fail = 0;
    ck_assert_int_eq(flush_as(other_handle, 2), 0); /* it is told until its bytes are saved */
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcdef");
    tfs_session_release(session, other_handle);
}
END_TEST

static void write_more(void)
{
    ck_assert_int_eq(write_as(other_handle, 1, 3, "def"), 0);
}

/* What is being taken says nothing of what came behind it. */
START_TEST(session_takes_what_was_written_while_it_took_a_draft)
{
    other_handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_as(other_handle, 1, 0, "abc"), 0);
    fake_disk.during[FAKE_PUT] = write_more;
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abc");
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcdef");
    tfs_session_release(session, other_handle);
}
END_TEST

static void append_more(void)
{
    ck_assert_int_eq(write_as(other_handle, 1, 0, "def"), 0);
}

static void append_abc(void)
{
    other_handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_as(other_handle, 1, 0, "abc"), 0);
}

static void append_behind_others(void)
{
    append_abc();
    ck_assert_int_eq(put(TEXT, "other"), 0);
}

START_TEST(session_appends_what_was_written_while_it_appended_behind_others)
{
    append_behind_others();
    fake_disk.during[FAKE_PUT] = append_more;
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherabc");
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherabcdef");
    tfs_session_release(session, other_handle);
}
END_TEST

static void cut_other(void)
{
    const struct stat values = {.st_size = 0};
    struct tfs_attr attr;
    ck_assert_int_eq(set(TEXT, other_handle, &values, TFS_SET_SIZE, &attr), 0);
    ck_assert_int_eq(write_as(other_handle, 1, 0, "x"), 0);
}

static void cut_other_shorter(void)
{
    const struct stat values = {.st_size = 2};
    struct tfs_attr attr;
    ck_assert_int_eq(set(TEXT, other_handle, &values, TFS_SET_SIZE, &attr), 0);
}

/* Shorter than what others wrote meanwhile, and than what was taken. */
START_TEST(session_takes_a_draft_that_is_cut_while_it_is_appended_behind_others)
{
    append_behind_others();
    fake_disk.during[FAKE_PUT] = cut_other;
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherabc");
    ck_assert_int_eq(put(TEXT, "more"), 0);
    ck_assert_int_eq(flush_as(other_handle, 1), 0); /* it was cut to 0 */
    ck_assert_str_eq(fake_blob(save->doc, 0), "x");
    tfs_session_release(session, other_handle);
}
END_TEST

START_TEST(session_refuses_a_draft_that_is_cut_shorter_while_it_is_appended_behind_others)
{
    append_behind_others();
    fake_disk.during[FAKE_PUT] = cut_other_shorter;
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_int_eq(flush_as(other_handle, 1), -ESTALE); /* it never had what others wrote */
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherabc");
    ck_assert_str_eq(cat(REJECTED), "ze");
    tfs_session_release(session, other_handle);
}
END_TEST

/* What was written from the start again is no appending behind what was taken. */
START_TEST(session_takes_all_of_a_draft_that_is_cut_while_it_is_taken)
{
    append_abc();
    fake_disk.during[FAKE_PUT] = cut_other;
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zeroabc");
    ck_assert_int_eq(put(TEXT, "other"), 0);
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "x");
    tfs_session_release(session, other_handle);
}
END_TEST

/* A refused draft is still one that was cut to 0, or not. */
START_TEST(session_appends_again_what_was_refused_behind_others)
{
    append_behind_others();
    fake_disk.changed = 1; /* to what cannot be read */
    ck_assert_int_eq(flush_as(other_handle, 1), -EIO);
    fake_disk.changed = 0;
    ck_assert_int_eq(flush_as(other_handle, 1), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherabc");
    tfs_session_release(session, other_handle);
}
END_TEST

/* A database that another program holds locked for a moment. */
START_TEST(session_appends_behind_nothing_that_it_cannot_read)
{
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "abc"), 0);
    ck_assert_int_eq(put(TEXT, "other"), 0);
    fake_disk.get = -EBUSY;
    ck_assert_int_eq(flush(handle), -EBUSY);
    ck_assert_int_eq(flush(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherabc");
    tfs_session_release(session, handle);
}
END_TEST

/* Programs append to a note that is not there: who created it cut nothing. */
START_TEST(session_appends_to_a_created_file_behind_who_was_faster)
{
    struct tfs_handle *first = open_path(NOTE, O_WRONLY | O_APPEND);
    struct tfs_handle *second = open_path(NOTE, O_WRONLY | O_APPEND);
    struct tfs_handle *third = open_path(NOTE, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(first, 0, "one"), 0);
    ck_assert_int_eq(write_text(second, 0, "two"), 0);
    ck_assert_int_eq(write_text(third, 0, "three"), 0);
    ck_assert_int_eq(close_file(second), 0);
    ck_assert_int_eq(close_file(first), 0);
    ck_assert_int_eq(close_file(third), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zero|twoonethree");
}
END_TEST

/* Its name has no text until who created it closes: what the hidden name had is nobody's. */
START_TEST(session_appends_behind_who_created_a_name_that_was_unlinked)
{
    ck_assert_int_eq(unlink_path(TEXT), 0);
    struct tfs_handle *creator = open_path(TEXT, O_WRONLY);
    struct tfs_handle *handle = open_path(TEXT, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(handle, 0, "more"), 0);
    ck_assert_int_eq(write_text(creator, 0, "zero"), 0);
    ck_assert_int_eq(close_file(creator), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zeromore");
}
END_TEST

/* Its LOOKUP came before the name was there. */
START_TEST(session_appends_behind_who_created_a_name_at_the_same_time)
{
    struct tfs_handle *creator, *handle;
    struct tfs_attr dir, attr, known;

    ck_assert_int_eq(unlink_path(TEXT), 0);
    ck_assert_int_eq(look("chunks/0_0_0", &dir), 0);
    creator = open_path(TEXT, O_WRONLY);
    ck_assert_int_eq(tfs_session_create(session, dir.id, "text.txt", 0644, 0, 0,
                                        O_WRONLY | O_APPEND, &handle, &attr),
                     0);
    ck_assert_int_eq(look(TEXT, &known), 0);
    ck_assert_uint_eq(attr.id, known.id);
    ck_assert_int_eq(write_text(handle, 0, "more"), 0);
    ck_assert_int_eq(write_text(creator, 0, "zero"), 0);
    ck_assert_int_eq(close_file(creator), 0);
    ck_assert_int_eq(close_file(handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "zeromore");
    tfs_session_forget(session, attr.id, 1);
}
END_TEST

/* What came behind the text that a rename checked is appended, also behind others. */
START_TEST(session_appends_what_was_written_during_a_rename_behind_others)
{
    other_handle = open_path("t", O_WRONLY | O_APPEND);
    ck_assert_int_eq(write_text(other_handle, 0, "abc"), 0);
    fake_disk.during[FAKE_COMMIT] = append_more;
    ck_assert_int_eq(rename_path("t", TEXT), 0);
    ck_assert_int_eq(put(TEXT, "other"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "otherdef");
    tfs_session_release(session, other_handle);
}
END_TEST

/* ---- on the way to a journal ----------------------------------------------------------------- */

static bool asked, answered_early;

/* While the journal is begun, which needs to know what the save holds; only the first time. */
static int hash_while_another_closes(struct tfs_save *of, struct tfs_key file,
                                     struct tfs_hash *hash, struct stat *st, struct tfs_error *err)
{
    (void)of;
    (void)file;
    (void)st;
    (void)err;
    if (!asked) {
        flush_other();
        pthread_mutex_lock(&other_answer.lock);
        answered_early = other_answer.done;
        pthread_mutex_unlock(&other_answer.lock);
    }
    asked = true;
    *hash = (struct tfs_hash){0};
    return 0;
}

static const struct tfs_journal_files waiting = {.hash = hash_while_another_closes};

/* On a save of that path whose journal begins with what `hash` says. */
static void open_journaling(char *path, const struct tfs_journal_files *one)
{
    static struct tfs_container journaling;
    struct tfs_save *opened = fake_save_create();

    tfs_session_close(session);
    free(opened->path);
    opened->path = path;
    journaling = *opened->container;
    journaling.journal = one;
    opened->container = &journaling;
    open_save_with(opened, (struct tfs_session_options){.commit_auto = true});
}

/* Its bytes were accepted with those of the first close, and no journal holds them yet. */
START_TEST(session_close_waits_for_the_journal_that_another_close_writes)
{
    char directory[] = "/tmp/fake-XXXXXX", *path;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_gt(asprintf(&path, "%s/fake.save", directory), 0);
    open_journaling(path, &waiting);
    other_handle = open_path(TEXT, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_as(other_handle, 2, 0, "abc"), 0);
    ck_assert_int_eq(write_as(other_handle, 1, 3, "def"), 0);
    answer_init(&other_answer);
    answered_early = true;
    fake_disk.fail = -EBUSY;
    ck_assert_int_eq(flush_as(other_handle, 2), 0);
    ck_assert_int_eq(answer_wait(&other_answer), 0);
    ck_assert(!answered_early);
    ck_assert_int_eq(fake_disk.commits, 0);
    fake_disk.fail = 0;
    tfs_session_release(session, other_handle);
    ck_assert_int_eq(tfs_session_finish(session), 0);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

static int hash_of_nothing(struct tfs_save *of, struct tfs_key file, struct tfs_hash *hash,
                           struct stat *st, struct tfs_error *err)
{
    (void)of;
    (void)file;
    (void)st;
    (void)err;
    *hash = (struct tfs_hash){0};
    return 0;
}

static const struct tfs_journal_files of_nothing = {.hash = hash_of_nothing};

/* Where there cannot be a journal, the save takes the edit at once, and a full disk is told. */
START_TEST(session_close_hears_that_neither_journal_nor_save_can_be_written)
{
    open_journaling(strdup("/dev/null/fake.save"), &of_nothing);
    fake_disk.fail = -ENOSPC;
    ck_assert_int_eq(put("chunks/0_0_0/text.txt", "later"), -ENOSPC);
    fake_disk.fail = 0;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "now"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "later");
    ck_assert_str_eq(fake_blob(save->doc, 1), "now|note");
    ck_assert_int_ge(fake_disk.commits, 1);
    ck_assert_int_eq(tfs_session_finish(session), 0);
}
END_TEST

START_TEST(session_close_during_a_validation_keeps_refused_bytes)
{
    struct answer a;
    answer_init(&a);
    other_handle = open_path("chunks/0_0_0/text.txt", O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write_text(other_handle, 0, "b4d"), 0);
    fake_disk.during[FAKE_PUT] = release_other;
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
    fake_disk.during[FAKE_PUT] = next_writer_begins;
    ck_assert_int_eq(put("chunks/1_0_0/text.txt", "busy"), 0);
    ck_assert_int_eq(sync_directory("chunks"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "first");
    ck_assert_int_eq(write_text(other_handle, 3, "f"), 0);
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "half");
    release_other();
}
END_TEST

static void open_other(void)
{
    other_handle = open_path("chunks/0_0_0/text.txt", O_RDONLY);
}

START_TEST(session_reader_that_comes_during_a_rename_sees_a_whole_file)
{
    ck_assert_int_eq(put("t", "fresh"), 0);
    fake_disk.during[FAKE_COMMIT] = open_other;
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(text_of_handle(other_handle), "fresh");
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
    fake_disk.during[FAKE_COMMIT] = write_other;
    ck_assert_int_eq(rename_path("t", "chunks/0_0_0/text.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abc");
    ck_assert_int_eq(flush(other_handle), 0);
    ck_assert_str_eq(fake_blob(save->doc, 0), "abcmore");
    tfs_session_release(session, other_handle);
}
END_TEST

START_TEST(session_renames_onto_an_absent_file_that_is_still_open)
{
    struct tfs_handle *reader = open_path("chunks/1_0_0/part/note.txt", O_RDONLY);
    ck_assert_int_eq(put("chunks/1_0_0/raw.bin", "one"), 0);
    ck_assert_int_eq(put("t", "new"), 0);
    ck_assert_int_eq(rename_path("t", "chunks/1_0_0/part/note.txt"), 0);
    ck_assert_str_eq(fake_blob(save->doc, 1), "one|new");
    tfs_session_release(session, reader);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

static const TTest *const *const tests[] = {
    &session_shows_a_draft_to_who_wrote_it_alone,
    &session_gives_a_text_to_the_kernel_once_and_beside_no_other_handle,
    &session_shows_the_size_of_a_created_file_and_nothing_of_its_text,
    &session_commits_when_a_writer_closes_and_for_nobody_else,
    &session_commits_nothing_for_who_wrote_nothing_beside_two_that_did,
    &session_commits_for_everybody_when_many_wrote,
    &session_keeps_the_time_that_was_set_before_a_close,
    &session_appends_nothing_behind_others_once_it_was_cut_shorter,
    &session_takes_a_draft_whose_file_was_written_with_the_same_text,
    &session_refuses_no_write_in_a_new_directory,
    &session_appends_to_what_a_new_chunk_holds,
    &session_creates_anew_in_a_new_chunk_for_who_copies,
    &session_moves_a_chunk_to_a_coordinate_alone,
    &session_logs_nothing_of_what_mv_copies,
    &session_says_when_something_was_refused,
    &session_forgets_a_refused_document_when_its_file_is_mended,
    &session_keeps_a_text_that_a_rename_could_not_store,
    &session_that_saw_every_refused_document_mended_ends_well,
    &session_keeps_no_empty_document_aside,
    &session_keeps_a_refused_document_when_the_file_is_opened_again,
    &session_forgets_what_it_kept_when_the_whole_document_is_good,
    &session_truncate_by_name_is_validated_at_once,
    &session_pending_document_has_a_cap,
    &session_append_goes_to_the_end_whatever_the_caller_believes,
    &session_open_wants_one_fresh_look_however_often_the_file_is_replaced,
    &session_gives_a_writer_an_id_that_no_reader_has,
    &session_gives_no_name_the_id_of_a_writer,
    &session_reads_to_its_end_what_was_opened,
    &session_mtime_moves_with_the_content_only,
    &session_opens_a_text_that_changes_while_it_is_rendered,
    &session_looks_a_text_up_that_changes_whenever_it_is_rendered,
    &session_says_what_a_file_is_that_changes_whenever_it_is_rendered,
    &session_flush_waits_for_a_validation_under_way,
    &session_takes_what_was_written_while_it_took_a_draft,
    &session_appends_what_was_written_while_it_appended_behind_others,
    &session_takes_a_draft_that_is_cut_while_it_is_appended_behind_others,
    &session_refuses_a_draft_that_is_cut_shorter_while_it_is_appended_behind_others,
    &session_takes_all_of_a_draft_that_is_cut_while_it_is_taken,
    &session_appends_again_what_was_refused_behind_others,
    &session_appends_behind_nothing_that_it_cannot_read,
    &session_appends_to_a_created_file_behind_who_was_faster,
    &session_appends_behind_who_created_a_name_that_was_unlinked,
    &session_appends_behind_who_created_a_name_at_the_same_time,
    &session_appends_what_was_written_during_a_rename_behind_others,
    &session_close_waits_for_the_journal_that_another_close_writes,
    &session_close_hears_that_neither_journal_nor_save_can_be_written,
    &session_close_during_a_validation_keeps_refused_bytes,
    &session_late_release_does_not_validate_what_the_next_writer_has_begun,
    &session_reader_that_comes_during_a_rename_sees_a_whole_file,
    &session_bytes_written_during_a_rename_are_validated_at_close,
    &session_renames_onto_an_absent_file_that_is_still_open,
};

static Suite *suite(void)
{
    Suite *s = suite_create("session handles");

    session_case(s, tests, sizeof(tests) / sizeof(tests[0]));
    return s;
}

UNIT_MAIN(suite)
